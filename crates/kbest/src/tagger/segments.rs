//! From a model of segments and an input to segments.
//!
//! **What.** As [`Tagger`](super::Tagger), for a [`SegmentModel`]: the best segmentation or the `k` best, constraints on which
//! label may follow which, labels that are known, and probabilities. **Cost.** Features of segments are computed where the decoder
//! asks for them; with probabilities, for all segments. Make one per thread ([`SegmentTagger::another`]).
//!
//! **Limits.** Transitions are those between neighbouring *segments*, by the names of the segment labels. A known label forces
//! its position into a segment of that label; a tag such as `B-X` also says that the segment begins there, `I-X` that it does not
//! (so there is no answer if it is known of the first position; in the schemes IOB1 and IOE1, where `I-X` may begin or end a span, only the label counts).

use crate::model::SegmentModel;
use crate::scoring::SegmentModelMemory;
use crate::sequence::Sequence;
use kbest_core::LabelId;
use kbest_core::lattice::Edges;
use kbest_core::marginal::Calibration;
use kbest_core::pipeline::{InOrder, in_order};
use kbest_core::scheme::{KnownTag, Scheme};
use kbest_core::segment::{
    Estimate, Segment, SegmentDecoded, SegmentDecoder, SegmentLattice, SegmentMarginals, SegmentScratch,
};
use kbest_core::transition::Transitions;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// A segment at least as probable has no alternative, apart from rounding: no curve is asked.
const CERTAIN: f64 = 1.0 - 1e-12;

/// The answer for one input.
#[derive(Debug, Clone, Default)]
pub struct SegmentTagged {
    /// The segmentations, best first.
    pub decoded: SegmentDecoded<f32>,
    /// For each segmentation, the probability of each of its segments; empty unless requested.
    pub confidences: Vec<Vec<f64>>,
    /// The probability of each segmentation; empty unless requested.
    pub probabilities: Vec<f64>,
    /// How probable it is that each position belongs to a segment of each label, `T x L`; empty unless requested.
    pub distributions: Vec<f64>,
}

impl SegmentTagged {
    /// The segments of the best segmentation.
    pub fn best(&self) -> &[Segment] {
        self.decoded.segmentations.first().map_or(&[], |best| &best.segments)
    }
}

/// Transitions, and the constrained edges of one model.
#[derive(Debug)]
struct Constraint {
    transitions: Transitions,
    shared: Option<Edges<f32>>, // `None` if edges depend on the input
    start: Option<Vec<f32>>,
    end: Option<Vec<f32>>,
}

/// Tags inputs with a model of segments.
#[derive(Debug)]
pub struct SegmentTagger {
    model: Arc<SegmentModel>,
    decoder: SegmentDecoder,
    confidences: bool,
    distributions: bool,
    calibration: Option<Arc<Calibration>>,
    constraint: Option<Arc<Constraint>>,
    memory: SegmentModelMemory,
    scratch: SegmentScratch<f32>,
    tagged: SegmentTagged,
}

impl SegmentTagger {
    /// A tagger that chooses the decoder automatically.
    pub fn new(model: Arc<SegmentModel>) -> Self {
        SegmentTagger {
            calibration: model.calibration().cloned().map(Arc::new),
            model,
            decoder: SegmentDecoder::default(),
            confidences: false,
            distributions: false,
            constraint: None,
            memory: SegmentModelMemory::default(),
            scratch: SegmentScratch::default(),
            tagged: SegmentTagged::default(),
        }
    }

