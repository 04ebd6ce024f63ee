//! `kbest decode`: every key, shape and type; lines, exit codes, files.

use crate::common::{Npz, best_paths, decode_bytes, f32s, f64s, kbest, npy, safetensors_with_header, small};
use std::io::Read;
use std::process::{Command, Stdio};

fn best(npz: &Npz) -> Vec<(Vec<u64>, f64)> {
    let (code, stdout, stderr) = decode_bytes(&npz.bytes(), &[]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    best_paths(&stdout)
}

#[test]
fn a_line_has_paths_decoder_and_guarantee() {
    let (code, stdout, _) = decode_bytes(&small().bytes(), &[]);
    assert_eq!(code, 0);
    assert_eq!(
        stdout,
        "{\"paths\":[{\"labels\":[2,0],\"score\":4.5}],\"decoder\":\"viterbi\",\"exact\":true}\n"
    );
    let (_, stdout, _) = decode_bytes(&small().compressed().bytes(), &["--counters"]);
    let line: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(line["counters"]["nodes"], 6);
    assert_eq!(line["counters"]["nodes_at"], serde_json::json!([3, 3]));
}

/// `auto` is not the name of an answer, even where nothing has to be searched for.
#[test]
fn an_empty_sequence_names_a_decoder() {
    let empty = small().f32("node", &[1, 0, 3], &[]);
    let output = kbest().arg("decode").write_stdin(empty.bytes()).output().unwrap();
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&line["decoder"], &line["paths"][0]["labels"]), (&"viterbi".into(), &serde_json::json!([])));
}

