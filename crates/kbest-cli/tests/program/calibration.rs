//! Probabilities that mean what they say: `calibrate`, `train --calibrate`, and everything that writes probabilities.

use crate::common::{Npz, Workshop, kbest, small};
use serde_json::Value;

/// A corpus in three parts: for training, for calibration, and for measuring.
fn corpus() -> Workshop {
    let here = Workshop::new();
    here.stdout(
        "generate corpus --labels 60 --sentences 260 -o train.tsv --test rest.tsv --test-sentences 900 --seed 3",
    );
    let rest = here.read("rest.tsv");
    let blocks: Vec<&str> = rest.trim_end().split("\n\n").collect();
    let (dev, test) = blocks.split_at(blocks.len() / 2);
    here.write("dev.tsv", &(dev.join("\n\n") + "\n\n"));
    here.write("test.tsv", &(test.join("\n\n") + "\n\n"));
    here
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn error_of(here: &Workshop, model: &str) -> f64 {
    let report = json(&here.stdout(&format!("evaluate -m {model} test.tsv --marginals --json")));
    report["calibration"]["expected_calibration_error"].as_f64().unwrap()
}

/// The label of each line without its probability.
fn labels(tagged: &str) -> Vec<String> {
    tagged
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.rsplit_once('/').unwrap().0.into())
        .collect()
}

#[test]
fn a_perceptron_becomes_trustworthy() {
    let here = corpus();
    here.stdout("train train.tsv -m model.kbest -q");
    let report = json(&here.stdout("calibrate -m model.kbest dev.tsv -o calm.kbest --json"));
    assert!(report["temperature"].as_f64().unwrap() > 1.0, "{report}");
    assert!(report["error_after"].as_f64() < report["error_before"].as_f64(), "{report}");
    let (before, after) = (error_of(&here, "model.kbest"), error_of(&here, "calm.kbest"));
    assert!(after < 0.6 * before, "{before} -> {after}");

    // The labels stay the same, and so do the scores of candidates; their probabilities do not.
    let of = |model: &str| here.stdout(&format!("tag -m {model} --marginals test.tsv"));
    let (sure, calm) = (of("model.kbest"), of("calm.kbest"));
    assert_eq!(labels(&sure), labels(&calm));
    assert_ne!(sure, calm);
    let scores = |model: &str| here.stdout(&format!("tag -m {model} -k 3 test.tsv"));
    assert_eq!(scores("model.kbest"), scores("calm.kbest"));

    let shown = here.stdout("inspect calm.kbest");
    assert!(shown.contains("calibrated by temperature"), "{shown}");

    // Training can do it at once, with the same result; converting keeps it.
    here.stdout("train train.tsv -m both.kbest -q --calibrate dev.tsv");
    assert_eq!(of("both.kbest"), calm);
    here.stdout("convert both.kbest converted.kbest -q");
    assert_eq!(of("converted.kbest"), calm);
    let refusal = here.refusal("train train.tsv -m both.kbest -q --calibrate train.tsv", "");
    assert!(refusal.contains("--calibrate: expected data that the model is not trained on"), "{refusal}");
}

/// `explain` tells the probabilities of `tag`.
#[test]
fn explanations_are_calibrated() {
    let here = corpus();
    here.stdout("train train.tsv -m model.kbest -q");
    here.stdout("calibrate -m model.kbest dev.tsv -o calm.kbest -q");
    let explained = |model: &str| json(&here.stdout(&format!("explain -m {model} test.tsv --json")));
    let (sure, calm) = (explained("model.kbest"), explained("calm.kbest"));
    assert_eq!(sure["paths"][0]["labels"], calm["paths"][0]["labels"]);
    assert!(
        sure["calibration"].is_null() && calm["calibration"].as_str().unwrap().starts_with("temperature ")
    );
    for (model, report) in [("model.kbest", &sure), ("calm.kbest", &calm)] {
        let tagged = here.stdout(&format!("tag -m {model} --marginals test.tsv"));
        let first = tagged.split("\n\n").next().unwrap();
        for (line, column) in first.lines().zip(report["columns"].as_array().unwrap()) {
            let theirs: f64 = line.rsplit_once('/').unwrap().1.parse().unwrap();
            let ours = column["vertices"][0][4].as_f64().unwrap();
            assert!((ours - theirs).abs() < 1e-3, "{model}: {ours} {theirs}");
        }
        // The line before a candidate: rank, score, probability.
        let best = here.stdout(&format!("tag -m {model} -k 3 --marginals test.tsv"));
        let theirs: f64 = best.lines().next().unwrap().split_whitespace().nth(3).unwrap().parse().unwrap();
        let ours = report["paths"][0]["probability"].as_f64().unwrap();
        assert!((ours - theirs).abs() < 1e-3, "{model}: {ours} {theirs}");
    }
    let text = here.stdout("explain -m calm.kbest test.tsv");
    assert!(text.contains("calibrated: temperature"), "{text}");
}

