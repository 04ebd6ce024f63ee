//! What occurs together in training data: a linear model has weights for these pairs.

use super::Example;
use super::layout::Pair;
use crate::feature::{Extractor, FeatureId};
use crate::state::{StateReader, StateWriter};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use kbest_core::LabelId;
use kbest_core::{Error, Result};

/// Features and the labels or pairs of labels that they occur with.
#[derive(Debug, Clone, Default)]
pub(in crate::train) struct Observed {
    pub(super) states: HashSet<(FeatureId, LabelId), FixedState>,
    pub(super) transitions: HashSet<(FeatureId, Pair), FixedState>,
}

impl Observed {
    pub(in crate::train) fn of(examples: &[Example]) -> Self {
        let mut all = Self::default();
        for Example { features, gold, .. } in examples {
            for (t, &y) in gold.iter().enumerate() {
                all.states.extend(features.nodes(t).iter().map(|&feature| (feature, y)));
            }
            for t in 1..gold.len() {
                let pair = (gold[t - 1], gold[t]);
                all.transitions.extend(features.edges(t).iter().map(|&feature| (feature, pair)));
            }
        }
        all
    }

    pub(in crate::train) fn to_bytes(&self) -> Vec<u8> {
        let mut state = StateWriter::new();
        let mut states: Vec<_> = self.states.iter().copied().collect();
        states.sort_unstable();
        state.list(states.iter().map(|&(feature, y)| u64::from(feature) << 32 | u64::from(y)));
        let mut transitions: Vec<_> = self.transitions.iter().copied().collect();
        transitions.sort_unstable();
        state.list(transitions.iter().map(|&(feature, _)| feature));
        state.list(transitions.iter().map(|&(_, (from, to))| u64::from(from) << 32 | u64::from(to)));
        state.into_bytes()
    }

    /// Adds what [`Observed::to_bytes`] wrote, of this many labels and the features of this extractor.
    pub(in crate::train) fn absorb(
        &mut self,
        bytes: &[u8],
        labels: usize,
        extractor: &Extractor,
    ) -> Result<()> {
        let mut state = StateReader::new(bytes);
        let label = |y: u64| match y as LabelId {
            y if (y as usize) < labels => Ok(y),
            y => Err(Error::LabelOutOfRange { what: "observations".into(), label: y.into(), labels }),
        };
        let feature = |id: u64, features: usize| match id as FeatureId {
            id if (id as usize) < features => Ok(id),
            id => Err(Error::shape("observations", format!("features below {features}"), id)),
        };
        for both in state.list::<u64>()? {
            self.states.insert((feature(both >> 32, extractor.nodes().len())?, label(both & 0xffff_ffff)?));
        }
        let (features, pairs) = (state.list::<u32>()?, state.list::<u64>()?);
        if features.len() != pairs.len() {
            return Err(Error::shape("observations", features.len(), pairs.len()));
        }
        for (id, pair) in features.into_iter().zip(pairs) {
            let id = feature(id.into(), extractor.edges().len())?;
            self.transitions.insert((id, (label(pair >> 32)?, label(pair & 0xffff_ffff)?)));
        }
        state.finish()
    }
}
