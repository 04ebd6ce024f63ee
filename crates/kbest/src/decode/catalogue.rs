//! The decoders by name: for command lines, bindings and reports.

use super::{
    Astar, Auto, Beam, CarpeDiem, Decode, Decoded, Expansion, Funnel, Heuristic, IterativeAstar,
    IterativeViterbiAstar, Scratch, Staggered, Viterbi, ViterbiAstar, ViterbiSimd, ViterbiSparse,
};
use crate::error::{Error, Result};
use crate::kernel::Float;
use crate::lattice::Lattice;

/// How many paths a decoder can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// The best path only.
    One,
    /// The `k` best paths, `k = 1` among them.
    Both,
    /// Made for `k > 1`; `k = 1` works too.
    Many,
}

/// What to know of a decoder before choosing it.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// How many paths it can give.
    pub answers: Answers,
    /// Whether its paths are proven to be the best.
    pub exact: bool,
    /// Time in `T`, `L` and `k`.
    pub cost: &'static str,
    /// When to take it.
    pub advice: &'static str,
}

/// All decoders, `auto` first.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: "auto",
        answers: Answers::Both,
        exact: true,
        cost: "that of the decoder it picks",
        advice: "the default: looks at the lattice and picks one of the others",
    },
    Entry {
        name: "funnel",
        answers: Answers::Both,
        exact: true,
        cost: "T L to T L^2",
        advice: "ours: reads each node score once and opens few labels; best from about 50 labels on",
    },
    Entry {
        name: "viterbi",
        answers: Answers::Both,
        exact: true,
        cost: "k T L^2",
        advice: "the textbook, scalar and short: the reference the others are tested against",
    },
    Entry {
        name: "viterbi-simd",
        answers: Answers::One,
        exact: true,
        cost: "T L^2 / 16",
        advice: "vector instructions; the safe choice when nothing can be pruned",
    },
    Entry {
        name: "viterbi-sparse",
        answers: Answers::One,
        exact: true,
        cost: "T (L + exceptions)",
        advice: "edges with one base value and few exceptions; its time does not depend on the scores",
    },
    Entry {
        name: "carpediem",
        answers: Answers::One,
        exact: true,
        cost: "T L log L to T L^2",
        advice: "Esposito & Radicioni 2009: strong nodes, weak edges",
    },
    Entry {
        name: "staggered",
        answers: Answers::One,
        exact: true,
        cost: "T L to T L^2",
        advice: "Kaji et al. 2010: labels ranked by frequency, doubled in every column",
    },
    Entry {
        name: "staggered-column",
        answers: Answers::One,
        exact: true,
        cost: "T L upwards",
        advice: "Kaji et al. 2010, SD+C-EXP: doubled only where the best path needs it",
    },
    Entry {
        name: "astar",
        answers: Answers::Both,
        exact: true,
        cost: "k T L to k T L^2 log",
        advice: "Huang et al. 2012: best-first search; choose --heuristic",
    },
    Entry {
        name: "iterative-astar",
        answers: Answers::One,
        exact: true,
        cost: "T to T L^2 log",
        advice: "Huang et al. 2012: A* on lattices that grow",
    },
    Entry {
        name: "viterbi-astar",
        answers: Answers::Many,
        exact: true,
        cost: "T L^2 / 16 + k T L",
        advice: "Huang et al. 2012: one forward pass, then paths from the back, best first",
    },
    Entry {
        name: "iterative-viterbi-astar",
        answers: Answers::Many,
        exact: true,
        cost: "k T L upwards",
        advice: "Huang et al. 2012: viterbi-astar on lattices that grow; for many labels and small k",
    },
    Entry {
        name: "beam",
        answers: Answers::Both,
        exact: false,
        cost: "T L max(width, k)",
        advice: "keeps --width labels a position; says whether the answer is proven all the same",
    },
];

/// "use viterbi, ..." for error messages.
pub(super) fn those_for_k() -> String {
    let names: Vec<_> = CATALOGUE.iter().filter(|e| e.answers != Answers::One).map(|e| e.name).collect();
    format!("decoders for k > 1: {}", names.join(", "))
}

/// Any decoder, chosen at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoder {
    /// [`Auto`].
    Auto(Auto),
    /// [`Funnel`].
    Funnel(Funnel),
    /// [`Viterbi`].
    Viterbi(Viterbi),
    /// [`ViterbiAstar`].
    ViterbiAstar(ViterbiAstar),
    /// [`ViterbiSimd`].
    ViterbiSimd(ViterbiSimd),
    /// [`ViterbiSparse`].
    ViterbiSparse(ViterbiSparse),
    /// [`CarpeDiem`].
    CarpeDiem(CarpeDiem),
    /// [`Staggered`], with either expansion.
    Staggered(Staggered),
    /// [`Astar`].
    Astar(Astar),
    /// [`IterativeAstar`].
    IterativeAstar(IterativeAstar),
    /// [`IterativeViterbiAstar`].
    IterativeViterbiAstar(IterativeViterbiAstar),
    /// [`Beam`].
    Beam(Beam),
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::Auto(Auto::default())
    }
}

