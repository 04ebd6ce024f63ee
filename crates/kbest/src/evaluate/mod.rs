//! How accurate labels are: by token, by whole sequence, by label, and by the spans they encode.
//!
//! **What.** An [`Evaluation`] takes gold and predicted labels, as names, sequence by sequence, and counts. Gold labels
//! that a model does not know count as errors, under their own name. Spans are found as in `conlleval`, or strictly by
//! a scheme ([`Spans`]). **Cost.** Two look-ups per token; memory depends on the number of labels and distinct
//! confusions, not on the number of tokens. Counts from several threads can be [merged](Evaluation::merge).
//!
//! **When not.** All errors weigh the same.
//!
//! ```
//! use kbest::evaluate::{Evaluation, Spans};
//! let spans = Spans::detect(["O", "B-PER", "I-PER", "B-LOC"]);
//! let mut evaluation = Evaluation::new(spans);
//! evaluation.add(&["B-PER", "I-PER", "O", "B-LOC"], &["B-PER", "O", "O", "B-LOC"])?;
//! assert_eq!(evaluation.tokens().share(), 0.75);
//! assert_eq!(evaluation.spans().unwrap().all.f1(), 0.5); // one of two found, one of two right
//! println!("{}", evaluation.report(10, 5));
//! # Ok::<(), kbest::Error>(())
//! ```

mod reliability;
mod report;
mod span;

pub use reliability::{Bin, Reliability};
pub use report::Report;
pub use span::{Span, Spans};

use crate::state::{StateReader, StateWriter};
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelSetBuilder};
use std::collections::{BTreeMap, HashMap};

/// How many of a total are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hits {
    /// The number that are right.
    pub right: u64,
    /// The total.
    pub all: u64,
}

impl Hits {
    /// The share of right ones; 0 if the total is 0.
    pub fn share(&self) -> f64 {
        ratio(self.right, self.all)
    }

    fn count(&mut self, right: bool) {
        self.right += u64::from(right);
        self.all += 1;
    }

    fn merge(&mut self, other: Hits) {
        self.right += other.right;
        self.all += other.all;
    }
}

/// Counts of gold items, predicted items, and those that agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number in the gold labels: the support.
    pub gold: u64,
    /// The number in the predicted labels.
    pub predicted: u64,
    /// The number in both.
    pub right: u64,
}

impl Tally {
    /// The share of right ones among the predicted; 0 if there are none.
    pub fn precision(&self) -> f64 {
        ratio(self.right, self.predicted)
    }

    /// The share of right ones among the gold; 0 if there are none.
    pub fn recall(&self) -> f64 {
        ratio(self.right, self.gold)
    }

    /// The harmonic mean of both: `2 right / (gold + predicted)`.
    pub fn f1(&self) -> f64 {
        ratio(2 * self.right, self.gold + self.predicted)
    }

    fn merge(&mut self, other: Tally) {
        self.gold += other.gold;
        self.predicted += other.predicted;
        self.right += other.right;
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A tally with its name: a label, or a span type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'a> {
    /// The label, or the span type.
    pub name: &'a str,
    /// Its counts.
    pub tally: Tally,
}

/// One label mistaken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confusion<'a> {
    /// The gold label.
    pub gold: &'a str,
    /// The predicted label.
    pub predicted: &'a str,
    /// How often.
    pub count: u64,
}

/// Spans by type, and all of them together (the micro average).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanTable<'a> {
    /// One row per type, sorted by name.
    pub rows: Vec<Row<'a>>,
    /// All types.
    pub all: Tally,
}

/// Counts over all added sequences.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    names: LabelSetBuilder,
    pairs: HashMap<(LabelId, LabelId), u64>, // gold and predicted, including equal ones
    tokens: Hits,
    sequences: Hits,
    unknown: Option<Hits>,
    spans: Option<Spans>,
    kinds: BTreeMap<String, Tally>, // spans by type
}

impl Evaluation {
    /// An evaluation with all counts zero. Spans are counted only if `spans` says how to find them.
    pub fn new(spans: Option<Spans>) -> Self {
        Evaluation { spans, ..Self::default() }
    }

