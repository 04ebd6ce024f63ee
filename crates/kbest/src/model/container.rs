//! Named arrays in one file: the container of model files and checkpoints.
//!
//! **What.** A header, a table of sections (name, offset, length, checksum), then the sections, each aligned to a
//! multiple of 64 bytes; all numbers little-endian. `docs/formats/model-file.md` describes it byte by byte. Written
//! completely or not at all; read from a map of the file, or from bytes.
//!
//! **Why a format of our own.** Arrays are used in place in the map, so opening copies nothing; and every byte of the
//! file is checked, including padding: there is one way to write a given content, but for checksums of blocks, which may be
//! there or not, and only that is accepted.
//!
//! **Cost.** Opening reads the file once, for the checksums (CRC-32); a large file can be opened so that each of its blocks is
//! read when it is first used ([`Reading::WhenUsed`]). On big-endian machines arrays are copied.
//!
//! **Not checked here.** What the arrays mean. A checksum detects damage, not malice: whoever reads an array must check
//! each number before it is used.

use super::whole_file::write_whole;
use crate::checked::{BLOCK, Blocks, Checked, Damage};
use crate::memory::Blob;
use bytemuck::Pod;
use kbest_core::{Error, Result, quoted};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Ends like that of PNG: a file that was transferred as text no longer begins with it.
const MAGIC: &[u8; 8] = b"kbest\x1a\r\n";

/// Sections begin at multiples of this; the header and the entries of the table have this length.
const ALIGNMENT: usize = 64;

/// The section with the checksums of blocks: of those of the first section, then of the second, and so on.
const BLOCKS: &str = "blocks";

/// Files with this many bytes of sections have it.
const BLOCKS_FROM: usize = 1 << 20;

/// Several times as many sections as any file has. The table is searched from its beginning for each name.
const MOST_SECTIONS: usize = 256;

const LONGEST_KIND: usize = 16;
const LONGEST_NAME: usize = 32;

/// The kind of a file, and the version of its sections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// A word, at most 16 bytes long.
    pub(crate) name: &'static str,
    /// The version that is written, and the newest that is read.
    pub(crate) version: u32,
}

/// When sections are compared with their checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// All of them, before anything is used.
    Whole,
    /// Each block before it is first used. Where there are no checksums of blocks, as in small and in old files, all of them
    /// before anything is used.
    WhenUsed,
}

/// Values that can be stored in a file: words of one size without padding.
pub(crate) trait Plain: Pod + Send + Sync {
    /// Bytes of a word.
    const WORD: usize;
}

impl Plain for u8 {
    const WORD: usize = 1;
}
impl Plain for u32 {
    const WORD: usize = 4;
}
impl Plain for u64 {
    const WORD: usize = 8;
}
impl Plain for f32 {
    const WORD: usize = 4;
}
impl Plain for f64 {
    const WORD: usize = 8;
}

/// Converts between this machine's byte order and that of files.
fn reorder<T: Plain>(values: &mut [T]) {
    bytemuck::cast_slice_mut::<T, u8>(values).chunks_exact_mut(T::WORD).for_each(<[u8]>::reverse);
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    name: String,
    length: usize,
    checksum: u32,
}

/// Header and table, and where each section begins; `None` if the sum of the lengths overflows.
fn header(kind: &[u8], version: u32, entries: &[Entry]) -> Option<(Vec<u8>, Vec<usize>)> {
    let mut table = Vec::new();
    let mut starts = Vec::new();
    let mut end = ALIGNMENT * (1 + entries.len());
    for Entry { name, length, checksum } in entries {
        let start = end.checked_next_multiple_of(ALIGNMENT)?;
        end = start.checked_add(*length)?;
        starts.push(start);
        let entry_end = table.len() + ALIGNMENT;
        table.extend_from_slice(name.as_bytes());
        table.resize(entry_end - ALIGNMENT + LONGEST_NAME, 0);
        table.extend_from_slice(&(start as u64).to_le_bytes());
        table.extend_from_slice(&(*length as u64).to_le_bytes());
        table.extend_from_slice(&checksum.to_le_bytes());
        table.resize(entry_end, 0);
    }
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(kind);
    head.resize(MAGIC.len() + LONGEST_KIND, 0);
    head.extend_from_slice(&version.to_le_bytes());
    head.extend_from_slice(&(entries.len() as u32).to_le_bytes());
    head.extend_from_slice(&(end as u64).to_le_bytes());
    head.resize(ALIGNMENT - 4, 0);
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&head);
    checksum.update(&table);
    head.extend_from_slice(&checksum.finalize().to_le_bytes());
    head.extend_from_slice(&table);
    Some((head, starts))
}

