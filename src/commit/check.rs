//! What must hold before anything is planned for a file (store P1).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::commit::recover;
use crate::commit::refusal::Refusal;
use crate::commit::request::{SessionStanding, Transcript};
use crate::commit::snapshot::Snapshot;
use crate::ids::EntryIx;
use crate::store::entry::Reading;
use crate::store::index::{Index, Standing};
use crate::store::intern::IdIx;
use crate::store::source::Source;

/// Marks in the names of files that were put away (store F1, F3).
const PUT_AWAY: [&str; 4] = [".jsonl.reset.", ".jsonl.deleted.", ".jsonl.bak.", ".jsonl.bak-"];

/// A file that may be written, and its active path.
#[derive(Debug)]
pub(super) struct Checked {
    /// How the file stands; none for a transcript in memory, which can be planned for but not written.
    pub snapshot: Option<Snapshot>,
    /// Entries from the root to the leaf.
    pub path: Vec<EntryIx>,
    /// The last entry of it.
    pub leaf: EntryIx,
}

/// Checks everything that does not depend on what is written. `now_ms` is the time by which locks are judged.
pub(super) fn check(transcript: &Transcript<'_>, now_ms: i64) -> Result<Checked, Refusal> {
    let index = transcript.index;
    let file = index.path.as_ref();
    standing(transcript, file)?;
    let snapshot = snapshot(transcript, file)?;
    if snapshot.is_some() {
        recover::refuse_torn(file, now_ms)?;
    }
    readable(index, file)?;
    acyclic(transcript, file)?;
    // Since it projects the runtime appends to any file that exists (store-pi-1.5 C8, K7).
    let begun = match index.reading {
        Reading::Entries => index.has_assistant(),
        Reading::Projected => index.has_turn(),
    };
    if !begun {
        return Err(Refusal::NoAssistant { path: file.into() });
    }
    let leaf = index.last().filter(|ix| has_string_id(index, *ix));
    let leaf = leaf.ok_or_else(|| Refusal::NoLeaf { path: file.into() })?;
    let path = transcript.tree.walk(index, leaf);
    unique_ids(index, file, &path)?;
    Ok(Checked { snapshot, path, leaf })
}

fn standing(transcript: &Transcript<'_>, file: &Path) -> Result<(), Refusal> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let put_away = PUT_AWAY.iter().any(|mark| name.contains(mark));
    match transcript.standing {
        SessionStanding::Archive => Err(Refusal::Archive { path: file.into() }),
        _ if put_away => Err(Refusal::Archive { path: file.into() }),
        SessionStanding::Orphan if !transcript.allow_orphan => Err(Refusal::Orphan { path: file.into() }),
        _ => Ok(()),
    }
}

/// Looks at the file again and compares it with what was read.
fn snapshot(transcript: &Transcript<'_>, file: &Path) -> Result<Option<Snapshot>, Refusal> {
    let index = transcript.index;
    let known = index.end + index.pending;
    let changed = |what| Refusal::FileChanged { path: file.into(), what };
    if let Source::Rows(_) | Source::Unpacked { .. } = transcript.source {
        let instead = "Export the branch as a transcript of its own instead.".to_owned();
        return Err(Refusal::Database { path: file.into(), instead });
    }
    if let Source::Memory { bytes, .. } = transcript.source {
        return if bytes.len() as u64 == known { Ok(None) } else { Err(changed("the bytes changed")) };
    }
    let snapshot = Snapshot::take(file)?;
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

/// The runtime must read the file as we do, line for line (store J).
fn readable(index: &Index, file: &Path) -> Result<(), Refusal> {
    let path = || PathBuf::from(file);
    match index.standing {
        Standing::NoHeader | Standing::Empty => return Err(Refusal::NoHeader { path: path() }),
        Standing::Throws { line } => return Err(Refusal::UnparsableLine { path: path(), line: Some(line) }),
        Standing::Fine => {}
    }
    let version = index.version();
    if version != 3.0 {
        return Err(Refusal::Version { path: path(), version });
    }
    if index.bad_lines > 0 {
        let line = index.findings.iter().find_map(|finding| finding.line);
        return Err(Refusal::UnparsableLine { path: path(), line });
    }
    // A last line that is whole but for its end is given it (store J7, P8); one that does not parse is being written.
    if index.pending > 0 {
        return Err(Refusal::UnterminatedLine { path: path() });
    }
    Ok(())
}

/// No parent leads back, not even to the entry itself: the runtime would walk for ever (store J11).
fn acyclic(transcript: &Transcript<'_>, file: &Path) -> Result<(), Refusal> {
    let index = transcript.index;
    let own_parent = |ix: &EntryIx| {
        let entry = index.entry(*ix);
        entry.id.is_some() && entry.parent == entry.id
    };
    let in_circle = transcript.tree.cyclic().first().copied();
    let found = in_circle.or_else(|| transcript.tree.roots().iter().copied().find(own_parent));
    found.map_or(Ok(()), |ix| Err(Refusal::Cycle { path: file.into(), entry: index.name(ix) }))
}

fn has_string_id(index: &Index, ix: EntryIx) -> bool {
    index.entry(ix).id.is_some_and(|id| index.ids.is_string(id) && !index.ids.text(id).is_empty())
}

/// Each id of the path stands in one line only (store J9).
pub(super) fn unique_ids(index: &Index, file: &Path, path: &[EntryIx]) -> Result<(), Refusal> {
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
