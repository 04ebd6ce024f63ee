//! What the funnel remembers about each position: the opened labels, in runs.

use super::sorting::sort_few;
use crate::lattice::EdgeScores;
use crate::simd::Float;

/// No segment, no entry.
pub(super) const NONE: u32 = u32::MAX;

/// An entry that has yet to be found.
pub(super) const LATER: u32 = u32::MAX - 1;

/// A label whose forward score is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<S> {
    pub(super) label: u32,
    /// Index of the entry before this one on the best path to it; [`LATER`] if only the score of that path has been needed.
    pub(super) back: u32,
    /// Forward score: the judge's score of that path.
    pub(super) alpha: S,
    /// `alpha` plus the largest edge out of the label (plus the end score at the last position): no path over this
    /// label reaches more at the next position, before the node score there.
    pub(super) reach: S,
}

/// Entries that were opened together. A layer is a chain of runs: one is added each time the layer is opened further.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a, S> {
    /// Index of the first.
    pub(super) first: u32,
    pub(super) entries: &'a [Entry<S>],
    /// The largest reach among them.
    pub(super) largest_reach: S,
    /// Whether their reach falls from one to the next.
    pub(super) descending: bool,
}

/// Where a run is.
#[derive(Debug, Clone, Copy)]
struct Segment<S> {
    first: u32,
    past: u32,
    next: u32,
    descending: bool,
    largest_reach: S,
}

/// How far a layer has been opened toward one label of the next position.
#[derive(Debug, Clone, Copy)]
struct Toward<S> {
    label: u32,
    floor: S,
    next: u32,
}

/// One position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer<S> {
    head: u32,
    tail: u32,
    toward: u32, // chain of `Toward`
    /// Number of opened labels.
    pub(super) opened: u32,
    /// Every label that is not opened has a reach strictly below this.
    pub(super) floor: S,
    /// No label that is not opened has a larger forward score than this.
    pub(super) rest: S,
    /// The largest forward score of the opened labels; no label that has a way out has a larger one.
    pub(super) best_alpha: S,
    /// The second largest.
    second_alpha: S,
}

impl<S: Float> Layer<S> {
    /// The largest forward score of the opened labels, leaving out one label with score `alpha`.
    #[inline(always)]
    pub(super) fn best_but(&self, alpha: S) -> S {
        if alpha < self.best_alpha { self.best_alpha } else { self.second_alpha }
    }
}

/// All positions. Entries never move, so an index stays valid while earlier layers are opened further.
#[derive(Debug, Default)]
pub(crate) struct Layers<S> {
    entries: Vec<Entry<S>>,
    segments: Vec<Segment<S>>,
    towards: Vec<Toward<S>>,
    layers: Vec<Layer<S>>,
}