/// Collects sections and writes them.
#[derive(Debug)]
pub(crate) struct ContainerWriter<'a> {
    kind: Kind,
    sections: Vec<(&'static str, Cow<'a, [u8]>)>,
}

impl<'a> ContainerWriter<'a> {
    /// No sections yet.
    pub(crate) fn new(kind: Kind) -> Self {
        ContainerWriter { kind, sections: Vec::new() }
    }

    /// Adds a section. Names are unique and at most 32 bytes long.
    pub(crate) fn section<T: Plain>(&mut self, name: &'static str, values: impl Into<Cow<'a, [T]>>) {
        debug_assert!(name.len() <= LONGEST_NAME && self.sections.iter().all(|(other, _)| *other != name));
        let mut values: Cow<'a, [T]> = values.into();
        if cfg!(target_endian = "big") {
            reorder(values.to_mut());
        }
        let bytes = match values {
            Cow::Borrowed(values) => Cow::Borrowed(bytemuck::cast_slice(values)),
            Cow::Owned(values) => Cow::Owned(bytemuck::cast_slice(&values).to_vec()),
        };
        self.sections.push((name, bytes));
    }

    /// Writes the file, completely or not at all.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        write_whole(path, |out| self.write(out))
    }

    /// The bytes of the file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes).expect("writing to a vector cannot fail");
        bytes
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (mut entries, mut blocks) = (Vec::new(), Vec::new());
        for (name, bytes) in &self.sections {
            let mut whole = crc32fast::Hasher::new();
            for block in bytes.chunks(BLOCK) {
                let mut checksum = crc32fast::Hasher::new();
                checksum.update(block);
                whole.combine(&checksum);
                blocks.extend_from_slice(&checksum.finalize().to_le_bytes());
            }
            let checksum = whole.finalize();
            entries.push(Entry { name: (*name).to_owned(), length: bytes.len(), checksum });
        }
        let mut contents: Vec<&[u8]> = self.sections.iter().map(|(_, bytes)| &**bytes).collect();
        if contents.iter().map(|bytes| bytes.len()).sum::<usize>() >= BLOCKS_FROM {
            let checksum = crc32fast::hash(&blocks);
            entries.push(Entry { name: BLOCKS.to_owned(), length: blocks.len(), checksum });
            contents.push(&blocks);
        }
        let (head, starts) = header(self.kind.name.as_bytes(), self.kind.version, &entries)
            .expect("the lengths of sections in memory do not overflow");
        out.write_all(&head)?;
        let mut end = head.len();
        for (bytes, start) in contents.into_iter().zip(starts) {
            out.write_all(&[0; ALIGNMENT][..start - end])?;
            out.write_all(bytes)?;
            end = start + bytes.len();
        }
        Ok(())
    }
}

/// The sections of a file.
#[derive(Debug)]
pub(crate) struct Container {
    file: String, // the name that errors use
    sections: Vec<Section>,
}

#[derive(Debug)]
struct Section {
    name: String,
    bytes: Blob<u8>,
    blocks: Option<Arc<Blocks>>, // if they are checked when they are used
}

