//! Minimising a smooth function, with or without an L1 term: L-BFGS and OWL-QN.
//!
//! **What.** The gradients of the last few iterations approximate the curvature (the *two-loop recursion*), so that a
//! step costs a handful of passes over the variables and one evaluation of the function, seldom more. With `l1 > 0` the
//! term `l1 * sum |x|` is added to the function: each step then stays in one orthant, where that term is smooth too,
//! and variables that would cross zero become zero. **Cost.** `2 * MEMORY + 5` vectors as long as `x`.
//!
//! ```text
//! direction  d = -H g, where H is built from s_i = x_(i+1) - x_i and y_i = g_(i+1) - g_i
//! step       the first a of 1, ... with f(x + a d) <= f + 1e-4 a g.d  and  g(x + a d).d >= 0.9 g.d
//! ```
//!
//! The step is found by bisecting the interval between one that was too long and one that was too short, doubling while
//! there is no upper end; it always exists for a smooth function that is bounded below. With an L1 term only the first
//! condition is required, for steps projected onto the orthant.
//!
//! **Papers.** Nocedal & Wright, *Numerical Optimization* (2006), algorithms 7.4 and 7.5; Lewis & Overton, *Nonsmooth
//! optimization via quasi-Newton methods* (2013), section 4, for the search; Andrew & Gao, *Scalable training of
//! L1-regularized log-linear models*, ICML 2007, for OWL-QN.

use crate::state::{StateReader, StateWriter};
use kbest_core::Result;
use std::collections::VecDeque;

/// Number of remembered steps (as in CRFsuite).
const MEMORY: usize = 6;
/// The fraction of the predicted decrease that a step must achieve.
const DECREASE: f64 = 1e-4;
/// The fraction of the slope that may be left after a step.
const CURVATURE: f64 = 0.9;
/// Evaluations per search (as in libLBFGS).
const LONGEST_SEARCH: usize = 20;

/// A minimisation in progress.
#[derive(Debug)]
pub(in crate::train) struct Lbfgs {
    l1: f64,
    x: Vec<f64>,
    gradient: Vec<f64>, // of the smooth part
    value: f64,         // including the L1 term
    steps: VecDeque<Step>,
    direction: Vec<f64>,
    trial: Vec<f64>,          // x after a step that is being tried
    trial_gradient: Vec<f64>, // and the gradient there
    started: bool,
}

/// The information on the curvature from one iteration.
#[derive(Debug)]
struct Step {
    s: Vec<f64>, // change of x
    y: Vec<f64>, // change of the gradient
    rho: f64,    // 1 / (s . y)
}

/// The result of an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::train) struct Iteration {
    /// The current value of the function, including the L1 term.
    pub(in crate::train) value: f64,
    /// Norm of the gradient divided by the norm of `x`, or by 1 if that is less than 1.
    pub(in crate::train) gradient_ratio: f64,
    /// False if no step decreased the function.
    pub(in crate::train) moved: bool,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums, so that additions do not wait for each other.
    let mut sums = [0.0; 4];
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a.iter().zip(b) {
        (0..4).for_each(|i| sums[i] += a[i] * b[i]);
    }
    sums.iter().sum::<f64>() + rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum::<f64>()
}

fn add_scaled(to: &mut [f64], scale: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += scale * from);
}

impl Lbfgs {
    pub(in crate::train) fn new(x: Vec<f64>, l1: f64) -> Self {
        let zeros = vec![0.0; x.len()];
        Lbfgs {
            l1,
            gradient: zeros.clone(),
            value: 0.0,
            steps: VecDeque::new(),
            direction: zeros.clone(),
            trial: zeros.clone(),
            trial_gradient: zeros,
            x,
            started: false,
        }
    }

    /// The best point so far.
    pub(in crate::train) fn x(&self) -> &[f64] {
        &self.x
    }

    /// Writes everything the next iteration depends on.
    pub(in crate::train) fn save(&self, state: &mut StateWriter) {
        state.number(u64::from(self.started));
        state.number(self.value);
        state.number(self.steps.len() as u64);
        for step in &self.steps {
            state.number(step.rho);
            state.list(step.s.iter().copied());
            state.list(step.y.iter().copied());
        }
        state.list(self.x.iter().copied());
        state.list(self.gradient.iter().copied());
    }

