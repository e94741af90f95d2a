//! The selected call in words, recorded above simulated.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::View;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::format::{
    format_amount, format_duration, format_ordinal, format_short, format_short_estimate, format_short_tokens,
    quantity, round_tokens, time_of_day,
};
use crate::policy::Fate;
use crate::replay::{CallReplay, PromptSizeSource};
use crate::report::cost::format_cost;
use crate::report::timeline::TraceKind;
use crate::ui::session_columns;
use crate::ui::theme::Role;
use crate::ui::widgets::{on_title, put_right, put_spans, row_at, spans_width, title};
use crate::units::{Millis, Tokens};

/// Blanks between two columns.
const GAP: u16 = 3;

/// Tokens from which a column is shown.
const MIN_TOKENS: f64 = 50.0;

/// Columns from which a call's miss is beside its tokens.
const MISS_BESIDE_FROM: u16 = 100;

type Spans = Vec<Span<'static>>;

/// A column of both rows.
struct Column {
    /// Columns with the largest rank are dropped first.
    rank: u8,
    rows: [Spans; 2],
}

impl Column {
    fn width(&self) -> u16 {
        self.rows.iter().map(|spans| spans_width(spans)).max().unwrap_or(0)
    }
}

impl View<'_> {
    pub(super) fn call(&self, buf: &mut Buffer) {
        let area = self.places.call;
        let at = self.screen.cursor;
        let Some(call) = self.timeline.calls().get(at).filter(|_| area.height == 3) else { return };
        let when = time_of_day(call.started, self.app.now_ms).unwrap_or_default();
        let after =
            title(self.theme, buf, row_at(area, area.y), &format!("Call {}", format_ordinal(at)), false);
        let muted = self.theme.style(Role::Muted);
        let mut words = vec![Span::styled(when, self.theme.style(Role::Text))];
        if call.idle_ms >= Millis(1000.0) {
            words.push(Span::styled(format!("   idle {}", format_duration(call.idle_ms)), muted));
        }
        let used = put_spans(buf, (after + 1, area.y), area.right(), &[Span::raw(" ")]);
        let used = put_spans(buf, (used, area.y), area.right(), &words);
        let used = put_spans(buf, (used, area.y), area.right(), &[Span::raw(" ")]);
        let name = self.timeline.session().index.display_id(call.entry);
        let entry = [Span::styled("entry ", muted), Span::styled(name, self.theme.style(Role::Focus))];
        on_title(buf, area.y, used, area.right().saturating_sub(1), &entry);
        self.rows(at, buf);
    }

    /// Draws both rows with the columns that fit, and their cost on the right.
    fn rows(&self, at: usize, buf: &mut Buffer) {
        let area = self.places.call;
        let end = area.right().saturating_sub(1);
        let shown = self.timeline.visible_traces();
        let cost = Column { rank: 0, rows: self.both(|trace| self.cost_of(trace, at)) };
        let missed = self.missed(TraceKind::Recorded, at);
        // A narrow screen has a whole row for the miss as long as there is no simulated call.
        let is_below = area.width < MISS_BESIDE_FROM && shown.len() == 1 && !missed.is_empty();
        let mut columns = self.columns(at, if is_below { Vec::new() } else { missed.clone() });
        columns.retain(|column| column.width() > 0);
        let room = area.width.saturating_sub(2 + cost.width());
        let taken = |columns: &[Column]| columns.iter().map(|column| column.width() + GAP).sum::<u16>();
        while taken(&columns) > room && columns.len() > 2 {
            let last = columns.iter().enumerate().max_by_key(|(_, column)| column.rank);
            let Some((last, _)) = last else { break };
            columns.remove(last);
        }
        for (row, _) in shown.iter().enumerate() {
            let y = area.y + 1 + row as u16;
            let mut x = area.x + 1;
            for column in &columns {
                put_spans(buf, (x, y), end, &column.rows[row]);
                x += column.width() + GAP;
            }
            put_right(buf, y, x.min(end), end, &cost.rows[row]);
        }
        if is_below {
            put_spans(buf, (area.x + 1, area.y + 2), end, &missed);
        } else if shown.len() == 1 {
            self.hint(buf);
        }
    }

    /// Draws the keys that create a simulated trace.
    fn hint(&self, buf: &mut Buffer) {
        let (area, end) = (self.places.call, self.places.call.right().saturating_sub(1));
        let keys =
            [Action::Less, Action::More].map(|action| self.app.key_words(KeyContext::Timeline, action));
        let muted = self.theme.style(Role::Muted);
        let strong = self.theme.bold(Role::Text);
        let [less, more] = keys.map(|key| Span::styled(key, strong));
        let and = Span::styled(" and ", muted);
        let words = Span::styled(" change the setting below; the replay updates at once", muted);
        put_spans(buf, (area.x + 1, area.y + 2), end, &[less, and, more, words]);
    }

    fn both(&self, spans: impl Fn(TraceKind) -> Spans) -> [Spans; 2] {
        let shown = self.timeline.visible_traces();
        TraceKind::BOTH.map(|trace| if shown.contains(&trace) { spans(trace) } else { Vec::new() })
    }

    fn columns(&self, at: usize, missed: Spans) -> Vec<Column> {
        let column = |rank, rows| Column { rank, rows };
        vec![
            column(0, self.both(|trace| vec![self.styled(trace.as_str(), Self::role(trace))])),
            column(0, align_rows(self.both(|trace| self.tokens(trace, at)))),
            column(6, self.both(|trace| self.measured(trace, at))),
            column(1, self.both(|trace| self.limit_distance(trace, at))),
            column(5, self.split("cache read", at, |call| call.split.read.get())),
            column(3, self.split("write", at, |call| call.split.write.get())),
            column(4, self.split("input", at, |call| call.split.input.get())),
            column(2, self.both(|trace| self.policy_effects(trace, at))),
            column(2, [missed, Vec::new()]),
        ]
    }

    fn styled(&self, words: impl Into<String>, role: Role) -> Span<'static> {
        Span::styled(words.into(), self.theme.style(role))
    }

    fn tokens(&self, trace: TraceKind, at: usize) -> Spans {
        let call = &self.timeline.trace(trace)[at];
        let style = if trace == TraceKind::Simulated { Role::Plan } else { Role::Bright };
        let words = match call.size_source {
            PromptSizeSource::Unknown => call.missing_size_label().to_owned(),
            _ => format_short_tokens(round_tokens(call.expected), !call.is_estimate()),
        };
        vec![Span::styled(words, self.theme.bold(style))]
    }

    /// Returns the provider's count, only for the recorded call, and the estimate.
    fn measured(&self, trace: TraceKind, at: usize) -> Spans {
        let call = &self.timeline.trace(trace)[at];
        let counted = self.timeline.calls()[at].measured_tokens();
        match (trace, counted) {
            (TraceKind::Recorded, Some(_)) if call.is_measured => {
                vec![self.styled(
                    format!("estimate {}", format_short_estimate(round_tokens(call.tokens))),
                    Role::Muted,
                )]
            }
            (TraceKind::Recorded, Some(measured)) => {
                vec![self.styled(format!("measured {}", format_short(round_tokens(measured))), Role::Muted)]
            }
            (TraceKind::Recorded, None) if call.size_source == PromptSizeSource::FromRefusal => {
                vec![self.styled("size stated in the error", Role::Muted)]
            }
            (TraceKind::Recorded, None) => vec![self.styled("not measured", Role::Muted)],
            (TraceKind::Simulated, _) => Vec::new(),
        }
    }

    /// Returns the distance to the window or to the compaction trigger.
    fn limit_distance(&self, trace: TraceKind, at: usize) -> Spans {
        let call = &self.timeline.trace(trace)[at];
        let over = |limit: f64, word: &str, role: Role| {
            let more = round_tokens(call.expected - Tokens(limit));
            let words = format!("{} over {word}", format_short_tokens(more, !call.is_estimate()));
            vec![self.styled(words, role)]
        };
        let believed = self.timeline.session().limits.runtime_window;
        if !call.has_size() {
            let words = if call.overflowed { "did not fit; size unknown" } else { "" };
            return vec![self.styled(words, Role::Danger)];
        }
        if call.overflowed {
            return match self.timeline.window().filter(|window| call.expected > *window) {
                Some(window) => over(window.get(), "window", Role::Danger),
                // The provider answered, but the runtime treats it as an overflow (compaction 8.1 ii).
                None if call.expected > believed => {
                    over(believed.get(), "the gateway's window", Role::Danger)
                }
                None => vec![self.styled("did not fit", Role::Danger)],
            };
        }
        let Some(trigger) = self.timeline.compaction_trigger(trace) else { return Vec::new() };
        if call.expected > trigger {
            return over(trigger.get(), "compaction", Role::Warn);
        }
        let less = round_tokens(trigger - call.expected);
        let words = format!("{} below compaction", format_short_tokens(less, !call.is_estimate()));
        vec![self.styled(words, Role::Text)]
    }

    fn split(&self, name: &'static str, at: usize, part: impl Fn(&CallReplay) -> f64) -> [Spans; 2] {
        let parts = TraceKind::BOTH.map(|trace| part(&self.timeline.trace(trace)[at]));
        if parts.iter().all(|part| *part < MIN_TOKENS) {
            return [Vec::new(), Vec::new()];
        }
        let costly = name != "cache read" && parts[1] > parts[0] + 1000.0;
        let is_sent = |trace: TraceKind| !self.timeline.trace(trace)[at].split.is_zero();
        let numbers = align_rows(self.both(|trace| {
            if !is_sent(trace) {
                return Vec::new();
            }
            let role = if costly && trace == TraceKind::Simulated { Role::Warn } else { Role::Text };
            vec![self.styled(format_short(round_tokens(Tokens(parts[trace as usize]))), role)]
        }));
        let mut traces = TraceKind::BOTH.into_iter();
        numbers.map(|mut spans| {
            if traces.next().is_some_and(is_sent) && spans_width(&spans) > 0 {
                spans.insert(0, self.styled(format!("{name} "), Role::Muted));
            }
            spans
        })
    }

    /// Returns the tokens that the recorded call did not read from the cache, and the cause.
    fn missed(&self, trace: TraceKind, at: usize) -> Spans {
        let Some(miss) = self.timeline.miss(at).filter(|_| trace == TraceKind::Recorded) else {
            return Vec::new();
        };
        let cost = format_cost(&miss.cost).map(|cost| format!(", {cost}")).unwrap_or_default();
        let tokens = format_short(round_tokens(miss.tokens));
        let cause = miss.describe_cause(self.timeline.session());
        vec![self.styled(format!("missed {tokens}{cost}: {cause}"), Role::Warn)]
    }

    /// Returns the effects of the policies before and at the call.
    fn policy_effects(&self, trace: TraceKind, at: usize) -> Spans {
        let call = &self.timeline.trace(trace)[at];
        let mut spans = Vec::new();
        let mut add = |fate: Fate, words: String| {
            if !spans.is_empty() {
                spans.push(Span::raw("  "));
            }
            spans.push(Span::styled(fate.sign(), self.theme.fate(fate)));
            spans.push(self.styled(format!(" {words}"), Role::Text));
        };
        if let Some(done) = &call.compacted {
            add(
                Fate::Summarised,
                Self::compaction_text(
                    done.tokens_before_or_estimate(call.expected),
                    (call.expected, call.is_estimate()),
                ),
            );
        }
        if let Some(done) = &call.truncated {
            add(Fate::Truncated, format!("{} truncated", done.messages));
        }
        if call.cleared_count() > 0 {
            add(Fate::Cleared, format!("{} cleared", call.cleared_count()));
        }
        if call.trimmed_count() > 0 {
            add(Fate::SoftTrimmed, format!("{} trimmed", call.trimmed_count()));
        }
        let reduced = call.reduce_trim.trimmed + call.reduce_trim.cleared;
        if reduced > 0 {
            add(Fate::Truncated, quantity(u64::from(reduced), "result"));
        }
        if call.history_trim.cleared > 0 {
            add(Fate::Dropped, quantity(u64::from(call.history_trim.cleared), "message"));
        }
        if call.failed {
            spans.insert(0, self.styled(format!("{} no answer  ", session_columns::ALERT), Role::Danger));
        }
        spans
    }

    fn cost_of(&self, trace: TraceKind, at: usize) -> Spans {
        let calls = TraceKind::BOTH.map(|trace| self.timeline.trace(trace)[at].cost);
        let own = &self.timeline.trace(trace)[at];
        let unpaid = own.failed || self.timeline.calls()[at].is_failed() && own.split.is_zero();
        let Some(cost) = calls[trace as usize].filter(|usd| !unpaid && *usd > 0.0) else {
            return vec![self.styled(session_columns::UNKNOWN, Role::Muted)];
        };
        let more = calls[0].is_some_and(|before| cost > before * 1.05 + 0.005);
        let role = if trace == TraceKind::Simulated && more { Role::Warn } else { Role::Bright };
        let estimated = own.recorded_cost.is_none_or(|usd| usd <= 0.0);
        vec![Span::styled(format_amount(cost, estimated), self.theme.bold(role))]
    }
}

/// Aligns the numbers of both rows on the right.
fn align_rows(rows: [Spans; 2]) -> [Spans; 2] {
    let width = rows.iter().map(|spans| spans_width(spans)).max().unwrap_or(0);
    rows.map(|spans| {
        let blanks = usize::from(width - spans_width(&spans));
        let mut all = vec![Span::raw(" ".repeat(blanks))];
        all.extend(spans);
        all
    })
}
