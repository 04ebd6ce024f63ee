//! The vote of a voted perceptron (Freund and Schapire 1999): every vector of weights that training passed through labels
//! the test data, and for each sequence the labelling with the most votes wins.
//!
//! **Why beside one vector.** The CarpeDiem paper calls its system a voted perceptron, but its classifier is one arg max
//! under one vector of weights (section 5, `H`), and its figures differ "only in the set of weights". So the figures here
//! are of one vector, too, the mean of the members (Collins 2002); the vote itself is measured beside it.
//!
//! **Cost.** Members of classifier i:j are the first ones of i:10, so one walk serves all ten. A member's node scores are
//! those of the one before, changed where a changed feature fires; then each decoder searches all test sequences once.

use super::super::problems::BooleanProblem;
use super::super::prove::best;
use super::super::results::Vote;
use super::decoding::side_by_side;
use super::scores::{Scores, accuracy, sets};
use kbest::lattice::OverallBound;
use kbest::model::Voters;
use kbest_cli::bench::Plan;
use kbest_cli::failure::Result;
use std::collections::HashMap;
use std::path::Path;

/// Decoders that search for each member; CarpeDiem with the paper's bound.
const DECODERS: [&str; 3] = ["viterbi", "carpediem", "viterbi-simd"];
/// No time limit: every member must answer for every sequence.
const PLAN: Plan = Plan { repeat: 1, limit: f64::INFINITY, counting: false, limits: false };

/// For each vertical feature the places in the test data where it fires: sequence, `t * L + y`.
pub(super) struct Places(Vec<Vec<(u32, u32)>>);

impl Places {
    pub(super) fn new(problem: &BooleanProblem) -> Self {
        let mut places = vec![vec![]; problem.features.len()];
        for (i, (observation, _)) in (0..).zip(&problem.test) {
            problem.features.visit_nodes(observation, |t, y, feature| {
                places[feature].push((i, (t * problem.labels) as u32 + y));
            });
        }
        Places(places)
    }
}

/// Labellings of one sequence in the order they were first chosen, with their votes.
#[derive(Default)]
struct Ballots {
    numbers: HashMap<Vec<u32>, usize>,
    labellings: Vec<(Vec<u32>, u64)>,
}

impl Ballots {
    fn number(&mut self, labels: &[u32]) -> usize {
        if let Some(&number) = self.numbers.get(labels) {
            return number;
        }
        self.numbers.insert(labels.to_vec(), self.labellings.len());
        self.labellings.push((labels.to_vec(), 0));
        self.labellings.len() - 1
    }

    /// The first of those with the most votes.
    fn winner(&self) -> &[u32] {
        let most = self.labellings.iter().map(|(_, votes)| *votes).max();
        let winner = self.labellings.iter().find(|(_, votes)| Some(*votes) == most);
        winner.map_or(&[], |(labels, _)| labels)
    }
}

/// An ensemble that grows while it is trained; what its members say of the test data.
pub(super) struct Ensemble<'p> {
    problem: &'p BooleanProblem,
    places: &'p Places,
    scores: Scores,
    sums: Vec<Vec<f64>>, // node scores of each sequence, T x L, before they are rounded
    weights: Vec<f32>,   // of the current member
    member: u32,
    counted: u32,               // votes of the current member so far
    choice: Option<Vec<usize>>, // what it chose, for each sequence
    ballots: Vec<Ballots>,
    weight_sums: Vec<f64>, // each member's weights times its votes
    votes: u64,
    asked: usize,
    seconds: [f64; DECODERS.len()],
}

impl<'p> Ensemble<'p> {
    pub(super) fn new(problem: &'p BooleanProblem, places: &'p Places) -> Result<Self> {
        let weights = vec![0.0; problem.features.len()];
        let scores = Scores::new(problem, &weights)?;
        Ok(Ensemble {
            sums: scores.nodes.iter().map(|nodes| vec![0.0; nodes.len()]).collect(),
            ballots: problem.test.iter().map(|_| Ballots::default()).collect(),
            weight_sums: vec![0.0; weights.len()],
            scores,
            weights,
            member: 0,
            counted: 0,
            choice: None,
            votes: 0,
            asked: 0,
            seconds: [0.0; DECODERS.len()],
            problem,
            places,
        })
    }

    /// Lets the members vote that have come since the last time, and the last one as often as it has gained votes.
    pub(super) fn follow(&mut self, voters: &Voters, out: &Path) -> Result<()> {
        let mut changes: Vec<(u32, u32, f32)> = vec![];
        for feature in 0..self.weights.len() as u32 {
            let new = voters.node_changes(feature).iter().filter(|change| change.member > self.member);
            changes.extend(new.map(|change| (change.member, feature, change.by)));
        }
        changes.sort_by_key(|&(member, ..)| member);
        let mut changes = changes.chunk_by(|a, b| a.0 == b.0).peekable();
        for (member, &votes) in (0..).zip(voters.votes()).skip(self.member as usize) {
            if member > self.member {
                (self.member, self.counted, self.choice) = (member, 0, None);
                if let Some(changes) = changes.next_if(|changes| changes[0].0 == member) {
                    self.change(changes);
                }
            }
            let more = u64::from(votes - self.counted);
            if more > 0 {
                self.vote_of_member(more, out)?;
            }
            self.counted = votes;
        }
        Ok(())
    }

