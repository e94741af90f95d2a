//! The inputs of a compaction's summary and its possible results (compaction 3.20, 5).

use schemars::JsonSchema;
use serde::Serialize;

use crate::js::JsString;
use crate::policy::compact::files::FileLists;
use crate::policy::compact::layout::SummaryParts;
use crate::policy::compact::prepare::CompactionTexts;
use crate::policy::compact::request::Identifiers;
use crate::units::{Moment, Tokens};

/// The program that summarises (compaction 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryMode {
    /// The runtime: one call, another for the beginning of a split turn (compaction 3.20).
    Default,
    /// The gateway: in stages, with fallbacks and fixed sections (compaction 5).
    Safeguard,
}

impl SummaryMode {
    /// The value of `agents.defaults.compaction.mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Safeguard => "safeguard",
        }
    }
}

/// The inputs of a summary.
#[derive(Debug, Clone)]
pub struct SummarySpec {
    pub texts: CompactionTexts,
    pub mode: SummaryMode,
    /// The window that calls must fit, in tokens (compaction 5.6).
    pub window: Tokens,
    /// Share of the window that a history may take before its oldest parts are dropped, usually 0.1 to 0.9 (compaction
    /// 5.6).
    pub history_share: f64,
    /// Tokens of the window that stay free; they limit the length of answers (compaction 3.17, 5.16).
    pub reserve_tokens: Tokens,
    /// Tokens of the context before the compaction (compaction 3.9); NaN for malformed usage.
    pub tokens_before: Tokens,
    pub identifiers: Identifiers,
    /// Custom instructions, as in `/compact`.
    pub instructions: Option<JsString>,
    /// The workspace rules as a section (compaction 5.18); empty without any.
    pub rules_section: JsString,
    /// Time of invented tool results.
    pub now_ms: Moment,
}

/// A summary as it would be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSummary {
    pub parts: SummaryParts,
    /// The file lists stored with it (compaction 3.21).
    pub details: FileLists,
    /// The part of the history that was dropped first, if any (compaction 5.8).
    pub dropped: Option<DroppedHistory>,
}

/// The oldest parts of a history that exceeded its share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DroppedHistory {
    /// Number of parts.
    pub chunks: usize,
    /// Messages in the parts plus removed orphans.
    pub messages: usize,
    /// Estimated tokens of the parts.
    pub tokens: Tokens,
    /// Percentage of the window that the new content takes.
    #[serde(skip)]
    pub new_content_percent: f64,
}

/// The reasons why the gateway cancels and keeps the history. Its two other reasons (compaction 5.5: no model, no key)
/// concern its own calls; here they are errors of the summarizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// No message of a user, an assistant or a tool is to be summarised (compaction 5.1).
    NoRealMessage,
    /// A message cannot be estimated (compaction 5.20, 1.8).
    Malformed,
}

impl CancelReason {
    pub const fn description(self) -> &'static str {
        match self {
            Self::NoRealMessage => {
                "nothing to summarise: no user, assistant or tool message comes before the kept part"
            }
            Self::Malformed => "the runtime cannot estimate the shape of a message",
        }
    }

    /// The rule behind the reason.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::NoRealMessage => "compaction 5.1",
            Self::Malformed => "compaction 5.20",
        }
    }
}

/// The reasons why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSummary {
    /// The safeguard cancels the compaction; the history stays.
    Cancelled(CancelReason),
    /// The only call failed, and mode `default` has no fallback.
    Failed(String),
    /// The [`SummaryModel`](super::stages::SummaryModel) wanted no further calls.
    Aborted,
}
