//! Readers and writers: data that is written reads back unchanged, in every format, and no bytes make a reader panic.

use kbest::text::{
    Answer, Candidate, Field, Format, Reader, ReaderOptions, Separator, TextFormat, Writer, WriterOptions,
};
use kbest::{Error, Sequence};
use proptest::collection::vec;
use proptest::prelude::*;

fn read_all(bytes: &[u8], options: &ReaderOptions) -> Result<Vec<Sequence>, Error> {
    let mut reader = Reader::new(std::io::Cursor::new(bytes.to_vec()), "data", options)?;
    let mut sequence = Sequence::from_tokens(["left", "over"]);
    let mut all = Vec::new();
    while reader.read_into(&mut sequence)? {
        all.push(sequence.clone());
    }
    assert_eq!(reader.sequences(), all.len() as u64);
    assert!(!reader.read_into(&mut sequence)? && sequence.is_empty(), "the end stays the end");
    Ok(all)
}

fn write_all(sequences: &[Sequence], options: &WriterOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), options.clone());
    for sequence in sequences {
        writer.write::<&str>(sequence, &[], None).unwrap();
    }
    writer.into_inner()
}

fn complaint(bytes: &[u8], options: &ReaderOptions) -> String {
    let error = read_all(bytes, options).unwrap_err();
    assert!(matches!(error, Error::Data { .. }), "{error:?}");
    error.to_string()
}

#[cfg(feature = "gzip")]
fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Text without tabs and line breaks.
const TEXT: &str = "[a-zA-Z0-9:\\\\+|=_@#'\"ÄßЖ字🙂-]{1,6}";
/// The same with blanks.
const TEXT_WITH_BLANKS: &str = "[a-zA-Z0-9:\\\\+|=_@#'\"ÄßЖ字🙂 -]{0,6}";

fn rectangular(text: &'static str) -> impl Strategy<Value = Vec<Sequence>> {
    (1usize..4).prop_flat_map(move |columns| {
        let position = (vec(text, columns), text);
        vec(vec(position, 1..6), 0..5).prop_map(|sequences| {
            let fill = |positions: Vec<(Vec<String>, String)>| {
                let mut sequence = Sequence::new();
                for (cells, label) in positions {
                    sequence.push(&cells);
                    sequence.set_label(&label);
                }
                sequence
            };
            sequences.into_iter().map(fill).collect()
        })
    })
}

type Item = (String, Vec<(String, f64)>); // label, attributes

fn items() -> impl Strategy<Value = Vec<Sequence>> {
    let value = prop_oneof![Just(1.0), -1e6..1e6, Just(f64::MIN_POSITIVE), Just(0.0)];
    let label = TEXT.prop_filter("no declaration", |label| !label.starts_with('@'));
    let item = (label, vec((TEXT, value), 0..5));
    vec((prop_oneof![Just(1.0), 0.0..9.0], vec(item, 1..5)), 0..5).prop_map(|sequences| {
        let fill = |(weight, items): (f64, Vec<Item>)| {
            let mut sequence = Sequence::new();
            sequence.set_weight(weight);
            for (label, attributes) in items {
                sequence.push_position();
                sequence.set_label(&label);
                attributes.iter().for_each(|(name, value)| sequence.push_valued_cell(name, *value));
            }
            sequence
        };
        sequences.into_iter().map(fill).collect()
    })
}

