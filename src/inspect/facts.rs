//! Facts for the head of a message: what it is, how it went, what it weighs.

use crate::context::tokens::chars4::estimate_message;
use crate::ids::EntryIx;
use crate::inspect::parts::plain;
use crate::inspect::words::{counted, grouped, moment, took};
use crate::js::{self, Value};
use crate::replay::cost::in_file;
use crate::store::entry::{Entry, EntryKind, Role, Usage};
use crate::store::index::Index;

/// A name and its value.
pub(super) type Fact = (&'static str, String);

/// The facts of an entry. `value` is the entry as the runtime holds it, `message` the message it holds or
/// becomes, `call` the entry whose call it answers.
pub(super) fn facts(
    index: &Index,
    ix: EntryIx,
    value: &Value,
    message: &Value,
    call: Option<EntryIx>,
) -> Vec<Fact> {
    let entry = index.entry(ix);
    let mut facts = vec![kind(entry, value, message)];
    outcome(entry, message, &mut facts);
    of_kind(entry.kind, value, &mut facts);
    facts.extend(moment(time(entry, message)).map(|at| ("at", at)));
    facts.push(("entry", index.name(ix)));
    if entry.role() == Some(Role::ToolResult) {
        let answered = call.map(|call| format!("→ {}", index.name(call)));
        facts.push(("call", answered.unwrap_or_else(|| "— none with its id".into())));
    }
    sizes(entry, &mut facts);
    match index.beside.get(&ix) {
        Some(usage) if entry.is_call() => billed(usage, &mut facts),
        Some(usage) => measured(usage, &mut facts),
        None => {}
    }
    model(entry, message, &mut facts);
    facts
}

/// The role of a message; the type of everything else.
fn kind(entry: &Entry, value: &Value, message: &Value) -> Fact {
    match (entry.kind, entry.role()) {
        (EntryKind::Message, Some(Role::Other)) => {
            ("role", message.get("role").map_or_else(|| "none".into(), plain))
        }
        (EntryKind::Message, Some(role)) => ("role", role.word().into()),
        (EntryKind::Message, None) => ("role", "none: the entry has no message".into()),
        (EntryKind::Unknown, _) => ("type", value.get("type").map_or_else(|| "unknown".into(), plain)),
        (kind, _) => ("type", kind.word().into()),
    }
}

/// What a tool or a command said of itself. The keys are those of the gateway's and pi's own tools.
fn outcome(entry: &Entry, message: &Value, facts: &mut Vec<Fact>) {
    if entry.role() == Some(Role::ToolResult) {
        facts.push(("tool", message.get("toolName").map_or_else(|| "— not named".into(), plain)));
    }
    let details = message.get("details");
    let find = |keys: &[&str]| {
        keys.iter().find_map(|key| details.and_then(|it| it.get(key)).or_else(|| message.get(key)))
    };
    if let Some(exit) = find(&["exitCode"]).filter(|exit| !exit.is_null()) {
        facts.push(("exit", plain(exit)));
    }
    let ms = find(&["durationMs", "tookMs", "elapsedMs"]).and_then(Value::as_f64);
    facts.extend(ms.filter(|ms| *ms >= 0.0).map(|ms| ("took", took(ms))));
    facts.extend(find(&["status"]).filter(|it| it.as_str().is_some()).map(|it| ("status", plain(it))));
    let flags = [
        ("isError", "error", "yes"),
        ("cancelled", "stopped", "yes"),
        ("truncated", "cut", "yes"),
        ("excludeFromContext", "sent", "no"),
    ];
    for (key, name, value) in flags {
        if js::truthy(message.get(key)) {
            facts.push((name, value.into()));
        }
    }
    if let Some(kind) = message.get("provenance").and_then(|it| it.get("kind")) {
        facts.push(("from", plain(kind).replace('_', " ")));
    }
}

/// The telling keys of entries that are no messages (store I4).
fn of_kind(kind: EntryKind, value: &Value, facts: &mut Vec<Fact>) {
    let mut take = |name: &'static str, key: &str| {
        if let Some(value) = value.get(key).filter(|value| !value.is_null()) {
            facts.push((name, value.as_f64().map_or_else(|| plain(value), counted)));
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

/// When it happened: the message's own time, else when it was appended (store I8). Ms.
pub(super) fn time(entry: &Entry, message: &Value) -> f64 {
    let own = message.get("timestamp").and_then(Value::as_f64);
    own.filter(|ms| ms.is_finite()).unwrap_or(entry.time)
}

/// Chars and the estimate by rule (compaction 1.2–1.9).
fn sizes(entry: &Entry, facts: &mut Vec<Fact>) {
    let Some(size) = entry.message else { return };
    let chars = if size.role == Role::ToolResult && size.text_blocks > 0 {
        size.joined_chars
    } else {
        f64::from(size.text_chars) + f64::from(size.thinking_chars) + f64::from(size.call_chars)
    };
    facts.push(("chars", counted(chars)));
    if size.images > 0 {
        facts.push(("images", size.images.to_string()));
    }
    let tokens = estimate_message(&size).ok().filter(|tokens| tokens.is_finite());
    facts.push((
        "tokens",
        tokens.map_or_else(|| "— cannot be counted".into(), |tokens| format!("~{} est", counted(tokens))),
    ));
}

/// Model, how the call ended, and what the provider counted (store I7).
fn model(entry: &Entry, message: &Value, facts: &mut Vec<Fact>) {
    if entry.role() != Some(Role::Assistant) {
        return;
    }
    facts.extend(message.get("model").map(|model| ("model", plain(model))));
    facts.extend(message.get("provider").map(|provider| ("via", plain(provider))));
    facts.extend(message.get("stopReason").map(|stop| ("stop", plain(stop))));
    match entry.message.and_then(|size| size.usage) {
        Some(usage) => measured(&usage, facts),
        None => facts.push(("prompt", "— not measured".into())),
    }
}

/// What a failed or aborted call was billed: no measure of its prompt.
fn billed(usage: &Usage, facts: &mut Vec<Fact>) {
    let prompt = tokens(usage.prompt_tokens());
    facts.push(("billed", format!("{prompt} in, {} out", tokens(usage.output))));
    if usage.cost.is_finite() {
        facts.push(("cost", format!("${:.4}", usage.cost)));
    }
}

fn measured(usage: &Usage, facts: &mut Vec<Fact>) {
    facts.push(("prompt", format!("{} measured", tokens(usage.prompt_tokens()))));
    facts.push((
        "cached",
        format!("{} read, {} written", tokens(usage.cache_read), tokens(usage.cache_write)),
    ));
    facts.push(("reply", tokens(usage.output)));
    if let Some(usd) = in_file(usage) {
        let words = if usd > 0.0 { format!("${usd:.4}") } else { "$0 in the file".to_owned() };
        facts.push(("cost", words));
    }
}

fn tokens(number: f64) -> String {
    if number.is_finite() && number >= 0.0 { grouped(number.round() as u64) } else { js::number_text(number) }
}
