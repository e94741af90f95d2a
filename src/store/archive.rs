//! Classifies the files in a sessions dir by their names (store F).
//!
//! For example, `s1.jsonl` is a transcript, `s1.jsonl.reset.2026-03-05T07-58-00.000Z` its archive after `/new`, and
//! `s1.jsonl.lock` a lock.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::file_identity::{FileIdentity, file_identity};
use crate::store::informal_archive_name;
use crate::store::informal_archive_name::parse_stamp_ms;

pub use crate::store::informal_archive_name::{ArchiveName, ArchiveReason};

/// Kind of a file in a sessions dir.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileKind<'a> {
    /// Transcript in use (store F4).
    Transcript,
    Archive(ArchiveName<'a>),
    /// Transcript that an import into a database moved aside, with its original name (sqlite A6).
    MovedAside(&'a str),
    StoreFile,
    /// Lock on the named file.
    Lock(&'a str),
    /// The gateway's recording of its runs, or the pointer to one: not a session (trajectory 2).
    Recording,
    /// Backups and temporary files of repairs and store writes (store F3), and anything else.
    Other,
}

/// Classifies a file by its name.
pub fn classify(name: &str) -> FileKind<'_> {
    if name == "sessions.json" {
        FileKind::StoreFile
    } else if is_recording(name) {
        FileKind::Recording
    } else if let Some(locked) = name.strip_suffix(".lock") {
        FileKind::Lock(locked)
    } else if let Some(archive) = parse_archive_name(name) {
        FileKind::Archive(archive)
    } else if let Some(original) = moved_aside(name) {
        FileKind::MovedAside(original)
    } else if name.strip_suffix(".jsonl").is_some() {
        FileKind::Transcript
    } else {
        FileKind::Other
    }
}

/// Returns the front part of `<key with : as _>.<file>.imported-<ms>`, which ends in `.<number>` when that name was
/// taken.
pub(super) fn imported_name(name: &str) -> Option<&str> {
    let (front, end) = name.rsplit_once(".imported-")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (ms, number) = end.split_once('.').unwrap_or((end, "0"));
    (is_number(ms) && is_number(number)).then_some(front)
}

/// Returns the name of a transcript before an import moved it.
fn moved_aside(name: &str) -> Option<&str> {
    let front = imported_name(name)?;
    let stem = front.strip_suffix(".jsonl")?;
    let from = stem.rfind('.').map_or(0, |at| at + 1);
    Some(&front[from..])
}

/// Returns an archive's name for its key: without the part that only distinguishes copies of one history (sqlite E5).
pub(super) fn short_archive_name(name: &str) -> &str {
    let front = name.strip_suffix(".zst").unwrap_or(name);
    front.rsplit_once('.').filter(|(_, end)| is_generation(end)).map_or(name, |(front, _)| front)
}

/// Whether a name is a transcript's. The gateway accepts the extension in lower case only.
pub(super) fn is_jsonl(name: &str) -> bool {
    matches!(classify(name), FileKind::Transcript)
}

pub fn is_jsonl_path(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_jsonl(&name.to_string_lossy()))
}

/// Whether a name is a recording's or its pointer's. Backups append any suffix (trajectory 2.7).
fn is_recording(name: &str) -> bool {
    let ends_at = |mark: &str| name.find(mark).map(|at| &name[at + mark.len()..]);
    let behind = ends_at(".trajectory.jsonl").or_else(|| ends_at(".trajectory-path.json"));
    name.starts_with(".openclaw-trajectory-")
        || behind.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

/// Parses `<original>.<reason>.<time>`; the last reason counts (store F1). An archive from a database also has the
/// generation of its history, and `.zst` when packed (sqlite E5). Copies by other programs and people are recognised by
/// a word for a copy in their names.
pub fn parse_archive_name(name: &str) -> Option<ArchiveName<'_>> {
    parse_gateway_archive_name(name).or_else(|| informal_archive_name::parse(name))
}

fn parse_gateway_archive_name(name: &str) -> Option<ArchiveName<'_>> {
    let (front, is_packed) = name.strip_suffix(".zst").map_or((name, false), |front| (front, true));
    ArchiveReason::ALL.into_iter().find_map(|reason| {
        let (original, rest) = front.rsplit_once(&format!(".{}.", reason.as_str()))?;
        let generation = rest.rsplit_once('.').filter(|(_, end)| is_generation(end));
        let (stamp, left_a_database) = generation.map_or((rest, false), |(stamp, _)| (stamp, true));
        let time_ms = parse_stamp_ms(stamp).filter(|_| left_a_database || !is_packed)?;
        Some(ArchiveName { original, reason, time_ms: Some(time_ms), is_packed })
            .filter(|_| !original.is_empty())
    })
}

/// Finds the archive that a file was renamed to (store F1).
pub fn find_archive(path: &Path, file: FileIdentity) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let is_own = |other: &str| match classify(other) {
        FileKind::Archive(archive) => archive.original == name,
        _ => false,
    };
    let beside = fs::read_dir(path.parent()?).ok()?.flatten();
    let archives = beside.filter(|entry| is_own(&entry.file_name().to_string_lossy()));
    archives.map(|entry| entry.path()).find(|path| {
        let meta = fs::symlink_metadata(path).ok();
        meta.is_some_and(|meta| file_identity(&meta) == file)
    })
}

