//! Sums of a ledger: by outcome, by cause and by day.

use std::collections::BTreeMap;

use crate::format::{format_duration, format_ratio, utc_day};
use crate::replay::Cost;
use crate::report::cache_ledger::{CacheLedger, CacheMiss, CachedCall, MissCause, SideCall};
use crate::report::cost::format_cost;
use crate::session::LoadedSession;
use crate::units::{Moment, Tokens};

/// Calls and their unread tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CallCount {
    pub calls: usize,
    /// Unread tokens.
    pub tokens: Tokens,
    /// Extra cost of these tokens.
    pub cost: Cost,
}

impl CallCount {
    fn add(&mut self, miss: &CacheMiss) {
        self.merge(&Self { calls: 1, tokens: miss.tokens, cost: miss.cost });
    }

    fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.tokens += other.tokens;
        self.cost = self.cost.combined_with(other.cost);
    }
}

/// Sums over calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CacheTotals {
    /// Calls whose prompt was counted.
    pub calls: usize,
    /// Other billed calls.
    pub side_calls: usize,
    /// Calls of providers that had reported no cache activity.
    pub uncached_calls: usize,
    /// Prompt tokens read from the cache.
    pub read: Tokens,
    /// Prompt tokens written to it.
    pub written: Tokens,
    /// Prompt tokens neither read nor written.
    pub input: Tokens,
    /// Cost of the calls and side calls.
    pub cost: Cost,
    /// The misses, by pi's rule.
    pub misses: CallCount,
    /// Unread tokens by cause, those of new prompts included.
    pub by_cause: BTreeMap<MissCause, CallCount>,
}

impl CacheTotals {
    /// Sums up some calls.
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a CachedCall>) -> Self {
        calls.into_iter().fold(Self::default(), |mut totals, call| {
            totals.add(call);
            totals
        })
    }

    fn add(&mut self, call: &CachedCall) {
        self.calls += 1;
        self.uncached_calls += usize::from(call.is_uncached);
        self.read += call.split.read;
        self.written += call.split.write;
        self.input += call.split.input;
        self.cost = self.cost.combined_with(call.cost);
        if let Some(miss) = &call.miss {
            self.by_cause.entry(miss.cause).or_default().add(miss);
            if miss.is_counted() {
                self.misses.add(miss);
            }
        }
    }

    fn add_side_call(&mut self, call: &SideCall) {
        self.side_calls += 1;
        self.cost = self.cost.combined_with(call.cost);
    }

    /// Returns the number of billed calls.
    pub fn billed_calls(&self) -> usize {
        self.calls + self.side_calls
    }

    /// Adds the sums of other calls.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.side_calls += other.side_calls;
        self.uncached_calls += other.uncached_calls;
        self.read += other.read;
        self.written += other.written;
        self.input += other.input;
        self.cost = self.cost.combined_with(other.cost);
        self.misses.merge(&other.misses);
        for (cause, count) in &other.by_cause {
            self.by_cause.entry(*cause).or_default().merge(count);
        }
    }

    /// Tokens of all prompts.
    pub fn prompt_tokens(&self) -> Tokens {
        self.read + self.written + self.input
    }

    /// Returns the share of the cost that is the extra cost of misses; `None` if the cost is unknown or 0.
    pub fn miss_share(&self) -> Option<f64> {
        let whole = self.cost.total().filter(|usd| *usd > 0.0)?;
        Some(self.misses.cost.total()? / whole)
    }

    /// Returns the cause of misses that cost most, by tokens where no price is known.
    pub fn worst_cause(&self) -> Option<(MissCause, &CallCount)> {
        let misses = self.by_cause.iter().filter(|(cause, _)| !cause.makes_new_prompt());
        let weight = |count: &CallCount| (count.cost.total().unwrap_or(0.0), count.tokens);
        let worst = misses.max_by(|(_, one), (_, other)| {
            let (one, other) = (weight(one), weight(other));
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
        })?;
        Some((*worst.0, worst.1))
    }
}

impl CacheLedger {
    /// Sums up everything that was billed.
    pub fn totals(&self) -> CacheTotals {
        let mut totals = CacheTotals::of(&self.calls);
        for call in &self.side_calls {
            totals.add_side_call(call);
        }
        totals
    }

    /// Sums up everything by UTC day, in order. Calls without a time have the key `unknown`.
    pub fn totals_by_day(&self) -> BTreeMap<String, CacheTotals> {
        let day = |ended: Moment| utc_day(ended).unwrap_or_else(|| "unknown".to_owned());
        let mut days: BTreeMap<String, CacheTotals> = BTreeMap::new();
        for call in &self.calls {
            days.entry(day(call.ended)).or_default().add(call);
        }
        for call in &self.side_calls {
            days.entry(day(call.ended)).or_default().add_side_call(call);
        }
        days
    }
}

impl CacheMiss {
    /// Describes the cause with its place: `context edit at 3fa1`, `pause of 12m`.
    pub fn describe_cause(&self, session: &LoadedSession) -> String {
        match (self.cause, self.at) {
            (MissCause::Pause, _) => format!("pause of {}", format_duration(self.age_ms)),
            (cause, Some(entry)) => format!("{} at {}", cause.label(), session.index.display_id(entry)),
            (cause, None) => cause.label().to_owned(),
        }
    }
}

impl CacheTotals {
    /// Describes the extra cost of the misses with its share of the cost: `$1.20 extra (34%)`; `None` without a price, or if
    /// it is 0.
    pub fn describe_extra_cost(&self) -> Option<String> {
        let extra = format_extra_cost(&self.misses.cost)?;
        let share = self.miss_share().map(|share| format!(" ({})", format_ratio(share)));
        Some(format!("{extra}{}", share.unwrap_or_default()))
    }
}

/// Formats what misses cost more: `$1.20 extra`; `None` without a price, or if it is 0.
pub fn format_extra_cost(cost: &Cost) -> Option<String> {
    format_cost(cost).filter(|_| cost.total() > Some(0.0)).map(|extra| format!("{extra} extra"))
}
