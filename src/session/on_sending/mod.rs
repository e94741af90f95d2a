//! How the gateway changes messages when it sends them; the transcript keeps them as they were (releases R74).

mod added_texts;
mod retries;
mod run_line;

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::bodies;
use crate::gateway::thinking::request_thinks;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, Role, StopReason};
use crate::store::measure::{content_sizes, role_of};
use crate::units::{Chars, Tokens};

/// Chars per token of the estimate.
const CHARS_PER_TOKEN: f64 = 4.0;

/// Joins the texts of blocks.
fn joined_texts(blocks: &[Value]) -> String {
    blocks.iter().filter_map(|block| block.get("text")?.as_str()).map(JsString::to_string_lossy).collect()
}

/// Texts that the gateway adds to a message when it sends it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AddedText {
    /// Position of the message in the list, from 0; the list's length, or more, for a message of its own.
    pub message: usize,
    /// The text before its first text, or the message of its own.
    pub before: String,
    /// The text after its last text.
    pub after: String,
    /// Estimated tokens of both.
    pub tokens: Tokens,
}

impl AddedText {
    fn before(message: usize, before: impl Into<String>) -> Self {
        Self { message, before: before.into(), ..Self::default() }
    }

    fn estimated(self) -> Self {
        let units = self.before.encode_utf16().count() + self.after.encode_utf16().count();
        Self { tokens: Chars::from_len(units).to_tokens(CHARS_PER_TOKEN), ..self }
    }
}

/// Thinking of an answer that the gateway leaves out when it sends it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WithheldThinking {
    /// Position of the message in the list, from 0.
    pub message: usize,
    /// Estimated tokens of the thinking.
    pub tokens: Tokens,
}

/// How the gateway changes a list of messages when it sends them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SendingChanges {
    /// Added texts, in the order of the messages.
    pub added: Vec<AddedText>,
    /// Thinking of earlier answers that is left out.
    pub withheld: Vec<WithheldThinking>,
}

/// As much of a message as decides how it is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    role: Role,
    /// [`StopReason::Other`] for all but answers.
    stop: StopReason,
    thinking: Chars,
}

impl Shape {
    fn of_size(size: &MessageSize) -> Self {
        Self { role: size.role, stop: size.stop_reason, thinking: size.thinking_chars.get() }
    }

    fn of_message(message: &Value) -> Self {
        let stop = message.get("stopReason").and_then(Value::as_str);
        let stop = stop.map_or(StopReason::Other, |stop| StopReason::from_text(&stop.to_string_lossy()));
        Self { role: role_of(message), stop, thinking: content_sizes(message).thinking_chars.get() }
    }

    fn is_failed(&self) -> bool {
        self.role == Role::Assistant && matches!(self.stop, StopReason::Error | StopReason::Aborted)
    }

    /// Whether it is sent as a message of the user.
    fn is_sent_by_user(&self) -> bool {
        !matches!(self.role, Role::Assistant | Role::ToolResult | Role::System | Role::Other)
    }
}

/// A list of messages whose texts are read where they decide.
struct Messages<'a> {
    shapes: &'a [Shape],
    read: &'a dyn Fn(usize) -> Result<Value, BodyError>,
}

impl LoadedSession {
    /// Reads the messages of the context that sending changes, and returns the changes.
    ///
    /// # Errors
    /// When a message cannot be read again.
    pub fn sending_changes(&self) -> Result<SendingChanges, BodyError> {
        let messages = &self.context.messages;
        let shapes: Vec<Shape> = messages.iter().map(|message| Shape::of_size(&message.size)).collect();
        let read = |at: usize| bodies::read_message(&self.source, &self.index, &messages[at]);
        self.changes_of(&Messages { shapes: &shapes, read: &read })
    }

    /// Returns the changes of a list of messages, such as that of a plan.
    ///
    /// # Errors
    /// Never: the messages are read already.
    pub fn sending_changes_of(&self, messages: &[Value]) -> Result<SendingChanges, BodyError> {
        let shapes: Vec<Shape> = messages.iter().map(Shape::of_message).collect();
        let read = |at: usize| Ok(messages[at].clone());
        self.changes_of(&Messages { shapes: &shapes, read: &read })
    }

    fn changes_of(&self, messages: &Messages<'_>) -> Result<SendingChanges, BodyError> {
        let mut added = self.stamped(messages)?;
        added.extend(self.joined_failures(messages)?);
        self.mark_retry(messages, &mut added)?;
        self.add_run_line(messages, &mut added)?;
        added.sort_by_key(|text| text.message);
        let added = added.into_iter().map(AddedText::estimated).collect();
        Ok(SendingChanges { added, withheld: self.withheld_thinking(messages.shapes) })
    }

