//! pi's rule of a cache miss, as its own `core/cache-stats` applies it: a prompt should read the previous prompt, up to
//! its own size.

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::replay::cache::TokenSplit;
use crate::replay::{CacheKey, model_calls};
use crate::report::cache_ledger::cause::MissCause;
use crate::session::LoadedSession;
use crate::session::overflow::implausible_counts;
use crate::session::usage_totals::{BilledCalls, billed_calls};
use crate::store::entry::{EntryKind, Usage};
use crate::store::index::Index;
use crate::units::{Millis, Moment, Tokens};

/// Up to this many tokens go unread because breakpoints are coarse; that is not a miss.
const NOISE_FLOOR_TOKENS: f64 = 1024.0;

/// A prompt that was sent, as the next one finds it in the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SentBefore {
    /// The answer to it, or the last answer before the cache was warmed; `None` if there was none.
    pub(super) entry: Option<EntryIx>,
    /// Tokens of the prompt.
    pub(super) prompt: Tokens,
    /// Tokens of it that were read from the cache.
    pub(super) read: Tokens,
    /// The time at which it was sent.
    pub(super) sent_at: Moment,
    pub(super) cache_key: CacheKey,
    /// The provider has reported cache activity.
    is_reported: bool,
}

/// The part of the previous prompt that a call read from the cache.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reading {
    /// No cache activity was ever reported.
    Uncached,
    /// Everything, apart from noise.
    Hit,
    Unread(Unread),
}

/// Tokens that a call did not read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unread {
    pub(super) tokens: Tokens,
    /// The prompt that should have been in the cache; `None` at the first call.
    pub(super) previous: Option<SentBefore>,
    /// The cause of a new context since, and its entry.
    pub(super) replaced: Option<(MissCause, EntryIx)>,
}

impl Unread {
    /// Whether the prompt could have been read from the cache.
    pub(super) fn is_counted(&self) -> bool {
        self.previous.is_some() && self.replaced.is_none()
    }

    /// Returns the time since the previous prompt was sent; NaN without one.
    pub(super) fn age_ms(&self, request: &Request) -> Millis {
        self.previous.map_or(Millis(f64::NAN), |previous| request.started - previous.sent_at)
    }
}

/// The state between two calls.
#[derive(Debug, Default)]
pub(super) struct PromptScan {
    previous: Option<SentBefore>,
    replaced: Option<(MissCause, EntryIx)>,
}

impl PromptScan {
    /// Reads a call, whose prompt becomes the previous one. A call without a counted prompt changes nothing.
    pub(super) fn read(&mut self, request: &Request) -> Reading {
        let split = TokenSplit::from_usage(&request.usage);
        let prompt = prompt_tokens(&split);
        let has_activity = split.read + split.write > Tokens::ZERO;
        // pi forgets the reports of a context that a summary replaced.
        let is_reported = has_activity || self.replaced.is_none() && self.reported();
        if prompt <= Tokens::ZERO {
            return Reading::Uncached;
        }
        let reading = self.compare(&split, has_activity);
        self.replaced = None;
        self.previous = Some(SentBefore {
            entry: Some(request.entry),
            prompt,
            read: split.read,
            sent_at: request.started,
            cache_key: request.cache_key,
            is_reported,
        });
        reading
    }

    fn compare(&self, split: &TokenSplit, has_activity: bool) -> Reading {
        let prompt = prompt_tokens(split);
        if !has_activity && !self.reported() {
            return Reading::Uncached;
        }
        let cached = self.previous.map_or(prompt, |previous| previous.prompt.min(prompt));
        let tokens = cached - split.read;
        if tokens <= Tokens(NOISE_FLOOR_TOKENS) {
            return Reading::Hit;
        }
        Reading::Unread(Unread { tokens, previous: self.previous, replaced: self.replaced })
    }

    fn reported(&self) -> bool {
        self.previous.is_some_and(|previous| previous.is_reported)
    }

