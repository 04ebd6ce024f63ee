//! Models whose features are Rust functions: weights, and the functions they belong to.
//!
//! **What.** A [`BooleanModel`] combines [`BooleanFeatures`] with a weight for each, and with the ensemble if it votes:
//! the system of the CarpeDiem paper, section 5, whose vertical and horizontal features see the whole observation. It
//! is a [`Scorer`](crate::scoring::Scorer), so a [`Tagger`](crate::Tagger) can do with it everything it can do with a
//! text model. [`BooleanModel::save`] writes what was learned; the functions belong to the program, so
//! [`BooleanModel::load`] takes them as an argument, and rejects features that differ in number or in their sets.
//!
//! **Cost.** That of the features, see [`boolean`](crate::feature::boolean). **When not.** For text: features that are
//! strings belong in a [`Model`](super::Model).
//!
//! ```
//! use kbest::Tagger;
//! use kbest::feature::boolean::{BooleanFeatures, Observation};
//! use kbest::model::BooleanModel;
//! use std::sync::Arc;
//!
//! // Labels: 0 down, 1 up. The observation: a curve.
//! let mut features = BooleanFeatures::<[f64]>::new(2);
//! features.vertical(|x, t, y| t > 0 && (y == 1) == (x[t] > x[t - 1]));
//! features.transition(|p, y| p == y);
//! let model = BooleanModel::new(Arc::new(features), vec![2.0, 0.5])?;
//!
//! let curve = Observation::new(Arc::<[f64]>::from([1.0, 1.5, 2.0, 1.0]), 4);
//! let mut tagger = Tagger::new(Arc::new(model));
//! assert_eq!(tagger.tag(&curve, 1)?.decoded.best().labels, [1, 1, 1, 0]);
//! # Ok::<(), kbest::Error>(())
//! ```

use super::Voters;
use super::container::{Container, ContainerWriter, Kind};
use super::file::read_voters;
use crate::feature::boolean::{BooleanFeatures, EdgeBound, TransitionTable};
use crate::state::StateWriter;
use kbest_core::lattice::Edges;
use kbest_core::{Error, Result};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

const BOOLEAN: Kind = Kind { name: "boolean model", version: 1 };
const LABELS: &str = "labels";
const SETS: &str = "sets";
const WEIGHTS: &str = "weights";
const VOTERS: &str = "voters";

/// Features that are functions, and their weights.
pub struct BooleanModel<O: ?Sized> {
    features: Arc<BooleanFeatures<O>>,
    weights: Arc<[f32]>,
    voters: Option<Voters>,
    transitions: Option<TransitionTable>, // of an ensemble: where horizontal features fire, if they see labels alone
    shared_edges: Option<Edges<f32>>,
}

impl<O: ?Sized> fmt::Debug for BooleanModel<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BooleanModel").field("features", &self.features).finish_non_exhaustive()
    }
}

impl<O: ?Sized + Send + Sync + 'static> BooleanModel<O> {
    /// A model with these weights, one per feature.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of weights, [`Error::IllegalScore`] for NaN or plus infinity.
    pub fn new(features: Arc<BooleanFeatures<O>>, weights: impl Into<Arc<[f32]>>) -> Result<Self> {
        let weights = weights.into();
        features.check(&weights)?;
        let shared = !features.has_observed_edges();
        let shared_edges = shared.then(|| features.shared_edges(&weights, EdgeBound::Exact)).transpose()?;
        Ok(BooleanModel { features, weights, voters: None, transitions: None, shared_edges })
    }

    /// Turns the model into an ensemble that votes; the current weights are those of its last member. A feature has one
    /// weight: all changes are of nodes, with label 0.
    ///
    /// # Errors
    /// [`Error::Shape`] if the votes belong to other features.
    pub fn with_voters(mut self, voters: Voters) -> Result<Self> {
        voters.check(1, 1, self.features.len(), 0)?;
        self.voters = Some(voters);
        self.transitions = self.shared_edges.as_ref().map(|_| TransitionTable::new(&self.features));
        Ok(self)
    }

    /// The features.
    pub fn features(&self) -> &Arc<BooleanFeatures<O>> {
        &self.features
    }

    /// The weights, one per feature.
    pub fn weights(&self) -> &Arc<[f32]> {
        &self.weights
    }

    /// The ensemble, if the model votes.
    pub fn voters(&self) -> Option<&Voters> {
        self.voters.as_ref()
    }

    /// Of an ensemble, the pairs of labels that each feature fires for, unless features see the observation.
    pub(crate) fn transitions(&self) -> Option<&TransitionTable> {
        self.transitions.as_ref()
    }

    /// The edges of all lattices, unless features see the observation.
    pub fn shared_edges(&self) -> Option<&Edges<f32>> {
        self.shared_edges.as_ref()
    }

    /// Writes weights and votes to a file: complete, or not at all.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.sections().save(path.as_ref())
    }

    /// Reads a file written by [`BooleanModel::save`] and combines it with the features it belongs to.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Version`] if the file has a newer version; [`Error::Data`] if it is damaged, of another
    /// kind, or belongs to features in other sets.
    pub fn load(path: impl AsRef<Path>, features: Arc<BooleanFeatures<O>>) -> Result<Self> {
        Self::from_container(&Container::open(path.as_ref(), BOOLEAN)?, features)
    }

    /// The bytes of the file that [`BooleanModel::save`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.sections().to_bytes()
    }

    /// A model from the bytes of its file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`BooleanModel::load`], except [`Error::Io`].
    pub fn from_bytes(bytes: &[u8], name: &str, features: Arc<BooleanFeatures<O>>) -> Result<Self> {
        Self::from_container(&Container::from_bytes(bytes, name, BOOLEAN)?, features)
    }

    fn sections(&self) -> ContainerWriter<'_> {
        let mut writer = ContainerWriter::new(BOOLEAN);
        writer.section(LABELS, vec![self.features.labels() as u64]);
        writer.section(SETS, sets_of(&self.features));
        writer.section(WEIGHTS, &*self.weights);
        if let Some(voters) = &self.voters {
            let mut state = StateWriter::new();
            voters.save(&mut state);
            writer.section(VOTERS, state.into_bytes());
        }
        writer
    }

    fn from_container(file: &Container, features: Arc<BooleanFeatures<O>>) -> Result<Self> {
        file.expect_only(&[LABELS, SETS, WEIGHTS, VOTERS])?;
        let (labels, sets) = (file.array::<u64>(LABELS)?, file.array::<u64>(SETS)?);
        if labels[..] != [features.labels() as u64] || sets[..] != sets_of(&features) {
            let expected =
                format!("weights of {} features over {} labels", features.len(), features.labels());
            return Err(file.error(expected, "weights of features in other sets"));
        }
        let fits = |error: Error| file.error("weights that fit their features", format!("this: {error}"));
        let model = Self::new(features, file.array::<f32>(WEIGHTS)?.to_vec()).map_err(fits)?;
        match file.has(VOTERS) {
            true => model.with_voters(read_voters(file, VOTERS)?).map_err(fits),
            false => Ok(model),
        }
    }
}

/// All sets in the order of their features: what each sees, and its size.
fn sets_of<O: ?Sized + Send + Sync + 'static>(features: &BooleanFeatures<O>) -> Vec<u64> {
    features.sets().into_iter().flat_map(|(sees, size)| [sees as u64, size as u64]).collect()
}
