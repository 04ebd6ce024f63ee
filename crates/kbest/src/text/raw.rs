//! Plain text: one sentence per line.
//!
//! `tokens` takes what stands between blanks. `text` splits punctuation off, by rules that fit on a page and suit most languages
//! that put blanks between words ([`tokenize`]). **When not.** If the model was trained on tokens made in another way, such as
//! `do n't`: use that program's tokens, with `tokens`.

use super::lines::{Lines, MOST_COLUMNS};
use crate::sequence::Sequence;
use kbest_core::Result;

/// The state of a reader of plain text.
#[derive(Debug)]
pub(super) struct TextReader {
    pub split: bool, // whether punctuation is split off
}

impl TextReader {
    /// Every line is a sequence, so that every line has an answer; a blank one has no positions.
    pub(super) fn read_into(&mut self, lines: &mut Lines, sequence: &mut Sequence) -> Result<bool> {
        let Some(line) = lines.next()? else { return Ok(false) };
        if self.split {
            tokenize(line).for_each(|token| sequence.push([token]));
        } else {
            line.split_whitespace().for_each(|token| sequence.push([token]));
        }
        #[cfg(feature = "json")] // spans say where they are in it, and JSON keeps it
        sequence.push_key("text", &serde_json::to_string(line).unwrap_or_default());
        let tokens = sequence.len();
        if tokens > MOST_COLUMNS {
            let expected = format!("at most {MOST_COLUMNS} words in a line, which is one sentence");
            return Err(lines.error(expected, tokens));
        }
        Ok(true)
    }
}

/// The words and punctuation marks of a sentence.
///
/// Pieces between white space are split further:
///
/// - Punctuation at the beginning and at the end of a piece is split off, mark by mark; equal marks in a row stay together
///   (`...`, `--`).
/// - Inside a piece nothing is split: `don't`, `and/or`, `1,000`, `3.5`, `name@example.org`.
/// - A full stop stays with what has another one inside, and with a single letter: `U.S.`, `e.g.`, `J.`
/// - A sign before a digit stays (`-5`, `+3`), and so do `@` and `#` before a letter or digit (`@name`, `#1`).
///
/// ```
/// use kbest::text::tokenize;
/// let tokens: Vec<&str> = tokenize("\"The U.S. (in 1,000s) -- don't ask J. Doe!\"").collect();
/// let expected =
///     ["\"", "The", "U.S.", "(", "in", "1,000s", ")", "--", "don't", "ask", "J.", "Doe", "!", "\""];
/// assert_eq!(tokens, expected);
/// ```
pub fn tokenize(line: &str) -> impl Iterator<Item = &str> {
    line.split_whitespace().flat_map(tokens_of_piece)
}

fn tokens_of_piece(piece: &str) -> impl Iterator<Item = &str> {
    let mut rest = piece;
    let mut before = Vec::new();
    while let Some(mark) = first_mark(rest) {
        let run = run_at_start(rest, mark);
        before.push(&rest[..run]);
        rest = &rest[run..];
    }
    let mut after = Vec::new();
    while let Some(mark) = last_mark(rest) {
        let run = run_at_end(rest, mark);
        after.push(&rest[rest.len() - run..]);
        rest = &rest[..rest.len() - run];
    }
    let word = (!rest.is_empty()).then_some(rest);
    before.into_iter().chain(word).chain(after.into_iter().rev())
}

/// The mark that is split off the beginning.
fn first_mark(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let mark = characters.next().filter(|&character| is_punctuation(character))?;
    let next = characters.next();
    let stays = match mark {
        '+' | '-' => next.is_some_and(char::is_numeric),
        '@' | '#' => next.is_some_and(char::is_alphanumeric),
        _ => false,
    };
    (!stays).then_some(mark)
}

/// The mark that is split off the end.
fn last_mark(text: &str) -> Option<char> {
    let mark = text.chars().next_back().filter(|&character| is_punctuation(character))?;
    if mark != '.' {
        return Some(mark);
    }
    let word = &text[..text.len() - 1];
    let mut characters = word.chars();
    let is_letter = characters.next().is_some_and(char::is_alphabetic) && characters.next().is_none();
    let has_stop_inside = !word.ends_with('.') && word.contains('.');
    let stays = is_letter || has_stop_inside && word.contains(char::is_alphabetic);
    (!stays).then_some(mark)
}

fn run_at_start(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

fn run_at_end(text: &str, mark: char) -> usize {
    text.len() - text.trim_end_matches(mark).len()
}

/// ASCII's punctuation, and that of other scripts which stands next to words.
fn is_punctuation(character: char) -> bool {
    character.is_ascii_punctuation()
        || matches!(character,
            '¡' | '¿' | '«' | '»' | '§' | '·' | '،' | '؛' | '؟' | '।' | '॥'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest_core::random::Random;

    #[test]
    fn punctuation_is_split_off() {
        let cases = [
            ("", ""),
            ("  a\u{a0}b\u{3000}c\t", "a b c"),
            ("Hello, world.", "Hello , world ."),
            ("wait... what?!", "wait ... what ? !"),
            ("-5 -x +3 - --", "-5 - x +3 - --"),
            ("@me #1 @ # #!", "@me #1 @ # # !"),
            ("e.g. a.m.. J. 3.5. ...", "e.g. a.m .. J. 3.5 . ..."),
            ("(see [1])", "( see [ 1 ] )"),
            ("«Où?» ¿Qué?", "« Où ? » ¿ Qué ?"),
            ("don't rock'n'roll' 'tis", "don't rock'n'roll ' ' tis"),
            ("$5 5% http://a.b/c?", "$ 5 5 % http://a.b/c ?"),
            ("हिन्दी।", "हिन्दी ।"),
        ];
        for (text, expected) in cases {
            assert_eq!(tokenize(text).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
    }

    /// Tokens are the characters of the text in order, without white space.
    #[test]
    fn nothing_is_lost() {
        let alphabet: Vec<char> = "ab1.,-'\"(@#+ \u{a0}ü»…".chars().collect();
        let mut random = Random::new(5);
        for _ in 0..20_000 {
            let text: String =
                (0..random.below(12)).map(|_| alphabet[random.below(alphabet.len())]).collect();
            let tokens: Vec<&str> = tokenize(&text).collect();
            assert!(tokens.iter().all(|token| !token.is_empty() && !token.contains(char::is_whitespace)));
            let bare: String = text.split_whitespace().collect();
            assert_eq!(tokens.concat(), bare, "{text:?}");
        }
    }
}
