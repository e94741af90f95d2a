//! Classifies the files in a sessions dir by their names (store F).
//!
//! For example, `s1.jsonl` is a transcript, `s1.jsonl.reset.2026-03-05T07-58-00.000Z` its archive after `/new`, and
//! `s1.jsonl.lock` a lock.

use std::fs;
use std::path::{Path, PathBuf};

use crate::js;
use crate::store::file_identity::{FileIdentity, file_identity};
use crate::units::Moment;

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
    parse_gateway_archive_name(name).or_else(|| parse(name))
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

// Names of transcripts that other programs, other releases and people archived: `….jsonl.deleted.<ms>`,
// `….jsonl.full_backup`, `….bak.jsonl`, `….jsonl~`. They follow no rule except that they contain a word for a copy.

const EXTENSION: &str = "jsonl";
/// Marks an archive even in a name without `.jsonl`, because no session name ends in it by chance.
const FULL_BACKUP: &str = "full_backup";
/// Words for a copy. A dotted part of a name that begins with one marks an archive.
const MARKS: [(&str, ArchiveReason); 9] = [
    ("reset", ArchiveReason::Reset),
    ("deleted", ArchiveReason::Deleted),
    ("bak", ArchiveReason::Bak),
    ("backup", ArchiveReason::Bak),
    (FULL_BACKUP, ArchiveReason::Bak),
    ("old", ArchiveReason::Bak),
    ("orig", ArchiveReason::Bak),
    ("save", ArchiveReason::Bak),
    ("copy", ArchiveReason::Bak),
];

/// A dotted part that marks an archive.
struct ArchiveMark<'a> {
    word: &'static str,
    reason: ArchiveReason,
    /// Rest of the part: empty, a number or a time.
    stamp: &'a str,
}

/// Parses a name with a word for a copy; the last such word counts.
pub(super) fn parse(name: &str) -> Option<ArchiveName<'_>> {
    let archive = |original, reason, time_ms| ArchiveName { original, reason, time_ms, is_packed: false };
    if let Some(original) =
        name.strip_suffix('~').filter(|original| original.strip_suffix(".jsonl").is_some())
    {
        return Some(archive(original, ArchiveReason::Bak, None));
    }
    let (at, mark) = name.rmatch_indices('.').find_map(|(at, _)| Some((at, parse_mark(&name[at + 1..])?)))?;
    let (original, behind) = (&name[..at], &name[at + 1 + mark.word.len() + mark.stamp.len()..]);
    let is_inside = behind.strip_suffix(EXTENSION).is_some_and(|front| front.ends_with('.'));
    let stamp = behind.strip_suffix(".jsonl").unwrap_or(behind);
    let stamp = if mark.stamp.is_empty() { stamp } else { mark.stamp };
    let stamp = stamp.trim_start_matches(['.', '-', '_']);
    let was_transcript = original.split('.').any(|part| part == EXTENSION);
    let is_bare = mark.word == FULL_BACKUP && !original.contains('.');
    // `a.old.jsonl` may be a session of that name.
    let is_sure = !stamp.is_empty() || ["bak", "backup", FULL_BACKUP].contains(&mark.word);
    let is_archive = was_transcript || is_bare || is_inside && is_sure;
    (is_archive && !original.is_empty()).then(|| archive(original, mark.reason, parse_stamp(stamp)))
}

/// Parses the mark at the start of a name, when only numbers and times follow it.
fn parse_mark(text: &str) -> Option<ArchiveMark<'_>> {
    let (part, behind) = text.split_once('.').unwrap_or((text, ""));
    let behind = behind.strip_suffix(EXTENSION).unwrap_or(behind);
    let word = part.trim_end_matches(|c: char| is_stamp_char(c) && !c.is_ascii_alphabetic() || c == '_');
    let word = MARKS.iter().find(|(mark, _)| word.eq_ignore_ascii_case(mark)).or_else(|| {
        let starts = |mark: &str| part.get(..mark.len()).is_some_and(|own| own.eq_ignore_ascii_case(mark));
        let is_cut = |mark: &str| part[mark.len()..].starts_with(['-', '_']);
        MARKS.iter().find(|(mark, _)| starts(mark) && is_cut(mark))
    });
    let (word, reason) = *word?;
    let stamp = &part[word.len()..];
    let numbers = |text: &str| text.chars().all(|c| is_stamp_char(c) || matches!(c, '.' | '_'));
    (numbers(stamp) && numbers(behind)).then_some(ArchiveMark { word, reason, stamp })
}

/// Whether the character may be part of a number or of an ISO time.
fn is_stamp_char(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, 'T' | 'Z' | ':' | '-' | '+')
}

