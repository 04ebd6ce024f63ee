//! The search for the labels of one sequence, watched.

use super::report::{Column, Path, Report, Search, Vertex, short};
use super::why::{Reasons, Side, Strings, compare};
use super::{Asked, Input};
use crate::failure::{Failure, Result};
use crate::output::Progress;
use kbest::decode::{Auto, Fate, Trace};
use kbest::marginal::Calibration;
use kbest::{
    Decode, Decoded, Decoder, Float, LabelId, Lattice, MarginalScratch, Marginals, Scratch, marginals,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many vertices are written for all positions together, and for one at least and at most.
const VERTICES: usize = 60_000;
const FEWEST: usize = 24;
const MOST: usize = 1_000;
/// Decoders that keep every partial path which may be among the best: for several paths through more vertices than this
/// they may take minutes and gigabytes, so they are watched while they look for one.
const BEST_FIRST: [&str; 2] = ["astar", "iterative-astar"];
const LARGE: usize = 100_000;
/// Without --token, positions beyond this one get no reasons: each takes a search of its own.
pub(super) const EXPLAINED: usize = 1_000;

/// Searches, and compares the best path with its rivals.
pub(super) fn report<S: Float, R: Reasons<[LabelId]>>(
    input: &Input<'_>,
    asked: &Asked<'_>,
    decoder: &Decoder,
    lattice: &Lattice<'_, S>,
    reasons: &mut R,
) -> Result<Report> {
    let (k, because) = watched_for(decoder, lattice, asked.k);
    let found = decoder.decode_kbest(lattice, k, &mut Scratch::tracing());
    let watched = found.map_err(|error| no_path(error, input))?;
    let others: Option<Decoded<S>> = match k < asked.k {
        true => Some(Auto::default().decode_kbest(lattice, asked.k, &mut Scratch::new())?),
        false => None,
    };
    let answers = others.as_ref().unwrap_or(&watched);
    let mut memory = MarginalScratch::new();
    let scaled = match input.calibration.map(|calibration| calibration.temperature().recip()) {
        Some(factor) if factor != 1.0 => {
            Some(lattice.scaled(factor, Arc::new(lattice.edges().scaled(factor)?))?)
        }
        _ => None,
    };
    let sums = marginals(scaled.as_ref().unwrap_or(lattice), &mut memory)?;
    let probabilities = probabilities(&sums, input.calibration);
    let best = answers.best();
    let paths = answers.paths.iter().map(|path| {
        let differs = differing(&best.labels, &path.labels);
        let probability = short(sums.path_log_probability(&path.labels)?.exp());
        let score = path.score.to_f64();
        Ok(Path { labels: path.labels.clone(), segments: vec![], score, probability, differs })
    });
    let paths = paths.collect::<kbest::Result<Vec<Path>>>()?;
    let mut strings = Strings::default();
    let mut columns = columns(lattice, &watched, &paths, &probabilities);
    // The runner-up may be among the answers, if these are proven to be the best.
    let proven = if answers.exact { &paths[..] } else { &paths[..1] };
    explain(asked, lattice, proven, reasons, &mut columns, &mut strings)?;
    let mut counters = BTreeMap::new();
    if let Some(counted) = &watched.counters {
        counters.extend([("nodes", counted.nodes), ("edges", counted.edges), ("rounds", counted.rounds)]);
    }
    let plan = matches!(decoder, Decoder::Auto(_)).then(|| Auto::default().plan(lattice, k).explain());
    let search = Search {
        asked: decoder.to_string(),
        decoder: watched.decoder,
        k,
        paths_by: answers.decoder,
        because,
        exact: watched.exact,
        plan,
        counters,
        traced: true,
        steps: watched.trace.as_ref().map_or(0, Trace::steps),
    };
    let size = (lattice.positions(), lattice.labels());
    Ok(Report::new(input, size, search, sums.log_partition(), paths, columns, strings))
}

/// For how many paths the decoder is watched, and why for fewer than asked for.
fn watched_for<S: Float>(decoder: &Decoder, lattice: &Lattice<'_, S>, k: usize) -> (usize, Option<String>) {
    let name = decoder.entry().name;
    if decoder.supports(k).is_err() {
        return (1, Some(format!("`{name}` finds only one")));
    }
    let vertices = lattice.positions() * lattice.labels();
    if k > 1 && BEST_FIRST.contains(&name) && vertices > LARGE {
        let why = format!("`{name}` would search {vertices} vertices for {k} paths, which may take minutes");
        return (1, Some(why));
    }
    (k, None)
}

/// Says which sequence it was.
pub(super) fn no_path(error: kbest::Error, input: &Input<'_>) -> Failure {
    match error {
        kbest::Error::NoPath => {
            Failure::Negative(format!("{}, sequence {}: {error}", input.file, input.sequence))
        }
        other => other.into(),
    }
}

pub(super) fn differing(one: &[LabelId], other: &[LabelId]) -> Vec<usize> {
    (0..one.len()).filter(|&t| one[t] != other[t]).collect()
}

/// The probability of each label at each position, `T x L`, as `kbest tag` gives it.
fn probabilities<S: Float>(sums: &Marginals<'_, S>, calibration: Option<&Calibration>) -> Vec<f64> {
    let mut all = vec![];
    for t in 0..sums.positions() {
        let begin = all.len();
        all.extend_from_slice(sums.node(t));
        if let Some(calibration) = calibration {
            calibration.apply(&mut all[begin..]);
        }
    }
    all
}

fn columns<S: Float>(
    lattice: &Lattice<'_, S>,
    watched: &Decoded<S>,
    paths: &[Path],
    probabilities: &[f64],
) -> Vec<Column> {
    let most = (VERTICES / lattice.positions().max(1)).clamp(FEWEST, MOST);
    let column = |(t, row): (usize, &[f64])| {
        let trace = watched.trace.as_ref();
        let fate = |y: LabelId| trace.map_or(Fate::Untouched, |trace| trace.fate(t, y));
        let on_paths: Vec<LabelId> = paths.iter().map(|path| path.labels[t]).collect();
        let labels = shown(trace, t, &on_paths, row, most);
        let vertex = |&label: &LabelId| Vertex {
            label,
            fate: number(fate(label)),
            step: trace.and_then(|trace| trace.step(t, label)),
            node: short(lattice.node_row(t)[label as usize].to_f64()),
            probability: short(row[label as usize]),
        };
        let pruned = trace.into_iter().flat_map(|trace| trace.pruned(t));
        let (closed, pruned): (Vec<_>, Vec<_>) = pruned.partition(|&y| fate(y) == Fate::OpenedThenPruned);
        Column {
            opened: trace.map_or(0, |trace| trace.opened_count(t)),
            pruned: pruned.len(),
            closed: closed.len(),
            vertices: labels.iter().map(vertex).collect(),
            entropy: entropy(row),
            why: None,
        }
    };
    probabilities.chunks_exact(lattice.labels()).enumerate().map(column).collect()
}

fn number(fate: Fate) -> u8 {
    match fate {
        Fate::Untouched => 0,
        Fate::Pruned => 1,
        Fate::Opened => 2,
        Fate::OpenedThenPruned => 3,
    }
}

/// The labels worth showing: those of paths, the likely ones, the first opened, the first pruned; likely ones first.
fn shown(
    trace: Option<&Trace>,
    t: usize,
    on_paths: &[LabelId],
    probabilities: &[f64],
    most: usize,
) -> Vec<LabelId> {
    const LIKELY: usize = 12;
    let mut likely: Vec<LabelId> = (0..probabilities.len() as LabelId).collect();
    let falling =
        |&a: &LabelId, &b: &LabelId| probabilities[b as usize].total_cmp(&probabilities[a as usize]);
    if likely.len() > LIKELY {
        likely.select_nth_unstable_by(LIKELY - 1, |a, b| falling(a, b).then(a.cmp(b)));
        likely.truncate(LIKELY);
    }
    likely.sort_unstable_by(|a, b| falling(a, b).then(a.cmp(b)));
    let opened = trace.into_iter().flat_map(|trace| trace.opened(t));
    let pruned = trace.into_iter().flat_map(|trace| trace.pruned(t));
    let mut taken = vec![false; probabilities.len()];
    let all = on_paths.iter().copied().chain(likely).chain(opened).chain(pruned);
    let fresh = all.filter(|&y| !std::mem::replace(&mut taken[y as usize], true));
    let mut labels: Vec<LabelId> = fresh.take(most).collect();
    labels[1..].sort_by(falling); // the best path's label stays in front; equally likely ones in the order above
    labels
}

/// In bits.
pub(super) fn entropy(probabilities: &[f64]) -> f64 {
    let terms = probabilities.iter().filter(|&&p| p > 0.0).map(|p| -p * p.log2());
    short(terms.sum::<f64>().max(0.0))
}

/// Finds the rival of the best path at each position that was asked for, and compares them.
fn explain<S: Float, R: Reasons<[LabelId]>>(
    asked: &Asked<'_>,
    lattice: &Lattice<'_, S>,
    paths: &[Path],
    reasons: &mut R,
    columns: &mut [Column],
    strings: &mut Strings,
) -> Result<()> {
    let Some(best) = paths.first().filter(|_| lattice.positions() > 0) else { return Ok(()) };
    let winner = Side { path: &best.labels[..], labels: &best.labels, score: best.score };
    let (mut scratch, mut found) = (Scratch::new(), Decoded::default());
    let wanted = asked.token.map_or(0..lattice.positions().min(EXPLAINED), |t| t..t + 1);
    let progress = Progress::new(wanted.len(), false);
    for t in wanted {
        progress.step();
        let known = paths.iter().find(|path| path.labels[t] != best.labels[t]);
        let (labels, score) = match (asked.against, known) {
            (None, Some(path)) => (&path.labels, path.score),
            (against, _) => {
                let limited = match against {
                    Some(label) => lattice.clone().force(t, label)?,
                    None => lattice.clone().forbid(t, best.labels[t])?,
                };
                match Decoder::default().decode_into(&limited, 1, &mut scratch, &mut found) {
                    Err(kbest::Error::NoPath) => continue, // no other label is possible here
                    result => result?,
                }
                (&found.best().labels, found.best().score.to_f64())
            }
        };
        let rival = Side { path: &labels[..], labels, score };
        let differs = differing(&best.labels, labels);
        columns[t].why = Some(compare(reasons, &winner, &rival, &differs, (t, asked.top), strings)?);
    }
    Ok(())
}
