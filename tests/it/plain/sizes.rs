//! The sizes of a message, as the programs define them.

use clawscope::js::{JsException, Value, number_text, to_number};

use super::json::Plain;

/// A count that may be NaN or fail.
pub(crate) type Count = Result<f64, JsException>;

/// The counts of a message.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) role: String,
    pub(crate) pi: String,
    pub(crate) prune: String,
    pub(crate) joined: String,
    /// Text blocks and image blocks.
    pub(crate) blocks: (u32, u32),
    /// Chars of text, thinking and calls.
    pub(crate) chars: (u32, u32, u32),
    pub(crate) tool: String,
    pub(crate) call: String,
    pub(crate) stop: String,
    pub(crate) usage: Option<[String; 6]>,
    /// Whether it is an error, silent, odd.
    pub(crate) marks: (bool, bool, bool),
}

const ROLES: [&str; 8] = [
    "user",
    "assistant",
    "toolResult",
    "custom",
    "bashExecution",
    "branchSummary",
    "compactionSummary",
    "system",
];

/// The role of a message.
pub(crate) fn role(message: &Plain) -> &'static str {
    let role = message.get("role");
    ROLES.into_iter().find(|name| role.is_some_and(|role| role.is(name))).unwrap_or("other")
}

/// Formats a count for a comparison.
pub(crate) fn shown(count: Count) -> String {
    count.map_or_else(|_| "throws".to_owned(), digits)
}

/// A number as text, with the same text for both zeros.
pub(crate) fn digits(number: f64) -> String {
    (number + 0.0).to_string()
}

/// `value.length`.
fn length(value: Option<&Plain>) -> Count {
    match value {
        None | Some(Plain::Null) => Err(JsException),
        Some(Plain::Text(units)) => Ok(units.len() as f64),
        Some(Plain::List(items)) => Ok(items.len() as f64),
        Some(_) => Ok(f64::NAN),
    }
}

/// `for (const block of content)`, a count for each.
fn each(content: Option<&Plain>, count: impl Fn(&Plain) -> Count) -> Count {
    match content {
        Some(Plain::List(items)) => {
            let mut sum = 0.0;
            for item in items {
                // Reading `block.type` of null throws.
                sum += if *item == Plain::Null { Err(JsException) } else { count(item) }?;
            }
            Ok(sum)
        }
        Some(Plain::Text(_)) => Ok(0.0),
        _ => Err(JsException),
    }
}

pub(crate) fn is(block: &Plain, kind: &str) -> bool {
    block.get("type").is_some_and(|name| name.is(kind))
}

/// `JSON.stringify(value).length`.
fn json_chars(value: &Plain) -> usize {
    value.json().encode_utf16().count()
}

fn user_block(block: &Plain) -> Count {
    let text = block.get("text");
    if is(block, "text") && text.is_some_and(Plain::truthy) { length(text) } else { Ok(0.0) }
}

fn result_block(block: &Plain) -> Count {
    if is(block, "image") { Ok(4800.0) } else { user_block(block) }
}

/// `estimateTokens(message) * 4`, before it is rounded.
fn pi(message: &Plain) -> Count {
    let content = message.get("content");
    let text = content.and_then(Plain::units).map(|units| units.len() as f64);
    match role(message) {
        "user" if text.is_none() && content.and_then(Plain::items).is_none() => Ok(0.0),
        "user" => text.map_or_else(|| each(content, user_block), Ok),
        "toolResult" | "custom" => text.map_or_else(|| each(content, result_block), Ok),
        "assistant" => each(content, |block| {
            if is(block, "text") {
                length(block.get("text"))
            } else if is(block, "thinking") {
                length(block.get("thinking"))
            } else if is(block, "toolCall") {
                let arguments = block.get("arguments").ok_or(JsException)?;
                Ok(length(block.get("name"))? + json_chars(arguments) as f64)
            } else {
                Ok(0.0)
            }
        }),
        "bashExecution" => Ok(length(message.get("command"))? + length(message.get("output"))?),
        "branchSummary" | "compactionSummary" => length(message.get("summary")),
        "system" => {
            let content = match (content, text) {
                (None | Some(Plain::Null), _) => 0.0,
                (_, Some(text)) => text,
                _ => each(content, result_block)?,
            };
            let sections = sections(message).into_iter().map(|text| length(Some(text)));
            let tools = message.get("toolsAdded").map_or(0, json_chars) as f64;
            Ok(content + sections.sum::<Result<f64, JsException>>()? + tools)
        }
        _ => Ok(0.0),
    }
}

