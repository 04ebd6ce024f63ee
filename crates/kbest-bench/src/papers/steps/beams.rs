//! A beam widened, 1, 2, 4, ..., until its accuracy is within a tenth of a point of exact decoding.

use super::super::data::Data;
use super::super::prove::best;
use super::super::results::{Beams, Measured};
use super::decoding::side_by_side;
use super::missing;
use kbest_cli::bench::Plan;
use kbest_cli::failure::Result;
use std::path::Path;

/// Widths that are tried; the first that is accurate enough counts.
const WIDTHS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const EXACT: [&str; 4] = ["auto", "staggered-column", "viterbi-simd", "viterbi"];
/// A tenth of a point.
const ENOUGH: f64 = 0.001;

pub(super) fn run(data: &mut Data, task: &str, out: &Path) -> Result<Measured> {
    let trained = match data.trained(task)? {
        Ok(trained) => trained,
        Err(reason) => return Ok(missing(reason)),
    };
    let lattices = trained.lattices()?;
    let labels = trained.model.labels().len();
    let beams: Vec<(usize, String)> = WIDTHS
        .iter()
        .filter(|&&width| width < labels)
        .map(|&width| (width, format!("beam:{width}")))
        .collect();
    let names: Vec<&str> = EXACT.into_iter().chain(beams.iter().map(|(_, name)| name.as_str())).collect();
    let plan =
        Plan { repeat: data.size.rounds, limit: data.size.limit / 2.0, counting: false, limits: false };
    let side = side_by_side(&lattices, &names, 1, plan, out)?;
    let answers = |name: &str| {
        let contender = side.contenders.iter().find(|contender| contender.name == name);
        contender.map_or(&[][..], |contender| &contender.answers)
    };
    let accuracy = |name: &str, first: usize| {
        trained.accuracy(answers(name).iter().take(first).map(|answer| best(answer)))
    };
    // The time limit may have stopped either: a beam and exact decoding are compared on the sentences that both finished.
    let finished = |name: &str| answers(name).len().min(answers("auto").len());
    let speed =
        |name: &str| side.rows.iter().find(|row| row.decoder == name).map_or(0.0, |row| row.per_second);
    let widths: Vec<(usize, f64, f64)> =
        beams.iter().map(|(width, name)| (*width, accuracy(name, finished(name)), speed(name))).collect();
    let enough = widths.iter().zip(&beams).find(|((_, of_beam, _), (_, name))| {
        let first = finished(name);
        first > 0 && (accuracy("auto", first) - of_beam).abs() < ENOUGH
    });
    Ok(Measured::Beams(Beams {
        task: task.to_owned(),
        exact_accuracy: accuracy("auto", usize::MAX),
        enough: enough.map(|((width, ..), _)| *width),
        widths,
        exact: EXACT.iter().map(|name| ((*name).to_owned(), speed(name))).collect(),
    }))
}
