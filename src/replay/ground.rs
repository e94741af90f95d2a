//! What all lanes of a session have in common: the messages of the path as they stand in the transcript, where the replies,
//! results and words of people are among them, and what the first run that loads a result makes of it. Made once.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage, first_kept};
use crate::ids::EntryIx;
use crate::policy::edit::Edit;
use crate::policy::list::{Item, List, Textures};
use crate::policy::repair::{MissingResult, Placed, Shape, pair, pair_list, repair_list};
use crate::policy::texture::Texture;
use crate::replay::Session;
use crate::replay::exact::exact;
use crate::replay::projected::{is_edit, size_as};
use crate::store::entry::{EntryKind, MessageSize, Role};

/// The messages of the path, and between them the results that repair invents where none is: these count for nothing until
/// a run has loaded what stands before it.
#[derive(Debug, Default)]
pub(super) struct Ground {
    /// Sizes, as a list of messages asks for them.
    pub(super) context: Context,
    /// Where on the path the entry of each stands; nowhere for one that repair invents.
    places: Vec<usize>,
    /// Those that repair adds or drops, ascending.
    pub(super) special: Vec<usize>,
    pub(super) missing: HashMap<usize, Missing>,
    /// A repair of any stretch of the path adds and drops just those, and changes nothing else that is sent.
    pub(super) is_local: bool,
    /// Tokens of each by factors of this session, where there are any.
    pub(super) weights: Option<Vec<f64>>,
    /// Tokens of each by chars.
    pub(super) estimates: Vec<u64>,
    /// Which of them people said.
    pub(super) users: Vec<usize>,
    /// Which of them the model said.
    pub(super) replies: Vec<usize>,
    /// Which of them tools returned, or the guard takes for such.
    pub(super) results: Vec<usize>,
    /// The texture of each result without its details, told when a lane first asks for it.
    stripped: Vec<OnceLock<Box<Texture>>>,
    is_paired: OnceLock<bool>,
}

/// A result that repair invents.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) result: MissingResult,
    texture: Option<Texture>,
}

/// A message of a repaired path.
enum Slot {
    Written { nth: usize, dropped: bool },
    Missing(MissingResult),
}

impl Ground {
    /// Of a session.
    pub(super) fn new(session: &Session<'_>) -> Self {
        let mut ground = Self { weights: session.calibrated.map(|_| Vec::new()), ..Self::default() };
        let has_message = |place: &usize| {
            let entry = session.index.entry(session.path[*place]);
            entry.message.is_some() && entry.makes_message()
        };
        let places: Vec<usize> = (0..session.path.len()).filter(has_message).collect();
        let is_edited = session.path.iter().any(|ix| is_edit(session.index, *ix));
        // Where messages are edited on the way, no stretch is what it was when it was told.
        let slots = session.textures.filter(|_| !is_edited).and_then(|textures| {
            let textures: Option<Vec<&Texture>> =
                places.iter().map(|place| textures[*place].as_deref()).collect();
            paired(&textures?)
        });
        let slots = slots.filter(|slots| !parts_special(session, &places, slots));
        ground.is_local = slots.is_some();
        let as_written = || (0..places.len()).map(|nth| Slot::Written { nth, dropped: false }).collect();
        for slot in slots.unwrap_or_else(as_written) {
            match slot {
                Slot::Missing(missing) => ground.push_missing(missing),
                Slot::Written { nth, dropped } => {
                    if dropped {
                        ground.special.push(ground.len());
                    }
                    ground.push_written(session, places[nth]);
                }
            }
        }
        ground
    }

    fn push_written(&mut self, session: &Session<'_>, place: usize) {
        let (at, ix) = (self.len(), session.path[place]);
        let entry = session.index.entry(ix);
        let Some(size) = entry.message.map(|size| size_as(session.index, ix, &size)) else { return };
        if let Some(body) = session.index.odd.get(&ix).filter(|_| size.odd) {
            self.context.odd.insert(at, Arc::clone(body));
        }
        let texture = session.textures.and_then(|textures| textures[place].as_deref());
        let is_result =
            size.role == Role::ToolResult || texture.is_some_and(|texture| texture.guard.is_result);
        let weight = session.calibrated.map(|fit| exact(fit.weights[place]));
        self.places.push(place);
        self.push(ix, size, weight, is_result);
    }

    /// A result that repair invents, where it will stand. It is that of the message before it that wants it.
    fn push_missing(&mut self, missing: MissingResult) {
        let at = self.len();
        let Some(change) = Item::from(missing.clone()).change else { return };
        let entry = self.context.messages.last().map_or(EntryIx(0), |message| message.entry);
        self.special.push(at);
        self.places.push(usize::MAX);
        self.push(entry, change.size(&MessageSize::NOTHING), None, true);
        self.missing.insert(at, Missing { result: missing, texture: change.texture().cloned() });
    }

    fn push(&mut self, entry: EntryIx, size: MessageSize, weight: Option<f64>, is_result: bool) {
        let at = self.context.messages.len();
        let estimate = estimate_or_zero(&size);
        if let Some(own) = &mut self.weights {
            own.push(weight.unwrap_or(estimate as f64));
        }
        if is_result {
            self.results.push(at);
        }
        match size.role {
            Role::User => self.users.push(at),
            Role::Assistant => self.replies.push(at),
            _ => {}
        }
        self.estimates.push(estimate);
        self.stripped.push(OnceLock::new());
        self.context.messages.push(ContextMessage::own(entry, size));
    }

