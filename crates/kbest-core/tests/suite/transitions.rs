//! Under constraints, every decoder finds the best path that obeys them, found here by enumerating all paths and
//! checking each by an independent statement of the rules.

use crate::common::{Case, Random, enumerate, exact_decoders, exact_kbest_decoders};
use kbest_core::lattice::{EdgeScores, Shape};
use kbest_core::scheme::{Layout, Piece, Scheme, Side, Tagging};
use kbest_core::transition::Transitions;
use kbest_core::{Decode, Edges, Error, Float, LabelId, LabelSet, Lattice, Path, Scratch};

const SCHEMES: [(Scheme, &str); 5] = [
    (Scheme::Iob1, "BI"),
    (Scheme::Iob2, "BI"),
    (Scheme::Ioe1, "EI"),
    (Scheme::Ioe2, "EI"),
    (Scheme::Iobes, "BIES"),
];

/// Whether tags such as `B-X` obey a scheme, by the meaning of its letters.
fn obeys(scheme: Scheme, tags: &[&str]) -> bool {
    let letter = |t: usize| tags[t].as_bytes()[0];
    // The neighbour at `t` is of the same type as `tag`, and its letter is one of `letters`.
    let neighbour = |tag: &str, t: Option<usize>, letters: &str| {
        t.and_then(|t| tags.get(t))
            .is_some_and(|other| letters.contains(&other[..1]) && other[1..] == tag[1..])
    };
    (0..tags.len()).all(|t| {
        let before = |letters| neighbour(tags[t], t.checked_sub(1), letters);
        let behind = |letters| neighbour(tags[t], Some(t + 1), letters);
        match (scheme, letter(t)) {
            (Scheme::Iob1, b'B') | (Scheme::Iob2, b'I') => before("BI"),
            (Scheme::Ioe1, b'E') | (Scheme::Ioe2, b'I') => behind("EI"),
            (Scheme::Iobes, b'B') => behind("IE"),
            (Scheme::Iobes, b'I') => before("BI") && behind("IE"),
            (Scheme::Iobes, b'E') => before("BI"),
            _ => true,
        }
    })
}

/// A lattice of a case under constraints.
fn constrained<'a, S: Float>(case: &Case, transitions: &Transitions, edges: &'a Edges<S>) -> Lattice<'a, S> {
    let mut lattice = case.lattice(edges);
    let start = case.start.as_deref().map(crate::common::cast::<S>);
    let end = case.end.as_deref().map(crate::common::cast::<S>);
    if let Some(start) = transitions.constrain_start(start.as_deref()).unwrap() {
        lattice = lattice.with_start(start).unwrap();
    }
    if let Some(end) = transitions.constrain_end(end.as_deref()).unwrap() {
        lattice = lattice.with_end(end).unwrap();
    }
    lattice
}

/// All decoders against the paths that obey, best first.
fn check<S: Float>(
    what: &str,
    case: &Case,
    transitions: &Transitions,
    obeys: impl Fn(&[LabelId]) -> bool,
) -> bool {
    let free = case.edges::<S>();
    let edges = transitions.constrain(&free).unwrap();
    assert_eq!(edges.order(), free.order());
    let lattice = constrained(case, transitions, &edges);
    let expected: Vec<Path<S>> =
        enumerate(&case.lattice(&free)).into_iter().filter(|path| obeys(&path.labels)).collect();
    assert!(expected.iter().all(|path| transitions.allows_path(&path.labels)), "{what}");
    let mut scratch = Scratch::new();
    for decoder in exact_decoders() {
        match (decoder.decode(&lattice, &mut scratch), expected.first()) {
            (Ok(answer), Some(best)) => {
                assert_eq!(answer.best(), best, "{what}, {}", decoder.name())
            }
            (Err(Error::NoPath), None) => {}
            (answer, best) => {
                panic!("{what}, {}: {answer:?}, expected {best:?}", decoder.name())
            }
        }
    }
    for decoder in exact_kbest_decoders() {
        // Equally good paths may come in any order.
        if let Ok(answer) = decoder.decode_kbest(&lattice, 4, &mut scratch) {
            let scores = |paths: &[Path<S>]| paths.iter().map(|path| path.score).collect::<Vec<_>>();
            assert_eq!(scores(&answer.paths), scores(&expected[..expected.len().min(4)]), "{what}");
            assert!(answer.paths.iter().all(|path| expected.contains(path)), "{what}: {:?}", answer.paths);
        }
    }
    !expected.is_empty()
}

