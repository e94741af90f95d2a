//! Searches the entries of one session for words, block by block. It also finds an entry by its id.

use crate::ids::EntryIx;
use crate::js::Value;
use crate::session::message::{PartKind, TextPart, parts_of_entry};
use crate::session::search::query::SearchQuery;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, Role};
use crate::store::index::Index;
use crate::store::load::{Trim, parse_line};
use crate::store::source::{AlignedBuffer, Source};

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns the entries from `from` on that hold every word of the query, in file order. A word with a capital letter is
/// case-sensitive. `go_on` is called before each block; when it returns false, the result has the hits so far.
pub fn search(
    source: &Source,
    index: &Index,
    query: &str,
    from: EntryIx,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<EntryIx>, BodyError> {
    let query = SearchQuery::new(query);
    let mut found = Vec::new();
    if query.is_empty() {
        return Ok(found);
    }
    let mut part = FileBlock::default();
    for (ix, entry) in index.iter().skip(from.0 as usize) {
        if !part.contains_line(entry.offset, entry.bytes().to_len()) {
            if !go_on() {
                break;
            }
            part.read(source, index, ix)?;
        }
        let line = part.line(entry.offset, entry.bytes().to_len());
        if line_matches(line, &query) || index.display_id(ix) == query.text().trim() {
            found.push(ix);
        }
    }
    Ok(found)
}

/// A part of the file.
#[derive(Default)]
struct FileBlock {
    bytes: AlignedBuffer,
}

impl FileBlock {
    fn contains_line(&self, at: u64, bytes: usize) -> bool {
        let from = self.bytes.file_offset();
        at >= from && at + bytes as u64 <= from + self.bytes.len() as u64
    }

    /// Reads a block that starts at an entry, or the whole line if it is longer.
    fn read(&mut self, source: &Source, index: &Index, ix: EntryIx) -> Result<(), BodyError> {
        let entry = index.entry(ix);
        let rest = index.end.saturating_sub(entry.offset) as usize;
        let wanted = rest.min(BLOCK_BYTES).max(entry.bytes().to_len());
        let read = self.bytes.read_exact(source, entry.offset, wanted);
        read.map_err(|error| BodyError::Read {
            path: source.path().display().to_string(),
            line: entry.line,
            source: error,
        })
    }

    fn line(&self, at: u64, bytes: usize) -> &[u8] {
        let from = (at - self.bytes.file_offset()) as usize;
        &self.bytes[from..from + bytes]
    }
}

fn line_matches(line: &[u8], query: &SearchQuery) -> bool {
    if !query.may_match_line(line) {
        return false;
    }
    let Ok(entry) = parse_line(line, Trim::Both) else { return false };
    EntryLabel::of(&entry).is_some_and(|label| query.matches(&joined(&seen_parts(&entry, label))))
}

// The text of an entry that a search reads: that of the message pane, without ids, image data, settings of
// the provider and JSON of unknown kinds.

/// The kind of an entry and its role, only from its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryLabel {
    pub(super) kind: EntryKind,
    pub(super) role: Option<Role>,
}

impl EntryLabel {
    /// Returns `None` for the header of a file and for lines that are not entries.
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let kind = entry.get("type")?.as_str()?.to_string_lossy();
        if kind == "session" {
            return None;
        }
        let kind = EntryKind::from_type(&kind);
        let role = entry.get("message").and_then(|message| message.get("role")).and_then(Value::as_str);
        let role = role.map(|role| Role::from_text(&role.to_string_lossy()));
        Some(Self { kind, role: role.filter(|_| kind == EntryKind::Message) })
    }

    /// Returns the word for JSON: the role of a message, the type of any other entry.
    pub(super) fn as_str(self) -> &'static str {
        self.role.map_or(self.kind.as_str(), Role::as_str)
    }
}

/// Returns the parts of an entry that are text, each with the name of its tool.
pub(super) fn seen_parts(entry: &Value, label: EntryLabel) -> Vec<SeenPart> {
    // A leaf row holds an id and nothing else.
    if label.kind == EntryKind::Leaf {
        return Vec::new();
    }
    let tool = (label.role == Some(Role::ToolResult)).then(|| tool_name(entry)).flatten();
    let parts = parts_of_entry(entry, label.kind, label.role).into_iter();
    let mut seen: Vec<SeenPart> = parts.filter_map(|part| SeenPart::new(part, tool.as_ref())).collect();
    if seen.is_empty() && tool.is_some() {
        seen.push(SeenPart { kind: "text", tool, text: String::new() });
    }
    seen
}

