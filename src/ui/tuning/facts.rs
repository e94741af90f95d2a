//! The effect of the policies that are on: the pruner's gate, tokens saved, messages per fate, cost of the next call.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use super::at_rest;
use crate::app::App;
use crate::app::action::Action;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::target::{ReplayOutcome, Target};
use crate::format::{
    format_amount, format_estimated_usd, format_estimated_usd_difference, format_number,
    format_short_estimate, format_short_tokens,
};
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::{Fate, Policy};
use crate::session::setting_change::SettingChange;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::{put, put_facts_right, put_spans, spans_width};

/// Words that are shown together or not at all.
type Fact<'a> = Vec<Span<'a>>;

/// Draws the line of the narrowest layout from a column on: why pruning waits, and the effect of the plan where it fits.
pub(super) fn draw_beside_policies(
    app: &App,
    theme: &Theme,
    (from, y): (u16, u16),
    end: u16,
    buf: &mut Buffer,
) {
    let x = gate(app, theme, (from, y), end, buf);
    put_facts_right(buf, y, x + 1, end, &[title_facts(app, theme, false)]);
}

/// Draws the line below the title: the gate on the left, the effect of the plan on the right. The title already shows
/// the tokens saved.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let Some(plan) = &app.preview.plan else {
        at_rest::draw(app, theme, Rect { y: area.y - 1, height: 2, ..area }, buf);
        return;
    };
    let end = area.right().saturating_sub(1);
    let mut facts = unused_changes(app, theme);
    if let Some(target) = target(app, theme) {
        facts.extend(target);
    } else {
        facts.extend(counts(plan, theme, true));
        facts.extend(next_call(app, theme));
    }
    let width: u16 = facts.iter().map(|fact| spans_width(fact) + 3).sum();
    let x = gate(app, theme, (area.x, area.y), end.saturating_sub(width), buf);
    put_facts_right(buf, area.y, x + 2, end, &facts);
}

/// Returns the facts for the title: a short status, or all facts where they have no separate line.
pub(super) fn title_facts<'a>(app: &App, theme: &Theme, wide: bool) -> Fact<'a> {
    let muted = theme.style(Role::Muted);
    let Some(plan) = &app.preview.plan else {
        let words = if app.tuning.has_changes() { "changed, not previewed" } else { "no changes" };
        return vec![Span::styled(words, muted)];
    };
    let own_line = !app.layout().tuning_facts.is_empty();
    if own_line && app.target == Target::WholeSession {
        return Vec::new();
    }
    if own_line {
        return match reading_status(app, theme) {
            Some(words) => vec![words],
            None => saved(app, plan, theme),
        };
    }
    plan_facts(app, plan, theme, wide).join(&Span::raw("   "))
}

/// Returns a note while message texts are read, or if reading failed.
fn reading_status<'a>(app: &App, theme: &Theme) -> Option<Span<'a>> {
    if app.preview.waiting_policies.is_empty() {
        return None;
    }
    let failed = app.preview.details_failed;
    let words = if failed { "texts cannot be read" } else { "reading texts…" };
    Some(Span::styled(words, theme.style(if failed { Role::Danger } else { Role::Warn })))
}

fn saved<'a>(app: &App, plan: &Plan, theme: &Theme) -> Fact<'a> {
    let before = app.preview.totals.current.total();
    let after = app.preview.totals.after.map_or(before, |after| after.total());
    let muted = theme.style(Role::Muted);
    match before.checked_sub(after) {
        Some(0) if plan.is_empty() => vec![Span::styled("nothing changes", muted)],
        Some(freed) => {
            vec![
                Span::styled("frees ", muted),
                Span::styled(format_short_estimate(freed), theme.bold(Role::Plan)),
            ]
        }
        // Invented results or a long summary may make the prompt larger.
        None => {
            vec![
                Span::styled("adds ", muted),
                Span::styled(format_short_estimate(after - before), theme.bold(Role::Warn)),
            ]
        }
    }
}

