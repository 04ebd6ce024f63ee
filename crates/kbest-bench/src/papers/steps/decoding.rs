//! Decoders side by side on the lattices of one trained task.

use super::super::data::{Data, Trained};
use super::super::definitions::{FIVE_BEST, ONE_BEST};
use super::super::prove::{best, prove};
use super::super::results::{Decoding, Measured, Strengths, Timed};
use super::missing;
use kbest::lattice::EdgeScores;
use kbest::{Decode, Decoded, Decoder, Lattice, Scratch};
use kbest_cli::bench::{Contender, Plan, measure};
use kbest_cli::failure::{Failure, Result};
use kbest_cli::output::Progress;
use std::path::Path;

/// Sentences on which the work of a decoder is counted that hit the time limit.
const COUNTED: usize = 10;

pub(super) fn run(data: &mut Data, task: &str, k: usize, out: &Path) -> Result<Measured> {
    let trained = match data.trained(task)? {
        Ok(trained) => trained,
        Err(reason) => return Ok(missing(reason)),
    };
    let names = if k == 1 { ONE_BEST } else { FIVE_BEST };
    let lattices = trained.lattices()?;
    let plan = Plan { repeat: data.size.rounds, limit: data.size.limit, counting: true, limits: true };
    let side = side_by_side(&lattices, names, k, plan, out)?;
    let reference = side.reference()?;
    let accuracy = trained.accuracy(reference.answers.iter().map(|answer| best(answer)));
    let strengths = strengths(&trained, &lattices, reference);
    Ok(Measured::Decoding(Decoding {
        task: task.to_owned(),
        k,
        labels: trained.model.labels().len(),
        sequences: lattices.len(),
        positions: side.positions,
        accuracy,
        scan_ns_per_position: 1e9 * side.scan / side.positions as f64,
        strengths,
        rows: side.rows,
    }))
}

/// Decoders measured on the same lattices.
pub(super) struct SideBySide {
    pub(super) rows: Vec<Timed>,
    pub(super) contenders: Vec<Contender<f32>>,
    pub(super) positions: usize,
    /// Seconds to read all node scores once.
    pub(super) scan: f64,
}

impl SideBySide {
    /// An exact decoder that finished.
    pub(super) fn reference(&self) -> Result<&Contender<f32>> {
        let exact = self.contenders.iter().filter(|contender| contender.decoder.entry().exact);
        let most = exact.max_by_key(|contender| contender.answers.len());
        most.ok_or_else(|| Failure::Usage("expected at least one exact decoder, got none".into()))
    }
}