impl Decoder {
    /// The decoder of that name, with default options.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the names there are.
    pub fn by_name(name: &str) -> Result<Self> {
        Ok(match name {
            "auto" => Decoder::Auto(Auto::default()),
            "funnel" => Decoder::Funnel(Funnel),
            "viterbi" => Decoder::Viterbi(Viterbi),
            "viterbi-astar" => Decoder::ViterbiAstar(ViterbiAstar::default()),
            "viterbi-simd" => Decoder::ViterbiSimd(ViterbiSimd),
            "viterbi-sparse" => Decoder::ViterbiSparse(ViterbiSparse),
            "carpediem" => Decoder::CarpeDiem(CarpeDiem::default()),
            "staggered" => Decoder::Staggered(Staggered { expansion: Expansion::AllColumns }),
            "staggered-column" => Decoder::Staggered(Staggered { expansion: Expansion::ColumnsOnPath }),
            "astar" => Decoder::Astar(Astar::default()),
            "iterative-astar" => Decoder::IterativeAstar(IterativeAstar),
            "iterative-viterbi-astar" => Decoder::IterativeViterbiAstar(IterativeViterbiAstar),
            "beam" => Decoder::Beam(Beam::default()),
            _ => {
                let expected = CATALOGUE.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
                return Err(Error::UnknownName { what: "decoder", name: name.into(), expected });
            }
        })
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
                Err(Error::Unsupported { decoder: other.entry().name, reason })
            }
        }
    }

    /// Sets the width of the beam.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for decoders without one, [`Error::Shape`] for width 0.
    pub fn with_width(self, width: usize) -> Result<Self> {
        match self {
            Decoder::Beam(_) if width == 0 => Err(Error::shape("beam width", "at least 1", 0)),
            Decoder::Beam(_) => Ok(Decoder::Beam(Beam { width })),
            other => {
                let reason = "only beam takes a width".into();
                Err(Error::Unsupported { decoder: other.entry().name, reason })
            }
        }
    }

    /// What the catalogue says of it.
    pub fn entry(&self) -> &'static Entry {
        let name = Decode::<f32>::name(self);
        CATALOGUE.iter().find(|entry| entry.name == name).expect("every decoder is in the catalogue")
    }
}

/// Runs one expression with the decoder as its own type.
macro_rules! with_decoder {
    ($decoder:expr, |$inner:ident| $body:expr) => {
        match $decoder {
            Decoder::Auto($inner) => $body,
            Decoder::Funnel($inner) => $body,
            Decoder::Viterbi($inner) => $body,
            Decoder::ViterbiAstar($inner) => $body,
            Decoder::ViterbiSimd($inner) => $body,
            Decoder::ViterbiSparse($inner) => $body,
            Decoder::CarpeDiem($inner) => $body,
            Decoder::Staggered($inner) => $body,
            Decoder::Astar($inner) => $body,
            Decoder::IterativeAstar($inner) => $body,
            Decoder::IterativeViterbiAstar($inner) => $body,
            Decoder::Beam($inner) => $body,
        }
    };
}

impl<S: Float> Decode<S> for Decoder {
    fn name(&self) -> &'static str {
        with_decoder!(self, |decoder| Decode::<S>::name(decoder))
    }
    fn supports(&self, k: usize) -> Result<()> {
        with_decoder!(self, |decoder| Decode::<S>::supports(decoder, k))
    }
    fn search(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        with_decoder!(self, |decoder| decoder.search(lattice, k, scratch, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_decoders_and_back() {
        for entry in CATALOGUE {
            let decoder = Decoder::by_name(entry.name).unwrap();
            assert_eq!(decoder.entry().name, entry.name);
            let many = Decode::<f32>::supports(&decoder, 2).is_ok();
            assert_eq!(many, entry.answers != Answers::One, "{}", entry.name);
        }
        let error = Decoder::by_name("vitrebi").unwrap_err().to_string();
        assert!(error.contains("vitrebi") && error.contains("viterbi-simd"), "{error}");
        assert!(Decoder::by_name("viterbi").unwrap().with_width(4).is_err());
        assert!(Decoder::by_name("beam").unwrap().with_width(0).is_err());
        assert!(Decoder::by_name("beam").unwrap().with_heuristic(Heuristic::Naive).is_err());
    }
}
