//! Text in, labels out: train, tag and evaluate, as a user runs them.

use crate::common::kbest;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs a command that must succeed, and returns its stdout.
fn run(arguments: &[&str]) -> String {
    let output = kbest().args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "kbest {}: {stderr}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with a corpus in an artificial language.
struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn with_corpus(labels: usize, sentences: usize) -> Self {
        let folder = Folder { folder: tempfile::tempdir().unwrap() };
        let (labels, sentences) = (labels.to_string(), sentences.to_string());
        let test = folder.path("test.tsv");
        run(&[
            "generate",
            "corpus",
            "--labels",
            &labels,
            "--sentences",
            &sentences,
            "-o",
            &folder.path("train.tsv"),
            "--test",
            &test,
            "--test-sentences",
            "40",
        ]);
        folder
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Trains on a file of the folder.
    fn train(&self, data: &str, model: &str, more: &[&str]) -> String {
        let (data, model) = (self.path(data), self.path(model));
        run(&[&["train", &data, "-m", &model, "-q"], more].concat());
        model
    }
}

type Tokens = Vec<(String, String)>; // word and label

fn sentences(text: &str) -> Vec<Tokens> {
    let token = |line: &str| {
        let (word, label) = line.split_once('\t').unwrap();
        (word.to_owned(), label.to_owned())
    };
    text.trim_end().split("\n\n").map(|block| block.lines().map(token).collect()).collect()
}

fn as_jsonl(sentences: &[Tokens]) -> String {
    let line = |tokens: &Tokens| {
        let words: Vec<&str> = tokens.iter().map(|(word, _)| word.as_str()).collect();
        let tags: Vec<&str> = tokens.iter().map(|(_, label)| label.as_str()).collect();
        format!("{}\n", serde_json::json!({"tokens": words, "tags": tags}))
    };
    sentences.iter().map(line).collect()
}

fn as_conllu(sentences: &[Tokens]) -> String {
    let block = |(i, tokens): (usize, &Tokens)| {
        let mut text = format!("# sent_id = {i}\n");
        for (t, (word, label)) in tokens.iter().enumerate() {
            let (upos, feats) = label.split_once('|').unwrap_or((label, "_"));
            text += &format!("{}\t{word}\t_\t{upos}\t_\t{feats}\t_\t_\t_\tSpace=No\n", t + 1);
        }
        text + "\n"
    };
    sentences.iter().enumerate().map(block).collect()
}

fn as_items(sentences: &[Tokens]) -> String {
    let item = |(word, label): &(String, String)| {
        let last: String = word.chars().rev().take(2).collect();
        format!("{label}\tw={word}\tend={last}\tlength:{}\n", word.len() as f64 / 8.0)
    };
    sentences.iter().map(|tokens| tokens.iter().map(item).collect::<String>() + "\n").collect()
}

fn accuracy(model: &str, file: &str) -> f64 {
    let report: Value = serde_json::from_str(&run(&["evaluate", "-m", model, file, "--json"])).unwrap();
    report["accuracy"].as_f64().unwrap()
}

#[test]
fn every_format_there_and_back() {
    let folder = Folder::with_corpus(30, 200);
    for name in ["train", "test"] {
        let text = sentences(&folder.read(&format!("{name}.tsv")));
        folder.write(&format!("{name}.jsonl"), &as_jsonl(&text));
        folder.write(&format!("{name}.conllu"), &as_conllu(&text));
        folder.write(&format!("{name}.items"), &as_items(&text));
    }
    let gold = sentences(&folder.read("test.tsv"));
    let mut by_columns = None;
    for (ending, more) in
        [("tsv", &[][..]), ("jsonl", &[]), ("conllu", &["--label", "upos+feats"]), ("items", &[])]
    {
        let (train, test) = (format!("train.{ending}"), folder.path(&format!("test.{ending}")));
        let model = folder.train(&train, &format!("{ending}.kbest"), &[&["--epochs", "2"], more].concat());
        let right = accuracy(&model, &test);
        assert!(right > 0.6, "{ending}: {right}");
        let tagged = run(&["tag", "-m", &model, &test]);
        let labels: Vec<Vec<String>> = match ending {
            "tsv" => sentences(&tagged)
                .iter()
                .map(|tokens| tokens.iter().map(|(_, l)| l.split_once('\t').unwrap().1.to_owned()).collect())
                .collect(),
            "items" => {
                tagged.trim_end().split("\n\n").map(|b| b.lines().map(String::from).collect()).collect()
            }
            "jsonl" => tagged
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap()["tags"].clone())
                .map(|tags| serde_json::from_value(tags).unwrap())
                .collect(),
            _ => conllu_labels(&tagged),
        };
        let hits = gold.iter().flatten().zip(labels.iter().flatten()).filter(|((_, g), l)| g == *l).count();
        let share = hits as f64 / gold.iter().flatten().count() as f64;
        assert!((share - right).abs() < 1e-9, "{ending}: tag and evaluate agree, {share} and {right}");
        if ending != "items" {
            // The same features, so the same labels.
            assert_eq!(by_columns.get_or_insert_with(|| labels.clone()), &labels, "{ending}");
        }
    }
}

