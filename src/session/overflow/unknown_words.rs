//! Refusals in words that name no cause, but that state the size of the prompt (releases R78).

use crate::policy::overflow::{ErrorClass, stated_sizes};
use crate::session::overflow::call::{Overflow, OverflowKind};
use crate::session::overflow::call_error::CallError;
use crate::session::prompt_estimates::PromptEstimates;
use crate::store::index::Index;
use crate::units::Moment;

/// The rule that recognises such a refusal.
pub(crate) const UNKNOWN_WORDS: &str = "R78";

/// Returns the overflow behind an error of no known class, if its text states a size as large as the prompt is by
/// the usage of the call before it, and a smaller one.
pub(super) fn find_stated_size(index: &Index, error: &CallError, time_ms: Moment) -> Option<Overflow> {
    if error.class != ErrorClass::Other || error.noted_by_gateway {
        return None;
    }
    let prompt = || PromptEstimates::new(index, None).counted_to(index, error.entry);
    let numbers = stated_sizes(&error.text, prompt)?;
    Some(Overflow {
        text: error.text.clone(),
        rule: UNKNOWN_WORDS,
        requested: numbers.requested,
        limit: numbers.limit,
        recognised: Some(false),
        ..Overflow::from_usage(error.entry, OverflowKind::Refused, time_ms, error.model)
    })
}

impl Overflow {
    /// Whether only the sizes in unknown words show it.
    pub fn is_by_stated_size(&self) -> bool {
        self.rule == UNKNOWN_WORDS
    }
}

#[cfg(test)]
mod tests {
    use crate::session::overflow::OverflowKind;
    use crate::session::testing::{loaded_session, message, transcript, user};

    /// Returns what a refusal with this text counts as, after an answer whose prompt and reply have 6,100 tokens.
    fn judged(text: &str, usage: &str) -> Option<(OverflowKind, Option<u64>, Option<u64>)> {
        let answer = format!(
            r#"{{"role":"assistant","provider":"p","model":"m","content":[{{"type":"text","text":"hi"}}],"stopReason":"stop","usage":{usage}}}"#
        );
        let failed = format!(
            r#"{{"role":"assistant","provider":"p","model":"m","content":[],"stopReason":"error","errorMessage":"{text}"}}"#
        );
        let lines = [user("hi"), message(&answer), user("on"), message(&failed)];
        let session = loaded_session(&transcript(&lines), 200_000.0);
        session.overflows.first().map(|it| (it.kind, it.requested, it.limit))
    }

    const USAGE: &str = r#"{"input":6000,"output":100,"cacheRead":0,"cacheWrite":0,"totalTokens":6100}"#;

    #[test]
    fn unknown_words_with_the_size_of_the_prompt_and_a_smaller_one_are_an_overflow() {
        let refused = Some((OverflowKind::Refused, Some(6_150), Some(5_000)));
        assert_eq!(
            judged("400 Input payload of 6150 units is above the plan's ceiling (5000).", USAGE),
            refused
        );
        assert_eq!(judged("400 输入6150超过5000", USAGE), refused);
    }

    #[test]
    fn errors_of_a_known_class_and_sizes_that_nothing_confirms_are_none() {
        assert_eq!(judged("429 Rate limit reached: limit 5000, used 6150", USAGE), None);
        assert_eq!(judged("500 Internal server error 6150 5000", USAGE), None);
        assert_eq!(
            judged("400 Input payload of 9150 units is above the plan's ceiling (5000).", USAGE),
            None
        );
        let uncounted = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0}"#;
        assert_eq!(
            judged("400 Input payload of 6150 units is above the plan's ceiling (5000).", uncounted),
            None
        );
    }
}
