//! Readers of the library, given arbitrary bytes.
#![allow(clippy::unwrap_used)] // what is unwrapped here cannot fail, whatever the bytes

use kbest::decode::{Lattices, catalogue};
use kbest::feature::FeatureSource;
use kbest::model::import;
use kbest::pattern::Patterns;
use kbest::scoring::{Scorer, SegmentModelMemory};
use kbest::segment::{self, Estimate, SegmentLattice, SegmentScores};
use kbest::text::{Reader, ReaderOptions, TextFormat, Writer};
use kbest::train::{Perceptron, PerceptronOptions, TrainingSet, load_checkpoint};
use kbest::transition::Transitions;
use kbest::{
    Decode, Decoder, Edges, Float, LabelSet, Lattice, Model, Scratch, SegmentModel, Sequence, Tagger,
    Template,
};
use std::io::Cursor;
use std::sync::{Arc, LazyLock};

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// All of them, by the name of their corpus.
pub const TARGETS: [(&str, Target); 15] = [
    ("model", model),
    ("segment_model", segment_model),
    ("checkpoint", checkpoint),
    ("crfsuite", crfsuite),
    ("crfpp", crfpp),
    ("wapiti", wapiti),
    ("template", template),
    ("patterns", patterns),
    ("constraints", constraints),
    ("columns", columns),
    ("conllu", conllu),
    ("jsonl", jsonl),
    ("items", items),
    ("lattice", lattice),
    ("segments", segments),
];

/// Tags something with a model that could be read.
fn use_model(model: Model) {
    let mut sequence = Sequence::new();
    for cells in [["time", "1"], ["", "-2.5e3"], ["ﬂies", "x"]] {
        sequence.push(cells);
    }
    let mut tagger = Tagger::new(Arc::new(model)).with_confidences(true);
    drop(tagger.tag(&sequence, 2).map(|tagged| tagged.decoded.paths.len()));
}

/// A model file. Checksums are put right, so that what lies behind them is reached.
pub fn model(data: &[u8]) {
    let mut bytes = data.to_vec();
    put_checksums_right(&mut bytes);
    if let Ok(model) = Model::from_bytes(&bytes, "fuzz") {
        let again = model.to_bytes().unwrap();
        assert_eq!(again, Model::from_bytes(&again, "again").unwrap().to_bytes().unwrap());
        if model.labels().len() < 1000 {
            use_model(model);
        }
    }
}

/// A file of a model of segments. What it answers does not depend on the decoder, however strange its weights are.
pub fn segment_model(data: &[u8]) {
    let mut bytes = data.to_vec();
    put_checksums_right(&mut bytes);
    let Ok(model) = SegmentModel::from_bytes(&bytes, "fuzz") else { return };
    let again = model.to_bytes().unwrap();
    assert_eq!(again, SegmentModel::from_bytes(&again, "again").unwrap().to_bytes().unwrap());
    if model.labels().len() >= 1000 {
        return;
    }
    let mut sequence = Sequence::new();
    for cells in [["(New", "1"], ["York,", "1"], ["", "2"], ["NY", "x"], ["10001", "x"]] {
        sequence.push(cells);
    }
    let (mut memory, mut scratch) = (SegmentModelMemory::default(), segment::Scratch::default());
    let learned = Decoder::SemiAstar(Estimate::Learned);
    model.prepare_for(&learned, &mut memory);
    if let Ok(lattice) = model.lattice(&sequence, &mut memory) {
        drop(learned.decode_segments(&lattice, 1, &mut scratch));
    }
    model.prepare_for(&Decoder::default(), &mut memory);
    if let Ok(lattice) = model.lattice(&sequence, &mut memory) {
        segments_agree(&lattice, 3);
        drop(segment::Marginals::new(&lattice).map(|marginals| marginals.log_partition()));
    }
}

