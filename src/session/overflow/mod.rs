//! Finds the calls of a transcript that overflowed. Lists, screens and commands all use it, so they agree.
//!
//! Whether a call overflowed does not depend on the gateway's version: the provider's words, codes and stop reasons
//! decide (overflow-texts 2). Whether that version recognised it is a separate fact ([`Overflow::recognised`]). Every
//! call is judged by the model that answered it, never by the session's current one.

mod answered;
mod call;
mod last_calls;
mod model_windows;
pub(crate) mod refused;
mod row_error;
mod truncated;

use std::cell::{LazyCell, OnceCell};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use crate::gateway::compaction::{CompactionSettings, gateway_compaction_under};
use crate::gateway::window::DEFAULT_WINDOW;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::body;
use crate::store::entry::{Entry, EntryKind, Role, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::store::trajectory::{FailedAttempt, failed_attempts};
use crate::units::{Moment, Tokens};
use answered::{exceeds_text, is_answer, largest_prompts, measured_usage};
use model_windows::WindowCache;

pub use answered::largest_answer;
pub use call::{Overflow, OverflowKind, OverflowScope};
pub use last_calls::{CallState, LastCalls};
pub use model_windows::ModelWindow;
pub use refused::CallError;

/// Every call of a transcript that failed, each once and in file order.
#[derive(Debug, Clone, Default)]
pub struct CallFailures {
    pub overflows: Arc<[Overflow]>,
    /// Errors of any other kind.
    pub errors: Arc<[CallError]>,
}

/// Returns every overflow and every other error of a transcript. Reads the bodies of failed answers, and skips one that
/// cannot be read again.
pub fn find_failures(scope: &OverflowScope<'_>) -> CallFailures {
    let (refusals, errors) = refused::find_refused(scope);
    let scope = OverflowScope { refusals: &refusals, ..*scope };
    let windows = model_windows::WindowCache::new(&scope);
    let wrong = find_implausible(&scope, &windows);
    let mut found = refusals.clone();
    found.extend(truncated::find_truncated(&scope, &windows));
    found.extend(find_silent(scope.index, &windows, &wrong));
    found.extend(find_cut_short(scope.index, &windows));
    found.extend(find_unrecorded(&scope, &windows));
    // The sort is stable, so of two signs of one call the first detector's is kept.
    found.sort_by_key(|overflow| overflow.entry);
    found.dedup_by_key(|overflow| overflow.entry);
    CallFailures { overflows: found.into(), errors: errors.into() }
}

// Finds answers that were cut short because prompt and reply together filled the window.
//
// Such a reply stops with `length`, as does one that reached its own output limit (overflow-texts 6, S2), so another
// sign must support the sum: the known window, or a second reply of another length that ended at the same sum. A model
// that answered a larger prompt has no such window.
//
// For example, //! 148,646 + 1,353 and 149,034 + 965 both end at 149,999, which shows a window of 150k.

/// Longest reply, in tokens, that counts: a longer one was cut by its own limit and not by the window.
pub(crate) const SHORT_REPLY: f64 = 2_048.0;

/// Relative difference up to which two sums of prompt and reply show the same window.
const SUM_TOLERANCE: f64 = 0.01;

/// Share of the known window by which a sum may differ from it.
const WINDOW_TOLERANCE: f64 = 0.02;

/// A reply that stopped with `length`.
#[derive(Debug, Clone, Copy)]
struct CutReply {
    entry: EntryIx,
    time_ms: Moment,
    model: Option<(ValueIx, ValueIx)>,
    prompt: Tokens,
    output: f64,
    window: Tokens,
    /// The largest prompt that the model answered.
    answered: Tokens,
}

impl CutReply {
    fn sum(&self) -> f64 {
        (self.prompt + Tokens(self.output)).get()
    }
}

fn find_cut_short(index: &Index, windows: &WindowCache<'_>) -> Vec<Overflow> {
    let answered = largest_prompts(index, is_answer);
    let cuts = index.iter().filter(|(_, entry)| entry.is_model_call()).filter_map(|(ix, entry)| {
        let size = entry.message.filter(|size| size.stop_reason == StopReason::Length)?;
        let usage = size.usage.filter(Usage::has_prompt_tokens)?;
        Some(CutReply {
            entry: ix,
            time_ms: entry.time_ms,
            model: entry.model,
            prompt: usage.prompt_tokens(),
            output: usage.output.get(),
            window: windows.known_window(entry.model).unwrap_or(Tokens::ZERO),
            answered: answered.get(&entry.model).copied().unwrap_or_default(),
        })
    });
    cut_by_window(&cuts.collect::<Vec<_>>())
}

/// Returns the replies that ended because the window was full.
fn cut_by_window(cuts: &[CutReply]) -> Vec<Overflow> {
    let short: Vec<&CutReply> =
        cuts.iter().filter(|cut| cut.output <= SHORT_REPLY && cut.answered.get() <= cut.sum()).collect();
    let agreeing = agreeing(&short);
    let full = |cut: &&&CutReply| {
        let off = (Tokens(cut.sum()) - cut.window).abs();
        agreeing.contains(&cut.entry) || off <= cut.window * WINDOW_TOLERANCE
    };
    let overflow = |cut: &&CutReply| Overflow {
        requested: Some(cut.prompt.whole()),
        limit: Some(cut.sum() as u64),
        ..Overflow::from_usage(cut.entry, OverflowKind::CutShort, cut.time_ms, cut.model)
    };
    short.iter().filter(full).map(overflow).collect()
}

/// Returns the replies for which another one of a different length ended at nearly the same sum. In order of the sums,
/// only the nearest reply of a different length on either side matters, so the cost is that of sorting.
fn agreeing(short: &[&CutReply]) -> HashSet<EntryIx> {
    let mut by_sum = short.to_vec();
    by_sum.sort_by(|one, other| one.sum().total_cmp(&other.sum()));
    let runs: Vec<&[&CutReply]> = by_sum.chunk_by(|one, other| one.output == other.output).collect();
    let mut found = HashSet::new();
    for (at, run) in runs.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| runs[at].last());
        let after = runs.get(at + 1).and_then(|run| run.first());
        for cut in *run {
            let near = |other: &&CutReply| (other.sum() - cut.sum()).abs() <= SUM_TOLERANCE * cut.sum();
            if before.into_iter().chain(after).any(near) {
                found.insert(cut.entry);
            }
        }
    }
    found
}

