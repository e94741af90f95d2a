//! The outlook of a session that did not overflow: whether the next turns fit or meet a working compaction first.

use crate::ids::EntryIx;
use crate::policy::chat_preflight::ChatTotal;
use crate::report::explain::aftermath::has_freed_nothing;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::compactions::PastCompaction;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::premature::user_messages_between;
use crate::report::explain::stored_counter::find_wrong_counter;
use crate::session::compaction_trigger::{ChatCheck, TriggerPoint};
use crate::units::Tokens;

/// Turns after a compaction before which the session should not reach its trigger again.
const MIN_TURNS_TO_REFILL: usize = 2;
/// Number of consecutive compactions that make a treadmill.
const TREADMILL_COMPACTIONS: usize = 2;
/// Share of the trigger above which the fixed parts are reported.
const LARGE_FIXED_SHARE: f64 = 0.8;

/// The values of a finding about the next turns.
#[derive(Debug, Clone, PartialEq)]
pub enum Outlook {
    /// Reserve and fixed parts leave no room: every message exceeds the trigger.
    ImpossibleBudget { fixed_tokens: u64, trigger: f64, reserve: Tokens, window: Tokens },
    /// The session reached its trigger again within a few turns after each of the last compactions.
    Treadmill {
        /// The newest first.
        rounds: Vec<RefilledCompaction>,
        /// The turns within which it did.
        max_turns: usize,
        /// The largest share of tool results among the new tokens.
        result_share: f64,
    },
    /// The next turn does not fit, and no working compaction comes first.
    AtRisk { prompt: NextPrompt, turn_tokens: u64, window: Tokens },
    /// The next message is preceded by a compaction.
    CompactionDue { check: ChatCheck, count: DueCount, prompt: NextPrompt },
    /// Prompt and tools alone nearly reach the trigger.
    FixedOverhead {
        fixed_tokens: u64,
        trigger: f64,
        /// Tokens that the last compaction left, if these are above the trigger again.
        left: Option<u64>,
    },
    /// No problem found. There is no trigger if compaction is off.
    Healthy { prompt: NextPrompt, window: u64, trigger: Option<TriggerPoint> },
}

/// The count that makes a compaction due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DueCount {
    /// The stored counter of the row; the gateway may add the last answer.
    Stored(Tokens),
    /// The gateway's count of the transcript.
    Transcript,
    /// The last answer's own count, which the runtime compares.
    LastAnswer,
}

/// A compaction after which the session soon reached its trigger again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefilledCompaction {
    pub entry: EntryIx,
    /// Tokens directly after it, and whether the provider counted them.
    pub left: (u64, bool),
    /// Tokens to which the session grew.
    pub refilled_to: u64,
    /// Whether a memory flush ran before it.
    pub is_flushed: bool,
}

/// The prompt of the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextPrompt {
    pub tokens: u64,
    /// Whether the provider counted the tokens.
    pub is_measured: bool,
    /// The last counted call.
    pub last_call: Option<EntryIx>,
}

impl NextPrompt {
    fn new(case: &OverflowCase<'_>) -> Self {
        let (tokens, is_measured) = case.next_prompt();
        Self { tokens, is_measured, last_call: case.calls.last().map(|call| call.entry) }
    }
}

impl Outlook {
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Self::ImpossibleBudget { fixed_tokens, trigger, .. } => {
                vec![("fixed", *fixed_tokens as f64), ("trigger", *trigger)]
            }
            Self::Treadmill { rounds, .. } => vec![("compactions", rounds.len() as f64)],
            Self::AtRisk { prompt, turn_tokens, window } => vec![
                ("prompt", prompt.tokens as f64),
                ("turn", *turn_tokens as f64),
                ("window", window.get()),
            ],
            Self::CompactionDue { check, prompt, .. } => vec![
                ("total", check.total.tokens.get()),
                ("trigger", check.threshold.get()),
                ("prompt", prompt.tokens as f64),
                ("window", check.window.get()),
            ],
            Self::FixedOverhead { fixed_tokens, .. } => vec![("fixed", *fixed_tokens as f64)],
            Self::Healthy { prompt, window, .. } => vec![
                ("prompt", prompt.tokens as f64),
                ("window", *window as f64),
                ("spare", window.saturating_sub(prompt.tokens) as f64),
            ],
        }
    }
}

