//! Tagging: a model, a decoder and the memory they need, in one place.
//!
//! **What.** A [`Tagger`] turns an input, usually a [`Sequence`](crate::Sequence), into its `k` best label sequences
//! and, on request, the probability of each label and each path ([`Tagger::with_confidences`]). It works with any
//! [`Scorer`]: text models of positions or of segments, models of boolean features, ensembles. **Cost.** That of extraction, scoring and
//! the decoder; confidences add forward-backward, which visits every edge that is not at the base value, and every segment.
//! For positions nothing is
//! allocated once it has seen the longest sequence, unless labels are known, edges depend on the input, or members vote.
//! **Threads.** The model is shared; make one
//! tagger per thread ([`Tagger::another`]). An ensemble can also use several threads for one sequence
//! ([`Tagger::with_threads`]).
//!
//! **Probabilities** are those of the model's [`Calibration`], if it has one.
//!
//! **Constraints.** [`Tagger::with_transitions`] forbids pairs of neighbouring labels, [`Tagger::tag_known`] keeps
//! known labels; decoders, k best paths, votes and confidences obey both.
//!
//! ```
//! use kbest::model::import;
//! use kbest::scheme::Tagging;
//! use kbest::transition::Transitions;
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! // A model that prefers `I` for both words, whatever comes before.
//! let model = "version: 100\ncost-factor: 1\nmaxid: 3\nxsize: 1\n\nB\nI\nO\n\nU:%x[0,0]\n\n0 U:word\n\n1\n2\n0\n";
//! let model = Arc::new(import::crfpp(model.as_bytes(), "model.txt")?);
//! let tagging = Tagging::detect(model.labels().names()).expect("these names encode spans");
//! let transitions = Transitions::from_names(model.labels().names(), tagging);
//! let sequence = Sequence::from_tokens(["word", "word"]);
//!
//! let mut free = Tagger::new(model.clone());
//! assert_eq!(free.tag(&sequence, 1)?.decoded.best().labels, [1, 1]);
//! let mut constrained = Tagger::new(model).with_transitions(&transitions)?;
//! assert_eq!(constrained.tag(&sequence, 1)?.decoded.best().labels, [0, 1]);
//! assert_eq!(constrained.tag_known(&sequence, &[Some(2), None], 1)?.decoded.best().labels, [2, 0]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod limits;
mod options;
mod parallel;
mod voting;

pub use options::TaggerOptions;
pub use parallel::ParTag;

use crate::model::Model;
use crate::model::SegmentModel;
use crate::scoring::{LatticeOf, Scorer, TextModel};
use kbest_core::decode::{Decoded, Decoder};
use kbest_core::marginal::Calibration;
use kbest_core::structure::Probabilities;
use kbest_core::transition::Transitions;
use kbest_core::{Error, Positions, Result, Structure};
use limits::{Constraint, Limits};
use std::sync::Arc;

/// What the lattices of a model decode with.
type ScratchOf<M> = <<M as Scorer>::Structure as Structure>::Scratch<f32>;

/// What can be known of a position.
type Known<M> = <<M as Scorer>::Structure as Structure>::Known;

/// Tags inputs with a model of any kind.
#[derive(Debug)]
pub struct Tagger<M: Scorer = Model> {
    model: Arc<M>,
    decoder: Decoder,
    confidences: bool,
    distributions: bool,
    threads: usize,
    constraint: Option<Arc<Constraint>>,
    memory: M::Memory,
    scratch: ScratchOf<M>,
    calibration: Option<Arc<Calibration>>,
    sums: <M::Structure as Structure>::Sums,
    tagged: Tagged<M::Structure>,
}

/// The answer for one input.
#[derive(Debug, Clone, Default)]
pub struct Tagged<St: Structure = Positions> {
    /// The paths, best first. For an ensemble that votes, the scores are shares of votes.
    pub decoded: Decoded<f32, St::Path<f32>>,
    /// For each path, the probability of its label at each position, or of each of its segments; empty unless requested.
    pub confidences: Vec<Vec<f64>>,
    /// The probability of each path; empty unless requested.
    pub probabilities: Vec<f64>,
    /// The probability of every label at every position (of segments: that one of this label covers it), `T x L`; empty
    /// unless requested.
    pub distributions: Vec<f64>,
}

