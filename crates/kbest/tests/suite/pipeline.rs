//! Many threads, one order: results do not depend on the number of threads, failures come in their place, and nothing
//! hangs.

use kbest::model::import;
use kbest::pipeline::{Pipeline, in_order};
use kbest::{Error, ParTag, Sequence, Tagger};
use std::cell::Cell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

const THREADS: [usize; 4] = [1, 2, 3, 8];

/// Work that takes longer the more often two divides the number plus one, so that threads overtake one another.
fn slow(number: usize) -> usize {
    thread::sleep(Duration::from_micros((number as u64 + 1).trailing_zeros().into()));
    number + 1
}

#[test]
fn results_come_in_order_on_any_number_of_threads() {
    for threads in THREADS {
        for items in [0, 1, 2, 127, 128, 129, 3000] {
            let results = in_order(0..items, |_| 1, vec![slow; threads]);
            assert!(results.eq(1..=items), "{items} items, {threads} threads");
        }
        // Items larger than any batch, and items of no size at all.
        assert!(in_order(0..50, |_| 1_000_000, vec![slow; threads]).eq(1..=50));
        assert!(in_order(0..500, |_| 0, vec![slow; threads]).eq(1..=500));
    }
    assert_eq!(in_order(0..9, |_| 1, Vec::<fn(usize) -> usize>::new()).next(), None, "no workers");
}

#[test]
fn the_end_is_asked_for_once_only() {
    let asked = Cell::new(0);
    let items = std::iter::from_fn(|| {
        asked.set(asked.get() + 1);
        (asked.get() < 300).then_some(asked.get()) // another call would find 0 items, and then no more ends
    });
    let mut results = in_order(items, |_| 1, vec![slow; 2]);
    assert_eq!(results.by_ref().count(), 299);
    assert_eq!((results.next(), asked.get()), (None, 300));
}

#[test]
fn a_panic_comes_behind_all_that_was_before_it() {
    for threads in THREADS {
        for culprit in [0, 1, 200, 1999] {
            let worker = move |item: usize| {
                // Later ones fail, too, and sooner: the first one in order counts.
                assert!(item < culprit, "{item} is too much");
                slow(item)
            };
            let mut results = in_order(0..2000, |_| 1, vec![worker; threads]);
            let before: Vec<usize> = results.by_ref().take(culprit).collect();
            assert!(before.into_iter().eq(1..=culprit), "{threads} threads");
            let panic = catch_unwind(AssertUnwindSafe(|| results.next())).unwrap_err();
            assert_eq!(panic.downcast_ref::<String>().unwrap(), &format!("{culprit} is too much"));
            assert_eq!(results.next(), None, "nothing comes after it");
        }
    }
}

#[test]
fn memory_is_bounded_and_dropping_stops_the_threads() {
    const LARGEST: usize = 4096;
    for threads in THREADS {
        let shared = Arc::new(AtomicUsize::new(0));
        let taken = Cell::new(0);
        let endless = (0..).inspect(|_| taken.set(taken.get() + 1));
        let worker = || {
            let shared = shared.clone();
            move |item: usize| {
                shared.fetch_add(1, Ordering::Relaxed);
                item
            }
        };
        let mut results = in_order(endless, |_| 1, (0..threads).map(|_| worker()).collect());
        for i in 0..100_000 {
            assert_eq!(results.next(), Some(i));
            assert!(taken.get() - i <= LARGEST * (4 * threads + 1), "{} of {i}", taken.get());
        }
        drop(results);
        let done = shared.load(Ordering::Relaxed);
        assert_eq!(Arc::strong_count(&shared), 1, "the workers are gone");
        thread::sleep(Duration::from_millis(5));
        assert_eq!(shared.load(Ordering::Relaxed), done);
    }
}

#[test]
fn one_worker_needs_no_thread_and_short_inputs_use_several() {
    let me = || |_: usize| thread::current().id();
    assert!(in_order(0..1000, |_| 1, vec![me()]).all(|id| id == thread::current().id()));
    let slow = || {
        |_: usize| {
            thread::sleep(Duration::from_millis(1));
            thread::current().id()
        }
    };
    let ids: HashSet<ThreadId> = in_order(0..600, |_| 1, vec![slow(), slow()]).collect();
    assert_eq!(ids.len(), 2);
    assert!(!ids.contains(&thread::current().id()));
}

#[test]
fn batches_are_used_again() {
    #[derive(Default)]
    struct Batch {
        fresh: Option<()>,
        number: usize,
    }
    for threads in THREADS {
        let made = Arc::new(Mutex::new(0));
        let mut pipeline = Pipeline::new(vec![|batch: &mut Batch| batch.number *= 2; threads]);
        let (mut next, mut batch) = (0, Batch { fresh: Some(()), number: 0 });
        let mut results = Vec::new();
        let counter = made.clone();
        while pipeline.advance(&mut batch, |batch, size| {
            assert!((128..=4096).contains(&size));
            if batch.fresh.replace(()).is_none() {
                *counter.lock().unwrap() += 1;
            }
            batch.number = next;
            next += 1;
            next <= 1000
        }) {
            results.push(batch.number);
        }
        assert!(results.into_iter().eq((0..1000).map(|number| 2 * number)));
        assert!(*made.lock().unwrap() <= 4 * threads, "batches are reused");
    }
}

const MODEL: &str = "version: 100\ncost-factor: 1\nmaxid: 4\nxsize: 1\n\nNOUN\nVERB\n\nU:%x[0,0]\n\n\
                     0 U:flies\n2 U:time\n\n-1\n1.5\n2\n0\n";

#[test]
fn taggers_answer_in_order_and_errors_come_in_their_place() {
    fn is_free<T: Send + 'static>(answers: T) -> T {
        answers
    }
    let tagger = Tagger::new(Arc::new(import::crfpp(MODEL.as_bytes(), "model").unwrap()));
    let sequence = |i: usize| Sequence::from_tokens((0..i % 7).map(|t| ["time", "flies"][(i >> t) % 2]));
    let item = move |i: usize| match i {
        300 => Err(Error::data("text", 7, "sense", "nonsense")),
        600 => Ok({
            let mut bare = Sequence::new();
            bare.push_position(); // without the column that the model looks at
            bare
        }),
        _ => Ok(sequence(i)),
    };
    for threads in [0, 1, 2, 5] {
        let mut alone = tagger.another();
        let answers: ParTag<_> = is_free(tagger.par_tag((0..2000).map(item), 2, threads));
        let mut seen = 0;
        for (i, answer) in answers.enumerate() {
            seen += 1;
            match (i, answer) {
                (300, answer) => assert_eq!(answer.unwrap_err(), item(300).unwrap_err()),
                (600, answer) => assert!(matches!(answer, Err(Error::Shape { .. })), "{answer:?}"),
                (i, answer) => {
                    let (given_back, tagged) = answer.unwrap();
                    assert_eq!(given_back, sequence(i));
                    assert_eq!(tagged.decoded.paths, alone.tag(&sequence(i), 2).unwrap().decoded.paths);
                }
            }
        }
        assert_eq!(seen, 2000, "errors do not end it");
    }
}