    /// Returns the last entry of the path that is no note of the gateway.
    fn last_record(&self) -> Option<EntryIx> {
        let is_record = |ix: &&EntryIx| self.index.entry(**ix).kind != EntryKind::Custom;
        self.context.path.iter().rev().find(is_record).copied()
    }
}

/// Adds to the text of a message, or a new one.
fn text_of(added: &mut Vec<AddedText>, message: usize) -> &mut AddedText {
    let at = added.iter().position(|text| text.message == message).unwrap_or(added.len());
    if at == added.len() {
        added.push(AddedText { message, ..AddedText::default() });
    }
    &mut added[at]
}

// Thinking that is left out: that of earlier answers for some models (releases R18), and all but that of a tool turn in
// progress where the request itself does not think.

impl LoadedSession {
    /// Returns the thinking that is left out of a list of messages.
    fn withheld_thinking(&self, shapes: &[Shape]) -> Vec<WithheldThinking> {
        let kept = match (self.requests_think(), self.drops_thinking()) {
            (true, false) => return Vec::new(),
            (true, true) => last_answer(shapes),
            (false, _) => active_tool_turn(shapes),
        };
        let thinks = |(at, shape): &(usize, &Shape)| {
            shape.role == Role::Assistant && shape.thinking > Chars::ZERO && Some(*at) != kept
        };
        let withheld = |(message, shape): (usize, &Shape)| WithheldThinking {
            message,
            tokens: shape.thinking.to_tokens(CHARS_PER_TOKEN),
        };
        shapes.iter().enumerate().filter(thinks).map(withheld).collect()
    }

    /// Whether the next request asks the model to think, or sends thinking anyway.
    fn requests_think(&self) -> bool {
        let is_asked =
            self.ruleset.id.rules().sending.has_times() && self.route.is_anthropic_messages(&self.provider);
        let level = self.context.thinking_level.and_then(|level| self.index.values.text(level));
        let names = (self.provider.clone(), self.model.clone());
        !is_asked || request_thinks(&self.model, level.as_deref(), self.max_tokens(&names))
    }
}

fn last_answer(shapes: &[Shape]) -> Option<usize> {
    shapes.iter().rposition(|shape| shape.role == Role::Assistant)
}

/// Returns the answer whose results end the list.
fn active_tool_turn(shapes: &[Shape]) -> Option<usize> {
    let before = shapes.iter().rposition(|shape| shape.role != Role::ToolResult)?;
    (before + 1 < shapes.len() && shapes[before].role == Role::Assistant).then_some(before)
}

// Failed answers, which some providers receive as the beginning of the answer after them: their APIs take one answer
// at a time, so the gateway joins neighbours, and the joined answer ends as the last of them did.

/// The text of an answer that failed before it had content.
const FAILED_BEFORE_CONTENT: &str = "[assistant turn failed before producing content]";

impl LoadedSession {
    /// Returns the texts of failed answers, before the answers that they are joined with.
    fn joined_failures(&self, messages: &Messages<'_>) -> Result<Vec<AddedText>, BodyError> {
        if !self.ruleset.id.rules().sending.joins_failed_answers() {
            return Ok(Vec::new());
        }
        let running = running_turn(messages.shapes);
        let (mut added, mut pending) = (Vec::new(), String::new());
        for (at, shape) in messages.shapes.iter().enumerate().take(running) {
            if shape.is_failed() {
                pending += &text_if_joined(&(messages.read)(at)?);
            } else {
                let text = std::mem::take(&mut pending);
                let is_joined = shape.role == Role::Assistant && !text.is_empty();
                added.extend(is_joined.then(|| AddedText::before(at, text)));
            }
        }
        Ok(added)
    }
}

/// Returns where the turn begins that is going on, whose failed answers the gateway has already dropped; the end of the
/// list if none is.
fn running_turn(shapes: &[Shape]) -> usize {
    let is_running = shapes.last().is_some_and(|last| last.role == Role::ToolResult);
    let begun = shapes.iter().rposition(|shape| shape.role == Role::User).filter(|_| is_running);
    begun.unwrap_or(shapes.len())
}

