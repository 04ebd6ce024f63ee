//! Random lattices of every kind, from a seed, and the brute-force judge.
//!
//! One generator serves the property tests and the soak run, so a seed printed by either can be replayed by the other.
#![allow(dead_code, unreachable_pub)] // each test file uses its part
#![allow(clippy::unwrap_used)] // a test may fail this way

use kbest_core::decode::{Answers, Astar, CarpeDiem, CarpeDiemBound, Entry, Heuristic, Lattices, catalogue};
use kbest_core::lattice::Held;
use kbest_core::{Decoder, Edges, Float, LabelId, Lattice, Path};

/// SplitMix64: tiny, seeded, good enough for test data.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
    pub fn shuffled(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// The kind of numbers in a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Numbers {
    /// Small integers: sums are exact, ties frequent.
    Whole,
    /// Any floats.
    Real,
}

/// How the edges are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EdgeKind {
    Dense,
    Sparse,
    SparseForbidden,
    Classes,
    PerPosition,
    Selected,
    Callback,
}

pub const EDGE_KINDS: [EdgeKind; 7] = [
    EdgeKind::Dense,
    EdgeKind::Sparse,
    EdgeKind::SparseForbidden,
    EdgeKind::Classes,
    EdgeKind::PerPosition,
    EdgeKind::Selected,
    EdgeKind::Callback,
];

/// A lattice in plain numbers.
#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub positions: usize,
    pub labels: usize,
    pub numbers: Numbers,
    pub kind: EdgeKind,
    pub nodes: Vec<f64>,
    /// One `L x L` matrix, or as many as `selection` refers to.
    pub matrices: Vec<Vec<f64>>,
    pub selection: Vec<u32>,
    pub start: Option<Vec<f64>>,
    pub end: Option<Vec<f64>>,
    /// Forced labels (position, label).
    pub forced: Vec<(usize, u32)>,
    /// Allowed labels (position, labels).
    pub allowed: Vec<(usize, Vec<u32>)>,
    pub order: Option<Vec<u32>>,
    /// The classes of each label as origin and as target, and their numbers; some may be empty.
    pub classes: (Vec<u32>, Vec<u32>, [usize; 2]),
    /// Edges get their scores one by one, after they were made with others.
    pub changed: bool,
}

/// What makes a case wild, besides what [`Case::random`] does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// Nothing.
    Tame,
    /// Only two different scores.
    Ties,
    /// Rectangles of minus infinity.
    Blocks,
    /// Sums near the end of the range of `f32`, or beyond it.
    Huge,
    /// Numbers without full precision.
    Denormal,
    /// Zeros of both signs.
    NegativeZero,
    /// Sixty powers of ten side by side.
    Mixed,
    /// Edges that were changed.
    Changed,
}

pub const FAMILIES: [Family; 8] = [
    Family::Tame,
    Family::Ties,
    Family::Blocks,
    Family::Huge,
    Family::Denormal,
    Family::NegativeZero,
    Family::Mixed,
    Family::Changed,
];

