//! What `auto` learns from the times of earlier sequences.
//!
//! **What.** For each kind of sequence (the same edges, about the same length, the same number of paths), the time per
//! position of every way to decode it: as planned, with the funnel at once, or with one of the forward passes at once. Most
//! sequences go the way that has been fastest; now and then another way is tried. Where the funnel gives up, the time of the pass that
//! goes on is known without a try. **Why.** A plan guesses costs that differ
//! from one processor to the next, and on short sequences even the look ahead that it relies on takes a tenth of the time.
//! **Cost.** Trying is paid from an account into which every sequence pays one twenty-fifth of its time at first, and far less later on; the
//! clock is read so rarely that it takes one two-hundredth. Memory: that of every engine tried. **When not.** Single sequences, and whoever wants the same decoder to answer
//! every time ([`crate::Scratch::planned`]): which way was fastest depends on the clock. The paths do not.

use super::plan::STEP;
use super::{Engines, Facts, Plan};
use crate::decode::ForwardPass;
use crate::lattice::{Lattice, Shape};
use crate::simd::Float;

/// A way to decode a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By the plan.
    Planned,
    /// With the funnel, on a large budget, without a look ahead.
    Funnel,
    /// With the engine that has this forward pass.
    Pass(ForwardPass),
}

const WAYS: [Way; 5] = [
    Way::Planned,
    Way::Funnel,
    Way::Pass(ForwardPass::Simd),
    Way::Pass(ForwardPass::Sparse),
    Way::Pass(ForwardPass::Sieve),
];

/// With fewer labels, the funnel is not tried for one path.
const LEAST_OPENED: usize = 16;

/// Most kinds remembered; the oldest is forgotten.
const KINDS: usize = 8;

/// Plans that a kind keeps: making one takes about as long as two positions of an easy sequence.
const PLANS: usize = 16;

/// The share of the time that goes into trying other ways, at first and when each has been tried a few times.
const FIRST_SHARE: f64 = 1.0 / 25.0;
const LATER_SHARE: f64 = 1.0 / 200.0;
const FEW_TIMES: u32 = 4;

/// A way that takes so many times as long as the best is hopeless: two tries are enough at first.
const HOPELESS: f64 = 4.0;

/// A way that takes less than so many times as long may still be the best, until so many sequences have been timed: one is easier than
/// another, and one that is tried finds its data in farther caches.
const CLOSE: f64 = 1.5;
const ENOUGH: f64 = 16.0;

/// The account never holds more than the time of this many runs, nor less than minus that.
const MOST_RUNS: f64 = 50.0;

/// Nanoseconds that reading the clock twice and taking down the time may take, and the share of the time that may go into it.
const CLOCK: f64 = 160.0;
const CLOCK_SHARE: f64 = 1.0 / 200.0;

/// A way that is tried runs for about this many nanoseconds, longer if it is close to the best, and up to 16 of the second half of its
/// sequences are timed: a decoder that has not run for a while is slower by a tenth until the processor knows its branches again.
const WARM_UP: f64 = 40_000.0;
const LONG_WARM_UP: f64 = 160_000.0;

/// A try counts as at least so many times as slow, or ways that are as fast as the best would be tried all the time.
const LEAST_PRICE: f64 = 1.25;

/// Most sequences in a row that go one way.
const LONGEST_RUN: f64 = 128.0;

/// Nanoseconds that a step of the plan's estimates takes at least, and usually: a pass that would be slower even with the first is
/// not tried, and a first try is expected to cost the second.
const LEAST_STEP: f64 = 0.3;
const USUAL_STEP: f64 = STEP;

/// So many labels for each row that matters are expected of a pass that has not been tried.
const USUAL_LABELS: usize = 32;

/// A sequence that takes so many times as long as others counts as if it took only that.
const LONGEST: f64 = 3.0;

/// An estimate is the mean of about so many sequences, the latest; those timed together make up at most this share of it.
const MEMORY: f64 = 32.0;
const MOST_NEW: f64 = 0.5;

