//! Parts of labels, which the labels of a rich label set share.
//!
//! **What.** `NOUN|Case=Gen|Number=Sing` and `ADJ|Case=Gen|Number=Plur` share `Case=Gen`. A feature then has weights
//! for labels and for parts, and a label's score is its own plus those of its parts:
//!
//! ```text
//! score[y] = column[y] + sum over the parts p of y of column[L + p]
//! ```
//!
//! so that what is learned from one label helps all labels that share a part with it, above all those seen only once or
//! twice. The chain model does not change: decoders see the sums. **Cost.** The features of a position are summed into
//! a row of `L + P` *columns*. Each list of parts is cut in the middle, and halves with the same beginning share their
//! sums: with 1,700 labels of six or seven parts each, spreading a row takes about three additions per label. **When
//! not.** If the names of the labels carry no structure: [`LabelParts::from_names`] then finds no parts.
//!
//! ```
//! use kbest::LabelSet;
//! use kbest::model::LabelParts;
//! let labels = LabelSet::from_names(["NOUN|Nom", "NOUN|Gen", "ADJ|Gen", "PUNCT"]);
//! let parts = LabelParts::from_names(&labels).unwrap();
//! assert_eq!((parts.labels(), parts.parts()), (4, 2)); // NOUN and Gen; the others belong to one label each
//! assert_eq!([0, 1, 2, 3].map(|y| parts.of(y)), [&[0][..], &[0, 1], &[1], &[]]);
//!
//! let mut scores = [0.0; 4];
//! parts.spread(&[0.5, 0.0, 0.0, 1.0, 10.0, 20.0], &mut scores, &mut vec![]);
//! assert_eq!(scores, [10.5, 30.0, 20.0, 1.0]);
//! ```
//!
//! **Paper.** Müller, Schmid and Schütze, *Efficient higher-order CRFs for morphological tagging*, EMNLP 2013 (sub-tag
//! features).

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::intern::Interner;
use kbest_core::simd::Float;
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelSet};

/// The characters that separate parts in the names of labels.
pub(super) const SEPARATORS: [char; 9] = ['|', '+', '_', '.', ';', '@', '/', '[', ']'];

/// Which parts each label has.
#[derive(Debug, Clone)]
pub struct LabelParts {
    parts: usize,
    starts: Vec<u32>,      // L + 1: where the parts of each label begin
    list: Vec<u32>,        // parts, each below `parts`
    steps: Vec<Step>,      // how to sum them: a tree of half lists
    halves: Vec<[u32; 2]>, // L: the tree nodes that hold the sums of the two halves of a label's parts
}

/// A node of the tree: the sum at `parent` plus one more part. The root is node 0, the first step is node 1.
#[derive(Debug, Clone, Copy)]
struct Step {
    parent: u32,
    part: u32,
}

/// The parts that several labels have, but not all, in the order of their first occurrence; and lists of those of each label.
fn shared_parts(labels: &LabelSet) -> (Interner, Vec<u32>, Vec<u32>) {
    let split = |name: &str| -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for part in name.split(SEPARATORS).filter(|part| !part.is_empty()) {
            if !parts.iter().any(|known| known == part) {
                parts.push(part.to_owned());
            }
        }
        parts
    };
    let mut counts: HashMap<String, usize, FixedState> = HashMap::default();
    for part in labels.names().flat_map(split) {
        *counts.entry(part).or_default() += 1;
    }
    let shared = |part: &String| (2..labels.len()).contains(&counts[part]);
    let (mut numbers, mut starts, mut list) = (Interner::default(), vec![0], Vec::new());
    for name in labels.names() {
        let parts = split(name);
        let shared = parts.iter().filter(|part| shared(part));
        list.extend(shared.map_while(|part| numbers.insert(part.as_bytes())));
        starts.push(list.len() as u32);
    }
    (numbers, starts, list)
}

impl LabelParts {
    /// The parts found in names split at `| + _ . ; @ / [ ]`: those that several labels have, but not all. `None` if
    /// there are none.
    pub fn from_names(labels: &LabelSet) -> Option<Self> {
        let (numbers, starts, list) = shared_parts(labels);
        if numbers.len() == 0 { None } else { Self::new(numbers.len(), starts, list).ok() }
    }

