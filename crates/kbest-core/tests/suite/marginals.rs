//! Forward-backward against the sum over all paths, one by one; then cases that cannot be enumerated: long sequences,
//! many labels, the limits of the number range.
//!
//! **Tolerance.** With unit roundoff `u = 2^-53`, a logarithm of magnitude `M` computed from `2T + 1` scores is off by
//! at most about `(2T + 1) M u`, on both sides of a comparison; a step adds `L` products and a few roundings of
//! exponentials and logarithms: `(L + 40) u`. Factors of dense `f32` edges add `2^-24` per step. An error in a
//! logarithm is a relative error of a probability.

use crate::common::{Case, EDGE_KINDS, EdgeKind, Numbers, Random, cast, enumerate};
use kbest_core::decode::Viterbi;
use kbest_core::marginal::PairSums;
use kbest_core::{Decode, Edges, Error, Float, Lattice, MarginalScratch, Scratch, log_partition, marginals};
use proptest::prelude::*;

const NO: f64 = f64::NEG_INFINITY;

/// Every legal path with its score in `f64`, and sums over them.
struct Reference {
    paths: Vec<(Vec<u32>, f64)>,
    log_partition: f64,
}

impl Reference {
    fn new<S: Float>(case: &Case, lattice: &Lattice<'_, S>) -> Self {
        let value = |v: f64| S::from_f64(v).to_f64();
        let score = |path: &[u32]| {
            let border =
                |side: &Option<Vec<f64>>, y: u32| side.as_ref().map_or(0.0, |s| value(s[y as usize]));
            let mut score = 0.0;
            for (t, &y) in path.iter().enumerate() {
                score += lattice.node_row(t)[y as usize].to_f64();
                if t > 0 {
                    let matrix = match case.kind {
                        EdgeKind::PerPosition => t - 1,
                        EdgeKind::Selected => case.selection[t - 1] as usize,
                        _ => 0,
                    };
                    score += value(case.matrices[matrix][path[t - 1] as usize * case.labels + y as usize]);
                }
            }
            match (path.first(), path.last()) {
                (Some(&first), Some(&last)) => score + border(&case.start, first) + border(&case.end, last),
                _ => score,
            }
        };
        let paths: Vec<_> = enumerate(lattice).into_iter().map(|p| (score(&p.labels), p.labels)).collect();
        let top = paths.iter().map(|p| p.0).fold(NO, f64::max);
        // Of sums like `1e30 + ln 2`, only the difference to the top is accurate.
        let log_sum = sum(paths.iter().map(|p| (p.0 - top).exp())).ln();
        let log_partition = top + log_sum;
        let paths = paths.into_iter().map(|(score, labels)| (labels, score - top - log_sum)).collect();
        Reference { paths, log_partition }
    }

    /// Probability of all paths for which a condition holds.
    fn probability(&self, holds: impl Fn(&[u32]) -> bool) -> f64 {
        sum(self.paths.iter().filter(|(path, _)| holds(path)).map(|(_, log)| log.exp()))
    }
}

fn tolerance<S: Float>(case: &Case) -> f64 {
    let (t, l) = (case.positions as f64, case.labels as f64);
    let finite =
        |row: &Vec<f64>| row.iter().copied().filter(|v| v.is_finite()).map(f64::abs).fold(0.0, f64::max);
    let largest = case.matrices.iter().chain(&case.start).chain(&case.end).map(finite).fold(0.0, f64::max);
    let magnitude = largest.max(finite(&case.nodes));
    let double = ((2.0 * t + 1.0) * 8.0 * magnitude + (t + 1.0) * (l + 40.0)) * f64::EPSILON;
    double + 4.0 * (t + 1.0) * if size_of::<S>() == 4 { S::UNIT_ROUNDOFF } else { 0.0 }
}

fn close(got: f64, expected: f64, tolerance: f64, what: impl std::fmt::Display) {
    assert!(
        (got - expected).abs() <= tolerance,
        "{what}: got {got}, expected {expected}, tolerance {tolerance:e}"
    );
}

