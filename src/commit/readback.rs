//! Reads a commit back from the file before success is reported (store P9).

use crate::commit::expected::{first_difference, messages_from_file};
use crate::commit::prepare::PreparedCommit;
use crate::commit::receipt::{self, Receipt};
use crate::ids::{EntryIx, LineIds};
use crate::store::load::{FileChange, refresh};
use crate::store::source::Source;

/// Checks that our bytes follow the old ones, the planned leaf is the last entry, and the context is the planned one.
/// Returns our record, or the difference.
pub(super) fn read_back(prepared: &PreparedCommit, bytes: &[u8]) -> Result<Receipt, String> {
    let text = |error: std::io::Error| error.to_string();
    let source = Source::open(&prepared.path).map_err(text)?;
    let offset = prepared.index_before.end + prepared.index_before.pending_bytes;
    if source.read_span(offset, bytes.len()).map_err(text)? != bytes {
        return Err("the appended bytes differ".to_owned());
    }
    let before = prepared.index_before.entries.len();
    let grown = match refresh(&prepared.index_before, &source, &mut LineIds, &mut |_, _| true) {
        Ok(FileChange::Grown(grown)) if grown.end == offset + bytes.len() as u64 => grown,
        Ok(_) => return Err("the file is not the old file with lines appended".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    if grown.entries.len() != before + prepared.lines.len() {
        return Err(format!(
            "appended {} lines but read {}",
            prepared.lines.len(),
            grown.entries.len() - before
        ));
    }
    let read = messages_from_file(&grown, &source, before)?;
    if let Some(at) = first_difference(&prepared.messages, &read) {
        return Err(format!("message {at} of the context differs"));
    }
    let last = grown.last().ok_or_else(|| "the file is empty".to_owned())?;
    if grown.display_id(last) != prepared.leaf {
        return Err("the last line is not the planned leaf".to_owned());
    }
    let record = prepared.lines.iter().position(|line| line.id == prepared.record_id);
    let record = record.ok_or_else(|| "the plan has no commit record".to_owned())?;
    let receipt = receipt::read_receipt(&grown, &source, EntryIx((before + record) as u32));
    let receipt = receipt.map_err(|error| error.to_string())?;
    receipt
        .filter(|receipt| receipt.id == prepared.record_id)
        .ok_or_else(|| "the commit record is not where it was written".to_owned())
}
