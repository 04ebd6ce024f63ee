//! All tests of the crate's public API, in one program: decoders are generic, and compiling them once for all tests
//! takes a fraction of the time of compiling them for each.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests may panic, and say what they did not run

mod common;

mod auto;
mod beam;
mod blocks;
#[cfg(feature = "bounds")]
mod bounds;
mod carpediem_paper;
mod changed_edges;
mod classes;
mod equal_paths;
mod funnel_page;
mod held_lattices;
mod huang_paper;
mod k_best;
mod lazy;
mod marginals;
mod one_best;
mod segments;
mod staggered_theorems;
mod subnormal;
mod trace;
mod transitions;
