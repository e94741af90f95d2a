//! The prompts that were answered: each proves that the window is at least as large (overflow-texts 6, S1).

use std::collections::HashMap;

use crate::context::tokens::chars4::estimate_or_zero;
use crate::gateway::window::DEFAULT_WINDOW;
use crate::store::entry::{Entry, StopReason, Usage};
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::units::Tokens;

/// A count above the first one plus this many times the estimated text since then is a sum of several calls, or another
/// error of the provider.
const MAX_TOKENS_PER_ESTIMATED: f64 = 4.0;

/// Tokens before the messages that are granted to any prompt.
const FIXED_TOKENS: Tokens = Tokens(30_000.0);
/// Estimates of a prompt that its count exceeds only by an error.
const MAX_TEXT_RATIO: f64 = 20.0;

pub(super) type ModelKey = Option<(ValueIx, ValueIx)>;

/// Whether a count is many times the estimate of its messages, and of anything that may precede them.
pub(super) fn exceeds_text(counted: Tokens, text: Tokens, window: Tokens) -> bool {
    counted > (text + FIXED_TOKENS.min(window)) * MAX_TEXT_RATIO
}

/// Returns stop reason and usage of a call whose prompt the provider counted.
pub(super) fn measured_usage(entry: &Entry) -> Option<(StopReason, Usage)> {
    let size = entry.message.filter(|_| entry.is_model_call())?;
    Some((size.stop_reason, size.usage.filter(Usage::has_prompt_tokens)?))
}

/// Whether a call that stopped for this reason was answered.
pub(super) fn is_answer(stop: StopReason) -> bool {
    !matches!(stop, StopReason::Error | StopReason::Aborted)
}

/// Returns the largest prompt of each model among the calls that stopped for one of these reasons.
pub(super) fn largest_prompts(
    index: &Index,
    counts: impl Fn(StopReason) -> bool,
) -> HashMap<ModelKey, Tokens> {
    let mut largest: HashMap<ModelKey, Tokens> = HashMap::new();
    let mut text = Tokens::ZERO;
    let mut first_count = None;
    for (_, entry) in index.iter() {
        if let Some(size) = entry.message.filter(|_| entry.becomes_message()) {
            text += Tokens(estimate_or_zero(&size) as f64);
        }
        let Some((stop, usage)) = measured_usage(entry) else { continue };
        let prompt = usage.prompt_tokens();
        if exceeds_text(prompt, text, DEFAULT_WINDOW) {
            continue;
        }
        let first = *first_count.get_or_insert(prompt);
        if counts(stop) && prompt <= first + text * MAX_TOKENS_PER_ESTIMATED {
            let most = largest.entry(entry.model).or_default();
            *most = most.max(prompt);
        }
    }
    largest
}

/// Returns the largest answered prompt of a model.
pub fn largest_answer(index: &Index, provider: &str, model: &str) -> Option<Tokens> {
    let is_it = |key: (ValueIx, ValueIx)| {
        index.values.text(key.0).is_some_and(|text| text == provider)
            && index.values.text(key.1).is_some_and(|text| text == model)
    };
    let found = largest_prompts(index, is_answer).into_iter();
    found.filter(|(key, _)| key.is_some_and(is_it)).map(|(_, tokens)| tokens).reduce(Tokens::max)
}
