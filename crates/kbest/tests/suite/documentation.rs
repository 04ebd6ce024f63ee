//! The documents are complete: every decoder has a row in the README and in the index, and a page; the README's example
//! is the one that is tested in `lib.rs`; and no link is broken.

use kbest::decode::{Lattices, catalogue};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_decoder_has_a_row_and_a_page() {
    for (document, folder) in [("README.md", "docs/decoders/"), ("docs/decoders/README.md", "")] {
        let text = read(document);
        for entry in catalogue(Lattices::Positions) {
            let start = format!("| [`{}`]({folder}{}.md) |", entry.name, entry.page);
            assert!(text.lines().any(|line| line.starts_with(&start)), "{document} has no row `{start}`");
        }
    }
    let front = read("crates/kbest-core/src/lib.rs");
    let rows: String = front.lines().filter(|line| line.starts_with("//! | [")).collect();
    for entry in catalogue(Lattices::Positions) {
        assert!(
            rows.contains(&format!("`{}`", entry.name)),
            "lib.rs of kbest-core has no row for `{}`",
            entry.name
        );
    }
}

#[test]
fn the_readme_shows_the_tested_example() {
    let front = read("crates/kbest/src/lib.rs");
    let comments: Vec<&str> = front.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let tested: Vec<&str> = comments
        .iter()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .skip_while(|line| *line != "```")
        .skip(1)
        .take_while(|line| *line != "```")
        .filter(|line| !line.starts_with("# "))
        .collect();
    let readme = read("README.md");
    let shown: Vec<&str> = readme
        .lines()
        .skip_while(|line| *line != "```rust")
        .skip(1)
        .take_while(|line| *line != "```")
        .collect();
    assert!(tested.len() > 5, "no example in lib.rs");
    assert_eq!(shown, tested);
}

#[test]
fn links_lead_somewhere() {
    let mut documents: Vec<PathBuf> =
        ["", "docs", "docs/decoders", "docs/decisions", "docs/formats", "docs/papers"]
            .iter()
            .flat_map(|folder| {
                fs::read_dir(root().join(folder)).into_iter().flatten().map(|entry| entry.unwrap().path())
            })
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .collect();
    documents.sort();
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            // Measurements are recorded where they were made; the folder may be absent from a copy of the sources.
            if file.is_empty() || file.contains("://") || file.contains("benchmarks/") {
                continue;
            }
            assert!(document.parent().unwrap().join(file).exists(), "{}: {link}", document.display());
        }
    }
}
