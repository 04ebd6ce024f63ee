//! The terms in which the best path differs from its rival, with names.

use super::report::{TermLine, Why, short};
use crate::failure::Result;
use kbest::scoring::{
    Difference, SegmentTerms, Term, TermKind, Terms, constraint_terms, differences, lattice_terms,
    segment_lattice_terms,
};
use kbest::segment::{Segment, SegmentLattice};
use kbest::{Float, LabelId, Lattice, Model};
use std::collections::HashMap;
use std::ops::Range;

/// Longer names are cut: a support token may have a hundred features.
const LONGEST_NAME: usize = 120;

/// Where the terms of paths come from.
pub(super) trait Reasons<P: ?Sized> {
    /// Those of the positions in `within` at least: outside of it the paths to be compared are the same.
    fn terms(&mut self, path: &P, within: Range<usize>) -> Result<Vec<Term>>;
    /// The name of a term besides its kind and position.
    fn name(&self, term: &Term) -> String;
}

/// Scores without a model.
pub(super) struct OfScores<'a, 'l, S: Float>(pub(super) &'a Lattice<'l, S>);

impl<S: Float> Reasons<[LabelId]> for OfScores<'_, '_, S> {
    fn terms(&mut self, path: &[LabelId], _: Range<usize>) -> Result<Vec<Term>> {
        Ok(lattice_terms(self.0, path)?)
    }

    fn name(&self, _: &Term) -> String {
        String::new()
    }
}

/// The same for segments.
pub(super) struct OfSegmentScores<'a, 'l, S: Float>(pub(super) &'a SegmentLattice<'l, S>);

impl<S: Float> Reasons<[Segment]> for OfSegmentScores<'_, '_, S> {
    fn terms(&mut self, path: &[Segment], _: Range<usize>) -> Result<Vec<Term>> {
        Ok(segment_lattice_terms(self.0, path)?)
    }

    fn name(&self, term: &Term) -> String {
        if term.kind == TermKind::Length { in_positions(term.id) } else { String::new() }
    }
}

/// A model of positions and what constraints add.
pub(super) struct OfModel<'a, 'l> {
    model: &'a Model,
    terms: Terms<'a>,
    own: &'a Lattice<'l, f32>,
    limited: &'a Lattice<'l, f32>,
    parts: Vec<String>,
}

impl<'a, 'l> OfModel<'a, 'l> {
    pub(super) fn new(
        model: &'a Model,
        terms: Terms<'a>,
        own: &'a Lattice<'l, f32>,
        limited: &'a Lattice<'l, f32>,
    ) -> Self {
        let parts = model.label_parts().map_or(vec![], |parts| parts.names(model.labels()));
        OfModel { model, terms, own, limited, parts }
    }
}

impl Reasons<[LabelId]> for OfModel<'_, '_> {
    fn terms(&mut self, path: &[LabelId], within: Range<usize>) -> Result<Vec<Term>> {
        let mut terms = self.terms.within(path, within.start, within.end)?;
        let places: Vec<_> = path.iter().copied().enumerate().collect();
        terms.extend(constraint_terms(self.own, self.limited, &places)?);
        Ok(terms)
    }

    fn name(&self, term: &Term) -> String {
        let name = self.terms.name(term);
        match term.kind {
            TermKind::Part => {
                let part = self.parts.get(term.part as usize).map_or("?", String::as_str);
                format!("{name} for part {part}")
            }
            // The name alone says nothing if every model has it: one feature for all pairs of labels.
            TermKind::Edge if self.model.extractor().edges().len() == 1 => String::new(),
            _ => name,
        }
    }
}

/// A model of segments and what constraints add.
pub(super) struct OfSegmentModel<'a, 'l> {
    pub(super) terms: SegmentTerms<'a>,
    pub(super) own: &'a SegmentLattice<'l, f32>,
    pub(super) limited: &'a SegmentLattice<'l, f32>,
}

impl Reasons<[Segment]> for OfSegmentModel<'_, '_> {
    fn terms(&mut self, path: &[Segment], _: Range<usize>) -> Result<Vec<Term>> {
        let mut terms = self.terms.of(path)?;
        let places: Vec<_> = path.iter().map(|part| (part.start, part.label)).collect();
        terms.extend(constraint_terms(self.own.chain(), self.limited.chain(), &places)?);
        Ok(terms)
    }

    fn name(&self, term: &Term) -> String {
        if term.kind == TermKind::Length { in_positions(term.id) } else { self.terms.name(term) }
    }
}

fn in_positions(length: u32) -> String {
    if length == 1 { "1 position".into() } else { format!("{length} positions") }
}

/// Numbers names, so that each is stored once.
#[derive(Debug, Default)]
pub(super) struct Strings {
    pub(super) all: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Strings {
    fn number(&mut self, text: String) -> usize {
        let text = match text.char_indices().nth(LONGEST_NAME) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text,
        };
        *self.numbers.entry(text).or_insert_with_key(|text| {
            self.all.push(text.clone());
            self.all.len() - 1
        })
    }
}

/// A path as labels, for comparison.
pub(super) struct Side<'a, P: ?Sized> {
    pub(super) path: &'a P,
    pub(super) labels: &'a [LabelId],
    pub(super) score: f64,
}

/// Compares the winner's terms with those of a rival path. `differs` are the positions where the two are different.
pub(super) fn compare<P: ?Sized, R: Reasons<P>>(
    reasons: &mut R,
    winner: &Side<'_, P>,
    rival: &Side<'_, P>,
    differs: &[usize],
    (t, top): (usize, usize),
    strings: &mut Strings,
) -> Result<Why> {
    let (from, to) = (differs.first().copied().unwrap_or(t), differs.last().copied().unwrap_or(t));
    let found =
        differences(reasons.terms(winner.path, from..to + 1)?, reasons.terms(rival.path, from..to + 1)?);
    let (shown, others) = found.split_at(found.len().min(top));
    let line = |both: &Difference, strings: &mut Strings| TermLine {
        kind: kind(both.term.kind),
        position: both.term.position,
        name: strings.number(reasons.name(&both.term)),
        winner: short(both.winner),
        rival: short(both.rival),
    };
    Ok(Why {
        winner: winner.labels[t],
        rival: rival.labels[t],
        rival_score: rival.score,
        lead: short(winner.score - rival.score),
        from,
        to,
        rival_labels: rival.labels[from..=to].to_vec(),
        terms: shown.iter().map(|both| line(both, strings)).collect(),
        others: others.len(),
        others_lead: short(others.iter().map(|both| both.term.score).sum::<f64>() + 0.0), // an empty sum is -0
    })
}

fn kind(kind: TermKind) -> &'static str {
    match kind {
        TermKind::Start => "start",
        TermKind::Node => "node score",
        TermKind::Feature => "feature",
        TermKind::Part => "label part",
        TermKind::Support => "support token",
        TermKind::First => "first of segment",
        TermKind::Last => "last of segment",
        TermKind::Length => "length",
        TermKind::Segment => "segment",
        TermKind::Edge => "edge",
        TermKind::Agreement => "agreement",
        TermKind::Constraint => "constraint",
        TermKind::End => "end",
    }
}
