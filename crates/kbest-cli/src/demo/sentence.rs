//! One sentence with its best label sequences and their probabilities.

use crate::failure::Result;
use crate::output::Output;
use crate::table;
use kbest::{LabelId, Model, Sequence, Tagger};
use std::io::Write;
use std::sync::Arc;

/// Label sequences to show.
const PATHS: usize = 3;
/// Length of a sentence that fits the screen.
const WORDS: std::ops::RangeInclusive<usize> = 6..=10;

/// Separates the changes of a path, one per line.
const CONTINUED: &str = "\n                            ";

/// Shows the short sentence whose probability is closest to one half: neither trivial nor hopeless.
pub(super) fn show(model: &Arc<Model>, sentences: &[Sequence], out: &mut Output) -> Result<()> {
    let mut tagger = Tagger::new(model.clone()).with_confidences(true);
    let mut doubtful = None;
    let mut nearest = f64::INFINITY;
    for sentence in sentences.iter().filter(|sentence| WORDS.contains(&sentence.len())) {
        let distance = (tagger.tag(sentence, 1)?.probabilities[0] - 0.5).abs();
        if distance < nearest {
            (doubtful, nearest) = (Some(sentence), distance);
        }
    }
    let Some(sentence) = doubtful else { return Ok(()) };
    let tagged = tagger.tag(sentence, PATHS)?;
    let name = |y: LabelId| model.labels().name(y).unwrap_or_default();
    let word = |t: usize| sentence.cell(t, 0).unwrap_or_default();
    let best = &tagged.decoded.paths[0].labels;

    writeln!(
        out,
        "A test sentence that the model is about half sure of, with its {PATHS} best label sequences:"
    )?;
    let row = |t: usize| {
        let gold = sentence.label(t).unwrap_or_default();
        let remark = if name(best[t]) == gold { String::new() } else { format!("gold: {gold}") };
        let sure = format!("{:.1} %", 100.0 * tagged.confidences[0][t]);
        vec![format!("  {}", word(t)), name(best[t]).to_owned(), sure, remark]
    };
    let rows: Vec<Vec<String>> = (0..sentence.len()).map(row).collect();
    write!(
        out,
        "{}",
        table::aligned(&["  word", "label", "prob.", ""], &[false, false, true, false], &rows)
    )?;
    for (rank, path) in tagged.decoded.paths.iter().enumerate() {
        let changed = (0..path.labels.len()).filter(|&t| path.labels[t] != best[t]);
        let changes: Vec<String> = changed.map(|t| format!("{} {}", word(t), name(path.labels[t]))).collect();
        let told = if rank == 0 { "as above".to_owned() } else { changes.join(CONTINUED) };
        let sure = 100.0 * tagged.probabilities[rank];
        writeln!(out, "  {}. score {:7.2}, {sure:4.1} %:  {told}", rank + 1, path.score)?;
    }
    writeln!(
        out,
        "The percentages of a perceptron rank its answers by confidence, but are not calibrated.\n"
    )?;
    Ok(out.flush()?)
}