fn tool_name(entry: &Value) -> Option<String> {
    Some(entry.get("message")?.get("toolName")?.as_str()?.to_string_lossy())
}

/// One part of an entry as a search sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SeenPart {
    /// The word for JSON: `text`, `thinking`, `call` or `error`.
    pub(super) kind: &'static str,
    /// The tool that is called or has answered.
    pub(super) tool: Option<String>,
    pub(super) text: String,
}

impl SeenPart {
    fn new(part: TextPart, answered: Option<&String>) -> Option<Self> {
        let (kind, tool) = match part.kind {
            PartKind::Text => ("text", answered.cloned()),
            PartKind::Thinking => ("thinking", None),
            PartKind::Call { name, .. } => ("call", Some(name)),
            PartKind::Error => ("error", None),
            PartKind::Image { .. } | PartKind::Other => return None,
        };
        Some(Self { kind, tool, text: part.text })
    }
}

/// Joins the parts, with the tools' names, into the text that must hold every word.
pub(super) fn joined(parts: &[SeenPart]) -> String {
    let lines = parts.iter().flat_map(|part| part.tool.as_deref().into_iter().chain([part.text.as_str()]));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load;

    const LINES: &[&str] = &[
        r#"{"type":"session","version":3,"id":"s"}"#,
        r#"{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"Fix the Build, please"}}"#,
        r#"{"type":"message","id":"b2","parentId":"a1","message":{"role":"assistant","stopReason":"toolUse","content":[{"type":"toolCall","id":"c","name":"exec","arguments":{"type":"ninja \"all\""}}]}}"#,
        r#"{"type":"message","id":"c3","parentId":"b2","message":{"role":"toolResult","toolName":"exec","content":[{"type":"text","text":"build\u0020stopped\nStra\u00dfe"},{"type":"image","data":"aaaninjaaaa","mimeType":"image/png"}]}}"#,
        r#"{"type":"message","id":"d4","parentId":"c3","message":{"role":"user","content":"构建失败了"}}"#,
    ];

    fn found(query: &str) -> Vec<u32> {
        let source = Source::from_memory("t.jsonl", (LINES.join("\n") + "\n").into_bytes());
        let index = load(&source, &mut LineIds, &mut |_, _| true).unwrap();
        search(&source, &index, query, EntryIx(0), &mut || true).unwrap().into_iter().map(|ix| ix.0).collect()
    }

    #[test]
    fn every_word_must_match_ignoring_case_unless_it_has_a_capital() {
        assert_eq!(found("build"), [0, 2]);
        assert_eq!(found("fix build"), [0]);
        assert_eq!(found("Build"), [0]);
        assert_eq!(found("BUILD"), [0; 0]);
        assert_eq!(found("build fix nothing"), [0; 0]);
        assert_eq!(found("   "), [0; 0]);
    }

    #[test]
    fn a_search_covers_arguments_and_ids_but_not_block_types_or_image_data() {
        assert_eq!(found("tooluse"), [0; 0]);
        assert_eq!(found("ninja"), [1]);
        assert_eq!(found("ninja \"all\""), [1]);
        assert_eq!(found("exec"), [1, 2]);
        assert_eq!(found("c3"), [2]);
    }

    #[test]
    fn escaped_text_of_any_script_is_found() {
        assert_eq!(found("stopped straße"), [2]);
        assert_eq!(found("构建失败"), [3]);
    }

    #[test]
    fn a_search_over_several_blocks_finds_the_same_and_can_be_stopped() {
        let long = "x".repeat(BLOCK_BYTES / 3);
        let mut text = LINES[0].to_owned() + "\n";
        for at in 0..12 {
            let message = format!(r#"{{"role":"user","content":"{long} word{}"}}"#, at % 3);
            writeln!(text, r#"{{"type":"message","id":"e{at}","parentId":null,"message":{message}}}"#)
                .unwrap();
        }
        let source = Source::from_memory("t.jsonl", text.into_bytes());
        let index = load(&source, &mut LineIds, &mut |_, _| true).unwrap();
        let all = search(&source, &index, "word1", EntryIx(0), &mut || true).unwrap();
        assert_eq!(all.iter().map(|ix| ix.0).collect::<Vec<_>>(), [1, 4, 7, 10]);
        let mut blocks = 0;
        let some = search(&source, &index, "word1", EntryIx(0), &mut || {
            blocks += 1;
            blocks < 3
        });
        assert!(some.unwrap().len() < all.len());
    }
}
