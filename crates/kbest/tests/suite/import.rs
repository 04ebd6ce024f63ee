//! Models of other programs: small ones written here score as their formats specify, and no bytes make an importer
//! panic. The answers of the programs themselves are compared in `import_fixtures.rs`.

use crate::common::Random;
use kbest::feature::FeatureBuffer;
use kbest::model::import::{self, Origin};
use kbest::scoring::rows::{ScoreBuffer, lattice};
use kbest::{Error, Model, Sequence, Tagger};

/// Two labels, features of all kinds, weights out of order, a cost factor.
pub(crate) const CRFPP: &str = "version: 100\ncost-factor: 2\nmaxid: 14\nxsize: 2\n\nX\nÄ Y\n\nU0:%x[0,0]\nU1:%x[-1,1]\nB\n\
    B1:%x[0,1]\n\n4 B\n10 B1:t\n0 U0:a\n8 U1:_B-1\n2 U1:t\n\n1\n-2\n0.5\n0\n0.25\n-0.25\n3\n0\n-1\n0.125\n1\n2\n4\n8\n";

/// Two labels; kinds `u`, `b` and `*`; a weight in each notation.
pub(crate) const WAPITI: &str = "#mdl#2#8\n#rdr#4/1/0\n10:u0:%X[0,0],\n18:*1:%t[0,1,\"^t\"]x#y,\n1:b,\n11:b2:%x[-1,0],\n#qrk#2\n1:X,\n\
    4:Ä Y,\n#qrk#5\n4:u0:a,\n10:*1:truex#y,\n4:u0:b,\n1:b,\n4:b2:A,\n1=0x1.8p+0\n2=-0x1p-1\n3=2\n4=0x1p-2\n7=1.5\n8=4\n\
    13=-0x1.4p+1\n15=0x1p3\n";

/// A model as CRFsuite writes it, except for its hash tables, which are not needed to read it.
fn crfsuite(labels: &[&[u8]], attributes: &[&[u8]], features: &[(u32, u32, u32, f64)]) -> Vec<u8> {
    fn push(out: &mut Vec<u8>, numbers: &[usize]) {
        numbers.iter().for_each(|&number| out.extend((number as u32).to_le_bytes()));
    }
    fn database(strings: &[&[u8]]) -> Vec<u8> {
        let (mut records, mut links) = (Vec::new(), Vec::new());
        let start = 24 + 256 * 8;
        for (number, string) in strings.iter().enumerate() {
            push(&mut links, &[start + records.len()]);
            push(&mut records, &[number, string.len() + 1]);
            records.extend([string, &b"\0"[..]].concat());
        }
        let mut out = b"CQDB".to_vec();
        push(&mut out, &[start + records.len() + links.len(), 0, 0x6244_5371]);
        push(&mut out, &[strings.len(), start + records.len()]);
        out.resize(start, 0);
        [out, records, links].concat()
    }
    let mut chunk = b"FEAT".to_vec();
    push(&mut chunk, &[12 + 20 * features.len(), features.len()]);
    for &(kind, source, label, weight) in features {
        push(&mut chunk, &[kind as usize, source as usize, label as usize]);
        chunk.extend(weight.to_le_bytes());
    }
    let parts = [chunk, database(labels), database(attributes)];
    let ends: Vec<usize> = parts.iter().scan(48, |end, part| (*end += part.len(), Some(*end)).1).collect();
    let mut out = b"lCRF".to_vec();
    push(&mut out, &[ends[2]]);
    out.extend(b"FOMC");
    push(&mut out, &[100, 0, labels.len(), attributes.len(), 48, ends[0], ends[1], ends[2], ends[2]]);
    [out, parts.concat()].concat()
}

pub(crate) fn small_crfsuite() -> Vec<u8> {
    let attributes: [&[u8]; 4] = [b"w=a", "len:\u{e4}".as_bytes(), b"\xff\xfe", b"__BOS__"];
    let labels: [&[u8]; 2] = [b"X", "Ä Y".as_bytes()];
    let features = [
        (0, 0, 0, 1.5),
        (1, 0, 1, 0.75),
        (0, 1, 1, -2.0),
        (0, 3, 0, 0.25),
        (1, 1, 1, -1.0),
        (0, 1, 0, 4.0),
        (0, 2, 0, 9.0),
    ];
    crfsuite(&labels, &attributes, &features)
}

