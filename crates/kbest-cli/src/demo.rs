//! `kbest demo`: all decoders on synthetic lattices of growing size, as a table and a picture.
//!
//! Every decoder gets a small share of time at each size: slow ones decode fewer sentences, and none at sizes where
//! even two would take too long.

use crate::bench::{self, Contender, Plan, YARDSTICK, compare, disagreements, measure};
use crate::failure::{Failure, Result};
use crate::generate::lattice::{Recipe, generate};
use crate::input::Batch;
use crate::output::{Output, Progress};
use crate::svg::{self, Role, Series, Texts};
use crate::table;
use clap::Args;
use kbest::{Decoder, kernel};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

/// Watch all decoders on lattices of 50 to 3,000 labels; takes well under a minute
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kbest demo --svg decoders.svg\n  kbest demo --quick")]
pub(crate) struct Arguments {
    /// Where to draw the picture
    #[arg(long, value_name = "FILE", default_value = "kbest-demo.svg")]
    svg: PathBuf,
    /// Fewer sentences, no more than 1,000 labels
    #[arg(long)]
    quick: bool,
    /// Decoders, comma-separated [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    decoders: Vec<String>,
}

const LABELS: [usize; 5] = [50, 100, 300, 1000, 3000];
/// Positions of a sentence.
const POSITIONS: usize = 20;
/// A decoder that needs longer than this for a sentence, by what the last size lets expect, sits the size out.
const PATIENCE: f64 = 1.0;
/// The line of the physical limit.
const SCAN: &str = "reading the scores";

/// What one size gave.
struct Size {
    labels: usize,
    /// Sentences that at least two exact decoders decoded.
    compared: usize,
    /// (decoder, seconds a sentence), `None` if it sat this size out.
    times: Vec<(String, Option<f64>)>,
    scan: f64,
    disagreement: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let decoders = bench::chosen(&arguments.decoders, 1)?;
    let (sentences, limit) = if arguments.quick { (20, 0.1) } else { (100, 0.35) };
    let sizes: Vec<usize> = LABELS.into_iter().filter(|&labels| !arguments.quick || labels <= 1000).collect();
    let mut output = Output::create(None)?;
    writeln!(
        output,
        "Decoding made-up sentences of {POSITIONS} words, one thread, f32, {}.\n",
        kernel::level().name()
    )?;
    let mut progress = Progress::new(3 * decoders.len() * sizes.len(), false);
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    let mut checked = 0;
    for labels in sizes {
        let able = decoders.iter().map(|(name, decoder, _)| {
            let wait = lines.get(name).map_or(Some(0.0), |points| expected(points, labels));
            (name.clone(), decoder.clone(), wait.is_some_and(|seconds| seconds < PATIENCE))
        });
        let size = one_size(labels, sentences, limit, able.collect(), &mut progress)?;
        write!(output, "{}", size.text())?;
        output.flush()?;
        if let Some(text) = size.disagreement {
            output.finish()?;
            return Err(Failure::Negative(format!("{labels} labels: {text}")));
        }
        checked += size.compared;
        lines.entry(SCAN.into()).or_default().push((labels as f64, size.scan));
        for (name, seconds) in size.times {
            let line = lines.entry(name).or_default();
            line.extend(seconds.map(|seconds| (labels as f64, seconds)));
        }
    }
    drop(progress);
    writeln!(
        output,
        "The exact decoders gave the same answers on all {checked} sentences that two or more of them decoded."
    )?;
    draw(arguments, &lines)?;
    writeln!(output, "Picture: {}", arguments.svg.display())?;
    output.finish()
}

/// Seconds a sentence that this size may take by the last one, if time grows with the square of the labels; `None` if
/// the decoder sat a size out.
fn expected(points: &[(f64, f64)], labels: usize) -> Option<f64> {
    let previous = LABELS.iter().rev().find(|&&size| size < labels);
    let &(last, seconds) = points.last()?;
    let growth = labels as f64 / last;
    previous.is_some_and(|&size| size as f64 == last).then_some(seconds * growth * growth)
}

