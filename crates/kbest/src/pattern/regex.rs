//! The regular expressions of Wapiti's patterns.
//!
//! Wapiti tries alternatives one after another, which takes time exponential in the number of stars. Here a table
//! records, for every place in the text, whether the rest of the expression matches there, part by part from the last:
//! `parts x bytes` steps for any expression. The table also records the length that Wapiti's search arrives at, since
//! that is not always the length of the match (see [`Outcome::length`]).

use std::ops::Range;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Regex {
    elements: Box<[Element]>,
    from_start: bool,
    to_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Element {
    class: Class,
    repeat: Repeat,
}

/// The bytes that an element matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Any,
    Exactly(u8),
    Named(u8), // the letter of its name; a capital for all other bytes
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Once,
    Optional,
    Star,
}

/// What Wapiti's search would find at one place in the text.
#[derive(Debug, Clone, Copy, Default)]
struct Outcome {
    matches: bool,
    /// How much the search adds to its count of bytes. When it fails, the bytes it tried stay in the count; a star
    /// subtracts them again but an optional part does not, so the count may be too high after one.
    length: usize,
}

/// Texts up to this length need no heap memory.
const SHORT: usize = 64;

impl Class {
    fn matches(self, byte: u8) -> bool {
        match self {
            Class::Any => true,
            Class::Exactly(expected) => byte == expected,
            Class::Named(name) => {
                let inside = match name.to_ascii_lowercase() {
                    b'a' => byte.is_ascii_alphabetic(),
                    b'd' => byte.is_ascii_digit(),
                    b'l' => byte.is_ascii_lowercase(),
                    b'p' => byte.is_ascii_punctuation(),
                    b's' => matches!(byte, b' ' | b'\t'..=b'\r'),
                    b'u' => byte.is_ascii_uppercase(),
                    _ => byte.is_ascii_alphanumeric(), // w
                };
                inside != name.is_ascii_uppercase()
            }
        }
    }
}

impl Regex {
    /// Parses an expression; the error says what was expected.
    pub(super) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let (from_start, mut rest) = text.strip_prefix(b"^").map_or((false, text), |rest| (true, rest));
        let mut elements = Vec::new();
        let mut to_end = false;
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            let class = match first {
                b'$' if rest.is_empty() => {
                    to_end = true;
                    break;
                }
                b'*' | b'?' => return Err("something before * and ? (or \\* and \\?)"),
                b'.' => Class::Any,
                b'\\' => {
                    let (&escaped, after) = rest.split_first().ok_or("something after \\")?;
                    rest = after;
                    if b"adlpsuw".contains(&escaped.to_ascii_lowercase()) {
                        Class::Named(escaped)
                    } else {
                        Class::Exactly(escaped)
                    }
                }
                byte => Class::Exactly(byte),
            };
            let repeat = match rest.first() {
                Some(b'*') => Repeat::Star,
                Some(b'?') => Repeat::Optional,
                _ => Repeat::Once,
            };
            rest = if repeat == Repeat::Once { rest } else { &rest[1..] };
            elements.push(Element { class, repeat });
        }
        Ok(Regex { elements: elements.into(), from_start, to_end })
    }

    /// The first match in a text, as Wapiti counts its bytes: it may end beyond the text.
    pub(super) fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let (mut short, mut long) = ([Outcome::default(); SHORT], Vec::new());
        let row = if text.len() < SHORT {
            &mut short[..=text.len()]
        } else {
            long.resize(text.len() + 1, Outcome::default());
            &mut long[..]
        };
        for (at, outcome) in row.iter_mut().enumerate() {
            *outcome = Outcome { matches: !self.to_end || at == text.len(), length: 0 };
        }
        for element in self.elements.iter().rev() {
            element.extend(text, row);
        }
        let starts = if self.from_start { &row[..1] } else { &*row };
        let start = starts.iter().position(|outcome| outcome.matches)?;
        Some(start..start + row[start].length)
    }
}

