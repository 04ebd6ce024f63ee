//! Lengths in steps: short ones each for itself, longer ones together, as there are ever fewer of them to learn from.

/// The first length of each step.
const FIRSTS: [usize; 16] = [1, 2, 3, 4, 5, 6, 7, 9, 11, 14, 18, 24, 32, 48, 64, 128];

/// Number of steps.
pub(super) const STEPS: usize = FIRSTS.len();

/// The step of a length of at least 1.
pub(super) fn step(length: usize) -> usize {
    FIRSTS.partition_point(|&first| first <= length) - 1
}

#[cfg(test)]
mod tests {
    #[test]
    fn steps_begin_where_the_list_says() {
        let steps: Vec<usize> = [1, 2, 6, 7, 8, 9, 127, 128, 100_000].map(super::step).into();
        assert_eq!(steps, [0, 1, 5, 6, 6, 7, 14, 15, 15]);
    }
}
