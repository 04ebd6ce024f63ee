//! The funnel for more than one path: read this page before changing anything here.
//!
//! **What.** After the search for the best path ([`super::search`]) there are three phases; `docs/decoders/funnel.md`
//! explains why they are exact and follows a small lattice through all of them, number by number (`example.rs` checks
//! these numbers).
//!
//! ```text
//! 1 margin    how much the k-th best path loses at most        margin.rs: losses.rs, hits.rs (hit_loops.rs), combinations.rs
//!             and what rounding may hide of it                  slack.rs
//! 2 keep      every label on any path within the margin         keep.rs: graph.rs
//! 3 deviate   the paths of that graph, the k best of them       deviations.rs: written.rs, smallest.rs
//! ```
//!
//! If the last of the paths lies within the margin, they are the `k` best of all. That can fail only where there were
//! too few changed labels for phase 1 (short sequences, many forbidden labels) and the margin was guessed: then it is
//! widened, and phases 2 and 3 are repeated. Where phase 3 would list too many paths (ties),
//! [`crate::decode::path_space`] takes its place.
//!
//! **Cost.** Phase 1: a vector pass per position that may have a close rival. Phase 2: a few steps per label kept, and
//! a pass where labels must be opened. Phase 3: one addition per path and position after its deviation. **When not.**
//! In single precision on very long sequences, where rounding may hide more than labels differ by, and where there
//! are more ways than half the nodes of the lattice, or than the budget allows: [`Stop::Crowded`], before memory is spent on them.
//!
//! # Words
//!
//! Each has one meaning, in names, comments and formulas.
//!
//! | word | meaning |
//! |---|---|
//! | *alpha* | forward score of a label: the judge's score of the best path to it |
//! | *value* | `alpha + edge`: what a label leads to at a label after it, before the node score there; at the end, `alpha + end` |
//! | *best value* | the largest value at a label: that of its best way in. In phase 1, of the best path's label |
//! | *score* | of a path: the judge's. Of a label: its alpha, or an upper bound on it if it is not opened |
//! | *reach* | of a label: `alpha + its largest edge out` (at the last position, `+ end`), the largest value that it leads to |
//! | *opened* | of a label: its alpha is known, it has an [`Entry`](super::layers::Entry) |
//! | *floor*, *rest* | of a position: labels not opened lead to values strictly below the floor, and have no alpha above the rest |
//! | *selected* | labels that a vector pass has picked because they may reach what is needed |
//! | *fresh* | entries about to be opened |
//! | *change* | the best path with another label at one position, the best way to that label, and its own labels after it |
//! | *length* | of a change: how many labels of the best path it replaces, at most |
//! | *hit* | a label not opened that may be the last one replaced by a change that loses little |
//! | *loss* | of a path: the best path's score minus its own. Of a way: the best value at its node minus its own value. A path's loss is the sum of its ways' losses |
//! | *limit* | the largest loss that is of interest; it falls in phase 1 and again in phase 3 |
//! | *margin* | a loss that at least `k` paths do not exceed: the result of phase 1 |
//! | *slack* | what rounding may hide, and nothing else: [`slack::Slack`] |
//! | *scale* | the largest magnitude of an edge plus that of a node: the unit of guesses |
//! | *needed* | the least value that is wanted: `best value - allowance` |
//! | *wanted* | of a label: it leads to as much as is needed |
//! | *kept* | of a label: some path within the margin has it. It is a [`graph::Node`] |
//! | *way* | an edge into a node, from a node before it |
//! | *allowance* | of a node: the most that a path may lose on its way there |
//! | *gap* | of a node: the least that any path to it except the best one loses |
//! | *fork* | of a node: the nearest node on the best path to it, itself included, that has a second way in |
//! | *deviation* | a path written as its parent and one way that is not the best |
//! | *listed* | of a path: phase 3 has found it. *Written*: its labels and terms are written out, for its children to copy |
//!
//! In formulas `node[y]` is a node score, as everywhere; names say `node_score`, because a *node* is a label kept.
//! `further` is `k - 1`, the number of paths besides the best one; `looked` counts edges or labels looked at, for
//! counters and budget.
//!
//! # State
//!
//! `best_path` holds the [`super::layers`] entries of the best path, `T` of them; entries never move, so these stay
//! valid while more labels are opened. State shared with the search for one path is in [`search::Memory`].
//!
//! | state | meaning | written by | read by |
//! |---|---|---|---|
//! | `search::Memory::layers` | opened labels, floors and rests | the search; phase 2, which opens more | all |
//! | `values`, `edge_buffer`, `way_out_buffer`, `selected` | the results of one pass; `values`, of even and of odd positions, last as long as `gathered` names theirs | each pass | the same pass |
//! | `rivals` | empty but while a label asks for rivals | `has_no_rival` | the same |
//! | `fresh`, `jobs` | empty between calls of the search | `settle`, `gather_wanted` | `commit`, `work_off` |
//! | `Kept::best_path` | above | `push_kbest`, `keep_within` | all |
//! | `margin::Memory::likely_losses` | positions, closest rivals first | `find_likely_losses` | `margin_for` |
//! | `Losses::open_changes`, `lengths` | changes to opened labels, ascending by position; the largest length at each position | `change_to_opened` | `Losses`, `hit` |
//! | `Losses::limit`, `counts` | the limit of phase 1, and the losses known so far in steps of the first limit | `begin`, `tighten` | `hit` |
//! | `Experience`, `last_margin` | what earlier sequences needed: only guesses, which cost time if wrong | `learn`, `push_kbest` | the same |
//! | `Hits::all`, `at` | the hits of each position, and its rest apart from them | phase 1 | `combined`; phase 2 |
//! | `Hits::cover` | the loss up to which the hits are complete; forbidden if there are none | `margin_for`; reset by `keep_within` | phase 2 |
//! | `Graph::nodes`, `ways` | labels kept and the ways between them | phase 2 | phase 3 |
//! | `Node::fork`, `gap` | above | `finish` | phase 3 |
//! | `Deviations::listed` | paths, parents before children | `list` | `score_best`, `push_path` |
//! | `Written` | the labels and terms of parents, the best path first | `score_best` | the same, `push_path` |
//! | `Kept::offsets`, `labels`, `alpha` | the labels kept in columns, for `path_space`; this uses up the graph | `fill_columns` | `parts` |
//!
//! # What holds
//!
//! After the search: every label that any best path has is opened, and `best_path` is the best path by the tie rule.
//!
//! After phase 1, with the margin `m` returned (which already includes one slack):
//!
//! - at least `k` paths lose at most `m`;
//! - `cover = m + slack`, and every label that is not opened but leads to the best path's next label on a path that
//!   loses at most `cover` is a hit. (A hit's *value* may be an upper bound, so there may be too many hits; its *loss*
//!   is that of a real path.)
//! - layers are as the search left them.
//!
//! During phase 2, when the nodes of position `t` are done:
//!
//! - the allowance of the end and of the best path's nodes is `m + slack`, which is `cover`: so the hits are enough for
//!   them;
//! - the nodes of `t - 1` are those wanted by some node of `t`, each with the largest allowance that one of these
//!   leaves for it;
//! - the ways into a node are consecutive, its best way (loss 0) first; `first == past` means that they have not been
//!   found yet (at position 0, that there are none). A node's only way may be added early; if its allowance grows after
//!   that, it loses the way again (`Graph::keep`);
//! - nodes are numbered: the end, then the best path from the last position to the first, then all others, later
//!   positions first. `levels` holds where those of a position end.
//!
//! After phase 2 the graph contains every path that loses at most `m`, and each of its ways is on a path that loses at
//! most `m + slack`.
//!
//! In phase 3:
//!
//! - a path's deviations are added from the end to the start, so that each path is listed once;
//! - a parent loses no more than its child and is listed before it: if a child is scored, its parent has been written;
//! - losses only rule paths out; scores in the judge's order, and then the order of equal paths, decide.

