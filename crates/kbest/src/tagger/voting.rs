//! An ensemble's answer: every member decodes, and the paths with the most votes win.
//!
//! **Cost.** One lattice is carried from member to member ([`Members`]). If a member's changes do not affect the
//! sequence, its answer is that of the member before, without a search. With several threads each takes a run of
//! members: it applies the changes before them without searching. There are still many searches per sequence: for small
//! problems.

use super::limits::Limits;
use crate::scoring::{Members, Scorer};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::decode::{Decoded, Decoder};
use kbest_core::lattice::Edges;
use kbest_core::pipeline::map;
use kbest_core::{Error, Result, Structure};
use std::cmp::Reverse;
use std::ops::Range;

/// A shorter run of members is not worth a thread.
const MEMBERS_PER_THREAD: usize = 64;

/// The paths chosen by members, in the order they were first chosen, with their votes.
#[derive(Debug)]
struct Ballots<St: Structure> {
    numbers: HashMap<Vec<St::Part>, usize, FixedState>,
    votes: Vec<u64>,
    exact: bool,           // whether every search was
    decoder: &'static str, // of the last search
}

impl<St: Structure> Ballots<St> {
    fn new() -> Self {
        Ballots { numbers: HashMap::default(), votes: Vec::new(), exact: true, decoder: "" }
    }

    /// The number of a path.
    fn number(&mut self, path: &[St::Part]) -> usize {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        self.numbers.insert(path.to_vec(), self.votes.len());
        self.votes.push(0);
        self.votes.len() - 1
    }

    /// Adds the votes of later members.
    fn join(&mut self, later: Self) {
        let mut paths: Vec<_> = later.numbers.into_iter().collect();
        paths.sort_unstable_by_key(|&(_, number)| number);
        for ((path, _), votes) in paths.into_iter().zip(later.votes) {
            let number = self.number(&path);
            self.votes[number] += votes;
        }
        self.exact &= later.exact;
        self.decoder = later.decoder;
    }

    /// The `k` paths with the most votes, ties in the order they were first chosen; their scores are their shares of
    /// all votes.
    fn winners(self, k: usize) -> Decoded<f32, St::Path<f32>> {
        let all = self.votes.iter().sum::<u64>().max(1) as f64;
        let mut paths: Vec<_> = self.numbers.into_iter().collect();
        paths.sort_unstable_by_key(|&(_, number)| (Reverse(self.votes[number]), number));
        let mut answer = Decoded::default();
        (answer.exact, answer.decoder) = (self.exact, self.decoder);
        for (parts, number) in paths.into_iter().take(k) {
            let share = self.votes[number] as f64 / all;
            answer.paths.push(St::path(parts, share as f32));
        }
        answer
    }
}

/// Votes on the paths of an input; `None` if the scorer is not an ensemble.
pub(super) fn vote<M: Scorer<Structure = St>, St: Structure>(
    scorer: &M,
    input: &M::Input,
    limits: Limits<'_, St>,
    k: usize,
    decoder: &Decoder,
    threads: usize,
    scratch: &mut St::Scratch<f32>,
) -> Result<Option<Decoded<f32, St::Path<f32>>>> {
    let constrain = |edges: Edges<f32>| limits.constrain(edges);
    let Some(members) = scorer.members(input, &constrain)? else { return Ok(None) };
    if k == 0 {
        return Err(Error::argument("k", "at least 1", 0));
    }
    let count = members.votes().len();
    let runs = threads.min(count / MEMBERS_PER_THREAD).max(1);
    let run = |i: usize| count * i / runs..count * (i + 1) / runs;
    if runs == 1 {
        return Ok(Some(collect(members, 0..count, limits, decoder, scratch)?.winners(k)));
    }
    let parts = map(runs, runs, || {
        |i| match scorer.members(input, &constrain)? {
            Some(members) => collect(members, run(i), limits, decoder, &mut St::Scratch::default()),
            None => Ok(Ballots::new()), // an ensemble stays one
        }
    });
    // The error of the earliest member is the one reported.
    let mut ballots = Ballots::new();
    for part in parts {
        ballots.join(part?);
    }
    Ok(Some(ballots.winners(k)))
}

/// The votes of a run of members. A member without a vote is not asked.
fn collect<St: Structure>(
    mut members: Box<dyn Members<St> + '_>,
    run: Range<usize>,
    limits: Limits<'_, St>,
    decoder: &Decoder,
    scratch: &mut St::Scratch<f32>,
) -> Result<Ballots<St>> {
    let (mut ballots, mut answer) = (Ballots::new(), Decoded::default());
    let mut choice = None;
    for member in run {
        if members.advance(member)? {
            choice = None;
        }
        let votes = u64::from(members.votes()[member]);
        if votes == 0 {
            continue;
        }
        let number = match choice {
            Some(number) => number,
            None => {
                let lattice = limits.limit_member(members.lattice()?)?;
                St::decode_into(decoder, &lattice, 1, scratch, &mut answer)?;
                ballots.exact &= answer.exact;
                ballots.decoder = answer.decoder;
                ballots.number(answer.best().as_ref())
            }
        };
        choice = Some(number);
        ballots.votes[number] += votes;
    }
    Ok(ballots)
}
