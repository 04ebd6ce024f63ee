//! Steps: single measurements, shared by the experiments that show them.

mod against_k;
mod beams;
mod classifiers;
mod decoding;
mod dual;
mod scores;
mod segments;
mod training;
mod votes;

pub(crate) use dual::IN_DUAL_FORM;
pub(crate) use segments::{CHAIN, LEARNED, TEXTBOOK};

use super::data::Data;
use super::definitions::{DUAL_TASKS, PROBLEMS, SEGMENT_TASKS, View};
use super::results::Measured;
use kbest_cli::failure::{Failure, Result};
use kbest_cli::warning::warn;
use std::path::Path;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// All decoders that find `k` paths, on one task.
    Decode {
        task: &'static str,
        k: usize,
    },
    Training {
        task: &'static str,
    },
    Beams {
        task: &'static str,
    },
    AgainstK {
        task: &'static str,
    },
    /// A hundred classifiers and the last of them in detail.
    Problem {
        task: &'static str,
    },
    Dual {
        task: &'static str,
    },
    Segments {
        task: &'static str,
    },
}

impl Step {
    /// What an experiment needs.
    pub(crate) fn needed(view: &View) -> Vec<Step> {
        match view {
            View::Speeds { k, twins, .. } => {
                twins.iter().map(|twin| Step::Decode { task: twin.task, k: *k }).collect()
            }
            View::Rounds { twins, lines } => {
                let steps = twins.iter().flat_map(|twin| lines.iter().map(move |line| (twin.task, line.k)));
                steps.map(|(task, k)| Step::Decode { task, k }).collect()
            }
            View::Training { twins, .. } => {
                twins.iter().map(|twin| Step::Training { task: twin.task }).collect()
            }
            View::Beams { twins, .. } => twins.iter().map(|twin| Step::Beams { task: twin.task }).collect(),
            View::AgainstK { twin } => vec![Step::AgainstK { task: twin.task }],
            View::Savings { .. }
            | View::Classifiers
            | View::Weights
            | View::EqualTime { .. }
            | View::AstarAgainstViterbi
            | View::Trace => PROBLEMS.iter().map(|twin| Step::Problem { task: twin.task }).collect(),
            View::Dual => DUAL_TASKS.iter().map(|task| Step::Dual { task }).collect(),
            View::Segments | View::Lengths | View::Bounds => {
                SEGMENT_TASKS.iter().map(|task| Step::Segments { task }).collect()
            }
        }
    }

    /// The data set it measures on.
    pub(crate) fn task(&self) -> &'static str {
        match *self {
            Step::Decode { task, .. }
            | Step::Training { task }
            | Step::Beams { task }
            | Step::AgainstK { task }
            | Step::Problem { task }
            | Step::Dual { task }
            | Step::Segments { task } => task,
        }
    }

    /// Its name, and that of its file.
    pub(crate) fn key(&self) -> String {
        match self {
            Step::Decode { task, k } => format!("decode-{task}-k{k}"),
            Step::Training { task } => format!("training-{task}"),
            Step::Beams { task } => format!("beams-{task}"),
            Step::AgainstK { task } => format!("against-k-{task}"),
            Step::Problem { task } => format!("problem-{task}"),
            Step::Dual { task } => format!("dual-{task}"),
            Step::Segments { task } => format!("segments-{task}"),
        }
    }

    /// About how many seconds it takes, for the time left.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Step::Decode { k: 1, .. } => 70,
            Step::Decode { .. } => 60,
            Step::Training { .. } => 40,
            Step::Beams { .. } => 20,
            Step::AgainstK { .. } => 100,
            Step::Problem { .. } => 250,
            Step::Dual { .. } => 20,
            Step::Segments { .. } => 90,
        }
    }

    /// Measures. A disagreement of exact decoders fails and leaves a lattice in `out`; data that cannot be read or learned
    /// from are named in the report.
    pub(crate) fn run(&self, data: &mut Data, out: &Path) -> Result<Measured> {
        match self.measure(data, out) {
            Err(failure @ (Failure::Input { .. } | Failure::Library(_))) => {
                let reason = format!("{}: skipped: {failure}", self.task());
                warn(&reason);
                Ok(missing(reason))
            }
            measured => measured,
        }
    }

    fn measure(&self, data: &mut Data, out: &Path) -> Result<Measured> {
        match self {
            Step::Decode { task, k } => decoding::run(data, task, *k, out),
            Step::Training { task } => training::run(data, task),
            Step::Beams { task } => beams::run(data, task, out),
            Step::AgainstK { task } => against_k::run(data, task, out),
            Step::Problem { task } => classifiers::run(data, task, out),
            Step::Dual { task } => dual::run(data, task),
            Step::Segments { task } => segments::run(data, task, out),
        }
    }
}

/// The data set is not there, or of no use.
fn missing(reason: String) -> Measured {
    Measured::Missing { reason }
}
