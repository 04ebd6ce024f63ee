//! Sequences from a file through many threads, in order.
//!
//! The caller's thread reads and writes, workers answer ([`Pipeline`]). Batches carry their sequences and their output
//! text and are reused: memory depends on the size of a batch, not on that of the file.

use crate::failure::{Failure, Result};
use kbest::Sequence;
use kbest::pipeline::Pipeline;
use kbest::text::Reader;

/// What a worker made of a batch.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    /// The text to write.
    pub(crate) text: Vec<u8>,
    /// Number of sequences answered.
    pub(crate) sequences: usize,
}

/// Sequences that travel together, and their answers. Sequences beyond `lines.len()` are spare.
#[derive(Default)]
pub(super) struct Batch {
    sequences: Vec<Sequence>,
    lines: Vec<u64>, // first line of each sequence
    pub(super) answered: Answered,
    pub(super) failure: Option<Failure>, // of the next sequence, or of reading it
}

impl Batch {
    /// Empties it and keeps its memory.
    pub(super) fn clear(&mut self) {
        self.lines.clear();
        self.answered.text.clear();
        self.answered.sequences = 0;
        self.failure = None;
    }

    /// Takes a sequence, and leaves a spare one in its place.
    pub(super) fn take(&mut self, sequence: &mut Sequence, line: u64) {
        let next = self.lines.len();
        if next == self.sequences.len() {
            self.sequences.push(Sequence::new());
        }
        std::mem::swap(&mut self.sequences[next], sequence);
        self.lines.push(line);
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.failure.is_none()
    }

    /// Number of positions, a sequence counting as one at least.
    pub(super) fn size(&self) -> usize {
        self.sequences.iter().take(self.lines.len()).map(|sequence| sequence.len().max(1)).sum()
    }

    /// Reads about `enough` positions; false at the end. A read error is reported after the sequences before it.
    fn fill(&mut self, reader: &mut Reader, enough: usize) -> bool {
        self.clear();
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
            positions += self.sequences[next].len().max(1);
            self.lines.push(reader.first_line());
        }
        !self.lines.is_empty()
    }

    /// Answers the sequences up to the first that fails.
    pub(super) fn answer(
        &mut self,
        worker: &mut impl FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()>,
        file: &str,
    ) {
        for (sequence, line) in self.sequences.iter().zip(&self.lines) {
            if let Err(failure) = worker(sequence, *line, &mut self.answered.text) {
                self.failure = Some(at(file, *line, failure));
                return;
            }
            self.answered.sequences += 1;
        }
    }
}

/// Answers every sequence with one of the workers, which is told its first line, and writes the answers in the order of the sequences. Everything
/// before a failure is written, but nothing of the sequence that fails.
pub(crate) fn in_order<W>(
    reader: &mut Reader,
    workers: Vec<W>,
    mut write: impl FnMut(&Answered) -> Result<()>,
) -> Result<()>
where
    W: FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()> + Send + 'static,
{
    let on_batches = |mut worker: W| {
        let file = reader.file().to_owned();
        move |batch: &mut Batch| batch.answer(&mut worker, &file)
    };
    let mut pipeline = Pipeline::new(workers.into_iter().map(on_batches).collect());
    let mut batch = Batch::default();
    let mut failed = false; // once reading fails, it does not continue
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

/// Adds the place of the sequence that could not be answered.
fn at(file: &str, line: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Library(error) => Failure::input(&format!("{file}:{line}"), error),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may fail this way
mod tests {
    use super::*;
    use kbest::text::ReaderOptions;
    use std::io::Cursor;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A panic in a thread neither hangs nor swallows what comes before it.
    #[test]
    fn a_panic_comes_after_whole_sentences() {
        let sentence = |i: usize| format!("w{i}\nx\n\n");
        for threads in [1, 2, 5] {
            let text: String = (0..5000).map(sentence).collect();
            let options = ReaderOptions::columns();
            let mut reader = Reader::new(Cursor::new(text.into_bytes()), "text", &options).unwrap();
            let worker = |_| {
                |sequence: &Sequence, _: u64, out: &mut Vec<u8>| {
                    let cells: Vec<&str> = (0..2).map(|t| sequence.cell(t, 0).unwrap()).collect();
                    assert!(cells[0] != "w3456", "too much");
                    out.extend(format!("{}\n{}\n\n", cells[0], cells[1]).bytes());
                    Ok(())
                }
            };
            let mut written = Vec::new();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                in_order(&mut reader, (0..threads).map(worker).collect(), |answered| {
                    written.extend(&answered.text);
                    Ok(())
                })
            }));
            assert!(caught.is_err(), "{threads} threads");
            let expected: String = (0..3456).map(sentence).collect();
            assert_eq!(String::from_utf8(written).unwrap(), expected, "{threads} threads");
        }
    }
}
