//! Redacts the attachments of spawned sessions, so that no model sees them again (compaction 6.7a).

use crate::js::{JsString, Value};

const SPAWN_TOOL: &str = "sessions_spawn";
/// Placeholder that replaces an attachment's content.
const REDACTED: &str = "__OPENCLAW_REDACTED__";

/// Whether the calls of this tool are redacted; `name` must be trimmed.
pub(super) fn is_redacted(name: &JsString) -> bool {
    name.to_lowercase().eq_str(SPAWN_TOOL)
}

/// Redacts the attachments of a call in place. Returns true whenever the call has a list of attachments, even an empty
/// or already redacted one.
pub(super) fn redact(call: &mut Value) -> bool {
    let mut listed = false;
    for key in ["arguments", "input"] {
        let arguments = call.as_object_mut().and_then(|call| call.get_mut(key));
        let attachments = arguments.and_then(Value::as_object_mut).and_then(|a| a.get_mut("attachments"));
        if let Some(Value::Array(items)) = attachments {
            items.iter_mut().for_each(redact_one);
            listed = true;
        }
    }
    listed
}

/// Replaces the content; the key moves to the end.
fn redact_one(attachment: &mut Value) {
    if let Some(object) = attachment.as_object_mut()
        && object.remove("content").is_some()
    {
        object.set("content", Value::from(REDACTED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js;

    fn redacted(json: &str) -> (bool, String) {
        let mut call = js::parse(json).unwrap();
        (redact(&mut call), js::stringify(&call))
    }

    #[test]
    fn only_attachment_contents_are_redacted_and_move_to_the_end() {
        let call = r#"{"arguments":{"attachments":[{"content":"secret","name":"a"},"text",{"name":"b"},null]},"input":5}"#;
        let expected = r#"{"arguments":{"attachments":[{"name":"a","content":"__OPENCLAW_REDACTED__"},"text",{"name":"b"},null]},"input":5}"#;
        assert_eq!(redacted(call), (true, expected.to_owned()));
    }

    #[test]
    fn an_empty_list_counts_as_a_change_and_anything_else_does_not() {
        assert!(redacted(r#"{"input":{"attachments":[]}}"#).0);
        assert!(!redacted(r#"{"input":{"attachments":{}},"arguments":[]}"#).0);
    }

    #[test]
    fn the_name_is_compared_without_case() {
        assert!(is_redacted(&"Sessions_Spawn".into()));
        assert!(!is_redacted(&"sessions_spawn2".into()));
    }
}
