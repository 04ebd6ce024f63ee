//! The model file: saved models load unchanged, damage is detected, and a hostile file does no harm.
//!
//! The container is read and written here independently, as `docs/formats/model-file.md` describes it, so that sections
//! can be changed and given correct checksums again: checksums must not be the only protection.

use crate::common::Random;
use kbest::feature::{Dictionary, Extractor, FeatureSource, Preset};
use kbest::marginal::Calibration;
use kbest::model::{EdgeWeight, EdgeWeights, Model, ModelParts, NodeWeightsBuilder, Row, WholeFile};
use kbest::text::{Field, Format, Reader, ReaderOptions, Separator, TextFormat, Writer, WriterOptions};
use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Error, LabelSet, Sequence, Tagger, Template};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Sequences of two columns whose labels depend on the word and on the label before.
pub(crate) fn data(seed: u64, valued: bool) -> Vec<Sequence> {
    const WORDS: [&str; 9] = ["der", "Über", "7.5", "x-1", "gehen", "ging", ".", "字", "USA"];
    let mut random = Random::new(seed);
    let mut sequences = Vec::new();
    for _ in 0..12 {
        let mut sequence = Sequence::new();
        let mut before = 0;
        for _ in 0..1 + random.below(6) {
            let i = random.below(WORDS.len());
            sequence.push_position();
            sequence.push_cell(WORDS[i]);
            let value = if valued { 0.5 + random.below(4) as f64 / 2.0 } else { 1.0 };
            sequence.push_valued_cell(["a", "b"][i % 2], value);
            let label = if i == before { 4 } else { i % 4 };
            before = i;
            sequence.set_label(["N", "V\u{e4}", "X", "a b", "E"][label]);
        }
        sequences.push(sequence);
    }
    sequences
}

pub(crate) fn sources() -> Vec<FeatureSource> {
    let template = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\r\r\nU\nB\nB1:%x[0,1]\nB2\n";
    let plain = "# comment\nU0:%x[0,0]\nB\n";
    let parse = |text| FeatureSource::Template(Template::parse(text, "template").unwrap());
    let presets = Preset::NAMES.map(|(_, preset)| FeatureSource::Preset(preset));
    let [words, columns, morphology, _] = presets.clone();
    let affixes = parse("U0:%suffix[0,0,2]|%shape[1,0]\nB1:%prefix[0,1,1]\n");
    let sums = [vec![words.clone(), columns.clone()], vec![affixes, morphology, words, columns]];
    let sums = sums.map(|parts| FeatureSource::sum(parts).unwrap());
    [parse(template), parse(plain), FeatureSource::Items].into_iter().chain(presets).chain(sums).collect()
}

/// A trained model of a source.
pub(crate) fn trained(source: &FeatureSource) -> Model {
    let data = TrainingSet::new(&data(1, *source == FeatureSource::Items), source.clone(), 1).unwrap();
    let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default()).unwrap();
    for _ in 0..3 {
        trainer.epoch(&mut |_| ()).unwrap();
    }
    let mut parts = trainer.model().unwrap().into_parts();
    if source.wants_word_counts() {
        let words = Dictionary::from_keys(["der", "USA"]);
        let old = &parts.extractor;
        let (nodes, edges) = (old.nodes().clone(), old.edges().clone());
        parts.extractor = Extractor::from_parts(source.clone(), nodes, edges, words, old.columns());
    }
    parts.start = Some((0..parts.labels.len()).map(|y| y as f32 / 2.0).collect());
    parts.about = vec![("made by".into(), "a test".into()), ("empty".into(), String::new())];
    parts.calibration = Some(Calibration::new(2.5, vec![(0.5, 0.25), (0.75, 0.25), (1.0, 0.9)]).unwrap());
    Model::new(parts).unwrap()
}

pub(crate) fn answers(model: Model) -> Vec<(Vec<u32>, f32)> {
    let mut tagger = Tagger::new(Arc::new(model));
    let mut answers = Vec::new();
    for sequence in data(2, false).iter().chain(&data(3, true)) {
        for path in &tagger.tag(sequence, 3).unwrap().decoded.paths {
            answers.push((path.labels.clone(), path.score));
        }
    }
    answers
}

