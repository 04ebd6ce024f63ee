//! Work on many threads that share what is in memory, with results in order.
//!
//! Each thread takes the next item that nobody has; the caller's thread puts results in order and hands them on. Items may be
//! borrowed, unlike those of [`kbest::pipeline`].

use crate::failure::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Results that may wait for the caller, or for one before them that takes longer, per thread.
const WAITING: usize = 16;

/// Says which items may be begun: those that are not far ahead of the one whose turn it is to be handed on.
#[derive(Debug)]
struct Gate {
    ahead: usize,
    turn: Mutex<Option<usize>>, // none once the work is over
    changed: Condvar,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Option<usize>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner) // it is always a whole number
    }

    fn set(&self, turn: Option<usize>) {
        let mut now = self.lock();
        *now = now.and(turn); // what is over stays so
        drop(now);
        self.changed.notify_all();
    }

    /// Waits until the item may be begun; false if the work is over.
    fn admits(&self, item: usize) -> bool {
        let is_early = |turn: &mut Option<usize>| turn.is_some_and(|turn| item >= turn + self.ahead);
        let turn = self.changed.wait_while(self.lock(), is_early).unwrap_or_else(PoisonError::into_inner);
        turn.is_some()
    }
}

/// Ends the work when the caller leaves, for whatever reason, or a thread panics: nobody may wait for a turn that never comes.
struct Leaving<'a> {
    gate: &'a Gate,
    is_caller: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.is_caller || thread::panicking() {
            self.gate.set(None);
        }
    }
}

/// Maps the numbers below `items` by what `worker` makes for each thread, and hands on the results in order. The first failure,
/// of a result or of handing one on, ends the work.
pub(crate) fn in_order<R: Send, W: FnMut(usize) -> Result<R>>(
    items: usize,
    threads: usize,
    worker: impl Fn() -> W + Sync,
    mut then: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    if threads <= 1 || items <= 1 {
        let mut worker = worker();
        return (0..items).try_for_each(|item| then(worker(item)?));
    }
    let next = AtomicUsize::new(0);
    let gate = Gate { ahead: WAITING * threads, turn: Mutex::new(Some(0)), changed: Condvar::new() };
    let (send, results) = sync_channel(gate.ahead);
    thread::scope(|scope| {
        for _ in 0..threads.min(items) {
            let (send, worker, next, gate) = (send.clone(), &worker, &next, &gate);
            scope.spawn(move || {
                let _leaving = Leaving { gate, is_caller: false };
                let mut worker = worker();
                loop {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= items || !gate.admits(item) || send.send((item, worker(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send); // so that the last thread's end is the end
        let _leaving = Leaving { gate: &gate, is_caller: true };
        let results = results; // dropped before that: whoever waits to hand over a result stops
        let mut early = BTreeMap::new(); // finished before their turn: at most `gate.ahead`
        let mut turn = 0;
        let mut ended = Ok(());
        while ended.is_ok()
            && let Ok((item, result)) = results.recv()
        {
            early.insert(item, result);
            while ended.is_ok()
                && let Some(result) = early.remove(&turn)
            {
                ended = result.and_then(&mut then);
                turn += 1;
            }
            gate.set(Some(turn));
        }
        ended
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may fail this way
mod tests {
    use super::*;
    use crate::failure::Failure;

    #[test]
    fn results_have_the_order_of_the_items_up_to_a_failure() {
        for threads in [1, 2, 7] {
            let run = |items: usize, fails: usize| {
                let mut got = Vec::new();
                let worker = || {
                    |item: usize| {
                        if item.is_multiple_of(97) {
                            thread::yield_now();
                        }
                        if item == fails { Err(Failure::Negative(item.to_string())) } else { Ok(item * 2) }
                    }
                };
                let ended = in_order(items, threads, worker, |result| {
                    got.push(result);
                    Ok(())
                });
                (ended.err().map(|failure| failure.to_string()), got)
            };
            let expected = |n: usize| (0..n).map(|item| item * 2).collect::<Vec<_>>();
            assert_eq!(run(5000, 9999), (None, expected(5000)));
            assert_eq!(run(5000, 3000), (Some("3000".into()), expected(3000)));
            assert_eq!(run(0, 1), (None, vec![]));
            let ended = in_order(
                5000,
                threads,
                || Ok,
                |item| match item {
                    10 => Err(Failure::Negative("enough".into())),
                    _ => Ok(()),
                },
            );
            assert_eq!(ended.unwrap_err().to_string(), "enough");
        }
    }

    /// The first item takes longer than all others together.
    #[test]
    fn nobody_runs_far_ahead() {
        const THREADS: usize = 4;
        let begun = AtomicUsize::new(0);
        let worker = || {
            |item: usize| {
                begun.fetch_max(item, Ordering::Relaxed);
                if item == 0 {
                    thread::sleep(std::time::Duration::from_millis(200));
                    return Ok(begun.load(Ordering::Relaxed));
                }
                Ok(item)
            }
        };
        let mut got = Vec::new();
        in_order(100_000, THREADS, worker, |result| {
            got.push(result);
            Ok(())
        })
        .unwrap();
        assert!(got[0] > 0 && got[0] < WAITING * THREADS, "{} were begun before the first ended", got[0]);
        assert!(got[1..].iter().copied().eq(1..100_000));
    }

    #[test]
    fn a_panic_ends_the_work() {
        for panicking in [0, 3, 500] {
            let run = |in_worker: bool| {
                let worker = || {
                    |item: usize| {
                        assert!(!in_worker || item != panicking, "a panic that the test wants");
                        Ok(item)
                    }
                };
                in_order(100_000, 4, worker, |item| {
                    assert!(in_worker || item != panicking, "a panic that the test wants");
                    Ok(())
                })
            };
            for in_worker in [true, false] {
                assert!(std::panic::catch_unwind(|| run(in_worker)).is_err());
            }
        }
    }
}
