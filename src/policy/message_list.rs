//! The list of messages that one policy hands to the next. Each message has its origin, the change that policies made
//! to it, and the sizes after that change. The texts stay on disk: a list of thousands of messages is copied for every
//! call of a replay.

use std::borrow::Cow;
use std::sync::Arc;

use crate::context::{Context, PruneColumns};
use crate::js::{JsString, Value};
use crate::policy::edit::{Edit, apply_all, single_text_size};
use crate::policy::features::ContentFeatures;
use crate::policy::planned_message::EditCache;
pub use crate::policy::planned_message::{
    FullChange, MessageChange, MessageOrigin, PlannedMessage, SharedEditIx,
};
use crate::store::entry::MessageSize;
use crate::store::intern::ValueTable;
use crate::units::Chars;

/// Features of the messages of a context.
#[derive(Debug, Clone, Copy)]
pub enum FeatureLookup<'a> {
    /// One per message, in order.
    Slice(&'a [ContentFeatures]),
    Source(&'a dyn FeatureSource),
}

/// Source of message features, such as a cache.
pub trait FeatureSource: std::fmt::Debug + Sync {
    /// Returns the features of the message at a position of the context.
    fn features_at(&self, at: usize) -> Option<&ContentFeatures>;

    /// Returns the cache of changes of a message in its present form; `None` disables it.
    fn edit_cache(&self, _at: usize) -> Option<&EditCache> {
        None
    }
}

impl<'a> FeatureLookup<'a> {
    fn get(self, at: usize) -> Option<&'a ContentFeatures> {
        match self {
            Self::Slice(features) => features.get(at),
            Self::Source(features) => features.features_at(at),
        }
    }

    fn edit_cache(self, at: usize) -> Option<&'a EditCache> {
        match self {
            Self::Slice(_) => None,
            Self::Source(features) => features.edit_cache(at),
        }
    }
}

#[derive(Debug, Clone)]
pub struct MessageList<'a> {
    pub context: &'a Context,
    /// Features of the messages of the context; `None` if they were not read.
    pub features: Option<FeatureLookup<'a>>,
    messages: Vec<PlannedMessage>,
    /// Edits that several messages share.
    shared_edits: Vec<Edit>,
    /// Set if a message may not be at its own position of the context.
    is_moved: bool,
    /// Set if a message or the list may have changed.
    is_edited: bool,
}

impl<'a> MessageList<'a> {
    /// Builds the list of the unchanged messages of a context.
    pub fn from_context(context: &'a Context, features: Option<&'a [ContentFeatures]>) -> Self {
        let items = (0..context.messages.len())
            .map(|at| PlannedMessage { origin: MessageOrigin::Context(at as u32), change: None });
        let features = features.map(FeatureLookup::Slice);
        Self { is_moved: false, is_edited: false, ..Self::from_messages(context, features, items.collect()) }
    }

    /// Builds a list from messages of a context. Their changes must be [`MessageChange::Full`], because the new list
    /// has no shared edits.
    pub fn from_messages(
        context: &'a Context,
        features: Option<FeatureLookup<'a>>,
        messages: Vec<PlannedMessage>,
    ) -> Self {
        Self { context, features, messages, shared_edits: Vec::new(), is_moved: true, is_edited: true }
    }

    pub fn messages(&self) -> &[PlannedMessage] {
        &self.messages
    }

    /// Returns the messages for removing, adding and reordering.
    pub fn messages_mut(&mut self) -> &mut Vec<PlannedMessage> {
        (self.is_moved, self.is_edited) = (true, true);
        &mut self.messages
    }

    /// Returns the messages and their shared edits.
    pub fn into_parts(self) -> (Vec<PlannedMessage>, Vec<Edit>) {
        (self.messages, self.shared_edits)
    }

    /// Returns the edits that make the text of message `at`.
    pub fn edits(&self, at: usize) -> &[Edit] {
        self.messages[at].edits(&self.shared_edits)
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the sizes of a message after its change.
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

    /// Returns the features of a message after its change; `None` if features were not read.
    pub fn features_at(&self, at: usize) -> Option<&ContentFeatures> {
        let item = &self.messages[at];
        match (item.change.as_ref().and_then(MessageChange::features), &item.origin) {
            (Some(features), _) => Some(features),
            (None, MessageOrigin::Context(position)) => self.features?.get(*position as usize),
            (None, _) => None,
        }
    }

    pub fn sizes(&self) -> impl DoubleEndedIterator<Item = MessageSize> + ExactSizeIterator {
        (0..self.messages.len()).map(|at| self.size(at))
    }

    /// Returns the columns that pruning reads; borrowed from the context while the list is unchanged.
    pub fn columns(&self) -> Cow<'_, PruneColumns> {
        if self.is_edited {
            Cow::Owned(PruneColumns::from_sizes(self.sizes()))
        } else {
            Cow::Borrowed(self.context.messages.columns())
        }
    }

