//! Models of segments: a token chain, semi-Markov Viterbi, and A* with a bound learned from unlabelled records.
//!
//! From tokens to segments, features of segments included as far as a decoder asks for them. The bound is learned from
//! the last 30 % of the training records, which the model has not seen.

use super::super::data::{Data, sample};
use super::super::prove::differing_segments;
use super::super::results::{BoundRow, Measured, SegmentRow, SegmentTask};
use super::missing;
use kbest::feature::{FeatureSource, Preset};
use kbest::model::SegmentModelParts;
use kbest::random::Random;
use kbest::scoring::Scorer;
use kbest::scoring::SegmentModelMemory;
use kbest::segment::{self, BoundOptions, Estimate, Norm, Segmentation};
use kbest::train::{Perceptron, PerceptronOptions, SegmentOptions, SegmentTrainingSet, Trainer, TrainingSet};
use kbest::{Decoder, SegmentModel, Sequence, Tagger};
use kbest_cli::failure::Result;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The chain of tokens.
pub(crate) const CHAIN: &str = "token chain";
/// The paper's decoder, every segment and every pair of labels.
pub(crate) const TEXTBOOK: &str = "semi-viterbi";
pub(crate) const LEARNED: &str = "semi-astar:learned";
const DECODERS: [&str; 6] =
    ["semi-viterbi", "semi-viterbi-simd", "semi-funnel", "semi-astar", "semi-astar:learned", "auto"];
/// First lengths of the groups of records.
const GROUPS: [usize; 8] = [1, 5, 9, 13, 19, 27, 37, 51];
/// Share of the training records that the model learns from; the bound learns from the rest.
const LEARNED_FROM: f64 = 0.7;
/// Records that the bound that is used learns from, and those of the comparison of programmes.
const MOST: usize = 700;
const FEW: usize = 80;
/// All inequalities of a record grow with the square of its length, so few and short ones.
const FEWEST: usize = 8;
const SHORT: usize = 10;

pub(super) fn run(data: &mut Data, task: &str, out: &Path) -> Result<Measured> {
    let corpus = match data.corpus(task)? {
        Ok(corpus) => corpus,
        Err(reason) => return Ok(missing(reason)),
    };
    let size = data.size;
    let count = corpus.train.len();
    let mut shuffled = sample(corpus.train, count);
    let order = Random::new(1).shuffled(count);
    shuffled = order.iter().map(|&i| std::mem::take(&mut shuffled[i as usize])).collect();
    let unseen = shuffled.split_off(((count as f64 * LEARNED_FROM) as usize).max(1));
    let test = sample(corpus.test, size.records);
    let epochs = size.epochs.min(5);

    let chain = Arc::new(TrainingSet::new(&shuffled, FeatureSource::Preset(Preset::Words), 1)?);
    let mut trainer = Perceptron::new(chain, PerceptronOptions::default())?;
    for _ in 0..size.epochs {
        trainer.epoch(&mut |_| ())?;
    }
    let chain = Tagger::new(Arc::new(trainer.model()?));

    let set = SegmentTrainingSet::new(
        &shuffled,
        FeatureSource::Preset(Preset::Words),
        1,
        SegmentOptions::default(),
    )?;
    let mut trainer = Perceptron::new(Arc::new(set), PerceptronOptions::default())?;
    for _ in 0..epochs {
        trainer.epoch(&mut |_| ())?;
    }
    let model = trainer.model()?;
    let (model, bounds) = match bounded(model, &unseen, &test, size.quick)? {
        Ok(bounded) => bounded,
        Err(reason) => return Ok(missing(format!("{task}: skipped: {reason}"))),
    };

    let mut rows = vec![chain_row(chain, &test, size.segment_rounds)?];
    rows.extend(segment_rows(&model, &test, size.segment_rounds, out)?);
    Ok(Measured::Segments(SegmentTask {
        task: task.to_owned(),
        labels: model.labels().len(),
        train_records: shuffled.len(),
        test_records: test.len(),
        longest: model.longest().iter().max().map_or(1, |&longest| longest as usize),
        groups: GROUPS.to_vec(),
        rows,
        bounds,
    }))
}

