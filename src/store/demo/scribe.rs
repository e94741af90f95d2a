//! Writes one transcript the way the gateway and its agent runtime do: ids, parents, times, usage, cost and
//! cache-ttl marks (store I, M, O), with a prompt size that follows from what was written before.
use super::json::{iso, line};
use super::model::{Model, Usage, chars, real_tokens};
use super::nodes::{Kind, Node, Nodes, Sizes};
use super::prompt::Prompt;
use super::rng::Rng;
use super::tool::ToolUse;
use serde_json::{Map, Value, json};

/// Characters of chat and JSON to a token.
pub(super) const PROSE: f64 = 3.9;
/// How long the provider keeps a cached prefix: the short retention (compaction 10.7).
const CACHE_MS: i64 = 5 * 60_000;
/// The demo configuration's `contextPruning.ttl`.
const TTL_MS: i64 = 60 * 60_000;

/// A transcript being written.
#[derive(Debug)]
pub(super) struct Scribe {
    pub(super) rng: Rng,
    pub(super) model: &'static Model,
    pub(super) prompt: &'static Prompt,
    /// The session id, which is also the file's name.
    pub(super) id: String,
    /// The clock, in ms.
    pub(super) now: i64,
    pub(super) nodes: Nodes,
    /// Usage of the last call that succeeded.
    pub(super) last: Usage,
    /// Tokens of the last run: uncached input and output of all its calls.
    pub(super) run: Usage,
    /// Compactions so far.
    pub(super) compactions: u64,
    /// When the last row update happened: the end of the last run.
    pub(super) updated: i64,
    lines: Vec<String>,
    call: Option<(usize, i64)>,
    touch: Option<i64>,
    thinking: Option<String>,
}

