//! One entry of a transcript as the index keeps it: ids, kind, place in the file and the sizes that
//! the rules ask for. Bodies stay in the file; [`super::body`] reads them again when someone looks.

use std::sync::Arc;

pub use crate::gateway::ruleset::{PiChange, PiRelease, ReadMode};

use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::store::context_tokens::add_tokens;
use crate::store::intern::{IdIx, ValueIx};
use crate::store::measure::PI_IMAGE_CHARS;

/// What an edit puts in the place of a message (store-pi-1.5 D4).
#[derive(Debug, Clone, PartialEq)]
pub enum Replacement {
    /// Nothing: the message leaves the context.
    Omitted,
    /// The message with another content. The whole value, as it is recorded.
    Content(Arc<Value>),
    /// The entry does not say; the runtime fails where that matters.
    Missing,
}

/// The type of an entry (store I4). Unknown types are kept, shown raw, and take part in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A message of the conversation.
    Message,
    /// A change of the thinking level.
    ThinkingLevelChange,
    /// A change of the model.
    ModelChange,
    /// A compaction: a summary that stands for what came before `firstKeptEntryId`.
    Compaction,
    /// A summary of a branch the conversation came back from.
    BranchSummary,
    /// The session's name.
    SessionInfo,
    /// A label on another entry.
    Label,
    /// Data of the gateway or an extension; never sent to the model.
    Custom,
    /// A message of an extension; sent to the model as a user message.
    CustomMessage,
    /// A new beginning in the same transcript: a boundary of the context from 2026.9 on (sqlite G1).
    Reset,
    /// Which entry the session stands at, from 2026.9 on; no part of the conversation (sqlite F2).
    Leaf,
    /// A model call beside the conversation, such as one that keeps a cache warm: it costs, and is never sent
    /// (store-pi-1.5 B3).
    Usage,
    /// Leaves a message of the branch out of the context, or replaces its content (store-pi-1.5 D3).
    ContextEdit,
    /// An object of any other type.
    Unknown,
    /// A line that is a number, string, boolean or array: an entry to the runtime, nothing to anyone else.
    Scalar,
}

impl EntryKind {
    /// From the `type` text of the line.
    pub fn from_type(text: &str) -> Self {
        match text {
            "message" => Self::Message,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "model_change" => Self::ModelChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "session_info" => Self::SessionInfo,
            "label" => Self::Label,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "reset" => Self::Reset,
            "leaf" => Self::Leaf,
            "usage" => Self::Usage,
            "context_edit" => Self::ContextEdit,
            _ => Self::Unknown,
        }
    }

    /// The word used on screen and in JSON: the `type` text where there is one.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::ThinkingLevelChange => "thinking_level_change",
            Self::ModelChange => "model_change",
            Self::Compaction => "compaction",
            Self::BranchSummary => "branch_summary",
            Self::SessionInfo => "session_info",
            Self::Label => "label",
            Self::Custom => "custom",
            Self::CustomMessage => "custom_message",
            Self::Reset => "reset",
            Self::Leaf => "leaf",
            Self::Usage => "usage",
            Self::ContextEdit => "context_edit",
            Self::Unknown => "unknown",
            Self::Scalar => "scalar",
        }
    }
}

/// Who speaks in a message (store I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person, or another session on their behalf.
    User,
    /// The model.
    Assistant,
    /// What a tool returned.
    ToolResult,
    /// A message of an extension.
    Custom,
    /// A shell command the person ran.
    BashExecution,
    /// The summary of an abandoned branch.
    BranchSummary,
    /// The summary a compaction left.
    CompactionSummary,
    /// System prompt and tools, or what changed of them; to runtimes before pi 0.86 a role like any other unknown one
    /// (store-pi-1.5 B9).
    System,
    /// Any other role: kept in the context, never sent to a model.
    Other,
}

