//! Predicts the calls that the gateway's own summary of a planned compaction takes (compaction 3.19, 5.21, 10.11).

use crate::gateway::compaction::CompactionSettings;
use crate::ids::Epoch;
use crate::policy::compact::predict_calls;
use crate::session::LoadedSession;
use crate::units::{Moment, Tokens};
use crate::write::summary::job::SummaryJobError;
use crate::write::summary::{PreparedCompaction, SummarySettings};

/// The input of a prediction; an answer for another input is outdated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryCallsRequest {
    pub epoch: Epoch,
    /// Reserve and kept part, in tokens.
    pub compaction: CompactionSettings,
    /// Assumed tokens of each answer.
    pub summary_tokens: u64,
}

/// The calls of a summary when every one succeeds. Tokens are estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SummaryCalls {
    /// Number of calls.
    pub calls: u64,
    pub input_tokens: u64,
    pub largest_input: u64,
    /// Assumed tokens of all answers.
    pub output_tokens: u64,
    /// USD; `None` without a price for the model.
    pub cost: Option<f64>,
}

impl SummaryCalls {
    /// Predicts the calls; reads every text to summarise. The error says why the gateway would make no summary.
    pub fn predict(
        session: &LoadedSession,
        requested: &SummaryCallsRequest,
        summary: SummarySettings,
        now_ms: Moment,
    ) -> Result<Self, SummaryJobError> {
        let compactable = PreparedCompaction::new(session, requested.compaction, summary, None, now_ms);
        let job = compactable?.job;
        let reported = predict_calls(&job, Tokens(requested.summary_tokens as f64))
            .map_err(SummaryJobError::NoSummary)?;
        Ok(Self {
            calls: reported.calls.len() as u64,
            input_tokens: reported.input_tokens(),
            largest_input: reported.calls.iter().map(|call| call.input_tokens).max().unwrap_or(0),
            output_tokens: reported.output_tokens(),
            cost: session.price.as_ref().map(|price| reported.cost(price)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::models::Price;
    use crate::gateway::ruleset::Ruleset;
    use crate::js::Value;
    use crate::session::testing::{loaded_session, message, transcript, user};

    fn reported(turns: usize, keep_recent_tokens: Tokens) -> Result<SummaryCalls, SummaryJobError> {
        let answer =
            format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(4_000));
        let entries: Vec<String> = (0..turns).flat_map(|_| [user("go"), message(&answer)]).collect();
        let mut session = loaded_session(&transcript(&entries), 200_000.0);
        session.price = Some(Price::flat([5.0, 25.0, 0.5, 6.25]));
        let compaction = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
        let requested = SummaryCallsRequest { epoch: session.epoch, compaction, summary_tokens: 500 };
        SummaryCalls::predict(
            &session,
            &requested,
            SummarySettings::from_config(Ruleset::V2026_3_2.rules(), &Value::Null),
            Moment::ZERO,
        )
    }

    #[test]
    fn one_call_summarises_the_messages_before_the_cut() {
        // An answer has 1,000 tokens and its question one: the last turn is kept.
        let reported = reported(6, Tokens(1_001.0)).expect("calls");
        assert_eq!((reported.calls, reported.output_tokens), (1, 500));
        assert!(reported.input_tokens > 4_000 && reported.largest_input == reported.input_tokens);
        let cost = (reported.input_tokens as f64 * 6.25 + 500.0 * 25.0) / 1e6;
        assert_eq!(reported.cost, Some(cost));
    }

    #[test]
    fn a_turn_that_the_cut_splits_takes_a_separate_call() {
        let reported = reported(6, Tokens(1_500.0)).expect("calls");
        assert_eq!((reported.calls, reported.output_tokens), (2, 1_000));
        assert!(reported.largest_input < reported.input_tokens);
    }

    #[test]
    fn a_session_too_short_to_compact_names_the_reason() {
        assert!(
            reported(0, Tokens(1_001.0)).expect_err("nothing").to_string().starts_with("Nothing to compact")
        );
    }
}