fn one_size(
    labels: usize,
    sentences: usize,
    limit: f64,
    decoders: Vec<(String, Decoder, bool)>,
    progress: &mut Progress,
) -> Result<Size> {
    let made = generate::<f32>(&Recipe::tagger(sentences, POSITIONS, labels, labels as u64));
    // As a network gives them: one dense matrix. Decoders that like them sparse find out themselves.
    let edges = kbest::Edges::dense(labels, made.matrix())?.ranked(made.order)?;
    let lengths = made.lengths.iter().map(|&length| length as usize).collect();
    let batch = Batch::from_parts(made.nodes, POSITIONS, lengths, edges);
    let lattices = batch.lattices()?;
    let able = decoders.iter().filter(|(_, _, able)| *able);
    let contenders =
        able.map(|(name, decoder, _)| Contender::new(name.clone(), decoder.clone(), 1)).collect();
    let measured = measure(&lattices, contenders, Plan { repeat: 3, limit, counting: false }, progress)?;
    let verdicts = compare(&lattices, &measured.contenders, 1);
    let time = |name: &String| {
        let contender = measured.contenders.iter().find(|contender| contender.name == *name)?;
        Some(contender.times.best() / contender.times.done() as f64)
    };
    let exact = measured.contenders.iter().filter(|contender| contender.decoder.entry().exact);
    let mut done: Vec<usize> = exact.map(|contender| contender.times.done()).collect();
    done.sort_by(|a, b| b.cmp(a));
    Ok(Size {
        labels,
        compared: done.get(1).copied().unwrap_or(0),
        times: decoders.iter().map(|(name, _, _)| (name.clone(), time(name))).collect(),
        scan: measured.scan.best() / measured.scan.done() as f64,
        disagreement: disagreements(&measured.contenders, &verdicts),
    })
}

impl Size {
    fn text(&self) -> String {
        let yardstick =
            self.times.iter().find(|(name, _)| name == YARDSTICK).and_then(|(_, seconds)| *seconds);
        let fastest = self.times.iter().filter_map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
        let slowest = self.times.iter().filter_map(|(_, s)| *s).fold(0.0, f64::max);
        let decades = (slowest / fastest).log10().ceil().max(1.0);
        let mut sorted: Vec<_> = self.times.iter().collect();
        let key = |time: &(String, Option<f64>)| time.1.unwrap_or(f64::INFINITY);
        sorted.sort_by(|a, b| key(a).total_cmp(&key(b)));
        let cells: Vec<Vec<String>> = sorted
            .into_iter()
            .map(|(name, seconds)| match seconds {
                Some(seconds) => vec![
                    format!("  {name}"),
                    table::number(1.0 / seconds),
                    yardstick.map_or("-".into(), |yardstick| table::number(yardstick / seconds)),
                    table::log_bar(1.0 / seconds, 1.0 / fastest, decades, 32),
                ],
                None => vec![format!("  {name}"), "-".into(), "-".into(), "too slow here".into()],
            })
            .collect();
        let title = format!("{} labels", self.labels);
        let header = [title.as_str(), "sentences/s", "vs viterbi-simd", "(log scale)"];
        table::aligned(&header, &[false, true, true, false], &cells) + "\n"
    }
}

fn draw(arguments: &Arguments, lines: &BTreeMap<String, Vec<(f64, f64)>>) -> Result<()> {
    let series: Vec<Series> = lines
        .iter()
        .filter(|(_, points)| !points.is_empty())
        .map(|(name, points)| Series {
            name: name.clone(),
            points: points.iter().map(|&(labels, seconds)| (labels, seconds * 1e3)).collect(),
            role: match name.as_str() {
                "auto" => Role::Highlight,
                SCAN => Role::Limit,
                _ => Role::Plain,
            },
        })
        .collect();
    let subtitle = format!(
        "Made-up sentences of {POSITIONS} words, one thread, {}; lower is better",
        kernel::level().name()
    );
    let texts = Texts {
        title: "Time to find the best label sequence",
        subtitle: &subtitle,
        x: "labels",
        y: "milliseconds a sentence",
    };
    let mut file = Output::create(Some(&arguments.svg))?;
    file.write_all(svg::chart(&texts, &series).as_bytes())?;
    file.finish()
}
