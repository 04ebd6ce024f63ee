//! The commands of the documentation run: each recipe of the cookbook, and the page on scores of networks.

#![cfg(unix)] // they are written for a shell

use std::path::Path;
use std::process::Command;

/// The shell commands of a page, section by section, with the sections' headings.
fn sections(page: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(path).unwrap();
    let mut sections = vec![("(beginning)".to_owned(), String::new())];
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => sections.last_mut().unwrap().1 += &format!("{line}\n"),
            _ if line.starts_with("## ") => sections.push((line.to_owned(), String::new())),
            _ => {}
        }
    }
    sections
}

/// Runs commands in an empty folder, where `kbest` is the program under test; all must succeed, and nothing may be warned of.
fn run(heading: &str, commands: &str) {
    let folder = tempfile::tempdir().unwrap();
    let binary = assert_cmd::cargo::cargo_bin("kbest");
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let script = format!("set -e\n{commands}");
    let output = Command::new("sh")
        .args(["-c", &script])
        .env("PATH", path)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("warning"), "{heading}\n{commands}\n{stderr}");
}

#[test]
fn every_recipe_works() {
    let sections = sections("cookbook.md");
    let (first, recipes) = sections.split_first().unwrap();
    assert_eq!(recipes.len(), 10);
    for (number, (heading, commands)) in recipes.iter().enumerate() {
        assert!(heading.starts_with(&format!("## {}. ", number + 1)), "{heading}");
        assert!(commands.contains("kbest "), "{heading}");
        run(heading, &format!("{}{commands}", first.1));
    }
}

#[test]
fn the_page_on_networks_works() {
    let all: Vec<(String, String)> =
        sections("network-scores.md").into_iter().filter(|(_, commands)| !commands.is_empty()).collect();
    assert_eq!(all.len(), 1);
    all.iter().for_each(|(heading, commands)| run(heading, commands));
}
