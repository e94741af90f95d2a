//! Reads a commit back from the file before success is reported (store P9).

use crate::commit::difference::Difference;
use crate::commit::expected::{first_difference, messages_from_file};
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::{self, Receipt};
use crate::commit::session_folder::SessionFiles;
use crate::ids::{EntryIx, LineIds};
use crate::store::index::Index;
use crate::store::load::{FileChange, refresh};
use crate::transcript::{Leaf, Tree};

/// Entries that another program, which takes no lock, appended right after a commit (store H10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowingEntries {
    pub count: usize,
    /// Whether they continue the committed branch; otherwise their own branch is active (store P10).
    pub continue_ours: bool,
}

/// Checks that our bytes follow the old ones, the planned leaf is the last of our entries, and its context is the
/// planned one. Returns our record and the entries after ours, or the difference.
pub(super) fn read_back(
    prepared: &PreparedCommit,
    session: &SessionFiles<'_>,
    bytes: &[u8],
) -> Result<(Receipt, Option<FollowingEntries>), Difference> {
    let source = session.source()?;
    let offset = prepared.file_bytes().get();
    if source.read_span(offset, bytes.len())? != bytes {
        return Err(Difference::Bytes);
    }
    let before = prepared.index_before.entries.len();
    let end = before + prepared.lines.len();
    let grown = match refresh(&prepared.index_before, &source, &mut LineIds, &mut |_, _| true) {
        Ok(FileChange::Grown(grown)) if grown.end >= offset + bytes.len() as u64 => grown,
        Ok(_) => return Err(Difference::NotAppended),
        Err(error) => return Err(error.into()),
    };
    let is_last = grown.end == offset + bytes.len() as u64;
    if grown.entries.len() < end || (is_last && grown.entries.len() > end) {
        return Err(Difference::Lines { written: prepared.lines.len(), read: grown.entries.len() - before });
    }
    let read = messages_from_file(&grown, &source, before, &Leaf::Id(prepared.leaf.clone()))?;
    if let Some(at) = first_difference(&prepared.messages, &read) {
        return Err(Difference::Message(at));
    }
    let ours = EntryIx(end.checked_sub(1).ok_or(Difference::Empty)? as u32);
    if grown.display_id(ours) != prepared.leaf {
        return Err(Difference::Leaf);
    }
    let record = prepared.lines.iter().position(|line| line.id == prepared.record_id);
    let record = record.ok_or(Difference::NoRecord)?;
    let receipt = receipt::read_receipt(&grown, &source, EntryIx((before + record) as u32));
    let receipt = receipt?.filter(|receipt| receipt.id == prepared.record_id);
    Ok((receipt.ok_or(Difference::RecordMoved)?, following_entries(&grown, ours)))
}

fn following_entries(grown: &Index, ours: EntryIx) -> Option<FollowingEntries> {
    let count = grown.entries.len() - ours.index() - 1;
    let last = grown.last().filter(|_| count > 0)?;
    let continue_ours = Tree::new(grown).path_to(grown, last).contains(&ours);
    Some(FollowingEntries { count, continue_ours })
}
