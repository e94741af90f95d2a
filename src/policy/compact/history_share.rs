//! Drops the oldest parts of a history that takes too large a share of the window before it is summarised (compaction
//! 5.8). The rest is paired again after each part, which can drop results and invent others.

use crate::js::{JsException, Value};
use crate::policy::compact::chunks::{
    DEFAULT_PARTS, at_least_one, normalized_parts, split_by_share, total_tokens,
};
use crate::policy::repair::{self, MissingResult, PairingShape, PlacedMessage, RepairRules, pair};
use crate::units::{Moment, Tokens};

/// Default share of the window for a history (compaction 5.8).
pub const DEFAULT_HISTORY_SHARE: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareSettings {
    /// The window in tokens.
    pub window: Tokens,
    /// The history's share of the window, usually 0.1 to 0.9.
    pub share: f64,
    /// Parts that the history is split into in each round; the gateway uses 2.
    pub parts: f64,
}

impl ShareSettings {
    /// The gateway's defaults for a window.
    pub fn new(window: Tokens) -> Self {
        Self { window, share: DEFAULT_HISTORY_SHARE, parts: DEFAULT_PARTS }
    }

    /// Returns the most tokens that the history may have; at least 1.
    pub fn budget_tokens(&self) -> Tokens {
        Tokens(at_least_one((self.window * self.share).floor().get()))
    }
}

/// A message, reduced to the inputs of the rule.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryMessage {
    pub shape: PairingShape,
    /// Estimated tokens.
    pub tokens: Tokens,
}

/// A history within its budget, or as close as dropping whole parts allows.
#[derive(Debug, Clone, PartialEq)]
pub struct PrunedHistory {
    /// Tokens of the whole history.
    pub total_tokens: Tokens,
    /// Tokens that the history may have.
    pub budget_tokens: Tokens,
    /// Kept messages, as indexes of the input.
    pub retained: Vec<PlacedMessage>,
    /// Tokens of the kept messages, including invented results.
    pub retained_tokens: Tokens,
    /// Messages in the dropped parts, oldest first. Orphans that pairing removed are missing here, so their content
    /// reaches no summary.
    pub dropped: Vec<PlacedMessage>,
    /// Tokens of the dropped parts.
    pub dropped_tokens: Tokens,
    /// Rounds; each drops one part.
    pub dropped_chunks: usize,
    /// Messages in the dropped parts plus removed orphans.
    pub dropped_message_count: usize,
}

impl PrunedHistory {
    /// Builds the kept messages; invented results get the time `now_ms`.
    pub fn retained_messages(&self, messages: &[Value], now_ms: Moment) -> Vec<Value> {
        repair::apply_pairing(messages, &self.retained, now_ms)
    }

    /// Builds the messages of the dropped parts.
    pub fn dropped_messages(&self, messages: &[Value], now_ms: Moment) -> Vec<Value> {
        repair::apply_pairing(messages, &self.dropped, now_ms)
    }
}

/// Drops the oldest parts of a history while it is over its budget; the last part always stays. Errors when a message
/// cannot be estimated.
pub fn prune_by_share(
    messages: &[Result<HistoryMessage, JsException>],
    settings: &ShareSettings,
) -> Result<PrunedHistory, JsException> {
    let messages: Vec<HistoryMessage> = messages.iter().cloned().collect::<Result<_, _>>()?;
    let mut run = ShareRun::new(messages, settings);
    let parts = normalized_parts(settings.parts, run.order.len()) as f64;
    while !run.order.is_empty() && run.result.retained_tokens > run.result.budget_tokens {
        let chunks = split_by_share(&run.tokens(), parts);
        let [first, _, ..] = chunks.as_slice() else { break };
        run.drop_first(first.len());
        run.repair();
    }
    Ok(run.finish())
}

/// A message of some round and its relation to the input.
struct PooledMessage {
    placed: PlacedMessage,
    message: HistoryMessage,
}

struct ShareRun {
    /// Every message that was in the list in any round.
    pool: Vec<PooledMessage>,
    /// The list of this round, as indexes of the pool.
    order: Vec<usize>,
    result: PrunedHistory,
}

impl ShareRun {
    fn new(messages: Vec<HistoryMessage>, settings: &ShareSettings) -> Self {
        let total_tokens = messages.iter().fold(0.0, |sum, message| sum + message.tokens.get());
        let item = |(at, message)| PooledMessage { placed: PlacedMessage::Original(at), message };
        let result = PrunedHistory {
            total_tokens: Tokens(total_tokens),
            budget_tokens: settings.budget_tokens(),
            retained: Vec::new(),
            retained_tokens: Tokens(total_tokens),
            dropped: Vec::new(),
            dropped_tokens: Tokens::ZERO,
            dropped_chunks: 0,
            dropped_message_count: 0,
        };
        let order = (0..messages.len()).collect();
        Self { pool: messages.into_iter().enumerate().map(item).collect(), order, result }
    }

    fn tokens(&self) -> Vec<Tokens> {
        self.order.iter().map(|at| self.pool[*at].message.tokens).collect()
    }

    fn drop_first(&mut self, count: usize) {
        let kept = self.order.split_off(count);
        for at in std::mem::replace(&mut self.order, kept) {
            let item = &self.pool[at];
            self.result.dropped_tokens += item.message.tokens;
            self.result.dropped.push(item.placed.clone());
        }
        self.result.dropped_chunks += 1;
        self.result.dropped_message_count += count;
    }

