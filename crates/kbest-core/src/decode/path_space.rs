//! Paths one after another, best first, from a lattice whose forward scores are known.
//!
//! **What.** A lazy enumerator over a *survivor lattice*: at each position some labels (all of them, or those that
//! pruning left) with their forward scores. The first path costs one walk back, each further one little more.
//!
//! **How.** Every node keeps its own list of best paths, extended only on demand (the recursive enumeration of Jimenez
//! & Marzal 1999, here with a work list). The `(r+1)`-th best path into `y` extends
//!
//! ```text
//! the best not yet used of   score(i-th best path into p) + edge[p][y]     over predecessors p and ranks i
//! ```
//!
//! and when the option `(p, i)` is used up, `(p, i + 1)` takes its place, which may ask `p` for one more path, and so
//! on back towards the start. Predecessors are ranked lazily, the 2 best first, then twice as many; only those are read
//! that could be among them, given their forward score and the best edge into `y`.
//!
//! **Why exact.** All sums are the judge's own, from the start of the path to its end, and rounding is monotone: a
//! better prefix stays at least as good whatever is added to it. Scores therefore come out non-increasing with no
//! allowance for rounding, and equal scores cost nothing extra. Pairs `(p, i)` are distinct, hence so are the paths.
//! The first path into `y` is the one through the best `(score + edge)`, lowest label first: plain Viterbi's.
//!
//! **Cost.** At most `T (log k + P)` time and `T` new partial paths for each path, where `P` is the number of
//! predecessors of a node visited for the first time. Nodes that are not on or next to an emitted path cost nothing.
//! **When not.** For a single path: a decoder that kept back pointers already has it. **Paper.** Takes the place of the
//! backward search in Algorithm 3 of Huang et al. (2012), which instead pushes all `T L` one-edge variations of each
//! path found.

use super::{Decoded, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;

/// Predecessors ranked when a node is first asked for its second path.
const FIRST_RANKED: usize = 2;
/// No such partial path, option or node.
const NONE: u32 = u32::MAX;
/// Not searched for yet.
const UNKNOWN: u32 = u32::MAX - 1;
/// Stops, partial paths and options are numbered below this.
const MOST: usize = UNKNOWN as usize;
/// The most that one more path adds to each of these, per position and for the end.
const ADDED: usize = 4;

/// The nodes that paths may use, each with the best score of a path to it through such nodes, added in the judge's
/// order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Survivors<'a, S> {
    /// Forward scores, laid out as in `columns`.
    pub alpha: &'a [S],
    /// Which labels they belong to.
    pub columns: Columns<'a>,
}

/// The memory layout of the columns of a survivor lattice.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Columns<'a> {
    /// Every label at every position: column `t` begins at `t * stride`.
    All { labels: usize, stride: usize },
    /// Ascending labels; column `t` is `offsets[t]..offsets[t + 1]`.
    Listed { offsets: &'a [usize], labels: &'a [LabelId] },
}

impl<S: Float> Survivors<'_, S> {
    /// Where column `t` begins, and its length.
    fn column(&self, t: usize) -> (usize, usize) {
        match self.columns {
            Columns::All { labels, stride } => (t * stride, labels),
            Columns::Listed { offsets, .. } => (offsets[t], offsets[t + 1] - offsets[t]),
        }
    }

    /// The label of the `i`-th node of the column that begins at `first`.
    fn label(&self, first: usize, i: usize) -> usize {
        match self.columns {
            Columns::All { .. } => i,
            Columns::Listed { labels, .. } => labels[first + i] as usize,
        }
    }
}

/// The enumerator's memory, reused from lattice to lattice.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    stop_of: Vec<u32>, // by survivor: its stop, if it is on or next to a path found so far
    stops: Vec<Stop>,
    partials: Vec<Partial<S>>,
    options: Vec<Choice<S>>,
    ranked: Vec<(S, u32)>, // the stops' ranked predecessors: score with edge, place in the column
    ranking: Vec<(S, u32)>,
    work: Vec<u32>,
}

