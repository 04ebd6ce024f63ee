//! The file of a model of segments: the sections of a model, and some of its own.
//!
//! **A hostile file** is an error, or a model with senseless answers: [`SegmentModel::new`] and what it is made of check every
//! number before anything uses it.

use super::bound_file;
use super::container::{Container, ContainerWriter};
use super::file::{self, Common, DictionarySections, ListSections, MODEL};
use super::segment::PLACES;
use super::{EdgeWeights, NodeWeights, SegmentModel, SegmentModelParts};
use crate::feature::segment::{SegmentFeatureParts, SegmentFeatures, SegmentKind, Similar};
use kbest_core::LabelSet;
use kbest_core::scheme::{Layout, Piece, Scheme, Side, Spelling, Tagging, Tags};
use kbest_core::{Error, Result};
use std::path::Path;

const SPELLING: ListSections = ["segments.spelling", "segments.spelling.ends"];
const KINDS: ListSections = ["segments.kinds", "segments.kinds.ends"];
const KEYS: DictionarySections = ["segments.keys", "segments.key-ends", "segments.slots"];
const TEXTS: DictionarySections = ["segments.texts", "segments.text-ends", "segments.text-slots"];
const WORDS: DictionarySections = ["similar.words", "similar.word-ends", "similar.word-slots"];
const DURATIONS: &str = "segments.durations";
const LONGEST: &str = "segments.longest";
const LINE_COLUMN: &str = "segments.line-column";
const STARTS: &str = "segments.starts";
const WEIGHTS: &str = "segments.weights";
const TEXT_STARTS: &str = "segments.text-starts";
const TEXT_FEATURES: &str = "segments.text-features";
const SIMILAR_STARTS: &str = "similar.starts";
const SIMILAR_SEGMENTS: &str = "similar.segments";
const SIMILAR_WEIGHTS: &str = "similar.weights";
const SIMILAR_LABELS: &str = "similar.labels";

/// The sections that only models of segments have.
pub(super) const SECTIONS: [&str; 24] = [
    SPELLING[0],
    SPELLING[1],
    KINDS[0],
    KINDS[1],
    KEYS[0],
    KEYS[1],
    KEYS[2],
    TEXTS[0],
    TEXTS[1],
    TEXTS[2],
    WORDS[0],
    WORDS[1],
    WORDS[2],
    DURATIONS,
    LONGEST,
    LINE_COLUMN,
    STARTS,
    WEIGHTS,
    TEXT_STARTS,
    TEXT_FEATURES,
    SIMILAR_STARTS,
    SIMILAR_SEGMENTS,
    SIMILAR_WEIGHTS,
    SIMILAR_LABELS,
];

/// Whether a file holds a model of segments.
pub(super) fn is_segment_model(file: &Container) -> bool {
    file.has(LONGEST)
}

