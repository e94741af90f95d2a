//! Builds sessions from records, orphans, archives and single files.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use super::archive::{FileKind, classify, parse_archive_name, short_archive_name};
use super::key::{ParsedKey, SessionKind, key_without_agent, parse_key, parse_peer, session_kind};
use super::locate::LocatedTranscript;
use super::location::Location;
use super::session::{Flag, Session, session_stem, short_stem};
use super::session_records::SessionRecord;
use crate::files;
use crate::gateway::config::normalise_agent_id;
use crate::gateway::substitute::is_secret_file;
use crate::ids::SessionKey;
use crate::js::{self, Value};
use crate::units::{Bytes, Moment};

fn new_session(key: String, agent: String, kind: SessionKind, id: String) -> Session {
    Session {
        title: id.clone(),
        key: SessionKey(key),
        agent,
        kind,
        id,
        path: None,
        location: Location::File,
        record: None,
        cwd: None,
        parent_session: None,
        flags: Vec::new(),
        bytes: Bytes::ZERO,
        modified_ms: None,
        active_ms: None,
    }
}

/// Builds an archived session under a generated key.
pub(super) fn archived_from_key(key: String, agent: String, id: String) -> Session {
    new_session(key, agent, SessionKind::Archive, id)
}

/// Builds the session of a record without looking for its transcript.
pub(super) fn unlocated_from_record(row: SessionRecord, agent: &str) -> Session {
    let (key, owner) = full_key(&row.key, agent);
    let kind = session_kind(&key, row.chat_type.as_deref());
    let mut session = new_session(key, owner, kind, row.session_id.clone().unwrap_or_default());
    session.title = row.display_name.clone().unwrap_or_else(|| title_from_key(&session.key.0));
    session.record = Some(row);
    session
}

/// Builds the session of a record in `agent`'s `sessions.json`.
pub(super) fn session_from_record(
    row: SessionRecord,
    agent: &str,
    located: Option<LocatedTranscript>,
) -> Session {
    let mut session = unlocated_from_record(row, agent);
    if let Some(located) = located {
        if located.is_foreign {
            session.add_flag(Flag::ForeignPath);
        }
        session.path = Some(located.path);
    }
    session.load_file_metadata();
    session
}

/// Completes a bare key in an agent's own file to `agent:<id>:<key>` (store D1); `global` and `unknown` stay.
fn full_key(key: &str, agent: &str) -> (String, String) {
    match parse_key(key) {
        ParsedKey::Agent { agent: own, .. } => (key.trim().to_owned(), own),
        ParsedKey::Bare(bare) if bare != "global" && bare != "unknown" && !bare.is_empty() => {
            (format!("agent:{}:{}", normalise_agent_id(agent), key.trim()), agent.to_owned())
        }
        ParsedKey::Bare(_) | ParsedKey::Malformed => (key.trim().to_owned(), agent.to_owned()),
    }
}

/// Builds a title only from the key.
fn title_from_key(key: &str) -> String {
    let peer = parse_peer(key);
    match (peer.channel, peer.id) {
        (Some(channel), Some(id)) => format!("{channel}:{id}"),
        _ => Some(key_without_agent(key))
            .filter(|rest| !rest.is_empty())
            .unwrap_or_else(|| "(no key)".to_owned()),
    }
}

/// Reads id and working directory from a transcript's header; an empty id counts as absent.
pub(super) fn read_id_and_cwd(path: &Path) -> (Option<String>, Option<String>) {
    let Some(Header { id, cwd, .. }) = read_header(path) else { return (None, None) };
    (Some(id).filter(|id| !id.is_empty()), cwd)
}

/// Builds the session of a transcript without a record (store G2).
pub(super) fn session_from_orphan(path: &Path, agent: &str) -> Session {
    let stem = session_stem(path);
    let header = read_header(path);
    let id = header.as_ref().map(|header| header.id.clone()).filter(|id| !id.is_empty());
    let id = id.unwrap_or_else(|| stem.clone());
    let mut session = new_session(format!("agent:{agent}:{stem}"), agent.to_owned(), SessionKind::Orphan, id);
    short_stem(&stem).clone_into(&mut session.title);
    (session.cwd, session.parent_session) = header.map_or((None, None), |header| (header.cwd, header.parent));
    session.path = Some(path.to_path_buf());
    session.add_flag(Flag::Orphan);
    session.load_file_metadata();
    session
}

/// Builds the session of an archive; `None` when the name is not an archive's.
pub(super) fn session_from_archive(path: &Path, agent: &str) -> Option<Session> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let archive = parse_archive_name(&name)?;
    let stem = session_stem(Path::new(archive.original));
    let id = short_stem(&stem).to_owned();
    let key = format!("agent:{agent}:{}", short_archive_name(&name));
    let mut session = new_session(key, agent.to_owned(), SessionKind::Archive, id);
    session.path = Some(path.to_path_buf());
    session.location = if archive.is_packed { Location::PackedFile } else { Location::File };
    session.add_flag(Flag::Archived(archive.reason));
    session.load_file_metadata();
    Some(session)
}

