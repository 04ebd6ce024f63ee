//! k-best Viterbi A*: exact forward scores once, then an agenda of paths that differ from a known one by one edge.
//!
//! **What.** The forward pass computes for every node the best score of a path to it. The agenda holds *branches*: a
//! path found before, left at one position for another label, with the best way there from the start. It begins with
//! the `L` nodes of the last position. The best branch is taken off; it is the next best path, and for every position
//! before the one it branches at, each other label becomes a branch of its own:
//!
//! ```text
//! priority(i, j) = alpha[i][j] + edge[i+1][j][y] + score of the rest of the path from y at i + 1
//! ```
//!
//! **Exact to the last bit, with no slack.** That sum is not in the judge's order. So all branches of a path are followed
//! along it together, from the first position on, adding as the judge adds. Rounding is monotone: a branch that is behind
//! at some position is never ahead later. Once a branch has as many others ahead of it as paths are still wanted, it can
//! be forgotten, and the others reach the end with the judge's own score. A branch never scores more than the path it
//! leaves, so branches come off the agenda in order. Every path is left once at each position before its own branch,
//! hence paths are distinct; the first is plain Viterbi's by the lowest label.
//!
//! **Cost.** `T L^2` for the forward pass, then for each path `T L` branches looked at and at most `k` of them put on the
//! agenda, which keeps at most about twice as many as paths are still wanted; `T (L + k)` time, memory `T (L + k)`.
//! **When not.** Large `k`: [`super::RecursiveEnumeration`] finds the same paths and looks only at what is asked for.
//!
//! ```
//! use kbest_core::{Decode, Edges, Lattice, Scratch, decode::ViterbiAstar};
//! let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0])?;
//! let lattice = Lattice::new(vec![1.0, 0.0, 0.0, 0.5], &edges)?;
//! let answer = ViterbiAstar.decode_kbest(&lattice, 2, &mut Scratch::new())?;
//! assert_eq!((answer.paths[0].score, answer.paths[1].score), (2.5, 1.0));
//! # Ok::<(), kbest_core::Error>(())
//! ```
//!
//! **Paper.** Huang et al. (2012), section 3.5, Algorithm 3 and Figure 3.

use super::by_score::ByScore;
use super::forward::Forward;
use super::gather::GatherEdges;
use super::{Algorithm, Job, Tally, viterbi_simd};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::{AlignedVec, Float, padded};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The k-best decoder with a forward pass and an agenda.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViterbiAstar;

/// Forward scores and the agenda.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    forward: Forward<S>,
    branches: Vec<Branch>,
    agenda: BinaryHeap<Waiting<S>>,
    followed: Vec<(S, Branch)>, // branches of one path, with the judge's partial sums
    column: AlignedVec<S>,
    path: Vec<LabelId>,
}

/// A branch on the agenda: among equal scores the one that came first, which at the last position is the lowest label.
type Waiting<S> = ByScore<S, Reverse<usize>>;

/// Where a path leaves another: at position `t` for `label`. The labels after it are those of path `parent`.
#[derive(Debug, Clone, Copy)]
struct Branch {
    parent: u32,
    t: u32,
    label: LabelId,
}

impl Algorithm for ViterbiAstar {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        let memory = &mut scratch.viterbi_astar;
        viterbi_simd::fill(lattice, &mut memory.forward, tally);
        memory.begin(lattice);
        while let Some(Waiting { score, item: Reverse(number) }) = memory.agenda.pop() {
            let branch = memory.branches[number];
            let parent = out.paths.get(branch.parent as usize).map_or(&[][..], |path| &path.labels);
            memory.spell(lattice.labels(), edges, branch, parent, tally);
            out.push_path(lattice.positions(), score).copy_from_slice(&memory.path);
            let (found, wanted) = (out.paths.len(), k - out.paths.len());
            if wanted == 0 {
                break;
            }
            memory.branch_off(lattice, edges, branch.t as usize, found - 1, wanted, tally);
            memory.trim(wanted);
        }
        if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
    }
}