fn conllu_labels(text: &str) -> Vec<Vec<String>> {
    let label = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!((fields.len(), fields[9]), (10, "Space=No"), "{line}");
        if fields[5] == "_" { fields[3].to_owned() } else { format!("{}|{}", fields[3], fields[5]) }
    };
    let block = |block: &str| {
        assert!(block.starts_with("# sent_id"), "comments are kept");
        block.lines().skip(1).map(label).collect()
    };
    text.trim_end().split("\n\n").map(block).collect()
}

#[test]
fn order_is_kept_and_stdin_is_read() {
    let folder = Folder::with_corpus(20, 1500);
    let model = folder.train("train.tsv", "m.kbest", &["--epochs", "1"]);
    // More than fits into a batch, so that threads overtake one another.
    let file = folder.path("train.tsv");
    let alone = run(&["tag", "-m", &model, "--threads", "1", &file]);
    assert_eq!(run(&["tag", "-m", &model, "--threads", "5", &file]), alone);
    let text = folder.read("train.tsv");
    let output = kbest().args(["tag", "-m", &model, "--threads", "3"]).write_stdin(text).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), alone);
    let out = folder.path("out.tsv");
    assert_eq!(run(&["tag", "-m", &model, &file, "-", "-o", &out]), "", "stdin is empty here");
    assert_eq!(folder.read("out.tsv"), alone);
    let with_gold = kbest().arg("evaluate").write_stdin(alone).output().unwrap();
    assert!(String::from_utf8(with_gold.stdout).unwrap().starts_with("tokens"));
}

#[test]
fn a_failure_comes_behind_all_that_was_before_it() {
    let folder = Folder::with_corpus(20, 1500);
    let model = folder.train("train.tsv", "m.kbest", &["--epochs", "1"]);
    let text = folder.read("train.tsv");
    let blocks: Vec<&str> = text.split_inclusive("\n\n").collect();
    let check = |arguments: &[&str], good: usize, problem: &str| {
        let whole = run(&["tag", "-m", &model, "--keep-labels", &folder.path("train.tsv")]);
        let expected: String = whole.split_inclusive("\n\n").take(good).collect();
        let line = blocks[..good].concat().lines().count() + 1;
        for threads in ["1", "2", "5"] {
            let common = ["tag", "-m", &model, "--keep-labels", "--threads", threads];
            let output = kbest().args([&common, arguments].concat()).output().unwrap();
            let message = String::from_utf8(output.stderr).unwrap();
            assert!(message.contains(&format!(".tsv:{line}: {problem}")), "{threads} threads: {message}");
            assert_eq!(output.status.code(), Some(2));
            assert!(String::from_utf8(output.stdout).unwrap() == expected, "{threads} threads, {good} good");
        }
    };
    // A line that cannot be read, and another after it.
    let good = blocks.len() - 100;
    let broken = [&blocks[..good].concat(), "a\tb\tc\n\n", &blocks[good..].concat(), "d\n"].concat();
    check(&[&folder.write("broken.tsv", &broken)], good, "expected 2 columns, got 3");
    // Sequences that can be read but not tagged: they begin with a forbidden label, the one whose first such sequence
    // is latest.
    let firsts: Vec<String> = sentences(&text).into_iter().map(|mut s| s.swap_remove(0).1).collect();
    let is_new = |&i: &usize| !firsts[..i].contains(&firsts[i]);
    let good = (0..firsts.len()).rev().find(is_new).unwrap();
    assert!(good > 10, "more than a batch");
    let transitions = folder.write("transitions", &format!("!^\t{}\n", firsts[good]));
    check(&["--constraints", &transitions, &folder.path("train.tsv")], good, "no legal path");
}