#[test]
fn what_is_saved_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources() {
        let model = trained(&source);
        let path = folder.path().join("model.kbest");
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), model.to_bytes().unwrap());
        assert_eq!(loaded.to_bytes().unwrap(), model.to_bytes().unwrap(), "{source:?}");
        assert_eq!(loaded.extractor().source(), &source);
        assert_eq!(loaded.labels(), model.labels());
        assert_eq!((loaded.start(), loaded.end()), (model.start(), None));
        assert_eq!(loaded.about(), model.about());
        assert!(loaded.calibration().is_some());
        assert_eq!(loaded.calibration(), model.calibration());
        assert_eq!(loaded.extractor().columns(), 2);
        assert_eq!(loaded.nodes().stored(), model.nodes().stored());
        assert_eq!(loaded.edges().stored(), model.edges().stored());
        let keys = |model: &Model| -> Vec<Vec<u8>> {
            let extractor = model.extractor();
            let all = [extractor.nodes(), extractor.edges(), extractor.frequent_words()];
            all.iter().flat_map(|dictionary| dictionary.keys()).map(<[u8]>::to_vec).collect()
        };
        assert_eq!(keys(&loaded), keys(&model));
        std::fs::remove_file(&path).unwrap(); // the map stays valid
        let expected = answers(model);
        assert!(expected.len() > 30);
        assert_eq!(answers(loaded), expected, "{source:?}");
    }
    assert!(matches!(Model::load(folder.path().join("none")), Err(Error::Io { .. })));
    assert!(matches!(trained(&FeatureSource::Items).save(folder.path()), Err(Error::Io { .. })));
}

#[test]
fn damage_is_found() {
    let bytes = small().to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(Model::from_bytes(&bytes[..length], "cut").is_err(), "{length} bytes");
    }
    for i in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[i] ^= 1 << (i % 8);
        let error = Model::from_bytes(&damaged, "damaged").expect_err("every byte counts").to_string();
        assert!(error.starts_with("damaged: "), "{error}");
    }
    let error = Model::from_bytes(b"not a model at all", "text").unwrap_err();
    assert_eq!(
        error.to_string(),
        "text: expected a kbest file, got one that begins with \"not a model at a\""
    );
    let mut later = bytes;
    later[24] = 9;
    let error = Model::from_bytes(&later, "later").unwrap_err();
    assert_eq!(error, Error::Version { file: "later".into(), found: 9, supported: 1 });
    assert_eq!(error.to_string(), "later: the file is version 9, this program reads up to 1");
}

/// A model with something in every section.
fn small() -> Model {
    let mut model = trained(&sources()[0]).into_parts();
    let words = Dictionary::from_keys(["der"]);
    let (nodes, edges) = (model.extractor.nodes().clone(), model.extractor.edges().clone());
    model.extractor = Extractor::from_parts(sources().swap_remove(0), nodes, edges, words, 2);
    model.end = Some(vec![-0.5; model.labels.len()]);
    model.text_format = Some(TextFormat::conllu("upos+feats").unwrap());
    Model::new(model).unwrap()
}

/// CRC-32 as in zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

pub(crate) type Sections = Vec<(String, Vec<u8>)>;

pub(crate) fn take_apart(file: &[u8]) -> Sections {
    places(file).into_iter().map(|(name, place)| (name, file[place].to_vec())).collect()
}

/// Where each section lies.
pub(crate) fn places(file: &[u8]) -> Vec<(String, Range<usize>)> {
    let number = |at: usize, length: usize| {
        let bytes = file[at..at + length].iter().rev();
        bytes.fold(0, |sum, &byte| sum << 8 | usize::from(byte))
    };
    let place = |i: usize| {
        let entry = 64 * (i + 1);
        let name = file[entry..entry + 32].split(|&byte| byte == 0).next().unwrap();
        let first = number(entry + 32, 8);
        (String::from_utf8(name.to_vec()).unwrap(), first..first + number(entry + 40, 8))
    };
    (0..number(28, 4)).map(place).collect()
}

