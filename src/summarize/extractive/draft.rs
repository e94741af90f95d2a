//! A summary under its headings, shortened until it fits.

use std::fmt::Write as _;

use crate::summarize::extractive::words::{one_line, shortened, units};
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

// Extracts the lines of an earlier summary by any writer, within limits. Lines that were already marked as earlier
// are dropped, so that they do not accumulate.

/// Start of the last line; a later summary recognizes it and does not carry that line.
pub(super) const SIGNATURE: &str = "Extractive summary:";

/// Limit for a carried line.
const LINE_CHARS: Chars = Chars(240.0);

/// Blocks that each summary rebuilds, by their tags; their lines are not carried.
const BLOCKS: [(&str, &str); 3] = [
    ("<read-files>", "</read-files>"),
    ("<modified-files>", "</modified-files>"),
    ("<workspace-critical-rules>", "</workspace-critical-rules>"),
];

/// Destination, prefix and limit for the lines under a heading.
struct HeadingRoute {
    heading: &'static str,
    part: SummaryPart,
    prefix: &'static str,
    max_lines: usize,
}

const fn route(heading: &'static str, part: SummaryPart, before: &'static str, most: usize) -> HeadingRoute {
    HeadingRoute { heading, part, prefix: before, max_lines: most }
}

/// Route for lines under an unknown heading or before the first one.
static UNKNOWN_HEADING: HeadingRoute = route("", SummaryPart::Context, "earlier: ", 6);

static ROUTES: [HeadingRoute; 15] = [
    route("goal", SummaryPart::Goal, "", 8),
    route("constraints & preferences", SummaryPart::Constraints, "", 12),
    route("constraints", SummaryPart::Constraints, "", 12),
    route("progress", SummaryPart::Done, "", 16),
    route("done", SummaryPart::Done, "", 16),
    route("in progress", SummaryPart::Context, "in progress earlier: ", 4),
    route("blocked", SummaryPart::Context, "failed earlier: ", 4),
    route("tool failures", SummaryPart::Context, "failed earlier: ", 4),
    route("key decisions", SummaryPart::Decisions, "", 12),
    route("decisions", SummaryPart::Decisions, "", 12),
    route("next steps", SummaryPart::Next, "planned earlier: ", 4),
    route("critical context", SummaryPart::Context, "", 10),
    route("original request", SummaryPart::Goal, "", 4),
    route("early progress", SummaryPart::Done, "", 8),
    route("context for suffix", SummaryPart::Context, "", 6),
];

/// The carried lines with their new headings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CarriedLines(Vec<(SummaryPart, String)>);

