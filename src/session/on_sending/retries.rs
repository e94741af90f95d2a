//! The retry of a message by a fallback model, which the message or a note behind it says.

use super::{AddedText, Messages, joined_texts, text_of};
use crate::gateway::ruleset::Sending;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::{EntryKind, MessageSize, Role, StopReason};
use crate::store::intern::ValueIx;

const RETRY: &str = "[Retry after the previous model attempt failed or timed out]";
const NOTE_BEFORE: &str = "OpenClaw runtime context for the immediately preceding user message.\nThis context is runtime-generated, not \
                           user-authored. Keep internal details private.\n\n<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n";
const NOTE_AFTER: &str = "\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>";

impl LoadedSession {
    /// Marks the message that a fallback model is asked again. Since 2026.9 the message itself says so, which the store
    /// shows once that model has answered; before, it is sent once more with a note behind it.
    pub(super) fn mark_retry(
        &self,
        messages: &Messages<'_>,
        added: &mut Vec<AddedText>,
    ) -> Result<(), BodyError> {
        let sending = self.ruleset.id.rules().sending;
        let Some(asked) = messages.shapes.iter().rposition(|shape| shape.role == Role::User) else {
            return Ok(());
        };
        if sending == Sending::RunLine && asked > 0 && self.is_run_by_fallback() {
            text_of(added, asked).before.push_str(&[RETRY, "\n\n"].concat());
        }
        let is_last = messages.shapes[asked + 1..].iter().all(super::Shape::is_failed);
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