pub(crate) fn put_together(sections: &Sections) -> Vec<u8> {
    let mut file = b"kbest\x1a\r\nmodel\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0".to_vec();
    file.extend((sections.len() as u32).to_le_bytes());
    file.resize(64 * (sections.len() + 1), 0);
    for (i, (name, content)) in sections.iter().enumerate() {
        file.resize(file.len().next_multiple_of(64), 0);
        let mut entry = name.as_bytes().to_vec();
        entry.resize(32, 0);
        entry.extend((file.len() as u64).to_le_bytes());
        entry.extend((content.len() as u64).to_le_bytes());
        entry.extend(crc32(content).to_le_bytes());
        entry.resize(64, 0);
        file[64 * (i + 1)..64 * (i + 2)].copy_from_slice(&entry);
        file.extend(content);
    }
    let length = file.len() as u64;
    file[32..40].copy_from_slice(&length.to_le_bytes());
    let head = [&file[..60], &file[64..64 * (sections.len() + 1)]].concat();
    file[60..64].copy_from_slice(&crc32(&head).to_le_bytes());
    file
}

/// Loads and, if that is possible, uses a file. Errors are fine, panics and endless loops are not.
fn survive(file: &[u8]) -> bool {
    let Ok(model) = Model::from_bytes(file, "hostile") else { return false };
    let _ = model.pruned(0.1);
    let mut tagger = Tagger::new(Arc::new(model));
    for sequence in data(2, false).iter().take(3) {
        for k in [1, 2] {
            let _ = tagger.tag(sequence, k);
        }
    }
    true
}

#[test]
fn the_format_is_the_one_described() {
    for source in sources() {
        let file = trained(&source).to_bytes().unwrap();
        let sections = take_apart(&file);
        assert_eq!(put_together(&sections), file);
        assert!(survive(&file));
    }
    let names: Vec<_> = take_apart(&small().to_bytes().unwrap()).into_iter().map(|(name, _)| name).collect();
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/model-file.md"));
    let page = page.unwrap();
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "model-file.md does not speak of section `{name}`");
    }
}

#[test]
fn sections_are_needed_and_known() {
    let whole = take_apart(&small().to_bytes().unwrap());
    for (i, (name, _)) in whole.iter().enumerate() {
        let mut sections = whole.clone();
        sections.remove(i);
        let file = Model::from_bytes(&put_together(&sections), "f");
        match name.as_str() {
            "start" | "end" | "calibration" => assert!(file.is_ok(), "{name} may be missing"),
            _ => {
                assert_eq!(file.unwrap_err().to_string(), format!("f: expected a section `{name}`, got none"))
            }
        }
        let mut sections = whole.clone();
        sections.push(sections[i].clone());
        assert!(Model::from_bytes(&put_together(&sections), "f").is_err(), "{name} twice");
    }
    let mut sections = whole;
    sections.push(("news".into(), vec![]));
    let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err();
    assert_eq!(error.to_string(), "f: expected only known sections, got section \"news\"");
}

#[test]
fn a_senseless_calibration_is_refused() {
    let whole = take_apart(&trained(&FeatureSource::Items).to_bytes().unwrap());
    let place = whole.iter().position(|(name, _)| name == "calibration").unwrap();
    for numbers in [
        &[][..],
        &[0.0],
        &[-1.0],
        &[f64::NAN],
        &[f64::INFINITY],
        &[1.0, 0.5],
        &[1.0, 0.5, 1.5],
        &[1.0, 0.5, 0.5, 0.5, 0.6],
        &[1.0, 0.5, 0.5, 0.6, 0.4],
    ] {
        let mut sections = whole.clone();
        sections[place].1 = numbers.iter().flat_map(|number: &f64| number.to_le_bytes()).collect();
        let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err().to_string();
        assert!(error.starts_with("f: expected a calibration, got"), "{numbers:?}: {error}");
    }
    let mut sections = whole;
    sections.remove(place);
    assert_eq!(Model::from_bytes(&put_together(&sections), "f").unwrap().calibration(), None);
}

