//! What only segments have: scores of lengths and of single segments, and limits on them.

use crate::array::{as_array, dtype_of, read, shown, slice};
use crate::call::Arrays;
use crate::edges::labels_of;
use crate::error;
use crate::parallel::Number;
use kbest::lattice::Held;
use kbest::segment::SegmentLattice;
use kbest::{Error, Lattice};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// An argument that may be absent.
pub(super) type Value<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// What only segments have, as given.
pub(super) struct Parts<'a, 'py> {
    pub(super) duration: Value<'a, 'py>,
    pub(super) segment: Value<'a, 'py>,
    pub(super) longest: Value<'a, 'py>,
    pub(super) forced_segments: Value<'a, 'py>,
    pub(super) forbidden_segments: Value<'a, 'py>,
}

/// A span with a label, or with any.
type Span = (usize, usize, Option<u32>);

/// The same in numpy's memory.
pub(super) struct PartArrays<'py, S: Number> {
    duration: Option<PyReadonlyArrayDyn<'py, S>>,
    segment: Option<PyReadonlyArrayDyn<'py, S>>,
    longest: Option<usize>,
    longest_of: Option<Vec<usize>>,
    forced: Vec<Vec<Span>>, // one per sequence, or none
    forbidden: Vec<Vec<Span>>,
}

/// The slices, without the interpreter.
pub(super) struct PartView<'a, S: Number> {
    duration: Option<&'a [S]>,
    segment: Option<(&'a [usize], &'a [S])>,
    longest: Option<usize>,
    longest_of: Option<&'a Vec<usize>>,
    forced: &'a [Vec<Span>],
    forbidden: &'a [Vec<Span>],
}

impl<'py> Parts<'_, 'py> {
    pub(super) fn read<S: Number>(
        &self,
        py: Python<'py>,
        arrays: &Arrays<'py, S>,
    ) -> PyResult<PartArrays<'py, S>> {
        let labels = arrays.labels;
        let table =
            |value: Value<'_, 'py>, argument: &'static str, shape: &str, fits: &dyn Fn(&[usize]) -> bool| {
                let Some(value) = value else { return Ok(None) };
                let array = as_array(value, argument)?;
                dtype_of(&array, argument)?;
                if !fits(array.shape()) {
                    return Err(error::shape(py, argument, shape, shown(array.shape())));
                }
                read(&array, argument, S::NAME).map(Some)
            };
        let duration = table(
            self.duration,
            "duration",
            &format!("shape (W, {labels})"),
            &|shape| matches!(shape, [_, got] if *got == labels),
        )?;
        let lengths = arrays.lengths();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let segment = table(
            self.segment,
            "segment",
            &format!("shape (T, W, {labels}), or (B, T, W, {labels}) for a batch"),
            &|shape| match *shape {
                [steps, _, got] => !arrays.batch && got == labels && steps == longest,
                [sequences, steps, _, got] => {
                    arrays.batch && got == labels && sequences == lengths.len() && steps >= longest
                }
                _ => false,
            },
        )?;
        let (mut longest, mut longest_of) = (None, None);
        if let Some(value) = self.longest {
            match value.extract::<usize>() {
                Ok(only) => longest = Some(only),
                Err(_) => {
                    longest_of = Some(labels_of(value, "longest")?.into_iter().map(|l| l as usize).collect())
                }
            }
        }
        let forced = spans(py, self.forced_segments, "forced_segments", arrays.batch, lengths.len())?;
        let forbidden =
            spans(py, self.forbidden_segments, "forbidden_segments", arrays.batch, lengths.len())?;
        Ok(PartArrays { duration, segment, longest, longest_of, forced, forbidden })
    }
}