/// The score of every path, by label 0 and 1.
fn scores(model: &Model, sequence: &Sequence) -> Vec<f32> {
    let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
    model.extractor().extract(sequence, &mut features).unwrap();
    let lattice = lattice(model, &features, &mut buffer).unwrap();
    let paths = 0..1u32 << sequence.len();
    let labels = |path: u32| (0..sequence.len()).map(|t| path >> t & 1).collect::<Vec<u32>>();
    paths.map(|path| lattice.path_score(&labels(path)).unwrap()).collect()
}

/// Scores from nodes `[t][y]` and edges `[t - 1][p][y]` for sequences of two positions, in the order of [`scores`].
fn two_positions(nodes: [[f32; 2]; 2], edge: [[f32; 2]; 2]) -> Vec<f32> {
    [(0, 0), (1, 0), (0, 1), (1, 1)].iter().map(|&(p, y)| nodes[0][p] + nodes[1][y] + edge[p][y]).collect()
}

fn sequence(rows: &[[&str; 2]]) -> Sequence {
    let mut sequence = Sequence::new();
    rows.iter().for_each(|row| sequence.push(row));
    sequence
}

#[test]
fn crfpp_scores() {
    let model = import::crfpp(CRFPP.as_bytes(), "model").unwrap();
    assert_eq!(model.labels().names().collect::<Vec<_>>(), ["X", "Ä Y"]);
    assert_eq!((model.extractor().columns(), model.about()[0].1.as_str()), (2, "CRF++ text model"));
    // U0:a [1, -2], U1:_B-1 [-1, 0.125], U1:t [0.5, 0], B [[0.25, -0.25], [3, 0]], B1:t [[1, 2], [4, 8]]; all twice.
    let expected = two_positions([[0.0, -3.75], [1.0, 0.0]], [[0.5, -0.5], [6.0, 0.0]]);
    assert_eq!(scores(&model, &sequence(&[["a", "t"], ["b", "s"]])), expected);
    let expected = two_positions([[-2.0, 0.25], [3.0, -4.0]], [[2.5, 3.5], [14.0, 16.0]]);
    assert_eq!(scores(&model, &sequence(&[["b", "t"], ["a", "t"]])), expected);
    assert_eq!(scores(&model, &sequence(&[["a", "s"]])), [0.0, -3.75], "B belongs to steps");
    let windows = CRFPP.replace('\n', "\r\n");
    assert_eq!(import::crfpp(windows.as_bytes(), "model").unwrap().labels(), model.labels());
}

#[test]
fn wapiti_scores() {
    let model = import::wapiti(WAPITI.as_bytes(), "model").unwrap();
    assert_eq!(model.about()[0].1, "Wapiti text model, crf");
    // u0:a [0, 1.5], *1:true [-0.5, 2] and [[0.25, 0], [0, 1.5]], u0:b [4, 0], b [[0, 0], [0, -2.5]],
    // b2:A [[0, 8], [0, 0]]
    let expected = two_positions([[-0.5, 3.5], [4.0, 0.0]], [[0.0, 8.0], [0.0, -2.5]]);
    assert_eq!(scores(&model, &sequence(&[["A", "t"], ["B", "s"]])), expected);
    let expected = two_positions([[4.0, 0.0], [-0.5, 3.5]], [[0.25, 0.0], [0.0, -1.0]]);
    assert_eq!(scores(&model, &sequence(&[["b", "s"], ["a", "tt"]])), expected);
    let old = WAPITI.replace("#mdl#2#", "#mdl#").replace("4/1/0", "4/1");
    let old = import::wapiti(old.as_bytes(), "model").unwrap();
    assert_eq!(old.about()[0].1, "Wapiti text model, maxent");
    assert_eq!(scores(&old, &sequence(&[["b", "s"], ["a", "tt"]])), expected);
}

