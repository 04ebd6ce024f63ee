//! The fuzz targets on stable Rust: seeds, a few thousand mutations of each, and every past find.
//!
//! `fuzz/` holds the targets for a fuzzer; `readers.rs` is compiled here, too. A target may return anything, but it must return:
//! a panic fails the test. `cargo test -p kbest --test suite write_seeds -- --ignored` writes the seeds to `fuzz/corpus/`, where
//! the fuzzer begins.

#[allow(unreachable_pub)] // a public module of the crate of targets
#[path = "../../../../fuzz/src/readers.rs"]
mod readers;

use crate::common::Random;
use crate::segment_models::trained as trained_segments;
use kbest::feature::{FeatureSource, Numbers, Preset};
use kbest::train::{
    Averaging, DualOptions, DualTrainingSet, Perceptron, PerceptronOptions, Standing, Trainer, TrainingSet,
    save_checkpoint,
};
use kbest::{Sequence, Template};
use readers::{TARGETS, training_set};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn fuzz_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn trained(data: TrainingSet, averaging: Averaging) -> Perceptron {
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options).unwrap();
    (0..3).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    trainer
}

fn words() -> Vec<Sequence> {
    let mut sequence = Sequence::new();
    for (word, label) in [("time", "N|Sing"), ("flies", "V|Sing"), ("arrows", "N|Plur")] {
        sequence.push([word]);
        sequence.set_label(label);
    }
    vec![sequence]
}

/// Model files of every kind.
fn models() -> Vec<Vec<u8>> {
    let set = |source: FeatureSource, sequences: &[Sequence]| TrainingSet::new(sequences, source, 1).unwrap();
    let mut numbers = Sequence::new();
    for (x, label) in [("1", "A"), ("-2", "B"), ("3", "A")] {
        numbers.push([x]);
        numbers.set_label(label);
    }
    let numbers = [numbers];
    let of_numbers = set(FeatureSource::Numbers(Numbers::fit(&numbers).unwrap()), &numbers);
    let kernel = Arc::new("rbf:1".parse::<kbest::feature::token::StandardKernel>().unwrap());
    let dual = DualTrainingSet::new(Arc::new(of_numbers), kernel, DualOptions::default()).unwrap();
    let mut dual = Perceptron::new(Arc::new(dual), PerceptronOptions::default()).unwrap();
    (0..3).for_each(|_| _ = dual.epoch(&mut |_| ()).unwrap());
    let observed = Template::parse("U:%x[0,0]\nB:%x[0,0]\n", "template").unwrap();
    let models = [
        trained(training_set(), Averaging::Averaged).model(),
        trained(training_set(), Averaging::Voted).model(),
        trained(set(FeatureSource::Preset(Preset::Morphology), &words()), Averaging::Averaged).model(),
        trained(set(FeatureSource::Template(observed), &words()), Averaging::Final).model(),
        dual.model(),
    ];
    models.into_iter().map(|model| model.unwrap().to_bytes().unwrap()).collect()
}

/// Files of models of segments: runs and spans, features of the input at edges, a learned bound.
fn segment_models() -> Vec<Vec<u8>> {
    let observed = Template::parse("U:%x[0,0]\nB:%x[0,0]\n", "template").unwrap();
    let models = [
        trained_segments(&["X", "Y", "O"], FeatureSource::Preset(Preset::Words), Averaging::Averaged),
        trained_segments(&["B-X", "I-X", "O"], FeatureSource::Template(observed), Averaging::Final),
    ];
    let files = models.iter().map(|model| model.to_bytes().unwrap());
    #[cfg(feature = "bounds")]
    let files = files.chain([with_bound(&models[0])]);
    files.collect()
}

/// The same model with a bound that was learned.
#[cfg(feature = "bounds")]
fn with_bound(model: &kbest::SegmentModel) -> Vec<u8> {
    let options = kbest::segment::BoundOptions { trees: 2, ..Default::default() };
    let unseen = crate::segment_models::sequences(30, 9, &["X", "Y", "O"]);
    let (bound, _) = model.learn_bound(&unseen, &options, &mut |_| ()).unwrap();
    let file = kbest::SegmentModel::from_bytes(&model.to_bytes().unwrap(), "again").unwrap();
    let parts = kbest::model::SegmentModelParts { bound: Some(bound), ..file.into_parts() };
    kbest::SegmentModel::new(parts).unwrap().to_bytes().unwrap()
}

