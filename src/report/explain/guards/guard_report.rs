//! One guard at the failing call: its state, the reason, and the settings that would have opened it.

use crate::ids::EntryIx;
use crate::report::explain::guards::reason::GuardReason;
use crate::units::Tokens;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardKind {
    /// The limit of turns.
    History,
    /// Pruning of old tool results.
    Pruning,
    /// The check for large results before every call.
    Context,
    /// Compaction above its trigger.
    Compaction,
    /// Compaction after the refusal.
    Recovery,
}

impl GuardKind {
    /// The name on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::History => "history limit",
            Self::Pruning => "pruning",
            Self::Context => "context guard",
            Self::Compaction => "compaction",
            Self::Recovery => "recovery",
        }
    }
}

/// The outcome of a guard at the failing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardState {
    /// It acted, but freed too little.
    Acted,
    /// Its threshold was not reached.
    NotDue,
    /// A gate, a setting or an unrecognised error kept it from acting.
    Blocked,
    /// It ran and found nothing to free.
    FreedNothing,
    /// It was due, but no compaction followed.
    Failed,
    /// It is not configured.
    NotSet,
}

impl GuardState {
    /// The words on screen and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Acted => "acted",
            Self::NotDue => "not due",
            Self::Blocked => "blocked",
            Self::FreedNothing => "freed nothing",
            Self::Failed => "failed",
            Self::NotSet => "not set",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct GuardReport {
    pub kind: GuardKind,
    pub state: GuardState,
    pub reason: GuardReason,
    /// Tokens below its threshold.
    pub missing_tokens: Option<u64>,
    /// Whether those follow from an estimate.
    pub missing_is_estimate: bool,
    /// Keys of the gates that each make every call fit when opened.
    pub opening_keys: Vec<&'static str>,
    /// The rule that kept it from acting.
    pub rule: &'static str,
    /// The entry that shows it.
    pub entry: Option<EntryIx>,
}

impl GuardReport {
    pub(super) fn new(kind: GuardKind, state: GuardState, reason: GuardReason) -> Self {
        Self {
            kind,
            state,
            reason,
            missing_tokens: None,
            missing_is_estimate: false,
            opening_keys: Vec::new(),
            rule: "",
            entry: None,
        }
    }

    pub(super) fn with_missing_tokens(self, tokens: Tokens, is_estimate: bool) -> Self {
        Self { missing_tokens: Some(tokens.whole()), missing_is_estimate: is_estimate, ..self }
    }

    pub(super) fn with_entry(self, entry: impl Into<Option<EntryIx>>) -> Self {
        Self { entry: entry.into(), ..self }
    }
}
