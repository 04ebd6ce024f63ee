//! Estimates of the remaining score, for A*: from one number per position to a backward pass over a small lattice.
//!
//! **What.** `h(t, y)` is at least the score of every way from label `y` at position `t` to the end (nodes, edges and
//! end score after `t`). The tighter it is, the fewer nodes A* opens, but the more it costs:
//!
//! | name | estimate | cost |
//! |---|---|---|
//! | `naive` | sum of the largest node and the largest edge of each position (Huang et al. 2012, Equation 9) | `T L` |
//! | `carpediem` | the same with one bound `S1*` for all edges of the graph (Esposito & Radicioni 2009, section 6.6.1) | `T L` |
//! | `m0`, `m3`, `m6`, `m9` | backward Viterbi on the degenerate lattice with `2^m` active labels (Huang et al. 2012, section 4.1) | `T L + T 4^m` |
//!
//! **Rounding.** Each estimate is at least the sum of any such way added in the estimate's own order (a larger addend
//! never makes a floating-point sum smaller), which differs from the judge's by less than half of the rounding slack.

use super::Tally;
use super::gather::{GatherEdges, Targets};
use crate::error::{Error, Result};
use crate::lattice::{Lattice, PerLabel, Ranking};
use crate::simd::Float;
use std::str::FromStr;

/// How A* estimates the remaining score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Heuristic {
    /// Largest nodes and edges of the remaining positions.
    #[default]
    Naive,
    /// Largest nodes of the remaining positions and one bound on all edges of the graph, `S1*`.
    CarpeDiem,
    /// Backward scores of the degenerate lattice with 1 active label.
    M0,
    /// The same with 8 active labels.
    M3,
    /// The same with 64 active labels.
    M6,
    /// The same with 512 active labels.
    M9,
}

impl Heuristic {
    /// All of them, from loose and cheap to tight and expensive.
    pub const ALL: [Heuristic; 6] =
        [Heuristic::CarpeDiem, Heuristic::Naive, Heuristic::M0, Heuristic::M3, Heuristic::M6, Heuristic::M9];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Heuristic::Naive => "naive",
            Heuristic::CarpeDiem => "carpediem",
            Heuristic::M0 => "m0",
            Heuristic::M3 => "m3",
            Heuristic::M6 => "m6",
            Heuristic::M9 => "m9",
        }
    }

    /// Level of its degenerate lattice, if it has one.
    fn level(self) -> Option<usize> {
        match self {
            Heuristic::Naive | Heuristic::CarpeDiem => None,
            Heuristic::M0 => Some(0),
            Heuristic::M3 => Some(3),
            Heuristic::M6 => Some(6),
            Heuristic::M9 => Some(9),
        }
    }
}

impl FromStr for Heuristic {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|heuristic| heuristic.name() == name).ok_or_else(|| Error::UnknownName {
            what: "heuristic",
            name: name.into(),
            expected: Self::ALL.map(Heuristic::name).join(", "),
        })
    }
}

/// The estimates of one sequence.
#[derive(Debug, Default)]
pub(crate) struct Estimates<S> {
    width: usize,   // labels with their own estimate: the first ones of the ranking
    own: Vec<S>,    // T x width
    others: Vec<S>, // T: estimate of all other labels
    ahead: Vec<S>,  // working row of `width`: node plus estimate of the next position
    row: Vec<S>,    // working row of `width`
    maxima: Vec<S>, // working row: maxima over inactive labels
}

impl<S: Float> Estimates<S> {
    /// The estimate at position `t` of the label at that place in the ranking.
    #[inline(always)]
    pub(crate) fn at(&self, t: usize, place: u32) -> S {
        if (place as usize) < self.width { self.own[t * self.width + place as usize] } else { self.others[t] }
    }

    /// Computes the estimates of a sequence.
    pub(crate) fn fill(
        &mut self,
        heuristic: Heuristic,
        lattice: &Lattice<'_, S>,
        edges: &impl GatherEdges<S>,
        tally: &mut impl Tally,
    ) {
        self.others.clear();
        self.others.resize(lattice.positions(), S::ZERO);
        match heuristic.level() {
            None => self.fill_uniform(heuristic, lattice, edges),
            Some(level) => {
                let level = level.min(lattice.edges().ranking().levels());
                self.fill_degenerate(level, lattice, edges, tally);
            }
        }
    }

    /// `h(t) = (largest edge into t + 1 + largest node of t + 1) + h(t + 1)`, `h(T - 1)` the largest end score.
    fn fill_uniform(&mut self, heuristic: Heuristic, lattice: &Lattice<'_, S>, edges: &impl GatherEdges<S>) {
        self.width = 0;
        let last = lattice.positions() - 1;
        self.others[last] = lattice.end().map_or(S::ZERO, S::largest);
        let graph = (1..=last).map(|t| edges.bounds(t).overall).fold(S::FORBIDDEN, S::larger);
        for t in (0..last).rev() {
            let bounds = edges.bounds(t + 1);
            let edge = match (heuristic, bounds.row) {
                (Heuristic::CarpeDiem, _) => graph,
                (_, PerLabel::Each(rows)) => S::largest(rows),
                _ => bounds.overall,
            };
            self.others[t] = (edge + S::largest(lattice.node_row(t + 1))) + self.others[t + 1];
        }
    }

