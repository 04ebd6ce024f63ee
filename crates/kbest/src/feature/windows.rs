//! Features by the cells they look at: each distinct cell, or pair of cells, is looked up once, for all windows.
//!
//! **What.** A feature of a [`Rule`] depends on nothing but a few cells: `w[-1]=the` and `suf3=ing` on one, word pairs on two.
//! Rules that look at the same cells, apart from where these are, form a [`Group`]: `w[-2]=`, `w[-1]=`, ..., `suf3=` and the
//! like are one, the pairs of a column are another. A thread's [`WindowMemory`] numbers the cells it sees, and keeps for each
//! cell (or pair, or more) the features of all rules of its group.
//!
//! **Why.** A word occurs in five windows of each of its occurrences, and text repeats its words: most features are found with
//! one look-up of a word instead of one hash of a string for each of them. Strings are built only for cells that are new.
//!
//! **Cost.** One look-up for each cell, one for each pair of cells; for new ones, a key and a look-up for each rule of the group,
//! in batches ([`Lookups`]). The memory is bounded: it is emptied between sequences once it holds [`REMEMBERED`]
//! numbers, or [`REMEMBERED_TEXT`] bytes of cells.

use super::lookups::{BATCH, Lookups, UNKNOWN};
use super::preset::{self, Preset};
use super::{Dictionary, FeatureId, FeatureSource};
use crate::sequence::Sequence;
use crate::template::{Part, Rule};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::intern::Interner;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// Features of this many rules are kept, known or not: with all else about a megabyte, and enough for the words of a few
/// thousand sentences.
const REMEMBERED: usize = 1 << 16;

/// Cells of this many bytes are kept.
const REMEMBERED_TEXT: usize = 1 << 22;

/// A rule that looks farther is expanded at every position instead.
const FARTHEST: isize = 16;

/// Numbers of pairs of cells, unlike those of cells, are at least this.
const PAIRS: u32 = 1 << 31;

/// The place of no feature.
const NOWHERE: u32 = 0;

/// All features that a position may have, and what they look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Windows {
    rules: Vec<Rule>,
    groups: Vec<Group>,
    places: Vec<Place>,  // of each rule
    columns: Vec<usize>, // that rules look at
    margin: usize,       // how far outside the sequence rules look
}

/// Rules that look at the same cells.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    cells: Option<Vec<Cell>>, // none for a single rule that looks at more than cells, or too far
    rules: Vec<usize>,
    first_rows: Vec<isize>, // of each rule: where its first cell is
}

/// A cell of a group: rows are counted from its first one, columns are places in `Windows::columns`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Cell {
    row: usize,
    column: usize,
}

/// Where the features of a rule are: those of position `t` are in its group's row `t + ahead`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    group: usize,
    ahead: usize,
    slot: u32,
}

impl Windows {
    /// The features of a source, if all are made by rules. `columns` is the number of columns in training.
    pub(super) fn of(source: &FeatureSource, columns: usize) -> Option<Self> {
        let (first_column, only_pairs) = match source {
            FeatureSource::Sum(sum) => (sum.first_column(), sum.only_word_pairs()),
            _ => (0, false),
        };
        let mut rules = Vec::new();
        for part in source.parts() {
            rules.extend(match part {
                FeatureSource::Template(template) => template.unigrams().to_vec(),
                FeatureSource::Preset(Preset::Words) if only_pairs => preset::word_pairs(),
                FeatureSource::Preset(Preset::Words) => preset::words(),
                FeatureSource::Preset(Preset::Columns) => preset::columns(first_column..columns),
                FeatureSource::Preset(Preset::Morphology) => preset::morphology(),
                _ => return None,
            });
        }
        Some(Self::new(rules))
    }

