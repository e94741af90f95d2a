//! Properties of any history: dividing it loses nothing, and sizes predicted before equal sizes measured after.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::js::{self, JsException, JsString, Value};
use crate::policy::compact::chunks::{split_by_max, split_by_share, total_tokens};
use crate::policy::compact::history_share::{HistoryMessage, ShareSettings, prune_by_share};
use crate::policy::compact::predicted_calls::predict_calls;
use crate::policy::compact::request::SummaryRequest;
use crate::policy::compact::stages::{AnswerFailure, SummaryModel};
use crate::policy::compact::testing::{job, summarise};
use crate::policy::repair::{RepairRules, apply_pairing, pair, shape_of};
use crate::store::measure::pi_chars;
use crate::units::{Moment, Tokens};

fn message((role, id, chars, name): (u8, u8, usize, &str)) -> Value {
    let text = format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(chars));
    let json = match role {
        0 => format!(r#"{{"role":"user","content":[{text}]}}"#),
        1 => format!(
            r#"{{"role":"assistant","content":[{text},{{"type":"toolCall","id":"{id}","name":"exec","arguments":{{}}}}]}}"#
        ),
        _ => format!(r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"{name}","content":[{text}]}}"#),
    };
    js::parse(&json).expect("test JSON")
}

fn histories() -> impl Strategy<Value = Vec<Value>> {
    let names = prop_oneof![Just("exec"), Just(" exec "), Just("")];
    vec((0..3_u8, 0..5_u8, 0..400_usize, names).prop_map(message), 0..24)
}

fn tokens(message: &Value) -> Tokens {
    pi_chars(message).expect("measurable").to_tokens(4.0).ceil()
}

fn all_tokens(messages: &[Value]) -> Tokens {
    total_tokens(&messages.iter().map(tokens).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn tokens_predicted_from_sizes_equal_those_of_the_messages(
        history in histories(), window in 1.0..4000.0_f64, parts in 0.0..5.0_f64,
    ) {
        let rule = RepairRules::default().pairing();
        let sized = |message| Ok(HistoryMessage { shape: shape_of(message, rule), tokens: tokens(message) });
        let items: Vec<Result<HistoryMessage, JsException>> = history.iter().map(sized).collect();
        let settings = ShareSettings { parts, ..ShareSettings::new(Tokens(window)) };
        let shared = prune_by_share(&items, &settings).expect("measurable");
        prop_assert_eq!(all_tokens(&shared.retained_messages(&history, Moment::ZERO)), shared.retained_tokens);
        prop_assert_eq!(all_tokens(&shared.dropped_messages(&history, Moment::ZERO)), shared.dropped_tokens);
        prop_assert!(shared.dropped.len() <= shared.dropped_message_count);
    }

    #[test]
    fn a_paired_list_has_no_result_left_to_drop_or_to_invent(history in histories()) {
        let rules = RepairRules::default();
        let shapes: Vec<_> = history.iter().map(|message| shape_of(message, rules.pairing())).collect();
        let first = pair(&shapes.iter().collect::<Vec<_>>(), rules);
        let paired = apply_pairing(&history, &first.order, Moment::ZERO);
        let shapes: Vec<_> = paired.iter().map(|message| shape_of(message, rules.pairing())).collect();
        let second = pair(&shapes.iter().collect::<Vec<_>>(), rules);
        prop_assert!(second.orphans.is_empty());
        // A call with a duplicate id gets a result that is dropped at once (compaction 6.5c).
        prop_assert_eq!(second.added.len(), second.dropped_duplicates);
        prop_assert_eq!(apply_pairing(&paired, &second.order, Moment::ZERO), paired);
    }

    #[test]
    fn chunks_hold_every_message_once_and_in_order(
        tokens in vec(0.0..500.0_f64, 0..40), parts in -1.0..9.0_f64, max in -5.0..2000.0_f64,
    ) {
        let all: Vec<usize> = (0..tokens.len()).collect();
        let tokens: Vec<Tokens> = tokens.into_iter().map(Tokens).collect();
        prop_assert_eq!(split_by_share(&tokens, parts).into_iter().flatten().collect::<Vec<_>>(), all.clone());
        prop_assert_eq!(split_by_max(&tokens, Tokens(max)).into_iter().flatten().collect::<Vec<_>>(), all);
    }
}

/// Answers at random with a text of some length, or fails.
struct RandomModel {
    rolls: Vec<u8>,
    at: usize,
    request_sizes: Vec<usize>,
}

impl SummaryModel for RandomModel {
    fn answer(&mut self, request: &SummaryRequest<'_>) -> Result<JsString, AnswerFailure> {
        self.request_sizes.push(request.messages.len());
        self.at += 1;
        match self.rolls[self.at % self.rolls.len()] {
            0 => Err(AnswerFailure::Failed("no".to_owned())),
            roll => Ok("s".repeat(usize::from(roll)).into()),
        }
    }
}

proptest! {
    /// The stages always end, with any failures, within the calls that the fallbacks allow: two rounds over the chunks of
    /// each half and of the merge, for the dropped and for the kept part.
    #[test]
    fn stages_always_end(
        history in histories(), rolls in vec(0..4_u8, 1..9), window in 1.0..60_000.0_f64, before in 0.0..90_000.0_f64,
    ) {
        let mut job = job(history.clone());
        (job.window, job.tokens_before) = (Tokens(window), Tokens(before));
        let mut dice = RandomModel { rolls, at: 0, request_sizes: Vec::new() };
        let result = summarise(&job, &mut dice);
        prop_assert_eq!(result.is_err(), history.is_empty());
        // Repair may invent a result for every call of the kept part.
        let most = 2 * (2 * history.len() + 2) * 2;
        prop_assert!(dice.request_sizes.len() <= most, "{} calls for {} messages", dice.request_sizes.len(), history.len());
    }

    /// Predicted calls equal the calls made in a run where all succeed.
    #[test]
    fn predicted_calls_equal_the_calls_made(history in histories(), window in 1.0..60_000.0_f64, before in 0.0..90_000.0_f64) {
        prop_assume!(!history.is_empty());
        let mut job = job(history);
        (job.window, job.tokens_before) = (Tokens(window), Tokens(before));
        let reported = predict_calls(&job, Tokens(1.0)).expect("measurable");
        let mut dice = RandomModel { rolls: vec![4], at: 0, request_sizes: Vec::new() };
        let made = summarise(&job, &mut dice).expect("measurable");
        prop_assert_eq!(reported.calls.iter().map(|call| call.messages).collect::<Vec<_>>(), dice.request_sizes);
        prop_assert_eq!(reported.summary.parts.text().len(), made.parts.text().len());
    }
}
