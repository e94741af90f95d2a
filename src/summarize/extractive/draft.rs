//! A summary under its headings, shortened until it fits.

use std::fmt::Write as _;

use crate::summarize::extractive::words::{shortened, units};
use crate::units::Chars;

/// Smallest limit for a line when all lines are shortened.
const MIN_LINE_CHARS: Chars = Chars(60.0);

/// A heading of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummaryPart {
    Goal,
    Constraints,
    Done,
    InProgress,
    Blocked,
    Decisions,
    Next,
    Context,
    Request,
    Early,
    Suffix,
}

/// Importance of an item; the lightest are dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Side,
    Main,
    /// Never dropped, only shortened.
    Key,
}

impl SummaryPart {
    const CHECKPOINT: &[Self] = &[
        Self::Goal,
        Self::Constraints,
        Self::Done,
        Self::InProgress,
        Self::Blocked,
        Self::Decisions,
        Self::Next,
        Self::Context,
    ];
    const TURN_PREFIX: &[Self] = &[Self::Request, Self::Early, Self::Suffix];

    /// Returns the lines above its items.
    const fn heading(self) -> &'static str {
        match self {
            Self::Goal => "## Goal",
            Self::Constraints => "## Constraints & Preferences",
            Self::Done => "## Progress\n### Done",
            Self::InProgress => "### In Progress",
            Self::Blocked => "### Blocked",
            Self::Decisions => "## Key Decisions",
            Self::Next => "## Next Steps",
            Self::Context => "## Critical Context",
            Self::Request => "## Original Request",
            Self::Early => "## Early Progress",
            Self::Suffix => "## Context for Suffix",
        }
    }

    /// Returns the bullet of an item; `number` counts from 1.
    fn bullet(self, number: usize) -> String {
        match self {
            Self::Done => "- [x] ".to_owned(),
            Self::InProgress => "- [ ] ".to_owned(),
            Self::Next => format!("{number}. "),
            _ => "- ".to_owned(),
        }
    }
}

#[derive(Debug)]
struct DraftItem {
    part: SummaryPart,
    weight: Weight,
    text: String,
}

/// The items of a summary, one line each, oldest first under their heading.
#[derive(Debug)]
pub(super) struct SummaryDraft {
    parts: &'static [SummaryPart],
    items: Vec<DraftItem>,
    /// Headings of the dropped items, one for each.
    dropped: Vec<SummaryPart>,
}

impl SummaryDraft {
    /// Starts with the headings of a checkpoint (compaction 3.17).
    pub(super) fn checkpoint() -> Self {
        Self { parts: SummaryPart::CHECKPOINT, items: Vec::new(), dropped: Vec::new() }
    }

    /// Starts with the headings of a turn prefix (compaction 3.18).
    pub(super) fn turn_prefix() -> Self {
        Self { parts: SummaryPart::TURN_PREFIX, items: Vec::new(), dropped: Vec::new() }
    }

    /// Adds a line under a heading, once.
    pub(super) fn add(&mut self, part: SummaryPart, weight: Weight, text: String) {
        let known = self.items.iter().any(|item| item.part == part && item.text == text);
        if !text.is_empty() && !known {
            self.items.push(DraftItem { part, weight, text });
        }
    }

    /// Returns the text in at most `chars` chars: drops the lightest items first, then shortens the lines, then cuts
    /// the text.
    pub(super) fn into_text(mut self, chars: Chars) -> String {
        let mut text = self.render();
        while units(&text) > chars && self.drop_one() {
            text = self.render();
        }
        let mut line = Chars(240.0);
        while units(&text) > chars && line >= MIN_LINE_CHARS {
            self.items.iter_mut().for_each(|item| item.text = shortened(&item.text, line));
            text = self.render();
            line = (line * 2.0 / 3.0).floor();
        }
        if units(&text) > chars { shortened(&text, chars) } else { text }
    }

    /// Drops the oldest of the lightest items under the heading with most of them; returns false if only key items
    /// remain.
    fn drop_one(&mut self) -> bool {
        let lightest = self.items.iter().map(|item| item.weight).min();
        let Some(weight) = lightest.filter(|weight| *weight < Weight::Key) else { return false };
        let room = |part: SummaryPart| -> usize {
            let own = self.items.iter().filter(|item| item.part == part && item.weight == weight);
            own.map(|item| item.text.len()).sum()
        };
        let fullest = self.parts.iter().copied().max_by_key(|part| room(*part));
        let at = self.items.iter().position(|item| Some(item.part) == fullest && item.weight == weight);
        at.map(|at| self.dropped.push(self.items.remove(at).part)).is_some()
    }

    fn render(&self) -> String {
        let mut text = String::new();
        for part in self.parts {
            let items: Vec<&DraftItem> = self.items.iter().filter(|item| item.part == *part).collect();
            let dropped = self.dropped.iter().filter(|own| *own == part).count();
            if items.is_empty() && dropped == 0 && *part == SummaryPart::Blocked {
                continue;
            }
            let gap = if text.is_empty() { "" } else { "\n" };
            _ = writeln!(text, "{gap}{}", part.heading());
            for (at, item) in items.iter().enumerate() {
                _ = writeln!(text, "{}{}", part.bullet(at + 1), item.text);
            }
            if items.is_empty() && dropped == 0 {
                text.push_str("- (none)\n");
            }
            if dropped > 0 {
                _ = writeln!(text, "- (no room for {dropped} more)");
            }
        }
        text.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft() -> SummaryDraft {
        let mut draft = SummaryDraft::checkpoint();
        draft.add(SummaryPart::Goal, Weight::Key, "goal".to_owned());
        for number in 0..20 {
            draft.add(SummaryPart::Done, Weight::Side, format!("step {number} {}", "x".repeat(40)));
        }
        draft.add(SummaryPart::Decisions, Weight::Main, "decision".to_owned());
        draft
    }

    #[test]
    fn headings_are_in_order_and_empty_ones_have_a_placeholder() {
        let mut draft = SummaryDraft::checkpoint();
        draft.add(SummaryPart::Next, Weight::Main, "a".to_owned());
        draft.add(SummaryPart::Next, Weight::Main, "b".to_owned());
        draft.add(SummaryPart::Next, Weight::Main, "a".to_owned());
        let text = draft.into_text(Chars(10_000.0));
        let expected = "## Goal\n- (none)\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n### Done\n- (none)\n\n\
            ### In Progress\n- (none)\n\n## Key Decisions\n- (none)\n\n## Next Steps\n1. a\n2. b\n\n## Critical Context\n- (none)";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_oldest_line_of_the_lowest_weight_is_dropped_first_and_counted() {
        let text = draft().into_text(Chars(700.0));
        assert!(units(&text) <= Chars(700.0));
        assert!(text.contains("goal") && text.contains("decision") && text.contains("step 19"), "{text}");
        assert!(!text.contains("step 0 ") && text.contains("(no room for "), "{text}");
    }

    #[test]
    fn lines_that_cannot_be_dropped_are_shortened() {
        let mut draft = draft();
        draft.add(SummaryPart::Next, Weight::Key, "y".repeat(2000));
        let text = draft.into_text(Chars(450.0));
        assert!(units(&text) <= Chars(450.0) && text.contains("goal") && text.contains("yyy"), "{text}");
        assert!(units(&self::draft().into_text(Chars(100.0))) <= Chars(100.0));
    }
}
