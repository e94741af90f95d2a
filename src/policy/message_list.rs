//! The messages between two steps: where each comes from, what was done to it, and the sizes that leaves.

use std::borrow::Cow;
use std::sync::Arc;

use crate::context::{Context, PruneColumns};
use crate::js::{JsString, Value};
use crate::policy::edit::{Edit, apply_all, single_text_size};
use crate::policy::edit_cache::EditCache;
use crate::policy::features::ContentFeatures;
use crate::policy::repair::MissingResult;
use crate::store::entry::MessageSize;
use crate::store::intern::ValueTable;
use crate::store::scan::measure_message;

/// Where a message of a list comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageOrigin {
    /// The message of the context at this position.
    Context(u32),
    /// The summary that a planned compaction puts first.
    Summary,
    /// Prompt and tools in force, which a planned compaction carries before its summary (store-pi-1.5 I4).
    Checkpoint,
    /// A result that was missing (compaction 6.3).
    Missing(Arc<MissingResult>),
}

/// What was done to a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageChange {
    /// A tool result became one text: its sizes tell themselves, and a preview makes hundreds of these.
    SingleText {
        /// Its chars.
        chars: f64,
        /// How it is made: one of the edits that messages share.
        edit: SharedEditIx,
    },
    /// Anything else.
    Full(Arc<FullChange>),
}

/// An edit that messages of a list share ([`MessageList::share_edit`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedEditIx(u32);

/// A change told whole.
#[derive(Debug, Clone, PartialEq)]
pub struct FullChange {
    /// Its sizes now.
    pub size: MessageSize,
    /// How its text is made, from the one it comes from.
    pub edits: Vec<Edit>,
    /// Its texture now, where textures are known.
    pub features: Option<ContentFeatures>,
}

impl MessageChange {
    /// Of a message that stands in no file: nothing is done to it, it is like this.
    pub fn for_added(size: MessageSize, texture: ContentFeatures) -> Self {
        Self::full(size, Vec::new(), Some(texture))
    }

    /// Told whole.
    pub fn full(size: MessageSize, edits: Vec<Edit>, texture: Option<ContentFeatures>) -> Self {
        Self::Full(Arc::new(FullChange { size, edits, features: texture }))
    }

    /// Its sizes now, from those before any change; of one that stands in no file they are its own.
    #[inline]
    pub fn size(&self, before: &MessageSize) -> MessageSize {
        match self {
            Self::SingleText { chars, .. } => single_text_size(before, *chars),
            Self::Full(whole) => whole.size,
        }
    }

    /// How its text is made, from the one it comes from; `shared` are the edits that messages of its list share.
    pub fn edits<'a>(&'a self, shared: &'a [Edit]) -> &'a [Edit] {
        match self {
            Self::SingleText { edit, .. } => std::slice::from_ref(&shared[edit.0 as usize]),
            Self::Full(whole) => &whole.edits,
        }
    }

    /// How many edits make its text.
    pub fn edit_count(&self) -> usize {
        match self {
            Self::SingleText { .. } => 1,
            Self::Full(whole) => whole.edits.len(),
        }
    }

    /// Its texture now, where it is known.
    pub fn features(&self) -> Option<&ContentFeatures> {
        match self {
            Self::SingleText { .. } => None,
            Self::Full(whole) => whole.features.as_ref(),
        }
    }
}

/// One message of a list. Small: most messages are never touched, and lists are copied for every call of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedMessage {
    /// Where it comes from.
    pub origin: MessageOrigin,
    /// What was done to it; none when nothing was. A message that stands in no file has one always.
    pub change: Option<MessageChange>,
}

impl PlannedMessage {
    /// How its text is made; `shared` are the edits that messages of its list share.
    pub fn edits<'a>(&'a self, shared: &'a [Edit]) -> &'a [Edit] {
        self.change.as_ref().map_or(&[], |change| change.edits(shared))
    }

    /// How many edits make its text.
    pub fn edit_count(&self) -> usize {
        self.change.as_ref().map_or(0, MessageChange::edit_count)
    }

    /// Its position in the context, where it stands there.
    pub fn position(&self) -> Option<usize> {
        match self.origin {
            MessageOrigin::Context(at) => Some(at as usize),
            _ => None,
        }
    }
}

/// A result that was missing, at its place. When it is invented changes neither its sizes nor its texture.
impl core::convert::From<MissingResult> for PlannedMessage {
    fn from(missing: MissingResult) -> Self {
        let message = missing.message(0.0);
        let size = measure_message(&message).size;
        let change = MessageChange::for_added(size, ContentFeatures::of(&message));
        Self { origin: MessageOrigin::Missing(Arc::new(missing)), change: Some(change) }
    }
}

