//! All tests of the library's public API, in one program: decoders are generic, and compiling them once for all tests
//! takes a fraction of the time of compiling them for each.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests may panic, and say what they did not run

mod common;

mod agreement;
mod auto;
mod beam;
mod blocks;
mod boolean;
mod carpediem_paper;
mod changed_edges;
mod classes;
mod columns;
mod crossings;
mod documentation;
mod dual;
mod equal_paths;
mod evaluate;
mod features;
mod funnel_page;
mod fuzz_replay;
mod held_lattices;
mod huang_paper;
mod import;
mod import_fixtures;
mod k_best;
mod label_parts;
mod layers;
mod lazy;
mod learned_tagging;
mod marginals;
mod model_file;
mod model_sections;
mod one_best;
mod opened_models;
mod overwritten_models;
mod pipeline;
mod segment_models;
mod shards;
mod staggered_theorems;
mod subnormal;
mod synthetic;

mod terms;
mod trace;
mod training;
mod transitions;
