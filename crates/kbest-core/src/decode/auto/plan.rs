//! From facts about a lattice to a plan, with reasons in words.

use super::Engines;
use crate::decode::funnel::{self, Alternative, Budget, Stop};
use crate::decode::gather::GatherEdges;
use crate::decode::{
    Algorithm, Decode, Decoder, ForwardPass, Funnel, Job, RecursiveEnumeration, Sieve, Tally, Viterbi,
    ViterbiSimd, ViterbiSparse,
};
use crate::error::{Error, Result};
use crate::lattice::{Blocks, KEPT_WHOLE, Lattice, Matrix, Shape, SparseEdges};
use crate::simd::{Float, LANES, Level, level, padded};
use std::fmt;

/// Costs are counted in steps of about so many nanoseconds.
pub(super) const STEP: f64 = 0.8;

/// Below this many labels, reading all edges of a matrix is faster than leaving out some of them: with AVX-512, with other vectors, and
/// without.
const FEW_LABELS_AVX512: usize = 96;
const FEW_LABELS: usize = 64;
const FEW_LABELS_SCALAR: usize = 32;

/// Below this many labels of a matrix, nothing is learned from the clock for one path, either: it would take longer than what could be
/// saved.
const TINY: usize = 48;

/// The same with edges that are stored as a list.
const TINY_LISTED: usize = 4;

/// With more matrices than this, asking whether all are small and dense takes too long.
const FEW_MATRICES: usize = 8;

/// From this many labels on, it may pay to open only the labels of a matrix that can matter.
const OPENED: usize = 128;

/// The same with edges that are not stored as a matrix, or for several paths.
const OPENED_LISTED: usize = 16;

/// The same for many paths, and how many these are.
const OPENED_MANY: usize = 2;
const MANY_PATHS: usize = 16;

/// Over fewer than [`OPENED`] labels, several paths of a longer sequence than this are enumerated at once: rounding hides more the
/// longer it is, and a forward pass is cheap. (Measured with 1,000 positions of 3 and 40 labels, not between 25 and that.)
const LONG: usize = 256;

/// One row in this many usually matters, of a list and of a matrix.
const USUAL_ROWS_LISTED: usize = 3;
const USUAL_ROWS: usize = 16;

/// Most bytes of a matrix that the nearest cache holds, those near the core, and some cache.
const NEAREST: usize = 48 << 10;
const NEAR: usize = 2 << 20;
const FAR: usize = 16 << 20;

/// How many times as long a vector takes in the sieve. (Measured with 285 to 3,000 labels.)
const SIEVE_FACTOR: usize = 3;

/// The factor for rows that edges compute.
const COMPUTED_FACTOR: usize = 4;

/// The funnel may lose one part in this many of the time of the fallback before it has to look ahead, and looking may
/// cost twice as much again.
const LOSS_SHARE: usize = 40;

/// Where most pairs are forbidden, the funnel may spend one part in this many of the time of the fallback.
const LISTED_SHARE: usize = 8;

/// So many easy positions are paid for up front; or fewer, down to two, if they would take more than one part in so many of the least
/// time of the fallback.
const EASY: usize = 8;
const SHORT_SHARE: usize = 12;

/// With a matrix and one path, the funnel is tried only if the fallback usually takes as long as so many easy positions. The fallback is
/// then expected to read one row in so many.
const WORTH_A_TRY: usize = 16;
const ROWS_EXPECTED: usize = 6;

/// From this many labels of a matrix on, a look ahead is worth its time even in short sequences.
const MANY_LABELS: usize = 1024;

/// One part in this many of what further paths cost may be spent on the best one.
const FURTHER_SHARE: usize = 4;

/// With more ways than this for each path and position, most paths are equally good.
const TIES: usize = 64;

/// A funnel that is tried at once, or has proved fast for such sequences, may cost so many times what another pass is known, or
/// estimated, to take, or one sequence in a few would be decoded twice.
const AT_ONCE: usize = 4;

