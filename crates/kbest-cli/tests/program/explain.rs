//! `kbest explain`: the same answers as `decode` and `tag`, terms that add up for every kind of model, text that stays text.
//! What the pages show is tested in a browser (`scripts/test_pages.sh`).

use crate::common::{kbest, small};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const TRAIN: &str = "time\tNOUN|s\nflies\tVERB|s\nlike\tADP\nan\tDET|s\narrow\tNOUN|s\n\n\
                     fruit\tNOUN|p\nflies\tNOUN|p\nlike\tVERB|p\nbananas\tNOUN|p\n\n\
                     time\tVERB|s\nflies\tNOUN|p\n\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write("train.tsv", TRAIN);
        folder.write("test.tsv", "fruit\nflies\nlike\ntime\n\ntime\nflies\n\n");
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = kbest().current_dir(self.0.path()).args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(arguments);
        assert_eq!(code, 0, "{arguments:?}: {stderr}");
        stdout
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.succeed(&[&["explain", "--json"], arguments].concat())).unwrap()
    }

    fn refuse(&self, arguments: &[&str], code: i32, expected: &str) {
        let (got, stdout, stderr) = self.run(&[&["explain"], arguments].concat());
        assert_eq!((got, stdout.as_str()), (code, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected) && stderr.lines().count() == 1, "{arguments:?}: {stderr}");
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The terms of every position add up to the lead of the best path, and the lead to the difference of the scores.
fn adds_up(report: &Value) -> usize {
    let best = report["paths"][0]["score"].as_f64().unwrap();
    let mut checked = 0;
    for why in list(&report["columns"]).iter().map(|column| &column["why"]).filter(|why| !why.is_null()) {
        let number = |value: &Value| value.as_f64().unwrap();
        let terms = list(&why["terms"]);
        let sum: f64 = terms.iter().map(|term| number(&term[3]) - number(&term[4])).sum();
        let size: f64 = terms.iter().map(|term| number(&term[3]).abs() + number(&term[4]).abs()).sum();
        let (sum, lead) = (sum + number(&why["others_lead"]), number(&why["lead"]));
        assert!((sum - lead).abs() <= 1e-5 * (1.0 + size), "{sum} is not {lead}: {why}");
        assert!((best - number(&why["rival_score"]) - lead).abs() <= 1e-5 * (1.0 + best.abs()), "{why}");
        assert!(lead >= 0.0, "nothing is better than the best: {why}");
        checked += 1;
    }
    checked
}

#[test]
fn every_kind_of_model_is_explained() {
    let folder = Folder::new();
    for (number, (options, kind)) in [
        (&[][..], "feature"),
        (&["--features", "morphology"], "label part"),
        (&["--algorithm", "crf"], "edge"),
        (&["--algorithm", "hmm"], "end"),
        (&["--algorithm", "dual", "--kernel", "poly:2"], "support token"),
        (&["--algorithm", "semi"], "segment"),
    ]
    .into_iter()
    .enumerate()
    {
        let model = &*format!("{number}.kbest");
        folder.succeed(&[&["train", "train.tsv", "-m", model], options].concat());
        let mut kinds = String::new();
        for sequence in ["1", "2"] {
            let report = folder.json(&["-m", model, "test.tsv", "--sequence", sequence, "--top", "40"]);
            assert!(adds_up(&report) > 0, "{options:?}");
            kinds += &report["columns"].to_string();
            let few = folder.json(&["-m", model, "test.tsv", "--sequence", sequence, "--top", "1"]);
            assert_eq!(adds_up(&few), adds_up(&report), "{options:?}: what is not listed is summed up");
            let tagged = folder.succeed(&["tag", "-m", model, "test.tsv"]);
            let block = tagged.split("\n\n").nth(sequence.parse::<usize>().unwrap() - 1).unwrap();
            let names = block.lines().map(|line| line.rsplit('\t').next().unwrap());
            let ours = list(&report["paths"][0]["labels"]).iter();
            let ours = ours.map(|y| report["names"][y.to_string()].as_str().unwrap());
            assert!(names.eq(ours), "{options:?}: {tagged}");
            let text = folder.succeed(&["explain", "-m", model, "test.tsv", "--sequence", sequence]);
            assert!(text.contains("runner-up") && text.contains("probability"), "{text}");
        }
        assert!(kinds.contains(&format!("\"{kind}\"")), "{options:?}: no {kind} in {kinds}");
    }
}

#[test]
fn one_token_in_full_and_against_another_label() {
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "m.kbest"]);
    let text = folder.succeed(&["explain", "-m", "m.kbest", "test.tsv", "--token", "2"]);
    assert!(
        text.contains("token     2: flies") && text.contains("together") && text.contains("never touched"),
        "{text}"
    );
    let against = ["-m", "m.kbest", "test.tsv", "--token", "2", "--against", "ADP"];
    let report = folder.json(&against);
    assert_eq!(adds_up(&report), 1, "only the token that was asked for");
    let rival = report["columns"][1]["why"]["rival"].to_string();
    assert_eq!(report["names"][rival], "ADP");
    assert!(folder.succeed(&[&["explain"], &against[..]].concat()).contains(" beats ADP by "));
}

