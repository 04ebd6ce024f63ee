//! What the fuzz targets call: one function per reader, none of which may panic, hang or exhaust memory, whatever the bytes.
//!
//! `readers.rs` needs the library alone, and is compiled into the library's tests as well: they replay the corpus on stable Rust.
//! `arrays.rs` takes in the command line's reader of lattices.

pub mod arrays;
#[path = "../../crates/kbest-cli/src/failure.rs"]
mod failure;
#[allow(dead_code, unused_imports, unused_macros)] // only its reader is called
#[path = "../../crates/kbest-cli/src/input/mod.rs"]
mod input;
pub mod readers;
