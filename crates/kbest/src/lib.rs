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
//! **Decoders.** All but `beam` are exact, and all of these give the same path, ties included. Take `auto` unless you
//! know better.
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
//! | [`viterbi-astar`](decode::ViterbiAstar) | any | one forward pass, then path by path |
//! | [`iterative-viterbi-astar`](decode::IterativeViterbiAstar) | any | the same on lattices that grow |
//! | [`beam`](decode::Beam) | any | not exact, but says whether the answer is proven |
//!
//! **More than one path.** [`Decode::decode_kbest`] if `k` is known; [`kbest_iter`] for paths on demand, best first,
//! and for paths that [differ after a projection](decode::KbestIter::unique_by). **How sure?** [`marginals`] gives
//! the posteriors of labels, pairs and paths. **Scores** may be dense, sparse, different at each position or computed
//! on demand ([`Edges`]); labels may be forbidden or forced ([`Lattice::allow`], [`Lattice::force`]), and so may
//! transitions ([`transition`]).
//!
//! Scores may come from anywhere. For text there is the way up to them: [`columns`] reads sequences, [`template`] and
//! [`feature`] turn them into numbered features, and [`feature::boolean`] scores features that are Rust functions.
//! [`synthetic`] makes up a language where no corpus is at hand, [`evaluate`] compares labels with those that are right.
//!
//! **Cargo features.** All but `safetensors` are on by default. Whoever only decodes scores switches them off
//! (`default-features = false`) and keeps [`decode`], [`lattice`], [`marginal`] and [`transition`], with one small
//! dependency.
//!
//! | feature | what for | depends on |
//! |---|---|---|
//! | `text` | text, features, models and their files, training, tagging, evaluation | bytemuck, crc32fast, foldhash, hashbrown, tempfile |
//! | `mmap` | model files mapped into memory instead of read | memmap2 |
//! | `gzip` | reading `.gz` files | flate2 |
//! | `json` | reading and writing JSON lines | serde, serde_json |
//! | `safetensors` | exporting models to safetensors | safetensors |

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
pub mod transition;

// From text to scores and from scores to labelled text: the feature `text`.
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
#[cfg(feature = "text")]
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

pub use decode::{Counters, Decode, Decoded, Decoder, Path, Scratch, kbest_iter};
pub use error::{Error, Result, SystemError};
pub use kernel::Float;
pub use label::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};
pub use lattice::{Edges, Lattice};
pub use marginal::{MarginalScratch, Marginals, log_partition, marginals};
pub use score::Score;

#[cfg(feature = "text")]
pub use {
    model::Model,
    pattern::Patterns,
    sequence::Sequence,
    tagger::{ParTag, Tagged, Tagger},
    template::Template,
};
