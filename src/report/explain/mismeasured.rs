//! Wrong measurements of the window and of the usage. Each is a cause only if its correction makes every call of a replay
//! fit; otherwise it is a note.

use crate::gateway::registry::Provenance;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::policy::settings::SettingId;
use crate::replay::ModelCall;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::failure::Failure;
use crate::report::explain::finding::{Confidence, FindingClass, Found, Numbers};
use crate::report::explain::replay_runner::{ReplayRunner, enable_compaction};
use crate::session::overflow::{Overflow, OverflowKind, implausible_counts};
use crate::session::setting_change::SettingChange;
use crate::store::entry::StopReason;
use crate::units::Tokens;

/// Consecutive answers without usage after which the runtime has no usable count.
const MIN_UNCOUNTED_ANSWERS: usize = 3;

/// The values of a wrong measurement.
#[derive(Debug, Clone, PartialEq)]
pub enum Mismeasured {
    /// The provider serves a smaller window than the runtime believes.
    Window {
        believed: Tokens,
        /// Tokens that fit.
        served: u64,
        /// Whether nothing configures the window.
        is_default: bool,
        /// The smallest window that the runtime accepts, if it is above `served` and does not cure either.
        smallest: Option<u64>,
        proof: LimitProof,
        refusal: EntryIx,
    },
    /// The prompt fits, but prompt and reserved reply together do not.
    Reply {
        prompt: u64,
        reply: u64,
        limit: u64,
        /// The configured `maxTokens` of the model.
        configured: Option<u64>,
        refusal: EntryIx,
    },
    /// The provider counted more tokens than any prompt of this session can have had.
    Implausible(ImplausibleUsage),
    /// The provider reported no usage or far too little, so the runtime compared its trigger with nothing, or with an old
    /// count.
    Usage {
        /// The answers without a usable count.
        uncounted: Vec<EntryIx>,
        /// Whether one of them reported too few tokens.
        is_partial: bool,
        /// The last counted call and its tokens.
        last_counted: Option<(EntryIx, u64)>,
        /// The counter of the session record.
        stored: Option<Tokens>,
    },
}

/// Counts that no prompt can have had.
#[derive(Debug, Clone, PartialEq)]
pub struct ImplausibleUsage {
    /// The answers with such a count.
    pub entries: Vec<EntryIx>,
    /// The largest of the counts.
    pub counted: u64,
    /// Tokens of the prompt now.
    pub likely: u64,
    pub window: u64,
    /// Whether the gateway's own check refused the next call because of it.
    pub is_trusted: bool,
}

/// The reason why a limit is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitProof {
    /// The refusal states the limit.
    Stated,
    /// The server cut prompts to this number of tokens.
    Truncated {
        /// Calls whose prompt was cut.
        calls: usize,
        /// Tokens of the largest of them.
        largest: u64,
    },
    /// The provider accepted one prompt and refused another.
    Accepted {
        accepted: u64,
        refused: u64,
        /// Whether the provider counted the refused prompt.
        is_measured: bool,
    },
}

impl Mismeasured {
    pub(super) fn numbers(&self) -> Numbers {
        match self {
            Self::Window { believed, served, .. } => {
                vec![("believed", believed.get()), ("served", *served as f64)]
            }
            Self::Reply { prompt, reply, limit, .. } => {
                let numbers = [("prompt", *prompt), ("reply", *reply), ("limit", *limit)];
                numbers.map(|(name, tokens)| (name, tokens as f64)).to_vec()
            }
            Self::Implausible(usage) => {
                vec![("counted", usage.counted as f64), ("likely", usage.likely as f64)]
            }
            Self::Usage { uncounted, .. } => vec![("uncounted", uncounted.len() as f64)],
        }
    }
}

/// Returns the wrong measurements of the window and the usage.
pub(super) fn find_mismeasured(case: &OverflowCase<'_>) -> Vec<Found<Mismeasured>> {
    let implausible = detect_implausible_usage(case);
    let Some((failure, runner)) = case.failure.as_ref().zip(case.replays.as_ref()) else {
        return implausible.into_iter().collect();
    };
    let window = detect_wrong_window(case, failure, runner);
    let reply = detect_reply_reserve(failure, runner);
    let usage = detect_missing_usage(case, failure, runner);
    reply.into_iter().chain(window).chain(implausible).chain(usage).collect()
}

/// Finds impossible counts on the path to the leaf.
fn detect_implausible_usage(case: &OverflowCase<'_>) -> Option<Found<Mismeasured>> {
    let session = case.session;
    let implausible = implausible_counts(&session.overflow_scope());
    let on_path = session.context.path.iter().copied().filter(|ix| implausible.contains(ix));
    let entries: Vec<EntryIx> = on_path.collect();
    let counted =
        |ix: &EntryIx| session.index.entry(*ix).message?.usage.map(|usage| usage.prompt_tokens().whole());
    let counted = entries.iter().filter_map(counted).max()?;
    let last_answer = |failure: &Failure| {
        let before = session.context.path.iter().rev().skip_while(|ix| **ix >= failure.overflow.entry);
        before.copied().find(|ix| session.index.entry(*ix).is_model_call())
    };
    let trusted = case.failure.as_ref().filter(|failure| failure.overflow.kind == OverflowKind::Precheck);
    let is_trusted = trusted.and_then(last_answer).is_some_and(|answer| implausible.contains(&answer));
    let facts = ImplausibleUsage {
        entries,
        counted,
        likely: case.next_prompt().0,
        window: case.window(),
        is_trusted,
    };
    Some(
        Found::new(FindingClass::ImplausibleUsage, Confidence::Sure, Mismeasured::Implausible(facts))
            .with_rule("compaction 1.10")
            .with_prevents_overflow(is_trusted),
    )
}

