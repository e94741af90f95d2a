//! Opens screens, passes actions to them, and carries out their outcomes.

use crate::app::action::{Action, ScreenKind};
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::screens::context::{Outcome, ProgramScreen, ScreenContext};
use crate::app::screens::palette::PaletteScreen;
use crate::app::state::{App, Overlay};
use crate::ids::SessionKey;
use crate::policy::Policy;
use crate::policy::reason::Reason;
use crate::policy::settings::SettingId;

impl App {
    pub(super) fn screen_context(&self) -> ScreenContext {
        ScreenContext {
            size: self.size,
            layout: self.layout(),
            session: self.displayed_session().cloned(),
            active_session: self.active_session().cloned(),
            plan: self.preview.plan.clone(),
            selected_entry: self.selected_entry(),
            selected_session: self.selected_session(),
            problem_count: self.problems().count(),
        }
    }

    fn selected_session(&self) -> Option<SessionKey> {
        let selected = self.sessions.selected().filter(|_| self.focus == Pane::Sessions);
        let shown = self.displayed_session().map(|session| &session.item);
        selected.or(shown).map(|item| item.key.clone())
    }

    /// Returns the rule behind the gate or the policy of the tuning pane, otherwise behind the fate of the selected
    /// message; empty if no rule decides it.
    pub(super) fn cited_rule(&self) -> &'static str {
        let plan = self.preview.plan.as_deref();
        if self.focus == Pane::Tuning {
            let gate =
                plan.filter(|_| self.tuning.policy == Policy::Prune).and_then(|plan| plan.gate.reason());
            return gate.map_or(self.tuning.policy.rule(), Reason::rule);
        }
        let fate = self.transcript.as_ref().zip(plan).and_then(|(pane, plan)| pane.selected_fate(plan));
        fate.map_or("", |fate| fate.reason.rule())
    }

    /// Opens a screen over the others, or closes it when it is on top.
    pub(super) fn toggle_screen(&mut self, kind: ScreenKind) -> Vec<Effect> {
        if self.overlay().and_then(Overlay::kind) == Some(kind) {
            self.views.pop();
            return Vec::new();
        }
        let context = self.screen_context();
        match Overlay::open(kind, &context, || self.new_help(), || self.new_palette()) {
            Ok(screen) => {
                let mut effects = screen.requests(&context);
                self.views.push(screen);
                effects.extend(self.on_opened_screen(kind));
                effects
            }
            Err(reason) => {
                self.show_note(reason.to_owned());
                Vec::new()
            }
        }
    }

    fn new_palette(&self) -> PaletteScreen {
        let likely = self.likely_actions().into_iter().flat_map(|(actions, _)| actions.to_vec()).collect();
        let presets = self.presets.iter().map(|preset| preset.name.clone()).collect();
        PaletteScreen::new(self.key_context(), likely, self.history.recent_actions.clone())
            .with_commands(&self.options.commands)
            .with_presets(presets, self.active_session().map_or(0, |own| self.changed_settings(own).len()))
            .with_ruleset(self.current_ruleset().map(|choice| choice.id))
    }

    /// Brings the state that a screen shows up to date; returns the requests that this takes.
    fn on_opened_screen(&mut self, kind: ScreenKind) -> Vec<Effect> {
        if kind == ScreenKind::Compare {
            self.compare_screen.sides = None;
        }
        if kind == ScreenKind::Timeline {
            self.start_timeline();
        }
        if kind == ScreenKind::Problems {
            return self.start_problems();
        }
        if kind == ScreenKind::Search {
            self.navigation.returns_to_search = false;
            self.type_store_search();
            return self.resume_store_search();
        }
        Vec::new()
    }

    /// Requests the data of every open screen for the session that was read.
    pub(super) fn refresh_screens(&mut self) -> Vec<Effect> {
        let context = self.screen_context();
        self.views.iter_mut().flat_map(|screen| screen.refresh(&context)).collect()
    }

    /// Gives an action to the top screen; `None` when the main screen handles it.
    pub(super) fn dispatch_to_screen(&mut self, action: Action) -> Option<Vec<Effect>> {
        self.views.top()?;
        let context = self.screen_context();
        let is_done = match self.views.top_mut()?.on_action(action, &context) {
            Outcome::Ignored => false,
            Outcome::Program(ProgramScreen::Problems) => return self.dispatch_problems(action),
            Outcome::Program(ProgramScreen::Help) => {
                self.open_in_help();
                true
            }
            Outcome::Program(ProgramScreen::Search) => return self.dispatch_store_search(action),
            Outcome::Program(ProgramScreen::Timeline) if action == Action::Copy => {
                return Some(self.copy_timeline());
            }
            Outcome::Program(ProgramScreen::Timeline) => self.dispatch_timeline(action),
            Outcome::Program(ProgramScreen::Compare) if self.compare_screen.sides.is_some() => {
                return self.dispatch_sides(action);
            }
            Outcome::Program(ProgramScreen::Compare) => match action {
                Action::Copy | Action::CopyPatch => return Some(self.copy_cell()),
                Action::SavePlan => return Some(self.save_sweep()),
                Action::Open => return Some(self.apply_cell()),
                _ => self.dispatch_compare(action),
            },
            outcome => return Some(self.follow(outcome)),
        };
        is_done.then(Vec::new)
    }

    /// Moves the cursor of the top screen; returns whether there is one.
    pub(super) fn move_on_screen(&mut self, by: isize) -> bool {
        if self.views.top().is_none() {
            return false;
        }
        let context = self.screen_context();
        let Some(screen) = self.views.top_mut() else { return false };
        match screen.move_by(by, &context) {
            Outcome::Program(ProgramScreen::Help) => self.move_in_help(by),
            Outcome::Program(ProgramScreen::Timeline) => self.scroll_timeline(by),
            Outcome::Program(ProgramScreen::Search) => self.search_screen.move_by(by, &context),
            // Only keys move the map cell by cell.
            Outcome::Program(_) => {}
            outcome => drop(self.follow(outcome)),
        }
        true
    }

    /// Carries out the outcome of a screen.
    pub(super) fn follow(&mut self, outcome: Outcome) -> Vec<Effect> {
        match outcome {
            Outcome::Ignored | Outcome::Done | Outcome::Program(_) => {}
            Outcome::Close => drop(self.views.pop()),
            Outcome::GoTo(entry) => self.go_to_entry(entry),
            Outcome::Say(text) => self.show_note(text.to_owned()),
            Outcome::Copy { text, label } => return vec![Effect::Copy { text, label }],
            Outcome::Request(effects) => return effects,
            Outcome::ByHand(change) => return self.open_manual_dialog(change),
            Outcome::Apply(settings) => {
                let settings: Vec<(SettingId, &_)> =
                    settings.iter().map(|(id, value)| (*id, value)).collect();
                return self.apply_settings(&settings);
            }
        }
        Vec::new()
    }

    fn dispatch_problems(&mut self, action: Action) -> Option<Vec<Effect>> {
        let Some(Overlay::Problems(screen)) = self.overlay() else { return None };
        match action {
            Action::Copy => {
                let text = self.problems().nth(screen.scroll.cursor).map(|(found, _)| found.to_string());
                Some(self.follow(Outcome::copy(text, "problem")))
            }
            Action::Open => {
                let at = screen.scroll.cursor;
                Some(self.open_problem(at))
            }
            _ => None,
        }
    }

    fn copy_timeline(&mut self) -> Vec<Effect> {
        let text = self.timeline_text();
        self.follow(Outcome::copy(text, "timeline"))
    }

    /// Keeps the cursors of all screens visible after the terminal was resized.
    pub(super) fn keep_screen_cursors_visible(&mut self) {
        let context = self.screen_context();
        for screen in self.views.iter_mut() {
            screen.move_by(0, &context);
        }
        self.search_screen.move_by(0, &context);
    }
}