/// A CoNLL-U file with everything a file may hold.
fn conllu() -> impl Strategy<Value = String> {
    let word = vec(TEXT_WITH_BLANKS.prop_map(|text| if text.is_empty() { "_".into() } else { text }), 9);
    let line = prop_oneof![
        6 => word.clone().prop_map(|fields| format!("1\t{}\n", fields.join("\t"))),
        1 => word.clone().prop_map(|fields| format!("3-4\t{}\n", fields.join("\t"))),
        1 => word.prop_map(|fields| format!("3.1\t{}\n", fields.join("\t"))),
        1 => TEXT_WITH_BLANKS.prop_map(|text| format!("# {text}\n")),
    ];
    let last = Just("2\tend\t_\tPUNCT\t.\t_\t0\troot\t_\t_\n\n".to_owned());
    vec((vec(line, 0..6), last), 0..4)
        .prop_map(|s| s.into_iter().map(|(lines, last)| lines.concat() + &last).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn columns_round_trip(sequences in rectangular(TEXT)) {
        let bytes = write_all(&sequences, &WriterOptions::columns());
        prop_assert_eq!(&read_all(&bytes, &ReaderOptions::columns().labelled(true)).unwrap(), &sequences);
        // The same with Windows line breaks, a byte order mark, more blanks, and no line break at the end.
        let text = String::from_utf8(bytes).unwrap().replace('\t', " \t ").replace('\n', "\r\n");
        let text = format!("\u{feff}\r\n\r\n{}", text.trim_end());
        let options = ReaderOptions::columns().labelled(true);
        prop_assert_eq!(read_all(text.as_bytes(), &options).unwrap(), sequences);
    }

    #[test]
    fn columns_between_tabs_round_trip(sequences in rectangular(TEXT_WITH_BLANKS)) {
        // A line of only blanks ends a sequence: such positions cannot be distinguished from the end.
        let told = |s: &Sequence| (0..s.len()).all(|t| s.cells(t).chain(s.label(t)).any(|c| !c.trim().is_empty()));
        prop_assume!(sequences.iter().all(told));
        let bytes = write_all(&sequences, &WriterOptions::columns().separator(Separator::Tab));
        let options = ReaderOptions::columns().separator(Separator::Tab).labelled(true);
        prop_assert_eq!(read_all(&bytes, &options).unwrap(), sequences);
    }

    #[test]
    fn items_round_trip(sequences in items()) {
        let bytes = write_all(&sequences, &WriterOptions::whole_items());
        prop_assert_eq!(read_all(&bytes, &ReaderOptions::items().labelled(true)).unwrap(), sequences);
    }

    #[test]
    fn conllu_round_trips_byte_by_byte(text in conllu(), label in 0usize..4) {
        let label = ["upos", "xpos", "upos+feats", "xpos+upos+misc"][label];
        let options = ReaderOptions::conllu(label).unwrap().labelled(true);
        let sequences = read_all(text.as_bytes(), &options).unwrap();
        let out = WriterOptions::conllu(label).unwrap();
        prop_assert_eq!(String::from_utf8(write_all(&sequences, &out)).unwrap(), text.clone());
        // The same labels, given separately, are written the same way.
        let mut writer = Writer::new(Vec::new(), out);
        for sequence in read_all(text.as_bytes(), &ReaderOptions::conllu("form").unwrap()).unwrap().iter().zip(&sequences) {
            let labels: Vec<&str> = (0..sequence.1.len()).map(|t| sequence.1.label(t).unwrap()).collect();
            writer.write(sequence.0, &[&labels], None).unwrap();
        }
        prop_assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), text);
    }

    #[cfg(feature = "json")]
    #[test]
    fn jsonl_round_trips(sequences in vec(vec((any::<String>(), any::<String>()), 1..6), 0..5)) {
        let fill = |positions: Vec<(String, String)>| {
            let mut sequence = Sequence::new();
            for (token, label) in positions {
                sequence.push([token]);
                sequence.set_label(&label);
            }
            sequence
        };
        let sequences: Vec<Sequence> = sequences.into_iter().map(fill).collect();
        let bytes = write_all(&sequences, &WriterOptions::jsonl());
        prop_assert_eq!(read_all(&bytes, &ReaderOptions::jsonl().labelled(true)).unwrap(), sequences);
    }

    #[cfg(feature = "gzip")]
    #[test]
    fn packed_files_read_alike(sequences in rectangular(TEXT)) {
        let bytes = write_all(&sequences, &WriterOptions::columns());
        let options = ReaderOptions::columns().labelled(true);
        prop_assert_eq!(&read_all(&packed(&bytes), &options).unwrap(), &sequences);
        // Concatenated archives are one file.
        let half = bytes.len() / 2;
        let two = [packed(&bytes[..half]), packed(&bytes[half..])].concat();
        prop_assert_eq!(read_all(&two, &options).unwrap(), sequences);
    }

    /// A valid file, then a few bytes of it changed, removed, or duplicated: an answer or a typed error, never a panic.
    #[test]
    fn hostile_bytes_never_panic(
        sequences in rectangular(TEXT), items in items(), conllu in conllu(), which in 0usize..6,
        wounds in vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..12), labelled: bool,
    ) {
        let (options, mut bytes) = match which {
            0 => (ReaderOptions::columns(), write_all(&sequences, &WriterOptions::columns())),
            1 => (ReaderOptions::columns().separator(Separator::Tab), write_all(&sequences, &WriterOptions::columns())),
            2 => (ReaderOptions::items(), write_all(&items, &WriterOptions::whole_items())),
            3 => (ReaderOptions::conllu("upos+feats").unwrap(), conllu.into_bytes()),
            #[cfg(feature = "json")]
            4 => (ReaderOptions::jsonl(), write_all(&sequences, &WriterOptions::jsonl())),
            #[cfg(feature = "gzip")]
            5 => (ReaderOptions::columns(), packed(&write_all(&sequences, &WriterOptions::columns()))),
            _ => (ReaderOptions::columns(), Vec::new()),
        };
        for (at, byte, kind) in wounds {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                _ => bytes.insert(at, byte),
            }
        }
        if let Err(error) = read_all(&bytes, &options.labelled(labelled)) {
            prop_assert!(matches!(error, Error::Data { .. }), "{error:?}");
        }
    }

    #[test]
    fn noise_never_panics(bytes in vec(any::<u8>(), 0..300), which in 0usize..4, labelled: bool) {
        let options = ReaderOptions::new(Format::NAMES[which].1).labelled(labelled);
        let _ = read_all(&bytes, &options);
    }
}

