//! Tables of Arrow in, tables of Arrow out: columns of lists of strings, without a Python object per token.
//!
//! Tables come as streams of the C data interface, from pyarrow, polars or anything else that speaks it (`capsule.rs`), and
//! the answer is such a stream. A row is a sequence; workers read tokens where they lie.

mod capsule;

use crate::error;
use crate::tagger::{Answer, PyEvaluation, PyTagger};
use arrow_array::builder::{Float64Builder, ListBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, LargeListArray, LargeStringArray, ListArray, RecordBatch, RecordBatchIterator,
    StringArray, StringViewArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use kbest::{LabelSet, Sequence};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What the caller wants.
pub(crate) struct Wanted {
    pub(crate) columns: Vec<String>,
    pub(crate) k: usize,
    pub(crate) scores: bool,
    pub(crate) probabilities: bool,
    pub(crate) errors: bool,
    pub(crate) longest: usize,
    pub(crate) threads: usize,
}

/// A table of answers, to be read by pyarrow, polars or anything else that takes `__arrow_c_stream__`.
#[pyclass(frozen, name = "ArrowStream", module = "kbest")]
pub(crate) struct ArrowStream {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish that a producer may ignore
        let batches: Vec<Result<RecordBatch, ArrowError>> = self.batches.iter().cloned().map(Ok).collect();
        capsule::stream(py, RecordBatchIterator::new(batches, self.schema.clone()))
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// Tags every row of a stream of tables.
pub(crate) fn tag(
    py: Python<'_>,
    tagger: &PyTagger,
    stream: &Bound<'_, PyAny>,
    wanted: &Wanted,
) -> PyResult<ArrowStream> {
    let reader = capsule::reader(stream)?;
    let schema = wanted.schema();
    let tagged = py.detach(|| {
        let (mut batches, mut before) = (Vec::new(), 0);
        let most = most_tokens(tagger.tag_set(), wanted.k);
        for batch in reader {
            let batch = batch.map_err(|error| Failed::Arrow(error.to_string()))?;
            let columns =
                wanted.columns.iter().map(|name| Lists::of(&batch, name)).collect::<Result<Vec<_>, _>>()?;
            let mut next = 0;
            loop {
                let rows = columns.first().map_or(next..batch.num_rows(), |column| column.part(next, most));
                let answers = answers(tagger, &columns, rows.clone(), wanted);
                batches.push(wanted.table(&schema, tagger.tag_set(), answers, before + next)?);
                next = rows.end;
                if next == batch.num_rows() {
                    break;
                }
            }
            before += next;
        }
        Ok(batches)
    });
    let batches = tagged.map_err(|failed: Failed| failed.raised(py))?;
    Ok(ArrowStream { schema, batches })
}

/// Counts the right labels of every row.
pub(crate) fn evaluate(
    py: Python<'_>,
    tagger: &PyTagger,
    stream: &Bound<'_, PyAny>,
    columns: &[String],
    labels: &str,
    threads: usize,
) -> PyResult<PyEvaluation> {
    let sequences = labelled(py, stream, columns, labels)?;
    let answers = py.detach(|| tagger.tag_all(&sequences, threads));
    tagger.counted(py, &sequences, answers)
}

/// The rows of a stream as labelled sequences.
pub(crate) fn labelled(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    columns: &[String],
    labels: &str,
) -> PyResult<Vec<Sequence>> {
    let reader = capsule::reader(stream)?;
    let read = py.detach(|| {
        let mut sequences: Vec<Sequence> = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|error| Failed::Arrow(error.to_string()))?;
            let columns =
                columns.iter().map(|name| Lists::of(&batch, name)).collect::<Result<Vec<_>, _>>()?;
            let labels = Lists::of(&batch, labels)?;
            for i in 0..batch.num_rows() {
                let mut sequence = Sequence::new();
                let filled = fill(&mut sequence, &columns, Some(&labels), i, usize::MAX);
                filled.map_err(|missing| missing.of_row(sequences.len()))?;
                sequences.push(sequence);
            }
        }
        Ok(sequences)
    });
    read.map_err(|failed: Failed| failed.raised(py))
}

