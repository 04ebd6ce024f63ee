//! Labels that encode spans (`B-PER I-PER O`), and the schemes that say which label may follow which.
//!
//! **What.** A [`Scheme`] is a set of roles (begin, inside, end, single, outside) and the rules for their order; a
//! [`Layout`] says where a label's name contains the role and the type: role before or after the type (`B-PER`,
//! `PER-B`), in the whole name or in one piece of it (`B-artist@PlayMusic`, `NN|B-NP`). Together they form a
//! [`Tagging`], which can be [detected](Tagging::detect) from the names. **Why.** Constraints and the evaluation of
//! spans read labels the same way.
//!
//! | scheme | also called | rule |
//! |---|---|---|
//! | IOB1 | | `I` anywhere; `B` only directly after a span of the same type |
//! | IOB2 | BIO | every span begins with `B` |
//! | IOE1 | | `I` anywhere; `E` only directly before a span of the same type |
//! | IOE2 | | every span ends with `E` |
//! | IOBES | BIOES, BILOU, BMES, BMEWO | `B I E`, or a single `S`; `M` is `I`, `L` is `E`, `U` and `W` are `S` |
//!
//! A [`Spelling`] goes between labels and segments, both ways. **Cost.** Reading a tag inspects only the ends of its name. **When not.** Names alone cannot distinguish IOB1 from
//! IOB2, nor IOE1 from IOE2: detection assumes the second, which is far more common.
//!
//! ```
//! use kbest_core::scheme::{Role, Scheme, Tagging};
//! let tagging = Tagging::detect(["O@Play", "B-artist@Play", "I-artist@Play", "O@Rate"]).unwrap();
//! assert_eq!(tagging.scheme, Scheme::Iob2);
//! let tag = tagging.read("I-artist@Play");
//! assert_eq!((tag.role, tag.kind, tag.rest), (Role::Inside, "artist", "Play"));
//! assert!(!tagging.scheme.allows(Role::Outside, tag.role, false), "no I-artist after O");
//! ```

mod spelling;

pub use spelling::{KnownTag, Spelling, Tags};

use crate::error::{Error, Result};

/// The part of a span that a label marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// `O`: not part of a span.
    Outside,
    /// `B`: its first position.
    Begin,
    /// `I`, `M`: any position that is not marked otherwise.
    Inside,
    /// `E`, `L`: its last position.
    End,
    /// `S`, `U`, `W`: its only position.
    Single,
}

impl Role {
    fn from_letter(letter: char) -> Option<Self> {
        match letter {
            'O' => Some(Role::Outside),
            'B' => Some(Role::Begin),
            'I' | 'M' => Some(Role::Inside),
            'E' | 'L' => Some(Role::End),
            'S' | 'U' | 'W' => Some(Role::Single),
            _ => None,
        }
    }
}

/// Which roles exist, and in which order they may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `B` only between two spans of the same type.
    Iob1,
    /// `B` at every beginning; also called BIO.
    Iob2,
    /// `E` only between two spans of the same type.
    Ioe1,
    /// `E` at every end.
    Ioe2,
    /// `B`, `I`, `E`, and `S` for spans of one position; also called BIOES, BILOU, BMES, BMEWO.
    Iobes,
}

