//! Fitting the weights of the chain: section 4 of the paper.
//!
//! ```text
//! minimise  regularisation * |w|  +  sum over j of ( |d_j| + penalty * xi_j )
//! so that   d_j = target_j - chain_w(P_j),    d_j <= delta - margin + xi_j,    xi_j >= 0
//! ```
//!
//! `|w|` is the sum of magnitudes (a linear programme, few weights that are not 0) or half the sum of squares (a quadratic one).
//! The paper has no `xi`: with few features there may be no weights that satisfy all inequalities. The penalty makes breaking one
//! dear, and the programme is never without a solution; how many are broken is reported.
//!
//! **Sparse (4.1).** A new variable for what the chain scores along `z` from each position on,
//! `G_t = chain at t + G_(t+1)`, and one for each label's tokens up to a position if all inequalities are wanted: each
//! inequality then has a handful of coefficients. (The paper has a variable for each position and sums them in each
//! inequality; sums that build on each other are sparser still.) **Path only (4.2).** Just the inequalities of best segmentations.

use super::clock::Clock;
use super::observe::Inequality;
use super::programme::{Programme, Row};
use crate::error::{Error, Result};
use crate::label::LabelId;
use std::collections::HashMap;

/// The norm that keeps weights small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Norm {
    /// The sum of their magnitudes.
    #[default]
    L1,
    /// Half the sum of their squares.
    L2,
}

impl std::str::FromStr for Norm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "l1" => Ok(Norm::L1),
            "l2" => Ok(Norm::L2),
            _ => Err(Error::UnknownName { what: "norm", name: name.into(), expected: "l1, l2".into() }),
        }
    }
}

/// How large a programme was, and what came out of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FitSize {
    /// Inequalities of segments.
    pub inequalities: usize,
    /// Weights to fit.
    pub weights: usize,
    /// Variables of the programme, weights included.
    pub variables: usize,
    /// Its rows.
    pub rows: usize,
    /// Its coefficients that are not 0.
    pub coefficients: usize,
    /// How many iterations the solver took.
    pub iterations: u32,
    /// How long, in seconds.
    pub seconds: f64,
    /// How many inequalities the solution breaks.
    pub broken: usize,
    /// The mean of `|d|`.
    pub inexactness: f64,
}

/// One weight of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Of each token with this label.
    Bias(LabelId),
    /// Of a label after another.
    Pair(LabelId, LabelId),
    /// Of a feature (its place) with a label.
    Feature(u32, LabelId),
}

/// One sequence of the data.
#[derive(Debug)]
pub(super) struct Example {
    pub tokens: Vec<Vec<u32>>, // places of features that may have weights
    pub guess: Vec<LabelId>,
    pub inequalities: Vec<Inequality>,
}

#[derive(Clone, Copy)]
pub(super) struct FitOptions<'a> {
    pub norm: Norm,
    pub regularisation: f64,
    pub penalty: f64,
    pub most: f64, // delta - margin
    pub sparse: bool,
    pub shared_labels: bool, // many inequalities of a sequence have the same label
    pub may_weigh: &'a dyn Fn(u32, LabelId) -> bool,
}

/// The weights, and how large the programme was.
pub(super) fn fit(examples: &[Example], options: &FitOptions<'_>) -> Result<(Vec<(Weight, f64)>, FitSize)> {
    let mut clock = Clock::start();
    let targets = || examples.iter().flat_map(|example| &example.inequalities).map(|one| one.target);
    let count = targets().count();
    // The solver likes numbers near 1. The programme with all targets divided by a number has the solution divided by it,
    // if squares of weights count for that much more.
    let scale = (targets().map(f64::abs).sum::<f64>() / count.max(1) as f64).max(1e-9);
    let mut builder =
        Builder { options, programme: Programme::default(), weights: HashMap::new(), order: vec![], scale };
    let mut differences = vec![];
    for example in examples {
        builder.add(example, &mut differences);
    }
    let programme = &builder.programme;
    let mut size = FitSize {
        inequalities: count,
        weights: builder.order.len(),
        variables: programme.variables(),
        rows: programme.rows(),
        coefficients: programme.coefficients(),
        ..FitSize::default()
    };
    let (values, iterations) = if count == 0 { (vec![], 0) } else { programme.solve()? };
    let most = options.most / scale;
    let differences = differences.iter().map(|&variable: &usize| values[variable]);
    size.broken = differences.clone().filter(|&d| d > most + 1e-4).count();
    size.inexactness = scale * differences.map(f64::abs).sum::<f64>() / count.max(1) as f64;
    (size.iterations, size.seconds) = (iterations, clock.seconds());
    let weights = builder.order.iter().map(|&(weight, variables)| {
        let value = match variables {
            Variables::One(variable) => values[variable],
            Variables::Difference(plus, minus) => values[plus] - values[minus],
        };
        (weight, value * scale)
    });
    Ok((weights.collect(), size))
}

/// How a weight is a variable: itself, or the difference of two that are not negative.
#[derive(Debug, Clone, Copy)]
enum Variables {
    One(usize),
    Difference(usize, usize),
}

