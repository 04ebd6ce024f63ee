//! Lattices of segments: what a segmentation may be made of, and what each part scores.

use super::bound::LearnedEstimate;
use super::judge::Prepared;
use super::scores::SegmentScores;
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{Held, Lattice, check_range};
use crate::score::Score;
use crate::simd::Float;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Scores one segment: start, end (not included), label.
type SegmentFunction<'a, S> = dyn Fn(usize, usize, LabelId) -> S + Send + Sync + 'a;

/// Scores of single segments, besides node scores and durations.
#[derive(Clone)]
pub(super) enum Explicit<'a, S> {
    None,
    /// `T x W x L`: start, length - 1, label.
    Array {
        longest: usize,
        scores: Held<'a, [S]>,
    },
    /// A function, and what it never exceeds: `W x L`.
    Function {
        bounds: Held<'a, [S]>,
        score: Arc<SegmentFunction<'a, S>>,
    },
    /// The same for all labels at once, with closer bounds.
    Rows {
        bounds: Held<'a, [S]>,
        scores: Arc<dyn SegmentScores<S> + 'a>,
    },
}

impl<S> fmt::Debug for Explicit<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Explicit::None => "None",
            Explicit::Array { .. } => "Array",
            Explicit::Function { .. } => "Function",
            Explicit::Rows { .. } => "Rows",
        })
    }
}

/// One sequence's scores for segments: what every decoder of segments reads and none changes.
///
/// It stands on a [`Lattice`] of single positions: its node scores are summed over a segment, its edges join the labels of
/// neighbouring segments (those *into position* `t` are taken where a segment starts at `t`), its start and end scores
/// belong to the first and the last segment, and what it forbids is forbidden.
///
/// ```
/// use kbest_core::segment::{Segment, SegmentLattice};
/// use kbest_core::{Edges, Lattice};
/// let edges = Edges::uniform(2, -1.0f32)?;
/// let nodes = vec![1.0, 0.0, 1.0, 0.0, 0.0, 3.0];
/// let lattice = SegmentLattice::new(Lattice::new(nodes, &edges)?).with_durations(vec![0.0, 0.0, 0.5, 0.0])?;
/// let parts = [Segment { start: 0, end: 2, label: 0 }, Segment { start: 2, end: 3, label: 1 }];
/// assert_eq!(lattice.segmentation_score(&parts)?, 2.0 + 0.5 - 1.0 + 3.0);
/// # Ok::<(), kbest_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SegmentLattice<'a, S: Float> {
    pub(super) chain: Lattice<'a, S>,
    pub(super) boundaries: Option<[Held<'a, [S]>; 2]>, // T x L each: beginning, ending at a position
    pub(super) durations: Option<Held<'a, [S]>>,       // W x L
    pub(super) explicit: Explicit<'a, S>,
    pub(super) cheap: bool,    // explicit scores computed on demand cost little
    pub(super) longest: usize, // usize::MAX if there is no limit
    pub(super) longest_of: Option<Vec<usize>>, // L: a limit for each label
    pub(super) required: BTreeSet<usize>, // a segment must end or begin here
    pub(super) closed: BTreeSet<usize>, // none may
    pub(super) forbidden: BTreeSet<(usize, usize, LabelId)>, // end, start, label
    pub(super) magnitudes: [f64; 3], // the largest finite |duration|, |explicit score| and |boundary score|
    pub(super) prepared: OnceLock<Prepared>,
    pub(super) learned: Option<Held<'a, LearnedEstimate>>,
    pub(super) as_learned: bool, // nothing was changed since: the estimate's guarantee holds
}

impl<'a, S: Float> SegmentLattice<'a, S> {
    /// Segments of any length over these node scores, edges, start and end scores.
    pub fn new(chain: Lattice<'a, S>) -> Self {
        SegmentLattice {
            chain,
            boundaries: None,
            durations: None,
            explicit: Explicit::None,
            cheap: false,
            longest: usize::MAX,
            longest_of: None,
            required: BTreeSet::new(),
            closed: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            magnitudes: [0.0; 3],
            prepared: OnceLock::new(),
            learned: None,
            as_learned: false,
        }
    }

