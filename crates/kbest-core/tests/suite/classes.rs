//! Edges in classes against the same scores as a matrix: every exact decoder, k best paths, lazy paths and marginals.
//!
//! The random cases of `common` have classes, too, but few labels. Here there are enough for vector kernels, for lists
//! of best labels that run out, and for sums in which nearly everything cancels: a label that carries nearly all of the
//! weight and is an exception to nearly all others; classes whose members are all exceptions, far below their base.

use crate::common::{Random, cast, exact_decoders, exact_kbest_decoders};
use kbest_core::lattice::{EdgeScores, Shape};
use kbest_core::scheme::{Scheme, Tagging};
use kbest_core::transition::Transitions;
use kbest_core::{Decode, Edges, Float, Lattice, MarginalScratch, Scratch, kbest_iter, marginals};

const NO: f64 = f64::NEG_INFINITY;

/// Scores in classes, in plain numbers.
struct Made {
    labels: usize,
    classes: [Vec<u32>; 2],
    base: Vec<f64>,
    targets: usize,
    exceptions: Vec<(u32, u32, f64)>,
}

impl Made {
    fn random(seed: u64, labels: usize) -> Self {
        let r = &mut Random::new(seed);
        let counts = [1 + r.below(5), 1 + r.below(5)];
        let classes = counts.map(|count| (0..labels).map(|_| r.below(count) as u32).collect::<Vec<_>>());
        let spread = [1.0, 4.0, 300.0][r.below(3)];
        let forbidden = [0.0, 0.4][r.below(2)];
        let score = |r: &mut Random, spread: f64| {
            if r.chance(forbidden) { NO } else { (r.unit() * 2.0 * spread - spread).round() }
        };
        let base: Vec<f64> = (0..counts[0] * counts[1]).map(|_| score(r, spread)).collect();
        let density = [0.0, 0.02, 0.5][r.below(3)];
        let mut exceptions = vec![];
        // One origin is an exception to nearly all targets; all of a class are exceptions to one target.
        let (crowded, empty) = (r.below(labels), r.below(labels) as u32);
        for p in 0..labels {
            for y in 0..labels as u32 {
                let all_of_a_class = y == empty && classes[0][p] == classes[0][crowded];
                let special = (p == crowded && r.chance(0.95)) || all_of_a_class;
                if special || r.chance(density) {
                    let far = if all_of_a_class { -spread } else { 0.0 };
                    exceptions.push((p as u32, y, far + score(r, 3.0)));
                }
            }
        }
        Made { labels, classes, base, targets: counts[1], exceptions }
    }

    fn edges<S: Float>(&self) -> Edges<S> {
        let (from, to): (Vec<u32>, Vec<u32>) = self.exceptions.iter().map(|&(p, y, _)| (p, y)).unzip();
        let scores: Vec<f64> = self.exceptions.iter().map(|exception| exception.2).collect();
        let [origins, targets] = &self.classes;
        let (base, scores) = (cast::<S>(&self.base), cast::<S>(&scores));
        Edges::classes(origins, targets, &base, self.targets, (&from, &to, &scores)).unwrap()
    }

    fn matrix(&self) -> Vec<f64> {
        let labels = self.labels;
        let [origins, targets] = &self.classes;
        let base = |i: usize| origins[i / labels] as usize * self.targets + targets[i % labels] as usize;
        let mut matrix: Vec<f64> = (0..labels * labels).map(|i| self.base[base(i)]).collect();
        self.exceptions.iter().for_each(|&(p, y, w)| matrix[p as usize * labels + y as usize] = w);
        matrix
    }
}