/// Every result, against all paths.
fn check<S: Float>(case: &Case, scratch: &mut MarginalScratch, tolerance: f64) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let reference = Reference::new(case, &lattice);
    if reference.paths.is_empty() {
        assert_eq!(marginals(&lattice, scratch).err(), Some(Error::NoPath), "{case:?}");
        assert_eq!(log_partition(&lattice, scratch).err(), Some(Error::NoPath), "{case:?}");
        return;
    }
    // For `log Z` itself, the precision of the number counts.
    let wide = tolerance + 8.0 * f64::EPSILON * reference.log_partition.abs();
    close(
        log_partition(&lattice, scratch).unwrap(),
        reference.log_partition,
        wide,
        format!("log Z of {case:?}"),
    );
    let found = marginals(&lattice, scratch).unwrap();
    close(found.log_partition(), reference.log_partition, wide, format!("log Z of {case:?}"));

    let mut summed = vec![0.0; case.labels * case.labels];
    for t in 0..case.positions {
        let row = found.node(t);
        close(row.iter().sum(), 1.0, (case.labels + 4) as f64 * f64::EPSILON, "sum of a row");
        for y in 0..case.labels {
            let expected = reference.probability(|path| path[t] as usize == y);
            close(row[y], expected, tolerance, format!("label {y} at {t} of {case:?}"));
            if t == 0 {
                continue;
            }
            for p in 0..case.labels {
                let expected =
                    reference.probability(|path| (path[t - 1] as usize, path[t] as usize) == (p, y));
                close(found.edge(t, p, y), expected, tolerance, format!("{p} to {y} into {t} of {case:?}"));
                summed[p * case.labels + y] += expected;
            }
        }
    }
    check_pairs(case, &found, &summed, tolerance);
    check_sums(case, &edges, &found, tolerance);
    for (path, expected) in &reference.paths {
        let got = found.path_log_probability(path).unwrap();
        // A logarithm as large as the scores has only their precision.
        let wide = tolerance + 8.0 * f64::EPSILON * expected.abs();
        close(got, *expected, wide, format!("path {path:?} of {case:?}"));
    }
    let likeliest = found.posterior_path();
    for (t, (&y, &posterior)) in likeliest.labels.iter().zip(&likeliest.posteriors).enumerate() {
        let row = found.node(t);
        assert_eq!(posterior, row[y as usize]);
        assert!(row[..y as usize].iter().all(|&other| other < posterior), "the lowest label on a tie");
        assert!(row.iter().all(|&other| other <= posterior));
    }
    assert_eq!(likeliest.labels.len(), case.positions);
}

/// The matrix of a step and the sums over steps against single pairs.
fn check_pairs<S: Float>(case: &Case, found: &kbest_core::Marginals<'_, S>, summed: &[f64], tolerance: f64) {
    let labels = case.labels;
    let mut visited = vec![0.0; labels * labels];
    for t in 1..case.positions {
        let mut matrix = vec![9.0; labels * labels];
        found.fill_edges(t, &mut matrix);
        close(matrix.iter().sum(), 1.0, tolerance, format!("all pairs into {t} of {case:?}"));
        for (i, &got) in matrix.iter().enumerate() {
            close(got, found.edge(t, i / labels, i % labels), tolerance, "matrix and single pair");
        }
        found.visit_edges(t, |p, y, posterior| {
            close(posterior, matrix[p * labels + y], tolerance, "visited pair");
            visited[p * labels + y] += 2.0 * posterior;
        });
    }
    let mut accumulated = vec![0.0; labels * labels];
    found.accumulate_edges(2.0, |p, y, value| accumulated[p * labels + y] += value);
    let exceptions_only = match case.kind {
        EdgeKind::Sparse | EdgeKind::SparseForbidden | EdgeKind::Classes => true,
        EdgeKind::PerPosition | EdgeKind::Selected => true, // some of the matrices are sparse
        EdgeKind::Dense | EdgeKind::Callback => false,
    };
    for i in 0..labels * labels {
        close(accumulated[i], visited[i], 1e-12, "accumulated and visited");
        let total = 2.0 * tolerance * case.positions as f64;
        if exceptions_only {
            assert!(accumulated[i] <= 2.0 * summed[i] + total);
        } else {
            close(accumulated[i], 2.0 * summed[i], total, format!("sum of pair {i} of {case:?}"));
        }
    }
}

