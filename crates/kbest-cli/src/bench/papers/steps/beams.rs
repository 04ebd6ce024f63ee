//! A beam widened, 1, 2, 4, ..., until its accuracy is within a tenth of a point of exact decoding.

use super::super::data::Data;
use super::super::prove::best;
use super::super::results::{Beams, Measured};
use super::decoding::{MATRIX, side_by_side};
use super::missing;
use crate::bench::Plan;
use crate::failure::Result;
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
    let side = side_by_side(&lattices, &names, 1, plan, MATRIX, out)?;
    let accuracy = |name: &str| {
        let contender = side.contenders.iter().find(|contender| contender.name == name);
        let answers = contender.map_or(&[][..], |contender| &contender.answers);
        // Both accuracies over the same sentences, even if the time limit stopped one.
        trained.accuracy(answers.iter().map(|answer| best(answer)))
    };
    let speed =
        |name: &str| side.rows.iter().find(|row| row.decoder == name).map_or(0.0, |row| row.per_second);
    let exact_accuracy = accuracy("auto");
    let widths: Vec<(usize, f64, f64)> =
        beams.iter().map(|(width, name)| (*width, accuracy(name), speed(name))).collect();
    let enough = widths.iter().find(|(_, accuracy, _)| (exact_accuracy - accuracy).abs() < ENOUGH);
    Ok(Measured::Beams(Beams {
        task: task.to_owned(),
        exact_accuracy,
        enough: enough.map(|(width, ..)| *width),
        widths,
        exact: EXACT.iter().map(|name| ((*name).to_owned(), speed(name))).collect(),
    }))
}
