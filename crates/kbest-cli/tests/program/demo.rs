//! The demo and the stages of tagging.

use crate::common::kbest;
use serde_json::Value;
use std::path::{Path, PathBuf};

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = kbest().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_demo_learns_labels_and_compares() {
    let (code, text, stderr) = run(&["demo", "--quick", "--decoders", "auto,viterbi,viterbi-simd,beam:4"]);
    assert_eq!(code, 0, "{stderr}");
    for part in ["200 labels", "epoch 2", "1. score", "3. score", "viterbi-simd", "The 3 exact decoders"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Generalised, not only memorised.
    let right = text.split_once("Testing: ").unwrap().1.split_once(" %").unwrap().0;
    assert!(right.parse::<f64>().unwrap() > 60.0, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

/// A model and the file it was trained on.
fn trained(folder: &Path) -> (PathBuf, PathBuf) {
    let (data, model) = (folder.join("train.tsv"), folder.join("model.kbest"));
    let name = |path: &Path| path.to_str().unwrap().to_owned();
    let corpus = ["generate", "corpus", "--labels", "40", "--sentences", "60", "-o", &name(&data)];
    assert_eq!(run(&corpus).0, 0);
    let (code, _, stderr) =
        run(&["train", &name(&data), "-m", &name(&model), "--epochs", "2", "--keep-features"]);
    assert_eq!(code, 0, "{stderr}");
    (model, data)
}

#[test]
fn the_stages_of_tagging_are_timed() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = trained(folder.path());
    let (model, data) = (model.to_str().unwrap(), data.to_str().unwrap());
    let (code, stdout, stderr) = run(&["bench", "tag", model, data, "--repeat", "2", "--json"]);
    assert_eq!(code, 0, "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let text = std::fs::read_to_string(data).unwrap();
    let tokens = text.lines().filter(|line| !line.is_empty()).count();
    assert_eq!(
        (&report["sequences"], &report["tokens"], &report["labels"]),
        (&60.into(), &tokens.into(), &40.into())
    );
    let number = |value: &Value| value.as_f64().unwrap();
    // Words and their neighbours, affixes, shape: all of the training data's are known, and each has a row.
    let features = number(&report["features_per_token"]);
    assert!((10.0..30.0).contains(&features), "{features}");
    assert!(number(&report["weight_bytes_per_token"]) >= 8.0 * features);
    let stages = report["stages"].as_array().unwrap();
    let names: Vec<&str> = stages.iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert_eq!(names, ["read", "extract", "score", "decode", "write", "whole"]);
    for stage in stages {
        let (seconds, ns) = (number(&stage["seconds"]), number(&stage["ns_per_token"]));
        assert!(seconds > 0.0 && (ns * tokens as f64 - 1e9 * seconds).abs() < 1.0, "{stage}");
    }
    let (code, text, _) = run(&["bench", "tag", model, data, "--repeat", "1"]);
    assert!(code == 0 && text.contains("ns/token") && text.trim_end().ends_with("tokens/s"), "{text}");
}

/// The features written for other programs are those the model was trained with.
#[test]
fn features_are_written_as_items() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = trained(folder.path());
    let items = folder.path().join("train.items");
    let [model, data, items] = [&model, &data, &items].map(|path| path.to_str().unwrap());
    let (code, _, stderr) = run(&["bench", "tag", model, data, "--repeat", "1", "--items", items]);
    assert_eq!(code, 0, "{stderr}");
    let facts = |file: &str| {
        let again = folder.path().join("again.kbest");
        let again = again.to_str().unwrap();
        let (code, stdout, stderr) = run(&["train", file, "-m", again, "--epochs", "1", "--json", "--quiet"]);
        assert_eq!(code, 0, "{stderr}");
        let told: Value = serde_json::from_str(&stdout).unwrap();
        ["labels", "sequences", "tokens", "node_features"].map(|key| told[key].clone())
    };
    assert_eq!(facts(data), facts(items));
}

#[test]
fn what_cannot_be_timed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = trained(folder.path());
    let empty = folder.path().join("empty.tsv");
    std::fs::write(&empty, "\n\n").unwrap();
    let [model, data, empty] = [&model, &data, &empty].map(|path| path.to_str().unwrap());
    for bad in [&[model, empty][..], &[model, data, "--repeat", "0"], &[data, data], &[model, "absent.tsv"]] {
        let (code, stdout, stderr) = run(&[&["bench", "tag"], bad].concat());
        assert_eq!((code, stdout.len(), stderr.lines().count()), (2, 0, 1), "{bad:?}: {stderr}");
    }
}