/// If a try takes so many times less than expected, the mean begins anew, half of it new: whatever slowed down earlier tries is over, say rows of edges
/// that had to be written out first. (Not for the way that most sequences go: there it is just an easy sequence, and the mean would be too low.)
const FAR_FASTER: f64 = 1.5;

/// Another way must be faster than the plan by this factor, because a plan can tell easy sequences from hard ones.
const CLEARLY: f64 = 0.97;

/// Which sequences are alike. Made for every sequence, so only of what is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    edges: usize, // their address; if others like them are there now, the estimates soon change
    likeness: (u8, usize), // which shape they have, and roughly how many exceptions, in which others, or changed ones, are unlike them
    labels: usize,
    positions: usize, // rounded up to a power of two
    k: usize,
    engines: Engines,
}

impl Key {
    #[inline]
    pub(super) fn of<S: Float>(lattice: &Lattice<'_, S>, k: usize, engines: Engines) -> Self {
        let edges = std::ptr::from_ref(lattice.edges()).addr();
        let likeness = match lattice.edges().shape() {
            Shape::Dense(edges) => (0, edges.exceptions().next_power_of_two()),
            Shape::Sparse(edges) => (1, edges.exceptions().next_power_of_two()),
            Shape::PerPosition(edges) => (2, edges.matrices().len()),
            Shape::Callback(_) => (3, 0),
        };
        let positions = lattice.positions().next_power_of_two();
        Key { edges, likeness, labels: lattice.labels(), positions, k, engines }
    }
}

/// The time of one way.
#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    tried: u32,
    nanoseconds: f64, // per position
    sequences: f64,   // that count in it
}

impl Estimate {
    /// Takes in the mean time per position of some sequences.
    fn add(&mut self, nanoseconds: f64, sequences: f64) {
        // The first time, memory was new and caches were cold.
        if self.tried == 0 || self.tried == 1 && nanoseconds < self.nanoseconds {
            (self.nanoseconds, self.sequences) = (nanoseconds, sequences);
        } else {
            self.sequences = (self.sequences + sequences).min(MEMORY);
            // Whatever else the machine did at that moment must not count for long.
            let change = nanoseconds.min(LONGEST * self.nanoseconds) - self.nanoseconds;
            self.nanoseconds += change * (sequences / self.sequences).min(MOST_NEW);
        }
        self.tried = self.tried.saturating_add(1);
    }

    /// The same for a try.
    fn add_try(&mut self, nanoseconds: f64, sequences: f64) {
        if FAR_FASTER * nanoseconds < self.nanoseconds {
            self.sequences = self.sequences.min(sequences);
        }
        self.add(nanoseconds, sequences);
    }
}

/// What facts tell of a way before it is tried: nanoseconds per position.
#[derive(Debug, Clone, Copy)]
struct Prospect {
    least: f64, // infinite if the way is not open, or nothing is known
    usual: f64, // 0 for ways that are no pass: they may cost anything
}

impl Prospect {
    fn of(way: Way, facts: Facts, engines: Engines) -> Self {
        let never = Prospect { least: f64::INFINITY, usual: f64::INFINITY };
        let always = Prospect { least: 0.0, usual: 0.0 };
        let pass = match way {
            Way::Planned => return always,
            Way::Funnel => {
                let enough = facts.k > 1 || facts.labels >= LEAST_OPENED;
                return if engines.funnel && enough && !facts.wants_most_paths() { always } else { never };
            }
            Way::Pass(pass) => pass,
        };
        let is_on = engines.passes().any(|on| on == pass) && (facts.k == 1 || engines.recursive_enumeration);
        let (Some(cost), true) = (facts.cost_of(pass), is_on && facts.exceptions.is_some()) else {
            return never; // what computed edges cost is not known
        };
        // The lists of a matrix would stay: four times its memory.
        let doubled = facts.cost_of(ForwardPass::Simd).map(|simd| 2 * simd.most);
        if pass == ForwardPass::Sparse && facts.matrix_bytes.is_some() && Some(cost.most) >= doubled {
            return never;
        }
        let usual = cost.plus(facts.further_steps()).cost(facts.labels / USUAL_LABELS);
        Prospect { least: cost.least as f64 * LEAST_STEP, usual: usual as f64 * USUAL_STEP }
    }
}

