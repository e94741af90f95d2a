//! A model of the provider's prompt cache: the prefix of a prompt that is read from the cache, the rest that is
//! written, and the cost of the call (compaction 10.8–10.11). It does not model evictions before the retention ends.

use crate::gateway::models::Price;
use crate::gateway::retention::Retention;
use crate::store::entry::Usage;
use crate::units::{Millis, Moment, Tokens};

/// Number of remembered prompts: a pruned prompt and the unpruned one before it may both be cached.
const MAX_PROMPTS: usize = 4;

/// The tokens of one call by price class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenSplit {
    /// Prompt tokens read from the cache.
    pub read: Tokens,
    /// Prompt tokens written to the cache.
    pub write: Tokens,
    /// Prompt tokens neither read from the cache nor written to it.
    pub input: Tokens,
    /// Tokens of the answer.
    pub output: Tokens,
}

impl TokenSplit {
    /// Whether there is nothing to pay for.
    pub fn is_zero(&self) -> bool {
        [self.read, self.write, self.input, self.output].iter().all(|tokens| *tokens == Tokens::ZERO)
    }

    /// Splits a request of `request` tokens, of which the first `reusable` are cached and the last `uncached` are after
    /// the last breakpoint (compaction 10.11). Without a write price no tokens count as written; without a read price
    /// the provider sells no cache.
    pub fn for_request(
        request: Tokens,
        reusable: Tokens,
        uncached: Tokens,
        output: Tokens,
        price: Option<&Price>,
    ) -> Self {
        let (reads, writes) =
            price.map_or((true, true), |price| (price.cache_read > 0.0, price.cache_write > 0.0));
        let read = if reads { reusable.clamp(Tokens::ZERO, request.max(Tokens::ZERO)) } else { Tokens::ZERO };
        let rest = request - read;
        let input = if reads && writes { uncached.clamp(Tokens::ZERO, rest.max(Tokens::ZERO)) } else { rest };
        Self { read, write: rest - input, input, output }
    }

    /// Takes the provider's counts; NaN and infinite parts count as 0.
    pub fn from_usage(usage: &Usage) -> Self {
        let known = |tokens: Tokens| if tokens.is_finite() { tokens.max(Tokens::ZERO) } else { Tokens::ZERO };
        Self {
            read: known(usage.cache_read),
            write: known(usage.cache_write),
            input: known(usage.input),
            output: known(usage.output),
        }
    }

    /// Returns the cost in USD at the rates for a prompt of this size, summed in the gateway's order (compaction 10.2).
    pub fn cost(&self, price: &Price) -> f64 {
        let price = price.at((self.input + self.read + self.write).get());
        // Without a write price, writing costs as much as input.
        let write = if price.cache_write > 0.0 { price.cache_write } else { price.input };
        ((self.input * price.input
            + self.output * price.output
            + self.read * price.cache_read
            + self.write * write)
            / 1e6)
            .get()
    }
}

#[derive(Debug, Clone, PartialEq)]
struct CachedPrompt<M, E> {
    sent_at: Moment,
    key: M,
    /// Number of its messages.
    len: usize,
    /// Number of its first messages that have not changed since.
    valid_len: usize,
    edits: E,
}

/// The prompts that a provider still remembers. `M` is the key of a prefix besides its text (model and thinking level);
/// `E` describes the edits of its messages.
#[derive(Debug, Clone)]
pub struct PrefixCache<M, E> {
    retention_ms: Millis,
    prompts: Vec<CachedPrompt<M, E>>,
}

/// Creates an empty cache with a retention of 0.
impl<M, E> Default for PrefixCache<M, E> {
    fn default() -> Self {
        Self { retention_ms: Millis::ZERO, prompts: Vec::new() }
    }
}

impl<M: PartialEq, E> PrefixCache<M, E> {
    pub fn new(retention: Retention) -> Self {
        Self { retention_ms: retention.duration(), prompts: Vec::new() }
    }

    /// Limits all cached prompts to the messages before `first`, because the list changed from there on.
    pub fn invalidate_from(&mut self, first: usize) {
        for prompt in &mut self.prompts {
            prompt.valid_len = prompt.valid_len.min(first);
        }
    }

    /// Returns the number of first messages of a prompt that are cached; `None` if nothing is cached, not even the part
    /// before the messages. An unknown time (NaN) counts as expired. `differs` returns the first message whose edits
    /// differ from those of a sent prompt.
    pub fn reusable_len(
        &self,
        at: Moment,
        model: &M,
        len: usize,
        differs: impl Fn(&E) -> usize,
    ) -> Option<usize> {
        let alive =
            |prompt: &&CachedPrompt<M, E>| prompt.key == *model && at - prompt.sent_at < self.retention_ms;
        let common = |prompt: &CachedPrompt<M, E>| match prompt.valid_len.min(len) {
            0 => 0,
            most => most.min(differs(&prompt.edits)),
        };
        self.prompts.iter().filter(alive).map(common).max()
    }

    /// Returns the first message at which a prompt of `len` messages differs from the last one sent; `None` if it only
    /// adds messages, or is the first.
    pub fn first_change(&self, len: usize, differs: impl Fn(&E) -> usize) -> Option<usize> {
        let last = self.prompts.last()?;
        let same = last.valid_len.min(len).min(differs(&last.edits));
        (same < last.len).then_some(same)
    }

    pub fn record_prompt(&mut self, at: Moment, model: M, len: usize, edits: E) {
        if self.prompts.len() == MAX_PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push(CachedPrompt { sent_at: at, key: model, len, valid_len: len, edits });
    }

