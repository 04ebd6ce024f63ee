//! `--algorithm semi` and `semi-crf`: how labels become segments, and which features these have.

use crate::failure::{Failure, Result};
use clap::Args;
use kbest::feature::segment::{Lexicon, SegmentFeaturesBuilder, SegmentKind};
use kbest::train::{SegmentOptions, SegmentsFrom};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct SegmentArguments {
    /// semi: how labels become segments: auto, runs (of one label), or a scheme: iob1, iob2, ioe1, ioe2, iobes, bilou, bmes
    /// [default: auto]
    #[arg(long, value_name = "KIND")]
    segments: Option<String>,
    /// semi: longest segment [default: the longest of each label in the data]
    #[arg(long, value_name = "N")]
    longest_segment: Option<usize>,
    /// semi: list of texts, one per line, such as cities; segments that are in it get a feature; may be repeated
    #[arg(long, value_name = "FILE")]
    lexicon: Vec<PathBuf>,
    /// semi: column (from 1) that changes from line to line, such as one with the number of the line
    #[arg(long, value_name = "COLUMN")]
    lines: Option<usize>,
    /// semi: features of whole segments, comma-separated: text, known, lexicon, similar, ends, around, shape, line, or none
    /// [default: all]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    segment_features: Vec<String>,
}

impl SegmentArguments {
    /// The options, and whether each was given.
    pub(super) fn given(&self) -> [(&'static str, bool); 5] {
        [
            ("--segments", self.segments.is_some()),
            ("--longest-segment", self.longest_segment.is_some()),
            ("--lexicon", !self.lexicon.is_empty()),
            ("--lines", self.lines.is_some()),
            ("--segment-features", !self.segment_features.is_empty()),
        ]
    }

    /// The options that were given, as they can be typed again; of files only the names.
    pub(super) fn as_typed(&self) -> Vec<String> {
        let mut typed = Vec::new();
        typed.extend(self.segments.as_ref().map(|kind| format!("--segments {kind}")));
        typed.extend(self.longest_segment.map(|longest| format!("--longest-segment {longest}")));
        for path in &self.lexicon {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            typed.push(format!("--lexicon {name}"));
        }
        typed.extend(self.lines.map(|column| format!("--lines {column}")));
        if !self.segment_features.is_empty() {
            typed.push(format!("--segment-features {}", self.segment_features.join(",")));
        }
        typed
    }

    /// The files of lexicons.
    pub(super) fn lexicons(&self) -> &[PathBuf] {
        &self.lexicon
    }

    /// The options of the training set; lexicons are read.
    pub(super) fn options(&self) -> Result<SegmentOptions> {
        if self.longest_segment == Some(0) {
            return Err(Failure::Usage("--longest-segment: expected at least 1, got 0".into()));
        }
        let segments = self.segments.as_deref().unwrap_or("auto");
        let segments: SegmentsFrom =
            segments.parse().map_err(|error: kbest::Error| Failure::Usage(format!("--segments: {error}")))?;
        let mut features = SegmentFeaturesBuilder::default();
        if !self.segment_features.is_empty() {
            features = features.with_kinds(self.kinds()?);
        }
        features = match self.lines {
            Some(0) => return Err(Failure::Usage("--lines: expected a column from 1 on, got 0".into())),
            Some(column) => features.with_lines(column - 1),
            None => features,
        };
        for path in &self.lexicon {
            features = features.with_lexicon(read_lexicon(path)?);
        }
        Ok(SegmentOptions { segments, longest: self.longest_segment, features })
    }

    fn kinds(&self) -> Result<Vec<SegmentKind>> {
        if let [none] = &self.segment_features[..]
            && none == "none"
        {
            return Ok(Vec::new());
        }
        let kind = |name: &String| {
            SegmentKind::by_name(name).map_err(|error| Failure::Usage(format!("--segment-features: {error}")))
        };
        self.segment_features.iter().map(kind).collect()
    }
}

/// A lexicon is called as its file is, without the ending.
fn read_lexicon(path: &Path) -> Result<Lexicon> {
    let bytes = std::fs::read(path).map_err(|error| Failure::system("read", path, error))?;
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Lexicon::parse(name, &bytes, &path.display().to_string())?)
}
