//! `kbest generate addresses`: contact records for models of segments.

use crate::failure::{Failure, Result};
use crate::output::Output;
use clap::Args;
use kbest::synthetic::Addresses;
use kbest::text::{Separator, Writer, WriterOptions};
use std::path::{Path, PathBuf};

/// Generate labelled contact records: names, companies, streets, phones
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest generate addresses -o train.tsv --test test.tsv
  kbest generate addresses --records 20 --seed 7

Each line holds a token, the number of its line in the record, and its label, separated by tabs; a blank line ends each \
record. There are 24 labels, and a segment is a run of one label. Train on them with `kbest train train.tsv -m MODEL \
--algorithm semi --features words --lines 2`.")]
pub(crate) struct Arguments {
    /// File to write; stdout if absent or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of records
    #[arg(long, value_name = "N", default_value_t = 3000)]
    records: usize,
    /// Also write different records to this file
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Number of records in the --test file [default: half of --records]
    #[arg(long, value_name = "N", requires = "test")]
    test_records: Option<usize>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(test) = &arguments.test
        && (test == Path::new("-") || Some(test) == arguments.output.as_ref())
    {
        let got = test.display();
        return Err(Failure::Usage(format!("--test: expected a file different from --output, got `{got}`")));
    }
    write(arguments.output.as_deref(), arguments.records, arguments.seed, 0)?;
    match &arguments.test {
        Some(test) => {
            let records = arguments.test_records.unwrap_or(arguments.records.div_ceil(2));
            write(Some(test), records, arguments.seed, 1)
        }
        None => Ok(()),
    }
}

fn write(path: Option<&Path>, records: usize, seed: u64, part: u64) -> Result<()> {
    let options = WriterOptions::columns().separator(Separator::Tab);
    let mut writer = Writer::new(Output::create(path)?, options);
    for record in Addresses::new(seed, part).take(records) {
        writer.write::<&str>(&record, &[], None)?;
    }
    writer.into_inner().finish()
}
