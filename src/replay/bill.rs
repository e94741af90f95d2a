//! Prices a replayed call: its tokens by price class, as the cache would serve them, and who counted its prompt
//! (pruning 4.6).

use crate::replay::cache::{TokenSplit, file_cost};
use crate::replay::calls::ModelCall;
use crate::replay::outcome::{CallReplay, PromptSizeSource};
use crate::replay::range_totals::PromptEdits;
use crate::replay::send::SentPrompt;
use crate::replay::trace::Trace;
use crate::units::Tokens;

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
