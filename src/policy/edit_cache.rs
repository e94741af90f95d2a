//! Caches the outcome of edits while the messages stay unchanged. A replay makes the same edit of the same message at
//! every call, and most of these edits need the message's text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::policy::edit::Edit;
use crate::policy::planned_message::FullChange;

/// Changes kept per message. Limits may move from call to call, and an old one seldom returns.
const MAX_CHANGES: usize = 4;

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

    /// Drops the cached changes of all messages before `from`.
    pub fn invalidate_before(&self, from: usize) {
        self.lock().retain(|at, _| *at >= from);
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
