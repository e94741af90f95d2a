//! The policies of a plan: which are on, what each does, and the result of a compaction among them.

use super::failure::Failure;
use super::format::{format_count, format_estimate, format_number};
use super::output::{Output, Tone};
use super::preview::{Preview, SummaryLength, format_value};
use super::session_output::number_value;
use super::summary::{gateway_calls_value, print_gateway_calls};
use super::table::{Align, Cell, Table};
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Unit;
use crate::gateway::ruleset::Compaction;
use crate::js::{Object, Value};
use crate::plan::PolicyEffect;
use crate::policy::clear_tool_uses::ClearedBy;
use crate::policy::policy_set::Phase;
use crate::policy::preflight::{PreflightResult, Route};
use crate::policy::settings::{SettingId, SettingOwner};
use crate::policy::{Fate, Policy};
use crate::report::compaction::{CompactionTrigger, CompactionView, MessageTotals, Split};

pub(super) fn describe_check(checked: &PreflightResult) -> String {
    let [estimate, room] =
        [checked.estimate, checked.prompt_limit].map(|tokens| format_number(tokens as u64));
    let over = match checked.route {
        Route::Fits => String::new(),
        _ => format!(", {} too many", format_number(checked.overflow as u64)),
    };
    format!("Check before the prompt: ~{estimate} of {room} tokens{over}; {}.", checked.route.description())
}

/// Returns the preflight check as JSON; null if no check runs.
pub(super) fn check_value(preview: &Preview) -> Value {
    let Some(checked) = &preview.plan.checked else { return Value::Null };
    Value::from(Object::from([
        ("route", Value::from(checked.route.as_str())),
        ("estimatedTokens", Value::from(checked.estimate)),
        ("roomTokens", Value::from(checked.prompt_limit)),
        ("overTokens", Value::from(checked.overflow)),
        ("reserveTokens", Value::from(checked.reserve)),
        ("reducibleChars", Value::from(checked.reducible_chars)),
    ]))
}

fn moment_name(moment: Phase) -> &'static str {
    match moment {
        Phase::Transcript => "written",
        Phase::Run => "each run",
        Phase::Call => "each call",
    }
}

/// Prints one line per policy, then the settings of all policies except the pruner's.
pub(super) fn print(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("step", Align::Left),
        ("when", Align::Left),
        ("messages", Align::Right),
        ("", Align::Right),
        ("tokens", Align::Right),
        ("", Align::Right),
        ("does", Align::Flexible),
    ]);
    for effect in &preview.plan.effects {
        let moved = effect.tokens_before != effect.tokens_after;
        let after = |text: String, moved: bool| if moved { format!("→ {text}") } else { String::new() };
        table.push(vec![
            effect.policy.word().into(),
            Cell::new(moment_name(effect.policy.phase()), Tone::Dim),
            format_number(effect.messages_before as u64).into(),
            after(
                format_number(effect.messages_after as u64),
                effect.messages_before != effect.messages_after,
            )
            .as_str()
            .into(),
            format_estimate(effect.tokens_before).into(),
            after(format_estimate(effect.tokens_after), moved).as_str().into(),
            Cell::new(&describe_effect(effect), if effect.changed { Tone::Plain } else { Tone::Dim }),
        ]);
    }
    table.print(output, "  ")?;
    if let Some(checked) = &preview.plan.checked {
        output.line(Tone::Plain, "")?;
        let tone = if checked.route == Route::Fits { Tone::Plain } else { Tone::Warning };
        output.line(tone, &format!("  {}", describe_check(checked)))?;
    }
    print_settings(preview, output)?;
    print_server(preview, output)?;
    print_compaction(preview, output)
}

fn describe_effect(effect: &PolicyEffect) -> String {
    let counts = Fate::ALL.iter().filter(|fate| fate.is_change()).map(|fate| (fate, effect.count(*fate)));
    let words: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(fate, count)| format!("{} {count} {}", fate.sign(), fate.word()))
        .collect();
    match (words.is_empty(), effect.changed) {
        (false, _) => words.join("   "),
        (true, true) if effect.policy == Policy::Repair => "moves, renames or adds results".to_owned(),
        (true, true) => "replaces messages by the same bytes".to_owned(),
        (true, false) => "nothing to do".to_owned(),
    }
}

