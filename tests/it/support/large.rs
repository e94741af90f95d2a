//! Large transcripts and stores as months of work leave them: most results are short and a few are huge, one in a few hundred
//! messages begins a branch, a compaction follows every fifteen hundred, `exec` keeps its output a second time in its details.
//! The same seed and size always give the same bytes.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::generate::Dice;
use clawscope::units::Moment;

/// The contents of a transcript.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    /// It ends with the first turn after this many bytes.
    pub(crate) bytes: u64,
    /// Selects one of all transcripts of this size.
    pub(crate) seed: u64,
    /// Messages between two compactions; 0 for none.
    pub(crate) compact_every: usize,
    /// Now and then half a surrogate pair, which some readers stop at.
    pub(crate) halves: bool,
}

impl Recipe {
    /// An ordinary transcript of this many bytes.
    pub(crate) fn of(bytes: u64, seed: u64) -> Self {
        Self { bytes, seed, compact_every: 1_500, halves: true }
    }
}

/// The median of a result's chars, the spread of their logarithm that puts every hundredth above 120,000, and the maximum.
const RESULT: (f64, f64, f64) = (1_500.0, 1.884, 400_000.0);
/// 2026-01-01, ms.
const BEGINNING: u64 = 1_767_225_600_000;
const MODEL: &str = r#""api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5""#;

/// Words as JSON writes them.
const WORDS: [&str; 40] = [
    "the ",
    "file ",
    "returns ",
    "error ",
    "session ",
    "build ",
    "const ",
    "value = ",
    "function ",
    "test ",
    "ok ",
    "src/main.rs ",
    "warning: ",
    "unused ",
    "import ",
    "at line ",
    "42 ",
    "0x7ffe ",
    "which ",
    "should ",
    "then ",
    "config ",
    "token ",
    "window ",
    "message ",
    "retry ",
    "failed ",
    "with ",
    "status ",
    "done. ",
    "\\n",
    "\\n    ",
    "\\\"name\\\": ",
    "{ ",
    "} ",
    "\\t",
    "// ",
    "https://example.com/a?b=c ",
    "/home/user/project/",
    "a\\\\b ",
];
const WIDE: [&str; 12] = [
    "漢字の文章",
    "ですから",
    "日本語",
    "文脈を",
    "é",
    "naïve ",
    "Zürich ",
    "привет ",
    "😀",
    "👩‍💻",
    "\\ud83d\\ude80",
    "한국어 ",
];
const TOOLS: [(&str, usize); 8] = [
    ("exec", 38),
    ("read", 30),
    ("edit", 10),
    ("web_fetch", 6),
    ("write", 5),
    ("browser", 4),
    ("memory_search", 4),
    ("process", 3),
];

/// Writes a transcript; returns its bytes.
pub(crate) fn transcript(recipe: Recipe, out: &mut impl Write) -> io::Result<u64> {
    let mut writer = Writer::new(recipe);
    writer.begin();
    while writer.written < recipe.bytes {
        writer.turn();
        out.write_all(writer.text.as_bytes())?;
        writer.written += writer.text.len() as u64;
        writer.text.clear();
    }
    Ok(writer.written)
}

/// A transcript in memory.
pub(crate) fn bytes(recipe: Recipe) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(recipe.bytes as usize + (1 << 20));
    let _ = transcript(recipe, &mut bytes);
    bytes
}

/// A transcript as a file.
#[allow(dead_code, reason = "the benches use it")]
pub(crate) fn file(recipe: Recipe, path: &Path) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let written = transcript(recipe, &mut out)?;
    out.flush()?;
    Ok(written)
}

/// A gateway's state: `agents/main/sessions` with this many transcripts, most of some tens of KB, and their `sessions.json`.
/// Each row carries the skills and the report of the prompt, as a gateway writes them.
#[allow(dead_code, reason = "the benches use it")]
pub(crate) fn store(state_dir: &Path, sessions: usize, seed: u64) -> io::Result<u64> {
    let folder = state_dir.join("agents/main/sessions");
    fs::create_dir_all(&folder)?;
    let mut dice = Dice::new(seed);
    let skills = Writer::new(Recipe::of(0, seed)).words(9_000);
    let (mut rows, mut total) = (Vec::new(), 0);
    for at in 0..sessions {
        let id = uuid(&mut dice);
        let bytes = lognormal(&mut dice, (40_000.0, 1.5, 20e6)) as u64;
        let recipe = Recipe::of(bytes, seed.wrapping_add(at as u64 * 7_919));
        total += file(recipe, &folder.join(format!("{id}.jsonl")))?;
        rows.push(row(&mut dice, at, &id, &skills));
    }
    let json = format!("{{\n{}\n}}\n", rows.join(",\n"));
    File::create(folder.join("sessions.json"))?.write_all(json.as_bytes())?;
    File::create(state_dir.join("openclaw.json"))?.write_all(b"{}\n")?;
    Ok(total)
}

