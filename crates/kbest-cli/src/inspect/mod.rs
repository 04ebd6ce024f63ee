//! `kbest inspect`: what is in a model.
//!
//! Loading a model checks all of it (checksum, sizes, every number), so a model that can be shown is intact.

mod heaviest;
mod report;
mod segments;
mod support;

use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::text::with_model;
use clap::Args;
use heaviest::Filter;
use kbest::feature::folded;
use kbest::model::AnyModel;
use report::Report;
use segments::SegmentReport;
use serde::Serialize;
use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;

/// Show a model: sizes, labels, heaviest features and edges, how `auto` decodes it
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest inspect model.kbest
  kbest inspect model.kbest --label B-NP --top 20
  kbest inspect model.kbest --feature 'suf3=ing' --json

Labels with common parts (--features morphology) share weights: those are shown as `part Case=Gen`.

A damaged file is an error.")]
pub(crate) struct Arguments {
    /// The model, in any format that `kbest convert` reads
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Number of weights of each sign to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Only weights of this label and its parts, and of edges from or to it
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Only features whose name contains this text
    #[arg(long, value_name = "TEXT")]
    feature: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let path = &arguments.model;
    let model = AnyModel::load(path)?;
    let labels = with_model!(&model, |model| model.labels());
    let label = match &arguments.label {
        None => None,
        Some(name) => Some(labels.id(name).ok_or_else(|| {
            let some: Vec<&str> = labels.names().take(5).collect();
            let expected = format!("a label of the model ({}, ...)", some.join(", "));
            Failure::Usage(format!("--label: expected {expected}, got `{name}`"))
        })?),
    };
    let source = with_model!(&model, |model| model.extractor().source());
    let feature = arguments.feature.as_deref();
    let folded = feature.filter(|_| source.folds_words()).map(folded);
    let folded = folded.as_deref().filter(|folded| Some(*folded) != feature);
    let filter = Filter { label, feature, folded };
    match &model {
        AnyModel::Positions(model) => print(arguments, &Report::new(path, model, filter, arguments.top)?),
        AnyModel::Segments(model) => {
            print(arguments, &SegmentReport::new(path, model, filter, arguments.top))
        }
    }
}

fn print(arguments: &Arguments, report: &(impl Serialize + Display)) -> Result<()> {
    let mut output = Output::create(None)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut output, report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        write!(output, "{report}")?;
    }
    output.finish()
}
