//! `kbest learn-bound`: from a model of segments and unlabelled text to a model that can be searched faster.

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{Output, Progress, keep_inputs};
use crate::table::grouped;
use crate::text::{Data, read_unlabelled};
use clap::Args;
use kbest::SegmentModel;
use kbest::model::{AnyModel, SegmentModelParts};
use kbest::segment::{BoundOptions, BoundProgress, BoundReport};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Learn from unlabelled text how to search a model of segments faster
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest learn-bound -m addresses.kbest text.tsv -o fast.kbest
  kbest tag -m fast.kbest --decoder semi-astar:learned text.tsv

The sequences are decoded once, by the exact search; labels are not needed. Some are kept aside, and what answers are worth is \
measured on them: with probability 1 - epsilon an answer falls short of the best one by at most delta. Both numbers are \
printed and stored in the new model. For the mathematics see docs/decoders/segments.md.")]
pub(crate) struct Arguments {
    /// Files of sequences, as for `kbest tag`; stdin if absent or `-`
    #[arg(value_name = "DATA")]
    files: Vec<PathBuf>,
    /// The model of segments
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The norm that keeps weights small: l1 (linear programme) or l2 (quadratic)
    #[arg(long, value_name = "NORM", default_value = "l1")]
    norm: String,
    /// By how much answers may fall short, in the model's scores
    #[arg(long, value_name = "X", default_value_t = BoundOptions::default().delta)]
    delta: f64,
    /// How much better than delta estimates should be where they are fitted
    #[arg(long, value_name = "X", default_value_t = BoundOptions::default().margin)]
    margin: f64,
    /// How much the size of weights counts beside the inexactness of estimates
    #[arg(long, value_name = "X", default_value_t = BoundOptions::default().regularisation)]
    regularisation: f64,
    /// How much more an estimate counts that is too low than one that is too high: more is safer and slower
    #[arg(long, value_name = "X", default_value_t = BoundOptions::default().penalty)]
    penalty: f64,
    /// Write every inequality out instead of sharing sums (the paper's section 4.1)
    #[arg(long)]
    dense: bool,
    /// Fit all segments, not just those of the best answers (section 4.2): for a few dozen sequences
    #[arg(long)]
    all_inequalities: bool,
    /// Trees of the cheap classifier; 0: take the label with the best node score instead
    #[arg(long, value_name = "N", default_value_t = BoundOptions::default().trees)]
    trees: usize,
    /// Features that occur less often have no weights
    #[arg(long, value_name = "N", default_value_t = BoundOptions::default().frequent)]
    frequent: usize,
    /// Fit and measure on so many sequences at most, taken at random
    #[arg(long, value_name = "N", default_value_t = 2000)]
    sequences: usize,
    /// Share of the sequences to measure on
    #[arg(long, value_name = "X", default_value_t = BoundOptions::default().holdout)]
    holdout: f64,
    /// Which sequences are taken, and which are measured on
    #[arg(long, value_name = "N", default_value_t = BoundOptions::default().seed)]
    seed: u64,
    #[command(flatten)]
    data: Data,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { files, model, output, .. } = arguments;
    keep_inputs(output, files.iter().chain([model]).map(PathBuf::as_path))?;
    interrupt::on_end_remove_unfinished(output);
    let options = BoundOptions {
        norm: arguments.norm.parse()?,
        delta: arguments.delta,
        margin: arguments.margin,
        regularisation: arguments.regularisation,
        penalty: arguments.penalty,
        sparse: !arguments.dense,
        all_inequalities: arguments.all_inequalities,
        trees: arguments.trees,
        frequent: arguments.frequent,
        holdout: arguments.holdout,
        seed: arguments.seed,
    };
    let AnyModel::Segments(loaded) = AnyModel::load(model)? else {
        let problem = "expected a model of segments (--algorithm semi), got one of single positions";
        return Err(Failure::input(&model.display().to_string(), problem));
    };
    let (mut sequences, _) = read_unlabelled(&arguments.data, files, loaded.text_format())?;
    if sequences.len() > arguments.sequences {
        let mut chosen = kbest::random::Random::new(arguments.seed).shuffled(sequences.len());
        chosen.truncate(arguments.sequences);
        chosen.sort_unstable();
        sequences = chosen.iter().map(|&i| std::mem::take(&mut sequences[i as usize])).collect();
    }
    let progress = Progress::new(100, false);
    let (bound, report) = loaded.learn_bound(&sequences, &options, &mut |now| show(&progress, now))?;
    drop(progress);
    let parts = SegmentModelParts { bound: Some(bound), ..loaded.into_parts() };
    SegmentModel::new(parts)?.save(output)?;
    let report = Report::new(output, &report);
    let mut stdout = Output::create(None)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut stdout, &report).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    } else {
        write!(stdout, "{report}")?;
    }
    stdout.finish()
}