#[test]
fn every_edge_shape() {
    assert_eq!(best(&small()), [(vec![2, 0], 4.5)]);
    let by_step = small().f32("edge", &[1, 3, 3], &[0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(best(&by_step), [(vec![0, 1], 11.0)]);
    let sparse = small()
        .without("edge")
        .f32("edge_base", &[], &[-0.5])
        .i64("edge_from", &[2], &[0, 2])
        .i64("edge_to", &[2], &[1, 2])
        .f32("edge_value", &[2], &[7.0, f32::NEG_INFINITY]);
    assert_eq!(best(&sparse), [(vec![0, 1], 9.0)]);
    let forbidden = sparse.clone().f32("edge_base", &[1], &[f32::NEG_INFINITY]);
    assert_eq!(best(&forbidden.f32("edge_value", &[2], &[-7.0, -1.0])), [(vec![2, 2], 2.25)]);
    let none = sparse.i64("edge_from", &[0], &[]).i64("edge_to", &[0], &[]).f32("edge_value", &[0], &[]);
    assert_eq!(best(&none), [(vec![2, 0], 3.5)]);
    let classes = small()
        .without("edge")
        .i64("edge_class_from", &[3], &[0, 1, 0])
        .i64("edge_class_to", &[3], &[0, 1, 1])
        .f32("edge_class_base", &[2, 2], &[-0.5, f32::NEG_INFINITY, 0.0, 8.0]);
    assert_eq!(best(&classes), [(vec![1, 1], 9.0)]);
    let exceptions = classes.i64("edge_from", &[2], &[0, 1]).i64("edge_to", &[2], &[1, 1]).f32(
        "edge_value",
        &[2],
        &[7.0, f32::NEG_INFINITY],
    );
    assert_eq!(best(&exceptions), [(vec![0, 1], 9.0)]);
    // One position needs no step.
    let single = small().f32("node", &[1, 3], &[0.0, 1.0, 0.5]).f32("edge", &[0, 3, 3], &[]);
    assert_eq!(best(&single), [(vec![1], 1.0)]);
}

#[test]
fn borders_masks_and_order() {
    let borders = small().f32("start", &[3], &[5.0, 0.0, 0.0]).f32("end", &[3], &[0.0, 0.0, 9.0]);
    assert_eq!(best(&borders), [(vec![0, 2], 1.0 + 5.0 + 0.25 + 9.0)]);
    let mask = small().bools("allowed", &[2, 3], &[true, true, false, true, true, true]);
    assert_eq!(best(&mask), [(vec![0, 1], 2.5)]);
    assert_eq!(best(&small().i64("order", &[3], &[2, 0, 1])), [(vec![2, 0], 4.5)]);
}

#[test]
fn batches_with_lengths() {
    let node =
        [1.0, 0.0, 0.0, 2.0, /* */ 0.0, 5.0, f32::NAN, f32::INFINITY, /* */ 3.0, 0.0, 0.0, 1.0];
    let batch = Npz::new().f32("edge", &[2, 2], &[0.0; 4]).f32("node", &[3, 2, 2], &node);
    let expected = [(vec![0, 1], 3.0), (vec![1], 5.0), (vec![], 0.0)];
    assert_eq!(best(&batch.clone().i64("lengths", &[3], &[2, 1, 0])), expected, "padding is ignored");
    for (description, size) in [("<i4", 4), (">i2", 2), ("|u1", 1), ("<u8", 8)] {
        let bytes = |value: u8| {
            let mut bytes = vec![0; size];
            bytes[if description.starts_with('>') { size - 1 } else { 0 }] = value;
            bytes
        };
        let lengths = [2, 1, 0].map(bytes).concat();
        assert_eq!(best(&batch.clone().raw("lengths", npy(description, false, &[3], &lengths))), expected);
    }
    let finite = batch.f32("node", &[3, 2, 2], &[1.0, 0.0, 0.0, 2.0, 0.0, 5.0, 0.0, 4.0, 3.0, 0.0, 0.0, 1.0]);
    let mask = [true, true, true, false];
    let masked = finite.clone().bools("allowed", &[2, 2], &mask);
    assert_eq!(best(&masked), [(vec![0, 0], 1.0), (vec![1, 0], 5.0), (vec![0, 0], 3.0)], "one mask for all");
    let each = finite.bools("allowed", &[3, 2, 2], &[[true; 4], mask, [true; 4]].concat());
    assert_eq!(best(&each), [(vec![0, 1], 3.0), (vec![1, 0], 5.0), (vec![0, 1], 4.0)]);
    let nothing = Npz::new().f32("edge", &[2, 2], &[0.0; 4]).f32("node", &[0, 5, 2], &[]);
    assert_eq!(best(&nothing), []);
}

#[test]
fn element_types_and_layouts() {
    let node = [1.0, 0.0, 3.0, 1.0, 1.0, 0.25];
    let expected = [(vec![2, 0], 4.5)];
    assert_eq!(best(&small().f64("node", &[2, 3], &node)), expected);
    // Column-major.
    let columns = f64s(&[1.0, 1.0, 0.0, 1.0, 3.0, 0.25]);
    assert_eq!(best(&small().raw("node", npy("<f8", true, &[2, 3], &columns))), expected);
    let big: Vec<u8> = node.iter().flat_map(|v| (*v as f32).to_be_bytes()).collect();
    assert_eq!(best(&small().raw("node", npy(">f4", false, &[2, 3], &big))), expected);
    let half: Vec<u8> =
        [0x3c00u16, 0, 0x4200, 0x3c00, 0x3c00, 0x3400].iter().flat_map(|v| v.to_le_bytes()).collect();
    assert_eq!(best(&small().raw("node", npy("<f2", false, &[2, 3], &half))), expected);
    assert_eq!(best(&small().i64("node", &[2, 3], &[1, 0, 3, 1, 1, 0])), expected);
}

#[test]
fn dtype_decides_the_arithmetic() {
    let thirds = small().f64("node", &[2, 3], &[1.0, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0, 0.25]);
    let score = |more: &[&str]| best_paths(&decode_bytes(&thirds.bytes(), more).1)[0].1;
    assert_eq!(score(&[]), 2.5);
    let fractions = Npz::new().f64("node", &[1, 1], &[0.1]).f64("edge", &[1, 1], &[0.0]);
    assert!(decode_bytes(&fractions.bytes(), &[]).1.contains("\"score\":0.1}"));
    assert!(decode_bytes(&fractions.bytes(), &["--dtype", "f32"]).1.contains("\"score\":0.1}"), "shortest");
    let single = Npz::new().f32("node", &[1, 1], &[0.1]).f32("edge", &[1, 1], &[0.0]);
    let (_, stdout, _) = decode_bytes(&single.bytes(), &["--dtype", "f64"]);
    assert_eq!(best_paths(&stdout)[0].1, f64::from(0.1f32));
    let huge = Npz::new().f64("node", &[1, 1], &[-1e300]).f64("edge", &[1, 1], &[0.0]);
    let (code, _, stderr) = decode_bytes(&huge.bytes(), &["--dtype", "f32"]);
    assert!(code == 2 && stderr.contains("--dtype f64"), "a penalty must not turn into a ban: {stderr}");
}

#[test]
fn npy_and_safetensors() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("n.npy"), npy("<f4", false, &[2, 3], &f32s(&[1.0, 0.0, 3.0, 1.0, 1.0, 0.25]))).unwrap();
    std::fs::write(at("e.npy"), npy("<f4", false, &[3, 3], &f32s(&[0.0; 9]))).unwrap();
    let output = kbest()
        .args(["decode", "--decoder", "viterbi", "--edges"])
        .args([at("e.npy"), at("n.npy")])
        .output()
        .unwrap();
    assert_eq!(best_paths(&String::from_utf8(output.stdout).unwrap()), [(vec![2, 0], 4.0)]);

    let header = r#"{"edge":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"node":{"dtype":"BF16","shape":[1,2],"data_offsets":[16,20]}}"#;
    let one_and_two = [0x80, 0x3f, 0x00, 0x40];
    let tensors = safetensors_with_header(header, &[&[0; 16], &one_and_two[..]].concat());
    let (code, stdout, _) = decode_bytes(&tensors, &[]);
    assert_eq!((code, best_paths(&stdout)), (0, vec![(vec![1], 2.0)]));
    for length in 0..tensors.len() {
        let (code, stdout, stderr) = decode_bytes(&tensors[..length], &[]);
        assert_eq!((code, stdout.as_str(), stderr.lines().count()), (2, "", 1), "{length} bytes");
    }
}

