//! The events of one transcript in a database, presented as the bytes of a file with one line per event in `seq` order.
//! Offsets are computed from the lengths, and texts are read row by row on demand (sqlite E1, E2), so that the rest of
//! the store reads files and databases alike.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Row, params, types::ValueRef};

use super::open::Database;
use super::paths::item_path;
use super::unpack;
use crate::store::index::FileIdentity;
use crate::units::Bytes;

/// Line for an event that cannot be unpacked and has no recorded length.
const UNREADABLE_NOTE: &str = "(cannot unpack this event)";

/// Computed byte offset of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowSpan {
    seq: i64,
    offset: u64,
}

/// Minimum bytes per query: the next read mostly continues after this one.
const MIN_READ_BYTES: usize = 64 << 10;
/// Number of cached blocks: several readers use a transcript at once.
const MAX_CACHED_BLOCKS: usize = 8;

/// Whole rows with their line ends.
#[derive(Debug, Clone)]
struct RowBlock {
    offset: u64,
    bytes: Arc<[u8]>,
}

impl RowBlock {
    /// Returns the bytes from an offset on; `None` outside the block.
    fn bytes_from(&self, at: u64) -> Option<&[u8]> {
        let from = at.checked_sub(self.offset)?;
        self.bytes.get(from as usize..).filter(|rest| !rest.is_empty())
    }
}

/// Snapshot of a transcript's rows; later rows do not show.
#[derive(Debug)]
pub struct Events {
    path: Arc<Path>,
    database: Arc<Database>,
    session_id: String,
    /// Changes when history is rewritten (sqlite C7).
    generation: Option<String>,
    /// Sorted by `seq` and by offset.
    spans: Vec<RowSpan>,
    /// Bytes, line ends included.
    len: u64,
    /// Recently read blocks, the newest last.
    blocks: Mutex<VecDeque<RowBlock>>,
}

impl Events {
    /// Reads the current rows of a session. If `known` covers the same session and history was not rewritten since,
    /// only new rows are queried (sqlite I3).
    pub fn read(database: &Arc<Database>, session: &str, known: Option<&Self>) -> rusqlite::Result<Self> {
        let (generation, spans, len) = database.with_transaction(|at| {
            let generation = read_generation(at, session)?;
            let same = |known: &&Self| {
                known.session_id == session
                    && known.generation == generation
                    && known.database.identity() == database.identity()
            };
            let (mut spans, mut len) =
                known.filter(same).map_or((Vec::new(), 0), |it| (it.spans.clone(), it.len));
            let after = spans.last().map_or(i64::MIN, |span: &RowSpan| span.seq);
            len = add_spans(at, database, session, after, &mut spans, len)?;
            Ok((generation, spans, len))
        })?;
        Ok(Self {
            path: item_path(database.path(), session).into(),
            database: Arc::clone(database),
            session_id: session.to_owned(),
            generation,
            spans,
            len,
            blocks: Mutex::default(),
        })
    }

    /// Returns the made-up path (see [`item_path`]).
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// Returns the bytes of all rows, one line end each.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns an identity from the database file and the history generation: appending rows keeps both.
    pub fn identity(&self) -> FileIdentity {
        transcript_identity(self.database.identity(), self.generation.as_deref())
    }

    /// Reads up to `buffer.len()` bytes at a computed offset; fewer at the end of a cached block.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if at >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let known = self.cached_block(at);
        let block = known.map_or_else(|| self.read_block(at, buffer.len().max(MIN_READ_BYTES)), Ok)?;
        let rest = block.bytes_from(at).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn cached_block(&self, at: u64) -> Option<RowBlock> {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.iter().find(|block| block.bytes_from(at).is_some()).cloned()
    }

    /// Reads the row at an offset and the rows after it, up to `bytes`, and caches them.
    fn read_block(&self, at: u64, bytes: usize) -> io::Result<RowBlock> {
        let first = self.spans.partition_point(|span| span.offset <= at) - 1;
        let end = at + bytes as u64;
        // A last row that exceeds the range may be long, so it is left for the next block.
        let ends = |next: usize| self.spans.get(next).map_or(self.len, |span| span.offset);
        let more = (first + 1..self.spans.len()).take_while(|row| ends(row + 1) <= end).count();
        let wanted = &self.spans[first..=first + more];
        let block = RowBlock { offset: wanted[0].offset, bytes: self.read_rows(wanted)?.into() };
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.len() == MAX_CACHED_BLOCKS {
            blocks.pop_front();
        }
        blocks.push_back(block.clone());
        Ok(block)
    }

