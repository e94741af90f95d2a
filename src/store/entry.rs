//! One entry of a transcript as the index stores it: ids, kind, position in the file and sizes.
//!
//! Policies and estimates decide from sizes only, so an entry holds no text; [`super::body`] reads a body from the
//! file when a person opens it. Sizes are counted as the runtime's JavaScript counts them: chars are UTF-16 units, in
//! doubles.

use std::sync::Arc;

pub use crate::gateway::ruleset::{PiChange, PiRelease, ReadMode};
pub use crate::store::role::Role;

use crate::ids::EntryIx;
use crate::js::{JsException, Value};
use crate::store::context_tokens::add_tokens;
use crate::store::intern::{IdIx, ValueIx};
use crate::store::measure::{CompactChars, PI_IMAGE_CHARS};
use crate::units::{Bytes, Chars, Moment, Tokens};

/// Replacement of a message by a `context_edit` (store-pi-1.5 D4).
#[derive(Debug, Clone, PartialEq)]
pub enum Replacement {
    /// Removes the message from the context.
    Omitted,
    /// Content for the message: the whole value, as recorded.
    Content(Arc<Value>),
    /// The entry names no replacement; the runtime fails where it needs one.
    Missing,
}

/// Type of an entry (store I4). Unknown types stay in the index and in the tree, and are shown raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    Message,
    ThinkingLevelChange,
    ModelChange,
    /// Summary that replaces everything before `firstKeptEntryId`.
    Compaction,
    /// Summary of a branch that the conversation returned from.
    BranchSummary,
    SessionInfo,
    Label,
    /// Data of the gateway or an extension; never sent to the model.
    Custom,
    /// Message of an extension; sent to the model as a user message.
    CustomMessage,
    /// Restart within the transcript: a boundary of the context from 2026.8.1 on (sqlite G1).
    Reset,
    /// Pointer to the current entry of the session, from 2026.8.1 on; not part of the conversation (sqlite F2).
    Leaf,
    /// Model call outside the conversation, such as one that keeps a cache warm: billed, never sent (store-pi-1.5 B3).
    Usage,
    /// Removes a message of the branch from the context, or replaces its content (store-pi-1.5 D3).
    ContextEdit,
    /// Object of any other type.
    Unknown,
    /// Line with a number, string, boolean or array: the runtime counts it as an entry and reads nothing from it.
    Scalar,
}

crate::ids::word_in_json!(EntryKind, as_str);

impl EntryKind {
    /// Maps the `type` text of a line.
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

    /// Returns the word for screen and JSON: the `type` text where one exists.
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

/// Reason why a model call ended (store I5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StopReason {
    Stop,
    /// The reply reached its length limit.
    Length,
    /// The model calls tools.
    ToolUse,
    /// The provider refused or failed.
    Error,
    /// The person or the gateway stopped the call.
    Aborted,
    /// Absent or unknown.
    Other,
}

impl StopReason {
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

/// Number of chars (UTF-16 units) as the runtime counts it: a double, NaN for malformed input, or the exception that
/// the runtime throws (pruning 0.7).
#[derive(Debug, Clone, Copy)]
pub struct CharCount(f64);

/// NaN that marks an exception; no other NaN has these bits.
const THROWN_NAN: u64 = 0x7FF8_0000_0000_0001;

impl CharCount {
    pub const ZERO: Self = Self(0.0);

    pub fn new(measured: Result<Chars, JsException>) -> Self {
        Self(match measured {
            Ok(chars) if chars.is_nan() => f64::NAN,
            Ok(chars) => chars.get(),
            Err(JsException) => f64::from_bits(THROWN_NAN),
        })
    }

    /// Returns the number.
    ///
    /// # Errors
    /// The runtime throws where it counts this value.
    pub fn value(self) -> Result<Chars, JsException> {
        if self.0.to_bits() == THROWN_NAN { Err(JsException) } else { Ok(Chars(self.0)) }
    }

    /// Returns whole chars for display; 0 for NaN, infinity and exceptions.
    pub fn whole_chars(self) -> Chars {
        if self.0.is_finite() { Chars(self.0.max(0.0).trunc()) } else { Chars::ZERO }
    }
}

impl PartialEq for CharCount {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

/// Usage that the provider reported for one model call (store I7). Tokens; cost in USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Prompt tokens neither read from nor written to the cache.
    pub input: Tokens,
    /// Tokens of the reply.
    pub output: Tokens,
    /// Prompt tokens read from the cache.
    pub cache_read: Tokens,
    /// Prompt tokens written to the cache.
    pub cache_write: Tokens,
    /// Tokens that anchor the runtime's estimate (compaction 1.10); NaN for malformed usage.
    pub context_tokens: Tokens,
    /// Whether `context_tokens` is a text in JavaScript, so that a sum appends digits to it.
    pub is_text_sum: bool,
    /// Whether `context_tokens` is the reported total of the whole context, which gateways before 2026.7.1 ignore
    /// (releases R21).
    pub is_reported_total: bool,
    /// Recorded cost of the call in USD; NaN when not recorded.
    pub cost: f64,
}

impl Usage {
    /// Returns the prompt size in tokens: input + cacheRead + cacheWrite (store I7).
    pub fn prompt_tokens(&self) -> Tokens {
        self.input + self.cache_read + self.cache_write
    }

