//! The speaker of a hit, and its text with the searched words marked.

use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::session::search::{SearchHit, SearchQuery};
use crate::ui::theme::{BackgroundRole, Role, Theme};

/// Returns the name of a hit's speaker and its role.
pub(super) fn speaker(hit: &SearchHit) -> (&str, Role) {
    match (&hit.tool, hit.role) {
        (Some(tool), _) => (tool, Role::Tool),
        (None, "user") => ("you", Role::User),
        (None, "assistant") => ("assistant", Role::Assistant),
        (None, "compaction" | "branch_summary" | "compactionSummary" | "branchSummary") => {
            ("summary", Role::Plan)
        }
        (None, role) => (role, Role::Muted),
    }
}

/// Returns the style of a searched word.
fn word_style(theme: &Theme) -> Style {
    theme.background(BackgroundRole::Hot).add_modifier(Modifier::UNDERLINED)
}

/// Splits a visible line into spans, with the searched words marked.
pub(super) fn marked<'a>(theme: &Theme, query: &SearchQuery, line: &str, style: Style) -> Vec<Span<'a>> {
    let mut spans = Vec::new();
    let mut at = 0;
    for range in query.ranges(line) {
        spans.push(Span::styled(line[at..range.start].to_owned(), style));
        spans.push(Span::styled(line[range.clone()].to_owned(), style.patch(word_style(theme))));
        at = range.end;
    }
    spans.push(Span::styled(line[at..].to_owned(), style));
    spans
}
