//! The papers' experiments: a quick run of all of them, what is kept between runs, missing data, and README's table.
#![allow(missing_docs, clippy::unwrap_used)] // tests may panic

mod common;

use common::kbest;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn run(arguments: &[&str]) -> (i32, String) {
    let output = kbest().args(["bench", "papers"]).args(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}

const IDS: [&str; 18] = [
    "carpediem-2",
    "carpediem-456",
    "carpediem-7",
    "carpediem-vbs",
    "carpediem-astar",
    "carpediem-trace",
    "kaji-1",
    "kaji-2",
    "kaji-3",
    "kaji-4",
    "huang-3",
    "huang-4",
    "huang-5",
    "huang-fig4",
    "dual-1",
    "druck-1",
    "druck-fig2",
    "druck-bounds",
];

/// Every experiment, on generated data, with no folder; then again from what was kept.
#[test]
fn a_quick_run_needs_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let (code, stderr) = run(&["--quick", "--out", out]);
    assert_eq!(code, 0, "{stderr}");
    let (report, page) = (text(folder.path(), "report.md"), text(folder.path(), "report.html"));
    let results: Value = serde_json::from_str(&text(folder.path(), "results.json")).unwrap();
    let experiments = results["experiments"].as_array().unwrap();
    assert_eq!(experiments.iter().map(|one| one["id"].as_str().unwrap()).collect::<Vec<_>>(), IDS);
    for experiment in experiments {
        let id = experiment["id"].as_str().unwrap();
        assert!(
            report.contains(&format!("`{id}`")) && page.contains(&format!("<section id=\"{id}\">")),
            "{id}"
        );
        let shown =
            experiment["tables"].as_array().unwrap().len() + experiment["figures"].as_array().unwrap().len();
        assert!(shown > 0, "{id} shows something");
        assert!(!experiment["findings"].as_array().unwrap().is_empty(), "{id} finds something");
        for figure in experiment["figures"].as_array().unwrap() {
            let svg = text(folder.path(), &format!("{}.svg", figure["name"].as_str().unwrap()));
            assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{id}");
            assert!(page.contains(svg.trim_end()), "{id}: the page has its picture inside");
        }
    }
    // Self-contained: nothing is loaded from elsewhere.
    for part in ["src=", "<link", "<script", "url(", "@import"] {
        assert!(!page.contains(part), "{part}");
    }
    assert!(
        page.contains("prefers-color-scheme:dark")
            && page.contains("@media print")
            && page.contains("viewport")
    );
    assert_eq!(page.matches("<table").count(), page.matches("</table>").count());

    // Kept: the second run measures nothing, so all numbers are the same; a lost step is measured again.
    std::fs::remove_file(folder.path().join("steps/dual-letters.json")).unwrap();
    let (code, stderr) = run(&["--quick", "--out", out, "--resume"]);
    assert_eq!(code, 0, "{stderr}");
    let again: Value = serde_json::from_str(&text(folder.path(), "results.json")).unwrap();
    for (key, step) in results["steps"].as_object().unwrap() {
        assert!(key == "dual-letters" || again["steps"][key] == *step, "{key}");
    }
    assert!(folder.path().join("steps/dual-letters.json").exists());
}

/// What is not in the folder is named, and the rest runs; measurements of other data are not mixed in.
#[test]
fn missing_data_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("ewt-pos")).unwrap();
    let file = |part: &str| data.join("ewt-pos").join(part).to_str().unwrap().to_owned();
    let corpus = ["generate", "corpus", "--labels", "12", "--sentences", "40"];
    let made =
        kbest().args(corpus).args(["-o", &file("train.tsv"), "--test", &file("test.tsv")]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let out = folder.path().join("out");
    let (data, out) = (data.to_str().unwrap(), out.to_str().unwrap());
    let (code, stderr) = run(&["--data", data, "--out", out, "--quick", "--only", "kaji-2,carpediem-7"]);
    assert_eq!(code, 0, "{stderr}");
    let report = text(Path::new(out), "report.md");
    assert!(report.contains("conll2000-joint: not in the data folder"), "{report}");
    assert!(
        report.contains("bach-harmony: not in the data folder") && report.contains("| SD | ewt-pos |"),
        "{report}"
    );
    assert!(!report.contains("huang-4"));
    let (code, stderr) = run(&["--quick", "--out", out, "--only", "kaji-2", "--resume"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("--resume: expected"), "{stderr}");
}

#[test]
fn wrong_options_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for (arguments, part) in [
        (vec!["--out", out], "--data: expected a folder"),
        (vec!["--out", out, "--quick", "--only", "huang-9"], "--only: expected one of carpediem-2"),
        (vec!["--out", out, "--data", "/nowhere"], "expected a folder of data sets, got none"),
    ] {
        let (code, stderr) = run(&arguments);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
}

/// README's table of speeds is the one that the committed results give.
#[test]
fn speeds_in_the_readme_are_those_of_the_report() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("scripts/publish_papers.py");
    let output = Command::new("python3").arg(script).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