impl<S> Memory<S> {
    /// The length of the longest of the numbered lists.
    fn largest(&self) -> usize {
        self.stops.len().max(self.partials.len()).max(self.options.len())
    }
}

/// A node that lies on some path found so far or next to one.
#[derive(Debug, Clone, Copy)]
struct Stop {
    t: u32,         // T stands for the end, after the last position
    label: LabelId, // 0 for the end
    first: u32,     // its best partial path
    last: u32,      // the worst one found so far, made from the top option
    top: u32,       // heap of options; NONE until a second path is requested, or if none is left
    ranked: usize,  // where its ranked predecessors begin
    length: u32,    // how many are ranked
    offered: u32,   // how many of them have been put into the heap
    ranked_all: bool,
}

/// A path from the start to some node.
#[derive(Debug, Clone, Copy)]
struct Partial<S> {
    score: S,
    stop: u32,
    from: u32, // the partial path it extends; UNKNOWN until requested, NONE at position 0
    next: u32, // the next best one to the same node; UNKNOWN until requested, NONE if there is none
}

/// One way to reach a node: a partial path to a predecessor. A member of its stop's pairing heap.
#[derive(Debug, Clone, Copy)]
struct Choice<S> {
    score: S,     // of the partial path and the edge
    place: u32,   // the predecessor's place in its column; ascends with the label
    partial: u32, // UNKNOWN while it is the predecessor's best path and has not been needed
    child: u32,
    sibling: u32,
}

/// There may be more paths, but too many partial paths to number are needed to find them: about 64 GB are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// How far an enumeration has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(u32);

/// The enumerator.
pub(crate) struct PathSpace<'s, 'l, S: Float, E> {
    lattice: &'s Lattice<'l, S>,
    edges: &'s E,
    survivors: Survivors<'s, S>,
    memory: &'s mut Memory<S>,
    current: u32, // the partial path last returned, UNKNOWN before the first
    most: usize,  // MOST, except in tests
}

impl<'s, 'l, S: Float, E: EdgeScores<S>> PathSpace<'s, 'l, S, E> {
    /// An enumeration of all paths through the survivors, at its start. The lattice has at least one position.
    pub(crate) fn new(
        lattice: &'s Lattice<'l, S>,
        edges: &'s E,
        survivors: Survivors<'s, S>,
        memory: &'s mut Memory<S>,
    ) -> Self {
        memory.stop_of.clear();
        memory.stop_of.resize(survivors.alpha.len(), NONE);
        memory.stops.clear();
        memory.partials.clear();
        memory.options.clear();
        memory.ranked.clear();
        memory.work.clear();
        PathSpace { lattice, edges, survivors, memory, current: UNKNOWN, most: MOST }
    }

    /// Continues an earlier enumeration: same lattice, survivors and memory, with its [`PathSpace::place`].
    pub(crate) fn resume(
        lattice: &'s Lattice<'l, S>,
        edges: &'s E,
        survivors: Survivors<'s, S>,
        memory: &'s mut Memory<S>,
        place: Place,
    ) -> Self {
        PathSpace { lattice, edges, survivors, memory, current: place.0, most: MOST }
    }

    /// How far the enumeration has come.
    pub(crate) fn place(&self) -> Place {
        Place(self.current)
    }

    /// Pushes the `k` best remaining paths, or fewer if there are not that many.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if that takes too many partial paths.
    pub(crate) fn push_best(&mut self, k: usize, tally: &mut impl Tally, out: &mut Decoded<S>) -> Result<()> {
        for _ in 0..k {
            let Some(score) = self.next_path(tally).map_err(|Full| {
                let reason = format!("the {k} best paths need more than {} partial paths", self.most);
                Error::Unsupported { decoder: out.decoder, reason }
            })?
            else {
                break;
            };
            self.write_labels(out.push_path(self.lattice.positions(), score), tally);
        }
        Ok(())
    }

