//! The fixed part of a prompt: system text, workspace files and tool schemas, as the session record reports it (store
//! C6).

/// Chars per token of system prompt and schemas.
const CHARS_PER_TOKEN: f64 = 3.9;

/// A tool in the prompt: name, chars of its summary, chars of its schema, number of properties.
type Tool = (&'static str, u64, u64, u64);

/// A workspace file: name, chars on disk (`None` when missing), chars in the prompt.
type File = (&'static str, Option<u64>, u64);

/// Sizes of the fixed part, in chars.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) workspace: &'static str,
    /// System prompt without the workspace files, but with the lists of skills and tools.
    pub(super) base_chars: u64,
    pub(super) files: &'static [File],
    pub(super) skills: &'static [(&'static str, u64)],
    pub(super) tools: &'static [Tool],
}

const TOOLS: [Tool; 18] = [
    ("read", 182, 1_166, 4),
    ("edit", 138, 1_284, 6),
    ("write", 124, 1_021, 4),
    ("exec", 214, 2_287, 12),
    ("process", 121, 1_412, 12),
    ("browser", 906, 4_208, 31),
    ("canvas", 188, 1_540, 18),
    ("nodes", 142, 2_930, 34),
    ("cron", 2_614, 2_260, 13),
    ("message", 96, 4_790, 82),
    ("tts", 102, 402, 2),
    ("sessions_list", 68, 512, 4),
    ("sessions_history", 71, 498, 3),
    ("sessions_send", 108, 640, 5),
    ("sessions_spawn", 166, 1_620, 9),
    ("web_search", 232, 2_010, 8),
    ("web_fetch", 151, 1_320, 3),
    ("memory_search", 190, 2_100, 3),
];
const RESEARCH_TOOLS: [Tool; 6] = [TOOLS[0], TOOLS[1], TOOLS[2], TOOLS[3], TOOLS[15], TOOLS[16]];
const SMALL_TOOLS: [Tool; 4] = [TOOLS[0], TOOLS[2], TOOLS[3], TOOLS[9]];
/// Longer than [`MAX_FILE`](super::prompt_report::MAX_FILE), so sent as 7/10 of the limit, a marker of about 100 chars, and 2/10 (compaction 11.9).
const AGENTS: File = ("AGENTS.md", Some(8_412), 7_308);
const TOOLS_FILE: File = file("TOOLS.md", 5_092);
const FILES: [File; 8] = [
    AGENTS,
    file("SOUL.md", 2_104),
    TOOLS_FILE,
    file("IDENTITY.md", 612),
    file("USER.md", 1_168),
    file("HEARTBEAT.md", 742),
    // Missing: the prompt holds a notice of 65 chars.
    ("BOOTSTRAP.md", None, 65),
    ("MEMORY.md", Some(31_240), 7_309),
];

/// A file that is sent whole.
const fn file(name: &'static str, chars: u64) -> File {
    (name, Some(chars), chars)
}

/// Chat of the main agent with every tool.
pub(super) static FULL: Prompt = Prompt {
    workspace: "/home/mei/.openclaw/workspace",
    base_chars: 38_400,
    files: &FILES,
    skills: &[
        ("github", 1_214),
        ("raspberry-pi", 1_530),
        ("weather", 402),
        ("tmux", 886),
        ("summarize", 640),
    ],
    tools: &TOOLS,
};
/// Scheduled and spawned runs: a short prompt with two workspace files.
pub(super) static MINIMAL: Prompt = Prompt {
    workspace: "/home/mei/.openclaw/workspace",
    base_chars: 11_250,
    files: &[AGENTS, TOOLS_FILE],
    skills: &[],
    tools: &SMALL_TOOLS,
};
pub(super) static RESEARCH: Prompt = Prompt {
    workspace: "/home/mei/.openclaw/workspace-research",
    base_chars: 24_800,
    files: &[
        file("AGENTS.md", 6_020),
        file("SOUL.md", 1_410),
        file("TOOLS.md", 1_877),
        file("MEMORY.md", 4_902),
    ],
    skills: &[("papers", 1_105), ("summarize", 640)],
    tools: &RESEARCH_TOOLS,
};

impl Prompt {
    pub(super) fn files_chars(&self) -> u64 {
        self.files.iter().map(|(.., chars)| chars).sum()
    }

    pub(super) fn schema_chars(&self) -> u64 {
        self.tools.iter().map(|(_, _, schema, _)| schema).sum()
    }

    /// Tokens that the provider counts for the fixed part.
    pub(super) fn tokens(&self) -> u64 {
        ((self.base_chars + self.files_chars() + self.schema_chars()) as f64 / CHARS_PER_TOKEN).round() as u64
    }
}
