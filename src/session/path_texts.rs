//! Reads the texts of a path for replays: the sent size of each message and its content features.
//!
//! Paths can be long, so lines are read in parallel and dropped at once; after growth only the added entries are read.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::context::bodies::into_message;
use crate::context::tokens::sent::SentSize;
use crate::gateway::ruleset::{Rules, Ruleset};
use crate::ids::EntryIx;
use crate::js::{Json, SharedStrings, Value};
use crate::policy::features::{BodySource, ContentFeatures, MessageBody};
use crate::session::LoadedSession;
use crate::store::body;
use crate::store::body::{BodyError, LineBuffer};
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::store::source::Source;
use crate::units::Bytes;

/// Whether the result is still wanted; called from time to time.
pub type IsWanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// The features of each entry that has a message. `None` when no policy needs them.
pub type PathFeatures = Arc<Vec<Option<Arc<ContentFeatures>>>>;

/// Sizes and features of a path, entry by entry.
#[derive(Debug, Clone)]
pub struct PathTexts {
    /// The path, without a last line that may still change.
    path: Vec<EntryIx>,
    ruleset: Ruleset,
    pub sent_sizes: Vec<SentSize>,
    pub features: Option<PathFeatures>,
    /// Features of the entries that were read last; features of earlier ones have their own.
    bodies: Option<Arc<PathBodies>>,
}

impl PathTexts {
    /// Reads nothing, for replays from sizes only.
    pub fn empty(session: &LoadedSession) -> Self {
        let ruleset = session.ruleset.id;
        Self { path: Vec::new(), ruleset, sent_sizes: Vec::new(), features: None, bodies: None }
    }

    /// Checks that every body that was needed since the last check could be read again.
    ///
    /// # Errors
    /// One could not: results computed with it are wrong.
    pub fn check_bodies(&self) -> Result<(), BodyError> {
        self.bodies.as_ref().map_or(Ok(()), |bodies| bodies.check())
    }

    /// Reads the path of a session. `known` is the result before entries were added. Leaves entries out once `wanted`
    /// returns false.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(
        session: &LoadedSession,
        with_features: bool,
        known: Option<&Self>,
        wanted: IsWanted<'_>,
    ) -> Result<Self, BodyError> {
        let path = &session.context.path;
        let known = known
            .filter(|known| known.ruleset == session.ruleset.id && known.features.is_some() >= with_features);
        let same = known.map_or(0, |known| shared_prefix_len(&known.path, path));
        let measure = with_features.then(|| FeatureReading {
            rules: session.ruleset.id.rules(),
            bodies: Arc::new(PathBodies::new(session)),
            strings: Mutex::default(),
        });
        let read = |room: &mut LineBuffer, ix: &EntryIx| {
            if wanted() {
                read_entry(session, *ix, measure.as_ref(), room)
            } else {
                Ok((SentSize::default(), None))
            }
        };
        let added: Result<Vec<_>, BodyError> =
            path[same..].par_iter().map_init(LineBuffer::default, read).collect();
        let (added, added_features): (Vec<SentSize>, Vec<Option<Arc<ContentFeatures>>>) =
            added?.into_iter().unzip();
        let mut spoken = known.map_or_else(Vec::new, |known| known.sent_sizes[..same].to_vec());
        spoken.extend(added);
        let features = with_features.then(|| {
            let known = known.and_then(|known| known.features.as_ref());
            let mut all_features = known.map_or_else(Vec::new, |known| known[..same].to_vec());
            all_features.extend(added_features);
            Arc::new(all_features)
        });
        // A last line without its line feed may still become another entry.
        let open = session.index.is_unterminated && path.last().copied() == session.index.last();
        let path = path[..path.len() - usize::from(open)].to_vec();
        let bodies = measure.map(|measure| measure.bodies);
        Ok(Self { path, ruleset: session.ruleset.id, sent_sizes: spoken, features, bodies })
    }
}

/// The rules and the place of bodies for features of one path.
struct FeatureReading {
    rules: &'static Rules,
    bodies: Arc<PathBodies>,
    /// The ids and names of its calls: a result repeats those of its call.
    strings: Mutex<SharedStrings>,
}

/// Counts the entries that two paths have in common from the root.
fn shared_prefix_len(one: &[EntryIx], other: &[EntryIx]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Reads one entry; the result is empty if it has no message that is sent.
fn read_entry(
    session: &LoadedSession,
    ix: EntryIx,
    measure: Option<&FeatureReading>,
    room: &mut LineBuffer,
) -> Result<(SentSize, Option<Arc<ContentFeatures>>), BodyError> {
    let LoadedSession { source, index, .. } = session;
    let entry = index.entry(ix);
    let sent = entry.becomes_message() || entry.kind == EntryKind::Compaction;
    if !sent || entry.message.is_none() {
        return Ok((SentSize::default(), None));
    }
    if let Some(message) = body::outline_message(source, index, ix, room)? {
        return Ok(measure_message(ix, message, measure));
    }
    Ok(measure_message(ix, &into_message(body::read_entry(source, index, ix)?, entry.kind), measure))
}

/// Measures one message; `measure` is `None` when no features are needed. Its body is kept where all bodies are.
fn measure_message<'a>(
    entry: EntryIx,
    message: impl Json<'a>,
    measure: Option<&FeatureReading>,
) -> (SentSize, Option<Arc<ContentFeatures>>) {
    let features = measure.map(|FeatureReading { rules, bodies, strings }| {
        let features = ContentFeatures::of_under(rules, message);
        let mut strings = strings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut features = features.with_shared_strings(&mut strings);
        drop(strings);
        if let Some(body) = &features.body {
            bodies.keep_if_room(entry, &body.value());
            features.body = Some(MessageBody::Stored(Arc::clone(bodies) as Arc<_>, entry));
        }
        Arc::new(features)
    });
    (SentSize::from_message(message), features)
}

// Bodies of a path for rules that read texts. A trace needs those of its current context again and again and older ones
// seldom, so that a limited number stays in memory and the others are read from the file again.

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
