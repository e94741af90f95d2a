//! Reads the pruning that a 2026.9 gateway stored as markers in the transcript.
//!
//! The gateway applies stored pruning again at every later call, so this is not a forecast: it is the text that is sent
//! (pruning 8.2, sqlite G5).

use crate::gateway::ruleset::Pruner;
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::{Policy, PolicySet, PolicySettings};
use crate::session::LoadedSession;
use crate::store::body::BodyError;

impl LoadedSession {
    /// Returns a plan with only the results that stored pruning changes, or `None` if ruleset or transcript have none.
    /// Reads markers and messages unless they were read already.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn stored_pruning_plan(&self) -> Result<Option<Plan>, BodyError> {
        if self.ruleset.id.rules().pruner != (Pruner::Projections { stored: true }) {
            return Ok(None);
        }
        let read = match &self.details {
            Some(_) => self.clone(),
            None => self.clone().load_details()?,
        };
        let is_any =
            read.details.as_ref().is_some_and(|details| !details.stored_pruning.projections.is_empty());
        let settings =
            PolicySettings { enabled: PolicySet::of(&[Policy::Prune]), ..self.configured_settings.clone() };
        let plan = is_any.then(|| read.plan(&settings, Gate::Off).ok()).flatten();
        Ok(plan.filter(|plan| !plan.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::policy::{Fate, Reason};
    use crate::session::testing::{call, loaded_session, message, result, transcript, user};
    use crate::units::{Chars, Millis, Tokens};

    fn marker(data: &str) -> String {
        format!(r#"{{"type":"custom","customType":"openclaw.cache-ttl","data":{data}}}"#)
    }

    fn session(markers: &[String]) -> LoadedSession {
        let long = "x".repeat(5000);
        let mut lines = vec![user("go")];
        for at in 0..3 {
            let id = format!("c{at}");
            lines.extend([call(&id, "exec", "{}"), result(&id, "exec", &long, "")]);
        }
        lines.extend((0..4).map(|_| message(r#"{"role":"assistant","content":[]}"#)));
        lines.extend_from_slice(markers);
        let mut session = loaded_session(&transcript(&lines), 200_000.0);
        session.ruleset.id = Ruleset::V2026_9_6;
        session.configured_settings = PolicySettings::built_in(Ruleset::V2026_9_6, Tokens(200_000.0));
        session
    }

    #[test]
    fn earlier_pruning_is_shown_at_any_gate() {
        let data = r#"{"prunedToolResults":[{"key":"tool:c0","mode":"hard","placeholder":"gone"},{"key":"tool:c1","mode":"soft"}]}"#;
        let session = session(&[marker(data), marker(r#"{"timestamp":5}"#)]);
        let plan = session.stored_pruning_plan().unwrap().unwrap();
        let fates: Vec<_> = plan.fates().iter().map(|fate| (fate.fate, fate.reason)).collect();
        assert_eq!(fates[2], (Fate::Cleared, Reason::RememberedClear));
        assert_eq!(fates[4], (Fate::SoftTrimmed, Reason::RememberedTrim));
        assert_eq!(fates[6].0, Fate::Kept);
        assert_eq!(plan.fates()[2].after.value(), Ok(Chars(4.0)));
        assert!(plan.total_after() < plan.total_before());
    }

    #[test]
    fn without_a_marker_there_is_no_remembered_pruning() {
        assert!(session(&[marker(r#"{"timestamp":5}"#)]).stored_pruning_plan().unwrap().is_none());
        let empty = marker(r#"{"prunedToolResults":[]}"#);
        let before = marker(r#"{"prunedToolResults":[{"key":"tool:c0","mode":"soft"}]}"#);
        assert!(session(&[before.clone(), empty]).stored_pruning_plan().unwrap().is_none());
        let reset = r#"{"type":"reset"}"#.to_owned();
        assert!(session(&[before.clone(), reset]).stored_pruning_plan().unwrap().is_none());
        let mut other = session(&[before]);
        other.ruleset.id = Ruleset::V2026_3_2;
        assert!(other.stored_pruning_plan().unwrap().is_none());
    }

    #[test]
    fn an_open_gate_adds_new_pruning_to_the_remembered() {
        let data = r#"{"prunedToolResults":[{"key":"tool:c0","mode":"soft"}]}"#;
        let mut session = session(&[marker(data)]).load_details().unwrap();
        session.window.tokens = Tokens(4000.0);
        let settings = PolicySettings {
            enabled: PolicySet::of(&[Policy::Prune]),
            ..session.configured_settings.clone()
        };
        let plan = session.plan(&settings, Gate::Open { idle_ms: Millis(1e9) }).unwrap();
        let reasons = [2, 4, 6].map(|at: usize| plan.fates()[at].reason);
        assert_eq!(reasons, [Reason::RememberedTrim, Reason::SoftTrim, Reason::SoftTrim]);
        assert!(plan.pruning.ratio_before > 0.7 && plan.pruning.ratio_after < 0.7);
    }
}