/// Most positions looked at.
const MOST_LOOKS: usize = 16;

/// The facts the choice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Positions.
    pub positions: usize,
    /// Labels.
    pub labels: usize,
    /// Paths wanted.
    pub k: usize,
    /// Number of edges that differ from the base value, in the matrix that has most; `None` if the edges are a
    /// function.
    pub exceptions: Option<usize>,
    /// How many of them usually leave a label, in the list that has most; 0 if no edges are stored as a list.
    pub usual_exceptions: usize,
    /// Number of pairs of classes, in the matrix that has most; 0 with one base value.
    pub class_pairs: usize,
    /// Size of all edges in bytes, if they are stored as a matrix.
    pub matrix_bytes: Option<usize>,
    /// Whether all pairs that are not exceptions are forbidden.
    pub base_forbidden: bool,
    /// Whether some pair of a matrix is forbidden, if it has very few labels and many paths are wanted: otherwise nobody looks.
    pub small_matrix_forbids: bool,
    /// Instruction set.
    pub level: Level,
}

impl Facts {
    /// The facts of a lattice. Edges know the answers, except that very small matrices are read where many paths are wanted.
    pub fn of<S: Float>(lattice: &Lattice<'_, S>, k: usize) -> Self {
        let in_matrix = |matrix: &Matrix<S>| match matrix {
            Matrix::Dense(edges) => edges.exceptions(),
            Matrix::Sparse(edges) => edges.exceptions(),
        };
        let exceptions = match lattice.edges().shape() {
            Shape::Dense(edges) => Some(edges.exceptions()),
            Shape::Sparse(edges) => Some(edges.exceptions()),
            Shape::PerPosition(edges) => edges.matrices().iter().map(in_matrix).max(),
            Shape::Callback(_) => None,
        };
        let pairs_in = |edges: &SparseEdges<S>| match edges.only_base() {
            Some(_) => 0,
            None => edges.class_scores().len(),
        };
        let most_of_lists = |count: &dyn Fn(&SparseEdges<S>) -> usize| match lattice.edges().shape() {
            Shape::Sparse(edges) => count(edges),
            Shape::PerPosition(edges) => {
                let counts = edges.matrices().iter().map(|matrix| match matrix {
                    Matrix::Sparse(edges) => count(edges),
                    Matrix::Dense(_) => 0,
                });
                counts.max().unwrap_or(0)
            }
            Shape::Dense(_) | Shape::Callback(_) => 0,
        };
        let class_pairs = most_of_lists(&pairs_in);
        let usual_exceptions = most_of_lists(&SparseEdges::usual_exceptions);
        let stored = match lattice.edges().shape() {
            Shape::Dense(_) => true,
            Shape::PerPosition(edges) => edges.matrices().iter().any(is_dense),
            Shape::Sparse(_) | Shape::Callback(_) => false,
        };
        let base_forbidden = match lattice.edges().shape() {
            Shape::Sparse(edges) => forbids_others(edges),
            Shape::PerPosition(edges) => edges.matrices().iter().all(|matrix| match matrix {
                Matrix::Sparse(edges) => forbids_others(edges),
                Matrix::Dense(_) => false,
            }),
            Shape::Dense(_) | Shape::Callback(_) => false,
        };
        let labels = lattice.labels();
        let small_matrix_forbids = labels < OPENED_LISTED
            && k >= MANY_PATHS
            && match lattice.edges().shape() {
                Shape::Dense(edges) => edges.forbids(),
                Shape::PerPosition(edges) => edges
                    .matrices()
                    .iter()
                    .any(|matrix| matches!(matrix, Matrix::Dense(edges) if edges.forbids())),
                Shape::Sparse(_) | Shape::Callback(_) => false,
            };
        let matrix_bytes = stored.then(|| lattice.edges().matrices() * labels * labels * size_of::<S>());
        Facts {
            positions: lattice.positions(),
            labels: lattice.labels(),
            k,
            exceptions,
            usual_exceptions,
            class_pairs,
            matrix_bytes,
            base_forbidden,
            small_matrix_forbids,
            level: level(),
        }
    }

