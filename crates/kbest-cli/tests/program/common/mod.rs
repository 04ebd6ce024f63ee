//! Writes `.npz` files, good and bad, and runs the binary.
#![allow(unreachable_pub)] // a module of tests

use assert_cmd::Command;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The binary.
pub fn kbest() -> Command {
    Command::cargo_bin("kbest").expect("the binary is built with the tests")
}

/// An `.npy` array with any header.
pub fn npy(description: &str, fortran: bool, shape: &[u64], elements: &[u8]) -> Vec<u8> {
    let shape: String = shape.iter().map(|extent| format!("{extent}, ")).collect();
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{description}', 'fortran_order': {fortran}, 'shape': ({shape}), }}\n");
    npy_with_header(&text, elements)
}

pub fn npy_with_header(text: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(elements);
    bytes
}

/// A `.safetensors` file with any header.
pub fn safetensors_with_header(text: &str, elements: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes(), elements].concat()
}

pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// An `.npz` under construction.
#[derive(Clone, Default)]
pub struct Npz {
    entries: Vec<(String, Vec<u8>)>,
    compress: bool,
}

impl Npz {
    pub fn new() -> Self {
        Self::default()
    }
    pub fn compressed(mut self) -> Self {
        self.compress = true;
        self
    }
    /// Any bytes under any key; replaces the key.
    pub fn raw(mut self, key: &str, bytes: Vec<u8>) -> Self {
        self = self.without(key);
        self.entries.push((key.into(), bytes));
        self
    }
    pub fn without(mut self, key: &str) -> Self {
        self.entries.retain(|(other, _)| other != key);
        self
    }
    pub fn f32(self, key: &str, shape: &[u64], values: &[f32]) -> Self {
        self.raw(key, npy("<f4", false, shape, &f32s(values)))
    }
    pub fn f64(self, key: &str, shape: &[u64], values: &[f64]) -> Self {
        self.raw(key, npy("<f8", false, shape, &f64s(values)))
    }
    pub fn i64(self, key: &str, shape: &[u64], values: &[i64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.raw(key, npy("<i8", false, shape, &bytes))
    }
    pub fn bools(self, key: &str, shape: &[u64], values: &[bool]) -> Self {
        let bytes: Vec<u8> = values.iter().map(|&value| u8::from(value)).collect();
        self.raw(key, npy("|b1", false, shape, &bytes))
    }
    pub fn bytes(&self) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(vec![]));
        let method = if self.compress { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let options = SimpleFileOptions::default().compression_method(method);
        for (key, bytes) in &self.entries {
            archive.start_file(format!("{key}.npy"), options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, self.bytes()).unwrap();
        path
    }
}

/// Two positions, three labels; the best path is [2, 0] with score 3 + 0.5 + 1.
pub fn small() -> Npz {
    Npz::new().f32("node", &[2, 3], &[1.0, 0.0, 3.0, 1.0, 1.0, 0.25]).f32(
        "edge",
        &[3, 3],
        &[0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.25, -1.0],
    )
}

/// Decodes bytes from stdin: exit code, stdout, stderr.
pub fn decode_bytes(bytes: &[u8], more: &[&str]) -> (i32, String, String) {
    let mut command = kbest();
    command.args(["decode", "--decoder", "viterbi"]).args(more).write_stdin(bytes);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
}

/// Labels and score of the best path of each line.
pub fn best_paths(stdout: &str) -> Vec<(Vec<u64>, f64)> {
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = &line["paths"][0];
        let labels = path["labels"].as_array().unwrap().iter().map(|y| y.as_u64().unwrap()).collect();
        (labels, path["score"].as_f64().unwrap())
    };
    stdout.lines().map(line).collect()
}

/// A folder of files, and the binary run in it.
pub struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    pub fn new() -> Self {
        Workshop { folder: tempfile::tempdir().unwrap() }
    }
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
    /// Exit code, stdout and stderr of a command, its words separated by blanks.
    pub fn run_with(&self, command: &str, stdin: &str) -> (i32, String, String) {
        let mut program = kbest();
        program.args(command.split_whitespace()).current_dir(self.folder.path()).write_stdin(stdin);
        let output = program.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code().expect("no signal"), text(output.stdout), text(output.stderr))
    }
    pub fn run(&self, command: &str) -> (i32, String, String) {
        self.run_with(command, "")
    }
    /// Stdout of a command that must succeed without a warning.
    pub fn stdout(&self, command: &str) -> String {
        let (code, stdout, stderr) = self.run(command);
        assert_eq!((code, stderr.contains("warning")), (0, false), "kbest {command}: {stderr}");
        stdout
    }
    /// The message of a command that must fail with exit code 2.
    pub fn refusal(&self, command: &str, stdin: &str) -> String {
        let (code, stdout, stderr) = self.run_with(command, stdin);
        assert_eq!((code, stdout.as_str()), (2, ""), "kbest {command}: {stderr}");
        stderr
    }
    /// The warning of a command that must succeed.
    pub fn warning(&self, command: &str, stdin: &str) -> String {
        let (code, _, stderr) = self.run_with(command, stdin);
        assert_eq!(code, 0, "kbest {command}: {stderr}");
        assert_eq!(stderr.matches("kbest: warning: ").count(), 1, "kbest {command}: {stderr}");
        stderr
    }
}
