//! Below the settings of a policy: its description and its effect. For a compaction also its trigger, its cut, its
//! losses and its result; for the pruner its gate.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::app::App;
use crate::app::compaction_marker::CompactionMarker;
use crate::format::{
    format_estimated_usd, format_number, format_short, format_short_estimate, minute, quantity,
};
use crate::policy::{Fate, Policy};
use crate::report::compaction::{CompactionView, TurnSplit};
use crate::session::LoadedSession;
use crate::ui::session_columns;
use crate::ui::theme::{Role, Theme};
use crate::ui::tuning::facts::gate_verdict;
use crate::ui::widgets::{put, put_facts};
use crate::units::Tokens;

/// A label and groups of words; a group that does not fit is omitted.
type FactLine<'a> = (&'static str, Vec<Vec<Span<'a>>>);

/// Columns of the labels.
const LABEL: u16 = 10;

/// Returns the description of a policy.
fn description(policy: Policy) -> &'static str {
    match policy {
        Policy::Compact => "Replaces old messages with a summary; keeps the newest word for word.",
        Policy::Truncate => "Cuts tool results above a share of the window, in the transcript itself.",
        Policy::Repair => "Drops unpaired tool results and stubs missing ones.",
        Policy::History => "Sends only the last user turns and everything after them.",
        Policy::Images => "Images the model has already seen become a short note.",
        Policy::Reduce => "Cuts tool results until all of them together fit a budget.",
        Policy::Check => "Checks each prompt against the window minus the reserve before sending it.",
        Policy::Prune => "Trims old tool results, then clears them, once the ttl is over.",
        Policy::Guard => "Cuts tool results to their share of the window in every call.",
        Policy::Clear => "Above a trigger, clears the oldest tool uses and keeps the newest.",
    }
}

/// Draws what the focused policy does and did, if its settings leave room, the most important lines first.
pub(super) fn draw(app: &App, theme: &Theme, area: Rect, buf: &mut Buffer) {
    let policy = app.tuning.policy;
    // A blank line separates it from the settings.
    let gap = u16::from(!app.tuning.policy_rows().is_empty());
    let end = area.right().saturating_sub(1);
    for (y, (label, facts)) in (area.y + gap..area.bottom()).zip(lines(app, policy, theme)) {
        put(buf, (area.x + 3, y), area.x + 2 + LABEL, label, theme.style(Role::Muted));
        put_facts(buf, (area.x + 3 + LABEL, y), end, &facts);
    }
}

fn lines<'a>(app: &App, policy: Policy, theme: &Theme) -> Vec<FactLine<'a>> {
    let rule = vec![Span::styled(policy.rule(), theme.style(Role::Muted))];
    let mut lines: Vec<FactLine> = vec![
        (policy.word(), vec![vec![Span::styled(description(policy), theme.style(Role::Text))], rule]),
        ("effect", effect(app, policy, theme)),
    ];
    let Some(session) = app.displayed_session() else { return lines };
    if !policy.is_supported_by(session.ruleset.id.rules()) {
        let words = format!("{} has no such policy", session.ruleset.id.display_name());
        lines.push(("version", vec![vec![Span::styled(words, theme.style(Role::Warn))]]));
    }
    match policy {
        Policy::Compact => lines.extend(compaction(app, session, theme)),
        Policy::Prune => lines.extend(gate(app, session, theme)),
        Policy::Check => lines.extend(check(app, theme)),
        _ => {}
    }
    lines
}

/// Returns the effect in the plan, or why there is none.
fn effect<'a>(app: &App, policy: Policy, theme: &Theme) -> Vec<Vec<Span<'a>>> {
    let muted = theme.style(Role::Muted);
    let reported =
        app.preview.plan.as_ref().and_then(|plan| plan.effects.iter().find(|effect| effect.policy == policy));
    let Some(effect) = reported else {
        let words = match app.tuning.is_policy_on(policy) {
            true if app.preview.left_out.has(policy) => "not due before this call",
            true if app.preview.details_failed => "cannot read the texts that it needs",
            true => "reading the texts that it needs…",
            false => "off",
        };
        return vec![vec![Span::styled(words, muted)]];
    };
    if !effect.changed {
        return vec![vec![Span::styled("changes nothing here", muted)]];
    }
    let messages = format!(
        "{} {} {}",
        effect.messages_before,
        session_columns::ARROW,
        quantity(effect.messages_after as u64, "message")
    );
    let mut facts = vec![vec![Span::styled(messages, muted)]];
    for fate in Fate::ALL.into_iter().filter(|fate| fate.is_change() && effect.count(*fate) > 0) {
        let words = format!(" {} {}", effect.count(fate), fate.word());
        facts.push(vec![
            Span::styled(fate.sign(), theme.fate(fate)),
            Span::styled(words, theme.style(Role::Text)),
        ]);
    }
    facts
}

