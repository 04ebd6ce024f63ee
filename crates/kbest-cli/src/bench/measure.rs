//! Measures decoders side by side: interleaved rounds, one thread, the best round counts.
//!
//! Each round runs every contender over all sequences, so that noise on the machine affects all alike; the best round is
//! the least disturbed one. Before each turn, untimed, all node scores are read and one sequence is decoded (all of them,
//! several times, where that is quick), so that every contender starts with its own data in the caches, whoever ran
//! before. The first round is timed sequence by sequence, which lets it stop at the time limit and keeps the answers for
//! comparison; later rounds are timed as a whole, and go over all sequences again and again where that takes little time.
//! Scratch and result are reused, as users would. Counters come from a separate, untimed pass.

use crate::failure::Result;
use crate::output::Progress;
use kbest::simd::{AlignedVec, padded};
use kbest::{Counters, Decode, Decoded, Decoder, Error, Float, Lattice, Path, Scratch};
use std::hint::black_box;
use std::time::Instant;

/// Largest matrix for the max-plus limit, in bytes.
const LARGEST_MATRIX: usize = 4 << 30;

/// A round shorter than this many seconds is run untimed before it is timed, again and again until [`WARM_UP`] seconds have
/// passed: the processor learns which way branches go, and whoever follows a contender that does the same work would
/// otherwise profit from that.
const QUICK: f64 = 0.1;
const WARM_UP: f64 = 0.002;

/// All sequences are decoded again and again, up to so many times, until a round has taken about this many seconds: whatever else
/// the machine does for a few microseconds then counts for little.
const LEAST_TIMED: f64 = 0.002;
const MOST_PASSES: f64 = 1000.0;

/// A round of so many seconds is not that long by chance.
const LEAST_HOPELESS: f64 = 0.02;

/// Times of one contender.
#[derive(Debug, Default)]
pub struct Times {
    /// Seconds of each sequence in the first round; shorter than the sequences if the time limit stopped it.
    pub each: Vec<f64>,
    /// Seconds of every complete round, or of the completed part if there is none.
    pub rounds: Vec<f64>,
    /// True if the time limit stopped it or kept it from later rounds.
    pub limited: bool,
}

impl Times {
    /// The best round.
    pub fn best(&self) -> f64 {
        self.rounds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// How often a round goes over all sequences.
    fn passes(&self) -> usize {
        (LEAST_TIMED / self.best()).ceil().clamp(1.0, MOST_PASSES) as usize
    }

    /// The median round.
    pub fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Sequences done.
    pub fn done(&self) -> usize {
        self.each.len()
    }
}

/// A decoder and its results.
pub struct Contender<S> {
    /// The name as typed, options included.
    pub name: String,
    pub decoder: Decoder,
    /// Number of paths requested.
    pub k: usize,
    /// Whether `auto` goes by its plan alone, and does not learn from one sequence to the next.
    pub planned: bool,
    /// It has no later rounds if it takes more than this many times as long as the fastest, and too long for that to be chance.
    pub hopeless: f64,
    pub times: Times,
    /// Its answers, one per sequence done; empty where there is no legal path.
    pub answers: Vec<Vec<Path<S>>>,
    /// Sums over all sequences, if counted.
    pub counters: Option<Counters>,
}

impl<S> Contender<S> {
    pub fn new(name: String, decoder: Decoder, k: usize) -> Self {
        let times = Times::default();
        Contender {
            name,
            decoder,
            k,
            planned: false,
            hopeless: f64::INFINITY,
            times,
            answers: vec![],
            counters: None,
        }
    }
}

/// Everything measured.
pub struct Measured<S> {
    pub contenders: Vec<Contender<S>>,
    /// One pass over all node scores.
    pub scan: Times,
    /// Only the max-plus products that dense Viterbi needs; none if the matrix would be too large.
    pub max_plus: Option<Times>,
}

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Rounds.
    pub repeat: usize,
    /// Seconds after which a decoder stops.
    pub limit: f64,
    /// Whether to count the work.
    pub counting: bool,
    /// Whether to measure the limits beside the contenders.
    pub limits: bool,
}

