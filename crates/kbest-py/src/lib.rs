//! The Python package: mirrors the library and computes nothing itself.
//!
//! `array.rs` turns what Python calls an array into slices, `call/` the arguments of a call into lattices, `edges/` edges
//! that are prepared once. `decode.rs`, `marginal.rs` and `segments/` hold the functions, `path.rs` their answers;
//! `torch.rs` serves `kbest.torch` on a processor; `options.rs` reads keywords; `sequence.rs`, `tagger/` and `arrow/` are about text, `train/` about learning, `explain.rs` about what a search does,
//! `error.rs` about exceptions. Pure Python parts (conversions of tensors, adapters, the estimator) are in
//! `python/kbest/`.
//!
//! **Threads.** Every call lets go of the interpreter while it computes; a batch is decoded on all cores (`parallel.rs`).

#![allow(missing_docs)] // nothing here is a Rust interface; docstrings are what users read

mod array;
mod arrow;
mod call;
mod decode;
mod edges;
mod error;
mod explain;
mod marginal;
mod options;
mod parallel;
mod path;
mod segments;
mod sequence;
mod shards;
mod tagger;
mod torch;
mod train;

use pyo3::prelude::*;

#[pymodule]
fn _kbest(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<edges::PyEdges>()?;
    module.add_class::<edges::PySparseEdges>()?;
    module.add_class::<edges::PyClassEdges>()?;
    module.add_class::<path::PyPath>()?;
    module.add_class::<path::PathIterator>()?;
    module.add_class::<marginal::PyMarginals>()?;
    module.add_function(wrap_pyfunction!(decode::decode, module)?)?;
    module.add_function(wrap_pyfunction!(decode::kbest_iter, module)?)?;
    module.add_function(wrap_pyfunction!(decode::path_score, module)?)?;
    module.add_function(wrap_pyfunction!(decode::decoders, module)?)?;
    module.add_function(wrap_pyfunction!(marginal::marginals, module)?)?;
    module.add_function(wrap_pyfunction!(marginal::log_partition, module)?)?;
    module.add_function(wrap_pyfunction!(torch::batch_gradients, module)?)?;
    module.add_class::<segments::PySegmentation>()?;
    module.add_class::<segments::SegmentationIterator>()?;
    module.add_class::<segments::PySegmentMarginals>()?;
    module.add_function(wrap_pyfunction!(segments::segments_decode, module)?)?;
    module.add_function(wrap_pyfunction!(segments::segments_kbest_iter, module)?)?;
    module.add_function(wrap_pyfunction!(segments::segments_path_score, module)?)?;
    module.add_function(wrap_pyfunction!(segments::segments_marginals, module)?)?;
    module.add_function(wrap_pyfunction!(segments::segments_log_partition, module)?)?;
    module.add_class::<tagger::PyTagger>()?;
    module.add_class::<tagger::TaggedPath>()?;
    module.add_class::<tagger::PyEvaluation>()?;
    module.add_class::<arrow::ArrowStream>()?;
    module.add_function(wrap_pyfunction!(explain::explain_scores, module)?)?;
    module.add_function(wrap_pyfunction!(options::options, module)?)?;
    module.add_class::<shards::ShardVocabulary>()?;
    module.add_class::<shards::PyShardPlan>()?;
    module.add_class::<train::Epoch>()?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    Ok(())
}
