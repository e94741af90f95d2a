//! Bodies of a path for rules that read texts. A trace needs those of its current context again and again and older ones
//! seldom, so that a limited number stays in memory and the others are read from the file again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::context::bodies::into_message;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::features::BodySource;
use crate::session::LoadedSession;
use crate::store::body::{self, BodyError};
use crate::store::index::Index;
use crate::store::source::Source;
use crate::units::Bytes;

/// Bytes of lines whose bodies stay in memory. A body takes about four times its line.
const MAX_LINE_BYTES: Bytes = Bytes(8 << 20);

#[derive(Debug)]
pub(super) struct PathBodies {
    source: Source,
    index: Arc<Index>,
    /// Bytes of lines whose bodies stay in memory.
    max_line_bytes: Bytes,
    state: Mutex<KeptBodies>,
}

#[derive(Debug, Default)]
struct KeptBodies {
    bodies: HashMap<EntryIx, Arc<Value>>,
    /// Oldest first.
    order: VecDeque<EntryIx>,
    line_bytes: Bytes,
    /// The first body that could not be read again.
    error: Option<BodyError>,
}

impl PathBodies {
    pub(super) fn new(session: &LoadedSession) -> Self {
        Self {
            source: session.source.clone(),
            index: Arc::clone(&session.index),
            max_line_bytes: MAX_LINE_BYTES,
            state: Mutex::new(KeptBodies::default()),
        }
    }

    /// Keeps a body that was just read, while there is room.
    pub(super) fn keep_if_room(&self, entry: EntryIx, body: &Arc<Value>) {
        let bytes = self.line_bytes(entry);
        let mut kept = self.lock();
        if kept.line_bytes + bytes <= self.max_line_bytes {
            kept.insert(entry, Arc::clone(body), bytes);
        }
    }

    /// Returns the first failure since the last call: results computed with that body are wrong.
    ///
    /// # Errors
    /// A body could not be read again.
    pub(super) fn check(&self) -> Result<(), BodyError> {
        self.lock().error.take().map_or(Ok(()), Err)
    }

    fn line_bytes(&self, entry: EntryIx) -> Bytes {
        self.index.entry(entry).bytes()
    }

    fn lock(&self) -> MutexGuard<'_, KeptBodies> {
        // Every statement leaves the map consistent, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room by dropping the oldest bodies.
    fn keep(&self, entry: EntryIx, body: &Arc<Value>) {
        let bytes = self.line_bytes(entry);
        let mut kept = self.lock();
        while kept.line_bytes + bytes > self.max_line_bytes {
            let Some(oldest) = kept.order.pop_front() else { return };
            if kept.bodies.remove(&oldest).is_some() {
                kept.line_bytes -= self.line_bytes(oldest);
            }
        }
        kept.insert(entry, Arc::clone(body), bytes);
    }
}

impl KeptBodies {
    fn insert(&mut self, entry: EntryIx, body: Arc<Value>, bytes: Bytes) {
        if self.bodies.insert(entry, body).is_none() {
            self.order.push_back(entry);
            self.line_bytes += bytes;
        }
    }
}

impl BodySource for PathBodies {
    fn body(&self, entry: EntryIx) -> Arc<Value> {
        if let Some(kept) = self.lock().bodies.get(&entry) {
            return Arc::clone(kept);
        }
        let kind = self.index.entry(entry).kind;
        match body::read_entry(&self.source, &self.index, entry) {
            Ok(value) => {
                let body = Arc::new(into_message(value, kind));
                self.keep(entry, &body);
                body
            }
            Err(error) => {
                self.lock().error.get_or_insert(error);
                Arc::new(Value::Null)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::JsString;
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    fn bodies(max_line_bytes: Bytes) -> (LoadedSession, PathBodies) {
        let text = transcript(&[user("go"), call("c1", "exec", "{}"), result("c1", "exec", "one", "")]);
        let session = loaded_session(&text, 1e5);
        let bodies = PathBodies { max_line_bytes, ..PathBodies::new(&session) };
        (session, bodies)
    }

    fn kept(bodies: &PathBodies) -> Vec<u32> {
        let mut kept: Vec<u32> = bodies.lock().bodies.keys().map(|entry| entry.0).collect();
        kept.sort_unstable();
        kept
    }

    #[test]
    fn a_body_is_the_same_whether_it_is_kept_or_read_again() {
        let (session, bodies) = bodies(MAX_LINE_BYTES);
        let entry = session.context.path[2];
        let read = bodies.body(entry);
        assert_eq!(
            read.get("toolCallId").and_then(Value::as_str).map(JsString::to_string_lossy),
            Some("c1".into())
        );
        assert!(Arc::ptr_eq(&read, &bodies.body(entry)));
        let nothing = PathBodies { max_line_bytes: Bytes::ZERO, ..PathBodies::new(&session) };
        assert_eq!(nothing.body(entry), read);
        assert!(nothing.check().is_ok() && kept(&nothing).is_empty());
    }

    #[test]
    fn the_oldest_bodies_are_dropped_and_reading_ahead_uses_only_free_space() {
        let (session, probe) = bodies(Bytes(0));
        let lines: Vec<Bytes> = session.context.path.iter().map(|entry| probe.line_bytes(*entry)).collect();
        let (_, bodies) = bodies(lines[1] + lines[2]);
        for entry in &session.context.path {
            bodies.body(*entry);
        }
        assert_eq!(kept(&bodies), [session.context.path[1].0, session.context.path[2].0]);
        bodies.keep_if_room(session.context.path[0], &Arc::new(Value::Null));
        assert_eq!(kept(&bodies).len(), 2);
        assert_eq!(bodies.lock().line_bytes, lines[1] + lines[2]);
    }

    #[test]
    fn a_line_that_changed_is_reported_once() {
        let (session, bodies) = bodies(Bytes(0));
        let other = transcript(&[user("no"), call("c2", "exec", "{}")]);
        let bodies = PathBodies { source: loaded_session(&other, 1e5).source, ..bodies };
        assert_eq!(*bodies.body(session.context.path[2]), Value::Null);
        assert!(matches!(bodies.check(), Err(BodyError::Changed { .. } | BodyError::Read { .. })));
        assert!(bodies.check().is_ok());
    }
}
