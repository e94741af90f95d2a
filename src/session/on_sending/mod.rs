//! How the gateway changes messages when it sends them; the transcript keeps them as they were (releases R74).

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::bodies;
use crate::context::time_stamp::{stamp_at, time_stamp};
use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Sending;
use crate::gateway::thinking::request_thinks;
use crate::ids::EntryIx;
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, Role, StopReason};
use crate::store::intern::ValueIx;
use crate::store::measure::{content_sizes, role_of};
use crate::units::{Chars, Moment, Tokens};

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

/// The message that makes the model go on after a compaction inside a turn, such as that of a refused prompt.
const CONTINUATION: &str = "Continue the current task from the existing transcript, preserving completed work. If an action was \
                            interrupted, inspect its state before deciding whether to retry it. Do not restart the task or repeat \
                            completed actions.";

impl LoadedSession {
    /// Returns the time of each user message, and the message that continues a task.
    fn stamped(&self, messages: &Messages<'_>) -> Result<Vec<AddedText>, BodyError> {
        let sending = self.ruleset.id.rules().sending;
        if !sending.has_times() {
            return Ok(Vec::new());
        }
        let zone = user_zone(&self.config);
        let mut added = Vec::new();
        for (at, _) in messages.shapes.iter().enumerate().filter(|(_, shape)| shape.role == Role::User) {
            added.extend(time_stamp(&(messages.read)(at)?, &zone).map(|stamp| AddedText::before(at, stamp)));
        }
        if let Some(at) = self.compacted_in_turn_ms().filter(|_| sending == Sending::RunLine) {
            let stamp = stamp_at(at, &zone).unwrap_or_default();
            added.push(AddedText::before(messages.shapes.len(), stamp + CONTINUATION));
        }
        Ok(added)
    }

    /// Returns the time of the last compaction, if a message waits for its answer behind it: its prompt is sent again.
    fn compacted_in_turn_ms(&self) -> Option<Moment> {
        let last = self.last_record().map(|last| self.index.entry(last))?;
        let sizes = self.context.path.iter().rev().filter_map(|ix| self.index.entry(*ix).message);
        let before = sizes.map(|size| size.role).find(|role| *role != Role::CompactionSummary);
        let waits = before.is_some_and(|role| role != Role::Assistant);
        (last.kind == EntryKind::Compaction && waits).then_some(last.time_ms)
    }
}

/// Returns the configured zone of the user, otherwise that of this machine, which may not be the gateway's.
fn user_zone(config: &GatewayConfig) -> TimeZone {
    let named = config.value(&["agents", "defaults", "userTimezone"]).and_then(Value::as_str);
    let named = named.map(JsString::to_string_lossy);
    named.and_then(|name| TimeZone::get(name.trim()).ok()).unwrap_or_else(|| config.time_zone.clone())
}

// The line about the run, which 2026.9.6 moves from the system prompt to the first message of the user where the API has
// no part of the system prompt for it.

/// A value of the gateway's machine or its plug-ins.
const UNKNOWN: &str = "…";

impl LoadedSession {
    /// Adds the line about the run after the first message of the user.
    fn add_run_line(&self, messages: &Messages<'_>, added: &mut Vec<AddedText>) -> Result<(), BodyError> {
        let is_moved = self.ruleset.id.rules().sending == Sending::RunLine
            && self.route.api.as_deref() == Some("openai-completions");
        let Some(first) = messages.shapes.iter().position(Shape::is_sent_by_user).filter(|_| is_moved) else {
            return Ok(());
        };
        // A text goes on after a blank line; a list of blocks gets one more.
        let is_text = (messages.read)(first)?.get("content").and_then(Value::as_str).is_some();
        let newest = messages.shapes.iter().rposition(|shape| shape.role == Role::User);
        let newest = newest.map(|at| (messages.read)(at)).transpose()?;
        let line = self.run_line(newest.as_ref().and_then(channel_of));
        text_of(added, first).after = if is_text { "\n\n" } else { "" }.to_owned() + &line;
        Ok(())
    }

