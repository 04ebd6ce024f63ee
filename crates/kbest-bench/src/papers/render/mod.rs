//! The report: Markdown and HTML from the same outcomes, and its pictures.

mod figures;
mod html;
mod markdown;

pub(crate) use figures::{Plot, PlotLine, plot};
pub(crate) use html::html;
pub(crate) use markdown::markdown;

use super::data::Size;
use super::results::Machine;
use kbest_cli::table::number;

/// What is said at the top of the report.
pub(crate) struct About<'a> {
    pub(crate) quick: bool,
    pub(crate) generated: bool,
    pub(crate) date: String,
    pub(crate) machine: &'a Machine,
    pub(crate) size: Size,
    pub(crate) seconds: f64,
}

impl About<'_> {
    /// How it was measured, in paragraphs.
    pub(crate) fn paragraphs(&self) -> Vec<String> {
        let data = match (self.quick, self.generated) {
            (true, true) => {
                "a quick run on small generated data: it shows that everything works, not how fast"
            }
            (true, false) => {
                "a quick run on a small part of the data: it shows that everything works, not how fast"
            }
            _ => "a full run",
        };
        vec![
            format!(
                "This is {data}. {}, {}, {} cores, load {} when it began, {}; kbest {}. This run took {} minutes \
                 (steps of an earlier run that was resumed not counted).",
                self.date,
                self.machine.cpu,
                self.machine.cores,
                self.machine.load,
                self.machine.level,
                env!("CARGO_PKG_VERSION"),
                number(self.seconds / 60.0)
            ),
            format!(
                "Speeds are of decoding alone, one thread, f32; features and node scores are prepared before. At most {} \
                 test sentences per task, drawn at random with a fixed seed. Decoders take turns in {} rounds and the \
                 best round counts; a decoder that takes more than {} seconds in its first round stops there, and its \
                 speed is scaled by positions (the remark says so). The machine is not the papers', so compare ratios to \
                 Viterbi, measured in the same run: *scalar* Viterbi is what the papers had, *SIMD* Viterbi is the \
                 honest baseline today. Models: averaged perceptrons, {} epochs, words at -2 to +2, word bigrams, \
                 affixes, shapes, label bigrams; labels are numbered by frequency.",
                self.size.sentences,
                self.size.rounds,
                number(self.size.limit),
                self.size.epochs
            ),
            "The answers of all exact decoders were compared while they were timed; none differed, or this report would \
             not have been written. Claims are judged by the measurements beside them: *agrees* in all cases measured, \
             *partly* in some, *differs* in none."
                .into(),
        ]
    }
}
