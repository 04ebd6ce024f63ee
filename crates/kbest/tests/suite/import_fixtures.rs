//! The answers of CRF++, Wapiti and CRFsuite themselves, and ours with their models: the same labels, the same n best
//! paths in the same order, the same scores, probabilities and confidences.
//!
//! Runs if `KBEST_FIXTURES` names the folder of their models and outputs.

use kbest::feature::FeatureBuffer;
use kbest::model::import;
use kbest::scoring::rows::{ScoreBuffer, lattice};
use kbest::text::{Reader, ReaderOptions};
use kbest::{Decode, Decoder, LabelId, MarginalScratch, Marginals, Model, Scratch, Sequence, marginals};
use std::fs;
use std::path::{Path, PathBuf};

/// Paths whose scores are this close may come in either order: sums in single precision cannot separate them.
const TIE: f32 = 2e-4;

fn fixtures(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("KBEST_FIXTURES").map(PathBuf::from);
    if folder.is_none() {
        println!("NOT RUN: {test} (set KBEST_FIXTURES to the folder of models)");
    }
    folder
}

/// A path as a program printed it: its first line, and labels with the text after the slash.
struct Answer {
    score: Option<f64>,
    labels: Vec<String>,
    confidences: Vec<f64>,
}

/// Answers from columns; `# rank score` or `# score` begins one, if scores were requested.
fn answers(path: &Path) -> Vec<Answer> {
    let text = fs::read_to_string(path).unwrap();
    let mut answers = Vec::new();
    for block in text.split("\n\n").map(|block| block.trim_matches('\n')).filter(|block| !block.is_empty()) {
        let mut answer = Answer { score: None, labels: vec![], confidences: vec![] };
        for line in block.lines() {
            let last = line.split(['\t', ' ']).next_back().unwrap();
            if line.starts_with("# ") && !line.contains('\t') {
                answer.score = Some(last.parse().unwrap());
            } else if let Some((label, confidence)) = last.rsplit_once('/') {
                answer.labels.push(label.into());
                answer.confidences.push(confidence.parse().unwrap());
            } else {
                answer.labels.push(last.into());
            }
        }
        answers.push(answer);
    }
    answers
}

fn ids(model: &Model, labels: &[String]) -> Vec<LabelId> {
    labels.iter().map(|label| model.labels().id(label).unwrap()).collect()
}

/// Compares the `k` best paths of every sequence with the answers, of which there are `k` for each. Returns how many
/// have another rank because of a tie.
fn compare(
    model: &Model,
    data: &Path,
    options: &ReaderOptions,
    k: usize,
    answers: &[Answer],
    mut further: impl FnMut(&Answer, &[LabelId], f32, &Marginals<'_, f32>),
) -> usize {
    let mut reader = Reader::open(data, options).unwrap();
    let (mut sequence, mut features, mut buffer) =
        (Sequence::new(), FeatureBuffer::new(), ScoreBuffer::new());
    let (mut scratch, mut sums) = (Scratch::new(), MarginalScratch::new());
    let mut answers = answers.chunks(k);
    let mut ties = 0;
    while reader.read_into(&mut sequence).unwrap() {
        model.extractor().extract(&sequence, &mut features).unwrap();
        let lattice = lattice(model, &features, &mut buffer).unwrap();
        let ours = Decoder::default().decode_kbest(&lattice, k, &mut scratch).unwrap();
        let posteriors = marginals(&lattice, &mut sums).unwrap();
        let theirs = answers.next().unwrap();
        assert_eq!(ours.paths.len(), theirs.len());
        for (rank, (path, answer)) in ours.paths.iter().zip(theirs).enumerate() {
            let labels = ids(model, &answer.labels);
            let score = lattice.path_score(&labels).unwrap();
            if path.labels != labels {
                assert!(
                    rank > 0 && (score - path.score).abs() <= TIE,
                    "rank {rank}: {score} and {}",
                    path.score
                );
                ties += 1;
            }
            further(answer, &labels, score, &posteriors);
        }
    }
    assert!(answers.next().is_none());
    ties
}

fn assert_near(ours: f64, theirs: f64, tolerance: f64) {
    assert!((ours - theirs).abs() <= tolerance, "{ours} and {theirs}");
}

#[cfg(feature = "gzip")]
#[test]
fn crfpp() {
    let Some(folder) = fixtures("crfpp") else { return };
    for suffix in ["", "-b"] {
        let file = |name: &str| folder.join(format!("crfpp/{name}{suffix}.out"));
        let model = import::read(folder.join(format!("crfpp/model{suffix}.txt.gz"))).unwrap();
        let (data, options) = (folder.join("test.tsv"), ReaderOptions::columns().labelled(true));
        assert_eq!(compare(&model, &data, &options, 1, &answers(&file("labels")), |_, _, _, _| ()), 0);
        for (name, k) in [("confidence", 1), ("nbest5", 5)] {
            let further = |answer: &Answer, labels: &[LabelId], _: f32, posteriors: &Marginals<'_, f32>| {
                let probability = posteriors.path_log_probability(labels).unwrap().exp();
                assert_near(probability, answer.score.unwrap(), 1e-5);
                assert_eq!(answer.confidences.len(), labels.len());
                for (t, (&y, &confidence)) in labels.iter().zip(&answer.confidences).enumerate() {
                    assert_near(posteriors.node(t)[y as usize], confidence, 1e-5);
                }
            };
            let ties = compare(&model, &data, &options, k, &answers(&file(name)), further);
            assert!(ties <= 1, "{name}{suffix}: {ties}");
        }
    }
}

