//! Parses patterns.

use super::regex::Regex;
use super::{Command, Part, Pattern, PatternKind, Patterns, Place};
use kbest_core::{Error, Result, quoted};

impl Patterns {
    /// Parses a file of patterns; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Error::Template`] with the line.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut patterns = Vec::new();
        for (number, line) in (1..).zip(text.split('\n')) {
            let line = line.split('#').next().unwrap_or("").trim_ascii_end();
            if !line.is_empty() {
                patterns.push(Pattern::parse(line, file, number)?);
            }
        }
        Ok(Patterns { patterns, lone: false })
    }

    /// Patterns that were parsed one by one, possibly none; lone ones treat each position as a sequence of its own.
    pub fn new(patterns: Vec<Pattern>, lone: bool) -> Self {
        Patterns { patterns, lone }
    }
}

impl Pattern {
    /// Parses one pattern, found in `line` of `file`; here, `#` does not begin a comment.
    ///
    /// # Errors
    /// [`Error::Template`] with that line.
    pub fn parse(text: &str, file: &str, line: u64) -> Result<Self> {
        let error = |(expected, got): Mismatch| Error::Template {
            file: file.to_owned(),
            line,
            expected: expected.to_owned(),
            got,
        };
        let kind = text.bytes().next().and_then(|letter| PatternKind::of(letter.to_ascii_lowercase()));
        let kind = kind.ok_or_else(|| error(("a pattern that begins with u, b or *", quoted(text))))?;
        let mut text = text.to_owned();
        text[..1].make_ascii_lowercase(); // the first letter is ASCII, or it would not be a kind
        let parts = parse_parts(&text).map_err(error)?;
        Ok(Pattern { line: text.into(), kind, parts })
    }
}

type Mismatch = (&'static str, String); // expected, got

fn parse_parts(text: &str) -> std::result::Result<Box<[Part]>, Mismatch> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        let (before, from_percent) = rest.split_at(percent);
        if !before.is_empty() {
            parts.push(Part::Text(before.as_bytes().into()));
        }
        let (part, after) = parse_command(from_percent)?;
        parts.push(part);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.as_bytes().into()));
    }
    Ok(parts.into())
}

/// The command at the beginning of the text, and what follows it.
fn parse_command(text: &str) -> std::result::Result<(Part, &str), Mismatch> {
    const SHAPE: &str =
        "%x[row,column], %t[row,column,\"regex\"] or %m[row,column,\"regex\"], with a row like -1, 2 or @1";
    let wrong = || (SHAPE, quoted(text));
    let mut rest = text.strip_prefix('%').ok_or_else(wrong)?;
    let letter = rest.bytes().next().filter(|letter| b"xtmXTM".contains(letter)).ok_or_else(wrong)?;
    rest = rest[1..].strip_prefix('[').ok_or_else(wrong)?;
    let absolute = rest.strip_prefix('@');
    let (row, after) = parse_row(absolute.unwrap_or(rest)).ok_or_else(wrong)?;
    let place = if absolute.is_some() { Place::Absolute(row) } else { Place::From(row) };
    rest = after.strip_prefix(',').ok_or_else(wrong)?.trim_ascii_start();
    let (digits, after) = split_digits(rest);
    let column = digits.parse::<u32>().ok().ok_or_else(wrong)? as usize;
    let command = match letter.to_ascii_lowercase() {
        b'x' => {
            rest = after;
            Command::Copy
        }
        letter => {
            let (regex, after) = parse_regex(after).ok_or_else(wrong)?;
            let regex = Regex::parse(regex.as_bytes()).map_err(|expected| (expected, quoted(regex)))?;
            rest = after;
            if letter == b't' { Command::Test(regex) } else { Command::Match(regex) }
        }
    };
    let after = rest.strip_prefix(']').ok_or_else(wrong)?;
    Ok((Part::Cell { place, column, command, lower_case: letter.is_ascii_uppercase() }, after))
}

/// The digits at the beginning of a text, and the rest.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// A row with its sign, and what follows. Leading zeros, which Wapiti reads as octal or hexadecimal, are rejected.
fn parse_row(text: &str) -> Option<(i32, &str)> {
    let text = text.trim_ascii_start();
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (digits, rest) = split_digits(unsigned);
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((sign * digits.parse::<i32>().ok()?, rest))
}

