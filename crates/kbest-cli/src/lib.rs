//! The `kbest` command line: one file or folder per subcommand. Errors, exit codes and broken pipes are handled here.
//!
//! Public modules are what `kbest-bench` shares with the program. They may change in any release.
//!
//! Exit codes: 0 success, 1 a check failed, 2 bad input or usage (one message on stderr). A closed pipe
//! (`kbest decode ... | head`) is not an error.

#![allow(missing_docs)] // of what only kbest-bench uses

pub mod bench;
mod calibrate;
mod convert;
mod decode;
mod decoders;
pub mod demo;
mod evaluate;
mod explain;
pub mod failure;
pub mod generate;
pub mod input;
mod inspect;
mod interrupt;
mod learn_bound;
mod options;
pub mod output;
mod parallel;
mod segments;
mod shell;
pub mod stable_hash;
pub mod svg;
pub mod table;
mod tag;
mod text;
mod train;
pub mod warning;

use clap::{CommandFactory, Parser, Subcommand};
use failure::{Failure, Result};
use std::io::Write;
use std::process::ExitCode;

/// Exact sequence labelling with thousands of labels: 1-best and k-best, fast.
#[derive(Debug, Parser)]
#[command(name = "kbest", version, propagate_version = true, max_term_width = 80, after_help = EXAMPLE)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLE: &str = "\
Examples:
  kbest generate corpus --labels 200 -o train.tsv --test test.tsv
  kbest train train.tsv -m model.kbest
  kbest tag -m model.kbest test.tsv | head
  kbest evaluate -m model.kbest test.tsv
  kbest explain -m model.kbest test.tsv --html page.html

With scores instead of text:
  kbest generate lattice --labels 1000 -o lattice.npz
  kbest decode lattice.npz -k 5 | head -3
  kbest bench decode lattice.npz

Exit codes: 0 success, 1 a check failed, 2 bad input or usage.";

#[derive(Debug, Subcommand)]
enum Command {
    Decode(decode::Arguments),
    Decoders(decoders::Arguments),
    Train(Box<train::Arguments>),
    Tag(tag::Arguments),
    Evaluate(evaluate::Arguments),
    Explain(explain::Arguments),
    Calibrate(calibrate::Arguments),
    Inspect(inspect::Arguments),
    LearnBound(learn_bound::Arguments),
    Convert(convert::Arguments),
    Bench(bench::Arguments),
    Generate(generate::Arguments),
    Demo(demo::Arguments),
    Completions(shell::Completions),
    Man(shell::Manual),
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Decode(arguments) => decode::run(arguments),
        Command::Decoders(arguments) => decoders::run(arguments),
        Command::Train(arguments) => train::run(arguments),
        Command::Tag(arguments) => tag::run(arguments),
        Command::Evaluate(arguments) => evaluate::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Calibrate(arguments) => calibrate::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::LearnBound(arguments) => learn_bound::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Completions(arguments) => shell::completions(arguments, Arguments::command()),
        Command::Man(arguments) => shell::manual(arguments, Arguments::command()),
    }
}

/// Parses the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    exit_code_of(|| run(&arguments.command))
}

/// Runs a command, reports its failure, and says with which code the process should exit.
pub fn exit_code_of(run: impl FnOnce() -> Result<()>) -> ExitCode {
    match kbest::simd::check_level().map_err(Failure::from).and_then(|_| run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints one message on stderr; a closed stderr is ignored.
fn report(failure: &Failure) {
    if failure.exit_code() != 0 {
        // Names and texts from files may contain anything.
        let _ = writeln!(std::io::stderr(), "kbest: {}", kbest::escaped(&failure.to_string()));
    }
}
