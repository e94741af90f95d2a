//! The command line that prints what the screen shows, so that the screens teach the commands.

use std::sync::Arc;

use crate::app::action::ScreenKind;
use crate::app::effect::{Effect, PendingWrite};
use crate::app::layout::Pane;
use crate::app::logged_command::LoggedCommand;
use crate::app::screens::Overlay;
use crate::app::state::App;
use crate::commit::UndoTarget;
use crate::gateway::provenance::Provenance;
use crate::policy::PolicySet;
use crate::session::LoadedSession;
use crate::session::preset_values::set_text;
use crate::text::shell;

/// The most commands that are remembered.
const MAX_COMMANDS: usize = 500;

impl App {
    /// Returns the command line for the screen; `None` before a store is listed.
    pub fn command_line(&self) -> Option<String> {
        let words = match self.page() {
            Some(Overlay::Search) => {
                vec!["search".to_owned(), "--".to_owned(), self.search_screen.query.text().to_owned()]
            }
            Some(Overlay::Findings(_)) => vec!["doctor".to_owned()],
            Some(Overlay::Presets(_)) => vec!["presets".to_owned()],
            Some(Overlay::Rule(screen)) => {
                vec!["rule".to_owned(), format!("{}-{}", screen.rule.document.name, screen.rule.id)]
            }
            Some(Overlay::Record(screen)) => vec!["record".to_owned(), screen.key.0.clone()],
            Some(screen) => self.session_words(screen.kind()?)?,
            None if self.focus == Pane::Sessions || self.active_session().is_none() => {
                vec!["sessions".to_owned()]
            }
            None => self.context_words()?,
        };
        self.command(&words)
    }

    /// Returns the words for a screen about the open session.
    fn session_words(&self, kind: ScreenKind) -> Option<Vec<String>> {
        let session = self.active_session()?;
        let plain = |command: &str, options: &[&str]| {
            let options = options.iter().map(|option| (*option).to_owned());
            [command.to_owned(), session.item.key.0.clone()].into_iter().chain(options).collect()
        };
        Some(match kind {
            ScreenKind::Explain => plain("explain", &[]),
            ScreenKind::Recovery => plain("recovery", &[]),
            ScreenKind::Estimators => plain("context", &["--estimators"]),
            ScreenKind::Breakdown => plain("context", &["--breakdown"]),
            ScreenKind::Commits => plain("commits", &[]),
            ScreenKind::Branches => plain("compare", &[]),
            ScreenKind::Timeline => [plain("replay", &["--timeline"]), self.plan_words(session)].concat(),
            ScreenKind::Compare => [plain("sweep", &[]), self.axis_words(), self.set_words(session)].concat(),
            ScreenKind::Steps => [plain("simulate", &[]), self.plan_words(session)].concat(),
            _ => return None,
        })
    }

    /// Returns the words for the panes: the context as it is, or the preview of it.
    fn context_words(&self) -> Option<Vec<String>> {
        let session = self.active_session()?;
        let command = if !self.tuning.preview || self.tuning.policies == PolicySet::NONE {
            "context"
        } else {
            "simulate"
        };
        let mut words = vec![command.to_owned(), session.item.key.0.clone()];
        let shown = self.displayed_session().unwrap_or(session);
        if let Some(leaf) = shown.context.leaf.filter(|leaf| Some(*leaf) != session.context.leaf) {
            words.extend(["--leaf".to_owned(), shown.index.display_id(leaf)]);
        }
        words.extend(self.plan_words(session));
        if command == "simulate" && self.tuning.respect_gates {
            words.extend(["--gates".to_owned(), "--now".to_owned(), self.now_ms.to_string()]);
        }
        Some(words)
    }

    /// Returns the policies and the changed settings as options.
    fn plan_words(&self, session: &LoadedSession) -> Vec<String> {
        let names: Vec<&str> = self.tuning.policies.iter().map(crate::policy::Policy::word).collect();
        let mut words = Vec::new();
        if self.tuning.preview && !names.is_empty() {
            words.extend(["--policy".to_owned(), names.join(",")]);
            words.extend(self.set_words(session));
        }
        words
    }

    /// A setting of a policy that is off has no effect, and the command would refuse it.
    fn set_words(&self, session: &LoadedSession) -> Vec<String> {
        let changes = self.tuned_changes(session);
        let is_on = |policy: Option<_>| policy.is_none_or(|policy| self.tuning.policies.has(policy));
        let texts = changes.iter().filter(|change| is_on(change.policy())).map(set_text);
        texts.flat_map(|(key, value)| ["--set".to_owned(), format!("{key}={value}")]).collect()
    }

    fn command(&self, words: &[String]) -> Option<String> {
        let listing = self.listing.as_ref()?;
        let mut line = vec!["clawscope".to_owned()];
        line.extend(words.iter().map(|word| shell::word(word)));
        if listing.demo {
            line.push("--demo".to_owned());
        } else if let Some(path) = &listing.store_path {
            line.extend(["--store".to_owned(), shell::word(&path.to_string_lossy())]);
        }
        if matches!(listing.ruleset.provenance, Provenance::Flag | Provenance::Tuned) {
            line.extend(["--ruleset".to_owned(), shell::word(listing.ruleset.id.id())]);
        }
        Some(line.join(" "))
    }

    /// Logs what the screen shows now, unless it is what was logged last, and every write.
    pub(super) fn log_commands(&mut self, effects: &[Effect]) {
        if let Some(line) = self.command_line() {
            self.log_command(line);
        }
        let writes: Vec<String> = effects.iter().filter_map(|effect| self.write_command(effect)).collect();
        for line in writes {
            self.log_command(line);
        }
    }

    fn write_command(&self, effect: &Effect) -> Option<String> {
        let Effect::Write { pending, .. } = effect else { return None };
        let words = match pending {
            PendingWrite::Commit { session, .. } => {
                let start = vec!["commit".to_owned(), session.item.key.0.clone()];
                [start, self.plan_words(session), vec!["--apply".to_owned()]].concat()
            }
            PendingWrite::Undo { session, target } => {
                let mut words = vec!["undo".to_owned(), session.item.key.0.clone()];
                match target {
                    UndoTarget::LastCommit => {}
                    UndoTarget::LastUndo => words.push("--redo".to_owned()),
                    UndoTarget::Entry(id) => words.extend(["--commit".to_owned(), id.clone()]),
                }
                words.push("--apply".to_owned());
                words
            }
        };
        self.command(&words)
    }

    /// While settings are moved, one line keeps up with them.
    fn log_command(&mut self, line: String) {
        let at_ms = self.now_ms;
        let commands = Arc::make_mut(&mut self.commands);
        if let Some(last) = commands.last_mut() {
            if last.line == line {
                return;
            }
            let start = |line: &str| line.split(" --set ").next().map(str::to_owned);
            if line.contains(" --set ") && start(&last.line) == start(&line) {
                *last = LoggedCommand { at_ms, line };
                return;
            }
        }
        if commands.len() == MAX_COMMANDS {
            commands.remove(0);
        }
        commands.push(LoggedCommand { at_ms, line });
    }
}