impl Scribe {
    /// A new session: header, model, thinking level and model snapshot (store I2, O2).
    pub(super) fn begin(name: &str, model: &'static Model, prompt: &'static Prompt, start: i64) -> Self {
        let mut rng = Rng::new(name);
        let id = rng.uuid();
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": iso(start),
            "cwd": prompt.workspace});
        let mut scribe = Self {
            rng,
            model,
            prompt,
            id,
            now: start,
            nodes: Nodes::default(),
            last: Usage::default(),
            run: Usage::default(),
            compactions: 0,
            updated: start,
            lines: vec![line(&header)],
            call: None,
            touch: None,
            thinking: None,
        };
        scribe.opening();
        scribe
    }

    fn opening(&mut self) {
        let Model { provider, api, id, .. } = self.model;
        self.meta("model_change", json!({"provider": provider, "modelId": id}));
        self.meta("thinking_level_change", json!({"thinkingLevel": "low"}));
        self.now += 14;
        let data = json!({"timestamp": self.now, "provider": provider, "modelApi": api, "modelId": id});
        self.custom("model-snapshot", &data);
        self.now += 9;
    }

    /// Lets time pass.
    pub(super) fn wait_s(&mut self, seconds: i64) {
        self.now += seconds * 1000 + self.rng.range(0, 900) as i64;
    }

    /// What the person (or the gateway on their behalf) says; starts a run.
    pub(super) fn user(&mut self, text: &str) -> usize {
        self.run = Usage::default();
        let message =
            json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": self.now});
        self.now += 6;
        let sizes = Sizes::of(chars(text), real_tokens(text, PROSE), chars(text));
        self.message(Kind::User, sizes, &message)
    }

    /// The next call begins with this thought.
    pub(super) fn think(&mut self, text: &str) {
        self.thinking = Some(text.to_owned());
    }

    /// One step of a tool loop: an assistant message with calls, then their results in order.
    pub(super) fn step(&mut self, preface: &str, uses: Vec<ToolUse>) -> usize {
        let mut blocks = text_block(preface);
        let ids: Vec<String> = uses.iter().map(|_| self.call_id()).collect();
        for (tool, id) in uses.iter().zip(&ids) {
            blocks
                .push(json!({"type": "toolCall", "id": id, "name": tool.name, "arguments": tool.arguments}));
        }
        let at = self.assistant(blocks, "toolUse");
        for (tool, id) in uses.into_iter().zip(ids) {
            self.result(tool, &id);
        }
        at
    }

    /// The last message of a run, then the cache-ttl mark (pruning 4.4).
    pub(super) fn answer(&mut self, text: &str) -> usize {
        self.answer_unmarked(text);
        self.mark()
    }

    /// The last message of a run that ends in a compaction: no mark is written then.
    pub(super) fn answer_unmarked(&mut self, text: &str) -> usize {
        let at = self.assistant(text_block(text), "stop");
        self.updated = self.now;
        at
    }

    /// The provider refused the prompt: an assistant message without content and with zero usage (store I5).
    pub(super) fn refused(&mut self, error: &str) {
        let mut message = self.assistant_json(&Vec::new(), "error", &Usage::default());
        message.insert("errorMessage".to_owned(), json!(error));
        self.now += 1_240;
        self.message(Kind::Refused, Sizes::default(), &Value::Object(message));
        self.updated = self.now;
        self.mark();
    }

    fn assistant(&mut self, mut blocks: Vec<Value>, stop: &str) -> usize {
        self.check_gate();
        if let Some(thought) = self.thinking.take() {
            let len = thought.len() * 4 / 3 + 120;
            let signature = self.rng.base64(len) + "==";
            blocks
                .insert(0, json!({"type": "thinking", "thinking": thought, "thinkingSignature": signature}));
        }
        let sizes = assistant_sizes(&blocks);
        let usage = self.usage(sizes.real);
        let message = self.assistant_json(&blocks, stop, &usage);
        self.call = self.nodes.leaf.map(|leaf| (leaf, self.now));
        self.now += 1_700 + usage.output as i64 * 14;
        self.last = usage;
        self.run.input += usage.input;
        self.run.output += usage.output;
        let at = self.message(Kind::Assistant, sizes, &Value::Object(message));
        self.nodes.all[at].usage_total = Some(usage.total());
        at
    }

    fn assistant_json(&self, blocks: &Vec<Value>, stop: &str, usage: &Usage) -> Map<String, Value> {
        let Model { provider, api, id, .. } = self.model;
        object(json!({"role": "assistant", "content": blocks, "api": api, "provider": provider, "model": id,
            "usage": self.model.usage_json(usage), "stopReason": stop, "timestamp": self.now}))
    }

    fn result(&mut self, tool: ToolUse, id: &str) {
        self.now += tool.took_ms;
        let mut message = object(json!({"role": "toolResult", "toolCallId": id, "toolName": tool.name,
            "content": [{"type": "text", "text": tool.text}]}));
        if let Some(details) = tool.details {
            message.insert("details".to_owned(), details);
        }
        message.insert("isError".to_owned(), json!(tool.is_error));
        message.insert("timestamp".to_owned(), json!(self.now));
        let size = chars(&tool.text);
        let sizes = Sizes::of(size, real_tokens(&tool.text, tool.chars_per_token), size);
        self.message(Kind::Result, sizes, &Value::Object(message));
        self.now += 4;
    }

    /// Tokens of the prompt the next call would send.
    pub(super) fn prompt_tokens(&self) -> u64 {
        self.prompt.tokens() + self.nodes.real_of(&self.nodes.context())
    }

    /// Sets how many tokens the newest message really costs, so that the next prompt has `tokens`.
    pub(super) fn settle(&mut self, tokens: u64) {
        let missing = tokens as i64 - self.prompt_tokens() as i64;
        debug_assert!(
            missing.unsigned_abs() * 30 <= tokens,
            "{missing} of {tokens} tokens are not in the text: change the material instead"
        );
        if let Some(leaf) = self.nodes.leaf {
            let node = &mut self.nodes.all[leaf].sizes;
            node.real = node.real.saturating_add_signed(missing);
        }
    }

    /// Splits the prompt into read, written and plain tokens, as a warm or cold prompt cache would (compaction 10.8).
    fn usage(&mut self, output: u64) -> Usage {
        let prompt = self.prompt_tokens();
        let reusable = self.reusable().min(prompt);
        if self.model.provider == "openai" {
            let cache_read = reusable / 128 * 128;
            return Usage { input: prompt - cache_read, output, cache_read, cache_write: 0 };
        }
        let input = self.rng.range(5, 11).min(prompt - reusable);
        Usage { input, output, cache_read: reusable, cache_write: prompt - reusable - input }
    }

    fn reusable(&self) -> u64 {
        let (Some((called, at)), Some(leaf)) = (self.call, self.nodes.leaf) else { return 0 };
        if self.now - at >= CACHE_MS {
            return 0;
        }
        self.prompt.tokens() + self.nodes.shared_real(called, leaf)
    }

    /// Recorded usage is that of an unpruned prompt, so no call may meet an open gate and a full context (pruning 4.2, 5.5).
    fn check_gate(&self) {
        let idle = self.touch.map_or(0, |touch| self.now - touch);
        let filled = self.nodes.chars_of(&self.nodes.context()) as f64 / (self.model.window * 4) as f64;
        debug_assert!(
            idle < TTL_MS || !self.model.is_prunable() || filled < 0.3,
            "session {} would have been pruned at {}: idle {idle} ms, {filled:.2} full",
            self.id,
            iso(self.now)
        );
    }

    /// Appends the mark of the end of a run (store O1), where the provider takes part.
    fn mark(&mut self) -> usize {
        if self.model.is_prunable() {
            self.now += 21;
            self.touch = Some(self.now);
            let data =
                json!({"timestamp": self.now, "provider": self.model.provider, "modelId": self.model.id});
            self.custom("openclaw.cache-ttl", &data);
        }
        self.nodes.leaf.unwrap_or_default()
    }

    /// The whole file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = self.lines.join("\n").into_bytes();
        out.push(b'\n');
        out
    }

    fn call_id(&mut self) -> String {
        if self.model.provider == "openai" {
            return format!("call_{}|fc_{}", self.rng.base62(24), self.rng.hex(50));
        }
        format!("toolu_01{}", self.rng.base62(22))
    }

    fn message(&mut self, kind: Kind, sizes: Sizes, message: &Value) -> usize {
        self.append(kind, sizes, json!({"type": "message"}), json!({"message": message}))
    }

    /// An entry that is no message.
    pub(super) fn meta(&mut self, kind: &str, fields: Value) {
        self.append(Kind::Meta, Sizes::default(), json!({"type": kind}), fields);
    }

    fn custom(&mut self, kind: &str, data: &Value) {
        let before = json!({"type": "custom", "customType": kind, "data": data});
        self.append(Kind::Meta, Sizes::default(), before, json!({}));
    }

    /// Key order of store I4: what comes before the id, the id group, what comes after it.
    pub(super) fn append(&mut self, kind: Kind, sizes: Sizes, before: Value, after: Value) -> usize {
        let id = self.rng.hex(8);
        let parent = self.nodes.leaf.map(|leaf| self.nodes.all[leaf].id.clone());
        let mut entry = object(before);
        entry.insert("id".to_owned(), json!(id));
        entry.insert("parentId".to_owned(), json!(parent));
        entry.insert("timestamp".to_owned(), json!(iso(self.now)));
        entry.extend(object(after));
        self.lines.push(line(&Value::Object(entry)));
        self.nodes.push(Node { id, parent: self.nodes.leaf, kind, sizes, usage_total: None })
    }
}

fn object(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

fn text_block(text: &str) -> Vec<Value> {
    if text.is_empty() { Vec::new() } else { vec![json!({"type": "text", "text": text})] }
}

/// Sizes by the agent runtime's rule (compaction 1.3) and by the pruner's (pruning 5.4).
fn assistant_sizes(blocks: &[Value]) -> Sizes {
    let (mut est, mut real, mut pruner) = (0, 0, 0);
    for block in blocks {
        for key in ["text", "thinking"] {
            let text = block[key].as_str().unwrap_or_default();
            est += chars(text);
            pruner += chars(text);
            real += real_tokens(text, PROSE);
        }
        if let Some(name) = block["name"].as_str() {
            let arguments = line(&block["arguments"]);
            est += chars(name) + chars(&arguments);
            pruner += chars(&arguments);
            real += 12 + real_tokens(&arguments, PROSE);
        }
    }
    Sizes::of(est, real, pruner)
}