#[test]
fn decoded_paths_obey_the_scheme() {
    let mut decoded = 0;
    for seed in 0..1500 {
        let case = Case::random(seed, 5, 6);
        let mut random = Random::new(seed);
        let (scheme, letters) = SCHEMES[random.below(SCHEMES.len())];
        let mut tags: Vec<String> =
            letters.chars().flat_map(|letter| ["X", "Y"].map(|kind| format!("{letter}-{kind}"))).collect();
        tags.push("O".into());
        let order = random.shuffled(tags.len());
        if case.labels > tags.len() {
            continue;
        }
        let tags: Vec<&str> = order.iter().take(case.labels).map(|&i| tags[i as usize].as_str()).collect();
        let tagging = Tagging { scheme, layout: Layout::default() };
        let transitions = Transitions::from_names(&tags, tagging);
        let obeys = |path: &[LabelId]| {
            let tags: Vec<&str> = path.iter().map(|&y| tags[y as usize]).collect();
            obeys(scheme, &tags)
        };
        let what = format!("seed {seed}, {scheme}, {tags:?}");
        decoded += usize::from(check::<f32>(&what, &case, &transitions, obeys));
        check::<f64>(&what, &case, &transitions, obeys);
    }
    assert!(decoded > 500, "{decoded}");
}

#[test]
fn decoded_paths_obey_the_file() {
    let names = ["a", "b", "c", "d", "e", "f"];
    for seed in 0..500 {
        let case = Case::random(seed, 5, 6);
        let labels = LabelSet::from_names(&names[..case.labels]);
        let mut random = Random::new(seed);
        let (mut text, mut rules) = (String::new(), vec![]);
        for _ in 0..random.below(12) {
            let forbids = random.chance(0.5);
            let place = |random: &mut Random, border: &str| match random.below(6) {
                0 => "*".to_owned(),
                1 => border.to_owned(),
                _ => names[random.below(case.labels)].to_owned(),
            };
            let (from, to) = (place(&mut random, "^"), place(&mut random, "$"));
            if (from.as_str(), to.as_str()) != ("^", "$") {
                text += &format!("{}{from}\t{to}\n", if forbids { "!" } else { "" });
                rules.push((forbids, from, to));
            }
        }
        let transitions = Transitions::parse(&text, "file", &labels).unwrap();
        let path_of = |path: &[LabelId]| {
            let names: Vec<&str> = path.iter().map(|&y| names[y as usize]).collect();
            let steps =
                std::iter::once("^").chain(names.iter().copied()).zip(names.iter().copied().chain(["$"]));
            path.is_empty()
                || steps.into_iter().all(|(from, to)| {
                    // Rules of the same kind: about the start, the end, or pairs.
                    let sort = |from: &str, to: &str| (from == "^", to == "$");
                    let mut same = rules.iter().filter(|(_, f, t)| sort(f, t) == sort(from, to));
                    let rest = same.clone().next().is_none_or(|(forbids, ..)| *forbids);
                    let fits = |pattern: &str, name: &str| pattern == "*" || pattern == name;
                    let last = same.rfind(|(_, f, t)| fits(f, from) && fits(t, to));
                    last.map_or(rest, |(forbids, ..)| !forbids)
                })
        };
        check::<f64>(&format!("seed {seed}:\n{text}"), &case, &transitions, path_of);
    }
}

