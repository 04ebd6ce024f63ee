//! `kbest bench decode` on lattices of segments: interleaved rounds, one thread, the best of them; answers compared.

use super::measure::Times;
use super::{DecodeArguments, Reports};
use crate::failure::{Failure, Result};
use crate::input::{Batch, Scores};
use crate::output::Progress;
use crate::segments::CountersLine;
use crate::table;
use kbest::decode::{Counters, Decode, Decoder, Lattices, catalogue};
use kbest::segment::{self, SegmentLattice, Segmentation};
use kbest::simd::{AlignedVec, level, padded};
use kbest::{Error, Float};
use serde::Serialize;
use std::hint::black_box;
use std::time::Instant;

/// What the others are compared with.
const YARDSTICK: &str = "semi-viterbi-simd";

/// Rows of scores that the max-plus limit adds again and again: they stay in the nearest cache.
const NEAR_ROWS: usize = 64;

#[derive(Serialize)]
struct Report {
    sequences: usize,
    positions: usize,
    labels: usize,
    longest: usize,
    k: usize,
    dtype: &'static str,
    level: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    decoder: String,
    seconds: f64,
    per_second: f64,
    vs_viterbi_simd: Option<f64>,
    vs_scan: Option<f64>,
    agree: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<CountersLine>,
}

struct Contender<S> {
    decoder: Decoder,
    times: Times,
    answers: Vec<Vec<Segmentation<S>>>,
    counters: Counters,
}

