//! The model file.
//!
//! **What.** [`Model::save`] writes the whole model to one file; [`Model::load`] maps it and uses its arrays in place.
//! `docs/formats/model-file.md` lists the sections.
//!
//! **Cost.** Loading reads every byte once for its checksum and every number once to check its range, and copies only
//! the labels' names. Processes that load the same file share its memory. A file that is
//! [opened](super::AnyModel::open) is read as far as it is used: the dictionary of node features, that of words that are not
//! rare, the weights of nodes and the hashes of known words are checked block by block, everything else at once.
//!
//! **A hostile file** is an error, or a model with senseless answers: offsets, labels and numbers of keys are checked
//! before anything uses them, so no look-up leaves its array or loops forever. In arrays that are checked block by block that
//! is when a number is used.

use super::container::{Container, ContainerWriter, Kind};
use super::segment_file;
use super::support::{self, Support};
use super::text_format;
use super::{Agreement, EdgeWeights, LabelGroups, LabelParts, Model, ModelParts, NodeWeights, Voters};
use crate::feature::token::TokenKernel;
use crate::feature::{Dictionary, Extractor, FeatureSource, Numbers, Preset, rises_to};
use crate::pattern::{Pattern, Patterns};
use crate::state::{StateReader, StateWriter};
use crate::template::Template;
use crate::text::TextFormat;
use kbest_core::LabelSet;
use kbest_core::marginal::Calibration;
use kbest_core::{Error, Result};
use std::path::Path;
use std::sync::Arc;

pub(super) const MODEL: Kind = Kind { name: "model", version: 1 };

