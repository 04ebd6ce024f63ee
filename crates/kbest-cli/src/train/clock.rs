//! How long training will take: estimates that do not jump.
//!
//! The first pass is often the slowest by far: a perceptron makes most of its errors there, L-BFGS looks for the length of its
//! first step. So it stands for the others only until there is another; from then on, the mean of all later passes does.

use std::time::{Duration, Instant};

pub(super) struct Clock {
    done: usize, // passes, those of an earlier run included
    all: usize,
    may_end_early: bool,
    pass_began: Instant,
    first: Option<Duration>,
    later: Duration, // the sum of all but the first
    later_passes: u32,
}

impl Clock {
    pub(super) fn start(done: usize, all: usize, may_end_early: bool) -> Self {
        let (first, later) = (None, Duration::ZERO);
        Clock { done, all, may_end_early, pass_began: Instant::now(), first, later, later_passes: 0 }
    }

    /// The pass that is under way.
    pub(super) fn pass(&self) -> String {
        format!("epoch {}/{}", (self.done + 1).min(self.all), self.all)
    }

    /// Ends a pass; returns how long it took.
    pub(super) fn end_pass(&mut self) -> Duration {
        let took = self.pass_began.elapsed();
        match self.first {
            None => self.first = Some(took),
            Some(_) => {
                self.later += took;
                self.later_passes += 1;
            }
        }
        self.done += 1;
        self.pass_began = Instant::now();
        took
    }

    /// The time left, in words, when this share of the pass is done.
    pub(super) fn left(&self, share: f64) -> String {
        let pass = match (self.later_passes, self.first) {
            (0, Some(first)) => first.as_secs_f64(),
            (0, None) if share > 0.0 => self.pass_began.elapsed().as_secs_f64() / share,
            (0, None) => return String::new(),
            (passes, _) => self.later.as_secs_f64() / f64::from(passes),
        };
        let passes = (self.all.saturating_sub(self.done) as f64 - share).max(0.0);
        // Until the second pass has ended, the first stands for all: an upper bound, as a rule.
        let how = if self.may_end_early || self.later_passes == 0 { "at most" } else { "about" };
        format!("{how} {} left", in_words(pass * passes))
    }
}

/// A time with as many digits as an estimate deserves.
fn in_words(seconds: f64) -> String {
    match seconds {
        s if s < 20.0 => format!("{s:.0} s"),
        s if s < 100.0 => format!("{:.0} s", (s / 5.0).round() * 5.0),
        s if s < 6000.0 => format!("{:.0} min", (s / 60.0).round()),
        s if s < 36_000.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_first_pass_is_forgotten() {
        let mut clock = Clock::start(0, 10, false);
        assert_eq!(clock.left(0.0), "");
        clock.first = Some(Duration::from_secs(400));
        clock.done = 1;
        assert_eq!(clock.left(0.0), "at most 60 min left");
        (clock.later, clock.later_passes, clock.done) = (Duration::from_secs(200), 2, 3);
        assert_eq!(
            (clock.left(0.0), clock.left(0.5)),
            ("about 12 min left".into(), "about 11 min left".into())
        );
        assert_eq!(clock.pass(), "epoch 4/10");
        clock.done = 10;
        assert_eq!((clock.left(1.0), clock.pass()), ("about 0 s left".into(), "epoch 10/10".into()));
    }

    #[test]
    fn times_have_few_digits() {
        let words = [3.4, 33.0, 99.0, 150.0, 5261.0, 7000.0, 90_000.0].map(in_words);
        assert_eq!(words, ["3 s", "35 s", "100 s", "3 min", "88 min", "1.9 h", "25 h"]);
    }
}
