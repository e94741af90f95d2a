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
use super::size_cache;
use crate::store::index::FileIdentity;
use crate::store::limits::{MAX_LINE_BYTES, overlong_line};
use crate::units::Bytes;

/// Start of a line that stands for an event that was not read; what follows says why, up to the closing bracket.
const NOTE_START: &str = "(cannot read this event";
/// Line for an event without a text and without a length that the gateway could have written (sqlite E2).
const UNREADABLE_NOTE: &str = "(cannot read this event: no text, and no length below 4.2 MB)";

/// Computed byte offset of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowSpan {
    seq: i64,
    offset: u64,
}

/// The length of an event's line as the row states it, before any text is read.
#[derive(Debug, Clone, Copy)]
enum StatedLength {
    /// A text of this length.
    Plain(u64),
    /// A text that is too long to be read.
    TooLong(Bytes),
    /// A packed text that claims this length.
    Packed(Bytes),
    Unknown,
}

impl StatedLength {
    /// Reads the length of the text and the claimed length of the packed text from two columns. Neither is trusted:
    /// a row may claim any number.
    fn from_columns(row: &Row<'_>, text: usize, claimed: usize) -> rusqlite::Result<Self> {
        let length = |column| {
            Ok::<_, rusqlite::Error>(match row.get_ref(column)? {
                ValueRef::Integer(length) => u64::try_from(length).ok().map(Bytes),
                _ => None,
            })
        };
        Ok(match (length(text)?, length(claimed)?) {
            (Some(text), _) if text > MAX_LINE_BYTES => Self::TooLong(text),
            (Some(text), _) => Self::Plain(text.get()),
            (None, Some(claimed)) if claimed <= size_cache::MAX_EVENT_BYTES => Self::Packed(claimed),
            (None, _) => Self::Unknown,
        })
    }

    /// Returns the note that stands for a text that is not read; `None` for texts that are.
    fn note(self) -> Option<String> {
        match self {
            Self::Plain(_) | Self::Packed(_) => None,
            Self::TooLong(bytes) => Some(format!("{NOTE_START}: {})", overlong_line(bytes))),
            Self::Unknown => Some(UNREADABLE_NOTE.to_owned()),
        }
    }

    /// Bytes of the line without its end.
    fn line_bytes(self) -> u64 {
        match self {
            Self::Plain(bytes) | Self::Packed(Bytes(bytes)) => bytes,
            Self::TooLong(_) | Self::Unknown => self.note().map_or(0, |note| note.len() as u64),
        }
    }
}

/// Returns what a line says that stands for an event that was not read; `None` for every other line.
pub(in crate::store) fn event_note(line: &[u8]) -> Option<&str> {
    let note = std::str::from_utf8(line).ok()?.trim_end().strip_prefix('(')?.strip_suffix(')')?;
    note.starts_with(&NOTE_START[1..]).then_some(note)
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
        let (generation, spans, len, first) = database.with_transaction(|at| {
            let known = known.filter(|known| known.is_of(database, session));
            let Beginning { generation, mut spans, mut len, texts } =
                read_or_continue(at, database, session, known)?;
            if texts.is_none() {
                let after = spans.last().map_or(i64::MIN, |span: &RowSpan| span.seq);
                len = add_spans(at, database, session, after, &mut spans, len)?;
            }
            Ok((generation, spans, len, texts))
        })?;
        let first = first.filter(|bytes| !bytes.is_empty() && bytes.len() as u64 == len);
        let first = first.map(|bytes| RowBlock { offset: 0, bytes: bytes.into() });
        Ok(Self {
            path: item_path(database.path(), session).into(),
            database: Arc::clone(database),
            session_id: session.to_owned(),
            generation,
            spans,
            len,
            blocks: Mutex::new(first.into_iter().collect()),
        })
    }

    /// Whether it has rows of this session in this database.
    fn is_of(&self, database: &Database, session: &str) -> bool {
        self.session_id == session && !self.is_empty() && self.database.identity() == database.identity()
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
        let read = self.database.with_transaction(|look| {
            if read_generation(look, &self.session_id)? != self.generation {
                return Ok(None);
            }
            read_texts(look, &self.database, &self.session_id, wanted)
        });
        let to = wanted[wanted.len() - 1].seq;
        let next = self.spans.partition_point(|span| span.seq <= to);
        let end = self.spans.get(next).map_or(self.len, |span| span.offset);
        match read {
            Ok(Some(bytes)) if bytes.len() as u64 == end - wanted[0].offset => Ok(bytes),
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

/// Returns the columns of an event's text: length of the text, claimed length of the packed text, text, packed text.
/// Texts above `most` bytes, and packed ones beyond their limit, are not read. Packed events are NULL in versions without
/// them (sqlite B4).
fn text_columns(database: &Database, most: Bytes) -> String {
    let packed = database.column_or_null("transcript_events", "e", "event_zstd");
    format!(
        "{}, CASE WHEN octet_length(e.event_json) <= {most} THEN e.event_json END, \
         CASE WHEN octet_length({packed}) <= {} THEN {packed} END",
        length_columns(database),
        size_cache::MAX_PACKED_BYTES
    )
}

/// Returns the first two of these columns. SQLite stores lengths in the row header, so no text is read for them.
fn length_columns(database: &Database) -> String {
    let claimed = database.column_or_null("transcript_events", "e", "event_utf8_bytes");
    format!("octet_length(e.event_json), {claimed}")
}

/// Reads the texts of rows, each followed by a line end; `None` if the rows are not these any more.
fn read_texts(
    at: &Connection,
    database: &Database,
    session: &str,
    wanted: &[RowSpan],
) -> rusqlite::Result<Option<Vec<u8>>> {
    let (Some(first), Some(last)) = (wanted.first(), wanted.last()) else { return Ok(None) };
    let texts = format!(
        "SELECT e.seq, {} FROM transcript_events e \
         WHERE e.session_id = ?1 AND e.seq BETWEEN ?2 AND ?3 ORDER BY e.seq",
        text_columns(database, MAX_LINE_BYTES)
    );
    let mut spans = wanted.iter();
    let mut bytes = Vec::new();
    let mut statement = at.prepare_cached(&texts)?;
    let mut rows = statement.query(params![session, first.seq, last.seq])?;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)?;
        if spans.next().is_none_or(|span| span.seq != seq) {
            return Ok(None);
        }
        push_text(row, &mut bytes)?;
    }
    Ok(spans.next().is_none().then_some(bytes))
}

