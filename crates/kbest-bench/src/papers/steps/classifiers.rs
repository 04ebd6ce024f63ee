//! One CarpeDiem problem: its hundred classifiers on the test data, and the last of them in detail.
//!
//! A classifier is one vector of weights, as the paper's `H` is (section 5): the mean of the members of a voted perceptron.
//! `votes.rs` lets the members themselves vote. Speeds are of decoding alone: node and edge scores are prepared before,
//! except where the report says *on demand*.

use super::super::data::Data;
use super::super::definitions::PROBLEMS;
use super::super::problems::{BooleanProblem, Events};
use super::super::prove::{best, prove};
use super::super::results::{BeamRow, Classifier, Decoding, Measured, Problem, Timed};
use super::decoding::{side_by_side, strengths_of};
use super::missing;
use super::scores::{Scores, accuracy, sets};
use super::votes::{Ensemble, Places};
use kbest::decode::{CarpeDiem, CarpeDiemBound};
use kbest::feature::boolean::{BooleanFeatures, EdgeBound};
use kbest::lattice::OverallBound;
use kbest::train::{
    Averaging, BooleanExample, BooleanTrainingSet, Family, Perceptron, PerceptronOptions, Trainer,
};
use kbest::{Decode, Decoder, Lattice, Scratch};
use kbest_cli::bench::{Contender, Plan, measure};
use kbest_cli::failure::Result;
use kbest_cli::output::Progress;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// CarpeDiem with the paper's bound, and Viterbi beside it.
const PAPER: [&str; 2] = ["viterbi", "carpediem"];
/// With exact maxima as bounds, and others beside.
const EXACT: [&str; 4] = ["viterbi-simd", "carpediem", "carpediem:column", "auto"];
/// The last classifier in detail.
const DETAIL: [&str; 10] = [
    "viterbi",
    "viterbi-simd",
    "carpediem:graph",
    "carpediem",
    "carpediem:column",
    "astar:carpediem",
    "astar",
    "staggered-column",
    "funnel",
    "auto",
];
/// Positions of the picture of opened vertices.
const TRACED: usize = 200;

pub(super) fn run(data: &mut Data, task: &str, out: &Path) -> Result<Measured> {
    let corpus = match data.corpus(task)? {
        Ok(corpus) => corpus,
        Err(reason) => return Ok(missing(reason)),
    };
    let problem = BooleanProblem::new(task, &corpus);
    let size = data.size;
    let plan = Plan { repeat: size.rounds.min(2), limit: size.limit, counting: true, limits: true };
    let places = Places::new(&problem);
    let (mut classifiers, mut last) = (vec![], vec![0.0; problem.features.len()]);
    for &tenths in size.tenths {
        let count = (problem.train.len() * tenths).div_ceil(10);
        let mut trainer = training(&problem.features, problem.examples(count), Averaging::Voted)?;
        let mut ensemble = Ensemble::new(&problem, &places)?;
        for iterations in 1..=size.iterations {
            trainer.epoch(&mut |_| ())?;
            if let Some(voters) = trainer.model()?.voters() {
                ensemble.follow(voters, out)?;
            }
            last = ensemble.mean();
            let (accuracy, seconds, opened) = classify(&problem, &last, plan, out)?;
            let vote = ensemble.vote();
            classifiers.push(Classifier { tenths, iterations, accuracy, seconds, opened, vote });
        }
    }
    let detail = Detail::new(&problem, &last, plan, out)?;
    // The paper shows the weights of music alone.
    let (weights, iterations_begin) =
        if task == PROBLEMS[0].task { follow(&problem, size.iterations)? } else { (vec![], vec![]) };
    let events = |sequences: &[(kbest::feature::boolean::Observation<Events>, Vec<u32>)]| {
        sequences.iter().map(|(observation, _)| observation.positions).sum()
    };
    Ok(Measured::Problem(Box::new(Problem {
        task: task.to_owned(),
        labels: problem.labels,
        vertical_features: problem.vertical,
        horizontal_features: problem.features.len() - problem.vertical,
        train_sequences: problem.train.len(),
        train_events: events(&problem.train),
        test_sequences: problem.test.len(),
        test_events: events(&problem.test),
        classifiers,
        accuracy_without_edges: without_edges(&problem, size.iterations)?,
        last: detail.decoding(task, &problem),
        on_demand: on_demand(&problem, &last, plan, out)?,
        beams: detail.beams,
        trace: detail.trace,
        opened: detail.opened,
        weights,
        iterations_begin,
    })))
}

