//! Sessions made for the tests: a transcript that grows message by message, with usage that a provider would have counted.

use std::fmt::Write as _;

use crate::context::budget::FixedChars;
use crate::gateway::compaction::CompactionSettings;
use crate::ids::EntryIx;
use crate::inspect::testing::{inspection, quoted};
use crate::inspect::{Counted, Inspection, SourceOfCount};
use crate::js;
use crate::policy::settings::{RowSource, rows};
use crate::store::prompt_report::SystemPromptReport;

/// 2026-11-19T08:00:00Z.
pub(super) const START_MS: f64 = 1_795_075_200_000.0;
const MINUTE: f64 = 60_000.0;

/// A session in the making. Entries are `e0`, `e1`, …, each the child of the one before.
#[derive(Debug, Clone)]
pub(super) struct Made {
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
    tokens: Vec<(usize, f64)>,
    settled: Option<u64>,
    calls: usize,
}

impl Made {
    pub(super) fn new() -> Self {
        let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-19T08:00:00.000Z"}"#;
        Self {
            text: format!("{header}\n"),
            count: 0,
            now: START_MS,
            fixed: 9_000.0,
            chars_per_token: 4.0,
            model: ("anthropic", "claude-opus-4-6"),
            tokens: Vec::new(),
            settled: None,
            calls: 0,
        }
    }

    fn push(&mut self, rest: &str, chars: usize) -> usize {
        let at = self.count;
        let parent = at.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = js::iso_text(self.now as i64);
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

    pub(super) fn wait(&mut self, minutes: f64) {
        self.now += minutes * MINUTE;
    }

    pub(super) fn user(&mut self, text: &str) -> usize {
        self.message(&format!(r#"{{"role":"user","content":{}}}"#, quoted(text)), text.encode_utf16().count())
    }

    pub(super) fn user_with_images(&mut self, images: usize, tokens_each: f64) -> usize {
        let image = r#"{"type":"image","mimeType":"image/png","data":"QUJD"}"#;
        let images_text = vec![image; images].join(",");
        let at = self.message(&format!(r#"{{"role":"user","content":[{images_text}]}}"#), 0);
        self.tokens[at].1 = images as f64 * tokens_each;
        at
    }

    /// What the next call is counted at, whatever it should be.
    pub(super) fn settle(&mut self, tokens: u64) {
        self.settled = Some(tokens);
    }

    /// Tokens that the next prompt would be counted at.
    pub(super) fn prompt(&self) -> u64 {
        (self.fixed + self.tokens.iter().map(|(_, tokens)| tokens).sum::<f64>()) as u64
    }

    fn usage(&mut self, output: u64) -> String {
        let prompt = self.settled.take().unwrap_or_else(|| self.prompt());
        // What follows grows from the count that was settled.
        let off = prompt as f64 - self.prompt() as f64;
        if let Some(first) = self.tokens.first_mut() {
            first.1 += off;
        }
        let total = prompt + output;
        format!(
            r#""usage":{{"input":{prompt},"output":{output},"cacheRead":0,"cacheWrite":0,"totalTokens":{total}}}"#
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

    /// An answer of so many chars that ends a run.
    pub(super) fn answer(&mut self, chars: usize) -> usize {
        let text = words(chars);
        let output = (chars as f64 / self.chars_per_token) as u64;
        self.assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#), "stop", output, chars)
    }

    /// A reply that the window cut after so many tokens.
    pub(super) fn cut(&mut self, output: u64) -> usize {
        self.assistant(r#"{"type":"text","text":"so"}"#, "length", output, 2)
    }

    /// A step: calls of one tool, and what each returned, so many chars.
    pub(super) fn step(&mut self, tool: &str, chars: &[usize]) -> Vec<usize> {
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

    /// A call that failed with these words.
    pub(super) fn failed(&mut self, text: &str) -> usize {
        let (provider, model) = self.model;
        let message = format!(
            r#"{{"role":"assistant","content":[],"stopReason":"error","provider":"{provider}","model":"{model}","timestamp":{},"errorMessage":{}}}"#,
            self.now,
            quoted(text)
        );
        self.message(&message, 0)
    }

    /// A compaction that keeps what begins at an entry.
    pub(super) fn compaction(&mut self, summary: &str, kept: usize) -> usize {
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

    /// The touch that a run leaves at its end.
    pub(super) fn touch(&mut self) -> usize {
        let now = self.now;
        self.push(
            &format!(r#""type":"custom","customType":"openclaw.cache-ttl","data":{{"timestamp":{now}}}"#),
            0,
        )
    }

    /// Turns of a question, results and an answer each, until the next prompt has so many tokens.
    pub(super) fn grow_to(&mut self, tokens: u64, result_chars: usize) {
        while self.prompt() < tokens {
            let number = self.count;
            self.user(&format!("and what about part {number} of it{}", ".".repeat(number % 7)));
            self.step("exec", &[result_chars]);
            self.answer(400);
            self.touch();
            self.wait(2.0);
        }
    }

    /// The session as it is read, on a window, with the gateway's own reserve and settings.
    pub(super) fn read(&self, window: f64) -> Inspection {
        let mut read = inspection(&self.text, window);
        read.upkeep.runtime_window = window;
        read.configured.compaction =
            CompactionSettings { reserve_tokens: 20_000.0, ..CompactionSettings::default() };
        read.configured.prune.ttl_ms = 3_600_000.0;
        (read.provider, read.model) = (self.model.0.into(), self.model.1.into());
        set_rows(&mut read);
        let last = read.index.entries.iter().rev().find_map(|entry| entry.message);
        let counted = last.and_then(|size| size.usage).map(|usage| usage.prompt_tokens() as u64);
        read.session.tokens = counted.map(|tokens| Counted { tokens, source: SourceOfCount::Measured });
        read
    }
}

/// The settings that the version of a session has, the ttl as it is in force.
pub(super) fn set_rows(read: &mut Inspection) {
    read.settings = rows(&RowSource {
        config: &read.config,
        ruleset: read.ruleset.ruleset,
        session_key: "agent:main:telegram:direct:1",
        runtime: read.configured.compaction,
        window: read.window.tokens,
        clear: &read.configured.clear,
    });
    for row in &mut read.settings {
        if row.row.key == "ttl" {
            row.row.value = read.configured.prune.ttl_ms.into();
        }
    }
}

/// A report of so many chars of system prompt and tool schemas.
pub(super) fn report(read: &mut Inspection, prompt_chars: u64, schema_chars: u64) {
    let text = format!(
        r#"{{"source":"run","generatedAt":1,"systemPrompt":{{"chars":{prompt_chars},"projectContextChars":0,"nonProjectContextChars":{prompt_chars}}},
        "injectedWorkspaceFiles":[],"skills":{{"promptChars":0,"entries":[]}},"tools":{{"listChars":0,"schemaChars":{schema_chars},"entries":[]}}}}"#
    );
    let report = SystemPromptReport::new(&js::parse(&text).expect("JSON")).expect("a report");
    read.fixed = Some(FixedChars::new(&report));
}

/// Words of so many chars.
pub(super) fn words(chars: usize) -> String {
    "the linker wants it so ".chars().cycle().take(chars).collect()
}

/// Where an entry stands.
pub(super) fn at(number: usize) -> EntryIx {
    EntryIx(number as u32)
}
