//! Many token vectors, token by token and feature by feature.

use crate::checked::part_between;
use crate::feature::{FeatureId, rises_to};
use crate::memory::Blob;
use kbest_core::simd::{Loop, run};
use kbest_core::{Error, Result};

/// A feature that one vector in this many has gets a whole column: reading zeros is cheaper than jumping.
const WHOLE_COLUMN: usize = 4;

/// Tokens whose sums are kept in the first-level cache while all columns pass by.
const BLOCK: usize = 1024;

/// A token: features by rising number, and their values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenVector<'a> {
    /// The features.
    pub features: &'a [FeatureId],
    /// Their values.
    pub values: &'a [f32],
}

impl TokenVector<'_> {
    /// The inner product of two vectors, added up by rising feature.
    pub fn dot(&self, other: TokenVector<'_>) -> f64 {
        let (mut i, mut j, mut sum) = (0, 0, 0.0);
        while i < self.features.len() && j < other.features.len() {
            let (mine, theirs) = (self.features[i], other.features[j]);
            if mine == theirs {
                sum += f64::from(self.values[i]) * f64::from(other.values[j]);
            }
            i += usize::from(mine <= theirs);
            j += usize::from(theirs <= mine);
        }
        sum
    }

    /// The inner product with itself.
    pub fn square(&self) -> f64 {
        self.values.iter().map(|&value| f64::from(value) * f64::from(value)).sum()
    }

    /// Pairs of feature and value.
    pub fn iter(&self) -> impl Iterator<Item = (FeatureId, f32)> + '_ {
        self.features.iter().copied().zip(self.values.iter().copied())
    }
}

/// The values of one feature.
#[derive(Debug, Clone)]
enum Column {
    /// Of all tokens.
    Whole(Vec<f32>),
    /// Of the tokens that have it.
    List(Vec<(u32, f32)>),
}

/// `N` token vectors.
#[derive(Debug, Clone)]
pub struct TokenVectors {
    starts: Blob<u32>,         // N + 1: where the features of each token begin
    features: Blob<FeatureId>, // token after token, rising within each
    values: Blob<f32>,         // one per feature
    squares: Vec<f64>,         // N: the inner product of each with itself
    columns: Vec<Column>,      // one per feature
}

impl TokenVectors {
    /// No vectors yet, of as many features.
    pub fn builder(dimension: usize) -> TokenVectorsBuilder {
        TokenVectorsBuilder { dimension, starts: vec![0], features: Vec::new(), values: Vec::new() }
    }

    /// Vectors from their arrays, if features rise below `dimension` and values are finite; if not, what is wrong.
    pub(crate) fn from_arrays(
        dimension: usize,
        starts: Blob<u32>,
        features: Blob<FeatureId>,
        values: Blob<f32>,
    ) -> std::result::Result<Self, &'static str> {
        if starts.first() != Some(&0) || !rises_to(&starts, features.len()) || values.len() != features.len()
        {
            return Err("support tokens that do not follow one another");
        }
        let token = |two: &[u32]| &features[two[0] as usize..two[1] as usize];
        let legal = |token: &[FeatureId]| {
            token.is_sorted_by(|one, next| one < next)
                && token.last().is_none_or(|&id| (id as usize) < dimension)
        };
        if !starts.windows(2).all(|two| legal(token(two))) || !values.iter().all(|value| value.is_finite()) {
            return Err("support tokens with features out of order or range, or values that are not finite");
        }
        Ok(Self::indexed(dimension, starts, features, values))
    }

    fn indexed(dimension: usize, starts: Blob<u32>, features: Blob<FeatureId>, values: Blob<f32>) -> Self {
        let mut counts = vec![0usize; dimension];
        features.iter().for_each(|&id| counts[id as usize] += 1);
        let tokens = starts.len() - 1;
        let column = |&count: &usize| match count > 0 && count * WHOLE_COLUMN >= tokens {
            true => Column::Whole(vec![0.0; tokens]),
            false => Column::List(Vec::with_capacity(count)),
        };
        let columns = counts.iter().map(column).collect();
        let mut vectors = TokenVectors { starts, features, values, squares: Vec::new(), columns };
        let mut columns = std::mem::take(&mut vectors.columns);
        for token in 0..tokens {
            for (id, value) in vectors.vector(token).iter() {
                match &mut columns[id as usize] {
                    Column::Whole(column) => column[token] = value,
                    Column::List(list) => list.push((token as u32, value)),
                }
            }
        }
        vectors.squares = (0..tokens).map(|token| vectors.vector(token).square()).collect();
        vectors.columns = columns;
        vectors
    }

    /// Where the features of each token begin, the features, and their values.
    pub(crate) fn arrays(&self) -> (&[u32], &[FeatureId], &[f32]) {
        (&self.starts, &self.features, &self.values)
    }

    /// Number of vectors `N`.
    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// Number of features.
    pub fn dimension(&self) -> usize {
        self.columns.len()
    }

    /// A vector; empty if there is no such token.
    pub fn vector(&self, token: usize) -> TokenVector<'_> {
        let features = part_between(&self.features, &self.starts, token);
        TokenVector { features, values: part_between(&self.values, &self.starts, token) }
    }

    /// The inner product of each vector with itself.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// The inner products of a token with all vectors: the same bits as [`TokenVector::dot`], in one pass.
    pub fn dots(&self, token: TokenVector<'_>, row: &mut Vec<f64>) {
        row.clear();
        row.resize(self.len(), 0.0);
        // Each sum must be added up by rising feature: lists and whole columns in turn, unless all columns are whole.
        let known = || token.iter().filter(|&(id, _)| (id as usize) < self.columns.len());
        let whole = |(id, value): (FeatureId, f32)| match &self.columns[id as usize] {
            Column::Whole(column) => Some((&column[..], value)),
            Column::List(_) => None,
        };
        match known().map(whole).collect::<Option<Vec<_>>>() {
            Some(columns) => run(AddColumns { columns: &columns, row }),
            None => {
                for (id, value) in known() {
                    match &self.columns[id as usize] {
                        Column::Whole(column) => run(AddColumns { columns: &[(column, value)], row }),
                        Column::List(list) => {
                            let value = f64::from(value);
                            list.iter().for_each(|&(at, of)| row[at as usize] += value * f64::from(of));
                        }
                    }
                }
            }
        }
    }
}

