//! Recognises a transcript that has not changed since the last run.

use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::store::session_builder::parse_header;
use crate::store::source::Source;
use crate::units::{Bytes, Moment};

/// Bytes at the end of a transcript that are compared.
const TAIL_BYTES: u64 = 4096;

/// Bytes at the start of a transcript in which its header is looked for.
const HEAD_BYTES: u64 = 16 << 10;

/// State of a transcript. Transcripts only grow, so that length, time and end reveal every regular change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stamp {
    pub bytes: Bytes,
    /// Last change of the file, ms since 1970; null in a database.
    pub modified_ms: Option<i64>,
    /// Digest of the last 4,096 bytes.
    pub tail: String,
}

impl Stamp {
    /// # Errors
    /// When the transcript cannot be read.
    pub fn read(source: &Source, modified_ms: Option<Moment>) -> io::Result<Self> {
        let bytes = source.len()?;
        let tail = bytes.min(TAIL_BYTES);
        let tail = source.read_span(bytes - tail, tail as usize)?;
        Ok(Self { bytes: Bytes(bytes), modified_ms: modified_ms.map(Moment::whole), tail: digest(&[&tail]) })
    }
}

/// Returns the time in the transcript's header.
pub fn started_ms(source: &Source) -> Option<Moment> {
    let head = source.read_span(0, source.len().ok()?.min(HEAD_BYTES) as usize).ok()?;
    let started = parse_header(&String::from_utf8_lossy(&head))?.started_ms;
    started.is_finite().then_some(started)
}

/// Returns the first 16 hex digits of the SHA-256 of some parts. Their lengths are hashed too, so that no two lists of parts
/// are the same text.
pub fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..8].iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(text: &str) -> Stamp {
        Stamp::read(&Source::from_memory("a.jsonl", text.as_bytes().to_vec()), Some(Moment(1.0))).unwrap()
    }

    #[test]
    fn growth_and_another_end_change_the_stamp_and_reading_again_does_not() {
        let long = "x".repeat(10_000);
        assert_eq!(stamp(&long), stamp(&long));
        assert_ne!(stamp(&long), stamp(&format!("{long}y")));
        assert_ne!(stamp(&long).tail, stamp(&format!("{}y", &long[1..])).tail);
        assert_eq!(stamp("").bytes, Bytes::ZERO);
    }

    #[test]
    fn parts_are_not_joined() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[b"a"]).len(), 16);
    }
}
