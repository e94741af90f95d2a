//! Journals that clawscope did not write: whatever they say, a repair leaves every byte that was in the file.

#![expect(clippy::disallowed_methods, reason = "these files stand for those of others")]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use clawscope::commit::{
    CommitError, JournalFault, Refusal, SystemClock, SystemDisk, WrittenExtent, find_interrupted,
    recover_commit,
};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

/// What a forger may choose. Offsets are in bytes of the transcript.
#[derive(Debug, Clone)]
struct Forgery {
    size: u64,
    tail_bytes: u64,
    payload: Vec<u8>,
    leaf: String,
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn journal_of(transcript: &Path) -> PathBuf {
    let name = transcript.file_name().unwrap().to_str().unwrap();
    transcript.with_file_name(format!("{name}.clawscope-journal"))
}

/// The bytes of a journal with a valid seal, for this file and with the right hash of the end it names.
fn sealed(transcript: &Path, forgery: &Forgery) -> Vec<u8> {
    let (file, bytes) = (fs::metadata(transcript).unwrap(), fs::read(transcript).unwrap());
    let end = forgery.size.min(bytes.len() as u64) as usize;
    let start = end.saturating_sub(forgery.tail_bytes as usize);
    let intent = serde_json::json!({
        "clawscopeJournal": 1, "kind": "commit", "timeMs": 1_772_000_000_000_i64,
        "device": file.dev(), "inode": file.ino(), "size": forgery.size, "modifiedNs": null,
        "tailBytes": forgery.tail_bytes, "tailSha256": hex(&bytes[start..end]),
        "bytes": forgery.payload.len(), "leaf": forgery.leaf, "lock": "{}", "home": null,
    });
    let mut journal = intent.to_string().into_bytes();
    journal.push(b'\n');
    journal.extend_from_slice(&forgery.payload);
    let seal = hex(&journal);
    journal.extend_from_slice(seal.as_bytes());
    journal.push(b'\n');
    journal
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-02-21T05:59:00.000Z","cwd":"/"}"#;

fn lines(count: usize) -> String {
    let line = |at: usize| {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"e{}\"", at - 1) };
        format!(
            r#"{{"type":"message","id":"e{at}","parentId":{parent},"timestamp":"2026-02-21T06:00:00.000Z","message":{{"role":"user","content":"line {at}"}}}}"#
        )
    };
    std::iter::once(HEADER.to_owned()).chain((0..count).map(line)).map(|line| line + "\n").collect()
}

fn transcript_in(folder: &Path, text: &[u8]) -> PathBuf {
    let path = folder.join("t.jsonl");
    fs::write(&path, text).unwrap();
    path
}

/// Repairs; whether the bytes that were there are still there, and the outcome.
fn repair(path: &Path) -> Result<Option<clawscope::commit::RecoveredCommit>, CommitError> {
    let before = fs::read(path).unwrap();
    let found = find_interrupted(path, 0);
    let done = recover_commit(path, 0, &SystemClock, &SystemDisk);
    let after = fs::read(path).unwrap();
    assert!(after.starts_with(&before), "{} bytes became {}: {found:?}, {done:?}", before.len(), after.len());
    done
}

