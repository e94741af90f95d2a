//! Finds the calls of a transcript that did not fit. Lists, screens and commands all ask here, so that they agree.
//!
//! Whether a call overflowed does not depend on the gateway's version: the provider's words, codes and stop reasons decide
//! (overflow-texts 2). Whether that version recognised them is a separate fact ([`Overflow::recognised`]). Every call is
//! judged by the model that answered it, never by the one the session has now.

mod cut_short;
mod model_windows;
pub(crate) mod refused;
mod silent;

pub use model_windows::ModelWindow;

use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Ruleset;
use crate::ids::EntryIx;
use crate::store::index::Index;
use crate::store::intern::ValueIx;
use crate::store::source::Source;

/// How a call failed to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverflowKind {
    /// The provider refused it for its tokens.
    Refused,
    /// The gateway refused it by its own estimate; no provider was asked.
    Precheck,
    /// It was refused for its size in bytes: no token limit was hit.
    Bytes,
    /// It was answered although its usage is above the model's window, or it left no room for a reply (overflow-texts 6).
    Silent,
    /// The reply ended where prompt and reply together filled the window.
    CutShort,
}

impl OverflowKind {
    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Precheck => "precheck",
            Self::Bytes => "bytes",
            Self::Silent => "silent",
            Self::CutShort => "cut-short",
        }
    }

    /// Whether there was no answer.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Precheck | Self::Bytes)
    }
}

/// A call that did not fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Overflow {
    /// Its answer, or the gateway's note of a prompt that threw.
    pub entry: EntryIx,
    /// How it failed.
    pub kind: OverflowKind,
    /// The gateway noted the error itself (`openclaw:prompt-error`) instead of keeping a failed answer.
    pub noted_by_gateway: bool,
    /// The error text; empty where there is none.
    pub text: String,
    /// The rule of overflow-texts that its words follow; empty for usage.
    pub rule: &'static str,
    /// When, ms since the epoch; NaN where nothing says.
    pub time_ms: f64,
    /// Provider and model that were called.
    pub model: Option<(ValueIx, ValueIx)>,
    /// Tokens the request needed, as the provider or the usage says, the reply it reserved included.
    pub requested: Option<u64>,
    /// Tokens the provider allows; of a silent overflow the model's window.
    pub limit: Option<u64>,
    /// Of `requested`, tokens reserved for the reply, where the text splits the sum.
    pub reply_reserve: Option<u64>,
    /// Whether the runtime of that release recognised it as an overflow; none where that is not known.
    pub recognised: Option<bool>,
    /// Other entries that record the same refusal.
    pub duplicates: Vec<EntryIx>,
}

impl Overflow {
    /// An overflow that only the usage of an answer shows: nothing was said, and no release recognises it by words.
    fn from_usage(
        entry: EntryIx,
        kind: OverflowKind,
        time_ms: f64,
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
            recognised: None,
            duplicates: Vec::new(),
        }
    }

    /// Tokens of the prompt alone, where they are known.
    pub fn prompt_tokens(&self) -> Option<u64> {
        Some(self.requested?.saturating_sub(self.reply_reserve.unwrap_or(0)))
    }

    /// Tokens that a prompt may have beside the reply that is reserved.
    pub fn prompt_limit(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.reply_reserve.unwrap_or(0)))
    }

    /// Who names the numbers.
    pub fn limit_source(&self) -> &'static str {
        match self.kind {
            OverflowKind::Refused | OverflowKind::Bytes => "the provider",
            OverflowKind::Precheck => "the gateway",
            OverflowKind::Silent => "the answer's usage",
            OverflowKind::CutShort => "the place where the reply ended",
        }
    }
}

/// Where overflows are looked for.
#[derive(Debug, Clone, Copy)]
pub struct OverflowScope<'a> {
    /// The open transcript.
    pub source: &'a Source,
    /// Sizes of its entries.
    pub index: &'a Index,
    /// The gateway's configuration, for the windows of the models that were called.
    pub config: &'a GatewayConfig,
    /// The agent it belongs to.
    pub agent: &'a str,
    /// The rules it is read by.
    pub ruleset: Ruleset,
}

/// Every overflow of a transcript in the order of the file, each once. Reads the bodies of failed answers; one that cannot
/// be read again is left out.
pub fn find_overflows(scope: &OverflowScope<'_>) -> Vec<Overflow> {
    let windows = model_windows::WindowCache::new(scope);
    let mut found = refused::find_refused(scope);
    found.extend(silent::find_silent(scope.index, &windows));
    found.extend(cut_short::find_cut_short(scope.index, &windows));
    // The sort is stable, so of two signs of one call the one that was looked for first is kept.
    found.sort_by_key(|overflow| overflow.entry);
    found.dedup_by_key(|overflow| overflow.entry);
    found
}
