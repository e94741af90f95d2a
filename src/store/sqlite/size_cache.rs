//! Caches transcript sizes in databases between listings. A busy gateway commits several times a second, so each
//! listing queries only the rows added since the last one (sqlite I3).

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use ruzstd::decoding::StreamingDecoder;

use super::open::Database;
use crate::files;
use crate::format::format_size;
use crate::store::index::FileIdentity;
use crate::units::Bytes;

/// Sizes by database and session.
#[derive(Debug, Default)]
pub struct SizeCache(Mutex<HashMap<PathBuf, HashMap<String, CachedSize>>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct CachedSize {
    database: FileIdentity,
    generation: Option<String>,
    /// `seq` of its last row.
    last_seq: i64,
    /// Bytes of all rows, one line end each.
    bytes: Bytes,
}

impl SizeCache {
    /// Returns the bytes of each session's rows, one line end each; a session without rows is absent. SQLite stores
    /// lengths in row headers, so no text is read.
    fn read(&self, at: &Connection, database: &Database) -> rusqlite::Result<HashMap<String, Bytes>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = lock().remove(database.path()).unwrap_or_default();
        let mut sizes = HashMap::new();
        let query = if known.is_empty() { all_sizes_query(database) } else { LAST_ROWS_QUERY.to_owned() };
        let mut statement = at.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(last_seq) = row.get::<_, Option<i64>>(2)? else { continue };
            let (session, generation): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            let all = row.get::<_, Option<f64>>(3)?.map(|bytes| Bytes(bytes as u64));
            let same = known.remove(&session).filter(|known| {
                known.database == database.identity()
                    && known.generation == generation
                    && known.last_seq <= last_seq
            });
            let (after, before) = same.map_or((i64::MIN, Bytes::ZERO), |known| (known.last_seq, known.bytes));
            let bytes = match all {
                Some(all) => all,
                None if after == last_seq => before,
                None => before + added_bytes(at, database, &session, after)?,
            };
            sizes.insert(session, CachedSize { database: database.identity(), generation, last_seq, bytes });
        }
        let bytes = sizes.iter().map(|(session, size)| (session.clone(), size.bytes)).collect();
        lock().insert(database.path().to_path_buf(), sizes);
        Ok(bytes)
    }
}

/// The id, the generation and the last `seq` of every session.
const LAST_ROWS_QUERY: &str = "SELECT s.id, \
    (SELECT generation FROM transcript_rewrite_watermarks w WHERE w.session_id = s.id), \
    (SELECT max(seq) FROM transcript_events e WHERE e.session_id = s.id), NULL \
    FROM (SELECT current_session_id AS id FROM session_nodes UNION SELECT session_id FROM session_windows) s";

/// Returns the query for the same with the bytes, when nothing is known yet: one pass over the rows of all sessions.
fn all_sizes_query(database: &Database) -> String {
    format!(
        "SELECT e.session_id, \
         (SELECT generation FROM transcript_rewrite_watermarks w WHERE w.session_id = e.session_id), \
         max(e.seq), {} FROM transcript_events e GROUP BY e.session_id",
        byte_sum(database)
    )
}

/// Returns the sum of the bytes of event rows for a query.
fn byte_sum(database: &Database) -> String {
    let packed = database.column_or_null("transcript_events", "e", "event_utf8_bytes");
    format!(
        "total(CASE WHEN e.event_json IS NOT NULL THEN octet_length(e.event_json) \
         WHEN {packed} BETWEEN 0 AND {MAX_EVENT_BYTES} THEN {packed} ELSE 0 END + 1)"
    )
}

/// Returns the bytes of the rows after a `seq`.
fn added_bytes(at: &Connection, database: &Database, session: &str, after: i64) -> rusqlite::Result<Bytes> {
    let sum = format!(
        "SELECT {} FROM transcript_events e WHERE e.session_id = ?1 AND e.seq > ?2",
        byte_sum(database)
    );
    let bytes: f64 = at.prepare_cached(&sum)?.query_row(params![session, after], |row| row.get(0))?;
    Ok(Bytes(bytes as u64))
}

