//! Whether today's pi compacts by itself: after a run, before a prompt, and between the turns of a run
//! (store-pi-1.5 F).

use crate::context::tokens::{estimate_context, estimate_projected};
use crate::context::{Context, ContextMessage};
use crate::gateway::compaction::CompactionSettings;
use crate::ids::EntryIx;
use crate::js::{self, JsException, Value};
use crate::policy::overflow::pi_1_5::{is_overflow, is_overflow_message, is_recoverable_length};
use crate::store::context_tokens::ContextTokens;
use crate::store::entry::{EntryKind, Role, StopReason};
use crate::store::index::Index;

/// What the decision is about, and the settings of the run.
#[derive(Debug, Clone, Copy)]
pub struct CompactionCheck<'a> {
    /// The transcript.
    pub index: &'a Index,
    /// The context of the session.
    pub context: &'a Context,
    /// Position of the last assistant message in it.
    pub answer_index: usize,
    /// That message.
    pub message: &'a Value,
    /// Window of the current model, in tokens; 0 when unknown.
    pub window: f64,
    /// Tokens the current model may answer with; 0 when unknown.
    pub max_tokens: f64,
    /// The message is by the current model.
    pub same_model: bool,
    /// Reserve and keep of the model.
    pub settings: CompactionSettings,
    /// Before a prompt; else after a run.
    pub before_prompt: bool,
    /// A recovery was tried already, and nothing since has made it forgotten.
    pub has_tried_recovery: bool,
}

/// What is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionAction {
    /// Nothing.
    Nothing,
    /// A compaction: the context is over the threshold.
    Threshold,
    /// A compaction: the prompt was too large, or left no room to answer.
    Overflow {
        /// The request is made again after it.
        will_retry: bool,
    },
    /// None: one was tried already, and the run ends with an error.
    GaveUp,
}

/// What pi says when it gives up (store-pi-1.5 F3.4).
pub const GAVE_UP: &str = "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model.";

/// The same where the last answer was cut at its length.
pub const GAVE_UP_TRUNCATED: &str = "Truncated response recovery failed after one compact-and-retry attempt.";

/// What pi says when it gives up after this answer.
pub fn gave_up_text(answer: &Value) -> &'static str {
    let is_cut = answer.get("stopReason").is_some_and(|reason| reason.str_is("length"));
    if is_cut { GAVE_UP_TRUNCATED } else { GAVE_UP }
}

/// A decision and what it leaves out of the context first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionDecision {
    /// What is started. The preparation may still find nothing to do.
    pub action: CompactionAction,
    /// Entries that get a `context_edit` which leaves them out, in this order.
    pub omitted: Vec<EntryIx>,
}

impl CompactionDecision {
    fn from_action(action: CompactionAction) -> Self {
        Self { action, omitted: Vec::new() }
    }
}

/// The test between the turns of a run, on the projected estimate; never where the window is unknown (store-pi-1.5
/// F2).
pub fn is_due_between_turns(settings: &CompactionSettings, tokens: f64, window: f64) -> bool {
    window > 0.0 && settings.should_compact(tokens, window)
}

/// Decides about the last assistant message. Throws where an answer that ended of itself has no usage
/// (store-pi-1.5 F3).
pub fn decide(checked: &CompactionCheck<'_>) -> Result<CompactionDecision, JsException> {
    let stop = checked.context.messages[checked.answer_index].size.stop_reason;
    let aborted = stop == StopReason::Aborted && !checked.before_prompt;
    let time = js::to_number(checked.message.get("timestamp"));
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

    /// The last compaction of the branch.
    fn last_compaction(&self) -> Option<EntryIx> {
        self.last_of_kind(EntryKind::Compaction).map(|at| self.context.path[at])
    }

    /// Where the last entry of a type stands on the branch.
    fn last_of_kind(&self, kind: EntryKind) -> Option<usize> {
        self.context.path.iter().rposition(|ix| self.index.entry(*ix).kind == kind)
    }

    fn path_position(&self) -> Option<usize> {
        self.context.path.iter().rposition(|ix| *ix == self.entry())
    }

    /// An error that says so, which a message of the context still is, or a prompt that silently exceeded the window with nothing edited
    /// since (store-pi-1.5 F3.3).
    fn has_overflowed(&self) -> Result<bool, JsException> {
        let error = self.message.get("errorMessage").filter(|error| js::is_truthy(Some(error)));
        let provider =
            self.message.get("provider").and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let failed = self.context.messages[self.answer_index].size.stop_reason == StopReason::Error;
        let says_so =
            |error: &Value| is_overflow(&js::to_text(Some(error)).to_string_lossy(), provider.as_deref());
        if failed && error.is_some_and(says_so) {
            return Ok(true);
        }
        let edited = self.last_of_kind(EntryKind::ContextEdit) > self.path_position();
        Ok(!failed && !edited && is_overflow_message(self.message, Some(self.window))?)
    }

    fn was_cut_short(&self) -> Result<bool, JsException> {
        is_recoverable_length(self.message, self.max_tokens)
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

    /// The answer, and its tool results up to the next one.
    fn entries_to_omit(&self) -> Vec<EntryIx> {
        let from = self.path_position().map_or(self.context.path.len(), |at| at + 1);
        let role = |ix: &EntryIx| self.index.entry(*ix).role();
        let after = self.context.path[from..].iter().take_while(|ix| role(ix) != Some(Role::Assistant));
        let results = after.filter(|ix| role(ix) == Some(Role::ToolResult));
        std::iter::once(self.entry()).chain(results.copied()).collect()
    }

    /// Tokens that are compared with the threshold; none where nothing since the compaction says how many
    /// (store-pi-1.5 F3.5).
    fn compared_tokens(&self) -> Result<Option<f64>, JsException> {
        let messages: &[ContextMessage] = &self.context.messages;
        let selected = crate::context::projection::project(self.index, &self.context.path)?.entries;
        if selected.iter().any(|(ix, _)| self.index.entry(*ix).kind == EntryKind::ContextEdit) {
            return Ok(Some(estimate_projected(self.index, &self.context.path, messages)?.tokens));
        }
        let failed = messages[self.answer_index].size.stop_reason == StopReason::Error;
        let usage = self.message.get("usage").filter(|usage| !usage.is_null());
        let counted = usage.map(|usage| ContextTokens::from_usage(usage).count);
        match counted.filter(|tokens| *tokens != 0.0 && !failed) {
            Some(tokens) => Ok(Some(tokens)),
            None => self.estimated_tokens(messages),
        }
    }

    fn estimated_tokens(&self, messages: &[ContextMessage]) -> Result<Option<f64>, JsException> {
        let estimate = estimate_context(messages)?;
        let anchor = estimate.last_usage.map(|at| messages[at].entry);
        let before = self.last_of_kind(EntryKind::Compaction);
        let place = |anchor: EntryIx| self.context.path.iter().rposition(|ix| *ix == anchor);
        let stale = anchor.is_some_and(|anchor| before.is_some() && place(anchor) < before);
        Ok((!stale).then_some(estimate.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giving_up_after_an_answer_that_was_cut_has_words_of_its_own() {
        let answer = |reason: &str| js::parse(&format!("{{\"stopReason\":\"{reason}\"}}")).unwrap();
        assert!(gave_up_text(&answer("length")).starts_with("Truncated response recovery failed"));
        assert_eq!(gave_up_text(&answer("error")), GAVE_UP);
    }
}
