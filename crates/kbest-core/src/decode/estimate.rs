//! What A* over segments knows of completions: the option of `semi-astar`.

use crate::error::{Error, Result};
use std::str::FromStr;

/// What the search knows of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimate {
    /// Nothing but how many positions are left.
    None,
    /// A backward pass with bounds in the place of explicit scores.
    #[default]
    Admissible,
    /// What a [`LearnedEstimate`](crate::segment::LearnedEstimate) of the lattice says: not exact, but fast.
    Learned,
}

impl Estimate {
    /// The name users say.
    pub fn name(self) -> &'static str {
        match self {
            Estimate::None => "none",
            Estimate::Admissible => "admissible",
            Estimate::Learned => "learned",
        }
    }
}

impl FromStr for Estimate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Estimate::None, Estimate::Admissible, Estimate::Learned]
            .into_iter()
            .find(|e| e.name() == name)
            .ok_or_else(|| Error::UnknownName {
                what: "completion estimate",
                name: name.into(),
                expected: "none, admissible, learned".into(),
            })
    }
}
