//! The funnel's vector passes over all labels of a position: bounds on their values, the first floor, the labels that
//! may reach it.
//!
//! A pass reads `add + row[y]`, an upper bound (mostly exact) on the value that the opened labels before lead to at
//! `y`. It comes from a [`Source`]: chosen by [`Search::prepare`], read by [`Search::bounds_of`]. The labels that are
//! *not* opened before are covered by the floor of their layer.
//!
//! **Cost.** One scan of `L` scores per pass, and one more per opened label before if there are several.

use super::budget::{LABEL_COST, LOOK_COST, PASS_COST, ROW_COST, Stop};
use super::layers::Layers;
use super::search::{Goal, Memory, Search};
use crate::decode::Tally;
use crate::lattice::{EdgeScores, Lattice, PerLabel};
use crate::simd::{AlignedVec, Float, LANES, argmax};

/// For up to this many opened labels, all edges are read in vector passes; with more, labels are selected by the
/// largest edge into each. (A look block by block reads the edges of up to `MOST_ORIGINS`.)
pub(super) const ROWS_READ: usize = 24;

/// Upper bounds on the values at a position over the opened labels before: `add + row[y]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The start scores: exact.
    Start,
    /// The edges of the only opened label: exact.
    Only(u32),
    /// The largest over all opened labels, gathered in `values`: exact. (After a look block by block, only for selected labels, and too
    /// small where it misses the floor.)
    Gathered,
    /// The best score with the largest edge into each label.
    Bounded,
}

/// What a look at a position has found, beside the selected labels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<S> {
    /// What they may reach.
    pub(super) floor: S,
    /// No other label has a larger score than this.
    pub(super) rest: S,
    /// Where their values come from.
    pub(super) source: Source,
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// Selects every label at `t` that may reach a floor on the way to a goal. Without a floor, it is what some label is sure to
    /// reach; nothing is selected if that is forbidden.
    pub(super) fn look(&mut self, t: usize, goal: Goal, floor: Option<S>) -> Result<Found<S>, Stop> {
        if let Some(found) = self.look_by_block(t, goal, floor)? {
            return Ok(found);
        }
        let source = self.prepare(t)?;
        let floor = match floor {
            Some(floor) => floor,
            None => match self.first_floor(t, source)? {
                floor if floor.is_forbidden() => return Ok(Found { floor, rest: floor, source }),
                floor => floor,
            },
        };
        Ok(Found { floor, rest: self.select(t, source, goal, floor)?, source })
    }

    /// Chooses how to bound the values at `t`, and gathers them if that takes its own pass.
    pub(super) fn prepare(&mut self, t: usize) -> Result<Source, Stop> {
        if t == 0 {
            return Ok(Source::Start);
        }
        let (labels, computes_edges) = (self.lattice.labels(), self.computes_edges(t));
        let Memory { layers, values, edge_buffer, gathered, .. } = &mut *self.memory;
        let (values, gathered) = (&mut values[t % 2], &mut gathered[t % 2]);
        let opened = layers.layer(t - 1).opened;
        // Edges that are computed are asked for only where needed.
        if opened as usize > ROWS_READ || computes_edges {
            *gathered = None; // the bounds may take its place
            return Ok(Source::Bounded);
        }
        if let (1, Some((index, _))) = (opened, layers.opened(t - 1).next()) {
            return Ok(Source::Only(index));
        }
        if *gathered == Some((t, opened)) {
            return Ok(Source::Gathered); // for another goal
        }
        *gathered = Some((t, opened));
        // values[y] = max over the labels p opened before of  alpha[p] + edge(p, y)
        values.fill(S::FORBIDDEN);
        for (_, entry) in layers.opened(t - 1) {
            let row = self.edges.row(t, entry.label as usize, edge_buffer);
            S::max_plus_row(values, entry.alpha, &row[..labels]);
        }
        self.tally.edges(opened as usize * labels);
        self.spend(ROW_COST * opened as usize * labels.div_ceil(LANES))?;
        Ok(Source::Gathered)
    }

    /// The bounds of a source: a score to add, and a row to add it to.
    pub(super) fn bounds_of<'a>(
        lattice: &'a Lattice<'_, S>,
        edges: &'a E,
        layers: &Layers<S>,
        values: &'a mut [AlignedVec<S>; 2],
        edge_buffer: &'a mut AlignedVec<S>,
        zeros: &'a [S],
        t: usize,
        source: Source,
    ) -> (S, &'a [S]) {
        let (labels, values) = (lattice.labels(), &mut values[t % 2]);
        match source {
            Source::Start => (S::ZERO, lattice.start().unwrap_or(&zeros[..labels])),
            Source::Only(index) => {
                let only = layers.entry(index);
                (only.alpha, &edges.row(t, only.label as usize, edge_buffer)[..labels])
            }
            Source::Gathered => (S::ZERO, values),
            Source::Bounded => {
                (layers.layer(t - 1).best_alpha, as_slice(edges.bounds(t).column, values, labels))
            }
        }
    }

    /// What some label is sure to reach: the best one, if the values are exact and it surely has a way out, otherwise
    /// the one with the best node score. Forbidden if that label cannot be reached.
    ///
    /// ```text
    /// floor = max over y of  (add + row[y]) + node[y],  plus what a label usually gains on the way out
    /// ```
    fn first_floor(&mut self, t: usize, source: Source) -> Result<S, Stop> {
        let node_scores = self.lattice.node_row(t);
        if let (Some(way_out), true) = (self.sure_way_out(t), source != Source::Bounded) {
            let Memory { layers, values, edge_buffer, zeros, .. } = &mut *self.memory;
            let (add, row) =
                Self::bounds_of(self.lattice, self.edges, layers, values, edge_buffer, zeros, t, source);
            return Ok(S::largest_value(add, row, node_scores) + way_out);
        }
        let (likely, _) = argmax(node_scores).ok_or(Stop::NoPath)?;
        let mut looked = 0;
        let (value, _) = self.best_way_in(t, likely, &mut looked);
        self.tally.edges(looked);
        Ok(self.sure_reach(t).reach(value, likely))
    }

    /// What every label is sure to gain on the way out, if all have one.
    pub(super) fn sure_way_out(&self, t: usize) -> Option<S> {
        if self.is_last(t) {
            return self.lattice.end().is_none().then_some(S::ZERO);
        }
        let bounds = self.edges.bounds(t + 1);
        (!bounds.dead_ends).then(|| bounds.least_way_out())
    }

    /// Selects every label at `t` that may reach `floor`, and returns a bound on the scores of the others.
    ///
    /// ```text
    /// bound[y] = max(add + row[y], floor before) + node[y]
    /// selected = all y with  bound[y] + way_out[y] >= floor
    /// rest     = max over all others of  bound[y]
    /// ```
    ///
    /// Upper bound: over the opened labels their edges, or the best of them with the largest edge into each label; over
    /// labels that are not opened, the floor of their layer; then the node and the largest way out. All are sums in the
    /// judge's order, so rounding never hides a label.
    fn select(&mut self, t: usize, source: Source, goal: Goal, floor: S) -> Result<S, Stop> {
        let node_scores = self.lattice.node_row(t);
        let floor_before = self.memory.layers.floor_before(t);
        let Memory { layers, values, edge_buffer, way_out_buffer, selected, zeros, .. } = &mut *self.memory;
        let ways_out = ways_out_to(goal, self.lattice, self.edges, t, zeros, way_out_buffer);
        let (add, row) =
            Self::bounds_of(self.lattice, self.edges, layers, values, edge_buffer, zeros, t, source);
        selected.clear();
        let rest = S::select_reaching(add, row, floor_before, node_scores, ways_out, floor, selected);
        let selected = selected.len();
        let passes = 2 * PASS_COST * node_scores.len().div_ceil(LANES);
        self.spend(LOOK_COST + passes + LABEL_COST * selected)?;
        Ok(rest)
    }
}

