//! What the fuzz targets call: one function per reader, none of which may panic, hang or exhaust memory, whatever the bytes.
//!
//! `readers.rs` needs the library alone, and is compiled into the library's tests as well: they replay the corpus on stable Rust.
//! `arrays.rs` calls the command line's reader of lattices.

pub mod arrays;
pub mod readers;
