//! One followed transcript: the read part and the new entries. If the file is rewritten, archived or deleted,
//! `watch` prints its remaining entries first, as long as the old file can be read.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lines::TranscriptChange;
use crate::ids::{EntryIx, LineIds};
use crate::session::LoadedSession;
use crate::session::fullness_alert::CrossedLevels;
use crate::session::loading::{OpenError, open_from};
use crate::store::archive::{FileKind, classify, find_archive};
use crate::store::discovery::Store;
use crate::store::index::Index;
use crate::store::load::{FilePrefix, LoadError, load};
use crate::store::session::Session;
use crate::store::source::{Source, file_identity};
use crate::units::Moment;

/// The extent of a transcript at the last read or listing.
#[derive(Debug)]
enum LastSeen {
    /// Size of a transcript in a database, as listed.
    Bytes(u64),
    /// The prefix of a file.
    Extent(FilePrefix),
}

/// A transcript and the entries that were reported.
#[derive(Debug, Default)]
pub(super) struct FollowedTranscript {
    /// `None` while the file does not exist.
    last_seen: Option<LastSeen>,
    seen_entries: SeenEntries,
    /// The start of the watch, until the entries from before it are read.
    unread_since: Option<Moment>,
    /// The start of the watch, if the file was rewritten before those entries were read. Then only the timestamps of
    /// entries show which are new.
    rewritten_at: Option<Moment>,
    /// The last loaded session. Its open file remains readable after deletion.
    last_reading: Option<Box<LoadedSession>>,
    /// The levels of fullness that it has crossed.
    pub(super) crossed_levels: CrossedLevels,
}

/// Entries to report, and the session they belong to.
#[derive(Debug)]
pub(super) struct NewEntries<'a> {
    pub(super) session: &'a LoadedSession,
    /// In file order.
    pub(super) entries: Vec<EntryIx>,
    /// The file was rewritten since the last read.
    pub(super) is_rewritten: bool,
}

impl FollowedTranscript {
    /// Follows an existing transcript: only entries from after `now_ms` are reported.
    pub(super) fn from_end(session: &Session, path: &Path, now_ms: Moment) -> Self {
        let last_seen = match session.location.database() {
            Some(_) => Some(LastSeen::Bytes(session.bytes.get())),
            None => current_extent(path).map(LastSeen::Extent),
        };
        Self { unread_since: last_seen.is_some().then_some(now_ms), last_seen, ..Self::default() }
    }

    /// Whether the transcript has no changes to report.
    pub(super) fn is_unchanged(&self, session: &Session, path: &Path) -> bool {
        match &self.last_seen {
            Some(LastSeen::Bytes(bytes)) => session.bytes.get() == *bytes,
            Some(LastSeen::Extent(extent)) => std::fs::metadata(path).is_ok_and(|meta| {
                let is_long = || meta.len() == extent.end && file_identity(&meta) == extent.identity;
                is_long() && Source::open(path).is_ok_and(|source| extent.is_unchanged_in(&source))
            }),
            None => session.location.database().is_none() && !path.is_file(),
        }
    }

    /// Detects another or a missing file at the path. Returns the change and the old file: its archive, or the handle
    /// that is still open.
    pub(super) fn detect_change(&self, path: &Path) -> Option<(TranscriptChange, Option<Source>)> {
        let Some(LastSeen::Extent(known)) = &self.last_seen else { return None };
        let now = std::fs::metadata(path).ok().map(|meta| file_identity(&meta));
        if now == Some(known.identity) {
            return None;
        }
        let open = || self.last_reading.as_ref().map(|known| known.source.clone());
        Some(match find_archive(path, known.identity) {
            Some(archive) => {
                let name = archive.file_name().unwrap_or_default().to_string_lossy().into_owned();
                // Keep the old path, so that entries are reported under the transcript they were written to.
                let file = crate::files::open(&archive).ok().map(Arc::new);
                let source = file.map(|file| Source::File { path: path.into(), file });
                (TranscriptChange::Archived(name), source.or_else(open))
            }
            None if now.is_some() => (TranscriptChange::Rewritten, open()),
            None => (TranscriptChange::Gone, open()),
        })
    }

    /// Records that the file is missing. Reported entries stay reported if it reappears.
    pub(super) fn mark_gone(&mut self) {
        (self.last_seen, self.last_reading) = (None, None);
        self.seen_entries.restart();
    }

    /// Whether entries from before the watch are still unread.
    pub(super) fn has_unread_past(&self) -> bool {
        self.unread_since.is_some()
    }

