//! Sequences from a reader through many threads, in order.
//!
//! The caller's thread reads and writes, workers answer ([`Pipeline`]). Batches travel with their sequences and their text,
//! and are used again and again: memory follows the batch and not the file.

use crate::failure::{Failure, Result};
use kbest::Sequence;
use kbest::columns::Reader;
use kbest::pipeline::Pipeline;

/// What a worker made of a batch.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// The text to write.
    pub(crate) text: Vec<u8>,
    /// Sequences it is about.
    pub(crate) sequences: usize,
}

/// Sequences that travel together, and what became of them. Sequences behind the lines are spare.
#[derive(Default)]
struct Batch {
    sequences: Vec<Sequence>,
    lines: Vec<u64>, // that the sequences begin with
    answered: Answered,
    failure: Option<Failure>, // of what comes next: a sequence, or reading on
}

impl Batch {
    /// Reads about so many positions; false at the end. A failure to read waits for its turn behind the sequences before it.
    fn fill(&mut self, reader: &mut Reader, enough: usize) -> bool {
        self.lines.clear();
        self.answered.text.clear();
        self.answered.sequences = 0;
        let mut positions = 0;
        while positions < enough {
            let next = self.lines.len();
            if next == self.sequences.len() {
                self.sequences.push(Sequence::new());
            }
            match reader.read_into(&mut self.sequences[next]) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.failure = Some(error.into());
                    return true;
                }
            }
            positions += self.sequences[next].len();
            self.lines.push(reader.first_line());
        }
        !self.lines.is_empty()
    }

    /// Answers the sequences, up to the first that fails.
    fn answer(&mut self, worker: &mut impl FnMut(&Sequence, &mut Vec<u8>) -> Result<()>, file: &str) {
        for (sequence, line) in self.sequences.iter().zip(&self.lines) {
            if let Err(failure) = worker(sequence, &mut self.answered.text) {
                self.failure = Some(at(file, *line, failure));
                return;
            }
            self.answered.sequences += 1;
        }
    }
}

/// Answers every sequence with one of the workers and writes the answers in the order of the sequences. What comes before a
/// failure is written; of a sequence that fails, nothing.
pub(crate) fn in_order<W>(
    reader: &mut Reader,
    workers: Vec<W>,
    mut write: impl FnMut(&Answered) -> Result<()>,
) -> Result<()>
where
    W: FnMut(&Sequence, &mut Vec<u8>) -> Result<()> + Send + 'static,
{
    let on_batches = |mut worker: W| {
        let file = reader.file().to_owned();
        move |batch: &mut Batch| batch.answer(&mut worker, &file)
    };
    let mut pipeline = Pipeline::new(workers.into_iter().map(on_batches).collect());
    let mut batch = Batch::default();
    let mut failed = false; // to read: there is no reading on
    while pipeline.advance(&mut batch, |batch, enough| {
        let more = !failed && batch.fill(reader, enough);
        failed |= batch.failure.is_some();
        more
    }) {
        write(&batch.answered)?;
        batch.failure.take().map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Says which sequence could not be answered.
fn at(file: &str, line: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Library(error) => Failure::input(&format!("{file}:{line}"), error),
        other => other,
    }
}
