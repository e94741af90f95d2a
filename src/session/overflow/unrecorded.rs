//! Finds refusals that left no answer. Since 2026.8.1 the gateway drops a refused answer and compacts at once, so the
//! transcript holds only a compaction while a message waits for its answer, far below the tokens that start one
//! (releases R69).

use std::cell::OnceCell;

use crate::gateway::compaction::{CompactionSettings, gateway_compaction_under};
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::overflow::call::{Overflow, OverflowKind, OverflowScope};
use crate::session::overflow::model_windows::WindowCache;
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::body;
use crate::store::entry::{Entry, EntryKind, Role};
use crate::store::trajectory::{FailedAttempt, failed_attempts};
use crate::units::{Moment, Tokens};

/// Share of the trigger below which no count or estimate of the gateway can have started a compaction.
const MAX_TRIGGER_SHARE: f64 = 0.75;
/// Share of the window above which a call that timed out is compacted too (releases R63).
const TIMEOUT_SHARE: f64 = 0.65;

/// Returns the refusals that only the compaction after them shows.
pub(super) fn find_unrecorded(scope: &OverflowScope<'_>, windows: &WindowCache<'_>) -> Vec<Overflow> {
    let rules = scope.ruleset.rules();
    let is_compaction = |entry: &Entry| entry.kind == EntryKind::Compaction;
    if !rules.sends_above_budget() || !scope.index.auxiliary_entries().any(|(_, entry)| is_compaction(entry))
    {
        return Vec::new();
    }
    let estimates = PromptEstimates::new(scope.index, None);
    let search = Search { scope, windows, estimates, recorded: OnceCell::new() };
    let compactions: Vec<EntryIx> =
        scope.index.iter().filter(|(_, entry)| is_compaction(entry)).map(|(ix, _)| ix).collect();
    compactions.into_iter().filter_map(|ix| search.refusal_before(ix)).collect()
}

struct Search<'a> {
    scope: &'a OverflowScope<'a>,
    windows: &'a WindowCache<'a>,
    estimates: PromptEstimates,
    /// The failed attempts of the recording, once read; `None` without a recording.
    recorded: OnceCell<Option<Vec<FailedAttempt>>>,
}

impl Search<'_> {
    /// Returns the refusal that a compaction answers, if a message waited for its answer.
    fn refusal_before(&self, ix: EntryIx) -> Option<Overflow> {
        let index = self.scope.index;
        let above = |at: &EntryIx| self.estimates.parent(*at);
        let path = || std::iter::successors(above(&ix), above);
        let waits = |at: EntryIx| index.entry(at).role().filter(|_| index.entry(at).becomes_message());
        if !matches!(path().find_map(waits)?, Role::User | Role::ToolResult) {
            return None;
        }
        let model = path().find_map(|at| index.entry(at).model);
        let tokens = Tokens(index.entry(ix).payload_number);
        // A recorded failure of that run needs no distance from the trigger, which one run reaches as well.
        let is_shown = match self.recorded_failure(ix) {
            Some(failed) => failed && tokens > Tokens::ZERO,
            None => self.is_far_below_trigger(tokens, model),
        };
        if !is_shown {
            return None;
        }
        Some(Overflow {
            requested: Some(tokens.whole()),
            recognised: Some(true),
            ..Overflow::from_usage(ix, OverflowKind::Unrecorded, index.entry(ix).time_ms, model)
        })
    }

    /// Whether neither the gateway's checks nor a timeout compact a prompt of these tokens.
    fn is_far_below_trigger(&self, tokens: Tokens, model: super::answered::ModelKey) -> bool {
        let Some(window) = self.windows.known_window(model) else { return false };
        let (rules, config) = (self.scope.ruleset.rules(), &self.scope.config.js_root);
        let settings = gateway_compaction_under(rules, config, CompactionSettings::default(), window);
        let most = (settings.threshold(window) * MAX_TRIGGER_SHARE).min(window * TIMEOUT_SHARE);
        tokens > Tokens::ZERO && tokens < most
    }

    /// Whether the recording says that a call failed before the compaction, in its run; `None` without a recording of that
    /// run.
    fn recorded_failure(&self, ix: EntryIx) -> Option<bool> {
        let OverflowScope { source, index, config, .. } = *self.scope;
        let recorded =
            self.recorded.get_or_init(|| failed_attempts(source, "", config.trajectory_dir.as_deref()));
        let failed = recorded.as_ref()?;
        let run = body::read_entry(source, index, ix).ok().and_then(|entry| run_id(&entry))?;
        let at = index.entry(ix).time_ms;
        let is_before = |ended: Moment| ended.is_nan() || ended <= at;
        Some(failed.iter().any(|attempt| attempt.run_id == run && is_before(attempt.ended_ms)))
    }
}

fn run_id(compaction: &Value) -> Option<String> {
    let run = compaction.get("__openclaw")?.get("runId")?;
    run.as_str().map(JsString::to_string_lossy)
}
