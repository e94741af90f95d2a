//! The extra cost of a miss: its tokens at the rate of the call instead of the rate of a cached read.

use crate::gateway::models::Price;
use crate::js::Value;
use crate::replay::Cost;
use crate::replay::cache::TokenSplit;
use crate::replay::cost::file_cost;
use crate::report::cache_ledger::requests::Request;
use crate::session::LoadedSession;
use crate::store::body::{BodyError, read_entry};
use crate::units::Tokens;

/// The recorded cost of a prompt by price class, USD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PromptCost {
    pub(super) input: f64,
    pub(super) read: f64,
    pub(super) write: f64,
}

/// Returns the extra cost of `tokens` missed tokens: from the recorded parts of the call's cost, otherwise at list prices.
pub(super) fn miss_cost(
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
