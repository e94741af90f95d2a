//! Changed settings of a session as a patch for `openclaw.json`, or for pi's own settings, each at the path it is read
//! from; what no key sets is told in comments. Shown, copied and saved, never applied by us.

use std::path::PathBuf;

use crate::gateway::patch::{Written, patches};
use crate::gateway::prune_setting::Unit;
use crate::gateway::setting_value::{plain_text, ttl_text};
use crate::inspect::Inspection;
use crate::inspect::change::Change;
use crate::inspect::session_settings::{self, place};
use crate::js::Value;
use crate::policy::Step;
use crate::policy::settings::{Reader, StepSetting};

/// Where the switch of the pruner stands.
const MODE_PATH: &str = "agents.defaults.contextPruning.mode";

/// A change of the configuration, written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigPatch {
    /// JSON5: comments, then one object; empty where nothing is changed.
    pub text: String,
    /// `openclaw config set` lines; what they cannot say stands in the text alone.
    pub commands: Vec<String>,
}

impl ConfigPatch {
    /// Of changed rows with their new values. A duration may be in ms or as the file holds it. Pruning is switched on
    /// where a setting of it is changed and it is off.
    pub fn of_rows<'a>(on: bool, rows: impl IntoIterator<Item = (&'a StepSetting, &'a Value)>) -> Self {
        Self::of(on, Vec::new(), &rows.into_iter().collect::<Vec<_>>())
    }

    /// Of changes of a session's settings; of the same key the last one counts.
    pub fn of_changes(inspection: &Inspection, changes: &[Change]) -> Self {
        let last = |key: &str| changes.iter().rev().find(|change| change.key == key);
        let rows = inspection.settings.iter();
        let rows: Vec<_> = rows.filter_map(|row| Some((row, &last(&row.key())?.value))).collect();
        let of_session = session_settings::KEYS.iter().filter_map(|key| {
            let (file, path) = place(inspection, key);
            Some(Written { file, path, value: last(key)?.value.clone() })
        });
        Self::of(inspection.configured_on, of_session.collect(), &rows)
    }

    fn of(on: bool, of_session: Vec<Written>, rows: &[(&StepSetting, &Value)]) -> Self {
        let mut settings = of_session;
        let mut comments = Vec::new();
        let mut write = |file: Option<&PathBuf>, path: &str, value: Value| {
            settings.push(Written { file: file.cloned(), path: path.to_owned(), value });
        };
        let prunes = rows.iter().any(|(row, _)| row.step == Step::Prune);
        if prunes && !on && !rows.iter().any(|(row, _)| is_mode(row)) {
            write(None, MODE_PATH, Value::from("cache-ttl"));
        }
        for (row, value) in rows {
            match &row.reader {
                Reader::Gateway(path) => write(None, path, written(row, value)),
                Reader::Runtime { file, path, .. } => write(Some(file), path, written(row, value)),
                other => comments.push(comment(row, value, other)),
            }
        }
        let any = !settings.is_empty();
        let (text, commands) = patches(&settings);
        if any {
            comments.push(text);
        }
        Self { text: comments.join("\n"), commands }
    }
}

/// The switch of the pruner, which is a text in the file.
fn is_mode(row: &StepSetting) -> bool {
    row.step == Step::Prune && row.row.key == "mode"
}

/// A value as the file holds it.
fn written(row: &StepSetting, value: &Value) -> Value {
    match value.as_bool().filter(|_| is_mode(row)) {
        Some(on) => Value::from(if on { "cache-ttl" } else { "off" }),
        None if row.row.control.unit() == Some(Unit::Milliseconds) => ttl_text(value),
        None => value.clone(),
    }
}

/// Says where a value would have to be set instead.
fn comment(row: &StepSetting, value: &Value, reader: &Reader) -> String {
    let why = match reader {
        Reader::BuiltIn => "built into the gateway, no key sets it",
        Reader::Server => "derived by the gateway, which asks it of the provider's server",
        Reader::Client => "set by the client that sends the request, not by the gateway",
        Reader::Gateway(_) | Reader::Runtime { .. } | Reader::Preview => {
            "an assumption of this preview, nothing to set"
        }
    };
    // A value may hold anything a person typed; a comment ends with its line.
    let value: String = plain_text(row.row.control.unit(), value);
    let value: String = value.chars().filter(|character| !character.is_control()).collect();
    format!("// {} {value}: {why}", row.key())
}