fn row(dice: &mut Dice, at: usize, id: &str, skills: &str) -> String {
    let number = dice.below(1 << 30);
    let key = match at % 5 {
        0 if at == 0 => "agent:main:main".to_owned(),
        0 => format!("agent:main:telegram:direct:{number}"),
        1 => format!("agent:main:discord:channel:{number}"),
        2 => format!("agent:main:cron:{}", uuid(dice)),
        3 => format!("agent:main:subagent:{}", uuid(dice)),
        _ => format!("agent:main:whatsapp:group:{number}@g.us"),
    };
    let tokens = 9_000 + dice.below(150_000);
    let updated = BEGINNING + dice.below(7_776_000) as u64 * 1_000;
    format!(
        r#"  "{key}":{{"sessionId":"{id}","sessionFile":"{id}.jsonl","updatedAt":{updated},"systemSent":true,"abortedLastRun":false,"chatType":"direct","lastChannel":"telegram","modelProvider":"anthropic","model":"claude-opus-4-5","contextTokens":200000,"inputTokens":{},"outputTokens":{},"totalTokens":{tokens},"totalTokensFresh":true,"cacheRead":{tokens},"cacheWrite":0,"compactionCount":{},"skillsSnapshot":{{"prompt":"{skills}","skills":[{{"name":"one"}}],"version":1}},"systemPromptReport":{{"source":"run","generatedAt":{updated},"sessionId":"{id}","systemPrompt":{{"chars":24000,"projectContextChars":9000,"nonProjectContextChars":15000}},"injectedWorkspaceFiles":[{{"name":"AGENTS.md","missing":false,"rawChars":1800,"injectedChars":1800,"truncated":false}}],"tools":{{"listChars":2400,"schemaChars":15000,"entries":[{{"name":"exec","summaryChars":120,"schemaChars":900,"propertiesCount":6}}]}}}}}}"#,
        dice.below(9_000),
        dice.below(9_000),
        dice.below(3),
    )
}

fn uuid(dice: &mut Dice) -> String {
    let parts = [32, 16, 12, 12, 48].map(|bits| dice.below(1 << bits));
    format!("{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}", parts[0], parts[1], parts[2], parts[3], parts[4])
}

/// A number of a heavy tail: its median, the spread of its logarithm, the maximum.
fn lognormal(dice: &mut Dice, (median, spread, most): (f64, f64, f64)) -> usize {
    let (radius, angle) = (-2.0 * dice.share().ln(), std::f64::consts::TAU * dice.share());
    (median.ln() + spread * radius.sqrt() * angle.cos()).exp().clamp(1.0, most) as usize
}

struct Writer {
    dice: Dice,
    recipe: Recipe,
    /// Lines that are not written yet.
    text: String,
    written: u64,
    clock: u64,
    /// Ids from the root to the leaf.
    path: Vec<String>,
    entries: u32,
    messages: usize,
    /// Messages of the last compaction.
    compacted: usize,
    /// Tokens of the prompt, roughly.
    tokens: usize,
    /// The text that images and signatures are cut from.
    base64: String,
}

impl Writer {
    fn new(recipe: Recipe) -> Self {
        let mut dice = Dice::new(recipe.seed);
        let text_features = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let base64 = if recipe.bytes < 1 << 20 { 8_000 } else { 400_000 };
        let base64 = (0..base64).map(|_| char::from(text_features[dice.below(64)])).collect();
        Self {
            dice,
            recipe,
            text: String::new(),
            written: 0,
            clock: BEGINNING,
            path: Vec::new(),
            entries: 0,
            messages: 0,
            compacted: 0,
            tokens: 9_000,
            base64,
        }
    }

