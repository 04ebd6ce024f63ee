//! `decode`, `kbest_iter`, `path_score`, `decoders`.

use crate::array::Dtype;
use crate::call::{Given, Resolved};
use crate::edges::labels_of;
use crate::error;
use crate::parallel::{self, Number};
use crate::path::{PathIterator, PyPath};
use kbest::decode::{Answers, Lattices, catalogue};
use kbest::{Decode, Decoded, Decoder, LabelId, Score};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Runs a generic function with the float type of a call.
macro_rules! with_dtype {
    ($dtype:expr, $function:ident($($argument:expr),*)) => {
        match $dtype {
            Dtype::F32 => $function::<f32>($($argument),*),
            Dtype::F64 => $function::<f64>($($argument),*),
        }
    };
}
pub(crate) use with_dtype;

/// The best path, or the k best.
///
/// Args:
///     node: scores of labels at positions: (T, L), a batch (B, T, L), or a list of arrays (T, L). numpy, torch, anything
///         with DLPack or `__array__`; -inf forbids a label.
///     edge: scores of neighbouring labels [from, to]: (L, L); one matrix per step, (T-1, L, L) or (B, T-1, L, L); a
///         scipy.sparse matrix (what it does not store is 0); kbest.SparseEdges; kbest.Edges, prepared once; or None for
///         zeros.
///     k: how many paths.
///     lengths: valid positions of each sequence of a batch.
///     mask: the same as booleans (B, T), valid positions first.
///     start, end: (L,) scores of the first and the last label.
///     allowed: booleans (L,), (T, L) or (B, T, L): labels that are allowed.
///     forced: {position: label}, or an array (T,) or (B, T) with -1 where any label may be; a list of dicts for a batch.
///     label_names: names of the labels, for constraints.
///     constraints: "auto", a scheme such as "iob2" or "bilou", a transition file, or a list of these.
///     decoder: see kbest.decoders(), with an option if it has one: "astar:m3", "beam:16".
///     dtype: float32 or float64; by default the smallest that loses nothing.
///     threads: for batches; 0 means all cores.
///
/// Returns:
///     A Path; for k > 1 a list of them, best first (fewer if there are not that many); for a batch a list of these.
///
/// Raises:
///     ShapeError, DtypeError, ScoreError (NaN or +inf) with the name of the argument; NoPathError if everything is
///     forbidden; UnsupportedError if the decoder cannot do this.
///
/// >>> import numpy as np, kbest
/// >>> node = np.array([[1.0, 0.0, 2.0], [0.0, 0.5, 1.0]])
/// >>> edge = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -np.inf]])
/// >>> kbest.decode(node, edge)
/// Path(labels=[0, 1], score=3.5, exact=True)
/// >>> [path.score for path in kbest.decode(node, edge, k=3)]
/// [3.5, 2.5, 2.0]
/// >>> kbest.decode(node, edge, forced={0: 2}).labels
/// array([2, 1], dtype=int32)
#[pyfunction]
#[pyo3(signature = (node, edge, *, k=1, lengths=None, mask=None, start=None, end=None, allowed=None, forced=None,
                    label_names=None, constraints=None, decoder="auto", dtype=None, threads=0))]
pub(crate) fn decode<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Option<&Bound<'py, PyAny>>,
    k: usize,
    lengths: Option<&Bound<'py, PyAny>>,
    mask: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    allowed: Option<&Bound<'py, PyAny>>,
    forced: Option<&Bound<'py, PyAny>>,
    label_names: Option<Vec<String>>,
    constraints: Option<&Bound<'py, PyAny>>,
    decoder: &str,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let label_names = label_names.as_ref();
    let given =
        Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype };
    let call = given.resolve()?;
    let decoder = named_decoder(py, decoder, k)?;
    with_dtype!(call.dtype, decoded(py, &call, k, &decoder, threads))
}

/// The decoder of this name, if it can find `k` paths.
pub(crate) fn named_decoder(py: Python<'_>, name: &str, k: usize) -> PyResult<Decoder> {
    if k == 0 {
        return Err(error::argument(py, "k", "at least 1", 0));
    }
    let decoder = Decoder::by_name(name).and_then(|decoder| decoder.supports(k).map(|()| decoder));
    decoder.map_err(|failed| error::exception(py, failed))
}

