//! Counts worked out by hand, by the rules of `conlleval` and of strict schemes; and laws that hold for any labels.

use crate::common::Random;
use kbest::evaluate::{Evaluation, Hits, Spans, Tally};
use kbest::scheme::{Layout, Piece, Role, Scheme, Side, Tagging};
use kbest::state::{StateReader, StateWriter};

const SCHEMES: [Scheme; 5] = [Scheme::Iob1, Scheme::Iob2, Scheme::Ioe1, Scheme::Ioe2, Scheme::Iobes];

fn spans(how: Spans, labels: &str) -> String {
    let labels: Vec<&str> = labels.split(' ').collect();
    let found = how.find(&labels);
    found.iter().map(|span| format!("{}{}-{}", span.kind, span.start, span.end)).collect::<Vec<_>>().join(" ")
}

fn conlleval(labels: &str) -> String {
    spans(Spans::Conlleval(Layout::default()), labels)
}

fn strict(scheme: Scheme, labels: &str) -> String {
    spans(Spans::Strict(Tagging { scheme, layout: Layout::default() }), labels)
}

#[test]
fn spans_as_conlleval_finds_them() {
    assert_eq!(conlleval("B-X I-X O B-X B-X"), "X0-2 X3-4 X4-5");
    assert_eq!(conlleval("I-X I-X O I-X"), "X0-2 X3-4", "a span may begin with I");
    assert_eq!(conlleval("B-X I-Y I-Y"), "X0-1 Y1-3", "another type, another span");
    assert_eq!(conlleval("I-X B-X I-X"), "X0-1 X1-3");
    assert_eq!(conlleval("I-X E-X E-X I-X"), "X0-2 X2-3 X3-4");
    assert_eq!(conlleval("B-X I-X E-X S-X S-X I-X"), "X0-3 X3-4 X4-5 X5-6");
    assert_eq!(conlleval("B I O B"), "0-2 3-4", "no types at all");
    assert_eq!(conlleval("O NP B-X [PAD] I-X"), "X2-3 X4-5", "anything that is not a tag is outside");
    assert_eq!(conlleval("O"), "");
}

#[test]
fn spans_by_the_letter() {
    assert_eq!(strict(Scheme::Iob2, "B-X I-X O I-X B-X I-Y"), "X0-2 X4-5");
    assert_eq!(strict(Scheme::Iob1, "I-X I-X B-X I-X O B-X"), "X0-2 X2-4");
    assert_eq!(strict(Scheme::Ioe2, "I-X E-X E-X I-X O I-Y E-X"), "X0-2 X2-3 X6-7");
    assert_eq!(strict(Scheme::Ioe1, "I-X E-X I-X O E-X"), "X0-2 X2-3");
    assert_eq!(strict(Scheme::Ioe1, "E-X I-X O"), "X0-1 X1-2");
    assert_eq!(strict(Scheme::Iobes, "B-X I-X E-X S-X B-X E-Y B-X I-X O E-X"), "X0-3 X3-4");
    assert_eq!(strict(Scheme::Iobes, "B-X L-X U-Y M-X"), "X0-2 Y2-3", "the letters of all related schemes");
}

#[test]
fn runs_need_no_scheme() {
    let found = spans(Spans::Runs, "Street Street O O City City State City");
    assert_eq!(found, "Street0-2 City4-6 State6-7 City7-8");
}

#[test]
fn other_layouts() {
    let suffix = Layout { side: Side::Suffix, ..Layout::default() };
    assert_eq!(spans(Spans::Conlleval(suffix), "X-B X-I O Y-I"), "X0-2 Y3-4");
    let joint = Layout { piece: Piece::Last('|'), ..Layout::default() };
    assert_eq!(spans(Spans::Conlleval(joint), "DT|B-NP NN|I-NP .|O"), "NP0-2");
    assert_eq!(Spans::detect(["DT|B-NP", "NN|I-NP", ".|O"]), Some(Spans::Conlleval(joint)));
    assert_eq!(Spans::detect(["NOUN", "VERB"]), None);
}

