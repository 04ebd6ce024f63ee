//! Models in dual form: a linear kernel beside the same model as weights, and kernels that have no weights.
//!
//! `poly:1:0` is the linear kernel `(<x, x'> + 0)^1` under another name: it is kept in dual form, where `linear` becomes
//! ordinary weights. Both are trained alike, so their answers must be the same (the appendix's proposition).

use super::super::data::{Data, sample};
use super::super::results::{Dual, DualRow, Measured};
use super::missing;
use kbest::feature::{FeatureSource, Numbers, Preset};
use kbest::train::{Algorithm, Recipe, TrainingSet};
use kbest::{Sequence, Tagger};
use kbest_cli::failure::Result;
use std::sync::Arc;
use std::time::Instant;

/// The model in primal form.
pub(crate) const PRIMAL: &str = "linear";
/// The same in dual form.
pub(crate) const IN_DUAL_FORM: &str = "poly:1:0";

pub(super) fn run(data: &mut Data, task: &str) -> Result<Measured> {
    let mut corpus = match data.corpus(task)? {
        Ok(corpus) => corpus,
        Err(reason) => return Ok(missing(reason)),
    };
    let (most_train, most_test) = data.size.dual;
    corpus.train.truncate(most_train);
    let test = sample(corpus.test, most_test);
    // Parameters that were chosen on held-out data: benchmarks/dual-models.md.
    let (source, kernels) = match task {
        "letters" => (FeatureSource::Numbers(Numbers::fit(&corpus.train)?), ["poly:5", "rbf:4"]),
        _ => (FeatureSource::Preset(Preset::Columns), ["poly:2:5", "rbf:0.03"]),
    };
    let set = Arc::new(TrainingSet::new(&corpus.train, source, 1)?);
    let (mut rows, mut primal) = (vec![], None);
    for kernel in [PRIMAL, IN_DUAL_FORM].into_iter().chain(kernels) {
        let recipe = Recipe {
            algorithm: Algorithm::Dual,
            kernel: Some(kernel.to_owned()),
            threads: Some(1),
            ..Recipe::default()
        };
        let begun = Instant::now();
        let mut trainer = recipe.trainer(&set)?;
        for _ in 0..data.size.epochs {
            trainer.epoch(&mut |_| ())?;
        }
        let training_seconds = begun.elapsed().as_secs_f64();
        let model = Arc::new(trainer.model()?);
        let mut tagger = Tagger::new(Arc::clone(&model));
        let begun = Instant::now();
        let mut answers: Vec<Vec<u32>> = Vec::with_capacity(test.len());
        for sequence in &test {
            answers.push(tagger.tag(sequence, 1)?.decoded.best().labels.clone());
        }
        let seconds = begun.elapsed().as_secs_f64();
        let tokens: usize = test.iter().map(Sequence::len).sum();
        let right = |(sequence, answer): (&Sequence, &Vec<u32>)| {
            let name = |y: u32| model.labels().name(y);
            answer.iter().enumerate().filter(|&(t, &y)| sequence.label(t) == name(y)).count()
        };
        let right: usize = test.iter().zip(&answers).map(right).sum();
        let same = |primal: &Vec<Vec<u32>>| primal.iter().zip(&answers).filter(|(a, b)| a == b).count();
        rows.push(DualRow {
            kernel: kernel.to_owned(),
            accuracy: right as f64 / tokens.max(1) as f64,
            support_tokens: model.support().map_or(0, |support| support.tokens().len()),
            training_seconds,
            tokens_per_second: tokens as f64 / seconds,
            same_as_primal: primal
                .as_ref()
                .map_or(1.0, |primal| same(primal) as f64 / test.len().max(1) as f64),
        });
        primal.get_or_insert(answers);
    }
    Ok(Measured::Dual(Dual {
        task: task.to_owned(),
        labels: set.labels().len(),
        train_sequences: corpus.train.len(),
        test_sequences: test.len(),
        rows,
    }))
}
