//! The report as text: one token, or the whole sequence.

use super::positions::EXPLAINED;
use super::report::{Report, TermLine, Why};
use crate::table::{aligned, grouped, number, percent};
use kbest::escaped;
use std::fmt;

/// Paths whose differences are listed in full, and how many of them.
const FEW: usize = 6;
/// Likely labels listed for one token.
const LIKELY: usize = 8;
/// Letters of a reason in the table.
const LONGEST: usize = 44;
/// The longest bar.
const BAR: usize = 24;

pub(super) struct Text<'a> {
    pub(super) report: &'a Report,
    pub(super) token: Option<usize>,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report;
        head(report, f)?;
        if report.positions == 0 {
            return writeln!(f, "\nThe sequence is empty.");
        }
        match self.token {
            Some(t) => one(report, t, f),
            None => {
                all(report, f)?;
                paths(report, f)
            }
        }
    }
}

fn head(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let search = &report.search;
    let things = if report.segments { "answers" } else { "paths" };
    writeln!(f, "sequence  {} of {}", grouped(report.sequence), escaped(&report.file))?;
    writeln!(
        f,
        "size      {} positions, {} labels; log Z {}",
        grouped(report.positions),
        grouped(report.labels),
        number(report.log_partition)
    )?;
    let asked =
        if search.asked == search.decoder { String::new() } else { format!(" (asked: {})", search.asked) };
    let proven = if search.exact { "exact" } else { "not proven to be best" };
    let best = if search.k == 1 { "the best".to_owned() } else { format!("the {} best", search.k) };
    writeln!(f, "decoder   {}{asked}, for {best}: {proven}", search.decoder)?;
    let counters = search.counters.iter().map(|(name, count)| format!("{} {name}", grouped(*count as usize)));
    writeln!(f, "work      {}", counters.collect::<Vec<_>>().join(", "))?;
    if search.traced {
        let opened: usize = report.columns.iter().map(|column| column.opened).sum();
        let share = opened as f64 / (report.positions * report.labels).max(1) as f64;
        let mean = opened as f64 / report.positions.max(1) as f64;
        writeln!(
            f,
            "opened    {} vertices, {} of all, {} per position",
            grouped(opened),
            percent(share),
            number(mean)
        )?;
    } else {
        writeln!(f, "opened    unknown: decoders of segments count, but keep no trace")?;
    }
    if let Some(because) = &search.because {
        writeln!(f, "{things:<10}from `{}`, because {because}", search.paths_by)?;
    }
    if let Some(calibration) = &report.calibration {
        writeln!(f, "sure      calibrated: {calibration}")?;
    }
    Ok(())
}

/// A row per token.
fn all(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let most = report.columns.iter().map(|column| column.opened).max().unwrap_or(0).max(1);
    let row = |(t, column): (usize, &super::report::Column)| {
        let best = report.paths[0].labels[t];
        let sure = column.vertices.iter().find(|vertex| vertex.label == best);
        let bar = "█".repeat((column.opened * BAR).div_ceil(most));
        let (rival, lead, because) = match &column.why {
            Some(why) => {
                let speaks_for = |term: &&TermLine| term.winner > term.rival;
                let first = why.terms.iter().find(speaks_for);
                let first = first.map_or_else(String::new, |term| describe(report, term));
                (report.name(why.rival).to_owned(), signed(why.lead), first)
            }
            None if t >= EXPLAINED => ("-".into(), "-".into(), "see --token".into()),
            None => ("-".into(), "-".into(), "no other path".into()),
        };
        vec![
            (t + 1).to_string(),
            report.token(t),
            report.name(best).to_owned(),
            sure.map_or_else(String::new, |vertex| percent(vertex.probability)),
            rival,
            lead,
            because,
            if report.search.traced { grouped(column.opened) } else { "-".into() },
            bar,
        ]
    };
    let rows: Vec<_> = report.columns.iter().enumerate().map(row).collect();
    let header = ["#", "token", "label", "sure", "runner-up", "lead", "most of all because of", "opened", ""];
    let numbers = [true, false, false, true, false, true, false, true, false];
    write!(f, "\n{}", aligned(&header, &numbers, &rows))
}

fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", number(value)) } else { number(value) }
}

/// A term in a few words: `+1.2 feature w=dogs`.
fn describe(report: &Report, term: &TermLine) -> String {
    let mut name = report.strings[term.name].clone();
    if term.kind == "edge" && !report.segments {
        let label = |t: usize| report.name(report.paths[0].labels[t]);
        name = format!("{name} {} > {}", label(term.position - 1), label(term.position));
    }
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
        name += "...";
    }
    format!("{} {} {}", signed(term.winner - term.rival), term.kind, name.trim())
}