    /// Backward Viterbi over the active labels of a level and the rest.
    fn fill_degenerate(
        &mut self,
        level: usize,
        lattice: &Lattice<'_, S>,
        edges: &impl GatherEdges<S>,
        tally: &mut impl Tally,
    ) {
        let ranking = lattice.edges().ranking();
        let active = ranking.active(level);
        let targets = Targets { labels: active, slots: ranking.places(), prefix: ranking.in_label_order() };
        let (width, last) = (active.len(), lattice.positions() - 1);
        self.width = width;
        self.own.resize((last + 1) * width, S::ZERO);
        self.row.resize(width, S::ZERO);
        for (i, &y) in active.iter().enumerate() {
            self.own[last * width + i] = lattice.with_end_score(S::ZERO, y as usize);
        }
        self.others[last] = match lattice.end() {
            Some(end) => self.rest_maximum(ranking, level, end),
            None => S::ZERO,
        };
        tally.round();
        for t in (0..last).rev() {
            let nodes = lattice.node_row(t + 1);
            let bounds = lattice.degenerate(t + 1);
            let ahead = &self.own[(t + 1) * width..(t + 2) * width];
            self.ahead.clear();
            self.ahead.extend(active.iter().zip(ahead).map(|(&y, &h)| nodes[y as usize] + h));
            let has_rest = level < ranking.levels();
            let rest = has_rest.then(|| self.rest_maximum(ranking, level, nodes) + self.others[t + 1]);
            let mut from_rest = S::FORBIDDEN;
            for (i, &p) in active.iter().enumerate() {
                let row = edges.gather(t + 1, p as usize, targets, &mut self.row[..width]);
                let mut best = S::max_of_sum(row, &self.ahead);
                if let Some(rest) = rest {
                    best = best.larger(bounds.entering_rest(level).at(p as usize) + rest);
                    from_rest = from_rest.larger(bounds.leaving_rest(level).at(p as usize) + self.ahead[i]);
                }
                self.own[t * width + i] = best;
            }
            if let Some(rest) = rest {
                from_rest = from_rest.larger(bounds.between(level, level) + rest);
            }
            self.others[t] = from_rest;
            let size = width + usize::from(has_rest);
            tally.edges(size * size);
        }
    }

    fn rest_maximum(&mut self, ranking: &Ranking, level: usize, scores: &[S]) -> S {
        self.maxima.resize(ranking.levels(), S::FORBIDDEN);
        ranking.rest_maxima(scores, &mut self.maxima);
        self.maxima.get(level).copied().unwrap_or(S::FORBIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::counters::Uncounted;
    use crate::lattice::{EdgeScores, Edges, with_edges};

    #[test]
    fn names_lead_to_heuristics_and_back() {
        for heuristic in Heuristic::ALL {
            assert_eq!(heuristic.name().parse::<Heuristic>().unwrap(), heuristic);
        }
        assert!("m4".parse::<Heuristic>().unwrap_err().to_string().contains("m3"));
    }

    /// Whole numbers, so that sums are exact: no estimate lies below the truth, and more active labels never loosen it.
    #[test]
    fn estimates_are_admissible_and_nested() {
        let (positions, labels) = (5, 20);
        let value = |i: usize, salt: usize| ((i * 7907 + salt * 31) % 19) as f64 - 9.0;
        let matrix: Vec<f64> = (0..labels * labels).map(|i| value(i, 1)).collect();
        let nodes: Vec<f64> = (0..positions * labels).map(|i| value(i, 2)).collect();
        let end: Vec<f64> = (0..labels).map(|i| value(i, 3)).collect();
        let order = (0..labels as u32).map(|y| (y * 7 + 3) % 20).collect();
        let edges = Edges::dense(labels, matrix).unwrap().ranked(order).unwrap();
        let lattice = Lattice::new(nodes, &edges).unwrap().with_end(end.clone()).unwrap();
        let mut truth = vec![end];
        for t in (1..positions).rev() {
            let after = &truth[0];
            let best = |p: usize| {
                with_edges!(lattice, |edges| (0..labels)
                    .map(|y| edges.get(t, p, y) + lattice.node_row(t)[y] + after[y])
                    .fold(f64::NEG_INFINITY, f64::max))
            };
            let row = (0..labels).map(best).collect();
            truth.insert(0, row);
        }
        let places = edges.ranking().places();
        let mut looser: Option<Vec<f64>> = None;
        for heuristic in Heuristic::ALL {
            let mut estimates = Estimates::default();
            with_edges!(lattice, |edges| estimates.fill(heuristic, &lattice, edges, &mut Uncounted));
            let all: Vec<f64> = (0..positions)
                .flat_map(|t| (0..labels).map(move |y| (t, y)))
                .map(|(t, y)| estimates.at(t, places[y]))
                .collect();
            for (i, &h) in all.iter().enumerate() {
                assert!(h >= truth[i / labels][i % labels], "{heuristic:?}");
                assert!(looser.as_ref().is_none_or(|looser| h <= looser[i]), "{heuristic:?}");
            }
            looser = Some(all);
        }
        assert_eq!(
            looser.unwrap(),
            truth.concat(),
            "512 active labels are all of them: the estimate is exact"
        );
    }
}