impl Scheme {
    /// The names of each scheme, the most common first.
    pub const NAMES: [(&'static str, Scheme); 11] = [
        ("iob1", Scheme::Iob1),
        ("iob2", Scheme::Iob2),
        ("bio", Scheme::Iob2),
        ("ioe1", Scheme::Ioe1),
        ("ioe2", Scheme::Ioe2),
        ("iobes", Scheme::Iobes),
        ("bioes", Scheme::Iobes),
        ("bilou", Scheme::Iobes),
        ("bioul", Scheme::Iobes),
        ("bmes", Scheme::Iobes),
        ("bmewo", Scheme::Iobes),
    ];

    /// The scheme with this name, ignoring case.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|&(_, scheme)| scheme).ok_or_else(|| Error::UnknownName {
            what: "tagging scheme",
            name: name.to_owned(),
            expected: Self::NAMES.map(|(known, _)| known).join(", "),
        })
    }

    /// Its common name.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Iob1 => "IOB1",
            Scheme::Iob2 => "IOB2",
            Scheme::Ioe1 => "IOE1",
            Scheme::Ioe2 => "IOE2",
            Scheme::Iobes => "IOBES",
        }
    }

    /// Whether the scheme has this role.
    pub fn has(self, role: Role) -> bool {
        match self {
            Scheme::Iob1 | Scheme::Iob2 => matches!(role, Role::Outside | Role::Begin | Role::Inside),
            Scheme::Ioe1 | Scheme::Ioe2 => matches!(role, Role::Outside | Role::End | Role::Inside),
            Scheme::Iobes => true,
        }
    }

    /// Whether `to` may follow `from`; `same` says whether both have the same type. Roles that may come first may
    /// follow [`Role::Outside`]; roles that may come last may precede it.
    pub fn allows(self, from: Role, to: Role, same: bool) -> bool {
        use Role::{Begin, End, Inside, Outside, Single};
        match self {
            Scheme::Iob1 => to != Begin || (same && from != Outside),
            Scheme::Iob2 => to != Inside || (same && from != Outside),
            Scheme::Ioe1 => from != End || (same && to != Outside),
            Scheme::Ioe2 => from != Inside || (same && to != Outside),
            Scheme::Iobes => match from {
                Begin | Inside => same && matches!(to, Inside | End),
                Outside | End | Single => matches!(to, Outside | Begin | Single),
            },
        }
    }

    /// The most likely scheme of labels with these roles; `None` if all are outside.
    fn of_roles(roles: &[Role]) -> Option<Self> {
        let has = |role| roles.contains(&role);
        match (has(Role::Begin), has(Role::Inside), has(Role::End), has(Role::Single)) {
            (_, _, _, true) | (true, _, true, _) => Some(Scheme::Iobes),
            (true, ..) => Some(Scheme::Iob2),
            (_, _, true, _) => Some(Scheme::Ioe2),
            (_, true, ..) => Some(Scheme::Iob1),
            _ => None,
        }
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Which side of the type the role is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    /// `B-PER`.
    #[default]
    Prefix,
    /// `PER-B`.
    Suffix,
}

/// Which piece of a label holds the tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Piece {
    /// All of it: `B-PER`.
    #[default]
    Whole,
    /// The part before the first occurrence of this character: `B-artist@PlayMusic`.
    First(char),
    /// The part after the last occurrence of this character: `NN|B-NP`.
    Last(char),
}

/// Where a label's name contains the role and the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Which piece of the name is the tag.
    pub piece: Piece,
    /// Which side of the type the role is on.
    pub side: Side,
    /// The character between them.
    pub joiner: char,
}

impl Default for Layout {
    /// `B-PER`.
    fn default() -> Self {
        Layout { piece: Piece::Whole, side: Side::Prefix, joiner: '-' }
    }
}

/// A label split into its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag<'a> {
    /// The part of a span.
    pub role: Role,
    /// The type of the span; empty if outside, or if the label has none.
    pub kind: &'a str,
    /// The rest of the label.
    pub rest: &'a str,
}

impl Layout {
    /// Splits a label into its parts; `None` if it is not a tag of this layout.
    pub fn read<'a>(&self, label: &'a str) -> Option<Tag<'a>> {
        let whole = (label, "");
        let (tag, rest) = match self.piece {
            Piece::Whole => whole,
            Piece::First(separator) => label.split_once(separator).unwrap_or(whole),
            Piece::Last(separator) => label.rsplit_once(separator).map_or(whole, |(rest, tag)| (tag, rest)),
        };
        let mut letters = tag.chars();
        let (letter, kind) = match self.side {
            Side::Prefix => (letters.next()?, letters.as_str().strip_prefix(self.joiner)),
            Side::Suffix => (letters.next_back()?, letters.as_str().strip_suffix(self.joiner)),
        };
        let role = Role::from_letter(letter)?;
        let kind = match kind {
            Some(kind) => kind,
            None if letters.as_str().is_empty() => "",
            None => return None, // a word that happens to begin with the letter of a role
        };
        Some(Tag { role, kind: if role == Role::Outside { "" } else { kind }, rest })
    }
}

/// A scheme, and how labels spell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagging {
    /// The order of roles.
    pub scheme: Scheme,
    /// The spelling.
    pub layout: Layout,
}

