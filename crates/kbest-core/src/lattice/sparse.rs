//! Sparse edges: one base value, or one for each pair of classes of labels, and a list of exceptions.
//!
//! ```text
//! edge[p][y] = the exception's score if (p, y) is one, otherwise base[class of p][class of y]
//! ```
//!
//! Trained models with thousands of labels look like this: label pairs never seen in training have the base score
//! (usually 0), and tens of pairs per row do not. With a base of minus infinity they are a list of allowed transitions
//! (banded HMMs, map matching). Tagging schemes over thousands of labels have a few classes and about as many
//! exceptions as labels; weights between coarse tags are classes alone ([`super::base`]). Exceptions replace the base,
//! whichever it is. They are kept by row and by column, both sorted, and may change while a model is trained
//! ([`super::Edges::add`]): look-ups and bounds are updated after each change, and nothing is rebuilt.
//!
//! **Cost.** A step of Viterbi or of forward-backward takes time in proportion to the labels, the exceptions and the pairs
//! of classes. **When not.** If most pairs are exceptions: a matrix is faster.

use super::base::{Base, Line};
use super::bitmap::Bitmap;
use super::blocks::Blocks;
use super::bounds::{Change, MatrixBounds, Maxima};
use super::lists::Lists;
use super::potentials::ClassFactors;
use super::{
    BoundsView, EdgeScores, ExceptionsInto, RowInBlocks, SparseFactors, checked_magnitude, magnitude_of_legal,
};
use crate::error::{Error, Result};
use crate::simd::{AlignedVec, Float, padded};
use std::sync::OnceLock;

/// Up to this many labels, rows that were requested are kept whole: few rows are requested often, and all of them take
/// at most 16 MiB in single precision, per matrix. (Measured with taggers: this saves a fifth of all their time at 319 and 851
/// labels, a twenty-fifth at 1,712; and only rows that are kept can be looked at block by block, which takes a third of the
/// funnel's time at 1,738.)
pub(crate) const KEPT_WHOLE: usize = 1 << 11;

/// Base values and exceptions, shared by all positions.
#[derive(Debug, Clone)]
pub struct SparseEdges<S: Float> {
    labels: usize,
    base: Base<S>,
    rows: Lists<S>,    // exceptions by `from`, sorted by `to`
    columns: Lists<S>, // exceptions by `to`, sorted by `from`
    beyond: Option<Beyond<S>>,
    pub(super) bounds: MatrixBounds<S>,
    blocks: Blocks,
    bitmap: OnceLock<Option<Bitmap>>, // made at the first look-up of a single pair
    whole_rows: OnceLock<Vec<OnceLock<AlignedVec<S>>>>, // L, each row made when first requested; or empty
    forward: OnceLock<SparseFactors>,
    backward: OnceLock<SparseFactors>,
}

/// What each exception scores beyond the base of its classes: kept if that base may change.
#[derive(Debug, Clone)]
struct Beyond<S> {
    rows: Lists<S>,    // the same labels in the same order as the exceptions
    columns: Lists<S>, // likewise
}

impl<S: Float> SparseEdges<S> {
    /// Checks and sorts the exceptions; a pair listed twice is an error.
    pub(super) fn new(labels: usize, base: S, from: &[u32], to: &[u32], scores: &[S]) -> Result<Self> {
        if labels == 0 {
            return Err(Error::shape("sparse edges", "at least one label", 0));
        }
        if !base.is_legal() {
            return Err(Error::IllegalScore {
                what: "the base score of the edges".into(),
                value: base.to_f64(),
            });
        }
        Self::with_base(labels, Base::one(labels, base), from, to, scores)
    }

    /// The same with checked base scores.
    pub(super) fn with_base(
        labels: usize,
        base: Base<S>,
        from: &[u32],
        to: &[u32],
        scores: &[S],
    ) -> Result<Self> {
        if from.len() != scores.len() || to.len() != scores.len() {
            let got = format!("{} from, {} to, {} scores", from.len(), to.len(), scores.len());
            return Err(Error::shape("sparse edges", "three arrays of equal length", got));
        }
        for (what, side) in [("edge_from", from), ("edge_to", to)] {
            if let Some((i, &y)) = side.iter().enumerate().find(|&(_, &y)| y as usize >= labels) {
                return Err(Error::LabelOutOfRange { what: format!("{what}[{i}]"), label: y.into(), labels });
            }
        }
        checked_magnitude(scores, |i| format!("the edge score from label {} to label {}", from[i], to[i]))?;
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_unstable_by_key(|&i| (from[i as usize], to[i as usize]));
        let pair = |i: u32| (from[i as usize], to[i as usize]);
        if let Some(twice) = order.windows(2).find(|two| pair(two[0]) == pair(two[1])) {
            let (p, y) = pair(twice[0]);
            return Err(Error::shape(
                "sparse edges",
                "each pair once",
                format!("label {p} to label {y} twice"),
            ));
        }
        let sorted = order.into_iter().map(|i| (from[i as usize], to[i as usize], scores[i as usize]));
        Ok(Self::from_sorted(labels, base, sorted))
    }