fn is_generation(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Moment;

    #[test]
    fn archives_name_their_original_reason_and_time() {
        for (name, original, reason, time_ms) in [
            ("a.jsonl.reset.2026-02-21T05-16-55.686Z", "a.jsonl", ArchiveReason::Reset, 1_771_651_015_686),
            ("a.jsonl.deleted.2026-02-21T05-16-55Z", "a.jsonl", ArchiveReason::Deleted, 1_771_651_015_000),
            ("a-topic-5.jsonl.bak.1970-01-01T00-00-00.000Z", "a-topic-5.jsonl", ArchiveReason::Bak, 0),
            (
                "a.jsonl.reset.2026-02-21T05-16-55.686Z.bak.1970-01-01T00-00-01.000Z",
                "a.jsonl.reset.2026-02-21T05-16-55.686Z",
                ArchiveReason::Bak,
                1000,
            ),
        ] {
            assert_eq!(
                parse_archive_name(name),
                Some(ArchiveName {
                    original,
                    reason,
                    time_ms: Some(Moment::from_whole(time_ms)),
                    is_packed: false
                }),
                "{name}"
            );
        }
    }

    #[test]
    fn an_archive_from_a_database_has_its_generation_in_its_name() {
        let front = "8.jsonl.deleted.2026-11-20T11-49-06.295Z.0cef322e47e648debdcf66d1825d630a";
        let archive = parse_archive_name(front).unwrap();
        assert_eq!(
            (archive.original, archive.reason, archive.is_packed),
            ("8.jsonl", ArchiveReason::Deleted, false)
        );
        assert!(parse_archive_name(&format!("{front}.zst")).unwrap().is_packed);
        assert_eq!(parse_archive_name("8.jsonl.deleted.2026-11-20T11-49-06.295Z.zst"), None);
    }

    #[test]
    fn files_moved_aside_by_an_import_are_recognised_by_their_suffix() {
        let moved = |name: &str| match classify(name) {
            FileKind::MovedAside(original) => original.to_owned(),
            _ => String::new(),
        };
        assert_eq!(moved("agent_main_main.1111-4111.jsonl.imported-1795171494689"), "1111-4111.jsonl");
        assert_eq!(moved("agent_main_x.44-topic-42.jsonl.imported-1"), "44-topic-42.jsonl");
        assert_eq!(moved("agent_main_x.5555.jsonl.imported-1795171494689.2"), "5555.jsonl");
        assert_eq!(moved("legacy-store.sessions.json.imported-1795171494689"), "");
        for name in ["a.b.jsonl.imported-", "a.b.jsonl.imported-1.", "a.b.jsonl.imported-1.x"] {
            assert_eq!(moved(name), "");
        }
    }

    #[test]
    fn the_key_of_an_archive_leaves_out_its_generation() {
        let name = "8.jsonl.deleted.2026-11-20T11-49-06.295Z.0cef322e47e648debdcf66d1825d630a.zst";
        assert_eq!(short_archive_name(name), "8.jsonl.deleted.2026-11-20T11-49-06.295Z");
        let plain = "a.jsonl.reset.2026-02-21T05-16-55.686Z";
        assert_eq!(short_archive_name(plain), plain);
    }

    #[test]
    fn other_names_are_not_archives() {
        for name in [
            "a.jsonl",
            "sessions.json.bak.1700000000000",
            "a.jsonl.moved.2026-02-21T05-16-55Z",
            ".reset.2026-02-21T05-16-55Z",
            "",
        ] {
            assert_eq!(parse_archive_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_trajectory_is_never_a_transcript_with_any_suffix() {
        for name in [
            "a.trajectory.jsonl",
            "a-topic-5.trajectory.jsonl",
            "a.trajectory.jsonl.deleted.1712000000000",
            "a.trajectory.jsonl.deleted.2026-02-21T05-16-55.686Z",
            "a.trajectory.jsonl.lock",
            "a.trajectory-path.json",
            "a.trajectory-path.json.bak",
            "agent_main_main.a.trajectory.jsonl.imported-1795171494689",
            ".openclaw-trajectory-1f2e.jsonl",
        ] {
            assert_eq!(classify(name), FileKind::Recording, "{name}");
            assert!(!is_jsonl(name), "{name}");
        }
        assert_eq!(classify("trajectory.jsonl"), FileKind::Transcript);
        assert_eq!(classify("a.trajectory.jsonlines.jsonl"), FileKind::Transcript);
    }

    #[test]
    fn files_are_known_by_their_names() {
        assert_eq!(classify("a.jsonl"), FileKind::Transcript);
        assert_eq!(classify("sessions.json"), FileKind::StoreFile);
        assert_eq!(classify("a.jsonl.lock"), FileKind::Lock("a.jsonl"));
        assert!(matches!(classify("a.jsonl.bak.1970-01-01T00-00-00Z"), FileKind::Archive(_)));
        for name in
            ["sessions.json.0f.tmp", "a.jsonl.repair-1-2.tmp", "a.jsonl.bak.gz", "notes.txt", "a.json"]
        {
            assert_eq!(classify(name), FileKind::Other, "{name}");
        }
    }
}
