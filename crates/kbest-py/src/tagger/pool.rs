//! Taggers of the library for any number of threads: idle ones are kept with their memory.

use super::PyTagger;
use super::model::Engine;
use kbest::train::MOST_THREADS;
use kbest::{LabelId, Sequence, pipeline};
use std::sync::PoisonError;

impl PyTagger {
    /// Runs with a tagger of the library.
    pub(crate) fn with<R>(&self, confidences: bool, run: impl FnOnce(&mut dyn Engine) -> R) -> R {
        let idle = &self.idle[usize::from(confidences)];
        let waiting = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut engine = waiting.unwrap_or_else(|| self.engine.another(confidences));
        let result = run(&mut *engine);
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(engine);
        result
    }

    /// The best tags of all sequences, on many threads.
    pub(crate) fn tag_all(&self, sequences: &[Sequence], threads: usize) -> Vec<kbest::Result<Vec<LabelId>>> {
        self.map_rows(sequences.len(), threads, false, |engine, i| engine.best(&sequences[i], &self.tags))
    }

    /// Runs `work` for each index below `count` with a tagger, on many threads; results in order.
    pub(crate) fn map_rows<R: Send>(
        &self,
        count: usize,
        threads: usize,
        confidences: bool,
        work: impl Fn(&mut dyn Engine, usize) -> R + Sync,
    ) -> Vec<R> {
        /// Indices that a thread takes at once.
        const CHUNK: usize = 16;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let useful = count.div_ceil(CHUNK).clamp(1, MOST_THREADS);
        let threads = if threads == 0 { cores() } else { threads }.clamp(1, useful);
        let chunk = |c: usize| {
            let numbers = c * CHUNK..((c + 1) * CHUNK).min(count);
            self.with(confidences, |engine| numbers.map(|i| work(engine, i)).collect::<Vec<_>>())
        };
        pipeline::map(count.div_ceil(CHUNK), threads, || chunk).into_iter().flatten().collect()
    }
}
