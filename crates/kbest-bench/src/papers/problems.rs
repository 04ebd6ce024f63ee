//! The three problems of the CarpeDiem paper (section 6) in its framework of boolean features.
//!
//! All three observe rows of small whole numbers. *Lines* of documents: each of 24 booleans with each label, and label
//! bigrams, which makes 24 L + L^2 features. *Letters*: each value of each of 16 numbers with each label, and label
//! bigrams. *Music*: 39 features that know harmony ([`VERTICAL_MUSIC`], [`SUCCESSIONS`], and one for each accent with
//! and without a change of chord); those of two chords see the accent, so edges change from event to event.

use super::data::{Corpus, labels_of};
use kbest::Sequence;
use kbest::feature::boolean::{BooleanFeatures, Observation};
use kbest::train::BooleanExample;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Rows of whole numbers.
#[derive(Debug)]
pub(crate) struct Events {
    width: usize,
    cells: Vec<u8>,
}

impl Events {
    fn at(&self, t: usize, column: usize) -> u8 {
        self.cells[t * self.width + column]
    }
}

/// One of the problems, with its features.
pub(crate) struct BooleanProblem {
    pub(crate) features: Arc<BooleanFeatures<Events>>,
    /// The same without those of two labels.
    pub(crate) vertical_only: Arc<BooleanFeatures<Events>>,
    pub(crate) labels: usize,
    pub(crate) vertical: usize,
    /// Sets of horizontal features of which at most one fires, as numbers of features.
    pub(crate) sets: Vec<Range<usize>>,
    /// Names of some vertical features, to follow their weights.
    pub(crate) followed: Vec<(String, usize)>,
    pub(crate) train: Vec<(Observation<Events>, Vec<u32>)>,
    pub(crate) test: Vec<(Observation<Events>, Vec<u32>)>,
    kind: Kind,
    /// For each kind of step and pair of labels, the horizontal features that fire.
    fired: Vec<Vec<u32>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Music,
    Lines,
    Letters,
}

/// Columns of an event of music: twelve notes, the bass, the accent.
const BASS: usize = 12;
const ACCENT: usize = 13;
const ACCENTS: usize = 5;

/// Features of one chord and the notes that sound.
const VERTICAL_MUSIC: [&str; 22] = [
    "no note of the triad sounds",
    "one note of the triad sounds",
    "two notes of the triad sound",
    "all notes of the triad sound",
    "the root sounds",
    "the third sounds",
    "the fifth sounds",
    "the added note sounds",
    "the added note is silent",
    "no note outside the chord",
    "one note outside the chord",
    "two notes outside the chord",
    "more notes outside the chord",
    "the root is in the bass",
    "the third is in the bass",
    "the fifth is in the bass",
    "the added note is in the bass",
    "a seventh sounds that the chord lacks",
    "the chord is major",
    "the chord is minor",
    "the chord is diminished",
    "exactly the notes of the chord sound",
];

/// Successions of two different chords, by the interval between their roots.
const SUCCESSIONS: [&str; 7] =
    ["same root", "a fifth down", "a fifth up", "a step up", "a step down", "a third", "a tritone"];

/// A chord as its name spells it: `F#m7`, `C_M`.
#[derive(Debug, Clone, Copy)]
struct Chord {
    root: u8,
    mode: Mode,
    added: Option<u8>, // interval from the root
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Major,
    Minor,
    Diminished,
}

impl Chord {
    /// An unknown name is a chord on C, so that nothing fails.
    fn parse(name: &str) -> Chord {
        let root = pitch(&name[..name.char_indices().nth(2).map_or(name.len(), |(i, _)| i)]);
        let mut rest = name.chars().skip(2);
        let mode = match rest.next() {
            Some('m') => Mode::Minor,
            Some('d') => Mode::Diminished,
            _ => Mode::Major,
        };
        let added = match rest.next() {
            Some('4') => Some(5),
            Some('6') => Some(9),
            Some('7') => Some(if mode == Mode::Diminished { 9 } else { 10 }),
            _ => None,
        };
        Chord { root, mode, added }
    }

