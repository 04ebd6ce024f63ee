//! Your own features as closures: learn to label melodies with chords, in the spirit of the CarpeDiem paper's music
//! task.
//!
//! Vertical features see the notes of a beat, horizontal ones two neighbouring chords and the beat between them. A
//! voted perceptron learns their weights from made-up melodies (paper, section 5); edges that see the observation are
//! evaluated on demand, with the paper's bound. The model is saved, loaded again, and tags a new melody.
//!
//! Run with `cargo run -p kbest --example boolean_features`.
#![allow(clippy::print_stdout)] // examples print

use kbest::feature::boolean::{BooleanFeatures, Observation};
use kbest::model::BooleanModel;
use kbest::random::Random;
use kbest::train::{Averaging, BooleanExample, BooleanTrainingSet, Perceptron, PerceptronOptions, Trainer};
use kbest::{LabelId, Tagger};
use std::sync::Arc;

/// The pitch classes that sound, and whether the beat is accented.
struct Beat {
    notes: Vec<u8>,
    accented: bool,
}

const NOTES: [&str; 12] = ["C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B"];
const CHORDS: usize = 24; // twelve major chords, then twelve minor ones

fn root(chord: LabelId) -> u8 {
    (chord % 12) as u8
}

fn notes(chord: LabelId) -> [u8; 3] {
    let third = if chord < 12 { 4 } else { 3 };
    [root(chord), (root(chord) + third) % 12, (root(chord) + 7) % 12]
}

/// How many of a chord's three notes sound.
fn sounding(beat: &Beat, chord: LabelId) -> usize {
    notes(chord).iter().filter(|note| beat.notes.contains(note)).count()
}

fn features() -> BooleanFeatures<[Beat]> {
    let mut features = BooleanFeatures::<[Beat]>::new(CHORDS);
    // How many notes of the chord sound: 1, 2 or 3; at most one of these features fires.
    features.vertical_set(3, |x, t, y| sounding(&x[t], y).checked_sub(1));
    // The root sounds; a note sounds that is not in the chord.
    features.vertical(|x, t, y| x[t].notes.contains(&root(y)));
    features.vertical(|x, t, y| sounding(&x[t], y) < x[t].notes.len());
    // The chord changes: on an accented beat, or on an unaccented one. One set.
    features.horizontal_set(2, |x, t, p, y| (p != y).then_some(usize::from(!x[t].accented)));
    // The root falls by a fifth, whatever sounds.
    features.transition(|p, y| (root(p) + 5) % 12 == root(y) && p != y);
    features
}

/// A melody of chords that fall by fifths or stay, and change on accented beats; a note of each chord may be missing.
fn melody(random: &mut Random) -> (Observation<[Beat]>, Vec<LabelId>) {
    let (mut beats, mut chords) = (Vec::new(), Vec::new());
    let mut chord = random.below(CHORDS) as LabelId;
    for t in 0..12 {
        let accented = t % 2 == 0;
        if accented && random.below(3) > 0 {
            let mode = 12 * random.below(2) as LabelId;
            chord = (chord + 5) % 12 + mode;
        }
        let mut heard = notes(chord).to_vec();
        if random.below(2) == 0 {
            heard.remove(random.below(3));
        }
        beats.push(Beat { notes: heard, accented });
        chords.push(chord);
    }
    (Observation::new(beats, 12), chords)
}

fn main() -> Result<(), kbest::Error> {
    let random = &mut Random::new(1);
    let examples = (0..60).map(|_| {
        let (observation, gold) = melody(random);
        BooleanExample { observation, gold, weight: 1.0 }
    });
    let features = Arc::new(features());
    let data = BooleanTrainingSet::new(features.clone(), examples.collect())?;
    let options = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options)?;
    for epoch in 1..=3 {
        let report = trainer.epoch(&mut |_| ())?;
        println!("epoch {epoch}: {} of {} beats right", report.right.unwrap_or_default(), report.tokens);
    }

    // The weights go to a file; the features, which are code, are passed in again.
    let bytes = trainer.model()?.to_bytes();
    let model = BooleanModel::from_bytes(&bytes, "chords", features)?;
    println!("weights of the last voter: {:?}", model.weights());

    let (melody, right) = melody(random);
    let mut tagger = Tagger::new(Arc::new(model)).with_threads(2);
    let tagged = tagger.tag(&melody, 1)?;
    for ((beat, &chord), &right) in melody.content.iter().zip(&tagged.decoded.best().labels).zip(&right) {
        let name = |chord: LabelId| {
            let mode = if chord < 12 { "major" } else { "minor" };
            format!("{} {mode}", NOTES[root(chord) as usize])
        };
        let heard: Vec<&str> = beat.notes.iter().map(|&note| NOTES[note as usize]).collect();
        println!("{:10} {:10} (right: {})", heard.join(" "), name(chord), name(right));
    }
    println!("{:.0} % of the votes", 100.0 * tagged.decoded.best().score);
    Ok(())
}
