//! The report of a measurement, as JSON or as a table.

use super::compare::Verdict;
use super::measure::{Contender, Measured, Times};
use crate::input::Scores;
use crate::table;
use kbest::{Counters, Lattice, simd};
use serde::Serialize;

/// The decoder that all others are measured against.
pub(crate) const YARDSTICK: &str = "viterbi-simd";

/// Everything about one run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    sequences: usize,
    positions: usize,
    labels: usize,
    /// Numbers of paths requested.
    k: Vec<usize>,
    dtype: &'static str,
    level: &'static str,
    rows: Vec<Row>,
}

/// One decoder, or one of the limits.
#[derive(Debug, Serialize)]
struct Row {
    decoder: String,
    /// Best round.
    seconds: f64,
    median_seconds: f64,
    /// Sequences per second.
    per_second: f64,
    /// How many times faster than the yardstick, on the sequences that both did.
    vs_viterbi_simd: Option<f64>,
    /// How many times slower than reading the node scores once.
    vs_scan: Option<f64>,
    /// How many times slower than the same decoder for the fewest paths, if several numbers were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    vs_fewest_paths: Option<f64>,
    /// Always true for rows that are not decoders.
    agree: bool,
    /// Sequences with the same answer as the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<usize>,
    /// Whether it guarantees the best paths; none for rows that are not decoders.
    exact: Option<bool>,
    /// Number of paths requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    k: Option<usize>,
    /// Sequences done; fewer than all if the time limit stopped it.
    done: usize,
    rounds: usize,
    limited: bool,
    counters: Option<CountersRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

/// Sums over all sequences.
#[derive(Debug, Serialize)]
struct CountersRow {
    nodes: u64,
    edges: u64,
    rounds: u64,
}

impl Report {
    pub(super) fn new<S: Scores>(
        lattices: &[Lattice<'_, S>],
        k: &[usize],
        measured: &Measured<S>,
        verdicts: &[Verdict],
    ) -> Self {
        let yardstick = measured.contenders.iter().find(|contender| contender.name == YARDSTICK);
        let yardstick = yardstick.map(|contender| &contender.times);
        let row = |name: &str, times: &Times| Row::new(name, times, yardstick, &measured.scan);
        let mut rows = vec![row("scan", &measured.scan)];
        rows.extend(measured.max_plus.as_ref().map(|times| row("max-plus-limit", times)));
        for (contender, verdict) in measured.contenders.iter().zip(verdicts) {
            let same = measured.contenders.iter().filter(|other| other.name == contender.name);
            let fewest = same.min_by_key(|other| other.k).filter(|_| k.len() > 1 && contender.k >= k[0]);
            let row = row(&contender.name, &contender.times);
            let vs_fewest_paths = fewest.map(|fewest| 1.0 / speed_against(&fewest.times, &contender.times));
            rows.push(Row { vs_fewest_paths, ..row.of(contender, verdict) });
        }
        Report {
            sequences: lattices.len(),
            positions: lattices.iter().map(|lattice| lattice.positions()).sum(),
            labels: lattices.first().map_or(0, |lattice| lattice.labels()),
            k: k.to_vec(),
            dtype: S::NAME,
            level: simd::level().name(),
            rows,
        }
    }

    /// An aligned table with bars.
    pub(super) fn text(&self) -> String {
        let largest = self.rows.iter().skip(1).map(|row| row.per_second).fold(0.0, f64::max);
        let smallest = self.rows.iter().map(|row| row.per_second).fold(f64::INFINITY, f64::min);
        let several = self.k.len() > 1;
        let decades = (largest / smallest).log10().ceil().max(1.0);
        let optional = |value: Option<f64>| value.map_or("-".into(), table::number);
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                let mut cells = vec![
                    row.decoder.clone(),
                    table::number(row.seconds),
                    table::number(row.per_second),
                    optional(row.vs_viterbi_simd),
                    optional(row.vs_scan),
                ];
                if several {
                    cells.insert(1, row.k.map_or("-".into(), |k| k.to_string()));
                    cells.push(optional(row.vs_fewest_paths));
                }
                cells.push(row.remark(self.sequences));
                cells.push(table::log_bar(row.per_second, largest, decades, 24));
                cells
            })
            .collect();
        let mut header = vec!["decoder", "seconds", "seq/s", "vs viterbi-simd", "vs scan"];
        let fewest = format!("vs k = {}", self.k.first().unwrap_or(&1));
        if several {
            header.insert(1, "k");
            header.push(&fewest);
        }
        let mut right = vec![true; header.len()];
        right[0] = false;
        header.extend(["answers", "seq/s (log)"]);
        right.extend([false, false]);
        let k: Vec<String> = self.k.iter().map(usize::to_string).collect();
        format!(
            "{} sequences, {} positions, {} labels, k = {}, {}, {}\n\n{}",
            self.sequences,
            self.positions,
            self.labels,
            k.join(", "),
            self.dtype,
            self.level,
            table::aligned(&header, &right, &cells)
        )
    }
}

/// How many times faster than another; where one was stopped early, on the sequences that both did.
fn speed_against(other: &Times, times: &Times) -> f64 {
    let done = times.done().min(other.done());
    let part = |of: &Times| if of.done() == done { of.best() } else { of.each[..done].iter().sum::<f64>() };
    part(other) / part(times)
}

impl Row {
    fn new(name: &str, times: &Times, yardstick: Option<&Times>, scan: &Times) -> Self {
        let seconds = times.best();
        Row {
            decoder: name.to_owned(),
            seconds,
            median_seconds: times.median(),
            per_second: times.done() as f64 / seconds,
            vs_viterbi_simd: yardstick.map(|yardstick| speed_against(yardstick, times)),
            vs_scan: Some(1.0 / speed_against(scan, times)),
            vs_fewest_paths: None,
            agree: true,
            same: None,
            exact: None,
            k: None,
            done: times.done(),
            rounds: times.rounds.len(),
            limited: times.limited,
            counters: None,
            difference: None,
        }
    }

    fn of<S>(self, contender: &Contender<S>, verdict: &Verdict) -> Self {
        let counters = contender.counters.as_ref();
        Row {
            agree: verdict.agree(),
            same: Some(verdict.same),
            exact: Some(contender.decoder.entry().exact),
            k: Some(contender.k),
            counters: counters.map(|&Counters { nodes, edges, rounds, .. }| CountersRow {
                nodes,
                edges,
                rounds,
            }),
            difference: verdict.difference.as_ref().map(|(b, text)| format!("sequence {b}: {text}")),
            ..self
        }
    }

    /// A remark beside the numbers.
    fn remark(&self, sequences: usize) -> String {
        let mut remark = match (self.agree, self.exact) {
            (_, None) => String::from("limit"),
            (true, _) => "agree".into(),
            (false, Some(true)) => "DISAGREE".into(),
            (false, Some(false)) => format!("{} of {} best", self.same.unwrap_or(0), self.done),
        };
        if self.done < sequences {
            remark += &format!(", stopped after {} of {sequences}", self.done);
        } else if self.limited {
            remark += ", one round";
        }
        remark
    }
}
