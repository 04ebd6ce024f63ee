//! What goes in: features that add up, plain text, conversations through pipes; and what training and `inspect` say of it.

use crate::common::kbest;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

/// Exit code, stdout and stderr.
fn run(folder: &tempfile::TempDir, arguments: &str, input: &str) -> (i32, String, String) {
    let mut command = kbest();
    command.current_dir(folder.path()).args(arguments.split(' ')).write_stdin(input);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs a command that must succeed.
fn succeed(folder: &tempfile::TempDir, arguments: &str, input: &str) -> (String, String) {
    let (code, stdout, stderr) = run(folder, arguments, input);
    assert_eq!(code, 0, "kbest {arguments}: {stderr}");
    (stdout, stderr)
}

fn json(folder: &tempfile::TempDir, arguments: &str) -> Value {
    serde_json::from_str(&succeed(folder, arguments, "").0).unwrap()
}

/// The label says how the word ends and what the second column is; words with other numbers are other words.
fn two_columns(first_word: usize, sentences: usize) -> String {
    let mut text = String::new();
    for i in 0..sentences {
        for j in 0..5 {
            let chance = ((first_word + i * 5 + j) as u32).wrapping_mul(2_654_435_761) >> 9;
            let (ending, column) = (chance as usize & 1, chance as usize >> 4 & 1);
            let letter =
                |place: u32| char::from(b'b' + ((first_word + i * 5 + j) / 10usize.pow(place) % 10) as u8);
            let word: String = (0..4).map(letter).collect();
            writeln!(text, "{word}{}\tc{column}\tL{ending}{column}", ["ka", "to"][ending]).unwrap();
        }
        text.push('\n');
    }
    text
}

#[test]
fn features_add_up() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("train.tsv"), two_columns(1000, 80)).unwrap();
    fs::write(folder.path().join("test.tsv"), two_columns(7000, 40)).unwrap();
    fs::write(folder.path().join("cells"), "U1:%x[0,1]\nB\n").unwrap();
    fs::write(folder.path().join("affixes"), "# ours\nU1:%x[0,1]\nU2:%suffix[0,0,2]\nU3:%shape[-1,0]\n")
        .unwrap();
    let accuracy = |options: &str, told: &str| {
        let (_, stderr) = succeed(&folder, format!("train train.tsv -m m.kbest {options}").trim_end(), "");
        assert!(stderr.contains(&format!("\nfeatures {told}")), "{options}: {stderr}");
        json(&folder, "evaluate -m m.kbest test.tsv --json")["accuracy"].as_f64().unwrap()
    };
    assert!(accuracy("--features words", "words (2 columns beside the label):") < 0.8);
    assert!(accuracy("--features columns", "columns (2 columns") < 0.8);
    assert!(accuracy("--template cells", "template (2 columns") < 0.8);
    assert!(accuracy("", "words+columns (2 columns") > 0.95, "other columns join words by default");
    assert!(accuracy("--features morphology+columns", "morphology+columns") > 0.95);
    assert!(accuracy("--template affixes", "template") > 0.95, "affixes in templates");
    assert!(accuracy("--template cells --features words", "template+words") > 0.95);
    assert!(accuracy("--template cells --features words --algorithm crf", "template+words") > 0.95);
    assert!(accuracy("--template cells --features words --algorithm semi", "template+words") > 0.95);

    let (_, stderr) =
        succeed(&folder, "train train.tsv -m m.kbest --template cells --features words+columns", "");
    for kind in ["U1:%x[0,1] 2", "suffixes ", "cells of column 2 ", "label pairs 1"] {
        assert!(stderr.contains(kind), "{kind}: {stderr}");
    }
    let inspected = json(&folder, "inspect m.kbest --json");
    assert_eq!(inspected["features"]["source"], "template+words+columns");
    assert!(inspected["features"]["kinds"]["prefixes"].as_u64().unwrap() > 0);
    assert_eq!(inspected["features"]["template"], serde_json::json!(["U1:%x[0,1]", "B"]));

    for (options, expected) in [
        ("--features words+words", "--features: expected each set once, got words twice"),
        ("--features words+numbers", "expected a number"),
        ("--features hmm", "unknown feature set `hmm`: expected one of words, morphology, columns, numbers"),
        ("--features words+", "unknown feature set ``"),
        (
            "--template affixes --strict-crfpp",
            "affixes:3: expected %x[row,column] alone (strictly as in CRF++)",
        ),
        ("--strict-crfpp", "--template"),
        ("--template cells --strict-crfpp --features words", "cannot be used with"),
    ] {
        let (code, _, stderr) = run(&folder, &format!("train train.tsv -m x.kbest {options}"), "");
        assert!(code == 2 && stderr.contains(expected), "{options}: {stderr}");
    }
    succeed(&folder, "train train.tsv -m x.kbest -q --template cells --strict-crfpp", "");
}

