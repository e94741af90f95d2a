//! Searches the texts of a file's entries for words, block by block.
//!
//! A plain word is looked for in the raw line first, so that most lines are never parsed.

use memchr::memmem;

use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::store::aligned_buffer::AlignedBuffer;
use crate::store::body::BodyError;
use crate::store::index::Index;
use crate::store::load::{Trim, parse_line};
use crate::store::source::Source;

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 20;

/// JSON keys without text of a person, model or tool: kinds, references, signatures and counts.
const NON_TEXT_KEYS: [&str; 19] = [
    "type",
    "parentId",
    "timestamp",
    "role",
    "api",
    "usage",
    "stopReason",
    "mimeType",
    "thinkingSignature",
    "textSignature",
    "thoughtSignature",
    "firstKeptEntryId",
    "targetId",
    "fromId",
    "toolCallId",
    "responseId",
    "display",
    "isError",
    "tokensBefore",
];

/// Returns the entries from `from` on that hold every word of the query, in file order. A word with a capital letter is
/// case-sensitive. `go_on` is called before each block; when it returns false, the result is what was found so far.
pub fn search(
    source: &Source,
    index: &Index,
    query: &str,
    from: EntryIx,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<EntryIx>, BodyError> {
    let words: Vec<SearchWord> = query.split_whitespace().map(SearchWord::new).collect();
    let mut found = Vec::new();
    if words.is_empty() {
        return Ok(found);
    }
    let mut part = FileBlock::default();
    for (ix, entry) in index.iter().skip(from.0 as usize) {
        if !part.contains_line(entry.offset, entry.bytes as usize) {
            if !go_on() {
                break;
            }
            part.read(source, index, ix)?;
        }
        if entry_matches(part.line(entry.offset, entry.bytes as usize), &words) {
            found.push(ix);
        }
    }
    Ok(found)
}

struct SearchWord {
    text: String,
    /// If true, `text` is in lower case.
    ignore_case: bool,
    /// Finds lines that may hold the word before they are parsed. `None` for words that JSON may escape.
    finder: Option<memmem::Finder<'static>>,
}

impl SearchWord {
    fn new(text: &str) -> Self {
        let ignore_case = !text.chars().any(char::is_uppercase);
        let lower = text.to_ascii_lowercase();
        let plain = lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
        let finder = plain.then(|| memmem::Finder::new(lower.as_bytes()).into_owned());
        let text = if ignore_case { text.to_lowercase() } else { text.to_owned() };
        Self { text, ignore_case, finder }
    }

    fn matches(&self, text: &str, lower: &str) -> bool {
        if self.ignore_case { lower.contains(&self.text) } else { text.contains(&self.text) }
    }
}

/// A part of the file, and the same in ASCII lower case.
#[derive(Default)]
struct FileBlock {
    bytes: AlignedBuffer,
    lower: Vec<u8>,
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
        let wanted = rest.min(BLOCK_BYTES).max(entry.bytes as usize);
        let read = self.bytes.read_exact(source, entry.offset, wanted);
        read.map_err(|error| BodyError::Read {
            path: source.path().display().to_string(),
            line: entry.line,
            source: error,
        })?;
        self.lower.clear();
        self.lower.extend_from_slice(&self.bytes);
        self.lower.make_ascii_lowercase();
        Ok(())
    }

    fn line(&self, at: u64, bytes: usize) -> (&[u8], &[u8]) {
        let from = (at - self.bytes.file_offset()) as usize;
        (&self.bytes[from..from + bytes], &self.lower[from..from + bytes])
    }
}

fn entry_matches((line, lower): (&[u8], &[u8]), words: &[SearchWord]) -> bool {
    let escaped = || memmem::find(line, b"\\u").is_some();
    let missing = |word: &SearchWord| word.finder.as_ref().is_some_and(|finder| finder.find(lower).is_none());
    if words.iter().any(missing) && !escaped() {
        return false;
    }
    let Ok(value) = parse_line(line, Trim::Both) else { return false };
    let mut text = String::new();
    collect_texts(&value, &mut text);
    let lower = text.to_lowercase();
    words.iter().all(|word| word.matches(&text, &lower))
}

/// Collects every text of an entry, one per line: words, thoughts, arguments, results, names and its id.
fn collect_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => push_text(text, out),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, out)),
        Value::Object(object) => {
            let image = object.get("type").is_some_and(|kind| kind.str_is("image"));
            for (key, value) in object.iter() {
                let is_text = !NON_TEXT_KEYS.iter().any(|name| key.eq_str(name));
                if key.eq_str("arguments") {
                    collect_all_texts(value, out);
                } else if is_text && !(image && key.eq_str("data")) {
                    collect_texts(value, out);
                }
            }
        }
        _ => {}
    }
}

/// Collects every text below a value, under any key: a tool may name its arguments as it likes.
fn collect_all_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => push_text(text, out),
        Value::Array(items) => items.iter().for_each(|item| collect_all_texts(item, out)),
        Value::Object(object) => object.iter().for_each(|(_, value)| collect_all_texts(value, out)),
        _ => {}
    }
}

fn push_text(text: &JsString, out: &mut String) {
    out.push_str(&text.to_string_lossy());
    out.push('\n');
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
    fn every_word_must_be_there_in_any_case_unless_it_has_a_capital() {
        assert_eq!(found("build"), [0, 2]);
        assert_eq!(found("fix build"), [0]);
        assert_eq!(found("Build"), [0]);
        assert_eq!(found("BUILD"), [0; 0]);
        assert_eq!(found("build fix nothing"), [0; 0]);
        assert_eq!(found("   "), [0; 0]);
    }

    #[test]
    fn names_of_kinds_and_image_data_are_no_text_but_arguments_and_ids_are() {
        assert_eq!(found("tooluse"), [0; 0]);
        assert_eq!(found("ninja"), [1]);
        assert_eq!(found("ninja \"all\""), [1]);
        assert_eq!(found("exec"), [1, 2]);
        assert_eq!(found("c3"), [2]);
    }

    #[test]
    fn text_behind_escapes_and_of_any_script_is_found() {
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
