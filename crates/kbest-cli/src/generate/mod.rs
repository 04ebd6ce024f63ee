//! `kbest generate`: synthetic data from a seed.

mod addresses;
mod corpus;
pub(crate) mod lattice;
mod npz;
mod segments;

use crate::failure::{Failure, Result};
use crate::input::{Dtype, Scores};
use crate::output::Output;
use clap::{Args, Subcommand};
pub use npz::Npz;

use lattice::{EDGE_STRENGTH, Family, Generated, PEAKED, Recipe};
use std::io::{Cursor, Write};
use std::path::PathBuf;

/// Generate synthetic data from a seed: the same bytes on every machine
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest generate lattice --labels 1000 -o lattice.npz
  kbest generate corpus --labels 1000 -o train.tsv --test test.tsv
  kbest generate addresses -o train.tsv --test test.tsv")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Lattice(LatticeArguments),
    Corpus(corpus::Arguments),
    Segments(segments::Arguments),
    Addresses(addresses::Arguments),
}

/// Generate lattices for `kbest decode` and `kbest bench decode`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest generate lattice --sequences 50 --labels 1000 --seed 7 -o lattice.npz
  kbest generate lattice --family random --labels 300 | kbest decode | head -1

Families:
  tagger   like trained taggers: peaked node scores, few nonzero edge scores
  dense    the same node scores, an edge score for every label pair
  random   random node and edge scores; with a small --peaked, nothing can be
           pruned
  uniform  equal node scores, so that the edges decide")]
struct LatticeArguments {
    /// File to write (.npz); stdout if absent or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Kind of scores (see below)
    #[arg(long, value_enum, value_name = "NAME", default_value = "tagger")]
    family: Family,
    /// Number of sequences
    #[arg(long, value_name = "B", default_value_t = 100)]
    sequences: usize,
    /// Number of positions per sequence
    #[arg(long, value_name = "T", default_value_t = 20)]
    positions: usize,
    /// Random lengths from 1 to T
    #[arg(long)]
    vary_lengths: bool,
    /// Number of labels
    #[arg(long, value_name = "L", default_value_t = 300)]
    labels: usize,
    /// How far the true label stands out (random: range of all node scores)
    #[arg(long, value_name = "X", default_value_t = PEAKED)]
    peaked: f64,
    /// Largest magnitude of edge scores
    #[arg(long, value_name = "X", default_value_t = EDGE_STRENGTH)]
    edge_strength: f64,
    /// tagger, uniform: share of label pairs with a nonzero edge score [default: 28 / L, at most 0.6]
    #[arg(long, value_name = "X")]
    edge_density: Option<f64>,
    /// Write edges as a matrix; the default for dense and random
    #[arg(long, conflicts_with = "sparse")]
    dense: bool,
    /// Write edges as a list of exceptions; the default for tagger and uniform
    #[arg(long)]
    sparse: bool,
    /// Repeat a few distinct positions
    #[arg(long)]
    repetitive: bool,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Score type to write
    #[arg(long, value_enum, default_value = "f32")]
    dtype: Dtype,
    /// Compress the file; its bytes may then differ between machines
    #[arg(long)]
    compress: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Lattice(arguments) => lattice_file(arguments),
        What::Corpus(arguments) => corpus::run(arguments),
        What::Segments(arguments) => segments::run(arguments),
        What::Addresses(arguments) => addresses::run(arguments),
    }
}

fn lattice_file(arguments: &LatticeArguments) -> Result<()> {
    let recipe = recipe(arguments)?;
    match arguments.dtype {
        Dtype::F32 => write(arguments, &recipe, &lattice::generate::<f32>(&recipe)),
        Dtype::F64 => write(arguments, &recipe, &lattice::generate::<f64>(&recipe)),
    }
}

fn recipe(arguments: &LatticeArguments) -> Result<Recipe> {
    let usage = |text: String| Err(Failure::Usage(text));
    if arguments.labels == 0 {
        return usage("--labels: expected at least 1, got 0".into());
    }
    let edge_density = arguments.edge_density.unwrap_or(lattice::edge_density(arguments.labels));
    if !(0.0..=1.0).contains(&edge_density) {
        return usage(format!("--edge-density: expected 0 to 1, got {edge_density}"));
    }
    for (name, value) in [("--peaked", arguments.peaked), ("--edge-strength", arguments.edge_strength)] {
        if !(0.0..=1e6).contains(&value) {
            return usage(format!("{name}: expected 0 to 1000000, got {value}"));
        }
    }
    // Everything is built in memory: refuse sizes that no machine can hold before trying.
    let nodes = arguments.sequences.checked_mul(arguments.positions);
    let nodes = nodes.and_then(|n| n.checked_mul(arguments.labels));
    let pairs = arguments.labels.checked_mul(arguments.labels);
    if nodes.is_none_or(|n| n > 1 << 36) || pairs.is_none_or(|n| n > 1 << 36) {
        return usage("too large: expected B x T x L and L x L of at most 2^36".into());
    }
    Ok(Recipe {
        family: arguments.family,
        sequences: arguments.sequences,
        positions: arguments.positions,
        vary_lengths: arguments.vary_lengths,
        labels: arguments.labels,
        peaked: arguments.peaked,
        edge_strength: arguments.edge_strength,
        edge_density,
        repetitive: arguments.repetitive,
        seed: arguments.seed,
    })
}

fn write<S: Scores>(arguments: &LatticeArguments, recipe: &Recipe, made: &Generated<S>) -> Result<()> {
    let full = matches!(recipe.family, Family::Dense | Family::Random);
    let dense = arguments.dense || (full && !arguments.sparse);
    // Writing an archive needs seeking, which a pipe cannot do: it is built in memory.
    let archive = || -> zip::result::ZipResult<Vec<u8>> {
        let mut npz = Npz::new(Cursor::new(Vec::new()), arguments.compress);
        let shape = [recipe.sequences, recipe.positions, recipe.labels];
        npz.scores("node", &shape, &made.nodes)?;
        npz.integers("lengths", &made.lengths)?;
        if dense {
            npz.scores("edge", &[recipe.labels, recipe.labels], &made.matrix())?;
        } else {
            let column = |f: fn(&(u32, u32, S)) -> u32| made.exceptions.iter().map(f).collect::<Vec<_>>();
            let values: Vec<S> = made.exceptions.iter().map(|e| e.2).collect();
            npz.scores("edge_base", &[], &[S::ZERO])?;
            npz.integers("edge_from", &column(|e| e.0))?;
            npz.integers("edge_to", &column(|e| e.1))?;
            npz.scores("edge_value", &[values.len()], &values)?;
        }
        npz.integers("order", &made.order)?;
        Ok(npz.finish()?.into_inner())
    };
    let bytes = archive().map_err(|error| Failure::Output(error.into()))?;
    let mut output = Output::create(arguments.output.as_deref())?;
    output.write_all(&bytes)?;
    output.finish()
}
