//! Every vector kernel against its scalar twin, on every level this CPU supports, for all lengths that matter (below,
//! at and above one vector, and ragged tails), with ties and minus infinity. Maxima and lane-wise sums have one correct
//! answer, so equality is exact.

use super::*;
use crate::score::Score;
use proptest::prelude::*;

/// Small whole numbers: many ties, exact sums; one in eight is forbidden.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![7 => (-6i32..6).prop_map(f64::from), 1 => Just(f64::NEG_INFINITY)]
}

fn row(length: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(score(), length)
}

/// Lengths that would agree only if their product wrapped around are rejected.
#[test]
fn lengths_do_not_wrap() {
    let panics = |check: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err();
    let half = 1usize << (usize::BITS / 2);
    assert!(panics(&|| scalar::check_matrix(0, half, half)));
    assert!(panics(&|| scalar::check_matrix(7, 2, 3)) && !panics(&|| scalar::check_matrix(6, 2, 3)));
    assert!(!panics(&|| scalar::check_rows(6, &[0.5; 2], &[1, 0], 3)));
    assert!(panics(&|| scalar::check_rows(6, &[0.5; 2], &[1, 2], 3)));
    assert!(panics(&|| scalar::check_rows(6, &[0.5; 3], &[1, 0], 3)));
    assert!(panics(&|| scalar::check_rows(6, &[0.5], &[u32::MAX], half)));
    assert!(!panics(&|| scalar::check_rows(6, &[0.5], &[u32::MAX - 1], 0)));
}

/// Runs one check for every vector level that this CPU supports.
macro_rules! on_each_level {
    ($float:ident, $avx512:ident, $avx2:ident, $neon:ident, |$kernels:ident, $proof:ident| $check:block) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if let Some($proof) = cpu::Avx512::detect() {
                use super::x86::$avx512 as $kernels;
                $check
            }
            if let Some($proof) = cpu::Avx2::detect() {
                use super::x86::$avx2 as $kernels;
                $check
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some($proof) = cpu::Neon::detect() {
            use super::neon::$neon as $kernels;
            $check
        }
    }};
}