/// `row[i] += sum over columns of value * column[i]`, block by block.
struct AddColumns<'a> {
    columns: &'a [(&'a [f32], f32)],
    row: &'a mut [f64],
}

impl Loop for AddColumns<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        for (block, sums) in self.row.chunks_mut(BLOCK).enumerate() {
            for &(column, value) in self.columns {
                let (column, value) = (&column[block * BLOCK..], f64::from(value));
                sums.iter_mut().zip(column).for_each(|(sum, &of)| *sum += value * f64::from(of));
            }
        }
    }
}

/// Collects vectors.
#[derive(Debug, Clone)]
pub struct TokenVectorsBuilder {
    dimension: usize,
    starts: Vec<u32>,
    features: Vec<FeatureId>,
    values: Vec<f32>,
}

impl TokenVectorsBuilder {
    /// Adds a vector: features by rising number, each once.
    ///
    /// # Errors
    /// [`Error::Shape`] for features out of order or range, or more than four billion values; [`Error::IllegalScore`] for a
    /// value that is not finite.
    pub fn push(&mut self, vector: &[(FeatureId, f32)]) -> Result<()> {
        let rises = vector.is_sorted_by(|one, next| one.0 < next.0);
        if !rises || vector.last().is_some_and(|&(id, _)| id as usize >= self.dimension) {
            let expected = format!("features in rising order below {}", self.dimension);
            return Err(Error::shape("vector of a token", expected, "others"));
        }
        if let Some(&(id, value)) = vector.iter().find(|(_, value)| !value.is_finite()) {
            return Err(Error::IllegalScore { what: format!("value of feature {id}"), value: value.into() });
        }
        self.features.extend(vector.iter().map(|&(id, _)| id));
        self.values.extend(vector.iter().map(|&(_, value)| value));
        let end = u32::try_from(self.features.len());
        self.starts.push(end.map_err(|_| Error::shape("values of tokens", "at most 2^32 - 1", "more"))?);
        Ok(())
    }

    /// Number of vectors so far.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All vectors are there.
    pub fn finish(self) -> TokenVectors {
        TokenVectors::indexed(self.dimension, self.starts.into(), self.features.into(), self.values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest_core::random::Random;

    #[test]
    fn a_row_has_the_bits_of_its_products() {
        let random = &mut Random::new(3);
        for one_in in [1, 2, 9] {
            let mut builder = TokenVectors::builder(20);
            for _ in 0..BLOCK + 300 {
                let has = (0..20).filter(|_| random.below(one_in) == 0).collect::<Vec<_>>();
                let vector = has.into_iter().map(|id| (id, random.below(1000) as f32 / 7.0 - 50.0));
                builder.push(&vector.collect::<Vec<_>>()).unwrap();
            }
            let tokens = builder.finish();
            let mut row = Vec::new();
            for token in [0, 5, BLOCK + 1] {
                tokens.dots(tokens.vector(token), &mut row);
                let products = (0..tokens.len()).map(|other| tokens.vector(other).dot(tokens.vector(token)));
                assert_eq!(row, products.collect::<Vec<_>>());
                assert_eq!(row[token], tokens.squares()[token]);
            }
        }
    }

    #[test]
    fn vectors_out_of_order_are_refused() {
        let mut builder = TokenVectors::builder(3);
        assert!(builder.push(&[(1, 1.0), (1, 2.0)]).is_err());
        assert!(builder.push(&[(3, 1.0)]).is_err());
        assert!(builder.push(&[(0, f32::NAN)]).is_err());
        assert!(builder.is_empty());
        let refused = |starts: Vec<u32>, features: Vec<u32>, values: Vec<f32>| {
            TokenVectors::from_arrays(3, starts.into(), features.into(), values.into()).is_err()
        };
        assert!(!refused(vec![0, 2, 3], vec![0, 2, 1], vec![1.0; 3]));
        assert!(refused(vec![0, 2, 3], vec![2, 0, 1], vec![1.0; 3]));
        assert!(refused(vec![0, 2, 3], vec![0, 3, 1], vec![1.0; 3]));
        assert!(refused(vec![0, 2, 3], vec![0, 2, 1], vec![1.0; 2]));
        assert!(refused(vec![0, 2, 4], vec![0, 2, 1], vec![1.0; 3]));
        assert!(refused(vec![], vec![], vec![]));
        assert!(refused(vec![0, 1], vec![0], vec![f32::INFINITY]));
    }
}
