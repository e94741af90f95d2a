//! Writes one transcript as the gateway and its agent runtime do: ids, parents, times, usage, cost and cache-ttl marks
//! (store I, M, O). Prompt sizes follow from the entries written before, so that the recorded usage is consistent.
use super::json::{iso, line};
use super::model::{Model, Usage, chars, provider_tokens};
use super::nodes::{Kind, Node, NodeSizes, Nodes};
use super::prompt::Prompt;
use super::rng::Rng;
use super::tool::ToolUse;
use serde_json::{Map, Value, json};

/// ASCII chars per token of chat and JSON.
pub(super) const PROSE_CHARS_PER_TOKEN: f64 = 3.9;
/// Cache lifetime at the provider, in ms: the short retention (compaction 10.7).
const CACHE_MS: i64 = 5 * 60_000;
/// `contextPruning.ttl` of the demo configuration, in ms.
const TTL_MS: i64 = 60 * 60_000;

#[derive(Debug)]
pub(super) struct TranscriptWriter {
    pub(super) rng: Rng,
    pub(super) model: &'static Model,
    pub(super) prompt: &'static Prompt,
    /// Session id, also the file name.
    pub(super) id: String,
    /// Clock, in ms since the epoch.
    pub(super) now_ms: i64,
    pub(super) nodes: Nodes,
    /// Usage of the last successful call.
    pub(super) last_usage: Usage,
    /// Uncached input and output of all calls of the last run.
    pub(super) run_usage: Usage,
    pub(super) compactions: u64,
    /// Time of the last record update: the end of the last run, in ms since the epoch.
    pub(super) updated_ms: i64,
    lines: Vec<String>,
    call: Option<(usize, i64)>,
    last_touch_ms: Option<i64>,
    thinking: Option<String>,
}

