//! Export to safetensors: the weights for other programs.
//!
//! **What.** [`Model::to_safetensors`] writes these tensors, with `N` node weights, `M` edge weights:
//!
//! | tensor | type | what |
//! |---|---|---|
//! | `node.offsets` | i64, features + 1 | where the weights of each node feature begin (CSR) |
//! | `node.labels`, `node.weights` | i32, f32, `N` | label and weight, feature by feature |
//! | `edge.features`, `edge.from`, `edge.to`, `edge.weights` | i64, i32, i32, f32, `M` | feature, label before, label after, weight |
//! | `start`, `end` | f32, `L` | scores of first and last labels, if the model has them |
//! | `label.names`, `node.names`, `edge.names` | u8 | names of labels and features, end to end |
//! | `label.name_offsets`, ... | i64, names + 1 | where each name begins |
//!
//! and the metadata `format` (`kbest`), `source` (`template`, `items` or a preset), `template` (its text, if any),
//! `columns`, `text.NAME` for each known setting of the format of the training text, and `about.NAME` for each text
//! about the model, and `calibration` (temperature and points of the curve, separated by blanks) if the model has one. Names are tensors because a header is limited to 100 MB, and because names of features need not be
//! UTF-8: in Python, `bytes(names[offsets[i]:offsets[i + 1]]).decode()`.
//!
//! **Cost.** The whole file is built in memory first. **When not.** To store a model use [`Model::save`]: nothing reads
//! this file back.

use super::Model;
use super::whole_file::write_whole;
use kbest_core::{Error, Result};
use safetensors::{Dtype, View};
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// A tensor of one dimension, as little-endian bytes.
struct Tensor {
    dtype: Dtype,
    shape: [usize; 1],
    bytes: Vec<u8>,
}

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

#[derive(Default)]
struct Tensors(Vec<(String, Tensor)>);

impl Tensors {
    fn add<const N: usize>(&mut self, name: &str, dtype: Dtype, values: impl Iterator<Item = [u8; N]>) {
        let bytes: Vec<u8> = values.flatten().collect();
        self.0.push((name.to_owned(), Tensor { dtype, shape: [bytes.len() / N], bytes }));
    }

    fn add_i64(&mut self, name: &str, values: impl Iterator<Item = usize>) {
        self.add(name, Dtype::I64, values.map(|value| (value as i64).to_le_bytes()));
    }

    fn add_labels(&mut self, name: &str, values: impl Iterator<Item = u32>) {
        self.add(name, Dtype::I32, values.map(u32::to_le_bytes)); // below 2^31: see `to_safetensors`
    }

    fn add_f32(&mut self, name: &str, values: impl Iterator<Item = f32>) {
        self.add(name, Dtype::F32, values.map(f32::to_le_bytes));
    }

    fn add_names<'a>(&mut self, kind: &str, names: impl Iterator<Item = &'a [u8]>) {
        let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
        for name in names {
            bytes.extend_from_slice(name);
            offsets.push(bytes.len());
        }
        self.add(&format!("{kind}.names"), Dtype::U8, bytes.into_iter().map(|byte| [byte]));
        self.add_i64(&format!("{kind}.name_offsets"), offsets.into_iter());
    }
}

impl Model {
    /// Writes the weights as a safetensors file. The tensors: `node.offsets`, `node.labels` and `node.weights` (CSR:
    /// one row per node feature), `edge.features`, `edge.from`, `edge.to` and `edge.weights`, `start` and `end` if the
    /// model has them; and names end to end with their offsets: `label.names` and `label.name_offsets`, and the same
    /// for `node` and `edge`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Argument`] for a dual model, or one with weights between parts of labels; [`Error::Shape`] for more than two
    /// billion labels, or if the texts about the model are too long for a header; [`Error::Data`] if the model is checked while it is used,
    /// and damaged.
    pub fn to_safetensors(&self, path: impl AsRef<Path>) -> Result<()> {
        if i32::try_from(self.labels().len()).is_err() {
            return Err(Error::shape("labels of a safetensors file", "at most 2^31", self.labels().len()));
        }
        if self.support().is_some() {
            return Err(Error::argument("model to export", "weights", "support tokens"));
        }
        if self.agreement().is_some() {
            let expected = "weights of features alone";
            return Err(Error::argument("model to export", expected, "weights between parts of labels"));
        }
        let tensors = self.tensors();
        self.undamaged()?; // rather than a file without what is damaged
        let bytes = safetensors::serialize(tensors.0, Some(self.metadata()));
        let bytes = bytes.map_err(|error| Error::shape("safetensors", "a valid header", error))?;
        write_whole(path.as_ref(), |out| out.write_all(&bytes))
    }

    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::default();
        let weights =
            |id| self.nodes().row(id).iter().filter(|&(_, weight)| weight != 0.0).collect::<Vec<_>>();
        let rows: Vec<_> = (0..self.nodes().features() as u32).map(weights).collect();
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        });
        tensors.add_i64("node.offsets", std::iter::once(0).chain(ends));
        tensors.add_labels("node.labels", rows.iter().flatten().map(|&(y, _)| y));
        tensors.add_f32("node.weights", rows.iter().flatten().map(|&(_, weight)| weight));
        let pairs = || {
            let features = 0..self.edges().features() as u32;
            features.flat_map(|id| self.edges().pairs(id).iter().map(move |pair| (id as usize, pair)))
        };
        tensors.add_i64("edge.features", pairs().map(|(id, _)| id));
        tensors.add_labels("edge.from", pairs().map(|(_, pair)| pair.from));
        tensors.add_labels("edge.to", pairs().map(|(_, pair)| pair.to));
        tensors.add_f32("edge.weights", pairs().map(|(_, pair)| pair.weight));
        for (name, scores) in [("start", self.start()), ("end", self.end())] {
            scores.into_iter().for_each(|scores| tensors.add_f32(name, scores.iter().copied()));
        }
        tensors.add_names("label", self.labels().names().map(str::as_bytes));
        tensors.add_names("node", self.extractor().nodes().keys());
        tensors.add_names("edge", self.extractor().edges().keys());
        tensors
    }

    fn metadata(&self) -> HashMap<String, String> {
        let mut metadata = HashMap::from([
            ("format".to_owned(), "kbest".to_owned()),
            ("source".to_owned(), self.extractor().source().name().into_owned()),
            ("columns".to_owned(), self.extractor().columns().to_string()),
        ]);
        if let Some(template) = self.extractor().source().template() {
            let text = template.lines().flat_map(|line| [line, "\n"]).collect();
            metadata.insert("template".to_owned(), text);
        }
        if let Some(calibration) = self.calibration() {
            let numbers: Vec<String> = calibration.to_flat().iter().map(f64::to_string).collect();
            metadata.insert("calibration".to_owned(), numbers.join(" "));
        }
        let about = self.about().iter().map(|(name, text)| (format!("about.{name}"), text.clone()));
        metadata.extend(about);
        let text = self.text_format().into_iter().flat_map(|text| text.words());
        metadata.extend(text.map(|(name, word)| (format!("text.{name}"), word)));
        metadata
    }
}
