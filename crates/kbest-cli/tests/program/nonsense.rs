//! No silent nonsense: what cannot be meant is refused, what looks wrong gets a warning, and both say what to do.

use crate::common::Workshop;

const TRAIN: &str = "the\tD\nold\tA\nman\tN\n\nthe\tD\nboats\tN\nsail\tV\n\nold\tA\nboats\tN\n\n";

fn workshop() -> Workshop {
    let here = Workshop::new();
    here.write("train.tsv", TRAIN);
    here.stdout("train train.tsv -m model.kbest -q");
    here
}

fn assert_says(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "expected {part:?} in {text:?}"));
}

#[test]
fn a_sentence_on_one_line_is_noticed() {
    let here = workshop();
    let warning = here.warning("tag -m model.kbest", "the old man sails\n");
    assert_says(&warning, &["<stdin>:1", "4 columns", "--format text"]);
    // Sentences of different lengths cannot even be read as columns.
    let (code, _, stderr) = here.run_with("tag -m model.kbest", "the old man\nthe boats\n");
    assert_eq!(code, 2);
    assert_says(&stderr, &["<stdin>:2", "--format text"]);
    // A token of its own, and one with its label beside it, are what they seem; so is a wider table of several tokens.
    for text in ["man\n", "man\tN\n", "the a D\nold b A\n"] {
        let (code, _, stderr) = here.run_with("tag -m model.kbest", text);
        assert_eq!((code, stderr.as_str()), (0, ""), "{text:?}");
    }
}

#[test]
fn words_are_not_compared_with_labels() {
    let here = workshop();
    let refusal = here.refusal("evaluate train.tsv", "");
    assert_says(&refusal, &["train.tsv", "-m MODEL", "`the`", "`D`"]);
    let tagged = here.stdout("tag -m model.kbest train.tsv");
    let (code, stdout, _) = here.run_with("evaluate", &tagged);
    assert_eq!(code, 0);
    assert_says(&stdout, &["tokens    100.00 %"]);
    // Gold and predicted labels alone, with mistakes.
    let (code, stdout, _) = here.run_with("evaluate", "A A\nB A\nB B\n");
    assert_eq!(code, 0);
    assert_says(&stdout, &["66.67 %"]);
}

#[test]
fn a_model_of_attributes_says_that_it_knows_none() {
    let here = Workshop::new();
    here.write("train.items", "D\tw=the\nN\tw=man\n\nD\tw=the\nN\tw=boat\n");
    here.stdout("train train.items -m model.kbest -q");
    here.write("test.tsv", "the\tD\nman\tN\n");
    let warning = here.warning("tag -m model.kbest test.tsv", "");
    assert_says(&warning, &["none of the 2 attributes", "--format items"]);
    let (code, stdout, stderr) = here.run("evaluate -m model.kbest test.tsv");
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert_says(&stderr, &["expected labels of the model, such as `D`, `N`", "`man`, `the`", "--format"]);
    assert_says(&here.stdout("evaluate -m model.kbest train.items"), &["tokens    100.00 %"]);
}

#[test]
fn probabilities_are_no_part_of_labels() {
    let here = workshop();
    let tagged = here.stdout("tag -m model.kbest --marginals train.tsv");
    assert!(tagged.contains("D/"), "{tagged}");
    let (code, stdout, stderr) = here.run_with("evaluate", &tagged);
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert_says(&stdout, &["tokens    100.00 %", "expected calibration error"]);
    // Labels that merely contain such numbers are left alone.
    let (_, stdout, _) = here.run_with("evaluate", "a X/0.5000 X/0.5000\nb Y Y\n");
    assert_says(&stdout, &["X/0.5000"]);
}

#[test]
fn several_answers_are_not_compared() {
    let here = workshop();
    for options in ["-k 2", "--scores", "-k 2 --marginals"] {
        let tagged = here.stdout(&format!("tag -m model.kbest {options} train.tsv"));
        let refusal = here.refusal("evaluate", &tagged);
        assert_says(&refusal, &["<stdin>:1", "# 0 ", "tag without -k and --scores"]);
    }
    let lines = "{\"tokens\":[\"the\",\"man\"],\"tags\":[\"D\",\"N\"],\"gold\":[\"D\",\"N\"]}\n";
    here.write("text.jsonl", lines);
    let tagged = here.stdout("tag -m model.kbest -k 2 text.jsonl");
    let refusal = here.refusal("evaluate --format jsonl", &tagged);
    assert_says(&refusal, &["tag without -k"]);
    let tagged = here.stdout("tag -m model.kbest text.jsonl");
    let (code, stdout, _) = here.run_with("evaluate --format jsonl", &tagged);
    assert_eq!(code, 0);
    assert_says(&stdout, &["(2 of 2)"]);
}

#[test]
fn a_scheme_needs_labels_that_spell_it() {
    let here = workshop();
    for scheme in ["bio", "iobes", "conlleval"] {
        let refusal = here.refusal(&format!("evaluate -m model.kbest train.tsv --spans {scheme}"), "");
        assert_says(&refusal, &[&format!("--spans {scheme}"), "such as B-PER", "`A`", "--spans runs"]);
    }
    assert_says(&here.stdout("evaluate -m model.kbest train.tsv --spans runs"), &["all spans"]);
    let (code, stdout, _) = here.run_with("evaluate --spans bio", "a B-X B-X\nb O B-X\n");
    assert_eq!(code, 0);
    assert_says(&stdout, &["all spans"]);
    let (code, ..) = here.run_with("evaluate --spans bio", "a O O\n");
    assert_eq!(code, 0, "no span at all is no mistake");
}

#[test]
fn a_misspelt_label_to_keep_is_noticed() {
    let here = Workshop::new();
    here.write("train.tsv", "the\tDET\nold\tADJ\nman\tNOUN\n\nold\tADJ\nboats\tNOUN\n\n");
    here.stdout("train train.tsv -m model.kbest -q");
    here.write("partly.tsv", "the\tDET\nold\tNUON\nman\t_\nboats\t?\n\n");
    let warning = here.warning("tag -m model.kbest --keep-labels partly.tsv", "");
    assert_says(&warning, &["--keep-labels: 1 labels", "`NUON`", "`NOUN` perhaps"]);
    here.write("partly.tsv", "the\tDET\nold\tNOUN\nman\t_\n\n");
    let tagged = here.stdout("tag -m model.kbest --keep-labels partly.tsv");
    assert_says(&tagged, &["old\tNOUN\tNOUN"]);
    here.stdout("train train.tsv -m segments.kbest --algorithm semi -q");
    here.write("partly.tsv", "the\tDETT\nold\t_\n\n");
    let warning = here.warning("tag -m segments.kbest --keep-labels partly.tsv", "");
    assert_says(&warning, &["`DETT`", "`DET` perhaps"]);
}
