//! Diagnoses windows that are too small, or that differ between parts of the gateway.

use crate::diagnostic::{Diagnostic, Severity};
use crate::format::format_number;
use crate::gateway::ruleset::Ruleset;
use crate::gateway::window::{WindowGuard, guard_window};
use crate::gateway::window_lookup::StatusWindowSource;
use crate::gateway::window_rules::{WindowVerdict, judge_window, too_small_text};
use crate::policy::settings::SettingId;
use crate::session::LoadedSession;
use crate::session::overflow::OverflowKind;
use crate::session::setting_change::SettingChange;
use crate::store::intern::ValueIx;
use crate::units::Tokens;

impl LoadedSession {
    /// Returns this gateway version's judgement of the next call's window (compaction 7.2; 12, row "Window / guard").
    /// pi has no such guard.
    pub fn window_guard(&self) -> WindowGuard {
        let verdict = self.window_verdict();
        let (should_warn, should_block) = (verdict.should_warn, verdict.should_block);
        let on = self.limits.is_gateway_run;
        let guard = guard_window(self.window, None, None);
        WindowGuard { should_warn: on && should_warn, should_block: on && should_block, ..guard }
    }

    /// Whether no setting names the window: the program guesses it, or fills in its default for a listed model
    /// without one.
    pub fn is_window_assumed(&self) -> bool {
        self.window.model_source.is_assumed()
    }

    /// Returns the smallest window that refusals of the session's model show, in tokens, if it is below the assumed
    /// one. A refusal that names no limit shows the prompt it refused.
    pub fn smallest_refused_window(&self) -> Option<u64> {
        let is_own = |model: (ValueIx, ValueIx)| {
            let names = (self.index.values.text(model.0), self.index.values.text(model.1));
            names == (Some(self.provider.clone()), Some(self.model.clone()))
        };
        let own = self.overflows.iter().filter(|overflow| overflow.kind == OverflowKind::Refused);
        let own = own.filter(|overflow| overflow.model.is_none_or(is_own));
        let named = own.filter_map(|overflow| overflow.limit.or_else(|| overflow.prompt_tokens()));
        named.filter(|tokens| *tokens > 0 && (*tokens as f64) < self.window.tokens.get()).min()
    }

    /// Returns the smallest window that the gateway runs a model with, in tokens (compaction 7.2; releases R70, R71); pi runs
    /// any, and compacts after every answer where the reserve takes all of it.
    pub fn smallest_window(&self) -> Tokens {
        if self.limits.is_gateway_run {
            return Tokens(self.ruleset.id.rules().window_guard.block_below);
        }
        self.configured_settings.compaction.reserve_tokens + Tokens(1.0)
    }

    /// Whether the runtime runs a model with a window set to these tokens: `contextWindow` is the model's own, `contextTokens`
    /// a part of it, which the gateway also compares with the whole (releases R71).
    pub fn runs_with(&self, key: SettingId, tokens: Tokens) -> bool {
        let rules = self.ruleset.id.rules();
        let own = if key == SettingId::ContextWindow { tokens } else { self.window.model_tokens };
        let is_refused = self.limits.is_gateway_run && judge_window(rules, tokens, own).should_block;
        !is_refused && tokens >= self.smallest_window()
    }

    /// Returns why the gateway would run no call under some changes: it refuses the window that they set. `None` for pi,
    /// which runs any.
    pub fn describe_refused_window(&self, changes: &[SettingChange]) -> Option<String> {
        let set =
            |id| changes.iter().rfind(|change| change.id == id).and_then(|change| change.value.as_f64());
        let rules = self.ruleset.id.rules();
        let own = set(SettingId::ContextWindow).map(Tokens);
        let cap = set(SettingId::ContextTokens).map(Tokens);
        let model = own.unwrap_or(self.window.model_tokens);
        let is_refused = |(_, tokens): &(SettingId, Tokens)| {
            *tokens < self.smallest_window() || judge_window(rules, *tokens, model).should_block
        };
        let windows = [(SettingId::ContextWindow, own), (SettingId::ContextTokens, cap)];
        let mut windows = windows.into_iter().filter_map(|(id, tokens)| Some((id, tokens?)));
        let (id, tokens) = windows.find(is_refused).filter(|_| self.limits.is_gateway_run)?;
        Some(format!(
            "{} {}: {} runs no model with a window below {}, so every message fails",
            id.spec().name(),
            format_number(tokens.whole()),
            self.ruleset.id.display_name(),
            format_number(self.smallest_window().whole())
        ))
    }

