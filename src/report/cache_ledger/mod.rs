//! The cache ledger: for every model call of a transcript, the prompt tokens that the provider read from its cache, those
//! that it wrote, and those that it should have read and did not, with the cause and the extra cost.
//!
//! The rule of a miss is pi's own (`core/cache-stats` of pi 1.5), so that count, tokens and cost are the same there and
//! here. Causes come from the files; only causes that they leave open are taken from the replay's recorded trace.

mod cause;
mod cost;
mod description;
mod evidence;
mod requests;
mod scan;
#[cfg(test)]
mod tests;
mod totals;

pub use cause::MissCause;
pub use description::format_extra_cost;
pub use totals::{CacheTotals, CallCount};

use crate::gateway::retention::Retention;
use crate::ids::EntryIx;
use crate::replay::Cost;
use crate::replay::cache::TokenSplit;
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::usage_totals::PriceCache;
use crate::store::body::BodyError;
use crate::store::entry::Usage;
use crate::units::{Millis, Moment, Tokens};

use evidence::Evidence;
use requests::{LedgerStep, ledger_steps};
use scan::{PromptScan, Reading};

/// The billed calls of a transcript, on every branch and in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheLedger {
    pub calls: Vec<CachedCall>,
    /// The other billed calls: summaries, calls of tools, and calls without a count of their prompt.
    pub side_calls: Vec<SideCall>,
    /// The configured time for which the provider keeps the prompts of the session's model.
    pub retention: Retention,
}

/// A billed call of which the ledger knows no prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SideCall {
    /// Time of its entry; NaN if unknown.
    pub ended: Moment,
    pub cost: Cost,
}

/// One call and the cache's effect on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachedCall {
    /// The answer.
    pub entry: EntryIx,
    /// Time of the answer; NaN if unknown.
    pub ended: Moment,
    /// Its tokens by price class, as the provider counted them.
    pub split: TokenSplit,
    /// Cost of the whole call.
    pub cost: Cost,
    /// The provider reported no cache activity up to this call, so that nothing is known about hits and misses.
    pub is_uncached: bool,
    /// Prompt tokens that were sent before and not read; `None` if all of them were read.
    pub miss: Option<CacheMiss>,
}

/// Prompt tokens that the cache did not serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheMiss {
    /// Tokens of the previous prompt that this prompt should have read; for a first call, all that was not read.
    pub tokens: Tokens,
    /// Extra cost compared with reading them from the cache.
    pub cost: Cost,
    /// Time since the previous prompt was sent; NaN at the first call.
    pub age_ms: Millis,
    pub cause: MissCause,
    /// The entry at which the prompt changed.
    pub at: Option<EntryIx>,
}

impl CacheMiss {
    /// Whether it is a miss by pi's rule. A first call, and one after a compaction, sends a new prompt that could not
    /// be cached yet.
    pub fn is_counted(&self) -> bool {
        !self.cause.makes_new_prompt()
    }
}

/// Builds the ledger of a transcript. Reads the bodies of the answers that missed, and texts of the path and the gateway's
/// recording only if the entries do not explain a miss.
///
/// # Errors
/// When an entry cannot be read again.
pub fn cache_ledger(session: &LoadedSession) -> Result<CacheLedger, BodyError> {
    cache_ledger_from(session, None)
}

/// Like [`cache_ledger`], with the inputs of replays if they were read already.
///
/// # Errors
/// When an entry cannot be read again.
pub fn cache_ledger_from(
    session: &LoadedSession,
    inputs: Option<&ReplayInputs>,
) -> Result<CacheLedger, BodyError> {
    let prices = PriceCache::new(session);
    let retention = session.cache_retention();
    let mut evidence = Evidence::new(session, retention, inputs);
    let (mut scan, mut calls) = (PromptScan::default(), Vec::new());
    let (steps, others) = ledger_steps(session);
    for step in steps {
        let request = match step {
            LedgerStep::Call(request) => request,
            LedgerStep::Warmed(usage, at) => {
                scan.warm(&usage, at);
                continue;
            }
            LedgerStep::NewContext(cause, entry) => {
                scan.replace(cause, entry);
                continue;
            }
        };
        let price = prices.price_of(request.entry);
        let reading = scan.read(&request);
        let miss = match &reading {
            Reading::Uncached | Reading::Hit => None,
            Reading::Unread(unread) => {
                let (cause, at) = evidence.cause_of(&request, unread)?;
                let cost = cost::miss_cost(session, &request, unread.tokens, price.as_ref())?;
                Some(CacheMiss { tokens: unread.tokens, cost, age_ms: unread.age_ms(&request), cause, at })
            }
        };
        let mut cost = Cost::default();
        cost.add_usage(&request.usage, price.as_ref());
        calls.push(CachedCall {
            entry: request.entry,
            ended: request.ended,
            split: TokenSplit::from_usage(&request.usage),
            cost,
            is_uncached: reading == Reading::Uncached,
            miss,
        });
    }
    let side_call = |(entry, usage): (EntryIx, Usage)| {
        let mut cost = Cost::default();
        cost.add_usage(&usage, prices.price_of(entry).as_ref());
        SideCall { ended: session.index.entry(entry).time_ms, cost }
    };
    Ok(CacheLedger { calls, side_calls: others.into_iter().map(side_call).collect(), retention })
}

/// Returns the share of all prompt tokens that misses did not read, from counts only, without causes.
pub fn missed_share(session: &LoadedSession) -> f64 {
    let (mut scan, mut missed, mut all) = (PromptScan::default(), 0.0, 0.0);
    for step in ledger_steps(session).0 {
        match step {
            LedgerStep::Call(request) => {
                let split = TokenSplit::from_usage(&request.usage);
                all += split.read.get() + split.write.get() + split.input.get();
                if let Reading::Unread(unread) = scan.read(&request)
                    && unread.is_counted()
                {
                    missed += unread.tokens.get();
                }
            }
            LedgerStep::Warmed(usage, at) => scan.warm(&usage, at),
            LedgerStep::NewContext(cause, entry) => scan.replace(cause, entry),
        }
    }
    if all > 0.0 { missed / all } else { 0.0 }
}