    /// Finds the next path and returns its score; `None` when no legal path is left.
    pub(crate) fn next_path(&mut self, tally: &mut impl Tally) -> Result<Option<S>, Full> {
        // Checked once per path, so that no check is needed below: numbers then fit into 32 bits.
        let added = (self.lattice.positions() + 1).saturating_mul(ADDED);
        if self.memory.largest() > self.most.saturating_sub(added) {
            return Err(Full);
        }
        self.current = match self.current {
            UNKNOWN => self.first_to_the_end(tally),
            NONE => NONE,
            last => {
                let end = self.memory.partials[last as usize].stop;
                self.find_next(end, tally);
                self.memory.partials[last as usize].next
            }
        };
        Ok((self.current != NONE).then(|| self.memory.partials[self.current as usize].score))
    }

    /// Writes the labels of the path last found.
    pub(crate) fn write_labels(&mut self, path: &mut [LabelId], tally: &mut impl Tally) {
        let mut partial = self.predecessor(self.current, tally);
        for t in (0..path.len()).rev() {
            let stop = self.memory.partials[partial as usize].stop;
            path[t] = self.memory.stops[stop as usize].label;
            partial = self.predecessor(partial, tally);
        }
    }

    /// The best path to the end, after the last position; NONE if all are forbidden.
    fn first_to_the_end(&mut self, tally: &mut impl Tally) -> u32 {
        let end = self.add_stop(self.lattice.positions(), 0, S::FORBIDDEN);
        let Some((score, place)) = self.best_predecessor(end, tally) else { return NONE };
        let first = self.memory.stops[end as usize].first;
        let from = self.best_partial(self.lattice.positions() - 1, place);
        let partial = &mut self.memory.partials[first as usize];
        (partial.score, partial.from) = (score, from);
        first
    }

    /// Adds a stop with its best partial path, whose score is known but whose labels are not.
    fn add_stop(&mut self, t: usize, label: usize, score: S) -> u32 {
        let (stop, first) = (self.memory.stops.len() as u32, self.memory.partials.len() as u32);
        let from = if t == 0 { NONE } else { UNKNOWN };
        self.memory.partials.push(Partial { score, stop, from, next: UNKNOWN });
        self.memory.stops.push(Stop {
            t: t as u32,
            label: label as LabelId,
            first,
            last: first,
            top: NONE,
            ranked: 0,
            length: 0,
            offered: 0,
            ranked_all: false,
        });
        stop
    }

    /// The best partial path to a survivor.
    fn best_partial(&mut self, t: usize, place: u32) -> u32 {
        let (first, _) = self.survivors.column(t);
        let survivor = first + place as usize;
        if self.memory.stop_of[survivor] == NONE {
            let label = self.survivors.label(first, place as usize);
            self.memory.stop_of[survivor] = self.add_stop(t, label, self.survivors.alpha[survivor]);
        }
        self.memory.stops[self.memory.stop_of[survivor] as usize].first
    }

    /// The partial path that `partial` extends; a node's best one is traced only on demand.
    fn predecessor(&mut self, partial: u32, tally: &mut impl Tally) -> u32 {
        let Partial { stop, from, .. } = self.memory.partials[partial as usize];
        if from != UNKNOWN {
            return from;
        }
        let before = self.memory.stops[stop as usize].t as usize - 1;
        let (_, place) = self.best_predecessor(stop, tally).expect("the path behind alpha is legal");
        let from = self.best_partial(before, place);
        self.memory.partials[partial as usize].from = from;
        from
    }

    /// Score of a partial path extended from label `p` into the stop, without the stop's node score.
    fn with_edge(&self, stop: &Stop, score: S, p: usize) -> S {
        let t = stop.t as usize;
        if t == self.lattice.positions() {
            self.lattice.with_end_score(score, p)
        } else {
            score + self.edges.get(t, p, stop.label as usize)
        }
    }

