//! What the commands on text share: which files, in which format, read and written by how many threads.

mod data;
mod pipeline;

pub(crate) use data::{Data, Source, read_labelled};
pub(crate) use pipeline::{Answered, in_order};
