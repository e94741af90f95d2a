//! Opens an agent's database read-only.
//!
//! The schema version decides whether clawscope knows the tables (sqlite B). A gateway may write at the same time, so
//! connections never write, wait a limited time for locks and keep transactions short; a database in a folder that
//! cannot be written opens as an immutable file (sqlite H).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::store::file_identity::{FileIdentity, file_identity};

/// Time that a read waits for a lock (sqlite H2).
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Limit for a value that is read at once, above those of events and records: a larger one is an error instead of
/// memory. Archives are read piece by piece.
const MAX_VALUE_BYTES: i32 = 64 << 20;
/// Limit for the pages that a connection keeps: the index of 100,000 sessions.
const CACHE_KIB: u32 = 16 << 10;
/// Oldest version with the current tables: that of 2026.8.1 to 2026.9.4. It lacks cold archives and packed events; both
/// are optional here (sqlite B4).
const OLDEST_VERSION: i64 = 19;
/// Version from which these rules were taken.
const NEWEST_VERSION: i64 = 23;
/// First version that holds sessions; releases before it keep transcripts in files (sqlite B3).
const FIRST_VERSION_WITH_SESSIONS: i64 = 4;
/// Advice for a database before that version.
pub(in crate::store) const NO_SESSIONS_HINT: &str =
    "nothing is missing: clawscope reads rows and transcripts from the files in the folder `sessions`";

/// Tables and columns that reading needs in every version (sqlite C).
const REQUIRED_COLUMNS: [(&str, &[&str]); 4] = [
    ("session_nodes", &["session_key", "current_session_id", "entry_json", "updated_at"]),
    ("session_windows", &["session_id", "session_key"]),
    ("transcript_events", &["session_id", "seq", "event_json"]),
    ("transcript_rewrite_watermarks", &["session_id", "generation"]),
];

/// Reason why a database is not read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read it as a database: {0}")]
    Sqlite(rusqlite::Error),
    /// Another program has it for itself (sqlite H2).
    #[error("locked: another program, perhaps its gateway, keeps others from reading it")]
    Locked,
    /// Unknown schema version (sqlite B2, B4).
    #[error("{}", describe_versions(*.user, *.meta))]
    Version {
        /// `PRAGMA user_version`.
        user: i64,
        /// `schema_meta.schema_version`; `None` without such a row.
        meta: Option<i64>,
    },
    /// Not an agent's database.
    #[error("this database has the role {role:?}; expected an agent's database")]
    Role { role: String },
    /// Missing table or column.
    #[error("table {table} has no column {column}")]
    Column { table: &'static str, column: &'static str },
}

fn describe_versions(user: i64, meta: Option<i64>) -> String {
    let is_known = |version: i64| (OLDEST_VERSION..=NEWEST_VERSION).contains(&version);
    let known = format!("clawscope knows versions {OLDEST_VERSION} to {NEWEST_VERSION}");
    match meta {
        Some(meta) if meta == user => format!("schema version {user} is not supported; {known}"),
        Some(meta) if is_known(meta) && is_known(user) => {
            format!("its schema versions differ: {user} in the header and {meta} in schema_meta")
        }
        Some(meta) => format!("schema version {user} in the header and {meta} in schema_meta; {known}"),
        None => format!("schema version {user} in the header and none in schema_meta; {known}"),
    }
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            _ => Self::Sqlite(error),
        }
    }
}

impl OpenError {
    /// Returns advice for the user.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Locked => "try again when that program has finished; nothing is wrong with the database",
            Self::Sqlite(_) => "check that you may read it; if it is a copy, copy its -wal file too",
            Self::Version { user, .. } if *user > NEWEST_VERSION => {
                "a newer gateway wrote it: update clawscope to see its sessions"
            }
            Self::Version { user, .. } if *user < FIRST_VERSION_WITH_SESSIONS => NO_SESSIONS_HINT,
            Self::Version { .. } => {
                "run `openclaw doctor` to migrate it; until then clawscope cannot show \
                 its sessions"
            }
            Self::Role { .. } => "pass agents/<id>/agent/openclaw-agent.sqlite or its state dir instead",
            Self::Column { .. } => "clawscope does not know its tables: update clawscope to see its sessions",
        }
    }
}

/// Metadata of a database (sqlite B1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    pub version: i64,
    /// Owner's agent id.
    pub agent: Option<String>,
    /// Version of the gateway that wrote the database last.
    pub app_version: Option<String>,
}

impl Schema {
    /// Whether the version is older than the newest known one: read, and labelled (sqlite B4).
    pub fn is_older_than_known(&self) -> bool {
        self.version < NEWEST_VERSION
    }
}

