//! All tests of the library's public API, in one program: decoders are generic, and compiling them once for all tests
//! takes a fraction of the time of compiling them for each.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests may panic, and say what they did not run

#[path = "../../../kbest-core/tests/suite/common/mod.rs"]
mod common;

mod agreement;
mod boolean;
mod columns;
mod crossings;
mod documentation;
mod dual;
mod evaluate;
mod features;
mod fuzz_replay;
mod import;
mod import_fixtures;
mod label_parts;
mod layers;
mod learned_tagging;
mod model_file;
mod model_sections;
mod opened_models;
mod options;
mod overwritten_models;
mod pipeline;
mod segment_models;
mod shards;
mod synthetic;
mod terms;
mod training;
