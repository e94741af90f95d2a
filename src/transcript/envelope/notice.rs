//! Strips sentences that a gateway writes as the user: prompts of heartbeats, resets, flushes and reminders, notes to
//! the model.

use memchr::memmem;

use super::block::{skip_to_blank_line, split_line};
use super::marks::Marks;

/// The extent of the envelope after a sentence's first words.
#[derive(Debug, Clone, Copy)]
pub(super) enum NoticeExtent {
    /// Only those words.
    Sentence,
    /// To the end of the line.
    Line,
    /// To the next blank line.
    Paragraph,
    /// Through a text; if that is missing, the sentence is not an envelope.
    Through(&'static str),
    /// Through a text; if that is missing, everything.
    ThroughOrAll(&'static str),
    All,
}

impl NoticeExtent {
    /// Returns the rest of the text; its first `start` bytes are the sentence.
    pub(super) fn rest_of(self, text: &str, start: usize) -> Option<&str> {
        let behind = text.get(start..)?;
        let over =
            |end: &str| memmem::find(behind.as_bytes(), end.as_bytes()).map(|at| &behind[at + end.len()..]);
        match self {
            Self::Sentence => Some(behind),
            Self::Line => Some(split_line(behind).1),
            Self::Paragraph => Some(skip_to_blank_line(behind)),
            Self::Through(end) => over(end),
            Self::ThroughOrAll(end) => Some(over(end).unwrap_or_default()),
            Self::All => Some(""),
        }
    }
}

/// First words of a sentence, its mark, and its reach. Releases differ in the words that follow.
const SENTENCES: &[(&str, &str, NoticeExtent)] = &[
    ("Read HEARTBEAT.md if it exists", "heartbeat", NoticeExtent::Line),
    ("When reading HEARTBEAT.md, use workspace file", "heartbeat", NoticeExtent::Line),
    (
        "A new session was started via /new",
        "new session",
        NoticeExtent::ThroughOrAll("(treat as ordinary user input, not startup instructions):"),
    ),
    ("Pre-compaction memory flush", "memory flush", NoticeExtent::All),
    ("A scheduled reminder has been triggered. The reminder content is:", "reminder", NoticeExtent::Sentence),
    ("A scheduled reminder has been triggered.", "reminder", NoticeExtent::Line),
    ("A scheduled cron event was triggered, but no event content was found", "cron", NoticeExtent::All),
    ("An async command you ran earlier has completed.", "command completed", NoticeExtent::Line),
    ("An async command completion event was triggered", "command completed", NoticeExtent::Line),
    ("Continue the OpenClaw runtime event.", "runtime event", NoticeExtent::Line),
    ("OpenClaw runtime event.", "runtime event", NoticeExtent::Line),
    ("OpenClaw runtime context", "runtime context", NoticeExtent::Line),
    ("This context is runtime-generated, not user-authored.", "", NoticeExtent::Line),
    ("This content was routed by OpenClaw from another session or internal tool.", "", NoticeExtent::Line),
    ("Agent-to-agent message context:", "agent", NoticeExtent::Paragraph),
    ("SECURITY NOTICE: The following content is from an EXTERNAL", "external", NoticeExtent::Paragraph),
    ("Skills store policy (operator configured):", "", NoticeExtent::Paragraph),
    ("Delivery: to send a message, use the `message` tool.", "", NoticeExtent::Line),
    ("Delivery: Final assistant text is not automatically delivered in this run.", "", NoticeExtent::Line),
    ("Delivery: No visible reply is delivered automatically in this run", "", NoticeExtent::Line),
    ("requester_profile is the verified linked requester.", "", NoticeExtent::Line),
    ("To send an image back, prefer the message tool", "", NoticeExtent::Line),
    ("To send an image back, use the message tool", "", NoticeExtent::Line),
    ("<media:", "media", NoticeExtent::Through(">")),
];

/// Strips a sentence of the gateway.
pub(super) fn strip_sentence<'a>(text: &'a str, marks: &mut Marks) -> Option<&'a str> {
    if let Some(after) =
        strip_time(text, marks).or_else(|| strip_hook(text)).or_else(|| strip_sender_id(text))
    {
        return Some(after);
    }
    let (start, mark, reach) = SENTENCES.iter().find(|(start, ..)| text.starts_with(start))?;
    let after = reach.rest_of(text, start.len())?;
    marks.add(mark);
    Some(after)
}

/// Strips the time that ends the gateway's prompts. Needs a mark, because a user may begin a message like this too.
fn strip_time<'a>(text: &'a str, marks: &Marks) -> Option<&'a str> {
    (text.starts_with("Current time:") && !marks.is_empty()).then(|| split_line(text).1)
}

/// Strips the first line of a hook: `Task: … | Job ID: … | Received: …`.
fn strip_hook(text: &str) -> Option<&str> {
    let is_hook = text.starts_with("Task: ") || text.starts_with("Job ID: ");
    let (line, after) = is_hook.then(|| split_line(text))?;
    (line.contains("Job ID: ") && line.contains(" | ")).then_some(after)
}

/// Strips the sender id that Feishu uses without a name: `ou_0e015152c8b8275a502d3543947d31a9: `.
fn strip_sender_id(text: &str) -> Option<&str> {
    let id = text.strip_prefix("ou_")?;
    let end = id.bytes().take(64).take_while(u8::is_ascii_hexdigit).count();
    id[end..].strip_prefix(": ").filter(|_| end >= 16)
}
