//! The provider's prompt cache as a model: which beginning of a prompt is read back, what is written again, and what the
//! call costs (compaction 10.8–10.11). It knows nothing of a provider's own reasons to forget.

use crate::gateway::catalog::Price;
use crate::gateway::retention::Retention;
use crate::store::entry::Usage;

/// Prompts that are remembered: a pruned one and the unpruned one before it may be alive at once.
const MAX_PROMPTS: usize = 4;

/// The tokens of one call by what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TokenSplit {
    /// Prompt tokens read from the cache.
    pub read: f64,
    /// Prompt tokens written to it.
    pub write: f64,
    /// Prompt tokens that are neither.
    pub input: f64,
    /// Tokens of the answer.
    pub output: f64,
}

impl TokenSplit {
    /// Whether there is nothing to pay for.
    pub fn is_zero(&self) -> bool {
        [self.read, self.write, self.input, self.output].iter().all(|tokens| *tokens == 0.0)
    }

    /// A request of so many tokens, of which the first `reusable` are in the cache and the last `uncached` stand behind
    /// the last breakpoint (compaction 10.11). Where writing has no price of its own, nothing is marked as written;
    /// where reading has none, the provider sells no cache.
    pub fn for_request(
        request: f64,
        reusable: f64,
        uncached: f64,
        output: f64,
        price: Option<&Price>,
    ) -> Self {
        let (reads, writes) =
            price.map_or((true, true), |price| (price.cache_read > 0.0, price.cache_write > 0.0));
        let read = if reads { reusable.clamp(0.0, request.max(0.0)) } else { 0.0 };
        let rest = request - read;
        let input = if reads && writes { uncached.clamp(0.0, rest.max(0.0)) } else { rest };
        Self { read, write: rest - input, input, output }
    }

    /// What the provider counted. Parts that are no number count 0.
    pub fn from_usage(usage: &Usage) -> Self {
        let known = |tokens: f64| if tokens.is_finite() { tokens.max(0.0) } else { 0.0 };
        Self {
            read: known(usage.cache_read),
            write: known(usage.cache_write),
            input: known(usage.input),
            output: known(usage.output),
        }
    }

    /// In USD, the parts added as the gateway adds them (compaction 10.2).
    pub fn cost(&self, price: &Price) -> f64 {
        // Where writing costs no more than input it has no price of its own.
        let write = if price.cache_write > 0.0 { price.cache_write } else { price.input };
        (self.input * price.input
            + self.output * price.output
            + self.read * price.cache_read
            + self.write * write)
            / 1e6
    }
}

/// A prompt that was sent.
#[derive(Debug, Clone, PartialEq)]
struct CachedPrompt<M, E> {
    /// When it was sent, ms.
    sent_at: f64,
    key: M,
    /// How many of its first messages still stand as they were.
    valid_len: usize,
    edits: E,
}

/// The prompts a provider still remembers. `M` is what a prefix belongs to besides its text: model and thinking; `E` what
/// was done to its messages.
#[derive(Debug, Clone)]
pub struct PrefixCache<M, E> {
    retention_ms: f64,
    prompts: Vec<CachedPrompt<M, E>>,
}

/// Nothing is remembered, for no time.
impl<M, E> Default for PrefixCache<M, E> {
    fn default() -> Self {
        Self { retention_ms: 0.0, prompts: Vec::new() }
    }
}

impl<M: PartialEq, E> PrefixCache<M, E> {
    /// An empty one.
    pub fn new(retention: Retention) -> Self {
        Self { retention_ms: retention.ms(), prompts: Vec::new() }
    }

    /// The list behind the prompts changed from a message on: what was cached holds only up to there.
    pub fn invalidate_from(&mut self, first: usize) {
        for prompt in &mut self.prompts {
            prompt.valid_len = prompt.valid_len.min(first);
        }
    }

