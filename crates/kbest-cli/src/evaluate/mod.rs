//! `kbest evaluate`: accuracy of a model's labels, or of labels that are already in a file.

mod segments;

use crate::failure::{Failure, Result};
use crate::output::{Counted, Output};
use crate::text::{Bound, Constraints, Data, Tally, in_order, threads};
use clap::Args;
use kbest::columns::Reader;
use kbest::evaluate::{Evaluation, Spans};
use kbest::feature::Extractor;
use kbest::model::AnyModel;
use kbest::scheme::{Layout, Scheme, Tagging};
use kbest::{Decoder, Model, Sequence};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Measure a model's accuracy on labelled text: tokens, sequences, spans, labels
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest evaluate -m model.kbest test.tsv
  kbest evaluate -m model.kbest test.tsv --min-accuracy 0.93 --json
  kbest tag -m model.kbest test.tsv | kbest evaluate

Without a model, the last two columns are compared: gold, then predicted, as conlleval does.

Exit code 1 if the result is below --min-accuracy or --min-f1.")]
pub(crate) struct Arguments {
    /// Labelled data; stdin if absent or `-`
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The model, in any format that `kbest convert` reads
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// How labels encode spans: auto, none, runs (of the same label), conlleval (lenient), or a scheme applied
    /// strictly: iob1, iob2, ioe1, ioe2, iobes, bilou, bmes
    #[arg(long, value_name = "SCHEME", default_value = "auto")]
    spans: String,
    #[command(flatten)]
    constraints: Constraints,
    /// Decoder (see `kbest decoders`), with an option if it has one: `astar:m3`, `beam:16`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    decoder: String,
    #[command(flatten)]
    bound: Bound,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Number of labels to list, most frequent first
    #[arg(long, value_name = "N", default_value_t = 20)]
    labels: usize,
    /// Number of confusions to list, most frequent first
    #[arg(long, value_name = "N", default_value_t = 10)]
    confusions: usize,
    /// Fail if the token accuracy is below this (0 to 1)
    #[arg(long, value_name = "X")]
    min_accuracy: Option<f64>,
    /// Fail if the F1 of spans is below this (0 to 1)
    #[arg(long, value_name = "X")]
    min_f1: Option<f64>,
    #[command(flatten)]
    data: Data,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    for (option, least) in [("--min-accuracy", arguments.min_accuracy), ("--min-f1", arguments.min_f1)] {
        if let Some(least) = least.filter(|least| !(0.0..=1.0).contains(least)) {
            return Err(Failure::Usage(format!("{option}: expected a share from 0 to 1, got {least}")));
        }
    }
    let mut tally = None;
    let evaluation = match &arguments.model {
        Some(path) => match AnyModel::load(path)? {
            AnyModel::Positions(model) => {
                arguments.bound.refuse_for_positions()?;
                with_model(arguments, &Arc::new(*model))?
            }
            AnyModel::Segments(model) => {
                let (evaluation, counted) = segments::with_model(arguments, &Arc::new(*model))?;
                tally = counted;
                evaluation
            }
        },
        None => {
            arguments.bound.refuse_for_positions()?;
            two_columns(arguments)?
        }
    };
    if arguments.min_f1.is_some() && evaluation.spans().is_none() {
        return Err(Failure::Usage(
            "--min-f1: expected labels that encode spans (see --spans), got others".into(),
        ));
    }
    let mut output = Output::create(None)?;
    if arguments.json {
        let report = Report { bound: tally, ..Report::of(&evaluation, arguments) };
        serde_json::to_writer_pretty(&mut output, &report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        write!(output, "{}", evaluation.report(arguments.labels, arguments.confusions))?;
        if let Some(tally) = tally {
            writeln!(output, "\n{tally}")?;
        }
    }
    output.finish()?;
    judge(arguments, &evaluation)
}

/// Fails if accuracy or F1 is below the requested minimum.
fn judge(arguments: &Arguments, evaluation: &Evaluation) -> Result<()> {
    let f1 = evaluation.spans().map(|spans| spans.all.f1());
    let accuracy = Some(evaluation.tokens().share());
    for (what, least, got) in
        [("accuracy", arguments.min_accuracy, accuracy), ("F1 of spans", arguments.min_f1, f1)]
    {
        if let (Some(least), Some(got)) = (least, got)
            && got < least
        {
            return Err(Failure::Negative(format!("{what}: expected at least {least}, got {got:.6}")));
        }
    }
    Ok(())
}

/// How spans are encoded: as requested, or as the names of the labels suggest.
fn spans(arguments: &Arguments, names: &mut dyn Iterator<Item = &str>) -> Result<Option<Spans>> {
    match arguments.spans.as_str() {
        "auto" => Ok(Spans::detect(names)),
        "none" => Ok(None),
        "runs" => Ok(Some(Spans::Runs)),
        "conlleval" => Ok(Some(Spans::Conlleval(Layout::default()))),
        name => {
            let layout = Tagging::detect(names).map_or_else(Layout::default, |tagging| tagging.layout);
            Ok(Some(Spans::Strict(Tagging { scheme: Scheme::by_name(name)?, layout })))
        }
    }
}

fn with_model(arguments: &Arguments, model: &Arc<Model>) -> Result<Evaluation> {
    let threads = threads(arguments.threads)?;
    let tagger = arguments.constraints.tagger(model, Decoder::by_name(&arguments.decoder)?)?;
    let file = arguments.file.as_deref();
    let source = arguments.data.source(file, model.text_format())?;
    let mut reader = source.open_labelled(file)?;
    let spans = spans(arguments, &mut model.labels().names())?;
    measure(&mut reader, spans, threads, |part| {
        let (mut tagger, model) = (tagger.another(), model.clone());
        move |sequence: &Sequence, _: &mut Vec<u8>| {
            let tagged = tagger.tag(sequence, 1)?;
            let labels = tagged.decoded.best().labels.iter();
            let predicted: Vec<&str> = labels.map(|&y| model.labels().name(y).unwrap_or_default()).collect();
            add(&part, sequence, &predicted, model.extractor())
        }
    })
}

/// What one thread has counted.
type Part = Arc<Mutex<Evaluation>>;

/// Counts on many threads; `worker` makes what one thread does.
fn measure<W>(
    reader: &mut Reader,
    spans: Option<Spans>,
    threads: usize,
    worker: impl Fn(Part) -> W,
) -> Result<Evaluation>
where
    W: FnMut(&Sequence, &mut Vec<u8>) -> Result<()> + Send + 'static,
{
    let part = |_| Arc::new(Mutex::new(Evaluation::new(spans)));
    let parts: Vec<Part> = (0..threads).map(part).collect();
    let workers = parts.iter().map(|part| worker(part.clone()));
    let progress = Counted::new("sequences", false);
    in_order(reader, workers.collect(), |answered| {
        progress.add(answered.sequences);
        Ok(())
    })?;
    let mut whole = Evaluation::new(spans);
    for part in &parts {
        whole.merge(&part.lock().unwrap_or_else(PoisonError::into_inner))?;
    }
    Ok(whole)
}

/// Compares the labels of one sequence with the right ones.
fn add(part: &Part, sequence: &Sequence, predicted: &[&str], extractor: &Extractor) -> Result<()> {
    let gold: Vec<&str> = (0..sequence.len()).map(|t| sequence.label(t).unwrap_or_default()).collect();
    let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
    let known = (0..sequence.len()).map(|t| extractor.knows_word(sequence.cell(t, 0)?));
    match known.map(|known| known.map(|known| !known)).collect::<Option<Vec<bool>>>() {
        Some(unknown) => part.add_knowing(&gold, predicted, &unknown)?,
        None => part.add(&gold, predicted)?,
    }
    Ok(())
}

/// Gold and predicted labels from the last two columns.
fn two_columns(arguments: &Arguments) -> Result<Evaluation> {
    let file = arguments.file.as_deref();
    let source = arguments.data.source(file, None)?;
    if !source.is_columns() {
        return Err(Failure::Usage(
            "without --model: expected columns, the last two gold and predicted labels, got another format"
                .into(),
        ));
    }
    let mut reader = source.open_labelled(file)?;
    let mut sequence = Sequence::new();
    let mut pairs: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    while reader.read_into(&mut sequence)? {
        // The reader takes the last column as the label and ensures that there is one before it.
        let before = |t: usize| sequence.cells(t).last().unwrap_or_default().to_owned();
        let gold = (0..sequence.len()).map(before).collect();
        let predicted = (0..sequence.len()).map(|t| sequence.label(t).unwrap_or_default().to_owned());
        pairs.push((gold, predicted.collect()));
    }
    let mut names =
        pairs.iter().flat_map(|(gold, predicted)| gold.iter().chain(predicted)).map(String::as_str);
    let mut evaluation = Evaluation::new(spans(arguments, &mut names)?);
    for (gold, predicted) in &pairs {
        evaluation.add(gold, predicted)?;
    }
    Ok(evaluation)
}

#[derive(Serialize)]
struct Report<'a> {
    tokens: u64,
    accuracy: f64,
    sequences: u64,
    sequence_accuracy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_words: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_word_accuracy: Option<f64>,
    macro_f1: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Tally>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<SpanReport<'a>>,
    labels: Vec<Row<'a>>,
    confusions: Vec<Confusion<'a>>,
}

