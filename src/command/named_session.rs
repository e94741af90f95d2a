//! Opens the session that a person names. Commands that only read also take a part of a key or title; commands that
//! write take whole keys and a unique prefix of an id.

use std::path::Path;

use super::environment::Workspace;
use super::failure::{Exit, Failure};
use super::output::Output;
use super::sessions::read_all;
use super::suggest::{MIN_PARTS_SIMILARITY, parts_similarity};
use crate::files;
use crate::format::{format_age, format_count};
use crate::gateway::env::absolute;
use crate::ids::SessionKey;
use crate::redact::SecretDisplay;
use crate::session::item::match_part;
use crate::session::title::shown_name;
use crate::session::{LoadedSession, Mark, SessionItem};
use crate::store::find::{FindError, find_session};
use crate::store::foreign_file::{ForeignFile, recognise};
use crate::store::path_kind::{PathKind, classify_path};
use crate::text::{shell, truncate, visible, width};

/// Sessions listed for an ambiguous name.
const MAX_LISTED: usize = 10;
/// Limit for a file that may be a list of sessions, bytes.
const MAX_STORE_FILE_BYTES: u64 = 512 << 20;
/// Columns of a listed title.
const TITLE_COLUMNS: usize = 40;

impl Workspace {
    /// Opens the session that `text` names ([`Self::find_session`]).
    pub(super) fn open_session(&self, text: &str, output: &mut Output) -> Result<LoadedSession, Failure> {
        self.refuse_empty(text)?;
        self.open_key(&self.find_session(text, output)?)
    }

    /// Finds the session that `text` names: by key, id, the start of an id or a path, otherwise by a part of its key or
    /// title. A note names a session that was found by a part.
    pub(super) fn find_session(&self, text: &str, output: &mut Output) -> Result<SessionKey, Failure> {
        let not_found = match self.find_exact(text) {
            Ok(key) => return Ok(key),
            Err(error @ FindError::Ambiguous { .. }) => return Err(error.into()),
            Err(error) => error,
        };
        refuse_other_file(&absolute(&self.env.cwd, Path::new(text)))?;
        let items = self.items_by_part(text);
        match items.as_slice() {
            [] => Err(self.unknown_session(text, not_found)),
            [item] => {
                let title = shown_name(item, SecretDisplay::Hidden);
                output.note(&format!("note: {text:?} matches {} ({title})", item.key))?;
                Ok(item.key.clone())
            }
            several => Err(self.several_sessions(text, several)),
        }
    }

    /// Opens the session that `text` names by key, id, a unique prefix of an id or a path, for commands that write.
    pub(super) fn open_exact(&self, text: &str) -> Result<LoadedSession, Failure> {
        match self.find_exact(text) {
            Ok(key) => self.open_key(&key),
            Err(error @ FindError::Ambiguous { .. }) => Err(error.into()),
            Err(error) => match self.items_by_part(text).as_slice() {
                [] => Err(self.unknown_session(text, error)),
                several => Err(self.needs_whole_name(text, several)),
            },
        }
    }

    /// Refuses an empty file that is named by its path: it holds nothing to answer about.
    fn refuse_empty(&self, text: &str) -> Result<(), Failure> {
        let path = absolute(&self.env.cwd, Path::new(text));
        if path.is_file() && recognise(&path) == Some(ForeignFile::Empty) {
            let path = path.display();
            return Err(Failure::unreadable(format!(
                "{path}: empty transcript; expected the JSON lines of a session. Wait until a run has written to it, or \
                 pass another file."
            )));
        }
        Ok(())
    }

    fn find_exact(&self, text: &str) -> Result<SessionKey, FindError> {
        match find_session(self.store(), text, &self.env.cwd) {
            Ok(session) => Ok(session.key.clone()),
            Err(_) if self.is_single_transcript(text) => Ok(self.store().sessions[0].key.clone()),
            Err(error) => Err(error),
        }
    }

    /// Returns the sessions that a part of a name finds. Transcripts are read only if no record names the part: a
    /// session without a record is titled by its first words.
    fn items_by_part(&self, text: &str) -> Vec<SessionItem> {
        if text.contains(std::path::MAIN_SEPARATOR) {
            return Vec::new();
        }
        let listed: Vec<SessionItem> = match_part(&self.listed.items, text).into_iter().cloned().collect();
        if !listed.is_empty() || text.trim().is_empty() {
            return listed;
        }
        let (items, _) = read_all(self, self.listed.items.clone());
        match_part(&items, text).into_iter().cloned().collect()
    }