/// Sums with the edges' exponentials factored out against sums without, over the sequence twice.
fn check_sums<S: Float>(case: &Case, edges: &Edges<S>, found: &kbest_core::Marginals<'_, S>, tolerance: f64) {
    let mut sums = PairSums::new();
    if matches!(case.kind, EdgeKind::PerPosition | EdgeKind::Selected | EdgeKind::Callback) {
        assert!(sums.reset(edges).is_err());
        return;
    }
    sums.reset(edges).unwrap();
    sums.add(found, 0.5);
    sums.add(found, 1.5);
    let mut accumulated = vec![0.0; case.labels * case.labels];
    found.accumulate_edges(2.0, |p, y, value| accumulated[p * case.labels + y] += value);
    let mut last = None;
    sums.visit(edges, |p, y, got| {
        assert!(last.replace((p, y)).is_none_or(|last| last < (p, y)), "pairs are ascending");
        let expected = std::mem::take(&mut accumulated[p * case.labels + y]);
        let total = 4.0 * tolerance * case.positions as f64;
        close(got, expected, total, format!("sum of {p} to {y} of {case:?}"));
    });
    assert!(accumulated.iter().all(|&left| left == 0.0), "every pair is visited");
}

/// The same case with every finite score multiplied.
fn scaled(case: &Case, factor: f64) -> Case {
    let scale = |row: &Vec<f64>| row.iter().map(|v| v * factor).collect::<Vec<f64>>();
    Case {
        nodes: scale(&case.nodes),
        matrices: case.matrices.iter().map(scale).collect(),
        start: case.start.as_ref().map(scale),
        end: case.end.as_ref().map(scale),
        ..case.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_kinds_equal_enumeration(seed in any::<u64>()) {
        let case = Case::random(seed, 5, 5);
        let mut scratch = MarginalScratch::new();
        check::<f64>(&case, &mut scratch, tolerance::<f64>(&case));
        check::<f32>(&case, &mut scratch, tolerance::<f32>(&case));
    }

    /// Spreads of a hundred to some ten thousand: most factors are lost, so this tests the exact sums.
    #[test]
    fn large_spreads_equal_enumeration(seed in any::<u64>(), factor in prop::sample::select(vec![16.0, 64.0, 1024.0])) {
        let case = scaled(&Case::random(seed, 4, 5), factor);
        let mut scratch = MarginalScratch::new();
        check::<f64>(&case, &mut scratch, tolerance::<f64>(&case));
        check::<f32>(&case, &mut scratch, tolerance::<f32>(&case));
    }

    /// Scores of 1e30: whole multiples of 2^100, so that sums of scores are exact and equal paths are equal. A best
    /// path that stands alone has posterior 1.
    #[test]
    fn scores_at_1e30_find_the_best_path(seed in any::<u64>()) {
        let case = scaled(&Case::random(seed, 4, 5), 2f64.powi(100));
        if case.numbers == Numbers::Whole {
            find_the_best::<f64>(&case);
            find_the_best::<f32>(&case);
        }
    }

    /// Offsets common to all nodes or edges of a step cost no precision: they are subtracted first.
    #[test]
    fn large_offsets_equal_enumeration(seed in any::<u64>(), exponent in 10i32..40) {
        let mut case = Case::random(seed, 4, 5);
        // Whole numbers around 2^40 are exact in `f64`.
        if case.numbers == Numbers::Whole {
            let tolerance = tolerance::<f64>(&case);
            let offset = 2f64.powi(exponent);
            case.nodes.iter_mut().for_each(|v| *v += offset);
            if case.kind != EdgeKind::Callback {
                case.matrices.iter_mut().flatten().for_each(|v| *v -= offset);
            }
            check::<f64>(&case, &mut MarginalScratch::new(), tolerance);
        }
    }
}

fn find_the_best<S: Float>(case: &Case) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let paths = enumerate(&lattice);
    let mut scratch = MarginalScratch::new();
    let found = match marginals(&lattice, &mut scratch) {
        Err(Error::Range { .. }) => return, // a likely path far below the best scores of its positions
        Err(error) => return assert!(paths.is_empty() && error == Error::NoPath),
        Ok(found) => found,
    };
    let Some(best) = paths.first() else { panic!("no legal path, yet marginals") };
    let score = best.score.to_f64();
    close(found.log_partition(), score, score.abs() * 1e-12 + 20.0, format!("{case:?}"));
    for t in 0..case.positions {
        close(found.node(t).iter().sum(), 1.0, 1e-12, "a row");
        // Labels on no best path have no probability.
        for y in 0..case.labels {
            let on_best = paths.iter().any(|p| p.score == best.score && p.labels[t] as usize == y);
            assert!(on_best || found.node(t)[y] == 0.0, "label {y} at {t} of {case:?}");
        }
    }
    if paths.get(1).is_none_or(|second| second.score < best.score) {
        assert_eq!(found.posterior_path().labels, best.labels);
        close(found.path_log_probability(&best.labels).unwrap(), 0.0, 1e-9, "the only path");
    }
}

