//! Words and styles that the message pane and the message on the full screen share.

use ratatui::text::Span;

use crate::app::App;
use crate::app::message::MessageScreen;
use crate::format::{format_short_estimate, whole_percent};
use crate::session::message::MessageText;
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};

/// Returns the current match and the number of matches, otherwise the page and the number of pages.
pub(super) fn position_span<'a>(app: &App, theme: &Theme, screen: &MessageScreen) -> Span<'a> {
    let style = theme.style(Role::Muted);
    if let Some(found) = app.message.current_match {
        return Span::styled(format!("match {} of {}", found.index + 1, found.count), style);
    }
    let height = screen.body_rows.max(1);
    let pages = screen.layout.rows().div_ceil(height).max(1);
    let last = app.message.top + height >= screen.layout.rows();
    let page = if last { pages } else { app.message.top / height + 1 };
    Span::styled(format!("{page}/{pages}"), style)
}

/// Styles a fact: links to other entries are blue, failures red.
pub(super) fn fact_style(theme: &Theme, name: &str, value: &str) -> ratatui::style::Style {
    match name {
        "call" if value.starts_with(glyphs::ARROW) => theme.style(Role::Focus),
        "error" => theme.style(Role::Danger),
        "exit" if value != "0" => theme.style(Role::Danger),
        _ if value.starts_with(glyphs::UNKNOWN) => theme.style(Role::Muted),
        _ => theme.style(Role::Text),
    }
}

/// Returns the tool in its colour with its arguments, or a title in bold.
pub(super) fn title_spans<'a>(theme: &Theme, message: &'a MessageText) -> Vec<Span<'a>> {
    let (tool, words) = &message.title;
    let words = Span::styled(words.as_str(), theme.bold(Role::Bright));
    match tool {
        Some(tool) => vec![Span::styled(tool.as_str(), theme.bold(Role::Tool)), Span::raw("  "), words],
        None => vec![words],
    }
}

/// Formats a share of the next prompt in whole percent.
pub(super) fn share_text(share: u64) -> String {
    if share == 0 { "<1% of the prompt".into() } else { format!("{share}% of the prompt") }
}

/// Returns chars and tokens of one side, for its title line.
pub(super) fn side_facts<'a>(theme: &Theme, chars: &str, tokens: u64) -> Vec<Span<'a>> {
    vec![
        Span::styled(format!("{chars} chars"), theme.style(Role::Muted)),
        Span::raw("   "),
        Span::styled(format_short_estimate(tokens), theme.style(Role::Muted)),
    ]
}

/// Formats the tokens saved, and their share of the window.
pub(super) fn saving_text(before: u64, after: u64, window: u64) -> String {
    let saved = before.saturating_sub(after);
    let share = whole_percent(saved, window).filter(|share| *share > 0);
    let share = share.map(|share| format!("  {share}%")).unwrap_or_default();
    if after > before {
        format!("adds {}", format_short_estimate(after - before))
    } else {
        format!("{}{share}", format_short_estimate(saved))
    }
}