    /// Counts a sequence.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of predicted and gold labels differ; nothing is counted then.
    pub fn add<G: AsRef<str>, P: AsRef<str>>(&mut self, gold: &[G], predicted: &[P]) -> Result<()> {
        if gold.len() != predicted.len() {
            return Err(Error::shape("predicted labels", gold.len(), predicted.len()));
        }
        let mut all_right = true;
        for (gold, predicted) in gold.iter().zip(predicted) {
            let (gold, predicted) = (self.names.add(gold.as_ref()), self.names.add(predicted.as_ref()));
            *self.pairs.entry((gold, predicted)).or_default() += 1;
            self.tokens.count(gold == predicted);
            all_right &= gold == predicted;
        }
        self.sequences.count(all_right);
        if let Some(spans) = self.spans {
            self.add_spans(&spans.find(gold), &spans.find(predicted));
        }
        Ok(())
    }

    /// Counts a sequence, and which of its tokens are unknown (not seen in training).
    ///
    /// # Errors
    /// See [`Evaluation::add`]; also if there is not one entry per token.
    pub fn add_knowing<G: AsRef<str>, P: AsRef<str>>(
        &mut self,
        gold: &[G],
        predicted: &[P],
        unknown: &[bool],
    ) -> Result<()> {
        if unknown.len() != gold.len() {
            return Err(Error::shape("marks of unknown tokens", gold.len(), unknown.len()));
        }
        self.add(gold, predicted)?;
        let hits = self.unknown.get_or_insert_default();
        for ((gold, predicted), _) in gold.iter().zip(predicted).zip(unknown).filter(|(_, unknown)| **unknown)
        {
            hits.count(gold.as_ref() == predicted.as_ref());
        }
        Ok(())
    }

    /// Both lists are sorted from left to right, and no two spans of a list overlap.
    fn add_spans(&mut self, gold: &[Span<'_>], predicted: &[Span<'_>]) {
        for span in gold {
            self.kind(span.kind).gold += 1;
        }
        let mut rest = gold.iter().peekable();
        for span in predicted {
            while rest.next_if(|gold| gold.start < span.start).is_some() {}
            let right = rest.peek() == Some(&span);
            let tally = self.kind(span.kind);
            tally.predicted += 1;
            tally.right += u64::from(right);
        }
    }

    fn kind(&mut self, kind: &str) -> &mut Tally {
        if !self.kinds.contains_key(kind) {
            self.kinds.insert(kind.to_owned(), Tally::default());
        }
        self.kinds.get_mut(kind).expect("inserted above if missing")
    }

    /// Adds the counts of another evaluation, which must find spans the same way.
    ///
    /// # Errors
    /// [`Error::Shape`] if it finds spans another way.
    pub fn merge(&mut self, other: &Evaluation) -> Result<()> {
        if self.spans != other.spans {
            let told = |spans: &Option<Spans>| format!("{spans:?}");
            return Err(Error::shape("spans to merge", told(&self.spans), told(&other.spans)));
        }
        let ids: Vec<LabelId> = other.names.names().map(|name| self.names.add(name)).collect();
        for (&(gold, predicted), &count) in &other.pairs {
            *self.pairs.entry((ids[gold as usize], ids[predicted as usize])).or_default() += count;
        }
        self.tokens.merge(other.tokens);
        self.sequences.merge(other.sequences);
        if let Some(hits) = other.unknown {
            self.unknown.get_or_insert_default().merge(hits);
        }
        for (kind, &tally) in &other.kinds {
            self.kind(kind).merge(tally);
        }
        Ok(())
    }

    /// Writes all counts; how spans are found is not part of them.
    pub fn save(&self, state: &mut StateWriter) {
        state.number(self.names.len() as u64);
        self.names.names().for_each(|name| state.text(name.as_bytes()));
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_unstable();
        state.number(pairs.len() as u64);
        for (&(gold, predicted), &count) in pairs {
            state.number(gold);
            state.number(predicted);
            state.number(count);
        }
        for hits in [Some(self.tokens), Some(self.sequences), self.unknown] {
            let Hits { right, all } = hits.unwrap_or(Hits { right: u64::MAX, all: 0 });
            state.number(right);
            state.number(all);
        }
        state.number(self.kinds.len() as u64);
        for (kind, tally) in &self.kinds {
            state.text(kind.as_bytes());
            [tally.gold, tally.predicted, tally.right].into_iter().for_each(|count| state.number(count));
        }
    }