#[test]
fn a_sequence_without_a_path_is_reported_and_the_others_are_decoded() {
    let forbidden = f32::NEG_INFINITY;
    let node = [1.0, 0.0, /* */ forbidden, forbidden, /* */ 0.0, 2.0];
    let npz = Npz::new().f32("node", &[3, 1, 2], &node).f32("edge", &[2, 2], &[0.0; 4]);
    let (code, stdout, stderr) = decode_bytes(&npz.bytes(), &[]);
    assert_eq!((code, stdout.lines().count(), stderr.lines().count()), (1, 3, 1));
    let line: serde_json::Value = serde_json::from_str(stdout.lines().nth(1).unwrap()).unwrap();
    assert_eq!(line["paths"], serde_json::json!([]));
    assert!(line["error"].as_str().unwrap().contains("no legal path"));
}

#[test]
fn sums_that_overflow_are_not_answers() {
    let npz = Npz::new().f32("node", &[2, 1], &[3e38, 3e38]).f32("edge", &[1, 1], &[0.0]);
    let (code, stdout, stderr) = decode_bytes(&npz.bytes(), &[]);
    assert!(code == 2 && stdout.is_empty(), "{stdout}");
    assert!(
        stderr.contains("sequence 0: the scores of a path may add up to 6.0e38: expected at most 8.5e37"),
        "{stderr}"
    );
}

#[test]
fn bad_usage_is_exit_code_2() {
    for more in [
        &["-k", "0"][..],
        &["-k", "x"],
        &["--decoder", "vitrebi"],
        &["--decoder", "viterbi-sparse", "-k", "2"],
        &["--width", "3"],
        &["--heuristic", "naive"],
        &["--decoder", "astar", "--heuristic", "best"],
        &["--decoder", "beam", "--width", "0"],
        &["--dtype", "f16"],
        &["--frobnicate"],
    ] {
        let output = kbest().arg("decode").args(more).write_stdin(small().bytes()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{more:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn output_files_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("paths.jsonl");
    let decode = |npz: &Npz| {
        let input = npz.write(folder.path(), "in.npz");
        let mut command = kbest();
        command.args(["decode", "--decoder", "viterbi", "-o"]).arg(&out).arg(input);
        command.output().unwrap()
    };
    let bad = small().f32("node", &[2, 3], &[f32::NAN; 6]);
    assert_eq!(decode(&bad).status.code(), Some(2));
    assert!(!out.exists());
    assert!(decode(&small()).status.success());
    let whole = std::fs::read_to_string(&out).unwrap();
    assert_eq!(best_paths(&whole), [(vec![2, 0], 4.5)]);
    assert_eq!(decode(&bad).status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), whole, "the old file stays");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let input = small().write(folder.path(), "in.npz");
    let before = std::fs::read(&input).unwrap();
    let over = kbest().arg("decode").arg(&input).arg("-o").arg(&input).output().unwrap();
    assert_eq!((over.status.code(), std::fs::read(&input).unwrap()), (Some(2), before), "inputs are kept");
    let nowhere =
        kbest().args(["decode", "-o", "/nonexistent/x", "-"]).write_stdin(small().bytes()).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    // Far more output than a pipe holds.
    let node = vec![0.0; 3000 * 40];
    let npz = Npz::new().f32("node", &[3000, 40, 1], &node).f32("edge", &[1, 1], &[0.0]);
    let folder = tempfile::tempdir().unwrap();
    let input = npz.write(folder.path(), "in.npz");
    let mut child = Command::new(env!("CARGO_BIN_EXE_kbest"))
        .args(["decode", "--decoder", "viterbi"])
        .arg(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap(); // and the pipe is closed
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}