#[test]
fn errors_say_where_and_what() {
    let plain = || ReaderOptions::columns();
    assert_eq!(complaint(b"a b\nc d\n\ne\n", &plain()), "data:4: expected 2 columns, got 1 in \"e\"");
    assert_eq!(complaint(b"a b\n\nc d e\n", &plain()), "data:3: expected 2 columns, got 3 in \"c d e\"");
    assert_eq!(complaint(b"a\n", &plain().column_count(2)), "data:1: expected 2 columns, got 1 in \"a\"");
    assert_eq!(complaint(b"ok x\na\xffb x\n", &plain()), "data:2: expected UTF-8, got byte 0xff at column 2");
    assert!(complaint(b"word\n", &plain().labelled(true)).contains("at least two columns"));
    for (bytes, got) in [(&b""[..], "an empty file"), (b"\n\n \n", "only blank lines or comments")] {
        let text = complaint(bytes, &plain().required(true));
        assert_eq!(text, format!("data: expected at least one sequence, got {got}"));
        assert_eq!(read_all(bytes, &plain()).unwrap(), []);
    }

    let items = || ReaderOptions::items().labelled(true);
    assert!(complaint(b"A\tx:1\nB\ty:one\n", &items()).starts_with("data:2: expected a number"));
    assert!(complaint(b"A\tx:inf\n", &items()).starts_with("data:1: expected a number"));
    assert!(complaint(b"A\tx:1:2\n", &items()).starts_with("data:1: expected name or name:value"));
    assert!(complaint(b"@what:1\nA\n", &items()).starts_with("data:1: expected a label or @weight"));
    assert!(complaint(b"@weight:-1\nA\n", &items()).starts_with("data:1: expected a weight"));

    let conllu = || ReaderOptions::conllu("upos").unwrap().labelled(true);
    assert_eq!(
        complaint(b"# c\n1\tx\n", &conllu()),
        "data:2: expected 10 fields separated by tabs, got 2 in \"1\\tx\""
    );
    assert!(complaint(b"x\t_\t_\t_\t_\t_\t_\t_\t_\t_\n", &conllu()).contains("a word number"));
    assert!(complaint(b"1\t_\t_\t\t_\t_\t_\t_\t_\t_\n", &conllu()).contains("a value or _ in upos"));
    for bad in ["pos", "upos+", "upos+upos", "id", ""] {
        assert!(matches!(ReaderOptions::conllu(bad), Err(Error::UnknownName { .. })), "{bad}");
    }
    assert!(matches!(Format::by_name("xml"), Err(Error::UnknownName { .. })));
    assert!(matches!(Reader::open("no/such/file", &plain()), Err(Error::Io { .. })));
}

