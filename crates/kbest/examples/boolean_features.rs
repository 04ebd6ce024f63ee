//! Own features as closures: label a melody with chords, in the spirit of the CarpeDiem paper's music task.
//!
//! Vertical features look at the notes of a beat, horizontal ones at two neighbouring chords and at the beat between
//! them. Edges that look at the observation are asked on demand, with the bound of the paper's section 5.
//!
//! Run with `cargo run -p kbest --example boolean_features`.
#![allow(clippy::print_stdout)] // an example talks

use kbest::feature::boolean::{BooleanFeatures, EdgeBound, ObservedEdges};
use kbest::{Decode, Decoder, LabelId, Scratch};
use std::sync::Arc;

/// Pitch classes that sound, and whether the beat is accented.
struct Beat {
    notes: &'static [u8],
    accented: bool,
}

const NOTES: [&str; 12] = ["C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B"];
const CHORDS: usize = 24; // twelve major chords, then twelve minor ones

fn root(chord: LabelId) -> u8 {
    (chord % 12) as u8
}

/// Which of a chord's three notes sound.
fn sounding(beat: &Beat, chord: LabelId) -> usize {
    let third = if chord < 12 { 4 } else { 3 };
    let of_chord = [root(chord), (root(chord) + third) % 12, (root(chord) + 7) % 12];
    of_chord.iter().filter(|note| beat.notes.contains(note)).count()
}

fn main() -> Result<(), kbest::Error> {
    let mut features = BooleanFeatures::<[Beat]>::new(CHORDS);
    // How many notes of the chord sound: 1, 2 or 3, never two of these at once.
    features.vertical_set(3, |x, t, y| sounding(&x[t], y).checked_sub(1));
    // The root sounds; a note sounds that is not the chord's.
    features.vertical(|x, t, y| x[t].notes.contains(&root(y)));
    features.vertical(|x, t, y| sounding(&x[t], y) < x[t].notes.len());
    // The chord changes: on an accented beat, or on another. One set.
    features.horizontal_set(2, |x, t, p, y| (p != y).then_some(usize::from(!x[t].accented)));
    // The root falls by a fifth, whatever is heard.
    features.transition(|p, y| (root(p) + 5) % 12 == root(y) && p != y);
    let weights: Arc<[f32]> = Arc::from([0.5, 1.5, 3.0, 0.5, -0.5, -0.5, -2.0, 1.0]);
    assert_eq!(weights.len(), features.len());

    let melody: Arc<[Beat]> = Arc::from(vec![
        Beat { notes: &[0, 4, 7], accented: true },
        Beat { notes: &[0, 9], accented: false },
        Beat { notes: &[2, 5, 9], accented: true },
        Beat { notes: &[7, 11], accented: true },
        Beat { notes: &[2, 7], accented: false },
        Beat { notes: &[0, 4], accented: true },
    ]);

    let scored =
        features.score(&melody, melody.len(), &weights, ObservedEdges::OnDemand, EdgeBound::ExclusiveSets)?;
    let answer = Decoder::by_name("auto")?.decode(&scored.lattice()?, &mut Scratch::new())?;

    for (beat, &chord) in melody.iter().zip(&answer.best().labels) {
        let notes: Vec<&str> = beat.notes.iter().map(|&note| NOTES[note as usize]).collect();
        let mode = if chord < 12 { "major" } else { "minor" };
        println!("{:10} {} {mode}", notes.join(" "), NOTES[root(chord) as usize]);
    }
    println!("score {}, decoder {}, exact: {}", answer.best().score, answer.decoder, answer.exact);

    let mut fired = vec![0; features.len()];
    features.visit_path(&melody, &answer.best().labels, |feature| fired[feature] += 1);
    println!("features that fired: {fired:?}");
    Ok(())
}