/// The sections of a dictionary: the keys end to end, where each ends, the table.
pub(super) type DictionarySections = [&'static str; 3];

const NODES: DictionarySections = ["nodes.keys", "nodes.key-ends", "nodes.slots"];
const EDGES: DictionarySections = ["edges.keys", "edges.key-ends", "edges.slots"];
const WORDS: DictionarySections = ["words.keys", "words.key-ends", "words.slots"];

/// The sections of a list of strings: end to end, and where each ends.
pub(super) type ListSections = [&'static str; 2];

const LABELS: ListSections = ["labels", "labels.ends"];
const ABOUT: ListSections = ["about", "about.ends"];
const PATTERNS: ListSections = ["patterns", "patterns.ends"];
const TEXT_FORMAT: ListSections = ["text-format", "text-format.ends"];

const SOURCE: &str = "source";
const TEMPLATE: &str = "template";
const COLUMNS: &str = "columns";
const SEEN_WORDS: &str = "seen-words";
const NUMBERS: &str = "numbers";
pub(super) const NODE_STARTS: &str = "nodes.starts";
pub(super) const NODE_WEIGHTS: &str = "nodes.weights";
pub(super) const EDGE_STARTS: &str = "edges.starts";
pub(super) const EDGE_WEIGHTS: &str = "edges.weights";
pub(super) const START: &str = "start";
pub(super) const END: &str = "end";
const VOTERS: &str = "voters";
const CALIBRATION: &str = "calibration";
const AGREEMENT: [&str; 5] =
    ["agreement", "agreement.ends", "agreement.sizes", "agreement.values", "agreement.weights"];
const PARTS: [&str; 3] = ["label-parts.number", "label-parts.starts", "label-parts"];

impl Model {
    /// Writes the model to a file, completely or not at all: it has a temporary name until it is complete.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Shape`] if the names of the labels, or the texts about the model, take more than four
    /// billion bytes; [`Error::Data`] if the model is checked while it is used ([`AnyModel::open`](super::AnyModel::open)), and
    /// damaged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.sections()?.save(path.as_ref())
    }

    /// The same with one more remark in [`Model::about`].
    ///
    /// # Errors
    /// As for [`Model::save`].
    pub fn save_with_remark(&self, path: impl AsRef<Path>, name: &str, text: &str) -> Result<()> {
        self.sections_with(Some((name, text)))?.save(path.as_ref())
    }

    /// Maps a file written by [`Model::save`].
    ///
    /// The file must not be changed in place while the model is in use; replacing it by another, as [`Model::save`]
    /// does, is safe.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Version`] if the file has a newer version; [`Error::Data`] if it is damaged or not a
    /// model.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        from_container(&Container::open(path, MODEL)?, &path.display().to_string(), None)
    }

    /// The same for a model of support tokens whose kernel is not one of ours: its name must be that of the file.
    ///
    /// # Errors
    /// As [`Model::load`].
    pub fn load_with_kernel(path: impl AsRef<Path>, kernel: Arc<dyn TokenKernel>) -> Result<Self> {
        let path = path.as_ref();
        from_container(&Container::open(path, MODEL)?, &path.display().to_string(), Some(&kernel))
    }

    /// The bytes of the file that [`Model::save`] writes.
    ///
    /// # Errors
    /// As for [`Model::save`], except [`Error::Io`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.sections()?.to_bytes())
    }

    /// A model from the bytes of its file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`Model::load`], except [`Error::Io`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        from_container(&Container::from_bytes(bytes, name, MODEL)?, name, None)
    }

    /// The same for a kernel that is not one of ours, as [`Model::load_with_kernel`].
    ///
    /// # Errors
    /// As for [`Model::from_bytes`].
    pub fn from_bytes_with_kernel(bytes: &[u8], name: &str, kernel: Arc<dyn TokenKernel>) -> Result<Self> {
        from_container(&Container::from_bytes(bytes, name, MODEL)?, name, Some(&kernel))
    }

    fn sections(&self) -> Result<ContainerWriter<'_>> {
        self.sections_with(None)
    }

    fn sections_with<'a>(&'a self, remark: Option<(&'a str, &'a str)>) -> Result<ContainerWriter<'a>> {
        let mut writer = ContainerWriter::new(MODEL);
        Common {
            about: self.about(),
            remark,
            text_format: self.text_format(),
            calibration: self.calibration(),
            labels: self.labels(),
            extractor: self.extractor(),
            nodes: self.nodes(),
            edges: self.edges(),
        }
        .write(&mut writer)?;
        for (name, scores) in [(START, self.start()), (END, self.end())] {
            scores.into_iter().for_each(|scores| writer.section(name, scores));
        }
        if let Some(parts) = self.label_parts() {
            let [number, starts, list] = PARTS;
            writer.section(number, vec![parts.parts() as u64]);
            writer.section(starts, parts.starts());
            writer.section(list, parts.list());
        }
        if let Some(agreement) = self.agreement() {
            write_agreement(&mut writer, agreement)?;
        }
        if let Some(support) = self.support() {
            support.write(&mut writer);
        }
        if let Some(voters) = self.voters() {
            let mut state = StateWriter::new();
            voters.save(&mut state);
            writer.section(VOTERS, state.into_bytes());
        }
        self.undamaged()?; // all arrays have been checked; those that are damaged seem empty
        Ok(writer)
    }
}

/// What models of positions and of segments have in common.
pub(super) struct Common<'a> {
    pub(super) about: &'a [(String, String)],
    pub(super) remark: Option<(&'a str, &'a str)>, // one more
    pub(super) text_format: Option<&'a TextFormat>,
    pub(super) calibration: Option<&'a Calibration>,
    pub(super) labels: &'a LabelSet,
    pub(super) extractor: &'a Extractor,
    pub(super) nodes: &'a NodeWeights,
    pub(super) edges: &'a EdgeWeights,
}

