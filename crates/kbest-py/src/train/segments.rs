//! The options of models of segments.

use crate::edges::rules_of;
use crate::error;
use kbest::Error;
use kbest::feature::segment::{Lexicon, SegmentFeaturesBuilder, SegmentKind};
use kbest::train::{Algorithm, SegmentOptions, SegmentsFrom};
use pyo3::prelude::*;
use std::path::Path;

/// As given by the caller.
pub(super) struct SegmentGiven<'a, 'py> {
    pub(super) segments: Option<&'a str>,
    pub(super) longest_segment: Option<usize>,
    pub(super) lexicon: Option<&'a Bound<'py, PyAny>>,
    pub(super) lines: Option<usize>,
    pub(super) segment_features: Option<Vec<String>>,
}

impl SegmentGiven<'_, '_> {
    /// The options of an algorithm of segments, with lexicons read; `None` for other algorithms, which have none.
    pub(super) fn options(&self, py: Python<'_>, algorithm: Algorithm) -> PyResult<Option<SegmentOptions>> {
        if !algorithm.is_of_segments() {
            let given = [
                ("segments", self.segments.is_some()),
                ("longest_segment", self.longest_segment.is_some()),
                ("lexicon", self.lexicon.is_some()),
                ("lines", self.lines.is_some()),
                ("segment_features", self.segment_features.is_some()),
            ];
            return match given.iter().find(|(_, given)| *given) {
                Some((option, _)) => {
                    Err(error::argument(py, option, "algorithm semi or semi-crf", algorithm.name()))
                }
                None => Ok(None),
            };
        }
        for (option, number) in [("longest_segment", self.longest_segment), ("lines", self.lines)] {
            if number == Some(0) {
                return Err(error::argument(py, option, "at least 1", 0));
            }
        }
        let unknown = |option: &'static str, failed: Error| match failed {
            Error::UnknownName { name, expected, .. } => error::argument(py, option, expected, name),
            other => error::exception(py, other),
        };
        let segments: SegmentsFrom =
            self.segments.unwrap_or("auto").parse().map_err(|failed| unknown("segments", failed))?;
        let mut features = SegmentFeaturesBuilder::default();
        if let Some(kinds) = &self.segment_features {
            let kinds =
                kinds.iter().map(|name| SegmentKind::by_name(name)).collect::<kbest::Result<Vec<_>>>();
            features = features.with_kinds(kinds.map_err(|failed| unknown("segment_features", failed))?);
        }
        if let Some(column) = self.lines {
            features = features.with_lines(column - 1);
        }
        for path in rules_of(self.lexicon)? {
            let read = read_lexicon(Path::new(&path));
            features = features.with_lexicon(read.map_err(|failed| error::exception(py, failed))?);
        }
        Ok(Some(SegmentOptions { segments, longest: self.longest_segment, features }))
    }
}

/// A lexicon is called as its file is, without the ending.
fn read_lexicon(path: &Path) -> kbest::Result<Lexicon> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| Error::io(&*file, 0, error))?;
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Lexicon::parse(name, &bytes, &file)
}
