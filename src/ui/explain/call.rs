//! The call that failed as one bar: what it carried, and how far past what fits it went.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::explain::Failure;
use crate::ui::budget::plain_bar;
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::number::{grouped, round_thousands};
use crate::ui::widgets::{put, put_right};

/// Draws the bar and, below it, what it is.
pub(super) fn draw(theme: &Theme, failure: &Failure, area: Rect, buf: &mut Buffer) {
    let (x, end) = (area.x + 2, area.right().saturating_sub(1));
    let bar = Rect { x, y: area.y, width: end.saturating_sub(x), height: 1 };
    let full = failure.requested.max(failure.limit).max(1);
    plain_bar(theme, failure.budget(), full, bar, buf);
    past(theme, failure, full, bar, buf);
    let mut facts =
        vec![Span::styled(format!("{} fit", round_thousands(failure.limit)), theme.style(Role::Muted))];
    if failure.over() > 0 {
        let over = format!("  +{}", grouped(failure.over() as i64));
        facts.push(Span::styled(over, theme.bold(Role::Danger)));
    }
    let from = put_right(buf, area.y + 1, x, end, &facts);
    let words = "the call that failed, by what it carried";
    put(buf, (x, area.y + 1), from.saturating_sub(2), words, theme.style(Role::Muted));
}

/// What did not fit, in red over the end of the bar: a cell at least.
fn past(theme: &Theme, failure: &Failure, full: u64, bar: Rect, buf: &mut Buffer) {
    if failure.over() == 0 || bar.width == 0 {
        return;
    }
    let share = failure.over() as f64 / full as f64;
    let cells = ((share * f64::from(bar.width)).round() as u16).clamp(1, bar.width);
    let red = theme.style(Role::Danger);
    let (sign, style) = match red.fg {
        Some(colour) if !theme.letters() => (" ", Style::new().bg(colour)),
        _ => (glyphs::EIGHTHS_UP[7], red),
    };
    for x in bar.right() - cells..bar.right() {
        put(buf, (x, bar.y), bar.right(), sign, style);
    }
}