impl Role {
    /// From the `role` text of a message.
    pub fn from_text(text: &str) -> Self {
        match text {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "custom" => Self::Custom,
            "bashExecution" => Self::BashExecution,
            "branchSummary" => Self::BranchSummary,
            "compactionSummary" => Self::CompactionSummary,
            "system" => Self::System,
            _ => Self::Other,
        }
    }

    /// The word used on screen and in JSON: the runtime's own name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolResult => "toolResult",
            Self::Custom => "custom",
            Self::BashExecution => "bashExecution",
            Self::BranchSummary => "branchSummary",
            Self::CompactionSummary => "compactionSummary",
            Self::System => "system",
            Self::Other => "other",
        }
    }
}

/// How a model call ended (store I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The model was done.
    Stop,
    /// The reply was cut at its length limit.
    Length,
    /// The model asks for tools.
    ToolUse,
    /// The provider refused or failed.
    Error,
    /// Someone stopped it.
    Aborted,
    /// Absent, or a word not known.
    Other,
}

impl StopReason {
    /// From the `stopReason` text.
    pub fn from_text(text: &str) -> Self {
        match text {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "toolUse" => Self::ToolUse,
            "error" => Self::Error,
            "aborted" => Self::Aborted,
            _ => Self::Other,
        }
    }
}

/// A number of chars (UTF-16 units) as the real programs count it: a double that may be NaN for odd
/// input, or nothing where they throw (pruning 0.7).
#[derive(Debug, Clone, Copy)]
pub struct CharCount(f64);

/// The NaN that stands for an exception; no other has these bits.
const THROWN_NAN: u64 = 0x7FF8_0000_0000_0001;

impl CharCount {
    /// A size of nothing.
    pub const ZERO: Self = Self(0.0);

    /// The size that measuring gave.
    pub fn new(measured: Result<f64, JsException>) -> Self {
        Self(match measured {
            Ok(chars) if chars.is_nan() => f64::NAN,
            Ok(chars) => chars,
            Err(JsException) => f64::from_bits(THROWN_NAN),
        })
    }

    /// The number, or the exception the real program would raise.
    pub fn value(self) -> Result<f64, JsException> {
        if self.0.to_bits() == THROWN_NAN { Err(JsException) } else { Ok(self.0) }
    }

    /// For people: whole chars, with what cannot be measured as 0.
    pub fn whole_chars(self) -> u64 {
        // Of NaN and of what is below zero nothing is left; nobody holds infinitely much.
        if self.0.is_finite() { self.0 as u64 } else { 0 }
    }
}

impl PartialEq for CharCount {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

/// What the provider counted for one model call (store I7). Tokens; cost in USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Prompt tokens neither read from nor written to the cache.
    pub input: f64,
    /// Tokens of the reply.
    pub output: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: f64,
    /// Prompt tokens written to the cache.
    pub cache_write: f64,
    /// What the runtime anchors its estimate on (compaction 1.10); NaN for odd usage.
    pub context_tokens: f64,
    /// Those tokens are a text, to which a sum appends digits.
    pub is_text_sum: bool,
    /// They are what the usage says of the whole context, which gateways before 2026.7.1 do not look at (releases R21).
    pub is_reported_total: bool,
    /// Recorded cost of the call, USD; NaN when not recorded.
    pub cost: f64,
}

impl Usage {
    /// Prompt size of the call: input + cacheRead + cacheWrite (store I7).
    pub fn prompt_tokens(&self) -> f64 {
        self.input + self.cache_read + self.cache_write
    }

    /// The tokens that the runtime estimates for a context with these after the anchor.
    pub fn context_tokens_with(&self, trailing: f64) -> f64 {
        add_tokens(self.context_tokens, self.is_text_sum, trailing)
    }

    /// Whether it says how large the prompt was.
    pub fn has_prompt_tokens(&self) -> bool {
        self.prompt_tokens() >= 1.0 && self.prompt_tokens().is_finite()
    }
}

/// What trimming asks of a tool result: see the fields of the same names in [`MessageSize`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolResultSize {
    /// Chars of its text blocks, joined.
    pub joined_chars: f64,
    /// Text blocks.
    pub text_blocks: u32,
    /// Image blocks.
    pub images: u32,
    /// Sizes do not tell what trimming makes of it.
    pub needs_body: bool,
}