    /// Uses this decoder instead.
    #[must_use]
    pub fn with_decoder(mut self, decoder: SegmentDecoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// Whether to compute probabilities.
    #[must_use]
    pub fn with_confidences(mut self, confidences: bool) -> Self {
        self.confidences = confidences;
        self
    }

    /// Whether to compute the probabilities of all labels at all positions, too: those of the segment that covers it.
    #[must_use]
    pub fn with_distributions(mut self, distributions: bool) -> Self {
        self.distributions = distributions;
        self
    }

    /// How scores become probabilities, instead of the model's own calibration. Its temperature acts on all of them, its curve
    /// on probabilities of segments.
    #[must_use]
    pub fn with_calibration(mut self, calibration: Option<Calibration>) -> Self {
        self.calibration = calibration.map(Arc::new);
        self
    }

    /// Allows only these transitions between neighbouring segments; scores that they carry are added.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of labels, [`Error::IllegalScore`] if a sum is too large.
    pub fn with_transitions(mut self, transitions: &Transitions) -> Result<Self> {
        let observed = self.model.extractor().source().has_observed_edges();
        let shared = (!observed).then(|| self.model.shared_edges());
        self.constraint = Some(Arc::new(Constraint {
            shared: shared.map(|edges| transitions.constrain(edges)).transpose()?,
            start: transitions.constrain_start(Some(self.model.start()))?,
            end: transitions.constrain_end(Some(self.model.end()))?,
            transitions: transitions.clone(),
        }));
        Ok(self)
    }

    /// Obeys these rules, which [`Transitions::from_rules`] reads; they are about the labels of neighbouring segments. What a
    /// scheme demands, spans fulfil by themselves.
    ///
    /// # Errors
    /// Those of [`Transitions::from_rules`] and [`SegmentTagger::with_transitions`].
    pub fn with_rules<R: AsRef<str>>(self, rules: &[R]) -> Result<Self> {
        let is_scheme = |rule: &str| rule == "auto" || Scheme::by_name(rule).is_ok();
        let fulfilled = |rule: &str| is_scheme(rule) && self.model.spelling().name() != "runs";
        let rules: Vec<&str> = rules.iter().map(AsRef::as_ref).filter(|rule| !fulfilled(rule)).collect();
        match Transitions::from_rules(&rules, self.model.labels())? {
            Some(transitions) => self.with_transitions(&transitions),
            None => Ok(self),
        }
    }

    /// Another tagger of the same kind, for another thread: it shares the model and the constrained edges.
    #[must_use]
    pub fn another(&self) -> Self {
        SegmentTagger {
            decoder: self.decoder,
            confidences: self.confidences,
            distributions: self.distributions,
            calibration: self.calibration.clone(),
            constraint: self.constraint.clone(),
            ..SegmentTagger::new(self.model.clone())
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<SegmentModel> {
        &self.model
    }

    /// The `k` best segmentations, best first.
    ///
    /// # Errors
    /// Errors of extraction, the lattice and the decoder; [`Error::NoPath`] if the constraints leave none.
    pub fn tag(&mut self, input: &Sequence, k: usize) -> Result<&SegmentTagged> {
        self.search(input, &[], k)
    }

    /// The `k` best segmentations among those that contain the known labels; see [`SegmentTagger::known`].
    ///
    /// # Errors
    /// As for [`SegmentTagger::tag`]; [`Error::Shape`] unless `known` has one entry per position; [`Error::LabelOutOfRange`].
    pub fn tag_known(
        &mut self,
        input: &Sequence,
        known: &[Option<KnownTag>],
        k: usize,
    ) -> Result<&SegmentTagged> {
        if known.is_empty() && !input.is_empty() {
            return Err(wrong_known(input, known));
        }
        check_known(input, known)?;
        self.search(input, known, k)
    }

    /// What a label of a position says of its segment; `None` if the model does not know it.
    pub fn known(&self, label: &str) -> Option<KnownTag> {
        self.model.spelling().known(label)
    }

    /// The labels of the positions of a segmentation.
    pub fn spell(&self, segments: &[Segment]) -> Vec<&str> {
        let parts: Vec<(usize, usize, LabelId)> =
            segments.iter().map(|part| (part.start, part.end, part.label)).collect();
        self.model.spelling().write(&parts)
    }

    /// Number of segments whose own features were computed for the last input.
    pub fn asked(&mut self) -> usize {
        SegmentModel::asked(&mut self.memory)
    }

    /// The lattice of an input, with constraints and known labels (none, or one entry per position).
    ///
    /// # Errors
    /// As for [`SegmentTagger::tag_known`].
    pub fn lattice(
        &mut self,
        input: &Sequence,
        known: &[Option<KnownTag>],
    ) -> Result<SegmentLattice<'_, f32>> {
        check_known(input, known)?;
        let constraint = self.constraint.as_deref();
        limited(&self.model, self.decoder, constraint, input, known, &mut self.memory)
    }

    fn search(&mut self, input: &Sequence, known: &[Option<KnownTag>], k: usize) -> Result<&SegmentTagged> {
        let SegmentTagged { decoded, confidences, probabilities, distributions } = &mut self.tagged;
        confidences.clear();
        probabilities.clear();
        distributions.clear();
        let constraint = self.constraint.as_deref();
        let lattice = limited(&self.model, self.decoder, constraint, input, known, &mut self.memory)?;
        *decoded = self.decoder.decode(&lattice, k, &mut self.scratch)?;
        if !self.confidences && !self.distributions {
            return Ok(&self.tagged);
        }
        let calibration = self.calibration.as_deref();
        let marginals =
            SegmentMarginals::at_temperature(&lattice, calibration.map_or(1.0, Calibration::temperature))?;
        for found in decoded.segmentations.iter().filter(|_| self.confidences) {
            let sure = |part: &Segment| {
                let p = marginals.segment(part.start, part.end, part.label).min(1.0);
                match calibration {
                    Some(calibration) if p < CERTAIN => calibration.at(p),
                    _ => p,
                }
            };
            confidences.push(found.segments.iter().map(sure).collect());
            probabilities.push(marginals.log_probability(found.score.into()).exp());
        }
        if self.distributions {
            *distributions = marginals.labels();
        }
        Ok(&self.tagged)
    }

    /// Tags sequences on this many threads (0: all cores); the answers come in the order of the sequences. As
    /// [`Tagger::par_tag`](super::Tagger::par_tag).
    pub fn par_tag<I>(
        &self,
        sequences: I,
        k: usize,
        threads: usize,
    ) -> InOrder<I::IntoIter, Result<(Sequence, SegmentTagged)>>
    where
        I: IntoIterator<Item = Result<Sequence>>,
    {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let worker = |mut tagger: SegmentTagger| {
            move |sequence: Result<Sequence>| {
                let sequence = sequence?;
                let tagged = tagger.tag(&sequence, k)?.clone();
                Ok((sequence, tagged))
            }
        };
        let positions = |input: &Result<Sequence>| input.as_ref().map_or(1, Sequence::len);
        in_order(sequences, positions, (0..threads).map(|_| worker(self.another())).collect())
    }
}

fn wrong_known(input: &Sequence, known: &[Option<KnownTag>]) -> Error {
    Error::shape("known labels", format!("{} positions", input.len()), known.len())
}

fn check_known(input: &Sequence, known: &[Option<KnownTag>]) -> Result<()> {
    if known.is_empty() || known.len() == input.len() { Ok(()) } else { Err(wrong_known(input, known)) }
}

/// The lattice of an input as the tagger wants it.
fn limited<'l>(
    model: &'l SegmentModel,
    decoder: SegmentDecoder,
    constraint: Option<&'l Constraint>,
    input: &Sequence,
    known: &[Option<KnownTag>],
    memory: &'l mut SegmentModelMemory,
) -> Result<SegmentLattice<'l, f32>> {
    let lattice = match decoder {
        SegmentDecoder::SemiAstar(Estimate::Learned) => model.bounded_lattice(input, memory)?,
        _ => model.lattice(input, memory)?,
    };
    limit(lattice, constraint, known)
}

