//! Tagging on many threads: an iterator of sequences in, an iterator of answers out.

use super::{Tagged, Tagger};
use crate::scoring::Scorer;
use crate::sequence::Sequence;
use kbest_core::pipeline::{InOrder, in_order};
use kbest_core::{Positions, Result};

/// The answers of [`Tagger::par_tag`]: each sequence is returned with its answer.
pub type ParTag<I, X = Sequence, St = Positions> = InOrder<I, Result<(X, Tagged<St>)>>;

impl<M: Scorer<Input: Send> + 'static> Tagger<M> {
    /// Tags sequences on this many threads (0: all cores); the answers come in the order of the sequences.
    ///
    /// The iterator owns its taggers and shares the model with this one. It reads ahead by a bounded number of
    /// sequences, so the input may be endless; it can be sent to other threads if the input can, and dropped at any
    /// time. For details see [`pipeline`](kbest_core::pipeline).
    ///
    /// Sequences may come from a source that can fail, such as a [`Reader`](crate::text::Reader); an error is
    /// returned in its place in the order, and so is the error of a sequence that cannot be tagged. Neither ends the
    /// iterator: stop at the first one (for example with `?`), or continue with the next sequence. For sequences
    /// already in memory, pass `sequences.into_iter().map(Ok)`.
    ///
    /// ```
    /// use kbest::text::{Reader, ReaderOptions};
    /// use kbest::{Tagger, model::import};
    ///
    /// let model = "version: 100\ncost-factor: 1\nmaxid: 4\nxsize: 1\n\nNOUN\nVERB\n\nU:%x[0,0]\n\n\
    ///              0 U:flies\n2 U:time\n\n-1\n1.5\n2\n0\n";
    /// let tagger = Tagger::new(import::crfpp(model.as_bytes(), "model.txt")?.into());
    /// let text = Reader::new("time\nflies\n\nflies\n".as_bytes(), "text", &ReaderOptions::columns())?;
    /// let mut lengths = Vec::new();
    /// for answer in tagger.par_tag(text, 1, 2) {
    ///     let (sequence, tagged) = answer?;
    ///     assert_eq!(tagged.decoded.best().labels.last(), Some(&1), "flies: VERB");
    ///     lengths.push(sequence.len());
    /// }
    /// assert_eq!(lengths, [2, 1]);
    /// # Ok::<(), kbest::Error>(())
    /// ```
    pub fn par_tag<I>(
        &self,
        sequences: I,
        k: usize,
        threads: usize,
    ) -> ParTag<I::IntoIter, M::Input, M::Structure>
    where
        I: IntoIterator<Item = Result<M::Input>>,
    {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let worker = |mut tagger: Tagger<M>| {
            move |sequence: Result<M::Input>| {
                let sequence = sequence?;
                let tagged = tagger.tag(&sequence, k)?.clone();
                Ok((sequence, tagged))
            }
        };
        let positions = |input: &Result<M::Input>| input.as_ref().map_or(1, M::positions);
        in_order(sequences, positions, (0..threads).map(|_| worker(self.another())).collect())
    }
}
