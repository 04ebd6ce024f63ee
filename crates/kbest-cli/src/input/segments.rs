//! The keys `duration`, `segment`, `segment_begin` and `segment_end`: lattices of segments.

use super::array::Scores;
use super::batch::{Batch, Keys};
use crate::failure::{Failure, Result};
use kbest::Float;
use kbest::segment::SegmentLattice;

const BEGIN: &str = "segment_begin";
const END: &str = "segment_end";

/// What the keys hold.
#[derive(Debug)]
pub(super) struct SegmentScores<S> {
    duration: Option<Vec<S>>,         // W x L
    segment: Option<(usize, Vec<S>)>, // longest; (1 or B) x T x W x L
    boundaries: Option<[Vec<S>; 2]>,  // beginning, ending at a position: (1 or B) x T x L each
}

impl<S: Scores> SegmentScores<S> {
    /// Takes the keys out; `None` if there are none.
    pub(super) fn take(keys: &mut Keys, node: [usize; 3], batched: bool) -> Result<Option<Self>> {
        let [sequences, rows, labels] = node;
        if !["duration", "segment", BEGIN, END].iter().any(|key| keys.has(key)) {
            return Ok(None);
        }
        let wrong = |keys: &Keys, key: &str, expected: String, got: String| {
            Err(keys.error(key, format!("expected {expected} with W of at least 1, got shape {got}")))
        };
        let duration = match keys.take("duration") {
            None => None,
            Some(array) => match *array.shape.as_slice() {
                [longest, width] if longest > 0 && width == labels => Some(keys.scores("duration", array)?),
                _ => return wrong(keys, "duration", format!("shape (W, {labels})"), array.shape_text()),
            },
        };
        let segment = match keys.take("segment") {
            None => None,
            Some(array) => match *array.shape.as_slice() {
                [starts, longest, width] if !batched && [starts, width] == [rows, labels] && longest > 0 => {
                    Some((longest, keys.scores("segment", array)?))
                }
                [batch, starts, longest, width]
                    if batched && [batch, starts, width] == [sequences, rows, labels] && longest > 0 =>
                {
                    Some((longest, keys.scores("segment", array)?))
                }
                _ => {
                    let batch = if batched { format!("{sequences}, ") } else { String::new() };
                    let expected = format!("shape ({batch}{rows}, W, {labels})");
                    return wrong(keys, "segment", expected, array.shape_text());
                }
            },
        };
        let shape: &[usize] = if batched { &node } else { &node[1..] };
        let mut boundary = |key| match keys.shaped(key, "the shape of node", &[shape])? {
            Some(array) => keys.scores(key, array).map(Some),
            None => Ok(None),
        };
        // One without the other: the other counts 0.
        let none = || vec![S::ZERO; sequences * rows * labels];
        let boundaries = match (boundary(BEGIN)?, boundary(END)?) {
            (None, None) => None,
            (begin, end) => Some([begin.unwrap_or_else(none), end.unwrap_or_else(none)]),
        };
        Ok(Some(SegmentScores { duration, segment, boundaries }))
    }
}

impl<S: Float> Batch<S> {
    /// Whether these are lattices of segments.
    pub(crate) fn is_segments(&self) -> bool {
        self.segments.is_some()
    }

    /// One lattice of segments per sequence; as [`Batch::lattices`], all of them are checked.
    ///
    /// # Errors
    /// [`Failure::Input`] for NaN or plus infinity, with sequence and place.
    pub fn segment_lattices(&self) -> Result<Vec<SegmentLattice<'_, S>>> {
        let mut lattices = vec![];
        for (b, lattice) in self.lattices()?.into_iter().enumerate() {
            let length = lattice.positions();
            let mut lattice = SegmentLattice::new(lattice);
            let refuse = |key: &str, error: kbest::Error| {
                Failure::input(&self.file, format!("key `{key}`, sequence {b}: {error}"))
            };
            if let Some(scores) = &self.segments {
                if let Some(duration) = &scores.duration {
                    lattice = lattice.with_durations(duration).map_err(|error| refuse("duration", error))?;
                }
                if let Some(boundaries) = &scores.boundaries {
                    let labels = self.labels();
                    let [begin, end] =
                        boundaries.each_ref().map(|all| &all[b * self.rows * labels..][..length * labels]);
                    lattice = lattice
                        .with_boundaries(begin, end)
                        .map_err(|error| refuse("segment_begin, segment_end", error))?;
                }
                // Without positions the array is empty, whatever its longest segment.
                if let Some((longest, scores)) = scores.segment.as_ref().filter(|_| length > 0) {
                    let stride = longest * self.labels();
                    let own = &scores[b * self.rows * stride..][..length * stride];
                    lattice = lattice.with_scores(*longest, own).map_err(|error| refuse("segment", error))?;
                }
            }
            lattices.push(lattice);
        }
        Ok(lattices)
    }
}
