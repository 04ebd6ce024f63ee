//! Models and taggers of the library, whatever their answers are made of, behind one face.

use kbest::decode::Lattices;
use kbest::evaluate::Spans;
use kbest::feature::Extractor;
use kbest::marginal::Calibration;
use kbest::model::AnyModel;
use kbest::scheme::KnownTag;
use kbest::scoring::{Scorer, TextModel};
use kbest::segment::{Marginals, Segment};
use kbest::train::Product;
use kbest::{
    Error, LabelId, LabelSet, Lattice, Model, Result, SegmentModel, Sequence, Structure, Tagger,
    TaggerOptions,
};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A model that taggers share.
pub(crate) type SharedModel = Arc<dyn AskedModel>;

/// A model for taggers to share.
pub(crate) fn share<M: AskedModel + 'static>(model: M) -> SharedModel {
    Arc::new(model)
}

/// The model of a file.
pub(crate) fn shared(model: AnyModel) -> SharedModel {
    match model {
        AnyModel::Positions(model) => share(*model),
        AnyModel::Segments(model) => share(*model),
    }
}

/// What the methods of a tagger ask of its model.
pub(crate) trait AskedModel: fmt::Debug + Send + Sync {
    /// The labels of the parts of answers.
    fn labels(&self) -> &LabelSet;
    /// The names that positions can get: labels, or tags that spell segments.
    fn tags(&self) -> LabelSet;
    /// "positions" or "segments".
    fn kind(&self) -> &'static str;
    /// Which decoders it takes.
    fn lattices(&self) -> Lattices;
    fn extractor(&self) -> &Extractor;
    fn about(&self) -> &[(String, String)];
    fn calibration(&self) -> Option<&Calibration>;
    /// How the labels of positions encode spans, if they do.
    fn spans(&self) -> Option<Spans>;
    /// Whether segments with this label are no spans.
    fn is_outside(&self, label: LabelId) -> bool;
    fn save(&self, path: &Path) -> Result<()>;
    fn to_bytes(&self) -> Result<Vec<u8>>;
    /// A copy whose probabilities fit these sequences.
    fn calibrated(self: Arc<Self>, data: &[Sequence], threads: usize) -> Result<SharedModel>;
    /// The model itself, if it is one of positions.
    fn positions(&self) -> Option<&Model>;
    /// A tagger.
    fn engine(self: Arc<Self>, options: &TaggerOptions) -> Result<Box<dyn Engine>>;
}

/// A tagger of the library: one per thread.
pub(crate) trait Engine: fmt::Debug + Send + Sync {
    fn another(&self, confidences: bool) -> Box<dyn Engine>;
    /// The tags of the best answer.
    fn best(&mut self, sequence: &Sequence, tags: &LabelSet) -> Result<Vec<LabelId>>;
    /// Checks names of what is known; the name that the model does not know is the error.
    fn check_known(&self, names: &[Option<String>]) -> std::result::Result<(), String>;
    /// The `k` best answers.
    fn answers(
        &mut self,
        sequence: &Sequence,
        known: Known<'_>,
        k: usize,
        tags: &LabelSet,
    ) -> Result<Vec<Answer>>;
    /// Probabilities of labels.
    fn sums(&mut self, sequence: &Sequence, known: Known<'_>) -> Result<Sums>;
    /// Shows the lattice of a model of positions.
    fn show_lattice(
        &mut self,
        sequence: &Sequence,
        known: Known<'_>,
        see: &mut dyn FnMut(&Lattice<'_, f32>) -> Result<()>,
    ) -> Result<()>;
}

/// One of the answers for a sequence.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// By position, numbers of the tags.
    pub(crate) tags: Vec<LabelId>,
    /// `None` from a model of positions.
    pub(crate) segments: Option<Vec<Segment>>,
    pub(crate) score: f64,
    pub(crate) probability: Option<f64>,
    /// By position: how probable the label is, or the segment it belongs to.
    pub(crate) confidences: Option<Vec<f64>>,
}

/// Known labels by name, if any are.
pub(crate) type Known<'a> = Option<&'a [Option<String>]>;

/// Sums over all answers of a sequence.
pub(crate) struct Sums {
    /// `T x L`, where `L` are the labels of the model.
    pub(crate) node: Vec<f64>,
    /// Of models of segments: how probable a boundary is before each position, and the log partition.
    pub(crate) segments: Option<(Vec<f64>, f64)>,
}

/// In what the two kinds of models differ.
trait Kind: TextModel + Product + 'static {
    const NAME: &'static str;