impl CarriedLines {
    /// Reads a summary. Without known headings its first lines are carried.
    pub(super) fn from_summary(summary: &str) -> Self {
        let mut carried = Vec::new();
        let mut section: Vec<String> = Vec::new();
        let (mut open, mut before) = (&UNKNOWN_HEADING, UNKNOWN_HEADING.prefix.to_owned());
        for line in without_blocks(summary) {
            if let Some(name) = heading(line) {
                carry(&mut carried, open, &before, std::mem::take(&mut section));
                let road = ROUTES.iter().find(|road| road.heading == name.to_lowercase());
                // An unknown heading becomes the prefix of its lines.
                before = road.map_or_else(|| format!("{name}: "), |road| road.prefix.to_owned());
                open = road.unwrap_or(&UNKNOWN_HEADING);
            } else {
                section.extend(strip_mark(line));
            }
        }
        carry(&mut carried, open, &before, section);
        Self(carried)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (SummaryPart, &str)> {
        self.0.iter().map(|(part, line)| (*part, line.as_str()))
    }
}

/// Keeps the newest lines of a section, or the first lines under an unknown heading.
fn carry(carried: &mut Vec<(SummaryPart, String)>, road: &HeadingRoute, before: &str, lines: Vec<String>) {
    let skipped = if road.heading.is_empty() { 0 } else { lines.len().saturating_sub(road.max_lines) };
    for line in lines.into_iter().skip(skipped).take(road.max_lines) {
        carried.push((road.part, shortened(&format!("{before}{line}"), LINE_CHARS)));
    }
}

/// Returns the name of a heading of level 2 or deeper.
fn heading(line: &str) -> Option<&str> {
    Some(line.trim_start().strip_prefix("##")?.trim_start_matches('#').trim())
}

fn without_blocks(summary: &str) -> Vec<&str> {
    let mut until: Option<&str> = None;
    let outside = summary.lines().filter(|line| {
        let line = line.trim();
        if let Some(end) = until {
            until = Some(end).filter(|end| line != *end);
            return false;
        }
        until = BLOCKS.iter().find(|(begin, _)| line == *begin).map(|(_, end)| *end);
        until.is_none()
    });
    outside.collect()
}

/// Removes a line's mark; `None` if the line is empty or old.
fn strip_mark(line: &str) -> Option<String> {
    let line = one_line(line);
    let text = ["- [x] ", "- [X] ", "- [ ] ", "- ", "* "].iter().find_map(|mark| line.strip_prefix(mark));
    let text = text.unwrap_or(&line);
    let number = text.bytes().take_while(u8::is_ascii_digit).count();
    let text = if number > 0 { text[number..].strip_prefix(". ").unwrap_or(text) } else { text };
    let text = text.strip_prefix("then: ").unwrap_or(text);
    let empty = ["", "(none)", "---", "**Turn Context (split turn):**", "No prior history."].contains(&text);
    let made = text.starts_with(SIGNATURE)
        || text.starts_with("(no room for ")
        || text.contains("other requests in between");
    // Lines that were already carried once are dropped.
    let old = ["earlier: ", "in progress earlier: ", "failed earlier: ", "planned earlier: "];
    let old = old.iter().any(|before| text.starts_with(before));
    (!empty && !made && !old).then(|| text.to_owned())
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

#[cfg(test)]
mod carried_tests {
    use super::*;

    fn of(text: &str) -> Vec<(SummaryPart, String)> {
        CarriedLines::from_summary(text).0
    }

    #[test]
    fn carried_lines_keep_their_section_and_lose_their_markers() {
        let text = "## Goal\nShip it\n\n## Progress\n### Done\n- [x] a\n### In Progress\n- [ ] b\n## Next Steps\n1. c\n\
            ## Critical Context\n- (none)\n- Extractive summary: quoted\n\n<read-files>\nx.rs\n</read-files>";
        let line = |part, text: &str| (part, text.to_owned());
        let expected = [
            line(SummaryPart::Goal, "Ship it"),
            line(SummaryPart::Done, "a"),
            line(SummaryPart::Context, "in progress earlier: b"),
            line(SummaryPart::Next, "planned earlier: c"),
        ];
        assert_eq!(of(text), expected);
    }

    #[test]
    fn a_split_turns_context_is_carried_too() {
        let text = "## Goal\na\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\n- b\n## Early Progress\n- c";
        let expected = [(SummaryPart::Goal, "a"), (SummaryPart::Goal, "b"), (SummaryPart::Done, "c")];
        assert_eq!(of(text), expected.map(|(part, text)| (part, text.to_owned())));
    }

    #[test]
    fn a_text_without_headings_keeps_its_beginning() {
        let text = (0..9).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let carried = of(&text);
        assert_eq!((carried.len(), carried[0].1.as_str()), (6, "earlier: line 0"));
        assert_eq!(of("No prior history."), []);
    }

    #[test]
    fn headings_of_another_kind_keep_their_names() {
        let expected =
            [(SummaryPart::Goal, "a".to_owned()), (SummaryPart::Context, "Files: x.rs".to_owned())];
        assert_eq!(of("## Goal\na\n## Files\n- x.rs"), expected);
    }

    #[test]
    fn sections_are_bounded_and_old_lines_are_carried_once() {
        let done = (0..40).map(|number| format!("- [x] step {number}")).collect::<Vec<_>>().join("\n");
        let carried = of(&format!("### Done\n{done}\n## Next Steps\n1. planned earlier: x\n"));
        assert_eq!((carried.len(), carried[15].1.as_str()), (16, "step 39"));
    }
}
