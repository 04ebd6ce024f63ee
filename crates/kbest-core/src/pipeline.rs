//! Work on many threads, with results in order.
//!
//! **What.** [`in_order`] maps an iterator: items go to worker threads in batches, and the results come back in the
//! order of the items, no matter which thread finishes first. Underneath, [`Pipeline`] moves batches of any type; it
//! reuses a few batches over and over, so that their buffers are kept.
//!
//! [`map`] maps numbers, so its workers may borrow what they look up by number; it returns when all are done.
//!
//! **Guarantees** of [`in_order`]. The caller's own thread fills the batches, so the iterator need be neither `Send` nor `'static`. At
//! most four batches per worker are in flight, so memory depends on the size of the batches, not of the input. Results
//! do not depend on the number of threads: everything before a failure is delivered before it. If a worker panics, the
//! caller panics with the same message, at the place of the item at fault. Dropping a pipeline stops its threads; each
//! finishes at most the batch it is working on.
//!
//! **Cost.** Two channel operations per batch. Batches start small and grow, so that short inputs keep all threads busy
//! too. Threads are started as batches arrive: a single worker runs on the caller's thread, and there are never more
//! threads than batches.
//!
//! **When not.** If items take less than a microsecond each, a plain loop is as fast.
//!
//! ```
//! use kbest_core::pipeline::in_order;
//! // Workers own their state: here, how many items each has seen.
//! let worker = || {
//!     let mut seen = 0;
//!     move |item: u64| {
//!         seen += 1;
//!         item * item
//!     }
//! };
//! let squares = in_order(0..10_000u64, |_| 1, vec![worker(), worker()]);
//! assert!(squares.eq((0..10_000).map(|item| item * item)));
//! ```

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::iter::{Fuse, FusedIterator};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder, JoinHandle};

/// Batches in flight per worker.
const BATCHES: usize = 4;

/// Size of the first batches: few positions, so that even a short text is divided.
const SMALLEST: usize = 128;

/// Size of later batches: large enough to make handing over cheap, small enough to keep all workers busy.
const LARGEST: usize = 4096;

type Worker<B> = Box<dyn FnMut(&mut B) + Send>;

/// The payload of a panic.
type Panic = Box<dyn Any + Send>;

/// A batch after the work, done as far as the worker got.
struct Finished<B> {
    number: usize,
    batch: B,
    panic: Option<Panic>,
}

/// Workers in threads of their own, and the batches on their way to and from them.
struct Threads<B> {
    to_start: Vec<Worker<B>>,
    to_workers: Option<Sender<(usize, B)>>,
    batches: Arc<Mutex<Receiver<(usize, B)>>>,
    to_caller: Sender<Finished<B>>,
    finished: Option<Receiver<Finished<B>>>,
    early: BTreeMap<usize, Finished<B>>, // finished before their turn
    handles: Vec<JoinHandle<()>>,
}

/// Runs batches through workers, and returns them in order.
///
/// [`Pipeline::advance`] returns one batch after another. `B` is whatever the work needs: input, output, and buffers
/// worth keeping.
///
/// ```
/// use kbest_core::pipeline::Pipeline;
///
/// #[derive(Default)]
/// struct Lines(Vec<String>);
///
/// let shout = || |lines: &mut Lines| lines.0.iter_mut().for_each(|line| line.make_ascii_uppercase());
/// let mut pipeline = Pipeline::new(vec![shout(), shout()]);
/// let mut text = "one two three".split(' ');
/// let (mut batch, mut all) = (Lines::default(), Vec::new());
/// while pipeline.advance(&mut batch, |lines, size| {
///     lines.0.clear();
///     lines.0.extend(text.by_ref().take(size).map(String::from));
///     !lines.0.is_empty()
/// }) {
///     all.append(&mut batch.0);
/// }
/// assert_eq!(all, ["ONE", "TWO", "THREE"]);
/// ```
pub struct Pipeline<B> {
    alone: Option<Worker<B>>, // a single worker, which runs on the caller's thread
    threads: Threads<B>,
    workers: usize,
    spare: Vec<B>,
    filled: usize,    // batches so far
    delivered: usize, // batches handed out so far
    more: bool,       // whether there may be more to fill
    panic: Option<Panic>,
}

