//! The tokens at which a session is compacted before its next turn: by the runtime after a run (compaction 2.7), or by
//! the gateway before a chat turn (releases R67). Header, lists, explanations and checks show the same number.

use crate::gateway::compaction::{ChatRoom, CompactionSettings, max_reserve_under};
use crate::gateway::memory_flush::SOFT_THRESHOLD;
use crate::gateway::ruleset::{ChatPreflight, ChatWindow, Rules};
use crate::gateway::server_compaction::server_compaction_threshold;
use crate::gateway::window::context_tokens_cap;
use crate::js::Value;
use crate::policy::chat_preflight::{ChatTotal, ChatTotalInput, chat_total};
use crate::policy::memory_flush::FlushSkip;
use crate::session::LoadedSession;
use crate::session::context_limits::ContextLimits;
use crate::session::overflow::ModelWindow;
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

    /// Returns the check before the next chat turn without its message; `None` where the gateway makes none, or knows
    /// no total.
    pub fn chat_check(&self) -> Option<ChatCheck> {
        self.chat_check_with(Some(Tokens::ZERO))
    }

    /// Returns the check before a chat turn whose message the gateway estimates at these tokens; `None` for a blank one.
    pub fn chat_check_with(&self, message: Option<Tokens>) -> Option<ChatCheck> {
        let compaction = &self.configured_settings.compaction;
        let threshold = compaction.chat_threshold(self.window.tokens)?;
        let stored = &self.limits.stored_totals;
        let total = chat_total(&ChatTotalInput {
            rule: self.ruleset.id.rules().chat_preflight,
            stored: stored.total_tokens,
            fresh: stored.fresh,
            is_versioned: stored.version == Some(1.0),
            transcript: self.transcript_count(),
            message,
            threshold,
        })?;
        Some(ChatCheck { total, threshold, window: compaction.chat_window(self.window.tokens) })
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

/// Returns the room that the check before a chat turn leaves; `None` for a session without that check.
pub(super) fn chat_room(
    rules: &Rules,
    limits: &ContextLimits,
    config: &Value,
    (provider, model): (&str, &str),
    reserve: Tokens,
) -> Option<ChatRoom> {
    let (stored, flush) = (&limits.stored_totals, &limits.flush);
    if !limits.is_chat || !limits.has_record || limits.flush_skip == Some(FlushSkip::CliBackend) {
        return None;
    }
    let is_known = stored.total_tokens.is_some_and(|tokens| tokens > Tokens::ZERO);
    // A flush that is off has no soft threshold, so the default applies.
    let soft = if flush.enabled.value { flush.soft_tokens.value } else { Tokens(SOFT_THRESHOLD) };
    let free = match rules.chat_preflight {
        ChatPreflight::None => return None,
        ChatPreflight::IfStale if is_known && stored.fresh != Some(false) => return None,
        ChatPreflight::WithinReserve => reserve,
        ChatPreflight::IfStale | ChatPreflight::StoredTotal | ChatPreflight::LargerTotal => {
            flush.floor_tokens.value + soft
        }
    };
    let window = match rules.chat_window {
        ChatWindow::OfFlush => Some(limits.flush_window),
        ChatWindow::ContextTokens => context_tokens_cap(config),
        ChatWindow::OfRun => None,
    };
    let server = server_compaction_threshold(config, provider, model).filter(|_| rules.server_threshold);
    Some(ChatRoom { free, window, min_threshold: server.unwrap_or(Tokens::ZERO) })
}