impl<St: Structure> Tagged<St> {
    fn forget_probabilities(&mut self) {
        self.confidences.clear();
        self.probabilities.clear();
        self.distributions.clear();
    }

    /// Computes the probabilities of the paths, those of all labels, or both.
    fn fill(
        &mut self,
        lattice: &LatticeOf<'_, St>,
        calibration: Option<&Calibration>,
        sums: &mut St::Sums,
        (of_paths, of_labels): (bool, bool),
    ) -> Result<()> {
        let Tagged { decoded, confidences, probabilities, distributions } = self;
        let paths = of_paths.then_some((confidences, probabilities));
        let wanted = Probabilities { paths, distributions: of_labels.then_some(distributions) };
        St::probabilities(lattice, calibration, sums, &decoded.paths, wanted)
    }
}

impl<M: Scorer> Tagger<M> {
    /// A tagger that chooses the decoder automatically.
    pub fn new(model: Arc<M>) -> Self {
        Tagger {
            calibration: model.calibration().cloned().map(Arc::new),
            sums: M::Structure::sums(model.shared_edges().is_some()),
            model,
            decoder: Decoder::default(),
            confidences: false,
            distributions: false,
            threads: 1,
            constraint: None,
            memory: M::Memory::default(),
            scratch: ScratchOf::<M>::default(),
            tagged: Tagged::default(),
        }
    }