fn agree<S: Float>(seed: u64, labels: usize) {
    let made = Made::random(seed, labels);
    let (edges, dense) = (made.edges::<S>(), Edges::dense(labels, cast::<S>(&made.matrix())).unwrap());
    let r = &mut Random::new(seed ^ 77);
    let positions = 1 + r.below(6);
    let crowded = made.exceptions.first().map_or(0, |exception| exception.0 as usize);
    let node = |i: usize| match i % labels == crowded {
        true => 40.0, // carries nearly all of the weight
        false if r.chance(0.1) => NO,
        false => (r.unit() * 9.0).floor(),
    };
    let nodes: Vec<S> = cast(&(0..positions * labels).map(node).collect::<Vec<_>>());
    let got = Lattice::new(nodes.as_slice(), &edges).unwrap();
    let expected = Lattice::new(nodes.as_slice(), &dense).unwrap();
    let what = format!("seed {seed}, {labels} labels, {positions} positions");

    let mut scratch = Scratch::new();
    for decoder in exact_decoders() {
        let (got, expected) = (decoder.decode(&got, &mut scratch), decoder.decode(&expected, &mut scratch));
        assert_eq!(got.map(|d| d.paths), expected.map(|d| d.paths), "{what}, {}", decoder.name());
    }
    let scores =
        |lattice: &Lattice<'_, S>| kbest_iter(lattice).take(9).map(|path| path.score).collect::<Vec<_>>();
    let nine = scores(&expected);
    assert_eq!(scores(&got), nine, "{what}, lazy");
    for decoder in exact_kbest_decoders() {
        if let Ok(answer) = decoder.decode_kbest(&got, 9, &mut scratch) {
            let found: Vec<S> = answer.paths.iter().map(|path| path.score).collect();
            assert_eq!(found, nine, "{what}, {}", decoder.name());
        }
    }

    // Summed from a function, each target is added up in log space.
    let matrix = cast::<S>(&made.matrix());
    let exact =
        Edges::callback(labels, move |_, p, y| matrix[p * labels + y], |_| S::from_f64(1e6), 1e6).unwrap();
    let exact = Lattice::new(nodes.as_slice(), &exact).unwrap();
    let (mut one, mut other) = (MarginalScratch::new(), MarginalScratch::new());
    match (marginals(&got, &mut one), marginals(&exact, &mut other)) {
        (Ok(got), Ok(exact)) => {
            let close = |a: f64, b: f64| {
                assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{what}: {a}, expected {b}")
            };
            close(got.log_partition(), exact.log_partition());
            for t in 0..positions {
                got.node(t).iter().zip(exact.node(t)).for_each(|(&a, &b)| close(a, b));
            }
        }
        (got, exact) => assert_eq!(got.err(), exact.err(), "{what}"),
    }
}

#[test]
fn classes_and_matrix_agree() {
    for seed in 0..60 {
        let labels = [1, 2, 17, 40, 70][seed as usize % 5];
        agree::<f32>(seed, labels);
        agree::<f64>(seed, labels);
    }
    agree::<f32>(1000, 150);
}

/// Schemes over many labels: in classes, with the same answers as the matrix of what is allowed.
#[test]
fn schemes_over_many_labels() {
    for (seed, scheme) in
        [(1, Scheme::Iob1), (2, Scheme::Iob2), (3, Scheme::Ioe1), (4, Scheme::Ioe2), (5, Scheme::Iobes)]
    {
        let letters = if scheme == Scheme::Iobes {
            "BIES"
        } else if seed > 2 {
            "IE"
        } else {
            "BI"
        };
        let mut names = vec!["O".to_owned()];
        names.extend((0..40).flat_map(|kind| letters.chars().map(move |letter| format!("{letter}-{kind}"))));
        let labels = names.len();
        let mut tagging = Tagging::detect(&names).unwrap();
        tagging.scheme = scheme;
        let transitions = Transitions::from_names(&names, tagging);
        let r = &mut Random::new(seed);
        let learned: Vec<u32> = (0..200).map(|i| (i * 89 % labels) as u32).collect();
        let targets: Vec<u32> =
            (0..200).map(|i| (i / labels * 3 + i * 7 % labels) as u32 % labels as u32).collect();
        let values: Vec<f32> = (0..200).map(|_| r.below(5) as f32 - 2.0).collect();
        let free = Edges::sparse(labels, 0.0, &learned, &targets, &values).unwrap();
        let edges = transitions.constrain(&free).unwrap();
        let (Shape::Sparse(free), Shape::Sparse(sparse)) = (free.shape(), edges.shape()) else {
            panic!("sparse edges stay sparse")
        };
        assert!(
            sparse.classes().0 <= 3 && sparse.exceptions() < 20 * labels,
            "{scheme}: {:?}",
            sparse.classes()
        );
        let score = |i: usize| {
            let (p, y) = (i / labels, i % labels);
            if transitions.allowed(p, y) { free.get(1, p, y) } else { f32::NEG_INFINITY }
        };
        let dense = Edges::dense(labels, (0..labels * labels).map(score).collect::<Vec<_>>()).unwrap();
        let nodes: Vec<f32> = (0..5 * labels).map(|_| r.below(12) as f32).collect();
        let [got, expected] = [&edges, &dense].map(|edges| Lattice::new(nodes.as_slice(), edges).unwrap());
        let mut scratch = Scratch::new();
        for decoder in exact_decoders() {
            let best = |lattice: &Lattice<'_, f32>, scratch: &mut Scratch<f32>| {
                decoder.decode(lattice, scratch).unwrap().paths
            };
            assert_eq!(
                best(&got, &mut scratch),
                best(&expected, &mut scratch),
                "{scheme}, {}",
                decoder.name()
            );
        }
    }
}
