//! Output of `watch`: one line per entry with running totals, and one per transcript that is archived, rewritten or
//! deleted.

use std::path::Path;

use crate::command::failure::Failure;
use crate::command::output::{Output, Tone};
use crate::command::session_output::{format_entry_tokens, message_tokens, number_value, tool_name};
use crate::context::budget::running_totals;
use crate::format::{format_number, format_percent, format_time};
use crate::ids::EntryIx;
use crate::js::{Object, Value};
use crate::redact::SecretDisplay;
use crate::session::LoadedSession;
use crate::session::message::excerpt::read_excerpt;
use crate::store::entry::EntryKind;
use crate::store::session::Session;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TranscriptChange {
    /// Another file is at the path, or the file was rewritten.
    Rewritten,
    /// The file was archived under this name (store F1).
    Archived(String),
    Gone,
}

/// Reports a change of a transcript: in JSON as an object, otherwise on the error stream.
pub(super) fn report_change(
    session: &Session,
    path: &Path,
    became: &TranscriptChange,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    if json {
        let (event, archive) = match became {
            TranscriptChange::Rewritten => ("rewritten", None),
            TranscriptChange::Archived(name) => ("archived", Some(name.as_str())),
            TranscriptChange::Gone => ("gone", None),
        };
        output.json(Object::from([
            ("event", Value::from(event)),
            ("key", Value::from(session.key.0.as_str())),
            ("agent", Value::from(session.agent.as_str())),
            ("path", Value::from(path.to_string_lossy().as_ref())),
            ("archive", Value::from(archive)),
        ]))?;
        return Ok(());
    }
    let what = match became {
        TranscriptChange::Rewritten => "was rewritten; entries already shown are not repeated".to_owned(),
        TranscriptChange::Archived(name) => format!("was archived as {name}"),
        TranscriptChange::Gone => "was deleted".to_owned(),
    };
    Ok(output.note(&format!("{}: the transcript of {} {what}", path.display(), session.key))?)
}

pub(super) fn report_entries(
    loaded: &LoadedSession,
    new: &[EntryIx],
    (json, secrets): (bool, SecretDisplay),
    output: &mut Output,
) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let totals = RunningTotals::new(loaded);
    for entry in new {
        let (context, session) = totals.at(*entry);
        if json {
            output.json(entry_members(loaded, *entry, context, session))?;
        } else {
            print_entry(loaded, *entry, context, secrets, output)?;
        }
    }
    Ok(())
}

/// Running totals by entry, in estimated tokens.
struct RunningTotals {
    /// The next prompt after each entry of the file.
    context: Vec<u64>,
    /// All message entries up to this one.
    session: Vec<u64>,
}

impl RunningTotals {
    fn new(loaded: &LoadedSession) -> Self {
        let index = &loaded.index;
        let messages = &loaded.context.messages;
        let fixed = loaded.fixed_tokens();
        let running = running_totals(fixed, messages.iter().map(|message| message_tokens(&message.size)));
        let mut context = vec![None; index.entries.len()];
        messages
            .iter()
            .zip(running)
            .for_each(|(message, total)| context[message.entry.index()] = Some(total));
        let mut now = fixed;
        let known_so_far = |total: Option<u64>| {
            now = total.unwrap_or(now);
            now
        };
        let context = context.into_iter().map(known_so_far).collect();
        let own = index.entries.iter().map(|entry| {
            entry.message.filter(|_| entry.kind == EntryKind::Message).map_or(0, |size| message_tokens(&size))
        });
        Self { context, session: running_totals(0, own) }
    }

    fn at(&self, entry: EntryIx) -> (u64, u64) {
        (self.context[entry.index()], self.session[entry.index()])
    }
}

fn entry_members(loaded: &LoadedSession, ix: EntryIx, context: u64, session: u64) -> Object {
    let index = &loaded.index;
    let entry = index.entry(ix);
    let item = &loaded.item;
    let size = entry.message;
    let share = (item.window > 0).then(|| context * 100 / item.window);
    Object::from([
        ("event", Value::from("entry")),
        ("key", Value::from(item.key.0.as_str())),
        ("agent", Value::from(item.agent.as_str())),
        ("path", Value::from(loaded.source.path().to_string_lossy().as_ref())),
        ("entry", Value::from(index.display_id(ix))),
        ("parent", Value::from(loaded.tree.parent(ix).map(|parent| index.display_id(parent)))),
        ("type", Value::from(entry.kind.as_str())),
        ("role", Value::from(size.map(|size| size.role.as_str()))),
        ("tool", Value::from(size.and_then(|size| tool_name(loaded, ix, &size)))),
        ("tokens", Value::from(size.map(|size| message_tokens(&size)))),
        ("chars", Value::from(size.map(|size| size.pi_chars.whole_chars()))),
        ("time", number_value(entry.time_ms)),
        ("contextTokens", Value::from(context)),
        ("sessionTokens", Value::from(session)),
        ("window", Value::from(item.window)),
        ("percent", Value::from(share)),
    ])
}

fn print_entry(
    session: &LoadedSession,
    ix: EntryIx,
    context: u64,
    secrets: SecretDisplay,
    output: &mut Output,
) -> Result<(), Failure> {
    let index = &session.index;
    let entry = index.entry(ix);
    let item = &session.item;
    let what = entry.message.map_or(entry.kind.as_str(), |size| size.role.as_str());
    let tool = entry.message.and_then(|size| tool_name(session, ix, &size)).unwrap_or_default();
    let tokens = entry.message.map(|size| format_entry_tokens(session, ix, &size)).unwrap_or_default();
    let text = read_excerpt(&session.source, index, ix)
        .map(|excerpt| excerpt.with_secrets(secrets).text_with_envelope())
        .unwrap_or_default();
    let total = format!(
        "~{} of {} ({})",
        format_number(context),
        format_number(item.window),
        format_percent(context, item.window)
    );
    let line =
        format!("{} {} {what} {tool} {tokens} → {total}  {text}", format_time(entry.time_ms), item.key);
    let line = match output.width() {
        Some(columns) => crate::text::truncate(&line, columns).0,
        None => line,
    };
    Ok(output.line(Tone::Plain, &line)?)
}