/// The regular expression of `,"regex"`, and what follows; a backslash keeps the quote after it inside.
fn parse_regex(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix(",\"")?;
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return Some((&text[..i], &text[i + 1..])),
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::Sequence;

    fn sequence() -> Sequence {
        let mut sequence = Sequence::new();
        for (word, tag) in [("The", "DT"), ("U.N.", "NNP"), ("said", "VBD"), ("\"No\"", "UH")] {
            sequence.push([word, tag]);
        }
        sequence
    }

    fn expand(line: &str, t: usize) -> String {
        let mut out = Vec::new();
        Pattern::parse(line, "test", 1).unwrap().expand(&sequence(), t, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn commands() {
        let cases = [
            ("U1:%x[0,0]/%x[1,1]", 0, "u1:The/NNP"),
            ("u:%X[0,0]%x[+1, 0]", 1, "u:u.n.said"),
            ("*:%t[0,0,\"^\\u\"]", 2, "*:false"),
            ("b:%T[0,0,\"\\p\"]%m[0,0,\"\\.\\u\"]", 1, "b:true.N"),
            ("u:%M[-1,0,\"^..\"]|", 1, "u:th|"),
            ("u:%m[0,0,\"x\"]|", 1, "u:|"),
            ("u:%t[0,0,\"^\\\"\"]", 3, "u:true"),
            ("u:%x[@1,0]%x[@-1,1]%x[@2,1]", 2, "u:TheUHNNP"),
            ("u:%x[@0,0]%x[@-6,0]%x[@5,0]%x[@-5,1]", 2, "u:_x-1_x-2_x+1_x-1"),
            ("u:%x[-1,0]%x[-4,0]%x[-5,0]%x[-9,0]", 0, "u:_x-1_x-4_x-#_x-#"),
            ("u:%x[1,0]%x[4,0]%x[5,0]%x[2147483647,0]", 3, "u:_x+1_x+4_x+#_x+#"),
            ("u:%m[-1,0,\"\\d\"]%X[-1,0]", 0, "u:1_x-1"),
            ("u:%m[0,0,\"e?e*s?e\"]/cut", 0, "u:e"),
            ("b", 3, "b"),
        ];
        for (line, t, expected) in cases {
            assert_eq!(expand(line, t), expected, "{line}");
        }
    }

    #[test]
    fn comments_and_kinds() {
        let text = "\u{feff}# all\r\n\r\nU:%x[0,2] # one\n   # none\nB#two\n*b:%x[0,0]\n";
        let patterns = Patterns::parse(text, "test").unwrap();
        let lines: Vec<&str> = patterns.patterns().iter().map(Pattern::line).collect();
        assert_eq!(lines, ["u:%x[0,2]", "b", "*b:%x[0,0]"]);
        let kinds: Vec<_> =
            patterns.patterns().iter().map(|p| (p.kind().has_nodes(), p.kind().has_edges())).collect();
        assert_eq!(kinds, [(true, false), (false, true), (true, true)]);
        assert_eq!((patterns.columns(), patterns.has_observed_edges()), (3, true));
        assert!(!Patterns::parse("u%x[0,0]\nb\n", "test").unwrap().has_observed_edges());
    }

    #[test]
    fn errors_name_the_line() {
        let bad = [
            "x",
            " u",
            "é",
            "u%",
            "u%%",
            "u%y[0,0]",
            "u%x",
            "u%x[",
            "u%x[0",
            "u%x[0,",
            "u%x[0,0",
            "u%x[0 ,0]",
            "u%x[,0]",
            "u%x[0,-1]",
            "u%x[00,0]",
            "u%x[0x1,0]",
            "u%x[@,0]",
            "u%x[--1,0]",
            "u%x[9999999999,0]",
            "u%x[0,9999999999]",
            "u%x[0,0,\"a\"]",
            "u%t[0,0]",
            "u%t[0,0,a]",
            "u%t[0,0,\"a]",
            "u%t[0,0,\"a\"",
            "u%m[0,0,\"*\"]",
            "u%m[0,0,\"a\\\"]",
        ];
        for line in bad {
            let error = Patterns::parse(&format!("u\n{line}\n"), "file").unwrap_err();
            assert!(matches!(error, Error::Template { line: 2, .. }), "{line}: {error}");
        }
    }

    #[test]
    fn lone_positions_and_bare_cells() {
        let nodes = |patterns: &Patterns, sequence: &Sequence, t| {
            let (mut found, mut key) = (Vec::new(), Vec::new());
            patterns
                .visit_nodes(sequence, t, &mut key, |key| found.push(String::from_utf8(key.into()).unwrap()));
            found
        };
        let edges = |patterns: &Patterns, sequence: &Sequence, t| {
            let (mut found, mut key) = (Vec::new(), Vec::new());
            patterns
                .visit_edges(sequence, t, &mut key, |key| found.push(String::from_utf8(key.into()).unwrap()));
            found
        };
        let parsed = Patterns::parse("u:%x[-1,0]%x[@-1,0]\n*%x[0,1]\nb\n", "test").unwrap().patterns;
        let lone = Patterns::new(parsed, true);
        assert_eq!(nodes(&lone, &sequence(), 2), ["uu:_x-1said", "u*VBD"]);
        assert_eq!(edges(&lone, &sequence(), 2), [""; 0]);
        let lone = Patterns::new(Vec::new(), true);
        assert_eq!(nodes(&lone, &sequence(), 0), ["uThe", "uDT"]);

        let bare = Patterns::new(Vec::new(), false);
        let mut features = Sequence::new();
        features.push(["u1", "b2", "*3"]);
        assert_eq!(nodes(&bare, &features, 0), ["u1", "*3"]);
        assert_eq!(edges(&bare, &features, 0), ["b2", "*3"]);
        assert!(bare.check(&features).is_ok() && bare.has_observed_edges());
        assert!(bare.check(&sequence()).is_err());
    }
}