#[derive(Default)]
pub(super) struct TranscriptSize {
    /// Bytes as lines.
    pub(super) bytes: Bytes,
    pub(super) cold: Option<ColdLocation>,
}

pub(super) enum ColdLocation {
    /// File name of the archive.
    File(String),
    InDatabase,
}

/// The sizes of transcripts, in rows or in cold archives.
pub(super) struct TranscriptSizes<'a> {
    at: &'a Connection,
    database: &'a Database,
    /// By session with rows.
    bytes: HashMap<String, Bytes>,
}

impl<'a> TranscriptSizes<'a> {
    pub(super) fn new(
        at: &'a Connection,
        database: &'a Database,
        sizes: &SizeCache,
    ) -> rusqlite::Result<Self> {
        Ok(Self { at, database, bytes: sizes.read(at, database)? })
    }

    pub(super) fn read(&self, session: &str) -> rusqlite::Result<TranscriptSize> {
        let bytes = self.bytes.get(session).copied().unwrap_or_default();
        if bytes > Bytes::ZERO || !self.database.has_column("session_transcript_cold_archives", "") {
            return Ok(TranscriptSize { bytes, cold: None });
        }
        let ask = "SELECT raw_bytes, CASE WHEN storage = 'file' THEN archive_name END \
                   FROM session_transcript_cold_archives WHERE session_id = ?1";
        let cold = |row: &Row<'_>| {
            let name: Option<String> = row.get(1)?;
            Ok(TranscriptSize {
                bytes: Bytes(row.get(0)?),
                cold: Some(name.map_or(ColdLocation::InDatabase, ColdLocation::File)),
            })
        };
        Ok(self.at.prepare_cached(ask)?.query_row([session], cold).optional()?.unwrap_or_default())
    }
}

// Decompresses Zstandard frames of events and archives with a size limit, so that a broken or hostile frame cannot
// exhaust memory or disk (sqlite E2, E4).

/// Maximum bytes of an event that the gateway packs (sqlite E2).
pub(super) const MAX_EVENT_BYTES: Bytes = Bytes(4 << 20);
/// Limit for a packed event, far above what the gateway keeps: it packs only what gets smaller.
pub(super) const MAX_PACKED_BYTES: Bytes = Bytes(8 << 20);