    /// What a vector of a matrix of so many bytes costs, read one after the other, in eighths of a step. (Measured with AMD EPYC and
    /// Zen 5; twice as much with an Intel Xeon.)
    fn vector_cost(&self, bytes: usize) -> usize {
        match (self.level, bytes) {
            (Level::Scalar, _) => 20,
            (Level::Avx512, ..=NEAREST) => 3,
            (_, ..=NEAR) => 5,
            (_, ..=FAR) => 10,
            _ => 14,
        }
    }

    /// What `viterbi-simd` costs per position.
    fn simd_steps(&self) -> usize {
        let vectors = self.labels.saturating_mul(padded(self.labels) / LANES);
        match self.matrix_bytes {
            Some(bytes) => vectors.saturating_mul(self.vector_cost(bytes)) / 8 + 25,
            None if self.exceptions.is_none() => COMPUTED_FACTOR * vectors,
            None if self.labels <= KEPT_WHOLE => vectors - vectors / 4 + 3 * self.labels + 50,
            // Rows have to be written out before they can be read.
            None => vectors + vectors / 4 + 5 * self.labels + 75,
        }
    }

    /// The same of `viterbi-sparse`, whatever the scores are.
    fn sparse_steps(&self) -> Option<usize> {
        let by_label = match self.base_forbidden {
            _ if self.class_pairs > 0 => 3 * self.labels / 2,
            true => self.labels / 2,
            false => 12 * self.labels,
        };
        let classes = self.class_pairs / LANES;
        self.exceptions.map(|exceptions| 5 * exceptions / 8 + by_label + classes + 40)
    }

    /// What a forward pass costs per position, depending on how many labels compete; none if it cannot be used. (Measured,
    /// roughly, over forty families of lattices.)
    pub(super) fn cost_of(&self, pass: ForwardPass) -> Option<Alternative> {
        let vectors = self.labels.div_ceil(LANES);
        match pass {
            ForwardPass::Simd => Some(Alternative::always(self.simd_steps())),
            // Trained models that are stored as a matrix have most exceptions where they are read most.
            ForwardPass::Sparse
                if self.base_forbidden || self.class_pairs > 0 || self.matrix_bytes.is_some() =>
            {
                self.sparse_steps().map(Alternative::always)
            }
            ForwardPass::Sparse => self.sparse_steps().map(|most| {
                let each = self.usual_exceptions;
                let least = each.saturating_mul(40).saturating_add(6 * vectors + 45).min(most);
                Alternative { least, per_row: each.saturating_add(2), most }
            }),
            ForwardPass::Sieve => {
                // With fewer labels than `few_labels`, plans leave it out, but it may turn out to be faster.
                let few = self.few_labels().min(FEW_LABELS);
                self.matrix_bytes.filter(|_| self.labels >= few).map(|bytes| {
                    let most = self.simd_steps() + self.simd_steps() / 16;
                    let blocks = Blocks::of(self.labels).count;
                    let least = (blocks * (vectors + 50) / 2 + 5 * vectors + 60).min(most);
                    // Pieces of rows here and there take longer than whole rows.
                    let per_row = SIEVE_FACTOR * vectors * self.vector_cost(bytes) / 8;
                    Alternative { least, per_row, most }
                })
            }
        }
    }

    /// What all paths after the first cost per position with `recursive-enumeration`, after the forward pass. (Measured, roughly,
    /// over forty families: a quarter of them costs less.)
    pub(super) fn further_steps(&self) -> usize {
        let Some(paths) = self.k.checked_sub(1).filter(|&paths| paths > 0) else { return 0 };
        let labels = self.labels;
        let each = 24 + labels / 64 + labels.saturating_add(500).min(1200) / self.positions.max(1);
        each.saturating_mul(paths).saturating_add(500).saturating_add(labels).saturating_add(labels / 4)
    }

