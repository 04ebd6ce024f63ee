//! The terms of a score: which features and edges made a labelling win.
//!
//! **What.** A score is a sum, and each of its terms comes from something with a name: a feature and its weight, a support
//! token and its likeness, an edge, the length of a segment. [`Terms`] lists those of any labelling of one sequence under a
//! [`Model`], [`SegmentTerms`](super::SegmentTerms) those of any segmentation under a [`SegmentModel`](crate::SegmentModel);
//! [`differences`] sets two labellings side by side, term by term, and drops what they have in common. **Why.** That is the
//! answer to "why this label": the terms in which the winner differs from the runner-up. They add up to the difference of
//! their scores, within [`Lattice::rounding_slack`].
//!
//! **Cost.** Extraction once, then one look-up per feature of a position; with support tokens, one row of the kernel per
//! position asked for. **When not.** An ensemble that votes has no single sum ([`Terms::new`] refuses it).
//!
//! ```
//! use kbest::model::import;
//! use kbest::scoring::{TermKind, Terms, differences};
//! use kbest::Sequence;
//!
//! let text = "version: 100\ncost-factor: 1\nmaxid: 3\nxsize: 1\n\nB\nI\nO\n\nU:%x[0,0]\n\n0 U:word\n\n1\n2\n0\n";
//! let model = import::crfpp(text.as_bytes(), "model.txt")?;
//! let mut terms = Terms::new(&model, &Sequence::from_tokens(["word"]))?;
//! let why = differences(terms.of(&[1])?, terms.of(&[0])?);
//! assert_eq!((why[0].winner, why[0].rival), (2.0, 1.0));
//! assert_eq!((why[0].term.kind, terms.name(&why[0].term)), (TermKind::Feature, "U:word".into()));
//! # Ok::<(), kbest::Error>(())
//! ```

use crate::feature::token::{TokenVector, vector_of};
use crate::feature::{Dictionary, FeatureBuffer, FeatureId};
use crate::model::{EdgeWeights, Model, NodeWeights, Row, Support};
use crate::sequence::Sequence;
use hashbrown::HashMap;
use kbest_core::LabelId;
use kbest_core::lattice::Lattice;
use kbest_core::segment::{Segment, SegmentLattice};
use kbest_core::simd::Float;
use kbest_core::{Error, Result};
use std::hash::BuildHasherDefault;

/// What a term comes from; [`Term::id`] says which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TermKind {
    /// The first label.
    Start,
    /// The node score of the label, where no model says more.
    Node,
    /// A feature of the position, for the label itself; of a segment model, for any position of the segment.
    Feature,
    /// A feature of the position, for a part of the label ([`Term::part`]).
    Part,
    /// A support token that is like the token of the position.
    Support,
    /// A feature of a segment's first position.
    First,
    /// A feature of a segment's last position.
    Last,
    /// The length of the segment that starts here.
    Length,
    /// A feature of the whole segment that starts here.
    Segment,
    /// An edge feature of the step to the position.
    Edge,
    /// A pair of parts of the labels before and at the position.
    Agreement,
    /// What a constraint adds to the step to the position, to the first or to the last label.
    Constraint,
    /// The last label.
    End,
}

/// One term of a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// The position it belongs to.
    pub position: usize,
    /// What it comes from.
    pub kind: TermKind,
    /// Which feature, support token or length; 0 for kinds that need no number.
    pub id: u32,
    /// For [`TermKind::Part`]: which part.
    pub part: u32,
    /// What it adds to the score.
    pub score: f64,
}

/// A term in two labellings: what it adds to each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The term; its score is the winner's less the rival's.
    pub term: Term,
    /// What it adds to the winner.
    pub winner: f64,
    /// What it adds to the rival.
    pub rival: f64,
}

/// The terms in which two labellings of one sequence differ, heaviest first; those of equal weight in the order of
/// positions. What adds the same to both is left out.
pub fn differences(winner: Vec<Term>, rival: Vec<Term>) -> Vec<Difference> {
    type Key = (usize, TermKind, u32, u32);
    let mut places: HashMap<Key, usize, BuildHasherDefault<std::hash::DefaultHasher>> = HashMap::default();
    let mut found: Vec<Difference> = Vec::new();
    for (terms, is_winner) in [(winner, true), (rival, false)] {
        for term in terms {
            let place = *places.entry((term.position, term.kind, term.id, term.part)).or_insert(found.len());
            if place == found.len() {
                found.push(Difference { term: Term { score: 0.0, ..term }, winner: 0.0, rival: 0.0 });
            }
            let side = if is_winner { &mut found[place].winner } else { &mut found[place].rival };
            *side += term.score;
        }
    }
    found.iter_mut().for_each(|both| both.term.score = both.winner - both.rival);
    found.retain(|both| both.term.score != 0.0);
    let order = |both: &Difference| (both.term.position, both.term.kind, both.term.id, both.term.part);
    found.sort_by(|a, b| b.term.score.abs().total_cmp(&a.term.score.abs()).then(order(a).cmp(&order(b))));
    found
}

