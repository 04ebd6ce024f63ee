//! `kbest tag`: text in, labels out.

mod offsets;
mod spans;

use crate::failure::{Failure, Result};
use crate::output::{Counted, Output, keep_inputs};
use crate::text::{
    Data, Event, Marginals, NotKept, Source, Suspicions, TaggerArguments, as_they_come, in_order, likeliest,
    threads, with_model,
};
use clap::Args;
use kbest::feature::Extractor;
use kbest::model::AnyModel;
use kbest::segment::Estimate;
use kbest::text::{Answer, Candidate, TextFormat, Writer};
use kbest::{Decoder, Sequence, Structure, Tagger};
use offsets::Known;
use spans::{SpanWriter, Spanning};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Label text with a model: adds a label column
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest tag -m model.kbest test.tsv > tagged.tsv
  kbest tag -m model.kbest -k 5 < test.tsv
  kbest tag -m model.kbest --format text < sentences.txt
  kbest tag -m model.kbest --marginals test.conllu
  kbest tag -m model.kbest --marginals=3 test.tsv
  kbest tag -m model.kbest --constraints auto --keep-labels partly.tsv
  kbest tag -m addresses.kbest --spans test.tsv
  kbest tag -m fast.kbest --decoder semi-astar:learned test.tsv

Text from a pipe is answered sentence by sentence, as soon as the end of each is read (a blank line, or the end of \
a line of JSON or plain text), so that a program can write a sentence and wait for its labels.

With -k, each candidate is a block of its own after a line `# rank score`; ranks start at 0. With --marginals, the \
probability of the candidate follows its score.

A transition file has one transition per line, `from<TAB>to`, with `!` in front to forbid it: `!O<TAB>I-*`. `^` and \
`$` stand for start and end, `*` for any characters. For details see docs/text.md.")]
pub(crate) struct Arguments {
    /// Files to label; stdin if absent or `-`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The model, in any format that `kbest convert` reads
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// Write the K best label sequences of each sequence [default: the best alone]
    #[arg(short, value_name = "K")]
    k: Option<usize>,
    /// Write a line `# rank score` before each label sequence, as with -k
    #[arg(long)]
    scores: bool,
    /// Write the probability of each label after it, as in `NOUN/0.9871`; `--marginals=3` also writes the three likeliest
    /// labels of each position, `--marginals=all` all of them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "chosen")]
    marginals: Option<String>,
    /// Write spans, one JSON line per sequence: start, end (not included), type and text of each, and where it is in the
    /// text, in characters, if that is known
    #[arg(long)]
    spans: bool,
    #[command(flatten)]
    tagger: TaggerArguments,
    /// The input has labels (last column, first field of items, CoNLL-U fields, `tags`): keep those that the model
    /// knows; any other, such as `_` or `?`, leaves the label open
    #[arg(long)]
    keep_labels: bool,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    data: Data,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.k == Some(0) {
        return Err(Failure::Usage("-k: expected at least 1, got 0".into()));
    }
    let marginals = Marginals::parse(arguments.marginals.as_deref())?;
    if arguments.spans && marginals.likeliest().is_some() {
        return Err(Failure::Usage(
            "--spans: expected --marginals without a number, because a span has no list of likely labels per position".into(),
        ));
    }
    let threads = threads(arguments.threads)?;
    if let Some(output) = &arguments.output {
        let inputs = arguments.files.iter().chain([&arguments.model]).map(PathBuf::as_path);
        keep_inputs(output, inputs.chain(arguments.tagger.files()))?;
    }
    with_model!(AnyModel::open(&arguments.model)?, |model| tag(arguments, marginals, threads, *model))
}

fn tag<M: Spanning + 'static>(
    arguments: &Arguments,
    marginals: Marginals,
    threads: usize,
    model: M,
) -> Result<()> {
    let (model, not_kept) = (Arc::new(model), NotKept::default());
    let tagger = arguments.tagger.tagger_of(&model, arguments.k.unwrap_or(1))?;
    let tagger =
        tagger.with_confidences(marginals.is_wanted()).with_distributions(marginals.likeliest().is_some());
    let speller = match arguments.spans {
        true => Some(Arc::new(model.speller()?)),
        false => None,
    };
    write(arguments, model.text_format(), model.extractor(), threads, |source, suspicions| {
        worker(arguments, marginals, tagger.another(), speller.clone(), source, suspicions, &not_kept)
    })?;
    not_kept.conclude(model.label_set());
    Ok(())
}