/// Returns the result of the preflight check.
fn check<'a>(app: &App, theme: &Theme) -> Option<FactLine<'a>> {
    let checked = app.preview.plan.as_ref()?.checked?;
    let role = if checked.route == crate::policy::preflight::Route::Fits { Role::Text } else { Role::Warn };
    let words = format!(
        "{} of {}: {}",
        format_short_estimate(checked.estimate.whole()),
        format_short(checked.prompt_limit.whole()),
        checked.description()
    );
    Some(("check", vec![vec![Span::styled(words, theme.style(role))]]))
}

fn gate<'a>(app: &App, session: &LoadedSession, theme: &Theme) -> Option<FactLine<'a>> {
    let gate = app.tuning.gate_now(session, app.call_time_ms());
    let why = session.describe_closed_gate(gate)?;
    let words = format!("{}: {why}", gate_verdict(app, gate));
    Some(("now", vec![vec![Span::styled(words, theme.style(Role::Warn))]]))
}

/// Returns the lines of a compaction, the most important first, because small screens show only the first ones.
fn compaction<'a>(app: &App, session: &LoadedSession, theme: &Theme) -> Vec<FactLine<'a>> {
    let mut lines = vec![trigger(app, session, theme)];
    let on = app.preview.plan.as_deref().filter(|plan| plan.settings.enabled.has(Policy::Compact));
    let Some(plan) = on else { return lines };
    let (Some(cut), Some(view)) = (CompactionMarker::from_plan(session, plan), session.compaction_view(plan))
    else {
        let words = "Nothing to compact: the branch ends in a compaction, or is empty.";
        lines.push(("cut", vec![vec![Span::styled(words, theme.style(Role::Muted))]]));
        return lines;
    };
    lines.push(tokens(&cut, theme));
    lines.push(cut_at(session, &cut, theme));
    lines.extend(calls(app, theme));
    lines.extend(split(&view, theme));
    if cut.lost_messages > 0 {
        let words = format!(
            "{}, {}: kept by the previous compaction, neither kept nor summarised by this one",
            quantity(cut.lost_messages as u64, "message"),
            format_short_estimate(cut.lost_tokens)
        );
        lines.push(("lost", vec![vec![Span::styled(words, theme.style(Role::Warn))]]));
    }
    lines
}

/// Returns whether the compaction would start now.
fn trigger<'a>(app: &App, session: &LoadedSession, theme: &Theme) -> FactLine<'a> {
    let settings = app.tuning.policy_settings(session).compaction;
    let trigger = session.compaction_trigger_with(&settings);
    let muted = theme.style(Role::Muted);
    let tokens = |tokens: Tokens| format_short(tokens.whole());
    let (words, role) = match (trigger.tokens, session.measured) {
        _ if !settings.enabled => ("never automatically: compaction is off".to_owned(), Role::Text),
        (Some(counted), _) if trigger.fires => (
            format!("would start now: the last call had {} tokens", format_number(counted.get() as i64)),
            Role::Warn,
        ),
        (Some(counted), _) => {
            let left = trigger.threshold - counted;
            (
                format!(
                    "not yet: {} tokens, {} to go",
                    format_number(counted.get() as i64),
                    format_number(left.get() as i64)
                ),
                Role::Text,
            )
        }
        (None, Err(why)) => (format!("unknown: {}", why.label()), Role::Text),
        (None, Ok(_)) => ("unknown: no usage recorded".to_owned(), Role::Text),
    };
    let above = format!(
        "above {}: window {} − reserve {}",
        tokens(trigger.threshold),
        tokens(session.window.tokens),
        tokens(settings.reserve_tokens)
    );
    ("trigger", vec![vec![Span::styled(words, theme.style(role))], vec![Span::styled(above, muted)]])
}