    /// The forward pass over edges so few that there is no choice.
    fn only_pass(&self, engines: Engines) -> Option<ForwardPass> {
        let is_below = |past| (2..past).contains(&self.labels);
        match self.matrix_bytes {
            Some(_) => (engines.viterbi_simd && is_below(self.few_labels())).then_some(ForwardPass::Simd),
            None => {
                (engines.read_tiny() && self.k == 1 && self.exceptions.is_some() && is_below(TINY_LISTED))
                    .then(|| over_tiny_list(self.base_forbidden))
            }
        }
    }

    /// Whether there are at most twice as many paths as are wanted: then hardly anything can be left out.
    pub(super) fn wants_most_paths(&self) -> bool {
        let paths =
            u32::try_from(self.positions).ok().and_then(|positions| self.labels.checked_pow(positions));
        self.k > 1 && paths.is_some_and(|paths| paths.div_ceil(2) <= self.k)
    }

    /// Below this many labels, all edges of a matrix are read.
    fn few_labels(&self) -> usize {
        few_labels(self.level)
    }

    /// Whether trying the funnel in vain would not be felt much, if something else costs this much.
    fn is_worth_a_try(&self, cost: Alternative) -> bool {
        let usual = cost.cost(self.labels / ROWS_EXPECTED).saturating_mul(self.positions.saturating_sub(1));
        self.k > 1 || self.matrix_bytes.is_none() || usual >= WORTH_A_TRY * funnel::least_cost(self.labels)
    }

    /// Whether the funnel may pay off, if something else costs this much.
    fn may_open(&self, cost: Alternative) -> bool {
        let small = match self.level {
            _ if self.k >= MANY_PATHS && !self.small_matrix_forbids => OPENED_MANY,
            _ if self.matrix_bytes.is_none() || self.k > 1 => OPENED_LISTED,
            Level::Scalar => FEW_LABELS_SCALAR,
            _ => OPENED,
        };
        if self.k > 1 && self.positions > LONG && self.labels < OPENED && self.exceptions.is_some() {
            return false;
        }
        if self.wants_most_paths() {
            return false;
        }
        let least = funnel::least_cost(self.labels);
        match self.base_forbidden {
            // Where most labels cannot follow each other, those that look best often lead nowhere.
            true => self.k < MANY_PATHS && self.labels >= small && cost.least > EASY * least,
            false => self.labels >= small && cost.least > 3 * least / 2 && self.is_worth_a_try(cost),
        }
    }
}

/// The faster pass over a list for two or three labels (measured).
fn over_tiny_list(base_forbidden: bool) -> ForwardPass {
    if base_forbidden { ForwardPass::Sparse } else { ForwardPass::Simd }
}

/// Whether all pairs that are not exceptions are forbidden.
fn forbids_others<S: Float>(edges: &SparseEdges<S>) -> bool {
    edges.only_base().is_some_and(|base| base.is_forbidden())
}

fn is_dense<S: Float>(matrix: &Matrix<S>) -> bool {
    matches!(matrix, Matrix::Dense(_))
}

/// Below this many labels, all edges of a matrix are read.
fn few_labels(level: Level) -> usize {
    match level {
        Level::Scalar => FEW_LABELS_SCALAR,
        Level::Avx512 => FEW_LABELS_AVX512,
        _ => FEW_LABELS,
    }
}

/// An engine of the automatic choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// [`crate::decode::Funnel`].
    Funnel,
    /// [`crate::decode::ViterbiSparse`].
    ViterbiSparse,
    /// [`crate::decode::ViterbiSimd`].
    ViterbiSimd,
    /// [`crate::decode::Sieve`].
    Sieve,
    /// [`crate::decode::RecursiveEnumeration`], for more than one path, with this forward pass.
    RecursiveEnumeration(ForwardPass),
    /// [`crate::decode::Viterbi`], if everything else is switched off.
    Viterbi,
}

