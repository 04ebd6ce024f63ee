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
#![cfg_attr(feature = "text", doc = "```")]
#![cfg_attr(not(feature = "text"), doc = "```ignore")]
//! use kbest::columns::{Reader, ReaderOptions};
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
#![cfg_attr(feature = "text", doc = "```")]
#![cfg_attr(not(feature = "text"), doc = "```ignore")]
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
//! # Decoders
//!
//! All but `beam` and `prefix-beam` are exact, and all of these return the same path, ties included. Use `auto` unless you know better.
//!
//! | decoder | paths | in one line |
//! |---|---|---|
//! | [`auto`](decode::Auto) | any | chooses among the others, and says why ([`Plan::explain`](decode::Plan::explain)) |
//! | [`funnel`](decode::Funnel) | any | ours: reads each node score once, opens only labels that can matter |
//! | [`viterbi`](decode::Viterbi) | any | the textbook; the reference |
//! | [`viterbi-simd`](decode::ViterbiSimd) | 1 | every edge, with vector instructions |
//! | [`viterbi-sparse`](decode::ViterbiSparse) | 1 | a base value and few exceptions |
//! | [`carpediem`](decode::CarpeDiem) | 1 | strong nodes, weak edges |
//! | [`staggered`, `staggered-column`](decode::Staggered) | 1 | labels by frequency, doubled where needed |
//! | [`astar`](decode::Astar) | any | best-first search with a choice of heuristics |
//! | [`iterative-astar`](decode::IterativeAstar) | 1 | A* on lattices that grow |
//! | [`recursive-enumeration`](decode::RecursiveEnumeration) | any | one forward pass, then path by path |
//! | [`viterbi-astar`](decode::ViterbiAstar) | any | one forward pass, then an agenda |
//! | [`iterative-viterbi-astar`](decode::IterativeViterbiAstar) | any | the same on lattices that grow |
//! | [`beam`](decode::Beam) | any | not exact, but says whether the answer is proven |
//! | [`prefix-beam`](decode::PrefixBeam) | any | the same over prefixes |
//!
//! **More than one path.** [`Decode::decode_kbest`] if `k` is known; [`kbest_iter`] for paths on demand, best first,
//! and for paths that [differ after a projection](decode::KbestIter::unique_by). **Scores** may be dense, sparse, different
//! at each position or computed on demand ([`Edges`]); labels may be forbidden or forced ([`Lattice::allow`],
//! [`Lattice::force`]). **Objects and threads.** A lattice borrows its edges or shares them by `Arc`
//! ([`lattice::Held`]); edges and models are shared by threads, scratch memory is not.
//!
//! **Segments** with labels and lengths of their own, instead of single positions: [`segment`]; models of them, from labelled
//! text: `train::SegmentTrainingSet`, `SegmentTagger`.
//!
//! # Text
//!
//! [`columns`] reads and writes sequences; [`template`], [`pattern`] and [`feature`] turn them into numbered features, and
//! [`feature::boolean`] takes features that are Rust functions. [`scoring`] is the seam behind which all models lie,
//! [`train::family`] the one behind which trainers find them. [`evaluate`] compares labels with the right ones, and
//! [`synthetic`] makes up a language if you have no corpus.
//!
//! # Cargo features
//!
//! All but `safetensors` and `bounds` are on by default. If you only decode scores, switch them off (`default-features = false`) and keep [`decode`], [`lattice`], [`marginal`], [`segment`] and [`transition`], with one small
//! dependency.
//!
//! | feature | what for | depends on |
//! |---|---|---|
//! | `text` | text, features, models and their files, training, tagging, evaluation | bytemuck, crc32fast, foldhash, hashbrown, tempfile |
//! | `mmap` | model files mapped into memory instead of read | memmap2 |
//! | `gzip` | reading `.gz` files | flate2 |
//! | `json` | reading and writing JSON lines | serde, serde_json |
//! | `safetensors` | exporting models to safetensors | safetensors |
//! | `bounds` | learning bounds for the search over segments ([`segment::LearnedBound`]) | clarabel |

pub mod decode;
mod error;
mod intern;
pub mod kernel;
mod label;
pub mod lattice;
pub mod marginal;
pub mod pipeline;
pub mod scheme;
mod score;
pub mod segment;
pub mod transition;

// From text to scores and from scores to labelled text: the feature `text`.
#[cfg(feature = "text")]
mod checked;
#[cfg(feature = "text")]
pub mod columns;
#[cfg(feature = "text")]
pub mod evaluate;
#[cfg(feature = "text")]
pub mod feature;
#[cfg(feature = "text")]
pub mod model;
#[cfg(feature = "text")]
pub mod pattern;
pub mod random;
#[cfg(feature = "text")]
pub mod scoring;
#[cfg(feature = "text")]
pub mod sequence;
#[cfg(feature = "text")]
pub mod state;
#[cfg(feature = "text")]
pub mod synthetic;
#[cfg(feature = "text")]
mod tagger;
#[cfg(feature = "text")]
pub mod template;
#[cfg(feature = "text")]
pub mod train;
#[cfg(feature = "gzip")]
mod unpack;

pub use decode::{Counters, Decode, Decoded, Decoder, Path, Scratch, kbest_iter};
pub use error::{Error, Result, SystemError, escaped};
pub use kernel::Float;
pub use label::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};
pub use lattice::{Edges, Lattice};
pub use marginal::{MarginalScratch, Marginals, log_partition, marginals};
pub use score::Score;

#[cfg(feature = "text")]
pub use {
    model::{Model, SegmentModel},
    pattern::Patterns,
    sequence::Sequence,
    tagger::{ParTag, SegmentTagged, SegmentTagger, Tagged, Tagger},
    template::Template,
};
