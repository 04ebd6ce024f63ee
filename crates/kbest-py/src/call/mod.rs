//! The arguments of a call, checked, as lattices.
//!
//! First arrays are read with the interpreter at hand ([`Arrays`]); then edges, limits and lattices are made from their
//! slices without it ([`View`], [`Ready`]).

mod ready;

pub(crate) use ready::{Ready, View};

use crate::array::{Booleans, Dtype, as_array, booleans, dtype_of, integers, read, shown, slice};
use crate::edges::{EdgeArrays, EdgeSource, transitions};
use crate::error;
use crate::parallel::Number;
use kbest::transition::Transitions;
use numpy::{PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// What the functions share, as given.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a, 'py> {
    pub(crate) node: &'a Bound<'py, PyAny>,
    pub(crate) edge: Option<&'a Bound<'py, PyAny>>,
    pub(crate) lengths: Option<&'a Bound<'py, PyAny>>,
    pub(crate) mask: Option<&'a Bound<'py, PyAny>>,
    pub(crate) start: Option<&'a Bound<'py, PyAny>>,
    pub(crate) end: Option<&'a Bound<'py, PyAny>>,
    pub(crate) allowed: Option<&'a Bound<'py, PyAny>>,
    pub(crate) forced: Option<&'a Bound<'py, PyAny>>,
    pub(crate) label_names: Option<&'a Vec<String>>,
    pub(crate) constraints: Option<&'a Bound<'py, PyAny>>,
    pub(crate) dtype: Option<&'a Bound<'py, PyAny>>,
}

/// Node scores before their type is chosen.
enum Nodes<'py> {
    One(Bound<'py, PyUntypedArray>),         // (T, L)
    Batch(Bound<'py, PyUntypedArray>),       // (B, T, L)
    Ragged(Vec<Bound<'py, PyUntypedArray>>), // (T, L) each
}

/// The arguments after their type has been chosen.
pub(crate) struct Resolved<'a, 'py> {
    given: Given<'a, 'py>,
    nodes: Nodes<'py>,
    edges: EdgeSource<'py>,
    pub(crate) dtype: Dtype,
}

impl<'a, 'py> Given<'a, 'py> {
    /// Looks at node and edge scores and chooses the float type: as asked, else the one that loses nothing.
    pub(crate) fn resolve(self) -> PyResult<Resolved<'a, 'py>> {
        let py = self.node.py();
        let (nodes, edges) = (self.nodes()?, EdgeSource::of(self.edge)?);
        let dtype = match self.dtype {
            Some(dtype) => Dtype::asked(dtype)?,
            None => {
                let mut dtype = edges.dtype()?.unwrap_or(Dtype::F32);
                for array in nodes.arrays() {
                    if dtype_of(array, "node")? == Dtype::F64 {
                        dtype = Dtype::F64;
                    }
                }
                dtype
            }
        };
        if matches!(nodes, Nodes::One(_)) {
            for (name, value) in [("lengths", self.lengths), ("mask", self.mask)] {
                if value.is_some() {
                    return Err(error::shape(py, name, "None for a single sequence", "a value"));
                }
            }
        }
        Ok(Resolved { given: self, nodes, edges, dtype })
    }

    fn nodes(&self) -> PyResult<Nodes<'py>> {
        let (node, py) = (self.node, self.node.py());
        if let Some(arrays) = ragged(node)? {
            for array in &arrays {
                if array.ndim() != 2 {
                    return Err(error::shape(py, "node", "a list of arrays (T, L)", shown(array.shape())));
                }
            }
            return Ok(Nodes::Ragged(arrays));
        }
        let array = as_array(node, "node")?;
        match array.ndim() {
            2 => Ok(Nodes::One(array)),
            3 => Ok(Nodes::Batch(array)),
            _ => Err(error::shape(py, "node", "shape (T, L) or (B, T, L)", shown(array.shape()))),
        }
    }
}

/// The arrays of a list of sequences; `None` for anything else, such as nested lists of numbers.
fn ragged<'py>(node: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyUntypedArray>>>> {
    if !node.is_instance_of::<PyList>() && !node.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let Ok(first) = node.get_item(0) else { return Ok(Some(Vec::new())) };
    let is_array = first.is_instance_of::<PyUntypedArray>()
        || first.hasattr("__array__")?
        || first.hasattr("__dlpack__")?;
    if !is_array || first.getattr("ndim").and_then(|n| n.extract::<usize>()).unwrap_or(0) != 2 {
        return Ok(None);
    }
    node.try_iter()?.map(|array| as_array(&array?, "node")).collect::<PyResult<_>>().map(Some)
}

