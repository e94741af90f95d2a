//! Formats changed settings as a patch for `openclaw.json` or for pi's own settings.
//!
//! Each setting is at the path that its program reads; a setting without a key becomes a comment. clawscope shows,
//! copies and saves the patch, but never applies it.

use std::path::PathBuf;

use crate::gateway::patch::{WrittenSetting, patches};
use crate::gateway::setting_value::{Unit, input_text, ttl_text};
use crate::js::Value;
use crate::policy::Policy;
use crate::policy::settings::{PolicySetting, SETTINGS, SettingId, SettingOwner};
use crate::session::LoadedSession;
use crate::session::session_settings::config_path;
use crate::session::setting_change::SettingChange;

/// The key that switches the pruner.
const MODE_PATH: &str = "agents.defaults.contextPruning.mode";

/// A change of the configuration, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigPatch {
    /// JSON5: comments, then one object. Empty if nothing changes.
    pub text: String,
    /// `openclaw config set` lines. Changes that they cannot express are in `text` only.
    pub commands: Vec<String>,
}

impl ConfigPatch {
    /// Builds the patch from changed rows with their new values. A duration may be in ms or in the file's form. A
    /// change to a pruning setting switches pruning on if it is off.
    pub fn from_rows<'a>(on: bool, rows: impl IntoIterator<Item = (&'a PolicySetting, &'a Value)>) -> Self {
        Self::new(on, Vec::new(), &rows.into_iter().collect::<Vec<_>>())
    }

    /// Builds the patch from changes; the last one of a key wins.
    pub fn from_changes(session: &LoadedSession, changes: &[SettingChange]) -> Self {
        let last = |id: SettingId| changes.iter().rev().find(|change| change.id == id);
        let rows = session.setting_rows.iter();
        let rows: Vec<_> = rows.filter_map(|row| Some((row, &last(row.setting.id)?.value))).collect();
        let session_settings =
            SETTINGS.iter().filter(|setting| setting.policy.is_none()).filter_map(|setting| {
                let (file, path) = config_path(session, setting);
                Some(WrittenSetting { file, path, value: last(setting.id)?.value.clone() })
            });
        Self::new(session.pruning_configured, session_settings.collect(), &rows)
    }

    fn new(on: bool, session_settings: Vec<WrittenSetting>, rows: &[(&PolicySetting, &Value)]) -> Self {
        let mut settings = session_settings;
        let mut comments = Vec::new();
        let mut write = |file: Option<&PathBuf>, path: &str, value: Value| {
            settings.push(WrittenSetting { file: file.cloned(), path: path.to_owned(), value });
        };
        let prunes = rows.iter().any(|(row, _)| row.policy == Policy::Prune);
        if prunes && !on && !rows.iter().any(|(row, _)| is_mode(row)) {
            write(None, MODE_PATH, Value::from("cache-ttl"));
        }
        for (row, value) in rows {
            match &row.owner {
                SettingOwner::Gateway(path) => write(None, path, config_value(row, value)),
                SettingOwner::Runtime { file, path, .. } => write(Some(file), path, config_value(row, value)),
                other => comments.push(no_key_comment(row, value, other)),
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

/// Whether the row is the pruner's switch, which is a boolean here and a text in the file.
fn is_mode(row: &PolicySetting) -> bool {
    row.setting.id == SettingId::PruneMode
}

/// Returns a value in the form of the file.
fn config_value(row: &PolicySetting, value: &Value) -> Value {
    match value.as_bool().filter(|_| is_mode(row)) {
        Some(on) => Value::from(if on { "cache-ttl" } else { "off" }),
        None if row.setting.control.unit() == Some(Unit::Milliseconds) => ttl_text(value),
        None => value.clone(),
    }
}

/// Explains, as a comment, why a value cannot be set in the file.
fn no_key_comment(row: &PolicySetting, value: &Value, owner: &SettingOwner) -> String {
    let why = match owner {
        SettingOwner::BuiltIn => "built into the gateway; no key sets it",
        SettingOwner::Server => "computed by the gateway for the provider's server",
        SettingOwner::Client => "set by the client that sends the request, not by the gateway",
        SettingOwner::Gateway(_) | SettingOwner::Runtime { .. } | SettingOwner::Preview => {
            "an assumption of this preview; no key sets it"
        }
    };
    // A person may type any text, and a line break would end the comment.
    let value: String = input_text(row.setting.control.unit(), value);
    let value: String = value.chars().filter(|character| !character.is_control()).collect();
    format!("// {} {value}: {why}", row.key())
}