mod combinations;
mod deviations;
#[cfg(test)]
mod example;
mod graph;
mod hit_loops;
mod hits;
mod keep;
mod losses;
mod margin;
mod slack;
mod smallest;
mod written;

use super::budget::{Budget, Stop};
use super::search::{self, Search};
use crate::decode::path_space::PathSpace;
use crate::decode::{Decoded, Tally};
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;
use deviations::Deviations;
use keep::Kept;

pub(crate) use keep::keep_within;
pub(crate) use margin::widened;

/// Working memory.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    margin: margin::Memory<S>,
    pub(crate) kept: Kept<S>,
    deviations: Deviations<S>,
    last_margin: f64, // the margin that was enough last time
}

/// Pushes the `k` best paths (`k` at least 2), if they are found within the budget.
pub(super) fn push_kbest<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    k: usize,
    budget: Budget,
    memory: &mut search::Memory<S>,
    many: &mut Memory<S>,
    tally: &mut T,
    out: &mut Decoded<S>,
) -> Result<(), Stop> {
    let Memory { margin: margin_memory, kept, deviations, last_margin } = many;
    let mut search = Search { lattice, edges, memory, tally, budget, ways_back: true };
    search.run()?;
    search.find_best_path(&mut kept.best_path);
    let (slack, scale) = (search.slack(&kept.best_path), search.scale());
    if slack.hides_most(scale) {
        return Err(Stop::Crowded);
    }
    let mut margin = match search.margin_for(k, &kept.best_path, slack, margin_memory, &mut kept.hits)? {
        Some(margin) => margin,
        None => S::from_f64_up(if *last_margin > 0.0 { 1.5 * *last_margin } else { scale }),
    };
    loop {
        search.keep_within(margin, slack, kept)?;
        out.clear_paths();
        kept.graph.finish();
        let hidden = slack.within(margin);
        let limit = margin + hidden;
        if !deviations.push_best(lattice, edges, &kept.graph, k, limit, hidden, search.tally, out) {
            out.clear_paths();
            kept.fill_columns();
            let (survivors, paths) = kept.parts();
            PathSpace::new(lattice, edges, survivors, paths)
                .push_best(k, search.tally, out)
                .map_err(|_| Stop::Full)?;
        }
        let best = out.paths.first().ok_or(Stop::NoPath)?.score.to_f64();
        let lost = match out.paths.get(k - 1) {
            Some(last) => best - last.score.to_f64(),
            None if !margin.is_legal() => return Ok(()), // there are no more
            None => f64::INFINITY,
        };
        if lost <= margin.to_f64() || !margin.is_legal() {
            *last_margin = lost;
            return Ok(());
        }
        // Too few paths within the margin: widen it until there are enough, then to where the last of them lies.
        let wider = 2.0 * margin.to_f64() + 0.02 * scale;
        margin = S::from_f64_up(if lost.is_finite() {
            lost
        } else {
            widened(margin.to_f64(), wider, 16.0 * scale)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Decode, Decoder, Funnel, Scratch, Viterbi};
    use crate::lattice::Edges;
    use crate::random::Random;

    fn scores<S: Float>(
        decoder: impl Into<Decoder>,
        lattice: &Lattice<'_, S>,
        scratch: &mut Scratch<S>,
    ) -> Vec<f64> {
        let found = decoder.into().decode_kbest(lattice, 5, scratch).unwrap();
        found.paths.iter().map(|path| path.score.to_f64()).collect()
    }

    /// Where all paths are equal, every edge is on one of the best.
    #[test]
    fn memory_grows_with_nodes_not_with_edges() {
        let (positions, labels) = (40, 300);
        let edges = Edges::dense(labels, vec![0.0f32; labels * labels]).unwrap();
        let lattice = Lattice::new(vec![0.0; positions * labels], &edges).unwrap();
        let mut scratch = Scratch::new();
        assert_eq!(scores(Funnel, &lattice, &mut scratch), [0.0; 5]);
        let ways = scratch.funnel.many.kept.graph.ways.capacity();
        assert!(ways < 20 * positions * labels, "{ways} ways");
    }

    /// Paths found within a margin that was too small are not given twice when a wider one is crowded.
    #[test]
    fn too_many_ways_at_the_second_attempt() {
        let labels = 300;
        let edges = Edges::dense(labels, vec![0.0f32; labels * labels]).unwrap();
        let mut nodes = vec![0.0; 2 * labels];
        (nodes[0], nodes[labels]) = (100.0, 100.0);
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let found = Funnel.decode_kbest(&lattice, 2000, &mut Scratch::new()).unwrap();
        let mut paths: Vec<_> = found.paths.iter().map(|path| path.labels.clone()).collect();
        paths.sort();
        paths.dedup();
        assert_eq!((found.paths.len(), paths.len()), (2000, 2000));
        assert!(found.paths.is_sorted_by(|a, b| a.score >= b.score));
    }

    /// The sums of a very long sequence are so large that rounding hides what labels differ by: no label can be left out, and
    /// none is kept in vain.
    #[test]
    fn large_sums_in_single_precision_are_left_to_others() {
        let (positions, labels) = (6000, 12);
        let mut random = Random::new(3);
        let mut normal = |count: usize, strength: f64| -> Vec<f32> {
            (0..count).map(|_| (strength * random.normal()) as f32).collect()
        };
        let edges = Edges::dense(labels, normal(labels * labels, 1.0)).unwrap();
        let nodes: Vec<f32> = normal(positions * labels, 9.0).into_iter().map(|score| 30.0 + score).collect();
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let (expected, mut scratch) = (scores(Viterbi, &lattice, &mut Scratch::new()), Scratch::new());
        assert_eq!(scores(Funnel, &lattice, &mut scratch), expected);
        assert_eq!(scratch.funnel.many.kept.graph.ways.capacity(), 0);
    }
}
