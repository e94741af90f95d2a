//! The display form of a breakdown: sections with lines, each with a figure.

use crate::context::budget::BudgetPart;
use crate::ids::EntryIx;

/// A number of tokens and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Estimated by rule.
    Estimated(u64),
    /// Counted by the provider.
    Measured(u64),
    /// Measured minus estimated.
    Difference(i64),
    /// No number is known.
    Unknown,
}

impl Figure {
    /// Returns tokens for bars and shares, without the sign of a difference; `None` for an unknown number.
    pub fn tokens(self) -> Option<u64> {
        match self {
            Self::Estimated(tokens) | Self::Measured(tokens) => Some(tokens),
            Self::Difference(tokens) => Some(tokens.unsigned_abs()),
            Self::Unknown => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SectionKind {
    /// A part of the budget bar; the parts add up to it.
    Part(BudgetPart),
    Remainder,
    /// The heaviest messages; they also count in the parts.
    Heaviest,
    /// Images; they also count in the parts.
    Images,
    /// The window compared with the whole history.
    History,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    pub title: &'static str,
    /// A short remark next to the title.
    pub note: String,
    pub figure: Figure,
    /// Tokens under the plan, if one is shown.
    pub after: Option<u64>,
    /// A sentence for the detail view.
    pub explanation: String,
    /// Whether something in the section needs the user's decision.
    pub has_warning: bool,
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

/// One line of a section. Its texts may come from a transcript or a report and are not yet sanitised for the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub label: String,
    /// A short remark next to the label.
    pub note: String,
    pub figure: Figure,
    /// Tokens under the plan, if one is shown.
    pub after: Option<u64>,
    /// 1 for a line that details the line above it, otherwise 0.
    pub depth: u8,
    /// Whether the line needs the user's decision.
    pub has_warning: bool,
    /// The entry that the line opens.
    pub entry: Option<EntryIx>,
    /// A sentence for the detail view.
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

/// Sorts the largest first; the sort is stable.
pub(super) fn sort_by_tokens(lines: &mut [Line]) {
    lines.sort_by_key(|line| std::cmp::Reverse(line.figure.tokens()));
}
