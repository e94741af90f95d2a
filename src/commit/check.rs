//! The conditions for any plan to write to a file (store P1).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::commit::receipt::read_receipt;
use crate::commit::recover;
use crate::commit::refusal::Refusal;
use crate::commit::request::{TranscriptInput, TranscriptStatus};
use crate::commit::snapshot::{FileSnapshot, live_writer_warning};
use crate::ids::EntryIx;
use crate::store::entry::{EntryKind, ReadMode};
use crate::store::index::{Index, OpenStatus};
use crate::store::intern::IdIx;
use crate::store::source::Source;
use crate::units::{Bytes, Moment};

/// Parts of the names of archived files (store F1, F3).
const ARCHIVE_MARKERS: [&str; 4] = [".jsonl.reset.", ".jsonl.deleted.", ".jsonl.bak.", ".jsonl.bak-"];

#[derive(Debug)]
pub(super) struct WritableSession {
    /// `None` for a transcript in memory, which allows plans but no writes.
    pub snapshot: Option<FileSnapshot>,
    /// Entries from the root to the leaf.
    pub path: Vec<EntryIx>,
    pub leaf: EntryIx,
}

impl WritableSession {
    /// Warns of a program that may have the file open.
    pub(super) fn live_warning(&self, transcript: &TranscriptInput<'_>, now_ms: Moment) -> Option<String> {
        let modified = self.snapshot.as_ref()?.modified.and_then(Moment::from_system_time)?;
        let written = match entry_before_own_writes(transcript)? {
            (_, false) => modified,
            // The time of the file is that of our own write.
            (last, true) => transcript.index.entry(last).time_ms,
        };
        live_writer_warning(written, now_ms, transcript.index.pi_release)
    }
}

/// Returns the last entry of another program, and whether commits of clawscope follow it.
fn entry_before_own_writes(transcript: &TranscriptInput<'_>) -> Option<(EntryIx, bool)> {
    let TranscriptInput { index, tree, source, .. } = *transcript;
    let last = index.last()?;
    let mut at = last;
    loop {
        let entry = index.entry(at);
        // A compaction ends a branch after its record.
        let parent =
            entry.parent.filter(|_| entry.kind == EntryKind::Compaction).and_then(|id| tree.find(id));
        let record = [Some(at), parent]
            .into_iter()
            .flatten()
            .find_map(|ix| read_receipt(index, source, ix).ok().flatten());
        // A damaged file may name a later entry: never go in circles.
        let left =
            record.and_then(|record| tree.find_by_text(index, &record.from_leaf)).filter(|left| *left < at);
        match left {
            Some(left) => at = left,
            None => return Some((at, at != last)),
        }
    }
}

/// Checks the conditions that do not depend on the plan. `now_ms` decides whether locks are stale.
pub(super) fn check_transcript(
    transcript: &TranscriptInput<'_>,
    now_ms: Moment,
) -> Result<WritableSession, Refusal> {
    let index = transcript.index;
    let file = index.path.as_ref();
    check_status(transcript, file)?;
    let snapshot = take_snapshot(transcript, file)?;
    if snapshot.is_some() {
        recover::refuse_partial(file, now_ms)?;
    }
    check_lines(index, file)?;
    check_acyclic(transcript, file)?;
    // A projecting runtime appends to any file that exists (store-pi-1.5 C8, K7).
    let begun = match index.reading {
        ReadMode::Entries => index.has_assistant(),
        ReadMode::Projected => index.has_turn(),
    };
    if !begun {
        return Err(Refusal::NoAssistant { path: file.into() });
    }
    let leaf = index.last().filter(|ix| has_string_id(index, *ix));
    let leaf = leaf.ok_or_else(|| Refusal::NoLeaf { path: file.into() })?;
    let path = transcript.tree.path_to(index, leaf);
    check_unique_ids(index, file, &path)?;
    Ok(WritableSession { snapshot, path, leaf })
}

fn check_status(transcript: &TranscriptInput<'_>, file: &Path) -> Result<(), Refusal> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let put_away = ARCHIVE_MARKERS.iter().any(|mark| name.contains(mark));
    match transcript.status {
        TranscriptStatus::Archive => Err(Refusal::Archive { path: file.into() }),
        _ if put_away => Err(Refusal::Archive { path: file.into() }),
        TranscriptStatus::Orphan if !transcript.allow_orphan => Err(Refusal::Orphan { path: file.into() }),
        _ => Ok(()),
    }
}

