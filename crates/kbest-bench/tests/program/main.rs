//! `kbest-bench`, run as a program.
#![allow(clippy::unwrap_used)] // tests may panic

mod families;
mod papers;

/// Runs it: exit code, stdout, stderr.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = assert_cmd::Command::cargo_bin("kbest-bench").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}
