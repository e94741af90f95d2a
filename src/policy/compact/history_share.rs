//! Drops the oldest parts of a history that takes too large a share of the window before it is summarised (compaction
//! 5.8). The rest is paired again after each part, which can drop results and invent others.

use std::ops::Range;

use crate::js::{JsException, Value};
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

// Divides messages for summarising: by share of the tokens, by a maximum, or by the window (compaction 5.9, 5.10,
// 5.12, 5.14). A chunk may end between a tool call and its result. Tokens are estimates per message. NaN passes
// through as in JavaScript, where every comparison with NaN is false.

/// Factor on every estimate, because estimates run low (compaction 1.14).
pub const SAFETY_MARGIN: f64 = 1.2;
/// Share of the window that one summary call may take (compaction 5.9).
pub const BASE_CHUNK_RATIO: f64 = 0.4;
/// Smallest share of the window for one summary call; large messages reduce it to this.
pub const MIN_CHUNK_RATIO: f64 = 0.15;
/// Tokens reserved for the instructions of a summary call (compaction 5.9).
pub const SUMMARY_OVERHEAD_TOKENS: f64 = 4096.0;
/// Default number of parts of a split history (compaction 5.8, 5.11).
pub const DEFAULT_PARTS: f64 = 2.0;

/// Average share of the window above which messages count as large (compaction 5.9).
const LARGE_SHARE: f64 = 0.1;
/// Share of the window above which a message is left out of the second attempt (compaction 5.14).
const OVERSIZED_SHARE: f64 = 0.5;

/// Returns how many parts `count` messages are split into: `parts`, but at least 1 and at most `count`.
pub fn normalized_parts(parts: f64, count: usize) -> usize {
    if !parts.is_finite() || parts <= 1.0 {
        return 1;
    }
    // A float-to-integer cast saturates.
    (parts as usize).clamp(1, count.max(1))
}

/// Splits messages into parts of about equal tokens (compaction 5.10). The last part takes the rest. There may be fewer
/// than `parts`; an empty list has none.
pub fn split_by_share(tokens: &[Tokens], parts: f64) -> Vec<Range<usize>> {
    let parts = normalized_parts(parts, tokens.len());
    let target = total_tokens(tokens) / parts as f64;
    let mut chunks = ChunkBuilder::default();
    for (at, tokens) in tokens.iter().enumerate() {
        if chunks.closed.len() + 1 < parts && chunks.tokens + *tokens > target {
            chunks.close_at(at);
        }
        chunks.tokens += *tokens;
    }
    chunks.finish(tokens.len())
}

/// Splits messages into chunks of at most `max_tokens` divided by the safety margin (compaction 5.12). A larger message
/// gets a chunk to itself.
pub fn split_by_max(tokens: &[Tokens], max_tokens: Tokens) -> Vec<Range<usize>> {
    let max = at_least_one((max_tokens / SAFETY_MARGIN).floor().get());
    let mut chunks = ChunkBuilder::default();
    for (at, tokens) in tokens.iter().enumerate() {
        if chunks.tokens + *tokens > Tokens(max) {
            chunks.close_at(at);
        }
        chunks.tokens += *tokens;
        if *tokens > Tokens(max) {
            chunks.close_at(at + 1);
        }
    }
    chunks.finish(tokens.len())
}

/// Sums the tokens; 0 for an empty list.
pub fn total_tokens(tokens: &[Tokens]) -> Tokens {
    // `Iterator::sum` returns -0 for an empty list.
    tokens.iter().fold(Tokens::ZERO, |sum, tokens| sum + *tokens)
}

#[derive(Default)]
struct ChunkBuilder {
    closed: Vec<Range<usize>>,
    start: usize,
    tokens: Tokens,
}

impl ChunkBuilder {
    /// Closes the open chunk before `end`; an empty chunk stays open.
    fn close_at(&mut self, end: usize) {
        if end > self.start {
            self.closed.push(self.start..end);
            self.start = end;
            self.tokens = Tokens::ZERO;
        }
    }

    fn finish(mut self, end: usize) -> Vec<Range<usize>> {
        self.close_at(end);
        self.closed
    }
}

/// Returns the share of the window for one summary call of `count` messages (compaction 5.9). Large messages reduce it,
/// and it jumps from 0.4 to about 0.2.
pub fn adaptive_ratio(total_tokens: Tokens, count: usize, window: Tokens) -> f64 {
    if count == 0 {
        return BASE_CHUNK_RATIO;
    }
    // The order of these operations is part of the rule.
    let share = total_tokens / count as f64 * SAFETY_MARGIN / window;
    if share > LARGE_SHARE {
        let reduction = (share * 2.0).min(BASE_CHUNK_RATIO - MIN_CHUNK_RATIO);
        (BASE_CHUNK_RATIO - reduction).max(MIN_CHUNK_RATIO)
    } else {
        BASE_CHUNK_RATIO
    }
}

