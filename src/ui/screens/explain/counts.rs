//! The counts of the refused prompt: one row per counter, with its difference from the first and the decision it
//! drives.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::view::View;
use crate::app::screens::explain::ExplainRow;
use crate::app::screens::explain::page::{
    BARS_MIN_WIDTH, COUNT_COLUMNS, PlacedBlock, PlacedRow, content_columns,
};
use crate::format::{format_signed_percent, format_tokens};
use crate::report::explain::PromptCount;
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::{put, put_right};

/// Cells of the bar on either side of the zero line.
const HALF_WIDTH: u16 = 5;
/// Percentage from which a count is marked as wrong.
const OFF_PERCENT: f64 = 5.0;

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, _: u16, buf: &mut Buffer) {
    let counts = &view.explanation.counts;
    let Some(first) = counts.first() else { return };
    let off = |count: &PromptCount| (count.tokens as f64 / first.tokens.max(1) as f64 - 1.0) * 100.0;
    let most = counts.iter().map(|count| off(count).abs()).fold(1.0, f64::max);
    for row in &placed.rows {
        if let ExplainRow::Count(at) = row.row
            && let Some(count) = counts.get(at)
        {
            self::count(view, count, (at > 0).then(|| off(count)), row, buf);
            bar(view, off(count) / most, off(count), row, buf);
        }
    }
}

fn count(view: &View<'_>, count: &PromptCount, off: Option<f64>, row: &PlacedRow, buf: &mut Buffer) {
    let ((x, end), y) = (content_columns(row.area), row.area.y);
    let first = if off.is_none() { view.theme.bold(Role::Bright) } else { view.theme.style(Role::Text) };
    put(buf, (x, y), end, count.counter.as_str(), first);
    let bound = count.lower_bound();
    // The words of a bound reach into the column of the difference, which the first row lacks.
    let tokens_end = if bound.is_some() { x + 33 } else { x + 25 };
    let tokens = bound.unwrap_or_else(|| format_tokens(count.tokens, count.is_measured));
    put_right(buf, y, x, tokens_end, &[Span::styled(tokens, first)]);
    if let Some(off) = off {
        let role = if off.abs() > OFF_PERCENT { Role::Warn } else { Role::Muted };
        let words = format_signed_percent(off / 100.0);
        put_right(buf, y, x, x + 33, &[Span::styled(words, view.theme.style(role))]);
    } else if count.is_measured {
        put_right(buf, y, x, x + 33, &[view.muted("exact")]);
    }
    if view.app.size.0 >= 80 {
        let bar = if view.app.size.0 >= BARS_MIN_WIDTH { COUNT_COLUMNS.1 } else { 0 };
        view.lines(row, x + COUNT_COLUMNS.0 + bar, Role::Muted, buf);
    } else {
        let below = Rect { y: y + 1, height: row.area.height.saturating_sub(1), ..row.area };
        view.lines(&PlacedRow { area: below, ..row.clone() }, x + 2, Role::Muted, buf);
    }
    view.entry(row, buf);
}

/// Draws a bar from the zero line to the left or right.
fn bar(view: &View<'_>, share: f64, off: f64, row: &PlacedRow, buf: &mut Buffer) {
    if view.app.size.0 < BARS_MIN_WIDTH {
        return;
    }
    let y = row.area.y;
    let zero = content_columns(row.area).0 + COUNT_COLUMNS.0 + HALF_WIDTH + 1;
    put(buf, (zero, y), zero + 1, glyphs::LINE, view.theme.style(Role::Faint));
    let cells = (share.abs() * f64::from(HALF_WIDTH)).round() as u16;
    let cells = if off.abs() >= 1.0 { cells.clamp(1, HALF_WIDTH) } else { 0 };
    let role = if off.abs() > OFF_PERCENT { Role::Warn } else { Role::Ghost };
    let from = if share < 0.0 { zero - cells } else { zero + 1 };
    for x in from..from + cells {
        put(buf, (x, y), x + 1, glyphs::HEAVY, view.theme.style(role));
    }
}