fn detect_wrong_window(
    case: &OverflowCase<'_>,
    failure: &Failure,
    runner: &ReplayRunner,
) -> Option<Found<Mismeasured>> {
    if !failure.serves_less() {
        return None;
    }
    let served = failure.overflow.limit.unwrap_or(failure.limit);
    let window_change = |tokens: f64| {
        let value = Value::from(tokens);
        SettingChange { id: SettingId::ContextWindow, value, origin: Provenance::Tuned, model: None }
    };
    // Whatever settings would do, a cut prompt is no prompt of the session.
    let truncated = failure.overflow.is_truncated();
    let smallest = runner.session.smallest_window().whole();
    let prevents =
        truncated || runner.run_under(&[window_change(served.max(smallest) as f64)]).overflows == 0;
    // What the guards would do in the window that the provider serves, if the gateway ran the model in it.
    let would_fit = || {
        let mut settings = runner.settings_under(&[window_change(served as f64)]);
        settings.assumptions.is_window_refused = false;
        runner.run(&settings).overflows == 0
    };
    let is_out_of_reach = !prevents && served < smallest && would_fit();
    let is_stated = failure.overflow.limit.is_some();
    let facts = Mismeasured::Window {
        believed: failure.believed_window.runtime,
        served,
        is_default: failure.believed_window.gateway.model_source.is_assumed(),
        smallest: is_out_of_reach.then_some(smallest),
        proof: if truncated {
            truncation_proof(case, runner)
        } else {
            limit_proof(case, failure, runner, is_stated)
        },
        refusal: failure.overflow.entry,
    };
    let is_proved = is_stated && !failure.overflow.is_by_stated_size();
    let confidence = if is_proved { Confidence::Sure } else { Confidence::Likely };
    Some(
        Found::new(FindingClass::WrongWindow, confidence, facts)
            .with_rule("compaction 7.1")
            .with_prevents_overflow(prevents),
    )
}

/// A reply that takes more of the window than the prompt is the cause; a smaller one is a note next to what made the
/// prompt large.
fn detect_reply_reserve(failure: &Failure, runner: &ReplayRunner) -> Option<Found<Mismeasured>> {
    let reply = failure.blocking_reply()?;
    let configured = runner.session.max_tokens(&runner.session.failing_model()).map(Tokens::whole);
    let facts = Mismeasured::Reply {
        prompt: failure.prompt_tokens,
        reply,
        limit: failure.overflow.limit?,
        configured,
        refusal: failure.overflow.entry,
    };
    Some(
        Found::new(FindingClass::ReplyReserve, Confidence::Sure, facts)
            .with_rule("overflow-texts 3.5")
            .with_prevents_overflow(reply >= failure.prompt_tokens),
    )
}

fn truncation_proof(case: &OverflowCase<'_>, runner: &ReplayRunner) -> LimitProof {
    let cut = case.overflows().iter().filter(|overflow| overflow.is_truncated());
    let tokens = cut.clone().filter_map(|overflow| runner.recorded_call(overflow.entry));
    LimitProof::Truncated {
        calls: cut.count(),
        largest: tokens.map(|call| call.expected.whole()).max().unwrap_or(0),
    }
}

fn limit_proof(
    case: &OverflowCase<'_>,
    failure: &Failure,
    runner: &ReplayRunner,
    is_stated: bool,
) -> LimitProof {
    if is_stated {
        return LimitProof::Stated;
    }
    let calls = runner.recorded_trace.calls.iter();
    let accepted = calls.filter(|call| call.refused.is_none() && call.cache_key.model == failure.model);
    let accepted = accepted.filter_map(ModelCall::measured_tokens).fold(Tokens::ZERO, Tokens::max).whole();
    let alike = case
        .overflows()
        .iter()
        .filter(|it| (it.kind, it.model.or(failure.model)) == (failure.overflow.kind, failure.model));
    // The smallest refused prompt says most of the limit.
    let refused = alike.filter_map(Overflow::prompt_tokens).filter(|tokens| *tokens > accepted).min();
    LimitProof::Accepted {
        accepted: if accepted > 0 { accepted } else { failure.limit },
        refused: refused.unwrap_or(failure.prompt_tokens).min(failure.prompt_tokens),
        is_measured: failure.is_measured,
    }
}

fn detect_missing_usage(
    case: &OverflowCase<'_>,
    failure: &Failure,
    runner: &ReplayRunner,
) -> Option<Found<Mismeasured>> {
    let calls = &runner.recorded_trace.calls;
    let failing = calls.iter().position(|call| call.entry == failure.overflow.entry)?;
    let answered = calls[..failing]
        .iter()
        .rev()
        .filter(|call| !call.is_failed() && call.stop_reason != StopReason::Aborted);
    let uncounted: Vec<EntryIx> =
        answered.take_while(|call| call.usage.is_none()).map(|call| call.entry).collect();
    if uncounted.len() < MIN_UNCOUNTED_ANSWERS {
        return None;
    }
    let counted = |on: bool| {
        let mut settings = runner.settings_under(&[]);
        settings.assumptions.assume_usage = on;
        enable_compaction(&mut settings);
        runner.run(&settings)
    };
    let prevents = counted(true).overflows == 0 && counted(false).overflows > 0;
    let facts = Mismeasured::Usage {
        is_partial: uncounted.iter().any(|entry| case.session.unreliable_counts.contains(entry)),
        uncounted,
        last_counted: case.last_counted(),
        stored: case.session.limits.stored_totals.total_tokens,
    };
    Some(
        Found::new(FindingClass::CounterStaleLow, Confidence::Sure, facts)
            .with_rule("compaction 1.11")
            .with_prevents_overflow(prevents),
    )
}
