//! Sections of a model file that contradict themselves or that nothing would read, and maps that change under a tagger.

use crate::model_file::{Sections, put_together, take_apart};
use kbest::feature::FeatureSource;
use kbest::model::{LabelParts, Model};
use kbest::train::{Averaging, Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Sequence, Tagger, Template};
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

pub(crate) fn sentence() -> Sequence {
    let mut sentence = Sequence::new();
    for (word, label) in [("time", "N"), ("flies", "V"), ("like", "P"), ("arrows", "N")] {
        sentence.push_position();
        sentence.push_cell(word);
        sentence.set_label(label);
    }
    sentence
}

pub(crate) fn trained(averaging: Averaging) -> Model {
    let template = Template::parse("U0:%x[0,0]\nB\n", "template").unwrap();
    let data = TrainingSet::new(&[sentence()], FeatureSource::Template(template), 1).unwrap();
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options).unwrap();
    for _ in 0..3 {
        trainer.epoch(&mut |_| ()).unwrap();
    }
    trainer.model().unwrap()
}

/// What loading says of a voted model whose section has been changed.
fn refusal(section: &str, change: impl Fn(&mut Vec<u8>)) -> String {
    let mut sections = take_apart(&trained(Averaging::Voted).to_bytes().unwrap());
    let place = sections.iter().position(|(name, _)| name == section).unwrap();
    change(&mut sections[place].1);
    Model::from_bytes(&put_together(&sections), "f").unwrap_err().to_string()
}

#[test]
fn a_vote_needs_voters() {
    let without_votes = refusal("voters", |bytes| {
        let members = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        assert!(members > 1, "the list of votes comes first");
        bytes[8..][..4 * members].fill(0);
    });
    assert!(without_votes.contains("at least one vote"), "{without_votes}");
    let longer = refusal("voters", |bytes| bytes.push(0));
    assert!(longer.contains("section `voters`") && longer.contains("nothing after it"), "{longer}");
}

#[test]
fn sections_that_nothing_reads_are_refused() {
    let whole = take_apart(&trained(Averaging::Averaged).to_bytes().unwrap());
    let changed = |change: &dyn Fn(&mut Sections)| {
        let mut sections = whole.clone();
        change(&mut sections);
        Model::from_bytes(&put_together(&sections), "f").unwrap_err().to_string()
    };
    let source = whole.iter().position(|(name, _)| name == "source").unwrap();
    let error = changed(&|sections| sections[source].1 = b"items".to_vec());
    assert_eq!(error, "f: expected only sections of features `items`, got section `template`");
    let error = changed(&|sections| sections.push(("label-parts".into(), vec![0; 8])));
    assert_eq!(error, "f: expected a section `label-parts.number` beside `label-parts`, got none");
}

/// The template is large, and would be parsed as often as it is named.
#[test]
fn a_source_that_is_named_often_is_read_once() {
    let mut sections = take_apart(&trained(Averaging::Averaged).to_bytes().unwrap());
    let at =
        |sections: &Sections, wanted: &str| sections.iter().position(|(name, _)| name == wanted).unwrap();
    let (source, template) = (at(&sections, "source"), at(&sections, "template"));
    sections[source].1 = ["template"; 1000].join("+").into();
    let lines: String = (0..20_000).map(|i| format!("U{i}:%x[0,0]\r\n")).collect();
    sections[template].1 = lines.into();
    let error = Model::from_bytes(&put_together(&sections), "f").unwrap_err().to_string();
    assert_eq!(error, "f: expected each source of features once, got template twice");
}

/// One label with half a million parts: comparing each with all before it would take minutes.
#[test]
fn parts_of_labels_are_checked_in_one_pass() {
    let parts = 500_000u32;
    let ascending: Vec<u32> = (0..parts).collect();
    assert!(LabelParts::new(parts as usize, vec![0, parts], ascending.clone()).is_ok());
    let mut twice = ascending;
    *twice.last_mut().unwrap() = 0;
    assert!(LabelParts::new(parts as usize, vec![0, parts], twice).is_err());
}

/// A file that is overwritten while it is mapped may give nonsense or an error, but the search in its tables ends and stays in
/// the map.
#[test]
fn an_overwritten_map_is_searched_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = trained(Averaging::Averaged).to_bytes().unwrap();
    let slots = {
        let sections = take_apart(&bytes);
        let content = &sections.iter().find(|(name, _)| name == "nodes.slots").unwrap().1;
        let start = bytes.windows(content.len()).position(|part| part == content).unwrap();
        start..start + content.len()
    };
    let after_head = 64 * (take_apart(&bytes).len() + 1)..bytes.len();
    for (i, (range, pattern)) in [
        (slots.clone(), 1u64),          // every slot taken, by a key that is there
        (slots, u64::MAX),              // by a key that is not
        (after_head.clone(), u64::MAX), // everything but the table of contents
        (after_head, 0x0123_4567_89ab_cdef),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{i}.kbest"));
        std::fs::write(&path, &bytes).unwrap();
        let model = Arc::new(Model::load(&path).unwrap());
        assert!(Tagger::new(model.clone()).tag(&sentence(), 1).is_ok());
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let nonsense = pattern.to_le_bytes().repeat(range.len().div_ceil(8));
        file.seek(SeekFrom::Start(range.start as u64)).unwrap();
        file.write_all(&nonsense[..range.len()]).unwrap();
        for word in ["time", "unknown", ""] {
            let mut sequence = Sequence::new();
            sequence.push_position();
            sequence.push_cell(word);
            let _ = Tagger::new(model.clone()).tag(&sequence, 2).is_ok();
        }
    }
}