/// The terms of one sequence under a model.
#[derive(Debug)]
pub struct Terms<'m> {
    model: &'m Model,
    features: FeatureBuffer,
    likeness: Vec<Option<Vec<f64>>>, // T: the row of the kernel, if it was asked for
}

impl<'m> Terms<'m> {
    /// Extracts the features of a sequence.
    ///
    /// # Errors
    /// Errors of extraction; [`Error::Argument`] for an ensemble that votes; [`Error::Data`] if the model is checked while it is
    /// used, and damaged.
    pub fn new(model: &'m Model, sequence: &Sequence) -> Result<Self> {
        if let Some(voters) = model.voters() {
            let got = format!("an ensemble of {} members that vote", voters.votes().len());
            return Err(Error::argument("model", "one whose score is a sum of weights", got));
        }
        let mut features = FeatureBuffer::new();
        model.extractor().extract(sequence, &mut features)?;
        model.undamaged()?;
        let likeness = vec![None; features.len()];
        Ok(Terms { model, features, likeness })
    }

    /// The terms of a labelling.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one label per position, [`Error::LabelOutOfRange`].
    pub fn of(&mut self, labels: &[LabelId]) -> Result<Vec<Term>> {
        self.within(labels, 0, labels.len())
    }

    /// The terms of some positions of a labelling, with the edges between and beside them: for labellings that differ
    /// nowhere else.
    ///
    /// # Errors
    /// As [`Terms::of`].
    pub fn within(&mut self, labels: &[LabelId], from: usize, to: usize) -> Result<Vec<Term>> {
        check(labels, self.features.len(), self.model.labels().len())?;
        let mut terms = Vec::new();
        for t in from..to.min(labels.len()) {
            self.push_node(t, labels[t], &mut terms);
        }
        for t in from.max(1)..(to + 1).min(labels.len()) {
            let shared = self.model.extractor().shared_edges();
            let observed = self.model.extractor().source().has_observed_edges();
            let ids = if observed { self.features.edges(t) } else { shared };
            push_edges(self.model.edges(), ids, t, (labels[t - 1], labels[t]), &mut terms);
            let Some(agreement) = self.model.agreement() else { continue };
            agreement.groups().visit_pair(labels[t - 1], labels[t], |weight| {
                let score = f64::from(agreement.weights()[weight]);
                if score != 0.0 {
                    let (kind, id) = (TermKind::Agreement, weight as u32);
                    terms.push(Term { position: t, kind, id, part: 0, score });
                }
            });
        }
        push_borders((self.model.start(), self.model.end()), labels, &mut terms);
        self.model.undamaged()?;
        Ok(terms)
    }

    fn push_node(&mut self, t: usize, y: LabelId, terms: &mut Vec<Term>) {
        if let Some(support) = self.model.support() {
            let row = self.likeness[t].get_or_insert_with(|| likeness(support, &self.features, t));
            push_support(support, row, t, y, terms);
            return;
        }
        let (nodes, labels) = (self.model.nodes(), self.model.labels().len() as u32);
        push_features(nodes, &self.features, t, y, TermKind::Feature, terms);
        for &part in self.model.label_parts().map_or(&[][..], |parts| parts.of(y)) {
            let first = terms.len();
            push_features(nodes, &self.features, t, labels + part, TermKind::Part, terms);
            terms[first..].iter_mut().for_each(|term| term.part = part);
        }
    }

    /// The name of a term: a feature's, the first features of a support token, nothing for borders and constraints.
    pub fn name(&self, term: &Term) -> String {
        match term.kind {
            TermKind::Feature | TermKind::Part => name_of(self.model.extractor().nodes(), term.id),
            TermKind::Edge => name_of(self.model.extractor().edges(), term.id),
            TermKind::Agreement => {
                let Some(agreement) = self.model.agreement() else { return String::new() };
                let (group, from, to) = agreement.groups().describe(term.id as usize);
                let shown = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
                format!("{group} {}, {}", shown(from), shown(to))
            }
            TermKind::Support => {
                let Some(support) = self.model.support() else { return String::new() };
                let vector = support.tokens().vector(term.id as usize);
                let names = vector.iter().map(|(id, _)| name_of(self.model.extractor().nodes(), id));
                names.collect::<Vec<_>>().join(" ")
            }
            _ => String::new(),
        }
    }
}

