//! Explains a search over segments. Their decoders count, but keep no trace.

use super::positions::{EXPLAINED, entropy, no_path};
use super::report::{Column, Path, Report, Search, Vertex, short};
use super::why::{Reasons, Side, Strings, compare};
use super::{Asked, Input};
use crate::failure::{Failure, Result};
use crate::output::Progress;
use kbest::decode::{Decode, Lattices};
use kbest::marginal::Calibration;
use kbest::segment::{self, Segment, SegmentLattice, Segmentation};
use kbest::{Decoder, Error, Float, LabelId};

/// Likely labels shown at each position.
const SHOWN: usize = 24;

pub(super) fn report<S: Float, R: Reasons<[Segment]>>(
    input: &Input<'_>,
    asked: &Asked<'_>,
    decoder: &Decoder,
    lattice: &SegmentLattice<'_, S>,
    reasons: &mut R,
) -> Result<Report> {
    if asked.against.is_some() {
        let problem = "expected a model or scores of single positions, got segments";
        return Err(Failure::Usage(format!("--against: {problem}")));
    }
    decoder.supports_on(Lattices::Segments, 1)?;
    let (k, because) = match decoder.supports_on(Lattices::Segments, asked.k) {
        Ok(()) => (asked.k, None),
        Err(_) => (1, Some(format!("`{}` finds only one", decoder.name()))),
    };
    let mut scratch = segment::Scratch::default();
    let watched = decoder.decode_segments(lattice, k, &mut scratch).map_err(|error| no_path(error, input))?;
    let others = match k < asked.k {
        true => Some(Decoder::default().decode_segments(lattice, asked.k, &mut scratch)?),
        false => None,
    };
    let answers = others.as_ref().unwrap_or(&watched);
    let temperature = input.calibration.map_or(1.0, Calibration::temperature);
    let sums = segment::Marginals::at_temperature(lattice, temperature)?;
    let probabilities = sums.labels();
    let best = &answers.paths[0];
    let path = |found: &Segmentation<S>| Path {
        labels: found.labels(),
        segments: found.segments.iter().map(|part| (part.start, part.end, part.label)).collect(),
        score: found.score.to_f64(),
        probability: short(sums.log_probability(found.score.to_f64()).exp().min(1.0)),
        differs: differing(&best.segments, &found.segments),
    };
    let paths: Vec<Path> = answers.paths.iter().map(path).collect();
    let mut strings = Strings::default();
    let rows = probabilities.chunks_exact(lattice.labels()).enumerate();
    let mut columns: Vec<Column> = rows.map(|(t, row)| column(lattice, t, row, &paths)).collect();
    // The runner-up may be among the answers, if these are proven to be the best.
    let proven = if answers.exact { answers.paths.len() } else { 1 };
    explain(asked, lattice, &answers.paths[..proven], reasons, &mut columns, &mut strings)?;
    let counted = watched.counters.clone().unwrap_or_default();
    let counters =
        [("segments", counted.segments), ("explicit scores", counted.explicit), ("edges", counted.edges)];
    let plan = (*decoder == Decoder::default()).then(|| segment::Plan::of(lattice, k).explain());
    let search = Search {
        asked: decoder.to_string(),
        decoder: watched.decoder,
        k,
        paths_by: answers.decoder,
        because,
        exact: watched.exact,
        plan,
        counters: counters.into(),
        traced: false,
        steps: 0,
    };
    let size = (lattice.positions(), lattice.labels());
    Ok(Report::new(input, size, search, sums.log_partition(), paths, columns, strings))
}

/// The segment that covers each position.
fn covering(segments: &[Segment]) -> Vec<Segment> {
    segments.iter().flat_map(|part| std::iter::repeat_n(*part, part.end - part.start)).collect()
}

fn differing(one: &[Segment], other: &[Segment]) -> Vec<usize> {
    let (one, other) = (covering(one), covering(other));
    (0..one.len()).filter(|&t| one[t] != other[t]).collect()
}

fn column<S: Float>(lattice: &SegmentLattice<'_, S>, t: usize, row: &[f64], paths: &[Path]) -> Column {
    let mut labels: Vec<LabelId> = (0..row.len() as LabelId).collect();
    labels.sort_by(|&a, &b| row[b as usize].total_cmp(&row[a as usize]));
    let on_path = |y: &LabelId| paths.iter().any(|path| path.labels[t] == *y);
    let mut place = 0;
    labels.retain(|y| {
        place += 1;
        place <= SHOWN || on_path(y)
    });
    if let Some(first) = paths.first().and_then(|path| labels.iter().position(|y| *y == path.labels[t])) {
        labels[..=first].rotate_right(1);
    }
    let vertex = |&label: &LabelId| Vertex {
        label,
        fate: 0,
        step: None,
        node: short(lattice.chain().node_row(t)[label as usize].to_f64()),
        probability: short(row[label as usize]),
    };
    let vertices = labels.iter().map(vertex).collect();
    Column { opened: 0, pruned: 0, closed: 0, vertices, entropy: entropy(row), why: None }
}

/// The rival at a position is the best segmentation without the segment that covers it.
fn explain<S: Float, R: Reasons<[Segment]>>(
    asked: &Asked<'_>,
    lattice: &SegmentLattice<'_, S>,
    found: &[Segmentation<S>],
    reasons: &mut R,
    columns: &mut [Column],
    strings: &mut Strings,
) -> Result<()> {
    let Some(best) = found.first().filter(|_| lattice.positions() > 0) else { return Ok(()) };
    let labels = best.labels();
    let winner = Side { path: &best.segments[..], labels: &labels, score: best.score.to_f64() };
    let mut scratch = segment::Scratch::default();
    let progress = Progress::new(best.segments.len(), false);
    for &part in &best.segments {
        progress.step();
        let wanted = asked.token.map_or(part.start < EXPLAINED, |t| (part.start..part.end).contains(&t));
        if !wanted {
            continue;
        }
        let known = found.iter().find(|other| !other.segments.contains(&part)).cloned();
        let rival = match known {
            Some(rival) => rival,
            None => {
                let limited = lattice.clone().forbid(part.start, part.end, part.label)?;
                match Decoder::default().decode_segments(&limited, 1, &mut scratch) {
                    Err(Error::NoPath) => continue,
                    answer => answer?.paths.swap_remove(0),
                }
            }
        };
        let rival_labels = rival.labels();
        let side = Side { path: &rival.segments[..], labels: &rival_labels, score: rival.score.to_f64() };
        let differs = differing(&best.segments, &rival.segments);
        for t in part.start..part.end {
            let place = (t, asked.top);
            columns[t].why = Some(compare(reasons, &winner, &side, &differs, place, strings)?);
        }
    }
    Ok(())
}
