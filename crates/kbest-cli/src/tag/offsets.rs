//! Where tokens are in the text that they come from, if the data says what it was: the comment `# text = ...` of CoNLL-U, the
//! key `text` of a JSON object, or the line of plain text itself.

use kbest::Sequence;
use std::borrow::Cow;
use std::ops::Range;

/// The text of a sequence, and the bytes of each token in it.
#[derive(Debug)]
pub(super) struct Known<'a> {
    text: Cow<'a, str>,
    places: Vec<Range<usize>>,
}

impl<'a> Known<'a> {
    /// `None` if the text is not known, or does not contain all tokens.
    pub(super) fn of(sequence: &'a Sequence) -> Option<Self> {
        let text = text_of(sequence)?;
        let places = places(&text, sequence)?;
        Some(Known { text, places })
    }

    /// What finds spans.
    pub(super) fn finder(&self) -> Finder<'_> {
        Finder { known: self, counted: (0, 0) }
    }
}

/// Finds spans of tokens, best from first to last: it goes on counting characters where the last span ended.
#[derive(Debug)]
pub(super) struct Finder<'a> {
    known: &'a Known<'a>,
    counted: (usize, usize), // bytes, characters
}

impl<'a> Finder<'a> {
    fn characters(&mut self, end: usize) -> usize {
        if end < self.counted.0 {
            self.counted = (0, 0);
        }
        let (bytes, characters) = self.counted;
        self.counted = (end, characters + self.known.text[bytes..end].chars().count());
        self.counted.1
    }

    /// The characters of the text before the span and up to its end, and the span itself.
    pub(super) fn find(&mut self, start: usize, end: usize) -> ((usize, usize), &'a str) {
        let bytes = self.known.places[start].start..self.known.places[end - 1].end;
        let characters = (self.characters(bytes.start), self.characters(bytes.end));
        (characters, &self.known.text[bytes])
    }
}

/// The text of a sequence.
fn text_of(sequence: &Sequence) -> Option<Cow<'_, str>> {
    if let Some((_, value)) = sequence.keys().find(|(key, _)| *key == "text") {
        return serde_json::from_str::<String>(value).ok().map(Cow::Owned);
    }
    fn comment(line: &str) -> Option<&str> {
        let value = line.strip_prefix('#')?.trim_start().strip_prefix("text")?.trim_start();
        value.strip_prefix('=').map(str::trim)
    }
    let mut lines = sequence.source_lines();
    lines.find_map(|line| comment(line.text)).map(|text| Cow::Owned(text.to_owned()))
}

/// The bytes of each token; `None` if the text does not contain them all, one after another.
fn places(text: &str, sequence: &Sequence) -> Option<Vec<Range<usize>>> {
    let mut end = 0;
    let place = |t: usize| {
        let token = sequence.cell(t, 0).filter(|token| !token.is_empty())?;
        let start = end + text[end..].find(token)?;
        // Only white space may lie between tokens: anything else would mean that one was found too late.
        if !text[end..start].chars().all(char::is_whitespace) {
            return None;
        }
        end = start + token.len();
        Some(start..end)
    };
    (0..sequence.len()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_order() {
        let sequence = Sequence::from_tokens(["a", "a", "é", "a"]);
        assert_eq!(places("aa é  a", &sequence), Some(vec![0..1, 1..2, 3..5, 7..8]));
        assert_eq!(places("a b a é a", &sequence), None);
        assert_eq!(places("", &Sequence::new()), Some(vec![]));
    }

    /// In any order, although spans usually come from first to last.
    #[test]
    fn spans_are_found_by_characters() {
        let sequence = Sequence::from_tokens(["ä", "aé", "é"]);
        let text = "ä  aé é";
        let known = Known { text: text.into(), places: places(text, &sequence).unwrap() };
        let mut finder = known.finder();
        assert_eq!(finder.find(0, 1), ((0, 1), "ä"));
        assert_eq!(finder.find(1, 3), ((3, 7), "aé é"));
        assert_eq!(finder.find(1, 2), ((3, 5), "aé"));
    }
}
