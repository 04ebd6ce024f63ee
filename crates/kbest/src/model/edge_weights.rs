//! The weights of edge features: for each feature, the pairs of neighbouring labels that it favours or disfavours.

use super::container::Plain;
use super::node_weights::is_finite;
use super::{OverClasses, edges_of_best_shape};
use crate::checked::part_between;
use crate::feature::{FeatureId, rises_to};
use crate::memory::Blob;
use bytemuck::{Pod, Zeroable};
use kbest_core::LabelId;
use kbest_core::lattice::Edges;
use kbest_core::{Error, Result};

/// A pair of labels and its weight.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct EdgeWeight {
    /// The label before.
    pub from: LabelId,
    /// The label after.
    pub to: LabelId,
    /// The weight.
    pub weight: f32,
}

impl Plain for EdgeWeight {
    const WORD: usize = 4;
}

impl EdgeWeight {
    fn triple(&self) -> (LabelId, LabelId, f32) {
        (self.from, self.to, self.weight)
    }
}

/// Weights of all edge features.
#[derive(Debug, Clone, Default)]
pub struct EdgeWeights {
    labels: usize,
    starts: Blob<u32>, // F + 1: where the pairs of each feature begin
    pairs: Blob<EdgeWeight>,
}

impl EdgeWeights {
    /// From the pairs of each feature, in any order; zeros are dropped.
    ///
    /// # Errors
    /// [`Error::LabelOutOfRange`], [`Error::IllegalScore`] for a weight that is not finite, [`Error::Shape`] for a
    /// repeated pair or more than four billion pairs.
    pub fn new(labels: usize, features: impl IntoIterator<Item = Vec<EdgeWeight>>) -> Result<Self> {
        let (mut starts, mut pairs) = (vec![0], Vec::new());
        for (feature, mut of_feature) in features.into_iter().enumerate() {
            of_feature.sort_unstable_by_key(|pair| (pair.from, pair.to));
            let key = |pair: &EdgeWeight| (pair.from, pair.to);
            if let Some(twice) = of_feature.windows(2).find(|two| key(&two[0]) == key(&two[1])) {
                let got = format!("label {} to label {} twice", twice[0].from, twice[0].to);
                return Err(Error::shape(format!("edge feature {feature}"), "each pair once", got));
            }
            for pair in of_feature {
                if let Some(&label) = [pair.from, pair.to].iter().find(|&&y| y as usize >= labels) {
                    let what = format!("edge feature {feature}");
                    return Err(Error::LabelOutOfRange { what, label: label.into(), labels });
                }
                if !pair.weight.is_finite() {
                    let what =
                        format!("edge feature {feature}, from label {} to label {}", pair.from, pair.to);
                    return Err(Error::IllegalScore { what, value: pair.weight.into() });
                }
                if pair.weight != 0.0 {
                    pairs.push(pair);
                }
            }
            let end = u32::try_from(pairs.len());
            starts.push(end.map_err(|_| Error::shape("weights of edge features", "at most 2^32", "more"))?);
        }
        Ok(EdgeWeights { labels, starts: starts.into(), pairs: pairs.into() })
    }

    /// Weights from their arrays, if the pairs of each feature are in range and in ascending order, with finite weights
    /// and labels below `L`; otherwise, what is wrong.
    pub(super) fn from_arrays(
        labels: usize,
        starts: Blob<u32>,
        pairs: Blob<EdgeWeight>,
    ) -> std::result::Result<Self, &'static str> {
        if starts.first() != Some(&0) || !rises_to(&starts, pairs.len()) {
            return Err("offsets of edge weights that do not increase from 0 to their end");
        }
        let mut legal = true;
        for pair in &*pairs {
            let known = (pair.from as usize) < labels && (pair.to as usize) < labels;
            legal &= known && is_finite(pair.weight.to_bits());
        }
        let key = |pair: &EdgeWeight| (pair.from, pair.to);
        for (&start, &end) in starts.iter().zip(starts.iter().skip(1)) {
            let of_feature = &pairs[start as usize..end as usize];
            legal &= of_feature.is_sorted_by(|pair, next| key(pair) < key(next));
        }
        if !legal {
            return Err("edge weights that are not finite, or with labels out of order or range");
        }
        Ok(EdgeWeights { labels, starts, pairs })
    }

    /// Where the pairs of each feature begin, and the pairs.
    pub(super) fn arrays(&self) -> (&[u32], &[EdgeWeight]) {
        (&self.starts, &self.pairs)
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of stored pairs.
    pub fn stored(&self) -> usize {
        self.pairs.len()
    }

    /// The pairs of a feature, sorted by (from, to).
    pub fn pairs(&self, feature: FeatureId) -> &[EdgeWeight] {
        part_between(&self.pairs, &self.starts, feature as usize)
    }

    /// The sum of the edges of these features.
    ///
    /// # Errors
    /// [`Error::IllegalScore`] if the sum is infinite.
    pub fn sum(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        self.sum_over(features, None)
    }

    /// The same, added to the scores of classes of labels.
    pub(crate) fn sum_over(
        &self,
        features: &[FeatureId],
        over: Option<OverClasses<'_, f32>>,
    ) -> Result<Edges<f32>> {
        if let [feature] = features {
            return edges_of_best_shape(
                self.labels,
                over,
                self.pairs(*feature).iter().map(EdgeWeight::triple),
            );
        }
        let mut pairs: Vec<EdgeWeight> = features.iter().flat_map(|&id| self.pairs(id)).copied().collect();
        pairs.sort_by_key(|pair| (pair.from, pair.to)); // stable: added in the order of the features
        pairs.dedup_by(|next, kept| {
            let same = (next.from, next.to) == (kept.from, kept.to);
            if same {
                kept.weight += next.weight;
            }
            same
        });
        edges_of_best_shape(self.labels, over, pairs.iter().map(EdgeWeight::triple))
    }
}
