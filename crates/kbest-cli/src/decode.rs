//! `kbest decode`: score arrays in, one JSON line per sequence out.
//!
//! All input is checked before the first line is written. A sequence without a legal path does not stop the run: its
//! line has no paths and gives the reason, and the exit code is 1.

use crate::failure::{Failure, Result};
use crate::input::{Batch, FORMAT, Input, Scores, with_batch};
use crate::output::{Output, Progress};
use crate::parallel::in_order;
use crate::segments;
use crate::text::threads;
use clap::Args;
use kbest::{Decode, Decoded, Decoder, Error, Scratch};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

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
    /// Width of beam: labels kept per position [default: 8]
    #[arg(long, value_name = "N")]
    width: Option<usize>,
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

Exit code 1 if a sequence has no legal path.";

/// A line of output.
#[derive(Serialize)]
struct Line<'a, S> {
    paths: Vec<PathLine<'a, S>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    decoder: &'static str,
    exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<CountersLine<'a>>,
}

#[derive(Serialize)]
struct PathLine<'a, S> {
    labels: &'a [u32],
    score: S,
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
    with_batch!(arguments.input.read()?, |batch| match decoder {
        _ if batch.is_segments() => segments::decode(&arguments.for_segments(threads), &batch),
        Some(decoder) => decode(arguments, threads, &decoder, &batch),
        None => {
            let problem = "is for segments: expected a file with key `duration` or `segment`, got neither";
            Err(Failure::Usage(format!("decoder `{}` {problem}", arguments.decoder)))
        }
    })
}

impl Arguments {
    fn for_segments(&self, threads: usize) -> segments::Request<'_> {
        segments::Request {
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
) -> Result<()> {
    let lattices = batch.lattices()?;
    let mut output = Output::create(arguments.output.as_deref())?;
    let scrolling = arguments.output.is_none() && std::io::stdout().is_terminal();
    let progress = Progress::new(lattices.len(), scrolling);
    let mut failed = 0;
    let worker = || {
        let mut scratch = if arguments.counters { Scratch::counting() } else { Scratch::new() };
        let mut answer = Decoded::default();
        let lattices = &lattices;
        move |item: usize| {
            let error = match decoder.decode_into(&lattices[item], arguments.k, &mut scratch, &mut answer) {
                Ok(()) => None,
                Err(Error::NoPath) => Some(Error::NoPath.to_string()),
                Err(error) => return Err(error.into()),
            };
            let has_answer = error.is_none();
            let line = serde_json::to_vec(&line(&answer, error)).map_err(std::io::Error::from)?;
            Ok((line, has_answer))
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

fn line<S: Scores>(answer: &Decoded<S>, error: Option<String>) -> Line<'_, S> {
    let paths = answer.paths.iter().map(|path| PathLine { labels: &path.labels, score: path.score });
    let counters = answer.counters.as_ref().map(|counters| CountersLine {
        nodes: counters.nodes,
        edges: counters.edges,
        rounds: counters.rounds,
        nodes_at: &counters.nodes_at,
    });
    Line {
        paths: if error.is_some() { vec![] } else { paths.collect() },
        error,
        decoder: answer.decoder,
        exact: answer.exact,
        counters,
    }
}
