//! Linear and quadratic programmes, and the solver.
//!
//! ```text
//! minimise  sum of (quadratic / 2) x^2 + linear x    so that  equalities: row x = side,  inequalities: row x <= side
//! ```
//!
//! Clarabel solves them: an interior-point method in Rust. Record 0017 has the comparison with HiGHS.

use crate::error::{Error, Result};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus, ZeroConeT,
};

/// Coefficients of variables.
pub(super) type Row = Vec<(usize, f64)>;

#[derive(Debug, Default)]
pub(super) struct Programme {
    quadratic: Vec<f64>,
    linear: Vec<f64>,
    equalities: Vec<(Row, f64)>,
    inequalities: Vec<(Row, f64)>,
}

impl Programme {
    /// A variable with these coefficients in the objective.
    pub(super) fn variable(&mut self, linear: f64, quadratic: f64) -> usize {
        self.linear.push(linear);
        self.quadratic.push(quadratic);
        self.linear.len() - 1
    }

    pub(super) fn equal(&mut self, row: Row, side: f64) {
        self.equalities.push((row, side));
    }

    pub(super) fn at_most(&mut self, row: Row, side: f64) {
        self.inequalities.push((row, side));
    }

    pub(super) fn variables(&self) -> usize {
        self.linear.len()
    }

    pub(super) fn rows(&self) -> usize {
        self.equalities.len() + self.inequalities.len()
    }

    pub(super) fn coefficients(&self) -> usize {
        self.equalities.iter().chain(&self.inequalities).map(|(row, _)| row.len()).sum()
    }

    /// The best values of the variables, and how many iterations they took.
    ///
    /// # Errors
    /// [`Error::Argument`] if the solver finds none.
    pub(super) fn solve(&self) -> Result<(Vec<f64>, u32)> {
        let rows: Vec<&(Row, f64)> = self.equalities.iter().chain(&self.inequalities).collect();
        let sides: Vec<f64> = rows.iter().map(|(_, side)| *side).collect();
        let matrix = by_columns(&rows, self.variables());
        let diagonal = self.quadratic.iter().enumerate().map(|(i, &q)| (vec![(i, q)], 0.0));
        let diagonal: Vec<(Row, f64)> = diagonal
            .map(|(row, side)| (row.into_iter().filter(|(_, q)| *q != 0.0).collect(), side))
            .collect();
        let quadratic = by_columns(&diagonal.iter().collect::<Vec<_>>(), self.variables());
        let cones = [ZeroConeT(self.equalities.len()), NonnegativeConeT(self.inequalities.len())];
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_iter(200)
            .tol_gap_abs(1e-6)
            .tol_gap_rel(1e-6)
            .tol_feas(1e-6)
            .build()
            .map_err(|error| failure(&error.to_string()))?;
        let mut solver = DefaultSolver::new(&quadratic, &self.linear, &matrix, &sides, &cones, settings)
            .map_err(|error| failure(&error.to_string()))?;
        solver.solve();
        match solver.solution.status {
            SolverStatus::Solved | SolverStatus::AlmostSolved => {
                Ok((solver.solution.x.clone(), solver.solution.iterations))
            }
            status => Err(failure(&format!("{status:?}"))),
        }
    }
}

fn failure(got: &str) -> Error {
    Error::argument(
        "programme of the learned bound",
        "one that the solver can solve (try more regularisation)",
        got,
    )
}

/// The rows as a matrix by columns; coefficients of the same variable are added up.
fn by_columns(rows: &[&(Row, f64)], columns: usize) -> CscMatrix<f64> {
    let (mut at_row, mut at_column, mut values) = (vec![], vec![], vec![]);
    for (i, (row, _)) in rows.iter().enumerate() {
        for &(column, value) in row {
            at_row.push(i);
            at_column.push(column);
            values.push(value);
        }
    }
    CscMatrix::new_from_triplets(rows.len(), columns, at_row, at_column, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest `x + |y|` with `x + y = 2`, `x >= 0.5`: `x = 0.5, y = 1.5` costs as much as `x = 2, y = 0`; a small
    /// quadratic term on `y` decides.
    #[test]
    fn programmes_are_solved() {
        let mut programme = Programme::default();
        let (x, y) = (programme.variable(1.0, 0.0), programme.variable(0.0, 0.0));
        let size = programme.variable(1.1, 0.0);
        programme.equal(vec![(x, 1.0), (y, 0.5), (y, 0.5)], 2.0);
        programme.at_most(vec![(x, -1.0)], -0.5);
        programme.at_most(vec![(y, 1.0), (size, -1.0)], 0.0);
        programme.at_most(vec![(y, -1.0), (size, -1.0)], 0.0);
        let (values, _) = programme.solve().unwrap();
        assert!((values[x] - 2.0).abs() < 1e-4 && values[y].abs() < 1e-4, "{values:?}");
        let mut quadratic = Programme::default();
        let x = quadratic.variable(-2.0, 1.0);
        quadratic.at_most(vec![(x, 1.0)], 10.0);
        assert!((quadratic.solve().unwrap().0[x] - 2.0).abs() < 1e-4);
        quadratic.at_most(vec![(x, -1.0)], -11.0);
        assert!(quadratic.solve().is_err(), "10 is less than 11");
    }
}
