//! The policies of a plan: those that are on, the effect of each, and the result of a compaction among them.

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::Failure;
use super::output::Output;
use super::preview::{Preview, SummaryLength, format_value};
use super::session_output::finite;
use super::summary::{GatewayCallsJson, gateway_calls, gateway_calls_json, print_gateway_calls};
use crate::doc::{Align, Cell, Table, Tone};
use crate::format::{format_count, format_estimate, format_number, format_ordinal};
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::Compaction;
use crate::gateway::setting_value::Unit;
use crate::js::{Members, Value};
use crate::plan::PolicyEffect;
use crate::policy::clear_tool_uses::ClearedBy;
use crate::policy::policy_set::Phase;
use crate::policy::preflight::{PreflightResult, Route};
use crate::policy::settings::{SettingId, SettingOwner};
use crate::policy::{Fate, Policy};
use crate::redact::{masked, masked_value};
use crate::report::compaction::{CompactionTrigger, CompactionView, MessageTotals, TurnSplit};
use crate::units::Tokens;
use crate::write::summary::job::describe_no_summary;

pub(super) fn describe_check(checked: &PreflightResult) -> String {
    let [estimate, room] =
        [checked.estimate, checked.prompt_limit].map(|tokens| format_number(tokens.whole()));
    let over = match checked.route {
        Route::Fits => String::new(),
        _ => format!(", {} too many", format_number(checked.overflow.whole())),
    };
    format!("Check before the prompt: ~{estimate} of {room} tokens{over}; {}.", checked.description())
}

fn moment_name(moment: Phase) -> &'static str {
    match moment {
        Phase::Transcript => "transcript",
        Phase::Run => "each run",
        Phase::Call => "each call",
    }
}

/// Prints one line per policy, then the settings of all policies except the pruner's.
pub(super) fn print(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("policy", Align::Left),
        ("when", Align::Left),
        ("messages", Align::Right),
        ("", Align::Right),
        ("tokens", Align::Right),
        ("", Align::Right),
        ("effect", Align::Left),
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
            Cell::new(
                &describe_effect(preview, effect),
                if effect.changed { Tone::Plain } else { Tone::Dim },
            ),
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

fn describe_effect(preview: &Preview, effect: &PolicyEffect) -> String {
    let counts = Fate::ALL.iter().filter(|fate| fate.is_change()).map(|fate| (fate, effect.count(*fate)));
    let words: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(fate, count)| format!("{} {count} {}", fate.sign(), fate.word()))
        .collect();
    match (words.is_empty(), effect.changed) {
        (false, _) => words.join("   "),
        (true, true) if effect.policy == Policy::Repair => "moves, renames or adds results".to_owned(),
        (true, true) if effect.policy == Policy::Compact => {
            format!("adds a summary of {} tokens", format_estimate(preview.plan.tokens_added))
        }
        (true, true) => "replaces messages with identical bytes".to_owned(),
        (true, false) => "nothing to do".to_owned(),
    }
}