fn print_settings(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    if preview.simulated.policy_rows.is_empty() {
        return Ok(());
    }
    output.line(Tone::Plain, "")?;
    let mut table =
        Table::new(&[("setting", Align::Left), ("value", Align::Right), ("from", Align::Flexible)]);
    for row in &preview.simulated.policy_rows {
        let unit = row.setting.setting.control.unit().filter(|unit| *unit != Unit::Milliseconds);
        let value = match row.value.as_str() {
            Some(text) => text.to_string_lossy(),
            None => format_value(unit, &row.value),
        };
        let tone = if row.provenance == Provenance::Flag { Tone::Warning } else { Tone::Plain };
        let made = row.setting.setting.id == SettingId::SummaryTokens
            && matches!(preview.summary_length, SummaryLength::Generated(_));
        let from = match (&row.provenance, &row.setting.owner) {
            (Provenance::Default, SettingOwner::BuiltIn) => "built into the gateway".to_owned(),
            (Provenance::Default, SettingOwner::Server) => "asked of the provider's server".to_owned(),
            (Provenance::Default, SettingOwner::Client) => "default of the client".to_owned(),
            (Provenance::Default, SettingOwner::Preview) if row.setting.policy == Policy::History => {
                "no channel of this key has a limit".to_owned()
            }
            (Provenance::Default, SettingOwner::Preview) if row.setting.policy == Policy::Clear => {
                "assumed: the server has a text of its own".to_owned()
            }
            (_, SettingOwner::Preview) if made => preview.summary_length.describe(),
            (Provenance::Default, SettingOwner::Preview) => preview.summary_length.describe(),
            (provenance, _) => provenance.to_string(),
        };
        table.push(vec![row.setting.key().into(), Cell::new(&value, tone), Cell::new(&from, Tone::Dim)]);
    }
    Ok(table.print(output, "  ")?)
}

/// Notes that clearing is an estimate where the provider's server does it.
fn print_server(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    let policies = &preview.simulated.policies;
    if !policies.enabled.has(Policy::Clear) || policies.clear.cleared_by == ClearedBy::Client {
        return Ok(());
    }
    let words = "clearing is an estimate: the provider's server does it where the key is one of its API, and counts by \
                 itself (pruning 7.10)";
    Ok(output.line(Tone::Dim, words)?)
}

fn print_compaction(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    if !preview.simulated.policies.enabled.has(Policy::Compact) {
        return Ok(());
    }
    let session = &preview.inspection;
    output.line(Tone::Plain, "")?;
    let Some(view) = session.compaction_view(&preview.plan) else {
        let words = match session.ruleset.id.rules().compaction {
            Compaction::AfterPrevious => {
                "compaction: nothing to do: the branch ends in a compaction, or is empty (compaction 3.1)"
            }
            Compaction::FromFirstKept => {
                "compaction: nothing to do: no message stands before the newest, which are kept (compaction 12)"
            }
            Compaction::EntriesFromKept | Compaction::Projected => {
                "compaction: nothing to do: the branch ends in a compaction, or nothing stands before the newest messages, which are kept (store-pi-1.5 H1, H8)"
            }
        };
        return Ok(output.line(Tone::Strong, words)?);
    };
    let name = session.index.display_id(view.first_kept);
    output.line(Tone::Strong, &format!("compaction: cuts before {name}"))?;
    output
        .line(if view.trigger.fires { Tone::Warning } else { Tone::Dim }, &describe_trigger(&view.trigger))?;
    for (part, words) in compaction_parts(&view) {
        if part.messages > 0 {
            let messages = format_count(part.messages, "message", "messages");
            output.line(
                Tone::Plain,
                &format!("  {messages}, {} tokens, {words}", format_estimate(part.tokens)),
            )?;
        }
    }
    for (tone, words) in remarks(&view, &preview.summary_length) {
        output.line(tone, &format!("  {words}"))?;
    }
    print_gateway_calls(preview, output)
}

fn describe_trigger(trigger: &CompactionTrigger) -> String {
    let threshold = format_number(trigger.threshold.max(0.0) as u64);
    match trigger.tokens {
        None => "  no answer has a usage yet, so nothing fires it (compaction 2.11)".to_owned(),
        Some(tokens) => {
            let fires = if trigger.fires { "would fire now" } else { "would not fire now" };
            let tokens = format_number(tokens.max(0.0) as u64);
            format!(
                "  {fires}: the last answer counted {tokens}, the threshold is {threshold} (compaction 2.7)"
            )
        }
    }
}