    /// Uses this decoder instead.
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.model.prepare_for(&decoder, &mut self.memory);
        self.decoder = decoder;
        self
    }

    /// Whether to compute probabilities. For an ensemble that votes, they are those of its last member.
    pub fn with_confidences(mut self, confidences: bool) -> Self {
        self.confidences = confidences;
        self
    }

    /// Whether to compute the probabilities of all labels at all positions, too.
    pub fn with_distributions(mut self, distributions: bool) -> Self {
        self.distributions = distributions;
        self
    }

    /// How scores become probabilities, instead of the model's own calibration. Of segments, its temperature acts on all
    /// probabilities, its curve on those of segments.
    pub fn with_calibration(mut self, calibration: Option<Calibration>) -> Self {
        self.calibration = calibration.map(Arc::new);
        self.forget_sums();
        self
    }

    /// What the lattices share changes.
    fn forget_sums(&mut self) {
        self.sums = M::Structure::sums(self.model.shared_edges().is_some());
    }

    /// How many threads the members of an ensemble share; default 1. The answer does not depend on it. If there are
    /// many sequences, one tagger per thread is faster.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Allows only these transitions; scores that they carry are added. In an ensemble, every member obeys them.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of labels, [`Error::IllegalScore`] if a sum is too large.
    pub fn with_transitions(mut self, transitions: &Transitions) -> Result<Self> {
        self.constraint = Some(Arc::new(Constraint::new(&*self.model, transitions)?));
        self.forget_sums();
        Ok(self)
    }

    /// Another tagger of the same kind, for another thread: it shares the model and the constrained edges.
    pub fn another(&self) -> Self {
        Tagger {
            confidences: self.confidences,
            distributions: self.distributions,
            threads: self.threads,
            constraint: self.constraint.clone(),
            calibration: self.calibration.clone(),
            sums: self.sums.clone(),
            ..Tagger::new(self.model.clone())
        }
        .with_decoder(self.decoder.clone())
    }

    /// The decoder.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// The model.
    pub fn model(&self) -> &Arc<M> {
        &self.model
    }

    /// The `k` best label sequences or segmentations, best first.
    ///
    /// # Errors
    /// Errors of extraction, the lattice and the decoder; [`Error::NoPath`] if the constraints leave no path.
    pub fn tag(&mut self, input: &M::Input, k: usize) -> Result<&Tagged<M::Structure>> {
        self.search(input, &[], k)
    }

    /// The `k` best among those in which this is so of each position; see [`TextModel::known`].
    ///
    /// # Errors
    /// As for [`Tagger::tag`]; [`Error::Shape`] unless `known` has one entry per position; [`Error::LabelOutOfRange`].
    pub fn tag_known(
        &mut self,
        input: &M::Input,
        known: &[Option<Known<M>>],
        k: usize,
    ) -> Result<&Tagged<M::Structure>> {
        if known.is_empty() && M::positions(input) > 0 {
            return Err(wrong_known::<M>(input, 0));
        }
        self.search(input, known, k)
    }

    /// The lattice of an input under the same constraints and known labels (none, or one entry per position): for
    /// marginals, explanations, and searches of your own. For an ensemble that votes, that of its last member.
    ///
    /// # Errors
    /// As for [`Tagger::tag_known`], except those of the decoder.
    pub fn lattice<'a>(
        &'a mut self,
        input: &M::Input,
        known: &'a [Option<Known<M>>],
    ) -> Result<LatticeOf<'a, M::Structure>> {
        let limits = limits::<M>(self.constraint.as_deref(), input, known)?;
        limits.limit(self.model.lattice(input, &mut self.memory)?)
    }

    /// The probability of every label at every position, `T x L`, under the same constraints and known labels (none, or one
    /// entry per position), without a search; calibrated if the model is. For an ensemble that votes, those of its last member.
    ///
    /// # Errors
    /// As for [`Tagger::lattice`]; [`Error::NoPath`] if the constraints leave no path.
    pub fn distributions(&mut self, input: &M::Input, known: &[Option<Known<M>>]) -> Result<&[f64]> {
        let limits = limits::<M>(self.constraint.as_deref(), input, known)?;
        let lattice = limits.limit(self.model.lattice(input, &mut self.memory)?)?;
        self.tagged.forget_probabilities();
        self.tagged.fill(&lattice, self.calibration.as_deref(), &mut self.sums, (false, true))?;
        Ok(&self.tagged.distributions)
    }

    fn search(
        &mut self,
        input: &M::Input,
        known: &[Option<Known<M>>],
        k: usize,
    ) -> Result<&Tagged<M::Structure>> {
        let limits = limits::<M>(self.constraint.as_deref(), input, known)?;
        self.tagged.forget_probabilities();
        let wanted = (self.confidences, self.distributions);
        let (model, scratch) = (&*self.model, &mut self.scratch);
        let votes = voting::vote(model, input, limits, k, &self.decoder, self.threads, scratch)?;
        let is_ensemble = votes.is_some();
        if let Some(votes) = votes {
            self.tagged.decoded = votes;
            if wanted == (false, false) {
                return Ok(&self.tagged);
            }
        }
        let lattice = limits.limit(model.lattice(input, &mut self.memory)?)?;
        if !is_ensemble {
            M::Structure::decode_into(&self.decoder, &lattice, k, scratch, &mut self.tagged.decoded)?;
        }
        if wanted != (false, false) {
            self.tagged.fill(&lattice, self.calibration.as_deref(), &mut self.sums, wanted)?;
        }
        Ok(&self.tagged)
    }
}

impl<M: TextModel> Tagger<M> {
    /// Obeys these rules; see [`TextModel::transitions`].
    ///
    /// # Errors
    /// Those of [`TextModel::transitions`] and [`Tagger::with_transitions`].
    pub fn with_rules<R: AsRef<str>>(self, rules: &[R]) -> Result<Self> {
        match self.model.transitions(rules)? {
            Some(transitions) => self.with_transitions(&transitions),
            None => Ok(self),
        }
    }
}

impl Tagger<SegmentModel> {
    /// Number of segments whose own features were computed for the last input.
    pub fn asked(&mut self) -> usize {
        SegmentModel::asked(&mut self.memory)
    }
}

fn wrong_known<M: Scorer>(input: &M::Input, got: usize) -> Error {
    Error::shape("known labels", format!("{} positions", M::positions(input)), got)
}

/// The limits on the answers for an input.
fn limits<'a, M: Scorer>(
    constraint: Option<&'a Constraint>,
    input: &M::Input,
    known: &'a [Option<Known<M>>],
) -> Result<Limits<'a, M::Structure>> {
    match known.is_empty() || known.len() == M::positions(input) {
        true => Ok(Limits { constraint, known }),
        false => Err(wrong_known::<M>(input, known.len())),
    }
}
