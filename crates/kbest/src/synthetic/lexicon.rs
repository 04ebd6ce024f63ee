//! Words: stems by Zipf's law, and the endings that (more or less) show their labels.
//!
//! A form is `stem + marker + ending`. A paradigm has fewer endings than cells, and all paradigms share one pool of
//! endings: forms are ambiguous within a class and between classes. Some verbs, adjectives and adverbs share the stem
//! of a noun, and base forms have no ending, so that even the class is ambiguous. The rest can be guessed from the end
//! of an unseen word: nouns of one gender and declension share a derivational suffix, kinds of verbs and adjectives
//! their marker.

use super::grammar::{Cell, Class, Grammar};
use kbest_core::random::{Random, Zipf};
use std::collections::{BTreeMap, HashSet};

/// Punctuation, one mark per kind.
pub(super) const MARKS: [&str; 8] = [".", "!", "?", ";", ":", "...", "!?", "--"];

/// A stem and its fixed properties.
#[derive(Debug)]
pub(super) struct Lexeme {
    pub stem: String,
    /// Of nouns.
    pub gender: usize,
    /// The kind, unless inflection shows it.
    pub kind: usize,
    /// The case that a verb or a preposition governs.
    pub case: usize,
}

/// The lexemes of a class, most frequent first.
#[derive(Debug)]
pub(super) struct Entries {
    lexemes: Vec<Lexeme>,
    zipf: Zipf,
    groups: Vec<Vec<u32>>, // by gender and kind: lexemes
}

/// All words.
#[derive(Debug)]
pub(super) struct Lexicon {
    entries: Vec<Entries>, // by class
    kinds: Vec<Zipf>,      // by class: how often each kind is used
    endings: Vec<String>,  // by label: marker and ending
}

/// Whether the kind is shown by a marker rather than fixed for a stem.
pub(super) fn inflects_kind(class: Class) -> bool {
    matches!(class, Class::Verb | Class::Adjective)
}

impl Entries {
    /// Draws by Zipf's law.
    pub(super) fn draw(&self, random: &mut Random) -> &Lexeme {
        &self.lexemes[self.zipf.draw(random)]
    }

    /// Draws one of this gender and kind, preferably a frequent one.
    pub(super) fn draw_from(&self, group: usize, random: &mut Random) -> &Lexeme {
        let group = &self.groups[group];
        &self.lexemes[group[random.low(group.len())] as usize]
    }
}

impl Lexicon {
    pub(super) fn new(grammar: &Grammar, random: &mut Random) -> Self {
        let mut taken = HashSet::new();
        let mut entries: Vec<Entries> = Vec::new();
        for class in Class::ALL {
            let made = new_entries(class, grammar, entries.first(), &mut taken, random);
            entries.push(made);
        }
        let kinds = Class::ALL.iter().map(|&class| Zipf::new(grammar.kinds(class))).collect();
        Lexicon { entries, kinds, endings: new_endings(grammar, random) }
    }

    pub(super) fn entries(&self, class: Class) -> &Entries {
        &self.entries[class as usize]
    }

    /// A kind that a word of this class can have, preferably a low one.
    pub(super) fn kind(&self, class: Class, random: &mut Random) -> usize {
        self.kinds[class as usize].draw(random)
    }

    /// Marker and ending of a label.
    pub(super) fn ending(&self, label: usize) -> &str {
        &self.endings[label]
    }
}

/// Number of stems: open classes have many.
fn stems(class: Class, groups: usize) -> usize {
    match class {
        Class::Noun => 3000,
        Class::Verb | Class::Adjective => 1200,
        Class::Adverb => 200,
        Class::Preposition => (3 * groups).max(20),
        Class::Punctuation => groups,
        _ => (3 * groups).max(8),
    }
}

fn new_entries(
    class: Class,
    grammar: &Grammar,
    nouns: Option<&Entries>,
    taken: &mut HashSet<String>,
    random: &mut Random,
) -> Entries {
    let kinds = if inflects_kind(class) { 1 } else { grammar.kinds(class) };
    let genders = if class == Class::Noun { grammar.genders() } else { 1 };
    let count = stems(class, genders * kinds);
    let suffixes: Vec<String> = (0..genders * kinds).map(|_| syllable(random) + consonant(random)).collect();
    let zipf_of_groups = Zipf::new(suffixes.len());
    // Each group has a member; the frequent words are of every kind.
    let mut each_once = random.shuffled(suffixes.len());
    let mut groups = vec![Vec::new(); suffixes.len()];
    let mut lexemes = Vec::with_capacity(count);
    for rank in 0..count {
        let group = each_once.pop().map_or_else(|| zipf_of_groups.draw(random), |group| group as usize);
        let stem = match (class, nouns) {
            (Class::Punctuation, _) => MARKS[group % MARKS.len()].to_owned(),
            (Class::Verb | Class::Adjective | Class::Adverb, Some(nouns)) if random.chance(0.3) => {
                nouns.lexemes[rank].stem.clone()
            }
            (Class::Noun | Class::Verb | Class::Adjective | Class::Adverb, _) => {
                let suffix = if rank >= 20 && random.chance(0.75) { suffixes[group].as_str() } else { "" };
                new_stem(1 + random.low(3), suffix, taken, random)
            }
            _ => new_stem(1, "", taken, random),
        };
        groups[group].push(rank as u32);
        let case = random.low(grammar.cases());
        lexemes.push(Lexeme { stem, gender: group / kinds, kind: group % kinds, case });
    }
    Entries { lexemes, zipf: Zipf::new(count), groups }
}

