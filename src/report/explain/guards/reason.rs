//! The reason why a guard acted or did not act, as values.

use crate::gateway::prune_setting::Unit;
use crate::js::Value;
use crate::policy::prune::Gate;
use crate::units::Tokens;

/// The reason for the state of a guard.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardReason {
    NoHistoryLimit,
    /// The history limit dropped this number of messages.
    DroppedMessages(usize),
    /// The call sent fewer turns than the history limit allows.
    FewerTurns {
        limit: f64,
    },
    PruningOff,
    /// Tokens that pruning or the context guard freed.
    Freed(u64),
    /// The gate of pruning was open, but the value of this key kept every result.
    KeptByValue {
        key: &'static str,
        value: Option<(Option<Unit>, Value)>,
    },
    NothingToPrune,
    /// A gate of pruning was closed.
    ClosedGate {
        gate: Gate,
        /// The gateway's release.
        release: &'static str,
        /// The provider of the call.
        provider: Option<String>,
    },
    /// The context guard acts above this number of estimated tokens of messages, in which results count twice.
    BelowBudget(u64),
    /// The size in estimated tokens above which the context guard acts on a single result.
    BelowSingle(u64),
    /// The context guard acts by its rule, but the provider's counts show that it had no effect.
    Contradicted,
    NoLargeResult,
    CompactionOff,
    /// No usage was reported yet that could be compared with the trigger.
    NothingToCompare {
        trigger: Tokens,
    },
    /// The runtime compared these tokens with its trigger.
    Compared {
        tokens: Tokens,
        trigger: Tokens,
        outcome: Comparison,
    },
    /// This release did not recognise the refusal as an overflow.
    NotRecognised {
        release: String,
    },
    NoCompaction,
    /// So many compactions followed the refusal.
    CompactionsAfter(usize),
}

/// The consequence of a comparison with the trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The tokens were below the trigger.
    Below {
        /// Whether the runtime compares again before each call of a run.
        repeats_in_run: bool,
    },
    Compacted,
    /// The tokens were above the trigger, but no compaction followed.
    NotCompacted,
}
