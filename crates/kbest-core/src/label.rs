//! Labels are numbers below `L`; their names belong to the model.
//!
//! While training data is read, a [`LabelSetBuilder`] numbers names in the order they occur;
//! [`LabelSetBuilder::freeze`] then fixes the numbers in the requested order. A frozen [`LabelSet`] only translates.
//!
//! ```
//! use kbest_core::{LabelOrder, LabelSetBuilder};
//! let mut builder = LabelSetBuilder::new();
//! let seen: Vec<_> = ["NOUN", "VERB", "ADP", "NOUN"].map(|name| builder.add(name)).to_vec();
//! let (labels, new_ids) = builder.freeze(LabelOrder::Sorted);
//! assert_eq!(labels.names().collect::<Vec<_>>(), ["ADP", "NOUN", "VERB"]);
//! assert_eq!(labels.name(new_ids[seen[1] as usize]), Some("VERB"));
//! assert_eq!(labels.id("PRON"), None);
//! ```

use crate::intern::Interner;

/// A label: an index below the number of labels `L`.
pub type LabelId = u32;

/// How labels are numbered when a set is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LabelOrder {
    /// By the bytes of their names, as CRF++ does.
    Sorted,
    /// In the order they were first seen, as CRFsuite and Wapiti do.
    #[default]
    FirstSeen,
    /// Most frequent first, ties in the order they were first seen. Best for decoders that start with a few labels and
    /// add others where needed ([`Staggered`](crate::decode::Staggered)).
    Frequency,
}

/// Label names being collected.
#[derive(Debug, Clone, Default)]
pub struct LabelSetBuilder {
    names: Interner,
    counts: Vec<u64>, // by number: how often the name was added
}

impl LabelSetBuilder {
    /// No labels yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The provisional number of a name, valid until the set is frozen: the next free number if the name is new.
    ///
    /// # Panics
    /// If there are more than four billion labels.
    pub fn add(&mut self, name: &str) -> LabelId {
        self.add_times(name, 1)
    }

    /// The same for a name that occurs several times.
    ///
    /// # Panics
    /// As [`LabelSetBuilder::add`].
    pub fn add_times(&mut self, name: &str, times: u64) -> LabelId {
        let id = self.names.insert(name.as_bytes()).expect("fewer than 2^32 labels");
        if self.counts.len() < self.len() {
            self.counts.push(0);
        }
        self.counts[id as usize] = self.counts[id as usize].saturating_add(times);
        id
    }

    /// Number of names so far.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if no name has been added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names so far, by number.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.keys().iter().map(as_name)
    }

    /// All names so far, by number, and how often each was added.
    pub fn counted(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.names().zip(self.counts.iter().copied())
    }

    /// Fixes the numbers; the second part maps each provisional number to the final one.
    pub fn freeze(mut self, order: LabelOrder) -> (LabelSet, Vec<LabelId>) {
        let mut new_ids: Vec<LabelId> = (0..self.len() as LabelId).collect();
        if order != LabelOrder::FirstSeen {
            let keys = self.names.keys();
            let mut sorted = new_ids.clone();
            // Stable, so that ties keep the order in which they were first seen.
            sorted.sort_by(|&a, &b| match order {
                LabelOrder::Sorted => keys.at(a).cmp(keys.at(b)),
                LabelOrder::Frequency => self.counts[b as usize].cmp(&self.counts[a as usize]),
                LabelOrder::FirstSeen => a.cmp(&b),
            });
            let mut names = Interner::default();
            for (new_id, old_id) in (0..).zip(sorted) {
                names.insert(keys.at(old_id));
                new_ids[old_id as usize] = new_id;
            }
            self.names = names;
        }
        self.names.shrink();
        (LabelSet { names: self.names }, new_ids)
    }
}

/// Label names with fixed numbers.
#[derive(Debug, Clone, Default)]
pub struct LabelSet {
    names: Interner,
}

impl LabelSet {
    /// The names in the given order; repeated names are skipped.
    pub fn from_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        let mut builder = LabelSetBuilder::new();
        for name in names {
            builder.add(name.as_ref());
        }
        builder.freeze(LabelOrder::FirstSeen).0
    }

    /// Number of labels `L`.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True if there are no labels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a name.
    pub fn id(&self, name: &str) -> Option<LabelId> {
        self.names.keys().find(name.as_bytes())
    }

    /// The name of the label with this number.
    pub fn name(&self, id: LabelId) -> Option<&str> {
        self.names.keys().get(id).map(as_name)
    }

    /// All names, by number.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.keys().iter().map(as_name)
    }
}

impl PartialEq for LabelSet {
    fn eq(&self, other: &Self) -> bool {
        self.names().eq(other.names())
    }
}

impl Eq for LabelSet {}

fn as_name(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("only valid UTF-8 is ever added")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders() {
        let names = ["O", "B-NP", "I-NP", "b", "Ä", "B-NP", "O", "Ä", "Ä"];
        let mut builder = LabelSetBuilder::new();
        let ids: Vec<_> = names.iter().map(|name| builder.add(name)).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 1, 0, 4, 4]);
        for order in [LabelOrder::Sorted, LabelOrder::FirstSeen, LabelOrder::Frequency] {
            let (set, new_ids) = builder.clone().freeze(order);
            assert_eq!(set.len(), 5);
            for (name, &id) in names.iter().zip(&ids) {
                assert_eq!(set.name(new_ids[id as usize]), Some(*name));
                assert_eq!(set.id(name), Some(new_ids[id as usize]));
            }
            let listed: Vec<_> = set.names().collect();
            match order {
                LabelOrder::Sorted => assert_eq!(listed, ["B-NP", "I-NP", "O", "b", "Ä"]),
                LabelOrder::FirstSeen => assert_eq!(listed, ["O", "B-NP", "I-NP", "b", "Ä"]),
                LabelOrder::Frequency => assert_eq!(listed, ["Ä", "O", "B-NP", "I-NP", "b"]),
            }
            assert_eq!(set, LabelSet::from_names(listed));
            assert_eq!((set.id("P"), set.name(5)), (None, None));
        }
    }
}
