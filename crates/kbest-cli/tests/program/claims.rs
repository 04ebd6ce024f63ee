//! What docs/text.md says of "every command" is true; shells and `man` know all commands; help is not ragged.

use crate::common::{Workshop, kbest};

const DATA: &str = "the\tD\nold\tA\nman\tN\n\nthe\tD\nboats\tN\n\n";

/// A CRF++ model with the labels A, D and N.
const FOREIGN: &str =
    "version: 100\ncost-factor: 1\nmaxid: 3\nxsize: 1\n\nA\nD\nN\n\nU:%x[0,0]\n\n0 U:the\n\n1\n2\n0\n";

fn workshop() -> Workshop {
    let here = Workshop::new();
    here.write("data.tsv", DATA);
    here.write("model.txt", FOREIGN);
    here
}

#[test]
fn text_and_scores_come_from_stdin() {
    let here = workshop();
    here.stdout("generate lattice --labels 3 --sequences 2 -o lattice.npz");
    for command in [
        "train -m new.kbest -q",
        "tag -m model.txt",
        "tag -m model.txt -",
        "evaluate -m model.txt",
        "calibrate -m model.txt -o calm.kbest -q",
    ] {
        let (code, _, stderr) = here.run_with(command, DATA);
        assert_eq!(code, 0, "{command}: {stderr}");
    }
    let scores = std::fs::read(here.folder().join("lattice.npz")).unwrap();
    let output = kbest().arg("decode").write_stdin(scores).output().unwrap();
    assert!(output.status.success());
}

#[test]
fn output_goes_to_a_file_if_one_is_named() {
    let here = workshop();
    here.stdout("generate lattice --labels 3 --sequences 2 -o lattice.npz");
    for command in [
        "tag -m model.txt data.tsv",
        "evaluate -m model.txt data.tsv",
        "decode lattice.npz",
        "completions bash",
        "man tag",
    ] {
        let printed = here.stdout(command);
        assert_eq!(here.stdout(&format!("{command} -o out")), "", "{command}");
        assert_eq!(here.read("out"), printed, "{command}");
    }
}

#[test]
fn models_of_other_programs_are_taken_everywhere() {
    let here = workshop();
    for command in [
        "tag -m model.txt data.tsv",
        "evaluate -m model.txt data.tsv --marginals --errors",
        "inspect model.txt",
        "calibrate -m model.txt data.tsv -o calm.kbest -q",
        "tag -m calm.kbest --marginals data.tsv",
        "convert model.txt model.kbest -q",
        "bench tag model.txt data.tsv --repeat 1",
    ] {
        here.stdout(command);
    }
}

/// All commands, by their words.
fn commands() -> Vec<Vec<String>> {
    fn below(prefix: &[String], found: &mut Vec<Vec<String>>) {
        let output = kbest().args(prefix).arg("--help").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let Some((_, list)) = text.split_once("\nCommands:\n") else { return };
        for line in list.lines().take_while(|line| !line.is_empty()) {
            let name = line.split_whitespace().next().unwrap_or_default();
            // Lines that go on begin with more blanks.
            if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
                let command = [prefix, &[name.to_owned()]].concat();
                found.push(command.clone());
                below(&command, found);
            }
        }
    }
    let mut found = vec![vec![]];
    below(&[], &mut found);
    found
}

#[test]
fn help_is_narrow_and_has_examples() {
    let all = commands();
    assert!(all.len() > 15, "{all:?}");
    for command in all {
        let help = |option: &str, columns: &str| {
            let output = kbest().args(&command).arg(option).env("COLUMNS", columns).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let text = help("--help", "200");
        assert_eq!(text, help("-h", "200"), "{command:?}");
        assert!(text.contains("\nExamples:\n  kbest "), "{command:?}");
        // Tables in the texts are made for 80 columns, so everything else keeps to them, too.
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{command:?}");
    }
}

#[test]
fn shells_and_man_know_all_commands() {
    let here = workshop();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = here.stdout(&format!("completions {shell}"));
        assert!(["evaluate", "calibrate", "marginals"].iter().all(|word| script.contains(word)), "{shell}");
    }
    here.stdout("man --all pages");
    for command in commands() {
        let page = [&["kbest".to_owned()][..], &command].concat().join("-");
        let text = here.read(&format!("pages/{page}.1"));
        assert!(text.contains(".TH") && text.contains(&page.replace('-', "\\-")), "{page}");
    }
    let refusal = here.refusal("man frobnicate", "");
    assert!(refusal.contains("expected a command") && refusal.contains("tag"), "{refusal}");
    assert!(here.stdout("man bench decode").contains("kbest\\-bench\\-decode"));
}
