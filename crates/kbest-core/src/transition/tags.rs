//! The constraints of a tagging scheme, from the roles and types of two labels.

use super::Step;
use crate::label::LabelSetBuilder;
use crate::scheme::{Role, Scheme, Tagging};

/// A label, with its strings as numbers.
#[derive(Debug, Clone, Copy)]
struct Ids {
    role: Role,
    kind: u32,
    rest: u32,
}

/// A scheme applied to the labels of a model.
#[derive(Debug, Clone)]
pub(super) struct TagRule {
    scheme: Scheme,
    keep_rest: bool,
    tags: Vec<Ids>, // by label
}

impl TagRule {
    pub(super) fn new<N: AsRef<str>>(
        names: impl IntoIterator<Item = N>,
        tagging: Tagging,
        keep_rest: bool,
    ) -> Self {
        let (mut kinds, mut rests) = (LabelSetBuilder::new(), LabelSetBuilder::new());
        let ids = |name: N| {
            let tag = tagging.read(name.as_ref());
            Ids { role: tag.role, kind: kinds.add(tag.kind), rest: rests.add(tag.rest) }
        };
        TagRule { scheme: tagging.scheme, keep_rest, tags: names.into_iter().map(ids).collect() }
    }

    pub(super) fn labels(&self) -> usize {
        self.tags.len()
    }

    /// Role, number of the type, and number of the rest, which is 0 if it does not matter.
    pub(super) fn tag(&self, y: usize) -> (Role, u32, u32) {
        let Ids { role, kind, rest } = self.tags[y];
        (role, kind, if self.keep_rest { rest } else { 0 })
    }

    /// Whether `y` may follow `p` if their types were the same, or different.
    pub(super) fn allows_if_same(&self, p: usize, y: usize, same: bool) -> bool {
        let (from, to) = (self.tags[p], self.tags[y]);
        self.scheme.allows(from.role, to.role, same) && (!self.keep_rest || from.rest == to.rest)
    }

    #[inline]
    pub(super) fn allows(&self, step: Step) -> bool {
        match step {
            // Positions outside the sequence count as outside a span.
            Step::Start(y) => self.scheme.allows(Role::Outside, self.tags[y].role, false),
            Step::End(y) => self.scheme.allows(self.tags[y].role, Role::Outside, false),
            Step::Between(p, y) => self.allows_if_same(p, y, self.tags[p].kind == self.tags[y].kind),
        }
    }
}
