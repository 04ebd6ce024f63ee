//! Learned bounds: what they promise, measured on sequences that nothing was fitted on; and the estimate against the formula.

use kbest_core::random::Random;
use kbest_core::segment::{
    BoundMemory, BoundOptions, BoundSource, Estimate, Guarantee, LearnedBound, LookAtSequence, Norm, Scratch,
    Segment, SegmentLattice, learn_bound,
};
use kbest_core::{Decoder, Edges, Error, Lattice, Result};

const LABELS: usize = 5;
const LONGEST: usize = 6;
const WORDS: usize = 40;

/// Records of fields: each label has words of its own and shares others, and the right segments score more than others.
struct Records {
    edges: Edges<f32>,
    durations: Vec<f32>,
    records: Vec<Record>,
}

struct Record {
    words: Vec<Vec<u32>>, // features of each token: the word, and the word before
    nodes: Vec<f32>,
    segments: Vec<Segment>,
    salt: u64,
}

impl Records {
    fn new(count: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let r = &mut random;
        let durations =
            (0..LONGEST * LABELS).map(|i| -0.3 * ((i / LABELS) as f32 - (i % LABELS) as f32).abs());
        let edges: Vec<f32> = (0..LABELS * LABELS)
            .map(|i| if (i / LABELS + 1) % LABELS == i % LABELS { 1.0 } else { -0.5 })
            .collect();
        let records = (0..count).map(|i| Record::new(r, i as u64)).collect();
        Records { edges: Edges::dense(LABELS, edges).unwrap(), durations: durations.collect(), records }
    }

    fn lattice(&self, i: usize) -> SegmentLattice<'_, f32> {
        let record = &self.records[i];
        let bounds: Vec<f32> = vec![3.0; LONGEST * LABELS];
        SegmentLattice::new(Lattice::new(&record.nodes[..], &self.edges).unwrap())
            .with_durations(&self.durations)
            .unwrap()
            .with_score_function(bounds, 3.0, |s, r, y| record.explicit(s, r, y))
            .unwrap()
    }
}

impl Record {
    fn new(r: &mut Random, salt: u64) -> Self {
        let (mut segments, mut words, mut nodes) = (vec![], vec![], vec![]);
        let mut y = r.below(LABELS);
        let mut before = WORDS;
        for _ in 0..2 + r.below(6) {
            let (start, length) = (words.len(), 1 + r.below(y + 1).min(LONGEST - 1));
            for _ in 0..length {
                let word =
                    if r.chance(0.3) { r.below(WORDS) } else { (y * WORDS / LABELS + r.below(8)) % WORDS };
                words.push(vec![word as u32, (WORDS + 1 + before) as u32]);
                before = word;
                for label in 0..LABELS {
                    let own = (word + WORDS - label * WORDS / LABELS) % WORDS < 8;
                    nodes.push((if own { 1.2 } else { 0.0 }) + 0.2 * r.unit() as f32);
                }
            }
            segments.push(Segment { start, end: words.len(), label: y as u32 });
            y = (y + if r.chance(0.8) { 1 } else { 2 }) % LABELS;
        }
        Record { words, nodes, segments, salt }
    }

    /// Right segments score about 2.5, others about 0.
    fn explicit(&self, s: usize, r: usize, y: u32) -> f32 {
        let noise = Random::new(self.salt ^ ((s * 1000 + r) * 100 + y as usize) as u64).unit() as f32;
        let right = self.segments.contains(&Segment { start: s, end: r, label: y });
        if right { 2.0 + noise } else { noise - 0.5 }
    }
}

impl BoundSource<f32> for Records {
    fn count(&self) -> usize {
        self.records.len()
    }

    fn show(&mut self, i: usize, look: &mut LookAtSequence<'_, f32>) -> Result<()> {
        look(&self.lattice(i), &self.records[i].words)
    }
}

fn learned(options: &BoundOptions) -> LearnedBound {
    learn_bound(&mut Records::new(400, 1), options, &mut |_| ()).unwrap().0
}

fn options() -> BoundOptions {
    BoundOptions { frequent: 10, trees: 12, ..BoundOptions::default() }
}

