//! `kbest tag --spans`: one JSON line per answer.

use super::offsets;
use crate::failure::Result;
use crate::segments::GuaranteeLine;
use kbest::Sequence;
use kbest::scheme::Spelling;
use kbest::segment::Guarantee;
use serde::Serialize;
use std::io::Write;

/// A span by name, with the probability of its segment if that is known.
#[derive(Debug)]
pub(super) struct Spanned {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: String,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    char_start: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    char_end: Option<usize>,
    r#type: &'a str,
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
        let known = offsets::text_of(sequence);
        let places = known.as_deref().and_then(|text| Some((text, offsets::places(text, sequence)?)));
        let span = |span: &'_ Spanned| {
            let place = places.as_ref().map(|(text, places)| {
                let bytes = places[span.start].start..places[span.end - 1].end;
                let characters = |end: usize| text[..end].chars().count();
                (characters(bytes.start), characters(bytes.end), text[bytes].to_owned())
            });
            let joined = || (span.start..span.end).map(token).collect::<Vec<_>>().join(" ");
            (place.as_ref().map(|place| (place.0, place.1)), place.map_or_else(joined, |place| place.2))
        };
        let line = Line {
            rank: self.announced.then_some(rank),
            score: Some(score).filter(|score| self.announced && score.is_finite()),
            probability,
            guarantee: guarantee.map(GuaranteeLine::from),
            tokens: (0..sequence.len()).map(token).collect(),
            spans: spans
                .iter()
                .map(|found| {
                    let (place, text) = span(found);
                    SpanLine {
                        start: found.start,
                        end: found.end,
                        char_start: place.map(|place| place.0),
                        char_end: place.map(|place| place.1),
                        r#type: &found.kind,
                        text,
                        probability: found.probability.map(rounded),
                    }
                })
                .collect(),
        };
        serde_json::to_writer(&mut *text, &line).map_err(std::io::Error::from)?;
        text.push(b'\n');
        Ok(())
    }
}

/// Says how plain labels become spans; a closed stderr is ignored.
pub(super) fn say_runs() {
    let _ = writeln!(
        std::io::stderr(),
        "kbest: the labels are plain (no B- and I-), so a span is a run of the same label; `O` is outside"
    );
}

/// The spans that labels of positions spell.
pub(super) fn of_labels(spelling: &Spelling, labels: &[&str]) -> Vec<Spanned> {
    let outside =
        |start: usize| spelling.known(labels[start]).is_some_and(|known| spelling.is_outside(known.label));
    let segments = spelling.read(labels).into_iter().filter(|(start, _, _)| !outside(*start));
    segments.map(|(start, end, kind)| Spanned { start, end, kind, probability: None }).collect()
}
