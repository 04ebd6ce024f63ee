//! Models of segments from the command line: train, tag, evaluate, inspect, and every option crossed; errors.

use crate::common::kbest;
use serde_json::Value;
use std::path::Path;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = kbest().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn succeed(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!(code, 0, "kbest {}: {stderr}", arguments.join(" "));
    stdout
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(Path::new(&path), text).unwrap();
        path
    }

    /// Contact records to train on and to test on.
    fn addresses(&self, records: &str) -> [String; 2] {
        let [train, test] = ["train.tsv", "test.tsv"].map(|name| self.path(name));
        let sizes = ["--records", records, "--test-records", "60"];
        succeed(&[&["generate", "addresses", "-o", &train, "--test", &test][..], &sizes].concat());
        [train, test]
    }
}

const SEMI: [&str; 6] = ["--algorithm", "semi", "--features", "words", "--lines", "2"];

/// The last column of each line, block by block, without lines that begin with `#`.
fn labels(tagged: &str) -> Vec<Vec<String>> {
    let label = |line: &str| line.rsplit('\t').next().unwrap().to_owned();
    let of_block = |block: &str| block.lines().filter(|line| !line.starts_with("# ")).map(label).collect();
    tagged.split("\n\n").filter(|block| !block.trim().is_empty()).map(of_block).collect()
}

#[test]
fn addresses_from_end_to_end() {
    let folder = Folder::new();
    let [train, test] = folder.addresses("400");
    assert_eq!(folder.addresses("400"), [train.clone(), test.clone()]);
    let cities = folder.write("cities.txt", "Boston\nNew York\nSalt Lake City\n");
    let (semi, chain) = (folder.path("semi.kbest"), folder.path("chain.kbest"));
    let arguments =
        [&["train", &train, "-m", &semi, "--epochs", "5", "--lexicon", &cities][..], &SEMI].concat();
    let (code, _, told) = run(&arguments);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("segments (runs of one label), the longest of"), "{told}");
    succeed(&["train", &train, "-m", &chain, "--epochs", "5", "--features", "words", "-q"]);
    let figures = |model: &str| -> Value {
        serde_json::from_str(&succeed(&["evaluate", "-m", model, &test, "--json"])).unwrap()
    };
    let (semi_figures, chain_figures) = (figures(&semi), figures(&chain));
    let number = |figures: &Value, name: &str| figures[name].as_f64().unwrap();
    assert!(number(&semi_figures, "accuracy") > 0.85, "{semi_figures}");
    assert!(
        number(&semi_figures, "sequence_accuracy") > number(&chain_figures, "sequence_accuracy"),
        "{semi_figures} {chain_figures}"
    );
    assert!(semi_figures["spans"]["f1"].as_f64().unwrap() > 0.7, "spans are counted without being asked for");

    // Labels as from any model; spans that cover what they say.
    let tagged = succeed(&["tag", "-m", &semi, &test]);
    let spans = succeed(&["tag", "-m", &semi, &test, "--spans", "--marginals"]);
    assert_eq!(labels(&tagged).len(), spans.lines().count());
    for (labels, line) in labels(&tagged).iter().zip(spans.lines()) {
        let line: Value = serde_json::from_str(line).unwrap();
        let tokens = line["tokens"].as_array().unwrap();
        let mut at = 0;
        for span in line["spans"].as_array().unwrap() {
            let [start, end] = ["start", "end"].map(|name| span[name].as_u64().unwrap() as usize);
            assert!(at <= start && start < end && end <= tokens.len());
            assert!(labels[start..end].iter().all(|label| label == span["type"].as_str().unwrap()));
            let words: Vec<&str> = tokens[start..end].iter().map(|token| token.as_str().unwrap()).collect();
            assert_eq!(span["text"].as_str().unwrap(), words.join(" "));
            assert!((0.0..=1.0).contains(&span["probability"].as_f64().unwrap()));
            at = end;
        }
    }
    let of_chain = succeed(&["tag", "-m", &chain, &test, "--spans"]);
    assert_eq!(of_chain.lines().count(), spans.lines().count(), "plain labels are runs");

    // What is in the model; a copy; decoders compared.
    let inspected: Value = serde_json::from_str(&succeed(&["inspect", &semi, "--json"])).unwrap();
    assert_eq!(inspected["segments"], "runs");
    assert_eq!(inspected["segment_features"]["lexicon"], 1);
    assert_eq!(inspected["line_column"], 2);
    assert!(
        succeed(&["inspect", &semi, "--label", "CITY", "--top", "3"]).contains("Segment features in favour")
    );
    let copy = folder.path("copy.kbest");
    succeed(&["convert", &semi, &copy, "-q"]);
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&semi).unwrap());
    let measured: Value =
        serde_json::from_str(&succeed(&["bench", "tag", &semi, &test, "--repeat", "1", "--json"])).unwrap();
    let rows = measured["decoders"].as_array().unwrap();
    assert_eq!(rows[0]["asked"], 1.0, "semi-viterbi-simd computes all features");
    assert!(rows[1]["asked"].as_f64().unwrap() < 0.9, "{measured}");
}

