//! Transcripts outside the event tables: cold archives (sqlite E4), and the archives of deletions and resets (sqlite
//! E5). Both are verified against the hash in the database before any line is shown.

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::events::transcript_identity;
use super::open::Database;
use super::paths::artifact_dir;
use super::unpack::{limit_for_bytes, sha256, unpack_stream};
use crate::files;
use crate::js::{self, Value};
use crate::store::index::FileIdentity;

/// Lines of an archive in an anonymous temporary file, with their identity.
pub(in crate::store) type ArchiveLines = (File, FileIdentity);

fn corrupt_error(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
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
    /// The archive itself, when the database holds it.
    blob: Option<Vec<u8>>,
}

fn read_cold_archive(at: &Connection, session: &str) -> rusqlite::Result<Option<ColdArchive>> {
    let ask = "SELECT generation, archive_name, archive_sha256, archive_bytes, raw_bytes, event_count, \
               CASE WHEN storage = 'sqlite' THEN archive_blob END \
               FROM session_transcript_cold_archives WHERE session_id = ?1";
    let cold = |row: &rusqlite::Row<'_>| {
        Ok(ColdArchive {
            generation: row.get(0)?,
            name: row.get(1)?,
            sha256: row.get(2)?,
            bytes: row.get(3)?,
            raw_bytes: row.get(4)?,
            events: row.get(5)?,
            blob: row.get(6)?,
        })
    };
    at.query_row(ask, [session], cold).optional()
}

/// Returns the lines of a cold transcript; `None` when it is not cold.
pub(in crate::store) fn cold_lines(database: &Database, session: &str) -> io::Result<Option<ArchiveLines>> {
    if !database.has_column("session_transcript_cold_archives", "") {
        return Ok(None);
    }
    let Some(cold) =
        database.with_transaction(|at| read_cold_archive(at, session)).map_err(io::Error::other)?
    else {
        return Ok(None);
    };
    let packed = match &cold.blob {
        Some(blob) => blob.clone(),
        None => read_archive_file(database.path(), &cold.name)?,
    };
    if packed.len() as u64 != cold.bytes {
        return Err(corrupt_error(format!(
            "cold, unavailable: its archive {} has {} bytes, expected {}",
            cold.name,
            packed.len(),
            cold.bytes
        )));
    }
    if sha256(&packed) != cold.sha256 {
        return Err(corrupt_error(format!(
            "cold, unavailable: its archive {} differs from the one that the gateway wrote",
            cold.name
        )));
    }
    let lines = unpack_event_lines(&packed, session, &cold)?;
    Ok(Some((lines, transcript_identity(database.identity(), Some(&cold.generation)))))
}

/// Limit for a packed archive, bytes; its whole content is hashed.
const MAX_ARCHIVE_BYTES: u64 = 256 << 20;

fn read_archive_file(database: &Path, name: &str) -> io::Result<Vec<u8>> {
    let plain = Path::new(name).file_name().is_some_and(|own| own == name);
    let path = artifact_dir(database).join("cold").join(name);
    if !plain {
        return Err(corrupt_error(format!("cold, unavailable: {name:?} is not an archive name")));
    }
    files::read(&path, MAX_ARCHIVE_BYTES).map_err(|error| {
        io::Error::new(error.kind(), format!("cold, unavailable: {}: {error}", path.display()))
    })
}

/// Extracts the event texts of a cold archive, one per line.
fn unpack_event_lines(packed: &[u8], session: &str, cold: &ColdArchive) -> io::Result<File> {
    let mut records = unpack_stream(packed, limit_for_bytes(packed))?;
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
    let ask = "SELECT encoding, archive_blob, archive_sha256 FROM session_transcript_archives \
               WHERE session_id = ?1 AND generation = ?2";
    let read = |at: &rusqlite::Transaction<'_>| {
        let parts = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, String>(2)?))
        };
        at.query_row(ask, params![session, generation], parts).optional()
    };
    let found = database.with_transaction(read).map_err(io::Error::other)?;
    let (encoding, blob, hash) =
        found.ok_or_else(|| corrupt_error("the archive is no longer in the database"))?;
    if sha256(&blob) != hash {
        return Err(corrupt_error("the archive differs from the one that the gateway wrote"));
    }
    let lines = match encoding.as_str() {
        "zstd" => unpack_stream(blob.as_slice(), limit_for_bytes(&blob))?,
        "identity" => {
            let mut file = tempfile::tempfile()?;
            file.write_all(&blob)?;
            file
        }
        other => {
            return Err(corrupt_error(format!(
                "the archive uses the compression {other:?}, which clawscope does not know"
            )));
        }
    };
    Ok((lines, transcript_identity(database.identity(), Some(generation))))
}
