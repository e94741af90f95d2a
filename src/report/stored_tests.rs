//! Sessions as a gateway would hold them, for tests: a transcript, its row and the configuration in a folder, read as
//! the program reads them.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::gateway::env::Environment;
use crate::js;
use crate::session::LoadedSession;
use crate::session::list::list_sessions;
use crate::session::loading::open;
use crate::session::store_location::{StoreLocation, StoreRequest};
use crate::session::testing::quoted;
use crate::units::Moment;

/// 2026-11-19T08:00:00Z.
pub(in crate::report) const START_MS: i64 = 1_795_075_200_000;

/// A session in the making: each entry is the child of the previous one, ids are `e0`, `e1`, …, and the provider counts
/// one token for four chars.
#[derive(Debug, Clone)]
pub(in crate::report) struct Tale {
    text: String,
    pub(in crate::report) count: usize,
    now: i64,
    /// Tokens of the next prompt.
    pub(in crate::report) prompt: u64,
    /// Chars that the provider counts as one token.
    chars_per_token: u64,
    model: &'static str,
    calls: usize,
    /// Tokens in the provider's cache, where it has one.
    cache: Option<u64>,
}

impl Tale {
    /// A session whose prompt begins with this many tokens.
    pub(in crate::report) fn new(fixed: u64) -> Self {
        let text =
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-11-19T08:00:00.000Z\"}\n";
        let text = text.to_owned();
        let model = "claude-opus-4-6";
        Self {
            text,
            count: 0,
            now: START_MS,
            prompt: fixed,
            chars_per_token: 4,
            model,
            calls: 0,
            cache: None,
        }
    }

    /// From here on the provider counts one token for this many chars.
    pub(in crate::report) fn counted_by(self, chars_per_token: u64) -> Self {
        Self { chars_per_token, ..self }
    }

    /// From here on prompts are read from a cache, which has nothing of them yet.
    pub(in crate::report) fn cached(self) -> Self {
        Self { cache: Some(0), ..self }
    }

    /// From here on this model answers.
    pub(in crate::report) fn on_model(self, model: &'static str) -> Self {
        Self { model, ..self }
    }