/// Compares the file with the one that was read.
fn take_snapshot(transcript: &TranscriptInput<'_>, file: &Path) -> Result<Option<FileSnapshot>, Refusal> {
    let index = transcript.index;
    let known = index.file_bytes().get();
    let changed = |what| Refusal::FileChanged { path: file.into(), what };
    if let Source::DatabaseRows(_) | Source::Unpacked { .. } = transcript.source {
        let instead = "Export the branch as a separate transcript instead.".to_owned();
        return Err(Refusal::Database { path: file.into(), instead });
    }
    if let Source::Memory { bytes, .. } = transcript.source {
        return if bytes.len() as u64 == known { Ok(None) } else { Err(changed("the bytes changed")) };
    }
    let snapshot = FileSnapshot::take(file)?;
    let opened = transcript.source.identity();
    let opened = opened.map_err(|source| Refusal::Unreadable { path: file.into(), source })?;
    if snapshot.identity != index.identity || opened != index.identity {
        return Err(changed("the file was replaced"));
    }
    if snapshot.size != known {
        return Err(changed("the file grew or shrank"));
    }
    Ok(Some(snapshot))
}

/// Returns the lines of a file that allow no commit, whatever it writes. A last line that is being written does not count.
pub fn refuse_lines(index: &Index) -> Option<Refusal> {
    let refusal = check_lines(index, &index.path).err();
    refusal.filter(|refusal| !matches!(refusal, Refusal::UnterminatedLine { .. }))
}

/// Checks that the runtime reads the file as we do, line for line (store J).
fn check_lines(index: &Index, file: &Path) -> Result<(), Refusal> {
    let path = || PathBuf::from(file);
    match index.open_status {
        OpenStatus::NoHeader | OpenStatus::Empty => return Err(Refusal::NoHeader { path: path() }),
        OpenStatus::Throws { line } => {
            return Err(Refusal::UnparsableLine { path: path(), line: Some(line) });
        }
        OpenStatus::Opens => {}
    }
    let version = index.version();
    if version != 3.0 {
        return Err(Refusal::Version { path: path(), version });
    }
    if index.bad_lines > 0 {
        let line = index.diagnostics.iter().find_map(|finding| finding.line);
        return Err(Refusal::UnparsableLine { path: path(), line });
    }
    // A complete last line without its end gets one (store J7, P8); one that does not parse is being written.
    if index.pending_bytes > Bytes::ZERO {
        return Err(Refusal::UnterminatedLine { path: path() });
    }
    Ok(())
}

/// Checks that no parent leads back, not even to the entry itself: the runtime would loop for ever (store J11).
fn check_acyclic(transcript: &TranscriptInput<'_>, file: &Path) -> Result<(), Refusal> {
    let index = transcript.index;
    let own_parent = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        entry.id.is_some() && entry.parent == entry.id
    };
    let in_circle = transcript.tree.cyclic().first().copied();
    let found = in_circle.or_else(|| transcript.tree.roots().iter().copied().find(own_parent));
    found.map_or(Ok(()), |ix| Err(Refusal::Cycle { path: file.into(), entry: index.display_id(ix) }))
}

pub(super) fn has_string_id(index: &Index, ix: EntryIx) -> bool {
    index.entry(ix).id.is_some_and(|id| index.ids.is_string(id) && !index.ids.text(id).is_empty())
}

/// Checks that each id of the path is in one line only (store J9).
pub(super) fn check_unique_ids(index: &Index, file: &Path, path: &[EntryIx]) -> Result<(), Refusal> {
    let mut seen: HashMap<IdIx, Option<u64>> =
        path.iter().filter_map(|ix| Some((index.entry(*ix).id?, None))).collect();
    for entry in index.entries.iter() {
        let Some(place) = entry.id.and_then(|id| seen.get_mut(&id)) else { continue };
        if let (Some(first), Some(id)) = (*place, entry.id) {
            let id = index.ids.text(id).to_owned();
            return Err(Refusal::DuplicateId { path: file.into(), id, first, second: entry.line });
        }
        *place = Some(entry.line);
    }
    Ok(())
}
