//! The line about the run, which 2026.9.6 moves from the system prompt to the first message of the user where the API has
//! no part of the system prompt for it.

use super::{AddedText, Messages, text_of};
use crate::gateway::ruleset::Sending;
use crate::js::Value;
use crate::session::LoadedSession;
use crate::store::body::BodyError;
use crate::store::entry::Role;

/// A value of the gateway's machine or its plug-ins.
const UNKNOWN: &str = "…";

impl LoadedSession {
    /// Adds the line about the run after the first message of the user.
    pub(super) fn add_run_line(
        &self,
        messages: &Messages<'_>,
        added: &mut Vec<AddedText>,
    ) -> Result<(), BodyError> {
        let is_moved = self.ruleset.id.rules().sending == Sending::RunLine
            && self.route.api.as_deref() == Some("openai-completions");
        let Some(first) = messages.shapes.iter().position(super::Shape::is_sent_by_user).filter(|_| is_moved)
        else {
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

#[cfg(test)]
mod tests {
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