impl Case {
    /// A case of the family that follows from the seed.
    pub fn wild(seed: u64, max_positions: usize, max_labels: usize) -> (Case, Family) {
        let mut case = Case::random(seed, max_positions, max_labels);
        let mut random = Random::new(seed ^ 0x3117);
        let r = &mut random;
        let family = FAMILIES[r.below(FAMILIES.len())];
        let exponent = r.below(3) as i32;
        let mut change = |score: &mut f64| {
            if *score == f64::NEG_INFINITY {
                return;
            }
            *score = match family {
                Family::Tame | Family::Blocks | Family::Changed => *score,
                Family::Ties => f64::from(u8::from(r.below(3) == 0)),
                Family::Huge => (*score * 10f64.powi(35 + exponent)).clamp(-3e38, 3e38),
                Family::Denormal => *score * 1e-44,
                Family::NegativeZero => [*score, 0.0, -0.0][r.below(3)],
                Family::Mixed => *score * 10f64.powi(r.below(60) as i32 - 30),
            };
            *score = f64::from(*score as f32); // the same in both types
        };
        case.nodes.iter_mut().for_each(&mut change);
        case.matrices.iter_mut().flatten().for_each(&mut change);
        case.start.iter_mut().chain(&mut case.end).flatten().for_each(&mut change);
        if family == Family::Blocks {
            let labels = case.labels;
            for rows in case.matrices.iter_mut().chain([&mut case.nodes]) {
                for _ in 0..r.below(4) {
                    let all = rows.len() / labels;
                    let [top, bottom] = [r.below(all + 1), r.below(all + 1)];
                    let [left, right] = [r.below(labels + 1), r.below(labels + 1)];
                    for row in rows.chunks_mut(labels).take(bottom.max(top)).skip(bottom.min(top)) {
                        row[left.min(right)..left.max(right)].fill(f64::NEG_INFINITY);
                    }
                }
            }
        }
        case.changed = family == Family::Changed;
        (case, family)
    }

    /// A case with whole multiples of the smallest positive number of the type: sums are exact, but half of a score may be zero.
    pub fn subnormal<S: Float>(seed: u64, max_positions: usize, max_labels: usize) -> Case {
        let mut case = Case::random(seed, max_positions, max_labels);
        let mut random = Random::new(seed ^ 0x5ab);
        let unit = smallest::<S>() * [1.0, 1.0, 7.0, 1000.0][random.below(4)];
        let most = [1.0, 3.0, 100.0][random.below(3)];
        let change = |score: &mut f64| {
            if *score != f64::NEG_INFINITY {
                *score = score.round().clamp(-most, most) * unit;
            }
        };
        case.nodes.iter_mut().for_each(change);
        case.matrices.iter_mut().flatten().for_each(change);
        case.start.iter_mut().chain(&mut case.end).flatten().for_each(change);
        case.numbers = Numbers::Whole;
        case
    }

