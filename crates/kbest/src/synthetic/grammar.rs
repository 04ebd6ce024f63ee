//! Word classes, their categories, and how they add up to exactly `L` labels.
//!
//! Case, number and gender are shared by all classes that agree; how many values they have depends on `L`. Further
//! distinctions of a class are its *kind* (declension, tense, degree), and kinds fill up the class: its label for kind
//! `k` and the `b`-th of `B` combinations has number `k B + b`, up to the size given to the class. So the last kind may
//! lack some combinations; these use the label of the kind before.

use super::MOST_LABELS;
use kbest_core::{Error, Result};

/// Parts of speech, in the order in which they are introduced as the number of labels grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Noun,
    Verb,
    Determiner,
    Adjective,
    Preposition,
    Adverb,
    Pronoun,
    Conjunction,
    Punctuation,
}

impl Class {
    pub(super) const ALL: [Class; 9] = [
        Class::Noun,
        Class::Verb,
        Class::Determiner,
        Class::Adjective,
        Class::Preposition,
        Class::Adverb,
        Class::Pronoun,
        Class::Conjunction,
        Class::Punctuation,
    ];

    fn name(self) -> &'static str {
        match self {
            Class::Noun => "Noun",
            Class::Verb => "Verb",
            Class::Determiner => "Det",
            Class::Adjective => "Adj",
            Class::Preposition => "Prep",
            Class::Adverb => "Adv",
            Class::Pronoun => "Pron",
            Class::Conjunction => "Conj",
            Class::Punctuation => "Punct",
        }
    }

    /// Its share of the labels in percent, and its maximum; nouns take the rest.
    fn share(self) -> (usize, usize) {
        match self {
            Class::Noun => (0, 0),
            Class::Verb => (22, usize::MAX),
            Class::Determiner => (12, usize::MAX),
            Class::Adjective => (24, usize::MAX),
            Class::Preposition => (3, 40),
            Class::Adverb => (2, 20),
            Class::Pronoun => (10, usize::MAX),
            Class::Conjunction => (1, 8),
            Class::Punctuation => (1, super::lexicon::MARKS.len() - 1),
        }
    }

    /// Which of case, number and gender it shows.
    fn shows(self) -> [bool; 3] {
        match self {
            Class::Noun | Class::Determiner | Class::Adjective | Class::Pronoun => [true, true, true],
            Class::Verb => [false, true, true],
            Class::Preposition => [true, false, false],
            Class::Adverb | Class::Conjunction | Class::Punctuation => [false; 3],
        }
    }

    /// The categories that its kinds encode: the first one's name and number of values, then the name of the rest.
    fn kind_names(self) -> (&'static str, usize, &'static str) {
        match self {
            Class::Verb => ("Tense", 6, "Mood"),
            Class::Adjective | Class::Adverb => ("Degree", 3, "Kind"),
            Class::Pronoun => ("Person", 3, "Kind"),
            _ => ("Kind", usize::MAX, ""),
        }
    }
}

/// Case, number and gender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Agreement {
    pub case: usize,
    pub number: usize,
    pub gender: usize,
}

/// The meaning of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub class: Class,
    pub agreement: Agreement,
    pub kind: usize,
}

/// The labels of one class.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    first: usize,
    labels: usize,
    combinations: usize,
}

/// Numbers of cases, numbers and genders, from simple to rich.
const SYSTEMS: [[usize; 3]; 16] = [
    [1, 1, 1],
    [1, 2, 1],
    [2, 2, 1],
    [3, 2, 1],
    [2, 2, 2],
    [3, 2, 2],
    [4, 2, 2],
    [4, 2, 3],
    [5, 2, 3],
    [6, 2, 3],
    [7, 2, 4],
    [7, 3, 4],
    [10, 3, 4],
    [12, 3, 5],
    [15, 3, 5],
    [16, 3, 6],
];

/// The labels of a language.
#[derive(Debug)]
pub(super) struct Grammar {
    system: [usize; 3], // cases, numbers, genders
    shares: [Share; Class::ALL.len()],
    cells: Vec<Cell>, // by label
}

impl Grammar {
    pub(super) fn new(labels: usize) -> Result<Self> {
        if !(2..=MOST_LABELS).contains(&labels) {
            return Err(Error::argument(
                "labels of a synthetic language",
                format!("2 to {MOST_LABELS}"),
                labels,
            ));
        }
        let sizes = sizes(labels);
        let fits = |system: &[usize; 3]| {
            Class::ALL
                .iter()
                .zip(sizes)
                .all(|(&class, size)| size == 0 || combinations(class, system) <= size)
        };
        let system = SYSTEMS.into_iter().rev().find(fits).unwrap_or(SYSTEMS[0]);
        let mut shares = [Share::default(); Class::ALL.len()];
        let mut cells = Vec::with_capacity(labels);
        for (class, size) in Class::ALL.into_iter().zip(sizes) {
            let combinations = combinations(class, &system);
            shares[class as usize] = Share { first: cells.len(), labels: size, combinations };
            cells.extend((0..size).map(|i| Cell {
                class,
                agreement: combination(class, &system, i % combinations),
                kind: i / combinations,
            }));
        }
        Ok(Grammar { system, shares, cells })
    }