    /// Sets scores for where segments begin and end, `T x L` each: `begin[s * L + label]` is added to a segment whose first
    /// position is `s`, `end[t * L + label]` to one whose last position is `t`. They cost no decoder anything.
    ///
    /// # Errors
    /// [`Error::Shape`]; [`Error::IllegalScore`] for a score that is not finite (to forbid, see [`SegmentLattice::forbid`]);
    /// [`Error::Range`].
    pub fn with_boundaries(
        mut self,
        begin: impl Into<Held<'a, [S]>>,
        end: impl Into<Held<'a, [S]>>,
    ) -> Result<Self> {
        let (positions, labels) = (self.positions(), self.labels());
        let boundaries = [begin.into(), end.into()];
        for (what, scores) in ["beginnings", "ends"].into_iter().zip(&boundaries) {
            if scores.len() != positions * labels {
                let expected = format!("{positions} positions x {labels} labels");
                return Err(Error::shape(format!("scores of {what}"), expected, scores.len()));
            }
            // All of them first, without a branch for each.
            let are_finite = scores.iter().fold(true, |all, score| all & score.to_f64().is_finite());
            if !are_finite && let Some(i) = scores.iter().position(|score| !score.to_f64().is_finite()) {
                let what = format!("scores of {what}, position {}, label {}", i / labels, i % labels);
                return Err(Error::IllegalScore { what, value: scores[i].to_f64() });
            }
        }
        self.magnitudes[2] =
            boundaries.iter().map(|scores| S::largest_magnitude(scores).map_or(0.0, Score::to_f64)).sum();
        self.boundaries = Some(boundaries);
        self.changed().in_range()
    }

    /// Sets the scores of lengths, `W x L` row-major: `durations[(length - 1) * L + label]`. No segment is longer than `W`.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::IllegalScore`] or [`Error::Range`].
    pub fn with_durations(mut self, durations: impl Into<Held<'a, [S]>>) -> Result<Self> {
        let durations = durations.into();
        let (rows, magnitude) = self.check_rows("durations", &durations)?;
        self.magnitudes[0] = magnitude;
        self.longest = self.longest.min(rows);
        self.durations = Some(durations);
        self.changed().in_range()
    }

    /// The same for durations that were checked before; the largest of them has this magnitude.
    #[doc(hidden)] // for models and trainers
    pub fn with_checked_durations(mut self, durations: &'a [S], magnitude: f64) -> Result<Self> {
        self.magnitudes[0] = magnitude;
        self.longest = self.longest.min(durations.len() / self.labels());
        self.durations = Some(durations.into());
        self.changed().in_range()
    }

    /// Sets a score for each segment, `T x W x L` row-major: `scores[(start * W + length - 1) * L + label]`. No segment is
    /// longer than `W`; what lies beyond the end of the sequence is not read.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::IllegalScore`], [`Error::Range`], and [`Error::Argument`] for `W = 0`.
    pub fn with_scores(mut self, longest: usize, scores: impl Into<Held<'a, [S]>>) -> Result<Self> {
        let scores = scores.into();
        let (positions, labels) = (self.positions(), self.labels());
        at_least_one(longest)?;
        let expected = positions.checked_mul(longest).and_then(|n| n.checked_mul(labels));
        if expected != Some(scores.len()) {
            let expected = format!("{positions} starts x {longest} lengths x {labels} labels");
            return Err(Error::shape("segment scores", expected, scores.len()));
        }
        // Without positions there is nothing to check, and the size of a row says nothing.
        let row = if positions == 0 { 1 } else { longest * labels };
        for (start, rows) in scores.chunks_exact(row).enumerate() {
            let legal = &rows[..longest.min(positions - start) * labels];
            let magnitude = checked_magnitude(legal, |i| {
                let (length, y) = (i / labels + 1, i % labels);
                format!("the score of the segment from position {start}, length {length}, label {y}")
            })?;
            self.magnitudes[1] = self.magnitudes[1].max(magnitude);
        }
        self.longest = self.longest.min(longest);
        self.explicit = Explicit::Array { longest, scores };
        self.changed().in_range()
    }

    /// Lets a function score each segment: `score(start, end, label)`, never more than `bounds[(length - 1) * L + label]`
    /// (`W x L`). No segment is longer than `W`.
    ///
    /// Decoders that prune call it only where it can matter and remember what it said while they search; the others call
    /// it for every segment. It must give the same legal score for the same arguments; a decoder that finds a score above
    /// its bound panics in a debug build, and may return a worse segmentation in a release build.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::IllegalScore`], for the bounds; [`Error::Range`]; `magnitude`, the largest finite absolute value that
    /// the function returns, must be a finite number ([`Error::Argument`]): it sizes the allowance for rounding.
    pub fn with_score_function(
        mut self,
        bounds: impl Into<Held<'a, [S]>>,
        magnitude: f64,
        score: impl Fn(usize, usize, LabelId) -> S + Send + Sync + 'a,
    ) -> Result<Self> {
        let bounds = bounds.into();
        let largest = self.check_bounds(&bounds, magnitude)?;
        self.explicit = Explicit::Function { bounds, score: Arc::new(score) };
        self.on_demand(magnitude, largest)
    }

