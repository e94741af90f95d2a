//! One message of a [message list](crate::policy::message_list): its origin and the change that policies made to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::gateway::ruleset::Rules;
use crate::policy::edit::{Edit, single_text_size};
use crate::policy::features::ContentFeatures;
use crate::policy::repair::MissingResult;
use crate::store::entry::MessageSize;
use crate::store::scan::measure_message;
use crate::units::{Chars, Moment};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageOrigin {
    /// Position in the context.
    Context(u32),
    /// Summary that a planned compaction puts first.
    Summary,
    /// Prompt and tools in force, which a planned compaction puts before its summary (store-pi-1.5 I4).
    Checkpoint,
    /// Result that the repair invents for a call without one (compaction 6.3).
    Missing(Arc<MissingResult>),
}

#[derive(Debug, Clone)]
pub enum MessageChange {
    /// The tool result became a single text. Its sizes follow from `chars`, so nothing is allocated: a preview makes
    /// hundreds of these.
    SingleText {
        chars: Chars,
        edit: SharedEditIx,
    },
    Full(Arc<FullChange>),
}

/// Lists share most changes, so that the pointers usually decide, without a comparison of all features.
impl PartialEq for MessageChange {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::SingleText { chars, edit }, Self::SingleText { chars: other_chars, edit: other_edit }) => {
                chars == other_chars && edit == other_edit
            }
            (Self::Full(own), Self::Full(other)) => Arc::ptr_eq(own, other) || own == other,
            _ => false,
        }
    }
}

/// Index of an edit that several messages share
/// ([`share_edit`](crate::policy::message_list::MessageList::share_edit)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedEditIx(pub(super) u32);

/// Any change that a single text does not describe.
#[derive(Debug, Clone, PartialEq)]
pub struct FullChange {
    /// Sizes after the change.
    pub size: MessageSize,
    /// Edits that make the text from the original, in order.
    pub edits: Vec<Edit>,
    /// Features after the change; `None` if the list has no features.
    pub features: Option<ContentFeatures>,
}

impl MessageChange {
    /// Builds the change of a message that is in no file: it has no edits, only sizes and features.
    pub fn for_added(size: MessageSize, features: ContentFeatures) -> Self {
        Self::full(size, Vec::new(), Some(features))
    }

    pub fn full(size: MessageSize, edits: Vec<Edit>, features: Option<ContentFeatures>) -> Self {
        Self::Full(Arc::new(FullChange { size, edits, features }))
    }

    /// Returns the sizes after the change; `before` are those of the original, which a message in no file ignores.
    #[inline]
    pub fn size(&self, before: &MessageSize) -> MessageSize {
        match self {
            Self::SingleText { chars, .. } => single_text_size(before, *chars),
            Self::Full(whole) => whole.size,
        }
    }

    /// Returns the edits that make the text; `shared` are the shared edits of the list.
    pub fn edits<'a>(&'a self, shared: &'a [Edit]) -> &'a [Edit] {
        match self {
            Self::SingleText { edit, .. } => std::slice::from_ref(&shared[edit.0 as usize]),
            Self::Full(whole) => &whole.edits,
        }
    }

    pub fn edit_count(&self) -> usize {
        match self {
            Self::SingleText { .. } => 1,
            Self::Full(whole) => whole.edits.len(),
        }
    }

    /// Returns the features after the change, if known.
    pub fn features(&self) -> Option<&ContentFeatures> {
        match self {
            Self::SingleText { .. } => None,
            Self::Full(whole) => whole.features.as_ref(),
        }
    }
}

/// One message of a list. Small, because most messages never change and lists are copied for every call of a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedMessage {
    pub origin: MessageOrigin,
    /// `None` for an unchanged message; always set for a message in no file.
    pub change: Option<MessageChange>,
}

impl PlannedMessage {
    /// Builds the message of an invented result. The time at which it is invented changes neither its sizes nor its
    /// features, so 0 serves.
    pub fn invented(missing: MissingResult, rules: &'static Rules) -> Self {
        let message = missing.message(Moment::ZERO);
        let size = measure_message(&message).size;
        let change = MessageChange::for_added(size, ContentFeatures::of_under(rules, &message));
        Self { origin: MessageOrigin::Missing(Arc::new(missing)), change: Some(change) }
    }

