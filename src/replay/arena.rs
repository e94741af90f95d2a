//! The messages of a path as they stand at one moment of a lane: their sizes, textures and tokens, with what every run does
//! to old ones already done.

use std::collections::HashMap;
use std::sync::Arc;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage};
use crate::ids::EntryIx;
use crate::policy::edit::{Edit, has_legacy_images, images_removed};
use crate::policy::edit_cache::EditCache;
use crate::policy::list::{Change, From, Item, List, TextureAt, Textures};
use crate::policy::texture::Texture;
use crate::replay::Session;
use crate::replay::exact::exact;
use crate::replay::ground::{Ground, has_details};
use crate::store::entry::MessageSize;

/// The messages. The first ones are those of the path, in its order; summaries follow as they are met.
#[derive(Debug)]
pub(super) struct Arena<'a> {
    session: &'a Session<'a>,
    pub(super) ground: &'a Ground,
    /// Sizes, as a list of messages asks for them.
    pub(super) context: Context,
    /// Textures of messages that a run or a cut in the transcript changed, but for their details.
    changed: HashMap<usize, Texture>,
    /// The details of results before this one are gone.
    stripped: usize,
    /// Calls and results before this one are paired.
    pub(super) paired: usize,
    summaries: Vec<Summary>,
    /// What edits leave of messages, until these change for good.
    edits: EditCache,
}

/// A summary.
#[derive(Debug)]
struct Summary {
    texture: Option<Texture>,
    weight: Option<f64>,
    /// Tokens by chars.
    estimate: u64,
    /// It stands in the transcript.
    is_written: bool,
}

impl<'a> Arena<'a> {
    /// Every message of the path, nothing done.
    pub(super) fn new(session: &'a Session<'a>, ground: &'a Ground) -> Self {
        let context = ground.context.clone();
        Self {
            session,
            ground,
            context,
            changed: HashMap::new(),
            stripped: 0,
            paired: 0,
            summaries: Vec::new(),
            edits: EditCache::default(),
        }
    }

    /// Adds the summary of a compaction of the path; where it is.
    pub(super) fn push_of_path(&mut self, place: usize, size: MessageSize) -> usize {
        let ix = self.session.path[place];
        if let Some(body) = self.session.index.odd.get(&ix).filter(|_| size.odd) {
            self.context.odd.insert(self.context.messages.len(), Arc::clone(body));
        }
        let of_nothing = || Texture::of(&crate::js::Value::Null);
        let texture = self.session.textures.map(|all| all[place].as_deref().cloned());
        let texture = texture.map(|read| read.unwrap_or_else(of_nothing));
        let weight = self.session.calibrated.map(|fit| exact(fit.weights[place]));
        self.push(ix, size, Summary { texture, weight, estimate: estimate_or_zero(&size), is_written: true })
    }

    /// Adds a summary that is only assumed; where it is.
    pub(super) fn push_assumed(&mut self, ix: EntryIx, size: MessageSize, texture: Texture) -> usize {
        let estimate = estimate_or_zero(&size);
        let texture = self.session.textures.map(|_| texture);
        let weight = self.session.calibrated.map(|_| estimate as f64);
        self.push(ix, size, Summary { texture, weight, estimate, is_written: false })
    }

    fn push(&mut self, entry: EntryIx, size: MessageSize, summary: Summary) -> usize {
        self.context.messages.push(ContextMessage::own(entry, size));
        self.summaries.push(summary);
        self.context.messages.len() - 1
    }

    fn summary_at(&self, at: usize) -> Option<&Summary> {
        self.summaries.get(at.checked_sub(self.ground.len())?)
    }

    /// What tells a summary from others: its entry, and whether it stands in the transcript.
    pub(super) fn summary(&self, at: usize) -> (EntryIx, bool) {
        let is_written = self.summary_at(at).is_none_or(|summary| summary.is_written);
        (self.context.messages[at].entry, is_written)
    }

    /// Whether a message is no part of what is sent now: a result not yet invented, or one that was dropped.
    pub(super) fn is_left_out(&self, at: usize) -> bool {
        let special = &self.ground.special;
        if special.is_empty() || special.binary_search(&at).is_err() {
            return false;
        }
        self.ground.is_missing(at) != (at < self.paired)
    }

    /// The entry of a message; none of one that repair invents.
    pub(super) fn entry(&self, at: usize) -> Option<EntryIx> {
        (!self.ground.is_missing(at)).then(|| self.context.messages[at].entry)
    }

