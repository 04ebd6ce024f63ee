//! The textbook k-best Viterbi: `k` back pointers per node. Short and slow; the reference for every k-best decoder.
//!
//! The `k` best paths into `y` are merged from the lists of all predecessors `p`, each already sorted:
//!
//! ```text
//! list[t][y] = the k best of { list[t-1][p][i] + edge[t][p][y] } over all p and i, each + node[t][y]
//! ```
//!
//! **Cost.** `k T L^2` time, `k T L` back pointers. **When not.** Whenever speed matters.
//! **Paper.** Huang et al. (2012), section 3.4.

use super::{Decoded, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;

/// Sorted lists of partial paths, one per node, stored end to end.
#[derive(Debug, Default)]
pub(super) struct Memory<S> {
    starts: Vec<usize>, // T x L + 1, and one more list for the end: where each node's list begins
    paths: Vec<Partial<S>>,
    heads: Vec<Head<S>>, // L: the next path of each predecessor
}

/// A path to some node: its score, and the list member it extends.
#[derive(Debug, Clone, Copy)]
struct Partial<S> {
    score: S,
    label: LabelId,
    from: usize, // index into `paths`
}

/// The best path of a predecessor's list that has not been merged yet.
#[derive(Debug, Clone, Copy)]
struct Head<S> {
    score: S, // including the edge; minus infinity if the list is used up
    path: usize,
}

pub(super) fn viterbi_kbest<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    k: usize,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    memory.starts.clear();
    memory.paths.clear();
    tally.round();
    tally.opened_all(0, labels);
    for y in 0..labels {
        memory.starts.push(y);
        memory.paths.push(Partial { score: lattice.first_score(y), label: y as LabelId, from: 0 });
    }
    for t in 1..positions {
        for y in 0..labels {
            let node = lattice.node_row(t)[y];
            memory.merge(
                (t - 1) * labels..t * labels,
                k,
                y,
                |score, p| score + edges.get(t, p, y),
                |s| s + node,
            );
        }
        tally.opened_all(t, labels);
        tally.edges(labels * labels);
    }
    let last = (positions - 1) * labels..positions * labels;
    memory.merge(last, k, 0, |score, y| lattice.with_end_score(score, y), |s| s);

    let best = memory.starts[positions * labels]..memory.paths.len();
    for end in &memory.paths[best] {
        let (path, mut at) = (out.push_path(positions, end.score), end.from);
        for t in (0..positions).rev() {
            path[t] = memory.paths[at].label;
            at = memory.paths[at].from;
        }
    }
    if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
}

impl<S: Float> Memory<S> {
    /// Appends the list of label `y`: the `k` best continuations of the lists `before`, forbidden ones left out.
    fn merge(
        &mut self,
        before: std::ops::Range<usize>,
        k: usize,
        y: usize,
        edge: impl Fn(S, usize) -> S,
        node: impl Fn(S) -> S,
    ) {
        let begin = self.paths.len();
        self.starts.push(begin);
        let (first, labels) = (before.start, before.len());
        let end_of = |starts: &[usize], p: usize| starts[first + p + 1];
        let head = |paths: &[Partial<S>], starts: &[usize], p: usize, path: usize| {
            let used_up = path == end_of(starts, p);
            Head { score: if used_up { S::FORBIDDEN } else { edge(paths[path].score, p) }, path }
        };
        self.heads.clear();
        for p in 0..labels {
            self.heads.push(head(&self.paths, &self.starts, p, self.starts[first + p]));
        }
        while self.paths.len() - begin < k {
            let (mut best, mut from) = (S::FORBIDDEN, 0);
            for p in 0..labels {
                if self.heads[p].score > best {
                    (best, from) = (self.heads[p].score, p); // strictly better: the lowest label wins a tie
                }
            }
            let score = node(best);
            if score.is_forbidden() {
                break; // nothing legal is left
            }
            let path = self.heads[from].path;
            self.paths.push(Partial { score, label: y as LabelId, from: path });
            self.heads[from] = head(&self.paths, &self.starts, from, path + 1);
        }
    }
}
