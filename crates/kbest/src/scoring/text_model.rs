//! What programs and bindings ask of a model of labelled text, beyond its lattices.

use super::Scorer;
use crate::evaluate::Spans;
use crate::feature::Extractor;
use crate::model::{Model, SegmentModel};
use crate::sequence::Sequence;
use crate::text::TextFormat;
use kbest_core::scheme::{KnownTag, Scheme, Spelling};
use kbest_core::segment::Segment;
use kbest_core::transition::Transitions;
use kbest_core::{LabelId, LabelSet, Result, Structure};

/// What is known of a position, as the models of a kind take it.
type Known<M> = <<M as Scorer>::Structure as Structure>::Known;

/// One part of an answer.
type Part<M> = <<M as Scorer>::Structure as Structure>::Part;

/// A model of labelled text, of either [`Structure`].
pub trait TextModel: Scorer<Input = Sequence> {
    /// The labels of the parts of answers.
    fn label_set(&self) -> &LabelSet;

    /// What finds the features of positions.
    fn extractor(&self) -> &Extractor;

    /// The format of the text that it was trained on, if known.
    fn text_format(&self) -> Option<&TextFormat>;

    /// How the labels of positions encode spans, if they do.
    fn spans(&self) -> Option<Spans>;

    /// What the label of a position says; `None` if the model does not know it.
    fn known(&self, label: &str) -> Option<Known<Self>>;

    /// The labels of the positions of an answer.
    fn spell(&self, answer: &[Part<Self>]) -> Vec<&str>;

    /// Which parts of an answer are right, by the labels of the sequence.
    fn right(&self, answer: &[Part<Self>], sequence: &Sequence) -> Vec<bool>;

    /// The transitions that rules allow, which [`Transitions::from_rules`] reads; `None` if they allow all. They are about
    /// labels of neighbouring parts: what a scheme demands of positions, segments fulfil without a rule.
    ///
    /// # Errors
    /// Those of [`Transitions::from_rules`].
    fn transitions<R: AsRef<str>>(&self, rules: &[R]) -> Result<Option<Transitions>>;
}

impl TextModel for Model {
    fn label_set(&self) -> &LabelSet {
        self.labels()
    }

    fn extractor(&self) -> &Extractor {
        self.extractor()
    }

    fn text_format(&self) -> Option<&TextFormat> {
        self.text_format()
    }

    fn spans(&self) -> Option<Spans> {
        Spans::detect(self.labels().names())
    }

    fn known(&self, label: &str) -> Option<LabelId> {
        self.labels().id(label)
    }

    fn spell(&self, answer: &[LabelId]) -> Vec<&str> {
        answer.iter().map(|&y| self.labels().name(y).unwrap_or_default()).collect()
    }

    fn right(&self, answer: &[LabelId], sequence: &Sequence) -> Vec<bool> {
        let is_right = |(t, &y): (usize, &LabelId)| self.labels().name(y) == sequence.label(t);
        answer.iter().enumerate().map(is_right).collect()
    }

    fn transitions<R: AsRef<str>>(&self, rules: &[R]) -> Result<Option<Transitions>> {
        Transitions::from_rules(rules, self.labels())
    }
}

impl TextModel for SegmentModel {
    fn label_set(&self) -> &LabelSet {
        self.labels()
    }

    fn extractor(&self) -> &Extractor {
        self.extractor()
    }

    fn text_format(&self) -> Option<&TextFormat> {
        self.text_format()
    }

    fn spans(&self) -> Option<Spans> {
        Some(match self.spelling() {
            Spelling::Runs(_) => Spans::Runs,
            Spelling::Tags { tagging, .. } => Spans::Conlleval(tagging.layout),
        })
    }

    fn known(&self, label: &str) -> Option<KnownTag> {
        self.spelling().known(label)
    }

    fn spell(&self, answer: &[Segment]) -> Vec<&str> {
        let parts: Vec<(usize, usize, LabelId)> =
            answer.iter().map(|part| (part.start, part.end, part.label)).collect();
        self.spelling().write(&parts)
    }

    fn right(&self, answer: &[Segment], sequence: &Sequence) -> Vec<bool> {
        let gold: Vec<&str> = (0..sequence.len()).map(|t| sequence.label(t).unwrap_or_default()).collect();
        let right = self.spelling().read(&gold);
        let is_right = |part: &Segment| {
            let name = self.labels().name(part.label).unwrap_or_default();
            let place = right.binary_search_by_key(&part.start, |(start, _, _)| *start);
            place.is_ok_and(|place| (right[place].1, right[place].2.as_str()) == (part.end, name))
        };
        answer.iter().map(is_right).collect()
    }

    fn transitions<R: AsRef<str>>(&self, rules: &[R]) -> Result<Option<Transitions>> {
        let is_scheme = |rule: &str| rule == "auto" || Scheme::by_name(rule).is_ok();
        let fulfilled = |rule: &str| is_scheme(rule) && self.spelling().name() != "runs";
        let rules: Vec<&str> = rules.iter().map(AsRef::as_ref).filter(|rule| !fulfilled(rule)).collect();
        Transitions::from_rules(&rules, self.labels())
    }
}
