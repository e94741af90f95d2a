//! Strips the heads of a message: system events, and brackets before the words.

use memchr::memmem;

use super::block::{Marks, NoticeExtent, split_line};

/// First words of an event line.
const EVENT_PREFIXES: [&str; 2] = ["System:", "System (untrusted):"];
/// Longest head in brackets.
const MAX_HEAD_BYTES: usize = 1000;
/// Words of an event that become its mark.
const EVENT_WORDS: usize = 2;

/// First lines of the metadata that follows events.
const METADATA: [&str; 3] =
    ["\nConversation info (untrusted", "\nConversation info: ⟦", "\nSender (untrusted"];
/// Longest quote in an event.
const MAX_PREVIEW_BYTES: usize = 4096;

/// First words of a head in brackets, its mark, and its reach after the bracket.
const HEADS: &[(&str, &str, NoticeExtent)] = &[
    ("System Message", "system", NoticeExtent::Sentence),
    ("sessionId:", "", NoticeExtent::Sentence),
    ("message_id:", "", NoticeExtent::Sentence),
    ("from:", "", NoticeExtent::Sentence),
    ("media attached", "media", NoticeExtent::Sentence),
    ("Image: source:", "image", NoticeExtent::Sentence),
    ("User sent media without caption", "media", NoticeExtent::Sentence),
    ("OpenClaw heartbeat poll", "heartbeat", NoticeExtent::Sentence),
    ("OpenClaw session ", "new session", NoticeExtent::Sentence),
    ("OpenClaw room event", "room event", NoticeExtent::Through("\nCurrent event:\n")),
    ("Subagent Context", "subagent", NoticeExtent::Line),
    ("Subagent Task", "subagent", NoticeExtent::Sentence),
    ("Inter-session message", "inter-session", NoticeExtent::Line),
    ("Internal task completion event", "task completed", NoticeExtent::Line),
    ("Thread starter - for context", "thread", NoticeExtent::Paragraph),
    ("Thread history - for context", "thread", NoticeExtent::Paragraph),
    (
        "Chat messages since your last reply - for context",
        "",
        NoticeExtent::Through("[Current message - respond to this]"),
    ),
    ("Chat messages since your last reply", "", NoticeExtent::Through("[CURRENT MESSAGE")),
    ("Merged earlier messages", "", NoticeExtent::Through("[CURRENT MESSAGE")),
    ("Current message - respond to this", "", NoticeExtent::Sentence),
    ("Queued messages", "queued", NoticeExtent::Sentence),
    ("Queued announce", "queued", NoticeExtent::Sentence),
    ("Queue overflow", "queued", NoticeExtent::Paragraph),
    ("Forwarded from ", "forwarded", NoticeExtent::Sentence),
    ("Replying to ", "reply", NoticeExtent::Through("[/Replying]")),
    ("Quoting ", "reply", NoticeExtent::Through("[/Quoting]")),
];

/// Channels with a name of two words; all others are named by the first word.
const LONG_CHANNELS: [&str; 5] =
    ["Google Chat", "Zalo Personal", "Microsoft Teams", "MS Teams", "Nextcloud Talk"];
/// Channels whose head is recognised without a time.
const CHANNELS: [&str; 14] = [
    "WebChat",
    "WhatsApp",
    "Telegram",
    "Signal",
    "Slack",
    "Discord",
    "iMessage",
    "Teams",
    "Matrix",
    "Zalo",
    "BlueBubbles",
    "Feishu",
    "Lark",
    "LINE",
];
/// Labels before the words in a note about media.
const MEDIA_LABELS: [&str; 3] = ["User text:", "Transcript:", "Description:"];

/// Strips the lines of system events.
pub(super) fn strip_system_events<'a>(text: &'a str, marks: &mut Marks) -> Option<&'a str> {
    let mut rest = text;
    while let Some(line) = EVENT_PREFIXES.iter().find_map(|start| rest.strip_prefix(start)) {
        let (event, after) = split_line(line);
        mark_event(event.trim(), marks);
        rest = after.trim_start();
    }
    (rest.len() < text.len()).then(|| strip_preview(rest))
}

/// Strips the rest of a quote. An event quotes the message; after the first line of a longer quote, the other lines
/// precede the metadata and the message itself.
fn strip_preview(text: &str) -> &str {
    if text.starts_with('[') || METADATA.iter().any(|label| text.starts_with(label.trim_start())) {
        return text;
    }
    let near = &text.as_bytes()[..text.len().min(MAX_PREVIEW_BYTES)];
    let at = METADATA.iter().filter_map(|label| memmem::find(near, label.as_bytes())).min();
    at.map_or(text, |at| &text[at..])
}

/// Marks an event: `[time] Lark[main] message in group …` names a channel; `[time] Exec completed (…)` is the gateway's
/// own.
fn mark_event(event: &str, marks: &mut Marks) {
    let (time, what) = match event.strip_prefix('[').and_then(|event| event.split_once(']')) {
        Some((time, what)) if has_date(time) => (Some(time), what.trim_start()),
        _ => (None, event),
    };
    let end = what.find(|char: char| !char.is_alphanumeric()).unwrap_or(what.len());
    let (word, behind) = what.split_at(end);
    let behind = match behind.strip_prefix('[').and_then(|account| account.split_once(']')) {
        Some((_, behind)) => behind,
        None => behind,
    };
    let is_message = [" message", " DM", " reaction"].iter().any(|kind| behind.starts_with(kind));
    if is_message && word.starts_with(char::is_alphabetic) {
        marks.set_channel(word);
        if [" message in group", " message in #"].iter().any(|kind| behind.starts_with(kind)) {
            marks.set_group();
        }
        return;
    }
    let words = what.split_whitespace().take_while(|word| word.chars().all(is_word_char)).take(EVENT_WORDS);
    let words = words.collect::<Vec<_>>().join(" ").to_lowercase();
    let is_named = time.is_some() && !words.is_empty();
    marks.add(&if is_named { format!("system: {words}") } else { "system".to_owned() });
}

