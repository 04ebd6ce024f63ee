//! Segments: enumeration of all segmentations -> plain `semi-viterbi` -> every other decoder.
//!
//! With whole numbers sums are exact and ties frequent, so the order of equally good segmentations must be right,
//! too; with real numbers sums follow the judge, so answers are compared with `==` there as well.

use crate::common::{Case, Numbers, Random, cast};
use kbest_core::decode::{Lattices, catalogue};
use kbest_core::segment::{
    Guarantee, Marginals, Plan, Scratch, Segment, SegmentLattice, SegmentScores, Segmentation, segmentations,
};
use kbest_core::{Decoded, Decoder, Edges, Error, Float, Lattice};

/// Where the scores of single segments come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    Stored,
    Function,
    Rows,
}

/// Scores of segments as rows, with bounds that are the scores, or some units more for every third label.
struct Rows<S> {
    longest: usize,
    labels: usize,
    unit: f64,
    scores: Vec<S>, // T x W x L
}

impl<S: Float> SegmentScores<S> for Rows<S> {
    fn show(&self, start: usize, end: usize, see: &mut dyn FnMut(&[S])) {
        see(&self.scores[(start * self.longest + end - start - 1) * self.labels..][..self.labels]);
    }

    fn bound(&self, start: usize, rows: &mut [S]) {
        rows.copy_from_slice(&self.scores[start * self.longest * self.labels..][..rows.len()]);
        for (i, bound) in rows.iter_mut().enumerate().filter(|(i, _)| (start + i).is_multiple_of(3)) {
            *bound = bound.larger(S::from_f64(bound.to_f64() + (i % 5) as f64 * self.unit));
        }
    }
}

/// Segments over a chain of the generator that all decoders share.
#[derive(Debug, Clone)]
struct SegmentCase {
    chain: Case,
    unit: f64,                         // of the scores below: they are at most 20
    boundaries: Option<[Vec<f64>; 2]>, // T x L each
    durations: Option<Vec<f64>>,
    explicit: Option<(usize, Vec<f64>)>, // longest; T x W x L
    demand: Demand,
    longest: Option<usize>,
    longest_of: Option<Vec<usize>>,
    forbidden: Vec<(usize, usize, u32)>,
    forced: Option<(usize, usize, u32)>,
    required: Option<usize>,
    closed: Option<usize>,
}

impl SegmentCase {
    fn random(seed: u64, positions: usize, labels: usize) -> Self {
        Self::over(Case::random(seed, positions, labels))
    }

    /// With multiples of the smallest positive number of the type.
    fn subnormal<S: Float>(seed: u64, positions: usize, labels: usize) -> Self {
        let mut case = Self::over(Case::subnormal::<S>(seed, positions, labels));
        case.unit = crate::common::smallest::<S>();
        let shrink = |score: &mut f64| *score *= case.unit;
        case.boundaries.iter_mut().flatten().flatten().for_each(shrink);
        case.durations.iter_mut().flatten().for_each(shrink);
        case.explicit.iter_mut().flat_map(|(_, scores)| scores).for_each(shrink);
        case
    }

    /// Over a chain of any family.
    fn wild(seed: u64, positions: usize, labels: usize) -> Self {
        Self::over(Case::wild(seed, positions, labels).0)
    }

