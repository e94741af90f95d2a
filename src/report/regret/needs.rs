//! Finds the later needs of lost messages, from identifiers and tool calls alone.

use std::collections::HashMap;

use super::need::{Need, NeedKind};
use super::path_texts::{PathMessage, ToolUse};
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
        own.iter().copied().find(|at| self.all[*at].covers(call))
    }

    /// Whether the prompt of a call shows the whole message.
    fn is_shown(&self, message: &PathMessage, call: usize) -> bool {
        let is_summary = message.role == Role::CompactionSummary;
        if is_summary { self.has_summaries } else { self.at(message, call).is_none() }
    }
}

/// Returns each need with the index of its loss, in the order of the path. `price_of` is the list price of an answer's
/// model; `has_summaries` says whether the recorded summaries are in the prompts.
pub(super) fn find_needs(
    path: &[PathMessage],
    losses: &[ContextLoss],
    calls: &CallLookup,
    has_summaries: bool,
    price_of: &dyn Fn(&PathMessage) -> Option<Price>,
) -> Vec<(usize, Need)> {
    let losses = Losses::new(losses, has_summaries);
    let mut needs = Vec::new();
    let mut sources: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut used: HashMap<(&str, &str), (usize, &ToolUse)> = HashMap::new();
    for (at, message) in path.iter().enumerate() {
        let speaks = matches!(message.role, Role::Assistant | Role::User);
        if let Some(call) = calls.call_at(message.position, message.role).filter(|_| speaks) {
            let asks = Asking { path, losses: &losses, at, call };
            let fetched = asks.fetched_again(&used, price_of);
            // A repeated call names its own path; that is no second need.
            let quoted = asks.quoted(&sources, &fetched);
            needs.extend(fetched);
            needs.extend(quoted);
        }
        for identifier in &message.identifiers {
            sources.entry(identifier).or_default().push(at);
        }
        used.extend(message.uses.iter().map(|own| ((own.tool.as_str(), own.arguments.as_str()), (at, own))));
    }
    needs
}

/// One answer or question, and the call to which it belongs.
struct Asking<'a> {
    path: &'a [PathMessage],
    losses: &'a Losses<'a>,
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
    fn fetched_again(
        &self,
        used: &HashMap<(&str, &str), (usize, &ToolUse)>,
        price_of: &dyn Fn(&PathMessage) -> Option<Price>,
    ) -> Vec<(usize, Need)> {
        let uses = self.message().uses.iter();
        uses.filter_map(|again| {
            let (caller, earlier) = *used.get(&(again.tool.as_str(), again.arguments.as_str()))?;
            let result = self.result_of(caller, &earlier.id)?;
            let loss = self.losses.at(&self.path[result], self.call)?;
            if self.is_written_between(caller, earlier) {
                return None;
            }
            let repeated = self.result_of(self.at, &again.id).map_or(0.0, |at| self.path[at].tokens);
            let (loss, need) = self.need(loss, NeedKind::FetchedAgain, again.arguments.clone());
            let cost = price_of(self.message()).map(|price| repetition_cost(again.tokens, repeated, &price));
            Some((loss, Need { tokens: again.tokens + repeated, cost, ..need }))
        })
        .collect()
    }

    /// Returns the position of a call's result, before the next answers.
    fn result_of(&self, caller: usize, id: &str) -> Option<usize> {
        let behind = self.path.iter().enumerate().skip(caller + 1);
        behind.into_iter().find(|(_, message)| message.answers.as_deref() == Some(id)).map(|(at, _)| at)
    }

    /// Whether a file tool wrote to the path of a call since, or to any file if the call runs a command.
    fn is_written_between(&self, caller: usize, earlier: &ToolUse) -> bool {
        let mut between = self.path[caller..self.at].iter().flat_map(|message| &message.uses);
        between.any(|call| {
            let is_same = earlier.path.is_some() && call.path == earlier.path;
            call.writes() && (is_same || earlier.runs_command)
        })
    }

    /// Returns the identifiers that only lost messages had, one for each loss.
    fn quoted(&self, sources: &HashMap<&str, Vec<usize>>, fetched: &[(usize, Need)]) -> Vec<(usize, Need)> {
        let kind = if self.message().role == Role::User { NeedKind::AskedAgain } else { NeedKind::Quoted };
        let mut found: Vec<(usize, Need)> = Vec::new();
        for identifier in &self.message().identifiers {
            let Some(earlier) = sources.get(identifier.as_str()) else { continue };
            if earlier.iter().any(|at| self.losses.is_shown(&self.path[*at], self.call)) {
                continue;
            }
            let loss = earlier.iter().rev().find_map(|at| self.losses.at(&self.path[*at], self.call));
            let Some(loss) = loss else { continue };
            let is_known = found.iter().chain(fetched).any(|(known, _)| *known == loss);
            if !is_known {
                found.push(self.need(loss, kind, identifier.clone()));
            }
        }
        found
    }
}

/// Prices a repetition: the call is output, its result is prompt that the next call writes to the cache.
fn repetition_cost(call: f64, result: f64, price: &Price) -> f64 {
    let writes = price.cache_write > 0.0;
    let (write, input) = if writes { (result, 0.0) } else { (0.0, result) };
    TokenSplit { read: 0.0, write, input, output: call }.cost(price)
}
