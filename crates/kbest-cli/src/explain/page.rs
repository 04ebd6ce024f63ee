//! The report as a page: one file with its data, its style and its program inside.
//!
//! Text from files enters the page only as JSON, in which `<` is written as `\u003c`, and the program shows it with
//! `textContent`: nothing in it can become markup.

use super::report::Report;
use std::io::{self, Write};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const PROGRAM: &str = include_str!("page.js");

/// Writes the page.
pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let data = serde_json::to_string(report)?;
    let data = data.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let mut rest = PAGE;
    for (mark, content) in [("/*style*/", STYLE), ("/*data*/", &data), ("/*program*/", PROGRAM)] {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        out.write_all(before.as_bytes())?;
        out.write_all(content.as_bytes())?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}
