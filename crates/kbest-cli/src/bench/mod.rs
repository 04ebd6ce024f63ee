//! `kbest bench`: times decoders side by side on the same sequences and compares their answers; times tagging by stage.

mod compare;
mod measure;
mod report;
mod segments;
mod tag;

pub use compare::{Verdict, compare, disagreements};
pub use measure::{Contender, Measured, Plan, Times, measure};
pub(crate) use report::YARDSTICK;

use crate::failure::{Failure, Result};
use crate::input::{Batch, Input, Scores, with_batch};
use crate::output::{Output, Progress, keep_inputs};
use clap::{Args, Subcommand};
use kbest::decode::{Lattices, catalogue};
use kbest::{Decode, Decoder};
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Time decoders side by side, or the stages of tagging, on one thread
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  kbest bench decode lattice.npz --repeat 10\n  kbest bench tag model.kbest test.tsv"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Decode(DecodeArguments),
    Tag(tag::Arguments),
}

/// Time decoders on the same sequences and compare their answers
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest bench decode lattice.npz
  kbest bench decode lattice.npz --decoders auto,astar:m3,beam:16 --json
  kbest bench decode lattice.npz --decoders auto,viterbi-astar -k 1,5,100

Decoders take turns in every round, on one thread, and the best round of each counts. Exit code 1 if exact decoders \
disagree. For the format of FILE see `kbest decode --help`.

Two rows are not decoders but limits: `scan` reads all node scores once (no decoder can be faster); `max-plus-limit` \
does the arithmetic of dense Viterbi and nothing else (no dense Viterbi can be faster).")]
struct DecodeArguments {
    #[command(flatten)]
    input: Input,
    /// Decoders, comma-separated, with options: `astar:m3`, `beam:16` [default: all that can find K paths]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    decoders: Vec<String>,
    /// Number of paths per sequence; comma-separated numbers compare their cost
    #[arg(short, value_name = "K", default_value = "1", value_delimiter = ',')]
    k: Vec<usize>,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeat: usize,
    /// Time limit per decoder and round; a decoder that exceeds it stops there
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    limit: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also write the JSON to this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.what {
        What::Decode(arguments) => decode(arguments),
        What::Tag(arguments) => tag::run(arguments),
    }
}

fn decode(arguments: &DecodeArguments) -> Result<()> {
    if arguments.k.contains(&0) || arguments.repeat == 0 {
        return Err(Failure::Usage("-k and --repeat: expected at least 1, got 0".into()));
    }
    if arguments.limit.is_nan() || arguments.limit <= 0.0 {
        return Err(Failure::Usage(format!("--limit: expected seconds above 0, got {}", arguments.limit)));
    }
    let ks: Vec<usize> = BTreeSet::from_iter(arguments.k.iter().copied()).into_iter().collect();
    let reports = Reports::open(arguments)?;
    with_batch!(arguments.input.read()?, |batch| match batch.is_segments() {
        true => segments::bench(arguments, &batch, reports),
        false => bench(arguments, &ks, chosen_for(&arguments.decoders, &ks)?, &batch, reports),
    })
}

/// Where reports go, opened before anything is measured: a long run must not end in a file that cannot be written.
struct Reports {
    json: bool,
    saved: Option<Output>,
}

impl Reports {
    fn open(arguments: &DecodeArguments) -> Result<Self> {
        let inputs = [&arguments.input.file, &arguments.input.edges];
        let open = |path: &PathBuf| {
            keep_inputs(path, inputs.into_iter().flatten().map(PathBuf::as_path))?;
            Output::create(Some(path))
        };
        Ok(Reports { json: arguments.json, saved: arguments.save.as_ref().map(open).transpose()? })
    }

    /// Prints the report and saves it.
    fn write(self, report: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        let json = serde_json::to_string(report).map_err(std::io::Error::from)? + "\n";
        let mut output = Output::create(None)?;
        output.write_all(if self.json { json.clone() } else { text() }.as_bytes())?;
        output.finish()?;
        if let Some(mut saved) = self.saved {
            saved.write_all(json.as_bytes())?;
            saved.finish()?;
        }
        Ok(())
    }
}

/// Decoders by name, with the number of paths to find; all that can find `k` paths if none is named.
pub(crate) fn chosen(names: &[String], k: usize) -> Result<Vec<(String, Decoder, usize)>> {
    if !names.is_empty() {
        let one = |name: &String| {
            let decoder = Decoder::by_name(name)?;
            decoder.supports(k)?;
            Ok((name.clone(), decoder, k))
        };
        let first = |i: &usize| !names[..*i].contains(&names[*i]); // a name given twice is measured once
        return (0..names.len()).filter(first).map(|i| one(&names[i])).collect();
    }
    let mut all = vec![];
    for entry in catalogue(Lattices::Positions) {
        let decoder = Decoder::by_name(entry.name)?;
        if decoder.supports(k).is_ok() {
            all.push((entry.name.to_owned(), decoder, k));
        } else if entry.name == YARDSTICK {
            all.push((entry.name.to_owned(), decoder, 1)); // the yardstick of every table
        }
    }
    Ok(all)
}

/// The same for several numbers of paths, ascending: each decoder for those it supports, at least one.
fn chosen_for(names: &[String], ks: &[usize]) -> Result<Vec<(String, Decoder, usize)>> {
    let fewest = ks.first().copied().unwrap_or(1);
    let named = chosen(names, fewest)?;
    let mut all = vec![];
    for &k in ks {
        let able = named.iter().filter(|(_, decoder, _)| decoder.supports(k).is_ok());
        all.extend(able.map(|(name, decoder, _)| (name.clone(), decoder.clone(), k)));
    }
    all.extend(named.into_iter().filter(|(_, _, k)| *k != fewest)); // the yardstick, if it cannot find that many
    Ok(all)
}

fn bench<S: Scores>(
    arguments: &DecodeArguments,
    ks: &[usize],
    decoders: Vec<(String, Decoder, usize)>,
    batch: &Batch<S>,
    reports: Reports,
) -> Result<()> {
    let lattices = batch.lattices()?;
    if lattices.is_empty() {
        return Err(Failure::Usage("expected at least one sequence to measure, got none".into()));
    }
    let contenders: Vec<_> = decoders.into_iter().map(|(n, d, k)| Contender::new(n, d, k)).collect();
    let mut progress = Progress::new(arguments.repeat * contenders.len(), false);
    let plan = Plan { repeat: arguments.repeat, limit: arguments.limit, counting: true, limits: true };
    let measured = measure(&lattices, contenders, plan, &mut progress)?;
    drop(progress);
    let verdicts = compare(&lattices, &measured.contenders);
    let report = report::Report::new::<S>(&lattices, ks, &measured, &verdicts);
    reports.write(&report, || report.text())?;
    match disagreements(&measured.contenders, &verdicts) {
        Some(text) => Err(Failure::Negative(text)),
        None => Ok(()),
    }
}
