//! Sources of features that add up: a template and presets, such as `template+words` or `words+columns`.
//!
//! Each part adds its own features, and none is made twice: beside `words` or `morphology`, which look at the first column,
//! `columns` looks at the others; beside `morphology`, `words` adds its word pairs alone; and there is one feature for plain
//! label pairs, whether it is the bare `B` of a template or that of a preset.

use super::preset::Preset;
use super::source::FeatureSource;
use kbest_core::{Error, Result};

/// Several sources in one; see [`FeatureSource::sum`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureSum {
    parts: Vec<FeatureSource>, // at least two, each of another kind
}

impl FeatureSource {
    /// The features of all these sources together: at most one template, and presets that need no numbers of their own. A
    /// single source stays as it is.
    ///
    /// # Errors
    /// [`Error::Argument`] for no source, one that occurs twice, or one that cannot be added to others: attributes, numbers,
    /// patterns, and the features of hidden Markov models.
    ///
    /// ```
    /// use kbest::feature::{FeatureSource, Preset};
    /// let source = FeatureSource::sum([Preset::Words, Preset::Columns].map(FeatureSource::Preset))?;
    /// assert_eq!(source.name(), "words+columns");
    /// assert!(FeatureSource::sum([FeatureSource::Items, source]).is_err());
    /// # Ok::<(), kbest::Error>(())
    /// ```
    pub fn sum(parts: impl IntoIterator<Item = FeatureSource>) -> Result<Self> {
        let mut parts: Vec<FeatureSource> = parts.into_iter().collect();
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        if parts.is_empty() {
            return Err(Error::argument("features", "at least one set of features", "none"));
        }
        for (i, part) in parts.iter().enumerate() {
            let adds_up = match part {
                FeatureSource::Template(_) => true,
                FeatureSource::Preset(preset) => *preset != Preset::Hmm,
                FeatureSource::Patterns(_)
                | FeatureSource::Items
                | FeatureSource::Numbers(_)
                | FeatureSource::Sum(_) => false,
            };
            if !adds_up {
                let expected = "sets that can be added to others: template, words, morphology, columns";
                return Err(Error::argument("features", expected, part.name()));
            }
            if parts[..i].iter().any(|before| before.name() == part.name()) {
                return Err(Error::argument("features", "each set once", format!("{} twice", part.name())));
            }
        }
        Ok(FeatureSource::Sum(FeatureSum { parts }))
    }
}

impl FeatureSum {
    /// The sources that are added.
    pub fn parts(&self) -> &[FeatureSource] {
        &self.parts
    }

    fn has(&self, preset: Preset) -> bool {
        self.parts.contains(&FeatureSource::Preset(preset))
    }

    /// The first column that the preset `columns` looks at.
    pub(super) fn first_column(&self) -> usize {
        usize::from(self.has(Preset::Words) || self.has(Preset::Morphology))
    }

    /// Whether `words` adds its word pairs alone.
    pub(super) fn only_word_pairs(&self) -> bool {
        self.has(Preset::Morphology)
    }
}
