//! `kbest decode` on lattices of segments.

use crate::failure::{Failure, Result};
use crate::input::{Batch, Scores};
use crate::output::{Output, Progress};
use crate::parallel::in_order;
use kbest::Error;
use kbest::segment::{Estimate, Guarantee, SegmentCounters, SegmentDecoded, SegmentDecoder, SegmentScratch};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) decoder: &'a str,
    pub(crate) heuristic: Option<&'a str>,
    pub(crate) width: Option<usize>,
    pub(crate) k: usize,
    pub(crate) counters: bool,
    pub(crate) threads: usize,
    pub(crate) output: Option<&'a Path>,
}

/// A line of output.
#[derive(Serialize)]
struct Line<S> {
    paths: Vec<PathLine<S>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    decoder: &'static str,
    exact: bool,
    guarantee: GuaranteeLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<CountersLine>,
}

#[derive(Serialize)]
struct PathLine<S> {
    segments: Vec<(usize, usize, u32)>,
    labels: Vec<u32>,
    score: S,
}

/// A guarantee as JSON has it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum GuaranteeLine {
    Word(&'static str),
    Probable { epsilon: f64, delta: f64 },
}

impl From<Guarantee> for GuaranteeLine {
    fn from(guarantee: Guarantee) -> Self {
        match guarantee {
            Guarantee::Exact => GuaranteeLine::Word("exact"),
            Guarantee::Probable { epsilon, delta } => GuaranteeLine::Probable { epsilon, delta },
            Guarantee::None => GuaranteeLine::Word("none"),
        }
    }
}

/// What a search cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct CountersLine {
    segments: u64,
    explicit: u64,
    edges: u64,
}

impl From<SegmentCounters> for CountersLine {
    fn from(SegmentCounters { segments, explicit, edges }: SegmentCounters) -> Self {
        CountersLine { segments, explicit, edges }
    }
}

/// The decoder that the options describe, if it can do what they ask.
fn chosen(request: &Request<'_>) -> Result<SegmentDecoder> {
    let mut decoder: SegmentDecoder = request.decoder.parse()?;
    if let Some(estimate) = request.heuristic {
        let estimate: Estimate = estimate.parse()?;
        if estimate == Estimate::Learned {
            return Err(Failure::Usage(
                "--heuristic learned: expected none or admissible: learned bounds belong to models (see \
                 `kbest learn-bound`, then `kbest tag --bound learned`)"
                    .into(),
            ));
        }
        decoder = decoder.with_estimate(estimate)?;
    }
    if request.width.is_some() {
        return Err(Failure::Usage(format!("--width: decoder `{decoder}` takes none")));
    }
    if request.k == 0 {
        return Err(Failure::Usage("-k: expected at least 1, got 0".into()));
    }
    decoder.supports(request.k)?;
    Ok(decoder)
}

/// Decodes every sequence; one JSON line each.
pub(crate) fn decode<S: Scores>(request: &Request<'_>, batch: &Batch<S>) -> Result<()> {
    let decoder = chosen(request)?;
    let lattices = batch.segment_lattices()?;
    let mut output = Output::create(request.output)?;
    let scrolling = request.output.is_none() && std::io::stdout().is_terminal();
    let progress = Progress::new(lattices.len(), scrolling);
    let mut failed = 0;
    let worker = || {
        let mut scratch = SegmentScratch::default();
        let lattices = &lattices;
        move |item: usize| {
            let line = match decoder.decode(&lattices[item], request.k, &mut scratch) {
                Ok(answer) => line(answer, request.counters),
                Err(Error::NoPath) => Line {
                    paths: vec![],
                    error: Some(Error::NoPath.to_string()),
                    decoder: decoder.name(),
                    exact: true,
                    guarantee: Guarantee::Exact.into(),
                    counters: None,
                },
                Err(error) => return Err(error.into()),
            };
            let has_answer = line.error.is_none();
            Ok((serde_json::to_vec(&line).map_err(std::io::Error::from)?, has_answer))
        }
    };
    in_order(lattices.len(), request.threads, worker, |(line, has_answer)| {
        failed += usize::from(!has_answer);
        output.write_all(&line)?;
        output.write_all(b"\n")?;
        progress.step();
        Ok(())
    })?;
    drop(progress);
    output.finish()?;
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Negative(format!("{failed} of {} sequences have no answer", lattices.len()))),
    }
}

fn line<S: Scores>(answer: SegmentDecoded<S>, counters: bool) -> Line<S> {
    let path = |found: &kbest::segment::Segmentation<S>| PathLine {
        segments: found.segments.iter().map(|part| (part.start, part.end, part.label)).collect(),
        labels: found.labels(),
        score: found.score,
    };
    Line {
        paths: answer.segmentations.iter().map(path).collect(),
        error: None,
        decoder: answer.decoder,
        exact: answer.guarantee == Guarantee::Exact,
        guarantee: answer.guarantee.into(),
        counters: counters.then(|| answer.counters.into()),
    }
}