    fn window_verdict(&self) -> WindowVerdict {
        let rules = self.ruleset.id.rules();
        judge_window(rules, self.window.tokens, self.limits.runtime_window)
    }
}

/// Collects the diagnostics of the window. pi has none.
pub(super) fn collect(session: &LoadedSession) -> Vec<Diagnostic> {
    if !session.limits.is_gateway_run {
        return Vec::new();
    }
    guard_diagnostic(session)
        .into_iter()
        .chain(status_window_diagnostic(session))
        .chain(stored_window_diagnostic(session))
        .collect()
}

fn diagnostic(session: &LoadedSession, severity: Severity, what: String, next: &str) -> Diagnostic {
    Diagnostic::new(&*session.index.path, severity, what, next).about(session.item.key.0.as_str())
}

/// Reports that the gateway warns about the window or refuses the model (compaction 7.2).
fn guard_diagnostic(session: &LoadedSession) -> Option<Diagnostic> {
    let guard = session.window_guard();
    let log = guard.log_line(&session.provider, &session.model)?;
    let newest = session.ruleset.id >= Ruleset::V2026_9_2;
    let error = guard
        .error()
        .map(|error| if newest { too_small_text(session.window, &session.window_verdict()) } else { error });
    let (what, next) = match error {
        Some(error) => (
            format!("the gateway refuses to run: {error}"),
            "Raise contextWindow of the model or agents.defaults.contextTokens above that, or choose another \
             model.",
        ),
        None => (
            if newest {
                "the gateway warns that the window is small".to_owned()
            } else {
                format!("the gateway warns: {log}")
            },
            "Check compaction.reserveTokensFloor: the reserve takes most or all of a window this small.",
        ),
    };
    Some(diagnostic(session, Severity::Warning, what, next))
}

/// Reports that the status line shows a larger window than the runtime compacts by (compaction 7.6, 2.8).
fn status_window_diagnostic(session: &LoadedSession) -> Option<Diagnostic> {
    let (shown, used) = (session.limits.status_window, session.limits.runtime_window);
    let what = format!(
        "the status line shows a window of {}, but the runtime compacts for a window of {}",
        format_number(shown),
        format_number(used)
    );
    let next = match session.limits.status_window_source {
        StatusWindowSource::Long => {
            "Set contextWindow of the model in models.providers to its real limit; the parameter context1m \
             changes only the display."
        }
        StatusWindowSource::SameId => {
            "Set contextWindow for this provider's model to its real limit; the status line shows that of the \
             same model id at another provider."
        }
        StatusWindowSource::Known => {
            "Set contextWindow of the model in models.providers to its real limit; it is lower than the \
             window in the list of models, which the status line shows."
        }
        StatusWindowSource::Default => {
            "The status line shows the default; contextWindow of the model in models.providers is lower."
        }
    };
    (shown > used && !session.model.is_empty()).then(|| diagnostic(session, Severity::Warning, what, next))
}