/// The terms of a labelling where there is no model, only scores: nodes, edges and borders.
///
/// # Errors
/// [`Error::Shape`] unless there is one label per position, [`Error::LabelOutOfRange`].
pub fn lattice_terms<S: Float>(lattice: &Lattice<'_, S>, labels: &[LabelId]) -> Result<Vec<Term>> {
    check(labels, lattice.positions(), lattice.labels())?;
    let starts: Vec<_> = labels.iter().copied().enumerate().collect();
    Ok(score_terms(lattice, labels, &starts))
}

/// The same for a segmentation.
///
/// # Errors
/// Those of [`SegmentLattice::segmentation_score`].
pub fn segment_lattice_terms<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    segments: &[Segment],
) -> Result<Vec<Term>> {
    lattice.segmentation_score(segments)?;
    let covered = |part: &Segment| std::iter::repeat_n(part.label, part.end - part.start);
    let labels: Vec<LabelId> = segments.iter().flat_map(covered).collect();
    let starts: Vec<_> = segments.iter().map(|part| (part.start, part.label)).collect();
    let mut terms = score_terms(lattice.chain(), &labels, &starts);
    for &Segment { start, end, label } in segments {
        let length = end - start;
        let own = [
            (TermKind::Length, length as u32, lattice.duration(length, label)),
            (TermKind::Segment, end as u32, lattice.explicit(start, end, label)),
        ];
        for (kind, id, score) in own.into_iter().filter(|(_, _, score)| *score != S::ZERO) {
            terms.push(Term { position: start, kind, id, part: 0, score: score.to_f64() });
        }
    }
    Ok(terms)
}

/// Node scores of all positions, edges between labels that begin somewhere, scores of the first and the last.
fn score_terms<S: Float>(
    lattice: &Lattice<'_, S>,
    labels: &[LabelId],
    starts: &[(usize, LabelId)],
) -> Vec<Term> {
    let mut terms = Vec::new();
    let mut push = |position: usize, kind, score: S| {
        if score != S::ZERO {
            terms.push(Term { position, kind, id: 0, part: 0, score: score.to_f64() });
        }
    };
    for (t, &y) in labels.iter().enumerate() {
        push(t, TermKind::Node, lattice.node_row(t)[y as usize]);
    }
    for pair in starts.windows(2) {
        push(pair[1].0, TermKind::Edge, lattice.edge_score(pair[1].0, pair[0].1, pair[1].1));
    }
    if let (Some(&first), Some(&last)) = (labels.first(), labels.last()) {
        push(0, TermKind::Start, lattice.start().map_or(S::ZERO, |start| start[first as usize]));
        push(labels.len() - 1, TermKind::End, lattice.end().map_or(S::ZERO, |end| end[last as usize]));
    }
    terms
}

/// What constraints add to a labelling: the difference between a model's lattice and the same under constraints. Each label
/// comes with the position where it begins: every position, or the first one of each segment.
///
/// # Errors
/// [`Error::Shape`] unless positions rise from 0 and exist, [`Error::LabelOutOfRange`].
pub fn constraint_terms<S: Float>(
    own: &Lattice<'_, S>,
    limited: &Lattice<'_, S>,
    labels: &[(usize, LabelId)],
) -> Result<Vec<Term>> {
    let begins = labels.iter().map(|&(t, _)| t);
    let rises = labels.first().is_none_or(|&(t, _)| t == 0) && begins.clone().is_sorted_by(|a, b| a < b);
    if !rises || begins.max().is_some_and(|last| last >= own.positions()) {
        let expected = format!("positions that rise from 0 and stay below {}", own.positions());
        return Err(Error::shape("labels to explain", expected, "others"));
    }
    let names: Vec<LabelId> = labels.iter().map(|&(_, y)| y).collect();
    check(&names, names.len(), own.labels().min(limited.labels()))?;
    let mut terms = Vec::new();
    let mut push = |position: usize, with: S, without: S| {
        let score = with.to_f64() - without.to_f64();
        if score != 0.0 && score.is_finite() {
            terms.push(Term { position, kind: TermKind::Constraint, id: 0, part: 0, score });
        }
    };
    let at = |scores: Option<&[S]>, y: LabelId| scores.map_or(S::ZERO, |scores| scores[y as usize]);
    if let (Some(&first), Some(&last)) = (names.first(), names.last()) {
        push(0, at(limited.start(), first), at(own.start(), first));
        push(own.positions() - 1, at(limited.end(), last), at(own.end(), last));
    }
    for pair in labels.windows(2) {
        let ((_, p), (t, y)) = (pair[0], pair[1]);
        push(t, limited.edge_score(t, p, y), own.edge_score(t, p, y));
    }
    Ok(terms)
}

