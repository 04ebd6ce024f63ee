//! Tables of speeds and of rounds, decoder by decoder and task by task.

use super::{Steps, decoding, limit_note, listed, table};
use crate::papers::definitions::{Claim, Line, RoundLine, Twin};
use crate::papers::results::{Cell, Decoding, Finding, Outcome, Timed, Verdict};
use kbest_cli::table::{grouped, number, percent};

/// Decoders that are in no paper, shown below the paper's rows.
const OURS: [(&str, &str); 6] = [
    ("auto", "ours: auto"),
    ("funnel", "ours: funnel"),
    ("recursive-enumeration", "ours: recursive enumeration"),
    ("carpediem:column", "ours: CarpeDiem, bound by label"),
    ("viterbi-sparse", "ours: Viterbi on sparse edges"),
    ("viterbi-simd", "Viterbi, SIMD"),
];

pub(super) fn speeds(steps: &Steps, k: usize, twins: &[Twin], lines: &[Line], claims: &[Claim]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut facts = vec![];
    for (i, twin) in twins.iter().enumerate() {
        let Some(decoding) = decoding(steps, twin.task, k) else { continue };
        outcome.tables.push(one_task(decoding, twin, i, lines));
        facts.push(strengths(decoding));
    }
    if !facts.is_empty() {
        let header = [
            "task",
            "accuracy",
            "median lead of the best node",
            "largest edge (S1*)",
            "median edge not 0",
            "edges not 0",
            "labels decided by edges",
        ];
        outcome.tables.push(table("How strong edges are against nodes", &header, facts));
    }
    outcome.findings = claims.iter().map(|claim| finding(steps, k, twins, claim)).collect();
    outcome
}

fn strengths(decoding: &Decoding) -> Vec<Cell> {
    let s = decoding.strengths;
    vec![
        Cell::text(&decoding.task),
        Cell::percent(decoding.accuracy),
        Cell::ours(s.lead),
        Cell::ours(s.largest_edge),
        Cell::ours(s.typical_edge),
        Cell::percent(s.edge_density),
        Cell::percent(s.decided_by_edges),
    ]
}

fn one_task(decoding: &Decoding, twin: &Twin, at: usize, lines: &[Line]) -> crate::papers::results::Table {
    let header = [
        "decoder",
        "sentences/s",
        "the paper's",
        "against scalar Viterbi",
        "the paper's",
        "against SIMD Viterbi",
        "nodes opened per position",
        "edges read per position",
        "remark",
    ];
    let scalar = decoding.row("viterbi").map_or(f64::NAN, |row| row.per_second);
    let simd = decoding.row("viterbi-simd").map_or(f64::NAN, |row| row.per_second);
    let paper_viterbi =
        lines.iter().find(|line| line.name == "Viterbi").map_or(f64::NAN, |line| line.figures[at]);
    let row = |name: &str, timed: &Timed, figure: f64, remark: String| {
        vec![
            Cell::text(name),
            Cell::ours(timed.per_second),
            Cell::paper(figure),
            Cell::ratio(timed.per_second / scalar),
            Cell::paper_ratio(figure / paper_viterbi),
            Cell::ratio(timed.per_second / simd),
            Cell::ours(timed.nodes_per_position.unwrap_or(f64::NAN)),
            Cell::ours(timed.edges_per_position.unwrap_or(f64::NAN)),
            Cell::text(remark),
        ]
    };
    let mut rows = vec![];
    for line in lines {
        let Some(timed) = decoding.fastest(line.decoders) else { continue };
        let mut remarks: Vec<String> = limit_note(timed, decoding.sequences).into_iter().collect();
        if line.decoders.len() > 1 {
            remarks.push(format!("fastest: {}", timed.decoder));
        }
        if !timed.exact {
            remarks.push(format!("not exact: {} of the answers are best", percent(timed.right)));
        }
        rows.push(row(line.name, timed, line.figures[at], remarks.join("; ")));
    }
    for (decoder, name) in OURS {
        if let Some(timed) = decoding.row(decoder) {
            let remark = limit_note(timed, decoding.sequences).unwrap_or_default();
            rows.push(row(name, timed, f64::NAN, remark));
        }
    }
    let title = format!(
        "{}: {} labels, {} sentences, {} tokens; stands for {}",
        decoding.task,
        grouped(decoding.labels),
        grouped(decoding.sequences),
        grouped(decoding.positions),
        twin.stands_for
    );
    table(title, &header, rows)
}

