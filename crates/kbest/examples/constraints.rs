//! Constraints over thousands of labels: what the scheme `B I O` costs one path and the posteriors, and in memory.
//!
//! `cargo run --release -p kbest --example constraints [LABELS] [POSITIONS]`
#![allow(clippy::print_stdout)] // an example tells what it found

use kbest::scheme::Tagging;
use kbest::transition::Transitions;
use kbest::{Decode, Decoder, Edges, LabelSet, Lattice, MarginalScratch, Scratch, marginals};
use std::time::Instant;

fn main() -> kbest::Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse::<usize>().ok());
    let (types, positions) = (numbers.next().unwrap_or(3001) / 2, numbers.next().unwrap_or(30));
    let names = (0..types).flat_map(|i| ["B", "I"].map(|letter| format!("{letter}-{i}")));
    let labels = LabelSet::from_names(names.chain(["O".to_owned()]));
    let count = labels.len();

    let mut memory = resident();
    let mut told = |what: &str| {
        let now = resident();
        println!("{what}: {:.1} MB more", (now - memory) / 1e6);
        memory = now;
    };
    // Scores without order, from a linear congruential generator; label `O` and one type per position stand out.
    let mut seed = 1u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32
    };
    let mut nodes: Vec<f32> = (0..positions * count).map(|_| 4.0 * next()).collect();
    for t in 0..positions {
        let likely = (next() * count as f32) as usize;
        nodes[t * count + likely.min(count - 1)] += 4.0;
        nodes[(t + 1) * count - 1] += 3.0;
    }
    told("node scores");
    let free = Edges::uniform(count, 0.0f32)?;
    let tagging = Tagging::detect(labels.names()).expect("these names encode spans");
    let transitions = Transitions::from_names(labels.names(), tagging);
    let bound = transitions.constrain(&free)?;
    told("constraints and edges");

    let start = transitions.constrain_start(None)?.unwrap_or_else(|| vec![0.0; count]);
    let lattices = [Lattice::new(&nodes[..], &free)?, Lattice::new(&nodes[..], &bound)?.with_start(start)?];
    let decoders = ["auto", "funnel", "viterbi-sparse"].map(Decoder::by_name);
    let (mut scratch, mut sums) = (Scratch::new(), MarginalScratch::new());
    for decoder in decoders {
        let decoder = decoder?;
        let mut best = [f64::INFINITY; 2];
        for _ in 0..20 {
            for (lattice, best) in lattices.iter().zip(&mut best) {
                let begin = Instant::now();
                decoder.decode(lattice, &mut scratch)?;
                *best = best.min(begin.elapsed().as_secs_f64());
            }
        }
        report(&format!("one path, {}", decoder.name()), best);
    }
    told("one path");
    let mut best = [f64::INFINITY; 2];
    for _ in 0..10 {
        for (lattice, best) in lattices.iter().zip(&mut best) {
            let begin = Instant::now();
            marginals(lattice, &mut sums)?;
            *best = best.min(begin.elapsed().as_secs_f64());
        }
    }
    report("posteriors", best);
    told("posteriors");
    Ok(())
}

fn report(what: &str, [free, bound]: [f64; 2]) {
    println!("{what}: free {:.3} ms, B I O {:.3} ms, ratio {:.2}", 1e3 * free, 1e3 * bound, bound / free);
}

/// Bytes of memory in use, as Linux tells; 0 elsewhere.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()));
    4096.0 * pages.unwrap_or(0.0)
}
