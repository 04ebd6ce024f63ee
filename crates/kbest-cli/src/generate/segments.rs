//! `kbest generate segments`: lattices of segments from a seed.
//!
//! A true segmentation is drawn: each label has a usual length, lengths spread around it. Node scores are noise, and the true
//! label stands out; durations are logarithms of how likely a length is; edges are dense, and dear. The family `random` has
//! no truth: node scores, added up along a segment, are a random walk. In `jagged` they come back to where they were: each
//! is the difference of two independent numbers, so that every start is as good as any other on average, and so is every
//! length; a new segment costs what the best of them gain. Bounds of blocks are too high there to leave anything out.

use super::npz::Npz;
use crate::failure::{Failure, Result};
use crate::input::{Dtype, Scores};
use crate::output::Output;
use clap::{Args, ValueEnum};
use kbest::random::Random;
use std::io::{Cursor, Write};
use std::path::PathBuf;

/// Kinds of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Family {
    Peaked,
    Random,
    Jagged,
}

/// Lattices of segments for `kbest decode` and `kbest bench decode`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest generate segments --positions 1000 --longest 100 -o segments.npz
  kbest generate segments --longest 8 --explicit | kbest decode -k 3

Families:
  peaked  each label has a usual length, and the true label stands out
  random  random nodes and durations
  jagged  the same, but no start and no length is better on average, so that
          bounds leave nothing out")]
pub(super) struct Arguments {
    /// File to write (.npz); stdout if absent or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Kind of scores
    #[arg(long, value_enum, default_value = "peaked")]
    family: Family,
    /// Number of sequences B
    #[arg(long, value_name = "B", default_value_t = 10)]
    sequences: usize,
    /// Positions per sequence T
    #[arg(long, value_name = "T", default_value_t = 100)]
    positions: usize,
    /// Number of labels L
    #[arg(long, value_name = "L", default_value_t = 24)]
    labels: usize,
    /// Longest segment W
    #[arg(long, value_name = "W", default_value_t = 20)]
    longest: usize,
    /// A score for each segment, too (B x T x W x L numbers)
    #[arg(long)]
    explicit: bool,
    /// Seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Score type
    #[arg(long, value_enum, default_value = "f32")]
    dtype: Dtype,
}

/// How far the true label stands out of the noise at each position, and how dear a new segment is.
const PEAKED: f64 = 1.0;
const EDGE: f64 = -3.0;

/// What the best of a thousand lengths gain: the maximum of sums of three independent numbers.
const JAGGED_EDGE: f64 = -5.5;

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    let &Arguments { sequences, positions, labels, longest, explicit, .. } = arguments;
    if labels == 0 || longest == 0 {
        return Err(Failure::Usage("--labels and --longest: expected at least 1, got 0".into()));
    }
    let lengths = if explicit { longest } else { 1 };
    let size = [sequences, positions, lengths, labels].into_iter().try_fold(1usize, usize::checked_mul);
    let table = longest.checked_mul(labels);
    let pairs = labels.checked_mul(labels);
    if [size, table, pairs].into_iter().any(|n| n.is_none_or(|n| n > 1 << 34)) {
        return Err(Failure::Usage("too large: expected B x T x L (x W), W x L and L x L below 2^34".into()));
    }
    match arguments.dtype {
        Dtype::F32 => write::<f32>(arguments),
        Dtype::F64 => write::<f64>(arguments),
    }
}

fn write<S: Scores>(arguments: &Arguments) -> Result<()> {
    let &Arguments { family, sequences, positions, labels, longest, explicit, seed, .. } = arguments;
    let mut random = Random::new(seed);
    let usual: Vec<f64> = (0..labels).map(|_| 1.0 + random.unit() * 0.6 * longest as f64).collect();
    let spread = |y: usize| 1.0 + 0.2 * usual[y];
    let mut duration = Vec::with_capacity(longest * labels);
    for length in 1..=longest {
        for y in 0..labels {
            let score = match family {
                Family::Peaked => -0.5 * ((length as f64 - usual[y]) / spread(y)).powi(2),
                Family::Random => random.signed() * 4.0,
                Family::Jagged => random.normal(),
            };
            duration.push(S::from_f64(score));
        }
    }
    let edge: Vec<S> = (0..labels * labels)
        .map(|_| {
            S::from_f64(match family {
                Family::Jagged => JAGGED_EDGE,
                Family::Peaked | Family::Random => EDGE + random.signed(),
            })
        })
        .collect();
    let mut node = Vec::with_capacity(sequences * positions * labels);
    let mut segment = vec![];
    for _ in 0..sequences {
        let mut truth = vec![];
        while truth.len() < positions {
            let y = random.below(labels);
            let length = (usual[y] + random.normal() * spread(y)).round().clamp(1.0, longest as f64) as usize;
            truth.extend(std::iter::repeat_n(y, length));
        }
        let mut before = vec![0.0; labels];
        for &right in &truth[..positions] {
            for y in 0..labels {
                let peak = if family == Family::Peaked && y == right { PEAKED } else { 0.0 };
                let noise = random.normal() + peak;
                node.push(S::from_f64(match family {
                    Family::Jagged => noise - before[y],
                    Family::Peaked | Family::Random => noise,
                }));
                before[y] = noise;
            }
        }
        if explicit {
            segment.extend((0..positions * longest * labels).map(|_| S::from_f64(random.normal())));
        }
    }
    let archive = || -> zip::result::ZipResult<Vec<u8>> {
        let mut npz = Npz::new(Cursor::new(Vec::new()), false);
        npz.scores("node", &[sequences, positions, labels], &node)?;
        npz.scores("edge", &[labels, labels], &edge)?;
        npz.scores("duration", &[longest, labels], &duration)?;
        if explicit {
            npz.scores("segment", &[sequences, positions, longest, labels], &segment)?;
        }
        Ok(npz.finish()?.into_inner())
    };
    let bytes = archive().map_err(|error| Failure::Output(error.into()))?;
    let mut output = Output::create(arguments.output.as_deref())?;
    output.write_all(&bytes)?;
    output.finish()
}
