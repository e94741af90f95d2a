//! The command line that prints the contents of the screen, so that the screens teach the commands.

use crate::app::action::ScreenKind;
use crate::app::command_words::CommandWords;
use crate::app::layout::Pane;
use crate::app::screens::Overlay;
use crate::app::state::App;
use crate::gateway::registry::Provenance;
use crate::policy::PolicySet;
use crate::session::LoadedSession;
use crate::session::setting_change::set_text;

impl App {
    /// Returns the command line for the screen; `None` before a store is listed.
    pub fn command_line(&self) -> Option<String> {
        Some(self.shown_command()?.line())
    }

    fn shown_command(&self) -> Option<CommandWords> {
        let words = match self.page() {
            Some(Overlay::Search) => {
                let text = self.search_screen.query.text();
                // Without words, the screen has not searched.
                CommandWords::new("search").value(Some(text).filter(|text| !text.trim().is_empty())?)
            }
            Some(Overlay::Problems(_)) => CommandWords::new("doctor"),
            Some(Overlay::Compare) if self.compare_screen.sides.is_some() => {
                CommandWords::new("settings").flag("--presets")
            }
            Some(Overlay::Record(screen)) => CommandWords::new("sessions").value(&screen.key.0),
            Some(screen) => self.session_command(screen.kind()?)?,
            None if self.focus == Pane::Sessions || self.active_session().is_none() => {
                let words = CommandWords::new("sessions");
                let (filter, is_valid) = (&self.sessions.filter, self.sessions.problem.is_none());
                if filter.trim().is_empty() || !is_valid { words } else { words.option("--filter", filter) }
            }
            None => self.pane_command()?,
        };
        self.in_store(words)
    }

    /// Returns the command for a screen about the open session.
    fn session_command(&self, kind: ScreenKind) -> Option<CommandWords> {
        let session = self.active_session()?;
        let of_session = |name| CommandWords::new(name).value(&session.item.key.0);
        Some(match kind {
            ScreenKind::Explain => of_session("explain"),
            ScreenKind::Breakdown => of_session("context").flag("--breakdown"),
            ScreenKind::Branches => of_session("undo").flag("--list"),
            ScreenKind::Timeline => self.with_plan(of_session("replay").flag("--timeline"), session),
            ScreenKind::Compare => {
                let axes = self.axis_texts().into_iter();
                let words = axes.fold(of_session("sweep"), |words, axis| words.option("--vary", axis));
                self.with_settings(words, session)
            }
            _ => return None,
        })
    }

    /// Returns the command for the panes: the whole file as a tree, the context, or the preview of it.
    fn pane_command(&self) -> Option<CommandWords> {
        let session = self.active_session()?;
        if self.has_preview() || self.shows_policies() {
            let words = CommandWords::new("simulate").value(&session.item.key.0);
            return Some(self.with_gates(self.with_plan(self.with_leaf(words, session), session)));
        }
        let shows_file = self.transcript.as_ref().is_some_and(|pane| pane.folds.history);
        let words = CommandWords::new(if shows_file { "tree" } else { "context" }).value(&session.item.key.0);
        // One message is shown by the context that ends with it.
        let message = self.selected_entry().filter(|_| self.focus == Pane::Message);
        Some(match message {
            Some(entry) => {
                let shown = self.displayed_session().unwrap_or(session);
                CommandWords::new("context")
                    .value(&session.item.key.0)
                    .option("--leaf", shown.index.display_id(entry))
            }
            None if shows_file => words,
            None => self.with_leaf(words, session),
        })
    }

    fn has_preview(&self) -> bool {
        self.tuning.preview && self.tuning.policies != PolicySet::NONE
    }

    /// Adds the leaf of an earlier prompt, while that is shown.
    fn with_leaf(&self, words: CommandWords, session: &LoadedSession) -> CommandWords {
        let shown = self.displayed_session().map_or(session, |shown| &**shown);
        match shown.context.leaf.filter(|leaf| Some(*leaf) != session.context.leaf) {
            Some(leaf) => words.option("--leaf", shown.index.display_id(leaf)),
            None => words,
        }
    }

    /// Adds the policies and the changed settings of the preview.
    fn with_plan(&self, words: CommandWords, session: &LoadedSession) -> CommandWords {
        if !self.has_preview() {
            return words;
        }
        let names: Vec<&str> = self.tuning.policies.iter().map(crate::policy::Policy::word).collect();
        self.with_settings(words.option("--policy", names.join(",")), session)
    }

    /// A setting of a policy that is off has no effect, and the command would refuse it.
    fn with_settings(&self, words: CommandWords, session: &LoadedSession) -> CommandWords {
        let is_on = |policy: Option<_>| policy.is_none_or(|policy| self.tuning.policies.has(policy));
        let changes = self.tuned_changes(session);
        let texts = changes.iter().filter(|change| is_on(change.policy())).map(set_text);
        texts.fold(words, |words, (key, value)| words.option("--set", format!("{key}={value}")))
    }

    fn with_gates(&self, words: CommandWords) -> CommandWords {
        if !self.has_preview() || !self.respects_gates() {
            return words;
        }
        words.flag("--gates").option("--now", self.call_time_ms().whole().to_string())
    }

    /// Adds the store and the rules on the screen.
    fn in_store(&self, words: CommandWords) -> Option<CommandWords> {
        let listing = self.store.listing.as_ref()?;
        let words = match (&listing.store_path, &self.options.copied_store) {
            _ if listing.demo => words.flag("--demo"),
            (Some(path), Some(copied)) => copied.add_to(words, path),
            (Some(path), None) => words.option("--store", path.to_string_lossy()),
            (None, _) => words,
        };
        Some(match listing.ruleset.provenance {
            Provenance::Flag | Provenance::Tuned => words.option("--ruleset", listing.ruleset.id.id()),
            _ => words,
        })
    }
}
