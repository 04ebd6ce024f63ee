//! `kbest decoders`: the catalogue; and decoders by the names users type.

use crate::failure::Result;
use crate::output::Output;
use crate::table;
use clap::Args;
use kbest::Decoder;
use kbest::decode::{Answers, CATALOGUE};
use serde::Serialize;
use std::io::Write;

/// List the decoders: how many paths they give, whether exact, cost, advice
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  kbest decoders --json | head -c 300")]
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
    let rows: Vec<Row> = CATALOGUE
        .iter()
        .map(|entry| Row {
            name: entry.name,
            answers: match entry.answers {
                Answers::One => "1-best",
                Answers::Both => "both",
                Answers::Many => "k-best",
            },
            exact: entry.exact,
            cost: entry.cost,
            advice: entry.advice,
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

/// The decoder of a name as typed: `funnel`, `astar:m3` (with a heuristic), `beam:16` (with a width).
pub(crate) fn by_name(typed: &str) -> Result<Decoder> {
    let Some((name, option)) = typed.split_once(':') else { return Ok(Decoder::by_name(typed)?) };
    let decoder = Decoder::by_name(name)?;
    match option.parse() {
        Ok(width) => Ok(decoder.with_width(width)?),
        Err(_) => Ok(decoder.with_heuristic(option.parse()?)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_options() {
        assert_eq!(by_name("beam:7").unwrap(), Decoder::by_name("beam").unwrap().with_width(7).unwrap());
        assert!(by_name("astar:naive").is_ok());
        for bad in ["astar:m77x", "astar:3", "beam:naive", "viterbi:2", "beam:0", "vitrebi", ""] {
            assert!(by_name(bad).is_err(), "{bad}");
        }
    }
}
