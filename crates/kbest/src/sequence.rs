//! One sequence of text: tokens with their columns, and their labels if known.
//!
//! **What.** `T` positions, each with cells of text: the columns of a line, or the attributes of an item, which may
//! have real values. **Why.** All text of a sequence is in one buffer and cells are ranges of it, so a sequence that is
//! refilled allocates nothing once it has grown to the longest one. **When not.** A sequence holds no ids: features are
//! extracted from sequences, not stored in them.
//!
//! ```
//! use kbest::Sequence;
//! let mut sequence = Sequence::new();
//! sequence.push(["Time", "NN"]);
//! sequence.push(["flies", "VBZ"]);
//! sequence.set_label("VERB");
//! assert_eq!((sequence.len(), sequence.columns()), (2, Some(2)));
//! assert_eq!(sequence.cell(1, 0), Some("flies"));
//! assert_eq!((sequence.label(0), sequence.label(1)), (Some(""), Some("VERB")));
//! ```

/// A range of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
}

/// A line of the file, unchanged, kept for formats that write back more than the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLine<'a> {
    /// The line, without its end.
    pub text: &'a str,
    /// The position it describes, if any.
    pub position: Option<usize>,
}

/// Tokens, columns and labels of one sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    text: String,      // cells and labels, end to end
    cells: Vec<Span>,  // position by position
    rows: Vec<usize>,  // T: where the cells of each position end
    values: Vec<f64>,  // as many as cells, or none if all are 1
    labels: Vec<Span>, // T, or none
    weight: f64,
    source: String,
    source_lines: Vec<(usize, Option<usize>)>, // where each line ends in `source`, and its position
    keys: Vec<(Span, Span)>, // of a JSON object, in `text`: other keys and their values, as written
}

impl Default for Sequence {
    fn default() -> Self {
        Sequence {
            text: String::new(),
            cells: Vec::new(),
            rows: Vec::new(),
            values: Vec::new(),
            labels: Vec::new(),
            weight: 1.0,
            source: String::new(),
            source_lines: Vec::new(),
            keys: Vec::new(),
        }
    }
}

impl Sequence {
    /// An empty sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// A sequence of one column.
    pub fn from_tokens<C: AsRef<str>>(tokens: impl IntoIterator<Item = C>) -> Self {
        let mut sequence = Self::new();
        for token in tokens {
            sequence.push([token]);
        }
        sequence
    }

    /// Empties the sequence and keeps its memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.cells.clear();
        self.rows.clear();
        self.values.clear();
        self.labels.clear();
        self.weight = 1.0;
        self.source.clear();
        self.source_lines.clear();
        self.keys.clear();
    }

    /// Keeps a key of the object that the sequence comes from, and its value as JSON.
    #[cfg(feature = "json")]
    pub(crate) fn push_key(&mut self, key: &str, value: &str) {
        let both = (self.add_text(key), self.add_text(value));
        self.keys.push(both);
    }

    /// The other keys of the object that the sequence comes from, with their values as JSON, in order.
    #[cfg(feature = "json")]
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let text = |span: Span| &self.text[span.start..span.end];
        self.keys.iter().map(move |&(key, value)| (text(key), text(value)))
    }

    /// Adds a position with these columns.
    pub fn push<C: AsRef<str>>(&mut self, columns: impl IntoIterator<Item = C>) {
        self.push_position();
        for column in columns {
            self.push_cell(column.as_ref());
        }
    }

    /// Adds a position without cells; add them with [`Sequence::push_cell`].
    pub fn push_position(&mut self) {
        self.rows.push(self.cells.len());
    }

    /// Adds a cell to the last position. Does nothing if there is no position.
    pub fn push_cell(&mut self, text: &str) {
        self.push_valued_cell(text, 1.0);
    }

    /// Adds a cell with a value to the last position. Does nothing if there is no position.
    pub fn push_valued_cell(&mut self, text: &str, value: f64) {
        let Some(end) = self.rows.last_mut() else { return };
        *end += 1;
        if value != 1.0 && self.values.is_empty() {
            self.values.resize(self.cells.len(), 1.0); // the first value other than 1
        }
        let all_one = self.values.is_empty() && value == 1.0;
        let span = self.add_text(text);
        self.cells.push(span);
        if !all_one {
            self.values.push(value);
        }
    }

    /// Labels the last position; unlabelled positions before it get the empty label. Does nothing if there is no
    /// position.
    pub fn set_label(&mut self, label: &str) {
        let Some(last) = self.rows.len().checked_sub(1) else { return };
        let span = self.add_text(label);
        self.labels.truncate(last);
        self.labels.resize(last, Span { start: span.start, end: span.start });
        self.labels.push(span);
    }

    /// Labels every position with the first cell of the same position of `labels`.
    #[cfg(feature = "json")]
    pub(crate) fn set_labels_from(&mut self, labels: &Sequence) {
        self.labels.clear();
        for t in 0..self.len() {
            let span = self.add_text(labels.cell(t, 0).unwrap_or(""));
            self.labels.push(span);
        }
    }

    /// Removes the last position; its text stays in the buffer until the sequence is cleared.
    pub fn pop(&mut self) {
        self.rows.pop();
        let cells = self.rows.last().copied().unwrap_or(0);
        self.cells.truncate(cells);
        if !self.values.is_empty() {
            self.values.truncate(cells);
        }
        self.labels.truncate(self.rows.len());
    }

    /// Sets the weight of the sequence in training.
    pub fn set_weight(&mut self, weight: f64) {
        self.weight = weight;
    }

    /// Keeps a line of the file, with the position it describes.
    pub fn push_source_line(&mut self, line: &str, position: Option<usize>) {
        self.source.push_str(line);
        self.source_lines.push((self.source.len(), position));
    }

    fn add_text(&mut self, text: &str) -> Span {
        let start = self.text.len();
        self.text.push_str(text);
        Span { start, end: self.text.len() }
    }

    fn at(&self, span: Span) -> &str {
        &self.text[span.start..span.end]
    }

    /// Number of positions `T`.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no positions.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The range of the cells of position `t`; empty past the end.
    #[inline]
    fn row(&self, t: usize) -> std::ops::Range<usize> {
        let Some(&end) = self.rows.get(t) else { return 0..0 };
        let start = if t == 0 { 0 } else { self.rows[t - 1] };
        start..end
    }

    /// Number of cells at position `t`.
    #[inline]
    pub fn width(&self, t: usize) -> usize {
        self.row(t).len()
    }

    /// Number of columns if all positions have the same number; `None` if not, or if there are no positions.
    pub fn columns(&self) -> Option<usize> {
        let first = self.rows.first().copied()?;
        (1..self.len()).all(|t| self.width(t) == first).then_some(first)
    }

    /// The text in column `column` of position `t`.
    #[inline]
    pub fn cell(&self, t: usize, column: usize) -> Option<&str> {
        let row = self.row(t);
        (column < row.len()).then(|| self.at(self.cells[row.start + column]))
    }

    /// The cells of position `t`.
    pub fn cells(&self, t: usize) -> impl ExactSizeIterator<Item = &str> {
        self.cells[self.row(t)].iter().map(|&span| self.at(span))
    }

    /// The values of the cells of position `t`; `None` if all values of the sequence are 1.
    #[inline]
    pub fn values(&self, t: usize) -> Option<&[f64]> {
        (!self.values.is_empty()).then(|| &self.values[self.row(t)])
    }

    /// The label of position `t`, if the sequence has labels up to there.
    pub fn label(&self, t: usize) -> Option<&str> {
        self.labels.get(t).map(|&span| self.at(span))
    }

    /// True if every position has a label.
    pub fn is_labelled(&self) -> bool {
        !self.is_empty() && self.labels.len() == self.len()
    }

    /// The weight of the sequence in training: 1 unless the data sets another.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The lines of the file, if the format keeps them.
    pub fn source_lines(&self) -> impl ExactSizeIterator<Item = SourceLine<'_>> {
        self.source_lines.iter().enumerate().map(|(i, &(end, position))| {
            let start = if i == 0 { 0 } else { self.source_lines[i - 1].0 };
            SourceLine { text: &self.source[start..end], position }
        })
    }
}