impl<'a> Common<'a> {
    pub(super) fn write(self, writer: &mut ContainerWriter<'a>) -> Result<()> {
        let Common { about, remark, text_format, calibration, labels, extractor, nodes, edges } = self;
        let about = about.iter().flat_map(|(name, text)| [name.as_str(), text]);
        let remark = remark.into_iter().flat_map(|(name, text)| [name, text]);
        write_list(writer, ABOUT, about.chain(remark))?;
        if let Some(text) = text_format {
            write_list(writer, TEXT_FORMAT, text.words().iter().map(|(_, word)| word.as_str()))?;
        }
        if let Some(calibration) = calibration {
            writer.section(CALIBRATION, calibration.to_flat());
        }
        write_list(writer, LABELS, labels.names())?;
        writer.section(SOURCE, extractor.source().name().into_owned().into_bytes());
        if let Some(template) = extractor.source().template() {
            // A line may itself end in a carriage return; the parser removes only one.
            let text: String = template.lines().flat_map(|line| [line, "\r\n"]).collect();
            writer.section(TEMPLATE, text.into_bytes());
        }
        if let FeatureSource::Patterns(patterns) = extractor.source() {
            write_list(writer, PATTERNS, patterns.patterns().iter().map(Pattern::line))?;
        }
        if let FeatureSource::Numbers(numbers) = extractor.source() {
            writer.section(NUMBERS, numbers.to_flat());
        }
        writer.section(COLUMNS, vec![extractor.columns() as u64]);
        write_dictionary(writer, NODES, extractor.nodes());
        let (starts, words) = nodes.arrays();
        writer.section(NODE_STARTS, starts);
        writer.section(NODE_WEIGHTS, words);
        write_dictionary(writer, EDGES, extractor.edges());
        let (starts, pairs) = edges.arrays();
        writer.section(EDGE_STARTS, starts);
        writer.section(EDGE_WEIGHTS, pairs);
        write_dictionary(writer, WORDS, extractor.frequent_words());
        if let Some(seen) = extractor.seen_words() {
            writer.section(SEEN_WORDS, seen.whole());
        }
        Ok(())
    }
}

/// A kernel that is not ours must be handed in.
pub(super) fn from_container(
    file: &Container,
    name: &str,
    kernel: Option<&Arc<dyn TokenKernel>>,
) -> Result<Model> {
    if segment_file::is_segment_model(file) {
        return Err(file.error("a model of single positions", "one of segments"));
    }
    file.expect_only(&known_sections())?;
    expect_used(file)?;
    let labels = read_labels(file)?;
    let wrong = |got: &str| file.error("a model", got);
    let label_parts = file.has(PARTS[0]).then(|| read_label_parts(file)).transpose()?;
    let agreement = file.has(AGREEMENT[0]).then(|| read_agreement(file, labels.len())).transpose()?;
    let columns = label_parts.as_ref().map_or(labels.len(), LabelParts::columns);
    let nodes = NodeWeights::from_arrays(columns, file.checked(NODE_STARTS)?, file.checked(NODE_WEIGHTS)?);
    let edges = EdgeWeights::from_arrays(labels.len(), file.array(EDGE_STARTS)?, file.array(EDGE_WEIGHTS)?);
    let scores = |name: &str| {
        let scores = file.has(name).then(|| file.array::<f32>(name)).transpose()?;
        Ok(scores.map(|scores| scores.to_vec()))
    };
    let mut about = read_about(file)?;
    let extractor = read_extractor(file, name)?;
    let support = match file.has(support::SECTIONS[0]) {
        true => Some(Support::read(file, extractor.nodes().len(), labels.len(), kernel)?),
        false => None,
    };
    let parts = ModelParts {
        labels,
        extractor,
        label_parts,
        support,
        agreement,
        nodes: nodes.map_err(wrong)?,
        edges: edges.map_err(wrong)?,
        start: scores(START)?,
        end: scores(END)?,
        voters: file.has(VOTERS).then(|| read_voters(file, VOTERS)).transpose()?,
        calibration: read_calibration(file)?,
        text_format: match read_text_format(file)? {
            Some(format) => Some(format),
            None => text_format::from_remarks(&mut about),
        },
        about,
    };
    Model::new(parts).map_err(|error| file.error("parts that fit together", format!("this: {error}")))
}

