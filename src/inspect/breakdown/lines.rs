//! What a breakdown is shown as: sections with lines, each with a figure.

use crate::context::budget::Part;
use crate::ids::EntryIx;

/// A number of tokens, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// By rule.
    Est(u64),
    /// Counted by the provider.
    Measured(u64),
    /// Counted less estimated.
    Difference(i64),
    /// Not known.
    Unknown,
}

impl Figure {
    /// Tokens for bars and shares; what is no amount is none.
    pub fn amount(self) -> Option<u64> {
        match self {
            Self::Est(tokens) | Self::Measured(tokens) => Some(tokens),
            Self::Difference(tokens) => Some(tokens.unsigned_abs()),
            Self::Unknown => None,
        }
    }
}

/// Which section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionKind {
    /// A part of the budget bar; these add up to it.
    Part(Part),
    /// Measured against estimated.
    Remainder,
    /// The heaviest messages, out of the parts.
    Heaviest,
    /// Images, out of the parts.
    Images,
    /// The window against the whole history.
    History,
}

/// A section with its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Which.
    pub kind: SectionKind,
    /// Its name.
    pub title: &'static str,
    /// A few words beside it.
    pub note: String,
    /// Its tokens.
    pub figure: Figure,
    /// Its tokens under the plan, where one is shown.
    pub after: Option<u64>,
    /// A sentence for whoever looks at it.
    pub words: String,
    /// Something in it wants a decision.
    pub warns: bool,
    /// Its lines.
    pub lines: Vec<Line>,
}

impl Section {
    pub(super) fn new(kind: SectionKind, title: &'static str, figure: Figure) -> Self {
        Self {
            kind,
            title,
            note: String::new(),
            figure,
            after: None,
            words: String::new(),
            warns: false,
            lines: Vec::new(),
        }
    }

    pub(super) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn words(self, words: impl Into<String>) -> Self {
        Self { words: words.into(), ..self }
    }

    pub(super) fn lines(self, lines: Vec<Line>) -> Self {
        Self { lines, ..self }
    }
}

/// One line. Its texts may come from a transcript or a report, not yet made safe for the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub label: String,
    /// A few words beside it.
    pub note: String,
    /// Its tokens.
    pub figure: Figure,
    /// Its tokens under the plan, where one is shown.
    pub after: Option<u64>,
    /// 1 for a line that is a piece of the line above it.
    pub depth: u8,
    /// It wants a decision.
    pub warns: bool,
    /// The entry it leads to.
    pub entry: Option<EntryIx>,
    /// A sentence for whoever looks at it.
    pub words: String,
}

impl Line {
    pub(super) fn new(label: impl Into<String>, tokens: u64) -> Self {
        Self {
            label: label.into(),
            note: String::new(),
            figure: Figure::Est(tokens),
            after: None,
            depth: 0,
            warns: false,
            entry: None,
            words: String::new(),
        }
    }

    pub(super) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn words(self, words: impl Into<String>) -> Self {
        Self { words: words.into(), ..self }
    }

    pub(super) fn after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }

    pub(super) fn to(self, entry: Option<EntryIx>) -> Self {
        Self { entry, ..self }
    }

    pub(super) fn below(self) -> Self {
        Self { depth: 1, ..self }
    }
}

/// The largest first; equals stay in order.
pub(super) fn by_weight(lines: &mut [Line]) {
    lines.sort_by_key(|line| std::cmp::Reverse(line.figure.amount()));
}
