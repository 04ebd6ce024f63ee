//! Boolean features as Rust functions: the framework of the CarpeDiem paper (Esposito and Radicioni 2009, section 5).
//!
//! **What.** A *vertical* feature is true or false of a label at a position, a *horizontal* one of two neighbouring
//! labels; both see the whole observation, which can be of any type. With a weight for every feature,
//!
//! ```text
//! node[t][y]    = sum over vertical features   phi of w_phi * phi(x, t, y)
//! edge[t][p][y] = sum over horizontal features phi of w_phi * phi(x, t, p, y)
//! ```
//!
//! **Bounds.** Features come in sets of which at most one member fires at a time. The sum of the best weights of all
//! horizontal sets bounds every edge from above without evaluating any ([`EdgeBound::ExclusiveSets`]); without such
//! knowledge every feature is a set of its own and the bound is the sum of the positive weights. This lets CarpeDiem
//! and A* skip most edges: horizontal features that see the observation are evaluated on demand, only where a decoder
//! opens an edge. No edge exceeds the bound even after rounding: both are summed in `f64` in the same order, every term
//! of the bound is at least that of the edge, rounding is monotone, and the bound is rounded up to the score type, the
//! edge to nearest.
//!
//! **Cost.** `T L` calls per vertical set; a horizontal set that sees only labels is evaluated `L^2` times per model,
//! one that sees the observation at most `L^2` times per step, each time a decoder passes. **When not.** Features that
//! are strings of the input should go through an [`Extractor`](super::Extractor): one look-up instead of one call per
//! label.
//!
//! **Training.** [`BooleanModel`](crate::model::BooleanModel) combines features with weights, and every trainer of
//! [`train`](crate::train) learns them from a [`BooleanTrainingSet`](crate::train::BooleanTrainingSet).
//!
//! ```
//! use kbest::feature::boolean::{BooleanFeatures, EdgeBound, Observation};
//! use std::sync::Arc;
//!
//! // Labels: 0 down, 1 up. The observation: a curve.
//! let mut features = BooleanFeatures::<[f64]>::new(2);
//! features.vertical(|x, t, y| t > 0 && (y == 1) == (x[t] > x[t - 1]));
//! features.horizontal(|x, t, p, y| p == y && x[t].fract() == 0.0); // on whole numbers, go on as before
//! let weights: Arc<[f32]> = Arc::from([2.0, 0.5]);
//!
//! let curve = Observation::new(Arc::<[f64]>::from([1.0, 1.5, 2.0, 1.0]), 4);
//! let scored = features.score(&curve, &weights, EdgeBound::ExclusiveSets)?;
//! assert_eq!(scored.lattice()?.path_score(&[0, 1, 1, 0])?, 2.0 + 2.0 + 0.5 + 2.0);
//! # Ok::<(), kbest::Error>(())
//! ```

mod transition_table;

pub(crate) use transition_table::TransitionTable;

use kbest_core::LabelId;
use kbest_core::lattice::{Edges, Lattice, OverallBound};
use kbest_core::simd::Float;
use kbest_core::{Error, Result};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A feature of one label: observation, position, label.
pub type VerticalFeature<O> = Box<dyn Fn(&O, usize, LabelId) -> bool + Send + Sync>;
/// A feature of two labels: observation, position of the second, first label, second label.
pub type HorizontalFeature<O> = Box<dyn Fn(&O, usize, LabelId, LabelId) -> bool + Send + Sync>;

type VerticalSet<O> = dyn Fn(&O, usize, LabelId) -> Option<usize> + Send + Sync;
type ObservingSet<O> = dyn Fn(&O, usize, LabelId, LabelId) -> Option<usize> + Send + Sync;
type LabelSet = dyn Fn(LabelId, LabelId) -> Option<usize> + Send + Sync;

/// The thing to label, of any type, and its number of positions. Edges on demand share it.
#[derive(Debug)]
pub struct Observation<O: ?Sized> {
    /// What the features see.
    pub content: Arc<O>,
    /// Number of positions `T`.
    pub positions: usize,
}

impl<O: ?Sized> Observation<O> {
    /// An observation with this many positions.
    pub fn new(content: impl Into<Arc<O>>, positions: usize) -> Self {
        Observation { content: content.into(), positions }
    }
}

impl<O: ?Sized> Clone for Observation<O> {
    fn clone(&self) -> Self {
        Observation { content: Arc::clone(&self.content), positions: self.positions }
    }
}

