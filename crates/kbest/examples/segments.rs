//! Segments of one's own scores: a function scores whole segments and is called only where it can matter.
//!
//! `cargo run -p kbest --no-default-features --example segments`
#![allow(clippy::print_stdout)] // an example shows what it does

use kbest::segment::{Marginals, Plan, Scratch, SegmentLattice, segmentations};
use kbest::{Decoder, Edges, Lattice, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

const LABELS: [&str; 3] = ["name", "street", "city"];
const LEXICON: [(&str, u32); 3] = [("Anna Maria Berg", 0), ("12 Long Street", 1), ("New Haven", 2)];

fn main() -> Result<()> {
    let words = ["Anna", "Maria", "Berg", "12", "Long", "Street", "New", "Haven"];
    // What each word says by itself: digits belong to streets, the rest is open.
    let nodes: Vec<f32> = words
        .iter()
        .flat_map(|word| {
            let digits = word.chars().all(|c| c.is_ascii_digit());
            if digits { [-3.0, 2.0, -3.0] } else { [0.1, 0.0, 0.0] }
        })
        .collect();
    // A field follows another, rarely itself.
    let edges = Edges::sparse(3, -0.5f32, &[0, 1, 2], &[0, 1, 2], &[-4.0; 3])?;
    // What whole segments say: those in the lexicon gain 5, others lose a little. No segment has more than 4 words. Of each
    // length and label we know what it gains at most.
    let (no, yes) = (-0.2, 5.0);
    let bounds = vec![no, no, no, no, no, yes, yes, yes, no, no, no, no];
    let calls = AtomicUsize::new(0);
    let lattice = SegmentLattice::new(Lattice::new(nodes, &edges)?).with_score_function(
        bounds,
        5.0,
        |start, end, label| {
            calls.fetch_add(1, Ordering::Relaxed);
            let text = words[start..end].join(" ");
            if LEXICON.contains(&(text.as_str(), label)) { yes } else { no }
        },
    )?;

    println!("{}", Plan::of(&lattice, 1));
    let answer = Decoder::default().decode_segments(&lattice, 1, &mut Scratch::default())?;
    println!("{} calls, guarantee: {}", calls.load(Ordering::Relaxed), answer.guarantee());
    println!("best: {:.2}", answer.paths[0].score);
    for found in segmentations(&lattice).take(2) {
        let parts = found.segments.iter().map(|part| {
            format!("{} [{}]", words[part.start..part.end].join(" "), LABELS[part.label as usize])
        });
        println!("{:6.2}  {}", found.score, parts.collect::<Vec<_>>().join("  "));
    }
    let marginals = Marginals::new(&lattice)?;
    println!("probability of the first segment: {:.3}", marginals.segment(0, 3, 0));
    Ok(())
}