    fn new(rules: Vec<Rule>) -> Self {
        let mut windows = Windows {
            rules: Vec::new(),
            groups: Vec::new(),
            places: Vec::new(),
            columns: Vec::new(),
            margin: 0,
        };
        // A template may have a million lines: none of this looks at all groups, columns or rules of a group for each rule.
        let mut places_of_columns = HashMap::default();
        let mut groups_of_cells: HashMap<Vec<Cell>, usize, FixedState> = HashMap::default();
        for (number, rule) in rules.iter().enumerate() {
            let (cells, first_row) = windows.cells_of(rule, &mut places_of_columns);
            let next = windows.groups.len();
            let place = match &cells {
                Some(cells) => *groups_of_cells.entry(cells.clone()).or_insert(next),
                None => next,
            };
            if place == next {
                windows.groups.push(Group { cells, rules: Vec::new(), first_rows: Vec::new() });
            }
            let group = &mut windows.groups[place];
            windows.places.push(Place { group: place, ahead: 0, slot: group.rules.len() as u32 });
            group.rules.push(number);
            group.first_rows.push(first_row);
        }
        let least: Vec<isize> = windows.groups.iter().map(Group::least).collect();
        for place in &mut windows.places {
            let first_row = windows.groups[place.group].first_rows[place.slot as usize];
            place.ahead = (first_row - least[place.group]) as usize;
        }
        windows.rules = rules;
        windows
    }

    /// The cells that a rule looks at, the first of them at row 0, and where that is; no cells if it looks too far, or at more
    /// than cells.
    fn cells_of(
        &mut self,
        rule: &Rule,
        places: &mut HashMap<usize, usize, FixedState>, // of columns
    ) -> (Option<Vec<Cell>>, isize) {
        let mut cells: Vec<(isize, usize)> = Vec::new();
        for part in rule.parts() {
            match *part {
                Part::Text(_) => {}
                Part::Cell { row, column, .. } => cells.push((row, column)),
                Part::If { test, .. } if !test.looks_at_cell_alone() => return (None, 0),
                Part::If { row, .. } => cells.push((row, 0)),
            }
        }
        cells.sort_unstable();
        cells.dedup();
        if cells.iter().any(|&(row, _)| row.unsigned_abs() > FARTHEST.unsigned_abs()) {
            return (None, 0);
        }
        let first_row = cells.first().map_or(0, |&(row, _)| row);
        let cell = |(row, column): (isize, usize)| {
            self.margin = self.margin.max(row.unsigned_abs());
            let column = *places.entry(column).or_insert_with(|| {
                self.columns.push(column);
                self.columns.len() - 1
            });
            Cell { row: (row - first_row) as usize, column }
        };
        (Some(cells.into_iter().map(cell).collect()), first_row)
    }

    /// Visits the features of position `t`, one after the other in `key`.
    pub(super) fn visit(
        &self,
        sequence: &Sequence,
        t: usize,
        is_rare: &impl Fn(&str) -> bool,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8]),
    ) {
        for rule in &self.rules {
            key.clear();
            if rule.expand_at(sequence, t as isize, is_rare, key) {
                visit(key);
            }
        }
    }

    /// Calls `add(position's features)` for each position, in order: the numbers of the known features, in the order of the
    /// rules.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is more text than can be numbered.
    pub(super) fn extract(
        self: &Arc<Self>,
        dictionary: &Dictionary,
        sequence: &Sequence,
        is_rare: &impl Fn(&str) -> bool,
        memory: &mut WindowMemory,
        mut add: impl FnMut(&[FeatureId]),
    ) -> Result<()> {
        memory.begin(self);
        if let Err(error) = memory.number_cells(self, sequence) {
            *memory = WindowMemory::default(); // or the next sequence would meet what is too much
            return Err(error);
        }
        for number in 0..self.groups.len() {
            self.fill(number, dictionary, sequence, is_rare, memory);
        }
        dictionary.answer(&mut memory.lookups, &mut memory.ids);
        let WindowMemory { ids, groups, known, .. } = memory;
        known.resize(self.rules.len(), UNKNOWN);
        for t in 0..sequence.len() {
            let mut count = 0;
            for place in &self.places {
                let id = ids[(groups[place.group].rows[t + place.ahead] + place.slot) as usize];
                known[count] = id;
                count += usize::from(id != UNKNOWN); // no branch: which features are known is hard to predict
            }
            add(&known[..count]);
        }
        Ok(())
    }

    /// Finds the features of a group for all of its cells, or asks for them.
    fn fill(
        &self,
        number: usize,
        dictionary: &Dictionary,
        sequence: &Sequence,
        is_rare: &impl Fn(&str) -> bool,
        memory: &mut WindowMemory,
    ) {
        let group = &self.groups[number];
        let (least, most) = (group.least(), group.most());
        let mut rows = std::mem::take(&mut memory.groups[number].rows);
        rows.clear();
        for row in 0..sequence.len() + (most - least) as usize {
            let first = row as isize + least; // the position of the first cell
            let known = memory.find(group, number, (first + self.margin as isize) as usize);
            let start = match known {
                Found::Known(start) => start,
                Found::New(start) => {
                    memory.ids.resize(start as usize + group.rules.len(), UNKNOWN);
                    for (slot, (&rule, first_row)) in group.rules.iter().zip(&group.first_rows).enumerate() {
                        let rule = &self.rules[rule];
                        let t = first - first_row;
                        dictionary.ask(&mut memory.lookups, start as usize + slot, |key| {
                            rule.expand_at(sequence, t, is_rare, key)
                        });
                    }
                    if group.cells.is_none() && memory.lookups.asked_last() != Some(start as usize) {
                        memory.ids.truncate(start as usize); // no feature, and nothing to remember
                        rows.push(NOWHERE);
                        continue;
                    }
                    if memory.lookups.len() >= BATCH {
                        dictionary.answer(&mut memory.lookups, &mut memory.ids);
                    }
                    start
                }
            };
            rows.push(start);
        }
        memory.groups[number].rows = rows;
    }
}

