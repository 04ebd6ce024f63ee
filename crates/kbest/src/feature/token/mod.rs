//! Tokens as vectors, and kernels between them.
//!
//! **What.** The features of a position, with their values, are a vector `ψ(x)`. A [`TokenKernel`] compares two of them:
//! `k(x, x') = <ψ(x), ψ(x')>`, or the inner product in a space that nobody has to write down ([`StandardKernel`]: linear,
//! polynomial, radial). [`TokenVectors`] are many such vectors, laid out so that one token is compared with all of them in
//! one pass.
//!
//! **Why.** A dual model scores a token by its similarity to tokens of the training data ([`crate::model::Support`]).
//!
//! **Cost.** A row of `N` inner products: for each feature of the token, one pass over the `N` values of that feature if most
//! vectors have it (real numbers), else over the vectors that have it (words). **When not.** A linear kernel is a weight
//! per feature and label: use rows of weights.
//!
//! Features that never occurred in training are unknown to an extractor and no part of a vector, its length included.
//!
//! ```
//! use kbest::feature::token::{StandardKernel, TokenKernel, TokenVectors};
//!
//! let mut tokens = TokenVectors::builder(3);
//! tokens.push(&[(0, 1.0), (2, 2.0)])?;
//! tokens.push(&[(1, 1.0)])?;
//! let tokens = tokens.finish();
//! let kernel: StandardKernel = "poly:2".parse()?;
//! let mut row = Vec::new();
//! kernel.row(tokens.vector(0), &tokens, &mut row);
//! assert_eq!(row, [36.0, 1.0]); // (5 + 1)^2 and (0 + 1)^2
//! # Ok::<(), kbest::Error>(())
//! ```

mod kernel;
mod vectors;

pub use kernel::{StandardKernel, TokenKernel};
pub use vectors::{TokenVector, TokenVectors, TokenVectorsBuilder};

use super::{FeatureBuffer, FeatureId};

/// The vector of position `t`: features by rising number, each once, none zero.
pub fn vector_of(features: &FeatureBuffer, t: usize, vector: &mut Vec<(FeatureId, f32)>) {
    vector.clear();
    let ids = features.nodes(t).iter().copied();
    match features.values(t) {
        None => vector.extend(ids.map(|id| (id, 1.0))),
        Some(values) => vector.extend(ids.zip(values.iter().map(|&value| value as f32))),
    }
    vector.sort_by_key(|&(id, _)| id); // stable: added in the order they came
    vector.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    vector.retain(|&(_, value)| value != 0.0);
}
