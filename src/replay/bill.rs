//! Prices a replayed call: its tokens by price class, as the cache would serve them, and who counted its prompt
//! (pruning 4.6).

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::gateway::models::Price;
use crate::replay::cache::TokenSplit;
use crate::replay::calls::ModelCall;
use crate::replay::outcome::{CallReplay, PromptSizeSource};
use crate::replay::range_totals::PromptEdits;
use crate::replay::send::SentPrompt;
use crate::replay::trace::Trace;
use crate::store::entry::Usage;
use crate::units::{Tokens, schema_of};

/// The price of a call.
pub(super) struct Bill {
    pub(super) split: TokenSplit,
    /// USD; the recorded sum if there is one.
    pub(super) cost: Option<f64>,
    pub(super) recorded_cost: Option<f64>,
    /// USD by the cache model only.
    pub(super) modelled_cost: Option<f64>,
    /// USD that the prompt's edits add or save.
    pub(super) cache_cost: Option<f64>,
}

impl Trace<'_> {
    /// Returns who counted the prompt: with a record, the one who counted the same prompt there.
    pub(super) fn size_source(
        &self,
        call: &ModelCall,
        record: Option<(&CallReplay, bool)>,
        failed: bool,
    ) -> PromptSizeSource {
        // Nobody counted a prompt whose fixed parts are assumed to be smaller.
        let is_reduced = self.settings.assumptions.fixed_reduction != 0.0;
        match record {
            None => recorded_size_source(call),
            Some((record, true)) if failed == record.failed && !is_reduced => record.size_source,
            Some((record, _)) if record.has_size() || call.refused.is_some() && !failed => {
                PromptSizeSource::Estimated
            }
            Some(_) => PromptSizeSource::Unknown,
        }
    }

    /// Splits the tokens of a call by price class and prices them. A call may be free, and its usage may be measured for
    /// this very prompt.
    pub(super) fn bill(
        &self,
        call: &ModelCall,
        sent: &SentPrompt,
        expected: Tokens,
        (free, measured): (bool, bool),
    ) -> Bill {
        let price = self.session.price_of(call);
        let cost_of = |split: &TokenSplit| price.map(|price| split.cost(&price));
        let output = self.output_tokens(call);
        let billed = call.billed.filter(|_| free);
        let modelled = self.split_tokens(call, sent, expected, output, true);
        let plain = (!sent.edits.is_empty()).then(|| self.split_tokens(call, sent, expected, output, false));
        let split = match (billed, call.usage) {
            (Some(usage), _) => TokenSplit::from_usage(&usage),
            _ if free => TokenSplit::default(),
            (None, Some(usage)) if measured => TokenSplit::from_usage(&usage),
            _ => modelled,
        };
        let recorded_cost = call.usage.filter(|_| measured).or(billed).and_then(|usage| file_cost(&usage));
        Bill {
            split,
            cost: recorded_cost.filter(|usd| *usd > 0.0).or_else(|| cost_of(&split)),
            recorded_cost,
            modelled_cost: if free { Some(0.0) } else { cost_of(&modelled) },
            cache_cost: plain
                .filter(|_| !free)
                .and_then(|plain| Some(cost_of(&modelled)? - cost_of(&plain)?)),
        }
    }

    /// Returns the tokens of the answer: counted, otherwise estimated; for a missing answer the mean of the counted
    /// ones before it.
    fn output_tokens(&self, call: &ModelCall) -> Tokens {
        if call.is_failed() {
            let (tokens, count) = self.counted_answers;
            return if count > 0.0 { Tokens(tokens / count) } else { Tokens::ZERO };
        }
        let counted = call.usage.map(|usage| usage.output).filter(|tokens| tokens.is_finite());
        counted.unwrap_or_else(|| {
            let size = self.session.index.entry(call.entry).message;
            Tokens(size.map_or(0.0, |size| crate::context::tokens::chars4::estimate_or_zero(&size) as f64))
        })
    }

    /// Splits a prompt by the cache model, with this call's edits or without them.
    fn split_tokens(
        &self,
        call: &ModelCall,
        sent: &SentPrompt,
        expected: Tokens,
        output: Tokens,
        edited: bool,
    ) -> TokenSplit {
        let price = self.session.price_of(call);
        let none = PromptEdits { start: sent.edits.start, ..PromptEdits::default() };
        let (edits, less) = if edited { (&sent.edits, 0.0) } else { (&none, sent.freed_tokens.get()) };
        let tokens = sent.tokens + Tokens(less);
        let reusable = self.cache.reusable_len(call.started, &call.cache_key, sent.prompt.len, |other| {
            self.first_difference(edits, other)
        });
        let read = reusable.map_or(0.0, |count| {
            let gone = if edited { self.freed_before(sent, count) } else { 0.0 };
            self.fixed() + self.prefix_tokens(count).get() - gone
        });
        let request = expected + Tokens(less);
        let scale = if tokens > Tokens::ZERO { request / tokens } else { 0.0 };
        TokenSplit::for_request(request, Tokens(read * scale), Tokens::ZERO, output, price.as_ref())
    }

    /// Returns the tokens that the edits removed from the first `count` messages of a prompt.
    fn freed_before(&self, sent: &SentPrompt, count: usize) -> f64 {
        let edits = &sent.edits;
        let reach = edits.guard_range.filter(|_| count > 0);
        let reached = reach.map_or(0.0, |reach| {
            let front = usize::from(self.run_start.summary.is_some());
            let border = self.arena_index_after(count - front).clamp(reach.from, reach.to);
            self.edits_within(&reach, reach.from, border).tokens.get()
        });
        let listed = edits.listed_edits.iter().zip(&sent.listed_freed);
        let listed = listed.filter(|((at, _), _)| self.index_in(edits, *at) < count);
        reached + listed.map(|(_, less)| less).sum::<f64>()
    }
}

