//! Synthetic lattices, from friendly to adversarial.
//!
//! **Tagger**: resembles trained taggers with many labels. Label frequencies follow Zipf's law; a true path walks
//! through favoured transitions; at each position the true label and a few confusable ones stand out from the noise;
//! edges score 0 except for a small share of pairs, positive where the true path tends to go. The constants are chosen
//! so that with the default options the scores resemble those of averaged perceptrons with 300 to 1,700 labels: node
//! spread about 45-65 (perceptrons: 33-99), quartiles of the gap between the two best labels 3 / 8 / 13 (perceptrons:
//! 2-10 / 6-17 / 13-22), quartiles of the nonzero edges -0.7 / -0.2 / 0.6 (perceptrons: -0.9 / -0.4 / 0.9), 28 of them
//! per label.
//! **Dense**: the same nodes, but every label pair has its own score. **Random**: random nodes and edges within the
//! same small range, so that nothing can be pruned. **Uniform**: all nodes equal, so that only the edges decide.

use clap::ValueEnum;
use kbest::Float;
use kbest::random::{Random, Zipf};
use std::collections::HashSet;

/// Kinds of lattices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    Tagger,
    Dense,
    Random,
    Uniform,
}

/// What to generate.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) family: Family,
    pub(crate) sequences: usize,
    pub(crate) positions: usize,
    pub(crate) vary_lengths: bool,
    pub(crate) labels: usize,
    /// How far the true label stands out.
    pub(crate) peaked: f64,
    /// Largest magnitude of an edge.
    pub(crate) edge_strength: f64,
    /// Share of label pairs with an edge score.
    pub(crate) edge_density: f64,
    pub(crate) repetitive: bool,
    pub(crate) seed: u64,
}

impl Recipe {
    /// The defaults of the command line for this number of labels.
    pub(crate) fn tagger(sequences: usize, positions: usize, labels: usize, seed: u64) -> Self {
        Recipe {
            family: Family::Tagger,
            sequences,
            positions,
            vary_lengths: false,
            labels,
            peaked: PEAKED,
            edge_strength: EDGE_STRENGTH,
            edge_density: edge_density(labels),
            repetitive: false,
            seed,
        }
    }
}

/// Defaults.
pub(crate) const PEAKED: f64 = 12.0;
pub(crate) const EDGE_STRENGTH: f64 = 10.0;
/// About 28 exceptions per label, as in trained models with 50 to 1,700 labels.
pub(crate) fn edge_density(labels: usize) -> f64 {
    (28.0 / labels as f64).min(0.6)
}

/// Number of distinct positions in a repetitive lattice.
const DISTINCT: usize = 12;

/// The generated scores.
#[derive(Debug)]
pub(crate) struct Generated<S> {
    pub(crate) nodes: Vec<S>, // B x T x L
    pub(crate) lengths: Vec<u32>,
    /// (from, to, score), sorted; every other pair scores 0.
    pub(crate) exceptions: Vec<(u32, u32, S)>,
    /// Labels by frequency.
    pub(crate) order: Vec<u32>,
}

impl<S: Float> Generated<S> {
    /// The edges as one row-major matrix.
    pub(crate) fn matrix(&self) -> Vec<S> {
        let labels = self.order.len();
        let mut matrix = vec![S::ZERO; labels * labels];
        for &(p, y, w) in &self.exceptions {
            matrix[p as usize * labels + y as usize] = w;
        }
        matrix
    }
}