#[test]
fn scores_are_explained_with_every_decoder() {
    let folder = Folder::new();
    folder.succeed(&[
        "generate",
        "lattice",
        "--labels",
        "40",
        "--positions",
        "9",
        "--sequences",
        "3",
        "-o",
        "l.npz",
    ]);
    for entry in kbest::decode::catalogue(kbest::decode::Lattices::Positions) {
        for k in ["1", "4"] {
            let report = folder.json(&["l.npz", "--sequence", "3", "-k", k, "--decoder", entry.name]);
            let lines = folder.succeed(&["decode", "l.npz", "-k", k]);
            let expected: Value = serde_json::from_str(lines.lines().nth(2).unwrap()).unwrap();
            let labels =
                |paths: &Value| list(paths).iter().map(|path| path["labels"].clone()).collect::<Vec<_>>();
            if entry.exact {
                assert_eq!(labels(&report["paths"]), labels(&expected["paths"]), "{}", entry.name);
                assert_eq!(adds_up(&report), 9);
            }
            let sum =
                |of: &Value| list(of).iter().map(|path| path["probability"].as_f64().unwrap()).sum::<f64>();
            assert!(sum(&report["paths"]) <= 1.0 + 1e-9);
            for (column, y) in list(&report["columns"]).iter().zip(list(&report["paths"][0]["labels"])) {
                assert_eq!(
                    (&column["vertices"][0][0], &column["vertices"][0][1]),
                    (y, &2.into()),
                    "opened, and on top"
                );
                assert!(column["opened"].as_u64() >= Some(1));
            }
        }
    }
}

/// Best-first search for several paths through many vertices is not waited for; it is said who found the paths.
#[test]
fn long_searches_are_replaced() {
    let folder = Folder::new();
    for (labels, watched) in [("40", 4), ("1100", 1)] {
        let sizes = ["--labels", labels, "--positions", "100", "--sequences", "1"];
        folder.succeed(&[&["generate", "lattice"], &sizes[..], &["-o", "l.npz"]].concat());
        let options = ["l.npz", "--token", "3", "-k", "4", "--decoder", "astar"];
        let report = folder.json(&options);
        assert_eq!((list(&report["paths"]).len(), &report["search"]["k"]), (4, &watched.into()), "{labels}");
        assert_eq!(report["search"]["decoder"], "astar");
        let text = folder.succeed(&[&["explain"], &options[..]].concat());
        assert_eq!(text.contains("because `astar` would search 110000 vertices"), watched == 1, "{text}");
    }
}

