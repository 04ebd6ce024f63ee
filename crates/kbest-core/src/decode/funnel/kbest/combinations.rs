//! How many paths lose at most how much, if the best path is changed at several positions.
//!
//! A *change* takes another label at a position, and the best way to it, which may change some labels before, too.
//! Changes with a label of the best path between them add up: none touches an edge that another one changes. So the
//! number of paths that lose at most a given amount is counted position by position, as in a knapsack: the paths with
//! no change ending here, and, for each change ending here, the paths whose changes all end before the unchanged label
//! before it, plus its loss:
//!
//! ```text
//! paths[t][s] = number of paths counted whose changes all end at t or before, and that lose s steps
//!             = paths[t - 1][s] + sum over the changes ending at t of  paths[t - length - 1][s - steps(loss)]
//! steps(loss) = loss * steps per loss, rounded up
//! ```
//!
//! **Cost.** One addition of a short array per change. Losses are rounded up to one of a few steps, so the counts are
//! never too large.

/// Number of steps up to the largest loss counted.
const STEPS: usize = 64;
const LAST: usize = STEPS - 1;

/// Numbers of paths by loss: no steps, one step, and so on. They saturate at 65,535.
type Counts = [u16; STEPS];

/// The same after as many zeros, so that a slice of it is the counts moved up by some steps.
type Shifted = [u16; 2 * STEPS];

/// The largest length of a change that is combined with others before it (measured: longer ones do not matter).
const LONGEST: usize = 3;

/// The count, position by position.
pub(super) struct Combinations {
    limit: f64, // the largest loss counted
    steps_per_loss: f64,
    best_only: Shifted,              // the best path
    earlier: [Shifted; LONGEST + 1], // with changes up to each of the last positions, in a ring
    oldest: usize,                   // index in the ring of the earliest position
    now: Counts,                     // up to this position
}

impl Combinations {
    /// Begins to count paths that lose at most `limit`.
    pub(super) fn within(limit: f64) -> Self {
        let (mut now, mut best_only) = ([0; STEPS], [0; 2 * STEPS]);
        (now[0], best_only[STEPS]) = (1, 1);
        let steps_per_loss = if limit > 0.0 { STEPS as f64 / limit } else { f64::INFINITY };
        Combinations { limit, steps_per_loss, best_only, earlier: [best_only; LONGEST + 1], oldest: 0, now }
    }

    /// Adds changes of up to `length` labels, the last of them at this position. One label before them stays unchanged,
    /// so they combine with changes up to `length + 1` positions before.
    #[inline(always)]
    pub(super) fn change(&mut self, losses: impl Iterator<Item = f64>, length: usize) {
        let with = match LONGEST.checked_sub(length) {
            Some(shorter) => &self.earlier[(self.oldest + shorter) % (LONGEST + 1)],
            None => &self.best_only,
        };
        let mut now = self.now; // a copy that stays in registers
        for loss in losses {
            // now[s] += with[s - step - 1]; beyond the last step, this adds zeros. No branch, as it could not be
            // predicted.
            let step = usize::from((loss * self.steps_per_loss).min(LAST as f64) as u8);
            let with = &with[LAST - step..][..STEPS];
            now.iter_mut().zip(with).for_each(|(now, &with)| *now = now.saturating_add(with));
        }
        self.now = now;
    }

    /// Goes on to the next position.
    #[inline(always)]
    pub(super) fn next_position(&mut self) {
        self.earlier[self.oldest][STEPS..].copy_from_slice(&self.now);
        self.oldest = (self.oldest + 1) % (LONGEST + 1);
    }

    /// A margin within which `k` paths lie, if there are that many.
    pub(super) fn margin(&self, k: usize) -> Option<f64> {
        let mut paths = 0;
        let enough = |&count: &u16| {
            paths += usize::from(count);
            paths >= k
        };
        let step = self.now.iter().position(enough)?;
        Some(self.limit * step as f64 / STEPS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_add_up_unless_they_are_neighbours() {
        let counted = |changes: &[(usize, f64, usize)]| {
            let mut paths = Combinations::within(64.0);
            for t in 0..8 {
                changes.iter().filter(|c| c.0 == t).for_each(|c| paths.change([c.1].into_iter(), c.2));
                paths.next_position();
            }
            paths
        };
        // The best path, two changes, and both of them.
        let apart = counted(&[(1, 10.0, 1), (3, 20.0, 1)]);
        assert_eq!([1, 2, 3, 4].map(|k| apart.margin(k)), [0.0, 11.0, 21.0, 32.0].map(Some));
        assert_eq!(apart.margin(5), None);
        // The same without both: neighbours, one that changes the label between them, too, or one of more than
        // `LONGEST`.
        let together =
            [[(2, 10.0, 1), (3, 20.0, 1)], [(1, 10.0, 1), (3, 20.0, 2)], [(1, 10.0, 1), (7, 20.0, 4)]];
        for changes in together {
            assert_eq!([3, 4].map(|k| counted(&changes).margin(k)), [Some(21.0), None]);
        }
        // A label between them stays unchanged.
        for changes in
            [[(1, 10.0, 4), (3, 20.0, 1)], [(1, 10.0, 1), (4, 20.0, 2)], [(3, 10.0, 1), (7, 20.0, 3)]]
        {
            assert_eq!(counted(&changes).margin(4), Some(32.0));
        }
        // Two at one position do not combine; losses beyond the margin do not count.
        assert_eq!(counted(&[(1, 10.0, 1), (1, 20.0, 1), (4, 65.0, 1)]).margin(4), None);
        let mut nothing = Combinations::within(0.0);
        nothing.change([0.0, 5.0].into_iter(), 1);
        assert_eq!(nothing.margin(2), None);
    }
}