/// What ends the work.
enum Failed {
    Arrow(String),
    Row(usize, kbest::Error),
    Tokens(usize, String),
}

impl Failed {
    fn raised(self, py: Python<'_>) -> PyErr {
        let refuse = |problem: String| {
            error::argument(py, "batch", "a table with columns of lists of strings", problem)
        };
        match self {
            Failed::Arrow(problem) => refuse(problem),
            Failed::Row(row, failed) => error::in_batch(py, failed, row),
            Failed::Tokens(row, problem) => refuse(format!("{problem} in row {row}")),
        }
    }
}

impl From<ArrowError> for Failed {
    fn from(error: ArrowError) -> Self {
        Failed::Arrow(error.to_string())
    }
}

/// Why a row has no labels.
enum Missing {
    Null,
    Tokens(String),
    Failed(kbest::Error),
}

impl Missing {
    fn of_row(self, row: usize) -> Failed {
        match self {
            Missing::Null => Failed::Tokens(row, "null".into()),
            Missing::Tokens(problem) => Failed::Tokens(row, problem),
            Missing::Failed(failed) => Failed::Row(row, failed),
        }
    }
}

/// The answers for a row.
type Row = Result<Vec<Answer>, Missing>;

/// Strings of any layout.
enum Strings {
    Short(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
}

impl Strings {
    fn of(array: &dyn Array) -> Option<Self> {
        let any = array.as_any();
        any.downcast_ref().cloned().map(Strings::Short).or_else(|| {
            let large = any.downcast_ref().cloned().map(Strings::Large);
            large.or_else(|| any.downcast_ref().cloned().map(Strings::View))
        })
    }

    fn get(&self, i: usize) -> Option<&str> {
        match self {
            Strings::Short(array) => array.is_valid(i).then(|| array.value(i)),
            Strings::Large(array) => array.is_valid(i).then(|| array.value(i)),
            Strings::View(array) => array.is_valid(i).then(|| array.value(i)),
        }
    }
}

/// A column of lists of strings, all of which has been checked.
struct Lists {
    rows: ArrayRef,
    offsets: Vec<usize>,
    strings: Strings,
    unreadable: BTreeMap<usize, String>, // rows, and why
}

impl Lists {
    fn of(batch: &RecordBatch, name: &str) -> Result<Self, Failed> {
        let Some(column) = batch.column_by_name(name) else {
            let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
            return Err(Failed::Arrow(format!("columns {}, none of which is `{name}`", names.join(", "))));
        };
        let refused = |got: String| Failed::Arrow(format!("column `{name}` of {got}"));
        let any = column.as_any();
        let (offsets, values): (Vec<usize>, &ArrayRef) = if let Some(list) = any.downcast_ref::<ListArray>() {
            (list.value_offsets().iter().map(|&offset| offset as usize).collect(), list.values())
        } else if let Some(list) = any.downcast_ref::<LargeListArray>() {
            (list.value_offsets().iter().map(|&offset| offset as usize).collect(), list.values())
        } else {
            return Err(refused(column.data_type().to_string()));
        };
        let Some(strings) = Strings::of(values.as_ref()) else {
            return Err(refused(column.data_type().to_string()));
        };
        let damaged = |problem: ArrowError| refused(format!("damaged lists: {problem}"));
        column.to_data().validate_data().map_err(damaged)?; // nulls, and offsets within the values
        let unreadable = unreadable(values.as_ref(), &offsets);
        Ok(Lists { rows: column.clone(), offsets, strings, unreadable })
    }

    fn row(&self, i: usize) -> Range<usize> {
        self.offsets[i]..self.offsets[i + 1]
    }