/// Marker and ending of every label.
fn new_endings(grammar: &Grammar, random: &mut Random) -> Vec<String> {
    // A noun's gender is fixed: each has a paradigm of its own.
    let paradigm = |cell: &Cell| {
        let gender = if cell.class == Class::Noun { cell.agreement.gender } else { 0 };
        (cell.class as usize, cell.kind, gender)
    };
    let mut paradigms: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (y, cell) in grammar.cells().iter().enumerate() {
        paradigms.entry(paradigm(cell)).or_default().push(y);
    }
    let pool = pool(6 + grammar.cases() * grammar.numbers() * grammar.genders() / 2, random);
    let markers = Class::ALL.map(|class| markers(class, grammar, random));
    let mut endings = vec![String::new(); grammar.cells().len()];
    for ((class, kind, _), labels) in paradigms {
        let order = random.shuffled(pool.len());
        let distinct = distinct_endings(Class::ALL[class], labels.len()).min(1 + pool.len());
        for (i, y) in labels.into_iter().enumerate() {
            endings[y].push_str(&markers[class][kind]);
            // Each ending once, then any of them again; the first is empty: the base form.
            let ending = if i < distinct { i } else { random.below(distinct) };
            if ending > 0 {
                endings[y].push_str(&pool[order[ending - 1] as usize]);
            }
        }
    }
    endings
}

/// How many distinct forms a paradigm has.
fn distinct_endings(class: Class, cells: usize) -> usize {
    match class {
        Class::Noun => cells.div_ceil(2),
        Class::Verb | Class::Determiner | Class::Adjective | Class::Pronoun => cells.div_ceil(3),
        Class::Preposition | Class::Adverb | Class::Conjunction | Class::Punctuation => 1,
    }
}

/// What shows the kind of a verb or adjective; a few kinds look the same.
fn markers(class: Class, grammar: &Grammar, random: &mut Random) -> Vec<String> {
    let mut markers: Vec<String> = vec![String::new()];
    let mut seen = HashSet::new();
    for kind in 1..grammar.kinds(class) {
        let marker = if !inflects_kind(class) {
            String::new()
        } else if random.chance(0.15) {
            markers[random.below(kind)].clone()
        } else {
            unused(&mut seen, random, |random, size| (0..1 + size).map(|_| syllable(random)).collect())
        };
        markers.push(marker);
    }
    markers
}

/// Distinct short endings.
fn pool(size: usize, random: &mut Random) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut make = |random: &mut Random| {
        unused(&mut seen, random, |random, size| {
            let mut ending = vowel(random).to_owned();
            for i in 0..size {
                ending.push_str(if i % 2 == 0 { consonant(random) } else { vowel(random) });
            }
            ending
        })
    };
    (0..size).map(|_| make(random)).collect()
}

/// A text that was not used before; `make` is asked for longer and longer ones when the short ones are used up.
fn unused(
    taken: &mut HashSet<String>,
    random: &mut Random,
    make: impl Fn(&mut Random, usize) -> String,
) -> String {
    let mut attempts = 0;
    loop {
        let text = make(random, attempts / 4);
        if taken.insert(text.clone()) {
            return text;
        }
        attempts += 1;
    }
}

/// A stem that no other lexeme has.
fn new_stem(count: usize, suffix: &str, taken: &mut HashSet<String>, random: &mut Random) -> String {
    unused(taken, random, |random, more| {
        let mut stem: String = (0..count + more).map(|_| syllable(random)).collect();
        stem.push_str(if suffix.is_empty() { consonant(random) } else { suffix });
        stem
    })
}

fn syllable(random: &mut Random) -> String {
    consonant(random).to_owned() + vowel(random)
}

fn consonant(random: &mut Random) -> &'static str {
    const CONSONANTS: [&str; 18] =
        ["t", "n", "s", "r", "l", "k", "d", "m", "p", "v", "b", "z", "h", "g", "st", "tr", "f", "sk"];
    CONSONANTS[random.below(CONSONANTS.len())]
}

fn vowel(random: &mut Random) -> &'static str {
    const VOWELS: [&str; 6] = ["a", "e", "o", "i", "u", "y"];
    VOWELS[random.below(VOWELS.len())]
}