impl SegmentModel {
    /// Writes the model to a file, completely or not at all: it has a temporary name until it is complete.
    ///
    /// # Errors
    /// As for [`Model::save`](super::Model::save).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.sections(None)?.save(path.as_ref())
    }

    /// As [`SegmentModel::save`], with one more remark among those about the model.
    ///
    /// # Errors
    /// As for [`SegmentModel::save`].
    pub fn save_with_remark(&self, path: impl AsRef<Path>, name: &str, text: &str) -> Result<()> {
        self.sections(Some((name, text)))?.save(path.as_ref())
    }

    /// Maps a file written by [`SegmentModel::save`], which must not be changed in place while the model is in use.
    ///
    /// # Errors
    /// As for [`Model::load`](super::Model::load); [`Error::Data`] for a model of single positions.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_container(&Container::open(path.as_ref(), MODEL)?, &path.as_ref().display().to_string())
    }

    /// The bytes of the file that [`SegmentModel::save`] writes.
    ///
    /// # Errors
    /// As for [`SegmentModel::save`], except [`Error::Io`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.sections(None)?.to_bytes())
    }

    /// A model from the bytes of its file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`SegmentModel::load`], except [`Error::Io`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        Self::from_container(&Container::from_bytes(bytes, name, MODEL)?, name)
    }

    fn sections<'a>(&'a self, remark: Option<(&'a str, &'a str)>) -> Result<ContainerWriter<'a>> {
        let parts = self.parts();
        let mut writer = ContainerWriter::new(MODEL);
        Common {
            about: &parts.about,
            remark,
            text_format: parts.text_format.as_ref(),
            calibration: parts.calibration.as_ref(),
            labels: &parts.labels,
            extractor: &parts.extractor,
            nodes: &parts.nodes,
            edges: &parts.edges,
        }
        .write(&mut writer)?;
        writer.section(file::START, &parts.start[..]);
        writer.section(file::END, &parts.end[..]);
        let spelled = spelled(&parts.spelling);
        file::write_list(&mut writer, SPELLING, spelled.iter().map(String::as_str))?;
        writer.section(DURATIONS, &parts.durations[..]);
        writer.section(LONGEST, &parts.longest[..]);
        let features = &parts.features;
        file::write_list(&mut writer, KINDS, features.kinds().iter().map(|kind| kind.name()))?;
        if let Some(column) = features.line_column() {
            writer.section(LINE_COLUMN, vec![column as u64]);
        }
        file::write_dictionary(&mut writer, KEYS, features.keys());
        let (starts, words) = parts.weights.arrays();
        writer.section(STARTS, starts);
        writer.section(WEIGHTS, words);
        file::write_dictionary(&mut writer, TEXTS, features.texts());
        let (starts, ids) = features.text_lists();
        writer.section(TEXT_STARTS, starts);
        writer.section(TEXT_FEATURES, ids);
        let similar = features.similar();
        file::write_dictionary(&mut writer, WORDS, &similar.words);
        writer.section(SIMILAR_STARTS, &similar.starts[..]);
        writer.section(SIMILAR_SEGMENTS, &similar.segments[..]);
        writer.section(SIMILAR_WEIGHTS, &similar.weights[..]);
        writer.section(SIMILAR_LABELS, &similar.labels[..]);
        if let Some(bound) = &parts.bound {
            bound_file::write(&mut writer, bound);
        }
        Ok(writer)
    }

    pub(super) fn from_container(file: &Container, name: &str) -> Result<Self> {
        if !is_segment_model(file) {
            return Err(file.error("a model of segments", "one of single positions"));
        }
        file.expect_only(&[&file::common_sections()[..], &SECTIONS, &bound_file::SECTIONS].concat())?;
        file::expect_used(file)?;
        let labels = file::read_labels(file)?;
        let columns = labels.len().checked_mul(PLACES).unwrap_or_default();
        let wrong = |got: &str| file.error("a model of segments", got);
        let nodes = NodeWeights::from_arrays(
            columns,
            file.array(file::NODE_STARTS)?.into(),
            file.array(file::NODE_WEIGHTS)?.into(),
        );
        let edges = EdgeWeights::from_arrays(
            labels.len(),
            file.array(file::EDGE_STARTS)?,
            file.array(file::EDGE_WEIGHTS)?,
        );
        let weights =
            NodeWeights::from_arrays(labels.len(), file.array(STARTS)?.into(), file.array(WEIGHTS)?.into());
        let extractor = file::read_extractor(file, name)?;
        let fits = |error: Error| file.error("parts that fit together", format!("this: {error}"));
        let parts = SegmentModelParts {
            spelling: read_spelling(file, &labels)?,
            features: read_features(file, &labels)?,
            bound: bound_file::read(file, labels.len(), extractor.nodes().len())?,
            extractor,
            nodes: nodes.map_err(wrong)?,
            edges: edges.map_err(wrong)?,
            weights: weights.map_err(wrong)?,
            start: file.array::<f32>(file::START)?.to_vec(),
            end: file.array::<f32>(file::END)?.to_vec(),
            durations: file.array::<f32>(DURATIONS)?.to_vec(),
            longest: file.array::<u32>(LONGEST)?.to_vec(),
            calibration: file::read_calibration(file)?,
            text_format: file::read_text_format(file)?,
            about: file::read_about(file)?,
            labels,
        };
        SegmentModel::new(parts).map_err(fits)
    }
}

