//! Coefficients in training, and the scores that follow from them.

use super::kernel_rows::KernelRows;
use super::{DualParameter, DualTrainingSet};
use crate::model::{Coefficient, EdgeWeights, Support};
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::lattice::Edges;
use kbest_core::simd::{Loop, run};
use kbest_core::{Error, Result};
use std::collections::BTreeMap;

/// A number in training and the sum of its changes, each times the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Averaged {
    weight: f64,
    sum: f64,
}

impl Averaged {
    fn add(&mut self, by: f64, change_of_sum: f64) {
        self.weight += by;
        self.sum += change_of_sum;
    }

    fn value(self, average_up_to: Option<f64>) -> f64 {
        average_up_to.map_or(self.weight, |clock| self.weight - self.sum / clock)
    }

    fn save(self, state: &mut StateWriter) {
        state.number(self.weight);
        state.number(self.sum);
    }

    fn restore(state: &mut StateReader<'_>) -> Result<Self> {
        Ok(Averaged { weight: state.number()?, sum: state.number()? })
    }
}

/// A dual model in training.
#[derive(Debug)]
pub struct DualWeights {
    coefficients: Vec<BTreeMap<LabelId, Averaged>>, // one map per token
    scores: Vec<Vec<f64>>,                          // L x N: b(σ, s)
    start: Vec<Averaged>,                           // L
    start_scores: Vec<f32>,                         // L: the same, rounded
    pairs: BTreeMap<(LabelId, LabelId), Averaged>,
    edges: Edges<f32>, // the same, rounded
    rows: KernelRows,
    changed: Vec<u64>, // when each token was changed last
    changes: u64,
    support: usize, // tokens with a coefficient that is not zero
}

/// `scores[i] += by * row[i]`.
struct AddRow<'a> {
    scores: &'a mut [f64],
    row: &'a [f32],
    by: f64,
}

impl Loop for AddRow<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        self.scores.iter_mut().zip(self.row).for_each(|(score, &value)| *score += self.by * f64::from(value));
    }
}

fn is_support(coefficients: &BTreeMap<LabelId, Averaged>) -> bool {
    coefficients.values().any(|averaged| averaged.weight != 0.0)
}

impl DualWeights {
    /// All zero.
    pub(super) fn new(data: &DualTrainingSet) -> Result<Self> {
        let (labels, tokens) = (data.data.labels().len(), data.tokens.len());
        Ok(DualWeights {
            coefficients: vec![BTreeMap::new(); tokens],
            scores: vec![vec![0.0; tokens]; labels],
            start: vec![Averaged::default(); labels],
            start_scores: vec![0.0; labels],
            pairs: BTreeMap::new(),
            edges: EdgeWeights::new(labels, [vec![]])?.sum(&[0])?,
            rows: KernelRows::new(tokens, data.options.row_memory),
            changed: vec![0; tokens],
            changes: 0,
            support: 0,
        })
    }

    /// Number of tokens with a coefficient that is not zero.
    pub fn support_tokens(&self) -> usize {
        self.support
    }

    pub(in crate::train) fn edges(&self) -> &Edges<f32> {
        &self.edges
    }

    pub(in crate::train) fn start(&self) -> &[f32] {
        &self.start_scores
    }

    /// Node scores of a sequence of tokens, `T x L`.
    pub(in crate::train) fn node_scores(&self, tokens: &[u32], nodes: &mut Vec<f32>) {
        nodes.clear();
        for &token in tokens {
            nodes.extend(self.scores.iter().map(|of_label| of_label[token as usize] as f32));
        }
    }

    /// What a parameter adds to the score of a labelling that has it: the inner product of its direction with the weight
    /// vector.
    pub(in crate::train) fn score(&self, parameter: DualParameter) -> f64 {
        match parameter {
            DualParameter::Start { to } => self.start[to as usize].weight,
            DualParameter::Edge { from, to } => self.pairs.get(&(from, to)).map_or(0.0, |pair| pair.weight),
            DualParameter::Token { token, label } => self.scores[label as usize][token as usize],
        }
    }