    /// Builds both orientations and the bounds from exceptions sorted by (from, to).
    pub(super) fn from_sorted(
        labels: usize,
        base: Base<S>,
        exceptions: impl Iterator<Item = (u32, u32, S)>,
    ) -> Self {
        let mut lengths = vec![0u32; labels];
        let (mut to, mut scores) = (Vec::new(), Vec::new());
        for (p, y, w) in exceptions {
            lengths[p as usize] += 1;
            to.push(y);
            scores.push(w);
        }
        let rows = Lists::new(&lengths, to, scores);
        let columns = rows.transposed();
        let maxima = SparseMaxima { base: &base, rows: &rows, columns: &columns };
        let mut row = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut column = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut magnitudes = AlignedVec::filled(labels, S::ZERO);
        for i in 0..labels {
            (row[i], column[i], magnitudes[i]) = (maxima.row(i), maxima.column(i), maxima.row_magnitude(i));
        }
        let bounds = MatrixBounds::new(row, column, magnitudes, base.typical());
        SparseEdges {
            labels,
            base,
            rows,
            columns,
            beyond: None,
            bounds,
            blocks: Blocks::of(labels),
            bitmap: OnceLock::new(),
            whole_rows: OnceLock::new(),
            forward: OnceLock::new(),
            backward: OnceLock::new(),
        }
    }

    /// By label, the largest edge that leaves it.
    pub(crate) fn row_bounds(&self) -> &[S] {
        &self.bounds.row
    }

    /// Replaces the score of one pair by the result of `score`; nothing changes if that is an error. A pair whose score
    /// becomes the base is no longer an exception. Costs time in proportion to the exceptions of both labels and
    /// `L / 64`, rarely `L`.
    pub(super) fn change(
        &mut self,
        p: usize,
        y: usize,
        score: impl FnOnce(S) -> Result<S>,
    ) -> Result<Change<S>> {
        let listed = self.rows.find(p, y as u32);
        let base = self.base.at(p, y);
        let old = listed.unwrap_or(base);
        let new = score(old)?;
        debug_assert!(
            self.beyond.is_none(),
            "exceptions would get out of step with what they are beyond the base"
        );
        Ok(self.place(Change { p, y, old, new }, listed.is_some(), new != base))
    }

    /// Lists a pair with its new score, or unlists it, and updates all that depends on it.
    fn place(&mut self, change: Change<S>, listed: bool, list: bool) -> Change<S> {
        let Change { p, y, new, .. } = change;
        self.rows.set(p, y as u32, list.then_some(new));
        self.columns.set(y, p as u32, list.then_some(new));
        if let Some(Some(bitmap)) = self.bitmap.get_mut()
            && listed != list
        {
            bitmap.toggle(p, y);
        }
        let whole_rows = self.whole_rows.get_mut().map_or(&mut [][..], Vec::as_mut_slice);
        if let Some(row) = whole_rows.get_mut(p).and_then(OnceLock::get_mut) {
            row[y] = if list { new } else { self.base.at(p, y) }; // equal, but zero has two signs
            let block = self.blocks.block_of(y);
            row[padded(self.labels) + block] = S::largest(&row[self.blocks.labels_in(block)]);
        }
        let maxima = SparseMaxima { base: &self.base, rows: &self.rows, columns: &self.columns };
        self.bounds.follow(change, &maxima);
        self.forward.take();
        self.backward.take();
        change
    }

    /// Edges without exceptions, over base scores that may change: see [`SparseEdges::rebase`].
    pub(super) fn rising(labels: usize, base: Base<S>) -> Self {
        let empty = || Lists::new(&vec![0; labels], Vec::new(), Vec::new());
        let beyond = Beyond { rows: empty(), columns: empty() };
        SparseEdges { beyond: Some(beyond), ..Self::from_sorted(labels, base, std::iter::empty()) }
    }

