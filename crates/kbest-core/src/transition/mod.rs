//! Which label may follow which: constraints on paths, from label names, from a file, or from data.
//!
//! **What.** [`Transitions`] say for each pair of neighbouring labels whether it is allowed, and which labels may come
//! first and last; a pair may also have a score. They come from a [tagging scheme](crate::scheme) and the names of
//! labels (no `I-PER` after `O`), from a [file](Transitions::parse), or from the transitions [seen](Transitions::seen)
//! in data, and can be [combined](Transitions::and). [`Transitions::constrain`] writes them into edges as minus
//! infinity, so that *every* decoder, k best paths and marginals obey them.
//!
//! **Cost.** Rules are stored as rules: a scheme takes 12 bytes per label, and a pair is checked in constant time.
//! Constrained edges are built once per model. Sparse edges become edges in classes, in time and memory of `L` plus the
//! exceptions; dense ones take `L^2` steps and are sparse afterwards if few pairs are left, otherwise a matrix.
//! **When not.** Constraints that depend on the position (known labels, labels that a dictionary allows) belong in the lattice ([`Lattice::allow`](crate::Lattice::allow), [`Lattice::force`](crate::Lattice::force)).
//!
//! ```
//! use kbest_core::scheme::Tagging;
//! use kbest_core::transition::Transitions;
//! use kbest_core::{Decode, Decoder, Edges, LabelSet, Lattice, Scratch};
//!
//! let labels = LabelSet::from_names(["O", "B-PER", "I-PER"]);
//! let tagging = Tagging::detect(labels.names()).expect("these names encode spans");
//! let transitions = Transitions::from_names(labels.names(), tagging);
//! assert!(transitions.allowed(1, 2) && !transitions.allowed(0, 2));
//!
//! let edges = transitions.constrain(&Edges::dense(3, vec![0.0f32; 9])?)?;
//! let nodes = vec![2.0, 1.0, 0.0, 0.0, 0.0, 5.0]; // alone, O and then I-PER would score best
//! let mut lattice = Lattice::new(nodes, &edges)?;
//! if let Some(start) = transitions.constrain_start(None)? {
//!     lattice = lattice.with_start(start)?;
//! }
//! let answer = Decoder::by_name("auto")?.decode(&lattice, &mut Scratch::new())?;
//! assert_eq!(answer.best().labels, [1, 2]);
//! # Ok::<(), kbest_core::Error>(())
//! ```

mod constrain;
mod file;
mod rules;
mod split;
mod tags;

use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::scheme::Tagging;
use rules::{Rules, Select};
use std::sync::Arc;
use tags::TagRule;

/// The score of anything forbidden.
const FORBIDDEN: f32 = f32::NEG_INFINITY;

/// The start of a path, a step between two labels, or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Start(usize),
    Between(usize, usize),
    End(usize),
}

/// Rules from one source.
#[derive(Debug, Clone)]
enum Part {
    Tags(TagRule),
    Rules(Rules),
}

impl Part {
    /// 0 if the step is allowed, minus infinity if it is forbidden, or its given score.
    #[inline]
    fn score(&self, step: Step) -> f32 {
        match self {
            Part::Tags(rule) if rule.allows(step) => 0.0,
            Part::Tags(_) => FORBIDDEN,
            Part::Rules(rules) => rules.score(step),
        }
    }
}

/// Allowed transitions, first and last labels; a step is allowed if all parts allow it.
#[derive(Debug, Clone)]
pub struct Transitions {
    labels: usize,
    parts: Arc<Vec<Part>>, // clones are cheap: lattices with edges on demand keep one each
}

impl Transitions {
    /// No constraints, for this many labels.
    pub fn free(labels: usize) -> Self {
        Transitions { labels, parts: Arc::default() }
    }