fn tokens<'a>(cut: &CompactionMarker, theme: &Theme) -> FactLine<'a> {
    let muted = theme.style(Role::Muted);
    let before = cut.summarised_tokens + cut.lost_tokens + cut.kept_tokens;
    let after = cut.summary_tokens + cut.kept_tokens;
    let becomes = vec![
        Span::styled(format_short_estimate(before), theme.style(Role::Text)),
        Span::styled(format!(" {} ", session_columns::ARROW), muted),
        Span::styled(format_short_estimate(after), theme.bold(Role::Plan)),
    ];
    let summary = format!("including an assumed summary of {}", format_short_estimate(cut.summary_tokens));
    ("tokens", vec![becomes, vec![Span::styled(summary, muted)]])
}

fn cut_at<'a>(session: &LoadedSession, cut: &CompactionMarker, theme: &Theme) -> FactLine<'a> {
    let muted = theme.style(Role::Muted);
    let entry = session.index.entry(cut.first_kept_entry);
    let at = minute(entry.time_ms).map_or_else(String::new, |at| format!("at {at}"));
    let above = vec![
        Span::styled(Fate::Summarised.sign(), theme.fate(Fate::Summarised)),
        Span::styled(
            format!(
                " {} summarised, {}",
                quantity(cut.summarised_messages as u64, "message"),
                format_short_estimate(cut.summarised_tokens)
            ),
            theme.style(Role::Text),
        ),
    ];
    let kept = session.context.messages.len() - cut.first_kept_message;
    let below =
        format!("{} kept, {}", quantity(kept as u64, "message"), format_short_estimate(cut.kept_tokens));
    let at = if at.is_empty() { Vec::new() } else { vec![Span::styled(at, theme.style(Role::Text))] };
    ("cut", vec![at, above, vec![Span::styled(below, muted)]])
}

/// Returns number, sizes and cost of the summary's calls.
fn calls<'a>(app: &App, theme: &Theme) -> Option<FactLine<'a>> {
    let muted = theme.style(Role::Muted);
    let facts = match app.summary_calls()? {
        None => vec![vec![Span::styled("reading the messages to summarise…", muted)]],
        Some(Err(why)) => vec![vec![Span::styled(why.to_string(), theme.style(Role::Warn))]],
        Some(Ok(reported)) => {
            let cost = reported
                .cost
                .map_or_else(|| format!("{} no price", session_columns::UNKNOWN), format_estimated_usd);
            let mut facts = vec![
                vec![Span::styled(quantity(reported.calls, "call"), theme.style(Role::Text))],
                vec![Span::styled(cost, theme.bold(Role::Warn))],
                vec![Span::styled(
                    format!(
                        "{} in, {} out",
                        format_short_estimate(reported.input_tokens),
                        format_short_estimate(reported.output_tokens)
                    ),
                    theme.style(Role::Text),
                )],
            ];
            if reported.calls > 1 {
                facts.push(vec![Span::styled(
                    format!("largest call {} in", format_short_estimate(reported.largest_input)),
                    muted,
                )]);
            }
            facts
        }
    };
    Some(("calls", facts))
}

fn split<'a>(view: &CompactionView, theme: &Theme) -> Option<FactLine<'a>> {
    let messages = quantity(view.turn_prefix.messages, "message");
    let (words, role) = match (view.split, view.turn_prefix.messages) {
        (TurnSplit::None, _) => return None,
        (_, 0) => {
            ("counted as a split turn, although none of the turn is above the cut".to_owned(), Role::Text)
        }
        (TurnSplit::Turn, _) => {
            (format!("the cut splits a turn; {messages} of it get a separate summary"), Role::Text)
        }
        (TurnSplit::Misdetected, _) => (
            format!("not a real split: the whole previous turn, {messages}, gets a separate summary"),
            Role::Warn,
        ),
    };
    Some(("split", vec![vec![Span::styled(words, theme.style(role))]]))
}
