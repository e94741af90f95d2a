//! Finds the calls of a transcript that did not fit. Lists, screens and commands all ask here, so that they agree.
//!
//! Whether a call overflowed does not depend on the gateway's version: the provider's words, codes and stop reasons decide
//! (overflow-texts 2). Whether that version recognised them is a separate fact ([`Overflow::recognised`]). Every call is
//! judged by the model that answered it, never by the one the session has now.

mod cut_short;
pub(crate) mod refused;
mod silent;
mod windows;

pub use windows::ModelWindow;

use crate::gateway::config::GatewayConfig;
use crate::gateway::ruleset::Ruleset;
use crate::ids::EntryIx;
use crate::store::index::Index;
use crate::store::intern::WordIx;
use crate::store::source::Source;

/// How a call failed to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
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

impl Sign {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
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
    pub sign: Sign,
    /// The gateway noted the error itself (`openclaw:prompt-error`) instead of keeping a failed answer.
    pub noted: bool,
    /// The error text; empty where there is none.
    pub text: String,
    /// The rule of overflow-texts that its words follow; empty for usage.
    pub rule: &'static str,
    /// When, ms since the epoch; NaN where nothing says.
    pub at: f64,
    /// Provider and model that were called.
    pub model: Option<(WordIx, WordIx)>,
    /// Tokens the request needed, as the provider or the usage says, the reply it reserved included.
    pub requested: Option<u64>,
    /// Tokens the provider allows; of a silent overflow the model's window.
    pub limit: Option<u64>,
    /// Of `requested`, tokens reserved for the reply, where the text splits the sum.
    pub reply: Option<u64>,
    /// Whether the runtime of that release recognised it as an overflow; none where that is not known.
    pub recognised: Option<bool>,
    /// Other entries that record the same refusal.
    pub again: Vec<EntryIx>,
}

impl Overflow {
    /// An overflow that only the usage of an answer shows: nothing was said, and no release recognises it by words.
    fn by_usage(entry: EntryIx, sign: Sign, at: f64, model: Option<(WordIx, WordIx)>) -> Self {
        Self {
            entry,
            sign,
            noted: false,
            text: String::new(),
            rule: "",
            at,
            model,
            requested: None,
            limit: None,
            reply: None,
            recognised: None,
            again: Vec::new(),
        }
    }

    /// Tokens of the prompt alone, where they are known.
    pub fn prompt(&self) -> Option<u64> {
        Some(self.requested?.saturating_sub(self.reply.unwrap_or(0)))
    }

    /// Tokens that a prompt may have beside the reply that is reserved.
    pub fn room(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.reply.unwrap_or(0)))
    }

    /// Who names the numbers.
    pub fn who(&self) -> &'static str {
        match self.sign {
            Sign::Refused | Sign::Bytes => "the provider",
            Sign::Precheck => "the gateway",
            Sign::Silent => "the answer's usage",
            Sign::CutShort => "the place where the reply ended",
        }
    }
}

/// Where overflows are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
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
pub fn overflows(scope: &Scope<'_>) -> Vec<Overflow> {
    let windows = windows::Windows::new(scope);
    let mut found = refused::refused(scope);
    found.extend(silent::silent(scope.index, &windows));
    found.extend(cut_short::cut_short(scope.index, &windows));
    // The sort is stable, so of two signs of one call the one that was looked for first is kept.
    found.sort_by_key(|overflow| overflow.entry);
    found.dedup_by_key(|overflow| overflow.entry);
    found
}