/// The first rows of a transcript, and the generation of its history.
#[derive(Default)]
struct Beginning {
    generation: Option<String>,
    spans: Vec<RowSpan>,
    /// Bytes of these rows.
    len: u64,
    /// Their texts, if there are no other rows.
    texts: Option<Vec<u8>>,
}

/// Returns the known rows while history is not rewritten, else reads the first ones.
fn read_or_continue(
    at: &Connection,
    database: &Database,
    session: &str,
    known: Option<&Events>,
) -> rusqlite::Result<Beginning> {
    if known.is_none() {
        // If that fails, reading the lines says why.
        let read = read_beginning(at, database, session).ok().filter(|read| !read.spans.is_empty());
        if let Some(read) = read {
            return Ok(read);
        }
    }
    let generation = read_generation(at, session)?;
    if let Some(known) = known.filter(|known| known.generation == generation) {
        return Ok(Beginning { generation, spans: known.spans.clone(), len: known.len, texts: None });
    }
    let read = read_beginning(at, database, session).unwrap_or_default();
    Ok(Beginning { generation, ..read })
}

/// Reads rows up to the first one that exceeds [`MIN_READ_BYTES`]. Most transcripts are short: one query reads them whole.
fn read_beginning(at: &Connection, database: &Database, session: &str) -> rusqlite::Result<Beginning> {
    let query = database.beginning_query.get_or_init(|| {
        format!(
            "SELECT e.seq, {}, \
             (SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?1) \
             FROM transcript_events e WHERE e.session_id = ?1 ORDER BY e.seq",
            text_columns(database, Bytes(MIN_READ_BYTES as u64))
        )
    });
    let mut read = Beginning::default();
    let mut texts = Vec::new();
    let mut statement = at.prepare_cached(query)?;
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        let end = read.len + StatedLength::from_columns(row, 1, 2)?.line_bytes() + 1;
        if read.spans.is_empty() {
            read.generation = row.get(5)?;
        }
        if end > MIN_READ_BYTES as u64 {
            return Ok(read);
        }
        read.spans.push(RowSpan { seq: row.get(0)?, offset: read.len });
        read.len = end;
        push_text(row, &mut texts)?;
    }
    read.texts = Some(texts);
    Ok(read)
}

/// Adds the spans of the rows after a `seq` and returns the total bytes.
fn add_spans(
    at: &Connection,
    database: &Database,
    session: &str,
    after: i64,
    spans: &mut Vec<RowSpan>,
    mut len: u64,
) -> rusqlite::Result<u64> {
    let lengths = length_columns(database);
    let lengths = format!(
        "SELECT e.seq, {lengths} FROM transcript_events e WHERE e.session_id = ?1 AND e.seq > ?2 ORDER BY e.seq"
    );
    let mut statement = at.prepare_cached(&lengths)?;
    let mut rows = statement.query(params![session, after])?;
    while let Some(row) = rows.next()? {
        spans.push(RowSpan { seq: row.get(0)?, offset: len });
        len += StatedLength::from_columns(row, 1, 2)?.line_bytes() + 1;
    }
    Ok(len)
}

/// Appends the text of a row ([`text_columns`] after its `seq`) and a line end. Line feeds become spaces: between tokens
/// JSON ignores them, and in strings it has none. An event that cannot be read becomes a line that says why.
fn push_text(row: &Row<'_>, bytes: &mut Vec<u8>) -> rusqlite::Result<()> {
    let length = StatedLength::from_columns(row, 1, 2)?;
    if let Some(note) = length.note() {
        bytes.extend(note.into_bytes());
    } else if let StatedLength::Packed(length) = length {
        match unpack_text(row.get_ref(4)?, length) {
            Ok(text) => bytes.extend(text),
            Err(error) => bytes.extend(padded(&format!("{NOTE_START}: {error})"), length.to_len())),
        }
    } else if let ValueRef::Text(text) | ValueRef::Blob(text) = row.get_ref(3)? {
        bytes.extend(text.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
    }
    bytes.push(b'\n');
    Ok(())
}

fn unpack_text(packed: ValueRef<'_>, length: Bytes) -> io::Result<Vec<u8>> {
    let broken = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let packed = packed.as_blob().map_err(|_| broken("it has no packed text, or one above 8.4 MB".into()))?;
    let text = size_cache::unpack_event(packed, length)?;
    String::from_utf8(text).map(String::into_bytes).map_err(|error| broken(error.utf8_error().to_string()))
}

/// Cuts or pads a note to a number of bytes.
fn padded(note: &str, bytes: usize) -> impl Iterator<Item = u8> {
    note.bytes().chain(std::iter::repeat(b' ')).take(bytes)
}
