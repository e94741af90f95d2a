//! The content of a transcript: read line by line, and from an index, in the same form.

use clawscope::js::{self, Value, is_trimmed};
use clawscope::store::entry::{AppendMode, Entry, ParentKey, StopReason, Usage};
use clawscope::store::index::Index;
use clawscope::store::intern::{IdIx, ValueIx};
use clawscope::store::measure::CompactChars;
use clawscope::units::{Chars, Tokens};

use super::json::{Plain, parse};
use super::sizes::{Sizes, call_chars, digits, id, is, role, shown, sizes, usage_of, word};

/// A transcript.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) entries: Vec<Said>,
    pub(crate) lines: u64,
    pub(crate) bad_lines: u64,
}

/// One entry; numbers as texts, so that NaN equals itself.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    /// First byte, bytes, line.
    pub(crate) place: (u64, u32, u64),
    kind: String,
    id: String,
    null_id: bool,
    parent: String,
    /// `parentId` and `appendMode`.
    link: (&'static str, &'static str),
    time: String,
    reference: String,
    word: String,
    model: Option<(String, String)>,
    number: String,
    no_message: bool,
    excluded: bool,
    message: Option<Sizes>,
    /// Id, name and chars of each call.
    calls: Vec<(String, String, u32)>,
    /// The usage of model work outside the conversation.
    beside: Option<[String; 6]>,
}

/// Reads bytes as a runtime does: as text, trimmed, split at line feeds, each line parsed by itself.
pub(crate) fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let (mut offset, mut rename_hooks) = (0, false);
    let ended = bytes.strip_suffix(b"\n");
    let lines: Vec<&[u8]> = ended.unwrap_or(bytes).split(|byte| *byte == b'\n').collect();
    let texts: Vec<String> = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    let holds = |text: &String| !text.chars().all(is_trimmed);
    let last = texts.iter().rposition(holds).unwrap_or(0);
    let first = texts.iter().position(holds).unwrap_or(0);
    for (at, (line, text)) in lines.iter().zip(&texts).enumerate() {
        let text = if at == first { text.trim_start_matches(is_trimmed) } else { text };
        let text = if at == last { text.trim_end_matches(is_trimmed) } else { text };
        let place = (offset, line.len() as u32, at as u64 + 1);
        offset += line.len() as u64 + 1;
        let open = ended.is_none() && at + 1 == lines.len();
        let value = parse(text);
        // The text after the last line end may be an unfinished line.
        read.lines += u64::from(!open || value.is_some());
        match value {
            None => read.bad_lines += u64::from(!open && holds(&texts[at])),
            Some(value) if at == first => {
                rename_hooks =
                    value.get("version").and_then(Plain::number).is_none_or(|version| version < 3.0);
            }
            Some(value) => read.entries.extend(entry(&value, place, rename_hooks)),
        }
    }
    read
}

/// The types of entries that are known.
pub(crate) const KINDS: [&str; 13] = [
    "message",
    "thinking_level_change",
    "model_change",
    "compaction",
    "branch_summary",
    "session_info",
    "label",
    "custom",
    "custom_message",
    "reset",
    "leaf",
    "usage",
    "context_edit",
];

/// Returns the entry of a line; `None` for headers and `null`.
fn entry(line: &Plain, place: (u64, u32, u64), rename_hooks: bool) -> Option<Said> {
    if *line == Plain::Null || is(line, "session") {
        return None;
    }
    let kind = if matches!(line, Plain::Object(_)) {
        KINDS.into_iter().find(|kind| is(line, kind)).unwrap_or("unknown")
    } else {
        "scalar"
    };
    let parent = line.get("parentId");
    let mut said = Said {
        place,
        kind: kind.to_owned(),
        id: id(line.get("id")),
        null_id: line.get("id") == Some(&Plain::Null),
        parent: id(parent.filter(|parent| parent.truthy())),
        link: (
            match parent {
                None => "absent",
                Some(Plain::Null) => "null",
                Some(parent) if parent.truthy() => "named",
                Some(_) => "falsy",
            },
            match line.get("appendMode") {
                None => "absent",
                Some(mode) if mode.is("side") => "side",
                Some(_) => "other",
            },
        ),
        time: time(line.get("timestamp")),
        reference: id(None),
        word: word(None),
        number: digits(f64::NAN),
        ..Said::default()
    };
    if kind == "message" {
        message(&mut said, line.get("message"), rename_hooks);
    } else {
        other(&mut said, line, kind);
    }
    Some(said)
}

