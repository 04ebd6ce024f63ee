//! `kbest decoders`: the catalogue.

use crate::failure::Result;
use crate::output::Output;
use crate::table;
use clap::Args;
use kbest::decode::{Answers, CATALOGUE, Entry};
use serde::Serialize;
use std::io::Write;

/// List the decoders, their cost and when to use them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  kbest decoders\n  kbest decoders --json")]
pub(crate) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    answers: &'static str,
    exact: bool,
    cost: &'static str,
    advice: &'static str,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let answers = |answers: Answers| match answers {
        Answers::One => "1-best",
        Answers::Both => "both",
        Answers::Many => "k-best",
    };
    let rows: Vec<Row> = CATALOGUE
        .iter()
        .map(|&Entry { name, answers: many, exact, cost, advice, .. }| Row {
            name,
            answers: answers(many),
            exact,
            cost,
            advice,
        })
        .collect();
    let mut output = Output::create(None)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut output, &rows).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        let cells: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                let exact = if row.exact { "yes" } else { "no" };
                [row.name, row.answers, exact, row.cost, row.advice].map(String::from).to_vec()
            })
            .collect();
        let header = ["decoder", "answers", "exact", "time", "advice"];
        write!(output, "{}", table::aligned(&header, &[false; 5], &cells))?;
    }
    output.finish()
}
