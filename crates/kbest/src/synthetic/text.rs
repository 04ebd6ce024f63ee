//! Sentences: phrases in which case, number and gender spread from nouns to their neighbours.

use super::Language;
use super::grammar::{Agreement, Cell, Class};
use super::lexicon::{Lexeme, inflects_kind};
use crate::sequence::Sequence;
use kbest_core::random::Random;

/// The case of subjects, and the case of nouns that modify another noun.
const NOMINATIVE: usize = 0;
const GENITIVE: usize = 1;

/// An endless text, sentence by sentence; created by [`Language::text`].
#[derive(Debug, Clone)]
pub struct Text<'a> {
    language: &'a Language,
    random: Random,
    tokens: usize,
    turns: Vec<u32>, // labels: each in turn is used in a sentence
    sentences: usize,
    word: String,
}

impl<'a> Text<'a> {
    pub(super) fn new(language: &'a Language, tokens: usize, mut random: Random) -> Self {
        let turns = random.shuffled(language.labels().len());
        Text { language, random, tokens: tokens.max(1), turns, sentences: 0, word: String::new() }
    }

    /// Replaces a sequence by the next sentence: one column and its labels. Its memory is reused.
    pub fn fill(&mut self, sequence: &mut Sequence) {
        sequence.clear();
        let turn = self.turns[self.sentences % self.turns.len()] as usize;
        let turn = self.language.grammar.cells()[turn];
        self.sentences += 1;
        let length = self.tokens.div_ceil(2) + self.random.below(self.tokens / 2 * 2 + 1);
        let room = length.saturating_sub(2); // phrases are never cut, so on average they exceed the length by this

        self.opening(turn, sequence);
        let tense = self.language.lexicon.kind(Class::Verb, &mut self.random);
        while sequence.len() < room.max(1) {
            self.clause(tense, room, sequence);
        }
        let mark = (turn.class == Class::Punctuation).then_some(turn.kind);
        self.word(Class::Punctuation, Agreement::default(), mark, sequence);
    }

    /// A phrase around the label whose turn it is.
    fn opening(&mut self, turn: Cell, out: &mut Sequence) {
        let case = turn.agreement.case;
        match turn.class {
            Class::Noun | Class::Determiner | Class::Adjective => {
                if case != NOMINATIVE {
                    self.word(Class::Preposition, turn.agreement, None, out);
                }
                self.noun_phrase(case, Some(turn), out);
            }
            Class::Verb => {
                let subject = self.noun_phrase(NOMINATIVE, Some(turn), out);
                self.word(Class::Verb, subject, Some(turn.kind), out);
            }
            Class::Preposition => {
                self.word(Class::Preposition, turn.agreement, Some(turn.kind), out);
                self.noun_phrase(case, None, out);
            }
            Class::Pronoun | Class::Adverb | Class::Conjunction => {
                self.word(turn.class, turn.agreement, Some(turn.kind), out);
            }
            Class::Punctuation => {} // comes at the end
        }
    }

    /// Subject and verb, and as many further phrases as there is room for.
    fn clause(&mut self, tense: usize, room: usize, out: &mut Sequence) {
        if !out.is_empty() {
            self.word(Class::Conjunction, Agreement::default(), None, out);
        }
        let subject = self.subject(out);
        if self.random.chance(0.15) {
            self.word(Class::Adverb, Agreement::default(), None, out);
        }
        let other = self.language.lexicon.kind(Class::Verb, &mut self.random);
        let tense = if self.random.chance(0.1) { other } else { tense };
        let governed = self.word(Class::Verb, subject, Some(tense), out);
        if out.len() < room && self.random.chance(0.6) {
            self.noun_phrase(governed, None, out);
        }
        let prepositions = self.language.grammar.has(Class::Preposition);
        while prepositions && out.len() < room && self.random.chance(0.5) {
            let case = self.preposition(out);
            self.noun_phrase(case, None, out);
        }
        if out.len() < room && self.random.chance(0.2) {
            self.word(Class::Adverb, Agreement::default(), None, out);
        }
    }

    fn subject(&mut self, out: &mut Sequence) -> Agreement {
        let grammar = &self.language.grammar;
        if !grammar.has(Class::Pronoun) || !self.random.chance(0.25) {
            return self.noun_phrase(NOMINATIVE, None, out);
        }
        let number = self.random.low(grammar.numbers());
        let gender = self.random.low(grammar.genders());
        let agreement = Agreement { case: NOMINATIVE, number, gender };
        self.word(Class::Pronoun, agreement, None, out);
        agreement
    }