impl Element {
    /// Turns the outcomes, at every place, of the rest of the expression into those of this element and the rest.
    fn extend(self, text: &[u8], row: &mut [Outcome]) {
        let matches = |at: usize| text.get(at).is_some_and(|&byte| self.class.matches(byte));
        let one_more = |outcome: Outcome| Outcome { length: outcome.length.saturating_add(1), ..outcome };
        let no = Outcome { matches: false, length: 0 };
        match self.repeat {
            Repeat::Once => {
                for at in 0..row.len() {
                    row[at] = one_more(if matches(at) { row[at + 1] } else { no });
                }
            }
            Repeat::Optional => {
                for at in (0..row.len()).filter(|&at| matches(at)) {
                    let with = row[at + 1];
                    if with.matches {
                        row[at] = one_more(with);
                    } else {
                        row[at].length = row[at].length.saturating_add(with.length); // Wapiti's miscount
                    }
                }
            }
            Repeat::Star => {
                for at in (0..row.len()).rev() {
                    if !row[at].matches {
                        row[at] = one_more(if matches(at) { row[at + 1] } else { no });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(regex: &str, text: &str) -> Option<(usize, usize)> {
        let found = Regex::parse(regex.as_bytes()).unwrap().find(text.as_bytes())?;
        Some((found.start, found.end))
    }

    #[test]
    fn matches_where_it_should() {
        let cases = [
            ("", "abc", Some((0, 0))),
            ("b", "abc", Some((1, 2))),
            ("^b", "abc", None),
            ("c$", "abcc", Some((3, 4))),
            ("^$", "", Some((0, 0))),
            ("$", "abc", Some((3, 3))),
            ("a$b", "xa$b", Some((1, 4))),
            ("^\\d\\d*$", "1984", Some((0, 4))),
            ("^\\d\\d*$", "198x", None),
            ("a*", "aaa", Some((0, 0))),
            ("ba*c", "xbaaac", Some((1, 6))),
            (".a*$", "xbaaa", Some((1, 5))),
            ("colou?r", "the color", Some((4, 9))),
            ("colou?r", "the colour", Some((4, 10))),
            ("\\u\\l*$", "McCoy", Some((2, 5))),
            ("\\.", "a.b", Some((1, 2))),
            ("\\\\", "a\\b", Some((1, 2))),
            ("\\S\\W", "it's", Some((1, 3))),
            ("\\p", "abc", None),
            ("\\s", "a\u{b}c", Some((1, 2))),
            ("\\A", "é", Some((0, 1))),
            ("x?y?z?", "", Some((0, 0))),
        ];
        for (regex, text, expected) in cases {
            assert_eq!(find(regex, text), expected, "{regex} in {text}");
        }
    }

    /// What Wapiti 1.5.0 returned for these: lengths that are too long after an optional part was tried in vain.
    #[test]
    fn counts_as_wapiti_counts() {
        assert_eq!(find("a?ab", "ab"), Some((0, 3)));
        assert_eq!(find("e?e*s?e", "confidence"), Some((6, 8)));
        assert_eq!(find("e?e*s?e", "the"), Some((2, 4)), "beyond the end");
    }

    /// The search as described above: alternatives one after another.
    fn by_trial(elements: &[Element], to_end: bool, text: &[u8], length: &mut usize) -> bool {
        let Some((element, rest)) = elements.split_first() else { return !to_end || text.is_empty() };
        let first = text.first().is_some_and(|&byte| element.class.matches(byte));
        match element.repeat {
            Repeat::Once => {
                *length += 1;
                first && by_trial(rest, to_end, &text[1..], length)
            }
            Repeat::Optional => {
                if first {
                    *length += 1;
                    if by_trial(rest, to_end, &text[1..], length) {
                        return true;
                    }
                    *length -= 1;
                }
                by_trial(rest, to_end, text, length)
            }
            Repeat::Star => {
                let before = *length;
                if by_trial(rest, to_end, text, length) {
                    return true;
                }
                *length = before + 1;
                first && by_trial(elements, to_end, &text[1..], length)
            }
        }
    }

    #[test]
    fn the_table_agrees_with_trial() {
        let letters = ["a", "b", ".", "\\l", "\\D", "a*", "b*", "a?", "b?", ".*", ".?", "1"];
        let texts: Vec<String> = (0..243u32)
            .map(|i| (0..5).map(|d| ["a", "b", "1"][(i / 3u32.pow(d) % 3) as usize]).collect())
            .collect();
        let mut state = 1u64;
        for _ in 0..400 {
            let mut next = |n: usize| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as usize % n
            };
            let mut regex: String = (0..next(6)).map(|_| letters[next(letters.len())]).collect();
            if next(3) == 0 {
                regex.push('$');
            }
            let parsed = Regex::parse(regex.as_bytes()).unwrap();
            for text in &texts {
                let expected = (0..=text.len()).find_map(|start| {
                    let (mut length, rest) = (0, &text.as_bytes()[start..]);
                    by_trial(&parsed.elements, parsed.to_end, rest, &mut length)
                        .then(|| start..start + length)
                });
                assert_eq!(parsed.find(text.as_bytes()), expected, "{regex} in {text}");
            }
        }
    }

    #[test]
    fn many_stars_and_long_texts_take_no_time() {
        let regex = Regex::parse("a*".repeat(40).as_bytes()).unwrap();
        let exact = Regex::parse(format!("^{}b", "a*".repeat(40)).as_bytes()).unwrap();
        let text = "a".repeat(10_000);
        assert_eq!(regex.find(text.as_bytes()), Some(0..0));
        assert_eq!(exact.find(text.as_bytes()), None);
    }

    #[test]
    fn refuses_what_repeats_nothing() {
        for bad in ["*", "^*", "?a", "a**", "a*?", "a??", "\\"] {
            assert!(Regex::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
