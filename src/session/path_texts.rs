//! Reads the texts of a path for replays: the sent size of each message and its content features.
//!
//! Paths can be long, so lines are read in parallel and dropped at once; after growth only the added entries are read.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::context::bodies::into_message;
use crate::context::tokens::sent::SentSize;
use crate::gateway::ruleset::{Rules, Ruleset};
use crate::ids::EntryIx;
use crate::js::{Json, SharedStrings};
use crate::policy::features::{ContentFeatures, MessageBody};
use crate::session::LoadedSession;
use crate::session::path_bodies::PathBodies;
use crate::store::body::{self, BodyError, LineBuffer};
use crate::store::entry::EntryKind;

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