#[test]
fn segments_become_trustworthy_too() {
    let here = Workshop::new();
    here.stdout("generate addresses --records 150 -o train.tsv --seed 1");
    here.stdout("generate addresses --records 400 -o dev.tsv --seed 2");
    here.stdout("generate addresses --records 400 -o test.tsv --seed 3");
    here.stdout("train train.tsv -m model.kbest --algorithm semi --features words --lines 2 -q --epochs 2");
    here.stdout("calibrate -m model.kbest dev.tsv -o calm.kbest -q");
    let (before, after) = (error_of(&here, "model.kbest"), error_of(&here, "calm.kbest"));
    assert!(after <= before, "{before} -> {after}");
    let report = json(&here.stdout("evaluate -m calm.kbest test.tsv --marginals --json"));
    assert_eq!(report["calibration"]["of"], "segments");
    let tagged = here.stdout("tag -m calm.kbest --marginals=all -k 2 --format columns test.tsv");
    assert!(tagged.starts_with("# 0 "), "{tagged}");
}

#[test]
fn data_without_labels_of_the_model_is_refused() {
    let here = Workshop::new();
    here.write("train.tsv", "a\tX\nb\tY\n\n");
    here.stdout("train train.tsv -m model.kbest -q");
    here.write("dev.tsv", "a\tOTHER\n\n");
    let refusal = here.refusal("calibrate -m model.kbest dev.tsv -o calm.kbest", "");
    assert!(refusal.contains("dev.tsv: expected labels of the model"), "{refusal}");
    let warning = here.warning("calibrate -m model.kbest train.tsv -o calm.kbest", "");
    assert!(warning.contains("2 tokens say little"), "{warning}");
    let refusal = here.refusal("calibrate -m model.kbest train.tsv -o model.kbest", "");
    assert!(refusal.contains("the same file"), "{refusal}");
}

