//! Prefix sums over the messages of a path: the totals of any range are one subtraction, and so is the effect of the
//! guard and of clearing on it.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::{Guard, Notice, Preflight, Truncation};
use crate::policy::clear_tool_uses::TokenCounter;
use crate::policy::edit::Edit;
use crate::policy::features::{ContentBlock, ContentFeatures, ResultContent, TextMetrics};
use crate::policy::guard::{COMPACTED, GuardLimits, result_chars};
use crate::policy::message_list::PlannedMessage;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::replay::ReplaySession;
use crate::replay::base::ReplayBase;
use crate::replay::clear_model::{ClearModel, clear_tokens, counts_as_result};
use crate::replay::edit_digest::EditDigest;
use crate::replay::message_arena::MessageArena;
use crate::replay::range_totals::{ClearTotals, EditTotals, GuardTotals, PlainTotals, RangeTotals};
use crate::store::entry::{MessageSize, Role};
use crate::units::{Chars, Tokens};

/// Measures messages for the sums under one trace's settings.
#[derive(Debug, Clone)]
pub(super) struct MessageMeasure {
    policies: PolicySet,
    preflight: Preflight,
    /// `None` if clearing is off.
    counting: Option<TokenCounter>,
    /// Chars allowed for one result where a budget holds for all results; infinite where there is no budget.
    single_limit: Chars,
    /// `None` if the guard is off.
    guard_model: Option<GuardModel>,
    /// `None` if clearing is off, or also empties the arguments of calls.
    clear_model: Option<ClearModel>,
}

impl MessageMeasure {
    /// Both windows are in tokens.
    pub(super) fn new(
        session: &ReplaySession<'_>,
        base: &ReplayBase,
        guard_window: Tokens,
        window: Tokens,
        settings: &PolicySettings,
    ) -> Self {
        let reduces = settings.enabled.has(Policy::Reduce) && !settings.reduce.keeps_sent;
        let single = settings.truncate.max_result_chars_under(settings.ruleset.rules(), window);
        let single_limit = if reduces { single } else { Chars::INFINITY };
        let clear_model = ClearModel::new(session, base, settings);
        let guard_model =
            GuardModel::new(guard_window, settings).filter(|_| settings.enabled.has(Policy::Guard));
        let preflight = settings.ruleset.rules().preflight;
        let policies = settings.enabled;
        Self {
            policies,
            preflight,
            counting: policies.has(Policy::Clear).then_some(settings.clear.counter()),
            single_limit,
            guard_model,
            clear_model,
        }
    }

    /// Chars that the guard allows; infinite without a guard.
    pub(super) fn budget(&self) -> Chars {
        self.guard_model.as_ref().map_or(Chars::INFINITY, GuardModel::budget)
    }

    /// Whether the guard's effect needs the message list (releases R42).
    pub(super) fn guard_needs_list(&self, totals: &RangeTotals) -> bool {
        self.guard_model
            .as_ref()
            .is_some_and(|guarding| guarding.needs_list(totals.guard_chars - totals.guard_cut.chars))
    }

    /// Whether the guard ends a call whose messages have this many chars after its changes (releases R41, R43).
    pub(super) fn stops(&self, chars: Chars) -> bool {
        self.guard_model.as_ref().is_some_and(|guarding| guarding.stops(chars))
    }

    /// Measures one message in its current form; an omitted message counts as nothing.
    pub(super) fn message_totals(&self, arena: &MessageArena<'_>, at: usize) -> RangeTotals {
        if arena.is_omitted(at) {
            return RangeTotals::default();
        }
        self.edited_totals(arena, at, arena.size(at), arena.features(at))
    }

    /// Measures a message of a list, with its pending change.
    pub(super) fn planned_totals(&self, arena: &MessageArena<'_>, item: &PlannedMessage) -> RangeTotals {
        match (item.position(), &item.change) {
            (Some(at), None) => self.message_totals(arena, at),
            (at, Some(change)) => {
                let tokens = arena.estimate_message_tokens(item);
                let totals = self.edited_totals(
                    arena,
                    at.unwrap_or(0),
                    &arena.size_after(at, change),
                    change.features(),
                );
                RangeTotals { tokens, ..totals }
            }
            (None, None) => RangeTotals::default(),
        }
    }

    /// Measures a message with other sizes and features.
    pub(super) fn edited_totals(
        &self,
        arena: &MessageArena<'_>,
        at: usize,
        size: &MessageSize,
        features: Option<&ContentFeatures>,
    ) -> RangeTotals {
        let known = |chars: Option<Chars>| chars.filter(|chars| chars.is_finite());
        let plain = known(size.prune_chars.value().ok());
        let weight = features.and_then(ContentFeatures::prune_chars);
        let prune = weight.map_or(plain, |weight| known(weight.value().ok()));
        let chars = features
            .and_then(ContentFeatures::text_features)
            .map_or(Chars::ZERO, |text_features| text_features.chars);
        let results = if size.role == Role::ToolResult { chars } else { Chars::ZERO };
        let guard = features.map_or(Some(Chars::ZERO), |features| known(features.guard.chars.value().ok()));
        let unsure = |policy: Policy, is_odd: bool| self.policies.has(policy) && is_odd;
        let is_odd = unsure(Policy::Prune, prune.is_none() || size.needs_body)
            || unsure(Policy::Guard, guard.is_none())
            || unsure(Policy::Clear, features.is_some_and(|features| features.digest.is_err()));
        let mut totals = RangeTotals {
            count: 1,
            tokens: arena.estimate_tokens(at, size),
            prune_chars: prune.unwrap_or(Chars::ZERO),
            guard_chars: guard.unwrap_or(Chars::ZERO),
            clear_tokens: clear_tokens(self.counting, size, features),
            check_tokens: self.check_tokens(size, features),
            result_chars: results,
            oversized: u32::from(results > self.single_limit),
            reweighted: u32::from(prune != plain),
            odd: u32::from(is_odd),
            ..RangeTotals::default()
        };
        let Some(features) = features.filter(|_| !is_odd) else { return totals };
        if let Some(guarding) = &self.guard_model {
            (totals.guard_cut, totals.guard_compacted) =
                guarding.edit_totals(arena, self.counting, at, size, features);
        }
        if let Some(clearing) = &self.clear_model {
            totals.clearing_results = u32::from(counts_as_result(features));
            if let Some(used) = clearing.edit_totals(arena, self.counting, at, size, features) {
                (totals.clearable, totals.cleared) = (totals.clear_tokens, used);
                (totals.cleared_cut, totals.cleared_compacted) = (totals.guard_cut, totals.guard_compacted);
            }
        }
        totals
    }

