//! Constraints on the labels of a position: the node scores of forbidden labels are set to minus infinity.
//!
//! A lattice that borrows its node scores copies them at the first constraint; owned scores are changed in place.

use super::Lattice;
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::simd::Float;

impl<S: Float> Lattice<'_, S> {
    /// Allows only the given labels at position `t`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a position past the end, [`Error::LabelOutOfRange`] for a label that is too large.
    pub fn allow(mut self, t: usize, allowed: &[LabelId]) -> Result<Self> {
        let labels = self.labels();
        let mut keep = vec![false; labels];
        for &y in allowed {
            let Some(slot) = keep.get_mut(y as usize) else {
                let what = format!("allowed labels of position {t}");
                return Err(Error::LabelOutOfRange { what, label: y.into(), labels });
            };
            *slot = true;
        }
        self.mask_row(t, &keep)?;
        Ok(self)
    }

    /// Requires label `y` at position `t`.
    ///
    /// # Errors
    /// As [`Lattice::allow`].
    pub fn force(self, t: usize, y: LabelId) -> Result<Self> {
        self.allow(t, &[y])
    }

    /// Forbids label `y` at position `t`.
    ///
    /// # Errors
    /// As [`Lattice::allow`].
    pub fn forbid(mut self, t: usize, y: LabelId) -> Result<Self> {
        let mut keep = vec![true; self.labels()];
        let labels = keep.len();
        let Some(slot) = keep.get_mut(y as usize) else {
            let what = format!("forbidden label of position {t}");
            return Err(Error::LabelOutOfRange { what, label: y.into(), labels });
        };
        *slot = false;
        self.mask_row(t, &keep)?;
        Ok(self)
    }

    /// Allows only the labels that are true in a `T x L` row-major mask.
    ///
    /// # Errors
    /// [`Error::Shape`] if the mask does not have the size of the node scores.
    pub fn allow_mask(mut self, mask: &[bool]) -> Result<Self> {
        let labels = self.labels();
        if mask.len() != self.positions() * labels {
            return Err(Error::shape("mask of allowed labels", self.positions() * labels, mask.len()));
        }
        for (t, row) in mask.chunks_exact(labels).enumerate() {
            if row.contains(&false) {
                self.mask_row(t, row)?;
            }
        }
        Ok(self)
    }

    fn mask_row(&mut self, t: usize, keep: &[bool]) -> Result<()> {
        if t >= self.positions() {
            let expected = format!("a position below {}", self.positions());
            return Err(Error::shape("allowed labels", expected, format!("position {t}")));
        }
        let labels = self.labels();
        let row = &mut self.nodes.to_mut()[t * labels..(t + 1) * labels];
        for (node, &keep) in row.iter_mut().zip(keep) {
            if !keep {
                *node = S::FORBIDDEN;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::lattice::{Edges, Lattice};

    #[test]
    fn constraints_forbid_and_leave_the_callers_scores_alone() {
        let edges = Edges::dense(3, vec![0.0f32; 9]).unwrap();
        let nodes = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        let lattice =
            Lattice::new(&nodes[..], &edges).unwrap().allow(0, &[0, 2]).unwrap().force(1, 1).unwrap();
        assert_eq!(lattice.node_row(0), [1.0, f32::NEG_INFINITY, 3.0]);
        assert_eq!(lattice.node_row(1), [f32::NEG_INFINITY, 5.0, f32::NEG_INFINITY]);
        assert_eq!(nodes[1], 2.0);
        let without = lattice.clone().forbid(0, 2).unwrap();
        assert_eq!(without.node_row(0), [1.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
        assert!(lattice.clone().forbid(2, 0).is_err() && lattice.clone().forbid(0, 3).is_err());
        assert!(lattice.clone().allow(2, &[0]).is_err() && lattice.clone().force(0, 3).is_err());
        assert!(lattice.allow_mask(&[true; 5]).is_err());
    }
}
