//! `kbest evaluate` with a model of segments.

use super::counts::{Compared, Counts, Wanted};
use super::{Arguments, by_of, files, measure, place, spans, unknown_words};
use crate::failure::Result;
use crate::text::{Suspicions, Tally, threads};
use kbest::evaluate::Spans;
use kbest::scheme::Spelling;
use kbest::{SegmentModel, Sequence};
use std::sync::Arc;

/// How good the model is, and what its answers are worth if they are not exact.
pub(super) fn with_model(
    arguments: &Arguments,
    model: &Arc<SegmentModel>,
) -> Result<(Counts, Wanted, Option<Tally>)> {
    let tagger = arguments.tagger.segment_tagger_of(model)?;
    let decoder = arguments.bound.decoder(model, &arguments.tagger)?;
    let marginals = arguments.needs_probabilities();
    let tagger = tagger.with_decoder(decoder).with_confidences(marginals);
    let checks = arguments.bound.checks(model, decoder);
    let file = arguments.file.as_deref();
    let source = arguments.data.source(file, model.text_format())?;
    let mut reader = source.open_labelled(file)?;
    // The model knows what its segments are, so spans are counted without being asked for.
    let spans = match (arguments.spans.as_str(), model.spelling()) {
        ("auto", Spelling::Runs(_)) => Some(Spans::Runs),
        ("auto", Spelling::Tags { tagging, .. }) => Some(Spans::Conlleval(tagging.layout)),
        _ => spans(arguments, &mut model.labels().names())?,
    };
    let wanted = Wanted { spans, by: by_of(arguments, source.text_format())?, errors: arguments.errors };
    let suspicions = Suspicions::new(model.extractor(), &source, file);
    let place = place(reader.file(), &source);
    let counts = measure(&mut reader, &wanted, threads(arguments.threads)?, |part| {
        let (mut tagger, suspicions, place) = (tagger.another(), suspicions.clone(), place.clone());
        let mut checker = checks.as_ref().map(|checks| checks.checker(&tagger));
        move |sequence: &Sequence, line: u64, _: &mut Vec<u8>| {
            files::refuse_candidates(sequence, &place.file, line)?;
            suspicions.look(tagger.model().extractor(), sequence, line);
            let tagged = tagger.tag(sequence, 1)?.clone();
            if let Some(checker) = &mut checker {
                checker.check(sequence, None, &tagged.decoded)?;
            }
            let model = tagger.model();
            let gold: Vec<&str> =
                (0..sequence.len()).map(|t| sequence.label(t).unwrap_or_default()).collect();
            let parts = tagged.best();
            let sure = tagged.confidences.first();
            let right = model.spelling().read(&gold);
            let is_right = |part: &kbest::segment::Segment| {
                let name = model.labels().name(part.label).unwrap_or_default();
                let place = right.binary_search_by_key(&part.start, |(start, _, _)| *start);
                place.is_ok_and(|place| (right[place].1, right[place].2.as_str()) == (part.end, name))
            };
            let segments = sure.map(|sure| {
                parts.iter().zip(sure).map(|(part, &sure)| (sure, is_right(part))).collect::<Vec<_>>()
            });
            // Each position is as sure as its segment.
            let sure = sure.map(|sure| {
                let each = parts.iter().zip(sure);
                each.flat_map(|(part, &sure)| std::iter::repeat_n(sure, part.end - part.start))
                    .collect::<Vec<_>>()
            });
            part.add(&Compared {
                sequence,
                place: place.at(line),
                gold: &gold,
                chosen: &tagger.spell(parts),
                unknown: unknown_words(sequence, model.extractor()).as_deref(),
                sure: sure.as_deref(),
                segments: segments.as_deref(),
            })
        }
    })?;
    suspicions.conclude();
    let spelled = |label: &str| model.spelling().known(label).is_some();
    counts.expect_labels_of(reader.file(), spelled, model.labels().names())?;
    Ok((counts, wanted, checks.map(|checks| checks.tally())))
}
