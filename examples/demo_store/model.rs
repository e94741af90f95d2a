//! The models of the demo store: prices, windows and real token counts of texts.
use serde_json::{Value, json};

/// A model in the gateway's catalogue. Prices in USD per million tokens, the window in tokens.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) provider: &'static str,
    pub(super) api: &'static str,
    pub(super) id: &'static str,
    pub(super) window: u64,
    price: [f64; 4],
}

pub(super) static OPUS: Model = anthropic("claude-opus-4-6", [5.0, 25.0, 0.5, 6.25]);
pub(super) static SONNET: Model = anthropic("claude-sonnet-4-6", [3.0, 15.0, 0.3, 3.75]);
pub(super) static HAIKU: Model = anthropic("claude-haiku-4-5", [1.0, 5.0, 0.1, 1.25]);
pub(super) static GPT: Model = Model {
    provider: "openai",
    api: "openai-responses",
    id: "gpt-5.2",
    window: 272_000,
    price: [1.75, 14.0, 0.175, 0.0],
};

const fn anthropic(id: &'static str, price: [f64; 4]) -> Model {
    Model { provider: "anthropic", api: "anthropic-messages", id, window: 200_000, price }
}

/// Tokens of one call, as the provider reports them (store I7).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

impl Usage {
    pub(super) fn prompt(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Tokens of prompt and reply.
    pub(super) fn total(&self) -> u64 {
        self.prompt() + self.output
    }
}

impl Model {
    /// Whether prompt-cache pruning applies to the provider (pruning 3.6); in the demo only to Anthropic.
    pub(super) fn is_prunable(&self) -> bool {
        self.provider == "anthropic"
    }

    /// Returns the stored form, with the cost computed as by the runtime: price per token first, then times tokens
    /// (compaction 10.2).
    pub(super) fn usage_json(&self, usage: &Usage) -> Value {
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let cost: Vec<f64> = self.price.iter().zip(tokens).map(|(price, n)| price / 1e6 * n as f64).collect();
        json!({
            "input": usage.input, "output": usage.output,
            "cacheRead": usage.cache_read, "cacheWrite": usage.cache_write, "totalTokens": usage.total(),
            "cost": {"input": cost[0], "output": cost[1], "cacheRead": cost[2], "cacheWrite": cost[3],
                "total": cost[0] + cost[1] + cost[2] + cost[3]},
        })
    }
}

const CJK_CHARS_PER_TOKEN: f64 = 1.4;

/// Counts tokens as a tokenizer would, with `per_token` ASCII chars per token and far fewer CJK chars.
pub(super) fn provider_tokens(text: &str, per_token: f64) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as f64;
    let wide = text.chars().filter(|c| !c.is_ascii()).count() as f64;
    (ascii / per_token + wide / CJK_CHARS_PER_TOKEN).ceil() as u64
}

/// Returns the length in UTF-16 code units, the gateway's "chars".
pub(super) fn chars(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.encode_utf16().count() as u64 }
}
