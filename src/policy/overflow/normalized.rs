//! Normalizes error texts to the form that the patterns expect: JSON escapes undone, lower case, no quotation marks,
//! single spaces (overflow-texts 1.5).

use crate::js::{self, Value};

/// Bytes read from the start and from the end of each field: at most 64 KiB for a message and three codes.
const HEAD_BYTES: usize = 12 << 10;
const TAIL_BYTES: usize = 4 << 10;
/// Fields that are read in addition to the message.
const MAX_CODES: usize = 3;
/// Levels of JSON escaping that routers put around a provider's body.
const MAX_JSON_LEVELS: usize = 3;
/// HTML entities and their replacements.
const ENTITIES: [(&str, &str); 7] = [
    ("&quot;", ""),
    ("&#34;", ""),
    ("&#39;", ""),
    ("&#x27;", ""),
    ("&apos;", ""),
    ("&gt;", ">"),
    ("&lt;", "<"),
];

/// The normalized texts of one answer.
pub(super) struct NormalizedText {
    pub(super) message: String,
    /// The message, followed by ` | code: …` for every other field.
    pub(super) with_codes: String,
}

impl NormalizedText {
    pub(super) fn new(details: &StopDetails) -> Self {
        let message = normalize(&details.message);
        let mut with_codes = message.clone();
        for code in details.codes.iter().take(MAX_CODES) {
            with_codes.push_str(" | code: ");
            with_codes.push_str(&normalize(code));
        }
        Self { message, with_codes }
    }
}

pub(super) fn normalize(text: &str) -> String {
    let mut text = cut_middle(text);
    for _ in 0..MAX_JSON_LEVELS {
        if !text.contains('\\') {
            break;
        }
        text = unescape_json(&text);
    }
    if text.contains('&') {
        for (entity, char) in ENTITIES {
            text = text.replace(entity, char);
        }
    }
    fold(&text)
}

/// Keeps the start and the end of a long text, because an echoed prompt fills its middle.
fn cut_middle(text: &str) -> String {
    if text.len() <= HEAD_BYTES + TAIL_BYTES {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(HEAD_BYTES);
    let tail = text.ceil_char_boundary(text.len() - TAIL_BYTES);
    format!("{} {}", &text[..head], &text[tail..])
}

/// Lower-cases a text, removes quotation marks and collapses every run of white space to one space.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_whitespace() || char.is_control() {
            if !folded.is_empty() && !folded.ends_with(' ') {
                folded.push(' ');
            }
        } else if !matches!(char, '"' | '\'' | '`' | '‘' | '’' | '“' | '”') {
            folded.extend(char.to_lowercase());
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// Undoes one level of JSON escapes; a backslash that escapes nothing stays.
fn unescape_json(text: &str) -> String {
    let mut undone = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        undone.push_str(&rest[..at]);
        let (char, behind) = unescape_char(&rest[at + 1..]);
        undone.push(char);
        rest = behind;
    }
    undone.push_str(rest);
    undone
}

/// Returns the character of an escape and the text after it.
fn unescape_char(escape: &str) -> (char, &str) {
    let mut chars = escape.chars();
    match chars.next() {
        Some('n' | 'r' | 't' | 'f' | 'b') => (' ', chars.as_str()),
        Some(char @ ('"' | '\'' | '\\' | '/')) => (char, chars.as_str()),
        Some('u') => parse_hex_char(chars.as_str()).unwrap_or(('\\', escape)),
        _ => ('\\', escape),
    }
}

/// Reads a character from four hex digits or from a surrogate pair.
fn parse_hex_char(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| u16::from_str_radix(text.get(..4)?, 16).ok();
    let (first, rest) = (unit(text)?, &text[4..]);
    let second = rest.strip_prefix("\\u").and_then(|low| Some((unit(low)?, &low[4..])));
    if let Some((low, behind)) = second
        && let Some(Ok(char)) = char::decode_utf16([first, low]).next()
        && u32::from(char) > 0xffff
    {
        return Some((char, behind));
    }
    Some((char::from_u32(u32::from(first)).unwrap_or(char::REPLACEMENT_CHARACTER), rest))
}

/// Fields besides `errorMessage` that may hold the only sign, in reading order.
const CODE_FIELDS: [&str; 3] = ["errorCode", "errorType", "errorBody"];

