//! The weights of node features: for each feature, the labels that it favours or disfavours. If labels have
//! [parts](super::LabelParts), these are columns like labels: `L` is then the number of both.
//!
//! A row is a list of (label, weight), or, if it has many weights, stored whole: adding a whole row is a vector loop,
//! several times as fast per weight as a list. Either way it is contiguous, so that adding it costs one memory access.

use crate::checked::{Checked, Damage};
use crate::feature::{FeatureId, rises_to};
use crate::memory::prefetch;
use kbest_core::LabelId;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// A row with at least `WHOLE_FROM` weights, and at least one per `WHOLE_PART` labels, is stored whole; so is a row that
/// does not grow by it.
const WHOLE_FROM: usize = 16;
const WHOLE_PART: usize = 8;

/// Weights of all node features.
#[derive(Debug, Clone, Default)]
pub struct NodeWeights {
    labels: usize,
    starts: Checked<u32>, // F + 1: where each row begins in `words`
    words: Checked<u32>, // list rows: label, bits of the weight, label, ...; whole rows: L times the bits of a weight
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Row<'a> {
    /// Pairs of label and bits of the weight, sorted by label.
    List(&'a [[u32; 2]]),
    /// The bits of the weights of all labels.
    Whole(&'a [u32]),
}

impl Row<'_> {
    /// The stored weights.
    pub fn iter(&self) -> impl Iterator<Item = (LabelId, f32)> + '_ {
        let (list, whole) = match self {
            Row::List(list) => (*list, &[][..]),
            Row::Whole(whole) => (&[][..], *whole),
        };
        let list = list.iter().map(|&[label, bits]| (label, f32::from_bits(bits)));
        list.chain((0..).zip(whole).map(|(label, &bits)| (label, f32::from_bits(bits))))
    }
}

/// Whether these are the bits of a number that is neither infinite nor NaN.
#[inline(always)]
pub(super) fn is_finite(bits: u32) -> bool {
    const EXPONENT: u32 = f32::INFINITY.to_bits();
    bits & EXPONENT != EXPONENT
}

impl NodeWeights {
    /// Weights from their arrays, if the rows are in range and hold finite weights of labels below `L` in ascending
    /// order; otherwise, what is wrong.
    pub(super) fn from_arrays(
        labels: usize,
        starts: Checked<u32>,
        words: Checked<u32>,
    ) -> std::result::Result<Self, &'static str> {
        if starts.is_watched() || words.is_watched() {
            return Ok(NodeWeights { labels, starts, words }); // each row is checked when it is used
        }
        let (offsets, all) = (starts.raw(), words.raw());
        if offsets.first() != Some(&0) || !rises_to(offsets, all.len()) {
            return Err("offsets of node weights that do not increase from 0 to their end");
        }
        let mut legal = true;
        for (&start, &end) in offsets.iter().zip(offsets.iter().skip(1)) {
            let row = &all[start as usize..end as usize];
            if row.len() == labels {
                legal &= row.iter().all(|&bits| is_finite(bits));
            } else if row.len() > labels || !row.len().is_multiple_of(2) {
                return Err("a row of node weights with a wrong length");
            } else {
                let mut least = 0; // as a number that no label exceeds
                for &[y, bits] in row.as_chunks().0 {
                    legal &= u64::from(y) >= least && is_finite(bits);
                    least = u64::from(y) + 1;
                }
                legal &= least <= labels as u64;
            }
        }
        if !legal {
            return Err("node weights that are not finite, or with labels out of order or range");
        }
        Ok(NodeWeights { labels, starts, words })
    }

    /// Where each row begins, and the rows.
    pub(super) fn arrays(&self) -> (&[u32], &[u32]) {
        (self.starts.whole(), self.words.whole())
    }

    /// What is told of damage, if the arrays are checked while they are used.
    pub(super) fn damage(&self) -> Option<&Arc<Damage>> {
        self.starts.damage().or(self.words.damage())
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.starts.raw().len().saturating_sub(1)
    }

    /// Number of nonzero weights.
    pub fn stored(&self) -> usize {
        let ids = 0..self.features() as FeatureId;
        ids.map(|id| self.row(id).iter().filter(|(_, weight)| *weight != 0.0).count()).sum()
    }

    /// The memory of the weights, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.starts.raw()) + size_of_val(self.words.raw())
    }

    /// The weights of a feature.
    #[inline(always)]
    pub fn row(&self, feature: FeatureId) -> Row<'_> {
        let words = self.words_of(feature as usize).unwrap_or_default();
        // Lists are shorter than L words: see `push`.
        if words.len() == self.labels { Row::Whole(words) } else { Row::List(words.as_chunks().0) }
    }

    /// The words of a row; none if they are damaged.
    #[inline]
    fn words_of(&self, feature: usize) -> Option<&[u32]> {
        let (start, end) = (*self.starts.get(feature)?, *self.starts.get(feature + 1)?);
        self.words.part(start as usize..end as usize)
    }

    /// Prefetches the offset of a row or, if `near`, its first weights.
    #[inline]
    pub(crate) fn prefetch(&self, feature: FeatureId, near: bool) {
        if near {
            prefetch(
                self.words.raw(),
                self.starts.raw().get(feature as usize).map_or(0, |&start| start as usize),
            );
        } else {
            prefetch(self.starts.raw(), feature as usize);
        }
    }

    /// Adds the weights of a feature, times `value`, to a row of `L` scores.
    #[inline(always)]
    pub fn add_to(&self, feature: FeatureId, value: f32, scores: &mut [f32]) {
        match self.row(feature) {
            // No label is out of range, unless a file with the right checksums says so.
            Row::List(list) if value == 1.0 => {
                for &[y, bits] in list {
                    if let Some(score) = scores.get_mut(y as usize) {
                        *score += f32::from_bits(bits);
                    }
                }
            }
            Row::List(list) => {
                for &[y, bits] in list {
                    if let Some(score) = scores.get_mut(y as usize) {
                        *score += value * f32::from_bits(bits);
                    }
                }
            }
            Row::Whole(bits) => {
                for (score, &bits) in scores.iter_mut().zip(bits) {
                    *score += value * f32::from_bits(bits);
                }
            }
        }
    }

    /// The same, faster if rows are wide: the look-up is inlined, and whole rows go by eights, so that few weights are left to be added one by
    /// one. (Rows of a few labels are added faster by `add_to`.)
    #[inline(always)]
    pub(crate) fn add_wide_to(&self, feature: FeatureId, value: f32, scores: &mut [f32]) {
        let feature = feature as usize;
        let Some(&[start, end]) =
            self.starts.part_inlined(feature..feature + 2).and_then(|two| two.first_chunk())
        else {
            return;
        };
        let Some(words) = self.words.part_inlined(start as usize..end as usize) else { return };
        if words.len() != self.labels {
            for &[y, bits] in words.as_chunks().0 {
                if let Some(score) = scores.get_mut(y as usize) {
                    *score += value * f32::from_bits(bits);
                }
            }
            return;
        }
        let count = scores.len().min(words.len());
        let (scores, last_scores) = scores[..count].as_chunks_mut::<8>();
        let (words, last_words) = words[..count].as_chunks::<8>();
        for (scores, words) in scores.iter_mut().zip(words) {
            for i in 0..8 {
                scores[i] += value * f32::from_bits(words[i]);
            }
        }
        for (score, &bits) in last_scores.iter_mut().zip(last_words) {
            *score += value * f32::from_bits(bits);
        }
    }
}

