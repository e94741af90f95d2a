//! Output of `watch`: one line per entry with running totals, and one per transcript that is archived, rewritten or
//! deleted.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::command::failure::Failure;
use crate::command::output::Output;
use crate::command::session_output::{finite, format_entry_tokens, message_tokens, tool_name};
use crate::context::budget::running_totals;
use crate::doc::Tone;
use crate::export::json::JsonOutput;
use crate::format::{format_counted, format_number, format_percent, format_time};
use crate::ids::EntryIx;
use crate::redact::SecretDisplay;
use crate::session::LoadedSession;
use crate::session::message::excerpt::read_excerpt;
use crate::session::overflow::CallState;
use crate::store::entry::EntryKind;
use crate::store::session::Session;
use crate::units::Moment;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TranscriptChange {
    /// Another file is at the path, or the file was rewritten.
    Rewritten,
    /// The file was archived under this name (store F1).
    Archived(String),
    Gone,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::command) struct ChangeJson {
    /// `rewritten`, `archived` or `gone`.
    event: &'static str,
    /// The session key.
    key: String,
    agent: String,
    path: String,
    /// The new name of an archived transcript.
    archive: Option<String>,
}

impl JsonOutput for ChangeJson {}

/// A new entry, with running totals.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::command) struct EntryJson {
    /// `entry`.
    event: &'static str,
    /// The session key.
    key: String,
    agent: String,
    path: String,
    entry: String,
    parent: Option<String>,
    r#type: &'static str,
    role: Option<&'static str>,
    tool: Option<String>,
    /// Estimated tokens of its message.
    tokens: Option<u64>,
    /// Chars of its message as pi counts them.
    chars: Option<u64>,
    /// ms since 1970.
    time: Option<Moment>,
    /// The next prompt after this entry, in the provider's counts as far as they are known.
    context_tokens: u64,
    /// All messages of the file up to this one.
    session_tokens: u64,
    /// The context window in tokens.
    window: u64,
    /// The share of the window that the next prompt takes, in percent.
    percent: Option<u64>,
    /// How the newest calls ended: `overflow`, `refused`, `silent-cut`, `failing` or `healthy`.
    state: &'static str,
}

impl JsonOutput for EntryJson {}

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
            TranscriptChange::Archived(name) => ("archived", Some(name.clone())),
            TranscriptChange::Gone => ("gone", None),
        };
        return Ok(output.json(&ChangeJson {
            event,
            key: session.key.0.clone(),
            agent: session.agent.clone(),
            path: path.to_string_lossy().into_owned(),
            archive,
        })?);
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
    let state = loaded.last_calls().state;
    for entry in new {
        let (context, session) = totals.at(*entry);
        if json {
            output.json(&entry_json(loaded, *entry, (context, session), state))?;
        } else {
            let stuck = (new.last() == Some(entry) && state != CallState::Healthy).then_some(state);
            print_entry(loaded, *entry, (totals.added(*entry), context, stuck), secrets, output)?;
        }
    }
    Ok(())
}

/// Running totals by entry: prompts in the provider's counts as far as they are known, messages by estimate.
pub(super) struct RunningTotals {
    /// The next prompt after each entry of the file.
    context: Vec<u64>,
    /// The part of the next prompt that each entry is; `None` if it is not sent.
    added: Vec<Option<u64>>,
    /// All message entries up to this one.
    session: Vec<u64>,
}

impl RunningTotals {
    pub(super) fn new(loaded: &LoadedSession) -> Self {
        let index = &loaded.index;
        let messages = &loaded.context.messages;
        let fixed = loaded.next_prompt.fixed_tokens;
        let running = running_totals(fixed, loaded.next_prompt.message_tokens.iter().copied());
        let mut context = vec![None; index.entries.len()];
        let mut added = vec![None; index.entries.len()];
        for ((message, tokens), total) in messages.iter().zip(&loaded.next_prompt.message_tokens).zip(running)
        {
            let at = message.entry.index();
            (context[at], added[at]) = (Some(total), Some(*tokens));
        }
        let mut now = fixed;
        let known_so_far = |total: Option<u64>| {
            now = total.unwrap_or(now);
            now
        };
        let context = context.into_iter().map(known_so_far).collect();
        let own = index.entries.iter().map(|entry| {
            entry.message.filter(|_| entry.kind == EntryKind::Message).map_or(0, |size| message_tokens(&size))
        });
        Self { context, added, session: running_totals(0, own) }
    }

