//! The tool results that came between the last counted call and the one that failed: the newest turn, which every policy
//! protects.

use crate::context::tokens::chars4::estimate_or_zero;
use crate::explain::case::Case;
use crate::explain::failure::Failure;
use crate::explain::simulate::open_plan;
use crate::explain::words::exact;
use crate::ids::EntryIx;
use crate::policy::{Fate, MessageFate};

/// Share of what the prompt grew by that the results must be.
const MOST_OF_GROWTH: f64 = 0.6;

/// One result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NewResult {
    /// Its entry.
    pub entry: EntryIx,
    /// Where it stands in the context.
    pub position: usize,
    /// Chars of its text.
    pub chars: u64,
    /// Tokens by the provider's count.
    pub tokens: f64,
}

/// The results of the newest turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    /// In order.
    pub results: Vec<NewResult>,
    /// Chars of their texts.
    pub chars: u64,
    /// Their tokens by the provider's count.
    pub tokens: f64,
    /// Tokens of the prompt without them.
    pub rest: f64,
}

impl Batch {
    /// The results that made a call overflow: without them it would have fitted, and they are most of what was new.
    pub(super) fn of(failure: &Failure) -> Option<Self> {
        let messages = &failure.then.context.messages;
        let result = |position: usize| {
            let message = &messages[position];
            NewResult {
                entry: message.entry,
                position,
                chars: u64::from(message.size.text_chars),
                tokens: failure.scaled(position, estimate_or_zero(&message.size)),
            }
        };
        // Of an answer's calls the results follow it without another answer: only those are one turn.
        let results: Vec<NewResult> = failure.new_results().into_iter().map(result).collect();
        let tokens: f64 = results.iter().map(|result| result.tokens).sum();
        let before = failure.before.map_or(failure.fixed, |(_, tokens)| tokens);
        let growth = failure.requested.saturating_sub(before) as f64;
        let rest = failure.requested as f64 - tokens;
        let decides =
            tokens >= MOST_OF_GROWTH * growth && rest <= failure.limit as f64 && before <= failure.limit;
        let batch = Self { chars: results.iter().map(|result| result.chars).sum(), results, tokens, rest };
        (decides && batch.chars > 0).then_some(batch)
    }

    pub(super) fn largest(&self) -> Option<&NewResult> {
        self.results.iter().max_by(|a, b| a.tokens.total_cmp(&b.tokens))
    }

    pub(super) fn chars_per_token(&self) -> f64 {
        self.chars as f64 / self.tokens
    }

    /// Chars that each of them might have had for the prompt to fit in so many tokens; none where it never would.
    pub(super) fn cap_chars(&self, limit: u64) -> Option<f64> {
        let room = limit as f64 - self.rest;
        let chars = room * self.chars_per_token() / self.results.len() as f64;
        (chars >= 1.0).then(|| chars.floor())
    }

    /// What only helps: a cap of every result.
    pub(super) fn cap_words(&self, failure: &Failure) -> String {
        let reserve = failure.then.configured.compaction.reserve_tokens.max(0.0) as u64;
        let k = |chars: f64| format!("{:.1}k", chars / 1_000.0);
        match (self.cap_chars(failure.limit), self.cap_chars(failure.limit.saturating_sub(reserve))) {
            (None, _) => "no cap of a result keeps this turn within the window".to_owned(),
            (Some(cap), None) => format!(
                "only a per-result cap <= ~{} chars keeps this turn under {}",
                k(cap),
                exact(failure.limit)
            ),
            (Some(cap), Some(reserved)) => format!(
                "only a per-result cap <= ~{} chars keeps this turn under {} (<= ~{} with the reserve of {})",
                k(cap),
                exact(failure.limit),
                k(reserved),
                exact(reserve)
            ),
        }
    }

    /// Whether any setting of the pruner reaches them.
    pub(super) fn shield(&self, case: &Case<'_>, failure: &Failure) -> &'static str {
        if !case.inspection.ruleset.ruleset.rules().pruner.is_active() {
            return "this version never prunes";
        }
        let Some(plan) = open_plan(&failure.then, &failure.then.configured.prune) else {
            return "pruning fails on this context";
        };
        let shielded = |fate: &MessageFate| matches!(fate.fate, Fate::Protected | Fate::Kept);
        if self.results.iter().all(|result| plan.fates().get(result.position).is_some_and(shielded)) {
            "all inside the protected tail, so no contextPruning setting applies"
        } else {
            "pruning would have reached some of it"
        }
    }
}
