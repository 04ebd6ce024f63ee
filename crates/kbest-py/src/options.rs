//! Options as keywords: what they may be, and what they are called, is in the library's tables.

use crate::edges::rules_of;
use crate::error;
use kbest::TaggerOptions;
use kbest::options::{Kind, Options, Row, Value, nearest};
use kbest::text::FormatOptions;
use kbest::train::Recipe;
use kbest::train::shards::ShardPlan;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString};
use std::path::PathBuf;

/// What options of taggers are called where the trainer has options, too.
pub(crate) fn of_tagger(name: &'static str) -> String {
    if Recipe::row(name).is_some() { format!("tag_{name}") } else { name.to_owned() }
}

/// What all other options are called.
pub(crate) fn plain(name: &'static str) -> String {
    name.to_owned()
}

/// The keywords of a call that no table has taken yet.
pub(crate) struct Keywords<'py> {
    function: &'static str,
    given: Vec<(String, Bound<'py, PyAny>)>,
    known: Vec<String>,
}

impl<'py> Keywords<'py> {
    /// Those that a function was called with; `own` are its other keywords. None stands for what was not given.
    pub(crate) fn of(
        function: &'static str,
        own: &[&str],
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let mut given = Vec::new();
        for (name, value) in keywords.into_iter().flatten() {
            given.push((name.extract()?, value));
        }
        Ok(Keywords { function, given, known: own.iter().map(|name| (*name).to_owned()).collect() })
    }

    /// Takes the options of a table; `spell` says what they are called here.
    pub(crate) fn take<O: Options>(
        &mut self,
        py: Python<'_>,
        into: &mut O,
        spell: fn(&'static str) -> String,
    ) -> PyResult<()> {
        for row in O::TABLE {
            let name = spell(row.name);
            if let Some(at) = self.given.iter().position(|(given, _)| *given == name) {
                let (_, given) = self.given.swap_remove(at);
                if !given.is_none() {
                    row.set(into, value(row, &name, &given)?)
                        .map_err(|failed| error::exception(py, failed))?;
                }
            }
            self.known.push(name);
        }
        Ok(())
    }

    /// Refuses what no table has taken.
    pub(crate) fn finish(self, py: Python<'_>) -> PyResult<()> {
        let Some((name, _)) = self.given.first() else { return Ok(()) };
        let known = || self.known.iter().map(String::as_str);
        let more = match nearest(name, known()) {
            Some(near) => format!("did you mean `{near}`? It has"),
            None => "it has".to_owned(),
        };
        let known = known().collect::<Vec<_>>().join(", ");
        let message = format!("{}() has no keyword `{name}`; {more} {known}", self.function);
        Err(error::keyword(py, name, message))
    }
}

/// What Python gives as the value of an option.
fn value<O>(row: &Row<O>, name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let is_path = || Ok::<_, PyErr>(given.is_instance_of::<PyString>() || given.hasattr("__fspath__")?);
    let read = match row.kind {
        Kind::Flag => given.extract().map(Value::Flag),
        Kind::Whole => given.extract().map(Value::Whole),
        Kind::Number => given.extract().map(Value::Number),
        Kind::Text | Kind::Name(_) => given.extract().map(Value::Text),
        Kind::Names => given.extract().map(Value::Texts),
        Kind::Texts => rules_of(Some(given)).map(Value::Texts),
        Kind::Files if !is_path()? => given.extract().map(Value::Files),
        Kind::File | Kind::Files => given.extract().map(|file: PathBuf| Value::Files(vec![file])),
    };
    read.map_err(|_| {
        let (py, expected) = (given.py(), row.kind.expected());
        let got = given.repr().map_or_else(|_| "another object".into(), |shown| shown.to_string());
        match given.is_instance_of::<PyInt>() && matches!(row.kind, Kind::Whole) {
            true => error::argument(py, name, format!("{expected}, 0 or more"), got),
            false => error::dtype(py, name, expected, got),
        }
    })
}

/// A value as Python has it.
fn object<'py>(py: Python<'py>, value: Option<Value>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        None => Ok(py.None().into_bound(py)),
        Some(Value::Flag(given)) => {
            given.into_pyobject(py).map(|given| given.to_owned().into_any()).map_err(PyErr::from)
        }
        Some(Value::Whole(number)) => Ok(number.into_pyobject(py)?.into_any()),
        Some(Value::Number(number)) => Ok(number.into_pyobject(py)?.into_any()),
        Some(Value::Text(text)) => Ok(text.into_pyobject(py)?.into_any()),
        Some(Value::Texts(texts)) => texts.into_pyobject(py),
        Some(Value::Files(files)) => files.into_pyobject(py),
    }
}

/// The options that were given, as keywords that give them again.
pub(crate) fn given<'py, O: Options>(py: Python<'py>, options: &O) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    for row in O::TABLE {
        if let Some(value) = row.given(options) {
            keywords.set_item(row.name, object(py, Some(value))?)?;
        }
    }
    Ok(keywords)
}

/// Adds what Python says of options to a list.
fn describe<O: Options>(
    list: &Bound<'_, PyList>,
    rows: impl Iterator<Item = &'static Row<O>>,
    spell: fn(&'static str) -> String,
) -> PyResult<()> {
    let py = list.py();
    for row in rows {
        let about = PyDict::new(py);
        about.set_item("name", spell(row.name))?;
        about.set_item("type", row.kind.expected())?;
        let initial = row.get(&O::default());
        about.set_item("default_text", row.default_text())?;
        about.set_item("default", object(py, initial)?)?;
        about.set_item("owners", row.owners(str::to_owned))?;
        about.set_item("heading", row.heading)?;
        about.set_item("help", in_python(&row.help()))?;
        list.append(about)?;
    }
    Ok(())
}

/// A text in which options are called as in Python: `--dev-by` is `dev_by`.
fn in_python(help: &str) -> String {
    let word = |word: &str| match word.strip_prefix("--") {
        Some(option) => option.replace('-', "_"),
        None => word.to_owned(),
    };
    help.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What options there are: what they are called, what they may be, and what they do.
///
/// Args:
///     of: "train"; "recipe": those of `train` without files and tagger; "shards": those of `sharded.train` and `spark.train`;
///         "tagger".
///
/// >>> import kbest
/// >>> [option["name"] for option in kbest.options("tagger")]
/// ['constraints', 'decoder']
/// >>> next(option["help"] for option in kbest.options() if option["name"] == "c2")
/// 'Strength of L2 regularization'
#[pyfunction]
#[pyo3(signature = (of="train"))]
pub(crate) fn options<'py>(py: Python<'py>, of: &str) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    match of {
        "recipe" => describe(&list, Recipe::TABLE.iter(), plain)?,
        "tagger" => describe(&list, TaggerOptions::TABLE.iter(), plain)?,
        "shards" => {
            let in_shards = |row: &&Row<Recipe>| ShardPlan::OPTIONS.contains(&row.name);
            describe(&list, Recipe::TABLE.iter().filter(in_shards), plain)?;
            describe(&list, TaggerOptions::TABLE.iter(), of_tagger)?;
        }
        "train" => {
            describe(&list, Recipe::TABLE.iter(), plain)?;
            describe(&list, FormatOptions::TABLE.iter(), plain)?;
            describe(&list, TaggerOptions::TABLE.iter(), of_tagger)?;
        }
        other => return Err(error::argument(py, "of", "one of train, recipe, shards, tagger", other)),
    }
    Ok(list)
}
