//! Every kind of model, of positions and of segments, crossed with every option of the tagger: constraints, known labels, number
//! of paths, confidences, votes, threads.
//!
//! Five labels and up to four positions have at most 625 paths, and segments hardly more. The oracle lists the answers of the
//! unconstrained lattice, adds the transition scores, removes those that are not allowed and sorts: it knows nothing about how a
//! tagger does it. Weights are whole numbers, so sums are exact and ties frequent. Votes are counted over models made
//! from each member's own weights.

use crate::common::enumerate;
use crate::segment_models::{self, IOB2, IOBES, RUNS, segmentations};
use kbest::feature::boolean::{BooleanFeatures, Observation};
use kbest::feature::token::StandardKernel;
use kbest::feature::{FeatureSource, Preset};
use kbest::marginal::Calibration;
use kbest::model::{
    BooleanModel, EdgeWeight, EdgeWeights, LabelGroups, LabelParts, ModelParts, NodeWeightsBuilder, Voters,
};
use kbest::random::Random;
use kbest::scheme::KnownTag;
use kbest::scoring::Scorer;
use kbest::segment::{Segment, SegmentLattice, Segmentation};
use kbest::state::{StateReader, StateWriter};
use kbest::train::{
    Averaging, BooleanExample, BooleanTrainingSet, DualOptions, DualTrainingSet, Hmm, HmmOptions, Perceptron,
    PerceptronOptions, Trainer, TrainingSet, Update,
};
use kbest::transition::Transitions;
use kbest::{
    Decoder, Error, LabelId, LabelSet, Lattice, Model, Path, Positions, SegmentModel, Segments, Sequence,
    Structure, Tagged, Tagger, Template,
};
use std::cmp::Ordering;
use std::sync::Arc;

const ALL: usize = 700;
const NAMES: [&str; 5] = ["O|s", "B-X|s", "I-X|p", "B-Y|p", "I-Y|s"];
const WORDS: [&str; 6] = ["in", "old", "york", "bank", "now", "new"];

/// A model, some inputs, and, if it votes, one model per member with its votes.
pub(crate) struct Kind<M: Scorer<Structure: Crossed>> {
    pub(crate) name: String,
    pub(crate) model: Arc<M>,
    labels: LabelSet,
    pub(crate) inputs: Vec<M::Input>,
    members: Vec<(Arc<M>, u32)>,
}

/// Sequences whose labels depend on words, on neighbours and on chance, so that errors never end.
fn sequences(count: usize, valued: bool) -> Vec<Sequence> {
    let random = &mut Random::new(5);
    let sequence = |_| {
        let mut sequence = Sequence::new();
        let mut last = 0;
        for _ in 0..1 + random.below(4) {
            let word = random.below(WORDS.len());
            last = if random.below(3) == 0 { random.below(5) } else { (word + last) % 5 };
            sequence.push_position();
            let value = if valued { [1.0, 2.0, 0.5][random.below(3)] } else { 1.0 };
            sequence.push_valued_cell(WORDS[word], value);
            sequence.set_label(NAMES[last]);
        }
        sequence
    };
    (0..count).map(sequence).collect()
}

/// A perceptron after a few passes: full of mistakes.
fn trained(source: FeatureSource, parts: bool, averaging: Averaging) -> Model {
    let valued = source == FeatureSource::Items;
    let data = TrainingSet::new(&sequences(60, valued), source, 1).unwrap().with_label_parts(parts);
    assert_eq!(data.label_parts().is_some(), parts);
    learned(data, averaging)
}

fn learned(data: TrainingSet, averaging: Averaging) -> Model {
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options).unwrap();
    (0..4).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    trainer.model().unwrap()
}

/// A model of rows; if it votes, each member as a separate model.
pub(crate) fn rows(name: &str, source: FeatureSource, parts: bool, averaging: Averaging) -> Kind<Model> {
    let valued = source == FeatureSource::Items;
    let model = trained(source, parts, averaging);
    let members = model.voters().map_or(vec![], |voters| {
        let member = |(i, &votes): (usize, &u32)| (Arc::new(member_of_rows(&model, voters, i as u32)), votes);
        voters.votes().iter().enumerate().map(member).collect()
    });
    let labels = model.labels().clone();
    let name = format!("{name}, {averaging:?}");
    Kind { name, model: Arc::new(model), labels, inputs: sequences(12, valued), members }
}

