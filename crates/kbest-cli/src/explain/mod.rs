//! `kbest explain`: one search, shown: what was opened, the best paths, how certain they are, and why a label won.
//!
//! A [`Report`] says all of it; it becomes text for the terminal (`text.rs`), a page (`page.rs`) or JSON.

mod page;
mod positions;
mod report;
mod segments;
mod text;
mod why;

use crate::failure::{Failure, Result, as_typed};
use crate::input::{self, Batch, Dtype, Scores, with_batch};
use crate::output::{Output, keep_inputs};
use crate::text::{Data, Source, TaggerArguments, file_name};
use clap::Args;
use kbest::decode::Lattices;
use kbest::marginal::Calibration;
use kbest::model::AnyModel;
use kbest::scheme::KnownTag;
use kbest::scoring::{SegmentTerms, Terms, TextModel};
use kbest::{Decoder, LabelId, LabelSet, Model, SegmentModel, Sequence, Tagger};
use report::Report;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use why::{OfModel, OfScores, OfSegmentModel, OfSegmentScores};

/// Show one search: vertices opened and pruned, the best paths, why a label won
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Text to label with --model; without it, scores (.npz, .npy, .safetensors) as `kbest decode` reads them; stdin
    /// if absent or `-`
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The model, in any format that `kbest convert` reads
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Which sequence of FILE, counting from 1
    #[arg(long, value_name = "N", default_value_t = 1)]
    sequence: usize,
    /// Explain this token alone, counting from 1 [default: the whole sequence]
    #[arg(long, value_name = "N")]
    token: Option<usize>,
    /// With --token: compare with the best path that has this label there, instead of the runner-up
    #[arg(long, value_name = "LABEL", requires = "token")]
    against: Option<String>,
    /// Number of best paths
    #[arg(short, value_name = "K", default_value_t = 5)]
    k: usize,
    /// Number of terms to list per token
    #[arg(long, value_name = "N", default_value_t = 12)]
    top: usize,
    /// Write a page with pictures to this file, instead of text
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Print JSON, the data of the page
    #[arg(long, conflicts_with = "html")]
    json: bool,
    #[command(flatten)]
    tagger: TaggerArguments,
    /// The input has labels: keep those that the model knows (see `kbest tag`)
    #[arg(long)]
    keep_labels: bool,
    #[command(flatten)]
    data: Data,
    /// Without a model: file with more keys, such as the edges; an .npy file is read as `edge`
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Without a model: score type used for decoding [default: that of `node`]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
}

const EXAMPLES: &str = "\
Examples:
  kbest explain -m model.kbest test.tsv
  kbest explain -m model.kbest test.tsv --sequence 12 --token 3
  kbest explain -m model.kbest test.tsv --token 3 --against VERB
  kbest explain -m model.kbest test.tsv --html page.html
  kbest explain lattice.npz --decoder carpediem -k 1 --html page.html
  kbest explain lattice.npz --json

The runner-up of a token is the best path that has another label there (for segments: that lacks the segment around it).
The terms listed are those in which the two paths differ; with the rest they add up to the difference of the scores. For
details see docs/explain.md.

Exit code 1 if the sequence has no legal path.";

/// What is explained.
struct Input<'a> {
    file: &'a str,
    model: Option<&'a str>,
    sequence: usize,
    tokens: Option<Vec<String>>,
    calibration: Option<&'a Calibration>,
    name: Box<dyn Fn(LabelId) -> String + 'a>,
}

/// What the options ask for, checked against the input.
struct Asked<'a> {
    token: Option<usize>, // counting from 0
    against: Option<LabelId>,
    k: usize,
    top: usize,
    arguments: &'a Arguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    for (option, number) in
        [("-k", Some(arguments.k)), ("--sequence", Some(arguments.sequence)), ("--token", arguments.token)]
    {
        if number == Some(0) {
            return Err(Failure::Usage(format!("{option}: expected at least 1, got 0")));
        }
    }
    if let Some(html) = &arguments.html {
        let inputs = [&arguments.file, &arguments.model, &arguments.edges];
        let inputs = inputs.into_iter().flatten().map(PathBuf::as_path);
        keep_inputs(html, inputs.chain(arguments.tagger.files()))?;
    }
    let report = match &arguments.model {
        Some(model) => of_text(arguments, model)?,
        None => of_scores(arguments)?,
    };
    write(arguments, &report)
}

