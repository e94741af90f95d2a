//! Writes JSON as a JavaScript program does: shortest number form, keys in insertion order, and only the characters
//! below U+0020, `"` and `\` escaped (store M1, P7).
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

struct Js;

impl Formatter for Js {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format(value).as_bytes())
    }
}

/// Formats one line of a transcript, without its line feed.
#[expect(clippy::expect_used, reason = "a Value has string keys only and the buffer never refuses a write")]
pub(super) fn line(value: &Value) -> String {
    let mut out = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut out, Js)).expect("a JSON value is writable");
    String::from_utf8(out).expect("JSON text is UTF-8")
}

/// Formats with an indent of two spaces, as in `sessions.json` and in the text of JSON tool results.
#[expect(clippy::expect_used, reason = "a Value has string keys only and the buffer never refuses a write")]
pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value is writable")
}

/// Formats ms since the epoch as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub(super) fn iso(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(|_| String::new(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_have_their_javascript_form() {
        let value = json!({"zero": 0.0, "small": 0.000_005, "sum": 0.1 + 0.2, "n": 7});
        assert_eq!(line(&value), r#"{"zero":0,"small":0.000005,"sum":0.30000000000000004,"n":7}"#);
    }

    #[test]
    fn instants_have_three_decimals() {
        assert_eq!(iso(1_700_000_000_000), "2023-11-14T22:13:20.000Z");
    }
}
