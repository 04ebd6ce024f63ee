//! `--errors`: wrong tokens and spans in their context, the surest first.

use super::counts::Compared;
use crate::table::aligned;
use kbest::Sequence;
use kbest::evaluate::{Span, Spans};
use kbest::text::Format;
use serde::Serialize;

/// Tokens shown on either side.
const CONTEXT: usize = 4;

/// Where a sequence is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64, // of its beginning
    pub(super) format: Format,
}

impl Place<'_> {
    /// The line of one position.
    fn line_of(&self, sequence: &Sequence, t: usize) -> u64 {
        let offset = match self.format {
            Format::Conllu => sequence.source_lines().position(|line| line.position == Some(t)).unwrap_or(0),
            Format::Columns | Format::Items => t,
            _ => 0, // one line per sequence
        };
        self.line + offset as u64
    }
}

/// A wrong label, or a wrong span.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Mistake {
    #[serde(skip)]
    key: (u64, usize), // line of the sequence, position: the order of the file
    line: u64,
    start: usize,
    end: usize,
    gold: Option<String>,
    predicted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    before: Vec<String>,
    text: Vec<String>,
    after: Vec<String>,
    #[serde(skip)]
    file: String,
}

/// The mistakes that are kept.
#[derive(Debug)]
pub(super) struct Errors {
    most: usize,
    spans: Option<Spans>,
    tokens: Kept,
    in_spans: Kept,
}

#[derive(Debug, Default)]
struct Kept {
    all: u64,
    mistakes: Vec<Mistake>,
}

impl Kept {
    fn push(&mut self, most: usize, mistake: impl FnOnce() -> Mistake) {
        self.all += 1;
        if most > 0 {
            self.mistakes.push(mistake());
            if self.mistakes.len() > most.saturating_mul(2).saturating_add(1000) {
                self.trim(most);
            }
        }
    }

    /// The surest, then in the order of the file.
    fn trim(&mut self, most: usize) {
        let sure = |mistake: &Mistake| mistake.probability.unwrap_or(0.0);
        self.mistakes.sort_by(|a, b| sure(b).total_cmp(&sure(a)).then(a.key.cmp(&b.key)));
        self.mistakes.truncate(most);
    }

    fn merge(&mut self, other: Kept) {
        self.all += other.all;
        self.mistakes.extend(other.mistakes);
    }
}

/// What is printed as JSON.
#[derive(Debug, Serialize)]
pub(super) struct ErrorReport<'a> {
    tokens: &'a [Mistake],
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<&'a [Mistake]>,
}

impl Errors {
    pub(super) fn new(most: usize, spans: Option<Spans>) -> Self {
        Errors { most, spans, tokens: Kept::default(), in_spans: Kept::default() }
    }

    pub(super) fn add(&mut self, compared: &Compared<'_>) {
        let Compared { gold, chosen, sure, .. } = *compared;
        for t in (0..gold.len()).filter(|&t| gold[t] != chosen[t]) {
            let labels = (Some(gold[t]), Some(chosen[t]));
            self.tokens.push(self.most, || mistake(compared, t, t + 1, labels, sure.map(|sure| sure[t])));
        }
        let Some(spans) = self.spans else { return };
        let (right, found) = (spans.find(gold), spans.find(chosen));
        // A span is as sure as its least sure label.
        let least = |span: &Span<'_>| {
            sure.map(|sure| sure[span.start..span.end].iter().copied().fold(f64::INFINITY, f64::min))
        };
        for span in found.iter().filter(|span| !has(&right, span)) {
            let instead = overlapping(&right, span).iter().find(|right| !has(&found, right));
            let labels = (instead.map(|span| told(compared, span)), Some(told(compared, span)));
            let labels = (labels.0.as_deref(), labels.1.as_deref());
            self.in_spans.push(self.most, || mistake(compared, span.start, span.end, labels, least(span)));
        }
        for span in right.iter().filter(|span| overlapping(&found, span).is_empty()) {
            let gold = told(compared, span);
            let labels = (Some(gold.as_str()), None);
            self.in_spans.push(self.most, || mistake(compared, span.start, span.end, labels, least(span)));
        }
    }

    pub(super) fn merge(&mut self, other: Errors) {
        self.tokens.merge(other.tokens);
        self.in_spans.merge(other.in_spans);
    }

    /// Puts them in order.
    pub(super) fn finish(&mut self) {
        self.tokens.trim(self.most);
        self.in_spans.trim(self.most);
    }

    /// As tables.
    pub(super) fn text(&self) -> String {
        let mut text = table("wrong tokens", &self.tokens);
        if self.spans.is_some() {
            text += &table("wrong spans", &self.in_spans);
        }
        text
    }

    /// As JSON.
    pub(super) fn report(&self) -> ErrorReport<'_> {
        let spans = self.spans.map(|_| &self.in_spans.mistakes[..]);
        ErrorReport { tokens: &self.tokens.mistakes, spans }
    }
}

