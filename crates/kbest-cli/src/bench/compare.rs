//! Comparing answers: exact decoders must agree on every sequence.

use super::measure::Contender;
use kbest::{Float, Lattice, Path};

/// How a contender's answers compare with the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Sequences with the same answer as the reference.
    pub same: usize,
    /// The first sequence with a different answer, and a description of the difference.
    pub difference: Option<(usize, String)>,
}

impl Verdict {
    /// True if all answers are the same.
    pub fn agree(&self) -> bool {
        self.difference.is_none()
    }
}

/// Compares every contender with an exact decoder asked for as many paths (for any number, if there is no other such):
/// the one that finished most sequences, textbook Viterbi in case of a tie.
pub fn compare<S: Float>(lattices: &[Lattice<'_, S>], contenders: &[Contender<S>]) -> Vec<Verdict> {
    let exact = || contenders.iter().filter(|other| other.decoder.entry().exact);
    let verdict = |contender: &Contender<S>| {
        let same_k = exact().any(|other| other.k == contender.k && !std::ptr::eq(other, contender));
        let reference = exact()
            .filter(|other| !same_k || other.k == contender.k)
            .max_by_key(|other| (other.answers.len(), other.decoder.entry().name == "viterbi", other.k));
        let mut verdict = Verdict { same: 0, difference: None };
        for (b, answer) in contender.answers.iter().enumerate() {
            // Compared with the reference as far as it got, with the judge always.
            let expected = reference.and_then(|reference| Some((reference, reference.answers.get(b)?)));
            let expected = expected.map(|(reference, paths)| Expected {
                name: &reference.name,
                paths,
                asked: reference.k.min(contender.k),
                best_only: reference.k == 1 && contender.k == 1,
            });
            match difference(&lattices[b], answer, expected) {
                None => verdict.same += 1,
                Some(difference) => verdict.difference = verdict.difference.or(Some((b, difference))),
            }
        }
        verdict
    };
    contenders.iter().map(verdict).collect()
}

/// Which exact decoders differ, where and how; none if all agree.
pub fn disagreements<S>(contenders: &[Contender<S>], verdicts: &[Verdict]) -> Option<String> {
    let differing = contenders.iter().zip(verdicts).filter(|(contender, _)| contender.decoder.entry().exact);
    let told: Vec<String> = differing
        .filter_map(|(contender, verdict)| {
            let (b, difference) = verdict.difference.as_ref()?;
            Some(format!("{} (k = {}) differs on sequence {b}: {difference}", contender.name, contender.k))
        })
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The answer of the reference.
struct Expected<'a, S> {
    name: &'a str,
    paths: &'a [Path<S>],
    /// Number of paths requested from both.
    asked: usize,
    /// Whether only the best path was requested from both, which the tie rule makes unique.
    best_only: bool,
}

/// What is wrong with an answer: its score is not that of its path, or the reference found something else. For one
/// path, score and labels must be equal; for several, the scores (equally good paths may come in any order).
fn difference<S: Float>(
    lattice: &Lattice<'_, S>,
    answer: &[Path<S>],
    expected: Option<Expected<'_, S>>,
) -> Option<String> {
    for path in answer {
        match lattice.path_score(&path.labels) {
            Ok(score) if score == path.score => {}
            Ok(score) => return Some(format!("reports score {}, but the path scores {score}", path.score)),
            Err(error) => return Some(error.to_string()),
        }
    }
    let Expected { name, paths: expected, asked, best_only } = expected?;
    if expected.is_empty() != answer.is_empty() {
        return Some(format!("found {} paths, {name} found {}", answer.len(), expected.len()));
    }
    for i in 0..asked.min(expected.len().max(answer.len())) {
        let (ours, theirs) = (answer.get(i), expected.get(i));
        if ours.map(|path| path.score) != theirs.map(|path| path.score) {
            let show = |path: Option<&Path<S>>| path.map_or("none".into(), |path| path.score.to_string());
            return Some(format!("path {i} scores {}, {name}'s {}", show(ours), show(theirs)));
        }
    }
    if best_only && expected.len() == 1 && answer[0].labels != expected[0].labels {
        return Some(format!("an equally good path, but the tie rule requires the one that {name} found"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest::Edges;

    #[test]
    fn differences_are_found() {
        let edges = Edges::dense(2, vec![0.0f32; 4]).unwrap();
        let lattice = Lattice::new(vec![1.0, 1.0, 2.0, 0.0], &edges).unwrap();
        let path = |labels: &[u32], score| Path { labels: labels.to_vec(), score };
        let best = [path(&[0, 0], 3.0)];
        let two = [path(&[0, 0], 3.0), path(&[1, 0], 3.0)];
        let differs = |answer: &[_], paths: &[_]| {
            let expected = Expected { name: "x", paths, asked: 2, best_only: paths.len() == 1 };
            difference(&lattice, answer, Some(expected)).is_some()
        };
        assert!(!differs(&best, &best) && !differs(&two, &two));
        assert!(differs(&[path(&[1, 0], 3.0)], &best), "tie rule");
        assert!(differs(&[path(&[0, 0], 3.5)], &best), "judge");
        assert!(differs(&[path(&[0, 1], 1.0)], &best), "score");
        assert!(differs(&[], &best) && differs(&best, &[]));
        assert!(differs(&[path(&[0, 0], 3.0), path(&[0, 1], 1.0)], &two));
        assert!(!differs(&[path(&[1, 0], 3.0), path(&[0, 0], 3.0)], &two), "order of equals");
    }
}