#[derive(Serialize)]
struct SpanReport<'a> {
    precision: f64,
    recall: f64,
    f1: f64,
    types: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    precision: f64,
    recall: f64,
    f1: f64,
    gold: u64,
    predicted: u64,
    right: u64,
}

#[derive(Serialize)]
struct Confusion<'a> {
    gold: &'a str,
    predicted: &'a str,
    count: u64,
}

impl<'a> From<&kbest::evaluate::Row<'a>> for Row<'a> {
    fn from(row: &kbest::evaluate::Row<'a>) -> Self {
        let tally = &row.tally;
        Row {
            name: row.name,
            precision: tally.precision(),
            recall: tally.recall(),
            f1: tally.f1(),
            gold: tally.gold,
            predicted: tally.predicted,
            right: tally.right,
        }
    }
}

impl<'a> Report<'a> {
    fn of(evaluation: &'a Evaluation, arguments: &Arguments) -> Self {
        let unknown = evaluation.unknown();
        Report {
            tokens: evaluation.tokens().all,
            accuracy: evaluation.tokens().share(),
            sequences: evaluation.sequences().all,
            sequence_accuracy: evaluation.sequences().share(),
            unknown_words: unknown.map(|hits| hits.all),
            unknown_word_accuracy: unknown.map(|hits| hits.share()),
            macro_f1: evaluation.macro_f1(),
            bound: None,
            spans: evaluation.spans().map(|spans| SpanReport {
                precision: spans.all.precision(),
                recall: spans.all.recall(),
                f1: spans.all.f1(),
                types: spans.rows.iter().map(Row::from).collect(),
            }),
            labels: evaluation.labels().iter().map(Row::from).collect(),
            confusions: evaluation
                .confusions(arguments.confusions)
                .iter()
                .map(|c| Confusion { gold: c.gold, predicted: c.predicted, count: c.count })
                .collect(),
        }
    }
}
