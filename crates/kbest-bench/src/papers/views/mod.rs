//! From measurements to tables, pictures and findings: one small function per kind of experiment.

mod against_k;
mod carpediem;
mod dual;
mod segments;
mod speeds;
mod training;
mod votes;

use super::definitions::{Experiment, View};
use super::results::{Cell, Decoding, Measured, Outcome, Table};
use std::collections::BTreeMap;

/// All steps by key.
pub(super) type Steps = BTreeMap<String, Measured>;

/// An experiment's part of the report.
pub(super) fn view(experiment: &Experiment, steps: &Steps) -> Outcome {
    let mut outcome = match experiment.view {
        View::Speeds { k, twins, lines, claims } => speeds::speeds(steps, k, twins, lines, claims),
        View::Rounds { twins, lines } => speeds::rounds(steps, twins, lines),
        View::Training { twins, figures } => training::training(steps, twins, figures),
        View::Beams { twins, figures } => training::beams(steps, twins, figures),
        View::AgainstK { twin } => against_k::against_k(steps, twin),
        View::Savings { figures } => carpediem::savings(steps, figures),
        View::Classifiers => carpediem::classifiers(steps),
        View::Weights => carpediem::weights(steps),
        View::EqualTime { figures } => carpediem::equal_time(steps, figures),
        View::AstarAgainstViterbi => carpediem::astar(steps),
        View::Trace => carpediem::trace(steps),
        View::Dual => dual::dual(steps),
        View::Segments => segments::segments(steps),
        View::Lengths => segments::lengths(steps),
        View::Bounds => segments::bounds(steps),
    };
    let needed = super::steps::Step::needed(&experiment.view);
    let mut missing: Vec<String> = needed
        .iter()
        .filter_map(|step| match steps.get(&step.key()) {
            Some(Measured::Missing { reason }) => Some(reason.clone()),
            _ => None,
        })
        .collect();
    missing.dedup();
    outcome.notes.extend(missing);
    outcome
}

fn decoding<'s>(steps: &'s Steps, task: &str, k: usize) -> Option<&'s Decoding> {
    match steps.get(&format!("decode-{task}-k{k}")) {
        Some(Measured::Decoding(decoding)) => Some(decoding),
        _ => None,
    }
}

fn table(title: impl Into<String>, header: &[&str], rows: Vec<Vec<Cell>>) -> Table {
    Table { title: title.into(), header: header.iter().map(|name| (*name).to_owned()).collect(), rows }
}

/// `1.23x on ewt-pos`, joined.
fn listed(ratios: &[(String, f64)]) -> String {
    let one = |(task, ratio): &(String, f64)| format!("{}x on {task}", kbest_cli::table::number(*ratio));
    ratios.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A note on a time limit.
fn limit_note(row: &super::results::Timed, all: usize) -> Option<String> {
    row.limited.then(|| format!("time limit after {} of {all}", row.sequences))
}