impl<B: Default + Send + 'static> Pipeline<B> {
    /// One thread per worker; a single worker needs none. A pipeline without workers returns nothing.
    pub fn new<W: FnMut(&mut B) + Send + 'static>(workers: Vec<W>) -> Self {
        let mut boxed: Vec<Worker<B>> = workers.into_iter().map(|worker| Box::new(worker) as _).collect();
        let workers = boxed.len();
        let alone = if workers == 1 { boxed.pop() } else { None };
        let (more, threads) = (workers > 0, Threads::new(boxed));
        Pipeline { alone, threads, workers, spare: Vec::new(), filled: 0, delivered: 0, more, panic: None }
    }

    /// Puts the next finished batch into `batch`, whose buffers are reused; returns false after the last.
    ///
    /// `fill` is called for later batches: it replaces the contents of a batch with the next input and returns whether
    /// there was any. The size it is given says how much input to take (128 at first, up to 4096 later; the unit is up
    /// to the caller). It is not called again after it has returned false.
    ///
    /// # Panics
    /// If a worker has panicked: with its message, and only once, after the batch it was working on has been returned
    /// as far as it got. If the system cannot start a single thread.
    pub fn advance(&mut self, batch: &mut B, mut fill: impl FnMut(&mut B, usize) -> bool) -> bool {
        if let Some(panic) = self.panic.take() {
            (self.more, self.delivered) = (false, self.filled);
            resume_unwind(panic);
        }
        if self.delivered == self.filled && !self.more {
            return false;
        }
        self.spare.push(std::mem::take(batch));
        loop {
            if self.more && self.filled - self.delivered < BATCHES * self.workers {
                self.send_one(&mut fill);
            }
            if self.delivered == self.filled && !self.more {
                return false;
            }
            let has_room = self.more && self.filled - self.delivered < BATCHES * self.workers;
            if let Some(finished) = self.threads.take(self.delivered, !has_room) {
                self.delivered += 1;
                self.panic = finished.panic;
                *batch = finished.batch;
                return true;
            }
        }
    }

    /// Fills a batch and hands it over, or works on it directly.
    fn send_one(&mut self, fill: &mut impl FnMut(&mut B, usize) -> bool) {
        let mut batch = self.spare.pop().unwrap_or_default();
        let doublings = (self.filled / (2 * self.workers)).min(LARGEST.ilog2() as usize);
        let size = LARGEST.min(SMALLEST << doublings);
        self.more = false; // remains false if `fill` panics
        self.more = fill(&mut batch, size);
        if !self.more {
            return;
        }
        let number = self.filled;
        match &mut self.alone {
            Some(worker) => {
                let panic = work(worker, &mut batch);
                self.threads.early.insert(number, Finished { number, batch, panic });
            }
            None => self.threads.send(number, batch),
        }
        self.filled += 1;
    }
}

impl<B: Send + 'static> Threads<B> {
    fn new(to_start: Vec<Worker<B>>) -> Self {
        let (to_workers, batches) = channel();
        let (to_caller, finished) = channel();
        Threads {
            to_start,
            to_workers: Some(to_workers),
            batches: Arc::new(Mutex::new(batches)),
            to_caller,
            finished: Some(finished),
            early: BTreeMap::new(),
            handles: Vec::new(),
        }
    }

    /// Hands a batch to the next free worker. More workers than batches would be idle, so no more are started.
    fn send(&mut self, number: usize, batch: B) {
        if let Some(worker) = self.to_start.pop() {
            let (batches, to_caller) = (self.batches.clone(), self.to_caller.clone());
            match Builder::new().spawn(move || serve(worker, &batches, &to_caller)) {
                Ok(handle) => self.handles.push(handle),
                Err(error) if self.handles.is_empty() => panic!("cannot start a thread: {error}"),
                Err(_) => self.to_start.clear(), // the threads already running do all the work
            }
        }
        let to_workers = self.to_workers.as_ref().expect("only `drop` closes the channel");
        to_workers.send((number, batch)).expect("this struct holds the other end, too");
    }

    /// The batch with this number if it is finished; with `wait`, blocks until at least one batch is finished.
    ///
    /// Blocking always ends: a worker that panics reports it before it stops. Batches are taken in order, so batches
    /// that no worker takes any more come after the one at fault, and are never asked for.
    fn take(&mut self, number: usize, wait: bool) -> Option<Finished<B>> {
        let finished = self.finished.as_ref().expect("only `drop` closes the channel");
        while !self.early.contains_key(&number) {
            let next = if wait { finished.recv().ok()? } else { finished.try_recv().ok()? };
            self.early.insert(next.number, next);
        }
        self.early.remove(&number)
    }
}

/// The loop of a thread, until there are no more batches, nobody wants them, or its worker has panicked.
fn serve<B>(mut worker: Worker<B>, batches: &Mutex<Receiver<(usize, B)>>, to_caller: &Sender<Finished<B>>) {
    loop {
        let next = batches.lock().map(|batches| batches.recv());
        let Ok(Ok((number, mut batch))) = next else { return };
        let panic = work(&mut worker, &mut batch);
        let is_last = panic.is_some(); // a panic may have left the worker's state inconsistent
        if to_caller.send(Finished { number, batch, panic }).is_err() || is_last {
            return;
        }
    }
}

