//! The timeline: tokens of every call, recorded and simulated, against the thresholds. Below: the cache and the cost of
//! each call, the selected call in words, and the focused setting.

mod bars;
mod cache_lane;
mod call;
mod chart;
mod head;
mod signs;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::timeline::TimelineScreen;
use crate::app::screens::timeline::layout::TimelineLayout;
use crate::app::screens::timeline::viewport::CallColumns;
use crate::format::{minute, time_of_day};
use crate::report::timeline::{Timeline, TraceKind};
use crate::text;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, note, put, put_right, scrollbar, title};
use crate::units::Moment;

struct View<'a> {
    app: &'a App,
    theme: &'a Theme,
    screen: &'a TimelineScreen,
    timeline: &'a Timeline,
    places: TimelineLayout,
    grid: CallColumns,
}

pub(in crate::ui) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    clear(theme, buf, area);
    let Some(timeline) = app.timeline() else {
        title(theme, buf, area, "Timeline", true);
        return match &app.replay_state.error {
            Some(error) => note(theme, "Cannot replay this session", error, area, buf),
            None => note(theme, "Reading…", "", area, buf),
        };
    };
    let places = app.timeline_layout();
    if timeline.is_empty() {
        title(theme, buf, area, "Timeline", true);
        let why = "The path to this leaf has no model call, answered or refused.";
        return note(theme, "No calls recorded", why, area, buf);
    }
    let screen = &app.timeline_screen;
    if screen.as_sentences {
        return words(app, theme, area, buf);
    }
    let grid = screen.viewport.call_columns(timeline.len(), places.chart.width);
    let view = View { app, theme, screen, timeline, places, grid };
    view.head(buf);
    view.chart(buf);
    view.axis(buf);
    view.cache_lane(buf);
    view.bars(buf);
    view.call(buf);
    crate::ui::tuning::draw_focused_setting(app, theme, places.setting, buf);
}

/// Draws the timeline as sentences.
fn words(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    title(theme, buf, area, "Timeline as text", true);
    let list = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let lines = app.sentence_lines();
    let top = app.timeline_screen.top.min(lines.len().saturating_sub(1));
    for (y, line) in (list.y..list.bottom()).zip(lines.iter().skip(top)) {
        put(buf, (area.x + 2, y), area.right(), line, theme.style(Role::Text));
    }
    scrollbar(theme, buf, list, top, lines.len());
}

impl View<'_> {
    fn role(trace: TraceKind) -> Role {
        match trace {
            TraceKind::Recorded => Role::Muted,
            TraceKind::Simulated => Role::Plan,
        }
    }

    fn cursor_column(&self) -> u16 {
        self.places.chart.x + self.grid.column_of(self.screen.cursor) as u16
    }
}

/// Columns from the start of one time to the start of the next.
const TIME_SPACING: u16 = 17;

impl View<'_> {
    /// Draws times below the columns of their calls, with the date if it differs from the previous one. The last call's
    /// time is at the end.
    fn axis(&self, buf: &mut Buffer) {
        let axis = self.places.axis;
        let style = self.theme.style(Role::Muted);
        let mut day = None;
        let last = self.time_of(self.grid.visible.end.saturating_sub(1), &mut None);
        let last_width = text::width(&last) as u16;
        let end = axis.right().saturating_sub(last_width);
        let mut x = axis.x;
        let mut before = None;
        while x + 5 + 2 <= end {
            let call = self.grid.calls_at(usize::from(x - axis.x)).start;
            let words = self.time_of(call, &mut day);
            let fits = x + text::width(&words) as u16 + 2 <= end;
            if fits && before.as_ref() != Some(&words) {
                self.beside_cursor(x, &words, buf, style);
            }
            before = Some(words);
            x += TIME_SPACING;
        }
        let words = self.time_of(self.grid.visible.end.saturating_sub(1), &mut day);
        let from = axis.right().saturating_sub(text::width(&words) as u16);
        if !(from..axis.right()).contains(&self.cursor_column()) {
            put_right(buf, axis.y, axis.x, axis.right(), &[Span::styled(words, style)]);
        }
    }

    /// Draws a time unless it would cover the pointer of the cursor.
    fn beside_cursor(&self, x: u16, words: &str, buf: &mut Buffer, style: ratatui::style::Style) {
        let cursor = self.cursor_column();
        let width = text::width(words) as u16;
        if !(x..x + width).contains(&cursor) {
            put(buf, (x, self.places.axis.y), self.places.axis.right(), words, style);
        }
    }

    fn time_of(&self, call: usize, day: &mut Option<i64>) -> String {
        let Some(call) = self.timeline.calls().get(call) else { return String::new() };
        let own = call.started.day();
        let another = day.replace(own).is_some_and(|day| day != own);
        let dated = time_of_day(call.started, Moment::ZERO).and_then(|text| Some(text.get(5..)?.to_owned()));
        let words = if another { dated } else { minute(call.started) };
        words.unwrap_or_default()
    }
}
