//! The report: text for people, JSON for programs.

use super::Arguments;
use super::by::GroupReport;
use super::counts::{Counts, Wanted};
use super::errors::ErrorReport;
use crate::failure::Result;
use crate::output::Output;
use crate::table::{aligned, grouped, percent};
use kbest::evaluate::{Evaluation, Reliability};
use serde::Serialize;
use std::io::Write;

/// Writes tables.
pub(super) fn text(
    output: &mut Output,
    counts: &Counts,
    wanted: &Wanted,
    arguments: &Arguments,
) -> Result<()> {
    write!(output, "{}", counts.evaluation.report(arguments.labels, arguments.confusions))?;
    if let Some(reliability) = &counts.reliability {
        write!(output, "{}", calibration(reliability, counts.of_segments))?;
    }
    for (by, groups) in wanted.by.iter().zip(&counts.groups) {
        write!(output, "{}", groups.text(by, arguments.labels))?;
    }
    if let Some(errors) = &counts.errors {
        write!(output, "{}", errors.text())?;
    }
    Ok(())
}

/// How far probabilities can be trusted, as a table.
fn calibration(reliability: &Reliability, of_segments: bool) -> String {
    let all = reliability.all();
    let what = if of_segments { "segments" } else { "tokens" };
    let row = |(from, to, bin): (f64, f64, kbest::evaluate::Bin)| {
        vec![
            format!("{from:.2} to {to:.2}"),
            grouped(bin.answers as usize),
            percent(bin.confidence()),
            percent(bin.accuracy()),
        ]
    };
    let bins = reliability.bins().filter(|(_, _, bin)| bin.answers > 0);
    let rows: Vec<Vec<String>> = bins.map(row).collect();
    format!(
        "\nexpected calibration error {}  ({what}: {} sure on average, {} right)\n{}",
        percent(reliability.expected_error()),
        percent(all.confidence()),
        percent(all.accuracy()),
        aligned(&["probability", what, "sure", "right"], &[false, true, true, true], &rows)
    )
}

/// Writes one object.
pub(super) fn json(
    output: &mut Output,
    counts: &Counts,
    wanted: &Wanted,
    arguments: &Arguments,
) -> Result<()> {
    let by = wanted.by.iter().zip(&counts.groups).map(|(by, groups)| groups.report(by)).collect();
    let report = Report {
        calibration: counts
            .reliability
            .as_ref()
            .map(|found| CalibrationReport::of(found, counts.of_segments)),
        by,
        errors: counts.errors.as_ref().map(|errors| errors.report()),
        ..Report::of(&counts.evaluation, arguments)
    };
    serde_json::to_writer_pretty(&mut *output, &report).map_err(std::io::Error::from)?;
    writeln!(output)?;
    Ok(())
}

#[derive(Serialize)]
struct CalibrationReport {
    of: &'static str,
    expected_calibration_error: f64,
    brier_score: f64,
    confidence: f64,
    accuracy: f64,
    bins: Vec<BinLine>,
}

#[derive(Serialize)]
struct BinLine {
    from: f64,
    to: f64,
    answers: u64,
    confidence: f64,
    accuracy: f64,
}

impl CalibrationReport {
    fn of(reliability: &Reliability, of_segments: bool) -> Self {
        let all = reliability.all();
        let line = |(from, to, bin): (f64, f64, kbest::evaluate::Bin)| BinLine {
            from,
            to,
            answers: bin.answers,
            confidence: bin.confidence(),
            accuracy: bin.accuracy(),
        };
        CalibrationReport {
            of: if of_segments { "segments" } else { "tokens" },
            expected_calibration_error: reliability.expected_error(),
            brier_score: reliability.brier(),
            confidence: all.confidence(),
            accuracy: all.accuracy(),
            bins: reliability.bins().map(line).collect(),
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    tokens: u64,
    accuracy: f64,
    sequences: u64,
    sequence_accuracy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_words: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_word_accuracy: Option<f64>,
    macro_f1: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<CalibrationReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by: Vec<GroupReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<ErrorReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<SpanReport<'a>>,
    labels: Vec<Row<'a>>,
    confusions: Vec<Confusion<'a>>,
}

#[derive(Serialize)]
struct SpanReport<'a> {
    precision: f64,
    recall: f64,
    f1: f64,
    types: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    precision: f64,
    recall: f64,
    f1: f64,
    gold: u64,
    predicted: u64,
    right: u64,
}

#[derive(Serialize)]
struct Confusion<'a> {
    gold: &'a str,
    predicted: &'a str,
    count: u64,
}

impl<'a> From<&kbest::evaluate::Row<'a>> for Row<'a> {
    fn from(row: &kbest::evaluate::Row<'a>) -> Self {
        let tally = &row.tally;
        Row {
            name: row.name,
            precision: tally.precision(),
            recall: tally.recall(),
            f1: tally.f1(),
            gold: tally.gold,
            predicted: tally.predicted,
            right: tally.right,
        }
    }
}

impl<'a> Report<'a> {
    fn of(evaluation: &'a Evaluation, arguments: &Arguments) -> Self {
        let unknown = evaluation.unknown();
        Report {
            tokens: evaluation.tokens().all,
            accuracy: evaluation.tokens().share(),
            sequences: evaluation.sequences().all,
            sequence_accuracy: evaluation.sequences().share(),
            unknown_words: unknown.map(|hits| hits.all),
            unknown_word_accuracy: unknown.map(|hits| hits.share()),
            macro_f1: evaluation.macro_f1(),
            calibration: None,
            by: Vec::new(),
            errors: None,
            spans: evaluation.spans().map(|spans| SpanReport {
                precision: spans.all.precision(),
                recall: spans.all.recall(),
                f1: spans.all.f1(),
                types: spans.rows.iter().map(Row::from).collect(),
            }),
            labels: evaluation.labels().iter().map(Row::from).collect(),
            confusions: evaluation
                .confusions(arguments.confusions)
                .iter()
                .map(|c| Confusion { gold: c.gold, predicted: c.predicted, count: c.count })
                .collect(),
        }
    }
}