/// Learns the bound that is used, and others beside it to compare programmes; `Err` with the reason, inside `Ok`, if none
/// can be learned.
fn bounded(
    model: SegmentModel,
    unseen: &[Sequence],
    test: &[Sequence],
    quick: bool,
) -> Result<std::result::Result<(SegmentModel, Vec<BoundRow>), String>> {
    let usual =
        BoundOptions { trees: if quick { 4 } else { BoundOptions::default().trees }, ..Default::default() };
    let few = |options: BoundOptions| (options, FEW);
    let variants: [(&str, (BoundOptions, usize)); 7] = [
        ("LP, sections 4.1 and 4.2", (usual, MOST)),
        ("LP, no trees: best node score", (BoundOptions { trees: 0, ..usual }, MOST)),
        ("LP, few records", few(usual)),
        ("QP, few records", few(BoundOptions { norm: Norm::L2, ..usual })),
        ("LP without 4.1 (sums written out), few records", few(BoundOptions { sparse: false, ..usual })),
        ("LP, fewest and short records", (usual, FEWEST)),
        (
            "LP without 4.2 (all inequalities), the same",
            (BoundOptions { all_inequalities: true, ..usual }, FEWEST),
        ),
    ];
    let (mut rows, mut parts) = (vec![], model.into_parts());
    let mut used = None;
    for (name, (options, most)) in variants {
        let model = SegmentModel::new(parts)?;
        let fits = |sequence: &&Sequence| most > FEWEST || sequence.len() <= SHORT;
        let sequences: Vec<Sequence> = unseen.iter().filter(fits).take(most).cloned().collect();
        let begun = Instant::now();
        let learned = model.learn_bound(&sequences, &options, &mut |_| ());
        let seconds = begun.elapsed().as_secs_f64();
        parts = model.into_parts();
        let (bound, report) = match learned {
            Ok(learned) => learned,
            Err(error) => {
                rows.push(failed(name, sequences.len(), seconds, &error));
                continue;
            }
        };
        let with = SegmentModel::new(SegmentModelParts { bound: Some(bound), ..parts })?;
        let short_on_test = short(&with, test, options.delta)?;
        parts = with.into_parts();
        rows.push(BoundRow {
            name: name.to_owned(),
            sequences: sequences.len(),
            inequalities: report.size.inequalities,
            variables: report.size.variables,
            rows: report.size.rows,
            coefficients: report.size.coefficients,
            fit_seconds: report.seconds[2],
            classifier_agrees: report.guessed,
            delta: report.promise.delta,
            epsilon: report.promise.epsilon,
            measured: report.promise.measured,
            short: report.promise.failed,
            largest_shortfall: report.promise.largest,
            asked_exact: report.explicit[0],
            asked_learned: report.explicit[1],
            short_on_test,
            failed: None,
        });
        let bound = parts.bound.take();
        used = used.or(bound); // the first one that could be learned
    }
    let Some(bound) = used else {
        let why = rows.first().and_then(|row| row.failed.as_deref()).unwrap_or_default();
        let count = unseen.len();
        return Ok(Err(format!("no bound could be learned from {count} unlabelled records: {why}")));
    };
    Ok(Ok((SegmentModel::new(SegmentModelParts { bound: Some(bound), ..parts })?, rows)))
}

fn failed(name: &str, sequences: usize, seconds: f64, error: &kbest::Error) -> BoundRow {
    BoundRow {
        name: name.to_owned(),
        sequences,
        inequalities: 0,
        variables: 0,
        rows: 0,
        coefficients: 0,
        fit_seconds: seconds,
        classifier_agrees: 0.0,
        delta: 0.0,
        epsilon: 0.0,
        measured: 0,
        short: 0,
        largest_shortfall: 0.0,
        asked_exact: 0.0,
        asked_learned: 0.0,
        short_on_test: 0.0,
        failed: Some(error.to_string()),
    }
}

fn best(found: Vec<Segmentation<f32>>) -> Segmentation<f32> {
    found.into_iter().next().unwrap_or_default()
}

/// Share of the records on which the learned bound's answer is short by more than delta.
fn short(model: &SegmentModel, test: &[Sequence], delta: f64) -> Result<f64> {
    let exact: Decoder = "semi-viterbi-simd".parse()?;
    let learned = Decoder::SemiAstar(Estimate::Learned);
    let (mut memory, mut scratch) = (SegmentModelMemory::default(), segment::Scratch::default());
    let mut short = 0;
    for sequence in test {
        model.prepare_for(&learned, &mut memory);
        let lattice = model.lattice(sequence, &mut memory)?;
        let right = best(exact.decode_segments(&lattice, 1, &mut scratch)?.paths).score;
        let answer = best(learned.decode_segments(&lattice, 1, &mut scratch)?.paths).score;
        short += usize::from(f64::from(right) - f64::from(answer) > delta);
    }
    Ok(short as f64 / test.len().max(1) as f64)
}

/// The group of a record of this length.
fn group(length: usize) -> usize {
    GROUPS.iter().rposition(|&first| first <= length).unwrap_or(0)
}

