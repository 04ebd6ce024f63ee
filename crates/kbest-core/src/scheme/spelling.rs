//! Segments and the labels that spell them: `PER` from 2 to 5 is `B-PER I-PER I-PER`.
//!
//! **What.** A [`Spelling`] reads the labels of a sequence as segments that cover it, and writes segments as labels. Runs of
//! one label are segments ([`Spelling::Runs`]), or labels are tags of a [`Tagging`]: then every span is a segment, named by
//! its type, and every position outside is a segment of its own. **Why.** A model of segments learns from the same data as a
//! model of single positions and answers with the same labels.
//!
//! Reading is as lenient as `conlleval`: a tag that cannot continue what came before begins a segment. Writing obeys the
//! scheme. **When not.** Runs cannot spell two neighbouring segments of the same label: models of runs forbid them.
//!
//! ```
//! use kbest_core::scheme::Spelling;
//! let labels = ["O", "B-PER", "I-PER", "B-PER", "O"];
//! let (spelling, names) = Spelling::detect(labels)?;
//! assert_eq!(names, ["O", "PER"]);
//! let segments = spelling.read(&labels);
//! assert_eq!(segments, [(0, 1, "O".into()), (1, 3, "PER".into()), (3, 4, "PER".into()), (4, 5, "O".into())]);
//! assert_eq!(spelling.write(&[(0, 2, 1), (2, 3, 1), (3, 4, 0)]), ["B-PER", "I-PER", "B-PER", "O"]);
//! # Ok::<(), kbest_core::Error>(())
//! ```

use super::{Piece, Role, Scheme, Side, Tagging};
use crate::error::{Error, Result};

/// The name of segments whose tags have no type: `B I O`.
const UNTYPED: &str = "span";

/// How segments are spelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// A segment is a maximal run of one label: these labels, by number.
    Runs(Vec<String>),
    /// A segment is a span, or a single position outside.
    Tags {
        /// How tags are read, and in which order they may come.
        tagging: Tagging,
        /// For each segment label, the tags that spell it.
        tags: Vec<Tags>,
    },
}

/// The tags of one type of span. Outside, all four are the same label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags {
    /// The first position of several.
    pub begin: String,
    /// A position in the middle.
    pub inside: String,
    /// The last position of several.
    pub end: String,
    /// The only position.
    pub single: String,
}

impl Tags {
    /// Whether this is a position outside, and no span.
    pub fn is_outside(&self) -> bool {
        [&self.inside, &self.end, &self.single].into_iter().all(|tag| *tag == self.begin)
    }
}

impl Spelling {
    /// Tags if the names of the labels look like them, runs otherwise; and the names of the segment labels, in the order in
    /// which they first occur.
    ///
    /// # Errors
    /// See [`Spelling::tags`].
    pub fn detect<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<(Self, Vec<String>)> {
        let names = distinct(names);
        match Tagging::detect(&names) {
            Some(tagging) => Self::tags(names, tagging),
            None => Ok(Self::runs(names)),
        }
    }

    /// Runs of these labels.
    pub fn runs<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> (Self, Vec<String>) {
        let names = distinct(names);
        (Spelling::Runs(names.clone()), names)
    }

    /// Tags of this kind.
    ///
    /// # Errors
    /// [`Error::Argument`] if a type of span has the same name as a label outside, so that nobody could tell them apart.
    pub fn tags<N: AsRef<str>>(
        names: impl IntoIterator<Item = N>,
        tagging: Tagging,
    ) -> Result<(Self, Vec<String>)> {
        let names = distinct(names);
        let letters = Letters::of(&names, tagging);
        let mut segments: Vec<(String, bool)> = Vec::new();
        let mut tags = Vec::new();
        for name in &names {
            let segment = segment_name(name, tagging);
            if segments.contains(&segment) {
                continue;
            }
            if segments.iter().any(|(known, _)| *known == segment.0) {
                let what = "types of spans";
                return Err(Error::argument(what, "names other than those of labels outside", segment.0));
            }
            tags.push(if segment.1 { spell(name, tagging, &letters) } else { same(name) });
            segments.push(segment);
        }
        Ok((Spelling::Tags { tagging, tags }, segments.into_iter().map(|(name, _)| name).collect()))
    }

