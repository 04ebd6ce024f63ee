//! The engine-neutral corpus `testdata/lattices.json` through the command line: every decoder must find the best paths
//! found by enumerating all paths. Scores are whole numbers, so sums are exact and ties are real.

use crate::common::{Npz, kbest};
use kbest::decode::{Answers, Lattices, catalogue};
use serde_json::Value;

/// Numbers of any nesting; null is minus infinity.
fn numbers(value: &Value, into: &mut Vec<f32>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| numbers(value, into)),
        Value::Null => into.push(f32::NEG_INFINITY),
        value => into.push(value.as_f64().unwrap() as f32),
    }
}

fn flat(value: &Value) -> Vec<f32> {
    let mut all = vec![];
    numbers(value, &mut all);
    all
}

fn npz(case: &Value) -> Npz {
    let labels = case["labels"].as_u64().unwrap();
    let positions = case["node"].as_array().unwrap().len() as u64;
    let mut npz = Npz::new().f32("node", &[positions, labels], &flat(&case["node"]));
    if let Some(edge) = case.get("edge") {
        npz = npz.f32("edge", &[labels, labels], &flat(edge));
    }
    if let Some(edges) = case.get("edges") {
        npz = npz.f32("edge", &[positions - 1, labels, labels], &flat(edges));
    }
    if let Some(sparse) = case.get("sparse") {
        let exceptions = sparse["exceptions"].as_array().unwrap();
        let n = [exceptions.len() as u64];
        let column = |i: usize| exceptions.iter().map(|e| e[i].as_i64().unwrap()).collect::<Vec<_>>();
        let values: Vec<f32> = exceptions.iter().flat_map(|e| flat(&e[2])).collect();
        npz = npz.f32("edge_base", &[], &flat(&sparse["base"])).f32("edge_value", &n, &values);
        npz = npz.i64("edge_from", &n, &column(0)).i64("edge_to", &n, &column(1));
    }
    for key in ["start", "end"] {
        if let Some(border) = case.get(key) {
            npz = npz.f32(key, &[labels], &flat(border));
        }
    }
    if let Some(allowed) = case.get("allowed") {
        let rows = allowed.as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
        let mask: Vec<bool> = rows.map(|allowed| allowed.as_bool().unwrap()).collect();
        npz = npz.bools("allowed", &[positions, labels], &mask);
    }
    npz
}

fn decode(npz: &Npz, name: &str, k: usize, dtype: &str) -> (Option<i32>, Value) {
    let k = k.to_string();
    let mut command = kbest();
    command.args(["decode", "--decoder", name, "-k", &k, "--dtype", dtype]).write_stdin(npz.bytes());
    let output = command.output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn every_decoder_finds_the_enumerated_paths() {
    let only = std::env::var("KBEST_TEST_DECODERS").ok();
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|other| other == name));
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lattices.json");
    let corpus: Value = serde_json::from_str(&std::fs::read_to_string(corpus).unwrap()).unwrap();
    let cases = corpus["cases"].as_array().unwrap();
    assert!(cases.len() >= 14);
    for (case, entry) in
        cases.iter().flat_map(|case| catalogue(Lattices::Positions).map(move |entry| (case, entry)))
    {
        if !entry.exact || !wanted(entry.name) {
            continue;
        }
        let expected = case["best"].as_array().unwrap();
        let (npz, place) = (npz(case), format!("{} on {}", entry.name, case["name"]));
        for dtype in ["f32", "f64"] {
            let (code, line) = decode(&npz, entry.name, 1, dtype);
            assert_eq!(code, Some(i32::from(expected.is_empty())), "{place}: {line}");
            let paths = line["paths"].as_array().unwrap();
            assert_eq!(paths.len(), expected.len().min(1), "{place}");
            if let (Some(path), Some(best)) = (paths.first(), expected.first()) {
                assert_eq!(path["labels"], best["labels"], "{place}");
                assert_eq!(path["score"].as_f64(), best["score"].as_f64(), "{place}");
            }
            if entry.answers != Answers::One {
                let (_, line) = decode(&npz, entry.name, 5, dtype);
                let scores = |paths: &Value| {
                    paths.as_array().unwrap().iter().map(|p| p["score"].as_f64()).collect::<Vec<_>>()
                };
                assert_eq!(scores(&line["paths"]), scores(&case["best"]), "{place}, 5 best");
            }
        }
    }
}