impl Tagging {
    /// Splits a label into its parts. A label that is not a tag of the scheme counts as outside.
    pub fn read<'a>(&self, label: &'a str) -> Tag<'a> {
        match self.layout.read(label) {
            Some(tag) if self.scheme.has(tag.role) => tag,
            Some(tag) => Tag { role: Role::Outside, kind: "", rest: tag.rest },
            None => Tag { role: Role::Outside, kind: "", rest: "" },
        }
    }

    /// Detects from the names of all labels how they encode spans; `None` if they do not. All names must be tags, and
    /// at least one must not be outside. Roles are recognised on either side of `-` or `_`; tags first in the whole
    /// name, then in its first and last piece between `@`, `|`, `/`, `+`, `#`, `:` or `~`.
    pub fn detect<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Option<Self> {
        let names: Vec<N> = names.into_iter().collect();
        let pieces = ['@', '|', '/', '+', '#', ':', '~'].into_iter();
        let pieces = pieces.flat_map(|separator| [Piece::First(separator), Piece::Last(separator)]);
        let sides = [(Side::Prefix, '-'), (Side::Suffix, '-'), (Side::Prefix, '_'), (Side::Suffix, '_')];
        let layouts = std::iter::once(Piece::Whole)
            .chain(pieces)
            .flat_map(|piece| sides.map(|(side, joiner)| Layout { piece, side, joiner }));
        layouts.into_iter().find_map(|layout| {
            let tags = names.iter().map(|name| layout.read(name.as_ref()));
            let tags: Vec<Tag<'_>> = tags.collect::<Option<_>>()?;
            let roles: Vec<Role> = tags.iter().map(|tag| tag.role).collect();
            let scheme = Scheme::of_roles(&roles)?;
            // Single letters without types may mean anything, unless spans both begin and continue.
            let typed = tags.iter().any(|tag| !tag.kind.is_empty());
            let spans =
                roles.contains(&Role::Begin) && (roles.contains(&Role::Inside) || roles.contains(&Role::End));
            (typed || spans).then_some(Tagging { scheme, layout })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Option<(Scheme, Piece, Side, char)> {
        let Tagging { scheme, layout } = Tagging::detect(names)?;
        Some((scheme, layout.piece, layout.side, layout.joiner))
    }

    #[test]
    fn schemes_and_layouts_are_found() {
        let prefix = |scheme| Some((scheme, Piece::Whole, Side::Prefix, '-'));
        assert_eq!(found(&["O", "B-NP", "I-NP"]), prefix(Scheme::Iob2));
        assert_eq!(found(&["O", "I-PER"]), prefix(Scheme::Iob1));
        assert_eq!(found(&["O", "I-PER", "E-PER"]), prefix(Scheme::Ioe2));
        assert_eq!(found(&["O", "B-X", "I-X", "L-X", "U-X"]), prefix(Scheme::Iobes));
        assert_eq!(found(&["B", "M", "E", "S"]), prefix(Scheme::Iobes));
        assert_eq!(found(&["B", "I"]), prefix(Scheme::Iob2));
        let suffix = Some((Scheme::Iob2, Piece::Whole, Side::Suffix, '-'));
        assert_eq!(found(&["PER-B", "PER-I", "O"]), suffix);
        let underscore = Some((Scheme::Iob2, Piece::Whole, Side::Prefix, '_'));
        assert_eq!(found(&["B_PER", "I_PER", "O"]), underscore);
        let slots = Some((Scheme::Iob2, Piece::First('@'), Side::Prefix, '-'));
        assert_eq!(found(&["O@Play", "B-a@Play", "I-a@Rate"]), slots);
        let joint = Some((Scheme::Iob2, Piece::Last('|'), Side::Prefix, '-'));
        assert_eq!(found(&["NN|B-NP", "NN|I-NP", ".|O"]), joint);
    }

    #[test]
    fn other_labels_are_not_taken_for_tags() {
        for names in [
            &["NOUN", "VERB"][..],
            &["O", "S"],
            &["O"],
            &["I", "V", "IV"],
            &["S\\NP", "NP"],
            &["Noun|Case=1", "Verb"],
            &["In", "Out"],
            &[],
        ] {
            assert_eq!(found(names), None, "{names:?}");
        }
    }

    #[test]
    fn labels_are_taken_apart() {
        let layout = Layout::default();
        let read = |label| layout.read(label).map(|tag| (tag.role, tag.kind));
        assert_eq!(read("B-NP-1"), Some((Role::Begin, "NP-1")));
        assert_eq!(read("B-"), Some((Role::Begin, "")));
        assert_eq!(read("O-PER"), Some((Role::Outside, "")));
        assert_eq!((read("BNP"), read(""), read("ä-NP")), (None, None, None));
        let layout = Layout { side: Side::Suffix, ..layout };
        assert_eq!(layout.read("NP-1-I").map(|tag| (tag.role, tag.kind)), Some((Role::Inside, "NP-1")));
        let tagging = Tagging { scheme: Scheme::Iob2, layout: Layout::default() };
        assert_eq!(tagging.read("E-PER").role, Role::Outside, "not of this scheme");
        assert_eq!(tagging.read("[PAD]").role, Role::Outside);
    }

    #[test]
    fn names_lead_to_schemes() {
        for (name, scheme) in Scheme::NAMES {
            assert_eq!(Scheme::by_name(name).unwrap(), scheme);
            assert_eq!(Scheme::by_name(scheme.name()).unwrap(), scheme);
        }
        assert!(Scheme::by_name("iob3").unwrap_err().to_string().contains("bilou"));
    }
}
