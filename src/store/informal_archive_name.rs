//! Names of transcripts that other programs, other releases and people archived: `….jsonl.deleted.<ms>`,
//! `….jsonl.full_backup`, `….bak.jsonl`, `….jsonl~`. They follow no rule except that they contain a word for a copy.

use crate::js;
use crate::units::Moment;

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
pub(super) fn parse_stamp_ms(stamp: &str) -> Option<Moment> {
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