impl Group {
    /// The least row of a first cell.
    fn least(&self) -> isize {
        self.first_rows.iter().copied().min().unwrap_or(0)
    }

    fn most(&self) -> isize {
        self.first_rows.iter().copied().max().unwrap_or(0)
    }
}

/// What one thread has seen. It belongs to one extractor; another one empties it.
#[derive(Debug, Default)]
pub(super) struct WindowMemory {
    owner: Option<Arc<Windows>>, // kept alive, so that no other can take its place
    texts: Interner,             // numbers of cells
    pairs: HashMap<(u32, u32), u32, FixedState>, // numbers of pairs, for groups of three cells and more
    ids: Vec<FeatureId>,         // by place
    groups: Vec<GroupMemory>,
    numbers: Vec<Vec<u32>>, // of the cells of this sequence, by column; also those outside, as far as rules look
    known: Vec<FeatureId>,  // of one position
    lookups: Lookups,
}

/// Where the features of a group begin: those of a cell or, for several cells, of a pair of numbers.
#[derive(Debug, Default)]
struct GroupMemory {
    of_cell: Vec<u32>, // by number; NOWHERE if not known
    of_pair: HashMap<(u32, u32), u32, FixedState>,
    rows: Vec<u32>, // of the cells of this sequence
}

enum Found {
    Known(u32),
    New(u32),
}

impl WindowMemory {
    /// Prepares for a sequence.
    fn begin(&mut self, owner: &Arc<Windows>) {
        let same = self.owner.as_ref().is_some_and(|known| Arc::ptr_eq(known, owner));
        let within = |times: usize| {
            self.ids.len() <= times * REMEMBERED && self.texts.bytes() <= times * REMEMBERED_TEXT
        };
        if same && within(1) {
            return;
        }
        if same && within(2) {
            // As large as it will be again.
            self.texts.clear();
            self.pairs.clear();
            self.ids.clear();
            for group in &mut self.groups {
                group.of_cell.clear();
                group.of_pair.clear();
            }
        } else {
            *self = WindowMemory { owner: Some(owner.clone()), ..WindowMemory::default() };
            self.groups.resize_with(owner.groups.len(), GroupMemory::default);
            self.numbers.resize_with(owner.columns.len(), Vec::new);
        }
        self.lookups.clear();
        self.ids.push(UNKNOWN); // NOWHERE
    }