/// Follows a recipe. The same recipe yields the same bits on every machine.
pub(crate) fn generate<S: Float>(recipe: &Recipe) -> Generated<S> {
    let mut random = Random::new(recipe.seed);
    let order = random.shuffled(recipe.labels);
    let zipf = Zipf::new(recipe.labels);
    let pairs = pairs(recipe, &zipf, &mut random);
    let walk = Walk::new(recipe.labels, &pairs);
    let lengths: Vec<u32> = (0..recipe.sequences)
        .map(|_| match recipe.positions {
            positions if recipe.vary_lengths && positions > 1 => 1 + random.below(positions) as u32,
            positions => positions as u32,
        })
        .collect();

    let mut positions = Positions { recipe, zipf: &zipf, order: &order, row: vec![0.0; recipe.labels] };
    let pool: Vec<Vec<S>> = (0..if recipe.repetitive { DISTINCT } else { 0 })
        .map(|_| {
            let rank = zipf.draw(&mut random);
            positions.row(rank, &mut random)
        })
        .collect();
    let mut nodes = Vec::with_capacity(recipe.sequences * recipe.positions * recipe.labels);
    for &length in &lengths {
        let mut rank = zipf.draw(&mut random);
        for _ in 0..length {
            if pool.is_empty() {
                nodes.extend_from_slice(&positions.row::<S>(rank, &mut random));
                rank = walk.step(rank, &zipf, &mut random);
            } else {
                nodes.extend_from_slice(&pool[random.below(pool.len())]);
            }
        }
        let padding = (recipe.positions - length as usize) * recipe.labels;
        nodes.extend(std::iter::repeat_n(S::ZERO, padding));
    }

    let mut exceptions: Vec<(u32, u32, S)> =
        pairs.into_iter().map(|(p, y, w)| (order[p], order[y], S::from_f64(w))).collect();
    exceptions.sort_by_key(|&(p, y, _)| (p, y));
    Generated { nodes, lengths, exceptions, order }
}

/// Nonzero edge scores, by ranks.
fn pairs(recipe: &Recipe, zipf: &Zipf, random: &mut Random) -> Vec<(usize, usize, f64)> {
    let labels = recipe.labels;
    let dense = matches!(recipe.family, Family::Random | Family::Dense);
    if dense {
        let mut all = Vec::with_capacity(labels * labels);
        for p in 0..labels {
            for y in 0..labels {
                let w = match recipe.family {
                    Family::Random => recipe.edge_strength * random.signed(),
                    _ => edge_score(recipe, random),
                };
                all.push((p, y, w));
            }
        }
        return all;
    }
    let wanted = ((labels * labels) as f64 * recipe.edge_density).round() as usize;
    let mut seen = HashSet::with_capacity(wanted);
    let mut pairs = Vec::with_capacity(wanted);
    // Frequent labels meet often; once those pairs are used up, any pair will do.
    for attempt in 0.. {
        if pairs.len() >= wanted {
            break;
        }
        let (p, y) = if attempt < 4 * wanted {
            (flatter(labels, zipf, random), flatter(labels, zipf, random))
        } else {
            (random.below(labels), random.below(labels))
        };
        if seen.insert((p, y)) {
            pairs.push((p, y, edge_score(recipe, random)));
        }
    }
    pairs
}

/// A rank for an exception: frequent labels have many, rare ones have some.
fn flatter(labels: usize, zipf: &Zipf, random: &mut Random) -> usize {
    if random.chance(0.5) { zipf.draw(random) } else { random.low(labels) }
}

/// Mostly below 1 in magnitude, rarely up to the strength; two in five are positive.
fn edge_score(recipe: &Recipe, random: &mut Random) -> f64 {
    let u = random.unit();
    let magnitude = (0.2 + 0.75 * u / (1.0 - u).sqrt()).min(10.0) / 10.0;
    let sign = if random.chance(0.42) { 1.0 } else { -0.8 };
    sign * magnitude * recipe.edge_strength
}

/// Where the true path goes: often along a positive edge.
struct Walk {
    favoured: Vec<Vec<u32>>, // by rank
}

impl Walk {
    fn new(labels: usize, pairs: &[(usize, usize, f64)]) -> Self {
        let mut favoured = vec![Vec::new(); labels];
        for &(p, y, w) in pairs {
            if w > 0.0 {
                favoured[p].push(y as u32);
            }
        }
        Walk { favoured }
    }