    /// A case of at most `max_positions` and `max_labels`; everything about it follows from the seed.
    pub fn random(seed: u64, max_positions: usize, max_labels: usize) -> Case {
        let mut random = Random::new(seed);
        let r = &mut random;
        let positions = match r.below(12) {
            0 => 0,
            1 => 1,
            _ => 1 + r.below(max_positions),
        };
        let labels = if r.below(10) == 0 { 1 } else { 1 + r.below(max_labels) };
        let numbers = if r.chance(0.6) { Numbers::Whole } else { Numbers::Real };
        let kind = EDGE_KINDS[r.below(EDGE_KINDS.len())];
        // The spread of nodes and edges determines what can be pruned.
        let node_spread = [0.0, 1.0, 3.0, 10.0, 30.0][r.below(5)];
        let edge_spread = [0.0, 1.0, 3.0, 10.0][r.below(4)];
        let forbidden = [0.0, 0.0, 0.1, 0.4][r.below(4)];
        let edge_forbidden = [0.0, 0.0, 0.1, 0.5][r.below(4)];
        let density = [0.05, 0.3, 1.0][r.below(3)];
        let shift = if r.chance(0.2) { -50.0 } else { 0.0 };
        let value = |r: &mut Random, spread: f64| {
            let x = (r.unit() * 2.0 - 1.0) * spread;
            if numbers == Numbers::Whole { x.round() } else { f64::from(x as f32) }
        };
        let node = |r: &mut Random| {
            if r.chance(forbidden) { f64::NEG_INFINITY } else { shift + value(r, node_spread) }
        };
        let nodes = (0..positions * labels).map(|_| node(r)).collect();
        let base = match kind {
            EdgeKind::SparseForbidden => f64::NEG_INFINITY,
            _ if r.chance(0.5) => 0.0,
            _ => value(r, edge_spread),
        };
        let steps = positions.saturating_sub(1);
        let distinct = match kind {
            EdgeKind::PerPosition => steps.max(1),
            EdgeKind::Selected => 1 + r.below(3),
            _ => 1,
        };
        let counts = [1 + r.below(4), 1 + r.below(4)];
        let [from, to] = counts.map(|count| (0..labels).map(|_| r.below(count) as u32).collect::<Vec<_>>());
        let forbidden_classes = [0.0, 0.3][r.below(2)];
        let by_class: Vec<f64> = (0..counts[0] * counts[1])
            .map(|_| if r.chance(forbidden_classes) { f64::NEG_INFINITY } else { value(r, edge_spread) })
            .collect();
        let matrices = (0..distinct)
            .map(|_| {
                (0..labels * labels)
                    .map(|i| {
                        if !r.chance(density) {
                            match kind {
                                EdgeKind::Classes => {
                                    by_class[from[i / labels] as usize * counts[1] + to[i % labels] as usize]
                                }
                                _ => base,
                            }
                        } else if r.chance(edge_forbidden) {
                            f64::NEG_INFINITY
                        } else {
                            value(r, edge_spread)
                        }
                    })
                    .collect()
            })
            .collect();
        let selection = (0..steps).map(|_| r.below(distinct) as u32).collect();
        let border = |r: &mut Random| r.chance(0.4).then(|| (0..labels).map(|_| node(r)).collect());
        let (start, end) = (border(r), border(r));
        let mut forced = vec![];
        let mut allowed = vec![];
        if positions > 0 && r.chance(0.2) {
            forced.push((r.below(positions), r.below(labels) as u32));
        }
        if positions > 0 && r.chance(0.2) {
            let some = (0..labels as u32).filter(|_| r.chance(0.5)).collect();
            allowed.push((r.below(positions), some));
        }
        let order = r.chance(0.5).then(|| r.shuffled(labels));
        Case {
            seed,
            positions,
            labels,
            numbers,
            kind,
            nodes,
            matrices,
            selection,
            start,
            end,
            forced,
            allowed,
            order,
            classes: (from, to, counts),
            changed: false,
        }
    }

    /// Edges in classes: the base is the most frequent score of each pair of classes.
    fn in_classes<S: Float>(&self, matrix: &[f64]) -> Edges<S> {
        let (from, to, [origins, targets]) = &self.classes;
        let mut blocks = vec![vec![]; origins * targets];
        let block = |i: usize| from[i / self.labels] as usize * targets + to[i % self.labels] as usize;
        for (i, &w) in matrix.iter().enumerate() {
            blocks[block(i)].push(w);
        }
        let most_frequent = |scores: &Vec<f64>| {
            let count = |&&w: &&f64| scores.iter().filter(|&&v| v == w).count();
            scores.iter().max_by_key(count).copied().unwrap_or(0.0)
        };
        let base: Vec<f64> = blocks.iter().map(most_frequent).collect();
        let listed: Vec<usize> = (0..matrix.len()).filter(|&i| matrix[i] != base[block(i)]).collect();
        let exceptions_from: Vec<u32> = listed.iter().map(|i| (i / self.labels) as u32).collect();
        let exceptions_to: Vec<u32> = listed.iter().map(|i| (i % self.labels) as u32).collect();
        let scores: Vec<f64> = listed.iter().map(|&i| matrix[i]).collect();
        let exceptions = (&exceptions_from[..], &exceptions_to[..], &cast::<S>(&scores)[..]);
        Edges::classes(from, to, &cast::<S>(&base), *targets, exceptions).unwrap()
    }

    fn one_matrix<S: Float>(&self, matrix: &[f64], sparse: Option<f64>) -> Edges<S> {
        let Some(base) = sparse else {
            return Edges::dense(self.labels, cast(matrix)).unwrap();
        };
        let (mut from, mut to, mut scores) = (vec![], vec![], vec![]);
        for (i, &w) in matrix.iter().enumerate() {
            if w != base {
                from.push((i / self.labels) as u32);
                to.push((i % self.labels) as u32);
                scores.push(S::from_f64(w));
            }
        }
        Edges::sparse(self.labels, S::from_f64(base), &from, &to, &scores).unwrap()
    }

