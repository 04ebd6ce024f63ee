//! `convert` and `inspect`: models of other programs, written here, and kbest models.

use crate::common::kbest;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Two labels, one column, a bare `B`: `time` is a noun, `flies` after a noun probably a verb.
const CRFPP: &str = "version: 100\ncost-factor: 1\nmaxid: 8\nxsize: 1\n\nNOUN\nVERB\n\nU:%x[0,0]\nB\n\n\
    4 B\n0 U:flies\n2 U:time\n\n1\n0.5\n2\n0\n-1\n1\n0\n-1\n";

const WAPITI: &str = "#mdl#2#4\n#rdr#2/1/0\n9:u:%x[0,0],\n1:b,\n#qrk#2\n4:NOUN,\n4:VERB,\n#qrk#3\n7:u:flies,\n6:u:time,\n\
    1:b,\n0=0x1p+0\n1=0x1p-1\n2=0x1p+1\n5=0x1p+0\n";

/// A model as CRFsuite writes it, but without its hash tables: attributes `w=time`, `w=flies`.
fn crfsuite() -> Vec<u8> {
    fn push(out: &mut Vec<u8>, numbers: &[usize]) {
        numbers.iter().for_each(|&number| out.extend((number as u32).to_le_bytes()));
    }
    fn database(strings: &[&str]) -> Vec<u8> {
        let (mut records, mut links) = (Vec::new(), Vec::new());
        let start = 24 + 256 * 8;
        for (number, string) in strings.iter().enumerate() {
            push(&mut links, &[start + records.len()]);
            push(&mut records, &[number, string.len() + 1]);
            records.extend([string.as_bytes(), b"\0"].concat());
        }
        let mut out = b"CQDB".to_vec();
        push(&mut out, &[start + records.len() + links.len(), 0, 0x6244_5371]);
        push(&mut out, &[strings.len(), start + records.len()]);
        out.resize(start, 0);
        [out, records, links].concat()
    }
    let features = [(0, 0, 0, 2.0), (0, 1, 0, 1.0), (0, 1, 1, 0.5), (1, 0, 1, 1.0)];
    let mut chunk = b"FEAT".to_vec();
    push(&mut chunk, &[12 + 20 * features.len(), features.len()]);
    for (kind, source, label, weight) in features {
        push(&mut chunk, &[kind, source, label]);
        chunk.extend(f64::to_le_bytes(weight));
    }
    let parts = [chunk, database(&["NOUN", "VERB"]), database(&["w=time", "w=flies"])];
    let ends: Vec<usize> = parts.iter().scan(48, |end, part| (*end += part.len(), Some(*end)).1).collect();
    let mut out = b"lCRF".to_vec();
    push(&mut out, &[ends[2]]);
    out.extend(b"FOMC");
    push(&mut out, &[100, 0, 2, 2, 48, ends[0], ends[1], ends[2], ends[2]]);
    [out, parts.concat()].concat()
}

