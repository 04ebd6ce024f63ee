//! Kernels between tokens.

use super::{TokenVector, TokenVectors};
use kbest_core::simd::exp_rows;
use kbest_core::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The offset of a polynomial kernel, unless said otherwise.
const USUAL_OFFSET: f64 = 1.0;

/// How alike two tokens are: symmetric, and positive semidefinite if a max-margin trainer is to converge.
pub trait TokenKernel: fmt::Debug + Send + Sync {
    /// A name with all parameters: what a model file remembers of it.
    fn name(&self) -> String;

    /// `k(x, x')`.
    fn value(&self, one: TokenVector<'_>, other: TokenVector<'_>) -> f64;

    /// `k(x, x')` for all `x'`, into `row`.
    fn row(&self, token: TokenVector<'_>, tokens: &TokenVectors, row: &mut Vec<f64>) {
        row.clear();
        row.extend((0..tokens.len()).map(|other| self.value(token, tokens.vector(other))));
    }

    /// Which of ours it is, if it is one: only those are found again by their name when a model is loaded.
    fn standard(&self) -> Option<StandardKernel> {
        None
    }
}

/// Kernels that come with the library; as text `linear`, `poly:DEGREE`, `poly:DEGREE:OFFSET`, `rbf:GAMMA`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StandardKernel {
    /// `<x, x'>`.
    #[default]
    Linear,
    /// `(<x, x'> + offset)^degree`: all products of up to `degree` features.
    Polynomial {
        /// At least 1.
        degree: u32,
        /// Not negative; larger means that products of few features count more.
        offset: f64,
    },
    /// `exp(-gamma |x - x'|^2)`: 1 for equal tokens, 0 far away.
    Radial {
        /// Larger than 0; larger means that only nearer tokens are alike.
        gamma: f64,
    },
}

impl TokenKernel for StandardKernel {
    fn name(&self) -> String {
        self.to_string()
    }

    fn value(&self, one: TokenVector<'_>, other: TokenVector<'_>) -> f64 {
        let mut row = [one.dot(other)];
        self.finish(one.square(), &[other.square()], &mut row);
        row[0]
    }

    fn row(&self, token: TokenVector<'_>, tokens: &TokenVectors, row: &mut Vec<f64>) {
        tokens.dots(token, row);
        self.finish(token.square(), tokens.squares(), row);
    }

    fn standard(&self) -> Option<StandardKernel> {
        Some(*self)
    }
}

impl StandardKernel {
    /// From inner products to values of the kernel.
    fn finish(self, square: f64, squares: &[f64], row: &mut [f64]) {
        match self {
            StandardKernel::Linear => {}
            StandardKernel::Polynomial { degree, offset } => {
                row.iter_mut().for_each(|dot| *dot = (*dot + offset).powi(degree as i32));
            }
            StandardKernel::Radial { gamma } => {
                for (dot, other) in row.iter_mut().zip(squares) {
                    *dot = -gamma * (square + other - 2.0 * *dot).max(0.0); // below zero only by rounding
                }
                exp_rows(row, 0.0);
            }
        }
    }

    fn is_legal(&self) -> bool {
        match *self {
            StandardKernel::Linear => true,
            StandardKernel::Polynomial { degree, offset } => {
                (1..=100).contains(&degree) && offset >= 0.0 && offset.is_finite()
            }
            StandardKernel::Radial { gamma } => gamma > 0.0 && gamma.is_finite(),
        }
    }
}

impl fmt::Display for StandardKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StandardKernel::Linear => f.write_str("linear"),
            StandardKernel::Polynomial { degree, offset } if *offset == USUAL_OFFSET => {
                write!(f, "poly:{degree}")
            }
            StandardKernel::Polynomial { degree, offset } => write!(f, "poly:{degree}:{offset}"),
            StandardKernel::Radial { gamma } => write!(f, "rbf:{gamma}"),
        }
    }
}

impl FromStr for StandardKernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let words: Vec<&str> = text.split(':').collect();
        let number = |word: &str| word.parse::<f64>().ok();
        let parsed = match words[..] {
            ["linear"] => Some(StandardKernel::Linear),
            ["poly", degree] => {
                let degree = degree.parse().ok();
                degree.map(|degree| StandardKernel::Polynomial { degree, offset: USUAL_OFFSET })
            }
            ["poly", degree, offset] => {
                let both = degree.parse().ok().zip(number(offset));
                both.map(|(degree, offset)| StandardKernel::Polynomial { degree, offset })
            }
            ["rbf", gamma] => number(gamma).map(|gamma| StandardKernel::Radial { gamma }),
            _ => None,
        };
        parsed.filter(StandardKernel::is_legal).ok_or_else(|| {
            let expected = "linear, poly:DEGREE, poly:DEGREE:OFFSET (degree 1 to 100, offset 0 or more) or \
                            rbf:GAMMA (more than 0)";
            Error::argument("kernel", expected, format!("`{text}`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for text in ["linear", "poly:2", "poly:3:0.5", "poly:1:0", "rbf:0.25", "rbf:3"] {
            let kernel: StandardKernel = text.parse().unwrap();
            assert_eq!((kernel.to_string().as_str(), kernel.name().parse()), (text, Ok(kernel)));
        }
        for text in ["", "poly", "poly:0", "poly:2:-1", "poly:2:inf", "rbf:0", "rbf:nan", "rbf:1:2", "cubic"]
        {
            assert!(text.parse::<StandardKernel>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        let mut tokens = TokenVectors::builder(4);
        tokens.push(&[(0, 1.0), (1, 2.0)]).unwrap();
        tokens.push(&[(1, 3.0), (3, -1.0)]).unwrap();
        tokens.push(&[]).unwrap();
        let tokens = tokens.finish();
        let expected = |text: &str, row: [f64; 3]| {
            let kernel: StandardKernel = text.parse().unwrap();
            let mut got = Vec::new();
            kernel.row(tokens.vector(0), &tokens, &mut got);
            for (other, (got, expected)) in got.iter().zip(row).enumerate() {
                assert!((got - expected).abs() < 1e-12, "{text}: {got} {expected}");
                let (one, other) = (tokens.vector(0), tokens.vector(other));
                assert_eq!((kernel.value(one, other), kernel.value(other, one)), (*got, *got), "{text}");
            }
        };
        expected("linear", [5.0, 6.0, 0.0]);
        expected("poly:2", [36.0, 49.0, 1.0]);
        expected("poly:3:0", [125.0, 216.0, 0.0]);
        expected("rbf:0.5", [1.0, (-1.5f64).exp(), (-2.5f64).exp()]);
    }
}