/// The time that some sequences took together, and the sum of the times per position of passes that went on where the funnel gave up.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    nanoseconds: f64,
    positions: usize,
    pass: Option<ForwardPass>,
    beside: f64,
    passes: f64, // how many
}

/// What is known of one kind of sequence. It goes one way for a run of sequences; the last of them is timed, or several are.
#[derive(Debug)]
struct Kind {
    key: Key,
    facts: Facts,
    plans: [Plan; PLANS],              // by number of positions, modulo their number
    prospects: [Prospect; WAYS.len()], // by way
    estimates: [Estimate; WAYS.len()], // by way
    best: usize,                       // the way that most sequences go
    way: usize,                        // the way of this run
    run: u32,                          // its length
    left: u32,                         // sequences of it to come
    timed: u32,                        // how many of its last sequences are timed
    times: Times,                      // of those that have been
    fastest_pass: f64,                 // nanoseconds per position that the fastest pass takes, or 0
    account: f64,                      // nanoseconds that may be spent on trying
}

impl Kind {
    fn new(key: Key, facts: Facts) -> Self {
        Kind {
            key,
            facts,
            plans: [Plan::choose(facts, key.engines); PLANS],
            prospects: WAYS.map(|way| Prospect::of(way, facts, key.engines)),
            estimates: [Estimate::default(); WAYS.len()],
            best: 0,
            way: 0,
            run: 1,
            left: 1,
            timed: 1,
            times: Times::default(),
            fastest_pass: 0.0,
            account: 0.0,
        }
    }

    /// Whether a way might be the fastest.
    fn is_promising(&self, way: usize) -> bool {
        self.prospects[way].least < self.estimates[self.best].nanoseconds
    }

    /// Takes down how long a sequence took, and the time per position of a pass that went on where the funnel gave up,
    /// and begins the next run if it was the last of its run.
    fn record(&mut self, nanoseconds: f64, positions: usize, beside: Option<(ForwardPass, f64)>) {
        self.times.nanoseconds += nanoseconds;
        self.times.positions += positions;
        if let Some((pass, each)) = beside {
            self.times.pass = Some(pass); // the same for the whole run
            self.times.beside += each;
            self.times.passes += 1.0;
        }
        if self.left == 0 {
            let Times { nanoseconds, positions, pass, beside, passes } = std::mem::take(&mut self.times);
            if let Some(pass) = pass
                && let Some(way) = WAYS.iter().position(|&way| way == Way::Pass(pass))
            {
                self.estimates[way].add(beside / passes, passes);
            }
            self.end_run(nanoseconds / positions as f64, positions as f64 / f64::from(self.timed));
        }
    }

    /// Takes down the time per position of a run of sequences of so many positions, and begins the next.
    fn end_run(&mut self, each: f64, positions: f64) {
        let best = self.estimates[self.best].nanoseconds;
        let run = f64::from(self.run) * positions;
        let tries = self.way != self.best;
        if tries {
            self.account -= (each - best).max((LEAST_PRICE - 1.0) * best) * run;
        } else if self.estimates[self.best].tried > 0 {
            self.account += self.share() * each.min(LONGEST * best) * run; // the first one may have been very slow
        }
        let estimate = &mut self.estimates[self.way];
        if tries {
            estimate.add_try(each, f64::from(self.timed));
        } else {
            estimate.add(each, f64::from(self.timed));
        }
        self.best = self.fastest();
        self.fastest_pass = self.time_of_fastest_pass();
        let whole = self.estimates[self.best].nanoseconds * positions;
        let usual = length_of_run(CLOCK / CLOCK_SHARE, whole);
        let most = MOST_RUNS * f64::from(usual) * whole;
        self.account = self.account.clamp(-most, most);
        let other = if tries { None } else { self.to_try(whole, most) }; // the best one has its turn between two tries
        (self.way, self.run) = other.unwrap_or((self.best, usual));
        self.left = self.run;
        // A try is seldom and short, so each sequence of it must tell much, as soon as caches are warm.
        self.timed = if self.way == self.best { 1 } else { self.run.div_ceil(2).min(ENOUGH as u32) };
    }