fn run(folder: &Path, arguments: &[&str], stdin: &str) -> (i32, String, String) {
    let output = kbest().current_dir(folder).args(arguments).write_stdin(stdin).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn models_of_other_programs_tag_as_ours() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("crfpp.txt"), CRFPP).unwrap();
    fs::write(folder.join("wapiti.txt"), WAPITI).unwrap();
    fs::write(folder.join("crfsuite.model"), crfsuite()).unwrap();
    let columns = ("time\nflies\n\n", "time\tNOUN\nflies\tVERB\n\n");
    let items = ("?\tw=time\n?\tw=flies\n\n", "NOUN\nVERB\n\n");
    for (input, (text, expected), origin) in [
        ("crfpp.txt", columns, "CRF++"),
        ("wapiti.txt", columns, "Wapiti"),
        ("crfsuite.model", items, "CRFsuite"),
    ] {
        let (code, stdout, told) = run(folder, &["convert", input, "m.kbest"], "");
        assert_eq!((code, stdout.as_str()), (0, ""), "{told}");
        assert!(told.contains(origin) && told.contains("2 labels") && told.lines().count() == 1, "{told}");
        assert_eq!(run(folder, &["tag", "-m", "m.kbest"], text), (0, expected.into(), String::new()));
        let (_, blocks, _) = run(folder, &["tag", "-m", "m.kbest", "-k", "9"], text);
        assert_eq!(blocks.lines().filter(|line| line.starts_with("# ")).count(), 4, "all paths: {blocks}");
        assert!(blocks.starts_with("# 0 3.5\n"), "2 + 1 + 0.5: {blocks}");
        // Without conversion it tags the same.
        assert_eq!(run(folder, &["tag", "-m", input], text), (0, expected.into(), String::new()));
        let gold = if input == "crfsuite.model" {
            text.replacen('?', "NOUN", 1)
        } else {
            "time\tNOUN\nflies\tADJ\n\n".into()
        };
        let evaluate = run(folder, &["evaluate", "-m", input, "--json"], &gold);
        assert_eq!(evaluate, run(folder, &["evaluate", "-m", "m.kbest", "--json"], &gold));
        assert!(evaluate.0 == 0 && evaluate.1.contains("\"accuracy\": 0.5"), "{evaluate:?}");
        let (code, shown, _) = run(folder, &["inspect", input], "");
        assert!(code == 0 && shown.contains("NOUN, VERB"), "{shown}");
    }
    assert_eq!(
        run(folder, &["convert", "crfpp.txt", "q.kbest", "-q"], ""),
        (0, String::new(), String::new())
    );
}

/// The same output as the programs themselves, byte for byte; runs if `KBEST_FIXTURES` names the folder of their
/// models.
#[test]
fn the_programs_answers() {
    let Some(fixtures) = std::env::var_os("KBEST_FIXTURES").map(std::path::PathBuf::from) else {
        println!("NOT RUN: the_programs_answers (set KBEST_FIXTURES to the folder of models)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = |name: &str| fixtures.join(name).to_str().unwrap().to_owned();
    for (model, output) in [
        ("crfpp/model.txt.gz", "crfpp/labels.out"),
        ("crfpp/model-b.txt.gz", "crfpp/labels-b.out"),
        ("wapiti/model.txt", "wapiti/labels.out"),
        ("wapiti/model-b.txt", "wapiti/labels-b.out"),
    ] {
        assert_eq!(run(folder, &["convert", &path(model), "m.kbest"], "").0, 0);
        let (_, tagged, _) = run(folder, &["tag", "-m", "m.kbest", &path("test.tsv")], "");
        assert_eq!(tagged, fs::read_to_string(path(output)).unwrap(), "{model}");
    }
    for name in ["lbfgs", "ap"] {
        let (model, output) = (format!("crfsuite/{name}.crfsuite"), format!("crfsuite/{name}.out.jsonl"));
        assert_eq!(run(folder, &["convert", &path(&model), "m.kbest"], "").0, 0);
        let (_, tagged, _) = run(folder, &["tag", "-m", "m.kbest", &path("crfsuite/test.items")], "");
        let blocks =
            tagged.trim_end().split("\n\n").map(|block| block.lines().map(Value::from).collect::<Value>());
        let expected = fs::read_to_string(path(&output)).unwrap();
        let expected =
            expected.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["labels"].clone());
        assert_eq!(blocks.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{model}");
    }
}

#[test]
fn safetensors_hold_the_weights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("crfpp.txt"), CRFPP).unwrap();
    assert_eq!(run(folder, &["convert", "crfpp.txt", "m.kbest"], "").0, 0);
    for (input, output, more) in
        [("crfpp.txt", "a.safetensors", &[][..]), ("m.kbest", "b.bin", &["--to", "safetensors"])]
    {
        assert_eq!(run(folder, &[&["convert", input, output], more].concat(), "").0, 0);
        let bytes = fs::read(folder.join(output)).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(tensors.tensor("edge.weights").unwrap().shape(), [3], "zeros are left out");
    }
    // From kbest to kbest: the same bytes.
    assert_eq!(run(folder, &["convert", "m.kbest", "copy.kbest"], "").0, 0);
    assert_eq!(fs::read(folder.join("m.kbest")).unwrap(), fs::read(folder.join("copy.kbest")).unwrap());
}

