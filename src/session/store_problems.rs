//! The problems of every transcript of a store, one session after another.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Severity};
use crate::ids::SessionKey;
use crate::session::loading::{OpenError, open};
use crate::store::discovery::Store;
use crate::store::session::Session;
use crate::units::Moment;

/// The problems of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionProblems {
    pub key: SessionKey,
    pub diagnostics: Vec<Diagnostic>,
    /// Whether the session has a transcript, which was read.
    pub has_transcript: bool,
}

/// Reads every transcript, the newest first and each once, and passes its problems to `found`; stops when `is_wanted`
/// says so. Returns whether all were read.
pub fn find_problems(
    store: &Store,
    now_ms: Moment,
    is_wanted: &dyn Fn() -> bool,
    found: &mut dyn FnMut(SessionProblems),
) -> bool {
    let mut sessions: Vec<&Session> = store.sessions.iter().collect();
    sessions.sort_by_key(|session| Reverse(session.updated_ms().map(Moment::whole)));
    // Several keys may share a transcript (store D4).
    let mut seen: HashSet<&Path> = HashSet::new();
    sessions.retain(|session| session.path.as_deref().is_none_or(|path| seen.insert(path)));
    for session in &sessions {
        let read = open(store, &session.key, None, now_ms, &mut |_, _| is_wanted());
        if !is_wanted() {
            return false;
        }
        let has_transcript = matches!(read, Ok(_) | Err(OpenError::Load(_)));
        let diagnostics = match read {
            Ok(loaded) => loaded.diagnostics(),
            Err(error) => vec![unopened(session, &error)],
        };
        found(SessionProblems { key: session.key.clone(), diagnostics, has_transcript });
    }
    true
}

/// Describes a session that did not open.
fn unopened(session: &Session, error: &OpenError) -> Diagnostic {
    let severity = match error {
        OpenError::NotWritten { .. } => Severity::Note,
        OpenError::Lost { .. } | OpenError::NoTranscript { .. } => Severity::Warning,
        OpenError::Unknown { .. } | OpenError::Load(_) => Severity::Error,
    };
    let path: PathBuf = session.path.clone().unwrap_or_default();
    let text = error.to_string();
    // The file and the key have places of their own.
    let text = [path.display().to_string(), session.key.0.clone()]
        .iter()
        .find_map(|name| text.strip_prefix(&format!("{name}: ")).map(str::to_owned))
        .unwrap_or(text);
    let (message, advice) = text.split_once(". ").unwrap_or((text.trim_end_matches('.'), ""));
    Diagnostic::new(path, severity, message, advice).about(session.key.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::env::Environment;
    use crate::session::list::list_sessions;
    use crate::session::store_location::{StoreLocation, StoreRequest};
    use crate::store::demo::NOW_MS;

    #[test]
    fn problems_of_every_transcript_are_found_and_a_stop_is_final() {
        let place = StoreLocation::new(&StoreRequest::Demo, Environment::default()).unwrap();
        let store = list_sessions(&place, NOW_MS).store;
        let mut all = Vec::new();
        assert!(find_problems(&store, NOW_MS, &|| true, &mut |found| all.push(found)));
        assert_eq!(all.iter().filter(|found| found.has_transcript).count(), 13, "as doctor counts");
        let of = |key: &str| all.iter().find(|found| found.key.0.contains(key)).unwrap();
        let missing = &of("direct:9020").diagnostics[0];
        assert_eq!(
            (missing.severity, missing.message.as_str()),
            (Severity::Note, "the transcript does not exist yet")
        );
        assert!(missing.advice.starts_with("The gateway creates it"), "{}", missing.advice);
        let with_problems = all.iter().filter(|found| !found.diagnostics.is_empty()).count();
        assert!(with_problems > 2, "{all:?}");
        assert!(!find_problems(&store, NOW_MS, &|| false, &mut |_| unreachable!()));
    }
}
