//! The support tokens of a dual model.

use super::heaviest::Filter;
use crate::table::{aligned, grouped};
use kbest::Model;
use kbest::model::Support;
use serde::Serialize;
use std::fmt;

/// Features of a token that are named in a line.
const FEW: usize = 6;

#[derive(Serialize)]
pub(super) struct SupportReport {
    kernel: String,
    tokens: usize,
    coefficients: usize,
    strongest: Vec<TokenRow>,
}

#[derive(Serialize)]
struct TokenRow {
    /// What the model would lose without it: the square of its length.
    strength: f64,
    /// The label that it speaks for most.
    label: String,
    coefficient: f32,
    /// The score of that label for this token, less that of the best other one; below 0, the model is wrong here unless
    /// transitions help.
    margin: f32,
    features: Vec<String>,
}

impl SupportReport {
    pub(super) fn of(model: &Model, filter: Filter<'_>, top: usize) -> Option<Self> {
        let support = model.support()?;
        let rows = (0..support.tokens().len()).filter_map(|token| row(model, support, token));
        let has_text = |row: &TokenRow| {
            filter.feature.is_none() || row.features.iter().any(|feature| filter.names(feature.as_bytes()))
        };
        let label = filter.label.and_then(|y| model.labels().name(y));
        let is_wanted = |row: &TokenRow| label.is_none_or(|label| row.label == label) && has_text(row);
        let mut strongest: Vec<TokenRow> = rows.filter(is_wanted).collect();
        strongest.sort_by(|a, b| b.strength.total_cmp(&a.strength));
        strongest.truncate(top);
        let (tokens, coefficients) = (support.tokens().len(), support.stored());
        Some(SupportReport { kernel: support.kernel().name(), tokens, coefficients, strongest })
    }
}

fn row(model: &Model, support: &Support, token: usize) -> Option<TokenRow> {
    let for_most = support.coefficients(token).iter().max_by(|a, b| a.weight.total_cmp(&b.weight))?;
    let vector = support.tokens().vector(token);
    let mut scores = vec![0.0; support.labels()];
    support.score(vector, &mut Vec::new(), &mut Vec::new(), &mut scores);
    let others = (0..).zip(&scores).filter(|(y, _)| *y != for_most.label).map(|(_, &score)| score);
    let key = |id: u32| model.extractor().nodes().key(id).map(String::from_utf8_lossy).unwrap_or_default();
    let feature = |(id, value): (u32, f32)| match value {
        1.0 => key(id).into_owned(),
        value => format!("{}:{value:.3}", key(id)),
    };
    Some(TokenRow {
        strength: support.strength(token),
        label: model.labels().name(for_most.label).unwrap_or_default().to_owned(),
        coefficient: for_most.weight,
        margin: scores[for_most.label as usize] - others.fold(f32::NEG_INFINITY, f32::max),
        features: vector.iter().map(feature).collect(),
    })
}

impl fmt::Display for SupportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "support   {} tokens, {} coefficients ({:.1} per token), kernel {}",
            grouped(self.tokens),
            grouped(self.coefficients),
            self.coefficients as f64 / self.tokens.max(1) as f64,
            self.kernel
        )?;
        let cells = |row: &TokenRow| {
            let more = if row.features.len() > FEW { " ..." } else { "" };
            let features = row.features.iter().take(FEW).map(String::as_str).collect::<Vec<_>>().join(" ");
            vec![
                format!("{:.4}", row.strength),
                format!("{:+.4}", row.coefficient),
                format!("{:+.4}", row.margin),
                row.label.clone(),
                format!("{}{more}", features.escape_debug()),
            ]
        };
        let rows: Vec<_> = self.strongest.iter().map(cells).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let header = ["strength", "coefficient", "margin", "label", "features"];
        write!(
            f,
            "\nStrongest support tokens:\n{}",
            aligned(&header, &[true, true, true, false, false], &rows)
        )
    }
}