/// The sections that models of positions and of segments have in common.
pub(super) fn common_sections() -> Vec<&'static str> {
    let singles = [
        SOURCE,
        TEMPLATE,
        NUMBERS,
        COLUMNS,
        SEEN_WORDS,
        NODE_STARTS,
        NODE_WEIGHTS,
        EDGE_STARTS,
        EDGE_WEIGHTS,
        START,
        END,
        CALIBRATION,
    ];
    [&NODES[..], &EDGES, &WORDS, &LABELS, &ABOUT, &TEXT_FORMAT, &PATTERNS, &singles].concat()
}

/// The names of all sections that a model can have.
fn known_sections() -> Vec<&'static str> {
    [&common_sections()[..], &PARTS, &AGREEMENT, &support::SECTIONS, &[VOTERS]].concat()
}

/// Whether nodes are scored by weights of features, and nothing else.
pub(super) fn has_weights_alone(file: &Container) -> bool {
    !file.has(VOTERS) && !file.has(support::SECTIONS[0])
}

/// Rejects sections that nothing would read: those of another source of features, and groups without their first section.
pub(super) fn expect_used(file: &Container) -> Result<()> {
    let source = file.text(SOURCE)?;
    let of_sources: [(&[&str], &[&str]); 3] = [
        (&[TEMPLATE], &["template"]),
        (&PATTERNS, &["patterns", "lone-patterns"]),
        (&[NUMBERS], &["numbers"]),
    ];
    for (sections, owners) in of_sources {
        if !source.split('+').any(|part| owners.contains(&part))
            && let Some(section) = sections.iter().find(|section| file.has(section))
        {
            let expected = format!("only sections of features `{source}`");
            return Err(file.error(expected, format!("section `{section}`")));
        }
    }
    for group in [&PARTS[..], &AGREEMENT, &support::SECTIONS] {
        if !file.has(group[0])
            && let Some(section) = group.iter().find(|section| file.has(section))
        {
            let expected = format!("a section `{}` beside `{section}`", group[0]);
            return Err(file.error(expected, "none"));
        }
    }
    Ok(())
}

pub(super) fn read_labels(file: &Container) -> Result<LabelSet> {
    let names = read_list(file, LABELS)?;
    let labels = LabelSet::from_names(&names);
    if labels.len() != names.len() {
        return Err(file.error("each label once", "one twice"));
    }
    Ok(labels)
}

pub(super) fn read_text_format(file: &Container) -> Result<Option<TextFormat>> {
    if !TEXT_FORMAT.iter().any(|name| file.has(name)) {
        return Ok(None);
    }
    let words = read_list(file, TEXT_FORMAT)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let five = <[&str; 5]>::try_from(words);
    let five = five.map_err(|words| file.error("five words that describe the text format", words.len()))?;
    TextFormat::from_words(five).map(Some).map_err(|error| file.error("a text format", error))
}

pub(super) fn read_calibration(file: &Container) -> Result<Option<Calibration>> {
    if !file.has(CALIBRATION) {
        return Ok(None);
    }
    let calibration = Calibration::from_flat(&file.array::<f64>(CALIBRATION)?);
    calibration.map(Some).map_err(|error| file.error("a calibration", error))
}

pub(super) fn read_number(file: &Container, name: &str) -> Result<usize> {
    let number = match *file.array::<u64>(name)? {
        [number] => usize::try_from(number).ok(),
        _ => None,
    };
    number.ok_or_else(|| file.error(format!("a number in section `{name}`"), "another value"))
}

fn read_label_parts(file: &Container) -> Result<LabelParts> {
    let [number, starts, list] = PARTS;
    let parts = read_number(file, number)?;
    let (starts, list) = (file.array::<u32>(starts)?.to_vec(), file.array::<u32>(list)?.to_vec());
    LabelParts::new(parts, starts, list).map_err(|error| file.error("parts of labels", error))
}