/// The feature; for edges, the labels they join as well.
fn names(report: &Report, why: &Why, term: &TermLine) -> String {
    let name = &report.strings[term.name];
    if term.kind != "edge" || report.segments {
        return name.clone();
    }
    let pair = |label: &dyn Fn(usize) -> u32| {
        let (from, to) = (label(term.position - 1), label(term.position));
        format!("{} > {}", report.name(from), report.name(to))
    };
    let best = |t: usize| report.paths[0].labels[t];
    let rival =
        |t: usize| if (why.from..=why.to).contains(&t) { why.rival_labels[t - why.from] } else { best(t) };
    let pairs = format!("{} over {}", pair(&best), pair(&rival));
    if name.is_empty() { pairs } else { format!("{name}: {pairs}") }
}

fn paths(report: &Report, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let row = |(rank, path): (usize, &super::report::Path)| {
        let change = |&t: &usize| format!("{}:{}", t + 1, report.name(path.labels[t]));
        let mut differs: Vec<String> = path.differs.iter().take(FEW).map(change).collect();
        if path.differs.len() > FEW {
            differs.push(format!("and {} more", path.differs.len() - FEW));
        }
        let behind = report.paths[0].score - path.score;
        vec![
            (rank + 1).to_string(),
            format!("{:.4}", path.score),
            if rank == 0 { String::new() } else { format!("{behind:.4}") },
            percent(path.probability),
            differs.join(" "),
        ]
    };
    let rows: Vec<_> = report.paths.iter().enumerate().map(row).collect();
    let header = ["rank", "score", "behind", "probability", "differs at"];
    write!(f, "\n{}", aligned(&header, &[true, true, true, true, false], &rows))
}

/// One token in full.
fn one(report: &Report, t: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let column = &report.columns[t];
    writeln!(f, "\ntoken     {}: {}", t + 1, escaped(&report.token(t)))?;
    if report.search.traced {
        let untouched = report.labels - column.opened - column.pruned;
        writeln!(
            f,
            "labels    {} opened ({} of them pruned later), {} pruned unopened, {} never touched",
            grouped(column.opened),
            grouped(column.closed),
            grouped(column.pruned),
            grouped(untouched)
        )?;
    }
    let fates = ["never touched", "pruned", "opened", "opened, then pruned"];
    let rows: Vec<_> = (column.vertices.iter().take(LIKELY))
        .map(|vertex| {
            vec![
                report.name(vertex.label).to_owned(),
                percent(vertex.probability),
                number(vertex.node),
                if report.search.traced { fates[usize::from(vertex.fate)].to_owned() } else { "-".into() },
            ]
        })
        .collect();
    let header = ["label", "probability", "node score", "fate"];
    write!(f, "\n{}", aligned(&header, &[false, true, true, false], &rows))?;
    let Some(why) = &column.why else {
        return writeln!(f, "\nThere is no path with another label here.");
    };
    let (winner, rival) = (report.name(why.winner), report.name(why.rival));
    let span = match why.from == why.to {
        true => String::new(),
        false => format!(", whose paths differ at positions {} to {}", why.from + 1, why.to + 1),
    };
    let verb = if why.lead >= 0.0 { "beats" } else { "is chosen, yet worse than" };
    writeln!(f, "\n{} {verb} {} by {}{span}:", escaped(winner), escaped(rival), number(why.lead.abs()))?;
    let mut rows: Vec<Vec<String>> = (why.terms.iter())
        .map(|term| {
            vec![
                signed(term.winner - term.rival),
                number(term.winner),
                number(term.rival),
                (term.position + 1).to_string(),
                term.kind.to_owned(),
                names(report, why, term),
            ]
        })
        .collect();
    if why.others > 0 {
        let others = format!("{} more", grouped(why.others));
        rows.push(vec![
            signed(why.others_lead),
            String::new(),
            String::new(),
            String::new(),
            others,
            String::new(),
        ]);
    }
    rows.push(vec![
        signed(why.lead),
        String::new(),
        String::new(),
        String::new(),
        "together".into(),
        String::new(),
    ]);
    let header = ["lead", "winner", "rival", "at", "what", "which"];
    write!(f, "{}", aligned(&header, &[true, true, true, true, false, false], &rows))
}
