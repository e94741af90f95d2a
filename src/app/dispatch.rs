//! Runs actions, depending on the focus.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::layout::Pane;
use crate::app::message::{MessagePane, MessageView};
use crate::app::recovery::list_rows;
use crate::app::scroll::Scroll;
use crate::app::state::{App, InputPurpose, LineInput, Overlay, UpdateMode};
use crate::app::summary_dialog::SUMMARY_PAGE;
use crate::context::rows::RowKind;
use crate::gateway::provenance::Provenance;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::EntryIx;
use crate::policy::Policy;
use crate::redact::SecretDisplay;

impl App {
    pub fn dispatch(&mut self, action: Action) -> Vec<Effect> {
        if self.dispatch_timeline(action) || self.dispatch_compare(action) {
            return Vec::new();
        }
        if let Some(by) = self.cursor_delta(action) {
            return self.move_cursor(by);
        }
        if self.is_overlay_open(action) {
            return self.back();
        }
        match action {
            Action::Quit => vec![Effect::Quit],
            Action::Back => self.back(),
            Action::Open => self.open_selected(),
            Action::Search => self.open_input(),
            Action::Breakdown => self.open_breakdown(),
            Action::Recovery => self.open_recovery(),
            Action::Explain => self.open_explain(),
            Action::Commits => self.open_commits(),
            Action::Branches => self.open_branches(),
            Action::Repair => self.repair(),
            Action::SavePlan if matches!(self.overlay(), Some(Overlay::Compare)) => self.save_sweep(),
            Action::Yes
            | Action::No
            | Action::Commit
            | Action::Undo
            | Action::SavePlan
            | Action::ExportHtml
            | Action::ExportMarkdown
            | Action::ExportJson
            | Action::ExportPi
            | Action::SaveScreen => self.dispatch_write(action),
            Action::Copy | Action::CopyPath | Action::CopyId | Action::CopyPatch | Action::Pager => {
                self.dispatch_copy(action)
            }
            Action::Estimators => self.open_estimators(),
            Action::Reload
            | Action::TogglePause
            | Action::Demo
            | Action::ToggleMouse
            | Action::NextTheme
            | Action::ShowSecrets => self.dispatch_program(action),
            Action::NextTarget => self.select_next_target(),
            Action::NextRuleset => self.next_ruleset(),
            _ => {
                self.dispatch_local(action);
                Vec::new()
            }
        }
    }