const CONLLU: &str = "\
# sent_id = 1\n1\tTime\t_\tNOUN\t_\tNumber=Sing\t_\t_\t_\t_\n2\tflies\t_\tVERB\t_\t_\t_\t_\t_\t_\n\
3\t.\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n\n1\tTime\t_\tNOUN\t_\tNumber=Sing\t_\t_\t_\t_\n2\t!\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n\n";

/// Two models of the same words: one of columns, one of CoNLL-U.
fn two_models() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let columns = "Time\tNOUN\nflies\tVERB\n.\tPUNCT\n\nTime\tNOUN\n!\tPUNCT\n\n";
    fs::write(folder.path().join("train.tsv"), columns).unwrap();
    fs::write(folder.path().join("train.conllu"), CONLLU).unwrap();
    succeed(&folder, "train train.tsv -m columns.kbest -q", "");
    succeed(&folder, "train train.conllu -m conllu.kbest -q --label upos+feats", "");
    folder
}

#[test]
fn plain_text_is_tagged() {
    let folder = two_models();
    let tag = |options: &str, text: &str| succeed(&folder, &format!("tag -m {options}"), text).0;
    let expected = "Time\tNOUN\nflies\tVERB\n.\tPUNCT\n\n\nTime\tNOUN\n!\tPUNCT\n\n";
    assert_eq!(tag("columns.kbest --format text", "Time flies.\n\nTime!\n"), expected);
    assert_eq!(tag("columns.kbest --format tokens", "Time flies .\n\n Time  !"), expected);
    fs::write(folder.path().join("text.txt"), "Time flies.\n\nTime!\n").unwrap();
    assert_eq!(tag("columns.kbest --format text text.txt", ""), expected, "from a file, too");
    // A model of CoNLL-U answers in CoNLL-U.
    let tagged = tag("conllu.kbest --format text", "Time!\n");
    assert_eq!(tagged, "1\tTime\t_\tNOUN\t_\tNumber=Sing\t_\t_\t_\t_\n2\t!\t_\tPUNCT\t_\t_\t_\t_\t_\t_\n\n");

    let (code, _, stderr) = run(&folder, "tag -m conllu.kbest", "Time flies.\n");
    let advice = "the model was trained on conllu, so conllu is read; for plain text try --format text";
    assert!(
        code == 2 && stderr.contains("<stdin>:1: expected 10 fields") && stderr.contains(advice),
        "{stderr}"
    );
    let (code, _, stderr) = run(&folder, "tag -m conllu.kbest --format conllu", "Time flies.\n");
    assert!(code == 2 && !stderr.contains("trained on"), "who asks for it knows: {stderr}");
    let (code, _, stderr) = run(&folder, "evaluate -m columns.kbest --format text", "Time\n");
    assert!(code == 2 && stderr.contains("expected a format with labels, got `text`"), "{stderr}");
    let (code, _, stderr) = run(&folder, "train text.txt -m x.kbest --format tokens", "");
    assert!(code == 2 && stderr.contains("expected a format with labels, got `tokens`"), "{stderr}");
    fs::write(folder.path().join("train.items"), "N\tw=a\nV\tw=b\n\n").unwrap();
    succeed(&folder, "train train.items -m items.kbest -q", "");
    let (code, _, stderr) = run(&folder, "tag -m items.kbest --format text", "Time\n");
    assert!(code == 2 && stderr.contains("expected a model with features of words"), "{stderr}");
    // Unlabelled training needs no labels.
    succeed(&folder, "train text.txt -m hidden.kbest -q --format text --algorithm baum-welch --states 2", "");
    assert_eq!(
        tag("hidden.kbest", "Time flies.\n").lines().count(),
        4,
        "the model remembers that it is text"
    );
}