/// A perceptron that learns from these examples.
pub(super) fn training(
    features: &Arc<BooleanFeatures<Events>>,
    examples: Vec<BooleanExample<Events>>,
    averaging: Averaging,
) -> Result<Perceptron<BooleanTrainingSet<Events>>> {
    let data = BooleanTrainingSet::new(Arc::clone(features), examples)?;
    let decoder = CarpeDiem::default().into();
    let options = PerceptronOptions { averaging, decoder, ..PerceptronOptions::default() };
    Ok(Perceptron::new(Arc::new(data), options)?)
}

/// Accuracy, seconds of each decoder, and vertices that CarpeDiem with the paper's bound opens.
fn classify(
    problem: &BooleanProblem,
    weights: &[f32],
    plan: Plan,
    out: &Path,
) -> Result<(f64, BTreeMap<String, f64>, f64)> {
    let scores = Scores::new(problem, weights)?;
    let sets = sets(problem, weights);
    let mut seconds = BTreeMap::new();
    let bounded = scores.edges(problem, &OverallBound::ExclusiveSets(&sets))?;
    let lattices = scores.lattices(&bounded)?;
    let paper = side_by_side(&lattices, &PAPER, 1, plan, out)?;
    let opened = paper.rows[1].nodes_per_position.unwrap_or(0.0);
    let total = |rows: &[Timed]| -> Vec<f64> {
        rows.iter().map(|row| row.ns_per_position * paper.positions as f64 / 1e9).collect()
    };
    seconds.extend(
        ["viterbi", "carpediem, paper's bound"].map(String::from).into_iter().zip(total(&paper.rows)),
    );
    let accuracy = accuracy(problem, paper.contenders[0].answers.iter().map(|answer| best(answer)));
    let exact = scores.edges(problem, &OverallBound::Exact)?;
    let lattices = scores.lattices(&exact)?;
    let plan = Plan { counting: false, ..plan };
    let side = side_by_side(&lattices, &EXACT, 1, plan, out)?;
    seconds.extend(EXACT.map(String::from).into_iter().zip(total(&side.rows)));
    Ok((accuracy, seconds, opened))
}

/// The last classifier: decoders, beams and opened vertices.
struct Detail {
    rows: Vec<Timed>,
    positions: usize,
    scan: f64,
    accuracy: f64,
    strengths: super::super::results::Strengths,
    beams: Vec<BeamRow>,
    trace: Vec<(String, Vec<u32>)>,
    opened: Vec<(String, f64)>,
}

