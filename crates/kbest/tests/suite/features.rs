//! Templates and extraction against oracles that build every feature string with `format!` and keep sets of strings.
//!
//! If `KBEST_FIXTURES` names a folder of CRF++ and CRFsuite models, their feature sets are compared, too.

use kbest::feature::{Dictionary, Extractor, ExtractorBuilder, FeatureBuffer, FeatureSource, Preset};
use kbest::text::{Reader, ReaderOptions};
use kbest::{Error, Sequence, Template};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The cell at a row; outside, CRF++'s name for it.
fn cell(sequence: &[Vec<String>], at: isize, column: usize) -> String {
    if at < 0 {
        format!("_B{at}")
    } else if at as usize >= sequence.len() {
        format!("_B+{}", at as usize - sequence.len() + 1)
    } else {
        sequence[at as usize][column].clone()
    }
}

/// A template line in pieces: text, then a macro, then text, ...
type Line = (char, String, Vec<(isize, usize, String)>);

fn written((kind, head, macros): &Line) -> String {
    let macros: String =
        macros.iter().map(|(row, column, text)| format!("%x[{row},{column}]{text}")).collect();
    format!("{kind}{head}{macros}")
}

fn expanded((kind, head, macros): &Line, sequence: &[Vec<String>], t: usize) -> String {
    let macros: String = macros
        .iter()
        .map(|(row, column, text)| format!("{}{text}", cell(sequence, t as isize + row, *column)))
        .collect();
    format!("{kind}{head}{macros}")
}

fn line() -> impl Strategy<Value = Line> {
    let text = "[0-9a-z:/|ä#\\[\\]x, ]{0,5}";
    (prop_oneof![Just('U'), Just('B')], text, vec((-12isize..12, 0usize..3, text), 0..4))
}

/// Three columns of a few words, so that features repeat.
fn sequences() -> impl Strategy<Value = Vec<Vec<Vec<String>>>> {
    let word = prop_oneof![
        3 => prop::sample::select(vec!["a", "the", "The", "USA", "1.5", "x-1", ".", "Über", "字"]).prop_map(String::from),
        1 => "[a-zA-Z0-9ÄÖßж字.-]{1,13}",
    ];
    vec(vec(vec(word, 3), 0..7), 0..6)
}

fn as_sequence(rows: &[Vec<String>]) -> Sequence {
    let mut sequence = Sequence::new();
    rows.iter().for_each(|row| sequence.push(row));
    sequence
}

type Features = Vec<(Vec<String>, Vec<String>)>; // of each position: node features, edge features

fn names(dictionary: &Dictionary, ids: &[u32]) -> Vec<String> {
    ids.iter().map(|&id| String::from_utf8(dictionary.key(id).unwrap().to_vec()).unwrap()).collect()
}

fn extracted(extractor: &Extractor, sequence: &Sequence, buffer: &mut FeatureBuffer) -> Features {
    extractor.extract(sequence, buffer).unwrap();
    named(extractor, buffer)
}

fn named(extractor: &Extractor, buffer: &FeatureBuffer) -> Features {
    let position = |t| (names(extractor.nodes(), buffer.nodes(t)), names(extractor.edges(), buffer.edges(t)));
    (0..buffer.len()).map(position).collect()
}

