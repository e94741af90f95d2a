//! The cache ledger: for every model call of a transcript, the prompt tokens that the provider read from its cache, those
//! that it wrote, and those that it should have read and did not, with the cause and the extra cost.
//!
//! The rule of a miss is pi's own (`core/cache-stats` of pi 1.5), so that count, tokens and cost are the same there and
//! here. Causes come from the files; only causes that they leave open are taken from the replay's recorded trace.

mod cause;
mod evidence;
mod scan;
mod totals;

use crate::gateway::models::Price;
use crate::gateway::retention::Retention;
use crate::ids::EntryIx;
use crate::js::Value;
use crate::replay::Cost;
use crate::replay::bill::file_cost;
use crate::replay::cache::TokenSplit;
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::usage_totals::PriceCache;
use crate::store::body::{BodyError, read_entry};
use crate::store::entry::Usage;
use crate::units::{Millis, Moment, Tokens};
use evidence::Evidence;
use scan::{LedgerStep, PromptScan, Reading, Request, ledger_steps};

pub use cause::MissCause;
pub use totals::{CacheTotals, CallCount, format_extra_cost};

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
                let cost = miss_cost(session, &request, unread.tokens, price.as_ref())?;
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

// The extra cost of a miss: its tokens at the rate of the call instead of the rate of a cached read.

/// The recorded cost of a prompt by price class, USD.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PromptCost {
    input: f64,
    read: f64,
    write: f64,
}

/// Returns the extra cost of `tokens` missed tokens: from the recorded parts of the call's cost, otherwise at list prices.
fn miss_cost(
    session: &LoadedSession,
    request: &Request,
    tokens: Tokens,
    price: Option<&Price>,
) -> Result<Cost, BodyError> {
    let split = TokenSplit::from_usage(&request.usage);
    // The whole prompt decides the rates, not the part that was missed.
    let price = price.map(|price| price.at((split.input + split.read + split.write).get()));
    let list_read = price.map_or(0.0, |price| price.cache_read / 1e6);
    let parts = match file_cost(&request.usage).filter(|usd| *usd > 0.0) {
        Some(_) => recorded_parts(&read_entry(&session.source, &session.index, request.entry)?),
        None => None,
    };
    let recorded = parts.map(|parts| extra_cost(tokens, &split, &parts, list_read));
    let listed = price.map(|price| extra_cost(tokens, &split, &listed_parts(&split, &price), list_read));
    let mut cost = Cost::default();
    match recorded {
        // A recorded part of 0 is an answer too: the call paid nothing extra.
        Some(usd) if usd <= 0.0 => cost.recorded = Some(0.0),
        recorded => cost.add_call(recorded, listed),
    }
    Ok(cost)
}

/// Missed tokens are either input or written, so the rate paid for both is theirs.
fn extra_cost(tokens: Tokens, split: &TokenSplit, cost: &PromptCost, list_read: f64) -> f64 {
    let paid = split.input + split.write;
    let paid_rate = if paid > Tokens::ZERO { (cost.input + cost.write) / paid.get() } else { 0.0 };
    let read_rate = if split.read > Tokens::ZERO { cost.read / split.read.get() } else { list_read };
    (tokens * (paid_rate - read_rate).max(0.0)).get()
}

fn listed_parts(split: &TokenSplit, price: &Price) -> PromptCost {
    let of = |part: TokenSplit| part.cost(price);
    PromptCost {
        input: of(TokenSplit { input: split.input, ..TokenSplit::default() }),
        read: of(TokenSplit { read: split.read, ..TokenSplit::default() }),
        write: of(TokenSplit { write: split.write, ..TokenSplit::default() }),
    }
}

/// Reads the parts of an answer's recorded cost; `None` if the file records only a total.
fn recorded_parts(entry: &Value) -> Option<PromptCost> {
    let cost = entry.get("message")?.get("usage")?.get("cost")?;
    let usd = |key: &str| cost.get(key)?.as_f64().filter(|usd| usd.is_finite());
    Some(PromptCost { input: usd("input")?, read: usd("cacheRead")?, write: usd("cacheWrite")? })
}

#[cfg(test)]
mod tests;
