//! A kernel of your own, on tokens that are numbers: which way does the wind blow?
//!
//! A token is a wind: its direction in degrees and its speed. 359 degrees and 1 degree are almost the same direction, which
//! no scaling of columns can say. A kernel can: it compares directions on the circle. A dual perceptron learns the weather
//! from made-up winds; the model is saved, and loaded again with the kernel, which is code.
//!
//! Run with `cargo run -p kbest --example own_kernel`.
#![allow(clippy::print_stdout)] // examples print

use kbest::feature::FeatureSource;
use kbest::feature::token::{StandardKernel, TokenKernel, TokenVector};
use kbest::random::Random;
use kbest::train::{DualOptions, DualTrainingSet, Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Model, Sequence, Tagger};
use std::sync::Arc;

/// How alike two winds are: directions on the circle, speeds on a line. A product of two kernels is a kernel.
#[derive(Debug)]
struct Winds {
    degrees: f64, // how far a direction reaches
    speed: f64,   // how far a speed reaches
}

/// Features are numbered in the order in which they came: the direction is the first item of every token.
const DIRECTION: u32 = 0;

fn direction_and_speed(token: TokenVector<'_>) -> (f64, f64) {
    let mut wind = (0.0, 0.0); // a value of zero is not stored
    for (feature, value) in token.iter() {
        *(if feature == DIRECTION { &mut wind.0 } else { &mut wind.1 }) = f64::from(value);
    }
    wind
}

impl TokenKernel for Winds {
    /// A model file remembers this, and is loaded only with a kernel that has the same name.
    fn name(&self) -> String {
        format!("winds:{}:{}", self.degrees, self.speed)
    }

    fn value(&self, one: TokenVector<'_>, other: TokenVector<'_>) -> f64 {
        let ((from, fast), (other_from, other_fast)) = (direction_and_speed(one), direction_and_speed(other));
        // The chord between both directions: its square is a distance, so exp(-square) is a kernel.
        let chord = 2.0 * ((from - other_from).to_radians() / 2.0).sin() / self.degrees.to_radians();
        let speed = (fast - other_fast) / self.speed;
        (-chord * chord - speed * speed).exp()
    }
}

/// Weather that tends to stay, and winds that go with it: rain from the north (on both sides of 0), sun from the rest, and a
/// storm from anywhere if it is strong.
fn days(random: &mut Random, count: usize) -> Sequence {
    let mut sequence = Sequence::new();
    let mut weather = 0;
    for _ in 0..count {
        if random.below(3) == 0 {
            weather = random.below(3);
        }
        let spread = random.below(140) as f64;
        let (direction, speed) = match weather {
            0 => ((290.0 + spread) % 360.0, 5.0 + random.below(15) as f64),
            1 => (90.0 + spread, 2.0 + random.below(15) as f64),
            _ => (random.below(360) as f64, 25.0 + random.below(20) as f64),
        };
        sequence.push_position();
        sequence.push_valued_cell("direction", direction);
        sequence.push_valued_cell("speed", speed);
        sequence.set_label(["rain", "sun", "storm"][weather]);
    }
    sequence
}

fn train(data: &Arc<TrainingSet>, kernel: Arc<dyn TokenKernel>) -> Result<Model, kbest::Error> {
    let data = DualTrainingSet::new(data.clone(), kernel, DualOptions::default())?;
    let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
    for _ in 0..20 {
        trainer.epoch(&mut |_| ())?;
    }
    trainer.model()
}

/// How many days of some new weeks a model gets right.
fn right(model: &Arc<Model>) -> Result<f64, kbest::Error> {
    let (random, mut tagger) = (&mut Random::new(2), Tagger::new(model.clone()));
    let (mut days_seen, mut right) = (0, 0);
    for _ in 0..50 {
        let week = days(random, 7);
        let answer = &tagger.tag(&week, 1)?.decoded.best().labels;
        for (t, &label) in answer.iter().enumerate() {
            days_seen += 1;
            right += usize::from(model.labels().name(label) == week.label(t));
        }
    }
    Ok(100.0 * right as f64 / days_seen as f64)
}

fn main() -> Result<(), kbest::Error> {
    let random = &mut Random::new(1);
    let weeks: Vec<Sequence> = (0..40).map(|_| days(random, 7)).collect();
    let data = Arc::new(TrainingSet::new(&weeks, FeatureSource::Items, 1)?);
    assert_eq!(data.extractor().nodes().id(b"direction"), Some(DIRECTION));

    let linear = Arc::new(train(&data, Arc::new(StandardKernel::Linear))?);
    println!("linear kernel:    {:.1} % of the days right", right(&linear)?);

    let winds = || Arc::new(Winds { degrees: 40.0, speed: 10.0 });
    let bytes = train(&data, winds())?.to_bytes()?;
    let model = Arc::new(Model::from_bytes_with_kernel(&bytes, "weather", winds())?);
    println!("kernel of winds:  {:.1} % of the days right", right(&model)?);
    let support = model.support().expect("only a linear kernel becomes weights");
    println!("{} support tokens, kernel {}", support.tokens().len(), support.kernel().name());

    // Never seen, and on either side of north: the same weather.
    let mut tagger = Tagger::new(model.clone());
    for (direction, speed) in [(359.5, 10.0), (0.5, 10.0), (180.0, 10.0), (180.0, 40.0)] {
        let mut day = Sequence::new();
        day.push_position();
        day.push_valued_cell("direction", direction);
        day.push_valued_cell("speed", speed);
        let label = tagger.tag(&day, 1)?.decoded.best().labels[0];
        println!("{direction:5} degrees, speed {speed}: {}", model.labels().name(label).unwrap_or("?"));
    }
    Ok(())
}
