//! Exports a branch as its own transcript, which the runtime opens: a header and a chain of entries.
//!
//! Without a plan the branch's entries stay unchanged, including compactions and the entries before them. With a plan
//! the file holds the messages that would be sent, including changes that a commit cannot write, such as a turn limit.

use std::collections::HashSet;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::export::document::ExportRequest;
use crate::export::shape;
use crate::ids::EntryIx;
use crate::js::{Object, Value, date_value, iso_text};
use crate::plan::{CompactionSummary, Plan};
use crate::policy::message_list::MessageOrigin;
use crate::redact::Redactor;
use crate::session::LoadedSession;
use crate::store::body;
use crate::store::body::BodyError;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::transcript::Leaf;
use crate::transcript::tree::resolve_labels;
use crate::units::Moment;
use crate::{js, plan};

/// Version of the transcripts written here (store I2).
const VERSION: f64 = 3.0;

/// A reason that there is no transcript.
#[derive(Debug, thiserror::Error)]
pub enum PiError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The plan compacts, but no summary was made.
    #[error(
        "the plan compacts but has no summary yet. Make the summary first, or remove compact from the plan."
    )]
    NoSummary,
    #[error("the branch has no entries yet.")]
    Empty,
}

/// Returns the transcript's lines, each with its end, and the redactor with its counts.
pub fn export_transcript(wanted: &ExportRequest<'_>) -> Result<(String, Redactor), PiError> {
    let mut redactor = wanted.redactor()?;
    if wanted.shape_only && wanted.plan.is_none() && wanted.session.leaf == Leaf::Own {
        return Ok((all_lines(wanted.session)?, redactor));
    }
    let mut names = ExportIds::new(wanted);
    let mut lines = vec![header(wanted, &mut names)];
    lines.extend(match wanted.plan {
        None => branch_lines(wanted, &mut names)?,
        Some((plan, made)) => planned_lines(wanted, plan, made, &mut names)?,
    });
    if lines.len() < 2 {
        return Err(PiError::Empty);
    }
    let mut text = String::new();
    for line in &lines {
        let line = if wanted.shape_only { shape::entry(line) } else { redactor.redact_value(line) };
        text.push_str(&js::stringify(&line));
        text.push('\n');
    }
    Ok((text, redactor))
}