/// The lattice with constraints and known labels.
fn limit<'l>(
    mut lattice: SegmentLattice<'l, f32>,
    constraint: Option<&'l Constraint>,
    known: &[Option<KnownTag>],
) -> Result<SegmentLattice<'l, f32>> {
    if let Some(constraint) = constraint {
        lattice = lattice.with_chain(|chain| {
            let chain = match &constraint.shared {
                Some(edges) => chain.over(edges)?,
                None => {
                    let edges = constraint.transitions.constrain(chain.edges())?;
                    chain.over(Arc::new(edges))?
                }
            };
            chain.with_borders(constraint.start.as_deref(), constraint.end.as_deref())
        })?;
    }
    let positions = known.len();
    for (t, known) in known.iter().enumerate() {
        let Some(KnownTag { label, begins, ends }) = *known else { continue };
        lattice = lattice.with_chain(|chain| chain.force(t, label))?;
        for (boundary, there) in [(t, begins), (t + 1, ends)] {
            lattice = match there {
                Some(false) if boundary == 0 || boundary == positions => return Err(Error::NoPath),
                Some(true) if boundary > 0 && boundary < positions => lattice.require_boundary(boundary)?,
                Some(false) => lattice.forbid_boundary(boundary)?,
                _ => lattice,
            };
        }
    }
    Ok(lattice)
}
