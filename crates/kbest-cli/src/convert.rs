//! `kbest convert`: models of other programs become ours; models become safetensors.

use crate::failure::{Failure, Result};
use crate::table::grouped;
use clap::{Args, ValueEnum};
use kbest::Model;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Turn a model of CRFsuite, CRF++ or Wapiti into one of ours, or any of them into safetensors
#[derive(Debug, Args)]
#[command(after_help = "Example:
  kbest convert chunks.crfsuite chunks.kbest
  kbest convert model.txt.gz model.kbest       # crf_learn -t writes model.txt; Wapiti's models are text
  kbest convert model.kbest weights.safetensors

What the input is, its first bytes tell. Nothing is written unless all of it could be read.")]
pub(crate) struct Arguments {
    /// The model to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write; `.safetensors` exports the weights
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// What to write [default: by the ending of OUT]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<Target>,
    /// Tell nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// A model of ours
    Kbest,
    /// Weights and names as tensors
    Safetensors,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { input, output, .. } = arguments;
    if same_file(input, output) {
        let problem = "expected another file to write to than to read from, got the same";
        return Err(Failure::input(&output.display().to_string(), problem));
    }
    let is_safetensors = output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("safetensors"));
    let by_ending = if is_safetensors { Target::Safetensors } else { Target::Kbest };
    let model = Model::load_any(input)?;
    match arguments.to.unwrap_or(by_ending) {
        Target::Kbest => model.save(output)?,
        Target::Safetensors => model.to_safetensors(output)?,
    }
    if !arguments.quiet {
        // A stderr that is gone has nobody to tell.
        let _ = writeln!(std::io::stderr(), "{}", summary(&model, output));
    }
    Ok(())
}

/// Links are followed; a file that is not there is no other.
fn same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

fn summary(model: &Model, output: &Path) -> String {
    let about = |wanted: &str| model.about().iter().find(|(name, _)| name == wanted).map(|(_, text)| text);
    let bytes = std::fs::metadata(output).map_or(0, |data| data.len());
    format!(
        "{}: {}{} labels, {} features, {} weights, {} bytes",
        output.display(),
        about("origin").map_or_else(String::new, |origin| format!("from a {origin}, ")),
        grouped(model.labels().len()),
        grouped(model.nodes().features() + model.edges().features()),
        grouped(model.nodes().stored() + model.edges().stored()),
        grouped(bytes as usize),
    )
}
