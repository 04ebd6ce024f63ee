//! Hostile input: whatever the bytes, exit code 2, one message on stderr, nothing on stdout, no panic, little memory.

use crate::common::{Npz, decode_bytes, f32s, npy, npy_with_header, small};

/// Refused with a message that mentions `word`.
fn refused(bytes: &[u8], word: &str) {
    let (code, stdout, stderr) = decode_bytes(bytes, &[]);
    assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("kbest: <stdin>: ") && stderr.contains(word), "`{word}` not in: {stderr}");
}

#[test]
fn cut_short_anywhere() {
    for npz in [small(), small().compressed()] {
        let bytes = npz.bytes();
        for length in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
            refused(&bytes[..length], "");
        }
    }
    let npy = npy("<f4", false, &[2, 3], &f32s(&[0.0; 6]));
    for length in 0..npy.len() {
        refused(&npy[..length], "");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    // Each byte of a small archive inverted in turn: it may still decode, but must not crash.
    let bytes = small().compressed().bytes();
    for i in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[i] ^= 0xff;
        let (code, stdout, stderr) = decode_bytes(&changed, &[]);
        assert!(code == 0 || (code == 2 && stdout.is_empty()), "byte {i}: {code} {stderr}");
        assert!(!stderr.contains("panicked"), "byte {i}: {stderr}");
    }
}

#[test]
fn not_an_array_file() {
    refused(b"", "empty");
    refused(b"hello, world", "expected an .npz");
    refused(&[0; 1000], "expected an .npz");
    refused(b"PK\x03\x04 and no more", "zip");
    refused(&small().raw("node", b"not an array at all".to_vec()).bytes(), "`node`");
    refused(&small().raw("node", vec![]).bytes(), "`node`");
}

#[test]
fn headers_that_lie() {
    let elements = f32s(&[0.0; 6]);
    let with = |shape: &[u64]| small().raw("node", npy("<f4", false, shape, &elements));
    for shape in [
        &[1_000_000_000_000, 3][..],
        &[u64::MAX, u64::MAX],
        &[1 << 62, 3],
        &[3, 3],
        &[2, 1 << 40, 3],
        &[1 << 20, 1 << 20, 1 << 20],
    ] {
        refused(&with(shape).bytes(), "the header claims shape");
        refused(&with(shape).compressed().bytes(), "key `node`");
    }
    refused(&with(&[1, 3]).bytes(), "more bytes follow");
    // The same without an archive.
    refused(&npy("<f4", false, &[1_000_000_000_000], &elements), "the header claims shape");
    refused(&npy_with_header(&"(".repeat(9_000), &[]), "header");
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    refused(&long, "header of at most");
}

#[test]
fn a_zip_bomb_is_not_unpacked() {
    // 64 MiB of zeros in about 64 KB, after a header that claims six numbers.
    let bomb = small().raw("node", npy("<f4", false, &[2, 3], &vec![0; 64 << 20])).compressed();
    let bytes = bomb.bytes();
    assert!(bytes.len() < 1 << 20);
    refused(&bytes, "more bytes follow");
    // The reverse: a header that claims a terabyte of data that compresses well.
    let greedy = small().raw("node", npy("<f4", false, &[1 << 38, 1], &vec![0; 1 << 20])).compressed();
    refused(&greedy.bytes(), "the header claims shape");
}

#[test]
fn scores_that_are_not_numbers() {
    for (bad, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf")] {
        refused(
            &small().f32("node", &[2, 3], &[0.0, 0.0, 0.0, 0.0, bad, 0.0]).bytes(),
            "position 1, label 1",
        );
        let mut edge = [0.0; 9];
        edge[5] = bad;
        refused(&small().f32("edge", &[3, 3], &edge).bytes(), "from label 1 to label 2");
        refused(&small().f32("start", &[3], &[0.0, bad, 0.0]).bytes(), word);
        refused(&small().f32("end", &[3], &[0.0, bad, 0.0]).bytes(), word);
        let steps = small().f32("edge", &[1, 3, 3], &edge);
        refused(&steps.bytes(), word);
    }
}

