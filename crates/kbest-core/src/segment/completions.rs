//! Upper bounds of what follows: a backward pass over the lattice with bounds in the place of explicit scores.
//!
//! ```text
//! after_end[r][p]   = max over y of (edge[r][p][y] + after_enter[r][y])            after_end[T][y] = end[y]
//! after_enter[s][y] = max over r of (node[s..r][y] + duration[r-s][y] + bound[s][r][y] + after_end[r][y])
//! ```
//!
//! `bound[s][r][y]` is what the explicit score of that segment cannot exceed, by its length or as far as a cheap look at it
//! tells (`scores.rs`). Explicit scores in memory are taken as they are: then, and without any, these are the true completions.
//!
//! **Why safe.** Each term is replaced by one that is not smaller; what is forbidden besides is ignored. Sums are added in
//! another order than the judge's, so users allow for [`SegmentLattice::rounding_slack`]. **Cost.** `T L^2 + T W L` with vectors; two tables of `T L`.

use super::SegmentLattice;
use super::lattice::Explicit;
use super::scores::SpanBounds;
use crate::decode::best_exits;
use crate::lattice::{EdgeScores, Shape, with_edges};
use crate::simd::{AlignedVec, Float, Loop, padded, run};

/// Upper bounds of what follows.
#[derive(Debug, Default)]
pub(super) struct Completions {
    pub after_end: Vec<f64>, // (T + 1) x L: after a segment that ends here with this label; the first row is not used
    pub after_enter: Vec<f64>, // T x L: after this label was entered here
    reach: Vec<f64>,         // (T + 1) x L: after_end with the node scores before it
}

impl Completions {
    /// The backward pass.
    pub(super) fn fill<S: Float>(&mut self, lattice: &SegmentLattice<'_, S>, bounds: &mut SpanBounds<S>) {
        let (positions, labels, longest) = (lattice.positions(), lattice.labels(), lattice.longest());
        let p = lattice.prepared();
        self.reset(positions, labels);
        for y in 0..labels {
            let end = lattice.chain.end().map_or(0.0, |end| end[y].to_f64());
            self.after_end[positions * labels + y] = end;
            self.reach[positions * labels + y] = end + p.sums[positions * labels + y];
        }
        let [mut entered, mut exits, mut buffer] =
            [(); 3].map(|()| AlignedVec::filled(padded(labels), S::FORBIDDEN));
        for s in (0..positions).rev().filter(|&s| !p.closed[s]) {
            let reach = &mut self.reach[(s + 1) * labels..];
            let window = longest.min(positions - s) * labels;
            if let Some(earliest) = &p.earliest {
                // What may not start at `s` may not start further left, either.
                for (reach, &earliest) in reach[..window].iter_mut().zip(&earliest[(s + 1) * labels..]) {
                    *reach = if earliest > s as u32 { f64::NEG_INFINITY } else { *reach };
                }
            }
            let best = &mut self.after_enter[s * labels..][..labels];
            let (reach, gains) = (&reach[..window], &p.durations[..]);
            let scores = match &lattice.explicit {
                Explicit::None => None,
                Explicit::Array { longest, scores } => Some(&scores[s * longest * labels..][..window]),
                Explicit::Function { .. } | Explicit::Rows { .. } => Some(bounds.of_start(lattice, s)),
            };
            match scores {
                Some(scores) => run(RaiseExplicit { best: &mut *best, reach, gains, scores }),
                None => run(Raise { best: &mut *best, reach, gains }),
            }
            let opening = &p.opening()[s * labels..][..labels];
            run(Entering { best, opening, entered: &mut entered[..labels] });
            if s == 0 {
                break;
            }
            exits.fill(S::FORBIDDEN);
            best_exits(&lattice.chain, s, &entered, &mut exits, &mut buffer);
            let here = s * labels..(s + 1) * labels;
            run(Leaving {
                exits: &exits[..labels],
                sums: &p.sums[here.clone()],
                after: &mut self.after_end[here.clone()],
                reach: &mut self.reach[here],
            });
        }
    }