type Detector = fn(&OverflowCase<'_>) -> Option<Found<Outlook>>;

/// Returns findings about the next turns, the most serious first; never empty.
pub(super) fn find_outlook(case: &OverflowCase<'_>) -> Vec<Found<Outlook>> {
    let looks: [Detector; 6] = [
        detect_impossible_budget,
        detect_treadmill,
        detect_at_risk,
        detect_due_at_gateway,
        detect_fixed_overhead,
        detect_due_in_runtime,
    ];
    let mut found: Vec<Found<Outlook>> = looks.iter().filter_map(|look| look(case)).collect();
    let grave =
        |finding: &Found<Outlook>| !matches!(finding.facts, Outlook::FixedOverhead { left: None, .. });
    if !found.iter().any(grave) {
        found.insert(0, healthy_finding(case));
    }
    found
}

pub(super) fn detect_impossible_budget(case: &OverflowCase<'_>) -> Option<Found<Outlook>> {
    let fixed_tokens = case.fixed_tokens?;
    let fixed = fixed_tokens as f64;
    let settings = case.session.configured_settings.compaction;
    let trigger = case.trigger();
    let window = case.session.limits.runtime_window;
    if !settings.enabled || window.is_nan() || trigger > fixed || fixed >= window.get() {
        return None;
    }
    let facts = Outlook::ImpossibleBudget { fixed_tokens, trigger, reserve: settings.reserve_tokens, window };
    Some(Found::new(FindingClass::ImpossibleBudget, Confidence::Likely, facts).with_rule("compaction 2.7"))
}

fn detect_treadmill(case: &OverflowCase<'_>) -> Option<Found<Outlook>> {
    let refilled = |compaction: &&PastCompaction| {
        !has_freed_nothing(compaction)
            && refill(case, compaction).is_some_and(|(turns, _)| turns <= MIN_TURNS_TO_REFILL)
    };
    // The last refill may be incomplete.
    let open = usize::from(case.compactions.last().is_some_and(|last| !refilled(&last)));
    let last: Vec<&PastCompaction> = case.compactions.iter().rev().skip(open).take_while(refilled).collect();
    if last.len() < TREADMILL_COMPACTIONS {
        return None;
    }
    let round = |compaction: &&PastCompaction| RefilledCompaction {
        entry: compaction.entry,
        left: compaction.counted.1.map_or((compaction.estimated.1, false), |counted| (counted, true)),
        is_flushed: compaction.is_flushed,
        refilled_to: refill(case, compaction).map_or(0, |(_, tokens)| tokens),
    };
    let facts = Outlook::Treadmill {
        rounds: last.iter().map(round).collect(),
        max_turns: MIN_TURNS_TO_REFILL,
        result_share: last.iter().map(|it| it.refill_result_share).fold(0.0, f64::max),
    };
    Some(Found::new(FindingClass::CompactionTreadmill, Confidence::Sure, facts).with_rule("compaction 2.7"))
}

/// Returns the user messages from a compaction to the point at which the session reached its trigger again, and the
/// tokens there: at the next compaction, or at a call. `None` if it stayed below.
fn refill(case: &OverflowCase<'_>, compaction: &PastCompaction) -> Option<(usize, u64)> {
    let next = case.compactions.iter().find(|it| it.entry > compaction.entry);
    let end = next.map_or(EntryIx(u32::MAX), |next| next.entry);
    let calls = case.calls.iter().filter(|call| call.entry > compaction.entry && call.entry < end);
    let largest = calls.clone().map(|call| call.prompt_tokens).max().unwrap_or(0);
    let at_trigger = calls.clone().find(|call| compaction.is_at_trigger(call.prompt_tokens));
    let at_next = next.filter(|next| compaction.is_at_trigger(next.tokens_at()));
    let reached = at_trigger.map(|call| call.entry).or(at_next.map(|next| next.entry))?;
    let tokens = largest.max(at_next.map_or(0, PastCompaction::tokens_at));
    Some((user_messages_between(case, compaction.entry, reached), tokens))
}

fn detect_at_risk(case: &OverflowCase<'_>) -> Option<Found<Outlook>> {
    let prompt = NextPrompt::new(case);
    let window = case.session.limits.runtime_window.min(case.session.window.model_tokens);
    let turn_tokens = case.typical_turn_tokens();
    let next = (prompt.tokens + turn_tokens) as f64;
    let compacts = would_compaction_free(case) && compared_tokens(case) > Tokens(case.trigger());
    if window.is_nan() || window <= Tokens::ZERO || next <= window.get() || compacts {
        return None;
    }
    let facts = Outlook::AtRisk { prompt, turn_tokens, window };
    Some(Found::new(FindingClass::AtRisk, Confidence::Likely, facts).with_rule("compaction 2.7"))
}

/// Whether the gateway compacts the session before the next message. An inflated counter that does so is its own finding.
fn detect_due_at_gateway(case: &OverflowCase<'_>) -> Option<Found<Outlook>> {
    let check = case.session.chat_check().filter(ChatCheck::is_due).or_else(|| check_by_estimate(case))?;
    let stored = case.session.limits.stored_totals.total_tokens.filter(|_| check.total.is_stored);
    if stored.is_some() && find_wrong_counter(case).is_some() {
        return None;
    }
    let count = stored.map_or(DueCount::Transcript, DueCount::Stored);
    let facts = Outlook::CompactionDue { check, count, prompt: NextPrompt::new(case) };
    Some(Found::new(FindingClass::CompactionDue, Confidence::Sure, facts).with_rule("releases R67"))
}

/// Whether the runtime compacts the session before the next turn.
fn detect_due_in_runtime(case: &OverflowCase<'_>) -> Option<Found<Outlook>> {
    let threshold = Tokens(case.trigger());
    let window = case.session.limits.runtime_window;
    let total = ChatTotal { tokens: compared_tokens(case), is_stored: false };
    // An answer above the window says more about the window.
    let is_due = threshold > Tokens::ZERO && total.tokens > threshold && total.tokens <= window;
    if !is_due || !would_compaction_free(case) || find_wrong_counter(case).is_some() {
        return None;
    }
    let check = ChatCheck { total, threshold, window };
    let facts = Outlook::CompactionDue { check, count: DueCount::LastAnswer, prompt: NextPrompt::new(case) };
    Some(Found::new(FindingClass::CompactionDue, Confidence::Sure, facts).with_rule("compaction 2.7"))
}

/// Returns the gateway's own estimate of the last prompt as a check, if it was above its budget and nothing compacted
/// the session since.
fn check_by_estimate(case: &OverflowCase<'_>) -> Option<ChatCheck> {
    let budget = case.session.limits.gateway_budget.filter(|budget| budget.excess() > Tokens::ZERO)?;
    let index = &case.session.index;
    let compacted = case.compactions.last().map(|it| index.entry(it.entry).time_ms);
    let is_current = compacted.is_none_or(|at| at < budget.updated_at);
    let total = ChatTotal { tokens: budget.estimate, is_stored: false };
    let window = budget.window.unwrap_or(case.session.window.tokens);
    is_current.then_some(ChatCheck { total, threshold: budget.budget, window })
}

/// Returns the tokens that the runtime compares with its trigger before the next run: the last answer's own count.
fn compared_tokens(case: &OverflowCase<'_>) -> Tokens {
    let last = case.calls.last().map(|call| call.context_tokens).filter(|tokens| tokens.is_finite());
    last.unwrap_or(Tokens::ZERO)
}

/// Whether a due compaction would free tokens.
fn would_compaction_free(case: &OverflowCase<'_>) -> bool {
    let last_failed = case.compactions.last().is_some_and(has_freed_nothing);
    case.session.configured_settings.compaction.enabled && !last_failed
}

/// Returns the tokens of the first prompt after the last compaction, if they are above the trigger again. Beside large
/// fixed parts no compaction can do better.
fn left_above_trigger(case: &OverflowCase<'_>) -> Option<u64> {
    let last = case.compactions.iter().rfind(|it| it.counted.1.is_some())?;
    last.counted.1.filter(|left| last.trigger < Tokens(*left as f64))
}

fn detect_fixed_overhead(case: &OverflowCase<'_>) -> Option<Found<Outlook>> {
    let fixed_tokens = case.fixed_tokens?;
    let (fixed, trigger) = (fixed_tokens as f64, enabled_trigger(case)?.tokens.get());
    if trigger <= 0.0 || fixed < LARGE_FIXED_SHARE * trigger || fixed >= trigger {
        return None;
    }
    let facts = Outlook::FixedOverhead { fixed_tokens, trigger, left: left_above_trigger(case) };
    Some(Found::new(FindingClass::FixedOverhead, Confidence::Likely, facts).with_rule("compaction 11.3"))
}

/// Returns the trigger; `None` if compaction is off.
fn enabled_trigger(case: &OverflowCase<'_>) -> Option<TriggerPoint> {
    case.session.configured_settings.compaction.enabled.then(|| case.session.trigger_point())
}

fn healthy_finding(case: &OverflowCase<'_>) -> Found<Outlook> {
    let (prompt, trigger) = (NextPrompt::new(case), enabled_trigger(case));
    let facts = Outlook::Healthy { prompt, window: case.window(), trigger };
    Found::new(FindingClass::Healthy, Confidence::Sure, facts).with_rule("compaction 2.7")
}

#[cfg(test)]
#[path = "outlook_tests.rs"]
mod tests;
