//! Contact records as segments, end to end: `cargo run --release -p kbest --example addresses`.
//!
//! Generates records, trains a model of segments, and tags a new record: name, company, street, phone, each as a whole.
#![allow(clippy::print_stdout)] // examples print

use kbest::feature::segment::{Lexicon, SegmentFeaturesBuilder};
use kbest::feature::{FeatureSource, Preset};
use kbest::synthetic::Addresses;
use kbest::train::{Perceptron, PerceptronOptions, SegmentOptions, SegmentTrainingSet, Trainer};
use kbest::{Sequence, Tagger};
use std::sync::Arc;

fn main() -> kbest::Result<()> {
    // Two columns, the token and its line; a segment is a run of one label. `kbest::text::Reader` reads your own.
    let records: Vec<Sequence> = Addresses::new(1, 0).take(1000).collect();

    // Lines are in the second column; a lexicon says which texts are cities.
    let features = SegmentFeaturesBuilder::default()
        .with_lines(1)
        .with_lexicon(Lexicon::new("cities", "Boston\nNew York\nSalt Lake City\nSan Francisco\n"));
    let options = SegmentOptions { features, ..SegmentOptions::default() };
    let data = SegmentTrainingSet::new(&records, FeatureSource::Preset(Preset::Words), 1, options)?;
    println!("{} segments, the longest of {:?} tokens", data.segments(), data.longest().iter().max());
    let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
    for epoch in 1..=5 {
        let report = trainer.epoch(&mut |_| ())?;
        println!("epoch {epoch}: {:.2} % right", 100.0 * report.accuracy().unwrap_or_default());
    }

    let model = Arc::new(trainer.model()?);
    let record = Addresses::new(1, 1).next().unwrap_or_default();
    let mut tagger = Tagger::new(model.clone());
    tagger.tag(&record, 1)?;
    println!("features were computed for {} segments of {} tokens", tagger.asked(), record.len());

    // Probabilities need the features of all segments.
    let mut tagger = tagger.with_confidences(true);
    let tagged = tagger.tag(&record, 1)?.clone();
    for (part, sure) in tagged.decoded.best().segments.iter().zip(&tagged.confidences[0]) {
        let words: Vec<&str> = (part.start..part.end).filter_map(|t| record.cell(t, 0)).collect();
        let label = model.labels().name(part.label).unwrap_or_default();
        println!("{label:20} {:5.1} %  {}", 100.0 * sure, words.join(" "));
    }
    Ok(())
}
