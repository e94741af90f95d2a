//! A history that takes too large a share of the window loses its oldest parts before it is summarised
//! (compaction 5.8). After each part the rest is paired again, so results may go and others come.

use crate::js::{Throws, Value};
use crate::policy::compact::chunks::{DEFAULT_PARTS, at_least_one, normalized_parts, split_by_share, total};
use crate::policy::repair::{self, MissingResult, Placed, Shape, pair};

/// Share of the window a history may take unless told otherwise (compaction 5.8).
pub const DEFAULT_HISTORY_SHARE: f64 = 0.5;

/// How much of the window a history may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareSettings {
    /// The window, in tokens.
    pub window: f64,
    /// The share of it, usually 0.1 to 0.9.
    pub share: f64,
    /// Parts the history is split into on each round; the gateway's own are 2.
    pub parts: f64,
}

impl ShareSettings {
    /// The gateway's own settings for a window.
    pub fn new(window: f64) -> Self {
        Self { window, share: DEFAULT_HISTORY_SHARE, parts: DEFAULT_PARTS }
    }

    /// Tokens the history may have; at least 1.
    pub fn budget_tokens(&self) -> f64 {
        at_least_one((self.window * self.share).floor())
    }
}

/// What the rule looks at of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedMessage {
    /// What it is to the pairing.
    pub shape: Shape,
    /// Its estimated tokens.
    pub tokens: f64,
}

/// A history within its budget, or as near to it as whole parts allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Shared {
    /// Tokens of the whole history.
    pub total_tokens: f64,
    /// Tokens it may have.
    pub budget_tokens: f64,
    /// What is kept, in terms of the messages given.
    pub kept: Vec<Placed>,
    /// Tokens of what is kept, invented results included.
    pub kept_tokens: f64,
    /// What was dropped part by part, in order. Orphans that pairing removed are not among it: their
    /// content is in no summary.
    pub dropped: Vec<Placed>,
    /// Tokens of what was dropped part by part.
    pub dropped_tokens: f64,
    /// Rounds, each of which dropped one part.
    pub dropped_chunks: usize,
    /// Messages in the parts, and orphans removed.
    pub dropped_messages: usize,
}

impl Shared {
    /// The messages kept; `now_ms` is when missing results are invented.
    pub fn kept_messages(&self, messages: &[Value], now_ms: f64) -> Vec<Value> {
        repair::apply(messages, &self.kept, now_ms)
    }

    /// The messages dropped part by part.
    pub fn dropped_messages(&self, messages: &[Value], now_ms: f64) -> Vec<Value> {
        repair::apply(messages, &self.dropped, now_ms)
    }
}

/// Drops the oldest parts of a history while it is over its budget. A single part is never dropped.
/// Throws when a message cannot be estimated.
pub fn prune_by_share(
    messages: &[Result<SharedMessage, Throws>],
    settings: &ShareSettings,
) -> Result<Shared, Throws> {
    let messages: Vec<SharedMessage> = messages.iter().cloned().collect::<Result<_, _>>()?;
    let mut run = Run::new(messages, settings);
    let parts = normalized_parts(settings.parts, run.order.len()) as f64;
    while !run.order.is_empty() && run.shared.kept_tokens > run.shared.budget_tokens {
        let chunks = split_by_share(&run.tokens(), parts);
        let [first, _, ..] = chunks.as_slice() else { break };
        run.drop_first(first.len());
        run.repair();
    }
    Ok(run.finish())
}

/// A message of some round, with what became of it since the beginning.
struct Item {
    placed: Placed,
    message: SharedMessage,
}

struct Run {
    /// Every message that ever was in the list.
    pool: Vec<Item>,
    /// The list of this round, as indexes of the pool.
    order: Vec<usize>,
    shared: Shared,
}

impl Run {
    fn new(messages: Vec<SharedMessage>, settings: &ShareSettings) -> Self {
        let total_tokens = messages.iter().fold(0.0, |sum, message| sum + message.tokens);
        let item = |(at, message)| Item { placed: Placed::Kept(at), message };
        let shared = Shared {
            total_tokens,
            budget_tokens: settings.budget_tokens(),
            kept: Vec::new(),
            kept_tokens: total_tokens,
            dropped: Vec::new(),
            dropped_tokens: 0.0,
            dropped_chunks: 0,
            dropped_messages: 0,
        };
        let order = (0..messages.len()).collect();
        Self { pool: messages.into_iter().enumerate().map(item).collect(), order, shared }
    }

    /// Tokens of the messages of this round.
    fn tokens(&self) -> Vec<f64> {
        self.order.iter().map(|at| self.pool[*at].message.tokens).collect()
    }

    fn drop_first(&mut self, count: usize) {
        let kept = self.order.split_off(count);
        for at in std::mem::replace(&mut self.order, kept) {
            let item = &self.pool[at];
            self.shared.dropped_tokens += item.message.tokens;
            self.shared.dropped.push(item.placed.clone());
        }
        self.shared.dropped_chunks += 1;
        self.shared.dropped_messages += count;
    }