#[test]
fn layouts_and_joint_labels() {
    let suffix = Layout { side: Side::Suffix, ..Layout::default() };
    let tagging = Tagging { scheme: Scheme::Iob2, layout: suffix };
    let transitions = Transitions::from_names(["O", "X-B", "X-I", "Y-I"], tagging);
    assert!(transitions.allowed(1, 2) && !transitions.allowed(1, 3) && !transitions.allowed(0, 2));
    assert!(transitions.start(2) == f32::NEG_INFINITY && transitions.start(1) == 0.0);

    let names = ["O@Play", "B-a@Play", "I-a@Play", "O@Rate", "I-a@Rate"];
    let tagging = Tagging::detect(names).unwrap();
    assert_eq!(tagging.layout.piece, Piece::First('@'));
    let free = Transitions::from_names(names, tagging);
    let kept = Transitions::from_names_keeping_rest(names, tagging);
    assert!(free.allowed(1, 4) && !kept.allowed(1, 4));
    assert!(free.allowed(0, 3) && !kept.allowed(0, 3) && kept.allowed(1, 2));

    let joint = ["DT|B-NP", "NN|I-NP", "VB|B-VP", ".|O"];
    let transitions = Transitions::from_names(joint, Tagging::detect(joint).unwrap());
    assert!(transitions.allowed(0, 1) && !transitions.allowed(2, 1) && !transitions.allowed(3, 1));
}

#[test]
fn a_file_gives_scores_patterns_and_escapes() {
    let labels = LabelSet::from_names(["$", "^", "#", "!x", "a*b", "\\", "B-X-1", "B-Y-1", "I-X"]);
    let text = "\u{feff}# a comment\r\n\n*\t*\n\\$\t\\^\t-1.5\n\\#\t\\!x\t2\r\n!\\!x\ta\\*b\n\\\\\tB-*\t-inf\n*-1\tI-X\t1e1\n\
                ^\t*-*-1\n!\\$\t$\n";
    let transitions = Transitions::parse(text, "file", &labels).unwrap();
    let id = |name: &str| labels.id(name).unwrap() as usize;
    assert_eq!(transitions.score(id("$"), id("^")), -1.5);
    assert_eq!(transitions.score(id("#"), id("!x")), 2.0);
    assert!(!transitions.allowed(id("!x"), id("a*b")) && transitions.allowed(id("a*b"), id("!x")));
    assert!(!transitions.allowed(id("\\"), id("B-Y-1")) && transitions.allowed(id("\\"), id("I-X")));
    assert_eq!(transitions.score(id("B-X-1"), id("I-X")), 10.0);
    assert_eq!((transitions.start(id("B-X-1")), transitions.start(id("I-X"))), (0.0, f32::NEG_INFINITY));
    assert_eq!((transitions.end(id("$")), transitions.end(id("^"))), (f32::NEG_INFINITY, 0.0));

    let edges = transitions.constrain(&Edges::dense(9, vec![0.5f64; 81]).unwrap()).unwrap();
    let lattice = Lattice::new(vec![0.0; 18], &edges).unwrap();
    assert_eq!(lattice.path_score(&[id("$") as u32, id("^") as u32]).unwrap(), -1.0);
}

#[test]
fn bad_lines_are_told_with_their_place() {
    let labels = LabelSet::from_names(["a", "b"]);
    for (text, line, words) in [
        ("a b\n", 1, "from TAB to"),
        ("a\tb\n\na\tc\n", 3, "\"c\""),
        ("a\tb\tx\n", 1, "a number"),
        ("a\tb\tNaN\n", 1, "a number"),
        ("a\tb\tinf\n", 1, "a number"),
        ("!a\tb\t1\n", 1, "no score"),
        ("a\tb\t1\t2\n", 1, "from TAB to"),
        ("$\ta\n", 1, "`^` before"),
        ("a\t^\n", 1, "`^` before"),
        ("^\t$\n", 1, "`^` before"),
        ("# x\nz*\tb\n", 2, "\"z*\""),
        ("\\a\tb\n", 1, "backslash"),
        ("a\t\n", 1, "a label"),
    ] {
        let error = Transitions::parse(text, "x.tsv", &labels).unwrap_err().to_string();
        assert!(error.starts_with(&format!("x.tsv:{line}: ")) && error.contains(words), "{text:?}: {error}");
    }
    let error = Transitions::parse_bytes(b"a\tb\n\xff\tb\n", "x.tsv", &labels).unwrap_err().to_string();
    assert!(error.starts_with("x.tsv:2: expected UTF-8"), "{error}");
    assert!(Transitions::parse("", "x.tsv", &labels).unwrap().allowed(0, 1), "no rule, no constraint");
}

