//! Prepared lines → the file: under the lock, all or nothing, and read back before anyone is told that
//! it worked (store P8, P9).

use std::path::Path;

use crate::commit::append::Appender;
use crate::commit::clock::Clock;
use crate::commit::lock::Lock;
use crate::commit::planned::{first_difference, read_file};
use crate::commit::prepare::Prepared;
use crate::commit::receipt::{self, Receipt};
use crate::commit::refusal::{CommitError, Refusal};
use crate::ids::{EntryIx, LineIds};
use crate::store::load::{Growth, grow};
use crate::store::source::Source;

/// What was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Our record, as read back from the file.
    pub receipt: Receipt,
    /// The leaf now.
    pub leaf: String,
    /// Where the new lines begin: the size of the file before, bytes.
    pub offset: u64,
    /// Bytes appended.
    pub bytes: u64,
    /// Lines appended.
    pub lines: usize,
}

/// Appends what was prepared. Waits for a lock that is held for at most `wait_ms`; with 0 it is tried
/// once. `sessions.json` is not touched (store P11).
pub fn write(prepared: &Prepared, wait_ms: u64, clock: &dyn Clock) -> Result<Written, CommitError> {
    let path: &Path = &prepared.path;
    let in_memory = || Refusal::InMemory { path: path.into() };
    let snapshot = prepared.snapshot.as_ref().ok_or_else(in_memory)?;
    let lock = Lock::take(path, wait_ms, clock)?;
    let mut appender = Appender::open(path, snapshot)?;
    let bytes = prepared.bytes();
    appender.append(&bytes)?;
    let receipt = verify(prepared, &bytes).map_err(|what| {
        let restored = appender.take_back(bytes.len());
        CommitError::NotVerified { path: path.into(), what, restored }
    })?;
    drop(lock);
    Ok(Written {
        receipt,
        leaf: prepared.leaf.clone(),
        offset: snapshot.size,
        bytes: bytes.len() as u64,
        lines: prepared.lines.len(),
    })
}

/// Reads the file again: our bytes behind what was there, the planned leaf last, the planned context, our record.
fn verify(prepared: &Prepared, bytes: &[u8]) -> Result<Receipt, String> {
    let text = |error: std::io::Error| error.to_string();
    let source = Source::open(&prepared.path).map_err(text)?;
    let offset = source.len().map_err(text)?.saturating_sub(bytes.len() as u64);
    if source.read_span(offset, bytes.len()).map_err(text)? != bytes {
        return Err("the added bytes are others".to_owned());
    }
    let before = prepared.before.entries.len();
    let grown = match grow(&prepared.before, &source, &mut LineIds, &mut |_, _| true) {
        Ok(Growth::Grown(grown)) if grown.end == offset + bytes.len() as u64 => grown,
        Ok(_) => return Err("the file is not the old one with lines added".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    if grown.entries.len() != before + prepared.lines.len() {
        return Err(format!(
            "{} lines were added and {} are read",
            prepared.lines.len(),
            grown.entries.len() - before
        ));
    }
    let read = read_file(&grown, &source, before)?;
    if let Some(at) = first_difference(&prepared.messages, &read) {
        return Err(format!("message {at} of the context differs"));
    }
    let last = grown.last().ok_or_else(|| "the file is empty".to_owned())?;
    if grown.name(last) != prepared.leaf {
        return Err("another line is the last one".to_owned());
    }
    let record = prepared.lines.iter().position(|line| line.id == prepared.record);
    let record = record.ok_or_else(|| "our record was not planned".to_owned())?;
    let receipt = receipt::read(&grown, &source, EntryIx((before + record) as u32));
    let receipt = receipt.map_err(|error| error.to_string())?;
    receipt
        .filter(|receipt| receipt.id == prepared.record)
        .ok_or_else(|| "our record is not where it was written".to_owned())
}