#[test]
fn distributions_are_written_in_every_format() {
    let here = Workshop::new();
    here.write("train.tsv", "a\tX\nb\tY\n\nb\tZ|1\na\tX\n\n");
    here.stdout("train train.tsv -m model.kbest -q --algorithm crf");
    here.write("text.tsv", "a\nb\n\n");
    let tagged = here.stdout("tag -m model.kbest --marginals=all text.tsv");
    for line in tagged.lines().filter(|line| !line.is_empty()) {
        let cells: Vec<(&str, f64)> = line
            .split('\t')
            .skip(1)
            .map(|cell| cell.rsplit_once('/').map(|(name, p)| (name, p.parse().unwrap())).unwrap())
            .collect();
        assert_eq!(cells.len(), 4, "{line}");
        assert!(cells[1..].windows(2).all(|pair| pair[0].1 >= pair[1].1), "{line}");
        let sum: f64 = cells[1..].iter().map(|cell| cell.1).sum();
        assert!((sum - 1.0).abs() < 2e-4 && cells.contains(&cells[0]), "{line}");
    }
    let one = here.stdout("tag -m model.kbest --marginals=1 text.tsv");
    assert!(one.lines().filter(|line| !line.is_empty()).all(|line| line.split('\t').count() == 3), "{one}");

    here.write("text.jsonl", "{\"tokens\":[\"a\",\"b\"]}\n");
    let line = json(&here.stdout("tag -m model.kbest --marginals=2 --scores text.jsonl"));
    let rows = line["distributions"].as_array().unwrap();
    assert!(rows.len() == 2 && rows.iter().all(|row| row.as_object().unwrap().len() == 2), "{line}");
    assert_eq!(rows[0]["X"], line["marginals"][0]);

    here.write("text.conllu", "# newpar\n# sent_id = s1\n# text = a b\n1\ta\t_\t_\t_\t_\t_\t_\t_\tK=v|Label1=old\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
    let tagged = here.stdout("tag -m model.kbest --marginals=3 -k 1 text.conllu");
    let lines: Vec<&str> = tagged.lines().collect();
    assert!(
        lines[1] == "# sent_id = s1" && lines[2].starts_with("# 0 ") && lines[3] == "# text = a b",
        "{tagged}"
    );
    assert_eq!(lines[2].split(' ').count(), 4, "rank, score and probability: {tagged}");
    assert!(lines[4].contains("K=v|Confidence=") && !lines[4].contains("old"), "{tagged}");
    assert!(lines[4].contains("|Label1=X/") && tagged.contains("=Z\\p1/"), "{tagged}");

    for (options, wanted) in [
        ("--marginals=0", "--marginals"),
        ("--marginals=x", "--marginals"),
        ("--spans --marginals=2", "--spans"),
    ] {
        let refusal = here.refusal(&format!("tag -m model.kbest {options} text.tsv"), "");
        assert!(refusal.contains(&format!("{wanted}: expected")), "{refusal}");
    }
}

/// The probabilities of all paths sum to one, whatever the temperature, under constraints, too.
#[test]
fn probabilities_of_all_candidates_sum_to_one() {
    let here = Workshop::new();
    here.write("train.tsv", "a\tB-X\nb\tI-X\nc\tO\n\nc\tO\na\tB-X\n\nb\tI-X\nb\tO\n\n");
    here.stdout("train train.tsv -m model.kbest -q");
    let (code, ..) = here.run("calibrate -m model.kbest train.tsv -o calm.kbest -q");
    assert_eq!(code, 0);
    here.write("text.tsv", "a\nb\nc\n\n");
    for model in ["model.kbest", "calm.kbest"] {
        for constraints in ["", "--constraints iob2"] {
            let tagged = here.stdout(&format!("tag -m {model} -k 100 --marginals {constraints} text.tsv"));
            let headings = tagged.lines().filter(|line| line.starts_with("# "));
            let sum: f64 =
                headings.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum();
            assert!((sum - 1.0).abs() < 3e-3, "{model} {constraints}: {sum}");
        }
    }
}

#[test]
fn scores_have_names_constraints_and_probabilities() {
    let here = Workshop::new();
    small().write(here.folder(), "lattice.npz");
    let plain = json(&here.stdout("decode lattice.npz -k 9"));
    let told = json(&here.stdout("decode lattice.npz -k 9 --labels O,B-X,I-X --marginals=all"));
    let paths = told["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 9);
    assert_eq!(paths[0]["labels"], serde_json::json!(["I-X", "O"]));
    assert_eq!(paths[0]["score"], plain["paths"][0]["score"]);
    let sum: f64 = paths.iter().map(|path| path["probability"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    let row = told["distributions"][0].as_object().unwrap();
    assert!((row.values().map(|p| p.as_f64().unwrap()).sum::<f64>() - 1.0).abs() < 2e-4, "{told}");
    assert_eq!(row["I-X"], paths[0]["marginals"][0]);

    here.write("labels.txt", "O\nB-X\nI-X\n");
    let obeying = json(&here.stdout("decode lattice.npz -k 9 --labels labels.txt --constraints iob2"));
    let labels: Vec<&Value> =
        obeying["paths"].as_array().unwrap().iter().map(|path| &path["labels"]).collect();
    assert!(!labels.is_empty() && labels.iter().all(|labels| labels[0] != "I-X"), "{obeying}");
    assert!(labels.iter().all(|labels| labels[1] != "I-X" || labels[0] == "B-X"), "{obeying}");

    let numbers = json(&here.stdout("decode lattice.npz --marginals=1"));
    assert!(numbers["distributions"][0].as_object().unwrap().contains_key("2"), "{numbers}");
    for (options, part) in [
        ("--labels A,B", "expected a name for each of the 3 labels, got 2"),
        ("--labels A,B,A", "expected different names"),
        ("--constraints iob2", "--labels"),
        ("--labels A,B,C --constraints iob2", "constraints"),
    ] {
        let refusal = here.refusal(&format!("decode lattice.npz {options}"), "");
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn segments_of_scores_have_names_and_probabilities() {
    let here = Workshop::new();
    Npz::new()
        .f32("node", &[3, 2], &[1.0, 0.0, 0.5, 0.25, 0.0, 2.0])
        .f32("edge", &[2, 2], &[0.0, 0.5, 0.25, 0.0])
        .f32("duration", &[2, 2], &[0.0, 0.0, 0.5, 1.0])
        .write(here.folder(), "lattice.npz");
    let told = json(&here.stdout("decode lattice.npz -k 99 --labels A,B --marginals=all"));
    let paths = told["paths"].as_array().unwrap();
    let sum: f64 = paths.iter().map(|path| path["probability"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{told}");
    // A segment's probability is the sum over the segmentations that contain it.
    let segment = &paths[0]["segments"][0];
    let with_it = paths.iter().filter(|path| path["segments"].as_array().unwrap().contains(segment));
    let expected: f64 = with_it.map(|path| path["probability"].as_f64().unwrap()).sum();
    assert!((paths[0]["marginals"][0].as_f64().unwrap() - expected).abs() < 1e-4, "{told}");
    assert_eq!(told["distributions"].as_array().unwrap().len(), 3);
    let refused = kbest().args(["decode", "--help"]).output().unwrap();
    assert!(String::from_utf8(refused.stdout).unwrap().contains("--marginals"));
}
