//! Failed answers, which some providers receive as the beginning of the answer after them: their APIs take one answer
//! at a time, so the gateway joins neighbours, and the joined answer ends as the last of them did.

use super::{AddedText, Messages, Shape, joined_texts};
use crate::js::{JsString, Value};
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::Role;

/// The text of an answer that failed before it had content.
const FAILED_BEFORE_CONTENT: &str = "[assistant turn failed before producing content]";

impl LoadedSession {
    /// Returns the texts of failed answers, before the answers that they are joined with.
    pub(super) fn joined_failures(&self, messages: &Messages<'_>) -> Result<Vec<AddedText>, BodyError> {
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
