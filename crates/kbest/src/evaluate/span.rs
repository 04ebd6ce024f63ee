//! From labels to spans.

use kbest_core::scheme::{Layout, Role, Scheme, Tag, Tagging};

/// How spans are found in labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spans {
    /// As in `conlleval` and seqeval's default mode: lenient, for all schemes. A span continues unless it is at its end
    /// (`E`, `S`), or the next label begins a span (`B`, `S`), has another type or is outside.
    Conlleval(Layout),
    /// As in seqeval's strict mode: only spans spelled exactly as the scheme requires. (In IOE1 this finds one kind
    /// more than seqeval: a single `E-X` before another `X`.)
    Strict(Tagging),
    /// Maximal runs of one label; the label `O` is outside.
    Runs,
}

impl Spans {
    /// Detects from the names of all labels where the tags are, and reads them as `conlleval` does; `None` if they do
    /// not encode spans.
    pub fn detect<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Option<Self> {
        Tagging::detect(names).map(|tagging| Spans::Conlleval(tagging.layout))
    }

    /// All spans of a sequence of labels, from left to right.
    ///
    /// ```
    /// use kbest::evaluate::{Span, Spans};
    /// use kbest::scheme::Layout;
    /// let spans = Spans::Conlleval(Layout::default()).find(&["O", "I-PER", "I-LOC", "I-LOC", "B-LOC"]);
    /// let found: Vec<_> = spans.iter().map(|span| (span.start, span.end, span.kind)).collect();
    /// assert_eq!(found, [(1, 2, "PER"), (2, 4, "LOC"), (4, 5, "LOC")]);
    /// ```
    pub fn find<'a, N: AsRef<str>>(&self, labels: &'a [N]) -> Vec<Span<'a>> {
        let labels = labels.iter().map(AsRef::as_ref);
        match self {
            Spans::Conlleval(layout) => {
                lenient(labels.map(|label| layout.read(label).unwrap_or(OUTSIDE)), |p, y| {
                    p.kind == y.kind
                        && matches!(p.role, Role::Begin | Role::Inside)
                        && matches!(y.role, Role::Inside | Role::End)
                })
            }
            Spans::Strict(tagging) => strict(labels.map(|label| tagging.read(label)), tagging.scheme),
            Spans::Runs => {
                let role = |label| if label == "O" { Role::Outside } else { Role::Inside };
                lenient(labels.map(|label| Tag { role: role(label), kind: label, rest: "" }), |p, y| {
                    p.kind == y.kind
                })
            }
        }
    }
}

/// A stretch of positions of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// The first position.
    pub start: usize,
    /// One past the last position.
    pub end: usize,
    /// The type.
    pub kind: &'a str,
}

const OUTSIDE: Tag<'_> = Tag { role: Role::Outside, kind: "", rest: "" };

/// Every label that is not outside belongs to a span: the span of the label before it, or a new one.
fn lenient<'a>(
    tags: impl Iterator<Item = Tag<'a>>,
    goes_on: impl Fn(Tag<'a>, Tag<'a>) -> bool,
) -> Vec<Span<'a>> {
    let mut spans: Vec<Span<'a>> = Vec::new();
    let mut before = OUTSIDE;
    for (t, tag) in tags.enumerate() {
        match spans.last_mut() {
            Some(span) if before.role != Role::Outside && goes_on(before, tag) => span.end = t + 1,
            _ if tag.role != Role::Outside => spans.push(Span { start: t, end: t + 1, kind: tag.kind }),
            _ => {}
        }
        before = tag;
    }
    spans
}

/// Only spans that start, continue and end by the rules.
fn strict<'a>(tags: impl Iterator<Item = Tag<'a>>, scheme: Scheme) -> Vec<Span<'a>> {
    let mut tags: Vec<Tag<'a>> = tags.collect();
    tags.push(OUTSIDE);
    let mut spans = Vec::new();
    let mut before = OUTSIDE;
    let mut t = 0;
    while t < tags.len() {
        let start = t;
        t += 1;
        if starts(scheme, before, tags[start]) {
            while goes_on(scheme, tags[t - 1], tags[t]) {
                t += 1;
            }
            if ends(scheme, tags[t - 1], tags[t]) {
                spans.push(Span { start, end: t, kind: tags[start].kind });
            }
        }
        before = tags[t - 1];
    }
    spans
}

/// Whether a span may start at `tag`, which does not continue the span of `before`.
fn starts(scheme: Scheme, before: Tag<'_>, tag: Tag<'_>) -> bool {
    let same = before.kind == tag.kind;
    match (scheme, tag.role) {
        (Scheme::Iob1, Role::Inside) => before.role != Role::Inside || !same,
        (Scheme::Iob1, Role::Begin) => before.role != Role::Outside && same,
        (Scheme::Iob2, Role::Begin) => true,
        (Scheme::Ioe1 | Scheme::Ioe2, Role::Inside | Role::End) => before.role != Role::Inside || !same,
        (Scheme::Iobes, Role::Begin | Role::Single) => true,
        _ => false,
    }
}

fn goes_on(scheme: Scheme, before: Tag<'_>, tag: Tag<'_>) -> bool {
    let open = match scheme {
        Scheme::Ioe1 | Scheme::Ioe2 => before.role == Role::Inside,
        Scheme::Iob1 | Scheme::Iob2 | Scheme::Iobes => matches!(before.role, Role::Begin | Role::Inside),
    };
    open && matches!(tag.role, Role::Inside | Role::End) && before.kind == tag.kind
}

/// Whether a span may end with `last`, if `next` does not continue it.
fn ends(scheme: Scheme, last: Tag<'_>, next: Tag<'_>) -> bool {
    let same = last.kind == next.kind;
    match scheme {
        // A `B` before a `B` of another type is misplaced, and so is the other one.
        Scheme::Iob1 => last.role != Role::Begin || next.role != Role::Begin || same,
        Scheme::Iob2 => true,
        Scheme::Ioe1 => last.role == Role::Inside || (next.role != Role::Outside && same),
        Scheme::Ioe2 => last.role == Role::End,
        Scheme::Iobes => matches!(last.role, Role::End | Role::Single),
    }
}
