//! The gate of the pruner: decides whether it runs on a model call at all (pruning 3.7, 4.2, 4.3). Pruning rewrites the
//! prompt and so invalidates the provider's cache; the gate therefore opens only when the cache has expired, one ttl
//! after the last touch.

use crate::gateway::pruning::PruneSettings;
use crate::gateway::ruleset::{LastTouch, Rules};
use crate::ids::EntryIx;
use crate::js::{self, Value};
use crate::policy::reason::Reason;
use crate::store::entry::EntryKind;
use crate::store::index::Index;
use crate::units::{Millis, Moment};

/// Type of the custom entry that a run writes when it ends (store O1), and its name up to 2026.1.24 (releases R15).
const TOUCH_TYPES: [&str; 2] = ["openclaw.cache-ttl", "clawdbot.cache-ttl"];

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gate {
    Open {
        /// Time since the last touch.
        idle_ms: Millis,
    },
    /// The mode is not `cache-ttl`.
    Off,
    /// This version never prunes, under any configuration (pruning 8).
    NoPruner,
    /// Provider and model are not eligible.
    NotEligible,
    NeverTouched,
    /// The ttl is 0.
    NoTtl,
    /// Less than the ttl has passed since the last touch.
    Warm {
        /// Time since the last touch; negative for a touch in the future.
        idle_ms: Millis,
        ttl_ms: Millis,
    },
}

impl Gate {
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Returns the reason for a closed gate.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Open { .. } => None,
            Self::Off => Some(Reason::PruningOff),
            Self::NoPruner => Some(Reason::NoPruner),
            Self::NotEligible => Some(Reason::ProviderNotEligible),
            Self::NeverTouched => Some(Reason::NeverTouched),
            Self::NoTtl => Some(Reason::NoTtl),
            Self::Warm { .. } => Some(Reason::CacheWarm),
        }
    }
}

/// Decides the gate in a version; `eligible` is set if the gateway installs pruning for the model. A touch of 0 or NaN counts as no touch. The gate opens exactly when the ttl has
/// elapsed: a negative touch opens it, a future one does not (pruning 4.2).
pub fn gate_under(
    rules: &Rules,
    settings: Option<&PruneSettings>,
    eligible: bool,
    last_touch: Option<Moment>,
    now_ms: Moment,
) -> Gate {
    match settings {
        None => Gate::Off,
        Some(_) if !rules.pruner.is_active() => Gate::NoPruner,
        Some(_) if !eligible => Gate::NotEligible,
        Some(settings) => ttl_gate(settings, last_touch, now_ms),
    }
}

fn ttl_gate(settings: &PruneSettings, last_touch: Option<Moment>, now_ms: Moment) -> Gate {
    let Some(touch) = last_touch.filter(|touch| *touch != Moment::ZERO && !touch.is_nan()) else {
        return Gate::NeverTouched;
    };
    if settings.ttl_ms <= Millis::ZERO {
        return Gate::NoTtl;
    }
    let idle_ms = now_ms - touch;
    if idle_ms < settings.ttl_ms {
        Gate::Warm { idle_ms, ttl_ms: settings.ttl_ms }
    } else {
        Gate::Open { idle_ms }
    }
}

/// Returns every usable touch of a file with its time, last one first.
pub fn touches(index: &Index) -> impl Iterator<Item = (EntryIx, Moment)> {
    let usable = |number: f64| number.is_finite() && number != 0.0;
    index
        .auxiliary_entries()
        .rev()
        .filter(move |(_, entry)| entry.kind == EntryKind::Custom && usable(entry.payload_number))
        .filter(|(_, entry)| {
            index
                .values
                .value(entry.payload)
                .is_some_and(|word| TOUCH_TYPES.iter().any(|name| word.str_is(name)))
        })
        .map(|(ix, entry)| (ix, Moment(entry.payload_number)))
}

