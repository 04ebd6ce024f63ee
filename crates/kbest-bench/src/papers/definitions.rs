//! The experiments as data: what each paper's table compares, its figures, and what it claims.
//!
//! Adding a table is adding an entry of [`EXPERIMENTS`]: its view says which steps it needs and how they are shown.

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paper {
    CarpeDiem,
    Kaji,
    Huang,
    Dual,
    Druck,
}

impl Paper {
    pub(crate) const ALL: [Paper; 5] =
        [Paper::CarpeDiem, Paper::Kaji, Paper::Huang, Paper::Dual, Paper::Druck];

    pub(crate) fn citation(self) -> &'static str {
        match self {
            Paper::CarpeDiem => "Esposito & Radicioni, CarpeDiem (JMLR 2009)",
            Paper::Kaji => "Kaji, Fujiwara, Yoshinaga & Kitsuregawa, Efficient staggered decoding (ACL 2010)",
            Paper::Huang => "Huang et al., Iterative Viterbi A* for k-best sequential decoding (ACL 2012)",
            Paper::Dual => {
                "Viterbi decoding for label sequence learning in dual form (appendix after Altun et al. 2003)"
            }
            Paper::Druck => "Druck, Narasimhan & Viola, Learning A* underestimates (AISTATS 2007)",
        }
    }
}

/// A task of ours and the paper's data that it stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Twin {
    pub(crate) task: &'static str,
    pub(crate) stands_for: &'static str,
}

/// No figure in the paper.
pub(crate) const NONE: f64 = f64::NAN;

/// A row of a paper's table: its name there, our decoders (the fastest counts), and its figure for each twin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) decoders: &'static [&'static str],
    pub(crate) figures: &'static [f64],
}

/// A claim about speeds: `faster` takes less time than `slower` on these twins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) words: &'static str,
    pub(crate) faster: &'static [&'static str],
    pub(crate) slower: &'static [&'static str],
    /// Indices of the twins it is claimed for.
    pub(crate) twins: &'static [usize],
}

/// What an experiment shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum View {
    /// Sentences per second.
    Speeds { k: usize, twins: &'static [Twin], lines: &'static [Line], claims: &'static [Claim] },
    /// Rounds per sentence.
    Rounds { twins: &'static [Twin], lines: &'static [RoundLine] },
    /// Training time, same epochs.
    Training { twins: &'static [Twin], figures: &'static [(&'static str, &'static [f64])] },
    /// A beam as accurate as exact decoding.
    Beams { twins: &'static [Twin], figures: &'static [[f64; 3]] },
    /// Speed against `k`.
    AgainstK { twin: Twin },
    /// Time saved by CarpeDiem; figures in per cent.
    Savings { figures: &'static [f64; 3] },
    /// A bar for each of a hundred classifiers.
    Classifiers,
    /// Weights over updates.
    Weights,
    /// The beam that takes as long as CarpeDiem; the paper's widths and label counts.
    EqualTime { figures: &'static [(usize, usize); 3] },
    /// A* with CarpeDiem's heuristic against Viterbi.
    AstarAgainstViterbi,
    /// Opened vertices.
    Trace,
    /// Kernels against the primal form.
    Dual,
    /// Token chain, semi-Markov Viterbi, A* with a learned bound.
    Segments,
    /// Speed-up against length.
    Lengths,
    /// Sizes and promises of learned bounds.
    Bounds,
}

/// A row of a table of rounds: name, decoder, number of paths, figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundLine {
    pub(crate) name: &'static str,
    pub(crate) decoder: &'static str,
    pub(crate) k: usize,
    pub(crate) figures: &'static [f64],
}

/// One table or figure of a paper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Experiment {
    pub(crate) id: &'static str,
    pub(crate) paper: Paper,
    pub(crate) place: &'static str,
    pub(crate) title: &'static str,
    pub(crate) view: View,
}

const fn twin(task: &'static str, stands_for: &'static str) -> Twin {
    Twin { task, stands_for }
}