/// Sets the length, the checksums of the sections and that of the header, as `docs/formats/model-file.md` describes them.
fn put_checksums_right(bytes: &mut [u8]) {
    const ROW: usize = 64;
    if bytes.len() < ROW {
        return;
    }
    let length = bytes.len() as u64;
    bytes[32..40].copy_from_slice(&length.to_le_bytes());
    let number =
        |bytes: &[u8], at: usize| usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()));
    let sections = u32::from_le_bytes(bytes[28..32].try_into().unwrap()) as usize;
    let sections = sections.min(bytes.len() / ROW - 1);
    for row in (1..=sections).map(|i| i * ROW) {
        let (start, length) = (number(bytes, row + 32), number(bytes, row + 40));
        let (Ok(start), Ok(length)) = (start, length) else { continue };
        if let Some(section) = start.checked_add(length).and_then(|end| bytes.get(start..end)) {
            let checksum = crc32(section.iter());
            bytes[row + 48..row + 52].copy_from_slice(&checksum.to_le_bytes());
        }
    }
    let checksum = crc32(bytes[..ROW - 4].iter().chain(&bytes[ROW..ROW * (1 + sections)]));
    bytes[ROW - 4..ROW].copy_from_slice(&checksum.to_le_bytes());
}

/// The checksum of zip and gzip.
fn crc32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(!0u32, |crc, &byte| (crc >> 8) ^ CRC32[usize::from(crc as u8 ^ byte)])
}

/// What each byte does to the checksum: bit by bit for every input, it would take most of the time.
static CRC32: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// A checkpoint of the data that the corpus belongs to, whatever run it says it is of; its checksum is put right.
pub fn checkpoint(data: &[u8]) {
    static DATA: LazyLock<Arc<TrainingSet>> = LazyLock::new(|| Arc::new(training_set()));
    let mut trainer = Perceptron::new(DATA.clone(), PerceptronOptions::default()).unwrap();
    let Some(content) =
        data.len().checked_sub(8).map(|end| &data[..end]).filter(|content| content.len() >= 16)
    else {
        return;
    };
    let checksum = content
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let bytes = [content, &checksum.to_le_bytes()].concat();
    let run = u64::from_le_bytes(content[8..16].try_into().unwrap());
    drop(load_checkpoint("fuzz", &bytes, run, &mut trainer));
}

/// The data of the checkpoints in the corpus.
pub fn training_set() -> TrainingSet {
    let sequence = |words: &[(&str, &str)]| {
        let mut sequence = Sequence::new();
        for (word, label) in words {
            sequence.push([word]);
            sequence.set_label(label);
        }
        sequence
    };
    let sequences =
        [sequence(&[("time", "N"), ("flies", "V")]), sequence(&[("flies", "N"), ("time", "V"), ("x", "X")])];
    let template = Template::parse("U:%x[0,0]\nB\n", "template").unwrap();
    TrainingSet::new(&sequences, FeatureSource::Template(template), 1).unwrap()
}

/// A model of CRFsuite.
pub fn crfsuite(data: &[u8]) {
    drop(import::crfsuite(data, "fuzz").map(use_model));
}

/// A model of CRF++.
pub fn crfpp(data: &[u8]) {
    drop(import::crfpp(data, "fuzz").map(use_model));
}

/// A model of Wapiti.
pub fn wapiti(data: &[u8]) {
    drop(import::wapiti(data, "fuzz").map(use_model));
}

/// A few positions that features can be extracted from.
fn some_text() -> Sequence {
    let mut sequence = Sequence::new();
    for cells in [["a", "b"], ["", "ß"], ["long-word", "1"]] {
        sequence.push(cells);
    }
    sequence
}

/// A CRF++ template.
pub fn template(data: &[u8]) {
    let Ok(template) = Template::parse_bytes(data, "fuzz") else { return };
    let mut out = Vec::new();
    for rule in template.unigrams().iter().chain(template.bigrams()).take(100) {
        for t in 0..3 {
            rule.expand(&some_text(), t, &mut out);
        }
        out.clear();
    }
}

/// Wapiti's patterns.
pub fn patterns(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(patterns) = Patterns::parse(text, "fuzz") else { return };
    let mut out = Vec::new();
    for pattern in patterns.patterns().iter().take(100) {
        (0..3).for_each(|t| pattern.expand(&some_text(), t, &mut out));
        out.clear();
    }
}

/// A file of transitions.
pub fn constraints(data: &[u8]) {
    let labels = LabelSet::from_names(["O", "B-X", "I-X", "B-Y", "I-Y"]);
    let Ok(transitions) = Transitions::parse_bytes(data, "fuzz", &labels) else { return };
    drop(transitions.constrain(&Edges::uniform(labels.len(), 0.0f32).unwrap()));
}

