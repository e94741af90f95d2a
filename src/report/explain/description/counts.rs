//! Counts of the failing prompt in words.

use crate::format::{format_number, format_tokens, quantity};
use crate::report::explain::counts::{Counter, PromptCount};
use crate::report::explain::failure::PromptSize;

impl PromptSize {
    /// Names the tokens: an exact number, an estimate, or what they are more than.
    pub fn description(self) -> String {
        if self.is_lower_bound {
            return more_than_limit(self.tokens);
        }
        format_tokens(self.tokens, self.is_measured)
    }
}

/// Names a prompt of which only the limit is known; `tokens` is one more than that.
fn more_than_limit(tokens: u64) -> String {
    format!("more than {}", format_number(tokens.saturating_sub(1)))
}

impl PromptCount {
    /// Names a number of which only the limit is known; `None` for others.
    pub fn lower_bound(&self) -> Option<String> {
        let is_bound = matches!(self.counter, Counter::Provider { is_lower_bound: true, .. });
        is_bound.then(|| more_than_limit(self.tokens))
    }

    /// Describes the effect of the number, or its origin.
    pub fn description(&self) -> String {
        let fixed = match self.counter {
            Counter::Provider { excess: Some(excess), .. } => {
                return format!("limit plus the {} that the refusal states", format_number(excess));
            }
            Counter::Provider { is_stated: true, .. } => "from the refusal; only this count can refuse",
            Counter::Provider { is_lower_bound: true, .. } => "the refusal states no number",
            Counter::Provider { .. } => "estimated: the refusal states no number",
            Counter::Runtime { adds_estimate: true } => {
                "against the trigger at its last check: the last usage plus chars/4 of what followed"
            }
            Counter::Runtime { adds_estimate: false } => {
                "against the trigger before this run: the last usage then"
            }
            Counter::StoredCounter { is_stale: false } => "shown in the status line",
            Counter::StoredCounter { is_stale: true } => "shown in the status line, marked stale",
            Counter::CharsByFour => "compared with the thresholds of pruning and of the context guard",
            Counter::Calibrated { counted_calls, fits_refusal } => {
                let refusal = if fits_refusal { " and this refusal" } else { "" };
                return format!("clawscope: fitted to {}{refusal}", quantity(counted_calls, "counted call"));
            }
        };
        fixed.to_owned()
    }
}