    fn over(chain: Case) -> Self {
        let seed = chain.seed;
        let mut random = Random::new(seed ^ 0x5e9);
        let r = &mut random;
        let (positions, labels) = (chain.positions, chain.labels);
        let spread = [0.0, 1.0, 4.0, 20.0][r.below(4)];
        let forbid = [0.0, 0.0, 0.2][r.below(3)];
        let score = |r: &mut Random| {
            let x = (r.unit() * 2.0 - 1.0) * spread;
            match () {
                () if r.chance(forbid) => f64::NEG_INFINITY,
                () if chain.numbers == Numbers::Whole => x.round(),
                () => f64::from(x as f32),
            }
        };
        let width = |r: &mut Random| [1, 1 + r.below(positions + 3), positions + 2][r.below(3)];
        let longest = width(r);
        let durations = r.chance(0.6).then(|| {
            let mut rows: Vec<f64> = (0..longest * labels).map(|_| score(r)).collect();
            if r.chance(0.3) {
                // A tail that is the same for all lengths from some on.
                let from = r.below(longest) * labels;
                let row = rows[from..from + labels].to_vec();
                rows[from..].chunks_mut(labels).for_each(|to| to.copy_from_slice(&row));
            }
            rows
        });
        let width_of_explicit = width(r);
        let explicit = r.chance(0.4).then(|| {
            (width_of_explicit, (0..positions * width_of_explicit * labels).map(|_| score(r)).collect())
        });
        let span = |r: &mut Random| {
            let start = r.below(positions);
            (start, start + 1 + r.below(positions - start), r.below(labels) as u32)
        };
        let some = positions > 0;
        let boundaries = r.chance(0.3).then(|| {
            let whole = chain.numbers == Numbers::Whole;
            [(), ()].map(|()| {
                let x = |r: &mut Random| (r.unit() * 2.0 - 1.0) * spread;
                let scores = (0..positions * labels).map(|_| x(r));
                scores.map(|x| if whole { x.round() } else { f64::from(x as f32) }).collect()
            })
        });
        SegmentCase {
            unit: 1.0,
            boundaries,
            durations,
            explicit,
            demand: [Demand::Stored, Demand::Stored, Demand::Function, Demand::Rows][r.below(4)],
            longest: r.chance(0.3).then(|| width(r)),
            longest_of: r.chance(0.2).then(|| (0..labels).map(|_| r.below(positions + 2)).collect()),
            forbidden: if some && r.chance(0.3) { (0..3).map(|_| span(r)).collect() } else { vec![] },
            forced: (some && r.chance(0.15)).then(|| span(r)),
            required: (positions > 1 && r.chance(0.15)).then(|| 1 + r.below(positions - 1)),
            closed: (positions > 1 && r.chance(0.15)).then(|| 1 + r.below(positions - 1)),
            chain,
        }
    }

    fn lattice<'e, S: Float>(&self, edges: &'e Edges<S>) -> SegmentLattice<'e, S> {
        let (positions, labels) = (self.chain.positions, self.chain.labels);
        let mut lattice = SegmentLattice::new(self.chain.lattice(edges));
        if let Some([begin, end]) = &self.boundaries {
            lattice = lattice.with_boundaries(cast::<S>(begin), cast::<S>(end)).unwrap();
        }
        if let Some(durations) = &self.durations {
            lattice = lattice.with_durations(cast::<S>(durations)).unwrap();
        }
        if let Some((longest, scores)) = &self.explicit {
            let (longest, scores) = (*longest, cast::<S>(scores));
            lattice = if self.demand != Demand::Stored && positions > 0 {
                let (unit, magnitude) = (self.unit, 20.0 * self.unit);
                let bounds: Vec<S> = (0..longest * labels)
                    .map(|i| {
                        let of_start = |s: usize| scores[s * longest * labels + i];
                        (0..positions).map(of_start).fold(S::FORBIDDEN, |a, b| a.larger(b))
                    })
                    .collect();
                match self.demand {
                    Demand::Rows => {
                        lattice.with_score_rows(bounds, magnitude, Rows { longest, labels, unit, scores })
                    }
                    _ => lattice.with_score_function(bounds, magnitude, move |s, r, y| {
                        scores[(s * longest + r - s - 1) * labels + y as usize]
                    }),
                }
                .unwrap()
            } else {
                lattice.with_scores(longest, scores).unwrap()
            };
        }
        if let Some(longest) = self.longest {
            lattice = lattice.with_longest(longest).unwrap();
        }
        if let Some(longest) = &self.longest_of {
            lattice = lattice.with_longest_by_label(longest.clone()).unwrap();
        }
        for &(s, r, y) in &self.forbidden {
            lattice = lattice.forbid(s, r, y).unwrap();
        }
        if let Some((s, r, y)) = self.forced {
            lattice = lattice.force(s, r, y).unwrap();
        }
        if let Some(t) = self.required {
            lattice = lattice.require_boundary(t).unwrap();
        }
        if let Some(t) = self.closed {
            lattice = lattice.forbid_boundary(t).unwrap();
        }
        lattice
    }
}