#[test]
fn wapiti() {
    let Some(folder) = fixtures("wapiti") else { return };
    for suffix in ["", "-b"] {
        let file = |name: &str| folder.join(format!("wapiti/{name}{suffix}.out"));
        let model = import::read(folder.join(format!("wapiti/model{suffix}.txt"))).unwrap();
        let (data, options) = (folder.join("test.tsv"), ReaderOptions::columns().labelled(true));
        assert_eq!(compare(&model, &data, &options, 1, &answers(&file("labels")), |_, _, _, _| ()), 0);
        let further = |answer: &Answer, _: &[LabelId], score: f32, _: &Marginals<'_, f32>| {
            assert_near(score.into(), answer.score.unwrap(), 5e-4);
        };
        let ties = compare(&model, &data, &options, 5, &answers(&file("nbest5")), further);
        assert!(ties <= 1, "nbest5{suffix}: {ties}");
    }
}

#[cfg(feature = "json")]
#[test]
fn crfsuite() {
    let Some(folder) = fixtures("crfsuite") else { return };
    for name in ["lbfgs", "ap"] {
        let model = import::read(folder.join(format!("crfsuite/{name}.crfsuite"))).unwrap();
        let text = fs::read_to_string(folder.join(format!("crfsuite/{name}.out.jsonl"))).unwrap();
        let answers: Vec<Answer> = text
            .lines()
            .map(|line| {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                let numbers = |value: &serde_json::Value| {
                    value.as_array().into_iter().flatten().map(|one| one.as_f64().unwrap()).collect()
                };
                let names = value["labels"].as_array().unwrap();
                let labels = names.iter().map(|one| one.as_str().unwrap().to_owned()).collect();
                Answer {
                    score: value["probability"].as_f64(),
                    labels,
                    confidences: numbers(&value["marginals"]),
                }
            })
            .collect();
        assert_eq!(answers[0].score.is_some(), name == "lbfgs");
        let (data, options) = (folder.join("crfsuite/test.items"), ReaderOptions::items().labelled(true));
        let further = |answer: &Answer, labels: &[LabelId], _: f32, posteriors: &Marginals<'_, f32>| {
            if let Some(probability) = answer.score {
                assert_near(posteriors.path_log_probability(labels).unwrap().exp(), probability, 1e-5);
            }
            for (t, (&y, &confidence)) in labels.iter().zip(&answer.confidences).enumerate() {
                assert_near(posteriors.node(t)[y as usize], confidence, 1e-5);
            }
        };
        assert_eq!(compare(&model, &data, &options, 1, &answers, further), 0);
    }
}