fn sections(message: &Plain) -> Vec<&Plain> {
    let all: Vec<&Plain> = match message.get("sections") {
        Some(Plain::Object(members)) => members.iter().map(|(_, text)| text).collect(),
        Some(Plain::List(items)) => items.iter().collect(),
        _ => Vec::new(),
    };
    all.into_iter().filter(|text| text.truthy()).collect()
}

/// Counts as the context pruner does.
fn prune(message: &Plain) -> Count {
    let content = message.get("content");
    let other = |block: &Plain| {
        if is(block, "text") {
            length(block.get("text"))
        } else {
            Ok(if is(block, "image") { 8000.0 } else { 0.0 })
        }
    };
    match (role(message), content) {
        ("user", Some(Plain::Text(units))) => Ok(units.len() as f64),
        ("user" | "toolResult", _) => each(content, other),
        ("assistant", _) => each(content, |block| {
            if is(block, "text") {
                length(block.get("text"))
            } else if is(block, "thinking") {
                length(block.get("thinking"))
            } else if is(block, "toolCall") {
                let arguments = block.get("arguments").filter(|arguments| **arguments != Plain::Null);
                Ok(arguments.map_or(2, json_chars) as f64)
            } else {
                Ok(0.0)
            }
        }),
        _ => Ok(256.0),
    }
}

fn chars(value: Option<&Plain>) -> u32 {
    value.and_then(Plain::units).map_or(0, |units| units.len() as u32)
}

/// Chars of a call: its name, and its arguments as JSON.
pub(crate) fn call_chars(block: &Plain) -> u32 {
    chars(block.get("name")) + block.get("arguments").map_or(0, json_chars) as u32
}

/// All sizes of a message.
pub(crate) fn sizes(message: &Plain) -> Sizes {
    let role = role(message);
    let blocks = message.get("content").and_then(Plain::items).unwrap_or_default();
    let of = |kind: &'static str| blocks.iter().filter(move |block| is(block, kind));
    let count = |kind| of(kind).count() as u32;
    let fields = ["command", "output", "summary", "content"].map(|field| chars(message.get(field)));
    let texts: u32 = of("text").map(|block| chars(block.get("text"))).sum();
    let own =
        if role == "system" { sections(message).into_iter().map(|text| chars(Some(text))).sum() } else { 0 };
    let calls = match role {
        "system" => message.get("toolsAdded").map_or(0, json_chars) as u32,
        _ => of("toolCall").map(call_chars).sum(),
    };
    let joined: f64 = of("text").map(|block| length(block.get("text")).unwrap_or(f64::NAN)).sum();
    let stop = message.get("stopReason");
    let stops = ["stop", "length", "toolUse", "error", "aborted"];
    let stop = stops.into_iter().find(|name| stop.is_some_and(|stop| stop.is(name))).unwrap_or("other");
    let (assistant, result) = (role == "assistant", role == "toolResult");
    let failed = matches!(stop, "error" | "aborted");
    let usage = message.get("usage").filter(|usage| assistant && !failed && usage.truthy());
    let name = |field: &str| message.get(field).filter(|_| result);
    Sizes {
        role: role.to_owned(),
        pi: shown(pi(message)),
        prune: shown(prune(message)),
        joined: digits(joined + f64::from(count("text").saturating_sub(1))),
        blocks: (count("text"), count("image")),
        chars: (
            fields.iter().sum::<u32>() + texts + own,
            of("thinking").map(|block| chars(block.get("thinking"))).sum(),
            calls,
        ),
        tool: word(name("toolName")),
        call: id(name("toolCallId")),
        stop: stop.to_owned(),
        usage: usage.map(usage_of),
        marks: (
            message.get("isError") == Some(&Plain::Bool(true)),
            assistant && silent(blocks),
            result && of("text").any(|block| block.get("text").is_none_or(|text| text.units().is_none())),
        ),
    }
}

