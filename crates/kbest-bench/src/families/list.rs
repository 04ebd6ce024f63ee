//! The families of lattices over which `auto` is compared with single decoders: how nodes and edges are drawn.
//!
//! They go from lattices in which one label per position can win to lattices in which nothing can be pruned, and from
//! edges of which nothing is known to edges that forbid almost everything. Each is a line of [`FAMILIES`]: to add one is
//! to add a line.

use kbest::random::Random;
use kbest::{Edges, Float, Result};

/// How node scores are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Nodes {
    /// Normal, with this standard deviation.
    Normal(f64),
    /// Whole numbers below this one.
    Whole(usize),
    /// All equal.
    Flat,
    /// Normal; a few positions, again and again.
    Repeated(f64),
    /// Logarithms of probabilities; the larger the number, the surer.
    LogProbabilities(f64),
    /// Normal, with one label this far above the others.
    Peaked(f64),
    /// Heavy tails: the ratio of two normal numbers.
    HeavyTails,
    /// Normal and strong, but weak in every second stretch of ten positions.
    TwoRegimes(f64),
    /// Normal and strong, but weak at one position.
    OneHard(f64),
}

/// How edge scores are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pairs {
    /// Normal.
    Normal,
    /// Whole numbers below this one.
    Whole(usize),
    /// All equal.
    Flat,
    /// Logarithms of probabilities, each row one distribution.
    LogProbabilities,
    /// Normal; this share of all pairs, drawn at random, is forbidden.
    Forbidden(f64),
    /// From each label to itself and the next four; everything else is forbidden.
    LeftToRight,
    /// Normal within a band of this share of the labels; everything else is forbidden.
    Band(f64),
    /// Normal within such a band; everything else scores 0.
    SoftBand(f64),
    /// This many exceptions per label, drawn at random, from 0.
    Exceptions(usize),
    /// Normal, and this much more from each label to itself.
    Sticky(f64),
    /// Ten blocks: normal within a block, forbidden between them.
    Blocks,
    /// The rules of IOB2 as classes of labels.
    Iob2,
    /// The sum of a number for either label: no pair has a score of its own.
    Separable,
    /// Normal; a tenth of the labels may be entered, and left, at a bonus of 4.
    Hubs,
    /// Two normal matrices that take turns.
    TwoMatrices,
}

/// A family: its name, and how its scores are drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    pub(super) name: &'static str,
    pub(super) nodes: Nodes,
    pub(super) pairs: Pairs,
}

const fn family(name: &'static str, nodes: Nodes, pairs: Pairs) -> Family {
    Family { name, nodes, pairs }
}

/// All families.
pub(super) const FAMILIES: &[Family] = &[
    family("gauss:0.3", Nodes::Normal(0.3), Pairs::Normal),
    family("gauss:1", Nodes::Normal(1.0), Pairs::Normal),
    family("gauss:2", Nodes::Normal(2.0), Pairs::Normal),
    family("gauss:3", Nodes::Normal(3.0), Pairs::Normal),
    family("gauss:5", Nodes::Normal(5.0), Pairs::Normal),
    family("gauss:10", Nodes::Normal(10.0), Pairs::Normal),
    family("gauss:30", Nodes::Normal(30.0), Pairs::Normal),
    family("ints:2", Nodes::Whole(2), Pairs::Whole(2)),
    family("ints:10", Nodes::Whole(10), Pairs::Whole(10)),
    family("ints:100:3", Nodes::Whole(100), Pairs::Whole(3)),
    family("flat", Nodes::Flat, Pairs::Normal),
    family("flat-edges", Nodes::Normal(1.0), Pairs::Flat),
    family("repeat", Nodes::Repeated(3.0), Pairs::Normal),
    family("hmm:1", Nodes::LogProbabilities(1.0), Pairs::LogProbabilities),
    family("hmm:3", Nodes::LogProbabilities(3.0), Pairs::LogProbabilities),
    family("hmm:10", Nodes::LogProbabilities(10.0), Pairs::LogProbabilities),
    family("peaked:6", Nodes::Peaked(6.0), Pairs::Normal),
    family("peaked:20", Nodes::Peaked(20.0), Pairs::Normal),
    family("heavy-tails", Nodes::HeavyTails, Pairs::Normal),
    family("two-regimes", Nodes::TwoRegimes(20.0), Pairs::Normal),
    family("one-hard", Nodes::OneHard(20.0), Pairs::Normal),
    family("forbidden:50", Nodes::Normal(1.0), Pairs::Forbidden(0.5)),
    family("forbidden:95", Nodes::Normal(1.0), Pairs::Forbidden(0.95)),
    family("forbidden:95:10", Nodes::Normal(10.0), Pairs::Forbidden(0.95)),
    family("forbidden:99", Nodes::Normal(1.0), Pairs::Forbidden(0.99)),
    family("left-to-right", Nodes::Normal(1.0), Pairs::LeftToRight),
    family("left-to-right:10", Nodes::Normal(10.0), Pairs::LeftToRight),
    family("band", Nodes::Normal(3.0), Pairs::Band(0.04)),
    family("soft-band", Nodes::Normal(3.0), Pairs::SoftBand(0.04)),
    family("sparse:1", Nodes::Normal(1.0), Pairs::Exceptions(20)),
    family("sparse:3", Nodes::Normal(3.0), Pairs::Exceptions(20)),
    family("sparse:10", Nodes::Normal(10.0), Pairs::Exceptions(20)),
    family("sparse-peaked", Nodes::Peaked(12.0), Pairs::Exceptions(28)),
    family("sticky:3", Nodes::Normal(1.0), Pairs::Sticky(3.0)),
    family("sticky:10", Nodes::Normal(3.0), Pairs::Sticky(10.0)),
    family("blocks", Nodes::Normal(3.0), Pairs::Blocks),
    family("iob2:1", Nodes::Normal(1.0), Pairs::Iob2),
    family("iob2:10", Nodes::Normal(10.0), Pairs::Iob2),
    family("separable", Nodes::Normal(1.0), Pairs::Separable),
    family("hubs", Nodes::Normal(3.0), Pairs::Hubs),
    family("two-matrices", Nodes::Normal(3.0), Pairs::TwoMatrices),
];