    /// Sets what one pair scores beyond the base, of edges made for that; nothing changes if the sum is not finite.
    pub(super) fn set_beyond(&mut self, p: usize, y: usize, score: S) -> Result<Change<S>> {
        let Some(beyond) = &mut self.beyond else {
            return Err(Error::shape("edges to change", "edges over base scores that may change", "others"));
        };
        let base = self.base.at(p, y);
        let new = base + score;
        if !new.is_legal() || new.is_forbidden() {
            return Err(sum_is_not_finite());
        }
        let kept = (score != S::ZERO).then_some(score);
        beyond.rows.set(p, y as u32, kept);
        beyond.columns.set(y, p as u32, kept);
        let listed = self.rows.find(p, y as u32);
        let change = Change { p, y, old: listed.unwrap_or(base), new };
        Ok(self.place(change, listed.is_some(), kept.is_some()))
    }

    /// Replaces the base scores, by class, and with them every exception that was set as what it has beyond its base.
    /// Costs time in proportion to the pairs of classes, the exceptions and the labels.
    pub(super) fn rebase(&mut self, base: &[S]) -> Result<()> {
        self.base.replace(base)?;
        let mut finite = true;
        if let Some(beyond) = &self.beyond {
            for i in 0..self.labels {
                let (to, scores) = self.rows.scores_mut(i);
                self.base.add_to_row(i, to, beyond.rows.list(i).1, scores);
                let is_finite = |score: &S| score.is_legal() & !score.is_forbidden();
                finite &= scores.iter().fold(true, |all, score| all & is_finite(score));
                let (from, scores) = self.columns.scores_mut(i);
                self.base.add_to_column(i, from, beyond.columns.list(i).1, scores);
            }
        }
        self.whole_rows.take();
        self.forward.take();
        self.backward.take();
        if !finite {
            return Err(sum_is_not_finite());
        }
        let maxima = SparseMaxima { base: &self.base, rows: &self.rows, columns: &self.columns };
        self.bounds.renew(&maxima);
        Ok(())
    }

    /// A row that is kept whole, made when first requested: the edges, padded, then the largest of each block, padded likewise.
    #[inline]
    fn whole_row(&self, p: usize) -> Option<&[S]> {
        let kept = if self.labels <= KEPT_WHOLE { self.labels } else { 0 };
        let row = self.whole_rows.get_or_init(|| vec![OnceLock::new(); kept]).get(p)?;
        Some(row.get_or_init(|| {
            let (mut row, length) = (AlignedVec::default(), padded(self.labels));
            row.resize_for_overwrite(length + padded(self.blocks.count));
            self.spread(self.base.row(p), self.leaving(p), &mut row[..length]);
            let maxima = self.blocks.maxima(&row);
            row[length..].copy_from_slice(&maxima);
            row
        }))
    }

    /// Writes a row or column out, padded: the base, then the exceptions.
    fn spread<'b>(
        &self,
        base: Line<'_, S>,
        (labels, scores): (&[u32], &[S]),
        buffer: &'b mut [S],
    ) -> &'b [S] {
        let buffer = &mut buffer[..padded(self.labels)];
        base.spread(buffer);
        for (&i, &w) in labels.iter().zip(scores) {
            buffer[i as usize] = w;
        }
        buffer
    }

    /// The score that the pair has if it is not an exception.
    #[inline(always)]
    pub fn base(&self, p: usize, y: usize) -> S {
        self.base.at(p, y)
    }

    /// The score of every pair that is not an exception, if it is the same for all: if there is one class.
    #[inline(always)]
    pub fn only_base(&self) -> Option<S> {
        self.base.only()
    }

    /// Numbers of classes: of origins and of targets.
    pub fn classes(&self) -> (usize, usize) {
        self.base.counts()
    }

    /// The class of a label as origin.
    #[inline(always)]
    pub fn origin_class(&self, p: usize) -> usize {
        self.base.origin(p)
    }

    /// The class of a label as target.
    #[inline(always)]
    pub fn target_class(&self, y: usize) -> usize {
        self.base.target(y)
    }

    /// The base scores by class: a row for each class of origins, padded to whole vectors with minus infinity.
    pub fn class_scores(&self) -> &[S] {
        self.base.matrix()
    }

    /// Length of a padded row of [`SparseEdges::class_scores`].
    pub fn class_stride(&self) -> usize {
        self.base.stride()
    }

    /// All base scores.
    pub(super) fn bases(&self) -> &Base<S> {
        &self.base
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of exceptions.
    pub fn exceptions(&self) -> usize {
        self.rows.members()
    }

    /// How many exceptions leave a label, counting every label as often as it has exceptions: frequent labels have most, and are
    /// met most.
    pub fn usual_exceptions(&self) -> usize {
        self.rows.usual_length()
    }

    /// The exceptions that leave label `p`: labels in ascending order, and scores.
    #[inline]
    pub fn leaving(&self, p: usize) -> (&[u32], &[S]) {
        self.rows.list(p)
    }

    /// The exceptions that enter label `y`: labels in ascending order, and scores.
    #[inline]
    pub fn entering(&self, y: usize) -> (&[u32], &[S]) {
        self.columns.list(y)
    }

    /// `exp` of the scores, for sums over the labels they leave; made once.
    pub(crate) fn factors_forward(&self) -> &SparseFactors {
        self.forward.get_or_init(|| {
            let classes = ClassFactors::forward(self.classes(), self.class_scores(), self.class_stride());
            let scores = |y| self.entering(y);
            SparseFactors::new(&self.bounds.column, classes, |y| self.target_class(y), scores)
        })
    }

    /// `exp` of the scores, for sums over the labels they enter; made once.
    pub(crate) fn factors_backward(&self) -> &SparseFactors {
        self.backward.get_or_init(|| {
            let classes = ClassFactors::backward(self.classes(), self.class_scores(), self.class_stride());
            let scores = |p| self.leaving(p);
            SparseFactors::new(&self.bounds.row, classes, |p| self.origin_class(p), scores)
        })
    }
}

