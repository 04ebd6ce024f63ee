//! Rows of the kernel, remembered within a limit: the least recently used one makes room.

use super::DualTrainingSet;

#[derive(Debug, Default)]
struct Remembered {
    row: Vec<f32>, // N; none if it is not remembered
    used: u64,
}

/// The rows at hand.
#[derive(Debug)]
pub(super) struct KernelRows {
    rows: Vec<Remembered>, // one per token
    at_hand: Vec<u32>,     // tokens whose rows are remembered
    room: usize,           // how many may be
    clock: u64,
    exact: Vec<f64>, // a row before it is rounded
}

impl KernelRows {
    pub(super) fn new(tokens: usize, memory: usize) -> Self {
        KernelRows {
            rows: (0..tokens).map(|_| Remembered::default()).collect(),
            at_hand: Vec::new(),
            room: (memory / (tokens * size_of::<f32>()).max(1)).max(1),
            clock: 0,
            exact: Vec::new(),
        }
    }

    /// `k(s, ·)` for all tokens of the training data. Values are rounded to `f32` whether they are remembered or not, so that
    /// answers do not depend on the limit.
    pub(super) fn row(&mut self, data: &DualTrainingSet, token: u32) -> &[f32] {
        self.clock += 1;
        if self.rows[token as usize].row.is_empty() {
            let mut memory = Vec::new();
            if self.at_hand.len() >= self.room {
                let oldest =
                    (0..self.at_hand.len()).min_by_key(|&i| self.rows[self.at_hand[i] as usize].used);
                if let Some(oldest) = oldest {
                    let gone = self.at_hand.swap_remove(oldest);
                    memory = std::mem::take(&mut self.rows[gone as usize].row);
                }
            }
            data.kernel.row(data.tokens.vector(token as usize), &data.tokens, &mut self.exact);
            memory.clear();
            memory.extend(self.exact.iter().map(|&value| value as f32));
            self.rows[token as usize].row = memory;
            self.at_hand.push(token);
        }
        let remembered = &mut self.rows[token as usize];
        remembered.used = self.clock;
        &remembered.row
    }
}