/// An upper bound on the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeBound {
    /// The largest edge. Edges on demand, which are not computed in advance, use the next bound instead.
    Exact,
    /// The sum of the best weight of each set.
    ExclusiveSets,
    /// The sum of all positive weights.
    SumOfPositives,
}

/// A set of horizontal features, at most one of which fires.
struct HorizontalSet<O: ?Sized> {
    features: Range<usize>,
    fires: Horizontal<O>,
}

enum Horizontal<O: ?Sized> {
    Labels(Arc<LabelSet>),
    Observing(Arc<ObservingSet<O>>),
}

impl<O: ?Sized> Clone for HorizontalSet<O> {
    fn clone(&self) -> Self {
        let fires = match &self.fires {
            Horizontal::Labels(fires) => Horizontal::Labels(Arc::clone(fires)),
            Horizontal::Observing(fires) => Horizontal::Observing(Arc::clone(fires)),
        };
        HorizontalSet { features: self.features.clone(), fires }
    }
}

impl<O: ?Sized> HorizontalSet<O> {
    /// The feature of the set that fires.
    #[inline]
    fn fired(&self, x: &O, t: usize, p: LabelId, y: LabelId) -> Option<usize> {
        let member = match &self.fires {
            Horizontal::Labels(fires) => fires(p, y),
            Horizontal::Observing(fires) => fires(x, t, p, y),
        };
        member_of(&self.features, member)
    }
}

/// The number of a feature, from its index in its set; `None` for an index that the set does not have.
#[inline]
fn member_of(features: &Range<usize>, member: Option<usize>) -> Option<usize> {
    member.filter(|&member| member < features.len()).map(|member| features.start + member)
}

/// The score of an edge: the weights of the features that fire, set by set.
fn edge_score<O: ?Sized, S: Float>(
    sets: &[HorizontalSet<O>],
    weights: &[S],
    x: &O,
    t: usize,
    p: LabelId,
    y: LabelId,
) -> S {
    let fired = sets.iter().filter_map(|set| set.fired(x, t, p, y));
    S::from_f64(fired.map(|feature| weights[feature].to_f64()).sum())
}

/// Features over observations of type `O`, numbered in the order they were added.
pub struct BooleanFeatures<O: ?Sized> {
    labels: usize,
    features: usize,
    vertical: Vec<(Range<usize>, Box<VerticalSet<O>>)>,
    horizontal: Vec<HorizontalSet<O>>,
}

impl<O: ?Sized> fmt::Debug for BooleanFeatures<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BooleanFeatures")
            .field("labels", &self.labels)
            .field("features", &self.features)
            .finish_non_exhaustive()
    }
}

/// What the features of a set see; part of the file of their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    /// Vertical: a label, and the observation.
    OneLabel = 0,
    /// Horizontal: two labels alone.
    TwoLabels = 1,
    /// Horizontal: two labels, and the observation.
    TwoLabelsAndObservation = 2,
}

/// The scores of one observation.
#[derive(Debug)]
pub struct Scored<S: Float> {
    /// Node scores, `T x L`.
    pub nodes: Vec<S>,
    /// Edges: one matrix, or on demand.
    pub edges: Edges<S>,
}

impl<S: Float> Scored<S> {
    /// The lattice that every decoder reads.
    ///
    /// # Errors
    /// [`Error::IllegalScore`] if weights add up to infinity.
    pub fn lattice(&self) -> Result<Lattice<'_, S>> {
        Lattice::new(self.nodes.as_slice(), &self.edges)
    }
}