/// Builds the session of a transcript that an import moved aside. [`Flag::Imported`] is provisional until the database
/// is checked.
pub(super) fn session_from_moved_aside(path: &Path, agent: &str) -> Session {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let original = match classify(&name) {
        FileKind::MovedAside(original) => original,
        _ => &name,
    };
    let stem = session_stem(Path::new(original));
    let (id, cwd) = read_id_and_cwd(path);
    let id = id.unwrap_or_else(|| short_stem(&stem).to_owned());
    let mut session =
        new_session(format!("agent:{agent}:{original}.imported"), agent.to_owned(), SessionKind::Archive, id);
    session.cwd = cwd;
    session.path = Some(path.to_path_buf());
    session.add_flag(Flag::Imported);
    session.load_file_metadata();
    session
}

/// Builds the session of a transcript that the user named, without a store around it.
pub(super) fn session_from_file(path: &Path) -> Session {
    let stem = session_stem(path);
    let (id, cwd) = read_id_and_cwd(path);
    let id = id.unwrap_or_else(|| stem.clone());
    let mut session =
        new_session(path.to_string_lossy().into_owned(), "main".to_owned(), SessionKind::File, id);
    session.title = stem;
    session.cwd = cwd;
    session.path = Some(path.to_path_buf());
    if let Some(archive) = path.file_name().and_then(|name| parse_archive_name(name.to_str()?)) {
        session.location = if archive.is_packed { Location::PackedFile } else { Location::File };
        session.add_flag(Flag::Archived(archive.reason));
    }
    session.load_file_metadata();
    session
}

/// Limit in bytes of the search for the header (store-pi-1.5 A6).
const MAX_HEADER_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    pub id: String,
    /// Version as JavaScript compares it: 1 when absent, NaN for text that is not a number (store L1).
    pub version: f64,
    /// Working directory of the session.
    pub cwd: Option<String>,
    /// Start of the session; NaN when absent.
    pub started_ms: Moment,
    /// The session that this one was forked from or continues: the path of its file, or its id (store I2, sqlite F).
    pub parent: Option<String>,
}

impl Header {
    /// Reads the header from the first line that parses; `None` when that is another kind of line (store J2, J3).
    pub fn from_value(value: &Value) -> Option<Self> {
        let is_header = value.get("type")?.str_is("session");
        let text_of = |key: &str| Some(value.get(key)?.as_str()?.to_string_lossy());
        let id = text_of("id").filter(|_| is_header)?;
        let cwd = text_of("cwd").filter(|cwd| !cwd.is_empty());
        let started = js::date_value(value.get("timestamp"));
        let parent = text_of("parentSession").filter(|parent| !parent.is_empty());
        Some(Self { id, version: parse_version(value.get("version")), cwd, started_ms: started, parent })
    }
}

/// Reads the header of a file; `None` when the first line that parses is not a header, or the file cannot be read.
pub fn read_header(path: &Path) -> Option<Header> {
    // A credentials file is not a transcript.
    if is_secret_file(path) {
        return None;
    }
    let mut reader = BufReader::new(files::open(path).ok()?.take(MAX_HEADER_BYTES));
    let mut line = Vec::new();
    let mut first = true;
    // The header is almost always the first line, so later lines are rarely read.
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = if std::mem::take(&mut first) { text.trim_start_matches('\u{feff}') } else { &text };
        if let Ok(value) = js::parse(text.trim()) {
            return Header::from_value(&value);
        }
        line.clear();
    }
    None
}

/// Reads the header from the text at the start of a file.
pub fn parse_header(text: &str) -> Option<Header> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
    Header::from_value(&lines.find_map(|line| js::parse(line).ok())?)
}

/// Returns `version ?? 1` as a JavaScript number (store L1).
fn parse_version(value: Option<&Value>) -> f64 {
    match value {
        None | Some(Value::Null) => 1.0,
        Some(Value::Number(number)) => *number,
        Some(Value::Bool(flag)) => f64::from(u8::from(*flag)),
        Some(Value::Object(_)) => f64::NAN,
        Some(other) => {
            let text = js::to_text(Some(other)).trim().to_string_lossy();
            if text.is_empty() { 0.0 } else { text.parse().unwrap_or(f64::NAN) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parseable_line_decides() {
        let header =
            r#"{"type":"session","version":3,"id":"s1","timestamp":"1970-01-01T00:00:01.000Z","cwd":"/w"}"#;
        let expected = Header {
            id: "s1".into(),
            version: 3.0,
            cwd: Some("/w".into()),
            started_ms: Moment(1_000.0),
            parent: None,
        };
        assert_eq!(parse_header(header), Some(expected.clone()));
        assert_eq!(
            parse_header(&format!("\u{feff}\n\r\n{{junk\n{header}\n{{\"type\":\"message\"}}")),
            Some(expected)
        );
        for other in ["5", "{\"type\":\"message\",\"id\":\"x\"}", "{\"type\":\"session\",\"id\":5}", "[]"] {
            assert_eq!(parse_header(&format!("{other}\n{header}")), None, "{other}");
        }
    }

    #[test]
    fn versions_compare_as_javascript_numbers_do() {
        let version = |text: &str| {
            parse_header(&format!(r#"{{"type":"session","id":"s","version":{text}}}"#)).unwrap().version
        };
        assert_eq!(["null", "2", "\" 3 \"", "\"\"", "true"].map(version), [1.0, 2.0, 3.0, 0.0, 1.0]);
        assert!(version("\"x\"").is_nan() && version("{}").is_nan());
    }
}
