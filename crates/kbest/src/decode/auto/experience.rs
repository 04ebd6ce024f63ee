//! What `auto` learns from the times of earlier sequences.
//!
//! **What.** For each kind of sequence (the same edges, about the same length), the time per
//! position of every way to decode it: as planned, with one of the forward passes at once, or with the funnel at once.
//! Most sequences go the way that has been fastest; now and then another way is tried. **Why.** A plan guesses costs that
//! differ from one processor to the next, and on short sequences even the look ahead that it relies on takes a tenth of the
//! time. **Cost.** Trying is paid from an account into which every sequence pays a twentieth of its time, and less later
//! on; the clock is read so rarely that it takes about a hundredth. **When not.** Single sequences, and whoever wants the
//! same decoder to answer every time ([`crate::Scratch::learning`]): which way was fastest depends on the clock. The
//! paths do not.

use super::{Engines, Plan};
use crate::decode::ForwardPass;
use crate::kernel::Float;
use crate::lattice::Lattice;

/// A way to decode a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By the plan.
    Planned,
    /// With the engine that has this forward pass.
    Pass(ForwardPass),
    /// With the funnel, on a budget as large as the cost of the fallback, without a look ahead.
    Funnel,
}

const WAYS: [Way; 4] =
    [Way::Planned, Way::Pass(ForwardPass::Simd), Way::Pass(ForwardPass::Sparse), Way::Funnel];

/// Most kinds remembered; the oldest is forgotten.
const KINDS: usize = 8;

/// The share of the time that goes into trying other ways, at first and when each has been tried a few times.
const FIRST_SHARE: f64 = 1.0 / 20.0;
const LATER_SHARE: f64 = 1.0 / 64.0;
const FEW_TIMES: u32 = 4;

/// Nanoseconds that reading the clock twice may take, and the share of the time that may go into it.
const CLOCK: f64 = 80.0;
const CLOCK_SHARE: f64 = 1.0 / 100.0;

/// A way that is tried runs for this many nanoseconds before it is timed, because a decoder that has not run for a while is slow
/// at first.
const WARM_UP: f64 = 4000.0;

/// A try counts as at least so many times as slow, or ways that are as fast as the best would be tried all the time.
const LEAST_PRICE: f64 = 1.1;

/// Most sequences in a row that go one way.
const LONGEST_RUN: f64 = 64.0;

/// No processor takes less than this many nanoseconds for a vector step: a pass that would still be slower is not tried.
const LEAST_STEP: f64 = 0.2;

/// Another way must be faster than the plan by this factor, because a plan can tell easy sequences from hard ones.
const CLEARLY: f64 = 0.97;

/// Which sequences are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    edges: usize, // their address; if others are there now, the estimates soon change
    labels: usize,
    length: u32, // binary digits of the number of positions
    engines: Engines,
}

impl Key {
    pub(super) fn of<S: Float>(lattice: &Lattice<'_, S>, engines: Engines) -> Self {
        let length = usize::BITS - lattice.positions().leading_zeros();
        let edges = std::ptr::from_ref(lattice.edges()).addr();
        Key { edges, labels: lattice.labels(), length, engines }
    }
}

/// The time of one way.
#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    tried: u32,
    nanoseconds: f64, // per position
}

impl Estimate {
    fn add(&mut self, nanoseconds: f64) {
        self.nanoseconds = match self.tried {
            0 => nanoseconds,
            1 => self.nanoseconds.min(nanoseconds), // the first time, memory was new and caches were cold
            // Whatever else the machine did at that moment must not count for long.
            _ => self.nanoseconds + (nanoseconds.min(3.0 * self.nanoseconds) - self.nanoseconds) / 8.0,
        };
        self.tried = self.tried.saturating_add(1);
    }
}

/// What is known of one kind of sequence. It goes one way for a run of sequences; the last of them is timed.
#[derive(Debug)]
struct Kind {
    key: Key,
    plan: Plan,               // of the first sequence
    estimates: [Estimate; 4], // by way
    best: usize,              // the way that most sequences go
    way: usize,               // the way of this run
    run: u32,                 // its length
    left: u32,                // sequences of it to come
    account: f64,             // nanoseconds that may be spent on trying
}

impl Kind {
    fn new(key: Key, plan: Plan) -> Self {
        Kind {
            key,
            plan,
            estimates: [Estimate::default(); 4],
            best: 0,
            way: 0,
            run: 1,
            left: 1,
            account: 0.0,
        }
    }

    /// Whether a way might be the fastest.
    fn is_promising(&self, way: usize) -> bool {
        let engines = self.key.engines;
        let can_win = |pass| {
            let steps = self.plan.steps_of(pass);
            steps.is_some_and(|steps| steps as f64 * LEAST_STEP < self.estimates[self.best].nanoseconds)
        };
        match WAYS[way] {
            Way::Planned => true,
            Way::Pass(pass @ ForwardPass::Simd) => engines.viterbi_simd && can_win(pass),
            Way::Pass(pass @ ForwardPass::Sparse) => engines.viterbi_sparse && can_win(pass),
            Way::Funnel => engines.funnel,
        }
    }