    /// Reads the texts of rows, each followed by a line end.
    fn read_rows(&self, wanted: &[RowSpan]) -> io::Result<Vec<u8>> {
        let (from, to) = (wanted[0].seq, wanted[wanted.len() - 1].seq);
        let mut spans = wanted.iter();
        let mut bytes = Vec::new();
        let read = self.database.with_transaction(|look| {
            if read_generation(look, &self.session_id)? != self.generation {
                return Ok(false);
            }
            let packed = packed_columns(&self.database);
            let texts = format!(
                "SELECT e.seq, e.event_json, {packed} FROM transcript_events e \
                 WHERE e.session_id = ?1 AND e.seq BETWEEN ?2 AND ?3 ORDER BY e.seq"
            );
            let mut statement = look.prepare_cached(&texts)?;
            let mut rows = statement.query(params![self.session_id, from, to])?;
            while let Some(row) = rows.next()? {
                let seq = row.get::<_, i64>(0)?;
                if spans.next().is_none_or(|span| span.seq != seq) {
                    return Ok(false);
                }
                push_text(row, &mut bytes)?;
            }
            Ok(spans.next().is_none())
        });
        let next = self.spans.partition_point(|span| span.seq <= to);
        let end = self.spans.get(next).map_or(self.len, |span| span.offset);
        match read {
            Ok(true) if bytes.len() as u64 == end - wanted[0].offset => Ok(bytes),
            Ok(_) => {
                Err(io::Error::other("the gateway rewrote or moved the session while clawscope read it"))
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// Combines device and inode of the database with the generation of a transcript's history.
pub(super) fn transcript_identity(file: FileIdentity, generation: Option<&str>) -> FileIdentity {
    let half = |text: Option<&str>| text.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
    let (high, low) =
        (generation.and_then(|text| text.get(..16)), generation.and_then(|text| text.get(16..32)));
    FileIdentity { device: file.device ^ half(high), inode: file.inode ^ half(low) }
}

pub(super) fn read_generation(at: &Connection, session: &str) -> rusqlite::Result<Option<String>> {
    let ask = "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?1";
    at.prepare_cached(ask)?.query_row([session], |row| row.get(0)).optional()
}

/// Returns the columns of packed events; NULL in versions without them (sqlite B4).
fn packed_columns(database: &Database) -> String {
    let column = |name| database.column_or_null("transcript_events", "e", name);
    format!("{}, {}", column("event_zstd"), column("event_utf8_bytes"))
}

/// Adds the spans of the rows after a `seq` and returns the total bytes. SQLite stores a text's length in the row
/// header, so no text is read here.
fn add_spans(
    at: &Connection,
    database: &Database,
    session: &str,
    after: i64,
    spans: &mut Vec<RowSpan>,
    mut len: u64,
) -> rusqlite::Result<u64> {
    let bytes = database.column_or_null("transcript_events", "e", "event_utf8_bytes");
    let lengths = format!(
        "SELECT e.seq, CASE WHEN e.event_json IS NULL THEN {bytes} ELSE octet_length(e.event_json) END \
         FROM transcript_events e WHERE e.session_id = ?1 AND e.seq > ?2 ORDER BY e.seq"
    );
    let mut statement = at.prepare(&lengths)?;
    let mut rows = statement.query(params![session, after])?;
    while let Some(row) = rows.next()? {
        spans.push(RowSpan { seq: row.get(0)?, offset: len });
        let bytes = row.get::<_, Option<u64>>(1)?.unwrap_or(UNREADABLE_NOTE.len() as u64);
        len += bytes + 1;
    }
    Ok(len)
}

/// Appends the text of a row (seq, text, packed text, length) and a line end. Line feeds become spaces: between tokens
/// JSON ignores them, and in strings it has none. An event that cannot be unpacked becomes a line that is not JSON and
/// says so.
fn push_text(row: &Row<'_>, bytes: &mut Vec<u8>) -> rusqlite::Result<()> {
    let plain = row.get_ref(1)?;
    if let ValueRef::Text(text) | ValueRef::Blob(text) = plain {
        bytes.extend(text.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
    } else if let (Some(length), Ok(packed)) = (row.get::<_, Option<u64>>(3)?, row.get_ref(2)?.as_blob()) {
        let unpacked = unpack::unpack_event(packed, Bytes(length)).and_then(|text| {
            String::from_utf8(text)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
        });
        match unpacked {
            Ok(text) => bytes.extend(text.into_bytes()),
            Err(error) => {
                bytes.extend(padded(&format!("(cannot unpack this event: {error})"), length as usize));
            }
        }
    } else {
        bytes.extend(UNREADABLE_NOTE.as_bytes());
    }
    bytes.push(b'\n');
    Ok(())
}

/// Cuts or pads a note to a number of bytes.
fn padded(note: &str, bytes: usize) -> impl Iterator<Item = u8> {
    note.bytes().chain(std::iter::repeat(b' ')).take(bytes)
}
