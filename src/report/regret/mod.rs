//! Regret: was something needed again that a policy cleared, trimmed, truncated or summarised? A message is needed again if
//! the model fetches it again with the same call, uses one of its ids, paths, numbers or errors while no message in the
//! prompt has it, or if the person names one.
//!
//! Under the recorded settings this finds repetitions that happened. Under other settings it finds uses of content that the
//! prompt would have lacked.

mod needs;
mod sources;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use needs::{CallLookup, Losses, Weights, find_needs};
use schemars::JsonSchema;
use serde::Serialize;
use sources::PathMessage;

use crate::format::{
    format_count, format_estimate, format_estimated_usd, format_number, format_short_estimate, quantity,
    round_tokens,
};
use crate::ids::EntryIx;
use crate::replay::{ContextLoss, Settings, context_losses};
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::usage_totals::PriceCache;
use crate::store::body::BodyError;
use crate::units::{Rounded, Tokens};

pub use needs::{Need, NeedKind};
pub use texts::RegretTexts;

/// A lost message and its later needs.
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
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegretTotals {
    /// Messages that a prompt lacked in whole or in part.
    pub lost: usize,
    /// Estimated lost tokens.
    #[serde(with = "Rounded")]
    pub lost_tokens: Tokens,
    /// Lost messages that were needed again.
    pub needed: usize,
    pub fetched_again: usize,
    pub quoted: usize,
    pub asked_again: usize,
    /// Estimated tokens of all repetitions.
    #[serde(with = "Rounded")]
    pub tokens: Tokens,
    /// List price of all repetitions, USD.
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
            let more = (loss.tokens_before - loss.tokens_after - Tokens(*tokens)).max(Tokens::ZERO);
            *tokens += more.get();
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

/// Finds the regret of any number of settings for one session. The texts of the path are read once, and only if a prompt
/// lacks a message.
#[derive(Debug)]
pub struct RegretFinder<'a> {
    session: &'a LoadedSession,
    inputs: &'a ReplayInputs,
    /// Texts from before entries were added.
    known: Option<Arc<RegretTexts>>,
    /// Whether the texts are kept for entries that are added later.
    is_extended: bool,
    texts: OnceLock<Arc<RegretTexts>>,
}

impl<'a> RegretFinder<'a> {
    pub fn new(session: &'a LoadedSession, inputs: &'a ReplayInputs) -> Self {
        Self { session, inputs, known: None, is_extended: false, texts: OnceLock::new() }
    }

    /// Like [`Self::new`], but reads only the texts of entries that were added since `known`.
    pub fn extending(
        session: &'a LoadedSession,
        inputs: &'a ReplayInputs,
        known: Option<Arc<RegretTexts>>,
    ) -> Self {
        Self { session, inputs, known, is_extended: true, texts: OnceLock::new() }
    }