    pub(in crate::report) fn entry(mut self, rest: &str) -> Self {
        let parent = self.count.checked_sub(1).map_or("null".to_owned(), |at| format!("\"e{at}\""));
        let time = js::iso_text(Moment::from_whole(self.now));
        let id = self.count;
        let _ = writeln!(self.text, r#"{{"id":"e{id}","parentId":{parent},"timestamp":"{time}",{rest}}}"#);
        self.count += 1;
        self.now += 30_000;
        self
    }

    fn message(mut self, rest: &str, chars: usize) -> Self {
        self.prompt += chars as u64 / self.chars_per_token;
        self.entry(&format!(r#""type":"message","message":{{{rest}}}"#))
    }

    pub(in crate::report) fn wait(mut self, minutes: i64) -> Self {
        self.now += minutes * 60_000;
        self
    }

    pub(in crate::report) fn user(self, chars: usize) -> Self {
        let text = words(chars);
        self.message(&format!(r#""role":"user","content":{}"#, quoted(&text)), chars)
    }

    pub(in crate::report) fn image(mut self, tokens: u64) -> Self {
        self.prompt += tokens;
        self.message(r#""role":"user","content":[{"type":"image","mimeType":"image/png","data":"QUJD"}]"#, 0)
    }

    fn assistant(mut self, content: &str, stop: &str, output: u64, usage: u64, chars: usize) -> Self {
        let model = self.model;
        let read = self.cache.map_or(0, |cached| cached.min(usage));
        let (input, write) = if self.cache.is_some() { (0, usage - read) } else { (usage, 0) };
        self.cache = self.cache.map(|_| usage);
        let usage = format!(
            r#"{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":{write},"totalTokens":{}}}"#,
            usage + output
        );
        self.message(
            &format!(
                r#""role":"assistant","content":[{content}],"stopReason":"{stop}","provider":"anthropic","model":"{model}","usage":{usage}"#
            ),
            chars,
        )
    }

    pub(in crate::report) fn answer(self, chars: usize) -> Self {
        let (text, prompt) = (words(chars), self.prompt);
        self.assistant(
            &format!(r#"{{"type":"text","text":"{text}"}}"#),
            "stop",
            chars as u64 / 4,
            prompt,
            chars,
        )
    }

    /// An answer for which the provider counts nothing.
    pub(in crate::report) fn uncounted(self, chars: usize) -> Self {
        let text = words(chars);
        self.assistant(&format!(r#"{{"type":"text","text":"{text}"}}"#), "stop", 0, 0, chars)
    }

    /// Calls of one tool, and their results of these chars.
    pub(in crate::report) fn step(mut self, tool: &str, chars: &[usize]) -> Self {
        let first = self.calls;
        self.calls += chars.len();
        let call = |id: usize| {
            format!(r#"{{"type":"toolCall","id":"c{id}","name":"{tool}","arguments":{{"command":"ls"}}}}"#)
        };
        let (calls, prompt) = ((first..self.calls).map(call).collect::<Vec<_>>(), self.prompt);
        let asked = self.assistant(&calls.join(","), "toolUse", 40, prompt, 24 * chars.len());
        chars.iter().zip(first..).fold(asked, |tale, (chars, id)| {
            let text = quoted(&words(*chars));
            tale.message(
                &format!(
                    r#""role":"toolResult","toolCallId":"c{id}","toolName":"{tool}","content":[{{"type":"text","text":{text}}}]"#
                ),
                *chars,
            )
        })
    }

    /// A turn: a question, a result of these chars and a short answer.
    pub(in crate::report) fn turn(self, chars: usize) -> Self {
        self.user(40).step("exec", &[chars]).answer(400).touched().wait(2)
    }

    pub(in crate::report) fn failed(self, text: &str) -> Self {
        let model = self.model;
        self.message(
            &format!(
                r#""role":"assistant","content":[],"stopReason":"error","provider":"anthropic","model":"{model}","errorMessage":{}"#,
                quoted(text)
            ),
            0,
        )
    }

    /// The provider refuses the prompt, because it takes fewer tokens.
    pub(in crate::report) fn refused(self, limit: u64) -> Self {
        let prompt = self.prompt;
        self.failed(&format!("prompt is too long: {prompt} tokens > {limit} maximum"))
    }

    /// A compaction that keeps the messages from an entry on, after which the prompt has this many tokens.
    pub(in crate::report) fn compacted(mut self, summary: &str, kept: usize, after: u64) -> Self {
        let before = std::mem::replace(&mut self.prompt, after);
        let summary = quoted(summary);
        self.entry(&format!(
            r#""type":"compaction","summary":{summary},"firstKeptEntryId":"e{kept}","tokensBefore":{before}"#
        ))
    }

    /// Adds the gateway's note of a prompt that threw before the model was called.
    pub(in crate::report) fn threw(self, text: &str) -> Self {
        let error = quoted(text);
        self.entry(&format!(
            r#""type":"custom","customType":"openclaw:prompt-error","data":{{"error":{error}}}"#
        ))
    }

    /// The touch that a run leaves at its end.
    pub(in crate::report) fn touched(self) -> Self {
        let data = format!(r#"{{"timestamp":{}}}"#, self.now);
        self.entry(&format!(r#""type":"custom","customType":"openclaw.cache-ttl","data":{data}"#))
    }

    /// Reads it from a store with this configuration and these members of its row.
    pub(in crate::report) fn read(&self, config: &str, row: &str) -> (tempfile::TempDir, LoadedSession) {
        let folder = tempfile::tempdir().expect("a folder");
        let sessions = folder.path().join("agents/main/sessions");
        std::fs::create_dir_all(&sessions).expect("folders");
        let write = |path: std::path::PathBuf, text: &str| {
            std::fs::File::create(path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .expect("written");
        };
        write(folder.path().join("openclaw.json"), config);
        let row = format!(
            r#"{{"agent:main:telegram:direct:1":{{"sessionId":"s","updatedAt":{}{row}}}}}"#,
            self.now
        );
        write(sessions.join("sessions.json"), &row);
        write(sessions.join("s.jsonl"), &self.text);
        let place =
            StoreLocation::new(&StoreRequest::Path(folder.path().to_path_buf()), Environment::default());
        let listed = list_sessions(&place.expect("a place"), Moment::from_whole(self.now));
        let key = &listed.items[0].key;
        let session =
            open(&listed.store, key, None, Moment::from_whole(self.now), &mut |_, _| true).expect("it opens");
        (folder, session)
    }
}

/// A compaction that leaves 4,000 tokens free and keeps 3,000.
pub(in crate::report) const COMPACTION: &str =
    r#","compaction":{"reserveTokens":4000,"reserveTokensFloor":0,"keepRecentTokens":3000}"#;

/// The configuration of a window in tokens, with more members of `agents.defaults`.
pub(in crate::report) fn config(window: u64, defaults: &str) -> String {
    let model = |id: &str, window: u64| format!(r#"{{"id":"{id}","contextWindow":{window}}}"#);
    let models = [model("claude-opus-4-6", window), model("claude-haiku-4-5", window / 2)].join(",");
    format!(
        r#"{{"agents":{{"defaults":{{"model":{{"primary":"anthropic/claude-opus-4-6"}}{defaults}}}}},"models":{{"providers":{{"anthropic":{{"models":[{models}]}}}}}}}}"#
    )
}

pub(in crate::report) fn words(chars: usize) -> String {
    "the linker wants it so ".chars().cycle().take(chars).collect()
}
