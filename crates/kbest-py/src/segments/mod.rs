//! The functions of `kbest.segments`: the same questions about segments instead of single positions.

mod parts;

use crate::array::Dtype;
use crate::call::{Given, Ready, Resolved};
use crate::decode::{numbers, one_or_list, with_dtype};
use crate::error;
use crate::parallel::{self, Number};
use crate::path::int32;
use kbest::Decoder;
use kbest::segment::{Marginals, Scratch, Segment, SegmentLattice, segmentations};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use parts::{Parts, Value};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::Mutex;

/// Segments that cover a sequence, and their score.
///
/// Attributes:
///     segments: (n, 3) int32, start, end and label of each segment; the end is the position after its last.
///     labels: (T,) int32, the label of each position.
///     score: node scores, durations, scores of segments, edges between segments, start and end.
///     exact: whether it is proven to be best (or k-th best).
///     decoder: name of the decoder that found it.
#[pyclass(frozen, name = "Segmentation", module = "kbest")]
pub(crate) struct PySegmentation {
    #[pyo3(get)]
    segments: Py<PyArray2<i32>>,
    #[pyo3(get)]
    labels: Py<PyArray1<i32>>,
    #[pyo3(get)]
    score: f64,
    #[pyo3(get)]
    exact: bool,
    #[pyo3(get)]
    decoder: &'static str,
}

impl PySegmentation {
    fn new(py: Python<'_>, found: &Found, exact: bool, decoder: &'static str) -> PyResult<Self> {
        let flat = found.0.iter().flat_map(|s| [s.start as i32, s.end as i32, s.label as i32]).collect();
        let labels = found.0.iter().flat_map(|s| std::iter::repeat_n(s.label, s.end - s.start));
        Ok(PySegmentation {
            segments: PyArray1::from_vec(py, flat).reshape([found.0.len(), 3])?.unbind(),
            labels: int32(py, &labels.collect::<Vec<_>>()),
            score: found.1,
            exact,
            decoder,
        })
    }
}

#[pymethods]
impl PySegmentation {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let segments = self.segments.bind(py).call_method0("tolist")?.repr()?;
        let exact = if self.exact { "True" } else { "False" };
        Ok(format!("Segmentation(segments={segments}, score={:?}, exact={exact})", self.score))
    }
}

type Found = (Vec<Segment>, f64);

/// The segmentations of a sequence, best first, each found when it is asked for. Made by `kbest.segments.kbest_iter`.
#[pyclass(frozen, name = "SegmentationIterator", module = "kbest")]
pub(crate) struct SegmentationIterator {
    found: Mutex<Box<dyn Iterator<Item = Found> + Send>>,
}

#[pymethods]
impl SegmentationIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PySegmentation>> {
        let next = || self.found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
        py.detach(next).map(|found| PySegmentation::new(py, &found, true, "auto")).transpose()
    }
}

/// Probabilities of segments under `exp(score) / Z`.
///
/// Attributes:
///     node: (T, L), the probability that a position belongs to a segment with each label.
///     boundary: (T + 1,), the probability that a segment ends before each position; 1 at both ends.
///     log_partition: log Z.
#[pyclass(frozen, name = "SegmentMarginals", module = "kbest")]
pub(crate) struct PySegmentMarginals {
    #[pyo3(get)]
    node: Py<PyArray2<f64>>,
    #[pyo3(get)]
    boundary: Py<PyArray1<f64>>,
    #[pyo3(get)]
    log_partition: f64,
}

impl PySegmentMarginals {
    pub(crate) fn new(
        py: Python<'_>,
        node: Vec<f64>,
        boundary: Vec<f64>,
        log_partition: f64,
    ) -> PyResult<Self> {
        let positions = boundary.len() - 1;
        let labels = node.len().checked_div(positions).unwrap_or(0);
        let node = PyArray1::from_vec(py, node).reshape([positions, labels])?.unbind();
        Ok(PySegmentMarginals { node, boundary: PyArray1::from_vec(py, boundary).unbind(), log_partition })
    }
}

