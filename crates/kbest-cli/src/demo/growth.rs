//! How time grows with the number of labels: all decoders on synthetic lattices, as tables and a chart.
//!
//! Every decoder gets little time at each size: slow ones decode fewer sentences, and skip sizes at which one sentence
//! would take too long.

use super::lattices::{Time, text};
use crate::bench::{Contender, Plan, compare, disagreements, measure};
use crate::failure::{Failure, Result};
use crate::generate::lattice::{Recipe, generate};
use crate::input::Batch;
use crate::output::{Output, Progress, write_file};
use crate::svg::{self, Role, Series, Texts};
use kbest::{Decoder, simd};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

const LABELS: [usize; 5] = [50, 100, 300, 1000, 3000];
/// Positions per sentence.
const POSITIONS: usize = 20;
/// A decoder expected to take longer than this per sentence, extrapolating from the last size, skips the size.
const PATIENCE: f64 = 1.0;
/// Name of the line that shows the physical limit.
const SCAN: &str = "reading the scores";

/// The results for one size.
struct Size {
    times: Vec<Time>,
    scan: f64,
    disagreement: Option<String>,
}

/// Measures size by size, then draws.
pub(super) fn draw(
    path: &Path,
    quick: bool,
    decoders: Vec<(String, Decoder, usize)>,
    out: &mut Output,
) -> Result<()> {
    let (sentences, limit) = if quick { (20, 0.1) } else { (100, 0.35) };
    let sizes: Vec<usize> = LABELS.into_iter().filter(|&labels| !quick || labels <= 1000).collect();
    writeln!(out, "Decoders on made-up scores for sentences of {POSITIONS} words:\n")?;
    let mut progress = Progress::new(3 * decoders.len() * sizes.len(), false);
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for labels in sizes {
        let able = decoders.iter().map(|(name, decoder, _)| {
            let wait = lines.get(name).map_or(Some(0.0), |points| expected(points, labels));
            (name.clone(), decoder.clone(), wait.is_some_and(|seconds| seconds < PATIENCE))
        });
        let size = one_size(labels, sentences, limit, able.collect(), &mut progress)?;
        writeln!(out, "{}", text(&format!("{labels} labels"), &size.times))?;
        out.flush()?;
        if let Some(text) = size.disagreement {
            return Err(Failure::Negative(format!("{labels} labels: {text}")));
        }
        lines.entry(SCAN.into()).or_default().push((labels as f64, size.scan));
        for (name, seconds) in size.times {
            let line = lines.entry(name).or_default();
            line.extend(seconds.map(|seconds| (labels as f64, seconds)));
        }
    }
    drop(progress);
    write_file(path, picture(&lines).as_bytes())?;
    Ok(writeln!(out, "Chart: {}", path.display())?)
}

/// Expected seconds per sentence at this size, if time grows with the square of the labels since the last one; `None`
/// if the decoder skipped a size.
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
    // One dense matrix, as a neural network provides it. Decoders that prefer sparse edges detect them.
    let edges = kbest::Edges::dense(labels, made.matrix())?.ranked(made.order)?;
    let lengths = made.lengths.iter().map(|&length| length as usize).collect();
    let batch = Batch::from_parts(made.nodes, POSITIONS, lengths, edges);
    let lattices = batch.lattices()?;
    let able = decoders.iter().filter(|(_, _, able)| *able);
    let contenders =
        able.map(|(name, decoder, _)| Contender::new(name.clone(), decoder.clone(), 1)).collect();
    let measured =
        measure(&lattices, contenders, Plan { repeat: 3, limit, counting: false, limits: true }, progress)?;
    let verdicts = compare(&lattices, &measured.contenders);
    let time = |name: &String| {
        let contender = measured.contenders.iter().find(|contender| contender.name == *name)?;
        Some(contender.times.best() / contender.times.done() as f64)
    };
    Ok(Size {
        times: decoders.iter().map(|(name, _, _)| (name.clone(), time(name))).collect(),
        scan: measured.scan.best() / measured.scan.done() as f64,
        disagreement: disagreements(&measured.contenders, &verdicts),
    })
}

fn picture(lines: &BTreeMap<String, Vec<(f64, f64)>>) -> String {
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
        simd::level().name()
    );
    let texts = Texts {
        title: "Time to find the best label sequence",
        subtitle: &subtitle,
        x: "labels",
        y: "milliseconds per sentence",
    };
    svg::chart(&texts, &series)
}
