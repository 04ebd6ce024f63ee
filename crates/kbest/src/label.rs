//! Labels are numbers below `L`; names belong to models.

/// A label: an index below the number of labels `L`.
pub type LabelId = u32;