    /// Determiner, adjectives and noun, all with the same case, number and gender, which are returned. `wish` is a word
    /// that must occur, or a verb that follows.
    fn noun_phrase(&mut self, case: usize, wish: Option<Cell>, out: &mut Sequence) -> Agreement {
        let grammar = &self.language.grammar;
        let noun = self.noun(wish);
        let number = wish.map_or_else(|| self.random.low(grammar.numbers()), |wish| wish.agreement.number);
        let agreement = Agreement { case, number, gender: noun.gender };
        let wished = |class| wish.filter(|wish| wish.class == class).map(|wish| wish.kind);

        let determiner = wished(Class::Determiner);
        if determiner.is_some() || self.random.chance(0.55) {
            self.word(Class::Determiner, agreement, determiner, out);
        }
        let adjective = wished(Class::Adjective);
        // Adjectives follow the noun's declension.
        let kind = adjective.unwrap_or(noun.kind % grammar.kinds(Class::Adjective));
        for _ in 0..self.random.low(3).max(usize::from(adjective.is_some())) {
            self.word(Class::Adjective, agreement, Some(kind), out);
        }
        self.write(noun, Cell { class: Class::Noun, agreement, kind: noun.kind }, out);
        if wish.is_none() && grammar.cases() > 1 && self.random.chance(0.1) {
            self.genitive(out);
        }
        agreement
    }

    /// A bare noun that modifies the one before it.
    fn genitive(&mut self, out: &mut Sequence) {
        let grammar = &self.language.grammar;
        let noun = self.noun(None);
        let number = self.random.low(grammar.numbers());
        let agreement = Agreement { case: GENITIVE, number, gender: noun.gender };
        self.write(noun, Cell { class: Class::Noun, agreement, kind: noun.kind }, out);
    }

    /// A noun with the requested gender and, if the request is for the noun itself, the requested kind.
    fn noun(&mut self, wish: Option<Cell>) -> &'a Lexeme {
        let language = self.language;
        let nouns = language.lexicon.entries(Class::Noun);
        let Some(wish) = wish else { return nouns.draw(&mut self.random) };
        let kinds = language.grammar.kinds(Class::Noun);
        let kind = if wish.class == Class::Noun { wish.kind } else { self.random.below(kinds) };
        nouns.draw_from(wish.agreement.gender * kinds + kind, &mut self.random)
    }

    /// A preposition, which governs its own case (or, less often, the next one).
    fn preposition(&mut self, out: &mut Sequence) -> usize {
        let language = self.language;
        let lexeme = language.lexicon.entries(Class::Preposition).draw(&mut self.random);
        let other = usize::from(self.random.chance(0.25));
        let case = (lexeme.case + other) % language.grammar.cases();
        let agreement = Agreement { case, ..Agreement::default() };
        self.write(lexeme, Cell { class: Class::Preposition, agreement, kind: lexeme.kind }, out);
        case
    }

    /// Any word of a class in this form, and of this kind if one is given; returns the case it governs. Writes nothing
    /// if the language does not have the class.
    fn word(&mut self, class: Class, agreement: Agreement, kind: Option<usize>, out: &mut Sequence) -> usize {
        let entries = self.language.lexicon.entries(class);
        let (lexeme, kind) = match kind {
            Some(kind) if inflects_kind(class) => (entries.draw(&mut self.random), kind),
            Some(kind) => (entries.draw_from(kind, &mut self.random), kind),
            None => {
                let lexeme = entries.draw(&mut self.random);
                (lexeme, lexeme.kind)
            }
        };
        self.write(lexeme, Cell { class, agreement, kind }, out);
        lexeme.case
    }

    fn write(&mut self, lexeme: &Lexeme, cell: Cell, out: &mut Sequence) {
        let language = self.language;
        if !language.grammar.has(cell.class) {
            return;
        }
        let y = language.grammar.label(cell);
        self.word.clear();
        self.word.push_str(&lexeme.stem);
        self.word.push_str(language.lexicon.ending(y));
        out.push([&self.word]);
        out.set_label(&language.names[y]);
    }
}

impl Iterator for Text<'_> {
    type Item = Sequence;

    /// The next sentence; the text never ends. [`Text::fill`] allocates less.
    fn next(&mut self) -> Option<Sequence> {
        let mut sequence = Sequence::new();
        self.fill(&mut sequence);
        Some(sequence)
    }
}