fn message(said: &mut Said, message: Option<&Plain>, rename_hooks: bool) {
    let Some(message) = message.filter(|message| **message != Plain::Null) else {
        said.no_message = true;
        return;
    };
    let mut message = message.clone();
    if let (true, Plain::Object(members)) = (rename_hooks, &mut message) {
        let custom = Plain::Text("custom".encode_utf16().collect());
        let hook = members.iter_mut().find(|(key, value)| is_role(key) && value.is("hookMessage"));
        if let Some((_, role)) = hook {
            *role = custom;
        }
    }
    said.excluded = message.get("excludeFromContext") == Some(&Plain::Bool(true));
    match role(&message) {
        "assistant" => {
            said.model = Some((word(message.get("provider")), word(message.get("model"))));
            let blocks = message.get("content").and_then(Plain::items).unwrap_or_default();
            let calls = blocks.iter().filter(|block| is(block, "toolCall"));
            said.calls =
                calls.map(|call| (id(call.get("id")), word(call.get("name")), call_chars(call))).collect();
            said.beside = billed(&message);
            said.word = word(message.get("responseId").filter(|id| id.truthy()));
            said.number = digits(message.get("timestamp").and_then(Plain::number).unwrap_or(f64::NAN));
        }
        "toolResult" => said.beside = spent(&message),
        _ => {}
    }
    said.message = Some(sizes(&message));
}

fn is_role(key: &[u16]) -> bool {
    key.iter().copied().eq("role".encode_utf16())
}

fn other(said: &mut Said, line: &Plain, kind: &str) {
    let field = |name: &str| word(line.get(name));
    let number = |value: Option<&Plain>| digits(value.and_then(Plain::number).unwrap_or(f64::NAN));
    let becomes = |role: &str, field: &str| {
        let text = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
        let mut members = vec![(text("role"), Plain::Text(text(role)))];
        members.extend(line.get(field).map(|value| (text(field), value.clone())));
        Some(sizes(&Plain::Object(members)))
    };
    match kind {
        "thinking_level_change" => said.word = field("thinkingLevel"),
        "model_change" => said.model = Some((field("provider"), field("modelId"))),
        "session_info" => said.word = field("name"),
        "label" => (said.word, said.reference) = (field("label"), id(line.get("targetId"))),
        "custom" => {
            said.word = field("customType");
            said.number = number(line.get("data").and_then(|data| data.get("timestamp")));
        }
        "compaction" => {
            said.reference = id(line.get("firstKeptEntryId"));
            said.number = number(line.get("tokensBefore"));
            said.beside = spent(line);
            said.message = becomes("compactionSummary", "summary");
        }
        "branch_summary" => {
            said.reference = id(line.get("fromId"));
            said.beside = spent(line);
            if line.get("summary").is_some_and(Plain::truthy) {
                said.message = becomes("branchSummary", "summary");
            }
        }
        "custom_message" => {
            said.word = field("customType");
            said.message = becomes("custom", "content");
        }
        "usage" => (said.word, said.beside) = (field("kind"), spent(line)),
        "context_edit" => said.reference = id(line.get("targetId")),
        "reset" => (said.word, said.reference) = (field("reason"), id(line.get("firstKeptEntryId"))),
        _ => {}
    }
}

/// Returns the bill of a failed call.
fn billed(message: &Plain) -> Option<[String; 6]> {
    let stop = message.get("stopReason").filter(|stop| stop.is("error") || stop.is("aborted"));
    let usage = message.get("usage").filter(|_| stop.is_some())?;
    let counts = ["input", "cacheRead", "cacheWrite", "output"];
    let all: f64 = counts.iter().map(|name| usage.get(name).and_then(Plain::number).unwrap_or(0.0)).sum();
    spent(message).filter(|_| all > 0.0)
}

fn spent(value: &Plain) -> Option<[String; 6]> {
    value.get("usage").filter(|usage| matches!(usage, Plain::Object(_))).map(usage_of)
}

