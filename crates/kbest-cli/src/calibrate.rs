//! `kbest calibrate`: a model whose probabilities mean what they say.

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{Counted, Output, keep_inputs};
use crate::table::{grouped, percent};
use crate::text::{Data, file_name, read_labelled_for, threads, with_model};
use crate::warning::warn;
use clap::Args;
use kbest::Sequence;
use kbest::model::AnyModel;
use kbest::scoring::TextModel;
use kbest::train::{Calibrated, Product};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Fewer tokens than this say little about probabilities.
const FEW: usize = 1000;

/// Fit the probabilities of a model to labelled text that it was not trained on
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest calibrate -m model.kbest dev.tsv -o calibrated.kbest
  kbest evaluate -m calibrated.kbest test.tsv --marginals

A model divides its scores by the temperature found, so that labels are right as often as they are probable; if a rising \
curve on top does better on held-out folds of the data, it is stored, too. The labels stay the same: only what --marginals \
writes changes. The text must not be training data, on which every model is too good, nor the text that figures are \
reported for. Models of other programs are calibrated and converted at once. For details see docs/text.md.")]
pub(crate) struct Arguments {
    /// Labelled data; stdin if absent or `-`
    #[arg(value_name = "DATA")]
    files: Vec<PathBuf>,
    /// The model, in any format that `kbest convert` reads
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    data: Data,
    /// Print the report as JSON on stdout
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// What was found, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct CalibrationLine {
    temperature: f64,
    points: usize,
    answers: u64,
    error_before: f64,
    error_after: f64,
    brier_before: f64,
    brier_after: f64,
}

impl From<&Calibrated> for CalibrationLine {
    fn from(how: &Calibrated) -> Self {
        CalibrationLine {
            temperature: how.calibration.temperature(),
            points: how.calibration.curve().len(),
            answers: how.before.all().answers,
            error_before: how.before.expected_error(),
            error_after: how.after.expected_error(),
            brier_before: how.before.brier(),
            brier_after: how.after.brier(),
        }
    }
}

/// What was found, in a sentence.
pub(crate) fn told(how: &Calibrated) -> String {
    let curve = match how.calibration.curve().len() {
        0 => String::new(),
        points => format!(" and a curve of {points} points"),
    };
    format!(
        "calibrated by temperature {:.3}{curve}: expected calibration error {} -> {} on {} answers",
        how.calibration.temperature(),
        percent(how.before.expected_error()),
        percent(how.after.expected_error()),
        grouped(how.before.all().answers as usize)
    )
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { files, model, output, .. } = arguments;
    keep_inputs(output, files.iter().chain([model]).map(PathBuf::as_path))?;
    interrupt::on_end_remove_unfinished(output);
    let threads = threads(arguments.threads)?;
    let loaded = AnyModel::load(model)?;
    let (sequences, _) = read_labelled_for(&arguments.data, files, loaded.text_format(), None)?;
    let knows = |label: &str| with_model!(&loaded, |model| model.known(label).is_some());
    let mut labels = sequences.iter().flat_map(|one| (0..one.len()).filter_map(|t| one.label(t)));
    if !labels.any(knows) {
        let problem = "expected labels of the model, got none; are they where --format expects them?";
        return Err(Failure::input(&file_name(files.first().map(PathBuf::as_path)), problem));
    }
    let tokens: usize = sequences.iter().map(Sequence::len).sum();
    if tokens < FEW && !arguments.quiet {
        warn(&format!("{tokens} tokens say little about probabilities: expected at least {}", grouped(FEW)));
    }
    let how = with_model!(loaded, |model| {
        let (model, how) = calibrated(*model, &sequences, threads, arguments.quiet)?;
        model.save(output)?;
        how
    });
    if !arguments.quiet {
        // A closed stderr is ignored.
        let _ = writeln!(std::io::stderr(), "{}: {}", output.display(), told(&how));
    }
    if arguments.json {
        let mut stdout = Output::create(None)?;
        serde_json::to_writer_pretty(&mut stdout, &CalibrationLine::from(&how))
            .map_err(std::io::Error::from)?;
        writeln!(stdout)?;
        stdout.finish()?;
    }
    Ok(())
}

/// A calibrated model; what was done is noted in it, and `kbest inspect` shows it.
pub(crate) fn calibrated<M: Product>(
    model: M,
    sequences: &[Sequence],
    threads: usize,
    quiet: bool,
) -> kbest::Result<(M, Calibrated)> {
    let (model, progress) = (Arc::new(model), Counted::new("temperatures tried", quiet));
    let how = M::calibrate(&model, sequences, threads, &mut |_| progress.add(1))?;
    let model = Arc::into_inner(model).expect("the taggers that shared the model are gone");
    Ok((model.with_calibration(how.calibration.clone(), &told(&how))?, how))
}