impl Detail {
    fn new(problem: &BooleanProblem, weights: &[f32], plan: Plan, out: &Path) -> Result<Self> {
        let scores = Scores::new(problem, weights)?;
        let exact = scores.edges(problem, &OverallBound::Exact)?;
        let lattices = scores.lattices(&exact)?;
        let side = side_by_side(&lattices, &DETAIL, 1, plan, out)?;
        let reference = side.reference()?;
        let paths = || reference.answers.iter().map(|answer| best(answer));
        let strengths = strengths_of(&lattices, &scores.matrices.concat(), paths());

        let mut rows = side.rows.clone();
        let sets = sets(problem, weights);
        let horizontal: Vec<f32> = sets.concat();
        let loose = [
            ("S1* = sum over exclusive sets", OverallBound::ExclusiveSets(&sets)),
            ("S1* = sum of positive weights", OverallBound::SumOfPositives(&horizontal)),
        ];
        let mut opened = vec![];
        let mut trace = vec![];
        for (name, bound) in &loose {
            let edges = scores.edges(problem, bound)?;
            let lattices = scores.lattices(&edges)?;
            let loose = side_by_side(&lattices, &["carpediem", "astar:carpediem"], 1, plan, out)?;
            for mut row in loose.rows {
                row.decoder = format!("{}, {name}", row.decoder);
                if row.decoder.starts_with("carpediem") {
                    opened.push(((*name).to_owned(), row.nodes_per_position.unwrap_or(0.0)));
                }
                rows.push(row);
            }
            trace.push(((*name).to_owned(), opened_along(&lattices, CarpeDiemBound::Position)?));
        }
        for (name, decoder, bound) in [
            ("S1* = the largest edge of the graph", "carpediem:graph", CarpeDiemBound::Graph),
            ("the largest edge into the position", "carpediem", CarpeDiemBound::Position),
            ("the largest edge into the label", "carpediem:column", CarpeDiemBound::Column),
        ] {
            let row = rows.iter().find(|row| row.decoder == decoder);
            opened.push((name.to_owned(), row.and_then(|row| row.nodes_per_position).unwrap_or(0.0)));
            trace.push((name.to_owned(), opened_along(&lattices, bound)?));
        }
        Ok(Detail {
            beams: beams(problem, &lattices, reference, plan, out)?,
            accuracy: accuracy(problem, paths()),
            positions: side.positions,
            scan: side.scan,
            rows,
            strengths,
            trace,
            opened,
        })
    }

    fn decoding(&self, task: &str, problem: &BooleanProblem) -> Decoding {
        Decoding {
            task: task.to_owned(),
            k: 1,
            labels: problem.labels,
            sequences: problem.test.len(),
            positions: self.positions,
            accuracy: self.accuracy,
            scan_ns_per_position: 1e9 * self.scan / self.positions as f64,
            strengths: self.strengths,
            rows: self.rows.clone(),
        }
    }
}

