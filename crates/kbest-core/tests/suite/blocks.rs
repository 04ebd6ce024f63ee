//! So many labels that decoders look at blocks of them: every shape of edges against plain Viterbi, with ties, forbidden pairs
//! and dead ends, start and end scores, whole and ragged blocks, before and after edges change.

use crate::common::soak_seeds;
use kbest_core::decode::{Auto, Funnel, Sieve, Viterbi};
use kbest_core::random::Random;
use kbest_core::{Decode, Decoder, Edges, Float, Lattice, Scratch};

/// Scores of one lattice: how they look, and how many are forbidden.
#[derive(Clone, Copy)]
struct Look {
    whole: bool,
    forbidden: usize, // per cent
}

impl Look {
    fn any(random: &mut Random) -> Self {
        Look { whole: random.below(2) == 0, forbidden: [0, 2, 33, 75][random.below(4)] }
    }

    fn score<S: Float>(self, random: &mut Random, strength: f64) -> S {
        let score = strength * random.normal();
        match random.below(100) < self.forbidden {
            true => S::FORBIDDEN,
            false => S::from_f64(if self.whole { score.round() } else { score }),
        }
    }

    fn row<S: Float>(self, random: &mut Random, labels: usize, strength: f64) -> Vec<S> {
        (0..labels).map(|_| self.score(random, strength)).collect()
    }

    /// Like a trained model: mostly one value, and a few labels that have most of the others.
    fn pairs(random: &mut Random, labels: usize) -> (Vec<u32>, Vec<u32>) {
        let mut pairs: Vec<(u32, u32)> = (0..12 * labels)
            .map(|_| {
                let p = random.below(labels) * random.below(labels) / labels;
                (p as u32, random.below(labels) as u32)
            })
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs.into_iter().unzip()
    }

    fn matrix<S: Float>(self, random: &mut Random, labels: usize) -> Edges<S> {
        if random.below(2) == 0 {
            return Edges::dense(labels, self.row(random, labels * labels, 1.0)).unwrap();
        }
        let mut scores = vec![S::ZERO; labels * labels];
        let (from, to) = Self::pairs(random, labels);
        for (p, y) in from.into_iter().zip(to) {
            scores[p as usize * labels + y as usize] = self.score(random, 6.0);
        }
        Edges::dense(labels, scores).unwrap()
    }

    fn edges<S: Float>(self, random: &mut Random, labels: usize, positions: usize) -> Edges<S> {
        let (from, to) = Self::pairs(random, labels);
        let scores = self.row::<S>(random, from.len(), 6.0);
        match random.below(5) {
            0 | 1 => self.matrix(random, labels),
            2 => Edges::sparse(labels, S::from_f64(-0.5), &from, &to, &scores).unwrap(),
            3 => {
                let classes: Vec<u32> = (0..labels).map(|_| random.below(3) as u32).collect();
                let base = self.row::<S>(random, 9, 1.0);
                Edges::classes(&classes, &classes, &base, 3, (&from, &to, &scores)).unwrap()
            }
            _ => {
                let list = Edges::sparse(labels, S::ZERO, &from, &to, &scores).unwrap();
                let matrices = (2..positions).map(|_| self.matrix(random, labels));
                Edges::per_position(matrices.chain([list]).collect()).unwrap()
            }
        }
    }
}

/// With memory that lattices of other sizes and shapes have used before.
fn compare<S: Float>(lattice: &Lattice<'_, S>, used: &mut Scratch<S>, place: &str) {
    compare_several(lattice, 4, used, place);
    let expected = Viterbi.decode(lattice, &mut Scratch::new()).map(|answer| answer.paths);
    for decoder in [Funnel.into(), Auto::default().into(), Decoder::from(Sieve)] {
        let found = decoder.decode(lattice, used).map(|answer| answer.paths.clone());
        assert_eq!(found, expected, "{} {place}", decoder.name());
    }
}

/// All labels of all paths: equal ones have one order.
fn compare_several<S: Float>(lattice: &Lattice<'_, S>, k: usize, used: &mut Scratch<S>, place: &str) {
    let expected = Viterbi.decode_kbest(lattice, k, &mut Scratch::new()).map(|answer| answer.paths);
    for decoder in [Funnel.into(), Decoder::from(Auto::default())] {
        let found = decoder.decode_kbest(lattice, k, used).map(|answer| answer.paths.clone());
        assert!(found == expected, "{} {place}, {k} paths", decoder.name());
    }
}

