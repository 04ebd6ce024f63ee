//! From sequences to numbered features.
//!
//! **What.** A [`FeatureSource`] determines the features of a position: a CRF++ [template](crate::Template), Wapiti's
//! [patterns](crate::Patterns), the attributes of CRFsuite's items, columns that are [`Numbers`], a [`Preset`], or a sum
//! of several. While
//! training data is read, an [`ExtractorBuilder`] numbers features as they occur; frozen, it becomes an [`Extractor`], which turns a
//! [`Sequence`](crate::Sequence) into a [`FeatureBuffer`]: ids by position, without unknown features. Features of one
//! label (*node features*) and of two neighbouring labels (*edge features*) are numbered separately, because their
//! weights have different shapes: `L` numbers and `L x L`.
//!
//! **Cost.** One hash per feature, looked up in groups so that their memory accesses overlap; nothing is allocated once
//! the buffer has grown to the longest sequence. The extractor is read-only, so threads share it, each with its own
//! buffer.
//!
//! Features that are Rust functions, in the boolean framework of the CarpeDiem paper, are in [`boolean`]; the features of
//! a position as a vector, and kernels between such vectors, in [`token`]; features of whole segments in [`segment`].
//!
//! ```
//! use kbest::feature::{ExtractorBuilder, FeatureBuffer, FeatureSource};
//! use kbest::{Sequence, Template};
//!
//! let template = Template::parse("U0:%x[0,0]\nU1:%x[-1,0]\nB\n", "template")?;
//! let mut builder = ExtractorBuilder::new(FeatureSource::Template(template));
//! let mut buffer = FeatureBuffer::new();
//! builder.observe(&Sequence::from_tokens(["time", "flies", "time"]), &mut buffer)?;
//! let extractor = builder.freeze(1).extractor;
//!
//! extractor.extract(&Sequence::from_tokens(["fast", "time"]), &mut buffer)?;
//! let names = |t| buffer.nodes(t).iter().map(|&id| extractor.nodes().key(id).unwrap()).collect::<Vec<_>>();
//! assert_eq!(names(0), [b"U1:_B-1"]); // "fast" is unknown
//! assert_eq!(names(1), [b"U0:time"]); // and so is a "fast" before
//! assert_eq!(buffer.edges(1), extractor.shared_edges()); // B looks at nothing
//! # Ok::<(), kbest::Error>(())
//! ```

pub mod boolean;
mod buffer;
mod dictionary;
mod extract;
mod kinds;
mod lookups;
mod numbers;
mod preset;
pub mod segment;
mod source;
mod sum;
pub mod token;
mod windows;

pub use buffer::FeatureBuffer;
pub(crate) use dictionary::rises_to;
pub use dictionary::{Dictionary, DictionaryBuilder, Renumbering};
pub use extract::{Extractor, ExtractorBuilder, Frozen};
pub use kinds::FeatureKind;
pub use numbers::Numbers;
pub use preset::Preset;
pub use source::FeatureSource;
pub use sum::FeatureSum;

/// Text as the sets `words` and `morphology` keep it in the names of features: in lower case, every digit as `0`.
///
/// ```
/// assert_eq!(kbest::feature::folded("NW 7th"), "nw 0th");
/// ```
pub fn folded(text: &str) -> String {
    let mut out = Vec::new();
    crate::template::push_folded(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A feature: an index below the number of features of its kind.
pub type FeatureId = u32;
