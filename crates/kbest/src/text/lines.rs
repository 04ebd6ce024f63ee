//! Numbered lines of a file, which may be compressed.

use kbest_core::{Error, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER: usize = 1 << 16;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Limits that tell text from garbage before memory is exhausted. `docs/text.md` states them.
pub(super) const MOST_COLUMNS: usize = 1 << 16;
const LONGEST_LINE: usize = 1 << 26;
const LONGEST_SEQUENCE: u64 = 1 << 30;

/// What to do before the input is read, which may take long.
type BeforeWaiting = Box<dyn FnMut() + Send>;

/// An input that announces that it is about to be read.
struct Announced<R> {
    input: R,
    then: Arc<Mutex<Option<BeforeWaiting>>>,
}

impl<R: Read> Read for Announced<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if let Some(then) = &mut *self.then.lock().unwrap_or_else(PoisonError::into_inner) {
            then();
        }
        self.input.read(bytes)
    }
}

/// Lines as text, one at a time, in one buffer.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    packed: bool,
    file: String,
    number: u64, // of the line in the buffer
    bytes: u64,  // of the lines since `begin`
    first: u64,  // of the first non-blank line since `begin`; 0 if there was none
    buffer: Vec<u8>,
    before_waiting: Arc<Mutex<Option<BeforeWaiting>>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("file", &self.file)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Lines {
    /// Opens a file, compressed or not.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let input = File::open(path).map_err(|error| Error::io(&name, 0, error))?;
        let named_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        Self::unpacking(input, name, named_gzip)
    }

    /// Reads from anything, compressed or not.
    pub(super) fn new(input: impl Read + Send + 'static, file: String) -> Result<Self> {
        Self::unpacking(input, file, false)
    }

    /// Compressed if its name or its first bytes say so.
    fn unpacking(input: impl Read + Send + 'static, file: String, named_gzip: bool) -> Result<Self> {
        let before_waiting = Arc::new(Mutex::new(None));
        let mut input = Announced { input, then: before_waiting.clone() };
        let mut head = Vec::with_capacity(GZIP_MAGIC.len());
        let taken = input.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head);
        taken.map_err(|error| Error::io(&file, 0, error))?;
        let packed = named_gzip || head == GZIP_MAGIC;
        let whole = Cursor::new(head).chain(input);
        let input: Box<dyn BufRead + Send> =
            if packed { unpack(whole, &file)? } else { Box::new(BufReader::with_capacity(BUFFER, whole)) };
        Ok(Lines { input, packed, file, number: 0, bytes: 0, first: 0, buffer: Vec::new(), before_waiting })
    }

    /// Has `then` called before each attempt to read more of the input.
    pub(super) fn before_waiting(&self, then: BeforeWaiting) {
        *self.before_waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(then);
    }

    /// The next sequence begins with the next non-blank line.
    pub(super) fn begin(&mut self) {
        (self.first, self.bytes) = (0, 0);
    }

    /// The line that the sequence begins with.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The next line without its end; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        self.buffer.clear();
        let read = self.input.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut self.buffer);
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => self.number += 1,
            Err(error) => return Err(self.broken(error)),
        }
        self.bytes += self.buffer.len() as u64;
        if self.buffer.len() > LONGEST_LINE {
            return Err(self.error("a line of at most 64 MiB", "a longer one"));
        }
        if self.bytes > LONGEST_SEQUENCE {
            return Err(self.error("a sequence of at most 1 GiB", "a longer one"));
        }
        let mut line = self.buffer.as_slice();
        line = line.strip_suffix(b"\n").unwrap_or(line);
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.number == 1 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if self.first == 0 && !line.trim_ascii().is_empty() {
            self.first = self.number;
        }
        match std::str::from_utf8(line) {
            Ok(text) => Ok(Some(text)),
            Err(invalid) => {
                let at = invalid.valid_up_to();
                let got = format!("byte 0x{:02x} at column {}", line[at], at + 1);
                Err(Error::data(&self.file, self.number, "UTF-8", got))
            }
        }
    }

    /// A damaged archive is an error in the data, anything else an error of the system.
    fn broken(&self, error: io::Error) -> Error {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        if self.packed && matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) {
            let got =
                if error.kind() == UnexpectedEof { "a truncated one".into() } else { error.to_string() };
            return Error::data(&self.file, self.number, "a complete gzip archive", got);
        }
        Error::io(&self.file, self.number, error)
    }

    /// The name of the file.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// The number of the last line, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// An error about the last line.
    pub(super) fn error(&self, expected: impl ToString, got: impl ToString) -> Error {
        Error::data(&self.file, self.number, expected, got)
    }
}

#[cfg(feature = "gzip")]
fn unpack(input: impl Read + Send + 'static, _: &str) -> Result<Box<dyn BufRead + Send>> {
    Ok(Box::new(BufReader::with_capacity(BUFFER, crate::unpack::Unpacked::new(input))))
}

#[cfg(not(feature = "gzip"))]
fn unpack(_: impl Read + Send + 'static, file: &str) -> Result<Box<dyn BufRead + Send>> {
    Err(Error::data(file, 0, "text (this build does not support gzip)", "a gzip archive"))
}
