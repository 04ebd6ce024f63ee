//! Train a tagger and use it, in about twenty lines: `cargo run --release -p kbest --example train_and_tag`.
#![allow(clippy::print_stdout)] // examples print

use kbest::feature::{FeatureSource, Preset};
use kbest::synthetic::Language;
use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Sequence, Tagger};
use std::sync::Arc;

fn main() -> kbest::Result<()> {
    // Labelled sentences of a made-up language with 300 labels; `kbest::text::Reader` reads your own.
    let language = Language::new(300, 7)?;
    let sentences: Vec<Sequence> = language.text(0, 12).take(3000).collect();

    let data = TrainingSet::new(&sentences, FeatureSource::Preset(Preset::Words), 1)?;
    let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
    for epoch in 1..=5 {
        let report = trainer.epoch(&mut |_| ())?;
        println!("epoch {epoch}: {:.2} % right", 100.0 * report.accuracy().unwrap_or_default());
    }

    let mut tagger = Tagger::new(Arc::new(trainer.model()?)).with_confidences(true);
    let sentence = language.text(1, 12).next().unwrap_or_default();
    let tagged = tagger.tag(&sentence, 1)?.clone();
    for (t, &y) in tagged.decoded.best().labels.iter().enumerate() {
        let (word, label) = (sentence.cell(t, 0), tagger.model().labels().name(y));
        let sure = 100.0 * tagged.confidences[0][t];
        println!("{:12} {:32} {sure:5.1} %", word.unwrap_or_default(), label.unwrap_or_default());
    }
    Ok(())
}