    /// Finds the regret of the recorded settings.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn recorded(&self) -> Result<Regret, BodyError> {
        self.find(&self.inputs.recorded_settings, false)
    }

    /// Finds the regret of other settings.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn simulated(&self, settings: &Settings) -> Result<Regret, BodyError> {
        self.find(settings, true)
    }

    fn find(&self, settings: &Settings, simulated: bool) -> Result<Regret, BodyError> {
        let (session, inputs) = (self.session, self.inputs);
        let replayed = inputs.replay_session(session);
        let record = inputs.recorded_trace(session);
        let losses = context_losses(&replayed, settings, &record, simulated);
        inputs.check_bodies()?;
        if losses.is_empty() {
            return Ok(Regret { lost: Vec::new(), calls: record.calls.len() });
        }
        let texts = self.texts(replayed.path)?;
        let mut lost: Vec<LostMessage> =
            losses.iter().map(|loss| LostMessage { loss: *loss, tool: None, needs: Vec::new() }).collect();
        let (_, tokens) = inputs.calibrated_weights(session);
        let prices = PriceCache::new(session);
        let weights = Weights {
            tokens: &|message| tokens.get(&message.entry).copied().unwrap_or(Tokens(message.estimate)),
            price: &|message: &PathMessage| prices.price_of(message.entry),
        };
        // Where the settings decide when to compact, the recorded summaries do not exist.
        let has_summaries = !(simulated && settings.policies.enabled.has(crate::policy::Policy::Compact));
        let calls = CallLookup::new(record.calls.iter().map(|call| call.path_index).collect());
        let losses = Losses::new(&losses, has_summaries);
        for (loss, need) in find_needs(&texts.messages, &texts.sources, &losses, &calls, &weights) {
            lost[loss].needs.push(need);
        }
        for message in &texts.messages {
            for at in losses.of(message.entry) {
                lost[*at as usize].tool = message.tool.as_deref().map(str::to_owned);
            }
        }
        Ok(Regret { lost, calls: record.calls.len() })
    }

    fn texts(&self, path: &[EntryIx]) -> Result<&Arc<RegretTexts>, BodyError> {
        if self.texts.get().is_none() {
            let read = if self.is_extended {
                RegretTexts::read(self.session, path, self.known.as_deref())?
            } else {
                RegretTexts::read_once(self.session, path)?
            };
            // Another thread may have read them too; they are the same.
            _ = self.texts.set(Arc::new(read));
        }
        Ok(self.texts.get_or_init(Arc::default))
    }

    /// Returns the texts, if they were read, for [`Self::extending`].
    pub fn into_texts(self) -> Option<Arc<RegretTexts>> {
        self.texts.into_inner().or(self.known)
    }
}

impl RegretTotals {
    /// Describes the losses of the prompts, and those that were needed again.
    pub fn describe(&self) -> String {
        if self.lost == 0 {
            return "nothing was cleared, cut or summarised, so nothing was needed again".to_owned();
        }
        let lost = format!(
            "{} cleared, cut or summarised ({} tokens)",
            quantity(self.lost, "message"),
            format_estimate(round_tokens(self.lost_tokens))
        );
        if self.needed == 0 {
            return format!("{lost}; none was needed again, so it cost you nothing");
        }
        let part = |count: usize, kind: NeedKind| {
            (count > 0).then(|| format!("{} {}", format_number(count as u64), kind.label()))
        };
        let parts = [
            part(self.fetched_again, NeedKind::FetchedAgain),
            part(self.quoted, NeedKind::Quoted),
            part(self.asked_again, NeedKind::AskedAgain),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let repeated = match self.cost.map(format_estimated_usd) {
            _ if self.tokens <= Tokens::ZERO => String::new(),
            cost => {
                let cost = cost.map(|cost| format!(", {cost}")).unwrap_or_default();
                format!(" ({} tokens repeated{cost})", format_estimate(round_tokens(self.tokens)))
            }
        };
        let needed = format_count(self.needed as u64, "was", "were");
        format!("{lost}; {needed} needed again: {}{repeated}", parts.join(", "))
    }

    /// Describes the needs in a table cell: `3 · ~8.2k`, or `0` if nothing was needed again.
    pub fn describe_short(&self) -> String {
        let needed = format_number(self.needed as u64);
        if self.tokens <= Tokens::ZERO {
            needed
        } else {
            format!("{needed} · {}", format_short_estimate(round_tokens(self.tokens)))
        }
    }
}

impl Need {
    /// Describes time and price of a need: `fetched again 14 calls later, ~8.2k tokens, ~$0.04`.
    pub fn describe(&self) -> String {
        let words = format!("{} {}", self.kind.label(), self.describe_distance());
        if self.kind != NeedKind::FetchedAgain {
            return words;
        }
        let tokens = format_short_estimate(round_tokens(self.tokens));
        let cost = self.cost.map(|usd| format!(", {}", format_estimated_usd(usd))).unwrap_or_default();
        format!("{words}, {tokens} tokens{cost}")
    }

    /// Describes the calls since the message was lost: `14 calls later`.
    pub fn describe_distance(&self) -> String {
        match self.distance {
            0 => "at once".to_owned(),
            calls => format!("{} later", quantity(calls, "call")),
        }
    }
}