fn many_labels<S: Float>(seed: u64, rounds: usize) {
    let (random, used) = (&mut Random::new(seed), &mut Scratch::new());
    for round in 0..rounds {
        let labels = [513, 577, 580 + random.below(80), 897, 1025, 2100][random.below(6)];
        let labels = if round % 8 == 0 { labels } else { labels.min(980) }; // more take long
        let positions = 2 + random.below(5);
        let look = Look::any(random);
        let border = Look { forbidden: look.forbidden.min(5), ..look }; // most labels are possible
        let edges = look.edges::<S>(random, labels, positions);
        let nodes: Vec<S> = (0..positions)
            .flat_map(|_| {
                let strength = [0.3, 10.0, 15.0, 20.0][random.below(4)];
                border.row::<S>(random, labels, strength)
            })
            .collect();
        let mut lattice = Lattice::new(nodes, &edges).unwrap();
        if random.below(2) == 0 {
            let [start, end] = [0, 1].map(|_| border.row::<S>(random, labels, 2.0));
            lattice = lattice.with_start(start).unwrap().with_end(end).unwrap();
        }
        compare(&lattice, used, &format!("round {round} of {seed}: {labels} labels, {positions} positions"));
    }
}

#[test]
fn blocks_of_many_labels_hide_nothing() {
    many_labels::<f32>(1, 150);
    many_labels::<f64>(2, 60);
}

/// A few labels of different blocks compete, and most edges between these are exceptions, so that a label that looked too bad to be opened
/// is often the best way to another after all.
#[test]
fn listed_rivals_are_found() {
    let (random, used) = (&mut Random::new(7), &mut Scratch::new());
    for round in 0..120 {
        let labels = 520 + random.below(100);
        let few: Vec<usize> = (0..12).map(|_| random.below(labels)).collect();
        let look = Look { whole: round % 2 == 0, forbidden: [0, 5][random.below(2)] };
        let mut scores = vec![[0.0, -0.5, f32::NEG_INFINITY][round % 3]; labels * labels];
        for (&p, &y) in few.iter().flat_map(|p| few.iter().map(move |y| (p, y))) {
            scores[p * labels + y] = look.score(random, 6.0);
        }
        let edges = Edges::dense(labels, scores).unwrap();
        let mut nodes = look.row::<f32>(random, 8 * labels, 1.0);
        for row in nodes.chunks_mut(labels) {
            few.iter().for_each(|&y| row[y] = 12.0 + look.score::<f32>(random, 5.0));
        }
        compare(&Lattice::new(nodes, &edges).unwrap(), used, &format!("round {round}"));
    }
}

/// Dozens of labels compete at each position, and each leads to few blocks, so that most of them need not be read there. The last block is
/// shorter than a vector, or not.
#[test]
fn dozens_of_labels_lead_to_few_blocks() {
    let (random, used) = (&mut Random::new(17), &mut Scratch::new());
    let (mut by_block, mut more) = (0, 0);
    for round in 0..80 {
        let labels = 577 + random.below(if round % 2 == 0 { 15 } else { 300 });
        let most = 30 + random.below(130);
        let look = Look { whole: round % 4 < 2, forbidden: [0, 5][random.below(2)] };
        let scores = (0..labels * labels).map(|i| {
            let (p, y) = (i / labels, i % labels);
            let leads = (7 * p + y / 64) % 5 == 0;
            look.score::<f32>(random, 1.0) + if leads { 6.0 } else { 0.0 }
        });
        let edges = Edges::dense(labels, scores.collect::<Vec<_>>()).unwrap();
        let mut nodes = look.row::<f32>(random, 5 * labels, 1.0);
        for row in nodes.chunks_mut(labels) {
            (0..most).for_each(|_| row[random.below(labels)] = 9.0 + look.score::<f32>(random, 1.0));
        }
        let lattice = Lattice::new(nodes, &edges).unwrap();
        compare(&lattice, used, &format!("round {round}"));
        if let Ok(answer) = Funnel.decode(&lattice, &mut Scratch::counting()) {
            let opened = answer.counters.unwrap().nodes_at;
            by_block += opened.iter().filter(|&&opened| (25..=128).contains(&opened)).count();
            more += opened.iter().filter(|&&opened| opened > 128).count();
        }
    }
    assert!(by_block > 100 && more > 5, "{by_block} positions with dozens of labels, {more} with more");
}