    /// Returns the current body of a message whose sizes do not determine the length of its trimmed text.
    pub fn odd_body(&self, at: usize) -> Option<Arc<Value>> {
        let item = &self.messages[at];
        let body = self.context.odd_bodies.get(&item.position()?)?;
        let edits = self.edits(at);
        Some(if edits.is_empty() { Arc::clone(body) } else { Arc::new(apply_all(edits, body)) })
    }

    /// Adds an edit to a message; `size` and `features` describe the message after it.
    pub fn push_edit(&mut self, at: usize, edit: Edit, size: MessageSize, features: Option<ContentFeatures>) {
        self.is_edited = true;
        let change = &mut self.messages[at].change;
        let mut edits = match change.take() {
            Some(MessageChange::Full(whole)) => Arc::unwrap_or_clone(whole).edits,
            other => other.map_or(Vec::new(), |change| change.edits(&self.shared_edits).to_vec()),
        };
        edits.push(edit);
        *change = Some(MessageChange::full(size, edits, features));
    }

    /// Stores an edit for [`Self::replace_with_text`], once for all messages that use it.
    pub fn share_edit(&mut self, edit: Edit) -> SharedEditIx {
        self.shared_edits.push(edit);
        SharedEditIx(self.shared_edits.len() as u32 - 1)
    }

    /// Replaces a tool result with a single text of `chars` chars. If the list has features or the message is changed
    /// already, the change is stored in full.
    pub fn replace_with_text(&mut self, at: usize, chars: Chars, edit: SharedEditIx) {
        if self.features.is_none() && self.messages[at].change.is_none() {
            self.is_edited = true;
            self.messages[at].change = Some(MessageChange::SingleText { chars, edit });
            return;
        }
        let edit = self.shared_edits[edit.0 as usize].clone();
        let size = single_text_size(&self.size(at), chars);
        match self.features_at(at) {
            Some(_) => self.apply_predicted(at, &edit, |edit, before, features| {
                (size, edit.predict(before, features).1)
            }),
            None => self.push_edit(at, edit, size, None),
        }
    }

    /// Gives a message the change it had before; its place stays the same.
    pub fn restore_change(&mut self, at: usize, change: Option<MessageChange>) {
        self.messages[at].change = change;
    }

    /// Applies an edit and predicts the sizes and features after it. Does nothing to a message without features.
    pub fn apply_edit(&mut self, at: usize, edit: &Edit) {
        self.apply_predicted(at, edit, Edit::predict);
    }

    /// Adds an edit to a message with features; `predict` runs only if the cache does not hold the change.
    fn apply_predicted(
        &mut self,
        at: usize,
        edit: &Edit,
        predict: impl FnOnce(&Edit, &MessageSize, &ContentFeatures) -> (MessageSize, ContentFeatures),
    ) {
        let Some(features) = self.features_at(at) else { return };
        let before = self.edits(at);
        let make = || {
            let (size, features) = predict(edit, &self.size(at), features);
            let edits = before.iter().chain([edit]).cloned().collect();
            FullChange { size, edits, features: Some(features) }
        };
        let cached = self.messages[at].position().zip(self.features);
        let cached = cached.and_then(|(position, features)| Some((features.edit_cache(position)?, position)));
        let change = match cached {
            Some((cache, position)) => cache.get_or_insert_with(position, before, edit, make),
            None => Arc::new(make()),
        };
        self.is_edited = true;
        self.messages[at].change = Some(MessageChange::Full(change));
    }

    /// Returns the current tool name of a result: any JSON value, or absent.
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

    /// Whether the list still holds every message of the context at its own position.
    pub fn is_in_context_order(&self) -> bool {
        !self.is_moved
            || self.messages.len() == self.context.messages.len()
                && self.messages.iter().enumerate().all(|(at, item)| item.position() == Some(at))
    }
}
