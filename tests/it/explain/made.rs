//! Sessions made for the tests: a transcript that grows message by message, with usage as a provider counts it.

use std::fmt::Write as _;

use clawscope::ids::EntryIx;
use clawscope::js;
use clawscope::units::Moment;

use super::on_store::{OnStore, Read};

/// 2026-11-19T08:00:00Z.
pub(crate) const START_MS: f64 = 1_795_075_200_000.0;
const MINUTE: f64 = 60_000.0;

/// A session under construction. Entries are `e0`, `e1`, …, each the child of the previous one.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    text: String,
    /// Entries so far.
    pub count: usize,
    /// Now, ms.
    pub now: f64,
    /// Tokens before the messages, as the provider counts them.
    pub fixed: f64,
    /// Chars that the provider counts as one token.
    pub chars_per_token: f64,
    /// Provider and model of the answers.
    pub model: (&'static str, &'static str),
    /// Provider and model of the configuration.
    pub first_model: (&'static str, &'static str),
    tokens: Vec<(usize, f64)>,
    settled: Option<u64>,
    calls: usize,
    counted: (u64, u64),
    /// Prompts are read from the cache of the previous call.
    pub cached: bool,
    /// Whether answers record their cost.
    pub priced: bool,
    cache: u64,
    paid: f64,
}

impl Made {
    pub(crate) fn new() -> Self {
        Self::at(START_MS)
    }

