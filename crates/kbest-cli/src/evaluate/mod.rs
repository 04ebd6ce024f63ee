//! `kbest evaluate`: how good a model's labels are, or labels that are already in files.

mod by;
mod counts;
mod errors;
mod files;
mod report;

use crate::failure::{Failure, Result};
use crate::output::{Counted, Output, keep_inputs};
use crate::text::{Data, Source, Suspicions, TaggerArguments, in_order, threads, with_model};
use crate::warning::some_names;
use by::By;
use clap::Args;
use counts::{Compared, Counts, Wanted};
use errors::Place;
use kbest::decode::Lattices;
use kbest::evaluate::{Evaluation, Spans};
use kbest::feature::Extractor;
use kbest::model::AnyModel;
use kbest::scheme::{Layout, Role, Scheme, Tagging};
use kbest::scoring::TextModel;
use kbest::text::{Format, Reader, TextFormat};
use kbest::{Sequence, Structure};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Measure how good labels are: tokens, sequences, spans, labels
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest evaluate -m model.kbest test.tsv
  kbest evaluate -m model.kbest test.tsv --min-accuracy 0.93 --json
  kbest evaluate -m model.kbest test.tsv --errors=50 -o report.txt
  kbest evaluate -m model.kbest test.conllu --by upos --by feats
  kbest evaluate gold.conllu --predicted tagged.conllu
  kbest tag -m model.kbest --marginals test.tsv | kbest evaluate

Without a model, FILE and --predicted are compared; or, in a single file, the last two columns (gold, then predicted, as \
conlleval does), or the lists `gold` and `tags` of JSONL. Probabilities that `kbest tag --marginals` has written are \
measured, too. Without a model all of the data is kept in memory.

Exit code 1 if the result is below --min-accuracy or --min-f1.")]
pub(crate) struct Arguments {
    /// Labelled data; stdin if absent or `-`
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The model, in any format that `kbest convert` reads
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The same data with predicted labels, to be compared with FILE
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    predicted: Option<PathBuf>,
    /// How labels encode spans: auto, none, runs (of the same label), conlleval (lenient), or a scheme applied
    /// strictly: iob1, iob2, ioe1, ioe2, iobes, bilou, bmes
    #[arg(long, value_name = "SCHEME", default_value = "auto")]
    spans: String,
    /// Compute probabilities, too, and report how far they can be trusted (expected calibration error)
    #[arg(long)]
    marginals: bool,
    /// List wrong tokens and spans in context, the surest first: 20 of each kind, or `--errors=N`
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "20")]
    errors: Option<usize>,
    /// Break figures down by a column (from 1), by a field of CoNLL-U, by each feature (feats) or by the values of one
    /// (such as Case); may be repeated
    #[arg(long, value_name = "WHAT")]
    by: Vec<String>,
    #[command(flatten)]
    tagger: TaggerArguments,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Number of labels, and of groups of --by, to list, most frequent first
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
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl Arguments {
    /// Errors are listed with their probabilities.
    fn needs_probabilities(&self) -> bool {
        self.marginals || self.errors.is_some()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    for (option, least) in [("--min-accuracy", arguments.min_accuracy), ("--min-f1", arguments.min_f1)] {
        if let Some(least) = least.filter(|least| !(0.0..=1.0).contains(least)) {
            return Err(Failure::Usage(format!("{option}: expected a share from 0 to 1, got {least}")));
        }
    }
    if let Some(output) = &arguments.output {
        let files = [&arguments.file, &arguments.model, &arguments.predicted];
        let inputs = files.into_iter().flatten().map(PathBuf::as_path);
        keep_inputs(output, inputs.chain(arguments.tagger.files()))?;
    }
    let (mut counts, wanted) = match &arguments.model {
        Some(path) => with_model!(AnyModel::load(path)?, |model| tagged(arguments, &Arc::new(*model)))?,
        None => {
            if let Some(option) = arguments.tagger.first_given() {
                let problem = "expected -m MODEL, because this option is about tagging";
                return Err(Failure::Usage(format!("{option}: {problem}")));
            }
            files::compare(arguments)?
        }
    };
    if arguments.min_f1.is_some() && counts.evaluation.spans().is_none() {
        return Err(Failure::Usage(
            "--min-f1: expected labels that encode spans (see --spans), got others".into(),
        ));
    }
    wanted.by.iter().zip(&counts.groups).try_for_each(|(by, groups)| groups.expect_some(by))?;
    if let Some(errors) = &mut counts.errors {
        errors.finish();
    }
    let mut output = Output::create(arguments.output.as_deref())?;
    match arguments.json {
        true => report::json(&mut output, &counts, &wanted, arguments)?,
        false => report::text(&mut output, &counts, &wanted, arguments)?,
    }
    output.finish()?;
    judge(arguments, &counts.evaluation)
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
    let said = arguments.spans.as_str();
    match said {
        "auto" => return Ok(Spans::detect(names)),
        "none" => return Ok(None),
        "runs" => return Ok(Some(Spans::Runs)),
        _ => {}
    }
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    let layout = Tagging::detect(&names).map_or_else(Layout::default, |tagging| tagging.layout);
    let found = match said {
        "conlleval" => Spans::Conlleval(layout),
        name => Spans::Strict(Tagging { scheme: Scheme::by_name(name)?, layout }),
    };
    let is_span = |name: &&str| layout.read(name).is_some_and(|tag| tag.role != Role::Outside);
    let others: Vec<&str> = names.iter().copied().filter(|name| *name != "O").collect();
    if !others.is_empty() && !others.iter().any(is_span) {
        return Err(Failure::Usage(format!(
            "--spans {said}: expected labels such as B-PER and I-PER, got {}; runs of the same label are counted by \
             --spans runs",
            some_names(others.into_iter())
        )));
    }
    Ok(Some(found))
}

/// What to break figures down by.
fn by_of(arguments: &Arguments, format: &TextFormat) -> Result<Arc<[By]>> {
    arguments.by.iter().map(|text| By::parse(text, format)).collect()
}

/// Tags the data and counts.
fn tagged<M: TextModel + 'static>(arguments: &Arguments, model: &Arc<M>) -> Result<(Counts, Wanted)> {
    let threads = threads(arguments.threads)?;
    let tagger = arguments.tagger.tagger_of(model, 1)?.with_confidences(arguments.needs_probabilities());
    let file = arguments.file.as_deref();
    let source = arguments.data.source(file, model.text_format())?;
    let mut reader = source.open_labelled(file)?;
    let wanted = Wanted {
        spans: match arguments.spans.as_str() {
            "auto" => model.spans(),
            _ => spans(arguments, &mut model.label_set().names())?,
        },
        by: by_of(arguments, source.text_format())?,
        errors: arguments.errors,
    };
    let suspicions = Suspicions::new(model.extractor(), &source, file);
    let place = place(reader.file(), &source);
    let counts = measure(&mut reader, &wanted, threads, |part| {
        let (mut tagger, model) = (tagger.another(), model.clone());
        let (suspicions, place) = (suspicions.clone(), place.clone());
        move |sequence: &Sequence, line: u64, _: &mut Vec<u8>| {
            files::refuse_candidates(sequence, &place.file, line)?;
            suspicions.look(model.extractor(), sequence, line);
            let tagged = tagger.tag(sequence, 1)?;
            let parts = tagged.decoded.best().as_ref();
            let gold: Vec<&str> =
                (0..sequence.len()).map(|t| sequence.label(t).unwrap_or_default()).collect();
            let sure = tagged.confidences.first();
            let each = |sure: &Vec<f64>| sure.iter().copied().zip(model.right(parts, sequence)).collect();
            let of_segments = M::Structure::LATTICES == Lattices::Segments;
            let segments: Option<Vec<(f64, bool)>> = sure.filter(|_| of_segments).map(each);
            // Each position is as sure as the part of the answer that covers it.
            let each = |sure: &Vec<f64>| M::Structure::covering(parts).into_iter().map(|i| sure[i]).collect();
            let sure: Option<Vec<f64>> = sure.map(each);
            part.add(&Compared {
                sequence,
                place: place.at(line),
                gold: &gold,
                chosen: &model.spell(parts),
                unknown: unknown_words(sequence, model.extractor()).as_deref(),
                sure: sure.as_deref(),
                segments: segments.as_deref(),
            })
        }
    })?;
    suspicions.conclude();
    let knows = |label: &str| model.known(label).is_some();
    counts.expect_labels_of(reader.file(), knows, model.label_set().names())?;
    Ok((counts, wanted))
}

