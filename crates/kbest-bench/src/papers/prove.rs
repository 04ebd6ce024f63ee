//! Answers compared while timing: exact decoders that differ fail the run, and the lattice is left for others to see.
//!
//! The file holds every score of the lattice as it was searched, edges that change with the position and segments'
//! scores computed on demand included, so `kbest decode` finds the same sums to the last bit.

use kbest::lattice::Shape;
use kbest::segment::{SegmentLattice, Segmentation};
use kbest::{Lattice, Path as KbestPath};
use kbest_cli::bench::{Contender, compare, disagreements};
use kbest_cli::failure::{Failure, Result};
use kbest_cli::generate::Npz;
use kbest_cli::output::write_file;
use std::io::Cursor;
use std::path::Path;
use zip::result::ZipResult;

/// Where the lattice of a disagreement is left, in the folder of the report.
pub(crate) const DISAGREEMENT: &str = "disagreement.npz";

/// For each contender the share of its answers that are the exact ones.
///
/// # Errors
/// [`Failure::Negative`] if exact decoders disagree; the first lattice they disagree on is then in
/// `OUT/disagreement.npz`.
pub(crate) fn prove(
    lattices: &[Lattice<'_, f32>],
    contenders: &[Contender<f32>],
    out: &Path,
) -> Result<Vec<f64>> {
    let verdicts = compare(lattices, contenders);
    let wrong = contenders.iter().zip(&verdicts).find_map(|(contender, verdict)| {
        let (b, _) = verdict.difference.as_ref().filter(|_| contender.decoder.entry().exact)?;
        Some((*b, contender))
    });
    if let (Some((b, contender)), Some(text)) = (wrong, disagreements(contenders, &verdicts)) {
        let options = format!("--decoder {} -k {}", contender.name, contender.k);
        return Err(left(&text, out, &options, |npz| add_chain(npz, &lattices[b])));
    }
    let share =
        |(contender, same): (&Contender<f32>, usize)| same as f64 / contender.answers.len().max(1) as f64;
    Ok(contenders.iter().zip(verdicts.iter().map(|verdict| verdict.same)).map(share).collect())
}

/// The failure of a decoder of segments with another answer than an exact one; its lattice is left in `out`.
pub(crate) fn differing_segments(
    lattice: &SegmentLattice<'_, f32>,
    decoder: (&str, &Segmentation<f32>),
    expected: (&str, &Segmentation<f32>),
    out: &Path,
) -> Failure {
    let told =
        |(name, answer): (&str, &Segmentation<f32>)| format!("{name} finds a score of {}", answer.score);
    let text = format!("{}, {}", told(decoder), told(expected));
    left(&text, out, &format!("--decoder {}", decoder.0), |npz| add_segments(npz, lattice))
}

type Archive = Npz<Cursor<Vec<u8>>>;

/// Writes the file, and says how to see the disagreement again.
fn left(text: &str, out: &Path, options: &str, add: impl FnOnce(&mut Archive) -> ZipResult<()>) -> Failure {
    let file = out.join(DISAGREEMENT);
    let mut npz = Npz::new(Cursor::new(Vec::new()), false);
    let written = match add(&mut npz).and_then(|()| npz.finish()) {
        Ok(bytes) => write_file(&file, &bytes.into_inner()),
        Err(error) => Err(Failure::Output(error.into())),
    };
    // The disagreement is told in any case.
    Failure::Negative(match written {
        Ok(()) => format!("{text}; to see it again: kbest decode {} {options}", file.display()),
        Err(error) => format!("{text}; the lattice could not be kept: {error}"),
    })
}

/// Node scores, edges and borders as `kbest decode` reads them; one matrix per step if they change.
fn add_chain(npz: &mut Archive, lattice: &Lattice<'_, f32>) -> ZipResult<()> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let step = |t: usize| {
        (0..labels * labels).map(move |i| lattice.edge_score(t, (i / labels) as u32, (i % labels) as u32))
    };
    npz.scores("node", &[1, positions, labels], lattice.nodes())?;
    if positions < 2 {
        npz.scores("edge", &[labels, labels], &vec![0.0f32; labels * labels])?;
    } else if matches!(lattice.edges().shape(), Shape::PerPosition(_) | Shape::Callback(_)) {
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
    Ok(())
}

/// The same of a lattice of segments without constraints, with everything that its segments score.
fn add_segments(npz: &mut Archive, lattice: &SegmentLattice<'_, f32>) -> ZipResult<()> {
    let (positions, labels, longest) = (lattice.positions(), lattice.labels(), lattice.longest());
    add_chain(npz, lattice.chain())?;
    let allowed = |length: usize, y: usize| length <= lattice.longest_of(y as u32);
    let duration: Vec<f32> = (0..longest * labels)
        .map(|i| (i / labels + 1, i % labels))
        .map(|(length, y)| match allowed(length, y) {
            true => lattice.duration(length, y as u32),
            false => f32::NEG_INFINITY,
        })
        .collect();
    npz.scores("duration", &[longest, labels], &duration)?;
    if let Some([begin, end]) = lattice.boundaries() {
        npz.scores("segment_begin", &[1, positions, labels], begin)?;
        npz.scores("segment_end", &[1, positions, labels], end)?;
    }
    if lattice.has_explicit() {
        let score = |i: usize| {
            let (start, length, y) = (i / labels / longest, i / labels % longest + 1, i % labels);
            let exists = start + length <= positions && allowed(length, y);
            if exists { lattice.explicit(start, start + length, y as u32) } else { 0.0 }
        };
        let scores: Vec<f32> = (0..positions * longest * labels).map(score).collect();
        npz.scores("segment", &[1, positions, longest, labels], &scores)?;
    }
    Ok(())
}

/// The labels of the best path of an answer.
pub(crate) fn best(answer: &[KbestPath<f32>]) -> &[u32] {
    answer.first().map_or(&[], |path| &path.labels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest::decode::{Lattices, catalogue};
    use kbest::segment;
    use kbest::{Decode, Decoder, Edges, Scratch};
    use kbest_cli::bench::{Plan, measure};
    use kbest_cli::input::{AnyBatch, Batch, Input};
    use kbest_cli::output::Progress;

    fn read(folder: &Path) -> Batch<f32> {
        let input = Input { file: Some(folder.join(DISAGREEMENT)), edges: None, dtype: None };
        match input.read().unwrap() {
            AnyBatch::Single(batch) => batch,
            AnyBatch::Double(_) => panic!("expected f32"),
        }
    }

    /// Measures Viterbi and the funnel, makes the funnel's answer wrong, and decodes the lattice that is left.
    fn disagree_on(lattice: Lattice<'_, f32>, wrong: &[u32]) {
        let folder = tempfile::tempdir().unwrap();
        let lattices = [lattice];
        let contenders = ["viterbi", "funnel"]
            .map(|name| Contender::new(name.to_owned(), Decoder::by_name(name).unwrap(), 1));
        let plan = Plan { repeat: 1, limit: 1.0, counting: false, limits: false };
        let mut progress = Progress::new(1, true);
        let mut contenders = measure(&lattices, contenders.into(), plan, &mut progress).unwrap().contenders;
        assert_eq!(prove(&lattices, &contenders, folder.path()).unwrap(), [1.0, 1.0]);
        let score = lattices[0].path_score(wrong).unwrap();
        contenders[1].answers[0][0] = KbestPath { labels: wrong.to_vec(), score };
        let failure = prove(&lattices, &contenders, folder.path()).unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.to_string().ends_with("--decoder funnel -k 1"), "{failure}");
        let batch = read(folder.path());
        let kept = &batch.lattices().unwrap()[0];
        assert_eq!(kept.path_score(wrong).unwrap(), score);
        for decoder in ["viterbi", "funnel", "auto"] {
            let answer = Decoder::by_name(decoder).unwrap().decode(kept, &mut Scratch::new()).unwrap();
            assert_eq!(answer.best(), &contenders[0].answers[0][0], "{decoder}");
        }
    }

    #[test]
    fn a_disagreement_fails_and_leaves_the_lattice() {
        let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0]).unwrap();
        let lattice = Lattice::new(vec![1.0f32, 0.0, 0.0, 0.5], &edges).unwrap();
        let borders = ([0.25f32, 0.0], [0.0f32, -0.125]);
        let lattice = lattice.with_borders(Some(&borders.0), Some(&borders.1)).unwrap();
        disagree_on(lattice, &[0, 0]);
    }

    /// Edges that change from position to position, selected from a few matrices or evaluated on demand.
    #[test]
    fn edges_that_change_are_left_step_by_step() {
        let nodes = [0.3f32, 0.2, 0.1, 0.4, 0.7, 0.1, 0.2, 0.2];
        let matrix = |by: f32| Edges::dense(2, vec![0.1 * by, -by, by, 0.7]).unwrap();
        let edges = Edges::per_position(vec![matrix(1.0), matrix(-2.0)]).unwrap();
        let wrong = [1, 1, 0, 1];
        disagree_on(Lattice::selecting(&nodes[..], &edges, vec![0, 1, 0]).unwrap(), &wrong);
        let score = |t: usize, p: usize, y: usize| (t as f32 * 1.3 + p as f32 * 0.7 - y as f32 * 0.9).sin();
        let edges = Edges::callback(2, score, |_| 1.0, 1.0).unwrap();
        disagree_on(Lattice::new(&nodes[..], &edges).unwrap(), &wrong);
        disagree_on(Lattice::new(&nodes[..2], &edges).unwrap(), &wrong[..1]);
    }

    /// Boundaries, durations, limits by label and scores on demand: every decoder finds in the file what it finds in the
    /// lattice, to the last bit.
    #[test]
    fn lattices_of_segments_are_left_whole() {
        let folder = tempfile::tempdir().unwrap();
        let noise = |n: usize, seed: f32| -> Vec<f32> {
            (0..n).map(|i| (i as f32 * 1.7 + seed).sin() * 2.3).collect()
        };
        let (labels, positions, longest) = (3, 7, 4);
        let edges = Edges::dense(labels, noise(9, 0.1)).unwrap();
        let (start, end) = (noise(3, 0.2), noise(3, 0.3));
        let chain = Lattice::new(noise(positions * labels, 0.4), &edges).unwrap();
        let chain = chain.with_borders(Some(&start), Some(&end)).unwrap();
        let score = |s: usize, r: usize, y: u32| (s as f32 * 0.9 - r as f32 * 1.1 + y as f32).cos();
        let lattice = SegmentLattice::new(chain)
            .with_boundaries(noise(positions * labels, 0.5), noise(positions * labels, 0.6))
            .and_then(|lattice| lattice.with_durations(noise(longest * labels, 0.7)))
            .and_then(|lattice| lattice.with_longest_by_label(vec![4, 2, 3]))
            .and_then(|lattice| lattice.with_score_function(vec![1.0; longest * labels], 1.0, score))
            .unwrap();
        let mut scratch = segment::Scratch::default();
        let exact: Decoder = "semi-viterbi".parse().unwrap();
        let answers = exact.decode_segments(&lattice, 2, &mut scratch).unwrap().paths;
        let failure = differing_segments(
            &lattice,
            ("semi-funnel", &answers[1]),
            ("semi-viterbi", &answers[0]),
            folder.path(),
        );
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.to_string().ends_with("--decoder semi-funnel"), "{failure}");
        let batch = read(folder.path());
        let kept = &batch.segment_lattices().unwrap()[0];
        for entry in catalogue(Lattices::Segments) {
            let decoder: Decoder = entry.name.parse().unwrap();
            let found = decoder.decode_segments(kept, 1, &mut scratch).unwrap().paths;
            assert_eq!(found[..], answers[..1], "{}", entry.name);
        }
    }
}
