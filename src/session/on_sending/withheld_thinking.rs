//! Thinking that is left out: that of earlier answers for some models (releases R18), and all but that of a tool turn in
//! progress where the request itself does not think.

use super::{CHARS_PER_TOKEN, Shape, WithheldThinking};
use crate::gateway::thinking::request_thinks;
use crate::session::LoadedSession;
use crate::store::entry::Role;
use crate::units::Chars;

impl LoadedSession {
    /// Returns the thinking that is left out of a list of messages.
    pub(super) fn withheld_thinking(&self, shapes: &[Shape]) -> Vec<WithheldThinking> {
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
