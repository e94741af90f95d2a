//! Finds the later needs of lost messages, from identifiers and tool calls only.

use std::collections::HashMap;
use std::sync::Arc;

use super::sources::{IdentifierSources, PathMessage, ToolUse, is_speaker};
use crate::gateway::models::Price;
use crate::ids::EntryIx;
use crate::replay::ContextLoss;
use crate::replay::cache::TokenSplit;
use crate::store::entry::Role;
use crate::units::Tokens;

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
pub(super) struct Losses<'a> {
    all: &'a [ContextLoss],
    /// Indexes of `all` in the order of their entries, and of the calls for each.
    by_entry: Vec<u32>,
    has_summaries: bool,
}

impl<'a> Losses<'a> {
    /// `has_summaries` says whether the recorded summaries are in the prompts.
    pub(super) fn new(all: &'a [ContextLoss], has_summaries: bool) -> Self {
        let mut by_entry: Vec<u32> = (0..all.len() as u32).collect();
        by_entry.sort_by_key(|at| all[*at as usize].entry);
        Self { all, by_entry, has_summaries }
    }

    /// Returns the losses of an entry in the order of the calls.
    pub(super) fn of(&self, entry: EntryIx) -> &[u32] {
        let entry_of = |at: &u32| self.all[*at as usize].entry;
        let first = self.by_entry.partition_point(|at| entry_of(at) < entry);
        let count = self.by_entry[first..].partition_point(|at| entry_of(at) == entry);
        &self.by_entry[first..first + count]
    }

    /// Returns the loss because of which the prompt of a call lacks a message.
    fn at(&self, message: &PathMessage, call: usize) -> Option<usize> {
        let own = self.of(message.entry);
        // No two of them overlap.
        let last = own.partition_point(|at| self.all[*at as usize].from_call <= call).checked_sub(1)?;
        own.get(last).map(|at| *at as usize).filter(|at| self.all[*at].covers(call))
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
    pub(super) tokens: &'a dyn Fn(&PathMessage) -> Tokens,
    /// The list price of an answer's model.
    pub(super) price: &'a dyn Fn(&PathMessage) -> Option<Price>,
}

/// Returns each need with the index of its loss, in the order of the path.
pub(super) fn find_needs(
    path: &[Arc<PathMessage>],
    sources: &IdentifierSources,
    losses: &Losses<'_>,
    calls: &CallLookup,
    weights: &Weights<'_>,
) -> Vec<(usize, Need)> {
    let answers = path.iter().enumerate();
    let mut results: Vec<(&str, usize)> =
        answers.filter_map(|(at, message)| Some((message.answers.as_deref()?, at))).collect();
    results.sort_unstable();
    let mut needs = Vec::new();
    let mut known = EarlierMessages { gone: vec![0; sources.len()], ..EarlierMessages::default() };
    for (at, message) in path.iter().enumerate() {
        if let Some(call) = calls.call_at(message.position, message.role).filter(|_| is_speaker(message.role))
        {
            let asks = NeedSearch { path, sources, losses, results: &results, at, call };
            let fetched = asks.fetched_again(&known, weights);
            // A repeated call names its own path; that is not a second need.
            let quoted = asks.quoted(&mut known.gone, &fetched);
            needs.extend(fetched);
            needs.extend(quoted);
        }
        known.add(at, message);
    }
    needs
}

/// The messages before the current one.
#[derive(Default)]
struct EarlierMessages<'a> {
    /// The number of messages of each identifier that no later prompt has, from the first on.
    gone: Vec<u32>,
    /// The last call with a tool and arguments, and the message that made it.
    used: HashMap<(&'a str, &'a str), (usize, &'a ToolUse)>,
    /// The last message that wrote to a path, and the last one that wrote at all.
    written: HashMap<&'a str, usize>,
    last_write: Option<usize>,
}

impl<'a> EarlierMessages<'a> {
    fn add(&mut self, at: usize, message: &'a PathMessage) {
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
struct NeedSearch<'a> {
    path: &'a [Arc<PathMessage>],
    sources: &'a IdentifierSources,
    losses: &'a Losses<'a>,
    /// The calls that have results, each with the position of one, sorted.
    results: &'a [(&'a str, usize)],
    at: usize,
    call: usize,
}