/// Reads all sequences, and writes them again.
fn read(data: &[u8], text: &TextFormat) {
    for labelled in [false, true] {
        let options = ReaderOptions::from(text.clone()).labelled(labelled);
        let reader = Reader::new(Cursor::new(data.to_vec()), "fuzz", &options).unwrap();
        let mut writer = Writer::new(Vec::new(), text.clone().into());
        for sequence in reader.map_while(Result::ok) {
            let labels = vec!["N"; sequence.len()];
            drop(writer.write(&sequence, &[&labels[..]], None));
        }
    }
}

/// Columns, separated by blanks and by tabs.
pub fn columns(data: &[u8]) {
    use kbest::text::Separator;
    for separator in [Separator::Blanks, Separator::Tab] {
        read(data, &TextFormat { separator, ..TextFormat::default() });
    }
}

/// CoNLL-U.
pub fn conllu(data: &[u8]) {
    read(data, &TextFormat::conllu("upos+feats").unwrap());
}

/// JSON lines.
pub fn jsonl(data: &[u8]) {
    read(data, &TextFormat::new(kbest::text::Format::Jsonl));
}

/// CRFsuite's items.
pub fn items(data: &[u8]) {
    read(data, &TextFormat::new(kbest::text::Format::Items));
}

/// Scores one after the other, from bytes: mostly small numbers, so that there are ties, and every special one.
struct Scores<'a>(&'a [u8]);

impl Scores<'_> {
    fn byte(&mut self) -> u8 {
        let (&first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        first
    }

    fn score(&mut self) -> f32 {
        match self.byte() {
            255 => f32::NEG_INFINITY,
            254 => -0.0,
            253 => {
                let bits = f32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()]);
                if bits.is_nan() || bits == f32::INFINITY { 0.0 } else { bits }
            }
            252 => 1e-44,
            small => f32::from(small % 16) - 8.0,
        }
    }

    fn scores(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.score()).collect()
    }
}

/// Any lattice, with all exact decoders: the same paths, ties included.
pub fn lattice(data: &[u8]) {
    let mut scores = Scores(data);
    let (positions, labels, shape, k) = (
        scores.byte() as usize % 9,
        1 + scores.byte() as usize % 20,
        scores.byte(),
        1 + scores.byte() as usize % 12,
    );
    let matrix = scores.scores(labels * labels);
    let edges = if shape & 1 == 0 {
        Edges::dense(labels, matrix)
    } else {
        let base = scores.score();
        let listed = |i: &usize| matrix[*i] != base;
        let pairs: Vec<usize> = (0..matrix.len()).filter(listed).collect();
        let part = |of: &dyn Fn(usize) -> u32| pairs.iter().map(|&i| of(i)).collect::<Vec<u32>>();
        let (from, to) = (part(&|i| (i / labels) as u32), part(&|i| (i % labels) as u32));
        Edges::sparse(labels, base, &from, &to, &pairs.iter().map(|&i| matrix[i]).collect::<Vec<_>>())
    };
    let Ok(edges) = edges else { return };
    let (start, end) = (scores.scores(labels), scores.scores(labels));
    let nodes = scores.scores(positions * labels);
    let made = Lattice::new(nodes, &edges).and_then(|lattice| match shape & 6 {
        0 => Ok(lattice),
        2 => lattice.with_start(start),
        4 => lattice.with_end(end),
        _ => lattice.with_start(start)?.with_end(end),
    });
    if let Ok(lattice) = made {
        all_agree(&lattice, k);
    }
}

fn all_agree<S: Float>(lattice: &Lattice<'_, S>, k: usize) {
    let mut scratch = Scratch::new();
    for k in [1, k] {
        let expected = Decoder::by_name("viterbi").unwrap().decode_kbest(lattice, k, &mut scratch);
        for entry in catalogue(Lattices::Positions).filter(|entry| entry.exact) {
            let decoder = Decoder::by_name(entry.name).unwrap();
            if decoder.supports(k).is_err() {
                continue;
            }
            match (&expected, decoder.decode_kbest(lattice, k, &mut scratch)) {
                (Ok(expected), Ok(answer)) => {
                    let scores =
                        |paths: &[kbest::Path<S>]| paths.iter().map(|path| path.score).collect::<Vec<_>>();
                    assert_eq!(scores(&answer.paths), scores(&expected.paths), "{}", entry.name);
                    assert_eq!(answer.best().labels, expected.best().labels, "{}", entry.name);
                }
                (Err(expected), Err(error)) => assert_eq!(error, *expected, "{}", entry.name),
                (expected, answer) => panic!("{}: {answer:?}, not {expected:?}", entry.name),
            }
        }
    }
}

