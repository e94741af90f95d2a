//! The meaning of a setting's value for the open session, in a few words: a share of 0.05 shows as tokens of its
//! window.

use std::path::Path;

use crate::app::App;
use crate::format::{format_duration, format_number, format_short, format_short_estimate, minute, quantity};
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Unit;
use crate::gateway::setting_value::{duration_text, input_text};
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::settings::{PolicySetting, SettingOwner};
use crate::session::LoadedSession;
use crate::store::entry::Role;

pub(super) fn value_text(app: &App, at: usize) -> String {
    app.tuning.values.get(at).map(|value| column_text(app.tuning.unit(at), value)).unwrap_or_default()
}

/// Formats a value for a column: shares with two decimals, counts in groups of three.
pub(super) fn column_text(unit: Option<Unit>, value: &Value) -> String {
    match (unit, value) {
        (Some(Unit::Share), Value::Number(share)) => format!("{share:.2}"),
        (Some(Unit::Chars | Unit::Messages | Unit::Tokens | Unit::Turns), Value::Number(count)) => {
            format_number(*count as i64)
        }
        (Some(Unit::Milliseconds), Value::Number(ms)) => duration_text(*ms),
        (unit, value) => input_text(unit, value),
    }
}

pub(super) fn meaning(app: &App, session: &LoadedSession, at: usize) -> String {
    let (Some(row), Some(value)) = (app.tuning.rows.get(at), app.tuning.values.get(at)) else {
        return String::new();
    };
    let number = value.as_f64().unwrap_or(0.0);
    match row.policy {
        Policy::Prune => pruning(app, session, row.setting.key, number),
        Policy::Compact => compaction(app, session, row.setting.key, number),
        Policy::History => turns(session, number),
        Policy::Truncate | Policy::Reduce | Policy::Guard | Policy::Clear => limit(session, row, number),
        Policy::Check => "of your next message".to_owned(),
        Policy::Repair | Policy::Images => String::new(),
    }
}

fn pruning(app: &App, session: &LoadedSession, key: &str, number: f64) -> String {
    match key {
        "ttl" => last_touch(app, session),
        "keepLastAssistants" => cutoff(app, session),
        "softTrimRatio" | "hardClearRatio" => format!("{} of messages", share_of_window(session, number)),
        "minPrunableToolChars" => prunable(app),
        "softTrim.maxChars" => format!("{} over", quantity(app.plan_totals.long_results, "result")),
        "softTrim.headChars" => "kept from the start".to_owned(),
        "softTrim.tailChars" => "kept from the end".to_owned(),
        "hardClear.enabled" if app.tuning.is_policy_on(Policy::Prune) => {
            format!("{} cleared", app.plan_totals.cleared)
        }
        "hardClear.placeholder" => "stands for what is cleared".to_owned(),
        "tools.allow" => "empty: every tool".to_owned(),
        "tools.deny" => denied(app),
        _ => String::new(),
    }
}

fn compaction(app: &App, session: &LoadedSession, key: &str, number: f64) -> String {
    match key {
        "reserveTokens" => {
            let above = session.window.tokens - number;
            if above < 0.0 {
                "always compacts".to_owned()
            } else {
                format!("compacts above {}", format_short(above as u64))
            }
        }
        "reserveTokensFloor" => "least reserve".to_owned(),
        "keepRecentTokens" => app.transcript.as_ref().and_then(|pane| pane.compaction_marker).map_or_else(
            || "kept at the end".to_owned(),
            |cut| format!("{} kept", format_short_estimate(cut.kept_tokens)),
        ),
        "summaryTokens" => "assumed length".to_owned(),
        _ => String::new(),
    }
}

fn turns(session: &LoadedSession, number: f64) -> String {
    let users = session.context.messages.iter().filter(|message| message.size.role == Role::User).count();
    if number > 0.0 { format!("of {}", quantity(users as u64, "turn")) } else { "no limit".to_owned() }
}

/// Formats the limit that truncation, the guard and clearing apply.
fn limit(session: &LoadedSession, row: &PolicySetting, number: f64) -> String {
    match row.setting.key {
        "windowShare" | "singleShare" => format!("{} of one result", share_of_window(session, number)),
        "maxChars" => "whatever the window".to_owned(),
        "minKeepChars" => "kept of every block".to_owned(),
        "budgetShare" => format!("{} of all", share_of_window(session, number)),
        "trigger" => "clears from here on".to_owned(),
        "keep" => "newest uses kept".to_owned(),
        "clearAtLeast" => "or nothing goes".to_owned(),
        "clearToolInputs" => "arguments go too".to_owned(),
        "countByModel" => "or chars/4 + 3 each".to_owned(),
        "excludeTools" => "never cleared".to_owned(),
        "placeholder" => "stands for a result".to_owned(),
        _ => String::new(),
    }
}

fn share_of_window(session: &LoadedSession, share: f64) -> String {
    format_short((share * session.window.tokens.max(0.0)) as u64)
}

fn last_touch(app: &App, session: &LoadedSession) -> String {
    match session.last_cache_touch_ms {
        Some(touch) if touch.is_finite() && touch > 0.0 => {
            format!("idle for {}", format_duration(app.call_time_ms() as f64 - touch))
        }
        _ => "no cache touch yet".to_owned(),
    }
}

/// Returns the time at which the protected zone begins.
fn cutoff(app: &App, session: &LoadedSession) -> String {
    let message = app.plan.as_ref().and_then(|plan| session.context.messages.get(plan.pruning.cutoff));
    let at = message.and_then(|message| minute(session.index.entry(message.entry).time_ms));
    at.map_or_else(|| "protected at the end".to_owned(), |at| format!("protected from {at}"))
}

fn prunable(app: &App) -> String {
    let chars = app.plan.as_ref().map(|plan| plan.pruning.prunable_chars).filter(|chars| chars.is_finite());
    chars.map_or_else(
        || "least to clear".to_owned(),
        |chars| format!("{} chars prunable", format_number(chars as i64)),
    )
}

fn denied(app: &App) -> String {
    if app.plan.is_none() {
        return "never pruned".to_owned();
    }
    format!("{} protected", quantity(app.plan_totals.excluded, "result"))
}

/// Returns the origin of a value: file name and line, or its owner if that is not a file.
pub(super) fn origin(app: &App, at: usize) -> String {
    let Some(row) = app.tuning.rows.get(at) else { return String::new() };
    match row.owner {
        SettingOwner::Gateway(_) | SettingOwner::Runtime { .. } => provenance(&row.setting.provenance),
        SettingOwner::BuiltIn => "built in".to_owned(),
        SettingOwner::Client => "the client's".to_owned(),
        SettingOwner::Server => "asked of the server".to_owned(),
        SettingOwner::Preview => "assumed".to_owned(),
    }
}

fn provenance(provenance: &Provenance) -> String {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    match provenance {
        Provenance::File { path, line: Some(line), .. } => format!("{}:{line}", name(path)),
        Provenance::File { path, line: None, .. } => name(path),
        Provenance::Rule { rule, .. } => format!("rule {rule}"),
        Provenance::Fixed(_) => "built in".to_owned(),
        other => other.to_string(),
    }
}
