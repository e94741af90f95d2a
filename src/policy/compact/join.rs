//! Joins values to one text, as `Array.prototype.join` does.

use crate::js::{self, JsString, Value};

/// Joins values; absent ones and `null` are empty. Two halves of a surrogate pair that meet become one character
/// (compaction 3.16).
pub(super) fn js_join<'a>(values: impl IntoIterator<Item = Option<&'a Value>>, between: &str) -> JsString {
    let mut text = JsString::new();
    for (at, value) in values.into_iter().enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        if let Some(value) = value.filter(|value| !value.is_null()) {
            text.push(&js::to_text(Some(value)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_joins_as_empty_text_and_numbers_as_their_text() {
        let values = [Value::Null, Value::from(1.5), Value::from("x")];
        assert_eq!(js_join(values.iter().map(Some).chain([None]), ";"), ";1.5;x;");
        assert_eq!(js_join([], ";"), "");
    }

    #[test]
    fn two_halves_that_meet_are_one_character() {
        let halves = [vec![0xD83D], vec![0xDE00]].map(|half| Value::String(half.into()));
        assert_eq!(js_join(halves.iter().map(Some), ""), "😀");
    }
}