/// The sizes of one message: everything that estimates and policies ask for, without its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageSize {
    /// Who speaks.
    pub role: Role,
    /// Chars as pi's estimate counts them (compaction 1.2–1.9).
    pub pi_chars: CharCount,
    /// Chars as the context pruner counts them (pruning 5.4).
    pub prune_chars: CharCount,
    /// Chars of the text blocks joined with one LF each (pruning 5.7, step 2); only for tool results.
    pub joined_chars: f64,
    /// Text blocks of an array content.
    pub text_blocks: u32,
    /// Image blocks.
    pub images: u32,
    /// Chars of text, whether a string content or text blocks.
    pub text_chars: u32,
    /// Chars of thinking blocks.
    pub thinking_chars: u32,
    /// Chars of tool calls: names and arguments as JSON; of a system message, of the tools it adds as JSON.
    pub tool_call_chars: u32,
    /// Name of the tool of a tool result: any JSON value, or absent.
    pub tool_name: ValueIx,
    /// The call a tool result answers; the calls of an assistant message are in [`Entry::tool_calls`].
    pub call_id: Option<IdIx>,
    /// How the call ended; [`StopReason::Other`] for all but assistant messages.
    pub stop_reason: StopReason,
    /// Valid usage (compaction 1.11), for assistant messages.
    pub usage: Option<Usage>,
    /// A tool result marked as an error.
    pub is_error: bool,
    /// An assistant message whose text is `NO_REPLY`: the person saw nothing of it (compaction 9.10).
    pub is_no_reply: bool,
    /// An assistant message that the gateway wrote without asking a model, such as a delivery mirror (store I5).
    pub is_synthetic: bool,
    /// A tool result holds a text block whose text is no string: what trimming makes
    /// of it cannot be told from sizes, so the policy asks for its texts (`Index::odd`).
    pub needs_body: bool,
}

impl MessageSize {
    /// The same as a release of pi counts them. Newer ones weigh images of users, and take only a usage above 0 for an
    /// anchor (store-pi-1.5 E1, E3); to older ones a system message weighs nothing (compaction 1.1).
    #[must_use]
    pub fn for_release(mut self, pi: impl Into<PiRelease>) -> Self {
        let pi = pi.into();
        match self.role {
            Role::System if !pi.has(PiChange::Projects) => self.pi_chars = CharCount::ZERO,
            Role::User if pi.has(PiChange::WeighsUserImages) => {
                let images = f64::from(self.images) * PI_IMAGE_CHARS;
                self.pi_chars = CharCount::new(self.pi_chars.value().map(|chars| chars + images));
            }
            Role::Assistant if pi.has(PiChange::NeedsUsage) => {
                self.usage = self.usage.filter(|usage| usage.context_tokens > 0.0);
            }
            _ => {}
        }
        self
    }

    /// What trimming asks of it, where it is a tool result.
    pub fn tool_result_size(&self) -> ToolResultSize {
        let Self { joined_chars, text_blocks, images, needs_body: odd, .. } = *self;
        ToolResultSize { joined_chars, text_blocks, images, needs_body: odd }
    }

    /// The sizes of nothing.
    pub const EMPTY: Self = Self {
        role: Role::Other,
        pi_chars: CharCount::ZERO,
        prune_chars: CharCount::ZERO,
        joined_chars: 0.0,
        text_blocks: 0,
        images: 0,
        text_chars: 0,
        thinking_chars: 0,
        tool_call_chars: 0,
        tool_name: ValueIx::ABSENT,
        call_id: None,
        stop_reason: StopReason::Other,
        usage: None,
        is_error: false,
        is_no_reply: false,
        is_synthetic: false,
        needs_body: false,
    };
}

/// What a line says of its place among the others beside its parent's id (sqlite F1, F2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeLink {
    /// Its `parentId`.
    pub parent: ParentKey,
    /// Its `appendMode`.
    pub append_mode: AppendMode,
}