/// The file that sequences come from.
#[derive(Debug, Clone)]
struct Origin {
    file: String,
    format: Format,
}

fn place(file: &str, source: &Source) -> Origin {
    Origin { file: file.to_owned(), format: source.text_format().format }
}

impl Origin {
    fn at(&self, line: u64) -> Place<'_> {
        Place { file: &self.file, line, format: self.format }
    }
}

/// What one thread counts.
#[derive(Debug, Clone)]
struct Part {
    wanted: Wanted,
    counts: Arc<Mutex<Counts>>,
}

impl Part {
    fn add(&self, compared: &Compared<'_>) -> Result<()> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).add(&self.wanted, compared)
    }
}

/// Counts on many threads; `worker` makes what one thread does.
fn measure<W>(
    reader: &mut Reader,
    wanted: &Wanted,
    threads: usize,
    worker: impl Fn(Part) -> W,
) -> Result<Counts>
where
    W: FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()> + Send + 'static,
{
    let part = |_| Part { wanted: wanted.clone(), counts: Arc::new(Mutex::new(Counts::new(wanted))) };
    let parts: Vec<Part> = (0..threads).map(part).collect();
    let workers = parts.iter().map(|part| worker(part.clone()));
    let progress = Counted::new("sequences", false);
    in_order(reader, workers.collect(), |answered| {
        progress.add(answered.sequences);
        Ok(())
    })?;
    let mut whole = Counts::new(wanted);
    for part in parts {
        let mut counts = part.counts.lock().unwrap_or_else(PoisonError::into_inner);
        whole.merge(std::mem::replace(&mut counts, Counts::new(wanted)))?;
    }
    Ok(whole)
}

/// Which tokens were not seen in training, if the model can tell.
fn unknown_words(sequence: &Sequence, extractor: &Extractor) -> Option<Vec<bool>> {
    (0..sequence.len()).map(|t| Some(!extractor.knows_word(sequence.cell(t, 0)?)?)).collect()
}