#[cfg(feature = "json")]
#[test]
fn json_errors_say_where_and_what() {
    let options = || ReaderOptions::jsonl().labelled(true);
    let good = "{\"tags\":[3,\"B\"],\"id\":{\"deep\":[1]},\"tokens\":[\"x\",\"y\\u00e4\\n\"]}\n";
    let sequences = read_all(good.as_bytes(), &options()).unwrap();
    assert_eq!((sequences[0].cell(1, 0), sequences[0].label(0)), (Some("yä\n"), Some("3")));
    for (bad, part) in [
        ("{\"tokens\":[\"x\"],\"tags\":[]}", "1 tags, as many as tokens, got 0"),
        ("{\"tokens\":[\"x\"]}", "a list `tags`"),
        ("{\"tags\":[\"x\"]}", "a list `tokens`"),
        ("{\"tokens\":[1],\"tags\":[1]}", "expected a string"),
        ("{\"tokens\":[\"x\"],\"tags\":[1.5]}", "a whole number"),
        ("{\"tokens\":\"x\"}", "expected a list"),
        ("{\"tokens\":[\"x\"],\"tokens\":[]}", "twice"),
        ("[]", "an object"),
        ("{\"tokens\":[\"x\"],\"tags\":[\"y\"]} x", "trailing"),
        ("{\"tokens\":[\"x\"", "EOF"),
    ] {
        let text = complaint(format!("{good}\n{bad}\n").as_bytes(), &options());
        assert!(text.starts_with("data:3: ") && text.contains(part), "{bad}: {text}");
    }
    let empty = read_all(b"{\"tokens\":[],\"tags\":[]}\n", &options()).unwrap();
    assert_eq!((empty.len(), empty[0].len()), (1, 0), "no tokens, but still a sequence");
}

#[cfg(feature = "gzip")]
#[test]
fn a_broken_archive_is_an_error() {
    let lines: String = (0..20_000).map(|i| format!("word{i} tag\n")).collect();
    let whole = packed(lines.as_bytes());
    assert_eq!(read_all(&whole, &ReaderOptions::columns()).unwrap()[0].len(), 20_000);
    for length in [3, 11, whole.len() / 2, whole.len() - 4] {
        let text = complaint(&whole[..length], &ReaderOptions::columns());
        assert!(text.contains("expected a complete gzip archive, got a truncated one"), "{length}: {text}");
    }
    let mut damaged = whole.clone();
    let last = damaged.len() - 6;
    damaged[last] ^= 0xff; // the checksum
    assert!(complaint(&damaged, &ReaderOptions::columns()).contains("a complete gzip archive"));
}

#[cfg(feature = "gzip")]
#[test]
fn files_are_unpacked_by_name_or_by_their_first_bytes() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let open = |name: &str, bytes: &[u8]| -> Result<usize, Error> {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        let mut reader = Reader::open(&path, &ReaderOptions::columns())?;
        let mut sequence = Sequence::new();
        let mut positions = 0;
        while reader.read_into(&mut sequence)? {
            positions += sequence.len();
        }
        Ok(positions)
    };
    let text = b"a b\nc d\n";
    assert_eq!(open("columns-test.tsv", text), Ok(2));
    assert_eq!(open("columns-test.tsv.gz", &packed(text)), Ok(2));
    assert_eq!(open("columns-test.packed", &packed(text)), Ok(2));
    for bytes in [&b""[..], b"\x1f", text] {
        let error = open("columns-test-bad.gz", bytes).unwrap_err();
        assert!(matches!(error, Error::Data { .. }), "{error:?}");
        assert!(
            error.to_string().contains("columns-test-bad.gz: expected a complete gzip archive"),
            "{error}"
        );
    }
}

#[test]
fn crfsuite_quirks() {
    let text = "@weight:2.5\nA\\:B:ignored\tx\\:y\ty:\\z\\\\:0.5\n\nB\t\tname:\t__BOS__\n@weight:3\tC\n";
    assert!(read_all(text.as_bytes(), &ReaderOptions::items()).is_err(), "y has two colons");
    let text = text.replace("y:\\z", "y\\z");
    let all = read_all(text.as_bytes(), &ReaderOptions::items()).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].weight(), all[0].label(0)), (2.5, Some("A:B")));
    assert_eq!(all[0].cells(0).collect::<Vec<_>>(), ["x:y", "y\\z\\"]);
    assert_eq!(all[0].values(0), Some(&[1.0, 0.5][..]));
    assert_eq!(all[1].cells(0).collect::<Vec<_>>(), ["name", "__BOS__"]);
    assert_eq!((all[1].weight(), all[1].label(1), all[1].width(1)), (3.0, Some("C"), 0));

    let colons = b"A\tw=10__COLON__30\n";
    let cell = |options| read_all(colons, &options).unwrap()[0].cell(0, 0).unwrap().to_owned();
    assert_eq!(cell(ReaderOptions::items()), "w=10__COLON__30");
    assert_eq!(cell(ReaderOptions::items().colon_words(true)), "w=10:30");
}