    /// The first matrix, from another one by changes: some scores to and fro, others once.
    fn changed_matrix<S: Float>(&self, sparse: Option<f64>) -> Edges<S> {
        let (matrix, mut random) = (&self.matrices[0], Random::new(self.seed ^ 0xc4a));
        let base = sparse.unwrap_or(0.0);
        let other = |w: f64, r: &mut Random| if w != base && r.chance(0.3) { w + 1.0 } else { w };
        let first: Vec<f64> = matrix.iter().map(|&w| other(w, &mut random)).collect();
        let mut edges = self.one_matrix(&first, sparse);
        for (i, (&before, &after)) in first.iter().zip(matrix).enumerate() {
            let (p, y) = ((i / self.labels) as u32, (i % self.labels) as u32);
            if before != after {
                edges.set(p, y, S::from_f64(after + 2.0)).unwrap();
                edges.set(p, y, S::from_f64(after)).unwrap();
            }
        }
        edges
    }

    /// The edges in the case's own shape.
    pub fn edges<S: Float>(&self) -> Edges<S> {
        let labels = self.labels;
        // The most frequent value makes a good base; any value makes a correct one.
        let mut values = self.matrices[0].clone();
        values.sort_by(f64::total_cmp);
        let base = values.chunk_by(|v, w| v == w).max_by_key(|equal| equal.len()).unwrap()[0];
        let edges = match self.kind {
            EdgeKind::Dense if self.changed => self.changed_matrix(None),
            EdgeKind::Sparse if self.changed => self.changed_matrix(Some(base)),
            EdgeKind::Dense => self.one_matrix(&self.matrices[0], None),
            EdgeKind::Sparse => self.one_matrix(&self.matrices[0], Some(base)),
            EdgeKind::SparseForbidden => self.one_matrix(&self.matrices[0], Some(f64::NEG_INFINITY)),
            EdgeKind::Classes => self.in_classes(&self.matrices[0]),
            EdgeKind::PerPosition | EdgeKind::Selected => {
                let shapes = self.matrices.iter().enumerate().map(|(i, m)| match i % 3 {
                    0 => self.one_matrix(m, None),
                    1 => self.one_matrix(m, Some(base)),
                    _ => self.in_classes(m),
                });
                Edges::per_position(shapes.collect()).unwrap()
            }
            EdgeKind::Callback => {
                let scores: Vec<S> = cast(&self.matrices[0]);
                let bound = scores.iter().fold(S::FORBIDDEN, |a, &b| a.larger(b));
                let finite = scores.iter().filter(|w| !w.is_forbidden());
                let magnitude = finite.map(|w| w.to_f64().abs()).fold(0.0, f64::max);
                Edges::callback(labels, move |_, p, y| scores[p * labels + y], move |_| bound, magnitude)
                    .unwrap()
            }
        };
        match &self.order {
            Some(order) => edges.ranked(order.clone()).unwrap(),
            None => edges,
        }
    }

