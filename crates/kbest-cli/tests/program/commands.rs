//! The remaining commands: catalogue, generation, measurement, demo, help.

use crate::common::{best_paths, kbest, small};
use kbest::decode::{Answers, CATALOGUE, Entry, Lattices, catalogue};
use serde_json::Value;

fn run(arguments: &[&str], stdin: &[u8]) -> (i32, Vec<u8>, String) {
    let output = kbest().args(arguments).write_stdin(stdin).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// All decoders by default; `KBEST_TEST_DECODERS=a,b` narrows it down while working on one.
fn decoders() -> Vec<&'static str> {
    let only = std::env::var("KBEST_TEST_DECODERS").ok();
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|other| other == name));
    catalogue(Lattices::Positions).map(|entry| entry.name).filter(|name| wanted(name)).collect()
}

#[test]
fn the_catalogue_is_listed() {
    let (code, stdout, _) = run(&["decoders", "--json"], b"");
    let rows: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!((code, rows.as_array().unwrap().len()), (0, CATALOGUE.len()));
    for (row, entry) in rows.as_array().unwrap().iter().zip(CATALOGUE) {
        assert_eq!(
            (row["name"].as_str().unwrap(), row["exact"].as_bool().unwrap()),
            (entry.name, entry.exact)
        );
        assert!(["1-best", "k-best", "both"].contains(&row["answers"].as_str().unwrap()));
        assert!(row["cost"].is_string() && row["advice"].is_string());
    }
    let (_, text, _) = run(&["decoders"], b"");
    let text = String::from_utf8(text).unwrap();
    assert!(CATALOGUE.iter().all(|entry| text.lines().any(|line| line.starts_with(entry.name))));
}

#[test]
fn generated_lattices_follow_from_the_seed() {
    for family in ["tagger", "dense", "random", "uniform"] {
        for dtype in ["f32", "f64"] {
            let make = |seed: &str| {
                let arguments = [
                    "generate",
                    "lattice",
                    "--family",
                    family,
                    "--dtype",
                    dtype,
                    "--sequences",
                    "3",
                    "--positions",
                    "4",
                    "--labels",
                    "11",
                    "--seed",
                    seed,
                ];
                let (code, stdout, stderr) = run(&arguments, b"");
                assert_eq!(code, 0, "{stderr}");
                stdout
            };
            assert_eq!(make("5"), make("5"), "{family} {dtype}");
            assert_ne!(make("5"), make("6"), "{family} {dtype}");
            let (code, stdout, stderr) = run(&["decode", "--decoder", "viterbi"], &make("5"));
            assert_eq!(code, 0, "{stderr}");
            let paths = best_paths(std::str::from_utf8(&stdout).unwrap());
            assert!(paths.len() == 3 && paths.iter().all(|(labels, _)| labels.len() == 4));
        }
    }
}

#[test]
fn edges_are_the_same_dense_and_sparse() {
    let decode = |shape: &str| {
        let arguments = [
            "generate",
            "lattice",
            "--labels",
            "30",
            "--sequences",
            "5",
            "--vary-lengths",
            "--repetitive",
            shape,
        ];
        run(&["decode", "--decoder", "viterbi"], &run(&arguments, b"").1).1
    };
    assert_eq!(decode("--dense"), decode("--sparse"));
    assert_eq!(decode("--dense"), decode("--compress"));
}

#[test]
fn generated_files_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npz");
    let name = path.to_str().unwrap();
    assert_eq!(run(&["generate", "lattice", "--labels", "5", "-o", name], b"").0, 0);
    assert_eq!(run(&["decode", "--decoder", "viterbi", name], b"").0, 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    for bad in
        [&["--labels", "0"][..], &["--edge-density", "2"], &["--peaked", "NaN"], &["--labels", "99999999"]]
    {
        let (code, stdout, stderr) = run(&[&["generate", "lattice"], bad].concat(), b"");
        assert_eq!((code, stdout.len(), stderr.lines().count()), (2, 0, 1), "{bad:?}: {stderr}");
    }
}