/// # Adding features
/// Each method returns the numbers of the features it added: their indices among the weights.
impl<O: ?Sized + 'static> BooleanFeatures<O> {
    /// No features yet, over labels `0..labels`.
    pub fn new(labels: usize) -> Self {
        BooleanFeatures { labels, features: 0, vertical: Vec::new(), horizontal: Vec::new() }
    }

    fn number(&mut self, members: usize) -> Range<usize> {
        let features = self.features..self.features + members;
        self.features = features.end;
        features
    }

    /// One vertical feature.
    pub fn vertical(&mut self, fires: impl Fn(&O, usize, LabelId) -> bool + Send + Sync + 'static) -> usize {
        self.vertical_set(1, move |x, t, y| fires(x, t, y).then_some(0)).start
    }

    /// A set of vertical features of which at most one fires: the function returns which.
    pub fn vertical_set(
        &mut self,
        members: usize,
        fires: impl Fn(&O, usize, LabelId) -> Option<usize> + Send + Sync + 'static,
    ) -> Range<usize> {
        let features = self.number(members);
        self.vertical.push((features.clone(), Box::new(fires)));
        features
    }

    /// One horizontal feature that may see the observation.
    pub fn horizontal(
        &mut self,
        fires: impl Fn(&O, usize, LabelId, LabelId) -> bool + Send + Sync + 'static,
    ) -> usize {
        self.horizontal_set(1, move |x, t, p, y| fires(x, t, p, y).then_some(0)).start
    }

    /// A set of horizontal features of which at most one fires: the function returns which. It may see the observation.
    pub fn horizontal_set(
        &mut self,
        members: usize,
        fires: impl Fn(&O, usize, LabelId, LabelId) -> Option<usize> + Send + Sync + 'static,
    ) -> Range<usize> {
        self.push_horizontal(members, Horizontal::Observing(Arc::new(fires)))
    }

    /// A set of horizontal features, given one by one, of which at most one fires. If more do, only the first counts
    /// (and a debug build panics).
    pub fn exclusive_horizontal(&mut self, features: Vec<HorizontalFeature<O>>) -> Range<usize> {
        self.horizontal_set(features.len(), move |x, t, p, y| {
            only(features.iter().map(|fires| fires(x, t, p, y)))
        })
    }

    /// A set of vertical features, given one by one, of which at most one fires. If more do, only the first counts
    /// (and a debug build panics).
    pub fn exclusive_vertical(&mut self, features: Vec<VerticalFeature<O>>) -> Range<usize> {
        self.vertical_set(features.len(), move |x, t, y| only(features.iter().map(|fires| fires(x, t, y))))
    }

    /// One horizontal feature that sees only the labels.
    pub fn transition(&mut self, fires: impl Fn(LabelId, LabelId) -> bool + Send + Sync + 'static) -> usize {
        self.transition_set(1, move |p, y| fires(p, y).then_some(0)).start
    }

    /// A set of horizontal features that see only the labels, of which at most one fires: the function returns which.
    pub fn transition_set(
        &mut self,
        members: usize,
        fires: impl Fn(LabelId, LabelId) -> Option<usize> + Send + Sync + 'static,
    ) -> Range<usize> {
        self.push_horizontal(members, Horizontal::Labels(Arc::new(fires)))
    }

    /// One feature for each pair of labels, `p * L + y`: exactly one of them always fires.
    pub fn label_bigrams(&mut self) -> Range<usize> {
        let labels = self.labels;
        self.transition_set(labels * labels, move |p, y| Some(p as usize * labels + y as usize))
    }

    fn push_horizontal(&mut self, members: usize, fires: Horizontal<O>) -> Range<usize> {
        let features = self.number(members);
        if members > 0 {
            self.horizontal.push(HorizontalSet { features: features.clone(), fires });
        }
        features
    }
}

/// The index of the true one, if any: at most one may be true.
fn only(mut fired: impl Iterator<Item = bool>) -> Option<usize> {
    let first = fired.position(|fires| fires)?;
    debug_assert!(!fired.any(|fires| fires), "features of one set must not fire together");
    Some(first)
}

