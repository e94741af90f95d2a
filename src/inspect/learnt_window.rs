//! The window that a provider really serves, learnt from what it accepted and refused.
//!
//! A refusal that names its limit settles it. One that names none leaves a bracket: the largest prompt that was accepted,
//! and the refused one. What was accepted is known to fit, so that is what a replay goes by.

use std::collections::HashMap;

use crate::inspect::Inspection;
use crate::inspect::overflow::ModelWindow;
use crate::replay::{Call, ModelLimits, RecordedLane};
use crate::store::entry::StopReason;
use crate::store::intern::WordIx;

/// A refused prompt above this share of the believed window confirms it: where most of the prompt was counted, and where it
/// is mostly estimated.
const CONFIRMS: (f64, f64) = (0.97, 0.8);
/// Share of a refused prompt that was counted before, from which the rest is no guess.
const COUNTED: f64 = 0.75;
/// Share of a refused prompt that is taken to fit where nothing larger was accepted.
const BELOW: f64 = 0.9;

type Model = (WordIx, WordIx);

/// What the record teaches.
#[derive(Debug, Clone, Default)]
pub struct Learnt {
    /// Of the session's model.
    pub own: Option<ModelLimits>,
    /// Of the other models of the path.
    pub others: HashMap<Model, ModelLimits>,
}

/// What was said of one model's window.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    /// The largest prompt that was accepted and went on to call tools: it did fit.
    accepted: f64,
    /// The smallest limit that a refusal names.
    named: Option<f64>,
    /// The smallest prompt that was refused without a limit.
    refused: Option<f64>,
}

/// Learns from the calls of a record.
pub fn learnt_windows(inspection: &Inspection, record: &RecordedLane) -> Learnt {
    let mut evidence: HashMap<Model, Evidence> = HashMap::new();
    for (call, sent) in record.calls.iter().zip(&record.lane) {
        let Some(model) = call.mind.model else { continue };
        let none = Evidence { accepted: 0.0, named: None, refused: None };
        let own = evidence.entry(model).or_insert(none);
        take(own, call, sent.expected);
    }
    let mut learnt = Learnt::default();
    for (model, evidence) in evidence {
        let Some((provider, id)) = names(inspection, model) else { continue };
        if (&provider, &id) == (&inspection.provider, &inspection.model) {
            let runtime = inspection.upkeep.runtime_window;
            learnt.own = Some(ModelLimits { provider: window(&evidence, runtime), runtime });
        } else {
            let runtime = ModelWindow::of(&inspection.overflow_scope(), &provider, &id).runtime;
            learnt.others.insert(model, ModelLimits { provider: window(&evidence, runtime), runtime });
        }
    }
    learnt
}

fn names(inspection: &Inspection, model: Model) -> Option<(String, String)> {
    let words = &inspection.index.words;
    Some((words.text(model.0)?, words.text(model.1)?))
}

fn take(evidence: &mut Evidence, call: &Call, expected: f64) {
    let least = |known: Option<f64>, tokens: f64| Some(known.map_or(tokens, |known| known.min(tokens)));
    match call.refused {
        Some(refused) if refused.bytes => {}
        Some(refused) => match refused.limit.filter(|limit| *limit > 0.0) {
            Some(limit) => evidence.named = least(evidence.named, limit),
            None if call.usage.is_none() => evidence.refused = least(evidence.refused, expected),
            None => {}
        },
        // The last answer of a run may have overflowed in silence.
        None if call.stop == StopReason::ToolUse => {
            evidence.accepted = evidence.accepted.max(call.measured().unwrap_or(0.0));
        }
        None => {}
    }
}

/// What the provider takes, in tokens, where the runtime believes in `believed`.
fn window(evidence: &Evidence, believed: f64) -> f64 {
    if let Some(named) = evidence.named {
        return believed.min(named);
    }
    let confirms = |refused: f64| {
        let share = if evidence.accepted >= COUNTED * refused { CONFIRMS.0 } else { CONFIRMS.1 };
        refused >= share * believed
    };
    match evidence.refused {
        Some(refused) if confirms(refused) => believed,
        Some(refused) => evidence.accepted.max(BELOW * refused),
        None if believed.is_nan() => believed,
        None => believed.max(evidence.accepted),
    }
}
