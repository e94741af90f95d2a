//! What edits leave of messages, kept while the messages stay the same: a replay makes the same edit of the same message
//! at every call, and most of these edits need the message's text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::policy::edit::Edit;
use crate::policy::list::Whole;

/// Changes kept for one message. Limits may move from call to call, so that old changes never return.
const KEPT: usize = 4;

/// The changes of messages by their position in a context.
#[derive(Debug, Default)]
pub struct EditCache(Mutex<HashMap<usize, Vec<Arc<Whole>>>>);

impl EditCache {
    /// The change that `edit` makes to the message at a position after the edits `before`; `make` works it out if it is not
    /// there.
    pub fn change(
        &self,
        at: usize,
        before: &[Edit],
        edit: &Edit,
        make: impl FnOnce() -> Whole,
    ) -> Arc<Whole> {
        let is_same = |whole: &&Arc<Whole>| {
            whole.edits.split_last().is_some_and(|(last, first)| last == edit && first == before)
        };
        if let Some(known) = self.changes().get(&at).and_then(|kept| kept.iter().find(is_same)) {
            return Arc::clone(known);
        }
        let made = Arc::new(make());
        let mut changes = self.changes();
        let kept = changes.entry(at).or_default();
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&made));
        made
    }

    /// Forgets the changes of a message that is not what it was.
    pub fn forget(&self, at: usize) {
        self.changes().remove(&at);
    }

    fn changes(&self) -> std::sync::MutexGuard<'_, HashMap<usize, Vec<Arc<Whole>>>> {
        // A cache is whole after every statement, so that a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::entry::MessageSize;

    fn change(cache: &EditCache, at: usize, before: &[Edit], edit: Edit) -> (Arc<Whole>, bool) {
        let mut made = false;
        let whole = cache.change(at, before, &edit, || {
            made = true;
            let edits = before.iter().cloned().chain([edit.clone()]).collect();
            Whole { size: MessageSize::NOTHING, edits, texture: None }
        });
        (whole, made)
    }

    #[test]
    fn the_same_edit_of_the_same_message_is_worked_out_once() {
        let cache = EditCache::default();
        let cut = |max_chars: f64| Edit::GuardCut { max_chars };
        assert!(change(&cache, 1, &[], cut(10.0)).1);
        assert!(!change(&cache, 1, &[], cut(10.0)).1);
        assert!(change(&cache, 2, &[], cut(10.0)).1, "another message");
        assert!(change(&cache, 1, &[], cut(11.0)).1, "another limit");
        assert!(change(&cache, 1, &[Edit::RemoveImages], cut(10.0)).1, "other edits before it");
        cache.forget(1);
        assert!(change(&cache, 1, &[], cut(10.0)).1, "the message changed");
        assert!(!change(&cache, 2, &[], cut(10.0)).1);
    }

    #[test]
    fn limits_that_move_do_not_fill_memory() {
        let cache = EditCache::default();
        for limit in 0..100 {
            change(&cache, 1, &[], Edit::GuardCut { max_chars: f64::from(limit) });
        }
        assert_eq!(cache.changes()[&1].len(), KEPT);
    }
}
