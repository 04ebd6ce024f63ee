//! `kbest evaluate` with a model of segments.

use super::{Arguments, add, measure, spans};
use crate::failure::Result;
use crate::tag::segment_decoder;
use crate::text::{Tally, threads};
use kbest::evaluate::{Evaluation, Spans};
use kbest::scheme::Spelling;
use kbest::{SegmentModel, Sequence};
use std::sync::Arc;

/// How good the model is, and what its answers are worth if they are not exact.
pub(super) fn with_model(
    arguments: &Arguments,
    model: &Arc<SegmentModel>,
) -> Result<(Evaluation, Option<Tally>)> {
    let decoder = segment_decoder(&arguments.decoder)?;
    let decoder = arguments.bound.decoder(model, &arguments.decoder, decoder)?;
    let tagger = arguments.constraints.segment_tagger(model, decoder)?;
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
    let evaluation = measure(&mut reader, spans, threads(arguments.threads)?, |part| {
        let mut tagger = tagger.another();
        let mut checker = checks.as_ref().map(|checks| checks.checker(&tagger));
        move |sequence: &Sequence, _: &mut Vec<u8>| {
            let tagged = tagger.tag(sequence, 1)?;
            if let Some(checker) = &mut checker {
                checker.check(sequence, None, &tagged.decoded)?;
            }
            let segments = tagged.best().to_vec();
            add(&part, sequence, &tagger.spell(&segments), tagger.model().extractor())
        }
    })?;
    Ok((evaluation, checks.map(|checks| checks.tally())))
}
