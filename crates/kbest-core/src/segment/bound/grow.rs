//! Growing boosted trees.
//!
//! **How.** Gradient boosting of the multinomial likelihood (Friedman 2001, section 4.6), but one tree with leaves for all
//! labels per round instead of one tree per label: a tree splits where the residuals `1[label = y] - p(y)` of its two sides
//! differ most. No gold labels: it imitates the exact decoder. **Cost.** Rounds times tokens times features per token times
//! `L`.

use super::trees::{BoostedTrees, DEPTH, NOTHING};
use crate::label::LabelId;

/// How much of each tree's step is taken.
const RATE: f64 = 0.5;
/// Added to each count of tokens: keeps small groups from being believed.
const PRIOR: f64 = 1.0;

impl BoostedTrees {
    /// Trees that predict the labels of tokens from their features, numbered below `features`; each token has its list.
    pub(super) fn fit(
        tokens: &[&[u32]],
        answers: &[LabelId],
        labels: usize,
        features: usize,
        trees: usize,
        progress: &mut dyn FnMut(usize),
    ) -> Self {
        let mut boosted = BoostedTrees { labels, ..Self::default() };
        let mut learner = Learner {
            tokens,
            answers,
            labels,
            scores: vec![0.0; tokens.len() * labels],
            residuals: vec![0.0; tokens.len() * labels],
            sums: vec![0.0; features * labels],
            counts: vec![0; features],
        };
        for round in 0..trees {
            learner.grow(&mut boosted);
            progress(round + 1);
        }
        boosted
    }
}

struct Learner<'a> {
    tokens: &'a [&'a [u32]],
    answers: &'a [LabelId],
    labels: usize,
    scores: Vec<f64>,    // tokens x L
    residuals: Vec<f32>, // tokens x L
    sums: Vec<f32>,      // features x L: residuals of the tokens of one node that have the feature
    counts: Vec<u32>,    // features: how many these are
}

impl Learner<'_> {
    /// One round: a tree for the residuals.
    fn grow(&mut self, boosted: &mut BoostedTrees) {
        let labels = self.labels;
        for (i, &answer) in self.answers.iter().enumerate() {
            let scores = &self.scores[i * labels..][..labels];
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
            for y in 0..labels {
                let probability = (scores[y] - largest).exp() / total;
                let right = if y == answer as usize { 1.0 } else { 0.0 };
                self.residuals[i * labels + y] = (right - probability) as f32;
            }
        }
        let mut groups: Vec<Vec<u32>> = vec![(0..self.tokens.len() as u32).collect()];
        for _ in 0..DEPTH {
            let mut next = vec![];
            for group in groups {
                let question = self.question(&group);
                boosted.questions.push(question);
                let has = |&i: &u32| self.tokens[i as usize].contains(&question);
                let (with, without) = group.into_iter().partition(has);
                next.extend([without, with]);
            }
            groups = next;
        }
        for group in groups {
            let leaf = self.leaf(&group);
            for &i in &group {
                let scores = &mut self.scores[i as usize * labels..][..labels];
                scores.iter_mut().zip(&leaf).for_each(|(score, leaf)| *score += leaf);
            }
            boosted.leaves.extend(leaf.iter().map(|&value| value as f32));
        }
    }

    /// The feature whose presence divides the residuals best: the largest `sum over y of G^2 / n` of both sides. Among equals
    /// the lowest number.
    fn question(&mut self, group: &[u32]) -> u32 {
        let labels = self.labels;
        self.sums.fill(0.0);
        self.counts.fill(0);
        let mut all = vec![0.0f32; labels];
        for &i in group {
            let residuals = &self.residuals[i as usize * labels..][..labels];
            all.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += residual);
            for &feature in self.tokens[i as usize] {
                self.counts[feature as usize] += 1;
                let sums = &mut self.sums[feature as usize * labels..][..labels];
                sums.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += residual);
            }
        }
        let whole: f64 = all.iter().map(|&sum| f64::from(sum).powi(2)).sum();
        let mut best = (whole / (group.len() as f64 + PRIOR) + 1e-9, NOTHING);
        for (feature, (&count, sums)) in self.counts.iter().zip(self.sums.chunks_exact(labels)).enumerate() {
            if count == 0 || count as usize == group.len() {
                continue;
            }
            let with: f64 = sums.iter().map(|&sum| f64::from(sum).powi(2)).sum();
            let without: f64 = sums.iter().zip(&all).map(|(sum, all)| f64::from(all - sum).powi(2)).sum();
            let rest = group.len() as f64 - f64::from(count);
            let gain = with / (f64::from(count) + PRIOR) + without / (rest + PRIOR);
            if gain > best.0 {
                best = (gain, feature as u32);
            }
        }
        best.1
    }

    /// Newton's step for each label: `(L - 1) / L * sum(g) / sum(|g| (1 - |g|))` (Friedman, equation 33).
    fn leaf(&self, group: &[u32]) -> Vec<f64> {
        let labels = self.labels;
        let (mut sums, mut curvatures) = (vec![0.0; labels], vec![PRIOR * 0.1; labels]);
        for &i in group {
            for (y, &residual) in self.residuals[i as usize * labels..][..labels].iter().enumerate() {
                let residual = f64::from(residual);
                sums[y] += residual;
                curvatures[y] += residual.abs() * (1.0 - residual.abs());
            }
        }
        let share = (labels as f64 - 1.0) / labels as f64;
        sums.iter()
            .zip(&curvatures)
            .map(|(sum, curvature)| (RATE * share * sum / curvature).clamp(-4.0, 4.0))
            .collect()
    }
}