    /// Root, third and fifth.
    fn triad(self) -> [u8; 3] {
        let third = if self.mode == Mode::Major { 4 } else { 3 };
        let fifth = if self.mode == Mode::Diminished { 6 } else { 7 };
        [0, third, fifth].map(|interval| (self.root + interval) % 12)
    }

    fn added_note(self) -> Option<u8> {
        self.added.map(|interval| (self.root + interval) % 12)
    }
}

/// `C`, `C_`, `F#` or `Bb` as a number from 0 to 11.
fn pitch(name: &str) -> u8 {
    let mut letters = name.chars();
    let natural = match letters.next() {
        Some('D') => 2,
        Some('E') => 4,
        Some('F') => 5,
        Some('G') => 7,
        Some('A') => 9,
        Some('B') => 11,
        _ => 0,
    };
    match letters.next() {
        Some('#') => (natural + 1) % 12,
        Some('b') => (natural + 11) % 12,
        _ => natural,
    }
}

/// The set of [`SUCCESSIONS`]: none if the chord stays.
fn succession(p: Chord, y: Chord, same: bool) -> Option<usize> {
    Some(match (12 + y.root - p.root) % 12 {
        _ if same => return None,
        0 => 0,
        5 => 1,
        7 => 2,
        1 | 2 => 3,
        10 | 11 => 4,
        6 => 6,
        _ => 5,
    })
}

/// Which vertical features of music fire; they are sets of which at most one does.
fn harmony(x: &Events, t: usize, chord: Chord, set: usize) -> Option<usize> {
    let sounds = |note: u8| x.at(t, note as usize) != 0;
    let (triad, added) = (chord.triad(), chord.added_note());
    let in_triad = || triad.iter().filter(|&&note| sounds(note)).count();
    let in_chord = |note: u8| triad.contains(&note) || added == Some(note);
    let outside = || (0..12).filter(|&note| sounds(note) && !in_chord(note)).count();
    let bass = x.at(t, BASS);
    match set {
        0 => Some(in_triad()),
        1..=3 => sounds(triad[set - 1]).then_some(0),
        4 => added.map(|note| usize::from(!sounds(note))),
        5 => Some(outside().min(3)),
        6 => triad.iter().position(|&note| note == bass).or((added == Some(bass)).then_some(3)),
        7 => (added.is_none() && sounds((chord.root + 10) % 12)).then_some(0),
        8 => Some(chord.mode as usize),
        _ => (in_triad() == 3 && outside() == 0 && added.is_none_or(sounds)).then_some(0),
    }
}

/// Sizes of the sets of [`harmony`]: 22 features.
const HARMONY_SETS: [usize; 10] = [4, 1, 1, 1, 2, 4, 4, 1, 3, 1];

impl BooleanProblem {
    /// The problem of this name.
    pub(crate) fn new(task: &str, corpus: &Corpus) -> BooleanProblem {
        let kind = match task {
            "bach-harmony" => Kind::Music,
            "doclines" => Kind::Lines,
            _ => Kind::Letters,
        };
        // Labels that only the test data have count, too: the paper's classifier knows all chords there are.
        let names = labels_of(corpus.train.iter().chain(&corpus.test));
        let labels = names.len();
        let numbers: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
        let chords: Arc<[Chord]> = names.iter().map(|name| Chord::parse(name)).collect();
        let (features, sets, followed) = features(kind, labels, &chords, true);
        let (vertical_only, ..) = self::features(kind, labels, &chords, false);
        let read = |sequences: &[Sequence]| {
            let one = |sequence: &Sequence| {
                let gold =
                    (0..sequence.len()).map(|t| numbers[sequence.label(t).unwrap_or_default()]).collect();
                (Observation::new(Arc::new(observe(kind, sequence)), sequence.len()), gold)
            };
            sequences.iter().map(one).collect::<Vec<_>>()
        };
        let vertical = vertical_only.len();
        BooleanProblem {
            fired: fired(kind, labels, &chords, &sets),
            features: Arc::new(features),
            vertical_only: Arc::new(vertical_only),
            labels,
            vertical,
            sets,
            followed,
            train: read(&corpus.train),
            test: read(&corpus.test),
            kind,
        }
    }