    /// Returns the edits that make the text; `shared` are the shared edits of the list.
    pub fn edits<'a>(&'a self, shared: &'a [Edit]) -> &'a [Edit] {
        self.change.as_ref().map_or(&[], |change| change.edits(shared))
    }

    pub fn edit_count(&self) -> usize {
        self.change.as_ref().map_or(0, MessageChange::edit_count)
    }

    /// Returns the position in the context; `None` for a message in no file.
    pub fn position(&self) -> Option<usize> {
        match self.origin {
            MessageOrigin::Context(at) => Some(at as usize),
            _ => None,
        }
    }
}

// Caches the outcome of edits while the messages stay unchanged. A replay makes the same edit of the same message at
// every call, and most of these edits need the message's text.

/// Changes kept per message. Limits move from call to call and from trace to trace, and an old one seldom returns.
const MAX_CHANGES: usize = 16;

/// Changes of messages, by position in a context.
#[derive(Debug, Default)]
pub struct EditCache(Mutex<HashMap<usize, Vec<Arc<FullChange>>>>);

impl EditCache {
    /// Returns the change that `edit` makes to message `at` after the edits `before`; calls `make` on a miss.
    pub fn get_or_insert_with(
        &self,
        at: usize,
        before: &[Edit],
        edit: &Edit,
        make: impl FnOnce() -> FullChange,
    ) -> Arc<FullChange> {
        let is_same = |whole: &&Arc<FullChange>| {
            whole.edits.split_last().is_some_and(|(last, first)| last == edit && first == before)
        };
        if let Some(known) = self.lock().get(&at).and_then(|kept| kept.iter().find(is_same)) {
            return Arc::clone(known);
        }
        let made = Arc::new(make());
        let mut changes = self.lock();
        let kept = changes.entry(at).or_default();
        if kept.len() == MAX_CHANGES {
            kept.remove(0);
        }
        kept.push(Arc::clone(&made));
        made
    }

    /// Drops the cached changes of a message whose body changed.
    pub fn invalidate(&self, at: usize) {
        self.lock().remove(&at);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<usize, Vec<Arc<FullChange>>>> {
        // Every statement leaves the map consistent, so a poisoned lock is safe to use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::entry::MessageSize;
    use crate::units::Chars;

    fn change(cache: &EditCache, at: usize, before: &[Edit], edit: &Edit) -> (Arc<FullChange>, bool) {
        let mut made = false;
        let whole = cache.get_or_insert_with(at, before, edit, || {
            made = true;
            let edits = before.iter().cloned().chain([edit.clone()]).collect();
            FullChange { size: MessageSize::EMPTY, edits, features: None }
        });
        (whole, made)
    }

    #[test]
    fn the_same_edit_of_the_same_message_is_computed_once() {
        let cache = EditCache::default();
        let cut = |max_chars: f64| Edit::GuardCut { max_chars: Chars(max_chars) };
        assert!(change(&cache, 1, &[], &cut(10.0)).1);
        assert!(!change(&cache, 1, &[], &cut(10.0)).1);
        assert!(change(&cache, 2, &[], &cut(10.0)).1, "another message");
        assert!(change(&cache, 1, &[], &cut(11.0)).1, "another limit");
        assert!(change(&cache, 1, &[Edit::RemoveImages], &cut(10.0)).1, "other edits before it");
        cache.invalidate(1);
        assert!(change(&cache, 1, &[], &cut(10.0)).1, "the message changed");
        assert!(!change(&cache, 2, &[], &cut(10.0)).1);
    }

    #[test]
    fn limits_that_move_do_not_fill_memory() {
        let cache = EditCache::default();
        for limit in 0..100 {
            change(&cache, 1, &[], &Edit::GuardCut { max_chars: Chars(f64::from(limit)) });
        }
        assert_eq!(cache.lock()[&1].len(), MAX_CHANGES);
    }
}
