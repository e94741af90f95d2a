//! The newest calls as bars, with the believed window, the served limit and the compaction trigger as lines.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::head::View;
use crate::app::screens::explain::page::{PlacedBlock, content_columns};
use crate::format::{format_number, format_short, minute, quantity, time_of_day};
use crate::report::explain::{CallHistory, CallPoint};
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{on_title, put, put_right};
use crate::units::Moment;

/// Columns of the labels on the right.
const LABEL_WIDTH: u16 = 23;
/// Largest number of bars.
const MAX_BARS: u16 = 30;

pub(super) fn draw(view: &View<'_>, placed: &PlacedBlock, after: u16, buf: &mut Buffer) {
    let course = &view.explanation.course;
    let (x, end) = content_columns(placed.area);
    let area = placed.area;
    let plot = Rect {
        x,
        y: area.y + 1,
        width: end.saturating_sub(x + LABEL_WIDTH + 1),
        height: area.height.saturating_sub(2),
    };
    if plot.width < 4 || plot.height == 0 {
        return;
    }
    let chart = Chart::new(view.theme, course, plot);
    let shown = chart.calls.len();
    let words = match course.total {
        total if total > shown => format!("{shown} of {} calls", format_number(total as u64)),
        total => quantity(total, "call"),
    };
    on_title(buf, area.y, after, end, &[view.muted(words)]);
    chart.lines(buf);
    chart.bars(buf);
    chart.signs(buf);
    chart.labels(Rect { x: plot.right() + 1, width: LABEL_WIDTH, ..plot }, buf);
    chart.times(plot.bottom(), buf);
}

/// A horizontal line across the chart.
struct Level {
    name: &'static str,
    tokens: u64,
    role: Role,
}

struct Chart<'a> {
    theme: &'a Theme,
    course: &'a CallHistory,
    calls: &'a [CallPoint],
    plot: Rect,
    /// Columns of a bar.
    bar: u16,
    /// Tokens at the upper edge.
    top: f64,
}

impl<'a> Chart<'a> {
    /// Fits the newest calls into the plot, with a row above the tallest for the signs.
    fn new(theme: &'a Theme, course: &'a CallHistory, plot: Rect) -> Self {
        let count = usize::from((plot.width / 2).clamp(1, MAX_BARS)).min(course.calls.len());
        let calls = &course.calls[course.calls.len() - count..];
        let bar = (plot.width / (count.max(1) as u16)).clamp(1, 3);
        let limits = [course.believed_window, course.served_limit, course.trigger].into_iter().flatten();
        let most = calls.iter().map(|call| call.tokens).chain(limits).max().unwrap_or(1).max(1);
        let rows = f64::from(plot.height);
        // The largest value ends in the middle of the row below the signs.
        let top = most as f64 * rows / (rows - 1.5).max(0.5);
        Self { theme, course, calls, plot, bar, top }
    }

    /// Returns the height of `tokens` in eighths of a row.
    fn eighths(&self, tokens: u64) -> u16 {
        (tokens as f64 / self.top * f64::from(self.plot.height) * 8.0).round() as u16
    }

    /// Returns the row in which `tokens` end.
    fn row(&self, tokens: u64) -> u16 {
        let rows = self.eighths(tokens).saturating_sub(1) / 8;
        self.plot.bottom().saturating_sub(1 + rows).max(self.plot.y)
    }

    fn levels(&self) -> Vec<Level> {
        let course = self.course;
        let level = |name, tokens: Option<u64>, role| tokens.map(|tokens| Level { name, tokens, role });
        let same = course.served_limit.is_some() && course.served_limit == course.believed_window;
        let believed = course.believed_window.filter(|_| !same);
        let name = if course.served_limit.is_some() { "assumed" } else { "window" };
        let served = level("limit", course.served_limit, Role::Danger);
        let levels =
            [served, level(name, believed, Role::Muted), level("trigger", course.trigger, Role::Muted)];
        levels.into_iter().flatten().collect()
    }

    /// Draws the lines; of two on one row the first wins.
    fn lines(&self, buf: &mut Buffer) {
        for level in self.levels().iter().rev() {
            let role = if level.role == Role::Danger { Role::Danger } else { Role::Faint };
            for x in self.plot.left()..self.plot.right() {
                let place = (x, self.row(level.tokens));
                put(buf, place, self.plot.right(), session_columns::DASHES, self.theme.style(role));
            }
        }
    }

    fn column(&self, at: usize) -> u16 {
        self.plot.x + at as u16 * self.bar
    }

