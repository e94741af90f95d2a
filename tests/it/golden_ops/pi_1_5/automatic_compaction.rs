//! pi's decision after a run or before a prompt whether to compact, an oracle of these cases (store-pi-1.5 F3). The program
//! never makes it: a replay reads from the record where pi compacted, and decides only between the turns of a run.

use clawscope::context::tokens::{estimate_context, estimate_projected};
use clawscope::context::{Context, ContextMessage};
use clawscope::gateway::compaction::CompactionSettings;
use clawscope::ids::EntryIx;
use clawscope::js::{self, JsException, Value};
use clawscope::store::context_tokens::ContextTokens;
use clawscope::store::entry::{EntryKind, Role, StopReason};
use clawscope::store::index::Index;

use super::super::overflowed_answer::is_recoverable_length;
use super::judge;
use clawscope::units::{Moment, Tokens};

/// The session, the answer to judge, and the settings of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompactionCheck<'a> {
    pub(super) index: &'a Index,
    pub(super) context: &'a Context,
    /// Position of the last assistant message in the context.
    pub(super) answer_index: usize,
    /// The body of that message.
    pub(super) message: &'a Value,
    /// Window of the current model, in tokens; 0 when unknown.
    pub(super) window: Tokens,
    /// Output limit of the current model, in tokens; 0 when unknown.
    pub(super) max_tokens: Tokens,
    /// The current model wrote the message.
    pub(super) same_model: bool,
    pub(super) settings: CompactionSettings,
    /// The check precedes a prompt; otherwise it follows a run.
    pub(super) before_prompt: bool,
    /// A recovery was already tried and has not been reset since.
    pub(super) has_tried_recovery: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompactionAction {
    Nothing,
    /// Compacts because the context is over the threshold.
    Threshold,
    /// Compacts because the prompt was too large or left no room for an answer.
    Overflow {
        /// The request is repeated after the compaction.
        will_retry: bool,
    },
    /// Nothing: a recovery was already tried, so the run ends with an error.
    GaveUp,
}

/// pi's error when it gives up (store-pi-1.5 F3.4).
pub(super) const GAVE_UP: &str = "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model.";

/// pi's error when it gives up after an answer that hit its length limit.
pub(super) const GAVE_UP_TRUNCATED: &str =
    "Truncated response recovery failed after one compact-and-retry attempt.";

/// Returns pi's error when it gives up after this answer.
pub(super) fn gave_up_text(answer: &Value) -> &'static str {
    let is_cut = answer.get("stopReason").is_some_and(|reason| reason.str_is("length"));
    if is_cut { GAVE_UP_TRUNCATED } else { GAVE_UP }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CompactionDecision {
    /// The compaction to start. Its preparation may still find nothing to do.
    pub(super) action: CompactionAction,
    /// Entries that first get a `context_edit` that leaves them out, in this order.
    pub(super) omitted: Vec<EntryIx>,
}

impl CompactionDecision {
    fn from_action(action: CompactionAction) -> Self {
        Self { action, omitted: Vec::new() }
    }
}

/// Decides after the last assistant message. Errors when an answer that ended normally has no usage (store-pi-1.5 F3).
pub(super) fn decide(checked: &CompactionCheck<'_>) -> Result<CompactionDecision, JsException> {
    let stop = checked.context.messages[checked.answer_index].size.stop_reason;
    let aborted = stop == StopReason::Aborted && !checked.before_prompt;
    let time = Moment(js::to_number(checked.message.get("timestamp")));
    let old = checked.last_compaction().is_some_and(|ix| time <= checked.index.entry(ix).time_ms);
    if !checked.settings.enabled || aborted || old {
        return Ok(CompactionDecision::from_action(CompactionAction::Nothing));
    }
    if checked.same_model && (checked.has_overflowed()? || checked.was_cut_short()?) {
        return Ok(checked.decide_recovery(stop));
    }
    let tokens = checked.compared_tokens()?;
    let over = tokens.is_some_and(|tokens| checked.settings.should_compact(tokens, checked.window));
    Ok(CompactionDecision::from_action(if over {
        CompactionAction::Threshold
    } else {
        CompactionAction::Nothing
    }))
}

