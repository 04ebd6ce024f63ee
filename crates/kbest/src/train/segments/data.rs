//! Labelled segments as numbers.

use crate::feature::segment::{SegmentFeatures, SegmentFeaturesBuilder, SegmentMemory};
use crate::feature::{Extractor, ExtractorBuilder, FeatureBuffer, FeatureId, FeatureSource, Frozen};
use crate::sequence::Sequence;
use kbest_core::scheme::{Layout, Scheme, Spelling, Tagging};
use kbest_core::segment::Segment;
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};

/// No segment may be longer: every length has a score for each label.
const LONGEST: usize = 1 << 16;

/// How labels become segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SegmentsFrom {
    /// Spans if the labels look like tags (`B-X`, `I-X`, `O`), runs otherwise.
    #[default]
    Auto,
    /// Runs of one label.
    Runs,
    /// Spans of this scheme.
    Scheme(Scheme),
}

impl std::str::FromStr for SegmentsFrom {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(SegmentsFrom::Auto),
            "runs" => Ok(SegmentsFrom::Runs),
            name => Scheme::by_name(name).map(SegmentsFrom::Scheme).map_err(|_| Error::UnknownName {
                what: "kind of segments",
                name: name.to_owned(),
                expected: format!("auto, runs, {}", Scheme::NAMES.map(|(known, _)| known).join(", ")),
            }),
        }
    }
}

/// Options of a [`SegmentTrainingSet`].
#[derive(Debug, Clone, Default)]
pub struct SegmentOptions {
    /// How labels become segments.
    pub segments: SegmentsFrom,
    /// No segment is longer than this; by default, than the longest of its label in the training data.
    pub longest: Option<usize>,
    /// Which features segments have.
    pub features: SegmentFeaturesBuilder,
}

/// The features of all segments of a sequence, by start and length.
#[derive(Debug, Clone, Default)]
pub struct SpanFeatures {
    longest: usize,
    ends: Vec<u32>, // start x length: where the features of each segment end
    ids: Vec<FeatureId>,
}

impl SpanFeatures {
    /// The longest segment that features were made for.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The features of all segments, end to end.
    pub(super) fn all(&self) -> &[FeatureId] {
        &self.ids
    }

    /// The features of a segment; none if it is longer than all in the training data.
    #[inline]
    pub(super) fn of(&self, s: usize, r: usize) -> &[FeatureId] {
        if r - s > self.longest {
            return &[];
        }
        let at = s * self.longest + r - s - 1;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.ids[start as usize..self.ends[at] as usize]
    }
}

/// One sequence.
#[derive(Debug, Clone)]
pub struct SegmentExample {
    /// Features of its positions.
    pub features: FeatureBuffer,
    /// Features of its segments.
    pub spans: SpanFeatures,
    /// The right segments.
    pub gold: Vec<Segment>,
    /// Its weight in training.
    pub weight: f64,
}

/// The training data of a model of segments.
#[derive(Debug, Clone)]
pub struct SegmentTrainingSet {
    labels: LabelSet,
    spelling: Spelling,
    extractor: Extractor,
    features: SegmentFeatures,
    longest: Vec<u32>,
    examples: Vec<SegmentExample>,
    tokens: usize,
}