    pub fn edits_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.prompts.iter_mut().map(|prompt| &mut prompt.edits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::models::opus_price;

    type Edited = (usize, u64);

    /// Returns the first index at which two lists of edits differ.
    fn differs(one: &[Edited]) -> impl Fn(&Vec<Edited>) -> usize + '_ {
        |other| {
            let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
            let place = |edits: &[Edited]| edits.get(same).map_or(usize::MAX, |(at, _)| *at);
            place(one).min(place(other))
        }
    }

    fn cents(split: &TokenSplit) -> f64 {
        (split.cost(&opus_price()) * 100.0).round()
    }

    /// The worked example of compaction 10.4.
    #[test]
    fn a_hundred_thousand_tokens_cost_ten_cents_warm_and_sixty_three_cold_and_nineteen_once_compacted() {
        let warm = TokenSplit::for_request(
            Tokens(100_000.0),
            Tokens(90_000.0),
            Tokens(10_000.0),
            Tokens::ZERO,
            Some(&opus_price()),
        );
        assert_eq!((warm.read, warm.write, warm.input), (Tokens(90_000.0), Tokens::ZERO, Tokens(10_000.0)));
        assert_eq!((warm.cost(&opus_price()), cents(&warm)), (0.095, 10.0));
        let cold = TokenSplit::for_request(
            Tokens(100_000.0),
            Tokens::ZERO,
            Tokens::ZERO,
            Tokens::ZERO,
            Some(&opus_price()),
        );
        assert_eq!((cold.cost(&opus_price()), cents(&cold)), (0.625, 63.0));
        let compacted = TokenSplit::for_request(
            Tokens(30_000.0),
            Tokens::ZERO,
            Tokens::ZERO,
            Tokens::ZERO,
            Some(&opus_price()),
        );
        assert_eq!((compacted.cost(&opus_price()), cents(&compacted)), (0.1875, 19.0));
    }

    #[test]
    fn a_provider_that_sells_no_cache_takes_everything_as_input() {
        let price = Price::flat([2.0, 8.0, 0.0, 0.0]);
        let split =
            TokenSplit::for_request(Tokens(1e6), Tokens(9e5), Tokens::ZERO, Tokens(1e6), Some(&price));
        assert_eq!(
            (split.read, split.write, split.input, split.cost(&price)),
            (Tokens::ZERO, Tokens::ZERO, Tokens(1e6), 10.0)
        );
        let automatic = Price::flat([2.0, 8.0, 0.5, 0.0]);
        let split =
            TokenSplit::for_request(Tokens(1e6), Tokens(9e5), Tokens::ZERO, Tokens::ZERO, Some(&automatic));
        assert_eq!((split.read, split.write, split.input), (Tokens(9e5), Tokens::ZERO, Tokens(1e5)));
    }

    #[test]
    fn a_growing_prompt_reads_the_previous_one_until_the_retention_has_passed() {
        let mut cache = PrefixCache::new(Retention::Short);
        assert_eq!(cache.reusable_len(Moment::ZERO, &1, 5, differs(&[])), None);
        cache.record_prompt(Moment::ZERO, 1, 5, Vec::new());
        assert_eq!(cache.reusable_len(Moment(299_999.0), &1, 7, differs(&[])), Some(5));
        assert_eq!(cache.reusable_len(Moment(300_000.0), &1, 7, differs(&[])), None);
        assert_eq!(cache.reusable_len(Moment(1.0), &2, 7, differs(&[])), None);
        assert_eq!(cache.reusable_len(Moment(f64::NAN), &1, 7, differs(&[])), None);
    }

    #[test]
    fn the_cache_serves_pruned_and_unpruned_prompts_up_to_their_first_change() {
        let mut cache = PrefixCache::new(Retention::Long);
        cache.record_prompt(Moment::ZERO, 1, 10, Vec::new());
        assert_eq!(cache.reusable_len(Moment(1.0), &1, 11, differs(&[(3, 9), (6, 9)])), Some(3));
        cache.record_prompt(Moment(1.0), 1, 11, vec![(3, 9), (6, 9)]);
        assert_eq!(cache.reusable_len(Moment(2.0), &1, 12, differs(&[])), Some(10));
        assert_eq!(cache.reusable_len(Moment(2.0), &1, 12, differs(&[(3, 9), (6, 9), (11, 9)])), Some(11));
        assert_eq!(cache.reusable_len(Moment(2.0), &1, 12, differs(&[(3, 9), (6, 5)])), Some(6));
    }

    #[test]
    fn after_a_compaction_only_the_part_before_the_messages_is_cached() {
        let mut cache = PrefixCache::new(Retention::Short);
        cache.record_prompt(Moment::ZERO, 1, 10, Vec::new());
        cache.invalidate_from(0);
        assert_eq!(cache.reusable_len(Moment(1.0), &1, 3, differs(&[])), Some(0));
    }

    #[test]
    fn a_change_is_measured_from_the_last_prompt_and_added_messages_do_not_count() {
        let mut cache = PrefixCache::new(Retention::Short);
        assert_eq!(cache.first_change(5, differs(&[])), None);
        cache.record_prompt(Moment::ZERO, 1, 5, Vec::new());
        assert_eq!(cache.first_change(7, differs(&[])), None);
        assert_eq!(cache.first_change(7, differs(&[(6, 9)])), None);
        assert_eq!(cache.first_change(7, differs(&[(2, 9)])), Some(2));
        assert_eq!(cache.first_change(4, differs(&[])), Some(4));
        cache.invalidate_from(3);
        assert_eq!(cache.first_change(7, differs(&[])), Some(3));
    }
}
