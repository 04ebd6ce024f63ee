//! Shared by the commands that work on text: files and their formats, threads, constraints.

mod data;
mod marginals;
mod pipeline;
mod stream;
mod suspicion;
mod tagger;

pub(crate) use data::{CheckSequence, Data, Source, read_labelled, read_labelled_for, read_unlabelled};
pub(crate) use marginals::{Marginals, likeliest};
pub(crate) use pipeline::in_order;
pub(crate) use stream::{Event, as_they_come};
pub(crate) use suspicion::{NotKept, Suspicions};
pub(crate) use tagger::TaggerArguments;

use crate::failure::{Failure, Result};
use kbest::train::MOST_THREADS;
use std::path::Path;

/// What messages call a file: its name, or `<stdin>` if there is none or it is `-`.
pub(crate) fn file_name(file: Option<&Path>) -> String {
    file.filter(|file| *file != Path::new("-"))
        .map_or_else(|| "<stdin>".into(), |file| file.display().to_string())
}

/// The number of threads requested; by default all cores.
pub(crate) fn threads(asked: Option<usize>) -> Result<usize> {
    match asked {
        Some(0) => Err(Failure::Usage("--threads: expected at least 1, got 0".into())),
        Some(threads) if threads > MOST_THREADS => {
            Err(Failure::Usage(format!("--threads: expected at most {MOST_THREADS}, got {threads}")))
        }
        Some(threads) => Ok(threads),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
    }
}

/// Does something with a model of any kind: `with_model!(AnyModel::load(path)?, |model| ...)`.
macro_rules! with_model {
    ($any:expr, |$model:ident| $do:expr) => {
        match $any {
            kbest::model::AnyModel::Positions($model) => $do,
            kbest::model::AnyModel::Segments($model) => $do,
        }
    };
}
pub(crate) use with_model;
