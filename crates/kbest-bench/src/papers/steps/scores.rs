//! Node and edge scores of a CarpeDiem problem's test data under some weights.

use super::super::problems::BooleanProblem;
use kbest::lattice::OverallBound;
use kbest::{Edges, Lattice};
use kbest_cli::failure::Result;

/// Node scores, edges and selections of the test data under some weights.
pub(super) struct Scores {
    pub(super) nodes: Vec<Vec<f32>>,
    selections: Vec<Option<Vec<u32>>>,
    pub(super) matrices: Vec<Vec<f32>>,
}

impl Scores {
    pub(super) fn new(problem: &BooleanProblem, weights: &[f32]) -> Result<Self> {
        let mut nodes = vec![];
        for (observation, _) in &problem.test {
            let mut row = vec![];
            problem.features.node_scores(observation, weights, &mut row)?;
            nodes.push(row);
        }
        let selections = problem.test.iter().map(|(observation, _)| problem.selection(observation)).collect();
        Ok(Scores { nodes, selections, matrices: problem.matrices(weights) })
    }

    /// Edges with this bound.
    pub(super) fn edges(
        &self,
        problem: &BooleanProblem,
        bound: &OverallBound<'_, f32>,
    ) -> Result<Edges<f32>> {
        let dense = |matrix: &Vec<f32>| Edges::dense(problem.labels, matrix);
        let edges = match &self.matrices[..] {
            [one] => dense(one)?,
            several => Edges::per_position(several.iter().map(dense).collect::<kbest::Result<_>>()?)?,
        };
        Ok(edges.bounded_by(bound)?)
    }

    pub(super) fn lattices<'a>(&'a self, edges: &'a Edges<f32>) -> Result<Vec<Lattice<'a, f32>>> {
        let lattice = |(nodes, selection): (&'a Vec<f32>, &'a Option<Vec<u32>>)| {
            Ok(match selection {
                Some(selection) => Lattice::selecting(nodes.as_slice(), edges, selection.as_slice())?,
                None => Lattice::new(nodes.as_slice(), edges)?,
            })
        };
        self.nodes.iter().zip(&self.selections).map(lattice).collect()
    }
}

/// The paper's bound: the sum of the best weight of each set (section 5; Formula 7 where there is one set).
pub(super) fn sets<'w>(problem: &BooleanProblem, weights: &'w [f32]) -> Vec<&'w [f32]> {
    problem.sets.iter().map(|set| &weights[set.clone()]).collect()
}

/// Share of the test data's events with the right label.
pub(super) fn accuracy<'p>(problem: &BooleanProblem, answers: impl Iterator<Item = &'p [u32]>) -> f64 {
    let pairs = problem.test.iter().zip(answers).flat_map(|((_, gold), answer)| gold.iter().zip(answer));
    let (mut right, mut all) = (0usize, 0usize);
    for (gold, answer) in pairs {
        right += usize::from(gold == answer);
        all += 1;
    }
    right as f64 / all.max(1) as f64
}