    fn repair(&mut self) {
        let shapes: Vec<&PairingShape> = self.order.iter().map(|at| &self.pool[*at].message.shape).collect();
        let pairing = pair(&shapes, RepairRules::default());
        self.result.dropped_message_count += pairing.orphans.len();
        let order = std::mem::take(&mut self.order);
        for placed in pairing.order {
            let at = self.pool_index(placed, &order);
            self.order.push(at);
        }
        self.result.retained_tokens = total_tokens(&self.tokens());
    }

    /// Returns the pool index of a message that pairing placed; adds renamed and invented ones.
    fn pool_index(&mut self, placed: PlacedMessage, order: &[usize]) -> usize {
        let item = match placed {
            PlacedMessage::Original(at) => return order[at],
            PlacedMessage::Renamed(at, name) => self.pool[order[at]].renamed(name),
            PlacedMessage::Synthetic(missing) => PooledMessage::added(missing),
        };
        self.pool.push(item);
        self.pool.len() - 1
    }

    fn finish(mut self) -> PrunedHistory {
        self.result.retained = self.order.iter().map(|at| self.pool[*at].placed.clone()).collect();
        self.result
    }
}

impl PooledMessage {
    /// Renames a result. Its tokens stay, because the estimate ignores tool names (compaction 1.5).
    fn renamed(&self, name: crate::js::JsString) -> Self {
        let PairingShape::Result { id, invented, .. } = &self.message.shape else {
            return Self { placed: self.placed.clone(), message: self.message.clone() };
        };
        let shape = PairingShape::Result { id: id.clone(), name: Some(name.clone()), invented: *invented };
        let placed = match &self.placed {
            PlacedMessage::Original(at) | PlacedMessage::Renamed(at, _) => PlacedMessage::Renamed(*at, name),
            PlacedMessage::Synthetic(missing) => {
                PlacedMessage::Synthetic(MissingResult { name, ..missing.clone() })
            }
        };
        Self { placed, message: HistoryMessage { shape, tokens: self.message.tokens } }
    }

    fn added(missing: MissingResult) -> Self {
        let message = HistoryMessage { shape: missing.shape(), tokens: missing.tokens() };
        Self { placed: PlacedMessage::Synthetic(missing), message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::repair::{PairedCall, StubMark};

    fn user(tokens: Tokens) -> HistoryMessage {
        HistoryMessage { shape: PairingShape::Other, tokens }
    }

    fn call(id: &str, tokens: Tokens) -> HistoryMessage {
        let call = PairedCall { id: id.into(), name: Some("exec".into()) };
        HistoryMessage { shape: PairingShape::Assistant { calls: vec![call], failed: false }, tokens }
    }

    fn result(id: &str, tokens: Tokens) -> HistoryMessage {
        HistoryMessage {
            shape: PairingShape::Result {
                id: Some(id.into()),
                name: Some("exec".into()),
                invented: StubMark::No,
            },
            tokens,
        }
    }

    fn shared(messages: Vec<HistoryMessage>, window: Tokens) -> PrunedHistory {
        let messages: Vec<_> = messages.into_iter().map(Ok).collect();
        prune_by_share(&messages, &ShareSettings::new(window)).expect("measurable")
    }

    #[test]
    fn a_history_within_its_budget_is_kept_unchanged() {
        let shared = shared(vec![result("x", Tokens(50.0)), user(Tokens(50.0))], Tokens(200.0));
        assert_eq!(shared.retained, [PlacedMessage::Original(0), PlacedMessage::Original(1)]);
        assert_eq!((shared.budget_tokens, shared.dropped_chunks), (Tokens(100.0), 0));
    }

    #[test]
    fn halves_are_dropped_until_the_rest_fits() {
        let shared = shared(vec![user(Tokens(50.0)); 8], Tokens(200.0));
        assert_eq!(shared.retained, [PlacedMessage::Original(6), PlacedMessage::Original(7)]);
        assert_eq!(
            (shared.dropped_chunks, shared.dropped_message_count, shared.dropped_tokens),
            (2, 6, Tokens(300.0))
        );
    }

    #[test]
    fn a_single_message_is_never_dropped() {
        assert_eq!(shared(vec![user(Tokens(9e9))], Tokens(200.0)).retained, [PlacedMessage::Original(0)]);
    }

    #[test]
    fn an_orphaned_result_is_counted_but_not_listed() {
        let shared = shared(
            vec![
                user(Tokens(100.0)),
                call("x", Tokens(100.0)),
                result("x", Tokens(100.0)),
                user(Tokens(50.0)),
            ],
            Tokens(200.0),
        );
        assert_eq!(shared.dropped, [PlacedMessage::Original(0), PlacedMessage::Original(1)]);
        assert_eq!(shared.retained, [PlacedMessage::Original(3)]);
        assert_eq!(
            (shared.dropped_message_count, shared.dropped_tokens, shared.retained_tokens),
            (3, Tokens(200.0), Tokens(50.0))
        );
    }

    #[test]
    fn an_invented_result_counts_towards_the_budget() {
        let shared =
            shared(vec![user(Tokens(300.0)), call("x", Tokens(10.0)), user(Tokens(10.0))], Tokens(200.0));
        assert_eq!(shared.retained.len(), 3);
        assert_eq!(shared.retained_tokens, Tokens(20.0 + 27.0));
    }

    #[test]
    fn a_nan_window_keeps_everything() {
        let shared = shared(vec![user(Tokens(50.0)); 4], Tokens(f64::NAN));
        assert!(shared.budget_tokens.is_nan() && shared.retained.len() == 4);
    }

    #[test]
    fn a_message_that_cannot_be_estimated_throws() {
        assert_eq!(prune_by_share(&[Err(JsException)], &ShareSettings::new(Tokens(1.0))), Err(JsException));
    }
}