    /// Writes the line with the values that the store shows.
    fn run_line(&self, channel: Option<String>) -> String {
        let item = &self.item;
        let default = self.config.default_model(&item.agent);
        let parts = [
            Some(format!("agent={}", item.agent)),
            Some(format!("session={}", item.key.0)),
            Some(format!("sessionId={}", item.id)),
            Some(format!("host={UNKNOWN} | os={UNKNOWN} | node={UNKNOWN} | active_node=unknown")),
            Some(format!("model={}/{}", self.provider, self.model)),
            default.map(|model| format!("default_model={model}")),
            channel.map(|channel| format!("channel={channel} | capabilities={UNKNOWN}")),
        ];
        format!("Runtime: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(" | "))
    }
}

/// Returns the channel through which a message came.
fn channel_of(message: &Value) -> Option<String> {
    let transport = message.get("__openclaw")?.get("transport")?;
    Some(transport.get("channel")?.as_str()?.to_string_lossy())
}

const RETRY: &str = "[Retry after the previous model attempt failed or timed out]";
const NOTE_BEFORE: &str = "OpenClaw runtime context for the immediately preceding user message.\nThis context is runtime-generated, not \
                           user-authored. Keep internal details private.\n\n<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n";
const NOTE_AFTER: &str = "\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>";

impl LoadedSession {
    /// Marks the message that a fallback model is asked again. Since 2026.9 the message itself says so, which the store
    /// shows once that model has answered; before, it is sent once more with a note behind it.
    fn mark_retry(&self, messages: &Messages<'_>, added: &mut Vec<AddedText>) -> Result<(), BodyError> {
        let sending = self.ruleset.id.rules().sending;
        let Some(asked) = messages.shapes.iter().rposition(|shape| shape.role == Role::User) else {
            return Ok(());
        };
        if sending == Sending::RunLine && asked > 0 && self.is_run_by_fallback() {
            text_of(added, asked).before.push_str(&[RETRY, "\n\n"].concat());
        }
        let is_last = messages.shapes[asked + 1..].iter().all(Shape::is_failed);
        if sending == Sending::Times && asked > 0 && is_last && self.falls_back_next() {
            let message = (messages.read)(asked)?;
            let text = message.get("content").map(text_of_content).unwrap_or_default();
            let stamp = added.iter().find(|text| text.message == asked).map(|text| text.before.clone());
            let own = messages.shapes.len();
            added.push(AddedText::before(own, stamp.unwrap_or_default() + &text));
            added.push(AddedText::before(own + 1, format!("{NOTE_BEFORE}{RETRY}{NOTE_AFTER}")));
        }
        Ok(())
    }
}

impl LoadedSession {
    /// Whether a fallback model has answered in the turn that is going on.
    fn is_run_by_fallback(&self) -> bool {
        let entries = self.context.path.iter().rev().map(|ix| self.index.entry(*ix));
        let is_user = |size: MessageSize| size.role == Role::User;
        let run = entries.take_while(|entry| !entry.message.is_some_and(is_user));
        let answer = run.filter(|entry| entry.is_model_call()).last();
        answer.and_then(|answer| answer.model).is_some_and(|model| self.is_fallback(model))
    }

    /// Whether a fallback model answers although nobody chose it.
    fn is_fallback(&self, model: (ValueIx, ValueIx)) -> bool {
        let is_chosen = self.context.path.iter().any(|ix| {
            let entry = self.index.entry(*ix);
            entry.kind == EntryKind::ModelChange && entry.model == Some(model)
        });
        let name = self.model_names(model).map(|(provider, model)| format!("{provider}/{model}"));
        !is_chosen
            && self.config.fallback_models(&self.item.agent).any(|other| Some(other) == name.as_deref())
    }

