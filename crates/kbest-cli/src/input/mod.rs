//! Reading lattices: files of arrays with the keys of `kbest decode --help`.

mod array;
mod batch;
mod elements;
mod files;
mod npy;
mod segments;

pub(crate) use array::Scores;
pub(crate) use batch::Batch;

use crate::failure::{Failure, Result};
use array::Data;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Every key a file may hold.
const KEYS: [&str; 13] = [
    "node",
    "lengths",
    "edge",
    "edge_base",
    "edge_from",
    "edge_to",
    "edge_value",
    "start",
    "end",
    "allowed",
    "duration",
    "segment",
    "order",
];

/// The keys in words, for `--help`.
pub(crate) const FORMAT: &str = "\
File: .npz (compressed or not), .safetensors, or .npy (node scores; edges from --edges). Keys:
  node                  (T, L) or (B, T, L)   node scores, f32 or f64; -inf forbids
  lengths               (B,) int, optional    valid positions of each sequence
  edge                  (L, L) [from, to]     shared by all steps
                        (T-1, L, L)           or one matrix a step: edge[t-1] leads into position t
  edge_base             scalar                or sparse: the score of every pair ...
  edge_from, edge_to    (n,) int              ... but these
  edge_value            (n,)                  ... which score this
  start, end            (L,) optional         score of the first / last label
  allowed               as node, bool, opt.   labels allowed at a position
  duration              (W, L)                makes it a lattice of segments: score of length index + 1
  segment               (T, W, L) or (B, ...) likewise: score of the segment from here, of length index + 1
  order                 (L,) int, optional    label ranking, best first (else by mean node score)";

/// Where the lattices come from.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// Lattices (.npz, .npy or .safetensors); stdin if absent or `-`
    pub(crate) file: Option<PathBuf>,
    /// More keys from another file; a bare .npy there is `edge`
    #[arg(long, value_name = "FILE")]
    pub(crate) edges: Option<PathBuf>,
    /// Score type to decode in [default: that of `node`]
    #[arg(long, value_enum)]
    pub(crate) dtype: Option<Dtype>,
}

/// A score type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dtype {
    F32,
    F64,
}

/// A batch of either score type.
pub(crate) enum AnyBatch {
    Single(Batch<f32>),
    Double(Batch<f64>),
}

impl Input {
    /// Reads and checks the file.
    pub(crate) fn read(&self) -> Result<AnyBatch> {
        let mut arrays = files::read(self.file.as_deref(), &KEYS, "node")?;
        if let Some(path) = &self.edges {
            let more = files::read(Some(path), &KEYS, "edge")?;
            for (key, array) in more.arrays {
                if arrays.arrays.insert(key.clone(), array).is_some() {
                    return Err(Failure::input(
                        &more.file,
                        format!("key `{key}` is also in {}", arrays.file),
                    ));
                }
            }
        }
        let own = match arrays.arrays.get("node").map(|node| &node.data) {
            Some(Data::Double(_) | Data::Whole(_)) => Dtype::F64,
            _ => Dtype::F32,
        };
        Ok(match self.dtype.unwrap_or(own) {
            Dtype::F32 => AnyBatch::Single(Batch::new(arrays)?),
            Dtype::F64 => AnyBatch::Double(Batch::new(arrays)?),
        })
    }
}

/// Runs one expression with the batch as its own type.
macro_rules! with_batch {
    ($any:expr, |$batch:ident| $body:expr) => {
        match $any {
            $crate::input::AnyBatch::Single($batch) => $body,
            $crate::input::AnyBatch::Double($batch) => $body,
        }
    };
}
pub(crate) use with_batch;