fn recorded_size_source(call: &ModelCall) -> PromptSizeSource {
    if call.measured_tokens().is_some() {
        return PromptSizeSource::Counted;
    }
    match call.refused {
        Some(refused) if refused.requested.is_some() => PromptSizeSource::FromRefusal,
        None if !call.is_failed() => PromptSizeSource::Estimated,
        _ => PromptSizeSource::Unknown,
    }
}

/// Cost of some calls and summaries, USD.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(into = "CostMembers")]
pub struct Cost {
    /// Recorded cost; 0 where the file records only zeros, `None` where it records no cost.
    pub recorded: Option<f64>,
    /// List prices of the calls without a recorded cost; `None` if no price is known or needed.
    pub listed: Option<f64>,
    /// Calls that used tokens and have no recorded cost above 0.
    pub unrecorded_calls: usize,
    /// Summaries without a recorded cost above 0.
    pub unrecorded_summaries: usize,
}

schema_of!(Cost, CostMembers);

/// A cost in JSON.
#[derive(Serialize, JsonSchema)]
struct CostMembers {
    /// USD.
    cost: Option<f64>,
    #[serde(flatten)]
    origin: CostOrigin,
}

impl From<Cost> for CostMembers {
    fn from(cost: Cost) -> Self {
        Self { cost: cost.total(), origin: CostOrigin::from(&cost) }
    }
}

/// Writes only the total of a cost to JSON, and null if it is unknown: `#[serde(with = "TotalCost")]`.
#[derive(Debug)]
pub enum TotalCost {}

impl TotalCost {
    pub fn serialize<S: Serializer>(cost: &Cost, serializer: S) -> Result<S::Ok, S::Error> {
        cost.total().serialize(serializer)
    }
}

schema_of!(TotalCost, Option<f64>);

/// The parts of a cost, USD.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names are the keys")]
pub struct CostOrigin {
    recorded_cost: Option<f64>,
    /// List prices of the calls without a recorded cost.
    listed_cost: Option<f64>,
    /// Calls and summaries without a recorded cost.
    calls_without_cost: usize,
}