fn read_features(file: &Container, labels: &LabelSet) -> Result<SegmentFeatures> {
    let kinds = file::read_list(file, KINDS)?;
    let kinds = kinds.iter().map(|name| SegmentKind::by_name(name)).collect::<Result<Vec<_>>>();
    let parts = SegmentFeatureParts {
        kinds: kinds.map_err(|error| file.error("known kinds of features", error))?,
        line_column: match file.has(LINE_COLUMN) {
            true => Some(file::read_number(file, LINE_COLUMN)?),
            false => None,
        },
        keys: file::read_dictionary(file, KEYS)?,
        texts: file::read_dictionary(file, TEXTS)?,
        text_starts: file.array(TEXT_STARTS)?,
        text_features: file.array(TEXT_FEATURES)?,
        similar: Similar::from_arrays(
            file::read_dictionary(file, WORDS)?,
            file.array(SIMILAR_STARTS)?,
            file.array(SIMILAR_SEGMENTS)?,
            file.array(SIMILAR_WEIGHTS)?,
            file.array(SIMILAR_LABELS)?,
        ),
    };
    let names: Vec<&str> = labels.names().collect();
    SegmentFeatures::new(parts, &names).map_err(|error| file.error("features of segments", error))
}

/// The spelling as words: `runs`; or scheme, piece, side, joiner, and four tags per label.
fn spelled(spelling: &Spelling) -> Vec<String> {
    match spelling {
        Spelling::Runs(_) => vec!["runs".into()],
        Spelling::Tags { tagging: Tagging { scheme, layout }, tags } => {
            let piece = match layout.piece {
                Piece::Whole => "whole".into(),
                Piece::First(separator) => format!("first{separator}"),
                Piece::Last(separator) => format!("last{separator}"),
            };
            let side = if layout.side == Side::Prefix { "prefix" } else { "suffix" };
            let mut words = vec![scheme.name().into(), piece, side.into(), layout.joiner.into()];
            for Tags { begin, inside, end, single } in tags {
                words.extend([begin, inside, end, single].map(Clone::clone));
            }
            words
        }
    }
}

fn read_spelling(file: &Container, labels: &LabelSet) -> Result<Spelling> {
    let words = file::read_list(file, SPELLING)?;
    let spelling = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["runs"] => Some(Spelling::Runs(labels.names().map(str::to_owned).collect())),
        [scheme, piece, side, joiner, ref tags @ ..] => {
            read_tagging(scheme, piece, side, joiner).map(|tagging| {
                let tags = tags.chunks(4).filter_map(|four| <[&str; 4]>::try_from(four).ok());
                let tags = tags.map(|four| four.map(str::to_owned));
                let tags =
                    tags.map(|[begin, inside, end, single]| Tags { begin, inside, end, single }).collect();
                Spelling::Tags { tagging, tags }
            })
        }
        _ => None,
    };
    spelling.ok_or_else(|| file.error("how labels spell segments", "other words"))
}

fn read_tagging(scheme: &str, piece: &str, side: &str, joiner: &str) -> Option<Tagging> {
    let one = |text: &str| text.parse::<char>().ok();
    let piece = match piece {
        "whole" => Piece::Whole,
        other => match other.strip_prefix("first") {
            Some(separator) => Piece::First(one(separator)?),
            None => Piece::Last(one(other.strip_prefix("last")?)?),
        },
    };
    let side = match side {
        "prefix" => Side::Prefix,
        "suffix" => Side::Suffix,
        _ => return None,
    };
    Some(Tagging {
        scheme: Scheme::by_name(scheme).ok()?,
        layout: Layout { piece, side, joiner: one(joiner)? },
    })
}