fn corrupt_error(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// Unpacks one event of exactly `bytes` bytes.
pub(super) fn unpack_event(packed: &[u8], bytes: Bytes) -> io::Result<Vec<u8>> {
    if bytes > MAX_EVENT_BYTES {
        return Err(corrupt_error(format!("{bytes} bytes exceed the size limit of a packed event")));
    }
    let mut text = Vec::with_capacity(bytes.to_len());
    unpack_into(packed, &mut text, bytes)?;
    if Bytes::from_len(text.len()) != bytes {
        return Err(corrupt_error(format!("expected {bytes} bytes, found {}", text.len())));
    }
    Ok(text)
}

/// Unpacks a stream of frames. Output beyond `limit` bytes and a wrong checksum are errors.
fn unpack_into(mut packed: impl Read, out: &mut impl io::Write, limit: Bytes) -> io::Result<()> {
    let mut left = limit.get();
    loop {
        let mut first = [0; 1];
        if packed.read(&mut first)? == 0 {
            return Ok(());
        }
        let frame = first.as_slice().chain(&mut packed);
        let mut decoder = StreamingDecoder::new(frame)
            .map_err(|error| corrupt_error(format!("not a Zstandard frame: {error}")))?;
        let written = io::copy(&mut (&mut decoder).take(left + 1), out)?;
        left = left.checked_sub(written).ok_or_else(|| {
            corrupt_error(format!("it unpacks to more than {}, the limit for its size", format_size(limit)))
        })?;
        let (message, found) =
            (decoder.decoder.get_checksum_from_data(), decoder.decoder.get_calculated_checksum());
        if message.is_some() && message != found {
            return Err(corrupt_error("its checksum is wrong"));
        }
    }
}

/// Returns the output limit for packed bytes: 100 times their number, far above the ratio of real transcripts, at least
/// 64 MiB and at most 2 GiB, because the output takes space on the disk.
pub(super) fn limit_for_size(packed: Bytes) -> Bytes {
    Bytes(packed.get().saturating_mul(100).clamp(64 << 20, 2 << 30))
}

/// Unpacks a transcript into an anonymous temporary file.
pub(in crate::store) fn unpack_file(path: &Path) -> io::Result<File> {
    let packed = files::open(path)?;
    let limit = limit_for_size(Bytes(packed.metadata()?.len()));
    unpack_stream(io::BufReader::new(packed), limit)
}

/// Unpacks a stream in the same way; `limit` is in bytes.
pub(super) fn unpack_stream(packed: impl Read, limit: Bytes) -> io::Result<File> {
    let mut out = io::BufWriter::new(tempfile::tempfile()?);
    unpack_into(packed, &mut out, limit)?;
    out.flush()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Returns bytes in lower-case hex, as hashes name archives.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite::testing::TestStore;

    #[test]
    fn cached_sizes_follow_additions_and_rewrites() {
        let made = TestStore::new();
        made.add_session("agent:main:main", "s1", &["12345", "123"]);
        let sizes = SizeCache::default();
        let bytes = || {
            let database = Database::open(&made.database()).unwrap();
            let found = database.with_transaction(|at| sizes.read(at, &database)).unwrap();
            found.get("s1").map_or(0, |bytes| bytes.get())
        };
        assert_eq!([bytes(), bytes()], [10, 10]);
        made.add_event("s1", 2, "1");
        assert_eq!(bytes(), 12);
        made.execute_batch(
            "UPDATE transcript_events SET event_json = '1' WHERE seq = 0;
                  UPDATE transcript_rewrite_watermarks SET generation = '00000000000000000000000000000002'",
        );
        assert_eq!(bytes(), 8);
        made.execute_batch("DELETE FROM transcript_events");
        assert_eq!(bytes(), 0);
    }
}

#[cfg(test)]
mod unpack_tests {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn an_event_has_exactly_the_bytes_it_says() {
        let text = b"abc".repeat(1000);
        let frame = packed(&text);
        assert_eq!(unpack_event(&frame, Bytes(3000)).unwrap(), text);
        for wrong in [2999, 3001] {
            assert!(unpack_event(&frame, Bytes(wrong)).is_err(), "{wrong}");
        }
        assert!(
            unpack_event(&frame, Bytes((4 << 20) + 1))
                .unwrap_err()
                .to_string()
                .contains("exceed the size limit")
        );
        assert!(unpack_event(b"no frame", Bytes(8)).is_err());
        assert!(unpack_event(&frame[..frame.len() / 2], Bytes(3000)).is_err());
    }

    #[test]
    fn the_checksum_detects_a_changed_byte() {
        let mut frame = packed(&b"some words that do not repeat 0123456789".repeat(3));
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(unpack_event(&frame, Bytes(120)).unwrap_err().to_string().contains("checksum"));
    }

    #[test]
    fn frames_follow_each_other_and_a_limit_holds_for_all() {
        let two = [packed(b"one\n"), packed(b"two\n")].concat();
        let mut out = Vec::new();
        unpack_into(two.as_slice(), &mut out, Bytes(8)).unwrap();
        assert_eq!(out, b"one\ntwo\n");
        assert!(unpack_into(two.as_slice(), &mut Vec::new(), Bytes(7)).is_err());
    }

    #[test]
    fn the_hash_is_in_hex() {
        assert_eq!(hex(&[0xe3, 0xb0, 0x0c]), "e3b00c");
    }
}
