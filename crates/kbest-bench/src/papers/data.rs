//! The data sets: read from a folder or made up, trained models and their lattices.

use kbest::feature::{FeatureSource, Preset};
use kbest::random::Random;
use kbest::scoring::{ModelMemory, Scorer};
use kbest::synthetic::{Addresses, Language};
use kbest::text::{Reader, ReaderOptions};
use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Edges, Lattice, Model, Sequence};
use kbest_cli::demo::dense_edges;
use kbest_cli::failure::{Failure, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much is measured, so that a run ends in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) quick: bool,
    /// Test sentences decoded per task.
    pub(crate) sentences: usize,
    /// Rounds in which decoders take turns.
    pub(crate) rounds: usize,
    /// Seconds a decoder may take in its first round.
    pub(crate) limit: f64,
    /// The same for each `k` of the figure of speed against `k`.
    pub(crate) limit_of_k: f64,
    /// Passes over the training data.
    pub(crate) epochs: usize,
    /// Parts of the training data, and passes, of the hundred classifiers.
    pub(crate) tenths: &'static [usize],
    pub(crate) iterations: usize,
    /// Training sentences of the comparison of training times, by number of labels: enough for a few seconds of Viterbi.
    pub(crate) training_work: f64,
    /// Training and test sequences of kernels.
    pub(crate) dual: (usize, usize),
    /// Rounds of the decoders of segments, and the most test records.
    pub(crate) segment_rounds: usize,
    pub(crate) records: usize,
}

impl Size {
    pub(crate) const FULL: Size = Size {
        quick: false,
        sentences: 300,
        rounds: 5,
        limit: 5.0,
        limit_of_k: 1.5,
        epochs: 10,
        tenths: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        iterations: 10,
        training_work: 4e10,
        dual: (1000, 500),
        segment_rounds: 3,
        records: 602,
    };

    pub(crate) const QUICK: Size = Size {
        quick: true,
        sentences: 12,
        rounds: 1,
        limit: 0.1,
        limit_of_k: 0.05,
        epochs: 2,
        tenths: &[5, 10],
        iterations: 2,
        training_work: 2e7,
        dual: (20, 10),
        segment_rounds: 1,
        records: 20,
    };
}

/// Labelled sequences.
pub(crate) struct Corpus {
    pub(crate) train: Vec<Sequence>,
    pub(crate) test: Vec<Sequence>,
}

/// The data folder, or what is made up in its place.
pub(crate) struct Data {
    folder: Option<PathBuf>,
    pub(crate) size: Size,
    /// Where trained models are kept for a run that is resumed.
    kept: PathBuf,
    /// The last trained task: steps of one task follow one another.
    trained: Option<(String, Arc<Trained>)>,
}

/// A task with its model and the lattices of its test sentences.
pub(crate) struct Trained {
    pub(crate) model: Model,
    /// The test sentences that are decoded.
    pub(crate) test: Vec<Sequence>,
    /// Edges as one matrix, as the papers' programs had them.
    pub(crate) edges: Edges<f32>,
    nodes: Vec<Vec<f32>>,
}

impl Trained {
    pub(crate) fn lattices(&self) -> Result<Vec<Lattice<'_, f32>>> {
        let (start, end) = (self.model.start(), self.model.end());
        let mut lattices = Vec::with_capacity(self.nodes.len());
        for nodes in &self.nodes {
            lattices.push(Lattice::new(nodes.as_slice(), &self.edges)?.with_borders(start, end)?);
        }
        Ok(lattices)
    }

    /// Share of tokens with the right label, if these are the answers to the first sentences.
    pub(crate) fn accuracy<'p>(&self, answers: impl Iterator<Item = &'p [u32]>) -> f64 {
        let (mut right, mut all) = (0, 0);
        for (sentence, answer) in self.test.iter().zip(answers) {
            all += sentence.len();
            let label = |y: u32| self.model.labels().name(y);
            right += answer.iter().enumerate().filter(|&(t, &y)| sentence.label(t) == label(y)).count();
        }
        right as f64 / all.max(1) as f64
    }
}

/// Data sets made up for `--quick`: name and number of labels.
const LANGUAGES: [(&str, usize); 7] = [
    ("ewt-pos", 20),
    ("conll2000-joint", 60),
    ("spanish-joint", 50),
    ("hpsg-lextype", 80),
    ("hungarian-morph", 100),
    ("czech-morph", 90),
    ("snips-joint", 30),
];