/// Every kind of edges occurs among the random cases, with and without a legal path.
#[test]
fn the_cases_cover_every_kind() {
    for kind in EDGE_KINDS {
        let of_kind = (0..2000).map(|seed| Case::random(seed, 5, 5)).filter(|case| case.kind == kind);
        let legal = of_kind.map(|case| {
            let edges = case.edges::<f64>();
            let lattice = case.lattice(&edges);
            marginals(&lattice, &mut MarginalScratch::new()).is_ok()
        });
        let legal: Vec<bool> = legal.collect();
        assert!(legal.contains(&true) && legal.contains(&false), "{kind:?}");
    }
}

/// A random sparse matrix in all shapes: the same posteriors. Large enough for the vector kernels, the sparse view of
/// dense edges, and both passes of the product.
fn shapes_agree<S: Float>(labels: usize, base: f64, spread: f64, node_spread: f64, seed: u64) {
    let mut r = Random::new(seed);
    let (mut from, mut to, mut scores) = (vec![], vec![], vec![]);
    let mut matrix = vec![base; labels * labels];
    for i in 0..labels * labels {
        if r.chance(0.008) {
            let w = if r.chance(0.2) { NO } else { f64::from((r.unit() * spread) as f32) };
            matrix[i] = w;
            from.push((i / labels) as u32);
            to.push((i % labels) as u32);
            scores.push(w);
        }
    }
    let positions = 6;
    let nodes: Vec<S> =
        cast(&(0..positions * labels).map(|_| (r.unit() * node_spread).floor()).collect::<Vec<_>>());
    let sparse = Edges::<S>::sparse(labels, S::from_f64(base), &from, &to, &cast::<S>(&scores)).unwrap();
    let dense = Edges::<S>::dense(labels, cast::<S>(&matrix)).unwrap();
    // Two values instead of one base: the sparse view is useless, so the product is used; same posteriors, because a
    // number added to a whole column can be subtracted from the nodes.
    let shifted: Vec<f64> =
        (0..labels * labels).map(|i| matrix[i] + f64::from((i % labels % 8) as u32)).collect();
    let product = Edges::<S>::dense(labels, cast::<S>(&shifted)).unwrap();
    let shifted_nodes: Vec<S> =
        (0..nodes.len())
            .map(|i| {
                if i < labels { nodes[i] } else { nodes[i] - S::from_f64(f64::from((i % labels % 8) as u32)) }
            })
            .collect();
    let copy = cast::<S>(&matrix);
    let callback =
        Edges::callback(labels, move |_, p, y| copy[p * labels + y], |_| S::from_f64(1e6), 1e6).unwrap();

    let (mut one, mut other) = (MarginalScratch::new(), MarginalScratch::new());
    let lattice = Lattice::new(nodes.clone(), &callback).unwrap();
    let expected = marginals(&lattice, &mut one).unwrap();
    let magnitude = 2.0 * positions as f64 * (spread + node_spread + base.abs().min(1e6) + 10.0);
    let tolerance = 4.0 * positions as f64 * ((labels as f64 + magnitude) * f64::EPSILON + S::UNIT_ROUNDOFF);
    for (name, edges, nodes) in
        [("sparse", &sparse, &nodes), ("dense", &dense, &nodes), ("product", &product, &shifted_nodes)]
    {
        let lattice = Lattice::new(nodes.clone(), edges).unwrap();
        let found = marginals(&lattice, &mut other).unwrap();
        let what = format!("{name}, {labels} labels, base {base}, spreads {spread} and {node_spread}");
        close(found.log_partition(), expected.log_partition(), tolerance * 10.0, &what);
        for t in 0..positions {
            for y in 0..labels {
                close(found.node(t)[y], expected.node(t)[y], tolerance, &what);
            }
        }
    }
}

