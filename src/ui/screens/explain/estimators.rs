//! The estimators: each one's next prompt and past errors, and every call that the provider counted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::view::View;
use crate::app::screens::explain::ExplainRow;
use crate::app::screens::explain::page::{PlacedBlock, content_columns, wrapped_notes};
use crate::format::{format_deviation, format_number, format_signed_percent};
use crate::report::estimators::{Estimates, Estimator, MeasuredCall};
use crate::session::LoadedSession;
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{ThinBar, on_title, put, put_right, put_spans};

/// End columns of an estimator's numbers: next prompt, last error, mean error, bias, worst.
const COLUMN_ENDS: [u16; 5] = [23, 32, 41, 50, 58];
const COLUMN_HEADINGS: [&str; 5] = ["next prompt", "last", "mean", "bias", "worst"];
/// First column of an estimator's note, and the width of the bar of its mean error.
const NOTE_COLUMN: u16 = 62;
const MEAN_BAR: u16 = 12;
/// End column of the counts in the table.
const COUNT_COLUMN_END: u16 = 17;
/// Columns that hold the longest name of an estimator.
const FULL_NAME_COLUMN: u16 = 11;
/// Cells that a bar in the table needs.
const MIN_BAR: u16 = 12;
/// Relative errors from which a number is costly, and useless.
const COSTLY_ERROR: f64 = 0.1;
const USELESS_ERROR: f64 = 0.25;

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    let block = &view.screen.estimators;
    view.fold_line(placed, block.is_open, buf);
    let Some(estimates) = block.shown() else { return };
    let (x, end) = content_columns(placed.area);
    if let Some(words) = block.calls_title() {
        on_title(buf, placed.area.y, after, end, &[view.muted(words)]);
    }
    let largest = estimates.calls.iter().map(|call| call.measured).max().unwrap_or(1).max(1) as f64;
    let panel = Panel { theme: view.theme, session: view.session, largest };
    let columns = |y| Rect { x: x + 1, y, width: (end + 1).saturating_sub(x + 1), height: 1 };
    for row in &placed.rows {
        let y = row.area.y;
        match row.row {
            ExplainRow::Estimators => {
                let notes = wrapped_notes(view.screen, end.saturating_sub(x));
                for (y, note) in (row.area.bottom()..).zip(&notes) {
                    put(buf, (x + 2, y), end, note, view.theme.style(Role::Muted));
                }
                head(view.theme, (x + 1, row.area.bottom() + notes.len() as u16), end, buf);
            }
            ExplainRow::Estimator(at) => {
                estimator_row(view.theme, estimates, Estimator::ALL[at], columns(y), buf);
            }
            ExplainRow::CountedCall(at) => {
                if at == 0 {
                    table_head(view.theme, estimates, columns(y - 1), buf);
                }
                if let Some(call) = block.calls().get(at) {
                    panel.call_row(call, columns(y), buf);
                }
            }
            _ => {}
        }
    }
}

struct Panel<'a> {
    theme: &'a Theme,
    session: &'a LoadedSession,
    /// The largest count, which fills a bar.
    largest: f64,
}

fn head(theme: &Theme, (x, y): (u16, u16), end: u16, buf: &mut Buffer) {
    let style = theme.style(Role::Muted);
    put(buf, (x + 1, y), end, "estimator", style);
    for (column, name) in COLUMN_ENDS.into_iter().zip(COLUMN_HEADINGS) {
        put_text_right(buf, y, x, (x + column).min(end), name, style);
    }
}

fn put_text_right(buf: &mut Buffer, y: u16, from: u16, end: u16, text: &str, style: Style) {
    put_right(buf, y, from, end, &[Span::styled(text, style)]);
}

fn estimator_row(theme: &Theme, estimates: &Estimates, estimator: Estimator, row: Rect, buf: &mut Buffer) {
    let (x, end) = (row.x, row.right().saturating_sub(1));
    let deviation = estimates.deviation(estimator);
    put(buf, (x + 1, row.y), end, estimator.name(), theme.style(Role::Text));
    let now = estimates.describe_next(estimator);
    let last = estimates.last_reliable_call().and_then(|call| call.error(estimator));
    let cells = [
        (now, theme.style(Role::Bright)),
        (last.map(format_signed_percent), error_style(theme, last)),
        (deviation.map(|it| format_deviation(it.mean)), error_style(theme, deviation.map(|it| it.mean))),
        (deviation.map(|it| format_signed_percent(it.bias)), theme.style(Role::Text)),
        (deviation.map(|it| format_deviation(it.max)), theme.style(Role::Text)),
    ];
    for (column, (text, style)) in COLUMN_ENDS.into_iter().zip(cells) {
        let none = (glyphs::UNKNOWN.to_owned(), theme.style(Role::Muted));
        let (text, style) = text.map_or(none, |text| (text, style));
        put_text_right(buf, row.y, x, (x + column).min(end), &text, style);
    }
    if x + NOTE_COLUMN + MEAN_BAR + 2 >= end {
        return;
    }
    if let Some(deviation) = deviation {
        let style = error_style(theme, Some(deviation.mean));
        let bar = ThinBar { share: deviation.mean, tail: 0.0, style, tail_style: style };
        bar.draw(buf, (x + NOTE_COLUMN, row.y), MEAN_BAR);
    }
    let at = x + NOTE_COLUMN + MEAN_BAR + 2;
    if usize::from(end.saturating_sub(at)) >= estimator.description().len() {
        put(buf, (at, row.y), end, estimator.description(), theme.style(Role::Muted));
    }
}