#[test]
fn the_format_of_the_text_is_remembered() {
    let mut all = TextFormat::conllu("xpos+feats").unwrap();
    (all.fields, all.separator, all.colon_words) = (vec![Field::Lemma, Field::Form], Separator::Tab, true);
    for text_format in [None, Some(TextFormat::new(Format::Items)), Some(all)] {
        let mut parts = trained(&FeatureSource::Items).into_parts();
        parts.text_format = text_format.clone();
        let bytes = Model::new(parts).unwrap().to_bytes().unwrap();
        let loaded = Model::from_bytes(&bytes, "f").unwrap();
        assert_eq!(loaded.text_format(), text_format.as_ref());
        assert_eq!(loaded.to_bytes().unwrap(), bytes);
    }
    let whole = take_apart(&small().to_bytes().unwrap());
    let at = whole.iter().position(|(name, _)| name == "text-format").unwrap();
    for (words, message) in [
        (["conllx", "tab", "upos", "form", "no"], "unknown format `conllx`"),
        (["conllu", "comma", "upos", "form", "no"], "unknown separator `comma`"),
        (["conllu", "tab", "pos", "form", "no"], "unknown CoNLL-U field `pos`"),
        (["conllu", "tab", "upos", "", "no"], "unknown CoNLL-U field ``"),
        (["conllu", "tab", "upos", "form", "si"], "value of colon-words `si`"),
    ] {
        let mut sections = whole.clone();
        sections[at].1 = words.concat().into_bytes();
        let ends = words.iter().scan(0, |end, word| (*end += word.len() as u32, Some(*end)).1);
        sections[at + 1].1 = ends.flat_map(u32::to_le_bytes).collect();
        let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err().to_string();
        assert!(error.starts_with("f: expected a text format") && error.contains(message), "{error}");
    }
    let mut sections = whole;
    sections[at + 1].1.truncate(16);
    let without_the_last = sections[at].1.len() - 2;
    sections[at].1.truncate(without_the_last);
    let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err();
    assert_eq!(error.to_string(), "f: expected five words that describe the text format, got 4");
}

/// Before there was a section for it, the format was stored among the texts about the model.
#[test]
fn remarks_on_the_format_are_understood() {
    let loaded = |remarks: &[(&str, &str)]| {
        let mut parts = trained(&FeatureSource::Items).into_parts();
        parts.about = remarks.iter().map(|&(name, text)| (name.into(), text.into())).collect();
        let bytes = Model::new(parts).unwrap().to_bytes().unwrap();
        let model = Model::from_bytes(&bytes, "f").unwrap();
        let left: Vec<String> = model.about().iter().map(|(name, _)| name.clone()).collect();
        (model.text_format().map(ToString::to_string), left.join(" "))
    };
    let is = |text: &str, left: &str| (Some(text.to_owned()), left.to_owned());
    assert_eq!(loaded(&[("format", "items"), ("epochs", "3")]), is("items", "epochs"));
    assert_eq!(loaded(&[("format", "columns"), ("tabs", "yes")]), is("columns, separator tab", ""));
    let conllu = [("format", "conllu"), ("label", "upos+feats"), ("fields", "form,lemma"), ("x", "")];
    assert_eq!(loaded(&conllu), is("conllu, label upos+feats, fields form,lemma", "x"));
    // Other texts with these names are left alone.
    assert_eq!(loaded(&[("format", "jsonl"), ("label", "of wine")]), is("jsonl", "label"));
    assert_eq!(loaded(&[("format", "octavo"), ("tabs", "")]), (None, "format tabs".into()));
    assert_eq!(loaded(&[("tabs", "yes"), ("label", "upos")]), (None, "tabs label".into()));
}