/// Every legal segmentation, best first; equally good ones by label and length from the last to the first.
fn enumerate<S: Float>(lattice: &SegmentLattice<'_, S>) -> Vec<Segmentation<S>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let mut all = vec![];
    let mut open: Vec<Vec<Segment>> = vec![vec![]];
    while let Some(parts) = open.pop() {
        let at = parts.last().map_or(0, |last: &Segment| last.end);
        if at == positions {
            let score = lattice.segmentation_score(&parts).unwrap();
            if !score.is_forbidden() {
                all.push(Segmentation { segments: parts, score });
            }
            continue;
        }
        for end in at + 1..=positions {
            for label in 0..labels as u32 {
                open.push(parts.iter().copied().chain([Segment { start: at, end, label }]).collect());
            }
        }
    }
    let key = |parts: &[Segment]| -> Vec<(u32, usize)> {
        parts.iter().rev().map(|part| (part.label, part.end - part.start)).collect()
    };
    all.sort_by(|a, b| {
        let by_score = b.score.partial_cmp(&a.score).unwrap();
        by_score.then_with(|| key(&a.segments).cmp(&key(&b.segments)))
    });
    all
}

fn decoders() -> Vec<Decoder> {
    let names = catalogue(Lattices::Segments).map(|entry| entry.name).chain(["semi-astar:none"]);
    names.map(|name| name.parse().unwrap()).collect()
}

/// The judge against a plain sum, in another order.
fn plain_score(case: &SegmentCase, parts: &[Segment]) -> f64 {
    let chain = &case.chain;
    let (labels, mut sum, mut before) = (chain.labels, 0.0, None);
    for &Segment { start, end, label } in parts {
        let y = label as usize;
        sum += (start..end).map(|t| chain.nodes[t * labels + y]).sum::<f64>();
        let length = end - start;
        if let Some([begin, finish]) = &case.boundaries {
            sum += begin[start * labels + y] + finish[(end - 1) * labels + y];
        }
        if let Some(durations) = &case.durations {
            sum += durations.get((length - 1) * labels + y).copied().unwrap_or(f64::NEG_INFINITY);
        }
        if let Some((longest, scores)) = &case.explicit {
            let inside = length <= *longest;
            sum +=
                if inside { scores[(start * longest + length - 1) * labels + y] } else { f64::NEG_INFINITY };
        }
        sum += match before {
            None => chain.start.as_ref().map_or(0.0, |start| start[y]),
            Some(p) => {
                let matrix = match chain.kind {
                    crate::common::EdgeKind::PerPosition => start - 1,
                    crate::common::EdgeKind::Selected => chain.selection[start - 1] as usize,
                    _ => 0,
                };
                chain.matrices[matrix][p * labels + y]
            }
        };
        before = Some(y);
    }
    sum + before.map_or(0.0, |y| chain.end.as_ref().map_or(0.0, |end| end[y]))
}

