//! Scores of tokens that come again, remembered within a limit.
//!
//! What is remembered is not the row of the kernel (`S` values) but what it is needed for, `b(·, x)` (`L` values): shorter, and
//! the sums over coefficients are saved as well. Two generations: when the younger is full, the older is dropped, and what was
//! asked for again moves to the younger, so that frequent tokens stay. The scores are the same bits either way.

use crate::feature::FeatureId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::sync::Arc;

/// Bytes for one thread's tokens and scores.
const LIMIT: usize = 16 << 20;

/// What an entry takes besides its numbers, roughly: two pointers with lengths, and their share of the table and the heap.
const OVERHEAD: usize = 96;

/// A vector, with the bits of its values.
type Key = Box<[(FeatureId, u32)]>;
type Generation = HashMap<Key, Box<[f32]>, FixedState>;

/// Scores by token, of one model.
#[derive(Debug)]
pub(super) struct Remembered {
    model: Option<Arc<()>>, // whose scores these are; kept alive, so that no other can take its place
    young: Generation,
    old: Generation,
    bytes: usize, // of the younger generation
    limit: usize,
    key: Vec<(FeatureId, u32)>, // what was asked for last
}

impl Default for Remembered {
    fn default() -> Self {
        Self::within(LIMIT)
    }
}

impl Remembered {
    fn within(limit: usize) -> Self {
        let (young, old) = (Generation::default(), Generation::default());
        Remembered { model: None, young, old, bytes: 0, limit, key: Vec::new() }
    }

    /// From now on scores of this model: those of another are forgotten.
    pub(super) fn of(&mut self, model: &Arc<()>) {
        if !self.model.as_ref().is_some_and(|known| Arc::ptr_eq(known, model)) {
            *self = Self::within(self.limit);
            self.model = Some(model.clone());
        }
    }

    /// Writes the scores of a token if they are remembered.
    pub(super) fn recall(&mut self, token: &[(FeatureId, f32)], scores: &mut [f32]) -> bool {
        self.key.clear();
        self.key.extend(token.iter().map(|&(id, value)| (id, value.to_bits())));
        if let Some(known) = self.young.get(&self.key[..]) {
            scores.copy_from_slice(known);
            return true;
        }
        let Some((key, known)) = self.old.remove_entry(&self.key[..]) else { return false };
        scores.copy_from_slice(&known);
        self.insert(key, known);
        true
    }

    /// Remembers the scores of the token that was asked for last.
    pub(super) fn remember(&mut self, scores: &[f32]) {
        self.insert(self.key.as_slice().into(), scores.into());
    }

    fn insert(&mut self, key: Key, scores: Box<[f32]>) {
        let bytes = size_of_val(&*key) + size_of_val(&*scores) + OVERHEAD;
        if self.bytes + bytes > self.limit / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        if bytes <= self.limit / 2 {
            self.bytes += bytes;
            self.young.insert(key, scores);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(memory: &mut Remembered, token: u32) -> bool {
        let mut scores = [0.0; 2];
        let known = memory.recall(&[(token, 0.5)], &mut scores);
        if known {
            assert_eq!(scores, [token as f32, 1.0]);
        } else {
            memory.remember(&[token as f32, 1.0]);
        }
        known
    }

    #[test]
    fn the_limit_is_kept_and_frequent_tokens_stay() {
        let mut memory = Remembered::within(20 * (OVERHEAD + 16));
        memory.of(&Arc::new(()));
        assert!(!ask(&mut memory, 0));
        for token in 1..200 {
            assert!(!ask(&mut memory, token));
            assert!(ask(&mut memory, token));
            assert!(ask(&mut memory, 0), "asked for all the time");
            assert!(memory.len() <= 20, "{}", memory.len());
        }
        assert!(!ask(&mut memory, 1), "long ago");
    }

    #[test]
    fn another_model_has_other_scores_and_another_value_is_another_token() {
        let mut memory = Remembered::default();
        let (one, other) = (Arc::new(()), Arc::new(()));
        memory.of(&one);
        ask(&mut memory, 3);
        assert!(!memory.recall(&[(3, 0.25)], &mut [0.0; 2]));
        memory.of(&one);
        assert!(ask(&mut memory, 3));
        memory.of(&other);
        assert!(!ask(&mut memory, 3));
    }

    #[test]
    fn what_exceeds_the_limit_alone_is_not_kept() {
        let mut memory = Remembered::within(10);
        assert!(!ask(&mut memory, 1) && !ask(&mut memory, 1));
        assert_eq!(memory.len(), 0);
    }
}
