//! Searching with a learned bound, and checking what it finds.

use super::TaggerArguments;
use crate::failure::{Failure, Result, as_typed};
use crate::stable_hash::stable_hash;
use clap::Args;
use kbest::scheme::KnownTag;
use kbest::segment::{Estimate, Guarantee, SegmentDecoded, SegmentDecoder};
use kbest::{SegmentModel, SegmentTagger, Sequence};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Options for searching with less than certainty.
#[derive(Debug, Args)]
pub(crate) struct Bound {
    /// Search with the bound in the model (see `kbest learn-bound`): fast, and probably right. `learned` is the only one
    #[arg(long, value_name = "BOUND")]
    bound: Option<String>,
    /// With --bound: decode this share of the sequences exactly, too, and report how often and by how much answers fell
    /// short
    #[arg(long, value_name = "SHARE")]
    verify: Option<f64>,
}

impl Bound {
    /// Refuses the options for a model of single positions, where there are no bounds.
    pub(crate) fn refuse_for_positions(&self) -> Result<()> {
        let option = match (&self.bound, self.verify) {
            (None, None) => return Ok(()),
            (Some(_), _) => "--bound",
            (None, Some(_)) => "--verify",
        };
        let problem = "expected a model of segments (--algorithm semi), got one of single positions";
        Err(Failure::Usage(format!("{option}: {problem}")))
    }

    /// The decoder to use: that of the tagger, or the search with the learned bound.
    pub(crate) fn decoder(&self, model: &SegmentModel, tagger: &TaggerArguments) -> Result<SegmentDecoder> {
        let named = tagger.decoder.as_str();
        let decoder = match self.bound.as_deref() {
            None => tagger.segment_decoder().map_err(as_typed)?,
            Some("learned") if ["auto", "semi-astar", "semi-astar:learned"].contains(&named) => {
                SegmentDecoder::SemiAstar(Estimate::Learned)
            }
            Some("learned") => {
                return Err(Failure::Usage(format!(
                    "--bound learned: expected --decoder auto or semi-astar, got {named}"
                )));
            }
            Some(other) => return Err(Failure::Usage(format!("--bound: expected learned, got {other}"))),
        };
        let learned = decoder == SegmentDecoder::SemiAstar(Estimate::Learned);
        if learned && model.bound().is_none() {
            return Err(Failure::Usage(
                "--bound learned: expected a model with a learned bound (see `kbest learn-bound`), got one without"
                    .into(),
            ));
        }
        match self.verify {
            Some(share) if !(0.0..=1.0).contains(&share) => {
                Err(Failure::Usage(format!("--verify: expected a share from 0 to 1, got {share}")))
            }
            Some(_) if !learned => {
                Err(Failure::Usage("--verify: expected --bound learned, got an exact search".into()))
            }
            _ => Ok(decoder),
        }
    }

    /// What counts answers of a tagger, if it uses the bound.
    pub(crate) fn checks(&self, model: &SegmentModel, decoder: SegmentDecoder) -> Option<Checks> {
        let bound = model.bound().filter(|_| decoder == SegmentDecoder::SemiAstar(Estimate::Learned))?;
        let tally = Tally { delta: bound.promise().delta, ..Tally::default() };
        Some(Checks { share: self.verify.unwrap_or(0.0), tally: Arc::new(tally.into()) })
    }
}

/// What is known of all answers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(crate) struct Tally {
    sequences: u64,
    /// How many of them were left to the exact search, because the other took too long.
    exact: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon: Option<f64>,
    delta: f64,
    verified: u64,
    short: u64,
    short_by_more_than_delta: u64,
    mean_shortfall: f64,
    largest_shortfall: f64,
    #[serde(skip)]
    without_guarantee: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "learned bound: {} sequences", self.sequences)?;
        match self.epsilon {
            _ if self.without_guarantee > 0 => f.write_str(", no guarantee under constraints")?,
            Some(epsilon) => {
                let (delta, probability) = (self.delta, 1.0 - epsilon);
                write!(f, ", each within {delta} of the best with probability {probability:.4}")?;
            }
            None => {}
        }
        if self.exact > 0 {
            write!(f, "; {} decoded exactly instead", self.exact)?;
        }
        if self.verified > 0 {
            write!(
                f,
                "; {} verified: {} fell short, {} by more than {}, by {:.4} on average and {:.4} at most",
                self.verified,
                self.short,
                self.short_by_more_than_delta,
                self.delta,
                self.mean_shortfall,
                self.largest_shortfall
            )?;
        }
        Ok(())
    }
}

/// Counts and checks the answers of all threads.
#[derive(Debug, Clone)]
pub(crate) struct Checks {
    share: f64,
    tally: Arc<Mutex<Tally>>,
}

impl Checks {
    /// What checks the answers of one tagger.
    pub(crate) fn checker(&self, tagger: &SegmentTagger) -> Checker {
        let exact = tagger.another().with_decoder(SegmentDecoder::Auto).with_confidences(false);
        Checker { checks: self.clone(), exact }
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says on stderr what the answers are worth; a closed stderr is ignored.
    pub(crate) fn report(&self) {
        let _ = writeln!(std::io::stderr(), "kbest: {}", self.tally());
    }
}

/// Checks the answers of one thread.
#[derive(Debug)]
pub(crate) struct Checker {
    checks: Checks,
    exact: SegmentTagger,
}

impl Checker {
    /// Looks at an answer.
    pub(crate) fn check(
        &mut self,
        sequence: &Sequence,
        known: Option<&[Option<KnownTag>]>,
        answer: &SegmentDecoded<f32>,
    ) -> Result<()> {
        let shortfall = if is_chosen(sequence, self.checks.share) {
            let best = match known {
                Some(known) => self.exact.tag_known(sequence, known, 1)?,
                None => self.exact.tag(sequence, 1)?,
            };
            let score =
                |found: &SegmentDecoded<f32>| found.segmentations.first().map_or(0.0, |one| one.score.into());
            let (best, found): (f64, f64) = (score(&best.decoded), score(answer));
            Some((best - found).max(0.0))
        } else {
            None
        };
        let mut tally = self.checks.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.sequences += 1;
        match answer.guarantee {
            Guarantee::Exact => tally.exact += 1,
            Guarantee::None => tally.without_guarantee += 1,
            Guarantee::Probable { epsilon, .. } => tally.epsilon = Some(epsilon),
        }
        if let Some(shortfall) = shortfall {
            let before = tally.mean_shortfall * tally.verified as f64;
            tally.verified += 1;
            tally.short += u64::from(shortfall > 0.0);
            tally.short_by_more_than_delta += u64::from(shortfall > tally.delta);
            tally.mean_shortfall = (before + shortfall) / tally.verified as f64;
            tally.largest_shortfall = tally.largest_shortfall.max(shortfall);
        }
        Ok(())
    }
}

/// Whether a sequence belongs to the share to verify: decided by its text, so the same ones at each run.
fn is_chosen(sequence: &Sequence, share: f64) -> bool {
    let words = (0..sequence.len()).map(|t| sequence.cell(t, 0).unwrap_or_default());
    let hash = stable_hash(words.flat_map(|word| word.bytes().chain([b'\n'])));
    // The upper bits of the last product are well mixed.
    let mixed = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    share > 0.0 && (mixed as f64 / (1u64 << 53) as f64) < share || share >= 1.0
}
