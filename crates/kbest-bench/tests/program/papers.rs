//! The papers' experiments: a quick run of all of them, what is kept between runs, missing data, and README's table.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn run(arguments: &[&str]) -> (i32, String) {
    let (code, _, stderr) = super::run(&[&["papers"], arguments].concat());
    (code, stderr)
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
    write(&data, "ewt-pos", &small_text(), &small_text());
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

fn small_text() -> String {
    "a\tX\nb\tY\n\nb\tY\na\tX\na\tX\n\n".repeat(3)
}

fn write(folder: &Path, task: &str, train: &str, test: &str) {
    std::fs::create_dir_all(folder.join(task)).unwrap();
    std::fs::write(folder.join(task).join("train.tsv"), train).unwrap();
    std::fs::write(folder.join(task).join("test.tsv"), test).unwrap();
}

/// Changed data are measured again, and only those; files of others in the folder stay.
#[test]
fn changed_data_are_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("out"));
    let text = small_text();
    for task in ["ewt-pos", "conll2000-joint"] {
        write(&data, task, &text, &text);
    }
    std::fs::create_dir_all(out.join("steps")).unwrap();
    for mine in ["mine.txt", "steps/mine.json", "steps/mine.kbest"] {
        std::fs::write(out.join(mine), "mine").unwrap();
    }
    let arguments = ["--data", data.to_str().unwrap(), "--out", out.to_str().unwrap(), "--quick", "--only"];
    let run = |more: &[&str]| run(&[&arguments[..], more].concat());
    let step = |task: &str| std::fs::read(out.join(format!("steps/decode-{task}-k1.json"))).unwrap();
    let (code, stderr) = run(&["kaji-2"]);
    assert_eq!(code, 0, "{stderr}");
    let (first, other, model) =
        (step("ewt-pos"), step("conll2000-joint"), std::fs::read(out.join("steps/ewt-pos.kbest")).unwrap());
    // Nothing has changed: nothing is measured, and nothing is said.
    let (code, stderr) = run(&["kaji-2", "--resume"]);
    assert_eq!((code, step("ewt-pos") == first, stderr.contains("changed")), (0, true, false), "{stderr}");
    // The same size, and the same time: what is inside counts.
    let file = data.join("ewt-pos/train.tsv");
    let time = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::write(&file, text.replace("b\tY", "c\tX")).unwrap();
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    let (code, stderr) = run(&["kaji-2", "--resume"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("the data of ewt-pos have changed: measuring again"), "{stderr}");
    assert!(!stderr.contains("conll2000-joint have changed"), "{stderr}");
    assert!(step("ewt-pos") != first && step("conll2000-joint") == other);
    assert!(std::fs::read(out.join("steps/ewt-pos.kbest")).unwrap() != model, "trained again");
    // Started again: all that was measured goes, and nothing else.
    let (code, stderr) = run(&["kaji-3"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(!out.join("steps/decode-ewt-pos-k1.json").exists());
    for mine in ["mine.txt", "steps/mine.json", "steps/mine.kbest"] {
        assert_eq!(std::fs::read_to_string(out.join(mine)).unwrap(), "mine");
    }
    // Settings of another version are not taken for these.
    std::fs::write(out.join("steps/settings.json"), "{}").unwrap();
    let (code, stderr) = run(&["kaji-3", "--resume"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("--resume: expected measurements of the same version"), "{stderr}");
    assert_eq!(run(&["kaji-3"]).0, 0);
}

/// Data sets that are too small, or not what they should be, are named with the reason, and the rest runs.
#[test]
fn small_and_damaged_data_do_not_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("data"), folder.path().join("out"));
    let one = "Main\tStreet\n\n";
    write(&data, "usaddress", one, one);
    write(&data, "citations", "a\tX\nb\tY\n\na\tX\n\nb\tY\na\tX\n\n", "a\tX\nb\tY\n\n");
    write(&data, "ewt-pos", one, one);
    let letter = "1\t".repeat(16);
    write(&data, "letters", &format!("{letter}A\n{letter}B\n\n"), &format!("{letter}A\n\n"));
    write(&data, "bach-harmony", "x\t1\t0\tC_M\n\n", "x\t1\t0\tC_M\n\n");
    let line = "0\t".repeat(23);
    write(&data, "doclines", &format!("{line}1\thead\n{line}x\ttext\n\n"), &format!("{line}1\thead\n\n"));
    write(&data, "conll2000", "", one);
    let (code, stderr) = run(&["--data", data.to_str().unwrap(), "--out", out.to_str().unwrap(), "--quick"]);
    assert_eq!(code, 0, "{stderr}");
    let report = text(&out, "report.md");
    for part in [
        "usaddress: skipped: ",
        "bach-harmony: skipped: ",
        "bach-harmony/train.tsv:1: ",
        "17 columns",
        "doclines/train.tsv:2: column 24: expected a number from 0 to 255, got `x`",
        "conll2000/train.tsv: ",
        "conll2000-joint: not in the data folder",
        "| SD | ewt-pos |",
        "| letters |",
    ] {
        assert!(report.contains(part), "{part}\n{stderr}\n{report}");
    }
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
