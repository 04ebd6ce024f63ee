//! Files of named arrays: `.npz`, `.npy`, `.safetensors`, distinguished by their first bytes.
//!
//! Hostile files cost no more than their own size: before an array is read, its claimed size is checked against the
//! bytes that can be present (an archive entry cannot expand to more than 1,032 times its compressed size, DEFLATE's
//! limit), and arrays are read in chunks ([`super::elements`]).

use super::array::Array;
use super::elements::{self, Kind};
use super::npy;
use crate::failure::{Failure, Result};
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use zip::ZipArchive;

/// The most bytes that one byte of DEFLATE data can expand to: a match of 258 bytes takes two bits.
const DEFLATE_LIMIT: u64 = 1032;

/// The arrays of one file.
#[derive(Debug, Default)]
pub(crate) struct Arrays {
    /// The name of the file, for messages.
    pub(crate) file: String,
    /// The arrays by key.
    pub(crate) arrays: BTreeMap<String, Array>,
}

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Reads all arrays of a file, or of stdin if there is no path or it is `-`. Only `known` keys are accepted; the array
/// of an `.npy` file gets the key `bare`.
pub(crate) fn read(path: Option<&Path>, known: &[&str], bare: &str) -> Result<Arrays> {
    match path.filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let file = path.display().to_string();
            let open = || -> io::Result<_> {
                let handle = File::open(path)?;
                if handle.metadata()?.is_dir() {
                    return Err(io::Error::other("is a folder"));
                }
                Ok(handle)
            };
            let handle = open().map_err(|error| Failure::system("read", path, error))?;
            let regular = handle.metadata().is_ok_and(|data| data.is_file());
            if !regular {
                return whole(handle, file, known, bare); // a pipe cannot seek
            }
            arrays_of(&mut BufReader::with_capacity(1 << 16, handle), file, known, bare)
        }
        None => whole(io::stdin().lock(), "<stdin>".into(), known, bare),
    }
}

/// Reads a stream to its end, then its arrays.
fn whole(mut stream: impl Read, file: String, known: &[&str], bare: &str) -> Result<Arrays> {
    let mut bytes = Vec::new();
    let result = stream.read_to_end(&mut bytes);
    result.map_err(|error| Failure::input(&file, format!("cannot be read: {error}")))?;
    arrays_of(&mut Cursor::new(bytes), file, known, bare)
}

fn arrays_of(reader: &mut dyn ReadSeek, file: String, known: &[&str], bare: &str) -> Result<Arrays> {
    match read_any(reader, known, bare) {
        Ok(arrays) => Ok(Arrays { file, arrays }),
        Err(problem) => Err(Failure::Input { file, problem }),
    }
}

fn read_any(
    reader: &mut dyn ReadSeek,
    known: &[&str],
    bare: &str,
) -> Result<BTreeMap<String, Array>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let mut start = Vec::new();
    reader.take(9).read_to_end(&mut start).map_err(unreadable)?;
    let size = reader.seek(SeekFrom::End(0)).map_err(unreadable)?;
    reader.rewind().map_err(unreadable)?;
    if start.is_empty() {
        return Err("expected an .npz, .npy or .safetensors file, got an empty one".into());
    }
    if start.starts_with(b"PK") {
        return read_npz(reader, size, known);
    }
    if start.starts_with(npy::MAGIC) {
        let array = npy::read(&mut &mut *reader, size)?;
        return Ok(BTreeMap::from([(bare.to_owned(), array)]));
    }
    if start.len() == 9 && start[8] == b'{' {
        return read_safetensors(reader, known);
    }
    let shown = &start[..start.len().min(6)];
    Err(format!("expected an .npz, .npy or .safetensors file, got bytes that start with {shown:02x?}"))
}

/// Fails unless the key is known.
fn check_key(key: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&key) {
        return Ok(());
    }
    Err(format!("unknown key `{}`: expected one of {}", key.escape_debug(), known.join(", ")))
}

fn read_npz(reader: &mut dyn ReadSeek, size: u64, known: &[&str]) -> Result<BTreeMap<String, Array>, String> {
    let broken = |error: zip::result::ZipError| format!("expected an .npz file (a zip archive): {error}");
    let mut archive = ZipArchive::new(reader).map_err(broken)?;
    if archive.has_duplicate_names() {
        return Err("the archive contains a key twice".into());
    }
    // All names first: an unknown key is reported before large arrays are read.
    let mut entries = Vec::with_capacity(archive.len().min(known.len()));
    for index in 0..archive.len() {
        let name = archive.name_for_index(index).transpose().map_err(broken)?.unwrap_or_default();
        let key = name.strip_suffix(".npy").unwrap_or(&name).to_owned();
        check_key(&key, known)?;
        if entries.iter().any(|(_, other)| *other == key) {
            return Err(format!("key `{key}`: the archive contains it twice"));
        }
        entries.push((index, key));
    }
    let mut arrays = BTreeMap::new();
    for (index, key) in entries {
        let problem = |problem: String| format!("key `{key}`: {problem}");
        let mut entry = archive.by_index(index).map_err(|error| problem(error.to_string()))?;
        let stored = entry.compressed_size().min(size);
        let unfolded = match entry.compression() {
            zip::CompressionMethod::Stored => stored,
            _ => stored.saturating_mul(DEFLATE_LIMIT),
        };
        let available = unfolded.min(entry.size());
        let array = npy::read(&mut entry, available).map_err(problem)?;
        drop(entry);
        arrays.insert(key, array);
    }
    Ok(arrays)
}

fn read_safetensors(reader: &mut dyn ReadSeek, known: &[&str]) -> Result<BTreeMap<String, Array>, String> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    let tensors =
        SafeTensors::deserialize(&bytes).map_err(|error| format!("expected a .safetensors file: {error}"))?;
    for key in tensors.names() {
        check_key(key, known)?;
    }
    let mut arrays = BTreeMap::new();
    for (key, view) in tensors.iter() {
        let problem = |problem: String| format!("key `{key}`: {problem}");
        let kind = kind_of(view.dtype()).ok_or_else(|| {
            problem(format!("expected floats, integers or bool, got dtype {:?}", view.dtype()))
        })?;
        let shape = view.shape().to_vec();
        let size = elements::bytes_of(&shape, kind).filter(|&size| size == view.data().len());
        let size = size.ok_or_else(|| problem("its size does not match its shape".into()))?;
        let data = elements::read(&mut view.data(), kind, false, size).map_err(problem)?;
        arrays.insert(key.to_owned(), Array { shape, data });
    }
    Ok(arrays)
}

fn kind_of(dtype: Dtype) -> Option<Kind> {
    Some(match dtype {
        Dtype::BOOL => Kind::Bool,
        Dtype::U8 => Kind::U8,
        Dtype::I8 => Kind::I8,
        Dtype::U16 => Kind::U16,
        Dtype::I16 => Kind::I16,
        Dtype::U32 => Kind::U32,
        Dtype::I32 => Kind::I32,
        Dtype::U64 => Kind::U64,
        Dtype::I64 => Kind::I64,
        Dtype::F16 => Kind::F16,
        Dtype::BF16 => Kind::Bf16,
        Dtype::F32 => Kind::F32,
        Dtype::F64 => Kind::F64,
        _ => return None,
    })
}
