//! The messages of a path as regret compares them: their identifiers and tool calls, without their texts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::sources::{
    IdentifierSources, PathMessage, ToolUse, UsedIdentifiers, is_speaker, positions_among, used_identifiers,
};
use crate::context::bodies::into_message;
use crate::context::tokens::chars4::{estimate_chars, estimate_or_zero};
use crate::ids::EntryIx;
use crate::js;
use crate::js::{Json, Value};
use crate::report::facts::{Fact, FactKind, TextHash, text_hash, unnamed_facts};
use crate::session::LoadedSession;
use crate::session::message_texts::join_texts;
use crate::store::body::{BodyError, LineBuffer, outline_message, read_entry};
use crate::store::entry::{MessageSize, Role};
use crate::units::{Chars, Tokens};

/// Results whose identifiers are in memory together before the unused ones are dropped.
const PART_LEN: usize = 4096;

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
        let read = |buffer: &mut LineBuffer, (position, ix): (usize, &EntryIx)| {
            read_message(session, position, *ix, buffer)
        };
        let added = path.par_iter().enumerate().skip(same).map_init(LineBuffer::default, read);
        let added: Result<Vec<_>, BodyError> = added.collect();
        let kept =
            known.into_iter().flat_map(|known| &known.messages).filter(|message| message.position < same);
        let messages: Vec<_> = kept.cloned().chain(added?.into_iter().flatten().map(Arc::new)).collect();
        Ok(Self { path: path.to_vec(), sources: IdentifierSources::of_messages(&messages), messages })
    }

    /// Reads the messages of a path that will not grow: identifiers are kept only where the model or the person uses
    /// them and another message has them too. A long transcript has millions of others.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read_once(session: &LoadedSession, path: &[EntryIx]) -> Result<Self, BodyError> {
        let spoken = read_part(session, path, 0..path.len(), true)?;
        let used = used_identifiers(spoken.iter());
        let mut spoken = spoken.into_iter().peekable();
        let (mut messages, mut own) = (Vec::with_capacity(path.len()), UsedIdentifiers::default());
        for from in (0..path.len()).step_by(PART_LEN) {
            let part = from..path.len().min(from + PART_LEN);
            let mut others = read_part(session, path, part.clone(), false)?.into_iter().peekable();
            let in_order = part.filter_map(|position| {
                let is_next = |message: &PathMessage| message.position == position;
                spoken.next_if(is_next).or_else(|| others.next_if(is_next))
            });
            for mut message in in_order {
                own.push(positions_among(&used, &message));
                if !is_speaker(message.role) {
                    message.identifiers = Box::default();
                }
                messages.push(Arc::new(message));
            }
        }
        let sources = IdentifierSources::new(used, &own);
        for message in messages.iter_mut().filter_map(Arc::get_mut) {
            message.retain_identifiers(|own| sources.has(own));
        }
        Ok(Self { path: path.to_vec(), messages, sources })
    }

    /// Counts the entries that both paths have in common. The last one may have been a line that was not complete.
    fn shared_with(&self, path: &[EntryIx]) -> usize {
        let same = self.path.iter().zip(path).take_while(|(one, other)| one == other).count();
        same.min(self.path.len().saturating_sub(1))
    }
}

/// Reads the messages of speakers in a part of a path, or all others.
fn read_part(
    session: &LoadedSession,
    path: &[EntryIx],
    part: Range<usize>,
    spoken: bool,
) -> Result<Vec<PathMessage>, BodyError> {
    let speaks = |ix: EntryIx| session.index.entry(ix).role().is_some_and(is_speaker);
    let some = part.into_par_iter().filter(|position| speaks(path[*position]) == spoken);
    let read = some.map_init(LineBuffer::default, |buffer, position| {
        read_message(session, position, path[position], buffer)
    });
    read.filter_map(Result::transpose).collect()
}

fn read_message(
    session: &LoadedSession,
    position: usize,
    ix: EntryIx,
    buffer: &mut LineBuffer,
) -> Result<Option<PathMessage>, BodyError> {
    let LoadedSession { source, index, .. } = session;
    let entry = index.entry(ix);
    let Some(size) = entry.message else { return Ok(None) };
    if let Some(message) = outline_message(source, index, ix, buffer)? {
        return Ok(Some(path_message(ix, position, &size, message)));
    }
    let message = into_message(read_entry(source, index, ix)?, entry.kind);
    Ok(Some(path_message(ix, position, &size, &message)))
}

