//! Changes of parameters, merged and scaled.

/// A change of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change<P> {
    /// The parameter.
    pub parameter: P,
    /// The difference.
    pub by: f32,
}

/// Sums changes of the same parameter and returns the sum of their squares.
pub(super) fn merge<P: Copy + Ord>(changes: &mut Vec<Change<P>>) -> f64 {
    changes.sort_by_key(|change| change.parameter); // stable: added in their original order
    changes.dedup_by(|next, kept| {
        let same = next.parameter == kept.parameter;
        if same {
            kept.by += next.by;
        }
        same
    });
    changes.iter().map(|change| f64::from(change.by).powi(2)).sum()
}

/// Multiplies all changes.
pub(super) fn scale<P>(changes: &mut [Change<P>], factor: f32) {
    changes.iter_mut().for_each(|change| change.by *= factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_one_parameter_add_up() {
        let change = |parameter, by| Change { parameter, by };
        let mut changes =
            vec![change(1, 1.0), change(2, 1.0), change(1, 2.0), change(0, -1.0), change(2, -1.0)];
        assert_eq!(merge(&mut changes), 9.0 + 1.0);
        assert_eq!(changes, [change(0, -1.0), change(1, 3.0), change(2, 0.0)]);
        scale(&mut changes, 0.5);
        assert_eq!(changes[1], change(1, 1.5));
    }
}
