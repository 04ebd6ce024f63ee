//! Text models, line by line.

use super::float;
use kbest_core::{Error, Result, quoted};

/// The rest of a text model, and the current place in it.
#[derive(Debug)]
pub(super) struct Text<'a> {
    rest: &'a [u8],
    file: &'a str,
    line: u64, // the last line read, counted from 1
}

impl<'a> Text<'a> {
    pub(super) fn new(bytes: &'a [u8], file: &'a str) -> Self {
        Text { rest: bytes, file, line: 0 }
    }

    /// The number of the last line read.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The rest of the text.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error about the last line read.
    pub(super) fn error(&self, expected: impl ToString, got: impl ToString) -> Error {
        Error::data(self.file, self.line, expected, got)
    }

    /// The next line without its end, `None` after the last.
    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n');
        let line = &self.rest[..end.unwrap_or(self.rest.len())];
        self.rest = end.map_or(&[], |end| &self.rest[end + 1..]);
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// The next line, which must exist.
    pub(super) fn expect(&mut self, expected: &str) -> Result<&'a [u8]> {
        self.next().ok_or_else(|| self.error(expected, "the end of the file"))
    }

    /// The next line of a section; `None` for the blank line that ends it.
    pub(super) fn in_section(&mut self, expected: &str) -> Result<Option<&'a [u8]>> {
        Ok(Some(self.expect(expected)?).filter(|line| !line.is_empty()))
    }

    /// What follows `prefix` in the next line.
    pub(super) fn after(&mut self, prefix: &str) -> Result<&'a str> {
        let line = self.expect(prefix)?;
        match line.strip_prefix(prefix.as_bytes()) {
            Some(rest) => self.utf8(rest),
            None => Err(self.error(prefix, shown(line))),
        }
    }

    /// Bytes of the last line read, as text.
    pub(super) fn utf8(&self, bytes: &'a [u8]) -> Result<&'a str> {
        std::str::from_utf8(bytes).map_err(|_| self.error("UTF-8", shown(bytes)))
    }

    /// A whole number, at least 0.
    pub(super) fn count(&self, text: &str) -> Result<u64> {
        let text = text.trim_ascii();
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = if digits { text.parse().ok() } else { None };
        number.ok_or_else(|| self.error("a whole number", quoted(text)))
    }

    /// A finite number.
    pub(super) fn weight(&self, bytes: &[u8]) -> Result<f64> {
        let number = std::str::from_utf8(bytes).ok().and_then(|text| float::weight(text.trim_ascii()));
        number.ok_or_else(|| self.error("a finite number", shown(bytes)))
    }

    /// The next line, a string preceded by its length: `4:text,`.
    pub(super) fn netstring(&mut self) -> Result<&'a [u8]> {
        const EXPECTED: &str = "a string such as 4:text,";
        self.line += 1;
        let wrong = |text: &Self| {
            if text.rest.is_empty() {
                return text.error(EXPECTED, "the end of the file");
            }
            let line = text.rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
            text.error(EXPECTED, shown(line))
        };
        let colon = self.rest.iter().take(20).position(|&byte| byte == b':').ok_or_else(|| wrong(self))?;
        let digits = &self.rest[..colon];
        let length = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let length = length.and_then(|text| text.parse::<usize>().ok()).ok_or_else(|| wrong(self))?;
        let content = &self.rest[colon + 1..];
        let (string, after) = content.split_at_checked(length).ok_or_else(|| wrong(self))?;
        let ends = [&b",\n"[..], b",\r\n"];
        self.rest = ends.iter().find_map(|end| after.strip_prefix(*end)).ok_or_else(|| wrong(self))?;
        self.line += string.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(string)
    }

    /// Only blank lines may be left.
    pub(super) fn finish(mut self, expected: &str) -> Result<()> {
        while let Some(line) = self.next() {
            if !line.trim_ascii().is_empty() {
                return Err(self.error(expected, shown(line)));
            }
        }
        Ok(())
    }
}

/// Bytes as an error message shows them.
pub(super) fn shown(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(&bytes[..bytes.len().min(400)]))
}