impl TranscriptWriter {
    /// Starts a session: header, model, thinking level and model snapshot (store I2, O2).
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
            now_ms: start,
            nodes: Nodes::default(),
            last_usage: Usage::default(),
            run_usage: Usage::default(),
            compactions: 0,
            updated_ms: start,
            lines: vec![line(&header)],
            call: None,
            last_touch_ms: None,
            thinking: None,
        };
        scribe.append_opening();
        scribe
    }

    fn append_opening(&mut self) {
        let Model { provider, api, id, .. } = self.model;
        self.append_metadata("model_change", json!({"provider": provider, "modelId": id}));
        self.append_metadata("thinking_level_change", json!({"thinkingLevel": "low"}));
        self.now_ms += 14;
        let data = json!({"timestamp": self.now_ms, "provider": provider, "modelApi": api, "modelId": id});
        self.append_custom("model-snapshot", &data);
        self.now_ms += 9;
    }

    /// Advances the clock.
    pub(super) fn wait_s(&mut self, seconds: i64) {
        self.now_ms += seconds * 1000 + self.rng.range(0, 900) as i64;
    }

    /// Starts a run with a message of the person, or of the gateway on their behalf.
    pub(super) fn user(&mut self, text: &str) -> usize {
        self.run_usage = Usage::default();
        let message =
            json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": self.now_ms});
        self.now_ms += 6;
        let sizes = NodeSizes::of(chars(text), provider_tokens(text, PROSE_CHARS_PER_TOKEN), chars(text));
        self.append_message(Kind::User, sizes, &message)
    }

    /// Puts a thinking block at the front of the next call.
    pub(super) fn think(&mut self, text: &str) {
        self.thinking = Some(text.to_owned());
    }

    /// Writes one step of a tool loop: an assistant message with calls, then their results in order.
    pub(super) fn tool_step(&mut self, preface: &str, uses: Vec<ToolUse>) -> usize {
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

    /// Writes the last message of a run and the cache-ttl mark (pruning 4.4).
    pub(super) fn answer(&mut self, text: &str) -> usize {
        self.answer_unmarked(text);
        self.append_ttl_mark()
    }

    /// Writes the last message of a run that ends in a compaction, which leaves no mark.
    pub(super) fn answer_unmarked(&mut self, text: &str) -> usize {
        let at = self.assistant(text_block(text), "stop");
        self.updated_ms = self.now_ms;
        at
    }

    /// Writes a refused call: an assistant message without content and with zero usage (store I5).
    pub(super) fn refused(&mut self, error: &str) {
        let mut message = self.assistant_json(&Vec::new(), "error", &Usage::default());
        message.insert("errorMessage".to_owned(), json!(error));
        self.now_ms += 1_240;
        self.append_message(Kind::Refused, NodeSizes::default(), &Value::Object(message));
        self.updated_ms = self.now_ms;
        self.append_ttl_mark();
    }

    fn assistant(&mut self, mut blocks: Vec<Value>, stop: &str) -> usize {
        self.assert_gate_closed();
        if let Some(thought) = self.thinking.take() {
            let len = thought.len() * 4 / 3 + 120;
            let signature = self.rng.base64(len) + "==";
            blocks
                .insert(0, json!({"type": "thinking", "thinking": thought, "thinkingSignature": signature}));
        }
        let sizes = assistant_sizes(&blocks);
        let usage = self.usage(sizes.provider_tokens);
        let message = self.assistant_json(&blocks, stop, &usage);
        self.call = self.nodes.leaf.map(|leaf| (leaf, self.now_ms));
        self.now_ms += 1_700 + usage.output as i64 * 14;
        self.last_usage = usage;
        self.run_usage.input += usage.input;
        self.run_usage.output += usage.output;
        let at = self.append_message(Kind::Assistant, sizes, &Value::Object(message));
        self.nodes.all[at].usage_total = Some(usage.total());
        at
    }

    fn assistant_json(&self, blocks: &Vec<Value>, stop: &str, usage: &Usage) -> Map<String, Value> {
        let Model { provider, api, id, .. } = self.model;
        object(json!({"role": "assistant", "content": blocks, "api": api, "provider": provider, "model": id,
            "usage": self.model.usage_json(usage), "stopReason": stop, "timestamp": self.now_ms}))
    }

    fn result(&mut self, tool: ToolUse, id: &str) {
        self.now_ms += tool.took_ms;
        let mut message = object(json!({"role": "toolResult", "toolCallId": id, "toolName": tool.name,
            "content": [{"type": "text", "text": tool.text}]}));
        if let Some(details) = tool.details {
            message.insert("details".to_owned(), details);
        }
        message.insert("isError".to_owned(), json!(tool.is_error));
        message.insert("timestamp".to_owned(), json!(self.now_ms));
        let size = chars(&tool.text);
        let sizes = NodeSizes::of(size, provider_tokens(&tool.text, tool.chars_per_token), size);
        self.append_message(Kind::Result, sizes, &Value::Object(message));
        self.now_ms += 4;
    }

    /// Returns the prompt tokens of the next call.
    pub(super) fn prompt_tokens(&self) -> u64 {
        self.prompt.tokens() + self.nodes.provider_tokens_of(&self.nodes.context())
    }

    /// Adjusts the newest message's provider tokens so that the next prompt has `tokens`.
    pub(super) fn calibrate_prompt(&mut self, tokens: u64) {
        let missing = tokens as i64 - self.prompt_tokens() as i64;
        debug_assert!(
            missing.unsigned_abs() * 30 <= tokens,
            "{missing} of {tokens} tokens are not in the text: change the material instead"
        );
        if let Some(leaf) = self.nodes.leaf {
            let node = &mut self.nodes.all[leaf].sizes;
            node.provider_tokens = node.provider_tokens.saturating_add_signed(missing);
        }
    }

    /// Splits the prompt into read, written and plain tokens, as a warm or cold prompt cache would (compaction 10.8).
    fn usage(&mut self, output: u64) -> Usage {
        let prompt = self.prompt_tokens();
        let reusable = self.cached_tokens().min(prompt);
        if self.model.provider == "openai" {
            let cache_read = reusable / 128 * 128;
            return Usage { input: prompt - cache_read, output, cache_read, cache_write: 0 };
        }
        let input = self.rng.range(5, 11).min(prompt - reusable);
        Usage { input, output, cache_read: reusable, cache_write: prompt - reusable - input }
    }

    fn cached_tokens(&self) -> u64 {
        let (Some((called, at)), Some(leaf)) = (self.call, self.nodes.leaf) else { return 0 };
        if self.now_ms - at >= CACHE_MS {
            return 0;
        }
        self.prompt.tokens() + self.nodes.shared_provider_tokens(called, leaf)
    }

    /// Checks that the pruning gate is closed or the context small: recorded usage is that of an unpruned prompt
    /// (pruning 4.2, 5.5).
    fn assert_gate_closed(&self) {
        let idle = self.last_touch_ms.map_or(0, |touch| self.now_ms - touch);
        let filled =
            self.nodes.pruner_chars_of(&self.nodes.context()) as f64 / (self.model.window * 4) as f64;
        debug_assert!(
            idle < TTL_MS || !self.model.is_prunable() || filled < 0.3,
            "session {} would have been pruned at {}: idle {idle} ms, {filled:.2} full",
            self.id,
            iso(self.now_ms)
        );
    }

    /// Appends the mark at the end of a run (store O1), if pruning applies to the provider.
    fn append_ttl_mark(&mut self) -> usize {
        if self.model.is_prunable() {
            self.now_ms += 21;
            self.last_touch_ms = Some(self.now_ms);
            let data =
                json!({"timestamp": self.now_ms, "provider": self.model.provider, "modelId": self.model.id});
            self.append_custom("openclaw.cache-ttl", &data);
        }
        self.nodes.leaf.unwrap_or_default()
    }

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

    fn append_message(&mut self, kind: Kind, sizes: NodeSizes, message: &Value) -> usize {
        self.append(kind, sizes, json!({"type": "message"}), json!({"message": message}))
    }

    /// Appends an entry other than a message.
    pub(super) fn append_metadata(&mut self, kind: &str, fields: Value) {
        self.append(Kind::Meta, NodeSizes::default(), json!({"type": kind}), fields);
    }

    fn append_custom(&mut self, kind: &str, data: &Value) {
        let before = json!({"type": "custom", "customType": kind, "data": data});
        self.append(Kind::Meta, NodeSizes::default(), before, json!({}));
    }

    /// Appends an entry in the key order of store I4: `before`, then the id group, then `after`.
    pub(super) fn append(&mut self, kind: Kind, sizes: NodeSizes, before: Value, after: Value) -> usize {
        let id = self.rng.hex(8);
        let parent = self.nodes.leaf.map(|leaf| self.nodes.all[leaf].id.clone());
        let mut entry = object(before);
        entry.insert("id".to_owned(), json!(id));
        entry.insert("parentId".to_owned(), json!(parent));
        entry.insert("timestamp".to_owned(), json!(iso(self.now_ms)));
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

/// Measures blocks by the agent runtime's rule (compaction 1.3) and by the pruner's (pruning 5.4).
fn assistant_sizes(blocks: &[Value]) -> NodeSizes {
    let (mut est, mut real, mut pruner) = (0, 0, 0);
    for block in blocks {
        for key in ["text", "thinking"] {
            let text = block[key].as_str().unwrap_or_default();
            est += chars(text);
            pruner += chars(text);
            real += provider_tokens(text, PROSE_CHARS_PER_TOKEN);
        }
        if let Some(name) = block["name"].as_str() {
            let arguments = line(&block["arguments"]);
            est += chars(name) + chars(&arguments);
            pruner += chars(&arguments);
            real += 12 + provider_tokens(&arguments, PROSE_CHARS_PER_TOKEN);
        }
    }
    NodeSizes::of(est, real, pruner)
}