    /// The rows from this one on that have at most so many tokens together; at least one row, if there is any.
    fn part(&self, from: usize, most: usize) -> Range<usize> {
        let rows = self.offsets.len().saturating_sub(1);
        let begun = self.offsets[from];
        let fits = (from..rows).take_while(|&i| self.offsets[i + 1] - begun <= most).count();
        from..rows.min(from + fits.max(1))
    }
}

/// The rows with a string that cannot be read, and why: it is not UTF-8, or lies outside the column's bytes. Usually one look at the
/// strings of all rows finds none; otherwise each row is looked at, then each string of a bad one.
fn unreadable(values: &dyn Array, offsets: &[usize]) -> BTreeMap<usize, String> {
    let damage = |strings: Range<usize>| {
        let data = values.slice(strings.start, strings.len()).to_data();
        data.validate_data().err()
    };
    // Many tables may be slices of one array: only what the rows of this one have.
    let all = offsets.first().zip(offsets.last()).map_or(0..0, |(&first, &last)| first..last);
    if damage(all).is_none() {
        return BTreeMap::new();
    }
    let of_row = |row: &[usize]| {
        damage(row[0]..row[1])?;
        let mut strings = (row[0]..row[1]).filter(|&i| values.is_valid(i));
        let bad = strings.find(|&i| damage(i..i + 1).is_some())?;
        Some(format!("text that cannot be read as UTF-8 at position {}", bad - row[0]))
    };
    offsets.windows(2).map(of_row).enumerate().filter_map(|(i, problem)| Some((i, problem?))).collect()
}

/// So many tokens have labels whose text, and whose number, the 32-bit offsets of a column can address.
fn most_tokens(names: &LabelSet, k: usize) -> usize {
    let longest = names.names().map(str::len).max().unwrap_or(0).max(1);
    (i32::MAX as usize / longest / k.max(1)).max(1)
}

/// Fills a sequence from one row.
fn fill(
    sequence: &mut Sequence,
    columns: &[Lists],
    labels: Option<&Lists>,
    i: usize,
    longest: usize,
) -> Result<(), Missing> {
    sequence.clear();
    if columns.iter().chain(labels).any(|column| column.rows.is_null(i)) {
        return Err(Missing::Null);
    }
    if let Some(problem) = columns.iter().chain(labels).find_map(|column| column.unreadable.get(&i)) {
        return Err(Missing::Tokens(problem.clone()));
    }
    let [first, others @ ..] = columns else { return Ok(()) };
    if let Some(other) = others.iter().chain(labels).find(|other| other.row(i).len() != first.row(i).len()) {
        let (expected, got) = (first.row(i).len(), other.row(i).len());
        return Err(Missing::Tokens(format!("columns of {expected} and {got} tokens")));
    }
    if first.row(i).len() > longest {
        return Err(Missing::Tokens(format!("{} tokens, more than {longest}", first.row(i).len())));
    }
    for t in 0..first.row(i).len() {
        sequence.push_position();
        for column in columns {
            match column.strings.get(column.row(i).start + t) {
                Some(token) => sequence.push_cell(token),
                None => return Err(Missing::Tokens(format!("null at position {t}"))),
            }
        }
        if let Some(labels) = labels {
            match labels.strings.get(labels.row(i).start + t) {
                Some(label) => sequence.set_label(label),
                None => return Err(Missing::Tokens(format!("no label at position {t}"))),
            }
        }
    }
    Ok(())
}

fn answers(tagger: &PyTagger, columns: &[Lists], rows: Range<usize>, wanted: &Wanted) -> Vec<Row> {
    thread_local! { static SEQUENCE: std::cell::RefCell<Sequence> = std::cell::RefCell::default(); }
    tagger.map_rows(rows.len(), wanted.threads, wanted.probabilities, |engine, i| {
        SEQUENCE.with_borrow_mut(|sequence| {
            fill(sequence, columns, None, rows.start + i, wanted.longest)?;
            engine.answers(sequence, None, wanted.k, tagger.tag_set()).map_err(Missing::Failed)
        })
    })
}

impl Wanted {
    /// The columns of the answer: with k > 1 each holds a list of what it holds with k = 1.
    fn schema(&self) -> SchemaRef {
        let one = self.k == 1;
        let list = |kind: DataType| DataType::List(Arc::new(Field::new_list_field(kind, true)));
        let wrapped = |kind: DataType| if one { kind } else { list(kind) };
        let (labels, number) = (wrapped(list(DataType::Utf8)), wrapped(DataType::Float64));
        let confidences = wrapped(list(DataType::Float64));
        let mut fields = vec![Field::new("labels", labels, true)];
        if self.scores {
            fields.push(Field::new(if one { "score" } else { "scores" }, number.clone(), true));
        }
        if self.probabilities {
            fields.push(Field::new(if one { "probability" } else { "probabilities" }, number, true));
            fields.push(Field::new("confidences", confidences, true));
        }
        if self.errors {
            fields.push(Field::new("error", DataType::Utf8, true));
        }
        Arc::new(Schema::new(fields))
    }