fn is_word_char(char: char) -> bool {
    char.is_alphabetic() || char == '-'
}

/// Strips a head in brackets, or the separator between queued messages.
pub(super) fn strip_brackets<'a>(text: &'a str, marks: &mut Marks) -> Option<&'a str> {
    if let Some(after) = strip_separator(text) {
        return Some(after);
    }
    let inner = text.strip_prefix('[')?;
    let near = (0..=MAX_HEAD_BYTES.min(inner.len())).rev().find(|at| inner.is_char_boundary(*at))?;
    let (line, _) = split_line(&inner[..near]);
    // Paths and names may contain a bracket, so a note about media ends with its line.
    let is_media = line.starts_with("media attached") && line.trim_end().ends_with(']');
    let end = if is_media { line.rfind(']')? } else { line.find(']')? };
    if let Some((_, mark, reach)) = HEADS.iter().find(|(start, ..)| line.starts_with(start)) {
        let after = reach.rest_of(inner, end + 1)?;
        marks.add(mark);
        // Strips the rest of `[Subagent Task]: count the crates` and `[CURRENT MESSAGE — reply to this]`.
        return Some(after.trim_start_matches([':', ']']));
    }
    if is_media_note(&line[..end]) {
        marks.add(&line[..end].to_lowercase());
        return Some(strip_labels(&inner[end + 1..]));
    }
    if mark_cron(&line[..end], marks) {
        return Some(&inner[end + 1..]);
    }
    if mark_channel(&line[..end], marks) {
        return Some(&inner[end + 1..]);
    }
    // A name may contain a bracket, so the head of a known channel ends after its time.
    let date =
        (end..line.len()).find(|at| is_date_at(line.as_bytes(), *at)).filter(|_| is_known_channel(line))?;
    let end = date + memchr::memchr(b']', &line.as_bytes()[date..])?;
    mark_channel(&line[..end], marks).then(|| &inner[end + 1..])
}

/// Strips `---` and `Queued #2 (from Alice)` between queued messages.
fn strip_separator(text: &str) -> Option<&str> {
    let line = text.strip_prefix("---\n").unwrap_or(text);
    let number = line.strip_prefix("Queued #")?;
    let (number, after) = split_line(number);
    let digits = number.trim_end().split(" (").next().unwrap_or_default();
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(after)
}

/// Marks `cron:<id> <name>`.
fn mark_cron(head: &str, marks: &mut Marks) -> bool {
    let Some(job) = head.strip_prefix("cron:") else { return false };
    let name = job.split_once(' ').map(|(_, name)| name.trim()).unwrap_or_default();
    marks.add(&format!("cron {name}"));
    true
}

/// Marks `Telegram Alice id:123 +2m 2026-02-26 06:13 UTC`, or accepts a bare time.
fn mark_channel(head: &str, marks: &mut Marks) -> bool {
    let is_head = has_date(head) || is_known_channel(head) && head.contains(" id:");
    if !is_head {
        return false;
    }
    if is_time(head) {
        return true;
    }
    let long = LONG_CHANNELS.into_iter().find(|name| head.starts_with(name));
    let name = long.or_else(|| head.split([' ', '[']).next()).unwrap_or_default();
    if !name.starts_with(char::is_alphabetic) {
        return true;
    }
    marks.set_channel(name);
    if [" id:-", "@g.us", " #", " Guild ", "group:", " Group "].iter().any(|sign| head.contains(sign)) {
        marks.set_group();
    }
    true
}

/// Whether a head begins with the name of a known channel.
fn is_known_channel(head: &str) -> bool {
    LONG_CHANNELS.iter().chain(&CHANNELS).any(|name| {
        head.strip_prefix(name).is_some_and(|after| after.is_empty() || after.starts_with([' ', '[']))
    })
}

/// Whether a head is only a time: `Thu 2026-02-26 06:13 UTC`.
fn is_time(head: &str) -> bool {
    let first = head.split(' ').next().unwrap_or_default();
    let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].contains(&first);
    let rest = if day { head[first.len()..].trim_start() } else { head };
    is_date_at(rest.as_bytes(), 0)
}

fn has_date(text: &str) -> bool {
    (0..text.len()).any(|at| is_date_at(text.as_bytes(), at))
}

/// Whether `2026-02-26 06:13` or `2026-02-26T06:13` begins at this byte.
fn is_date_at(text: &[u8], at: usize) -> bool {
    const SHAPE: &[u8] = b"0000-00-00 00:00";
    let Some(text) = text.get(at..at + SHAPE.len()) else { return false };
    text.iter().zip(SHAPE).all(|(byte, shape)| match shape {
        b'0' => byte.is_ascii_digit(),
        b' ' => matches!(byte, b' ' | b'T'),
        other => byte == other,
    })
}

/// Whether a head is `Audio` or `Image 2/3`, above a model's description of an attachment.
fn is_media_note(head: &str) -> bool {
    let mut words = head.split(' ');
    let is_kind = ["Audio", "Image", "Video"].contains(&words.next().unwrap_or_default());
    let number = words.next();
    let is_number =
        number.is_none_or(|number| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/'));
    is_kind && is_number && words.next().is_none()
}

/// Strips the label before the words of a note about media.
fn strip_labels(text: &str) -> &str {
    let text = text.trim_start();
    MEDIA_LABELS.iter().find_map(|label| text.strip_prefix(label)).unwrap_or(text)
}
