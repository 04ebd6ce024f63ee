//! Every training algorithm and feature set, crossed with every option of `kbest tag`, as a user types them.

use crate::common::kbest;
use std::fmt::Write;
use std::path::Path;

/// Labels of spans with a part that several share, so that feature set `morphology` has parts to learn.
const LABELS: [&str; 5] = ["O|s", "B-X|s", "I-X|p", "B-Y|p", "I-Y|s"];

fn run(arguments: &[&str]) -> String {
    let output = kbest().args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "kbest {}: {stderr}", arguments.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

/// Sentences of two to six words whose labels are mostly legal spans, and often not.
fn corpus(sentences: u32) -> String {
    let mut text = String::new();
    let mut state = 1u32;
    let mut below = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % n
    };
    for _ in 0..sentences {
        let mut label = 0;
        for _ in 0..2 + below(5) {
            let word = below(12);
            label = match (label, below(4)) {
                (_, 0) => below(5) as usize,
                (1 | 2, 1) => 2,
                (3 | 4, 1) => 4,
                _ => [0, 1, 3][(word % 3) as usize],
            };
            writeln!(text, "word{word}\t{}", LABELS[label]).unwrap();
        }
        text.push('\n');
    }
    text
}

/// The label sequences of tagged columns.
fn labels(tagged: &str) -> Vec<Vec<String>> {
    let blocks = tagged.split("\n\n").filter(|block| !block.trim().is_empty());
    let label = |line: &str| line.rsplit('\t').next().unwrap().to_owned();
    let of_block = |block: &str| block.lines().filter(|line| !line.starts_with('#')).map(label).collect();
    blocks.map(of_block).collect()
}

fn is_legal(labels: &[String]) -> bool {
    let kind = |label: &str| label.chars().nth(2);
    let inside = |label: &str| label.starts_with('I');
    let follows = |two: &[String]| !inside(&two[1]) || two[0].len() > 3 && kind(&two[0]) == kind(&two[1]);
    !inside(&labels[0]) && labels.windows(2).all(follows)
}

#[test]
fn models_by_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| std::fs::write(Path::new(&path(name)), text).unwrap();
    write("train.tsv", &corpus(80));
    write("shared.template", "U0:%x[0,0]\nU1:%x[-1,0]\nB\n");
    write("observed.template", "U0:%x[0,0]\nB0:%x[0,0]\n");
    write("legal.tsv", "!O|s\tI-*\n!*X*\tI-Y*\n!*Y*\tI-X*\n!^\tI-*\n");
    let test = corpus(120).split("\n\n").skip(85).collect::<Vec<_>>().join("\n\n"); // not seen in training
    let words: String = test.lines().map(|line| format!("{}\n", line.split('\t').next().unwrap())).collect();
    write("words.tsv", &words);
    // Every other label is known, and a legal path is left.
    let known = (0..).zip(test.lines()).map(|(i, line)| match line.split_once('\t') {
        Some((word, _)) if i % 2 == 0 => format!("{word}\t_\n"),
        Some((word, "I-X|p")) => format!("{word}\tB-X|s\n"),
        Some((word, "I-Y|s")) => format!("{word}\tB-Y|p\n"),
        _ => format!("{line}\n"),
    });
    let known: String = known.collect();
    write("known.tsv", &known);

    let (shared, observed) = (path("shared.template"), path("observed.template"));
    let features: [&[&str]; 4] = [
        &["--features", "words"],
        &["--features", "morphology"],
        &["--template", &shared],
        &["--template", &observed],
    ];
    let mut models = Vec::new();
    for (i, features) in features.iter().enumerate() {
        for algorithm in ["averaged", "voted", "pa", "crf"] {
            models.push((format!("{algorithm}{i}"), algorithm, features.to_vec()));
        }
    }
    models.push(("hmm".into(), "hmm", vec![]));
    for (i, features) in features.iter().take(3).enumerate() {
        models.push((format!("dual-linear{i}"), "dual", features.to_vec()));
        models.push((format!("dual-poly{i}"), "dual", [features, &["--kernel", "poly:2"][..]].concat()));
        let margin = ["--kernel", "rbf:0.1", "--loss", "margin", "--C", "10"];
        models.push((format!("dual-margin{i}"), "dual", [features, &margin[..]].concat()));
    }
    let mut illegal = 0;
    for (name, algorithm, features) in models {
        let model = path(&format!("{name}.kbest"));
        let epochs = if algorithm == "crf" { "20" } else { "2" };
        let train = ["train", &path("train.tsv"), "-m", &model, "-q", "--algorithm", algorithm];
        run(&[&train[..], &["--epochs", epochs], &features[..]].concat());
        let tag = |file: &str, more: &[&str]| run(&[&["tag", "-m", &model, &path(file)], more].concat());

        let free = labels(&tag("words.tsv", &[]));
        illegal += free.iter().filter(|labels| !is_legal(labels)).count();
        let legal: &[&str] = &["--constraints", &path("legal.tsv")];
        let constrained = tag("words.tsv", legal);
        assert!(labels(&constrained).iter().all(|labels| is_legal(labels)), "{name}: {constrained}");
        let count = words.split("\n\n").filter(|block| !block.trim().is_empty()).count();
        assert_eq!(
            [free.len(), labels(&constrained).len()],
            [count; 2],
            "{name}: every sequence is answered"
        );
        for (free, constrained) in free.iter().zip(labels(&constrained)) {
            assert!(!is_legal(free) || *free == constrained || algorithm == "voted", "{name}: {free:?}");
        }

        let kept = tag("known.tsv", &[legal, &["--keep-labels"]].concat());
        assert_eq!(labels(&kept).len(), count, "{name}: every sequence is answered");
        for (kept, known) in labels(&kept).iter().zip(labels(&known)) {
            assert_eq!(kept.len(), known.len(), "{name}: every token is answered");
            assert!(is_legal(kept), "{name}: {kept:?}");
            assert!(
                kept.iter().zip(&known).all(|(kept, known)| known == "_" || kept == known),
                "{name}: {kept:?} {known:?}"
            );
        }

        let all: &[&str] = &["--keep-labels", "-k", "3", "--marginals"];
        let one = tag("known.tsv", &[legal, all, &["--threads", "1"]].concat());
        for more in [&["--threads", "3"][..], &["--decoder", "viterbi"], &["--decoder", "funnel"]] {
            assert_eq!(tag("known.tsv", &[legal, all, more].concat()), one, "{name}, {more:?}");
        }
        let probability = |label: &String| label.rsplit_once('/').unwrap().1.parse::<f64>().unwrap();
        assert!(labels(&one).iter().flatten().map(probability).all(|p| (0.0..=1.0).contains(&p)), "{name}");
        let best: Vec<_> =
            one.split("# 0 ").skip(1).map(|block| labels(&format!("# 0 {block}")).remove(0)).collect();
        let bare = |label: &String| label.rsplit_once('/').unwrap().0.to_owned();
        let best: Vec<Vec<String>> = best.iter().map(|labels| labels.iter().map(bare).collect()).collect();
        assert_eq!(best, labels(&kept), "{name}: the first of three is the one");
    }
    assert!(illegal > 20, "constraints had something to do: {illegal}");
}