#[test]
fn segments_and_constraints_are_explained() {
    let folder = Folder::new();
    folder.succeed(&["generate", "segments", "-o", "s.npz"]);
    assert!(adds_up(&folder.json(&["s.npz", "--token", "1"])) >= 1);
    folder.succeed(&["train", "train.tsv", "-m", "m.kbest"]);
    folder.write("rules", "!*\tVERB*\n");
    let report = folder.json(&["-m", "m.kbest", "test.tsv", "--constraints", "rules"]);
    assert!(adds_up(&report) > 0);
    let names = report["names"].to_string();
    assert!(!report["paths"].to_string().contains("VERB") && names.contains("NOUN"));
    folder.write("known.tsv", "fruit\t_\nflies\tADP\nlike\t_\n\n");
    let report = folder.json(&["-m", "m.kbest", "known.tsv", "--keep-labels"]);
    let kept = report["paths"][0]["labels"][1].to_string();
    assert_eq!(report["names"][kept], "ADP");
    assert!(report["columns"][1]["why"].is_null(), "no other label is allowed there");
    let text = folder.succeed(&["explain", "-m", "m.kbest", "known.tsv", "--keep-labels", "--token", "2"]);
    assert!(text.contains("no path with another label"), "{text}");
}

#[test]
fn the_page_carries_its_data_and_no_markup_from_files() {
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "m.kbest"]);
    folder.write("evil.tsv", "</script><b>\n\u{1b}[31m\n<!--\n\n");
    let options = ["-m", "m.kbest", "evil.tsv"];
    assert_eq!(folder.succeed(&[&["explain", "--html", "page.html"], &options[..]].concat()), "");
    let page = fs::read_to_string(folder.path("page.html")).unwrap();
    let data = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(!data.contains('<'));
    assert_eq!(serde_json::from_str::<Value>(data).unwrap(), folder.json(&options));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let own = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(outside), "the page must need nothing else: {outside}");
    }
    for token in [&[][..], &["--token", "2"]] {
        let text = folder.succeed(&[&["explain"], &options[..], token].concat());
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "m.kbest"]);
    folder.succeed(&["train", "train.tsv", "-m", "voted.kbest", "--algorithm", "voted"]);
    folder.write("l.npz", small().bytes());
    folder.refuse(&["-m", "voted.kbest", "test.tsv"], 2, "members that vote: its answer is a count of votes");
    folder.refuse(&["-m", "m.kbest", "test.tsv", "--sequence", "3"], 2, "--sequence: expected at most 2");
    folder.refuse(&["-m", "m.kbest", "test.tsv", "--sequence", "0"], 2, "--sequence: expected at least 1");
    folder.refuse(&["-m", "m.kbest", "test.tsv", "--token", "5"], 2, "--token: expected at most 4");
    folder.refuse(
        &["-m", "m.kbest", "test.tsv", "--token", "1", "--against", "X"],
        2,
        "--against: expected a known label",
    );
    folder.refuse(&["-m", "m.kbest", "test.tsv", "-k", "0"], 2, "-k: expected at least 1");
    folder.refuse(
        &["-m", "m.kbest", "test.tsv", "--decoder", "semi-viterbi"],
        2,
        "this is for single positions",
    );
    folder.refuse(&["-m", "m.kbest", "test.tsv", "--dtype", "f64"], 2, "--dtype: expected scores");
    folder.refuse(
        &["-m", "m.kbest", "test.tsv", "--html", "test.tsv"],
        2,
        "expected an output file different from",
    );
    folder.refuse(&["l.npz", "--constraints", "auto"], 2, "--constraints: expected text and --model");
    folder.refuse(&["l.npz", "--sequence", "9"], 2, "--sequence: expected at most");
    folder.refuse(&["missing.npz"], 2, "missing.npz");
    folder.write("rules", "!*\t*\n");
    folder.refuse(&["-m", "m.kbest", "test.tsv", "--constraints", "rules"], 1, "test.tsv, sequence 1");
    assert!(!Path::new(&folder.path("page.html")).exists());
}
