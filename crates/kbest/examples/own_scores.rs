//! Scores from anywhere (a network, a table, a formula) -> lattice -> automatic choice -> best path.
//!
//! Run with `cargo run -p kbest --example own_scores`.
#![allow(clippy::print_stdout)] // examples print

use kbest::decode::Auto;
use kbest::{Decode, Decoded, Edges, Lattice, Scratch};

const LABELS: usize = 200;
const POSITIONS: usize = 12;

fn main() -> Result<(), kbest::Error> {
    // Edges belong to the model: built once, shared by all sequences and threads. Here each label favours the next
    // label, and all other pairs have the same score: a base value and exceptions.
    let from: Vec<u32> = (0..LABELS as u32).collect();
    let to: Vec<u32> = from.iter().map(|p| (p + 1) % LABELS as u32).collect();
    let edges = Edges::sparse(LABELS, 0.0f32, &from, &to, &[1.5; LABELS])?;

    // One scratch and one answer per thread; both keep their memory from sequence to sequence.
    let mut scratch = Scratch::new();
    let mut answer = Decoded::default();
    for sequence in 0..3 {
        // Node scores belong to the sequence: T rows of L, borrowed, not copied.
        let nodes = network(sequence);
        let lattice = Lattice::new(&nodes, &edges)?;

        if sequence == 0 {
            // Print which decoder will run, and why.
            println!("{}\n", Auto::default().plan(&lattice, 1).explain());
        }
        Auto::default().decode_into(&lattice, 1, &mut scratch, &mut answer)?;
        let path = answer.best();
        println!("sequence {sequence}: {:?} scores {} ({})", path.labels, path.score, answer.decoder);
    }
    Ok(())
}

/// Stands for whatever computes the scores: some noise, and one outstanding label per position.
fn network(sequence: usize) -> Vec<f32> {
    let score = |t: usize, y: usize| {
        let noise = ((t * 37 + y * 101 + sequence * 53) % 97) as f32 / 97.0;
        if y == (20 * sequence + t) % LABELS { noise + 2.0 } else { noise }
    };
    (0..POSITIONS).flat_map(|t| (0..LABELS).map(move |y| score(t, y))).collect()
}
