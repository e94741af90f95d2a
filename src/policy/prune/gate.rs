//! Whether the pruner runs at all on a model call (pruning 3.7, 4.2, 4.3).

use crate::gateway::eligible::cache_ttl_eligible;
use crate::gateway::pruning::PruneSettings;
use crate::policy::reason::Reason;
use crate::store::entry::EntryKind;
use crate::store::index::Index;

/// The custom entry a run leaves when it ends (store O1).
const TOUCH_TYPE: &str = "openclaw.cache-ttl";

/// What the gate says. Times in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    /// The pruner runs.
    Open {
        /// Time since the last touch.
        idle_ms: f64,
    },
    /// The mode is not `cache-ttl`.
    Off,
    /// Provider and model are not eligible.
    NotEligible,
    /// No run recorded a touch yet.
    NeverTouched,
    /// The ttl is 0.
    NoTtl,
    /// The ttl has not passed since the last touch.
    Warm {
        /// Time since the last touch; negative for a touch in the future.
        idle_ms: f64,
        /// The ttl.
        ttl_ms: f64,
    },
}

impl Gate {
    /// Whether the pruner runs.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Why it does not.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Open { .. } => None,
            Self::Off => Some(Reason::PruningOff),
            Self::NotEligible => Some(Reason::ProviderNotEligible),
            Self::NeverTouched => Some(Reason::NeverTouched),
            Self::NoTtl => Some(Reason::NoTtl),
            Self::Warm { .. } => Some(Reason::CacheWarm),
        }
    }
}

/// Decides the gate. `now_ms` and `last_touch` are ms since the epoch; a touch of 0 or NaN is none.
/// The ttl passes exactly when it has elapsed; a negative touch passes, a future one does not (pruning 4.2).
pub fn gate(
    settings: Option<&PruneSettings>,
    provider: &str,
    model: &str,
    last_touch: Option<f64>,
    now_ms: f64,
) -> Gate {
    let Some(settings) = settings else { return Gate::Off };
    if !cache_ttl_eligible(provider, model) {
        return Gate::NotEligible;
    }
    let Some(touch) = last_touch.filter(|touch| *touch != 0.0 && !touch.is_nan()) else {
        return Gate::NeverTouched;
    };
    if settings.ttl_ms <= 0.0 {
        return Gate::NoTtl;
    }
    let idle_ms = now_ms - touch;
    if idle_ms < settings.ttl_ms {
        Gate::Warm { idle_ms, ttl_ms: settings.ttl_ms }
    } else {
        Gate::Open { idle_ms }
    }
}

/// The last touch: of all entries in file order, whatever their branch, the last usable one (pruning 4.3).
pub fn last_touch(index: &Index) -> Option<f64> {
    index
        .entries
        .iter()
        .rev()
        .filter(|entry| entry.kind == EntryKind::Custom && entry.number.is_finite() && entry.number != 0.0)
        .find(|entry| index.words.value(entry.word).is_some_and(|word| word.str_is(TOUCH_TYPE)))
        .map(|entry| entry.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now_ms: f64) -> Gate {
        gate(Some(&PruneSettings::default()), "anthropic", "claude-opus-4-6", Some(1_000.0), now_ms)
    }

    #[test]
    fn the_ttl_passes_exactly_when_it_has_elapsed() {
        assert_eq!(at(300_999.0), Gate::Warm { idle_ms: 299_999.0, ttl_ms: 300_000.0 });
        assert_eq!(at(301_000.0), Gate::Open { idle_ms: 300_000.0 });
    }

    #[test]
    fn a_session_that_never_recorded_a_touch_is_never_pruned() {
        let settings = PruneSettings::default();
        for touch in [None, Some(0.0), Some(f64::NAN)] {
            assert_eq!(gate(Some(&settings), "anthropic", "claude", touch, 9e12), Gate::NeverTouched);
        }
    }

    #[test]
    fn other_providers_keep_it_shut() {
        let settings = PruneSettings::default();
        assert_eq!(gate(Some(&settings), "openai", "gpt-5.2", Some(1.0), 9e12), Gate::NotEligible);
        assert_eq!(gate(None, "anthropic", "claude", Some(1.0), 9e12), Gate::Off);
    }
}