#[test]
fn any_model_is_loaded_by_its_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let ours = import::crfpp(CRFPP.as_bytes(), "model").unwrap().to_bytes().unwrap();
    let path = folder.path().join("model");
    for (bytes, text) in [
        (&ours[..], "columns"),
        (CRFPP.as_bytes(), "columns"),
        (WAPITI.as_bytes(), "columns"),
        (&small_crfsuite(), "items"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let model = Model::load_any(&path).unwrap();
        assert_eq!(model.labels().names().collect::<Vec<_>>(), ["X", "Ä Y"]);
        assert_eq!(model.text_format().unwrap().to_string(), text);
        let same = Model::from_any_bytes(bytes, "bytes").unwrap();
        assert_eq!(same.to_bytes().unwrap(), model.to_bytes().unwrap());
        #[cfg(feature = "gzip")]
        {
            use std::io::Write;
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).unwrap();
            let packed = folder.path().join("packed"); // ours is mapped: its file must stay
            std::fs::write(&packed, encoder.finish().unwrap()).unwrap();
            let unpacked = Model::load_any(&packed).unwrap();
            assert_eq!(unpacked.to_bytes().unwrap(), model.to_bytes().unwrap());
        }
    }
    for (bytes, expected) in [
        (&b""[..], "got an empty file"),
        (b"x", "got a file that begins with x"),
        (b"kbest", "expected a kbest file, got one that begins with"), // whose magic number is cut short
        (b"kbest\x1a\r\nmodel", "expected a header of 64 bytes"),
        (&ours[..ours.len() - 1], "as the header says"),
        (b"version: 100\n", "model:"),
        (b"lCRF", "model:"),
        (b"#mdl#2#8\n", "model:"),
        (b"\x64\0\0\0rest", "a binary CRF++ model"),
        #[cfg(feature = "gzip")]
        (b"\x1f\x8bcut", "a complete gzip archive"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = Model::load_any(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "expected {expected}, got {error}");
        assert!(Model::from_any_bytes(bytes, "bytes").is_err());
    }
    let error = Model::from_any_bytes(b"{}", "f").unwrap_err().to_string();
    let all = "f: expected a kbest or CRFsuite model, or a text model of CRF++ (crf_learn -t) or Wapiti";
    assert_eq!(error, format!("{all}, got a file that begins with {{}}"));
    assert!(matches!(Model::load_any(folder.path().join("none")), Err(Error::Io { .. })));
    assert!(matches!(Model::load_any(folder.path()), Err(Error::Io { .. })));
}

/// Input that cannot be read twice is read once: a pipe, whichever program wrote the model.
#[cfg(target_os = "linux")]
#[test]
fn models_come_out_of_pipes() {
    use std::os::fd::AsRawFd;
    let ours = import::crfpp(CRFPP.as_bytes(), "model").unwrap().to_bytes().unwrap();
    for bytes in [ours, CRFPP.as_bytes().to_vec(), small_crfsuite()] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let writing = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &bytes));
        assert_eq!(Model::load_any(&path).unwrap().labels().len(), 2);
        writing.join().unwrap().unwrap();
    }
}

#[test]
fn wapiti_without_patterns_and_with_lone_positions() {
    let model = "#mdl#2#3\n#rdr#0/0/0\n#qrk#2\n1:X,\n1:Y,\n#qrk#2\n2:*a,\n1:u,\n1=1\n4=2\n7=4\n";
    let model = import::wapiti(model.as_bytes(), "model").unwrap();
    let expected = two_positions([[0.0, 1.0], [0.0, 5.0]], [[0.0, 0.0], [2.0, 0.0]]);
    assert_eq!(scores(&model, &sequence(&[["*a", "b"], ["u", "*a"]])), expected);
    let mut buffer = FeatureBuffer::new();
    let error = model.extractor().extract(&sequence(&[["*a", "word"]]), &mut buffer).unwrap_err();
    assert!(error.to_string().contains("u, b or *"), "{error}");

    let model =
        "#mdl#0#2\n#rdr#2/0/1\n9:u%x[-1,0],\n1:b,\n#qrk#2\n1:X,\n1:Y,\n#qrk#2\n6:uu_x-1,\n2:ub,\n1=1\n2=8\n";
    let model = import::wapiti(model.as_bytes(), "model").unwrap();
    let expected = two_positions([[0.0, 1.0], [0.0, 1.0]], [[0.0; 2]; 2]);
    assert_eq!(scores(&model, &sequence(&[["a", ""], ["b", ""]])), expected, "each position is alone");
}