/// The three tasks of Kaji et al.; supertagging has two stand-ins, and the last task is beyond the paper.
const KAJI: &[Twin] = &[
    twin("ewt-pos", "POS tagging (PTB, 45 labels)"),
    twin("conll2000-joint", "joint tagging (319 labels)"),
    twin("hpsg-lextype", "supertagging (HPSG, 2,602 labels)"),
    twin("hungarian-morph", "supertagging (HPSG, 2,602 labels)"),
    twin("czech-morph", "(not in the paper)"),
];

/// The five tasks of Huang et al.
const HUANG: &[Twin] = &[
    twin("ewt-pos", "POS (PTB, 45 labels)"),
    twin("conll2000-joint", "CoNLL2000 (319 labels)"),
    twin("spanish-joint", "CoNLL2003 (443 labels)"),
    twin("hungarian-morph", "supertag (2,602 labels)"),
    twin("snips-joint", "search queries (323 labels)"),
];

/// Tasks whose training time is compared.
const TRAINED: &[Twin] = &[KAJI[0], KAJI[1], KAJI[2], KAJI[3]];

/// The three problems of the CarpeDiem paper, in its order.
pub(crate) const PROBLEMS: [Twin; 3] = [
    twin("bach-harmony", "music analysis (78 labels)"),
    twin("doclines", "FAQ segmentation (4 labels)"),
    twin("letters", "letter recognition (27 labels)"),
];

/// Data for kernels.
pub(crate) const DUAL_TASKS: [&str; 2] = ["conll2000", "letters"];
/// Data for models of segments.
pub(crate) const SEGMENT_TASKS: [&str; 2] = ["usaddress", "citations"];

const ASTARS: &[&str] = &["astar", "astar:m0", "astar:m3", "astar:m6", "astar:m9"];

/// Everything that finds one path, measured side by side on every task.
pub(crate) const ONE_BEST: &[&str] = &[
    "auto",
    "funnel",
    "viterbi-simd",
    "viterbi-sparse",
    "staggered-column",
    "staggered",
    "beam:1",
    "beam:8",
    "viterbi",
    "carpediem",
    "carpediem:column",
    "astar",
    "astar:m0",
    "astar:m3",
    "astar:m6",
    "astar:m9",
    "iterative-astar",
];

/// Everything that finds five.
pub(crate) const FIVE_BEST: &[&str] = &[
    "auto",
    "funnel",
    "recursive-enumeration",
    "viterbi-astar",
    "iterative-viterbi-astar",
    "prefix-beam",
    "beam:5",
    "viterbi",
    "astar",
    "astar:m0",
    "astar:m3",
    "astar:m6",
    "astar:m9",
];

/// The lines of the figure of speed against `k`, and the numbers of paths.
pub(crate) const AGAINST_K: &[&str] = &[
    "auto",
    "recursive-enumeration",
    "iterative-viterbi-astar",
    "viterbi-astar",
    "prefix-beam",
    "viterbi",
    "astar:m6",
];
pub(crate) const KS: &[usize] = &[1, 2, 5, 10, 20, 30, 50, 70, 90, 100];

const ALL_FIVE: &[usize] = &[0, 1, 2, 3, 4];
const ALL_FOUR: &[usize] = &[0, 1, 2, 3];

