//! The report as Markdown, with pictures in files beside it.

use super::About;
use crate::papers::definitions::{Experiment, Paper};
use crate::papers::results::{Outcome, Table};
use std::fmt::Write;

pub(crate) fn markdown(about: &About<'_>, outcomes: &[(&Experiment, Outcome)]) -> String {
    let mut text = String::from("# The papers' experiments, repeated\n");
    for paragraph in about.paragraphs() {
        push(&mut text, format_args!("\n{paragraph}\n"));
    }
    text.push_str("\n## What holds\n\n| paper | claim | here |\n|---|---|---|\n");
    for (experiment, outcome) in outcomes {
        for finding in &outcome.findings {
            let place = format!("[{}](#{})", experiment.place, experiment.id);
            let paper = short(experiment.paper);
            push(
                &mut text,
                format_args!(
                    "| {paper}, {place} | {} | **{}** |\n",
                    escaped(&finding.claim),
                    finding.verdict.word()
                ),
            );
        }
    }
    for paper in Paper::ALL {
        let of_paper: Vec<_> = outcomes.iter().filter(|(experiment, _)| experiment.paper == paper).collect();
        if of_paper.is_empty() {
            continue;
        }
        push(&mut text, format_args!("\n## {}\n", paper.citation()));
        for (experiment, outcome) in of_paper {
            push(
                &mut text,
                format_args!(
                    "\n<a id=\"{}\"></a>\n\n### {}: {}\n\n`{}`\n",
                    experiment.id, experiment.place, experiment.title, experiment.id
                ),
            );
            for finding in &outcome.findings {
                push(
                    &mut text,
                    format_args!(
                        "\n- **{}**: {}. {}\n",
                        finding.verdict.word(),
                        escaped(&finding.claim),
                        escaped(&finding.because)
                    ),
                );
            }
            for figure in &outcome.figures {
                push(
                    &mut text,
                    format_args!("\n![{}]({}.svg)\n\n{}\n", figure.caption, figure.name, figure.caption),
                );
            }
            for table in &outcome.tables {
                push_table(&mut text, table);
            }
            for note in &outcome.notes {
                push(&mut text, format_args!("\n*{}*\n", escaped(note)));
            }
        }
    }
    text
}

/// The first author and the year.
pub(super) fn short(paper: Paper) -> &'static str {
    match paper {
        Paper::CarpeDiem => "CarpeDiem 2009",
        Paper::Kaji => "Kaji 2010",
        Paper::Huang => "Huang 2012",
        Paper::Dual => "dual form",
        Paper::Druck => "Druck 2007",
    }
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("writing to a string cannot fail");
}

fn push_table(text: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    push(text, format_args!("\n{}\n\n| {} |\n", escaped(&table.title), table.header.join(" | ")));
    push(text, format_args!("|{}\n", "---|".repeat(table.header.len())));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| escaped(&cell.text)).collect();
        push(text, format_args!("| {} |\n", cells.join(" | ")));
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace("A* ", "A\\* ").replace("S1* ", "S1\\* ")
}
