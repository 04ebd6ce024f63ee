//! Writes `.npz` files, byte for byte the same on every machine: no compression unless requested (compressors differ
//! between versions and processors), no dates.

use crate::input::Scores;
use std::io::{Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of arrays.
pub struct Npz<W: Write + Seek> {
    archive: ZipWriter<W>,
    method: CompressionMethod,
}

impl<W: Write + Seek> Npz<W> {
    pub fn new(writer: W, compress: bool) -> Self {
        let method = if compress { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        Npz { archive: ZipWriter::new(writer), method }
    }

    /// Adds scores.
    pub fn scores<S: Scores>(
        &mut self,
        key: &str,
        shape: &[usize],
        values: &[S],
    ) -> zip::result::ZipResult<()> {
        self.array(key, S::DESCRIPTION, size_of::<S>(), shape, values, |value, bytes| value.push_bytes(bytes))
    }

    /// Adds labels or lengths.
    pub fn integers(&mut self, key: &str, values: &[u32]) -> zip::result::ZipResult<()> {
        let push = |value: u32, bytes: &mut Vec<u8>| bytes.extend_from_slice(&value.to_le_bytes());
        self.array(key, "<u4", 4, &[values.len()], values, push)
    }

    /// Completes the archive and returns its writer.
    pub fn finish(self) -> zip::result::ZipResult<W> {
        self.archive.finish()
    }

    fn array<T: Copy>(
        &mut self,
        key: &str,
        description: &str,
        size: usize,
        shape: &[usize],
        values: &[T],
        push: impl Fn(T, &mut Vec<u8>),
    ) -> zip::result::ZipResult<()> {
        let large = values.len() as u64 * size as u64 >= u64::from(u32::MAX) - 1024;
        let options = SimpleFileOptions::default()
            .compression_method(self.method)
            .last_modified_time(zip::DateTime::default())
            .unix_permissions(0o644)
            .large_file(large);
        self.archive.start_file(format!("{key}.npy"), options)?;
        self.archive.write_all(&header(description, shape))?;
        let mut bytes = Vec::with_capacity(1 << 16);
        for chunk in values.chunks(1 << 13) {
            bytes.clear();
            chunk.iter().for_each(|&value| push(value, &mut bytes));
            self.archive.write_all(&bytes)?;
        }
        Ok(())
    }
}

/// The `.npy` header, version 1, padded so that the elements start at a multiple of 64 bytes.
fn header(description: &str, shape: &[usize]) -> Vec<u8> {
    let shape = match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut text = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}
