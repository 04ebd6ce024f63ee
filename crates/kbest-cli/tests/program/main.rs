//! The program `kbest`, run as users run it: all tests in one program, because each has to be linked.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests may panic, and say what they did not run

mod common;

mod agreement;
mod bounds;
mod calibration;
mod claims;
mod commands;
mod cookbook;
mod crossings;
mod decode;
mod demo;
mod dual;
mod explain;
mod fixtures;
mod fuzz_arrays;
mod hostile;
mod input;
mod mistakes;
mod models;
mod nonsense;
mod segment_models;
mod segments;
mod testdata;
mod text;
mod text_errors;
mod trust;