/// Shares of sequences that fall short by more than delta, and explicit scores asked for: exactly, and with the bound.
fn try_out(bound: &LearnedBound, records: &Records) -> (f64, [u64; 2]) {
    let (mut scratch, mut memory) = (Scratch::default(), BoundMemory::default());
    let (mut failed, mut asked) = (0, [0, 0]);
    for i in 0..records.records.len() {
        let lattice = records.lattice(i);
        let exact = Decoder::default().decode_segments(&lattice, 1, &mut scratch).unwrap();
        let estimate = bound.estimate(&lattice, &records.records[i].words, &mut memory).unwrap();
        let lattice = lattice.with_learned(&estimate).unwrap();
        let found = Decoder::SemiAstar(Estimate::Learned).decode_segments(&lattice, 1, &mut scratch).unwrap();
        let promise = bound.promise();
        // A search that takes too long is left to the exact one.
        let probable = Guarantee::Probable { epsilon: promise.epsilon, delta: promise.delta };
        assert!([probable, Guarantee::Exact].contains(&found.guarantee()));
        let [best, answer] = [&exact.paths[0], &found.paths[0]];
        assert_eq!(lattice.segmentation_score(&answer.segments).unwrap(), answer.score);
        assert!(answer.score <= best.score);
        failed += usize::from(f64::from(best.score - answer.score) > promise.delta);
        asked[0] += exact.counters.unwrap().explicit;
        asked[1] += found.counters.unwrap().explicit;
    }
    (failed as f64 / records.records.len() as f64, asked)
}

#[test]
fn promises_are_kept_on_new_sequences() {
    let new = Records::new(500, 2);
    for norm in [Norm::L1, Norm::L2] {
        for delta in [0.0, 1.0] {
            let options = BoundOptions { norm, delta, regularisation: 0.1, ..options() };
            let (bound, report) = learn_bound(&mut Records::new(400, 1), &options, &mut |_| ()).unwrap();
            let promise = bound.promise();
            assert_eq!((promise.measured, report.fitted), (100, 300));
            let (failed, asked) = try_out(&bound, &new);
            let error = 3.0 * (promise.epsilon * (1.0 - promise.epsilon) / 500.0).sqrt();
            println!("{norm:?} {delta}: {failed} <= {} {asked:?} {report:?}", promise.epsilon);
            assert!(failed <= promise.epsilon + error, "{failed} of {promise:?}");
            assert!(promise.epsilon < 0.3, "{promise:?}");
            assert!(asked[1] * 2 < asked[0], "{asked:?}");
        }
    }
}

/// The estimate is the known parts and the chain along `P(z, s, r, y)`, added up one by one.
#[test]
fn estimates_follow_their_formula() {
    let bound = learned(&options());
    let parts = bound.parts();
    let weight = |features: &[u32], y: usize| -> f64 {
        let of = |feature: &u32| {
            let place = parts.features.binary_search(feature).ok()?;
            let row = &parts.weights[parts.starts[place] as usize..parts.starts[place + 1] as usize];
            row.iter().find(|(label, _)| *label as usize == y).map(|(_, weight)| f64::from(*weight))
        };
        f64::from(parts.bias[y]) + features.iter().filter_map(of).sum::<f64>()
    };
    let records = Records::new(20, 3);
    let mut memory = BoundMemory::default();
    for (i, record) in records.records.iter().enumerate() {
        let lattice = records.lattice(i);
        let estimate = bound.estimate(&lattice, &record.words, &mut memory).unwrap();
        let (positions, z) = (record.words.len(), memory.path().to_vec());
        for s in 0..positions {
            for r in s + 1..=positions.min(s + LONGEST) {
                for y in 0..LABELS {
                    let path: Vec<usize> =
                        (s..positions).map(|t| if t < r { y } else { z[t] as usize }).collect();
                    let mut expected =
                        path.iter().zip(s..).map(|(&y, t)| weight(&record.words[t], y)).sum::<f64>();
                    expected += path
                        .windows(2)
                        .map(|two| f64::from(parts.pairs[two[0] * LABELS + two[1]]))
                        .sum::<f64>();
                    // Known: nodes along the path, and durations and edges of the segment and of the runs after it.
                    expected += path
                        .iter()
                        .zip(s..)
                        .map(|(&y, t)| f64::from(record.nodes[t * LABELS + y]))
                        .sum::<f64>();
                    let mut runs = vec![(s, r)];
                    for t in r..positions {
                        match runs.last_mut() {
                            Some(last) if t > r && z[t] == z[t - 1] => last.1 = t + 1,
                            _ => runs.push((t, t + 1)),
                        }
                    }
                    for (n, &(from, to)) in runs.iter().enumerate() {
                        let label = path[from - s];
                        let at = (to - from - 1) * LABELS + label;
                        expected += records.durations.get(at).map_or(0.0, |&duration| f64::from(duration));
                        if n > 0 {
                            let before = path[from - s - 1] as u32;
                            let score = records.edges.as_dense().unwrap().padded_row(before as usize)[label];
                            expected += f64::from(score);
                        }
                    }
                    let got = estimate.completion(&lattice, Segment { start: s, end: r, label: y as u32 });
                    assert!((got - expected).abs() < 1e-4, "[{s}, {r}) {y} of {i}: {got} {expected}");
                }
            }
        }
    }
}

