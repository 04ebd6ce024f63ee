//! An artificial language with rich morphology, generated from a seed: labelled text when no corpus is available. And made-up
//! contact records, for models of segments: [`Addresses`].
//!
//! **What.** A [`Language`] has any number of labels from 2 to [`MOST_LABELS`], with names such as
//! `Noun|Case=2|Num=0|Gen=1`. Words follow Zipf's law; forms are ambiguous, within a class and between classes; case,
//! number and gender spread from nouns to adjectives, determiners and pronouns, number and gender from subjects to
//! verbs, and prepositions and verbs govern cases. So, as in Czech or Hungarian, the neighbours of a word show what the
//! word alone does not. Unseen words can be guessed from their endings.
//!
//! **Why.** For tests, examples and demonstrations with any number of labels. **When not.** To judge performance on a
//! real language: the text has no meaning, and its rules have few exceptions.
//!
//! **Cost.** A language takes milliseconds to generate, even with 10,000 labels; text is streamed, and memory does not
//! grow with its length. **The same everywhere**: a seed produces the same text on every platform.
//!
//! **How much text.** Every label is guaranteed to occur in one of every `L` sentences: `L` sentences contain every
//! label at least once. For a few occurrences of each, take about `5 L` sentences.
//!
//! ```
//! use kbest::synthetic::Language;
//! let language = Language::new(1000, 7)?;
//! assert_eq!(language.labels().len(), 1000);
//! let sentences: Vec<_> = language.text(0, 15).take(50).collect(); // for training
//! let others: Vec<_> = language.text(1, 15).take(5).collect();     // for testing: the same language, other sentences
//! assert!(sentences.iter().all(|sentence| sentence.is_labelled()));
//! assert_eq!(sentences[0], language.text(0, 15).next().unwrap());
//! assert_ne!(sentences[0], others[0]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod addresses;
mod contacts;
mod grammar;
mod lexicon;
mod text;

pub use addresses::{Addresses, LABELS};
pub use text::Text;

use grammar::Grammar;
use kbest_core::Result;
use kbest_core::random::Random;
use lexicon::Lexicon;

/// The largest number of labels of a language.
pub const MOST_LABELS: usize = 10_000;

/// A language: labels, words, and how they combine.
#[derive(Debug)]
pub struct Language {
    grammar: Grammar,
    lexicon: Lexicon,
    names: Vec<String>, // by label
    seed: u64,
}

impl Language {
    /// The language with this many labels and this seed.
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

    /// An endless text of sentences with `tokens` words on average; each has from half to one and a half times as many,
    /// and at least one phrase. Each `part` is a separate text: one to train on, another to test on.
    pub fn text(&self, part: u64, tokens: usize) -> Text<'_> {
        // Parts of one seed must not coincide with those of the next.
        let mixed = self.seed ^ (part.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
        Text::new(self, tokens, Random::new(mixed))
    }
}