    /// The way that has been fastest.
    fn fastest(&self) -> usize {
        let time = |way: usize| self.estimates[way].nanoseconds;
        let known = (1..WAYS.len()).filter(|&way| self.estimates[way].tried > 1);
        let fastest = known.min_by(|&a, &b| time(a).total_cmp(&time(b)));
        fastest.filter(|&way| time(way) < CLEARLY * time(0)).unwrap_or(0)
    }

    /// What the fastest of the passes takes that have been timed more than once, or 0.
    fn time_of_fastest_pass(&self) -> f64 {
        let passes = WAYS.iter().zip(&self.estimates).filter(|(way, _)| matches!(way, Way::Pass(_)));
        let times =
            passes.filter(|(_, estimate)| estimate.tried > 1).map(|(_, estimate)| estimate.nanoseconds);
        times.min_by(f64::total_cmp).unwrap_or(0.0)
    }

    /// The share of the time that may be spent on trying.
    fn share(&self) -> f64 {
        let best = self.estimates[self.best].nanoseconds;
        let is_new = |way: usize| {
            let Estimate { tried, nanoseconds, .. } = self.estimates[way];
            let is_hopeless = tried > 1 && nanoseconds > HOPELESS * best;
            self.is_promising(way) && (tried < FEW_TIMES && !is_hopeless || self.is_open_question(way))
        };
        if (0..WAYS.len()).any(is_new) { FIRST_SHARE } else { LATER_SHARE }
    }

    /// Whether a way is about as fast as the best, as far as is known.
    fn is_close(&self, way: usize) -> bool {
        let Estimate { tried, nanoseconds, .. } = self.estimates[way];
        tried > 1 && nanoseconds < CLOSE * self.estimates[self.best].nanoseconds
    }

    /// The same, if only few of its sequences have been timed.
    fn is_open_question(&self, way: usize) -> bool {
        self.is_close(way) && self.estimates[way].sequences < ENOUGH
    }

    /// Another way to try now, and for how many sequences, if there is one that the account can pay for: the one that was
    /// tried least, for its cost. `whole` is the time of a sequence; no try costs more than the account can hold, `most`.
    fn to_try(&self, whole: f64, most: f64) -> Option<(usize, u32)> {
        let best = self.estimates[self.best].nanoseconds;
        let slower = |way: usize| match self.estimates[way].tried {
            0 => (self.prospects[way].usual / best).max(2.0),
            1 => (self.estimates[way].nanoseconds / best).min(HOPELESS), // known badly
            _ => self.estimates[way].nanoseconds / best,
        };
        let slower = |way: usize| slower(way).max(LEAST_PRICE);
        let weight = |way: usize| f64::from(self.estimates[way].tried) * slower(way);
        let warm_up = |way: usize| if self.is_close(way) { LONG_WARM_UP } else { WARM_UP };
        let run = |way: usize| length_of_run(warm_up(way), whole * slower(way));
        let price = |way: usize| ((slower(way) - 1.0) * whole * f64::from(run(way))).min(most);
        let is_paid = |way: usize| self.account >= price(way);
        let others = || (0..WAYS.len()).filter(|&way| way != self.best && self.is_promising(way));
        let wanted = others().min_by(|&a, &b| weight(a).total_cmp(&weight(b)))?;
        // While an expensive one is saved for, what is known badly is tried again.
        let is_known_badly = |way: usize| self.estimates[way].tried == 1 || self.is_open_question(way);
        let known_badly = || others().find(|&way| is_known_badly(way) && is_paid(way));
        let way = if is_paid(wanted) { wanted } else { known_badly()? };
        Some((way, run(way)))
    }
}

/// So many sequences of `whole` nanoseconds take at least so long, within limits.
fn length_of_run(nanoseconds: f64, whole: f64) -> u32 {
    (nanoseconds / whole).ceil().clamp(1.0, LONGEST_RUN) as u32
}