/// Trains on the first half, checks both halves against the oracle: known features are those seen often enough.
fn check(
    source: FeatureSource,
    data: &[Vec<Vec<String>>],
    least: u32,
    oracle: impl Fn(&[Vec<String>]) -> Features,
) {
    let (train, _) = data.split_at(data.len().div_ceil(2));
    let mut builder = ExtractorBuilder::new(source.clone()).rare_up_to(1);
    let mut buffers = Vec::new();
    for rows in train {
        builder.count_words(&as_sequence(rows));
    }
    for rows in train {
        let mut buffer = FeatureBuffer::new();
        builder.observe(&as_sequence(rows), &mut buffer).unwrap();
        buffers.push(buffer);
    }
    let mut counts = [BTreeMap::new(), BTreeMap::new()];
    for (nodes, edges) in train.iter().flat_map(|rows| oracle(rows)) {
        nodes.into_iter().for_each(|name| *counts[0].entry(name).or_insert(0u32) += 1);
        edges.into_iter().for_each(|name| *counts[1].entry(name).or_insert(0u32) += 1);
    }
    assert_eq!((builder.node_features(), builder.edge_features()), (counts[0].len(), counts[1].len()));

    let frozen = builder.freeze(least);
    let known = |kind: usize, name: &String| counts[kind].get(name).is_some_and(|&count| count >= least);
    let mut buffer = FeatureBuffer::new();
    for (i, rows) in data.iter().enumerate() {
        let mut expected = oracle(rows);
        for (nodes, edges) in &mut expected {
            nodes.retain(|name| known(0, name));
            edges.retain(|name| known(1, name));
        }
        assert_eq!(extracted(&frozen.extractor, &as_sequence(rows), &mut buffer), expected);
        if let Some(old) = buffers.get_mut(i) {
            old.renumber(&frozen.nodes, &frozen.edges);
            assert_eq!(*old, buffer, "renumbered as extracted");
        }
    }

    // An extractor assembled from parts is the same.
    let extractor = &frozen.extractor;
    let again = Extractor::from_parts(
        source,
        Dictionary::from_keys(extractor.nodes().keys()),
        Dictionary::from_keys(extractor.edges().keys()),
        Dictionary::from_keys(extractor.frequent_words().keys()),
        extractor.columns(),
    );
    assert_eq!(again.shared_edges(), extractor.shared_edges());
    for rows in data {
        let (sequence, mut other) = (as_sequence(rows), FeatureBuffer::new());
        extractor.extract(&sequence, &mut buffer).unwrap();
        again.extract(&sequence, &mut other).unwrap();
        assert_eq!(buffer, other);
    }
}

/// The word at column 0, shape and flags, written a second time and differently.
fn looks(word: &str) -> Vec<String> {
    let mut names = Vec::new();
    let chars: Vec<char> = word.chars().collect();
    let mut flag = |name: &str, holds: bool| names.extend(holds.then(|| name.to_owned()));
    flag("capital", chars.first().is_some_and(|c| c.is_uppercase()));
    flag("capitals", !chars.is_empty() && chars.iter().all(|c| c.is_uppercase()));
    let digits = chars.iter().any(|c| c.is_numeric());
    flag("digit", digits);
    flag("number", digits && chars.iter().all(|c| c.is_numeric() || ".,-/:".contains(*c)));
    flag("punctuation", !chars.is_empty() && !chars.iter().any(|c| c.is_alphanumeric()));
    flag("hyphen", chars.contains(&'-'));
    let mut shape: Vec<char> = chars
        .iter()
        .map(|&c| match () {
            () if c.is_uppercase() => 'X',
            () if c.is_alphabetic() => 'x',
            () if c.is_numeric() => 'd',
            () => c,
        })
        .collect();
    shape.dedup();
    names.push(format!("shape={}", shape.into_iter().collect::<String>()));
    names
}

/// Lower case, and 0 for digits.
fn folded(text: &str) -> String {
    text.chars().map(|c| if c.is_numeric() { "0".to_owned() } else { c.to_lowercase().collect() }).collect()
}

/// The folded word at a row; outside, CRF++'s name for it.
fn folded_word(rows: &[Vec<String>], at: isize) -> String {
    let inside = at >= 0 && (at as usize) < rows.len();
    if inside { folded(&cell(rows, at, 0)) } else { cell(rows, at, 0) }
}

fn affixes(word: &str, longest: usize) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    let text = |part: &[char]| folded(&part.iter().collect::<String>());
    let longest = longest.min(chars.len());
    let prefixes = (1..=longest).map(|n| format!("pre{n}={}", text(&chars[..n])));
    prefixes.chain((1..=longest).map(|n| format!("suf{n}={}", text(&chars[chars.len() - n..])))).collect()
}

fn label_bigram(t: usize) -> Vec<String> {
    if t == 0 { vec![] } else { vec!["B".into()] }
}