#[test]
fn a_bad_model_overwrites_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("crfpp.txt"), CRFPP).unwrap();
    fs::write(folder.join("text"), "neither\n").unwrap();
    fs::write(folder.join("cut.txt"), &CRFPP[..CRFPP.len() - 8]).unwrap();
    fs::write(folder.join("out.kbest"), "precious").unwrap();
    for (input, output, expected) in [
        ("text", "out.kbest", "expected a kbest or CRFsuite model"),
        ("cut.txt", "out.kbest", "cut.txt:"),
        ("nosuch", "out.kbest", "nosuch"),
        ("crfpp.txt", "crfpp.txt", "expected an output file different from the input"),
        ("crfpp.txt", "no/folder.kbest", "no/folder.kbest"),
    ] {
        let (code, stdout, message) = run(folder, &["convert", input, output], "");
        assert_eq!((code, stdout.as_str()), (2, ""), "{input}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{message}");
    }
    assert_eq!(fs::read_to_string(folder.join("out.kbest")).unwrap(), "precious");
    assert_eq!(fs::read_to_string(folder.join("crfpp.txt")).unwrap(), CRFPP);
}

#[test]
fn inspect_shows_the_heaviest_weights() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("crfpp.txt"), CRFPP).unwrap();
    assert_eq!(run(folder, &["convert", "crfpp.txt", "m.kbest"], "").0, 0);
    let (_, shown, _) = run(folder, &["inspect", "m.kbest"], "");
    for expected in
        ["labels    2", "3 of 4 label pairs", "+2.0000  NOUN   U:time", "-1.0000  NOUN  NOUN  B", "auto"]
    {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    let json = |more: &[&str]| -> Value {
        let (code, shown, message) = run(folder, &[&["inspect", "m.kbest", "--json"], more].concat(), "");
        assert_eq!(code, 0, "{message}");
        serde_json::from_str(&shown).unwrap()
    };
    let all = json(&[]);
    assert_eq!(all["labels"], serde_json::json!(["NOUN", "VERB"]));
    assert_eq!(
        (all["edges"]["not_zero"].as_u64(), all["features"]["node_weights"].as_u64()),
        (Some(3), Some(3))
    );
    assert_eq!((&all["text"]["format"], &all["text"]["separator"]), (&"columns".into(), &"blanks".into()));
    assert!(shown.contains("\ntext      columns\n"), "{shown}");
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|row| row["feature"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&all["heaviest_nodes"]["positive"]), ["U:time", "U:flies", "U:flies"]);
    assert_eq!(names(&json(&["--top", "1"])["heaviest_nodes"]["positive"]), ["U:time"]);
    assert_eq!(names(&json(&["--label", "VERB"])["heaviest_nodes"]["positive"]), ["U:flies"]);
    let flies = json(&["--feature", "flies"]);
    assert_eq!(names(&flies["heaviest_nodes"]["positive"]), ["U:flies", "U:flies"]);
    assert!(flies["heaviest_edges"]["positive"].as_array().unwrap().is_empty());
    let (code, _, message) = run(folder, &["inspect", "m.kbest", "--label", "ADJ"], "");
    assert!(code == 2 && message.contains("NOUN") && message.contains("ADJ"), "{message}");
}

#[test]
fn a_damaged_model_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("crfpp.txt"), CRFPP).unwrap();
    assert_eq!(run(folder, &["convert", "crfpp.txt", "m.kbest"], "").0, 0);
    let whole = fs::read(folder.join("m.kbest")).unwrap();
    for place in [0, 9, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        fs::write(folder.join("damaged.kbest"), damaged).unwrap();
        for command in [&["inspect", "damaged.kbest"][..], &["tag", "-m", "damaged.kbest"]] {
            let (code, stdout, message) = run(folder, command, "time\n\n");
            assert_eq!((code, stdout.as_str()), (2, ""), "byte {place}: {message}");
            assert!(message.starts_with("kbest: damaged.kbest:"), "{message}");
        }
    }
}
