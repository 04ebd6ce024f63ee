//! Models of segments and learned bounds.

use super::{Steps, table};
use crate::papers::definitions::SEGMENT_TASKS;
use crate::papers::render::{Plot, PlotLine, plot};
use crate::papers::results::{Cell, Figure, Finding, Measured, Outcome, SegmentRow, SegmentTask, Verdict};
use crate::papers::steps::{CHAIN, LEARNED, TEXTBOOK};
use kbest_cli::table::{grouped, number, percent};

/// Rows of the paper's Table 1: token and record accuracy, decode time.
const FIGURES: [(&str, [f64; 3]); 3] =
    [(CHAIN, [0.896, 0.487, 1.0]), (TEXTBOOK, [0.927, 0.642, 7.17]), (LEARNED, [0.923, 0.638, 2.26])];

fn tasks(steps: &Steps) -> Vec<&SegmentTask> {
    let one = |task: &&str| match steps.get(&format!("segments-{task}")) {
        Some(Measured::Segments(task)) => Some(task),
        _ => None,
    };
    SEGMENT_TASKS.iter().filter_map(one).collect()
}

fn row<'t>(task: &'t SegmentTask, decoder: &str) -> Option<&'t SegmentRow> {
    task.rows.iter().find(|row| row.decoder == decoder)
}

pub(super) fn segments(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut better, mut faster, mut near, mut cases) = ([0, 0], [0, 0], 0, 0);
    let (mut told_better, mut told_faster, mut told_near) = (vec![], vec![], vec![]);
    for task in tasks(steps) {
        let (chain, textbook) = (row(task, CHAIN), row(task, TEXTBOOK));
        let time = |row: Option<&SegmentRow>| row.map_or(f64::NAN, |row| row.microseconds);
        let cells = task.rows.iter().map(|row| {
            let figure =
                FIGURES.iter().find(|(name, _)| *name == row.decoder).map_or([f64::NAN; 3], |(_, f)| *f);
            vec![
                Cell::text(&row.decoder),
                Cell::percent(row.token_accuracy),
                Cell::paper(figure[0]),
                Cell::percent(row.record_accuracy),
                Cell::paper(figure[1]),
                Cell::ours(row.microseconds),
                Cell::ratio(row.microseconds / time(chain)),
                Cell::paper_ratio(figure[2]),
                Cell::percent(row.asked),
                row.right.map_or_else(|| Cell::text("another model"), Cell::percent),
            ]
        });
        let header = [
            "decoder",
            "token accuracy",
            "the paper's",
            "record accuracy",
            "the paper's",
            "microseconds per record",
            "time against the chain",
            "the paper's",
            "segments whose features were computed",
            "answers that are best",
        ];
        let title = format!(
            "{}: {} labels, {} training and {} test records, segments up to {} tokens",
            task.task,
            task.labels,
            grouped(task.train_records),
            grouped(task.test_records),
            task.longest
        );
        outcome.tables.push(table(title, &header, cells.collect()));
        let (Some(chain), Some(textbook), Some(learned)) = (chain, textbook, row(task, LEARNED)) else {
            continue;
        };
        cases += 1;
        better[0] += usize::from(textbook.token_accuracy > chain.token_accuracy);
        better[1] += usize::from(textbook.record_accuracy > chain.record_accuracy);
        told_better.push(format!(
            "{}: tokens {} and {}, records {} and {}",
            task.task,
            percent(chain.token_accuracy),
            percent(textbook.token_accuracy),
            percent(chain.record_accuracy),
            percent(textbook.record_accuracy)
        ));
        let simd = row(task, "semi-viterbi-simd");
        faster[0] += usize::from(learned.microseconds < textbook.microseconds);
        faster[1] += usize::from(learned.microseconds < time(simd));
        told_faster.push(format!(
            "{}: {}x textbook semi-Markov Viterbi, {}x ours with vector instructions",
            task.task,
            number(textbook.microseconds / learned.microseconds),
            number(time(simd) / learned.microseconds)
        ));
        near += usize::from((textbook.token_accuracy - learned.token_accuracy).abs() <= 0.005);
        told_near.push(format!(
            "{}: {} points of tokens, {} of records lost",
            task.task,
            number(100.0 * (textbook.token_accuracy - learned.token_accuracy)),
            number(100.0 * (textbook.record_accuracy - learned.record_accuracy))
        ));
    }
    outcome.findings = vec![
        Finding {
            claim: "a model of segments labels more tokens and more records correctly than a chain of tokens".into(),
            verdict: Verdict::of(better[0] + better[1], 2 * cases),
            because: told_better.join("; "),
        },
        Finding {
            claim: "A* with a learned underestimate is faster than semi-Markov Viterbi (three times in the paper)".into(),
            verdict: Verdict::of(faster[0], cases),
            because: told_faster.join("; "),
        },
        Finding {
            claim: "it loses next to no accuracy (the paper: 0.4 points of tokens and of records)".into(),
            verdict: Verdict::of(near, cases),
            because: told_near.join("; "),
        },
    ];
    outcome
}

