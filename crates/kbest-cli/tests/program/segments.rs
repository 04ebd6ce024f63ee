//! Lattices of segments on the command line: answers, batches, k best, refusals, generated files, measurements.

use crate::common::{Npz, kbest};
use kbest::decode::{Lattices, catalogue};
use serde_json::{Value, json};

fn run(arguments: &[&str], stdin: &[u8]) -> (i32, Vec<u8>, String) {
    let output = kbest().args(arguments).write_stdin(stdin).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

fn lines(stdout: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Two labels, three positions: label 0 holds the first two, label 1 the last; a change costs 1, length 2 gains 0.5.
fn small() -> Npz {
    Npz::new().f32("node", &[3, 2], &[1.0, 0.0, 1.0, 0.0, 0.0, 3.0]).f32("edge", &[2, 2], &[-1.0; 4]).f32(
        "duration",
        &[2, 2],
        &[0.0, 0.0, 0.5, 0.0],
    )
}

#[test]
fn every_decoder_gives_segments_and_a_guarantee() {
    for entry in catalogue(Lattices::Segments) {
        let (code, stdout, stderr) =
            run(&["decode", "--decoder", entry.name, "--counters"], &small().bytes());
        assert_eq!(code, 0, "{stderr}");
        let line = &lines(&stdout)[0];
        assert_eq!(
            line["paths"],
            json!([{"segments": [[0, 2, 0], [2, 3, 1]], "labels": [0, 0, 1], "score": 4.5}]),
            "{}",
            entry.name
        );
        assert_eq!((&line["guarantee"], &line["exact"]), (&json!("exact"), &json!(true)));
        assert!(line["counters"]["segments"].is_u64());
    }
    let with_estimate = ["decode", "--decoder", "semi-astar", "--heuristic", "none"];
    assert_eq!(run(&with_estimate, &small().bytes()).0, 0);
}

/// Scores of where segments begin and end, of every sequence its own; one of the two alone will do.
#[test]
fn boundaries_have_scores() {
    let segments = |npz: &Npz| -> Vec<Value> {
        let (code, stdout, stderr) = run(&["decode"], &npz.bytes());
        assert_eq!(code, 0, "{stderr}");
        lines(&stdout).iter().map(|line| line["paths"][0].clone()).collect()
    };
    let small = || Npz::new().f32("node", &[3, 2], &[0.0; 6]).f32("edge", &[2, 2], &[-1.0; 4]);
    let begin = [0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
    let one = small().f32("segment_begin", &[3, 2], &begin);
    let expected = json!({"segments": [[0, 1, 0], [1, 3, 1]], "labels": [0, 1, 1], "score": 2.0});
    assert_eq!(segments(&one), std::slice::from_ref(&expected));
    let both = one.f32("segment_end", &[3, 2], &[0.0, 0.0, 0.0, 0.0, 0.5, -4.0]);
    let other = json!({"segments": [[0, 1, 0], [1, 2, 1], [2, 3, 0]], "labels": [0, 1, 0], "score": 1.5});
    assert_eq!(segments(&both), [other]);
    let batch = Npz::new()
        .f32("node", &[2, 3, 2], &[0.0; 12])
        .f32("edge", &[2, 2], &[-1.0; 4])
        .f32("segment_begin", &[2, 3, 2], &[[0.0; 6], begin].concat())
        .i64("lengths", &[2], &[3, 3]);
    assert_eq!(segments(&batch)[1], expected);
    assert_eq!(segments(&batch)[0]["score"], 0.0);
    for (key, shape) in [("segment_begin", &[2, 2][..]), ("segment_end", &[1, 3, 2])] {
        let wrong = small().f32(key, shape, &vec![0.0; shape.iter().product::<u64>() as usize]);
        let (code, _, stderr) = run(&["decode"], &wrong.bytes());
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(&format!("key `{key}`: expected the shape of node = (3, 2)")), "{stderr}");
    }
    let (code, _, stderr) =
        run(&["decode"], &small().f32("segment_end", &[3, 2], &[f32::INFINITY; 6]).bytes());
    assert!(code == 2 && stderr.contains("scores of ends, position 0"), "{stderr}");
}

#[test]
fn batches_lengths_scores_and_k() {
    // The second sequence has two positions; explicit scores make one segment of it, with label 1.
    let mut scores = vec![0.0; 24];
    scores[12 + 3] = 10.0; // sequence 1, start 0, length 2, label 1
    let nodes = [1.0, 0.0, 1.0, 0.0, 0.0, 3.0, 1.0, 0.0, 1.0, 0.0, 9.0, 9.0];
    let npz = small().f32("node", &[2, 3, 2], &nodes).f32("segment", &[2, 3, 2, 2], &scores).i64(
        "lengths",
        &[2],
        &[3, 2],
    );
    let (code, stdout, stderr) = run(&["decode", "-k", "3", "--dtype", "f64"], &npz.bytes());
    assert_eq!(code, 0, "{stderr}");
    let lines = lines(&stdout);
    assert_eq!(lines[0]["paths"][0]["segments"], json!([[0, 2, 0], [2, 3, 1]]));
    assert_eq!(lines[1]["paths"][0], json!({"segments": [[0, 2, 1]], "labels": [1, 1], "score": 10.0}));
    assert_eq!(lines[1]["paths"].as_array().unwrap().len(), 3);
    assert_eq!(lines[1]["paths"][1]["segments"], json!([[0, 2, 0]]));
}

#[test]
fn a_sequence_without_a_legal_segmentation_is_told() {
    let npz = small().f32("duration", &[1, 2], &[f32::NEG_INFINITY; 2]);
    for entry in catalogue(Lattices::Segments) {
        let (code, stdout, stderr) = run(&["decode", "--decoder", entry.name], &npz.bytes());
        assert_eq!(code, 1, "{stderr}");
        assert_eq!(lines(&stdout)[0]["paths"], json!([]));
    }
}

#[test]
fn bad_arrays_and_options_are_refused() {
    let refused = |npz: &Npz, options: &[&str], word: &str| {
        let (code, stdout, stderr) = run(&[&["decode"], options].concat(), &npz.bytes());
        assert_eq!((code, stdout.len(), stderr.lines().count()), (2, 0, 1), "{stderr}");
        assert!(stderr.contains(word), "`{word}` not in: {stderr}");
    };
    refused(&small().f32("duration", &[2, 3], &[0.0; 6]), &[], "(W, 2)");
    refused(&small().f32("duration", &[0, 2], &[]), &[], "at least 1");
    refused(&small().f32("duration", &[4], &[0.0; 4]), &[], "duration");
    refused(&small().f32("duration", &[2, 2], &[0.0, 0.0, f32::NAN, 0.0]), &[], "length 2, label 0");
    refused(&small().f32("segment", &[2, 2, 2], &[0.0; 8]), &[], "(3, W, 2)");
    refused(&small().f32("segment", &[1, 3, 2, 2], &[0.0; 12]), &[], "segment");
    // Empty, but of a size that cannot be: no positions, so the empty segmentation is the answer.
    let empty = Npz::new().f32("node", &[0, 2], &[]).f32("edge", &[2, 2], &[0.0; 4]);
    let (code, stdout, stderr) = run(&["decode"], &empty.f32("segment", &[0, 1 << 63, 2], &[]).bytes());
    assert!(
        code == 2 || (code, lines(&stdout)[0]["paths"][0]["segments"].clone()) == (0, json!([])),
        "{stderr}"
    );
    assert!(!stderr.contains("panicked"), "{stderr}");
    let mut scores = [0.0; 12];
    scores[1] = f32::INFINITY;
    refused(&small().f32("segment", &[3, 2, 2], &scores), &[], "position 0, length 1, label 1");
    refused(&small(), &["--decoder", "viterbi"], "this is for segments");
    refused(&small(), &["--decoder", "semi-astar", "-k", "2"], "semi-astar");
    refused(&small(), &["--decoder", "semi-astar", "--heuristic", "m3"], "admissible");
    refused(&small(), &["--decoder", "semi-viterbi", "--width", "3"], "width");
    refused(&small(), &["--decoder", "semi-viterbi", "-k", "0"], "-k");
    refused(&crate::common::small(), &["--decoder", "semi-viterbi"], "duration");
}

#[test]
fn generated_files_are_the_same_each_time_and_all_decoders_agree_on_them() {
    for family in ["peaked", "random"] {
        for explicit in [false, true] {
            let mut arguments =
                vec!["generate", "segments", "--sequences", "3", "--positions", "90", "--labels", "5"];
            arguments.extend(["--longest", "70", "--family", family]);
            arguments.extend(explicit.then_some("--explicit"));
            let (code, made, stderr) = run(&arguments, b"");
            assert_eq!(code, 0, "{stderr}");
            assert_eq!(run(&arguments, b"").1, made);
            let bench = ["bench", "decode", "--repeat", "1", "--json"];
            let (code, stdout, stderr) = run(&bench, &made);
            assert_eq!(code, 0, "{stderr}");
            let report: Value = serde_json::from_slice(&stdout).unwrap();
            let rows = report["rows"].as_array().unwrap();
            let names: Vec<&str> = rows.iter().map(|row| row["decoder"].as_str().unwrap()).collect();
            assert!(catalogue(Lattices::Segments).all(|entry| names.contains(&entry.name)), "{names:?}");
            assert!(names.contains(&"scan") && names.contains(&"max-plus-limit"));
            assert!(rows.iter().all(|row| row["agree"] == json!(true)));
            assert_eq!((&report["positions"], &report["labels"]), (&json!(270), &json!(5)));
        }
    }
    assert_eq!(run(&["generate", "segments", "--longest", "0"], b"").0, 2);
    assert_eq!(run(&["generate", "segments", "--labels", "99999999999"], b"").0, 2);
}