#[test]
fn crfpp_quirks() {
    // Comments and document starts are positions like any other; a line of blanks ends a sequence.
    let options = ReaderOptions::columns().labelled(true);
    let all = read_all(b"-DOCSTART- O\n\n# O\n \t\nb O\n\n\n\n", &options).unwrap();
    let first: Vec<_> = all.iter().map(|s| s.cell(0, 0).unwrap()).collect();
    assert_eq!(first, ["-DOCSTART-", "#", "b"]);
    // CRF++ would skip this line and end the sequence.
    let error = read_all(b"# O\n \tx y\nb O\n", &options).unwrap_err().to_string();
    assert!(error.contains(":2: expected a first column, or a blank line"), "{error}");
}

#[test]
fn writers_add_labels() {
    let mut sequence = Sequence::new();
    sequence.push(["Time", "NN"]);
    sequence.set_label("NOUN");
    let write = |options: WriterOptions, candidate| {
        let mut writer = Writer::new(Vec::new(), options);
        writer.write(&sequence, &[&["X"], &["Y"]], candidate).unwrap();
        String::from_utf8(writer.into_inner()).unwrap()
    };
    let best = Some(Candidate { rank: 0, score: 1.5 });
    assert_eq!(write(WriterOptions::columns(), None), "Time\tNN\tNOUN\tX\tY\n\n");
    assert_eq!(write(WriterOptions::columns(), best), "# 0 1.5\nTime\tNN\tNOUN\tX\tY\n\n");
    assert_eq!(write(WriterOptions::items(), None), "X\tY\n\n");
    let conllu = WriterOptions::conllu("upos+feats").unwrap();
    assert_eq!(write(conllu, best), "# 0 1.5\n1\tTime\t_\tX\t_\t_\t_\t_\t_\t_\n\n");
    #[cfg(feature = "json")]
    assert_eq!(
        write(WriterOptions::jsonl(), best),
        "{\"rank\":0,\"score\":1.5,\"tokens\":[\"Time\"],\"tags\":[\"X\"],\"gold\":[\"NOUN\"],\"tags2\":[\"Y\"]}\n"
    );
    let mut writer = Writer::new(Vec::new(), WriterOptions::columns());
    assert!(matches!(writer.write(&sequence, &[&["X", "Y"]], None), Err(Error::Shape { .. })));
    for bad in ["", "a b", "a\tb", "a\nb"] {
        assert!(matches!(writer.write(&sequence, &[&[bad]], None), Err(Error::Data { .. })), "{bad:?}");
    }
    assert!(writer.into_inner().is_empty(), "nothing of a rejected sequence is written");
}

#[test]
fn conllu_labels_go_into_their_fields() {
    let text = "# text = vom\n1-2\tvom\t_\t_\t_\t_\t_\t_\t_\t_\n1\tvon\tvon\tADP\tAPPR+X\t_\t3\tcase\t_\t_\n\
                1.1\tx\tx\tX\t_\t_\t_\t_\t_\t_\n2\tdem\tder\tDET\tART\tCase=Dat\t3\tdet\t_\t_\n\n";
    let options =
        ReaderOptions::conllu("xpos+feats").unwrap().labelled(true).fields([Field::Form, Field::Lemma]);
    let sequence = &read_all(text.as_bytes(), &options).unwrap()[0];
    assert_eq!(sequence.cells(1).collect::<Vec<_>>(), ["dem", "der"]);
    assert_eq!((sequence.label(0), sequence.label(1)), (Some("APPR\\+X+_"), Some("ART+Case=Dat")));
    let mut writer = Writer::new(Vec::new(), WriterOptions::conllu("xpos+feats").unwrap());
    writer.write(sequence, &[&["A\\+B+C=D+E", "F"]], None).unwrap();
    let expected = text.replace("APPR+X\t_", "A+B\tC=D+E").replace("ART\tCase=Dat", "F\t_");
    assert_eq!(String::from_utf8(writer.into_inner()).unwrap(), expected);
}