/// Estimates for the kinds of sequences seen last.
#[derive(Debug, Default)]
pub(crate) struct Experience {
    kinds: Vec<Kind>,
    last: usize,          // the kind of the last sequence
    next: usize,          // where a new one goes
    unknown: Option<Key>, // of the last sequence that was of no kind
}

/// What to do with a sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    /// None if such sequences are not known yet.
    pub(super) way: Option<Way>,
    /// Whether [`Experience::record`] wants the time.
    pub(super) timed: bool,
}

impl Experience {
    /// The way to go.
    #[inline]
    pub(super) fn choose(&mut self, key: Key, facts: impl FnOnce() -> Facts) -> Choice {
        if self.kinds.get(self.last).is_none_or(|kind| kind.key != key) {
            match self.find_or_add(key, facts) {
                Some(place) => self.last = place,
                None => return Choice { way: None, timed: false },
            }
        }
        let kind = &mut self.kinds[self.last];
        kind.left = kind.left.saturating_sub(1);
        Choice { way: Some(WAYS[kind.way]), timed: kind.left < kind.timed }
    }

    /// The place of a kind. A new one is added when it comes twice in a row: with edges that are made anew for each sequence,
    /// nothing can be learned.
    fn find_or_add(&mut self, key: Key, facts: impl FnOnce() -> Facts) -> Option<usize> {
        let found = self.kinds.iter().position(|kind| kind.key == key);
        if found.is_some() {
            return found;
        }
        if self.unknown.replace(key) != Some(key) {
            return None;
        }
        if self.kinds.len() < KINDS {
            self.kinds.push(Kind::new(key, facts()));
            return Some(self.kinds.len() - 1);
        }
        let place = self.next;
        self.kinds[place] = Kind::new(key, facts());
        self.next = (place + 1) % KINDS;
        Some(place)
    }

    /// What the fastest pass takes per position of the last kind of sequence, in nanoseconds; 0 if that is not known.
    #[inline]
    pub(super) fn fastest_pass(&self) -> f64 {
        self.kinds[self.last].fastest_pass
    }

    /// The plan for a sequence of the last kind, of so many positions.
    #[inline]
    pub(super) fn plan(&mut self, positions: usize) -> &Plan {
        let Kind { facts, plans, key, .. } = &mut self.kinds[self.last];
        let plan = &mut plans[positions % PLANS];
        if plan.facts.positions != positions {
            *plan = Plan::choose(Facts { positions, ..*facts }, key.engines);
        }
        plan
    }

