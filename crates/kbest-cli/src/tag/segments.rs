//! `kbest tag` with a model of segments.

use super::offsets::Known;
use super::spans::{SpanWriter, Spanned};
use super::{Arguments, in_few_digits};
use crate::failure::Result;
use crate::text::{Checks, Marginals, NotKept, Source, Suspicions, likeliest};
use kbest::text::{Answer, Candidate, Writer};
use kbest::{SegmentModel, SegmentTagger, Sequence};
use std::sync::Arc;

/// The tagger that the options describe, and what checks its answers if they are not exact.
pub(super) fn tagger(
    arguments: &Arguments,
    marginals: Marginals,
    model: &Arc<SegmentModel>,
) -> Result<(SegmentTagger, Option<Checks>)> {
    let decoder = arguments.bound.decoder(model, &arguments.tagger)?;
    decoder.supports(arguments.k.unwrap_or(1))?;
    let tagger = arguments.tagger.segment_tagger_of(model)?.with_decoder(decoder);
    let tagger =
        tagger.with_confidences(marginals.is_wanted()).with_distributions(marginals.likeliest().is_some());
    Ok((tagger, arguments.bound.checks(model, decoder)))
}

/// What one thread does with a sequence.
pub(super) fn worker(
    arguments: &Arguments,
    marginals: Marginals,
    mut tagger: SegmentTagger,
    checks: Option<&Checks>,
    source: &Source,
    suspicions: &Suspicions,
    not_kept: &NotKept,
) -> Result<impl FnMut(&Sequence, u64, &mut Vec<u8>) -> Result<()> + Send + use<>> {
    let k = arguments.k.unwrap_or(1);
    let announced = arguments.scores || arguments.k.is_some();
    let keep = arguments.keep_labels;
    let (suspicions, not_kept) = (suspicions.clone(), not_kept.clone());
    let mut checker = checks.map(|checks| checks.checker(&tagger));
    let spans = arguments.spans.then(|| SpanWriter::new(announced));
    let mut writer = Writer::new(Vec::new(), source.writer_options());
    Ok(move |sequence: &Sequence, line: u64, text: &mut Vec<u8>| {
        suspicions.look(tagger.model().extractor(), sequence, line);
        let known = |t: usize| {
            let label = sequence.label(t)?;
            let known = tagger.known(label);
            if known.is_none() {
                not_kept.add(label);
            }
            known
        };
        let known: Option<Vec<_>> = keep.then(|| (0..sequence.len()).map(known).collect());
        let tagged = match &known {
            Some(known) => tagger.tag_known(sequence, known, k)?,
            None => tagger.tag(sequence, k)?,
        }
        .clone();
        if let Some(checker) = &mut checker {
            checker.check(sequence, known.as_deref(), &tagged.decoded)?;
        }
        let guarantee = checker.is_some().then_some(tagged.decoded.guarantee);
        let model = tagger.model();
        let all: Vec<&str> =
            marginals.likeliest().map_or_else(Vec::new, |_| model.labels().names().collect());
        let rows = marginals.likeliest().map(|n| likeliest(&tagged.distributions, &all, n));
        let known_text = spans.as_ref().and_then(|_| Known::of(sequence));
        for (rank, found) in tagged.decoded.segmentations.iter().enumerate() {
            let score = in_few_digits(found.score);
            let probability = tagged.probabilities.get(rank).copied();
            let sure = |i: usize| marginals.is_wanted().then(|| tagged.confidences[rank][i]);
            if let Some(spans) = &spans {
                let segments = found.segments.iter().enumerate();
                let inside = segments.filter(|(_, part)| !model.spelling().is_outside(part.label));
                let parts: Vec<Spanned> = inside
                    .map(|(i, part)| Spanned {
                        start: part.start,
                        end: part.end,
                        kind: model.labels().name(part.label).unwrap_or_default().to_owned(),
                        probability: sure(i),
                    })
                    .collect();
                let known = known_text.as_ref();
                spans.write(sequence, known, &parts, rank, score, probability, guarantee, text)?;
                continue;
            }
            let parts = found.segments.iter().enumerate();
            let confidences = parts.flat_map(|(i, part)| std::iter::repeat_n(sure(i), part.end - part.start));
            let confidences: Option<Vec<f64>> = confidences.collect();
            let answer = Answer {
                labels: &tagger.spell(&found.segments),
                confidences: confidences.as_deref().filter(|_| marginals.is_wanted()),
                distributions: rows.as_deref(),
                probability,
                candidate: announced.then_some(Candidate { rank, score }),
            };
            writer.write_answer(sequence, &answer)?;
        }
        text.append(writer.get_mut());
        Ok(())
    })
}