/// Compares the fastest of two groups on the twins that a claim is about.
fn finding(steps: &Steps, k: usize, twins: &[Twin], claim: &Claim) -> Finding {
    let (mut ratios, mut reasons) = (vec![], vec![]);
    for twin in claim.twins.iter().map(|&i| twins[i]) {
        let Some(decoding) = decoding(steps, twin.task, k) else { continue };
        let pair = decoding.fastest(claim.faster).zip(decoding.fastest(claim.slower));
        let Some((faster, slower)) = pair else { continue };
        ratios.push((twin.task.to_owned(), faster.per_second / slower.per_second));
        reasons.push(reason(decoding, faster, slower));
    }
    let holds = ratios.iter().filter(|(_, ratio)| *ratio > 1.0).count();
    let because = match ratios.is_empty() {
        true => String::new(),
        false => format!("{}. Why: {}.", listed(&ratios), reasons.join("; ")),
    };
    Finding { claim: claim.words.to_owned(), verdict: Verdict::of(holds, ratios.len()), because }
}

/// The work of two decoders on a task; for CarpeDiem what its bound was up against.
fn reason(decoding: &Decoding, one: &Timed, other: &Timed) -> String {
    let edges = |row: &Timed| {
        let edges = row.edges_per_position.map_or("?".into(), number);
        format!("{} reads {edges} edges", row.decoder)
    };
    let mut text = format!("{}: {}, {} per position", decoding.task, edges(one), edges(other));
    let carpediem = [one, other].into_iter().find(|row| row.decoder.starts_with("carpediem"));
    if let Some(opened) = carpediem.and_then(|row| row.nodes_per_position) {
        text += &format!(
            " ({} of {} labels opened: S1* is {}, the median lead of the best node {})",
            number(opened),
            grouped(decoding.labels),
            number(decoding.strengths.largest_edge),
            number(decoding.strengths.lead)
        );
    }
    text
}

pub(super) fn rounds(steps: &Steps, twins: &[Twin], lines: &[RoundLine]) -> Outcome {
    let mut outcome = Outcome::default();
    let mut rows = vec![];
    let (mut below, mut cases, mut told) = (0, 0, vec![]);
    for line in lines {
        for (twin, &figure) in twins.iter().zip(line.figures) {
            let Some(decoding) = decoding(steps, twin.task, line.k) else { continue };
            let Some(timed) = decoding.row(line.decoder) else { continue };
            let ours = timed.rounds.unwrap_or(f64::NAN);
            let doublings = (decoding.labels as f64).log2().ceil() + 1.0;
            rows.push(vec![
                Cell::text(line.name),
                Cell::text(twin.task),
                Cell::count(decoding.labels),
                Cell::ours(ours),
                Cell::paper(figure),
                Cell::ours(doublings),
                Cell::ours(timed.nodes_per_position.unwrap_or(f64::NAN) / ours),
                Cell::text(twin.stands_for),
            ]);
            cases += 1;
            below += usize::from((ours / figure - 1.0).abs() < 0.5);
            told.push(format!("{} on {}: {} ({})", line.name, twin.task, number(ours), number(figure)));
        }
    }
    let header = [
        "decoder",
        "task",
        "labels",
        "rounds",
        "the paper's",
        "log2 L + 1",
        "labels kept per position and round",
        "stands for",
    ];
    outcome.tables.push(table("Mean number of rounds per sentence", &header, rows));
    outcome.findings.push(Finding {
        claim: "the average number of rounds is as in the paper (within half)".into(),
        verdict: Verdict::of(below, cases),
        because: format!(
            "{}. A round is a pass that is followed by a check, as in the papers; the pass that only confirms the \
             judge's scores is not counted.",
            told.join(", ")
        ),
    });
    outcome
}
