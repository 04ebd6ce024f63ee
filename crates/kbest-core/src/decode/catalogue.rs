//! The table of decoders, and decoders by name: for command lines, bindings and reports.

use super::shell::{Call, no_option, start};
use super::table::decoders;
use super::{
    Algorithm, Astar, Auto, Beam, CarpeDiem, Decode, Estimate, Expansion, Funnel, Heuristic, IterativeAstar,
    IterativeViterbiAstar, PrefixBeam, RecursiveEnumeration, Sieve, Staggered, Viterbi, ViterbiAstar,
    ViterbiSimd, ViterbiSparse,
};
use crate::error::{Error, Result};
use crate::simd::Float;
use std::fmt;
use std::str::FromStr;

/// How many paths a decoder can find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// The best path only.
    One,
    /// The `k` best paths, including `k = 1`.
    Both,
    /// Made for `k > 1`; `k = 1` works too.
    Many,
}

/// Which lattices a decoder reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lattices {
    /// Those of single positions, [`Lattice`](crate::Lattice).
    Positions,
    /// Those of segments, [`SegmentLattice`](crate::segment::SegmentLattice).
    Segments,
    /// Either.
    Both,
}

/// What to know about a decoder before choosing it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Which lattices it reads.
    pub lattices: Lattices,
    /// How many paths it can find.
    pub answers: Answers,
    /// Whether its paths are proven to be the best.
    pub exact: bool,
    /// Time in `T`, `L` and `k`.
    pub cost: &'static str,
    /// When to use it.
    pub advice: &'static str,
    /// Where it is explained: `docs/decoders/PAGE.md`.
    pub page: &'static str,
}

impl Entry {
    /// Whether it reads these lattices.
    pub fn reads(&self, lattices: Lattices) -> bool {
        self.lattices == lattices || self.lattices == Lattices::Both
    }
}