impl<S: Float> Contender<S> {
    fn round(&mut self, lattices: &[SegmentLattice<'_, S>], k: usize, first: bool, limit: f64) -> Result<()> {
        let mut scratch = segment::Scratch::default();
        if let Some(lattice) = lattices.first() {
            let begun = Instant::now();
            if self.times.rounds.first().is_none_or(|seconds| *seconds < 1.0) {
                answer(&self.decoder, lattice, k, &mut scratch)?; // to warm up
            }
            self.times.limited |= begun.elapsed().as_secs_f64() > limit;
        }
        let mut total = 0.0;
        for lattice in lattices {
            let begun = Instant::now();
            let (found, counters) = answer(&self.decoder, lattice, k, &mut scratch)?;
            let seconds = begun.elapsed().as_secs_f64();
            total += seconds;
            if first {
                self.times.each.push(seconds);
                self.counters.segments += counters.segments;
                self.counters.explicit += counters.explicit;
                self.counters.edges += counters.edges;
                self.answers.push(found);
            }
        }
        self.times.limited |= total > limit;
        self.times.rounds.push(total);
        Ok(())
    }
}

/// No segmentations where there is no legal one.
fn answer<S: Float>(
    decoder: &Decoder,
    lattice: &SegmentLattice<'_, S>,
    k: usize,
    scratch: &mut segment::Scratch<S>,
) -> Result<(Vec<Segmentation<S>>, Counters)> {
    match decoder.decode_segments(lattice, k, scratch) {
        Ok(answer) => Ok((answer.paths, answer.counters.unwrap_or_default())),
        Err(Error::NoPath) => Ok((vec![], Counters::default())),
        Err(error) => Err(error.into()),
    }
}

/// The decoders named, or all that can find `k`.
fn chosen(names: &[String], k: usize) -> Result<Vec<Decoder>> {
    if names.is_empty() {
        let all = catalogue(Lattices::Segments).map(|entry| entry.name.parse());
        let all: Vec<Decoder> = all.collect::<kbest::Result<_>>()?;
        return Ok(all
            .into_iter()
            .filter(|decoder| decoder.supports_on(Lattices::Segments, k).is_ok())
            .collect());
    }
    let one = |name: &String| {
        let decoder: Decoder = name.parse()?;
        decoder.supports_on(Lattices::Segments, k)?;
        Ok(decoder)
    };
    names.iter().map(one).collect()
}

/// Measures, prints, and fails if answers differ.
pub(super) fn bench<S: Scores>(
    arguments: &DecodeArguments,
    batch: &Batch<S>,
    reports: Reports,
) -> Result<()> {
    let &[k] = arguments.k.as_slice() else {
        return Err(Failure::Usage("-k: expected one number for lattices of segments".into()));
    };
    let decoders = chosen(&arguments.decoders, k)?;
    let lattices = batch.segment_lattices()?;
    if lattices.is_empty() {
        return Err(Failure::Usage("there are no sequences to measure".into()));
    }
    let mut contenders: Vec<Contender<S>> = decoders
        .into_iter()
        .map(|decoder| Contender {
            decoder,
            times: Times::default(),
            answers: vec![],
            counters: Default::default(),
        })
        .collect();
    let progress = Progress::new(arguments.repeat * contenders.len(), false);
    let (mut scan, mut limit) = (Times::default(), Times::default());
    for round in 0..arguments.repeat {
        let begun = Instant::now();
        lattices.iter().for_each(read_once);
        scan.rounds.push(begun.elapsed().as_secs_f64());
        let begun = Instant::now();
        lattices.iter().for_each(max_plus);
        limit.rounds.push(begun.elapsed().as_secs_f64());
        for contender in &mut contenders {
            progress.say(contender.decoder.name());
            if !contender.times.limited {
                contender.round(&lattices, k, round == 0, arguments.limit)?;
            }
            progress.step();
        }
    }
    drop(progress);
    let report = report::<S>(&lattices, k, &contenders, &scan, &limit);
    reports.write(&report, || report.text())?;
    let differ: Vec<&str> =
        report.rows.iter().filter(|row| !row.agree).map(|row| row.decoder.as_str()).collect();
    match differ.is_empty() {
        true => Ok(()),
        false => Err(Failure::Negative(format!("decoders disagree: {}", differ.join(", ")))),
    }
}

/// Reads all node scores once.
fn read_once<S: Float>(lattice: &SegmentLattice<'_, S>) {
    let rows = (0..lattice.positions()).map(|t| S::largest(lattice.chain().node_row(t)));
    black_box(rows.fold(S::ZERO, |sum, max| sum + max));
}

/// The additions and maxima of all lengths, `T W L` of them, in the scores' own type, and nothing else.
fn max_plus<S: Float>(lattice: &SegmentLattice<'_, S>) {
    let stride = padded(lattice.labels());
    let matrix = AlignedVec::filled(NEAR_ROWS * stride, S::ZERO);
    let alpha = AlignedVec::filled(NEAR_ROWS, S::ZERO);
    let mut out = AlignedVec::filled(stride, S::ZERO);
    for _ in 0..lattice.positions() * lattice.longest() / NEAR_ROWS {
        S::max_plus_matrix(&mut out, black_box(&alpha), &matrix);
        black_box(&out);
    }
}

fn report<S: Scores>(
    lattices: &[SegmentLattice<'_, S>],
    k: usize,
    contenders: &[Contender<S>],
    scan: &Times,
    limit: &Times,
) -> Report {
    let yardstick = contenders.iter().find(|one| one.decoder.name() == YARDSTICK).map(|one| one.times.best());
    let row = |name: String, times: &Times, agree: bool, counters: Option<CountersLine>| {
        let seconds = times.best();
        Row {
            decoder: name,
            seconds,
            per_second: lattices.len() as f64 / seconds,
            vs_viterbi_simd: yardstick.map(|other| other / seconds),
            vs_scan: Some(seconds / scan.best()),
            agree,
            counters,
        }
    };
    let mut rows: Vec<Row> = contenders
        .iter()
        .map(|one| {
            let agree = one.answers == contenders[0].answers;
            row(one.decoder.to_string(), &one.times, agree, Some((&one.counters).into()))
        })
        .collect();
    rows.push(row("max-plus-limit".into(), limit, true, None));
    rows.push(row("scan".into(), scan, true, None));
    Report {
        sequences: lattices.len(),
        positions: lattices.iter().map(|lattice| lattice.positions()).sum(),
        labels: lattices.first().map_or(0, |lattice| lattice.labels()),
        longest: lattices.iter().map(|lattice| lattice.longest()).max().unwrap_or(0),
        k,
        dtype: S::NAME,
        level: level().name(),
        rows,
    }
}

impl Report {
    fn text(&self) -> String {
        let optional = |value: Option<f64>| value.map_or("-".into(), table::number);
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                vec![
                    row.decoder.clone(),
                    table::number(row.seconds),
                    table::number(row.per_second),
                    optional(row.vs_viterbi_simd),
                    optional(row.vs_scan),
                    if row.counters.is_none() {
                        "limit"
                    } else if row.agree {
                        "agree"
                    } else {
                        "DISAGREE"
                    }
                    .into(),
                ]
            })
            .collect();
        let header = ["decoder", "seconds", "seq/s", "vs semi-viterbi-simd", "vs scan", "answers"];
        format!(
            "{} sequences, {} positions, {} labels, segments up to {}, k = {}, {}, {}\n\n{}",
            self.sequences,
            self.positions,
            self.labels,
            self.longest,
            self.k,
            self.dtype,
            self.level,
            table::aligned(&header, &[false, true, true, true, true, false], &cells)
        )
    }
}
