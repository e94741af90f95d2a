//! Extracts a user's words from a channel's envelope: blocks of metadata, each under a line that announces it.

use crate::js::{self, JsString, Value};

/// End of the line above a block of metadata.
const METADATA: &str = "(untrusted metadata):";
/// Start of the line above the block that names the sender.
const SENDER: &str = "Sender";

/// A message without its envelope.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserText {
    /// The sender, if the envelope names one.
    pub(super) sender: Option<String>,
    pub(super) text: String,
}

pub(super) fn strip_envelope(text: &str) -> UserText {
    let (mut by, mut kept): (Option<String>, Vec<&str>) = (None, Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.trim_end().ends_with(METADATA) {
            kept.push(line);
            continue;
        }
        if lines.next_if(|next| next.trim_start().starts_with("```")).is_none() {
            continue;
        }
        let mut block = String::new();
        for inner in lines.by_ref().take_while(|inner| inner.trim() != "```") {
            block.push_str(inner);
        }
        if line.trim_start().starts_with(SENDER) {
            by = name(&block).or(by);
        }
    }
    UserText { sender: by, text: kept.join("\n").trim().to_owned() }
}

fn name(block: &str) -> Option<String> {
    let value = js::parse(block).ok()?;
    let text = |key| value.get(key).and_then(Value::as_str).map(JsString::to_string_lossy);
    text("name").or_else(|| text("label")).filter(|name| !name.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripping_an_envelope_removes_metadata_and_keeps_the_sender() {
        let text = "Conversation info (untrusted metadata):\n```json\n{\"message_id\": \"1\"}\n```\n\n\
            Sender (untrusted metadata):\n```json\n{\n \"label\": \"T\",\n \"name\": \"Tomas\"\n}\n```\n\nlook at\n```\ncode\n```";
        let expected =
            UserText { sender: Some("Tomas".to_owned()), text: "look at\n```\ncode\n```".to_owned() };
        assert_eq!(strip_envelope(text), expected);
    }

    #[test]
    fn text_without_an_envelope_is_unchanged() {
        for text in ["", "hello", "a\n```json\n{}\n```"] {
            assert_eq!(strip_envelope(text), UserText { sender: None, text: text.to_owned() });
        }
        assert_eq!(strip_envelope("x (untrusted metadata):\ny").text, "y");
    }
}
