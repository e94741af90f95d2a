//! A document as JSON with a stable schema.

use std::fmt::Write as _;

use crate::export::document::{Document, DocumentEntry, ExportedFate, ExportedPlan};
use crate::js::{Object, Value, iso_text, stringify};
use crate::plan::PolicyEffect;
use crate::policy::Fate;

/// Version of every JSON shape that clawscope writes. It increases when a key changes its meaning or is removed.
pub const SCHEMA_VERSION: u64 = 1;

/// Builds the document's object.
pub fn json(document: &Document) -> Object {
    let window = Object::from([
        ("tokens", Value::from(document.window)),
        ("source", Value::from(document.window_source)),
    ]);
    let session = Object::from([
        ("key", Value::from(document.key.as_str())),
        ("agent", Value::from(document.agent.as_str())),
        ("id", Value::from(document.id.as_str())),
        ("title", Value::from(document.title.as_str())),
        ("path", Value::from(document.path.as_str())),
    ]);
    let mut budget: Object =
        document.budget.iter().map(|(name, tokens)| (*name, Value::from(*tokens))).collect();
    budget.set("total", Value::from(document.total_tokens()));
    let redacted = document.redacted.as_ref().map(|kinds| {
        let kinds: Object = kinds.iter().map(|(kind, count)| (*kind, Value::from(*count))).collect();
        Object::from([("secrets", Value::from(kinds)), ("images", Value::from(document.removed_images))])
    });
    Object::from([
        ("schemaVersion", Value::from(SCHEMA_VERSION)),
        ("format", Value::from("clawscope-session")),
        ("session", Value::from(session)),
        ("provider", Value::from(document.provider.as_str())),
        ("model", Value::from(document.model.as_str())),
        ("ruleset", Value::from(document.ruleset.as_str())),
        ("window", Value::from(window)),
        ("budget", Value::from(budget)),
        ("tokens", number(document.estimate.map_or(f64::NAN, |estimate| estimate.tokens))),
        ("leaf", Value::from(document.leaf.clone())),
        ("exportedAt", Value::from(iso_text(document.now_ms))),
        ("shapeOnly", Value::from(document.shape_only)),
        ("redacted", Value::from(redacted)),
        ("plan", Value::from(document.plan.as_ref().map(plan_value))),
        ("entries", Value::from(document.entries.iter().map(node_value).collect::<Vec<_>>())),
        ("findings", Value::from(document.diagnostics.iter().cloned().map(Value::from).collect::<Vec<_>>())),
    ])
}

fn number(number: f64) -> Value {
    if number.is_finite() { Value::Number(number) } else { Value::Null }
}

fn plan_value(plan: &ExportedPlan) -> Value {
    let made = plan.new_messages.iter().map(|(before, message)| {
        Value::from(Object::from([("before", Value::from(*before)), ("message", message.clone())]))
    });
    Value::from(Object::from([
        ("tokensBefore", Value::from(plan.tokens_before)),
        ("tokensAfter", Value::from(plan.tokens_after)),
        ("steps", Value::from(plan.policies.iter().map(policy_value).collect::<Vec<_>>())),
        ("made", Value::from(made.collect::<Vec<_>>())),
    ]))
}

fn policy_value(effect: &PolicyEffect) -> Value {
    let fates = Fate::ALL.iter().map(|fate| (fate.word(), Value::from(effect.count(*fate))));
    Value::from(Object::from([
        ("step", Value::from(effect.policy.word())),
        ("changed", Value::from(effect.changed)),
        ("messagesBefore", Value::from(effect.messages_before)),
        ("messagesAfter", Value::from(effect.messages_after)),
        ("tokensBefore", Value::from(effect.tokens_before)),
        ("tokensAfter", Value::from(effect.tokens_after)),
        ("fates", Value::from(fates.collect::<Object>())),
    ]))
}

fn node_value(node: &DocumentEntry) -> Value {
    Value::from(Object::from([
        ("entry", Value::from(node.id.as_str())),
        ("parent", Value::from(node.parent.clone())),
        ("line", Value::from(node.line)),
        ("depth", Value::from(node.depth)),
        ("active", Value::from(node.is_active)),
        ("leaf", Value::from(node.is_leaf)),
        ("context", Value::from(node.position)),
        ("type", Value::from(node.kind.as_str())),
        ("role", Value::from(node.role.map(|role| role.as_str().to_owned()))),
        ("tool", Value::from(node.tool.clone())),
        ("tokens", Value::from(node.tokens)),
        ("chars", Value::from(node.chars)),
        ("time", number(node.time)),
        ("label", Value::from(node.label.clone())),
        ("fate", Value::from(node.fate.map(fate_value))),
        ("value", node.value.clone()),
        ("after", node.planned_message.clone().unwrap_or(Value::Null)),
    ]))
}

fn fate_value(reported: ExportedFate) -> Value {
    Value::from(Object::from([
        ("fate", Value::from(reported.fate.word())),
        ("reason", Value::from(reported.reason)),
        ("rule", Value::from(reported.rule)),
        ("tokensBefore", Value::from(reported.tokens_before)),
        ("tokensAfter", Value::from(reported.tokens_after)),
    ]))
}

/// Encodes a command's answer, or the same from a screen: JSON in one line, `schemaVersion` first.
pub fn to_line(members: Object) -> String {
    let mut object = Object::from([("schemaVersion", Value::from(SCHEMA_VERSION))]);
    for (key, value) in members {
        object.insert(key, value);
    }
    escaped(&stringify(&Value::from(object)))
}

/// Escapes all characters of a JSON text that can act on a terminal, without a change of its meaning.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if needs_escape(char) {
            _ = write!(out, "\\u{:04x}", char as u32);
        } else {
            out.push(char);
        }
    }
    out
}

/// C1 controls, DEL, line separators and direction marks, all in the basic plane. JSON escapes the other controls
/// itself.
fn needs_escape(char: char) -> bool {
    matches!(char, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
