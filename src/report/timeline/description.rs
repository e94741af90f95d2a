//! A timeline in sentences, as an alternative to the curves: totals of both traces, their course from one turning point
//! to the next, pauses and cost.

use super::{Gap, Timeline, TraceKind};
use crate::format::{
    format_amount, format_displayed_timestamp, format_duration, format_number, format_ordinal, format_ratio,
    quantity, round_tokens,
};
use crate::policy::Policy;
use crate::replay::{CallReplay, CompactionEvent, ModelCall};
use crate::report::cost::{describe_cost, format_cost};
use crate::units::Tokens;

/// A prompt smaller than the previous one by this share of the window is a turning point.
const MIN_FALL: f64 = 0.05;
/// Turning points to describe per trace; of more, only the first and the last ones.
const MAX_TURNING_POINTS: usize = 16;
/// Number of pauses to describe, the longest first.
const MAX_PAUSES: usize = 5;

/// A turning point in the course of a trace, at a call.
#[derive(Debug, Clone, PartialEq)]
struct TurningPoint {
    call: usize,
    text: String,
}

impl Timeline {
    /// Returns the timeline in sentences, one per line. Numbers are exact; `~` marks an estimate.
    pub fn describe(&self) -> Vec<String> {
        let (Some(first), Some(last)) = (self.calls().first(), self.calls().last()) else {
            return vec!["This path has no recorded calls.".to_owned()];
        };
        let mut lines = vec![format!("{}, {}.", quantity(self.len(), "call"), format_period(first, last))];
        lines.push(self.describe_limits());
        for trace in self.visible_traces() {
            lines.push(self.describe_trace(*trace));
            lines.extend(self.describe_course(*trace));
        }
        lines.push(self.describe_pauses());
        lines
    }

    /// Describes the limits of prompts.
    fn describe_limits(&self) -> String {
        let mut marks = self.thresholds();
        marks.sort_by_key(|mark| std::cmp::Reverse(mark.tokens));
        let words =
            marks.iter().map(|mark| format!("{} {}", mark.threshold.label(), format_number(mark.tokens)));
        let thresholds = format!("Thresholds in prompt tokens: {}.", words.collect::<Vec<_>>().join(", "));
        let believed = self.session().limits.runtime_window;
        match self.window().filter(|window| *window > believed) {
            Some(window) => format!(
                "{thresholds} The provider answered prompts of up to {}, but the gateway assumes {} and treats a run's last answer above that as an overflow.",
                format_number(window.whole()),
                format_number(believed.whole())
            ),
            None => thresholds,
        }
    }

    /// Describes the totals of a trace.
    fn describe_trace(&self, trace: TraceKind) -> String {
        let total = &self.totals[trace as usize];
        let mut words = match trace {
            TraceKind::Recorded => "Recorded".to_owned(),
            TraceKind::Simulated => {
                let settings = self.settings(trace);
                let acts = |policy: &Policy| *policy != Policy::Prune || settings.prune_on;
                let policies: Vec<&str> =
                    settings.policies.enabled.iter().filter(acts).map(Policy::word).collect();
                format!("Simulated with {}", policies.join(", "))
            }
        };
        if let Some(call) = total.answered.1 {
            words = format!("{words}: the largest answered prompt is {}", self.describe_prompt(trace, call));
        }
        if let Some(call) = total.refused.1.filter(|_| total.refused.0 > total.answered.0) {
            words = format!("{words}, the largest refused prompt is {}", self.describe_prompt(trace, call));
        }
        let overflows = match total.overflows {
            0 => "every prompt fits".to_owned(),
            1 => "1 prompt does not fit".to_owned(),
            more => format!("{} prompts do not fit", format_number(more as u64)),
        };
        let cost = match trace {
            TraceKind::Recorded => describe_cost(self.cost_breakdown(trace)),
            TraceKind::Simulated => format_cost(self.cost_breakdown(trace)),
        };
        let cost = cost.map_or("price unknown".to_owned(), |cost| format!("cost {cost}"));
        let dearest = self.most_expensive_call(trace).map_or(String::new(), |(call, usd)| {
            let estimated = self.trace(trace)[call].recorded_cost.is_none_or(|usd| usd <= 0.0);
            format!(", call {} costs the most with {}", format_ordinal(call), format_amount(usd, estimated))
        });
        let compactions = match total.compactions {
            0 => "no compaction".to_owned(),
            some => quantity(some, "compaction"),
        };
        format!("{words}; {overflows}; {compactions}; {cost}{dearest}.")
    }

    /// Returns the call with the highest cost.
    fn most_expensive_call(&self, trace: TraceKind) -> Option<(usize, f64)> {
        let costs = self.trace(trace).iter().enumerate().filter_map(|(at, call)| Some((at, call.cost?)));
        costs.max_by(|one, other| one.1.total_cmp(&other.1)).filter(|(_, cost)| *cost > 0.0)
    }

    /// Describes the prompt of a call and its share of the window.
    fn describe_prompt(&self, trace: TraceKind, call: usize) -> String {
        let own = &self.trace(trace)[call];
        let share = self.window().map(|window| format!(" ({})", format_ratio(own.expected / window)));
        format!("{}{} at call {}", format_prompt_tokens(own), share.unwrap_or_default(), format_ordinal(call))
    }

