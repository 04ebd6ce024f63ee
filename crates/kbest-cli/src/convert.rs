//! `kbest convert`: from models of other programs to kbest models, and from any model to safetensors.

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::keep_inputs;
use crate::table::grouped;
use clap::{Args, ValueEnum};
use kbest::model::AnyModel;
use kbest::{Model, SegmentModel};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Convert a model of CRFsuite, CRF++ or Wapiti to kbest, or any model to safetensors
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest convert chunks.crfsuite chunks.kbest
  kbest convert model.txt.gz model.kbest
  kbest convert model.kbest weights.safetensors

The format of the input is recognised by its first bytes; gzip is unpacked. CRF++ models must be text (`crf_learn -t` \
writes them). Nothing is written unless the whole input can be read.")]
pub(crate) struct Arguments {
    /// The model to read
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Output format [default: safetensors if OUT ends in .safetensors, else kbest]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<Target>,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    Kbest,
    // Weights and names as tensors.
    Safetensors,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { input, output, .. } = arguments;
    keep_inputs(output, [input.as_path()])?;
    interrupt::on_end_remove_unfinished(output);
    let is_safetensors = output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("safetensors"));
    let by_ending = if is_safetensors { Target::Safetensors } else { Target::Kbest };
    let model = match AnyModel::load(input)? {
        AnyModel::Positions(model) => *model,
        AnyModel::Segments(model) => return segments(arguments, &model, by_ending),
    };
    match arguments.to.unwrap_or(by_ending) {
        Target::Kbest => model.save(output)?,
        Target::Safetensors => model.to_safetensors(output)?,
    }
    if !arguments.quiet {
        // A closed stderr is ignored.
        let _ = writeln!(std::io::stderr(), "{}", summary(&model, output));
    }
    Ok(())
}

/// A model of segments has a file format of its own, and no other.
fn segments(arguments: &Arguments, model: &SegmentModel, by_ending: Target) -> Result<()> {
    if arguments.to.unwrap_or(by_ending) == Target::Safetensors {
        let problem = "expected a model of single positions to write as safetensors, got one of segments";
        return Err(Failure::input(&arguments.input.display().to_string(), problem));
    }
    Ok(model.save(&arguments.output)?)
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
