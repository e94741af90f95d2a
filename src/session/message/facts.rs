//! The facts at the head of a message: its kind, outcome and size.

use crate::context::tokens::chars4::estimate_message;
use crate::format::{format_displayed_timestamp, format_duration, format_number, format_usd};
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::replay::bill::file_cost;
use crate::session::message::parts::value_text;
use crate::store::entry::{Entry, EntryKind, Role, Usage};
use crate::store::index::Index;
use crate::units::{Millis, Moment, Tokens};

/// A name and its value, as `("exit", "1")`.
pub(super) type Fact = (&'static str, String);

/// Returns the facts of an entry. `value` is the entry as the runtime holds it, `message` the message it holds or
/// becomes, `call` the entry whose call it answers.
pub(super) fn entry_facts(
    index: &Index,
    ix: EntryIx,
    value: &Value,
    message: &Value,
    call: Option<EntryIx>,
) -> Vec<Fact> {
    let entry = index.entry(ix);
    let mut facts = vec![kind_fact(entry, value, message)];
    push_outcome(entry, message, &mut facts);
    push_kind_facts(entry.kind, value, &mut facts);
    facts.extend(format_displayed_timestamp(time_ms(entry, message)).map(|at| ("at", at)));
    facts.push(("entry", index.display_id(ix)));
    if entry.role() == Some(Role::ToolResult) {
        let answered = call.map(|call| format!("→ {}", index.display_id(call)));
        facts.push(("call", answered.unwrap_or_else(|| "— no call with its id".into())));
    }
    push_sizes(entry, &mut facts);
    match index.unanchored_usage.get(&ix) {
        Some(usage) if entry.is_model_call() => push_billed(usage, &mut facts),
        Some(usage) => push_measured(usage, &mut facts),
        None => {}
    }
    push_model(entry, message, &mut facts);
    facts
}

/// The role of a message; the type of any other entry.
fn kind_fact(entry: &Entry, value: &Value, message: &Value) -> Fact {
    match (entry.kind, entry.role()) {
        (EntryKind::Message, Some(Role::Other)) => {
            ("role", message.get("role").map_or_else(|| "none".into(), value_text))
        }
        (EntryKind::Message, Some(role)) => ("role", role.as_str().into()),
        (EntryKind::Message, None) => ("role", "none (the entry has no message)".into()),
        (EntryKind::Unknown, _) => ("type", value.get("type").map_or_else(|| "unknown".into(), value_text)),
        (kind, _) => ("type", kind.as_str().into()),
    }
}

/// Adds the outcome that a tool or a command reports. The keys are those of the gateway's and pi's own tools.
fn push_outcome(entry: &Entry, message: &Value, facts: &mut Vec<Fact>) {
    if entry.role() == Some(Role::ToolResult) {
        facts.push(("tool", message.get("toolName").map_or_else(|| "(unnamed)".into(), value_text)));
    }
    let details = message.get("details");
    let find = |keys: &[&str]| {
        keys.iter().find_map(|key| details.and_then(|it| it.get(key)).or_else(|| message.get(key)))
    };
    if let Some(exit) = find(&["exitCode"]).filter(|exit| !exit.is_null()) {
        facts.push(("exit", value_text(exit)));
    }
    let ms = find(&["durationMs", "tookMs", "elapsedMs"]).and_then(Value::as_f64).map(Millis);
    facts.extend(ms.filter(|ms| *ms >= Millis::ZERO).map(|ms| ("took", format_duration(ms))));
    facts.extend(find(&["status"]).filter(|it| it.as_str().is_some()).map(|it| ("status", value_text(it))));
    let flags = [
        ("isError", "error", "yes"),
        ("cancelled", "stopped", "yes"),
        ("truncated", "cut", "yes"),
        ("excludeFromContext", "sent", "no"),
    ];
    for (key, name, value) in flags {
        if js::is_truthy(message.get(key)) {
            facts.push((name, value.into()));
        }
    }
    if let Some(kind) = message.get("provenance").and_then(|it| it.get("kind")) {
        facts.push(("from", value_text(kind).replace('_', " ")));
    }
}

/// Adds the most informative keys of entries that are not messages (store I4).
fn push_kind_facts(kind: EntryKind, value: &Value, facts: &mut Vec<Fact>) {
    let mut take = |name: &'static str, key: &str| {
        if let Some(value) = value.get(key).filter(|value| !value.is_null()) {
            facts.push((name, value.as_f64().map_or_else(|| value_text(value), format_number)));
        }
    };
    match kind {
        EntryKind::Compaction => {
            take("before", "tokensBefore");
            take("keeps", "firstKeptEntryId");
            take("hook", "fromHook");
        }
        EntryKind::Reset => {
            take("reason", "reason");
            take("keeps", "firstKeptEntryId");
        }
        EntryKind::BranchSummary => take("from", "fromId"),
        EntryKind::Label | EntryKind::Leaf | EntryKind::ContextEdit => take("on", "targetId"),
        EntryKind::Usage => {
            take("kind", "kind");
            take("model", "model");
            take("via", "provider");
            take("note", "note");
        }
        EntryKind::Custom | EntryKind::CustomMessage => take("kind", "customType"),
        EntryKind::ModelChange => {
            take("model", "modelId");
            take("via", "provider");
        }
        EntryKind::ThinkingLevelChange => take("level", "thinkingLevel"),
        _ => {}
    }
}