    /// The same for scores that are computed for all labels at once and have closer bounds: see [`SegmentScores`].
    ///
    /// # Errors
    /// As [`SegmentLattice::with_score_function`].
    pub fn with_score_rows(
        mut self,
        bounds: impl Into<Held<'a, [S]>>,
        magnitude: f64,
        scores: impl SegmentScores<S> + 'a,
    ) -> Result<Self> {
        let bounds = bounds.into();
        let largest = self.check_bounds(&bounds, magnitude)?;
        self.explicit = Explicit::Rows { bounds, scores: Arc::new(scores) };
        self.on_demand(magnitude, largest)
    }

    /// The same with bounds that were checked before; the largest of them has this magnitude.
    #[doc(hidden)] // for models and trainers
    pub fn with_checked_rows(
        mut self,
        bounds: &'a [S],
        largest: f64,
        magnitude: f64,
        scores: impl SegmentScores<S> + 'a,
    ) -> Result<Self> {
        self.longest = self.longest.min(bounds.len() / self.labels());
        self.explicit = Explicit::Rows { bounds: bounds.into(), scores: Arc::new(scores) };
        self.on_demand(magnitude, largest)
    }

    /// The same lattice with no scores of single segments: what decoding costs without them, and what it answers then.
    #[must_use]
    pub fn without_scores(mut self) -> Self {
        self.explicit = Explicit::None;
        self.magnitudes[1] = 0.0;
        self.changed()
    }

    /// The largest magnitude of bounds by length; segments become no longer than they say.
    fn check_bounds(&mut self, bounds: &[S], magnitude: f64) -> Result<f64> {
        let (longest, largest) = self.check_rows("bounds of segment scores", bounds)?;
        if !(magnitude.is_finite() && magnitude >= 0.0) {
            let expected = "a finite number of at least 0";
            return Err(Error::argument("magnitude of segment scores", expected, magnitude));
        }
        self.longest = self.longest.min(longest);
        Ok(largest)
    }

    /// Bounds are added up like scores, so their sums must be in range, too.
    fn on_demand(mut self, magnitude: f64, largest: f64) -> Result<Self> {
        self.magnitudes[1] = magnitude.max(largest);
        let mut checked = self.changed().in_range()?;
        checked.magnitudes[1] = magnitude;
        Ok(checked)
    }

    /// Says that a score of [`SegmentLattice::with_score_function`] or [`SegmentLattice::with_score_rows`] takes a microsecond or so. Of a short sequence,
    /// and for several segmentations, [`Auto`](crate::decode::Auto) then computes all scores instead of
    /// finding out which of them matter.
    pub fn with_cheap_scores(mut self) -> Self {
        self.cheap = true;
        self
    }

    /// Lets no segment be longer than this.
    ///
    /// # Errors
    /// [`Error::Argument`] for 0.
    pub fn with_longest(mut self, longest: usize) -> Result<Self> {
        at_least_one(longest)?;
        self.longest = self.longest.min(longest);
        Ok(self.changed())
    }

    /// Lets no segment of label `y` be longer than `longest[y]`; 0 forbids the label.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one for each label.
    pub fn with_longest_by_label(mut self, longest: Vec<usize>) -> Result<Self> {
        if longest.len() != self.labels() {
            return Err(Error::shape("longest segments", format!("{} labels", self.labels()), longest.len()));
        }
        self.longest = self.longest.min(longest.iter().copied().fold(1, usize::max));
        self.longest_of = Some(longest);
        Ok(self.changed())
    }

    /// Adds an estimate of completions, for `semi-astar` with [`Estimate::Learned`](super::Estimate::Learned). Its guarantee holds
    /// for the lattice as it is; if anything is changed or forbidden afterwards, answers have none.
    ///
    /// # Errors
    /// [`Error::Shape`] if it was made for a lattice of another size.
    pub fn with_learned(mut self, estimate: impl Into<Held<'a, LearnedEstimate>>) -> Result<Self> {
        let estimate = estimate.into();
        let (expected, got) = ((self.positions() + 1) * self.labels(), estimate.sums.len());
        if expected != got || estimate.once.len() != self.labels() {
            let expected = format!("{} positions x {} labels", self.positions(), self.labels());
            return Err(Error::shape("learned estimate", expected, format!("{got} scores")));
        }
        (self.learned, self.as_learned) = (Some(estimate), true);
        Ok(self)
    }