    /// Without information: how many positions are left, times the most that any of them can gain. With
    /// `rate[y] = max over d of (duration[d][y] + bound[d][y] + best edge into y) / d`, no segment gains more than the sum of
    /// `node + rate` over its positions, and the better of nothing and a boundary's score at each.
    pub(super) fn fill_uninformed<S: Float>(&mut self, lattice: &SegmentLattice<'_, S>) {
        let bounds = bounds_of_explicit(lattice);
        let (positions, labels) = (lattice.positions(), lattice.labels());
        self.reset(positions, labels);
        let edge = best_edges_into(lattice);
        let mut rate = vec![f64::NEG_INFINITY; labels];
        for (i, &duration) in lattice.prepared().durations.iter().enumerate() {
            let y = i % labels;
            let gain = duration + bounds.get(i).copied().unwrap_or(0.0) + edge[y];
            rate[y] = rate[y].max(gain / (i / labels + 1) as f64);
        }
        let boundary = |i: usize| {
            let at = |scores: &[S]| scores[i].to_f64().max(0.0);
            lattice.boundaries.as_ref().map_or(0.0, |[begin, end]| at(begin) + at(end))
        };
        let nodes = lattice.chain.nodes().iter().enumerate();
        let gains = nodes.map(|(i, node)| node.to_f64() + rate[i % labels] + boundary(i));
        let gain = gains.fold(f64::NEG_INFINITY, f64::max);
        let end = lattice.chain.end().map_or(0.0, |end| S::largest(end).to_f64());
        for t in 0..=positions {
            let left = (positions - t) as f64;
            let ahead = if left > 0.0 { end + left * gain } else { end };
            self.after_end[t * labels..][..labels].fill(ahead);
            if t < positions {
                for y in 0..labels {
                    self.after_enter[t * labels + y] = ahead - edge[y];
                }
            }
        }
    }

    fn reset(&mut self, positions: usize, labels: usize) {
        for (table, rows) in [
            (&mut self.after_end, positions + 1),
            (&mut self.after_enter, positions),
            (&mut self.reach, positions + 1),
        ] {
            table.clear();
            table.resize(rows * labels, f64::NEG_INFINITY);
        }
    }
}

/// What entering is worth: the best that follows, less the node scores before.
struct Entering<'a, S> {
    best: &'a mut [f64],
    opening: &'a [f64],
    entered: &'a mut [S],
}

impl<S: Float> Loop for Entering<'_, S> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        for ((best, opening), entered) in self.best.iter_mut().zip(self.opening).zip(self.entered) {
            *best -= opening;
            *entered = S::from_f64(*best);
        }
    }
}

/// What follows an end, with and without the node scores before it.
struct Leaving<'a, S> {
    exits: &'a [S],
    sums: &'a [f64],
    after: &'a mut [f64],
    reach: &'a mut [f64],
}

impl<S: Float> Loop for Leaving<'_, S> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let tables = self.after.iter_mut().zip(self.reach);
        for ((exit, sum), (after, reach)) in self.exits.iter().zip(self.sums).zip(tables) {
            *after = exit.to_f64();
            *reach = *after + sum;
        }
    }
}

/// Raises `best[y]` to the largest `reach[d][y] + gains[d][y]`.
pub(super) struct Raise<'a> {
    pub best: &'a mut [f64],
    pub reach: &'a [f64],
    pub gains: &'a [f64],
}

impl Loop for Raise<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let Raise { best, reach, gains } = self;
        let labels = best.len();
        let rows = reach.len().min(gains.len()) / labels;
        if labels < TOGETHER {
            for at in 0..rows * labels {
                best[at % labels] = larger(reach[at] + gains[at], best[at % labels]);
            }
            return;
        }
        for group in 0..labels.div_ceil(TOGETHER) {
            let from = first_of(group, labels);
            let mut most = *eight(best, from);
            for row in 0..rows {
                let (reach, gains) = (eight(reach, row * labels + from), eight(gains, row * labels + from));
                for i in 0..TOGETHER {
                    most[i] = larger(reach[i] + gains[i], most[i]);
                }
            }
            best[from..][..TOGETHER].copy_from_slice(&most);
        }
    }
}

/// The same with a score of each segment: `reach[d][y] + gains[d][y] + scores[d][y]`.
struct RaiseExplicit<'a, S> {
    best: &'a mut [f64],
    reach: &'a [f64],
    gains: &'a [f64],
    scores: &'a [S],
}