#[test]
fn models_remember_how_their_text_was_written() {
    let folder = Folder::with_corpus(12, 20);
    folder.write("t.txt", "big dog\tX\nold cat\tY\n\nold cat\tY\n\n");
    let model = folder.train("t.txt", "tabs.kbest", &["--tabs"]);
    let tag = |model: &str, text: &str| {
        let output = kbest().args(["tag", "-m", model]).write_stdin(text).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(tag(&model, "old cat\n\n"), "old cat\tY\n\n");
    folder.write("t.items", "X\ta__COLON__b\nY\tc\n\n");
    let model = folder.train("t.items", "items.kbest", &["--colon-words"]);
    assert_eq!(tag(&model, "?\ta\\:b\n?\tc\n?\ta__COLON__b\n\n"), "X\nY\nX\n\n");
    let shown = run(&["inspect", &model]);
    assert!(shown.contains("\ntext      items, colon-words yes\n"), "{shown}");
}

/// A model file of an earlier version, which stored the text format among its remarks, and text tagged with it.
#[test]
fn models_of_earlier_versions_tag_as_before() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models");
    let read = |name: &str| fs::read_to_string(testdata.join(name)).unwrap();
    let model = testdata.join("before-text-format.kbest");
    let command = ["tag", "--scores", "-m", model.to_str().unwrap()];
    // Stdin has no file extension from which the format follows.
    let output = kbest().args(command).write_stdin(read("text.conllu")).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), read("tagged.conllu"));
}

#[test]
fn k_best_blocks_and_marginals() {
    let folder = Folder::with_corpus(12, 150);
    let model = folder.train("train.tsv", "m.kbest", &["--epochs", "2"]);
    let test = folder.path("test.tsv");
    let best = run(&["tag", "-m", &model, &test]);
    let scored = run(&["tag", "-m", &model, "--scores", &test]);
    let candidates = run(&["tag", "-m", &model, "-k", "3", "--marginals", &test]);
    let blocks: Vec<&str> = candidates.trim_end().split("\n\n").collect();
    let first: Vec<&str> = best.trim_end().split("\n\n").collect();
    assert_eq!(blocks.len(), 3 * first.len());
    let mut last = f64::INFINITY;
    for (i, block) in blocks.iter().enumerate() {
        let (head, lines) = block.split_once('\n').unwrap();
        let numbers: Vec<&str> = head.strip_prefix("# ").unwrap().split(' ').collect();
        let [rank, score, probability] = numbers[..] else { panic!("{head}") };
        assert_eq!(rank, (i % 3).to_string());
        assert!((0.0..=1.0).contains(&probability.parse::<f64>().unwrap()), "{head}");
        let score: f64 = score.parse().unwrap();
        assert!(i % 3 == 0 || score <= last, "best first");
        last = score;
        let bare = lines.lines().map(|line| {
            let (line, probability) = line.rsplit_once('/').unwrap();
            assert!(probability.len() == 6 && probability.parse::<f64>().unwrap() <= 1.0, "{probability}");
            line
        });
        let bare: Vec<&str> = bare.collect();
        if i % 3 == 0 {
            assert_eq!(bare.join("\n"), first[i / 3]);
            assert!(
                scored.contains(&format!("# {rank} {}\n{}\n\n", numbers[1], first[i / 3])),
                "--scores: the head of the best"
            );
        }
    }
    let line = run(&["tag", "-m", &model, "-k", "1", "--marginals", "--format", "jsonl", &{
        folder.write("one.jsonl", "{\"tokens\":[\"a\",\"b\"]}\n")
    }]);
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((line["rank"].as_u64(), line["marginals"].as_array().map(Vec::len)), (Some(0), Some(2)));
    assert!(line["score"].is_f64() && line["probability"].as_f64().unwrap() <= 1.0);
}

/// Labels that encode spans, and a model that has hardly learned them.
fn spans(folder: &Folder) -> String {
    let mut text = String::new();
    for i in 0..60 {
        let kind = ["X", "Y"][i % 2];
        text +=
            &format!("a{}\tO\nb{}\tB-{kind}\nc{}\tI-{kind}\nd{}\tI-{kind}\n\n", i % 7, i % 5, i % 3, i % 2);
    }
    folder.write("spans.tsv", &text);
    let template = folder.write("template", "U0:%x[0,0]\n");
    folder.train("spans.tsv", "spans.kbest", &["--epochs", "1", "--template", &template])
}

