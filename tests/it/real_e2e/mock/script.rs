//! What the server answers. The newest user message holds one directive a line:
//!
//! * `#read FILE`, `#readn FILE OFFSET LIMIT`, `#exec COMMAND`: call the tool;
//! * `#reads FILE FILE …`: several calls in one answer;
//! * `#spawn TASK`: start a sub-agent;
//! * `#think CHARS`: think, then call the tool of the next directive;
//! * `#say CHARS`: answer with text, which ends the turn.
//!
//! The number of tool results behind that message says which directive is next, so a retry repeats the step.

use serde_json::{Value, json};

use super::Kind;
use super::count::text_of;

/// The answer to a request.
pub(super) struct Answer {
    pub(super) thinking: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
}

/// A call of a tool.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl Answer {
    pub(super) fn chars(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.name.len() + call.arguments.to_string().len());
        self.thinking.len() + self.text.len() + calls.sum::<usize>()
    }
}

/// The number of the request that an answer with this text belongs to.
pub(crate) fn answer_number(text: &str) -> Option<usize> {
    let (digits, rest) = text.strip_prefix('R')?.split_at_checked(4)?;
    rest.starts_with(' ').then(|| digits.parse().ok())?
}

pub(super) fn answer(body: &Value, kind: Kind, number: usize, summary_chars: usize) -> Answer {
    if kind == Kind::Summary {
        let head = format!("## Goal\nSummary R{number:04} of the work so far.\n\n## Progress\n");
        let text = filled(&head, summary_chars, number);
        return Answer { thinking: String::new(), text, calls: Vec::new() };
    }
    let (directives, mut done) = script_of(body);
    let mut thinking = String::new();
    for directive in directives {
        let (word, rest) = directive.split_once(' ').unwrap_or((directive.as_str(), ""));
        if word == "#think" {
            thinking = filled("", rest.parse().unwrap_or(400), number + 1_000);
            continue;
        }
        let calls = calls_of(word, rest, body, number);
        if calls.is_empty() {
            return said(thinking, number, rest.parse().unwrap_or(120));
        }
        if done < calls.len() {
            return Answer { thinking, text: format!("R{number:04} working."), calls };
        }
        done -= calls.len();
        thinking.clear();
    }
    said(thinking, number, 120)
}

fn said(thinking: String, number: usize, chars: usize) -> Answer {
    Answer { thinking, text: filled(&format!("R{number:04} answer. "), chars, number), calls: Vec::new() }
}

fn calls_of(word: &str, rest: &str, body: &Value, number: usize) -> Vec<Call> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let calls: Vec<(&str, Value)> = match (word, words.as_slice()) {
        ("#read" | "#reads", files) => files.iter().map(|file| ("read", json!({ "path": file }))).collect(),
        ("#readn", [file, offset, limit]) => {
            let number = |text: &str| text.parse::<u64>().unwrap_or(1);
            vec![("read", json!({ "path": file, "offset": number(offset), "limit": number(limit) }))]
        }
        ("#exec", _) => vec![(shell_of(body), json!({ "command": rest }))],
        ("#spawn", _) => vec![offered(body, "sessions_spawn", json!({ "task": rest }))],
        _ => Vec::new(),
    };
    let call = |(at, (name, arguments)): (usize, (&str, Value))| Call {
        id: format!("call_{number:04}_{at}"),
        name: name.to_owned(),
        arguments,
    };
    calls.into_iter().enumerate().map(call).collect()
}

/// Whether a request offers a tool to the model.
fn offers(body: &Value, tool: &str) -> bool {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().any(|offer| offer["function"]["name"] == tool || offer["name"] == tool)
}

/// A call of a tool, by way of the tool that calls others where the gateway only lets the model search for it.
fn offered(body: &Value, tool: &'static str, arguments: Value) -> (&'static str, Value) {
    if !offers(body, tool) && offers(body, "tool_call") {
        return ("tool_call", json!({ "id": tool, "args": arguments }));
    }
    (tool, arguments)
}

/// The gateway's shell is `exec`, pi's is `bash`.
fn shell_of(body: &Value) -> &'static str {
    if offers(body, "exec") { "exec" } else { "bash" }
}

/// Texts in user messages that no person wrote: pictures of tool results travel in one of their own, and gateways since
/// 2026.9 send what they know of sub-agents behind the prompt.
const NOT_TYPED: [&str; 2] = ["Attached image(s) from tool result", "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"];

/// The directives of the newest user message, and the tool results behind it.
fn script_of(body: &Value) -> (Vec<String>, usize) {
    let (mut done, mut text) = (0, String::new());
    for message in body["messages"].as_array().into_iter().flatten().rev() {
        let content = &message["content"];
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let results = blocks.iter().filter(|block| block["type"] == "tool_result").count();
        if message["role"] == "tool" {
            done += 1;
        } else if message["role"] == "user" && results > 0 {
            done += results;
        } else if message["role"] == "user" {
            text = text_of(content);
            if !NOT_TYPED.iter().any(|start| text.starts_with(start)) {
                break;
            }
        }
    }
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with('#'));
    (lines.map(str::to_owned).collect(), done)
}

const WORDS: [&str; 24] = [
    "alpha", "beta", "gamma", "delta", "ring", "queue", "store", "shard", "index", "flush", "socket",
    "parser", "token", "window", "branch", "leaf", "cache", "prune", "trim", "reserve", "budget", "anchor",
    "ledger", "frame",
];

/// `head`, then words that differ from seed to seed, up to `chars`.
fn filled(head: &str, chars: usize, seed: usize) -> String {
    let mut text = head.to_owned();
    let mut state = (seed as u64).wrapping_mul(2_654_435_761) % (1 << 32);
    while text.len() < chars {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        text.push_str(WORDS[(state >> 16) as usize % WORDS.len()]);
        text.push(' ');
    }
    // An answer that ends in a space is trimmed on the way.
    text.truncate(chars.max(head.len()));
    if text.ends_with(' ') {
        text.replace_range(text.len() - 1.., ".");
    }
    text
}
