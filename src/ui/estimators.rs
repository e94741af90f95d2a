//! The panel of estimators: what each says of the next prompt, how far it was off, and all calls that were counted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::app::estimators::{EstimatorsView, Reading, lines_above};
use crate::app::scroll::Scroll;
use crate::inspect::Inspection;
use crate::inspect::estimators::{Call, Estimates, Estimator, words};
use crate::text;
use crate::ui::theme::{Ground, Role, Theme};
use crate::ui::widgets::number::{bytes, counted, grouped};
use crate::ui::widgets::{ThinBar, blank, on_title, put, put_right, put_spans, row_of, scrollbar, title};
use crate::ui::{frame_box, glyphs};

/// Where the numbers of an estimator end, from the left: next prompt, last error, mean, lean, worst.
const ENDS: [u16; 5] = [23, 32, 41, 50, 58];
/// Their heads.
const HEADS: [&str; 5] = ["next prompt", "last", "mean", "lean", "worst"];
/// Where the words about an estimator start, and the bar of its mean error.
const WORDS: u16 = 62;
const MEAN_BAR: u16 = 12;
/// Where the table's counts end, from the left.
const COUNTED: u16 = 17;
/// Least cells of a bar in the table.
const LEAST_BAR: u16 = 12;
/// Errors from which a number is costly, and from which it is useless.
const COSTLY: f64 = 0.1;
const USELESS: f64 = 0.25;

/// Draws the panel over everything between header and status line.
pub(super) fn draw(app: &App, theme: &Theme, view: &EstimatorsView, area: Rect, buf: &mut Buffer) {
    blank(theme, buf, area);
    let from = title(theme, buf, area, "Estimators", true);
    let Some(inspection) = app.inspection() else { return };
    match &view.reading {
        Reading::Going(done, total) => going(theme, (*done, *total), area, buf),
        Reading::Failed(error) => {
            put(buf, (area.x + 2, area.y + 2), area.right(), error, theme.style(Role::Danger));
        }
        Reading::Done(estimates) => {
            let count = counted(estimates.calls.len() as u64, "counted call");
            let count = Span::styled(count, theme.style(Role::Muted));
            on_title(buf, area.y, from, area.right().saturating_sub(1), &[count]);
            let largest = estimates.calls.iter().map(|call| call.measured).max().unwrap_or(1).max(1) as f64;
            let panel = Panel { theme, inspection, estimates, largest };
            panel.summary(area, buf);
            panel.table(view.scroll, area, buf);
        }
    }
}

fn going(theme: &Theme, (done, total): (u64, u64), area: Rect, buf: &mut Buffer) {
    let at = (area.x + 2, area.y + 2);
    let x = put(buf, at, area.right(), "Reading every message of the path…", theme.style(Role::Text));
    if total > 0 {
        let far = format!("  {} of {}", bytes(done), bytes(total));
        put(buf, (x, at.1), area.right(), &far, theme.style(Role::Muted));
    }
}

/// What every part of the panel is drawn from.
struct Panel<'a> {
    theme: &'a Theme,
    inspection: &'a Inspection,
    estimates: &'a Estimates,
    /// The largest count: a whole bar.
    largest: f64,
}

