//! Models that are checked while they are used: the same answers, damage that is used is an error, and a hostile file with the
//! right checksums does no harm.

use crate::model_file::{Sections, answers, apply, change, data, put_together, sources, take_apart, trained};
use kbest::model::{AnyModel, Model};
use kbest::scoring::Terms;
use kbest::{Error, Result, Tagger};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

const BLOCK: usize = 1 << 16;

/// The sections with checksums of their blocks, as the page describes them.
fn with_blocks(mut sections: Sections) -> Sections {
    let blocks = sections.iter().flat_map(|(_, content)| content.chunks(BLOCK)).map(crc32fast::hash);
    let blocks = blocks.flat_map(u32::to_le_bytes).collect();
    sections.push(("blocks".into(), blocks));
    sections
}

fn open(file: &[u8]) -> Result<Model> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.kbest");
    std::fs::write(&path, file).unwrap();
    match AnyModel::open(&path)? {
        AnyModel::Positions(model) => Ok(*model),
        AnyModel::Segments(_) => panic!("a model of positions"),
    }
}

/// A file large enough that it is written with checksums of blocks.
fn large(source: usize) -> Vec<u8> {
    let mut model = trained(&sources()[source]).into_parts();
    model.about.push(("filling".into(), "0123456789abcdef".repeat(1 << 16)));
    Model::new(model).unwrap().to_bytes().unwrap()
}

#[test]
fn large_files_have_checksums_of_blocks() {
    let file = large(0);
    let mut sections = take_apart(&file);
    let (name, _) = sections.last().unwrap();
    assert_eq!(name, "blocks");
    sections.pop();
    assert_eq!(put_together(&with_blocks(sections.clone())), file, "as described");
    assert!(Model::from_bytes(&put_together(&sections), "old").is_ok(), "files of earlier days have none");
    let small = trained(&sources()[0]).to_bytes().unwrap();
    assert!(take_apart(&small).iter().all(|(name, _)| name != "blocks"));
}

#[test]
fn opened_models_answer_like_loaded_ones() {
    for (number, source) in sources().iter().enumerate() {
        let model = trained(source);
        let file = put_together(&with_blocks(take_apart(&model.to_bytes().unwrap())));
        assert_eq!(answers(open(&file).unwrap()), answers(model), "{source:?}");
        let large = large(number);
        assert_eq!(answers(open(&large).unwrap()), answers(Model::from_bytes(&large, "large").unwrap()));
        assert_eq!(open(&large).unwrap().to_bytes().unwrap(), large);
    }
}

/// What a model answers; an error if it is damaged.
fn tagged(model: Model) -> Result<Vec<Vec<u32>>> {
    let mut tagger = Tagger::new(Arc::new(model));
    let mut answers = Vec::new();
    for sequence in &data(2, false) {
        answers.push(tagger.tag(sequence, 1)?.decoded.best().labels.clone());
    }
    Ok(answers)
}

#[test]
fn damage_is_an_error_or_was_not_used() {
    let file = put_together(&with_blocks(take_apart(&trained(&sources()[3]).to_bytes().unwrap())));
    let expected = tagged(open(&file).unwrap()).unwrap();
    let mut found = 0;
    for i in (0..file.len()).step_by(7) {
        let mut damaged = file.clone();
        damaged[i] ^= 1 << (i % 8);
        match open(&damaged).and_then(tagged) {
            Ok(answers) => assert_eq!(answers, expected, "byte {i}"),
            Err(Error::Data { .. } | Error::Version { .. }) => found += 1,
            Err(other) => panic!("byte {i}: {other}"),
        }
        assert!(Model::from_bytes(&damaged, "damaged").is_err(), "loading checks everything");
    }
    assert!(found * 7 > file.len() / 2, "{found}");
}

/// What is made of a damaged model is no better than that.
#[test]
fn damage_is_not_forgotten() {
    let file = put_together(&with_blocks(take_apart(&trained(&sources()[3]).to_bytes().unwrap())));
    let expected = tagged(open(&file).unwrap()).unwrap();
    assert_eq!(open(&file).unwrap().to_bytes().unwrap(), trained(&sources()[3]).to_bytes().unwrap());
    let (mut found, mut unused) = ([0; 3], [0; 3]);
    for i in (0..file.len()).step_by(23) {
        let mut damaged = file.clone();
        damaged[i] ^= 1 << (i % 8);
        let Ok(model) = open(&damaged) else { continue };
        let whole = model.to_bytes();
        assert!(matches!(whole, Err(Error::Data { .. })), "byte {i} is part of what is saved");
        let sequence = &data(2, false)[0];
        let model = open(&damaged).unwrap();
        let terms = Terms::new(&model, sequence).and_then(|mut terms| terms.of(&vec![0; sequence.len()]));
        let again = open(&damaged).and_then(|model| Model::new(model.into_parts())).and_then(tagged);
        let pruned = open(&damaged).and_then(|model| tagged(model.pruned(0.0)?.0));
        for (what, result) in [(0, again), (1, pruned), (2, terms.map(|_| expected.clone()))] {
            match result {
                Ok(answers) => {
                    assert_eq!(answers, expected, "byte {i}");
                    unused[what] += 1;
                }
                Err(Error::Data { .. }) => found[what] += 1,
                Err(other) => panic!("byte {i}: {other}"),
            }
        }
    }
    assert!(found.iter().all(|&found| found > 0), "{found:?} {unused:?}");
}

#[test]
fn wrong_numbers_of_blocks_are_refused() {
    let whole = with_blocks(take_apart(&trained(&sources()[0]).to_bytes().unwrap()));
    for length in [0, 4, whole.last().unwrap().1.len() - 4, whole.last().unwrap().1.len() + 4, 3] {
        let mut sections = whole.clone();
        sections.last_mut().unwrap().1.resize(length, 0);
        assert!(open(&put_together(&sections)).is_err(), "{length} bytes");
    }
}

/// Right checksums of blocks beside a wrong one of the section, and the other way round.
#[test]
fn checksums_of_blocks_and_sections_agree() {
    let whole = with_blocks(take_apart(&trained(&sources()[0]).to_bytes().unwrap()));
    let place = whole.iter().position(|(name, _)| name == "nodes.weights").unwrap();
    let mut other = whole.clone();
    other[place].1[0] ^= 1;
    let blocks = with_blocks(other[..other.len() - 1].to_vec()).pop().unwrap();
    let mut new_blocks = whole;
    *new_blocks.last_mut().unwrap() = blocks;
    for sections in [other, new_blocks] {
        let file = put_together(&sections);
        let expected = "expected checksums of blocks that make up those of sections, got others in section `nodes.weights`";
        for error in [open(&file).unwrap_err(), Model::from_bytes(&file, "f").unwrap_err()] {
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// All numbers may be anything, with the right checksums.
    #[test]
    fn hostile_files_do_no_harm_while_they_are_used(source in 0usize..9, changes in vec(change(), 1..6)) {
        thread_local! {
            static FILES: Vec<Sections> =
                sources().iter().map(|source| take_apart(&trained(source).to_bytes().unwrap())).collect();
        }
        let mut sections = FILES.with(|files| files[source].clone());
        changes.into_iter().for_each(|change| apply(&mut sections, change));
        if let Ok(model) = open(&put_together(&with_blocks(sections))) {
            let _ = (model.nodes().stored(), model.extractor().nodes().keys().count(), model.to_bytes());
            let mut tagger = Tagger::new(Arc::new(model));
            for sequence in data(2, false).iter().take(3) {
                let _ = tagger.tag(sequence, 2);
            }
        }
    }
}
