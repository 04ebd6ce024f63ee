//! Reads lattices from files of arrays; `kbest decode --help` lists the keys.

mod array;
mod batch;
mod elements;
mod files;
mod npy;
mod segments;

pub use array::{Data, Scores};
pub use batch::Batch;

use crate::failure::{Failure, Result};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Every key a file may contain.
const KEYS: [&str; 18] = [
    "node",
    "lengths",
    "edge",
    "edge_base",
    "edge_from",
    "edge_to",
    "edge_value",
    "edge_class_from",
    "edge_class_to",
    "edge_class_base",
    "start",
    "end",
    "allowed",
    "duration",
    "segment",
    "segment_begin",
    "segment_end",
    "order",
];

/// Describes the keys, for `--help`.
pub(crate) const FORMAT: &str = "\
FILE is .npz (compressed or not), .safetensors, or .npy (node scores; edges from --edges).

Keys, for B sequences of T positions and L labels:
  node         (T, L) or (B, T, L)   node scores, f32 or f64; -inf forbids
  lengths      (B,) int, optional    valid positions of each sequence
  start, end   (L,), optional        scores of the first and the last label
  allowed      bool, like node       labels allowed at each position; (T, L)
               or (T, L), optional   holds for all sequences
  order        (L,) int, optional    labels, best first [default: by mean
                                     node score]
With one of these the lattice is one of segments, of up to W positions:
  duration     (W, L)                score of length index + 1
  segment      (T, W, L) or          score of the segment that starts here,
               (B, T, W, L)          of length index + 1
and, beside them or instead, with scores of boundaries:
  segment_begin,                     score of a segment that begins here,
  segment_end  like node             of one whose last position is here
Edge scores, either dense:
  edge         (L, L)                [from, to], shared by all steps
               (T-1, L, L)           one matrix per step; edge[t-1] leads
                                     into position t
or sparse:
  edge_base    scalar                score of every pair not listed
  edge_from,   (n,) int              the listed pairs
  edge_to
  edge_value   (n,)                  and their scores
or in classes of labels, with listed pairs as exceptions (or without):
  edge_class_from, edge_class_to     the class of each label as origin and
               (L,) int              as target, from 0
  edge_class_base
               (C, D)                score of a pair of classes, unless
                                     edge_from, edge_to, edge_value list it";

/// Where the lattices come from.
#[derive(Debug, Args)]
pub struct Input {
    /// Lattices (.npz, .npy or .safetensors); stdin if absent or `-`
    pub file: Option<PathBuf>,
    /// File with more keys, such as the edges; an .npy file is read as `edge`
    #[arg(long, value_name = "FILE")]
    pub edges: Option<PathBuf>,
    /// Score type used for decoding [default: that of `node`]
    #[arg(long, value_enum)]
    pub dtype: Option<Dtype>,
}

/// A score type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    F32,
    F64,
}

/// A batch of either score type.
pub enum AnyBatch {
    Single(Batch<f32>),
    Double(Batch<f64>),
}

impl Input {
    /// Reads and checks the files.
    pub fn read(&self) -> Result<AnyBatch> {
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

/// Runs one expression with the batch as its concrete type.
macro_rules! with_batch {
    ($any:expr, |$batch:ident| $body:expr) => {
        match $any {
            $crate::input::AnyBatch::Single($batch) => $body,
            $crate::input::AnyBatch::Double($batch) => $body,
        }
    };
}
pub(crate) use with_batch;
