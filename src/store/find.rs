//! Finds the session that a user names: by key, id, unique prefix of an id, or path.

use std::path::Path;

use super::discovery::Store;
use super::key::{ParsedKey, parse_key};
use super::session::{Flag, Session};
use crate::gateway::env::absolute;
use crate::units::Moment;

/// Limit of candidates in an error.
const MAX_CANDIDATES: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("no session matches {text:?}; expected a session key, an id or its first characters, or a path{}", format_candidates(", such as", .candidates))]
    NotFound {
        /// Text as the user typed it.
        text: String,
        /// Some existing keys.
        candidates: Vec<String>,
    },
    #[error("{text:?} matches {count} sessions; type more of the id or the whole key{}", format_candidates(":", .candidates))]
    Ambiguous {
        /// Text as the user typed it.
        text: String,
        /// Number of sessions that match.
        count: usize,
        /// The first of them, as `key (id)`.
        candidates: Vec<String>,
    },
}

fn format_candidates(lead: &str, candidates: &[String]) -> String {
    if candidates.is_empty() { String::new() } else { format!("{lead} {}", candidates.join(", ")) }
}

/// Finds the session for `text`. The first test with a match decides: the exact key, the key in another case (the
/// newest of several, store C4), a key without its agent, the exact id, a path, a prefix of an id. Sessions in use win
/// over orphans, and orphans over archives.
pub fn find_session<'a>(store: &'a Store, text: &str, cwd: &Path) -> Result<&'a Session, FindError> {
    let text = text.trim();
    let folded = text.to_lowercase();
    let default = format!("agent:{}:{folded}", store.config.default_agent_id());
    let path = absolute(cwd, Path::new(text));
    let path = path.canonicalize().unwrap_or(path);
    let rest = |session: &Session| match parse_key(&session.key.0) {
        ParsedKey::Agent { rest, .. } | ParsedKey::Bare(rest) => rest,
        ParsedKey::Malformed => String::new(),
    };
    let is_path = |session: &Session| {
        session
            .path
            .as_deref()
            .is_some_and(|own| own.canonicalize().is_ok_and(|own| own == path) || own == path)
    };
    let tests: [&dyn Fn(&Session) -> bool; 7] = [
        &|session| session.key.0 == text,
        &|session| session.key.0.to_lowercase() == folded,
        &|session| session.key.0.to_lowercase() == default,
        &|session| rest(session) == folded,
        &|session| session.id == text,
        &is_path,
        &|session| session.id.to_lowercase().starts_with(&folded),
    ];
    let tests = if text.is_empty() { &tests[..0] } else { &tests[..] };
    for (step, test) in tests.iter().enumerate() {
        let mut fits: Vec<&Session> = store.sessions.iter().filter(|session| test(session)).collect();
        if step == 1 {
            fits.sort_by_key(|session| std::cmp::Reverse(session.updated_ms().map(Moment::whole)));
            fits.truncate(1);
        }
        match best_ranked(&fits).as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => return Err(ambiguous_error(text, several)),
        }
    }
    let candidates =
        store.sessions.iter().take(MAX_CANDIDATES / 3).map(|session| session.key.0.clone()).collect();
    Err(FindError::NotFound { text: text.to_owned(), candidates })
}

/// Returns the matches of the best rank present: with a record, then earlier transcripts and leftover files, then
/// orphans and files, then archives.
fn best_ranked<'a>(fits: &[&'a Session]) -> Vec<&'a Session> {
    let left = |session: &Session| {
        [Flag::Superseded, Flag::Imported, Flag::NotImported].into_iter().any(|flag| session.has_flag(flag))
    };
    let rank = |session: &Session| (session.is_archived(), session.record.is_none(), left(session));
    let best = fits.iter().map(|session| rank(session)).min();
    fits.iter().copied().filter(|session| Some(rank(session)) == best).collect()
}

fn ambiguous_error(text: &str, several: &[&Session]) -> FindError {
    let candidates = several.iter().take(MAX_CANDIDATES).map(|s| format!("{} ({})", s.key, s.id)).collect();
    FindError::Ambiguous { text: text.to_owned(), count: several.len(), candidates }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::store::discovery::discover;
    use std::io::Write;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let sessions = dir.path().join("agents/main/sessions");
        std::fs::create_dir_all(&sessions).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::File::create(sessions.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        };
        write(
            "sessions.json",
            r#"{"agent:main:main":{"sessionId":"abc1"},"agent:main:x":{"sessionId":"abd2","updatedAt":1},
            "agent:main:X":{"sessionId":"abd3","updatedAt":2},"agent:ops:y":{"sessionId":"q9"},"agent:main:y":{"sessionId":"q8"}}"#,
        );
        write("abc1.jsonl", "{\"type\":\"session\",\"id\":\"abc1\"}\n");
        write("abc1.jsonl.bak.2026-02-21T05-16-55.686Z", "");
        write("abz9.jsonl", "");
        let store = discover(Some(dir.path()), &Environment::new([("HOME", "/nowhere")], None, "/".into()));
        (dir, store)
    }

    #[track_caller]
    fn finds(text: &str, id: &str) {
        let (dir, store) = store();
        let found = find_session(&store, &text.replace("DIR", &dir.path().to_string_lossy()), Path::new("/"));
        assert_eq!(found.map(|session| session.id.as_str()), Ok(id), "{text}");
    }

    #[test]
    fn a_session_is_found_by_every_name_it_has() {
        finds("agent:main:main", "abc1");
        finds("AGENT:main:MAIN", "abc1");
        finds(" main ", "abc1");
        finds("agent:main:x", "abd2");
        finds("Agent:main:x", "abd3");
        finds("y", "q8");
        finds("agent:ops:y", "q9");
        finds("abc1", "abc1");
        finds("abc", "abc1");
        finds("ABD3", "abd3");
        finds("DIR/agents/main/sessions/abc1.jsonl", "abc1");
        finds("abz", "abz9");
    }

    #[test]
    fn a_path_may_name_an_archive() {
        let (dir, store) = store();
        let path = dir.path().join("agents/main/sessions/abc1.jsonl.bak.2026-02-21T05-16-55.686Z");
        let found = find_session(&store, path.to_str().unwrap(), Path::new("/")).unwrap();
        assert!(found.is_archived());
    }

    #[test]
    fn an_unclear_text_lists_the_candidates() {
        let (_dir, store) = store();
        let Err(FindError::Ambiguous { count, candidates, .. }) = find_session(&store, "ab", Path::new("/"))
        else {
            panic!("expected several");
        };
        assert_eq!((count, candidates[0].as_str()), (3, "agent:main:main (abc1)"));
        for unknown in ["nope", "", "  "] {
            let error = find_session(&store, unknown, Path::new("/")).unwrap_err();
            assert!(error.to_string().contains("such as agent:main:main"), "{error}");
        }
    }
}