    pub(super) fn reading(&self) -> Option<&LoadedSession> {
        self.last_reading.as_deref()
    }

    pub(super) fn source(&self) -> Option<Source> {
        self.last_reading.as_ref().map(|known| known.source.clone())
    }

    /// Drops the last loaded session; the next read loads the whole file.
    pub(super) fn drop_reading(&mut self) {
        self.last_reading = None;
    }

    /// Reads the transcript from the last known end, or completely if its prefix changed.
    pub(super) fn read(
        &mut self,
        store: &Store,
        session: &Session,
        source: &Source,
        now_ms: Moment,
    ) -> Result<NewEntries<'_>, OpenError> {
        let is_unchanged = |seen: &Option<LastSeen>| match seen {
            None => true,
            Some(LastSeen::Bytes(bytes)) => source.len().is_ok_and(|len| len >= *bytes),
            Some(LastSeen::Extent(extent)) => extent.is_unchanged_in(source),
        };
        let was_unchanged = is_unchanged(&self.last_seen);
        let known = self.last_reading.as_deref();
        let opened = open_from(store, session, source.clone(), known, now_ms, &mut |_, _| true)?;
        let has_grown = was_unchanged && is_unchanged(&self.last_seen);
        let done = match &self.last_seen {
            Some(LastSeen::Bytes(bytes)) => *bytes,
            Some(LastSeen::Extent(extent)) => extent.end,
            None => 0,
        };
        let entries = self.collect_new(&opened, done, has_grown);
        self.last_seen = Some(match session.location.database() {
            Some(_) => LastSeen::Bytes(opened.index.end),
            None => LastSeen::Extent(FilePrefix::from_index(&opened.index)),
        });
        let session = &**self.last_reading.insert(Box::new(opened));
        Ok(NewEntries { session, entries, is_rewritten: !has_grown })
    }

    /// Collects the new entries. `has_grown` means that the first `done` bytes are unchanged.
    fn collect_new(&mut self, opened: &LoadedSession, done: u64, has_grown: bool) -> Vec<EntryIx> {
        let index = &opened.index;
        let unread = self.unread_since.take();
        if !has_grown {
            self.seen_entries.restart();
            self.rewritten_at = unread.or(self.rewritten_at);
        }
        // Skip the known prefix once all its entries are marked.
        let from = match unread {
            None if has_grown => index.entries.partition_point(|entry| entry.offset < done),
            _ => 0,
        };
        let mut new = Vec::new();
        for (at, entry) in (from..).zip(index.entries.iter_from(from)) {
            let ix = EntryIx(at as u32);
            let is_before = has_grown && entry.offset < done;
            let is_old =
                self.rewritten_at.is_some_and(|began| entry.time_ms.is_nan() || entry.time_ms < began);
            if is_before && unread.is_some() || !is_before && is_old {
                self.seen_entries.mark_seen(index, ix);
            } else if !is_before && self.seen_entries.mark_if_new(index, ix) {
                new.push(ix);
            }
        }
        new
    }
}

/// Returns the current extent of a file; `None` if there is no file. A last line without a newline is parsed to find
/// out whether it is a complete entry (store J7).
fn current_extent(path: &Path) -> Option<FilePrefix> {
    let source = Source::open(path).ok().filter(|_| path.is_file())?;
    let len = source.len().ok()?;
    let ended = len == 0 || source.read_span(len - 1, 1).ok()? == b"\n";
    if !ended {
        return load(&source, &mut LineIds, &mut |_, _| true)
            .ok()
            .map(|index| FilePrefix::from_index(&index));
    }
    FilePrefix::read(&source, len).ok()
}

/// Whether a later read may succeed: the file was being truncated or replaced.
pub(super) fn is_retryable(error: &OpenError) -> bool {
    matches!(error, OpenError::Load(LoadError::Read { .. }))
}

/// Returns the path of the transcript that an archive was made from, by its name.
pub(super) fn original_path(path: &Path) -> Option<PathBuf> {
    match classify(&path.file_name()?.to_string_lossy()) {
        FileKind::Archive(archive) => Some(path.with_file_name(archive.original)),
        _ => None,
    }
}

// The reported entries of a transcript. Files are rewritten while `watch` runs: repaired, migrated, or emptied and
// filled again (store J13, L4, M5). An entry of the new file is reported only if the old file did not have it.
//
// For example, after `a b c` the rewritten file `a b d` reports `d` only; a second `b` after it is new again.