/// Compares contents, not where the text is stored.
impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        let all_one = |s: &Self, t: usize| s.values(t).is_none_or(|v| v.iter().all(|&v| v == 1.0));
        self.len() == other.len()
            && self.weight == other.weight
            && self.source_lines().eq(other.source_lines())
            && (0..self.len()).all(|t| {
                self.cells(t).eq(other.cells(t))
                    && self.label(t) == other.label(t)
                    && match (self.values(t), other.values(t)) {
                        (Some(mine), Some(others)) => mine == others,
                        _ => all_one(self, t) && all_one(other, t),
                    }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_begin_with_the_first_that_is_not_one() {
        let mut sequence = Sequence::new();
        sequence.push(["a", "b"]);
        assert_eq!(sequence.values(0), None);
        sequence.push_position();
        sequence.push_valued_cell("c", 0.5);
        sequence.push_cell("d");
        assert_eq!((sequence.values(0), sequence.values(1)), (Some(&[1.0, 1.0][..]), Some(&[0.5, 1.0][..])));
        sequence.pop();
        assert_eq!((sequence.len(), sequence.values(0)), (1, Some(&[1.0, 1.0][..])));
        assert_eq!(sequence, Sequence::clone(&sequence));
    }

    #[test]
    fn values_may_begin_with_the_very_first_cell() {
        let mut sequence = Sequence::new();
        sequence.push_position();
        sequence.push_valued_cell("a", 2.0);
        sequence.push_cell("b");
        assert_eq!(sequence.values(0), Some(&[2.0, 1.0][..]));
    }

    #[test]
    fn a_cleared_sequence_is_as_new() {
        let mut sequence = Sequence::from_tokens(["x", "y"]);
        sequence.set_label("Y");
        sequence.set_weight(3.0);
        sequence.push_source_line("x", Some(0));
        assert!(sequence.is_labelled());
        sequence.clear();
        assert_eq!(sequence, Sequence::new());
        assert!(!sequence.is_labelled() && sequence.columns().is_none());
        sequence.push_cell("lost");
        sequence.set_label("lost");
        assert_eq!(sequence, Sequence::new(), "no position, no cell");
    }

    #[test]
    fn ragged_rows_have_no_columns() {
        let mut sequence = Sequence::from_tokens(["x", "y"]);
        assert_eq!(sequence.columns(), Some(1));
        sequence.push(["z", "z"]);
        assert_eq!((sequence.columns(), sequence.width(2), sequence.width(3)), (None, 2, 0));
        assert_eq!((sequence.cell(2, 2), sequence.cell(3, 0)), (None, None));
    }
}
