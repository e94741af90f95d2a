//! A call that did not fit, and the transcript it is searched in. The detectors fill these in.

use std::borrow::Cow;

use crate::gateway::config::GatewayConfig;
use crate::gateway::recorded_window::ModelUser;
use crate::gateway::ruleset::Ruleset;
use crate::ids::EntryIx;
use crate::redact::masked;
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::store::source::Source;
use crate::units::Moment;

/// The sign by which a call overflowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverflowKind {
    /// The provider refused it for its tokens.
    Refused,
    /// The gateway refused it by its own estimate; no provider was called.
    Precheck,
    /// It was refused for its size in bytes, not for a token limit.
    Bytes,
    /// It was answered although its usage exceeds the model's window or leaves no room for a reply (overflow-texts 6).
    Silent,
    /// It was refused for its tokens, and the gateway kept no answer: a compaction far below the trigger shows it. The
    /// numbers are the gateway's.
    Unrecorded,
    /// The reply ended where prompt and reply together filled the window.
    CutShort,
}

impl OverflowKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Precheck => "precheck",
            Self::Bytes => "bytes",
            Self::Silent => "silent",
            Self::Unrecorded => "unrecorded",
            Self::CutShort => "cut-short",
        }
    }

    /// Whether the call got no answer.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Precheck | Self::Bytes | Self::Unrecorded)
    }

    /// Returns the word for it in a sentence: a call that was answered was not refused.
    pub fn noun(self) -> &'static str {
        if self.is_refusal() { "refusal" } else { "overflow" }
    }
}

/// A model call that overflowed.
#[derive(Debug, Clone, PartialEq)]
pub struct Overflow {
    /// Its answer, the gateway's note of a prompt that threw, or the compaction that followed a refusal.
    pub entry: EntryIx,
    pub kind: OverflowKind,
    /// Whether the gateway noted the error itself (`openclaw:prompt-error`) instead of keeping a failed answer.
    pub noted_by_gateway: bool,
    /// The error text; empty for an overflow that only usage shows.
    pub text: String,
    /// The rule of overflow-texts that matches the text; empty for an overflow that only usage shows.
    pub rule: &'static str,
    /// NaN if unknown.
    pub time_ms: Moment,
    /// Provider and model that were called.
    pub model: Option<(ValueIx, ValueIx)>,
    /// Tokens of the request. In a refusal they include the reserved reply; in the other kinds they are only the
    /// prompt.
    pub requested: Option<u64>,
    /// Tokens that the refusal allows; the model's window for a silent overflow; the sum of prompt and reply for a cut
    /// one.
    pub limit: Option<u64>,
    /// Tokens of `requested` that are reserved for the reply, if the text splits the sum.
    pub reply_reserve: Option<u64>,
    /// Tokens above the limit, if the text states them instead of size and limit.
    pub excess: Option<u64>,
    /// Whether the runtime of that release recognised it as an overflow; `None` if unknown.
    pub recognised: Option<bool>,
    /// Other entries that record the same refusal.
    pub duplicates: Vec<EntryIx>,
}

impl Overflow {
    /// Builds an overflow that only the usage of an answer shows: there is no text for a release to recognise.
    pub(super) fn from_usage(
        entry: EntryIx,
        kind: OverflowKind,
        time_ms: Moment,
        model: Option<(ValueIx, ValueIx)>,
    ) -> Self {
        Self {
            entry,
            kind,
            noted_by_gateway: false,
            text: String::new(),
            rule: "",
            time_ms,
            model,
            requested: None,
            limit: None,
            reply_reserve: None,
            excess: None,
            recognised: None,
            duplicates: Vec::new(),
        }
    }

    /// Returns the error text without secrets: some providers quote the key or the request.
    pub fn shown_text(&self) -> Cow<'_, str> {
        masked(&self.text)
    }

    /// Whether its entry is the compaction that the refusal caused.
    pub fn is_compaction(&self) -> bool {
        self.kind == OverflowKind::Unrecorded
    }

    /// Whether the tokens of the request are the provider's count, not the gateway's estimate.
    pub fn is_counted(&self) -> bool {
        !matches!(self.kind, OverflowKind::Precheck | OverflowKind::Unrecorded)
    }

    /// Returns the tokens of only the prompt, if known.
    pub fn prompt_tokens(&self) -> Option<u64> {
        Some(self.requested?.saturating_sub(self.reply_reserve.unwrap_or(0)))
    }

    /// Whether the server cut the prompt to its own window and answered what was left.
    pub fn is_truncated(&self) -> bool {
        self.kind == OverflowKind::Silent && self.requested.is_none()
    }

    /// Returns the tokens that a prompt may have next to the reserved reply.
    pub fn prompt_limit(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.reply_reserve.unwrap_or(0)))
    }

    /// Returns the source of the numbers, as a noun.
    pub fn limit_source(&self) -> &'static str {
        match self.kind {
            OverflowKind::Refused | OverflowKind::Bytes | OverflowKind::Unrecorded => "the provider",
            OverflowKind::Precheck => "the gateway",
            OverflowKind::Silent => "the answer's usage",
            OverflowKind::CutShort => "the place where the reply ended",
        }
    }
}

/// The transcript and settings that overflow detection needs.
#[derive(Debug, Clone, Copy)]
pub struct OverflowScope<'a> {
    pub source: &'a Source,
    pub index: &'a Index,
    /// Resolves the windows of the models that were called.
    pub config: &'a GatewayConfig,
    pub user: ModelUser<'a>,
    pub ruleset: Ruleset,
    /// The refusals found so far: a limit that one states outranks lists and the default.
    pub refusals: &'a [Overflow],
}