    /// The meaning of each label.
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether the language has this class at all.
    pub(super) fn has(&self, class: Class) -> bool {
        self.shares[class as usize].labels > 0
    }

    pub(super) fn cases(&self) -> usize {
        self.system[0]
    }

    pub(super) fn numbers(&self) -> usize {
        self.system[1]
    }

    pub(super) fn genders(&self) -> usize {
        self.system[2]
    }

    /// Number of kinds of a class, at least one.
    pub(super) fn kinds(&self, class: Class) -> usize {
        let share = &self.shares[class as usize];
        share.labels.div_ceil(share.combinations).max(1)
    }

    /// The label of a word; the language must have its class.
    pub(super) fn label(&self, cell: Cell) -> usize {
        let share = &self.shares[cell.class as usize];
        let combination = index(cell.class, &self.system, cell.agreement);
        let mut inside = cell.kind * share.combinations + combination;
        while inside >= share.labels {
            inside -= share.combinations;
        }
        share.first + inside
    }

    /// Its name: `Noun|Case=2|Num=0|Gen=1|Kind=3`, without categories that have only one value.
    pub(super) fn name(&self, cell: Cell) -> String {
        let mut name = cell.class.name().to_owned();
        let Agreement { case, number, gender } = cell.agreement;
        let mut add = |category: &str, value: usize| name.push_str(&format!("|{category}={value}"));
        let shared = [("Case", case), ("Num", number), ("Gen", gender)];
        for ((category, value), (values, shows)) in
            shared.into_iter().zip(self.system.into_iter().zip(cell.class.shows()))
        {
            if shows && values > 1 {
                add(category, value);
            }
        }
        let kinds = self.kinds(cell.class);
        let (first, values, second) = cell.class.kind_names();
        if kinds > 1 {
            add(first, cell.kind % values);
        }
        if kinds > values {
            add(second, cell.kind / values);
        }
        name
    }
}

/// How many labels each class gets: one each while they last, the rest by share.
fn sizes(labels: usize) -> [usize; Class::ALL.len()] {
    let mut sizes = [0; Class::ALL.len()];
    let classes = labels.min(sizes.len());
    let rest = labels - classes;
    let mut given = 0;
    for class in Class::ALL.into_iter().take(classes) {
        let (percent, most) = class.share();
        let more = (rest * percent / 100).min(most);
        sizes[class as usize] = 1 + more;
        given += more;
    }
    sizes[Class::Noun as usize] += rest - given;
    sizes
}

/// Number of combinations of case, number and gender that a class shows.
fn combinations(class: Class, system: &[usize; 3]) -> usize {
    system.iter().zip(class.shows()).map(|(&values, shows)| if shows { values } else { 1 }).product()
}

fn index(class: Class, system: &[usize; 3], agreement: Agreement) -> usize {
    let values = [agreement.case, agreement.number, agreement.gender];
    let mut index = 0;
    for i in 0..3 {
        if class.shows()[i] {
            index = index * system[i] + values[i];
        }
    }
    index
}

/// The inverse; categories that the class does not show are 0.
fn combination(class: Class, system: &[usize; 3], mut index: usize) -> Agreement {
    let mut values = [0; 3];
    for i in (0..3).rev() {
        if class.shows()[i] {
            values[i] = index % system[i];
            index /= system[i];
        }
    }
    Agreement { case: values[0], number: values[1], gender: values[2] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn exactly_as_many_labels_as_asked_for() {
        for labels in (2..300).chain([500, 999, 1000, 1700, 5000, 9_999, 10_000]) {
            let grammar = Grammar::new(labels).unwrap();
            assert_eq!(grammar.cells().len(), labels);
            let names: HashSet<String> = grammar.cells().iter().map(|&cell| grammar.name(cell)).collect();
            assert_eq!(names.len(), labels, "names are distinct");
            for (y, &cell) in grammar.cells().iter().enumerate() {
                assert_eq!(grammar.label(cell), y);
            }
        }
        assert!(Grammar::new(1).is_err() && Grammar::new(10_001).is_err());
    }

    #[test]
    fn richer_with_more_labels() {
        let system = |labels| Grammar::new(labels).unwrap().system;
        assert_eq!(
            (system(9), system(100), system(1000), system(10_000)),
            ([1; 3], [2, 2, 2], [7, 3, 4], [16, 3, 6])
        );
    }
}