/// The weights after all changes up to a member's.
fn member_of_rows(model: &Model, voters: &Voters, member: u32) -> Model {
    let labels = model.labels().len();
    let columns = model.label_parts().map_or(labels, LabelParts::columns);
    let mut nodes = NodeWeightsBuilder::new(columns);
    for feature in 0..model.nodes().features() as u32 {
        let mut row = vec![0.0; columns];
        let changes = voters.node_changes(feature).iter().filter(|change| change.member <= member);
        changes.for_each(|change| row[change.label as usize] += change.by);
        nodes.push((0..).zip(row)).unwrap();
    }
    let pairs = |feature: u32| {
        let mut matrix = vec![0.0; labels * labels];
        let changes = voters.edge_changes(feature).iter().filter(|change| change.member <= member);
        changes.for_each(|change| matrix[change.from as usize * labels + change.to as usize] += change.by);
        let place = |i: u32| (i / labels as u32, i % labels as u32);
        let pair = |(i, weight): (u32, f32)| EdgeWeight { from: place(i).0, to: place(i).1, weight };
        (0..).zip(matrix).map(pair).collect::<Vec<_>>()
    };
    let edges = EdgeWeights::new(labels, (0..model.edges().features() as u32).map(pairs)).unwrap();
    let parts = ModelParts::new(model.labels().clone(), model.extractor().clone(), nodes.finish(), edges);
    Model::new(ModelParts { label_parts: model.label_parts().cloned(), ..parts }).unwrap()
}

/// A hidden Markov model, whose lattices have start and end scores.
pub(crate) fn hidden() -> Kind<Model> {
    let data = TrainingSet::new(&sequences(60, false), FeatureSource::Preset(Preset::Hmm), 1).unwrap();
    let mut trainer = Hmm::new(Arc::new(data), HmmOptions::default()).unwrap();
    trainer.epoch(&mut |_| ()).unwrap();
    let model = trainer.model().unwrap();
    assert!(model.start().is_some() && model.end().is_some());
    let labels = model.labels().clone();
    Kind { name: "hmm".into(), model: Arc::new(model), labels, inputs: sequences(12, false), members: vec![] }
}

/// Support tokens and a kernel; whole numbers if the kernel is polynomial and the coefficients are the last ones.
pub(crate) fn dual(kernel: &str, averaging: Averaging) -> Kind<Model> {
    let data = TrainingSet::new(&sequences(60, false), template(SHARED), 1).unwrap();
    let parsed = Arc::new(kernel.parse::<StandardKernel>().unwrap());
    let data = DualTrainingSet::new(Arc::new(data), parsed, DualOptions::default()).unwrap();
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options).unwrap();
    (0..4).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    let model = trainer.model().unwrap();
    let model = Model::from_bytes(&model.to_bytes().unwrap(), "saved").unwrap();
    assert!(model.support().is_some() && model.start().is_some());
    let labels = model.labels().clone();
    let name = format!("dual, {kernel}, {averaging:?}");
    Kind { name, model: Arc::new(model), labels, inputs: sequences(12, false), members: vec![] }
}

fn boolean(observed: bool, averaging: Averaging) -> Kind<BooleanModel<[usize]>> {
    let mut features = BooleanFeatures::<[usize]>::new(5);
    features.vertical_set(30, |x, t, y| Some(x[t] * 5 + y as usize));
    features.vertical(|x, t, y| t + 1 < x.len() && x[t + 1] == y as usize);
    features.transition(|p, y| (p + y).is_multiple_of(2));
    features.label_bigrams();
    if observed {
        features.horizontal(|x, t, p, y| x[t] == x[t - 1] && p == y);
        features.horizontal_set(3, |x, t, p, y| Some((x[t] + (p * y) as usize) % 4));
    }
    let features = Arc::new(features);
    let labels = LabelSet::from_names(NAMES);
    let number = |sequence: &Sequence, t: usize| {
        WORDS.iter().position(|&word| Some(word) == sequence.cell(t, 0)).unwrap()
    };
    let example = |sequence: &Sequence| {
        let words: Vec<usize> = (0..sequence.len()).map(|t| number(sequence, t)).collect();
        let gold = (0..sequence.len()).map(|t| labels.id(sequence.label(t).unwrap()).unwrap()).collect();
        let observation = Observation::new(words, sequence.len());
        BooleanExample { observation, gold, weight: 1.0 }
    };
    let examples: Vec<_> = sequences(60, false).iter().map(example).collect();
    let inputs = examples.iter().take(12).map(|example| example.observation.clone()).collect();
    let data = BooleanTrainingSet::new(features.clone(), examples).unwrap();
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options).unwrap();
    (0..4).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    let model = trainer.model().unwrap();
    let model = BooleanModel::from_bytes(&model.to_bytes(), "saved", features.clone()).unwrap();
    let members = model.voters().map_or(vec![], |voters| {
        let member = |(i, &votes): (usize, &u32)| {
            let mut weights = vec![0.0f32; features.len()];
            for feature in 0..features.len() as u32 {
                let changes = voters.node_changes(feature).iter().filter(|change| change.member <= i as u32);
                changes.for_each(|change| weights[feature as usize] += change.by);
            }
            (Arc::new(BooleanModel::new(features.clone(), weights).unwrap()), votes)
        };
        voters.votes().iter().enumerate().map(member).collect()
    });
    let name = format!("boolean, observed: {observed}, {averaging:?}");
    Kind { name, model: Arc::new(model), labels, inputs, members }
}

