//! Lattices in files of arrays: `.npz`, `.npy`, `.safetensors`.

use kbest_cli::input::{AnyBatch, Input};
use std::path::PathBuf;

/// Reads the bytes as a file of this ending, and makes the lattices it describes.
pub fn read(data: &[u8], ending: &str) {
    let folder = if cfg!(target_os = "linux") { "/dev/shm".into() } else { std::env::temp_dir() };
    let path: PathBuf = folder.join(format!("kbest-fuzz-{}.{ending}", std::process::id()));
    std::fs::write(&path, data).expect("the folder of temporary files can be written to");
    let input = Input { file: Some(path), edges: None, dtype: None };
    match input.read() {
        Ok(AnyBatch::Single(batch)) => drop(batch.lattices()),
        Ok(AnyBatch::Double(batch)) => drop(batch.lattices()),
        Err(_) => {}
    }
}
