//! All decoders on the lattices of the trained tagger.

use super::table;
use super::{Contender, Plan, YARDSTICK};
use crate::bench::{compare as verdicts, disagreements, measure};
use crate::failure::{Failure, Result};
use crate::output::{Output, Progress};
use kbest::scoring::{ModelMemory, Scorer};
use kbest::{Decoder, Edges, Lattice, Model, Sequence, simd};
use std::io::Write;

const ROUNDS: usize = 3;

/// A decoder and its seconds per sentence, `None` if it was too slow to try.
pub(super) type Time = (String, Option<f64>);

/// Decodes the sentences with every decoder, compares the answers and reports the times.
pub(super) fn compare(
    model: &Model,
    sentences: &[Sequence],
    decoders: Vec<(String, Decoder, usize)>,
    limit: f64,
    out: &mut Output,
) -> Result<()> {
    let edges = dense_edges(model)?;
    let mut memory = ModelMemory::default();
    let mut lattices = Vec::with_capacity(sentences.len());
    for sentence in sentences {
        let nodes = model.lattice(sentence, &mut memory)?.nodes().to_vec();
        lattices.push(Lattice::new(nodes, &edges)?);
    }
    let contenders: Vec<Contender<f32>> =
        decoders.into_iter().map(|(name, decoder, k)| Contender::new(name, decoder, k)).collect();
    let mut progress = Progress::new(ROUNDS * contenders.len(), false);
    let plan = Plan { repeat: ROUNDS, limit, counting: false, limits: true };
    let measured = measure(&lattices, contenders, plan, &mut progress)?;
    drop(progress);

    writeln!(out, "Decoders on the test sentences, one thread, f32, {}:", simd::level().name())?;
    let times = measured.contenders.iter().map(|contender| {
        (contender.name.clone(), Some(contender.times.best() / contender.times.done() as f64))
    });
    write!(out, "{}", text("  decoder", &times.collect::<Vec<_>>()))?;
    let verdicts = verdicts(&lattices, &measured.contenders);
    if let Some(text) = disagreements(&measured.contenders, &verdicts) {
        out.flush()?;
        return Err(Failure::Negative(text));
    }
    let exact = measured.contenders.iter().filter(|contender| contender.decoder.entry().exact);
    write!(out, "The {} exact decoders agree to the last bit on labels and scores", exact.count())?;
    for (contender, verdict) in measured.contenders.iter().zip(&verdicts) {
        if !contender.decoder.entry().exact {
            write!(out, "; {}: {} of {} best paths", contender.name, verdict.same, contender.times.done())?;
        }
    }
    writeln!(out, ".\n")?;
    Ok(out.flush()?)
}

/// The model's edges as one matrix, as a neural network provides them; this suits plain Viterbi best. The others detect
/// that most of it is zero.
pub fn dense_edges(model: &Model) -> Result<Edges<f32>> {
    let labels = model.labels().len();
    let mut matrix = vec![0.0; labels * labels];
    for &feature in model.extractor().shared_edges() {
        for pair in model.edges().pairs(feature) {
            matrix[pair.from as usize * labels + pair.to as usize] += pair.weight;
        }
    }
    Ok(Edges::dense(labels, matrix)?)
}

/// A table of decoders, fastest first, with bars.
pub(super) fn text(title: &str, times: &[Time]) -> String {
    let yardstick = times.iter().find(|(name, _)| name == YARDSTICK).and_then(|(_, seconds)| *seconds);
    let fastest = times.iter().filter_map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
    let slowest = times.iter().filter_map(|(_, s)| *s).fold(0.0, f64::max);
    let decades = (slowest / fastest).log10().ceil().max(1.0);
    let mut sorted: Vec<&Time> = times.iter().collect();
    let key = |time: &Time| time.1.unwrap_or(f64::INFINITY);
    sorted.sort_by(|a, b| key(a).total_cmp(&key(b)));
    let row = |(name, seconds): &Time| match seconds {
        Some(seconds) => vec![
            format!("  {name}"),
            table::number(1.0 / seconds),
            yardstick.map_or("-".into(), |yardstick| table::number(yardstick / seconds)),
            table::log_bar(1.0 / seconds, 1.0 / fastest, decades, 32),
        ],
        None => vec![format!("  {name}"), "-".into(), "-".into(), "too slow here".into()],
    };
    let rows: Vec<Vec<String>> = sorted.into_iter().map(row).collect();
    let header = [title, "sentences/s", "vs viterbi-simd", "(log scale)"];
    table::aligned(&header, &[false, true, true, false], &rows)
}