    /// The square of the length of a vector of parameters, sorted and each once.
    pub(in crate::train) fn square(
        &mut self,
        data: &DualTrainingSet,
        vector: &[(DualParameter, f64)],
    ) -> f64 {
        let mut square = 0.0;
        let mut by_label: BTreeMap<LabelId, Vec<(u32, f64)>> = BTreeMap::new();
        for &(parameter, value) in vector {
            match parameter {
                DualParameter::Token { token, label } => {
                    by_label.entry(label).or_default().push((token, value));
                }
                DualParameter::Start { .. } | DualParameter::Edge { .. } => square += value * value,
            }
        }
        for &(parameter, value) in vector {
            let DualParameter::Token { token, label } = parameter else { continue };
            let row = self.rows.row(data, token);
            let others =
                by_label[&label].iter().map(|&(other, value)| value * f64::from(row[other as usize]));
            square += value * others.sum::<f64>();
        }
        square
    }

    /// Changes a parameter, and every score that depends on it.
    pub(in crate::train) fn add(
        &mut self,
        data: &DualTrainingSet,
        parameter: DualParameter,
        by: f64,
        change_of_sum: f64,
    ) -> Result<()> {
        match parameter {
            DualParameter::Start { to } => {
                let start = &mut self.start[to as usize];
                start.add(by, change_of_sum);
                self.start_scores[to as usize] = start.weight as f32;
            }
            DualParameter::Edge { from, to } => {
                let pair = self.pairs.entry((from, to)).or_default();
                pair.add(by, change_of_sum);
                self.edges.set(from, to, pair.weight as f32)?;
            }
            DualParameter::Token { token, label } => {
                self.add_coefficient(token, label, by, change_of_sum);
                let row = self.rows.row(data, token);
                run(AddRow { scores: &mut self.scores[label as usize], row, by });
            }
        }
        Ok(())
    }

    fn add_coefficient(&mut self, token: u32, label: LabelId, by: f64, change_of_sum: f64) {
        let coefficients = &mut self.coefficients[token as usize];
        let was_support = is_support(coefficients);
        let averaged = coefficients.entry(label).or_default();
        averaged.add(by, change_of_sum);
        if *averaged == Averaged::default() {
            coefficients.remove(&label);
        }
        let is_support = is_support(coefficients);
        self.support = self.support + usize::from(is_support) - usize::from(was_support);
        self.changes += 1;
        self.changed[token as usize] = self.changes;
    }

    /// Removes the weakest support tokens, but for the one that was changed last, until the budget is kept.
    pub(super) fn keep_to_budget(&mut self, data: &DualTrainingSet) -> Result<()> {
        let Some(budget) = data.options.budget else { return Ok(()) };
        while self.support > budget {
            let squares = |s: usize| {
                let weights = self.coefficients[s].values().map(|averaged| averaged.weight.powi(2));
                data.strengths[s] * weights.sum::<f64>()
            };
            let candidates = (0..self.coefficients.len())
                .filter(|&s| is_support(&self.coefficients[s]) && self.changed[s] != self.changes);
            let weakest = candidates.min_by(|&a, &b| {
                squares(a).total_cmp(&squares(b)).then(self.changed[a].cmp(&self.changed[b]))
            });
            let Some(weakest) = weakest else { return Ok(()) };
            let last = self.changes;
            for (label, Averaged { weight, .. }) in self.coefficients[weakest].clone() {
                let parameter = DualParameter::Token { token: weakest as u32, label };
                self.add(data, parameter, -weight, 0.0)?; // no average is asked for
            }
            self.coefficients[weakest].clear();
            (self.changes, self.changed[weakest]) = (last, 0); // the one changed last stays so
        }
        Ok(())
    }