// One row per decoder; `table.rs` says what it expands to.
decoders! {
    Auto: of Both, page "auto" {
        "auto" => Auto::default(),
            answers: Both, exact: true,
            cost: "that of the decoder it picks",
            advice: "the default: looks at the lattice and picks one of the others";
    }
    Funnel: memory funnel, of Positions, page "funnel" {
        "funnel" => Funnel,
            answers: Both, exact: true,
            cost: "T L to T L^2",
            advice: "ours: reads each node score once and opens few labels; best from about 50 labels on";
    }
    Viterbi: memory viterbi, of Positions, page "viterbi" {
        "viterbi" => Viterbi,
            answers: Both, exact: true,
            cost: "k T L^2",
            advice: "the textbook algorithm, scalar and short: the reference the others are tested against";
    }
    ViterbiSimd: memory viterbi_simd, of Positions, page "viterbi-simd" {
        "viterbi-simd" => ViterbiSimd,
            answers: One, exact: true,
            cost: "T L^2 / 16",
            advice: "vector instructions; the safe choice when nothing can be pruned";
    }
    Sieve: memory sieve, of Positions, page "sieve" {
        "sieve" => Sieve,
            answers: One, exact: true,
            cost: "T L^2 / 16 at most",
            advice: "ours: every forward score, from the few rows that can matter to a block of labels; matrices of any scores";
    }
    ViterbiSparse: memory viterbi_sparse, of Positions, page "viterbi-sparse" {
        "viterbi-sparse" => ViterbiSparse,
            answers: One, exact: true,
            cost: "T (L + exceptions)",
            advice: "edges with one base value and few exceptions; its time does not depend on the scores";
    }
    CarpeDiem: memory carpediem, of Positions, page "carpediem" {
        "carpediem" => CarpeDiem::default(),
            answers: One, exact: true,
            cost: "T L log L to T L^2",
            advice: "Esposito & Radicioni 2009: strong nodes, weak edges; bounds: carpediem:graph, :position, :column";
    }
    Staggered: memory staggered, of Positions, page "staggered" {
        "staggered" => Staggered { expansion: Expansion::AllColumns },
            answers: One, exact: true,
            cost: "T L to T L^2",
            advice: "Kaji et al. 2010: labels ranked by frequency, doubled in every column";
        "staggered-column" => Staggered { expansion: Expansion::ColumnsOnPath },
            answers: One, exact: true,
            cost: "T L upwards",
            advice: "Kaji et al. 2010, SD+C-EXP: doubled only where the best path needs it";
    }
    Astar: memory astar, of Positions, page "astar" {
        "astar" => Astar::default(),
            answers: Both, exact: true,
            cost: "k T L to k T L^2 log",
            advice: "Huang et al. 2012: best-first search; choose --heuristic";
    }
    IterativeAstar: memory iterative_astar, of Positions, page "iterative-astar" {
        "iterative-astar" => IterativeAstar,
            answers: One, exact: true,
            cost: "T to T L^2 log",
            advice: "Huang et al. 2012: A* on lattices that grow";
    }
    RecursiveEnumeration: memory recursive_enumeration, of Positions, page "recursive-enumeration" {
        "recursive-enumeration" => RecursiveEnumeration::default(),
            answers: Many, exact: true,
            cost: "T L^2 / 16 + k T L",
            advice: "one forward pass, then path by path: every node finds its next best path when asked";
    }
    ViterbiAstar: memory viterbi_astar, of Positions, page "viterbi-astar" {
        "viterbi-astar" => ViterbiAstar,
            answers: Many, exact: true,
            cost: "T L^2 / 16 + k T (L + k)",
            advice: "Huang et al. 2012: one forward pass, then an agenda of paths that differ by one edge";
    }
    IterativeViterbiAstar: memory iterative_viterbi_astar, of Positions, page "iterative-viterbi-astar" {
        "iterative-viterbi-astar" => IterativeViterbiAstar,
            answers: Many, exact: true,
            cost: "k T L upwards",
            advice: "Huang et al. 2012: viterbi-astar on lattices that grow; for many labels and small k";
    }
    Beam: memory beam, of Positions, page "beam" {
        "beam" => Beam::default(),
            answers: Both, exact: false,
            cost: "T L max(width, k)",
            advice: "keeps --width labels per position; reports whether the answer is still proven to be best";
    }
    PrefixBeam: memory prefix_beam, of Positions, page "prefix-beam" {
        "prefix-beam" => PrefixBeam::default(),
            answers: Both, exact: false,
            cost: "T L max(width, k)",
            advice: "Huang et al. 2012: keeps --width prefixes per position, whatever label they end in";
    }
    @segments page "segments" {
        "semi-funnel" => SemiFunnel,
            answers: Both, exact: true,
            cost: "T L^2 to T L^2 + T W L",
            advice: "segments, ours: leaves out lengths by their bounds, asks for scores only where they can matter";
        "semi-viterbi" => SemiViterbi,
            answers: Both, exact: true,
            cost: "k T W L^2",
            advice: "segments, the textbook: the reference the others are tested against";
        "semi-viterbi-simd" => SemiViterbiSimd,
            answers: Both, exact: true,
            cost: "T L^2 + T W L",
            advice: "segments, vector instructions; its time does not depend on the scores";
        "semi-astar" => SemiAstar(Estimate),
            answers: One, exact: true,
            cost: "T L to T W L^2 log",
            advice: "segments, Druck et al. 2007: best-first search; choose --heuristic; with a learned bound not exact";
    }
}

/// The decoders that read these lattices, `auto` first.
pub fn catalogue(lattices: Lattices) -> impl Iterator<Item = &'static Entry> + Clone {
    CATALOGUE.iter().filter(move |entry| entry.reads(lattices))
}

/// The decoders for `k > 1`, for error messages.
fn those_for_k(lattices: Lattices) -> String {
    let is_for_k = |entry: &&Entry| entry.answers != Answers::One;
    let names: Vec<_> = catalogue(lattices).filter(is_for_k).map(|entry| entry.name).collect();
    format!("decoders for k > 1: {}", names.join(", "))
}

