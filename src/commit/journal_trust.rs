//! Decides whether a journal may be acted on. Stores are shared, synced and copied, so a journal next to a transcript may
//! come from anyone. One that clawscope cannot have written is reported and left for the person; and no journal can
//! make a repair remove a byte that was in the file when the repair began ([`super::recover`]).

use std::fs::{File, Metadata};
use std::{fmt, io};

use crate::commit::session_folder::SessionFiles;
use crate::files;
use crate::js::{self, Value};
use crate::units::Bytes;

/// Bytes that a journal may have besides twice its transcript: a commit appends copies of entries, edits and a summary.
const SPARE_BYTES: u64 = 64 << 20;

/// The reason why clawscope does not act on a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalFault {
    /// The journal is a link, a folder, a pipe or a device.
    NotRegular,
    /// The journal has another name elsewhere.
    HardLinked,
    /// Another user owns it.
    OtherOwner,
    /// More users may write to it than to the transcript.
    MoreWriters,
    TooLarge {
        bytes: Bytes,
        limit: Bytes,
    },
    /// The file of the journal is not named like a transcript.
    NoTranscriptName,
    /// The transcript has another name elsewhere, which a repair would change too.
    TranscriptHardLinked,
    /// It names no end of the file to append to.
    NoOldEnd,
    /// The bytes to append are not the lines of a commit.
    NoCommitLines,
}

impl fmt::Display for JournalFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular => write!(f, "it is not a regular file"),
            Self::HardLinked => write!(f, "it is a hard link"),
            Self::OtherOwner => write!(f, "another user owns it"),
            Self::MoreWriters => write!(f, "more users may write to it than to the transcript"),
            Self::TooLarge { bytes, limit } => write!(f, "it has {bytes} bytes and the limit is {limit}"),
            Self::NoTranscriptName => write!(f, "the file beside it is not a .jsonl transcript"),
            Self::TranscriptHardLinked => write!(f, "the transcript is a hard link"),
            Self::NoOldEnd => write!(f, "it names no end of the transcript to append behind"),
            Self::NoCommitLines => write!(f, "the bytes to append are not the lines of a commit"),
        }
    }
}

/// A journal's bytes, or the reason not to read them.
pub(super) enum JournalFile {
    Missing,
    Untrusted(JournalFault),
    Bytes(Vec<u8>),
}

/// Reads the journal of a transcript if it is a file that clawscope may have written.
pub(super) fn read_journal_file(session: &SessionFiles<'_>) -> io::Result<JournalFile> {
    let file = match session.journal().open() {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(JournalFile::Missing),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Ok(JournalFile::Untrusted(JournalFault::NotRegular));
        }
        Err(error) => return Err(error),
    };
    let limit = match file_fault(&file, session)? {
        Ok(limit) => limit,
        Err(fault) => return Ok(JournalFile::Untrusted(fault)),
    };
    Ok(JournalFile::Bytes(files::read_open(file, limit)?))
}

/// Returns the limit for the journal's size in bytes, or its fault.
fn file_fault(file: &File, session: &SessionFiles<'_>) -> io::Result<Result<u64, JournalFault>> {
    if session.transcript.extension().is_none_or(|extension| extension != "jsonl") {
        return Ok(Err(JournalFault::NoTranscriptName));
    }
    let own = file.metadata()?;
    let beside = match session.transcript().open() {
        Ok(transcript) => Some(transcript.metadata()?),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => None,
        Err(error) => return Err(error),
    };
    if let Some(fault) = owner_fault(&own, beside.as_ref()) {
        return Ok(Err(fault));
    }
    let limit = beside.map_or(0, |beside| beside.len()).saturating_mul(2).saturating_add(SPARE_BYTES);
    Ok(if own.len() > limit {
        Err(JournalFault::TooLarge { bytes: Bytes(own.len()), limit: Bytes(limit) })
    } else {
        Ok(limit)
    })
}

#[cfg(unix)]
fn owner_fault(journal: &Metadata, transcript: Option<&Metadata>) -> Option<JournalFault> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_MAY_WRITE: u32 = 0o022;
    if journal.nlink() > 1 {
        return Some(JournalFault::HardLinked);
    }
    let transcript = transcript?;
    if transcript.nlink() > 1 {
        Some(JournalFault::TranscriptHardLinked)
    } else if journal.uid() != transcript.uid() && journal.uid() != rustix::process::geteuid().as_raw() {
        Some(JournalFault::OtherOwner)
    } else if journal.mode() & !transcript.mode() & OTHERS_MAY_WRITE != 0 {
        Some(JournalFault::MoreWriters)
    } else {
        None
    }
}

#[cfg(not(unix))]
fn owner_fault(_: &Metadata, _: Option<&Metadata>) -> Option<JournalFault> {
    None
}

/// Whether the bytes are whole lines, each an entry with a type.
pub(super) fn are_commit_lines(bytes: &[u8]) -> bool {
    let Some(lines) = std::str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n')) else {
        return false;
    };
    // A file without a line end at its end gets one before the first line.
    let lines = lines.strip_prefix('\n').unwrap_or(lines);
    lines.split('\n').all(|line| js::parse(line).is_ok_and(|entry| is_entry(&entry)))
}

fn is_entry(entry: &Value) -> bool {
    entry.get("type").and_then(Value::as_str).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lines_of_entries_are_appended_for_a_journal() {
        let one = r#"{"type":"custom","id":"a"}"#;
        let lines = |text: String| are_commit_lines(text.as_bytes());
        assert!(lines(format!("{one}\n")) && lines(format!("\n{one}\n{one}\n")));
        assert!(!lines(one.to_owned()), "the last line has no end");
        assert!(!lines(format!("{one}\nhalf a li\n")) && !lines(format!("half a li\n{one}\n")));
        assert!(!lines(format!("{one}\n\n{one}\n")), "an empty line");
        assert!(!lines(r#"{"id":"a"}"#.to_owned() + "\n") && !lines(r#"{"type":5}"#.to_owned() + "\n"));
        assert!(!lines(String::new()) && !lines("\n".to_owned()) && !are_commit_lines(b"\xFF\n"));
    }
}