pub(super) fn check(labels: &[LabelId], positions: usize, known: usize) -> Result<()> {
    if labels.len() != positions {
        return Err(Error::shape("labels to explain", format!("{positions} positions"), labels.len()));
    }
    match labels.iter().find(|&&y| y as usize >= known) {
        Some(&y) => {
            let what = "labels to explain".into();
            Err(Error::LabelOutOfRange { what, label: y.into(), labels: known })
        }
        None => Ok(()),
    }
}

/// The weights of a position's features in one column.
pub(super) fn push_features(
    weights: &NodeWeights,
    features: &FeatureBuffer,
    t: usize,
    column: u32,
    kind: TermKind,
    terms: &mut Vec<Term>,
) {
    let values = features.values(t);
    for (i, &id) in features.nodes(t).iter().enumerate() {
        let value = values.map_or(1.0, |values| values[i] as f32);
        let score = f64::from(value * weight(weights, id, column));
        if score != 0.0 {
            terms.push(Term { position: t, kind, id, part: 0, score });
        }
    }
}

/// The weight of a feature in one column.
pub(super) fn weight(weights: &NodeWeights, feature: FeatureId, column: u32) -> f32 {
    match weights.row(feature) {
        Row::Whole(bits) => f32::from_bits(bits[column as usize]),
        Row::List(list) => {
            let place = list.binary_search_by_key(&column, |&[label, _]| label);
            place.map_or(0.0, |place| f32::from_bits(list[place][1]))
        }
    }
}

/// The weights of the edge features of the step to `t`.
pub(super) fn push_edges(
    weights: &EdgeWeights,
    ids: &[FeatureId],
    t: usize,
    (from, to): (LabelId, LabelId),
    terms: &mut Vec<Term>,
) {
    for &id in ids {
        let pairs = weights.pairs(id);
        if let Ok(place) = pairs.binary_search_by_key(&(from, to), |pair| (pair.from, pair.to)) {
            let score = f64::from(pairs[place].weight);
            terms.push(Term { position: t, kind: TermKind::Edge, id, part: 0, score });
        }
    }
}

/// The scores of the first and of the last label.
pub(super) fn push_borders(
    (start, end): (Option<&[f32]>, Option<&[f32]>),
    labels: &[LabelId],
    terms: &mut Vec<Term>,
) {
    let (Some(&first), Some(&last)) = (labels.first(), labels.last()) else { return };
    let borders = [(0, TermKind::Start, start, first), (labels.len() - 1, TermKind::End, end, last)];
    for (position, kind, scores, y) in borders {
        let score = scores.map_or(0.0, |scores| f64::from(scores[y as usize]));
        if score != 0.0 {
            terms.push(Term { position, kind, id: 0, part: 0, score });
        }
    }
}

/// How like each support token the token of a position is.
fn likeness(support: &Support, features: &FeatureBuffer, t: usize) -> Vec<f64> {
    let (mut vector, mut row) = (Vec::new(), Vec::new());
    vector_of(features, t, &mut vector);
    let (ids, values): (Vec<FeatureId>, Vec<f32>) = vector.into_iter().unzip();
    support.kernel().row(TokenVector { features: &ids, values: &values }, support.tokens(), &mut row);
    row
}

fn push_support(support: &Support, row: &[f64], t: usize, y: LabelId, terms: &mut Vec<Term>) {
    for (id, &likeness) in (0..).zip(row).filter(|(_, likeness)| **likeness != 0.0) {
        let coefficients = support.coefficients(id as usize);
        if let Ok(place) = coefficients.binary_search_by_key(&y, |coefficient| coefficient.label) {
            let score = f64::from(coefficients[place].weight) * likeness;
            if score != 0.0 {
                terms.push(Term { position: t, kind: TermKind::Support, id, part: 0, score });
            }
        }
    }
}

/// Names of features are bytes: those in models of other programs need not be UTF-8.
pub(super) fn name_of(keys: &Dictionary, id: FeatureId) -> String {
    keys.key(id).map_or_else(String::new, |key| String::from_utf8_lossy(key).into_owned())
}