    /// Numbers the cells of a sequence, and those around it.
    fn number_cells(&mut self, windows: &Windows, sequence: &Sequence) -> Result<()> {
        let too_much = || Error::shape("text of a sequence", "at most 2^32 bytes", "more");
        let margin = windows.margin;
        for (numbers, &column) in self.numbers.iter_mut().zip(&windows.columns) {
            numbers.clear();
            for at in 0..sequence.len() + 2 * margin {
                let inside = at.checked_sub(margin).filter(|&at| at < sequence.len());
                let number = match inside {
                    Some(at) => self.texts.insert(sequence.cell(at, column).unwrap_or("").as_bytes()),
                    // No cell is like these, which are not UTF-8.
                    None if at < margin => self.texts.insert(&[0xff, b'-', (margin - at) as u8]),
                    None => self.texts.insert(&[0xff, b'+', (at - margin - sequence.len()) as u8]),
                };
                numbers.push(number.ok_or_else(too_much)?);
            }
        }
        Ok(())
    }

    /// The place of a group's features for the cells from `at` on, counted from as far outside as rules look; a new place if
    /// they are not known.
    fn find(&mut self, group: &Group, number: usize, at: usize) -> Found {
        let new = self.ids.len() as u32;
        let number_of = |cell: &Cell| self.numbers[cell.column][at + cell.row];
        let memory = &mut self.groups[number];
        let place = match group.cells.as_deref() {
            None => return Found::New(new),
            Some([]) => {
                memory.of_cell.resize(1, NOWHERE);
                &mut memory.of_cell[0]
            }
            Some([cell]) => {
                let cell = number_of(cell) as usize;
                if cell >= memory.of_cell.len() {
                    memory.of_cell.resize(self.texts.len(), NOWHERE);
                }
                &mut memory.of_cell[cell]
            }
            Some([first, between @ .., last]) => {
                let mut so_far = number_of(first);
                for cell in between {
                    let next = PAIRS + self.pairs.len() as u32;
                    so_far = *self.pairs.entry((so_far, number_of(cell))).or_insert(next);
                }
                memory.of_pair.entry((so_far, number_of(last))).or_insert(NOWHERE)
            }
        };
        if *place == NOWHERE {
            *place = new;
            return Found::New(new);
        }
        Found::Known(*place)
    }
}

/// The memory of a buffer, once it has one. A copy begins with nothing: what is remembered can be found again.
#[derive(Debug, Default)]
pub(super) struct Remembered(pub(super) Option<Box<WindowMemory>>);

impl Clone for Remembered {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{ExtractorBuilder, FeatureBuffer};
    use crate::template::{Take, Template};
    use kbest_core::random::Random;

    /// Words that repeat, and some that look like positions outside the sequence.
    fn sequences(random: &mut Random, words: usize) -> Vec<Sequence> {
        const ODD: [&str; 8] = ["_B-1", "_B+1", "", "The", "Über-7", "USA", "1,000.5", "字"];
        let word = |random: &mut Random| match random.below(4) {
            0 => ODD[random.below(ODD.len())].to_owned(),
            _ => format!("word{}", random.below(words)),
        };
        let sequence = |_| {
            let mut sequence = Sequence::new();
            for _ in 0..random.below(7) {
                sequence.push([word(random), ["N", "V", "_B+2"][random.below(3)].to_owned()]);
            }
            sequence
        };
        (0..60).map(sequence).collect()
    }

    fn sources() -> Vec<FeatureSource> {
        let template = "U0:%x[-1,0]\nU1:%x[0,0]/%x[1,1]\nU2:%x[-2,1]/%x[-1,1]/%x[0,1]\nU3:%x[-1,1]/%x[0,1]/%x[1,1]\nU4\n\
                        U5:%x[0,0]%x[0,0]\nU6:%suffix[-1,0,3]\nU7:%prefix[1,0,2]%fold[0,0]\nU8:%x[-20,0]\nU9:%x[1,0]/%x[0,0]\n\
                        B1:%x[0,1]\nB\n";
        let template = FeatureSource::Template(Template::parse(template, "template").unwrap());
        let [words, columns, morphology, _] = Preset::NAMES.map(|(_, preset)| FeatureSource::Preset(preset));
        let sum = |parts: &[&FeatureSource]| FeatureSource::sum(parts.iter().copied().cloned()).unwrap();
        let sums = [sum(&[&words, &columns]), sum(&[&template, &morphology, &words, &columns])];
        [words, columns, morphology, template].into_iter().chain(sums).collect()
    }

