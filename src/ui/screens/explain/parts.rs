//! The prompt by part, with the new tokens of each, and the part that made it large.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::view::View;
use crate::app::screens::explain::page::{PlacedBlock, content_columns};
use crate::app::screens::explain::wording::mechanism_part;
use crate::format::{format_number, format_short_estimate};
use crate::report::explain::PromptPart;
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::{put, put_right};
use crate::units::Tokens;

/// Draws the parts, with the mechanism below the part that it concerns.
pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    let end = content_columns(placed.area).1;
    view.headings(placed.area.y, after, &[("count", end - 20), ("tokens", end - 9), ("new", end)], buf);
    let own = view.explanation.mechanism.as_ref().and_then(mechanism_part);
    let line = placed.rows.first();
    let mut y = placed.area.y + 1;
    for part in &view.explanation.parts {
        if let Some(line) = line.filter(|line| line.area.y == y) {
            y += line.area.height;
        }
        self::part(view, part, Some(part.kind) == own, (placed, y), buf);
        y += 1;
    }
    if let Some(line) = line {
        let x = content_columns(placed.area).0;
        put(buf, (x, line.area.y), end, glyphs::END, view.theme.style(Role::Faint));
        view.lines(line, x + 2, Role::Warn, buf);
        view.entry(line, buf);
    }
}

fn part(view: &View<'_>, part: &PromptPart, own: bool, (placed, y): (&PlacedBlock, u16), buf: &mut Buffer) {
    let (x, end) = content_columns(placed.area);
    let theme = view.theme;
    let style = if own { theme.bold(Role::Bright) } else { theme.style(Role::Text) };
    put(buf, (x, y), end, part.kind.as_str(), style);
    if part.count > 0 {
        put_right(buf, y, x, end - 20, &[view.muted(format_number(part.count as u64))]);
    }
    put_right(buf, y, x, end - 9, &[Span::styled(format_short_estimate(part.tokens.whole()), style)]);
    if part.new_tokens >= Tokens(1.0) {
        let style = if own { theme.bold(Role::Danger) } else { theme.style(Role::Text) };
        put_right(
            buf,
            y,
            end - 8,
            end,
            &[Span::styled(format!("+{}", format_short_estimate(part.new_tokens.whole())), style)],
        );
    } else {
        put_right(buf, y, end - 8, end, &[view.muted("0")]);
    }
}