/// What each label of `t` adds at most on the way to a goal: its edge to that label, or a bound on it; or its largest edge.
#[inline(always)]
pub(super) fn ways_out_to<'a, S: Float, E: EdgeScores<S>>(
    goal: Goal,
    lattice: &'a Lattice<'_, S>,
    edges: &'a E,
    t: usize,
    zeros: &'a [S],
    buffer: &'a mut AlignedVec<S>,
) -> &'a [S] {
    let labels = lattice.labels();
    match goal {
        Goal::Any if t + 1 == lattice.positions() => lattice.end().unwrap_or(&zeros[..labels]),
        Goal::Any => as_slice(largest_ways_out(lattice, edges, t), buffer, labels),
        Goal::Label(y) => match edges.column_bounds(t + 1, y as usize) {
            Some(bounds) => bounds,
            None => &edges.column(t + 1, y as usize, buffer)[..labels],
        },
    }
}

/// Start or end scores as bounds.
pub(super) fn border<S: Float>(scores: Option<&[S]>) -> PerLabel<'_, S> {
    scores.map_or(PerLabel::All(S::ZERO), PerLabel::Each)
}

/// The largest edge out of each label at `t`; at the last position, the end scores.
pub(super) fn largest_ways_out<'a, S: Float, E: EdgeScores<S>>(
    lattice: &'a Lattice<'_, S>,
    edges: &'a E,
    t: usize,
) -> PerLabel<'a, S> {
    if t + 1 == lattice.positions() { border(lattice.end()) } else { edges.bounds(t + 1).row }
}

/// One bound per label, written out if it is the same for all.
pub(super) fn as_slice<'a, S: Float>(
    bounds: PerLabel<'a, S>,
    buffer: &'a mut AlignedVec<S>,
    labels: usize,
) -> &'a [S] {
    match bounds {
        PerLabel::Each(bounds) => bounds,
        PerLabel::All(bound) => {
            buffer[..labels].fill(bound);
            &buffer[..labels]
        }
    }
}
