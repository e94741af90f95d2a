//! What a setting's value means for the open session, in a few words.

use std::path::Path;

use crate::app::App;
use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Unit;
use crate::gateway::setting_value::{duration_text, plain_text};
use crate::inspect::Inspection;
use crate::js::Value;
use crate::policy::Step;
use crate::policy::settings::{Reader, StepSetting};
use crate::store::entry::Role;
use crate::ui::widgets::number::{counted, elapsed, estimate, grouped, minute, round_thousands};

/// The tuned value as it stands in its column.
pub(super) fn value_text(app: &App, at: usize) -> String {
    app.tuning.values.get(at).map(|value| text_of(app.tuning.unit(at), value)).unwrap_or_default()
}

/// A value as it stands in a column: shares with two decimals, counts in groups of three.
pub(super) fn text_of(unit: Option<Unit>, value: &Value) -> String {
    match (unit, value) {
        (Some(Unit::Share), Value::Number(share)) => format!("{share:.2}"),
        (Some(Unit::Chars | Unit::Messages | Unit::Tokens | Unit::Turns), Value::Number(count)) => {
            grouped(*count as i64)
        }
        (Some(Unit::Milliseconds), Value::Number(ms)) => duration_text(*ms),
        (unit, value) => plain_text(unit, value),
    }
}

/// What the value means here.
pub(super) fn meaning(app: &App, inspection: &Inspection, at: usize) -> String {
    let (Some(row), Some(value)) = (app.tuning.rows.get(at), app.tuning.values.get(at)) else {
        return String::new();
    };
    let number = value.as_f64().unwrap_or(0.0);
    match row.step {
        Step::Prune => pruning(app, inspection, row.row.key, number),
        Step::Compact => compaction(app, inspection, row.row.key, number),
        Step::History => turns(inspection, number),
        Step::Truncate | Step::Reduce | Step::Guard | Step::Clear => limit(inspection, row, number),
        Step::Check => "of your next message".to_owned(),
        Step::Repair | Step::Images => String::new(),
    }
}

fn pruning(app: &App, inspection: &Inspection, key: &str, number: f64) -> String {
    match key {
        "ttl" => touched(app, inspection),
        "keepLastAssistants" => cutoff(app, inspection),
        "softTrimRatio" | "hardClearRatio" => format!("{} of messages", of_window(inspection, number)),
        "minPrunableToolChars" => prunable(app),
        "softTrim.maxChars" => format!("{} over", counted(app.figures.long_results, "result")),
        "softTrim.headChars" => "kept from the start".to_owned(),
        "softTrim.tailChars" => "kept from the end".to_owned(),
        "hardClear.enabled" if app.tuning.is_on(Step::Prune) => format!("{} cleared", app.figures.cleared),
        "hardClear.placeholder" => "stands for what is cleared".to_owned(),
        "tools.allow" => "empty: every tool".to_owned(),
        "tools.deny" => denied(app),
        _ => String::new(),
    }
}

fn compaction(app: &App, inspection: &Inspection, key: &str, number: f64) -> String {
    match key {
        "reserveTokens" => {
            let above = inspection.window.tokens - number;
            if above < 0.0 {
                "always compacts".to_owned()
            } else {
                format!("compacts above {}", round_thousands(above as u64))
            }
        }
        "reserveTokensFloor" => "least reserve".to_owned(),
        "keepRecentTokens" => app
            .transcript
            .as_ref()
            .and_then(|pane| pane.cut)
            .map_or_else(|| "kept at the end".to_owned(), |cut| format!("{} kept", estimate(cut.kept))),
        "summaryTokens" => "assumed length".to_owned(),
        _ => String::new(),
    }
}

fn turns(inspection: &Inspection, number: f64) -> String {
    let users = inspection.context.messages.iter().filter(|message| message.size.role == Role::User).count();
    if number > 0.0 { format!("of {}", counted(users as u64, "turn")) } else { "no limit".to_owned() }
}

/// What truncation, the guard and clearing compare with.
fn limit(inspection: &Inspection, row: &StepSetting, number: f64) -> String {
    match row.row.key {
        "windowShare" | "singleShare" => format!("{} of one result", of_window(inspection, number)),
        "maxChars" => "whatever the window".to_owned(),
        "minKeepChars" => "kept of every block".to_owned(),
        "budgetShare" => format!("{} of all", of_window(inspection, number)),
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

/// A share of the window, in tokens.
fn of_window(inspection: &Inspection, share: f64) -> String {
    round_thousands((share * inspection.window.tokens.max(0.0)) as u64)
}

fn touched(app: &App, inspection: &Inspection) -> String {
    match inspection.last_touch {
        Some(touch) if touch.is_finite() && touch > 0.0 => {
            format!("idle for {}", elapsed(app.call_ms() as f64 - touch))
        }
        _ => "no cache touch yet".to_owned(),
    }
}

/// When the protected zone begins.
fn cutoff(app: &App, inspection: &Inspection) -> String {
    let message = app.plan.as_ref().and_then(|plan| inspection.context.messages.get(plan.outcome.cutoff));
    let at = message.and_then(|message| minute(inspection.index.entry(message.entry).time));
    at.map_or_else(|| "protected at the end".to_owned(), |at| format!("protected from {at}"))
}

fn prunable(app: &App) -> String {
    let chars = app.plan.as_ref().map(|plan| plan.outcome.prunable_chars).filter(|chars| chars.is_finite());
    chars.map_or_else(
        || "least to clear".to_owned(),
        |chars| format!("{} chars prunable", grouped(chars as i64)),
    )
}

fn denied(app: &App) -> String {
    if app.plan.is_none() {
        return "never pruned".to_owned();
    }
    format!("{} protected", counted(app.figures.denied, "result"))
}

/// Where a value comes from: the file's name and line, or who else settles it.
pub(super) fn origin(app: &App, at: usize) -> String {
    let Some(row) = app.tuning.rows.get(at) else { return String::new() };
    match row.reader {
        Reader::Gateway(_) | Reader::Runtime { .. } => provenance(&row.row.provenance),
        Reader::BuiltIn => "built in".to_owned(),
        Reader::Client => "the client's".to_owned(),
        Reader::Server => "asked of the server".to_owned(),
        Reader::Preview => "assumed".to_owned(),
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
