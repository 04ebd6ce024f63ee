//! The boolean features framework: every way to make edges yields the same scores, bounds hold, all decoders agree, and
//! a path's score is the sum of the weights of the features that are active along it.

use crate::common::{Random, enumerate, exact_decoders};
use kbest::decode::Viterbi;
use kbest::feature::boolean::{BooleanFeatures, EdgeBound, Observation};
use kbest::lattice::{EdgeScores, Shape};
use kbest::{Decode, Edges, Error, Float, LabelId, Lattice, Scratch};
use std::sync::Arc;

type Bytes = Vec<u8>;

/// Features of every kind over bytes; `observing` adds horizontal ones that look at them.
fn features(random: &mut Random, labels: usize, observing: bool) -> BooleanFeatures<Bytes> {
    let mut features = BooleanFeatures::new(labels);
    for _ in 0..1 + random.below(3) {
        let salt = random.next();
        match random.below(3) {
            0 => _ = features.vertical(move |x: &Bytes, t, y| mix(salt, x[t], y, 0).is_multiple_of(3)),
            1 => {
                let last = move |x: &Bytes, t: usize, y: LabelId| t + 1 == x.len() && y.is_multiple_of(2);
                let other = move |x: &Bytes, t: usize, y: LabelId| {
                    t + 1 < x.len() && mix(salt, x[t + 1], y, 1).is_multiple_of(2)
                };
                _ = features.exclusive_vertical(vec![Box::new(last), Box::new(other)]);
            }
            _ => {
                _ = features
                    .vertical_set(4, move |x: &Bytes, t, y| Some((mix(salt, x[t], y, 2) % 5) as usize))
            }
        }
    }
    match random.below(3) {
        0 => _ = features.label_bigrams(),
        1 => _ = features.transition(|p, y| p == y),
        _ => _ = features.transition_set(3, |p, y| Some((p + y) as usize % 4)),
    }
    if observing {
        let salt = random.next();
        features.horizontal(move |x, t, p, y| mix(salt, x[t], p, y).is_multiple_of(4));
        features.horizontal_set(5, move |x, t, p, y| Some((mix(salt, x[t - 1], y, p) % 7) as usize));
        features.exclusive_horizontal(vec![
            Box::new(|x, t, p, y| p == y && x[t].is_multiple_of(2)),
            Box::new(|x, t, p, y| p == y && x[t] % 2 == 1),
        ]);
    }
    features
}

fn mix(salt: u64, x: u8, a: u32, b: u32) -> u64 {
    let seed = salt ^ u64::from(x) << 40 ^ u64::from(a) << 20 ^ u64::from(b);
    Random::new(seed).next()
}

/// Edge `p -> y` into `t`, as the judge reads it.
fn edge<S: Float>(lattice: &Lattice<'_, S>, t: usize, p: usize, y: usize) -> S {
    match lattice.edges().shape() {
        Shape::Dense(edges) => edges.get(t, p, y),
        Shape::Sparse(edges) => edges.get(t, p, y),
        Shape::PerPosition(edges) => edges.matrices()[t - 1].get(t, p, y),
        Shape::Callback(edges) => edges.get(t, p, y),
    }
}

fn overall<S: Float>(edges: &Edges<S>, t: usize) -> S {
    match edges.shape() {
        Shape::Dense(edges) => edges.bounds(t).overall,
        Shape::Sparse(edges) => edges.bounds(t).overall,
        Shape::PerPosition(edges) => edges.matrices()[t - 1].bounds(t).overall,
        Shape::Callback(edges) => edges.bounds(t).overall,
    }
}

