//! The changes that would have helped: one row per replayed change, with the resulting call and session.

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::Span;

use super::view::View;
use crate::app::screens::explain::page::{BARS_MIN_WIDTH, PlacedBlock, PlacedRow, WIDE, content_columns};
use crate::app::screens::explain::{ExplainRow, advice_letter};
use crate::format::{format_short, format_short_tokens, format_usd_change};
use crate::report::explain::{Advice, ReplaySummary};
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::{ThinBar, put, put_right, put_spans};

const BAR_WIDTH: u16 = 12;

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    let end = content_columns(placed.area).1;
    view.headings(placed.area.y, after, &headings(view.app.size.0, end), buf);
    for row in &placed.rows {
        if let ExplainRow::Advice(at) = row.row
            && let Some(advice) = view.explanation.advice.get(at)
        {
            change(view, advice_letter(at), advice, row, buf);
            numbers(view, advice, row, buf);
        }
    }
}

/// Returns the columns that fit, with their end positions.
fn headings(width: u16, end: u16) -> Vec<(&'static str, u16)> {
    match width {
        WIDE.. => {
            vec![("the call", end - 30), ("over", end - 23), ("peak", end - 12), ("cost", end)]
        }
        80.. => vec![("the call", end - 6), ("over", end)],
        _ => vec![("over", end)],
    }
}

fn change(view: &View<'_>, letter: char, advice: &Advice, row: &PlacedRow, buf: &mut Buffer) {
    let ((x, end), y) = (content_columns(row.area), row.area.y);
    let (theme, helps) = (view.theme, advice.fits_all);
    let (sign, role) = if helps { (glyphs::PASSED, Role::Plan) } else { (glyphs::REFUSED, Role::Danger) };
    put(buf, (x, y), end, &letter.to_string(), theme.style(Role::Muted));
    put(buf, (x + 2, y), end, sign, theme.style(role));
    if row.lines.len() > 1 {
        return view.lines(row, x + 4, if helps { Role::Bright } else { Role::Muted }, buf);
    }
    let [key, now] = if helps {
        [theme.bold(Role::Bright), theme.style(Role::Plan)]
    } else {
        [theme.style(Role::Muted), theme.style(Role::Muted)]
    };
    let mut spans = Vec::new();
    for (at, change) in advice.changes.iter().enumerate() {
        let parted = if at > 0 { ", " } else { "" };
        spans.extend([
            view.muted(parted),
            Span::styled(change.key(), key),
            view.muted(format!(" {} {} ", change.describe_before(), glyphs::ARROW)),
            Span::styled(change.describe_after(), now),
        ]);
    }
    put_spans(buf, (x + 4, y), end, &spans);
}

fn numbers(view: &View<'_>, advice: &Advice, row: &PlacedRow, buf: &mut Buffer) {
    let y = row.area.y;
    let (x, end) = content_columns(row.area);
    let theme = view.theme;
    let style = theme.style(if advice.fits { Role::Plan } else { Role::Danger });
    let over = advice.overflows();
    let (sign, over_style) = match over {
        0 => (String::new(), theme.style(Role::Text)),
        _ => (format!("{} ", glyphs::ALERT), theme.bold(Role::Danger)),
    };
    let over = Span::styled(format!("{sign}{over}"), over_style);
    let call = [
        Span::styled(format_short_tokens(advice.tokens_after, advice.is_measured_after()), style),
        view.muted(format!(" of {}", format_short(advice.limit))),
    ];
    let columns = headings(view.app.size.0, end);
    for (head, end) in columns {
        match head {
            "the call" => put_right(buf, y, x, end, &call),
            "over" => put_right(buf, y, x, end, std::slice::from_ref(&over)),
            "peak" => put_right(buf, y, x, end, &[peak(view, advice)]),
            _ => put_right(buf, y, x, end, &[cost(view, advice.whole)]),
        };
    }
    if view.app.size.0 >= BARS_MIN_WIDTH {
        let share = advice.tokens_after as f64 / advice.limit.max(1) as f64;
        let style: Style = theme.style(if advice.fits_all { Role::Plan } else { Role::Ghost });
        ThinBar { share, tail: 1.0, style, tail_style: theme.style(Role::Ghost) }.draw(
            buf,
            (end - 59, y),
            BAR_WIDTH,
        );
    }
}

fn peak<'a>(view: &View<'_>, advice: &Advice) -> Span<'a> {
    let role = if advice.overflows() > 0 { Role::Danger } else { Role::Text };
    Span::styled(format_short_tokens(advice.peak(), advice.whole.peak_measured), view.theme.style(role))
}

/// Formats the change in the cost of all calls.
fn cost<'a>(view: &View<'_>, whole: ReplaySummary) -> Span<'a> {
    let before = view.explanation.recorded.and_then(|recorded| recorded.cost);
    match (whole.cost, before) {
        (Some(cost), Some(before)) => {
            let role = if cost > before { Role::Warn } else { Role::Text };
            Span::styled(format_usd_change(before, cost), view.theme.style(role))
        }
        _ => view.muted(glyphs::UNKNOWN),
    }
}
