//! Taggers of the library, of positions or of segments, behind one face.

use kbest::model::AnyModel;
use kbest::scheme::KnownTag;
use kbest::segment::{Segment, SegmentMarginals};
use kbest::{
    Decode, Error, LabelId, LabelSet, Model, Result, SegmentModel, SegmentTagger, Sequence, TaggerOptions,
};
use std::sync::Arc;

/// A model of either kind that taggers share.
#[derive(Debug, Clone)]
pub(crate) enum SharedModel {
    Positions(Arc<Model>),
    Segments(Arc<SegmentModel>),
}

impl From<AnyModel> for SharedModel {
    fn from(model: AnyModel) -> Self {
        match model {
            AnyModel::Positions(model) => SharedModel::positions(*model),
            AnyModel::Segments(model) => SharedModel::segments(*model),
        }
    }
}

/// What is the same question to both kinds of models.
macro_rules! of_either {
    ($model:expr, $name:ident => $answer:expr) => {
        match $model {
            SharedModel::Positions($name) => $answer,
            SharedModel::Segments($name) => $answer,
        }
    };
}
pub(crate) use of_either;

impl SharedModel {
    pub(crate) fn positions(model: Model) -> Self {
        SharedModel::Positions(Arc::new(model))
    }

    pub(crate) fn segments(model: SegmentModel) -> Self {
        SharedModel::Segments(Arc::new(model))
    }

    /// The names that positions can get: labels, or tags that spell segments.
    pub(crate) fn tags(&self) -> LabelSet {
        match self {
            SharedModel::Positions(model) => model.labels().clone(),
            SharedModel::Segments(model) => LabelSet::from_names(model.spelling().spelled()),
        }
    }
}

/// One of the answers for a sequence.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// By position, numbers of the tags.
    pub(crate) tags: Vec<LabelId>,
    /// `None` from a model of positions.
    pub(crate) segments: Option<Vec<Segment>>,
    pub(crate) score: f64,
    pub(crate) probability: Option<f64>,
    /// By position: how probable the label is, or the segment it belongs to.
    pub(crate) confidences: Option<Vec<f64>>,
}

/// Known labels, as the kind of model sees them; empty if none are known.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    Positions(Vec<Option<LabelId>>),
    Segments(Vec<Option<KnownTag>>),
}

/// Sums over all answers of a sequence.
pub(crate) struct Sums {
    /// `T x L`, where `L` are the labels of the model.
    pub(crate) node: Vec<f64>,
    /// Of models of segments: how probable a boundary is before each position, and the log partition.
    pub(crate) segments: Option<(Vec<f64>, f64)>,
}

/// A tagger of the library: one per thread.
#[derive(Debug)]
pub(crate) enum Engine {
    Positions(Box<kbest::Tagger>),
    Segments(Box<SegmentTagger>),
}

impl Engine {
    pub(crate) fn new(model: &SharedModel, options: &TaggerOptions) -> Result<Self> {
        Ok(match model {
            SharedModel::Positions(model) => Engine::Positions(Box::new(options.tagger(model)?)),
            SharedModel::Segments(model) => Engine::Segments(Box::new(options.segment_tagger(model)?)),
        })
    }

    pub(crate) fn another(&self, confidences: bool) -> Self {
        match self {
            Engine::Positions(tagger) => {
                Engine::Positions(Box::new(tagger.another().with_confidences(confidences)))
            }
            Engine::Segments(tagger) => {
                Engine::Segments(Box::new(tagger.another().with_confidences(confidences)))
            }
        }
    }

    /// What is known, by name; the name that the model does not know is the error.
    pub(crate) fn known(&self, names: &[Option<String>]) -> std::result::Result<Known, String> {
        fn each<K>(
            names: &[Option<String>],
            of: impl Fn(&str) -> Option<K>,
        ) -> std::result::Result<Vec<Option<K>>, String> {
            let one = |name: &Option<String>| match name {
                None => Ok(None),
                Some(name) => of(name).map(Some).ok_or_else(|| name.clone()),
            };
            names.iter().map(one).collect()
        }
        Ok(match self {
            Engine::Positions(tagger) => {
                Known::Positions(each(names, |name| tagger.model().labels().id(name))?)
            }
            Engine::Segments(tagger) => Known::Segments(each(names, |name| tagger.known(name))?),
        })
    }

