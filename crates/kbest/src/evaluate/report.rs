//! An evaluation as text.

use super::{Evaluation, Hits, Row};
use kbest_core::escaped;
use std::fmt;

/// Created by [`Evaluation::report`]; print it with `{}`.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    evaluation: &'a Evaluation,
    labels: usize,
    confusions: usize,
}

impl<'a> Report<'a> {
    pub(super) fn new(evaluation: &'a Evaluation, labels: usize, confusions: usize) -> Self {
        Report { evaluation, labels, confusions }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let evaluation = self.evaluation;
        hits(f, "tokens", evaluation.tokens())?;
        if let Some(unknown) = evaluation.unknown() {
            hits(f, "unknown", unknown)?;
        }
        hits(f, "sequences", evaluation.sequences())?;
        if let Some(table) = evaluation.spans() {
            let mut rows = table.rows;
            rows.push(Row { name: "all spans", tally: table.all });
            tallies(f, "span", &rows)?;
        }
        let mut rows = evaluation.labels();
        let left_off = rows.len().saturating_sub(self.labels);
        rows.truncate(self.labels);
        if !rows.is_empty() {
            tallies(f, "label", &rows)?;
            if left_off > 0 {
                writeln!(f, "({left_off} more)")?;
            }
        }
        let confusions = evaluation.confusions(self.confusions);
        if !confusions.is_empty() {
            writeln!(f, "\n{:>8}  gold -> predicted", "count")?;
        }
        for confusion in confusions {
            let (gold, predicted) = (escaped(confusion.gold), escaped(confusion.predicted));
            writeln!(f, "{:>8}  {gold} -> {predicted}", confusion.count)?;
        }
        Ok(())
    }
}

fn hits(f: &mut fmt::Formatter<'_>, what: &str, hits: Hits) -> fmt::Result {
    writeln!(f, "{what:<9} {:>6.2} %  ({} of {})", 100.0 * hits.share(), hits.right, hits.all)
}

fn tallies(f: &mut fmt::Formatter<'_>, what: &str, rows: &[Row<'_>]) -> fmt::Result {
    const WIDEST: usize = 60; // columns are aligned for names up to this length
    let shown = |name: &str| if name.is_empty() { "_".to_owned() } else { escaped(name).into_owned() };
    let widths = rows.iter().map(|row| row.name.chars().count());
    let width = widths.chain([what.len()]).max().unwrap_or(0).min(WIDEST);
    writeln!(f, "\n{what:<width$}  precision  recall      F1      gold  predicted")?;
    for Row { name, tally } in rows {
        let [precision, recall, f1] = [tally.precision(), tally.recall(), tally.f1()].map(|x| 100.0 * x);
        writeln!(
            f,
            "{:<width$}  {precision:>9.2} {recall:>7.2} {f1:>7.2} {:>9}  {:>9}",
            shown(name),
            tally.gold,
            tally.predicted
        )?;
    }
    Ok(())
}
