//! User errors and their messages: file, line, expected, got; exit code 2 (or 1 if a check failed).

use crate::common::kbest;
use std::fs;
use std::path::Path;

const GOOD: &str = "time\tNOUN\nflies\tVERB\n\narrows\tNOUN\n\n";

fn run(folder: &Path, arguments: &str) -> (i32, String) {
    let arguments = arguments.split(' ').filter(|argument| !argument.is_empty());
    let output = kbest().current_dir(folder).args(arguments).write_stdin("").output().unwrap();
    assert!(output.status.code() == Some(0) || output.stdout.is_empty() || output.status.code() == Some(1));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A folder with good and bad data, and a model.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files: [(&str, &[u8]); 13] = [
        ("good.tsv", GOOD.as_bytes()),
        ("two.tsv", b"time NN NOUN\nflies VBZ VERB\n\n"),
        ("ragged.tsv", b"time\tNOUN\nflies\tx\tVERB\n"),
        ("lonely.tsv", b"time\tNOUN\nflies\n"),
        ("empty.tsv", b""),
        ("blank.tsv", b"\n\n\n"),
        ("bytes.tsv", b"time\tNOUN\nfl\xffies\tVERB\n"),
        ("bad.jsonl", b"{\"tokens\":[\"a\"],\"tags\":[\"X\"]}\n{\"tokens\":[\"a\"],\"tags\":[]}\n"),
        ("bad.conllu", b"1\ta\t_\tX\t_\t_\t_\t_\t_\t_\nx\tb\t_\tX\t_\t_\t_\t_\t_\t_\n"),
        ("bad.items", b"X\ta:1\nX\ta:b\n"),
        ("bad.template", b"U0:%x[0,0]\nX\n"),
        ("far.template", b"U0:%x[0,2]\n"),
        ("forbid.tsv", b"NOUN\tNOUN\nNOUN\tADJ\n"),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    assert_eq!(run(folder.path(), "train good.tsv -m m.kbest -q"), (0, String::new()));
    assert_eq!(run(folder.path(), "train two.tsv -m two.kbest -q"), (0, String::new()));
    folder
}

#[test]
fn bad_data_is_named_with_its_line() {
    let folder = folder();
    for (file, expected) in [
        ("ragged.tsv", "ragged.tsv:2: expected 2 columns, got 3"),
        ("lonely.tsv", "lonely.tsv:2: expected at least two columns"),
        ("empty.tsv", "empty.tsv: expected at least one sequence, got an empty file"),
        ("blank.tsv", "blank.tsv: expected at least one sequence, got only blank lines"),
        ("bytes.tsv", "bytes.tsv:2: expected UTF-8, got byte 0xff"),
        ("bad.jsonl", "bad.jsonl:2: expected 1 tags"),
        ("bad.conllu", "bad.conllu:2: expected a word number"),
        ("bad.items", "bad.items:2: expected a number after the colon"),
        ("nosuch.tsv", "nosuch.tsv: No such file"),
    ] {
        for command in
            ["train FILE -m x.kbest", "train good.tsv -m x.kbest --dev FILE", "evaluate -m m.kbest FILE"]
        {
            let (code, message) = run(folder.path(), &command.replace("FILE", file));
            assert_eq!(code, 2, "{command}: {message}");
            assert!(message.contains(expected), "{command}: expected {expected}, got {message}");
        }
        assert!(!folder.path().join("x.kbest").exists());
    }
    assert_eq!(run(folder.path(), "tag -m m.kbest empty.tsv"), (0, String::new()), "nothing in, nothing out");
    let (code, message) = run(folder.path(), "tag -m m.kbest -o out.tsv good.tsv ragged.tsv");
    assert!(code == 2 && message.contains("ragged.tsv:2:"), "{message}");
    assert!(!folder.path().join("out.tsv").exists(), "nothing half-written");
    let (code, message) = run(folder.path(), "tag -m two.kbest lonely.tsv");
    assert!(code == 2 && message.contains("lonely.tsv:"), "{message}");
    let (code, message) = run(folder.path(), "evaluate -m two.kbest good.tsv");
    assert!(
        code == 2 && message.contains("good.tsv:1: columns of position 0: expected at least 2"),
        "{message}"
    );
}

#[test]
fn bad_options_are_explained() {
    let folder = folder();
    for (arguments, expected) in [
        (
            "train good.tsv -m x.kbest --template bad.template",
            "bad.template:2: expected a line that begins with U",
        ),
        (
            "train good.tsv -m x.kbest --template far.template",
            "far.template: expected column numbers below 1",
        ),
        ("train good.tsv -m x.kbest --template nosuch", "nosuch: No such file"),
        ("train good.tsv -m x.kbest --features wrods", "expected one of words, morphology, columns"),
        ("train good.tsv -m x.kbest --format conllx", "expected one of columns, items, conllu, jsonl"),
        ("train bad.conllu -m x.kbest --label upos+foo", "unknown CoNLL-U field `foo`"),
        ("train bad.conllu -m x.kbest --label id", "label expression"),
        ("train good.tsv -m no/x.kbest", "no/x.kbest: cannot write"),
        ("train good.tsv -m .", "cannot write"),
        ("train good.tsv -m x.kbest --algorithm averaged --c2 1", "--c2: expected --algorithm crf"),
        (
            "train good.tsv -m x.kbest --algorithm crf --decoder beam",
            "--decoder: expected --algorithm averaged",
        ),
        ("train good.tsv -m x.kbest --algorithm crf --rate 1", "--rate: expected --optimizer sgd"),
        (
            "train good.tsv -m x.kbest --algorithm crf --optimizer sgd --c1 1",
            "--c1: expected --optimizer lbfgs, got sgd",
        ),
        ("train good.tsv -m x.kbest --algorithm crf --c2=-1", "--c2: expected at least 0, got -1"),
        ("train good.tsv -m x.kbest --algorithm pa --longest 0", "--longest: expected more than 0"),
        (
            "train good.tsv -m x.kbest --algorithm voted --prune 1",
            "--prune: expected --algorithm averaged, perceptron, pa, crf or hmm, got voted",
        ),
        ("train good.tsv -m x.kbest --prune=-1", "--prune: expected at least 0"),
        ("train good.tsv -m x.kbest --epochs 0", "--epochs: expected at least 1"),
        ("train good.tsv -m x.kbest --threads 0", "--threads: expected 1 to 1024"),
        (
            "train good.tsv -m x.kbest --algorithm hmm --features words",
            "--features: expected --algorithm averaged,",
        ),
        ("train good.tsv -m x.kbest --optimiser sgd", "--optimizer"),
        ("train good.tsv -m x.kbest --epochs many", "--epochs"),
        ("train good.tsv -m x.kbest --prune 1 --keep-features", "--keep-features: expected no prune"),
        ("train good.tsv -m x.kbest --algorithm voted --threads 2", "threads of the perceptron: expected 1"),
        ("train good.tsv -m x.kbest --decoder vitrebi", "unknown decoder `vitrebi`"),
        ("train good.tsv -m x.kbest --algorithm magic", "magic"),
        ("tag -m nosuch.kbest good.tsv", "nosuch.kbest: No such file"),
        (
            "tag -m good.tsv good.tsv",
            "good.tsv: expected a kbest or CRFsuite model, or a text model of CRF++",
        ),
        ("tag -m m.kbest -k 0 good.tsv", "-k: expected at least 1"),
        ("tag -m m.kbest --threads 0 good.tsv", "--threads: expected at least 1"),
        ("tag -m m.kbest -k 2 --decoder viterbi-simd good.tsv", "viterbi-simd"),
        ("tag -m m.kbest --constraints auto good.tsv", "expected labels that encode spans"),
        ("tag -m m.kbest --constraints nosuch good.tsv", "a transition file, got `nosuch`"),
        ("tag -m m.kbest --constraints forbid.tsv good.tsv", "forbid.tsv:2: expected a label"),
        ("tag -m m.kbest --constraints bytes.tsv good.tsv", "bytes.tsv:2: expected UTF-8"),
        ("evaluate -m m.kbest good.tsv --spans weird", "unknown tagging scheme `weird`"),
        ("evaluate -m m.kbest good.tsv --min-f1 0.5", "--min-f1: expected labels that encode spans"),
        ("evaluate bad.jsonl", "expected a list `gold` beside `tags`, or --predicted FILE"),
        ("evaluate lonely.tsv", "lonely.tsv:2: expected at least two columns"),
        ("inspect nosuch.kbest", "nosuch.kbest: No such file"),
    ] {
        let (code, message) = run(folder.path(), arguments);
        assert_eq!(code, 2, "{arguments}: {message}");
        assert!(message.contains(expected), "{arguments}: expected {expected}, got {message}");
    }
    assert!(!folder.path().join("x.kbest").exists());
}

#[test]
fn a_missed_minimum_is_exit_code_1() {
    let folder = folder();
    fs::write(folder.path().join("wrong.tsv"), "a\tno-such-label\nb\tNOUN\n").unwrap();
    let (code, message) = run(folder.path(), "evaluate -m m.kbest wrong.tsv --min-accuracy 0.99");
    assert!(code == 1 && message.contains("expected at least 0.99"), "{message}");
    assert_eq!(run(folder.path(), "evaluate -m m.kbest good.tsv --min-accuracy 0.5").0, 0);
}

#[test]
fn a_checkpoint_of_something_else_is_refused() {
    let folder = folder();
    fs::write(folder.path().join("x.kbest.checkpoint"), "nonsense that is long enough").unwrap();
    for command in ["train good.tsv -m x.kbest --resume", "train good.tsv -m x.kbest -q"] {
        let (code, message) = run(folder.path(), command);
        assert!(code == 2 && message.contains("x.kbest.checkpoint: expected a checkpoint of"), "{message}");
    }
    fs::write(folder.path().join("x.kbest.checkpoint"), "kbestck1 and no more").unwrap();
    let (code, message) = run(folder.path(), "train good.tsv -m x.kbest --resume");
    assert!(code == 2 && message.contains("x.kbest.checkpoint: expected a complete checkpoint"), "{message}");
    let (code, message) = run(folder.path(), "train good.tsv -m x.kbest -q");
    assert_eq!((code, message), (0, String::new()), "ignored without --resume");
    assert!(!folder.path().join("x.kbest.checkpoint").exists());
}
