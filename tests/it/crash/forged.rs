//! Journals that clawscope did not write: with any content, a repair keeps every byte that was in the file.

#![expect(clippy::disallowed_methods, reason = "these files stand for those of others")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use clawscope::commit::{
    CommitError, JournalFault, Refusal, SystemClock, SystemDisk, WrittenExtent, find_interrupted,
    recover_commit,
};
use clawscope::units::{Bytes, Millis, Moment};
use proptest::prelude::*;

use crate::fuzz::checks::journals::{
    Forgery, journal_costs_no_byte, journal_of, lines, payload_of, repair, sealed, transcript_in,
};

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
        let mut text = lines(entries).into_bytes();
        let whole = text.len();
        text.truncate(whole.saturating_sub(torn));
        // Line ends are where a forger would cut.
        let ends: Vec<usize> = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        let size = if at_line && !ends.is_empty() { ends[size as usize % ends.len()] as u64 } else { size };
        let payload = payload_of(&text, size as usize, kind, &extra);
        let forgery = Forgery { size, tail_bytes, payload, leaf };
        journal_costs_no_byte(&text, |path| sealed(path, &forgery));
    }

    #[test]
    fn no_bytes_in_a_journals_place_cost_a_byte(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        journal_costs_no_byte(lines(2).as_bytes(), |_| bytes);
    }
}

fn fault(path: &Path) -> JournalFault {
    let found = find_interrupted(path, Moment::ZERO).unwrap().expect("a journal");
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
    assert!(matches!(fault(&path), JournalFault::TooLarge { bytes, .. } if bytes == Bytes(1 << 40)));
}

#[test]
fn no_file_in_place_of_a_lock_blocks_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript_in(folder.path(), lines(2).as_bytes());
    let lock = folder.path().join("t.jsonl.lock");
    let refused = || {
        let prepared = fs::write(journal_of(&path), b"cut off");
        prepared.unwrap();
        let done = recover_commit(&path, Millis::ZERO, &SystemClock, &SystemDisk);
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