    /// Takes down how long the last sequence of a run took, and begins the next run.
    fn record(&mut self, nanoseconds: f64, positions: usize) {
        let each = nanoseconds / positions as f64;
        let run = f64::from(self.run) * positions as f64;
        if self.way != self.best {
            self.account -= (each - self.estimates[self.best].nanoseconds).max(0.0) * run;
        }
        self.estimates[self.way].add(each);
        self.account += self.share() * each * run;
        self.best = self.fastest();
        let whole = self.estimates[self.best].nanoseconds * positions as f64;
        (self.way, self.run) = match self.to_try(whole) {
            Some(other) => other,
            None => (self.best, length_of_run(CLOCK / CLOCK_SHARE, whole)),
        };
        self.left = self.run;
    }

    /// The way that has been fastest.
    fn fastest(&self) -> usize {
        let time = |way: usize| self.estimates[way].nanoseconds;
        let known = (1..WAYS.len()).filter(|&way| self.estimates[way].tried > 1);
        let fastest = known.min_by(|&a, &b| time(a).total_cmp(&time(b)));
        fastest.filter(|&way| time(way) < CLEARLY * time(0)).unwrap_or(0)
    }

    /// The share of the time that may be spent on trying.
    fn share(&self) -> f64 {
        let is_new = |way| self.is_promising(way) && self.estimates[way].tried < FEW_TIMES;
        if (0..WAYS.len()).any(is_new) { FIRST_SHARE } else { LATER_SHARE }
    }

    /// Another way to try now, and for how many sequences, if there is one that the account can pay for: the one that was
    /// tried least, for its cost. `whole` is the time of a sequence.
    fn to_try(&self, whole: f64) -> Option<(usize, u32)> {
        let best = self.estimates[self.best].nanoseconds;
        let slower = |way: usize| match self.estimates[way].tried {
            0 => 2.0,
            1 => (self.estimates[way].nanoseconds / best).min(2.0), // known badly
            _ => self.estimates[way].nanoseconds / best,
        };
        let slower = |way: usize| slower(way).max(LEAST_PRICE);
        let weight = |way: usize| f64::from(self.estimates[way].tried) * slower(way);
        let others = (0..WAYS.len()).filter(|&way| way != self.best && self.is_promising(way));
        let way = others.min_by(|&a, &b| weight(a).total_cmp(&weight(b)))?;
        let run = length_of_run(WARM_UP, whole);
        (self.account >= (slower(way) - 1.0) * whole * f64::from(run)).then_some((way, run))
    }
}

/// So many sequences of `whole` nanoseconds take at least so long, within limits.
fn length_of_run(nanoseconds: f64, whole: f64) -> u32 {
    (nanoseconds / whole).clamp(1.0, LONGEST_RUN) as u32
}

/// Estimates for the kinds of sequences seen last.
#[derive(Debug, Default)]
pub(crate) struct Experience {
    kinds: Vec<Kind>,
    last: usize, // the kind of the last sequence
    next: usize, // where a new one goes
}

/// What to do with a sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) way: Way,
    /// Whether [`Experience::record`] wants the time.
    pub(super) timed: bool,
}

impl Experience {
    /// The way to go. `plan` is asked for if the kind is new.
    #[inline]
    pub(super) fn choose(&mut self, key: Key, plan: impl FnOnce() -> Plan) -> Choice {
        if self.kinds.get(self.last).is_none_or(|kind| kind.key != key) {
            self.last = self.find_or_add(key, plan);
        }
        let kind = &mut self.kinds[self.last];
        kind.left = kind.left.saturating_sub(1);
        Choice { way: WAYS[kind.way], timed: kind.left == 0 }
    }

    fn find_or_add(&mut self, key: Key, plan: impl FnOnce() -> Plan) -> usize {
        if let Some(found) = self.kinds.iter().position(|kind| kind.key == key) {
            return found;
        }
        let kind = Kind::new(key, plan());
        if self.kinds.len() < KINDS {
            self.kinds.push(kind);
            return self.kinds.len() - 1;
        }
        let place = self.next;
        self.kinds[place] = kind;
        self.next = (place + 1) % KINDS;
        place
    }

    /// The plan of the first sequence of the last kind.
    pub(super) fn plan(&self) -> &Plan {
        &self.kinds[self.last].plan
    }

