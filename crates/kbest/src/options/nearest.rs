//! Names that are nearly right.

/// The name that is most like a misspelt one; `None` if none is like it. One letter in three, and at least one, may be wrong,
/// missing, too much, or in the place of its neighbour.
///
/// ```
/// use kbest::options::nearest;
/// assert_eq!(nearest("optimiser", ["algorithm", "optimizer"]), Some("optimizer"));
/// assert_eq!(nearest("wings", ["algorithm", "optimizer"]), None);
/// ```
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = name.chars().count();
    let likeness = |known: &&str| (distance(name, known), known.chars().count().abs_diff(letters));
    let near = names.into_iter().min_by_key(likeness)?;
    let wrong = distance(name, near);
    (wrong < letters && wrong <= (letters / 3).max(1)).then_some(near)
}

/// How many letters differ (Damerau and Levenshtein, without gaps between letters that change places).
fn distance(a: &str, b: &str) -> usize {
    let [a, b]: [Vec<char>; 2] = [a, b].map(|text| text.to_lowercase().chars().collect());
    let (mut last, mut row) = (vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>());
    for i in 1..=a.len() {
        let before_last = std::mem::replace(&mut last, row);
        row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let other = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + other).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        let known =
            [("", "", 0), ("", "abc", 3), ("abc", "acb", 1), ("c1", "c2", 1), ("kitten", "sitting", 3)];
        for (a, b, expected) in known {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
        let names = ["seed", "threads", "epochs", "c1", "C"];
        let nearest = |name| nearest(name, names);
        assert_eq!(["epoch", "thread", "ephocs", "c3"].map(nearest), [2, 1, 2, 3].map(|i| Some(names[i])));
        assert_eq!(["x", "verbose", ""].map(nearest), [None; 3]);
    }
}
