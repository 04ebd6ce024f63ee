//! What a trainer needs from a family of models: the one interface between training algorithms and models.
//!
//! **What.** A [`Family`] is labelled data together with a kind of model: it returns the lattice of an example under
//! the current weights, finds the parameters in which two labellings differ, changes them, and builds a model from
//! them. That is all a perceptron needs. [`Differentiable`] adds what a CRF needs: all parameters in one vector, and
//! how often the model expects each. Trainers know nothing else about models, so each trainer exists only once:
//!
//! | family | model | parameters |
//! |---|---|---|
//! | [`TrainingSet`](super::TrainingSet) | [`Model`](crate::Model) | rows of weights of features that occur |
//! | [`BooleanTrainingSet`](super::BooleanTrainingSet) | [`BooleanModel`](crate::model::BooleanModel) | one weight per boolean feature |
//! | [`DualTrainingSet`](super::DualTrainingSet) | [`Model`](crate::Model) | coefficients of support tokens, transitions |
//! | [`SegmentTrainingSet`](super::SegmentTrainingSet) | [`SegmentModel`](crate::SegmentModel) | rows of weights of positions, edges, lengths and whole segments |
//!
//! **The path of one example** through a perceptron:
//!
//! ```text
//! example i -> Family::lattice -> decoder -> answer -> Family::difference -> changes -> Family::apply
//!                                                                                    -> Family::record (votes)
//! after a few wrong answers: Family::settle; after an epoch: Family::model
//! ```
//!
//! and through a CRF: `Differentiable::point` once per step, then for each example `Differentiable::expect` (lattice,
//! marginals, expected counts), minus `Differentiable::add_gold`.

use super::{Averaging, Change, Update};
use crate::model::{Voters, VotersBuilder};
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::Result;
use kbest_core::Structure;
use kbest_core::lattice::Lattice;
use kbest_core::marginal::{MarginalScratch, Marginals, marginals};
use std::fmt;
use std::ops::Range;

/// Labelled data and a kind of model, as trainers that correct errors see them.
pub trait Family: fmt::Debug + Send + Sync {
    /// What answers are made of: labels of positions, or segments.
    type Structure: Structure;
    /// Identifies a parameter.
    type Parameter: Copy + Ord + fmt::Debug + Send;
    /// The parameters in training, each with the sum that its average needs.
    type Weights: fmt::Debug + Send + Sync;
    /// Working memory, one per thread.
    type Memory: Default + fmt::Debug + Send;
    /// The result of training.
    type Model;

    /// Number of examples.
    fn example_count(&self) -> usize;

    /// The right answer of an example.
    fn gold(&self, example: usize) -> &[Part<Self>];

    /// The weight of an example.
    fn weight(&self, example: usize) -> f64;

    /// Refuses a kind of perceptron that cannot learn these models, before it has begun.
    ///
    /// # Errors
    /// [`crate::Error::Argument`] that says which kinds can.
    fn accept(&self, averaging: Averaging, update: Update) -> Result<()>;

    /// All parameters zero.
    ///
    /// # Errors
    /// If such parameters cannot be created.
    fn zero(&self) -> Result<Self::Weights>;

    /// The lattice of an example under the current weights.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights add up to infinity.
    fn lattice<'a>(
        &'a self,
        weights: &'a Self::Weights,
        example: usize,
        memory: &'a mut Self::Memory,
    ) -> Result<<Self::Structure as Structure>::Lattice<'a, f32>>;

    /// Writes the features of the right answer, minus those of another, as far as the other reaches, into `changes`.
    /// A parameter may occur several times.
    fn difference(&self, example: usize, answer: &[Part<Self>], changes: &mut Vec<Change<Self::Parameter>>);

    /// Changes a parameter at step `clock`.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if the sum is infinite.
    fn apply(&self, weights: &mut Self::Weights, change: Change<Self::Parameter>, clock: f64) -> Result<()>;

    /// Called after the changes of a few examples, and at the end of a pass: brings up to date what is dear to update. Until
    /// then, lattices may use older weights there.
    ///
    /// # Errors
    /// As for [`Family::apply`].
    fn settle(&self, weights: &mut Self::Weights) -> Result<()>;

    /// Adds other weights and their sums, times `share`.
    ///
    /// # Errors
    /// As for [`Family::apply`].
    fn absorb(&self, weights: &mut Self::Weights, other: &Self::Weights, share: f32) -> Result<()>;

    /// Records a change as belonging to the newest voter.
    fn record(&self, voters: &mut VotersBuilder, change: Change<Self::Parameter>);

    /// Writes all weights.
    fn save(&self, weights: &Self::Weights, state: &mut StateWriter);

    /// Reads what [`Family::save`] wrote.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] or similar for other bytes.
    fn restore(&self, state: &mut StateReader<'_>) -> Result<Self::Weights>;

    /// The model of the current weights, or of their average up to a step, and of the voters, if any.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights have become infinite.
    fn model(
        &self,
        weights: &Self::Weights,
        average_up_to: Option<f64>,
        voters: Option<Voters>,
    ) -> Result<Self::Model>;
}

