//! What is odd about the windows that different places of the gateway go by.

use crate::error::{Finding, Severity};
use crate::gateway::ruleset::Ruleset;
use crate::gateway::window::WindowSource;
use crate::gateway::window_guard::{WindowGuard, guard_window};
use crate::gateway::window_lookup::StatusWindow;
use crate::gateway::window_rules::{WindowVerdict, judge_window, too_small_text};
use crate::inspect::Inspection;
use crate::inspect::overflow::Sign;
use crate::inspect::words::counted;
use crate::store::intern::WordIx;

impl Inspection {
    /// What this version of the gateway thinks of the window of the next call (compaction 7.2; 12, row "Window
    /// guard"). pi alone has no such guard.
    pub fn window_guard(&self) -> WindowGuard {
        let verdict = self.window_verdict();
        let (should_warn, should_block) = (verdict.should_warn, verdict.should_block);
        let on = self.upkeep.gateway;
        let guard = guard_window(self.window, None, None);
        WindowGuard { should_warn: on && should_warn, should_block: on && should_block, ..guard }
    }

    /// Whether nobody named the window: it is the gateway's default, or the one that the runtime fills in for a listed
    /// model without one.
    pub fn is_window_assumed(&self) -> bool {
        let listed = || self.config.registered(&self.session.agent, &self.provider, &self.model);
        match self.window.source {
            WindowSource::Default => true,
            WindowSource::Model => listed().is_some_and(|(_, model)| !model.names_window),
            WindowSource::ModelsConfig | WindowSource::AgentContextTokens => false,
        }
    }

    /// What settled the window, in words.
    pub fn window_words(&self) -> &'static str {
        if self.is_window_assumed() { WindowSource::Default.words() } else { self.window.source.words() }
    }

    /// The smallest window that refusals of the session's model name, in tokens, where that is below the believed one.
    pub fn refused_window(&self) -> Option<u64> {
        let is_own = |model: (WordIx, WordIx)| {
            let names = (self.index.words.text(model.0), self.index.words.text(model.1));
            names == (Some(self.provider.clone()), Some(self.model.clone()))
        };
        let own = self.overflows.iter().filter(|overflow| overflow.sign == Sign::Refused);
        let own = own.filter(|overflow| overflow.model.is_none_or(is_own));
        let named = own.filter_map(|overflow| overflow.room().or_else(|| overflow.prompt()));
        named.filter(|tokens| *tokens > 0 && (*tokens as f64) < self.window.tokens).min()
    }

    fn window_verdict(&self) -> WindowVerdict {
        let rules = self.ruleset.ruleset.rules();
        judge_window(rules, self.window.tokens, self.upkeep.runtime_window)
    }
}

/// Findings about the window: too small, or told differently elsewhere.
pub(super) fn findings(inspection: &Inspection) -> Vec<Finding> {
    if !inspection.upkeep.gateway {
        return Vec::new();
    }
    guarded(inspection).into_iter().chain(status(inspection)).chain(stored(inspection)).collect()
}

fn finding(inspection: &Inspection, severity: Severity, what: String, next: &str) -> Finding {
    Finding::new(&*inspection.index.path, severity, what, next).about(inspection.session.key.0.as_str())
}

/// The gateway warns of the window, or refuses the model (compaction 7.2).
fn guarded(inspection: &Inspection) -> Option<Finding> {
    let guard = inspection.window_guard();
    let log = guard.log_line(&inspection.provider, &inspection.model)?;
    let newest = inspection.ruleset.ruleset == Ruleset::V2026_9_2;
    let error = guard.error().map(|error| {
        if newest { too_small_text(inspection.window, &inspection.window_verdict()) } else { error }
    });
    let (what, next) = match error {
        Some(error) => (
            format!("the gateway refuses to run: {error}"),
            "Raise contextWindow of the model, or agents.defaults.contextTokens, over that, or choose another model.",
        ),
        None => (
            if newest {
                "the gateway warns of so small a window".to_owned()
            } else {
                format!("the gateway warns: {log}")
            },
            "Of so small a window the reserve of a compaction leaves little or nothing: look at compaction.reserveTokensFloor.",
        ),
    };
    Some(finding(inspection, Severity::Warning, what, next))
}