#[test]
fn seen_transitions_only() {
    let sequences: [&[LabelId]; 4] = [&[0, 1, 1, 2], &[], &[1], &[0, 2]];
    let transitions = Transitions::seen(3, sequences).unwrap();
    let allowed: Vec<_> = (0..9).filter(|i| transitions.allowed(i / 3, i % 3)).collect();
    assert_eq!(allowed, [1, 2, 4, 5]);
    assert!(sequences.iter().all(|path| transitions.allows_path(path)));
    assert!(!transitions.allows_path(&[2]) && !transitions.allows_path(&[0]), "never first; never last");
    assert!(Transitions::seen(2, sequences).is_err());
    let both = transitions.and(Transitions::seen(3, [&[0, 1][..]]).unwrap()).unwrap();
    assert!(both.allowed(0, 1) && !both.allowed(1, 1));
    assert!(both.and(Transitions::free(2)).is_err());
}

/// Many labels: 10,000 are checked without a matrix; edges are sparse where few pairs remain.
#[test]
fn many_labels_stay_small() {
    let kinds = |n: usize| {
        let tags = (0..n).flat_map(|i| ["B", "I"].map(|letter| format!("{letter}-{i}")));
        tags.chain(["O".to_owned()]).collect::<Vec<_>>()
    };
    let names = kinds(5000);
    let transitions = Transitions::from_names(&names, Tagging::detect(&names).unwrap());
    assert!(transitions.labels() == 10_001 && transitions.allowed(8, 9) && !transitions.allowed(6, 9));

    let names: Vec<String> =
        (0..40).flat_map(|i| kinds(10).into_iter().map(move |tag| format!("{tag}@{i}"))).collect();
    let labels = names.len();
    let kept = Transitions::from_names_keeping_rest(&names, Tagging::detect(&names).unwrap());
    let edges = kept.constrain(&Edges::dense(labels, vec![0.25f32; labels * labels]).unwrap()).unwrap();
    let Shape::Sparse(sparse) = edges.shape() else { panic!("few classes") };
    // What may come next depends on the intent alone, and nothing at all may come before an `I` but the exceptions.
    assert_eq!((sparse.classes(), sparse.exceptions()), ((40, 41), 40 * 20));
    assert!((0..labels * labels).all(|i| {
        let (p, y) = (i / labels, i % labels);
        sparse.get(1, p, y) == if kept.allowed(p, y) { 0.25 } else { f32::NEG_INFINITY }
    }));

    let names = LabelSet::from_names(&names);
    let few = Transitions::parse("!O@1\tI-*@1\n", "file", &names).unwrap();
    let model = Edges::sparse(labels, 0.0f32, &[0], &[5], &[1.0]).unwrap();
    let edges = few.constrain(&model).unwrap();
    assert!(
        matches!(edges.shape(), Shape::Sparse(edges) if edges.only_base() == Some(0.0) && edges.exceptions() == 11)
    );
    assert!(matches!(Transitions::free(3).constrain(&model), Err(Error::Shape { .. })));
    let half = Transitions::from_names(names.names(), Tagging::detect(names.names()).unwrap());
    let edges = half.constrain(&model).unwrap();
    assert!(matches!(edges.shape(), Shape::Sparse(edges) if edges.classes().0 <= 11));
    assert_eq!(Transitions::free(3).constrain_start::<f32>(None).unwrap(), None);
    assert!(half.constrain_start(Some(&[0.0f32][..])).is_err());
}
