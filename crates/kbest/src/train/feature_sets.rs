//! Which features a recipe learns from: a template, ready-made sets by name, several of them added, or what suits the data.

use super::recipe::{Algorithm, Recipe};
use crate::feature::{FeatureSource, Numbers, Preset};
use crate::sequence::Sequence;
use crate::template::Template;
use kbest_core::{Error, Result};

/// The sets that users can ask for. (The features of hidden Markov models come with their algorithms.)
const SETS: [&str; 4] = ["words", "morphology", "columns", "numbers"];

impl Recipe {
    /// The template that the features are made from, if one was given; `strict` refuses what CRF++ would not understand.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Template`].
    pub fn read_template(&self, strict: bool) -> Result<Option<Template>> {
        let Some(path) = &self.template else { return Ok(None) };
        let file = path.display().to_string();
        let text = std::fs::read(path).map_err(|error| Error::io(&*file, 0, error))?;
        let parse = if strict { Template::parse_crfpp_bytes } else { Template::parse_bytes };
        parse(&text, &file).map(Some)
    }

    /// Where features come from: the algorithm's own ones, those asked for, else what suits the data. `is_items` says that
    /// the cells of the sequences are features themselves.
    ///
    /// [`Recipe::features`] names sets joined by `+`, such as `words+columns`; a template is added to them. Without either, the
    /// set is `words` for one column and `words+columns` for more.
    ///
    /// # Errors
    /// [`Error::Argument`] if the template wants more columns than there are, or sets cannot
    /// be added ([`FeatureSource::sum`]); [`Error::UnknownName`]; errors of [`Numbers::fit`].
    pub fn feature_source(
        &self,
        template: Option<Template>,
        sequences: &[Sequence],
        is_items: bool,
    ) -> Result<FeatureSource> {
        if matches!(self.algorithm, Algorithm::Hmm | Algorithm::BaumWelch) {
            return Ok(FeatureSource::Preset(Preset::Hmm));
        }
        let columns = sequences.iter().find(|sequence| !sequence.is_empty()).map_or(1, |s| s.width(0));
        if let Some(template) = template.as_ref().filter(|template| template.columns() > columns && !is_items)
        {
            let expected = format!("column numbers below {columns} (the data's columns without the label)");
            return Err(Error::argument("template", expected, template.columns() - 1));
        }
        let named = match (&self.features, &template) {
            (Some(features), _) => features.split('+').collect(),
            (None, Some(_)) => vec![],
            (None, None) if is_items => return Ok(FeatureSource::Items),
            (None, None) if columns > 1 => vec!["words", "columns"],
            (None, None) => vec!["words"],
        };
        let named = named.into_iter().map(|name| by_name(name, sequences)).collect::<Result<Vec<_>>>()?;
        FeatureSource::sum(template.map(FeatureSource::Template).into_iter().chain(named))
    }
}

fn by_name(name: &str, sequences: &[Sequence]) -> Result<FeatureSource> {
    if !SETS.contains(&name) {
        let expected = format!("{}, or several joined by +", SETS.join(", "));
        return Err(Error::UnknownName { what: "feature set", name: name.to_owned(), expected });
    }
    match name {
        "numbers" => Ok(FeatureSource::Numbers(Numbers::fit(sequences)?)),
        preset => Ok(FeatureSource::Preset(Preset::by_name(preset)?)),
    }
}
