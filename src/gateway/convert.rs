//! Converts configuration values to JavaScript values: numbers are doubles, strings are UTF-16.

use crate::js;

impl From<&serde_json::Value> for js::Value {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(flag) => Self::Bool(*flag),
            serde_json::Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::String(text.as_str().into()),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(members) => {
                Self::Object(members.iter().map(|(key, item)| (key.as_str(), item)).collect())
            }
        }
    }
}
