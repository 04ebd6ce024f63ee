//! From a limited lattice to the probabilities of an answer, calibrated if the model is.
//!
//! **Cost.** Forward-backward. A temperature other than 1 needs scaled edges: those that all lattices share are scaled once and
//! shared by all taggers of a kind.

use super::Tagged;
use crate::scoring::Scorer;
use kbest_core::Result;
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::marginal::{Calibration, MarginalScratch, Marginals, marginals};
use std::sync::{Arc, OnceLock};

/// What is needed for probabilities, beside a lattice.
#[derive(Debug)]
pub(super) struct Probabilities {
    calibration: Option<Arc<Calibration>>,
    shares_edges: bool,                // all lattices have the same edges
    scaled: Arc<OnceLock<Edges<f32>>>, // these edges, divided by the temperature
    scratch: MarginalScratch,
}

impl Probabilities {
    pub(super) fn new(scorer: &impl Scorer) -> Self {
        Probabilities {
            calibration: scorer.calibration().cloned().map(Arc::new),
            shares_edges: scorer.shared_edges().is_some(),
            scaled: Arc::default(),
            scratch: MarginalScratch::new(),
        }
    }

    /// The same for another thread.
    pub(super) fn another(&self) -> Self {
        Probabilities {
            calibration: self.calibration.clone(),
            shares_edges: self.shares_edges,
            scaled: self.scaled.clone(),
            scratch: MarginalScratch::new(),
        }
    }

    pub(super) fn set(&mut self, calibration: Option<Calibration>) {
        self.calibration = calibration.map(Arc::new);
        self.forget_edges();
    }

    /// Lattices have other edges from now on.
    pub(super) fn forget_edges(&mut self) {
        self.scaled = Arc::default();
    }

    /// Fills in what is wanted.
    pub(super) fn fill(
        &mut self,
        lattice: &Lattice<'_, f32>,
        confidences: bool,
        distributions: bool,
        tagged: &mut Tagged,
    ) -> Result<()> {
        let Some(calibration) = self.calibration.clone() else {
            return fill(&marginals(lattice, &mut self.scratch)?, None, confidences, distributions, tagged);
        };
        let factor = calibration.temperature().recip();
        if factor == 1.0 {
            let sums = marginals(lattice, &mut self.scratch)?;
            return fill(&sums, Some(&calibration), confidences, distributions, tagged);
        }
        let lattice = if self.shares_edges {
            if self.scaled.get().is_none() {
                let _ = self.scaled.set(lattice.edges().scaled(factor)?); // or another thread was faster
            }
            let edges = self.scaled.get().expect("set above if it was not");
            lattice.scaled(factor, edges)?
        } else {
            lattice.scaled(factor, Arc::new(lattice.edges().scaled(factor)?))?
        };
        let sums = marginals(&lattice, &mut self.scratch)?;
        fill(&sums, Some(&calibration), confidences, distributions, tagged)
    }
}

fn fill(
    sums: &Marginals<'_, f32>,
    calibration: Option<&Calibration>,
    confidences: bool,
    distributions: bool,
    tagged: &mut Tagged,
) -> Result<()> {
    let curve = calibration.filter(|calibration| !calibration.curve().is_empty());
    if confidences {
        for path in &tagged.decoded.paths {
            tagged.confidences.push(vec![0.0; path.labels.len()]);
            tagged.probabilities.push(sums.path_log_probability(&path.labels)?.exp());
        }
    }
    let mut row = Vec::new();
    for t in 0..sums.positions() {
        row.clear();
        row.extend_from_slice(sums.node(t));
        if let Some(calibration) = curve {
            calibration.apply(&mut row);
        }
        // Without confidences there is no list to fill.
        for (path, confidences) in tagged.decoded.paths.iter().zip(&mut tagged.confidences) {
            confidences[t] = row[path.labels[t] as usize];
        }
        if distributions {
            tagged.distributions.extend_from_slice(&row);
        }
    }
    Ok(())
}
