//! Edges that change, against new edges with the same scores: every question a decoder can ask, then every exact
//! decoder and the marginals.
//!
//! Few labels and few distinct scores make rare events frequent: full rows, rows and columns whose maximum falls, dead
//! ends that come and go, exceptions that return to the base. 70 and 130 labels need more than one word of the bitmap
//! and ragged vectors; lists move to new places from the fifth exception on.

use crate::common::{Random, exact_decoders};
use kbest_core::lattice::{EdgeScores, OverallBound, Shape};
use kbest_core::{Decode, Edges, Error, Float, Lattice, MarginalScratch, Scratch, marginals};
use proptest::prelude::*;

const NO: f64 = f64::NEG_INFINITY;

/// The base of sparse edges.
#[derive(Clone)]
struct Base<S> {
    classes: [Vec<u32>; 2], // of origins and targets: L each
    scores: Vec<S>,         // three classes of origins times two of targets
}

impl<S: Float> Base<S> {
    fn one(labels: usize, score: f64) -> Self {
        Base { classes: [vec![0; labels], vec![0; labels]], scores: vec![S::from_f64(score); 6] }
    }

    fn random(labels: usize, r: &mut Random) -> Self {
        let classes = [3, 2].map(|count| (0..labels).map(|_| r.below(count) as u32).collect());
        Base { classes, scores: (0..6).map(|_| S::from_f64(value(r))).collect() }
    }

    fn at(&self, i: usize) -> S {
        let [from, to] = &self.classes;
        let labels = from.len();
        self.scores[(from[i / labels] * 2 + to[i % labels]) as usize]
    }
}

/// What the base of the edges is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    None, // dense
    One(f64),
    Classes,
}

/// Edges under change, and the scores they must have.
struct Changing<S: Float> {
    labels: usize,
    base: Option<Base<S>>, // of sparse edges
    scores: Vec<S>,        // L x L
    order: Option<Vec<u32>>,
    edges: Edges<S>,
}

impl<S: Float> Changing<S> {
    fn new(labels: usize, kind: Kind, r: &mut Random) -> Self {
        let base = match kind {
            Kind::None => None,
            Kind::One(score) => Some(Base::one(labels, score)),
            Kind::Classes => Some(Base::random(labels, r)),
        };
        let density = [0.0, 0.1, 1.0][r.below(3)];
        let rest = |i: usize| base.as_ref().map_or(S::ZERO, |base| base.at(i));
        let score = |i: usize| if r.chance(density) { S::from_f64(value(r)) } else { rest(i) };
        let scores: Vec<S> = (0..labels * labels).map(score).collect();
        let order = r.chance(0.5).then(|| r.shuffled(labels));
        let edges = ranked(made(labels, base.as_ref(), &scores), order.as_ref());
        Changing { labels, base, scores, order, edges }
    }

    /// One random change, by either method.
    fn change(&mut self, r: &mut Random) {
        let (p, y) = (r.below(self.labels) as u32, r.below(self.labels) as u32);
        let score = &mut self.scores[p as usize * self.labels + y as usize];
        let by = match r.below(4) {
            0 => self.base.as_ref().map_or(S::ZERO, |base| base.at(p as usize * self.labels + y as usize)),
            _ => S::from_f64(value(r)),
        };
        if r.chance(0.5) {
            *score = by;
            self.edges.set(p, y, by).unwrap();
        } else {
            *score += by;
            self.edges.add(p, y, by).unwrap();
        }
    }

    fn anew(&self) -> Edges<S> {
        ranked(made(self.labels, self.base.as_ref(), &self.scores), self.order.as_ref())
    }
}

fn ranked<S: Float>(edges: Edges<S>, order: Option<&Vec<u32>>) -> Edges<S> {
    match order {
        Some(order) => edges.ranked(order.clone()).unwrap(),
        None => edges,
    }
}

fn made<S: Float>(labels: usize, base: Option<&Base<S>>, scores: &[S]) -> Edges<S> {
    let Some(base) = base else { return Edges::dense(labels, scores).unwrap() };
    let listed: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] != base.at(i)).collect();
    let from: Vec<u32> = listed.iter().map(|i| (i / labels) as u32).collect();
    let to: Vec<u32> = listed.iter().map(|i| (i % labels) as u32).collect();
    let scores: Vec<S> = listed.iter().map(|&i| scores[i]).collect();
    let [origins, targets] = &base.classes;
    match base.scores.iter().all(|&score| score == base.scores[0]) {
        true => Edges::sparse(labels, base.scores[0], &from, &to, &scores).unwrap(),
        false => Edges::classes(origins, targets, &base.scores, 2, (&from, &to, &scores)).unwrap(),
    }
}

/// Few distinct scores, some forbidden.
fn value(r: &mut Random) -> f64 {
    if r.chance(0.15) { NO } else { r.below(9) as f64 - 4.5 }
}

