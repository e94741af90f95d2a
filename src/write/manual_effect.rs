//! The effect of a change that a person chose: the promise of the dialog and of the command, and the numbers of the
//! commit's record.

use crate::context::ContextMessage;
use crate::context::tokens::chars4::estimate_or_zero;
use crate::ids::EntryIx;
use crate::session::{LoadedSession, ManualChange};
use crate::write::drop::DropPlan;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualEffect {
    /// What happens to which messages, in a sentence.
    pub description: String,
    /// Estimated tokens of the messages before and after.
    pub message_tokens: (u64, u64),
    /// Tokens of the next prompt before and after, in the provider's count where it is known.
    pub prompt_tokens: (u64, u64),
    /// Tokens of the first changed message and all behind it, before and after, by the same count.
    pub tail_tokens: (u64, u64),
}

impl ManualEffect {
    pub fn new(session: &LoadedSession, change: &ManualChange) -> Self {
        let names = change.names(session).join(", ");
        match change {
            ManualChange::Branch(leaf) => Self {
                description: format!("{names}: becomes the last message"),
                ..Self::of_branch(session, *leaf)
            },
            ManualChange::Drop(entries) => {
                let plan = DropPlan::new(session, entries);
                let description = format!("{names}: {}", plan.description());
                Self { description, ..Self::of_drop(session, &plan) }
            }
        }
    }

    /// An entry that ends no branch changes nothing here; the preparation refuses it.
    fn of_branch(session: &LoadedSession, leaf: EntryIx) -> Self {
        let then = session.at_entry(leaf);
        let other = then.as_ref().unwrap_or(session);
        let [now, after] = [session, other].map(|session| &session.context.messages[..]);
        let shared = now.iter().zip(after).take_while(|(one, other)| one.entry == other.entry).count();
        let [now_prompt, after_prompt] = [session, other].map(|session| &*session.next_prompt);
        Self {
            description: String::new(),
            message_tokens: (total(now), total(after)),
            prompt_tokens: (now_prompt.total.tokens, after_prompt.total.tokens),
            tail_tokens: (
                tail(&now_prompt.message_tokens, shared),
                tail(&after_prompt.message_tokens, shared),
            ),
        }
    }

    fn of_drop(session: &LoadedSession, plan: &DropPlan) -> Self {
        let (prompt, messages) = (&session.next_prompt, &session.context.messages);
        let left = |(at, message): (usize, &ContextMessage)| match message.entry {
            entry if plan.omitted.contains(&entry) => 0,
            entry if plan.imageless.contains(&entry) => prompt.tokens_of_text(&session.context, at),
            _ => prompt.tokens_of(at),
        };
        let after: Vec<u64> = messages.iter().enumerate().map(left).collect();
        let changed = |message: &ContextMessage| {
            plan.omitted.contains(&message.entry) || plan.imageless.contains(&message.entry)
        };
        let first = messages.iter().position(changed).unwrap_or(messages.len());
        let tail_tokens = (tail(&prompt.message_tokens, first), tail(&after, first));
        let freed = tail_tokens.0.saturating_sub(tail_tokens.1);
        Self {
            description: String::new(),
            message_tokens: (
                total(messages),
                messages.iter().map(|message| plan.tokens_after(message)).sum(),
            ),
            prompt_tokens: (prompt.total.tokens, prompt.total.tokens.saturating_sub(freed)),
            tail_tokens,
        }
    }
}

fn tail(tokens: &[u64], first: usize) -> u64 {
    tokens.iter().skip(first).sum()
}

fn total(messages: &[ContextMessage]) -> u64 {
    messages.iter().map(|message| estimate_or_zero(&message.size)).sum()
}
