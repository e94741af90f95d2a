//! What replays ask of the texts of a path: what of each message is sent, and its texture. Every line is outlined once, side
//! by side, and let go; where a transcript grew, only what was added is read.

use std::sync::Arc;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::context::bodies::into_message;
use crate::gateway::ruleset::{Rules, Ruleset};
use crate::ids::EntryIx;
use crate::inspect::Inspection;
use crate::inspect::estimators::Spoken;
use crate::js::Json;
use crate::policy::texture::Texture;
use crate::store::body::{self, BodyError, Room};
use crate::store::entry::EntryKind;

/// Asked now and then whether somebody still waits.
pub type Wanted<'a> = &'a (dyn Fn() -> bool + Sync);

/// The texture of each entry that has a message; none where no step asks for them.
pub type Textures = Arc<Vec<Option<Arc<Texture>>>>;

/// What was read of a path, entry by entry.
#[derive(Debug, Clone)]
pub struct PathTexts {
    /// The path, as far as it is sure to stay.
    path: Vec<EntryIx>,
    /// By whose rules.
    ruleset: Ruleset,
    /// What of each entry is sent.
    pub spoken: Vec<Spoken>,
    /// The texture of each.
    pub textures: Option<Textures>,
}

impl PathTexts {
    /// Of nothing.
    pub fn none(inspection: &Inspection) -> Self {
        let ruleset = inspection.ruleset.ruleset;
        Self { path: Vec::new(), ruleset, spoken: Vec::new(), textures: None }
    }

    /// Reads the path of a session; `known` is what was read before entries were added to it. What nobody waits for any
    /// more is left out.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn read(
        inspection: &Inspection,
        with_textures: bool,
        known: Option<&Self>,
        wanted: Wanted<'_>,
    ) -> Result<Self, BodyError> {
        let path = &inspection.context.path;
        let known = known.filter(|known| {
            known.ruleset == inspection.ruleset.ruleset && known.textures.is_some() >= with_textures
        });
        let same = known.map_or(0, |known| common(&known.path, path));
        let rules = with_textures.then(|| inspection.ruleset.ruleset.rules());
        let read = |room: &mut Room, ix: &EntryIx| {
            if wanted() { of_entry(inspection, *ix, rules, room) } else { Ok((Spoken::default(), None)) }
        };
        let added: Result<Vec<_>, BodyError> =
            path[same..].par_iter().map_init(Room::default, read).collect();
        let (added, its_textures): (Vec<Spoken>, Vec<Option<Arc<Texture>>>) = added?.into_iter().unzip();
        let mut spoken = known.map_or_else(Vec::new, |known| known.spoken[..same].to_vec());
        spoken.extend(added);
        let textures = with_textures.then(|| {
            let known = known.and_then(|known| known.textures.as_ref());
            let mut textures = known.map_or_else(Vec::new, |known| known[..same].to_vec());
            textures.extend(its_textures);
            Arc::new(textures)
        });
        // A last line without its end may still become another entry.
        let open = inspection.index.unterminated && path.last().copied() == inspection.index.last();
        let path = path[..path.len() - usize::from(open)].to_vec();
        Ok(Self { path, ruleset: inspection.ruleset.ruleset, spoken, textures })
    }
}

/// How many entries two paths have in common from their roots on.
fn common(one: &[EntryIx], other: &[EntryIx]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// What an entry says; nothing where it has no message that is sent.
fn of_entry(
    inspection: &Inspection,
    ix: EntryIx,
    rules: Option<&'static Rules>,
    room: &mut Room,
) -> Result<(Spoken, Option<Arc<Texture>>), BodyError> {
    let Inspection { source, index, .. } = inspection;
    let entry = index.entry(ix);
    let sent = entry.makes_message() || entry.kind == EntryKind::Compaction;
    if !sent || entry.message.is_none() {
        return Ok((Spoken::default(), None));
    }
    if let Some(message) = body::outlined(source, index, ix, room)? {
        return Ok(asked(message, rules));
    }
    Ok(asked(&into_message(body::entry(source, index, ix)?, entry.kind), rules))
}

/// What is asked of one message; its texture by these rules.
fn asked<'a>(message: impl Json<'a>, rules: Option<&'static Rules>) -> (Spoken, Option<Arc<Texture>>) {
    (Spoken::of(message), rules.map(|rules| Arc::new(Texture::of_under(rules, message))))
}
