//! What is printed: a line for each entry with the totals that stand after it, and one when a transcript goes.

use std::path::Path;

use crate::command::described::{number, row_tokens, tokens_of, tool_of};
use crate::command::failure::Failure;
use crate::command::output::{Output, Tone};
use crate::command::words::{grouped, moment, percent};
use crate::context::budget::running_totals;
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::excerpt::excerpt;
use crate::js::{Object, Value};
use crate::redact::Secrets;
use crate::store::entry::EntryKind;
use crate::store::session::Session;

/// What became of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Became {
    /// Another file lies there, or it was written anew.
    Rewritten,
    /// It was put aside under this name (store F1).
    Archived(String),
    /// It is not there any more.
    Gone,
}

/// Tells what became of a transcript: in JSON as an object of its own, for people beside the entries.
pub(super) fn tell_became(
    session: &Session,
    path: &Path,
    became: &Became,
    json: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    if json {
        let (event, archive) = match became {
            Became::Rewritten => ("rewritten", None),
            Became::Archived(name) => ("archived", Some(name.as_str())),
            Became::Gone => ("gone", None),
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
        Became::Rewritten => "was rewritten; entries that were told before are not told again".to_owned(),
        Became::Archived(name) => format!("was put aside as {name}"),
        Became::Gone => "is gone".to_owned(),
    };
    Ok(output.note(&format!("{}: the transcript of {} {what}", path.display(), session.key))?)
}

/// Prints entries with the totals that stand after each.
pub(super) fn tell(
    inspection: &Inspection,
    new: &[EntryIx],
    (json, secrets): (bool, Secrets),
    output: &mut Output,
) -> Result<(), Failure> {
    if new.is_empty() {
        return Ok(());
    }
    let totals = Totals::of(inspection);
    for entry in new {
        let (context, session) = totals.at(*entry);
        if json {
            output.json(entry_members(inspection, *entry, context, session))?;
        } else {
            print(inspection, *entry, context, secrets, output)?;
        }
    }
    Ok(())
}

/// Running totals by entry, in estimated tokens.
struct Totals {
    /// What the model would be sent, by entry of the file.
    context: Vec<u64>,
    /// All message entries up to here.
    session: Vec<u64>,
}

impl Totals {
    fn of(inspection: &Inspection) -> Self {
        let index = &inspection.index;
        let messages = &inspection.context.messages;
        let fixed = inspection.fixed_tokens();
        let running = running_totals(fixed, messages.iter().map(|message| tokens_of(&message.size)));
        let mut context = vec![None; index.entries.len()];
        messages.iter().zip(running).for_each(|(message, total)| context[message.entry.at()] = Some(total));
        let mut now = fixed;
        let known_so_far = |total: Option<u64>| {
            now = total.unwrap_or(now);
            now
        };
        let context = context.into_iter().map(known_so_far).collect();
        let own = index.entries.iter().map(|entry| {
            entry.message.filter(|_| entry.kind == EntryKind::Message).map_or(0, |size| tokens_of(&size))
        });
        Self { context, session: running_totals(0, own) }
    }

    fn at(&self, entry: EntryIx) -> (u64, u64) {
        (self.context[entry.at()], self.session[entry.at()])
    }
}

fn entry_members(inspection: &Inspection, ix: EntryIx, context: u64, session: u64) -> Object {
    let index = &inspection.index;
    let entry = index.entry(ix);
    let item = &inspection.session;
    let size = entry.message;
    let share = (item.window > 0).then(|| context * 100 / item.window);
    Object::from([
        ("event", Value::from("entry")),
        ("key", Value::from(item.key.0.as_str())),
        ("agent", Value::from(item.agent.as_str())),
        ("path", Value::from(inspection.source.path().to_string_lossy().as_ref())),
        ("entry", Value::from(index.name(ix))),
        ("parent", Value::from(inspection.tree.parent(ix).map(|parent| index.name(parent)))),
        ("type", Value::from(entry.kind.word())),
        ("role", Value::from(size.map(|size| size.role.word()))),
        ("tool", Value::from(size.and_then(|size| tool_of(inspection, ix, &size)))),
        ("tokens", Value::from(size.map(|size| tokens_of(&size)))),
        ("chars", Value::from(size.map(|size| size.pi_chars.chars()))),
        ("time", number(entry.time)),
        ("contextTokens", Value::from(context)),
        ("sessionTokens", Value::from(session)),
        ("window", Value::from(item.window)),
        ("percent", Value::from(share)),
    ])
}

fn print(
    inspection: &Inspection,
    ix: EntryIx,
    context: u64,
    secrets: Secrets,
    output: &mut Output,
) -> Result<(), Failure> {
    let index = &inspection.index;
    let entry = index.entry(ix);
    let item = &inspection.session;
    let what = entry.message.map_or(entry.kind.word(), |size| size.role.word());
    let tool = entry.message.and_then(|size| tool_of(inspection, ix, &size)).unwrap_or_default();
    let tokens = entry.message.map(|size| row_tokens(inspection, ix, &size)).unwrap_or_default();
    let text = excerpt(&inspection.source, index, ix)
        .map(|excerpt| excerpt.shown(secrets).words())
        .unwrap_or_default();
    let total =
        format!("~{} of {} ({})", grouped(context), grouped(item.window), percent(context, item.window));
    let line = format!("{} {} {what} {tool} {tokens} → {total}  {text}", moment(entry.time), item.key);
    let line = match output.width() {
        Some(columns) => crate::text::cut(&line, columns).0,
        None => line,
    };
    Ok(output.line(Tone::Plain, &line)?)
}