pub(super) fn lengths(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut grows, mut cases, mut told) = (0, 0, vec![]);
    for task in tasks(steps) {
        let Some(textbook) = row(task, TEXTBOOK) else { continue };
        let filled: Vec<usize> = (0..task.groups.len()).filter(|&g| textbook.by_length[g] > 0.0).collect();
        let name = |g: usize| match task.groups.get(g + 1) {
            Some(next) => format!("{}-{}", task.groups[g], next - 1),
            None => format!("{} and more", task.groups[g]),
        };
        let shown = [LEARNED, "semi-astar", "semi-funnel", "semi-viterbi-simd", "auto"];
        let speed_up = |row: &SegmentRow, g: usize| textbook.by_length[g] / row.by_length[g];
        let names: Vec<String> = filled.iter().map(|&g| name(g)).collect();
        let mut header = vec!["decoder"];
        header.extend(names.iter().map(String::as_str));
        let (mut rows, mut lines) = (vec![], vec![]);
        for decoder in shown {
            let Some(row) = row(task, decoder) else { continue };
            let mut cells = vec![Cell::text(decoder)];
            cells.extend(filled.iter().map(|&g| Cell::ratio(speed_up(row, g))));
            rows.push(cells);
            lines.push(PlotLine {
                name: decoder.to_owned(),
                points: filled.iter().enumerate().map(|(i, &g)| (i as f64, speed_up(row, g))).collect(),
                strong: decoder == LEARNED,
            });
        }
        let title = format!("{}: speed-up over textbook semi-Markov Viterbi by tokens per record", task.task);
        outcome.tables.push(table(&title, &header, rows));
        outcome.figures.push(Figure {
            name: format!("druck-fig2-{}", task.task),
            caption: format!(
                "Figure 2: speed-up over semi-Markov Viterbi against the length of a record, {}",
                task.task
            ),
            svg: plot(&Plot {
                title,
                x: "tokens in the record".into(),
                y: "times as fast".into(),
                lines,
                x_ticks: names.into_iter().enumerate().map(|(i, name)| (i as f64, name)).collect(),
                logarithmic: true,
                ..Plot::default()
            }),
        });
        if let (Some(learned), [first, .., last]) = (row(task, LEARNED), &filled[..]) {
            cases += 1;
            grows += usize::from(speed_up(learned, *last) > speed_up(learned, *first));
            told.push(format!(
                "{}: {}x for {} tokens, {}x for {}",
                task.task,
                number(speed_up(learned, *first)),
                name(*first),
                number(speed_up(learned, *last)),
                name(*last)
            ));
        }
    }
    outcome.findings.push(Finding {
        claim: "the speed-up of the learned bound grows with the length of the record (to 3.5 in the paper)"
            .into(),
        verdict: Verdict::of(grows, cases),
        because: told.join("; "),
    });
    outcome
}

pub(super) fn bounds(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut kept, mut cases, mut told) = (0, 0, vec![]);
    let (mut smaller, mut pairs, mut told_sizes) = (0, 0, vec![]);
    for task in tasks(steps) {
        let cells = task.bounds.iter().map(|row| {
            let mut name = row.name.clone();
            if let Some(error) = &row.failed {
                name += &format!(" (failed: {error})");
            }
            vec![
                Cell::text(name),
                Cell::count(row.sequences),
                Cell::count(row.inequalities),
                Cell::count(row.variables),
                Cell::count(row.coefficients),
                Cell::ours(row.fit_seconds),
                Cell::percent(row.classifier_agrees),
                Cell::text(format!("{} of {}", row.short, row.measured)),
                Cell::ours(row.epsilon),
                Cell::percent(row.short_on_test),
                Cell::text(format!("{} / {}", number(row.asked_exact), number(row.asked_learned))),
            ]
        });
        let header = [
            "programme",
            "records",
            "inequalities",
            "variables",
            "coefficients not 0",
            "solving, s",
            "classifier agrees",
            "short by more than delta, held out",
            "epsilon promised",
            "short on the test data",
            "segments asked for, exact / learned",
        ];
        outcome.tables.push(table(&task.task, &header, cells.collect()));
        for row in task.bounds.iter().filter(|row| row.failed.is_none()) {
            cases += 1;
            kept += usize::from(row.short_on_test <= row.epsilon);
        }
        if let Some(first) = task.bounds.first() {
            told.push(format!(
                "{}: promised at most {} short by more than {}, {} were on the test data",
                task.task,
                percent(first.epsilon),
                number(first.delta),
                percent(first.short_on_test)
            ));
        }
        let size =
            |name: &str| task.bounds.iter().find(|row| row.name.starts_with(name) && row.failed.is_none());
        for (with, without, section) in
            [("LP, few", "LP without 4.1", "4.1"), ("LP, fewest", "LP without 4.2", "4.2")]
        {
            if let (Some(with), Some(without)) = (size(with), size(without)) {
                pairs += 1;
                smaller += usize::from(with.coefficients < without.coefficients);
                told_sizes.push(format!(
                    "{}, section {section}: {} coefficients and {} s instead of {} and {} s",
                    task.task,
                    grouped(with.coefficients),
                    number(with.fit_seconds),
                    grouped(without.coefficients),
                    number(without.fit_seconds)
                ));
            }
        }
    }
    outcome.findings = vec![
        Finding {
            claim: "with probability 1 - epsilon the answer is within delta of the best, on new data, too".into(),
            verdict: Verdict::of(kept, cases),
            because: format!("{}. The promise is an upper limit at 95 % confidence for data of the same kind.", told.join("; ")),
        },
        Finding {
            claim: "sections 4.1 (shared sums) and 4.2 (only the best paths' inequalities) make programmes smaller".into(),
            verdict: Verdict::of(smaller, pairs),
            because: told_sizes.join("; "),
        },
    ];
    outcome
}
