//! `kbest decode` on lattices of segments.

use crate::decode::{Distributions, Label, Labels, Telling, rounded};
use crate::failure::{Failure, Result};
use crate::input::{Batch, Scores};
use crate::output::{Output, Progress};
use crate::parallel::in_order;
use kbest::Error;
use kbest::decode::{Counters, Decode, Decoded, Decoder, Lattices};
use kbest::segment::{self, Estimate, Guarantee, Segment, SegmentLattice, Segmentation};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) telling: &'a Telling,
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
struct Line<'a, S> {
    paths: Vec<PathLine<'a, S>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distributions: Option<Distributions<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    decoder: &'static str,
    exact: bool,
    guarantee: GuaranteeLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<CountersLine>,
}

#[derive(Serialize)]
struct PathLine<'a, S> {
    segments: Vec<(usize, usize, Label<'a>)>,
    labels: Labels<'a>,
    score: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    /// Of each segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    marginals: Option<Vec<f64>>,
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

impl From<&Counters> for CountersLine {
    fn from(&Counters { segments, explicit, edges, .. }: &Counters) -> Self {
        CountersLine { segments, explicit, edges }
    }
}

/// The decoder that the options describe, if it can do what they ask.
fn chosen(request: &Request<'_>) -> Result<Decoder> {
    let mut decoder: Decoder = request.decoder.parse()?;
    decoder.supports_on(Lattices::Segments, 1)?;
    if let Some(estimate) = request.heuristic {
        let estimate: Estimate = estimate.parse()?;
        if estimate == Estimate::Learned {
            return Err(Failure::Usage(
                "--heuristic learned: expected none or admissible: learned bounds belong to models (see \
                 `kbest learn-bound`, then `kbest tag --decoder semi-astar:learned`)"
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
    decoder.supports_on(Lattices::Segments, request.k)?;
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
        let mut scratch = segment::Scratch::default();
        let (lattices, decoder) = (&lattices, &decoder);
        move |item: usize| {
            let line = match decoder.decode_segments(&lattices[item], request.k, &mut scratch) {
                Ok(answer) => line(&answer, &lattices[item], request)?,
                Err(Error::NoPath) => Line {
                    paths: vec![],
                    distributions: None,
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

fn line<'a, S: Scores>(
    answer: &Decoded<S, Segmentation<S>>,
    lattice: &SegmentLattice<'_, S>,
    request: &Request<'a>,
) -> Result<Line<'a, S>> {
    let telling = request.telling;
    let sums = match telling.wants_probabilities() {
        true => Some(segment::Marginals::new(lattice)?),
        false => None,
    };
    let path = |found: &Segmentation<S>| PathLine {
        segments: found
            .segments
            .iter()
            .map(|part| (part.start, part.end, telling.label(part.label)))
            .collect(),
        labels: telling.labels(found.labels()),
        score: found.score,
        probability: sums.as_ref().map(|sums| sums.log_probability(found.score.to_f64()).exp()),
        marginals: sums.as_ref().map(|sums| {
            let sure = |part: &Segment| rounded(sums.segment(part.start, part.end, part.label).min(1.0));
            found.segments.iter().map(sure).collect()
        }),
    };
    Ok(Line {
        paths: answer.paths.iter().map(path).collect(),
        distributions: sums.as_ref().and_then(|sums| telling.distributions(|| sums.labels())),
        error: None,
        decoder: answer.decoder,
        exact: answer.exact,
        guarantee: answer.guarantee().into(),
        counters: answer.counters.as_ref().filter(|_| request.counters).map(CountersLine::from),
    })
}
