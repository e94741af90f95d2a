//! The head of the comparison: the settings on the map, the progress and the smallest change.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::View;
use crate::format::{format_number, format_short, quantity, round_tokens};
use crate::ui::glyphs;
use crate::ui::theme::Role;
use crate::ui::widgets::{put_facts, put_facts_right};
use crate::units::{Millis, Tokens};

/// Delay before progress shows.
const SLOW_MS: Millis = Millis(150.0);
/// Columns of a terminal from which the progress has a bar and names the counted items.
const BAR_COLUMNS: u16 = 80;

impl View<'_> {
    pub(super) fn head(&self, buf: &mut Buffer) {
        let area = self.places.header;
        let end = area.right().saturating_sub(1);
        let start = put_facts_right(buf, area.y, area.x + area.width / 3, end, &[self.verdict()]);
        let facts = [
            vec![Span::styled(self.screen.metric.label(), self.theme.bold(Role::Bright))],
            self.counts(),
            self.headroom(),
            self.fixed_settings(),
        ];
        put_facts(buf, (area.x + 1, area.y), start.saturating_sub(2), &facts);
    }

    /// Returns the number of combinations, or the progress while they are replayed.
    fn counts(&self) -> Vec<Span<'static>> {
        let (known, all) = self.screen.progress();
        let count = quantity(all as u64, "combination");
        if self.sweep().is_some() {
            return vec![self.span(Role::Muted, count)];
        }
        if self.app.now_ms - self.screen.requested_ms < SLOW_MS {
            return vec![self.span(Role::Muted, count)];
        }
        if self.places.header.width < BAR_COLUMNS {
            let words = format!("{} of {}", format_number(known as i64), format_number(all as i64));
            return vec![self.span(Role::Warn, words)];
        }
        let words = format!("{} of {count}", format_number(known as i64));
        let cells = 12;
        let full = (known * cells).checked_div(all).unwrap_or(0);
        let bar = |sign: &str, times: usize| sign.repeat(times);
        vec![
            self.span(Role::Warn, format!("replaying {words} ")),
            self.span(Role::Focus, bar(glyphs::HEAVY, full)),
            self.span(Role::Faint, bar(glyphs::LIGHT, cells - full)),
        ]
    }

    /// Returns the tokens that every prompt must leave free.
    fn headroom(&self) -> Vec<Span<'static>> {
        let free = self.sweep().map(|sweep| sweep.headroom).filter(|tokens| *tokens > Tokens::ZERO);
        let words = free.map(|tokens| format!("leaving {} free", format_short(round_tokens(tokens))));
        words.map(|words| vec![self.span(Role::Text, words)]).unwrap_or_default()
    }

    /// Returns the settings that the map does not show, with their fixed values.
    fn fixed_settings(&self) -> Vec<Span<'static>> {
        let axes = self.screen.sweep_state.axes.iter().zip(&self.screen.point).skip(2);
        let words: Vec<String> = axes
            .map(|(axis, at)| format!("{} {}", super::short_name(axis), super::label(&axis.points[*at])))
            .collect();
        if words.is_empty() {
            Vec::new()
        } else {
            vec![self.span(Role::Text, format!("with {}", words.join(", ")))]
        }
    }

    /// Summarises the smallest change.
    fn verdict(&self) -> Vec<Span<'static>> {
        let Some(sweep) = self.sweep() else { return Vec::new() };
        let Some(cell) = sweep.smallest_fitting else {
            let least = sweep.cells.iter().map(crate::report::sweep::Cell::overflows).min().unwrap_or(0);
            // If every call fits, only the headroom is missing.
            let words = match least {
                0 => format!("{} None of these leaves that much free", glyphs::ALERT),
                1 => format!("{} None of these help: at least 1 call still overflows", glyphs::ALERT),
                _ => format!(
                    "{} None of these help: at least {} calls still overflow",
                    glyphs::ALERT,
                    format_number(least as i64)
                ),
            };
            return vec![self.span(Role::Danger, words)];
        };
        if cell == sweep.current {
            let peak = super::peak(&sweep.cells[cell]);
            if sweep.caveat().is_some() {
                let refused = quantity(sweep.recorded.overflows as u64, "recorded call");
                let words = format!("{} fits now, but {refused} did not", glyphs::ALERT);
                return vec![self.span(Role::Warn, words)];
            }
            return vec![self.span(Role::User, format!("{} fits now, peak {peak}", glyphs::PASSED))];
        }
        let at = sweep.grid.points_of(cell);
        let moved = sweep.axes.iter().zip(at).filter(|(axis, at)| *at != axis.current);
        let words: Vec<String> = moved
            .map(|(axis, at)| format!("{} {}", super::short_name(axis), super::label(&axis.points[at])))
            .collect();
        vec![
            self.span(Role::Muted, "smallest change "),
            Span::styled(words.join(", "), self.theme.bold(Role::Plan)),
        ]
    }
}
