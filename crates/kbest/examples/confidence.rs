//! How sure is the model of its best path? Decode, then compute posteriors.
//!
//! Run with `cargo run -p kbest --example confidence`.
#![allow(clippy::print_stdout)] // examples print

use kbest::decode::Viterbi;
use kbest::{Decode, Edges, Lattice, MarginalScratch, Scratch, marginals};

const WORDS: [&str; 4] = ["time", "flies", "like", "arrows"];
const LABELS: [&str; 3] = ["NOUN", "VERB", "ADP"];

fn main() -> Result<(), kbest::Error> {
    // How well label `from` is followed by label `to`: edges[from][to].
    let edges = Edges::dense(
        3,
        vec![
            0.2f32, 1.2, 0.4, // NOUN ->
            0.6, -1.0, 0.9, // VERB ->
            1.4, -0.5, -2.0, // ADP ->
        ],
    )?;
    // How well each label fits each word: one row per position.
    let nodes = vec![
        1.5, 0.3, -2.0, // time
        0.7, 1.0, -2.0, // flies
        -1.0, 0.8, 1.1, // like
        1.8, 0.1, -2.0, // arrows
    ];
    let lattice = Lattice::new(nodes, &edges)?;

    // The best path, and then the sums over all paths. Both memories can be reused for the next sentence.
    let answer = Viterbi.decode(&lattice, &mut Scratch::new())?;
    let mut memory = MarginalScratch::new();
    let marginals = marginals(&lattice, &mut memory)?;

    println!("word     best label  its posterior");
    for (t, &y) in answer.best().labels.iter().enumerate() {
        println!("{:8} {:11} {:.4}", WORDS[t], LABELS[y as usize], marginals.node(t)[y as usize]);
    }

    // A path is right only if all its labels are: its probability is at most that of each label.
    let log_probability = marginals.path_log_probability(&answer.best().labels)?;
    println!("\nscore {}, log Z {:.4}", answer.best().score, marginals.log_partition());
    println!("posterior of the whole path: {:.4}", log_probability.exp());

    // The most likely label at each position: often the same labels, but chosen independently.
    let likeliest = marginals.posterior_path();
    println!("differs from the most likely labels: {}", likeliest.labels != answer.best().labels);
    Ok(())
}
