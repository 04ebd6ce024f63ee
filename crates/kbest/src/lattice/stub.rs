use super::{EdgeScores, Edges};
use crate::error::Result;
use crate::kernel::Float;
use crate::label::LabelId;
impl<S: Float> Edges<S> {
    /// Adds to one edge.
    ///
    /// # Errors
    /// Illegal sums.
    pub fn add(&mut self, from: LabelId, to: LabelId, change: S) -> Result<()> {
        let labels = self.labels();
        let mut all = vec![S::ZERO; labels * labels];
        for p in 0..labels {
            for y in 0..labels {
                all[p * labels + y] = match self.shape() {
                    super::Shape::Dense(e) => e.get(1, p, y),
                    super::Shape::Sparse(e) => e.get(1, p, y),
                    _ => S::ZERO,
                };
            }
        }
        let at = from as usize * labels + to as usize;
        all[at] = all[at] + change;
        *self = Edges::dense(labels, all)?;
        Ok(())
    }
}