/// The names of groups and values end to end, how many each group has, and numbers.
fn write_agreement<'a>(writer: &mut ContainerWriter<'a>, agreement: &'a Agreement) -> Result<()> {
    let [names, ends, sizes, values, weights] = AGREEMENT;
    let groups = agreement.groups();
    let all = groups
        .named()
        .flat_map(|(name, values)| std::iter::once(name).chain(values.iter().map(String::as_str)));
    write_list(writer, [names, ends], all)?;
    writer.section(sizes, groups.named().map(|(_, values)| values.len() as u32).collect::<Vec<_>>());
    writer.section(values, groups.values());
    writer.section(weights, agreement.weights());
    Ok(())
}

fn read_agreement(file: &Container, labels: usize) -> Result<Agreement> {
    let [names, ends, sizes, values, weights] = AGREEMENT;
    let sizes = file.array::<u32>(sizes)?;
    let mut strings = read_list(file, [names, ends])?.into_iter();
    let mut groups = Vec::new();
    for &size in &*sizes {
        let name = strings.next();
        let of_group: Vec<String> = strings.by_ref().take(size as usize).collect();
        let named = name.filter(|_| of_group.len() == size as usize);
        let named =
            named.ok_or_else(|| file.error(format!("names of values in section `{names}`"), "too few"))?;
        groups.push((named, of_group));
    }
    if strings.next().is_some() {
        return Err(file.error(format!("names of values in section `{names}`"), "too many"));
    }
    let (values, weights) = (file.array::<u32>(values)?.to_vec(), file.array::<f32>(weights)?.to_vec());
    let agreement =
        LabelGroups::new(labels, groups, values).and_then(|groups| Agreement::new(groups, weights));
    agreement.map_err(|error| file.error("weights between parts of labels", error))
}

pub(super) fn read_voters(file: &Container, section: &str) -> Result<Voters> {
    let bytes = file.array::<u8>(section)?;
    let mut state = StateReader::new(&bytes);
    let voters = Voters::restore(&mut state).and_then(|voters| match state.is_done() {
        true => Ok(voters),
        false => Err(Error::shape("bytes", "nothing after it", "more")),
    });
    voters.map_err(|error| file.error(format!("an ensemble in section `{section}`"), error))
}

pub(super) fn read_extractor(file: &Container, name: &str) -> Result<Extractor> {
    let names = file.text(SOURCE)?;
    let mut parts: Vec<(&str, FeatureSource)> = Vec::new(); // few, because each has another name
    for part in names.split('+') {
        if parts.iter().any(|(before, _)| *before == part) {
            return Err(file.error("each source of features once", format!("{part} twice")));
        }
        parts.push((part, read_source(file, name, part)?));
    }
    let source = FeatureSource::sum(parts.into_iter().map(|(_, source)| source));
    let source = source.map_err(|error| file.error("sources of features that add up", error))?;
    let columns = read_number(file, COLUMNS)?;
    let [nodes, words] = [NODES, WORDS].map(|names| read_dictionary_when_used(file, names));
    let edges = read_dictionary(file, EDGES);
    let seen = file.has(SEEN_WORDS).then(|| file.checked::<u64>(SEEN_WORDS)).transpose()?;
    if seen.as_ref().is_some_and(|seen| !seen.is_watched() && !seen.raw().is_sorted_by(|a, b| a < b)) {
        return Err(file.error(format!("ascending numbers in section `{SEEN_WORDS}`"), "others"));
    }
    Ok(Extractor::from_parts(source, nodes?, edges?, words?, columns).with_seen_words(seen))
}

