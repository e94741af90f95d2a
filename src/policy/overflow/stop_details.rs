//! Reads how an answer ended from a recorded message (overflow-texts 1).

use crate::js::{self, Value};

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
