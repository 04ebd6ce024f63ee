//! Arrays as stored in files, before their keys give them a meaning.

use kbest::Float;

/// An array with its shape, row-major.
#[derive(Debug)]
pub(crate) struct Array {
    /// Its extents, outermost first; empty for a scalar.
    pub(crate) shape: Vec<usize>,
    /// Its elements.
    pub(crate) data: Data,
}

/// The elements, widened to the few types needed here. All conversions are exact.
#[derive(Debug)]
pub enum Data {
    /// f16, bf16 and f32.
    Single(Vec<f32>),
    /// f64.
    Double(Vec<f64>),
    /// Integers of all sizes.
    Whole(Vec<i64>),
    /// Booleans.
    Truth(Vec<bool>),
}

impl Array {
    /// `shape (3, 4)`, as numpy writes it.
    pub(crate) fn shape_text(&self) -> String {
        shape_text(&self.shape)
    }

    /// The name of its element type.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Single(_) => "f32",
            Data::Double(_) => "f64",
            Data::Whole(_) => "integers",
            Data::Truth(_) => "bool",
        }
    }

    /// The elements as scores: moved if they already have that type, else the nearest values.
    ///
    /// # Errors
    /// For booleans, integers that the type cannot hold exactly, and finite numbers that it cannot hold at all.
    pub(crate) fn into_scores<S: Scores>(self) -> Result<Vec<S>, String> {
        let wrong = |i: usize, value: &dyn std::fmt::Display| {
            format!("expected numbers that fit into {}, got {value} at index {i}", S::NAME)
        };
        match S::same(self.data) {
            Ok(scores) => Ok(scores),
            Err(Data::Single(values)) => Ok(values.into_iter().map(|v| S::from_f64(v.into())).collect()),
            Err(Data::Double(values)) => values
                .into_iter()
                .enumerate()
                .map(|(i, value)| {
                    let score = S::from_f64(value);
                    // A large finite penalty must not silently turn into "forbidden".
                    if value.is_finite() && !score.to_f64().is_finite() {
                        return Err(wrong(i, &value) + "; use --dtype f64");
                    }
                    Ok(score)
                })
                .collect(),
            Err(Data::Whole(values)) => values
                .into_iter()
                .enumerate()
                .map(|(i, value)| {
                    let score = S::from_f64(value as f64);
                    let exact = score.to_f64() as i128 == i128::from(value);
                    exact.then_some(score).ok_or_else(|| wrong(i, &value) + " exactly")
                })
                .collect(),
            Err(Data::Truth(_)) => Err("expected numbers, got bool".into()),
        }
    }

    /// The elements as numbers from 0 to `largest`.
    ///
    /// # Errors
    /// For elements that are not integers or are out of range.
    pub(crate) fn into_indices(self, largest: usize) -> Result<Vec<u32>, String> {
        let kind = self.kind();
        let Data::Whole(values) = self.data else { return Err(format!("expected integers, got {kind}")) };
        let convert = |(i, value): (usize, i64)| {
            let index = u32::try_from(value).ok().filter(|&index| index as usize <= largest);
            index.ok_or_else(|| format!("expected integers from 0 to {largest}, got {value} at index {i}"))
        };
        values.into_iter().enumerate().map(convert).collect()
    }
}

/// `(3,)`, `(3, 4)`, `()`.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A score type that files can store.
pub trait Scores: Float + serde::Serialize {
    /// Its name in messages and options.
    const NAME: &'static str;
    /// Its name in numpy's headers.
    const DESCRIPTION: &'static str;
    /// The elements themselves if they have this type, else the unchanged data.
    fn same(data: Data) -> Result<Vec<Self>, Data>;
    /// Appends the bytes that numpy stores.
    fn push_bytes(self, bytes: &mut Vec<u8>);
}

impl Scores for f32 {
    const NAME: &'static str = "f32";
    const DESCRIPTION: &'static str = "<f4";
    fn same(data: Data) -> Result<Vec<f32>, Data> {
        if let Data::Single(values) = data { Ok(values) } else { Err(data) }
    }
    fn push_bytes(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}

impl Scores for f64 {
    const NAME: &'static str = "f64";
    const DESCRIPTION: &'static str = "<f8";
    fn same(data: Data) -> Result<Vec<f64>, Data> {
        if let Data::Double(values) = data { Ok(values) } else { Err(data) }
    }
    fn push_bytes(self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.to_le_bytes());
    }
}