/// The source of features with this name.
fn read_source(file: &Container, name: &str, source: &str) -> Result<FeatureSource> {
    Ok(match source {
        "template" => {
            let place = format!("in {name}");
            FeatureSource::Template(Template::parse_bytes(&file.array::<u8>(TEMPLATE)?, &place)?)
        }
        source @ ("patterns" | "lone-patterns") => {
            let lines = read_list(file, PATTERNS)?;
            let lines = (1..).zip(&lines).map(|(number, line)| Pattern::parse(line, name, number));
            FeatureSource::Patterns(Patterns::new(lines.collect::<Result<_>>()?, source == "lone-patterns"))
        }
        "items" => FeatureSource::Items,
        "numbers" => {
            let numbers = Numbers::from_flat(&file.array::<f64>(NUMBERS)?);
            let wrong = || file.error("shift and factor of each column", "other numbers");
            FeatureSource::Numbers(numbers.ok_or_else(wrong)?)
        }
        preset => {
            let preset = Preset::by_name(preset);
            FeatureSource::Preset(preset.map_err(|error| file.error("a known feature source", error))?)
        }
    })
}

pub(super) fn write_dictionary<'a>(
    writer: &mut ContainerWriter<'a>,
    [bytes, ends, slots]: DictionarySections,
    dictionary: &'a Dictionary,
) {
    let keys = dictionary.view();
    writer.section(bytes, keys.bytes);
    writer.section(ends, keys.ends);
    writer.section(slots, keys.slots);
}

pub(super) fn read_dictionary(
    file: &Container,
    [bytes, ends, slots]: DictionarySections,
) -> Result<Dictionary> {
    let arrays = (file.array(bytes)?.into(), file.array(ends)?.into(), file.array(slots)?.into());
    let dictionary = Dictionary::from_arrays(arrays.0, arrays.1, arrays.2);
    dictionary.map_err(|got| file.error(format!("a dictionary in section `{bytes}`"), got))
}

/// The same, checked when it is used if the file was opened so.
fn read_dictionary_when_used(
    file: &Container,
    [bytes, ends, slots]: DictionarySections,
) -> Result<Dictionary> {
    let dictionary = Dictionary::from_arrays(file.checked(bytes)?, file.checked(ends)?, file.checked(slots)?);
    dictionary.map_err(|got| file.error(format!("a dictionary in section `{bytes}`"), got))
}

pub(super) fn write_list<'a>(
    writer: &mut ContainerWriter<'_>,
    [all, ends]: ListSections,
    strings: impl Iterator<Item = &'a str>,
) -> Result<()> {
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for string in strings {
        bytes.extend_from_slice(string.as_bytes());
        let end = u32::try_from(bytes.len());
        places.push(
            end.map_err(|_| Error::shape(format!("{all} of the model"), "at most 2^32 bytes", "more"))?,
        );
    }
    writer.section(all, bytes);
    writer.section(ends, places);
    Ok(())
}

pub(super) fn read_list(file: &Container, [all, ends]: ListSections) -> Result<Vec<String>> {
    let (text, ends) = (file.text(all)?, file.array::<u32>(ends)?);
    if !rises_to(&ends, text.len()) {
        return Err(file.error(format!("strings end to end in section `{all}`"), "other offsets"));
    }
    let starts = std::iter::once(&0).chain(&*ends);
    let strings = starts.zip(&*ends).map(|(&start, &end)| text.get(start as usize..end as usize));
    let strings = strings.map(|string| string.map(str::to_owned)).collect::<Option<_>>();
    strings.ok_or_else(|| file.error(format!("UTF-8 in section `{all}`"), "a split character"))
}

pub(super) fn read_about(file: &Container) -> Result<Vec<(String, String)>> {
    let mut strings = read_list(file, ABOUT)?.into_iter();
    let mut about = Vec::new();
    while let Some(name) = strings.next() {
        let text = strings.next().ok_or_else(|| file.error("pairs of name and text", "a lone name"))?;
        about.push((name, text));
    }
    Ok(about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_describes_every_section() {
        let page = include_str!("../../../../docs/formats/model-file.md");
        let row = |name: &str| {
            page.lines().any(|line| line.starts_with('|') && line.contains(&format!("`{name}`")))
        };
        for name in known_sections().into_iter().chain(segment_file::SECTIONS) {
            assert!(row(name), "model-file.md has no row for section `{name}`");
        }
    }
}