impl Panel<'_> {
    /// Lines above the table: headline, notes, and a row for each estimator.
    fn summary(&self, area: Rect, buf: &mut Buffer) {
        let (theme, estimates) = (self.theme, self.estimates);
        let roomy = lines_above(area.height) > lines_above(0);
        let end = area.right().saturating_sub(1);
        let headline = [words::headline(estimates), words::short_headline(estimates)];
        let fits = |line: &&String| text::width(line) < usize::from(end.saturating_sub(area.x));
        let headline = headline.iter().find(fits).unwrap_or(&headline[1]);
        put(buf, (area.x + 1, area.y + 1), end, headline, theme.bold(Role::Bright));
        for (y, note) in (area.y + 2..).zip(notes(self.inspection, estimates, roomy)) {
            put(buf, (area.x + 1, y), end, &note, theme.style(Role::Muted));
        }
        let y = area.y + if roomy { 7 } else { 3 };
        head(theme, (area.x, y), end, buf);
        for (y, estimator) in (y + 1..).zip(Estimator::ALL) {
            estimator_row(theme, estimates, estimator, row_of(area, y), buf);
        }
    }

    /// The calls in sight.
    fn table(&self, scroll: Scroll, area: Rect, buf: &mut Buffer) {
        let above = lines_above(area.height);
        let calls = &self.estimates.calls;
        let list = Rect { y: area.y + above, height: area.height.saturating_sub(above), ..area };
        table_head(self.theme, self.estimates, row_of(area, list.y - 1), buf);
        let top = scroll.top.min(calls.len().saturating_sub(usize::from(list.height)));
        for (y, (at, call)) in (list.y..list.bottom()).zip(calls.iter().enumerate().skip(top)) {
            if at == scroll.cursor {
                let ground = self.theme.ground(Ground::Selected);
                frame_box::selected(self.theme, buf, row_of(list, y), ground);
            }
            self.call_row(call, row_of(list, y), buf);
        }
        scrollbar(self.theme, buf, list, top, calls.len());
    }
}

/// What the numbers rest on; with little room only how the fit came out.
fn notes(inspection: &Inspection, estimates: &Estimates, roomy: bool) -> Vec<String> {
    let factors = words::factors(estimates);
    if !roomy {
        return vec![factors];
    }
    let mut notes = vec![words::fixed(estimates), words::tokenizer(estimates, inspection), factors];
    notes.extend(words::sureness(estimates));
    notes
}

fn head(theme: &Theme, (x, y): (u16, u16), end: u16, buf: &mut Buffer) {
    let style = theme.style(Role::Muted);
    put(buf, (x + 1, y), end, "estimator", style);
    for (column, name) in ENDS.into_iter().zip(HEADS) {
        right(buf, y, x, (x + column).min(end), name, style);
    }
}

/// Text that ends before a column.
fn right(buf: &mut Buffer, y: u16, from: u16, end: u16, text: &str, style: Style) {
    put_right(buf, y, from, end, &[Span::styled(text, style)]);
}

fn estimator_row(theme: &Theme, estimates: &Estimates, estimator: Estimator, row: Rect, buf: &mut Buffer) {
    let (x, end) = (row.x, row.right().saturating_sub(1));
    let deviation = estimates.deviation(estimator);
    put(buf, (x + 1, row.y), end, estimator.short(), theme.style(Role::Text));
    let now = estimates.now.of(estimator).map(|tokens| format!("~{}", grouped(tokens as i64)));
    let last = estimates.last().and_then(|call| call.error(estimator));
    let cells = [
        (now, theme.style(Role::Bright)),
        (last.map(words::signed), error_style(theme, last)),
        (deviation.map(|it| words::unsigned(it.mean)), error_style(theme, deviation.map(|it| it.mean))),
        (deviation.map(|it| words::signed(it.bias)), theme.style(Role::Text)),
        (deviation.map(|it| words::unsigned(it.max)), theme.style(Role::Text)),
    ];
    for (column, (text, style)) in ENDS.into_iter().zip(cells) {
        let none = (glyphs::NONE.to_owned(), theme.style(Role::Muted));
        let (text, style) = text.map_or(none, |text| (text, style));
        right(buf, row.y, x, (x + column).min(end), &text, style);
    }
    if x + WORDS + MEAN_BAR + 2 >= end {
        return;
    }
    if let Some(deviation) = deviation {
        let style = error_style(theme, Some(deviation.mean));
        let bar = ThinBar { share: deviation.mean, tail: 0.0, style, tail_style: style };
        bar.draw(buf, (x + WORDS, row.y), MEAN_BAR);
    }
    let at = x + WORDS + MEAN_BAR + 2;
    if usize::from(end.saturating_sub(at)) >= estimator.words().len() {
        put(buf, (at, row.y), end, estimator.words(), theme.style(Role::Muted));
    }
}

