//! `kbest bench tag`: where the time of tagging goes, from text to text.
//!
//! Stages take turns on blocks of sequences, so that a block pays for one look at the clock a stage and not a token.
//! Blocks are small enough for their scores to stay in a core's own cache, as those of a single sequence do when
//! `kbest tag` works. That the division itself costs little is seen in the row `whole`: the same work, sequence by
//! sequence, timed at once.

use crate::decoders;
use crate::failure::{Failure, Result};
use crate::output::{Output, Progress};
use crate::table;
use crate::text::{Data, Source};
use clap::Args;
use kbest::columns::{Reader, Writer, WriterOptions};
use kbest::feature::FeatureBuffer;
use kbest::model::Row;
use kbest::scoring::{self, ScoreBuffer};
use kbest::{Decode, Decoded, Decoder, LabelId, Model, Scratch, Sequence, Tagger, kernel};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Time the stages of tagging: read, extract features, score, decode, write
///
/// One thread, best of N rounds for each stage. What is written goes nowhere.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  kbest bench tag model.kbest test.tsv
  kbest bench tag model.kbest test.tsv --repeat 20 --decoder viterbi-simd --json")]
pub(super) struct Arguments {
    /// The model
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The file to label
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeat: usize,
    /// Decoder, see `kbest decoders`
    #[arg(long, value_name = "NAME", default_value = "auto")]
    decoder: String,
    #[command(flatten)]
    data: Data,
    /// Also write the features as CRFsuite's items to this file; FILE must have labels
    #[arg(long, value_name = "OUT")]
    items: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Tokens in a block at most, and scores.
const TOKENS: usize = 1000;
const SCORES: usize = 1 << 16;

const STAGES: [&str; 5] = ["read", "extract", "score", "decode", "write"];

pub(super) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.repeat == 0 {
        return Err(Failure::Usage("--repeat: expected at least 1, got 0".into()));
    }
    let decoder = decoders::by_name(&arguments.decoder)?;
    let model = Arc::new(Model::load(&arguments.model)?);
    if model.voters().is_some() {
        return Err(Failure::Usage(
            "expected a model of one set of weights, got an ensemble that votes".into(),
        ));
    }
    let source = arguments.data.source(Some(&arguments.file), Some(&model))?;
    let work = Work { model, decoder, source, file: &arguments.file };
    let progress = Progress::new(arguments.repeat, false);
    let mut report = Report::new(&work.model);
    for round in 0..arguments.repeat {
        let mut stages = work.in_stages(&mut report, round == 0)?.to_vec();
        stages.push(work.whole()?);
        for (best, seconds) in report.stages.iter_mut().zip(stages) {
            best.seconds = best.seconds.min(seconds);
        }
        progress.step();
    }
    drop(progress);
    if report.tokens == 0 {
        return Err(Failure::input(
            &arguments.file.display().to_string(),
            "expected a sequence to label, got none",
        ));
    }
    report.finish();
    if let Some(path) = &arguments.items {
        work.write_items(path)?;
    }
    let mut output = Output::create(None)?;
    if arguments.json {
        serde_json::to_writer_pretty(&mut output, &report).map_err(std::io::Error::from)?;
        writeln!(output)?;
    } else {
        output.write_all(report.text().as_bytes())?;
    }
    output.finish()
}

/// What is measured.
struct Work<'a> {
    model: Arc<Model>,
    decoder: Decoder,
    source: Source,
    file: &'a Path,
}

/// One sequence on its way; filled again and again.
#[derive(Default)]
struct Item {
    sequence: Sequence,
    features: FeatureBuffer,
    scores: ScoreBuffer,
    decoded: Decoded<f32>,
}

impl Work<'_> {
    /// Seconds of each stage, summed over all blocks. Counts into the report if asked to.
    fn in_stages(&self, report: &mut Report, counting: bool) -> Result<[f64; 5]> {
        let room = (SCORES / self.model.labels().len()).clamp(1, TOKENS);
        let mut reader = self.source.open_to_tag(Some(self.file), false)?;
        let mut writer = Writer::new(Vec::new(), self.source.writer_options()?);
        let mut scratch = Scratch::new();
        let mut items: Vec<Item> = Vec::new();
        let mut seconds = [0.0; 5];
        loop {
            let mut clock = Clock::start(&mut seconds);
            let filled = fill(&mut reader, &mut items, room)?;
            clock.lap();
            if filled == 0 {
                return Ok(seconds);
            }
            let block = &mut items[..filled];
            for item in &mut *block {
                self.model.extractor().extract(&item.sequence, &mut item.features)?;
            }
            clock.lap();
            let mut lattices = Vec::with_capacity(filled);
            for Item { features, scores, decoded, .. } in &mut *block {
                lattices.push((scoring::lattice(&*self.model, features, scores)?, decoded));
            }
            clock.lap();
            for (lattice, decoded) in lattices {
                self.decoder.decode_into(&lattice, 1, &mut scratch, decoded)?;
            }
            clock.lap();
            for item in &*block {
                self.write(&mut writer, &item.sequence, &item.decoded.best().labels)?;
            }
            clock.lap();
            if counting {
                block.iter().for_each(|item| report.count(&self.model, item));
            }
        }
    }

    /// Seconds of the same work, sequence by sequence.
    fn whole(&self) -> Result<f64> {
        let begun = Instant::now();
        let mut reader = self.source.open_to_tag(Some(self.file), false)?;
        let mut writer = Writer::new(Vec::new(), self.source.writer_options()?);
        let mut tagger = Tagger::new(self.model.clone()).with_decoder(self.decoder.clone());
        let mut sequence = Sequence::new();
        while reader.read_into(&mut sequence)? {
            let tagged = tagger.tag(&sequence, 1)?;
            self.write(&mut writer, &sequence, &tagged.decoded.best().labels)?;
        }
        Ok(begun.elapsed().as_secs_f64())
    }

    /// The features as another program can read them, to be compared with: names of known node features and the label.
    fn write_items(&self, path: &Path) -> Result<()> {
        let mut reader = self.source.open_labelled(Some(self.file))?;
        let mut writer = Writer::new(Output::create(Some(path))?, WriterOptions::whole_items());
        let (mut item, mut out) = (Item::default(), Sequence::new());
        let known = self.model.extractor().nodes();
        while reader.read_into(&mut item.sequence)? {
            self.model.extractor().extract(&item.sequence, &mut item.features)?;
            out.clear();
            for t in 0..item.sequence.len() {
                out.push_position();
                let values = item.features.values(t);
                for (i, &id) in item.features.nodes(t).iter().enumerate() {
                    let name = String::from_utf8_lossy(known.key(id).unwrap_or_default());
                    out.push_valued_cell(&name, values.map_or(1.0, |values| values[i]));
                }
                out.set_label(item.sequence.label(t).unwrap_or_default());
            }
            writer.write::<&str>(&out, &[], None)?;
        }
        writer.into_inner().finish()
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>, sequence: &Sequence, labels: &[LabelId]) -> Result<()> {
        let names: Vec<&str> =
            labels.iter().map(|&y| self.model.labels().name(y).unwrap_or_default()).collect();
        writer.get_mut().clear();
        Ok(writer.write(sequence, &[&names[..]], None)?)
    }
}

