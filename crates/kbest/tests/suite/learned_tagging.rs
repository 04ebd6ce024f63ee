//! Taggers learn which engine is fastest, for one path and for several, with few labels and with so many that decoders look at blocks
//! of them: imported models crossed with constraints, known labels and threads. Whatever was learned, the paths are those of
//! plain Viterbi, to the last label.

use kbest::decode::Viterbi;
use kbest::model::import;
use kbest::random::Random;
use kbest::transition::Transitions;
use kbest::{Decoded, Decoder, Error, LabelId, Model, Path, Sequence, Tagger};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

const WORDS: usize = 12;
const PATHS: [usize; 3] = [1, 5, 20];

/// A model of CRF++ with whole weights: ties are frequent, and their sums are exact. Most edges are equal.
fn imported(labels: usize, random: &mut Random) -> Arc<Model> {
    let weights = WORDS * labels + labels * labels;
    let mut text = format!("version: 100\ncost-factor: 1\nmaxid: {weights}\nxsize: 1\n\n");
    (0..labels).for_each(|y| writeln!(text, "L{y:03}").unwrap());
    text += "\nU:%x[0,0]\nB\n\n";
    (0..WORDS).for_each(|word| writeln!(text, "{} U:w{word}", word * labels).unwrap());
    writeln!(text, "{} B\n", WORDS * labels).unwrap();
    for word in 0..WORDS {
        let strength = [2.0, 5.0, 12.0][word % 3];
        (0..labels).for_each(|_| writeln!(text, "{}", (strength * random.normal()).round()).unwrap());
    }
    for _ in 0..labels * labels {
        let weight = if random.below(10) == 0 { (3.0 * random.normal()).round() } else { 0.0 };
        writeln!(text, "{weight}").unwrap();
    }
    Arc::new(import::crfpp(text.as_bytes(), "model").unwrap())
}

/// An input, the labels known of it, and its paths by number of paths; none if there are none.
struct Case {
    input: Sequence,
    known: Vec<Option<LabelId>>,
    expected: Vec<Option<Vec<Path<f32>>>>,
}

fn decode(tagger: &mut Tagger<Model>, case: &Case, k: usize) -> Option<Decoded<f32>> {
    match tagger.tag_known(&case.input, &case.known, k) {
        Err(Error::NoPath) => None,
        tagged => Some(tagged.unwrap().decoded.clone()),
    }
}

/// Each case is tagged so many times that several engines have their turn.
fn tag_again_and_again(labels: usize, cases: usize, rounds: usize) {
    let random = &mut Random::new(labels as u64);
    let model = imported(labels, random);
    let rules = "*\t*\n*\t$\n^\t*\n!L00*\tL01*\n!L02*\tL0*\nL*1\tL*2\t2\n!^\tL*7\n";
    let rules = Transitions::parse(rules, "rules", model.labels()).unwrap();
    let mut engines = PATHS.map(|_| BTreeSet::new()); // that answered, by number of paths
    for rules in [None, Some(&rules)] {
        let tagger = || match rules {
            Some(rules) => Tagger::new(model.clone()).with_transitions(rules).unwrap(),
            None => Tagger::new(model.clone()),
        };
        let (mut plain, mut learning) = (tagger().with_decoder(Decoder::from(Viterbi)), tagger());
        let mut all = Vec::new();
        for i in 0..cases {
            let mut input = Sequence::new();
            let length = 1 + random.below(9);
            (0..length).for_each(|_| input.push(&[format!("w{}", random.below(WORDS))]));
            let mut known = vec![None; length];
            if i % 3 == 0 {
                known[random.below(length)] = Some(random.below(labels) as LabelId);
            }
            let mut case = Case { input, known, expected: vec![] };
            case.expected =
                PATHS.iter().map(|&k| decode(&mut plain, &case, k).map(|found| found.paths)).collect();
            all.push(case);
        }
        assert!(all.iter().any(|case| case.expected[0].is_some()));
        for round in 0..rounds {
            for (i, case) in all.iter().enumerate() {
                let which = (round + i) % PATHS.len();
                let found = decode(&mut learning, case, PATHS[which]);
                engines[which].extend(found.as_ref().map(|found| found.decoder));
                let found = found.map(|found| found.paths);
                assert!(found == case.expected[which], "{labels} labels, round {round}, case {i}");
            }
        }
        // The same without known labels, by threads that learn apart.
        let free: Vec<&Case> = all.iter().filter(|case| case.known.iter().all(Option::is_none)).collect();
        for (which, &k) in PATHS.iter().enumerate() {
            let inputs = (0..rounds).flat_map(|_| free.iter().map(|case| Ok(case.input.clone())));
            let expected = free.iter().cycle().map(|case| &case.expected[which]);
            let all: Vec<_> = learning.par_tag(inputs, k, 3).collect();
            assert_eq!(all.len(), rounds * free.len());
            for (tagged, expected) in all.into_iter().zip(expected) {
                let (_, tagged) = tagged.unwrap();
                assert!(
                    Some(&tagged.decoded.paths) == expected.as_ref(),
                    "{labels} labels, threads, {k} paths"
                );
                engines[which].insert(tagged.decoded.decoder);
            }
        }
    }
    assert!(engines.iter().any(|names| names.len() > 1), "only {engines:?} answered");
}

#[test]
fn few_labels() {
    tag_again_and_again(60, 30, 60);
}

#[test]
fn blocks_of_labels() {
    tag_again_and_again(860, 9, 24);
}