#[test]
fn shapes_agree_on_many_labels() {
    for (seed, &labels) in [33, 150, 257].iter().enumerate() {
        for base in [0.0, -3.0] {
            for (spread, node_spread) in [(3.0, 3.0), (20.0, 200.0), (900.0, 100.0), (5.0, 2000.0)] {
                shapes_agree::<f64>(labels, base, spread, node_spread, seed as u64);
                shapes_agree::<f32>(labels, base, spread, node_spread, seed as u64);
            }
        }
    }
}

/// A dominant label from which half of the labels are forbidden: the remainder after the subtraction is `exp(-gap)` of
/// all weights.
#[test]
fn cancelled_sums_are_noticed() {
    for gap in [1.0, 10.0, 30.0, 34.0, 36.0, 60.0, 100.0, 700.0, 800.0, 5000.0] {
        let labels = 64;
        let targets: Vec<u32> = (0..labels as u32 / 2).collect();
        let from = vec![7u32; targets.len()];
        let edges = Edges::sparse(labels, 0.0f64, &from, &targets, &vec![NO; targets.len()]).unwrap();
        let mut nodes = vec![0.0; 2 * labels];
        nodes[7] = gap;
        // The second label must be one that the dominant one cannot reach.
        let lattice = Lattice::new(nodes, &edges).unwrap().force(1, 3).unwrap();
        let mut scratch = MarginalScratch::new();
        let found = marginals(&lattice, &mut scratch).unwrap();
        close(found.log_partition(), 63f64.ln(), 1e-12 + gap * 1e-15, format!("gap {gap}"));
        assert_eq!(found.node(0)[7], 0.0);
        close(found.node(0)[8], 1.0 / 63.0, 1e-12 + gap * 1e-15, format!("gap {gap}"));
        close(found.edge(1, 8, 3), 1.0 / 63.0, 1e-12 + gap * 1e-15, format!("gap {gap}"));
    }
}

#[test]
fn the_empty_sequence_and_single_labels() {
    let edges = Edges::dense(3, vec![0.0f32; 9]).unwrap();
    let mut scratch = MarginalScratch::new();
    marginals(&Lattice::new(vec![0.0f32; 6], &edges).unwrap(), &mut scratch).unwrap();
    let lattice = Lattice::new(vec![], &edges).unwrap();
    assert_eq!(log_partition(&lattice, &mut scratch).unwrap(), 0.0);
    let found = marginals(&lattice, &mut scratch).unwrap();
    assert_eq!((found.log_partition(), found.positions()), (0.0, 0));
    let node = std::panic::AssertUnwindSafe(|| found.node(0));
    assert!(std::panic::catch_unwind(node).is_err(), "there is no position");
    assert_eq!(found.path_log_probability(&[]).unwrap(), 0.0);
    assert!(found.path_log_probability(&[0]).is_err());
    assert!(found.posterior_path().labels.is_empty());
    found.accumulate_edges(1.0, |_, _, _| panic!("no pairs"));

    let one = Edges::dense(1, vec![-2.5f64]).unwrap();
    let lattice = Lattice::new(vec![1.0, 2.0, 3.0], &one).unwrap();
    let found = marginals(&lattice, &mut scratch).unwrap();
    assert_eq!(found.log_partition(), 1.0);
    assert_eq!((found.node(2), found.edge(1, 0, 0)), (&[1.0][..], 1.0));
    assert_eq!(found.path_log_probability(&[0, 0, 0]).unwrap(), 0.0);
}