    fn bars(&self, buf: &mut Buffer) {
        for (at, call) in self.calls.iter().enumerate() {
            let role = if call.is_refused { Role::Danger } else { Role::Ghost };
            let filled = self.eighths(call.tokens).max(1);
            for row in 0..self.plot.height {
                let Some(sign) = usize::from(filled.saturating_sub(row * 8).min(8)).checked_sub(1) else {
                    break;
                };
                for x in self.column(at)..(self.column(at) + self.bar).min(self.plot.right()) {
                    let place = (x, self.plot.bottom() - 1 - row);
                    put(
                        buf,
                        place,
                        self.plot.right(),
                        session_columns::EIGHTHS_UP[sign],
                        self.theme.style(role),
                    );
                }
            }
        }
    }

    /// Draws refused calls and compactions above their bars, with words where they fit.
    fn signs(&self, buf: &mut Buffer) {
        for (at, call) in self.calls.iter().enumerate() {
            let x = self.column(at);
            if call.is_refused {
                let y = self.row(call.tokens).saturating_sub(1).max(self.plot.y);
                put(buf, (x, y), self.plot.right(), session_columns::ALERT, self.theme.style(Role::Danger));
                let words = format!("#{} refused ", call.number);
                let from = x.checked_sub(text::width(&words) as u16).filter(|from| *from >= self.plot.x);
                self.words(from, y, &words, Role::Danger, buf);
            } else if call.compacted_before {
                let y = self.row(call.tokens).saturating_sub(1).max(self.plot.y);
                put(buf, (x, y), self.plot.right(), "Σ", self.theme.fate(crate::policy::Fate::Summarised));
                let words = format!(" {} {}", session_columns::ARROW, format_short(call.tokens));
                self.words(Some(x + 1), y, &words, Role::Muted, buf);
            }
        }
    }

    /// Draws words in the chart if they cover nothing but a line.
    fn words(&self, from: Option<u16>, y: u16, words: &str, role: Role, buf: &mut Buffer) {
        let Some(from) = from else { return };
        let to = from + text::width(words) as u16;
        let free = |x: u16| {
            buf.cell((x, y)).is_some_and(|cell| [" ", session_columns::DASHES].contains(&cell.symbol()))
        };
        if to <= self.plot.right() && (from..to).all(free) {
            put(buf, (from, y), to, words, self.theme.style(role));
        }
    }

    /// Draws the names of the lines next to them, at most one per row.
    fn labels(&self, area: Rect, buf: &mut Buffer) {
        let mut named: Vec<u16> = Vec::new();
        let mut label = |y: u16, words: &str, role: Role| {
            let rows = [Some(y), y.checked_add(1), y.checked_sub(1), y.checked_add(2), y.checked_sub(2)];
            let free = |row: &u16| (area.top()..area.bottom()).contains(row) && !named.contains(row);
            if let Some(row) = rows.into_iter().flatten().find(free) {
                named.push(row);
                put(buf, (area.x, row), area.right(), words, self.theme.style(role));
            }
        };
        let mut levels = self.levels();
        levels.sort_by_key(|level| std::cmp::Reverse(level.tokens));
        for level in &levels {
            label(
                self.row(level.tokens),
                &format!("{} {}", level.name, format_number(level.tokens)),
                level.role,
            );
        }
        if let Some((_, tokens)) = self.course.largest_accepted {
            label(self.row(tokens), &format!("largest accepted {}", format_short(tokens)), Role::Text);
        }
    }

    /// Draws the times of the first, middle and last call.
    fn times(&self, y: u16, buf: &mut Buffer) {
        let (Some(first), Some(last)) = (self.calls.first(), self.calls.last()) else { return };
        let same = first.at_ms.day() == last.at_ms.day();
        let time = |at: Moment| {
            let dated = || time_of_day(at, Moment::ZERO).and_then(|text| Some(text.get(5..)?.to_owned()));
            if same { minute(at) } else { dated() }.unwrap_or_default()
        };
        let style = self.theme.style(Role::Muted);
        let end = (self.column(self.calls.len())).min(self.plot.right());
        let mut x = put(buf, (self.plot.x, y), self.plot.right(), &time(first.at_ms), style);
        let middle = self.calls.len() / 2;
        let words = time(self.calls[middle].at_ms);
        let width = text::width(&words) as u16;
        if self.column(middle) > x + 1 && self.column(middle) + 2 * width + 2 <= end {
            x = put(buf, (self.column(middle), y), self.plot.right(), &words, style);
        }
        if self.calls.len() > 1 && x + 2 + width <= self.plot.right() {
            put_right(buf, y, x + 2, end.max(x + 2 + width), &[Span::styled(time(last.at_ms), style)]);
        }
    }
}