    /// The cache was warmed with the whole prompt at a moment. pi warms the model of the previous call.
    pub(super) fn warm(&mut self, usage: &Usage, at: Moment) {
        let prompt = prompt_tokens(&TokenSplit::from_usage(usage));
        if prompt > Tokens::ZERO {
            let (entry, cache_key) = self
                .previous
                .map_or((None, CacheKey::default()), |previous| (previous.entry, previous.cache_key));
            self.previous =
                Some(SentBefore { entry, prompt, read: prompt, sent_at: at, cache_key, is_reported: true });
            self.replaced = None;
        }
    }

    pub(super) fn replace(&mut self, cause: MissCause, entry: EntryIx) {
        self.replaced = Some((cause, entry));
    }
}

fn prompt_tokens(split: &TokenSplit) -> Tokens {
    split.input + split.read + split.write
}

// The steps of a transcript that matter to the provider's cache, in file order: calls on every branch, warmed caches, and
// entries that begin a new context.

/// `kind` of the `usage` entries that keep a cache warm (store-pi-1.5 B3).
const WARMING: &str = "cache_warm";

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LedgerStep {
    Call(Request),
    /// pi sent the prompt again to keep it cached: its usage, and when.
    Warmed(Usage, Moment),
    /// A summary or a reset: the next prompt has other messages.
    NewContext(MissCause, EntryIx),
}

/// A billed call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Request {
    /// The answer.
    pub(super) entry: EntryIx,
    /// Time of the message before the answer.
    pub(super) started: Moment,
    /// Time of the answer.
    pub(super) ended: Moment,
    pub(super) cache_key: CacheKey,
    pub(super) usage: Usage,
}

/// Lists the steps of a whole transcript, and the billed calls that are none of them.
pub(super) fn ledger_steps(session: &LoadedSession) -> (Vec<LedgerStep>, Vec<(EntryIx, Usage)>) {
    let index = &session.index;
    let implausible = implausible_counts(&session.overflow_scope());
    let BilledCalls { answers, failed, side_calls } = billed_calls(index, &implausible);
    let counted = answers.iter().filter(|(ix, _)| !implausible.contains(ix));
    let billed: HashMap<EntryIx, Usage> = counted.chain(&failed).copied().collect();
    let entries: Vec<EntryIx> = index.iter().map(|(ix, _)| ix).collect();
    let calls = model_calls(index, &entries, &[], &HashSet::new(), &HashSet::new());
    let mut requests = calls
        .into_iter()
        .filter_map(|call| {
            Some(Request {
                entry: call.entry,
                started: call.started,
                ended: call.ended,
                cache_key: call.cache_key,
                usage: *billed.get(&call.entry)?,
            })
        })
        .peekable();
    let mut steps = Vec::new();
    for (ix, entry) in index.iter() {
        let new_context = |cause| Some(LedgerStep::NewContext(cause, ix));
        steps.extend(match entry.kind {
            EntryKind::Compaction => new_context(MissCause::Compaction),
            EntryKind::BranchSummary => new_context(MissCause::BranchSummary),
            EntryKind::Reset => new_context(MissCause::Reset),
            EntryKind::Usage => warming(index, ix).map(|usage| LedgerStep::Warmed(usage, entry.time_ms)),
            _ => requests.next_if(|request| request.entry == ix).map(LedgerStep::Call),
        });
    }
    let called: HashSet<EntryIx> = steps.iter().filter_map(LedgerStep::call).collect();
    let others = answers.into_iter().chain(failed).chain(side_calls);
    let others = others.filter(|(ix, _)| !called.contains(ix)).collect();
    (steps, others)
}

impl LedgerStep {
    /// Returns the answer of a call.
    fn call(&self) -> Option<EntryIx> {
        match self {
            Self::Call(request) => Some(request.entry),
            Self::Warmed(..) | Self::NewContext(..) => None,
        }
    }
}

fn warming(index: &Index, ix: EntryIx) -> Option<Usage> {
    let kind = index.value_text(index.entry(ix).payload)?;
    index.unanchored_usage.get(&ix).copied().filter(|_| kind == WARMING)
}
