//! The score of every label pair that is not an exception: one number, or one for each pair of classes.
//!
//! **What.** Each label has a class as origin and a class as target; the pair of `p` and `y` has the score
//! `base[class of p][class of y]`. Tagging schemes need a handful of classes, weights between coarse tags one for each
//! coarse tag; one class is the usual case of sparse edges, and has no tables at all. **Cost.** Two numbers per label
//! and one score per pair of classes. Rows and columns of classes are written out for all labels when first needed,
//! unless they are too many ([`LINES_KEPT`]); the largest score of each is always at hand.

use super::{checked_magnitude, magnitude_of_legal};
use crate::error::{Error, Result};
use crate::simd::{AlignedVec, Float, padded};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Up to this many scores, the rows (and the columns) of all classes are kept written out.
const LINES_KEPT: usize = 1 << 22;

/// The typical score is that of up to this many classes on each side.
const TYPICAL_CLASSES: usize = 64;

/// Base scores by class.
#[derive(Debug, Clone)]
pub(super) struct Base<S: Float> {
    scores: AlignedVec<S>, // rows (classes of origins) of `stride` scores (classes of targets), padded with minus infinity
    only: Option<S>, // the score, if there is one class on each side: read more often than anything else
    stride: usize,
    labels: usize,
    row_magnitudes: Vec<S>, // by class of origins: the largest finite |score|
    origins: Classes<S>,
    targets: Classes<S>,
}

/// The classes of labels on one side of the edges.
#[derive(Debug, Clone)]
struct Classes<S: Float> {
    of: Vec<u32>,                                  // L; empty if there is one class
    sizes: Vec<u32>,                               // by class: its labels
    best: Vec<u32>, // by class: the class on the other side, not empty, with the largest score
    lines: OnceLock<Vec<OnceLock<AlignedVec<S>>>>, // by class: its scores for all labels of the other side; or empty
}

impl<S: Float> Classes<S> {
    fn new(of: &[u32], classes: usize) -> Self {
        let mut sizes = vec![0; classes];
        of.iter().for_each(|&class| sizes[class as usize] += 1);
        let of = if classes == 1 { Vec::new() } else { of.to_vec() };
        Classes { of, sizes, best: vec![0; classes], lines: OnceLock::new() }
    }

    #[inline(always)]
    fn class(&self, y: usize) -> usize {
        if self.of.is_empty() { 0 } else { self.of[y] as usize }
    }
}

impl<S: Float> Base<S> {
    /// One score for all pairs.
    pub(super) fn one(labels: usize, score: S) -> Self {
        let all =
            |_| Classes { of: Vec::new(), sizes: vec![labels as u32], best: vec![0], lines: OnceLock::new() };
        let mut scores = AlignedVec::filled(padded(1), S::FORBIDDEN);
        scores[0] = score + S::ZERO; // turns -0 into 0
        let row_magnitudes = vec![magnitude_of_legal(&scores)];
        let (only, stride) = (Some(scores[0]), padded(1));
        Base { only, scores, stride, labels, row_magnitudes, origins: all(0), targets: all(1) }
    }

    /// `scores` row by row: as many classes of targets as there are scores in a row.
    pub(super) fn classes(from: &[u32], to: &[u32], scores: &[S], targets: usize) -> Result<Self> {
        let labels = from.len();
        if to.len() != labels {
            return Err(Error::shape("classes of targets", format!("{labels} labels"), to.len()));
        }
        if labels == 0 || scores.is_empty() || targets == 0 || !scores.len().is_multiple_of(targets) {
            let expected = "at least one label, and rows of one score for each class of targets";
            let got = format!("{labels} labels, {} scores, {targets} classes of targets", scores.len());
            return Err(Error::shape("edges in classes", expected, got));
        }
        let origins = scores.len() / targets;
        for (what, side, classes) in [("edge_class_from", from, origins), ("edge_class_to", to, targets)] {
            if let Some((i, &class)) = side.iter().enumerate().find(|&(_, &class)| class as usize >= classes)
            {
                return Err(Error::shape(format!("{what}[{i}]"), format!("a class below {classes}"), class));
            }
        }
        let place = |i| format!("the base score from class {} to class {}", i / targets, i % targets);
        checked_magnitude(scores, place)?;
        let stride = padded(targets);
        let mut own = AlignedVec::filled(origins * stride, S::FORBIDDEN);
        for (row, given) in own.chunks_exact_mut(stride).zip(scores.chunks_exact(targets)) {
            row.iter_mut().zip(given).for_each(|(own, &score)| *own = score + S::ZERO);
        }
        let (origins, targets) = (Classes::new(from, origins), Classes::new(to, targets));
        let only = (origins.sizes.len() == 1 && targets.sizes.len() == 1).then(|| own[0]);
        let row_magnitudes = own.chunks_exact(stride).map(magnitude_of_legal).collect();
        let mut base = Base { scores: own, only, stride, labels, row_magnitudes, origins, targets };
        base.find_best();
        Ok(base)
    }