fn payload_of(text: &[u8], size: usize, kind: u8, extra: &[u8]) -> Vec<u8> {
    let rest = &text[size.min(text.len())..];
    match kind {
        0 => rest.to_vec(),
        1 => [rest, b"{\"type\":\"custom\",\"id\":\"x\"}\n"].concat(),
        2 => [rest, extra].concat(),
        3 => extra.to_vec(),
        _ => [rest, rest, b"\n"].concat(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_forged_journal_costs_a_byte(
        entries in 0_usize..5,
        torn in 0_usize..30,
        size in 0_u64..900,
        tail_bytes in prop_oneof![Just(0_u64), 1_u64..900, Just(u64::MAX)],
        kind in 0_u8..5,
        extra in prop::collection::vec(any::<u8>(), 0..40),
        leaf in prop_oneof![Just("e1".to_owned()), Just("nowhere".to_owned())],
        at_line in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut text = lines(entries).into_bytes();
        let whole = text.len();
        text.truncate(whole.saturating_sub(torn));
        // Line ends are where a forger would cut.
        let ends: Vec<usize> = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let size = if at_line && !ends.is_empty() { ends[size as usize % ends.len()] as u64 } else { size };
        let path = transcript_in(folder.path(), &text);
        let payload = payload_of(&text, size as usize, kind, &extra);
        let forgery = Forgery { size, tail_bytes, payload, leaf };
        fs::write(journal_of(&path), sealed(&path, &forgery)).unwrap();
        let _ = repair(&path);
        let _ = repair(&path);
    }

    #[test]
    fn no_bytes_in_a_journals_place_cost_a_byte(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let folder = tempfile::tempdir().unwrap();
        let path = transcript_in(folder.path(), lines(2).as_bytes());
        fs::write(journal_of(&path), bytes).unwrap();
        let _ = repair(&path);
    }
}

fn fault(path: &Path) -> JournalFault {
    let found = find_interrupted(path, 0).unwrap().expect("a journal");
    let WrittenExtent::Untrusted(fault) = found.extent else { panic!("{found:?}") };
    match repair(path) {
        Err(CommitError::Refused(Refusal::UntrustedJournal { fault: refused, .. })) => {
            assert_eq!(refused, fault);
        }
        other => panic!("{other:?}"),
    }
    assert!(fs::symlink_metadata(journal_of(path)).is_ok(), "it is the person's to remove");
    fault
}

#[test]
fn a_journal_that_names_the_whole_file_is_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let text = lines(3);
    let path = transcript_in(folder.path(), text.as_bytes());
    let whole =
        Forgery { size: 0, tail_bytes: 0, payload: text.clone().into_bytes(), leaf: "nowhere".into() };
    fs::write(journal_of(&path), sealed(&path, &whole)).unwrap();
    assert_eq!(fault(&path), JournalFault::NoOldEnd);
    let words =
        Forgery { size: text.len() as u64, tail_bytes: 8, payload: b"words\n".to_vec(), leaf: "x".into() };
    fs::write(journal_of(&path), sealed(&path, &words)).unwrap();
    assert_eq!(fault(&path), JournalFault::NoCommitLines);
}

#[test]
fn only_a_transcript_with_one_name_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sessions.json", "auth.txt", "t.jsonl.bak"] {
        let path = folder.path().join(name);
        fs::write(&path, lines(1)).unwrap();
        let rest = Forgery { size: 0, tail_bytes: 0, payload: lines(1).into_bytes(), leaf: "x".into() };
        fs::write(journal_of(&path), sealed(&path, &rest)).unwrap();
        assert_eq!(fault(&path), JournalFault::NoTranscriptName, "{name}");
    }
    let outside = tempfile::tempdir_in(folder.path().parent().unwrap()).unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, lines(2)).unwrap();
    let path = folder.path().join("t.jsonl");
    fs::hard_link(&secret, &path).unwrap();
    let forgery = Forgery { size: 0, tail_bytes: 0, payload: lines(2).into_bytes(), leaf: "x".into() };
    fs::write(journal_of(&path), sealed(&path, &forgery)).unwrap();
    assert_eq!(fault(&path), JournalFault::TranscriptHardLinked);
}

#[test]
fn a_journal_is_a_small_separate_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript_in(folder.path(), lines(2).as_bytes());
    let journal = journal_of(&path);
    let forgery = Forgery { size: 10, tail_bytes: 4, payload: b"{}\n".to_vec(), leaf: "x".into() };
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, sealed(&path, &forgery)).unwrap();
    for target in ["elsewhere", "/dev/zero", "gone"] {
        symlink(target, &journal).unwrap();
        assert_eq!(fault(&path), JournalFault::NotRegular, "{target}");
        fs::remove_file(&journal).unwrap();
    }
    fs::create_dir(&journal).unwrap();
    assert_eq!(fault(&path), JournalFault::NotRegular);
    fs::remove_dir(&journal).unwrap();
    fs::hard_link(&elsewhere, &journal).unwrap();
    assert_eq!(fault(&path), JournalFault::HardLinked);
    fs::remove_file(&journal).unwrap();
    fs::copy(&elsewhere, &journal).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o622)).unwrap();
    assert_eq!(fault(&path), JournalFault::MoreWriters);
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();
    fs::File::options().write(true).open(&journal).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(fault(&path), JournalFault::TooLarge { bytes, .. } if bytes == 1 << 40));
}

#[test]
fn nothing_in_a_locks_place_makes_a_command_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript_in(folder.path(), lines(2).as_bytes());
    let lock = folder.path().join("t.jsonl.lock");
    let refused = || {
        let prepared = fs::write(journal_of(&path), b"cut off");
        prepared.unwrap();
        let done = recover_commit(&path, 0, &SystemClock, &SystemDisk);
        assert!(matches!(done, Err(CommitError::Lock { .. })), "{done:?}");
    };
    for target in ["gone", "t.jsonl.lock", "/dev/zero", "t.jsonl"] {
        symlink(target, &lock).unwrap();
        refused();
        fs::remove_file(&lock).unwrap();
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &lock,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    refused();
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    refused();
}
