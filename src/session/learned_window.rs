//! The window that a provider really serves, learnt from what it accepted and refused.
//!
//! A refusal that names its limit settles it. One that names none leaves a bracket: the largest prompt that was accepted,
//! and the refused one. What was accepted is known to fit, so that is what a replay goes by.

use std::collections::HashMap;

use crate::replay::{ModelCall, ModelLimits, RecordedTrace};
use crate::session::LoadedSession;
use crate::session::overflow::ModelWindow;
use crate::store::entry::StopReason;
use crate::store::intern::ValueIx;

/// A refused prompt above this share of the believed window confirms it: where most of the prompt was counted, and where it
/// is mostly estimated.
const CONFIRM_RATIOS: (f64, f64) = (0.97, 0.8);
/// Share of a refused prompt that was counted before, from which the rest is no guess.
const COUNTED_RATIO: f64 = 0.75;
/// Share of a refused prompt that is taken to fit where nothing larger was accepted.
const UNCONFIRMED_RATIO: f64 = 0.9;

type ModelKey = (ValueIx, ValueIx);

/// What the record teaches.
#[derive(Debug, Clone, Default)]
pub struct LearnedWindows {
    /// Of the session's model.
    pub session_model: Option<ModelLimits>,
    /// Of the other models of the path.
    pub other_models: HashMap<ModelKey, ModelLimits>,
}

/// What was said of one model's window.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// The largest prompt that was accepted and went on to call tools: it did fit.
    largest_accepted: f64,
    /// The smallest limit that a refusal names.
    smallest_limit: Option<f64>,
    /// The smallest prompt that was refused without a limit.
    smallest_refused: Option<f64>,
}

/// Learns from the calls of a record.
pub fn learn_windows(session: &LoadedSession, record: &RecordedTrace) -> LearnedWindows {
    let mut evidence: HashMap<ModelKey, Evidence> = HashMap::new();
    for (call, sent) in record.calls.iter().zip(&record.trace) {
        let Some(model) = call.cache_key.model else { continue };
        let none = Evidence { largest_accepted: 0.0, smallest_limit: None, smallest_refused: None };
        let own = evidence.entry(model).or_insert(none);
        record_call(own, call, sent.expected);
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

fn record_call(evidence: &mut Evidence, call: &ModelCall, expected: f64) {
    let least = |known: Option<f64>, tokens: f64| Some(known.map_or(tokens, |known| known.min(tokens)));
    match call.refused {
        Some(refused) if refused.is_byte_limit => {}
        Some(refused) => match refused.limit.filter(|limit| *limit > 0.0) {
            Some(limit) => evidence.smallest_limit = least(evidence.smallest_limit, limit),
            None if call.usage.is_none() => {
                evidence.smallest_refused = least(evidence.smallest_refused, expected);
            }
            None => {}
        },
        // The last answer of a run may have overflowed in silence.
        None if call.stop_reason == StopReason::ToolUse => {
            evidence.largest_accepted = evidence.largest_accepted.max(call.measured_tokens().unwrap_or(0.0));
        }
        None => {}
    }
}

/// What the provider takes, in tokens, where the runtime believes in `believed`.
fn infer_window(evidence: &Evidence, believed: f64) -> f64 {
    if let Some(named) = evidence.smallest_limit {
        return believed.min(named);
    }
    let confirms = |refused: f64| {
        let share = if evidence.largest_accepted >= COUNTED_RATIO * refused {
            CONFIRM_RATIOS.0
        } else {
            CONFIRM_RATIOS.1
        };
        refused >= share * believed
    };
    match evidence.smallest_refused {
        Some(refused) if confirms(refused) => believed,
        Some(refused) => evidence.largest_accepted.max(UNCONFIRMED_RATIO * refused),
        None if believed.is_nan() => believed,
        None => believed.max(evidence.largest_accepted),
    }
}