impl From<&Cost> for CostOrigin {
    fn from(cost: &Cost) -> Self {
        Self {
            recorded_cost: cost.recorded,
            listed_cost: cost.listed,
            calls_without_cost: cost.unrecorded_calls + cost.unrecorded_summaries,
        }
    }
}

impl Cost {
    /// Adds a call that used tokens: its recorded cost if above 0, otherwise its list price.
    pub fn add_call(&mut self, recorded: Option<f64>, listed: Option<f64>) {
        self.unrecorded_calls += usize::from(self.add(recorded, listed));
    }

    /// Adds the summaries of `times` compactions in the same way.
    pub fn add_summaries(&mut self, times: usize, recorded: Option<f64>, listed: Option<f64>) {
        self.unrecorded_summaries += if self.add(recorded, listed) { times } else { 0 };
    }

    /// Adds a call by the provider's counts.
    pub fn add_usage(&mut self, usage: &Usage, price: Option<&Price>) {
        self.add_call(file_cost(usage), price.map(|price| TokenSplit::from_usage(usage).cost(price)));
    }

    #[must_use]
    pub fn combined_with(self, other: Self) -> Self {
        Self {
            recorded: sum(self.recorded, other.recorded),
            listed: sum(self.listed, other.listed),
            unrecorded_calls: self.unrecorded_calls + other.unrecorded_calls,
            unrecorded_summaries: self.unrecorded_summaries + other.unrecorded_summaries,
        }
    }

    /// Returns recorded and listed cost together; `None` if neither is known.
    pub fn total(&self) -> Option<f64> {
        let recorded = self.recorded.filter(|usd| *usd > 0.0 || !self.is_estimated());
        sum(recorded, self.listed)
    }

    /// Whether a part of the total is estimated or missing.
    pub fn is_estimated(&self) -> bool {
        self.unrecorded_calls + self.unrecorded_summaries > 0
    }

    /// Returns whether the recorded cost is missing or 0.
    fn add(&mut self, recorded: Option<f64>, listed: Option<f64>) -> bool {
        self.recorded = sum(self.recorded, recorded);
        let without = recorded.is_none_or(|usd| usd <= 0.0);
        if without {
            self.listed = sum(self.listed, listed);
        }
        without
    }
}

/// Returns the cost that the file records for a call, in USD; `None` if it is not a finite amount of at least 0.
pub fn file_cost(usage: &Usage) -> Option<f64> {
    Some(usage.cost).filter(|usd| usd.is_finite() && *usd >= 0.0)
}

fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;

    fn usage(cost: f64) -> Usage {
        Usage {
            input: Tokens(1e6),
            output: Tokens::ZERO,
            cache_read: Tokens::ZERO,
            cache_write: Tokens::ZERO,
            context_tokens: Tokens(1e6),
            cost,
            is_text_sum: false,
            is_reported_total: false,
        }
    }

    const PRICE: Price = Price::flat([5.0, 25.0, 0.5, 6.25]);

    #[test]
    fn a_recorded_cost_counts_and_a_zero_or_missing_one_is_replaced_by_the_list_price() {
        let mut cost = Cost::default();
        cost.add_usage(&usage(1.25), Some(&PRICE));
        assert_eq!((cost.total(), cost.is_estimated()), (Some(1.25), false));
        cost.add_usage(&usage(0.0), Some(&PRICE));
        cost.add_usage(&usage(f64::NAN), Some(&PRICE));
        assert_eq!((cost.recorded, cost.listed, cost.unrecorded_calls), (Some(1.25), Some(10.0), 2));
        assert_eq!(cost.total(), Some(11.25));
        assert!(cost.is_estimated());
    }

    #[test]
    fn a_recorded_zero_without_a_price_has_no_total() {
        let mut cost = Cost::default();
        cost.add_usage(&usage(0.0), None);
        assert_eq!((cost.recorded, cost.total()), (Some(0.0), None));
    }
}
