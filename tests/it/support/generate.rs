//! Seeded transcripts with everything a session file may hold: every type of entry, branches,
//! compactions, labels, branch summaries, images, lone surrogates, unknown types and keys, numbers
//! written in odd ways. The same seed and options always give the same bytes.

use clawscope::units::Moment;
use std::fmt::Write as _;

/// The optional parts of a transcript besides plain turns.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Steps: most are turns of a user message, tool calls with their results, and an answer.
    pub(crate) steps: usize,
    /// Longest text of a tool result, in pieces of a few chars.
    pub(crate) result_pieces: usize,
    /// Going back to an earlier entry, with or without a summary.
    pub(crate) branches: bool,
    /// Compactions, some of which keep from an entry that is not on the path.
    pub(crate) compactions: bool,
    /// Labels, also cleared and on other branches.
    pub(crate) labels: bool,
    /// Image blocks in tool results.
    pub(crate) images: bool,
    /// Half surrogate pairs in texts.
    pub(crate) lone_surrogates: bool,
    /// Unknown types, unknown keys, and the entries of later versions.
    pub(crate) unknown: bool,
    /// White space between the parts of some lines.
    pub(crate) spaces: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            steps: 14,
            result_pieces: 60,
            branches: true,
            compactions: true,
            labels: true,
            images: true,
            lone_surrogates: true,
            unknown: true,
            spaces: true,
        }
    }
}

/// The bytes of one transcript: a header, at least one whole turn, every line ended.
pub(crate) fn transcript(seed: u64, options: &Options) -> Vec<u8> {
    let mut writer = Writer::new(seed, options.clone());
    writer.turn();
    for _ in 0..options.steps {
        writer.step();
    }
    writer.text.into_bytes()
}