impl<S: Float> Memory<S> {
    /// Lines 1 and 2: the nodes of the last position, each for the best path that ends there.
    fn begin(&mut self, lattice: &Lattice<'_, S>) {
        let last = lattice.positions() - 1;
        self.branches.clear();
        self.agenda.clear();
        self.column.reset(padded(lattice.labels()), S::FORBIDDEN);
        self.path.clear();
        self.path.resize(lattice.positions(), 0);
        for y in 0..lattice.labels() {
            let score = lattice.with_end_score(self.forward.row(last)[y], y);
            self.wait(score, Branch { parent: 0, t: last as u32, label: y as LabelId });
        }
    }

    /// Puts a branch on the agenda, unless it is forbidden.
    fn wait(&mut self, score: S, branch: Branch) {
        if !score.is_forbidden() {
            self.agenda.push(Waiting { score, item: Reverse(self.branches.len()) });
            self.branches.push(branch);
        }
    }

    /// Forgets branches that have as many others ahead of them as paths are still wanted: these come off the agenda first,
    /// whatever is put on it later. Not each time, so that it costs no more than putting them there.
    fn trim(&mut self, wanted: usize) {
        if self.branches.len() <= wanted.saturating_mul(2) {
            return;
        }
        let mut waiting = std::mem::take(&mut self.agenda).into_vec();
        if waiting.len() > wanted {
            waiting.select_nth_unstable_by(wanted - 1, |a, b| b.cmp(a));
            waiting.truncate(wanted);
        }
        // Numbered anew in the same order, which decides between equal scores.
        waiting.sort_unstable_by_key(|one| one.item.0);
        for (number, one) in waiting.iter_mut().enumerate() {
            self.branches[number] = self.branches[one.item.0];
            one.item = Reverse(number);
        }
        self.branches.truncate(waiting.len());
        self.agenda = waiting.into();
    }

    /// Writes the labels of a branch to `path`: the best way to it by plain Viterbi's tie rule, then those of its parent.
    fn spell(
        &mut self,
        labels: usize,
        edges: &impl EdgeScores<S>,
        branch: Branch,
        parent: &[LabelId],
        tally: &mut impl Tally,
    ) {
        let Memory { forward, path, column, .. } = self;
        let t = branch.t as usize;
        if let Some(others) = parent.get(t + 1..) {
            path[t + 1..].copy_from_slice(others);
        }
        path[t] = branch.label;
        for u in (1..=t).rev() {
            let (before, column) = (forward.row(u - 1), edges.column(u, path[u] as usize, column));
            let best = S::max_of_sum(before, column);
            let from = S::first_sum_at_least(before, column, best);
            path[u - 1] = from.expect("the largest sum is one of the sums") as LabelId;
            tally.edges(labels); // rows are padded, and padding is no edge
        }
    }

    /// Lines 8 to 17: leaves the path in `path` at every position before `t` for every other label, and puts the best of
    /// these branches, as many as are wanted, on the agenda.
    fn branch_off(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        t: usize,
        parent: usize,
        wanted: usize,
        tally: &mut impl Tally,
    ) {
        let Memory { forward, followed, column, path, .. } = self;
        let (last, labels) = (lattice.positions() - 1, lattice.labels());
        followed.clear();
        for u in 1..=last {
            let (p, y) = (path[u - 1] as usize, path[u] as usize);
            let node = lattice.node_row(u)[y];
            let edge = edges.get(u, p, y);
            followed.iter_mut().for_each(|(score, _)| *score = *score + edge + node);
            if u > t {
                continue;
            }
            let column = edges.column(u, y, column);
            tally.edges(labels);
            // No branch that is behind so many others here can be ahead of them later.
            let mut floor = S::FORBIDDEN;
            for (j, (&alpha, &edge)) in forward.row(u - 1)[..labels].iter().zip(column).enumerate() {
                let score = alpha + edge + node;
                if j != p && score > floor {
                    let (t, label) = (u as u32 - 1, j as LabelId);
                    followed.push((score, Branch { parent: parent as u32, t, label }));
                    if followed.len() >= wanted.saturating_mul(2) {
                        floor = keep_best(followed, wanted);
                    }
                }
            }
            if followed.len() > wanted {
                keep_best(followed, wanted);
            }
        }
        let mut followed = std::mem::take(&mut self.followed);
        for &(score, branch) in &followed {
            self.wait(lattice.with_end_score(score, self.path[last] as usize), branch);
        }
        followed.clear();
        self.followed = followed; // keeps its memory
    }
}