    fn model_about(&self) -> &[(String, String)];
    fn all_tags(&self) -> LabelSet;
    fn outside(&self, label: LabelId) -> bool;
    fn as_positions(&self) -> Option<&Model>;
    /// The tags of the positions of an answer.
    fn tags_of(&self, parts: &[PartOf<Self>], tags: &LabelSet) -> Vec<LabelId>;
    /// The segments of an answer, if it has any.
    fn segments_of(parts: &[PartOf<Self>]) -> Option<Vec<Segment>>;
    /// The lattice, if it is one of positions.
    fn chain<'l, 'a>(lattice: &'l LatticeOf<'a, Self>) -> Option<&'l Lattice<'a, f32>>;
    fn sums(tagger: &mut Tagger<Self>, sequence: &Sequence, known: &[Option<KnownOf<Self>>]) -> Result<Sums>;
}

type PartOf<M> = <<M as Scorer>::Structure as Structure>::Part;
type KnownOf<M> = <<M as Scorer>::Structure as Structure>::Known;
type LatticeOf<'a, M> = <<M as Scorer>::Structure as Structure>::Lattice<'a, f32>;

impl Kind for Model {
    const NAME: &'static str = "positions";

    fn model_about(&self) -> &[(String, String)] {
        self.about()
    }

    fn all_tags(&self) -> LabelSet {
        self.labels().clone()
    }

    fn outside(&self, _: LabelId) -> bool {
        false
    }

    fn as_positions(&self) -> Option<&Model> {
        Some(self)
    }

    fn tags_of(&self, labels: &[LabelId], _: &LabelSet) -> Vec<LabelId> {
        labels.to_vec()
    }

    fn segments_of(_: &[LabelId]) -> Option<Vec<Segment>> {
        None
    }

    fn chain<'l, 'a>(lattice: &'l LatticeOf<'a, Self>) -> Option<&'l Lattice<'a, f32>> {
        Some(lattice)
    }

    fn sums(tagger: &mut Tagger, sequence: &Sequence, known: &[Option<LabelId>]) -> Result<Sums> {
        Ok(Sums { node: tagger.distributions(sequence, known)?.to_vec(), segments: None })
    }
}

impl Kind for SegmentModel {
    const NAME: &'static str = "segments";

    fn model_about(&self) -> &[(String, String)] {
        self.about()
    }

    fn all_tags(&self) -> LabelSet {
        LabelSet::from_names(self.spelling().spelled())
    }

    fn outside(&self, label: LabelId) -> bool {
        self.spelling().is_outside(label)
    }

    fn as_positions(&self) -> Option<&Model> {
        None
    }

    fn tags_of(&self, segments: &[Segment], tags: &LabelSet) -> Vec<LabelId> {
        self.spell(segments).iter().map(|tag| tags.id(tag).unwrap_or_default()).collect()
    }

    fn segments_of(segments: &[Segment]) -> Option<Vec<Segment>> {
        Some(segments.to_vec())
    }

    fn chain<'l, 'a>(_: &'l LatticeOf<'a, Self>) -> Option<&'l Lattice<'a, f32>> {
        None
    }

    fn sums(tagger: &mut Tagger<Self>, sequence: &Sequence, known: &[Option<KnownTag>]) -> Result<Sums> {
        let temperature = tagger.model().calibration().map_or(1.0, |how| how.temperature());
        let lattice = tagger.lattice(sequence, known)?;
        let sums = Marginals::at_temperature(&lattice, temperature)?;
        let boundary = (0..=lattice.positions()).map(|t| sums.boundary(t)).collect();
        Ok(Sums { node: sums.labels(), segments: Some((boundary, sums.log_partition())) })
    }
}

impl<M: Kind> AskedModel for M {
    fn labels(&self) -> &LabelSet {
        self.label_set()
    }

    fn tags(&self) -> LabelSet {
        self.all_tags()
    }

