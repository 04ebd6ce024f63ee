//! Support tokens: the node part of a dual model.
//!
//! **What.** `b(σ, x) = sum over support tokens s of c(s, σ) k(s, x)`: how well label `σ` suits token `x`, from its likeness
//! to tokens of the training data. `c(s, σ)` adds up, over all places where `s` stands and all labellings `ȳ` of the dual
//! expansion, `α(ȳ) ([right label is σ] - [label in ȳ is σ])`. Equal tokens are one support token, and coefficients that
//! cancel are not stored.
//!
//! **Cost.** Per token of the input one row of the kernel (`S` values for `S` support tokens) and an addition per stored
//! coefficient, all labels in one pass. A linear kernel needs neither: [`Support::collapsed`].
//!
//! The mathematics: `docs/dual-models.md`.

use super::container::{Container, ContainerWriter, Plain};
use super::node_weights::{NodeWeights, NodeWeightsBuilder};
use crate::checked::part_between;
use crate::feature::token::{StandardKernel, TokenKernel, TokenVector, TokenVectors, TokenVectorsBuilder};
use crate::feature::{FeatureId, rises_to};
use crate::memory::Blob;
use bytemuck::{Pod, Zeroable};
use kbest_core::LabelId;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// The sections of a file: the kernel's name, tokens (where each begins, features, values), coefficients (where those of
/// each token begin, the coefficients).
pub(super) const SECTIONS: [&str; 6] = [
    "support.kernel",
    "support.starts",
    "support.features",
    "support.values",
    "support.coefficient-starts",
    "support.coefficients",
];

/// What a support token says of a label.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Coefficient {
    /// The label.
    pub label: LabelId,
    /// How much likeness counts for it.
    pub weight: f32,
}

impl Plain for Coefficient {
    const WORD: usize = 4;
}

/// Support tokens with their coefficients and the kernel.
#[derive(Debug, Clone)]
pub struct Support {
    kernel: Arc<dyn TokenKernel>,
    labels: usize,
    tokens: TokenVectors,
    starts: Blob<u32>, // S + 1: where the coefficients of each token begin
    coefficients: Blob<Coefficient>,
    identity: Arc<()>, // tells these tokens from those of any other model
}

impl Support {
    /// No tokens yet.
    pub fn builder(kernel: Arc<dyn TokenKernel>, labels: usize, dimension: usize) -> SupportBuilder {
        let tokens = TokenVectors::builder(dimension);
        SupportBuilder { kernel, labels, tokens, starts: vec![0], coefficients: Vec::new() }
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<dyn TokenKernel> {
        &self.kernel
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// The tokens.
    pub fn tokens(&self) -> &TokenVectors {
        &self.tokens
    }

    /// Shared by copies, and by nothing else: who remembers scores can ask whose they are.
    pub(crate) fn identity(&self) -> &Arc<()> {
        &self.identity
    }

    /// The coefficients of a token, by label.
    ///
    /// # Panics
    /// If there is no such token.
    pub fn coefficients(&self, token: usize) -> &[Coefficient] {
        part_between(&self.coefficients, &self.starts, token)
    }

    /// Number of coefficients, none of them zero.
    pub fn stored(&self) -> usize {
        self.coefficients.len()
    }

    /// How much the model would change without a token: the square of the norm of what it adds,
    /// `k(s, s) * sum of c(s, σ)^2`.
    pub fn strength(&self, token: usize) -> f64 {
        let vector = self.tokens.vector(token);
        let squares = self.coefficients(token).iter().map(|c| f64::from(c.weight).powi(2)).sum::<f64>();
        squares * self.kernel.value(vector, vector)
    }

    /// The scores of a token for all labels: `b(σ, x)`. `row` and `sums` are memory.
    pub fn score(&self, token: TokenVector<'_>, row: &mut Vec<f64>, sums: &mut Vec<f64>, scores: &mut [f32]) {
        self.kernel.row(token, &self.tokens, row);
        sums.clear();
        sums.resize(self.labels, 0.0);
        for (token, &likeness) in row.iter().enumerate() {
            if likeness == 0.0 {
                continue; // tokens with no feature in common, often
            }
            for c in self.coefficients(token) {
                if let Some(sum) = sums.get_mut(c.label as usize) {
                    *sum += f64::from(c.weight) * likeness;
                }
            }
        }
        scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = *sum as f32);
    }

    /// The weights that give the same scores, if the kernel is [linear](StandardKernel::Linear):
    /// `w(j, σ) = sum of c(s, σ) ψ_j(s)`.
    ///
    /// # Errors
    /// [`Error::IllegalScore`] if a sum is infinite.
    pub fn collapsed(&self) -> Result<Option<NodeWeights>> {
        if self.kernel.standard() != Some(StandardKernel::Linear) {
            return Ok(None);
        }
        let mut places: Vec<(FeatureId, LabelId, f64)> = Vec::new();
        for token in 0..self.tokens.len() {
            for (feature, value) in self.tokens.vector(token).iter() {
                let of = |c: &Coefficient| (feature, c.label, f64::from(c.weight) * f64::from(value));
                places.extend(self.coefficients(token).iter().map(of));
            }
        }
        places.sort_by_key(|&(feature, label, _)| (feature, label)); // stable: added in the tokens' order
        places.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let mut weights = NodeWeightsBuilder::new(self.labels);
        let mut rest = &places[..];
        for feature in 0..self.tokens.dimension() as FeatureId {
            let (row, after) = rest.split_at(rest.partition_point(|place| place.0 == feature));
            weights.push(row.iter().map(|&(_, label, weight)| (label, weight as f32)))?;
            rest = after;
        }
        Ok(Some(weights.finish()))
    }

    pub(super) fn write<'a>(&'a self, writer: &mut ContainerWriter<'a>) {
        let [kernel, starts, features, values, coefficient_starts, coefficients] = SECTIONS;
        let arrays = self.tokens.arrays();
        writer.section(kernel, self.kernel.name().into_bytes());
        writer.section(starts, arrays.0);
        writer.section(features, arrays.1);
        writer.section(values, arrays.2);
        writer.section(coefficient_starts, &*self.starts);
        writer.section(coefficients, &*self.coefficients);
    }

