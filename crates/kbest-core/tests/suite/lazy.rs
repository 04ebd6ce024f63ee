//! Paths on demand against the enumeration of all paths: every path, in order, none twice, none missing.

use crate::common::{Case, Numbers, enumerate};
use kbest_core::decode::KbestIter;
use kbest_core::{Float, Lattice, kbest_iter};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

pub(super) fn gives_all_paths_in_order<S: Float>(case: &Case) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let expected = enumerate(&lattice);
    let paths: Vec<_> = kbest_iter(&lattice).collect();
    let scores = |paths: &[kbest_core::Path<S>]| paths.iter().map(|path| path.score).collect::<Vec<_>>();
    assert_eq!(scores(&paths), scores(&expected), "{case:?}");
    let mut seen = HashSet::new();
    for path in &paths {
        assert_eq!(lattice.path_score(&path.labels).unwrap(), path.score, "{case:?}");
        assert!(seen.insert(path.labels.clone()), "twice: {path:?} of {case:?}");
    }
    if case.numbers == Numbers::Whole && !expected.is_empty() {
        assert_eq!(paths[0], expected[0], "{case:?}");
    }
}

/// The best score of every projected sequence, best first.
pub(super) fn projections_are_unique_and_best<S: Float>(case: &Case) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let project = |y: u32| y / 2;
    let mut seen = HashSet::new();
    let expected: Vec<S> = enumerate(&lattice)
        .into_iter()
        .filter(|path| seen.insert(path.labels.iter().map(|&y| project(y)).collect::<Vec<_>>()))
        .map(|path| path.score)
        .collect();
    let mut given = HashSet::new();
    let mut scores = vec![];
    for path in kbest_iter(&lattice).unique_by(project) {
        assert!(given.insert(path.labels.iter().map(|&y| project(y)).collect::<Vec<_>>()), "{case:?}");
        scores.push(path.score);
    }
    assert_eq!(scores, expected, "{case:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_paths_lazily(seed in any::<u64>()) {
        let case = Case::random(seed, 5, 5);
        gives_all_paths_in_order::<f64>(&case);
        gives_all_paths_in_order::<f32>(&case);
    }

    #[test]
    fn unique_after_projection(seed in any::<u64>()) {
        let case = Case::random(seed, 4, 6);
        projections_are_unique_and_best::<f64>(&case);
        projections_are_unique_and_best::<f32>(&case);
    }

    /// Larger lattices, a few hundred paths each: the lazy order equals that of k-best decoding.
    #[test]
    fn lazily_as_at_once(seed in any::<u64>()) {
        use kbest_core::{Decode, Scratch, decode::RecursiveEnumeration};
        let case = Case::random(seed, 15, 60);
        let edges = case.edges::<f32>();
        let lattice = case.lattice(&edges);
        let lazily: Vec<f32> = kbest_iter(&lattice).take(300).map(|path| path.score).collect();
        match RecursiveEnumeration::default().decode_kbest(&lattice, 300, &mut Scratch::new()) {
            Ok(at_once) => {
                let at_once: Vec<f32> = at_once.paths.iter().map(|path| path.score).collect();
                prop_assert_eq!(lazily, at_once);
            }
            Err(_) => prop_assert!(lazily.is_empty()),
        }
    }
}

/// Iterators that own their lattices outlive the scope in which they were made, and can be sent to other threads.
#[test]
fn an_iterator_may_own_its_lattice() {
    fn may_be_kept<T: Send + 'static>() {}
    may_be_kept::<KbestIter<'static, f32, Arc<Lattice<'static, f32>>>>();

    let case = Case::random(11, 6, 9);
    let edges = case.edges::<f64>();
    let expected: Vec<f64> = enumerate(&case.lattice(&edges)).iter().map(|path| path.score).collect();
    let owning = { kbest_iter(case.lattice(&edges)) };
    let sharing = { kbest_iter(Arc::new(case.lattice(&edges))) };
    thread::scope(|scope| {
        let owning = scope.spawn(move || owning.map(|path| path.score).collect::<Vec<_>>());
        let sharing = scope.spawn(move || sharing.map(|path| path.score).collect::<Vec<_>>());
        assert_eq!(owning.join().unwrap(), expected);
        assert_eq!(sharing.join().unwrap(), expected);
    });
    assert!(expected.len() > 1);
}