    /// The lattice over edges made by [`Case::edges`], borrowed or shared.
    pub fn lattice<'a, S: Float>(&self, edges: impl Into<Held<'a, Edges<S>>>) -> Lattice<'a, S> {
        self.try_lattice(edges).unwrap()
    }

    /// The same, unless it is refused.
    pub fn try_lattice<'a, S: Float>(
        &self,
        edges: impl Into<Held<'a, Edges<S>>>,
    ) -> kbest_core::Result<Lattice<'a, S>> {
        let nodes: Vec<S> = cast(&self.nodes);
        let mut lattice = match self.kind {
            EdgeKind::Selected => Lattice::selecting(nodes, edges, self.selection.clone())?,
            _ => Lattice::new(nodes, edges)?,
        };
        if let Some(start) = &self.start {
            lattice = lattice.with_start(cast::<S>(start))?;
        }
        if let Some(end) = &self.end {
            lattice = lattice.with_end(cast::<S>(end))?;
        }
        for &(t, y) in &self.forced {
            lattice = lattice.force(t, y)?;
        }
        for (t, labels) in &self.allowed {
            lattice = lattice.allow(*t, labels)?;
        }
        Ok(lattice)
    }

    /// Whether the scores are too large for the type.
    pub fn is_out_of_range<S: Float>(&self) -> bool {
        matches!(self.try_lattice(&self.edges::<S>()), Err(kbest_core::Error::Range { .. }))
    }

    /// Number of paths, legal or not, if it fits.
    pub fn paths(&self) -> Option<usize> {
        self.labels.checked_pow(self.positions as u32)
    }
}

/// The smallest positive number of the type.
pub fn smallest<S: Float>() -> f64 {
    S::from_f64_up(f64::from_bits(1)).to_f64()
}

pub fn cast<S: Float>(values: &[f64]) -> Vec<S> {
    values.iter().map(|&v| S::from_f64(v)).collect()
}

/// Every legal path, best first; equally good ones by their labels from the last to the first.
pub fn enumerate<S: Float>(lattice: &Lattice<'_, S>) -> Vec<Path<S>> {
    let (positions, labels) = (lattice.positions(), lattice.labels() as u32);
    let mut path: Vec<LabelId> = vec![0; positions];
    let mut all = vec![];
    'paths: loop {
        let score = lattice.path_score(&path).unwrap();
        if !score.is_forbidden() {
            all.push(Path { labels: path.clone(), score });
        }
        for y in path.iter_mut() {
            *y += 1;
            if *y < labels {
                continue 'paths;
            }
            *y = 0;
        }
        break;
    }
    all.sort_by(|a, b| {
        let by_score = b.score.partial_cmp(&a.score).unwrap();
        by_score.then_with(|| a.labels.iter().rev().cmp(b.labels.iter().rev()))
    });
    all
}

/// Every exact 1-best decoder, A* with each heuristic, CarpeDiem with each bound; `KBEST_TEST_DECODERS=a,b` selects some of them while working on
/// one.
pub fn exact_decoders() -> Vec<Decoder> {
    decoders(|_| true)
}

/// The seeds of `make soak`: `KBEST_SOAK` of them, starting at `KBEST_SOAK_SEED`.
pub fn soak_seeds() -> std::ops::Range<u64> {
    let number = |name, usual| std::env::var(name).map_or(usual, |n: String| n.parse().expect("a number"));
    let first = number("KBEST_SOAK_SEED", 1);
    first..first + number("KBEST_SOAK", 100_000)
}

/// Those of them that can find more than one path.
pub fn exact_kbest_decoders() -> Vec<Decoder> {
    decoders(|answers| answers != Answers::One)
}

fn decoders(takes: impl Fn(Answers) -> bool) -> Vec<Decoder> {
    let only = std::env::var("KBEST_TEST_DECODERS").ok();
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|o| o == name));
    let mut decoders = vec![];
    let fits = |entry: &&Entry| entry.exact && takes(entry.answers) && wanted(entry.name);
    for entry in catalogue(Lattices::Positions).filter(fits) {
        match Decoder::by_name(entry.name).unwrap() {
            Decoder::Astar(_) => {
                decoders.extend(Heuristic::ALL.map(|heuristic| Decoder::Astar(Astar { heuristic })));
            }
            Decoder::CarpeDiem(_) => {
                let bounds = [CarpeDiemBound::Graph, CarpeDiemBound::Position, CarpeDiemBound::Column];
                decoders.extend(bounds.map(|bound| Decoder::CarpeDiem(CarpeDiem { bound })));
            }
            decoder => decoders.push(decoder),
        }
    }
    decoders
}
