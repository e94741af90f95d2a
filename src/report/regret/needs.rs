//! Finds the later needs of lost messages, from identifiers and tool calls alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::identifiers::IdentifierHash;
use super::need::{Need, NeedKind};
use super::texts::{PathMessage, ToolUse, is_speaker};
use crate::gateway::catalog::Price;
use crate::ids::EntryIx;
use crate::replay::ContextLoss;
use crate::replay::cache::TokenSplit;
use crate::store::entry::Role;

/// Positions of the calls' answers on the path, in order.
#[derive(Debug)]
pub(super) struct CallLookup(Vec<usize>);

impl CallLookup {
    pub(super) fn new(answers: Vec<usize>) -> Self {
        Self(answers)
    }

    /// Returns the call whose prompt ends before a position, or with it.
    fn call_at(&self, position: usize, role: Role) -> Option<usize> {
        let at = self.0.partition_point(|answer| *answer < position);
        let is_answer = self.0.get(at) == Some(&position);
        (at < self.0.len() && (is_answer || role != Role::Assistant)).then_some(at)
    }
}

/// The losses of a trace by entry.
struct Losses<'a> {
    all: &'a [ContextLoss],
    by_entry: HashMap<EntryIx, Vec<usize>>,
    has_summaries: bool,
}

impl<'a> Losses<'a> {
    fn new(losses: &'a [ContextLoss], has_summaries: bool) -> Self {
        let mut by_entry: HashMap<EntryIx, Vec<usize>> = HashMap::new();
        for (at, loss) in losses.iter().enumerate() {
            by_entry.entry(loss.entry).or_default().push(at);
        }
        Self { all: losses, by_entry, has_summaries }
    }

    /// Returns the loss because of which the prompt of a call lacks a message.
    fn at(&self, message: &PathMessage, call: usize) -> Option<usize> {
        let own = self.by_entry.get(&message.entry)?;
        // They are in the order of the calls, and no two of them overlap.
        let last = own.partition_point(|at| self.all[*at].from_call <= call).checked_sub(1)?;
        own.get(last).copied().filter(|at| self.all[*at].covers(call))
    }

    /// Whether no later prompt has the message either.
    fn is_gone(&self, message: &PathMessage, call: usize) -> bool {
        let is_lost_for_good = |at: usize| self.all[at].until_call.is_none();
        !self.is_shown(message, call) && self.at(message, call).is_some_and(is_lost_for_good)
    }

    /// Whether the prompt of a call shows the whole message.
    fn is_shown(&self, message: &PathMessage, call: usize) -> bool {
        let is_summary = message.role == Role::CompactionSummary;
        if is_summary { self.has_summaries } else { self.at(message, call).is_none() }
    }
}

/// The rates by which needs are weighed.
pub(super) struct Weights<'a> {
    /// Tokens of a message on the provider's scale.
    pub(super) tokens: &'a dyn Fn(&PathMessage) -> f64,
    /// The list price of an answer's model.
    pub(super) price: &'a dyn Fn(&PathMessage) -> Option<Price>,
}

/// Returns each need with the index of its loss, in the order of the path. `has_summaries` says whether the recorded
/// summaries are in the prompts.
pub(super) fn find_needs(
    path: &[Arc<PathMessage>],
    losses: &[ContextLoss],
    calls: &CallLookup,
    has_summaries: bool,
    weights: &Weights<'_>,
) -> Vec<(usize, Need)> {
    let losses = Losses::new(losses, has_summaries);
    let mut results: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, message) in path.iter().enumerate() {
        if let Some(call) = &message.answers {
            results.entry(call).or_default().push(at);
        }
    }
    let mut needs = Vec::new();
    let mut known = Known::among(used_identifiers(path));
    for (at, message) in path.iter().enumerate() {
        if let Some(call) = calls.call_at(message.position, message.role).filter(|_| is_speaker(message.role))
        {
            let asks = Asking { path, losses: &losses, results: &results, at, call };
            let fetched = asks.fetched_again(&known, weights);
            // A repeated call names its own path; that is no second need.
            let quoted = asks.quoted(&mut known.sources, &fetched);
            needs.extend(fetched);
            needs.extend(quoted);
        }
        known.add(at, message);
    }
    needs
}

/// Returns the identifiers in the words of the model and of the person. Nothing else needs a source, and results have
/// millions of others.
fn used_identifiers(path: &[Arc<PathMessage>]) -> HashSet<IdentifierHash> {
    let speakers = path.iter().filter(|message| is_speaker(message.role));
    speakers.flat_map(|message| message.identifiers.iter().copied()).collect()
}

/// The messages before the current one.
#[derive(Default)]
struct Known<'a> {
    /// The identifiers whose sources are kept.
    used_names: HashSet<IdentifierHash>,
    sources: HashMap<IdentifierHash, Sources>,
    /// The last call with a tool and arguments, and the message that made it.
    used: HashMap<(&'a str, &'a str), (usize, &'a ToolUse)>,
    /// The last message that wrote to a path, and the last one that wrote at all.
    written: HashMap<&'a str, usize>,
    last_write: Option<usize>,
}

