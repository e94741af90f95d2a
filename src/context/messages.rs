//! The messages of a context with cached columns: a settings change replans all messages, and each column reads only
//! the fields it needs.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use crate::context::ContextMessage;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::js::JsException;
use crate::store::entry::{CharCount, MessageSize, Role, ToolResultSize};
use crate::units::Chars;

/// The messages of a context, in order. Derefs to a slice; changing it drops the caches.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    list: Vec<ContextMessage>,
    columns: OnceLock<PruneColumns>,
    tokens: OnceLock<Arc<[u64]>>,
}

/// The fields that pruning reads, one column each.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneColumns {
    /// Chars of each message as the pruner counts them (pruning 5.4).
    pub chars: Vec<CharCount>,
    /// Sum of `chars` in order; the exception if any message throws.
    pub total: Result<Chars, JsException>,
    /// Positions of tool results, ascending, with their sizes.
    pub results: Vec<(usize, ToolResultSize)>,
    /// Positions of assistant messages, ascending.
    pub replies: Vec<usize>,
    /// Position of the first user message (pruning 5.3).
    pub first_user: Option<usize>,
}

impl PruneColumns {
    pub fn from_sizes(sizes: impl Iterator<Item = MessageSize>) -> Self {
        let (mut chars, mut results, mut replies) = (Vec::new(), Vec::new(), Vec::new());
        let mut first_user = None;
        for (at, size) in sizes.enumerate() {
            chars.push(size.prune_chars);
            match size.role {
                Role::ToolResult => results.push((at, size.tool_result_size())),
                Role::Assistant => replies.push(at),
                Role::User => first_user = first_user.or(Some(at)),
                _ => {}
            }
        }
        let total = chars.iter().try_fold(Chars::ZERO, |sum, chars: &CharCount| Ok(sum + chars.value()?));
        Self { chars, total, results, replies, first_user }
    }
}

impl Messages {
    pub fn reserve(&mut self, messages: usize) {
        self.list_mut().reserve_exact(messages);
    }

    pub fn push(&mut self, message: ContextMessage) {
        self.list_mut().push(message);
    }

    /// Returns the columns for pruning; cached.
    pub fn columns(&self) -> &PruneColumns {
        self.columns.get_or_init(|| PruneColumns::from_sizes(self.list.iter().map(|message| message.size)))
    }

    /// Returns the estimated tokens of each message; cached.
    pub fn tokens(&self) -> &Arc<[u64]> {
        let tokens = || self.list.iter().map(|message| estimate_or_zero(&message.size)).collect();
        self.tokens.get_or_init(tokens)
    }

    /// Returns the list for a change and drops the caches.
    fn list_mut(&mut self) -> &mut Vec<ContextMessage> {
        if self.columns.get().is_some() || self.tokens.get().is_some() {
            (self.columns, self.tokens) = Default::default();
        }
        &mut self.list
    }
}

impl Deref for Messages {
    type Target = [ContextMessage];

    fn deref(&self) -> &[ContextMessage] {
        &self.list
    }
}

impl DerefMut for Messages {
    fn deref_mut(&mut self) -> &mut [ContextMessage] {
        self.list_mut()
    }
}

impl From<Vec<ContextMessage>> for Messages {
    fn from(list: Vec<ContextMessage>) -> Self {
        Self { list, ..Self::default() }
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a ContextMessage;
    type IntoIter = std::slice::Iter<'a, ContextMessage>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

/// Caches are derived, so equality ignores them.
impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EntryIx;

    fn message(role: Role, chars: f64) -> ContextMessage {
        let chars = CharCount::new(Ok(Chars(chars)));
        let size = MessageSize { role, prune_chars: chars, pi_chars: chars, ..MessageSize::EMPTY };
        ContextMessage::from_entry(EntryIx(0), size)
    }

    #[test]
    fn changed_messages_get_new_columns() {
        let mut messages =
            Messages::from(vec![message(Role::Assistant, 8.0), message(Role::ToolResult, 5.0)]);
        assert_eq!((messages.columns().total, messages.tokens()[..].to_vec()), (Ok(Chars(13.0)), vec![2, 2]));
        messages.push(message(Role::User, 4.0));
        assert_eq!((messages.columns().total, messages.tokens().len()), (Ok(Chars(17.0)), 3));
        assert_eq!(messages.columns().first_user, Some(2));
        messages[0] = message(Role::ToolResult, 1.0);
        let columns = messages.columns();
        let results: Vec<usize> = columns.results.iter().map(|(at, _)| *at).collect();
        assert_eq!((columns.total, results, columns.replies.len()), (Ok(Chars(10.0)), vec![0, 1], 0));
        assert_eq!(messages.tokens()[..], [1, 2, 1]);
    }

    #[test]
    fn an_unmeasurable_message_invalidates_only_the_total() {
        let mut odd = message(Role::User, 1.0);
        odd.size.prune_chars = CharCount::new(Err(JsException));
        let columns = PruneColumns::from_sizes([message(Role::ToolResult, 3.0).size, odd.size].into_iter());
        assert_eq!(
            (columns.total, columns.results.len(), columns.first_user),
            (Err(JsException), 1, Some(1))
        );
    }
}