/// Returns the time of the last touch that counts in a version. Some versions count only touches of the same provider
/// and model; `body` reads the marker, and an unreadable marker does not count (pruning 8, row "Last touch").
pub fn last_touch_under<E>(
    rules: &Rules,
    index: &Index,
    of_model: (&str, &str),
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> Option<Moment> {
    counted_touches(rules, index, of_model, body).next().map(|(_, time)| time)
}

/// Returns every touch that counts in a version with its time, in file order.
pub fn touches_under<E>(
    rules: &Rules,
    index: &Index,
    of_model: (&str, &str),
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> Vec<(EntryIx, Moment)> {
    let mut found: Vec<_> = counted_touches(rules, index, of_model, body).collect();
    found.reverse();
    found
}

/// Whether the newest touch names this provider and model. The gateway writes a touch only for a model that it prunes, so
/// this proves more than any list.
pub fn is_touched_by<E>(
    index: &Index,
    of_model: (&str, &str),
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> bool {
    let names = [of_model.0, of_model.1].iter().all(|name| !name.trim().is_empty());
    names
        && touches(index)
            .next()
            .is_some_and(|(ix, _)| body(ix).is_ok_and(|entry| names_model(&entry, of_model)))
}

fn counted_touches<E>(
    rules: &Rules,
    index: &Index,
    of_model: (&str, &str),
    body: impl Fn(EntryIx) -> Result<Value, E>,
) -> impl Iterator<Item = (EntryIx, Moment)> {
    let same = move |ix: EntryIx| body(ix).is_ok_and(|entry| names_model(&entry, of_model));
    let any = rules.last_touch == LastTouch::Any;
    let own = |ix: EntryIx| {
        index.values.value(index.entry(ix).payload).is_some_and(|word| word.str_is(rules.marker))
    };
    touches(index).filter(move |(ix, _)| own(*ix)).filter(move |(ix, _)| any || same(*ix))
}

/// Whether a touch names this provider and model; an empty name matches every touch.
fn names_model(entry: &Value, (provider, model): (&str, &str)) -> bool {
    let field = |key: &str| {
        let value = entry.get("data").and_then(|data| data.get(key)).and_then(js::Value::as_str);
        value.map(|text| text.trim().to_string_lossy().to_lowercase())
    };
    let mut wanted = [("provider", provider), ("modelId", model)]
        .map(|(key, name)| (key, name.trim().to_lowercase()))
        .into_iter();
    wanted.all(|(key, name)| name.is_empty() || field(key) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::ids::LineIds;
    use crate::store::load::load_bytes;

    fn gate(settings: Option<&PruneSettings>, eligible: bool, touch: Option<Moment>, now_ms: Moment) -> Gate {
        gate_under(Ruleset::V2026_3_2.rules(), settings, eligible, touch, now_ms)
    }

    fn at(now_ms: Moment) -> Gate {
        gate(Some(&PruneSettings::default()), true, Some(Moment(1_000.0)), now_ms)
    }

    #[test]
    fn the_ttl_passes_exactly_when_it_has_elapsed() {
        assert_eq!(
            at(Moment(300_999.0)),
            Gate::Warm { idle_ms: Millis(299_999.0), ttl_ms: Millis(300_000.0) }
        );
        assert_eq!(at(Moment(301_000.0)), Gate::Open { idle_ms: Millis(300_000.0) });
    }

    #[test]
    fn a_session_that_never_recorded_a_touch_is_never_pruned() {
        let settings = PruneSettings::default();
        for touch in [None, Some(Moment::ZERO), Some(Moment(f64::NAN))] {
            assert_eq!(gate(Some(&settings), true, touch, Moment(9e12)), Gate::NeverTouched);
        }
    }

    #[test]
    fn a_version_without_a_pruner_never_opens_the_gate() {
        let settings = PruneSettings::default();
        let under = |ruleset: Ruleset| {
            gate_under(ruleset.rules(), Some(&settings), true, Some(Moment(1.0)), Moment(9e12)).is_open()
        };
        let shut = Ruleset::ALL.into_iter().filter(|ruleset| !under(*ruleset)).map(Ruleset::id);
        assert_eq!(
            shut.collect::<Vec<_>>(),
            ["2026.2.2", "2026.2.6", "2026.2.9", "2026.2.12", "2026.2.17", "pi-0.55", "pi-1.5"]
        );
        let off = gate_under(Ruleset::V2026_2_17.rules(), None, true, Some(Moment(1.0)), Moment(9e12));
        assert_eq!(off, Gate::Off);
    }

    #[test]
    fn only_the_newest_version_ignores_touches_of_other_models() {
        let marker = |id: &str, time: u32, model: &str| {
            format!(
                r#"{{"type":"custom","id":"{id}","customType":"openclaw.cache-ttl","data":{{"timestamp":{time},"provider":" Anthropic","modelId":"{model}"}}}}"#
            )
        };
        let lines = [marker("a", 5, "opus"), marker("b", 9, "haiku")];
        let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", lines.join("\n"));
        let index = load_bytes("t.jsonl", text.as_bytes(), &mut LineIds);
        let body = |ix: EntryIx| js::parse(&lines[ix.index()]);
        let touch =
            |ruleset: Ruleset, model| last_touch_under(ruleset.rules(), &index, ("anthropic", model), body);
        assert_eq!(touch(Ruleset::V2026_3_2, "OPUS "), Some(Moment(9.0)));
        assert_eq!(touch(Ruleset::V2026_9_6, "OPUS "), Some(Moment(5.0)));
        assert_eq!(touch(Ruleset::V2026_9_6, "sonnet"), None);
    }

    #[test]
    fn an_ineligible_model_or_a_disabled_pruner_keeps_the_gate_closed() {
        let settings = PruneSettings::default();
        assert_eq!(gate(Some(&settings), false, Some(Moment(1.0)), Moment(9e12)), Gate::NotEligible);
        assert_eq!(gate(None, true, Some(Moment(1.0)), Moment(9e12)), Gate::Off);
    }
}