/// Whether a decoder can find `k` best paths.
pub(super) fn supports(entry: &Entry, lattices: Lattices, k: usize) -> Result<()> {
    if k == 1 || entry.answers != Answers::One {
        return Ok(());
    }
    let best = if lattices == Lattices::Segments { "segmentation" } else { "path" };
    let reason = format!("it finds only the best {best}, not the {k} best; {}", those_for_k(lattices));
    Err(Error::Unsupported { decoder: entry.name, reason })
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::Auto(Auto::default())
    }
}

impl Decoder {
    /// The decoder of that name, with its option after a colon if it has one: `funnel`, `astar:m3` (the heuristic),
    /// `beam:16` (the width), `carpediem:graph` (the bound).
    ///
    /// ```
    /// use kbest_core::{Decoder, decode::Beam};
    /// let decoder = Decoder::by_name("beam:16")?;
    /// assert_eq!(decoder, Decoder::Beam(Beam { width: 16 }));
    /// assert_eq!(decoder.to_string(), "beam:16");
    /// # Ok::<(), kbest_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownName`] with a list of the known decoders or heuristics; [`Error::Argument`] for an invalid
    /// width; [`Error::Unsupported`] for an option of a decoder that takes none.
    pub fn by_name(name: &str) -> Result<Self> {
        let (name, option) = name.split_once(':').map_or((name, None), |(name, option)| (name, Some(option)));
        let decoder = Self::named(name).ok_or_else(|| Error::UnknownName {
            what: "decoder",
            name: name.into(),
            expected: CATALOGUE.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        })?;
        match option {
            Some(option) => decoder.with_option(option),
            None => Ok(decoder),
        }
    }

    /// Whether it reads these lattices and can find `k` best paths of them (`k >= 1`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the reason.
    pub fn supports_on(&self, lattices: Lattices, k: usize) -> Result<()> {
        match self.entry().reads(lattices) {
            true => supports(self.entry(), lattices, k),
            false => Err(self.unfit(lattices)),
        }
    }

    /// The error of a decoder that does not read these lattices.
    pub(crate) fn unfit(&self, lattices: Lattices) -> Error {
        let reason = match lattices {
            Lattices::Segments => {
                "it decodes single positions, and this is for segments; use auto or semi-..."
            }
            _ => "it decodes segments, and this is for single positions; use auto or another without semi-",
        };
        Error::Unsupported { decoder: self.name(), reason: reason.into() }
    }

    /// Sets the heuristic of A*.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for decoders without one.
    pub fn with_heuristic(self, heuristic: Heuristic) -> Result<Self> {
        match self {
            Decoder::Astar(_) => Ok(Decoder::Astar(Astar { heuristic })),
            other => {
                let reason = "only astar takes a heuristic".into();
                Err(Error::Unsupported { decoder: other.name(), reason })
            }
        }
    }

    /// Sets the estimate of A* over segments.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for decoders without one.
    pub fn with_estimate(self, estimate: Estimate) -> Result<Self> {
        match self {
            Decoder::SemiAstar(_) => Ok(Decoder::SemiAstar(estimate)),
            other => {
                let reason = "only semi-astar takes a completion estimate".into();
                Err(Error::Unsupported { decoder: other.name(), reason })
            }
        }
    }

    /// Sets the width of the beam.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for decoders without one, [`Error::Argument`] for width 0.
    pub fn with_width(self, width: usize) -> Result<Self> {
        match self {
            Decoder::Beam(_) | Decoder::PrefixBeam(_) if width == 0 => {
                Err(Error::argument("beam width", "at least 1", width))
            }
            Decoder::Beam(_) => Ok(Decoder::Beam(Beam { width })),
            Decoder::PrefixBeam(_) => Ok(Decoder::PrefixBeam(PrefixBeam { width })),
            other => {
                let reason = "only beam and prefix-beam take a width".into();
                Err(Error::Unsupported { decoder: other.name(), reason })
            }
        }
    }
}

