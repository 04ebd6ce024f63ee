//! Kernels on the command line: real-valued tokens from training to tagging, and options that make no sense.

use crate::common::kbest;
use std::fmt::Write;
use std::process::Output;

fn run(arguments: &[&str]) -> Output {
    kbest().args(arguments).output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "kbest {}: {stderr}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// Points inside and outside of a circle, at an offset and with units that differ: no line tells them apart.
fn circle(sequences: u32, phase: f64) -> String {
    let mut text = String::new();
    for i in 0..sequences * 8 {
        let far = (i * i / 3) % 2 == 0;
        let (radius, angle) = (if far { 2.0 } else { 0.6 }, phase + f64::from(i) * 2.4);
        let (x, y) = (100.0 + radius * angle.cos(), 0.001 * radius * angle.sin());
        writeln!(text, "{x}\t{y}\t{}", if far { "out" } else { "in" }).unwrap();
        if i % 8 == 7 {
            text.push('\n');
        }
    }
    text
}

#[test]
fn real_valued_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("train.tsv"), circle(12, 0.0)).unwrap();
    std::fs::write(path("test.tsv"), circle(6, 1.0)).unwrap();
    let accuracy = |name: &str, more: &[&str]| {
        let (train, model) = (path("train.tsv"), path(name));
        let options = ["train", &train, "-m", &model, "-q", "--features", "numbers", "--epochs", "15"];
        stdout(&[&options[..], more].concat());
        let report = stdout(&["evaluate", "-m", &model, &path("test.tsv"), "--json"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        report["accuracy"].as_f64().unwrap()
    };
    let dual = ["--algorithm", "dual"];
    let linear = accuracy("linear.kbest", &dual);
    assert!(linear < 0.8, "{linear}");
    for (name, more) in [
        ("poly", &["--kernel", "poly:2"][..]),
        ("rbf", &["--kernel", "rbf:1", "--no-averaging"]),
        ("threads", &["--kernel", "rbf:1", "--threads", "2"]),
        ("margin", &["--kernel", "rbf:1", "--loss", "margin", "--C", "200"]),
        ("slack", &["--kernel", "poly:2", "--loss", "slack", "--C", "200"]),
    ] {
        let found = accuracy(&format!("{name}.kbest"), &[&dual[..], more].concat());
        assert!(found > 0.95, "{name}: {found}");
    }
    accuracy("budget.kbest", &[&dual[..], &["--kernel", "rbf:1", "--budget", "7"]].concat());

    let shown = stdout(&["inspect", &path("budget.kbest"), "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["support"]["tokens"], &shown["support"]["kernel"]), (&7.into(), &"rbf:1".into()));
    assert_eq!(shown["support"]["strongest"].as_array().unwrap().len(), 7);
    let shown = stdout(&["inspect", &path("rbf.kbest"), "--top", "2", "--label", "in"]);
    assert!(shown.contains("kernel rbf:1") && shown.contains("Strongest support tokens"), "{shown}");
    let shown = stdout(&["inspect", &path("linear.kbest")]);
    assert!(!shown.contains("support"), "a linear kernel becomes weights: {shown}");

    // Bad numbers: where, what was expected, what was found.
    let (model, bad, out) = (path("rbf.kbest"), path("bad.tsv"), path("bad.kbest"));
    for (text, expected) in [
        ("100\t0\n\n100\tzwei\n", "bad.tsv:3: column 2 of position 0: expected a number, got \"zwei\""),
        ("100\t0\n1\tnan\n", "bad.tsv:1: column 2 of position 1: expected a number, got \"nan\""),
        (
            "100\t1e300\n",
            "bad.tsv:1: value of feature 1 at position 0: expected a scaled number of at most 3.4e38",
        ),
    ] {
        std::fs::write(&bad, text).unwrap();
        let output = run(&["tag", "-m", &model, &bad]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{text}: {stderr}");
    }
    for (option, data) in [("--dev", &path("train.tsv")), ("--quiet", &bad)] {
        std::fs::write(&bad, "1\t2\tin\n\n1\tinf\tin\n").unwrap();
        let mut options = vec!["train", data, "-m", &out, "--features", "numbers", option];
        options.extend((option == "--dev").then_some(bad.as_str()));
        let output = run(&options);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let expected = "bad.tsv:3: column 2 of position 0: expected a number, got \"inf\"";
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{option}: {stderr}");
    }

    std::fs::write(path("words.tsv"), "1\tzwei\n").unwrap();
    let output = run(&["tag", "-m", &path("rbf.kbest"), &path("words.tsv")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected a number, got \"zwei\""));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("train.tsv"), circle(2, 0.0)).unwrap();
    let (train, model) = (path("train.tsv"), path("model.kbest"));
    for (more, expected) in [
        (&["--kernel", "rbf:1"][..], "--kernel: expected --algorithm dual"),
        (&["--algorithm", "dual", "--kernel", "rbf:0"], "--kernel: expected linear, poly:DEGREE"),
        (&["--algorithm", "dual", "--C", "1"], "--C: expected --loss margin or slack, got perceptron"),
        (&["--algorithm", "dual", "--gap", "1"], "--gap: expected --loss margin or slack, got perceptron"),
        (
            &["--algorithm", "dual", "--loss", "margin", "--budget", "5"],
            "--budget: expected --loss perceptron, got margin",
        ),
        (
            &["--algorithm", "dual", "--loss", "slack", "--no-averaging"],
            "--no-averaging: expected --loss perceptron, got slack",
        ),
        (
            &["--algorithm", "dual", "--loss", "slack", "--threads", "2"],
            "--threads: expected --loss perceptron, got slack",
        ),
        (&["--algorithm", "dual", "--budget", "0"], "--budget: expected at least 1, got 0"),
        (&["--algorithm", "dual", "--loss", "margin", "--C", "0"], "--C: expected more than 0, got 0"),
        (
            &["--algorithm", "dual", "--loss", "margin", "--gap", "nan"],
            "--gap: expected more than 0, got NaN",
        ),
        (&["--algorithm", "voted", "--kernel", "rbf:1"], "--kernel: expected --algorithm dual, got voted"),
        (&["--algorithm", "dual", "--prune", "0.1"], "--prune: expected --algorithm averaged, perceptron"),
    ] {
        let output = run(&[&["train", &train, "-m", &model, "--features", "numbers"], more].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {stderr}");
        assert!(stderr.contains(expected), "{more:?}: {stderr}");
    }
}
