//! Messages in one form, whether a program sent them or clawscope lists them.

use regex::Regex;
use serde_json::Value;

/// A message as far as both sides know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    role: &'static str,
    text: String,
    thinking: String,
    images: usize,
    /// Name, arguments and id of each call.
    calls: Vec<[String; 3]>,
    /// The call that a result belongs to.
    call: String,
}

const COMPACTED: &str =
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const LEFT: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
/// Pi sends it with the pictures of results, for APIs whose results hold none.
const PICTURES: &str = "Attached image(s) from tool result:";
/// Pi sends it as the text of a result that is only a picture.
const SEE_PICTURE: &str = "(see attached image)";

impl Message {
    fn new(role: &'static str, content: &Value) -> Self {
        let (text, images) = (text_of(content), blocks(content).filter(|block| is_image(block)).count());
        let thinking = blocks(content).filter_map(|block| block["thinking"].as_str()).collect();
        Self { role, text, thinking, images, calls: Vec::new(), call: String::new() }
    }

    fn result(call: &Value, content: &Value) -> Self {
        let mut message = Self::new("tool", content);
        if message.text.is_empty() && message.images > 0 {
            SEE_PICTURE.clone_into(&mut message.text);
        }
        Self { call: clean_id(call), ..message }
    }

    /// The start and the end of the text, for a report.
    pub(super) fn short(&self) -> String {
        let chars: Vec<char> = self.text.chars().collect();
        let text = match chars.len() {
            0..=160 => self.text.clone(),
            count => chars[..90].iter().chain(['…'].iter()).chain(&chars[count - 60..]).collect(),
        };
        let Self { role, thinking, images, calls, .. } = self;
        format!(
            "{role} of {} chars, {} of thinking, {images} images, calls {calls:?}: {text:?}",
            chars.len(),
            thinking.len()
        )
    }
}

fn blocks(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

fn is_image(block: &Value) -> bool {
    block["type"] == "image" || block["type"] == "image_url"
}

fn text_of(content: &Value) -> String {
    let own = content.as_str().unwrap_or_default().to_owned();
    own + &blocks(content).filter_map(|block| block["text"].as_str()).collect::<String>()
}

/// Gateways send ids without the marks that some providers refuse.
fn clean_id(id: &Value) -> String {
    id.as_str().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect()
}

fn call(name: &Value, arguments: &Value, id: &Value) -> [String; 3] {
    let text = arguments.as_str().map(str::to_owned);
    let arguments =
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_else(|| arguments.clone());
    [name.as_str().unwrap_or_default().to_owned(), arguments.to_string(), clean_id(id)]
}

/// The messages of a request.
pub(super) fn sent(messages: &[Value]) -> Vec<Message> {
    let mut all = Vec::new();
    for message in messages {
        let content = &message["content"];
        match message["role"].as_str().unwrap_or_default() {
            "system" | "developer" => {}
            "assistant" => all.push(sent_answer(message)),
            "tool" => all.push(Message::result(&message["tool_call_id"], content)),
            _ => {
                let results = blocks(content).filter(|block| block["type"] == "tool_result");
                let results: Vec<_> =
                    results.map(|it| Message::result(&it["tool_use_id"], &it["content"])).collect();
                let is_only_results = !results.is_empty();
                all.extend(results);
                let own = Message::new("user", content);
                if own.text.starts_with(PICTURES) {
                    all.last_mut().expect("a result").images += own.images;
                } else if !is_only_results || !own.text.is_empty() {
                    all.push(own);
                }
            }
        }
    }
    pictures_last(all)
}

fn sent_answer(message: &Value) -> Message {
    let mut answer = Message::new("assistant", &message["content"]);
    answer.thinking += message["reasoning_content"].as_str().unwrap_or_default();
    let uses = blocks(&message["content"]).filter(|block| block["type"] == "tool_use");
    answer.calls = uses.map(|block| call(&block["name"], &block["input"], &block["id"])).collect();
    let called = message["tool_calls"].as_array().into_iter().flatten();
    answer
        .calls
        .extend(called.map(|it| call(&it["function"]["name"], &it["function"]["arguments"], &it["id"])));
    answer
}

/// The messages of `--messages`. Failed answers do not travel.
pub(super) fn told(rows: &[Value]) -> Vec<Message> {
    let messages = rows.iter().map(|row| row.get("message").unwrap_or(row));
    pictures_last(messages.filter_map(told_message).collect())
}

fn told_message(message: &Value) -> Option<Message> {
    let content = &message["content"];
    let summary = |before: &str, after: &str| {
        let text = message["summary"].as_str().unwrap_or_default();
        Message::new("user", &Value::String(format!("{before}{text}{after}")))
    };
    match message["role"].as_str().unwrap_or_default() {
        "system" => None,
        "assistant" if message["stopReason"] == "error" || message["stopReason"] == "aborted" => None,
        "assistant" => {
            let mut answer = Message::new("assistant", content);
            let called = blocks(content).filter(|block| block["type"] == "toolCall");
            answer.calls =
                called.map(|block| call(&block["name"], &block["arguments"], &block["id"])).collect();
            Some(answer)
        }
        "toolResult" => Some(Message::result(&message["toolCallId"], content)),
        "compactionSummary" => Some(summary(COMPACTED, "\n</summary>")),
        "branchSummary" => Some(summary(LEFT, "</summary>")),
        _ => Some(Message::new("user", content)),
    }
}

/// Counts the pictures of neighbouring results at the last of them, where some APIs put them all.
fn pictures_last(mut messages: Vec<Message>) -> Vec<Message> {
    for at in 1..messages.len() {
        if messages[at - 1].role == "tool" && messages[at].role == "tool" {
            messages[at].images += std::mem::take(&mut messages[at - 1].images);
        }
    }
    messages
}

/// Messages without what gateways add on sending: since 2026.7 the time, since 2026.9 a line about the run.
pub(super) fn plain(messages: &[Message]) -> Vec<Message> {
    const ADDED: &str =
        r"^\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [A-Za-z0-9+:-]+\] |(\n\n)?Runtime: agent=[^\n]*$";
    let added = Regex::new(ADDED).expect("a pattern");
    let plain = |message: &Message| Message {
        text: added.replace_all(&message.text, "").into_owned(),
        ..message.clone()
    };
    messages.iter().map(plain).collect()
}

/// Describes the first difference of two lists; `None` if there is none.
pub(super) fn difference(sent: &[Message], told: &[Message]) -> Option<String> {
    let end = sent.len().max(told.len());
    let at = (0..end).find(|&at| sent.get(at) != told.get(at))?;
    let short = |message: Option<&Message>| message.map_or_else(|| "nothing".to_owned(), Message::short);
    Some(format!(
        "message {at} of {} sent and {} told\n    sent {}\n    told {}",
        sent.len(),
        told.len(),
        short(sent.get(at)),
        short(told.get(at))
    ))
}