/// What a fuzzer begins with, by target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let texts = |texts: &[&str]| texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    match target {
        "model" => models(),
        "segment_model" => segment_models(),
        "segments" => [[5, 3, 4, 63, 5], [7, 2, 8, 7, 9], [4, 8, 3, 13, 2], [6, 4, 5, 54, 3]]
            .iter()
            .map(|head: &[u8; 5]| {
                head.iter().copied().chain((0..900u32).map(|i| (i * i * 37 % 251) as u8)).collect()
            })
            .collect(),
        "checkpoint" => [Averaging::Averaged, Averaging::Final]
            .map(|averaging| save_checkpoint(7, &Standing::default(), &trained(training_set(), averaging)))
            .into(),
        "crfsuite" => vec![crate::import::small_crfsuite()],
        "crfpp" => texts(&[crate::import::CRFPP]),
        "wapiti" => texts(&[crate::import::WAPITI]),
        "template" => {
            texts(&["# comment\nU00:%x[-2,0]\nU01:%x[-1,0]/%x[0,1]\n\nB\nB01:%x[0,0]\n", "U:%x[0,9]\r\nU\n"])
        }
        "patterns" => {
            texts(&["*\nu:w=%x[0,0]\nb:%X[-1,1]\n*:%m[0,0,\"^.?.?[a-z]+$\"]\nU:%t[1,0,\"\\d*\"]\n"])
        }
        "constraints" => texts(&["B-X\tI-X\n^\tO\nO\t$\n", "!O\tI-*\n!^\tI-*\n# comment\n!B-*\t*-Y\n"]),
        "columns" => texts(&["a b N\nc d V\n\n\ne f N\n", "\u{feff}a\tN\r\n\tb\tV\r\n \r\n", "x  y\tz\n"]),
        "conllu" => texts(&[
            "# sent_id = 1\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\t_\t_\t0\t_\t_\t_\n2\tle\tle\tDET\t_\tA=b|C=d\t1\t_\t_\tX=y\n2.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\n\n# end\n",
        ]),
        "jsonl" => texts(&[
            "{\"tokens\":[\"a\",\"\\u00e9\"],\"tags\":[\"N\",3],\"id\":{\"x\":[1,2.5e3,null]}}\n\n{\"tags\":[],\"tokens\":[]}\n",
        ]),
        "items" => texts(&["N\ta:1.5\tb\\:c\tx\nV\tw=__COLON__:2\n\n@weight 2\nN\ta\n\n"]),
        "lattice" => [[4, 3, 0, 5], [3, 7, 7, 2], [8, 1, 3, 9]]
            .iter()
            .map(|head: &[u8; 4]| {
                head.iter().copied().chain((0..200u32).map(|i| (i * 37 % 256) as u8)).collect()
            })
            .collect(),
        other => panic!("no seeds for {other}"),
    }
}

/// Flips, cuts, doubles, overwrites: what a fuzzer does, without its feedback.
fn mutated(seed: &[u8], other: &[u8], r: &mut Random) -> Vec<u8> {
    const TOKENS: [&[u8]; 9] = [
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\x7f",
        b"\n\n",
        b"\t",
        b"-1",
        b"1e999",
        b"99999999999999999999",
        b"\xc3\x28",
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..1 + r.below(4) {
        let at = r.below(bytes.len() + 1);
        match r.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << r.below(8),
            1 if at < bytes.len() => bytes[at] = r.next() as u8,
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, TOKENS[r.below(TOKENS.len())].iter().copied())),
            4 => {
                let end = (at + r.below(40)).min(bytes.len());
                drop(bytes.splice(at..end, []));
            }
            _ => {
                let from = r.below(other.len() + 1);
                let piece = other[from..(from + r.below(60)).min(other.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
        }
    }
    bytes
}

/// Runs a target, and names the bytes if it panics.
fn run(name: &str, target: readers::Target, bytes: &[u8]) {
    let caught = std::panic::catch_unwind(|| target(bytes));
    assert!(caught.is_ok(), "{name} panics on {:?}", bytes.escape_ascii().to_string());
}

#[test]
fn no_target_panics() {
    let rounds = std::env::var("KBEST_FUZZ_ROUNDS").map_or(400, |rounds| rounds.parse().unwrap());
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        let r = &mut Random::new(name.len() as u64);
        for seed in &seeds {
            run(name, target, seed);
            for _ in 0..rounds {
                run(name, target, &mutated(seed, &seeds[r.below(seeds.len())], r));
            }
        }
    }
}

/// Inputs that once did harm, and the corpus if a fuzzer has been here.
#[test]
fn past_finds_and_the_corpus_do_no_harm() {
    for (name, target) in TARGETS {
        for folder in ["finds", "corpus"] {
            let files = std::fs::read_dir(fuzz_folder().join(folder).join(name)).into_iter().flatten();
            for file in files {
                run(name, target, &std::fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
}

#[test]
#[ignore = "writes the corpus that `make fuzz` begins with"]
fn write_seeds() {
    for (name, _) in TARGETS {
        let folder = fuzz_folder().join("corpus").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (i, seed) in seeds(name).iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{i}")), seed).unwrap();
        }
    }
}
