//! The tokens at which a session is compacted before its next turn: by the runtime after a run (compaction 2.7), or by
//! the gateway before a chat turn (releases R67). Header, lists, explanations and checks show the same number.

use crate::gateway::compaction::{CompactionSettings, max_reserve_under};
use crate::gateway::ruleset::{ChatPreflight, Rules};
use crate::ids::EntryIx;
use crate::policy::chat_preflight::{ChatTotal, ChatTotalInput, chat_total};
use crate::policy::memory_flush::FlushSkip;
use crate::session::LoadedSession;
use crate::session::context_limits::ContextLimits;
use crate::session::overflow::ModelWindow;
use crate::store::entry::EntryKind;
use crate::units::Tokens;

/// The first of the two checks that a growing session reaches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TriggerPoint {
    /// Negative if the reserve exceeds the window.
    pub tokens: Tokens,
    /// Whether the check before a chat turn decides; it compacts from this number on, the runtime's check above it.
    pub before_chat_turn: bool,
}

impl TriggerPoint {
    /// Whether a context of this many tokens is compacted.
    pub fn is_reached(&self, tokens: Tokens) -> bool {
        if self.before_chat_turn { tokens >= self.tokens } else { tokens > self.tokens }
    }

    /// The rule that decides.
    pub fn rule(&self) -> &'static str {
        if self.before_chat_turn { "releases R67" } else { "compaction 2.7" }
    }
}

/// The check before the next chat turn of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChatCheck {
    /// The total that the gateway compares.
    pub total: ChatTotal,
    /// Tokens from which it compacts.
    pub threshold: Tokens,
    pub window: Tokens,
}

impl ChatCheck {
    /// Whether the next message compacts the session, however short it is.
    pub fn is_due(&self) -> bool {
        self.total.tokens >= self.threshold
    }
}

impl LoadedSession {
    /// Returns the trigger for the session's model.
    pub fn trigger_point(&self) -> TriggerPoint {
        self.trigger_point_for(&self.windows())
    }

    /// Returns the windows of the session's model.
    pub fn windows(&self) -> ModelWindow {
        ModelWindow { gateway: self.window, runtime: self.limits.runtime_window }
    }

    /// Returns the trigger for a model with these windows.
    pub fn trigger_point_for(&self, window: &ModelWindow) -> TriggerPoint {
        self.configured_settings.compaction.trigger(window.runtime, window.gateway.tokens)
    }

    /// Returns the tokens that the gateway's own check lets a prompt have (releases R60, R61).
    pub fn gateway_limit(&self, window: &ModelWindow) -> Tokens {
        let tokens = window.gateway.tokens.floor();
        let reserve = self.configured_settings.compaction.reserve_tokens;
        let reserve = reserve.min(max_reserve_under(self.ruleset.id.rules(), tokens));
        (tokens - reserve).max(Tokens(1.0))
    }

    /// Returns the check before the next chat turn; `None` where the gateway makes none, or knows no total.
    pub fn chat_check(&self) -> Option<ChatCheck> {
        let threshold = self.configured_settings.compaction.chat_threshold(self.window.tokens)?;
        let stored = &self.limits.stored_totals;
        let total = chat_total(&ChatTotalInput {
            rule: self.ruleset.id.rules().chat_preflight,
            stored: stored.total_tokens,
            fresh: stored.fresh,
            is_versioned: stored.version == Some(1.0),
            last_call: self.last_call_of_file().filter(|_| !self.is_just_compacted()),
            estimate: Tokens(self.budget().total().saturating_sub(self.fixed_tokens()) as f64),
            threshold,
        })?;
        Some(ChatCheck { total, threshold, window: self.window.tokens })
    }

    /// Whether the release ignores usages before a compaction, and the path has none after its last one.
    fn is_just_compacted(&self) -> bool {
        let counts_all = self.ruleset.id.rules().chat_preflight != ChatPreflight::WithinReserve;
        let (index, path) = (&self.index, &self.context.path);
        let has_usage = |ix: &EntryIx| index.entry(*ix).message.is_some_and(|size| size.usage.is_some());
        let bounds = |ix: &EntryIx| matches!(index.entry(*ix).kind, EntryKind::Compaction | EntryKind::Reset);
        !counts_all && path.iter().rev().take_while(|ix| !has_usage(ix)).any(bounds)
    }
}

impl CompactionSettings {
    /// Returns the first trigger that a growing context reaches, for the runtime's window and the gateway's.
    pub fn trigger(&self, runtime_window: Tokens, gateway_window: Tokens) -> TriggerPoint {
        let runtime = self.threshold(runtime_window);
        match self.chat_threshold(gateway_window) {
            Some(chat) if self.enabled && (chat <= runtime || runtime.is_nan()) => {
                TriggerPoint { tokens: chat, before_chat_turn: true }
            }
            _ => TriggerPoint { tokens: runtime, before_chat_turn: false },
        }
    }
}

/// Returns the tokens that the check before a chat turn leaves free; `None` for a session without that check.
pub(super) fn chat_room(rules: &Rules, limits: &ContextLimits, reserve: Tokens) -> Option<Tokens> {
    let (stored, flush) = (&limits.stored_totals, &limits.flush);
    if !limits.is_chat || !limits.has_record || limits.flush_skip == Some(FlushSkip::CliBackend) {
        return None;
    }
    let is_known = stored.total_tokens.is_some_and(|tokens| tokens > Tokens::ZERO);
    match rules.chat_preflight {
        ChatPreflight::None => None,
        ChatPreflight::IfStale { .. } if is_known && stored.fresh != Some(false) => None,
        ChatPreflight::WithinReserve => Some(reserve),
        ChatPreflight::IfStale { .. } | ChatPreflight::StoredTotal | ChatPreflight::LargerTotal => {
            Some(flush.floor_tokens.value + flush.soft_tokens.value)
        }
    }
}
