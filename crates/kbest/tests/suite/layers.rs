//! `ARCHITECTURE.md` is correct: modules use only what its table of layers allows, the table names every module, crates
//! above the library use its public interface, and `unsafe` stays where it says.
//!
//! The rules are read from the table itself, so that it cannot go stale. Unit tests (from `#[cfg(test)]` to the end of
//! a file, and files named `tests.rs`) may use what they like; comments do not count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The table's rule for one module.
#[derive(Debug, Clone, PartialEq)]
struct Rule {
    layer: usize,
    /// Modules of lower layers that it must nevertheless not use.
    but_not: Vec<String>,
}

/// Words in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(String::from).collect()
}

/// The crates whose modules have a table of layers.
const LAYERED: [&str; 2] = ["kbest-core", "kbest"];

/// The rules of a crate, by module: its table under `## Layers`.
fn rules(krate: &str) -> BTreeMap<String, Rule> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split("\n## Layers\n").nth(1).expect("a section `## Layers`");
    let table = section.split(&format!("\n`{krate}`:\n")).nth(1).expect("a table for the crate");
    let rows =
        table.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let mut rules = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let Ok(layer) = cells[0].parse() else { continue }; // the head of the table
        let but_not = cells.get(3).map(|cell| quoted(cell)).unwrap_or_default();
        for module in quoted(cells[1]) {
            let rule = Rule { layer, but_not: but_not.clone() };
            assert!(rules.insert(module.clone(), rule).is_none(), "`{module}` is listed twice in the table");
        }
    }
    rules
}

/// All sources below a folder, with their paths from it.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let (mut found, mut folders) = (vec![], vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((
                    path.strip_prefix(folder).unwrap().to_path_buf(),
                    fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    found.sort();
    found
}

/// A source without comments and unit tests.
fn code(path: &Path, text: &str) -> String {
    if path.ends_with("tests.rs") {
        return String::new();
    }
    let before_tests = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let lines = before_tests.map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The names that follow a path prefix: one, or the first ones of each member of a group in braces.
fn names_after(text: &str) -> Vec<String> {
    let Some(group) = text.strip_prefix('{') else { return vec![identifier(text).into()] };
    let (mut names, mut depth, mut start) = (vec![], 1, true);
    for (i, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => start = true,
            c if depth == 1 && start && !c.is_whitespace() => {
                names.push(identifier(&group[i..]).into());
                start = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

/// Top-level modules that a source names, by `crate::` or by as many `super::` as lead there.
fn used(path: &Path, code: &str) -> Vec<String> {
    let folders = path.components().count() - 1;
    let depth = if path.ends_with("mod.rs") { folders } else { folders + 1 };
    let mut names = vec![];
    for (i, _) in code.match_indices("crate::") {
        names.extend(names_after(&code[i + "crate::".len()..]));
    }
    let up = "super::".repeat(depth);
    for (i, _) in code.match_indices(&up) {
        if !code[..i].ends_with("::") {
            names.extend(names_after(&code[i + up.len()..]));
        }
    }
    names
}

#[test]
fn modules_use_only_lower_layers() {
    let mut seen = 0;
    for krate in LAYERED {
        seen += check_modules(krate);
    }
    assert!(seen > 50, "only {seen} uses were found: this test no longer reads the sources correctly");
}

/// Checks every use of a module by another one of its crate, and counts them.
fn check_modules(krate: &str) -> usize {
    let rules = rules(krate);
    let mut seen = 0;
    for (path, text) in sources(&root().join("crates").join(krate).join("src")) {
        let module = path.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue; // re-exports everything
        }
        let rule = rules.get(module).unwrap_or_else(|| panic!("ARCHITECTURE.md has no layer for `{module}`"));
        for name in used(&path, &code(&path, &text)) {
            let Some(other) = rules.get(&name) else { continue }; // a macro, or an item of `lib.rs`
            seen += 1;
            let allowed = name == module || (other.layer < rule.layer && !rule.but_not.contains(&name));
            assert!(
                allowed,
                "{}: `{module}` (layer {}) must not use `{name}` (layer {}); see ARCHITECTURE.md",
                path.display(),
                rule.layer,
                other.layer
            );
        }
    }
    seen
}

#[test]
fn the_tables_name_every_module_and_no_other() {
    for krate in LAYERED {
        let front = fs::read_to_string(root().join("crates").join(krate).join("src/lib.rs")).unwrap();
        let declared = front.lines().filter_map(|line| {
            let line = line.trim().trim_start_matches("pub ").strip_prefix("mod ")?;
            line.strip_suffix(';').map(String::from)
        });
        let mut declared: Vec<String> = declared.collect();
        declared.sort();
        let listed: Vec<String> = rules(krate).into_keys().collect();
        assert_eq!(declared, listed, "{krate}: modules of lib.rs (left), and of ARCHITECTURE.md (right)");
    }
}

#[test]
fn unsafe_stays_in_the_kernels() {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    // One file of the bindings takes tables over the C data interface: docs/decisions/0014-arrow-capsules.md.
    let crates = [
        ("crates/kbest-core/src", "simd"),
        ("crates/kbest/src", "memory"),
        ("crates/kbest-bench/src", "nowhere"),
        ("crates/kbest-cli/src", "nowhere"),
        ("crates/kbest-py/src", "arrow/capsule.rs"),
    ];
    for (krate, place) in crates {
        for (path, text) in sources(&root().join(krate)) {
            if path.starts_with(place) {
                continue;
            }
            for (number, line) in code(&path, &text).lines().enumerate() {
                let found = line.split(|c| !is_word(c)).any(|word| word == "unsafe" || word == "unsafe_code");
                assert!(!found, "{krate}/{}:{}: `unsafe` outside {place}", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn the_reader_of_sources_reads() {
    let file = Path::new("decode/funnel/search.rs");
    let text = "use crate::{error::{A, B}, kernel};\nuse super::super::super::lattice::X; // crate::marginal\n\
                use super::super::x; #[cfg(test)]\n";
    assert_eq!(used(file, &code(file, text)), ["error", "kernel", "lattice"]);
    assert_eq!(used(Path::new("score.rs"), "super::decode::Path"), ["decode"]);
    assert_eq!(
        used(Path::new("decode/mod.rs"), "use super::{marginal, lattice as l};"),
        ["marginal", "lattice"]
    );
    assert_eq!(code(file, "a\n    #[cfg(test)]\nmod tests {}"), "a");
}