    /// Whether the action's own screen is open: its key then closes the screen.
    fn is_overlay_open(&self, action: Action) -> bool {
        let Some(overlay) = self.overlay() else { return false };
        match action {
            Action::Help => matches!(overlay, Overlay::Help { .. }),
            Action::Findings => matches!(overlay, Overlay::Findings { .. }),
            Action::Steps => matches!(overlay, Overlay::Policies(_)),
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

    /// Runs actions that need no effect.
    fn dispatch_local(&mut self, action: Action) {
        let dialog = matches!(self.overlay(), Some(Overlay::Write(_)));
        match action {
            Action::Diff if dialog => self.show_first_diff(),
            Action::Fold if matches!(self.overlay(), Some(Overlay::Policies(_))) => self.toggle_policy(),
            Action::Fold if matches!(self.overlay(), Some(Overlay::Branches(_))) => self.toggle_identical(),
            Action::Fold | Action::Collapse | Action::Expand | Action::FoldAll | Action::UnfoldAll
                if self.overlay().is_some() =>
            {
                self.fold_breakdown(action);
            }
            Action::Help => self.views.push(Overlay::Help { top: 0 }),
            Action::Palette => self.views.push(Overlay::Palette { text: String::new(), selected: 0 }),
            Action::Findings => self.views.push(Overlay::Findings { scroll: Scroll::default() }),
            Action::NextPane => self.focus_next_by(1),
            Action::PreviousPane => self.focus_next_by(-1),
            Action::FocusSessions => self.show_pane(Pane::Sessions),
            Action::FocusTranscript => self.show_pane(Pane::Transcript),
            Action::FocusMessage => self.show_pane(Pane::Message),
            Action::FocusTuning => self.show_pane(Pane::Tuning),
            Action::Steps => self.open_policies(),
            Action::Timeline => self.open_timeline(),
            Action::Compare => self.open_compare(),
            Action::ToggleStep => self.toggle_policy(),
            Action::NextStep => self.focus_policy_by(1),
            Action::PreviousStep => self.focus_policy_by(-1),
            Action::Zoom => self.set_zoom(!self.zoom),
            Action::Diff => self.zoom_message(MessageView::Diff),
            Action::Raw => self.zoom_message(MessageView::Raw),
            Action::Wrap => self.change_message_view(MessagePane::toggle_wrap),
            Action::Thinking => self.change_message_view(MessagePane::toggle_thinking),
            Action::Fold if self.focus == Pane::Message => {
                self.change_message_view(MessagePane::toggle_unfold);
            }
            Action::NextMatch => self.go_to_match(true),
            Action::PreviousMatch => self.go_to_match(false),
            _ => {
                self.dispatch_tuning(action);
                self.dispatch_transcript(action);
            }
        }
    }

    /// Returns the rows by which an action moves the cursor.
    fn cursor_delta(&self, action: Action) -> Option<isize> {
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

    /// Rows of a page in the focused list.
    fn page_rows(&self) -> usize {
        match self.overlay() {
            Some(Overlay::Recovery(_)) => list_rows(self.size.1),
            Some(Overlay::Explain(screen)) => screen.page_rows(self.size),
            Some(Overlay::Breakdown(_)) => self.breakdown_rows(),
            Some(Overlay::Write(_)) => SUMMARY_PAGE,
            _ => {
                let page = self.branch_list_rows().or_else(|| self.estimators_page_rows());
                page.unwrap_or_else(|| self.pane_height(self.focus))
            }
        }
    }

    pub(super) fn move_cursor(&mut self, by: isize) -> Vec<Effect> {
        if self.move_estimators_cursor(by) || self.move_branches_cursor(by) {
            return Vec::new();
        }
        if matches!(self.overlay(), Some(Overlay::Timeline)) {
            self.scroll_timeline(by);
            return Vec::new();
        }
        let found = self.findings().count();
        let rows = self.breakdown_rows();
        match self.views.top_mut() {
            Some(Overlay::Breakdown(screen)) => screen.scroll.move_by(by, screen.rows.len(), rows),
            Some(Overlay::Help { top }) => *top = top.saturating_add_signed(by).min(MAX_HELP_ROWS),
            Some(Overlay::Findings { scroll }) => {
                scroll.move_by(by, found, usize::from(self.size.1).saturating_sub(4));
            }
            Some(Overlay::Policies(screen)) => screen.move_by(by),
            Some(Overlay::Recovery(screen)) => screen.move_by(by, self.size.1),
            Some(Overlay::Write(dialog)) => dialog.scroll_by(by, self.size.0),
            Some(Overlay::Explain(screen)) => screen.move_by(by, self.size),
            Some(_) => {}
            None => return self.move_pane_cursor(self.focus, by),
        }
        Vec::new()
    }

    pub(super) fn move_pane_cursor(&mut self, pane: Pane, by: isize) -> Vec<Effect> {
        let height = self.pane_height(pane);
        match pane {
            Pane::Sessions => {
                self.sessions.move_by(by, height);
                let key = self.sessions.selected().map(|item| item.key.clone());
                return key.map(|key| self.open_session(key)).unwrap_or_default();
            }
            Pane::Transcript => {
                if let Some(pane) = &mut self.transcript {
                    pane.scroll.move_by(by, pane.rows.len(), height);
                    pane.follow = pane.scroll.cursor + 1 >= pane.rows.len();
                }
            }
            Pane::Message => self.scroll_message(by),
            Pane::Tuning => {
                self.tuning.move_by(by, height);
                self.replan(false);
            }
        }
        Vec::new()
    }

    /// Steps back once: the top view, the zoom, the search, then pane by pane to the left.
    fn back(&mut self) -> Vec<Effect> {
        let searching = self.transcript.as_ref().is_some_and(|pane| !pane.query.is_empty());
        if self.views.pop().is_some() {
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
            let height = self.pane_height(Pane::Sessions);
            self.sessions.refilter(height);
        } else {
            self.focus_pane(match self.focus {
                Pane::Message | Pane::Tuning => Pane::Transcript,
                Pane::Transcript | Pane::Sessions => Pane::Sessions,
            });
        }
        Vec::new()
    }

    fn open_selected(&mut self) -> Vec<Effect> {
        match (self.overlay(), self.focus) {
            (Some(Overlay::Policies(_)), _) => self.open_policy_settings(),
            (Some(Overlay::Estimators(_)), _) => self.go_to_estimated_call(),
            (Some(Overlay::Breakdown(_)), _) => self.open_breakdown_row(),
            (Some(Overlay::Recovery(_)), _) => self.go_to_recovery_entry(),
            (Some(Overlay::Explain(_)), _) => return self.open_explain_row(),
            (Some(Overlay::Commits(_) | Overlay::Branches(_)), _) => self.go_to_branch_entry(),
            (Some(Overlay::Timeline), _) => self.go_to_timeline_entry(),
            (Some(Overlay::Compare), _) => self.apply_cell(),
            (Some(_), _) => drop(self.views.pop()),
            (None, Pane::Sessions) => {
                let key = self.sessions.selected().map(|item| item.key.clone());
                let effects = key.map(|key| self.open_session(key)).unwrap_or_default();
                self.focus_pane(Pane::Transcript);
                return effects;
            }
            (None, Pane::Transcript) => {
                let fold = self.transcript.as_ref().and_then(|pane| pane.selected());
                match fold.map(|row| row.kind) {
                    Some(RowKind::Entry) => self.zoom_message(self.message.view),
                    Some(RowKind::Cut) => {
                        self.tuning.focus_policy(Policy::Compact);
                        self.open_policies();
                    }
                    Some(_) => self.dispatch_transcript(Action::Fold),
                    None => {}
                }
            }
            (None, Pane::Message) => self.set_zoom(!self.zoom),
            (None, Pane::Tuning) => return self.dispatch_write(Action::Commit),
        }
        Vec::new()
    }

    /// Opens the input line of the focused pane.
    fn open_input(&mut self) -> Vec<Effect> {
        self.views.clear();
        let (purpose, text) = match self.focus {
            Pane::Sessions => (InputPurpose::Filter, self.sessions.filter.clone()),
            Pane::Message => (InputPurpose::Find, self.message.query.clone()),
            Pane::Transcript | Pane::Tuning => (
                InputPurpose::Search,
                self.transcript.as_ref().map(|pane| pane.query.clone()).unwrap_or_default(),
            ),
        };
        self.input = Some(LineInput::new(purpose, text));
        Vec::new()
    }

    fn focus_next_by(&mut self, by: isize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or(0) as isize;
        self.focus_pane(Pane::ALL[(at + by).rem_euclid(4) as usize]);
    }

    /// Closes every screen and focuses a pane.
    fn show_pane(&mut self, pane: Pane) {
        self.views.clear();
        self.focus_pane(pane);
    }

    pub(super) fn focus_pane(&mut self, pane: Pane) {
        self.focus = pane;
        self.keep_cursors_visible();
    }

    /// Closes every screen and moves to an entry in the transcript.
    pub(super) fn go_to_entry(&mut self, entry: EntryIx) {
        self.views.clear();
        self.set_zoom(false);
        self.focus_pane(Pane::Transcript);
        let height = self.pane_height(Pane::Transcript);
        if let Some(pane) = &mut self.transcript {
            pane.reveal(entry, height);
        }
    }

    pub(super) fn set_zoom(&mut self, zoom: bool) {
        self.zoom = zoom;
        self.keep_cursors_visible();
    }

    /// Shows the message on the full screen in a view; the same view again returns to the text.
    fn zoom_message(&mut self, view: MessageView) {
        self.views.clear();
        let again = self.zoom && self.focus == Pane::Message;
        match view {
            MessageView::Diff if again => self.message.toggle_diff(true),
            MessageView::Raw if again => self.message.toggle_raw(),
            _ => self.message.show(view),
        }
        self.focus = Pane::Message;
        self.set_zoom(true);
    }

    fn go_to_match(&mut self, forward: bool) {
        if self.focus == Pane::Message {
            self.go_to_message_match(forward);
            return;
        }
        let height = self.pane_height(Pane::Transcript);
        let Some(pane) = &mut self.transcript else { return };
        if let Some(entry) = pane.next_match(forward) {
            pane.reveal(entry, height);
        }
    }

    fn dispatch_tuning(&mut self, action: Action) {
        match action {
            Action::TogglePrune => self.tuning.toggle_preview(),
            Action::ToggleGate => {
                self.tuning.respect_gates = !self.tuning.respect_gates;
                self.tuning.policies = self.tuning.policies.with(Policy::Prune, true);
                self.tuning.preview = true;
            }
            Action::Less => self.adjust_setting(-1.0),
            Action::More => self.adjust_setting(1.0),
            Action::MuchLess => self.adjust_setting(-10.0),
            Action::MuchMore => self.adjust_setting(10.0),
            Action::ToDefault => self.tuning.reset_to_default(),
            Action::ToConfig => self.tuning.reset_to_config(),
            Action::AllToConfig => self.tuning.reset_all(),
            Action::Edit if self.notify_if_fixed() || self.tuning.focused_row().is_none() => return,
            Action::Edit => {
                self.input = Some(LineInput::new(InputPurpose::Setting, self.tuning.edit_text()));
                return;
            }
            _ => return,
        }
        self.replan(true);
    }

    /// Moves the focused setting, or opens a line to type lists and texts.
    fn adjust_setting(&mut self, steps: f64) {
        use crate::gateway::prune_setting::Control;
        if self.notify_if_fixed() {
            return;
        }
        let Some(control) = self.tuning.focused_setting().map(|row| row.control) else {
            self.show_toast(format!("{} has no settings", self.tuning.policy.word()), false);
            return;
        };
        if matches!(control, Control::List | Control::Text) {
            self.input = Some(LineInput::new(InputPurpose::Setting, self.tuning.edit_text()));
            return;
        }
        self.tuning.enable_focused_policy();
        self.tuning.adjust(steps);
    }

    /// Shows why the focused setting is fixed, if the version has it built in; returns whether it is.
    pub(super) fn notify_if_fixed(&mut self) -> bool {
        let row = self.tuning.focused_setting();
        let reported = row.and_then(|row| Some(format!("{} is {}", row.key, row.control.fixed_reason()?)));
        let fixed = reported.is_some();
        if let Some(words) = reported {
            self.show_toast(words, false);
        }
        fixed
    }

    /// Reads everything again under the rules of the next version.
    fn next_ruleset(&mut self) -> Vec<Effect> {
        let Some(now) = self.listing.as_ref().map(|listing| listing.ruleset.id) else {
            return Vec::new();
        };
        let next = RulesetChoice::new(now.next(), Provenance::Tuned);
        self.show_toast(format!("Rules of {}.", next.id.display_name()), false);
        let mut effects = vec![Effect::UseRuleset(next)];
        effects.extend(self.request_refresh(|_| true, |_| true));
        effects
    }

    fn dispatch_program(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Reload => return self.request_refresh(|_| true, |_| true),
            Action::TogglePause => {
                if let UpdateMode::Paused { changes } = self.update_mode {
                    self.update_mode = UpdateMode::Live;
                    return if changes > 0 { self.request_refresh(|_| true, |_| true) } else { Vec::new() };
                }
                self.update_mode = UpdateMode::Paused { changes: 0 };
            }
            Action::Demo => {
                self.transcript = None;
                self.plan = None;
                return vec![Effect::ListSessions { demo: true }];
            }
            Action::ToggleMouse => {
                self.options.mouse = !self.options.mouse;
                self.show_toast(
                    if self.options.mouse { "mouse on" } else { "mouse left to the terminal" }.into(),
                    false,
                );
                return vec![Effect::CaptureMouse(self.options.mouse)];
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
    fn toggle_secrets(&mut self) {
        let (secrets, words) = match self.secrets {
            SecretDisplay::Hidden => (SecretDisplay::Shown, "Secrets shown"),
            SecretDisplay::Shown => (SecretDisplay::Hidden, "Secrets hidden"),
        };
        self.secrets = secrets;
        self.show_toast(words.into(), false);
    }
}

/// More rows than the help has; drawing stops at its end.
const MAX_HELP_ROWS: usize = 200;