impl<S: Float> Loop for RaiseExplicit<'_, S> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let RaiseExplicit { best, reach, gains, scores } = self;
        let labels = best.len();
        let rows = reach.len().min(gains.len()).min(scores.len()) / labels;
        if labels < TOGETHER {
            for at in 0..rows * labels {
                let value = (reach[at] + gains[at]) + scores[at].to_f64();
                best[at % labels] = larger(value, best[at % labels]);
            }
            return;
        }
        for group in 0..labels.div_ceil(TOGETHER) {
            let from = first_of(group, labels);
            let mut most = *eight(best, from);
            for row in 0..rows {
                let at = row * labels + from;
                let (reach, gains, scores) = (eight(reach, at), eight(gains, at), eight(scores, at));
                for i in 0..TOGETHER {
                    most[i] = larger((reach[i] + gains[i]) + scores[i].to_f64(), most[i]);
                }
            }
            best[from..][..TOGETHER].copy_from_slice(&most);
        }
    }
}

/// Labels that are raised together: their maxima stay in registers. (No closures here: they might be compiled apart, for the
/// baseline.)
const TOGETHER: usize = 8;

#[inline(always)]
fn eight<T>(values: &[T], at: usize) -> &[T; TOGETHER] {
    match values[at..].first_chunk() {
        Some(eight) => eight,
        None => unreachable!("a row has eight labels from here on"),
    }
}

/// The first label of a group. The last group may overlap the one before: raised twice is raised once.
#[inline(always)]
fn first_of(group: usize, labels: usize) -> usize {
    (group * TOGETHER).min(labels - TOGETHER)
}

#[inline(always)]
fn larger(value: f64, most: f64) -> f64 {
    if value > most { value } else { most }
}

/// What no explicit score of a length and label exceeds, `W x L`; empty if there are none.
fn bounds_of_explicit<S: Float>(lattice: &SegmentLattice<'_, S>) -> Vec<f64> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let count = lattice.longest() * labels;
    match &lattice.explicit {
        Explicit::None => vec![],
        Explicit::Function { bounds, .. } | Explicit::Rows { bounds, .. } => {
            bounds[..count].iter().map(|bound| bound.to_f64()).collect()
        }
        Explicit::Array { longest, scores } => {
            let mut largest = vec![f64::NEG_INFINITY; count];
            for (s, rows) in scores.chunks_exact(longest * labels).enumerate() {
                let legal = count.min((positions - s) * labels);
                for (largest, score) in largest.iter_mut().zip(&rows[..legal]) {
                    *largest = largest.max(score.to_f64());
                }
            }
            largest
        }
    }
}

/// The best edge into each label, anywhere; 0 if there is none.
fn best_edges_into<S: Float>(lattice: &SegmentLattice<'_, S>) -> Vec<f64> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let mut best = vec![f64::NEG_INFINITY; labels];
    let several = matches!(lattice.chain.edges().shape(), Shape::PerPosition(_) | Shape::Callback(_));
    with_edges!(lattice.chain, |edges| {
        for t in 1..if several { positions } else { positions.min(2) } {
            let column = edges.bounds(t).column;
            (0..labels).for_each(|y| best[y] = best[y].max(column.at(y).to_f64()));
        }
    });
    for best in &mut best {
        *best = if *best == f64::NEG_INFINITY { 0.0 } else { *best };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn rows_are_raised_whatever_the_number_of_labels() {
        let random = &mut Random::new(3);
        for labels in 1..=20 {
            for rows in 0..4 {
                let mut list = |count: usize| -> Vec<f64> { (0..count).map(|_| random.signed()).collect() };
                let (first, reach, gains) = (list(labels), list(rows * labels), list(rows * labels));
                let scores: Vec<f32> = list(rows * labels).iter().map(|&score| score as f32).collect();
                let (mut plain, mut explicit) = (first.clone(), first.clone());
                for at in 0..rows * labels {
                    let (sum, y) = (reach[at] + gains[at], at % labels);
                    plain[y] = plain[y].max(sum);
                    explicit[y] = explicit[y].max(sum + f64::from(scores[at]));
                }
                let (mut best, reach, gains) = (first.clone(), &reach[..], &gains[..]);
                run(Raise { best: &mut best, reach, gains });
                assert_eq!(best, plain, "{rows} rows of {labels} labels");
                best.clone_from(&first);
                run(RaiseExplicit { best: &mut best, reach, gains, scores: &scores });
                assert_eq!(best, explicit, "{rows} rows of {labels} labels");
            }
        }
    }
}
