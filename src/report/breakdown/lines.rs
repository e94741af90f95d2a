//! What a breakdown is shown as: sections with lines, each with a figure.

use crate::context::budget::BudgetPart;
use crate::ids::EntryIx;

/// A number of tokens, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// By rule.
    Estimated(u64),
    /// Counted by the provider.
    Measured(u64),
    /// Counted less estimated.
    Difference(i64),
    /// Not known.
    Unknown,
}

impl Figure {
    /// Tokens for bars and shares; what is no amount is none.
    pub fn tokens(self) -> Option<u64> {
        match self {
            Self::Estimated(tokens) | Self::Measured(tokens) => Some(tokens),
            Self::Difference(tokens) => Some(tokens.unsigned_abs()),
            Self::Unknown => None,
        }
    }
}

/// Which section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionKind {
    /// A part of the budget bar; these add up to it.
    Part(BudgetPart),
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
    pub explanation: String,
    /// Something in it wants a decision.
    pub has_warning: bool,
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
            explanation: String::new(),
            has_warning: false,
            lines: Vec::new(),
        }
    }

    pub(super) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn with_explanation(self, words: impl Into<String>) -> Self {
        Self { explanation: words.into(), ..self }
    }

    pub(super) fn with_lines(self, lines: Vec<Line>) -> Self {
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
    pub has_warning: bool,
    /// The entry it leads to.
    pub entry: Option<EntryIx>,
    /// A sentence for whoever looks at it.
    pub explanation: String,
}

impl Line {
    pub(super) fn new(label: impl Into<String>, tokens: u64) -> Self {
        Self {
            label: label.into(),
            note: String::new(),
            figure: Figure::Estimated(tokens),
            after: None,
            depth: 0,
            has_warning: false,
            entry: None,
            explanation: String::new(),
        }
    }

    pub(super) fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    pub(super) fn with_explanation(self, words: impl Into<String>) -> Self {
        Self { explanation: words.into(), ..self }
    }

    pub(super) fn with_after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }

    pub(super) fn with_entry(self, entry: Option<EntryIx>) -> Self {
        Self { entry, ..self }
    }

    pub(super) fn indented(self) -> Self {
        Self { depth: 1, ..self }
    }
}

/// The largest first; equals stay in order.
pub(super) fn sort_by_tokens(lines: &mut [Line]) {
    lines.sort_by_key(|line| std::cmp::Reverse(line.figure.tokens()));
}