/// Whether an older database, named by its file and the form of its tables, has packed events. A gateway that packs
/// events also raises the version, so a file without them is asked once: the answer takes the whole table, and a list of
/// many sessions opens a file again and again.
fn has_packed_events(connection: &Connection, file: (FileIdentity, i64)) -> rusqlite::Result<bool> {
    static UNPACKED: Mutex<Vec<(FileIdentity, i64)>> = Mutex::new(Vec::new());
    let known = || UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
    if known().contains(&file) {
        return Ok(false);
    }
    let query = "SELECT EXISTS (SELECT 1 FROM transcript_events WHERE event_zstd IS NOT NULL)";
    let is_packed = connection.query_row(query, [], |row| row.get::<_, bool>(0))?;
    // Some systems give a file no identity.
    if !is_packed && file.0 != FileIdentity::default() {
        known().push(file);
    }
    Ok(is_packed)
}

/// An open, read-only database.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
    schema: Schema,
    identity: FileIdentity,
    /// Whether it was opened as a file without writers (sqlite H4).
    is_immutable: bool,
    /// `table.column` names, sorted.
    columns: Vec<String>,
    /// SQLite's number of the tables' form, which rises when a gateway adds a table or a column.
    schema_number: i64,
    /// The query for the first events of a transcript.
    pub(super) beginning_query: OnceLock<String>,
    /// When the shared snapshot began; `None` without one.
    snapshot_since: Mutex<Option<Instant>>,
    #[cfg(test)]
    pub(super) transactions: std::sync::atomic::AtomicUsize,
}

impl Database {
    /// Opens an agent's database.
    ///
    /// # Errors
    /// The file cannot be read, is not an agent's database, or has an unknown schema.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let (connection, still) = connect(path)?;
        let schema = read_schema(&connection)?;
        let schema_number = read_schema_number(&connection)?;
        let columns = read_columns(&connection)?;
        let has = |table: &str, column: &str| columns.contains(&format!("{table}.{column}"));
        for (table, wanted) in REQUIRED_COLUMNS {
            if let Some(column) = wanted.iter().find(|column| !has(table, column)) {
                return Err(OpenError::Column { table, column });
            }
        }
        let identity = std::fs::metadata(path).map(|meta| file_identity(&meta)).unwrap_or_default();
        if schema.is_older_than_known()
            && has("transcript_events", "event_zstd")
            && has_packed_events(&connection, (identity, schema_number))?
        {
            return Err(OpenError::Version { user: schema.version, meta: Some(schema.version) });
        }
        Ok(Self {
            path: path.into(),
            connection: Mutex::new(connection),
            schema,
            identity,
            is_immutable: still,
            columns,
            schema_number,
            beginning_query: OnceLock::new(),
            snapshot_since: Mutex::default(),
            #[cfg(test)]
            transactions: std::sync::atomic::AtomicUsize::default(),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Whether the database was opened as a file without writers, so that later writes do not show (sqlite H4).
    pub fn is_immutable(&self) -> bool {
        self.is_immutable
    }

    /// Whether the connection still reads what is at its path: the same file (sqlite H8), with the same tables, and
    /// with later writes. A shared snapshot is short and counts as current.
    pub(in crate::store) fn is_current(&self) -> bool {
        if self.snapshot().is_some() {
            return true;
        }
        let is_same_file =
            || std::fs::metadata(&self.path).is_ok_and(|meta| file_identity(&meta) == self.identity);
        let has_same_tables =
            || read_schema_number(&self.lock()).is_ok_and(|number| number == self.schema_number);
        !self.is_immutable && is_same_file() && has_same_tables()
    }

    /// Whether it has this column, or this table for an empty column name.
    pub(in crate::store) fn has_column(&self, table: &str, column: &str) -> bool {
        let wanted = format!("{table}.{column}");
        let first = self.columns.get(self.columns.partition_point(|own| *own < wanted));
        first.is_some_and(|own| if column.is_empty() { own.starts_with(&wanted) } else { *own == wanted })
    }

    /// Returns a column for a query, or NULL when this version lacks it.
    pub(super) fn column_or_null(&self, table: &str, alias: &str, column: &str) -> String {
        if self.has_column(table, column) { format!("{alias}.{column}") } else { "NULL".to_owned() }
    }

    /// Begins a snapshot that all queries share until [`Self::end_snapshot`].
    pub(in crate::store) fn begin_snapshot(&self) {
        let mut since = self.snapshot();
        if since.is_none() && self.lock().execute_batch("BEGIN").is_ok() {
            *since = Some(Instant::now());
        }
    }

    /// Ends the shared snapshot if it has this age.
    pub(in crate::store) fn end_snapshot(&self, age: Duration) {
        if self.snapshot().take_if(|since| since.elapsed() >= age).is_some() {
            // A transaction that only reads has nothing to lose.
            let _ = self.lock().execute_batch("COMMIT");
        }
    }

    /// Runs several queries on one snapshot (sqlite H6), the shared one if there is one. Keep it short: a long read
    /// transaction stops the write-ahead log from being reused.
    pub(in crate::store) fn with_transaction<T>(
        &self,
        ask: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        #[cfg(test)]
        self.transactions.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let connection = self.lock();
        if !connection.is_autocommit() {
            return ask(&connection);
        }
        let transaction = connection.unchecked_transaction()?;
        let answer = ask(&transaction)?;
        transaction.commit()?;
        Ok(answer)
    }

    fn snapshot(&self) -> MutexGuard<'_, Option<Instant>> {
        self.snapshot_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the schema version of a database without sessions, as releases 2026.6.11 to 2026.7.35 have; `None` for other
/// files.
pub(in crate::store) fn version_without_sessions(path: &Path) -> Option<i64> {
    match Database::open(path) {
        Err(OpenError::Version { user, meta: Some(meta) })
            if user == meta && user < FIRST_VERSION_WITH_SESSIONS =>
        {
            (!has_sessions(path).unwrap_or(true)).then_some(user)
        }
        _ => None,
    }
}

/// Whether a file is a database with sessions, of any version (sqlite A7).
///
/// # Errors
/// Fails for a file that is not a database, is damaged or may not be read.
pub(in crate::store) fn has_sessions(path: &Path) -> rusqlite::Result<bool> {
    // Versions 4 to 13, from beta releases, have other tables.
    let ask = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' \
               AND name IN ('session_nodes', 'session_entries', 'transcript_events'))";
    connect(path).and_then(|(connection, _)| connection.query_row(ask, [], |row| row.get(0)))
}

/// Opens a read-only connection (sqlite H2); the flag says that the file is treated as immutable. That is the fallback
/// when opening fails because nothing can be written in the file's folder, and only without a write-ahead log, whose content
/// would be ignored (sqlite H3, H4).
pub(super) fn connect(path: &Path) -> rusqlite::Result<(Connection, bool)> {
    refuse_special_files(path)?;
    let usual = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match Connection::open_with_flags(path, usual).and_then(prepare_connection) {
        Ok(connection) => Ok((connection, false)),
        Err(error) if is_not_writable(&error) && !has_wal(path) => {
            let flags = usual | OpenFlags::SQLITE_OPEN_URI;
            let still = Connection::open_with_flags(immutable_uri(path), flags).and_then(prepare_connection);
            still.map(|connection| (connection, true)).map_err(|_| error)
        }
        Err(error) => Err(error),
    }
}

/// Fails if a FIFO, a device or a folder has the name of the database or of a file that SQLite opens with it: SQLite
/// would wait for ever.
fn refuse_special_files(path: &Path) -> rusqlite::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if std::fs::metadata(&name).is_ok_and(|meta| !meta.is_file()) {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            let what = format!("{} is not a regular file", Path::new(&name).display());
            return Err(rusqlite::Error::SqliteFailure(code, Some(what)));
        }
    }
    Ok(())
}

fn prepare_connection(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Otherwise each new value of a parameter makes SQLite plan the statement again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)?;
    connection.execute_batch(&format!(
        "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -{CACHE_KIB};"
    ))?;
    // SQLite opens the file with the first query.
    read_schema_number(&connection)?;
    Ok(connection)
}

