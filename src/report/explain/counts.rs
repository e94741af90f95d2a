//! Every count of the failing prompt side by side: the provider's, the runtime's trigger, the stored counter and the
//! estimates.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::ruleset::PiChange;
use crate::ids::EntryIx;
use crate::report::estimators::Estimator;
use crate::report::explain::case::OverflowCase;
use crate::report::explain::counted_calls::CountedCall;
use crate::report::explain::failure::Failure;
use crate::session::LoadedSession;
use crate::session::overflow::OverflowKind;
use crate::store::entry::Role;
use crate::units::Tokens;

/// One count of the failing prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptCount {
    pub counter: Counter,
    pub tokens: u64,
    /// Whether a provider counted the tokens.
    pub is_measured: bool,
    /// The entry that shows it.
    pub entry: Option<EntryIx>,
}

/// The party that counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    Provider {
        overflow: OverflowKind,
        /// Whether the refusal, or the usage of the answer, states the number; otherwise it is an estimate.
        is_stated: bool,
        /// Tokens above the limit that the refusal states instead.
        excess: Option<u64>,
        /// Whether nothing is known but that the prompt was more than the limit.
        is_lower_bound: bool,
    },
    Runtime {
        /// Whether it adds an estimate of later messages to the last usage.
        adds_estimate: bool,
    },
    StoredCounter {
        is_stale: bool,
    },
    /// The gateway's estimate.
    CharsByFour,
    /// The fit to this number of counted calls.
    Calibrated {
        counted_calls: usize,
        /// The overflow whose count took part in the fit.
        fits_overflow: Option<OverflowKind>,
    },
}

impl Counter {
    /// The name in JSON and on screen; an estimate has the name of its estimator.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider { .. } => "provider",
            Self::Runtime { .. } => "runtime",
            Self::StoredCounter { .. } => "stored counter",
            Self::CharsByFour => Estimator::Pi.label(),
            Self::Calibrated { .. } => Estimator::Calibrated.label(),
        }
    }
}

/// Collects every known count of the failing prompt.
pub(super) fn collect_counts(case: &OverflowCase<'_>, failure: &Failure) -> Vec<PromptCount> {
    let provider = PromptCount {
        counter: Counter::Provider {
            overflow: failure.overflow.kind,
            is_stated: failure.is_measured,
            excess: failure.overflow.excess,
            is_lower_bound: failure.prompt_size().is_lower_bound,
        },
        tokens: failure.prompt_tokens,
        is_measured: failure.is_measured,
        entry: Some(failure.overflow.entry),
    };
    let adds_estimate = checks_between_turns(&failure.session);
    let check = last_check(failure, &case.calls).map(|check| PromptCount {
        counter: Counter::Runtime { adds_estimate },
        tokens: check.tokens.whole(),
        is_measured: !adds_estimate,
        entry: Some(check.entry),
    });
    let chars = PromptCount {
        counter: Counter::CharsByFour,
        tokens: failure.gateway_estimate(),
        is_measured: false,
        entry: None,
    };
    let counted_calls = case.calls.len();
    let calibrated = (counted_calls > 0).then_some(PromptCount {
        counter: Counter::Calibrated {
            counted_calls,
            fits_overflow: failure.is_measured.then_some(failure.overflow.kind),
        },
        tokens: failure.fitted_tokens,
        is_measured: false,
        entry: None,
    });
    [Some(provider), check, stored_count(case), Some(chars), calibrated].into_iter().flatten().collect()
}

/// Returns the total of the session record, if it has one.
fn stored_count(case: &OverflowCase<'_>) -> Option<PromptCount> {
    let totals = &case.session.limits.stored_totals;
    let tokens = totals.total_tokens.filter(|tokens| *tokens > Tokens::ZERO)?.whole();
    let counted = case.calls.iter().rev().find(|call| call.prompt_tokens == tokens);
    Some(PromptCount {
        counter: Counter::StoredCounter { is_stale: totals.fresh == Some(false) },
        tokens,
        is_measured: true,
        entry: counted.map(|call| call.entry),
    })
}

