//! Parses templates.

use super::{Part, Rule, Take, Template};
use kbest_core::{Error, Result, quoted};

impl Template {
    /// Parses the text of a template; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Error::Template`] with the line, if one begins with none of `U`, `B` and `#`, or contains a `%` that does not
    /// begin a macro such as `%x[row,column]`.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        Self::parse_in(Dialect::Ours, text, file)
    }

    /// The same for what CRF++ understands, too: no macro but `%x`, and rows up to 8 positions away.
    ///
    /// # Errors
    /// As for [`Template::parse`], and for anything that CRF++ does not know.
    pub fn parse_crfpp(text: &str, file: &str) -> Result<Self> {
        Self::parse_in(Dialect::Crfpp, text, file)
    }

    fn parse_in(dialect: Dialect, text: &str, file: &str) -> Result<Self> {
        let mut template = Template { unigrams: Vec::new(), bigrams: Vec::new() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.split('\n')) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let rules = match line.as_bytes().first() {
                None | Some(b'#') => continue,
                Some(b'U') => &mut template.unigrams,
                Some(b'B') => &mut template.bigrams,
                Some(_) => {
                    let expected = "a line that begins with U, B or #";
                    return Err(error(file, number, expected, quoted(line)));
                }
            };
            let parts =
                parse_line(line, dialect).map_err(|(expected, got)| error(file, number, expected, got))?;
            rules.push(Rule { line: line.into(), parts });
        }
        Ok(template)
    }

    /// As [`Template::parse`], from bytes that may not be valid UTF-8.
    ///
    /// # Errors
    /// As for [`Template::parse`], and [`Error::Template`] for invalid UTF-8.
    pub fn parse_bytes(bytes: &[u8], file: &str) -> Result<Self> {
        Self::parse(text(bytes, file)?, file)
    }

    /// As [`Template::parse_crfpp`], from bytes that may not be valid UTF-8.
    ///
    /// # Errors
    /// As for [`Template::parse_crfpp`], and [`Error::Template`] for invalid UTF-8.
    pub fn parse_crfpp_bytes(bytes: &[u8], file: &str) -> Result<Self> {
        Self::parse_crfpp(text(bytes, file)?, file)
    }
}

/// Which macros are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Ours,
    Crfpp,
}

/// How far away CRF++ lets rows be.
const FARTHEST_OF_CRFPP: isize = 8;

/// Affixes longer than this are taken for a slip of the finger.
const LONGEST_AFFIX: usize = 1000;

fn text<'a>(bytes: &'a [u8], file: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|invalid| {
        let before = &bytes[..invalid.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let got = format!("byte 0x{:02x}", bytes[invalid.valid_up_to()]);
        error(file, line, "UTF-8", got)
    })
}

fn error(file: &str, line: u64, expected: impl ToString, got: String) -> Error {
    Error::Template { file: file.to_owned(), line, expected: expected.to_string(), got }
}

type Mismatch = (&'static str, String); // expected, got

fn parse_line(line: &str, dialect: Dialect) -> std::result::Result<Box<[Part]>, Mismatch> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(percent) = rest.find('%') {
        let (text, from_percent) = rest.split_at(percent);
        if !text.is_empty() {
            parts.push(Part::Text(text.as_bytes().into()));
        }
        let (part, after) = match dialect {
            Dialect::Ours => parse_macro(from_percent)?,
            Dialect::Crfpp => parse_macro_of_crfpp(from_percent)?,
        };
        parts.push(part);
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.as_bytes().into()));
    }
    Ok(parts.into())
}

/// The macro at the beginning of the text, and what follows.
fn parse_macro(text: &str) -> std::result::Result<(Part, &str), Mismatch> {
    const SHAPE: &str = "%x[row,column], %fold[row,column], %shape[row,column], %prefix[row,column,length] or \
                         %suffix[row,column,length], with a row like -1 or 2, a column from 0 and a length from 1 to 1000";
    parse_any_macro(text).ok_or_else(|| (SHAPE, quoted(text)))
}

/// The same for macros that CRF++ knows.
fn parse_macro_of_crfpp(text: &str) -> std::result::Result<(Part, &str), Mismatch> {
    const SHAPE: &str =
        "%x[row,column] alone (strictly as in CRF++), with a row from -8 to 8 and a column from 0";
    let found = parse_any_macro(text).filter(|(part, _)| match *part {
        Part::Cell { row, take, .. } => take == Take::Whole && row.abs() <= FARTHEST_OF_CRFPP,
        Part::Text(_) | Part::If { .. } => false,
    });
    found.ok_or_else(|| (SHAPE, quoted(text)))
}

fn parse_any_macro(text: &str) -> Option<(Part, &str)> {
    let (name, inside) = text.strip_prefix('%')?.split_once('[')?;
    let (inside, after) = inside.split_once(']')?;
    let (row, column) = inside.split_once(',')?;
    let without_length = Take::WITHOUT_LENGTH.iter().find(|(known, _)| *known == name);
    let (column, take) = match without_length {
        Some(&(_, take)) => (column, take),
        None => {
            let &(_, take) = Take::WITH_LENGTH.iter().find(|(known, _)| *known == name)?;
            let (column, length) = column.split_once(',')?;
            (column, take(parse_digits(length).filter(|length| (1..=LONGEST_AFFIX).contains(length))?))
        }
    };
    let (negative, row) = row.strip_prefix('-').map_or((false, row), |digits| (true, digits));
    let row = parse_digits(row).and_then(|row| isize::try_from(row).ok())?;
    let column = parse_digits(column).filter(|&column| column < usize::MAX)?;
    Some((Part::Cell { row: if negative { -row } else { row }, column, take }, after))
}

