//! The report of training: lines on stderr for people, one JSON object on stdout for programs.

use super::origin;
use crate::calibrate::{self, CalibrationLine};
use crate::failure::Result;
use crate::output::Output;
use crate::table::{grouped, in_two_digits, percent};
use kbest::feature::{Extractor, FeatureKind};
use kbest::train::{Calibrated, EpochEnd, Schedule, SegmentTrainingSet, Standing, TrainingSet};
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

pub(super) struct Report {
    quiet: bool,
    json: bool,
    told: Told,
}

#[derive(Default, Serialize)]
struct Told {
    model: String,
    labels: usize,
    sequences: usize,
    tokens: usize,
    features: String,
    kinds: Vec<Kind>,
    node_features: usize,
    edge_features: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    segments: Option<Segments>,
    loss: &'static str,
    epochs: Vec<EpochLine>,
    ended: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pruned: Option<Pruned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<CalibrationLine>,
    bytes: u64,
    seconds: f64,
}

/// How many features there are of a kind.
#[derive(Serialize)]
struct Kind {
    kind: String,
    features: usize,
}

/// How labels became segments.
#[derive(Serialize)]
struct Segments {
    spelling: &'static str,
    segments: usize,
    longest: usize,
    segment_features: usize,
}

#[derive(Serialize)]
struct EpochLine {
    epoch: usize,
    loss: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dev_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dev_f1: Option<f64>,
    seconds: f64,
    tokens_per_second: f64,
}

/// The effect of dropping small weights.
#[derive(Serialize)]
pub(super) struct Pruned {
    pub(super) threshold: f32,
    pub(super) weights_before: usize,
    pub(super) weights_after: usize,
    pub(super) accuracy_before: f64,
    pub(super) accuracy_after: f64,
}

