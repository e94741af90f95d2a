//! Explains why a session overflowed or will overflow, and which settings would have prevented it.
//!
//! Four questions, in order: did a call overflow ([`crate::session::overflow`]); what made it too large (`mechanism`);
//! why did no guard prevent it (`guards`); what was measured wrong (`mismeasured`, `estimator`, `stored_counter`). A wrong measurement or a guard is
//! the verdict only if its correction makes every call of a replay fit (`replay_runner`); otherwise the mechanism is.

pub mod advice;
mod aftermath;
mod case;
mod compactions;
mod counted_calls;
mod counts;
mod description;
mod estimator;
mod explanation;
mod facts;
mod failure;
pub mod finding;
mod guards;
mod lineage;
mod mechanism;
mod mismeasured;
mod outlook;
mod premature;
mod replay_runner;
mod stored_counter;
#[cfg(test)]
mod testing;
mod unanswered;
mod verdict;
mod way_out;
#[cfg(test)]
mod whole_tests;

pub use crate::session::failing_model::failed_call;
pub use crate::session::replay_summary::ReplaySummary;
pub use advice::{Advice, AdviceOutcome, AdvisedChange, ReplacedValue};
pub use aftermath::Aftermath;
pub use counts::{Counter, PromptCount};
pub use description::{Evidence, Question, advice_letter, error_message};
pub use estimator::{EstimatorError, TwiceCounted};
pub use explanation::{CallHistory, CallPoint, Explanation, explain, explain_changes, explain_from};
pub use facts::{CacheMisses, CauseOfMisses, EngineOwned, Facts, Finding};
pub use failure::{Failure, LimitOrigin, PromptSize};
pub use finding::{
    Confidence, FailedPrompt, FindingClass, Found, OverflowFacts, VerdictFacts, VerdictRemark,
};
pub use guards::{Comparison, GuardKind, GuardReason, GuardReport, GuardState, PruningInert};
pub use lineage::LineageFacts;
pub use mechanism::{LargePrompt, Mechanism, MessageFit, PromptPart, PromptPartKind};
pub use mismeasured::{LimitProof, Mismeasured};
pub use outlook::{NextPrompt, Outlook, RefilledCompaction};
pub use premature::{PrematureCause, PrematureCompactions};
pub use stored_counter::StoredCounter;
pub use unanswered::{Culprit, Fault, UnansweredCalls};
pub use way_out::WayOut;

pub use crate::session::overflow::{Overflow, OverflowKind};