impl Data {
    pub(crate) fn new(folder: Option<PathBuf>, size: Size, kept: PathBuf) -> Self {
        Data { folder, size, kept, trained: None }
    }

    /// A data set; `Err` with the reason, inside `Ok`, if it is not in the folder.
    ///
    /// # Errors
    /// Errors of reading, with file and line.
    pub(crate) fn corpus(&self, name: &str) -> Result<std::result::Result<Corpus, String>> {
        let Some(folder) = &self.folder else { return Ok(Ok(made_up(name)?)) };
        let [Some(train), Some(test)] = PARTS.map(|part| file_of(folder, name, part)) else {
            return Ok(Err(format!(
                "{name}: not in the data folder (expected {name}/train.tsv and {name}/test.tsv)"
            )));
        };
        let mut corpus = Corpus { train: read(&train, name)?, test: read(&test, name)? };
        if self.size.quick {
            corpus.train.truncate(120);
            corpus.test.truncate(20);
        }
        Ok(Ok(corpus))
    }

    /// A task's trained model, from memory, from an earlier run, or trained now.
    pub(crate) fn trained(&mut self, name: &str) -> Result<std::result::Result<Arc<Trained>, String>> {
        if let Some((of, trained)) = &self.trained
            && of == name
        {
            return Ok(Ok(Arc::clone(trained)));
        }
        let corpus = match self.corpus(name)? {
            Ok(corpus) => corpus,
            Err(reason) => return Ok(Err(reason)),
        };
        let file = model_file(&self.kept, name);
        let model = match Model::load(&file) {
            Ok(model) => model,
            Err(_) => {
                let data = TrainingSet::new(&corpus.train, FeatureSource::Preset(Preset::Words), 1)?;
                let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
                for _ in 0..self.size.epochs {
                    trainer.epoch(&mut |_| ())?;
                }
                let model = trainer.model()?;
                model.save(&file)?;
                model
            }
        };
        let test = sample(corpus.test, self.size.sentences);
        let mut memory = ModelMemory::default();
        let mut nodes = Vec::with_capacity(test.len());
        for sentence in &test {
            nodes.push(model.lattice(sentence, &mut memory)?.nodes().to_vec());
        }
        let trained = Arc::new(Trained { edges: dense_edges(&model)?, model, test, nodes });
        self.trained = Some((name.to_owned(), Arc::clone(&trained)));
        Ok(Ok(trained))
    }
}

/// The files of a data set, without their endings.
pub(crate) const PARTS: [&str; 2] = ["train", "test"];

/// The file of one part of a data set, if there is one.
pub(crate) fn file_of(folder: &Path, name: &str, part: &str) -> Option<PathBuf> {
    let named = |ending: &str| folder.join(name).join(format!("{part}.{ending}"));
    ["tsv", "tsv.gz"].map(named).into_iter().find(|file| file.exists())
}

/// Where a task's trained model is kept.
pub(crate) fn model_file(kept: &Path, name: &str) -> PathBuf {
    kept.join(format!("{name}.kbest"))
}

/// Data sets with columns that mean something: how many there are, and which of them are numbers from 0 to 255.
const TABLES: [(&str, usize, std::ops::Range<usize>); 4] = [
    ("bach-harmony", 17, 2..14),
    ("bach-harmony", 17, 15..16),
    ("doclines", 25, 0..24),
    ("letters", 17, 0..16),
];

/// The sequences of a file that have positions.
fn read(file: &Path, name: &str) -> Result<Vec<Sequence>> {
    let tables = || TABLES.iter().filter(|(task, ..)| *task == name);
    let mut options = ReaderOptions::columns().labelled(true);
    if let Some(&(_, columns, _)) = tables().next() {
        options = options.column_count(columns);
    }
    let mut reader = Reader::open(file, &options)?;
    let mut sequences = vec![];
    loop {
        let mut sequence = Sequence::new();
        if !reader.read_into(&mut sequence)? {
            break;
        }
        for (t, column) in (0..sequence.len())
            .flat_map(|t| tables().flat_map(|(.., numbers)| numbers.clone()).map(move |column| (t, column)))
        {
            let cell = sequence.cell(t, column).unwrap_or_default();
            if cell.parse::<u8>().is_err() {
                let place = format!("{}:{}", file.display(), reader.first_line() + t as u64);
                let problem = format!("column {}: expected a number from 0 to 255, got `{cell}`", column + 1);
                return Err(Failure::input(&place, problem));
            }
        }
        if !sequence.is_empty() {
            sequences.push(sequence);
        }
    }
    match sequences.is_empty() {
        true => Err(Failure::input(&file.display().to_string(), "expected at least one sequence, got none")),
        false => Ok(sequences),
    }
}

