//! The terms of a segmentation's score under a model of segments. See [`super::terms`].

use super::terms::{Term, TermKind, check, name_of, push_borders, push_edges, push_features, weight};
use crate::feature::FeatureBuffer;
use crate::feature::segment::SegmentMemory;
use crate::model::SegmentModel;
use crate::sequence::Sequence;
use kbest_core::segment::Segment;
use kbest_core::{Error, Result};

/// The terms of one sequence under a model of segments.
#[derive(Debug)]
pub struct SegmentTerms<'m> {
    model: &'m SegmentModel,
    features: FeatureBuffer,
    memory: SegmentMemory,
}

impl<'m> SegmentTerms<'m> {
    /// Extracts the features of a sequence.
    ///
    /// # Errors
    /// Errors of extraction.
    pub fn new(model: &'m SegmentModel, sequence: &Sequence) -> Result<Self> {
        let (mut features, mut memory) = (FeatureBuffer::new(), SegmentMemory::default());
        model.extractor().extract(sequence, &mut features)?;
        model.features().prepare(sequence, &mut memory)?;
        Ok(SegmentTerms { model, features, memory })
    }

    /// The terms of a segmentation.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the segments cover all positions in order, [`Error::LabelOutOfRange`].
    pub fn of(&mut self, segments: &[Segment]) -> Result<Vec<Term>> {
        let SegmentTerms { model, features, memory } = self;
        let names: Vec<_> = segments.iter().map(|part| part.label).collect();
        check(&names, segments.len(), model.labels().len())?;
        let (mut terms, mut covered) = (Vec::new(), 0);
        let labels = model.labels().len() as u32;
        for (i, &Segment { start, end, label }) in segments.iter().enumerate() {
            if start != covered || end <= start || end > features.len() {
                let expected = format!("a segment that starts at {covered}");
                return Err(Error::shape("segments to explain", expected, format!("[{start}, {end})")));
            }
            covered = end;
            for t in start..end {
                push_features(model.nodes(), features, t, label, TermKind::Feature, &mut terms);
            }
            push_features(model.nodes(), features, start, labels + label, TermKind::First, &mut terms);
            push_features(model.nodes(), features, end - 1, 2 * labels + label, TermKind::Last, &mut terms);
            let length = end - start;
            let of_length = model.durations().get((length - 1) * labels as usize + label as usize);
            let mut push = |kind, id, score: f32| {
                if score != 0.0 {
                    terms.push(Term { position: start, kind, id, part: 0, score: score.into() });
                }
            };
            push(TermKind::Length, length as u32, of_length.copied().unwrap_or(0.0));
            model.features().visit(memory, start, end, None, |id| {
                push(TermKind::Segment, id, weight(model.weights(), id, label));
            });
            if i > 0 {
                let observed = model.extractor().source().has_observed_edges();
                let ids = if observed { features.edges(start) } else { model.extractor().shared_edges() };
                push_edges(model.edges(), ids, start, (segments[i - 1].label, label), &mut terms);
            }
        }
        if covered != features.len() {
            let expected = format!("{} positions", features.len());
            return Err(Error::shape("segments to explain", expected, covered));
        }
        push_borders((Some(model.start()), Some(model.end())), &names, &mut terms);
        if let (Some(last), Some(part)) = (terms.last_mut(), segments.last())
            && last.kind == TermKind::End
        {
            last.position = part.end - 1; // counted in positions, not in segments
        }
        Ok(terms)
    }

    /// The name of a term: that of a feature; nothing for the others.
    pub fn name(&self, term: &Term) -> String {
        match term.kind {
            TermKind::Feature | TermKind::First | TermKind::Last => {
                name_of(self.model.extractor().nodes(), term.id)
            }
            TermKind::Edge => name_of(self.model.extractor().edges(), term.id),
            TermKind::Segment => name_of(self.model.features().keys(), term.id),
            _ => String::new(),
        }
    }
}
