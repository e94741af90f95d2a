//! Guards in words, and the findings about them.

use crate::format::{format_duration, format_number, format_short_estimate, quantity};
use crate::gateway::setting_value::input_text;
use crate::policy::prune::Gate;
use crate::report::explain::description::grounds::{Described, Evidence};
use crate::report::explain::facts::EngineOwned;
use crate::report::explain::guards::{Comparison, GuardReason, GuardReport, GuardState, PruningInert};
use crate::units::Millis;

impl GuardReport {
    /// Describes the reason, and the gates that would have prevented the overflow.
    pub fn description(&self) -> String {
        let why = self.reason.description();
        if self.opening_keys.is_empty() {
            return why;
        }
        format!("{why}; every call fits {}", self.describe_opening())
    }

    /// Names the gates that make every call fit when opened: `with another contextPruning.ttl`.
    fn describe_opening(&self) -> String {
        let name = |key: &&'static str| match *key {
            "provider" => "with an eligible provider".to_owned(),
            "version" => "with a release that prunes".to_owned(),
            key => format!("with another {key}"),
        };
        self.opening_keys.iter().map(name).collect::<Vec<_>>().join(" or ")
    }
}

impl GuardReason {
    /// Describes the reason in a few words.
    pub fn description(&self) -> String {
        match self {
            Self::NoHistoryLimit => "no historyLimit for this session".to_owned(),
            Self::DroppedMessages(count) => format!("dropped {}", quantity(*count, "message")),
            Self::FewerTurns { limit } => format!("the call sent fewer than {limit} turns"),
            Self::PruningOff => "contextPruning.mode is off".to_owned(),
            Self::Freed(tokens) => format!("freed {}", format_short_estimate(*tokens)),
            Self::KeptByValue { key, value } => {
                let value = value.as_ref().map(|(unit, value)| input_text(*unit, value)).unwrap_or_default();
                format!("{key} {value} keeps the results")
            }
            Self::NothingToPrune => "there was nothing to prune".to_owned(),
            Self::ClosedGate { gate, release, provider } => {
                describe_gate(*gate, release, provider.as_deref().unwrap_or_default())
            }
            Self::BelowBudget(budget) => {
                let budget = format_short_estimate(*budget);
                format!("acts above {budget} tokens of messages, where results count double")
            }
            Self::BelowSingle(tokens) => {
                format!("acts on a single result above {} tokens", format_short_estimate(*tokens))
            }
            Self::Contradicted => {
                "by its rules it should have cut results, but the provider counted them whole".to_owned()
            }
            Self::NoLargeResult => "no result was large enough to cut".to_owned(),
            Self::CompactionOff => "compaction.enabled is false".to_owned(),
            Self::NothingToCompare { trigger } => {
                let trigger = format_number(trigger.whole());
                format!("no call had reported its usage yet; the trigger is {trigger}")
            }
            Self::Compared { tokens, trigger, outcome } => {
                let (tokens, trigger) = (format_number(tokens.whole()), format_number(trigger.whole()));
                outcome.description(&tokens, &trigger)
            }
            Self::NotRecognised { release } => {
                format!("{release} did not recognise this as an overflow, so it did not compact")
            }
            Self::CompactionsAfter(0, kind) => format!("no compaction followed the {}", kind.noun()),
            Self::CompactionsAfter(count, kind) => {
                format!("{} followed the {}", quantity(*count, "compaction"), kind.noun())
            }
        }
    }
}

impl Comparison {
    /// Describes what the check compared, and what followed.
    fn description(self, tokens: &str, trigger: &str) -> String {
        match self {
            Self::Below { repeats_in_run: true } => {
                format!("the last check saw {tokens}; the trigger is {trigger}")
            }
            // The prompt can grow unchecked until the run ends.
            Self::Below { repeats_in_run: false } => {
                format!("the check before this run saw {tokens}; the trigger is {trigger}")
            }
            Self::Compacted => format!("the check saw {tokens}, above the trigger {trigger}, and compacted"),
            Self::NotCompacted => {
                format!("the check saw {tokens}, above the trigger {trigger}, but no compaction followed")
            }
        }
    }
}

/// Describes why a gate of pruning is closed.
fn describe_gate(gate: Gate, release: &str, provider: &str) -> String {
    match gate {
        Gate::Open { .. } => "open".to_owned(),
        Gate::Off => "contextPruning.mode is off".to_owned(),
        Gate::NoPruner => format!("{release} cannot load the pruner"),
        Gate::NotEligible => format!("provider {provider} is not eligible for cache-ttl pruning"),
        Gate::NeverTouched => "no run has written a cache-ttl entry yet".to_owned(),
        Gate::NoTtl => "contextPruning.ttl is 0, which turns pruning off".to_owned(),
        Gate::Warm { idle_ms, ttl_ms } => {
            let (idle, ttl) = (format_duration(idle_ms.max(Millis::ZERO)), format_duration(ttl_ms));
            format!("the cache was touched only {idle} earlier (ttl {ttl})")
        }
    }
}

impl Described for PruningInert {
    fn headline(&self) -> String {
        let why = self.guard.reason.description();
        match (self.guard.state, self.guard.opening_keys.first()) {
            (GuardState::Acted, Some(key)) => format!("pruning {why}, too little because of {key}"),
            _ => format!("pruning did nothing because {why}"),
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        if self.guard.opening_keys.is_empty() {
            let kept = "contextPruning is configured and has no effect: every call sends all results";
            return vec![Evidence::new(kept).with_rule(self.guard.rule)];
        }
        let opened = format!("every call fits {} (replayed)", self.guard.describe_opening());
        vec![Evidence::new(opened).with_entries(self.guard.entry).with_rule(self.guard.rule)]
    }
}

impl Described for EngineOwned {
    fn headline(&self) -> String {
        let plugin = &self.plugin;
        format!("the context engine {plugin} compacts and ignores the gateway's compaction settings")
    }

    fn evidence(&self) -> Vec<Evidence> {
        Vec::new()
    }
}