    fn step(&self, rank: usize, zipf: &Zipf, random: &mut Random) -> usize {
        let next = &self.favoured[rank];
        if next.is_empty() || random.chance(0.3) {
            return zipf.draw(random);
        }
        next[random.low(next.len())] as usize // frequent pairs were drawn first
    }
}

/// Node scores of one position at a time.
struct Positions<'a> {
    recipe: &'a Recipe,
    zipf: &'a Zipf,
    order: &'a [u32],
    row: Vec<f64>, // by label
}

impl Positions<'_> {
    /// The scores of a position whose true label has this rank.
    fn row<S: Float>(&mut self, rank: usize, random: &mut Random) -> Vec<S> {
        match self.recipe.family {
            Family::Uniform => self.row.fill(0.0),
            Family::Random => self.row.fill_with(|| self.recipe.peaked * random.signed()),
            Family::Tagger | Family::Dense => self.tagged(rank, random),
        }
        self.row.iter().map(|&node| S::from_f64(node)).collect()
    }

    fn tagged(&mut self, rank: usize, random: &mut Random) {
        let labels = self.recipe.labels;
        // Rare labels were trained on little: their scores lie lower and closer together.
        for (rank, &y) in self.order.iter().enumerate() {
            let rare = rank as f64 / labels as f64;
            self.row[y as usize] = random.normal() * (3.2 - 1.2 * rare) - 1.5 * rare;
        }
        // Some labels are clearly ruled out.
        for _ in 0..(labels / 50).min(20) + 1 {
            self.row[self.order[self.zipf.draw(random)] as usize] -= 25.0 * random.unit();
        }
        // The model's confidence differs from position to position.
        let sure = self.recipe.peaked * (0.9 + 1.9 * random.unit());
        self.row[self.order[rank] as usize] += sure;
        // Each label has confusable labels everywhere (its neighbours in rank), and others by chance.
        let ambiguous = random.chance(0.16);
        for i in 0..6 {
            let other = if i < 3 { (rank ^ (1 + i)).min(labels - 1) } else { self.zipf.draw(random) };
            let share = if ambiguous { 0.6 + 0.4 * random.unit() } else { 0.5 * random.unit() };
            if other != rank {
                self.row[self.order[other] as usize] += sure * share;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_has_its_shape() {
        for family in [Family::Tagger, Family::Dense, Family::Random, Family::Uniform] {
            for (sequences, positions, labels) in [(3, 5, 20), (1, 1, 1), (0, 4, 3), (2, 0, 2)] {
                let recipe = Recipe {
                    family,
                    vary_lengths: positions > 3,
                    ..Recipe::tagger(sequences, positions, labels, 5)
                };
                let made: Generated<f32> = generate(&recipe);
                assert_eq!(made.nodes.len(), sequences * positions * labels);
                assert_eq!(made.lengths.len(), sequences);
                assert!(made.lengths.iter().all(|&n| n as usize <= positions));
                let full = matches!(family, Family::Dense | Family::Random);
                assert!(labels < 20 || (made.exceptions.len() == labels * labels) == full, "{family:?}");
                assert!(made.exceptions.windows(2).all(|two| (two[0].0, two[0].1) < (two[1].0, two[1].1)));
            }
        }
    }

    #[test]
    fn every_pair_can_be_an_exception() {
        let recipe = Recipe { edge_density: 1.0, ..Recipe::tagger(1, 2, 30, 1) };
        assert_eq!(generate::<f64>(&recipe).exceptions.len(), 900);
    }

    #[test]
    fn repetitive_lattices_have_few_distinct_positions() {
        let recipe = Recipe { repetitive: true, ..Recipe::tagger(4, 30, 10, 1) };
        let made: Generated<f64> = generate(&recipe);
        let rows: HashSet<Vec<u64>> =
            made.nodes.chunks(10).map(|row| row.iter().map(|x| x.to_bits()).collect()).collect();
        assert!(rows.len() <= DISTINCT && rows.len() > 1);
    }
}
