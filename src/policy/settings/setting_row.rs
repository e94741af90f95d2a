//! A setting under a configuration.

use crate::gateway::provenance::Provenance;
use crate::gateway::prune_setting::Control;
use crate::js::Value;
use crate::policy::settings::setting::SettingId;

#[derive(Debug, Clone, PartialEq)]
pub struct SettingRow {
    pub id: SettingId,
    /// That of the table, or fixed if the version does not read the key.
    pub control: Control,
    /// The built-in value; a duration is in ms.
    pub default: Value,
    /// The unchecked value from the configuration or from a loading rule.
    pub config: Option<Value>,
    /// The value in force: `config` after all checks, else `default`.
    pub value: Value,
    pub provenance: Provenance,
}

impl SettingRow {
    /// Returns the key used by `--set` and in JSON.
    pub fn key(&self) -> &'static str {
        self.id.spec().key
    }

    /// Returns the key without its first part.
    pub fn name(&self) -> &'static str {
        self.id.spec().name()
    }
}
