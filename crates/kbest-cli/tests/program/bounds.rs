//! Learned bounds on the command line: train, learn the bound, tag, and check the promise; refusals.

use crate::common::kbest;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = kbest().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn fine(arguments: &[&str]) -> (String, String) {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    (stdout, stderr)
}

struct Files {
    folder: TempDir,
}

impl Files {
    /// Contact records, a model of them, and the model with a bound learned from other records.
    fn new() -> Self {
        let files = Files { folder: TempDir::new().unwrap() };
        let path = |name| files.path(name);
        fine(&[
            "generate",
            "addresses",
            "--records",
            "80",
            "-o",
            &path("train.tsv"),
            "--test",
            &path("test.tsv"),
            "--test-records",
            "240",
        ]);
        fine(&[
            "train",
            &path("train.tsv"),
            "-m",
            &path("plain.kbest"),
            "--algorithm",
            "semi",
            "--features",
            "words",
            "--epochs",
            "3",
        ]);
        // Unlabelled: one column fewer.
        let text = std::fs::read_to_string(path("test.tsv")).unwrap();
        let without = text.lines().map(|line| line.rsplit_once('\t').map_or("", |(rest, _)| rest));
        let without: Vec<&str> = without.collect();
        let half = without.iter().enumerate().filter(|(_, line)| line.is_empty()).nth(119).unwrap().0;
        std::fs::write(path("learn.tsv"), without[..half].join("\n") + "\n").unwrap();
        std::fs::write(path("new.tsv"), without[half + 1..].join("\n") + "\n").unwrap();
        let labelled: Vec<&str> = text.lines().skip(half + 1).collect();
        std::fs::write(path("new-labelled.tsv"), labelled.join("\n") + "\n").unwrap();
        files
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn learn(&self, more: &[&str]) -> Value {
        let (model, data, output) =
            (self.path("plain.kbest"), self.path("learn.tsv"), self.path("fast.kbest"));
        let arguments = ["learn-bound", "-m", &model, &data, "-o", &output, "--json"];
        serde_json::from_str(&fine(&[&arguments[..], more].concat()).0).unwrap()
    }
}

/// One test, because training takes longer than all that follows.
#[test]
fn learned_bounds_from_end_to_end() {
    let files = &Files::new();
    misuse_is_refused(files);
    reports_are_for_people_too_and_seeds_repeat(files);
    constraints_void_the_promise(files);
    hostile_bounds_are_refused(files);
    bounds_are_learned_and_keep_their_promise(files);
}

fn bounds_are_learned_and_keep_their_promise(files: &Files) {
    let report = files.learn(&["--holdout", "0.4"]);
    assert_eq!((report["fitted"].as_u64(), report["measured"].as_u64()), (Some(72), Some(48)));
    let epsilon = report["epsilon"].as_f64().unwrap();
    assert!(epsilon < 0.7, "{report}");
    // Neither search scores every segment: a record of T tokens has T (T + 1) / 2 of them, and longer ones have more.
    let tokens = report["tokens"].as_f64().unwrap() / 120.0;
    for search in ["explicit_scores_learned", "explicit_scores_exact"] {
        assert!(report[search].as_f64() < Some(tokens * (tokens + 1.0) / 2.0 / 2.0), "{search}: {report}");
    }

    // On records that nothing was fitted on no more answers fall short than promised, but for chance.
    let (fast, test, new) = (files.path("fast.kbest"), files.path("new-labelled.tsv"), files.path("new.tsv"));
    let scores = |decoder: &str| -> Vec<f64> {
        let (tagged, _) = fine(&["tag", "-m", &fast, &new, "--scores", "--decoder", decoder]);
        let score = |line: &str| line.strip_prefix("# 0 ").map(|score| score.parse().unwrap());
        tagged.lines().filter_map(score).collect()
    };
    let (best, found) = (scores("auto"), scores("semi-astar:learned"));
    assert_eq!((best.len(), found.len()), (120, 120));
    let short = best.iter().zip(&found).filter(|(best, found)| best > found).count();
    let (failed, error) = (short as f64 / 120.0, 3.0 * (epsilon * (1.0 - epsilon) / 120.0).sqrt());
    assert!(failed <= epsilon + error, "{failed} > {epsilon} + {error}");
    let evaluate = ["evaluate", "-m", &fast, &test, "--decoder", "semi-astar:learned", "--json"];
    let learned: Value = serde_json::from_str(&fine(&evaluate).0).unwrap();
    let exact: Value = serde_json::from_str(&fine(&["evaluate", "-m", &fast, &test, "--json"]).0).unwrap();
    let difference = exact["accuracy"].as_f64().unwrap() - learned["accuracy"].as_f64().unwrap();
    assert!(difference < 0.03, "{difference}");

    // Without the option the model answers as before; with it, spans say what they are worth.
    let plain = files.path("plain.kbest");
    let (before, _) = fine(&["tag", "-m", &plain, &new]);
    let (after, silent) = fine(&["tag", "-m", &fast, &new]);
    assert_eq!((before, silent), (after, String::new()));
    let (spans, _) = fine(&["tag", "-m", &fast, &new, "--decoder", "semi-astar:learned", "--spans"]);
    let line: Value = serde_json::from_str(spans.lines().next().unwrap()).unwrap();
    assert!(line["guarantee"]["epsilon"].is_f64() || line["guarantee"] == "exact", "{line}");
    let (inspected, _) = fine(&["inspect", &fast]);
    assert!(inspected.contains("\nbound     "), "{inspected}");
}

fn reports_are_for_people_too_and_seeds_repeat(files: &Files) {
    let (model, data) = (files.path("plain.kbest"), files.path("learn.tsv"));
    let learn = |output: &str| {
        let output = files.path(output);
        let arguments = ["learn-bound", "-m", &model, &data, "-o", &output, "--trees", "0", "--norm", "l2"];
        let (report, stderr) = fine(&arguments);
        assert_eq!(stderr, "");
        for word in ["fitted ", "programme ", "measured ", "promise ", "search ", "written "] {
            assert!(report.contains(word), "{report}");
        }
        std::fs::read(output).unwrap()
    };
    assert_eq!(learn("one.kbest"), learn("two.kbest"));
}

fn refused(arguments: &[&str], expected: &str) {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}");
    assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
}

