//! Mutations of lattices in files of arrays, and past finds: answers or errors, never a panic. The fuzzer itself is in `fuzz/`.

use crate::common::{Npz, f32s, kbest, npy, safetensors_with_header};
use std::path::{Path, PathBuf};

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Files to begin with, and the target that reads them.
fn seeds() -> [(&'static str, Vec<u8>); 4] {
    let npz = || {
        Npz::new()
            .f32("node", &[2, 3, 2], &[1.0, 2.0, 0.5, -1.0, 0.0, 3.0, 1.0, 1.0, 2.0, 2.0, 0.0, -4.0])
            .f32("edge", &[2, 2], &[0.0, 1.0, -1.0, f32::NEG_INFINITY])
            .i64("lengths", &[2], &[3, 1])
            .bools("allowed", &[3, 2], &[true; 6])
    };
    let header = r#"{"edge":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"node":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]}}"#;
    [
        ("npz", npz().bytes()),
        ("npz", npz().compressed().bytes()),
        ("npy", npy("<f4", false, &[3, 2], &f32s(&[1.0, 2.0, 0.5, -1.0, 0.0, 3.0]))),
        ("safetensors", safetensors_with_header(header, &f32s(&[0.0, 1.0, -1.0, 0.0, 1.0, 2.0]))),
    ]
}

fn is_harmless(bytes: &[u8], what: &str) {
    let output = kbest().args(["decode", "-k", "2"]).write_stdin(bytes).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0..=2)), "{what}: {:?} {stderr}", output.status);
    assert!(!stderr.contains("panicked"), "{what}: {stderr}");
}

#[test]
fn mutations_are_answered_or_refused() {
    let mut state = 1u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n
    };
    for (_, seed) in seeds() {
        is_harmless(&seed, "seed");
        for round in 0..60 {
            let mut bytes = seed.clone();
            for _ in 0..1 + below(3) {
                let at = below(bytes.len());
                match below(3) {
                    0 => bytes[at] ^= 1 << below(8),
                    1 => bytes[at] = [0, 0xff, 0x7f, b'9'][below(4)],
                    _ => bytes.truncate(at.max(4)),
                }
            }
            is_harmless(&bytes, &format!("round {round}"));
        }
    }
}

#[test]
fn past_finds_do_no_harm() {
    for name in ["npz", "npy", "safetensors"] {
        for file in std::fs::read_dir(fuzz_folder().join("finds").join(name)).into_iter().flatten() {
            let path = file.unwrap().path();
            is_harmless(&std::fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
}

#[test]
#[ignore = "writes the corpus that `make fuzz` begins with"]
fn write_seeds() {
    for (i, (target, seed)) in seeds().iter().enumerate() {
        let folder = fuzz_folder().join("corpus").join(target);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("seed-{i}")), seed).unwrap();
    }
}