impl Family {
    /// Number of edges that a step must weigh if nothing is pruned: all, or those that differ from the base.
    pub(super) fn pairs_to_weigh(&self, labels: usize) -> usize {
        match self.pairs {
            Pairs::Flat | Pairs::Iob2 => labels,
            Pairs::LeftToRight => 5 * labels,
            Pairs::Exceptions(each) => each.min(labels) * labels,
            _ => labels * labels,
        }
    }

    /// Whether edges are listed, so that many labels take little memory.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self.pairs, Pairs::Flat | Pairs::Iob2 | Pairs::LeftToRight | Pairs::Exceptions(_))
    }

    /// The edges of all sequences.
    pub(super) fn edges<S: Float>(&self, labels: usize, random: &mut Random) -> Result<Edges<S>> {
        let normal = |random: &mut Random| S::from_f64(random.normal());
        let no = S::FORBIDDEN;
        let mut matrix = |score: &mut dyn FnMut(usize, usize, &mut Random) -> S| {
            let mut scores = Vec::with_capacity(labels * labels);
            for p in 0..labels {
                scores.extend((0..labels).map(|y| score(p, y, random)));
            }
            Edges::dense(labels, scores)
        };
        let band = |share: f64| ((labels as f64 * share / 2.0) as usize).max(1);
        match self.pairs {
            Pairs::Normal => matrix(&mut |_, _, random| normal(random)),
            Pairs::Whole(n) => matrix(&mut |_, _, random| S::from_f64(random.below(n) as f64)),
            Pairs::Flat => Edges::uniform(labels, S::ZERO),
            Pairs::LogProbabilities => {
                let sure = |random: &mut Random| (2.0 * random.normal()).exp();
                let mut row = vec![];
                matrix(&mut |_, y, random| {
                    if y == 0 {
                        row = (0..labels).map(|_| sure(random)).collect();
                        let sum: f64 = row.iter().sum();
                        row.iter_mut().for_each(|one| *one /= sum);
                    }
                    S::from_f64(row[y].ln())
                })
            }
            Pairs::Forbidden(share) => matrix(&mut |p, y, random| {
                if p != y && random.chance(share) { no } else { normal(random) }
            }),
            Pairs::Band(share) => {
                matrix(&mut |p, y, random| if p.abs_diff(y) <= band(share) { normal(random) } else { no })
            }
            Pairs::SoftBand(share) => matrix(&mut |p, y, random| {
                if p.abs_diff(y) <= band(share) { normal(random) } else { S::ZERO }
            }),
            Pairs::Sticky(bonus) => {
                matrix(&mut |p, y, random| S::from_f64(random.normal() + if p == y { bonus } else { 0.0 }))
            }
            Pairs::Blocks => matrix(&mut |p, y, random| {
                if p * 10 / labels == y * 10 / labels { normal(random) } else { no }
            }),
            Pairs::Separable => {
                let (mut from, mut to) = (0.0, vec![]);
                matrix(&mut |_, y, random| {
                    if y == 0 {
                        from = random.normal();
                    }
                    if to.len() < labels {
                        to.push(random.normal());
                    }
                    S::from_f64(from + to[y])
                })
            }
            Pairs::Hubs => matrix(&mut |p, y, random| {
                let hubs = [p, y].into_iter().filter(|label| label % 10 == 0).count();
                S::from_f64(random.normal() + 4.0 * hubs as f64)
            }),
            Pairs::TwoMatrices => {
                let matrices = [(); 2].map(|()| matrix(&mut |_, _, random| normal(random)));
                Edges::per_position(matrices.into_iter().collect::<Result<_>>()?)
            }
            Pairs::LeftToRight => {
                let pairs =
                    (0..labels).flat_map(|p| (p..(p + 5).min(labels)).map(move |y| (p as u32, y as u32)));
                listed(labels, no, pairs.collect(), 1.0, random)
            }
            Pairs::Exceptions(each) => {
                let mut pairs = vec![];
                for p in 0..labels {
                    let chosen: std::collections::BTreeSet<u32> =
                        (0..each).map(|_| random.below(labels) as u32).collect();
                    pairs.extend(chosen.into_iter().map(|y| (p as u32, y)));
                }
                listed(labels, S::ZERO, pairs, 2.0, random)
            }
            Pairs::Iob2 => {
                // Label 0 is O; B and I of a type take turns after it.
                let inside = |label: usize| label > 0 && label.is_multiple_of(2);
                let to: Vec<u32> = (0..labels).map(|label| u32::from(inside(label))).collect();
                let targets = (0..labels).filter(|&label| inside(label));
                let pairs = targets
                    .flat_map(|label| [(label as u32 - 1, label as u32), (label as u32, label as u32)]);
                let (from, after): (Vec<u32>, Vec<u32>) = pairs.unzip();
                let scores = vec![S::ZERO; from.len()];
                Edges::classes(&vec![0; labels], &to, &[S::ZERO, no], 2, (&from, &after, &scores))
            }
        }
    }

    /// The node scores of one sequence.
    pub(super) fn nodes<S: Float>(&self, positions: usize, labels: usize, random: &mut Random) -> Vec<S> {
        const DISTINCT: usize = 12;
        let pool: Vec<f64> = match self.nodes {
            Nodes::Repeated(strength) => (0..DISTINCT * labels).map(|_| strength * random.normal()).collect(),
            _ => vec![],
        };
        let mut nodes = Vec::with_capacity(positions * labels);
        for t in 0..positions {
            let begun = nodes.len();
            let mut row = |score: &mut dyn FnMut(&mut Random) -> f64| {
                nodes.extend((0..labels).map(|_| S::from_f64(score(random))));
            };
            match self.nodes {
                Nodes::Normal(strength) => row(&mut |random| strength * random.normal()),
                Nodes::Whole(n) => row(&mut |random| random.below(n) as f64),
                Nodes::Flat => row(&mut |_| 0.0),
                Nodes::Repeated(_) => {
                    let at = random.below(DISTINCT) * labels;
                    nodes.extend(pool[at..][..labels].iter().map(|&score| S::from_f64(score)));
                }
                Nodes::LogProbabilities(sure) => {
                    let weights: Vec<f64> = (0..labels).map(|_| sure * random.normal()).collect();
                    let sum: f64 = weights.iter().map(|weight| weight.exp()).sum();
                    nodes.extend(weights.iter().map(|weight| S::from_f64(weight - sum.ln())));
                }
                Nodes::Peaked(height) => {
                    row(&mut |random| random.normal());
                    nodes[begun + random.below(labels)] += S::from_f64(height);
                }
                Nodes::HeavyTails => row(&mut |random| {
                    let below = random.normal();
                    (random.normal() / if below == 0.0 { 1.0 } else { below }).clamp(-1e6, 1e6)
                }),
                Nodes::TwoRegimes(strength) => {
                    let strength = if t / 10 % 2 == 0 { strength } else { 1.0 };
                    row(&mut |random| strength * random.normal());
                }
                Nodes::OneHard(strength) => {
                    let strength = if t == positions / 2 { 0.5 } else { strength };
                    row(&mut |random| strength * random.normal());
                }
            }
        }
        nodes
    }
}

/// Edges by a list of pairs, with normal scores.
fn listed<S: Float>(
    labels: usize,
    base: S,
    pairs: Vec<(u32, u32)>,
    strength: f64,
    random: &mut Random,
) -> Result<Edges<S>> {
    let (from, to): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
    let scores: Vec<S> = from.iter().map(|_| S::from_f64(strength * random.normal())).collect();
    Edges::sparse(labels, base, &from, &to, &scores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest::decode::Auto;
    use kbest::{Decode, Scratch};

    #[test]
    fn every_family_can_be_decoded() {
        assert!(FAMILIES.len() >= 30);
        for (i, family) in FAMILIES.iter().enumerate() {
            assert!(FAMILIES[..i].iter().all(|other| other.name != family.name), "{}", family.name);
            for labels in [2, 3, 70] {
                let mut random = Random::new(1);
                let edges = family.edges::<f32>(labels, &mut random).unwrap();
                let nodes = family.nodes(4, labels, &mut random);
                let lattice = super::super::lattice(nodes, &edges).unwrap();
                let answer = Auto::default().decode_kbest(&lattice, 3, &mut Scratch::new()).unwrap();
                assert!(!answer.paths.is_empty(), "{} with {labels} labels", family.name);
            }
        }
    }
}