/// Scores of segments on demand, `T x W x L`, with bounds that are somewhat above some of them.
struct OnDemand {
    longest: usize,
    labels: usize,
    scores: Vec<f32>,
}

impl SegmentScores<f32> for OnDemand {
    fn show(&self, start: usize, end: usize, see: &mut dyn FnMut(&[f32])) {
        see(&self.scores[(start * self.longest + end - start - 1) * self.labels..][..self.labels]);
    }

    fn bound(&self, start: usize, rows: &mut [f32]) {
        rows.copy_from_slice(&self.scores[start * self.longest * self.labels..][..rows.len()]);
        rows.iter_mut().step_by(3).for_each(|bound| *bound = bound.max(*bound + 2.0));
    }
}

/// Any lattice of segments, with all exact decoders.
pub fn segments(data: &[u8]) {
    let mut scores = Scores(data);
    let (positions, labels, longest) =
        (scores.byte() as usize % 8, 1 + scores.byte() as usize % 9, 1 + scores.byte() as usize % 8);
    let (shape, k) = (scores.byte(), 1 + scores.byte() as usize % 9);
    let Ok(edges) = Edges::dense(labels, scores.scores(labels * labels)) else { return };
    let durations = scores.scores(longest * labels);
    let (forbidden, boundary) = (scores.byte() as usize, scores.byte() as usize);
    let nodes = scores.scores(positions * labels);
    let explicit = scores.scores(positions * longest * labels);
    let made = Lattice::new(nodes, &edges).and_then(|chain| {
        let mut lattice = SegmentLattice::new(chain).with_longest(longest)?;
        if shape & 1 == 1 {
            lattice = lattice.with_durations(durations)?;
        }
        let most = explicit
            .iter()
            .filter(|score| score.is_finite())
            .fold(0.0f32, |most, score| most.max(score.abs()));
        let bounds = vec![most + 2.0; longest * labels];
        lattice = match shape & 6 {
            2 => lattice.with_scores(longest, explicit)?,
            4 => lattice.with_score_function(bounds, most.into(), move |s, r, y| {
                explicit[(s * longest + r - s - 1) * labels + y as usize]
            })?,
            6 => {
                let rows = OnDemand { longest, labels, scores: explicit };
                lattice.with_score_rows(bounds, most.into(), rows)?
            }
            _ => lattice,
        };
        if shape & 8 == 8 && positions > 0 {
            let start = forbidden % positions;
            lattice = lattice.forbid(start, start + 1 + forbidden / 8 % (positions - start), 0)?;
        }
        if shape & 16 == 16 && positions > 1 {
            let boundary = 1 + boundary % (positions - 1);
            lattice = if shape & 32 == 32 {
                lattice.require_boundary(boundary)?
            } else {
                lattice.forbid_boundary(boundary)?
            };
        }
        Ok(lattice)
    });
    if let Ok(lattice) = made {
        segments_agree(&lattice, k);
    }
}

fn segments_agree<S: Float>(lattice: &SegmentLattice<'_, S>, k: usize) {
    let mut scratch = segment::Scratch::default();
    for k in [1, k] {
        let expected = Decoder::SemiViterbi.decode_segments(lattice, k, &mut scratch);
        for entry in catalogue(Lattices::Segments).filter(|entry| entry.exact) {
            let decoder: Decoder = entry.name.parse().unwrap();
            if decoder.supports_on(Lattices::Segments, k).is_err() {
                continue;
            }
            match (&expected, decoder.decode_segments(lattice, k, &mut scratch)) {
                (Ok(expected), Ok(answer)) => {
                    assert_eq!(answer.paths, expected.paths, "{}", entry.name);
                }
                (Err(expected), Err(error)) => assert_eq!(error, *expected, "{}", entry.name),
                (expected, answer) => panic!("{}: {answer:?}, not {expected:?}", entry.name),
            }
        }
    }
}
