//! Journals that clawscope did not write: with any content, a repair keeps every byte that was in the file.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clawscope::commit::{
    CommitError, RecoveredCommit, SystemClock, SystemDisk, find_interrupted, recover_commit,
};
use clawscope::units::{Millis, Moment};
use sha2::{Digest as _, Sha256};

/// The choices of a forger. Offsets are in bytes of the transcript.
#[derive(Debug, Clone)]
pub struct Forgery {
    pub size: u64,
    pub tail_bytes: u64,
    pub payload: Vec<u8>,
    pub leaf: String,
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

pub fn put(path: &Path, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

pub fn journal_of(transcript: &Path) -> PathBuf {
    let name = transcript.file_name().unwrap().to_str().unwrap();
    transcript.with_file_name(format!("{name}.clawscope-journal"))
}

/// An intent and a payload under a valid seal.
fn seal(intent: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut journal = [intent, b"\n", payload].concat();
    let seal = hex(&journal);
    journal.extend_from_slice(seal.as_bytes());
    journal.push(b'\n');
    journal
}

/// The bytes of a journal with a valid seal, for this file with the right hash of its named end.
pub fn sealed(transcript: &Path, forgery: &Forgery) -> Vec<u8> {
    let (file, bytes) = (fs::metadata(transcript).unwrap(), fs::read(transcript).unwrap());
    let end = forgery.size.min(bytes.len() as u64) as usize;
    let start = end.saturating_sub(forgery.tail_bytes as usize);
    let intent = serde_json::json!({
        "clawscopeJournal": 1, "kind": "commit", "timeMs": 1_772_000_000_000_i64,
        "device": file.dev(), "inode": file.ino(), "size": forgery.size, "modifiedNs": null,
        "tailBytes": forgery.tail_bytes, "tailSha256": hex(&bytes[start..end]),
        "bytes": forgery.payload.len(), "leaf": forgery.leaf, "lock": "{}", "home": null,
    });
    seal(intent.to_string().as_bytes(), &forgery.payload)
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-21T05:59:00.000Z","cwd":"/"}"#;

/// A transcript of a header and `count` messages.
pub fn lines(count: usize) -> String {
    let line = |at: usize| {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"e{}\"", at - 1) };
        format!(
            r#"{{"type":"message","id":"e{at}","parentId":{parent},"timestamp":"2026-02-21T06:00:00.000Z","message":{{"role":"user","content":"line {at}"}}}}"#
        )
    };
    std::iter::once(HEADER.to_owned()).chain((0..count).map(line)).map(|line| line + "\n").collect()
}

pub fn transcript_in(folder: &Path, text: &[u8]) -> PathBuf {
    let path = folder.join("t.jsonl");
    put(&path, text);
    path
}

/// Repairs, checks that the old bytes are unchanged, and returns the outcome.
pub fn repair(path: &Path) -> Result<Option<RecoveredCommit>, CommitError> {
    let before = fs::read(path).unwrap();
    let found = find_interrupted(path, Moment::ZERO);
    let done = recover_commit(path, Millis::ZERO, &SystemClock, &SystemDisk);
    let after = fs::read(path).unwrap();
    assert!(after.starts_with(&before), "{} bytes became {}: {found:?}, {done:?}", before.len(), after.len());
    done
}

/// Returns a payload that continues the file after `size`, or an unrelated one.
pub fn payload_of(text: &[u8], size: usize, kind: u8, extra: &[u8]) -> Vec<u8> {
    let rest = &text[size.min(text.len())..];
    match kind % 5 {
        0 => rest.to_vec(),
        1 => [rest, b"{\"type\":\"custom\",\"id\":\"x\"}\n"].concat(),
        2 => [rest, extra].concat(),
        3 => extra.to_vec(),
        _ => [rest, rest, b"\n"].concat(),
    }
}

/// Repairs a transcript twice next to these journal bytes.
pub fn journal_costs_no_byte(text: &[u8], journal: impl FnOnce(&Path) -> Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript_in(folder.path(), text);
    put(&journal_of(&path), &journal(&path));
    let _ = repair(&path);
    let _ = repair(&path);
}

/// The first bytes choose the form: the bytes unchanged; one with a valid seal; a forgery for the transcript, which may
/// be cut off at its end.
#[allow(dead_code, reason = "for the target; the tests choose forgeries")]
pub fn any_journal_costs_no_byte(bytes: &[u8]) {
    let Some((&form, rest)) = bytes.split_first() else { return };
    let text = lines(usize::from(form >> 4) % 5).into_bytes();
    match form % 4 {
        0 => journal_costs_no_byte(&text, |_| rest.to_vec()),
        1 => {
            let mut parts = rest.splitn(2, |byte| *byte == b'\x0C');
            let (intent, payload) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            journal_costs_no_byte(&text, |path| sealed_intent(path, &text, intent, payload));
        }
        _ => forged(text, rest),
    }
}

/// Fills in names that a forger cannot know before the file exists.
#[allow(dead_code, reason = "for the target")]
fn sealed_intent(transcript: &Path, text: &[u8], intent: &[u8], payload: &[u8]) -> Vec<u8> {
    let file = fs::metadata(transcript).unwrap();
    let intent = String::from_utf8_lossy(intent)
        .replace("DEVICE", &file.dev().to_string())
        .replace("INODE", &file.ino().to_string())
        .replace("SIZE", &text.len().to_string())
        .replace("BYTES", &payload.len().to_string())
        .replace("HASH", &hex(text));
    seal(intent.as_bytes(), payload)
}

#[allow(dead_code, reason = "for the target")]
fn forged(mut text: Vec<u8>, choices: &[u8]) {
    let Some((head, extra)) = choices.split_first_chunk::<6>() else { return };
    let number = |at: usize| usize::from(u16::from_le_bytes([head[at], head[at + 1]]));
    text.truncate(text.len().saturating_sub(usize::from(head[5]) % 32));
    // Line ends are where a forger would cut.
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let by_line = head[4] & 0x80 != 0 && !ends.is_empty();
    let size = if by_line { ends[number(0) % ends.len()] } else { number(0) };
    let tail_bytes = if number(2) == 0xFFFF { u64::MAX } else { number(2) as u64 };
    let payload = payload_of(&text, size, head[4] & 0x7F, extra);
    let leaf = if head[4] & 0x40 == 0 { "e1" } else { "nowhere" }.to_owned();
    journal_costs_no_byte(&text, |path| {
        sealed(path, &Forgery { size: size as u64, tail_bytes, payload, leaf })
    });
}
