//! The meaning of a setting's value for the open session, in a few words: a share of 0.05 shows as tokens of its
//! window.

use std::path::Path;

use crate::app::App;
use crate::format::{
    format_duration, format_number, format_percent, format_short, format_short_estimate, minute, quantity,
};
use crate::gateway::registry::Provenance;
use crate::gateway::setting_value::{Unit, edit_text};
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::settings::{Hint, SettingOwner};
use crate::session::LoadedSession;
use crate::store::entry::Role;
use crate::units::{Millis, Tokens};

pub(super) fn value_text(app: &App, at: usize) -> String {
    app.tuning.values.get(at).map(|value| shown_value(app, at, value)).unwrap_or_default()
}

/// Formats a value of a setting for a column; 0 as its meaning where it is no amount.
pub(super) fn shown_value(app: &App, at: usize, value: &Value) -> String {
    let word = app.tuning.rows.get(at).and_then(|row| row.setting.id.spec().zero_word(value));
    word.map_or_else(|| column_text(app.tuning.unit(at), value), str::to_owned)
}

/// Formats a value for a column: shares with two decimals, counts in groups of three.
pub(in crate::ui) fn column_text(unit: Option<Unit>, value: &Value) -> String {
    match (unit, value) {
        (Some(Unit::Share), Value::Number(share)) => format!("{share:.2}"),
        (
            Some(Unit::Chars | Unit::Messages | Unit::Tokens | Unit::Turns | Unit::Bytes),
            Value::Number(count),
        ) => format_number(*count as i64),
        (unit, value) => edit_text(unit, value),
    }
}

pub(super) fn meaning(app: &App, session: &LoadedSession, at: usize) -> String {
    let (Some(row), Some(value)) = (app.tuning.rows.get(at), app.tuning.values.get(at)) else {
        return String::new();
    };
    let number = value.as_f64().unwrap_or(0.0);
    match row.setting.id.spec().hint {
        Hint::None => String::new(),
        Hint::Words(words) => words.to_owned(),
        Hint::ShareOf(what) => format!("{} {what}", share_of_window(session, number)),
        Hint::TriggerShare => trigger_share(session, Tokens(number)),
        Hint::IdleTime => last_touch(app, session),
        Hint::Protected => cutoff(app, session),
        Hint::PrunableChars => prunable(app),
        Hint::LongResults => format!("{} over", quantity(app.preview.totals.long_results, "result")),
        Hint::ClearedResults => cleared(app),
        Hint::DeniedResults => denied(app),
        Hint::CompactionTrigger => trigger(session, Tokens(number)),
        Hint::KeptTokens => kept(app),
        Hint::Turns => turns(session, number),
    }
}

fn cleared(app: &App) -> String {
    if app.tuning.is_policy_on(Policy::Prune) {
        format!("{} cleared", app.preview.totals.cleared)
    } else {
        String::new()
    }
}

fn trigger(session: &LoadedSession, reserve: Tokens) -> String {
    let above = session.window.tokens - reserve;
    if above < Tokens::ZERO {
        "always compacts".to_owned()
    } else {
        format!("compacts above {}", format_short(above.whole()))
    }
}

fn kept(app: &App) -> String {
    let cut = app.transcript.as_ref().and_then(|pane| pane.compaction_marker);
    cut.map_or_else(
        || "kept at the end".to_owned(),
        |cut| format!("{} kept", format_short_estimate(cut.kept_tokens)),
    )
}

fn turns(session: &LoadedSession, number: f64) -> String {
    let users = session.context.messages.iter().filter(|message| message.size.role == Role::User).count();
    format!("{} {}", if number > 0.0 { "of" } else { "all" }, quantity(users as u64, "turn"))
}

fn share_of_window(session: &LoadedSession, share: f64) -> String {
    format_short((share * session.window.tokens.max(Tokens::ZERO).get()) as u64)
}

/// Describes a trigger in tokens: as a share of the window, or as one that no prompt reaches.
fn trigger_share(session: &LoadedSession, tokens: Tokens) -> String {
    let window = session.window.tokens.max(Tokens::ZERO);
    if tokens > window {
        return "above the window: never".to_owned();
    }
    format!("clears at {} full", format_percent(tokens.whole(), window.whole()))
}

/// Describes the time from the gateway's last touch of the cache, which it writes when a run ends, to the call on
/// display. Calls of a run that has not ended use the provider's cache without a touch.
fn last_touch(app: &App, session: &LoadedSession) -> String {
    let at = app.displayed_call_ms();
    let touch = session.cache_touch_before(at);
    touch.map_or_else(
        || "no run yet".to_owned(),
        // The clock of the screen is behind by up to a second.
        |touch| format!("last run {} ago", format_duration((at - touch).max(Millis::ZERO))),
    )
}

/// Returns the time at which the protected zone begins.
fn cutoff(app: &App, session: &LoadedSession) -> String {
    let message =
        app.preview.plan.as_ref().and_then(|plan| session.context.messages.get(plan.pruning.cutoff));
    let at = message.and_then(|message| minute(session.index.entry(message.entry).time_ms));
    at.map_or_else(|| "protected at the end".to_owned(), |at| format!("protected from {at}"))
}

fn prunable(app: &App) -> String {
    let chars =
        app.preview.plan.as_ref().map(|plan| plan.pruning.prunable_chars).filter(|chars| chars.is_finite());
    chars.map_or_else(
        || "minimum to clear".to_owned(),
        |chars| format!("{} chars prunable", format_number(chars.get() as i64)),
    )
}

fn denied(app: &App) -> String {
    if app.preview.plan.is_none() {
        return "never pruned".to_owned();
    }
    format!("{} protected", quantity(app.preview.totals.excluded, "result"))
}

/// Returns the origin of a value: file name and line, or its owner if that is not a file.
pub(super) fn origin(app: &App, at: usize) -> String {
    let Some(row) = app.tuning.rows.get(at) else { return String::new() };
    match row.owner {
        SettingOwner::Gateway(_) | SettingOwner::Runtime { .. } => provenance(&row.setting.provenance),
        SettingOwner::BuiltIn => "built in".to_owned(),
        SettingOwner::Client => "set by the client".to_owned(),
        SettingOwner::Server => "sent to the server".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_the_form_of_the_screen_unless_that_rounds_it() {
        let minute = 60_000.0;
        let shown = |ms| column_text(Some(Unit::Milliseconds), &Value::Number(ms));
        let texts = [60.0, 62.0, 90.0, 36.0 * 60.0, 5.0].map(|minutes| shown(minutes * minute));
        assert_eq!(texts, ["1h", "1h 2m", "1h 30m", "1d 12h", "5m"]);
        assert_eq!([shown(0.0), shown(90_061_000.0), shown(1_500.0)], ["0", "90061s", "1500ms"]);
    }
}