fn misuse_is_refused(files: &Files) {
    let (plain, data, fast) = (files.path("plain.kbest"), files.path("learn.tsv"), files.path("fast.kbest"));
    let learn = ["learn-bound", "-m", &plain, &data, "-o"];
    refused(&[&learn[..], &[&plain]].concat(), "the same file");
    refused(&[&learn[..], &[&data]].concat(), "the same file");
    refused(&[&learn[..], &[&fast, "--norm", "l3"]].concat(), "expected one of l1, l2");
    refused(&[&learn[..], &[&fast, "--holdout", "1"]].concat(), "between 0 and 1");
    refused(&[&learn[..], &[&fast, "--margin=-1"]].concat(), "margin");
    refused(&["tag", "-m", &plain, &data, "--decoder", "semi-astar:learned"], "a model with a learned bound");
    assert!(!Path::new(&fast).exists());
    files.learn(&["--trees", "3"]);
    let learned = ["--decoder", "semi-astar:learned"];
    refused(&[&["tag", "-m", &fast, &data, "-k", "2"], &learned[..]].concat(), "only the best segmentation");
    refused(&["tag", "-m", &fast, &data, "--decoder", "semi-astar:beam"], "none, admissible, learned");
    let tags = files.path("chain.kbest");
    fine(&["train", &files.path("train.tsv"), "-m", &tags, "--features", "words", "--epochs", "1"]);
    refused(&[&["tag", "-m", &tags, &data], &learned[..]].concat(), "this is for single positions");
    refused(&["learn-bound", "-m", &tags, &data, "-o", &files.path("x")], "expected a model of segments");
    let npz = files.path("segments.npz");
    fine(&[
        "generate",
        "segments",
        "--sequences",
        "1",
        "--positions",
        "5",
        "--longest",
        "2",
        "--labels",
        "2",
        "-o",
        &npz,
    ]);
    refused(
        &["decode", &npz, "--decoder", "semi-astar", "--heuristic", "learned"],
        "learned bounds belong to models",
    );
}

/// Constraints change what the best answer is, so nothing is promised under them.
fn constraints_void_the_promise(files: &Files) {
    files.learn(&["--trees", "5"]);
    let rules: PathBuf = files.folder.path().join("rules.tsv");
    std::fs::write(&rules, "!FIRSTNAME\tLASTNAME\n").unwrap();
    let (fast, new) = (files.path("fast.kbest"), files.path("new.tsv"));
    let rules = rules.display().to_string();
    let arguments = ["tag", "-m", &fast, &new, "--decoder", "semi-astar:learned", "--constraints", &rules];
    let (spans, _) = fine(&[&arguments[..], &["--spans"]].concat());
    let first: Value = serde_json::from_str(spans.lines().next().unwrap()).unwrap();
    assert!(["none", "exact"].contains(&first["guarantee"].as_str().unwrap()), "{first}");
}

/// Every byte of the sections of a bound may be wrong; nothing panics, and nothing large is allocated.
fn hostile_bounds_are_refused(files: &Files) {
    files.learn(&["--trees", "2"]);
    let bytes = std::fs::read(files.path("fast.kbest")).unwrap();
    let broken = files.path("broken.kbest");
    let mut refusals = 0;
    for i in (0..bytes.len()).step_by(bytes.len() / 60) {
        let mut bytes = bytes.clone();
        bytes[i] ^= 0x5a;
        std::fs::write(&broken, bytes).unwrap();
        refusals += usize::from(run(&["inspect", &broken]).0 == 2);
    }
    assert!(refusals >= 59, "{refusals}: every byte is covered by a checksum or known");
}