/// Mean microseconds in each group of lengths; 0 where there is no record.
fn by_length(test: &[Sequence], seconds: &[f64]) -> Vec<f64> {
    let mut sums = [(0.0, 0usize); GROUPS.len()];
    for (sequence, seconds) in test.iter().zip(seconds) {
        let (sum, count) = &mut sums[group(sequence.len())];
        *sum += seconds;
        *count += 1;
    }
    sums.iter().map(|&(sum, count)| if count == 0 { 0.0 } else { 1e6 * sum / count as f64 }).collect()
}

/// Tokens and records right, from labels.
fn right<'a, N: PartialEq<&'a str>>(test: &'a [Sequence], answers: &[Vec<N>]) -> (f64, f64) {
    let (mut tokens, mut all, mut records) = (0, 0, 0);
    for (sequence, answer) in test.iter().zip(answers) {
        let hits = (0..sequence.len())
            .filter(|&t| answer.get(t).is_some_and(|name| *name == sequence.label(t).unwrap_or_default()));
        let hits = hits.count();
        tokens += hits;
        all += sequence.len();
        records += usize::from(hits == sequence.len());
    }
    (tokens as f64 / all.max(1) as f64, records as f64 / test.len().max(1) as f64)
}

/// The chain of tokens, features included.
fn chain_row(mut tagger: Tagger, test: &[Sequence], rounds: usize) -> Result<SegmentRow> {
    let mut seconds = vec![f64::INFINITY; test.len()];
    let mut answers = vec![];
    for round in 0..rounds {
        for (i, sequence) in test.iter().enumerate() {
            let begun = Instant::now();
            let labels = tagger.tag(sequence, 1)?.decoded.best().labels.clone();
            seconds[i] = seconds[i].min(begun.elapsed().as_secs_f64());
            if round == 0 {
                let name = |&y: &u32| tagger.model().labels().name(y).unwrap_or_default().to_owned();
                answers.push(labels.iter().map(name).collect::<Vec<String>>());
            }
        }
    }
    let (token_accuracy, record_accuracy) = right(test, &answers);
    let mean = 1e6 * seconds.iter().sum::<f64>() / test.len().max(1) as f64;
    Ok(SegmentRow {
        decoder: CHAIN.to_owned(),
        token_accuracy,
        record_accuracy,
        microseconds: mean,
        decode_microseconds: mean,
        asked: 0.0,
        right: None,
        by_length: by_length(test, &seconds),
    })
}

/// Decoders of segments take turns on every record; the best round of each record counts.
fn segment_rows(
    model: &SegmentModel,
    test: &[Sequence],
    rounds: usize,
    out: &Path,
) -> Result<Vec<SegmentRow>> {
    let longest = model.longest().iter().max().map_or(1, |&longest| longest as usize);
    let possible: usize =
        test.iter().map(|sequence| (1..=sequence.len()).map(|end| end.min(longest)).sum::<usize>()).sum();
    let decoders = DECODERS.map(|name| name.parse::<Decoder>());
    let (mut memory, mut scratch) = (SegmentModelMemory::default(), segment::Scratch::default());
    let mut whole = vec![vec![f64::INFINITY; test.len()]; DECODERS.len()];
    let mut decode = whole.clone();
    let mut asked = [0; DECODERS.len()];
    let mut answers: Vec<Vec<Segmentation<f32>>> = vec![vec![]; DECODERS.len()];
    for round in 0..rounds {
        for (i, sequence) in test.iter().enumerate() {
            for (d, decoder) in decoders.iter().enumerate() {
                let decoder = decoder.clone()?;
                model.prepare_for(&decoder, &mut memory);
                let begun = Instant::now();
                let lattice = model.lattice(sequence, &mut memory)?;
                let built = Instant::now();
                let answer = decoder.decode_segments(&lattice, 1, &mut scratch)?;
                let seconds = (begun.elapsed().as_secs_f64(), built.elapsed().as_secs_f64());
                drop(lattice);
                whole[d][i] = whole[d][i].min(seconds.0);
                decode[d][i] = decode[d][i].min(seconds.1);
                if round == 0 {
                    asked[d] += SegmentModel::asked(&mut memory);
                    answers[d].push(best(answer.paths));
                }
            }
        }
    }
    let same = prove(model, test, &answers, out)?;
    let mut rows = vec![];
    for (d, name) in DECODERS.into_iter().enumerate() {
        let spelt: Vec<Vec<&str>> = answers[d].iter().map(|answer| spell(model, answer)).collect();
        let (token_accuracy, record_accuracy) = right(test, &spelt);
        let mean = |seconds: &[f64]| 1e6 * seconds.iter().sum::<f64>() / test.len().max(1) as f64;
        rows.push(SegmentRow {
            decoder: name.to_owned(),
            token_accuracy,
            record_accuracy,
            microseconds: mean(&whole[d]),
            decode_microseconds: mean(&decode[d]),
            asked: asked[d] as f64 / possible.max(1) as f64,
            right: Some(same[d]),
            by_length: by_length(test, &whole[d]),
        });
    }
    Ok(rows)
}

