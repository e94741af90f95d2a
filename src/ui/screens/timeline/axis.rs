//! The time axis of the timeline.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::View;
use crate::format::{minute, time_of_day};
use crate::text;
use crate::ui::theme::Role;
use crate::ui::widgets::{put, put_right};
use crate::units::Moment;

/// Columns from the start of one time to the start of the next.
const TIME_SPACING: u16 = 17;

impl View<'_> {
    /// Draws times below the columns of their calls, with the date if it differs from the previous one. The last call's
    /// time is at the end.
    pub(super) fn axis(&self, buf: &mut Buffer) {
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