/// A model that was written, and a text that was tagged with it, before the format of the text had its section.
#[test]
fn models_of_earlier_days_tag_as_ever() {
    let testdata = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models");
    let model = Arc::new(Model::load(testdata.join("before-text-format.kbest")).unwrap());
    let text = model.text_format().unwrap();
    assert_eq!(text.to_string(), "conllu, label upos+feats, fields form,lemma");
    let about: Vec<&str> = model.about().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(about, ["algorithm", "epochs", "program"], "for people only");
    let reader = Reader::open(testdata.join("text.conllu"), &ReaderOptions::from(text.clone())).unwrap();
    let mut writer = Writer::new(Vec::new(), WriterOptions::from(text.clone()));
    let mut tagger = Tagger::new(model.clone());
    for sequence in reader {
        let sequence = sequence.unwrap();
        let path = tagger.tag(&sequence, 1).unwrap().decoded.best().clone();
        let names: Vec<&str> = path.labels.iter().map(|&y| model.labels().name(y).unwrap()).collect();
        let candidate = kbest::text::Candidate { rank: 0, score: path.score.to_string().parse().unwrap() };
        writer.write(&sequence, &[&names], Some(candidate)).unwrap();
    }
    let tagged = std::fs::read(testdata.join("tagged.conllu")).unwrap();
    assert_eq!(String::from_utf8(writer.into_inner()), String::from_utf8(tagged));
    // Saved again, it means the same.
    let again = Model::from_bytes(&model.to_bytes().unwrap(), "again").unwrap();
    assert_eq!((again.text_format(), again.about()), (model.text_format(), model.about()));
}

#[test]
fn sums_and_known_words_are_checked() {
    let model = trained(&sources().pop().unwrap());
    let mut sections = take_apart(&trained(&FeatureSource::Preset(Preset::Words)).to_bytes().unwrap());
    let at =
        |sections: &Sections, wanted: &str| sections.iter().position(|(name, _)| name == wanted).unwrap();
    let place = at(&sections, "seen-words");
    let loaded = Model::from_bytes(&put_together(&sections), "f").unwrap();
    assert_eq!(
        ["USA", "usa", "7.5", "0.0"].map(|word| loaded.extractor().knows_word(word).unwrap()),
        [true, false, true, false]
    );
    // Without the section, as in models of earlier days, folded words do not tell.
    let mut old = sections.clone();
    old.remove(place);
    assert_eq!(Model::from_bytes(&put_together(&old), "f").unwrap().extractor().knows_word("USA"), None);
    sections[place].1 = [7u64, 7].iter().flat_map(|hash| hash.to_le_bytes()).collect();
    let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err();
    assert_eq!(error.to_string(), "f: expected ascending numbers in section `seen-words`, got others");

    let whole = take_apart(&model.to_bytes().unwrap());
    let place = at(&whole, "source");
    assert_eq!(whole[place].1, b"template+morphology+words+columns");
    for (source, message) in [
        ("template+words+words", "words twice"),
        ("template+items", "got items"),
        ("template+hmm", "got hmm"),
        ("template+", "unknown feature preset ``"),
        ("words+columns", "section `template`"),
    ] {
        let mut sections = whole.clone();
        sections[place].1 = source.into();
        let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err().to_string();
        assert!(error.starts_with("f: expected") && error.contains(message), "{source}: {error}");
    }
}

#[test]
fn full_tables_are_refused() {
    let whole = take_apart(&small().to_bytes().unwrap());
    let at = whole.iter().position(|(name, _)| name == "nodes.slots").unwrap();
    // Every slot has the first key, with a tag that no key has: a search would never end.
    let mut sections = whole;
    sections[at].1 = 1u64.to_le_bytes().repeat(sections[at].1.len() / 8);
    let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err();
    assert!(error.to_string().contains("taken slots"), "{error}");
}

/// A change of a section.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Byte(usize, u8),
    Word(usize, u32),
    Cut(usize),
    Lengthen(usize),
    Swap(usize, usize),
}

