//! Op `repair`: unusable tool calls dropped, then results paired with calls.

use clawscope::js::{Object, Value};
use clawscope::policy::repair::{
    AllowedTools, MissingResult, Pairing, PairingShape, RepairRules, RepairedInputs, apply_pairing, pair,
    repair_inputs, shape_of,
};

use super::{Session, number, object};

pub(crate) fn answer(session: &Session, rules: RepairRules) -> Value {
    let mut result = Object::default();
    let mut messages = session.messages();
    if session.setting("inputs").is_some_and(|inputs| inputs.as_bool() == Some(true)) {
        let allowed = session.setting("allowedToolNames").and_then(Value::as_array).unwrap_or_default();
        let repaired = repair_inputs(&messages, &AllowedTools::new(allowed));
        result.set("inputs", inputs(&repaired));
        messages = repaired.messages;
    }
    let shapes: Vec<PairingShape> =
        messages.iter().map(|message| shape_of(message, rules.pairing())).collect();
    let paired = pair(&shapes.iter().collect::<Vec<_>>(), rules);
    result.set("pairing", pairing(&paired));
    result.set("messages", session.list(&apply_pairing(&messages, &paired.order, session.now_ms())));
    Value::Object(result)
}

fn inputs(repaired: &RepairedInputs) -> Value {
    object([
        ("droppedToolCalls", number(repaired.dropped_calls as f64)),
        ("droppedAssistantMessages", number(repaired.dropped_messages as f64)),
        ("changed", Value::Bool(repaired.changed)),
    ])
}

fn pairing(pairing: &Pairing) -> Value {
    let added = |missing: &MissingResult| {
        object([
            ("toolCallId", Value::from(missing.id.clone())),
            ("toolName", Value::from(missing.name.clone())),
        ])
    };
    object([
        ("added", Value::Array(pairing.added.iter().map(added).collect())),
        ("droppedDuplicateCount", number(pairing.dropped_duplicates as f64)),
        ("droppedOrphanCount", number(pairing.orphans.len() as f64)),
        ("moved", Value::Bool(pairing.is_replaced)),
        ("changed", Value::Bool(pairing.is_replaced)),
    ])
}
