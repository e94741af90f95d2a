//! The texts of a message that a model reads, one by one: what a tokenizer or a fit has to count.

use std::borrow::Cow;

use crate::context::llm::to_llm;
use crate::js::{self, JsString, Value};
use crate::store::entry::Role;
use crate::store::measure::role_of;

/// Tokens an image is taken for where its text cannot be counted: pi's 4800 chars (compaction 1.5).
pub const IMAGE_TOKENS: u64 = 1200;

/// Hands every text of a message to `take`, as it is sent (compaction 4.6 to 4.9): texts, thinking, names and
/// arguments of calls. Answers the number of images. Ids, signatures and what a provider wraps around are not
/// known and not counted. A message that is not sent has no text.
pub fn each_text(message: &Value, take: &mut dyn FnMut(&JsString)) -> u32 {
    let sent = match role_of(message) {
        Role::User | Role::Assistant | Role::ToolResult => Cow::Borrowed(message),
        _ => match to_llm(message) {
            Ok(Some(sent)) => Cow::Owned(sent),
            _ => return 0,
        },
    };
    match sent.get("content") {
        Some(Value::String(text)) => {
            take(text);
            0
        }
        Some(Value::Array(blocks)) => blocks.iter().map(|block| each_of_block(block, take)).sum(),
        _ => 0,
    }
}

fn each_of_block(block: &Value, take: &mut dyn FnMut(&JsString)) -> u32 {
    let is = |kind| block.get("type").is_some_and(|value| value.str_is(kind));
    let mut text = |key| {
        if let Some(text) = block.get(key).and_then(Value::as_str) {
            take(text);
        }
    };
    if is("text") {
        text("text");
    } else if is("thinking") {
        text("thinking");
    } else if is("toolCall") {
        text("name");
        if let Some(arguments) = block.get("arguments") {
            take(&js::stringify(arguments).into());
        }
    }
    u32::from(is("image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(json: &str) -> (Vec<String>, u32) {
        let mut texts = Vec::new();
        let message = js::parse(json).expect("test JSON");
        let images = each_text(&message, &mut |text| texts.push(text.to_string_lossy()));
        (texts, images)
    }

    #[test]
    fn an_answer_is_its_text_its_thoughts_and_its_calls() {
        let (texts, images) = texts(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},
            {"type":"text","text":"so"},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a"}}]}"#,
        );
        assert_eq!(texts, ["hm", "so", "read", r#"{"path":"a"}"#]);
        assert_eq!(images, 0);
    }

    #[test]
    fn a_summary_is_sent_with_the_words_around_it() {
        let (texts, _) = texts(r#"{"role":"compactionSummary","summary":"We built it."}"#);
        assert_eq!(texts.len(), 1);
        assert!(texts[0].contains("<summary>\nWe built it.\n</summary>"), "{}", texts[0]);
    }

    #[test]
    fn what_is_not_sent_has_no_text_and_images_are_counted() {
        let hidden = r#"{"role":"bashExecution","command":"ls","output":"x","excludeFromContext":true}"#;
        assert_eq!(texts(hidden), (Vec::new(), 0));
        assert_eq!(texts(r#"{"role":"hook","content":"x"}"#), (Vec::new(), 0));
        let image =
            r#"{"role":"toolResult","content":[{"type":"image","data":"x"},{"type":"text","text":"a"}]}"#;
        assert_eq!(texts(image), (vec!["a".to_owned()], 1));
    }
}
