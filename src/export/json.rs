//! A document as JSON with a stable schema.

use std::fmt::Write as _;
use std::io::{self, BufWriter, Write as _};

use schemars::JsonSchema;
use serde::Serialize;

use crate::export::document::Document;
use crate::js::{json_text, write_json};

/// Version of every JSON shape that clawscope writes. It increases when a key changes its meaning or is removed.
pub const SCHEMA_VERSION: u64 = 1;

/// A session with every entry. Tokens are estimates.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DocumentJson<'a> {
    schema_version: u64,
    format: &'static str,
    #[serde(flatten)]
    document: &'a Document,
}

/// Builds the document's object.
pub fn json(document: &Document) -> DocumentJson<'_> {
    DocumentJson { schema_version: SCHEMA_VERSION, format: "clawscope-session", document }
}

/// An answer with the version of its JSON.
pub trait JsonOutput: Serialize {
    const VERSION: u64 = SCHEMA_VERSION;
}

/// An answer with its version.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}")]
pub struct VersionedOutput<T> {
    /// Increases when a key changes its meaning or is removed.
    schema_version: u64,
    #[serde(flatten)]
    output: T,
}

/// Encodes a command's answer, or the same from a screen: JSON in one line, `schemaVersion` first.
pub fn to_line<T: JsonOutput>(output: &T) -> io::Result<String> {
    Ok(escaped(&json_text(&VersionedOutput { schema_version: T::VERSION, output })?))
}

/// Writes the text of [`to_line`] and a line end, without a copy of it in memory.
pub fn write_line<T: JsonOutput>(writer: &mut dyn io::Write, output: &T) -> io::Result<()> {
    let mut writer = BufWriter::new(EscapingWriter(writer));
    write_json(&mut writer, &VersionedOutput { schema_version: T::VERSION, output })?;
    writer.write_all(b"\n")?;
    writer.flush()
}

/// Escapes a JSON text that is written in whole characters: a buffer before it joins writes, and splits none.
struct EscapingWriter<'a>(&'a mut dyn io::Write);

impl io::Write for EscapingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_ascii() && memchr::memchr(0x7f, bytes).is_none() {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        if text.contains(needs_escape) {
            self.0.write_all(escaped(text).as_bytes())?;
        } else {
            self.0.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes all characters of a JSON text that can act on a terminal, without a change of its meaning.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if needs_escape(char) {
            _ = write!(out, "\\u{:04x}", char as u32);
        } else {
            out.push(char);
        }
    }
    out
}

/// C1 controls, DEL, line separators and direction marks, all in the basic plane. JSON escapes the other controls
/// itself.
fn needs_escape(char: char) -> bool {
    matches!(char, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
