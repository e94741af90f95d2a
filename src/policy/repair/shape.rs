//! Reduces messages to the parts that pairing needs: calls with their ids, or a result with its id (compaction 6.1).

use crate::context::tokens::chars4::CHARS_PER_TOKEN;
use crate::gateway::ruleset::{MissingDetails, PairingRule, Rules, Ruleset};
use crate::js::{JsString, Json, Object, SharedStrings, Value};
use crate::units::{Moment, Tokens};

/// Block types that call a tool (compaction 6.1).
const CALL_TYPES: [&str; 3] = ["toolCall", "toolUse", "functionCall"];
/// Placeholder for an unknown tool name (compaction 6.3, 6.4).
pub(super) const UNKNOWN_TOOL: &str = "unknown";
/// Keys of a result that can hold the id of its call, by preference; the first two in all releases.
const ID_KEYS: [&str; 6] = ["toolCallId", "toolUseId", "tool_call_id", "tool_use_id", "callId", "call_id"];
/// Key of `details` that marks an invented result.
const MARK_KEY: &str = "openclawSyntheticMissingToolResult";

/// A tool call, reduced to the fields that match it with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairedCall {
    /// Never empty, not trimmed.
    pub id: JsString,
    /// Not trimmed, possibly blank; `None` when the name is not a string.
    pub name: Option<JsString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingShape {
    Assistant {
        calls: Vec<PairedCall>,
        /// It failed or was stopped.
        failed: bool,
    },
    Result {
        /// The id of its call; `None` when the result names none.
        id: Option<JsString>,
        /// Its `toolName`; `None` when that is not a string.
        name: Option<JsString>,
        invented: StubMark,
    },
    Other,
}

/// Marks a result that a repair invented before it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StubMark {
    No,
    /// Only its details say so.
    ByDetails,
    /// Its text says so.
    ByText,
}

impl PairingShape {
    /// Whether this is a result that a repair invented.
    pub(super) fn is_invented(&self) -> bool {
        matches!(self, Self::Result { invented: StubMark::ByDetails | StubMark::ByText, .. })
    }

    /// Lets its ids and names share their memory with those of other messages.
    pub fn share_strings(&mut self, strings: &mut SharedStrings) {
        match self {
            Self::Assistant { calls, .. } => {
                calls.shrink_to_fit();
                for PairedCall { id, name } in calls {
                    std::iter::once(id).chain(name).for_each(|text| strings.share(text));
                }
            }
            Self::Result { id, name, .. } => id.iter_mut().chain(name).for_each(|text| strings.share(text)),
            Self::Other => {}
        }
    }

    /// Returns the shape of the message without its details.
    #[must_use]
    pub fn without_details(mut self) -> Self {
        if let Self::Result { invented: invented @ StubMark::ByDetails, .. } = &mut self {
            *invented = StubMark::No;
        }
        self
    }

    /// Returns the shape of the message with another text.
    #[must_use]
    pub fn with_other_text(mut self) -> Self {
        if let Self::Result { invented: invented @ StubMark::ByText, .. } = &mut self {
            *invented = StubMark::No;
        }
        self
    }
}

/// Reduces a message to its shape, as a version reads ids (compaction 6.1, 6.8).
pub fn shape_of<'a>(message: impl Json<'a>, rule: &PairingRule) -> PairingShape {
    let role = message.get("role");
    if role.is_some_and(|role| role.str_is("assistant")) {
        PairingShape::Assistant { calls: calls_of(message), failed: has_failed(message) }
    } else if role.is_some_and(|role| role.str_is("toolResult")) {
        let name = message.get("toolName").and_then(Json::to_js_string);
        PairingShape::Result { id: id_of(message, *rule), name, invented: invented(message) }
    } else {
        PairingShape::Other
    }
}

fn id_of<'a>(result: impl Json<'a>, rule: PairingRule) -> Option<JsString> {
    let keys = ID_KEYS.iter();
    if !rule.reads_loose_ids {
        return keys.take(2).find_map(|key| non_empty_text(result, key));
    }
    let trimmed =
        |key: &'static str| Some(result.get(key)?.to_js_string()?.trim()).filter(|id| !id.is_empty());
    keys.copied().find_map(trimmed)
}