    /// Upper bound on the edges (or end scores) that lead into a stop.
    fn edge_bound(&self, stop: &Stop) -> S {
        let t = stop.t as usize;
        if t < self.lattice.positions() {
            self.edges.bounds(t).column.at(stop.label as usize)
        } else {
            self.lattice.end().map_or(S::ZERO, S::largest)
        }
    }

    /// Finds the `want` best legal predecessors of a stop, or all if there are fewer: best first, then lowest label.
    fn rank_predecessors(&mut self, stop: u32, want: usize, tally: &mut impl Tally) {
        let into = self.memory.stops[stop as usize];
        let (first, count) = self.survivors.column(into.t as usize - 1);
        let alphas = &self.survivors.alpha[first..first + count];
        let bound = self.edge_bound(&into);
        let mut ranking = std::mem::take(&mut self.memory.ranking);
        ranking.clear();
        let (mut threshold, mut place, mut read) = (S::FORBIDDEN, 0, 0);
        // Skips predecessors that cannot be among those wanted: an upper bound, because no edge into this label is
        // better.
        while let Some(skipped) = S::first_at_least(&alphas[place..], bound, threshold) {
            place += skipped;
            let score = self.with_edge(&into, alphas[place], self.survivors.label(first, place));
            read += 1;
            if score > threshold {
                // After its equals, which have lower labels.
                let rank = ranking.partition_point(|&(better, _)| better >= score);
                ranking.truncate(want - 1);
                ranking.insert(rank, (score, place as u32));
                if ranking.len() == want {
                    threshold = ranking[want - 1].0;
                }
            }
            place += 1;
        }
        tally.edges(read);
        self.memory.ranking = ranking;
    }

    /// The best predecessor, the lowest label among equals: plain Viterbi's back pointer.
    fn best_predecessor(&mut self, stop: u32, tally: &mut impl Tally) -> Option<(S, u32)> {
        self.rank_predecessors(stop, 1, tally);
        self.memory.ranking.first().copied()
    }

    /// Finds the path after a stop's last one, first finding those of predecessors where needed.
    fn find_next(&mut self, stop: u32, tally: &mut impl Tally) {
        self.memory.work.push(stop);
        while let Some(stop) = self.memory.work.pop() {
            let last = self.memory.stops[stop as usize].last;
            if self.memory.stops[stop as usize].t == 0 {
                self.memory.partials[last as usize].next = NONE;
                continue;
            }
            if self.memory.stops[stop as usize].length == 0 {
                self.offer_next_predecessor(stop, tally);
                let used = self.predecessor(last, tally); // the last path is the best one: it used the top option
                let top = self.memory.stops[stop as usize].top;
                self.memory.options[top as usize].partial = used;
            }
            // The last path was made from the top option. The next path in the predecessor's list takes its place.
            let top = self.memory.stops[stop as usize].top;
            let used = self.memory.options[top as usize].partial;
            let Partial { next, stop: before, .. } = self.memory.partials[used as usize];
            if next == UNKNOWN {
                self.memory.work.push(stop); // resumes when the predecessor's path is found
                self.memory.work.push(before);
                continue;
            }
            self.replace_top_option(stop, next, tally);
            if self.memory.stops[before as usize].first == used {
                self.offer_next_predecessor(stop, tally);
            }
            self.memory.partials[last as usize].next = self.add_partial(stop);
        }
    }