fn labels(tagged: &str) -> Vec<Vec<&str>> {
    let label = |line: &&str| !line.starts_with("# ");
    tagged
        .trim_end()
        .split("\n\n")
        .map(|block| block.lines().filter(label).map(|line| line.rsplit('\t').next().unwrap()).collect())
        .collect()
}

fn is_iob2(labels: &[&str]) -> bool {
    let before = std::iter::once(&"O").chain(labels);
    before.zip(labels).all(|(p, y)| !y.starts_with("I-") || (p.len() > 1 && p[2..] == y[2..]))
}

#[test]
fn constraints_hold_for_every_candidate() {
    let folder = Folder::with_corpus(2, 10);
    let model = spans(&folder);
    let test = folder.write("hard.tsv", "c0\nd1\na1\nc2\n\nb1\nc0\na3\nd0\n\n");
    let count = |constraints: &[&str]| {
        let tagged = run(&[&["tag", "-m", &model, "-k", "20", &test], constraints].concat());
        let all = labels(&tagged);
        (all.len(), all.iter().filter(|labels| !is_iob2(labels)).count())
    };
    assert!(count(&[]).1 > 0, "without constraints the model errs");
    for scheme in ["auto", "iob2", "BIO"] {
        assert_eq!(count(&["--constraints", scheme]), (40, 0), "{scheme}");
    }
    let file = folder.write("transitions.tsv", "!*\tI-*\nB-X\tI-X\nI-X\tI-X\nB-Y\tI-Y\nI-Y\tI-Y\n!^\tI-*\n");
    assert_eq!(count(&["--constraints", &file]).1, 0);
    let none = folder.write("none.tsv", "!*\tI-*\n!^\tI-*\n");
    let both = run(&["tag", "-m", &model, &test, "--constraints", "auto", "--constraints", &none]);
    assert!(!both.contains("\tI-"), "{both}");
    let voted = folder.path("voted.kbest");
    run(&["train", &folder.path("spans.tsv"), "-m", &voted, "-q", "--algorithm", "voted", "--epochs", "1"]);
    let tagged = run(&["tag", "-m", &voted, "-k", "9", &test, "--constraints", "auto"]);
    assert!(labels(&tagged).iter().all(|labels| is_iob2(labels)), "{tagged}");
    run(&["evaluate", "-m", &model, &folder.path("spans.tsv"), "--constraints", "auto"]);
}

#[test]
fn known_labels_are_kept() {
    let folder = Folder::with_corpus(2, 10);
    let model = spans(&folder);
    let partly = folder.write("partly.tsv", "a1\tB-Y\nb1\t_\nc1\t?\nd1\tO\n\nc0\t_\nb1\tB-X\n\n");
    let tagged = run(&["tag", "-m", &model, "--keep-labels", "--marginals", &partly]);
    let column: Vec<&str> = tagged.lines().filter_map(|line| line.split('\t').nth(2)).collect();
    assert_eq!((column[0], column[3], column[5]), ("B-Y/1.0000", "O/1.0000", "B-X/1.0000"));
    assert!(!column.contains(&"_") && !column.contains(&"?"), "{tagged}");
    let items = folder.write("partly.jsonl", "{\"tokens\":[\"a1\",\"b1\"],\"tags\":[\"I-X\",\"\"]}\n");
    let tagged: Value = serde_json::from_str(&run(&["tag", "-m", &model, "--keep-labels", &items])).unwrap();
    assert_eq!(tagged["tags"][0], "I-X");
    // With constraints that leave no path, the error names the first line of the sequence.
    let clash = folder.write("clash.tsv", "a1\tO\n\n\nb1\tO\nc1\tI-X\n\n");
    let output = kbest()
        .args(["tag", "-m", &model, "--keep-labels", "--constraints", "auto", &clash])
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("clash.tsv:4: no legal path"), "{message}");
}

/// The model of a run that was killed and resumed.
fn killed_and_resumed(folder: &Folder, model: &str, options: &[&str]) -> String {
    let (data, model) = (folder.path("train.tsv"), folder.path(model));
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("kbest"));
    command.args(["train", &data, "-m", &model]).args(options).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let checkpoint = PathBuf::from(format!("{model}.checkpoint"));
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(checkpoint.exists(), "killed before the end");
    assert!(!Path::new(&model).exists(), "no model before the end");
    let output = kbest().args(["train", &data, "-m", &model, "--resume"]).args(options).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("resuming after epoch"), "{told}");
    assert!(!checkpoint.exists() && !told.contains("epoch   1/"), "{told}");
    model
}