fn print_settings(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    if preview.simulated.policy_rows.is_empty() {
        return Ok(());
    }
    output.line(Tone::Plain, "")?;
    let mut table = Table::new(&[("setting", Align::Left), ("value", Align::Right), ("from", Align::Left)]);
    for row in &preview.simulated.policy_rows {
        let unit = row.setting.setting.control.unit().filter(|unit| *unit != Unit::Milliseconds);
        let value = match row.value.as_str() {
            Some(text) => masked(&text.to_string_lossy()).into_owned(),
            None => format_value(unit, &row.value),
        };
        let tone = if row.provenance == Provenance::Flag { Tone::Warning } else { Tone::Plain };
        let made = row.setting.setting.id == SettingId::SummaryTokens
            && matches!(preview.summary_length, SummaryLength::Generated(_));
        let from = match (&row.provenance, &row.setting.owner) {
            (Provenance::Default, SettingOwner::BuiltIn) => "built into the gateway".to_owned(),
            (Provenance::Default, SettingOwner::Server) => "sent to the provider's server".to_owned(),
            (Provenance::Default, SettingOwner::Client) => "client default".to_owned(),
            (Provenance::Default, SettingOwner::Preview) if row.setting.policy == Policy::History => {
                "no limit for this session's channel".to_owned()
            }
            (Provenance::Default, SettingOwner::Preview) if row.setting.policy == Policy::Clear => {
                "assumed: the server uses its own text".to_owned()
            }
            (_, SettingOwner::Preview) if made => preview.summary_length.describe(),
            (Provenance::Default | Provenance::Rule { .. }, SettingOwner::Preview) => {
                preview.summary_length.describe()
            }
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
    let words = "clearing is an estimate: the provider's server clears where its API takes the setting, and counts \
                 tokens itself";
    Ok(output.line(Tone::Dim, words)?)
}

fn print_compaction(preview: &Preview, output: &mut Output) -> Result<(), Failure> {
    if !preview.simulated.policies.enabled.has(Policy::Compact) {
        return Ok(());
    }
    let session = &preview.session;
    output.line(Tone::Plain, "")?;
    let Some(view) = session.compaction_view(&preview.plan) else {
        let words = match session.ruleset.id.rules().compaction {
            Compaction::AfterPrevious => {
                "compaction: nothing to do: the branch ends in a compaction, or is empty"
            }
            Compaction::FromFirstKept => {
                "compaction: nothing to do: no message precedes the newest ones, which are kept"
            }
            Compaction::EntriesFromKept | Compaction::Projected => {
                "compaction: nothing to do: the branch ends in a compaction, or nothing precedes the newest messages, which are kept"
            }
        };
        return Ok(output.line(Tone::Strong, words)?);
    };
    let name = session.index.display_id(view.first_kept);
    let name = match session.context.position(view.first_kept) {
        Some(at) => format!("{} ({name})", format_ordinal(at)),
        None => name,
    };
    output.line(Tone::Strong, &format!("compaction: cuts before {name}"))?;
    let calls = gateway_calls(preview)?;
    if let Some(Err(why)) = &calls {
        output.line(Tone::Warning, &format!("  {}", describe_no_summary(why)))?;
    }
    output
        .line(if view.trigger.fires { Tone::Warning } else { Tone::Dim }, &describe_trigger(&view.trigger))?;
    for (part, words) in compaction_parts(&view) {
        if part.messages > 0 {
            output.line(Tone::Plain, &format!("  {} {words}", describe_messages(part)))?;
        }
    }
    if view.lost.messages > 0 {
        let words = format!(
            "  {} lost: the last compaction kept them, this one neither keeps nor summarises them",
            describe_messages(view.lost)
        );
        output.line(Tone::Warning, &words)?;
    }
    for (tone, words) in remarks(&view, &preview.summary_length) {
        output.line(tone, &format!("  {words}"))?;
    }
    match &calls {
        Some(Ok(calls)) => print_gateway_calls(preview, calls, output),
        _ => Ok(()),
    }
}

fn describe_trigger(trigger: &CompactionTrigger) -> String {
    let threshold = format_number(trigger.threshold.whole());
    match trigger.tokens {
        None => "  would not start now: no answer reports its tokens yet".to_owned(),
        Some(tokens) => {
            let fires = if trigger.fires { "would start now" } else { "would not start now" };
            let tokens = format_number(tokens.whole());
            format!("  {fires}: the last call had {tokens} tokens, the trigger is {threshold}")
        }
    }
}

/// Counts messages and their tokens: `31 messages (~19,171 tokens)`.
fn describe_messages(part: MessageTotals) -> String {
    let messages = format_count(part.messages, "message", "messages");
    format!("{messages} ({} tokens)", format_estimate(part.tokens))
}

fn compaction_parts(view: &CompactionView) -> [(MessageTotals, &'static str); 4] {
    [
        (view.previous, "the previous summary, merged into the new one"),
        (view.history, "summarised"),
        (view.turn_prefix, "summarised as the start of a turn"),
        (view.kept, "kept"),
    ]
}

fn remarks(view: &CompactionView, length: &SummaryLength) -> Vec<(Tone, String)> {
    let tokens = format_number(view.summary_tokens);
    let mut remarks = vec![match length {
        SummaryLength::Generated(writer) => {
            (Tone::Plain, format!("the generated summary has ~{tokens} tokens ({writer})"))
        }
        _ => (
            Tone::Dim,
            format!(
                "assuming a summary of {tokens} tokens; --set compaction.summaryTokens changes that, \
                 --with extractive writes one"
            ),
        ),
    }];
    if view.split == TurnSplit::Misdetected {
        let words = "the cut is between two turns, but an entry before the user's message makes the runtime \
                     summarise the previous turn as a split one";
        remarks.push((Tone::Warning, words.to_owned()));
    }
    remarks
}

/// A policy of the plan, with its effect.
#[derive(Serialize, JsonSchema)]
pub(super) struct PolicyJson {
    /// The policy.
    step: &'static str,
    /// The phase in which the gateway applies it.
    moment: &'static str,
    #[serde(flatten)]
    effect: PolicyEffect,
    /// Its settings, by key; the pruner's are elsewhere.
    settings: Members<PolicySettingJson>,
}

#[derive(Serialize, JsonSchema)]
struct PolicySettingJson {
    value: Value,
    /// The origin of the value.
    from: String,
    /// The reader of the setting.
    reader: String,
}

pub(super) fn policies_json(preview: &Preview) -> Vec<PolicyJson> {
    let policy = |effect: &PolicyEffect| PolicyJson {
        step: effect.policy.word(),
        moment: moment_name(effect.policy.phase()),
        effect: effect.clone(),
        settings: policy_settings_json(preview, effect.policy),
    };
    preview.plan.effects.iter().map(policy).collect()
}

fn policy_settings_json(preview: &Preview, policy: Policy) -> Members<PolicySettingJson> {
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
        let (value, from) = (masked_value(&row.value), row.provenance.to_string());
        (row.setting.key(), PolicySettingJson { value, from, reader })
    })
    .collect()
}

/// The compaction of the plan. Tokens are estimates, except those of the trigger.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompactionJson {
    trigger: CompactionTrigger,
    first_kept: String,
    /// The effect of the cut on a turn.
    split: &'static str,
    /// The summary before, taken up into the new one.
    previous_summary: MessageTotals,
    /// Messages that are summarised.
    history: MessageTotals,
    /// Messages that are summarised as the beginning of a turn.
    turn_prefix: MessageTotals,
    kept: MessageTotals,
    /// Messages that the compaction before kept, and that this one neither keeps nor summarises.
    lost: MessageTotals,
    tokens_before: Option<Tokens>,
    summary_tokens: u64,
    /// The origin of `summaryTokens`.
    summary_from: &'static str,
    /// The gateway's calls for the summary.
    calls: Option<GatewayCallsJson>,
    tokens_after: u64,
}

/// Returns the compaction; `None` if the policy is off or has nothing to compact.
pub(super) fn compaction_json(preview: &Preview) -> Result<Option<CompactionJson>, Failure> {
    let Some(view) = preview.session.compaction_view(&preview.plan) else { return Ok(None) };
    Ok(Some(CompactionJson {
        trigger: view.trigger,
        first_kept: preview.session.index.display_id(view.first_kept),
        split: view.split.as_str(),
        previous_summary: view.previous,
        history: view.history,
        turn_prefix: view.turn_prefix,
        kept: view.kept,
        lost: view.lost,
        tokens_before: finite(view.tokens_before),
        summary_tokens: view.summary_tokens,
        summary_from: preview.summary_length.word(),
        calls: gateway_calls_json(preview)?,
        tokens_after: view.tokens_after,
    }))
}
