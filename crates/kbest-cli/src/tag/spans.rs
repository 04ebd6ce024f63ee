//! `kbest tag --spans`: one JSON line per answer.

use super::offsets::Known;
use crate::failure::Result;
use crate::segments::GuaranteeLine;
use kbest::scheme::{KnownTag, Spelling};
use kbest::scoring::TextModel;
use kbest::segment::{Guarantee, Segment};
use kbest::{LabelId, Model, SegmentModel, Sequence, Structure};
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
        known: Option<&Known<'_>>, // its text
        spans: &[Spanned],
        rank: usize,
        score: f64,
        probability: Option<f64>,
        guarantee: Option<Guarantee>,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        let token = |t: usize| sequence.cell(t, 0).unwrap_or_default();
        let rounded = |p: f64| (p * 1e4).round() / 1e4;
        let mut finder = known.map(Known::finder);
        let mut span = |span: &'_ Spanned| match &mut finder {
            Some(finder) => {
                let (characters, text) = finder.find(span.start, span.end);
                (Some(characters), text.to_owned())
            }
            None => (None, (span.start..span.end).map(token).collect::<Vec<_>>().join(" ")),
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

/// A model whose answers can be written as spans.
pub(super) trait Spanning: TextModel {
    /// What finds them.
    type Speller: Send + Sync;

    fn speller(&self) -> Result<Self::Speller>;

    /// The spans of an answer. `names` are the labels of its positions, `sure` the probabilities of its parts.
    fn spans_of(
        &self,
        speller: &Self::Speller,
        parts: &[<Self::Structure as Structure>::Part],
        names: &[&str],
        sure: Option<&[f64]>,
    ) -> Vec<Spanned>;
}

/// Labels of positions, and the spans that they spell.
#[derive(Debug)]
pub(super) struct Spelled {
    spelling: Spelling,
    outside: Vec<bool>, // of each label
}

impl Spanning for Model {
    type Speller = Spelled;

    fn speller(&self) -> Result<Spelled> {
        let (spelling, _) = Spelling::detect(self.labels().names())?;
        if spelling.name() == "runs" {
            say_runs();
        }
        let is_outside = |known: KnownTag| spelling.is_outside(known.label);
        let outside =
            self.labels().names().map(|name| spelling.known(name).is_some_and(is_outside)).collect();
        Ok(Spelled { spelling, outside })
    }

    fn spans_of(
        &self,
        speller: &Spelled,
        path: &[LabelId],
        names: &[&str],
        _: Option<&[f64]>, // of positions, not of spans
    ) -> Vec<Spanned> {
        let is_inside = |start: usize| !speller.outside[path[start] as usize];
        let segments = speller.spelling.read(names).into_iter().filter(|(start, _, _)| is_inside(*start));
        segments.map(|(start, end, kind)| Spanned { start, end, kind, probability: None }).collect()
    }
}

impl Spanning for SegmentModel {
    type Speller = ();

    fn speller(&self) -> Result<()> {
        Ok(())
    }

    fn spans_of(&self, (): &(), parts: &[Segment], _: &[&str], sure: Option<&[f64]>) -> Vec<Spanned> {
        let parts = parts.iter().enumerate().filter(|(_, part)| !self.spelling().is_outside(part.label));
        let span = |(i, part): (usize, &Segment)| Spanned {
            start: part.start,
            end: part.end,
            kind: self.labels().name(part.label).unwrap_or_default().to_owned(),
            probability: sure.map(|sure| sure[i]),
        };
        parts.map(span).collect()
    }
}

/// Says how plain labels become spans; a closed stderr is ignored.
fn say_runs() {
    let _ = writeln!(
        std::io::stderr(),
        "kbest: the labels are plain (no B- and I-), so a span is a run of the same label; `O` is outside"
    );
}
