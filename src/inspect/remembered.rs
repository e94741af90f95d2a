//! What a gateway of 2026.9 did to tool results at earlier calls and does again at every call since, as its markers in the
//! transcript say: no forecast, but what is sent (pruning 8.2, sqlite G5).

use crate::gateway::ruleset::Pruner;
use crate::inspect::Inspection;
use crate::plan::Plan;
use crate::policy::prune::Gate;
use crate::policy::{Step, StepSet, StepSettings};
use crate::store::body::BodyError;

impl Inspection {
    /// The results that are sent otherwise than they stand in the transcript, as a plan of nothing else; none where the rules
    /// or the transcript know of none. Markers and messages are read where they were not yet.
    ///
    /// # Errors
    /// When an entry cannot be read again.
    pub fn remembered(&self) -> Result<Option<Plan>, BodyError> {
        if self.ruleset.ruleset.rules().pruner != (Pruner::Projections { stored: true }) {
            return Ok(None);
        }
        let read = match &self.closer {
            Some(_) => self.clone(),
            None => self.clone().with_closer()?,
        };
        let is_any = read.closer.as_ref().is_some_and(|closer| !closer.remembered.projections.is_empty());
        let settings = StepSettings { steps: StepSet::of(&[Step::Prune]), ..self.configured.clone() };
        let plan = is_any.then(|| read.plan(&settings, Gate::Off).ok()).flatten();
        Ok(plan.filter(|plan| !plan.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::ruleset::Ruleset;
    use crate::inspect::testing::{call, inspection, message, result, transcript, user};
    use crate::policy::{Fate, Reason};

    fn marker(data: &str) -> String {
        format!(r#"{{"type":"custom","customType":"openclaw.cache-ttl","data":{data}}}"#)
    }

    fn session(markers: &[String]) -> Inspection {
        let long = "x".repeat(5000);
        let mut lines = vec![user("go")];
        for at in 0..3 {
            let id = format!("c{at}");
            lines.extend([call(&id, "exec", "{}"), result(&id, "exec", &long, "")]);
        }
        lines.extend((0..4).map(|_| message(r#"{"role":"assistant","content":[]}"#)));
        lines.extend_from_slice(markers);
        let mut session = inspection(&transcript(&lines), 200_000.0);
        session.ruleset.ruleset = Ruleset::V2026_9_2;
        session.configured = StepSettings::built_in(Ruleset::V2026_9_2, 200_000.0);
        session
    }

    #[test]
    fn what_calls_before_did_is_told_whatever_the_gate_says() {
        let data = r#"{"prunedToolResults":[{"key":"tool:c0","mode":"hard","placeholder":"gone"},{"key":"tool:c1","mode":"soft"}]}"#;
        let session = session(&[marker(data), marker(r#"{"timestamp":5}"#)]);
        let plan = session.remembered().unwrap().unwrap();
        let fates: Vec<_> = plan.fates().iter().map(|fate| (fate.fate, fate.reason)).collect();
        assert_eq!(fates[2], (Fate::Cleared, Reason::RememberedClear));
        assert_eq!(fates[4], (Fate::SoftTrimmed, Reason::RememberedTrim));
        assert_eq!(fates[6].0, Fate::Kept);
        assert_eq!(plan.fates()[2].after.get(), Ok(4.0));
        assert!(plan.total_after() < plan.total_before());
    }

    #[test]
    fn without_a_marker_that_holds_any_nothing_is_remembered() {
        assert!(session(&[marker(r#"{"timestamp":5}"#)]).remembered().unwrap().is_none());
        let empty = marker(r#"{"prunedToolResults":[]}"#);
        let before = marker(r#"{"prunedToolResults":[{"key":"tool:c0","mode":"soft"}]}"#);
        assert!(session(&[before.clone(), empty]).remembered().unwrap().is_none());
        let reset = r#"{"type":"reset"}"#.to_owned();
        assert!(session(&[before.clone(), reset]).remembered().unwrap().is_none());
        let mut other = session(&[before]);
        other.ruleset.ruleset = Ruleset::V2026_3_2;
        assert!(other.remembered().unwrap().is_none());
    }

    #[test]
    fn an_open_gate_prunes_anew_beside_what_is_remembered() {
        let data = r#"{"prunedToolResults":[{"key":"tool:c0","mode":"soft"}]}"#;
        let mut session = session(&[marker(data)]).with_closer().unwrap();
        session.window.tokens = 4000.0;
        let settings = StepSettings { steps: StepSet::of(&[Step::Prune]), ..session.configured.clone() };
        let plan = session.plan(&settings, Gate::Open { idle_ms: 1e9 }).unwrap();
        let reasons = [2, 4, 6].map(|at: usize| plan.fates()[at].reason);
        assert_eq!(reasons, [Reason::RememberedTrim, Reason::SoftTrim, Reason::SoftTrim]);
        assert!(plan.outcome.ratio_before > 0.7 && plan.outcome.ratio_after < 0.7);
    }
}