/// Every question of the interface.
fn tell_the_same<S: Float>(got: &impl EdgeScores<S>, expected: &impl EdgeScores<S>, labels: usize) {
    let mut buffers = [vec![S::ZERO; labels + 16], vec![S::ZERO; labels + 16]];
    let [one, other] = &mut buffers;
    let (bounds, wanted) = (got.bounds(1), expected.bounds(1));
    for i in 0..labels {
        assert_eq!(got.row(1, i, one), expected.row(1, i, other), "row {i}");
        assert_eq!(got.column(1, i, one), expected.column(1, i, other), "column {i}");
        if let Some(in_blocks) = got.row_in_blocks(1, i) {
            for (&bound, block) in in_blocks.bounds.iter().zip(in_blocks.row[..labels].chunks(64)) {
                assert_eq!(
                    bound,
                    block.iter().fold(S::FORBIDDEN, |most, &w| most.larger(w)),
                    "block of row {i}"
                );
            }
        }
        for y in 0..labels {
            assert_eq!(got.get(1, i, y), expected.get(1, i, y), "from {i} to {y}");
        }
        assert_eq!(bounds.row.at(i), wanted.row.at(i), "bound of row {i}");
        assert_eq!(bounds.column.at(i), wanted.column.at(i), "bound of column {i}");
    }
    assert_eq!(bounds.overall, wanted.overall);
    assert_eq!((bounds.smallest_row, bounds.dead_ends), (wanted.smallest_row, wanted.dead_ends));
}

fn compare<S: Float>(changing: &Changing<S>, expected: &Edges<S>) {
    let labels = changing.labels;
    match (changing.edges.shape(), expected.shape()) {
        (Shape::Dense(got), Shape::Dense(expected)) => {
            tell_the_same(got, expected, labels);
            let typical = got.bounds(1).typical;
            assert_eq!(got.exceptions(), changing.scores.iter().filter(|&&w| w != typical).count());
            assert_eq!(got.as_sparse().exceptions(), got.exceptions());
            tell_the_same(got.as_sparse(), expected, labels);
        }
        (Shape::Sparse(got), Shape::Sparse(expected)) => {
            tell_the_same(got, expected, labels);
            assert_eq!(got.bounds(1).typical, expected.bounds(1).typical);
            assert_eq!(got.exceptions(), expected.exceptions());
            for i in 0..labels {
                assert_eq!((got.leaving(i), got.entering(i)), (expected.leaving(i), expected.entering(i)));
            }
        }
        _ => panic!("the shape changed"),
    }
    // The rounding slack depends on the largest magnitude.
    let slack = |edges| Lattice::new(vec![S::ZERO; 2 * labels], edges).unwrap().rounding_slack();
    assert_eq!(slack(&changing.edges), slack(expected));
}

/// Every exact decoder, with one scratch that has seen the edges before; sums over all paths.
fn decode_the_same<S: Float>(
    changing: &Changing<S>,
    expected: &Edges<S>,
    scratch: &mut Scratch<S>,
    r: &mut Random,
) {
    let nodes: Vec<S> = (0..5 * changing.labels).map(|_| S::from_f64(2.0 * value(r))).collect();
    let got = Lattice::new(nodes.as_slice(), &changing.edges).unwrap();
    let expected = Lattice::new(nodes.as_slice(), expected).unwrap();
    for decoder in exact_decoders() {
        let (got, wanted) = (decoder.decode(&got, scratch), decoder.decode(&expected, scratch));
        assert_eq!(got.map(|d| d.paths), wanted.map(|d| d.paths), "{decoder:?}");
    }
    let mut sums = MarginalScratch::new();
    let mut posteriors = |lattice: &Lattice<'_, S>| {
        let marginals = marginals(lattice, &mut sums)?;
        let nodes: Vec<f64> = (0..5).flat_map(|t| marginals.node(t)).copied().collect();
        Ok::<_, Error>((marginals.log_partition(), nodes))
    };
    match (posteriors(&got), posteriors(&expected)) {
        // The typical edge determines which edges are summed as exceptions, and so the rounding.
        (Ok((got, nodes)), Ok((expected, wanted))) => {
            assert!((got - expected).abs() < 1e-4, "{got} {expected}");
            assert!(nodes.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-4));
        }
        (got, expected) => assert_eq!(got, expected),
    }
}

fn follow<S: Float>(seed: u64, labels: usize, base: Kind, rounds: usize) {
    let r = &mut Random::new(seed);
    let mut scratch = Scratch::new();
    let mut changing = Changing::<S>::new(labels, base, r);
    for round in 0..rounds {
        for _ in 0..r.below(1 + 3 * labels) {
            changing.change(r);
        }
        let expected = changing.anew();
        compare(&changing, &expected); // also makes everything that is made on first use
        if round % 2 == 1 {
            decode_the_same(&changing, &expected, &mut scratch, r);
        }
    }
}

