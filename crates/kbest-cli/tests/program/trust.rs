//! Nothing overwritten, nothing left behind, limits with clear errors, and errors in their place.

use crate::common::kbest;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const TRAIN: &str = "time\tN\nflies\tV\n\nfruit\tN\nflies\tN\nlike\tV\n\n";

struct Folder(tempfile::TempDir);

impl Folder {
    /// A folder with training data in `train.tsv`.
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        fs::write(folder.path("train.tsv"), TRAIN).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `kbest` in this folder.
    fn run(&self, arguments: &[&str]) -> Output {
        kbest().current_dir(self.0.path()).args(arguments).output().unwrap()
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        stderr
    }

    /// Runs `kbest`, which must fail with exit code 2 and this message.
    fn refuse(&self, arguments: &[&str], expected: &str) {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    }

    fn program(&self) -> Command {
        let mut program = Command::new(assert_cmd::cargo::cargo_bin!("kbest"));
        program.current_dir(self.0.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program
    }
}

#[cfg(unix)]
#[test]
fn a_model_is_a_regular_file() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    std::os::unix::fs::symlink(folder.path("nowhere"), folder.path("link")).unwrap();
    let before = folder.names();
    for model in ["pipe", "/dev/null"] {
        folder.refuse(&["train", "train.tsv", "-m", model], &format!("{model}: expected a regular file"));
    }
    folder.refuse(&["train", "train.tsv", "-m", "link"], "link: cannot write: is a link");
    assert_eq!(folder.names(), before);
    assert!(folder.path("link").is_symlink());
}

#[test]
fn inputs_are_not_overwritten() {
    let folder = Folder::new();
    folder.write("template", "U:%x[0,0]\n");
    folder.write("m.checkpoint", TRAIN);
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q"]);
    folder.write("rules", "N\tV\n");
    fs::create_dir(folder.path("sub")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("train.tsv", folder.path("link")).unwrap();
        std::os::unix::fs::symlink("model", folder.path("model-link")).unwrap();
    }
    let before: Vec<Vec<u8>> =
        ["train.tsv", "template", "model"].map(|name| fs::read(folder.path(name)).unwrap()).into();
    let same = "expected an output file different from the input, got the same file as";
    folder.refuse(&["train", "train.tsv", "-m", "train.tsv"], same);
    folder.refuse(&["train", "train.tsv", "-m", "./sub/../train.tsv"], same);
    folder.refuse(&["train", "train.tsv", "-m", "new", "--dev", "new"], "new"); // there is none
    folder.refuse(&["train", "train.tsv", "-m", "template", "--template", "template"], same);
    folder.refuse(&["train", "train.tsv", "-m", "model", "--dev", "model"], same);
    folder.refuse(&["train", "train.tsv", "-m", "m", "--dev", "m.checkpoint"], same);
    folder.refuse(&["tag", "-m", "model", "train.tsv", "-o", "model"], same);
    folder.refuse(&["tag", "-m", "model", "train.tsv", "-o", "train.tsv"], same);
    folder.refuse(&["tag", "-m", "model", "train.tsv", "--constraints", "rules", "-o", "rules"], same);
    folder.succeed(&["generate", "lattice", "--labels", "5", "--positions", "4", "-o", "scores.npz"]);
    folder.refuse(&["bench", "decode", "scores.npz", "--repeat", "1", "--save", "scores.npz"], same);
    folder.refuse(
        &["bench", "decode", "scores.npz", "--repeat", "1", "--save", "none/report.json"],
        "none/report.json",
    );
    #[cfg(unix)]
    {
        folder.refuse(&["train", "link", "-m", "train.tsv"], same);
        folder.refuse(&["train", "train.tsv", "-m", "link"], same);
        folder.refuse(&["tag", "-m", "model", "train.tsv", "-o", "model-link"], same);
        folder.refuse(&["tag", "-m", "model-link", "train.tsv", "-o", "model"], same);
    }
    let after: Vec<Vec<u8>> =
        ["train.tsv", "template", "model"].map(|name| fs::read(folder.path(name)).unwrap()).into();
    assert_eq!(before, after);
}