fn path_message<'a>(
    entry: EntryIx,
    position: usize,
    size: &MessageSize,
    message: impl Json<'a>,
) -> PathMessage {
    let is_result = size.role == Role::ToolResult;
    let text = join_texts(message);
    let found = identifiers(&text);
    let names = found.iter().filter(|_| is_speaker(size.role)).map(|(_, text)| (*text).into()).collect();
    PathMessage {
        entry,
        position,
        role: size.role,
        tool: text_of(message.get("toolName")).filter(|_| is_result),
        answers: text_of(message.get("toolCallId")).filter(|_| is_result),
        estimate: estimate_or_zero(size) as f64,
        identifiers: found.iter().map(|(hash, _)| *hash).collect(),
        names,
        uses: tool_uses(message),
    }
}

fn tool_uses<'a>(message: impl Json<'a>) -> Box<[ToolUse]> {
    let blocks = message.get("content").and_then(Json::items).into_iter().flatten();
    let calls = blocks.filter(|block| block.get("type").is_some_and(|kind| kind.str_is("toolCall")));
    calls
        .map(|block| {
            let arguments = block.get("arguments").map_or(Cow::Owned(Value::Null), Json::to_cow);
            let normal = normalised(&arguments);
            let tool = text_of(block.get("name")).unwrap_or_default();
            let path = PATH_KEYS.iter().find_map(|key| text_of(arguments.get(key)));
            ToolUse {
                id: text_of(block.get("id")).unwrap_or_default(),
                path: path.map(|path| file_name(&path).into()),
                runs_command: arguments.get("command").is_some(),
                tokens: Tokens(estimate_chars(Chars::from_len(tool.len() + normal.len())) as f64),
                tool,
                arguments: normal.into(),
            }
        })
        .collect()
}

/// Returns a value as JavaScript writes it.
fn text_of<'a>(value: Option<impl Json<'a>>) -> Option<Box<str>> {
    Some(js::to_text(Some(&value?.to_cow())).to_string_lossy().into())
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

// The identifiers of a text: paths, ids, long numbers and error lines. They are rare enough that a later use of one points
// back to its source.

/// The shortest path and the shortest id, in bytes.
const MIN_NAME_BYTES: usize = 7;

/// The shortest number, in digits: shorter ones occur by chance.
const MIN_DIGITS: usize = 5;

/// Returns the identifiers of a text, each once: digest and text.
pub(super) fn identifiers(text: &str) -> Vec<(TextHash, &str)> {
    let rare = |fact: &Fact<'_>| match fact.kind {
        FactKind::Path | FactKind::Id => fact.key.len() >= MIN_NAME_BYTES,
        FactKind::Number => {
            fact.key.len() >= MIN_DIGITS && fact.key.bytes().all(|byte| byte.is_ascii_digit())
        }
        FactKind::Error => true,
        FactKind::Date | FactKind::Constraint | FactKind::Decision => false,
    };
    let mut found: Vec<(TextHash, &str)> = unnamed_facts(text)
        .iter()
        .filter(|fact| rare(fact))
        .map(|fact| (text_hash(&fact.key), fact.text))
        .collect();
    found.sort_unstable_by_key(|(hash, _)| *hash);
    found.dedup_by_key(|(hash, _)| *hash);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_ids_numbers_and_error_lines_are_identifiers_and_words_are_not() {
        let text = "see src/main.rs, commit 4fa91c2d and 48213 rows.\nerror[E0308]: mismatched types here\nplain words only, 2026-11-19 12";
        let mut found: Vec<&str> = identifiers(text).into_iter().map(|(_, text)| text).collect();
        found.sort_unstable();
        assert_eq!(found, ["48213", "4fa91c2d", "error[E0308]: mismatched types here", "src/main.rs"]);
        assert!(identifiers("and/or a1 1234 either").is_empty());
    }

    #[test]
    fn one_identifier_has_one_digest_however_it_is_written() {
        let of = |text: &str| identifiers(text)[0].0;
        assert_eq!(of(r"in .\src\main.rs"), of("src/main.rs:12"));
        assert_eq!(of("48,213 rows"), of("48213"));
        assert_ne!(of("48,213 rows"), of("48214"));
    }
}