    /// Reads what [`Lbfgs::save`] wrote.
    pub(in crate::train) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.started = state.number::<u64>()? != 0;
        self.value = state.number()?;
        self.steps.clear();
        for _ in 0..state.number::<u64>()? {
            let mut step = Step { rho: state.number()?, s: self.x.clone(), y: self.x.clone() };
            state.list_into(&mut step.s)?;
            state.list_into(&mut step.y)?;
            self.steps.push_back(step);
        }
        state.list_into(&mut self.x)?;
        state.list_into(&mut self.gradient)
    }

    /// One iteration. `function` returns the smooth part at a point and writes its gradient there.
    pub(in crate::train) fn iterate(
        &mut self,
        function: &mut impl FnMut(&[f64], &mut [f64]) -> Result<f64>,
    ) -> Result<Iteration> {
        if !self.started {
            self.value = function(&self.x, &mut self.gradient)? + self.l1_term(&self.x);
            self.started = true;
        }
        let mut slope = self.pseudo_gradient();
        self.choose_direction(&slope);
        let mut moved = self.search(&slope, function)?;
        if !moved && !self.steps.is_empty() {
            // The remembered steps may mislead where the function bends: try steepest descent before giving up.
            self.steps.clear();
            self.choose_direction(&slope);
            moved = self.search(&slope, function)?;
        }
        if moved {
            self.remember();
            slope = self.pseudo_gradient();
        }
        let gradient_ratio = (dot(&slope, &slope) / dot(&self.x, &self.x).max(1.0)).sqrt();
        Ok(Iteration { value: self.value, gradient_ratio, moved })
    }

    fn l1_term(&self, x: &[f64]) -> f64 {
        if self.l1 > 0.0 { self.l1 * x.iter().map(|x| x.abs()).sum::<f64>() } else { 0.0 }
    }

    /// The gradient, or with an L1 term the subgradient closest to zero (Andrew & Gao, equation 4).
    fn pseudo_gradient(&self) -> Vec<f64> {
        if self.l1 == 0.0 {
            return self.gradient.clone();
        }
        let l1 = self.l1;
        let one = |(&x, &g): (&f64, &f64)| match x {
            x if x > 0.0 => g + l1,
            x if x < 0.0 => g - l1,
            _ if g + l1 < 0.0 => g + l1,
            _ if g - l1 > 0.0 => g - l1,
            _ => 0.0,
        };
        self.x.iter().zip(&self.gradient).map(one).collect()
    }

    /// Two loops over the remembered steps; the result goes downhill.
    fn choose_direction(&mut self, slope: &[f64]) {
        let d = &mut self.direction;
        d.iter_mut().zip(slope).for_each(|(d, slope)| *d = -slope);
        let mut alphas = [0.0; MEMORY];
        for (step, alpha) in self.steps.iter().zip(&mut alphas).rev() {
            *alpha = step.rho * dot(&step.s, d);
            add_scaled(d, -*alpha, &step.y);
        }
        if let Some(last) = self.steps.back() {
            let scale = 1.0 / (last.rho * dot(&last.y, &last.y));
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for (step, alpha) in self.steps.iter().zip(&alphas) {
            let beta = step.rho * dot(&step.y, d);
            add_scaled(d, alpha - beta, &step.s);
        }
        if self.l1 > 0.0 {
            // Only directions in which the slope itself points (Andrew & Gao, section 3.2).
            d.iter_mut().zip(slope).filter(|(d, slope)| **d * **slope >= 0.0).for_each(|(d, _)| *d = 0.0);
        }
    }

    /// Searches for a step along the direction; on success `trial` and `trial_gradient` have been swapped with `x` and
    /// `gradient`.
    fn search(
        &mut self,
        slope: &[f64],
        function: &mut impl FnMut(&[f64], &mut [f64]) -> Result<f64>,
    ) -> Result<bool> {
        let along = dot(slope, &self.direction);
        if along.is_nan() || along >= 0.0 {
            return Ok(false);
        }
        // At first nothing is known about the curvature: a step of length 1.
        let mut step = if self.steps.is_empty() { 1.0 / dot(slope, slope).sqrt() } else { 1.0 };
        let (mut too_short, mut too_long) = (0.0, f64::INFINITY);
        for _ in 0..LONGEST_SEARCH {
            let value = self.evaluate(step, slope, function)?;
            let promised = if self.l1 > 0.0 { self.projected_decrease(slope) } else { step * along };
            if value.is_nan() || value > self.value + DECREASE * promised {
                too_long = step;
            } else if self.l1 == 0.0 && dot(&self.trial_gradient, &self.direction) < CURVATURE * along {
                too_short = step;
            } else {
                self.accept(value);
                return Ok(true);
            }
            step = if too_long == f64::INFINITY { 2.0 * step } else { (too_short + too_long) / 2.0 };
        }
        if too_short > 0.0 {
            // Shorter than it could be, but the function decreases.
            let value = self.evaluate(too_short, slope, function)?;
            self.accept(value);
        }
        Ok(too_short > 0.0)
    }

    /// The function after a step.
    fn evaluate(
        &mut self,
        step: f64,
        slope: &[f64],
        function: &mut impl FnMut(&[f64], &mut [f64]) -> Result<f64>,
    ) -> Result<f64> {
        self.take(step, slope);
        Ok(function(&self.trial, &mut self.trial_gradient)? + self.l1_term(&self.trial))
    }

    fn accept(&mut self, value: f64) {
        self.value = value;
        std::mem::swap(&mut self.x, &mut self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
    }

    /// `trial = x + step * direction`, in the orthant of `x` if there is an L1 term.
    fn take(&mut self, step: f64, slope: &[f64]) {
        let points = self.x.iter().zip(&self.direction).map(|(x, d)| x + step * d);
        self.trial.iter_mut().zip(points).for_each(|(trial, point)| *trial = point);
        if self.l1 == 0.0 {
            return;
        }
        for ((trial, &x), &slope) in self.trial.iter_mut().zip(&self.x).zip(slope) {
            let orthant = if x == 0.0 { -slope } else { x };
            if *trial * orthant <= 0.0 {
                *trial = 0.0;
            }
        }
    }

    fn projected_decrease(&self, slope: &[f64]) -> f64 {
        let moves = self.trial.iter().zip(&self.x).map(|(trial, x)| trial - x);
        moves.zip(slope).map(|(moved, slope)| moved * slope).sum()
    }

    /// Keeps the last step, unless it carries no information on the curvature.
    fn remember(&mut self) {
        let mut step = match self.steps.len() {
            MEMORY => self.steps.pop_front(),
            _ => None,
        }
        .unwrap_or_else(|| Step { s: Vec::new(), y: Vec::new(), rho: 0.0 });
        let difference = |out: &mut Vec<f64>, now: &[f64], before: &[f64]| {
            out.clear();
            out.extend(now.iter().zip(before).map(|(now, before)| now - before));
        };
        difference(&mut step.s, &self.x, &self.trial);
        difference(&mut step.y, &self.gradient, &self.trial_gradient);
        let curvature = dot(&step.s, &step.y);
        if curvature > f64::EPSILON * dot(&step.y, &step.y) {
            step.rho = 1.0 / curvature;
            self.steps.push_back(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterates until the gradient is small; returns the point and the number of evaluations.
    fn minimise(
        start: &[f64],
        l1: f64,
        mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
    ) -> (Vec<f64>, usize) {
        let mut lbfgs = Lbfgs::new(start.to_vec(), l1);
        let (mut evaluations, mut last) = (0, f64::INFINITY);
        for _ in 0..500 {
            let mut counted = |x: &[f64], gradient: &mut [f64]| {
                evaluations += 1;
                Ok(function(x, gradient))
            };
            let now = lbfgs.iterate(&mut counted).unwrap();
            assert!(now.value <= last, "{} after {last}", now.value);
            last = now.value;
            if now.gradient_ratio < 1e-9 || !now.moved {
                break;
            }
        }
        (lbfgs.x().to_vec(), evaluations)
    }

    #[test]
    fn finds_the_valley_of_rosenbrock() {
        let rosenbrock = |x: &[f64], gradient: &mut [f64]| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            gradient.copy_from_slice(&[-2.0 * a - 400.0 * x[0] * b, 200.0 * b]);
            a * a + 100.0 * b * b
        };
        for start in [[-1.2, 1.0], [10.0, -10.0], [0.0, 0.0]] {
            let (x, evaluations) = minimise(&start, 0.0, rosenbrock);
            assert!((x[0] - 1.0).abs() < 1e-7 && (x[1] - 1.0).abs() < 1e-7, "{x:?} from {start:?}");
            assert!(evaluations < 200, "{evaluations}");
        }
    }

    /// `sum c_i (x_i - m_i)^2 / 2`, with condition number 10^4.
    fn quadratic(n: usize) -> impl Fn(&[f64], &mut [f64]) -> f64 {
        move |x: &[f64], gradient: &mut [f64]| {
            let mut value = 0.0;
            for i in 0..n {
                let c = 10f64.powf(4.0 * i as f64 / (n - 1) as f64);
                let off = x[i] - (i as f64 - 3.0) / 4.0;
                gradient[i] = c * off;
                value += c * off * off / 2.0;
            }
            value
        }
    }

    #[test]
    fn solves_a_quadratic() {
        let (x, evaluations) = minimise(&[0.0; 9], 0.0, quadratic(9));
        for (i, x) in x.iter().enumerate() {
            assert!((x - (i as f64 - 3.0) / 4.0).abs() < 1e-6, "{i}: {x}");
        }
        assert!(evaluations < 700, "{evaluations}"); // about as many as other programs need
    }

    /// The lasso of a separable quadratic has a closed form: each minimum is moved towards zero by `l1 / c`.
    #[test]
    fn owl_qn_solves_a_lasso_with_exact_zeros() {
        for l1 in [0.1, 0.8, 100.0] {
            let (x, _) = minimise(&[0.5; 9], l1, quadratic(9));
            for (i, x) in x.iter().enumerate() {
                let (minimum, c) = ((i as f64 - 3.0) / 4.0, 10f64.powf(4.0 * i as f64 / 8.0));
                let expected = minimum.signum() * (minimum.abs() - l1 / c).max(0.0);
                assert!((x - expected).abs() < 1e-6, "l1 {l1}, {i}: {x}, not {expected}");
                assert_eq!(*x == 0.0, expected == 0.0, "l1 {l1}, {i}: {x}");
            }
        }
    }

    /// Variables that depend on each other: at the minimum the subgradient contains zero.
    #[test]
    fn owl_qn_reaches_the_optimum_of_a_correlated_lasso() {
        const N: usize = 6;
        let matrix = |i: usize, j: usize| if i == j { 2.0 } else { 1.0 / (1.0 + i.abs_diff(j) as f64) };
        let target = [3.0, -0.2, 0.1, -4.0, 0.3, 1.0];
        let function = |x: &[f64], gradient: &mut [f64]| {
            let mut value = 0.0;
            for i in 0..N {
                gradient[i] = (0..N).map(|j| matrix(i, j) * x[j]).sum::<f64>() - target[i];
                value += x[i] * (gradient[i] - target[i]) / 2.0;
            }
            value
        };
        let (x, _) = minimise(&[0.0; N], 0.5, function);
        let mut gradient = [0.0; N];
        function(&x, &mut gradient);
        assert!(x.contains(&0.0) && x.iter().any(|&x| x != 0.0), "{x:?}");
        for (x, g) in x.iter().zip(gradient) {
            let off = if *x == 0.0 { (g.abs() - 0.5).max(0.0) } else { g + 0.5 * x.signum() };
            assert!(off.abs() < 1e-6, "{x}: {g}");
        }
    }

    #[test]
    fn stays_where_nothing_is_better() {
        let (x, evaluations) = minimise(&[0.0; 3], 0.0, |_, gradient| {
            gradient.fill(0.0);
            7.0
        });
        assert_eq!((x, evaluations), (vec![0.0; 3], 1));
    }
}