    /// The spelling with the segment labels in another order: `new_ids[old]` is the new number.
    #[must_use]
    pub fn renumbered(self, new_ids: &[u32]) -> Self {
        fn reorder<T>(list: Vec<T>, new_ids: &[u32]) -> Vec<T> {
            let mut pairs: Vec<(u32, T)> = new_ids.iter().copied().zip(list).collect();
            pairs.sort_by_key(|(id, _)| *id);
            pairs.into_iter().map(|(_, item)| item).collect()
        }
        match self {
            Spelling::Runs(names) => Spelling::Runs(reorder(names, new_ids)),
            Spelling::Tags { tagging, tags } => Spelling::Tags { tagging, tags: reorder(tags, new_ids) },
        }
    }

    /// `runs`, or the name of the scheme.
    pub fn name(&self) -> &'static str {
        match self {
            Spelling::Runs(_) => "runs",
            Spelling::Tags { tagging, .. } => tagging.scheme.name(),
        }
    }

    /// Number of segment labels.
    pub fn labels(&self) -> usize {
        match self {
            Spelling::Runs(names) => names.len(),
            Spelling::Tags { tags, .. } => tags.len(),
        }
    }

    /// All labels of positions that it writes, in the order of the segment labels, each once.
    pub fn spelled(&self) -> Vec<&str> {
        match self {
            Spelling::Runs(names) => names.iter().map(String::as_str).collect(),
            Spelling::Tags { tags, .. } => {
                let four = tags.iter().flat_map(|tags| [&tags.begin, &tags.inside, &tags.end, &tags.single]);
                let mut all: Vec<&str> = Vec::new();
                four.for_each(|tag| {
                    // Types differ, so only the tags of the same type can be equal.
                    if !all.iter().rev().take(4).any(|known| known == tag) {
                        all.push(tag);
                    }
                });
                all
            }
        }
    }

    /// Whether a segment label is no span but a position outside; in runs, the label `O`.
    pub fn is_outside(&self, label: u32) -> bool {
        match self {
            Spelling::Runs(names) => names.get(label as usize).is_some_and(|name| name == "O"),
            Spelling::Tags { tags, .. } => tags.get(label as usize).is_some_and(Tags::is_outside),
        }
    }

    /// Whether two neighbouring segments may have the same label.
    pub fn may_repeat(&self) -> bool {
        !matches!(self, Spelling::Runs(_))
    }

    /// The segments of a sequence of labels, from first to last: start, end, name of the segment label.
    pub fn read<N: AsRef<str>>(&self, labels: &[N]) -> Vec<(usize, usize, String)> {
        let mut segments: Vec<(usize, usize, String)> = Vec::new();
        for (t, label) in labels.iter().enumerate() {
            let label = label.as_ref();
            let (name, goes_on) = match self {
                Spelling::Runs(_) => (label.to_owned(), t > 0 && labels[t - 1].as_ref() == label),
                Spelling::Tags { tagging, .. } => {
                    let continues = |before: &N| continues(*tagging, before.as_ref(), label);
                    (segment_name(label, *tagging).0, t > 0 && continues(&labels[t - 1]))
                }
            };
            match segments.last_mut() {
                Some(last) if goes_on => last.1 = t + 1,
                _ => segments.push((t, t + 1, name)),
            }
        }
        segments
    }

    /// The labels of segments (start, end, label) that cover a sequence.
    ///
    /// # Panics
    /// If a label is out of range.
    pub fn write(&self, segments: &[(usize, usize, u32)]) -> Vec<&str> {
        let mut labels = Vec::new();
        for (i, &(start, end, y)) in segments.iter().enumerate() {
            match self {
                Spelling::Runs(names) => {
                    labels.extend(std::iter::repeat_n(names[y as usize].as_str(), end - start));
                }
                Spelling::Tags { tagging, tags } => {
                    let neighbour = |i: Option<usize>| i.and_then(|i| segments.get(i)).map(|next| next.2);
                    let after_same = neighbour(i.checked_sub(1)) == Some(y);
                    let before_same = neighbour(Some(i + 1)) == Some(y);
                    let tags = &tags[y as usize];
                    for t in start..end {
                        let (first, last) = (t == start, t + 1 == end);
                        labels.push(tags.at(tagging.scheme, first, last, after_same, before_same));
                    }
                }
            }
        }
        labels
    }
}

/// What the label of a position says of the segment that covers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownTag {
    /// The segment's label.
    pub label: u32,
    /// Whether the segment begins here, if the label says so.
    pub begins: Option<bool>,
    /// Whether it ends here.
    pub ends: Option<bool>,
}