/// Returns the most message tokens of one summary call (compaction 5.9); at least 1.
pub fn max_chunk_tokens(window: Tokens, ratio: f64) -> Tokens {
    Tokens(at_least_one(((window * ratio).floor() - Tokens(SUMMARY_OVERHEAD_TOKENS)).get()))
}

/// Whether a message is left out after summarising all of them failed (compaction 5.14).
pub fn is_oversized(tokens: Tokens, window: Tokens) -> bool {
    tokens * SAFETY_MARGIN > window * OVERSIZED_SHARE
}

/// Acts as `Math.max(1, number)`: NaN stays NaN.
pub(super) fn at_least_one(number: f64) -> f64 {
    if number.is_nan() { number } else { number.max(1.0) }
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

#[cfg(test)]
mod chunks_tests {
    use super::*;

    /// Returns the lengths of the parts.
    fn share(tokens: &[Tokens], parts: f64) -> Vec<usize> {
        split_by_share(tokens, parts).iter().map(ExactSizeIterator::len).collect()
    }

    fn max(tokens: &[Tokens], max: f64) -> Vec<usize> {
        split_by_max(tokens, Tokens(max)).iter().map(ExactSizeIterator::len).collect()
    }

    #[test]
    fn parts_have_about_equal_tokens_and_the_last_takes_the_rest() {
        assert_eq!(share(&[Tokens(5.0); 4], 2.0), [2, 2]);
        assert_eq!(share(&[Tokens(100.0), Tokens(1.0), Tokens(1.0)], 2.0), [1, 2]);
        assert_eq!(share(&[Tokens(1.0), Tokens(1.0), Tokens(100.0)], 2.0), [2, 1]);
        assert_eq!(share(&[Tokens::ZERO; 3], 2.0), [3]);
        assert_eq!(share(&[], 2.0), [] as [usize; 0]);
        assert_eq!(share(&[Tokens(f64::NAN), Tokens(1.0)], 2.0), [2]);
    }

    #[test]
    fn invalid_part_counts_are_corrected() {
        for parts in [f64::NAN, f64::INFINITY, 0.0, -3.0, 1.0] {
            assert_eq!(normalized_parts(parts, 9), 1, "{parts}");
        }
        assert_eq!(
            (normalized_parts(2.9, 9), normalized_parts(50.0, 3), normalized_parts(5.0, 0)),
            (2, 3, 1)
        );
        assert_eq!(normalized_parts(1e300, 3), 3);
    }

    #[test]
    fn a_chunk_is_at_most_the_maximum_less_the_margin_or_one_large_message() {
        assert_eq!(max(&[Tokens(50.0), Tokens(50.0), Tokens(50.0)], 120.0), [2, 1]);
        assert_eq!(max(&[Tokens(50.0), Tokens(50.0), Tokens(50.0)], 119.0), [1, 1, 1]);
        assert_eq!(max(&[Tokens(1.0), Tokens(900.0), Tokens(1.0), Tokens(1.0)], 120.0), [1, 1, 2]);
        assert_eq!(max(&[Tokens::ZERO, Tokens(1.0), Tokens(1.0)], -5.0), [2, 1]);
        assert_eq!(max(&[], 10.0), [] as [usize; 0]);
    }

    #[test]
    fn the_ratio_falls_with_large_messages() {
        assert_eq!(adaptive_ratio(Tokens::ZERO, 0, Tokens(1000.0)), 0.4);
        assert_eq!(adaptive_ratio(Tokens(100.0), 10, Tokens(1000.0)), 0.4);
        assert_eq!(adaptive_ratio(Tokens(1000.0), 10, Tokens(1000.0)), 0.4 - 0.24);
        assert_eq!(adaptive_ratio(Tokens(1e9), 10, Tokens(1000.0)), 0.150_000_000_000_000_02);
    }

    #[test]
    fn a_window_of_0_divides_by_zero() {
        assert_eq!(adaptive_ratio(Tokens(5.0), 1, Tokens::ZERO), 0.150_000_000_000_000_02);
        assert_eq!(adaptive_ratio(Tokens::ZERO, 1, Tokens::ZERO), 0.4);
        assert_eq!(adaptive_ratio(Tokens(f64::NAN), 1, Tokens::ZERO), 0.4);
    }

    #[test]
    fn a_call_leaves_room_for_its_instructions() {
        assert_eq!(max_chunk_tokens(Tokens(200_000.0), 0.4), Tokens(75_904.0));
        assert_eq!(max_chunk_tokens(Tokens(10_240.0), 0.4), Tokens(1.0));
        assert!(max_chunk_tokens(Tokens(f64::NAN), 0.4).is_nan());
    }

    #[test]
    fn a_message_is_oversized_strictly_above_half_of_the_window() {
        assert!(!is_oversized(Tokens(500.0), Tokens(1200.0)) && is_oversized(Tokens(501.0), Tokens(1200.0)));
    }
}