/// Runs `work` on the lattice of each sequence, on many threads.
fn each<'py, S: Number, R: Send>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    parts: &Parts<'_, 'py>,
    threads: usize,
    work: impl Fn(&SegmentLattice<'_, S>, usize) -> kbest::Result<R> + Sync,
) -> PyResult<(Vec<R>, bool)> {
    let arrays = call.read::<S>()?;
    let part_arrays = parts.read(py, &arrays)?;
    let (view, part_view) = (arrays.view(), part_arrays.view());
    let results = py.detach(|| {
        let ready: Ready<'_, S> = view.ready()?;
        // The memory of chains is of no use here, so none is kept.
        Ok(parallel::map::<S, _>(ready.len(), threads, usize::MAX, |_, i| {
            work(&part_view.borrowed(ready.lattice(i)?, i)?, i)
        }))
    });
    let results: Vec<kbest::Result<R>> = results.map_err(|failed| error::exception(py, failed))?;
    let all = results
        .into_iter()
        .enumerate()
        .map(|(i, result)| result.map_err(|failed| error::with_place(py, failed, arrays.batch.then_some(i))));
    Ok((all.collect::<PyResult<_>>()?, arrays.batch))
}

/// The best segmentation, or the k best.
///
/// A segment [s, r) with label y scores sum(node[s:r, y]) + duration[r-s-1, y] + segment[s, r-s-1, y]; edges join the labels
/// of neighbouring segments.
///
/// Args:
///     node, edge, k, lengths, mask, start, end, allowed, dtype, threads: as for `kbest.decode`.
///     duration: (W, L) scores of lengths; no segment is longer than W.
///     segment: (T, W, L) or (B, T, W, L) scores of single segments by start and length - 1.
///     longest: the longest segment, or (L,) one limit per label (0 forbids the label).
///     forced_segments: [(start, end, label)] that must be there; a label of None allows any. For a batch a list of lists.
///     forbidden_segments: the same, that must not.
///     decoder: "auto", "semi-funnel", "semi-viterbi", "semi-viterbi-simd", "semi-astar".
///
/// >>> import kbest
/// >>> node = [[1.0, 0.0], [1.0, 0.0], [0.0, 3.0]]
/// >>> kbest.segments.decode(node, [[-1.0, -1.0], [-1.0, -1.0]], longest=2)
/// Segmentation(segments=[[0, 2, 0], [2, 3, 1]], score=4.0, exact=True)
#[pyfunction]
#[pyo3(signature = (node, edge, *, k=1, duration=None, segment=None, longest=None, lengths=None, mask=None, start=None,
                    end=None, allowed=None, forced_segments=None, forbidden_segments=None, decoder="auto", dtype=None,
                    threads=0))]
pub(crate) fn segments_decode<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Value<'_, 'py>,
    k: usize,
    duration: Value<'_, 'py>,
    segment: Value<'_, 'py>,
    longest: Value<'_, 'py>,
    lengths: Value<'_, 'py>,
    mask: Value<'_, 'py>,
    start: Value<'_, 'py>,
    end: Value<'_, 'py>,
    allowed: Value<'_, 'py>,
    forced_segments: Value<'_, 'py>,
    forbidden_segments: Value<'_, 'py>,
    decoder: &str,
    dtype: Value<'_, 'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let call = given(node, edge, lengths, mask, start, end, allowed, dtype).resolve()?;
    let parts = Parts { duration, segment, longest, forced_segments, forbidden_segments };
    let decoder = Decoder::by_name(decoder).map_err(|failed| error::exception(py, failed))?;
    with_dtype!(call.dtype, decoded(py, &call, &parts, k, decoder, threads))
}

fn given<'a, 'py>(
    node: &'a Bound<'py, PyAny>,
    edge: Value<'a, 'py>,
    lengths: Value<'a, 'py>,
    mask: Value<'a, 'py>,
    start: Value<'a, 'py>,
    end: Value<'a, 'py>,
    allowed: Value<'a, 'py>,
    dtype: Value<'a, 'py>,
) -> Given<'a, 'py> {
    let (forced, label_names, constraints) = (None, None, None);
    Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype }
}

fn decoded<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    parts: &Parts<'_, 'py>,
    k: usize,
    decoder: Decoder,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let (answers, batch) = each::<S, _>(py, call, parts, threads, |lattice, _| {
        decoder.decode_segments(lattice, k, &mut Scratch::default())
    })?;
    let mut all = Vec::with_capacity(answers.len());
    for answer in answers {
        let exact = answer.exact;
        let found = answer.paths.into_iter().map(|found| {
            let found = (found.segments, found.score.to_f64());
            Bound::new(py, PySegmentation::new(py, &found, exact, answer.decoder)?)
        });
        let mut found = found.collect::<PyResult<Vec<_>>>()?;
        all.push(match k {
            1 => found.swap_remove(0).into_any(),
            _ => PyList::new(py, found)?.into_any(),
        });
    }
    one_or_list(py, all, batch)
}