#[test]
fn options_crossed() {
    let folder = Folder::new();
    let text = "in\tO\nOld\tB-X\nYork\tI-X\nbank\tB-Y\n\nYork\tB-X\nbank\tB-X\nin\tO\n\nnew\tB-Y\nYork\tI-Y\nin\tO\n\n\
                Old\tB-X\nbank\tI-X\nYork\tI-X\nnew\tO\n\nin\tO\nnew\tO\nYork\tB-X\n\n";
    let train = folder.write("train.tsv", text);
    let words: String = text.lines().map(|line| format!("{}\n", line.split('\t').next().unwrap())).collect();
    let words = folder.write("words.tsv", &words);
    let known: String = (0..)
        .zip(text.lines())
        .map(|(i, line)| match line.split_once('\t') {
            Some((word, _)) if i % 2 == 0 => format!("{word}\t_\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let known_path = folder.write("known.tsv", &known);
    let rules = folder.write("rules.tsv", "!X\tX\n!^\tY\n");
    let template = folder.write("template", "U0:%x[0,0]\nB0:%x[0,0]\nB\n");
    let semi: &[&str] = &["--algorithm", "semi", "--epochs", "2"];
    let crf: &[&str] = &["--algorithm", "semi-crf", "--epochs", "8"];
    let sgd: &[&str] = &["--algorithm", "semi-crf", "--optimizer", "sgd", "--epochs", "2"];
    for (name, options, template) in
        [("semi", semi, None), ("template", semi, Some(&template)), ("crf", crf, None), ("sgd", sgd, None)]
    {
        let model = folder.path(&format!("{name}.kbest"));
        let mut arguments = [&["train", &train, "-m", &model, "-q"], options].concat();
        arguments.extend(template.iter().flat_map(|template| ["--template", template.as_str()]));
        succeed(&arguments);
        let tag = |file: &str, more: &[&str]| succeed(&[&["tag", "-m", &model, file], more].concat());
        let legal = |labels: &Vec<String>| {
            labels.windows(2).all(|two| {
                let follows = |label: &str| two[1] == format!("I{label}");
                !two[1].starts_with('I') || two[0].strip_prefix(['B', 'I']).is_some_and(follows)
            }) && !labels[0].starts_with('I')
        };
        let free = tag(&words, &[]);
        assert!(labels(&free).iter().all(legal), "{name}: the scheme is obeyed: {free}");
        assert_eq!(tag(&words, &["--constraints", "auto"]), free, "{name}: so nothing changes");
        let constrained = labels(&tag(&words, &["--constraints", &rules]));
        assert!(constrained.iter().all(|labels| labels[0] != "B-Y"), "{name}: {constrained:?}");
        let kept = labels(&tag(&known_path, &["--keep-labels"]));
        for (kept, known) in kept.iter().zip(labels(&known)) {
            assert!(
                kept.iter().zip(&known).all(|(kept, known)| known == "_" || kept == known),
                "{name}: {kept:?}"
            );
        }
        let all = ["--keep-labels", "-k", "4", "--marginals", "--scores"];
        let one = tag(&known_path, &[&all[..], &["--threads", "1"]].concat());
        for more in [["--threads", "3"], ["--decoder", "semi-viterbi"], ["--decoder", "semi-viterbi-simd"]] {
            assert_eq!(tag(&known_path, &[&all[..], &more].concat()), one, "{name} {more:?}");
        }
        let ranked = tag(&words, &["-k", "3", "--spans"]);
        let first: Value = serde_json::from_str(ranked.lines().next().unwrap()).unwrap();
        assert!(first["rank"] == 0 && first["score"].is_number(), "{name}: {first}");
        succeed(&["evaluate", "-m", &model, &train, "--decoder", "semi-astar"]);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new();
    let [train, test] = folder.addresses("30");
    let (semi, chain) = (folder.path("semi.kbest"), folder.path("chain.kbest"));
    succeed(&[&["train", &train, "-m", &semi, "-q", "--epochs", "1"][..], &SEMI].concat());
    succeed(&["train", &train, "-m", &chain, "-q", "--epochs", "1"]);
    let narrow = folder.write("narrow.tsv", "Boston\n\n");
    let empty = folder.write("empty.txt", "\n\n");
    let new = folder.path("new.kbest");
    let cases: &[(&[&str], &str)] = &[
        (&["tag", "-m", &semi, &test, "--decoder", "viterbi"], "this is for segments"),
        (&["tag", "-m", &semi, &test, "--decoder", "semi-astar", "-k", "2"], "only the best segmentation"),
        (&["tag", "-m", &chain, &test, "--decoder", "semi-funnel"], "this is for single positions"),
        (&["evaluate", "-m", &semi, &test, "--decoder", "beam:4"], "this is for segments"),
        (&["tag", "-m", &semi, &test, "--constraints", "iob2"], "expected labels that encode spans"),
        (&["tag", "-m", &semi, &narrow], "columns"),
        (&["convert", &semi, &folder.path("x.safetensors")], "expected a model of single positions"),
        (&["bench", "tag", &semi, &test, "--items", &new], "expected a model of single positions"),
        (&["train", &train, "-m", &new, "--segments", "runs"], "expected --algorithm semi or semi-crf"),
        (&["train", &train, "-m", &new, "--lexicon", &empty], "expected --algorithm semi or semi-crf"),
        (
            &["train", &train, "-m", &new, "--algorithm", "semi", "--c2", "1"],
            "expected --algorithm crf or semi-crf",
        ),
        (
            &["train", &train, "-m", &new, "--algorithm", "semi", "--segments", "bix"],
            "--segments: expected one of auto",
        ),
        (
            &["train", &train, "-m", &new, "--algorithm", "semi", "--segments", "iobes"],
            "labels of the scheme",
        ),
        (&["train", &train, "-m", &new, "--algorithm", "semi", "--longest-segment", "0"], "at least 1"),
        (
            &["train", &train, "-m", &new, "--algorithm", "semi", "--longest-segment", "1"],
            "the longest of label",
        ),
        (&["train", &train, "-m", &new, "--algorithm", "semi", "--lines", "0"], "at least 1"),
        (&["train", &train, "-m", &new, "--algorithm", "semi", "--lines", "9"], "columns"),
        (&["train", &train, "-m", &new, "--algorithm", "semi", "--lexicon", &empty], "one text per line"),
        (
            &["train", &train, "-m", &new, "--algorithm", "semi", "--segment-features", "taste"],
            "--segment-features: expected one of text",
        ),
        (&["train", &train, "-m", &new, "--algorithm", "semi", "--prune", "1"], "--prune"),
    ];
    for (arguments, expected) in cases {
        let (code, _, stderr) = run(arguments);
        assert_eq!(code, 2, "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    let mut bytes = std::fs::read(&semi).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&new, bytes).unwrap();
    let (code, _, stderr) = run(&["tag", "-m", &new, &test]);
    assert!(code == 2 && stderr.contains("checksum"), "{stderr}");
}
