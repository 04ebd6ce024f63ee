//! `--marginals`: which probabilities are written.

use crate::failure::{Failure, Result};

/// The probabilities that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marginals {
    None,
    /// That of each label in the answer.
    Chosen,
    /// Those of the likeliest labels of each position, too.
    Likeliest(usize),
}

impl Marginals {
    /// `None` if the option is absent, `chosen` if it has no value.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self> {
        match text {
            None => Ok(Marginals::None),
            Some("chosen") => Ok(Marginals::Chosen),
            Some("all") => Ok(Marginals::Likeliest(usize::MAX)),
            Some(number) => match number.parse() {
                Ok(number) if number > 0 => Ok(Marginals::Likeliest(number)),
                _ => Err(Failure::Usage(format!(
                    "--marginals: expected nothing, all, or how many labels, as in --marginals=3, got {number}"
                ))),
            },
        }
    }

    pub(crate) fn is_wanted(self) -> bool {
        self != Marginals::None
    }

    /// How many labels of each position.
    pub(crate) fn likeliest(self) -> Option<usize> {
        match self {
            Marginals::Likeliest(number) => Some(number),
            _ => None,
        }
    }
}

/// The likeliest labels of each position, from `T x L` probabilities; equally likely ones in their own order.
pub(crate) fn likeliest<'a>(
    distributions: &[f64],
    names: &[&'a str],
    number: usize,
) -> Vec<Vec<(&'a str, f64)>> {
    let position = |row: &[f64]| {
        let mut order: Vec<usize> = (0..row.len()).collect();
        let by_probability = |&a: &usize, &b: &usize| row[b].total_cmp(&row[a]).then(a.cmp(&b));
        if number < order.len() {
            order.select_nth_unstable_by(number, by_probability);
            order.truncate(number);
        }
        order.sort_unstable_by(by_probability);
        order.into_iter().map(|y| (names[y], row[y])).collect()
    };
    distributions.chunks_exact(names.len().max(1)).map(position).collect()
}
