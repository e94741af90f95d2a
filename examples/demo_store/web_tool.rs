//! Tool calls that bring text from the web: a fetched page, a browser snapshot. The gateway marks such text as untrusted.
use super::json::{iso, pretty};
use super::rng::Rng;
use super::tool::ToolUse;
use super::transcript_writer::TranscriptWriter;
use serde_json::json;

/// Fetches a web page as text. The JSON payload is stored twice, as text and as details.
pub(super) fn web_fetch(scribe: &mut TranscriptWriter, url: &str, title: &str, body: &str) -> ToolUse {
    let took = scribe.rng.range(420, 2_900) as i64;
    let text = fenced(&mut scribe.rng, "Web Fetch", body);
    let title = fenced(&mut scribe.rng, "Web Fetch", title);
    let payload = json!({"url": url, "finalUrl": url, "status": 200, "contentType": "text/html", "title": title,
        "extractMode": "markdown", "extractor": "readability",
        "externalContent": {"untrusted": true, "source": "web_fetch", "wrapped": true},
        "truncated": body.len() >= 49_000, "length": text.len(), "rawLength": body.len(),
        "wrappedLength": text.len(), "fetchedAt": iso(scribe.now_ms + took), "tookMs": took, "text": text});
    ToolUse::new("web_fetch", json!({"url": url, "extractMode": "markdown"}), pretty(&payload), Some(payload))
        .after(took)
        .dense(3.7)
}

/// Takes a browser snapshot of a page.
pub(super) fn browser(scribe: &mut TranscriptWriter, url: &str, snapshot: &str) -> ToolUse {
    let target = scribe.rng.hex(32).to_uppercase();
    let text = fenced(&mut scribe.rng, "Browser", snapshot);
    let refs = snapshot.matches("[ref=").count();
    let details = json!({"ok": true, "format": "ai", "targetId": target, "url": url, "truncated": false,
        "refs": refs, "externalContent":
        {"untrusted": true, "source": "browser", "kind": "snapshot", "format": "ai", "wrapped": true}});
    ToolUse::new("browser", json!({"action": "snapshot", "targetUrl": url}), text, Some(details))
        .after(1_650)
        .dense(3.3)
}

/// Wraps text from outside in the gateway's markers for untrusted content.
fn fenced(rng: &mut Rng, source: &str, body: &str) -> String {
    let id = rng.hex(16);
    format!(
        "<<<EXTERNAL_UNTRUSTED_CONTENT id=\"{id}\">>>\nSource: {source}\n---\n{body}\n\
         <<<END_EXTERNAL_UNTRUSTED_CONTENT id=\"{id}\">>>"
    )
}
