//! The text format in model files that predate its own section.

use crate::text::{Field, Format, LabelExpression, Separator, TextFormat};
use kbest_core::Result;

/// Extracts the text format from the texts about a model: `format`, optionally `tabs`, and for CoNLL-U `label` and
/// `fields`. If these names mean something else, nothing changes.
pub(super) fn from_remarks(about: &mut Vec<(String, String)>) -> Option<TextFormat> {
    let remark = |wanted: &str| about.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str());
    let mut text = TextFormat::new(Format::by_name(remark("format")?).ok()?);
    if remark("tabs").is_some() {
        text.separator = Separator::Tab;
    }
    let is_conllu = text.format == Format::Conllu;
    if let Some(label) = remark("label").filter(|_| is_conllu) {
        text.label = LabelExpression::parse(label).ok()?;
    }
    if let Some(fields) = remark("fields").filter(|_| is_conllu) {
        text.fields = fields.split(',').map(Field::by_name).collect::<Result<_>>().ok()?;
    }
    about.retain(|(name, _)| match name.as_str() {
        "format" | "tabs" => false,
        "label" | "fields" => !is_conllu,
        _ => true,
    });
    Some(text)
}