/// Ties go to the lowest label; the most likely labels need not be a legal path.
#[test]
fn posterior_decoding_is_not_the_best_path() {
    // 0 -> 1 is the single best path; label 3 is the most likely at both positions, but 3 -> 3 is forbidden.
    let mut scores = vec![NO; 16];
    scores[1] = 1.0;
    for y in 0..3 {
        (scores[3 * 4 + y], scores[y * 4 + 3]) = (0.9, 0.9);
    }
    let edges = Edges::dense(4, scores).unwrap();
    let lattice = Lattice::new(vec![0.0; 8], &edges).unwrap();
    let mut scratch = MarginalScratch::new();
    let found = marginals(&lattice, &mut scratch).unwrap();
    let best = Viterbi.decode(&lattice, &mut Scratch::new()).unwrap();
    assert_eq!(best.best().labels, [0, 1]);
    let likeliest = found.posterior_path();
    assert_eq!(likeliest.labels, [3, 3]);
    let logs = found.path_log_probabilities(&best.paths).unwrap();
    close(logs[0], 1.0 - found.log_partition(), 1e-14, "posterior of the best path");
    assert_eq!(found.path_log_probability(&likeliest.labels).unwrap(), NO);

    let edges = Edges::dense(4, vec![0.0f64; 16]).unwrap();
    let lattice = Lattice::new(vec![0.0; 8], &edges).unwrap().allow(0, &[1, 2]).unwrap();
    let found = marginals(&lattice, &mut scratch).unwrap();
    assert_eq!(found.posterior_path().labels, [1, 0]);
}

/// A sum that does not drift: the rounding errors of all additions are added at the end.
fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut error) = (0.0f64, 0.0);
    for term in terms {
        let total = sum + term;
        error += if sum.abs() >= term.abs() { (sum - total) + term } else { (term - total) + sum };
        sum = total;
    }
    sum + error
}

/// 100,000 independent positions: `log Z` is a sum of logarithms, and each position's posteriors are its own.
#[test]
fn long_sequences_neither_overflow_nor_drift() {
    let (positions, labels) = (100_000, 3);
    let mut r = Random::new(5);
    for offset in [0.0, 1000.0, -1000.0] {
        let nodes: Vec<f64> =
            (0..positions * labels).map(|_| offset + (r.unit() * 640.0).floor() / 64.0).collect();
        let edges = Edges::dense(labels, vec![0.25; labels * labels]).unwrap();
        let lattice = Lattice::new(nodes.clone(), &edges).unwrap();
        let mut scratch = MarginalScratch::new();
        let alone = log_partition(&lattice, &mut scratch).unwrap();
        let found = marginals(&lattice, &mut scratch).unwrap();
        let single = |row: &[f64]| offset + row.iter().map(|v| (v - offset).exp()).sum::<f64>().ln();
        let logs = nodes.chunks(labels).map(|row| single(row) - offset);
        let expected = sum(logs) + positions as f64 * offset + (positions - 1) as f64 * 0.25;
        // Each logarithm is off by a few units of at most 16; the offsets are exact.
        let tolerance = positions as f64 * 16.0 * 8.0 * f64::EPSILON + 1e-15 * expected.abs();
        close(found.log_partition(), expected, tolerance, "log Z");
        assert_eq!(alone, found.log_partition());
        let path = found.posterior_path();
        for (t, row) in nodes.chunks(labels).enumerate() {
            let z = single(row);
            for y in 0..labels {
                close(found.node(t)[y], (row[y] - z).exp(), 1e-12, "independent positions");
            }
        }
        let log = sum(path.posteriors.iter().map(|posterior| posterior.ln()));
        close(found.path_log_probability(&path.labels).unwrap(), log, tolerance, "independent path");
    }
}