const BASES: [Kind; 5] = [Kind::None, Kind::One(0.0), Kind::One(1.5), Kind::One(NO), Kind::Classes];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_edges_are_as_if_made_anew(seed in any::<u64>(), labels in 1usize..7, base in 0usize..5) {
        follow::<f64>(seed, labels, BASES[base], 12);
        follow::<f32>(seed, labels, BASES[base], 12);
    }
}

#[test]
fn so_are_those_of_many_labels() {
    for (seed, labels) in [(1, 70), (2, 130)] {
        for base in BASES {
            follow::<f32>(seed, labels, base, 8);
        }
    }
}

/// From no exceptions to nothing but exceptions, and back.
#[test]
fn rows_fill_and_empty() {
    let labels = 20u32;
    let mut changing = Changing::<f32> {
        labels: 20,
        base: Some(Base::one(20, 1.0)),
        scores: vec![1.0; 400],
        order: None,
        edges: Edges::uniform(20, 1.0).unwrap(),
    };
    for score in [-2.0, NO as f32, 1.0] {
        for i in Random::new(3).shuffled(400) {
            changing.scores[i as usize] = score;
            changing.edges.set(i / labels, i % labels, score).unwrap();
        }
        compare(&changing, &changing.anew());
    }
    let Shape::Sparse(sparse) = changing.edges.shape() else { panic!("sparse edges") };
    assert_eq!(sparse.exceptions(), 0);
}

/// A given looser bound stays, unless an edge rises above it.
#[test]
fn a_given_bound_holds() {
    let bound = OverallBound::SumOfPositives(&[4.0f64, 2.0]);
    let mut edges = Edges::sparse(3, 0.0, &[0], &[1], &[5.0]).unwrap().bounded_by(&bound).unwrap();
    let overall = |edges: &Edges<f64>| match edges.shape() {
        Shape::Sparse(sparse) => sparse.bounds(1).overall,
        _ => panic!("sparse edges"),
    };
    for (score, expected) in [(-1.0, 6.0), (7.0, 7.0), (2.0, 6.0)] {
        edges.set(0, 1, score).unwrap();
        assert_eq!(overall(&edges), expected);
    }
}

#[test]
fn bad_changes_are_refused_and_change_nothing() {
    const HUGE: f32 = f32::MAX / 8.0; // in range for a lattice, but not together with the largest number
    let dense = || Edges::dense(2, vec![0.0f32, HUGE, f32::NEG_INFINITY, 1.0]).unwrap();
    let sparse = || Edges::sparse(2, 0.0f32, &[0, 1], &[1, 0], &[HUGE, f32::NEG_INFINITY]).unwrap();
    for mut edges in [dense(), sparse()] {
        let score = |edges: &Edges<f32>, path: &[u32]| {
            Lattice::new(vec![0.0; 4], edges).unwrap().path_score(path).unwrap()
        };
        assert!(matches!(edges.add(2, 0, 1.0), Err(Error::LabelOutOfRange { label: 2, labels: 2, .. })));
        assert!(matches!(edges.set(0, 9, 1.0), Err(Error::LabelOutOfRange { label: 9, .. })));
        assert!(matches!(edges.set(0, 0, f32::NAN), Err(Error::IllegalScore { .. })));
        assert!(matches!(edges.set(0, 0, f32::INFINITY), Err(Error::IllegalScore { .. })));
        let error = edges.add(0, 1, f32::MAX).unwrap_err();
        assert!(error.to_string().contains("from label 0 to label 1"), "{error}");
        assert!(edges.add(1, 0, f32::INFINITY).is_err(), "minus plus plus infinity is NaN");
        assert_eq!((score(&edges, &[0, 0]), score(&edges, &[0, 1])), (0.0, HUGE));
        edges.add(1, 0, 3.0).unwrap();
        assert_eq!(
            score(&edges, &[1, 0]),
            f32::NEG_INFINITY,
            "a forbidden edge stays forbidden, whatever is added"
        );
    }
    let function = Edges::callback(2, |_, _, _| 0.0f32, |_| 0.0, 0.0).unwrap();
    let mut several = Edges::per_position(vec![dense(), dense()]).unwrap();
    for (edges, expected) in [(&mut { function }, "stored scores"), (&mut several, "one matrix")] {
        let error = edges.set(0, 0, 1.0).unwrap_err();
        assert!(error.to_string().contains(&format!("expected {expected}")), "{error}");
    }
    several.add_in(1, 0, 0, 2.0).unwrap();
    assert!(matches!(several.add_in(2, 0, 0, 2.0), Err(Error::Shape { .. })), "there is no such matrix");
    let lattice = Lattice::new(vec![0.0; 6], &several).unwrap();
    assert_eq!(lattice.path_score(&[0, 0, 0]).unwrap(), 2.0, "the second step alone");
}
