//! The layers of the library: a module may use those below it and no others. Reads the `use crate::` lines.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::fs;
use std::path::Path;

/// Each module, with the modules it may use besides itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("score", &[]),
    ("intern", &[]),
    ("label", &["intern"]),
    ("sequence", &["error"]),
    ("kernel", &["error", "score"]),
    ("columns", &["error", "sequence"]),
    ("template", &["error", "sequence"]),
    ("lattice", &["error", "score", "label", "kernel"]),
    (
        "feature",
        &["error", "score", "label", "intern", "kernel", "lattice", "sequence", "columns", "template"],
    ),
    ("decode", &["error", "score", "label", "kernel", "lattice"]),
    ("marginal", &["error", "score", "label", "kernel", "lattice"]),
];

fn check(file: &Path, module: &str, allowed: &[&str], wrong: &mut Vec<String>) {
    let text = fs::read_to_string(file).unwrap();
    // What a test uses does not bind the library.
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    for (line, rest) in
        lines.flat_map(|line| line.match_indices("crate::").map(move |(at, _)| (line, &line[at + 7..])))
    {
        let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let known = LAYERS.iter().any(|(name, _)| *name == used);
        if known && used != module && !allowed.contains(&used.as_str()) {
            wrong.push(format!("{}: {}", file.display(), line.trim()));
        }
    }
}

fn walk(folder: &Path, module: &str, allowed: &[&str], wrong: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, module, allowed, wrong);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            check(&path, module, allowed, wrong);
        }
    }
}

#[test]
fn modules_use_only_what_lies_below() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            panic!("module `{module}` has no layer: say in LAYERS what it may use");
        };
        if path.is_dir() {
            walk(&path, &module, allowed, &mut wrong);
        } else {
            check(&path, &module, allowed, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "upward uses:\n{}", wrong.join("\n"));
}
