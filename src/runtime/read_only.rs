//! A screen that only reads: what it wrote to a copy of a store would be lost with the copy.

use crate::app::effect::Effect;
use crate::app::effect_error::EffectError;
use crate::app::event::Event;

/// Returns the answer to an effect that would write to a store or to the person's settings; `None` for any other.
pub(super) fn refused_write(effect: &Effect, reason: &str) -> Option<Event> {
    let error = || EffectError::ReadOnly(reason.to_owned());
    match effect {
        Effect::PreviewWrite(_) => Some(Event::WritePreviewed(Err(error()))),
        Effect::Write { .. } => Some(Event::Written(Err(error()))),
        Effect::RepairCommit { .. } => Some(Event::Repaired(Err(error()))),
        Effect::SavePreset(_) | Effect::DeletePreset(_) => Some(Event::Failure(
            "Presets change only on a screen of this machine's own stores. Open one, or edit the preset's file.".into(),
        )),
        Effect::RunCommand { run, .. } => {
            Some(Event::Failure(format!("{} did not run: the session is a copy from another machine.", run.name)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_that_writes_is_refused_and_a_read_is_not() {
        let refused = |effect| refused_write(&effect, "Only reads.");
        let repair = refused(Effect::RepairCommit { path: "/a".into() });
        assert!(matches!(repair, Some(Event::Repaired(Err(error))) if error.to_string() == "Only reads."));
        let deleted = refused(Effect::DeletePreset("a".into()));
        assert!(matches!(deleted, Some(Event::Failure(text)) if text.contains("Presets")));
        assert!(refused(Effect::ReadPresets).is_none() && refused(Effect::Quit).is_none());
    }
}