/// Decoding, trees, the solver and measuring, each a part of 100 steps.
fn show(progress: &Progress, now: BoundProgress) {
    let part = |from: usize, to: usize, done: usize, of: usize| from + (to - from) * done / of.max(1);
    let (at, doing) = match now {
        BoundProgress::Decoded(done, of) => (part(0, 30, done, of), "decoding"),
        BoundProgress::Trees(done, of) => (part(30, 45, done, of), "growing trees"),
        BoundProgress::Fitting(_) => (45, "solving the programme"),
        BoundProgress::Measured(done, of) => (part(85, 100, done, of), "measuring"),
    };
    progress.say(doing);
    progress.at(at);
}

#[derive(Serialize)]
struct Report {
    file: String,
    fitted: usize,
    tokens: usize,
    classifier_agrees: f64,
    inequalities: usize,
    weights: usize,
    weights_not_zero: usize,
    variables: usize,
    rows: usize,
    coefficients: usize,
    iterations: u32,
    inequalities_broken: usize,
    inexactness: f64,
    measured: u64,
    delta: f64,
    epsilon: f64,
    short_by_more_than_delta: u64,
    short: u64,
    largest_shortfall: f64,
    estimates_too_low: f64,
    explicit_scores_exact: f64,
    explicit_scores_learned: f64,
    seconds_decoding: f64,
    seconds_trees: f64,
    seconds_programme: f64,
    seconds_measuring: f64,
}

impl Report {
    fn new(file: &Path, report: &BoundReport) -> Self {
        let BoundReport { size, promise, seconds, explicit, .. } = report;
        Report {
            file: file.display().to_string(),
            fitted: report.fitted,
            tokens: report.tokens,
            classifier_agrees: report.guessed,
            inequalities: size.inequalities,
            weights: size.weights,
            weights_not_zero: report.weights,
            variables: size.variables,
            rows: size.rows,
            coefficients: size.coefficients,
            iterations: size.iterations,
            inequalities_broken: size.broken,
            inexactness: size.inexactness,
            measured: promise.measured,
            delta: promise.delta,
            epsilon: promise.epsilon,
            short_by_more_than_delta: promise.failed,
            short: promise.short,
            largest_shortfall: promise.largest,
            estimates_too_low: report.broken,
            explicit_scores_exact: explicit[0],
            explicit_scores_learned: explicit[1],
            seconds_decoding: seconds[0],
            seconds_trees: seconds[1],
            seconds_programme: seconds[2],
            seconds_measuring: seconds[3],
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        writeln!(
            f,
            "fitted     {} sequences, {} tokens, in {:.1} s; the classifier agrees on {}",
            grouped(self.fitted),
            grouped(self.tokens),
            self.seconds_decoding + self.seconds_trees + self.seconds_programme,
            percent(self.classifier_agrees)
        )?;
        writeln!(
            f,
            "programme  {} inequalities, {} weights ({} not 0), {} variables, {} rows, {} coefficients; {:.1} s",
            grouped(self.inequalities),
            grouped(self.weights),
            grouped(self.weights_not_zero),
            grouped(self.variables),
            grouped(self.rows),
            grouped(self.coefficients),
            self.seconds_programme
        )?;
        writeln!(
            f,
            "measured   {} other sequences: {} fell short, {} by more than {}, at most by {:.3}",
            grouped(self.measured as usize),
            grouped(self.short as usize),
            grouped(self.short_by_more_than_delta as usize),
            self.delta,
            self.largest_shortfall
        )?;
        writeln!(
            f,
            "promise    within {} with probability {:.4} (epsilon {:.4}, 95 % confidence)",
            self.delta,
            1.0 - self.epsilon,
            self.epsilon
        )?;
        writeln!(
            f,
            "search     {:.1} scores of segments per sequence instead of {:.1}",
            self.explicit_scores_learned, self.explicit_scores_exact
        )?;
        writeln!(f, "written    {}", self.file)
    }
}
