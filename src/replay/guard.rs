//! The guard without a message list. Near a full window the guard acts on every call, but it only truncates results
//! over the limit of a single result and replaces the oldest results one after another (pruning 6.33–6.35). The size of
//! a changed result depends only on that result, so prefix sums and a binary search give the guard's effect on a call.

use crate::gateway::ruleset::{Guard, Notice, Truncation};
use crate::policy::PolicySettings;
use crate::policy::clear_tool_uses::TokenCounter;
use crate::policy::edit::Edit;
use crate::policy::features::{ContentBlock, ContentFeatures, ResultContent, TextMetrics};
use crate::policy::guard::{COMPACTED, GuardLimits, result_chars};
use crate::replay::clear_model::clear_tokens;
use crate::replay::edit_digest::EditDigest;
use crate::replay::message_arena::MessageArena;
use crate::replay::range_totals::EditTotals;
use crate::store::entry::MessageSize;
use crate::units::{Chars, Tokens};

/// The guard's limits, and the size of a result that it replaced.
#[derive(Debug, Clone)]
pub(super) struct GuardModel {
    rule: Guard,
    /// Counts the chars that a truncated result lost, in versions that do that.
    notice: Option<Notice>,
    limits: GuardLimits,
    /// Content of a replaced result: first for a text, then for blocks.
    compacted: [ResultContent; 2],
}

/// Size of a result after the guard.
struct GuardedSize {
    chars: Chars,
    tokens: Tokens,
    /// Tokens as clearing counts them.
    clear_tokens: Tokens,
}

impl GuardModel {
    /// Creates the model for a window in tokens; `None` if the version has no guard.
    pub(super) fn new(window: Tokens, settings: &PolicySettings) -> Option<Self> {
        let rules = settings.ruleset.rules();
        let text = TextMetrics::of(&COMPACTED.into());
        let compacted =
            [ResultContent::Text(text.clone()), ResultContent::Blocks(vec![ContentBlock::Text(text)])];
        let limits = GuardLimits::under(rules, window, &settings.guard)?;
        let notice = match (rules.guard, rules.truncation) {
            (Guard::SingleThenStop, Truncation::Ends(ends)) => Some(ends.notice),
            _ => None,
        };
        Some(Self { rule: rules.guard, notice, limits, compacted })
    }

    /// Whether the guard's choice of results needs the message list: newest first, and not all alike (releases R42).
    /// `chars` are those of all messages once each result is within its own limit.
    pub(super) fn needs_list(&self, chars: Chars) -> bool {
        self.rule == Guard::NewestFirst && chars > self.limits.budget
    }

    /// Whether the call ends before it is sent; `chars` are those after the guard's changes.
    pub(super) fn stops(&self, chars: Chars) -> bool {
        self.limits.stop.is_some_and(|stop| chars > stop)
    }

    /// Chars that all messages may have together.
    pub(super) fn budget(&self) -> Chars {
        self.limits.budget
    }

    /// Returns the effect on one message of the limit of a single result, and of a replacement.
    pub(super) fn edit_totals(
        &self,
        arena: &MessageArena<'_>,
        counting: Option<TokenCounter>,
        at: usize,
        size: &MessageSize,
        features: &ContentFeatures,
    ) -> (EditTotals, EditTotals) {
        let own = features.guard.chars.value().unwrap_or(Chars::ZERO);
        let (tokens, clear) = (arena.estimate_tokens(at, size), clear_tokens(counting, size, Some(features)));
        let done = |made: &GuardedSize, from: Chars, trimmed: u32| EditTotals {
            chars: (from - made.chars).max(Chars::ZERO),
            tokens: tokens - made.tokens,
            clear_tokens: clear - made.clear_tokens,
            trimmed,
            cleared: 1 - trimmed,
            edit_digest: EditDigest::default().with_edit((at, made.tokens.get().round() as u64)),
        };
        let made = self.truncate_result((arena, counting), at, size, features);
        // The cut's `chars` are signed, because a truncation can lengthen a result.
        let cut = made.as_ref().map(|made| EditTotals { chars: own - made.chars, ..done(made, own, 1) });
        let left = made.map_or(own, |made| made.chars);
        let may_go = matches!(self.rule, Guard::Placeholders { .. }) && features.guard.is_result;
        let cut = cut.unwrap_or_default();
        if !may_go || left <= Chars::from_len(COMPACTED.len()) {
            return (cut, EditTotals { chars: Chars::ZERO, ..cut });
        }
        (cut, done(&self.compact_result((arena, counting), at, size, features), left, 0))
    }

    /// Truncates a result over the limit of a single result; `None` if it is within the limit.
    fn truncate_result(
        &self,
        (arena, counting): (&MessageArena<'_>, Option<TokenCounter>),
        at: usize,
        size: &MessageSize,
        features: &ContentFeatures,
    ) -> Option<GuardedSize> {
        let own = features.guard.chars.value().unwrap_or(Chars::ZERO);
        let max_chars = self.limits.single;
        let edit = match self.rule {
            Guard::Placeholders { .. } if features.guard.is_result && own > max_chars => {
                Edit::GuardCut { max_chars }
            }
            Guard::NewestFirst | Guard::SingleThenStop if features.guard.is_result && own > max_chars => {
                Edit::GuardHalve { max_chars, notice: self.notice }
            }
            Guard::Single
                if features
                    .text_features()
                    .is_some_and(|text_features| text_features.guard_chars > max_chars) =>
            {
                Edit::GuardFit { max_chars }
            }
            _ => return None,
        };
        let (size, features) = edit.predict(size, features);
        let chars = features.guard.chars.value().unwrap_or(own);
        let clear = clear_tokens(counting, &size, Some(&features));
        Some(GuardedSize { chars, tokens: arena.estimate_tokens(at, &size), clear_tokens: clear })
    }

    fn compact_result(
        &self,
        (arena, counting): (&MessageArena<'_>, Option<TokenCounter>),
        at: usize,
        size: &MessageSize,
        features: &ContentFeatures,
    ) -> GuardedSize {
        if counting.is_some() || features.body.is_some() || size.role != crate::store::entry::Role::ToolResult
        {
            let (size, after) = Edit::GuardCompact.predict(size, features);
            let chars = after.guard.chars.value().unwrap_or(Chars::NAN);
            let clear = clear_tokens(counting, &size, Some(&after));
            return GuardedSize { chars, tokens: arena.estimate_tokens(at, &size), clear_tokens: clear };
        }
        let [text, blocks] = &self.compacted;
        let content = if matches!(features.content, ResultContent::Text(_)) { text } else { blocks };
        let chars = result_chars(content.guard_chars(), None);
        GuardedSize {
            chars,
            tokens: arena.estimate_tokens(at, &content.message_size(size)),
            clear_tokens: Tokens::ZERO,
        }
    }
}
