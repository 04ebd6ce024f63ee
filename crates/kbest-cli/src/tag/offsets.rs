//! Where tokens are in the text that they come from, if the data says what it was: the comment `# text = ...` of CoNLL-U, the
//! key `text` of a JSON object, or the line of plain text itself.

use kbest::Sequence;
use std::borrow::Cow;
use std::ops::Range;

/// The text of a sequence.
pub(super) fn text_of(sequence: &Sequence) -> Option<Cow<'_, str>> {
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
pub(super) fn places(text: &str, sequence: &Sequence) -> Option<Vec<Range<usize>>> {
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
}
