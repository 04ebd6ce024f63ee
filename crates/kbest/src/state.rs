//! Numbers to bytes and back: the state a trainer needs to resume after it was stopped.
//!
//! Little-endian on every platform. The reader trusts nothing: every length is compared with the bytes that are left
//! before anything is allocated.

use kbest_core::{Error, Result};

/// Collects numbers.
#[derive(Debug, Clone, Default)]
pub struct StateWriter {
    bytes: Vec<u8>,
}

/// Returns them in the same order.
#[derive(Debug, Clone)]
pub struct StateReader<'a> {
    rest: &'a [u8],
}

/// A number that can be written.
pub trait Number: Copy {
    /// Appends its bytes.
    fn write(self, bytes: &mut Vec<u8>);

    /// Reads it from the front of the bytes.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &mut &[u8]) -> Option<Self> {
                let (number, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(<$type>::from_le_bytes(*number))
            }
        }
    )*};
}

numbers!(u32, u64, f32, f64);

impl StateWriter {
    /// An empty state.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number.
    pub fn number<N: Number>(&mut self, number: N) {
        number.write(&mut self.bytes);
    }

    /// Adds a list of numbers and its length.
    pub fn list<N: Number>(&mut self, list: impl ExactSizeIterator<Item = N>) {
        self.number(list.len() as u64);
        list.for_each(|number| self.number(number));
    }

    /// Adds bytes and their number.
    pub fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// The bytes written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<'a> StateReader<'a> {
    /// Reads the bytes of a [`StateWriter`].
    pub fn new(bytes: &'a [u8]) -> Self {
        StateReader { rest: bytes }
    }

    /// The next number.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is none.
    pub fn number<N: Number>(&mut self) -> Result<N> {
        N::read(&mut self.rest).ok_or_else(|| Error::shape("training state", "more bytes", "its end"))
    }

    /// The next list.
    ///
    /// # Errors
    /// [`Error::Shape`] if it is longer than the bytes that are left.
    pub fn list<N: Number>(&mut self) -> Result<Vec<N>> {
        let len: u64 = self.number()?;
        let left = self.rest.len() / size_of::<N>();
        if len > left as u64 {
            return Err(Error::shape("training state", format!("a list of at most {left} numbers"), len));
        }
        (0..len).map(|_| self.number()).collect()
    }

    /// The next bytes that [`StateWriter::text`] wrote.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are fewer.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let len: u64 = self.number()?;
        let split = usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len));
        let (text, rest) = split.ok_or_else(|| Error::shape("training state", "more bytes", "its end"))?;
        self.rest = rest;
        Ok(text)
    }

    /// The next bytes as text.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are fewer, or they are no UTF-8.
    pub fn str(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.text()?).map_err(|_| Error::shape("training state", "UTF-8", "other bytes"))
    }

    /// The next list, read into one of the same length.
    ///
    /// # Errors
    /// [`Error::Shape`] if the lengths differ.
    pub fn list_into<N: Number>(&mut self, list: &mut Vec<N>) -> Result<()> {
        let restored = self.list()?;
        if restored.len() != list.len() {
            let expected = format!("a list of {} numbers", list.len());
            return Err(Error::shape("training state", expected, restored.len()));
        }
        *list = restored;
        Ok(())
    }

    /// Ends reading.
    ///
    /// # Errors
    /// [`Error::Shape`] if there is anything left.
    pub fn finish(self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(Error::shape("training state", "its end", format!("{left} more bytes"))),
        }
    }

    /// Whether everything has been read.
    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_no_more() {
        let mut writer = StateWriter::new();
        writer.number(7u64);
        writer.list([1.5f32, -0.0].into_iter());
        writer.list([3u32; 0].into_iter());
        writer.number(2.5f64);
        writer.text("ä".as_bytes());
        writer.text(&[0xff]);
        let bytes = writer.into_bytes();
        let mut reader = StateReader::new(&bytes);
        assert_eq!(reader.number::<u64>(), Ok(7));
        assert_eq!(reader.list::<f32>(), Ok(vec![1.5, -0.0]));
        assert_eq!(reader.list::<u32>(), Ok(vec![]));
        assert_eq!((reader.number::<f64>(), reader.is_done()), (Ok(2.5), false));
        assert_eq!(reader.str(), Ok("ä"));
        assert!(reader.clone().str().is_err(), "no UTF-8");
        assert_eq!((reader.text(), reader.is_done()), (Ok(&[0xff][..]), true));
        assert!(reader.number::<u32>().is_err());
        assert!(reader.finish().is_ok() && StateReader::new(&[0]).finish().is_err());
        assert!(StateReader::new(&u64::MAX.to_le_bytes()).list::<u32>().is_err());
        assert!(StateReader::new(&u64::MAX.to_le_bytes()).text().is_err());
    }
}