impl Engine {
    /// The one that answers with this forward pass alone.
    pub(super) fn with_pass(pass: ForwardPass, k: usize) -> Self {
        match pass {
            _ if k > 1 => Engine::RecursiveEnumeration(pass),
            ForwardPass::Sparse => Engine::ViterbiSparse,
            ForwardPass::Simd => Engine::ViterbiSimd,
            ForwardPass::Sieve => Engine::Sieve,
        }
    }

    /// The forward pass that it begins with, if it does.
    pub(super) fn pass(self) -> Option<ForwardPass> {
        match self {
            Engine::ViterbiSimd => Some(ForwardPass::Simd),
            Engine::ViterbiSparse => Some(ForwardPass::Sparse),
            Engine::Sieve => Some(ForwardPass::Sieve),
            Engine::RecursiveEnumeration(pass) => Some(pass),
            Engine::Funnel | Engine::Viterbi => None,
        }
    }

    /// The decoder it stands for.
    pub fn decoder(self) -> Decoder {
        match self {
            Engine::Funnel => Funnel.into(),
            Engine::ViterbiSparse => ViterbiSparse.into(),
            Engine::ViterbiSimd => ViterbiSimd.into(),
            Engine::Sieve => Sieve.into(),
            Engine::RecursiveEnumeration(forward) => RecursiveEnumeration { forward }.into(),
            Engine::Viterbi => Viterbi.into(),
        }
    }

    /// The decoder's name. (By way of [`Engine::decoder`], five positions of eight labels take 2 to 3 % longer.)
    pub fn name(self) -> &'static str {
        match self {
            Engine::Funnel => Funnel.name(),
            Engine::ViterbiSparse => ViterbiSparse.name(),
            Engine::ViterbiSimd => ViterbiSimd.name(),
            Engine::Sieve => Sieve.name(),
            Engine::RecursiveEnumeration(forward) => RecursiveEnumeration { forward }.name(),
            Engine::Viterbi => Viterbi.name(),
        }
    }

    /// Why it is in a plan, in words.
    fn reason(self) -> &'static str {
        match self {
            Engine::Funnel => "it opens only the labels that can matter",
            Engine::ViterbiSparse => "it reads only the exceptions, which are few",
            Engine::ViterbiSimd => "it reads every edge with vector instructions",
            Engine::Sieve => "it leaves out the rows of edges that cannot matter to a block of labels",
            Engine::RecursiveEnumeration(ForwardPass::Sparse) => {
                "one forward pass over the exceptions, then path by path"
            }
            Engine::RecursiveEnumeration(ForwardPass::Simd) => {
                "one forward pass over all edges, then path by path"
            }
            Engine::RecursiveEnumeration(ForwardPass::Sieve) => {
                "one forward pass over the rows that matter, then path by path"
            }
            Engine::Viterbi => "everything else is switched off",
        }
    }

    /// Searches, and returns whether it finished; only the funnel has a budget and may give up.
    pub(super) fn search_within<S: Float, E: GatherEdges<S>, T: Tally>(
        self,
        budget: Budget,
        job: Job<'_, '_, S, E, T>,
    ) -> Result<bool> {
        match self {
            Engine::Funnel => match funnel::try_search(job, budget) {
                Ok(()) => Ok(true),
                Err(Stop::NoPath) => Err(Error::NoPath),
                Err(Stop::OverBudget | Stop::Crowded | Stop::Full) => Ok(false),
            },
            engine => engine.search(job).map(|()| true),
        }
    }

    /// Searches to the end.
    #[inline(always)] // an engine that is known is called directly
    pub(super) fn search<S: Float, E: GatherEdges<S>, T: Tally>(
        self,
        job: Job<'_, '_, S, E, T>,
    ) -> Result<()> {
        match self {
            Engine::Funnel => Funnel.search(job),
            Engine::ViterbiSparse => ViterbiSparse.search(job),
            Engine::ViterbiSimd => ViterbiSimd.search(job),
            Engine::Sieve => Sieve.search(job),
            Engine::RecursiveEnumeration(forward) => RecursiveEnumeration { forward }.search(job),
            Engine::Viterbi => Viterbi.search(job),
        }
    }
}