    /// Finds the best class of each row and column.
    fn find_best(&mut self) {
        for c in 0..self.origins.sizes.len() {
            let line = self.line(Side::Row, c);
            self.origins.best[c] = line.best_among(&line.others.sizes) as u32;
        }
        for d in 0..self.targets.sizes.len() {
            let line = self.line(Side::Column, d);
            self.targets.best[d] = line.best_among(&line.others.sizes) as u32;
        }
    }

    /// Replaces all scores; none may be forbidden. Both passes over them go row by row, so that they are vector loops.
    pub(super) fn replace(&mut self, scores: &[S]) -> Result<()> {
        let (origins, targets) = self.counts();
        if scores.len() != origins * targets {
            return Err(Error::shape("scores of classes", origins * targets, scores.len()));
        }
        let stride = self.stride;
        let none_empty = |classes: &Classes<S>| classes.sizes.iter().all(|&size| size > 0);
        let all_filled = none_empty(&self.origins) && none_empty(&self.targets);
        let mut largest = vec![S::FORBIDDEN; targets];
        for (c, given) in scores.chunks_exact(targets).enumerate() {
            let row = &mut self.scores[c * stride..][..targets];
            row.iter_mut().zip(given).for_each(|(own, &score)| *own = score + S::ZERO);
            let forbids = row.iter().fold(false, |forbids, score| forbids | score.is_forbidden());
            let Some(magnitude) = S::largest_magnitude(row).filter(|_| !forbids) else {
                let what = format!("a base score of class {c}");
                return Err(Error::IllegalScore { what, value: f64::INFINITY });
            };
            self.row_magnitudes[c] = magnitude;
            S::max_row(&mut largest, row);
            let best = &mut self.origins.best[c];
            let of_row = S::largest(row);
            if all_filled && row[*best as usize] != of_row {
                *best = row.iter().position(|&score| score == of_row).unwrap_or(0) as u32;
            }
        }
        for (d, (best, &largest)) in self.targets.best.iter_mut().zip(&largest).enumerate() {
            if all_filled && self.scores[*best as usize * stride + d] != largest {
                let column = self.scores[d..].iter().step_by(stride);
                *best = column.take(origins).position(|&score| score == largest).unwrap_or(0) as u32;
            }
        }
        if !all_filled {
            self.find_best();
        }
        self.only = self.only.map(|_| self.scores[0]);
        (self.origins.lines, self.targets.lines) = (OnceLock::new(), OnceLock::new());
        Ok(())
    }

    /// The score, if there is only one class on each side.
    #[inline(always)]
    pub(super) fn only(&self) -> Option<S> {
        self.only
    }

    /// The score of a pair.
    #[inline(always)]
    pub(super) fn at(&self, p: usize, y: usize) -> S {
        match self.only() {
            Some(score) => score,
            None => self.scores[self.origins.class(p) * self.stride + self.targets.class(y)],
        }
    }

    /// The scores as a matrix: rows of [`Base::stride`] scores, padded with minus infinity.
    pub(super) fn matrix(&self) -> &[S] {
        &self.scores
    }

