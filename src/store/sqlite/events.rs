//! The events of one transcript in a database, as the bytes of a file with one line each in the order of `seq`: offsets are
//! made up, texts are read row by row when they are asked for (sqlite E1, E2).

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Row, params, types::ValueRef};

use super::open::Database;
use super::place::path_in;
use super::unpack;
use crate::store::index::FileIdentity;

/// What stands in the place of an event that cannot be unpacked and does not say how long it is.
const UNREADABLE: &str = "(an event that cannot be unpacked)";

/// Where one row begins among the made-up bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    seq: i64,
    offset: u64,
}

/// One row's text.
type Text = (i64, Arc<[u8]>);

/// The rows of a transcript as they were at one moment; rows that come later are not seen.
#[derive(Debug)]
pub struct Events {
    path: Arc<Path>,
    database: Arc<Database>,
    session: String,
    /// Changes when history is rewritten (sqlite C7).
    generation: Option<String>,
    /// In order of both.
    spans: Vec<Span>,
    /// Bytes, line ends included.
    len: u64,
    /// The row that was read last: a long one is asked for in several parts.
    last: Mutex<Option<Text>>,
}

impl Events {
    /// The rows of a session as they are now. Where `known` is an earlier look at the same ones and nothing was rewritten
    /// since, only what was added is asked for (sqlite I3).
    pub fn read(database: &Arc<Database>, session: &str, known: Option<&Self>) -> rusqlite::Result<Self> {
        let (generation, spans, len) = database.look(|at| {
            let generation = generation(at, session)?;
            let same = |known: &&Self| {
                known.session == session
                    && known.generation == generation
                    && known.database.identity() == database.identity()
            };
            let (mut spans, mut len) =
                known.filter(same).map_or((Vec::new(), 0), |it| (it.spans.clone(), it.len));
            let after = spans.last().map_or(i64::MIN, |span: &Span| span.seq);
            len = add_spans(at, database, session, after, &mut spans, len)?;
            Ok((generation, spans, len))
        })?;
        Ok(Self {
            path: path_in(database.path(), session).into(),
            database: Arc::clone(database),
            session: session.to_owned(),
            generation,
            spans,
            len,
            last: Mutex::new(None),
        })
    }

    /// The name it goes by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database it is in.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Bytes of all rows, a line end each.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The file and the generation of its history: rows that were only added to keep both.
    pub fn identity(&self) -> FileIdentity {
        identity(self.database.identity(), self.generation.as_deref())
    }

