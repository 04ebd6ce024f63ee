//! Writes the features of a file as CRFsuite items, for comparison on the same features.

use crate::failure::Result;
use crate::output::Output;
use kbest::feature::FeatureBuffer;
use kbest::text::{Reader, Writer, WriterOptions};
use kbest::{Model, Sequence};
use std::path::Path;

/// Writes the label and the names of the known node features of every position.
pub(super) fn write(model: &Model, mut reader: Reader, path: &Path) -> Result<()> {
    let mut writer = Writer::new(Output::create(Some(path))?, WriterOptions::whole_items());
    let (mut sequence, mut out) = (Sequence::new(), Sequence::new());
    let mut features = FeatureBuffer::new();
    while reader.read_into(&mut sequence)? {
        model.extractor().extract(&sequence, &mut features)?;
        out.clear();
        for t in 0..sequence.len() {
            out.push_position();
            let values = features.values(t);
            for (i, &id) in features.nodes(t).iter().enumerate() {
                let name = String::from_utf8_lossy(model.extractor().nodes().key(id).unwrap_or_default());
                out.push_valued_cell(&name, values.map_or(1.0, |values| values[i]));
            }
            out.set_label(sequence.label(t).unwrap_or_default());
        }
        model.undamaged()?; // rather than a file without what is damaged
        writer.write::<&str>(&out, &[], None)?;
    }
    writer.into_inner().finish()
}