impl<'py> Nodes<'py> {
    fn arrays(&self) -> &[Bound<'py, PyUntypedArray>] {
        match self {
            Nodes::One(array) | Nodes::Batch(array) => std::slice::from_ref(array),
            Nodes::Ragged(arrays) => arrays,
        }
    }
}

/// The arguments of a call, in numpy's memory.
pub(crate) struct Arrays<'py, S: Number> {
    nodes: Vec<PyReadonlyArrayDyn<'py, S>>,
    lengths: Vec<usize>,  // one per sequence
    steps: Option<usize>, // T of an array (B, T, L)
    pub(crate) batch: bool,
    pub(crate) labels: usize,
    edges: EdgeArrays<'py, S>,
    start: Option<PyReadonlyArrayDyn<'py, S>>,
    end: Option<PyReadonlyArrayDyn<'py, S>>,
    allowed: Option<Booleans>,
    forced: Vec<Vec<(usize, u32)>>,        // one per sequence, or none
    transitions: [Option<Transitions>; 2], // of edges; of the first and last labels
}

impl<'py> Resolved<'_, 'py> {
    /// Whether there are several sequences.
    pub(crate) fn is_batch(&self) -> bool {
        !matches!(self.nodes, Nodes::One(_))
    }

    /// Number of sequences.
    pub(crate) fn count(&self) -> usize {
        match &self.nodes {
            Nodes::One(_) => 1,
            Nodes::Batch(array) => array.shape()[0],
            Nodes::Ragged(arrays) => arrays.len(),
        }
    }

    pub(crate) fn read<S: Number>(&self) -> PyResult<Arrays<'py, S>> {
        let py = self.given.node.py();
        let edges = self.edges.read::<S>(py)?;
        let nodes = self.nodes.arrays().iter().map(|array| read(array, "node", S::NAME));
        let nodes = nodes.collect::<PyResult<Vec<_>>>()?;
        let labels = match (nodes.first(), edges.labels(py)?) {
            (Some(array), labels) => {
                let got = array.shape()[array.ndim() - 1];
                match labels {
                    Some(labels) if labels != got => {
                        return Err(error::shape(py, "node", format!("{labels} labels, as edge has"), got));
                    }
                    _ if got == 0 => return Err(error::shape(py, "node", "at least one label", "none")),
                    _ => got,
                }
            }
            (None, labels) => labels.unwrap_or(1),
        };
        if let Some(array) = nodes.iter().find(|array| array.shape()[array.ndim() - 1] != labels) {
            return Err(error::shape(
                py,
                "node",
                format!("{labels} labels, as before"),
                shown(array.shape()),
            ));
        }
        let (batch, count) = (self.is_batch(), self.count());
        let steps = if let Nodes::Batch(array) = &self.nodes { Some(array.shape()[1]) } else { None };
        let full = |i: usize| steps.unwrap_or_else(|| nodes[i].shape()[0]);
        let lengths = self.lengths(py, count, &full)?;
        self.check_edges(py, &edges, count, batch)?;
        let border = |value: Option<&Bound<'py, PyAny>>, argument: &'static str| match value {
            None => Ok(None),
            Some(value) => {
                let array = as_array(value, argument)?;
                dtype_of(&array, argument)?;
                match array.shape() {
                    [got] if *got == labels => read(&array, argument, S::NAME).map(Some),
                    got => Err(error::shape(py, argument, format!("shape ({labels},)"), shown(got))),
                }
            }
        };
        let allowed = self.allowed(py, count, steps, labels, &lengths)?;
        let transitions = self.transitions(py, labels)?;
        Ok(Arrays {
            start: border(self.given.start, "start")?,
            end: border(self.given.end, "end")?,
            forced: self.forced(py, &lengths, labels)?,
            nodes,
            lengths,
            steps,
            batch,
            labels,
            edges,
            allowed,
            transitions,
        })
    }

    /// The number of valid positions of each sequence.
    fn lengths(&self, py: Python<'_>, count: usize, full: &dyn Fn(usize) -> usize) -> PyResult<Vec<usize>> {
        match (self.given.lengths, self.given.mask) {
            (Some(_), Some(_)) => Err(error::argument(py, "mask", "lengths or a mask", "both")),
            (None, None) => Ok((0..count).map(full).collect()),
            (Some(lengths), None) => {
                let array = integers(lengths, "lengths")?;
                if array.shape() != [count] {
                    return Err(error::shape(
                        py,
                        "lengths",
                        format!("shape ({count},)"),
                        shown(array.shape()),
                    ));
                }
                let length = |(i, &length): (usize, &i64)| match usize::try_from(length) {
                    Ok(length) if length <= full(i) => Ok(length),
                    _ => {
                        let expected = format!("0 to {} positions for sequence {i}", full(i));
                        Err(error::shape(py, "lengths", expected, length))
                    }
                };
                slice(&array).iter().enumerate().map(length).collect()
            }
            (None, Some(mask)) => {
                let Booleans { shape, values } = booleans(mask, "mask")?;
                let steps = match (&shape[..], &self.nodes) {
                    (&[sequences, steps], Nodes::Batch(node)) if [sequences, steps] == node.shape()[..2] => {
                        steps
                    }
                    (got, _) => {
                        let expected = format!("shape ({count}, T), as node has");
                        return Err(error::shape(py, "mask", expected, shown(got)));
                    }
                };
                let rows = values.chunks_exact(steps.max(1)).take(count);
                let length = |(i, row): (usize, &[bool])| {
                    let length = row.iter().take_while(|valid| **valid).count();
                    if row[length..].contains(&true) {
                        let expected = format!("valid positions first in sequence {i}");
                        return Err(error::shape(py, "mask", expected, "a gap"));
                    }
                    Ok(length)
                };
                let mut lengths: Vec<usize> = rows.enumerate().map(length).collect::<PyResult<_>>()?;
                lengths.resize(count, 0);
                Ok(lengths)
            }
        }
    }

    /// Refuses edges of another number of sequences.
    fn check_edges<S: Number>(
        &self,
        py: Python<'_>,
        edges: &EdgeArrays<'_, S>,
        count: usize,
        batch: bool,
    ) -> PyResult<()> {
        match edges.view().sequences() {
            Some(_) if !batch => {
                Err(error::shape(py, "edge", "shape (L, L) or (T-1, L, L)", "four dimensions"))
            }
            Some(sequences) if sequences != count => {
                Err(error::shape(py, "edge", format!("{count} sequences, as node has"), sequences))
            }
            _ => Ok(()),
        }
    }

    /// A mask (L,), (T, L) or (B, T, L).
    fn allowed(
        &self,
        py: Python<'py>,
        count: usize,
        steps: Option<usize>,
        labels: usize,
        lengths: &[usize],
    ) -> PyResult<Option<Booleans>> {
        let Some(allowed) = self.given.allowed else { return Ok(None) };
        let mask = booleans(allowed, "allowed")?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let fits = match mask.shape[..] {
            [got] => got == labels,
            [rows, got] => got == labels && steps.map_or(rows >= longest, |steps| rows == steps),
            [sequences, rows, got] => {
                got == labels && sequences == count && rows == steps.unwrap_or(longest) && steps.is_some()
            }
            _ => false,
        };
        if !fits {
            let expected = format!("shape ({labels},), (T, {labels}) or that of node");
            return Err(error::shape(py, "allowed", expected, shown(&mask.shape)));
        }
        Ok(Some(mask))
    }

    /// Labels that positions must have: {position: label}, or an array with -1 where any label may be.
    fn forced(&self, py: Python<'py>, lengths: &[usize], labels: usize) -> PyResult<Vec<Vec<(usize, u32)>>> {
        let Some(forced) = self.given.forced else { return Ok(Vec::new()) };
        let pair = |t: i64, y: i64, length: usize| match (usize::try_from(t), u32::try_from(y)) {
            (Ok(t), Ok(y)) if t < length && (y as usize) < labels => Ok((t, y)),
            (Ok(t), _) if t < length => Err(error::argument(
                py,
                "forced",
                format!("labels below {labels}"),
                format!("{y} at position {t}"),
            )),
            _ => Err(error::argument(py, "forced", format!("positions below {length}"), t)),
        };
        let of_dict = |dict: &Bound<'py, PyDict>, length: usize| {
            dict.iter().map(|(t, y)| pair(t.extract()?, y.extract()?, length)).collect::<PyResult<Vec<_>>>()
        };
        if let Ok(dict) = forced.cast::<PyDict>() {
            return match lengths {
                [length] => Ok(vec![of_dict(dict, *length)?]),
                _ => Err(error::shape(py, "forced", "a list of dicts for a batch", "one dict")),
            };
        }
        let is_list = forced.is_instance_of::<PyList>();
        if is_list
            && forced.len()? > 0
            && (forced.get_item(0)?.is_none() || forced.get_item(0)?.is_instance_of::<PyDict>())
        {
            let given = forced.cast::<PyList>()?;
            if given.len() != lengths.len() {
                return Err(error::shape(py, "forced", format!("{} entries", lengths.len()), given.len()));
            }
            let one = |(item, &length): (Bound<'py, PyAny>, &usize)| match item.cast::<PyDict>() {
                Ok(dict) => of_dict(dict, length),
                Err(_) if item.is_none() => Ok(Vec::new()),
                Err(_) => Err(error::dtype(py, "forced", "a list of dicts and None", item.get_type())),
            };
            return given.iter().zip(lengths).map(one).collect();
        }
        let array = integers(forced, "forced")?;
        let steps = match array.shape() {
            &[steps] if lengths.len() == 1 => steps,
            &[sequences, steps] if sequences == lengths.len() => steps,
            got => {
                let expected = "shape (T,) or (B, T), with -1 where any label may be";
                return Err(error::shape(py, "forced", expected, shown(got)));
            }
        };
        if let Some(length) = lengths.iter().find(|&&length| length > steps) {
            return Err(error::shape(py, "forced", format!("at least {length} positions"), steps));
        }
        let rows = slice(&array).chunks_exact(steps.max(1));
        let row = |(row, &length): (&[i64], &usize)| {
            let known = row[..length].iter().enumerate().filter(|(_, y)| **y != -1);
            known.map(|(t, &y)| pair(t as i64, y, length)).collect::<PyResult<Vec<_>>>()
        };
        let mut all: Vec<_> = rows.zip(lengths).map(row).collect::<PyResult<_>>()?;
        all.resize(lengths.len(), Vec::new());
        Ok(all)
    }

    /// Transitions to obey: those of the edges (prepared ones obey theirs already), and those of the first and last labels.
    fn transitions(&self, py: Python<'_>, labels: usize) -> PyResult<[Option<Transitions>; 2]> {
        let names = self.given.label_names.map(Vec::as_slice);
        let asked = transitions(py, names, self.given.constraints)?;
        let prepared = match &self.edges {
            EdgeSource::Prepared(edges) => edges.get().transitions.clone(),
            _ => None,
        };
        let both = match (prepared, asked.clone()) {
            (Some(prepared), Some(asked)) => {
                Some(prepared.and(asked).map_err(|failed| error::exception(py, failed))?)
            }
            (one, other) => one.or(other),
        };
        match &both {
            Some(transitions) if transitions.labels() != labels => {
                Err(error::shape(py, "label_names", format!("{labels} names"), transitions.labels()))
            }
            _ => Ok([asked, both]),
        }
    }
}