macro_rules! twin_tests {
    ($float:ident, $avx512:ident, $avx2:ident, $neon:ident) => {
        mod $float {
            use super::*;

            fn cast(row: &[f64]) -> Vec<$float> {
                row.iter().map(|&v| v as $float).collect()
            }

            /// The last vector of a row begins in the block before, whose values may come from other origins.
            #[test]
            fn a_last_block_keeps_the_values_of_the_one_before() {
                let node: Vec<$float> = vec![0.0; 70];
                let rows: [Vec<$float>; 2] = [0, 1].map(|origin| {
                    (0..70).map(|y| if (y < 64) == (origin == 0) { 9.0 } else { -99.0 }).collect()
                });
                let bounds: [Vec<$float>; 2] = [0, 1].map(|origin| {
                    let mut bounds = vec![<$float>::NEG_INFINITY; padded(2)];
                    bounds[origin] = 9.0;
                    bounds[1 - origin] = -99.0;
                    bounds
                });
                let origins = [0, 1].map(|i| Origin { score: 0.0, row: &rows[i], bounds: &bounds[i] });
                let targets = Targets { node: &node, way_out: &node, slack: 0.0, width: 64 };
                let (mut all, mut values) = (vec![], vec![7.0; 70]);
                let wanted = scalar::select_by_block(&origins, -50.0, targets, Some(5.0), 0.0, &mut values, &mut all);
                assert_eq!((wanted.edges, wanted.rest, all.len()), (70, -99.0, 70));
                on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                    let (mut found, mut values) = (vec![], vec![7.0; 70]);
                    let got = kernels::select_by_block(proof, &origins, -50.0, targets, Some(5.0), 0.0, &mut values, &mut found);
                    assert_eq!((got, &found), (wanted, &all));
                    assert_eq!(values, [9.0; 70]);
                });
            }

            /// As many origins as there may be, each of which leads to one label.
            #[test]
            fn selection_from_most_origins() {
                let labels = 64 + MOST_ORIGINS;
                let rows: Vec<Vec<$float>> = (0..MOST_ORIGINS)
                    .map(|origin| (0..labels).map(|y| if y == 64 + origin { 9.0 } else { -9.0 }).collect())
                    .collect();
                let bounds: Vec<Vec<$float>> = rows
                    .iter()
                    .map(|row| {
                        let mut bounds: Vec<$float> = row.chunks(64).map(scalar::largest).collect();
                        bounds.resize(padded(bounds.len()), <$float>::NEG_INFINITY);
                        bounds
                    })
                    .collect();
                let origins: Vec<Origin<'_, $float>> =
                    rows.iter().zip(&bounds).map(|(row, bounds)| Origin { score: 0.0, row, bounds }).collect();
                let node: Vec<$float> = vec![0.0; labels];
                let targets = Targets { node: &node, way_out: &node, slack: 0.0, width: 64 };
                let (least, floor) = (<$float>::NEG_INFINITY, Some(5.0));
                on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                    let (mut found, mut values) = (vec![], vec![7.0; labels]);
                    let got = kernels::select_by_block(proof, &origins, least, targets, floor, 0.0, &mut values, &mut found);
                    // Each block that matters is read from the origins that lead there.
                    assert_eq!((got.read, got.edges, got.rest), (MOST_ORIGINS, 64 * MOST_ORIGINS, -9.0));
                    assert_eq!(found, (64..labels as u32).collect::<Vec<_>>());
                    assert!(values[64..].iter().all(|&value| value == 9.0));
                });
            }

            proptest! {
                #[test]
                fn rows(
                    (a, b, c) in (0usize..70).prop_flat_map(|n| (row(n), row(n), row(n))),
                    least in score(),
                    add in score(),
                    limit in -8i32..8
                ) {
                    let (a, b, c) = (cast(&a), cast(&b), cast(&c));
                    let (add, limit, least) = (add as $float, limit as $float, least as $float);
                    on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                        let (mut got, mut expected) = (a.clone(), a.clone());
                        kernels::max_plus_row(proof, &mut got, add, &b);
                        scalar::max_plus_row(&mut expected, add, &b);
                        assert_eq!(got, expected);
                        kernels::add_row(proof, &mut got, &b);
                        scalar::add_row(&mut expected, &b);
                        assert_eq!(got, expected);
                        kernels::max_row(proof, &mut got, &a);
                        scalar::max_row(&mut expected, &a);
                        assert_eq!(got, expected);
                        assert_eq!(kernels::largest(proof, &a), scalar::largest(&a));
                        for width in [1, 3, 8, 16, 40] {
                            let blocks = a.len().div_ceil(width);
                            let (mut got, mut expected) = (vec![0.0; blocks], vec![0.0; blocks]);
                            kernels::block_maxima(proof, &mut got, &a, width);
                            scalar::block_maxima(&mut expected, &a, width);
                            assert_eq!(got, expected);
                        }
                        assert_eq!(kernels::smallest(proof, &a), scalar::smallest(&a));
                        assert_eq!(kernels::max_of_sum(proof, &a, &b), scalar::max_of_sum(&a, &b));
                        let (mut found, mut wanted) = (vec![7], vec![7]);
                        kernels::select_sums(proof, &a, &b, least, limit, &mut found);
                        scalar::select_sums(&a, &b, least, limit, &mut wanted);
                        assert_eq!(found, wanted);
                        assert_eq!(kernels::first_at_least(proof, &a, add, limit), scalar::first_at_least(&a, add, limit));
                        assert_eq!(
                            kernels::first_sum_at_least(proof, &a, &b, limit),
                            scalar::first_sum_at_least(&a, &b, limit)
                        );
                        let (mut found, mut wanted) = (vec![7], vec![7]);
                        let others = kernels::select_reaching(proof, add, &a, least, &b, &c, limit, &mut found);
                        let expected = scalar::select_reaching(add, &a, least, &b, &c, limit, &mut wanted);
                        assert_eq!((others, found), (expected, wanted));
                        assert_eq!(kernels::largest_value(proof, add, &a, &b), scalar::largest_value(add, &a, &b));
                    });
                }

                /// Blocks of all lengths that matter, with bounds that are tight or not, with and without a floor.
                #[test]
                fn selection_by_block(
                    (rows, node, way_out) in (16usize..1100, prop_oneof![4 => 0usize..5, 1 => 5usize..30])
                        .prop_flat_map(|(n, origins)| (prop::collection::vec(row(n), origins), row(n), row(n))),
                    scores in row(30),
                    width in (1usize..3).prop_map(|n| 64 * n),
                    more in 0u32..3,
                    least in score(),
                    floor in prop::option::of(score()),
                    gain in -3i32..3,
                ) {
                    let (node, way_out) = (cast(&node), cast(&way_out));
                    let count = node.len().div_ceil(width);
                    let bounds_of = |row: &[$float]| {
                        let mut bounds: Vec<$float> =
                            row.chunks(width).map(|block| scalar::largest(block) + more as $float).collect();
                        bounds.resize(padded(count), <$float>::NEG_INFINITY);
                        bounds
                    };
                    let rows: Vec<Vec<$float>> = rows.iter().map(|row| cast(row)).collect();
                    let bounds: Vec<Vec<$float>> = rows.iter().map(|row| bounds_of(row)).collect();
                    let origins: Vec<Origin<'_, $float>> = rows.iter().zip(&bounds).zip(&scores)
                        .map(|((row, bounds), &score)| Origin { score: score as $float, row, bounds }).collect();
                    let targets = Targets { node: &node, way_out: &way_out, slack: more as $float, width };
                    let (least, floor, gain) =
                        (least as $float, floor.map(|floor| floor as $float), gain as $float);
                    let (mut wanted, mut values) = (vec![7], vec![7.0; node.len()]);
                    let expected =
                        scalar::select_by_block(&origins, least, targets, floor, gain, &mut values, &mut wanted);
                    on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                        let (mut found, mut read) = (vec![7], vec![7.0; node.len()]);
                        let got =
                            kernels::select_by_block(proof, &origins, least, targets, floor, gain, &mut read, &mut found);
                        assert_eq!((got, &found), (expected, &wanted));
                        assert!(found[1..].iter().all(|&y| read[y as usize] == values[y as usize]));
                    });
                    if floor.is_none() && expected.floor == <$float>::NEG_INFINITY {
                        prop_assert_eq!(wanted, vec![7]); // the block that promises most holds nothing
                        return Ok(());
                    }
                    // It finds what a look at all labels finds, and the bound holds for all others.
                    let exact: Vec<$float> = (0..node.len()).map(|y| {
                        origins.iter().fold(<$float>::NEG_INFINITY, |most, origin| most.larger(origin.score + origin.row[y]))
                    }).collect();
                    let mut all = vec![7];
                    let rest =
                        scalar::select_reaching(0.0, &exact, least, &node, &way_out, expected.floor, &mut all);
                    assert_eq!(wanted, all);
                    // A value from an origin that was left out may be missing, but it does not reach the threshold, and the rest covers it.
                    for y in wanted[1..].iter().map(|&y| y as usize) {
                        let score = exact[y] + node[y];
                        let is_covered = score + way_out[y] < expected.floor && score <= expected.rest;
                        assert!(values[y] == exact[y] || values[y] < exact[y] && is_covered);
                    }
                    assert!(rest <= expected.rest);
                    if floor.is_none() {
                        assert!(expected.floor <= scalar::largest_value(0.0, &exact, &node) + gain);
                    }
                }

                /// Rows so long that most vectors select no label.
                #[test]
                fn selection_from_long_rows(
                    row in proptest::collection::vec(-9i32..9, 520usize..600), limit in -9i32..30, repeat in 1usize..9,
                ) {
                    let row: Vec<$float> = row.iter().map(|&score| (score / repeat as i32) as $float).collect();
                    let zeros = vec![0.0; row.len()];
                    on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                        let (mut found, mut wanted) = (vec![7], vec![7]);
                        let limit = limit as $float;
                        let others = kernels::select_reaching(proof, 1.0, &row, -5.0, &row, &zeros, limit, &mut found);
                        let expected = scalar::select_reaching(1.0, &row, -5.0, &row, &zeros, limit, &mut wanted);
                        assert_eq!((others, found), (expected, wanted));
                    });
                }

                /// Illegal scores anywhere or nowhere, and the limits of the number range.
                #[test]
                fn magnitudes(row in (0usize..70).prop_flat_map(row), at in 0usize..70, odd in 0usize..7) {
                    let mut row = cast(&row);
                    if let Some(score) = row.get_mut(at) {
                        let (nan, infinity, most) = (<$float>::NAN, <$float>::INFINITY, <$float>::MAX);
                        *score = [nan, -nan, infinity, -infinity, most, -most, -0.0][odd];
                    }
                    let expected = scalar::largest_magnitude(&row);
                    assert_eq!(expected.is_some(), row.iter().all(|&r| r < <$float>::INFINITY));
                    on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                        assert_eq!(kernels::largest_magnitude(proof, &row), expected);
                    });
                }

                #[test]
                fn matrices(
                    (add, matrix, out) in (0usize..20, prop_oneof![0usize..40, 60usize..150, 500usize..530])
                        .prop_flat_map(|(p, y)| (row(p), row(p * y), row(y)))
                ) {
                    let (add, matrix, out) = (cast(&add), cast(&matrix), cast(&out));
                    on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                        let (mut got, mut expected) = (out.clone(), out.clone());
                        kernels::max_plus_matrix(proof, &mut got, &add, &matrix);
                        scalar::max_plus_matrix(&mut expected, &add, &matrix);
                        assert_eq!(got, expected);
                        let rows: Vec<u32> = (0..add.len() as u32).filter(|row| row % 5 != 2).collect();
                        let (all, most) = (out.len(), out.len() - out.len() / 4);
                        for (first, past) in [(0, most), (all / 3, most), (all % 8, all)] {
                            let (mut got, mut expected) = (out[first..past].to_vec(), out[first..past].to_vec());
                            kernels::max_plus_rows(proof, &mut got, &add, &rows, &matrix, first);
                            scalar::max_plus_rows(&mut expected, &add, &rows, &matrix, first);
                            assert_eq!(got, expected);
                        }
                    });
                }

                /// Whole numbers: every order of additions is exact. Positive reals: the relative error of a sum of `n`
                /// products is at most `(n + 1) u`, whatever the order, fused or not.
                #[test]
                fn weighted_rows(
                    (width, weights, matrix, rows) in (0usize..40, 1usize..20).prop_flat_map(|(width, height)| {
                        let rows = prop::collection::vec(0u32..height as u32, 0..30);
                        let cells = prop::collection::vec(0.0f64..1.0, width * height);
                        (Just(width), prop::collection::vec(0.0f64..1.0, 30), cells, rows)
                    })
                ) {
                    let whole: Vec<$float> = matrix.iter().map(|v| (v * 9.0).floor() as $float).collect();
                    let whole_weights: Vec<f64> = weights.iter().map(|v| (v * 9.0).floor() - 4.0).collect();
                    let (weights, whole_weights) = (&weights[..rows.len()], &whole_weights[..rows.len()]);
                    let matrix = cast(&matrix);
                    on_each_level!($float, $avx512, $avx2, $neon, |kernels, proof| {
                        let (mut got, mut expected) = (vec![1.0; width], vec![1.0; width]);
                        kernels::add_weighted_rows(proof, &mut got, whole_weights, &rows, &whole);
                        scalar::add_weighted_rows(&mut expected, whole_weights, &rows, &whole);
                        assert_eq!(got, expected);
                        kernels::add_weighted_rows(proof, &mut got, weights, &rows, &matrix);
                        scalar::add_weighted_rows(&mut expected, weights, &rows, &matrix);
                        // The first part leaves up to `30 * 36` in the sums.
                        let bound = (rows.len() + 1) as f64 * f64::EPSILON * 1200.0;
                        for (g, e) in got.iter().zip(&expected) {
                            assert!((g - e).abs() <= bound, "{g} {e}");
                        }
                    });
                }
            }
        }
    };
}

twin_tests!(f32, avx512_f32, avx2_f32, neon_f32);
twin_tests!(f64, avx512_f64, avx2_f64, neon_f64);

#[test]
fn argmax_takes_the_lowest_of_equals() {
    assert_eq!(argmax(&[1.0f32, 3.0, 3.0, 2.0]), Some((1, 3.0)));
    assert_eq!(argmax::<f64>(&[]), None);
    assert_eq!(argmax(&[f32::NEG_INFINITY; 5]), None);
}

#[test]
fn padding_is_whole_vectors() {
    assert_eq!([0, 1, 16, 17].map(padded), [0, 16, 16, 32]);
}