/// The messages that have an identifier.
#[derive(Default)]
struct Sources {
    at: Vec<usize>,
    /// Of these, how many no later prompt has, from the first on.
    gone: usize,
}

impl<'a> Known<'a> {
    fn among(used_names: HashSet<IdentifierHash>) -> Self {
        Self { used_names, ..Self::default() }
    }

    fn add(&mut self, at: usize, message: &'a PathMessage) {
        for identifier in message.identifiers.iter().filter(|name| self.used_names.contains(name)) {
            self.sources.entry(*identifier).or_default().at.push(at);
        }
        for own in &message.uses {
            self.used.insert((&own.tool, &own.arguments), (at, own));
            if let Some(path) = own.path.as_deref().filter(|_| own.writes()) {
                self.written.insert(path, at);
                self.last_write = Some(at);
            }
        }
    }

    /// Whether a file tool wrote to the path of a call since, or to any file if the call runs a command.
    fn is_written_since(&self, caller: usize, earlier: &ToolUse) -> bool {
        let own = earlier.path.as_deref().and_then(|path| self.written.get(path).copied());
        let any = self.last_write.filter(|_| earlier.runs_command);
        own.max(any).is_some_and(|at| at >= caller)
    }
}

/// One answer or question, and the call to which it belongs.
struct Asking<'a> {
    path: &'a [Arc<PathMessage>],
    losses: &'a Losses<'a>,
    /// The results of each call.
    results: &'a HashMap<&'a str, Vec<usize>>,
    at: usize,
    call: usize,
}

impl Asking<'_> {
    fn message(&self) -> &PathMessage {
        &self.path[self.at]
    }

    fn need(&self, loss: usize, kind: NeedKind, evidence: String) -> (usize, Need) {
        let distance = self.call - self.losses.all[loss].from_call;
        let entry = self.message().entry;
        (loss, Need { kind, entry, call: self.call, distance, tokens: 0.0, cost: None, evidence })
    }

    /// Returns the repeated calls of an answer whose earlier results the prompt lacks.
    fn fetched_again(&self, known: &Known<'_>, weights: &Weights<'_>) -> Vec<(usize, Need)> {
        let uses = self.message().uses.iter();
        uses.filter_map(|again| {
            let (caller, earlier) = *known.used.get(&(again.tool.as_str(), again.arguments.as_str()))?;
            let result = self.result_of(caller, &earlier.id)?;
            let loss = self.losses.at(&self.path[result], self.call)?;
            if known.is_written_since(caller, earlier) {
                return None;
            }
            let result = self.result_of(self.at, &again.id);
            let repeated = result.map_or(0.0, |at| (weights.tokens)(&self.path[at]));
            let (loss, need) = self.need(loss, NeedKind::FetchedAgain, again.arguments.clone());
            let price = (weights.price)(self.message());
            let cost = price.map(|price| repetition_cost(again.tokens, repeated, &price));
            Some((loss, Need { tokens: again.tokens + repeated, cost, ..need }))
        })
        .collect()
    }

    /// Returns the position of the first result of a call behind its caller.
    fn result_of(&self, caller: usize, id: &str) -> Option<usize> {
        let all = self.results.get(id)?;
        all.get(all.partition_point(|at| *at <= caller)).copied()
    }

    /// Returns the identifiers that only lost messages had, one for each loss.
    fn quoted(
        &self,
        sources: &mut HashMap<IdentifierHash, Sources>,
        fetched: &[(usize, Need)],
    ) -> Vec<(usize, Need)> {
        let kind = if self.message().role == Role::User { NeedKind::AskedAgain } else { NeedKind::Quoted };
        let mut found: Vec<(usize, Need)> = Vec::new();
        for (identifier, name) in self.message().identifiers.iter().zip(&self.message().names) {
            let Some(loss) = sources.get_mut(identifier).and_then(|sources| self.only_loss(sources)) else {
                continue;
            };
            let is_known = found.iter().chain(fetched).any(|(known, _)| *known == loss);
            if !is_known {
                found.push(self.need(loss, kind, name.clone()));
            }
        }
        found
    }

    /// Returns the last loss among the sources of an identifier if the prompt shows none of them.
    fn only_loss(&self, sources: &mut Sources) -> Option<usize> {
        let message = |at: &usize| -> &PathMessage { &self.path[*at] };
        while sources.at.get(sources.gone).is_some_and(|at| self.losses.is_gone(message(at), self.call)) {
            sources.gone += 1;
        }
        if sources.at[sources.gone..].iter().rev().any(|at| self.losses.is_shown(message(at), self.call)) {
            return None;
        }
        sources.at.iter().rev().find_map(|at| self.losses.at(message(at), self.call))
    }
}

/// Prices a repetition: the call is output, its result is prompt that the next call writes to the cache.
fn repetition_cost(call: f64, result: f64, price: &Price) -> f64 {
    let writes = price.cache_write > 0.0;
    let (write, input) = if writes { (result, 0.0) } else { (0.0, result) };
    TokenSplit { read: 0.0, write, input, output: call }.cost(price)
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