    /// The constraints of a scheme on labels with these names. A label that is not a tag counts as outside.
    pub fn from_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>, tagging: Tagging) -> Self {
        let rule = TagRule::new(names, tagging, false);
        Transitions { labels: rule.labels(), parts: Arc::new(vec![Part::Tags(rule)]) }
    }

    /// As [`Transitions::from_names`]; in addition, the part of the label that is not the tag must never change: with
    /// tags before `@`, a path through `B-artist@PlayMusic` stays in `PlayMusic`.
    pub fn from_names_keeping_rest<N: AsRef<str>>(
        names: impl IntoIterator<Item = N>,
        tagging: Tagging,
    ) -> Self {
        let rule = TagRule::new(names, tagging, true);
        Transitions { labels: rule.labels(), parts: Arc::new(vec![Part::Tags(rule)]) }
    }

    /// Allows only what occurs in these sequences of labels: pairs, first and last labels.
    ///
    /// # Errors
    /// [`Error::LabelOutOfRange`].
    pub fn seen<'a>(labels: usize, sequences: impl IntoIterator<Item = &'a [LabelId]>) -> Result<Self> {
        let mut rules = Rules::new(labels);
        rules.forbid_all();
        let mut followers: Vec<Vec<LabelId>> = vec![Vec::new(); labels];
        for sequence in sequences {
            if let Some(&y) = sequence.iter().find(|&&y| y as usize >= labels) {
                return Err(Error::LabelOutOfRange { what: "seen labels".into(), label: y.into(), labels });
            }
            let (Some(&first), Some(&last)) = (sequence.first(), sequence.last()) else { continue };
            rules.set_start(&Select::One(first), 0.0);
            rules.set_end(&Select::One(last), 0.0);
            for pair in sequence.windows(2) {
                let list = &mut followers[pair[0] as usize];
                if let Err(place) = list.binary_search(&pair[1]) {
                    list.insert(place, pair[1]);
                }
            }
        }
        for (p, list) in followers.into_iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            rules.set_pairs(&Select::One(p as LabelId), Select::Some(list.into()), 0.0);
        }
        Ok(Transitions { labels, parts: Arc::new(vec![Part::Rules(rules)]) })
    }

    /// Combines both: whatever either forbids is forbidden, scores are added.
    ///
    /// # Errors
    /// [`Error::Shape`] if their numbers of labels differ.
    pub fn and(mut self, other: Transitions) -> Result<Self> {
        if self.labels != other.labels {
            return Err(Error::shape("transitions", format!("{} labels", self.labels), other.labels));
        }
        Arc::make_mut(&mut self.parts).extend(other.parts.iter().cloned());
        Ok(self)
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    fn score_of(&self, step: Step) -> f32 {
        self.parts.iter().map(|part| part.score(step)).sum()
    }

    /// The score of the transition from `p` to `y`: 0 unless a file gives a score, minus infinity if it is forbidden.
    ///
    /// # Panics
    /// If a label is out of range; so do all methods below.
    pub fn score(&self, p: usize, y: usize) -> f32 {
        self.score_of(Step::Between(p, y))
    }

    /// The largest score of any transition, and the largest finite magnitude.
    fn largest_scores(&self) -> (f32, f64) {
        let mut largest = (0.0, 0.0);
        for part in &*self.parts {
            if let Part::Rules(rules) = part {
                let (most, magnitude) = rules.largest_scores();
                largest.0 += most;
                largest.1 += magnitude;
            }
        }
        largest
    }

    /// Whether `y` may follow `p`.
    pub fn allowed(&self, p: usize, y: usize) -> bool {
        self.score(p, y) > FORBIDDEN
    }

    /// The score of a path's first label.
    pub fn start(&self, y: usize) -> f32 {
        self.score_of(Step::Start(y))
    }

    /// The score of a path's last label.
    pub fn end(&self, y: usize) -> f32 {
        self.score_of(Step::End(y))
    }

    /// Whether a whole path is allowed.
    pub fn allows_path(&self, path: &[LabelId]) -> bool {
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return true };
        self.start(first as usize) > FORBIDDEN
            && self.end(last as usize) > FORBIDDEN
            && path.windows(2).all(|pair| self.allowed(pair[0] as usize, pair[1] as usize))
    }
}