/// # From weights to scores
impl<O: ?Sized + Send + Sync + 'static> BooleanFeatures<O> {
    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of features, which is the number of weights needed.
    pub fn len(&self) -> usize {
        self.features
    }

    /// True if no feature has been added.
    pub fn is_empty(&self) -> bool {
        self.features == 0
    }

    /// True if a horizontal feature may see the observation, so that edges differ from step to step.
    pub fn has_observed_edges(&self) -> bool {
        self.horizontal.iter().any(|set| matches!(set.fires, Horizontal::Observing(_)))
    }

    /// Whether a feature is one of two labels.
    pub(crate) fn is_horizontal(&self, feature: usize) -> bool {
        self.horizontal.iter().any(|set| set.features.contains(&feature))
    }

    /// The sets in the order of their features: how much each sees, and its size. A program that loads weights must
    /// have the same.
    pub(crate) fn sets(&self) -> Vec<(Sees, usize)> {
        let vertical =
            self.vertical.iter().map(|(features, _)| (features.start, Sees::OneLabel, features.len()));
        let horizontal = self.horizontal.iter().map(|set| {
            let sees = match set.fires {
                Horizontal::Labels(_) => Sees::TwoLabels,
                Horizontal::Observing(_) => Sees::TwoLabelsAndObservation,
            };
            (set.features.start, sees, set.features.len())
        });
        let mut sets: Vec<_> = vertical.chain(horizontal).filter(|&(.., size)| size > 0).collect();
        sets.sort_unstable_by_key(|&(start, ..)| start);
        sets.into_iter().map(|(_, sees, size)| (sees, size)).collect()
    }

    /// Rejects weights that are not exactly one legal score per feature.
    pub(crate) fn check<S: Float>(&self, weights: &[S]) -> Result<()> {
        if weights.len() != self.features {
            return Err(Error::shape("weights", format!("{} features", self.features), weights.len()));
        }
        match weights.iter().position(|weight| !weight.is_legal()) {
            None => Ok(()),
            Some(i) => {
                let what = format!("the weight of feature {i}");
                Err(Error::IllegalScore { what, value: weights[i].to_f64() })
            }
        }
    }

    /// The vertical features that fire for a label at a position.
    #[inline]
    fn fired_vertical(&self, x: &O, t: usize, y: LabelId) -> impl Iterator<Item = usize> {
        self.vertical.iter().filter_map(move |(features, fires)| member_of(features, fires(x, t, y)))
    }

    /// The horizontal features that fire for an edge.
    #[inline]
    fn fired_horizontal(&self, x: &O, t: usize, p: LabelId, y: LabelId) -> impl Iterator<Item = usize> {
        self.horizontal.iter().filter_map(move |set| set.fired(x, t, p, y))
    }

    /// Writes the node scores of an observation, `T x L`, into `out`.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one weight per feature, [`Error::IllegalScore`] for NaN or plus infinity.
    pub fn node_scores<S: Float>(
        &self,
        observation: &Observation<O>,
        weights: &[S],
        out: &mut Vec<S>,
    ) -> Result<()> {
        self.check(weights)?;
        out.clear();
        out.reserve(observation.positions * self.labels);
        for t in 0..observation.positions {
            for y in 0..self.labels as LabelId {
                let fired = self.fired_vertical(&observation.content, t, y);
                out.push(S::from_f64(fired.map(|feature| weights[feature].to_f64()).sum()));
            }
        }
        Ok(())
    }

    /// The edges of a model whose horizontal features see only the labels: one matrix for all observations.
    ///
    /// # Errors
    /// As for [`BooleanFeatures::node_scores`], and [`Error::Shape`] if a horizontal feature may see the observation.
    pub fn shared_edges<S: Float>(&self, weights: &[S], bound: EdgeBound) -> Result<Edges<S>> {
        self.check(weights)?;
        if self.has_observed_edges() {
            let got = "one that sees the observation";
            return Err(Error::shape("horizontal features", "features of labels alone", got));
        }
        let scores: Vec<S> = self.pairs().map(|(p, y)| self.transition_score(weights, p, y)).collect();
        let edges = Edges::dense(self.labels, scores)?;
        self.with_bound(weights, bound, |bound| edges.bounded_by(bound))
    }

    /// The score of two neighbouring labels by the features that see labels alone.
    pub(crate) fn transition_score<S: Float>(&self, weights: &[S], p: LabelId, y: LabelId) -> S {
        let fired = self.horizontal.iter().filter_map(|set| match &set.fires {
            Horizontal::Labels(fires) => member_of(&set.features, fires(p, y)),
            Horizontal::Observing(_) => None,
        });
        S::from_f64(fired.map(|feature| weights[feature].to_f64()).sum())
    }

    /// The edges of an observation: one matrix if no horizontal feature sees it, otherwise on demand.
    ///
    /// # Errors
    /// As for [`BooleanFeatures::node_scores`].
    pub fn edges<S: Float>(
        &self,
        observation: &Observation<O>,
        weights: &Arc<[S]>,
        bound: EdgeBound,
    ) -> Result<Edges<S>> {
        if !self.has_observed_edges() {
            return self.shared_edges(weights, bound);
        }
        self.check(weights)?;
        self.on_demand(&observation.content, weights, bound)
    }

    /// Node scores and edges of an observation.
    ///
    /// # Errors
    /// As for [`BooleanFeatures::node_scores`].
    pub fn score<S: Float>(
        &self,
        observation: &Observation<O>,
        weights: &Arc<[S]>,
        bound: EdgeBound,
    ) -> Result<Scored<S>> {
        let mut nodes = Vec::new();
        self.node_scores(observation, weights, &mut nodes)?;
        Ok(Scored { nodes, edges: self.edges(observation, weights, bound)? })
    }

    /// Visits the features that fire along a path, position by position, vertical ones first: the features that a
    /// trainer rewards or penalises. The sum of their weights is the path's score.
    pub fn visit_path(&self, observation: &O, path: &[LabelId], mut visit: impl FnMut(usize)) {
        for (t, &y) in path.iter().enumerate() {
            self.fired_vertical(observation, t, y).for_each(&mut visit);
            if t > 0 {
                self.fired_horizontal(observation, t, path[t - 1], y).for_each(&mut visit);
            }
        }
    }

    /// Visits all vertical features that fire anywhere: position, label, feature. The sum of their weights at a position
    /// and label is the node score.
    pub fn visit_nodes(&self, observation: &Observation<O>, mut visit: impl FnMut(usize, LabelId, usize)) {
        for t in 0..observation.positions {
            for y in 0..self.labels as LabelId {
                self.fired_vertical(&observation.content, t, y).for_each(|feature| visit(t, y, feature));
            }
        }
    }

    /// Visits all horizontal features that fire in the step to position `t`: two labels, feature.
    pub(crate) fn visit_edges(
        &self,
        observation: &O,
        t: usize,
        mut visit: impl FnMut(LabelId, LabelId, usize),
    ) {
        for (p, y) in self.pairs() {
            self.fired_horizontal(observation, t, p, y).for_each(|feature| visit(p, y, feature));
        }
    }

    /// Visits the features that see only labels, wherever they fire: two labels, feature.
    fn visit_transitions(&self, mut visit: impl FnMut(LabelId, LabelId, usize)) {
        for set in &self.horizontal {
            let Horizontal::Labels(fires) = &set.fires else { continue };
            for (p, y) in self.pairs() {
                member_of(&set.features, fires(p, y)).into_iter().for_each(|feature| visit(p, y, feature));
            }
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (LabelId, LabelId)> {
        let labels = self.labels as LabelId;
        (0..labels).flat_map(move |p| (0..labels).map(move |y| (p, y)))
    }

    fn on_demand<S: Float>(&self, x: &Arc<O>, weights: &Arc<[S]>, bound: EdgeBound) -> Result<Edges<S>> {
        let bound = if bound == EdgeBound::Exact { EdgeBound::ExclusiveSets } else { bound };
        let bound = self.with_bound(weights, bound, |bound| Ok(bound.value()))?.unwrap_or(S::ZERO);
        if !bound.is_legal() {
            return Err(Error::IllegalScore { what: "the bound on the edges".into(), value: bound.to_f64() });
        }
        let largest = |set: &HorizontalSet<O>| {
            let magnitudes = weights[set.features.clone()].iter().map(|weight| weight.to_f64().abs());
            magnitudes.filter(|magnitude| magnitude.is_finite()).fold(0.0, f64::max)
        };
        let magnitude = S::from_f64_up(self.horizontal.iter().map(largest).sum()).to_f64();
        let (sets, weights, x) = (self.horizontal.clone(), Arc::clone(weights), Arc::clone(x));
        let score = move |t: usize, p: usize, y: usize| {
            edge_score(&sets, &weights, &x, t, p as LabelId, y as LabelId)
        };
        Edges::callback(self.labels, score, move |_| bound, magnitude)
    }

    /// Calls `then` with the bound, which borrows the weights set by set.
    fn with_bound<S: Float, R>(
        &self,
        weights: &[S],
        bound: EdgeBound,
        then: impl FnOnce(&OverallBound<'_, S>) -> Result<R>,
    ) -> Result<R> {
        let sets = || self.horizontal.iter().map(|set| &weights[set.features.clone()]);
        match bound {
            EdgeBound::Exact => then(&OverallBound::Exact),
            EdgeBound::ExclusiveSets => then(&OverallBound::ExclusiveSets(&sets().collect::<Vec<_>>())),
            EdgeBound::SumOfPositives => {
                then(&OverallBound::SumOfPositives(&sets().flatten().copied().collect::<Vec<_>>()))
            }
        }
    }
}
