//! Tokens that anchor an estimate, added as JavaScript adds them (compaction 1.10): once a term is a text, the rest is
//! appended as digits, so `"1200" + 34` is 120,034.

use crate::js::json::is_truthy;
use crate::js::{Json, Value, is_text, number_text, plus, to_number};
use crate::units::Tokens;

const COMPONENTS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

/// Context tokens of one usage, as a provider counted them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextTokens {
    /// Value as JavaScript compares it; NaN when it is not a number.
    pub count: f64,
    /// Whether the value is a text, so that adding to it appends digits.
    pub is_text_sum: bool,
    /// Whether the value is the reported total of the whole context.
    pub is_reported_total: bool,
}

impl ContextTokens {
    /// Returns the reported total of the whole context, as gateways since 2026.7.1 write it (releases R21); else
    /// `totalTokens` when truthy; else the sum of the four components, NaN when one is missing.
    pub fn from_usage<'a>(usage: impl Json<'a>) -> Self {
        let reported = usage.get("contextUsage");
        let reported =
            reported.filter(|reported| reported.get("state").is_some_and(|state| state.str_is("available")));
        if let Some(number) = reported.and_then(|reported| reported.get("totalTokens")?.as_f64()) {
            return Self { count: number, is_text_sum: false, is_reported_total: true };
        }
        let total = usage.get("totalTokens");
        let sum = if is_truthy(total) {
            total.map(Json::to_value)
        } else {
            let terms = COMPONENTS.iter().map(|name| usage.get(name).map(Json::to_value));
            terms.reduce(|sum, term| Some(plus(sum.as_ref(), term.as_ref()))).flatten()
        };
        let is_text_sum = is_text(sum.as_ref());
        Self { count: to_number(sum.as_ref()), is_text_sum, is_reported_total: false }
    }
}

/// Adds tokens to a count; a text count gets the digits appended.
pub fn add_tokens(number: f64, is_text: bool, more: f64) -> Tokens {
    if !is_text {
        return Tokens(number + more);
    }
    Tokens(to_number(Some(&Value::from(number_text(number) + &number_text(more)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::parse;

    fn tokens(usage: &str) -> (f64, bool) {
        let tokens = ContextTokens::from_usage(&parse(usage).unwrap());
        (tokens.count, tokens.is_text_sum)
    }

    #[test]
    fn a_text_is_a_number_of_tokens_and_continues_the_sum_as_digits() {
        assert_eq!(tokens(r#"{"totalTokens":"1200"}"#), (1200.0, true));
        assert_eq!(add_tokens(1200.0, true, 34.0), Tokens(120_034.0));
        assert_eq!(add_tokens(1200.0, true, 0.0), Tokens(12_000.0), "a sum with 0 appends it too");
        assert_eq!(add_tokens(1200.0, false, 34.0), Tokens(1234.0));
        assert!(add_tokens(f64::NAN, true, 34.0).is_nan());
    }

    #[test]
    fn components_that_are_texts_are_appended_in_their_order() {
        let usage = r#"{"totalTokens":"","input":1,"output":2,"cacheRead":"3","cacheWrite":4}"#;
        assert_eq!(tokens(usage), (334.0, true), "1 + 2 is 3, and 3 and 4 are appended");
        assert!(tokens(r#"{"input":"1","output":2,"cacheRead":3}"#).0.is_nan(), "an absent one is no number");
        assert!(tokens(r#"{"totalTokens":"many"}"#).0.is_nan());
        assert_eq!(tokens(r#"{"totalTokens":[5]}"#), (5.0, true), "the text of a list");
    }
}
