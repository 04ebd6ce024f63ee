//! Paths on demand: take them, best first, until they are no longer worth it.
//!
//! Run with `cargo run -p kbest --example lazy_kbest`.
#![allow(clippy::print_stdout)] // examples print

use kbest::{Edges, LabelId, Lattice, kbest_iter};

/// Joint labels: a part of speech and a number.
const LABELS: [&str; 4] = ["NOUN/one", "NOUN/many", "VERB/one", "VERB/many"];

/// How far below the best path a path may score to be of interest.
const WORTH_IT: f32 = 2.0;

fn main() -> Result<(), kbest::Error> {
    // Noun and verb tend to agree in number, and to alternate: edges[from][to].
    let edges = Edges::dense(
        4,
        vec![
            0.0f32, 0.0, 1.5, 0.2, // NOUN/one ->
            0.0, 0.0, 0.2, 1.5, // NOUN/many ->
            0.8, 0.7, -1.0, -1.0, // VERB/one ->
            0.8, 0.7, -1.0, -1.0, // VERB/many ->
        ],
    )?;
    let nodes = vec![
        1.0, 0.8, 0.1, 0.0, // "sheep"
        0.3, 0.2, 1.1, 1.0, // "like"
        1.2, 1.25, 0.0, 0.1, // "fish"
    ];
    let lattice = Lattice::new(nodes, &edges)?;

    // The number of paths is not fixed in advance. The first costs as much as one path; the others are computed on
    // demand.
    println!("all paths within {WORTH_IT} of the best:");
    let mut best = None;
    for path in kbest_iter(&lattice) {
        let best = *best.get_or_insert(path.score);
        if path.score < best - WORTH_IT {
            break;
        }
        println!("{:5.2}  {}", path.score, names(&path.labels));
    }

    // Among paths that differ only in number, only the best: the projection maps a joint label to its part of speech.
    let part_of_speech = |y: LabelId| y / 2;
    println!("\nthe three best that differ in parts of speech:");
    for path in kbest_iter(&lattice).unique_by(part_of_speech).take(3) {
        println!("{:5.2}  {}", path.score, names(&path.labels));
    }
    Ok(())
}

fn names(labels: &[LabelId]) -> String {
    labels.iter().map(|&y| LABELS[y as usize]).collect::<Vec<_>>().join(" ")
}