fn decoded<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    k: usize,
    decoder: &Decoder,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = call.read::<S>()?;
    let (view, scores) = (arrays.view(), arrays.scores());
    let answers = py.detach(|| {
        let ready = view.ready()?;
        Ok(parallel::map::<S, _>(ready.len(), threads, scores, |memory, i| {
            decoder.decode_kbest(&ready.lattice(i)?, k, &mut memory.scratch)
        }))
    });
    let answers: Vec<kbest::Result<Decoded<S>>> = answers.map_err(|failed| error::exception(py, failed))?;
    let mut all = Vec::with_capacity(answers.len());
    for (i, answer) in answers.into_iter().enumerate() {
        let place = arrays.batch.then_some(i);
        let answer = answer.map_err(|failed| error::with_place(py, failed, place))?;
        all.push(shown(py, &answer, k)?);
    }
    one_or_list(py, all, arrays.batch)
}

/// One path, or a list of them.
fn shown<'py, S: Number>(py: Python<'py>, answer: &Decoded<S>, k: usize) -> PyResult<Bound<'py, PyAny>> {
    let path = |path: &kbest::Path<S>| {
        let made = PyPath::new(py, &path.labels, path.score.to_f64(), answer.exact, answer.decoder);
        Bound::new(py, made).map(Bound::into_any)
    };
    match k {
        1 => path(answer.best()),
        _ => Ok(PyList::new(py, answer.paths.iter().map(path).collect::<PyResult<Vec<_>>>()?)?.into_any()),
    }
}

/// The paths of one sequence, best first, each found when it is asked for.
///
/// Takes what `decode` takes for a single sequence. `unique_by` maps each label to a group (L numbers): then only paths
/// that differ in their groups are returned, the best of each.
///
/// >>> import kbest
/// >>> paths = kbest.kbest_iter([[1.0, 0.0], [4.0, 0.0]], None)
/// >>> [(path.labels.tolist(), path.score) for path in paths]
/// [([0, 0], 5.0), ([1, 0], 4.0), ([0, 1], 1.0), ([1, 1], 0.0)]
#[pyfunction]
#[pyo3(signature = (node, edge, *, start=None, end=None, allowed=None, forced=None, label_names=None, constraints=None,
                    dtype=None, unique_by=None))]
pub(crate) fn kbest_iter<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    allowed: Option<&Bound<'py, PyAny>>,
    forced: Option<&Bound<'py, PyAny>>,
    label_names: Option<Vec<String>>,
    constraints: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    unique_by: Option<&Bound<'py, PyAny>>,
) -> PyResult<PathIterator> {
    let label_names = label_names.as_ref();
    let (lengths, mask) = (None, None);
    let given =
        Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype };
    let call = given.resolve()?;
    let groups = unique_by.map(|groups| labels_of(groups, "unique_by")).transpose()?;
    with_dtype!(call.dtype, iterator(py, &call, groups))
}

fn iterator<S: Number>(
    py: Python<'_>,
    call: &Resolved<'_, '_>,
    groups: Option<Vec<u32>>,
) -> PyResult<PathIterator> {
    let arrays = call.read::<S>()?;
    if arrays.batch {
        return Err(error::shape(py, "node", "one sequence (T, L)", "a batch"));
    }
    if let Some(groups) = groups.as_ref().filter(|groups| groups.len() != arrays.labels) {
        return Err(error::shape(py, "unique_by", format!("{} labels", arrays.labels), groups.len()));
    }
    let view = arrays.view();
    let lattice = py.detach(|| view.ready()?.owned(0)).map_err(|failed| error::exception(py, failed))?;
    let plain = |path: kbest::Path<S>| (path.labels, path.score.to_f64());
    let paths = kbest::kbest_iter(lattice);
    Ok(match groups {
        Some(groups) => PathIterator::new(paths.unique_by(move |y: LabelId| groups[y as usize]).map(plain)),
        None => PathIterator::new(paths.map(plain)),
    })
}

