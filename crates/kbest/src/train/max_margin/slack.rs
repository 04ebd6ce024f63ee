//! The labelling that violates most when slack is rescaled: `argmax over ȳ of Δ(ȳ) (1 + f(ȳ) - f(y))`.
//!
//! The product does not add up along a path, so no ordinary lattice has it. But for a fixed number of errors it only grows
//! with `f`: the best path for each number `h` of errors, by Viterbi over pairs of label and errors so far, and the best of
//! those. Exact, `T^2 L^2`.

use kbest_core::LabelId;
use kbest_core::Result;
use kbest_core::lattice::Lattice;

const NONE: f64 = f64::NEG_INFINITY;

/// The right labels themselves if nothing violates.
pub(super) fn most_violating(lattice: &Lattice<'_, f32>, gold: &[LabelId]) -> Result<Vec<LabelId>> {
    let (positions, labels) = (gold.len(), lattice.labels());
    let errors = positions + 1;
    let edge = edge_scores(lattice)?;
    let mut best = vec![NONE; errors * labels]; // by errors, then label
    let mut before = vec![0u32; positions * errors * labels];
    for y in 0..labels {
        let wrong = usize::from(y as LabelId != gold[0]);
        best[wrong * labels + y] = f64::from(lattice.first_score(y));
    }
    for t in 1..positions {
        let mut next = vec![NONE; errors * labels];
        for h in 0..=t {
            for y in 0..labels {
                let wrong = usize::from(y as LabelId != gold[t]);
                let (from, to) = (&best[h * labels..][..labels], (h + wrong) * labels + y);
                let (mut top, mut top_p) = (NONE, 0);
                for (p, (&score, &edge)) in from.iter().zip(&edge[y * labels..]).enumerate() {
                    if score + edge > top {
                        (top, top_p) = (score + edge, p as u32);
                    }
                }
                if top > NONE {
                    next[to] = top + f64::from(lattice.node_row(t)[y]);
                    before[t * errors * labels + to] = top_p;
                }
            }
        }
        best = next;
    }
    let right = best[gold[positions - 1] as usize]; // no errors: the right labels
    let (mut most, mut end) = (0.0, None);
    for h in 1..errors {
        for y in 0..labels {
            let violation = h as f64 * (1.0 + best[h * labels + y] - right);
            if violation > most {
                (most, end) = (violation, Some((h, y)));
            }
        }
    }
    let Some((mut h, mut y)) = end else { return Ok(gold.to_vec()) };
    let mut path = vec![y as LabelId; positions];
    for t in (1..positions).rev() {
        let p = before[(t * errors + h) * labels + y] as usize;
        h -= usize::from(y as LabelId != gold[t]);
        y = p;
        path[t - 1] = y as LabelId;
    }
    Ok(path)
}

/// Edges `[to][from]`.
fn edge_scores(lattice: &Lattice<'_, f32>) -> Result<Vec<f64>> {
    let labels = lattice.labels();
    let zeros = vec![0.0f32; 2 * labels];
    let steps = Lattice::new(zeros, lattice.edges())?;
    let pairs = (0..labels * labels).map(|i| [(i % labels) as LabelId, (i / labels) as LabelId]);
    pairs.map(|pair| Ok(f64::from(steps.path_score(&pair)?))).collect()
}