// Finds counts that no prompt can have had: many times the window, and many times the text that was sent. They are the
// provider's error, such as a counter that sums up all calls.

/// Windows that a count must exceed.
const WINDOW_RATIO: f64 = 10.0;

/// Share of the first prompt by which each running total grows at least, and how many times the growth of its messages.
const PROMPT_SHARE: f64 = 0.9;

const TEXT_RATIO_OF_GROWTH: f64 = 8.0;

/// Growths in a row that show a running total.
const MIN_SUMS: usize = 4;

/// Times the count of the call before, and its text since, that no tokenizer reaches.
const NEIGHBOUR_RATIO: f64 = 4.0;

/// Returns the answers of any branch whose usage is impossible.
pub(crate) fn implausible_counts(scope: &OverflowScope<'_>) -> HashSet<EntryIx> {
    find_implausible(scope, &WindowCache::new(scope))
}

fn find_implausible(scope: &OverflowScope<'_>, windows: &WindowCache<'_>) -> HashSet<EntryIx> {
    let answers = scope.index.iter().filter(|(_, entry)| entry.is_model_call());
    let counted: Vec<(EntryIx, Tokens)> = answers
        .filter_map(|(ix, entry)| Some((ix, entry.message?.usage.filter(Usage::has_prompt_tokens)?)))
        .map(|(ix, usage)| (ix, usage.prompt_tokens()))
        .collect();
    let estimates = LazyCell::new(|| PromptEstimates::new(scope.index, None));
    let window_of = |ix: EntryIx| windows.known_window(scope.index.entry(ix).model).unwrap_or(DEFAULT_WINDOW);
    // The estimates take a walk through the tree, so the window is compared first.
    let is_wrong = |at: &usize| {
        let (ix, count) = counted[*at];
        let window = window_of(ix);
        let many = count > window * WINDOW_RATIO && exceeds_text(count, estimates.sent_to(ix), window);
        many || (count > window && stands_out(scope.index, &counted, *at, &estimates))
    };
    let wrong = (0..counted.len()).filter(is_wrong).map(|at| counted[at].0);
    let sums = running_totals(&counted, &estimates).filter(|sums| {
        let (ix, largest) = counted[sums.end - 1];
        largest > window_of(ix)
    });
    wrong.chain(sums.flatten().map(|at| counted[at].0)).collect()
}