/// A `parentId` as the line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParentKey {
    /// There is no such key.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// A value that can be a parent: [`Entry::parent`].
    Usable,
    /// A value that can be none: false, 0, an empty text.
    Falsy,
}

/// An `appendMode` as the line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AppendMode {
    /// There is no such key.
    #[default]
    Absent,
    /// `side`: the entry leaves the session where it stands.
    Side,
    /// Anything else.
    Other,
}

/// One entry. Small and fixed: about a hundred bytes, whatever the line holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its type.
    pub kind: EntryKind,
    /// Its id; none when absent or null.
    pub id: Option<IdIx>,
    /// Its id is `null`, not absent: as the last entry it leaves the runtime with an empty context, where an
    /// absent id does not (compaction 4.1, 4.1a).
    pub has_null_id: bool,
    /// The parent it names; none when that is falsy (store K2).
    pub parent: Option<IdIx>,
    /// What the line says of its place beside that.
    pub link: TreeLink,
    /// First byte of the line in the file.
    pub offset: u64,
    /// Bytes of the line, without its end.
    pub bytes: u32,
    /// Line number, counted from 1.
    pub line: u64,
    /// `timestamp` as a JavaScript date value: ms since the epoch, or NaN (compaction 3.10b).
    pub time_ms: f64,
    /// Id it refers to: `firstKeptEntryId`, `targetId` or `fromId`.
    pub reference: Option<IdIx>,
    /// Its word: `customType`, `thinkingLevel`, `label`, `name`, `kind`, or the `reason` of a reset.
    pub payload: ValueIx,
    /// Provider and model id: of a `model_change`, or of an assistant message (compaction 4.5a).
    pub model: Option<(ValueIx, ValueIx)>,
    /// Its number: `tokensBefore` of a compaction, `data.timestamp` of a custom entry; NaN otherwise.
    pub payload_number: f64,
    /// A `message` entry whose `message` is absent or null: building a context through it throws
    /// (compaction 4.4b).
    pub lacks_message: bool,
    /// Its message says `excludeFromContext: true` (sqlite G2).
    pub is_excluded: bool,
    /// What it contributes to a context, where it does: sizes of the message it holds or becomes.
    pub message: Option<MessageSize>,
    /// Its tool calls, as a range of `Index::calls`.
    pub tool_calls: (u32, u32),
}

impl Entry {
    /// Whether this entry becomes a message of the context (store K5, compaction 4.4): `message`
    /// entries always, custom messages, branch summaries with a summary. Compactions do so at the
    /// front of a context only, and are asked for there.
    pub fn becomes_message(&self) -> bool {
        match self.kind {
            EntryKind::Message | EntryKind::CustomMessage => true,
            EntryKind::BranchSummary => self.message.is_some(),
            _ => false,
        }
    }

    /// Whether it is no message of the person, the model or a tool ([`Index::asides`](super::index::Index::auxiliary_entries)).
    pub(super) fn is_auxiliary(&self) -> bool {
        self.kind != EntryKind::Message || self.role() == Some(Role::System)
    }

    /// Whether a model was asked for this message. Answers that the gateway writes itself, such as the mirror of a
    /// delivery, are no calls (store I5).
    pub fn is_model_call(&self) -> bool {
        let answers = |size: &MessageSize| size.role == Role::Assistant && !size.is_synthetic;
        self.kind == EntryKind::Message && self.message.as_ref().is_some_and(answers)
    }

    /// The role of its message, where it has one.
    pub fn role(&self) -> Option<Role> {
        self.message.map(|message| message.role)
    }
}

/// A tool call inside an assistant message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCall {
    /// The entry that holds it.
    pub entry: EntryIx,
    /// Call id, where it is there.
    pub id: Option<IdIx>,
    /// Tool name: any JSON value, or absent.
    pub name: ValueIx,
    /// Chars of its name and its arguments as JSON (compaction 1.3).
    pub chars: u32,
}