fn all_equal_enumeration<S: Float>(case: &SegmentCase, scratch: &mut Scratch<S>) {
    let edges = case.chain.edges::<S>();
    let lattice = case.lattice(&edges);
    let all = enumerate(&lattice);
    for best in all.iter().take(3) {
        let plain = plain_score(case, &best.segments);
        assert!((plain - best.score.to_f64()).abs() <= lattice.rounding_slack(), "{case:?}");
    }
    for k in [1, 2, 3, 5, 20, 1000] {
        let mut first: Option<Vec<Segmentation<S>>> = None;
        for decoder in decoders() {
            if decoder.supports_on(Lattices::Segments, k).is_err() {
                continue;
            }
            let answer = decoder.decode_segments(&lattice, k, scratch);
            if all.is_empty() {
                assert_eq!(answer.unwrap_err(), Error::NoPath, "{decoder} on {case:?}");
                continue;
            }
            let answer = answer.unwrap_or_else(|error| panic!("{decoder}: {error} on {case:?}"));
            assert_eq!(answer.guarantee(), Guarantee::Exact);
            let found = answer.paths;
            assert_eq!(found.len(), all.len().min(k), "{decoder}, k = {k} on {case:?}");
            for (i, (found, expected)) in found.iter().zip(&all).enumerate() {
                assert_eq!(found.score, expected.score, "{decoder}, number {i} of {k} on {case:?}");
                assert_eq!(lattice.segmentation_score(&found.segments).unwrap(), found.score);
                if case.chain.numbers == Numbers::Whole {
                    assert_eq!(found.segments, expected.segments, "{decoder}, number {i} of {k} on {case:?}");
                }
            }
            match &first {
                None => first = Some(found),
                Some(first) => assert_eq!(&found, first, "{decoder}, k = {k} on {case:?}"),
            }
        }
    }
}

#[test]
fn decoders_equal_enumeration() {
    let (mut single, mut double) = (Scratch::default(), Scratch::default());
    for seed in 0..1500 {
        let case = SegmentCase::random(seed, 5, 3);
        all_equal_enumeration::<f64>(&case, &mut double);
        all_equal_enumeration::<f32>(&case, &mut single);
    }
}

/// Where whole numbers count the smallest positive number of the type, shares of scores are zero.
#[test]
fn decoders_equal_enumeration_with_the_smallest_numbers() {
    let (mut single, mut double) = (Scratch::default(), Scratch::default());
    for seed in 0..600 {
        all_equal_enumeration::<f64>(&SegmentCase::subnormal::<f64>(50_000 + seed, 5, 3), &mut double);
        all_equal_enumeration::<f32>(&SegmentCase::subnormal::<f32>(50_000 + seed, 5, 3), &mut single);
    }
    for seed in 0..60 {
        all_agree::<f64>(&SegmentCase::subnormal::<f64>(60_000 + seed, 40, 20), &mut double);
        all_agree::<f32>(&SegmentCase::subnormal::<f32>(60_000 + seed, 40, 20), &mut single);
    }
}

fn all_agree<S: Float>(case: &SegmentCase, scratch: &mut Scratch<S>) {
    let edges = case.chain.edges::<S>();
    let lattice = case.lattice(&edges);
    for k in [1, 3, 20] {
        let expected = Decoder::SemiViterbi.decode_segments(&lattice, k, scratch);
        for decoder in decoders() {
            if decoder.supports_on(Lattices::Segments, k).is_ok() {
                let answer = decoder.decode_segments(&lattice, k, scratch);
                let parts = |answer: &Result<_, Error>| match answer {
                    Ok(Decoded { paths: segmentations, .. }) => Ok(Clone::clone(segmentations)),
                    Err(error) => Err(Clone::clone(error)),
                };
                assert_eq!(parts(&answer), parts(&expected), "{decoder}, k = {k} on {case:?}");
            }
        }
    }
}

#[test]
fn decoders_agree_on_larger_lattices() {
    let (mut single, mut double) = (Scratch::default(), Scratch::default());
    for seed in 0..200 {
        let case = SegmentCase::random(10_000 + seed, 40, 20);
        all_agree::<f64>(&case, &mut double);
        all_agree::<f32>(&case, &mut single);
    }
}

/// Long enough for several blocks of starts, many tiles of ends, and bounds that skip.
#[test]
fn decoders_agree_on_long_lattices() {
    let (mut single, mut double) = (Scratch::default(), Scratch::default());
    for seed in 0..12 {
        let case = SegmentCase::random(20_000 + seed, 300, 4);
        all_agree::<f64>(&case, &mut double);
        all_agree::<f32>(&case, &mut single);
    }
}