    /// A table of answers; `before` rows of the stream come before the first.
    fn table(
        &self,
        schema: &SchemaRef,
        names: &LabelSet,
        answers: Vec<Row>,
        before: usize,
    ) -> Result<RecordBatch, Failed> {
        let mut columns: Vec<ArrayRef> = vec![self.labels(names, &answers)];
        if self.scores {
            columns.push(self.numbers(&answers, |answer| Some(answer.score)));
        }
        if self.probabilities {
            columns.push(self.numbers(&answers, |answer| answer.probability));
            columns.push(self.confidences(&answers));
        }
        let mut messages = StringBuilder::new();
        for (row, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(_) | Err(Missing::Null) => messages.append_null(),
                Err(Missing::Failed(failed)) if self.errors => messages.append_value(failed.to_string()),
                Err(Missing::Tokens(problem)) if self.errors => {
                    messages.append_value(format!("tokens: expected strings, got {problem}"));
                }
                Err(missing) => return Err(missing.of_row(before + row)),
            }
        }
        if self.errors {
            columns.push(Arc::new(messages.finish()));
        }
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }

    fn labels(&self, names: &LabelSet, answers: &[Row]) -> ArrayRef {
        let write = |builder: &mut ListBuilder<StringBuilder>, labels: &[u32]| {
            for &y in labels {
                builder.values().append_value(names.name(y).unwrap_or_default());
            }
            builder.append(true);
        };
        if self.k == 1 {
            let mut builder = strings();
            for answer in answers {
                match answer {
                    Ok(found) => write(&mut builder, &found[0].tags),
                    Err(_) => builder.append_null(),
                }
            }
            return Arc::new(builder.finish());
        }
        let mut builder = ListBuilder::new(strings());
        for answer in answers {
            for found in answer.iter().flatten() {
                write(builder.values(), &found.tags);
            }
            builder.append(answer.is_ok());
        }
        Arc::new(builder.finish())
    }

    /// One number per row, or a list of numbers.
    fn numbers(&self, answers: &[Row], of: impl Fn(&Answer) -> Option<f64>) -> ArrayRef {
        if self.k == 1 {
            let mut builder = Float64Builder::new();
            for answer in answers {
                builder.append_option(answer.as_ref().ok().and_then(|found| of(&found[0])));
            }
            return Arc::new(builder.finish());
        }
        let mut builder = numbers();
        for answer in answers {
            for found in answer.iter().flatten() {
                builder.values().append_option(of(found));
            }
            builder.append(answer.is_ok());
        }
        Arc::new(builder.finish())
    }

    fn confidences(&self, answers: &[Row]) -> ArrayRef {
        if self.k == 1 {
            let mut builder = numbers();
            for answer in answers {
                for row in answer.iter().flat_map(|found| &found[0].confidences) {
                    builder.values().append_slice(row);
                }
                builder.append(answer.is_ok());
            }
            return Arc::new(builder.finish());
        }
        let mut builder = ListBuilder::new(numbers());
        for answer in answers {
            for row in answer.iter().flatten().flat_map(|found| &found.confidences) {
                builder.values().values().append_slice(row);
                builder.values().append(true);
            }
            builder.append(answer.is_ok());
        }
        Arc::new(builder.finish())
    }
}

fn strings() -> ListBuilder<StringBuilder> {
    ListBuilder::new(StringBuilder::new())
}

fn numbers() -> ListBuilder<Float64Builder> {
    ListBuilder::new(Float64Builder::new())
}