#[test]
fn wrong_shapes_and_types() {
    refused(&small().f32("node", &[6], &[0.0; 6]).bytes(), "expected shape (T, L) or (B, T, L), got (6,)");
    refused(&small().f32("node", &[], &[0.0]).bytes(), "`node`");
    refused(&small().f32("node", &[2, 0], &[]).bytes(), "labels");
    refused(&small().f32("edge", &[3, 2], &[0.0; 6]).bytes(), "got shape (3, 2)");
    refused(&small().f32("edge", &[2, 3, 3], &[0.0; 18]).bytes(), "(1, 3, 3)");
    refused(&small().f32("start", &[2], &[0.0; 2]).bytes(), "`start`");
    refused(&small().f32("allowed", &[2, 3], &[0.0; 6]).bytes(), "expected bool, got f32");
    refused(&small().bools("allowed", &[3, 2], &[true; 6]).bytes(), "`allowed`");
    refused(&small().bools("node", &[2, 3], &[true; 6]).bytes(), "expected numbers, got bool");
    refused(&small().f32("order", &[3], &[0.0, 1.0, 2.0]).bytes(), "expected integers");
    refused(&small().i64("order", &[3], &[0, 1, 1]).bytes(), "each label once");
    refused(&small().i64("order", &[3], &[0, 1, 3]).bytes(), "from 0 to 2, got 3");
    for lengths in [&[-1][..], &[3], &[i64::MIN], &[i64::MAX]] {
        refused(&small().i64("lengths", &[1], lengths).bytes(), "expected integers from 0 to 2");
    }
    refused(&small().i64("lengths", &[2], &[1, 1]).bytes(), "`lengths`");
    refused(&small().f32("lengths", &[1], &[1.0]).bytes(), "expected integers");
    for dtype in ["|O", "<c8", "<U3", "<M8[ns]", "f4,f4", "é"] {
        refused(&small().raw("node", npy(dtype, false, &[2, 3], &[0; 24])).bytes(), "dtype");
    }
    refused(&small().i64("node", &[2, 3], &[i64::MAX; 6]).bytes(), "exactly");
}

#[test]
fn keys_that_do_not_fit_together() {
    refused(&small().without("node").bytes(), "missing key `node`");
    refused(&small().without("edge").bytes(), "missing edge scores");
    refused(
        &small().f32("nodes", &[1], &[0.0]).bytes(),
        "unknown key `nodes`: expected one of node, lengths,",
    );
    refused(&small().f32("a\nb", &[1], &[0.0]).bytes(), "unknown key");
    refused(&small().f32("edge_base", &[], &[0.0]).bytes(), "got both");
    let sparse = Npz::new()
        .f32("node", &[2, 3], &[0.0; 6])
        .f32("edge_base", &[], &[0.0])
        .i64("edge_from", &[1], &[0])
        .i64("edge_to", &[1], &[0])
        .f32("edge_value", &[1], &[0.0]);
    assert_eq!(decode_bytes(&sparse.bytes(), &[]).0, 0);
    for key in ["edge_base", "edge_from", "edge_to", "edge_value"] {
        refused(&sparse.clone().without(key).bytes(), &format!("missing key `{key}`"));
    }
    refused(&sparse.clone().i64("edge_from", &[1], &[3]).bytes(), "from 0 to 2, got 3");
    refused(&sparse.clone().i64("edge_to", &[1], &[-1]).bytes(), "got -1");
    refused(&sparse.clone().i64("edge_to", &[2], &[0, 1]).bytes(), "`edge_to`");
    refused(&sparse.clone().f32("edge_base", &[2], &[0.0; 2]).bytes(), "scalar");
    refused(&sparse.clone().f32("edge_base", &[], &[f32::NAN]).bytes(), "NaN");
    let classes = sparse
        .clone()
        .without("edge_base")
        .i64("edge_class_from", &[3], &[0, 0, 1])
        .i64("edge_class_to", &[3], &[0, 0, 0])
        .f32("edge_class_base", &[2, 1], &[0.0, 1.0]);
    assert_eq!(decode_bytes(&classes.bytes(), &[]).0, 0);
    for key in ["edge_class_from", "edge_class_to", "edge_class_base", "edge_to"] {
        refused(&classes.clone().without(key).bytes(), &format!("missing key `{key}`"));
    }
    refused(&classes.clone().f32("edge_base", &[], &[0.0]).bytes(), "got both `edge_base`");
    refused(&classes.clone().f32("edge", &[3, 3], &[0.0; 9]).bytes(), "got both `edge`");
    refused(&classes.clone().i64("edge_class_from", &[3], &[0, 0, 2]).bytes(), "from 0 to 1, got 2");
    refused(&classes.clone().i64("edge_class_to", &[2], &[0, 0]).bytes(), "`edge_class_to`");
    refused(&classes.clone().f32("edge_class_base", &[2], &[0.0, 0.0]).bytes(), "(C, D)");
    refused(&classes.clone().f32("edge_class_base", &[0, 1], &[]).bytes(), "(C, D)");
    refused(&classes.f32("edge_class_base", &[2, 1], &[0.0, f32::INFINITY]).bytes(), "class 1 to class 0");
    let twice = sparse.i64("edge_from", &[2], &[0, 0]).i64("edge_to", &[2], &[1, 1]);
    refused(&twice.f32("edge_value", &[2], &[0.0; 2]).bytes(), "twice");
}
