//! The smallest numbers of both float types: whatever a search widens by a share of the scores must still grow, where that share
//! rounds to zero. Sums of such numbers are exact, so every answer is known to the last bit.

use crate::beam::{check, check_prefixes};
use crate::common::{Case, exact_decoders, exact_kbest_decoders, smallest};
use crate::lazy::{gives_all_paths_in_order, projections_are_unique_and_best};
use crate::{k_best, one_best};
use kbest_core::decode::kbest_iter;
use kbest_core::{Decode, Edges, Float, Lattice, Scratch};
use proptest::prelude::*;

/// Every decoder of the catalogue and the paths on demand, against enumeration.
fn equal_enumeration<S: Float>(seed: u64) {
    let case = Case::subnormal::<S>(seed, 4, 5);
    one_best::all_agree(&case, &mut Scratch::<S>::counting(), &exact_decoders());
    k_best::all_are_right(&case, &mut Scratch::<S>::new(), &exact_kbest_decoders());
    gives_all_paths_in_order::<S>(&case);
    projections_are_unique_and_best::<S>(&case);
}

/// Every decoder of the catalogue, against Viterbi.
fn agree<S: Float>(seed: u64) {
    let case = Case::subnormal::<S>(seed, 15, 40);
    one_best::all_agree(&case, &mut Scratch::<S>::new(), &exact_decoders());
    k_best::all_agree(&case, &[1, 3, 20], &mut Scratch::<S>::new(), &exact_kbest_decoders());
    for (width, k) in [(1, 1), (1, 3), (20, 20)] {
        check::<S>(&case, width, k);
        check_prefixes::<S>(&case, width, k);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoders_equal_enumeration(seed in any::<u64>()) {
        equal_enumeration::<f32>(seed);
        equal_enumeration::<f64>(seed);
    }

    #[test]
    fn decoders_agree(seed in any::<u64>()) {
        agree::<f32>(seed);
        agree::<f64>(seed);
    }
}

/// One position, and margins that are no share of anything but must reach from one score to the next.
#[test]
fn the_smallest_steps() {
    fn scores<S: Float>() {
        let edges = Edges::dense(3, vec![S::ZERO; 9]).unwrap();
        for steps in [[0.0, -3.0, -1.0], [0.0, -1.0, -2.0], [1.0, 0.0, 3.0], [-1.0, -1.0, -1.0]] {
            let nodes = steps.map(|step| S::from_f64(step * smallest::<S>())).to_vec();
            let mut expected = nodes.clone();
            expected.sort_by(|a, b| b.partial_cmp(a).unwrap());
            let lattice = Lattice::new(nodes, &edges).unwrap();
            for decoder in exact_kbest_decoders() {
                let answer = decoder.decode_kbest(&lattice, 3, &mut Scratch::new()).unwrap();
                let found: Vec<S> = answer.paths.iter().map(|path| path.score).collect();
                assert_eq!(found, expected, "{decoder:?}");
            }
            assert_eq!(kbest_iter(&lattice).map(|path| path.score).collect::<Vec<_>>(), expected);
        }
    }
    scores::<f32>();
    scores::<f64>();
}