    /// The name of each part, if these are the parts found in the names of the labels; otherwise one that they may be called by,
    /// such as `part 3`.
    pub fn names(&self, labels: &LabelSet) -> Vec<String> {
        let (numbers, starts, list) = shared_parts(labels);
        let same = numbers.len() == self.parts && starts == self.starts && list == self.list;
        let name = |part: usize| match same {
            true => String::from_utf8_lossy(numbers.keys().at(part as u32)).into_owned(),
            false => format!("part {part}"),
        };
        (0..self.parts).map(name).collect()
    }

    /// From lists of parts: those of label `y` are `list[starts[y]..starts[y + 1]]`.
    ///
    /// # Errors
    /// [`Error::Shape`] for lists that do not fit, a part that does not exist, or a part that a label has twice.
    pub fn new(parts: usize, starts: Vec<u32>, list: Vec<u32>) -> Result<Self> {
        let fits = starts.first() == Some(&0)
            && starts.is_sorted()
            && starts.last().is_some_and(|&end| end as usize == list.len());
        if !fits {
            return Err(Error::shape(
                "starts of the parts of labels",
                format!("ascending from 0 to {}", list.len()),
                "others",
            ));
        }
        if parts > list.len() {
            let expected = format!("at most {}, because each belongs to a label", list.len());
            return Err(Error::shape("parts of labels", expected, parts));
        }
        let mut last_label = vec![0u32; parts]; // of each part: the last label that has it, plus one
        for (y, range) in (1..).zip(starts.windows(2)) {
            for &part in &list[range[0] as usize..range[1] as usize] {
                // `None` for a part that does not exist, `y` for one that the label has already.
                let before = last_label.get_mut(part as usize).map(|last| std::mem::replace(last, y));
                if before.is_none_or(|before| before == y) {
                    return Err(Error::shape(
                        format!("parts of label {}", y - 1),
                        format!("each below {parts}, each once"),
                        part,
                    ));
                }
            }
        }
        let (steps, halves) = tree(&starts, &list);
        Ok(LabelParts { parts, starts, list, steps, halves })
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.halves.len()
    }

    /// Number of parts `P`.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Number of columns, `L + P`.
    pub fn columns(&self) -> usize {
        self.labels() + self.parts
    }

    /// The parts of a label.
    ///
    /// # Panics
    /// If there is no such label.
    pub fn of(&self, y: LabelId) -> &[u32] {
        let y = y as usize;
        &self.list[self.starts[y] as usize..self.starts[y + 1] as usize]
    }

    /// Where the parts of each label begin: `L + 1` numbers.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The parts of all labels.
    pub fn list(&self) -> &[u32] {
        &self.list
    }

    /// Sums a row of `L + P` columns into a row of `L` scores. `sums` is working memory.
    ///
    /// # Panics
    /// If a row is too short.
    pub fn spread<S: Float>(&self, columns: &[S], scores: &mut [S], sums: &mut Vec<S>) {
        let (own, parts) = columns.split_at(self.labels());
        sums.clear();
        sums.resize(self.steps.len() + 1, S::ZERO);
        for (i, step) in (1..).zip(&self.steps) {
            sums[i] = sums[step.parent as usize] + parts[step.part as usize];
        }
        for ((score, &own), &[first, second]) in scores.iter_mut().zip(own).zip(&self.halves) {
            *score = own + (sums[first as usize] + sums[second as usize]);
        }
    }

    /// The transpose of [`LabelParts::spread`]: adds up, for each part, the values of the labels that have it. `parts` gets
    /// `P` sums; `sums` is working memory.
    ///
    /// # Panics
    /// If there are fewer values than labels.
    pub fn collect<S: Float>(&self, values: &[S], parts: &mut Vec<S>, sums: &mut Vec<S>) {
        sums.clear();
        sums.resize(self.steps.len() + 1, S::ZERO);
        for (&value, &[first, second]) in values[..self.labels()].iter().zip(&self.halves) {
            sums[first as usize] += value;
            sums[second as usize] += value;
        }
        parts.clear();
        parts.resize(self.parts, S::ZERO);
        for (i, step) in self.steps.iter().enumerate().rev() {
            let sum = sums[i + 1];
            let (parent, part) = (step.parent as usize, step.part as usize);
            sums[parent] += sum;
            parts[part] += sum;
        }
    }
}

