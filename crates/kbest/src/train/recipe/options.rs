//! The table of training options: what the command line, Python and the documentation are made from.
//!
//! A new option is a row here; the trainer that uses it reads the field. The order of rows is that in which a model's remarks
//! list them.

use super::names::{Algorithm, Loss};
use crate::options::{Need, Range::*, options};
use crate::train::crf::Optimizer;
use crate::train::schedule::Measure;
use std::path::PathBuf;

/// More threads than this are taken for a slip of the finger: each has its own memory.
pub const MOST_THREADS: usize = 1024;

/// So are more runs than this: each has weights of its own.
const MOST_RUNS: usize = 100;

const TRAINING: &str = "Training";
const CRF: &str = "Conditional random fields";
const HMM: &str = "Hidden Markov models";
const DUAL: &str = "Kernels";
const SEGMENTS: &str = "Segments";
const FEATURES: &str = "Features";
const LENGTH: &str = "How long to train";
const MODEL: &str = "Finished model";

const OF_CRF: Need = ("algorithm", &["crf", "semi-crf"]);
const OF_DUAL: Need = ("algorithm", &["dual"]);
const OF_SEGMENTS: Need = ("algorithm", &["semi", "semi-crf"]);
const OF_FEATURES: Need =
    ("algorithm", &["averaged", "perceptron", "voted", "pa", "crf", "dual", "semi", "semi-crf"]);
const WITH_SGD: Need = ("optimizer", &["sgd"]);
const WITH_ERRORS: Need = ("loss", &["perceptron"]);
const WITH_MARGINS: Need = ("loss", &["margin", "slack"]);

