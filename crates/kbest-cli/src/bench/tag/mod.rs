//! `kbest bench tag`: where tagging spends its time, from text to text.

mod items;
mod report;
mod segments;
mod stages;

use crate::failure::{Failure, Result};
use crate::output::{Output, Progress};
use crate::text::Data;
use clap::Args;
use kbest::Decoder;
use kbest::model::AnyModel;
use report::Report;
use stages::{Times, Work};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Time the stages of tagging: read, extract features, score, decode, write
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest bench tag model.kbest test.tsv
  kbest bench tag model.kbest test.tsv --repeat 20 --decoder viterbi-simd --json

Runs on one thread; of each block of sequences the best round counts; the output is discarded. The row `whole` is the \
same work sequence by sequence, not divided into stages.\n\nWith a model of segments, decoders are compared, from tokens to segments: those of --decoder, separated by \
commas, or semi-viterbi-simd, which computes the features of all segments, and those that prune.")]
pub(super) struct Arguments {
    /// The model, in any format that `kbest convert` reads
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The file to label
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeat: usize,
    /// Decoder (see `kbest decoders`), with an option if it has one: `astar:m3`, `beam:16`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    decoder: String,
    #[command(flatten)]
    data: Data,
    /// Also write the features to OUT as CRFsuite items; FILE must have labels
    #[arg(long, value_name = "OUT")]
    items: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.repeat == 0 {
        return Err(Failure::Usage("--repeat: expected at least 1, got 0".into()));
    }
    let model = match AnyModel::open(&arguments.model)? {
        AnyModel::Positions(model) => Arc::new(*model),
        AnyModel::Segments(model) => return segments::run(arguments, &model),
    };
    let decoder = Decoder::by_name(&arguments.decoder)?;
    if model.voters().is_some() {
        let problem = "expected one set of weights, got a voting ensemble";
        return Err(Failure::input(&arguments.model.display().to_string(), problem));
    }
    let source = arguments.data.source(Some(&arguments.file), model.text_format())?;
    if let Some(path) = &arguments.items {
        items::write(&model, source.open_labelled(Some(&arguments.file))?, path)?;
    }
    let work = Work { model, decoder, source, file: &arguments.file };
    let mut report = Report::new(&work.model);
    let mut times = Times::default();
    let progress = Progress::new(arguments.repeat, false);
    for round in 0..arguments.repeat {
        work.in_stages(&mut times, |item| {
            if round == 0 {
                report.count(&work.model, &item.features);
            }
        })?;
        work.whole(&mut times)?;
        progress.step();
    }
    drop(progress);
    if report.is_empty() {
        let problem = "expected at least one sequence to label, got none";
        return Err(Failure::input(&arguments.file.display().to_string(), problem));
    }
    report.finish(&times);
    let mut output = Output::create(None)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut output, &report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        output.write_all(report.text().as_bytes())?;
    }
    output.finish()
}