/// Masks every line of the file, including lines that are not entries: bug reports need them.
fn all_lines(session: &LoadedSession) -> Result<String, BodyError> {
    let LoadedSession { source, index, .. } = session;
    let bytes = source.read_span(0, index.end as usize).map_err(|error| BodyError::Read {
        path: source.path().display().to_string(),
        line: 1,
        source: error,
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let body = text.strip_suffix('\n').unwrap_or(&text);
    let mut out = String::with_capacity(text.len());
    for line in body.split('\n') {
        let end = if line.ends_with('\r') { "\r\n" } else { "\n" };
        let line = line.trim_matches(js::is_trimmed);
        if !line.is_empty() {
            out.push_str(&shape::line(line));
        }
        out.push_str(end);
    }
    if !text.ends_with('\n') {
        out.pop();
    }
    Ok(out)
}

fn header(wanted: &ExportRequest<'_>, names: &mut ExportIds<'_>) -> Value {
    let LoadedSession { source, index, .. } = wanted.session;
    let cwd = index.header.as_ref().and_then(|header| header.cwd.clone());
    Value::from(Object::from([
        ("type", Value::from("session")),
        ("version", Value::Number(VERSION)),
        ("id", Value::from(names.session())),
        ("timestamp", Value::from(iso_text(wanted.now_ms))),
        ("cwd", Value::from(cwd.unwrap_or_else(|| "/".to_owned()))),
        ("parentSession", Value::from(source.path().display().to_string())),
    ]))
}

/// Returns the entries from the root to the leaf with their own ids, and the labels that other branches gave them.
fn branch_lines(wanted: &ExportRequest<'_>, names: &mut ExportIds<'_>) -> Result<Vec<Value>, BodyError> {
    let LoadedSession { source, index, tree, leaf, .. } = wanted.session;
    let Some(leaf) = tree.leaf(index, leaf) else { return Ok(Vec::new()) };
    // The file format has no leaf rows and resets, so such a branch is rewritten to entries with the same context.
    if tree.has_resets() {
        return wanted.session.branch_entries();
    }
    let path = tree.path_to(index, leaf);
    let mut lines = Vec::with_capacity(path.len());
    for (at, ix) in path.iter().enumerate() {
        let mut value = body::read_entry(source, index, *ix)?;
        if at == 0
            && let Some(object) = value.as_object_mut()
        {
            object.set("parentId", Value::Null);
        }
        lines.push(value);
    }
    // Nothing may follow a compaction: the runtime would compact again.
    if index.entry(leaf).kind != EntryKind::Compaction {
        lines.extend(foreign_labels(wanted, &path, names));
    }
    Ok(lines)
}

fn foreign_labels(wanted: &ExportRequest<'_>, path: &[EntryIx], names: &mut ExportIds<'_>) -> Vec<Value> {
    let LoadedSession { index, tree, .. } = wanted.session;
    let labels = resolve_labels(index, tree);
    let mut parent = path.last().map_or(Value::Null, |leaf| entry_id(wanted.session, *leaf));
    let mut lines = Vec::new();
    for target in path {
        let Some(label) = labels.get(target) else { continue };
        let own = path.iter().rev().map(|ix| index.entry(*ix)).find(|entry| {
            entry.kind == EntryKind::Label
                && entry.reference.is_some()
                && entry.reference == index.entry(*target).id
        });
        if own.is_some_and(|own| index.values.text(own.payload).as_ref() == Some(label)) {
            continue;
        }
        let id = Value::from(names.entry());
        lines.push(Value::from(Object::from([
            ("type", Value::from("label")),
            ("id", id.clone()),
            ("parentId", std::mem::replace(&mut parent, id)),
            ("timestamp", Value::from(iso_text(wanted.now_ms))),
            ("targetId", entry_id(wanted.session, *target)),
            ("label", Value::from(label.as_str())),
        ])));
    }
    lines
}

fn entry_id(session: &LoadedSession, ix: EntryIx) -> Value {
    session.index.entry(ix).id.map_or(Value::Null, |id| session.index.ids.value(id))
}

/// Returns the messages after a plan, each as its entry (compaction 4.4), after the model and the thinking level in
/// force.
fn planned_lines(
    wanted: &ExportRequest<'_>,
    plan: &Plan,
    made: Option<&CompactionSummary>,
    names: &mut ExportIds<'_>,
) -> Result<Vec<Value>, PiError> {
    let LoadedSession { source, index, context, .. } = wanted.session;
    if made.is_none() && plan.messages.iter().any(|item| item.origin == MessageOrigin::Summary) {
        return Err(PiError::NoSummary);
    }
    let now_ms = wanted.now_ms;
    let summary = plan::summary_message(plan, made, now_ms);
    let messages = plan::messages_after(source, index, context, plan, &summary, now_ms)?;
    let mut chain = EntryChain { lines: Vec::new(), parent: Value::Null };
    for (kind, members) in active_settings(wanted.session) {
        chain.push(kind, Value::from(names.entry()), iso_text(wanted.now_ms), members);
    }
    for (item, message) in plan.messages.iter().zip(messages) {
        let (id, old) = match item.origin {
            MessageOrigin::Context(at) => {
                let ix = context.messages[at as usize].entry;
                (entry_id(wanted.session, ix), Some(body::read_entry(source, index, ix)?))
            }
            _ => (Value::Null, None),
        };
        let id = if js::is_truthy(Some(&id)) { id } else { Value::from(names.entry()) };
        chain.message(id, &message, old.as_ref(), made, wanted.now_ms);
    }
    Ok(chain.lines)
}

/// Returns the entries that set model and thinking level at the leaf.
fn active_settings(session: &LoadedSession) -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let word = |word| session.index.values.text(word).map(Value::from);
    let mut entries = Vec::new();
    if let Some((provider, model)) = session.context.model
        && let (Some(provider), Some(model)) = (word(provider), word(model))
    {
        entries.push(("model_change", vec![("provider", provider), ("modelId", model)]));
    }
    if let Some(level) = session.context.thinking_level.and_then(word) {
        entries.push(("thinking_level_change", vec![("thinkingLevel", level)]));
    }
    entries
}

struct EntryChain {
    lines: Vec<Value>,
    parent: Value,
}

impl EntryChain {
    fn push(&mut self, kind: &str, id: Value, time: String, members: Vec<(&str, Value)>) {
        let mut entry = Object::from([
            ("type", Value::from(kind)),
            ("id", id.clone()),
            ("parentId", std::mem::replace(&mut self.parent, id)),
            ("timestamp", Value::from(time)),
        ]);
        for (key, value) in members {
            entry.set(key, value);
        }
        self.lines.push(Value::from(entry));
    }

    /// Appends the entry of a message. Messages that are built from an entry take its time (compaction 3.10a).
    fn message(
        &mut self,
        id: Value,
        message: &Value,
        old: Option<&Value>,
        made: Option<&CompactionSummary>,
        now_ms: Moment,
    ) {
        let role = message.get("role").and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let of = |keys: &[&'static str], from: Option<&Value>| -> Vec<(&'static str, Value)> {
            keys.iter().filter_map(|key| Some((*key, from?.get(key)?.clone()))).collect()
        };
        let built = matches!(role.as_deref(), Some("compactionSummary" | "branchSummary" | "custom"));
        let outer = old.and_then(|old| old.get("timestamp"));
        let time = match message.get("timestamp").and_then(Value::as_f64).map(Moment) {
            Some(at) if built && at.is_finite() => iso_text(at),
            _ => iso_text(Some(date_value(outer)).filter(|at| at.is_finite()).unwrap_or(now_ms)),
        };
        let was_message = old.is_some_and(|old| old.get("type").is_some_and(|kind| kind.str_is("message")));
        match role.as_deref() {
            _ if was_message => self.push("message", id, time, vec![("message", message.clone())]),
            Some("compactionSummary") => {
                let mut members = of(&["summary"], Some(message));
                // The kept messages follow it here; the runtime looks for them before it and finds nothing (compaction
                // 4.3).
                members.push(("firstKeptEntryId", id.clone()));
                members.extend(of(&["tokensBefore"], Some(message)));
                match made.filter(|_| old.is_none()) {
                    Some(made) => members.extend(summary_members(made)),
                    None => members.extend(of(&["details", "fromHook"], old)),
                }
                self.push("compaction", id, time, members);
            }
            Some("branchSummary") => {
                let mut members = of(&["fromId", "summary"], Some(message));
                members.extend(of(&["details", "fromHook"], old));
                self.push("branch_summary", id, time, members);
            }
            Some("custom") => {
                let keys = ["customType", "content", "display", "details"];
                self.push("custom_message", id, time, of(&keys, Some(message)));
            }
            _ => self.push("message", id, time, vec![("message", message.clone())]),
        }
    }
}

fn summary_members(made: &CompactionSummary) -> Vec<(&'static str, Value)> {
    let mut members = Vec::new();
    if let Some(lists) = &made.details {
        let lists = [("readFiles", lists.read.clone()), ("modifiedFiles", lists.modified.clone())];
        members.push(("details", Value::from(Object::from(lists))));
    }
    members.push(("fromHook", Value::Bool(made.from_hook)));
    members
}

// Ids for the entries that an export adds. They are hashes of the export's input, so that the same export has the same
// ids.

/// New ids that the transcript does not have.
struct ExportIds<'a> {
    index: &'a Index,
    seed: String,
    used: HashSet<String>,
    turn: u64,
}

impl<'a> ExportIds<'a> {
    fn new(wanted: &ExportRequest<'a>) -> Self {
        let index = &*wanted.session.index;
        let leaf = wanted.session.context.leaf.map(|leaf| index.display_id(leaf));
        let seed =
            format!("{} {leaf:?} {} {}", index.path.display(), wanted.now_ms.whole(), wanted.plan.is_some());
        Self { index, seed, used: HashSet::new(), turn: 0 }
    }

    fn hex(&mut self) -> String {
        self.turn += 1;
        let hash = Sha256::digest(format!("{} {}", self.seed, self.turn));
        hash.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// Returns the id of the session, in the form of a random UUID.
    fn session(&mut self) -> String {
        let hex = self.hex();
        format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }

    /// Returns the id of an entry: eight hex digits (store M2).
    fn entry(&mut self) -> String {
        loop {
            let id = self.hex()[..8].to_owned();
            if self.index.ids.find(&id).is_none() && self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}
