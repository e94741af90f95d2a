//! The prompt part by part, what of each is new, and which part made it large.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::{View, exact};
use crate::app::explain::page::{Placed, columns};
use crate::app::explain::words::part_of;
use crate::explain::Part;
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::number::{estimate, thousands};
use crate::ui::widgets::{put, put_right};

/// Draws the parts, and below its own part the line of the mechanism.
pub(super) fn draw(view: &View<'_>, placed: &Placed, after: u16, buf: &mut Buffer) {
    let end = columns(placed.area).1;
    view.heads(placed.area.y, after, &[("count", end - 20), ("tokens", end - 9), ("new", end)], buf);
    let own = view.explanation.mechanism.as_ref().and_then(part_of);
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
        let x = columns(placed.area).0;
        put(buf, (x, line.area.y), end, glyphs::END, view.theme.style(Role::Faint));
        view.lines(line, x + 2, Role::Warn, buf);
        view.entry(line, buf);
    }
}

fn part(view: &View<'_>, part: &Part, own: bool, (placed, y): (&Placed, u16), buf: &mut Buffer) {
    let (x, end) = columns(placed.area);
    let theme = view.theme;
    let style = if own { theme.bold(Role::Bright) } else { theme.style(Role::Text) };
    put(buf, (x, y), end, part.kind.word(), style);
    if part.count > 0 {
        put_right(buf, y, x, end - 20, &[view.muted(exact(part.count as u64))]);
    }
    put_right(buf, y, x, end - 9, &[Span::styled(estimate(part.tokens as u64), style)]);
    if part.new >= 1.0 {
        let style = if own { theme.bold(Role::Danger) } else { theme.style(Role::Text) };
        put_right(buf, y, end - 8, end, &[Span::styled(format!("+{}", thousands(part.new as u64)), style)]);
    } else {
        put_right(buf, y, end - 8, end, &[view.muted("0")]);
    }
}