/// Whether a span is one of these, which are in order and do not overlap each other.
fn has(spans: &[Span<'_>], span: &Span<'_>) -> bool {
    spans.binary_search_by_key(&span.start, |other| other.start).is_ok_and(|place| spans[place] == *span)
}

/// Those that overlap a span; they are in order and do not overlap each other.
fn overlapping<'a, 'b>(spans: &'a [Span<'b>], span: &Span<'_>) -> &'a [Span<'b>] {
    let first = spans.partition_point(|other| other.end <= span.start);
    let rest = &spans[first..];
    &rest[..rest.partition_point(|other| other.start < span.end)]
}

/// A span as the table has it: its type and its words.
fn told(compared: &Compared<'_>, span: &Span<'_>) -> String {
    let words = (span.start..span.end).map(|t| compared.sequence.cell(t, 0).unwrap_or_default());
    format!("{} [{}]", span.kind, words.collect::<Vec<_>>().join(" "))
}

fn mistake(
    compared: &Compared<'_>,
    start: usize,
    end: usize,
    (gold, predicted): (Option<&str>, Option<&str>),
    probability: Option<f64>,
) -> Mistake {
    let sequence = compared.sequence;
    let words = |from: usize, to: usize| -> Vec<String> {
        (from..to).map(|t| sequence.cell(t, 0).unwrap_or_default().to_owned()).collect()
    };
    Mistake {
        key: (compared.place.line, start),
        line: compared.place.line_of(sequence, start),
        start,
        end,
        gold: gold.map(str::to_owned),
        predicted: predicted.map(str::to_owned),
        probability,
        before: words(start.saturating_sub(CONTEXT), start),
        text: words(start, end),
        after: words(end, sequence.len().min(end + CONTEXT)),
        file: compared.place.file.to_owned(),
    }
}

fn table(title: &str, kept: &Kept) -> String {
    if kept.all == 0 {
        return format!("\n{title}: none\n");
    }
    let is_sure = kept.mistakes.iter().any(|mistake| mistake.probability.is_some());
    let order = if is_sure { ", the surest first" } else { "" };
    let row = |mistake: &Mistake| {
        let label = |label: &Option<String>| label.clone().unwrap_or_else(|| "(none)".into());
        let words =
            [mistake.before.join(" "), format!("[{}]", mistake.text.join(" ")), mistake.after.join(" ")];
        let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
        vec![
            mistake.probability.map_or_else(|| "-".into(), |p| format!("{p:.4}")),
            label(&mistake.gold),
            label(&mistake.predicted),
            format!("{}:{}", mistake.file, mistake.line),
            words.join(" "),
        ]
    };
    let rows: Vec<Vec<String>> = kept.mistakes.iter().map(row).collect();
    let header = ["sure", "right", "chosen", "where", "text"];
    let shown = format!("\n{title}: {} of {}{order}\n", rows.len(), kept.all);
    shown + &aligned(&header, &[true, false, false, false, false], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as comparing each with all others.
    #[test]
    fn spans_in_order_are_found_by_their_places() {
        let labels =
            ["B-X I-X O B-Y B-Y I-Y O O B-X", "B-X O O B-Y I-Y I-Y O B-X I-X", "O O B-X I-X I-X O O O O"]
                .map(|text| text.split(' ').collect::<Vec<_>>());
        let spans = Spans::detect(["B-X", "I-X", "B-Y", "I-Y", "O"]).expect("labels with a scheme");
        let all = labels.each_ref().map(|labels| spans.find(labels));
        for (found, right) in all.iter().flat_map(|found| all.iter().map(move |right| (found, right))) {
            for span in found {
                let overlaps = |other: &&Span<'_>| other.start < span.end && span.start < other.end;
                assert_eq!(has(right, span), right.contains(span));
                assert!(overlapping(right, span).iter().eq(right.iter().filter(overlaps)));
            }
        }
    }
}