    /// Length of a padded row of the matrix.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Numbers of classes: of origins and of targets.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.origins.sizes.len(), self.targets.sizes.len())
    }

    /// The class of a label as origin.
    #[inline(always)]
    pub(super) fn origin(&self, p: usize) -> usize {
        self.origins.class(p)
    }

    /// The class of a label as target.
    #[inline(always)]
    pub(super) fn target(&self, y: usize) -> usize {
        self.targets.class(y)
    }

    /// The largest finite |score| from label `p`.
    pub(super) fn row_magnitude(&self, p: usize) -> S {
        self.row_magnitudes[self.origins.class(p)]
    }

    /// Writes the base of each of some pairs that leave label `p`, plus what each has beyond it.
    pub(super) fn add_to_row(&self, p: usize, to: &[u32], beyond: &[S], out: &mut [S]) {
        let row = &self.scores[self.origins.class(p) * self.stride..][..self.stride];
        for ((&y, &more), out) in to.iter().zip(beyond).zip(out) {
            *out = row[self.targets.class(y as usize)] + more;
        }
    }

    /// The same for pairs that enter label `y`.
    pub(super) fn add_to_column(&self, y: usize, from: &[u32], beyond: &[S], out: &mut [S]) {
        let column = &self.scores[self.targets.class(y)..];
        for ((&p, &more), out) in from.iter().zip(beyond).zip(out) {
            *out = column[self.origins.class(p as usize) * self.stride] + more;
        }
    }

    /// The scores from label `p` to all others.
    #[inline(always)]
    pub(super) fn row(&self, p: usize) -> Line<'_, S> {
        self.line(Side::Row, self.origins.class(p))
    }

    /// The scores from all labels to label `y`.
    #[inline(always)]
    pub(super) fn column(&self, y: usize) -> Line<'_, S> {
        self.line(Side::Column, self.targets.class(y))
    }

    #[inline(always)]
    fn line(&self, side: Side, class: usize) -> Line<'_, S> {
        let (start, step, own, others) = match side {
            Side::Row => (class * self.stride, 1, &self.origins, &self.targets),
            Side::Column => (class, self.stride, &self.targets, &self.origins),
        };
        Line { scores: &self.scores[start..], step, labels: self.labels, class, own, others }
    }

    /// A usual score: the most frequent finite one if one pair in five has it, otherwise the median.
    pub(super) fn typical(&self) -> S {
        if let Some(only) = self.only() {
            return only;
        }
        // By the order of the bits, which is that of the scores except for the sign. It is a guess, so some of many classes
        // are enough.
        let step = |sizes: &[u32]| sizes.len().div_ceil(TYPICAL_CLASSES).max(1);
        let (step_from, step_to) = (step(&self.origins.sizes), step(&self.targets.sizes));
        let mut pairs: BTreeMap<u64, (S, u64)> = BTreeMap::new();
        let rows = self.scores.chunks_exact(self.stride).zip(&self.origins.sizes);
        for (row, &origins) in rows.step_by(step_from) {
            let cells = row.iter().zip(&self.targets.sizes).step_by(step_to);
            for (&score, &targets) in cells.filter(|(score, _)| !score.is_forbidden()) {
                let bits = score.to_f64().to_bits();
                let key = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                pairs.entry(key).or_insert((score, 0)).1 += u64::from(origins) * u64::from(targets);
            }
        }
        let all: u64 = pairs.values().map(|&(_, count)| count).sum();
        match pairs.values().max_by_key(|&&(_, count)| count) {
            Some(&(score, count)) if count * 5 >= all => score,
            _ => {
                let mut below = 0;
                let median = pairs.values().find(|&&(_, count)| {
                    below += count;
                    below * 2 > all
                });
                median.map_or(S::FORBIDDEN, |&(score, _)| score)
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Row,
    Column,
}

/// The base scores from one label to all others, or from all others to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a, S: Float> {
    scores: &'a [S], // of class 0 on the other side, then every `step`
    step: usize,
    labels: usize,
    class: usize,
    own: &'a Classes<S>,
    others: &'a Classes<S>,
}

impl<'a, S: Float> Line<'a, S> {
    /// The score for a class of the other side.
    #[inline(always)]
    pub(super) fn of_class(&self, class: usize) -> S {
        self.scores[class * self.step]
    }

    /// The score, if there is only one class on the other side.
    #[inline(always)]
    pub(super) fn only(&self) -> Option<S> {
        self.others.of.is_empty().then(|| self.scores[0])
    }

    /// The largest score of a class that has labels.
    #[inline(always)]
    pub(super) fn largest(&self) -> S {
        self.of_class(self.own.best[self.class] as usize)
    }

    /// The largest score of a label that is not in a list of exceptions.
    pub(super) fn largest_but(&self, exceptions: &[u32]) -> S {
        self.largest_among(&self.others.sizes, self.own.best[self.class] as usize, exceptions.iter().copied())
    }

    /// The same among some labels only, of which there are `sizes` in each class; the best of these classes that is not
    /// empty is `best`, and the exceptions are among these labels.
    pub(super) fn largest_among(
        &self,
        sizes: &[u32],
        best: usize,
        exceptions: impl Iterator<Item = u32> + Clone,
    ) -> S {
        let class = |y: u32| self.others.class(y as usize);
        // Most lists are shorter than the best class has labels.
        let few = exceptions.size_hint().1.is_some_and(|most| most < sizes[best] as usize);
        if few || exceptions.clone().filter(|&y| class(y) == best).count() < sizes[best] as usize {
            return self.of_class(best);
        }
        // All labels of the best class are exceptions.
        let mut left = sizes.to_vec();
        exceptions.for_each(|y| left[class(y)] -= 1);
        let rest = (0..left.len()).filter(|&class| left[class] > 0).map(|class| self.of_class(class));
        rest.fold(S::FORBIDDEN, S::larger)
    }

    /// How many of some labels of the other side each class has.
    pub(super) fn count<'l>(&self, labels: impl ExactSizeIterator<Item = &'l u32>) -> Vec<u32> {
        let mut sizes = vec![0; self.others.sizes.len()];
        match self.only() {
            Some(_) => sizes[0] = labels.len() as u32,
            None => labels.for_each(|&y| sizes[self.others.class(y as usize)] += 1),
        }
        sizes
    }

    /// The class with the largest score among those that have labels.
    pub(super) fn best_among(&self, sizes: &[u32]) -> usize {
        let mut best: Option<usize> = None;
        for class in (0..sizes.len()).filter(|&class| sizes[class] > 0) {
            if best.is_none_or(|best| self.of_class(class) > self.of_class(best)) {
                best = Some(class);
            }
        }
        best.unwrap_or(0)
    }

    /// Writes the scores for all labels to a row, padded with minus infinity.
    #[inline]
    pub(super) fn spread(&self, row: &mut [S]) {
        let (row, padding) = row.split_at_mut(self.labels);
        match self.only() {
            // The base of trained models is zero, and filling in zeros runs at memory speed.
            Some(only) if only == S::ZERO => row.fill(S::ZERO),
            Some(only) => row.fill(only),
            None => self.copy_classes(row),
        }
        padding.fill(S::FORBIDDEN);
    }

    fn copy_classes(&self, row: &mut [S]) {
        let write = |row: &mut [S]| {
            for (score, &class) in row.iter_mut().zip(&self.others.of) {
                *score = self.of_class(class as usize);
            }
        };
        let classes = self.own.sizes.len();
        let kept = if classes.saturating_mul(self.labels) <= LINES_KEPT { classes } else { 0 };
        match self.own.lines.get_or_init(|| vec![OnceLock::new(); kept]).get(self.class) {
            None => write(row),
            Some(line) => row.copy_from_slice(line.get_or_init(|| {
                let mut line = AlignedVec::default();
                line.resize_for_overwrite(self.labels);
                write(&mut line);
                line
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO: f64 = f64::NEG_INFINITY;

    #[test]
    fn lines_know_their_largest_scores() {
        // Class 2 of the targets is empty.
        let base = Base::classes(&[0, 1, 1], &[0, 1, 0], &[1.0, 2.0, 9.0, NO, -3.0, 9.0], 3).unwrap();
        assert_eq!((base.at(0, 1), base.at(2, 0), base.counts()), (2.0, NO, (2, 3)));
        assert_eq!((base.row(0).largest_but(&[]), base.row(0).largest_but(&[1])), (2.0, 1.0));
        assert_eq!((base.row(1).largest_but(&[0, 1]), base.row(1).largest_but(&[0, 1, 2])), (NO, NO));
        assert_eq!((base.column(0).largest_but(&[1]), base.column(1).largest_but(&[0, 2])), (1.0, -3.0));
        let mut row = [0.0; 4];
        base.row(2).spread(&mut row);
        assert_eq!(row, [NO, -3.0, NO, NO]);
        base.column(1).spread(&mut row);
        assert_eq!(row, [2.0, -3.0, -3.0, NO]);
    }

    /// The mode of the pairs, not of the classes; otherwise the median; an empty class counts nothing.
    #[test]
    fn the_typical_score_is_that_of_most_pairs() {
        let typical = |from: &[u32], to: &[u32], scores: &[f64]| {
            Base::classes(from, to, scores, scores.len() / 2).unwrap().typical()
        };
        assert_eq!(typical(&[0, 0, 0, 1], &[0, 0, 0, 1], &[5.0, 0.0, 0.0, 0.0]), 5.0);
        assert_eq!(typical(&[0, 1], &[0, 0], &[NO, -1.0]), -1.0);
        assert_eq!(typical(&[0, 1], &[0, 0], &[NO, NO]), NO);
        let many: Vec<f64> = (0..12).map(|i| f64::from(i) - 6.0).collect();
        assert_eq!(typical(&[0, 1, 0, 1, 0, 1], &[0, 1, 2, 3, 4, 5], &many), 0.0);
    }

    #[test]
    fn bad_classes_are_refused() {
        assert!(Base::classes(&[0, 1], &[0, 0], &[0.0f32], 1).is_err(), "there is no class 1");
        assert!(Base::classes(&[0, 0], &[0, 2], &[0.0f32, 0.0], 2).is_err());
        assert!(Base::classes(&[0, 0], &[0], &[0.0f32], 1).is_err());
        assert!(Base::classes(&[0], &[0], &[0.0f32, 0.0, 0.0], 2).is_err());
        assert!(Base::classes(&[0], &[0], &[f32::NAN], 1).is_err());
        assert!(Base::classes(&[0], &[0], &[0.0f32], 0).is_err());
        assert!(Base::<f32>::classes(&[], &[], &[], 1).is_err());
    }
}