/// What the oracle must know of a structure.
pub(crate) trait Crossed: Structure {
    /// Decoders: two that find any number of answers, and one that finds only the best.
    const DECODERS: [&'static str; 3];

    /// Every legal answer of a lattice.
    fn all(lattice: &Self::Lattice<'_, f32>) -> Vec<Self::Path<f32>>;

    /// The order of answers with equal scores.
    fn tie(one: &[Self::Part], other: &[Self::Part]) -> Ordering;

    /// Rules that forbid, and rules that score.
    fn rules(labels: &LabelSet) -> [String; 2];

    /// Something that may be known of a position.
    fn something(i: usize, labels: usize) -> Self::Known;

    /// Whether it is so of position `t`.
    fn holds(known: Self::Known, t: usize, answer: &[Self::Part]) -> bool;

    /// How sure each part of an answer must be, and the distributions, by the probabilities of the answers that are left.
    fn check_confidences(
        tagged: &Tagged<Self>,
        left: &[(Self::Path<f32>, f64)],
        calibration: Option<&Calibration>,
        place: &str,
    );
}

impl Crossed for Positions {
    const DECODERS: [&'static str; 3] = ["viterbi", "funnel", "viterbi-simd"];

    fn all(lattice: &Lattice<'_, f32>) -> Vec<Path<f32>> {
        enumerate(lattice)
    }

    fn tie(one: &[LabelId], other: &[LabelId]) -> Ordering {
        one.iter().rev().cmp(other.iter().rev())
    }

    fn rules(_: &LabelSet) -> [String; 2] {
        [
            "!O|s\tI-*\n!*X*\tI-Y|s\n!*Y*\tI-X|p\n!^\tI-*\n".into(),
            "*\t*\nB-X|s\tI-X|p\t2\nI-*\tO|s\t-3\n^\tB-*\nB-X|s\t$\t4\n*\t$\n!I-Y|s\tI-Y|s\n".into(),
        ]
    }

    fn something(i: usize, labels: usize) -> LabelId {
        (i % labels) as LabelId
    }

    fn holds(known: LabelId, t: usize, answer: &[LabelId]) -> bool {
        answer[t] == known
    }

    /// The curve acts on the likeliest label of each position.
    fn check_confidences(
        tagged: &Tagged,
        left: &[(Path<f32>, f64)],
        calibration: Option<&Calibration>,
        place: &str,
    ) {
        for t in 0..left[0].0.labels.len() {
            let share = |y: usize| -> f64 {
                left.iter().filter(|(path, _)| path.labels[t] as usize == y).map(|(_, p)| p).sum()
            };
            let mut row: Vec<f64> = (0..5).map(share).collect();
            if let Some(calibration) = calibration.filter(|calibration| !calibration.curve().is_empty()) {
                let mut order: Vec<usize> = (0..5).collect();
                order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
                let (first, second) = (row[order[0]], row[order[1]]);
                if first - second < 1e-6 {
                    continue; // which of them is the likeliest, rounding decides
                }
                let rest: f64 = order[1..].iter().map(|&y| row[y]).sum();
                let sure =
                    if rest == 0.0 { 1.0 } else { calibration.at(first).max(second / (rest + second)) };
                for &y in &order[1..] {
                    row[y] *= if rest == 0.0 { 0.0 } else { (1.0 - sure) / rest };
                }
                row[order[0]] = sure;
            }
            for (y, expected) in row.iter().enumerate() {
                assert!((tagged.distributions[t * 5 + y] - expected).abs() < 1e-5, "{place}");
            }
            for (rank, path) in tagged.decoded.paths.iter().enumerate().take(3) {
                let expected = row[path.labels[t] as usize];
                assert!((tagged.confidences[rank][t] - expected).abs() < 1e-5, "{place}");
            }
        }
    }
}

impl Crossed for Segments {
    const DECODERS: [&'static str; 3] = ["semi-viterbi", "semi-funnel", "semi-astar"];

    fn all(lattice: &SegmentLattice<'_, f32>) -> Vec<Segmentation<f32>> {
        segmentations(lattice)
    }

    fn tie(one: &[Segment], other: &[Segment]) -> Ordering {
        let key = |part: &Segment| (part.label, part.end - part.start);
        one.iter().rev().map(key).cmp(other.iter().rev().map(key))
    }

    fn rules(labels: &LabelSet) -> [String; 2] {
        let [one, other] = [0, 1].map(|y| labels.name(y).unwrap());
        [
            format!("!{one}\t{other}\n!^\t{other}\n"),
            format!(
                "*\t*\n{one}\t{other}\t2\n{other}\t{one}\t-3\n^\t*\n{one}\t$\t4\n*\t$\n!{other}\t{other}\n"
            ),
        ]
    }

    fn something(i: usize, labels: usize) -> KnownTag {
        let there = |i: usize| [None, Some(true), Some(false)][i % 3];
        KnownTag { label: (i % labels) as LabelId, begins: there(i), ends: there(i / 3) }
    }

    fn holds(known: KnownTag, t: usize, answer: &[Segment]) -> bool {
        let part = answer.iter().find(|part| part.end > t).unwrap();
        let is_so = |known: Option<bool>, it_is: bool| known.is_none_or(|known| known == it_is);
        part.label == known.label
            && is_so(known.begins, part.start == t)
            && is_so(known.ends, part.end == t + 1)
    }

    /// The curve acts on each segment.
    fn check_confidences(
        tagged: &Tagged<Segments>,
        left: &[(Segmentation<f32>, f64)],
        calibration: Option<&Calibration>,
        place: &str,
    ) {
        let sum = |with: &dyn Fn(&Segment) -> bool| -> f64 {
            left.iter().filter(|(found, _)| found.segments.iter().any(with)).map(|(_, p)| p).sum()
        };
        for (rank, one) in tagged.decoded.paths.iter().enumerate().take(3) {
            for (part, sure) in one.segments.iter().zip(&tagged.confidences[rank]) {
                let share = sum(&|other| other == part);
                let certain = left.iter().all(|(found, _)| found.segments.contains(part));
                if !certain && share > 1.0 - 1e-9 {
                    continue; // whether it is as good as certain, rounding decides
                }
                let expected = match calibration {
                    Some(calibration) if !certain => calibration.at(share),
                    _ => share,
                };
                assert!((sure - expected).abs() < 1e-4, "{place}: {sure}, not {expected} ({share})");
            }
        }
        let positions = Segments::positions(&left[0].0.segments);
        let labels = tagged.distributions.len() / positions;
        for (i, found) in tagged.distributions.iter().enumerate() {
            let (t, y) = (i / labels, (i % labels) as LabelId);
            let share = sum(&|part| part.label == y && (part.start..part.end).contains(&t));
            assert!((found - share).abs() < 1e-4, "{place}");
        }
    }
}

/// What is known of each position.
type Known<St> = [Option<<St as Structure>::Known>];

/// The answers of a model with this structure.
type Paths<St> = Vec<<St as Structure>::Path<f32>>;

/// All answers for an input that are allowed, best first.
fn allowed_paths<M: Scorer<Structure = St>, St: Crossed>(
    model: &M,
    input: &M::Input,
    transitions: Option<&Transitions>,
    known: &Known<St>,
) -> Paths<St> {
    let mut memory = M::Memory::default();
    let lattice = model.lattice(input, &mut memory).unwrap();
    let mut paths = St::all(&lattice);
    paths.retain(|path| {
        let mut each = known.iter().enumerate();
        each.all(|(t, known)| known.is_none_or(|known| St::holds(known, t, path.as_ref())))
    });
    if let Some(transitions) = transitions {
        for path in &mut paths {
            let labels: Vec<usize> = path.as_ref().iter().map(|&part| St::label(part) as usize).collect();
            let mut score = St::score_of(path);
            if let (Some(&first), Some(&last)) = (labels.first(), labels.last()) {
                score += transitions.start(first) + transitions.end(last);
                score += labels.windows(2).map(|two| transitions.score(two[0], two[1])).sum::<f32>();
            }
            *path = St::path(path.as_ref().to_vec(), score);
        }
        paths.retain(|path| St::score_of(path) > f32::NEG_INFINITY);
    }
    paths.sort_by(|a, b| {
        let by_score = St::score_of(b).partial_cmp(&St::score_of(a)).unwrap();
        by_score.then_with(|| St::tie(a.as_ref(), b.as_ref()))
    });
    paths
}

/// The answers that members vote for, with their shares.
fn votes<M: Scorer<Structure = St>, St: Crossed>(
    kind: &Kind<M>,
    input: &M::Input,
    transitions: Option<&Transitions>,
    known: &Known<St>,
) -> Paths<St> {
    let mut ballots: Vec<(Vec<St::Part>, u64)> = Vec::new();
    for (member, votes) in kind.members.iter().filter(|(_, votes)| *votes > 0) {
        let Some(path) = allowed_paths(&**member, input, transitions, known).into_iter().next() else {
            return vec![];
        };
        match ballots.iter_mut().find(|(parts, _)| *parts == path.as_ref()) {
            Some((_, sum)) => *sum += u64::from(*votes),
            None => ballots.push((path.as_ref().to_vec(), u64::from(*votes))),
        }
    }
    let all: u64 = ballots.iter().map(|(_, votes)| votes).sum();
    ballots.sort_by_key(|&(_, votes)| std::cmp::Reverse(votes));
    let path = |(parts, votes)| St::path(parts, (votes as f64 / all as f64) as f32);
    ballots.into_iter().map(path).collect()
}

/// `whole`: scores are sums of whole numbers, so that orders and ties are exact.
fn cross<M: Scorer<Structure = St>, St: Crossed>(kind: &Kind<M>, whole: bool) {
    let voted = !kind.members.is_empty();
    assert!(!voted || kind.members.len() > 130, "{}: threads need members", kind.name);
    let [forbidding, scoring] = St::rules(&kind.labels);
    let parse = |text: &str| Transitions::parse(text, "transitions", &kind.labels).unwrap();
    let constraints = [None, Some(parse(&forbidding)), Some(parse(&scoring))];
    let [any, other, single] = St::DECODERS;
    let mut answered = [0; 3];
    for (c, transitions) in constraints.iter().enumerate() {
        for (i, input) in kind.inputs.iter().enumerate() {
            let positions = M::positions(input);
            let mut some = vec![None; positions];
            some[i % positions] = Some(St::something(i, kind.labels.len()));
            for known in [vec![None; positions], some] {
                let left = allowed_paths(&*kind.model, input, transitions.as_ref(), &known);
                let expected = match voted {
                    true => votes(kind, input, transitions.as_ref(), &known),
                    false => left.clone(),
                };
                let curve = vec![(0.2, 0.05), (0.45, 0.5), (0.8, 0.85), (0.97, 0.9)];
                let calibrated = Calibration::new(3.5, curve).unwrap();
                for (decoder, threads, confidences, calibration) in [
                    ("auto", 1, true, None),
                    (any, 3, false, None),
                    (other, 2, true, Some(calibrated)),
                    ("auto", 1, true, Some(Calibration::new(0.5, vec![]).unwrap())),
                    (single, 1, false, None),
                ] {
                    let place = format!("{}, constraint {c}, input {i}, {known:?}, {decoder}", kind.name);
                    let decoder = Decoder::by_name(decoder).unwrap();
                    let mut tagger = Tagger::new(kind.model.clone())
                        .with_decoder(decoder.clone())
                        .with_confidences(confidences)
                        .with_distributions(confidences)
                        .with_calibration(calibration.clone())
                        .with_threads(threads);
                    if let Some(transitions) = transitions {
                        tagger = tagger.with_transitions(transitions).unwrap();
                    }
                    let mut tagger = tagger.another(); // keeps all options
                    for k in [1, 3, ALL] {
                        if decoder.supports_on(St::LATTICES, k).is_err() {
                            continue;
                        }
                        let tagged = match tagger.tag_known(input, &known, k) {
                            Err(Error::NoPath) => {
                                assert!(expected.is_empty(), "{place}: no path");
                                continue;
                            }
                            tagged => tagged.unwrap(),
                        };
                        answered[c] += 1;
                        compare::<St>(&tagged.decoded.paths, &expected, k, whole || voted, &place);
                        if !voted {
                            check_scores(tagged, &left, &place);
                        }
                        assert!(tagged.decoded.exact && !tagged.decoded.decoder.is_empty(), "{place}");
                        assert_eq!(
                            tagged.confidences.len(),
                            if confidences { tagged.decoded.paths.len() } else { 0 }
                        );
                        if confidences {
                            check_probabilities(tagged, &left, calibration.as_ref(), &place);
                        }
                    }
                }
            }
        }
    }
    assert!(answered.iter().all(|&answers| answers > 100), "{}: {answered:?}", kind.name);
}

/// The first `k` of the answers expected.
fn compare<St: Crossed>(got: &Paths<St>, expected: &Paths<St>, k: usize, exact: bool, place: &str) {
    assert_eq!(got.len(), expected.len().min(k), "{place}");
    if exact {
        assert_eq!(got[..], expected[..got.len()], "{place}");
    }
    for (got, expected) in got.iter().zip(expected) {
        let [got, expected] = [got, expected].map(St::score_of);
        assert!((got - expected).abs() < 1e-3, "{place}: {got} {expected}");
    }
}

/// Answers and scores belong together, whatever order rounding leaves near ties in.
fn check_scores<St: Crossed>(tagged: &Tagged<St>, left: &Paths<St>, place: &str) {
    for path in &tagged.decoded.paths {
        let own = left.iter().find(|other| other.as_ref() == path.as_ref());
        let own = own.unwrap_or_else(|| panic!("{place}: {path:?} is not allowed"));
        assert!((St::score_of(own) - St::score_of(path)).abs() < 1e-3, "{place}: {path:?}, {own:?}");
    }
}

/// Probabilities are those of the remaining answers, under the scores of the (last) model, divided by the temperature.
fn check_probabilities<St: Crossed>(
    tagged: &Tagged<St>,
    left: &Paths<St>,
    calibration: Option<&Calibration>,
    place: &str,
) {
    let best = f64::from(St::score_of(&left[0]));
    let temperature = calibration.map_or(1.0, Calibration::temperature);
    let weight = |path: &St::Path<f32>| ((f64::from(St::score_of(path)) - best) / temperature).exp();
    let all: f64 = left.iter().map(weight).sum();
    let left: Vec<_> = left.iter().map(|path| (path.clone(), weight(path) / all)).collect();
    for (rank, path) in tagged.decoded.paths.iter().enumerate().take(3) {
        let (_, own) = left.iter().find(|(other, _)| other.as_ref() == path.as_ref()).unwrap();
        assert!((tagged.probabilities[rank] - own).abs() < 1e-5, "{place}");
    }
    St::check_confidences(tagged, &left, calibration, place);
}

pub(crate) fn template(text: &str) -> FeatureSource {
    FeatureSource::Template(Template::parse(text, "template").unwrap())
}

pub(crate) const SHARED: &str = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n";
pub(crate) const OBSERVED: &str = "U0:%x[0,0]\nB\nB0:%x[0,0]\n";

#[test]
fn rows_with_shared_edges() {
    cross(&rows("shared", template(SHARED), false, Averaging::Final), true);
    cross(&rows("shared", template(SHARED), false, Averaging::Voted), true);
}

#[test]
fn rows_with_edges_that_look_at_the_input() {
    cross(&rows("observed", template(OBSERVED), false, Averaging::Final), true);
    cross(&rows("observed", template(OBSERVED), false, Averaging::Voted), true);
}

#[test]
fn rows_with_label_parts() {
    for template_text in [SHARED, OBSERVED] {
        cross(&rows("parts", template(template_text), true, Averaging::Final), true);
        cross(&rows("parts", template(template_text), true, Averaging::Voted), true);
    }
}

/// Weights between types and between numbers of neighbouring labels.
fn agreeing(text: &str, parts: bool) -> Kind<Model> {
    let data = TrainingSet::new(&sequences(60, false), template(text), 1).unwrap().with_label_parts(parts);
    let name = |name: &str| name.to_owned();
    let groups =
        vec![(name("type"), vec![name("X"), name("Y")]), (name("number"), vec![name("s"), name("p")])];
    let values = data.labels().names().flat_map(|label| {
        let kind = if label.contains("-X") { 1 } else { 2 * u32::from(label.contains("-Y")) };
        [kind, if label.ends_with('s') { 1 } else { 2 }]
    });
    let groups = LabelGroups::new(data.labels().len(), groups, values.collect()).unwrap();
    let model = learned(data.with_agreement(Some(groups)).unwrap(), Averaging::Final);
    assert!(model.agreement().unwrap().weights().iter().any(|&weight| weight != 0.0));
    let labels = model.labels().clone();
    let name = format!("agreement, {text:?}, parts: {parts}");
    Kind { name, model: Arc::new(model), labels, inputs: sequences(12, false), members: vec![] }
}

#[test]
fn rows_with_agreement() {
    for (text, parts) in [(SHARED, false), (SHARED, true), (OBSERVED, true)] {
        cross(&agreeing(text, parts), true);
    }
}

#[test]
fn rows_with_values() {
    cross(&rows("items", FeatureSource::Items, false, Averaging::Final), true);
    cross(&rows("items", FeatureSource::Items, true, Averaging::Voted), true);
}

#[test]
fn averaged_rows_and_hidden_markov_models() {
    cross(&rows("averaged", template(SHARED), true, Averaging::Averaged), false);
    cross(&hidden(), false);
}

#[test]
fn support_tokens() {
    cross(&dual("poly:2", Averaging::Final), true);
    cross(&dual("rbf:0.5", Averaging::Averaged), false);
}

/// A model of segments whose training data has labels of this spelling.
fn segments(tags: &[&str], source: FeatureSource, averaging: Averaging) -> Kind<SegmentModel> {
    let name = format!("segments, {tags:?}, {averaging:?}");
    let model = segment_models::trained(tags, source, averaging);
    let (labels, inputs) = (model.labels().clone(), segment_models::sequences(14, 9, tags));
    Kind { name, model, labels, inputs, members: vec![] }
}

#[test]
fn segments_from_runs() {
    cross(&segments(RUNS, template(SHARED), Averaging::Final), true);
    cross(&segments(RUNS, template(OBSERVED), Averaging::Averaged), false);
}

#[test]
fn segments_from_spans() {
    cross(&segments(IOB2, template(OBSERVED), Averaging::Final), true);
    cross(&segments(IOB2, FeatureSource::Preset(Preset::Words), Averaging::Averaged), false);
    cross(&segments(IOBES, template(SHARED), Averaging::Final), true);
}

#[test]
fn boolean_features() {
    for observed in [false, true] {
        cross(&boolean(observed, Averaging::Final), true);
        cross(&boolean(observed, Averaging::Voted), true);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let Kind { model, labels, inputs, .. } = rows("shared", template(SHARED), false, Averaging::Final);
    let input = inputs.iter().find(|input| input.len() == 4).unwrap();
    let mut tagger = Tagger::new(model.clone());
    assert!(matches!(tagger.tag_known(input, &[None], 1), Err(Error::Shape { .. })));
    let wrong = [None, None, None, Some(99)];
    assert!(matches!(tagger.tag_known(input, &wrong, 1), Err(Error::LabelOutOfRange { .. })));
    assert!(Tagger::new(model).with_transitions(&Transitions::free(3)).is_err());
    let [outside, inside] = ["O|s", "I-X|p"].map(|name| labels.id(name));
    let forbid = Transitions::parse("!O|s\tI-*\n", "transitions", &labels).unwrap();
    let mut tagger = tagger.with_transitions(&forbid).unwrap();
    let clash = [outside, inside, None, None];
    assert_eq!(tagger.tag_known(input, &clash, 1).unwrap_err(), Error::NoPath);
}

/// Zero paths are requested: the same error from every kind of model.
#[test]
fn no_paths_are_refused() {
    for averaging in [Averaging::Final, Averaging::Voted] {
        let kind = rows("shared", template(SHARED), false, averaging);
        assert!(Tagger::new(kind.model).tag(&kind.inputs[0], 0).is_err(), "{averaging:?}");
        let kind = boolean(true, averaging);
        assert!(Tagger::new(kind.model).tag(&kind.inputs[0], 0).is_err(), "{averaging:?}");
    }
}

/// The same features in another order have other numbers.
#[test]
fn weights_of_features_in_another_order_are_refused() {
    let features = |swapped: bool| {
        let mut features = BooleanFeatures::<[usize]>::new(2);
        if swapped {
            features.transition(|p, y| p == y);
            features.vertical(|x, t, y| x[t] == y as usize);
        } else {
            features.vertical(|x, t, y| x[t] == y as usize);
            features.transition(|p, y| p == y);
        }
        Arc::new(features)
    };
    let bytes = BooleanModel::new(features(false), vec![1.0, 2.0]).unwrap().to_bytes();
    assert_eq!(**BooleanModel::from_bytes(&bytes, "saved", features(false)).unwrap().weights(), [1.0, 2.0]);
    assert!(matches!(BooleanModel::from_bytes(&bytes, "saved", features(true)), Err(Error::Data { .. })));
    let mut observing = BooleanFeatures::<[usize]>::new(2);
    observing.vertical(|x, t, y| x[t] == y as usize);
    observing.horizontal(|_, _, p, y| p == y);
    assert!(BooleanModel::from_bytes(&bytes, "saved", Arc::new(observing)).is_err(), "one that sees more");
}

/// Whether an answer is proven, and by which decoder, does not depend on the threads that vote.
#[test]
fn a_vote_is_proven_only_if_every_search_is() {
    let kind = rows("shared", template(SHARED), false, Averaging::Voted);
    let mut unproven = 0;
    for input in &kind.inputs {
        let answer = |threads: usize| {
            let decoder = Decoder::by_name("beam:1").unwrap();
            let mut tagger = Tagger::new(kind.model.clone()).with_decoder(decoder).with_threads(threads);
            tagger.tag(input, 3).unwrap().decoded.clone()
        };
        let alone = answer(1);
        assert_eq!(answer(2), alone);
        assert_eq!(answer(4), alone);
        unproven += usize::from(!alone.exact);
    }
    assert!(unproven > 0);
}

/// A member whose features do not occur in the input has the lattice of the one before.
#[test]
fn members_that_change_nothing_are_not_searched() {
    let constrain = |edges| Ok(edges);
    let boolean = boolean(true, Averaging::Voted);
    let lone = Observation::new(vec![0usize], 1);
    let mut members = boolean.model.members(&lone, &constrain).unwrap().unwrap();
    let count = members.votes().len();
    let changed = (0..count).filter(|&member| members.advance(member).unwrap()).count();
    assert!(changed > 0 && changed * 2 < count, "{changed} of {count}");

    let rows = rows("shared", template("U0:%x[0,0]\n"), false, Averaging::Voted);
    let unknown = Sequence::from_tokens(["unheard", "of"]);
    let mut members = rows.model.members(&unknown, &constrain).unwrap().unwrap();
    assert!((0..members.votes().len()).all(|member| !members.advance(member).unwrap()));
}

/// Fractional steps, several threads, and a run that was stopped: boolean features train like all others.
#[test]
fn boolean_features_train_in_every_way() {
    let data = |observed: bool| {
        let mut features = BooleanFeatures::<[usize]>::new(3);
        features.vertical_set(12, |x, t, y| Some(x[t] * 3 + y as usize));
        features.label_bigrams();
        features.transition(|p, y| p == y); // shares its pairs with the bigrams
        if observed {
            features.horizontal(|x, t, p, y| p == y && x[t] == x[t - 1]);
        }
        let random = &mut Random::new(9);
        let example = |_| {
            let x: Vec<usize> = (0..5).map(|_| random.below(4)).collect();
            let gold = x.iter().map(|&x| ((x + random.below(2)) % 3) as LabelId).collect();
            BooleanExample { observation: Observation::new(x, 5), gold, weight: [1.0, 0.3][random.below(2)] }
        };
        Arc::new(BooleanTrainingSet::new(Arc::new(features), (0..30).map(example).collect()).unwrap())
    };
    for observed in [false, true] {
        let data = data(observed);
        let update = Update::PassiveAggressive { longest: 0.7 };
        for (threads, averaging) in
            [(1, Averaging::Averaged), (3, Averaging::Averaged), (1, Averaging::Voted)]
        {
            let options = PerceptronOptions { update, threads, averaging, ..PerceptronOptions::default() };
            let mut whole = Perceptron::new(data.clone(), options.clone()).unwrap();
            whole.epoch(&mut |_| ()).unwrap();
            let mut state = StateWriter::new();
            whole.save(&mut state);
            let mut resumed = Perceptron::new(data.clone(), options).unwrap();
            resumed.restore(&mut StateReader::new(&state.into_bytes())).unwrap();
            for _ in 0..6 {
                assert_eq!(whole.epoch(&mut |_| ()).unwrap(), resumed.epoch(&mut |_| ()).unwrap());
            }
            let place = format!("observed: {observed}, {threads} threads, {averaging:?}");
            assert_eq!(whole.model().unwrap().to_bytes(), resumed.model().unwrap().to_bytes(), "{place}");
        }
        for wrong in [0.0, -1.0, f32::NAN] {
            let update = Update::PassiveAggressive { longest: wrong };
            let options = PerceptronOptions { update, ..PerceptronOptions::default() };
            assert!(matches!(Perceptron::new(data.clone(), options), Err(Error::Argument { .. })));
        }
    }
}

#[test]
fn weights_of_other_features_are_refused() {
    let kind = boolean(true, Averaging::Voted);
    let bytes = kind.model.to_bytes();
    let mut other = BooleanFeatures::<[usize]>::new(5);
    other.vertical_set(30, |x, t, y| Some(x[t] * 5 + y as usize));
    let error = BooleanModel::from_bytes(&bytes, "chords.kbest", Arc::new(other)).unwrap_err();
    assert!(matches!(&error, Error::Data { file, .. } if file == "chords.kbest"), "{error}");
    assert!(Model::from_bytes(&bytes, "chords.kbest").is_err(), "not a model of text");
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 16;
        assert!(
            BooleanModel::from_bytes(&damaged, "damaged", kind.model.features().clone()).is_err(),
            "byte {at}"
        );
    }
}
