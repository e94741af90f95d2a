//! Messages in one form, whether a program sent them or clawscope lists them.

use regex::Regex;
use serde_json::{Value, json};

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
/// They are sent with the pictures of results, for APIs whose results hold none.
const PICTURES: [&str; 2] = ["Attached image(s) from tool result:", "Image(s) from tool result #"];
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

    /// The same without the values in the line about the run that no store holds.
    fn without_machine(mut self) -> Self {
        let machine = Regex::new(r" (host|os|node|capabilities)=[^|\n]*").expect("a pattern");
        if self.text.contains("Runtime: agent=") {
            self.text = machine.replace_all(&self.text, " $1=…").into_owned();
        }
        self
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
                if PICTURES.iter().any(|start| own.text.starts_with(start)) {
                    all.last_mut().expect("a result").images += own.images;
                } else if !is_only_results || !own.text.is_empty() {
                    all.push(own);
                }
            }
        }
    }
    in_one_form(all.into_iter())
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

/// The messages of `--messages` as they are sent. Failed answers do not travel.
pub(super) fn told(answer: &Value) -> Result<Vec<Message>, String> {
    let rows = answer["messages"].as_array().ok_or_else(|| format!("no messages: {answer}"))?;
    let mut messages: Vec<Value> = rows.iter().map(|row| row.get("message").unwrap_or(row).clone()).collect();
    for change in answer["withheld"].as_array().into_iter().flatten() {
        withhold(&mut messages[position(change)]);
    }
    for change in answer["added"].as_array().into_iter().flatten() {
        add(&mut messages, change);
    }
    Ok(in_one_form(messages.iter().filter_map(told_message)))
}

fn position(change: &Value) -> usize {
    change["message"].as_u64().expect("a position") as usize
}

fn withhold(message: &mut Value) {
    if let Some(blocks) = message["content"].as_array_mut() {
        blocks.retain(|block| block["type"] != "thinking");
    }
}

fn add(messages: &mut Vec<Value>, change: &Value) {
    let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
    let Some(message) = messages.get_mut(position(change)) else {
        messages.push(json!({ "role": "user", "content": text("before") }));
        return;
    };
    if message["role"] == "compactionSummary" {
        // Its own texts stand around it.
        message["after"] = json!(text("after"));
        return;
    }
    let block = |text: String| json!({ "type": "text", "text": text });
    let blocks = match &message["content"] {
        Value::Array(blocks) => blocks.clone(),
        own => vec![block(own.as_str().unwrap_or_default().to_owned())],
    };
    let around = [block(text("before"))].into_iter().chain(blocks).chain([block(text("after"))]);
    message["content"] = Value::Array(around.collect());
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
        "compactionSummary" => {
            let after = message["after"].as_str().unwrap_or_default();
            Some(summary(COMPACTED, &format!("\n</summary>{after}")))
        }
        "branchSummary" => Some(summary(LEFT, "</summary>")),
        _ => Some(Message::new("user", content)),
    }
}

fn in_one_form(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    pictures_last(joined_answers(messages.map(Message::without_machine)))
}

/// Joins neighbouring answers, as some APIs have it.
fn joined_answers(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    for message in messages {
        match all.last_mut() {
            Some(last) if last.role == "assistant" && message.role == "assistant" => {
                last.text += &message.text;
                last.thinking += &message.thinking;
                last.calls.extend(message.calls);
            }
            _ => all.push(message),
        }
    }
    all
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