    /// Extraction finds what the same rules made of each position by itself while training data was read.
    #[test]
    fn features_are_those_of_single_positions() {
        let mut random = Random::new(1);
        let mut buffer = FeatureBuffer::new(); // one for all extractors, each of which must not see what others remember
        for source in sources() {
            let mut builder = ExtractorBuilder::new(source.clone()).rare_up_to(2);
            let data = sequences(&mut random, 30);
            data.iter().for_each(|sequence| builder.count_words(sequence));
            let mut expected: Vec<FeatureBuffer> = Vec::new();
            for sequence in &data {
                let mut observed = FeatureBuffer::new();
                builder.observe(sequence, &mut observed).unwrap();
                expected.push(observed);
            }
            let frozen = builder.freeze(2); // so that some features are unknown
            for (sequence, expected) in data.iter().zip(&mut expected) {
                expected.renumber(&frozen.nodes, &frozen.edges);
                frozen.extractor.extract(sequence, &mut buffer).unwrap();
                assert_eq!(&buffer, expected, "{source:?}\n{sequence:?}");
            }
        }
    }

    /// Comparing each rule with all others would take minutes.
    #[test]
    fn a_long_template_is_divided_into_groups_in_one_pass() {
        const RULES: usize = 200_000;
        let cell = |row, column| Part::Cell { row, column, take: Take::Whole };
        let windows = |rule: &dyn Fn(usize) -> Part| {
            Windows::new((0..RULES).map(|number| Rule::made([rule(number)])).collect())
        };
        let same = windows(&|number| cell(number as isize % 3 - 1, 0));
        assert_eq!((same.groups.len(), same.columns.len(), same.margin), (1, 1, 1));
        let place = |number: usize| Place { group: 0, ahead: number % 3, slot: number as u32 };
        assert!(same.places.into_iter().eq((0..RULES).map(place)));
        let different = windows(&|number| cell(0, number));
        assert_eq!((different.groups.len(), different.columns.len()), (RULES, RULES));
        let far = windows(&|number| cell(FARTHEST + 1 + number as isize, 0));
        assert_eq!((far.groups.len(), far.columns.len(), far.margin), (RULES, 0, 0));
    }

    /// More words than are remembered.
    #[test]
    fn what_is_forgotten_is_found_again() {
        let mut random = Random::new(2);
        let mut builder = ExtractorBuilder::new(FeatureSource::Preset(Preset::Words));
        let mut buffer = FeatureBuffer::new();
        let sequence = |random: &mut Random| {
            Sequence::from_tokens((0..200).map(|_| format!("w{}", random.below(20_000))).collect::<Vec<_>>())
        };
        let data: Vec<Sequence> = (0..200).map(|_| sequence(&mut random)).collect();
        data.iter().for_each(|sequence| builder.observe(sequence, &mut buffer).unwrap());
        let extractor = builder.freeze(1).extractor;
        let mut largest = 0;
        for sequence in &data {
            extractor.extract(sequence, &mut buffer).unwrap();
            largest = largest.max(buffer.remembered.0.as_ref().unwrap().ids.len());
            let mut fresh = FeatureBuffer::new();
            extractor.extract(sequence, &mut fresh).unwrap();
            assert_eq!(buffer, fresh);
        }
        assert!(largest > REMEMBERED && largest < 2 * REMEMBERED, "{largest}");
    }

    /// Few cells, each of which is a megabyte long.
    #[test]
    fn long_cells_are_not_kept() {
        let template = Template::parse("U0:%x[0,0]\n", "template").unwrap();
        let mut builder = ExtractorBuilder::new(FeatureSource::Template(template));
        let mut buffer = FeatureBuffer::new();
        let data: Vec<Sequence> =
            (0..20).map(|i| Sequence::from_tokens([format!("{i}").repeat(1 << 20)])).collect();
        builder.observe(&data[7], &mut buffer).unwrap();
        let extractor = builder.freeze(1).extractor;
        for (i, sequence) in data.iter().enumerate() {
            extractor.extract(sequence, &mut buffer).unwrap();
            assert_eq!(buffer.nodes(0).len(), usize::from(i == 7));
            let text = buffer.remembered.0.as_ref().unwrap().texts.bytes();
            assert!(text < REMEMBERED_TEXT + (4 << 20), "{text}");
        }
    }
}