    /// Puts the next ranked predecessor of a stop, with its best path, into the heap of options.
    fn offer_next_predecessor(&mut self, stop: u32, tally: &mut impl Tally) {
        let Stop { length, offered, ranked_all, .. } = self.memory.stops[stop as usize];
        if offered == length {
            if ranked_all {
                return;
            }
            let want = (2 * length as usize).max(FIRST_RANKED);
            self.rank_predecessors(stop, want, tally);
            let Memory { stops, ranked, ranking, .. } = &mut *self.memory;
            let stop = &mut stops[stop as usize];
            (stop.ranked, stop.length, stop.ranked_all) =
                (ranked.len(), ranking.len() as u32, ranking.len() < want);
            ranked.extend_from_slice(ranking);
        }
        let stop = &mut self.memory.stops[stop as usize];
        if stop.offered == stop.length {
            return;
        }
        let (score, place) = self.memory.ranked[stop.ranked + stop.offered as usize];
        stop.offered += 1;
        let option = self.memory.options.len() as u32;
        self.memory.options.push(Choice { score, place, partial: UNKNOWN, child: NONE, sibling: NONE });
        stop.top = heap::meld(&mut self.memory.options, stop.top, option);
    }

    /// Removes the top option from a stop's heap and inserts the same predecessor's `next` path, if there is one.
    fn replace_top_option(&mut self, stop: u32, next: u32, tally: &mut impl Tally) {
        let Stop { t, top, .. } = self.memory.stops[stop as usize];
        let mut rest = heap::without_top(&mut self.memory.options, top);
        if next != NONE {
            let place = self.memory.options[top as usize].place;
            let (first, _) = self.survivors.column(t as usize - 1);
            let p = self.survivors.label(first, place as usize);
            let prefix = self.memory.partials[next as usize].score;
            let score = self.with_edge(&self.memory.stops[stop as usize], prefix, p);
            tally.edges(1);
            if !score.is_forbidden() {
                let option = Choice { score, place, partial: next, child: NONE, sibling: NONE };
                self.memory.options[top as usize] = option;
                rest = heap::meld(&mut self.memory.options, rest, top);
            }
        }
        self.memory.stops[stop as usize].top = rest;
    }

    /// Turns the top option of a stop into its next partial path; NONE if no legal one is left.
    fn add_partial(&mut self, stop: u32) -> u32 {
        let Stop { t, label, top, .. } = self.memory.stops[stop as usize];
        if top == NONE {
            return NONE;
        }
        let Choice { score, place, partial, .. } = self.memory.options[top as usize];
        let at_end = t as usize == self.lattice.positions();
        let score = if at_end { score } else { score + self.lattice.node_row(t as usize)[label as usize] };
        if score.is_forbidden() {
            return NONE; // the sum overflowed, as the judge's does; no later one is better
        }
        let from = if partial == UNKNOWN { self.best_partial(t as usize - 1, place) } else { partial };
        self.memory.options[top as usize].partial = from;
        let added = self.memory.partials.len() as u32;
        self.memory.partials.push(Partial { score, stop, from, next: UNKNOWN });
        self.memory.stops[stop as usize].last = added;
        added
    }
}

/// Pairing heaps whose members lie in one array: best score on top, then the lowest place.
mod heap {
    use super::{Choice, NONE};
    use crate::simd::Float;