/// A program writes a sentence and waits for the answer before it writes the next; the first lines of that are already there.
#[test]
fn a_program_can_talk_to_it() {
    let folder = two_models();
    let conllu_word = "1\tTime\t_\t_\t_\t_\t_\t_\t_\t_\n";
    for threads in ["1", "4"] {
        // Options, what is sent, what begins the next sentence, and how many lines the answer has.
        for (options, sent, begun, lines) in [
            ("columns.kbest", "flies\n\n", "Time\n", 3),
            ("columns.kbest --format jsonl", "\"flies\"]}\n", "{\"tokens\":[\"Time\",", 1),
            ("columns.kbest --format text", "flies\n", "Time ", 3),
            ("columns.kbest --format tokens", "\n", "Time", 2),
            ("columns.kbest --format text -k 2", "flies\n", "Time ", 8),
            ("conllu.kbest", "\n", conllu_word, 2),
        ] {
            let mut child = Command::new(assert_cmd::cargo::cargo_bin("kbest"))
                .current_dir(folder.path())
                .args(["tag", "--threads", threads, "-m"])
                .args(options.split(' '))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut to = child.stdin.take().unwrap();
            let mut from = BufReader::new(child.stdout.take().unwrap());
            to.write_all(begun.as_bytes()).unwrap();
            for _ in 0..20 {
                to.write_all((sent.to_owned() + begun).as_bytes()).unwrap();
                to.flush().unwrap();
                let mut answer = String::new();
                for _ in 0..lines {
                    assert!(from.read_line(&mut answer).unwrap() > 0, "{options}");
                }
                assert!(answer.contains("Time") && answer.contains("NOUN"), "{options}: {answer}");
            }
            to.write_all(sent.as_bytes()).unwrap();
            drop(to);
            assert!(child.wait().unwrap().success(), "{options}");
        }
    }
}