    /// Describes the course of a trace: its start, each fall and overflow, its end.
    fn describe_course(&self, trace: TraceKind) -> Vec<String> {
        let turns = self.turning_points(trace);
        let tell = |turn: &TurningPoint| {
            let when = self
                .calls()
                .get(turn.call)
                .and_then(|call| format_displayed_timestamp(call.started))
                .unwrap_or_default();
            format!("  {} {when}: {}.", format_ordinal(turn.call), turn.text)
        };
        let left_out = turns.len().saturating_sub(MAX_TURNING_POINTS);
        if left_out == 0 {
            return turns.iter().map(tell).collect();
        }
        let (head, tail) = (MAX_TURNING_POINTS / 2, turns.len() - MAX_TURNING_POINTS / 2);
        let mut lines: Vec<String> = turns[..head].iter().map(tell).collect();
        lines.push(format!("  … {} not shown …", quantity(left_out, "turn")));
        lines.extend(turns[tail..].iter().map(tell));
        lines
    }

    fn turning_points(&self, trace: TraceKind) -> Vec<TurningPoint> {
        let calls = self.trace(trace);
        let least = self.window().unwrap_or_else(|| self.peak_tokens()) * MIN_FALL;
        let mut turns = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| calls[before].expected);
            let fell = before.is_some_and(|before| before - call.expected > least);
            let ends = at == 0 || at + 1 == calls.len();
            if ends || fell || call.overflowed || call.compacted.is_some() {
                turns.push(TurningPoint {
                    call: at,
                    text: describe_turning_point(call, before.map(Tokens::get)),
                });
            }
        }
        turns
    }

    /// Describes the long pauses, the longest first.
    fn describe_pauses(&self) -> String {
        let least = format_duration(self.min_gap_ms());
        let mut gaps: Vec<Gap> = self.gaps().collect();
        gaps.sort_by(|one, other| other.duration_ms.total_cmp(&one.duration_ms));
        if gaps.is_empty() {
            return format!("No pause lasts {least} or longer.");
        }
        let reported = gaps.iter().take(MAX_PAUSES).map(|gap| {
            format!("{} before call {}", format_duration(gap.duration_ms), format_ordinal(gap.call))
        });
        let more = if gaps.len() > MAX_PAUSES { ", and shorter ones" } else { "" };
        let words = reported.collect::<Vec<_>>().join(", ");
        let prunes = match (self.ttl_ms().is_finite(), gaps.iter().filter(|gap| gap.prunes).count()) {
            (false, _) => String::new(),
            (true, 0) => format!(" None reaches the pruning ttl of {}.", format_duration(self.ttl_ms())),
            (true, some) => {
                format!(
                    " Pauses that reach the pruning ttl of {}: {}.",
                    format_duration(self.ttl_ms()),
                    format_number(some as u64)
                )
            }
        };
        format!("{} of {least} or longer: {words}{more}.{prunes}", quantity(gaps.len(), "pause"))
    }
}

/// Describes a turning point: the prompt, and why it is smaller or does not fit.
fn describe_turning_point(call: &CallReplay, before: Option<f64>) -> String {
    let mut words = format_prompt_tokens(call);
    let mut add = |there: bool, text: String| {
        if there {
            words.push_str(", ");
            words.push_str(&text);
        }
    };
    if let Some(done) = &call.compacted {
        let why = if done.by_overflow { "compacted after an overflow" } else { "compacted" };
        add(true, format!("{why} from {}", describe_tokens_before(call, done)));
    } else if let Some(before) = before.filter(|before| *before > call.expected.get()) {
        add(true, format!("down from {}", format_number(before.round() as u64)));
    }
    add(call.truncated.is_some(), "large results cut".to_owned());
    add(call.cleared_count() > 0, format!("{} cleared", quantity(call.cleared_count() as usize, "message")));
    add(call.trimmed_count() > 0, format!("{} trimmed", quantity(call.trimmed_count() as usize, "message")));
    add(call.overflowed, if call.has_size() { "does not fit" } else { "refused" }.to_owned());
    add(call.failed, "no answer".to_owned());
    if let Some(done) = &call.compacted_after {
        add(true, format!("compacted after it from {}", describe_tokens_before(call, done)));
    }
    words
}

fn describe_tokens_before(call: &CallReplay, done: &CompactionEvent) -> String {
    let before = done.tokens_before_or_estimate(call.expected);
    format_tokens(before.tokens, before.is_estimate)
}

/// Formats the tokens of a prompt, with `~` if estimated by rule.
fn format_prompt_tokens(call: &CallReplay) -> String {
    if !call.has_size() {
        return "a prompt of unknown size".to_owned();
    }
    format_tokens(call.expected, call.is_estimate())
}

fn format_tokens(tokens: Tokens, estimated: bool) -> String {
    let sign = if estimated { "~" } else { "" };
    format!("{sign}{} tokens", format_number(round_tokens(tokens)))
}

fn format_period(first: &ModelCall, last: &ModelCall) -> String {
    let at = |call: &ModelCall| {
        format_displayed_timestamp(call.started).unwrap_or_else(|| "an unknown time".to_owned())
    };
    format!("{} to {}", at(first), at(last))
}