impl Report {
    pub(super) fn new(quiet: bool, json: bool) -> Self {
        Report { quiet, json, told: Told::default() }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a line on stderr, unless quiet; a closed stderr is ignored.
    pub(super) fn say(&self, line: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    pub(super) fn data(&mut self, data: &TrainingSet, took: Duration) {
        self.told.labels = data.labels().len();
        self.told.sequences = data.examples().len();
        self.told.tokens = data.tokens();
        self.features(data.extractor(), took);
    }

    pub(super) fn segments(&mut self, data: &SegmentTrainingSet, took: Duration) {
        let longest = data.longest().iter().max().copied().unwrap_or_default() as usize;
        self.told.labels = data.labels().len();
        self.told.sequences = data.examples().len();
        self.told.tokens = data.tokens();
        self.told.segments = Some(Segments {
            spelling: data.spelling().name(),
            segments: data.segments(),
            longest,
            segment_features: data.features().keys().len(),
        });
        self.features(data.extractor(), took);
        let how = match data.spelling().name() {
            "runs" => "runs of one label".to_owned(),
            scheme => format!("spans by the scheme {scheme}, and single positions outside"),
        };
        self.say(&format!(
            "{} segments ({how}), the longest of {longest} tokens, {} features of segments",
            grouped(data.segments()),
            grouped(data.features().keys().len())
        ));
    }

    /// Size of the data, and which features are used.
    fn features(&mut self, extractor: &Extractor, took: Duration) {
        let kinds = extractor.kinds();
        self.told.node_features = extractor.nodes().len();
        self.told.edge_features = extractor.edges().len();
        self.told.features = extractor.source().name().into_owned();
        self.say(&format!(
            "{} sequences, {} tokens, {} labels, {} features ({:.1} s)",
            grouped(self.told.sequences),
            grouped(self.told.tokens),
            grouped(self.told.labels),
            grouped(self.told.node_features + self.told.edge_features),
            took.as_secs_f64()
        ));
        let columns = match extractor.columns() {
            0 | 1 => String::new(),
            columns => format!(" ({columns} columns beside the label)"),
        };
        self.say(&format!("features {}{columns}:", self.told.features));
        in_lines(&kinds).iter().for_each(|line| self.say(&format!("  {line}")));
        let told = |kind: FeatureKind| Kind { kind: kind.name, features: kind.features };
        self.told.kinds = kinds.into_iter().map(told).collect();
    }

    /// Says what the loss is that epochs report.
    pub(super) fn loss_means(&mut self, meaning: &'static str) {
        self.told.loss = meaning;
        self.say(&format!("loss: {meaning}"));
    }

    /// Says why training ended, and which model is kept.
    pub(super) fn ended(&mut self, schedule: &Schedule, standing: &Standing) {
        self.told.ended = origin::ended(schedule, standing);
        self.say(&format!("ended {}", self.told.ended));
    }

    /// `left` is the time left, in words; `None` after the last epoch.
    pub(super) fn epoch<M>(
        &mut self,
        schedule: &Schedule,
        end: &EpochEnd<'_, M>,
        took: Duration,
        left: Option<&str>,
    ) {
        let seconds = took.as_secs_f64();
        let report = &end.report;
        let accuracy = report.accuracy();
        let speed = report.tokens as f64 / seconds.max(1e-9);
        let of = |name: &str, value: Option<f64>| {
            value.map_or_else(String::new, |value| format!("  {name} {}", percent(value)))
        };
        let dev_accuracy = end.held_out.map(|held_out| held_out.accuracy);
        let dev_f1 = end.held_out.and_then(|held_out| held_out.span_f1);
        self.say(&format!(
            "epoch {:>3}/{}  loss {}{}{}{}  {} tokens/s{}",
            end.standing.epochs,
            schedule.epochs,
            crate::table::number(report.loss),
            of("accuracy", accuracy),
            of("dev", dev_accuracy),
            of("dev span F1", dev_f1),
            grouped(in_two_digits(speed)),
            left.filter(|left| !left.is_empty()).map_or_else(String::new, |left| format!("  {left}")),
        ));
        self.told.epochs.push(EpochLine {
            epoch: end.standing.epochs,
            loss: report.loss,
            accuracy,
            dev_accuracy,
            dev_f1,
            seconds,
            tokens_per_second: speed,
        });
    }

    pub(super) fn pruned(&mut self, pruned: Pruned, on: &str) {
        self.say(&format!(
            "pruned below {}: {} of {} weights left, accuracy on {on} {} -> {}",
            pruned.threshold,
            grouped(pruned.weights_after),
            grouped(pruned.weights_before),
            percent(pruned.accuracy_before),
            percent(pruned.accuracy_after)
        ));
        self.told.pruned = Some(pruned);
    }

    pub(super) fn calibrated(&mut self, how: &Calibrated) {
        self.say(&calibrate::told(how));
        self.told.calibration = Some(how.into());
    }

    pub(super) fn finish(mut self, model: &Path, took: Duration) -> Result<()> {
        self.told.model = model.display().to_string();
        self.told.bytes = std::fs::metadata(model).map_or(0, |data| data.len());
        self.told.seconds = took.as_secs_f64();
        let bytes = grouped(self.told.bytes as usize);
        self.say(&format!("{}: {bytes} bytes, {:.1} s in total", self.told.model, self.told.seconds));
        if self.json {
            let mut output = Output::create(None)?;
            serde_json::to_writer_pretty(&mut output, &self.told).map_err(std::io::Error::from)?;
            writeln!(output)?;
            output.finish()?;
        }
        Ok(())
    }
}

/// Kinds of features with their numbers, a few on each line.
fn in_lines(kinds: &[FeatureKind]) -> Vec<String> {
    const WIDTH: usize = 100;
    let mut lines: Vec<String> = Vec::new();
    for FeatureKind { name, features } in kinds {
        let item = format!("{name} {}", grouped(*features));
        match lines.last_mut() {
            Some(line) if line.len() + item.len() < WIDTH => {
                line.push_str(", ");
                line.push_str(&item);
            }
            _ => lines.push(item),
        }
    }
    lines
}