/// Tags all files; `worker` makes what one thread does.
fn write<W>(
    arguments: &Arguments,
    text: Option<&TextFormat>,
    extractor: &Extractor,
    threads: usize,
    worker: impl Fn(&Source, &Suspicions) -> Result<W>,
) -> Result<()>
where
    W: FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()> + Send + 'static,
{
    let mut output = Output::create(arguments.output.as_deref())?;
    let progress = Counted::new("sequences", arguments.output.is_none());
    let files: Vec<Option<&Path>> = match &arguments.files[..] {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    for file in files {
        let source = arguments.data.source(file, text)?;
        let suspicions = Suspicions::new(extractor, &source, file);
        let workers = (0..threads).map(|_| worker(&source, &suspicions)).collect::<Result<Vec<_>>>()?;
        let mut reader = source.open_to_tag(file, arguments.keep_labels)?;
        let mut then = |event: Event<'_>| match event {
            Event::Write(answered) => {
                output.write_all(&answered.text)?;
                progress.add(answered.sequences);
                Ok(())
            }
            Event::Flush => Ok(output.flush()?),
        };
        let answered = match Source::is_stream(file) {
            false => in_order(&mut reader, workers, |answered| then(Event::Write(answered))),
            true => as_they_come(reader, workers, then),
        };
        answered.map_err(|failure| explained(source.with_advice(failure), &source))?;
        suspicions.conclude();
    }
    drop(progress);
    output.finish()
}

/// Says what to do about lines of different lengths.
fn explained(failure: Failure, source: &Source) -> Failure {
    match failure {
        Failure::Library(kbest::Error::Data { file, line, expected, got })
            if source.is_columns_between_blanks() && expected.contains("column") =>
        {
            let got = format!("{got}; if each line is a sentence, use --format text");
            Failure::Library(kbest::Error::Data { file, line, expected, got })
        }
        other => other,
    }
}

/// What one thread does with a sequence.
fn worker<M: Spanning + 'static>(
    arguments: &Arguments,
    marginals: Marginals,
    mut tagger: Tagger<M>,
    speller: Option<Arc<M::Speller>>,
    source: &Source,
    suspicions: &Suspicions,
    not_kept: &NotKept,
) -> Result<impl FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()> + Send + use<M>> {
    let k = arguments.k.unwrap_or(1);
    let announced = arguments.scores || arguments.k.is_some();
    let keep = arguments.keep_labels;
    let model = tagger.model().clone();
    let promises = *tagger.decoder() == Decoder::SemiAstar(Estimate::Learned);
    let (suspicions, not_kept) = (suspicions.clone(), not_kept.clone());
    let spans = speller.map(|speller| (SpanWriter::new(announced), speller));
    let mut writer = Writer::new(Vec::new(), source.writer_options());
    let mut known = Vec::new();
    Ok(move |sequence: &Sequence, line: u64, text: &mut Vec<u8>| {
        suspicions.look(model.extractor(), sequence, line);
        let tagged = if keep {
            known.clear();
            known.extend((0..sequence.len()).map(|t| {
                let label = sequence.label(t)?;
                let known = model.known(label);
                if known.is_none() {
                    not_kept.add(label);
                }
                known
            }));
            tagger.tag_known(sequence, &known, k)?
        } else {
            tagger.tag(sequence, k)?
        };
        let guarantee = promises.then(|| tagged.decoded.guarantee());
        let all: Vec<&str> =
            marginals.likeliest().map_or_else(Vec::new, |_| model.label_set().names().collect());
        let rows = marginals.likeliest().map(|n| likeliest(&tagged.distributions, &all, n));
        let known_text = spans.as_ref().and_then(|_| Known::of(sequence));
        for (rank, path) in tagged.decoded.paths.iter().enumerate() {
            let (parts, score) = (path.as_ref(), in_few_digits(M::Structure::score_of(path)));
            let names = model.spell(parts);
            let probability = tagged.probabilities.get(rank).copied();
            let sure = tagged.confidences.get(rank).map(Vec::as_slice);
            if let Some((writer, speller)) = &spans {
                let found = model.spans_of(speller, parts, &names, sure);
                let known = known_text.as_ref();
                writer.write(sequence, known, &found, rank, score, probability, guarantee, text)?;
                continue;
            }
            // Each position is as sure as the part of the answer that covers it.
            let each = |sure: &[f64]| M::Structure::covering(parts).into_iter().map(|i| sure[i]).collect();
            let sure: Option<Vec<f64>> = sure.map(each);
            let answer = Answer {
                labels: &names,
                confidences: sure.as_deref(),
                distributions: rows.as_deref(),
                probability,
                candidate: announced.then_some(Candidate { rank, score }),
            };
            writer.write_answer(sequence, &answer)?;
        }
        text.append(writer.get_mut());
        Ok(())
    })
}

/// The same number with just enough digits to distinguish it from its neighbours: 0.1, not 0.10000000149.
fn in_few_digits(score: f32) -> f64 {
    score.to_string().parse().unwrap_or_else(|_| score.into())
}