impl Container {
    /// Maps a file and checks its bytes. The file must not be changed in place while the container or one of its arrays
    /// is in use; replacing it by another is safe. Anything but a regular file (such as a pipe) is read into memory,
    /// and so is any file without the feature `mmap`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Version`] for a newer version, [`Error::Data`] for anything but an undamaged file of
    /// this kind.
    pub(crate) fn open(path: &Path, kind: Kind) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Error::io(&*name, 0, error))?;
        Self::over(file, Vec::new(), &name, kind, Reading::Whole)
    }

    /// As [`Container::open`], for a file of which `head` has already been read; `name` is its name in errors.
    pub(crate) fn over(
        mut file: File,
        mut head: Vec<u8>,
        name: &str,
        kind: Kind,
        reading: Reading,
    ) -> Result<Self> {
        let mut load = || {
            if let Some(map) = mapped(&file)? {
                return Ok(map);
            }
            file.read_to_end(&mut head)?;
            Ok(aligned(&head))
        };
        let bytes = load().map_err(|error| Error::io(name, 0, error))?;
        Self::check(bytes, name, kind, reading)
    }

    /// As [`Container::open`], from the bytes of a file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`Container::open`], except [`Error::Io`].
    pub(crate) fn from_bytes(bytes: &[u8], name: &str, kind: Kind) -> Result<Self> {
        Self::check(aligned(bytes), name, kind, Reading::Whole)
    }

    fn check(bytes: Blob<u8>, name: &str, kind: Kind, reading: Reading) -> Result<Self> {
        let wrong = |expected: &str, got: String| Error::data(name, 0, expected, got);
        let table = Table::read(&bytes, name, kind)?;
        let mut sections: Vec<Section> = Vec::new();
        let mut end = ALIGNMENT * (1 + table.entries.len());
        let mut checksums = Vec::new();
        for (Entry { name, length, checksum }, start) in table.entries.into_iter().zip(table.starts) {
            if bytes[end..start].iter().any(|&byte| byte != 0) {
                return Err(wrong("zeros between sections", format!("other bytes before section `{name}`")));
            }
            end = start + length;
            if sections.iter().any(|other| other.name == name) {
                return Err(wrong("each section once", format!("section `{name}` twice")));
            }
            let part = bytes.project(|bytes| bytes.get(start..end));
            let bytes = part.expect("the sections of the table are within the file");
            sections.push(Section { name, bytes, blocks: None });
            checksums.push(checksum);
        }
        let mut container = Container { file: name.to_owned(), sections };
        if container.sections.last().is_some_and(|last| last.name == BLOCKS) {
            let last = container.sections.len() - 1;
            container.compare(last, checksums[last])?;
            container.watch(&checksums)?;
            container.sections.pop();
            // Elsewhere arrays are copied.
            if reading == Reading::Whole || cfg!(target_endian = "big") {
                container.check_all()?;
            }
        } else {
            checksums.into_iter().enumerate().try_for_each(|(i, checksum)| container.compare(i, checksum))?;
        }
        Ok(container)
    }

    fn compare(&self, section: usize, checksum: u32) -> Result<()> {
        let Section { name, bytes, .. } = &self.sections[section];
        if crc32fast::hash(bytes) == checksum { Ok(()) } else { Err(self.damaged(name)) }
    }

    fn damaged(&self, section: &str) -> Error {
        self.error("an undamaged file", format!("a section `{section}` that does not match its checksum"))
    }

    /// From now on the blocks of all sections but the last, which has their checksums, are checked when they are used. Together
    /// those of a section must make up its own checksum, which can be told without reading it.
    fn watch(&mut self, of_sections: &[u32]) -> Result<()> {
        let checksums = self.array::<u32>(BLOCKS)?;
        let wrong = || self.error("one checksum for each block", format!("{} of them", checksums.len()));
        let damage = Damage::of(&self.file);
        let (mut end, mut all) = (0, Vec::new());
        for (section, &of_section) in self.sections.iter().rev().skip(1).rev().zip(of_sections) {
            let start = end;
            end += section.bytes.len().div_ceil(BLOCK);
            let own = checksums.project(|checksums| checksums.get(start..end)).ok_or_else(wrong)?;
            if combined(&own, section.bytes.len()) != of_section {
                let got = format!("others in section `{}`", section.name);
                return Err(self.error("checksums of blocks that make up those of sections", got));
            }
            all.push(Blocks::new(section.bytes.clone(), own, damage.clone()).ok_or_else(wrong)?);
        }
        if end != checksums.len() {
            return Err(wrong());
        }
        for (section, blocks) in self.sections.iter_mut().zip(all) {
            section.blocks = Some(Arc::new(blocks));
        }
        Ok(())
    }

    /// Checks all blocks that are not checked yet.
    pub(crate) fn check_all(&mut self) -> Result<()> {
        for i in 0..self.sections.len() {
            if self.sections[i].blocks.take().is_some_and(|blocks| !blocks.all_are_sound()) {
                return Err(self.damaged(&self.sections[i].name));
            }
        }
        Ok(())
    }

    /// Rejects sections that are not in this list.
    pub(crate) fn expect_only(&self, names: &[&str]) -> Result<()> {
        match self.sections.iter().find(|section| !names.contains(&section.name.as_str())) {
            None => Ok(()),
            Some(section) => {
                Err(self.error("only known sections", format!("section {}", quoted(&section.name))))
            }
        }
    }

    /// Whether the section exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.sections.iter().any(|section| section.name == name)
    }

    /// The values of a section, all of them checked.
    pub(crate) fn array<T: Plain>(&self, name: &str) -> Result<Blob<T>> {
        let (values, blocks) = self.values(name)?;
        if let Some(blocks) = blocks
            && !blocks.all_are_sound()
        {
            return Err(self.damaged(name));
        }
        Ok(values)
    }

    /// The values of a section, checked when they are used if the file was opened so.
    pub(crate) fn checked<T: Plain>(&self, name: &str) -> Result<Checked<T>> {
        let (values, blocks) = self.values(name)?;
        Ok(match blocks {
            Some(blocks) => Checked::watched(values, blocks.clone()),
            None => values.into(),
        })
    }

    fn values<T: Plain>(&self, name: &str) -> Result<(Blob<T>, Option<&Arc<Blocks>>)> {
        let found = self.sections.iter().find(|section| section.name == name);
        let Section { bytes, blocks, .. } =
            found.ok_or_else(|| self.error(format!("a section `{name}`"), "none"))?;
        if bytes.len() % size_of::<T>() != 0 {
            let expected = format!("a section `{name}` of values of {} bytes", size_of::<T>());
            return Err(self.error(expected, format!("{} bytes", bytes.len())));
        }
        let values = if cfg!(target_endian = "big") { None } else { borrowed(bytes) };
        let values = values.unwrap_or_else(|| {
            let mut values = copied(bytes);
            if cfg!(target_endian = "big") {
                reorder(&mut values);
            }
            values.into()
        });
        Ok((values, blocks.as_ref()))
    }

    /// The text of a section.
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        let bytes = self.array::<u8>(name)?;
        let text = std::str::from_utf8(&bytes);
        text.map(str::to_owned).map_err(|_| self.error(format!("UTF-8 in section `{name}`"), "other bytes"))
    }

    /// An error about the contents.
    pub(crate) fn error(&self, expected: impl ToString, got: impl ToString) -> Error {
        Error::data(&*self.file, 0, expected, got)
    }
}