/// Runs all contenders.
///
/// # Errors
/// Any error of a decoder except [`Error::NoPath`].
pub fn measure<S: Float>(
    lattices: &[Lattice<'_, S>],
    mut contenders: Vec<Contender<S>>,
    plan: Plan,
    progress: &mut Progress,
) -> Result<Measured<S>> {
    let mut scratch = Scratch::new();
    let mut answer = Decoded::default();
    let mut limits = Limits::new(if plan.limits { lattices } else { &[] });
    for round in 0..plan.repeat {
        if plan.limits {
            limits.round(lattices, round, plan.limit);
        }
        // Another one begins each round, and every second round goes backwards: whoever follows the limits, or a decoder that reads a
        // large matrix, finds its own data in farther caches, and is slower for it by up to a tenth.
        let count = contenders.len();
        let fastest = contenders.iter().map(|contender| contender.times.best()).fold(f64::INFINITY, f64::min);
        for turn in 0..count {
            let turn = if round % 2 == 0 { turn } else { count - 1 - turn };
            let contender = &mut contenders[(round + turn) % count];
            if !contender.times.limited && !contender.is_hopeless(fastest) {
                progress.say(&contender.name);
                scratch.planned = contender.planned;
                contender.round(lattices, round, plan.limit, &mut scratch, &mut answer)?;
            }
            progress.step();
        }
    }
    if plan.counting {
        scratch.counting = true;
        for contender in contenders.iter_mut().filter(|contender| !contender.times.limited) {
            contender.count(lattices, &mut scratch, &mut answer)?;
        }
    }
    Ok(Measured { contenders, scan: limits.scan, max_plus: limits.max_plus })
}

/// Decodes; true if there is a path.
fn decode<S: Float>(
    decoder: &Decoder,
    lattice: &Lattice<'_, S>,
    k: usize,
    scratch: &mut Scratch<S>,
    answer: &mut Decoded<S>,
) -> Result<bool> {
    match decoder.decode_into(lattice, k, scratch, answer) {
        Ok(()) => Ok(true),
        Err(Error::NoPath) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl<S: Float> Contender<S> {
    fn is_hopeless(&self, fastest: f64) -> bool {
        self.times.best() > LEAST_HOPELESS && self.times.best() > self.hopeless * fastest
    }

    fn decode_all(
        &self,
        lattices: &[Lattice<'_, S>],
        scratch: &mut Scratch<S>,
        answer: &mut Decoded<S>,
    ) -> Result<()> {
        for lattice in lattices {
            black_box(decode(&self.decoder, lattice, self.k, scratch, answer)?);
        }
        Ok(())
    }

    fn round(
        &mut self,
        lattices: &[Lattice<'_, S>],
        round: usize,
        limit: f64,
        scratch: &mut Scratch<S>,
        answer: &mut Decoded<S>,
    ) -> Result<()> {
        // Warm-up: brings the node scores into the caches, and decodes once for tables that edges build on first use.
        let begun = Instant::now();
        lattices.iter().for_each(scan);
        if let Some(first) = lattices.first() {
            decode(&self.decoder, first, self.k, scratch, answer)?;
        }
        let warm_up = begun.elapsed().as_secs_f64();
        if round > 0 {
            if self.times.best() < QUICK {
                let begun = Instant::now();
                loop {
                    self.decode_all(lattices, scratch, answer)?;
                    if begun.elapsed().as_secs_f64() >= WARM_UP {
                        break;
                    }
                }
            }
            let passes = self.times.passes();
            let begun = Instant::now();
            for _ in 0..passes {
                self.decode_all(lattices, scratch, answer)?;
            }
            self.times.rounds.push(begun.elapsed().as_secs_f64() / passes as f64);
            return Ok(());
        }
        let mut total = 0.0;
        for lattice in lattices {
            let begun = Instant::now();
            let found = decode(&self.decoder, lattice, self.k, scratch, answer)?;
            let seconds = begun.elapsed().as_secs_f64();
            total += seconds;
            self.times.each.push(seconds);
            self.answers.push(if found { answer.paths.clone() } else { vec![] });
            if total + warm_up > limit {
                self.times.limited = true;
                break;
            }
        }
        self.times.rounds.push(total);
        Ok(())
    }

    fn count(
        &mut self,
        lattices: &[Lattice<'_, S>],
        scratch: &mut Scratch<S>,
        answer: &mut Decoded<S>,
    ) -> Result<()> {
        let mut sum = Counters::default();
        for lattice in lattices {
            decode(&self.decoder, lattice, self.k, scratch, answer)?;
            if let Some(counters) = &answer.counters {
                sum.nodes += counters.nodes;
                sum.edges += counters.edges;
                sum.rounds += counters.rounds;
            }
        }
        self.counters = Some(sum);
        Ok(())
    }
}

/// Times that no decoder, or no dense Viterbi, can beat on this machine.
struct Limits<S: Float> {
    scan: Times,
    max_plus: Option<Times>,
    matrix: AlignedVec<S>,
    alpha: AlignedVec<S>,
    next: AlignedVec<S>,
}

impl<S: Float> Limits<S> {
    fn new(lattices: &[Lattice<'_, S>]) -> Self {
        let labels = lattices.first().map_or(1, |lattice| lattice.labels());
        let stride = padded(labels);
        let fits = labels.saturating_mul(stride).saturating_mul(size_of::<S>()) <= LARGEST_MATRIX;
        Limits {
            scan: Times::default(),
            max_plus: fits.then(Times::default),
            matrix: AlignedVec::filled(if fits { labels * stride } else { 0 }, S::ZERO),
            alpha: AlignedVec::filled(labels, S::ZERO),
            next: AlignedVec::filled(stride, S::ZERO),
        }
    }

    fn round(&mut self, lattices: &[Lattice<'_, S>], round: usize, limit: f64) {
        lattices.iter().for_each(scan);
        timed(&mut self.scan, lattices, round, limit, scan);
        let (matrix, alpha, next) = (&self.matrix, &self.alpha, &mut self.next);
        if let Some(times) = &mut self.max_plus {
            timed(times, lattices, round, limit, |lattice| {
                for _ in 1..lattice.positions() {
                    S::max_plus_matrix(next, black_box(alpha), matrix);
                    black_box(&next);
                }
            });
        }
    }
}

/// Reads all node scores of a lattice once.
fn scan<S: Float>(lattice: &Lattice<'_, S>) {
    let rows = (0..lattice.positions()).map(|t| S::largest(lattice.node_row(t)));
    black_box(rows.fold(S::ZERO, |sum, max| sum + max));
}

/// One round of other work, timed like a decoder's.
fn timed<S: Float>(
    times: &mut Times,
    lattices: &[Lattice<'_, S>],
    round: usize,
    limit: f64,
    mut work: impl FnMut(&Lattice<'_, S>),
) {
    if times.limited {
        return;
    }
    if round > 0 {
        let (begun, passes) = (Instant::now(), times.passes());
        for _ in 0..passes {
            lattices.iter().for_each(&mut work);
        }
        times.rounds.push(begun.elapsed().as_secs_f64() / passes as f64);
        return;
    }
    let mut total = 0.0;
    for lattice in lattices {
        let begun = Instant::now();
        work(lattice);
        let seconds = begun.elapsed().as_secs_f64();
        total += seconds;
        times.each.push(seconds);
        if total > limit {
            times.limited = true;
            break;
        }
    }
    times.rounds.push(total);
}
