//! Transcripts outside the event tables: cold archives (sqlite E4), and the archives of deletions and resets (sqlite
//! E5). Both are verified against the hash in the database before any line is shown.

use std::fs::File;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::Path;

use rusqlite::{Connection, MAIN_DB, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::events::transcript_identity;
use super::open::Database;
use super::paths::artifact_dir;
use super::size_cache::{hex, limit_for_size, unpack_stream};
use crate::files;
use crate::format::format_size;
use crate::js::{self, Value};
use crate::store::index::FileIdentity;
use crate::units::Bytes;

/// Lines of an archive in an anonymous temporary file, with their identity.
pub(in crate::store) type ArchiveLines = (File, FileIdentity);

fn corrupt_error(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// An archive in an anonymous temporary file, as its bytes were when they were hashed.
struct PackedArchive {
    file: File,
    bytes: Bytes,
    sha256: String,
}

impl PackedArchive {
    /// Copies an archive piece by piece, so that its size never decides about the memory.
    fn copy(mut source: impl io::Read) -> io::Result<Self> {
        let mut out = HashingFile { file: tempfile::tempfile()?, hash: Sha256::new() };
        let bytes = io::copy(&mut source.by_ref().take(MAX_ARCHIVE_BYTES.get() + 1), &mut out)?;
        if bytes > MAX_ARCHIVE_BYTES.get() {
            let limit = format_size(MAX_ARCHIVE_BYTES);
            return Err(corrupt_error(format!(
                "the archive is larger than {limit}, which clawscope does not read"
            )));
        }
        let HashingFile { mut file, hash } = out;
        io::Seek::rewind(&mut file)?;
        Ok(Self { file, bytes: Bytes(bytes), sha256: hex(&hash.finalize()) })
    }

    /// Unpacks it into another such file.
    fn unpack(&self) -> io::Result<File> {
        unpack_stream(io::BufReader::new(&self.file), limit_for_size(self.bytes))
    }
}

/// Writes to a file and hashes the same bytes.
struct HashingFile {
    file: File,
    hash: Sha256,
}

impl io::Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Limit for a packed archive; its whole content is copied and hashed.
const MAX_ARCHIVE_BYTES: Bytes = Bytes(256 << 20);

/// Copies the archive in a row of a table.
fn copy_from_table(at: &Connection, table: &str, row: i64) -> io::Result<PackedArchive> {
    let blob = at.blob_open(MAIN_DB, table, "archive_blob", row, true).map_err(io::Error::other)?;
    PackedArchive::copy(blob)
}

/// Database row of a cold archive.
struct ColdArchive {
    generation: String,
    name: String,
    sha256: String,
    bytes: u64,
    /// Bytes of the event texts.
    raw_bytes: u64,
    events: u64,
    /// The row, when the database holds the archive itself.
    row_id: Option<i64>,
}

fn read_cold_archive(at: &Connection, session: &str) -> rusqlite::Result<Option<ColdArchive>> {
    let ask = "SELECT generation, archive_name, archive_sha256, archive_bytes, raw_bytes, event_count, \
               CASE WHEN storage = 'sqlite' AND archive_blob IS NOT NULL THEN rowid END \
               FROM session_transcript_cold_archives WHERE session_id = ?1";
    let cold = |row: &rusqlite::Row<'_>| {
        Ok(ColdArchive {
            generation: row.get(0)?,
            name: row.get(1)?,
            sha256: row.get(2)?,
            bytes: row.get(3)?,
            raw_bytes: row.get(4)?,
            events: row.get(5)?,
            row_id: row.get(6)?,
        })
    };
    at.query_row(ask, [session], cold).optional()
}

/// Reads the row of a cold archive, and the archive itself when the database holds it.
fn copy_cold_archive(
    at: &Connection,
    session: &str,
) -> rusqlite::Result<Option<(ColdArchive, Option<io::Result<PackedArchive>>)>> {
    let Some(cold) = read_cold_archive(at, session)? else { return Ok(None) };
    let copied = cold.row_id.map(|row| copy_from_table(at, "session_transcript_cold_archives", row));
    Ok(Some((cold, copied)))
}

/// Returns the lines of a cold transcript; `None` when it is not cold.
pub(in crate::store) fn cold_lines(database: &Database, session: &str) -> io::Result<Option<ArchiveLines>> {
    if !database.has_column("session_transcript_cold_archives", "") {
        return Ok(None);
    }
    let found = database.with_transaction(|at| copy_cold_archive(at, session)).map_err(io::Error::other)?;
    let Some((cold, copied)) = found else { return Ok(None) };
    let packed = copied.unwrap_or_else(|| read_archive_file(database.path(), &cold.name))?;
    if packed.bytes.get() != cold.bytes {
        return Err(corrupt_error(format!(
            "cold, unavailable: its archive {} has {} bytes, expected {}",
            cold.name, packed.bytes, cold.bytes
        )));
    }
    if packed.sha256 != cold.sha256 {
        return Err(corrupt_error(format!(
            "cold, unavailable: its archive {} differs from the one that the gateway wrote",
            cold.name
        )));
    }
    let lines = unpack_event_lines(&packed, session, &cold)?;
    Ok(Some((lines, transcript_identity(database.identity(), Some(&cold.generation)))))
}

fn read_archive_file(database: &Path, name: &str) -> io::Result<PackedArchive> {
    let plain = Path::new(name).file_name().is_some_and(|own| own == name);
    let path = artifact_dir(database).join("cold").join(name);
    if !plain {
        return Err(corrupt_error(format!("cold, unavailable: {name:?} is not an archive name")));
    }
    files::open(&path).and_then(PackedArchive::copy).map_err(|error| {
        io::Error::new(error.kind(), format!("cold, unavailable: {}: {error}", path.display()))
    })
}

/// Extracts the event texts of a cold archive, one per line.
fn unpack_event_lines(packed: &PackedArchive, session: &str, cold: &ColdArchive) -> io::Result<File> {
    let mut records = packed.unpack()?;
    io::Seek::rewind(&mut records)?;
    let mut out = io::BufWriter::new(tempfile::tempfile()?);
    let (mut events, mut bytes) = (0_u64, 0_u64);
    for line in io::BufReader::new(records).lines() {
        let line = line?;
        let record = js::parse(&line)
            .map_err(|why| corrupt_error(format!("a record of its archive is not JSON: {why}")))?;
        let is = |kind: &str| record.get("kind").is_some_and(|own| own.str_is(kind));
        if is("header") {
            check_header(&record, session)?;
        } else if is("event") {
            let text = record.get("row").and_then(|row| row.get("event_json")).and_then(Value::as_str);
            let text = text
                .ok_or_else(|| corrupt_error("an event of its archive contains no text"))?
                .to_string_lossy();
            events += 1;
            bytes += text.len() as u64;
            out.write_all(text.replace('\n', " ").as_bytes())?;
            out.write_all(b"\n")?;
        }
    }
    // The recorded number may include the separators between the texts.
    let fits = bytes <= cold.raw_bytes && cold.raw_bytes <= bytes + events;
    if events != cold.events || !fits {
        return Err(corrupt_error(format!(
            "cold, unavailable: its archive contains {events} events ({bytes} bytes), expected {} ({} bytes)",
            cold.events, cold.raw_bytes
        )));
    }
    out.flush()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

fn check_header(record: &Value, session: &str) -> io::Result<()> {
    let is_version_1 = record.get("version").and_then(Value::as_f64) == Some(1.0);
    let is_session = record.get("sessionId").is_some_and(|id| id.str_is(session));
    match (is_version_1, is_session) {
        (true, true) => Ok(()),
        (false, _) => {
            Err(corrupt_error("cold, unavailable: clawscope does not know the version of its archive"))
        }
        (_, false) => Err(corrupt_error("cold, unavailable: its archive belongs to another session")),
    }
}

/// Returns the lines of an archive of a deletion or a reset (sqlite C9).
pub(in crate::store) fn unpack_archive(
    database: &Database,
    session: &str,
    generation: &str,
) -> io::Result<ArchiveLines> {
    let ask = "SELECT encoding, archive_sha256, rowid FROM session_transcript_archives \
               WHERE session_id = ?1 AND generation = ?2";
    let read = |at: &Connection| {
        let parts = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        };
        let found = at.query_row(ask, params![session, generation], parts).optional()?;
        Ok(found.map(|(encoding, hash, row)| {
            (encoding, hash, copy_from_table(at, "session_transcript_archives", row))
        }))
    };
    let found = database.with_transaction(read).map_err(io::Error::other)?;
    let (encoding, hash, packed) =
        found.ok_or_else(|| corrupt_error("the archive is no longer in the database"))?;
    let packed = packed?;
    if packed.sha256 != hash {
        return Err(corrupt_error("the archive differs from the one that the gateway wrote"));
    }
    let lines = match encoding.as_str() {
        "zstd" => packed.unpack()?,
        "identity" => packed.file,
        other => {
            return Err(corrupt_error(format!(
                "the archive uses the compression {other:?}, which clawscope does not know"
            )));
        }
    };
    Ok((lines, transcript_identity(database.identity(), Some(generation))))
}
