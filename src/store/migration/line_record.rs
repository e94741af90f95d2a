//! One record per line of a transcript while a file and its import are compared: ids, position and digests. Texts are
//! read again only where digests differ, so that two large transcripts need not be in memory.

use std::collections::HashMap;
use std::io::{self, BufRead as _, Read};

use sha2::{Digest as _, Sha256};

use super::importer::generated_id_prefix;
use crate::js::{self, Value};
use crate::store::source::Source;

/// First 16 bytes of a SHA-256.
pub(super) type Digest = [u8; 16];

/// A line of a file, or a row of a database.
#[derive(Debug, Clone)]
pub(super) struct LineRecord {
    /// Id as the gateway indexes it: without white space around it.
    pub id: Option<String>,
    pub parent: Option<String>,
    /// Line number, from 1.
    pub line: u64,
    /// Byte offset.
    pub offset: u64,
    pub bytes: usize,
    /// Digest of the whole entry.
    pub digest: Digest,
    /// Digest of the entry without its ids; `None` without a timestamp, because the rest may not be unique.
    pub body_digest: Option<Digest>,
}

#[derive(Debug, Default)]
pub(super) struct LineRecords {
    /// Lines that are neither blank nor skipped by the importer.
    pub lines: Vec<LineRecord>,
    /// Numbers of lines that are not JSON.
    pub unreadable_lines: Vec<u64>,
}

impl LineRecords {
    /// Reads a transcript; `form` converts each line to the form to compare.
    pub(super) fn read(source: &Source, mut form: impl FnMut(Value) -> Option<Value>) -> io::Result<Self> {
        let mut records = Self::default();
        for_each_line(source, |line| {
            match line.value() {
                Some(value) => records.lines.extend(form(value).map(|value| line.record(&value))),
                None if line.is_terminated => records.unreadable_lines.push(line.number),
                // A writer has not finished the last line.
                None => {}
            }
            true
        })?;
        Ok(records)
    }

    /// Returns the prefix of ids that the importer generated: the most frequent one, because a normal id may look the
    /// same.
    pub(super) fn generated_id_prefix(&self) -> Option<String> {
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for prefix in self.lines.iter().filter_map(|record| generated_id_prefix(record.id.as_deref()?)) {
            *counts.entry(prefix).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(prefix, count)| (*count, std::cmp::Reverse(*prefix)));
        most.map(|(prefix, _)| prefix.to_owned())
    }
}

#[derive(Debug)]
pub(super) struct RawLine<'a> {
    /// Line number, from 1.
    pub number: u64,
    offset: u64,
    bytes: &'a [u8],
    /// Whether a line end follows.
    is_terminated: bool,
}

impl RawLine<'_> {
    /// Parses the line; `None` when it is not JSON.
    pub(super) fn value(&self) -> Option<Value> {
        js::parse(std::str::from_utf8(self.bytes).ok()?.trim_matches(js::is_trimmed)).ok()
    }

    fn record(&self, value: &Value) -> LineRecord {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let known = text("timestamp").is_some_and(|time| !time.is_blank());
        LineRecord {
            id: entry_id(value),
            parent: text("parentId").map(js::JsString::to_string_lossy),
            line: self.number,
            offset: self.offset,
            bytes: self.bytes.len(),
            digest: digest_without(value, &[]),
            body_digest: known.then(|| digest_without(value, &["id", "parentId"])),
        }
    }
}

/// Returns the id of an entry as the gateway indexes it.
pub(super) fn entry_id(entry: &Value) -> Option<String> {
    let id = entry.get("id").and_then(Value::as_str)?.trim();
    (!id.is_empty()).then(|| id.to_string_lossy())
}

/// Calls `take` for every line that is not blank, until it returns false.
pub(super) fn for_each_line(source: &Source, mut take: impl FnMut(&RawLine<'_>) -> bool) -> io::Result<()> {
    let mut reader = io::BufReader::with_capacity(1 << 18, SourceReader { source, at: 0 });
    let (mut bytes, mut offset, mut number) = (Vec::new(), 0, 0);
    loop {
        bytes.clear();
        let count = reader.read_until(b'\n', &mut bytes)?;
        if count == 0 {
            return Ok(());
        }
        number += 1;
        let is_whole = bytes.last() == Some(&b'\n');
        let line = RawLine {
            number,
            offset,
            bytes: &bytes[..count - usize::from(is_whole)],
            is_terminated: is_whole,
        };
        offset += count as u64;
        let is_blank = line.bytes.iter().all(u8::is_ascii_whitespace);
        if !is_blank && !take(&line) {
            return Ok(());
        }
    }
}

/// Reads a source from its first byte.
struct SourceReader<'a> {
    source: &'a Source,
    at: u64,
}

impl Read for SourceReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Digests an entry with sorted keys, because the importer appends keys to the entry and to its message.
fn digest_without(entry: &Value, without: &[&str]) -> Digest {
    let mut hash = Sha256::new();
    let Some(object) = entry.as_object() else {
        hash.update(js::stringify(entry));
        return truncate_hash(hash);
    };
    let mut members: Vec<_> =
        object.iter().filter(|(key, _)| !without.iter().any(|it| key.eq_str(it))).collect();
    members.sort_by_key(|(key, _)| *key);
    for (key, value) in members {
        hash.update(js::stringify_str(key));
        match value.as_object().filter(|_| key.eq_str("message")) {
            None => hash.update(js::stringify(value)),
            Some(message) => {
                let mut members: Vec<_> = message.iter().collect();
                members.sort_by_key(|(key, _)| *key);
                for (key, value) in members {
                    hash.update(js::stringify_str(key));
                    hash.update(js::stringify(value));
                }
            }
        }
    }
    truncate_hash(hash)
}

fn truncate_hash(hash: Sha256) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash.finalize()[..16]);
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> LineRecords {
        LineRecords::read(&Source::from_memory("t.jsonl", text.as_bytes().to_vec()), Some).unwrap()
    }

    #[test]
    fn the_order_of_keys_and_the_way_of_writing_do_not_matter() {
        let read = records(
            "{\"type\":\"message\",\"id\":\" a \",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n\n {\"id\":\" a \", \"message\":{\"content\":\"\\u0078\",\"role\":\"user\"},\"type\":\"message\"}\n",
        );
        assert_eq!(read.lines[0].digest, read.lines[1].digest);
        assert_eq!((read.lines[0].id.as_deref(), read.lines[1].line), (Some("a"), 3));
    }

    #[test]
    fn invalid_lines_are_numbered_and_an_unterminated_one_is_ignored() {
        let read = records("{\"id\":\"a\"}\n{oops\n{\"id\":\"b\"}\n{\"id\":");
        assert_eq!((read.lines.len(), read.unreadable_lines), (2, vec![2]));
    }

    #[test]
    fn the_prefix_that_the_importer_made_is_found_among_other_ids() {
        let read = records(
            "{\"id\":\"7a56921d076cb303-1\"}\n{\"id\":\"7a56921d076cb303-2\"}\n{\"id\":\"00000000000000ff-2\"}\n{\"id\":\"b\"}\n",
        );
        assert_eq!(read.generated_id_prefix().as_deref(), Some("7a56921d076cb303"));
    }
}