/// Returns the message's own time, else the time it was appended (store I8).
pub(crate) fn time_ms(entry: &Entry, message: &Value) -> Moment {
    let own = message.get("timestamp").and_then(Value::as_f64).map(Moment);
    own.filter(|ms| ms.is_finite()).unwrap_or(entry.time_ms)
}

/// Adds the chars, and the estimate under the gateway's rule (compaction 1.2–1.9).
fn push_sizes(entry: &Entry, facts: &mut Vec<Fact>) {
    let Some(size) = entry.message else { return };
    let chars = if size.role == Role::ToolResult && size.text_blocks > 0 {
        size.joined_chars
    } else {
        (size.text_chars + size.thinking_chars + size.tool_call_chars).get()
    };
    facts.push(("chars", format_number(chars)));
    if size.images > 0 {
        facts.push(("images", size.images.to_string()));
    }
    let tokens = estimate_message(&size).ok().filter(|tokens| tokens.is_finite());
    facts.push((
        "tokens",
        tokens.map_or_else(|| "— unknown".into(), |tokens| format!("~{} est", format_number(tokens))),
    ));
}

/// Adds the model, the stop reason and the provider's counts (store I7).
fn push_model(entry: &Entry, message: &Value, facts: &mut Vec<Fact>) {
    if entry.role() != Some(Role::Assistant) {
        return;
    }
    facts.extend(message.get("model").map(|model| ("model", value_text(model))));
    facts.extend(message.get("provider").map(|provider| ("via", value_text(provider))));
    facts.extend(message.get("stopReason").map(|stop| ("stop", value_text(stop))));
    match entry.message.and_then(|size| size.usage) {
        Some(usage) => push_measured(&usage, facts),
        None => facts.push(("prompt", "— no usage recorded".into())),
    }
}

/// Adds the usage of a failed or aborted call: it was billed, but does not measure the prompt.
fn push_billed(usage: &Usage, facts: &mut Vec<Fact>) {
    let prompt = format_rounded(usage.prompt_tokens());
    facts.push(("billed", format!("{prompt} in, {} out", format_rounded(usage.output))));
    if usage.cost.is_finite() {
        facts.push(("cost", format!("${:.4}", usage.cost)));
    }
}

fn push_measured(usage: &Usage, facts: &mut Vec<Fact>) {
    facts.push(("prompt", format!("{} measured", format_rounded(usage.prompt_tokens()))));
    facts.push((
        "cached",
        format!("{} read, {} written", format_rounded(usage.cache_read), format_rounded(usage.cache_write)),
    ));
    facts.push(("reply", format_rounded(usage.output)));
    if let Some(usd) = file_cost(usage) {
        let words = if usd > 0.0 { format_usd(usd) } else { "$0 recorded".to_owned() };
        facts.push(("cost", words));
    }
}

fn format_rounded(tokens: Tokens) -> String {
    format_number(tokens.get().round())
}
