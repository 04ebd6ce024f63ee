//! Sequences from a pipe through many threads, in order, each answered as soon as its end is read.
//!
//! So that a program can talk to `kbest tag`: it writes a sentence and waits for the labels before it writes the next. A thread
//! of its own reads. Before it would have to wait for more input, it passes on the sequences that it has, complete ones only; and
//! before the caller's thread would have to wait for answers, it flushes what is written. Memory depends on the size of a batch.
//!
//! **When not.** A file never keeps anybody waiting: `pipeline.rs` needs one thread less.

use super::pipeline::{Answered, Batch};
use crate::failure::Result;
use kbest::Sequence;
use kbest::text::Reader;
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Batches under way per worker: the reader waits for one to come back.
const BATCHES: usize = 4;

/// Positions of a batch, if the input comes faster than it is answered.
const ENOUGH: usize = 2048;

/// What the caller's thread does next.
pub(crate) enum Event<'a> {
    /// Write these answers.
    Write(&'a Answered),
    /// Nothing for the moment: flush.
    Flush,
}

/// A batch after the work.
struct Finished {
    number: usize,
    batch: Batch,
    panic: Option<Box<dyn Any + Send>>,
}

/// Answers every sequence with one of the workers, and has the answers written in the order of the sequences. Everything before
/// a failure is written, but nothing of the sequence that fails.
pub(crate) fn as_they_come<W>(
    reader: Reader,
    workers: Vec<W>,
    mut then: impl FnMut(Event<'_>) -> Result<()>,
) -> Result<()>
where
    W: FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()> + Send + 'static,
{
    let (to_workers, batches) = channel();
    let batches = Arc::new(Mutex::new(batches));
    let (to_caller, finished) = channel();
    let (to_reader, spares) = channel();
    for _ in 0..BATCHES * workers.len() {
        let _ = to_reader.send(Batch::default()); // the other end is in this function
    }
    for worker in workers {
        let (batches, to_caller, file) = (batches.clone(), to_caller.clone(), reader.file().to_owned());
        thread::spawn(move || serve(worker, &file, &batches, &to_caller));
    }
    drop(to_caller); // so that the last worker's end is the end
    // Nobody waits for this thread: if writing fails, it may be waiting for input that never comes.
    thread::spawn(move || read(reader, spares, to_workers));

    let mut early: BTreeMap<usize, Finished> = BTreeMap::new(); // finished before their turn
    for number in 0.. {
        while !early.contains_key(&number) {
            let next = match finished.try_recv() {
                Err(TryRecvError::Empty) => {
                    then(Event::Flush)?;
                    finished.recv().ok()
                }
                other => other.ok(),
            };
            match next {
                Some(next) => early.insert(next.number, next),
                None => return then(Event::Flush),
            };
        }
        let Some(Finished { mut batch, panic, .. }) = early.remove(&number) else { continue };
        then(Event::Write(&batch.answered))?;
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        batch.failure.take().map_or(Ok(()), Err)?;
        batch.clear();
        let _ = to_reader.send(batch); // the reader may have finished
    }
    Ok(())
}

/// What the reader has at hand: the batch that it fills.
struct Tray {
    batch: Option<Batch>, // none if nobody wants it any more
    number: usize,
    spares: Receiver<Batch>,
    to_workers: Sender<(usize, Batch)>,
}

impl Tray {
    /// Passes the batch on, and waits for another.
    fn pass_on(&mut self) {
        if let Some(batch) = self.batch.take_if(|batch| !batch.is_empty()) {
            let sent = self.to_workers.send((self.number, batch)).is_ok();
            self.batch = if sent { self.spares.recv().ok() } else { None };
            self.number += 1;
        }
    }
}

/// The loop of the reading thread.
fn read(mut reader: Reader, spares: Receiver<Batch>, to_workers: Sender<(usize, Batch)>) {
    let tray = Tray { batch: spares.recv().ok(), number: 0, spares, to_workers };
    let tray = Arc::new(Mutex::new(tray));
    let shared = tray.clone();
    reader.before_waiting(move || shared.lock().unwrap_or_else(PoisonError::into_inner).pass_on());
    let mut sequence = Sequence::new();
    loop {
        let read = reader.read_into(&mut sequence);
        let mut tray = tray.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(batch) = &mut tray.batch else { return };
        match read {
            Ok(true) => {
                batch.take(&mut sequence, reader.first_line());
                if batch.size() >= ENOUGH {
                    tray.pass_on();
                }
            }
            Ok(false) => return tray.pass_on(),
            Err(error) => {
                batch.failure = Some(error.into());
                return tray.pass_on();
            }
        }
    }
}

/// The loop of a worker's thread, until there are no more batches, nobody wants them, or the worker has panicked.
fn serve<W: FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()>>(
    mut worker: W,
    file: &str,
    batches: &Mutex<Receiver<(usize, Batch)>>,
    to_caller: &Sender<Finished>,
) {
    loop {
        let next = batches.lock().map(|batches| batches.recv());
        let Ok(Ok((number, mut batch))) = next else { return };
        let panic = catch_unwind(AssertUnwindSafe(|| batch.answer(&mut worker, file))).err();
        let is_last = panic.is_some(); // a panic may have left the worker's state inconsistent
        if to_caller.send(Finished { number, batch, panic }).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may fail this way
mod tests {
    use super::*;
    use kbest::text::ReaderOptions;
    use std::io::{Cursor, Read};
    use std::sync::mpsc;

    /// An input of pieces that are there only once somebody has sent them.
    struct Pieces(mpsc::Receiver<Vec<u8>>, Cursor<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            if self.1.position() == self.1.get_ref().len() as u64 {
                let Ok(piece) = self.0.recv() else { return Ok(0) };
                self.1 = Cursor::new(piece);
            }
            self.1.read(bytes)
        }
    }

    fn echo(sequence: &Sequence, _: u64, out: &mut Vec<u8>) -> Result<()> {
        assert_ne!(sequence.cell(0, 0), Some("panic"), "too much");
        (0..sequence.len()).for_each(|t| out.extend(sequence.cell(t, 0).unwrap().bytes()));
        out.push(b'\n');
        Ok(())
    }

    /// Each sequence is answered before the next is complete, though a part of that has been sent.
    #[test]
    fn a_sentence_is_answered_before_the_next() {
        for threads in [1, 2, 5] {
            let (send, pieces) = mpsc::channel();
            let (answers, received) = mpsc::channel();
            let asking = thread::spawn(move || {
                send.send(b"w".to_vec()).unwrap();
                for i in 0..300 {
                    send.send(format!("{i}\nx\n\nw").into_bytes()).unwrap();
                    assert_eq!(received.recv().unwrap(), format!("w{i}x\n"));
                }
            });
            let reader = Reader::new(Pieces(pieces, Cursor::default()), "pipe", &ReaderOptions::columns());
            let mut text = String::new();
            as_they_come(reader.unwrap(), vec![echo; threads], |event| {
                match event {
                    Event::Write(answered) => text += std::str::from_utf8(&answered.text).unwrap(),
                    Event::Flush if !text.is_empty() => answers.send(std::mem::take(&mut text)).unwrap_or(()),
                    Event::Flush => {}
                }
                Ok(())
            })
            .unwrap();
            asking.join().unwrap();
        }
    }

    #[test]
    fn all_is_answered_in_order_and_a_failure_in_its_place() {
        let sentences =
            |range: std::ops::Range<usize>| range.map(|i| format!("w{i}\n\n")).collect::<String>();
        for threads in [1, 3] {
            let run = |text: String| {
                let input = Cursor::new(text.into_bytes());
                let reader = Reader::new(input, "pipe", &ReaderOptions::columns()).unwrap();
                let mut written = Vec::new();
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    as_they_come(reader, vec![echo; threads], |event| {
                        if let Event::Write(answered) = event {
                            written.extend_from_slice(&answered.text);
                        }
                        Ok(())
                    })
                }));
                (ended, String::from_utf8(written).unwrap())
            };
            let expected = |n: usize| (0..n).map(|i| format!("w{i}\n")).collect::<String>();
            let (ended, written) = run(sentences(0..9000));
            assert!(ended.unwrap().is_ok() && written == expected(9000));
            let (ended, written) = run(sentences(0..7000) + "two columns\n\n" + &sentences(0..9000));
            let error = ended.unwrap().unwrap_err().to_string();
            assert!(
                error.starts_with("pipe:14001: expected 1 column") && written == expected(7000),
                "{error}"
            );
            let (ended, written) = run(sentences(0..7000) + "panic\n\n" + &sentences(0..9000));
            assert!(ended.is_err() && written == expected(7000));
            let (ended, written) = run(String::new());
            assert!(ended.unwrap().is_ok() && written.is_empty());
        }
    }
}
