//! Which labels may follow one another, as requested by the user.

use crate::failure::{Failure, Result};
use clap::Args;
use kbest::scheme::{Scheme, Tagging};
use kbest::segment::SegmentDecoder;
use kbest::transition::Transitions;
use kbest::{Decoder, LabelSet, Model, SegmentModel, SegmentTagger, Tagger};
use std::path::Path;
use std::sync::Arc;

/// Options that constrain paths.
#[derive(Debug, Args)]
pub(crate) struct Constraints {
    /// Allow only label sequences that RULE allows: a scheme (auto, iob1, iob2, ioe1, ioe2, iobes, bilou, bmes) or a
    /// transition file; may be repeated, then all rules apply
    #[arg(long, value_name = "RULE")]
    constraints: Vec<String>,
}

impl Constraints {
    /// Rules that may be files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.constraints.iter().map(Path::new)
    }

    /// A tagger that obeys the constraints.
    pub(crate) fn tagger(&self, model: &Arc<Model>, decoder: Decoder) -> Result<Tagger> {
        let tagger = Tagger::new(model.clone()).with_decoder(decoder);
        match all(&self.constraints, model.labels())? {
            Some(transitions) => Ok(tagger.with_transitions(&transitions)?),
            None => Ok(tagger),
        }
    }

    /// A tagger of segments that obeys the constraints: they are about labels of neighbouring segments. What a scheme demands,
    /// spans fulfil by themselves.
    pub(crate) fn segment_tagger(
        &self,
        model: &Arc<SegmentModel>,
        decoder: SegmentDecoder,
    ) -> Result<SegmentTagger> {
        let tagger = SegmentTagger::new(model.clone()).with_decoder(decoder);
        let is_scheme = |said: &&String| *said == "auto" || Scheme::by_name(said).is_ok();
        let fulfilled = |said: &&String| is_scheme(said) && model.spelling().name() != "runs";
        let rules: Vec<&String> = self.constraints.iter().filter(|said| !fulfilled(said)).collect();
        match all(&rules, model.labels())? {
            Some(transitions) => Ok(tagger.with_transitions(&transitions)?),
            None => Ok(tagger),
        }
    }
}

/// All these rules together.
fn all(rules: &[impl AsRef<str>], labels: &LabelSet) -> Result<Option<Transitions>> {
    let mut all: Option<Transitions> = None;
    for said in rules {
        let transitions = transitions(said.as_ref(), labels)?;
        all = Some(match all {
            Some(others) => others.and(transitions)?,
            None => transitions,
        });
    }
    Ok(all)
}

fn transitions(said: &str, labels: &LabelSet) -> Result<Transitions> {
    let by_name = Scheme::by_name(said).ok();
    if said == "auto" || by_name.is_some() {
        let Some(tagging) = Tagging::detect(labels.names()) else {
            let example = labels.names().next().unwrap_or_default();
            return Err(Failure::Usage(format!(
                "--constraints {said}: expected labels that encode spans, such as B-X and I-X, \
                 got labels such as {example}"
            )));
        };
        let tagging = Tagging { scheme: by_name.unwrap_or(tagging.scheme), ..tagging };
        return Ok(Transitions::from_names(labels.names(), tagging));
    }
    let path = Path::new(said);
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let schemes: Vec<&str> = Scheme::NAMES.iter().map(|(name, _)| *name).collect();
            Failure::Usage(format!(
                "--constraints: expected auto, {} or a transition file, got `{said}`, which is neither",
                schemes.join(", ")
            ))
        }
        _ => Failure::system("read", path, error),
    })?;
    Ok(Transitions::parse_bytes(&bytes, said, labels)?)
}