impl<S: Number> Arrays<'_, S> {
    /// The slices, without the interpreter.
    pub(crate) fn view(&self) -> View<'_, S> {
        let labels = self.labels;
        let nodes = match self.steps {
            Some(steps) => {
                let scores = slice(&self.nodes[0]);
                let row = |(i, length): (usize, &usize)| &scores[i * steps * labels..][..length * labels];
                self.lengths.iter().enumerate().map(row).collect()
            }
            None => {
                let cut = |(array, length)| &slice(array)[..length * labels];
                self.nodes.iter().zip(self.lengths.iter().copied()).map(cut).collect()
            }
        };
        View {
            nodes,
            labels,
            edges: self.edges.view(),
            start: self.start.as_ref().map(slice),
            end: self.end.as_ref().map(slice),
            allowed: self.allowed.as_ref().map(|mask| (mask.shape.len(), &mask.values[..])),
            steps: self.steps.unwrap_or(0),
            forced: &self.forced,
            transitions: self.transitions.each_ref().map(Option::as_ref),
        }
    }

    pub(crate) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The positions of an array (B, T, L), padding included.
    pub(crate) fn steps(&self) -> Option<usize> {
        self.steps
    }

    /// The largest number of node scores of a sequence.
    pub(crate) fn scores(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0) * self.labels
    }
}
