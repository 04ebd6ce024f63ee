//! The experiments of the CarpeDiem paper, on its three problems.

use super::{Steps, limit_note, table};
use crate::papers::definitions::PROBLEMS;
use crate::papers::render::{Plot, PlotLine, plot};
use crate::papers::results::{
    BeamRow, Cell, Classifier, Figure, Finding, Measured, Outcome, Problem, Table, Verdict,
};
use kbest_cli::table::{grouped, number, percent};

/// CarpeDiem as the paper has it, among the times of a classifier.
const PAPERS: &str = "carpediem, paper's bound";

fn problems(steps: &Steps) -> Vec<(usize, &Problem)> {
    let one = |(i, twin): (usize, &crate::papers::definitions::Twin)| match steps
        .get(&format!("problem-{}", twin.task))
    {
        Some(Measured::Problem(problem)) => Some((i, &**problem)),
        _ => None,
    };
    PROBLEMS.iter().enumerate().filter_map(one).collect()
}

fn total(problem: &Problem, decoder: &str) -> f64 {
    problem.classifiers.iter().map(|classifier| seconds(classifier, decoder)).sum()
}

fn seconds(classifier: &Classifier, decoder: &str) -> f64 {
    classifier.seconds.get(decoder).copied().unwrap_or(f64::NAN)
}

/// What each task is, shown once.
fn sizes(problems: &[(usize, &Problem)]) -> Table {
    let row = |(i, problem): &(usize, &Problem)| {
        vec![
            Cell::text(&problem.task),
            Cell::count(problem.labels),
            Cell::count(problem.vertical_features),
            Cell::count(problem.horizontal_features),
            Cell::text(format!("{} / {}", grouped(problem.train_sequences), grouped(problem.test_sequences))),
            Cell::text(format!("{} / {}", grouped(problem.train_events), grouped(problem.test_events))),
            Cell::percent(problem.last.accuracy),
            Cell::percent(problem.accuracy_without_edges),
            Cell::text(PROBLEMS[*i].stands_for),
        ]
    };
    let header = [
        "problem",
        "labels",
        "vertical features",
        "horizontal features",
        "sequences, train / test",
        "events, train / test",
        "accuracy of the last classifier",
        "without horizontal features",
        "stands for",
    ];
    table("The problems", &header, problems.iter().map(row).collect())
}