/// The status line promises another window than the runtime compacts by (compaction 7.6, 2.8).
fn status(inspection: &Inspection) -> Option<Finding> {
    let (shown, used) = (inspection.upkeep.status_window, inspection.upkeep.runtime_window);
    let what = format!(
        "the status line shows a window of {}, but the runtime compacts by {}",
        counted(shown),
        counted(used)
    );
    let next = match inspection.upkeep.status_from {
        StatusWindow::Long => {
            "The parameter context1m changes what is shown only: set contextWindow of the model in models.providers to what it really takes."
        }
        StatusWindow::SameId => {
            "The status line takes contextWindow of this model id at another provider of models.providers: give the model of this provider the window that it really takes."
        }
        StatusWindow::Known => {
            "The status line knows the model's id from the catalogue; contextWindow of the model in models.providers, or the default for it, says less: set it to what the model really takes."
        }
        StatusWindow::Default => {
            "The status line falls back on the default; contextWindow of the model in models.providers says less."
        }
    };
    (shown > used && !inspection.model.is_empty()).then(|| finding(inspection, Severity::Warning, what, next))
}

/// The row keeps another window than the one its next run goes by (compaction 7.7).
fn stored(inspection: &Inspection) -> Option<Finding> {
    let (stored, used) = (inspection.upkeep.row.context_tokens?, inspection.window.tokens);
    let next_stored = inspection.upkeep.stored_window;
    let again = if next_stored == stored { ", and stores it again" } else { "" };
    let what = format!(
        "its row says contextTokens {}, but the next run goes by {}{again}",
        counted(stored),
        counted(used)
    );
    let next =
        "The share of the window that lists show comes from the row; rules go by the window of the run.";
    (stored != used).then(|| finding(inspection, Severity::Note, what, next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::testing::{inspection, transcript, user};

    fn found(change: fn(&mut Inspection)) -> Vec<(Severity, String)> {
        let mut inspection = inspection(&transcript(&[user("x")]), 200_000.0);
        change(&mut inspection);
        findings(&inspection).into_iter().map(|finding| (finding.severity, finding.what)).collect()
    }

    #[test]
    fn windows_that_agree_are_not_worth_a_word() {
        assert_eq!(found(|it| it.upkeep.row.context_tokens = Some(200_000.0)), []);
    }

    #[test]
    fn a_small_window_is_told_in_the_gateways_words() {
        let warned = found(|it| it.window.tokens = 20_000.0);
        let log = "the gateway warns: low context window: anthropic/claude-opus-4-6 ctx=20000 (warn<32000) source=default";
        assert_eq!(warned, [(Severity::Warning, log.to_owned())]);
        let refused = found(|it| it.window.tokens = 8_000.0);
        assert!(refused[0].1.ends_with("too small (8000 tokens). Minimum is 16000."), "{}", refused[0].1);
    }

    #[test]
    fn a_status_line_that_promises_a_million_is_told() {
        let said = found(|it| it.upkeep.status_window = 1_048_576.0);
        assert_eq!(said.len(), 1);
        assert!(
            said[0]
                .1
                .replace('\u{a0}', " ")
                .contains("window of 1 048 576, but the runtime compacts by 200 000")
        );
    }

    #[test]
    fn a_window_that_nobody_named_says_so() {
        let mut session = inspection(&transcript(&[user("x")]), 200_000.0);
        assert_eq!(session.window_words(), "default, nobody named it");
        session.window.source = WindowSource::ModelsConfig;
        assert_eq!(session.window_words(), "config");
        assert_eq!(session.refused_window(), None);
    }

    #[test]
    fn the_advice_names_the_key_that_disagrees_and_context1m_only_where_it_is_set() {
        let mut session = inspection(&transcript(&[user("x")]), 200_000.0);
        session.upkeep.status_window = 1_048_576.0;
        let mut next = |from| {
            session.upkeep.status_from = from;
            findings(&session)[0].next.clone()
        };
        assert!(next(StatusWindow::Long).contains("context1m"));
        assert!(next(StatusWindow::SameId).contains("another provider"));
        for from in [StatusWindow::SameId, StatusWindow::Known, StatusWindow::Default] {
            let words = next(from);
            assert!(!words.contains("context1m") && words.contains("contextWindow"), "{words}");
        }
    }

    #[test]
    fn a_row_that_keeps_another_window_is_told_and_pi_has_no_such_row() {
        let said = found(|it| {
            it.upkeep.row.context_tokens = Some(100_000.0);
            it.upkeep.stored_window = 100_000.0;
        });
        assert_eq!(said.len(), 1);
        assert!(said[0].1.ends_with("and stores it again"));
        let pi = found(|it| {
            it.upkeep.gateway = false;
            it.window.tokens = 8_000.0;
        });
        assert_eq!(pi, []);
    }
}
