//! The stages, block by block.
//!
//! Stages take turns on blocks of sequences, so that the clock is read once per block and stage, not per token. Blocks
//! are small enough for their scores to stay in a core's own cache, as those of a single sequence do in `kbest tag`.
//! Blocks are the same in every round, and the best round of each counts: a disturbance seldom hits the same block in
//! all rounds.

use crate::failure::Result;
use crate::text::Source;
use kbest::feature::FeatureBuffer;
use kbest::scoring::{ModelScores, model_lattice};
use kbest::text::{Reader, Writer};
use kbest::{Decode, Decoded, Decoder, LabelId, Model, Scratch, Sequence, Tagger};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Maximum numbers of tokens and of scores per block.
const TOKENS: usize = 1000;
const SCORES: usize = 1 << 16;

/// The stages that are timed.
pub(super) const STAGES: [&str; 6] = ["read", "extract", "score", "decode", "write", "whole"];
const WHOLE: usize = 5;

/// Best seconds of every stage, per block.
#[derive(Debug, Default)]
pub(super) struct Times {
    blocks: Vec<[f64; STAGES.len()]>,
}

impl Times {
    fn keep(&mut self, block: usize, stage: usize, seconds: f64) {
        if block == self.blocks.len() {
            self.blocks.push([f64::INFINITY; STAGES.len()]);
        }
        let best = &mut self.blocks[block][stage];
        *best = best.min(seconds);
    }

    /// Sum over all blocks.
    pub(super) fn seconds(&self, stage: usize) -> f64 {
        self.blocks.iter().map(|block| block[stage]).sum()
    }
}

/// What is measured.
pub(super) struct Work<'a> {
    pub(super) model: Arc<Model>,
    pub(super) decoder: Decoder,
    pub(super) source: Source,
    pub(super) file: &'a Path,
}

/// One sequence on its way through the stages; reused.
#[derive(Default)]
pub(super) struct Item {
    sequence: Sequence,
    pub(super) features: FeatureBuffer,
    scores: ModelScores,
    decoded: Decoded<f32>,
}

impl Work<'_> {
    fn room(&self) -> usize {
        (SCORES / self.model.labels().len()).clamp(1, TOKENS)
    }

    /// One round, stage by stage. `done` sees every sequence, untimed.
    pub(super) fn in_stages(&self, times: &mut Times, mut done: impl FnMut(&Item)) -> Result<()> {
        let mut reader = self.source.open_to_tag(Some(self.file), false)?;
        let mut writer = Writer::new(Vec::new(), self.source.writer_options());
        let mut scratch = Scratch::new();
        let mut items: Vec<Item> = Vec::new();
        let mut buffer = FeatureBuffer::new();
        for block in 0.. {
            let mut clock = Clock { times, block, stage: 0, since: Instant::now() };
            let filled = fill(&mut reader, &mut items, self.room())?;
            if filled == 0 {
                break;
            }
            clock.lap();
            let filled = &mut items[..filled];
            for item in &mut *filled {
                // One buffer for all, as in a tagger: it remembers words. The copy takes a few nanoseconds per token.
                self.model.extractor().extract(&item.sequence, &mut buffer)?;
                item.features = buffer.clone();
            }
            clock.lap();
            let mut lattices = Vec::with_capacity(filled.len());
            for Item { features, scores, decoded, .. } in &mut *filled {
                lattices.push((model_lattice(&self.model, features, scores)?, decoded));
            }
            clock.lap();
            for (lattice, decoded) in lattices {
                self.decoder.decode_into(&lattice, 1, &mut scratch, decoded)?;
            }
            clock.lap();
            for item in &*filled {
                self.write(&mut writer, &item.sequence, &item.decoded.best().labels)?;
            }
            clock.lap();
            filled.iter().for_each(&mut done);
        }
        Ok(())
    }

    /// One round, sequence by sequence.
    pub(super) fn whole(&self, times: &mut Times) -> Result<()> {
        let mut reader = self.source.open_to_tag(Some(self.file), false)?;
        let mut writer = Writer::new(Vec::new(), self.source.writer_options());
        let mut tagger = Tagger::new(self.model.clone()).with_decoder(self.decoder.clone());
        let mut sequence = Sequence::new();
        for block in 0.. {
            let mut clock = Clock { times, block, stage: WHOLE, since: Instant::now() };
            let mut tokens = 0;
            while tokens < self.room() && reader.read_into(&mut sequence)? {
                let tagged = tagger.tag(&sequence, 1)?;
                self.write(&mut writer, &sequence, &tagged.decoded.best().labels)?;
                tokens += sequence.len();
            }
            if tokens == 0 {
                break;
            }
            clock.lap();
        }
        Ok(())
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>, sequence: &Sequence, labels: &[LabelId]) -> Result<()> {
        let names: Vec<&str> =
            labels.iter().map(|&y| self.model.labels().name(y).unwrap_or_default()).collect();
        writer.get_mut().clear();
        Ok(writer.write(sequence, &[&names[..]], None)?)
    }
}

/// Reads sequences until there is no more room; returns their number.
fn fill(reader: &mut Reader, items: &mut Vec<Item>, room: usize) -> Result<usize> {
    let (mut filled, mut tokens) = (0, 0);
    while tokens < room {
        if filled == items.len() {
            items.push(Item::default());
        }
        if !reader.read_into(&mut items[filled].sequence)? {
            break;
        }
        tokens += items[filled].sequence.len();
        filled += 1;
    }
    Ok(filled)
}

/// Times the stages of a block one after the other.
struct Clock<'a> {
    times: &'a mut Times,
    block: usize,
    stage: usize,
    since: Instant,
}

impl Clock<'_> {
    /// Ends a stage.
    fn lap(&mut self) {
        let now = Instant::now();
        self.times.keep(self.block, self.stage, (now - self.since).as_secs_f64());
        (self.stage, self.since) = (self.stage + 1, now);
    }
}