/// Long, dependent, and with strong edges: posteriors agree with those of neighbouring pairs.
#[test]
fn pairs_sum_to_their_labels() {
    let (positions, labels) = (300, 40);
    let mut r = Random::new(11);
    let mut scores = |n: usize, spread: f64| (0..n).map(|_| (r.unit() * spread) as f32).collect::<Vec<f32>>();
    let edges = Edges::dense(labels, scores(labels * labels, 60.0)).unwrap();
    let lattice = Lattice::new(scores(positions * labels, 90.0), &edges).unwrap();
    let mut scratch = MarginalScratch::new();
    let found = marginals(&lattice, &mut scratch).unwrap();
    let mut matrix = vec![0.0; labels * labels];
    for t in 1..positions {
        found.fill_edges(t, &mut matrix);
        for y in 0..labels {
            let into: f64 = (0..labels).map(|p| matrix[p * labels + y]).sum();
            let out_of: f64 = matrix[y * labels..][..labels].iter().sum();
            // One step's error each way: the factors' rounding.
            close(into, found.node(t)[y], 4.0 * f64::from(f32::EPSILON), format!("into {y} at {t}"));
            close(out_of, found.node(t - 1)[y], 4.0 * f64::from(f32::EPSILON), format!("out of {y} at {t}"));
        }
    }
}

#[test]
fn no_legal_path_is_an_error() {
    let mut scratch = MarginalScratch::new();
    let dense = Edges::dense(2, vec![NO; 4]).unwrap();
    let sparse = Edges::sparse(2, NO, &[0], &[0], &[1.0]).unwrap();
    for edges in [&dense, &sparse] {
        let lattice = Lattice::new(vec![0.0; 4], edges).unwrap().force(1, 1).unwrap();
        assert_eq!(marginals(&lattice, &mut scratch).err(), Some(Error::NoPath));
        assert_eq!(log_partition(&lattice, &mut scratch).err(), Some(Error::NoPath));
    }
    let free = Edges::dense(2, vec![0.0; 4]).unwrap();
    let lattice = Lattice::new(vec![0.0; 4], &free).unwrap().with_end(vec![NO, NO]).unwrap();
    assert_eq!(marginals(&lattice, &mut scratch).err(), Some(Error::NoPath));
    // The memory can be used for the next sequence.
    let lattice = Lattice::new(vec![0.0; 4], &free).unwrap();
    close(marginals(&lattice, &mut scratch).unwrap().log_partition(), 4f64.ln(), 1e-14, "four paths");
}

/// Two paths that are equally good although both lie far below the best scores: no sum can tell how likely they are.
#[test]
fn likely_paths_with_huge_scores_are_refused() {
    let mut scratch = MarginalScratch::new();
    let edges = Edges::dense(2, vec![0.0, NO, NO, 0.0]).unwrap();
    let nodes = |low: f64| vec![0.0, low, low, 0.5, 0.0, low, low, 0.0];
    let fine = Lattice::new(nodes(-1e11), &edges).unwrap();
    let found = marginals(&fine, &mut scratch).unwrap();
    close(found.node(1)[1], 1.0 / (1.0 + (-0.5f64).exp()), 1e-4, "far below, but in range");
    let huge = Lattice::new(nodes(-1e17), &edges).unwrap();
    assert!(matches!(marginals(&huge, &mut scratch), Err(Error::Range { .. })));
    // A label that is impossible because of its score does no harm.
    let free = Edges::dense(2, vec![0.0; 4]).unwrap();
    let masked = Lattice::new(vec![0.0, 1.0, -1e30, 0.0, 0.0, 0.0], &free).unwrap();
    let found = marginals(&masked, &mut scratch).unwrap();
    assert_eq!(found.node(1), [0.0, 1.0]);
    close(found.node(2)[0], 0.5, 1e-12, "after the mask");
}