/// A part of an answer of this family: a label, or a segment.
pub type Part<F> = <<F as Family>::Structure as Structure>::Part;

/// Number of positions of an example.
pub fn positions<F: Family + ?Sized>(data: &F, example: usize) -> usize {
    F::Structure::positions(data.gold(example))
}

/// Which parameters exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scope {
    /// Includes labels that a feature was never seen with.
    pub all_states: bool,
    /// Includes pairs of labels that were never seen.
    pub all_transitions: bool,
}

/// The index of each parameter in one vector. A *row* is the parameters of one feature.
pub trait Layout: fmt::Debug + Send + Sync {
    /// Length of the vector.
    fn len(&self) -> usize;

    /// True if there are no parameters.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of rows.
    fn rows(&self) -> usize;

    /// The indices of the parameters of a row.
    fn range_of_row(&self, row: usize) -> Range<usize>;
}

/// Totals over some examples.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Weighted sum of `log Z - score of the right labels`.
    pub loss: f64,
    /// Positions whose right label is the most likely one.
    pub right: usize,
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: Tally) {
        self.loss += other.loss;
        self.right += other.right;
    }
}

/// A family whose gradients can be computed.
pub trait Differentiable: Family {
    /// The index of each parameter.
    type Layout: Layout;
    /// The model at one point of the parameter space, ready to score.
    type Point<'a>: Sync
    where
        Self: 'a;
    /// Working memory of one thread, and its sums other than the gradient.
    type Sums: Default + fmt::Debug + Send;

    /// The parameters of this data.
    fn layout(&self, scope: Scope) -> Self::Layout;

    /// Visits the rows of an example, possibly several times each: no other parameters affect it.
    fn visit_rows(&self, layout: &Self::Layout, example: usize, visit: impl FnMut(usize));

    /// Adds `scale` times the count of each parameter in the right labels of an example.
    fn add_gold(&self, layout: &Self::Layout, example: usize, scale: f64, vector: &mut [f64]);

    /// The model at a point.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights add up to infinity.
    fn point<'a>(&'a self, layout: &'a Self::Layout, vector: &'a [f64]) -> Result<Self::Point<'a>>;

    /// Prepares the sums for examples at this point.
    ///
    /// # Errors
    /// As for [`Differentiable::point`].
    fn begin(&self, point: &Self::Point<'_>, sums: &mut Self::Sums) -> Result<()>;

    /// Adds the expected count of each parameter in an example, to the gradient or to the sums.
    ///
    /// # Errors
    /// As for [`Differentiable::point`].
    fn expect(
        &self,
        point: &Self::Point<'_>,
        example: usize,
        sums: &mut Self::Sums,
        gradient: &mut [f64],
    ) -> Result<Tally>;

    /// Adds the sums to the gradient.
    fn end(&self, point: &Self::Point<'_>, sums: &Self::Sums, gradient: &mut [f64]);

    /// The model in the form that a tagger uses.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights have become infinite.
    fn model_at(&self, layout: &Self::Layout, vector: &[f64]) -> Result<Self::Model>;
}

/// The marginals of an example's lattice, and its loss and right positions.
///
/// # Errors
/// Errors of the marginals.
pub fn judged<'a>(
    lattice: &'a Lattice<'a, f64>,
    gold: &[LabelId],
    weight: f64,
    scratch: &'a mut MarginalScratch,
) -> Result<(Marginals<'a, f64>, Tally)> {
    let marginals = marginals(lattice, scratch)?;
    let loss = marginals.log_partition() - lattice.path_score(gold)?;
    let likeliest = |&(t, &y): &(usize, &LabelId)| {
        let posteriors = marginals.node(t);
        posteriors.iter().all(|posterior| *posterior <= posteriors[y as usize])
    };
    let right = gold.iter().enumerate().filter(likeliest).count();
    Ok((marginals, Tally { loss: weight * loss.max(0.0), right })) // below zero only by rounding
}