#[test]
fn confidences_stand_where_each_format_has_room() {
    let line = "1\tTime\t_\tNOUN\t_\t_\t_\t_\t_\tA=b|Confidence=0.5000\n\n";
    let sequence = &read_all(line.as_bytes(), &ReaderOptions::conllu("upos").unwrap()).unwrap()[0];
    let answer = Answer {
        labels: &["X"],
        confidences: Some(&[0.98765]),
        distributions: None,
        probability: Some(0.25),
        candidate: Some(Candidate { rank: 1, score: -2.5 }),
    };
    let write = |options: WriterOptions, answer: &Answer<'_>| {
        let mut writer = Writer::new(Vec::new(), options);
        writer.write_answer(sequence, answer).unwrap();
        String::from_utf8(writer.into_inner()).unwrap()
    };
    assert_eq!(write(WriterOptions::columns(), &answer), "# 1 -2.5 0.2500\nTime\tX/0.9877\n\n");
    assert_eq!(write(WriterOptions::items(), &answer), "# 1 -2.5 0.2500\nX/0.9877\n\n");
    let expected = line.replace("NOUN", "X").replace("0.5000", "0.9877");
    assert_eq!(
        write(WriterOptions::conllu("upos").unwrap(), &answer),
        format!("# 1 -2.5 0.2500\n{expected}")
    );
    #[cfg(feature = "json")]
    assert_eq!(
        write(WriterOptions::jsonl(), &answer),
        "{\"rank\":1,\"score\":-2.5,\"probability\":0.25,\"tokens\":[\"Time\"],\"tags\":[\"X\"],\"marginals\":[0.9877]}\n"
    );
    let rows = [vec![("X", 0.98765), ("Y|z", 0.0123)]];
    let full = Answer { distributions: Some(&rows), ..answer };
    let expected = "# 1 -2.5 0.2500\nTime\tX/0.9877\tX/0.9877\tY|z/0.0123\n\n";
    assert_eq!(write(WriterOptions::columns(), &full), expected);
    let expected = "A=b|Confidence=0.9877|Label1=X/0.9877|Label2=Y\\pz/0.0123\n\n";
    assert!(write(WriterOptions::conllu("upos").unwrap(), &full).ends_with(expected));
    #[cfg(feature = "json")]
    assert!(
        write(WriterOptions::jsonl(), &full).contains("\"distributions\":[{\"X\":0.9877,\"Y|z\":0.0123}]")
    );
    let bare = Answer { confidences: None, probability: None, candidate: None, ..answer };
    assert_eq!(write(WriterOptions::columns(), &bare), "Time\tX\n\n");
    let mut writer = Writer::new(Vec::new(), WriterOptions::conllu("upos").unwrap());
    let short = Answer { confidences: Some(&[]), ..answer };
    assert!(matches!(writer.write_answer(sequence, &short), Err(Error::Shape { .. })));
}

#[test]
fn the_first_line_of_a_sequence_is_known() {
    let text = "\n\na x\nb y\n\n\n\nc z\n";
    let mut reader = Reader::new(text.as_bytes(), "text", &ReaderOptions::columns()).unwrap();
    let mut sequence = Sequence::new();
    for (first, last) in [(3, 5), (8, 8)] {
        assert!(reader.read_into(&mut sequence).unwrap());
        assert_eq!((reader.first_line(), reader.line()), (first, last));
    }
    assert!(!reader.read_into(&mut sequence).unwrap());
}

#[test]
fn a_reader_is_an_iterator_and_its_first_error_the_last_item() {
    let options = ReaderOptions::columns();
    let bytes = b"a x\nb y\n\nc z\n\nd\n\ne x\n";
    let items: Vec<_> = Reader::new(&bytes[..], "data", &options).unwrap().collect();
    let lengths: Vec<_> = items[..2].iter().map(|item| item.as_ref().unwrap().len()).collect();
    assert_eq!((lengths, items.len()), (vec![2, 1], 3));
    assert_eq!(items[2].as_ref().unwrap_err().to_string(), "data:6: expected 2 columns, got 1 in \"d\"");
}

#[test]
fn formats_of_texts_are_told_in_words_and_understood() {
    for (name, format) in Format::NAMES {
        let mut text = TextFormat::new(format);
        assert_eq!((text.to_string().as_str(), format.name()), (name, name));
        for (separator, colon_words) in [(Separator::Blanks, false), (Separator::Tab, true)] {
            (text.separator, text.colon_words) = (separator, colon_words);
            text.fields = vec![Field::Misc, Field::Id];
            let words = text.words();
            assert_eq!(
                TextFormat::from_words(words.each_ref().map(|(_, word)| word.as_str())),
                Ok(text.clone())
            );
        }
    }
    for (file, format) in [
        ("a/x.conllu", Some(Format::Conllu)),
        ("x.jsonl.gz", Some(Format::Jsonl)),
        ("x.crfsuite", Some(Format::Items)),
        ("x.items", Some(Format::Items)),
        ("x.tsv", None),
        ("conllu", None),
        ("x.gz", None),
        ("", None),
    ] {
        assert_eq!(Format::by_ending(file), format, "{file}");
    }
}