/// `SplitMix64`: small, and good enough for choices.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Creates dice that always fall the same way for a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `sides`, which must not be 0.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        (self.next() % sides as u64) as usize
    }

    /// A share of 1, neither 0 nor 1.
    pub(crate) fn share(&mut self) -> f64 {
        ((self.next() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Returns true once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// Pieces of JSON strings as in files, escapes included.
const PIECES: [&str; 16] = [
    "plain words ",
    "0123456789",
    "\\n",
    "\\\"quoted\\\"",
    "\\\\",
    "\\/",
    "\\u0041",
    "\\u001b[31m",
    "äöü ß",
    "漢字",
    "😀",
    "\\ud83d\\ude00",
    "\\t",
    "\u{7f}",
    "\u{2028}",
    "x = {\\\"a\\\": [1]} ",
];
const LONE: [&str; 3] = ["\\ud83d", "\\ude00", "\\uD83Dx"];
const NUMBERS: [&str; 8] = ["0", "1.50", "-0", "1e3", "12345678901234567890", "0.1", "3.0", "1E-7"];

struct Writer {
    text: String,
    dice: Dice,
    options: Options,
    /// Every id with its parent, in file order.
    entries: Vec<(String, Option<usize>)>,
    leaf: Option<usize>,
    clock: u64,
    calls: usize,
}

impl Writer {
    fn new(seed: u64, options: Options) -> Self {
        let text = "{\"type\":\"session\",\"version\":3,\"id\":\"0d5a4b0e-8d53-4f40-9e9c-6d1c0f8f2a11\",\"timestamp\":\"2026-02-21T05:00:00.000Z\",\"cwd\":\"/home/someone/project\"}\n";
        Self {
            text: text.to_owned(),
            dice: Dice::new(seed),
            options,
            entries: Vec::new(),
            leaf: None,
            clock: 1_771_650_000_000,
            calls: 0,
        }
    }

    fn step(&mut self) {
        match self.dice.below(16) {
            0 if self.options.branches => self.go_back(),
            1 if self.options.compactions => self.compaction(),
            2 | 3 if self.options.labels => self.label(),
            4 if self.options.unknown => self.unknown(),
            5 => self.settings(),
            6 => self.custom(),
            7 => self.custom_message(),
            8 => self.shell(),
            _ => self.turn(),
        }
    }

    /// Writes an entry under the leaf and makes it the leaf. `members` come before the ids when
    /// `ids_last`, as in custom entries.
    fn entry(&mut self, kind: &str, members: &str, ids_last: bool) {
        let id = format!("{:08x}", self.dice.next() as u32);
        let parent = self.leaf.map_or("null".to_owned(), |at| format!("\"{}\"", self.entries[at].0));
        self.clock += 1 + self.dice.below(90_000) as u64;
        let time = iso(self.clock);
        let ids = format!("\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\"");
        let line = match (ids_last, members.is_empty()) {
            (true, _) => format!("{{\"type\":\"{kind}\",{members},{ids}}}"),
            (false, true) => format!("{{\"type\":\"{kind}\",{ids}}}"),
            (false, false) => format!("{{\"type\":\"{kind}\",{ids},{members}}}"),
        };
        let line = if self.options.spaces && self.dice.once_in(6) { spaced(&line) } else { line };
        self.text.push_str(&line);
        self.text.push('\n');
        self.entries.push((id, self.leaf));
        self.leaf = Some(self.entries.len() - 1);
    }

    fn message(&mut self, members: &str) {
        let odd = if self.options.unknown && self.dice.once_in(5) {
            format!(",\"x-{}\":{{\"n\":{},\"1\":null}}", self.dice.below(9), self.dice.one_of(&NUMBERS))
        } else {
            String::new()
        };
        self.clock += 1;
        let message = format!("\"message\":{{{members},\"timestamp\":{}{odd}}}", self.clock);
        self.entry("message", &message, false);
    }

    /// The inside of a JSON string.
    fn words(&mut self, pieces: usize) -> String {
        let mut text = String::new();
        for _ in 0..=self.dice.below(pieces.max(1)) {
            text.push_str(self.dice.one_of(&PIECES));
            if self.options.lone_surrogates && self.dice.once_in(20) {
                text.push_str(self.dice.one_of(&LONE));
                text.push(' ');
            }
        }
        text
    }

    fn turn(&mut self) {
        let text = self.words(8);
        if self.dice.once_in(3) {
            self.message(&format!(
                "\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]"
            ));
        } else {
            self.message(&format!("\"role\":\"user\",\"content\":\"{text}\""));
        }
        for _ in 0..self.dice.below(3) {
            self.tool_round();
        }
        let text = self.words(12);
        self.answer(&format!("{{\"type\":\"text\",\"text\":\"{text}\"}}"), "stop");
    }

    fn tool_round(&mut self) {
        let count = 1 + self.dice.below(3);
        let first = self.calls;
        self.calls += count;
        let mut blocks = String::new();
        if self.dice.once_in(2) {
            let _ = write!(
                blocks,
                "{{\"type\":\"thinking\",\"thinking\":\"{}\",\"thinkingSignature\":\"c2ln\"}},",
                self.words(6)
            );
        }
        for call in first..first + count {
            let comma = if call > first { "," } else { "" };
            let path = self.words(2);
            let number = self.dice.one_of(&NUMBERS);
            let _ = write!(
                blocks,
                "{comma}{{\"type\":\"toolCall\",\"id\":\"call_{call}\",\"name\":\"read\",\"arguments\":{{\"path\":\"{path}\",\"limit\":{number}}}}}"
            );
        }
        self.answer(&blocks, "toolUse");
        for call in first..first + count {
            self.result(call);
        }
    }

    fn answer(&mut self, blocks: &str, stop: &str) {
        let (input, output) = (self.dice.below(90_000), self.dice.below(900));
        self.message(&format!(
            "\"role\":\"assistant\",\"content\":[{blocks}],\"api\":\"anthropic-messages\",\"provider\":\"anthropic\",\"model\":\"claude-sonnet-4-5\",\"usage\":{{\"input\":{input},\"output\":{output},\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":{},\"cost\":{{\"input\":0.1,\"output\":1e-3,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0.101}}}},\"stopReason\":\"{stop}\"",
            input + output
        ));
    }

    fn result(&mut self, call: usize) {
        let text = self.words(self.options.result_pieces);
        let mut blocks = format!("{{\"type\":\"text\",\"text\":\"{text}\"}}");
        if self.options.images && self.dice.once_in(8) {
            blocks += ",{\"type\":\"image\",\"data\":\"iVBORw0KGgo=\",\"mimeType\":\"image/png\"}";
        }
        let details = if self.dice.once_in(3) { ",\"details\":{\"lines\":1.0,\"ok\":true}" } else { "" };
        let failed = self.dice.once_in(10);
        self.message(&format!(
            "\"role\":\"toolResult\",\"toolCallId\":\"call_{call}\",\"toolName\":\"read\",\"content\":[{blocks}]{details},\"isError\":{failed}"
        ));
    }

    fn shell(&mut self) {
        let output = self.words(10);
        let hidden = if self.dice.once_in(2) { ",\"excludeFromContext\":true" } else { "" };
        self.message(&format!(
            "\"role\":\"bashExecution\",\"command\":\"ls\",\"output\":\"{output}\",\"exitCode\":0,\"cancelled\":false,\"truncated\":false{hidden}"
        ));
    }

    fn settings(&mut self) {
        match self.dice.below(3) {
            0 => self.entry("thinking_level_change", "\"thinkingLevel\":\"high\"", false),
            1 => {
                self.entry("model_change", "\"provider\":\"anthropic\",\"modelId\":\"claude-opus-4\"", false);
            }
            _ => {
                let name = self.words(2);
                self.entry("session_info", &format!("\"name\":\"{name}\""), false);
            }
        }
    }

    fn custom(&mut self) {
        let time = self.clock;
        let members = match self.dice.below(3) {
            0 => format!(
                "\"customType\":\"openclaw.cache-ttl\",\"data\":{{\"timestamp\":{time},\"provider\":\"anthropic\",\"modelId\":\"claude-sonnet-4-5\"}}"
            ),
            1 => format!(
                "\"customType\":\"model-snapshot\",\"data\":{{\"timestamp\":{time},\"provider\":\"anthropic\"}}"
            ),
            _ => "\"customType\":\"someone.else\"".to_owned(),
        };
        self.entry("custom", &members, true);
    }

    fn custom_message(&mut self) {
        let text = self.words(6);
        let content = if self.dice.once_in(2) {
            format!("\"{text}\"")
        } else {
            format!("[{{\"type\":\"text\",\"text\":\"{text}\"}}]")
        };
        let details = if self.dice.once_in(2) { ",\"details\":{\"from\":3}" } else { "" };
        self.entry(
            "custom_message",
            &format!("\"customType\":\"note\",\"content\":{content},\"display\":true{details}"),
            true,
        );
    }

    /// The entries from the root to the leaf.
    fn path(&self) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(self.leaf, |at| self.entries[*at].1).collect();
        path.reverse();
        path
    }

    fn any_id(&mut self) -> String {
        let at = self.dice.below(self.entries.len());
        self.entries[at].0.clone()
    }

    fn path_id(&mut self) -> String {
        let path = self.path();
        self.entries[path[self.dice.below(path.len())]].0.clone()
    }

    fn compaction(&mut self) {
        let kept = match self.dice.below(8) {
            0 => self.any_id(),
            1 => "ffffffff".to_owned(),
            _ => self.path_id(),
        };
        let summary = self.words(10);
        let details = if self.dice.once_in(2) {
            ",\"details\":{\"readFiles\":[],\"modifiedFiles\":[\"a\"]},\"fromHook\":false"
        } else {
            ""
        };
        let tokens = self.dice.below(200_000);
        self.entry(
            "compaction",
            &format!(
                "\"summary\":\"{summary}\",\"firstKeptEntryId\":\"{kept}\",\"tokensBefore\":{tokens}{details}"
            ),
            false,
        );
    }

    fn label(&mut self) {
        let target = if self.dice.once_in(3) { self.any_id() } else { self.path_id() };
        let label = match self.dice.below(4) {
            0 => String::new(),
            1 => ",\"label\":\"\"".to_owned(),
            _ => format!(",\"label\":\"{}\"", self.words(2)),
        };
        self.entry("label", &format!("\"targetId\":\"{target}\"{label}"), false);
    }

    /// Goes back to an earlier entry, or before the first.
    fn go_back(&mut self) {
        let from = self.any_id();
        self.leaf = if self.dice.once_in(12) { None } else { Some(self.dice.below(self.entries.len())) };
        match self.dice.below(3) {
            0 => self.turn(),
            choice => {
                let summary = if self.dice.once_in(8) { String::new() } else { self.words(8) };
                let from = if choice == 1 { "root".to_owned() } else { from };
                self.entry(
                    "branch_summary",
                    &format!("\"fromId\":\"{from}\",\"summary\":\"{summary}\""),
                    false,
                );
            }
        }
    }

    fn unknown(&mut self) {
        let number = self.dice.one_of(&NUMBERS);
        match self.dice.below(4) {
            0 => self.entry(
                "usage",
                &format!("\"kind\":\"cache_warm\",\"usage\":{{\"input\":{number}}}"),
                false,
            ),
            1 => {
                let target = self.any_id();
                self.entry("context_edit", &format!("\"targetId\":\"{target}\",\"replacement\":null"), false);
            }
            2 => self.entry(
                "from_the_future",
                &format!("\"7\":{number},\"a\":{{\"b\":[{number}, {{ }}]}},\"a\":null"),
                false,
            ),
            _ => self.entry("from_the_future", "", false),
        }
    }
}

/// White space around every structural character outside of strings.
fn spaced(line: &str) -> String {
    let (mut text, mut inside, mut escaped) = (String::new(), false, false);
    for char in line.chars() {
        let quote = char == '"' && !escaped;
        escaped = inside && char == '\\' && !escaped;
        if quote {
            inside = !inside;
        }
        text.push(char);
        if !inside && matches!(char, ',' | ':' | '{' | '[') {
            text.push(' ');
        }
    }
    text
}

fn iso(ms: u64) -> String {
    clawscope::js::iso_text(Moment::from_whole(ms as i64))
}