    /// Reads what [`Evaluation::save`] wrote, of an evaluation that found spans the same way.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::LabelOutOfRange`] for other bytes.
    pub fn restore(spans: Option<Spans>, state: &mut StateReader<'_>) -> Result<Self> {
        let mut new = Evaluation::new(spans);
        for _ in 0..state.number::<u64>()? {
            new.names.add(state.str()?);
        }
        let labels = new.names.len();
        let check = |y: LabelId| match y {
            y if (y as usize) < labels => Ok(y),
            y => Err(Error::LabelOutOfRange { what: "counts".into(), label: y.into(), labels }),
        };
        for _ in 0..state.number::<u64>()? {
            let pair = (check(state.number()?)?, check(state.number()?)?);
            new.pairs.insert(pair, state.number()?);
        }
        let mut hits = || Ok::<_, Error>(Hits { right: state.number()?, all: state.number()? });
        (new.tokens, new.sequences) = (hits()?, hits()?);
        new.unknown = Some(hits()?).filter(|hits| hits.right <= hits.all);
        for _ in 0..state.number::<u64>()? {
            let kind = state.str()?.to_owned();
            let (gold, predicted, right) = (state.number()?, state.number()?, state.number()?);
            new.kinds.insert(kind, Tally { gold, predicted, right });
        }
        Ok(new)
    }

    /// Tokens, and how many have the right label.
    pub fn tokens(&self) -> Hits {
        self.tokens
    }

    /// Sequences, and how many have only right labels.
    pub fn sequences(&self) -> Hits {
        self.sequences
    }

    /// Unknown tokens, and how many are right; `None` if it was never said which are unknown.
    pub fn unknown(&self) -> Option<Hits> {
        self.unknown
    }

    /// Every label, gold or predicted: by falling gold frequency, then by name.
    pub fn labels(&self) -> Vec<Row<'_>> {
        let mut tallies = vec![Tally::default(); self.names.len()];
        for (&(gold, predicted), &count) in &self.pairs {
            tallies[gold as usize].gold += count;
            tallies[predicted as usize].predicted += count;
            if gold == predicted {
                tallies[gold as usize].right += count;
            }
        }
        let rows = self.names.names().zip(tallies).map(|(name, tally)| Row { name, tally });
        let mut rows: Vec<Row<'_>> = rows.collect();
        rows.sort_by(|a, b| b.tally.gold.cmp(&a.tally.gold).then(a.name.cmp(b.name)));
        rows
    }

    /// The mean F1 of all gold labels, with equal weights (the macro average).
    pub fn macro_f1(&self) -> f64 {
        let rows = self.labels();
        let gold = rows.iter().filter(|row| row.tally.gold > 0);
        let (sum, count) = gold.fold((0.0, 0u64), |(sum, n), row| (sum + row.tally.f1(), n + 1));
        if count == 0 { 0.0 } else { sum / count as f64 }
    }

    /// The most frequent errors, at most `limit`; ties sorted by name.
    pub fn confusions(&self, limit: usize) -> Vec<Confusion<'_>> {
        let names: Vec<&str> = self.names.names().collect();
        let wrong = self.pairs.iter().filter(|((gold, predicted), _)| gold != predicted);
        let mut all: Vec<Confusion<'_>> = wrong
            .map(|(&(gold, predicted), &count)| Confusion {
                gold: names[gold as usize],
                predicted: names[predicted as usize],
                count,
            })
            .collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then((a.gold, a.predicted).cmp(&(b.gold, b.predicted))));
        all.truncate(limit);
        all
    }

    /// Spans by type, if spans are counted.
    pub fn spans(&self) -> Option<SpanTable<'_>> {
        self.spans?;
        let mut all = Tally::default();
        self.kinds.values().for_each(|&tally| all.merge(tally));
        let rows = self.kinds.iter().map(|(name, &tally)| Row { name, tally }).collect();
        Some(SpanTable { rows, all })
    }

    /// The evaluation as text, with at most this many labels and confusions.
    pub fn report(&self, labels: usize, confusions: usize) -> Report<'_> {
        Report::new(self, labels, confusions)
    }
}