/// Works on a batch, and catches a panic for the caller. The worker's state is not used after a panic.
fn work<B>(worker: &mut Worker<B>, batch: &mut B) -> Option<Panic> {
    catch_unwind(AssertUnwindSafe(|| worker(batch))).err()
}

impl<B> Drop for Threads<B> {
    fn drop(&mut self) {
        self.finished = None; // a worker that cannot hand over its batch stops, even if there is work left
        self.to_workers = None;
        for handle in self.handles.drain(..) {
            let _ = handle.join(); // the threads catch panics, and results are no longer wanted
        }
    }
}

impl<B> fmt::Debug for Pipeline<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pipeline { workers, filled, delivered, more, .. } = self;
        let mut debug = f.debug_struct("Pipeline");
        debug.field("workers", workers).field("filled", filled).field("delivered", delivered);
        debug.field("more", more).finish_non_exhaustive()
    }
}

/// Items, replaced by their results once they have been worked on.
#[derive(Debug)]
struct Items<T, U> {
    items: Vec<T>,
    results: VecDeque<U>,
}

impl<T, U> Default for Items<T, U> {
    fn default() -> Self {
        Items { items: Vec::new(), results: VecDeque::new() }
    }
}

/// Maps the numbers below `count` on up to `threads` threads; the results have the order of the numbers.
///
/// `worker` makes what each thread works with. A thread takes the next number that nobody has, so numbers may differ in
/// how long they take. If a worker panics, so does the caller, with the same message.
///
/// ```
/// use kbest_core::pipeline::map;
/// let words = ["one", "three", "seventeen"];
/// let lengths = map(words.len(), 2, || |i| words[i].len());
/// assert_eq!(lengths, [3, 5, 9]);
/// ```
pub fn map<R: Send, W: FnMut(usize) -> R>(
    count: usize,
    threads: usize,
    worker: impl Fn() -> W + Sync,
) -> Vec<R> {
    if threads <= 1 || count <= 1 {
        return (0..count).map(worker()).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut worker, mut done) = (worker(), Vec::new());
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return done;
            }
            done.push((i, worker(i)));
        }
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let done = threads.into_iter().map(|thread| thread.join());
        done.flat_map(|done| done.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    all.sort_unstable_by_key(|(i, _)| *i);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The results of [`in_order`]: an iterator that owns its workers.
pub struct InOrder<I: Iterator, U> {
    items: Fuse<I>,
    size: fn(&I::Item) -> usize,
    pipeline: Pipeline<Items<I::Item, U>>,
    current: Items<I::Item, U>,
}

/// Maps the items by the workers; the results have the order of the items.
///
/// `size` returns how much work an item is, compared with others; batches have a size of up to 4096.
pub fn in_order<I, U, W>(items: I, size: fn(&I::Item) -> usize, workers: Vec<W>) -> InOrder<I::IntoIter, U>
where
    I: IntoIterator<Item: Send + 'static>,
    U: Send + 'static,
    W: FnMut(I::Item) -> U + Send + 'static,
{
    let on_batches = |mut worker: W| {
        move |batch: &mut Items<I::Item, U>| {
            let Items { items, results } = batch;
            items.drain(..).for_each(|item| results.push_back(worker(item)));
        }
    };
    let pipeline = Pipeline::new(workers.into_iter().map(on_batches).collect());
    InOrder { items: items.into_iter().fuse(), size, pipeline, current: Items::default() }
}

impl<I, U> Iterator for InOrder<I, U>
where
    I: Iterator<Item: Send + 'static>,
    U: Send + 'static,
{
    type Item = U;

    fn next(&mut self) -> Option<U> {
        let InOrder { items, size, pipeline, current } = self;
        loop {
            if let Some(result) = current.results.pop_front() {
                return Some(result);
            }
            let more = pipeline.advance(current, |batch, enough| {
                batch.items.clear();
                batch.results.clear();
                let mut sum = 0usize;
                while sum < enough
                    && let Some(item) = items.next()
                {
                    sum = size(&item).max(1).saturating_add(sum);
                    batch.items.push(item);
                }
                !batch.items.is_empty()
            });
            if !more {
                return None;
            }
        }
    }
}

impl<I, U> FusedIterator for InOrder<I, U>
where
    I: Iterator<Item: Send + 'static>,
    U: Send + 'static,
{
}

impl<I: Iterator, U> fmt::Debug for InOrder<I, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InOrder").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}