/// Which engines will run, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The facts it was chosen by.
    pub facts: Facts,
    /// The engine tried first, within a budget.
    pub first: Option<Engine>,
    /// The engine that runs if there is no first one or it gives up; never gives up itself.
    pub fallback: Engine,
    pub(crate) budget: Budget,
}

impl Plan {
    /// A pure function of the facts and of the engines that are switched on.
    pub fn choose(facts: Facts, engines: Engines) -> Plan {
        let only = facts.only_pass(engines);
        let passes = engines.passes().filter(|&pass| only.is_none_or(|only| pass == only));
        let passes = passes.filter_map(|pass| Some((pass, facts.cost_of(pass)?)));
        let one_in = if facts.matrix_bytes.is_some() { USUAL_ROWS } else { USUAL_ROWS_LISTED };
        let chosen = passes.min_by_key(|(_, cost)| cost.cost(facts.labels / one_in));
        let fallback = match chosen {
            Some((pass, _)) if facts.k == 1 || engines.recursive_enumeration => {
                Engine::with_pass(pass, facts.k)
            }
            _ => Engine::Viterbi,
        };
        let slow = || Alternative::always(LANES * facts.simd_steps());
        let forward =
            if fallback == Engine::Viterbi { slow() } else { chosen.map_or_else(slow, |(_, cost)| cost) };
        let further = facts.further_steps();
        let total = forward.plus(further);
        let steps = facts.positions.saturating_sub(1);
        let share = total.least.saturating_mul(steps) / LOSS_SHARE;
        let funnel = engines.funnel && (facts.may_open(total) || fallback == Engine::Viterbi);
        // The funnel, too, takes time for further paths. So its search for the best one may not cost much more than a forward pass.
        let cost = forward.plus(further / FURTHER_SHARE);
        let later = (further - further / FURTHER_SHARE).saturating_mul(facts.positions);
        let ways = TIES.saturating_mul(facts.k.saturating_add(facts.positions));
        let budget = if facts.exceptions.is_none() {
            // A look at edges that are computed is a large part of reading them.
            Budget::new(share, Alternative::always(cost.least / 3), usize::MAX, None)
                .for_several(later, usize::MAX)
        } else if facts.base_forbidden {
            // A look ahead does not tell. And what the funnel counts there takes several times as long: edges are searched for in lists.
            let part = cost.least / LISTED_SHARE;
            let left = share.max(part / 2);
            Budget::new(left, cost, left.max(part), None).with_each(part).for_several(later, ways)
        } else {
            let one = funnel::least_cost(facts.labels);
            let easy = (cost.least.saturating_mul(steps) / SHORT_SHARE)
                .clamp(one.saturating_mul(2), one.saturating_mul(EASY));
            // With many labels, the sieve often costs far more than it costs at least.
            let looks = usize::from(facts.labels >= MANY_LABELS && facts.matrix_bytes.is_some());
            let (left, most, looks) = match cost.per_row {
                // What it costs is known, and a look is little beside it.
                0 => (easy.min(cost.least / 2), cost.least.saturating_mul(4), 1),
                _ => (easy.min(cost.least.saturating_mul(4)), cost.least.saturating_mul(8), looks),
            };
            let (left, most) = (left.max(share), most.max(left).max(share));
            let looks = (2 * share / funnel::cost_of_look(facts.labels)).clamp(looks, MOST_LOOKS);
            // What the fallback costs at least, it seldom costs: twice that is usual, unless it costs the same everywhere.
            let each = cost.least.saturating_mul(2).min(cost.most);
            Budget::new(left, cost, most, Some(looks)).with_each(each).for_several(later, ways)
        };
        Plan { facts, first: funnel.then_some(Engine::Funnel), fallback, budget }
    }