    /// Tokens of so many features and labels, from a file; `kernel` is the one to use if it is not one of ours.
    pub(super) fn read(
        file: &Container,
        dimension: usize,
        labels: usize,
        kernel: Option<&Arc<dyn TokenKernel>>,
    ) -> Result<Self> {
        let [name, starts, features, values, coefficient_starts, coefficients] = SECTIONS;
        let name = file.text(name)?;
        let kernel: Arc<dyn TokenKernel> = match (name.parse::<StandardKernel>(), kernel) {
            (_, Some(kernel)) if kernel.name() == name => kernel.clone(),
            (_, Some(kernel)) => return Err(file.error(format!("the kernel `{}`", kernel.name()), name)),
            (Ok(kernel), None) => Arc::new(kernel),
            (Err(error), None) => return Err(file.error("a known kernel", error)),
        };
        let wrong = |got: &str| file.error("support tokens", got);
        let (features, values) = (file.array(features)?, file.array(values)?);
        let tokens =
            TokenVectors::from_arrays(dimension, file.array(starts)?, features, values).map_err(wrong)?;
        let (starts, coefficients) =
            (file.array::<u32>(coefficient_starts)?, file.array::<Coefficient>(coefficients)?);
        if starts.len() != tokens.len() + 1
            || starts.first() != Some(&0)
            || !rises_to(&starts, coefficients.len())
        {
            return Err(wrong("coefficients that do not follow one another"));
        }
        let of_token = |two: &[u32]| &coefficients[two[0] as usize..two[1] as usize];
        let legal = |row: &[Coefficient]| {
            row.is_sorted_by(|one, next| one.label < next.label)
                && row.iter().all(|c| (c.label as usize) < labels && c.weight.is_finite())
        };
        if !starts.windows(2).all(|two| legal(of_token(two))) {
            return Err(wrong("coefficients that are not finite, or of labels out of order or range"));
        }
        Ok(Support { kernel, labels, tokens, starts, coefficients, identity: Arc::default() })
    }
}

/// Collects support tokens.
#[derive(Debug, Clone)]
pub struct SupportBuilder {
    kernel: Arc<dyn TokenKernel>,
    labels: usize,
    tokens: TokenVectorsBuilder,
    starts: Vec<u32>,
    coefficients: Vec<Coefficient>,
}

impl SupportBuilder {
    /// Adds a token and its coefficients by rising label. Zeros are left out, and so is a token without coefficients.
    ///
    /// # Errors
    /// [`Error::LabelOutOfRange`], [`Error::IllegalScore`] for a coefficient that is not finite, [`Error::Shape`] for labels out
    /// of order; what [`TokenVectorsBuilder::push`] refuses.
    pub fn push(&mut self, token: TokenVector<'_>, coefficients: &[Coefficient]) -> Result<()> {
        if !coefficients.is_sorted_by(|one, next| one.label < next.label) {
            return Err(Error::shape("coefficients of a support token", "labels in rising order", "others"));
        }
        for c in coefficients {
            if c.label as usize >= self.labels {
                let what = "coefficients of a support token".to_owned();
                return Err(Error::LabelOutOfRange { what, label: c.label.into(), labels: self.labels });
            }
            if !c.weight.is_finite() {
                let what = format!("coefficient of label {}", c.label);
                return Err(Error::IllegalScore { what, value: c.weight.into() });
            }
        }
        let before = self.coefficients.len();
        self.coefficients.extend(coefficients.iter().filter(|c| c.weight != 0.0));
        if self.coefficients.len() == before {
            return Ok(());
        }
        let end = u32::try_from(self.coefficients.len());
        self.starts.push(end.map_err(|_| Error::shape("coefficients", "at most 2^32 - 1", "more"))?);
        self.tokens.push(&token.iter().collect::<Vec<_>>())
    }

    /// All tokens are there.
    pub fn finish(self) -> Support {
        Support {
            kernel: self.kernel,
            labels: self.labels,
            tokens: self.tokens.finish(),
            starts: self.starts.into(),
            coefficients: self.coefficients.into(),
            identity: Arc::default(),
        }
    }
}
