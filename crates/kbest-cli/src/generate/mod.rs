//! `kbest generate`: synthetic data from a seed.

mod corpus;
pub(crate) mod lattice;
mod npz;
mod segments;

use crate::failure::{Failure, Result};
use crate::input::{Dtype, Scores};
use crate::output::Output;
use clap::{Args, Subcommand};
use lattice::{EDGE_STRENGTH, Family, Generated, PEAKED, Recipe};
use npz::Npz;
use std::io::{Cursor, Write};
use std::path::PathBuf;

/// Make synthetic data from a seed: the same bytes on every machine
#[derive(Debug, Args)]
#[command(after_help = "Example:
  kbest generate lattice --labels 1000 -o lattice.npz
  kbest generate corpus --labels 1000 -o train.tsv --test test.tsv")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Lattice(LatticeArguments),
    Corpus(corpus::Arguments),
    Segments(segments::Arguments),
}

/// Lattices for `kbest decode` and `kbest bench decode`
#[derive(Debug, Args)]
#[command(after_help = "Example:
  kbest generate lattice --sequences 50 --labels 1000 --seed 7 -o lattice.npz
  kbest generate lattice --family random --labels 300 | kbest decode | head -1

Families:
  tagger   as trained taggers: peaked nodes, few edge scores that are not 0
  dense    the same nodes, an edge score for every pair
  random   random nodes and edges, where nothing can be pruned (take small --peaked)
  uniform  equal nodes, the edges decide")]
struct LatticeArguments {
    /// File to write (.npz); stdout if absent or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Kind of scores
    #[arg(long, value_enum, default_value = "tagger")]
    family: Family,
    /// Number of sequences B
    #[arg(long, value_name = "B", default_value_t = 100)]
    sequences: usize,
    /// Positions of a sequence T
    #[arg(long, value_name = "T", default_value_t = 20)]
    positions: usize,
    /// Lengths from 1 to T instead of T for all
    #[arg(long)]
    vary_lengths: bool,
    /// Number of labels L
    #[arg(long, value_name = "L", default_value_t = 300)]
    labels: usize,
    /// How far the true label stands out (family random: range of all nodes)
    #[arg(long, value_name = "X", default_value_t = PEAKED)]
    peaked: f64,
    /// Largest magnitude of an edge score
    #[arg(long, value_name = "X", default_value_t = EDGE_STRENGTH)]
    edge_strength: f64,
    /// Share of label pairs whose edge score is not 0 (families tagger and uniform) [default: 28 / L, at most 0.6]
    #[arg(long, value_name = "D")]
    edge_density: Option<f64>,
    /// Write edges as a matrix [default for dense and random]
    #[arg(long, conflicts_with = "sparse")]
    dense: bool,
    /// Write edges as a list of exceptions [default for tagger and uniform]
    #[arg(long)]
    sparse: bool,
    /// Few distinct positions, repeated
    #[arg(long)]
    repetitive: bool,
    /// Seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Score type
    #[arg(long, value_enum, default_value = "f32")]
    dtype: Dtype,
    /// Compress (bytes may then differ between machines)
    #[arg(long)]
    compress: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Lattice(arguments) => lattice_file(arguments),
        What::Corpus(arguments) => corpus::run(arguments),
        What::Segments(arguments) => segments::run(arguments),
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
    // Everything is made in memory: refuse what no machine has, before trying.
    let nodes = arguments.sequences.checked_mul(arguments.positions);
    let nodes = nodes.and_then(|n| n.checked_mul(arguments.labels));
    let pairs = arguments.labels.checked_mul(arguments.labels);
    if nodes.is_none_or(|n| n > 1 << 36) || pairs.is_none_or(|n| n > 1 << 36) {
        return usage("too large: expected B x T x L and L x L below 2^36".into());
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
    // An archive needs to seek, a pipe cannot: it is built in memory.
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