/// The segmentations of one sequence, best first, each found when it is asked for. Takes what `decode` takes.
///
/// >>> import kbest
/// >>> found = kbest.segments.kbest_iter([[0.0], [0.0], [0.0]], [[-1.0]])
/// >>> [segmentation.score for segmentation in found]
/// [0.0, -1.0, -1.0, -2.0]
#[pyfunction]
#[pyo3(signature = (node, edge, *, duration=None, segment=None, longest=None, start=None, end=None, allowed=None,
                    forced_segments=None, forbidden_segments=None, dtype=None))]
pub(crate) fn segments_kbest_iter<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Value<'_, 'py>,
    duration: Value<'_, 'py>,
    segment: Value<'_, 'py>,
    longest: Value<'_, 'py>,
    start: Value<'_, 'py>,
    end: Value<'_, 'py>,
    allowed: Value<'_, 'py>,
    forced_segments: Value<'_, 'py>,
    forbidden_segments: Value<'_, 'py>,
    dtype: Value<'_, 'py>,
) -> PyResult<SegmentationIterator> {
    let call = given(node, edge, None, None, start, end, allowed, dtype).resolve()?;
    let parts = Parts { duration, segment, longest, forced_segments, forbidden_segments };
    with_dtype!(call.dtype, iterator(py, &call, &parts))
}

fn iterator<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    parts: &Parts<'_, 'py>,
) -> PyResult<SegmentationIterator> {
    let arrays = call.read::<S>()?;
    if arrays.batch {
        return Err(error::shape(py, "node", "one sequence (T, L)", "a batch"));
    }
    let part_arrays = parts.read(py, &arrays)?;
    let (view, part_view) = (arrays.view(), part_arrays.view());
    let lattice = py.detach(|| part_view.owned(view.ready()?.owned(0)?));
    let lattice = lattice.map_err(|failed| error::exception(py, failed))?;
    let plain = |found: kbest::segment::Segmentation<S>| (found.segments, found.score.to_f64());
    Ok(SegmentationIterator { found: Mutex::new(Box::new(segmentations(lattice).map(plain))) })
}

/// The score of a segmentation: [(start, end, label)], or an array (n, 3). For a batch one per sequence, and an array of
/// scores. Takes what `decode` takes.
///
/// >>> import kbest
/// >>> kbest.segments.path_score([[1.0, 0.0], [1.0, 0.0]], None, [(0, 2, 0)], duration=[[0.0, 0.0], [0.5, 0.0]])
/// 2.5
#[pyfunction]
#[pyo3(signature = (node, edge, segments, *, duration=None, segment=None, longest=None, lengths=None, mask=None, start=None,
                    end=None, allowed=None, dtype=None))]
pub(crate) fn segments_path_score<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Value<'_, 'py>,
    segments: &Bound<'py, PyAny>,
    duration: Value<'_, 'py>,
    segment: Value<'_, 'py>,
    longest: Value<'_, 'py>,
    lengths: Value<'_, 'py>,
    mask: Value<'_, 'py>,
    start: Value<'_, 'py>,
    end: Value<'_, 'py>,
    allowed: Value<'_, 'py>,
    dtype: Value<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let call = given(node, edge, lengths, mask, start, end, allowed, dtype).resolve()?;
    let (forced_segments, forbidden_segments) = (None, None);
    let parts = Parts { duration, segment, longest, forced_segments, forbidden_segments };
    with_dtype!(call.dtype, scored(py, &call, &parts, segments))
}

fn scored<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    parts: &Parts<'_, 'py>,
    segments: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let expected = "a list of (start, end, label), or one per sequence of a batch";
    let wrong = |_| error::argument(py, "segments", expected, "something else");
    let one = |segments: &Bound<'py, PyAny>| match segments.cast::<PySegmentation>() {
        Ok(found) => found.getattr("segments")?.call_method0("tolist")?.extract(),
        Err(_) if segments.hasattr("tolist")? => segments.call_method0("tolist")?.extract(),
        Err(_) => segments.extract::<Vec<[usize; 3]>>(),
    };
    let all: Vec<Vec<[usize; 3]>> = match call.is_batch() {
        true => {
            segments.try_iter()?.map(|segments| one(&segments?)).collect::<PyResult<_>>().map_err(wrong)?
        }
        false => vec![one(segments).map_err(wrong)?],
    };
    if all.len() != call.count() {
        return Err(error::shape(py, "segments", format!("{} sequences", call.count()), all.len()));
    }
    // A label that is too large for its type is out of range whatever its value.
    let segment = |[start, end, label]: [usize; 3]| Segment {
        start,
        end,
        label: u32::try_from(label).unwrap_or(u32::MAX),
    };
    let all: Vec<Vec<Segment>> =
        all.into_iter().map(|segments| segments.into_iter().map(segment).collect()).collect();
    let (scores, batch) =
        each::<S, _>(py, call, parts, 0, |lattice, i| Ok(lattice.segmentation_score(&all[i])?.to_f64()))?;
    numbers(py, scores, batch)
}

