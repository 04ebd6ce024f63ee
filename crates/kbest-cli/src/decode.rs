//! `kbest decode`: score arrays in, one JSON line per sequence out.
//!
//! All input is checked before the first line is written. A sequence without a legal path does not stop the run: its
//! line has no paths and gives the reason, and the exit code is 1.

mod telling;

use crate::failure::{Failure, Result};
use crate::input::{Batch, FORMAT, Input, Scores, with_batch};
use crate::output::{Output, Progress, keep_inputs};
use crate::parallel::in_order;
use crate::segments;
use crate::text::threads;
use clap::Args;
use kbest::{Decode, Decoded, Decoder, Error, Lattice, MarginalScratch, Scratch, marginals};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
pub(crate) use telling::{Distributions, Label, Labels, Telling, rounded};

/// Find the best paths through score arrays; one JSON line per sequence
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLE}\n\n{FORMAT}"))]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Number of paths per sequence
    #[arg(short, value_name = "K", default_value_t = 1)]
    k: usize,
    /// Decoder (see `kbest decoders`), with an option if it has one: `astar:m3`, `beam:16`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    decoder: String,
    /// Heuristic of astar: naive, carpediem, m0, m3, m6, m9 [default: naive]; of semi-astar: none, admissible [default:
    /// admissible]
    #[arg(long, value_name = "NAME")]
    heuristic: Option<String>,
    /// Width of beam and prefix-beam: labels, or prefixes, kept per position [default: 8]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
    /// Names of the labels, to be written instead of numbers: a file with one per line, or a list `A,B,...`
    #[arg(long, value_name = "NAMES")]
    labels: Option<String>,
    /// Allow only label sequences that RULE allows, by the names of the labels: a scheme (auto, iob1, iob2, ioe1, ioe2,
    /// iobes, bilou, bmes) or a transition file; may be repeated, then all rules apply
    #[arg(long, value_name = "RULE", requires = "labels")]
    constraints: Vec<String>,
    /// Add the probability of each path and of each of its labels; `--marginals=3` also gives the three likeliest labels
    /// of each position, `--marginals=all` all of them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "chosen")]
    marginals: Option<String>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Report the cost of each search: nodes opened, edges read, rounds
    #[arg(long)]
    counters: bool,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

const EXAMPLE: &str = "\
Examples:
  kbest decode lattice.npz -k 5 > paths.jsonl
  kbest decode nodes.npy --edges edges.npy
  kbest decode lattice.npz --labels labels.txt --constraints iob2 --marginals

Exit code 1 if a sequence has no legal path.";

/// A line of output.
#[derive(Serialize)]
struct Line<'a, S> {
    paths: Vec<PathLine<'a, S>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distributions: Option<Distributions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    decoder: &'static str,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<CountersLine<'a>>,
}

#[derive(Serialize)]
struct PathLine<'a, S> {
    labels: Labels<'a>,
    score: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    marginals: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct CountersLine<'a> {
    nodes: u64,
    edges: u64,
    rounds: u64,
    nodes_at: &'a [u32],
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    // What the file holds decides: a decoder of segments by name waits for it, any other is checked at once.
    let decoder = if arguments.decoder.starts_with("semi-") { None } else { Some(chosen(arguments)?) };
    let threads = threads(arguments.threads)?;
    if let Some(output) = &arguments.output {
        let arrays =
            [&arguments.input.file, &arguments.input.edges].into_iter().flatten().map(PathBuf::as_path);
        let named = arguments.constraints.iter().chain(&arguments.labels).map(Path::new);
        keep_inputs(output, arrays.chain(named))?;
    }
    with_batch!(arguments.input.read()?, |batch| {
        let telling =
            Telling::new(arguments.labels.as_deref(), arguments.marginals.as_deref(), batch.labels())?;
        let batch = telling.constrain(batch, &arguments.constraints)?;
        match decoder {
            _ if batch.is_segments() => segments::decode(&arguments.for_segments(threads, &telling), &batch),
            Some(decoder) => decode(arguments, threads, &decoder, &batch, &telling),
            None => {
                let problem = "is for segments: expected a file with key `duration`, `segment` or `segment_begin`, got none";
                Err(Failure::Usage(format!("decoder `{}` {problem}", arguments.decoder)))
            }
        }
    })
}

