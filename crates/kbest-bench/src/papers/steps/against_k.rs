//! Speed against the number of paths. A decoder that hits the time limit at some `k` is not tried with more.

use super::super::data::Data;
use super::super::definitions::{AGAINST_K, KS};
use super::super::results::{AgainstK, Measured};
use super::decoding::side_by_side;
use super::missing;
use kbest_cli::bench::Plan;
use kbest_cli::failure::Result;
use std::path::Path;

/// Sentences decoded for each `k`.
const SENTENCES: usize = 100;

pub(super) fn run(data: &mut Data, task: &str, out: &Path) -> Result<Measured> {
    let trained = match data.trained(task)? {
        Ok(trained) => trained,
        Err(reason) => return Ok(missing(reason)),
    };
    let mut lattices = trained.lattices()?;
    lattices.truncate(SENTENCES);
    let plan =
        Plan { repeat: data.size.rounds.min(3), limit: data.size.limit_of_k, counting: false, limits: false };
    let mut lines: Vec<(String, Vec<(usize, f64)>)> =
        AGAINST_K.iter().map(|name| ((*name).to_owned(), vec![])).collect();
    let mut stopped: Vec<(String, usize)> = vec![];
    for &k in KS.iter().take(if data.size.quick { 4 } else { KS.len() }) {
        let going = |name: &&&str| !stopped.iter().any(|(other, _)| other == *name);
        let names: Vec<&str> = AGAINST_K.iter().filter(going).copied().collect();
        let side = side_by_side(&lattices, &names, k, plan, out)?;
        for row in side.rows {
            if let Some((_, points)) = lines.iter_mut().find(|(name, _)| *name == row.decoder) {
                points.push((k, row.per_second));
            }
            if row.limited {
                stopped.push((row.decoder, k));
            }
        }
    }
    Ok(Measured::AgainstK(AgainstK {
        task: task.to_owned(),
        labels: trained.model.labels().len(),
        sequences: lattices.len(),
        lines,
        stopped,
    }))
}
