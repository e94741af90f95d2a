//! Actions: what each does where the focus is.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::message::{MessagePane, MessageView};
use crate::app::recovery::list_rows;
use crate::app::scroll::Scroll;
use crate::app::state::{App, Live, Overlay, Prompt, Purpose};
use crate::app::summary::SUMMARY_PAGE;
use crate::context::rows::RowKind;
use crate::gateway::provenance::Provenance;
use crate::gateway::ruleset::Chosen;
use crate::ids::EntryIx;
use crate::policy::Step;
use crate::redact::Secrets;

impl App {
    /// Does what an action says.
    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        if self.timeline_action(action) || self.compare_action(action) {
            return Vec::new();
        }
        if let Some(by) = self.rows_of(action) {
            return self.step(by);
        }
        if self.is_open(action) {
            return self.back();
        }
        match action {
            Action::Quit => vec![Effect::Quit],
            Action::Back => self.back(),
            Action::Open => self.open_here(),
            Action::Search => self.prompt_here(),
            Action::Breakdown => self.show_breakdown(),
            Action::Recovery => self.open_recovery(),
            Action::Explain => self.open_explain(),
            Action::Commits => self.open_commits(),
            Action::Branches => self.open_branches(),
            Action::Repair => self.repair(),
            Action::SavePlan if matches!(self.overlay, Some(Overlay::Compare)) => self.save_sweep(),
            Action::Yes
            | Action::No
            | Action::Commit
            | Action::Undo
            | Action::SavePlan
            | Action::ExportHtml
            | Action::ExportMarkdown
            | Action::ExportJson
            | Action::ExportPi
            | Action::SaveScreen => self.write_action(action),
            Action::Copy | Action::CopyPath | Action::CopyId | Action::CopyPatch | Action::Pager => {
                self.copy_action(action)
            }
            Action::Estimators => self.open_estimators(),
            Action::Reload
            | Action::TogglePause
            | Action::Demo
            | Action::ToggleMouse
            | Action::NextTheme
            | Action::ShowSecrets => self.program_action(action),
            Action::NextTarget => self.next_target(),
            Action::NextRuleset => self.next_ruleset(),
            _ => {
                self.quiet_action(action);
                Vec::new()
            }
        }
    }

    /// Whether what an action opens is in sight: the same key closes it, the key of another goes there.
    fn is_open(&self, action: Action) -> bool {
        let Some(overlay) = &self.overlay else { return false };
        match action {
            Action::Help => matches!(overlay, Overlay::Help { .. }),
            Action::Findings => matches!(overlay, Overlay::Findings { .. }),
            Action::Steps => matches!(overlay, Overlay::Steps(_)),
            Action::Estimators => matches!(overlay, Overlay::Estimators(_)),
            Action::Breakdown => matches!(overlay, Overlay::Breakdown(_)),
            Action::Recovery => matches!(overlay, Overlay::Recovery(_)),
            Action::Explain => matches!(overlay, Overlay::Explain(_)),
            Action::Commits => matches!(overlay, Overlay::Commits(_)),
            Action::Branches => matches!(overlay, Overlay::Branches(_)),
            Action::Timeline => matches!(overlay, Overlay::Timeline),
            Action::Compare => matches!(overlay, Overlay::Compare),
            _ => false,
        }
    }

    /// Actions that ask nothing of the shell.
    fn quiet_action(&mut self, action: Action) {
        let dialog = matches!(self.overlay, Some(Overlay::Write(_)));
        match action {
            Action::Diff if dialog => self.diff_from_dialog(),
            Action::Fold if matches!(self.overlay, Some(Overlay::Steps(_))) => self.toggle_step(),
            Action::Fold if matches!(self.overlay, Some(Overlay::Branches(_))) => self.toggle_same(),
            Action::Fold | Action::Collapse | Action::Expand | Action::FoldAll | Action::UnfoldAll
                if self.overlay.is_some() =>
            {
                self.fold_breakdown(action);
            }
            Action::Help => self.overlay = Some(Overlay::Help { top: 0 }),
            Action::Palette => self.overlay = Some(Overlay::Palette { text: String::new(), at: 0 }),
            Action::Findings => self.overlay = Some(Overlay::Findings { scroll: Scroll::default() }),
            Action::NextPane => self.focus_by(1),
            Action::PreviousPane => self.focus_by(-1),
            Action::FocusSessions => self.focus_on(Pane::Sessions),
            Action::FocusTranscript => self.focus_on(Pane::Transcript),
            Action::FocusMessage => self.focus_on(Pane::Message),
            Action::FocusTuning => self.focus_on(Pane::Tuning),
            Action::Steps => self.show_steps(),
            Action::Timeline => self.open_timeline(),
            Action::Compare => self.open_compare(),
            Action::ToggleStep => self.toggle_step(),
            Action::NextStep => self.step_focus_by(1),
            Action::PreviousStep => self.step_focus_by(-1),
            Action::Zoom => self.set_zoom(!self.zoom),
            Action::Diff => self.show_message(MessageView::Diff),
            Action::Raw => self.show_message(MessageView::Raw),
            Action::Wrap => self.look_at_message(MessagePane::toggle_wrap),
            Action::Thinking => self.look_at_message(MessagePane::toggle_thinking),
            Action::Fold if self.focus == Pane::Message => self.look_at_message(MessagePane::toggle_unfold),
            Action::NextMatch => self.next_match(true),
            Action::PreviousMatch => self.next_match(false),
            _ => {
                self.tuning_action(action);
                self.transcript_action(action);
            }
        }
    }

    /// How many rows an action moves the cursor by.
    fn rows_of(&self, action: Action) -> Option<isize> {
        let page = self.page_rows().max(1) as isize;
        Some(match action {
            Action::Down => 1,
            Action::Up => -1,
            Action::HalfPageDown => (page / 2).max(1),
            Action::HalfPageUp => -(page / 2).max(1),
            Action::PageDown => page,
            Action::PageUp => -page,
            Action::Top => isize::MIN / 2,
            Action::Bottom => isize::MAX / 2,
            _ => return None,
        })
    }

    /// Rows of a page of what has the keys.
    fn page_rows(&self) -> usize {
        match &self.overlay {
            Some(Overlay::Recovery(_)) => list_rows(self.size.1),
            Some(Overlay::Explain(screen)) => screen.list_rows(self.size),
            Some(Overlay::Breakdown(_)) => self.breakdown_rows(),
            Some(Overlay::Write(_)) => SUMMARY_PAGE,
            _ => {
                let page = self.branches_page().or_else(|| self.estimators_page());
                page.unwrap_or_else(|| self.height(self.focus))
            }
        }
    }

    pub(super) fn step(&mut self, by: isize) -> Vec<Effect> {
        if self.step_estimators(by) || self.step_branches(by) {
            return Vec::new();
        }
        if matches!(self.overlay, Some(Overlay::Timeline)) {
            self.wheel_timeline(by);
            return Vec::new();
        }
        let found = self.findings().count();
        let rows = self.breakdown_rows();
        match &mut self.overlay {
            Some(Overlay::Breakdown(screen)) => screen.scroll.step(by, screen.rows.len(), rows),
            Some(Overlay::Help { top }) => *top = top.saturating_add_signed(by).min(HELP_ROWS),
            Some(Overlay::Findings { scroll }) => {
                scroll.step(by, found, usize::from(self.size.1).saturating_sub(4));
            }
            Some(Overlay::Steps(screen)) => screen.move_by(by),
            Some(Overlay::Recovery(screen)) => screen.step(by, self.size.1),
            Some(Overlay::Write(dialog)) => dialog.scroll(by, self.size.0),
            Some(Overlay::Explain(screen)) => screen.step(by, self.size),
            Some(_) => {}
            None => return self.step_pane(self.focus, by),
        }
        Vec::new()
    }

    /// Moves the cursor of a pane.
    pub(super) fn step_pane(&mut self, pane: Pane, by: isize) -> Vec<Effect> {
        let height = self.height(pane);
        match pane {
            Pane::Sessions => {
                self.sessions.step(by, height);
                let key = self.sessions.selected().map(|item| item.key.clone());
                return key.map(|key| self.open(key)).unwrap_or_default();
            }
            Pane::Transcript => {
                if let Some(pane) = &mut self.transcript {
                    pane.scroll.step(by, pane.rows.len(), height);
                    pane.follow = pane.scroll.cursor + 1 >= pane.rows.len();
                }
            }
            Pane::Message => self.step_message(by),
            Pane::Tuning => {
                self.tuning.move_by(by, height);
                self.replan(false);
            }
        }
        Vec::new()
    }

    /// One step back: what is open, the zoom, the search, then pane by pane to the left.
    fn back(&mut self) -> Vec<Effect> {
        let searching = self.transcript.as_ref().is_some_and(|pane| !pane.query.is_empty());
        if self.overlay.take().is_some() {
        } else if self.zoom {
            self.set_zoom(false);
            self.message.view = MessageView::Text;
        } else if self.message.view != MessageView::Text {
            self.message.view = MessageView::Text;
        } else if self.focus == Pane::Transcript && searching {
            if let Some(pane) = &mut self.transcript {
                pane.query.clear();
                pane.matches.clear();
            }
        } else if self.focus == Pane::Sessions && !self.sessions.filter.is_empty() {
            self.sessions.filter.clear();
            let height = self.height(Pane::Sessions);
            self.sessions.refilter(height);
        } else {
            self.focus_on(match self.focus {
                Pane::Message | Pane::Tuning => Pane::Transcript,
                Pane::Transcript | Pane::Sessions => Pane::Sessions,
            });
        }
        Vec::new()
    }

    fn open_here(&mut self) -> Vec<Effect> {
        match (&self.overlay, self.focus) {
            (Some(Overlay::Steps(_)), _) => self.open_step(),
            (Some(Overlay::Estimators(_)), _) => self.go_to_call(),
            (Some(Overlay::Breakdown(_)), _) => self.open_in_breakdown(),
            (Some(Overlay::Recovery(_)), _) => self.leave_recovery(),
            (Some(Overlay::Explain(_)), _) => return self.leave_explain(),
            (Some(Overlay::Commits(_) | Overlay::Branches(_)), _) => self.leave_branches(),
            (Some(Overlay::Timeline), _) => self.leave_timeline(),
            (Some(Overlay::Compare), _) => self.take_cell(),
            (Some(_), _) => self.overlay = None,
            (None, Pane::Sessions) => {
                let key = self.sessions.selected().map(|item| item.key.clone());
                let effects = key.map(|key| self.open(key)).unwrap_or_default();
                self.focus_on(Pane::Transcript);
                return effects;
            }
            (None, Pane::Transcript) => {
                let fold = self.transcript.as_ref().and_then(|pane| pane.selected());
                match fold.map(|row| row.kind) {
                    Some(RowKind::Entry) => self.show_message(self.message.view),
                    Some(RowKind::Cut) => {
                        self.tuning.focus_step(Step::Compact);
                        self.show_steps();
                    }
                    Some(_) => self.transcript_action(Action::Fold),
                    None => {}
                }
            }
            (None, Pane::Message) => self.set_zoom(!self.zoom),
            (None, Pane::Tuning) => return self.write_action(Action::Commit),
        }
        Vec::new()
    }

    /// The line to type into that belongs to the focused pane.
    fn prompt_here(&mut self) -> Vec<Effect> {
        let (purpose, text) = match self.focus {
            Pane::Sessions => (Purpose::Filter, self.sessions.filter.clone()),
            Pane::Message => (Purpose::Find, self.message.query.clone()),
            Pane::Transcript | Pane::Tuning => {
                (Purpose::Search, self.transcript.as_ref().map(|pane| pane.query.clone()).unwrap_or_default())
            }
        };
        self.prompt = Some(Prompt::new(purpose, text));
        Vec::new()
    }

    fn focus_by(&mut self, by: isize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or(0) as isize;
        self.focus_on(Pane::ALL[(at + by).rem_euclid(4) as usize]);
    }

    /// Focuses a pane.
    pub(super) fn focus_on(&mut self, pane: Pane) {
        self.focus = pane;
        self.keep_in_sight();
    }

    /// From a screen over the panes to an entry in the transcript.
    pub(super) fn go_to(&mut self, entry: EntryIx) {
        self.overlay = None;
        self.set_zoom(false);
        self.focus_on(Pane::Transcript);
        let height = self.height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.reveal(entry, height);
        }
    }

    pub(super) fn set_zoom(&mut self, zoom: bool) {
        self.zoom = zoom;
        self.keep_in_sight();
    }

    /// The message over the whole screen in a view; there the same view again goes back to the text.
    fn show_message(&mut self, view: MessageView) {
        let again = self.zoom && self.focus == Pane::Message;
        match view {
            MessageView::Diff if again => self.message.toggle_diff(true),
            MessageView::Raw if again => self.message.toggle_raw(),
            _ => self.message.show(view),
        }
        self.focus = Pane::Message;
        self.set_zoom(true);
    }

    fn next_match(&mut self, forward: bool) {
        if self.focus == Pane::Message {
            self.next_in_message(forward);
            return;
        }
        let height = self.height(Pane::Transcript);
        let Some(pane) = &mut self.transcript else { return };
        if let Some(entry) = pane.next_match(forward) {
            pane.reveal(entry, height);
        }
    }

    fn tuning_action(&mut self, action: Action) {
        match action {
            Action::TogglePrune => self.tuning.toggle_preview(),
            Action::ToggleGate => {
                self.tuning.obey_gates = !self.tuning.obey_gates;
                self.tuning.steps = self.tuning.steps.with(Step::Prune, true);
                self.tuning.preview = true;
            }
            Action::Less => self.adjust(-1.0),
            Action::More => self.adjust(1.0),
            Action::MuchLess => self.adjust(-10.0),
            Action::MuchMore => self.adjust(10.0),
            Action::ToDefault => self.tuning.to_default(),
            Action::ToConfig => self.tuning.to_config(),
            Action::AllToConfig => self.tuning.all_to_config(),
            Action::Edit if self.tells_fixed() || self.tuning.focused().is_none() => return,
            Action::Edit => {
                self.prompt = Some(Prompt::new(Purpose::Setting, self.tuning.edit_text()));
                return;
            }
            _ => return,
        }
        self.replan(true);
    }

    /// Moves the focused setting; lists and texts are typed.
    fn adjust(&mut self, steps: f64) {
        use crate::gateway::prune_setting::Control;
        if self.tells_fixed() {
            return;
        }
        let Some(control) = self.tuning.current().map(|row| row.control) else {
            self.toast(format!("{} has no settings", self.tuning.step.word()), false);
            return;
        };
        if matches!(control, Control::List | Control::Text) {
            self.prompt = Some(Prompt::new(Purpose::Setting, self.tuning.edit_text()));
            return;
        }
        self.tuning.show_step();
        self.tuning.adjust(steps);
    }

    /// Says why the focused setting does not move, where the version has it built in.
    pub(super) fn tells_fixed(&mut self) -> bool {
        let row = self.tuning.current();
        let told = row.and_then(|row| Some(format!("{} is {}", row.key, row.control.fixed()?)));
        let fixed = told.is_some();
        if let Some(words) = told {
            self.toast(words, false);
        }
        fixed
    }

    /// Reads everything again by the rules of the next version.
    fn next_ruleset(&mut self) -> Vec<Effect> {
        let Some(now) = self.listing.as_ref().map(|listing| listing.ruleset.ruleset) else {
            return Vec::new();
        };
        let next = Chosen::by(now.next(), Provenance::Tuned);
        self.toast(format!("Rules of {}.", next.ruleset.name()), false);
        let mut effects = vec![Effect::Follow(next)];
        effects.extend(self.follow_changes(|_| true, |_| true));
        effects
    }

    fn program_action(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Reload => return self.follow_changes(|_| true, |_| true),
            Action::TogglePause => {
                if let Live::Paused { changes } = self.live {
                    self.live = Live::Live;
                    return if changes > 0 { self.follow_changes(|_| true, |_| true) } else { Vec::new() };
                }
                self.live = Live::Paused { changes: 0 };
            }
            Action::Demo => {
                self.transcript = None;
                self.plan = None;
                return vec![Effect::List { demo: true }];
            }
            Action::ToggleMouse => {
                self.options.mouse = !self.options.mouse;
                self.toast(
                    if self.options.mouse { "mouse on" } else { "mouse left to the terminal" }.into(),
                    false,
                );
                return vec![Effect::Mouse(self.options.mouse)];
            }
            Action::NextTheme => {
                self.options.theme = (self.options.theme + 1) % self.options.themes.len().max(1);
            }
            Action::ShowSecrets => self.toggle_secrets(),
            _ => {}
        }
        Vec::new()
    }
}

impl App {
    /// Shows the secrets in titles and rows, or hides them again.
    fn toggle_secrets(&mut self) {
        let (secrets, words) = match self.secrets {
            Secrets::Hidden => (Secrets::Shown, "Secrets shown"),
            Secrets::Shown => (Secrets::Hidden, "Secrets hidden"),
        };
        self.secrets = secrets;
        self.toast(words.into(), false);
    }
}

/// More rows than the help has; drawing stops at its end.
const HELP_ROWS: usize = 200;
