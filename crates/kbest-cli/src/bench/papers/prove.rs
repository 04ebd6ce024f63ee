//! Answers compared while timing: exact decoders that differ fail the run, and the lattice is left for others to see.

use crate::bench::{Contender, compare, disagreements};
use crate::failure::{Failure, Result};
use crate::generate::Npz;
use crate::output::write_file;
use kbest::{Lattice, Path as KbestPath};
use std::io::Cursor;
use std::path::Path;

/// The edge score from `p` to `y` into position `t`.
pub(crate) type EdgeScore<'a> = &'a dyn Fn(&Lattice<'_, f32>, usize, usize, usize) -> f32;

/// For each contender the share of its answers that are the exact ones.
///
/// # Errors
/// [`Failure::Negative`] if exact decoders disagree; the first lattice they disagree on is then in
/// `OUT/disagreement.npz`.
pub(crate) fn prove(
    lattices: &[Lattice<'_, f32>],
    contenders: &[Contender<f32>],
    edge: EdgeScore<'_>,
    out: &Path,
) -> Result<Vec<f64>> {
    let verdicts = compare(lattices, contenders);
    let wrong = contenders.iter().zip(&verdicts).find_map(|(contender, verdict)| {
        let (b, _) = verdict.difference.as_ref().filter(|_| contender.decoder.entry().exact)?;
        Some(*b)
    });
    if let (Some(b), Some(text)) = (wrong, disagreements(contenders, &verdicts)) {
        let file = out.join("disagreement.npz");
        write_file(&file, &archive(&lattices[b], edge)?)?;
        return Err(Failure::Negative(format!("{text}; the lattice is in {}", file.display())));
    }
    let share =
        |(contender, same): (&Contender<f32>, usize)| same as f64 / contender.answers.len().max(1) as f64;
    Ok(contenders.iter().zip(verdicts.iter().map(|verdict| verdict.same)).map(share).collect())
}

/// One lattice as `kbest decode` reads it, with the edges of every step.
fn archive(lattice: &Lattice<'_, f32>, edge: EdgeScore<'_>) -> Result<Vec<u8>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let step = |t: usize| (0..labels * labels).map(move |i| edge(lattice, t, i / labels, i % labels));
    let write = || -> zip::result::ZipResult<Vec<u8>> {
        let mut npz = Npz::new(Cursor::new(Vec::new()), false);
        npz.scores("node", &[1, positions, labels], lattice.nodes())?;
        if lattice.selection().is_some() {
            let edges: Vec<f32> = (1..positions).flat_map(step).collect();
            npz.scores("edge", &[positions - 1, labels, labels], &edges)?;
        } else {
            npz.scores("edge", &[labels, labels], &step(1).collect::<Vec<f32>>())?;
        }
        for (key, border) in [("start", lattice.start()), ("end", lattice.end())] {
            if let Some(border) = border {
                npz.scores(key, &[labels], border)?;
            }
        }
        Ok(npz.finish()?.into_inner())
    };
    write().map_err(|error| Failure::Output(error.into()))
}

/// The labels of the best path of an answer.
pub(crate) fn best(answer: &[KbestPath<f32>]) -> &[u32] {
    answer.first().map_or(&[], |path| &path.labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Plan, measure};
    use crate::output::Progress;
    use kbest::lattice::EdgeScores;
    use kbest::{Decoder, Edges};

    /// An exact decoder with a wrong answer fails the run and leaves a lattice that the program reads.
    #[test]
    fn a_disagreement_fails_and_leaves_the_lattice() {
        let folder = tempfile::tempdir().unwrap();
        let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0]).unwrap();
        let lattices = [Lattice::new(vec![1.0f32, 0.0, 0.0, 0.5], &edges).unwrap()];
        let contenders = ["viterbi", "funnel"]
            .map(|name| Contender::new(name.to_owned(), Decoder::by_name(name).unwrap(), 1));
        let plan = Plan { repeat: 1, limit: 1.0, counting: false, limits: false };
        let mut progress = Progress::new(1, true);
        let mut contenders = measure(&lattices, contenders.into(), plan, &mut progress).unwrap().contenders;
        let edge: EdgeScore<'_> = &|lattice, t, p, y| lattice.edges().as_dense().unwrap().get(t, p, y);
        assert_eq!(prove(&lattices, &contenders, edge, folder.path()).unwrap(), [1.0, 1.0]);
        contenders[1].answers[0][0] = KbestPath { labels: vec![0, 0], score: 1.0 };
        let failure = prove(&lattices, &contenders, edge, folder.path()).unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        assert!(folder.path().join("disagreement.npz").exists());
    }
}