/// So many sequences, taken at random but always the same: files may be sorted by source.
pub(crate) fn sample(mut sequences: Vec<Sequence>, count: usize) -> Vec<Sequence> {
    if sequences.len() <= count {
        return sequences;
    }
    let chosen = Random::new(1).shuffled(sequences.len());
    chosen[..count].iter().map(|&i| std::mem::take(&mut sequences[i as usize])).collect()
}

/// A small data set of the same kind as the real one.
fn made_up(name: &str) -> Result<Corpus> {
    if let Some(&(_, labels)) = LANGUAGES.iter().find(|(task, _)| *task == name) {
        let language = Language::new(labels, 1)?;
        let text = |part, count| language.text(part, 10).take(count).collect();
        return Ok(Corpus { train: text(0, 120), test: text(1, 12) });
    }
    let mut random = Random::new(2);
    Ok(match name {
        "bach-harmony" => {
            Corpus { train: events(6, || music(&mut random)), test: events(2, || music(&mut random)) }
        }
        "letters" => {
            Corpus { train: events(8, || letters(&mut random)), test: events(3, || letters(&mut random)) }
        }
        "doclines" => {
            Corpus { train: events(6, || lines(&mut random)), test: events(3, || lines(&mut random)) }
        }
        "conll2000" => {
            let language = Language::new(8, 3)?;
            Corpus {
                train: language.text(0, 8).take(40).collect(),
                test: language.text(1, 8).take(10).collect(),
            }
        }
        _ => Corpus {
            train: Addresses::new(1, 0).take(60).collect(),
            test: Addresses::new(1, 1).take(20).collect(),
        },
    })
}

fn events(count: usize, mut one: impl FnMut() -> Sequence) -> Vec<Sequence> {
    (0..count).map(|_| one()).collect()
}

const NOTES: [&str; 12] = ["C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B"];

/// Chords that go down by fifths, mostly; their notes with some missing and some added.
fn music(random: &mut Random) -> Sequence {
    let mut sequence = Sequence::new();
    let mut root = random.below(12);
    for t in 0..12 {
        if random.chance(0.6) {
            root = (root + 5) % 12;
        }
        let minor = [2, 4, 9].contains(&root);
        let mut sounds = [false; 12];
        for interval in [0, if minor { 3 } else { 4 }, 7] {
            sounds[(root + interval) % 12] |= random.chance(0.85);
        }
        sounds[random.below(12)] |= random.chance(0.3);
        let mut cells = vec!["chorale".to_owned(), (t + 1).to_string()];
        cells.extend(sounds.map(|sounds| u8::from(sounds).to_string()));
        cells.extend([NOTES[root].to_owned(), (1 + random.below(5)).to_string()]);
        sequence.push(&cells);
        sequence.set_label(&format!("{:_<2}{}", NOTES[root], if minor { 'm' } else { 'M' }));
    }
    sequence
}

/// Letters of an alphabet of eight, by Zipf's law, each with sixteen noisy numbers.
fn letters(random: &mut Random) -> Sequence {
    let mut sequence = Sequence::new();
    for _ in 0..20 {
        let letter = random.low(8);
        let cells: Vec<String> = (0..16)
            .map(|i| ((letter * 5 + i * 3) % 13 + usize::from(random.chance(0.4))).min(15).to_string())
            .collect();
        sequence.push(&cells);
        sequence.set_label(["_", "E", "T", "A", "O", "I", "N", "S"][letter]);
    }
    sequence
}

/// Head, body and tail of a document, told by booleans that are mostly right.
fn lines(random: &mut Random) -> Sequence {
    let mut sequence = Sequence::new();
    for t in 0..40 {
        let part = usize::from(t > 5) + usize::from(t > 33);
        let cells: Vec<&str> =
            (0..24).map(|i| if (i % 3 == part) == random.chance(0.8) { "1" } else { "0" }).collect();
        sequence.push(&cells);
        sequence.set_label(["head", "text", "tail"][part]);
    }
    sequence
}

/// The labels of some sequences, in order of their first occurrence.
pub(crate) fn labels_of<'s>(sequences: impl Iterator<Item = &'s Sequence>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut labels = vec![];
    for sequence in sequences {
        for label in (0..sequence.len()).filter_map(|t| sequence.label(t)) {
            if seen.insert(label.to_owned()) {
                labels.push(label.to_owned());
            }
        }
    }
    labels
}
