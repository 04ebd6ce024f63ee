//! What the commands on text share: which files, in which format, read and written by how many threads, and constraints.

mod constraints;
mod data;
mod pipeline;

pub(crate) use constraints::Constraints;
pub(crate) use data::{Data, Source, read_labelled, read_unlabelled};
pub(crate) use pipeline::in_order;

use crate::failure::{Failure, Result};

/// The number of threads asked for; all cores unless said.
pub(crate) fn threads(asked: Option<usize>) -> Result<usize> {
    match asked {
        Some(0) => Err(Failure::Usage("--threads: expected at least 1, got 0".into())),
        Some(threads) => Ok(threads),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}