/// The textures of a context.
#[derive(Debug, Clone, Copy)]
pub enum FeatureLookup<'a> {
    /// One for each message, in order.
    Slice(&'a [ContentFeatures]),
    /// Whoever knows them.
    Source(&'a dyn FeatureSource),
}

/// Something that knows textures of messages.
pub trait FeatureSource: std::fmt::Debug + Sync {
    /// That of the message at a position of the context.
    fn features_at(&self, at: usize) -> Option<&ContentFeatures>;

    /// Where changes of these messages are kept from list to list; `None` if they are not.
    fn edit_cache(&self) -> Option<&EditCache> {
        None
    }
}

impl<'a> FeatureLookup<'a> {
    fn get(self, at: usize) -> Option<&'a ContentFeatures> {
        match self {
            Self::Slice(textures) => textures.get(at),
            Self::Source(textures) => textures.features_at(at),
        }
    }

    fn edit_cache(self) -> Option<&'a EditCache> {
        match self {
            Self::Slice(_) => None,
            Self::Source(textures) => textures.edit_cache(),
        }
    }
}

/// The messages between two steps.
#[derive(Debug, Clone)]
pub struct MessageList<'a> {
    /// The context they come from.
    pub context: &'a Context,
    /// Those of the messages of the context, where they were read.
    pub features: Option<FeatureLookup<'a>>,
    /// The messages, in order.
    messages: Vec<PlannedMessage>,
    /// Edits that many messages share.
    shared_edits: Vec<Edit>,
    /// A message may stand elsewhere than in the context, or in no file.
    is_moved: bool,
    /// Something may have been done to a message, or to the list.
    is_edited: bool,
}

impl<'a> MessageList<'a> {
    /// The messages of a context, nothing done yet.
    pub fn from_context(context: &'a Context, textures: Option<&'a [ContentFeatures]>) -> Self {
        let items = (0..context.messages.len())
            .map(|at| PlannedMessage { origin: MessageOrigin::Context(at as u32), change: None });
        let textures = textures.map(FeatureLookup::Slice);
        Self { is_moved: false, is_edited: false, ..Self::from_messages(context, textures, items.collect()) }
    }

    /// These messages of a context, whatever was done to each of them by itself: none has an edit that it shares.
    pub fn from_messages(
        context: &'a Context,
        features: Option<FeatureLookup<'a>>,
        messages: Vec<PlannedMessage>,
    ) -> Self {
        Self { context, features, messages, shared_edits: Vec::new(), is_moved: true, is_edited: true }
    }

    /// The messages, in order.
    pub fn messages(&self) -> &[PlannedMessage] {
        &self.messages
    }

    /// The messages, to take some away, add some, or put them in another order.
    pub fn messages_mut(&mut self) -> &mut Vec<PlannedMessage> {
        (self.is_moved, self.is_edited) = (true, true);
        &mut self.messages
    }

    /// The messages, and the edits that some of them share.
    pub fn into_parts(self) -> (Vec<PlannedMessage>, Vec<Edit>) {
        (self.messages, self.shared_edits)
    }

    /// How the text of a message is made.
    pub fn edits(&self, at: usize) -> &[Edit] {
        self.messages[at].edits(&self.shared_edits)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The sizes of a message as it is now.
    #[inline]
    pub fn size(&self, at: usize) -> MessageSize {
        let PlannedMessage { origin: from, change } = &self.messages[at];
        let before = match from {
            MessageOrigin::Context(position) => &self.context.messages[*position as usize].size,
            MessageOrigin::Summary | MessageOrigin::Checkpoint | MessageOrigin::Missing(_) => {
                &MessageSize::EMPTY
            }
        };
        change.as_ref().map_or(*before, |change| change.size(before))
    }

    /// The texture of a message as it is now; none where textures were not read.
    pub fn features_at(&self, at: usize) -> Option<&ContentFeatures> {
        let item = &self.messages[at];
        match (item.change.as_ref().and_then(MessageChange::features), &item.origin) {
            (Some(texture), _) => Some(texture),
            (None, MessageOrigin::Context(position)) => self.features?.get(*position as usize),
            (None, _) => None,
        }
    }

    /// The sizes of every message.
    pub fn sizes(&self) -> impl DoubleEndedIterator<Item = MessageSize> + ExactSizeIterator {
        (0..self.messages.len()).map(|at| self.size(at))
    }

    /// What pruning asks of the messages as they are now.
    pub fn columns(&self) -> Cow<'_, PruneColumns> {
        if self.is_edited {
            Cow::Owned(PruneColumns::from_sizes(self.sizes()))
        } else {
            Cow::Borrowed(self.context.messages.columns())
        }
    }