/// The checksum of a section of this length from those of its blocks.
fn combined(blocks: &[u32], length: usize) -> u32 {
    let mut whole = crc32fast::Hasher::new();
    for (i, &checksum) in blocks.iter().enumerate() {
        let length = BLOCK.min(length - i * BLOCK);
        whole.combine(&crc32fast::Hasher::new_with_initial_len(checksum, length as u64));
    }
    whole.finalize()
}

/// Header and table of a file.
struct Table {
    entries: Vec<Entry>,
    starts: Vec<usize>,
}

impl Table {
    /// Reads them, and compares them with what a writer would have written: this covers the checksum, the offsets, the
    /// length of the file, and bytes that must be zero.
    fn read(bytes: &[u8], name: &str, kind: Kind) -> Result<Self> {
        let wrong = |expected: &str, got: String| Error::data(name, 0, expected, got);
        let damaged =
            || wrong("an undamaged header", "one that does not match its checksum, or the file".into());
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(wrong("a kbest file", format!("one that begins with {}", quoted_bytes(bytes))));
        };
        if bytes.len() < ALIGNMENT {
            return Err(wrong("a header of 64 bytes", format!("a file of {}", bytes.len())));
        }
        let found_kind = until_zero(&rest[..LONGEST_KIND]);
        if found_kind != kind.name.as_bytes() {
            return Err(wrong(&format!("a file of kind `{}`", kind.name), quoted_bytes(found_kind)));
        }
        let version = number(bytes, 24, 4) as u32;
        if version > kind.version {
            return Err(Error::Version { file: name.to_owned(), found: version, supported: kind.version });
        }
        if version == 0 {
            return Err(wrong("a version from 1 on", "0".into()));
        }
        let length = number(bytes, 32, 8);
        if length != bytes.len() as u64 {
            let expected = format!("{length} bytes, as the header says");
            return Err(wrong(&expected, bytes.len().to_string()));
        }
        let sections = number(bytes, 28, 4) as usize;
        if sections > MOST_SECTIONS {
            return Err(wrong(&format!("at most {MOST_SECTIONS} sections"), sections.to_string()));
        }
        let table = bytes[ALIGNMENT..].chunks_exact(ALIGNMENT);
        if sections > table.len() {
            return Err(damaged());
        }
        let entries = table.take(sections).map(entry).collect::<Option<Vec<_>>>().ok_or_else(damaged)?;
        let (head, starts) = header(found_kind, version, &entries).ok_or_else(damaged)?;
        if !bytes.starts_with(&head) {
            return Err(damaged());
        }
        Ok(Table { entries, starts })
    }
}