/// Collects rows, feature by feature.
#[derive(Debug, Clone)]
pub struct NodeWeightsBuilder {
    labels: usize,
    starts: Vec<u32>,
    words: Vec<u32>,
}

impl NodeWeightsBuilder {
    /// No rows yet.
    pub fn new(labels: usize) -> Self {
        NodeWeightsBuilder { labels, starts: vec![0], words: Vec::new() }
    }

    /// Adds the row of the next feature: labels in ascending order, each once. Zeros are dropped.
    ///
    /// # Errors
    /// [`Error::LabelOutOfRange`], [`Error::IllegalScore`] for a weight that is not finite, [`Error::Shape`] for labels
    /// out of order or more than four billion weights.
    pub fn push(&mut self, row: impl IntoIterator<Item = (LabelId, f32)>) -> Result<()> {
        let feature = self.starts.len() - 1;
        let start = self.words.len();
        let mut last = None;
        for (label, weight) in row {
            if label as usize >= self.labels {
                let what = format!("weights of node feature {feature}");
                return Err(Error::LabelOutOfRange { what, label: label.into(), labels: self.labels });
            }
            if !weight.is_finite() {
                let what = format!("the weight of node feature {feature}, label {label}");
                return Err(Error::IllegalScore { what, value: weight.into() });
            }
            if last.replace(label).is_some_and(|last| last >= label) {
                return Err(Error::shape("weights of a node feature", "labels in ascending order", label));
            }
            if weight != 0.0 {
                self.words.extend([label, weight.to_bits()]);
            }
        }
        let words = self.words.len() - start;
        let many = words / 2 >= WHOLE_FROM.max(self.labels / WHOLE_PART);
        if many || words >= self.labels && words > 0 {
            let mut whole = vec![0.0f32.to_bits(); self.labels];
            for pair in self.words[start..].as_chunks::<2>().0 {
                whole[pair[0] as usize] = pair[1];
            }
            self.words.truncate(start);
            self.words.extend(whole);
        }
        let end = u32::try_from(self.words.len())
            .map_err(|_| Error::shape("weights of node features", "at most 2^32", "more"))?;
        self.starts.push(end);
        Ok(())
    }

    /// Returns the weights.
    pub fn finish(self) -> NodeWeights {
        NodeWeights { labels: self.labels, starts: self.starts.into(), words: self.words.into() }
    }
}
