//! `kbest tag`: text in, labels out.

use crate::decoders;
use crate::failure::{Failure, Result};
use crate::output::{Counted, Output};
use crate::text::{Answered, Data, Source, in_order};
use clap::Args;
use kbest::columns::{Candidate, Writer};
use kbest::{Decode, Decoder, Model, Sequence, Tagger};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Label text with a model: columns in, the same columns and a label column out
#[derive(Debug, Args)]
#[command(after_help = "Example:
  kbest tag -m model.kbest test.tsv > tagged.tsv
  kbest tag -m model.kbest -k 5 --scores < test.tsv
  kbest tag -m model.kbest --marginals test.conllu

With -k each candidate is a block of its own behind a line `# rank score`; ranks begin at 0.")]
pub(crate) struct Arguments {
    /// Files to label; stdin if none, or `-`
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The model
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// Number of label sequences
    #[arg(short, value_name = "K")]
    k: Option<usize>,
    /// Write the score of each label sequence before it, as with -k
    #[arg(long)]
    scores: bool,
    /// Write the probability of each label behind it, as in `NOUN/0.9871`
    #[arg(long)]
    marginals: bool,
    /// Decoder, see `kbest decoders`; also `astar:m3`, `beam:16`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    decoder: String,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    data: Data,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let k = arguments.k.unwrap_or(1);
    if k == 0 || arguments.threads == Some(0) {
        return Err(Failure::Usage("-k and --threads: expected at least 1, got 0".into()));
    }
    let decoder = decoders::by_name(&arguments.decoder)?;
    Decode::<f32>::supports(&decoder, k)?;
    let model = Arc::new(Model::load(&arguments.model)?);
    let threads = arguments.threads.unwrap_or_else(cores);
    let mut output = Output::create(arguments.output.as_deref())?;
    let progress = Counted::new("sequences", arguments.output.is_none());
    let files: Vec<Option<&Path>> = match &arguments.files[..] {
        [] => vec![None],
        files => files.iter().map(|file| Some(file.as_path())).collect(),
    };
    for file in files {
        let source = arguments.data.source(file, Some(&model))?;
        let workers = (0..threads).map(|_| worker(arguments, &model, &decoder, &source, k));
        let workers = workers.collect::<Result<Vec<_>>>()?;
        let mut reader = source.open(file, false)?;
        in_order(&mut reader, workers, |answered| {
            output.write_all(&answered.text)?;
            progress.add(answered.sequences);
            Ok(())
        })?;
    }
    drop(progress);
    output.finish()
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What one thread does with a sequence.
fn worker(
    arguments: &Arguments,
    model: &Arc<Model>,
    decoder: &Decoder,
    source: &Source,
    k: usize,
) -> Result<impl FnMut(&Sequence, &mut Answered) -> Result<()> + Send> {
    let marginals = arguments.marginals;
    let mut tagger = Tagger::new(model.clone()).with_decoder(decoder.clone()).with_confidences(marginals);
    let announced = arguments.scores || arguments.k.is_some();
    let options = source.writer_options()?;
    let model = model.clone();
    let mut writer = Writer::new(Vec::new(), options);
    Ok(move |sequence: &Sequence, answered: &mut Answered| {
        let tagged = tagger.tag(sequence, k)?;
        for (rank, path) in tagged.decoded.paths.iter().enumerate() {
            let candidate = announced.then(|| Candidate { rank, score: path.score.into() });
            let names = path.labels.iter().map(|&y| model.labels().name(y).unwrap_or_default());
            if marginals {
                let sure = names.zip(&tagged.confidences[rank]).map(|(name, p)| format!("{name}/{p:.4}"));
                let labels: Vec<String> = sure.collect();
                writer.write(sequence, &[&labels[..]], candidate)?;
            } else {
                let labels: Vec<&str> = names.collect();
                writer.write(sequence, &[&labels[..]], candidate)?;
            }
        }
        answered.text.append(writer.get_mut());
        Ok(())
    })
}