struct Builder<'a> {
    options: &'a FitOptions<'a>,
    programme: Programme,
    weights: HashMap<Weight, Variables>,
    order: Vec<(Weight, Variables)>,
    scale: f64,
}

impl Builder<'_> {
    fn weight(&mut self, weight: Weight, times: f64, row: &mut Row) {
        let (programme, options, scale) = (&mut self.programme, self.options, self.scale);
        let order = &mut self.order;
        let variables = *self.weights.entry(weight).or_insert_with(|| {
            let made = match options.norm {
                Norm::L2 => Variables::One(programme.variable(0.0, options.regularisation * scale)),
                Norm::L1 => {
                    let mut variable = || {
                        let variable = programme.variable(options.regularisation, 0.0);
                        programme.at_most(vec![(variable, -1.0)], 0.0);
                        variable
                    };
                    Variables::Difference(variable(), variable())
                }
            };
            order.push((weight, made));
            made
        });
        match variables {
            Variables::One(variable) => row.push((variable, times)),
            Variables::Difference(plus, minus) => row.extend([(plus, times), (minus, -times)]),
        }
    }

    /// What a token with a label adds to the chain.
    fn token(&mut self, features: &[u32], y: LabelId, row: &mut Row) {
        self.weight(Weight::Bias(y), 1.0, row);
        for &feature in features.iter().filter(|&&feature| (self.options.may_weigh)(feature, y)) {
            self.weight(Weight::Feature(feature, y), 1.0, row);
        }
    }

    fn add(&mut self, example: &Example, differences: &mut Vec<usize>) {
        let Example { tokens, guess, inequalities } = example;
        let positions = tokens.len();
        // 4.1: G_t, what the chain scores along the guess from `t` on (the pair into `t` not counted).
        let mut along = vec![None; positions + 1];
        if self.options.sparse {
            for t in (0..positions).rev() {
                let variable = self.programme.variable(0.0, 0.0);
                let mut row = vec![];
                self.token(&tokens[t], guess[t], &mut row);
                if t + 1 < positions {
                    self.weight(Weight::Pair(guess[t], guess[t + 1]), 1.0, &mut row);
                }
                row.extend(along[t + 1].map(|next| (next, 1.0)));
                row.push((variable, -1.0));
                self.programme.equal(row, 0.0);
                along[t] = Some(variable);
            }
        }
        // The same for each label's tokens up to a position, if many inequalities share them.
        let mut up_to: HashMap<LabelId, Vec<usize>> = HashMap::new();
        for &Inequality { segment, target, .. } in inequalities {
            let (s, r, y) = (segment.start, segment.end, segment.label);
            let mut row = vec![];
            if self.options.sparse && self.options.shared_labels {
                let sums = match up_to.remove(&y) {
                    Some(sums) => sums,
                    None => self.label_sums(tokens, y),
                };
                row.extend([(sums[r], 1.0), (sums[s], -1.0)]);
                up_to.insert(y, sums);
            } else {
                tokens[s..r].iter().for_each(|features| self.token(features, y, &mut row));
            }
            if r - s > 1 {
                self.weight(Weight::Pair(y, y), (r - s - 1) as f64, &mut row);
            }
            if r < positions {
                self.weight(Weight::Pair(y, guess[r]), 1.0, &mut row);
                match along[r] {
                    Some(variable) => row.push((variable, 1.0)),
                    None => {
                        for t in r..positions {
                            self.token(&tokens[t], guess[t], &mut row);
                            if t + 1 < positions {
                                self.weight(Weight::Pair(guess[t], guess[t + 1]), 1.0, &mut row);
                            }
                        }
                    }
                }
            }
            // d = target - chain; cost >= |d|, and >= |d| + penalty * (d - most).
            let (difference, cost) = (self.programme.variable(0.0, 0.0), self.programme.variable(1.0, 0.0));
            row.push((difference, 1.0));
            self.programme.equal(row, target / self.scale);
            let FitOptions { penalty, most, .. } = *self.options;
            self.programme.at_most(vec![(difference, 1.0), (cost, -1.0)], 0.0);
            self.programme.at_most(vec![(difference, -1.0), (cost, -1.0)], 0.0);
            let side = penalty * most / self.scale;
            self.programme.at_most(vec![(difference, penalty + 1.0), (cost, -1.0)], side);
            if most < 0.0 {
                self.programme.at_most(vec![(difference, penalty - 1.0), (cost, -1.0)], side);
            }
            differences.push(difference);
        }
    }

    /// Variables for the sums of a label's tokens before each position.
    fn label_sums(&mut self, tokens: &[Vec<u32>], y: LabelId) -> Vec<usize> {
        let mut sums = vec![self.programme.variable(0.0, 0.0)];
        self.programme.equal(vec![(sums[0], 1.0)], 0.0);
        for features in tokens {
            let next = self.programme.variable(0.0, 0.0);
            let mut row = vec![(sums[sums.len() - 1], 1.0), (next, -1.0)];
            self.token(features, y, &mut row);
            self.programme.equal(row, 0.0);
            sums.push(next);
        }
        sums
    }
}
