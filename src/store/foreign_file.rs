//! Recognises files that are not transcripts, such as notes, a picture or one JSON document, so that they are not
//! reported as "0 messages".

use std::io::Read as _;
use std::path::Path;

/// Bytes searched for an entry. A transcript begins with its header; more than this is read in vain only if the file is
/// none.
const SEARCHED_BYTES: u64 = 1 << 20;
/// First bytes of common binary files.
const SIGNATURES: [(&[u8], &str); 6] = [
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
];

/// The kind of a file that is not a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFile {
    /// Has no bytes or only white space.
    Empty,
    /// A binary file, in words.
    Binary(&'static str),
    /// One JSON value over the whole file.
    JsonDocument,
    /// JSON lines of another program: no line has a `type`.
    JsonLines,
    PlainText,
}

impl ForeignFile {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Empty => "an empty transcript",
            Self::Binary(what) => what,
            Self::JsonDocument => "one JSON document, not JSON lines",
            Self::JsonLines => "JSON lines without a \"type\", so not the entries of a session",
            Self::PlainText => "plain text",
        }
    }
}

/// Returns the kind of a file without an entry of a session near its start; `None` for transcripts and unreadable files.
pub fn recognise(path: &Path) -> Option<ForeignFile> {
    let mut bytes = Vec::new();
    crate::files::open(path).ok()?.take(SEARCHED_BYTES).read_to_end(&mut bytes).ok()?;
    let is_cut = bytes.len() as u64 == SEARCHED_BYTES;
    classify(&bytes, is_cut)
}

fn classify(bytes: &[u8], is_cut: bool) -> Option<ForeignFile> {
    if bytes.trim_ascii().is_empty() {
        return Some(ForeignFile::Empty);
    }
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    if lines.clone().any(is_entry) || is_cut && lines.next_back().is_some_and(starts_like_entry) {
        return None;
    }
    if let Some((_, what)) = SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)) {
        return Some(ForeignFile::Binary(what));
    }
    if bytes.contains(&0) || !is_cut && std::str::from_utf8(bytes).is_err() {
        return Some(ForeignFile::Binary("a binary file"));
    }
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    let own: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    Some(match own.as_slice() {
        [_, _, ..] if own.iter().all(|line| line.starts_with(b"{") && is_json(line)) => {
            ForeignFile::JsonLines
        }
        _ if is_json(bytes) => ForeignFile::JsonDocument,
        _ => ForeignFile::PlainText,
    })
}

/// Whether a line is a JSON object with a textual `type`.
fn is_entry(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Entry {
        #[serde(rename = "type")]
        _kind: String,
    }
    line.starts_with(b"{") && serde_json::from_slice::<Entry>(line).is_ok()
}

/// Whether a line that is cut off may be an entry.
fn starts_like_entry(line: &[u8]) -> bool {
    line.starts_with(b"{") && memchr::memmem::find(line, b"\"type\"").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_an_entry_are_named_by_their_type() {
        for (bytes, expected) in [
            (&b""[..], Some(ForeignFile::Empty)),
            (b"\n \n", Some(ForeignFile::Empty)),
            (b"hello\nworld\n", Some(ForeignFile::PlainText)),
            (b"\x89PNG\r\n\x1a\n\0\0", Some(ForeignFile::Binary("a PNG image"))),
            (b"abc\0\xff", Some(ForeignFile::Binary("a binary file"))),
            (b"{\n \"type\": 1,\n \"b\": [1]\n}\n", Some(ForeignFile::JsonDocument)),
            (b"[{\"type\":\"message\"}]", Some(ForeignFile::JsonDocument)),
            (b"{\"a\":{\"sessionId\":\"x\"}}", Some(ForeignFile::JsonDocument)),
            (b"{\"a\":1}\n{\"b\":2}\n", Some(ForeignFile::JsonLines)),
            (b"{\"type\":\"session\",\"id\":\"x\"}\n", None),
            (b"\0\0damaged\n{\"type\":\"message\"}\n\xff", None),
        ] {
            assert_eq!(classify(bytes, false), expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_entry_longer_than_the_search_is_an_entry() {
        let line = b"{\"id\":\"a\",\"type\":\"message\",\"text\":\"xxxxx";
        assert_eq!(classify(line, true), None);
        assert!(classify(line, false).is_some());
    }
}