    fn change(&mut self, changes: &[(u32, u32, f32)]) {
        for &(_, feature, by) in changes {
            let feature = feature as usize;
            self.weights[feature] += by;
            for &(i, place) in &self.places.0[feature] {
                let (i, place) = (i as usize, place as usize);
                self.sums[i][place] += f64::from(by);
                self.scores.nodes[i][place] = self.sums[i][place] as f32;
            }
        }
        self.scores.matrices = self.problem.matrices(&self.weights);
    }

    fn vote_of_member(&mut self, votes: u64, out: &Path) -> Result<()> {
        if self.choice.is_none() {
            self.choice = Some(self.search(out)?);
        }
        for (ballots, &number) in self.ballots.iter_mut().zip(self.choice.iter().flatten()) {
            ballots.labellings[number].1 += votes;
        }
        for (sum, &weight) in self.weight_sums.iter_mut().zip(&self.weights) {
            *sum += f64::from(weight) * votes as f64;
        }
        self.votes += votes;
        Ok(())
    }

    fn search(&mut self, out: &Path) -> Result<Vec<usize>> {
        let sets = sets(self.problem, &self.weights);
        let edges = self.scores.edges(self.problem, &OverallBound::ExclusiveSets(&sets))?;
        let lattices = self.scores.lattices(&edges)?;
        let side = side_by_side(&lattices, &DECODERS, 1, PLAN, out)?;
        for (seconds, contender) in self.seconds.iter_mut().zip(&side.contenders) {
            *seconds += contender.times.best();
        }
        self.asked += 1;
        let answers = &side.contenders[0].answers;
        Ok(self
            .ballots
            .iter_mut()
            .zip(answers)
            .map(|(ballots, answer)| ballots.number(best(answer)))
            .collect())
    }

    /// The mean of the members by votes; the weights before the first sequence, all zero, count once more.
    pub(super) fn mean(&self) -> Vec<f32> {
        self.weight_sums.iter().map(|sum| (sum / (self.votes + 1) as f64) as f32).collect()
    }

    fn winners(&self) -> impl Iterator<Item = &[u32]> {
        self.ballots.iter().map(Ballots::winner)
    }

    /// What the members say together.
    pub(super) fn vote(&self) -> Vote {
        let last = self.ballots.iter().zip(self.choice.iter().flatten());
        let last = last.map(|(ballots, &number)| &ballots.labellings[number].0[..]);
        Vote {
            members: self.asked,
            accuracy: accuracy(self.problem, self.winners()),
            accuracy_of_last: accuracy(self.problem, last),
            seconds: DECODERS.map(String::from).into_iter().zip(self.seconds).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::data::{Data, Size};
    use super::super::classifiers::training;
    use super::*;
    use kbest::Tagger;
    use kbest::train::{Averaging, Trainer};

    /// Votes are those of the library's tagger, the mean is the averaged perceptron, and the last member has its weights;
    /// epoch by epoch, for edges that all positions share and for edges that see the observation.
    #[test]
    fn votes_are_the_taggers() {
        let folder = tempfile::tempdir().unwrap();
        let data = Data::new(None, Size::QUICK, folder.path().into());
        for task in ["bach-harmony", "letters", "doclines"] {
            let problem = BooleanProblem::new(task, &data.corpus(task).unwrap().unwrap());
            let places = Places::new(&problem);
            let mut ensemble = Ensemble::new(&problem, &places).unwrap();
            let trainer = |averaging| training(&problem.features, problem.examples(5), averaging).unwrap();
            let (mut voted, mut averaged) = (trainer(Averaging::Voted), trainer(Averaging::Averaged));
            for epoch in 0..3 {
                voted.epoch(&mut |_| ()).unwrap();
                averaged.epoch(&mut |_| ()).unwrap();
                let model = voted.model().unwrap();
                ensemble.follow(model.voters().unwrap(), folder.path()).unwrap();
                assert_eq!(ensemble.weights, model.weights()[..], "{task}, {epoch}");
                let mean = ensemble.mean();
                for (ours, theirs) in mean.iter().zip(averaged.model().unwrap().weights().iter()) {
                    assert!(
                        (ours - theirs).abs() <= 1e-5 * theirs.abs().max(1.0),
                        "{task}: {ours}, {theirs}"
                    );
                }
                let members = model.voters().unwrap().votes().iter().filter(|&&votes| votes > 0).count();
                assert_eq!(ensemble.vote().members, members);
                let mut tagger = Tagger::new(std::sync::Arc::new(model));
                for ((observation, _), winner) in problem.test.iter().zip(ensemble.winners()) {
                    assert_eq!(tagger.tag(observation, 1).unwrap().decoded.best().labels, winner, "{task}");
                }
            }
        }
    }
}
