//! Exact sequence labelling with thousands of labels: 1-best and k-best, fast.
//!
//! **The problem.** `T` positions, `L` labels, a score for every label at every position (*nodes*) and for every pair of
//! neighbouring labels (*edges*): which path scores best? Plain Viterbi pays `T L^2`. The decoders here return the same
//! path, provably, and most of them for far less.
//!
//! # Three ways in
//!
//! **You have scores**, from a neural network or anywhere else: make a [`Lattice`] and decode it. [`transition`] adds
//! constraints such as BIO, [`marginals`] adds probabilities; `examples/network_scores.rs` does both with threads.
//!
//! ```
//! use kbest::{Decode, Decoder, Edges, Lattice, Scratch};
//!
//! // Three labels; edges [from][to]; 0 -> 1 is encouraged, 2 -> 2 forbidden.
//! let edges = Edges::dense(3, vec![0.0f32, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f32::NEG_INFINITY])?;
//! // Two positions by three labels of node scores.
//! let lattice = Lattice::new(vec![1.0, 0.0, 2.0, 0.0, 0.5, 1.0], &edges)?;
//!
//! let answer = Decoder::by_name("auto")?.decode(&lattice, &mut Scratch::new())?;
//! assert_eq!(answer.best().labels, [0, 1]);
//! assert_eq!(answer.best().score, 3.5);
//! assert!(answer.exact);
//! # Ok::<(), kbest::Error>(())
//! ```
//!
//! **You have labelled text**: [`train`] learns a [`Model`] from it, and a [`Tagger`] labels new text with the model.
//!
//! ```
//! use kbest::text::{Reader, ReaderOptions};
//! use kbest::feature::{FeatureSource, Preset};
//! use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! let text = "the DET\nold NOUN\nman VERB\nthe DET\nboats NOUN\n";
//! let sequences = Reader::new(text.as_bytes(), "text", &ReaderOptions::columns().labelled(true))?;
//! let sequences = sequences.collect::<Result<Vec<_>, _>>()?;
//! let data = TrainingSet::new(&sequences, FeatureSource::Preset(Preset::Words), 1)?;
//! let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
//! for _ in 0..5 {
//!     trainer.epoch(&mut |_| ())?;
//! }
//! let model = Arc::new(trainer.model()?);
//!
//! let mut tagger = Tagger::new(model.clone()).with_confidences(true);
//! let tagged = tagger.tag(&Sequence::from_tokens(["the", "boats"]), 2)?; // the two best label sequences
//! let names: Vec<_> = tagged.decoded.best().labels.iter().map(|&y| model.labels().name(y).unwrap()).collect();
//! assert_eq!(names, ["DET", "NOUN"]);
//! assert!(tagged.probabilities[0] > tagged.probabilities[1]);
//! # Ok::<(), kbest::Error>(())
//! ```
//!
//! **You have a model** of CRFsuite, CRF++ or Wapiti: [`Model::load_any`] reads it, or [`model::import`] from bytes, and a
//! [`Tagger`] returns the same labels, faster.
//!
//! ```
//! use kbest::{Sequence, Tagger, model::import};
//! use std::sync::Arc;
//!
//! let text = "version: 100\ncost-factor: 1\nmaxid: 2\nxsize: 1\n\nNOUN\nVERB\n\nU:%x[0,0]\n\n0 U:flies\n\n0.5\n1.5\n";
//! let model = Arc::new(import::crfpp(text.as_bytes(), "model.txt")?);
//! let sequences = [["time", "flies"], ["flies", "fly"]].map(|words| Ok(Sequence::from_tokens(words)));
//! for answer in Tagger::new(model).par_tag(sequences, 1, 0) { // on all cores, in order
//!     let (sequence, tagged) = answer?;
//!     assert_eq!(sequence.len(), tagged.decoded.best().labels.len());
//! }
//! # Ok::<(), kbest::Error>(())
//! ```
//!
//! # Scores
//!
//! Lattices, decoders, marginals, segments and constraints come from [`kbest_core`], whose front page has the
//! [table of decoders](kbest_core#decoders). Depend on it alone if you only decode scores: it needs nothing but `thiserror`.
//!
//! **Objects and threads.** A lattice borrows its edges or shares them by `Arc` ([`lattice::Held`]); edges and models are shared
//! by threads, scratch memory is not. Models of [segments](segment), from labelled text: [`train::SegmentTrainingSet`],
//! and the same [`Tagger`].
//!
//! # Text
//!
//! [`text`] reads and writes sequences; [`template`], [`pattern`] and [`feature`] turn them into numbered features, and
//! [`feature::boolean`] takes features that are Rust functions. [`scoring`] is the seam behind which all models lie,
//! [`train::family`] the one behind which trainers find them. [`evaluate`] compares labels with the right ones, and
//! [`synthetic`] makes up a language if you have no corpus.
//!
//! # Cargo features
//!
//! `mmap`, `gzip` and `json` are on by default.
//!
//! | feature | what for | depends on |
//! |---|---|---|
//! | `mmap` | model files mapped into memory instead of read | memmap2 |
//! | `gzip` | reading `.gz` files | flate2 |
//! | `json` | reading and writing JSON lines | serde, serde_json |
//! | `safetensors` | exporting models to safetensors | safetensors |
//! | `bounds` | learning bounds for the search over segments ([`segment::LearnedBound`]) | clarabel |

mod checked;
pub mod evaluate;
pub mod feature;
mod memory;
pub mod model;
pub mod options;
pub mod pattern;
pub mod scoring;
pub mod sequence;
pub mod state;
pub mod synthetic;
mod tagger;
pub mod template;
pub mod text;
pub mod train;
#[cfg(feature = "gzip")]
mod unpack;

pub use kbest_core::{
    Counters, Decode, Decoded, Decoder, Edges, Error, Float, LabelId, LabelOrder, LabelSet, LabelSetBuilder,
    Lattice, MarginalScratch, Marginals, Path, Positions, Result, Score, Scratch, Segments, Structure,
    SystemError, decode, escaped, kbest_iter, lattice, log_partition, marginal, marginals, pipeline, random,
    scheme, segment, simd, structure, transition,
};

pub use {
    model::{Model, SegmentModel},
    pattern::Patterns,
    sequence::Sequence,
    tagger::{ParTag, Tagged, Tagger, TaggerOptions},
    template::Template,
};