    /// Reads up to `buffer.len()` bytes at a made-up offset; fewer at a row that is long, or at the end.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if at >= self.len || buffer.is_empty() {
            return Ok(0);
        }
        let first = self.spans.partition_point(|span| span.offset <= at) - 1;
        let end = at + buffer.len() as u64;
        let count = self.spans[first..].iter().take_while(|span| span.offset < end).count();
        let wanted = &self.spans[first..first + count];
        if let Some((seq, text)) = self.last()
            && wanted.len() == 1
            && seq == wanted[0].seq
        {
            return Ok(copy_line(&text, (at - wanted[0].offset) as usize, buffer));
        }
        self.copy_rows(wanted, at, buffer)
    }

    fn last(&self) -> Option<Text> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Copies these rows, the first of them from `at` on.
    fn copy_rows(&self, wanted: &[Span], at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let (from, to) = (wanted[0].seq, wanted[wanted.len() - 1].seq);
        let mut done = 0;
        let mut spans = wanted.iter();
        let mut last = None;
        let read = self.database.look(|look| {
            if generation(look, &self.session)? != self.generation {
                return Ok(false);
            }
            let packed = packed_columns(&self.database);
            let texts = format!(
                "SELECT e.seq, e.event_json, {packed} FROM transcript_events e \
                 WHERE e.session_id = ?1 AND e.seq BETWEEN ?2 AND ?3 ORDER BY e.seq"
            );
            let mut statement = look.prepare(&texts)?;
            let mut rows = statement.query(params![self.session, from, to])?;
            while let (Some(row), Some(span)) = (rows.next()?, spans.next()) {
                if row.get::<_, i64>(0)? != span.seq {
                    return Ok(false);
                }
                let text = text_of(row)?;
                done += copy_line(&text, (at + done as u64 - span.offset) as usize, &mut buffer[done..]);
                last = Some((span.seq, text));
            }
            Ok(spans.next().is_none())
        });
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = last;
        match read {
            Ok(true) => Ok(done),
            Ok(false) => Err(io::Error::other("its history was rewritten or moved while it was read")),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// Device and inode of the database with the generation of a transcript's history folded in.
pub(super) fn identity(file: FileIdentity, generation: Option<&str>) -> FileIdentity {
    let half = |text: Option<&str>| text.and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0);
    let (high, low) =
        (generation.and_then(|text| text.get(..16)), generation.and_then(|text| text.get(16..32)));
    FileIdentity { device: file.device ^ half(high), inode: file.inode ^ half(low) }
}

pub(super) fn generation(at: &Connection, session: &str) -> rusqlite::Result<Option<String>> {
    let ask = "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?1";
    at.query_row(ask, [session], |row| row.get(0)).optional()
}

/// The columns of packed events; NULL in versions that pack none (sqlite B4).
fn packed_columns(database: &Database) -> String {
    let column = |name| database.column("transcript_events", "e", name);
    format!("{}, {}", column("event_zstd"), column("event_utf8_bytes"))
}

/// Adds the spans of the rows after a `seq`; answers the bytes of all. The length of a text is told by its row's header, so
/// no text is read here.
fn add_spans(
    at: &Connection,
    database: &Database,
    session: &str,
    after: i64,
    spans: &mut Vec<Span>,
    mut len: u64,
) -> rusqlite::Result<u64> {
    let bytes = database.column("transcript_events", "e", "event_utf8_bytes");
    let lengths = format!(
        "SELECT e.seq, CASE WHEN e.event_json IS NULL THEN {bytes} ELSE octet_length(e.event_json) END \
         FROM transcript_events e WHERE e.session_id = ?1 AND e.seq > ?2 ORDER BY e.seq"
    );
    let mut statement = at.prepare(&lengths)?;
    let mut rows = statement.query(params![session, after])?;
    while let Some(row) = rows.next()? {
        spans.push(Span { seq: row.get(0)?, offset: len });
        let bytes = row.get::<_, Option<u64>>(1)?.unwrap_or(UNREADABLE.len() as u64);
        len += bytes + 1;
    }
    Ok(len)
}

/// The text of a row: seq, text, packed text, length. A text has no line end within: between tokens it means nothing, and
/// within a string JSON has none. What cannot be unpacked becomes a line that is no JSON and says so.
fn text_of(row: &Row<'_>) -> rusqlite::Result<Arc<[u8]>> {
    let plain = row.get_ref(1)?;
    if let ValueRef::Text(text) | ValueRef::Blob(text) = plain {
        let line = |byte: &u8| if *byte == b'\n' { b' ' } else { *byte };
        return Ok(text.iter().map(line).collect());
    }
    let bytes: Option<u64> = row.get(3)?;
    let (Some(bytes), Ok(packed)) = (bytes, row.get_ref(2)?.as_blob()) else {
        return Ok(UNREADABLE.as_bytes().into());
    };
    let unpacked = unpack::event(packed, bytes).and_then(|text| {
        String::from_utf8(text)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    });
    Ok(match unpacked {
        Ok(text) => text.into_bytes().into(),
        Err(error) => padded(&format!("(an event that cannot be unpacked: {error})"), bytes as usize),
    })
}

/// A note cut or filled up to a number of bytes.
fn padded(note: &str, bytes: usize) -> Arc<[u8]> {
    note.bytes().chain(std::iter::repeat(b' ')).take(bytes).collect()
}

/// Copies a text and its line end from a place in it on, as far as there is room.
fn copy_line(text: &[u8], from: usize, buffer: &mut [u8]) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let count = rest.len().min(buffer.len());
    buffer[..count].copy_from_slice(&rest[..count]);
    if count == rest.len() && count < buffer.len() && from <= text.len() {
        buffer[count] = b'\n';
        return count + 1;
    }
    count
}