    /// Returns the runtime's estimate in tokens for a context with `trailing` tokens after the anchor.
    pub fn context_tokens_with(&self, trailing: Tokens) -> Tokens {
        add_tokens(self.context_tokens.get(), self.is_text_sum, trailing.get())
    }

    /// Returns only the reply, without a recorded cost.
    #[must_use]
    pub fn without_prompt(self) -> Self {
        let none = Tokens::ZERO;
        Self { input: none, cache_read: none, cache_write: none, cost: f64::NAN, ..self }
    }

    /// Whether it counts a part of the prompt as read from or written to the cache.
    pub fn has_cache_tokens(&self) -> bool {
        self.cache_read + self.cache_write > Tokens::ZERO
    }

    /// Whether the provider reported a prompt size.
    pub fn has_prompt_tokens(&self) -> bool {
        self.prompt_tokens() >= Tokens(1.0) && self.prompt_tokens().is_finite()
    }
}

/// Sizes of a tool result for trimming; the fields mean the same as in [`MessageSize`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ToolResultSize {
    pub joined_chars: Chars,
    pub text_blocks: u32,
    pub images: u32,
    pub needs_body: bool,
}

/// Sizes of one message: all that estimates and policies need, without its text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MessageSize {
    pub role: Role,
    /// Chars as pi's estimate counts them (compaction 1.2–1.9).
    pub pi_chars: CharCount,
    /// Chars as the context pruner counts them (pruning 5.4).
    pub prune_chars: CharCount,
    /// Chars of the text blocks, joined with one LF each (pruning 5.7, step 2); tool results only.
    pub joined_chars: Chars,
    /// Number of text blocks in an array content.
    pub text_blocks: u32,
    /// Number of image blocks.
    pub images: u32,
    /// Chars of text, in a string content or in text blocks.
    pub text_chars: CompactChars,
    pub thinking_chars: CompactChars,
    /// Chars of tool calls (names and arguments as JSON); in a system message, of the added tools as JSON.
    pub tool_call_chars: CompactChars,
    /// Tool name of a tool result: any JSON value, or absent.
    pub tool_name: ValueIx,
    /// Call that a tool result answers; [`Entry::tool_calls`] holds the calls of an assistant message.
    pub call_id: Option<IdIx>,
    /// [`StopReason::Other`] for all but assistant messages.
    pub stop_reason: StopReason,
    /// Valid usage (compaction 1.11); assistant messages only.
    pub usage: Option<Usage>,
    pub is_error: bool,
    /// Whether an assistant message is a silent reply (`NO_REPLY`), which the person never saw (compaction 9.10).
    pub is_no_reply: bool,
    /// Whether an assistant message shows the token of silent replies to the person.
    pub leaks_no_reply: bool,
    /// Whether the gateway wrote an assistant message without a model call, such as a delivery mirror (store I5).
    pub is_synthetic: bool,
    /// Whether the content of a user's message is neither a text nor a list; newer releases of pi throw where they count it.
    pub is_uncountable: bool,
    /// Whether a tool result holds a text block whose text is not a string. Sizes cannot decide how trimming changes
    /// it, so `Index::retained_bodies` holds its body for the policies.
    pub needs_body: bool,
}

impl MessageSize {
    /// Returns these sizes as a release of pi counts them. Newer releases count images of users and anchor only on
    /// usage above 0 (store-pi-1.5 E1, E3); older ones count 0 chars for a system message (compaction 1.1).
    #[must_use]
    pub fn for_release(mut self, pi: impl Into<PiRelease>) -> Self {
        let pi = pi.into();
        match self.role {
            Role::System if !pi.has(PiChange::Projects) => self.pi_chars = CharCount::ZERO,
            Role::User if pi.has(PiChange::WeighsUserImages) && self.is_uncountable => {
                self.pi_chars = CharCount::new(Err(JsException));
            }
            Role::User if pi.has(PiChange::WeighsUserImages) => {
                let images = PI_IMAGE_CHARS * f64::from(self.images);
                self.pi_chars = CharCount::new(self.pi_chars.value().map(|chars| chars + images));
            }
            Role::Assistant if pi.has(PiChange::NeedsUsage) => {
                self.usage = self.usage.filter(|usage| usage.context_tokens > Tokens::ZERO);
            }
            _ => {}
        }
        self
    }

    /// Returns the sizes for trimming; meaningful for tool results only.
    pub fn tool_result_size(&self) -> ToolResultSize {
        let Self { joined_chars, text_blocks, images, needs_body: odd, .. } = *self;
        ToolResultSize { joined_chars, text_blocks, images, needs_body: odd }
    }