    /// Joins two heaps.
    pub(super) fn meld<S: Float>(options: &mut [Choice<S>], a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return if a == NONE { b } else { a };
        }
        let (left, right) = (&options[a as usize], &options[b as usize]);
        let a_first = left.score > right.score || (left.score == right.score && left.place < right.place);
        let (winner, loser) = if a_first { (a, b) } else { (b, a) };
        options[loser as usize].sibling = options[winner as usize].child;
        options[winner as usize].child = loser;
        winner
    }

    /// The heap without its top: its children joined in pairs, then the pairs from the last to the first.
    pub(super) fn without_top<S: Float>(options: &mut [Choice<S>], top: u32) -> u32 {
        let mut child = options[top as usize].child;
        let mut pairs = NONE; // linked through `sibling`, last pair first
        while child != NONE {
            let other = options[child as usize].sibling;
            let rest = if other == NONE { NONE } else { options[other as usize].sibling };
            let pair = meld(options, child, other);
            options[pair as usize].sibling = pairs;
            (pairs, child) = (pair, rest);
        }
        let mut joined = NONE;
        while pairs != NONE {
            let rest = options[pairs as usize].sibling;
            joined = meld(options, joined, pairs);
            pairs = rest;
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Decode, Scratch, Viterbi, counters::Uncounted};
    use crate::lattice::{Edges, with_edges};

    /// Paths through some of the labels are the paths of the lattice in which the others are forbidden.
    #[test]
    fn listed_survivors_are_a_lattice_of_their_own() {
        let (positions, labels) = (7usize, 40usize);
        let mut state = 1u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for round in 0..20 {
            let edges: Vec<f64> = (0..labels * labels).map(|_| below(5) as f64).collect();
            let edges = Edges::dense(labels, edges).unwrap();
            let nodes: Vec<f64> = (0..positions * labels).map(|_| below(9) as f64).collect();
            let mask: Vec<bool> = (0..positions * labels).map(|i| i % labels == 3 || below(3) == 0).collect();
            let lattice = Lattice::new(nodes, &edges).unwrap();
            let masked = lattice.clone().allow_mask(&mask).unwrap();

            let (mut offsets, mut listed, mut alpha) = (vec![0], vec![], Vec::<f64>::new());
            for t in 0..positions {
                for y in (0..labels).filter(|y| mask[t * labels + y]) {
                    let best = offsets.iter().nth_back(1).map_or(0.0, |&first: &usize| {
                        let before = first..offsets[t];
                        let scores = before.map(|i| {
                            let p: u32 = listed[i];
                            alpha[i] + edges.as_dense().unwrap().get(t, p as usize, y)
                        });
                        scores.fold(f64::NEG_INFINITY, f64::max)
                    });
                    listed.push(y as u32);
                    alpha.push(best + lattice.node_row(t)[y]);
                }
                offsets.push(listed.len());
            }

            let k = 300;
            let expected = Viterbi.decode_kbest(&masked, k, &mut Scratch::new()).unwrap();
            let columns = Columns::Listed { offsets: &offsets, labels: &listed };
            let survivors = Survivors { alpha: &alpha, columns };
            let mut memory = Memory::default();
            with_edges!(lattice, |edges| {
                let mut space = PathSpace::new(&lattice, edges, survivors, &mut memory);
                for path in &expected.paths {
                    let before = space.memory.largest();
                    assert_eq!(space.next_path(&mut Uncounted), Ok(Some(path.score)), "round {round}");
                    let mut found = vec![0; positions];
                    space.write_labels(&mut found, &mut Uncounted);
                    assert!(
                        space.memory.largest() - before <= ADDED * (positions + 1),
                        "numbers may run out"
                    );
                    assert_eq!(masked.path_score(&found).unwrap(), path.score);
                }
            });
        }
    }

    /// Like running out of numbers after billions of partial paths, but with a smaller limit.
    #[test]
    fn numbers_that_run_out_are_an_error() {
        let edges = Edges::dense(2, vec![0.0f32; 4]).unwrap();
        let lattice = Lattice::new(vec![0.0; 4], &edges).unwrap();
        let survivors = Survivors { alpha: &[0.0; 4], columns: Columns::All { labels: 2, stride: 2 } };
        let mut memory = Memory::default();
        with_edges!(lattice, |edges| {
            let mut space = PathSpace::new(&lattice, edges, survivors, &mut memory);
            assert_eq!(space.next_path(&mut Uncounted), Ok(Some(0.0)));
            space.most = ADDED * 3;
            assert_eq!(space.next_path(&mut Uncounted), Err(Full));
            let mut out = Decoded { decoder: "beam", ..Decoded::default() };
            let refused = space.push_best(2, &mut Uncounted, &mut out).unwrap_err();
            assert!(matches!(refused, Error::Unsupported { decoder: "beam", .. }), "{refused}");
        });
    }
}