/// Edges that are computed are not bounded by block, though their number would allow it.
#[test]
fn computed_edges_of_many_labels() {
    let (labels, random, used) = (530, &mut Random::new(13), &mut Scratch::new());
    let score = |_: usize, p: usize, y: usize| ((p * 7 + y * 13) % 11) as f32 - 5.0;
    for bound in [5.0, 1e6] {
        let edges = Edges::callback(labels, score, move |_| bound, 5.0).unwrap();
        for strength in [2.0, 20.0] {
            let look = Look { whole: true, forbidden: 2 };
            let lattice = Lattice::new(look.row::<f32>(random, 3 * labels, strength), &edges).unwrap();
            let lattice = lattice.with_start(look.row(random, labels, strength)).unwrap();
            compare(&lattice, used, &format!("bound {bound}, strength {strength}"));
        }
    }
}

/// Blocks are bounded by sums that are not added in the judge's order. Here each order rounds differently: a large score at the
/// first position leaves two bits for fractions, and a few labels in different blocks are equally good only as the judge rounds.
#[test]
fn rounding_hides_no_block() {
    let (labels, random, used) = (600, &mut Random::new(11), &mut Scratch::new());
    for round in 0..60 {
        let fraction = |random: &mut Random| random.below(64) as f32 / 64.0;
        let usual = fraction(random);
        let mut scores = vec![usual; labels * labels];
        for _ in 0..40 {
            scores[random.below(labels * labels)] = usual - fraction(random);
        }
        let edges = Edges::dense(labels, scores).unwrap();
        let mut nodes = vec![-50.0; 6 * labels];
        for (t, row) in nodes.chunks_mut(labels).enumerate() {
            for _ in 0..6 {
                row[random.below(labels)] = fraction(random) + if t == 0 { 4e6 } else { 0.0 };
            }
        }
        let mut lattice = Lattice::new(nodes, &edges).unwrap();
        if round % 2 == 0 {
            let [start, end] = [0, 1].map(|_| (0..labels).map(|_| fraction(random)).collect::<Vec<_>>());
            lattice = lattice.with_start(start).unwrap().with_end(end).unwrap();
        }
        compare(&lattice, used, &format!("round {round}"));
    }
}

/// Columns of a matrix of so many labels are neither stored nor collected: bounds by block stand for them.
#[test]
fn bounds_stand_for_columns() {
    let (labels, random, used) = (2_060, &mut Random::new(5), &mut Scratch::new());
    for round in 0..8 {
        let look = Look { whole: round % 2 == 0, forbidden: [0, 2, 33, 75][round / 2] };
        let edges = Edges::dense(labels, look.row::<f32>(random, labels * labels, 1.0)).unwrap();
        let border = Look { forbidden: look.forbidden.min(5), ..look };
        for strength in [2.0, 6.0, 20.0] {
            let nodes = border.row::<f32>(random, 4 * labels, strength);
            let mut lattice = Lattice::new(nodes, &edges).unwrap();
            if round % 3 > 0 {
                lattice = lattice.with_start(border.row(random, labels, strength)).unwrap();
                lattice = lattice.with_end(border.row(random, labels, strength)).unwrap();
            }
            let place = format!("round {round}, strength {strength}");
            compare(&lattice, used, &place);
            compare_several(&lattice, 40, used, &place);
        }
    }
}

/// Bounds on blocks follow when edges change.
#[test]
fn blocks_follow_changes() {
    let (random, used) = (&mut Random::new(3), &mut Scratch::new());
    for round in 0..8 {
        let (labels, look) = (850, Look { whole: true, forbidden: 5 });
        let mut edges = loop {
            let edges = look.edges::<f32>(random, labels, 5);
            if edges.matrices() == 1 {
                break edges;
            }
        };
        for step in 0..12 {
            let nodes = look.row::<f32>(random, 5 * labels, 15.0);
            compare(&Lattice::new(nodes, &edges).unwrap(), used, &format!("round {round}, step {step}"));
            for _ in 0..40 {
                let (p, y) = (random.below(labels) as u32, random.below(labels) as u32);
                let score = [80.0, 2.0, -5.0, f32::NEG_INFINITY][random.below(4)];
                edges.set(p, y, score).unwrap();
            }
        }
    }
}

/// `make soak`: one lattice of many labels for every thousand of others.
#[test]
#[ignore = "long: run by `make soak`"]
fn soak() {
    let seeds = soak_seeds();
    for seed in seeds.clone().step_by(1000) {
        many_labels::<f32>(seed, 1);
        many_labels::<f64>(seed + 1, 1);
    }
    println!("every thousandth of the seeds {seeds:?}, many labels, f32 and f64: all agree");
}
