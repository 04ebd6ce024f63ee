//! Lattices that borrow nothing: an object keeps them together with their edges, threads own them, and they give the
//! same answers as borrowing ones.

use crate::common::{Case, exact_decoders};
use kbest_core::lattice::Shape;
use kbest_core::{Decode, Decoder, Edges, Lattice, MarginalScratch, Path, Result, Scratch, marginals};
use std::sync::Arc;

fn can_be_kept_anywhere<T: Send + Sync + 'static>(_: &T) {}

/// As in a binding to another language: the lattice and its edges in one object, with the memory to decode it.
struct Keeper {
    edges: Arc<Edges<f32>>,
    lattice: Lattice<'static, f32>,
    scratch: Scratch<f32>,
}

impl Keeper {
    fn new(case: &Case) -> Self {
        let edges = Arc::new(case.edges());
        let lattice = case.lattice(Arc::clone(&edges));
        Keeper { edges, lattice, scratch: Scratch::new() }
    }

    fn decode(&mut self, decoder: &Decoder) -> Result<Vec<Path<f32>>> {
        decoder.decode(&self.lattice, &mut self.scratch).map(|decoded| decoded.paths)
    }
}

#[test]
fn kept_lattices_answer_as_borrowing_ones() {
    for seed in 0..60 {
        let case = Case::random(seed, 6, 9);
        let edges = case.edges::<f32>();
        let borrowing = case.lattice(&edges);
        let mut keeper = Keeper::new(&case);
        can_be_kept_anywhere(&keeper);
        assert!(std::ptr::eq(keeper.lattice.edges(), &*keeper.edges), "shared, not copied");
        for decoder in exact_decoders() {
            let expected = decoder.decode(&borrowing, &mut Scratch::new()).map(|decoded| decoded.paths);
            assert_eq!(keeper.decode(&decoder), expected, "{decoder:?}, seed {seed}");
        }
    }
}

#[test]
fn threads_take_lattices_along() {
    let (case, decoder) = (Case::random(7, 6, 9), Decoder::by_name("auto").unwrap());
    let mut keeper = Keeper::new(&case);
    let expected = keeper.decode(&decoder);
    let lattice = Arc::new(keeper.lattice);
    drop(keeper.edges); // the lattices hold them
    let threads: Vec<_> = (0..3)
        .map(|i| {
            // Some threads own a copy, others share one.
            let (own, shared, decoder) = ((*lattice).clone(), Arc::clone(&lattice), decoder.clone());
            std::thread::spawn(move || {
                let lattice = if i == 0 { &own } else { &*shared };
                decoder.decode(lattice, &mut Scratch::new()).map(|decoded| decoded.paths)
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), expected);
    }
}

/// Start and end scores and the selection of matrices are shared in the same way; constraints change only a lattice's
/// own nodes.
#[test]
fn all_parts_can_be_shared() {
    let matrices = [0.0, 1.0].map(|score| Edges::uniform(2, score).unwrap());
    let edges = Arc::new(Edges::per_position(matrices.into()).unwrap());
    let (selection, border): (Arc<[u32]>, Arc<[f64]>) = ([1, 0].into(), [0.0, 0.5].into());
    let lattice = || {
        let lattice = Lattice::selecting(vec![0.0; 6], edges.clone(), selection.clone()).unwrap();
        lattice.with_start(border.clone()).unwrap().with_end(border.clone()).unwrap()
    };
    let (free, forced) = (lattice(), lattice().force(0, 0).unwrap());
    can_be_kept_anywhere(&free);
    assert_eq!(Arc::strong_count(&border), 5);
    assert_eq!(free.path_score(&[1, 0, 1]).unwrap(), 0.5 + 1.0 + 0.5);
    assert_eq!(forced.path_score(&[1, 0, 1]).unwrap(), f64::NEG_INFINITY);
    let borrowed = Lattice::selecting(vec![0.0; 6], &edges, &*selection).unwrap();
    let borrowed = borrowed.with_start(&*border).unwrap().with_end(&*border).unwrap();
    let sum = |lattice| marginals(lattice, &mut MarginalScratch::new()).unwrap().log_partition();
    assert_eq!(sum(&free), sum(&borrowed));
}

#[test]
fn uniform_edges_have_no_exceptions() {
    let edges = Edges::uniform(3, -1.5f32).unwrap();
    let Shape::Sparse(sparse) = edges.shape() else { panic!("uniform edges are sparse") };
    assert_eq!((sparse.only_base(), sparse.exceptions()), (Some(-1.5), 0));
    let lattice = Lattice::new(vec![0.0, 2.0, 1.0, 3.0, 0.0, 0.0], &edges).unwrap();
    for decoder in exact_decoders() {
        let answer = decoder.decode(&lattice, &mut Scratch::new()).unwrap();
        assert_eq!((&*answer.best().labels, answer.best().score), (&[1, 0][..], 3.5), "{decoder:?}");
    }
}