impl SegmentTrainingSet {
    /// Reads labels as segments, and numbers their labels, most frequent first, and the features: those of positions that occur
    /// at least `min_frequency` times, those of segments as [`crate::feature::segment`] says. Empty sequences are skipped.
    ///
    /// # Errors
    /// [`Error::Shape`] if a sequence lacks labels or columns, or none has a position; [`Error::Argument`] for options that do
    /// not suit the labels.
    pub fn new(
        sequences: &[Sequence],
        source: FeatureSource,
        min_frequency: u32,
        options: SegmentOptions,
    ) -> Result<Self> {
        if let Some(given) = options.longest.filter(|given| !(1..=LONGEST).contains(given)) {
            return Err(Error::argument("longest segment", format!("1 to {LONGEST}"), given));
        }
        let numbered: Vec<(usize, &Sequence)> =
            sequences.iter().enumerate().filter(|(_, sequence)| !sequence.is_empty()).collect();
        let gold_labels = numbered.iter().map(|&(i, sequence)| labels_of(i, sequence));
        let gold_labels: Vec<Vec<&str>> = gold_labels.collect::<Result<_>>()?;
        let sequences: Vec<&Sequence> = numbered.iter().map(|&(_, sequence)| sequence).collect();
        if gold_labels.is_empty() {
            return Err(Error::shape("training data", "at least one sequence", 0));
        }
        let (labels, spelling, gold) = read_segments(&gold_labels, options.segments)?;
        let longest = longest(&gold, &labels, &spelling, options.longest)?;
        let mut builder = ExtractorBuilder::new(source);
        if builder.source().wants_word_counts() {
            sequences.iter().for_each(|sequence| builder.count_words(sequence));
        }
        let textual = builder.source().has_words();
        let mut buffers = Vec::new();
        for sequence in &sequences {
            let mut buffer = FeatureBuffer::new();
            builder.observe(sequence, &mut buffer)?;
            buffers.push(buffer);
        }
        let Frozen { extractor, nodes, edges } = builder.freeze(min_frequency);
        buffers.iter_mut().for_each(|buffer| buffer.renumber(&nodes, &edges));
        let features = if textual { options.features } else { options.features.with_kinds([]) };
        let names: Vec<&str> = labels.names().collect();
        let data: Vec<_> = sequences.iter().copied().zip(gold.iter().map(Vec::as_slice)).collect();
        let (features, leave_out) = features.build(&data, &names, |y| spelling.is_outside(y))?;
        let widest = widest(&longest);
        let mut memory = SegmentMemory::default();
        let mut examples = Vec::new();
        for (i, ((sequence, gold), buffer)) in data.iter().zip(buffers).enumerate() {
            features.prepare(sequence, &mut memory)?;
            let own = leave_out.own(&features, &memory, i as u32, gold);
            let mut spans = SpanFeatures { longest: widest.min(sequence.len()), ..SpanFeatures::default() };
            for s in 0..sequence.len() {
                for length in 1..=spans.longest {
                    if s + length <= sequence.len() {
                        let ids = &mut spans.ids;
                        features.visit(&mut memory, s, s + length, Some(&own), |id| ids.push(id));
                    }
                    let end = u32::try_from(spans.ids.len());
                    spans.ends.push(end.map_err(|_| {
                        Error::shape(
                            "features of a sequence's segments",
                            "at most 2^32",
                            "more; set a longest segment",
                        )
                    })?);
                }
            }
            let gold = gold.iter().map(|&(start, end, label)| Segment { start, end, label }).collect();
            examples.push(SegmentExample { features: buffer, spans, gold, weight: sequence.weight() });
        }
        let tokens = sequences.iter().map(|sequence| sequence.len()).sum();
        let features = features.without_sources();
        Ok(SegmentTrainingSet { labels, spelling, extractor, features, longest, examples, tokens })
    }

    /// Names of the segment labels.
    pub fn labels(&self) -> &LabelSet {
        &self.labels
    }

    /// How labels of positions spell segments.
    pub fn spelling(&self) -> &Spelling {
        &self.spelling
    }

    /// From sequences to features of positions.
    pub fn extractor(&self) -> &Extractor {
        &self.extractor
    }

    /// From segments to their own features.
    pub fn features(&self) -> &SegmentFeatures {
        &self.features
    }

    /// The longest segment of each label.
    pub fn longest(&self) -> &[u32] {
        &self.longest
    }

    /// The longest segment of all.
    pub(super) fn widest(&self) -> usize {
        widest(&self.longest)
    }