/// Whether a count is many times that of the calls next to it, although these were sent nearly the same messages.
fn stands_out(
    index: &Index,
    counted: &[(EntryIx, Tokens)],
    at: usize,
    estimates: &LazyCell<PromptEstimates, impl FnOnce() -> PromptEstimates>,
) -> bool {
    let (ix, count) = counted[at];
    let sent = estimates.sent_to(ix);
    let before = at.checked_sub(1).and_then(|at| counted.get(at)).map(|(other, tokens)| {
        let added = (sent - estimates.sent_to(*other)).max(Tokens::ZERO);
        let images = index.iter().skip(other.index()).take(ix.index() - other.index());
        let images = images.filter_map(|(_, entry)| entry.message).any(|size| size.images > 0);
        !images && count > (*tokens + added * TEXT_RATIO_OF_GROWTH) * NEIGHBOUR_RATIO
    });
    // After a compaction the next count says nothing.
    let after = counted.get(at + 1).filter(|(other, _)| estimates.sent_to(*other) >= sent);
    let after = after.map(|(_, tokens)| count > *tokens * NEIGHBOUR_RATIO);
    (before.is_some() || after.is_some()) && before.unwrap_or(true) && after.unwrap_or(true)
}

/// Returns the runs of answers that report a running total: each count adds a whole prompt to the one before, although
/// the messages add little. A real prompt may grow so too, by images or tool schemas, as long as it fits the window.
fn running_totals<'a>(
    counted: &'a [(EntryIx, Tokens)],
    estimates: &'a LazyCell<PromptEstimates, impl FnOnce() -> PromptEstimates>,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let sums_up = |pair: &[(EntryIx, Tokens)], first: Tokens| {
        let growth = pair[1].1 - pair[0].1;
        growth >= first * PROMPT_SHARE && {
            let added = estimates.sent_to(pair[1].0) - estimates.sent_to(pair[0].0);
            added >= Tokens::ZERO && growth >= added * TEXT_RATIO_OF_GROWTH
        }
    };
    let mut from = 0;
    std::iter::from_fn(move || {
        let first = counted.get(from)?.1;
        let run = counted[from..].windows(2).take_while(|pair| sums_up(pair, first)).count();
        let found = from + 1..from + 1 + run;
        from += run.max(1);
        Some(found)
    })
    .filter(|found| found.len() >= MIN_SUMS)
}

// Finds overflows without an error: the usage of an answer shows that its prompt did not fit (overflow-texts 6).
//
// An answer above the window proves either an overflow or a wrong window. It counts as an overflow only if a setting
// configured the window, and if the model never answered a prompt above it with tool calls: such a prompt did fit.

/// Share of the window from which an empty reply shows that the prompt filled it (S2).
const FULL_RATIO: f64 = 0.99;