/// Sums over all segmentations, one by one.
/// Segments over chains of every family. Durations and explicit scores are small: a chain in range leaves room for them.
fn wild(seed: u64, single: &mut Scratch<f32>, double: &mut Scratch<f64>) {
    let case = SegmentCase::wild(seed, 12, 6);
    if !case.chain.is_out_of_range::<f32>() {
        all_agree(&case, single);
    }
    all_agree(&case, double);
}

#[test]
fn wild_segments() {
    let (mut single, mut double) = (Scratch::default(), Scratch::default());
    (0..400).for_each(|seed| wild(seed, &mut single, &mut double));
}

/// `make soak`: one segment lattice for every ten lattices.
#[test]
#[ignore = "long: run by `make soak`"]
fn soak() {
    let seeds = crate::common::soak_seeds();
    let (mut single, mut double) = (Scratch::default(), Scratch::default());
    let count = seeds.clone().step_by(10).map(|seed| wild(seed, &mut single, &mut double)).count();
    println!("{count} segment lattices (every tenth of the seeds {seeds:?}), f32 and f64: all agree");
}

fn marginals_are_right<S: Float>(case: &SegmentCase) {
    let edges = case.chain.edges::<S>();
    let lattice = case.lattice(&edges);
    let all = enumerate(&lattice);
    let marginals = match Marginals::new(&lattice) {
        Err(error) => {
            assert_eq!((error, all.len()), (Error::NoPath, 0), "{case:?}");
            return;
        }
        Ok(marginals) => marginals,
    };
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let largest = all[0].score.to_f64();
    let weights: Vec<f64> = all.iter().map(|one| (one.score.to_f64() - largest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let near = |a: f64, b: f64| (a - b).abs() < if size_of::<S>() == 4 { 2e-4 } else { 1e-9 };
    let share = |takes: &dyn Fn(&Segment) -> bool| {
        let taken = all.iter().zip(&weights).filter(|(one, _)| one.segments.iter().any(takes));
        taken.map(|(_, weight)| weight).sum::<f64>() / total
    };
    assert!(near(marginals.log_partition(), largest + total.ln()), "{case:?}");
    let of_labels = marginals.labels();
    for t in 0..positions {
        assert!(near(marginals.boundary(t), share(&|part| part.start == t)), "boundary {t} of {case:?}");
        for y in 0..labels {
            let expected = share(&|part| part.label == y as u32 && (part.start..part.end).contains(&t));
            assert!(near(of_labels[t * labels + y], expected), "label {y} at {t} of {case:?}");
            for end in t + 1..=positions {
                let part = Segment { start: t, end, label: y as u32 };
                let expected = share(&|other| *other == part);
                assert!(near(marginals.segment(t, end, y as u32), expected), "{part:?} of {case:?}");
            }
        }
    }
}

#[test]
fn marginals_equal_enumeration() {
    for seed in 0..400 {
        let case = SegmentCase::random(30_000 + seed, 5, 3);
        marginals_are_right::<f64>(&case);
        marginals_are_right::<f32>(&case);
    }
}

#[test]
fn segmentations_come_one_by_one() {
    for seed in 0..300 {
        let case = SegmentCase::random(40_000 + seed, 5, 3);
        let edges = case.chain.edges::<f64>();
        let lattice = case.lattice(&edges);
        let expected: Vec<f64> = enumerate(&lattice).iter().map(|one| one.score).collect();
        let found: Vec<f64> = segmentations(&lattice).map(|one| one.score).collect();
        assert_eq!(found, expected, "{case:?}");
    }
}

/// Few of the scores that are computed on demand are asked for, and each only once.
#[test]
fn scores_on_demand_are_asked_for_where_they_matter() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (positions, labels, longest) = (60, 6, 12);
    let mut random = Random::new(7);
    let nodes: Vec<f64> = (0..positions * labels)
        .map(|i| random.unit() + if i / labels / 5 % labels == i % labels { 6.0 } else { 0.0 })
        .collect();
    let edges = Edges::uniform(labels, -1.0).unwrap();
    let calls = AtomicUsize::new(0);
    let lattice = SegmentLattice::new(Lattice::new(nodes, &edges).unwrap())
        .with_score_function(vec![1.0; longest * labels], 1.0, |s, r, y| {
            calls.fetch_add(1, Ordering::Relaxed);
            ((s * 31 + r * 17 + y as usize * 7) % 100) as f64 / 100.0
        })
        .unwrap();
    let mut scratch = Scratch::default();
    let expected = Decoder::SemiViterbiSimd.decode_segments(&lattice, 1, &mut scratch).unwrap();
    let all = calls.swap(0, Ordering::Relaxed);
    for decoder in [Decoder::SemiFunnel, "semi-astar".parse().unwrap()] {
        let answer = decoder.decode_segments(&lattice, 1, &mut scratch).unwrap();
        assert_eq!(answer.paths, expected.paths);
        let asked = calls.swap(0, Ordering::Relaxed);
        assert!(asked * 2 < all, "{decoder} asked for {asked} of {all}");
        assert_eq!(answer.counters.unwrap().explicit as usize, asked, "each once: {decoder}");
    }
    for (k, name) in [(1, "semi-astar"), (2, "semi-funnel")] {
        assert_eq!(Decoder::default().decode_segments(&lattice, k, &mut scratch).unwrap().decoder, name);
    }
}

/// Blocks of lengths are left out where durations and scores allow it, and the answer stays.
#[test]
fn bounds_leave_out_lengths() {
    let (positions, labels, longest) = (3000, 3, 400);
    let mut random = Random::new(3);
    let nodes: Vec<f32> = (0..positions * labels)
        .map(|i| {
            let right = i / labels / 150 % labels == i % labels;
            random.unit() as f32 + if right { 1.0 } else { 0.0 }
        })
        .collect();
    let durations: Vec<f32> =
        (0..longest * labels).map(|i| -((i / labels) as f32 - 140.0).powi(2) / 500.0).collect();
    let edges = Edges::uniform(labels, -3.0f32).unwrap();
    let lattice =
        SegmentLattice::new(Lattice::new(nodes, &edges).unwrap()).with_durations(durations).unwrap();
    let mut scratch = Scratch::default();
    let plain = Decoder::SemiViterbiSimd.decode_segments(&lattice, 3, &mut scratch).unwrap();
    let ours = Decoder::SemiFunnel.decode_segments(&lattice, 3, &mut scratch).unwrap();
    assert_eq!(ours.paths, plain.paths);
    let [ours, plain] = [ours, plain].map(|answer| answer.counters.unwrap());
    assert!(ours.segments * 2 < plain.segments, "{ours:?} {plain:?}");
    let plan = Plan::of(&lattice, 1);
    assert_eq!(plan.decoder, Decoder::SemiFunnel);
    assert!(plan.explain().contains("segments up to 400"), "{plan}");
}

#[test]
fn scores_out_of_range_are_refused() {
    let edges = Edges::uniform(1, 0.0f32).unwrap();
    let lattice = || SegmentLattice::new(Lattice::new(vec![1e37f32; 3], &edges).unwrap());
    let refused =
        |made: kbest_core::Result<SegmentLattice<'_, f32>>| matches!(made, Err(Error::Range { .. }));
    assert!(lattice().with_durations(vec![1e37]).is_ok());
    assert!(refused(lattice().with_durations(vec![3e37])), "four boundaries");
    assert!(refused(lattice().with_scores(1, vec![3e37; 3])));
    assert!(refused(lattice().with_score_function(vec![3e37], 3e37, |_, _, _| 3e37)));
}

#[test]
fn hostile_arguments_are_refused() {
    let edges = Edges::uniform(2, 0.0f32).unwrap();
    let lattice = || SegmentLattice::new(Lattice::new(vec![0.0f32; 6], &edges).unwrap());
    assert!(lattice().with_durations(vec![]).is_err());
    assert!(lattice().with_durations(vec![0.0; 3]).is_err());
    let error = lattice().with_durations(vec![0.0, 0.0, 0.0, f32::NAN]).unwrap_err().to_string();
    assert!(error.contains("length 2, label 1"), "{error}");
    assert!(lattice().with_scores(0, vec![]).is_err());
    assert!(lattice().with_scores(2, vec![0.0; 11]).is_err());
    assert!(lattice().with_scores(usize::MAX, vec![0.0; 12]).is_err());
    let empty =
        SegmentLattice::new(Lattice::new(vec![], &edges).unwrap()).with_scores(usize::MAX, vec![]).unwrap();
    for decoder in decoders() {
        let answer = decoder.decode_segments(&empty, 1, &mut Scratch::default()).unwrap();
        assert_eq!((answer.paths[0].segments.len(), answer.paths[0].score), (0, 0.0));
    }
    let mut scores = vec![0.0; 12];
    scores[5] = f32::INFINITY;
    let error = lattice().with_scores(2, scores.clone()).unwrap_err().to_string();
    assert!(error.contains("from position 1, length 1, label 1"), "{error}");
    scores.swap(5, 11); // beyond the end: not read
    assert!(lattice().with_scores(2, scores).is_ok());
    assert!(lattice().with_longest(0).is_err() && lattice().with_longest_by_label(vec![1]).is_err());
    assert!(lattice().force(1, 1, 0).is_err() && lattice().force(0, 4, 0).is_err());
    assert!(lattice().forbid(0, 1, 2).is_err() && lattice().forbid_span(3, 4).is_err());
    assert!(lattice().require_boundary(0).is_err() && lattice().forbid_boundary(3).is_err());
    let segment = |start, end, label| Segment { start, end, label };
    assert!(lattice().segmentation_score(&[segment(0, 2, 0)]).is_err());
    assert!(lattice().segmentation_score(&[segment(0, 2, 0), segment(1, 3, 0)]).is_err());
    assert!(lattice().segmentation_score(&[segment(0, 3, 2)]).is_err());
    let refused = Decoder::default().decode_segments(&lattice(), 0, &mut Scratch::default());
    assert!(matches!(refused, Err(Error::Argument { .. })));
    assert!("semi-vitrebi".parse::<Decoder>().is_err());
}

/// Where rounding makes two segmentations equal, the larger sum inside comes before the shorter segment.
#[test]
fn ties_by_rounding_are_decided_inside() {
    let edges = Edges::uniform(1, 0.0f32).unwrap();
    let lattice = SegmentLattice::new(Lattice::new(vec![0.0f32; 2], &edges).unwrap());
    let lattice = lattice.with_durations(vec![0.0, 1.0]).unwrap();
    let lattice = lattice.with_scores(2, vec![1e8f32, 1e8, 0.0, 0.0]).unwrap();
    for decoder in decoders() {
        let answer = decoder.decode_segments(&lattice, 1, &mut Scratch::default()).unwrap();
        assert_eq!(answer.paths[0].score, 1e8, "{decoder:?}");
        assert_eq!(answer.paths[0].segments, [Segment { start: 0, end: 2, label: 0 }], "{decoder:?}");
    }
}

/// Limits of all labels are a limit of the lattice.
#[test]
fn limits_of_labels_shorten_the_longest_segment() {
    let edges = Edges::uniform(3, 0.0f64).unwrap();
    let lattice = SegmentLattice::new(Lattice::new(vec![0.0; 30], &edges).unwrap());
    assert_eq!(lattice.longest(), 10);
    assert_eq!(lattice.with_longest_by_label(vec![2, 0, 4]).unwrap().longest(), 4);
}