    /// Starts a session at a time, ms.
    pub(crate) fn at(start: f64) -> Self {
        let time = js::iso_text(Moment(start));
        let header = format!(r#"{{"type":"session","version":3,"id":"s","timestamp":"{time}"}}"#);
        Self {
            text: format!("{header}\n"),
            count: 0,
            now: start,
            fixed: 9_000.0,
            chars_per_token: 4.0,
            model: ("anthropic", "claude-opus-4-6"),
            first_model: ("anthropic", "claude-opus-4-6"),
            tokens: Vec::new(),
            settled: None,
            calls: 0,
            counted: (0, 0),
            cached: false,
            priced: false,
            cache: 0,
            paid: 0.0,
        }
    }

    fn push(&mut self, rest: &str, chars: usize) -> usize {
        let at = self.count;
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = js::iso_text(Moment(self.now));
        let _ =
            writeln!(self.text, "{{\"id\":\"e{at}\",\"parentId\":{parent},\"timestamp\":\"{time}\",{rest}}}");
        self.tokens.push((at, chars as f64 / self.chars_per_token));
        self.count += 1;
        self.now += MINUTE / 2.0;
        at
    }

    fn message(&mut self, message: &str, chars: usize) -> usize {
        self.push(&format!(r#""type":"message","message":{message}"#), chars)
    }

    pub(crate) fn wait(&mut self, minutes: f64) {
        self.now += minutes * MINUTE;
    }

    pub(crate) fn user(&mut self, text: &str) -> usize {
        self.message(&format!(r#"{{"role":"user","content":{}}}"#, quoted(text)), text.encode_utf16().count())
    }

    pub(crate) fn user_with_images(&mut self, images: usize, tokens_each: f64) -> usize {
        let image = r#"{"type":"image","mimeType":"image/png","data":"QUJD"}"#;
        let images_text = vec![image; images].join(",");
        let at = self.message(&format!(r#"{{"role":"user","content":[{images_text}]}}"#), 0);
        self.tokens[at].1 = images as f64 * tokens_each;
        at
    }

    /// Sets the tokens of the next call, in place of the sum.
    pub(crate) fn settle(&mut self, tokens: u64) {
        self.settled = Some(tokens);
    }

    /// Returns the tokens that the next prompt would be counted at.
    pub(crate) fn prompt(&self) -> u64 {
        (self.fixed + self.tokens.iter().map(|(_, tokens)| tokens).sum::<f64>()) as u64
    }

    fn usage(&mut self, output: u64) -> String {
        let prompt = self.settled.take().unwrap_or_else(|| self.prompt());
        // Later prompts grow from the settled count.
        let off = prompt as f64 - self.prompt() as f64;
        if let Some(first) = self.tokens.first_mut() {
            first.1 += off;
        }
        let total = prompt + output;
        self.counted = (self.counted.0 + prompt, self.counted.1 + output);
        let read = if self.cached { self.cache.min(prompt) } else { 0 };
        let (input, write) = if self.cached { (0, prompt - read) } else { (prompt, 0) };
        self.cache = prompt;
        let cost = self.cost(&[input, output, read, write]);
        format!(
            r#""usage":{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":{write},"totalTokens":{total}{cost}}}"#
        )
    }

    /// Returns the cost of a call at the list prices of Opus, where the provider reports it: input, output, cache read
    /// and write.
    fn cost(&mut self, tokens: &[u64; 4]) -> String {
        let parts: Vec<f64> =
            tokens.iter().zip([5.0, 25.0, 0.5, 6.25]).map(|(n, usd)| *n as f64 * usd / 1e6).collect();
        let total: f64 = parts.iter().sum();
        self.paid += total;
        let [input, output, read, write] = parts[..] else { return String::new() };
        if !self.priced {
            return String::new();
        }
        format!(
            r#","cost":{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":{write},"total":{total}}}"#
        )
    }

    fn assistant(&mut self, content: &str, stop: &str, output: u64, chars: usize) -> usize {
        let usage = self.usage(output);
        let (provider, model) = self.model;
        let message = format!(
            r#"{{"role":"assistant","content":[{content}],"stopReason":"{stop}","provider":"{provider}","model":"{model}",{usage}}}"#
        );
        self.message(&message, chars)
    }

    /// Adds an answer of this many chars that ends a run.
    pub(crate) fn answer(&mut self, chars: usize) -> usize {
        let text = words(chars);
        let output = (chars as f64 / self.chars_per_token) as u64;
        self.assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#), "stop", output, chars)
    }

    /// Adds an answer of this many chars without usage.
    pub(crate) fn uncounted(&mut self, chars: usize) -> usize {
        self.reported(chars, 0)
    }

    /// Adds an answer of this many chars whose reported prompt has this many tokens.
    pub(crate) fn reported(&mut self, chars: usize, tokens: u64) -> usize {
        let (provider, model) = self.model;
        let text = words(chars);
        let usage =
            format!(r#"{{"input":{tokens},"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":{tokens}}}"#);
        let message = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop","provider":"{provider}","model":"{model}","usage":{usage}}}"#
        );
        self.message(&message, chars)
    }

    /// Adds a reply that the window cut after this many tokens.
    pub(crate) fn cut(&mut self, output: u64) -> usize {
        self.assistant(r#"{"type":"text","text":"so"}"#, "length", output, 2)
    }

    /// Adds a step: calls of one tool, and results of these many chars.
    pub(crate) fn step(&mut self, tool: &str, chars: &[usize]) -> Vec<usize> {
        let first = self.calls;
        self.calls += chars.len();
        let call = |id: usize| {
            format!(r#"{{"type":"toolCall","id":"c{id}","name":"{tool}","arguments":{{"command":"ls"}}}}"#)
        };
        let calls: Vec<String> = (first..self.calls).map(call).collect();
        self.assistant(&calls.join(","), "toolUse", 40, 24 * chars.len());
        chars.iter().zip(first..).map(|(chars, id)| self.result(id, tool, &words(*chars))).collect()
    }

    fn result(&mut self, id: usize, tool: &str, text: &str) -> usize {
        let message = format!(
            r#"{{"role":"toolResult","toolCallId":"c{id}","toolName":"{tool}","content":[{{"type":"text","text":{}}}]}}"#,
            quoted(text)
        );
        self.message(&message, text.encode_utf16().count())
    }

    /// Adds the gateway's note of a prompt that threw before the model was called.
    pub(crate) fn threw(&mut self, text: &str) -> usize {
        let data = format!(
            r#""type":"custom","customType":"openclaw:prompt-error","data":{{"error":{}}}"#,
            quoted(text)
        );
        self.push(&data, 0)
    }

    /// Adds an answer that a person stopped.
    pub(crate) fn aborted(&mut self) -> usize {
        let (provider, model) = self.model;
        let message = format!(
            r#"{{"role":"assistant","content":[],"stopReason":"aborted","provider":"{provider}","model":"{model}","errorMessage":"Request was aborted."}}"#
        );
        self.message(&message, 0)
    }

    /// Adds a step with this text as its one result.
    pub(crate) fn step_with(&mut self, tool: &str, text: &str) -> usize {
        let id = self.calls;
        self.calls += 1;
        let call = format!(r#"{{"type":"toolCall","id":"c{id}","name":"{tool}","arguments":{{}}}}"#);
        self.assistant(&call, "toolUse", 40, 24);
        self.result(id, tool, text)
    }

    /// Adds a call that failed with this text.
    pub(crate) fn failed(&mut self, text: &str) -> usize {
        let (provider, model) = self.model;
        let message = format!(
            r#"{{"role":"assistant","content":[],"stopReason":"error","provider":"{provider}","model":"{model}","timestamp":{},"errorMessage":{}}}"#,
            self.now,
            quoted(text)
        );
        self.message(&message, 0)
    }

    /// Adds a compaction that keeps the messages from an entry on.
    pub(crate) fn compaction(&mut self, summary: &str, kept: usize) -> usize {
        let before = self.prompt();
        self.tokens.retain(|(at, _)| *at >= kept);
        self.push(
            &format!(
                r#""type":"compaction","summary":{},"firstKeptEntryId":"e{kept}","tokensBefore":{before}"#,
                quoted(summary)
            ),
            summary.len(),
        )
    }

    /// Adds the cache touch at the end of a run.
    pub(crate) fn touch(&mut self) -> usize {
        let now = self.now;
        self.push(
            &format!(r#""type":"custom","customType":"openclaw.cache-ttl","data":{{"timestamp":{now}}}"#),
            0,
        )
    }

    /// Turns of a question, results and an answer each, until the next prompt has this many tokens.
    pub(crate) fn grow_to(&mut self, tokens: u64, result_chars: usize) {
        while self.prompt() < tokens {
            let number = self.count;
            self.user(&format!("and what about part {number} of it{}", ".".repeat(number % 7)));
            self.step("exec", &[result_chars]);
            self.answer(400);
            self.touch();
            self.wait(2.0);
        }
    }

    /// Puts the session into a temporary store with a window of this many tokens.
    pub(crate) fn on(&self, window: u64) -> OnStore {
        OnStore::new(self.clone(), window)
    }

    /// Reads it from a temporary store.
    pub(crate) fn read(&self, window: u64) -> Read {
        self.on(window).read()
    }

    /// Prompt tokens and reply tokens of all calls that were counted.
    pub(crate) fn counted(&self) -> (u64, u64) {
        self.counted
    }

    /// Returns the cost of all calls, USD.
    pub(crate) fn paid(&self) -> f64 {
        self.paid
    }

    /// The transcript.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Returns words of this many chars.
pub(crate) fn words(chars: usize) -> String {
    "the linker wants it so ".chars().cycle().take(chars).collect()
}

/// Returns the index of an entry.
pub(crate) fn at(number: usize) -> EntryIx {
    EntryIx(number as u32)
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    js::stringify_str(&text.into())
}
