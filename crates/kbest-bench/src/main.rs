//! `kbest-bench`: experiments that users of the program do not need. It repeats the papers' tables and figures, and
//! compares `auto` with single decoders over families of lattices.
//!
//! It measures, compares and reports with the same code as `kbest bench`. Exit codes are those of `kbest`.

mod families;
mod papers;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Repeat the papers' experiments, or compare auto with single decoders, on one thread
#[derive(Debug, Parser)]
#[command(
    name = "kbest-bench",
    version,
    max_term_width = 80,
    after_help = "Examples:\n  kbest-bench papers --quick --out report\n  kbest-bench families --save families.json

Exit codes: 0 success, 1 a check failed, 2 bad input or usage."
)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Families(families::Arguments),
    Papers(papers::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    kbest_cli::exit_code_of(|| match &arguments.what {
        What::Families(arguments) => families::run(arguments),
        What::Papers(arguments) => papers::run(arguments),
    })
}