#[test]
fn files_of_others_are_never_deleted() {
    for (name, expected) in [
        ("model.checkpoint", "expected a checkpoint of `kbest train`, or no such file"),
        ("model.best", "expected the best model of an unfinished `kbest train`, or no such file"),
        ("model.lock", "expected a lock of `kbest train`, or no such file"),
    ] {
        let folder = Folder::new();
        folder.write(name, "mine");
        folder.refuse(&["train", "train.tsv", "-m", "model", "-q"], expected);
        assert_eq!(fs::read_to_string(folder.path(name)).unwrap(), "mine");
        assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
    }
    // A model that somebody named like this is not the best model of a run.
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "model.best", "-q"]);
    folder.refuse(&["train", "train.tsv", "-m", "model", "-q"], "model.best: expected the best model of");
    assert!(folder.path("model.best").exists());
}

/// A run that a signal ends after its first pass, with what it said.
#[cfg(unix)]
fn interrupted(folder: &Folder, signal: &str, arguments: &[&str]) -> String {
    let child = folder.program().arg("train").args(arguments).spawn().unwrap();
    let begun = Instant::now();
    while !folder.path("model.checkpoint").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

const LONG: [&str; 6] = ["train.tsv", "-m", "model", "--epochs", "100000000", "--algorithm"];

/// Contradictions, so that training never converges.
fn endless(folder: &Folder) {
    folder.write("train.tsv", &"a\tN\n\na\tV\n\n".repeat(50));
}

#[cfg(unix)]
#[test]
fn signals_leave_no_unfinished_file_and_say_how_to_go_on() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        endless(&folder);
        let stderr = interrupted(&folder, signal, &[&LONG[..], &["averaged", "-q"]].concat());
        assert!(stderr.contains("the same command with --resume goes on from"), "{stderr}");
        assert_eq!(folder.names(), ["model.checkpoint", "train.tsv"], "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_left_behind_is_removed_by_the_next() {
    let folder = Folder::new();
    endless(&folder);
    interrupted(&folder, "-KILL", &[&LONG[..], &["averaged", "-q"]].concat());
    folder.write(".model.4000000000-AbCd12.part", "half a model");
    folder.write(".model.checkpoint.4000000000-AbCd12.part", "half a checkpoint");
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q", "--epochs", "2"]);
    assert_eq!(folder.names(), ["model", "train.tsv"]);
}

#[cfg(unix)]
#[test]
fn one_model_has_one_trainer() {
    let folder = Folder::new();
    endless(&folder);
    let mut first = folder.program().arg("train").args(LONG).args(["averaged", "-q"]).spawn().unwrap();
    let begun = Instant::now();
    while !folder.path("model.checkpoint").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    let expected =
        format!("expected a model that nobody else trains, got one in training by process {}", first.id());
    folder.refuse(&["train", "train.tsv", "-m", "model", "--epochs", "1"], &expected);
    folder.refuse(&["train", "train.tsv", "-m", "./model", "--epochs", "1", "--resume"], &expected);
    assert!(folder.path("model.checkpoint").exists(), "the refused run touched nothing");
    first.kill().unwrap();
    first.wait().unwrap();
    let stderr = folder.succeed(&["train", "train.tsv", "-m", "model", "--epochs", "1"]);
    assert!(stderr.contains("starting over"), "a killed run locks nobody out: {stderr}");
}

#[cfg(unix)]
#[test]
fn runs_resume_with_the_same_data_features_and_options_only() {
    let folder = Folder::new();
    endless(&folder);
    let options = |more: &[&'static str]| [&LONG[..4], more].concat();
    interrupted(&folder, "-KILL", &[&LONG[..], &["averaged", "-q"]].concat());
    let other = "expected a checkpoint of the same data and options";
    let resume = |more: &[&'static str], expected: &str| {
        let arguments = [&["train"], &options(&["5000000", "--resume", "-q"])[..], more].concat();
        folder.refuse(&arguments, expected);
    };
    resume(&["--algorithm", "pa"], other);
    resume(&["--seed", "7"], other);
    resume(&["--min-frequency", "2"], other);
    resume(&["--features", "columns"], other);
    resume(&["--dev", "train.tsv"], other);
    folder.write("template", "U:%x[0,0]\n");
    resume(&["--template", "template"], other);
    // Other words with the same shape: only a later feature of each position differs.
    folder.write("train.tsv", &"a\tN\n\nb\tV\n\n".repeat(50));
    resume(&[], other);
    endless(&folder);
    let stderr = folder.succeed(&["train", "train.tsv", "-m", "other", "--epochs", "1", "--resume"]);
    assert!(stderr.contains("no checkpoint to resume from"), "{stderr}");
}

#[test]
fn absurd_numbers_are_refused() {
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q"]);
    for (arguments, expected) in [
        (&["tag", "-m", "model", "--threads", "40000"][..], "--threads: expected at most 1024, got 40000"),
        (&["evaluate", "-m", "model", "train.tsv", "--threads", "40000"], "--threads: expected at most 1024"),
        (
            &["train", "train.tsv", "-m", "new", "--threads", "40000"],
            "--threads: expected 1 to 1024, got 40000",
        ),
        (
            &[
                "train",
                "train.tsv",
                "-m",
                "new",
                "--algorithm",
                "baum-welch",
                "--states",
                "18446744073709551615",
            ],
            "states: expected at most 65536",
        ),
        (
            &["train", "train.tsv", "-m", "new", "--algorithm", "baum-welch", "--states", "60000"],
            "states: expected at most 268435456 probabilities",
        ),
        (
            &["evaluate", "-m", "model", "train.tsv", "--min-accuracy", "nan"],
            "--min-accuracy: expected a share from 0 to 1, got NaN",
        ),
        (
            &["evaluate", "-m", "model", "train.tsv", "--min-f1", "1.5"],
            "--min-f1: expected a share from 0 to 1",
        ),
    ] {
        folder.refuse(arguments, expected);
    }
}

#[test]
fn long_labels_are_reported() {
    let folder = Folder::new();
    let label = "x".repeat(70_000);
    folder.write("long.tsv", &format!("a\t{label}\t{label}\nb\tN\t{label}\n"));
    let output = folder.run(&["evaluate", "long.tsv", "--labels", "3", "--confusions", "3"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(output.stdout).unwrap().contains(&label));
}

#[test]
fn text_from_files_is_escaped() {
    let folder = Folder::new();
    folder.write("train.tsv", "a\u{1b}[31m\tN\u{7}\nb\tV\n\n");
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q"]);
    for arguments in [&["inspect", "model"][..], &["evaluate", "-m", "model", "train.tsv"]] {
        let shown = folder.run(arguments).stdout;
        assert!(!shown.iter().any(|byte| byte.is_ascii_control() && *byte != b'\n'), "{arguments:?}");
        assert!(String::from_utf8_lossy(&shown).contains("\\u{7}"), "{arguments:?}");
    }
    let output = folder.run(&["tag", "-m", "none\u{1b}[31m\nsecond line"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
    assert!(stderr.contains("none\\u{1b}[31m\\nsecond line"), "{stderr}");
}

/// Two lines that cannot be read, in the middle: everything before the first is written, and the first is reported.
#[test]
fn the_first_error_by_position_wins_and_what_is_before_it_is_written() {
    let folder = Folder::new();
    folder.write("train.tsv", "1\t2\tN\n3\t4\tV\n\n");
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q", "--features", "numbers"]);
    let mut text = "1\t2\n3\t4\n\n".repeat(3000);
    text.push_str("1\tbad\n\n");
    text.push_str(&"1\t2\n\n".repeat(3000));
    text.push_str("worse\t2\n\n");
    folder.write("data.tsv", &text);
    for threads in ["1", "2", "7"] {
        let output = folder.run(&["tag", "-m", "model", "data.tsv", "--threads", threads]);
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("data.tsv:9001: column 2 of position 0: expected a number, got \"bad\""),
            "{stderr}"
        );
        assert_eq!(stdout.lines().count(), 9000, "{threads} threads");
        assert!(stdout.ends_with("\n\n"), "whole sentences");
    }
}

#[test]
fn nothing_of_the_input_is_lost() {
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q"]);
    let tag = |name: &str, text: &str| {
        folder.write(name, text);
        let output = folder.run(&["tag", "-m", "model", name]);
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (stdout, _) = tag(
        "a.jsonl",
        "{\"id\":7,\"tokens\":[\"time\"],\"meta\":{\"b\": [1, 2.50],\"a\":null},\"x\\ty\":\"\\u00e9\"}\n",
    );
    assert_eq!(
        stdout,
        "{\"tokens\":[\"time\"],\"tags\":[\"N\"],\"id\":7,\"meta\":{\"b\": [1, 2.50],\"a\":null},\"x\\ty\":\"\\u00e9\"}\n"
    );
    let word = "1\ttime\t_\t_\t_\t_\t_\t_\t_\t_\n";
    let (stdout, _) = tag("a.conllu", &format!("# first\n{word}\n# last\n# of all\n"));
    assert!(stdout.contains("# first\n1\ttime") && stdout.contains("# last\n# of all\n"), "{stdout}");
    for text in [" time\n", "time\n\tflies\n"] {
        let (stdout, stderr) = tag("a.tsv", text);
        assert!(stderr.contains("expected a first column, or a blank line, got a blank at"), "{stderr}");
        assert!(!stdout.contains("flies"));
    }
    let (stdout, _) = tag("a.tsv", "time\n \t \nflies\n");
    assert_eq!(stdout, "time\tN\n\nflies\tV\n\n", "a line of blanks is a blank line");
}

#[test]
fn long_lines_have_a_limit() {
    let folder = Folder::new();
    folder.succeed(&["train", "train.tsv", "-m", "model", "-q"]);
    fs::write(folder.path("long.tsv"), vec![b'x'; (64 << 20) + 2]).unwrap();
    folder.refuse(&["tag", "-m", "model", "long.tsv"], "long.tsv:1: expected a line of at most 64 MiB");
    folder.write("wide.tsv", &"x ".repeat(70_000));
    folder
        .refuse(&["tag", "-m", "model", "wide.tsv"], "wide.tsv:1: expected at most 65536 columns, got 70000");
}

/// Scores beyond the range of floats: every decoder, k best and marginals name the sequence.
#[test]
fn scores_out_of_range_name_the_sequence() {
    let folder = Folder::new();
    folder.write("train.items", "N\ta:1\tb:2\nV\ta:2\tb:1\n\n");
    folder.succeed(&["train", "train.items", "-m", "model", "-q"]);
    folder.write("huge.items", "N\ta:1\n\nN\ta:2e38\tb:2e38\nV\ta:2e38\n\n");
    let decoders = [
        "auto",
        "funnel",
        "viterbi",
        "viterbi-simd",
        "carpediem",
        "staggered",
        "astar",
        "iterative-astar",
        "beam",
    ];
    for decoder in decoders {
        for more in [&[][..], &["--marginals"], &["--keep-labels"]] {
            let arguments = [&["tag", "-m", "model", "huge.items", "--decoder", decoder], more].concat();
            folder.refuse(&arguments, "huge.items:3: the scores of a path may add up to");
        }
    }
    folder.refuse(&["tag", "-m", "model", "huge.items", "-k", "3"], "huge.items:3: the scores of a path may");
    folder.refuse(&["evaluate", "-m", "model", "huge.items"], "huge.items:3: the scores of a path may");
}