/// Reports that the session record stores another window than the one of its next run (compaction 7.7).
fn stored_window_diagnostic(session: &LoadedSession) -> Option<Diagnostic> {
    let (stored, used) = (session.limits.stored_totals.context_tokens?, session.window.tokens);
    let next_stored = session.limits.stored_window;
    let again = if next_stored == stored { ", and stores it again" } else { "" };
    let what = format!(
        "its row has contextTokens {}, but the next run uses {}{again}",
        format_number(stored),
        format_number(used)
    );
    let next =
        "The gateway's own lists show the share of the row's window; the rules use the window of the run.";
    (stored != used).then(|| diagnostic(session, Severity::Note, what, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::window::WindowSource;
    use crate::session::testing::{loaded_session, transcript, user};
    use crate::units::Tokens;

    fn found(change: fn(&mut LoadedSession)) -> Vec<(Severity, String)> {
        let mut session = loaded_session(&transcript(&[user("x")]), 200_000.0);
        change(&mut session);
        collect(&session).into_iter().map(|finding| (finding.severity, finding.message)).collect()
    }

    #[test]
    fn agreeing_windows_have_no_diagnostic() {
        assert_eq!(found(|it| it.limits.stored_totals.context_tokens = Some(Tokens(200_000.0))), []);
    }

    #[test]
    fn a_small_window_is_reported_in_the_gateways_words() {
        let warned = found(|it| it.window.tokens = Tokens(20_000.0));
        let log = "the gateway warns: low context window: anthropic/claude-opus-4-6 ctx=20000 (warn<32000) source=default";
        assert_eq!(warned, [(Severity::Warning, log.to_owned())]);
        let refused = found(|it| it.window.tokens = Tokens(8_000.0));
        assert!(refused[0].1.ends_with("too small (8000 tokens). Minimum is 16000."), "{}", refused[0].1);
    }

    #[test]
    fn a_gateway_refuses_windows_below_its_releases_minimum_and_pi_those_that_its_reserve_takes() {
        let mut session = loaded_session(&transcript(&[user("x")]), 200_000.0);
        let runs = |session: &LoadedSession, key, tokens| session.runs_with(key, Tokens(tokens));
        let [window, cap] = [SettingId::ContextWindow, SettingId::ContextTokens];
        assert_eq!([runs(&session, window, 15_999.0), runs(&session, window, 16_000.0)], [false, true]);
        session.ruleset.id = Ruleset::V2026_9_2;
        assert_eq!([runs(&session, window, 3_999.0), runs(&session, window, 4_000.0)], [false, true]);
        session.window.model_tokens = Tokens(60_000.0);
        assert_eq!([runs(&session, cap, 3_999.0), runs(&session, cap, 4_000.0)], [false, true]);
        session.limits.is_gateway_run = false;
        session.configured_settings.compaction.reserve_tokens = Tokens(6_000.0);
        assert_eq!([runs(&session, window, 6_000.0), runs(&session, window, 6_001.0)], [false, true]);
    }

    #[test]
    fn changes_that_set_a_window_below_the_minimum_are_described_and_refused_by_gateways_only() {
        let mut session = loaded_session(&transcript(&[user("x")]), 200_000.0);
        let set = |id, tokens: f64| SettingChange {
            id,
            value: crate::js::Value::from(tokens),
            origin: crate::gateway::registry::Provenance::Tuned,
            model: None,
        };
        let small = [set(SettingId::ContextWindow, 9_000.0)];
        let text = session.describe_refused_window(&small).expect("refused");
        assert!(text.starts_with("contextWindow 9,000: "), "{text}");
        assert!(text.ends_with("runs no model with a window below 16,000, so every message fails"), "{text}");
        assert_eq!(session.describe_refused_window(&[set(SettingId::ContextTokens, 16_000.0)]), None);
        let later = [small[0].clone(), set(SettingId::ContextWindow, 90_000.0)];
        assert_eq!(session.describe_refused_window(&later), None, "the last change counts");
        session.limits.is_gateway_run = false;
        assert_eq!(session.describe_refused_window(&small), None);
    }

    #[test]
    fn a_status_line_that_promises_a_million_is_reported() {
        let message = found(|it| it.limits.status_window = Tokens(1_048_576.0));
        assert_eq!(message.len(), 1);
        assert!(
            message[0].1.contains("window of 1,048,576, but the runtime compacts for a window of 200,000")
        );
    }

    #[test]
    fn a_default_window_is_described_as_not_configured() {
        let mut session = loaded_session(&transcript(&[user("x")]), 200_000.0);
        assert_eq!(session.window.origin(), "assumed: nothing names it");
        session.window.model_source = WindowSource::ModelsConfig;
        assert_eq!(session.window.origin(), "config");
        assert_eq!(session.smallest_refused_window(), None);
    }

    #[test]
    fn the_advice_names_the_disagreeing_key_and_context1m_only_if_set() {
        let mut session = loaded_session(&transcript(&[user("x")]), 200_000.0);
        session.limits.status_window = Tokens(1_048_576.0);
        let mut next = |from| {
            session.limits.status_window_source = from;
            collect(&session)[0].advice.clone()
        };
        assert!(next(StatusWindowSource::Long).contains("context1m"));
        assert!(next(StatusWindowSource::SameId).contains("another provider"));
        for from in [StatusWindowSource::SameId, StatusWindowSource::Known, StatusWindowSource::Default] {
            let words = next(from);
            assert!(!words.contains("context1m") && words.contains("contextWindow"), "{words}");
        }
    }

    #[test]
    fn a_row_that_keeps_another_window_is_reported_and_pi_has_no_such_row() {
        let message = found(|it| {
            it.limits.stored_totals.context_tokens = Some(Tokens(100_000.0));
            it.limits.stored_window = Tokens(100_000.0);
        });
        assert_eq!(message.len(), 1);
        assert!(message[0].1.ends_with("and stores it again"));
        let pi = found(|it| {
            it.limits.is_gateway_run = false;
            it.window.tokens = Tokens(8_000.0);
        });
        assert_eq!(pi, []);
    }
}
