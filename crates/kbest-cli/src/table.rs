//! Plain tables and bars for the terminal.

use kbest::escaped;

/// Lines of cells, aligned in columns: text to the left, numbers to the right. Control characters are escaped.
pub fn aligned(header: &[&str], numbers: &[bool], rows: &[Vec<String>]) -> String {
    let escape = |row: &Vec<String>| row.iter().map(|cell| escaped(cell).into_owned()).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(escape).collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|i| rows.iter().map(|row| row[i].chars().count()).chain([header[i].len()]).max().unwrap_or(0))
        .collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.enumerate().map(|(i, cell)| {
            let space = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
            if numbers[i] { format!("{space}{cell}") } else { format!("{cell}{space}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&mut header.iter().copied());
    for row in &rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

/// A bar for `value` on a logarithmic scale: `largest` fills `width`, and each factor of ten below it shortens the bar
/// by `width / decades`.
pub fn log_bar(value: f64, largest: f64, decades: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !(value > 0.0 && largest > 0.0) {
        return String::new();
    }
    let share = 1.0 + (value / largest).log10() / decades;
    let eighths = (share.clamp(0.01, 1.0) * width as f64 * 8.0).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A number with about three digits: `0.0123`, `1.23`, `12,340`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let digits = match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v => (2.0 - v.log10().floor()).clamp(3.0, 9.0) as usize,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let grouped = with_commas(whole);
    if rest.is_empty() { grouped } else { format!("{grouped}.{rest}") }
}

/// A whole number with commas: `1,234,567`.
pub fn grouped(value: usize) -> String {
    with_commas(&value.to_string())
}

/// The number rounded to two digits: a speed of which more would be noise.
pub fn in_two_digits(value: f64) -> usize {
    let unit = 10f64.powi((value.max(1.0).log10().floor() as i32 - 1).max(0));
    ((value / unit).round() * unit) as usize
}

/// A share of 1 as a percentage: `97.93 %`.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn with_commas(whole: &str) -> String {
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(12.345), "12.3");
        assert_eq!(number(0.012345), "0.0123");
        assert_eq!(number(-1234.0), "-1,234");
        assert_eq!(number(f64::NAN), "-");
        assert_eq!([0.0, 7.4, 99.6, 12_345.0, 987_654.0].map(in_two_digits), [0, 7, 100, 12_000, 990_000]);
    }

    #[test]
    fn columns_are_aligned() {
        let rows = vec![vec!["a".into(), "1".into()], vec!["long".into(), "1000".into()]];
        assert_eq!(aligned(&["x", "n"], &[false, true], &rows), "x        n\na        1\nlong  1000\n");
        let rows = vec![vec!["a\n\u{1b}[31m".into()]];
        assert_eq!(aligned(&["x"], &[false], &rows), "x\na\\n\\u{1b}[31m\n");
    }

    #[test]
    fn the_largest_fills_the_bar() {
        assert_eq!(log_bar(5.0, 5.0, 3.0, 4), "████");
        assert_eq!(log_bar(0.5, 50.0, 4.0, 4), "██");
        assert_eq!(log_bar(0.0, 5.0, 3.0, 4), "");
    }
}