#[test]
fn generated_corpora_follow_from_the_seed() {
    let make = |more: &[&str]| run(&[&["generate", "corpus", "--sentences", "40"], more].concat(), b"");
    let (code, text, stderr) = make(&["--labels", "30", "--seed", "3"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(text, make(&["--labels", "30", "--seed", "3"]).1);
    assert_ne!(text, make(&["--labels", "30", "--seed", "4"]).1);
    let text = String::from_utf8(text).unwrap();
    let labels: std::collections::HashSet<_> =
        text.lines().filter(|line| !line.is_empty()).map(|line| line.split_once('\t').unwrap().1).collect();
    assert_eq!((labels.len(), text.split("\n\n").count()), (30, 41));

    let folder = tempfile::tempdir().unwrap();
    let name = |file: &str| folder.path().join(file).to_str().unwrap().to_owned();
    let (train, test) = (name("train.tsv"), name("test.tsv"));
    let files = ["-o", &train, "--test", &test, "--test-sentences", "7", "--labels", "30", "--seed", "3"];
    assert_eq!(make(&files).0, 0);
    assert_eq!(std::fs::read_to_string(&train).unwrap(), text);
    let test = std::fs::read_to_string(&test).unwrap();
    assert!(test.split("\n\n").count() == 8 && !text.contains(&test));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);

    for bad in [
        &["--labels", "1"][..],
        &["--labels", "10001"],
        &["--tokens-per-sentence", "0"],
        &["--test-sentences", "3"],
        &["-o", "x.tsv", "--test", "x.tsv"],
        &["--test", "-"],
    ] {
        let (code, stdout, stderr) = make(bad);
        assert_eq!((code, stdout.len()), (2, 0), "{bad:?}: {stderr}");
    }
}

#[test]
fn all_decoders_are_measured_and_agree() {
    let lattice =
        run(&["generate", "lattice", "--labels", "60", "--sequences", "6", "--positions", "8"], b"").1;
    let names = decoders().join(",");
    let arguments = ["bench", "decode", "--decoders", &names, "--repeat", "2", "--json"];
    let (code, stdout, stderr) = run(&arguments, &lattice);
    assert_eq!(code, 0, "{stderr}");
    let report: Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(
        (&report["sequences"], &report["positions"], &report["labels"]),
        (&6.into(), &48.into(), &60.into())
    );
    let rows = report["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["decoder"] == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(row("scan")["vs_scan"], 1.0);
    assert!(row("max-plus-limit")["seconds"].as_f64().unwrap() > 0.0);
    for name in decoders() {
        let row = row(name);
        let exact = CATALOGUE.iter().any(|entry| entry.name == name && entry.exact);
        assert!(row["agree"] == true || !exact, "{row}");
        let number = |key: &str| row[key].as_f64().unwrap();
        assert!(number("seconds") > 0.0 && number("median_seconds") >= number("seconds"));
        assert!((number("per_second") - 6.0 / number("seconds")).abs() < 1e-6 * number("per_second"));
        assert!(row["counters"]["nodes"].as_u64().unwrap() > 0);
        if names.contains("viterbi-simd") {
            assert!(number("vs_viterbi_simd") > 0.0);
        }
    }
}

#[test]
fn several_numbers_of_paths_are_compared() {
    let lattice =
        run(&["generate", "lattice", "--labels", "30", "--sequences", "4", "--positions", "6"], b"").1;
    let arguments = ["bench", "decode", "--decoders", "viterbi,viterbi-simd,funnel", "-k", "1,5,5,20"];
    let (code, stdout, stderr) = run(&[&arguments[..], &["--json"]].concat(), &lattice);
    assert_eq!(code, 0, "{stderr}");
    let report: Value = serde_json::from_slice(&stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let of = |name: &str| rows.iter().filter(|row| row["decoder"] == name).collect::<Vec<_>>();
    let ks = |name: &str| of(name).iter().map(|row| row["k"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!((ks("funnel"), ks("viterbi-simd")), (vec![1, 5, 20], vec![1]));
    let seconds = |row: &Value| row["seconds"].as_f64().unwrap();
    for row in of("funnel") {
        let ratio = seconds(row) / seconds(of("funnel")[0]);
        assert!((row["vs_fewest_paths"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-9, "{row}");
    }
    let text = String::from_utf8(run(&arguments, &lattice).1).unwrap();
    assert!(text.contains("k = 1, 5, 20") && text.contains("vs k = 1"), "{text}");
}

#[test]
fn a_time_limit_is_reported() {
    let lattice = run(&["generate", "lattice", "--labels", "40", "--sequences", "50"], b"").1;
    let arguments = ["bench", "decode", "--decoders", "viterbi", "--limit", "0.000001"];
    let (code, stdout, _) = run(&arguments, &lattice);
    let text = String::from_utf8(stdout).unwrap();
    assert!(code == 0 && text.contains("stopped after 1 of 50"), "{text}");
}

#[test]
fn unsupported_requests_are_refused() {
    let one = |entry: &&Entry| entry.answers == Answers::One && decoders().contains(&entry.name);
    for entry in CATALOGUE.iter().filter(one) {
        let (code, _, stderr) =
            run(&["bench", "decode", "--decoders", entry.name, "-k", "3"], &small().bytes());
        assert!(code == 2 && stderr.contains(entry.name), "{stderr}");
    }
    for bad in [&["--repeat", "0"][..], &["-k", "0"], &["-k", "3,0"], &["--limit", "0"], &["--decoders", "x"]]
    {
        assert_eq!(run(&[&["bench", "decode"], bad].concat(), &small().bytes()).0, 2, "{bad:?}");
    }
}

#[test]
fn the_demo_draws_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.svg");
    let names = decoders().join(",");
    let arguments = ["demo", "--quick", "--decoders", &names, "--svg", path.to_str().unwrap()];
    let (code, stdout, stderr) = run(&arguments, b"");
    assert_eq!(code, 0, "{stderr}");
    let text = String::from_utf8(stdout).unwrap();
    assert!(decoders().iter().all(|name| text.contains(name)));
    let svg = std::fs::read_to_string(path).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn every_command_has_help_with_examples() {
    for command in [
        &[][..],
        &["decode"],
        &["decoders"],
        &["train"],
        &["tag"],
        &["evaluate"],
        &["inspect"],
        &["convert"],
        &["bench"],
        &["bench", "decode"],
        &["bench", "tag"],
        &["explain"],
        &["generate"],
        &["generate", "lattice"],
        &["generate", "corpus"],
        &["generate", "segments"],
        &["demo"],
    ] {
        let help = |option: &str| {
            let output = kbest().args(command).arg(option).env("COLUMNS", "80").output().unwrap();
            assert!(output.status.success(), "{command:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let text = help("--help");
        assert_eq!(text, help("-h"), "{command:?}");
        // Each on one line, even of a narrow terminal.
        let examples = text.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command:?}")).1;
        let mut examples = examples.lines().take_while(|line| !line.is_empty()).peekable();
        assert!(examples.peek().is_some() && examples.all(|line| line.starts_with("  kbest ")), "{text}");
    }
    assert_eq!(run(&["frobnicate"], b"").0, 2);
    assert_eq!(run(&[], b"").0, 2);
}