#[test]
fn crfsuite_scores() {
    let model = import::crfsuite(&small_crfsuite(), "model").unwrap();
    assert_eq!(model.labels().names().collect::<Vec<_>>(), ["X", "Ä Y"]);
    assert_eq!(model.extractor().nodes().key(2), Some(&b"\xff\xfe"[..]), "names are bytes");
    let mut sequence = Sequence::new();
    sequence.push(["w=a", "unknown", "__BOS__"]);
    sequence.push_position();
    sequence.push_valued_cell("len:\u{e4}", 0.5);
    sequence.push_valued_cell("w=a", -1.0);
    let expected = two_positions([[1.75, 0.0], [0.5, -1.0]], [[0.0, 0.75], [0.0, -1.0]]);
    assert_eq!(scores(&model, &sequence), expected);
    let bare = import::crfsuite(&crfsuite(&[b"X"], &[], &[]), "model").unwrap();
    let mut tagger = Tagger::new(bare.into());
    assert_eq!(tagger.tag(&Sequence::from_tokens(["x", "y"]), 1).unwrap().decoded.best().labels, [0, 0]);
}

/// Three labels, two features; the last label has most weights, the others have one each.
#[test]
fn labels_with_many_weights_rank_first_and_keep_their_numbers() {
    let features = [(0, 0, 2, 1.0), (0, 1, 2, 2.0), (0, 1, 0, 3.0), (0, 0, 1, 0.0), (1, 2, 1, 1.0)];
    let model = crfsuite(&[b"X", b"Y", b"Z"], &[b"a", b"b"], &features);
    let model = import::crfsuite(&model, "model").unwrap();
    assert_eq!(model.labels().names().collect::<Vec<_>>(), ["X", "Y", "Z"]);
    assert_eq!(model.shared_edges().order(), Some(&[2, 0, 1][..]), "zeros are not weights");
    for (bytes, order) in [(CRFPP, [0, 1]), (WAPITI, [1, 0])] {
        let model = import::from_bytes(bytes.as_bytes(), "model").unwrap();
        assert_eq!(model.shared_edges().order(), Some(&order[..]), "{:?}", model.about());
    }
}

#[test]
fn origins() {
    let crfsuite = small_crfsuite();
    let cases = [
        (&crfsuite[..], Origin::CrfSuite),
        (CRFPP.as_bytes(), Origin::Crfpp),
        (WAPITI.as_bytes(), Origin::Wapiti),
    ];
    for (bytes, origin) in cases {
        assert_eq!(Origin::of(bytes), Some(origin));
        assert_eq!(import::from_bytes(bytes, "model").unwrap().labels().len(), 2);
        #[cfg(feature = "gzip")]
        {
            let packed = packed(bytes);
            assert_eq!(import::from_bytes(&packed, "model").unwrap().labels().len(), 2);
            let error = import::from_bytes(&packed[..packed.len() - 9], "model").unwrap_err();
            assert!(error.to_string().contains("a complete gzip archive"), "{error}");
        }
    }
    let complaints = [
        (&b""[..], "an empty file"),
        (b"d\0\0\0\0\0\0\0", "a binary CRF++ model"),
        (b"\x7fELF", "begins with \\x7fELF"),
    ];
    for (bytes, expected) in complaints {
        let error = import::from_bytes(bytes, "model").unwrap_err();
        assert!(matches!(error, Error::Data { .. }) && error.to_string().contains(expected), "{error}");
    }
    assert!(matches!(import::read("/no/such/model"), Err(Error::Io { .. })));
}