    /// Returns the tokens by which an entry lengthens the next prompt, in the measure of the totals.
    fn added(&self, entry: EntryIx) -> Option<u64> {
        self.added[entry.index()]
    }

    /// Returns the tokens of the next prompt after an entry, and of all messages up to it.
    pub(super) fn at(&self, entry: EntryIx) -> (u64, u64) {
        (self.context[entry.index()], self.session[entry.index()])
    }
}

fn entry_json(
    loaded: &LoadedSession,
    ix: EntryIx,
    (context, session): (u64, u64),
    state: CallState,
) -> EntryJson {
    let index = &loaded.index;
    let entry = index.entry(ix);
    let item = &loaded.item;
    let size = entry.message;
    EntryJson {
        event: "entry",
        key: item.key.0.clone(),
        agent: item.agent.clone(),
        path: loaded.source.path().to_string_lossy().into_owned(),
        entry: index.display_id(ix),
        parent: loaded.tree.parent(ix).map(|parent| index.display_id(parent)),
        r#type: entry.kind.as_str(),
        role: size.map(|size| size.role.as_str()),
        tool: size.and_then(|size| tool_name(loaded, ix, &size)),
        tokens: size.map(|size| message_tokens(&size)),
        chars: size.map(|size| size.pi_chars.whole_chars().whole()),
        time: finite(entry.time_ms),
        context_tokens: context,
        session_tokens: session,
        window: item.window,
        percent: (item.window > 0).then(|| context * 100 / item.window),
        state: state.as_str(),
    }
}

fn print_entry(
    session: &LoadedSession,
    ix: EntryIx,
    (added, context, stuck): (Option<u64>, u64, Option<CallState>),
    secrets: SecretDisplay,
    output: &mut Output,
) -> Result<(), Failure> {
    let index = &session.index;
    let entry = index.entry(ix);
    let item = &session.item;
    let what = entry.message.map_or(entry.kind.as_str(), |size| size.role.as_str());
    let tool = entry.message.and_then(|size| tool_name(session, ix, &size)).unwrap_or_default();
    let tokens = entry.message.map(|size| format_entry_tokens(session, ix, &size, added)).unwrap_or_default();
    let text = read_excerpt(&session.source, index, ix)
        .map(|excerpt| excerpt.with_secrets(secrets).text_with_envelope())
        .unwrap_or_default();
    // The provider counted only the newest prompt.
    let is_counted = item.tokens.is_some_and(|counted| !counted.is_estimate() && counted.tokens == context);
    let total = format!(
        "{} of {} ({})",
        format_counted(context, is_counted),
        format_number(item.window),
        format_percent(context, item.window)
    );
    let state = stuck.map(|state| format!("  {}", state.as_str())).unwrap_or_default();
    let line = format!(
        "{} {} {what} {tool} {tokens} → {total}{state}  {text}",
        format_time(entry.time_ms),
        item.key
    );
    let line = match output.width() {
        Some(columns) => crate::text::truncate(&line, columns).0,
        None => line,
    };
    Ok(output.line(if stuck.is_some() { Tone::Warning } else { Tone::Plain }, &line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::loaded_session;
    use crate::store::demo;

    #[test]
    fn each_message_adds_the_tokens_by_which_the_total_grows() {
        let (mut messages, mut by_provider) = (0, 0);
        let files = demo::files().into_iter();
        for (_, text) in files.filter(|(path, _)| path.extension().is_some_and(|it| it == "jsonl")) {
            let loaded = loaded_session(&String::from_utf8_lossy(&text), 200_000.0);
            let totals = RunningTotals::new(&loaded);
            let sent: Vec<EntryIx> = loaded.context.messages.iter().map(|message| message.entry).collect();
            for pair in sent.windows(2).filter(|pair| pair[0] < pair[1]) {
                let grown = totals.at(pair[1]).0 - totals.at(pair[0]).0;
                assert_eq!(totals.added(pair[1]), Some(grown));
                let size = loaded.index.entry(pair[1]).message;
                by_provider += usize::from(size.is_some_and(|size| message_tokens(&size) != grown));
                messages += 1;
            }
        }
        assert!(messages > 500 && by_provider * 2 > messages, "{by_provider} of {messages}");
    }
}