    fn repair(&mut self) {
        let shapes: Vec<&Shape> = self.order.iter().map(|at| &self.pool[*at].message.shape).collect();
        let pairing = pair(&shapes);
        self.shared.dropped_messages += pairing.orphans.len();
        let order = std::mem::take(&mut self.order);
        for placed in pairing.order {
            let at = self.pooled(placed, &order);
            self.order.push(at);
        }
        self.shared.kept_tokens = total(&self.tokens());
    }

    /// The index in the pool of a message that pairing placed; renamed and invented ones are new there.
    fn pooled(&mut self, placed: Placed, order: &[usize]) -> usize {
        let item = match placed {
            Placed::Kept(at) => return order[at],
            Placed::Renamed(at, name) => self.pool[order[at]].renamed(name),
            Placed::Added(missing) => Item::added(missing),
        };
        self.pool.push(item);
        self.pool.len() - 1
    }

    fn finish(mut self) -> Shared {
        self.shared.kept = self.order.iter().map(|at| self.pool[*at].placed.clone()).collect();
        self.shared
    }
}

impl Item {
    /// A tool's name counts nothing in an estimate: the tokens stay (compaction 1.5).
    fn renamed(&self, name: crate::js::JsString) -> Self {
        let Shape::Result { id, .. } = &self.message.shape else {
            return Self { placed: self.placed.clone(), message: self.message.clone() };
        };
        let shape = Shape::Result { id: id.clone(), name: Some(name.clone()) };
        let placed = match &self.placed {
            Placed::Kept(at) | Placed::Renamed(at, _) => Placed::Renamed(*at, name),
            Placed::Added(missing) => Placed::Added(MissingResult { id: missing.id.clone(), name }),
        };
        Self { placed, message: SharedMessage { shape, tokens: self.message.tokens } }
    }

    fn added(missing: MissingResult) -> Self {
        let message = SharedMessage { shape: missing.shape(), tokens: MissingResult::tokens() };
        Self { placed: Placed::Added(missing), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::repair::Call;

    fn user(tokens: f64) -> SharedMessage {
        SharedMessage { shape: Shape::Other, tokens }
    }

    fn call(id: &str, tokens: f64) -> SharedMessage {
        let call = Call { id: id.into(), name: Some("exec".into()) };
        SharedMessage { shape: Shape::Assistant(vec![call]), tokens }
    }

    fn result(id: &str, tokens: f64) -> SharedMessage {
        SharedMessage { shape: Shape::Result { id: Some(id.into()), name: Some("exec".into()) }, tokens }
    }

    fn shared(messages: Vec<SharedMessage>, window: f64) -> Shared {
        let messages: Vec<_> = messages.into_iter().map(Ok).collect();
        prune_by_share(&messages, &ShareSettings::new(window)).expect("measurable")
    }

    #[test]
    fn a_history_within_its_budget_stays_as_it_is() {
        let shared = shared(vec![result("x", 50.0), user(50.0)], 200.0);
        assert_eq!(shared.kept, [Placed::Kept(0), Placed::Kept(1)]);
        assert_eq!((shared.budget_tokens, shared.dropped_chunks), (100.0, 0));
    }

    #[test]
    fn halves_are_dropped_until_the_rest_fits() {
        let shared = shared(vec![user(50.0); 8], 200.0);
        assert_eq!(shared.kept, [Placed::Kept(6), Placed::Kept(7)]);
        assert_eq!((shared.dropped_chunks, shared.dropped_messages, shared.dropped_tokens), (2, 6, 300.0));
    }

    #[test]
    fn a_single_message_is_never_dropped() {
        assert_eq!(shared(vec![user(9e9)], 200.0).kept, [Placed::Kept(0)]);
    }

    #[test]
    fn an_orphan_left_behind_is_counted_but_is_in_no_list() {
        let shared = shared(vec![user(100.0), call("x", 100.0), result("x", 100.0), user(50.0)], 200.0);
        assert_eq!(shared.dropped, [Placed::Kept(0), Placed::Kept(1)]);
        assert_eq!(shared.kept, [Placed::Kept(3)]);
        assert_eq!((shared.dropped_messages, shared.dropped_tokens, shared.kept_tokens), (3, 200.0, 50.0));
    }

    #[test]
    fn an_invented_result_counts_towards_the_budget() {
        let shared = shared(vec![user(300.0), call("x", 10.0), user(10.0)], 200.0);
        assert_eq!(shared.kept.len(), 3);
        assert_eq!(shared.kept_tokens, 20.0 + MissingResult::tokens());
    }

    #[test]
    fn a_window_that_is_no_number_keeps_everything() {
        let shared = shared(vec![user(50.0); 4], f64::NAN);
        assert!(shared.budget_tokens.is_nan() && shared.kept.len() == 4);
    }

    #[test]
    fn a_message_that_cannot_be_estimated_throws() {
        assert_eq!(prune_by_share(&[Err(Throws)], &ShareSettings::new(1.0)), Err(Throws));
    }
}