/// Components, the tokens a context is estimated from, and the cost.
pub(crate) fn usage_of(usage: &Plain) -> [String; 6] {
    let names = ["input", "output", "cacheRead", "cacheWrite"];
    let [input, output, read, write] =
        names.map(|name| usage.get(name).and_then(Plain::number).unwrap_or(0.0));
    // JavaScript adds numbers until a term is no number, and from there on appends each as text.
    let total = usage.get("totalTokens");
    let terms = match total {
        Some(total) if total.truthy() => vec![Some(total)],
        _ => names.map(|name| usage.get(name)).to_vec(),
    };
    let appends =
        |term: Option<&Plain>| matches!(term, Some(Plain::Text(_) | Plain::List(_) | Plain::Object(_)));
    let first_text = terms.iter().position(|term| appends(*term));
    let sum: f64 = terms[..first_text.unwrap_or(terms.len())].iter().map(|term| added(*term)).sum();
    let tokens = match first_text {
        None => sum,
        Some(at) => {
            let mut all = match at {
                0 => String::new(),
                1 => appended(terms[0]),
                _ => number_text(sum),
            };
            all.extend(terms[at..].iter().map(|term| appended(*term)));
            to_number(Some(&Value::from(all)))
        }
    };
    let cost = usage.get("cost").and_then(|cost| cost.get("total")).and_then(Plain::number);
    [input, output, read, write, tokens, cost.unwrap_or(f64::NAN)].map(digits)
}

/// A term of a sum of numbers.
fn added(term: Option<&Plain>) -> f64 {
    match term {
        Some(Plain::Number(number)) => *number,
        Some(Plain::Null) => 0.0,
        Some(Plain::Bool(bool)) => f64::from(u8::from(*bool)),
        _ => f64::NAN,
    }
}

/// A term of a sum that is a text.
fn appended(term: Option<&Plain>) -> String {
    match term {
        None => "undefined".to_owned(),
        Some(Plain::Number(number)) => number_text(*number),
        Some(Plain::Text(units)) => String::from_utf16_lossy(units),
        Some(Plain::List(items)) => {
            let items = items.iter().map(|item| Some(item).filter(|item| **item != Plain::Null));
            items
                .map(|item| item.map(|item| appended(Some(item))).unwrap_or_default())
                .collect::<Vec<_>>()
                .join(",")
        }
        Some(Plain::Object(_)) => "[object Object]".to_owned(),
        Some(other) => other.json(),
    }
}

/// Whether its texts are only the token; the lines of this test never put anything before it.
fn silent(blocks: &[Plain]) -> bool {
    let texts =
        blocks.iter().filter(|block| is(block, "text")).filter_map(|block| block.get("text")?.units());
    let texts: Vec<String> = texts.map(String::from_utf16_lossy).collect();
    texts.concat().encode_utf16().count() <= 64
        && texts.join("\n").trim_matches(clawscope::js::is_trimmed) == "NO_REPLY"
}

/// Returns an id for comparison; objects count as absent.
pub(crate) fn id(value: Option<&Plain>) -> String {
    match value {
        None | Some(Plain::Null) => "none".to_owned(),
        Some(Plain::List(_) | Plain::Object(_)) => "unlike".to_owned(),
        Some(value) => value.json(),
    }
}

/// A word in its stored form.
pub(crate) fn word(value: Option<&Plain>) -> String {
    value.map_or_else(|| "absent".to_owned(), Plain::json)
}