pub(super) fn savings(steps: &Steps, figures: &[f64; 3]) -> Outcome {
    let problems = problems(steps);
    let mut outcome = Outcome { tables: vec![sizes(&problems)], ..Outcome::default() };
    let (mut rows, mut ratios, mut near) = (vec![], vec![], vec![]);
    for (i, problem) in &problems {
        let viterbi = total(problem, "viterbi");
        let saved = |decoder: &str| 1.0 - total(problem, decoder) / viterbi;
        rows.push(vec![
            Cell::text(&problem.task),
            Cell::ours(viterbi),
            Cell::ours(total(problem, PAPERS)),
            Cell::percent(saved(PAPERS)),
            Cell::paper(figures[*i]),
            Cell::percent(saved("carpediem")),
            Cell::percent(saved("carpediem:column")),
            Cell::percent(saved("viterbi-simd")),
            Cell::percent(saved("auto")),
        ]);
        ratios.push((problem.task.clone(), saved(PAPERS)));
        let (opened, count) =
            problem.classifiers.iter().fold((0.0, 0.0), |(sum, n), one| (sum + one.opened, n + 1.0));
        near.push(format!(
            "{} opens {} of {} vertices per event on average{}",
            problem.task,
            number(opened / f64::max(count, 1.0)),
            problem.labels,
            cost_of_an_edge(problem)
        ));
    }
    let header = [
        "problem",
        "Viterbi, s",
        "CarpeDiem, s",
        "saved",
        "the paper's, %",
        "saved, bound by position",
        "saved, bound by label",
        "saved by SIMD Viterbi",
        "saved by auto",
    ];
    outcome.tables.push(table("All classifiers together, decoding the test data", &header, rows));
    let rows: Vec<Vec<Cell>> = problems
        .iter()
        .flat_map(|(_, problem)| problem.on_demand.iter().map(move |row| (problem, row)))
        .map(|(problem, row)| {
            let viterbi = problem.on_demand.first().map_or(f64::NAN, |row| row.ns_per_position);
            vec![
                Cell::text(format!("{}: {}", problem.task, row.decoder)),
                Cell::ours(row.ns_per_position / 1000.0),
                Cell::percent(1.0 - row.ns_per_position / viterbi),
                Cell::ours(row.edges_per_position.unwrap_or(f64::NAN)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let header = ["decoder", "microseconds per event", "saved", "edges evaluated per event"];
        let title = "Features of edges evaluated on demand, as in the paper's system (last classifier)";
        outcome.tables.push(table(title, &header, rows));
    }
    let (shown, voted) = super::votes::votes(&problems, figures);
    outcome.tables.push(shown);
    let told: Vec<String> =
        ratios.iter().map(|(task, saved)| format!("{} on {task}", percent(*saved))).collect();
    outcome.findings.push(Finding {
        claim: "CarpeDiem takes less time than Viterbi on all three problems".into(),
        verdict: Verdict::of(ratios.iter().filter(|(_, saved)| *saved > 0.0).count(), ratios.len()),
        because: format!("saved {}. Why: {}.", told.join(", "), near.join("; ")),
    });
    outcome.findings.push(Finding {
        claim: "the same if the members of the voted perceptron vote".into(),
        verdict: Verdict::of(voted.iter().filter(|(_, saved)| *saved > 0.0).count(), voted.len()),
        because: format!(
            "saved {}",
            voted
                .iter()
                .map(|(task, saved)| format!("{} on {task}", percent(*saved)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    });
    outcome.notes.push(
        "The classifiers are voted perceptrons over boolean features. The paper's classifier is one arg max under one \
         vector of weights (section 5), and it does not say which one training leaves: here it is the mean of the members \
         by votes, Collins's (2002) averaged parameters. In the table of the vote each member labels the test data, and \
         for each sequence the labelling with the most votes wins; its times are those of all members' searches. \
         CarpeDiem's bound here is the paper's, the sum of the best weight of each set of features that exclude \
         one another; node and edge scores are prepared before the clock starts."
            .into(),
    );
    let most = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(task, _)| task.as_str());
    outcome.findings.push(Finding {
        claim: "it saves most on letters, where features of two letters say little".into(),
        verdict: if most == Some("letters") { Verdict::Agrees } else { Verdict::of(0, ratios.len()) },
        because: problems
            .iter()
            .map(|(_, problem)| {
                format!(
                    "{}: accuracy {} with and {} without horizontal features",
                    problem.task,
                    percent(problem.last.accuracy),
                    percent(problem.accuracy_without_edges)
                )
            })
            .collect::<Vec<_>>()
            .join("; "),
    });
    outcome
}

/// What reading an edge costs both decoders, all bookkeeping included (last classifier).
fn cost_of_an_edge(problem: &Problem) -> String {
    let row = |name: &str| {
        let row = problem.last.row(name)?;
        Some((row.edges_per_position?, row.ns_per_position))
    };
    let paper = row("carpediem, S1* = sum over exclusive sets");
    let Some(((edges, ns), (all, viterbi))) = paper.zip(row("viterbi")) else { return String::new() };
    format!(
        ", and reads {} edges at {} ns each instead of {} at {} ns",
        number(edges),
        number(ns / edges),
        number(all),
        number(viterbi / all)
    )
}

pub(super) fn classifiers(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut early, mut cases, mut told, mut always, mut lost) = (0, 0, vec![], 0, vec![]);
    let problems = problems(steps);
    for (i, problem) in &problems {
        let place = |n: usize| n as f64;
        let bars = problem.classifiers.iter().enumerate();
        let bars: Vec<(f64, f64)> = bars.map(|(n, one)| (place(n), 1000.0 * seconds(one, PAPERS))).collect();
        let triangles = problem.classifiers.iter().enumerate();
        let triangles = triangles.map(|(n, one)| (place(n), 1000.0 * seconds(one, "viterbi"))).collect();
        let first = |(n, one): (usize, &Classifier)| {
            (one.iterations == 1).then(|| (place(n), format!("{}:1", one.tenths)))
        };
        let ticks = problem.classifiers.iter().enumerate().filter_map(first).collect();
        let name = format!("carpediem-{}", 4 + i);
        outcome.figures.push(Figure {
            caption: format!(
                "Figure {}: {}. Bars: CarpeDiem with the paper's bound; triangles: scalar Viterbi. i:j is the \
                 classifier trained on i tenths of the data for j iterations.",
                4 + i,
                problem.task
            ),
            svg: plot(&Plot {
                title: format!("{}: time to label the test data", problem.task),
                x: "classifier i:j".into(),
                y: "milliseconds".into(),
                bars,
                triangles,
                x_ticks: ticks,
                ..Plot::default()
            }),
            name,
        });
        let one = |tenths: usize, iterations: usize| {
            let found = problem.classifiers.iter().find(|c| c.tenths == tenths && c.iterations == iterations);
            found.map_or(f64::NAN, |c| 1.0 - seconds(c, PAPERS) / seconds(c, "viterbi"))
        };
        let last = problem.classifiers.last().map_or((0, 0), |c| (c.tenths, c.iterations));
        let first = problem.classifiers.first().map_or(0, |c| c.tenths);
        let (begin, end) = (one(first, 1), one(last.0, last.1));
        if *i < 2 {
            cases += 1;
            early += usize::from(begin > end);
        }
        told.push(format!(
            "{}: {} saved by the first classifier, {} by the last",
            problem.task,
            percent(begin),
            percent(end)
        ));
        let slower =
            problem.classifiers.iter().filter(|c| seconds(c, PAPERS) >= seconds(c, "viterbi")).count();
        always += usize::from(slower == 0);
        lost.push(format!("{}: {slower} of {}", problem.task, problem.classifiers.len()));
    }
    outcome.findings.push(Finding {
        claim: "in all trials CarpeDiem takes less time than Viterbi".into(),
        verdict: Verdict::of(always, problems.len()),
        because: format!("classifiers with which it does not: {}", lost.join(", ")),
    });
    outcome.findings.push(Finding {
        claim: "as the perceptron learns, CarpeDiem saves less (music and lines)".into(),
        verdict: Verdict::of(early, cases),
        because: told.join("; "),
    });
    outcome
}

pub(super) fn weights(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let problems = problems(steps);
    let Some((_, problem)) = problems.iter().find(|(i, _)| *i == 0) else { return outcome };
    let line = |(name, points): &(String, Vec<(usize, f64)>)| PlotLine {
        name: name.clone(),
        points: points.iter().map(|&(update, weight)| (update as f64, weight)).collect(),
        strong: false,
    };
    outcome.figures.push(Figure {
        name: "carpediem-7".into(),
        caption: format!(
            "Figure 7: weights of the {} vertical features of {} after each update; vertical lines begin an iteration",
            problem.weights.len(),
            problem.task
        ),
        svg: plot(&Plot {
            title: format!("{}: vertical weights while the perceptron learns", problem.task),
            x: "updates".into(),
            y: "weight".into(),
            lines: problem.weights.iter().map(line).collect(),
            verticals: problem.iterations_begin.iter().map(|&update| update as f64).collect(),
            ..Plot::default()
        }),
    });
    // The size of weights when the first iteration ends, and at the end.
    let at = |points: &[(usize, f64)], update: usize| {
        points.iter().rev().find(|(of, _)| *of <= update).map_or(0.0, |(_, weight)| *weight)
    };
    let last = problem.weights.first().and_then(|(_, points)| points.last()).map_or(0, |(update, _)| *update);
    let jump = (last / 20).max(1);
    let (mut early, mut late, mut rows) = (0.0, 0.0, vec![]);
    for (name, points) in &problem.weights {
        let (first, end) = (at(points, jump), at(points, last));
        early += (first / jump as f64).abs();
        late += ((end - first) / (last - jump).max(1) as f64).abs();
        let peak = points
            .iter()
            .map(|(_, weight)| *weight)
            .fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        rows.push(vec![Cell::text(name), Cell::ours(first), Cell::ours(peak), Cell::ours(end)]);
    }
    let header = ["feature", "weight after the first twentieth of the updates", "largest", "at the end"];
    outcome.tables.push(table("Vertical weights", &header, rows));
    outcome.findings.push(Finding {
        claim: "vertical weights change most at the very beginning, and slowly afterwards".into(),
        verdict: if early > 2.0 * late { Verdict::Agrees } else { Verdict::Differs },
        because: format!(
            "per update all weights together moved by {} in the first twentieth of {last} updates, by {} afterwards",
            number(early),
            number(late)
        ),
    });
    outcome
}

pub(super) fn equal_time(steps: &Steps, figures: &[(usize, usize); 3]) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut rows, mut told, mut wrong, mut cases) = (vec![], vec![], 0, 0);
    for (i, problem) in problems(steps) {
        let Some(last) = problem.classifiers.last() else { continue };
        let (carpediem, viterbi) = (seconds(last, PAPERS), seconds(last, "viterbi"));
        let formula = (carpediem / viterbi).sqrt() * problem.labels as f64;
        // The widest beam that was measured and is no wider, and the widest of ours that takes no longer.
        let widest = |fits: &dyn Fn(&BeamRow) -> bool| {
            problem.beams.iter().filter(|beam| fits(beam)).max_by_key(|beam| beam.width)
        };
        let beam = widest(&|beam| beam.width as f64 <= formula.max(1.0));
        let ours = widest(&|beam| beam.seconds <= carpediem);
        let of = |part: fn(&BeamRow) -> f64| beam.map_or(f64::NAN, part);
        let share = |width: usize, labels: usize| format!("{width} of {labels}");
        let width =
            |beam: Option<&BeamRow>| beam.map_or("none".into(), |beam| share(beam.width, problem.labels));
        rows.push(vec![
            Cell::text(&problem.task),
            Cell::text(width(beam)),
            Cell::text(share(figures[i].0, figures[i].1)),
            Cell::percent(of(|beam| beam.wrong_sequences)),
            Cell::percent(of(|beam| beam.wrong_positions)),
            Cell::percent(of(|beam| beam.accuracy)),
            Cell::percent(problem.last.accuracy),
            Cell::text(width(ours)),
            Cell::percent(ours.map_or(f64::NAN, |beam| beam.wrong_sequences)),
        ]);
        cases += 1;
        wrong += usize::from(of(|beam| beam.wrong_sequences) > 0.0);
        told.push(format!(
            "{}: CarpeDiem takes {} of Viterbi's time, so b = {}; that beam is wrong on {} of the sequences",
            problem.task,
            percent(carpediem / viterbi),
            number(formula),
            percent(of(|beam| beam.wrong_sequences))
        ));
    }
    let header = [
        "problem",
        "beam that takes as long, by Formula 8",
        "the paper's",
        "its wrong sequences",
        "its wrong positions",
        "its accuracy",
        "exact accuracy",
        "ours that takes as long (SIMD)",
        "its wrong sequences",
    ];
    outcome.tables.push(table("A beam of equal time", &header, rows));
    outcome.findings.push(Finding {
        claim: "the beam that takes as long as CarpeDiem is not exact".into(),
        verdict: Verdict::of(wrong, cases),
        because: told.join("; "),
    });
    outcome.notes.push(
        "Formula 8 is the width of a scalar beam that reads b^2 edges per event, as the paper's does. Ours reads the edges \
         of each kept label to all labels with vector instructions, so it is far wider in the same time."
            .into(),
    );
    outcome
}

pub(super) fn astar(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut slower, mut cases, mut told) = (0, 0, vec![]);
    for (_, problem) in problems(steps) {
        let viterbi = problem.last.row("viterbi").map_or(f64::NAN, |row| row.ns_per_position);
        let shown = problem.last.rows.iter().filter(|row| {
            row.decoder.starts_with("astar")
                || row.decoder.starts_with("carpediem")
                || row.decoder.starts_with("viterbi")
        });
        let cells = shown.map(|row| {
            vec![
                Cell::text(&row.decoder),
                Cell::ours(row.ns_per_position / 1000.0),
                Cell::ratio(viterbi / row.ns_per_position),
                Cell::ours(row.nodes_per_position.unwrap_or(f64::NAN)),
                Cell::ours(row.edges_per_position.unwrap_or(f64::NAN)),
                Cell::text(limit_note(row, problem.last.sequences).unwrap_or_default()),
            ]
        });
        let header = [
            "decoder",
            "microseconds per event",
            "speed against scalar Viterbi",
            "vertices opened per event",
            "edges read per event",
            "remark",
        ];
        outcome.tables.push(table(format!("{}, last classifier", problem.task), &header, cells.collect()));
        let name = "astar:carpediem, S1* = sum over exclusive sets";
        if let Some(row) = problem.last.row(name) {
            cases += 1;
            slower += usize::from(row.ns_per_position > viterbi);
            told.push(format!(
                "{}: {}x as fast as Viterbi, {} of {} vertices opened",
                problem.task,
                number(viterbi / row.ns_per_position),
                number(row.nodes_per_position.unwrap_or(f64::NAN)),
                problem.labels
            ));
        }
    }
    outcome.findings.push(Finding {
        claim: "A* with CarpeDiem's heuristic is slower than Viterbi".into(),
        verdict: Verdict::of(slower, cases),
        because: told.join("; "),
    });
    outcome
}

pub(super) fn trace(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rows = vec![];
    let problems = problems(steps);
    for (_, problem) in &problems {
        for (bound, opened) in &problem.opened {
            rows.push(vec![
                Cell::text(&problem.task),
                Cell::text(bound),
                Cell::ours(*opened),
                Cell::percent(opened / problem.labels as f64),
            ]);
        }
        let line = |(n, (bound, opened)): (usize, &(String, Vec<u32>))| PlotLine {
            name: bound.clone(),
            points: opened.iter().enumerate().map(|(t, &count)| (t as f64, f64::from(count))).collect(),
            strong: n == 0,
        };
        outcome.figures.push(Figure {
            name: format!("carpediem-trace-{}", problem.task),
            caption: format!(
                "Vertices opened at each event of one sequence of {} ({} labels): where many are opened, edges decide",
                problem.task, problem.labels
            ),
            svg: plot(&Plot {
                title: format!("{}: opened vertices along a sequence", problem.task),
                x: "event".into(),
                y: "vertices opened".into(),
                lines: problem.trace.iter().enumerate().map(line).collect(),
                ..Plot::default()
            }),
        });
    }
    let header = ["problem", "bound on edges", "vertices opened per event", "share of the labels"];
    outcome.tables.push(table("Opened vertices by bound, from loose to tight", &header, rows));
    // More edges that decide, more vertices opened: compared between problems by share of the labels.
    let mut shares: Vec<(&str, f64, f64)> = problems
        .iter()
        .filter_map(|(_, problem)| {
            let opened = problem.opened.first()?.1 / problem.labels as f64;
            Some((problem.task.as_str(), problem.last.accuracy - problem.accuracy_without_edges, opened))
        })
        .collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    let told: Vec<String> = shares
        .iter()
        .map(|(task, gain, opened)| {
            format!(
                "{task}: horizontal features add {} points of accuracy, {} of the vertices opened",
                number(100.0 * gain),
                percent(*opened)
            )
        })
        .collect();
    let ordered = shares.windows(2).filter(|pair| pair[0].2 <= pair[1].2).count();
    outcome.findings.push(Finding {
        claim: "the share of opened vertices reflects how much a problem depends on its sequence".into(),
        verdict: Verdict::of(ordered, shares.len().saturating_sub(1)),
        because: told.join("; "),
    });
    outcome
}