/// Vertices opened at each position of the first sequence that is long enough for a picture.
fn opened_along(lattices: &[Lattice<'_, f32>], bound: CarpeDiemBound) -> Result<Vec<u32>> {
    let longest = lattices.iter().map(Lattice::positions).max().unwrap_or(0);
    let enough = longest.min(TRACED / 2);
    let Some(lattice) = lattices.iter().find(|lattice| lattice.positions() >= enough) else {
        return Ok(vec![]);
    };
    let answer = CarpeDiem { bound }.decode(lattice, &mut Scratch::counting())?;
    let mut opened = answer.counters.map(|counters| counters.nodes_at).unwrap_or_default();
    opened.truncate(TRACED);
    Ok(opened)
}

/// Beams of every width: their time, and how often they are wrong.
fn beams(
    problem: &BooleanProblem,
    lattices: &[Lattice<'_, f32>],
    reference: &Contender<f32>,
    plan: Plan,
    out: &Path,
) -> Result<Vec<BeamRow>> {
    let widths: Vec<usize> =
        (1..problem.labels).filter(|&b| b <= 8 || b % 4 == 0 || b == 5 || b == 25).collect();
    let names: Vec<String> = widths.iter().map(|width| format!("beam:{width}")).collect();
    let contenders = names
        .iter()
        .map(|name| Ok(Contender::new(name.clone(), Decoder::by_name(name)?, 1)))
        .collect::<Result<Vec<_>>>()?;
    let mut progress = Progress::new(0, true);
    let plan = Plan { counting: false, ..plan };
    let measured = measure(lattices, contenders, plan, &mut progress)?;
    prove(lattices, &measured.contenders, out)?; // the judge's score of every answer
    let row = |(width, contender): (&usize, &Contender<f32>)| {
        let (mut sequences, mut positions, mut wrong) = (0, 0, 0);
        for (answer, right) in contender.answers.iter().zip(&reference.answers) {
            let (answer, right) = (best(answer), best(right));
            positions += right.len();
            let differ = answer.iter().zip(right).filter(|(a, b)| a != b).count();
            wrong += differ;
            sequences += usize::from(differ > 0);
        }
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        let accuracy = accuracy(problem, contender.answers.iter().map(|answer| best(answer)));
        let done = contender.answers.len();
        BeamRow {
            width: *width,
            seconds: contender.times.best(),
            wrong_sequences: share(sequences, done),
            wrong_positions: share(wrong, positions),
            accuracy,
        }
    };
    Ok(widths.iter().zip(&measured.contenders).map(row).collect())
}

/// Viterbi and CarpeDiem with features of edges evaluated on demand, where they see the observation.
fn on_demand(problem: &BooleanProblem, weights: &[f32], plan: Plan, out: &Path) -> Result<Vec<Timed>> {
    if !problem.features.has_observed_edges() {
        return Ok(vec![]);
    }
    let scores = Scores::new(problem, weights)?;
    let weights: Arc<[f32]> = weights.into();
    let mut lattices = vec![];
    for (nodes, (observation, _)) in scores.nodes.iter().zip(&problem.test) {
        let edges = problem.features.edges(observation, &weights, EdgeBound::ExclusiveSets)?;
        lattices.push(Lattice::new(nodes.as_slice(), Arc::new(edges))?);
    }
    Ok(side_by_side(&lattices, &PAPER, 1, plan, out)?.rows)
}

/// Accuracy of a perceptron without features of two labels.
fn without_edges(problem: &BooleanProblem, iterations: usize) -> Result<f64> {
    let features: &Arc<BooleanFeatures<Events>> = &problem.vertical_only;
    let examples = problem.examples(problem.train.len());
    let mut trainer = training(features, examples, Averaging::Averaged)?;
    for _ in 0..iterations {
        trainer.epoch(&mut |_| ())?;
    }
    let model = trainer.model()?;
    let mut answers = vec![];
    for (observation, _) in &problem.test {
        let mut nodes = vec![];
        features.node_scores(observation, model.weights(), &mut nodes)?;
        let best = |row: &[f32]| {
            let better = |best: usize, y: usize| if row[y] > row[best] { y } else { best };
            (0..row.len()).fold(0, better) as u32
        };
        answers.push(nodes.chunks(problem.labels).map(best).collect::<Vec<u32>>());
    }
    Ok(accuracy(problem, answers.iter().map(Vec::as_slice)))
}

/// Weights of single features, by number of updates.
type Lines = Vec<(String, Vec<(usize, f64)>)>;

/// Follows the weights of single features through training, update by update.
fn follow(problem: &BooleanProblem, iterations: usize) -> Result<(Lines, Vec<usize>)> {
    let examples = problem.examples(problem.train.len());
    let data = BooleanTrainingSet::new(Arc::clone(&problem.features), examples)?;
    let mut weights = data.zero()?;
    let mut current = vec![0.0f64; problem.features.len()];
    let mut lines: Lines = problem.followed.iter().map(|(name, _)| (name.clone(), vec![(0, 0.0)])).collect();
    let (mut begin, mut updates, mut changes) = (vec![], 0, vec![]);
    let (mut scratch, mut memory) = (Scratch::new(), Default::default());
    for _ in 0..iterations {
        begin.push(updates);
        for example in 0..data.example_count() {
            let lattice = data.lattice(&weights, example, &mut memory)?;
            let answer = CarpeDiem::default().decode(&lattice, &mut scratch)?;
            if answer.best().labels == data.gold(example) {
                continue;
            }
            drop(lattice);
            changes.clear();
            data.difference(example, &answer.best().labels, &mut changes);
            updates += 1;
            for &change in &changes {
                data.apply(&mut weights, change, updates as f64)?;
                current[change.parameter as usize] += f64::from(change.by);
            }
            for ((_, points), (_, feature)) in lines.iter_mut().zip(&problem.followed) {
                points.push((updates, current[*feature]));
            }
        }
    }
    // A picture needs no more than a hundred or two.
    for (_, points) in &mut lines {
        let every = points.len().div_ceil(150);
        let mut i = 0;
        points.retain(|_| {
            i += 1;
            (i - 1) % every == 0
        });
    }
    Ok((lines, begin))
}