    /// How many of the first messages of a prompt are in the cache; none where nothing of it is, not even what stands
    /// before the messages. A time that is not known keeps nothing alive. `differs` is the first message at which what
    /// was done to the prompt is not what was done to one that was sent.
    pub fn reusable_len(
        &self,
        at: f64,
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

    /// A prompt was sent.
    pub fn record_prompt(&mut self, at: f64, model: M, len: usize, edits: E) {
        if self.prompts.len() == MAX_PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push(CachedPrompt { sent_at: at, key: model, valid_len: len, edits });
    }

    /// What was done to each prompt.
    pub fn edits_mut(&mut self) -> impl Iterator<Item = &mut E> {
        self.prompts.iter_mut().map(|prompt| &mut prompt.edits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::catalog::find;

    type Edited = (usize, u64);

    /// The first place where two lists of edits differ.
    fn differs(one: &[Edited]) -> impl Fn(&Vec<Edited>) -> usize + '_ {
        |other| {
            let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
            let place = |edits: &[Edited]| edits.get(same).map_or(usize::MAX, |(at, _)| *at);
            place(one).min(place(other))
        }
    }

    fn opus() -> Price {
        find("anthropic", "claude-opus-4-6").expect("in the catalogue").price
    }

    fn cents(split: &TokenSplit) -> f64 {
        (split.cost(&opus()) * 100.0).round()
    }

    /// The worked example of compaction 10.4.
    #[test]
    fn a_hundred_thousand_tokens_cost_ten_cents_warm_and_sixty_three_cold_and_nineteen_once_compacted() {
        let warm = TokenSplit::for_request(100_000.0, 90_000.0, 10_000.0, 0.0, Some(&opus()));
        assert_eq!((warm.read, warm.write, warm.input), (90_000.0, 0.0, 10_000.0));
        assert_eq!((warm.cost(&opus()), cents(&warm)), (0.095, 10.0));
        let cold = TokenSplit::for_request(100_000.0, 0.0, 0.0, 0.0, Some(&opus()));
        assert_eq!((cold.cost(&opus()), cents(&cold)), (0.625, 63.0));
        let compacted = TokenSplit::for_request(30_000.0, 0.0, 0.0, 0.0, Some(&opus()));
        assert_eq!((compacted.cost(&opus()), cents(&compacted)), (0.1875, 19.0));
    }

    #[test]
    fn a_provider_that_sells_no_cache_takes_everything_as_input() {
        let price = Price { input: 2.0, output: 8.0, cache_read: 0.0, cache_write: 0.0 };
        let split = TokenSplit::for_request(1e6, 9e5, 0.0, 1e6, Some(&price));
        assert_eq!((split.read, split.write, split.input, split.cost(&price)), (0.0, 0.0, 1e6, 10.0));
        let automatic = Price { cache_read: 0.5, ..price };
        let split = TokenSplit::for_request(1e6, 9e5, 0.0, 0.0, Some(&automatic));
        assert_eq!((split.read, split.write, split.input), (9e5, 0.0, 1e5));
    }

    #[test]
    fn a_growing_prompt_reads_what_was_sent_before_until_the_retention_has_passed() {
        let mut cache = PrefixCache::new(Retention::Short);
        assert_eq!(cache.reusable_len(0.0, &1, 5, differs(&[])), None);
        cache.record_prompt(0.0, 1, 5, Vec::new());
        assert_eq!(cache.reusable_len(299_999.0, &1, 7, differs(&[])), Some(5));
        assert_eq!(cache.reusable_len(300_000.0, &1, 7, differs(&[])), None);
        assert_eq!(cache.reusable_len(1.0, &2, 7, differs(&[])), None);
        assert_eq!(cache.reusable_len(f64::NAN, &1, 7, differs(&[])), None);
    }

    #[test]
    fn a_pruned_prompt_is_cached_up_to_its_first_change_and_the_unpruned_one_beside_it() {
        let mut cache = PrefixCache::new(Retention::Long);
        cache.record_prompt(0.0, 1, 10, Vec::new());
        assert_eq!(cache.reusable_len(1.0, &1, 11, differs(&[(3, 9), (6, 9)])), Some(3));
        cache.record_prompt(1.0, 1, 11, vec![(3, 9), (6, 9)]);
        assert_eq!(cache.reusable_len(2.0, &1, 12, differs(&[])), Some(10));
        assert_eq!(cache.reusable_len(2.0, &1, 12, differs(&[(3, 9), (6, 9), (11, 9)])), Some(11));
        assert_eq!(cache.reusable_len(2.0, &1, 12, differs(&[(3, 9), (6, 5)])), Some(6));
    }

    #[test]
    fn a_compaction_leaves_what_stands_before_the_messages() {
        let mut cache = PrefixCache::new(Retention::Short);
        cache.record_prompt(0.0, 1, 10, Vec::new());
        cache.invalidate_from(0);
        assert_eq!(cache.reusable_len(1.0, &1, 3, differs(&[])), Some(0));
    }
}
