//! Finds the lines of a transcript that may hold the words, block by block: no file is mapped, and no more than a block
//! or one line is in memory.

use std::io;

use memchr::{memchr, memrchr};

use crate::session::search::query::SearchQuery;
use crate::store::aligned_buffer::AlignedBuffer;
use crate::store::source::Source;
use crate::units::Bytes;

/// Bytes per read: few enough to stay in the cache of a core.
const BLOCK_BYTES: u64 = 512 << 10;

/// Calls `take` with the offset and the bytes of every line that may match. Returns the bytes read; stops early when
/// `go_on`, called before each block, returns false.
pub(super) fn for_each_candidate(
    source: &Source,
    query: &SearchQuery,
    buffer: &mut AlignedBuffer,
    go_on: &dyn Fn() -> bool,
    take: &mut dyn FnMut(u64, &[u8]),
) -> io::Result<Bytes> {
    let total = source.len()?;
    let mut at = 0;
    while at < total && go_on() {
        buffer.read(source, at, total.min(at + BLOCK_BYTES))?;
        let end = complete_lines(source, buffer, at, total)?;
        if end == 0 {
            break;
        }
        scan(&buffer[..end], at, query, take);
        at += end as u64;
    }
    Ok(Bytes(at))
}

/// Returns the length of the complete lines in the buffer, which at the end of the file are all bytes. Reads on when one
/// line is longer than a block.
fn complete_lines(source: &Source, buffer: &mut AlignedBuffer, at: u64, total: u64) -> io::Result<usize> {
    let mut looked = 0;
    loop {
        let reached = at + buffer.len() as u64;
        if reached >= total {
            return Ok(buffer.len());
        }
        if let Some(line_end) = memrchr(b'\n', &buffer[looked..]) {
            return Ok(looked + line_end + 1);
        }
        looked = buffer.len();
        let more = BLOCK_BYTES.max(looked as u64);
        if buffer.read_more(source, total.min(reached + more))? == 0 {
            return Ok(buffer.len());
        }
    }
}

fn scan(lines: &[u8], offset: u64, query: &SearchQuery, take: &mut dyn FnMut(u64, &[u8])) {
    let mut from = 0;
    while let Some(found) = query.find_candidate(lines, from) {
        let start = memrchr(b'\n', &lines[..found]).map_or(0, |line_end| line_end + 1);
        let end = memchr(b'\n', &lines[found..]).map_or(lines.len(), |length| found + length);
        if query.may_match_line(&lines[start..end]) {
            take(offset + start as u64, &lines[start..end]);
        }
        from = (end + 1).min(lines.len());
        if end >= lines.len() {
            break;
        }
    }
}