#[test]
fn training_says_why_it_ends_and_what_it_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let corpus =
        "generate corpus --labels 12 --sentences 150 -o train.tsv --test test.tsv --test-sentences 60";
    succeed(&folder, corpus, "");
    let (report, stderr) =
        succeed(&folder, "train train.tsv -m m.kbest --algorithm crf --dev test.tsv --dev-by f1 --json", "");
    let report: Value = serde_json::from_str(&report).unwrap();
    let epochs = report["epochs"].as_array().unwrap();
    let f1: Vec<f64> = epochs.iter().map(|epoch| epoch["dev_f1"].as_f64().unwrap()).collect();
    let best = f1.iter().copied().fold(0.0, f64::max);
    let kept = 1 + f1.iter().position(|&f1| f1 == best).unwrap();
    let ended = report["ended"].as_str().unwrap();
    assert!(ended.contains(&format!("epoch {kept} is kept, span F1")), "{ended}");
    assert!(stderr.contains(&format!("ended {ended}")), "{stderr}");
    let measured = json(&folder, "evaluate -m m.kbest test.tsv --spans runs --json");
    assert_eq!(measured["spans"]["f1"].as_f64(), Some(best), "the kept model is that of epoch {kept}");
    // A batch optimiser goes on while its loss falls.
    let losses: Vec<f64> = epochs.iter().map(|epoch| epoch["loss"].as_f64().unwrap()).collect();
    let fell = |two: &[f64]| (two[0] - two[1]) / two[1];
    let still = losses.windows(2).rev().take_while(|two| fell(two) <= 0.002).count();
    let patient = still >= 10 && losses.len() - kept >= 10;
    assert!(ended.contains("converged") || ended.contains("--epochs 100") || patient, "{ended} {losses:?}");
    assert_eq!(
        report["loss"],
        "minus the log-likelihood of the right labels, plus the penalty for large weights"
    );

    let (_, stderr) = succeed(&folder, "train train.tsv -m m.kbest --epochs 3", "");
    assert!(stderr.contains("ended after epoch 3: --epochs 3; the last is kept"), "{stderr}");
    assert!(stderr.contains("loss: the number of sequences that were not all right"), "{stderr}");
    let (_, stderr) =
        succeed(&folder, "train train.tsv -m m.kbest --epochs 50 --dev test.tsv --patience 1", "");
    assert!(stderr.contains("the held-out data saw no improvement for 1 epochs; epoch "), "{stderr}");
    let speeds = stderr.lines().filter_map(|line| line.split(" tokens/s").next()?.rsplit(' ').next());
    for speed in speeds.filter(|speed| speed.starts_with(|c: char| c.is_ascii_digit())) {
        let digits = speed.trim_end_matches(['0', ',']).replace(',', "");
        assert!(digits.len() <= 2, "{speed} has more digits than it is worth");
    }
    for (options, expected) in [
        ("--dev-by f1", "--dev-by: expected --dev (held-out data), got none"),
        ("--patience 3", "--patience: expected --dev (held-out data), got none"),
        ("--dev-by f2 --dev test.tsv", "possible values: accuracy, f1"),
    ] {
        let (code, _, stderr) = run(&folder, &format!("train train.tsv -m x.kbest {options}"), "");
        assert!(code == 2 && stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn a_model_remembers_what_it_was_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    succeed(&folder, "generate corpus --labels 10 --sentences 60 -o train.tsv --test test.tsv", "");
    let train = "train train.tsv -m m.kbest -q --seed 7 --epochs 4 --dev test.tsv --min-frequency 2";
    succeed(&folder, train, "");
    let about = json(&folder, "inspect m.kbest --json")["about"].clone();
    assert_eq!(about["options"], "--algorithm averaged --seed 7 --min-frequency 2 --epochs 4");
    assert!(about["data"].as_str().unwrap().starts_with("train.tsv: 60 sequences, "), "{about}");
    assert!(about["dev"].as_str().unwrap().starts_with("test.tsv: "), "{about}");
    assert!(about["ended"].as_str().unwrap().contains("is kept, accuracy"), "{about}");
    let first = fs::read(folder.path().join("m.kbest")).unwrap();
    succeed(&folder, train, "");
    assert_eq!(fs::read(folder.path().join("m.kbest")).unwrap(), first, "the same training, the same file");
    let shown = succeed(&folder, "inspect m.kbest", "").0;
    assert!(shown.contains("\noptions   --algorithm averaged --seed 7"), "{shown}");
    succeed(&folder, "train train.tsv -m s.kbest -q --algorithm semi-crf --longest-segment 3 --epochs 2", "");
    let about = json(&folder, "inspect s.kbest --json")["about"].clone();
    assert_eq!(about["options"], "--algorithm semi-crf --longest-segment 3 --epochs 2");
}

#[test]
fn inspect_names_parts_of_labels_and_finds_folded_words() {
    let folder = tempfile::tempdir().unwrap();
    let train = "NW\tDIR|Nom\n12th\tNUM|Nom\nSt.\tTYPE|Gen\n\nSE\tDIR|Gen\n9th\tNUM|Gen\nSt.\tTYPE|Nom\n\n";
    fs::write(folder.path().join("train.tsv"), train).unwrap();
    succeed(&folder, "train train.tsv -m m.kbest -q --features morphology", "");
    let inspected = json(&folder, "inspect m.kbest --top 1000 --json");
    let rows =
        ["positive", "negative"].map(|sign| inspected["heaviest_nodes"][sign].as_array().unwrap().clone());
    let labels: Vec<String> =
        rows.concat().iter().map(|row| row["label"].as_str().unwrap().to_owned()).collect();
    assert!(labels.iter().all(|label| !label.is_empty()), "{labels:?}");
    for part in ["part Nom", "part Gen", "part DIR"] {
        assert!(labels.iter().any(|label| label == part), "{part}: {labels:?}");
    }
    let of_one = json(&folder, "inspect m.kbest --top 1000 --json --label DIR|Nom");
    let of_one = of_one["heaviest_nodes"]["positive"].as_array().unwrap().clone();
    assert!(
        of_one.iter().any(|row| row["label"] == "part DIR")
            && of_one.iter().all(|row| row["label"] != "part Gen")
    );

    let shown = succeed(&folder, "inspect m.kbest --feature NW", "").0;
    assert!(shown.contains("w[0]=nw") && shown.contains("so `nw` was looked for, too"), "{shown}");
    let shown = succeed(&folder, "inspect m.kbest --feature 12th", "").0;
    assert!(shown.contains("w[0]=00th"), "{shown}");
    let shown = succeed(&folder, "inspect m.kbest --feature Nirgends", "").0;
    assert!(shown.contains("no feature has `Nirgends` in its name"), "{shown}");
    assert!(!succeed(&folder, "inspect m.kbest --feature suf1", "").0.contains("no feature has"));
}

#[test]
fn words_are_new_unless_they_were_spelled_like_this() {
    let folder = tempfile::tempdir().unwrap();
    let train = "The\tA\nold\tB\n1999\tC\n\nUSA\tB\n12\tC\n\n";
    let test = "the\tA\nOld\tB\n1999\tC\n\nUsa\tB\n47\tC\n12\tC\nThe\tA\n\n";
    fs::write(folder.path().join("train.tsv"), train).unwrap();
    fs::write(folder.path().join("test.tsv"), test).unwrap();
    fs::write(folder.path().join("template"), "U:%suffix[0,0,1]\n").unwrap();
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.lines().filter_map(|line| Some(line.split_once('\t')?.0))
    }
    let known: BTreeSet<&str> = words(train).collect();
    let new = words(test).filter(|word| !known.contains(word)).count();
    for options in
        ["--features words", "--features morphology", "--template template", "--algorithm hmm", "--prune 9"]
    {
        succeed(&folder, &format!("train train.tsv -m m.kbest -q {options}"), "");
        let report = json(&folder, "evaluate -m m.kbest test.tsv --json");
        assert_eq!(report["unknown_words"].as_u64(), Some(new as u64), "{options}");
    }
}

#[test]
fn all_cores_decode_in_order() {
    let folder = tempfile::tempdir().unwrap();
    succeed(&folder, "generate lattice --labels 30 --sequences 60 -o l.npz", "");
    succeed(&folder, "generate segments --labels 5 --sequences 20 -o s.npz", "");
    for file in ["l.npz -k 3 --counters", "s.npz -k 2"] {
        let alone = succeed(&folder, &format!("decode {file} --threads 1"), "").0;
        assert!(alone.lines().count() >= 20);
        for threads in ["", " --threads 3", " --threads 64"] {
            assert!(succeed(&folder, &format!("decode {file}{threads}"), "").0 == alone, "{file}{threads}");
        }
    }
    let (code, _, stderr) = run(&folder, "decode l.npz --threads 0", "");
    assert!(code == 2 && stderr.contains("--threads: expected at least 1"), "{stderr}");
    let (code, _, stderr) = run(&folder, "decode l.npz -o no/where/out.jsonl", "");
    assert!(
        code == 2 && stderr.contains("no/where/out.jsonl: cannot write: there is no folder no/where"),
        "{stderr}"
    );
    assert!(!stderr.contains(".part"), "{stderr}");
}