#[test]
fn a_killed_run_goes_on_to_the_same_model() {
    let folder = Folder::with_corpus(30, 1500);
    let dev = folder.path("test.tsv");
    let of_segments = ["--algorithm", "semi", "--epochs", "6", "--features", "words"];
    for options in
        [&["--epochs", "6"][..], &["--epochs", "6", "--dev", &dev, "--patience", "2"], &of_segments]
    {
        let whole = folder.train("train.tsv", "whole.kbest", options);
        let resumed = killed_and_resumed(&folder, "resumed.kbest", options);
        assert!(fs::read(&whole).unwrap() == fs::read(&resumed).unwrap(), "{options:?}");
        fs::remove_file(resumed).unwrap();
    }
    let left: Vec<String> = fs::read_dir(folder.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("checkpoint") || name.contains("best") || name.contains("part"))
        .filter(|name| !name.ends_with(".kbest"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn held_out_data_pruning_and_the_report() {
    let folder = Folder::with_corpus(15, 200);
    let model = folder.path("m.kbest");
    let report = run(&[
        "train",
        &folder.path("train.tsv"),
        "-m",
        &model,
        "--dev",
        &folder.path("test.tsv"),
        "--epochs",
        "9",
        "--patience",
        "2",
        "--prune",
        "0.4",
        "--json",
        "-q",
    ]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let accuracies: Vec<f64> =
        report["epochs"].as_array().unwrap().iter().map(|e| e["dev_accuracy"].as_f64().unwrap()).collect();
    let best = accuracies.iter().copied().fold(0.0, f64::max);
    assert_eq!(report["pruned"]["accuracy_before"].as_f64(), Some(best), "the best model is kept");
    assert!(report["pruned"]["weights_after"].as_u64() < report["pruned"]["weights_before"].as_u64());
    assert_eq!(report["pruned"]["accuracy_after"].as_f64(), Some(accuracy(&model, &folder.path("test.tsv"))));
}

#[test]
fn every_algorithm_learns() {
    let folder = Folder::with_corpus(8, 120);
    for options in [
        "averaged",
        "perceptron",
        "voted",
        "pa --longest 0.5",
        "averaged --threads 2",
        "averaged --decoder beam:4",
        "crf --epochs 30",
        "crf --epochs 15 --c1 0.1 --threads 2",
        "crf --optimizer sgd --epochs 3 --c2 0.01",
        "crf --epochs 5 --all-states --all-transitions",
    ] {
        let options: Vec<&str> = ["--algorithm"].into_iter().chain(options.split(' ')).collect();
        let few = if options.contains(&"--epochs") { vec![] } else { vec!["--epochs", "2"] };
        let model = folder.train("train.tsv", "m.kbest", &[&options[..], &few].concat());
        let right = accuracy(&model, &folder.path("test.tsv"));
        assert!(right > 0.6, "{options:?}: {right}");
    }
}

/// Counted from labels, and found without labels.
#[test]
fn hidden_markov_models() {
    let folder = Folder::with_corpus(12, 200);
    let (train, test) = (folder.path("train.tsv"), folder.path("test.tsv"));
    let counted = folder.train("train.tsv", "counted.kbest", &["--algorithm", "hmm"]);
    assert!(accuracy(&counted, &test) > 0.85);

    let found = ["--algorithm", "baum-welch", "--states", "4", "--epochs", "5"];
    let model = folder.train("train.tsv", "found.kbest", &found);
    let tagged = run(&["tag", "-m", &model, &test]);
    let states: BTreeSet<&str> = tagged.lines().filter_map(|line| line.rsplit('\t').next()).collect();
    assert!(states.iter().all(|state| state.is_empty() || state.starts_with('S')), "{states:?}");
    assert!(states.iter().filter(|state| !state.is_empty()).count() > 1, "{states:?}");
    let again = folder.train("train.tsv", "again.kbest", &found);
    assert_eq!(fs::read(model).unwrap(), fs::read(again).unwrap(), "the same seed, another model");

    let model = folder.path("none.kbest");
    let output = kbest().args(["train", &train, "-m", &model, "--algorithm", "baum-welch"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && told.contains("--states"), "{told}");
    assert!(!Path::new(&model).exists());
}