fn write(arguments: &Arguments, report: &Report) -> Result<()> {
    let mut output = Output::create(arguments.html.as_deref())?;
    if arguments.html.is_some() {
        page::write(report, &mut output)?;
    } else if arguments.json {
        serde_json::to_writer(&mut output, report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        write!(output, "{}", text::Text { report, token: arguments.token.map(|token| token - 1) })?;
    }
    output.finish()
}

impl Arguments {
    fn file_name(&self) -> String {
        file_name(self.file.as_deref())
    }

    /// The options for a sequence of this length and these labels.
    fn asked(&self, positions: usize, label: &dyn Fn(&str) -> Option<LabelId>) -> Result<Asked<'_>> {
        let place = format!("{}, sequence {}", self.file_name(), self.sequence);
        if let Some(token) = self.token.filter(|token| *token > positions) {
            let problem = format!("--token: expected at most {positions} ({place}), got {token}");
            return Err(Failure::Usage(problem));
        }
        let unknown =
            |name: &String| Failure::Usage(format!("--against: expected a known label, got `{name}`"));
        let against = self.against.as_ref().map(|name| label(name).ok_or_else(|| unknown(name)));
        Ok(Asked {
            token: self.token.map(|token| token - 1),
            against: against.transpose()?,
            k: self.k,
            top: self.top,
            arguments: self,
        })
    }

    /// Picks the sequence.
    fn missing(&self, count: usize) -> Failure {
        let expected = format!("--sequence: expected at most {count} ({})", self.file_name());
        Failure::Usage(format!("{expected}, got {}", self.sequence))
    }
}

impl Asked<'_> {
    fn decoder(&self, lattices: Lattices) -> Result<Decoder> {
        self.arguments.tagger.decoder(lattices, 1).map_err(as_typed)
    }
}

fn of_text(arguments: &Arguments, path: &Path) -> Result<Report> {
    if arguments.edges.is_some() || arguments.dtype.is_some() {
        let option = if arguments.edges.is_some() { "--edges" } else { "--dtype" };
        return Err(Failure::Usage(format!("{option}: expected scores, got text and --model")));
    }
    let model = AnyModel::load(path)?;
    let source = arguments.data.source(arguments.file.as_deref(), model.text_format())?;
    let sequence = chosen(arguments, &source)?;
    let model_name = path.display().to_string();
    match model {
        AnyModel::Positions(model) => of_positions(arguments, &model_name, &Arc::new(*model), &sequence),
        AnyModel::Segments(model) => of_segments(arguments, &model_name, &Arc::new(*model), &sequence),
    }
}

/// The sequence asked for; those before it are read and left.
fn chosen(arguments: &Arguments, source: &Source) -> Result<Sequence> {
    let mut reader = source.open_to_tag(arguments.file.as_deref(), arguments.keep_labels)?;
    let mut sequence = Sequence::new();
    for count in 0..arguments.sequence {
        if !reader.read_into(&mut sequence)? {
            return Err(arguments.missing(count));
        }
    }
    Ok(sequence)
}

fn tokens(sequence: &Sequence) -> Option<Vec<String>> {
    Some((0..sequence.len()).map(|t| sequence.cell(t, 0).unwrap_or_default().to_owned()).collect())
}

fn namer(labels: &LabelSet) -> Box<dyn Fn(LabelId) -> String + '_> {
    Box::new(|y| labels.name(y).unwrap_or_default().to_owned())
}

