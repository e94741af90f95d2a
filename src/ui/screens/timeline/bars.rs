//! Bars below the timeline: cost per call, or the tokens that the cache did not hold. Both traces share one scale.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::View;
use crate::app::screens::timeline::BarMetric;
use crate::format::{format_amount, format_short, quantity, round_tokens};
use crate::replay::CallReplay;
use crate::report::cache_ledger::format_extra_cost;
use crate::report::timeline::TraceKind;
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role};
use crate::ui::widgets::{apply_style, on_title, put, title};
use crate::units::Tokens;

/// Columns from which the sum of the misses has all its words.
const LONG_WORDS_FROM: u16 = 100;

impl View<'_> {
    /// Returns the shown measure: tokens if no call has a cost.
    fn bars_shown(&self) -> BarMetric {
        let priced = self
            .timeline
            .visible_traces()
            .iter()
            .any(|trace| self.timeline.cost(*trace).is_some_and(|usd| usd > 0.0));
        if priced { self.screen.bar_metric } else { BarMetric::Cache }
    }

    pub(super) fn bars(&self, buf: &mut Buffer) {
        let area = self.places.bars;
        if area.is_empty() {
            return;
        }
        let shown = self.bars_shown();
        let name = match shown {
            BarMetric::Cost => "Cost per call",
            BarMetric::Cache if self.screen.bar_metric == BarMetric::Cost => {
                "Tokens not read from the cache (cost unknown)"
            }
            BarMetric::Cache => "Tokens not read from the cache",
        };
        let after = title(self.theme, buf, self.places.bars_title, name, false);
        self.missed_calls(after, buf);
        let traces = self.timeline.visible_traces();
        let most = traces.iter().map(|trace| self.max_value(*trace, shown)).fold(0.0, f64::max);
        let height = area.height / traces.len() as u16;
        for (trace, at) in traces.iter().zip(0..) {
            let strip = Rect { y: area.y + at * height, height, ..area };
            self.trace_bars(*trace, shown, most, strip, buf);
            self.bars_label(*trace, shown, strip, buf);
        }
    }

    /// Sums up the recorded calls that missed the cache, next to the title, and explains the signs of the cache.
    fn missed_calls(&self, after: u16, buf: &mut Buffer) {
        let totals = self.timeline.cache_totals();
        if totals.misses.calls == 0 {
            return;
        }
        let area = self.places.bars_title;
        let is_simulated = self.timeline.is_simulated();
        let words = if area.width < LONG_WORDS_FROM {
            // The signs matter more than the share of the cost.
            let extra = format_extra_cost(&totals.misses.cost).map(|cost| format!(", {cost}"));
            let recorded = if is_simulated { "recorded " } else { "" };
            format!("{recorded}{} missed{}", totals.misses.calls, extra.unwrap_or_default())
        } else {
            let calls = if is_simulated { "recorded call" } else { "call" };
            let cost = totals.describe_extra_cost().map(|cost| format!(", {cost}"));
            format!("{} missed the cache{}", quantity(totals.misses.calls, calls), cost.unwrap_or_default())
        };
        let span = Span::styled(words, self.theme.style(Role::Warn));
        let end = on_title(buf, area.y, after, area.right().saturating_sub(1), &[span]);
        self.cache_legend(after + 1, end.saturating_sub(1), buf);
    }

    /// Returns the largest visible value of a trace.
    fn max_value(&self, trace: TraceKind, shown: BarMetric) -> f64 {
        self.timeline.trace(trace)[self.grid.visible.clone()]
            .iter()
            .map(|call| value(call, shown))
            .fold(0.0, f64::max)
    }

    /// Whether a list price gives the cost of the most expensive visible call.
    fn is_most_expensive_estimated(&self, trace: TraceKind) -> bool {
        let calls = &self.timeline.trace(trace)[self.grid.visible.clone()];
        let cost = |call: &CallReplay| value(call, BarMetric::Cost);
        let most = calls.iter().max_by(|one, other| cost(one).total_cmp(&cost(other)));
        most.is_some_and(|call| call.recorded_cost.is_none_or(|usd| usd <= 0.0))
    }

    fn trace_bars(&self, trace: TraceKind, shown: BarMetric, most: f64, area: Rect, buf: &mut Buffer) {
        let calls = self.timeline.trace(trace);
        let role = if trace == TraceKind::Simulated { Role::PlanBar } else { Role::Ghost };
        let style = self.theme.style(role);
        let missed_style = self.theme.style(Role::Warn);
        let full = f64::from(area.height) * 8.0;
        let cursor = Rect { x: self.cursor_column(), width: 1, ..area };
        apply_style(buf, cursor, self.theme.background(BackgroundRole::Selected));
        for column in 0..area.width {
            let range = self.grid.calls_at(usize::from(column));
            let missed =
                trace == TraceKind::Recorded && range.clone().any(|call| self.timeline.miss(call).is_some());
            let style = if missed { missed_style } else { style };
            let own = &calls[range];
            let largest = own.iter().map(|call| value(call, shown)).fold(0.0, f64::max);
            let eighths = if most > 0.0 { (largest / most * full).round() as u16 } else { 0 };
            let eighths = if largest > 0.0 { eighths.max(1) } else { 0 };
            for row in 0..area.height {
                let filled = eighths.saturating_sub(row * 8).min(8);
                if let Some(sign) = usize::from(filled).checked_sub(1) {
                    let place = (area.x + column, area.bottom() - 1 - row);
                    put(buf, place, area.right(), session_columns::EIGHTHS_UP[sign], style);
                }
            }
        }
    }

    fn bars_label(&self, trace: TraceKind, shown: BarMetric, area: Rect, buf: &mut Buffer) {
        let most = self.max_value(trace, shown);
        let value = match shown {
            BarMetric::Cost => format_amount(most, self.is_most_expensive_estimated(trace)),
            BarMetric::Cache => format_short(round_tokens(Tokens(most))),
        };
        let (x, end) = (self.places.threshold_labels.x, self.places.threshold_labels.right());
        let name = self.theme.style(Self::role(trace));
        let muted = self.theme.style(Role::Muted);
        if area.height > 1 {
            put(buf, (x, area.y), end, trace.as_str(), name);
            put(buf, (x, area.y + 1), end, &format!("max {value}"), muted);
        } else if self.places.threshold_labels.width >= 14 {
            put(buf, (x, area.y), end, &format!("max {value}"), name);
        } else {
            put(buf, (x, area.y), end, &value, name);
        }
    }
}

fn value(call: &CallReplay, shown: BarMetric) -> f64 {
    match shown {
        BarMetric::Cost => call.cost.unwrap_or(0.0),
        BarMetric::Cache => (call.split.write + call.split.input).get(),
    }
}