    /// The engine for one path over edges that are so few that making a plan would take too long: matrices of which every plan
    /// reads all (that of a single label is not worth it), or a list for two or three labels. Larger ones may be worth learning about.
    pub(super) fn tiny<S: Float>(lattice: &Lattice<'_, S>, learning: bool) -> Option<Engine> {
        let labels = lattice.labels();
        let is_tiny = || labels < if learning { TINY.min(few_labels(level())) } else { few_labels(level()) };
        if labels < 2 || labels >= FEW_LABELS_SCALAR && !is_tiny() {
            return None;
        }
        match lattice.edges().shape() {
            Shape::Dense(_) => Some(Engine::ViterbiSimd),
            Shape::PerPosition(edges)
                if edges.matrices().len() <= FEW_MATRICES && edges.matrices().iter().all(is_dense) =>
            {
                Some(Engine::ViterbiSimd)
            }
            Shape::Sparse(edges) if labels < TINY_LISTED => {
                Some(Engine::with_pass(over_tiny_list(forbids_others(edges)), 1))
            }
            _ => None,
        }
    }

    /// The budget of a funnel that may spend several times what another pass takes for all positions, and never looks ahead.
    /// `fastest_pass` is the time per position of the fastest pass, with all further paths; 0 if that is not known.
    pub(super) fn whole_budget(&self, positions: usize, fastest_pass: f64) -> Budget {
        let Budget { alternative, later, ways, .. } = self.budget;
        let known = ((fastest_pass / STEP) as usize).saturating_sub(later / positions);
        let each = alternative.least.max(known);
        let left = each.saturating_mul(AT_ONCE.saturating_mul(positions));
        Budget::new(left, Alternative::always(0), usize::MAX, None)
            .for_several(later.saturating_mul(AT_ONCE), ways)
    }

    /// How the fallback computes forward scores.
    pub(crate) fn forward_pass(&self) -> ForwardPass {
        self.fallback.pass().unwrap_or_default()
    }

    /// The plan in words.
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { positions, labels, k, exceptions, class_pairs, level, .. } = self.facts;
        write!(f, "{positions} positions, {labels} labels, {k} best, {} instructions; ", level.name())?;
        match exceptions {
            Some(n) => {
                let share = 100.0 * n as f64 / (labels * labels) as f64;
                let base = if class_pairs > 0 { "base value of their classes" } else { "base value" };
                writeln!(f, "{n} edges ({share:.1} %) differ from the {base}.")?;
            }
            None => writeln!(f, "edges are computed on demand.")?,
        }
        match self.first {
            Some(engine) => {
                let fallback = self.fallback.name();
                write!(
                    f,
                    "First `{}`: {}, which may pay off with {labels} labels. ",
                    engine.name(),
                    engine.reason()
                )?;
                let share = match exceptions {
                    None => "a third of what",
                    Some(_) if self.facts.base_forbidden => "an eighth of what",
                    Some(_) => "up to twice what",
                };
                writeln!(
                    f,
                    "Its budget is a small part of the least time of `{fallback}` up front, plus {share} that decoder takes at \
                     least for each position done."
                )?;
                if self.budget.looks.is_some() {
                    writeln!(f, "When that is used up, a look ahead decides whether to go on.")?;
                }
            }
            None => writeln!(
                f,
                "No pruning: there are too few labels or positions, most pairs are forbidden, most paths are wanted, or it is switched off."
            )?,
        }
        let when = if self.first.is_some() { "If that is not enough," } else { "Runs" };
        write!(f, "{when} `{}`: {}.", self.fallback.name(), self.fallback.reason())
    }
}