/// A number made only of digits: Rust's own parser would accept a `+`.
fn parse_digits(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::Sequence;

    fn expand(line: &str, sequence: &Sequence, t: usize) -> String {
        let template = Template::parse(line, "test").unwrap();
        let mut out = Vec::new();
        let rule = template.unigrams().first().or(template.bigrams().first()).unwrap();
        rule.expand(sequence, t, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn boundaries_count_away_from_the_sequence() {
        let sequence = Sequence::from_tokens(["a", "b", "c"]);
        let cases =
            [(-1, "_B-1"), (-2, "_B-2"), (-12, "_B-12"), (0, "a"), (2, "c"), (3, "_B+1"), (12, "_B+10")];
        for (row, expected) in cases {
            assert_eq!(expand(&format!("U%x[{row},0]"), &sequence, 0), format!("U{expected}"));
        }
        assert_eq!(expand("B:%x[-1,0]%x[1,0]", &sequence, 1), "B:ac");
        assert_eq!(expand("U1:%x[1,0]|", &sequence, 2), "U1:_B+1|");
        assert_eq!(expand("U", &sequence, 2), "U");
    }

    #[test]
    fn macros_take_parts_of_cells() {
        let sequence = Sequence::from_tokens(["Zürich-80", "ab"]);
        let cases = [
            ("U:%prefix[0,0,2]", "U:Zü"),
            ("U:%prefix[0,0,9]/", "U:Zürich-80/"),
            ("U:%suffix[0,0,4]%x[1,0]", "U:h-80ab"),
            ("U:%suffix[-1,0,4]", "U:_B-1"),
            ("U:%prefix[2,0,700]", "U:_B+1"),
            ("U:%shape[0,0]", "U:Xx-d"),
            ("U:%fold[0,0]|%shape[1,0]", "U:zürich-00|x"),
        ];
        for (line, expected) in cases {
            assert_eq!(expand(line, &sequence, 0), expected);
        }
        let rule = Template::parse("U:%prefix[0,0,10]x", "t").unwrap().unigrams()[0].clone();
        assert!(!rule.expand(&sequence, 0, &mut Vec::new()), "nine characters have no prefix of ten");
        assert_eq!((rule.columns(), rule.looks_at_input(), rule.name()), (1, true, &b"U:"[..]));
    }

    #[test]
    fn strictly_crfpp_means_cells_within_eight_rows() {
        for line in ["U:%x[-8,0]/%x[8,1]", "B", "U"] {
            assert_eq!(
                Template::parse_crfpp(line, "t").unwrap().lines().next(),
                Template::parse(line, "t").unwrap().lines().next()
            );
        }
        for line in ["U:%x[9,0]", "U:%x[-9,0]", "U:%shape[0,0]", "U:%fold[0,0]", "B:%suffix[0,0,3]"] {
            assert!(Template::parse(line, "t").is_ok(), "{line}");
            let error = Template::parse_crfpp(&format!("U\n{line}"), "t").unwrap_err();
            assert!(matches!(error, Error::Template { line: 2, .. }), "{line}: {error}");
            assert!(error.to_string().contains("strictly as in CRF++"), "{error}");
        }
    }

    #[test]
    fn comments_blank_lines_windows_ends_and_marks_are_skipped() {
        let template = Template::parse("\u{feff}# c\r\n\r\nU1:%x[0,3]\r\nB\r\n#\n\nB2:%x[0,1]", "t").unwrap();
        assert_eq!(template.lines().collect::<Vec<_>>(), ["U1:%x[0,3]", "B", "B2:%x[0,1]"]);
        assert_eq!(template.columns(), 4);
        let looks: Vec<_> = template.bigrams().iter().map(Rule::looks_at_input).collect();
        assert_eq!(looks, [false, true]);
    }

    #[test]
    fn errors_name_the_line() {
        let bad = [
            "X:%x[0,0]",
            " U",
            "U%",
            "U%y[0,0]",
            "U%%x[0,0]",
            "U%x",
            "U%x[",
            "U%x[0",
            "U%x[0,",
            "U%x[0,0",
            "U%x[+1,0]",
            "U%x[0,-1]",
            "U%x[,]",
            "U%x[-,0]",
            "U%x[0 ,0]",
            "U%x[0,0,0]",
            "U100%",
            "U%x[99999999999999999999,0]",
            "U%x[0,99999999999999999999]",
            "u00:%x[0,0]",
            "U%shape",
            "U%shape[0,0,1]",
            "U%fold[0]",
            "U%prefix[0,0]",
            "U%prefix[0,0,0]",
            "U%suffix[0,0,1001]",
            "U%suffix[0,0,-1]",
            "U%suffix[0,0,1,1]",
            "U%Prefix[0,0,1]",
            "*",
        ];
        for line in bad {
            let error = Template::parse(&format!("# one\nU:%x[0,0]\n{line}\nB\n"), "file").unwrap_err();
            assert!(matches!(error, Error::Template { line: 3, .. }), "{line}: {error}");
            assert!(error.to_string().starts_with("template file:3: expected "), "{error}");
        }
        let error = Template::parse_bytes(b"U\nB\nU\xff", "file").unwrap_err();
        assert!(matches!(error, Error::Template { line: 3, .. }), "{error}");
    }
}