/// Occurrences of an entry in the current file, and how many were reported.
#[derive(Debug, Clone, Copy, Default)]
struct EntryCount {
    occurrences: u32,
    reported: u32,
}

/// The reported entries of one path, across all files that were at it.
#[derive(Debug, Default)]
pub(super) struct SeenEntries {
    counts: HashMap<u64, EntryCount>,
    /// Ids in the first file are synthetic, and a migration replaces them (store L2), so compare contents.
    by_content: Option<bool>,
}

impl SeenEntries {
    /// Starts over at the beginning of the file.
    pub(super) fn restart(&mut self) {
        self.counts.values_mut().for_each(|count| count.occurrences = 0);
    }

    /// Marks an entry as reported.
    pub(super) fn mark_seen(&mut self, index: &Index, ix: EntryIx) {
        let count = self.count(index, ix);
        count.occurrences += 1;
        count.reported = count.reported.max(count.occurrences);
    }

    /// Marks an entry as reported; returns whether it was new. Two equal lines are two entries (store J9, M4).
    pub(super) fn mark_if_new(&mut self, index: &Index, ix: EntryIx) -> bool {
        let before = self.count(index, ix).reported;
        self.mark_seen(index, ix);
        self.count(index, ix).reported > before
    }

    fn count(&mut self, index: &Index, ix: EntryIx) -> &mut EntryCount {
        let by_content = *self.by_content.get_or_insert_with(|| index.migration_steps().0);
        self.counts.entry(fingerprint(index, ix, by_content)).or_default()
    }
}

/// Identifies an entry by its id, otherwise by values that a rewrite keeps.
fn fingerprint(index: &Index, ix: EntryIx, by_content: bool) -> u64 {
    let entry = index.entry(ix);
    let mut hasher = DefaultHasher::new();
    if let Some(id) = entry.id.filter(|_| !by_content) {
        index.ids.text(id).hash(&mut hasher);
    } else {
        let size = entry.message.map(|size| (size.role.as_str(), size.pi_chars.whole_chars().whole()));
        (entry.kind.as_str(), entry.time_ms.get().to_bits(), size).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;

    fn entry(id: &str) -> String {
        format!(r#"{{"type":"custom","id":"{id}","parentId":null,"timestamp":"2026-03-05T10:00:00.000Z"}}"#)
    }

    fn news(reported: &mut SeenEntries, lines: &[String], from: usize) -> Vec<String> {
        let index = load_bytes("t.jsonl", (lines.join("\n") + "\n").as_bytes(), &mut LineIds);
        let entries = index.iter().skip(from).map(|(ix, _)| ix);
        entries.filter(|ix| reported.mark_if_new(&index, *ix)).map(|ix| index.display_id(ix)).collect()
    }

    #[test]
    fn a_rewrite_reports_only_new_entries_even_in_several_parts() {
        let mut reported = SeenEntries::default();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(entry);
        let header = HEADER.to_owned();
        assert_eq!(
            news(&mut reported, &[header.clone(), a.clone(), b.clone(), c.clone()], 0),
            ["a", "b", "c"]
        );
        reported.restart();
        assert!(news(&mut reported, &[header.clone(), a.clone()], 0).is_empty(), "the beginning of it");
        assert_eq!(news(&mut reported, &[header, a, b, d], 1), ["d"], "its end");
    }

    #[test]
    fn a_line_that_is_added_twice_is_reported_twice() {
        let mut reported = SeenEntries::default();
        let [a, b] = ["a", "b"].map(entry);
        let header = HEADER.to_owned();
        assert_eq!(news(&mut reported, &[header.clone(), a.clone()], 0), ["a"]);
        let lines = [header.clone(), a.clone(), header, a, b];
        assert_eq!(news(&mut reported, &lines, 1), ["a", "b"]);
        reported.restart();
        assert!(news(&mut reported, &lines, 0).is_empty());
    }

    #[test]
    fn a_migration_that_adds_ids_reports_no_old_entry_again() {
        let mut reported = SeenEntries::default();
        let first = r#"{"type":"message","timestamp":"2026-03-05T10:00:00.000Z","message":{"role":"user","content":"x"}}"#;
        let old = [r#"{"type":"session","id":"s"}"#.to_owned(), first.to_owned()];
        assert_eq!(news(&mut reported, &old, 0), ["v1-2"]);
        reported.restart();
        let migrated = first.replace(r#""type""#, r#""id":"00000001","parentId":null,"type""#);
        let new = [HEADER.to_owned(), migrated, entry("fresh")];
        assert_eq!(news(&mut reported, &new, 0), ["fresh"]);
    }
}
