//! Sessions made from rows, orphans, archives and single files.

use std::path::Path;

use super::archive::{FileKind, classify, parse_archive_name, short_archive_name};
use super::header::{Header, read_header};
use super::kept::Kept;
use super::key::{Kind, ParsedKey, kind_of, parse_key, peer_of, rest_of};
use super::locate::Located;
use super::rows::Row;
use super::session::{Flag, Session, short_stem, stem_of};
use crate::gateway::config::normalise_agent_id;
use crate::ids::SessionKey;

fn new(key: String, agent: String, kind: Kind, id: String) -> Session {
    Session {
        title: id.clone(),
        key: SessionKey(key),
        agent,
        kind,
        id,
        path: None,
        kept: Kept::File,
        row: None,
        cwd: None,
        flags: Vec::new(),
        bytes: 0,
        modified_ms: None,
        active_ms: None,
    }
}

/// A transcript that was put aside, by a key made for it.
pub(super) fn of_key(key: String, agent: String, id: String) -> Session {
    new(key, agent, Kind::Archive, id)
}

/// The session of a row, its transcript not looked for yet.
pub(super) fn named(row: Row, agent: &str) -> Session {
    let (key, owner) = full_key(&row.key, agent);
    let kind = kind_of(&key, row.chat_type.as_deref());
    let mut session = new(key, owner, kind, row.session_id.clone().unwrap_or_default());
    session.title = row.display_name.clone().unwrap_or_else(|| title_of(&session.key.0));
    session.row = Some(row);
    session
}

/// The session of a row found in `agent`'s store file.
pub(super) fn of_row(row: Row, agent: &str, located: Option<Located>) -> Session {
    let mut session = named(row, agent);
    if let Some(located) = located {
        if located.foreign {
            session.flag(Flag::ForeignPath);
        }
        session.path = Some(located.path);
    }
    session.examine();
    session
}

/// A bare key in an agent's own file is short for `agent:<id>:<key>` (store D1); the sentinels stay as they are.
fn full_key(key: &str, agent: &str) -> (String, String) {
    match parse_key(key) {
        ParsedKey::Agent { agent: own, .. } => (key.trim().to_owned(), own),
        ParsedKey::Bare(bare) if bare != "global" && bare != "unknown" && !bare.is_empty() => {
            (format!("agent:{}:{}", normalise_agent_id(agent), key.trim()), agent.to_owned())
        }
        ParsedKey::Bare(_) | ParsedKey::Malformed => (key.trim().to_owned(), agent.to_owned()),
    }
}

/// A name from the key alone.
fn title_of(key: &str) -> String {
    let peer = peer_of(key);
    match (peer.channel, peer.id) {
        (Some(channel), Some(id)) => format!("{channel}:{id}"),
        _ => Some(rest_of(key)).filter(|rest| !rest.is_empty()).unwrap_or_else(|| "(no key)".to_owned()),
    }
}

/// What the header of a transcript says; an empty id is none.
pub(super) fn header_id_and_cwd(path: &Path) -> (Option<String>, Option<String>) {
    let Some(Header { id, cwd, .. }) = read_header(path) else { return (None, None) };
    (Some(id).filter(|id| !id.is_empty()), cwd)
}

/// A transcript no row names (store G2).
pub(super) fn of_orphan(path: &Path, agent: &str) -> Session {
    let stem = stem_of(path);
    let (id, cwd) = header_id_and_cwd(path);
    let id = id.unwrap_or_else(|| stem.clone());
    let mut session = new(format!("agent:{agent}:{stem}"), agent.to_owned(), Kind::Orphan, id);
    short_stem(&stem).clone_into(&mut session.title);
    session.cwd = cwd;
    session.path = Some(path.to_path_buf());
    session.flag(Flag::Orphan);
    session.examine();
    session
}

/// A transcript that was put aside; `None` when the name is no archive's.
pub(super) fn of_archive(path: &Path, agent: &str) -> Option<Session> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let archive = parse_archive_name(&name)?;
    let stem = stem_of(Path::new(archive.original));
    let id = short_stem(&stem).to_owned();
    let key = format!("agent:{agent}:{}", short_archive_name(&name));
    let mut session = new(key, agent.to_owned(), Kind::Archive, id);
    session.path = Some(path.to_path_buf());
    session.kept = if archive.is_packed { Kept::Packed } else { Kept::File };
    session.flag(Flag::Archived(archive.reason));
    session.examine();
    Some(session)
}

/// A transcript that an import into a database moved aside. Whether it is in there is told once the database was asked.
pub(super) fn of_moved_aside(path: &Path, agent: &str) -> Session {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let original = match classify(&name) {
        FileKind::MovedAside(original) => original,
        _ => &name,
    };
    let stem = stem_of(Path::new(original));
    let (id, cwd) = header_id_and_cwd(path);
    let id = id.unwrap_or_else(|| short_stem(&stem).to_owned());
    let mut session = new(format!("agent:{agent}:{original}.imported"), agent.to_owned(), Kind::Archive, id);
    session.cwd = cwd;
    session.path = Some(path.to_path_buf());
    session.flag(Flag::Imported);
    session.examine();
    session
}

/// A transcript given by its path, with no store around it.
pub(super) fn of_file(path: &Path) -> Session {
    let stem = stem_of(path);
    let (id, cwd) = header_id_and_cwd(path);
    let id = id.unwrap_or_else(|| stem.clone());
    let mut session = new(path.to_string_lossy().into_owned(), "main".to_owned(), Kind::File, id);
    session.title = stem;
    session.cwd = cwd;
    session.path = Some(path.to_path_buf());
    if let Some(archive) = path.file_name().and_then(|name| parse_archive_name(name.to_str()?)) {
        session.kept = if archive.is_packed { Kept::Packed } else { Kept::File };
        session.flag(Flag::Archived(archive.reason));
    }
    session.examine();
    session
}
