//! Exact sequence labelling with thousands of labels: 1-best and k-best, fast.
//!
//! **The problem.** `T` positions, `L` labels, a score for every label at every position (*nodes*) and for every pair of
//! neighbouring labels (*edges*): which path scores best? Plain Viterbi pays `T L^2`. The decoders here give the same
//! answer, provably, and most of them for far less.
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
//! Scores may come from anywhere. For text there is the way up to them: [`columns`] reads sequences, [`template`] and
//! [`feature`] turn them into numbered features, and [`feature::boolean`] scores features that are Rust functions.

pub mod columns;
pub mod decode;
mod error;
pub mod feature;
mod intern;
pub mod kernel;
mod label;
pub mod lattice;
pub mod marginal;
mod score;
pub mod sequence;
pub mod template;

pub use decode::{Counters, Decode, Decoded, Decoder, Path, Scratch, kbest_iter};
pub use error::{Error, Result};
pub use kernel::Float;
pub use label::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};
pub use lattice::{Edges, Lattice};
pub use marginal::{MarginalScratch, Marginals, log_partition, marginals};
pub use score::Score;
pub use sequence::Sequence;
pub use template::Template;