/// Spans (start, end, label), where the label may be None; for a batch a list of them per sequence.
fn spans(
    py: Python<'_>,
    value: Value<'_, '_>,
    argument: &'static str,
    batch: bool,
    count: usize,
) -> PyResult<Vec<Vec<Span>>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let expected = if batch { "lists of (start, end, label)" } else { "a list of (start, end, label)" };
    let wrong = || error::argument(py, argument, expected, "something else");
    let given: Vec<Vec<[Option<usize>; 3]>> = match batch {
        true => value.extract().map_err(|_| wrong())?,
        false => vec![value.extract().map_err(|_| wrong())?],
    };
    let span = |&[start, end, label]: &[Option<usize>; 3]| {
        let label = label.map(u32::try_from).transpose().map_err(|_| wrong())?;
        Ok((start.ok_or_else(wrong)?, end.ok_or_else(wrong)?, label))
    };
    let all: PyResult<Vec<Vec<Span>>> = given.iter().map(|spans| spans.iter().map(span).collect()).collect();
    let all = all?;
    match all.len() == count {
        true => Ok(all),
        false => Err(error::shape(py, argument, format!("{count} lists"), all.len())),
    }
}

impl<S: Number> PartArrays<'_, S> {
    pub(super) fn view(&self) -> PartView<'_, S> {
        PartView {
            duration: self.duration.as_ref().map(slice),
            segment: self.segment.as_ref().map(|array| (array.shape(), slice(array))),
            longest: self.longest,
            longest_of: self.longest_of.as_ref(),
            forced: &self.forced,
            forbidden: &self.forbidden,
        }
    }
}

impl<'a, S: Number> PartView<'a, S> {
    /// The lattice of segments over the lattice of sequence `i`.
    pub(super) fn borrowed<'l>(&self, chain: Lattice<'l, S>, i: usize) -> kbest::Result<SegmentLattice<'l, S>>
    where
        'a: 'l,
    {
        let scores = self.scores(i, chain.positions()).map(|(longest, scores)| (longest, scores.into()));
        self.over(chain, i, self.duration.map(Held::Borrowed), scores)
    }

    /// The lattice of a single sequence, borrowing nothing.
    pub(super) fn owned(&self, chain: Lattice<'static, S>) -> kbest::Result<SegmentLattice<'static, S>> {
        let scores = self.scores(0, chain.positions());
        let scores = scores.map(|(longest, scores)| (longest, scores.to_vec().into()));
        self.over(chain, 0, self.duration.map(|duration| duration.to_vec().into()), scores)
    }

    /// The longest segment and the scores of single segments of sequence `i`.
    fn scores(&self, i: usize, positions: usize) -> Option<(usize, &'a [S])> {
        let (shape, scores) = self.segment?;
        let &[.., steps, longest, labels] = shape else { return None };
        Some((longest, &scores[i * steps * longest * labels..][..positions * longest * labels]))
    }

    fn over<'l>(
        &self,
        chain: Lattice<'l, S>,
        i: usize,
        duration: Option<Held<'l, [S]>>,
        scores: Option<(usize, Held<'l, [S]>)>,
    ) -> kbest::Result<SegmentLattice<'l, S>> {
        let mut lattice = SegmentLattice::new(chain);
        if let Some(duration) = duration {
            lattice = lattice.with_durations(duration)?;
        }
        if let Some((longest, scores)) = scores {
            lattice = lattice.with_scores(longest, scores)?;
        }
        if let Some(longest) = self.longest {
            lattice = lattice.with_longest(longest)?;
        }
        if let Some(longest) = self.longest_of {
            lattice = lattice.with_longest_by_label(longest.clone())?;
        }
        for &(start, end, label) in self.forced.get(i).into_iter().flatten() {
            let forced = match label {
                Some(label) => lattice.force(start, end, label),
                None => lattice.force_span(start, end),
            };
            lattice = forced.map_err(|failed| about("forced_segments", failed))?;
        }
        for &(start, end, label) in self.forbidden.get(i).into_iter().flatten() {
            let forbidden = match label {
                Some(label) => lattice.forbid(start, end, label),
                None => lattice.forbid_span(start, end),
            };
            lattice = forbidden.map_err(|failed| about("forbidden_segments", failed))?;
        }
        Ok(lattice)
    }
}

/// The same error about an argument: the library speaks of segments.
fn about(argument: &str, failed: Error) -> Error {
    let what = argument.to_owned();
    match failed {
        Error::Shape { expected, got, .. } => Error::Shape { what, expected, got },
        Error::LabelOutOfRange { label, labels, .. } => Error::LabelOutOfRange { what, label, labels },
        other => other,
    }
}