/// For each of [`DECODERS`] the share of its answers that are those of the first. All but the learned bound must have the
/// same ones: the first lattice on which they differ is left in `out`.
fn prove(
    model: &SegmentModel,
    test: &[Sequence],
    answers: &[Vec<Segmentation<f32>>],
    out: &Path,
) -> Result<Vec<f64>> {
    let mut shares = vec![];
    for (name, of_decoder) in DECODERS.into_iter().zip(answers) {
        let pairs = || of_decoder.iter().zip(&answers[0]);
        if let Some(i) = pairs().position(|(ours, theirs)| ours != theirs).filter(|_| name != LEARNED) {
            let mut memory = SegmentModelMemory::default();
            let lattice = model.lattice(&test[i], &mut memory)?;
            let (ours, theirs) = ((name, &of_decoder[i]), (DECODERS[0], &answers[0][i]));
            return Err(differing_segments(&lattice, ours, theirs, out));
        }
        let same = pairs().filter(|(ours, theirs)| ours == theirs).count();
        shares.push(same as f64 / test.len().max(1) as f64);
    }
    Ok(shares)
}

/// The labels of the tokens: segments are runs of one label in these data.
fn spell<'m>(model: &'m SegmentModel, answer: &Segmentation<f32>) -> Vec<&'m str> {
    answer.labels().iter().map(|&y| model.labels().name(y).unwrap_or_default()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::data::Size;
    use super::*;
    use kbest_cli::input::{AnyBatch, Input};

    fn trained() -> (SegmentModel, Vec<Sequence>) {
        let corpus = Data::new(None, Size::QUICK, "nowhere".into()).corpus("usaddress").unwrap().unwrap();
        let source = FeatureSource::Preset(Preset::Words);
        let set = SegmentTrainingSet::new(&corpus.train, source, 1, SegmentOptions::default()).unwrap();
        let mut trainer = Perceptron::new(Arc::new(set), PerceptronOptions::default()).unwrap();
        trainer.epoch(&mut |_| ()).unwrap();
        (trainer.model().unwrap(), corpus.test)
    }

    /// A decoder with a wrong answer fails the run, and the file that it leaves shows which one: every exact decoder finds
    /// the right one there, to the last bit.
    #[test]
    fn a_wrong_segmentation_is_left_to_be_seen_again() {
        let folder = tempfile::tempdir().unwrap();
        let (model, test) = trained();
        let (mut memory, mut scratch) = (SegmentModelMemory::default(), segment::Scratch::default());
        let exact: Decoder = TEXTBOOK.parse().unwrap();
        let mut two_best = vec![];
        for record in &test {
            let lattice = model.lattice(record, &mut memory).unwrap();
            two_best.push(exact.decode_segments(&lattice, 2, &mut scratch).unwrap().paths);
        }
        let right: Vec<Segmentation<f32>> = two_best.iter().map(|answers| answers[0].clone()).collect();
        let mut answers = vec![right.clone(); DECODERS.len()];
        assert_eq!(prove(&model, &test, &answers, folder.path()).unwrap(), [1.0; DECODERS.len()]);
        // What a learned bound misses is counted; what another decoder misses fails.
        let learned = DECODERS.iter().position(|name| *name == LEARNED).unwrap();
        answers[learned][3] = two_best[3][1].clone();
        assert_eq!(prove(&model, &test, &answers, folder.path()).unwrap()[learned], 0.95);
        answers[2][7] = two_best[7][1].clone();
        let failure = prove(&model, &test, &answers, folder.path()).unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        let file = folder.path().join("disagreement.npz");
        let command = format!("kbest decode {} --decoder semi-funnel", file.display());
        assert!(failure.to_string().ends_with(&command), "{failure}");
        let Ok(AnyBatch::Single(batch)) = (Input { file: Some(file), edges: None, dtype: None }).read()
        else {
            panic!("expected f32 scores");
        };
        let kept = &batch.segment_lattices().unwrap()[0];
        assert_eq!(kept.segmentation_score(&answers[2][7].segments).unwrap(), answers[2][7].score);
        for name in DECODERS.into_iter().filter(|name| *name != LEARNED) {
            let decoder: Decoder = name.parse().unwrap();
            assert_eq!(
                best(decoder.decode_segments(kept, 1, &mut scratch).unwrap().paths),
                right[7],
                "{name}"
            );
        }
    }
}
