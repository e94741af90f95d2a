//! Reads a commit back from the file before success is reported (store P9).

use crate::commit::difference::Difference;
use crate::commit::expected::{first_difference, messages_from_file};
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::{self, Receipt};
use crate::ids::{EntryIx, LineIds};
use crate::store::load::{FileChange, refresh};
use crate::store::source::Source;

/// Checks that our bytes follow the old ones, the planned leaf is the last entry, and the context is the planned one.
/// Returns our record, or the difference.
pub(super) fn read_back(prepared: &PreparedCommit, bytes: &[u8]) -> Result<Receipt, Difference> {
    let source = Source::open(&prepared.path)?;
    let offset = prepared.index_before.end + prepared.index_before.pending_bytes;
    if source.read_span(offset, bytes.len())? != bytes {
        return Err(Difference::Bytes);
    }
    let before = prepared.index_before.entries.len();
    let grown = match refresh(&prepared.index_before, &source, &mut LineIds, &mut |_, _| true) {
        Ok(FileChange::Grown(grown)) if grown.end == offset + bytes.len() as u64 => grown,
        Ok(_) => return Err(Difference::NotAppended),
        Err(error) => return Err(error.into()),
    };
    if grown.entries.len() != before + prepared.lines.len() {
        return Err(Difference::Lines { written: prepared.lines.len(), read: grown.entries.len() - before });
    }
    let read = messages_from_file(&grown, &source, before)?;
    if let Some(at) = first_difference(&prepared.messages, &read) {
        return Err(Difference::Message(at));
    }
    let last = grown.last().ok_or(Difference::Empty)?;
    if grown.display_id(last) != prepared.leaf {
        return Err(Difference::Leaf);
    }
    let record = prepared.lines.iter().position(|line| line.id == prepared.record_id);
    let record = record.ok_or(Difference::NoRecord)?;
    let receipt = receipt::read_receipt(&grown, &source, EntryIx((before + record) as u32));
    receipt?.filter(|receipt| receipt.id == prepared.record_id).ok_or(Difference::RecordMoved)
}