impl CompactionCheck<'_> {
    fn entry(&self) -> EntryIx {
        self.context.messages[self.answer_index].entry
    }

    fn last_compaction(&self) -> Option<EntryIx> {
        self.last_of_kind(EntryKind::Compaction).map(|at| self.context.path[at])
    }

    /// Returns the position on the path of the last entry of a kind.
    fn last_of_kind(&self, kind: EntryKind) -> Option<usize> {
        self.context.path.iter().rposition(|ix| self.index.entry(*ix).kind == kind)
    }

    fn path_position(&self) -> Option<usize> {
        self.context.path.iter().rposition(|ix| *ix == self.entry())
    }

    /// Whether the answer is an overflow error, or the prompt silently exceeded the window and no edit followed
    /// (store-pi-1.5 F3.3).
    fn has_overflowed(&self) -> Result<bool, JsException> {
        let failed = self.context.messages[self.answer_index].size.stop_reason == StopReason::Error;
        if failed {
            return judge(None).overflowed(self.message);
        }
        let edited = self.last_of_kind(EntryKind::ContextEdit) > self.path_position();
        Ok(!edited && judge(Some(self.window.get())).overflowed(self.message)?)
    }

    fn was_cut_short(&self) -> Result<bool, JsException> {
        is_recoverable_length(self.message, self.max_tokens.get())
    }

    fn decide_recovery(&self, stop: StopReason) -> CompactionDecision {
        if stop == StopReason::Stop {
            return CompactionDecision::from_action(CompactionAction::Overflow { will_retry: false });
        }
        if self.has_tried_recovery {
            return CompactionDecision::from_action(CompactionAction::GaveUp);
        }
        CompactionDecision {
            action: CompactionAction::Overflow { will_retry: true },
            omitted: self.entries_to_omit(),
        }
    }

    /// Returns the answer and its tool results, up to the next answer.
    fn entries_to_omit(&self) -> Vec<EntryIx> {
        let from = self.path_position().map_or(self.context.path.len(), |at| at + 1);
        let role = |ix: &EntryIx| self.index.entry(*ix).role();
        let after = self.context.path[from..].iter().take_while(|ix| role(ix) != Some(Role::Assistant));
        let results = after.filter(|ix| role(ix) == Some(Role::ToolResult));
        std::iter::once(self.entry()).chain(results.copied()).collect()
    }

    /// Returns the tokens to compare with the threshold; `None` when the last usage is older than the last compaction
    /// (store-pi-1.5 F3.5).
    fn compared_tokens(&self) -> Result<Option<Tokens>, JsException> {
        let messages: &[ContextMessage] = &self.context.messages;
        let selected = clawscope::context::projection::project(self.index, &self.context.path)?.entries;
        if selected.iter().any(|(ix, _)| self.index.entry(*ix).kind == EntryKind::ContextEdit) {
            return Ok(Some(estimate_projected(self.index, &self.context.path, messages)?.tokens));
        }
        let failed = messages[self.answer_index].size.stop_reason == StopReason::Error;
        let usage = self.message.get("usage").filter(|usage| !usage.is_null());
        let counted = usage.map(|usage| ContextTokens::from_usage(usage).count);
        match counted.filter(|tokens| *tokens != 0.0 && !failed) {
            Some(tokens) => Ok(Some(Tokens(tokens))),
            None => self.estimated_tokens(messages),
        }
    }

    fn estimated_tokens(&self, messages: &[ContextMessage]) -> Result<Option<Tokens>, JsException> {
        let estimate = estimate_context(messages)?;
        let anchor = estimate.last_usage.map(|at| messages[at].entry);
        let before = self.last_of_kind(EntryKind::Compaction);
        let place = |anchor: EntryIx| self.context.path.iter().rposition(|ix| *ix == anchor);
        let stale = anchor.is_some_and(|anchor| before.is_some() && place(anchor) < before);
        Ok((!stale).then_some(estimate.tokens))
    }
}