fn entry(bytes: &[u8]) -> Option<Entry> {
    let name = std::str::from_utf8(until_zero(&bytes[..LONGEST_NAME])).ok()?.to_owned();
    let length = usize::try_from(number(bytes, 40, 8)).ok()?;
    Some(Entry { name, length, checksum: number(bytes, 48, 4) as u32 })
}

/// The length of the file according to its header; 0 if there is not enough of it.
pub(crate) fn stated_length(head: &[u8]) -> u64 {
    if head.len() < 40 { 0 } else { number(head, 32, 8) }
}

/// A little-endian number of up to eight bytes.
fn number(bytes: &[u8], start: usize, length: usize) -> u64 {
    bytes[start..start + length].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn quoted_bytes(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_KIND)]))
}

/// The bytes of a regular file, mapped.
#[cfg(feature = "mmap")]
fn mapped(file: &File) -> io::Result<Option<Blob<u8>>> {
    let data = file.metadata()?;
    // An empty file cannot be mapped.
    if data.is_file() && data.len() > 0 { Blob::map(file).map(Some) } else { Ok(None) }
}

#[cfg(not(feature = "mmap"))]
fn mapped(_: &File) -> io::Result<Option<Blob<u8>>> {
    Ok(None)
}

/// A copy whose first byte is aligned for any value.
fn aligned(bytes: &[u8]) -> Blob<u8> {
    let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    let bytes = Blob::from(words).project(|words| bytemuck::cast_slice(words).get(..bytes.len()));
    bytes.expect("the words are as long as the bytes")
}

/// The bytes as values, if they are aligned for them.
fn borrowed<T: Plain>(bytes: &Blob<u8>) -> Option<Blob<T>> {
    bytes.project(|bytes| bytemuck::try_cast_slice(bytes).ok())
}