/// Returns the answers above their window; `implausible` are those whose usage proves nothing.
fn find_silent(index: &Index, windows: &WindowCache<'_>, implausible: &HashSet<EntryIx>) -> Vec<Overflow> {
    let answered = largest_prompts(index, |stop| stop == StopReason::ToolUse);
    let mut found = Vec::new();
    for (ix, entry) in index.iter().filter(|(ix, _)| !implausible.contains(ix)) {
        let Some((stop, usage)) = measured_usage(entry) else { continue };
        let Some(window) = windows.known_window(entry.model) else { continue };
        let proved = answered.get(&entry.model).is_some_and(|most| *most > window);
        let is_over = match stop {
            StopReason::Stop => {
                !proved && windows.is_configured(entry.model) && usage.input + usage.cache_read > window
            }
            StopReason::Length => {
                usage.output == Tokens::ZERO && usage.prompt_tokens() >= window * FULL_RATIO
            }
            _ => false,
        };
        if is_over {
            found.push(Overflow {
                requested: Some(usage.prompt_tokens().whole()),
                limit: Some(window.whole()),
                ..Overflow::from_usage(ix, OverflowKind::Silent, entry.time_ms, entry.model)
            });
        }
    }
    found
}

// Finds refusals that left no answer. Since 2026.8.1 the gateway drops a refused answer and compacts at once, so the
// transcript holds only a compaction while a message waits for its answer, far below the tokens that start one
// (releases R69).

/// Share of the trigger below which no count or estimate of the gateway can have started a compaction.
const MAX_TRIGGER_SHARE: f64 = 0.75;

/// Share of the window above which a call that timed out is compacted too (releases R63).
const TIMEOUT_SHARE: f64 = 0.65;

/// Returns the refusals that only the compaction after them shows.
fn find_unrecorded(scope: &OverflowScope<'_>, windows: &WindowCache<'_>) -> Vec<Overflow> {
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
    fn is_far_below_trigger(&self, tokens: Tokens, model: self::answered::ModelKey) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(at: u32, prompt: Tokens, output: f64) -> CutReply {
        CutReply {
            entry: EntryIx(at),
            time_ms: Moment::ZERO,
            model: None,
            prompt,
            output,
            window: Tokens(200_000.0),
            answered: prompt,
        }
    }

    #[test]
    fn replies_that_end_at_the_same_sum_show_the_window() {
        let cuts = [
            cut(1, Tokens(148_646.0), 1_353.0),
            cut(3, Tokens(149_034.0), 965.0),
            cut(5, Tokens(149_998.0), 1.0),
        ];
        let found = cut_by_window(&cuts);
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].limit, Some(149_999));
    }

    #[test]
    fn a_reply_cut_at_its_output_limit_shows_no_window() {
        for (prompt, output) in [(40_000.0, 8_192.0), (61_000.0, 1_024.0), (10.0, 2_000.0)] {
            assert_eq!(cut_by_window(&[cut(1, Tokens(prompt), output)]), []);
        }
        // The same output limit twice shows no window, because the prompts differ.
        assert_eq!(
            cut_by_window(&[cut(1, Tokens(40_000.0), 1_024.0), cut(3, Tokens(40_100.0), 1_024.0)]),
            []
        );
    }

    #[test]
    fn one_reply_shows_no_window_that_nothing_else_supports() {
        assert_eq!(cut_by_window(&[cut(1, Tokens(199_400.0), 600.0)]).len(), 1, "the known window");
        for prompt in [8_000.0, 130_900.0] {
            assert_eq!(cut_by_window(&[cut(1, Tokens(prompt), 192.0)]), []);
        }
    }

    #[test]
    fn a_model_that_answered_a_larger_prompt_has_no_smaller_window() {
        let cuts = [cut(1, Tokens(8_000.0), 192.0), cut(3, Tokens(7_900.0), 292.0)];
        assert_eq!(cut_by_window(&cuts).len(), 2);
        assert_eq!(cut_by_window(&cuts.map(|cut| CutReply { answered: Tokens(9_395.0), ..cut })), []);
    }
}