impl Arguments {
    fn for_segments<'a>(&'a self, threads: usize, telling: &'a Telling) -> segments::Request<'a> {
        segments::Request {
            telling,
            decoder: &self.decoder,
            heuristic: self.heuristic.as_deref(),
            width: self.width,
            k: self.k,
            counters: self.counters,
            threads,
            output: self.output.as_deref(),
        }
    }
}

/// The decoder that the options describe, if it supports them.
fn chosen(arguments: &Arguments) -> Result<Decoder> {
    let mut decoder = Decoder::by_name(&arguments.decoder)?;
    if let Some(name) = &arguments.heuristic {
        decoder = decoder.with_heuristic(name.parse()?)?;
    }
    if let Some(width) = arguments.width {
        decoder = decoder.with_width(width)?;
    }
    if arguments.k == 0 {
        return Err(Failure::Usage("-k: expected at least 1, got 0".into()));
    }
    decoder.supports(arguments.k)?;
    Ok(decoder)
}

fn decode<S: Scores>(
    arguments: &Arguments,
    threads: usize,
    decoder: &Decoder,
    batch: &Batch<S>,
    telling: &Telling,
) -> Result<()> {
    let lattices = batch.lattices()?;
    let mut output = Output::create(arguments.output.as_deref())?;
    let scrolling = arguments.output.is_none() && std::io::stdout().is_terminal();
    let progress = Progress::new(lattices.len(), scrolling);
    let mut failed = 0;
    let worker = || {
        let mut scratch = if arguments.counters { Scratch::counting() } else { Scratch::planned() };
        let (mut answer, mut sums) = (Decoded::default(), MarginalScratch::new());
        let lattices = &lattices;
        move |item: usize| {
            let error = match decoder.decode_into(&lattices[item], arguments.k, &mut scratch, &mut answer) {
                Ok(()) => None,
                Err(Error::NoPath) => Some(Error::NoPath.to_string()),
                Err(error) => return Err(error.into()),
            };
            let has_answer = error.is_none();
            let mut line = line(&answer, error, telling);
            if telling.wants_probabilities() && has_answer {
                add_probabilities(&mut line, &lattices[item], &answer, telling, &mut sums)?;
            }
            Ok((serde_json::to_vec(&line).map_err(std::io::Error::from)?, has_answer))
        }
    };
    in_order(lattices.len(), threads, worker, |(line, has_answer)| {
        failed += usize::from(!has_answer);
        output.write_all(&line)?;
        output.write_all(b"\n")?;
        progress.step();
        Ok(())
    })?;
    drop(progress);
    output.finish()?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Negative(format!("{failed} of {} sequences have no answer", lattices.len()))),
    }
}

fn line<'a, S: Scores>(answer: &'a Decoded<S>, error: Option<String>, telling: &'a Telling) -> Line<'a, S> {
    let paths = answer.paths.iter().map(|path| PathLine {
        labels: telling.labels(&path.labels),
        score: path.score,
        probability: None,
        marginals: None,
    });
    let counters = answer.counters.as_ref().map(|counters| CountersLine {
        nodes: counters.nodes,
        edges: counters.edges,
        rounds: counters.rounds,
        nodes_at: &counters.nodes_at,
    });
    Line {
        paths: if error.is_some() { vec![] } else { paths.collect() },
        distributions: None,
        error,
        decoder: answer.decoder,
        exact: answer.exact,
        counters,
    }
}

/// Adds the probabilities of paths and labels, by forward-backward.
fn add_probabilities<'a, S: Scores>(
    line: &mut Line<'a, S>,
    lattice: &Lattice<'_, S>,
    answer: &Decoded<S>,
    telling: &'a Telling,
    scratch: &mut MarginalScratch,
) -> Result<()> {
    let sums = marginals(lattice, scratch)?;
    for (told, path) in line.paths.iter_mut().zip(&answer.paths) {
        told.probability = Some(sums.path_log_probability(&path.labels)?.exp());
        let sure = path.labels.iter().enumerate().map(|(t, &y)| rounded(sums.node(t)[y as usize]));
        told.marginals = Some(sure.collect());
    }
    line.distributions =
        telling.distributions(|| (0..sums.positions()).flat_map(|t| sums.node(t).iter().copied()).collect());
    Ok(())
}