pub(crate) fn change() -> impl Strategy<Value = (usize, Change)> {
    let telling = prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(u32::MAX - 1),
        Just(1 << 31),
        Just(f32::INFINITY.to_bits()),
        Just(f32::MAX.to_bits()),
        Just((-f32::MAX).to_bits()),
        0..70u32,
        any::<u32>(),
    ];
    let change = prop_oneof![
        1 => (any::<usize>(), any::<u8>()).prop_map(|(at, value)| Change::Byte(at, value)),
        4 => (any::<usize>(), telling).prop_map(|(at, value)| Change::Word(at, value)),
        1 => any::<usize>().prop_map(Change::Cut),
        1 => (1..100usize).prop_map(Change::Lengthen),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Change::Swap(a, b)),
    ];
    (any::<usize>(), change)
}

pub(crate) fn apply(sections: &mut Sections, (section, change): (usize, Change)) {
    let section = section % sections.len();
    let content = &mut sections[section].1;
    if content.is_empty() {
        return;
    }
    let length = content.len();
    match change {
        Change::Byte(at, value) => content[at % length] = value,
        Change::Word(at, value) => {
            let at = at % length / 4 * 4;
            content[at..].iter_mut().zip(value.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        Change::Cut(at) => content.truncate(at % length),
        Change::Lengthen(by) => content.extend(vec![0; by]),
        Change::Swap(a, b) => content.swap(a % length, b % length),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn hostile_files_do_no_harm(source in 0usize..9, changes in vec(change(), 1..4)) {
        thread_local! {
            static FILES: Vec<Sections> =
                sources().iter().map(|source| take_apart(&trained(source).to_bytes().unwrap())).collect();
        }
        let mut sections = FILES.with(|files| files[source].clone());
        changes.into_iter().for_each(|change| apply(&mut sections, change));
        survive(&put_together(&sections));
    }
}

/// Every number of every array, one at a time, with correct checksums.
#[test]
fn no_single_number_does_harm() {
    let whole = take_apart(&small().to_bytes().unwrap());
    let mut loaded = 0;
    for section in 0..whole.len() {
        for at in (0..whole[section].1.len()).step_by(4) {
            for value in [u32::MAX, 0x7f80_0000, 3] {
                let mut sections = whole.clone();
                apply(&mut sections, (section, Change::Word(at, value)));
                loaded += usize::from(survive(&put_together(&sections)));
            }
        }
    }
    assert!(loaded > 100, "{loaded}: some changes only make another model");
}

fn weights(model: &Model, feature: &[u8]) -> Option<Vec<(u32, f32)>> {
    let id = model.extractor().nodes().id(feature)?;
    Some(model.nodes().row(id).iter().filter(|(_, weight)| *weight != 0.0).collect())
}

#[test]
fn pruning_drops_weights_and_features() {
    let template = Template::parse("U0:%x[0,0]\nB\nB1:%x[0,0]\n", "template").unwrap();
    let mut nodes = NodeWeightsBuilder::new(5);
    nodes.push([(0, 0.1), (3, -2.0)]).unwrap();
    nodes.push([(1, -0.2)]).unwrap();
    nodes.push([(0, 1.0), (1, 0.3), (2, -1.0), (3, 4.0)]).unwrap(); // stored whole
    nodes.push([]).unwrap();
    let pair = |from, to, weight| EdgeWeight { from, to, weight };
    let edges = [vec![pair(0, 1, 0.05)], vec![pair(1, 2, -3.0), pair(4, 4, 0.25)]];
    let model = Model::new(ModelParts {
        support: None,
        labels: LabelSet::from_names(["a", "b", "c", "d", "e"]),
        extractor: Extractor::from_parts(
            FeatureSource::Template(template),
            Dictionary::from_keys(["U0:a", "U0:b", "U0:c", "U0:d"]),
            Dictionary::from_keys(["B", "B1:x"]),
            Dictionary::from_keys(["w"]),
            1,
        ),
        nodes: nodes.finish(),
        edges: EdgeWeights::new(5, edges).unwrap(),
        start: Some(vec![0.0, 0.01, 0.0, 0.0, 0.0]),
        end: None,
        label_parts: None,
        agreement: None,
        voters: None,
        calibration: None,
        text_format: Some(TextFormat::new(Format::Jsonl)),
        about: vec![("a".into(), "b".into())],
    })
    .unwrap();

    let (same, removed) = model.pruned(0.0).unwrap();
    assert_eq!((removed, same.extractor().nodes().len(), same.extractor().edges().len()), (0, 3, 2));
    assert_eq!(weights(&same, b"U0:a"), weights(&model, b"U0:a"));

    let (pruned, removed) = model.pruned(0.25).unwrap();
    assert_eq!(removed, 3, "0.1, -0.2 and 0.05, but not 0.25");
    assert_eq!(weights(&pruned, b"U0:a"), Some(vec![(3, -2.0)]));
    assert_eq!((weights(&pruned, b"U0:b"), weights(&pruned, b"U0:d")), (None, None));
    assert_eq!(weights(&pruned, b"U0:c"), weights(&model, b"U0:c"));
    assert_eq!(pruned.extractor().edges().keys().collect::<Vec<_>>(), [b"B1:x"]);
    assert_eq!(pruned.edges().pairs(0), model.edges().pairs(1));
    assert!(pruned.extractor().shared_edges().is_empty());
    assert_eq!((pruned.start(), pruned.about()), (model.start(), model.about()));
    assert_eq!(pruned.text_format(), model.text_format());
    assert_eq!(pruned.extractor().frequent_words().len(), 1);

    let (empty, removed) = model.pruned(f32::INFINITY).unwrap();
    assert_eq!((removed, empty.extractor().nodes().len()), (10, 0));
    assert_eq!(Model::from_bytes(&empty.to_bytes().unwrap(), "f").unwrap().nodes().features(), 0);
    let mut tagger = Tagger::new(Arc::new(empty));
    assert_eq!(tagger.tag(&Sequence::from_tokens(["a", "b"]), 1).unwrap().decoded.best().score, 0.01);
}

#[test]
fn pruning_nothing_changes_no_answer() {
    for source in sources() {
        let model = trained(&source);
        let (pruned, removed) = model.pruned(0.0).unwrap();
        assert_eq!(removed, 0);
        assert_eq!(answers(pruned), answers(model), "{source:?}");
    }
}

#[cfg(feature = "safetensors")]
#[test]
fn safetensors_hold_all_weights() {
    use safetensors::{Dtype, SafeTensors};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let model = small();
    model.to_safetensors(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!((metadata["format"].as_str(), metadata["source"].as_str()), ("kbest", "template"));
    assert_eq!(metadata["about.made by"], "a test");
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let words = |name: &str, dtype| -> Vec<u32> {
        let tensor = file.tensor(name).unwrap();
        assert_eq!(tensor.dtype(), dtype);
        tensor.data().chunks(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
    };
    let longs = |name: &str| -> Vec<usize> {
        let tensor = file.tensor(name).unwrap();
        assert_eq!(tensor.dtype(), Dtype::I64);
        tensor.data().chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()) as usize).collect()
    };
    let names = |kind: &str| -> Vec<Vec<u8>> {
        let (bytes, offsets) =
            (file.tensor(&format!("{kind}.names")).unwrap(), longs(&format!("{kind}.name_offsets")));
        offsets.windows(2).map(|two| bytes.data()[two[0]..two[1]].to_vec()).collect()
    };
    assert!(names("label").iter().map(Vec::as_slice).eq(model.labels().names().map(str::as_bytes)));
    assert!(names("node").iter().map(Vec::as_slice).eq(model.extractor().nodes().keys()));
    assert!(names("edge").iter().map(Vec::as_slice).eq(model.extractor().edges().keys()));
    let (offsets, labels, values) =
        (longs("node.offsets"), words("node.labels", Dtype::I32), words("node.weights", Dtype::F32));
    assert_eq!(offsets.len(), model.nodes().features() + 1);
    for (id, two) in offsets.windows(2).enumerate() {
        let row: Vec<_> = (two[0]..two[1]).map(|i| (labels[i], f32::from_bits(values[i]))).collect();
        assert_eq!(Some(row), weights(&model, model.extractor().nodes().key(id as u32).unwrap()));
    }
    let edges: Vec<_> = longs("edge.features").into_iter().zip(words("edge.from", Dtype::I32)).collect();
    let ends: Vec<_> =
        words("edge.to", Dtype::I32).into_iter().zip(words("edge.weights", Dtype::F32)).collect();
    let found =
        edges.iter().zip(&ends).map(|(&(id, from), &(to, bits))| (id, from, to, f32::from_bits(bits)));
    let expected = (0..model.edges().features())
        .flat_map(|id| model.edges().pairs(id as u32).iter().map(move |p| (id, p.from, p.to, p.weight)));
    assert!(found.eq(expected));
    assert_eq!(words("end", Dtype::F32), vec![(-0.5f32).to_bits(); model.labels().len()]);
}

/// How long a model of about a million features and 100 MB takes to load: `cargo test --release --test suite model_file
/// measure -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measure_loading() {
    const FEATURES: usize = 1_000_000;
    const LABELS: usize = 1_000;
    let mut random = Random::new(7);
    let keys: Vec<String> =
        (0..FEATURES).map(|i| format!("suf{}={:x}", i % 10, random.next() >> 20)).collect();
    let mut nodes = NodeWeightsBuilder::new(LABELS);
    for i in 0..FEATURES {
        let step = if i % 1000 == 0 { 1 } else { 125 };
        let first = random.below(step) as u32;
        nodes.push((first..LABELS as u32).step_by(step).map(|y| (y, 0.5 + y as f32))).unwrap();
    }
    let mut pairs = Vec::new();
    for from in 0..LABELS as u32 {
        let weight = 0.25 + from as f32;
        pairs.extend((from % 20..LABELS as u32).step_by(20).map(|to| EdgeWeight { from, to, weight }));
    }
    let model = Model::new(ModelParts {
        support: None,
        labels: LabelSet::from_names((0..LABELS).map(|y| format!("label{y}"))),
        extractor: Extractor::from_parts(
            FeatureSource::Preset(Preset::Words),
            Dictionary::from_keys(&keys),
            Dictionary::from_keys(["B"]),
            Dictionary::default(),
            1,
        ),
        nodes: nodes.finish(),
        edges: EdgeWeights::new(LABELS, [pairs]).unwrap(),
        start: None,
        end: None,
        label_parts: None,
        agreement: None,
        voters: None,
        calibration: None,
        text_format: None,
        about: vec![],
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.kbest");
    let begun = Instant::now();
    model.save(&path).unwrap();
    let saved = begun.elapsed();
    let megabytes = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    println!("{megabytes:.1} MB, saved in {:.1} ms", saved.as_secs_f64() * 1e3);
    for _ in 0..9 {
        let begun = Instant::now();
        let loaded = Model::load(&path).unwrap();
        let time = begun.elapsed();
        assert!(matches!(loaded.nodes().row(1), Row::List(_)));
        println!("loaded in {:.1} ms", time.as_secs_f64() * 1e3);
    }
}

#[test]
fn files_appear_when_they_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "old").unwrap();
    let entries = || std::fs::read_dir(folder.path()).unwrap().count();
    let mut file = WholeFile::create(&path).unwrap();
    file.write_all(&[b'x'; 100_000]).unwrap();
    file.flush().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
    drop(file);
    assert_eq!(
        (std::fs::read_to_string(&path).unwrap().as_str(), entries()),
        ("old", 1),
        "as if it had never started"
    );
    let mut file = WholeFile::create(&path).unwrap();
    file.write_all(b"new").unwrap();
    file.finish().unwrap();
    assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), entries()), ("new", 1));
    assert!(WholeFile::create(folder.path()).is_err(), "a folder");
    assert!(WholeFile::create(folder.path().join("none/file")).is_err());
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("file", &link).unwrap();
        let mut file = WholeFile::create(&link).unwrap();
        file.write_all(b"newer").unwrap();
        file.finish().unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink(), "a link stays one");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "newer");
    }
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut file = WholeFile::create(format!("/dev/fd/{}", writer.as_raw_fd())).unwrap();
        file.write_all(b"through").unwrap();
        file.finish().unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through", "a pipe is written directly");
    }
}
