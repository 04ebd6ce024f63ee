//! `kbest evaluate` with a model of segments.

use super::{Arguments, add, measure, spans};
use crate::failure::Result;
use crate::tag::segment_decoder;
use crate::text::threads;
use kbest::evaluate::{Evaluation, Spans};
use kbest::scheme::Spelling;
use kbest::{SegmentModel, Sequence};
use std::sync::Arc;

pub(super) fn with_model(arguments: &Arguments, model: &Arc<SegmentModel>) -> Result<Evaluation> {
    let tagger = arguments.constraints.segment_tagger(model, segment_decoder(&arguments.decoder)?)?;
    let file = arguments.file.as_deref();
    let source = arguments.data.source(file, model.text_format())?;
    let mut reader = source.open_labelled(file)?;
    // The model knows what its segments are, so spans are counted without being asked for.
    let spans = match (arguments.spans.as_str(), model.spelling()) {
        ("auto", Spelling::Runs(_)) => Some(Spans::Runs),
        ("auto", Spelling::Tags { tagging, .. }) => Some(Spans::Conlleval(tagging.layout)),
        _ => spans(arguments, &mut model.labels().names())?,
    };
    measure(&mut reader, spans, threads(arguments.threads)?, |part| {
        let mut tagger = tagger.another();
        move |sequence: &Sequence, _: &mut Vec<u8>| {
            let segments = tagger.tag(sequence, 1)?.best().to_vec();
            add(&part, sequence, &tagger.spell(&segments), tagger.model().extractor())
        }
    })
}
