//! What a compaction's summary is made of and how, and what may come of it instead (compaction 3.20, 5).

use crate::js::JsString;
use crate::policy::compact::files::FileLists;
use crate::policy::compact::layout::SummaryParts;
use crate::policy::compact::prepare::CompactionTexts;
use crate::policy::compact::request::Identifiers;

/// Who summarises (compaction 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryMode {
    /// The runtime itself: one call, another for the beginning of a split turn (compaction 3.20).
    Default,
    /// The gateway: in stages, with fallbacks and fixed sections (compaction 5).
    Safeguard,
}

impl SummaryMode {
    /// Its name in `agents.defaults.compaction.mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Safeguard => "safeguard",
        }
    }
}

/// A summary to be made.
#[derive(Debug, Clone)]
pub struct SummarySpec {
    /// The texts.
    pub texts: CompactionTexts,
    /// Who summarises.
    pub mode: SummaryMode,
    /// The window that calls must fit, in tokens (compaction 5.6).
    pub window: f64,
    /// Share of the window a history may take before its oldest parts go, usually 0.1 to 0.9 (compaction 5.6).
    pub history_share: f64,
    /// Tokens of the window kept free; the length of answers follows from it (compaction 3.17, 5.16).
    pub reserve_tokens: f64,
    /// Tokens of the context before (compaction 3.9); NaN for odd usage.
    pub tokens_before: f64,
    /// Whether identifiers must be kept.
    pub identifiers: Identifiers,
    /// What the person asks for besides, as with `/compact`.
    pub instructions: Option<JsString>,
    /// The workspace rules as a section (compaction 5.18); empty for none.
    pub rules_section: JsString,
    /// When missing tool results are invented, ms since 1970.
    pub now_ms: f64,
}

/// A summary as it would be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSummary {
    /// Its parts.
    pub parts: SummaryParts,
    /// The file lists beside it (compaction 3.21).
    pub details: FileLists,
    /// What was dropped from the history first, where something was (compaction 5.8).
    pub dropped: Option<DroppedHistory>,
}

/// Oldest parts of a history that is too large for its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DroppedHistory {
    /// Parts.
    pub chunks: usize,
    /// Messages in them, and orphans.
    pub messages: usize,
    /// Tokens of the parts, by estimate.
    pub tokens: f64,
    /// Share of the window that the new content takes, in percent.
    pub new_content_percent: f64,
}

/// Why the gateway keeps the history as it is. Its other two reasons (compaction 5.5: no model, no key) concern its own
/// calls; here they are errors of the summarizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// No message of a user, an assistant or a tool is to be summarised (compaction 5.1).
    NoRealMessage,
    /// A message has a shape that cannot be estimated (compaction 5.20, 1.8).
    Malformed,
}

impl CancelReason {
    /// The reason in words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::NoRealMessage => {
                "nothing would be summarised: no message of a user, an assistant or a tool stands before the kept part"
            }
            Self::Malformed => "a message has a shape that the runtime cannot estimate",
        }
    }

    /// The rule behind it.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::NoRealMessage => "compaction 5.1",
            Self::Malformed => "compaction 5.20",
        }
    }
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoSummary {
    /// The safeguard cancels the compaction; the history stays.
    Cancelled(CancelReason),
    /// The only call failed, and mode `default` has no fallback.
    Failed(String),
    /// Whoever answers the calls gave up.
    Aborted,
}