    pub(super) fn has_clearing(&self) -> bool {
        self.counting.is_some()
    }

    /// Tokens of a message as the check before a prompt counts them; 0 where that check is off.
    fn check_tokens(&self, size: &MessageSize, features: Option<&ContentFeatures>) -> Tokens {
        match self.preflight {
            _ if !self.policies.has(Policy::Check) => Tokens::ZERO,
            Preflight::None => Tokens::ZERO,
            Preflight::Estimate { .. } => Tokens(estimate_or_zero(size) as f64),
            Preflight::Pressure(_) => {
                features.map_or(Tokens::ZERO, |features| Tokens(features.pressure().tokens))
            }
        }
    }
}

/// Sums of the messages before each index, up to the current call; the last one is the sum of all. The effects of
/// a policy that is off are not stored: a long session has as many sums as messages.
#[derive(Debug, Clone)]
pub(super) struct PrefixSums {
    plain: Vec<PlainTotals>,
    guard: Option<Vec<GuardTotals>>,
    clear: Option<Vec<ClearTotals>>,
}

impl PrefixSums {
    pub(super) fn new(messages: usize, measure: &MessageMeasure) -> Self {
        let mut sums = Self {
            plain: Vec::with_capacity(messages + 1),
            guard: measure.guard_model.as_ref().map(|_| Vec::with_capacity(messages + 1)),
            clear: measure.clear_model.as_ref().map(|_| Vec::with_capacity(messages + 1)),
        };
        sums.push_sum(&RangeTotals::default());
        sums
    }

    pub(super) fn push(&mut self, totals: &RangeTotals) {
        let sum = self.before(self.plain.len() - 1);
        self.push_sum(&(sum + *totals));
    }

    fn push_sum(&mut self, sum: &RangeTotals) {
        self.plain.push(sum.plain());
        if let Some(guard) = &mut self.guard {
            guard.push(sum.guard());
        }
        if let Some(clear) = &mut self.clear {
            clear.push(sum.clear());
        }
    }

    /// Returns the sum of the messages before `at`.
    fn before(&self, at: usize) -> RangeTotals {
        let guard = self.guard.as_ref().map_or_else(GuardTotals::default, |guard| guard[at]);
        let clear = self.clear.as_ref().map_or_else(ClearTotals::default, |clear| clear[at]);
        RangeTotals::from_parts(self.plain[at], guard, clear)
    }

    /// Measures the messages from `first` on again.
    pub(super) fn measure_from(&mut self, first: usize, measure: impl Fn(usize) -> RangeTotals) {
        let count = self.plain.len() - 1;
        let kept = first.min(count) + 1;
        self.plain.truncate(kept);
        self.guard.iter_mut().for_each(|guard| guard.truncate(kept));
        self.clear.iter_mut().for_each(|clear| clear.truncate(kept));
        (first..count).for_each(|at| self.push(&measure(at)));
    }

    /// Returns the totals of the messages `from..to`.
    pub(super) fn range(&self, from: usize, to: usize) -> RangeTotals {
        self.before(to) - self.before(from)
    }

    pub(super) fn message(&self, at: usize) -> RangeTotals {
        self.range(at, at + 1)
    }

    /// Returns the first message of `from..to` for which `holds` accepts the totals from `from` through it; `to` if
    /// `holds` never does. `holds` must be monotonic: once true, true for every longer range.
    pub(super) fn find_first(&self, from: usize, to: usize, holds: impl Fn(&RangeTotals) -> bool) -> usize {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(&self.range(from, middle + 1)) { high = middle } else { low = middle + 1 }
        }
        low
    }
}

// The guard without a message list. Near a full window the guard acts on every call, but it only truncates results
// over the limit of a single result and replaces the oldest results one after another (pruning 6.33–6.35). The size of
// a changed result depends only on that result, so prefix sums and a binary search give the guard's effect on a call.

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
        let done = arena.predict(at, &edit, size, features);
        let chars = done.features.as_ref().and_then(|after| after.guard.chars.value().ok());
        Some(GuardedSize {
            chars: chars.unwrap_or(own),
            tokens: arena.estimate_tokens(at, &done.size),
            clear_tokens: clear_tokens(counting, &done.size, done.features.as_ref()),
        })
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
            let done = arena.predict(at, &Edit::GuardCompact, size, features);
            let chars = done.features.as_ref().and_then(|after| after.guard.chars.value().ok());
            return GuardedSize {
                chars: chars.unwrap_or(Chars::NAN),
                tokens: arena.estimate_tokens(at, &done.size),
                clear_tokens: clear_tokens(counting, &done.size, done.features.as_ref()),
            };
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
