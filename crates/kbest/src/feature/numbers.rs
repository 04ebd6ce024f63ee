//! Columns that are numbers.
//!
//! **What.** Every column is one feature whose value is the number in it, shifted and scaled by a rule that is part of the
//! model: `(x - mean) / (deviation * sqrt(columns))`, with mean and standard deviation of the training data. So columns
//! count alike whatever their units are, and the average token has length 1. A column that never varies counts nothing.

use crate::sequence::Sequence;
use kbest_core::{Error, Result, quoted};

/// How the numbers of each column are scaled.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    rules: Vec<Rule>, // one per column
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Rule {
    shift: f64,
    factor: f64,
}

/// All numbers are finite.
impl Eq for Numbers {}

impl Numbers {
    /// The rule for these sequences.
    ///
    /// # Errors
    /// [`Error::Shape`] for a cell that is no number, positions with fewer columns than the first, or none at all.
    pub fn fit(sequences: &[Sequence]) -> Result<Self> {
        let first = sequences.iter().find(|sequence| !sequence.is_empty());
        let columns = first.map_or(0, |sequence| sequence.width(0));
        if columns == 0 {
            return Err(Error::shape("columns of numbers", "at least 1 besides the label", 0));
        }
        let mut sums = vec![(0.0, 0.0); columns];
        let mut tokens = 0usize;
        let unscaled = Numbers { rules: vec![Rule { shift: 0.0, factor: 1.0 }; columns] };
        // Two passes: squares of numbers far from zero would swallow how they vary.
        for sequence in sequences {
            unscaled.check(sequence)?;
            for t in 0..sequence.len() {
                tokens += 1;
                unscaled.visit(sequence, t, |column, value| sums[column].0 += value);
            }
        }
        sums.iter_mut().for_each(|(mean, _)| *mean /= tokens as f64);
        for sequence in sequences {
            for t in 0..sequence.len() {
                unscaled.visit(sequence, t, |column, value| {
                    let (mean, squares) = &mut sums[column];
                    *squares += (value - *mean).powi(2);
                });
            }
        }
        let rule = |&(mean, squares): &(f64, f64)| {
            let factor = (squares * columns as f64 / tokens as f64).sqrt().recip();
            Rule { shift: mean, factor: if factor.is_finite() { factor } else { 0.0 } }
        };
        let rules = sums.iter().map(rule).collect();
        Self::checked(rules)
            .ok_or_else(|| Error::shape("columns of numbers", "finite means", "larger numbers"))
    }

    /// What [`Numbers::to_flat`] gave.
    pub(crate) fn from_flat(flat: &[f64]) -> Option<Self> {
        let (pairs, rest) = flat.as_chunks();
        let rules = pairs.iter().map(|&[shift, factor]| Rule { shift, factor }).collect();
        Self::checked(rules).filter(|_| rest.is_empty())
    }

    fn checked(rules: Vec<Rule>) -> Option<Self> {
        let legal = rules.iter().all(|rule| rule.shift.is_finite() && rule.factor.is_finite());
        (legal && !rules.is_empty()).then_some(Numbers { rules })
    }

    /// Shift and factor of each column.
    pub(crate) fn to_flat(&self) -> Vec<f64> {
        self.rules.iter().flat_map(|rule| [rule.shift, rule.factor]).collect()
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.rules.len()
    }

    /// Refuses a sequence with a cell that is not a number, as [`Numbers::fit`] would.
    ///
    /// # Errors
    /// [`Error::Shape`] with position and column.
    pub fn check_cells(sequence: &Sequence) -> Result<()> {
        (0..sequence.len()).try_for_each(|t| check_position(sequence, t, sequence.width(t)))
    }

    /// Refuses cells that are not numbers, in the columns that the rule knows.
    pub(super) fn check(&self, sequence: &Sequence) -> Result<()> {
        (0..sequence.len()).try_for_each(|t| check_position(sequence, t, self.rules.len()))
    }

    /// Visits the columns of position `t` with their scaled numbers.
    pub(super) fn visit(&self, sequence: &Sequence, t: usize, mut visit: impl FnMut(usize, f64)) {
        for (column, Rule { shift, factor }) in self.rules.iter().enumerate() {
            if let Some(number) = sequence.cell(t, column).and_then(number) {
                visit(column, (number - shift) * factor);
            }
        }
    }
}

fn check_position(sequence: &Sequence, t: usize, columns: usize) -> Result<()> {
    for column in 0..columns {
        let cell = sequence.cell(t, column);
        if cell.and_then(number).is_none() {
            let got = cell.map_or_else(|| "none".into(), quoted);
            let what = format!("column {} of position {t}", column + 1);
            return Err(Error::shape(what, "a number", got));
        }
    }
    Ok(())
}

fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_length_one_on_average() {
        let mut sequence = Sequence::new();
        for row in [["1", "1000.5", "7"], ["3", "-2e3", "7"], ["8", "0", "7"]] {
            sequence.push(row);
        }
        let numbers = Numbers::fit(&[Sequence::new(), sequence.clone()]).unwrap();
        let (mut sums, mut squares) = ([0.0; 3], 0.0);
        for t in 0..3 {
            numbers.visit(&sequence, t, |column, value| {
                sums[column] += value;
                squares += value * value;
            });
        }
        assert!(sums.iter().all(|sum| sum.abs() < 1e-12), "{sums:?}");
        assert!((squares / 3.0 - 2.0 / 3.0).abs() < 1e-12, "the third column never varies: {squares}");
        assert_eq!(Numbers::from_flat(&numbers.to_flat()), Some(numbers));
        assert_eq!(Numbers::from_flat(&[1.0]), None);
        assert_eq!(Numbers::from_flat(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn words_are_no_numbers() {
        let mut sequence = Sequence::new();
        sequence.push(["1", "2"]);
        sequence.push(["3", "four"]);
        let error = Numbers::fit(&[sequence]).unwrap_err().to_string();
        assert_eq!(error, "column 2 of position 1: expected a number, got \"four\"");
        assert!(Numbers::fit(&[]).is_err());
        let mut ragged = Sequence::new();
        ragged.push(["1", "2"]);
        ragged.push(["3"]);
        assert!(Numbers::fit(&[ragged]).is_err());
    }
}