    /// Takes down how long the last sequence took, if its time was wanted; and the time per position of a pass, if it went on where the
    /// funnel gave up.
    pub(super) fn record(&mut self, nanoseconds: f64, positions: usize, beside: Option<(ForwardPass, f64)>) {
        let beside = beside.map(|(pass, each)| (pass, each.max(1.0)));
        self.kinds[self.last].record(nanoseconds.max(1.0), positions, beside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Edges;
    use crate::simd::Level;

    /// Facts of a matrix of so many labels.
    fn facts(labels: usize) -> Facts {
        Facts {
            positions: 16,
            labels,
            k: 1,
            exceptions: Some(labels * labels),
            usual_exceptions: 0,
            class_pairs: 0,
            matrix_bytes: Some(4 * labels * labels),
            base_forbidden: false,
            small_matrix_forbids: false,
            level: Level::Avx512, // the same costs on every machine
        }
    }

    /// Sequences that are alike.
    #[derive(Clone, Copy)]
    struct Alike {
        key: Key,
        facts: Facts,
    }

    fn alike(edges: usize, labels: usize) -> Alike {
        let likeness = (0, labels * labels);
        let key = Key { edges, likeness, labels, positions: 16, k: 1, engines: Engines::default() };
        Alike { key, facts: facts(labels) }
    }

    /// Lengths that take turns in one place each get their own plan.
    #[test]
    fn plans_are_those_of_the_length() {
        let (mut experience, alike) = (Experience::default(), alike(1, 600));
        let choices = [(); 2].map(|()| experience.choose(alike.key, || alike.facts).way);
        assert_eq!(choices, [None, Some(Way::Planned)]);
        for positions in [16, 16 + PLANS, 9, 16, 9 + PLANS, 9] {
            let wanted = Plan::choose(Facts { positions, ..alike.facts }, alike.key.engines);
            assert_eq!(*experience.plan(positions), wanted);
        }
    }

    /// Sequences of 10 positions, whose way number `w` takes `costs[w]` nanoseconds. Returns how many went each way, and the
    /// nanoseconds of all.
    fn decode(
        experience: &mut Experience,
        alike: Alike,
        costs: [f64; 5],
        sequences: usize,
    ) -> ([usize; 5], f64) {
        decode_by(experience, alike, sequences, |way, _| costs[way])
    }

    /// The same where costs depend on how many have gone that way.
    fn decode_by(
        experience: &mut Experience,
        alike: Alike,
        sequences: usize,
        mut cost: impl FnMut(usize, usize) -> f64,
    ) -> ([usize; 5], f64) {
        let (mut gone, mut sum) = ([0; 5], 0.0);
        for _ in 0..sequences {
            let choice = experience.choose(alike.key, || alike.facts);
            let way = WAYS.iter().position(|&way| way == choice.way.unwrap_or(Way::Planned)).unwrap();
            gone[way] += 1;
            let cost = cost(way, gone[way]);
            sum += cost;
            if choice.timed {
                experience.record(cost, 10, None);
            }
        }
        (gone, sum)
    }

    const PLANNED: usize = 0;
    const FUNNEL: usize = 1;
    const SIMD: usize = 2;
    const SPARSE: usize = 3;
    const SIEVE: usize = 4;

    /// The sieve is expected to take some ninety times as long here, more than the account ever holds. While it is saved for, the
    /// funnel, slow the first time, is tried again; and in the end the sieve is tried, too.
    #[test]
    fn an_expensive_way_keeps_none_from_being_tried() {
        let (mut experience, alike) = (Experience::default(), alike(1, 10_000));
        let cost = |way, gone| [9e4, if gone > 1 { 6e4 } else { 3e5 }, 1.0, 1.0, 8e6][way];
        let (gone, _) = decode_by(&mut experience, alike, 400, cost);
        assert!(gone[FUNNEL] > 200 && gone[SIEVE] == 0, "{gone:?}");
        let (gone, _) = decode_by(&mut experience, alike, 3600, |way, _| cost(way, 2));
        assert!(gone[FUNNEL] > 3300 && gone[SIEVE] > 0, "{gone:?}");
        assert_eq!(experience.fastest_pass() > 0.0, gone[SIEVE] > 1, "{gone:?}");
    }

    /// Where the funnel gives up, the pass that goes on is known after two sequences, without a try; and if it is not clearly
    /// faster, the plan stays.
    #[test]
    fn a_pass_that_goes_on_needs_no_try() {
        for (each, wanted) in [(700.0, Way::Pass(ForwardPass::Sieve)), (990.0, Way::Planned)] {
            let (mut experience, alike) = (Experience::default(), alike(1, 600));
            let mut ways = vec![];
            for _ in 0..8 {
                let choice = experience.choose(alike.key, || alike.facts);
                let way = choice.way.unwrap_or(Way::Planned);
                ways.push(way);
                if choice.timed && way == Way::Planned {
                    experience.record(1e5, 100, Some((ForwardPass::Sieve, each)));
                } else if choice.timed {
                    experience.record(100.0 * each, 100, None);
                }
            }
            assert_eq!(ways[..3], [Way::Planned; 3]); // unknown, and twice timed
            assert!(ways[3..].iter().all(|&way| way == wanted), "{ways:?}");
        }
    }

    #[test]
    fn the_fastest_way_wins_and_trying_costs_little() {
        for costs in [
            [9e3, 2e4, 1e4, 1e6, 2e4],
            [9e3, 2e4, 7e3, 1e6, 2e4],
            [9e3, 3e3, 1e4, 1e6, 2e4],
            [1.9e3, 9e3, 3e3, 5e4, 1.7e3],
        ] {
            let mut experience = Experience::default();
            decode(&mut experience, alike(1, 100), costs, 1_500);
            let (gone, sum) = decode(&mut experience, alike(1, 100), costs, 10_000);
            let best = (0..5).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap();
            assert!(gone[best] > 9_000, "{costs:?}: {gone:?}");
            assert!(sum < 1.05 * 10_000.0 * costs[best], "{costs:?}: {sum}");
        }
    }

    /// The first tries included.
    #[test]
    fn trying_costs_a_twentieth_even_if_all_others_are_far_slower() {
        let costs = [9e3, 4e5, 2e4, 1e6, 3e4];
        let (gone, sum) = decode(&mut Experience::default(), alike(1, 100), costs, 10_000);
        assert!(gone[FUNNEL] >= 2, "{gone:?}");
        assert!(sum < 1.06 * 10_000.0 * costs[PLANNED], "{gone:?}: {sum}");
    }

    /// It may have to write out rows of edges first.
    #[test]
    fn a_way_that_is_slow_at_first_gets_its_turn() {
        let cost = |way, gone| [9e3, if gone > 8 { 4e3 } else { 3e4 }, 2e4, 1e6, 2e4][way];
        let (gone, _) = decode_by(&mut Experience::default(), alike(1, 100), 10_000, cost);
        assert!(gone[FUNNEL] > 8_200, "{gone:?}");
    }

    #[test]
    fn a_plan_is_left_only_for_something_clearly_faster() {
        let (gone, _) =
            decode(&mut Experience::default(), alike(1, 100), [9e3, 8.9e3, 8.9e3, 1e6, 2e4], 10_000);
        assert!(gone[PLANNED] > 8_500, "{gone:?}");
    }

    #[test]
    fn nothing_is_tried_before_it_is_paid_for() {
        let (gone, _) = decode(&mut Experience::default(), alike(1, 100), [9e3, 1.0, 1.0, 1.0, 1.0], 20);
        assert_eq!(gone, [20, 0, 0, 0, 0]);
    }

    #[test]
    fn a_pass_that_cannot_be_faster_is_never_tried() {
        let (gone, _) =
            decode(&mut Experience::default(), alike(1, 10_000), [9e3, 9e3, 1.0, 1.0, 1.0], 10_000);
        assert_eq!((gone[SIMD], gone[SPARSE]), (0, 0), "{gone:?}");
        assert!(gone[FUNNEL] > 0, "{gone:?}");
    }

    /// Lists of all edges of a matrix would take four times its memory.
    #[test]
    fn a_matrix_is_listed_only_if_that_is_likely_to_pay() {
        let tried = |exceptions| {
            let alike =
                Alike { facts: Facts { exceptions: Some(exceptions), ..facts(300) }, ..alike(1, 300) };
            decode(&mut Experience::default(), alike, [9e4, 9e4, 9e4, 9e4, 9e4], 10_000).0[SPARSE]
        };
        assert_eq!(tried(90_000), 0);
        assert!(tried(300) > 0);
    }

    #[test]
    fn passes_over_computed_edges_are_never_tried() {
        let alike =
            Alike { facts: Facts { exceptions: None, matrix_bytes: None, ..facts(100) }, ..alike(1, 100) };
        let (gone, _) = decode(&mut Experience::default(), alike, [9e6, 9e6, 1.0, 1.0, 1.0], 10_000);
        assert_eq!((gone[SIMD], gone[SPARSE]), (0, 0), "{gone:?}");
    }

    #[test]
    fn what_is_switched_off_is_never_tried() {
        let engines = Engines { viterbi_simd: false, funnel: false, ..Engines::default() };
        let facts = Facts { exceptions: Some(300), ..facts(300) };
        let alike = Alike { key: Key { engines, ..alike(1, 300).key }, facts };
        let (gone, _) = decode(&mut Experience::default(), alike, [9e4, 1.0, 1.0, 9e4, 9e4], 10_000);
        assert_eq!((gone[FUNNEL], gone[SIMD]), (0, 0), "{gone:?}");
        assert!(gone[SPARSE] > 0, "{gone:?}");
    }

    #[test]
    fn several_paths_are_a_kind_of_their_own() {
        let mut experience = Experience::default();
        let one = alike(1, 100);
        let several = Alike { key: Key { k: 5, ..one.key }, facts: Facts { k: 5, ..one.facts } };
        for _ in 0..50 {
            decode(&mut experience, one, [9e3, 2e4, 5e3, 1e6, 2e4], 100);
            decode(&mut experience, several, [9e3, 3e3, 1e4, 1e6, 2e4], 100);
        }
        assert!(decode(&mut experience, one, [9e3, 2e4, 5e3, 1e6, 2e4], 100).0[SIMD] > 90);
        assert!(decode(&mut experience, several, [9e3, 3e3, 1e4, 1e6, 2e4], 100).0[FUNNEL] > 90);
        assert_eq!(experience.plan(7).facts, Facts { k: 5, positions: 7, ..one.facts });
    }

    /// A forward pass alone finds one path.
    #[test]
    fn without_an_enumeration_no_pass_is_tried_for_several_paths() {
        let engines = Engines { recursive_enumeration: false, ..Engines::default() };
        let one = alike(1, 100);
        let several = Alike { key: Key { k: 5, engines, ..one.key }, facts: Facts { k: 5, ..one.facts } };
        let (gone, _) = decode(&mut Experience::default(), several, [9e3, 9e3, 1.0, 1.0, 1.0], 10_000);
        assert_eq!(gone[SIMD..], [0, 0, 0], "{gone:?}");
    }

    /// Edges may become others in one place: changed while a model is trained, or made anew.
    #[test]
    fn edges_with_far_more_exceptions_are_of_another_kind() {
        let key = |edges: &Edges<f32>| {
            let lattice = Lattice::new(vec![0.0; 3 * edges.labels()], edges).unwrap();
            Key { edges: 0, ..Key::of(&lattice, 1, Engines::default()) }
        };
        let listed = |exceptions: u32| {
            let others: Vec<u32> = (0..exceptions).collect();
            Edges::sparse(100, 0.0, &others, &others, &vec![1.0; others.len()]).unwrap()
        };
        assert_eq!(key(&listed(9)), key(&listed(10)));
        assert_ne!(key(&listed(9)), key(&listed(20)));
        let computed = Edges::callback(100, |_, _, _| 0.0, |_| 0.0, 0.0).unwrap();
        assert_ne!(key(&listed(0)), key(&computed));
    }

    /// What was learned is unlearned when sequences become different.
    #[test]
    fn times_change() {
        let mut experience = Experience::default();
        decode(&mut experience, alike(1, 100), [9e3, 2e4, 5e3, 1e6, 2e4], 10_000);
        decode(&mut experience, alike(1, 100), [4e3, 2e3, 5e3, 1e6, 2e4], 10_000);
        let (gone, _) = decode(&mut experience, alike(1, 100), [4e3, 2e3, 5e3, 1e6, 2e4], 1_000);
        assert!(gone[FUNNEL] > 900, "{gone:?}");
    }

    #[test]
    fn kinds_are_kept_apart_and_the_oldest_forgotten() {
        let mut experience = Experience::default();
        let (one, other) = ([9e3, 2e4, 5e3, 1e6, 2e4], [9e3, 3e3, 1e4, 1e6, 2e4]);
        for _ in 0..50 {
            decode(&mut experience, alike(1, 100), one, 100);
            decode(&mut experience, alike(2, 100), other, 100);
        }
        assert!(decode(&mut experience, alike(1, 100), one, 100).0[SIMD] > 90);
        assert!(decode(&mut experience, alike(2, 100), other, 100).0[FUNNEL] > 90);
        for edges in 3..3 + KINDS {
            decode(&mut experience, alike(edges, 100), one, 1);
        }
        assert!(
            decode(&mut experience, alike(1, 100), one, 100).0[SIMD] > 90,
            "seen once, they are no kinds"
        );
        for edges in 3..3 + KINDS {
            decode(&mut experience, alike(edges, 100), one, 2);
        }
        assert_eq!(experience.kinds.len(), KINDS);
        assert_eq!(decode(&mut experience, alike(1, 100), one, 20).0, [20, 0, 0, 0, 0], "begins anew");
    }
}