/// As [`Decoder::by_name`].
impl FromStr for Decoder {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::by_name(name)
    }
}

/// The name that [`Decoder::by_name`] reads. Options that cannot be typed, such as the engines of `auto`, are not
/// shown.
impl fmt::Display for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.option().map_or(Ok(()), |option| write!(f, ":{option}"))
    }
}

impl<S: Float> Scratch<S> {
    /// Empty working memory, without counting; `auto` learns from the sequences decoded with it, unless it is [planned](Self::planned).
    pub fn new() -> Self {
        Self::default()
    }

    /// Empty working memory that counts the work.
    pub fn counting() -> Self {
        Scratch { counting: true, ..Self::default() }
    }

    /// Empty working memory with which `auto` learns nothing, but goes by its [plan](Self#structfield.planned) alone.
    pub fn planned() -> Self {
        Scratch { planned: true, ..Self::default() }
    }

    /// Empty working memory that counts the work and keeps a [trace](super::Trace) of it.
    pub fn tracing() -> Self {
        Scratch { counting: true, tracing: true, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_decoders_and_back() {
        for entry in CATALOGUE {
            let decoder = Decoder::by_name(entry.name).unwrap();
            assert_eq!(decoder.name(), entry.name);
            for lattices in [Lattices::Positions, Lattices::Segments] {
                assert_eq!(decoder.supports_on(lattices, 1).is_ok(), entry.reads(lattices), "{}", entry.name);
                let many = entry.reads(lattices) && entry.answers != Answers::One;
                assert_eq!(decoder.supports_on(lattices, 2).is_ok(), many, "{}", entry.name);
            }
        }
        let error = Decoder::by_name("vitrebi").unwrap_err().to_string();
        assert!(error.contains("vitrebi") && error.contains("viterbi-simd"), "{error}");
        assert!(Decoder::by_name("viterbi").unwrap().with_width(4).is_err());
        assert!(Decoder::by_name("beam").unwrap().with_width(0).is_err());
        assert!(Decoder::by_name("beam").unwrap().with_heuristic(Heuristic::Naive).is_err());
    }

    #[test]
    fn options_follow_the_name() {
        assert_eq!("beam:7".parse(), Decoder::by_name("beam").unwrap().with_width(7));
        assert_eq!("astar:m3".parse(), Decoder::by_name("astar").unwrap().with_heuristic(Heuristic::M3));
        let heuristics = Heuristic::ALL.map(|heuristic| format!("astar:{}", heuristic.name()));
        let names = CATALOGUE.iter().map(|entry| entry.name.to_owned()).chain(heuristics);
        let options = [
            "beam:8",
            "beam:70",
            "prefix-beam:3",
            "carpediem:graph",
            "carpediem:position",
            "carpediem:column",
            "semi-astar:none",
            "semi-astar:learned",
        ];
        for name in names.chain(options.map(String::from)) {
            let decoder: Decoder = name.parse().unwrap();
            assert_eq!(decoder.to_string().parse(), Ok(decoder.clone()), "{name}");
            assert!(name.starts_with(&decoder.to_string()), "{name}");
        }
        let refused = |name: &str| Decoder::by_name(name).unwrap_err();
        assert!(matches!(refused("astar:3"), Error::UnknownName { what: "heuristic", .. }));
        assert!(matches!(refused("beam:naive"), Error::Argument { .. }));
        assert!(matches!(refused("beam:0"), Error::Argument { .. }));
        assert!(matches!(refused("prefix-beam:0"), Error::Argument { .. }));
        assert!(matches!(refused("carpediem:row"), Error::UnknownName { what: "bound of carpediem", .. }));
        assert!(matches!(refused("viterbi:2"), Error::Unsupported { decoder: "viterbi", .. }));
        assert!(matches!(refused("funnel:"), Error::Unsupported { decoder: "funnel", .. }));
        assert!(matches!(refused("vitrebi:2"), Error::UnknownName { what: "decoder", .. }));
        assert!(matches!(refused(""), Error::UnknownName { what: "decoder", .. }));
    }
}
