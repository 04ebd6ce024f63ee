//! The table of the voted perceptron's vote.

use super::table;
use crate::papers::results::{Cell, Problem, Table};

/// The vote of the members: accuracies of the last classifier, times of all; and what CarpeDiem saves on each problem.
pub(super) fn votes(problems: &[(usize, &Problem)], figures: &[f64; 3]) -> (Table, Vec<(String, f64)>) {
    let (mut rows, mut savings) = (vec![], vec![]);
    for (i, problem) in problems {
        let Some(last) = problem.classifiers.last() else { continue };
        let total = |decoder: &str| -> f64 {
            problem.classifiers.iter().filter_map(|one| one.vote.seconds.get(decoder)).sum()
        };
        let (viterbi, carpediem, simd) = (total("viterbi"), total("carpediem"), total("viterbi-simd"));
        let saved = 1.0 - carpediem / viterbi;
        savings.push((problem.task.clone(), saved));
        rows.push(vec![
            Cell::text(&problem.task),
            Cell::count(last.vote.members),
            Cell::percent(last.vote.accuracy_of_last),
            Cell::percent(last.accuracy),
            Cell::percent(last.vote.accuracy),
            Cell::ours(viterbi),
            Cell::ours(carpediem),
            Cell::percent(saved),
            Cell::paper(figures[*i]),
            Cell::percent(1.0 - simd / viterbi),
        ]);
    }
    let header = [
        "problem",
        "members of the last classifier",
        "accuracy of the last member",
        "of the mean",
        "of the vote",
        "Viterbi, s, all classifiers",
        "CarpeDiem, s",
        "saved",
        "the paper's, %",
        "saved by SIMD Viterbi",
    ];
    (table("The vote of the voted perceptron's members", &header, rows), savings)
}