fn of_positions(
    arguments: &Arguments,
    model_name: &str,
    model: &Arc<Model>,
    sequence: &Sequence,
) -> Result<Report> {
    let asked = arguments.asked(sequence.len(), &|name| model.labels().id(name))?;
    let decoder = asked.decoder(Lattices::Positions)?;
    if let Some(voters) = model.voters() {
        let members = voters.votes().len();
        let problem = "its answer is a count of votes, so there are no terms that add up to it; --algorithm averaged \
                       trains the mean of such members, which can be explained";
        let problem = format!(
            "expected a model whose score is a sum of weights, got {members} members that vote: {problem}"
        );
        return Err(Failure::input(model_name, problem));
    }
    let terms = Terms::new(model, sequence).map_err(|error| Failure::input(model_name, error))?;
    let file = arguments.file_name();
    let input = Input {
        file: &file,
        model: Some(model_name),
        sequence: arguments.sequence,
        tokens: tokens(sequence),
        calibration: model.calibration(),
        name: namer(model.labels()),
    };
    let known: Vec<Option<LabelId>> = match arguments.keep_labels {
        true => (0..sequence.len()).map(|t| model.labels().id(sequence.label(t)?)).collect(),
        false => vec![],
    };
    let mut limited = arguments.tagger.tagger_of(model, 1)?;
    let mut free = Tagger::new(model.clone());
    let limited = limited.lattice(sequence, &known)?;
    let own = free.lattice(sequence, &[])?;
    let mut reasons = OfModel::new(model, terms, &own, &limited);
    positions::report(&input, &asked, &decoder, &limited, &mut reasons)
}

fn of_segments(
    arguments: &Arguments,
    model_name: &str,
    model: &Arc<SegmentModel>,
    sequence: &Sequence,
) -> Result<Report> {
    let asked = arguments.asked(sequence.len(), &|name| model.labels().id(name))?;
    let decoder = asked.decoder(Lattices::Segments)?;
    let file = arguments.file_name();
    let input = Input {
        file: &file,
        model: Some(model_name),
        sequence: arguments.sequence,
        tokens: tokens(sequence),
        calibration: model.calibration(),
        name: namer(model.labels()),
    };
    let mut limited = arguments.tagger.tagger_of(model, 1)?;
    let mut free = Tagger::new(model.clone());
    let known: Vec<Option<KnownTag>> = match arguments.keep_labels {
        true => (0..sequence.len()).map(|t| model.known(sequence.label(t)?)).collect(),
        false => vec![],
    };
    let limited = limited.lattice(sequence, &known)?;
    let own = free.lattice(sequence, &[])?;
    let terms = SegmentTerms::new(model, sequence)?;
    let mut reasons = OfSegmentModel { terms, own: &own, limited: &limited };
    segments::report(&input, &asked, &decoder, &limited, &mut reasons)
}

fn of_scores(arguments: &Arguments) -> Result<Report> {
    let given = [
        ("--constraints", !arguments.tagger.constraints.is_empty()),
        ("--keep-labels", arguments.keep_labels),
        ("options of text", arguments.data.first_given().is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!("{option}: expected text and --model, got scores")));
    }
    let (file, edges, dtype) = (arguments.file.clone(), arguments.edges.clone(), arguments.dtype);
    with_batch!(input::Input { file, edges, dtype }.read()?, |batch| of_batch(arguments, &batch))
}

fn of_batch<S: Scores>(arguments: &Arguments, batch: &Batch<S>) -> Result<Report> {
    let file = arguments.file_name();
    // Labels have no names here: they are numbered as in the arrays.
    let number = |name: &str| name.parse().ok().filter(|&y: &LabelId| (y as usize) < batch.labels());
    let input = Input {
        file: &file,
        model: None,
        sequence: arguments.sequence,
        tokens: None,
        calibration: None,
        name: Box::new(|y| y.to_string()),
    };
    if batch.is_segments() {
        let lattices = batch.segment_lattices()?;
        let lattice =
            lattices.get(arguments.sequence - 1).ok_or_else(|| arguments.missing(lattices.len()))?;
        let asked = arguments.asked(lattice.positions(), &number)?;
        let decoder = asked.decoder(Lattices::Segments)?;
        return segments::report(&input, &asked, &decoder, lattice, &mut OfSegmentScores(lattice));
    }
    let lattices = batch.lattices()?;
    let lattice = lattices.get(arguments.sequence - 1).ok_or_else(|| arguments.missing(lattices.len()))?;
    let asked = arguments.asked(lattice.positions(), &number)?;
    positions::report(&input, &asked, &asked.decoder(Lattices::Positions)?, lattice, &mut OfScores(lattice))
}