/// The score of a given path: the sum of its node, edge, start and end scores.
///
/// `path` is one path, or one per sequence of a batch (then an array of scores is returned). Everything else is as in
/// `decode`. Forbidden paths score -inf.
///
/// >>> import kbest
/// >>> kbest.path_score([[1.0, 0.0], [4.0, 0.0]], [[0.0, 3.0], [0.0, 0.0]], [0, 1])
/// 4.0
#[pyfunction]
#[pyo3(signature = (node, edge, path, *, lengths=None, mask=None, start=None, end=None, allowed=None, forced=None,
                    label_names=None, constraints=None, dtype=None))]
pub(crate) fn path_score<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Option<&Bound<'py, PyAny>>,
    path: &Bound<'py, PyAny>,
    lengths: Option<&Bound<'py, PyAny>>,
    mask: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    allowed: Option<&Bound<'py, PyAny>>,
    forced: Option<&Bound<'py, PyAny>>,
    label_names: Option<Vec<String>>,
    constraints: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let label_names = label_names.as_ref();
    let given =
        Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype };
    let call = given.resolve()?;
    with_dtype!(call.dtype, scored(py, &call, path))
}

fn scored<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    path: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = call.read::<S>()?;
    let paths = paths_of(path, arrays.lengths(), arrays.batch)?;
    let view = arrays.view();
    let scores = py.detach(|| {
        let ready = view.ready().map_err(|failed| (None, failed))?;
        let score = |(i, path): (usize, &Vec<u32>)| {
            let score = ready.lattice(i).and_then(|lattice| lattice.path_score(path));
            score.map(Score::to_f64).map_err(|failed| (Some(i).filter(|_| arrays.batch), failed))
        };
        paths.iter().enumerate().map(score).collect::<Result<Vec<f64>, _>>()
    });
    let scores = scores.map_err(|(place, failed)| error::with_place(py, failed, place))?;
    numbers(py, scores, arrays.batch)
}

/// The answer for one sequence, or a list of answers for a batch.
pub(crate) fn one_or_list<'py>(
    py: Python<'py>,
    mut answers: Vec<Bound<'py, PyAny>>,
    batch: bool,
) -> PyResult<Bound<'py, PyAny>> {
    match answers.pop() {
        Some(only) if !batch => Ok(only),
        last => {
            answers.extend(last);
            Ok(PyList::new(py, answers)?.into_any())
        }
    }
}

/// A number, or an array of numbers for a batch.
pub(crate) fn numbers(py: Python<'_>, numbers: Vec<f64>, batch: bool) -> PyResult<Bound<'_, PyAny>> {
    match numbers[..] {
        [only] if !batch => Ok(only.into_pyobject(py)?.into_any()),
        _ => Ok(numpy::PyArray1::from_vec(py, numbers).into_any()),
    }
}

/// One path per sequence: labels, `Path` objects, or an array (B, T) of which the valid positions are read.
pub(crate) fn paths_of(path: &Bound<'_, PyAny>, lengths: &[usize], batch: bool) -> PyResult<Vec<Vec<u32>>> {
    let py = path.py();
    let one = |path: &Bound<'_, PyAny>| match path.cast::<PyPath>() {
        Ok(path) => labels_of(&path.getattr("labels")?, "path"),
        Err(_) => labels_of(path, "path"),
    };
    if !batch {
        return Ok(vec![one(path)?]);
    }
    let mut paths = path.try_iter()?.map(|path| one(&path?)).collect::<PyResult<Vec<_>>>()?;
    if paths.len() != lengths.len() {
        return Err(error::shape(py, "path", format!("{} paths", lengths.len()), paths.len()));
    }
    for (path, &length) in paths.iter_mut().zip(lengths) {
        path.truncate(length);
    }
    Ok(paths)
}

/// All decoders: a list of dicts with name, paths ("1" or "k"), exact, cost and advice.
///
/// >>> import kbest
/// >>> [decoder["name"] for decoder in kbest.decoders()][:2]
/// ['auto', 'funnel']
#[pyfunction]
pub(crate) fn decoders(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let described = catalogue(Lattices::Positions).map(|entry| {
        let dict = PyDict::new(py);
        dict.set_item("name", entry.name)?;
        dict.set_item("paths", if entry.answers == Answers::One { "1" } else { "k" })?;
        dict.set_item("exact", entry.exact)?;
        dict.set_item("cost", entry.cost)?;
        dict.set_item("advice", entry.advice)?;
        Ok(dict)
    });
    described.collect()
}