    /// Whether a message is one that repair invents.
    pub(super) fn is_missing(&self, at: usize) -> bool {
        self.places.get(at) == Some(&usize::MAX)
    }

    /// The first message of a stretch that repair adds or drops.
    pub(super) fn first_special(&self, from: usize, to: usize) -> Option<usize> {
        let first = self.special.partition_point(|at| *at < from);
        self.special.get(first).copied().filter(|at| *at < to)
    }

    /// Messages of the path.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The texture of a message as it stands in the transcript.
    pub(super) fn texture<'a>(&self, session: &Session<'a>, at: usize) -> Option<&'a Texture> {
        session.textures?.get(self.places[at])?.as_deref()
    }

    /// The texture of a result that repair invents.
    pub(super) fn missing_texture(&self, at: usize) -> Option<&Texture> {
        self.missing.get(&at)?.texture.as_ref()
    }

    /// The texture of a message of which the details are gone.
    pub(super) fn stripped<'a>(&'a self, session: &Session<'a>, at: usize) -> Option<&'a Texture> {
        let texture = self.texture(session, at)?;
        let size = &self.context.messages[at].size;
        if !has_details(size.role, texture) {
            return Some(texture);
        }
        Some(self.stripped[at].get_or_init(|| Box::new(Edit::StripDetails.foretell(size, texture).1)))
    }

    /// Whether a repair of the whole path would change nothing that is sent.
    pub(super) fn is_paired(&self, session: &Session<'_>) -> bool {
        *self.is_paired.get_or_init(|| {
            let written = Written { ground: self, session };
            let mut list = List::of(&self.context, None);
            list.textures = session.textures.map(|_| Textures::Of(&written));
            let is_odd =
                |at: &usize| self.texture(session, *at).is_some_and(|texture| texture.body.is_some());
            let odd_calls = self.replies.iter().any(is_odd);
            !if odd_calls { repair_list(&mut list).changed } else { pair_list(&mut list).changed }
        })
    }
}

/// Messages as a repair leaves them, where all it does is to drop results without a call and to invent missing ones, each at
/// its place: then it does so to every stretch of them. None where it also tidies calls, renames or moves results, or
/// meets an id twice.
fn paired(textures: &[&Texture]) -> Option<Vec<Slot>> {
    if textures.iter().any(|texture| matches!(texture.shape, Shape::Assistant(_)) && texture.body.is_some()) {
        return None;
    }
    // A result of no call makes the pairing tell the order it would give any list.
    let foreign = Shape::Result { id: None, name: None };
    let shapes: Vec<&Shape> = std::iter::once(&foreign).chain(textures.iter().map(|t| &t.shape)).collect();
    let pairing = pair(&shapes);
    if pairing.dropped_duplicates > 0 {
        return None;
    }
    let mut slots = Vec::with_capacity(textures.len());
    let mut next = 1;
    let dropped = |from: usize, to: usize, slots: &mut Vec<Slot>| {
        let orphans = (from..to).all(|at| pairing.orphans.binary_search(&at).is_ok());
        slots.extend((from..to).map(|at| Slot::Written { nth: at - 1, dropped: true }));
        orphans
    };
    for placed in &pairing.order {
        match placed {
            Placed::Kept(at) if *at >= next && dropped(next, *at, &mut slots) => {
                slots.push(Slot::Written { nth: at - 1, dropped: false });
                next = at + 1;
            }
            Placed::Added(missing) => slots.push(Slot::Missing(missing.clone())),
            Placed::Kept(_) | Placed::Renamed(..) => return None,
        }
    }
    dropped(next, shapes.len(), &mut slots).then_some(slots)
}

/// Whether a compaction parts results from their calls where repair adds or drops some of them: a repair of what it kept is
/// another one than that of the path. Those that it only parts are dropped where a run loads them.
fn parts_special(session: &Session<'_>, places: &[usize], slots: &[Slot]) -> bool {
    let Session { index, path, .. } = session;
    let place = |slot: &Slot| match slot {
        Slot::Written { nth, .. } => Some(places[*nth]),
        Slot::Missing(_) => None,
    };
    let is_result = |slot: &&Slot| {
        place(slot).is_none_or(|place| index.entry(path[place]).role() == Some(Role::ToolResult))
    };
    let is_special = |slot: &Slot| !matches!(slot, Slot::Written { dropped: false, .. });
    let mut compactions = (0..path.len()).filter(|at| index.entry(path[*at]).kind == EntryKind::Compaction);
    compactions.any(|at| {
        let kept = first_kept(index, &path[..at], path[at]).unwrap_or(at);
        let first = slots.iter().position(|slot| place(slot).is_some_and(|place| place >= kept));
        let kept = first.map_or(&[][..], |first| &slots[first..]);
        kept.iter().take_while(is_result).any(is_special)
    })
}

/// Whether the runs that load a message take its details away.
pub(super) fn has_details(role: Role, texture: &Texture) -> bool {
    role == Role::ToolResult && texture.details_chars.is_some()
}

/// The textures of the transcript.
#[derive(Debug)]
struct Written<'a> {
    ground: &'a Ground,
    session: &'a Session<'a>,
}

impl crate::policy::list::TextureAt for Written<'_> {
    fn texture_at(&self, at: usize) -> Option<&Texture> {
        self.ground.texture(self.session, at)
    }
}