/// Colours an error: quiet while it is small.
fn error_style(theme: &Theme, error: Option<f64>) -> Style {
    theme.style(match error.map_or(0.0, f64::abs) {
        USELESS_ERROR.. => Role::Danger,
        COSTLY_ERROR.. => Role::Warn,
        _ => Role::Text,
    })
}

/// Columns of one estimator in the table; wide enough for its full name where the terminal has room.
fn column_width(width: u16) -> u16 {
    match width {
        110.. => FULL_NAME_COLUMN,
        80.. => 8,
        _ => 7,
    }
}

/// Returns first column and width of the bar; `None` without room.
fn bar_of(row: Rect) -> Option<(u16, u16)> {
    let from = row.x + COUNT_COLUMN_END + column_width(row.width) * Estimator::ALL.len() as u16 + 3;
    let cells = row.right().saturating_sub(2 + from);
    (cells >= MIN_BAR && row.right() > from + 2).then_some((from, cells))
}

fn table_head(theme: &Theme, estimates: &Estimates, row: Rect, buf: &mut Buffer) {
    let style = theme.style(Role::Muted);
    let (x, end) = (row.x, row.right().saturating_sub(1));
    put(buf, (x + 1, row.y), end, "answer", style);
    put_text_right(buf, row.y, x, (x + COUNT_COLUMN_END).min(end), "counted", style);
    for (at, estimator) in (1..).zip(Estimator::ALL) {
        let column = x + COUNT_COLUMN_END + column_width(row.width) * at;
        let full = column_width(row.width) == FULL_NAME_COLUMN;
        let name = if full { estimator.name() } else { estimator.short_name() };
        put_text_right(buf, row.y, x, column.min(end), name, style);
    }
    if let Some((from, _)) = bar_of(row) {
        let legend = [
            Span::styled(glyphs::HEAVY, theme.style(Role::Assistant)),
            Span::styled(" pi  ", style),
            Span::styled(glyphs::LIGHT, theme.style(Role::Warn)),
            Span::styled(" provider", style),
        ];
        let shrunk = estimates.calls.iter().any(|call| call.shrunk);
        let after = put_spans(buf, (from, row.y), end, &legend);
        put(
            buf,
            (after, row.y),
            end,
            if shrunk { "  * prompt was trimmed; not in the errors" } else { "" },
            style,
        );
    }
}

impl Panel<'_> {
    fn call_row(&self, call: &MeasuredCall, row: Rect, buf: &mut Buffer) {
        let (theme, x, end) = (self.theme, row.x, row.right().saturating_sub(1));
        let quiet = |style: Style| if call.shrunk { theme.style(Role::Muted) } else { style };
        let name = self.session.index.display_id(call.entry);
        let after = put(buf, (x + 1, row.y), x + 9, &name, theme.style(Role::Muted));
        if call.shrunk {
            put(buf, (after, row.y), x + 10, "*", theme.style(Role::Muted));
        }
        let measured = format_number(call.measured as i64);
        put_text_right(
            buf,
            row.y,
            x + 9,
            (x + COUNT_COLUMN_END).min(end),
            &measured,
            quiet(theme.style(Role::Bright)),
        );
        for (at, estimator) in (1..).zip(Estimator::ALL) {
            let error = call.error(estimator);
            let text = error.map_or_else(|| glyphs::UNKNOWN.to_owned(), format_signed_percent);
            let column = x + COUNT_COLUMN_END + column_width(row.width) * at;
            put_text_right(buf, row.y, x, column.min(end), &text, quiet(error_style(theme, error)));
        }
        if let Some((from, cells)) = bar_of(row) {
            self.call_bar(call).draw(buf, (from, row.y), cells);
        }
    }

    /// Returns a bar of the chars/4 estimate, whose tail reaches to the provider's count.
    fn call_bar(&self, call: &MeasuredCall) -> ThinBar {
        let share = |tokens: u64| tokens as f64 / self.largest;
        ThinBar {
            share: share(call.estimates.get(Estimator::Pi).unwrap_or(0)),
            tail: share(call.measured),
            style: self.theme.style(Role::Assistant),
            tail_style: self.theme.style(Role::Warn),
        }
    }
}
