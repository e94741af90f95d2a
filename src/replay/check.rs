//! The gateway's checks in a trace: before a chat turn, whether the stored total reaches a threshold (releases R67); before
//! a prompt, whether it leaves room for the reserve, and the action if it does not (releases R60–R62).

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::Preflight;
use crate::ids::EntryIx;
use crate::policy::Policy;
use crate::policy::chat_preflight::{ChatTotalInput, TranscriptCount, chat_total};
use crate::policy::memory_flush::LastCall;
use crate::policy::preflight::{PreflightInput, PreflightResult, Route, check};
use crate::policy::truncate::reducible_chars;
use crate::replay::calls::{CacheKey, ModelCall, RefusalReason, RefusedCall};
use crate::replay::outcome::CallReplay;
use crate::replay::trace::{LastModelCall, Trace};
use crate::store::entry::Role;
use crate::units::{Chars, Tokens};

impl Trace<'_> {
    /// Returns the check's route for a call; `None` if the version does not check here. The check runs before the first
    /// call of a run, and before every call where it is repeated inside a tool loop.
    pub(super) fn preflight_route(&self, call: &ModelCall) -> Option<Route> {
        self.preflight(call).map(|checked| checked.route)
    }

    /// Whether the gateway compacts before the chat turn that the message `ix` starts. It stored the last prompt as the
    /// session's total, so the total is fresh (compaction 9.11; releases R67). Sizes do not show a heartbeat, before which no
    /// gateway checks.
    pub(super) fn is_due_before_turn(&self, ix: EntryIx) -> bool {
        let (Some(last), None) = (self.last_call, &self.compacted) else { return false };
        let message = self.session.index.entry(ix).message.filter(|size| size.role == Role::User);
        let compaction = &self.settings.policies.compaction;
        let threshold = compaction.chat_threshold(self.checked_window(&last.cache_key));
        message.zip(threshold).is_some_and(|(message, threshold)| {
            let message = Tokens(estimate_or_zero(&message) as f64);
            let total = chat_total(&self.total_before_turn(&last, message, threshold));
            total.is_some_and(|total| total.tokens >= threshold)
        })
    }

    /// Returns the numbers that a gateway has after the call `last`, whose answer ends the transcript.
    fn total_before_turn(&self, last: &LastModelCall, message: Tokens, threshold: Tokens) -> ChatTotalInput {
        let rules = self.settings.policies.ruleset.rules();
        let last_call = LastCall {
            prompt_tokens: last.prompt_tokens,
            output_tokens: (last.tokens - last.prompt_tokens).max(Tokens::ZERO),
        };
        ChatTotalInput {
            rule: rules.chat_preflight,
            stored: Some(last.prompt_tokens),
            fresh: Some(true),
            is_versioned: true,
            transcript: TranscriptCount {
                rule: rules.transcript_total,
                last_call: Some(last_call),
                tail: Tokens::ZERO,
                estimate: Tokens::ZERO,
                file: Tokens::ZERO,
            },
            message: Some(message),
            threshold,
        }
    }

    /// Returns the window of the gateway's checks for a call's model.
    fn checked_window(&self, cache_key: &CacheKey) -> Tokens {
        let assumed = self.settings.assumptions.of_model(cache_key).and_then(|model| model.window);
        let limits = self.session.model_limits(cache_key);
        assumed.unwrap_or_else(|| limits.map_or(self.settings.window, |limits| limits.runtime))
    }

    fn preflight(&self, call: &ModelCall) -> Option<PreflightResult> {
        let settings = &self.settings.policies;
        if !settings.enabled.has(Policy::Check) || !(self.starts_run || settings.check.mid_turn) {
            return None;
        }
        let rules = settings.ruleset.rules();
        let window = self.checked_window(&call.cache_key);
        let (counted, sum) = self.preflight_tokens(rules.preflight);
        let reserve = settings.compaction.reserve_tokens;
        let request = PreflightInput {
            window,
            reserve,
            counted_tokens: Tokens(counted),
            estimated_tokens: Tokens(sum),
            reducible_chars: Chars::ZERO,
        };
        let checked = check(rules, &request)?;
        if checked.route == Route::Fits || window.is_nan() {
            return Some(PreflightResult { route: Route::Fits, ..checked });
        }
        let list = self.arena.list(self.messages());
        let reducible_chars = reducible_chars(&list, rules, window, &settings.truncate);
        check(rules, &PreflightInput { reducible_chars, ..request })
    }

    /// Returns the gateway's estimate per token of the check here, for a call that the gateway refused: its estimate is
    /// recorded, or was at least just above its limit. 1 for all other calls.
    pub(super) fn gateway_factor(&self, call: &ModelCall) -> f64 {
        let Some(RefusalReason::Gateway { estimate }) = call.refused.map(|refused| refused.reason) else {
            return 1.0;
        };
        let Some(checked) = self.preflight(call) else { return 1.0 };
        let refused = estimate.unwrap_or(checked.prompt_limit + Tokens(1.0)).max(checked.estimate);
        if checked.estimate > Tokens::ZERO { refused / checked.estimate } else { 1.0 }
    }

    /// Whether the gateway's check refuses a call after all that it did to make it fit: one that it refused on record, or a
    /// run's first call that it let through on record, under other settings. Without a check here nothing does.
    pub(super) fn is_refused_by_gateway(&self, call: &ModelCall, record: &CallReplay) -> bool {
        let by_gateway = |refused: RefusedCall| matches!(refused.reason, RefusalReason::Gateway { .. });
        let preflight = self.settings.policies.ruleset.rules().preflight;
        let refuses = matches!(preflight, Preflight::Pressure(pressure) if pressure.refuses_compacted);
        let was_let_through = self.starts_run && refuses && record.checked == Some(Route::Fits);
        (call.refused.is_some_and(by_gateway) || was_let_through)
            && self
                .preflight(call)
                .is_some_and(|checked| checked.estimate * record.gateway_factor > checked.prompt_limit)
    }

    /// Returns the tokens counted by the provider, for a version that uses them, and the estimated tokens. Such a
    /// version records the provider's count with each answer, so the last answer's count is used even if an older
    /// gateway wrote the transcript.
    fn preflight_tokens(&self, preflight: Preflight) -> (f64, f64) {
        let Preflight::Pressure(rule) = preflight else { return (0.0, self.totals().check_tokens.get()) };
        let fixed = self.session.fixed_pressure;
        let counted = self.last_call.map(|last| last.tokens).filter(|tokens| tokens.is_finite());
        // The provider's count is outdated once something was truncated or compacted.
        let is_known = rule.provider_count
            && self.compacted.is_none()
            && self.truncated.is_none()
            && self.loaded.is_none();
        match (counted.filter(|_| is_known), self.last_answer) {
            (Some(tokens), Some(at)) if at >= self.run_start.from => (
                tokens.get(),
                (self.prefix_sums.range(at + 1, self.messages_seen).check_tokens + fixed.beside(tokens))
                    .get(),
            ),
            _ => (0.0, (self.totals().check_tokens + fixed.beside(Tokens::ZERO)).get()),
        }
    }

    /// Applies the route. Where the recorded settings also requested an action and the record shows none, the action
    /// did not happen and is skipped here too. A check that is only a diagnostic acts nowhere but in a tool loop.
    pub(super) fn apply_route(&mut self, call: &ModelCall, record: &CallReplay, route: Route) {
        if self.starts_run && self.settings.policies.ruleset.rules().sends_above_budget() {
            return;
        }
        let was_requested = record.checked.is_some_and(|route| route != Route::Fits);
        if route == Route::Fits || was_requested && record.compacted.is_none() {
            return;
        }
        if matches!(route, Route::Compact | Route::CompactThenTruncate)
            && self.may_compact
            && self.settings.policies.compaction.enabled
        {
            self.compact_when_due(call.entry, false);
        }
        if matches!(route, Route::Truncate | Route::CompactThenTruncate) {
            self.truncate();
        }
    }
}