fn copied<T: Plain>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: Kind = Kind { name: "test", version: 3 };

    fn example() -> Vec<u8> {
        let mut writer = ContainerWriter::new(TEST);
        writer.section("words", &[1u32, 0x0102_0304][..]);
        writer.section("empty", &[][..] as &[u64]);
        writer.section("reals", vec![-1.5f64; 9]);
        writer.section("text", "täxt".as_bytes());
        writer.to_bytes()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = example();
        assert_eq!(bytes[64 * 5..][..8], [1, 0, 0, 0, 4, 3, 2, 1], "little-endian everywhere");
        let container = Container::from_bytes(&bytes, "t", TEST).unwrap();
        assert_eq!(*container.array::<u32>("words").unwrap(), [1, 0x0102_0304]);
        assert!(container.array::<u64>("empty").unwrap().is_empty());
        assert_eq!(*container.array::<f64>("reals").unwrap(), [-1.5; 9]);
        assert_eq!(container.text("text").unwrap(), "täxt");
        assert!(container.has("text") && !container.has("other"));
        assert!(container.expect_only(&["words", "empty", "reals", "text"]).is_ok());
        for error in [
            container.expect_only(&["words", "empty", "reals"]).unwrap_err(),
            container.array::<u32>("other").unwrap_err(),
            container.array::<f64>("text").unwrap_err(),
            container.text("reals").unwrap_err(),
        ] {
            assert!(error.to_string().starts_with("t: expected "), "{error}");
        }
    }

    #[test]
    fn no_byte_may_change_and_none_be_missing() {
        let bytes = example();
        for length in 0..bytes.len() {
            assert!(Container::from_bytes(&bytes[..length], "t", TEST).is_err(), "{length} bytes");
        }
        for i in 0..bytes.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[i] ^= change;
                assert!(Container::from_bytes(&damaged, "t", TEST).is_err(), "byte {i}");
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Container::from_bytes(&longer, "t", TEST).is_err());
    }

    #[test]
    fn the_number_of_sections_is_limited() {
        let mut file = vec![0; ALIGNMENT * 100_001];
        file[..MAGIC.len()].copy_from_slice(MAGIC);
        file[MAGIC.len()..][..4].copy_from_slice(b"test");
        file[24] = TEST.version as u8;
        file[28..32].copy_from_slice(&100_000u32.to_le_bytes());
        let length = file.len() as u64;
        file[32..40].copy_from_slice(&length.to_le_bytes());
        let error = Container::from_bytes(&file, "t", TEST).unwrap_err();
        assert_eq!(error.to_string(), "t: expected at most 256 sections, got 100000");
    }

    #[test]
    fn versions_and_kinds() {
        let error = |kind| Container::from_bytes(&example(), "t", kind).unwrap_err().to_string();
        let older = error(Kind { name: "test", version: 2 });
        assert_eq!(older, "t: the file is version 3, this program reads up to 2");
        let other = error(Kind { name: "model", version: 3 });
        assert_eq!(other, "t: expected a file of kind `model`, got \"test\"");
        assert!(Container::from_bytes(&example(), "t", Kind { name: "test", version: 4 }).is_ok());
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut writer = ContainerWriter::new(TEST);
        writer.section("words", &[1u32, 2][..]);
        writer.save(&path).unwrap();
        let first = Container::open(&path, TEST).unwrap().array::<u32>("words").unwrap();
        let mut writer = ContainerWriter::new(TEST);
        writer.section("words", &[3u32][..]);
        writer.save(&path).unwrap();
        assert_eq!(*Container::open(&path, TEST).unwrap().array::<u32>("words").unwrap(), [3]);
        assert_eq!(*first, [1, 2], "a map of the old file stays valid");
        assert!(write_whole(&path, |_| Err(io::Error::other("disk full"))).is_err());
        assert_eq!(*Container::open(&path, TEST).unwrap().array::<u32>("words").unwrap(), [3]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
        assert!(matches!(Container::open(&folder.path().join("none"), TEST), Err(Error::Io { .. })));
        assert!(matches!(Container::open(folder.path(), TEST), Err(Error::Io { .. })));
        std::fs::write(&path, []).unwrap();
        assert!(matches!(Container::open(&path, TEST), Err(Error::Data { .. })));
    }

    #[test]
    fn the_other_order_of_bytes() {
        let mut values = [0x0102_0304u32, 5];
        reorder(&mut values);
        assert_eq!(values, [0x0403_0201, 5 << 24]);
        assert_eq!(copied::<u32>(bytemuck::cast_slice(&values)), values);
        let mut bytes = [1u8, 2];
        reorder(&mut bytes);
        assert_eq!(bytes, [1, 2]);
    }
}
