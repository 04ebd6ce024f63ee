//! Training times and beams.

use super::{Steps, decoding, listed, table};
use crate::papers::definitions::Twin;
use crate::papers::results::{Cell, Finding, Measured, Outcome, Training, Verdict};
use kbest_cli::table::{grouped, number};

fn step<'s>(steps: &'s Steps, task: &str) -> Option<&'s Training> {
    match steps.get(&format!("training-{task}")) {
        Some(Measured::Training(training)) => Some(training),
        _ => None,
    }
}

fn seconds(training: &Training, decoder: &str) -> f64 {
    training.seconds.iter().find(|(name, _)| name == decoder).map_or(f64::NAN, |(_, seconds)| *seconds)
}

pub(super) fn training(steps: &Steps, twins: &[Twin], figures: &[(&str, &[f64])]) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut ratios, mut same, mut slower_than_decoding) = (vec![], vec![], vec![]);
    for (i, twin) in twins.iter().enumerate() {
        let Some(training) = step(steps, twin.task) else { continue };
        let figure = |name: &str| figures.iter().find(|(of, _)| *of == name).map_or(f64::NAN, |(_, f)| f[i]);
        let viterbi = seconds(training, "viterbi");
        let row = |(name, seconds): &(String, f64)| {
            vec![
                Cell::text(name),
                Cell::ours(*seconds),
                Cell::ratio(viterbi / seconds),
                Cell::paper(figure(name)),
                Cell::paper_ratio(figure("viterbi") / figure(name)),
            ]
        };
        let header = ["decoder", "seconds", "against Viterbi", "the paper's seconds", "against Viterbi"];
        let title = format!(
            "{}: {} labels, {} sentences, {} epochs; stands for {}",
            training.task,
            grouped(training.labels),
            grouped(training.sequences),
            training.epochs,
            twin.stands_for
        );
        outcome.tables.push(table(title, &header, training.seconds.iter().map(row).collect()));
        let ratio = viterbi / seconds(training, "staggered-column");
        ratios.push((training.task.clone(), ratio));
        same.push(training.same_model);
        if let Some(decoding) = decoding(steps, twin.task, 1) {
            let speed = |name: &str| decoding.row(name).map_or(f64::NAN, |row| row.per_second);
            slower_than_decoding.push((
                twin.task.to_owned(),
                ratio,
                speed("staggered-column") / speed("viterbi"),
            ));
        }
    }
    let faster = ratios.iter().filter(|(_, ratio)| *ratio > 1.0).count();
    outcome.findings.push(Finding {
        claim: "training with SD+C-EXP takes less time than with Viterbi".into(),
        verdict: Verdict::of(faster, ratios.len()),
        because: listed(&ratios),
    });
    outcome.findings.push(Finding {
        claim: "exact decoders train the same model (to the last bit)".into(),
        verdict: Verdict::of(same.iter().filter(|same| **same).count(), same.len()),
        because: format!("{} of {} tasks", same.iter().filter(|same| **same).count(), same.len()),
    });
    let told: Vec<String> = slower_than_decoding
        .iter()
        .map(|(task, train, decode)| {
            format!("{task}: {}x in training, {}x at test time", number(*train), number(*decode))
        })
        .collect();
    outcome.findings.push(Finding {
        claim: "the speed-up is larger at test time than in training".into(),
        verdict: Verdict::of(
            slower_than_decoding.iter().filter(|(_, train, decode)| decode > train).count(),
            slower_than_decoding.len(),
        ),
        because: told.join("; "),
    });
    outcome.notes.push(
        "Only as many sentences as textbook Viterbi trains on in seconds; labels that these lack are added as \
         sentences of one token. The times include features and updates, which are the same for all decoders."
            .into(),
    );
    outcome
}

pub(super) fn beams(steps: &Steps, twins: &[Twin], figures: &[[f64; 3]]) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut close, mut cases, mut told) = (0, 0, vec![]);
    for (twin, figures) in twins.iter().zip(figures) {
        let Some(Measured::Beams(beams)) = steps.get(&format!("beams-{}", twin.task)) else { continue };
        let speed = |name: &str| beams.exact.iter().find(|(of, _)| of == name).map_or(f64::NAN, |(_, s)| *s);
        let beam = beams.widths.iter().find(|(width, ..)| Some(*width) == beams.enough);
        let beam_speed = beam.map_or(f64::NAN, |(.., speed)| *speed);
        let row = |name: String, ours: f64, paper: f64, accuracy: f64| {
            vec![
                Cell::text(name),
                Cell::ours(ours),
                Cell::paper(paper),
                Cell::percent(accuracy),
                Cell::ratio(ours / speed("staggered-column")),
                Cell::paper_ratio(paper / figures[1]),
            ]
        };
        let width = beams.enough.map_or("none wide enough".into(), |width| format!("width {width}"));
        let mut rows = vec![
            row("Viterbi".into(), speed("viterbi"), figures[0], beams.exact_accuracy),
            row("SD+C-EXP".into(), speed("staggered-column"), figures[1], beams.exact_accuracy),
            row(
                format!("beam, {width}"),
                beam_speed,
                figures[2],
                beam.map_or(f64::NAN, |(_, accuracy, _)| *accuracy),
            ),
            row("ours: auto".into(), speed("auto"), f64::NAN, beams.exact_accuracy),
            row("Viterbi, SIMD".into(), speed("viterbi-simd"), f64::NAN, beams.exact_accuracy),
        ];
        let tried = beams.widths.iter().filter(|(width, ..)| Some(*width) != beams.enough);
        rows.extend(tried.map(|(width, accuracy, speed)| {
            row(format!("beam, width {width}"), *speed, f64::NAN, *accuracy)
        }));
        let header =
            ["decoder", "sentences/s", "the paper's", "token accuracy", "against SD+C-EXP", "the paper's"];
        outcome.tables.push(table(format!("{}; stands for {}", twin.task, twin.stands_for), &header, rows));
        cases += 1;
        let ratio = beam_speed / speed("staggered-column");
        close += usize::from(ratio > 0.5 && ratio < 2.0);
        told.push(format!(
            "{}: {width}, {}x SD+C-EXP, {}x auto",
            twin.task,
            number(ratio),
            number(beam_speed / speed("auto"))
        ));
    }
    outcome.findings.push(Finding {
        claim: "SD+C-EXP is about as fast as a beam of the same accuracy (within a factor of two)".into(),
        verdict: Verdict::of(close, cases),
        because: told.join("; "),
    });
    outcome
}
