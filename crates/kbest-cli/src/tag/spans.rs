//! `kbest tag --spans`: one JSON line per answer.

use crate::failure::Result;
use crate::segments::GuaranteeLine;
use kbest::Sequence;
use kbest::scheme::Spelling;
use kbest::segment::Guarantee;
use serde::Serialize;

/// A span by name, with the probability of its segment if that is known.
#[derive(Debug)]
pub(super) struct Spanned {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) label: String,
    pub(super) probability: Option<f64>,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guarantee: Option<GuaranteeLine>,
    tokens: Vec<&'a str>,
    spans: Vec<SpanLine<'a>>,
}

#[derive(Serialize)]
struct SpanLine<'a> {
    start: usize,
    end: usize,
    label: &'a str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
}

/// Writes spans as JSON.
#[derive(Debug)]
pub(super) struct SpanWriter {
    announced: bool, // with rank and score
}

impl SpanWriter {
    pub(super) fn new(announced: bool) -> Self {
        SpanWriter { announced }
    }

    pub(super) fn write(
        &self,
        sequence: &Sequence,
        spans: &[Spanned],
        rank: usize,
        score: f64,
        probability: Option<f64>,
        guarantee: Option<Guarantee>,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        let token = |t: usize| sequence.cell(t, 0).unwrap_or_default();
        let rounded = |p: f64| (p * 1e4).round() / 1e4;
        let line = Line {
            rank: self.announced.then_some(rank),
            score: Some(score).filter(|score| self.announced && score.is_finite()),
            probability,
            guarantee: guarantee.map(GuaranteeLine::from),
            tokens: (0..sequence.len()).map(token).collect(),
            spans: spans
                .iter()
                .map(|span| SpanLine {
                    start: span.start,
                    end: span.end,
                    label: &span.label,
                    text: (span.start..span.end).map(token).collect::<Vec<_>>().join(" "),
                    probability: span.probability.map(rounded),
                })
                .collect(),
        };
        serde_json::to_writer(&mut *text, &line).map_err(std::io::Error::from)?;
        text.push(b'\n');
        Ok(())
    }
}

/// The spans that labels of positions spell.
pub(super) fn of_labels(spelling: &Spelling, labels: &[&str]) -> Vec<Spanned> {
    let outside =
        |start: usize| spelling.known(labels[start]).is_some_and(|known| spelling.is_outside(known.label));
    let segments = spelling.read(labels).into_iter().filter(|(start, _, _)| !outside(*start));
    segments.map(|(start, end, label)| Spanned { start, end, label, probability: None }).collect()
}
