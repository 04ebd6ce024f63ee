//! An artificial language with rich morphology, made from a seed: labelled text where no corpus is at hand.
//!
//! **What.** A [`Language`] has any number of labels from 2 to [`MOST_LABELS`], with names such as
//! `Noun|Case=2|Num=0|Gen=1`. Words follow Zipf's law; forms are ambiguous, within a class and between classes; case, number
//! and gender spread from nouns to adjectives, determiners and pronouns, number and gender from subjects to verbs,
//! prepositions and verbs govern cases. So the neighbours tell what a word alone does not, as in Czech or Hungarian. Words
//! never seen before can be guessed from their ends.
//!
//! **Why.** For tests, examples and a demonstration with as many labels as one likes. **When not.** To judge how well
//! something does on a real language: there is no meaning in it, and its rules have few exceptions.
//!
//! **Cost.** A language takes milliseconds to make, even with 10,000 labels; a text streams, and memory does not grow with
//! its length. **The same everywhere**: a seed gives the same text on every platform.
//!
//! **How much text.** Each label takes its turn in one sentence of every `L`: `L` sentences hold every label at least once.
//! For a few of each, take about `5 L` sentences.
//!
//! ```
//! use kbest::synthetic::Language;
//! let language = Language::new(1000, 7)?;
//! assert_eq!(language.labels().len(), 1000);
//! let sentences: Vec<_> = language.text(0, 15).take(50).collect(); // for training
//! let others: Vec<_> = language.text(1, 15).take(5).collect();     // for tests: the same language, other sentences
//! assert!(sentences.iter().all(|sentence| sentence.is_labelled()));
//! assert_eq!(sentences[0], language.text(0, 15).next().unwrap());
//! assert_ne!(sentences[0], others[0]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod grammar;
mod lexicon;
mod text;

pub use text::Text;

use crate::error::Result;
use crate::random::Random;
use grammar::Grammar;
use lexicon::Lexicon;

/// The most labels a language can have.
pub const MOST_LABELS: usize = 10_000;

/// A language: labels, words, and how they go together.
#[derive(Debug)]
pub struct Language {
    grammar: Grammar,
    lexicon: Lexicon,
    names: Vec<String>, // by label
    seed: u64,
}

impl Language {
    /// The language of so many labels that this seed makes.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for fewer than 2 labels or more than [`MOST_LABELS`].
    pub fn new(labels: usize, seed: u64) -> Result<Self> {
        let grammar = Grammar::new(labels)?;
        let lexicon = Lexicon::new(&grammar, &mut Random::new(seed));
        let names = grammar.cells().iter().map(|&cell| grammar.name(cell)).collect();
        Ok(Language { grammar, lexicon, names, seed })
    }

    /// The names of all labels.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// An endless text of sentences with `tokens` words on average, from half to one and a half times as many and
    /// at least a phrase. Each `part` is a text of its own: one to train on, another to test.
    pub fn text(&self, part: u64, tokens: usize) -> Text<'_> {
        // Parts of one seed must not meet those of the next one.
        let mixed = self.seed ^ (part.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
        Text::new(self, tokens, Random::new(mixed))
    }
}