    /// The tags of the best answer.
    pub(crate) fn best(&mut self, sequence: &Sequence, tags: &LabelSet) -> Result<Vec<LabelId>> {
        match self {
            Engine::Positions(tagger) => Ok(tagger.tag(sequence, 1)?.decoded.best().labels.clone()),
            Engine::Segments(tagger) => {
                let segments = tagger.tag(sequence, 1)?.best().to_vec();
                Ok(spelled(tagger, &segments, tags))
            }
        }
    }

    /// The `k` best answers.
    pub(crate) fn answers(
        &mut self,
        sequence: &Sequence,
        known: Option<&Known>,
        k: usize,
        tags: &LabelSet,
    ) -> Result<Vec<Answer>> {
        match self {
            Engine::Positions(tagger) => {
                let tagged = match known {
                    Some(Known::Positions(known)) => tagger.tag_known(sequence, known, k)?,
                    _ => tagger.tag(sequence, k)?,
                };
                let answer = |(rank, path): (usize, &kbest::Path<f32>)| Answer {
                    tags: path.labels.clone(),
                    segments: None,
                    score: path.score.into(),
                    probability: tagged.probabilities.get(rank).copied(),
                    confidences: tagged.confidences.get(rank).cloned(),
                };
                Ok(tagged.decoded.paths.iter().enumerate().map(answer).collect())
            }
            Engine::Segments(tagger) => {
                let tagged = match known {
                    Some(Known::Segments(known)) => tagger.tag_known(sequence, known, k)?,
                    _ => tagger.tag(sequence, k)?,
                }
                .clone();
                let answer = |(rank, found): (usize, kbest::segment::Segmentation<f32>)| {
                    let spread = |sure: &Vec<f64>| {
                        let parts = found.segments.iter().zip(sure);
                        parts.flat_map(|(part, &p)| std::iter::repeat_n(p, part.end - part.start)).collect()
                    };
                    Answer {
                        tags: spelled(tagger, &found.segments, tags),
                        score: found.score.into(),
                        probability: tagged.probabilities.get(rank).copied(),
                        confidences: tagged.confidences.get(rank).map(spread),
                        segments: Some(found.segments),
                    }
                };
                Ok(tagged.decoded.segmentations.into_iter().enumerate().map(answer).collect())
            }
        }
    }

    /// Probabilities of labels.
    pub(crate) fn sums(&mut self, sequence: &Sequence, known: Option<&Known>) -> Result<Sums> {
        match self {
            Engine::Positions(tagger) => {
                let known = if let Some(Known::Positions(known)) = known { &known[..] } else { &[] };
                Ok(Sums { node: tagger.distributions(sequence, known)?.to_vec(), segments: None })
            }
            Engine::Segments(tagger) => {
                let known = if let Some(Known::Segments(known)) = known { &known[..] } else { &[] };
                let temperature = tagger.model().calibration().map_or(1.0, |how| how.temperature());
                let lattice = tagger.lattice(sequence, known)?;
                let sums = SegmentMarginals::at_temperature(&lattice, temperature)?;
                let boundary = (0..=lattice.positions()).map(|t| sums.boundary(t)).collect();
                Ok(Sums { node: sums.labels(), segments: Some((boundary, sums.log_partition())) })
            }
        }
    }
}

/// Refuses a decoder that cannot find `k` answers with this kind of model.
pub(crate) fn check_decoder(model: &SharedModel, options: &TaggerOptions, k: usize) -> Result<()> {
    if k == 0 {
        return Err(Error::argument("k", "at least 1", 0));
    }
    match model {
        SharedModel::Positions(_) => options.decoder()?.supports(k),
        SharedModel::Segments(_) => options.segment_decoder()?.supports(k),
    }
}

fn spelled(tagger: &SegmentTagger, segments: &[Segment], tags: &LabelSet) -> Vec<LabelId> {
    tagger.spell(segments).iter().map(|tag| tags.id(tag).unwrap_or_default()).collect()
}
