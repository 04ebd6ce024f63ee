//! Training and testing.

use crate::failure::Result;
use crate::output::{Output, Progress};
use crate::table::{grouped, percent};
use kbest::evaluate::Evaluation;
use kbest::feature::{FeatureSource, Preset};
use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Model, Sequence, Tagger};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

/// Trains and reports progress.
pub(super) fn learn(sentences: &[Sequence], epochs: usize, out: &mut Output) -> Result<Arc<Model>> {
    let data = TrainingSet::new(sentences, FeatureSource::Preset(Preset::Words), 1)?;
    writeln!(
        out,
        "Training: averaged perceptron, feature set `words` ({} features), one thread",
        grouped(data.extractor().nodes().len())
    )?;
    let examples = data.examples().len();
    let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
    for epoch in 1..=epochs {
        let bar = Progress::new(examples, false);
        let begun = Instant::now();
        let report = trainer.epoch(&mut |progress| bar.at(progress.done))?;
        drop(bar);
        let seconds = begun.elapsed().as_secs_f64();
        let right = report.accuracy().unwrap_or_default();
        let speed = grouped((report.tokens as f64 / seconds) as usize);
        writeln!(out, "  epoch {epoch}   {} correct   {seconds:5.1} s   {speed:>8} words/s", percent(right))?;
        out.flush()?;
    }
    Ok(Arc::new(trainer.model()?))
}

/// Labels sentences that the model has not seen.
pub(super) fn test(model: &Arc<Model>, sentences: &[Sequence], out: &mut Output) -> Result<()> {
    let mut tagger = Tagger::new(model.clone());
    let begun = Instant::now();
    let mut answers = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        answers.push(tagger.tag(sentence, 1)?.decoded.best().labels.clone());
    }
    let seconds = begun.elapsed().as_secs_f64();

    let mut evaluation = Evaluation::new(None);
    for (sentence, answer) in sentences.iter().zip(&answers) {
        let gold: Vec<&str> = (0..sentence.len()).map(|t| sentence.label(t).unwrap_or_default()).collect();
        let predicted: Vec<&str> =
            answer.iter().map(|&y| model.labels().name(y).unwrap_or_default()).collect();
        let is_unknown =
            |t| model.extractor().knows_word(sentence.cell(t, 0).unwrap_or_default()) == Some(false);
        let unknown: Vec<bool> = (0..sentence.len()).map(is_unknown).collect();
        evaluation.add_knowing(&gold, &predicted, &unknown)?;
    }
    let (words, unknown) = (evaluation.tokens(), evaluation.unknown().unwrap_or_default());
    writeln!(
        out,
        "Testing: {} of {} words correct, {} of the {} not seen in training; {} words/s\n",
        percent(words.share()),
        grouped(words.all as usize),
        percent(unknown.share()),
        grouped(unknown.all as usize),
        grouped((words.all as f64 / seconds) as usize)
    )?;
    Ok(out.flush()?)
}