#[cfg(feature = "gzip")]
fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn text_errors_name_the_line() {
    let crfpp = [
        ("version: 100", "version: 101", "model:1: "),
        ("cost-factor: 2", "cost-factor: nan", "model:2: "),
        ("cost-factor: 2", "cost-factor: 1e38", "model:32: expected a weight that is finite"),
        ("maxid: 14", "maxid: -1", "model:3: "),
        ("maxid: 14", "maxid: 18446744073709551616", "model:3: "),
        ("maxid: 14", "maxid: 9999999999999", "model:33: expected a weight, got the end"),
        ("maxid: 14", "maxid: 13", "within maxid: 13"),
        ("xsize: 2", "xsize: 1", "at least 2 columns"),
        ("xsize: 2\n", "xsize: 2\nmore\n", "model:5: expected a blank line"),
        ("X\nÄ Y\n", "", "expected labels, got none"),
        ("X\nÄ Y\n", "X\nX\n", "\"X\" repeated in line 7"),
        ("U1:%x[-1,1]", "U1:%x[-1,1", "template model:10: "),
        ("4 B\n", "B\n", "model:14: "),
        ("4 B\n", "4 C\n", "model:14: "),
        ("10 B1:t", "9 B1:t", "weights begin at 10 or later, got 9 in line 15"),
        ("10 B1:t", "18446744073709551615 B1:t", "within maxid: 14"),
        ("10 B1:t", "10 B", "each feature once"),
        ("\n0.125\n", "\nx\n", "model:29: expected a finite number, got \"x\""),
        ("\n8\n", "\n8\n\n9\n", "expected the end after 14 weights"),
    ];
    let wapiti = [
        ("#mdl#2#8", "#mdl#1#8", "model:1: expected a model of type 0 (maxent) or 2 (crf), got a memm model"),
        ("#mdl#2#8", "#mdl#7#8", "type 7"),
        ("#mdl#2#8", "#mdl#2#9", "model:23: expected place=weight, got the end"),
        ("#mdl#2#8", "#mdl#2#7", "the end after 7 weights"),
        ("#rdr#4/1/0", "#rdr#4", "model:2: "),
        ("#rdr#4/1/0", "#rdr#4/1/0/0", "model:2: "),
        ("#rdr#4/1/0", "#rdr#4000000000/1/0", "model:7: expected a string such as 4:text,"),
        ("10:u0:%X[0,0],", "10:x0:%X[0,0],", "template model:3: "),
        ("10:u0", "99999999999999999999:u0", "model:3: "),
        ("10:u0", "11:u0", "model:3: "),
        ("1:X,", "4:Ä Y,", "each label once"),
        ("1:X,\n", "1:X\n", "model:8: "),
        ("#qrk#2", "#qrk#0", "expected labels, got none"),
        ("4:u0:b,", "4:U0:b,", "model:13: expected a feature that begins with u, b or *"),
        ("4:u0:b,", "4:u0:a,", "each feature once"),
        ("\n15=", "\n18=", "model:23: expected an index below 18, got 18"),
        ("\n2=", "\n1=", "1 twice"),
        ("0x1p3", "0x1p999", "model:23: expected a finite number"),
        ("0x1p3", "", "model:23: "),
    ];
    let crfpp = crfpp.map(|case| (CRFPP, case));
    for (model, (from, to, expected)) in crfpp.into_iter().chain(wapiti.map(|case| (WAPITI, case))) {
        assert!(model.contains(from), "{from}");
        let damaged = model.replacen(from, to, 1);
        let import = if model == CRFPP { import::crfpp } else { import::wapiti };
        let error = import(damaged.as_bytes(), "model").unwrap_err().to_string();
        assert!(error.contains(expected), "{from} -> {to}: {error}");
    }
}

