//! Texts that the HTML and Markdown documents share.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::export::document::{Document, ExportedFate};
use crate::format::{format_number, format_timestamp, quantity};
use crate::js::{JsString, Value};
use crate::policy::Fate;
use crate::redact::SIGNATURE_KIND;
use crate::session::message::{PartKind, TextPart, parts_of_message};
use crate::store::entry::Role;
use crate::text::visible;

/// Returns facts about the session: name and value. Values are not sanitized yet.
pub(super) fn facts(document: &Document) -> Vec<(&'static str, String)> {
    let model = [document.provider.as_str(), document.model.as_str()];
    let model = model.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let window = document.window.tokens.map_or("unknown".to_owned(), format_number);
    let mut facts = vec![
        ("session", document.session.key.clone()),
        ("title", document.session.title.clone()),
        ("id", document.session.id.clone()),
        ("file", document.session.path.clone()),
        ("model", if model.is_empty() { "unknown".to_owned() } else { model }),
        ("window", format!("{window} tokens ({})", document.window.origin)),
        ("rules", document.ruleset.clone()),
        ("leaf", document.leaf.clone().unwrap_or_default()),
        ("exported", format_timestamp(document.now_ms).unwrap_or_default()),
        ("secrets", redacted(document)),
    ];
    if let Some(plan) = &document.plan {
        facts.push((
            "plan",
            format!(
                "messages ~{} → ~{} tokens",
                format_number(plan.tokens_before),
                format_number(plan.tokens_after)
            ),
        ));
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// Describes the redaction.
fn redacted(document: &Document) -> String {
    if document.shape_only {
        return "none: every word is replaced by one of the same shape".to_owned();
    }
    let Some(redacted) = &document.redacted else { return "not searched (--no-redact)".to_owned() };
    let signatures = Some((SIGNATURE_KIND, redacted.signatures)).filter(|(_, count)| *count > 0);
    let kinds: BTreeMap<&str, usize> = redacted.secrets.clone().into_iter().chain(signatures).collect();
    let each: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let words = if each.is_empty() { "none found".to_owned() } else { each.join(", ") };
    match redacted.images {
        0 => words,
        images => format!("{words}; {} omitted", quantity(images, "image")),
    }
}

/// `✂ cleared: reason (rule), ~900 → ~20`.
pub(super) fn fate(reported: &ExportedFate) -> String {
    let mut words =
        format!("{} {}: {}", reported.fate.sign(), reported.fate.word(), reported.reason.describe());
    if !reported.rule.is_empty() {
        let _ = write!(words, " ({})", reported.rule);
    }
    if reported.fate.is_change() {
        let _ = write!(
            words,
            ", ~{} → ~{}",
            format_number(reported.tokens_before),
            format_number(reported.tokens_after)
        );
    }
    words
}

/// Returns the parts of a message that the plan creates.
pub(super) fn new_message_parts(message: &Value) -> Vec<TextPart> {
    let role = message.get("role").and_then(Value::as_str).map(JsString::to_string_lossy);
    parts_of_message(message, role.as_deref().map(Role::from_text))
}

/// Returns the heading of a part; `None` for plain text.
pub(super) fn head(part: &TextPart) -> Option<String> {
    match &part.kind {
        PartKind::Text => None,
        PartKind::Thinking => Some("thinking".to_owned()),
        PartKind::Call { name, .. } => Some(format!("call {name}")),
        PartKind::Image { mime, chars } => Some(format!("image {mime}, {} chars", format_number(*chars))),
        PartKind::Error => Some("error".to_owned()),
        PartKind::Other => Some("JSON".to_owned()),
    }
}

/// Sanitizes a text line by line; tabs and line ends stay.
pub(super) fn sanitized(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.split('\t').map(visible).collect::<Vec<_>>().join("\t")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Returns every fate with its sign.
pub(super) fn legend() -> String {
    Fate::ALL.iter().map(|fate| format!("{} {}", fate.sign(), fate.word())).collect::<Vec<_>>().join(" · ")
}
