//! Speed against the number of paths.

use super::{Steps, table};
use crate::papers::definitions::{AGAINST_K, Twin};
use crate::papers::results::{AgainstK, Cell, Figure, Finding, Measured, Outcome, Verdict};
use kbest_cli::svg::{Role, Series, Texts, chart};
use kbest_cli::table::number;

pub(super) fn against_k(steps: &Steps, twin: Twin) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(Measured::AgainstK(measured)) = steps.get(&format!("against-k-{}", twin.task)) else {
        return outcome;
    };
    let mut ks: Vec<usize> =
        measured.lines.iter().flat_map(|(_, points)| points.iter().map(|(k, _)| *k)).collect();
    ks.sort_unstable();
    ks.dedup();
    let names: Vec<String> = ks.iter().map(|k| format!("k = {k}")).collect();
    let mut header = vec!["decoder"];
    header.extend(names.iter().map(String::as_str));
    let row = |(name, points): &(String, Vec<(usize, f64)>)| {
        let mut cells = vec![Cell::text(name)];
        cells.extend(ks.iter().map(|k| Cell::ours(speed(points, *k))));
        cells
    };
    let title = format!(
        "{}: {} labels, {} sentences, sentences per second; stands for {}",
        measured.task, measured.labels, measured.sequences, twin.stands_for
    );
    outcome.tables.push(table(title, &header, measured.lines.iter().map(row).collect()));
    let series =
        measured.lines.iter().filter(|(_, points)| !points.is_empty()).map(|(name, points)| Series {
            name: name.clone(),
            points: points.iter().map(|&(k, speed)| (k as f64, speed)).collect(),
            role: if name == AGAINST_K[0] { Role::Highlight } else { Role::Plain },
        });
    let texts = Texts {
        title: "Speed against the number of paths",
        subtitle: &format!("{}, {} labels; both axes logarithmic", measured.task, measured.labels),
        x: "k, number of best paths",
        y: "sentences per second",
    };
    outcome.figures.push(Figure {
        name: "huang-fig4".into(),
        caption: "Sentences per second against k; a line ends where its decoder hit the time limit".into(),
        svg: chart(&texts, &series.collect::<Vec<_>>()),
    });
    outcome.findings.extend(findings(measured, &ks));
    for (name, k) in &measured.stopped {
        outcome.notes.push(format!("{name} hit the time limit at k = {k} and was not tried with more paths"));
    }
    outcome
}

fn speed(points: &[(usize, f64)], k: usize) -> f64 {
    points.iter().find(|(of, _)| *of == k).map_or(f64::NAN, |(_, speed)| *speed)
}

fn findings(measured: &AgainstK, ks: &[usize]) -> Vec<Finding> {
    let line =
        |name: &str| measured.lines.iter().find(|(of, _)| of == name).map_or(&[][..], |(_, points)| points);
    let (iterative, plain) = (line("iterative-viterbi-astar"), line("viterbi-astar"));
    let ratio = |k: usize| speed(iterative, k) / speed(plain, k);
    let known = |k: &&usize| ratio(**k).is_finite();
    let small: Vec<usize> = ks.iter().filter(known).filter(|k| **k < 30).copied().collect();
    let ahead = small.iter().filter(|k| ratio(**k) > 1.0).count();
    let told = |ks: &[usize]| {
        ks.iter().map(|k| format!("{}x at k = {k}", number(ratio(*k)))).collect::<Vec<_>>().join(", ")
    };
    let mut findings = vec![Finding {
        claim: "iterative Viterbi A* is significantly faster than Viterbi A* for k below 30".into(),
        verdict: Verdict::of(ahead, small.len()),
        because: told(&small),
    }];
    let first_and_last: Vec<usize> =
        ks.iter().filter(known).copied().filter(|k| *k == 1 || *k >= 90).collect();
    if let [first, .., last] = first_and_last[..] {
        let verdict = match ratio(last) {
            r if r < ratio(first) && (0.5..2.0).contains(&r) => Verdict::Agrees,
            r if r < ratio(first) => Verdict::Partly,
            _ => Verdict::Differs,
        };
        findings.push(Finding {
            claim: "its lead shrinks with k and is gone at about k = 90".into(),
            verdict,
            because: told(&first_and_last),
        });
    }
    findings
}