/// Probabilities of labels and boundaries under `exp(score) / Z`. Takes what `decode` takes.
///
/// >>> import kbest
/// >>> sums = kbest.segments.marginals([[0.0], [0.0]], [[0.0]])  # one segment of two, or two of one
/// >>> sums.boundary.round(3).tolist()
/// [1.0, 0.5, 1.0]
#[pyfunction]
#[pyo3(signature = (node, edge, *, duration=None, segment=None, longest=None, lengths=None, mask=None, start=None,
                    end=None, allowed=None, forced_segments=None, forbidden_segments=None, dtype=None, threads=0))]
pub(crate) fn segments_marginals<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Value<'_, 'py>,
    duration: Value<'_, 'py>,
    segment: Value<'_, 'py>,
    longest: Value<'_, 'py>,
    lengths: Value<'_, 'py>,
    mask: Value<'_, 'py>,
    start: Value<'_, 'py>,
    end: Value<'_, 'py>,
    allowed: Value<'_, 'py>,
    forced_segments: Value<'_, 'py>,
    forbidden_segments: Value<'_, 'py>,
    dtype: Value<'_, 'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let call = given(node, edge, lengths, mask, start, end, allowed, dtype).resolve()?;
    let parts = Parts { duration, segment, longest, forced_segments, forbidden_segments };
    with_dtype!(call.dtype, summed(py, &call, &parts, threads))
}

fn summed<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    parts: &Parts<'_, 'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let (sums, batch) = each::<S, _>(py, call, parts, threads, |lattice, _| {
        let sums = Marginals::new(lattice)?;
        let boundary: Vec<f64> = (0..=lattice.positions()).map(|t| sums.boundary(t)).collect();
        Ok((sums.labels(), boundary, sums.log_partition()))
    })?;
    let made = sums.into_iter().map(|(node, boundary, log_partition)| {
        Bound::new(py, PySegmentMarginals::new(py, node, boundary, log_partition)?).map(Bound::into_any)
    });
    one_or_list(py, made.collect::<PyResult<_>>()?, batch)
}

/// The logarithm of the sum of `exp(score)` over all segmentations. Takes what `decode` takes.
///
/// >>> import kbest, math
/// >>> math.isclose(kbest.segments.log_partition([[0.0], [0.0], [0.0]], [[0.0]]), math.log(4))
/// True
#[pyfunction]
#[pyo3(signature = (node, edge, *, duration=None, segment=None, longest=None, lengths=None, mask=None, start=None,
                    end=None, allowed=None, forced_segments=None, forbidden_segments=None, dtype=None, threads=0))]
pub(crate) fn segments_log_partition<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Value<'_, 'py>,
    duration: Value<'_, 'py>,
    segment: Value<'_, 'py>,
    longest: Value<'_, 'py>,
    lengths: Value<'_, 'py>,
    mask: Value<'_, 'py>,
    start: Value<'_, 'py>,
    end: Value<'_, 'py>,
    allowed: Value<'_, 'py>,
    forced_segments: Value<'_, 'py>,
    forbidden_segments: Value<'_, 'py>,
    dtype: Value<'_, 'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let call = given(node, edge, lengths, mask, start, end, allowed, dtype).resolve()?;
    let parts = Parts { duration, segment, longest, forced_segments, forbidden_segments };
    with_dtype!(call.dtype, partitions(py, &call, &parts, threads))
}

fn partitions<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    parts: &Parts<'_, 'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let work = |lattice: &SegmentLattice<'_, S>, _| Ok(Marginals::new(lattice)?.log_partition());
    let (sums, batch) = each::<S, _>(py, call, parts, threads, work)?;
    numbers(py, sums, batch)
}
