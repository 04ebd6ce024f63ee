//! Kernels against the primal form.

use super::{Steps, table};
use crate::papers::definitions::DUAL_TASKS;
use crate::papers::results::{Cell, Finding, Measured, Outcome, Verdict};
use crate::papers::steps::IN_DUAL_FORM;
use kbest_cli::table::{grouped, percent};

pub(super) fn dual(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut same, mut cases, mut told, mut better) = (0, 0, vec![], vec![]);
    for task in DUAL_TASKS {
        let Some(Measured::Dual(dual)) = steps.get(&format!("dual-{task}")) else { continue };
        let primal = dual.rows.first();
        let row = |row: &crate::papers::results::DualRow| {
            let name = match row.kernel.as_str() {
                "linear" => "linear, as weights (primal form)".to_owned(),
                IN_DUAL_FORM => "linear, in dual form (poly:1:0)".to_owned(),
                other => other.to_owned(),
            };
            let speed = primal.map_or(f64::NAN, |primal| row.tokens_per_second / primal.tokens_per_second);
            vec![
                Cell::text(name),
                Cell::percent(row.accuracy),
                Cell::percent(row.same_as_primal),
                Cell::count(row.support_tokens),
                Cell::ours(row.training_seconds),
                Cell::ours(row.tokens_per_second),
                Cell::ratio(speed),
            ]
        };
        let header = [
            "kernel",
            "token accuracy",
            "answers as in primal form",
            "support tokens",
            "training, s",
            "tokens/s, features included",
            "speed against primal",
        ];
        let title = format!(
            "{}: {} labels, {} training and {} test sequences",
            dual.task,
            dual.labels,
            grouped(dual.train_sequences),
            grouped(dual.test_sequences)
        );
        outcome.tables.push(table(title, &header, dual.rows.iter().map(row).collect()));
        if let Some(row) = dual.rows.iter().find(|row| row.kernel == IN_DUAL_FORM) {
            cases += 1;
            same += usize::from(row.same_as_primal == 1.0);
            told.push(format!("{task}: {} of the answers are the same", percent(row.same_as_primal)));
        }
        let best = dual.rows.iter().skip(2).max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
        if let (Some(best), Some(primal)) = (best, primal) {
            better.push(format!(
                "{task}: {} with {}, {} linear",
                percent(best.accuracy),
                best.kernel,
                percent(primal.accuracy)
            ));
        }
    }
    outcome.findings.push(Finding {
        claim: "a dual model is decoded by Viterbi over a(sigma, tau) and b(sigma, x): with a linear kernel its answers \
                are those of the primal form"
            .into(),
        verdict: Verdict::of(same, cases),
        because: format!("{}. Other kernels: {}.", told.join("; "), better.join("; ")),
    });
    outcome
}
