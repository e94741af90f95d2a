//! The timeline: tokens of every call, recorded and simulated, against the thresholds. Below: the cache and the cost of
//! each call, the selected call in words, and the focused setting.

mod axis;
mod bars;
mod cache_lane;
mod call;
mod chart;
mod head;
mod signs;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::app::App;
use crate::app::screens::timeline::TimelineScreen;
use crate::app::screens::timeline::layout::TimelineLayout;
use crate::app::screens::timeline::viewport::CallColumns;
use crate::report::timeline::{Timeline, TraceKind};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{clear, note, put, scrollbar, title};

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