/// Reads sequences until there is no more room; gives their number.
fn fill(reader: &mut Reader, items: &mut Vec<Item>, room: usize) -> Result<usize> {
    let (mut filled, mut tokens) = (0, 0);
    while tokens < room {
        if filled == items.len() {
            items.push(Item::default());
        }
        if !reader.read_into(&mut items[filled].sequence)? {
            break;
        }
        tokens += items[filled].sequence.len();
        filled += 1;
    }
    Ok(filled)
}

/// Adds up times, stage by stage.
struct Clock<'a> {
    seconds: std::slice::IterMut<'a, f64>,
    since: Instant,
}

impl<'a> Clock<'a> {
    fn start(seconds: &'a mut [f64]) -> Self {
        Clock { seconds: seconds.iter_mut(), since: Instant::now() }
    }

    /// The next stage is done.
    fn lap(&mut self) {
        let now = Instant::now();
        if let Some(seconds) = self.seconds.next() {
            *seconds += (now - self.since).as_secs_f64();
        }
        self.since = now;
    }
}

#[derive(Debug, Serialize)]
struct Report {
    labels: usize,
    sequences: usize,
    tokens: usize,
    level: &'static str,
    /// Known node features of a token.
    features_per_token: f64,
    /// Bytes of weights that scoring a token reads.
    weight_bytes_per_token: f64,
    /// From text to text, undivided.
    tokens_per_second: f64,
    stages: Vec<Stage>,
}

#[derive(Debug, Serialize)]
struct Stage {
    stage: &'static str,
    /// Best round.
    seconds: f64,
    ns_per_token: f64,
    tokens_per_second: f64,
}

impl Report {
    fn new(model: &Model) -> Self {
        let stage =
            |stage| Stage { stage, seconds: f64::INFINITY, ns_per_token: 0.0, tokens_per_second: 0.0 };
        Report {
            labels: model.labels().len(),
            sequences: 0,
            tokens: 0,
            level: kernel::level().name(),
            features_per_token: 0.0,
            weight_bytes_per_token: 0.0,
            tokens_per_second: 0.0,
            stages: STAGES.into_iter().chain(["whole"]).map(stage).collect(),
        }
    }

    /// Adds to the sums.
    fn count(&mut self, model: &Model, item: &Item) {
        self.sequences += 1;
        self.tokens += item.sequence.len();
        for t in 0..item.features.len() {
            let ids = item.features.nodes(t);
            self.features_per_token += ids.len() as f64;
            self.weight_bytes_per_token +=
                ids.iter().map(|&id| bytes(model.nodes().row(id)) as f64).sum::<f64>();
        }
    }

    /// From sums to means.
    fn finish(&mut self) {
        let tokens = self.tokens as f64;
        self.features_per_token /= tokens;
        self.weight_bytes_per_token /= tokens;
        for stage in &mut self.stages {
            stage.ns_per_token = 1e9 * stage.seconds / tokens;
            stage.tokens_per_second = tokens / stage.seconds;
            self.tokens_per_second = stage.tokens_per_second; // the whole comes last
        }
    }

    fn text(&self) -> String {
        let row = |stage: &Stage| {
            let Stage { stage, seconds, ns_per_token, tokens_per_second } = stage;
            let numbers = [*seconds, *ns_per_token, *tokens_per_second].map(table::number);
            [vec![(*stage).to_owned()], numbers.to_vec()].concat()
        };
        let rows: Vec<Vec<String>> = self.stages.iter().map(row).collect();
        format!(
            "{} sequences, {} tokens, {} labels, one thread, {}\n{} features and {} bytes of weights a token\n\n{}",
            table::grouped(self.sequences),
            table::grouped(self.tokens),
            table::grouped(self.labels),
            self.level,
            table::number(self.features_per_token),
            table::number(self.weight_bytes_per_token),
            table::aligned(&["stage", "seconds", "ns/token", "tokens/s"], &[false, true, true, true], &rows)
        )
    }
}

/// What of a row is read, where it begins and ends included.
fn bytes(row: Row<'_>) -> usize {
    2 * size_of::<u32>()
        + match row {
            Row::List(list) => size_of_val(list),
            Row::Whole(whole) => size_of_val(whole),
        }
}
