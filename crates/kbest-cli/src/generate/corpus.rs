//! `kbest generate corpus`: labelled text in an artificial language.

use crate::failure::{Failure, Result};
use crate::output::Output;
use clap::Args;
use kbest::Sequence;
use kbest::synthetic::{Language, Text};
use kbest::text::{Writer, WriterOptions};
use std::path::{Path, PathBuf};

/// Generate labelled text in an artificial language with rich morphology
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest generate corpus --labels 1000 -o train.tsv --test test.tsv
  kbest generate corpus --labels 50 --seed 7 | head -20

Each line holds a word, a tab and its label; a blank line ends each sentence. Words follow Zipf's law and are \
ambiguous; neighbours agree in case, number and gender. With at least as many sentences as labels, every label occurs.")]
pub(crate) struct Arguments {
    /// File to write; stdout if absent or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Number of labels, from 2 to 10000
    #[arg(long, value_name = "L", default_value_t = 1000)]
    labels: usize,
    /// Number of sentences [default: 5 L, at least 1000]
    #[arg(long, value_name = "N")]
    sentences: Option<u64>,
    /// Average number of words per sentence
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tokens_per_sentence: u32,
    /// Also write different sentences of the same language to this file
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Number of sentences in the --test file [default: a tenth of --sentences]
    #[arg(long, value_name = "N", requires = "test")]
    test_sentences: Option<u64>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(test) = &arguments.test
        && (test == Path::new("-") || Some(test) == arguments.output.as_ref())
    {
        let got = test.display();
        return Err(Failure::Usage(format!("--test: expected a file different from --output, got `{got}`")));
    }
    let language = Language::new(arguments.labels, arguments.seed)?;
    let tokens = arguments.tokens_per_sentence as usize;
    let sentences = arguments.sentences.unwrap_or(5 * arguments.labels.max(200) as u64);
    write(arguments.output.as_deref(), sentences, language.text(0, tokens))?;
    if let Some(test) = &arguments.test {
        let sentences = arguments.test_sentences.unwrap_or(sentences.div_ceil(10));
        write(Some(test), sentences, language.text(1, tokens))?;
    }
    Ok(())
}

fn write(path: Option<&Path>, sentences: u64, mut text: Text<'_>) -> Result<()> {
    let mut writer = Writer::new(Output::create(path)?, WriterOptions::columns());
    let mut sentence = Sequence::new();
    for _ in 0..sentences {
        text.fill(&mut sentence);
        writer.write::<&str>(&sentence, &[], None)?;
    }
    writer.into_inner().finish()
}