impl Spelling {
    /// What a label says; `None` if it is no label of this spelling.
    pub fn known(&self, label: &str) -> Option<KnownTag> {
        let at = |y: usize| KnownTag { label: y as u32, begins: None, ends: None };
        match self {
            Spelling::Runs(names) => names.iter().position(|name| name == label).map(at),
            Spelling::Tags { tagging, tags } => tags.iter().enumerate().find_map(|(y, tags)| {
                let sides = [false, true];
                let places = sides.iter().flat_map(|first| sides.map(|last| (*first, last)));
                let fits = |(first, last): &(bool, bool)| {
                    let at = |after, before| tags.at(tagging.scheme, *first, *last, after, before) == label;
                    sides.iter().any(|after| sides.iter().any(|before| at(*after, *before)))
                };
                let places: Vec<(bool, bool)> = places.filter(fits).collect();
                let first = places.first()?;
                Some(KnownTag {
                    begins: places.iter().all(|place| place.0 == first.0).then_some(first.0),
                    ends: places.iter().all(|place| place.1 == first.1).then_some(first.1),
                    ..at(y)
                })
            }),
        }
    }
}

impl Tags {
    /// The tag of one position of a span; whether the neighbouring spans are of the same type matters in two schemes.
    fn at(&self, scheme: Scheme, first: bool, last: bool, after_same: bool, before_same: bool) -> &str {
        match scheme {
            Scheme::Iob1 if first && after_same => &self.begin,
            Scheme::Ioe1 if last && before_same => &self.end,
            Scheme::Iob1 | Scheme::Ioe1 => &self.inside,
            Scheme::Iob2 if first => &self.begin,
            Scheme::Ioe2 if last => &self.end,
            Scheme::Iobes => match (first, last) {
                (true, true) => &self.single,
                (true, false) => &self.begin,
                (false, true) => &self.end,
                (false, false) => &self.inside,
            },
            Scheme::Iob2 | Scheme::Ioe2 => &self.inside,
        }
    }
}

fn distinct<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut distinct = Vec::new();
    for name in names {
        if seen.insert(name.as_ref().to_owned()) {
            distinct.push(name.as_ref().to_owned());
        }
    }
    distinct
}

/// The name of the segment label that a label belongs to, and whether it is a span.
fn segment_name(label: &str, tagging: Tagging) -> (String, bool) {
    let tag = tagging.read(label);
    if tag.role == Role::Outside {
        return (label.to_owned(), false);
    }
    let kind = if tag.kind.is_empty() { UNTYPED } else { tag.kind };
    (with_rest(kind, tag.rest, tagging), true)
}

/// The piece that holds the tag, together with the rest of the label.
fn with_rest(piece: &str, rest: &str, tagging: Tagging) -> String {
    match tagging.layout.piece {
        Piece::First(separator) if !rest.is_empty() => format!("{piece}{separator}{rest}"),
        Piece::Last(separator) if !rest.is_empty() => format!("{rest}{separator}{piece}"),
        _ => piece.to_owned(),
    }
}

/// Whether a label belongs to the span of the label before it.
fn continues(tagging: Tagging, before: &str, label: &str) -> bool {
    let (p, y) = (tagging.read(before), tagging.read(label));
    p.kind == y.kind
        && p.rest == y.rest
        && matches!(p.role, Role::Begin | Role::Inside)
        && matches!(y.role, Role::Inside | Role::End)
}

/// The letters of the roles: `BILOU` and `BMES` have others than `IOBES`.
struct Letters {
    inside: char,
    end: char,
    single: char,
}

impl Letters {
    fn of(names: &[String], tagging: Tagging) -> Self {
        let mut used: Vec<char> = Vec::new();
        for name in names {
            if tagging.read(name).role != Role::Outside {
                let piece = match tagging.layout.piece {
                    Piece::Whole => name.as_str(),
                    Piece::First(separator) => name.split(separator).next().unwrap_or_default(),
                    Piece::Last(separator) => name.rsplit(separator).next().unwrap_or_default(),
                };
                used.extend(match tagging.layout.side {
                    Side::Prefix => piece.chars().next(),
                    Side::Suffix => piece.chars().next_back(),
                });
            }
        }
        let has = |letter: char| used.contains(&letter);
        let bilou = has('L') || has('U');
        Letters {
            inside: if has('M') { 'M' } else { 'I' },
            end: if bilou { 'L' } else { 'E' },
            single: if bilou {
                'U'
            } else if has('W') {
                'W'
            } else {
                'S'
            },
        }
    }
}