/// Returns the text of a failed answer; empty if its API takes neighbouring answers one by one.
fn text_if_joined(answer: &Value) -> String {
    let api = answer.get("api").and_then(Value::as_str).map(JsString::to_string_lossy).unwrap_or_default();
    if api != "openai-completions" && !api.starts_with("google-") {
        return String::new();
    }
    let blocks = answer.get("content").and_then(Value::as_array).unwrap_or_default();
    if blocks.is_empty() {
        return FAILED_BEFORE_CONTENT.to_owned();
    }
    joined_texts(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::eligibility::ModelRoute;
    use crate::gateway::ruleset::{Ruleset, RulesetChoice};
    use crate::session::testing::{loaded_session, message, result, transcript};

    fn thinking(model: &str, with: &str) -> String {
        message(&format!(
            r#"{{"role":"assistant","api":"anthropic-messages","provider":"anthropic","model":"{model}","stopReason":"stop","content":[{{"type":"thinking","thinking":"12345678","thinkingSignature":"s"}}{with}]}}"#
        ))
    }

    /// Two turns, the second of which waits for the next call.
    fn withheld(id: Ruleset, level: &str, model: &str) -> Vec<usize> {
        let user = || message(r#"{"role":"user","content":"go"}"#);
        let call = r#",{"type":"toolCall","id":"c","name":"exec","arguments":{}}"#;
        let level = format!(r#""type":"thinking_level_change","thinkingLevel":"{level}"}}"#);
        let lines = [
            level,
            user(),
            thinking(model, r#",{"type":"text","text":"done"}"#),
            user(),
            thinking(model, call),
            result("c", "exec", "one", ""),
        ];
        let session = loaded_session(&transcript(&lines), 1e5);
        let ruleset = RulesetChoice { id, ..session.ruleset.clone() };
        let route = ModelRoute { api: Some("anthropic-messages".to_owned()), base_url: None };
        let (provider, model) = ("anthropic".to_owned(), model.to_owned());
        let session = LoadedSession { provider, model, ruleset, route, ..session };
        session.sending_changes().unwrap().withheld.iter().map(|withheld| withheld.message).collect()
    }

    #[test]
    fn a_request_that_does_not_think_sends_the_thinking_of_the_tool_turn_only() {
        assert_eq!(withheld(Ruleset::V2026_7_1, "off", "claude-sonnet-4-5"), [1]);
        assert!(withheld(Ruleset::V2026_7_1, "high", "claude-sonnet-4-5").is_empty());
        assert!(withheld(Ruleset::V2026_6_11, "off", "claude-sonnet-4-5").is_empty());
    }

    #[test]
    fn older_models_are_sent_the_thinking_of_the_last_answer() {
        assert_eq!(withheld(Ruleset::V2026_7_1, "high", "claude-3-7-sonnet"), [1]);
        assert_eq!(active_tool_turn(&[]), None);
    }
}

#[cfg(test)]
mod failed_answers_tests {
    use super::*;
    use crate::store::entry::StopReason;
    use crate::units::Chars;

    use crate::gateway::ruleset::{Ruleset, RulesetChoice};
    use crate::session::testing::{loaded_session, message, transcript};

    fn failed(api: &str, content: &str) -> String {
        message(&format!(
            r#"{{"role":"assistant","api":"{api}","provider":"p","model":"m","stopReason":"error","errorMessage":"402","content":{content}}}"#
        ))
    }

    fn joined(id: Ruleset, failed: &[String]) -> Vec<(usize, String)> {
        let user = message(r#"{"role":"user","content":"go"}"#);
        let answer =
            message(r#"{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"done"}]}"#);
        let lines = [&[user][..], failed, &[answer]].concat();
        let session = loaded_session(&transcript(&lines), 1e5);
        let session = LoadedSession { ruleset: RulesetChoice { id, ..session.ruleset.clone() }, ..session };
        session.sending_changes().unwrap().added.into_iter().map(|text| (text.message, text.before)).collect()
    }

    #[test]
    fn a_failed_answer_begins_the_next_one_where_the_api_takes_one_at_a_time() {
        let empty = [failed("openai-completions", "[]")];
        let expected = [(2, FAILED_BEFORE_CONTENT.to_owned())];
        assert_eq!(joined(Ruleset::V2026_7_1, &empty), expected);
        assert_eq!(joined(Ruleset::V2026_5_28, &empty), expected);
        assert!(joined(Ruleset::V2026_4_24, &empty).is_empty(), "not sent");
        assert!(joined(Ruleset::V2026_7_1, &[failed("anthropic-messages", "[]")]).is_empty());
    }

    #[test]
    fn a_turn_that_goes_on_has_dropped_its_failed_answers() {
        let shape = |role| Shape { role, stop: StopReason::Other, thinking: Chars::ZERO };
        let turn = [Role::User, Role::Assistant, Role::User, Role::Assistant, Role::ToolResult].map(shape);
        assert_eq!((running_turn(&turn), running_turn(&turn[..4])), (2, 4));
    }

    #[test]
    fn failed_answers_in_a_row_are_joined_with_their_texts() {
        let half = failed("openai-completions", r#"[{"type":"text","text":"half"}]"#);
        let both = [failed("openai-completions", "[]"), half];
        assert_eq!(joined(Ruleset::V2026_7_1, &both), [(3, format!("{FAILED_BEFORE_CONTENT}half"))]);
    }
}
