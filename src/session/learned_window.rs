//! Learns the window that a provider really serves from the prompts it accepted and refused.
//!
//! A refusal that names its limit settles it. A refusal without a limit leaves a range between the largest accepted and
//! the refused prompt; a replay uses the larger of the accepted prompt and 90 % of the refused one.

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::replay::{ModelCall, ModelLimits, RecordedTrace};
use crate::session::LoadedSession;
use crate::session::overflow::ModelWindow;
use crate::store::entry::StopReason;
use crate::store::intern::ValueIx;
use crate::units::Tokens;

/// A refused prompt above this share of the believed window confirms that window: first when most of the prompt was
/// counted, second when it is mostly estimated.
const CONFIRM_RATIOS: (f64, f64) = (0.97, 0.8);
/// Share of a refused prompt that an accepted prompt must reach for it to count as mostly counted.
const COUNTED_RATIO: f64 = 0.75;
/// Share of a refused prompt that is assumed to fit when no larger prompt was accepted.
const UNCONFIRMED_RATIO: f64 = 0.9;

type ModelKey = (ValueIx, ValueIx);

#[derive(Debug, Clone, Default)]
pub struct LearnedWindows {
    /// Limits of the session's model; `None` if no recorded call used it.
    pub session_model: Option<ModelLimits>,
    /// Limits of the other models of the path.
    pub other_models: HashMap<ModelKey, ModelLimits>,
}

/// Observations about one model's window, in tokens.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// The largest accepted prompt whose answer called tools: it certainly fitted.
    largest_accepted: Tokens,
    /// The largest answered prompt, of any call.
    largest_answered: Tokens,
    smallest_limit: Option<Tokens>,
    /// The smallest limit that follows from a stated excess and the estimate of the prompt.
    limit_below_excess: Option<Tokens>,
    smallest_refused: Option<Tokens>,
}

/// Infers the windows from the recorded calls. Of the copied ones only a named limit counts: their prompt was another.
pub(super) fn learn_windows(
    session: &LoadedSession,
    record: &RecordedTrace,
    copied: &HashSet<EntryIx>,
) -> LearnedWindows {
    let mut evidence: HashMap<ModelKey, Evidence> = HashMap::new();
    for (call, sent) in record.calls.iter().zip(record.trace.iter()) {
        let Some(model) = call.cache_key.model else { continue };
        let none = Evidence {
            largest_accepted: Tokens::ZERO,
            largest_answered: Tokens::ZERO,
            smallest_limit: None,
            limit_below_excess: None,
            smallest_refused: None,
        };
        let own = evidence.entry(model).or_insert(none);
        record_call(own, call, (!copied.contains(&call.entry)).then_some(sent.expected));
    }
    let mut learnt = LearnedWindows::default();
    for (model, evidence) in evidence {
        let Some((provider, id)) = model_names(session, model) else { continue };
        if (&provider, &id) == (&session.provider, &session.model) {
            let runtime = session.limits.runtime_window;
            learnt.session_model = Some(ModelLimits { provider: infer_window(&evidence, runtime), runtime });
        } else {
            let runtime = ModelWindow::for_model(&session.overflow_scope(), &provider, &id).runtime;
            learnt
                .other_models
                .insert(model, ModelLimits { provider: infer_window(&evidence, runtime), runtime });
        }
    }
    learnt
}

fn model_names(session: &LoadedSession, model: ModelKey) -> Option<(String, String)> {
    let words = &session.index.values;
    Some((words.text(model.0)?, words.text(model.1)?))
}

fn record_call(evidence: &mut Evidence, call: &ModelCall, expected: Option<Tokens>) {
    let least = |known: Option<Tokens>, tokens: Tokens| Some(known.map_or(tokens, |known| known.min(tokens)));
    match call.refused {
        Some(refused) if !refused.shows_window() => {}
        Some(refused) => {
            if let Some(limit) = refused.limit.filter(|limit| *limit > Tokens::ZERO) {
                evidence.smallest_limit = least(evidence.smallest_limit, limit);
            } else if let Some(expected) = expected.filter(|_| call.usage.is_none()) {
                evidence.smallest_refused = least(evidence.smallest_refused, expected);
                if let Some(excess) = refused.excess {
                    evidence.limit_below_excess = least(evidence.limit_below_excess, expected - excess);
                }
            }
        }
        None => {
            let answered = call.measured_tokens().filter(|_| !call.is_failed()).unwrap_or(Tokens::ZERO);
            evidence.largest_answered = evidence.largest_answered.max(answered);
            // Without a refusal only answers that call tools count: the last one of a run may be a silent overflow. A
            // call that failed after its prompt was counted was accepted too.
            let called = call.measured_tokens().filter(|_| call.stop_reason == StopReason::ToolUse);
            let failed = call.billed.filter(|_| call.is_failed()).map(|usage| usage.prompt_tokens());
            let accepted = called.or(failed).filter(|tokens| tokens.is_finite()).unwrap_or(Tokens::ZERO);
            evidence.largest_accepted = evidence.largest_accepted.max(accepted);
        }
    }
}

/// Returns the tokens that the provider accepts, when the runtime assumes `believed`.
fn infer_window(evidence: &Evidence, believed: Tokens) -> Tokens {
    if let Some(named) = evidence.smallest_limit {
        return believed.min(named);
    }
    let confirms = |refused: Tokens| {
        let share = if evidence.largest_accepted >= refused * COUNTED_RATIO {
            CONFIRM_RATIOS.0
        } else {
            CONFIRM_RATIOS.1
        };
        refused >= believed * share
    };
    match evidence.smallest_refused {
        Some(refused) if confirms(refused) => believed,
        Some(refused) => {
            // An answer above the refused prompt is from another host, or its count is wrong.
            let answered = Some(evidence.largest_answered).filter(|tokens| *tokens < refused);
            let assumed = evidence.limit_below_excess.unwrap_or(refused * UNCONFIRMED_RATIO);
            answered.unwrap_or(evidence.largest_accepted).max(assumed)
        }
        None if believed.is_nan() => believed,
        None => believed.max(evidence.largest_accepted),
    }
}