/// How an error looks: quiet while it does no harm.
fn error_style(theme: &Theme, error: Option<f64>) -> Style {
    theme.style(match error.map_or(0.0, f64::abs) {
        USELESS.. => Role::Danger,
        COSTLY.. => Role::Warn,
        _ => Role::Text,
    })
}

/// Cells of one estimator in the table.
fn column_width(width: u16) -> u16 {
    match width {
        110.. => 9,
        80.. => 8,
        _ => 7,
    }
}

/// Where the bar starts, and its cells; none where there is no room.
fn bar_of(row: Rect) -> Option<(u16, u16)> {
    let from = row.x + COUNTED + column_width(row.width) * 6 + 3;
    let cells = row.right().saturating_sub(2 + from);
    (cells >= LEAST_BAR && row.right() > from + 2).then_some((from, cells))
}

fn table_head(theme: &Theme, estimates: &Estimates, row: Rect, buf: &mut Buffer) {
    let style = theme.style(Role::Muted);
    let (x, end) = (row.x, row.right().saturating_sub(1));
    put(buf, (x + 1, row.y), end, "answer", style);
    right(buf, row.y, x, (x + COUNTED).min(end), "counted", style);
    for (at, estimator) in (1..).zip(Estimator::ALL) {
        let column = x + COUNTED + column_width(row.width) * at;
        right(buf, row.y, x, column.min(end), estimator.short(), style);
    }
    if let Some((from, _)) = bar_of(row) {
        let legend = [
            Span::styled(glyphs::HEAVY, theme.style(Role::Assistant)),
            Span::styled(" pi  ", style),
            Span::styled(glyphs::LIGHT, theme.style(Role::Warn)),
            Span::styled(" counted beyond", style),
        ];
        let shrunk = estimates.calls.iter().any(|call| call.shrunk);
        let after = put_spans(buf, (from, row.y), end, &legend);
        put(buf, (after, row.y), end, if shrunk { "  * shrunk, no error counts it" } else { "" }, style);
    }
}

impl Panel<'_> {
    fn call_row(&self, call: &Call, row: Rect, buf: &mut Buffer) {
        let (theme, x, end) = (self.theme, row.x, row.right().saturating_sub(1));
        let quiet = |style: Style| if call.shrunk { theme.style(Role::Muted) } else { style };
        let name = self.inspection.index.name(call.entry);
        let after = put(buf, (x + 1, row.y), x + 9, &name, theme.style(Role::Muted));
        if call.shrunk {
            put(buf, (after, row.y), x + 10, "*", theme.style(Role::Muted));
        }
        let measured = grouped(call.measured as i64);
        right(buf, row.y, x + 9, (x + COUNTED).min(end), &measured, quiet(theme.style(Role::Bright)));
        for (at, estimator) in (1..).zip(Estimator::ALL) {
            let error = call.error(estimator);
            let text = error.map_or_else(|| glyphs::NONE.to_owned(), words::signed);
            let column = x + COUNTED + column_width(row.width) * at;
            right(buf, row.y, x, column.min(end), &text, quiet(error_style(theme, error)));
        }
        if let Some((from, cells)) = bar_of(row) {
            self.call_bar(call).draw(buf, (from, row.y), cells);
        }
    }

    /// What chars/4 says, and up to where the count goes beyond it.
    fn call_bar(&self, call: &Call) -> ThinBar {
        let share = |tokens: u64| tokens as f64 / self.largest;
        ThinBar {
            share: share(call.numbers.of(Estimator::Pi).unwrap_or(0)),
            tail: share(call.measured),
            style: self.theme.style(Role::Assistant),
            tail_style: self.theme.style(Role::Warn),
        }
    }
}