/// Returns the effect of the plan; narrow layouts show only signs and counts.
fn plan_facts<'a>(app: &App, plan: &Plan, theme: &Theme, wide: bool) -> Vec<Fact<'a>> {
    let mut facts: Vec<Fact> = Vec::new();
    facts.extend(reading_status(app, theme).map(|words| vec![words]));
    if plan.is_empty() && app.target == Target::NextCall {
        // Policies that wait for texts may still change the result.
        if facts.is_empty() {
            facts.push(saved(app, plan, theme));
        }
        return facts;
    }
    if let Some(target) = target(app, theme) {
        facts.extend(target);
        return facts;
    }
    if wide {
        facts.push(saved(app, plan, theme));
    }
    facts.extend(counts(plan, theme, wide));
    facts.extend(next_call(app, theme).filter(|_| wide));
    facts
}

/// Returns changed settings that belong to no policy.
fn unused_changes<'a>(app: &App, theme: &Theme) -> Vec<Fact<'a>> {
    let fact = |change: &SettingChange| {
        let value = change.value.as_f64().map_or_else(String::new, |value| format_number(value as i64));
        vec![
            Span::styled(format!("{} ", change.key()), theme.style(Role::Muted)),
            Span::styled(value, theme.bold(Role::Plan)),
        ]
    };
    app.tuning.assumed_changes.iter().map(fact).collect()
}

/// Returns the replay's result for the target; `None` for the next call.
fn target<'a>(app: &App, theme: &Theme) -> Option<Vec<Fact<'a>>> {
    if app.target == Target::NextCall {
        return None;
    }
    let muted = |words: &str| Span::styled(words.to_owned(), theme.style(Role::Muted));
    let Some(ReplayOutcome { recorded, tuned: Some(tuned) }) =
        app.replay_outcome().filter(|_| !app.replay_state.is_stale())
    else {
        return Some(vec![vec![muted(&format!("replaying the {}…", app.target.label()))]]);
    };
    let plan = theme.bold(Role::Plan);
    let arrow = |before: String, after: Span<'a>| {
        vec![Span::styled(before, theme.style(Role::Text)), muted(" → "), after]
    };
    let mut facts: Vec<Fact> = Vec::new();
    if app.target == Target::FailedCall {
        let (Some(before), Some(after)) = (recorded.failing_call_tokens, tuned.failing_call_tokens) else {
            return Some(facts);
        };
        let mut fact = arrow(
            format_short_tokens(before, recorded.failing_call_measured),
            Span::styled(format_short_tokens(after, tuned.failing_call_measured), plan),
        );
        fact.insert(0, muted("failed call "));
        facts.push(fact);
        let (words, role) =
            if tuned.failing_call_overflows { ("does not fit", Role::Danger) } else { ("fits", Role::Plan) };
        facts.push(vec![Span::styled(words, theme.bold(role))]);
        return Some(facts);
    }
    let role = if tuned.overflows == 0 { Role::Plan } else { Role::Danger };
    let after = Span::styled(tuned.overflows.to_string(), theme.bold(role));
    let mut overflows = arrow(recorded.overflows.to_string(), after);
    overflows.insert(0, muted("overflows "));
    let mut peak = arrow(
        format_short_tokens(recorded.peak_tokens, recorded.peak_measured),
        Span::styled(format_short_tokens(tuned.peak_tokens, tuned.peak_measured), plan),
    );
    peak.insert(0, muted("peak "));
    facts.extend([overflows, peak]);
    if let (Some(before), Some(after)) = (recorded.cost, tuned.cost) {
        let after = Span::styled(format_estimated_usd(after), plan);
        facts.push(arrow(format_amount(before, recorded.cost_is_estimated), after));
    }
    Some(facts)
}

/// Returns the change in the cost of the next call.
fn next_call<'a>(app: &App, theme: &Theme) -> Option<Fact<'a>> {
    let cost = app.preview.totals.cache_cost?;
    let role = if cost.next_call > 0.0 { Role::Warn } else { Role::Plan };
    let words = Span::styled("next call ", theme.style(Role::Muted));
    Some(vec![words, Span::styled(format_estimated_usd_difference(cost.next_call), theme.bold(role))])
}

