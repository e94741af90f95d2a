//! The messages of a path as regret compares them: their identifiers and tool calls, without their texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::identifiers::identifiers;
use super::path_message::{PathMessage, ToolUse, is_speaker};
use super::sources::{IdentifierSources, UsedIdentifiers, positions_among, used_identifiers};
use crate::context::bodies::into_message;
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::session::LoadedSession;
use crate::session::message_texts::join_texts;
use crate::store::body::{BodyError, read_entry};
use crate::store::entry::Role;
use crate::units::Tokens;

/// Arguments that name the file of a tool call.
const PATH_KEYS: [&str; 4] = ["path", "file_path", "filePath", "file"];

/// The messages of a path. They do not depend on settings, so all traces of a session share them.
#[derive(Debug, Clone, Default)]
pub struct RegretTexts {
    path: Vec<EntryIx>,
    pub(super) messages: Vec<Arc<PathMessage>>,
    pub(super) sources: IdentifierSources,
}

impl RegretTexts {
    /// Reads the messages of a path. `known` are those before entries were added; only the added ones are read.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(session: &LoadedSession, path: &[EntryIx], known: Option<&Self>) -> Result<Self, BodyError> {
        let same = known.map_or(0, |known| known.shared_with(path));
        let read = |(position, ix): (usize, &EntryIx)| read_message(session, position, *ix);
        let added: Result<Vec<_>, BodyError> = path.par_iter().enumerate().skip(same).map(read).collect();
        let kept =
            known.into_iter().flat_map(|known| &known.messages).filter(|message| message.position < same);
        let messages: Vec<_> = kept.cloned().chain(added?.into_iter().flatten().map(Arc::new)).collect();
        Ok(Self { path: path.to_vec(), sources: IdentifierSources::of_messages(&messages), messages })
    }

    /// Reads the messages of a path that nobody will extend: identifiers are kept only where the model or the person uses
    /// them and another message has them too. A long transcript has millions of others.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read_once(session: &LoadedSession, path: &[EntryIx]) -> Result<Self, BodyError> {
        let speaks = |ix: &EntryIx| session.index.entry(*ix).role().is_some_and(is_speaker);
        let read_those = |spoken: bool| {
            let some = path.par_iter().enumerate().filter(move |(_, ix)| speaks(ix) == spoken);
            some.map(|(position, ix)| read_message(session, position, *ix))
        };
        let spoken: Vec<Option<PathMessage>> = read_those(true).collect::<Result<_, BodyError>>()?;
        let used = used_identifiers(spoken.iter().flatten());
        let with_positions = |message: PathMessage| (positions_among(&used, &message), message);
        let others = read_those(false).map(|message| {
            let message = message?.map(with_positions);
            Ok(message.map(|(own, message)| (own, PathMessage { identifiers: Box::default(), ..message })))
        });
        let others: Vec<Option<_>> = others.collect::<Result<_, BodyError>>()?;
        let spoken = spoken.into_iter().flatten().map(with_positions);
        let mut messages: Vec<(UsedIdentifiers, PathMessage)> =
            spoken.chain(others.into_iter().flatten()).collect();
        messages.sort_unstable_by_key(|(_, message)| message.position);
        let (own, mut messages): (Vec<_>, Vec<_>) = messages.into_iter().unzip();
        let sources = IdentifierSources::new(used, &own);
        messages.iter_mut().for_each(|message| message.retain_identifiers(|own| sources.has(own)));
        Ok(Self { path: path.to_vec(), messages: messages.into_iter().map(Arc::new).collect(), sources })
    }

    /// Counts the entries that both paths have in common. The last one may have been a line that was not complete.
    fn shared_with(&self, path: &[EntryIx]) -> usize {
        let same = self.path.iter().zip(path).take_while(|(one, other)| one == other).count();
        same.min(self.path.len().saturating_sub(1))
    }
}

fn read_message(
    session: &LoadedSession,
    position: usize,
    ix: EntryIx,
) -> Result<Option<PathMessage>, BodyError> {
    let entry = session.index.entry(ix);
    let Some(size) = entry.message else { return Ok(None) };
    let body = read_entry(&session.source, &session.index, ix)?;
    let message = into_message(body, entry.kind);
    let is_result = size.role == Role::ToolResult;
    let text_of = |key: &str| Some(js::to_text(Some(message.get(key)?)).to_string_lossy().into_boxed_str());
    let text = join_texts(&message);
    let found = identifiers(&text);
    let names = found.iter().filter(|_| is_speaker(size.role)).map(|(_, text)| (*text).into()).collect();
    Ok(Some(PathMessage {
        entry: ix,
        position,
        role: size.role,
        tool: text_of("toolName").filter(|_| is_result),
        answers: text_of("toolCallId").filter(|_| is_result),
        estimate: estimate_or_zero(&size) as f64,
        identifiers: found.iter().map(|(hash, _)| *hash).collect(),
        names,
        uses: tool_uses(&message),
    }))
}

fn tool_uses(message: &Value) -> Box<[ToolUse]> {
    let blocks = message.get("content").and_then(Value::as_array).unwrap_or_default();
    let calls = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind.str_is("toolCall")));
    let text = |value: Option<&Value>| {
        value.map(|value| js::to_text(Some(value)).to_string_lossy().into_boxed_str())
    };
    calls
        .map(|block| {
            let arguments = block.get("arguments").unwrap_or(&Value::Null);
            let normal = normalised(arguments);
            let tool = text(block.get("name")).unwrap_or_default();
            ToolUse {
                id: text(block.get("id")).unwrap_or_default(),
                path: PATH_KEYS
                    .iter()
                    .find_map(|key| text(arguments.get(key)))
                    .map(|path| file_name(&path).into()),
                runs_command: arguments.get("command").is_some(),
                tokens: Tokens(estimate_chars((tool.len() + normal.len()) as u64) as f64),
                tool,
                arguments: normal.into(),
            }
        })
        .collect()
}

/// Writes arguments with sorted keys, without nulls and without blanks around texts.
fn normalised(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let members: BTreeMap<String, String> = object
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key.to_string_lossy(), normalised(value)))
                .collect();
            let members: Vec<String> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(normalised).collect::<Vec<_>>().join(","))
        }
        Value::String(text) => js::stringify_str(&file_name(text.to_string_lossy().trim()).as_str().into()),
        other => js::stringify(other),
    }
}

/// Removes `./` from the start of a path.
fn file_name(path: &str) -> String {
    path.strip_prefix("./").unwrap_or(path).to_owned()
}