    /// A message for a list, nothing done to it.
    pub(super) fn item(&self, at: usize) -> Item {
        match self.ground.missing.get(&at) {
            Some(missing) => Item::from(missing.result.clone()),
            None => Item { from: From::Context(at as u32), change: None },
        }
    }

    /// The sizes of a message as it is now.
    pub(super) fn size(&self, at: usize) -> &MessageSize {
        &self.context.messages[at].size
    }

    /// Its texture, where textures were read.
    pub(super) fn texture(&self, at: usize) -> Option<&Texture> {
        if at >= self.ground.len() {
            return self.summary_at(at)?.texture.as_ref();
        }
        if !self.changed.is_empty()
            && let Some(texture) = self.changed.get(&at)
        {
            return Some(texture);
        }
        if self.ground.is_missing(at) {
            return self.ground.missing_texture(at);
        }
        if at < self.stripped {
            return self.ground.stripped(self.session, at);
        }
        self.ground.texture(self.session, at)
    }

    /// Tokens of a message with these sizes: an edited one weighs as much less as it has fewer chars.
    pub(super) fn weigh(&self, at: usize, size: &MessageSize) -> f64 {
        let tokens = estimate_or_zero(size) as f64;
        let (weight, before) = match self.summary_at(at) {
            Some(summary) => (summary.weight, summary.estimate),
            None => (self.ground.weights.as_ref().map(|weights| weights[at]), self.ground.estimates[at]),
        };
        let (Some(weight), before) = (weight, before as f64) else { return tokens };
        if tokens == before {
            weight
        } else if before == 0.0 {
            tokens
        } else {
            exact(weight * tokens / before)
        }
    }

    /// Tokens of an item of a list.
    pub(super) fn weigh_item(&self, item: &Item) -> f64 {
        match (item.position(), &item.change) {
            (Some(at), Some(change)) => self.weigh(at, &self.size_after(Some(at), change)),
            (Some(at), None) => self.weigh(at, self.size(at)),
            (None, Some(change)) => estimate_or_zero(&self.size_after(None, change)) as f64,
            (None, None) => 0.0,
        }
    }

    /// The sizes that a change leaves of a message at a place, or of one that stands in no file.
    pub(super) fn size_after(&self, at: Option<usize>, change: &Change) -> MessageSize {
        change.size(at.map_or(&MessageSize::NOTHING, |at| self.size(at)))
    }

    /// A list of these messages.
    pub(super) fn list(&self, items: Vec<Item>) -> List<'_> {
        let textures = self.session.textures.map(|_| Textures::Of(self));
        List::with(&self.context, textures, items)
    }

    /// Gives a message other sizes for good: those that an edit of the context leaves.
    pub(super) fn resize(&mut self, at: usize, size: MessageSize) {
        self.edits.forget(at);
        self.context.messages[at].size = size;
    }

    /// Makes an edit for good.
    pub(super) fn settle(&mut self, at: usize, edit: &Edit) {
        self.edits.forget(at);
        let size = *self.size(at);
        match self.texture(at).map(|texture| edit.foretell(&size, texture)) {
            Some((after, texture)) => {
                self.context.messages[at].size = after;
                self.changed.insert(at, texture);
            }
            None if *edit == Edit::RemoveImages => self.context.messages[at].size = images_removed(&size),
            None => {}
        }
    }

    /// Takes the details of all results before this one away.
    pub(super) fn strip_details(&mut self, until: usize) {
        for (at, texture) in &mut self.changed {
            let size = &self.context.messages[*at].size;
            if (self.stripped..until).contains(at) && has_details(size.role, texture) {
                *texture = Edit::StripDetails.foretell(size, texture).1;
            }
        }
        (self.stripped..until).for_each(|at| self.edits.forget(at));
        self.stripped = until;
    }

    /// Whether a run takes its images away once the model has seen them.
    pub(super) fn has_images(&self, at: usize, results: bool) -> bool {
        has_legacy_images(self.size(at), results)
    }

    /// The same where rules look for references to media too (pruning 8, row "Legacy images").
    pub(super) fn has_media(&self, at: usize) -> bool {
        let letters = self.texture(at).and_then(|texture| texture.letters);
        letters.is_some_and(|letters| letters.has_media)
    }
}

impl TextureAt for Arena<'_> {
    fn texture_at(&self, at: usize) -> Option<&Texture> {
        self.texture(at)
    }

    fn edit_cache(&self) -> Option<&EditCache> {
        Some(&self.edits)
    }
}
