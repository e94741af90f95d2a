//! The messages of a path as they stand at one moment of a replay: their sizes, textures and tokens, with what every run
//! does to old ones already done.

use std::sync::Arc;

use crate::context::projection::own_size;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::context::{Context, ContextMessage};
use crate::ids::EntryIx;
use crate::policy::edit::{Edit, has_legacy_images, images_removed};
use crate::policy::list::{From, Item, List};
use crate::policy::texture::Texture;
use crate::replay::Session;
use crate::store::entry::{MessageSize, Reading, Role};
use crate::store::index::Index;

/// The messages. The first ones are those of the path, in its order; summaries follow as they are met.
#[derive(Debug, Clone)]
pub(super) struct Arena {
    /// Sizes, as a list of messages asks for them.
    pub(super) context: Context,
    textures: Option<Vec<Texture>>,
    /// Tokens of each message as it stands in the transcript, by factors of this session.
    weights: Option<Vec<f64>>,
    /// Tokens of each as it stands in the transcript, by chars.
    estimates: Vec<u64>,
    /// Summaries that are only assumed.
    assumed: Vec<usize>,
    /// Messages of the path.
    pub(super) of_path: usize,
}

/// The sizes of a message as the runtime of its transcript counts them.
fn size_as(index: &Index, ix: EntryIx, size: &MessageSize) -> MessageSize {
    match index.reading {
        Reading::Entries => size.read_as(Reading::Entries),
        Reading::Projected => own_size(index, ix, size),
    }
}

impl Arena {
    /// Every message of the path, nothing done.
    pub(super) fn new(session: &Session<'_>) -> Self {
        let mut arena = Self {
            context: Context::default(),
            textures: session.textures.map(|_| Vec::new()),
            weights: session.calibrated.map(|_| Vec::new()),
            estimates: Vec::new(),
            assumed: Vec::new(),
            of_path: 0,
        };
        for (place, ix) in session.path.iter().enumerate() {
            let entry = session.index.entry(*ix);
            if let Some(size) = entry.message.filter(|_| entry.makes_message()) {
                arena.push_of_path(session, place, size_as(session.index, *ix, &size));
            }
        }
        arena.of_path = arena.context.messages.len();
        arena
    }

    /// Adds the message of an entry of the path; where it is.
    pub(super) fn push_of_path(&mut self, session: &Session<'_>, place: usize, size: MessageSize) -> usize {
        let ix = session.path[place];
        let at = self.context.messages.len();
        if let Some(body) = session.index.odd.get(&ix).filter(|_| size.odd) {
            self.context.odd.insert(at, Arc::clone(body));
        }
        if let (Some(own), Some(all)) = (&mut self.textures, session.textures) {
            own.push(all[place].clone().unwrap_or_else(|| Texture::of(&crate::js::Value::Null)));
        }
        if let (Some(own), Some(fit)) = (&mut self.weights, session.calibrated) {
            own.push(fit.weights[place]);
        }
        self.push(ix, size)
    }

    /// Adds a summary that is only assumed; where it is.
    pub(super) fn push_assumed(&mut self, ix: EntryIx, size: MessageSize, texture: Texture) -> usize {
        if let Some(own) = &mut self.textures {
            own.push(texture);
        }
        if let Some(own) = &mut self.weights {
            own.push(estimate_or_zero(&size) as f64);
        }
        let at = self.push(ix, size);
        self.assumed.push(at);
        at
    }

    fn push(&mut self, entry: EntryIx, size: MessageSize) -> usize {
        self.context.messages.push(ContextMessage::own(entry, size));
        self.estimates.push(estimate_or_zero(&size));
        self.context.messages.len() - 1
    }

    /// What tells a summary from others: its entry, and whether it stands in the transcript.
    pub(super) fn summary(&self, at: usize) -> (EntryIx, bool) {
        let entry = self.context.messages[at].entry;
        (entry, !self.assumed.contains(&at))
    }

    /// The sizes of a message as it is now.
    pub(super) fn size(&self, at: usize) -> &MessageSize {
        &self.context.messages[at].size
    }

    /// Its texture, where textures were read.
    pub(super) fn texture(&self, at: usize) -> Option<&Texture> {
        self.textures.as_ref()?.get(at)
    }

    /// Tokens of a message with these sizes: an edited one weighs as much less as it has fewer chars.
    pub(super) fn weigh(&self, at: usize, size: &MessageSize) -> f64 {
        let tokens = estimate_or_zero(size) as f64;
        let Some(weights) = &self.weights else { return tokens };
        let before = self.estimates[at] as f64;
        if tokens == before {
            weights[at]
        } else if before == 0.0 {
            tokens
        } else {
            weights[at] * tokens / before
        }
    }

    /// Tokens of an item of a list.
    pub(super) fn weigh_item(&self, item: &Item) -> f64 {
        match (item.position(), &item.change) {
            (Some(at), Some(change)) => self.weigh(at, &change.size),
            (Some(at), None) => self.weigh(at, self.size(at)),
            (None, Some(change)) => estimate_or_zero(&change.size) as f64,
            (None, None) => 0.0,
        }
    }

    /// A list of these messages.
    pub(super) fn list(&self, items: Vec<Item>) -> List<'_> {
        List { context: &self.context, textures: self.textures.as_deref(), items }
    }

    /// Gives a message other sizes for good: those that an edit of the context leaves.
    pub(super) fn resize(&mut self, at: usize, size: MessageSize) {
        self.context.messages[at].size = size;
    }

    /// Makes an edit for good.
    pub(super) fn settle(&mut self, at: usize, edit: &Edit) {
        let size = *self.size(at);
        match self.textures.as_mut().map(|textures| &mut textures[at]) {
            Some(texture) => {
                let (after, changed) = edit.foretell(&size, texture);
                *texture = changed;
                self.context.messages[at].size = after;
            }
            None if *edit == Edit::RemoveImages => self.context.messages[at].size = images_removed(&size),
            None => {}
        }
    }

    /// Whether a run takes its details away.
    pub(super) fn has_details(&self, at: usize) -> bool {
        self.size(at).role == Role::ToolResult
            && self.texture(at).is_some_and(|texture| texture.details_chars.is_some())
    }

    /// Whether a run takes its images away once the model has seen them.
    pub(super) fn has_images(&self, at: usize) -> bool {
        has_legacy_images(self.size(at))
    }
}

/// A message of the arena, nothing done to it.
pub(super) fn item(at: usize) -> Item {
    Item { from: From::Context(at as u32), change: None }
}
