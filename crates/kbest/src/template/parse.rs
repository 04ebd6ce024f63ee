//! Parses templates.

use super::{Part, Rule, Template};
use crate::error::{Error, Result, quoted};

impl Template {
    /// Parses the text of a template; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Error::Template`] with the line, if one begins with none of `U`, `B` and `#`, or contains a `%` that does not
    /// begin `%x[row,column]`.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
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
            let parts = parse_line(line).map_err(|(expected, got)| error(file, number, expected, got))?;
            rules.push(Rule { line: line.into(), parts });
        }
        Ok(template)
    }

    /// As [`Template::parse`], from bytes that may not be valid UTF-8.
    ///
    /// # Errors
    /// As for [`Template::parse`], and [`Error::Template`] for invalid UTF-8.
    pub fn parse_bytes(bytes: &[u8], file: &str) -> Result<Self> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, file),
            Err(invalid) => {
                let before = &bytes[..invalid.valid_up_to()];
                let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
                let got = format!("byte 0x{:02x}", bytes[invalid.valid_up_to()]);
                Err(error(file, line, "UTF-8", got))
            }
        }
    }
}

fn error(file: &str, line: u64, expected: impl ToString, got: String) -> Error {
    Error::Template { file: file.to_owned(), line, expected: expected.to_string(), got }
}

type Mismatch = (&'static str, String); // expected, got

fn parse_line(line: &str) -> std::result::Result<Box<[Part]>, Mismatch> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some(percent) = rest.find('%') {
        let (text, from_percent) = rest.split_at(percent);
        if !text.is_empty() {
            parts.push(Part::Text(text.as_bytes().into()));
        }
        let (row, column, after) = parse_macro(from_percent)?;
        parts.push(Part::Cell { row, column });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.as_bytes().into()));
    }
    Ok(parts.into())
}

/// Row and column of the macro at the beginning of the text, and what follows.
fn parse_macro(text: &str) -> std::result::Result<(isize, usize, &str), Mismatch> {
    const SHAPE: &str = "%x[row,column], with a row like -1 or 2 and a column from 0";
    let wrong = || (SHAPE, quoted(text));
    let inside = text.strip_prefix("%x[").ok_or_else(wrong)?;
    let (inside, after) = inside.split_once(']').ok_or_else(wrong)?;
    let (row, column) = inside.split_once(',').ok_or_else(wrong)?;
    let (negative, row) = row.strip_prefix('-').map_or((false, row), |digits| (true, digits));
    let row = parse_digits(row).and_then(|row| isize::try_from(row).ok()).ok_or_else(wrong)?;
    let column = parse_digits(column).filter(|&column| column < usize::MAX).ok_or_else(wrong)?;
    Ok((if negative { -row } else { row }, column, after))
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