fn check<S: Float>(seed: u64, scratch: &mut Scratch<S>) {
    let random = &mut Random::new(seed);
    let (positions, labels) = (1 + random.below(5), 1 + random.below(4));
    let observing = random.chance(0.7);
    let features = features(random, labels, observing);
    assert_eq!(features.has_observed_edges(), observing);
    let whole = random.chance(0.5); // whole numbers: sums are exact
    let weight = |random: &mut Random| {
        let w = random.unit() * 8.0 - 4.0;
        if random.chance(0.05) {
            f64::NEG_INFINITY
        } else if whole {
            w.round()
        } else {
            w
        }
    };
    let weights: Arc<[S]> = (0..features.len()).map(|_| S::from_f64(weight(random))).collect();
    let bytes: Bytes = (0..positions).map(|_| random.below(4) as u8).collect();
    let observation = Observation::new(bytes, positions);

    let bounds = [EdgeBound::Exact, EdgeBound::ExclusiveSets, EdgeBound::SumOfPositives];
    let mut expected: Option<kbest::Result<kbest::Decoded<S>>> = None;
    for matrices in [false, true] {
        let mut tighter = S::FORBIDDEN;
        for bound in bounds {
            let mut scored = features.score(&observation, &weights, bound).unwrap();
            if matrices && positions > 1 {
                // The same edges, computed one by one in advance.
                let whole = as_matrices(&scored.lattice().unwrap());
                scored.edges = whole;
            }
            let lattice = scored.lattice().unwrap();
            // Bounds hold, and loosen in the order they are listed.
            for t in 1..positions {
                let largest = (0..labels * labels)
                    .map(|i| edge(&lattice, t, i / labels, i % labels))
                    .fold(S::FORBIDDEN, S::larger);
                assert!(largest <= overall(&scored.edges, t), "seed {seed}, {matrices}, {bound:?}");
            }
            if positions > 1 {
                let loosest = (1..positions).map(|t| overall(&scored.edges, t)).fold(S::FORBIDDEN, S::larger);
                assert!(tighter <= loosest, "seed {seed}");
                tighter = loosest;
            }
            // The score of a path is the sum of the weights that are active along it.
            for path in enumerate(&lattice).iter().take(20) {
                let mut sum = 0.0;
                let mut add = |feature: usize| sum += weights[feature].to_f64();
                features.visit_path(&observation.content, &path.labels, &mut add);
                let error = (sum - path.score.to_f64()).abs();
                assert!(if whole { error == 0.0 } else { error < 1e-4 }, "seed {seed}: {sum} {}", path.score);
            }
            // All decoders find the same path on all shapes of the edges.
            let viterbi = Viterbi.decode(&lattice, scratch);
            let expected = expected.get_or_insert_with(|| viterbi.clone());
            for decoder in exact_decoders() {
                let place = format!("seed {seed}, {decoder:?}, {matrices}, {bound:?}");
                match (decoder.decode(&lattice, scratch), &*expected) {
                    (Ok(answer), Ok(expected)) => assert_eq!(answer.best(), expected.best(), "{place}"),
                    (answer, expected) => {
                        assert_eq!(answer.err(), expected.as_ref().err().cloned(), "{place}");
                    }
                }
            }
        }
    }
}

/// The edges of a lattice, one matrix per step.
fn as_matrices<S: Float>(lattice: &Lattice<'_, S>) -> Edges<S> {
    let labels = lattice.labels();
    let matrix = |t: usize| {
        let scores = (0..labels * labels).map(|i| edge(lattice, t, i / labels, i % labels));
        Edges::dense(labels, scores.collect::<Vec<S>>()).unwrap()
    };
    Edges::per_position((1..lattice.positions()).map(matrix).collect()).unwrap()
}

#[test]
fn all_shapes_and_decoders_agree() {
    for seed in 0..1500 {
        check::<f64>(seed, &mut Scratch::new());
        check::<f32>(seed, &mut Scratch::new());
    }
}

/// Equation 7 of the paper: label bigrams alone are one exclusive set, so the bound is the largest positive weight;
/// with features taken one by one it is the sum of all positive ones.
#[test]
fn bounds_of_the_paper() {
    let mut features = BooleanFeatures::<()>::new(2);
    assert_eq!(features.label_bigrams(), 0..4);
    let weights = [1.0f64, -2.0, 3.0, 0.5];
    let bound = |bound| overall(&features.shared_edges(&weights, bound).unwrap(), 1);
    assert_eq!(bound(EdgeBound::Exact), 3.0);
    assert_eq!(bound(EdgeBound::ExclusiveSets), 3.0);
    assert_eq!(bound(EdgeBound::SumOfPositives), 4.5);
    let negative = features.shared_edges(&[-1.0f64; 4], EdgeBound::ExclusiveSets).unwrap();
    assert_eq!(overall(&negative, 1), 0.0, "J(w) is never below zero");
}

#[test]
fn wrong_weights_are_refused() {
    let mut features = BooleanFeatures::<[u8]>::new(2);
    features.vertical(|x, t, _| x[t] == 0);
    features.horizontal(|x, t, _, _| x[t] == 0);
    let observation = Observation::new(Arc::<[u8]>::from([0, 1, 0]), 3);
    let score = |weights: Arc<[f32]>| features.score(&observation, &weights, EdgeBound::Exact).map(|_| ());
    assert!(matches!(score(Arc::from([1.0])), Err(Error::Shape { .. })));
    assert!(matches!(score(Arc::from([1.0, f32::NAN])), Err(Error::IllegalScore { .. })));
    assert!(matches!(score(Arc::from([f32::INFINITY, 1.0])), Err(Error::IllegalScore { .. })));
    assert_eq!(score(Arc::from([1.0, f32::NEG_INFINITY])), Ok(()));
    assert!(features.shared_edges(&[1.0f32, 1.0], EdgeBound::Exact).is_err(), "an edge sees the observation");
    // A place outside a set is not a feature.
    let mut features = BooleanFeatures::<[u8]>::new(1);
    features.vertical_set(2, |x, t, _| Some(usize::from(x[t]) + 1));
    let mut nodes = Vec::new();
    features.node_scores(&observation, &[5.0f32, 7.0], &mut nodes).unwrap();
    assert_eq!(nodes, [7.0, 0.0, 7.0]);
}
