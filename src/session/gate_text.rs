//! The pruner's gate in words, as the command and the screen print it.

use crate::format::format_duration;
use crate::policy::prune::Gate;
use crate::session::LoadedSession;
use crate::units::Millis;

impl LoadedSession {
    /// Describes why a gate is closed: `ttl not over (4m of 1h)`; `None` if it is open.
    pub fn describe_closed_gate(&self, gate: Gate) -> Option<String> {
        Some(match gate {
            Gate::Open { .. } => return None,
            Gate::Off => "pruning is off".to_owned(),
            Gate::NoPruner => format!("{} never prunes", self.ruleset.id.display_name()),
            Gate::NotEligible => format!("{} models are never pruned", self.provider),
            Gate::NeverTouched => "no cached call recorded".to_owned(),
            Gate::NoTtl => "ttl is 0".to_owned(),
            Gate::Warm { idle_ms, .. } if idle_ms < Millis::ZERO => "last call is in the future".to_owned(),
            Gate::Warm { idle_ms, ttl_ms } => {
                format!("ttl not over ({} of {})", format_duration(idle_ms), format_duration(ttl_ms))
            }
        })
    }
}
