//! The settings of a preset as text, and back.

use crate::js::{self, Value};
use crate::session::setting_change::{ChangeError, SettingChange, parse_change};

/// Returns a change as `--set` and the file of a preset write it: its key and its value.
pub fn set_text(change: &SettingChange) -> (String, String) {
    let value = match &change.value {
        Value::String(text) => text.to_string_lossy(),
        value => js::stringify(value),
    };
    (change.key().to_owned(), value)
}

/// Parses the values of a preset.
///
/// # Errors
/// The key that no setting has, or the value that the gateway would reject.
pub fn parse_preset(name: &str, values: &[(String, String)]) -> Result<Vec<SettingChange>, ChangeError> {
    let parse =
        |(key, value): &(String, String)| parse_change(&format!("preset {name}"), &format!("{key}={value}"));
    values.iter().map(parse).collect()
}
