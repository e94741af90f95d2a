//! A session database of the store, in words and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use crate::store::discovery::DatabaseInfo;

/// A session database; its versions are null where it cannot be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DatabaseJson {
    path: String,
    agent: Option<String>,
    schema_version: Option<i64>,
    /// The release that wrote it.
    app_version: Option<String>,
}

impl From<&DatabaseInfo> for DatabaseJson {
    fn from(holding: &DatabaseInfo) -> Self {
        let schema = holding.schema.as_ref();
        Self {
            path: holding.path.to_string_lossy().into_owned(),
            agent: schema.and_then(|schema| schema.agent.clone()),
            schema_version: schema.map(|schema| schema.version),
            app_version: schema.and_then(|schema| schema.app_version.clone()),
        }
    }
}

pub(super) fn describe_database(holding: &DatabaseInfo) -> String {
    let path = holding.path.display();
    match &holding.schema {
        None => format!("{path}: not read; see below"),
        Some(schema) => {
            let writer = schema.app_version.as_deref().map(|version| format!(", written by {version}"));
            format!("{path}: schema {}{}, read only", schema.version, writer.unwrap_or_default())
        }
    }
}
