//! A model file that is overwritten in place while it is mapped: answers may be wrong, or errors, but nothing panics and every
//! look-up ends, whatever the numbers become.

use crate::common::Random;
use crate::model_file::{self, places, sources};
use crate::{agreement, dual, model_sections, segment_models};
use kbest::model::{AnyModel, SegmentModel};
use kbest::train::Averaging;
use kbest::{Model, Sequence, Tagger};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

/// Files of every kind, with sequences to tag.
fn files() -> Vec<(Vec<u8>, Vec<Sequence>)> {
    let of_source = |source| (model_file::trained(source), model_file::data(2, false));
    let mut models: Vec<(Model, Vec<Sequence>)> = sources().iter().map(of_source).collect();
    for averaging in [Averaging::Averaged, Averaging::Voted] {
        models.push((model_sections::trained(averaging), vec![model_sections::sentence()]));
    }
    models.push((agreement::whole(agreement::OBSERVED), agreement::phrases(4, 8)));
    models.push((dual::small(), dual::items(4, false)));
    let mut files: Vec<_> =
        models.into_iter().map(|(model, input)| (model.to_bytes().unwrap(), input)).collect();
    for tags in [segment_models::RUNS, segment_models::IOB2] {
        let file = segment_models::small(tags).to_bytes().unwrap();
        files.push((file, segment_models::sequences(4, 2, tags)));
    }
    files
}

/// Uses a model in every way that reads its file.
fn use_all(model: AnyModel, input: &[Sequence]) {
    match model {
        AnyModel::Positions(model) => {
            let model = Arc::<Model>::from(model);
            let mut tagger = Tagger::new(model.clone()).with_confidences(true);
            input.iter().for_each(|sequence| _ = tagger.tag(sequence, 2).is_ok());
            let _ = (model.to_bytes(), model.pruned(0.1));
        }
        AnyModel::Segments(model) => {
            let model = Arc::<SegmentModel>::from(model);
            let mut tagger = Tagger::new(model.clone()).with_confidences(true);
            input.iter().for_each(|sequence| _ = tagger.tag(sequence, 2).is_ok());
            let _ = model.to_bytes();
        }
    }
}

/// Writes into a file without replacing it.
fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Other bytes for a section: the same number everywhere, small ones, any, or some of them here and there.
fn nonsense(section: &[u8], pattern: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = section.to_vec();
    for word in bytes.chunks_mut(4) {
        let new = match pattern {
            0 => 0,
            1 => u32::MAX,
            2 => 1,
            3 => random.below(300) as u32,
            4 => random.next() as u32,
            5 if random.chance(0.1) => random.below(1 << 20) as u32,
            6 if random.chance(0.01) => random.below(10) as u32,
            7 if random.chance(0.05) => random.next() as u32,
            _ => continue,
        };
        word.copy_from_slice(&new.to_le_bytes()[..word.len()]);
    }
    bytes
}

#[test]
fn overwritten_maps_cause_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(7);
    for (number, (file, input)) in files().into_iter().enumerate() {
        for (section, place) in places(&file) {
            for pattern in 0..8 {
                println!("model {number}, section {section}, pattern {pattern}"); // shown if the test fails
                let path = folder.path().join("model");
                std::fs::write(&path, &file).unwrap();
                let model = AnyModel::load(&path).unwrap();
                overwrite(&path, place.start, &nonsense(&file[place.clone()], pattern, &mut random));
                use_all(model, &input);
                std::fs::remove_file(&path).unwrap();
            }
        }
    }
}