#[test]
fn crfsuite_errors_name_the_byte() {
    let good = small_crfsuite();
    let number = |at: usize| u32::from_le_bytes(good[at..at + 4].try_into().unwrap()) as usize;
    let (labels, attributes) = (number(32), number(36));
    let links = labels + number(labels + 20);
    let cases: [(usize, u32, &str); 14] = [
        (0, 0, "lCRF at byte 0"),
        (4, u32::MAX, "the whole model"),
        (8, 0, "FOMC at byte 8"),
        (12, 101, "version 100 at byte 12, got 101"),
        (20, 3, "3 labels, as in the model's header"),
        (24, u32::MAX, "4294967295 attributes"),
        (28, u32::MAX, "at byte 4294967295"),
        (28, 47, "FEAT at byte 47"),
        (48 + 8, u32::MAX, "features (85899345900 bytes) at byte 60"),
        (60, 2, "type 0 (state) or 1 (transition) at byte 60, got 2"),
        (64, 4, "a number below 4 at byte 64, got 4"),
        (labels + 12, 0, "0x62445371"),
        (attributes + 20, u32::MAX, "links"),
        (links, u32::MAX, "the number of a string"),
    ];
    for (at, value, expected) in cases {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let error = import::crfsuite(&bytes, "model").unwrap_err().to_string();
        assert!(error.starts_with("model: ") && error.contains(expected), "{at}: {error}");
    }
    let models = [
        (crfsuite(&[b"X", b"X"], &[], &[]), "each label once"),
        (crfsuite(&[b"\xff"], &[], &[]), "labels in UTF-8"),
        (crfsuite(&[], &[], &[]), "expected labels"),
        (crfsuite(&[b"X"], &[b"a", b"a"], &[]), "each attribute once"),
        (crfsuite(&[b"X"], &[b"a"], &[(0, 0, 0, 1.0), (0, 0, 0, 2.0)]), "each feature once"),
        (crfsuite(&[b"X"], &[b"a"], &[(1, 0, 0, 1.0), (1, 0, 0, 2.0)]), "each feature once"),
        (crfsuite(&[b"X"], &[b"a"], &[(0, 0, 0, f64::NAN)]), "a finite weight"),
        (crfsuite(&[b"X"], &[b"a"], &[(0, 0, 0, 1e300)]), "a finite weight"),
    ];
    for (bytes, expected) in models {
        let error = import::crfsuite(&bytes, "model").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// One link after the other into one long record that looks like all of them: memory must not grow with their sum.
#[test]
fn strings_that_overlap_are_refused() {
    let mut inside = Vec::new();
    for number in 1..2000u32 {
        inside.extend(number.to_le_bytes());
        inside.extend((8 * (2000 - number) - 7).to_le_bytes()); // to the end, and the zero byte there
    }
    let strings: Vec<&[u8]> = std::iter::once(&inside[..]).chain((1..2000).map(|_| &b"x"[..])).collect();
    let mut bytes = crfsuite(&[b"X"], &strings, &[]);
    let base = u32::from_le_bytes(bytes[36..40].try_into().unwrap()) as usize;
    let links = base + u32::from_le_bytes(bytes[base + 20..base + 24].try_into().unwrap()) as usize;
    let first = u32::from_le_bytes(bytes[links..links + 4].try_into().unwrap());
    for number in 1..2000u32 {
        let at = links + 4 * number as usize;
        bytes[at..at + 4].copy_from_slice(&(first + 8 * number).to_le_bytes());
    }
    let error = import::crfsuite(&bytes, "model").unwrap_err().to_string();
    assert!(error.contains("strings that do not overlap"), "{error}");
}

/// Imports, and tags if that succeeds: nothing may panic.
fn try_out(bytes: &[u8], accepted: &mut usize) {
    let Ok(model) = import::from_bytes(bytes, "model") else { return };
    *accepted += 1;
    let mut tagger = Tagger::new(model.into());
    for sequence in
        [sequence(&[["a", "t"], ["b", "s"], ["a", "t"]]), Sequence::from_tokens(["w=a"]), Sequence::new()]
    {
        let _ = tagger.tag(&sequence, 3);
    }
}

#[test]
fn damaged_models_never_panic() {
    let crfsuite = small_crfsuite();
    for (seed, model) in [(1, &crfsuite[..]), (2, CRFPP.as_bytes()), (3, WAPITI.as_bytes())] {
        let mut accepted = 0;
        for end in 0..model.len() {
            try_out(&model[..end], &mut accepted);
        }
        let mut random = Random::new(seed);
        for _ in 0..6000 {
            let mut bytes = model.to_vec();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len());
                match random.below(6) {
                    0 => bytes[at] ^= 1 << random.below(8),
                    1 => bytes[at] = b"0129#=:,[]%@\n -x\"*?\\"[random.below(20)],
                    2 => _ = bytes.remove(at),
                    3 => bytes.insert(at, random.next() as u8),
                    4 => {
                        let values =
                            [0, 1, 2, 0x7fff_ffff, 0x8000_0000, u32::MAX, u32::MAX - 7, bytes.len() as u32];
                        let word = values[random.below(values.len())].to_le_bytes();
                        let at = at / 4 * 4;
                        let end = bytes.len().min(at + 4);
                        bytes[at..end].copy_from_slice(&word[..end - at]);
                    }
                    _ => {
                        let from = random.below(bytes.len());
                        let piece = bytes[from..bytes.len().min(from + 12)].to_vec();
                        bytes.splice(at..at, piece);
                    }
                }
            }
            try_out(&bytes, &mut accepted);
        }
        assert!(accepted > 50, "some of the damaged models are still models: {accepted}");
    }
}