fn has_failed<'a>(message: impl Json<'a>) -> bool {
    message.get("stopReason").is_some_and(|reason| reason.str_is("error") || reason.str_is("aborted"))
}

fn invented<'a>(result: impl Json<'a>) -> StubMark {
    let is_marked = || {
        let mark = result.get("details").and_then(|details| details.get(MARK_KEY));
        mark.and_then(Json::as_bool) == Some(true)
    };
    let has_text = || {
        let mut blocks = result.get("content").and_then(Json::items).into_iter().flatten();
        blocks.any(|block| {
            block.get("type").is_some_and(|kind| kind.str_is("text"))
                && block
                    .get("text")
                    .is_some_and(|text| MISSING_RESULT_TEXTS.iter().any(|known| text.str_is(known)))
        })
    };
    match result.get("isError").is_some_and(Json::is_truthy) {
        true if has_text() => StubMark::ByText,
        true if is_marked() => StubMark::ByDetails,
        _ => StubMark::No,
    }
}

fn calls_of<'a>(message: impl Json<'a>) -> Vec<PairedCall> {
    let blocks = message.get("content").and_then(Json::items);
    let calls = blocks.into_iter().flatten().filter(|block| is_call(*block));
    calls
        .filter_map(|block| {
            let name = block.get("name").and_then(Json::to_js_string);
            Some(PairedCall { id: non_empty_text(block, "id")?, name })
        })
        .collect()
}

/// Whether a block is a tool call, usable or not.
pub fn is_call<'a>(block: impl Json<'a>) -> bool {
    block.get("type").is_some_and(|kind| CALL_TYPES.iter().any(|call| kind.str_is(call)))
}

fn non_empty_text<'a>(value: impl Json<'a>, key: &str) -> Option<JsString> {
    value.get(key).and_then(Json::to_js_string).filter(|text| !text.is_empty())
}

/// An invented result for a call without one (compaction 6.3, 6.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingResult {
    pub id: JsString,
    /// The tool name in the call, or `unknown`.
    pub name: JsString,
    pub text: &'static str,
    pub details: MissingDetails,
}

impl MissingResult {
    pub fn for_call(call: &PairedCall, rules: RepairRules) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone().unwrap_or_else(|| UNKNOWN_TOOL.into()),
            text: rules.missing_result_text(),
            details: rules.pairing().missing_details,
        }
    }

    pub fn shape(&self) -> PairingShape {
        PairingShape::Result {
            id: Some(self.id.clone()),
            name: Some(self.name.clone()),
            invented: StubMark::ByText,
        }
    }

    /// Builds the result message with the time `now_ms`.
    pub fn message(&self, now_ms: Moment) -> Value {
        let block = Object::from([("type", "text"), ("text", self.text)]);
        let mut message = Object::from([
            ("role", Value::from("toolResult")),
            ("toolCallId", Value::from(self.id.clone())),
            ("toolName", Value::from(self.name.clone())),
            ("content", Value::Array(vec![Value::Object(block)])),
        ]);
        if self.details != MissingDetails::None {
            let mut details = Object::from([(MARK_KEY, Value::Bool(true))]);
            if self.details == MissingDetails::MarkAndReason {
                details.set("reason", Value::from("missing_tool_result"));
            }
            message.set("details", Value::Object(details));
        }
        message.set("isError", Value::Bool(true));
        message.set("timestamp", Value::Number(now_ms.get()));
        Value::Object(message)
    }

    /// Returns its tokens under pi's estimate (compaction 1.5).
    pub fn tokens(&self) -> Tokens {
        // The texts are ASCII, so bytes equal UTF-16 units.
        Tokens((self.text.len() as f64 / CHARS_PER_TOKEN).ceil())
    }
}

/// Text of an invented result where a model is called through the Responses API (compaction 6.8).
const SHORT_RESULT_TEXT: &str = "aborted";
/// Text of an invented result (compaction 6.3), first that of clawdbot, as the gateway was called.
const MISSING_RESULT_TEXTS: [&str; 2] = [
    "[clawdbot] missing tool result in session history; inserted synthetic error result for transcript repair.",
    "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair.",
];

/// A version's repair for one model.
#[derive(Debug, Clone, Copy)]
pub struct RepairRules {
    pub rules: &'static Rules,
    /// The model is called through the Responses API.
    pub is_responses_api: bool,
}