impl NeedSearch<'_> {
    fn message(&self) -> &PathMessage {
        &self.path[self.at]
    }

    fn need(&self, loss: usize, kind: NeedKind, evidence: String) -> (usize, Need) {
        let distance = self.call - self.losses.all[loss].from_call;
        let entry = self.message().entry;
        (loss, Need { kind, entry, call: self.call, distance, tokens: Tokens::ZERO, cost: None, evidence })
    }

    /// Returns the repeated calls of an answer whose earlier results the prompt lacks.
    fn fetched_again(&self, known: &EarlierMessages<'_>, weights: &Weights<'_>) -> Vec<(usize, Need)> {
        let uses = self.message().uses.iter();
        uses.filter_map(|again| {
            let (caller, earlier) = *known.used.get(&(&*again.tool, &*again.arguments))?;
            let result = self.result_of(caller, &earlier.id)?;
            let loss = self.losses.at(&self.path[result], self.call)?;
            if known.is_written_since(caller, earlier) {
                return None;
            }
            let result = self.result_of(self.at, &again.id);
            let repeated = result.map_or(Tokens::ZERO, |at| (weights.tokens)(&self.path[at]));
            let (loss, need) = self.need(loss, NeedKind::FetchedAgain, again.arguments.to_string());
            let price = (weights.price)(self.message());
            let cost = price.map(|price| repetition_cost(again.tokens, repeated, &price));
            Some((loss, Need { tokens: again.tokens + repeated, cost, ..need }))
        })
        .collect()
    }

    /// Returns the position of the first result of a call after its caller.
    fn result_of(&self, caller: usize, id: &str) -> Option<usize> {
        let next = self.results.partition_point(|result| *result <= (id, caller));
        self.results.get(next).filter(|(call, _)| *call == id).map(|(_, at)| *at)
    }

    /// Returns the identifiers that only lost messages had, one for each loss.
    fn quoted(&self, gone: &mut [u32], fetched: &[(usize, Need)]) -> Vec<(usize, Need)> {
        let kind = if self.message().role == Role::User { NeedKind::AskedAgain } else { NeedKind::Quoted };
        let mut found: Vec<(usize, Need)> = Vec::new();
        for (identifier, name) in self.message().identifiers.iter().zip(&self.message().names) {
            let Some((nth, sources)) = self.sources.before(*identifier, self.at) else { continue };
            let Some(loss) = self.only_loss(sources, &mut gone[nth]) else { continue };
            let is_known = found.iter().chain(fetched).any(|(known, _)| *known == loss);
            if !is_known {
                found.push(self.need(loss, kind, name.to_string()));
            }
        }
        found
    }

    /// Returns the last loss among the sources of an identifier if the prompt shows none of them. `gone` counts those
    /// that no later prompt has.
    fn only_loss(&self, sources: &[u32], gone: &mut u32) -> Option<usize> {
        let message = |at: &u32| -> &PathMessage { &self.path[*at as usize] };
        while sources.get(*gone as usize).is_some_and(|at| self.losses.is_gone(message(at), self.call)) {
            *gone += 1;
        }
        if sources[*gone as usize..].iter().rev().any(|at| self.losses.is_shown(message(at), self.call)) {
            return None;
        }
        sources.iter().rev().find_map(|at| self.losses.at(message(at), self.call))
    }
}

/// Prices a repetition: the call is output, its result is prompt that the next call writes to the cache.
fn repetition_cost(call: Tokens, result: Tokens, price: &Price) -> f64 {
    let writes = price.cache_write > 0.0;
    let (write, input) = if writes { (result, Tokens::ZERO) } else { (Tokens::ZERO, result) };
    TokenSplit { read: Tokens::ZERO, write, input, output: call }.cost(price)
}

// One later need of a lost message.

/// The sign that a lost message was needed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NeedKind {
    /// The same call, with nothing written to its path since.
    FetchedAgain,
    /// The model used an identifier of it.
    Quoted,
    /// The person used an identifier of it.
    AskedAgain,
}

impl NeedKind {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FetchedAgain => "fetched-again",
            Self::Quoted => "quoted",
            Self::AskedAgain => "asked-again",
        }
    }

    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::FetchedAgain => "fetched again",
            Self::Quoted => "quoted",
            Self::AskedAgain => "asked for again",
        }
    }
}

/// One later need of a lost message.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    pub kind: NeedKind,
    /// The answer or question that needed it.
    pub entry: EntryIx,
    /// Index of the call.
    pub call: usize,
    /// Calls since the message was lost; 0 at the first call without it.
    pub distance: usize,
    /// Tokens of the repeated call and its result; 0 unless fetched again.
    pub tokens: Tokens,
    /// List price of these tokens in USD; `None` without a price.
    pub cost: Option<f64>,
    /// The identifier, or the arguments of the repeated call. May hold secrets.
    pub evidence: String,
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