/// The tags of the span that a label belongs to.
fn spell(label: &str, tagging: Tagging, letters: &Letters) -> Tags {
    let tag = tagging.read(label);
    let with = |letter: char| {
        let joiner = tagging.layout.joiner;
        let piece = match tagging.layout.side {
            _ if tag.kind.is_empty() => letter.to_string(),
            Side::Prefix => format!("{letter}{joiner}{}", tag.kind),
            Side::Suffix => format!("{}{joiner}{letter}", tag.kind),
        };
        with_rest(&piece, tag.rest, tagging)
    };
    let inside = with(letters.inside);
    match tagging.scheme {
        Scheme::Iob1 | Scheme::Iob2 => {
            Tags { begin: with('B'), end: inside.clone(), single: with('B'), inside }
        }
        Scheme::Ioe1 | Scheme::Ioe2 => {
            let end = with(letters.end);
            Tags { begin: inside.clone(), single: end.clone(), end, inside }
        }
        Scheme::Iobes => {
            Tags { begin: with('B'), inside, end: with(letters.end), single: with(letters.single) }
        }
    }
}

fn same(label: &str) -> Tags {
    let label = || label.to_owned();
    Tags { begin: label(), inside: label(), end: label(), single: label() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read from well-formed labels is written again.
    #[test]
    fn segments_are_written_as_they_were_read() {
        let bare = |scheme| Some(Tagging { scheme, layout: super::super::Layout::default() });
        for (tagging, labels) in [
            (None, &["A", "A", "B", "A"][..]),
            (None, &["O", "B-X", "I-X", "B-X", "O", "O", "B-Y"]),
            (None, &["S-X", "B-X", "E-X", "B-Y", "I-Y", "E-Y", "O"]),
            (None, &["U-X", "B-X", "L-X", "B-Y", "I-Y", "L-Y", "O"]),
            (None, &["B", "M", "M", "E", "S", "B", "E"]),
            (None, &["I-X", "E-X", "O", "E-Y"]),
            (None, &["B-a@Play", "I-a@Play", "O@Play"]),
            (None, &["NN|B-NP", "NN|I-NP", ".|O"]),
            (None, &["X-B", "X-I", "O"]),
            (bare(Scheme::Iob1), &["I-X", "I-X", "B-X", "O", "I-Y", "I-X"]),
            (bare(Scheme::Ioe1), &["I-X", "E-X", "I-X", "O", "I-Y", "I-X"]),
        ] {
            let (spelling, names) = match tagging {
                Some(tagging) => Spelling::tags(labels, tagging).unwrap(),
                None => Spelling::detect(labels).unwrap(),
            };
            let segments: Vec<(usize, usize, u32)> = spelling
                .read(labels)
                .into_iter()
                .map(|(start, end, name)| {
                    (start, end, names.iter().position(|known| *known == name).unwrap() as u32)
                })
                .collect();
            assert_eq!(spelling.write(&segments), labels, "{names:?}");
            assert_eq!(spelling.labels(), names.len());
        }
    }

    #[test]
    fn stray_tags_begin_segments() {
        let (spelling, _) = Spelling::detect(["O", "B-X", "I-X", "I-Y"]).unwrap();
        let found = spelling.read(&["I-X", "I-X", "I-Y", "O", "I-Y"]);
        let found: Vec<_> = found.iter().map(|(start, end, name)| (*start, *end, name.as_str())).collect();
        assert_eq!(found, [(0, 2, "X"), (2, 3, "Y"), (3, 4, "O"), (4, 5, "Y")]);
    }

    #[test]
    fn names_that_cannot_be_told_apart_are_refused() {
        assert!(Spelling::detect(["O", "B-O", "I-O"]).is_err());
    }

    #[test]
    fn labels_in_another_order_keep_their_tags() {
        let (spelling, _) = Spelling::detect(["O", "B-X", "I-X"]).unwrap();
        let spelling = spelling.renumbered(&[1, 0]);
        assert_eq!(spelling.write(&[(0, 2, 0), (2, 3, 1)]), ["B-X", "I-X", "O"]);
        assert!(spelling.is_outside(1) && !spelling.is_outside(0));
    }
}
