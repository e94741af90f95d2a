//! The head of the timeline: the replayed calls, and the totals of both traces.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use super::View;
use crate::format::{
    format_ordinal, format_short_tokens, format_signed_percent, minute, quantity, round_tokens, time_of_day,
};
use crate::policy::Policy;
use crate::report::cost::format_cost;
use crate::report::timeline::TraceKind;
use crate::ui::session_columns;
use crate::ui::theme::Role;
use crate::ui::widgets::{on_title, put_facts, title};
use crate::units::{Moment, Tokens};

type Fact = Vec<Span<'static>>;

/// Width from which both traces share a line.
const WIDE_FROM: u16 = 100;
/// Samples of the two curves in the legend.
const DOTTED_SAMPLE: &str = "····";
const THICK_SAMPLE: &str = "━━━━";

impl View<'_> {
    pub(super) fn head(&self, buf: &mut Buffer) {
        let area = self.places.header;
        let (x, end) = (area.x + 1, area.right().saturating_sub(1));
        let after = title(self.theme, buf, self.places.title, "Tokens per call", !self.screen.on_setting);
        let [recorded, simulated] = TraceKind::BOTH.map(|trace| self.trace_facts(trace));
        if area.width >= WIDE_FROM {
            let mut facts = self.about();
            facts.extend([self.simulated_label(), self.stale_note()]);
            put_facts(buf, (x, area.y), end, &facts);
            // Each trace gets half of the line; facts that do not fit are dropped from its end.
            let middle = area.x + area.width / 2;
            put_facts(buf, (x, area.y + 1), middle.saturating_sub(2), &recorded);
            put_facts(buf, (middle, area.y + 1), end, &simulated);
        } else {
            put_facts(buf, (x, area.y), end, &recorded);
            put_facts(buf, (x, area.y + 1), end, &simulated);
            let mut words = self.about();
            words.push(self.stale_note());
            words.retain(|fact| !fact.is_empty());
            let words: Fact = words.join(&Span::raw("  "));
            on_title(buf, self.places.title.y, after, end, &words);
        }
    }

    fn muted(&self, words: impl Into<String>) -> Span<'static> {
        Span::styled(words.into(), self.theme.style(Role::Muted))
    }

    /// Returns number and time range of the calls.
    fn about(&self) -> Vec<Fact> {
        let (calls, all) = (&self.timeline.calls()[self.grid.visible.clone()], self.timeline.len());
        let count = Span::styled(quantity(all as u64, "call"), self.theme.bold(Role::Bright));
        let mut facts = vec![vec![count]];
        if !self.screen.viewport.shows_all(all) {
            let seen = format!(
                "{}\u{2013}{}",
                format_ordinal(self.grid.visible.start),
                format_ordinal(self.grid.visible.end - 1)
            );
            facts.push(vec![self.muted(seen)]);
        }
        let (Some(first), Some(last)) = (calls.first(), calls.last()) else { return facts };
        let same_day = first.started.day() == last.started.day();
        let at = |at: Moment| if same_day { minute(at) } else { time_of_day(at, self.app.now_ms) };
        if let (Some(from), Some(to)) = (at(first.started), at(last.started)) {
            facts.push(vec![self.muted(format!("{from} \u{2013} {to}"))]);
        }
        facts
    }

    /// Returns the settings of the simulated trace.
    fn simulated_label(&self) -> Fact {
        if !self.timeline.is_simulated() {
            return vec![self.muted("as recorded; change a setting to replay the session")];
        }
        let tuning = &self.app.tuning;
        let changed = (0..tuning.rows.len()).filter(|at| tuning.is_changed(*at)).count();
        let settings = self.timeline.settings(TraceKind::Simulated);
        let acts = |policy: &Policy| *policy != Policy::Prune || settings.prune_on;
        let (chosen, every_run): (Vec<Policy>, Vec<Policy>) =
            settings.policies.enabled.iter().filter(acts).partition(|policy| tuning.is_policy_on(*policy));
        let names =
            |policies: &[Policy]| policies.iter().map(|policy| policy.word()).collect::<Vec<_>>().join(", ");
        let policies = match (chosen.as_slice(), every_run.as_slice()) {
            (chosen, []) => names(chosen),
            ([], every_run) => format!("always {}", names(every_run)),
            (chosen, every_run) => format!("{} (and always {})", names(chosen), names(every_run)),
        };
        let mut words = vec![self.muted("replayed with ")];
        if changed > 0 {
            let count = quantity(changed as u64, "changed setting");
            words.extend([Span::styled(count, self.theme.style(Role::Plan)), self.muted("; policies: ")]);
        }
        words.push(self.muted(policies));
        words
    }

    /// Returns a note while the curve lags behind the settings.
    fn stale_note(&self) -> Fact {
        let late = self.app.replay_state.is_slow(self.app.now_ms);
        if late { vec![Span::styled("replaying…", self.theme.style(Role::Warn))] } else { Vec::new() }
    }

    fn trace_facts(&self, trace: TraceKind) -> Vec<Fact> {
        let theme = self.theme;
        if !self.timeline.visible_traces().contains(&trace) {
            return vec![vec![self.muted("no changes")]];
        }
        let total = &self.timeline.totals[trace as usize];
        let plan = trace == TraceKind::Simulated;
        let (sign, role) = if plan { (THICK_SAMPLE, Role::Plan) } else { (DOTTED_SAMPLE, Role::Muted) };
        let strong = theme.bold(if plan { Role::Plan } else { Role::Bright });
        let overflows = if total.overflows > 0 {
            let words =
                format!("{} {}", session_columns::ALERT, quantity(total.overflows as u64, "overflow"));
            vec![Span::styled(words, theme.style(Role::Danger))]
        } else {
            vec![Span::styled("no overflow", theme.style(Role::Text))]
        };
        let compactions = if total.compactions > 0 {
            vec![self.muted(quantity(total.compactions as u64, "compaction"))]
        } else {
            Vec::new()
        };
        vec![
            vec![
                Span::styled(sign, theme.style(role)),
                Span::styled(format!(" {}", trace.as_str()), theme.style(role)),
            ],
            vec![self.muted("peak "), Span::styled(self.peak(trace), strong)],
            overflows,
            self.cost_fact(trace, strong),
            compactions,
            self.answered(trace),
        ]
    }

    /// Returns the largest prompt of a trace.
    fn peak(&self, trace: TraceKind) -> String {
        let peak = self.timeline.totals[trace as usize].peak;
        self.size_words(trace, peak).unwrap_or_else(|| "refused".to_owned())
    }

    /// Returns the largest answered prompt, if a refused one exceeds it.
    fn answered(&self, trace: TraceKind) -> Fact {
        let total = &self.timeline.totals[trace as usize];
        let answered = self.size_words(trace, total.answered).filter(|_| total.refused.0 > total.answered.0);
        answered.map(|tokens| self.muted(format!("answered up to {tokens}"))).into_iter().collect()
    }

    /// Formats the tokens of a call, with `~` if they are an estimate.
    fn size_words(&self, trace: TraceKind, (tokens, call): (Tokens, Option<usize>)) -> Option<String> {
        let estimated = self.timeline.trace(trace).get(call?)?.is_estimate();
        Some(format_short_tokens(round_tokens(tokens), !estimated))
    }

    /// Returns the cost of a trace, and for the simulated one the difference.
    fn cost_fact(&self, trace: TraceKind, strong: ratatui::style::Style) -> Fact {
        let Some(words) = format_cost(self.timeline.cost_breakdown(trace)) else {
            return vec![self.muted("no price")];
        };
        let cost = self.timeline.cost(trace).unwrap_or(0.0);
        let mut spans = vec![Span::styled(words, strong)];
        let before = self
            .timeline
            .cost(TraceKind::Recorded)
            .filter(|cost| trace == TraceKind::Simulated && *cost > 0.0);
        if let Some(before) = before {
            let change = cost / before - 1.0;
            let role = if change >= 0.0005 { Role::Warn } else { Role::Plan };
            spans.push(Span::styled(format!(" {}", format_signed_percent(change)), self.theme.style(role)));
        }
        spans
    }
}
