//! Gzip archives, with a limit for those that unpack to far more than text would.
//!
//! A few megabytes can unpack to terabytes of zeros. Text seldom shrinks to less than a hundredth, so an archive that has
//! given more than 256 MiB, and more than 250 times its own size, is refused.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Archives may unpack to this many bytes, whatever their size.
const ALWAYS: u64 = 1 << 28;

/// Beyond that, to this many times their size.
const TIMES: u64 = 250;

/// Counts what is read.
struct Counted<R> {
    input: R,
    count: Arc<AtomicU64>, // shared, because the decoder owns this
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The contents of an archive of one or more members.
pub(crate) struct Unpacked<R> {
    decoder: flate2::bufread::MultiGzDecoder<BufReader<Counted<R>>>,
    packed: Arc<AtomicU64>,
    unpacked: u64,
    always: u64,
}

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::with_limit(input, ALWAYS)
    }

    fn with_limit(input: R, always: u64) -> Self {
        let packed = Arc::new(AtomicU64::new(0));
        let input = BufReader::with_capacity(1 << 16, Counted { input, count: packed.clone() });
        Unpacked { decoder: flate2::bufread::MultiGzDecoder::new(input), packed, unpacked: 0, always }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.unpacked += read as u64;
        if self.unpacked > self.always && self.unpacked > TIMES * self.packed.load(Ordering::Relaxed) {
            let problem = format!("one that unpacks to more than {TIMES} times its size");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_grows_too_much_is_refused() {
        let zeros = packed(&vec![0; 1 << 20]);
        let mut bytes = Vec::new();
        assert!(Unpacked::new(&zeros[..]).read_to_end(&mut bytes).is_ok());
        assert_eq!(bytes, vec![0; 1 << 20]);
        let error = Unpacked::with_limit(&zeros[..], 1 << 16).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let mut random = kbest_core::random::Random::new(1);
        let text: Vec<u8> = (0..1 << 20).map(|_| random.below(256) as u8).collect();
        assert!(Unpacked::with_limit(&packed(&text)[..], 1 << 16).read_to_end(&mut Vec::new()).is_ok());
    }
}
