//! Weights between parts of neighbouring labels on the command line: training, tagging, inspecting, converting, refusals.

use crate::common::kbest;
use std::fmt::Write;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = kbest().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn stdout(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!(code, 0, "kbest {}: {stderr}", arguments.join(" "));
    stdout
}

/// Phrases whose words agree in case; only the first word shows it.
fn phrases(count: u32) -> String {
    let mut text = String::new();
    for i in 0..count {
        let case = ["Nom", "Gen", "Dat", "Acc", "Ins"][i as usize * 7 % 5];
        writeln!(text, "the{case}\tDET|Case={case}\nold\tADJ|Case={case}\nman\tNOUN|Case={case}\n.\tPUNCT\n")
            .unwrap();
    }
    text
}

#[test]
fn from_training_to_tagging() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("train.tsv"), phrases(30)).unwrap();
    let train = |name: &str, more: &[&str]| {
        let (data, model) = (path("train.tsv"), path(name));
        stdout(&[&["train", &data, "-m", &model, "-q", "--epochs", "8"], more].concat());
        model
    };
    let shown = |model: &str| -> serde_json::Value {
        serde_json::from_str(&stdout(&["inspect", model, "--json"])).unwrap()
    };
    let usual = train("usual.kbest", &["--features", "morphology", "--agreement", "usual"]);
    let report = shown(&usual);
    assert_eq!(report["agreement"]["groups"], serde_json::json!(["coarse", "Case"]));
    assert_eq!(report["agreement"]["classes"], 16);
    assert!(!report["heaviest_agreement"]["positive"].as_array().unwrap().is_empty());
    let text = stdout(&["inspect", &usual]);
    assert!(text.contains("between parts of neighbours (coarse, Case; 16 classes)"), "{text}");
    let none = train("none.kbest", &["--features", "morphology", "--agreement", "none"]);
    assert!(shown(&none).get("agreement").is_none());
    let words = train("words.kbest", &["--agreement", "Case", "--algorithm", "crf", "--c2", "0.1"]);
    assert_eq!(shown(&words)["agreement"]["groups"], serde_json::json!(["Case"]));

    std::fs::write(path("text.tsv"), "theAcc\nold\nman\n.\n\n").unwrap();
    for model in [&usual, &words] {
        let tagged = stdout(&["tag", "-m", model, &path("text.tsv")]);
        assert!(tagged.contains("ADJ|Case=Acc") && tagged.contains("NOUN|Case=Acc"), "{tagged}");
        let best = stdout(&["tag", "-k", "3", "--marginals", "-m", model, &path("text.tsv")]);
        assert_eq!(best.matches("# ").count(), 3, "{best}");
        let copy = path("copy.kbest");
        stdout(&["convert", model, &copy]);
        assert_eq!(stdout(&["tag", "-m", &copy, &path("text.tsv")]), tagged);
        assert_eq!(shown(&copy)["agreement"], shown(model)["agreement"]);
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("train.tsv"), phrases(3)).unwrap();
    let (data, model) = (path("train.tsv"), path("model.kbest"));
    for (more, expected) in [
        (&["--agreement", "Mood"][..], "groups that labels differ in: coarse, Case"),
        (&["--agreement", "usual", "--algorithm", "voted"], "--agreement"),
        (&["--agreement", "coarse", "--algorithm", "hmm"], "--agreement"),
        (&["--runs", "2", "--algorithm", "voted"], "--runs"),
        (&["--runs", "2", "--algorithm", "crf"], "--runs"),
        (&["--runs", "0"], "--runs"),
    ] {
        let (code, _, stderr) = run(&[&["train", &data, "-m", &model, "-q"], more].concat());
        assert!(code == 2 && stderr.contains(expected), "{code} {stderr}");
    }
    assert!(!std::path::Path::new(&model).exists());
}