    fn begin(&mut self) {
        let (id, time) =
            (uuid(&mut self.dice), clawscope::js::iso_text(Moment::from_whole(self.clock as i64)));
        let _ = write!(
            self.text,
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{time}","cwd":"/home/user/project"}}"#
        );
        self.text.push('\n');
        self.entry("model_change", r#""provider":"anthropic","modelId":"claude-opus-4-5""#);
        self.entry("thinking_level_change", r#""thinkingLevel":"low""#);
    }

    fn entry(&mut self, kind: &str, members: &str) {
        self.clock += 200 + self.dice.below(9_000) as u64;
        // Spread by an odd number, so none comes twice: pi draws another where one is taken, and never ends where one is not.
        let id =
            format!("{:08x}", (self.recipe.seed as u32).wrapping_add(self.entries.wrapping_mul(0x9E37_79B1)));
        self.entries += 1;
        let parent = self.path.last().map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let time = clawscope::js::iso_text(Moment::from_whole(self.clock as i64));
        let _ =
            write!(self.text, r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{time}","#);
        self.text += members;
        self.text += "}\n";
        self.path.push(id);
    }

    fn message(&mut self, members: &str, chars: usize) {
        self.messages += 1;
        self.tokens += chars / 4;
        let message = format!(r#""message":{{{members},"timestamp":{}}}"#, self.clock);
        self.entry("message", &message);
    }

    /// Words of about this many chars, as they are in JSON.
    fn words(&mut self, chars: usize) -> String {
        let mut text = String::with_capacity(chars + 64);
        // A text is wide or narrow as a whole.
        let wide = self.dice.once_in(12);
        while text.len() < chars {
            let words: &[&str] = if wide && self.dice.once_in(2) { &WIDE } else { &WORDS };
            text += words[self.dice.below(words.len())];
        }
        text
    }

    fn amount(&mut self, median: f64, spread: f64) -> usize {
        lognormal(&mut self.dice, (median, spread, 60_000.0))
    }

    fn turn(&mut self) {
        if self.path.len() > 30 && self.dice.once_in(25) {
            self.go_back();
        }
        self.question();
        for _ in 0..self.dice.below(8) {
            self.tool_round();
        }
        let chars = self.amount(500.0, 1.1);
        let text = self.words(chars);
        self.answer(&format!(r#"{{"type":"text","text":"{text}"}}"#), "stop", chars);
        if self.dice.once_in(100) {
            let target = self.path[self.path.len() / 2].clone();
            self.entry("label", &format!(r#""targetId":"{target}","label":"here""#));
        }
        let since = self.messages - self.compacted;
        if self.recipe.compact_every > 0 && since >= self.recipe.compact_every {
            self.compaction();
        }
    }

    fn question(&mut self) {
        let chars = self.amount(160.0, 1.3);
        let mut text = self.words(chars);
        if self.dice.once_in(400) && self.recipe.halves {
            text += "\\ud83d";
        }
        let image = if self.dice.once_in(100) { format!(",{}", self.image()) } else { String::new() };
        self.message(
            &format!(r#""role":"user","content":[{{"type":"text","text":"{text}"}}{image}]"#),
            chars,
        );
    }

    fn image(&mut self) -> String {
        let chars = lognormal(&mut self.dice, (150_000.0, 0.8, self.base64.len() as f64));
        format!(r#"{{"type":"image","data":"{}","mimeType":"image/png"}}"#, &self.base64[..chars / 4 * 4])
    }

    fn answer(&mut self, blocks: &str, stop: &str, chars: usize) {
        let (fresh, wrote, read) = (3 + self.dice.below(4_000), self.dice.below(3_000), self.tokens);
        let message = 1 + chars / 4;
        let total = fresh + wrote + read + message;
        let cost = total as f64 * 1e-6;
        self.message(
            &format!(
                r#""role":"assistant","content":[{blocks}],{MODEL},"usage":{{"input":{fresh},"output":{message},"cacheRead":{read},"cacheWrite":{wrote},"totalTokens":{total},"cost":{{"input":{cost},"output":0.0001,"cacheRead":0,"cacheWrite":0,"total":{cost}}}}},"stopReason":"{stop}""#
            ),
            chars,
        );
    }

    fn tool_round(&mut self) {
        let (mut blocks, mut chars, mut calls) = (Vec::new(), 0, Vec::new());
        if self.dice.once_in(2) {
            let (count, signed) = (self.amount(420.0, 1.0), self.amount(500.0, 0.6).min(6_000));
            let thought = self.words(count);
            let sign = &self.base64[..signed];
            blocks.push(format!(
                r#"{{"type":"thinking","thinking":"{thought}","thinkingSignature":"{sign}"}}"#
            ));
            chars += count;
        }
        let many = if self.dice.once_in(5) { 2 + self.dice.below(3) } else { 1 };
        for _ in 0..many {
            let (tool, id) = (self.tool(), format!("toolu_01{:016x}", self.dice.below(1 << 62)));
            let arguments = self.arguments(tool);
            chars += arguments.len();
            blocks.push(format!(
                r#"{{"type":"toolCall","id":"{id}","name":"{tool}","arguments":{arguments}}}"#
            ));
            calls.push((id, tool));
        }
        self.answer(&blocks.join(","), "toolUse", chars);
        for (id, tool) in &calls {
            self.result(id, tool);
        }
    }

    fn tool(&mut self) -> &'static str {
        let mut left = self.dice.below(TOOLS.iter().map(|(_, weight)| weight).sum());
        let mut tools = TOOLS.into_iter();
        loop {
            match tools.next() {
                Some((_, weight)) if left >= weight => left -= weight,
                Some((tool, _)) => return tool,
                None => return TOOLS[0].0,
            }
        }
    }

    fn arguments(&mut self, tool: &str) -> String {
        let path = format!("/home/user/project/src/file{}.ts", self.dice.below(400));
        match tool {
            "exec" => {
                let chars = self.amount(90.0, 0.9);
                format!(r#"{{"command":"{}","timeout":120}}"#, self.words(chars))
            }
            "read" => format!(r#"{{"path":"{path}","offset":{},"limit":200}}"#, self.dice.below(2_000)),
            "edit" => {
                let [old, new] = [350.0, 420.0].map(|median| {
                    let chars = self.amount(median, 1.0);
                    self.words(chars)
                });
                format!(r#"{{"path":"{path}","oldText":"{old}","newText":"{new}"}}"#)
            }
            "write" => {
                let chars = self.amount(2_500.0, 1.1);
                format!(r#"{{"path":"{path}","content":"{}"}}"#, self.words(chars))
            }
            _ => format!(r#"{{"query":"{}","n":0.5}}"#, self.words(40)),
        }
    }

    fn result(&mut self, call: &str, tool: &str) {
        let chars = lognormal(&mut self.dice, RESULT);
        let text = self.words(chars);
        let image = if self.dice.once_in(200) { format!(",{}", self.image()) } else { String::new() };
        let details = match tool {
            "exec" => format!(
                r#","details":{{"status":"completed","exitCode":0,"aggregated":"{text}","cwd":"/home/user/project"}}"#
            ),
            "edit" => r#","details":{"diff":"-old\n+new","firstChangedLine":12}"#.to_owned(),
            _ => String::new(),
        };
        let failed = self.dice.once_in(20);
        self.message(
            &format!(
                r#""role":"toolResult","toolCallId":"{call}","toolName":"{tool}","content":[{{"type":"text","text":"{text}"}}{image}]{details},"isError":{failed}"#
            ),
            chars,
        );
    }

    /// Goes back by some entries: those after them stay in the file, off the path.
    fn go_back(&mut self) {
        let back = 1 + self.dice.below(20);
        let left = self.path[self.path.len() - 1].clone();
        self.path.truncate(self.path.len() - back);
        if self.dice.once_in(3) {
            let summary = self.words(900);
            self.entry("branch_summary", &format!(r#""fromId":"{left}","summary":"{summary}""#));
        }
    }

    fn compaction(&mut self) {
        let kept = self.path[self.path.len() - 30.min(self.path.len())].clone();
        let chars = self.amount(5_000.0, 0.5);
        let summary = self.words(chars);
        let tokens = self.tokens.min(195_000);
        self.entry(
            "compaction",
            &format!(
                r#""summary":"{summary}","firstKeptEntryId":"{kept}","tokensBefore":{tokens},"details":{{"readFiles":["src/a.ts"],"modifiedFiles":[]}},"fromHook":true"#
            ),
        );
        (self.compacted, self.tokens) = (self.messages, 24_000);
    }
}