    /// Training examples: the first so many.
    pub(crate) fn examples(&self, count: usize) -> Vec<BooleanExample<Events>> {
        let example = |(observation, gold): &(Observation<Events>, Vec<u32>)| BooleanExample {
            observation: observation.clone(),
            gold: gold.clone(),
            weight: 1.0,
        };
        self.train[..count.clamp(1, self.train.len())].iter().map(example).collect()
    }

    /// Edge scores prepared: one matrix, or one for each accent.
    pub(crate) fn matrices(&self, weights: &[f32]) -> Vec<Vec<f32>> {
        // Summed as the library sums them on demand: in double precision, set by set.
        let score = |features: &[u32]| -> f32 {
            features.iter().map(|&feature| f64::from(weights[feature as usize])).sum::<f64>() as f32
        };
        let pairs = self.labels * self.labels;
        self.fired.chunks(pairs).map(|kind| kind.iter().map(|features| score(features)).collect()).collect()
    }

    /// Which matrix leads into each position, if there are several.
    pub(crate) fn selection(&self, observation: &Observation<Events>) -> Option<Vec<u32>> {
        let accent = |t| u32::from(observation.content.at(t, ACCENT).clamp(1, ACCENTS as u8)) - 1;
        (self.kind == Kind::Music).then(|| (1..observation.positions).map(accent).collect())
    }
}

/// The cells of a sequence as numbers.
fn observe(kind: Kind, sequence: &Sequence) -> Events {
    let mut cells = vec![];
    for t in 0..sequence.len() {
        let number = |cell: &str| cell.parse::<u8>().unwrap_or(0);
        match kind {
            Kind::Music => {
                // Name of the chorale and number of the event are no evidence.
                cells.extend((2..14).map(|column| number(sequence.cell(t, column).unwrap_or_default())));
                cells.push(pitch(sequence.cell(t, 14).unwrap_or_default()));
                cells.push(number(sequence.cell(t, 15).unwrap_or_default()));
            }
            Kind::Lines | Kind::Letters => cells.extend(sequence.cells(t).map(number)),
        }
    }
    let width = cells.len() / sequence.len().max(1);
    Events { width, cells }
}

type Made = (BooleanFeatures<Events>, Vec<Range<usize>>, Vec<(String, usize)>);

/// The features, the sets of horizontal ones, and vertical ones to follow.
fn features(kind: Kind, labels: usize, chords: &Arc<[Chord]>, horizontal: bool) -> Made {
    let mut features = BooleanFeatures::<Events>::new(labels);
    let (mut sets, mut followed) = (vec![], vec![]);
    match kind {
        Kind::Music => {
            for (set, &members) in HARMONY_SETS.iter().enumerate() {
                let chords = Arc::clone(chords);
                let numbers =
                    features.vertical_set(members, move |x, t, y| harmony(x, t, chords[y as usize], set));
                followed.extend(numbers.map(|i| (VERTICAL_MUSIC[i].to_owned(), i)));
            }
            if horizontal {
                sets.push(features.horizontal_set(2 * ACCENTS, |x, t, p, y| Some(metre(x, t, p == y))));
                let chords = Arc::clone(chords);
                sets.push(features.transition_set(SUCCESSIONS.len(), move |p, y| {
                    succession(chords[p as usize], chords[y as usize], p == y)
                }));
            }
        }
        Kind::Lines => {
            for column in 0..24 {
                let fires = move |x: &Events, t, y| (x.at(t, column) != 0).then_some(y as usize);
                let numbers = features.vertical_set(labels, fires);
                followed.push((format!("boolean {}", column + 1), numbers.start));
            }
        }
        Kind::Letters => {
            for column in 0..16 {
                let fires =
                    move |x: &Events, t, y| Some(usize::from(x.at(t, column).min(15)) * labels + y as usize);
                let numbers = features.vertical_set(16 * labels, fires);
                followed.push((format!("number {} is 7", column + 1), numbers.start + 7 * labels));
            }
        }
    }
    if horizontal && kind != Kind::Music {
        sets.push(features.label_bigrams());
    }
    (features, sets, followed)
}

/// The chord changes, or stays, on each of five accents.
fn metre(x: &Events, t: usize, same: bool) -> usize {
    let accent = usize::from(x.at(t, ACCENT)).clamp(1, ACCENTS) - 1;
    if same { accent } else { ACCENTS + accent }
}

