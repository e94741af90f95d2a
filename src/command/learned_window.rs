//! `--window`: replaces the configured window with another, or with the one that a session's own refusals and answers
//! prove.

use super::failure::Failure;
use super::output::Output;
use crate::cli::WindowArg;
use crate::format::format_number;
use crate::gateway::registry::Provenance;
use crate::js::Value;
use crate::policy::PolicySet;
use crate::policy::settings::SettingId;
use crate::session::LoadedSession;
use crate::session::replay_inputs::ReplayInputs;
use crate::session::setting_change::SettingChange;
use crate::units::Tokens;

/// Adds the window of the option as `contextWindow`; a learnt one only if it differs from the believed window, and a note
/// says which it is. An explicit `--set contextWindow` takes precedence.
pub(super) fn with_learned_window(
    requested: Option<WindowArg>,
    changes: Vec<SettingChange>,
    session: &LoadedSession,
    output: &mut Output,
) -> Result<Vec<SettingChange>, Failure> {
    let named = changes.iter().any(|change| change.id == SettingId::ContextWindow);
    match requested.filter(|_| !named) {
        None => return Ok(changes),
        Some(WindowArg::Tokens(tokens)) => return Ok(insert_window(changes, tokens as f64, f64::NAN)),
        Some(WindowArg::Learnt) => {}
    }
    let inputs = ReplayInputs::read(session, PolicySet::NONE)
        .map_err(|error| Failure::unreadable(error.to_string()))?;
    let (learnt, believed) = (inputs.provider_window, session.limits.runtime_window);
    let before = changes.len();
    let changes = insert_window(changes, learnt.get(), believed.get());
    output.note(&describe_learned(if changes.len() > before { Some(learnt) } else { None }, believed))?;
    Ok(changes)
}

/// Describes the window that the session proves, or that it proves no other than the believed one.
fn describe_learned(learnt: Option<Tokens>, believed: Tokens) -> String {
    match learnt {
        Some(tokens) => format!(
            "note: --window learnt is {} tokens, by the calls that the provider refused or answered",
            format_number(tokens.whole())
        ),
        None if believed.is_finite() => format!(
            "note: --window learnt: no call proves another window than {} tokens",
            format_number(believed.whole())
        ),
        None => "note: --window learnt: no call proves a window".to_owned(),
    }
}

fn insert_window(mut changes: Vec<SettingChange>, window: f64, believed: f64) -> Vec<SettingChange> {
    let tokens = window.floor();
    if tokens > 0.0 && tokens.is_finite() && tokens != believed {
        let value = Value::Number(tokens);
        let id = SettingId::ContextWindow;
        changes.insert(0, SettingChange { id, value, origin: Provenance::Flag, model: None });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_in_tokens_is_set_even_if_the_runtime_assumes_it() {
        let set = insert_window(Vec::new(), 200_000.0, f64::NAN);
        assert_eq!((set[0].id, &set[0].value), (SettingId::ContextWindow, &Value::Number(200_000.0)));
    }

    #[test]
    fn a_note_says_which_window_was_learnt() {
        let [one, none] =
            [Some(Tokens(65_474.6)), None].map(|learnt| describe_learned(learnt, Tokens(200_000.0)));
        assert!(
            one.contains("is 65,474 tokens") && none.contains("another window than 200,000"),
            "{one} {none}"
        );
        assert!(describe_learned(None, Tokens(f64::NAN)).ends_with("no call proves a window"));
    }

    #[test]
    fn a_learnt_window_becomes_context_window_unless_it_is_the_believed_one() {
        let learnt = insert_window(Vec::new(), 65_474.6, 200_000.0);
        assert_eq!((learnt[0].id, &learnt[0].value), (SettingId::ContextWindow, &Value::Number(65_474.0)));
        for window in [200_000.0, f64::NAN, 0.0] {
            assert_eq!(insert_window(Vec::new(), window, 200_000.0), [], "{window}");
        }
    }
}