/// Returns the changed messages per fate, and the messages that exist in no file.
fn counts<'a>(plan: &Plan, theme: &Theme, wide: bool) -> Vec<Fact<'a>> {
    let text = theme.style(Role::Text);
    let fact = |fate: Fate, count: usize| {
        let words = if wide { format!(" {count} {}", fate.word()) } else { format!(" {count}") };
        vec![Span::styled(fate.sign(), theme.fate(fate)), Span::styled(words, text)]
    };
    let strongest_first = Fate::ALL.into_iter().rev().filter(|fate| fate.is_change());
    let reported = strongest_first.map(|fate| (fate, plan.count(fate))).filter(|(_, count)| *count > 0);
    let mut facts: Vec<Fact> = reported.map(|(fate, count)| fact(fate, count)).collect();
    let made = plan.added_messages().count();
    if made > 0 {
        let words = if wide {
            format!("+{made} added {}", format_short_estimate(plan.tokens_added))
        } else {
            format!("+{made}")
        };
        facts.push(vec![Span::styled(words, text)]);
    }
    facts
}

/// Draws why the pruner would not run, or that the preview ignores this; shorter where there is less room, but never
/// without the reason.
pub(super) fn gate(app: &App, theme: &Theme, at: (u16, u16), end: u16, buf: &mut Buffer) -> u16 {
    let warn = theme.style(Role::Warn);
    if let Some(words) = compaction_words(app) {
        let short = spans_width(&[Span::raw(words.as_str())]) > end.saturating_sub(at.0);
        return put(buf, at, end, if short { " Not compacting " } else { &words }, warn);
    }
    let shown = app.preview.plan.is_some()
        && app.tuning.policy == Policy::Prune
        && app.tuning.is_policy_on(Policy::Prune)
        && app.target != Target::WholeSession;
    let Some(session) = app.displayed_session().filter(|_| shown) else {
        return at.0;
    };
    let gate = app.tuning.gate_now(session, app.call_time_ms());
    let Some(why) = session.describe_closed_gate(gate) else {
        // Among tabs the effect needs the whole line.
        if !app.layout().tabs.is_empty() {
            return at.0;
        }
        return put(buf, at, end, " Would prune now ", theme.style(Role::Muted));
    };
    let mut verdict = vec![Span::styled(format!(" {}: {why} ", gate_verdict(app, gate)), warn)];
    let short = vec![Span::styled(format!(" {why} "), warn)];
    let key = if app.target == Target::NextCall { gate_key(app, theme) } else { Vec::new() };
    verdict.extend(key);
    let forms = [&verdict[..], &verdict[..1], &short];
    let fits = |form: &&[Span]| spans_width(form) <= end.saturating_sub(at.0);
    put_spans(buf, at, end, forms.into_iter().find(fits).unwrap_or(&short))
}

/// Returns the key that shows the next call with or without pruning while the gate is closed.
fn gate_key<'a>(app: &App, theme: &Theme) -> Vec<Span<'a>> {
    let mut key = app.key_words(KeyContext::Tuning, Action::ToggleGate);
    if app.focus != Pane::Tuning {
        key = format!("{} {key}", app.key_words(KeyContext::Main, Action::FocusTuning));
    }
    let words = if app.tuning.respect_gates { ": prune anyway " } else { ": do not prune " };
    vec![
        Span::styled("\u{b7} ", theme.style(Role::Muted)),
        Span::styled(key, theme.bold(Role::Text)),
        Span::styled(words, theme.style(Role::Muted)),
    ]
}

/// Says whether the plan prunes despite a closed gate. Only a warm cache cools down without a change.
pub(super) fn gate_verdict(app: &App, gate: Gate) -> &'static str {
    match gate {
        _ if app.target == Target::FailedCall => "Not pruning",
        _ if !app.tuning.respect_gates => "Pruned anyway",
        Gate::Warm { .. } => "Won't prune yet",
        _ => "Won't prune",
    }
}

/// Says that the gateway would not compact right before the failed call; `None` if it would.
fn compaction_words(app: &App) -> Option<String> {
    let is_shown = app.preview.plan.is_some() && app.tuning.policy == Policy::Compact;
    let is_left_out = app.preview.left_out.has(Policy::Compact) && app.tuning.is_policy_on(Policy::Compact);
    let session = app.planned_session().filter(|_| is_shown && is_left_out)?;
    let (settings, windows) = (app.tuning.policy_settings(session), session.windows());
    let trigger = settings.compaction.trigger(windows.runtime, windows.gateway.tokens).tokens;
    Some(format!(
        " No compaction before this call: the trigger is {} ",
        format_short_tokens(trigger.whole(), true)
    ))
}