    /// Adds another's numbers, times `share`.
    pub(super) fn absorb(&mut self, other: &DualWeights, share: f64) -> Result<()> {
        for (token, coefficients) in (0..).zip(&other.coefficients) {
            for (&label, &Averaged { weight, sum }) in coefficients {
                self.add_coefficient(token, label, share * weight, share * sum);
            }
        }
        for (scores, others) in self.scores.iter_mut().zip(&other.scores) {
            scores.iter_mut().zip(others).for_each(|(score, other)| *score += share * other);
        }
        for (to, &Averaged { weight, sum }) in other.start.iter().enumerate() {
            self.start[to].add(share * weight, share * sum);
            self.start_scores[to] = self.start[to].weight as f32;
        }
        for (&(from, to), &Averaged { weight, sum }) in &other.pairs {
            let pair = self.pairs.entry((from, to)).or_default();
            pair.add(share * weight, share * sum);
            self.edges.set(from, to, pair.weight as f32)?;
        }
        Ok(())
    }

    /// The support tokens as a model has them.
    pub(super) fn support(&self, data: &DualTrainingSet, average_up_to: Option<f64>) -> Result<Support> {
        let finished = |coefficients: &BTreeMap<LabelId, Averaged>| {
            let finish = |(&label, averaged): (&LabelId, &Averaged)| Coefficient {
                label,
                weight: averaged.value(average_up_to) as f32,
            };
            coefficients.iter().map(finish).collect::<Vec<_>>()
        };
        let (labels, dimension) = (data.data.labels().len(), data.tokens.dimension());
        let mut support = Support::builder(data.kernel.clone(), labels, dimension);
        for (token, coefficients) in self.coefficients.iter().enumerate() {
            support.push(data.tokens.vector(token), &finished(coefficients))?;
        }
        Ok(support.finish())
    }

    /// `a(σ, τ)`.
    pub(super) fn transitions(
        &self,
        average_up_to: Option<f64>,
    ) -> impl Iterator<Item = ((LabelId, LabelId), f32)> + '_ {
        self.pairs.iter().map(move |(&pair, averaged)| (pair, averaged.value(average_up_to) as f32))
    }

    /// `a(ε, σ)`.
    pub(super) fn start_scores(&self, average_up_to: Option<f64>) -> Vec<f32> {
        self.start.iter().map(|averaged| averaged.value(average_up_to) as f32).collect()
    }

    pub(in crate::train) fn save(&self, state: &mut StateWriter) {
        for coefficients in &self.coefficients {
            state.list(coefficients.keys().copied());
            coefficients.values().for_each(|averaged| averaged.save(state));
        }
        // Kept, though they follow from the coefficients: added in another order they would differ in the last bits.
        self.scores.iter().for_each(|scores| state.list(scores.iter().copied()));
        self.start.iter().for_each(|averaged| averaged.save(state));
        state.list(self.pairs.keys().map(|&(from, to)| u64::from(from) << 32 | u64::from(to)));
        self.pairs.values().for_each(|averaged| averaged.save(state));
        state.list(self.changed.iter().copied());
        state.number(self.changes);
    }

    pub(in crate::train) fn restore(data: &DualTrainingSet, state: &mut StateReader<'_>) -> Result<Self> {
        let mut weights = Self::new(data)?;
        let labels = data.data.labels().len();
        let check = |y: LabelId| match y {
            y if (y as usize) < labels => Ok(y),
            y => Err(Error::LabelOutOfRange { what: "training state".into(), label: y.into(), labels }),
        };
        for token in 0..data.tokens.len() as u32 {
            for label in state.list::<LabelId>()? {
                let Averaged { weight, sum } = Averaged::restore(state)?;
                weights.add_coefficient(token, check(label)?, weight, sum);
            }
        }
        for scores in &mut weights.scores {
            state.list_into(scores)?;
        }
        for to in 0..labels {
            weights.start[to] = Averaged::restore(state)?;
            weights.start_scores[to] = weights.start[to].weight as f32;
        }
        for key in state.list::<u64>()? {
            let (from, to) = (check((key >> 32) as LabelId)?, check(key as LabelId)?);
            let averaged = Averaged::restore(state)?;
            weights.pairs.insert((from, to), averaged);
            weights.edges.set(from, to, averaged.weight as f32)?;
        }
        state.list_into(&mut weights.changed)?;
        weights.changes = state.number()?;
        Ok(weights)
    }
}
