//! Which label pairs are exceptions: one bit per pair, so that most look-ups in sparse edges end after one word.

/// With more labels than this, the bits would take more memory than they are worth (32 MiB).
const LARGEST: usize = 1 << 14;

/// With more labels than this, and fewer exceptions per label than [`SHORT`], a search in the list is as fast.
const LARGE: usize = 1 << 12;
const SHORT: usize = 4;

/// One bit per label pair, and where the exceptions of each word of bits begin in the list of their row.
#[derive(Debug, Clone)]
pub(super) struct Bitmap {
    words: Vec<u64>,  // L rows of `per_row` words
    before: Vec<u16>, // one per word: the number of exceptions of the row before it, below LARGEST
    per_row: usize,
}

impl Bitmap {
    /// From the exceptions of every row, ascending; `None` if it would take too much memory.
    pub(super) fn new<'a>(labels: usize, leaving: impl Fn(usize) -> &'a [u32]) -> Option<Self> {
        let exceptions = || (0..labels).map(|p| leaving(p).len()).sum::<usize>();
        if labels > LARGEST || (labels > LARGE && exceptions() < SHORT * labels) {
            return None;
        }
        let per_row = labels.div_ceil(64);
        let mut words = vec![0u64; labels * per_row];
        let mut before = vec![0u16; labels * per_row];
        for p in 0..labels {
            let row = &mut words[p * per_row..(p + 1) * per_row];
            for &y in leaving(p) {
                row[y as usize / 64] |= 1 << (y % 64);
            }
            let mut exceptions = 0;
            for (word, before) in row.iter().zip(&mut before[p * per_row..]) {
                *before = exceptions;
                exceptions += word.count_ones() as u16;
            }
        }
        Some(Bitmap { words, before, per_row })
    }

    /// The index of a pair among the exceptions of its row, if it is one.
    #[inline(always)]
    pub(super) fn find(&self, p: usize, y: usize) -> Option<usize> {
        let at = p * self.per_row + y / 64;
        let (word, bit) = (self.words[at], y % 64);
        if word >> bit & 1 == 0 {
            return None;
        }
        let below = word & ((1 << bit) - 1);
        Some(self.before[at] as usize + below.count_ones() as usize)
    }

    /// Makes a pair an exception if it is not one, and vice versa; costs `L / 64`.
    pub(super) fn toggle(&mut self, p: usize, y: usize) {
        let at = p * self.per_row + y / 64;
        let bit = 1 << (y % 64);
        self.words[at] ^= bit;
        let one_more = self.words[at] & bit != 0;
        for before in &mut self.before[at + 1..(p + 1) * self.per_row] {
            *before = if one_more { *before + 1 } else { *before - 1 };
        }
    }
}
