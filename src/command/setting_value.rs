//! A setting as JSON, with its origin and the overridden origins.

use schemars::JsonSchema;
use serde::Serialize;

use crate::gateway::effective::ResolvedSetting;
use crate::gateway::provenance::Provenance;
use crate::js::Value;
use crate::redact::masked_value;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SettingJson {
    /// The folder whose own settings hold it; absent in the settings of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    key: String,
    value: Value,
    /// The origin of the value.
    from: String,
    /// The origins that it overrides.
    over: Vec<String>,
}

impl SettingJson {
    pub(super) fn new(key: &str, value: &Value, from: &Provenance, over: &[Provenance]) -> Self {
        Self {
            project: None,
            key: key.to_owned(),
            value: masked_value(value),
            from: from.to_string(),
            over: over.iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn in_project(self, folder: &str) -> Self {
        Self { project: Some(folder.to_owned()), ..self }
    }
}

impl From<&ResolvedSetting> for SettingJson {
    fn from(row: &ResolvedSetting) -> Self {
        Self::new(&row.key, &row.value, &row.provenance, &row.overridden)
    }
}