options! {
    /// An algorithm and its options. `None`, `false` and an empty list stand for what was not given.
    pub struct Recipe {
        /// Training algorithm.
        algorithm: Algorithm => { heading: TRAINING, placeholder: "NAME", }
        /// Seed for the order of sequences; for baum-welch, of the random start.
        seed: u64 = 1 => { heading: TRAINING, placeholder: "N", }
        /// Number of threads. Perceptrons train separately on each and are averaged after each pass, which gives another model;
        /// a CRF does not depend on it.
        threads: Option<usize> => {
            heading: TRAINING, placeholder: "N", range: Within(1.0, MOST_THREADS as f64),
            default: "1; crf and semi-crf: all cores",
        }
        /// Train this many times on the data in different orders and average: more accurate, and as many times slower.
        runs: Option<usize> => {
            heading: TRAINING, placeholder: "N", range: Within(1.0, MOST_RUNS as f64), default: "1", neutral: "1",
            needs: &[("algorithm", &["averaged", "perceptron", "pa", "semi"])],
        }
        /// Decoder used in training (see `kbest decoders`); with `beam:16`, updates at the first error it cannot recover from.
        decoder: Option<String> => {
            heading: TRAINING, placeholder: "NAME", default: "auto",
            needs: &[("algorithm", &["averaged", "perceptron", "voted", "pa", "dual", "semi"])],
        }
        /// Weights between parts of neighbouring labels: none, usual (coarse+Case+Number+Gender, as far as labels have them) or
        /// groups of parts; `NOUN|Case=Gen` has the groups coarse and Case.
        agreement: Option<String> => {
            heading: TRAINING, placeholder: "GROUPS", default: "none", neutral: "none",
            needs: &[("algorithm", &["averaged", "perceptron", "pa", "crf"])],
        }
        /// Largest correction.
        longest: Option<f32> => {
            heading: TRAINING, placeholder: "X", range: Above(0.0), default: "1", needs: &[("algorithm", &["pa"])],
        }
        /// How it is optimized: lbfgs uses all data in each step (OWL-QN with --c1), sgd a few sequences.
        optimizer: Option<Optimizer> => { heading: CRF, placeholder: "NAME", default: "lbfgs", needs: &[OF_CRF], }
        /// Strength of L1 regularization, which makes most weights zero.
        c1: Option<f64> => {
            heading: CRF, placeholder: "X", range: AtLeast(0.0), default: "0", neutral: "0",
            needs: &[OF_CRF, ("optimizer", &["lbfgs"])],
        }
        /// Strength of L2 regularization.
        c2: Option<f64> => { heading: CRF, placeholder: "X", range: AtLeast(0.0), default: "1", needs: &[OF_CRF], }
        /// Size of the first step.
        rate: Option<f64> => {
            heading: CRF, placeholder: "X", range: AtLeast(0.0), default: "0.1", needs: &[OF_CRF, WITH_SGD],
        }
        /// Sequences per step.
        batch: Option<usize> => {
            heading: CRF, placeholder: "N", range: AtLeast(1.0), default: "1", needs: &[OF_CRF, WITH_SGD],
        }
        /// Added to every count, so that nothing is impossible.
        smoothing: Option<f64> => {
            heading: HMM, placeholder: "X", range: Above(0.0), default: "0.01; label pairs of hmm: 0.1",
            needs: &[("algorithm", &["hmm", "baum-welch"])],
        }
        /// Number of hidden states.
        states: Option<usize> => {
            heading: HMM, placeholder: "N", range: AtLeast(1.0), needs: &[("algorithm", &["baum-welch"])],
        }
        /// How alike two tokens are: linear, poly:DEGREE[:OFFSET] or rbf:GAMMA.
        kernel: Option<String> => { heading: DUAL, placeholder: "KERNEL", default: "linear", needs: &[OF_DUAL], }
        /// What to minimize: errors (perceptron), or the extent to which wrong labels come too close to the right ones, where the
        /// number of errors scales the margin or the price of missing it (slack).
        loss: Option<Loss> => { heading: DUAL, placeholder: "LOSS", default: "perceptron", needs: &[OF_DUAL], }
        /// Price of missed margins.
        c: Option<f64> => {
            name: "C", heading: DUAL, placeholder: "C", range: Above(0.0), default: "100",
            needs: &[OF_DUAL, WITH_MARGINS],
        }
        /// Stop when the duality gap is at most this share of the objective.
        gap: Option<f64> => {
            heading: DUAL, placeholder: "SHARE", range: Above(0.0), default: "0.01",
            needs: &[OF_DUAL, WITH_MARGINS],
        }
        /// Keep at most this many support tokens, with their last coefficients.
        budget: Option<usize> => {
            heading: DUAL, placeholder: "N", range: AtLeast(1.0), needs: &[OF_DUAL, WITH_ERRORS],
        }
        /// Also give weights to labels that a feature was never seen with.
        all_states: bool => { heading: CRF, needs: &[OF_CRF], }
        /// Also give weights to label pairs that were never seen.
        all_transitions: bool => { heading: CRF, needs: &[OF_CRF], }
        /// Keep the last coefficients instead of their average.
        no_averaging: bool => { heading: DUAL, needs: &[OF_DUAL, WITH_ERRORS], }
        /// How labels become segments: auto, runs (of one label), or a scheme: iob1, iob2, ioe1, ioe2, iobes, bilou, bmes.
        segments: Option<String> => { heading: SEGMENTS, placeholder: "KIND", default: "auto", needs: &[OF_SEGMENTS], }
        /// Longest segment.
        longest_segment: Option<usize> => {
            heading: SEGMENTS, placeholder: "N", range: AtLeast(1.0), default: "the longest of each label in the data",
            needs: &[OF_SEGMENTS],
        }
        /// List of texts, one per line, such as cities; segments that are in it get a feature; may be repeated.
        lexicon: Vec<PathBuf> => { heading: SEGMENTS, placeholder: "FILE", needs: &[OF_SEGMENTS], }
        /// Column (from 1) that changes from line to line, such as one with the number of the line.
        lines: Option<usize> => { heading: SEGMENTS, placeholder: "COLUMN", range: AtLeast(1.0), needs: &[OF_SEGMENTS], }
        /// Features of whole segments: text, known, lexicon, similar, ends, around, shape, line, or none.
        segment_features: Vec<String> => {
            heading: SEGMENTS, placeholder: "A,B,...", default: "all", needs: &[OF_SEGMENTS],
        }
        /// CRF++ template that defines the features, in addition to those of --features.
        template: Option<PathBuf> => { heading: FEATURES, placeholder: "FILE", needs: &[OF_FEATURES], }
        /// Ready-made feature sets, joined by `+`: words, morphology, columns, numbers.
        features: Option<String> => {
            heading: FEATURES, placeholder: "SETS", default: "what suits the data", needs: &[OF_FEATURES],
        }
        /// Ignore features seen fewer than this many times.
        min_frequency: u32 = 1 => { heading: FEATURES, placeholder: "N", neutral: "1", }
        /// Maximum number of passes over the data.
        epochs: Option<usize> => {
            heading: LENGTH, placeholder: "N", range: AtLeast(1.0),
            default: "10; baum-welch, crf and semi-crf with lbfgs, dual with margin or slack: 100",
        }
        /// With --dev: stop after this many passes without improvement.
        patience: Option<usize> => {
            heading: LENGTH, placeholder: "N",
            default: "5; crf and semi-crf with lbfgs: 10, once the loss has also levelled off",
        }
        /// With --dev: metric that selects the best model: accuracy, or f1 of spans (runs of one label, if labels follow no
        /// scheme).
        dev_by: Measure => { heading: LENGTH, placeholder: "MEASURE", neutral: "accuracy", }
        /// Drop weights smaller than this from the finished model.
        prune: Option<f32> => {
            heading: MODEL, placeholder: "WEIGHT", range: AtLeast(0.0),
            needs: &[("algorithm", &["averaged", "perceptron", "pa", "crf", "hmm"])],
        }
        /// Keep features without weights in the model.
        keep_features: bool => { heading: MODEL, }
    }
}
