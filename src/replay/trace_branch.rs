//! The branch of a trace so far, as a compaction reads it.

use crate::context::tokens::chars4::estimate_message;
use crate::ids::EntryIx;
use crate::policy::compact::BranchEntry;
use crate::store::entry::{EntryKind, MessageSize, Role};
use crate::units::Tokens;

/// The branch of a trace so far, as a compaction reads it.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceBranch {
    pub(super) entries: Vec<BranchEntry>,
    /// Messages of the path before each entry.
    pub(super) messages_before: Vec<usize>,
    /// The first entry that the last compaction kept.
    pub(super) first_kept: Option<usize>,
    /// Estimated tokens of all messages; NaN if one cannot be estimated.
    tokens: f64,
    /// A compaction found nothing to summarise, because it would have kept all messages.
    is_short: bool,
}

impl TraceBranch {
    /// Adds an entry with `before` messages of the path before it.
    pub(super) fn push(&mut self, entry: BranchEntry, before: usize) {
        self.tokens += estimated(&entry);
        // Whatever else begins a new range of entries.
        self.is_short &= entry.kind == EntryKind::Message;
        self.entries.push(entry);
        self.messages_before.push(before);
    }

    /// Takes the newest entry back.
    pub(super) fn pop(&mut self) {
        self.tokens -= self.entries.pop().as_ref().map_or(0.0, estimated);
        self.messages_before.pop();
    }

    /// Whether one of the newest entries is this one: it was added before its place on the path, and a compaction followed.
    pub(super) fn has_already(&self, entry: EntryIx) -> bool {
        self.entries.iter().rev().take(2).any(|own| own.entry == entry)
    }

    /// Returns the part of `keep` tokens that a provider's count of the context leaves at least (compaction 12, row "Cut point").
    pub(super) fn keep_at_count(&self, keep: Tokens, counted: Tokens) -> Tokens {
        let share = self.tokens / counted.get();
        if share.is_finite() { keep * share.min(1.0) } else { keep }
    }

    /// Whether a compaction that keeps `keep` tokens certainly has nothing to summarise. A session that is refused again and
    /// again attempts one at every call.
    pub(super) fn keeps_all(&self, keep: Tokens) -> bool {
        self.is_short && self.tokens < keep.get()
    }

    /// Notes that a compaction found nothing to summarise. More messages change that only if they exceed `keep` tokens: up to
    /// then the cut is at the first message that may begin the kept part.
    pub(super) fn note_refusal(&mut self, keep: Tokens) {
        let is_range = |entry: &&BranchEntry| entry.kind != EntryKind::Compaction;
        let begins = |entry: &BranchEntry| matches!(entry.role(), Some(Role::User | Role::Assistant));
        self.is_short = self.tokens < keep.get()
            && self.entries.last().is_some_and(|entry| entry.kind == EntryKind::Message)
            && self.entries.iter().rev().take_while(is_range).any(begins);
    }

    pub(super) fn resize(&mut self, entry: EntryIx, size: MessageSize) {
        let own = self.entries.iter_mut().filter(|own| own.entry == entry);
        for own in own {
            let before = estimated(own);
            own.message = Some(size).filter(|size| size.role != Role::Other);
            self.tokens += estimated(own) - before;
        }
        self.is_short = false;
    }

    /// Sets the first message that the last compaction keeps.
    pub(super) fn keep_from(&mut self, message: usize) {
        self.first_kept = Some(self.messages_before.partition_point(|before| *before < message));
        self.is_short = false;
    }
}

/// Returns the tokens of an entry's message by the estimate of compactions; NaN if the runtime cannot estimate it.
fn estimated(entry: &BranchEntry) -> f64 {
    entry.message.map_or(0.0, |size| estimate_message(&size).map_or(f64::NAN, Tokens::get))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::gateway::ruleset::{Compaction, Rules, Ruleset};
    use crate::js;
    use crate::policy::compact::{PreviousCompaction, prepare_under};
    use crate::store::scan::measure_message;

    /// Builds a message of this size in tokens, or an entry of another kind.
    fn entry(at: usize, (role, tokens): (usize, usize)) -> BranchEntry {
        let text = "x".repeat(4 * tokens);
        let json = match role {
            0 => format!(r#"{{"role":"user","content":"{text}"}}"#),
            1 | 2 => format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#),
            _ => format!(r#"{{"role":"toolResult","content":"{text}"}}"#),
        };
        let kind = match role {
            0..5 => EntryKind::Message,
            5 => EntryKind::Compaction,
            _ => EntryKind::ModelChange,
        };
        let size = (role < 6).then(|| measure_message(&js::parse(&json).expect("JSON")).size);
        let entry = EntryIx(at as u32);
        BranchEntry { entry, kind, has_id: true, message: size, lacks_message: false, projected: None }
    }

    /// Whether a compaction of the safeguard summarises nothing.
    fn is_refused(rules: &Rules, branch: &TraceBranch, keep: Tokens) -> bool {
        let before = PreviousCompaction { first_kept: branch.first_kept, ..PreviousCompaction::default() };
        let tokens = |entry: &BranchEntry| estimate_message(&entry.message.expect("a message"));
        let prepared = prepare_under(rules, &branch.entries, &before, keep, tokens).expect("measurable");
        let is_real = |entry: &BranchEntry| {
            matches!(entry.role(), Some(Role::User | Role::Assistant | Role::ToolResult))
        };
        prepared.is_none_or(|prepared| !branch.entries[prepared.history()].iter().any(is_real))
    }

    proptest! {
        #[test]
        fn a_branch_that_fits_the_kept_tokens_has_nothing_to_summarise(
            entries in prop::collection::vec((0_usize..7, 1_usize..40), 1..40),
            keep in 1_u32..400,
        ) {
            let keep = Tokens(f64::from(keep));
            for ruleset in Ruleset::ALL.iter().filter(|it| it.rules().compaction != Compaction::Projected) {
                let mut branch = TraceBranch::default();
                for (at, made) in entries.iter().enumerate() {
                    branch.push(entry(at, *made), at);
                    let is_refused = is_refused(ruleset.rules(), &branch, keep);
                    prop_assert!(!branch.keeps_all(keep) || is_refused, "{ruleset:?} at {at}");
                    if is_refused {
                        branch.note_refusal(keep);
                    }
                }
            }
        }
    }
}