fn sum_is_not_finite() -> Error {
    Error::IllegalScore { what: "the sum of the weights of an edge".into(), value: f64::INFINITY }
}

/// The scores from which the bounds of sparse edges are computed.
struct SparseMaxima<'a, S: Float> {
    base: &'a Base<S>,
    rows: &'a Lists<S>,
    columns: &'a Lists<S>,
}

/// The largest of base scores and exceptions. Where an exception reaches the largest base score, which labels have that one does
/// not matter, and finding out may take a look at every class.
#[inline]
fn largest<S: Float>(base: Line<'_, S>, (members, exceptions): (&[u32], &[S])) -> S {
    let top = S::largest(exceptions);
    if top >= base.largest() { top } else { top.larger(base.largest_but(members)) }
}

impl<S: Float> Maxima<S> for SparseMaxima<'_, S> {
    fn row(&self, p: usize) -> S {
        largest(self.base.row(p), self.rows.list(p))
    }

    fn column(&self, y: usize) -> S {
        largest(self.base.column(y), self.columns.list(y))
    }

    /// The base counts whether or not an edge has it, so there is no need to check.
    fn row_magnitude(&self, p: usize) -> S {
        magnitude_of_legal(self.rows.list(p).1).larger(self.base.row_magnitude(p))
    }
}

impl<S: Float> EdgeScores<S> for SparseEdges<S> {
    #[inline]
    fn get(&self, _: usize, p: usize, y: usize) -> S {
        let whole_rows = self.whole_rows.get().map_or(&[][..], Vec::as_slice);
        if let Some(row) = whole_rows.get(p).and_then(OnceLock::get) {
            return row[y];
        }
        let listed = match self.bitmap.get_or_init(|| Bitmap::new(self.labels, |p| self.leaving(p).0)) {
            Some(bitmap) => bitmap.find(p, y).map(|i| self.rows.score(p, i)),
            None => self.rows.find(p, y as u32),
        };
        match listed {
            Some(score) => score,
            None => self.base.at(p, y),
        }
    }

    fn row<'b>(&'b self, _: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        match self.whole_row(p) {
            Some(row) => &row[..padded(self.labels)],
            None => self.spread(self.base.row(p), self.leaving(p), buffer),
        }
    }

    #[inline]
    fn row_in_blocks(&self, _: usize, p: usize) -> Option<RowInBlocks<'_, S>> {
        let (row, bounds) = self.whole_row(p)?.split_at(padded(self.labels));
        Some(RowInBlocks { row, bounds })
    }

    fn column<'b>(&'b self, _: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.spread(self.base.column(y), self.entering(y), buffer)
    }

    fn exceptions_into(&self, _: usize, y: usize) -> Option<ExceptionsInto<'_, S>> {
        let (base, (labels, scores)) = (self.only_base()?, self.entering(y));
        Some(ExceptionsInto { base, labels, scores })
    }

    #[inline(always)]
    fn bounds(&self, _: usize) -> BoundsView<'_, S> {
        self.bounds.view()
    }
}