/// 4.1 states the same programme in other words; 4.2 leaves inequalities out.
#[test]
fn formulations_agree() {
    let fit = |sparse: bool, all_inequalities: bool| {
        let options = BoundOptions { sparse, all_inequalities, trees: 5, ..options() };
        learn_bound(&mut Records::new(24, 5), &options, &mut |_| ()).unwrap().1.size
    };
    for all in [false, true] {
        let (dense, sparse) = (fit(false, all), fit(true, all));
        assert_eq!((dense.inequalities, dense.weights), (sparse.inequalities, sparse.weights));
        assert!((dense.inexactness - sparse.inexactness).abs() < 1e-2, "{dense:?} {sparse:?}");
        assert!(sparse.coefficients < dense.coefficients, "{dense:?} {sparse:?}");
    }
    assert!(fit(true, false).inequalities * 5 < fit(true, true).inequalities);
}

#[test]
fn the_same_seed_gives_the_same_bound() {
    assert_eq!(learned(&options()), learned(&options()));
}

#[test]
fn guarantees_end_where_constraints_begin() {
    let bound = learned(&BoundOptions { trees: 0, ..options() });
    let records = Records::new(3, 4);
    let (mut scratch, mut memory) = (Scratch::default(), BoundMemory::default());
    let decoder: Decoder = "semi-astar:learned".parse().unwrap();
    assert_eq!(decoder.to_string(), "semi-astar:learned");
    let lattice = records.lattice(0);
    let error = decoder.decode_segments(&lattice, 1, &mut scratch).unwrap_err();
    assert!(
        matches!(&error, Error::Unsupported { reason, .. } if reason.contains("belong to models")),
        "{error}"
    );
    let estimate = bound.estimate(&lattice, &records.records[0].words, &mut memory).unwrap();
    let forced = lattice.with_learned(&estimate).unwrap().force(0, 2, 3).unwrap();
    let answer = decoder.decode_segments(&forced, 1, &mut scratch).unwrap();
    assert_eq!(answer.paths[0].segments[0], Segment { start: 0, end: 2, label: 3 });
    assert_eq!(answer.guarantee(), Guarantee::None);
    assert!(records.lattice(1).with_learned(&estimate).is_err(), "made for another lattice");
}

#[test]
fn bad_options_and_parts_are_refused() {
    let refused = |options: BoundOptions, count: usize| {
        matches!(learn_bound(&mut Records::new(count, 1), &options, &mut |_| ()), Err(Error::Argument { .. }))
    };
    assert!(refused(BoundOptions { delta: f64::NAN, ..options() }, 9));
    assert!(refused(BoundOptions { margin: -1.0, ..options() }, 9));
    assert!(refused(BoundOptions { holdout: 1.0, ..options() }, 9));
    assert!(refused(options(), 1));
    let bound = learned(&options());
    let spoil = |change: &dyn Fn(&mut kbest_core::segment::BoundParts)| {
        let mut parts = bound.parts().clone();
        change(&mut parts);
        LearnedBound::new(parts).is_err()
    };
    assert!(!spoil(&|_| ()));
    assert!(spoil(&|parts| parts.labels = 6));
    assert!(spoil(&|parts| parts.bias[0] = f32::NAN));
    assert!(spoil(&|parts| parts.weights[0].0 = 5));
    assert!(spoil(&|parts| parts.starts[1] = u32::MAX));
    assert!(spoil(&|parts| parts.features.reverse()));
    assert!(spoil(&|parts| parts.features.truncate(1)));
    assert!(spoil(&|parts| parts.promise.epsilon = 2.0));
}
