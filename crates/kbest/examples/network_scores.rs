//! A neural network's scores, constrained to legal BIO spans, decoded on all cores, with probabilities.
//!
//! A network gives a score for each label of each word, and usually a matrix of scores between labels. Left alone, the best
//! label of each word may spell illegal spans, such as `I-PER` after `O`. Constrained, the best path is the best *legal* one,
//! and probabilities are those among legal paths.
//!
//! Run with `cargo run -p kbest --example network_scores`.
#![allow(clippy::print_stdout)] // an example talks

use kbest::pipeline::in_order;
use kbest::scheme::Tagging;
use kbest::transition::Transitions;
use kbest::{Decode, Decoder, Edges, LabelId, Lattice, MarginalScratch, Scratch, marginals};
use std::sync::Arc;

const LABELS: [&str; 5] = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"];

/// What a thread returns for a sentence.
struct Answer {
    labels: Vec<LabelId>,
    confidences: Vec<f64>, // of each label
    probability: f64,      // of the whole path
}

fn main() -> Result<(), kbest::Error> {
    // Once per model: the network's edges, with everything illegal at minus infinity. Threads share them.
    let tagging = Tagging::detect(LABELS).expect("these labels spell spans");
    let transitions = Transitions::from_names(LABELS, tagging);
    let edges = Arc::new(transitions.constrain(&Edges::uniform(LABELS.len(), 0.0f32)?)?);
    let start: Option<Arc<[f32]>> = transitions.constrain_start(None)?.map(Arc::from);

    // Once per thread: a decoder with its memory.
    let worker = |_| {
        let (edges, start) = (edges.clone(), start.clone());
        let (mut scratch, mut memory) = (Scratch::new(), MarginalScratch::new());
        move |nodes: Vec<f32>| -> Result<Answer, kbest::Error> {
            let mut lattice = Lattice::new(nodes, &edges)?;
            if let Some(start) = &start {
                lattice = lattice.with_start(start)?;
            }
            let labels = Decoder::default().decode(&lattice, &mut scratch)?.best().labels.clone();
            let marginals = marginals(&lattice, &mut memory)?;
            let confidences =
                labels.iter().enumerate().map(|(t, &y)| marginals.node(t)[y as usize]).collect();
            let probability = marginals.path_log_probability(&labels)?.exp();
            Ok(Answer { labels, confidences, probability })
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let answers = in_order((0..1000).map(network), Vec::len, (0..threads).map(worker).collect());

    let mut changed = 0;
    for (sentence, answer) in answers.enumerate() {
        let Answer { labels, confidences, probability } = answer?;
        let nodes = network(sentence);
        let alone = nodes.chunks(LABELS.len()).map(best_label);
        changed += usize::from(alone.ne(labels.iter().copied()));
        if sentence < 3 {
            for (y, confidence) in labels.iter().zip(confidences) {
                print!("{} {confidence:.2}   ", LABELS[*y as usize]);
            }
            println!("path {probability:.3}");
        }
    }
    println!("{changed} of 1000 sentences would have got illegal spans, word by word");
    Ok(())
}

/// The label with the highest score of one word.
fn best_label(row: &[f32]) -> LabelId {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0) as LabelId
}

/// Stands for the network: scores of six words by five labels.
fn network(sentence: usize) -> Vec<f32> {
    let score = |i: usize| ((i * 7919 + sentence * 104_729) % 1000) as f32 / 250.0;
    (0..6 * LABELS.len()).map(score).collect()
}
