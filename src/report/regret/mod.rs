//! Regret: was something needed again that a policy cleared, trimmed, truncated or summarised? A message is needed again if
//! the model fetches it again with the same call, uses one of its ids, paths, numbers or errors while no message in the
//! prompt has it, or if the person names one.
//!
//! Under the recorded settings this finds repetitions that happened. Under other settings it finds uses of content that the
//! prompt would have lacked.

mod identifiers;
mod need;
mod needs;
mod path_texts;
#[cfg(test)]
mod tests;

pub use need::{Need, NeedKind};

use std::collections::{HashMap, HashSet};

use crate::ids::EntryIx;
use crate::replay::{ContextLoss, Settings, context_losses};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::usage_totals::PriceCache;
use crate::store::body::BodyError;

use needs::{CallLookup, find_needs};
use path_texts::{PathMessage, read_path};

/// A lost message and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LostMessage {
    pub loss: ContextLoss,
    /// The tool of a result.
    pub tool: Option<String>,
    pub needs: Vec<Need>,
}

/// All losses of one trace. A message that is lost again after it was shown has several.
#[derive(Debug, Clone, PartialEq)]
pub struct Regret {
    /// In the order of the calls.
    pub lost: Vec<LostMessage>,
    pub calls: usize,
}

/// Sums of a regret.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RegretTotals {
    /// Messages that a prompt lacked in whole or in part.
    pub lost: usize,
    /// Their tokens that were gone at most.
    pub lost_tokens: f64,
    /// Messages that were needed again.
    pub needed: usize,
    pub fetched_again: usize,
    pub quoted: usize,
    pub asked_again: usize,
    /// Tokens of all repetitions.
    pub tokens: f64,
    /// List price of all repetitions in USD; `None` without a price.
    pub cost: Option<f64>,
}

impl Regret {
    /// Sums up losses and needs. A message that was lost, shown and lost again counts once.
    pub fn totals(&self) -> RegretTotals {
        let mut gone: HashMap<EntryIx, f64> = HashMap::new();
        let mut needed = HashSet::new();
        let mut sum = RegretTotals::default();
        for LostMessage { loss, needs, .. } in &self.lost {
            let tokens = gone.entry(loss.entry).or_default();
            let more = (loss.tokens_before - loss.tokens_after - *tokens).max(0.0);
            *tokens += more;
            sum.lost_tokens += more;
            needed.extend((!needs.is_empty()).then_some(loss.entry));
            for need in needs {
                sum.add(need);
            }
        }
        RegretTotals { lost: gone.len(), needed: needed.len(), ..sum }
    }
}

impl RegretTotals {
    fn add(&mut self, need: &Need) {
        match need.kind {
            NeedKind::FetchedAgain => self.fetched_again += 1,
            NeedKind::Quoted => self.quoted += 1,
            NeedKind::AskedAgain => self.asked_again += 1,
        }
        self.tokens += need.tokens;
        self.cost = need.cost.map_or(self.cost, |usd| Some(self.cost.unwrap_or(0.0) + usd));
    }
}

/// Finds the regret of the recorded settings, or of others if `simulated`. Reads the texts of the path.
///
/// # Errors
/// When an entry cannot be read again.
pub fn find_regret(
    session: &LoadedSession,
    inputs: &ReplayInputs,
    settings: &Settings,
    simulated: bool,
) -> Result<Regret, BodyError> {
    let replayed = inputs.replay_session(session);
    let record = inputs.recorded_trace(session);
    let losses = context_losses(&replayed, settings, &record, simulated);
    let mut lost: Vec<LostMessage> =
        losses.iter().map(|loss| LostMessage { loss: *loss, tool: None, needs: Vec::new() }).collect();
    let regret = |lost| Regret { lost, calls: record.calls.len() };
    if lost.is_empty() {
        return Ok(regret(lost));
    }
    let (_, weights) = inputs.calibrated_weights(session);
    let path = read_path(session, replayed.path, &weights)?;
    let prices = PriceCache::new(session);
    let price_of = |message: &PathMessage| prices.price_of(message.entry);
    // Where the settings decide when to compact, the recorded summaries do not exist.
    let has_summaries = !(simulated && settings.policies.enabled.has(crate::policy::Policy::Compact));
    let calls = CallLookup::new(record.calls.iter().map(|call| call.path_index).collect());
    for (loss, need) in find_needs(&path, &losses, &calls, has_summaries, &price_of) {
        lost[loss].needs.push(need);
    }
    let tools: HashMap<EntryIx, &String> =
        path.iter().filter_map(|message| Some((message.entry, message.tool.as_ref()?))).collect();
    for own in &mut lost {
        own.tool = tools.get(&own.loss.entry).map(|tool| (*tool).clone());
    }
    Ok(regret(lost))
}