    /// The body of a message whose sizes do not tell what trimming makes of it, as it is now.
    pub fn odd_body(&self, at: usize) -> Option<Arc<Value>> {
        let item = &self.messages[at];
        let body = self.context.odd_bodies.get(&item.position()?)?;
        let edits = self.edits(at);
        Some(if edits.is_empty() { Arc::clone(body) } else { Arc::new(apply_all(edits, body)) })
    }

    /// Adds an edit to a message; `texture` is what it leaves, where that is known.
    pub fn push_edit(&mut self, at: usize, edit: Edit, size: MessageSize, texture: Option<ContentFeatures>) {
        self.is_edited = true;
        let change = &mut self.messages[at].change;
        let mut edits = match change.take() {
            Some(MessageChange::Full(whole)) => Arc::unwrap_or_clone(whole).edits,
            other => other.map_or(Vec::new(), |change| change.edits(&self.shared_edits).to_vec()),
        };
        edits.push(edit);
        *change = Some(MessageChange::full(size, edits, texture));
    }

    /// Keeps an edit for [`edit_to_text`](Self::replace_with_text): it is told once, however many messages it makes.
    pub fn share_edit(&mut self, edit: Edit) -> SharedEditIx {
        self.shared_edits.push(edit);
        SharedEditIx(self.shared_edits.len() as u32 - 1)
    }

    /// Makes a tool result one text of so many chars. Where more is known of it, or was done to it, all of that is told.
    pub fn replace_with_text(&mut self, at: usize, chars: f64, edit: SharedEditIx) {
        if self.features.is_none() && self.messages[at].change.is_none() {
            self.is_edited = true;
            self.messages[at].change = Some(MessageChange::SingleText { chars, edit });
            return;
        }
        let edit = self.shared_edits[edit.0 as usize].clone();
        let size = single_text_size(&self.size(at), chars);
        match self.features_at(at) {
            Some(_) => self
                .apply_predicted(at, &edit, |edit, before, texture| (size, edit.predict(before, texture).1)),
            None => self.push_edit(at, edit, size, None),
        }
    }

    /// Makes an edit, its sizes and its texture told from those it has now. Without a texture nothing is told.
    pub fn apply_edit(&mut self, at: usize, edit: &Edit) {
        self.apply_predicted(at, edit, Edit::predict);
    }

    /// Adds an edit to a message that has a texture; `predict` says what it leaves, unless that is still known.
    fn apply_predicted(
        &mut self,
        at: usize,
        edit: &Edit,
        predict: impl FnOnce(&Edit, &MessageSize, &ContentFeatures) -> (MessageSize, ContentFeatures),
    ) {
        let Some(texture) = self.features_at(at) else { return };
        let before = self.edits(at);
        let make = || {
            let (size, texture) = predict(edit, &self.size(at), texture);
            let edits = before.iter().chain([edit]).cloned().collect();
            FullChange { size, edits, features: Some(texture) }
        };
        let cache = self.features.and_then(FeatureLookup::edit_cache);
        let change = match (cache, self.messages[at].position()) {
            (Some(cache), Some(position)) => cache.get_or_insert_with(position, before, edit, make),
            _ => Arc::new(make()),
        };
        self.is_edited = true;
        self.messages[at].change = Some(MessageChange::Full(change));
    }

    /// The name of a result's tool as it is now: any JSON value, or absent.
    pub fn tool_name<'w>(&self, at: usize, words: &'w ValueTable) -> Option<Cow<'w, Value>> {
        let named = |name: &JsString| Some(Cow::Owned(Value::String(name.clone())));
        let item = &self.messages[at];
        let renamed = self.edits(at).iter().rev().find_map(|edit| match edit {
            Edit::RenameTool(name) => named(name),
            _ => None,
        });
        renamed.or_else(|| match &item.origin {
            MessageOrigin::Missing(missing) => named(&missing.name),
            _ => words.value(self.size(at).tool_name).map(Cow::Borrowed),
        })
    }

    /// Keeps the messages from a position on.
    pub fn keep_from(&mut self, first: usize) {
        self.messages_mut().drain(..first);
    }

    /// Whether it still holds every message of the context at its own position.
    pub fn is_in_context_order(&self) -> bool {
        !self.is_moved
            || self.messages.len() == self.context.messages.len()
                && self.messages.iter().enumerate().all(|(at, item)| item.position() == Some(at))
    }
}
