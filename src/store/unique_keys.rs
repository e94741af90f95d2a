//! Makes session keys unique. Users select sessions by key, so a shared key could show, and write to, the transcript of
//! the wrong session.

use std::collections::HashSet;

use super::session::Session;
use crate::ids::SessionKey;

/// Renames every session whose key is already used. A record whose own text is the key wins over one whose key was
/// completed (store D1), and records win over orphans and archives, which only have generated keys (store G2).
pub(super) fn make_keys_unique(sessions: &mut [Session]) {
    let own = |session: &Session| session.record.as_ref().is_some_and(|row| row.key.trim() == session.key.0);
    let mut taken = HashSet::new();
    let mut late = Vec::new();
    for rank in [true, false] {
        for at in (0..sessions.len()).filter(|at| own(&sessions[*at]) == rank) {
            if !taken.insert(sessions[at].key.0.clone()) {
                late.push(at);
            }
        }
    }
    for at in late {
        let key = unused_key(&sessions[at], &taken);
        taken.insert(key.clone());
        sessions[at].key = SessionKey(key);
    }
}

/// Returns a free key: the record's own text, that text with its agent, the file name, or the key with the id.
fn unused_key(session: &Session, taken: &HashSet<String>) -> String {
    let Session { key, agent, id, .. } = session;
    let raw = session.record.as_ref().map(|row| row.key.trim());
    let file = session.path.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let front = if key.0.starts_with("pi:") { "" } else { "agent:" };
    let named = match raw {
        Some(raw) if raw.starts_with("agent:") => None,
        Some(raw) => Some(format!("agent:{agent}:{raw}")),
        None => file.map(|file| format!("{front}{agent}:{file}")),
    };
    let numbered = (2_u32..).map(|count| format!("{key} ({id}) {count}"));
    let candidates = raw.map(str::to_owned).into_iter().chain(named).chain([format!("{key} ({id})")]);
    let free =
        candidates.chain(numbered).find(|candidate| !candidate.is_empty() && !taken.contains(candidate));
    free.unwrap_or_else(|| key.0.clone())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::io::Write as _;
    use std::path::Path;

    use crate::gateway::env::Environment;
    use crate::store::discovery::{Store, discover};

    fn store(files: &[(&str, &str)]) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let store = discover(Some(dir.path()), &Environment::default());
        (dir, store)
    }

    /// Returns the keys with the file names of their sessions.
    fn listed(store: &Store) -> Vec<(&str, &str)> {
        fn file(path: Option<&Path>) -> &str {
            path.and_then(Path::file_name).and_then(OsStr::to_str).unwrap()
        }
        store.sessions.iter().map(|session| (session.key.0.as_str(), file(session.path.as_deref()))).collect()
    }

    #[test]
    fn the_same_sentinel_in_two_agents_is_two_sessions() {
        let rows = r#"{"global":{"sessionId":"a"}}"#;
        let (_dir, store) = store(&[
            ("agents/main/sessions/sessions.json", rows),
            ("agents/ops/sessions/sessions.json", rows),
        ]);
        assert_eq!(listed(&store), [("global", "a.jsonl"), ("agent:ops:global", "a.jsonl")]);
    }

    #[test]
    fn a_row_keeps_its_key_next_to_a_short_key_and_an_orphan() {
        let rows = r#"{"main":{"sessionId":"short"},"agent:main:main":{"sessionId":"whole"}}"#;
        let (_dir, store) =
            store(&[("agents/main/sessions/sessions.json", rows), ("agents/main/sessions/main.jsonl", "")]);
        assert_eq!(
            listed(&store),
            [
                ("main", "short.jsonl"),
                ("agent:main:main", "whole.jsonl"),
                ("agent:main:main.jsonl", "main.jsonl")
            ]
        );
    }

    #[test]
    fn copies_of_one_pi_session_are_distinguished() {
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"x\",\"cwd\":\"/w\"}\n";
        let (_dir, store) = store(&[
            ("sessions/--w--/1_x.jsonl", header),
            ("sessions/--w--/2_x.jsonl", header),
            ("auth.json", ""),
        ]);
        assert_eq!(listed(&store), [("pi:x", "1_x.jsonl"), ("pi:2_x.jsonl", "2_x.jsonl")]);
    }
}
