//! The refused call as a bar: its parts, its excess over the limit, and the provider's words. Without a refused call it
//! shows the next prompt.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::head::View;
use crate::app::screens::explain::page::{
    LEGEND_COLUMNS, MAX_CALL_LINES, PlacedBlock, content_columns, legend_rows,
};
use crate::context::budget::{Budget, BudgetPart};
use crate::format::{format_number, format_short_estimate, format_short_tokens, time_of_day};
use crate::report::explain::Failure;
use crate::ui::budget::plain_bar;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{on_title, put, put_right, put_spans};

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    let Some(failure) = &view.explanation.failure else { return };
    let area = placed.area;
    let (x, end) = content_columns(area);
    on_title(buf, area.y, after, end, &[view.muted(when(view, failure))]);
    sizes(view, failure, (x, area.y + 1), end, buf);
    let full = failure.prompt_tokens.max(failure.limit).max(1);
    let bar = Rect { x, y: area.y + 2, width: end.saturating_sub(x), height: 1 };
    plain_bar(view.theme, failure.budget(), full, bar, buf);
    draw_excess(view.theme, failure, full, bar, buf);
    let Some(row) = placed.rows.first().filter(|_| area.height >= 5) else { return };
    let rows = legend_rows(shown(failure.budget()).count() as u16, area);
    legend(view, failure.budget(), Rect { y: area.y + 3, height: rows, ..area }, buf);
    let more = row.lines.len() > MAX_CALL_LINES;
    for (at, line) in row.lines.iter().take(MAX_CALL_LINES).enumerate() {
        let line = if more && at + 1 == MAX_CALL_LINES { format!("{line} …") } else { line.clone() };
        let place = (x, area.y + 3 + rows + at as u16);
        put(buf, place, end, &line, view.theme.style(Role::Danger));
    }
}

pub(super) fn draw_fill(view: &View<'_>, placed: &PlacedBlock, _: u16, buf: &mut Buffer) {
    let (x, end) = content_columns(placed.area);
    let y = placed.area.y + 1;
    let budget = view.session.next_prompt.budget(&view.session.context);
    let window = view.session.window.model_tokens.whole();
    let bar = Rect { x, y: y + 1, width: end.saturating_sub(x), height: 1 };
    plain_bar(view.theme, budget, window.max(budget.total()).max(1), bar, buf);
    let size = [
        Span::styled(
            format_short_tokens(budget.total(), !view.session.next_prompt.total.is_estimate()),
            view.theme.bold(Role::Bright),
        ),
        view.muted(format!(" in the next call, window {}", format_number(window))),
    ];
    put_spans(buf, (x, y), end, &size);
    let below = Rect { y: y + 2, height: placed.area.height.saturating_sub(3), ..placed.area };
    legend(view, budget, below, buf);
}

/// Formats number and time of the call: `#134 · 14:02:12`.
fn when(view: &View<'_>, failure: &Failure) -> String {
    let entry = failure.overflow.entry;
    let number = view.explanation.course.calls.iter().find(|call| call.entry == entry);
    let number = number.map(|call| format!("#{}", call.number));
    let at = time_of_day(failure.overflow.time_ms, view.app.now_ms);
    [number, at].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Draws the tokens sent, the limit and the excess.
fn sizes(view: &View<'_>, failure: &Failure, (x, y): (u16, u16), end: u16, buf: &mut Buffer) {
    let fits = if failure.is_byte_limit() {
        " sent, refused for its size in bytes".to_owned()
    } else {
        format!(" sent, the limit is {}", format_number(failure.limit))
    };
    let sent = Span::styled(failure.prompt_size().description(), view.theme.bold(Role::Bright));
    let used = put_spans(buf, (x, y), end, &[sent, Span::styled(fits, view.theme.style(Role::Text))]);
    if failure.excess_tokens() > 0 {
        let over = format_number(failure.excess_tokens());
        let roomy = usize::from(end.saturating_sub(used)) > over.len() + 6;
        let over = format!("+{over}{}", if roomy { " over" } else { "" });
        put_right(buf, y, used + 1, end, &[Span::styled(over, view.theme.bold(Role::Danger))]);
    }
}

/// Draws the excess in red over the end of the bar, at least one cell wide.
fn draw_excess(theme: &Theme, failure: &Failure, full: u64, bar: Rect, buf: &mut Buffer) {
    if failure.excess_tokens() == 0 || bar.width == 0 {
        return;
    }
    let share = failure.excess_tokens() as f64 / full as f64;
    let cells = ((share * f64::from(bar.width)).round() as u16).clamp(1, bar.width);
    let red = theme.style(Role::Danger);
    let (sign, style) = match red.fg {
        Some(colour) if !theme.uses_letters() => (" ", Style::new().bg(colour)),
        _ => (session_columns::EIGHTHS_UP[7], red),
    };
    for x in bar.right() - cells..bar.right() {
        put(buf, (x, bar.y), bar.right(), sign, style);
    }
}

fn shown(budget: Budget) -> impl Iterator<Item = BudgetPart> {
    BudgetPart::ALL.into_iter().filter(move |part| budget.tokens(*part) > 0)
}

/// Draws the parts of a budget with their tokens, in columns.
fn legend(view: &View<'_>, budget: Budget, area: Rect, buf: &mut Buffer) {
    let (x, end) = content_columns(area);
    let across = usize::from((end.saturating_sub(x) / LEGEND_COLUMNS).max(1));
    for (at, part) in shown(budget).enumerate() {
        let place = (x + (at % across) as u16 * LEGEND_COLUMNS, area.y + (at / across) as u16);
        if place.1 >= area.bottom() {
            return;
        }
        let chip = if view.theme.uses_letters() {
            view.theme.bold(Role::Text)
        } else {
            let (background, ink) = view.theme.part_colours(part, false);
            Style::new().fg(ink).bg(background)
        };
        let spans = [
            Span::styled(part.letter().to_string(), chip),
            view.muted(format!(" {} ", short_name(part))),
            Span::styled(format_short_estimate(budget.tokens(part)), view.theme.style(Role::Text)),
        ];
        put_spans(buf, place, end, &spans);
    }
}

/// Shortens the name of a part for narrow screens.
fn short_name(part: BudgetPart) -> &'static str {
    match part {
        BudgetPart::Assistant => "asst",
        part => part.name(),
    }
}