fn compaction_parts(view: &CompactionView) -> [(MessageTotals, &'static str); 5] {
    [
        (view.previous, "the summary before, taken up into the new one (compaction 3.12)"),
        (view.history, "summarised (compaction 3.11)"),
        (view.turn_prefix, "summarised as the beginning of a turn (compaction 3.8)"),
        (view.kept, "kept (compaction 3.6)"),
        (
            view.lost,
            "lost: kept by the compaction before, neither kept nor summarised by this one (compaction 3.3)",
        ),
    ]
}

fn remarks(view: &CompactionView, length: &SummaryLength) -> Vec<(Tone, String)> {
    let tokens = format_number(view.summary_tokens);
    let mut remarks = vec![match length {
        SummaryLength::Generated(writer) => {
            (Tone::Plain, format!("the summary that was made has ~{tokens} tokens ({writer})"))
        }
        _ => (
            Tone::Dim,
            format!(
                "the summary is taken to have {tokens} tokens; --set compaction.summaryTokens tells another length, \
                 --summary makes it"
            ),
        ),
    }];
    if view.split == Split::Misdetected {
        let words = "the cut stands between two turns, but an entry before the person's message makes the runtime \
                     summarise the turn before as a split one (compaction 3.8c)";
        remarks.push((Tone::Warning, words.to_owned()));
    }
    remarks
}

pub(super) fn policies_value(preview: &Preview) -> Value {
    let policy = |effect: &PolicyEffect| {
        let fates =
            Fate::ALL.iter().map(|fate| (fate.word(), Value::from(effect.count(*fate)))).collect::<Object>();
        Value::from(Object::from([
            ("step", Value::from(effect.policy.word())),
            ("moment", Value::from(moment_name(effect.policy.phase()))),
            ("changed", Value::from(effect.changed)),
            ("messagesBefore", Value::from(effect.messages_before)),
            ("messagesAfter", Value::from(effect.messages_after)),
            ("tokensBefore", Value::from(effect.tokens_before)),
            ("tokensAfter", Value::from(effect.tokens_after)),
            ("fates", Value::from(fates)),
            ("settings", Value::from(policy_settings_value(preview, effect.policy))),
        ]))
    };
    Value::from(preview.plan.effects.iter().map(policy).collect::<Vec<_>>())
}

/// Returns the settings of a policy by key, with origin and reader; the pruner's are elsewhere.
fn policy_settings_value(preview: &Preview, policy: Policy) -> Object {
    let rows = preview.simulated.policy_rows.iter().filter(|row| row.setting.policy == policy);
    rows.map(|row| {
        let reader = match &row.setting.owner {
            SettingOwner::Gateway(path) => path.clone(),
            SettingOwner::Runtime { file, path, .. } => format!("{}: {path}", file.display()),
            SettingOwner::BuiltIn => "built in".to_owned(),
            SettingOwner::Client => "client".to_owned(),
            SettingOwner::Server => "server".to_owned(),
            SettingOwner::Preview => "preview".to_owned(),
        };
        let value = Object::from([
            ("value", row.value.clone()),
            ("from", Value::from(row.provenance.to_string())),
            ("reader", Value::from(reader)),
        ]);
        (row.setting.key(), Value::from(value))
    })
    .collect()
}

/// Returns the compaction as JSON; null if the policy is off or has nothing to compact.
pub(super) fn compaction_value(preview: &Preview) -> Result<Value, Failure> {
    let Some(view) = preview.inspection.compaction_view(&preview.plan) else { return Ok(Value::Null) };
    let part = |part: MessageTotals| {
        Value::from(Object::from([("messages", part.messages), ("tokens", part.tokens)]))
    };
    let trigger = Object::from([
        ("tokens", view.trigger.tokens.map_or(Value::Null, number_value)),
        ("threshold", number_value(view.trigger.threshold)),
        ("fires", Value::from(view.trigger.fires)),
    ]);
    Ok(Value::from(Object::from([
        ("trigger", Value::from(trigger)),
        ("firstKept", Value::from(preview.inspection.index.display_id(view.first_kept))),
        ("split", Value::from(view.split.as_str())),
        ("previousSummary", part(view.previous)),
        ("history", part(view.history)),
        ("turnPrefix", part(view.turn_prefix)),
        ("kept", part(view.kept)),
        ("lost", part(view.lost)),
        ("tokensBefore", number_value(view.tokens_before)),
        ("summaryTokens", Value::from(view.summary_tokens)),
        ("summaryFrom", Value::from(preview.summary_length.word())),
        ("calls", gateway_calls_value(preview)?),
        ("tokensAfter", Value::from(view.tokens_after)),
    ])))
}