    fn kind(&self) -> &'static str {
        M::NAME
    }

    fn lattices(&self) -> Lattices {
        M::Structure::LATTICES
    }

    fn extractor(&self) -> &Extractor {
        TextModel::extractor(self)
    }

    fn about(&self) -> &[(String, String)] {
        self.model_about()
    }

    fn calibration(&self) -> Option<&Calibration> {
        Scorer::calibration(self)
    }

    fn spans(&self) -> Option<Spans> {
        TextModel::spans(self)
    }

    fn is_outside(&self, label: LabelId) -> bool {
        self.outside(label)
    }

    fn save(&self, path: &Path) -> Result<()> {
        Product::save(self, path)
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        Product::to_bytes(self)
    }

    fn calibrated(self: Arc<Self>, data: &[Sequence], threads: usize) -> Result<SharedModel> {
        let found = M::calibrate(&self, data, threads, &mut |_| ())?;
        let copy = M::from_bytes(&Product::to_bytes(&*self)?, "<model>")?;
        Ok(Arc::new(copy.with_calibration(found.calibration, "fitted in Python")?))
    }

    fn positions(&self) -> Option<&Model> {
        self.as_positions()
    }

    fn engine(self: Arc<Self>, options: &TaggerOptions) -> Result<Box<dyn Engine>> {
        Ok(Box::new(options.tagger(&self)?))
    }
}

impl<M: Kind> Engine for Tagger<M> {
    fn another(&self, confidences: bool) -> Box<dyn Engine> {
        Box::new(Tagger::another(self).with_confidences(confidences))
    }

    fn best(&mut self, sequence: &Sequence, tags: &LabelSet) -> Result<Vec<LabelId>> {
        let model = self.model().clone();
        Ok(model.tags_of(self.tag(sequence, 1)?.decoded.best().as_ref(), tags))
    }

    fn check_known(&self, names: &[Option<String>]) -> std::result::Result<(), String> {
        let knows = |name: &str| self.model().known(name).is_some();
        match names.iter().flatten().find(|name| !knows(name)) {
            None => Ok(()),
            Some(name) => Err(name.clone()),
        }
    }

    fn answers(
        &mut self,
        sequence: &Sequence,
        known: Known<'_>,
        k: usize,
        tags: &LabelSet,
    ) -> Result<Vec<Answer>> {
        let model = self.model().clone();
        let tagged = match known {
            Some(names) => self.tag_known(sequence, &resolved(&*model, names), k)?,
            None => self.tag(sequence, k)?,
        };
        let answer = |(rank, path): (usize, &<M::Structure as Structure>::Path<f32>)| {
            let parts = path.as_ref();
            // Each position is as sure as the part of the answer that covers it.
            let spread =
                |sure: &Vec<f64>| M::Structure::covering(parts).into_iter().map(|i| sure[i]).collect();
            Answer {
                tags: model.tags_of(parts, tags),
                segments: M::segments_of(parts),
                score: M::Structure::score_of(path).into(),
                probability: tagged.probabilities.get(rank).copied(),
                confidences: tagged.confidences.get(rank).map(spread),
            }
        };
        Ok(tagged.decoded.paths.iter().enumerate().map(answer).collect())
    }

    fn sums(&mut self, sequence: &Sequence, known: Known<'_>) -> Result<Sums> {
        let known = resolved(&**self.model(), known.unwrap_or_default());
        M::sums(self, sequence, &known)
    }

    fn show_lattice(
        &mut self,
        sequence: &Sequence,
        known: Known<'_>,
        see: &mut dyn FnMut(&Lattice<'_, f32>) -> Result<()>,
    ) -> Result<()> {
        let known = resolved(&**self.model(), known.unwrap_or_default());
        match M::chain(&self.lattice(sequence, &known)?) {
            Some(chain) => see(chain),
            None => Err(Error::argument("model", "one of single positions", "one of segments")),
        }
    }
}

/// What is known of each position, as the model takes it.
fn resolved<M: TextModel>(model: &M, names: &[Option<String>]) -> Vec<Option<KnownOf<M>>> {
    names.iter().map(|name| model.known(name.as_ref()?)).collect()
}

/// Refuses a decoder that cannot find `k` answers with this kind of model.
pub(crate) fn check_decoder(model: &SharedModel, options: &TaggerOptions, k: usize) -> Result<()> {
    if k == 0 {
        return Err(Error::argument("k", "at least 1", 0));
    }
    options.decoder(model.lattices(), k).map(|_| ())
}