/// A time as programs write it; other date forms of JavaScript are tested elsewhere.
fn time(value: Option<&Plain>) -> String {
    let text = value.and_then(Plain::units).map(String::from_utf16_lossy);
    // JavaScript knows no comma before the fraction of a second.
    let time = text.filter(|text| !text.contains(',')).and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let other = || js::date_value(value.and_then(as_value).as_ref()).get();
    digits(time.map_or_else(other, |time| time.as_millisecond() as f64))
}

fn as_value(plain: &Plain) -> Option<Value> {
    // A number that overflowed has no JSON.
    plain.number().map(Value::from).or_else(|| js::parse(&plain.json()).ok())
}

/// Reads the content from an index.
pub(crate) fn found(index: &Index) -> Read {
    let entries = index.entries.iter().enumerate().map(|(at, entry)| Said {
        beside: index.unanchored_usage.get(&clawscope::ids::EntryIx(at as u32)).map(usage_found),
        ..entry_found(index, entry)
    });
    Read { entries: entries.collect(), lines: index.line_count, bad_lines: index.bad_lines }
}

fn entry_found(index: &Index, entry: &Entry) -> Said {
    let calls = &index.tool_calls[entry.tool_calls.0 as usize..entry.tool_calls.1 as usize];
    Said {
        place: (entry.offset, entry.bytes().get() as u32, entry.line),
        kind: entry.kind.as_str().to_owned(),
        id: id_found(index, entry.id),
        null_id: entry.has_null_id,
        parent: id_found(index, entry.parent),
        link: (
            match entry.link.parent {
                ParentKey::Absent => "absent",
                ParentKey::Null => "null",
                ParentKey::Usable => "named",
                ParentKey::Falsy => "falsy",
            },
            match entry.link.append_mode {
                AppendMode::Absent => "absent",
                AppendMode::Side => "side",
                AppendMode::Other => "other",
            },
        ),
        time: digits(entry.time_ms.get()),
        reference: id_found(index, entry.reference),
        word: word_found(index, entry.payload),
        model: entry.model.map(|(provider, model)| (word_found(index, provider), word_found(index, model))),
        number: digits(entry.payload_number),
        no_message: entry.lacks_message,
        excluded: entry.is_excluded,
        message: entry.message.map(|size| Sizes {
            role: size.role.as_str().to_owned(),
            pi: shown(size.pi_chars.value().map(Chars::get)),
            prune: shown(size.prune_chars.value().map(Chars::get)),
            joined: digits(size.joined_chars.get()),
            blocks: (size.text_blocks, size.images),
            chars: (count(size.text_chars), count(size.thinking_chars), count(size.tool_call_chars)),
            tool: word_found(index, size.tool_name),
            call: id_found(index, size.call_id),
            stop: stop_found(size.stop_reason).to_owned(),
            usage: size.usage.as_ref().map(usage_found),
            marks: (size.is_error, size.is_no_reply, size.needs_body),
        }),
        calls: calls
            .iter()
            .map(|call| (id_found(index, call.id), word_found(index, call.name), count(call.chars)))
            .collect(),
        beside: None,
    }
}

fn count(chars: CompactChars) -> u32 {
    chars.get().whole() as u32
}

fn usage_found(usage: &Usage) -> [String; 6] {
    let Usage { input, output, cache_read, cache_write, context_tokens, cost, .. } = *usage;
    let [input, output, read, write, context] =
        [input, output, cache_read, cache_write, context_tokens].map(Tokens::get);
    [input, output, read, write, context, cost].map(digits)
}

fn stop_found(stop: StopReason) -> &'static str {
    match stop {
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "toolUse",
        StopReason::Error => "error",
        StopReason::Aborted => "aborted",
        StopReason::Other => "other",
    }
}

fn id_found(index: &Index, id: Option<IdIx>) -> String {
    match id.map(|id| index.ids.value(id)) {
        None => "none".to_owned(),
        Some(Value::Array(_) | Value::Object(_)) => "unlike".to_owned(),
        Some(value) => js::stringify(&value),
    }
}

fn word_found(index: &Index, word: ValueIx) -> String {
    index.values.value(word).map_or_else(|| "absent".to_owned(), js::stringify)
}
