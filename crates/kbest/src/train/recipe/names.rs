//! What users choose by name.

use crate::options::named;

/// A training algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Perceptron, averaged over all intermediate weight vectors.
    #[default]
    Averaged,
    /// Perceptron, final weights.
    Perceptron,
    /// Perceptron, every intermediate weight vector votes.
    Voted,
    /// Passive-aggressive, averaged.
    Pa,
    /// Conditional random field.
    Crf,
    /// Kernels between tokens.
    Dual,
    /// Perceptron on segments, averaged.
    Semi,
    /// Conditional random field on segments.
    SemiCrf,
    /// Hidden Markov model, by counting.
    Hmm,
    /// Hidden Markov model of unlabelled data.
    BaumWelch,
}

named! { Algorithm, "algorithm":
    "averaged" => Averaged,
    "perceptron" => Perceptron,
    "voted" => Voted,
    "pa" => Pa,
    "crf" => Crf,
    "dual" => Dual,
    "semi" => Semi,
    "semi-crf" => SemiCrf,
    "hmm" => Hmm,
    "baum-welch" => BaumWelch,
}

impl Algorithm {
    /// Whether it trains on unlabelled data.
    pub fn is_unsupervised(self) -> bool {
        self == Algorithm::BaumWelch
    }

    /// Whether it trains models of segments.
    pub fn is_of_segments(self) -> bool {
        matches!(self, Algorithm::Semi | Algorithm::SemiCrf)
    }

    /// Whether it fits probabilities.
    pub(super) fn is_crf(self) -> bool {
        matches!(self, Algorithm::Crf | Algorithm::SemiCrf)
    }
}

/// What the training of a dual model minimizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loss {
    /// Errors, one by one.
    #[default]
    Perceptron,
    /// How far margins are missed that grow with the number of errors.
    Margin,
    /// How far margins of 1 are missed, at a price that grows with the number of errors.
    Slack,
}

named! { Loss, "loss": "perceptron" => Perceptron, "margin" => Margin, "slack" => Slack }