    /// Takes down how long the last sequence took, if its time was wanted.
    pub(super) fn record(&mut self, nanoseconds: f64, positions: usize) {
        self.kinds[self.last].record(nanoseconds.max(1.0), positions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::auto::Facts;
    use crate::kernel::level;

    /// Facts of a matrix of so many labels.
    fn facts(labels: usize) -> Facts {
        Facts {
            positions: 10,
            labels,
            k: 1,
            exceptions: Some(labels * labels),
            class_pairs: 0,
            matrix_bytes: Some(4 * labels * labels),
            base_forbidden: false,
            level: level(),
        }
    }

    fn key(edges: usize, labels: usize) -> Key {
        Key { edges, labels, length: 4, engines: Engines::default() }
    }

    /// Sequences of 10 positions, whose way number `w` takes `costs[w]` nanoseconds. Returns how many went each way, and the
    /// nanoseconds of all.
    fn decode(experience: &mut Experience, key: Key, costs: [f64; 4], sequences: usize) -> ([usize; 4], f64) {
        let (mut gone, mut sum) = ([0; 4], 0.0);
        for _ in 0..sequences {
            let plan = || Plan::choose(facts(key.labels), key.engines);
            let choice = experience.choose(key, plan);
            let way = WAYS.iter().position(|&way| way == choice.way).unwrap();
            gone[way] += 1;
            sum += costs[way];
            if choice.timed {
                experience.record(costs[way], 10);
            }
        }
        (gone, sum)
    }

    const PLANNED: usize = 0;
    const SIMD: usize = 1;
    const FUNNEL: usize = 3;

    #[test]
    fn the_fastest_way_wins_and_trying_costs_little() {
        for costs in
            [[9e3, 1e4, 1e6, 2e4], [9e3, 7e3, 1e6, 2e4], [9e3, 1e4, 1e6, 3e3], [1.9e3, 1.7e3, 5e4, 9e3]]
        {
            let mut experience = Experience::default();
            decode(&mut experience, key(1, 100), costs, 500);
            let (gone, sum) = decode(&mut experience, key(1, 100), costs, 10_000);
            let best = (0..4).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap();
            assert!(gone[best] > 9_000, "{costs:?}: {gone:?}");
            assert!(sum < 1.05 * 10_000.0 * costs[best], "{costs:?}: {sum}");
        }
    }

    #[test]
    fn a_plan_is_left_only_for_something_clearly_faster() {
        let (gone, _) = decode(&mut Experience::default(), key(1, 100), [9e3, 8.9e3, 1e6, 8.9e3], 10_000);
        assert!(gone[PLANNED] > 9_000, "{gone:?}");
    }

    #[test]
    fn nothing_is_tried_before_it_is_paid_for() {
        let (gone, _) = decode(&mut Experience::default(), key(1, 100), [9e3, 1.0, 1.0, 1.0], 19);
        assert_eq!(gone, [19, 0, 0, 0]);
    }

    #[test]
    fn a_pass_that_cannot_be_faster_is_never_tried() {
        let (gone, _) = decode(&mut Experience::default(), key(1, 10_000), [9e3, 1.0, 1.0, 9e3], 10_000);
        assert_eq!((gone[SIMD], gone[2]), (0, 0), "{gone:?}");
        assert!(gone[FUNNEL] > 0, "{gone:?}");
    }

    #[test]
    fn what_is_switched_off_is_never_tried() {
        let engines = Engines { viterbi_simd: false, funnel: false, ..Engines::default() };
        let key = Key { engines, ..key(1, 100) };
        let (gone, _) = decode(&mut Experience::default(), key, [9e3, 1.0, 9e3, 1.0], 10_000);
        assert_eq!((gone[SIMD], gone[FUNNEL]), (0, 0), "{gone:?}");
    }

    /// What was learned is unlearned when sequences become different.
    #[test]
    fn times_change() {
        let mut experience = Experience::default();
        decode(&mut experience, key(1, 100), [9e3, 5e3, 1e6, 2e4], 10_000);
        decode(&mut experience, key(1, 100), [4e3, 5e3, 1e6, 2e3], 10_000);
        let (gone, _) = decode(&mut experience, key(1, 100), [4e3, 5e3, 1e6, 2e3], 1_000);
        assert!(gone[FUNNEL] > 900, "{gone:?}");
    }

    #[test]
    fn kinds_are_kept_apart_and_the_oldest_forgotten() {
        let mut experience = Experience::default();
        let (one, other) = ([9e3, 5e3, 1e6, 2e4], [9e3, 1e4, 1e6, 3e3]);
        for _ in 0..50 {
            decode(&mut experience, key(1, 100), one, 100);
            decode(&mut experience, key(2, 100), other, 100);
        }
        assert!(decode(&mut experience, key(1, 100), one, 100).0[SIMD] > 90);
        assert!(decode(&mut experience, key(2, 100), other, 100).0[FUNNEL] > 90);
        for edges in 3..3 + KINDS {
            decode(&mut experience, key(edges, 100), one, 1);
        }
        assert_eq!(experience.kinds.len(), KINDS);
        assert_eq!(decode(&mut experience, key(1, 100), one, 19).0, [19, 0, 0, 0], "begins anew");
    }
}