    /// Whether the last answer failed for another reason than its size, and another model is asked next.
    fn falls_back_next(&self) -> bool {
        let Some(last) = self.last_record() else { return false };
        let entry = self.index.entry(last);
        let has_failed = entry.message.is_some_and(|size| size.stop_reason == StopReason::Error);
        if !has_failed || !entry.is_model_call() || self.overflow_at(last).is_some() {
            return false;
        }
        let name = entry.model.and_then(|model| self.model_names(model));
        let name = name.map(|(provider, model)| format!("{provider}/{model}"));
        let agent = &self.item.agent;
        let chain = self.config.default_model(agent).into_iter().chain(self.config.fallback_models(agent));
        chain.skip_while(|other| Some(*other) != name.as_deref()).count() > 1
    }
}

/// Returns the text of a message's content.
fn text_of_content(content: &Value) -> String {
    match content {
        Value::String(text) => text.to_string_lossy(),
        Value::Array(blocks) => joined_texts(blocks),
        _ => String::new(),
    }
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

#[cfg(test)]
mod added_texts_tests {
    use super::*;
    use crate::gateway::ruleset::{Ruleset, RulesetChoice};
    use crate::session::testing::{call, loaded_session, message, result, transcript};
    use crate::units::Tokens;

    #[test]
    fn after_a_compaction_inside_a_turn_the_model_is_told_to_go_on() {
        let compaction = r#""type":"compaction","summary":"s","firstKeptEntryId":"e1","tokensBefore":9}"#;
        let added = |behind: &[String]| {
            let first = [message(r#"{"role":"user","content":"go"}"#), call("c", "exec", "{}")];
            let session = loaded_session(&transcript(&[&first[..], behind].concat()), 1e5);
            let ruleset = RulesetChoice { id: Ruleset::V2026_9_2, ..session.ruleset.clone() };
            let added = LoadedSession { ruleset, ..session }.sending_changes().unwrap().added;
            added.iter().filter(|text| text.before.ends_with(CONTINUATION)).count()
        };
        let waiting = [result("c", "exec", "one", ""), compaction.to_owned()];
        assert_eq!(added(&waiting), 1);
        assert_eq!(added(&waiting[..1]), 0);
        let answered = message(r#"{"role":"assistant","stopReason":"stop","content":[]}"#);
        assert_eq!(added(&[waiting[0].clone(), answered, waiting[1].clone()]), 0, "the turn has ended");
    }

    #[test]
    fn user_messages_get_the_time_from_7_1_on() {
        let user = message(r#"{"role":"user","timestamp":1795785132374,"content":"go"}"#);
        let lines = transcript(&[user, call("c", "exec", "{}"), result("c", "exec", "one", "")]);
        let under = |id: Ruleset| {
            let session = loaded_session(&lines, 1e5);
            let ruleset = RulesetChoice { id, ..session.ruleset.clone() };
            LoadedSession { ruleset, ..session }.sending_changes().unwrap().added
        };
        let added = under(Ruleset::V2026_7_1);
        assert_eq!(added, [AddedText::before(0, "[Fri 2026-11-27 13:12 UTC] ").estimated()]);
        assert_eq!(added[0].tokens, Tokens(6.75));
        assert!(under(Ruleset::V2026_6_11).is_empty());
    }
}

#[cfg(test)]
mod run_line_tests {
    use super::*;
    use crate::gateway::eligibility::ModelRoute;
    use crate::gateway::ruleset::{Ruleset, RulesetChoice};
    use crate::session::testing::{loaded_session, message, transcript};

    fn after(id: Ruleset, api: &str, content: &str) -> Vec<String> {
        let user = message(&format!(r#"{{"role":"user","content":{content}}}"#));
        let session = loaded_session(&transcript(&[user]), 1e5);
        let ruleset = RulesetChoice { id, ..session.ruleset.clone() };
        let route = ModelRoute { api: Some(api.to_owned()), base_url: None };
        let session = LoadedSession { ruleset, route, ..session };
        session.sending_changes().unwrap().added.into_iter().map(|text| text.after).collect()
    }

    #[test]
    fn the_first_message_of_the_user_carries_it_in_one_api() {
        let text = after(Ruleset::V2026_9_2, "openai-completions", r#""go""#);
        assert!(
            text[0].starts_with("\n\nRuntime: agent=") && text[0].contains(" | host=… | os=… | "),
            "{text:?}"
        );
        let blocks = after(Ruleset::V2026_9_2, "openai-completions", r#"[{"type":"text","text":"go"}]"#);
        assert!(blocks[0].starts_with("Runtime: agent="), "{blocks:?}");
        assert!(
            after(Ruleset::V2026_9_2, "anthropic-messages", r#""go""#).is_empty(),
            "part of the system prompt"
        );
        assert!(after(Ruleset::V2026_7_1, "openai-completions", r#""go""#).is_empty());
        let through = r#""go","__openclaw":{"transport":{"channel":"telegram"}}"#;
        let text = after(Ruleset::V2026_9_2, "openai-completions", through);
        assert!(text[0].ends_with(" | channel=telegram | capabilities=…"), "{text:?}");
    }
}

#[cfg(test)]
mod retries_tests {
    use std::sync::Arc;

    use super::*;
    use crate::gateway::config::GatewayConfig;
    use crate::gateway::ruleset::{Ruleset, RulesetChoice};
    use crate::session::SendingChanges;
    use crate::session::testing::{loaded_session, message, transcript};

    fn answer(model: &str, stop: &str, text: &str) -> String {
        message(&format!(
            r#"{{"role":"assistant","api":"openai-completions","provider":"p","model":"{model}","stopReason":"{stop}","errorMessage":"402","content":[{{"type":"text","text":"{text}"}}]}}"#
        ))
    }

    /// A session of two models, whose second turn ends with these answers.
    fn changes(id: Ruleset, answers: &[String]) -> SendingChanges {
        let user = |text: &str| {
            message(&format!(r#"{{"role":"user","timestamp":1795785132374,"content":"{text}"}}"#))
        };
        let first = [user("one"), answer("m", "stop", "done"), user("two")];
        let session = loaded_session(&transcript(&[&first[..], answers].concat()), 1e5);
        let ruleset = RulesetChoice { id, ..session.ruleset.clone() };
        let models = r#"{"agents":{"defaults":{"model":{"primary":"p/m","fallbacks":["p/n"]}}}}"#;
        let mut config = GatewayConfig::empty();
        config.root = serde_json::from_str(models).unwrap();
        let config = Arc::new(config);
        LoadedSession { ruleset, config, ..session }.sending_changes().unwrap()
    }

    #[test]
    fn a_message_that_a_fallback_model_answers_says_that_it_is_a_retry() {
        let answered = changes(Ruleset::V2026_9_2, &[answer("n", "toolUse", "reading")]);
        assert_eq!(answered.added[1].before, format!("[Fri 2026-11-27 13:12 UTC] {RETRY}\n\n"));
        let own = changes(Ruleset::V2026_9_2, &[answer("m", "toolUse", "reading")]);
        assert_eq!(own.added[1].before, "[Fri 2026-11-27 13:12 UTC] ");
    }

    #[test]
    fn before_2026_9_the_message_is_sent_once_more_with_a_note() {
        let failed = changes(Ruleset::V2026_7_1, &[answer("m", "error", "")]).added;
        let own: Vec<&str> =
            failed.iter().filter(|text| text.message >= 4).map(|text| &*text.before).collect();
        assert_eq!(own, ["[Fri 2026-11-27 13:12 UTC] two", &format!("{NOTE_BEFORE}{RETRY}{NOTE_AFTER}")]);
        let last = changes(Ruleset::V2026_7_1, &[answer("n", "error", "")]).added;
        assert!(last.iter().all(|text| text.message < 4), "no model is left");
    }
}