/// The tree of all half lists, parents before children, and the nodes where each label's halves end.
fn tree(starts: &[u32], list: &[u32]) -> (Vec<Step>, Vec<[u32; 2]>) {
    let mut places: HashMap<(u32, u32), u32, FixedState> = HashMap::default();
    let mut steps = Vec::new();
    let mut place_of = |half: &[u32]| {
        half.iter().fold(0, |parent, &part| {
            *places.entry((parent, part)).or_insert_with(|| {
                steps.push(Step { parent, part });
                steps.len() as u32
            })
        })
    };
    let halves = starts.windows(2).map(|range| {
        let of_label = &list[range[0] as usize..range[1] as usize];
        let (first, second) = of_label.split_at(of_label.len().div_ceil(2));
        [place_of(first), place_of(second)]
    });
    let halves = halves.collect();
    (steps, halves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_several_labels_share() {
        let names = ["[/N][Nom]|O", "[/N][Acc]|O", "[/V][Pst.3Sg]|O", "[/V][Prs.3Sg]|B-LOC", "x_x|O"];
        let parts = LabelParts::from_names(&LabelSet::from_names(names)).unwrap();
        // N, O, V, 3Sg; x occurs twice, but in only one label
        assert_eq!(parts.names(&LabelSet::from_names(names)), ["N", "O", "V", "3Sg"]);
        assert_eq!(parts.names(&LabelSet::from_names(["a"])), ["part 0", "part 1", "part 2", "part 3"]);
        let of: Vec<_> = (0..5).map(|y| parts.of(y).to_vec()).collect();
        assert_eq!(of, [vec![0, 1], vec![0, 1], vec![2, 3, 1], vec![2, 3], vec![1]]);
        assert_eq!((parts.labels(), parts.parts(), parts.columns()), (5, 4, 9));
        for names in [&["NN", "VB", "-LRB-", "PRP$"][..], &["a_le", "b_le"], &["x|y"], &[]] {
            assert!(LabelParts::from_names(&LabelSet::from_names(names)).is_none());
        }
    }

    #[test]
    fn spreading_adds_each_label_the_sum_of_its_parts() {
        let lists: [&[u32]; 6] = [&[0, 1, 2], &[], &[0, 1], &[0, 2], &[2, 1, 0], &[3]];
        let mut starts = vec![0];
        lists.iter().for_each(|list| starts.push(starts[starts.len() - 1] + list.len() as u32));
        let parts = LabelParts::new(4, starts, lists.concat()).unwrap();
        assert_eq!(parts.steps.len(), 6); // 0 1, 2, 2 1 and 3, and 1 from the root: common beginnings are shared
        let columns: Vec<f32> = (0..10).map(|i| (1 << i) as f32).collect();
        let (mut scores, mut sums) = ([0.0; 6], vec![]);
        for _ in 0..2 {
            parts.spread(&columns, &mut scores, &mut sums);
            for (y, list) in lists.iter().enumerate() {
                let expected = columns[y] + list.iter().map(|&part| columns[6 + part as usize]).sum::<f32>();
                assert_eq!(scores[y], expected);
            }
        }
        let values: Vec<f32> = (0..6).map(|i| (1 << i) as f32).collect();
        let mut collected = vec![];
        parts.collect(&values, &mut collected, &mut sums);
        for (part, &sum) in (0..).zip(&collected) {
            let having = lists.iter().zip(&values).filter(|(list, _)| list.contains(&part));
            assert_eq!(sum, having.map(|(_, value)| value).sum::<f32>());
        }
        assert_eq!(collected.len(), 4);
    }

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        for (starts, list) in [
            (vec![], vec![]),
            (vec![1], vec![0]),
            (vec![0, 2], vec![0]),
            (vec![0, 1, 0, 1], vec![0]),
            (vec![0, 1], vec![2]),
            (vec![0, 2], vec![1, 1]),
        ] {
            assert!(matches!(LabelParts::new(2, starts, list), Err(Error::Shape { .. })));
        }
        assert!(LabelParts::new(2, vec![0, 1, 1], vec![1]).is_err());
        assert_eq!(LabelParts::new(2, vec![0, 2, 2], vec![1, 0]).unwrap().labels(), 2);
    }
}
