//! Sequences through many threads, in order.
//!
//! One thread reads, some answer, the caller's writes. Sequences travel in batches that are used again and again, and no more
//! than a few are on their way, so memory follows the batch and not the file. One thread alone does it all itself.

use crate::failure::{Failure, Result};
use kbest::Sequence;
use kbest::columns::Reader;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Positions in a batch: enough to make handing over cheap, few enough to keep all threads busy.
const POSITIONS: usize = 4096;

/// Batches on their way, for each thread.
const BATCHES: usize = 4;

/// What a thread made of a batch.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// The text to write.
    pub(crate) text: Vec<u8>,
    /// Sequences it is about.
    pub(crate) sequences: usize,
    /// Their positions.
    pub(crate) positions: usize,
}

/// Sequences that travel together. Those behind `filled` are spare.
#[derive(Debug, Default)]
struct Batch {
    sequences: Vec<Sequence>,
    lines: Vec<u64>, // that the sequences begin with
    filled: usize,
}

impl Batch {
    fn fill(&mut self, reader: &mut Reader) -> Result<bool> {
        self.filled = 0;
        self.lines.clear();
        let mut positions = 0;
        while positions < POSITIONS {
            if self.filled == self.sequences.len() {
                self.sequences.push(Sequence::new());
            }
            if !reader.read_into(&mut self.sequences[self.filled])? {
                break;
            }
            positions += self.sequences[self.filled].len();
            self.lines.push(reader.first_line());
            self.filled += 1;
        }
        Ok(self.filled > 0)
    }
}

/// Answers every sequence with one of the workers and writes the answers in the order of the sequences.
pub(crate) fn in_order<W>(
    reader: &mut Reader,
    mut workers: Vec<W>,
    mut write: impl FnMut(&Answered) -> Result<()>,
) -> Result<()>
where
    W: FnMut(&Sequence, &mut Answered) -> Result<()> + Send,
{
    let file = reader.file().to_owned();
    let answer = |worker: &mut W, batch: &Batch, answered: &mut Answered| {
        answered.text.clear();
        (answered.sequences, answered.positions) = (0, 0);
        for (sequence, line) in batch.sequences.iter().zip(&batch.lines) {
            worker(sequence, answered).map_err(|failure| at(&file, *line, failure))?;
            answered.sequences += 1;
            answered.positions += sequence.len();
        }
        Ok(())
    };
    if let [worker] = &mut workers[..] {
        let (mut batch, mut answered) = (Batch::default(), Answered::default());
        while batch.fill(reader)? {
            answer(worker, &batch, &mut answered)?;
            write(&answered)?;
        }
        return Ok(());
    }
    let limit = BATCHES * workers.len();
    let (to_workers, batches) = sync_channel::<(usize, Batch)>(limit);
    let (to_writer, answers) = sync_channel::<(usize, Batch, Result<Answered>)>(limit);
    let batches = &Mutex::new(batches);
    std::thread::scope(|scope| {
        for mut worker in workers {
            let to_writer = to_writer.clone();
            scope.spawn(move || {
                while let Some((number, batch)) = next(batches) {
                    let mut answered = Answered::default();
                    let result = answer(&mut worker, &batch, &mut answered).map(|()| answered);
                    if to_writer.send((number, batch, result)).is_err() {
                        break; // the writer has given up
                    }
                }
            });
        }
        drop(to_writer);
        let outcome = feed(reader, limit, to_workers, &answers, &mut write);
        drop(answers); // lets workers that wait to hand over stop
        outcome
    })
}

/// Says which sequence could not be answered.
fn at(file: &str, line: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Library(error) => Failure::input(&format!("{file}:{line}"), error),
        other => other,
    }
}

/// The next batch, `None` if there are no more.
fn next(batches: &Mutex<Receiver<(usize, Batch)>>) -> Option<(usize, Batch)> {
    batches.lock().ok()?.recv().ok()
}

/// Reads, hands out and writes what comes back, in turns, so that never more than `limit` batches are on their way.
fn feed(
    reader: &mut Reader,
    limit: usize,
    to_workers: SyncSender<(usize, Batch)>,
    answers: &Receiver<(usize, Batch, Result<Answered>)>,
    write: &mut impl FnMut(&Answered) -> Result<()>,
) -> Result<()> {
    let mut waiting: BTreeMap<usize, Answered> = BTreeMap::new(); // answers that came before their turn
    let mut spare: Vec<Batch> = Vec::new();
    let (mut sent, mut written) = (0, 0);
    let mut more = true;
    while more || written < sent {
        while more && sent - written < limit {
            let mut batch = spare.pop().unwrap_or_default();
            more = batch.fill(reader)?;
            if more && to_workers.send((sent, batch)).is_ok() {
                sent += 1;
            }
        }
        if written == sent {
            continue;
        }
        let Ok((number, batch, answered)) = answers.recv() else { break };
        spare.push(batch);
        waiting.insert(number, answered?);
        while let Some(answered) = waiting.remove(&written) {
            write(&answered)?;
            written += 1;
        }
    }
    Ok(())
}