fn words_oracle(rows: &[Vec<String>]) -> Features {
    let position = |t: usize| {
        let at = |offset: isize| folded_word(rows, t as isize + offset);
        let mut nodes: Vec<String> = (-2..=2).map(|d| format!("w[{d}]={}", at(d))).collect();
        nodes.push(format!("w[-1]|w[0]={}|{}", at(-1), at(0)));
        nodes.push(format!("w[0]|w[1]={}|{}", at(0), at(1)));
        nodes.extend(affixes(&rows[t][0], 4));
        nodes.extend(looks(&rows[t][0]));
        (nodes, label_bigram(t))
    };
    (0..rows.len()).map(position).collect()
}

fn columns_oracle(rows: &[Vec<String>]) -> Features {
    let position = |t: usize| {
        let mut nodes = Vec::new();
        for column in 0..rows[t].len() {
            let at = |offset: isize| cell(rows, t as isize + offset, column);
            nodes.extend((-2..=2).map(|d| format!("c{column}[{d}]={}", at(d))));
            nodes.extend((-2..=1).map(|d| format!("c{column}[{d}]|[{}]={}|{}", d + 1, at(d), at(d + 1))));
        }
        (nodes, label_bigram(t))
    };
    (0..rows.len()).map(position).collect()
}

fn morphology_oracle(rows: &[Vec<String>], frequent: &BTreeSet<String>) -> Features {
    let position = |t: usize| {
        let mut nodes: Vec<String> =
            (-2..=2).map(|d| format!("w[{d}]={}", folded_word(rows, t as isize + d))).collect();
        nodes.extend(affixes(&rows[t][0], if frequent.contains(&rows[t][0]) { 4 } else { 10 }));
        nodes.extend(looks(&rows[t][0]));
        if t == 0 && nodes.iter().any(|name| name == "capital") {
            nodes.push("first=capital".into());
        }
        for d in [-1isize, 1] {
            let Some(row) = t.checked_add_signed(d).and_then(|at| rows.get(at)) else { continue };
            let chars: Vec<char> = row[0].chars().collect();
            for n in (1..=3).filter(|&n| n <= chars.len()) {
                let suffix: String = chars[chars.len() - n..].iter().collect();
                nodes.push(format!("suf{n}[{d}]={}", folded(&suffix)));
            }
            let shape = looks(&row[0]).pop().unwrap();
            nodes.push(shape.replacen("shape=", &format!("shape[{d}]="), 1));
        }
        (nodes, label_bigram(t))
    };
    (0..rows.len()).map(position).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn templates_expand_as_formatted(lines in vec(line(), 0..8), data in sequences()) {
        let text: String = lines.iter().map(|line| format!("# comment\n{}\n\n", written(line))).collect();
        let template = Template::parse(&text, "template").unwrap();
        let of = |kind| lines.iter().filter(move |line| line.0 == kind);
        let in_order: Vec<String> = of('U').chain(of('B')).map(written).collect();
        prop_assert_eq!(template.lines().collect::<Vec<_>>(), in_order);
        let mut out = b"before ".to_vec();
        for rows in &data {
            let sequence = as_sequence(rows);
            for t in 0..rows.len() {
                for (rules, kind) in [(template.unigrams(), 'U'), (template.bigrams(), 'B')] {
                    for (rule, line) in rules.iter().zip(of(kind)) {
                        out.truncate(7);
                        rule.expand(&sequence, t, &mut out);
                        prop_assert_eq!(std::str::from_utf8(&out).unwrap(), format!("before {}", expanded(line, rows, t)));
                        prop_assert_eq!(rule.looks_at_input(), !line.2.is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn template_features_are_those_of_the_oracle(lines in vec(line(), 0..6), data in sequences(), least in 0u32..4) {
        let text: String = lines.iter().map(|line| written(line) + "\n").collect();
        let template = Template::parse(&text, "template").unwrap();
        let oracle = |rows: &[Vec<String>]| -> Features {
            let all = |t: usize, kind| lines.iter().filter(|line| line.0 == kind).map(|line| expanded(line, rows, t)).collect();
            (0..rows.len()).map(|t| (all(t, 'U'), if t == 0 { vec![] } else { all(t, 'B') })).collect()
        };
        check(FeatureSource::Template(template), &data, least, oracle);
    }

    #[test]
    fn preset_features_are_those_of_the_oracle(data in sequences(), least in 0u32..3) {
        check(FeatureSource::Preset(Preset::Words), &data, least, words_oracle);
        check(FeatureSource::Preset(Preset::Columns), &data, least, columns_oracle);
        let mut counts = BTreeMap::new();
        for row in data[..data.len().div_ceil(2)].iter().flatten() {
            *counts.entry(row[0].clone()).or_insert(0) += 1;
        }
        let frequent = counts.into_iter().filter(|&(_, count)| count > 1).map(|(word, _)| word).collect();
        check(FeatureSource::Preset(Preset::Morphology), &data, least, |rows| morphology_oracle(rows, &frequent));
    }

    #[test]
    fn items_keep_their_values(items in vec(vec((0u8..9, prop_oneof![Just(1.0), -2.0..2.0]), 0..5), 1..8)) {
        let mut sequence = Sequence::new();
        for item in &items {
            sequence.push_position();
            item.iter().for_each(|(name, value)| sequence.push_valued_cell(&format!("a{name}"), *value));
        }
        // Only the even names are known.
        let nodes = Dictionary::from_keys(["a0", "a2", "a4", "a6", "a8"]);
        let edges = Dictionary::from_keys(["B"]);
        let extractor = Extractor::from_parts(FeatureSource::Items, nodes, edges, Dictionary::default(), 0);
        let mut buffer = FeatureBuffer::new();
        extractor.extract(&sequence, &mut buffer).unwrap();
        for (t, item) in items.iter().enumerate() {
            let known: Vec<_> = item.iter().filter(|(name, _)| name % 2 == 0).collect();
            prop_assert!(buffer.nodes(t).iter().eq(known.iter().map(|(name, _)| name).map(|&name| u32::from(name / 2)).collect::<Vec<_>>().iter()));
            let values: Vec<f64> = buffer.values(t).map_or(vec![1.0; known.len()], <[f64]>::to_vec);
            prop_assert_eq!(values, known.iter().map(|(_, value)| *value).collect::<Vec<_>>());
            prop_assert_eq!(buffer.edges(t), if t == 0 { &[][..] } else { &[0][..] });
        }
    }

    #[test]
    fn hostile_templates_never_panic(text in "[UB%x\\[\\],0-9 #\r\n-]{0,40}", bytes in vec(any::<u8>(), 0..40)) {
        if let Err(error) = Template::parse(&text, "t") {
            prop_assert!(matches!(error, Error::Template { .. }), "{error}");
        }
        let _ = Template::parse_bytes(&bytes, "t");
    }
}

#[test]
fn missing_columns_are_refused() {
    let sequence = Sequence::from_tokens(["one", "two"]);
    let template = Template::parse("U:%x[0,1]\n", "t").unwrap();
    let mut builder = ExtractorBuilder::new(FeatureSource::Template(template));
    let error = builder.observe(&sequence, &mut FeatureBuffer::new()).unwrap_err();
    assert_eq!(error.to_string(), "columns of position 0: expected at least 2, got 1");

    let mut builder = ExtractorBuilder::new(FeatureSource::Preset(Preset::Columns));
    let mut two = Sequence::new();
    two.push(["a", "b"]);
    builder.observe(&two, &mut FeatureBuffer::new()).unwrap();
    let extractor = builder.freeze(1).extractor;
    assert!(matches!(extractor.extract(&sequence, &mut FeatureBuffer::new()), Err(Error::Shape { .. })));
    two.clear();
    two.push(["a", "b", "one more"]);
    extractor.extract(&two, &mut FeatureBuffer::new()).unwrap();
}

#[test]
fn shared_and_observed_edges_are_told_apart() {
    let source = |text| FeatureSource::Template(Template::parse(text, "t").unwrap());
    assert!(!source("U:%x[0,0]\nB\n").has_observed_edges());
    let observed = source("B\nB1:%x[0,0]\nB2\n");
    assert!(observed.has_observed_edges());
    let mut builder = ExtractorBuilder::new(observed);
    let (sequence, mut buffer) = (Sequence::from_tokens(["x", "y", "z"]), FeatureBuffer::new());
    builder.observe(&sequence, &mut buffer).unwrap();
    let extractor = builder.freeze(1).extractor;
    assert_eq!(names(extractor.edges(), extractor.shared_edges()), ["B", "B2"]);
    let features = extracted(&extractor, &sequence, &mut buffer);
    assert_eq!(features[0].1, [""; 0]);
    assert_eq!(
        (&features[1].1[..], &features[2].1[..]),
        (&["B", "B1:y", "B2"].map(String::from)[..], &["B", "B1:z", "B2"].map(String::from)[..])
    );
}

/// The folder of fixtures, or a line that says the test did not run.
fn fixtures(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("KBEST_FIXTURES").map(PathBuf::from);
    if folder.is_none() {
        println!("NOT RUN: {test} (set KBEST_FIXTURES to the folder of models)");
    }
    folder
}

/// The features that CRF++ kept (`-f 2`), word for word, from its own text model.
#[cfg(feature = "gzip")]
#[test]
fn same_features_as_crfpp() {
    let Some(folder) = fixtures("same_features_as_crfpp") else { return };
    for (template, model) in [("template", "crfpp/model.txt.gz"), ("template-b", "crfpp/model-b.txt.gz")] {
        let text = std::fs::read_to_string(folder.join(template)).unwrap();
        let template = Template::parse(&text, template).unwrap();
        let mut builder = ExtractorBuilder::new(FeatureSource::Template(template.clone()));
        let mut labels = kbest::LabelSetBuilder::new();
        let options = ReaderOptions::columns().labelled(true).required(true);
        let mut reader = Reader::open(folder.join("train.tsv"), &options).unwrap();
        let (mut sequence, mut buffer) = (Sequence::new(), FeatureBuffer::new());
        while reader.read_into(&mut sequence).unwrap() {
            builder.observe(&sequence, &mut buffer).unwrap();
            (0..sequence.len()).for_each(|t| _ = labels.add(sequence.label(t).unwrap()));
        }
        assert_eq!(reader.sequences(), 250);
        let extractor = builder.freeze(2).extractor;

        use std::io::Read;
        let mut text = String::new();
        let packed = std::fs::File::open(folder.join(model)).unwrap();
        flate2::read::GzDecoder::new(packed).read_to_string(&mut text).unwrap();
        let mut sections = text.split("\n\n").map(|section| section.lines());
        let header: Vec<&str> = sections.next().unwrap().collect();
        assert_eq!(header[3], "xsize: 2");
        let (labels, _) = labels.freeze(kbest::LabelOrder::Sorted);
        assert!(sections.next().unwrap().eq(labels.names()));
        assert!(sections.next().unwrap().eq(template.lines()));
        let theirs: BTreeSet<&[u8]> =
            sections.next().unwrap().map(|line| line.split_once(' ').unwrap().1.as_bytes()).collect();
        let ours: BTreeSet<&[u8]> = extractor.nodes().keys().chain(extractor.edges().keys()).collect();
        assert!(theirs.len() > 6000);
        assert!(ours == theirs, "{} and {} features", ours.len(), theirs.len());
        let weights = labels.len() * (extractor.nodes().len() + labels.len() * extractor.edges().len());
        assert_eq!(header[2], format!("maxid: {weights}"));
    }
}

/// CRFsuite's test items: as many items as tokens in the table they were made from, including values and escapes.
#[test]
fn reads_crfsuite_items() {
    let Some(folder) = fixtures("reads_crfsuite_items") else { return };
    let columns = ReaderOptions::columns().labelled(true);
    let mut table = Reader::open(folder.join("test.tsv"), &columns).unwrap();
    let mut items =
        Reader::open(folder.join("crfsuite/test.items"), &ReaderOptions::items().labelled(true)).unwrap();
    let (mut rows, mut sequence) = (Sequence::new(), Sequence::new());
    while table.read_into(&mut rows).unwrap() {
        assert!(items.read_into(&mut sequence).unwrap());
        assert_eq!(rows.len(), sequence.len());
        for t in 0..rows.len() {
            assert_eq!(rows.label(t), sequence.label(t));
            assert_eq!(sequence.cell(t, 0), Some(&*format!("w={}", rows.cell(t, 0).unwrap())));
            assert_eq!(sequence.cell(t, 1), Some(&*format!("pos={}", rows.cell(t, 1).unwrap())));
            assert!(
                sequence
                    .cells(t)
                    .zip(sequence.values(t).unwrap())
                    .any(|(name, &value)| name == "len" && value > 0.0)
            );
        }
    }
    assert!(!items.read_into(&mut sequence).unwrap());
    assert_eq!(items.sequences(), 40);
}

#[test]
fn words_of_the_training_data_are_known() {
    for (name, preset) in Preset::NAMES {
        let mut builder = ExtractorBuilder::new(FeatureSource::Preset(preset));
        builder
            .observe(&Sequence::from_tokens(["The", "CD-ROM", "of", "1999"]), &mut FeatureBuffer::new())
            .unwrap();
        let extractor = builder.freeze(1).extractor;
        for word in ["The", "CD-ROM", "of", "1999"] {
            assert_eq!(extractor.knows_word(word), Some(true), "{name}: {word}");
        }
        assert_eq!(extractor.knows_word("other"), Some(false), "{name}");
    }
    let items = ExtractorBuilder::new(FeatureSource::Items).freeze(1).extractor;
    assert_eq!(items.knows_word("The"), None);
}

/// A sum has the features of its parts, none twice: `columns` leaves the first column to `words`, `words` adds only pairs to
/// `morphology`, and a bare `B` is the presets' label bigram.
#[test]
fn features_add_up() {
    let rows = [["Old", "ADJ"], ["men", "NOUN"], ["sat", "VERB"]].map(|row| row.map(String::from).to_vec());
    let sequence = as_sequence(&rows);
    let names = |source: &FeatureSource| {
        let mut builder = ExtractorBuilder::new(source.clone());
        builder.observe(&sequence, &mut FeatureBuffer::new()).unwrap();
        let extractor = builder.freeze(1).extractor;
        assert_eq!(extractor.shared_edges().len(), 1, "{}", source.name());
        extracted(&extractor, &sequence, &mut FeatureBuffer::new())
    };
    let [words, columns, morphology] =
        [Preset::Words, Preset::Columns, Preset::Morphology].map(FeatureSource::Preset);
    let template = |text: &str| FeatureSource::Template(Template::parse(text, "t").unwrap());
    let plain = template("U1:%suffix[0,0,4]\nU2:%x[0,1]\nB\n");
    let sum = |parts: &[&FeatureSource]| FeatureSource::sum(parts.iter().copied().cloned()).unwrap();
    let added = |a: &FeatureSource, b: &FeatureSource, keeps: fn(&str) -> bool| {
        let both = names(a).into_iter().zip(names(b));
        both.map(|((mut nodes, edges), (more, _))| {
            nodes.extend(more.into_iter().filter(|name| keeps(name)));
            (nodes, edges)
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(names(&sum(&[&words, &columns])), added(&words, &columns, |name| !name.starts_with("c0")));
    assert_eq!(names(&sum(&[&morphology, &words])), added(&morphology, &words, |name| name.contains("]|w[")));
    assert_eq!(names(&sum(&[&plain, &columns])), added(&plain, &columns, |_| true));
    let without_edges = template("U1:%x[0,0]\n");
    assert_eq!(names(&sum(&[&without_edges, &words]))[1].1, ["B"], "presets bring label bigrams");
    assert_eq!(names(&plain)[0].0, ["U2:ADJ"], "no suffix of four characters");

    let source = sum(&[&plain, &words, &columns]);
    let mut builder = ExtractorBuilder::new(source);
    builder.observe(&sequence, &mut FeatureBuffer::new()).unwrap();
    let extractor = builder.freeze(1).extractor;
    let kinds: Vec<(String, usize)> =
        extractor.kinds().into_iter().map(|kind| (kind.name, kind.features)).collect();
    assert_eq!(
        kinds.iter().map(|kind| kind.1).sum::<usize>(),
        extractor.nodes().len() + extractor.edges().len()
    );
    for (name, count) in
        [("U2:%x[0,1]", 3), ("word pairs", 6), ("prefixes", 9), ("cells of column 2", 15), ("label pairs", 1)]
    {
        assert!(kinds.contains(&(name.to_owned(), count)), "{name}: {kinds:?}");
    }
}
