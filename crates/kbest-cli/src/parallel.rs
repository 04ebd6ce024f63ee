//! Work on many threads that share what is in memory, with results in order.
//!
//! Each thread takes the next item that nobody has; the caller's thread puts results in order and hands them on. Items may be
//! borrowed, unlike those of [`kbest::pipeline`].

use crate::failure::Result;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

/// Results that may wait for the caller, per thread.
const WAITING: usize = 16;

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
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (send, results) = sync_channel(WAITING * threads);
    thread::scope(|scope| {
        for _ in 0..threads.min(items) {
            let (send, worker, next, over) = (send.clone(), &worker, &next, &over);
            scope.spawn(move || {
                let mut worker = worker();
                while !over.load(Ordering::Relaxed) {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= items || send.send((item, worker(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send); // so that the last thread's end is the end
        let mut early = BTreeMap::new(); // finished before their turn
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
        }
        over.store(true, Ordering::Relaxed);
        drop(results); // whoever waits to hand over a result stops
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
}