    pub const EMPTY: Self = Self {
        role: Role::Other,
        pi_chars: CharCount::ZERO,
        prune_chars: CharCount::ZERO,
        joined_chars: Chars::ZERO,
        text_blocks: 0,
        images: 0,
        text_chars: CompactChars::ZERO,
        thinking_chars: CompactChars::ZERO,
        tool_call_chars: CompactChars::ZERO,
        tool_name: ValueIx::ABSENT,
        call_id: None,
        stop_reason: StopReason::Other,
        usage: None,
        is_error: false,
        is_no_reply: false,
        leaks_no_reply: false,
        is_synthetic: false,
        is_uncountable: false,
        needs_body: false,
    };
}

/// Tree fields of a line besides the parent's id (sqlite F1, F2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeLink {
    pub parent: ParentKey,
    pub append_mode: AppendMode,
}

/// Kind of a line's `parentId`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParentKey {
    #[default]
    Absent,
    Null,
    /// Value that can name a parent; [`Entry::parent`] holds it.
    Usable,
    /// Value that cannot name a parent: false, 0, an empty text.
    Falsy,
}

/// Kind of a line's `appendMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AppendMode {
    #[default]
    Absent,
    /// `side`: the entry does not move the session's current entry.
    Side,
    Other,
}

/// One entry: a fixed size of about 200 bytes, for a line of any length.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub kind: EntryKind,
    /// `None` when absent or null.
    pub id: Option<IdIx>,
    /// Whether the id is `null`, not absent: as the last entry it gives the runtime an empty context, which an absent
    /// id does not (compaction 4.1, 4.1a).
    pub has_null_id: bool,
    /// `None` when the value is falsy (store K2).
    pub parent: Option<IdIx>,
    pub link: TreeLink,
    /// Byte offset of the line in the file.
    pub offset: u64,
    /// Bytes of the line, without its line end; in 4 bytes, because an index holds millions of entries.
    pub(super) bytes: u32,
    /// Line number, counted from 1.
    pub line: u64,
    /// `timestamp` as a JavaScript date value; NaN for none (compaction 3.10b).
    pub time_ms: Moment,
    /// Id from `firstKeptEntryId`, `targetId` or `fromId`.
    pub reference: Option<IdIx>,
    /// Value of `customType`, `thinkingLevel`, `label`, `name`, `kind`, the `reason` of a reset, or the `responseId` of
    /// an answer.
    pub payload: ValueIx,
    /// Provider and model id of a `model_change` or an assistant message (compaction 4.5a).
    pub model: Option<(ValueIx, ValueIx)>,
    /// `tokensBefore` of a compaction, `data.timestamp` of a custom entry or `message.timestamp` of an answer (ms); NaN
    /// otherwise.
    pub payload_number: f64,
    /// Whether a `message` entry has an absent or null `message`: building a context through it throws (compaction
    /// 4.4b).
    pub lacks_message: bool,
    /// Whether the message has `excludeFromContext: true` (sqlite G2).
    pub is_excluded: bool,
    /// Sizes of the message that the entry holds or becomes; `None` when it adds nothing to a context.
    pub message: Option<MessageSize>,
    /// Range of its tool calls in `Index::tool_calls`.
    pub tool_calls: (u32, u32),
}

impl Entry {
    /// Whether this entry becomes a message of the context (store K5, compaction 4.4): `message` entries and custom
    /// messages always, branch summaries with a summary. A compaction becomes one only at the front of a context, so
    /// the projection handles it.
    pub fn becomes_message(&self) -> bool {
        match self.kind {
            EntryKind::Message | EntryKind::CustomMessage => true,
            EntryKind::BranchSummary => self.message.is_some(),
            _ => false,
        }
    }

    /// Whether it is not a message of the person, the model or a tool (see
    /// [`Index::auxiliary_entries`](super::index::Index::auxiliary_entries)).
    pub(super) fn is_auxiliary(&self) -> bool {
        self.kind != EntryKind::Message || self.role() == Some(Role::System)
    }

    /// Whether the message is a reply of a model. Replies that the gateway writes itself, such as delivery mirrors, are
    /// not model calls (store I5).
    pub fn is_model_call(&self) -> bool {
        let answers = |size: &MessageSize| size.role == Role::Assistant && !size.is_synthetic;
        self.kind == EntryKind::Message && self.message.as_ref().is_some_and(answers)
    }

    /// Returns the size of the line without its line end.
    pub fn bytes(&self) -> Bytes {
        Bytes::from(self.bytes)
    }

    pub fn role(&self) -> Option<Role> {
        self.message.map(|message| message.role)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCall {
    pub entry: EntryIx,
    pub id: Option<IdIx>,
    /// Any JSON value, or absent.
    pub name: ValueIx,
    /// Chars of the name and of the arguments as JSON (compaction 1.3).
    pub chars: CompactChars,
}
