//! Which label pairs are exceptions: a bit each, so that most look-ups in sparse edges end after one word.

/// With more labels than this the bits would take more memory than they are worth (32 MiB).
const LARGEST: usize = 1 << 14;

/// A bit a label pair, and where the exceptions of each word of bits begin.
#[derive(Debug, Clone)]
pub(super) struct Bitmap {
    words: Vec<u64>,  // L rows of `per_row` words
    starts: Vec<u32>, // as many: the number of exceptions before the word
    per_row: usize,
}

impl Bitmap {
    /// From the exceptions of every row, ascending; `None` with too many labels.
    pub(super) fn new<'a>(labels: usize, leaving: impl Fn(usize) -> &'a [u32]) -> Option<Self> {
        if labels > LARGEST {
            return None;
        }
        let per_row = labels.div_ceil(64);
        let mut words = vec![0u64; labels * per_row];
        let mut starts = vec![0u32; labels * per_row];
        let mut exceptions = 0u32;
        for p in 0..labels {
            let row = &mut words[p * per_row..(p + 1) * per_row];
            for &y in leaving(p) {
                row[y as usize / 64] |= 1 << (y % 64);
            }
            for (word, start) in row.iter().zip(&mut starts[p * per_row..]) {
                *start = exceptions;
                exceptions += word.count_ones();
            }
        }
        Some(Bitmap { words, starts, per_row })
    }

    /// The place of a pair among all exceptions, row by row, if it is one.
    #[inline(always)]
    pub(super) fn find(&self, p: usize, y: usize) -> Option<usize> {
        let at = p * self.per_row + y / 64;
        let (word, bit) = (self.words[at], y % 64);
        if word >> bit & 1 == 0 {
            return None;
        }
        let before = word & ((1 << bit) - 1);
        Some(self.starts[at] as usize + before.count_ones() as usize)
    }
}