impl<S: Float> Layers<S> {
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.segments.clear();
        self.towards.clear();
        self.layers.clear();
    }

    /// Begins the next position: nothing is opened yet, so nothing is known about any label.
    pub(super) fn push_layer(&mut self) {
        let unknown = S::from_f64(f64::INFINITY);
        self.layers.push(Layer {
            head: NONE,
            tail: NONE,
            toward: NONE,
            opened: 0,
            floor: unknown,
            rest: unknown,
            best_alpha: S::FORBIDDEN,
            second_alpha: S::FORBIDDEN,
        });
    }

    #[inline(always)]
    pub(super) fn layer(&self, t: usize) -> &Layer<S> {
        &self.layers[t]
    }

    /// Labels that are not opened at the position before `t` lead to values below this at `t`.
    #[inline(always)]
    pub(super) fn floor_before(&self, t: usize) -> S {
        t.checked_sub(1).map_or(S::FORBIDDEN, |before| self.layers[before].floor)
    }

    /// Adds labels to a layer: all those with a reach of at least `floor` that it did not have. No label left out has a
    /// larger score than `rest`.
    pub(super) fn lower(&mut self, t: usize, fresh: &mut [Entry<S>], sorts: bool, floor: S, rest: S) {
        let layer = &mut self.layers[t];
        (layer.floor, layer.rest) = (floor, rest);
        if sorts {
            sort_few(fresh, |entry| -entry.reach);
        }
        self.add(t, fresh, sorts);
    }

    /// Adds labels to a layer: all those that lead to a value of at least `floor` at label `after` that it did not
    /// have. No label left out has a larger score than `rest`.
    pub(super) fn open_toward(&mut self, t: usize, fresh: &[Entry<S>], after: u32, floor: S, rest: S) {
        let layer = &mut self.layers[t];
        if rest < layer.rest {
            layer.rest = rest;
        }
        let next = std::mem::replace(&mut layer.toward, self.towards.len() as u32);
        self.towards.push(Toward { label: after, floor, next });
        self.add(t, fresh, false); // sorting does not pay: only a few labels after them read these
    }

    /// Every label that is not opened leads to a value strictly below this at label `after`, if the layer has been
    /// opened toward that label; otherwise plus infinity.
    pub(super) fn toward(&self, t: usize, after: u32) -> S {
        let mut at = self.layers[t].toward;
        while at != NONE {
            let toward = &self.towards[at as usize];
            if toward.label == after {
                return toward.floor; // the latest, which goes at least as far as earlier ones
            }
            at = toward.next;
        }
        S::from_f64(f64::INFINITY)
    }

    /// Adds some labels to a layer that it did not have.
    fn add(&mut self, t: usize, fresh: &[Entry<S>], descending: bool) {
        let layer = &mut self.layers[t];
        layer.opened += fresh.len() as u32;
        if fresh.is_empty() {
            return;
        }
        let first = self.entries.len() as u32;
        self.entries.extend_from_slice(fresh);
        let mut largest_reach = S::FORBIDDEN;
        for entry in fresh {
            layer.second_alpha = layer.second_alpha.larger(if entry.alpha < layer.best_alpha {
                entry.alpha
            } else {
                layer.best_alpha
            });
            layer.best_alpha = layer.best_alpha.larger(entry.alpha);
            largest_reach = largest_reach.larger(entry.reach);
        }
        let segment = self.segments.len() as u32;
        self.segments.push(Segment {
            first,
            past: first + fresh.len() as u32,
            next: NONE,
            descending,
            largest_reach,
        });
        match layer.tail {
            NONE => layer.head = segment,
            tail => self.segments[tail as usize].next = segment,
        }
        layer.tail = segment;
    }

    /// The opened labels of a position, in runs.
    #[inline(always)]
    pub(super) fn runs(&self, t: usize) -> impl Iterator<Item = Run<'_, S>> {
        Runs { layers: self, next: self.layers[t].head }
    }

    /// The opened labels of a position, with their indices.
    #[inline(always)]
    pub(super) fn opened(&self, t: usize) -> impl Iterator<Item = (u32, &Entry<S>)> {
        self.runs(t).flat_map(|run| (run.first..).zip(run.entries))
    }

    /// The best way into label `y` of a position after the first, over opened labels, as its value and its entry:
    ///
    /// ```text
    /// value = max over the labels p opened before of  alpha[p] + edge(p, y)
    /// ```
    ///
    /// Among equals the lowest label, whatever the order in which they are walked.
    #[inline(always)]
    pub(super) fn best_way_in(
        &self,
        edges: &impl EdgeScores<S>,
        t: usize,
        y: usize,
        looked: &mut usize,
    ) -> (S, u32) {
        let (mut value, mut back, mut from) = (S::FORBIDDEN, NONE, u32::MAX);
        for run in self.runs(t - 1) {
            for (index, entry) in (run.first..).zip(run.entries) {
                // Upper bound: neither this label nor any of less reach leads to as much as one already found.
                if entry.reach < value {
                    if run.descending {
                        break;
                    }
                    continue;
                }
                *looked += 1;
                let score = entry.alpha + edges.get(t, entry.label as usize, y);
                if score > value || (score == value && entry.label < from) {
                    (value, back, from) = (score, index, entry.label);
                }
            }
        }
        (value, back)
    }

    /// Writes the position to each label that is open there.
    pub(super) fn mark(&self, t: usize, open_at: &mut [u32]) {
        self.opened(t).for_each(|(_, entry)| open_at[entry.label as usize] = t as u32);
    }

    /// Takes back what was written for any position.
    pub(super) fn unmark(&self, open_at: &mut [u32]) {
        self.entries.iter().for_each(|entry| open_at[entry.label as usize] = NONE);
    }

    #[inline(always)]
    pub(super) fn entry(&self, index: u32) -> &Entry<S> {
        &self.entries[index as usize]
    }

    /// Number of positions begun.
    pub(super) fn positions(&self) -> usize {
        self.layers.len()
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries of the best path: the last label with the largest reach, the lowest among equals, and the way back; `find_back`
    /// finds the way from a label of a position, where the search did not.
    ///
    /// # Panics
    /// If the search has not opened a last label.
    pub(super) fn best_entries(&self, entries: &mut Vec<u32>, mut find_back: impl FnMut(usize, u32) -> u32) {
        let mut last: Option<(u32, &Entry<S>)> = None;
        for (index, entry) in self.opened(self.layers.len() - 1) {
            let better = last.is_none_or(|(_, last)| {
                entry.reach > last.reach || (entry.reach == last.reach && entry.label < last.label)
            });
            if better {
                last = Some((index, entry));
            }
        }
        let mut at = last.expect("a finished search opened a last label").0;
        entries.clear();
        entries.resize(self.layers.len(), 0);
        for (t, place) in entries.iter_mut().enumerate().rev() {
            *place = at;
            let entry = &self.entries[at as usize];
            at = if entry.back == LATER { find_back(t, entry.label) } else { entry.back };
        }
    }
}

/// Iterator over the runs of one position.
struct Runs<'a, S> {
    layers: &'a Layers<S>,
    next: u32,
}

impl<'a, S: Float> Iterator for Runs<'a, S> {
    type Item = Run<'a, S>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == NONE {
            return None;
        }
        let Segment { first, past, next, descending, largest_reach } =
            self.layers.segments[self.next as usize];
        self.next = next;
        Some(Run {
            first,
            entries: &self.layers.entries[first as usize..past as usize],
            largest_reach,
            descending,
        })
    }
}
