//! Finds the heaviest block inside a heavy message. It reads bodies, so it reads only the few messages that sizes point
//! to.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::bodies::entry_message;
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::redact;
use crate::session::LoadedSession;
use crate::session::message::excerpt::read_excerpt;
use crate::session::message::find_call;
use crate::store::body::{self, BodyError};
use crate::store::entry::Role;
use crate::store::measure::{pi_block_chars, role_of};
use crate::units::Chars;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockKind {
    Text,
    /// Reasoning of the model.
    Thinking,
    /// A call of the named tool.
    Call(String),
    Image,
    Summary,
    /// Output of a shell command.
    Output,
}

impl BlockKind {
    /// The name in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Call(_) => "toolCall",
            Self::Image => "image",
            Self::Summary => "summary",
            Self::Output => "output",
        }
    }

    pub fn label(&self) -> String {
        match self {
            Self::Call(tool) => format!("call of {}", redact::masked(tool)),
            other => other.as_str().to_owned(),
        }
    }
}

/// The heaviest block of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct HeavyBlock {
    pub kind: BlockKind,
    /// Chars by rule (compaction 1.2–1.7).
    pub chars: Chars,
    pub block_count: usize,
    /// One line about the message: the arguments of the call that a result answers, otherwise its own text.
    pub topic: String,
}

/// Heavy blocks by entry, or the error where a line could not be read again.
pub type HeavyBlocks = HashMap<EntryIx, Result<HeavyBlock, Arc<BodyError>>>;

/// Reads the messages of these entries and finds the heaviest block of each. Stops when `wanted` returns `false`.
pub fn heavy_blocks(
    session: &LoadedSession,
    entries: &[EntryIx],
    wanted: &mut dyn FnMut() -> bool,
) -> HeavyBlocks {
    let mut blocks = HeavyBlocks::new();
    for entry in entries.iter().take_while(|_| wanted()) {
        blocks.insert(*entry, heavy_block(session, *entry).map_err(Arc::new));
    }
    blocks
}

fn heavy_block(session: &LoadedSession, entry: EntryIx) -> Result<HeavyBlock, BodyError> {
    let (source, index) = (&session.source, &*session.index);
    let value = body::read_entry(source, index, entry)?;
    let message = entry_message(&value, index.entry(entry).kind);
    let (kind, chars, blocks) = heaviest_block(&message);
    let arguments = find_call(session, entry)?.and_then(|call| call.arguments);
    let about = match arguments.filter(|line| !line.is_empty()) {
        Some(line) => redact::masked(&line).into_owned(),
        None => read_excerpt(source, index, entry)?.text_with_envelope(),
    };
    Ok(HeavyBlock { kind, chars, block_count: blocks, topic: about })
}

/// Returns the heaviest block, its chars and the number of blocks. The first of equals wins.
fn heaviest_block(message: &Value) -> (BlockKind, Chars, usize) {
    let role = role_of(message);
    let blocks: Vec<(BlockKind, Chars)> = match (role, message.get("content")) {
        (Role::BashExecution, _) => {
            vec![
                field_block(message, "command", BlockKind::Call("!".into())),
                field_block(message, "output", BlockKind::Output),
            ]
        }
        (Role::CompactionSummary | Role::BranchSummary, _) => {
            vec![field_block(message, "summary", BlockKind::Summary)]
        }
        (_, Some(Value::Array(blocks))) => blocks.iter().map(|block| measure_block(role, block)).collect(),
        _ => vec![field_block(message, "content", BlockKind::Text)],
    };
    let count = blocks.len();
    let heavier =
        |best: (BlockKind, Chars), next: (BlockKind, Chars)| if next.1 > best.1 { next } else { best };
    let (kind, chars) = blocks.into_iter().reduce(heavier).unwrap_or((BlockKind::Text, Chars::ZERO));
    (kind, chars, count)
}

fn field_block(message: &Value, key: &str, kind: BlockKind) -> (BlockKind, Chars) {
    (kind, message.get(key).and_then(Value::as_str).map_or(Chars::ZERO, |text| Chars::from_len(text.len())))
}

fn measure_block(role: Role, block: &Value) -> (BlockKind, Chars) {
    let is = |kind: &str| block.get("type").is_some_and(|value| value.str_is(kind));
    let kind = if is("thinking") {
        BlockKind::Thinking
    } else if is("toolCall") {
        BlockKind::Call(
            block.get("name").map(|name| js::to_text(Some(name)).to_string_lossy()).unwrap_or_default(),
        )
    } else if is("image") {
        BlockKind::Image
    } else {
        BlockKind::Text
    };
    let chars = pi_block_chars(role, block).ok().filter(|chars| chars.is_finite() && *chars > Chars::ZERO);
    (kind, chars.unwrap_or(Chars::ZERO).floor())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::testing::{call, entry_ix, loaded_session, message, result, transcript, user};

    fn heavy(json: &str) -> (String, u64, usize) {
        let (kind, chars, blocks) = heaviest_block(&js::parse(json).unwrap());
        (kind.label(), chars.whole(), blocks)
    }

    #[test]
    fn the_heaviest_block_is_the_one_that_counts_most() {
        let assistant = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"123"},{"type":"text","text":"12345"},
            {"type":"toolCall","name":"exec","arguments":{"command":"make"}},null]}"#;
        assert_eq!(heavy(assistant), ("call of exec".into(), 22, 4));
        let image =
            r#"{"role":"ROLE","content":[{"type":"text","text":"see"},{"type":"image","data":"xx"}]}"#;
        assert_eq!(heavy(&image.replace("ROLE", "toolResult")), ("image".into(), 4_800, 2));
        assert_eq!(heavy(&image.replace("ROLE", "user")), ("text".into(), 3, 2));
        assert_eq!(heavy(r#"{"role":"user","content":"hello"}"#), ("text".into(), 5, 1));
        assert_eq!(
            heavy(r#"{"role":"bashExecution","command":"ls","output":"a b c"}"#),
            ("output".into(), 5, 2)
        );
        assert_eq!(heavy(r#"{"role":"compactionSummary","summary":"so far"}"#), ("summary".into(), 6, 1));
        assert_eq!(heavy("5"), ("text".into(), 0, 1));
    }

    #[test]
    fn the_topic_of_a_result_is_its_calls_argument_and_a_broken_line_has_an_error() {
        let text = transcript(&[
            user("go on"),
            call("c", "exec", r#"{"command":"make -j2"}"#),
            result("c", "exec", "done", ""),
            message(r#"{"role":"user","content":"and now?"}"#),
        ]);
        let session = loaded_session(&text, 1_000.0);
        let blocks = heavy_blocks(&session, &[entry_ix(2), entry_ix(3)], &mut || true);
        let result = blocks[&entry_ix(2)].as_ref().unwrap();
        assert_eq!((result.topic.as_str(), result.chars), ("make -j2", Chars(4.0)));
        assert_eq!(blocks[&entry_ix(3)].as_ref().unwrap().topic, "and now?");
        assert!(heavy_blocks(&session, &[entry_ix(2)], &mut || false).is_empty());
    }
}