/// The provider, stop reason and error texts of one answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StopDetails {
    /// Empty when unknown.
    pub provider: String,
    /// `stopReason` as recorded.
    pub stop_reason: String,
    /// `errorMessage`; empty when absent.
    pub message: String,
    /// `errorCode`, `errorType` and `errorBody` as texts (numbers and objects as JSON), in that order, without empty
    /// ones.
    pub codes: Vec<String>,
}

impl StopDetails {
    /// Reads a recorded assistant message. A field of an unexpected type becomes its JSON text.
    pub fn from_message(message: &Value) -> Self {
        let name = |key| message.get(key).and_then(Value::as_str).map(js::JsString::to_string_lossy);
        let codes = CODE_FIELDS.iter().map(|key| field_text(message.get(key)));
        Self {
            provider: name("provider").unwrap_or_default(),
            stop_reason: name("stopReason").unwrap_or_default(),
            message: field_text(message.get("errorMessage")),
            codes: codes.filter(|code| !code.is_empty()).collect(),
        }
    }

    /// Wraps an error text that the gateway itself recorded (`openclaw:prompt-error`).
    pub fn from_text(text: &str) -> Self {
        Self { stop_reason: "error".to_owned(), message: text.to_owned(), ..Self::default() }
    }
}

/// Returns a text unchanged and anything else as JSON; empty for `null` and blank texts.
fn field_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) if text.is_blank() => String::new(),
        Some(Value::String(text)) => text.to_string_lossy(),
        Some(other) => js::stringify(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn three_levels_of_quoting_are_undone() {
        let mut text = "prompt \"is\"\ntoo long".to_owned();
        for _ in 0..3 {
            assert!(normalize(&text).contains("prompt is too long"), "{text}");
            text = serde_json::to_string(&text).unwrap();
        }
        assert!(normalize(&text).contains("prompt is too long"), "{text}");
    }

    #[test]
    fn letters_are_decoded_however_an_encoder_writes_them() {
        assert_eq!(
            normalize(r"This model\u2019s 5 \u003e 4, \u4e0a\u4e0b\u6587 \ud83d\ude00"),
            "this models 5 > 4, 上下文 😀"
        );
        assert_eq!(normalize("5 tokens &gt; 4 &#39;x&#39;"), "5 tokens > 4 x");
        assert_eq!(normalize(r"C:\Users \u12 \ud800 \"), r"c:\users \u12 � \");
    }

    #[test]
    fn the_end_of_a_long_text_is_read_too() {
        let text = format!("400 {} prompt is too long", "é".repeat(1 << 20));
        let plain = normalize(&text);
        assert!(plain.starts_with("400 é") && plain.ends_with("prompt is too long"));
        assert!(plain.len() <= HEAD_BYTES + TAIL_BYTES);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in r#"(\\|u|[0-9a-f]|"|.){0,200}"#) {
            normalize(&text);
        }
    }
}

#[cfg(test)]
mod stop_details_tests {
    use super::*;

    #[track_caller]
    fn read(json: &str) -> StopDetails {
        StopDetails::from_message(&js::parse(json).unwrap())
    }

    #[test]
    fn all_four_fields_of_a_failed_answer_are_read() {
        let details = read(
            r#"{"provider":"zai","stopReason":"error","errorMessage":"400 no","errorCode":"1261","errorType":"t","errorBody":"{}"}"#,
        );
        assert_eq!((details.provider.as_str(), details.stop_reason.as_str()), ("zai", "error"));
        assert_eq!(
            (details.message.as_str(), details.codes),
            ("400 no", ["1261", "t", "{}"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn fields_of_any_type_are_tolerated() {
        let details = read(
            r#"{"provider":7,"stopReason":null,"errorMessage":{"error":"prompt"},"errorCode":1261,"errorType":" ","errorBody":[true]}"#,
        );
        assert_eq!((details.provider.as_str(), details.stop_reason.as_str()), ("", ""));
        assert_eq!(details.message, r#"{"error":"prompt"}"#);
        assert_eq!(details.codes, ["1261".to_owned(), "[true]".to_owned()]);
        assert_eq!(StopDetails::from_message(&Value::Null), StopDetails::default());
    }
}
