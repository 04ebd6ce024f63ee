//! Scores in, paths out: lattices, exact decoders for the best and the `k` best paths, and sums over all paths.
//!
//! This is the floor that [`kbest`](https://docs.rs/kbest) stands on. That crate re-exports all of it and adds text, features,
//! models, taggers and training. Depend on `kbest-core` alone if you only decode scores: it needs nothing but `thiserror`.
//!
//! **The problem.** `T` positions, `L` labels, a score for every label at every position (*nodes*) and for every pair of
//! neighbouring labels (*edges*): which path scores best? Plain Viterbi pays `T L^2`. The decoders here return the same
//! path, provably, and most of them for far less.
//!
//! ```
//! use kbest_core::{Decode, Decoder, Edges, Lattice, Scratch};
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
//! # Ok::<(), kbest_core::Error>(())
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
//! | [`sieve`](decode::Sieve) | 1 | ours: every forward score, from the few rows that can matter to a block of labels |
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
//! **Segments** with labels and lengths of their own, instead of single positions: [`segment`].
//!
//! # Cargo features
//!
//! `bounds` learns bounds for the search over segments ([`segment::LearnedBound`]) and needs `clarabel`. It is off by default.

pub mod decode;
mod error;
#[doc(hidden)]
pub mod intern;
mod label;
pub mod lattice;
pub mod marginal;
pub mod pipeline;
pub mod random;
pub mod scheme;
mod score;
pub mod segment;
pub mod simd;
pub mod structure;
pub mod transition;

pub use decode::{Counters, Decode, Decoded, Decoder, Path, Scratch, kbest_iter};
pub use error::{Error, Result, SystemError, escaped, quoted};
pub use label::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};
pub use lattice::{Edges, Lattice};
pub use marginal::{MarginalScratch, Marginals, log_partition, marginals};
pub use score::Score;
pub use simd::Float;
pub use structure::{Positions, Segments, Structure};
