//! A session database of the store, in words and as JSON.

use crate::js::{Object, Value};
use crate::store::discovery::DatabaseInfo;

/// Returns a database as JSON; its versions are null where it cannot be read.
pub(super) fn database_value(holding: &DatabaseInfo) -> Value {
    let schema = holding.schema.as_ref();
    Value::from(Object::from([
        ("path", Value::from(holding.path.to_string_lossy().as_ref())),
        ("agent", Value::from(schema.and_then(|schema| schema.agent.clone()))),
        ("schemaVersion", Value::from(schema.map(|schema| schema.version as f64))),
        ("appVersion", Value::from(schema.and_then(|schema| schema.app_version.clone()))),
    ]))
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
