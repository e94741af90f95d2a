//! Predicts the model calls of a summary, their sizes and cost, without a model (compaction 3.19, 5.21, 10.11).

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::gateway::models::Price;
use crate::js::JsString;
use crate::policy::compact::request::{SummaryPurpose, SummaryRequest};
use crate::policy::compact::stages::{
    AnswerFailure, NoSummary, StoredSummary, SummaryModel, SummarySpec, max_summary_tokens,
};
use crate::policy::compact::summarise::summarise_within;
use crate::units::{Chars, Tokens};

/// Assumed tokens of a summary when the session has no earlier one (compaction 5.21).
pub const ASSUMED_SUMMARY_TOKENS: u64 = 2_000;

const PER_MILLION: f64 = 1e6;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PredictedCall {
    pub purpose: SummaryPurpose,
    /// Whether it merges partial summaries.
    #[serde(rename = "merges")]
    pub is_merge: bool,
    pub messages: usize,
    /// Estimated input tokens.
    pub input_tokens: u64,
    /// The limit of the reply.
    #[schemars(with = "Option<f64>")]
    pub max_tokens: Tokens,
    /// Assumed tokens of the answer.
    pub output_tokens: u64,
}

/// All calls of a summary in order, if every one succeeds.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictedCalls {
    pub calls: Vec<PredictedCall>,
    /// The stored summary, with a placeholder of the assumed length for each answer (compaction 5.21).
    pub summary: StoredSummary,
}

impl PredictedCalls {
    pub fn input_tokens(&self) -> u64 {
        self.calls.iter().map(|call| call.input_tokens).sum()
    }

    pub fn output_tokens(&self) -> u64 {
        self.calls.iter().map(|call| call.output_tokens).sum()
    }

    /// Returns the cost in US dollars. The prompts are new to the provider, so input costs the cache-write price, if
    /// there is one (compaction 10.8, 10.11).
    pub fn cost(&self, price: &Price) -> f64 {
        let usd = |input_tokens: u64, output_tokens: u64| {
            let price = price.at(input_tokens as f64);
            let input = if price.cache_write > 0.0 { price.cache_write } else { price.input };
            input_tokens as f64 * input + output_tokens as f64 * price.output
        };
        self.calls.iter().map(|call| usd(call.input_tokens, call.output_tokens)).sum::<f64>() / PER_MILLION
    }
}

/// Predicts the calls of a job when each answer has `summary_tokens` tokens (see [`assumed_summary_tokens`]).
pub fn predict_calls(job: &SummarySpec, summary_tokens: Tokens) -> Result<PredictedCalls, NoSummary> {
    predict_calls_within(job, job.window, summary_tokens)
}

/// Predicts the calls in another window than the job's own, in tokens.
pub fn predict_calls_within(
    job: &SummarySpec,
    window: Tokens,
    summary_tokens: Tokens,
) -> Result<PredictedCalls, NoSummary> {
    let mut assumed = AssumedModel { calls: Vec::new(), summary_tokens };
    let written = summarise_within(job, window, &mut assumed)?;
    Ok(PredictedCalls { calls: assumed.calls, summary: written })
}

/// Returns the assumed tokens of a summary: the average of the session's earlier ones (`earlier_chars`, in chars), or
/// 2,000 without any; never more than the answer limit.
pub fn assumed_summary_tokens(earlier_chars: &[Chars], reserve_tokens: Tokens) -> Tokens {
    let most = max_summary_tokens(reserve_tokens);
    let count = earlier_chars.len() as f64;
    let average = (earlier_chars.iter().sum::<Chars>() / count).to_tokens(CHARS_PER_TOKEN);
    let assumed =
        if earlier_chars.is_empty() { Tokens(ASSUMED_SUMMARY_TOKENS as f64) } else { average.ceil() };
    assumed.min(most).max(Tokens::ZERO)
}

/// Answers every request with a text of the assumed length.
struct AssumedModel {
    calls: Vec<PredictedCall>,
    summary_tokens: Tokens,
}

impl SummaryModel for AssumedModel {
    fn answer(&mut self, request: &SummaryRequest<'_>) -> Result<JsString, AnswerFailure> {
        let threw = |_| AnswerFailure::Failed("the runtime cannot read the shape of a message".to_owned());
        let tokens = self.summary_tokens.min(request.max_tokens).max(Tokens::ZERO).floor().whole();
        self.calls.push(PredictedCall {
            purpose: request.purpose,
            is_merge: request.is_merge,
            messages: request.messages.len(),
            input_tokens: request.input_tokens().map_err(threw)?,
            max_tokens: request.max_tokens,
            output_tokens: tokens,
        });
        Ok(JsString::from(vec![u16::from(b'.'); tokens as usize * 4]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::compact::testing::{job, users};

    #[test]
    fn one_call_costs_its_input_as_a_cache_write_and_its_answer_as_output() {
        let job = job(users(3, 400));
        let calls = predict_calls(&job, Tokens(2000.0)).expect("a summary");
        let [call] = calls.calls.as_slice() else { panic!("one call: {:?}", calls.calls) };
        assert_eq!((call.messages, call.max_tokens, call.output_tokens), (3, Tokens(16_000.0), 2000));
        let mut price = Price::flat([5.0, 25.0, 0.5, 6.25]);
        let cost = |input: f64| (call.input_tokens as f64 * input + 2000.0 * 25.0) / 1e6;
        assert_eq!(calls.cost(&price), cost(6.25));
        price.cache_write = 0.0;
        assert_eq!(calls.cost(&price), cost(5.0));
    }

    #[test]
    fn a_long_history_takes_two_partial_calls_and_a_merge() {
        // 80 messages of 1,000 tokens exceed the 75,904 of one call; each half fits.
        let job = job(users(80, 4000));
        let calls = predict_calls(&job, Tokens(500.0)).expect("a summary");
        let shape: Vec<(usize, bool)> =
            calls.calls.iter().map(|call| (call.messages, call.is_merge)).collect();
        assert_eq!(shape, [(40, false), (40, false), (2, true)]);
        assert_eq!(calls.output_tokens(), 1500);
        assert_eq!(calls.summary.parts.history.len(), 2000);
    }

    #[test]
    fn the_assumed_length_follows_earlier_summaries_up_to_the_maximum() {
        assert_eq!(assumed_summary_tokens(&[], Tokens(20_000.0)), Tokens(2000.0));
        assert_eq!(assumed_summary_tokens(&[Chars(4000.0), Chars(8002.0)], Tokens(20_000.0)), Tokens(1501.0));
        assert_eq!(assumed_summary_tokens(&[Chars(400_000.0)], Tokens(20_000.0)), Tokens(16_000.0));
        assert_eq!(assumed_summary_tokens(&[], Tokens(100.0)), Tokens(80.0));
        assert_eq!(assumed_summary_tokens(&[], Tokens(-5.0)), Tokens::ZERO);
    }
}
