//! The JSON members that begin every answer about a session.

use crate::gateway::ruleset::RulesetChoice;
use crate::js::{Object, Value};
use crate::session::{Mark, SessionItem};

pub fn session_json(item: &SessionItem) -> Value {
    Value::from(Object::from([
        ("key", Value::from(item.key.0.as_str())),
        ("agent", Value::from(item.agent.as_str())),
        ("id", Value::from(item.id.as_str())),
        ("path", Value::from(item.path.as_ref().map(|path| path.to_string_lossy().into_owned()))),
        ("unfinished", Value::from(item.has(Mark::Unfinished))),
    ]))
}

pub fn ruleset_json(chosen: &RulesetChoice) -> Value {
    Value::from(Object::from([
        ("id", Value::from(chosen.id.id())),
        ("name", Value::from(chosen.id.display_name())),
        ("release", Value::from(chosen.release.clone())),
        ("from", Value::from(chosen.provenance_text())),
        ("note", Value::from(chosen.note.clone())),
    ]))
}