/// Parses a stamp: an ISO time with dashes or colons, or ms or seconds since the epoch. A repair writes its process id
/// before the time (store F3).
fn parse_stamp(stamp: &str) -> Option<Moment> {
    let last = stamp.rsplit('-').next().unwrap_or(stamp);
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    match (parse_stamp_ms(&stamp.replace(':', "-")), number(last), last.len()) {
        (Some(at), ..) => Some(at),
        (None, Some(ms), 13) => Some(Moment::from_whole(ms)),
        (None, Some(seconds), 10) => Some(Moment::from_whole(seconds * 1000)),
        _ => None,
    }
}

/// Reason why a transcript was archived (store F2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArchiveReason {
    /// `/new` or `/reset`.
    Reset,
    /// Deleted, or pruned by maintenance.
    Deleted,
    /// Copy made before a manual compaction.
    Bak,
}

impl ArchiveReason {
    pub(super) const ALL: [Self; 3] = [Self::Reset, Self::Deleted, Self::Bak];

    /// Returns the word in file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Deleted => "deleted",
            Self::Bak => "bak",
        }
    }
}

/// A parsed archive name (store F1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArchiveName<'a> {
    /// Name before archiving.
    pub original: &'a str,
    pub reason: ArchiveReason,
    /// Its time; `None` when the name holds none.
    pub time_ms: Option<Moment>,
    /// Whether the file is packed (sqlite E5).
    pub is_packed: bool,
}

/// Parses `YYYY-MM-DDTHH-MM-SS(.mmm)?Z`; only the dashes of the time were colons.
fn parse_stamp_ms(stamp: &str) -> Option<Moment> {
    let shape =
        |text: &str| text.bytes().map(|b| if b.is_ascii_digit() { b'0' } else { b }).collect::<Vec<_>>();
    if !matches!(shape(stamp).as_slice(), b"0000-00-00T00-00-00Z" | b"0000-00-00T00-00-00.000Z") {
        return None;
    }
    let (date, time) = stamp.split_once('T')?;
    let iso = js::Value::from(format!("{date}T{}", time.replace('-', ":")));
    let ms = js::date_value(Some(&iso));
    ms.is_finite().then_some(ms)
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

#[cfg(test)]
mod informal_archive_name_tests {
    use super::*;

    #[test]
    fn copies_by_other_hands_name_their_original_reason_and_time() {
        use ArchiveReason::{Bak, Deleted, Reset};
        for (name, original, reason, time_ms) in [
            ("a.jsonl.deleted.1771651015686", "a.jsonl", Deleted, Some(1_771_651_015_686)),
            ("a.jsonl.reset.1771651015", "a.jsonl", Reset, Some(1_771_651_015_000)),
            ("a.jsonl.deleted.1712", "a.jsonl", Deleted, None),
            ("a.jsonl.reset.2026-02-21T05:16:55.686Z", "a.jsonl", Reset, Some(1_771_651_015_686)),
            ("a.jsonl.reset.2026-13-41T05-16-55Z", "a.jsonl", Reset, None),
            ("a.jsonl.full_backup", "a.jsonl", Bak, None),
            ("a-topic-5.jsonl.bak", "a-topic-5.jsonl", Bak, None),
            ("a.jsonl.bak2", "a.jsonl", Bak, None),
            ("a.jsonl.bak.3", "a.jsonl", Bak, None),
            ("a.jsonl.bak-123-1700000000000", "a.jsonl", Bak, Some(1_700_000_000_000)),
            ("a.jsonl.backup_20260221", "a.jsonl", Bak, None),
            ("a.jsonl.BAK", "a.jsonl", Bak, None),
            ("a.jsonl.deleted.1712.bak", "a.jsonl.deleted.1712", Bak, None),
            ("a.jsonl~", "a.jsonl", Bak, None),
            ("a.jsonl.old", "a.jsonl", Bak, None),
            ("a.full_backup", "a", Bak, None),
            ("a.full_backup.jsonl", "a", Bak, None),
            ("a.bak-2026-02-21T05-16-55Z.jsonl", "a", Bak, Some(1_771_651_015_000)),
            ("a.deleted.1771651015686.jsonl", "a", Deleted, Some(1_771_651_015_686)),
        ] {
            assert_eq!(
                parse(name),
                Some(ArchiveName {
                    original,
                    reason,
                    time_ms: time_ms.map(Moment::from_whole),
                    is_packed: false
                }),
                "{name}"
            );
        }
    }

    #[test]
    fn names_without_a_word_for_a_copy_are_not_archives() {
        for name in [
            "a.jsonl",
            "a.old.jsonl",
            "reset.jsonl",
            "a.jsonl.bakery",
            "a.jsonl.reset-me",
            "a.jsonl.bak.gz",
            "a.jsonl.tmp",
            "sessions.json.bak",
            "openclaw.json.bak",
            "sessions.json.full_backup",
            ".full_backup",
            "notes.bak",
            "",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