/// Measures, compares the answers, and says what each decoder did.
pub(super) fn side_by_side(
    lattices: &[Lattice<'_, f32>],
    names: &[&str],
    k: usize,
    plan: Plan,
    out: &Path,
) -> Result<SideBySide> {
    let contender = |name: &&str| Ok(Contender::new((*name).to_owned(), Decoder::by_name(name)?, k));
    let contenders = names.iter().map(contender).collect::<Result<Vec<_>>>()?;
    let mut progress = Progress::new(0, true);
    let measured = measure(lattices, contenders, plan, &mut progress)?;
    let right = prove(lattices, &measured.contenders, out)?;
    let positions = lattices.iter().map(Lattice::positions).sum();
    let row = |(contender, &right): (&Contender<f32>, &f64)| timed(lattices, contender, right, plan.counting);
    let rows = measured.contenders.iter().zip(&right).map(row).collect::<Result<_>>()?;
    Ok(SideBySide { rows, scan: measured.scan.best(), contenders: measured.contenders, positions })
}

/// What is reported of a contender. One that hit the time limit is scaled by positions to all sequences.
fn timed(
    lattices: &[Lattice<'_, f32>],
    contender: &Contender<f32>,
    right: f64,
    counting: bool,
) -> Result<Timed> {
    let done = contender.times.done();
    let of = |lattices: &[Lattice<'_, f32>]| lattices.iter().map(Lattice::positions).sum::<usize>() as f64;
    let ns_per_position = 1e9 * contender.times.best() / of(&lattices[..done]).max(1.0);
    let seconds_of_all = ns_per_position * of(lattices) / 1e9;
    let mut row = Timed {
        decoder: contender.name.clone(),
        sequences: done,
        per_second: lattices.len() as f64 / seconds_of_all,
        ns_per_position,
        limited: contender.times.limited,
        exact: contender.decoder.entry().exact,
        right,
        nodes_per_position: None,
        edges_per_position: None,
        rounds: None,
    };
    if !counting {
        return Ok(row);
    }
    let (counted, [nodes, edges, rounds]) = match &contender.counters {
        Some(counters) => (lattices, [counters.nodes, counters.edges, counters.rounds]),
        None => {
            let few = &lattices[..done.min(COUNTED)];
            (few, count(few, &contender.decoder, contender.k)?)
        }
    };
    row.nodes_per_position = Some(nodes as f64 / of(counted).max(1.0));
    row.edges_per_position = Some(edges as f64 / of(counted).max(1.0));
    row.rounds = Some(rounds as f64 / counted.len().max(1) as f64);
    Ok(row)
}

fn count(lattices: &[Lattice<'_, f32>], decoder: &Decoder, k: usize) -> Result<[u64; 3]> {
    let (mut scratch, mut answer) = (Scratch::counting(), Decoded::default());
    let mut sums = [0; 3];
    for lattice in lattices {
        match decoder.decode_into(lattice, k, &mut scratch, &mut answer) {
            Ok(()) | Err(kbest::Error::NoPath) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(counters) = &answer.counters {
            for (sum, count) in sums.iter_mut().zip([counters.nodes, counters.edges, counters.rounds]) {
                *sum += count;
            }
        }
    }
    Ok(sums)
}

/// How strong nodes and edges are.
fn strengths(trained: &Trained, lattices: &[Lattice<'_, f32>], reference: &Contender<f32>) -> Strengths {
    let labels = trained.edges.labels();
    let matrix = trained.edges.as_dense();
    let score = |i: usize| matrix.map_or(0.0, |edges| edges.get(1, i / labels, i % labels));
    let scores: Vec<f32> = (0..labels * labels).map(score).collect();
    strengths_of(lattices, &scores, reference.answers.iter().map(|answer| best(answer)))
}

/// The same from a list of edge scores and the best paths.
pub(super) fn strengths_of<'p>(
    lattices: &[Lattice<'_, f32>],
    edges: &[f32],
    paths: impl Iterator<Item = &'p [u32]>,
) -> Strengths {
    let (mut leads, mut other, mut positions) = (vec![], 0u32, 0u32);
    for (lattice, path) in lattices.iter().zip(paths) {
        for (t, &y) in path.iter().enumerate() {
            let (mut first, mut second, mut at) = (f32::NEG_INFINITY, f32::NEG_INFINITY, 0);
            for (label, &node) in lattice.node_row(t).iter().enumerate() {
                if node > first {
                    (second, first, at) = (first, node, label);
                } else if node > second {
                    second = node;
                }
            }
            positions += 1;
            other += u32::from(at != y as usize);
            if second.is_finite() {
                leads.push(f64::from(first - second));
            }
        }
    }
    let mut magnitudes: Vec<f64> = edges
        .iter()
        .filter(|edge| edge.is_finite() && **edge != 0.0)
        .map(|edge| f64::from(edge.abs()))
        .collect();
    let density = magnitudes.len() as f64 / edges.len().max(1) as f64;
    Strengths {
        lead: median(&mut leads),
        largest_edge: edges.iter().copied().fold(f32::NEG_INFINITY, f32::max).into(),
        typical_edge: median(&mut magnitudes),
        edge_density: density,
        decided_by_edges: f64::from(other) / f64::from(positions.max(1)),
    }
}

/// The middle one; 0 if there is none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