    /// The same segments over another chain: with other edges, borders or node scores.
    #[doc(hidden)] // for models and trainers
    pub fn with_chain(
        mut self,
        change: impl FnOnce(Lattice<'a, S>) -> Result<Lattice<'a, S>>,
    ) -> Result<Self> {
        self.chain = change(self.chain)?;
        Ok(self.changed())
    }

    /// Rows of a table `W x L`, at least one, and the largest magnitude of its scores.
    fn check_rows(&self, what: &str, scores: &[S]) -> Result<(usize, f64)> {
        let labels = self.labels();
        if scores.is_empty() || !scores.len().is_multiple_of(labels) {
            return Err(Error::shape(what, format!("at least one row of {labels} labels"), scores.len()));
        }
        let place = |i: usize| format!("{what}, length {}, label {}", i / labels + 1, i % labels);
        Ok((scores.len() / labels, checked_magnitude(scores, place)?))
    }

    /// Refuses scores that may add up to more than the type can hold, as a [`Lattice`] does.
    fn in_range(self) -> Result<Self> {
        check_range::<S>(self.magnitude())?;
        Ok(self)
    }

    /// Forgets what followed from the scores before.
    pub(super) fn changed(mut self) -> Self {
        self.prepared = OnceLock::new();
        self.as_learned = false;
        self
    }

    /// Number of positions `T`.
    #[inline]
    pub fn positions(&self) -> usize {
        self.chain.positions()
    }

    /// Number of labels `L`.
    #[inline]
    pub fn labels(&self) -> usize {
        self.chain.labels()
    }

    /// The longest segment `W` there may be: never more than `T`, and at least 1.
    #[inline]
    pub fn longest(&self) -> usize {
        self.longest.min(self.positions()).max(1)
    }

    /// Node scores, edges, start and end scores.
    pub fn chain(&self) -> &Lattice<'a, S> {
        &self.chain
    }

    /// The longest segment that this label may have, never more than `W`; 0 if it may have none.
    pub fn longest_of(&self, label: LabelId) -> usize {
        let own = self.longest_of.as_ref().map_or(usize::MAX, |longest| longest[label as usize]);
        own.min(self.longest())
    }

    /// Scores of where segments begin and of where they end, `T x L` each, if there are any.
    pub fn boundaries(&self) -> Option<[&[S]; 2]> {
        self.boundaries.as_ref().map(|[begin, end]| [&begin[..], &end[..]])
    }

    /// The score of a length; 0 if lengths have none.
    pub fn duration(&self, length: usize, label: LabelId) -> S {
        let place = (length - 1) * self.labels() + label as usize;
        self.durations.as_ref().and_then(|durations| durations.get(place).copied()).unwrap_or(S::ZERO)
    }

    /// The score of the segment `[start, end)` besides node scores, boundaries and duration; 0 if there is none.
    ///
    /// # Panics
    /// If there are such scores, and none for a segment so long or at this place.
    #[inline]
    pub fn explicit(&self, start: usize, end: usize, label: LabelId) -> S {
        let length = end - start;
        match &self.explicit {
            Explicit::None => S::ZERO,
            Explicit::Array { longest, scores } => {
                scores[(start * longest + length - 1) * self.labels() + label as usize]
            }
            Explicit::Function { bounds, score, .. } => {
                let score = score(start, end, label);
                debug_assert!(
                    score <= bounds[(length - 1) * self.labels() + label as usize],
                    "the score of segment [{start}, {end}) with label {label} exceeds its bound"
                );
                score
            }
            Explicit::Rows { scores, .. } => {
                let mut score = S::ZERO;
                scores.show(start, end, &mut |row| score = row[label as usize]);
                score
            }
        }
    }

    /// What no score of a segment exceeds by its length and label, `W x L`, if scores are computed on demand.
    pub(super) fn bounds_by_length(&self) -> Option<&[S]> {
        match &self.explicit {
            Explicit::None | Explicit::Array { .. } => None,
            Explicit::Function { bounds, .. } | Explicit::Rows { bounds, .. } => Some(bounds),
        }
    }

    /// Whether single segments have scores of their own.
    pub fn has_explicit(&self) -> bool {
        !matches!(self.explicit, Explicit::None)
    }

    /// Whether these are computed on demand.
    pub fn is_on_demand(&self) -> bool {
        self.bounds_by_length().is_some()
    }
}

/// How many segments of at most this length there are, labels apart.
pub(super) fn spans(positions: usize, longest: usize) -> usize {
    let longest = longest.min(positions);
    longest.saturating_mul(positions - longest) + longest * (longest + 1) / 2
}

fn at_least_one(longest: usize) -> Result<()> {
    match longest {
        0 => Err(Error::argument("longest segment", "at least 1", 0)),
        _ => Ok(()),
    }
}

/// The largest finite magnitude, after refusing NaN and plus infinity.
fn checked_magnitude<S: Float>(scores: &[S], what: impl Fn(usize) -> String) -> Result<f64> {
    match scores.iter().position(|score| !score.is_legal()) {
        Some(i) => Err(Error::IllegalScore { what: what(i), value: scores[i].to_f64() }),
        None => Ok(S::largest_magnitude(scores).map_or(0.0, Score::to_f64)),
    }
}