/// The last comparison before the failing call. The runtime compares before each run; some releases also compare before
/// each call between the turns of a run (store-pi-1.5 F2).
#[derive(Debug, Clone, Copy)]
pub(super) struct TriggerCheck {
    /// The answer whose usage was compared.
    pub entry: EntryIx,
    /// The tokens that were compared: that usage and, with a check before each call, the estimate of later messages.
    pub tokens: Tokens,
}

/// Returns that comparison; `None` if the runtime had no count yet.
pub(super) fn last_check(failure: &Failure, calls: &[CountedCall]) -> Option<TriggerCheck> {
    let (index, context) = (&failure.session.index, &failure.session.context);
    let compacted = context.compaction;
    let fresh = |call: &&CountedCall| {
        call.entry < failure.overflow.entry
            && compacted.is_none_or(|compacted| compacted < call.entry)
            && call.context_tokens.is_finite()
    };
    if checks_between_turns(&failure.session) && !failure.is_next_call {
        let call = calls.iter().rev().find(fresh)?;
        let since = context.messages.iter().filter(|message| message.entry > call.entry);
        let since: f64 = since.map(|message| estimate_or_zero(&message.size) as f64).sum();
        return Some(TriggerCheck { entry: call.entry, tokens: call.context_tokens + Tokens(since) });
    }
    let mut path = context.path.iter().rev();
    let requested = path.find(|ix| !failure.is_next_call && index.entry(**ix).role() == Some(Role::User));
    if requested.is_none() && !failure.is_next_call {
        return None;
    }
    let before = |call: &&CountedCall| requested.is_none_or(|requested| call.entry < *requested);
    let call = calls.iter().rev().filter(before).find(fresh)?;
    Some(TriggerCheck { entry: call.entry, tokens: call.context_tokens })
}

/// Whether the runtime checks its window before every call.
pub(super) fn checks_between_turns(session: &LoadedSession) -> bool {
    session.ruleset.id.rules().pi.has(PiChange::ChecksBetweenTurns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EntryIx;
    use crate::report::explain::case::OverflowCase;
    use crate::report::explain::testing::{answer, refusal};
    use crate::session::testing::{call, loaded_session, result, transcript, user};

    fn checked(entries: &[String]) -> Option<(EntryIx, Tokens)> {
        let session = loaded_session(&transcript(entries), 200_000.0);
        let case = OverflowCase::read(&session, None).expect("memory is readable");
        let check = last_check(case.failure.as_ref().expect("a refusal"), &case.calls);
        check.map(|check| (check.entry, check.tokens))
    }

    #[test]
    fn the_last_trigger_check_used_the_answer_before_the_failing_run() {
        let turn = |prompt: u64| [user("go on"), answer(prompt)];
        let entries = [turn(500).to_vec(), turn(700).to_vec(), vec![user("more"), refusal()]].concat();
        assert_eq!(checked(&entries), Some((EntryIx(3), Tokens(710.0))));
        let in_run = [turn(500).to_vec(), vec![user("more"), answer(900), refusal()]].concat();
        assert_eq!(
            checked(&in_run),
            Some((EntryIx(1), Tokens(510.0))),
            "an answer of the run itself comes too late"
        );
    }

    #[test]
    fn no_trigger_check_happens_before_the_first_count() {
        let first = [user("go"), call("c", "exec", "{}"), result("c", "exec", "done", ""), refusal()];
        assert_eq!(checked(&first), None);
        let compaction =
            r#"{"type":"compaction","summary":"so far","firstKeptEntryId":"e0","tokensBefore":510}"#;
        let compacted = [user("go"), answer(500), compaction.to_owned(), user("more"), refusal()];
        assert_eq!(checked(&compacted), None, "the count is older than the compaction");
    }
}
