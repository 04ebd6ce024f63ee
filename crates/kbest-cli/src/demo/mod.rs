//! `kbest demo`: from scratch to a tagger with a thousand labels in well under a minute.
//!
//! Makes up a language, trains on some sentences, labels others, shows one of them with its best label sequences, and
//! compares all decoders on the lattices of the trained tagger. `--svg` also draws how time grows with the labels.

mod growth;
mod lattices;
mod learn;
mod sentence;

pub use lattices::dense_edges;

use crate::bench::{self, Contender, Plan, YARDSTICK};
use crate::failure::Result;
use crate::output::Output;
use crate::table;
use clap::Args;
use kbest::Sequence;
use kbest::synthetic::Language;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Train a tagger with 1,000 labels on a made-up language and compare all decoders on it
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kbest demo\n  kbest demo --quick --svg decoders.svg\n\n\
    Needs no data and no network, and takes well under a minute.")]
pub(crate) struct Arguments {
    /// Use 200 labels and fewer sentences; takes seconds
    #[arg(long)]
    quick: bool,
    /// Decoders to compare, comma-separated [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    decoders: Vec<String>,
    /// Also decode lattices with 50 to 3,000 labels, and draw how time grows with the labels
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The size of the demo.
struct Size {
    labels: usize,
    train: usize,
    test: usize,
    epochs: usize,
    /// Seconds a decoder may take in each of its rounds.
    limit: f64,
}

const WHOLE: Size = Size { labels: 1000, train: 6000, test: 400, epochs: 5, limit: 0.5 };
const QUICK: Size = Size { labels: 200, train: 400, test: 50, epochs: 2, limit: 0.1 };

/// Average number of words per sentence.
const TOKENS: usize = 12;
const SEED: u64 = 1;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let begun = Instant::now();
    let decoders = bench::chosen(&arguments.decoders, 1)?;
    let size = if arguments.quick { QUICK } else { WHOLE };
    let mut out = Output::create(None)?;

    let language = Language::new(size.labels, SEED)?;
    let train: Vec<Sequence> = language.text(0, TOKENS).take(size.train).collect();
    let test: Vec<Sequence> = language.text(1, TOKENS).take(size.test).collect();
    writeln!(
        out,
        "A made-up language with {} labels: {} sentences for training, {} for testing.\n",
        table::grouped(size.labels),
        table::grouped(train.len()),
        table::grouped(test.len())
    )?;
    out.flush()?;

    let model = learn::learn(&train, size.epochs, &mut out)?;
    learn::test(&model, &test, &mut out)?;
    sentence::show(&model, &test, &mut out)?;
    lattices::compare(&model, &test, decoders.clone(), size.limit, &mut out)?;
    if let Some(path) = &arguments.svg {
        growth::draw(path, arguments.quick, decoders, &mut out)?;
    }
    writeln!(
        out,
        "Finished in {:.0} s. To train on your own data, see `kbest train --help`.",
        begun.elapsed().as_secs_f64()
    )?;
    out.finish()
}