/// For each kind of step and pair of labels, the horizontal features that fire.
fn fired(kind: Kind, labels: usize, chords: &[Chord], sets: &[Range<usize>]) -> Vec<Vec<u32>> {
    let kinds = if kind == Kind::Music { ACCENTS } else { 1 };
    let mut all = Vec::with_capacity(kinds * labels * labels);
    for accent in 0..kinds {
        for (p, y) in (0..labels * labels).map(|i| (i / labels, i % labels)) {
            let features = match kind {
                Kind::Music => {
                    let metric = sets[0].start + if p == y { accent } else { ACCENTS + accent };
                    let after = succession(chords[p], chords[y], p == y).map(|i| sets[1].start + i);
                    [Some(metric), after].into_iter().flatten().map(|feature| feature as u32).collect()
                }
                Kind::Lines | Kind::Letters => vec![(sets[0].start + p * labels + y) as u32],
            };
            all.push(features);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_read_as_they_are_spelt() {
        let chord = Chord::parse("F#m7");
        assert_eq!(
            (chord.root, chord.mode, chord.triad(), chord.added_note()),
            (6, Mode::Minor, [6, 9, 1], Some(4))
        );
        assert_eq!(Chord::parse("C_M").triad(), [0, 4, 7]);
        assert_eq!(Chord::parse("B_d").triad(), [11, 2, 5]);
        assert_eq!(Chord::parse("BbM").root, 10);
    }

    #[test]
    fn successions_are_intervals_of_roots() {
        let chord = |name: &str| Chord::parse(name);
        let name = |p: &str, y: &str| succession(chord(p), chord(y), p == y).map(|i| SUCCESSIONS[i]);
        assert_eq!(name("G_M", "C_M"), Some("a fifth down"));
        assert_eq!(name("C_M", "C_m"), Some("same root"));
        assert_eq!(name("C_M", "C_M"), None);
        assert_eq!(name("B_M", "C_M"), Some("a step up"));
        assert_eq!(name("C_M", "F#M"), Some("a tritone"));
    }

    /// Thirty-nine features, as the paper has; and edges prepared are those evaluated on demand, to the last bit.
    #[test]
    fn prepared_edges_are_those_on_demand() {
        use kbest::feature::boolean::EdgeBound;
        let mut sequence = Sequence::new();
        for (t, chord) in ["C_M", "F_M7", "G_m", "B_d", "C_M", "C_m"].into_iter().enumerate() {
            let mut cells = vec!["x".to_owned(), t.to_string()];
            cells.extend((0..12).map(|note| u8::from((note * 7 + t) % 3 == 0).to_string()));
            cells.extend(["E".to_owned(), (t % 5 + 1).to_string()]);
            sequence.push(&cells);
            sequence.set_label(chord);
        }
        let corpus = Corpus { train: vec![sequence.clone()], test: vec![sequence] };
        let problem = BooleanProblem::new("bach-harmony", &corpus);
        assert_eq!((problem.features.len(), problem.vertical, problem.followed.len()), (39, 22, 22));
        let weights: Arc<[f32]> = (0..39).map(|i| (i as f32 * 0.37).sin() * 3.1).collect();
        let matrices = problem.matrices(&weights);
        let (observation, _) = &problem.test[0];
        let selection = problem.selection(observation).unwrap();
        let scored = problem.features.score(observation, &weights, EdgeBound::ExclusiveSets).unwrap();
        let on_demand = scored.lattice().unwrap();
        let dense =
            matrices.iter().map(|matrix| kbest::Edges::dense(problem.labels, matrix).unwrap()).collect();
        let edges = kbest::Edges::per_position(dense).unwrap();
        let prepared = kbest::Lattice::selecting(scored.nodes.as_slice(), &edges, selection).unwrap();
        for seed in 0..200u32 {
            let path: Vec<u32> = (0..6).map(|t| (seed.wrapping_mul(2_654_435_761) >> (4 * t)) % 5).collect();
            assert_eq!(prepared.path_score(&path).unwrap(), on_demand.path_score(&path).unwrap());
        }
    }
}
