//! Segments that must be there, and segments that must not.

use super::SegmentLattice;
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::simd::Float;

impl<S: Float> SegmentLattice<'_, S> {
    /// Requires the segment `[start, end)` with this label: nothing else may cover any of its positions.
    ///
    /// # Errors
    /// [`Error::Shape`] for a span that is empty or passes the end, [`Error::LabelOutOfRange`].
    pub fn force(mut self, start: usize, end: usize, label: LabelId) -> Result<Self> {
        self.check_span(start, end, label)?;
        for t in start..end {
            self.chain = self.chain.force(t, label)?;
        }
        self.required.extend([start, end]);
        self.closed.extend(start + 1..end);
        Ok(self.changed())
    }

    /// Forbids the segment `[start, end)` with this label, and no other.
    ///
    /// # Errors
    /// As [`SegmentLattice::force`].
    pub fn forbid(mut self, start: usize, end: usize, label: LabelId) -> Result<Self> {
        self.check_span(start, end, label)?;
        self.forbidden.insert((end, start, label));
        Ok(self.changed())
    }

    /// Forbids the segment `[start, end)`, whatever its label.
    ///
    /// # Errors
    /// [`Error::Shape`] for a span that is empty or passes the end.
    pub fn forbid_span(mut self, start: usize, end: usize) -> Result<Self> {
        self.check_span(start, end, 0)?;
        self.forbidden.extend((0..self.labels()).map(|y| (end, start, y as LabelId)));
        Ok(self.changed())
    }

    /// Requires a segment `[start, end)`, whatever its label.
    ///
    /// # Errors
    /// [`Error::Shape`] for a span that is empty or passes the end.
    pub fn force_span(mut self, start: usize, end: usize) -> Result<Self> {
        self.check_span(start, end, 0)?;
        self.required.extend([start, end]);
        self.closed.extend(start + 1..end);
        Ok(self.changed())
    }

    /// Requires a boundary before position `t`: a segment ends there and another begins.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is no such position.
    pub fn require_boundary(mut self, t: usize) -> Result<Self> {
        self.check_boundary(t)?;
        self.required.insert(t);
        Ok(self.changed())
    }

    /// Forbids a boundary before position `t`: both sides belong to one segment.
    ///
    /// # Errors
    /// As [`SegmentLattice::require_boundary`].
    pub fn forbid_boundary(mut self, t: usize) -> Result<Self> {
        self.check_boundary(t)?;
        self.closed.insert(t);
        Ok(self.changed())
    }

    fn check_boundary(&self, t: usize) -> Result<()> {
        if (1..self.positions()).contains(&t) {
            return Ok(());
        }
        let expected = format!("a position between others, 1 to {}", self.positions().saturating_sub(1));
        Err(Error::shape("boundary", expected, t))
    }

    pub(super) fn check_span(&self, start: usize, end: usize, label: LabelId) -> Result<()> {
        if start >= end || end > self.positions() {
            let expected = format!("at least one and at most {} positions", self.positions());
            return Err(Error::shape("segment", expected, format!("[{start}, {end})")));
        }
        if label as usize >= self.labels() {
            let what = format!("segment [{start}, {end})");
            return Err(Error::LabelOutOfRange { what, label: label.into(), labels: self.labels() });
        }
        Ok(())
    }
}