    fn several_sessions(&self, text: &str, several: &[SessionItem]) -> Failure {
        let count = several.len();
        let lead = format!("{text:?} matches {count} sessions; type more of it, or a key. The newest first:");
        self.listing_failure(Exit::Usage, text, &lead, several)
    }

    fn needs_whole_name(&self, text: &str, several: &[SessionItem]) -> Failure {
        let count = format_count(several.len() as u64, "session", "sessions");
        let lead = format!(
            "no session is named {text:?}. It matches {count}, but a command that writes takes only a whole key or the \
             start of an id:"
        );
        self.listing_failure(Exit::Unreadable, text, &lead, several)
    }

    fn listing_failure(&self, exit: Exit, text: &str, lead: &str, items: &[SessionItem]) -> Failure {
        let shown = &items[..items.len().min(MAX_LISTED)];
        let columns = shown.iter().map(|item| width(&item.key.0)).max().unwrap_or_default();
        let mut lines = vec![lead.to_owned()];
        lines.extend(shown.iter().map(|item| self.listing_line(item, columns)));
        if items.len() > shown.len() {
            lines.push(format!("  and {} more; `clawscope sessions` lists all", items.len() - shown.len()));
        }
        // The first is suggested: without a transcript there is nothing to read or to write.
        let (absent, present): (Vec<_>, Vec<_>) = shown.iter().partition(|item| item.has(Mark::Missing));
        let candidates = present.into_iter().chain(absent).map(|item| item.key.0.clone()).collect();
        Failure::Reported { exit, message: lines.join("\n"), candidates, typed: Some(text.to_owned()) }
    }

    fn listing_line(&self, item: &SessionItem, columns: usize) -> String {
        let key = visible(&item.key.0);
        let gap = " ".repeat(columns - width(&key));
        let (title, _) = truncate(&shown_name(item, SecretDisplay::Hidden), TITLE_COLUMNS);
        let age = item.updated_ms.map(|at| format!("  {}", format_age(at, self.now_ms)));
        format!("  {key}{gap}  {title}{}", age.unwrap_or_default())
    }

    /// Reports an unknown name, with the session whose key and title match it best.
    fn unknown_session(&self, text: &str, error: FindError) -> Failure {
        if let Some(why) = self.listed.unread_database() {
            return Failure::unreadable(format!("no session that can be read matches {text:?}. {why}"));
        }
        let similarity = |item: &SessionItem| {
            let words = item.key.0.split(':').chain(item.title.split([':', ' ']));
            parts_similarity(text.trim(), words.chain([item.key.0.as_str()]))
        };
        let scored = self.listed.items.iter().map(|item| (similarity(item), item));
        let best = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((_, near)) = best.filter(|(similarity, _)| *similarity >= MIN_PARTS_SIMILARITY) else {
            return error.into();
        };
        let message = format!(
            "no session matches {text:?}. Did you mean {}? `clawscope sessions` lists all sessions.",
            visible(&near.key.0)
        );
        let (candidates, typed) = (vec![near.key.0.clone()], Some(text.to_owned()));
        Failure::Reported { exit: Exit::Unreadable, message, candidates, typed }
    }
}

/// Refuses a file that is not a transcript: a store of several sessions, or JSON of another kind.
fn refuse_other_file(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        let (folder, name) = (path.display(), shell::word(&path.to_string_lossy()));
        return Err(Failure::usage(format!(
            "{folder}: this is a folder, not a session. List its sessions with `clawscope sessions {name}`, then name one: \
             SESSION --store {name}"
        )));
    }
    let what = match classify_path(path) {
        PathKind::StoreFile(_) if is_store_file(path) => "a list of sessions",
        PathKind::StoreFile(_) => {
            let what = recognise(path).map_or("a JSON document", ForeignFile::describe);
            return Err(Failure::unreadable(format!(
                "{}: this is {what}; expected the JSON lines of a session. Pass a transcript (*.jsonl) or a session key.",
                path.display()
            )));
        }
        PathKind::Database(_) => "a database of sessions",
        _ => return Ok(()),
    };
    let (file, name) = (path.display(), shell::word(&path.to_string_lossy()));
    Err(Failure::usage(format!(
        "{file}: this is {what}, not a transcript. List them with `clawscope sessions {name}`, then name one: SESSION \
         --store {name}"
    )))
}

/// Whether a JSON file is a gateway's list of sessions: its name says so, or a row has a session id.
fn is_store_file(path: &Path) -> bool {
    let rows = || {
        let text = files::read(path, MAX_STORE_FILE_BYTES).ok()?;
        let rows: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text).ok()?;
        Some(rows.values().any(|row| row.get("sessionId").is_some()))
    };
    path.file_name().is_some_and(|name| name == "sessions.json") || rows().unwrap_or(false)
}