/// All experiments, in the order of the report.
pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        id: "carpediem-2",
        paper: Paper::CarpeDiem,
        place: "Table 2",
        title: "Time saved by CarpeDiem, over one hundred classifiers per problem",
        view: View::Savings { figures: &[88.90, 73.15, 96.44] },
    },
    Experiment {
        id: "carpediem-456",
        paper: Paper::CarpeDiem,
        place: "Figures 4-6",
        title: "Classification time of one hundred classifiers: bars CarpeDiem, triangles Viterbi",
        view: View::Classifiers,
    },
    Experiment {
        id: "carpediem-7",
        paper: Paper::CarpeDiem,
        place: "Figure 7",
        title: "Vertical weights over the updates of the perceptron",
        view: View::Weights,
    },
    Experiment {
        id: "carpediem-vbs",
        paper: Paper::CarpeDiem,
        place: "section 6.6.2",
        title: "The beam that takes as long as CarpeDiem, and how often it is wrong",
        view: View::EqualTime { figures: &[(25, 78), (2, 4), (5, 27)] },
    },
    Experiment {
        id: "carpediem-astar",
        paper: Paper::CarpeDiem,
        place: "section 6.6.1",
        title: "A* with CarpeDiem's heuristic against Viterbi",
        view: View::AstarAgainstViterbi,
    },
    Experiment {
        id: "carpediem-trace",
        paper: Paper::CarpeDiem,
        place: "sections 6.5 and 7",
        title: "Opened vertices along a sequence: how sequential a problem is",
        view: View::Trace,
    },
    Experiment {
        id: "kaji-1",
        paper: Paper::Kaji,
        place: "Table 1",
        title: "Decoding speed, sentences per second",
        view: View::Speeds {
            k: 1,
            twins: KAJI,
            lines: &[
                Line { name: "Viterbi", decoders: &["viterbi"], figures: &[4000.0, 77.0, 1.1, 1.1, NONE] },
                Line {
                    name: "CarpeDiem",
                    decoders: &["carpediem"],
                    figures: &[8600.0, 51.0, 0.26, 0.26, NONE],
                },
                Line { name: "SD", decoders: &["staggered"], figures: &[8800.0, 850.0, 121.0, 121.0, NONE] },
                Line {
                    name: "SD+C-EXP",
                    decoders: &["staggered-column"],
                    figures: &[14_000.0, 1600.0, 300.0, 300.0, NONE],
                },
            ],
            claims: &[
                Claim {
                    words: "SD is faster than Viterbi on every task",
                    faster: &["staggered"],
                    slower: &["viterbi"],
                    twins: ALL_FOUR,
                },
                Claim {
                    words: "column-wise expansion is faster than SD on every task",
                    faster: &["staggered-column"],
                    slower: &["staggered"],
                    twins: ALL_FOUR,
                },
                Claim {
                    words: "CarpeDiem is faster than Viterbi on POS tagging",
                    faster: &["carpediem"],
                    slower: &["viterbi"],
                    twins: &[0],
                },
                Claim {
                    words: "CarpeDiem is slower than Viterbi where there are many labels",
                    faster: &["viterbi"],
                    slower: &["carpediem"],
                    twins: &[1, 2, 3],
                },
            ],
        },
    },
    Experiment {
        id: "kaji-2",
        paper: Paper::Kaji,
        place: "Table 2",
        title: "Rounds of staggered decoding",
        view: View::Rounds {
            twins: TRAINED,
            lines: &[
                RoundLine { name: "SD", decoder: "staggered", k: 1, figures: &[6.02, 8.15, 10.0, 10.0] },
                RoundLine {
                    name: "SD+C-EXP",
                    decoder: "staggered-column",
                    k: 1,
                    figures: &[6.12, 8.62, 10.6, 10.6],
                },
            ],
        },
    },
    Experiment {
        id: "kaji-3",
        paper: Paper::Kaji,
        place: "Table 3",
        title: "Training time with Viterbi and with staggered decoding: the same epochs, the same model",
        view: View::Training {
            twins: TRAINED,
            figures: &[
                ("viterbi", &[100.0, 1200.0, 360_000.0, 360_000.0]),
                ("staggered-column", &[37.0, 90.0, 19_080.0, 19_080.0]),
            ],
        },
    },
    Experiment {
        id: "kaji-4",
        paper: Paper::Kaji,
        place: "Table 4",
        title: "A beam widened until it is as accurate as exact decoding",
        view: View::Beams {
            twins: TRAINED,
            figures: &[
                [4000.0, 14_000.0, 18_000.0],
                [77.0, 1600.0, 2400.0],
                [1.1, 300.0, 180.0],
                [1.1, 300.0, 180.0],
            ],
        },
    },
    Experiment {
        id: "huang-3",
        paper: Paper::Huang,
        place: "Table 3",
        title: "Rounds of iterative Viterbi and iterative Viterbi A*",
        view: View::Rounds {
            twins: HUANG,
            lines: &[
                RoundLine {
                    name: "iterative Viterbi",
                    decoder: "staggered-column",
                    k: 1,
                    figures: &[6.32, 8.76, 9.18, 10.63, 6.71],
                },
                RoundLine {
                    name: "iterative Viterbi A* (5 best)",
                    decoder: "iterative-viterbi-astar",
                    k: 5,
                    figures: &[14.42, 16.40, 15.41, 18.62, 9.48],
                },
            ],
        },
    },
    Experiment {
        id: "huang-4",
        paper: Paper::Huang,
        place: "Table 4",
        title: "The best path: sentences per second",
        view: View::Speeds {
            k: 1,
            twins: HUANG,
            lines: &[
                Line {
                    name: "beam (width 1)",
                    decoders: &["beam:1"],
                    figures: &[7252.0, 1381.0, 1650.0, 395.0, 7571.0],
                },
                Line { name: "Viterbi", decoders: &["viterbi"], figures: &[2779.0, 51.0, 41.0, 0.19, 443.0] },
                Line {
                    name: "iterative Viterbi",
                    decoders: &["staggered-column"],
                    figures: &[5833.0, 972.0, 2239.0, 213.0, 6805.0],
                },
                Line {
                    name: "Carpediem",
                    decoders: &["carpediem"],
                    figures: &[2638.0, 14.0, 20.0, 0.15, 243.0],
                },
                Line { name: "A* (best)", decoders: ASTARS, figures: &[802.0, 131.0, 225.0, 8.0, 880.0] },
                Line {
                    name: "iterative A*",
                    decoders: &["iterative-astar"],
                    figures: &[1112.0, 84.0, 109.0, 3.0, 501.0],
                },
            ],
            claims: &[
                Claim {
                    words: "iterative Viterbi is the fastest exact decoder of the table on every task",
                    faster: &["staggered-column"],
                    slower: &[
                        "viterbi",
                        "carpediem",
                        "astar",
                        "astar:m0",
                        "astar:m3",
                        "astar:m6",
                        "astar:m9",
                        "iterative-astar",
                    ],
                    twins: ALL_FIVE,
                },
                Claim {
                    words: "A* with a proper heuristic is faster than Viterbi, except for POS",
                    faster: ASTARS,
                    slower: &["viterbi"],
                    twins: &[1, 2, 3, 4],
                },
                Claim {
                    words: "Carpediem is slower than Viterbi on every task",
                    faster: &["viterbi"],
                    slower: &["carpediem"],
                    twins: ALL_FIVE,
                },
                Claim {
                    words: "the iterative process slows A* down, except for POS",
                    faster: ASTARS,
                    slower: &["iterative-astar"],
                    twins: &[1, 2, 3, 4],
                },
            ],
        },
    },
    Experiment {
        id: "huang-5",
        paper: Paper::Huang,
        place: "Table 5",
        title: "Five best paths: sentences per second",
        view: View::Speeds {
            k: 5,
            twins: HUANG,
            lines: &[
                Line {
                    name: "beam (5 prefixes)",
                    decoders: &["prefix-beam"],
                    figures: &[2760.0, 461.0, 592.0, 75.0, 4354.0],
                },
                Line { name: "Viterbi", decoders: &["viterbi"], figures: &[19.0, 0.41, 0.25, 0.12, 3.83] },
                Line { name: "A* (best)", decoders: ASTARS, figures: &[205.0, 4.0, 11.0, 3.0, 92.0] },
                Line {
                    name: "Viterbi A*",
                    decoders: &["viterbi-astar"],
                    figures: &[1266.0, 47.0, 40.0, 0.1, 357.0],
                },
                Line {
                    name: "iterative Viterbi A*",
                    decoders: &["iterative-viterbi-astar"],
                    figures: &[788.0, 200.0, 295.0, 36.0, 1025.0],
                },
            ],
            claims: &[
                Claim {
                    words: "iterative Viterbi A* is faster than Viterbi A* wherever there are more than 200 labels",
                    faster: &["iterative-viterbi-astar"],
                    slower: &["viterbi-astar"],
                    twins: &[1, 2, 3],
                },
                Claim {
                    words: "Viterbi A* is faster than k-best Viterbi, except for supertags",
                    faster: &["viterbi-astar"],
                    slower: &["viterbi"],
                    twins: &[0, 1, 2, 4],
                },
                Claim {
                    words: "on POS, Viterbi A* is faster than its iterative version",
                    faster: &["viterbi-astar"],
                    slower: &["iterative-viterbi-astar"],
                    twins: &[0],
                },
            ],
        },
    },
    Experiment {
        id: "huang-fig4",
        paper: Paper::Huang,
        place: "Figure 4",
        title: "Speed against the number of paths",
        view: View::AgainstK { twin: HUANG[2] },
    },
    Experiment {
        id: "dual-1",
        paper: Paper::Dual,
        place: "Proposition B.1",
        title: "Models in dual form against the same model in primal form",
        view: View::Dual,
    },
    Experiment {
        id: "druck-1",
        paper: Paper::Druck,
        place: "Table 1",
        title: "Token chain, semi-Markov Viterbi, A* with a learned underestimate",
        view: View::Segments,
    },
    Experiment {
        id: "druck-fig2",
        paper: Paper::Druck,
        place: "Figure 2",
        title: "Speed-up over semi-Markov Viterbi against the length of a record",
        view: View::Lengths,
    },
    Experiment {
        id: "druck-bounds",
        paper: Paper::Druck,
        place: "sections 2-4",
        title: "Learned bounds: what they promise, what they keep, what they cost",
        view: View::Bounds,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use kbest::{Decode, Decoder};

    #[test]
    fn ids_are_unique_and_figures_complete() {
        let mut ids: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), EXPERIMENTS.len());
        for experiment in EXPERIMENTS {
            match experiment.view {
                View::Speeds { twins, lines, claims, .. } => {
                    assert!(lines.iter().all(|line| line.figures.len() == twins.len()), "{}", experiment.id);
                    assert!(claims.iter().flat_map(|claim| claim.twins).all(|&twin| twin < twins.len()));
                }
                View::Rounds { twins, lines } => {
                    assert!(lines.iter().all(|line| line.figures.len() == twins.len()), "{}", experiment.id);
                }
                View::Training { twins, figures } => {
                    assert!(figures.iter().all(|(_, figures)| figures.len() == twins.len()));
                }
                View::Beams { twins, figures } => assert_eq!(twins.len(), figures.len()),
                _ => {}
            }
        }
    }

    /// Every decoder that a table names exists and is measured with as many paths as the table wants.
    #[test]
    fn decoders_exist_and_are_measured() {
        for (names, k) in [(ONE_BEST, 1), (FIVE_BEST, 5), (AGAINST_K, 100)] {
            for name in names {
                assert!(Decoder::by_name(name).unwrap().supports(k).is_ok(), "{name}, k = {k}");
            }
        }
        for experiment in EXPERIMENTS {
            if let View::Speeds { k, lines, claims, .. } = experiment.view {
                let measured = if k == 1 { ONE_BEST } else { FIVE_BEST };
                let shown = lines.iter().flat_map(|line| line.decoders);
                let claimed = claims.iter().flat_map(|claim| claim.faster.iter().chain(claim.slower));
                for name in shown.chain(claimed) {
                    assert!(measured.contains(name), "{}: {name}", experiment.id);
                }
            }
        }
    }
}