/// Keeps the best ones, among equals those that left first, and returns the score of the last of them.
fn keep_best<S: Float>(followed: &mut Vec<(S, Branch)>, wanted: usize) -> S {
    let order = |a: &(S, Branch), b: &(S, Branch)| {
        let by_score = b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal);
        by_score.then((a.1.t, a.1.label).cmp(&(b.1.t, b.1.label)))
    };
    followed.select_nth_unstable_by(wanted - 1, order);
    followed.truncate(wanted);
    followed[wanted - 1].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::counters::Uncounted;
    use crate::decode::{Decode, Decoded, Scratch};
    use crate::lattice::{Edges, with_edges};

    /// Figure 3: four positions of four labels. The path 0:A 1:D 2:B 3:C left its parent at 2:B, so popping it pushes
    /// 1:A, 1:B, 1:C and 0:B, 0:C, 0:D, and nothing at positions 2 and 3.
    #[test]
    fn popping_a_path_pushes_the_nodes_of_figure_3() {
        let labels = 4;
        let edges = Edges::dense(labels, vec![0.0f64; 16]).unwrap();
        // A, D, B, C stand out at positions 0 to 3.
        let mut nodes = vec![0.0; 16];
        for (t, y) in [0, 3, 1, 2].into_iter().enumerate() {
            nodes[t * labels + y] = 10.0;
        }
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let mut memory = Memory::default();
        viterbi_simd::fill(&lattice, &mut memory.forward, &mut Uncounted);
        memory.begin(&lattice);
        assert_eq!(memory.branches.len(), labels, "L best nodes are pushed at first");
        memory.branches.clear();
        memory.path = vec![0, 3, 1, 2];
        with_edges!(lattice, |edges| memory.branch_off(&lattice, edges, 2, 0, 100, &mut Uncounted));
        let mut pushed: Vec<(u32, u32)> = memory.branches.iter().map(|b| (b.t, b.label)).collect();
        pushed.sort_unstable();
        assert_eq!(pushed, [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]);
    }

    /// All paths of a lattice, in order and distinct, with an agenda that never holds more than twice those still wanted
    /// (and the first nodes); ties included.
    #[test]
    fn the_agenda_stays_small() {
        let labels = 3;
        for (nodes, k) in
            [(vec![0.5f32; 21], 2187), (vec![0.5; 21], 700), (Vec::new(), 2187), (Vec::new(), 100)]
        {
            let scores = |n: usize, by: f32| (0..n).map(|i| (i as f32 * by).sin()).collect::<Vec<f32>>();
            let nodes = if nodes.is_empty() { scores(21, 1.3) } else { nodes };
            let edges = Edges::dense(labels, scores(9, 0.0)).unwrap();
            let lattice = Lattice::new(nodes, &edges).unwrap();
            let mut scratch = Scratch::new();
            let found = ViterbiAstar.decode_kbest(&lattice, k, &mut scratch).unwrap();
            let expected = crate::decode::Viterbi.decode_kbest(&lattice, k, &mut Scratch::new()).unwrap();
            let scores =
                |answer: &Decoded<f32>| answer.paths.iter().map(|path| path.score).collect::<Vec<_>>();
            assert_eq!(scores(&found), scores(&expected));
            let mut paths: Vec<_> = found.paths.iter().map(|path| &path.labels).collect();
            paths.sort_unstable();
            paths.dedup();
            assert_eq!(paths.len(), k);
            assert!(scratch.viterbi_astar.branches.capacity() <= 8 * k, "not k squared");
        }
    }

    /// Ten million equal paths: five of them cost no more than five others would.
    #[test]
    fn ties_do_no_harm() {
        let edges = Edges::dense(5, vec![0.0f32; 25]).unwrap();
        let lattice = Lattice::new(vec![0.1f32; 50], &edges).unwrap();
        let mut out = Decoded::default();
        ViterbiAstar.decode_into(&lattice, 5, &mut Scratch::new(), &mut out).unwrap();
        assert_eq!(out.paths.len(), 5);
        assert!(out.paths.iter().all(|path| path.score == out.paths[0].score));
        assert_eq!(out.paths[0].labels, [0; 10]);
        let mut labels: Vec<_> = out.paths.iter().map(|path| &path.labels).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), 5);
    }
}
