//! The sequences of a batch on many threads, and the memory that calls keep.

use crate::edges::Prepared;
use kbest::train::MOST_THREADS;
use kbest::{Edges, Float, MarginalScratch, Scratch, pipeline};
use std::cell::RefCell;
use std::sync::Arc;
use std::thread;

/// Working memory of one thread.
#[derive(Debug)]
pub(crate) struct Memory<S: Float> {
    pub(crate) scratch: Scratch<S>,
    pub(crate) marginals: MarginalScratch,
}

impl<S: Float> Default for Memory<S> {
    fn default() -> Self {
        Memory { scratch: Scratch::new(), marginals: MarginalScratch::default() }
    }
}

/// A float type with memory that stays with the thread between calls.
pub(crate) trait Number: Float + numpy::Element {
    const NAME: &'static str;

    /// The edges of this type.
    fn pick(prepared: &Prepared) -> Option<&Arc<Edges<Self>>>;

    /// Edges of this type, as an object.
    fn wrap(edges: Arc<Edges<Self>>) -> Prepared;

    fn with_memory<R>(run: impl FnOnce(&mut Memory<Self>) -> R) -> R;
}

macro_rules! number {
    ($type:ty, $name:literal, $variant:ident) => {
        impl Number for $type {
            const NAME: &'static str = $name;

            fn pick(prepared: &Prepared) -> Option<&Arc<Edges<Self>>> {
                if let Prepared::$variant(edges) = prepared { Some(edges) } else { None }
            }

            fn wrap(edges: Arc<Edges<Self>>) -> Prepared {
                Prepared::$variant(edges)
            }

            fn with_memory<R>(run: impl FnOnce(&mut Memory<Self>) -> R) -> R {
                thread_local! { static MEMORY: RefCell<Memory<$type>> = RefCell::default(); }
                MEMORY.with_borrow_mut(run)
            }
        }
    };
}
number!(f32, "float32", F32);
number!(f64, "float64", F64);

/// More node scores than this are decoded with memory of their own, which is freed after the call.
const KEPT_SCORES: usize = 1 << 22;

/// How many threads to use for this many sequences, if this many are asked for (0: all cores).
pub(crate) fn threads_for(threads: usize, count: usize) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    if threads == 0 && count > 1 { cores() } else { threads }.min(count).min(MOST_THREADS)
}

/// Runs `work` for each index below `count`, on this many threads (0: all cores), and returns the results in order.
/// `scores` is the size of the largest lattice.
pub(crate) fn map<S: Number, R: Send>(
    count: usize,
    threads: usize,
    scores: usize,
    work: impl Fn(&mut Memory<S>, usize) -> R + Sync,
) -> Vec<R> {
    let threads = threads_for(threads, count);
    if threads <= 1 {
        let all = |memory: &mut Memory<S>| (0..count).map(|i| work(memory, i)).collect();
        return if scores <= KEPT_SCORES { S::with_memory(all) } else { all(&mut Memory::default()) };
    }
    pipeline::map(count, threads, || {
        let mut memory = Memory::default();
        let work = &work;
        move |i| work(&mut memory, i)
    })
}