/// Two sentences worked out by hand. First: gold spans X0-2 Y3-4, predicted X0-2 (right) Z3-4 (wrong type).
/// Second: gold Y0-1 X1-3, predicted Y0-1 (right) X1-2 (too short).
#[test]
fn counts_by_hand() {
    let mut evaluation = Evaluation::new(Some(Spans::Conlleval(Layout::default())));
    let first = (["B-X", "I-X", "O", "B-Y"], ["B-X", "I-X", "O", "B-Z"]);
    let second = (["B-Y", "B-X", "I-X"], ["I-Y", "B-X", "O"]);
    evaluation.add_knowing(&first.0, &first.1, &[false, false, false, true]).unwrap();
    evaluation.add_knowing(&second.0, &second.1, &[true, true, false]).unwrap();
    evaluation.add(&["O"], &["O"]).unwrap();

    assert_eq!(evaluation.tokens(), Hits { right: 5, all: 8 });
    assert_eq!(evaluation.sequences(), Hits { right: 1, all: 3 });
    assert_eq!(evaluation.unknown(), Some(Hits { right: 1, all: 3 }));
    let table = evaluation.spans().unwrap();
    assert_eq!(table.all, Tally { gold: 4, predicted: 4, right: 2 });
    let rows: Vec<_> = table.rows.iter().map(|row| (row.name, row.tally)).collect();
    let tally = |gold, predicted, right| Tally { gold, predicted, right };
    assert_eq!(rows, [("X", tally(2, 2, 1)), ("Y", tally(2, 1, 1)), ("Z", tally(0, 1, 0))]);
    assert_eq!((rows[1].1.precision(), rows[1].1.recall(), rows[1].1.f1()), (1.0, 0.5, 2.0 / 3.0));
    assert_eq!((rows[2].1.precision(), rows[2].1.recall(), rows[2].1.f1()), (0.0, 0.0, 0.0));

    let labels: Vec<_> = evaluation.labels().iter().map(|row| (row.name, row.tally)).collect();
    let expected = [
        ("B-X", tally(2, 2, 2)),
        ("B-Y", tally(2, 0, 0)),
        ("I-X", tally(2, 1, 1)),
        ("O", tally(2, 3, 2)),
        ("B-Z", tally(0, 1, 0)),
        ("I-Y", tally(0, 1, 0)),
    ];
    assert_eq!(labels, expected);
    let macro_f1 = (1.0 + 0.0 + 2.0 / 3.0 + 4.0 / 5.0) / 4.0;
    assert!((evaluation.macro_f1() - macro_f1).abs() < 1e-12);
    let errors: Vec<_> = evaluation.confusions(2).iter().map(|c| (c.gold, c.predicted, c.count)).collect();
    assert_eq!(errors, [("B-Y", "B-Z", 1), ("B-Y", "I-Y", 1)]);

    let text = evaluation.report(3, 1).to_string();
    for part in
        ["tokens     62.50 %  (5 of 8)", "unknown    33.33 %", "all spans", "(3 more)", "1  B-Y -> B-Z"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn bad_lengths_count_nothing() {
    let mut evaluation = Evaluation::new(None);
    assert!(evaluation.add(&["A"], &["A", "B"]).is_err());
    assert!(evaluation.add_knowing(&["A"], &["A"], &[]).is_err());
    assert_eq!((evaluation.tokens(), evaluation.spans()), (Hits::default(), None));
    assert_eq!((evaluation.tokens().share(), evaluation.macro_f1()), (0.0, 0.0));
    assert!(evaluation.merge(&Evaluation::new(Some(Spans::Runs))).is_err());
    evaluation.add::<&str, &str>(&[], &[]).unwrap();
    assert_eq!(evaluation.sequences(), Hits { right: 1, all: 1 }, "nothing in it is wrong");
}

fn random_labels(random: &mut Random, letters: &str, length: usize) -> Vec<String> {
    let letters: Vec<char> = letters.chars().collect();
    (0..length)
        .map(|_| match letters[random.below(letters.len())] {
            'O' => "O".to_owned(),
            letter => format!("{letter}-{}", ["X", "Y"][random.below(2)]),
        })
        .collect()
}

#[test]
fn parts_join_to_the_whole() {
    let mut random = Random::new(1);
    let how = Some(Spans::Conlleval(Layout::default()));
    let (mut whole, mut one, mut other) = (Evaluation::new(how), Evaluation::new(how), Evaluation::new(how));
    for i in 0..200 {
        let length = random.below(8);
        let (gold, predicted) =
            (random_labels(&mut random, "OBI", length), random_labels(&mut random, "OBI", length));
        let unknown: Vec<bool> = (0..length).map(|_| random.chance(0.3)).collect();
        let part = if i % 3 == 0 { &mut one } else { &mut other };
        part.add_knowing(&gold, &predicted, &unknown).unwrap();
        whole.add_knowing(&gold, &predicted, &unknown).unwrap();
    }
    // By way of bytes, as from another machine.
    let mut state = StateWriter::new();
    other.save(&mut state);
    let bytes = state.into_bytes();
    let mut state = StateReader::new(&bytes);
    one.merge(&Evaluation::restore(how, &mut state).unwrap()).unwrap();
    assert!(state.is_done());
    for end in 0..bytes.len() {
        assert!(Evaluation::restore(how, &mut StateReader::new(&bytes[..end])).is_err(), "{end} bytes");
    }
    assert_eq!((one.tokens(), one.unknown()), (whole.tokens(), whole.unknown()));
    assert_eq!(one.report(99, 99).to_string(), whole.report(99, 99).to_string());
}

/// Where labels obey the scheme, there is only one way to read them.
#[test]
fn valid_labels_read_the_same_either_way() {
    let mut random = Random::new(2);
    for scheme in SCHEMES {
        let tagging = Tagging { scheme, layout: Layout::default() };
        let mut valid = 0;
        for _ in 0..20_000 {
            let length = 1 + random.below(6);
            let labels = random_labels(&mut random, "OBIES", length);
            let tags: Vec<_> = labels.iter().map(|label| tagging.layout.read(label).unwrap()).collect();
            let roles = tags.iter().map(|tag| (tag.role, tag.kind)).chain([(Role::Outside, "")]);
            let mut before = (Role::Outside, "");
            let obeys = roles.clone().all(|tag| {
                let ok = scheme.has(tag.0) && scheme.allows(before.0, tag.0, before.1 == tag.1);
                before = tag;
                ok
            });
            if obeys {
                valid += 1;
                let lenient = Spans::Conlleval(tagging.layout).find(&labels);
                assert_eq!(Spans::Strict(tagging).find(&labels), lenient, "{scheme} {labels:?}");
            }
        }
        assert!(valid > 200, "{scheme}: {valid}");
    }
}