    /// The sequences.
    pub fn examples(&self) -> &[SegmentExample] {
        &self.examples
    }

    /// Number of positions of all sequences.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Number of segments of all sequences.
    pub fn segments(&self) -> usize {
        self.examples.iter().map(|example| example.gold.len()).sum()
    }
}

fn widest(longest: &[u32]) -> usize {
    longest.iter().max().map_or(1, |&longest| longest as usize)
}

fn labels_of(i: usize, sequence: &Sequence) -> Result<Vec<&str>> {
    let labels: Option<Vec<&str>> = (0..sequence.len()).map(|t| sequence.label(t)).collect();
    labels.ok_or_else(|| {
        Error::shape(format!("sequence {i} of the training data"), "a label at every position", "none")
    })
}

/// Segments of one sequence: start, end, label.
type Labelled = Vec<(usize, usize, LabelId)>;

fn read_segments(gold: &[Vec<&str>], from: SegmentsFrom) -> Result<(LabelSet, Spelling, Vec<Labelled>)> {
    let all = || gold.iter().flatten();
    let (spelling, names) = match from {
        SegmentsFrom::Auto => Spelling::detect(all())?,
        SegmentsFrom::Runs => Spelling::runs(all()),
        SegmentsFrom::Scheme(scheme) => {
            let layout = Tagging::detect(all()).map_or_else(Layout::default, |tagging| tagging.layout);
            let tagging = Tagging { scheme, layout };
            if all().all(|label| tagging.read(label).role == kbest_core::scheme::Role::Outside) {
                let example = all().next().copied().unwrap_or_default();
                let expected = format!("labels of the scheme {scheme}, such as I-X");
                return Err(Error::argument(
                    "labels of the segments",
                    expected,
                    format!("labels such as {example}"),
                ));
            }
            Spelling::tags(all(), tagging)?
        }
    };
    let segments: Vec<Vec<(usize, usize, String)>> =
        gold.iter().map(|labels| spelling.read(labels)).collect();
    let mut builder = LabelSetBuilder::new();
    names.iter().for_each(|name| _ = builder.add(name));
    segments.iter().flatten().for_each(|(_, _, name)| _ = builder.add(name));
    let (labels, new_ids) = builder.freeze(LabelOrder::Frequency);
    let id = |name: &str| labels.id(name).expect("every name was added");
    let segments = segments.iter().map(|list| list.iter().map(|(s, r, name)| (*s, *r, id(name))).collect());
    let segments = segments.collect();
    Ok((labels, spelling.renumbered(&new_ids), segments))
}

/// The longest segment of each label: as seen, or as given; one position outside.
fn longest(
    gold: &[Labelled],
    labels: &LabelSet,
    spelling: &Spelling,
    given: Option<usize>,
) -> Result<Vec<u32>> {
    let mut longest = vec![1u32; spelling.labels()];
    for &(start, end, label) in gold.iter().flatten() {
        let seen = &mut longest[label as usize];
        *seen = (*seen).max((end - start) as u32);
    }
    if let Some((y, seen)) = (0..).zip(&longest).find(|(_, seen)| **seen as usize > LONGEST) {
        let name = labels.name(y).unwrap_or_default();
        let got = format!("{seen} positions of label {name}");
        return Err(Error::argument(
            "segments of the training data",
            format!("at most {LONGEST} positions"),
            got,
        ));
    }
    let Some(given) = given else { return Ok(longest) };
    for (y, seen) in (0..).zip(&mut longest) {
        if *seen as usize > given {
            let name = labels.name(y).unwrap_or_default();
            let expected = format!("at least {seen}, the longest of label {name} in the data");
            return Err(Error::argument("longest segment", expected, given));
        }
        if !(matches!(spelling, Spelling::Tags { .. }) && spelling.is_outside(y)) {
            *seen = u32::try_from(given).unwrap_or(u32::MAX);
        }
    }
    Ok(longest)
}