/// The repair of the reference release.
impl Default for RepairRules {
    fn default() -> Self {
        Self { rules: Ruleset::default().rules(), is_responses_api: false }
    }
}

impl RepairRules {
    pub fn pairing(self) -> &'static PairingRule {
        &self.rules.pairing
    }

    /// Returns the text of an invented result.
    pub(super) fn missing_result_text(self) -> &'static str {
        let [of_clawdbot, of_openclaw] = MISSING_RESULT_TEXTS;
        match self.rules.marker {
            _ if self.is_responses_api && self.rules.pairing.short_for_responses => SHORT_RESULT_TEXT,
            marker if marker.starts_with("clawdbot.") => of_clawdbot,
            _ => of_openclaw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::js;
    use crate::store::measure::pi_chars;

    fn shape(ruleset: Ruleset, json: &str) -> PairingShape {
        shape_of(&js::parse(json).unwrap(), &ruleset.rules().pairing)
    }

    #[test]
    fn calls_of_all_three_types_are_seen_and_those_without_an_id_are_not() {
        let json = r#"{"role":"assistant","content":[{"type":"toolUse","id":"a"},{"type":"toolCall","id":""},
                {"type":"functionCall","id":" ","name":" "},{"type":"text","id":"x"},null,"toolCall"]}"#;
        let call =
            |id: &str, name: Option<&str>| PairedCall { id: id.into(), name: name.map(JsString::from) };
        let calls = vec![call("a", None), call(" ", Some(" "))];
        assert_eq!(shape(Ruleset::V2026_3_2, json), PairingShape::Assistant { calls, failed: false });
    }

    #[test]
    fn an_answer_that_failed_or_was_stopped_is_marked() {
        for (stop, expected) in [("error", true), ("aborted", true), ("length", false)] {
            let json = format!(r#"{{"role":"assistant","stopReason":"{stop}","content":[]}}"#);
            let PairingShape::Assistant { failed, .. } = shape(Ruleset::V2026_3_2, &json) else { panic!() };
            assert_eq!(failed, expected, "{stop}");
        }
    }

    #[test]
    fn the_id_of_a_result_has_two_spellings_and_six_in_newer_releases() {
        let id = |ruleset, json: &str| match shape(ruleset, json) {
            PairingShape::Result { id, .. } => id.map(|id| id.to_string_lossy()),
            _ => panic!("a result"),
        };
        let both = |json: &str| [Ruleset::V2026_3_2, Ruleset::V2026_9_6].map(|ruleset| id(ruleset, json));
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(both(r#"{"role":"toolResult","toolCallId":"a","toolUseId":"b"}"#), [some("a"), some("a")]);
        assert_eq!(both(r#"{"role":"toolResult","toolCallId":"","toolUseId":"b"}"#), [some("b"), some("b")]);
        assert_eq!(both(r#"{"role":"toolResult","toolCallId":" a "}"#), [some(" a "), some("a")]);
        assert_eq!(both(r#"{"role":"toolResult","call_id":"a"}"#), [None, some("a")]);
        assert_eq!(both(r#"{"role":"toolResult","toolCallId":5}"#), [None, None]);
    }

    #[test]
    fn a_synthetic_result_has_the_predicted_size_and_is_recognised() {
        for (ruleset, is_responses_api, tokens) in [
            (Ruleset::V2026_1_24, false, 27.0),
            (Ruleset::V2026_3_2, true, 27.0),
            (Ruleset::V2026_4_25, true, 2.0),
            (Ruleset::V2026_9_6, false, 27.0),
        ] {
            let rules = RepairRules { rules: ruleset.rules(), is_responses_api };
            let missing = MissingResult::for_call(&PairedCall { id: "a".into(), name: None }, rules);
            let message = missing.message(Moment(5.0));
            let counted = pi_chars(&message).map(|chars| chars.to_tokens(CHARS_PER_TOKEN).ceil());
            assert_eq!((counted, missing.tokens()), (Ok(Tokens(tokens)), Tokens(tokens)));
            assert!(message.get("toolName").unwrap().str_is("unknown"));
            assert_eq!(missing.text.starts_with("[clawdbot]"), ruleset == Ruleset::V2026_1_24);
            if missing.text.len() > 10 {
                assert_eq!(shape_of(&message, rules.pairing()), missing.shape());
            }
        }
    }
}
