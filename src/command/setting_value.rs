//! A setting as JSON, with where its value comes from and what that overrides.

use crate::gateway::provenance::Provenance;
use crate::js::{Object, Value};

/// Returns a setting as JSON: key, value, origin and the origins it overrides.
pub(super) fn setting_value(key: &str, value: &Value, from: &str, over: &[Provenance]) -> Value {
    let over: Vec<Value> = over.iter().map(|place| Value::from(place.to_string())).collect();
    Value::from(Object::from([
        ("key", Value::from(key)),
        ("value", value.clone()),
        ("from", Value::from(from)),
        ("over", Value::from(over)),
    ]))
}