fn read_schema_number(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

fn is_not_writable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Whether the database has a write-ahead log with content.
fn has_wal(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|meta| meta.len() > 0)
}

/// Returns `file:…?immutable=1`, with characters that are special in a URI percent-encoded.
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-:\\".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri + "?immutable=1"
}

/// Checks the version rules (sqlite B1, B4).
fn read_schema(connection: &Connection) -> Result<Schema, OpenError> {
    let user: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let primary =
        "SELECT role, schema_version, agent_id, app_version FROM schema_meta WHERE meta_key = 'primary'";
    let known = connection.query_row(primary, [], |row| {
        let text = |at| row.get::<_, Option<String>>(at);
        Ok((text(0)?.unwrap_or_default(), row.get::<_, i64>(1)?, text(2)?, text(3)?))
    });
    let (role, meta, agent, app_version) = match known {
        Ok(known) => known,
        // The file itself is damaged or locked.
        Err(error) if !is_schema_error(&error) => return Err(error.into()),
        Err(_) => return Err(OpenError::Version { user, meta: None }),
    };
    if role != "agent" {
        return Err(OpenError::Role { role });
    }
    if user != meta || !(OLDEST_VERSION..=NEWEST_VERSION).contains(&user) {
        return Err(OpenError::Version { user, meta: Some(meta) });
    }
    Ok(Schema { version: user, agent: agent.filter(|agent| !agent.is_empty()), app_version })
}

/// Whether a query failed because the tables differ, not because of the file.
fn is_schema_error(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::QueryReturnedNoRows | rusqlite::Error::InvalidColumnType(..) => true,
        other => other.sqlite_error_code() == Some(ErrorCode::Unknown),
    }
}

fn read_columns(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let all = "SELECT m.name || '.' || c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c \
               WHERE m.type = 'table' AND (m.name LIKE 'session_%' OR m.name LIKE 'transcript_%' \
               OR m.name LIKE 'trajectory_%') ORDER BY 1";
    connection.prepare(all)?.query_map([], |row| row.get(0))?.collect()
}
