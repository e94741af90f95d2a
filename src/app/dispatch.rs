//! Runs actions, depending on the focus.

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::message::{MessagePane, MessageView};
use crate::app::screens::letters::KeyMenuKind;
use crate::app::screens::ruleset_rows;
use crate::app::state::{App, InputPurpose, LineInput, Overlay, UpdateMode};
use crate::app::target::Target;
use crate::context::rows::RowKind;
use crate::export::Format;
use crate::gateway::registry::Provenance;
use crate::gateway::ruleset::RulesetChoice;
use crate::ids::EntryIx;
use crate::policy::Policy;
use crate::redact::SecretDisplay;
use crate::session::ManualChange;

impl App {
    /// Runs an action: the top screen decides first, then the main screen.
    pub fn dispatch(&mut self, action: Action) -> Vec<Effect> {
        match self.dispatch_to_screen(action) {
            Some(effects) => effects,
            // The commit says itself what it lacks.
            None if action != Action::Commit && !self.blocked_reason(action).is_empty() => {
                self.show_note(self.blocked_reason(action).to_owned());
                Vec::new()
            }
            None => self.dispatch_to_main(action),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one line per action, so that none is forgotten")]
    fn dispatch_to_main(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Show(kind) => return self.toggle_screen(kind),
            Action::ShowPolicies => self.toggle_policies(),
            Action::ShowPresets => return self.show_presets(),
            Action::ShowRule => return self.show_rule(),
            Action::Close if self.views.pop().is_some() => {}
            Action::Close | Action::Quit => return vec![Effect::Quit],
            Action::Back => return self.back(),
            Action::JumpBack => return self.jump(false),
            Action::JumpForward => return self.jump(true),
            Action::Open => return self.open_selected(),
            Action::Search => self.open_input(),
            Action::NextPane => self.focus_next_by(1),
            Action::PreviousPane => self.focus_next_by(-1),
            Action::FocusSessions => self.show_pane(Pane::Sessions),
            Action::FocusTranscript => self.show_pane(Pane::Transcript),
            Action::FocusMessage => self.show_pane(Pane::Message),
            Action::FocusTuning => self.show_pane(Pane::Tuning),
            Action::Zoom => self.set_zoom(!self.zoom),
            Action::BorderLeft => self.move_border_by(-2),
            Action::BorderRight => self.move_border_by(2),
            Action::Down => return self.move_cursor(1),
            Action::Up => return self.move_cursor(-1),
            Action::HalfPageDown => return self.move_cursor((self.page_rows() / 2).max(1)),
            Action::HalfPageUp => return self.move_cursor(-(self.page_rows() / 2).max(1)),
            Action::PageDown => return self.move_cursor(self.page_rows()),
            Action::PageUp => return self.move_cursor(-self.page_rows()),
            Action::Top => return self.move_cursor(isize::MIN / 2),
            Action::Bottom => return self.move_cursor(isize::MAX / 2),
            Action::NextMatch => self.go_to_match(true),
            Action::PreviousMatch => self.go_to_match(false),
            Action::Left
            | Action::Right
            | Action::FarLeft
            | Action::FarRight
            | Action::Less
            | Action::More => {
                return self.move_sideways(action);
            }
            Action::Fold
            | Action::NextMessage
            | Action::PreviousMessage
            | Action::Next
            | Action::Previous
            | Action::NextChange
            | Action::PreviousChange
            | Action::CycleFilter
            | Action::CycleFilterBack
            | Action::ToggleHistory => self.dispatch_to_transcript(action),
            Action::Diff if matches!(self.overlay(), Some(Overlay::Write(_))) => self.show_first_diff(),
            Action::Diff => self.zoom_message(MessageView::Diff),
            Action::Raw => self.zoom_message(MessageView::Raw),
            Action::Wrap => self.change_message_view(MessagePane::toggle_wrap),
            Action::Thinking => self.change_message_view(MessagePane::toggle_thinking),
            Action::TogglePolicy => self.toggle_policy(),
            Action::NextPolicy => self.focus_policy_by(1),
            Action::PreviousPolicy => self.focus_policy_by(-1),
            Action::ToggleGate if self.target != Target::NextCall => {
                self.show_note("only the next call can be pruned anyway".into());
            }
            Action::TogglePrune
            | Action::ToggleGate
            | Action::ToDefault
            | Action::ToConfig
            | Action::AllToConfig => self.dispatch_tuning(action),
            Action::NextOrder => self.sort_by_next_column(),
            Action::ReverseOrder => self.reverse_order(),
            Action::NextTarget => return self.select_next_target(),
            Action::ChooseRuleset => return self.choose_ruleset(),
            Action::UndoTuning => return self.step_tuning(false),
            Action::RedoTuning => return self.step_tuning(true),
            Action::Copy => self.ask_letter(KeyMenuKind::Copy),
            Action::ViewMenu => self.ask_letter(KeyMenuKind::View),
            Action::CopyPatch => return self.copy_patch(),
            Action::Pager => return self.show_in_pager(),
            Action::Commit => return self.open_commit_dialog(self.target),
            Action::BranchHere => return self.change_by_hand(ManualChange::Branch),
            Action::DropMessage => return self.change_by_hand(|entry| ManualChange::Drop(vec![entry])),
            Action::Undo => return self.undo(),
            Action::Repair => return self.repair(),
            Action::Yes => return self.confirm(),
            Action::No => self.cancel(),
            Action::SavePlan => return self.save_plan(),
            Action::ExportHtml => return self.export(Format::Html),
            Action::ExportMarkdown => return self.export(Format::Markdown),
            Action::ExportJson => return self.export(Format::Json),
            Action::ExportPi => return self.export(Format::Pi),
            Action::SaveScreen => {
                return vec![Effect::SaveScreen { session: self.displayed_session().cloned() }];
            }
            Action::Reload => return self.request_refresh(|_| true, |_| true),
            Action::TogglePause => return self.toggle_pause(),
            Action::Demo => return self.show_demo(),
            Action::ToggleUtc => return self.toggle_utc(),
            Action::ToggleMouse => return self.toggle_mouse(),
            Action::NextTheme => {
                self.options.theme = (self.options.theme + 1) % self.options.themes.len().max(1);
                let name = self.options.themes.get(self.options.theme).cloned().unwrap_or_default();
                self.show_toast(format!("Theme {name}"), false);
            }
            Action::ShowSecrets => self.toggle_secrets(),
            Action::Custom(at) => return self.run_custom(at),
            Action::CopyCommand => self.show_note("only explain has a command to copy".into()),
            Action::InWords | Action::CostOrCache => self.show_note("only the timeline has this view".into()),
            Action::TurnAxes | Action::EditAxes | Action::Headroom => {
                self.show_note("only compare has this".into());
            }
        }
        Vec::new()
    }

    /// Moves sideways in the focused pane: folds a row, scrolls a message, or moves a setting.
    fn move_sideways(&mut self, action: Action) -> Vec<Effect> {
        if matches!(self.overlay(), Some(Overlay::Timeline)) {
            self.dispatch_tuning(action);
            return Vec::new();
        }
        if self.overlay().is_some() {
            return Vec::new();
        }
        match (self.focus, action) {
            (Pane::Sessions, Action::Right) => return self.open_selected(),
            (Pane::Sessions | Pane::Transcript, _) => self.dispatch_to_transcript(action),
            (Pane::Message, Action::Left | Action::FarLeft) => return self.scroll_message_sideways(-1),
            (Pane::Message, Action::Right | Action::FarRight) => return self.scroll_message_sideways(1),
            (Pane::Message, _) => {}
            (Pane::Tuning, _) => self.dispatch_tuning(action),
        }
        Vec::new()
    }

    /// Runs an action on the transcript, or folds the focused message or session.
    fn dispatch_to_transcript(&mut self, action: Action) {
        if self.overlay().is_some() {
            // The rows are hidden.
        } else if self.focus == Pane::Sessions {
            self.fold_sessions(action);
        } else if action == Action::Fold && self.focus == Pane::Message {
            self.change_message_view(MessagePane::toggle_unfold);
        } else {
            self.dispatch_transcript(action);
        }
    }

    /// Rows of a page in the focused list.
    pub(super) fn page_rows(&self) -> isize {
        let own = self.overlay().and_then(|screen| screen.page_rows(&self.screen_context()));
        own.unwrap_or_else(|| self.pane_height(self.focus)).max(1) as isize
    }

    pub(super) fn move_cursor(&mut self, by: isize) -> Vec<Effect> {
        if self.move_on_screen(by) { Vec::new() } else { self.move_pane_cursor(self.focus, by) }
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
            let question = self.navigation.returns_to_commit.take();
            self.set_zoom(false);
            self.message.view = MessageView::Text;
            return question.map(|from| self.open_commit_dialog(from)).unwrap_or_default();
        } else if self.message.view != MessageView::Text {
            self.message.view = MessageView::Text;
        } else if self.return_to_search() {
        } else if self.focus == Pane::Transcript && searching {
            if let Some(pane) = &mut self.transcript {
                pane.query.clear();
                pane.matches.clear();
            }
        } else if self.focus == Pane::Sessions && !self.sessions.filter.is_empty() {
            self.filter_sessions("");
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
            (Some(_), _) => drop(self.views.pop()),
            (None, Pane::Sessions) => {
                self.navigation.returns_to_search = false;
                let key = self.sessions.selected().map(|item| item.key.clone());
                let Some(key) = key else { return Vec::new() };
                let effects = self.open_session(key);
                self.focus_pane(Pane::Transcript);
                return effects;
            }
            (None, Pane::Transcript) => {
                let fold = self.transcript.as_ref().and_then(|pane| pane.selected());
                match fold.map(|row| row.kind) {
                    Some(RowKind::Entry) => self.zoom_message(self.message.view),
                    Some(RowKind::Cut) => {
                        self.tuning.focus_policy(Policy::Compact);
                        self.toggle_policies();
                    }
                    Some(_) => self.dispatch_transcript(Action::Fold),
                    None => {}
                }
            }
            (None, Pane::Message) => self.set_zoom(!self.zoom),
            (None, Pane::Tuning) => self.edit_setting(),
        }
        Vec::new()
    }

    /// Opens the input line of the focused pane.
    fn open_input(&mut self) {
        self.leave_screens();
        let (purpose, text) = match self.focus {
            Pane::Sessions => (InputPurpose::Filter, self.sessions.filter.clone()),
            Pane::Message => (InputPurpose::Find, self.message.query.clone()),
            Pane::Transcript | Pane::Tuning => (
                InputPurpose::Search,
                self.transcript.as_ref().map(|pane| pane.query.clone()).unwrap_or_default(),
            ),
        };
        self.input = Some(LineInput::new(purpose, text));
    }

    fn focus_next_by(&mut self, by: isize) {
        let at = Pane::ALL.iter().position(|pane| *pane == self.focus).unwrap_or(0) as isize;
        self.focus_pane(Pane::ALL[(at + by).rem_euclid(4) as usize]);
    }

    /// Closes every screen and focuses a pane.
    fn show_pane(&mut self, pane: Pane) {
        self.leave_screens();
        self.focus_pane(pane);
    }

    pub(super) fn focus_pane(&mut self, pane: Pane) {
        self.focus = pane;
        if self.shows_policies() {
            self.replan(false);
        }
        self.keep_cursors_visible();
    }

    /// Closes every screen and moves to an entry in the transcript.
    pub(super) fn go_to_entry(&mut self, entry: EntryIx) {
        self.record_jump();
        self.show_entry(entry);
    }

    /// Moves to an entry without remembering the place before.
    pub(super) fn show_entry(&mut self, entry: EntryIx) {
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
        self.navigation.returns_to_commit = None;
        self.focus_pane(self.focus);
    }

    /// Shows the message on the full screen in a view; the same view again returns to the text.
    fn zoom_message(&mut self, view: MessageView) {
        self.leave_screens();
        let again = self.zoom && self.focus == Pane::Message;
        match view {
            MessageView::Diff if again => self.message.toggle_diff(true),
            MessageView::Raw if again => self.message.toggle_raw(),
            _ => self.message.show(view),
        }
        self.focus = Pane::Message;
        self.set_zoom(true);
        if self.message.view == MessageView::Diff && !self.is_change_selected() {
            let why = if self.preview.plan.is_some() {
                "the plan keeps this message"
            } else {
                "no plan to compare with"
            };
            let key = self.key_words(KeyContext::Main, Action::TogglePrune);
            let next =
                if self.preview.plan.is_some() { String::new() } else { format!("; {key} previews one") };
            self.show_note(format!("no diff: {why}{next}"));
        }
    }

    fn go_to_match(&mut self, forward: bool) {
        if self.focus == Pane::Message {
            self.go_to_message_match(forward);
            return;
        }
        if let Some(found) = self.transcript.as_ref().and_then(|pane| pane.next_match(forward, false)) {
            self.show_match(&found);
        }
    }

    pub(super) fn dispatch_tuning(&mut self, action: Action) {
        match action {
            Action::TogglePrune => self.tuning.toggle_preview(),
            Action::ToggleGate => {
                self.tuning.respect_gates = !self.tuning.respect_gates;
                self.tuning.policies = self.tuning.policies.with(Policy::Prune, true);
                self.tuning.preview = true;
            }
            Action::Left | Action::Less => self.adjust_setting(-1.0),
            Action::Right | Action::More => self.adjust_setting(1.0),
            Action::FarLeft => self.adjust_setting(-10.0),
            Action::FarRight => self.adjust_setting(10.0),
            Action::ToDefault => self.tuning.reset_to_default(),
            Action::ToConfig => self.tuning.reset_to_config(),
            Action::AllToConfig => self.tuning.reset_all(),
            _ => return,
        }
        self.replan(true);
    }

    /// Opens a line to type the focused setting.
    pub(super) fn edit_setting(&mut self) {
        if !self.notify_if_fixed() && self.tuning.focused_row().is_some() {
            self.input = Some(LineInput::new(InputPurpose::Setting, self.tuning.edit_text()));
        }
    }

    /// Moves the focused setting, or opens a line to type lists and texts.
    fn adjust_setting(&mut self, steps: f64) {
        use crate::gateway::setting_value::Control;
        if self.notify_if_fixed() {
            return;
        }
        let Some(control) = self.tuning.focused_setting().map(|row| row.control) else {
            self.show_note(format!("{} has no settings", self.tuning.policy.word()));
            return;
        };
        if matches!(control, Control::List | Control::Text) {
            self.input = Some(LineInput::new(InputPurpose::Setting, self.tuning.edit_text()));
            return;
        }
        self.tuning.enable_focused_policy();
        self.tuning.adjust(steps);
        self.note_moved_setting();
    }

    /// Shows why the focused setting is fixed, if the version has it built in; returns whether it is.
    pub(super) fn notify_if_fixed(&mut self) -> bool {
        let row = self.tuning.focused_setting();
        let reported = row.and_then(|row| Some(format!("{} is {}", row.name(), row.control.fixed_reason()?)));
        let fixed = reported.is_some();
        if let Some(words) = reported {
            self.show_note(words);
        }
        fixed
    }

    /// Lists the releases in the palette.
    fn choose_ruleset(&mut self) -> Vec<Effect> {
        self.type_in_palette(&format!("{} ", ruleset_rows::WORD))
    }

    /// Reads everything again under the rules of a release.
    pub(super) fn use_release(&mut self, release: &str) -> Vec<Effect> {
        match RulesetChoice::from_version(release, Provenance::Tuned) {
            Ok(ruleset) => {
                self.show_toast(format!("Using the rules of {}.", ruleset.id.display_name()), false);
                self.use_ruleset(ruleset)
            }
            Err(unknown) => {
                self.show_toast(unknown.to_string(), true);
                Vec::new()
            }
        }
    }

    /// Reads everything again under these rules.
    pub(super) fn use_ruleset(&mut self, ruleset: RulesetChoice) -> Vec<Effect> {
        // Other rules count other numbers, which is not a crossing.
        self.alerts.reset();
        self.chosen_ruleset = Some(ruleset.clone());
        let mut effects = vec![Effect::UseRuleset(ruleset)];
        effects.extend(self.request_refresh(|_| true, |_| true));
        effects
    }

    fn toggle_pause(&mut self) -> Vec<Effect> {
        match self.update_mode {
            UpdateMode::Live => self.update_mode = UpdateMode::Paused { changes: 0 },
            UpdateMode::Paused { changes } => {
                self.update_mode = UpdateMode::Live;
                if changes > 0 {
                    return self.request_refresh(|_| true, |_| true);
                }
            }
        }
        Vec::new()
    }

    fn show_demo(&mut self) -> Vec<Effect> {
        self.transcript = None;
        self.preview.plan = None;
        vec![Effect::ListSessions { demo: true }]
    }

    fn toggle_mouse(&mut self) -> Vec<Effect> {
        self.options.mouse = !self.options.mouse;
        let words = if self.options.mouse { "Mouse capture on" } else { "Mouse capture off" };
        self.show_toast(words.into(), false);
        vec![Effect::CaptureMouse(self.options.mouse)]
    }

    fn toggle_utc(&mut self) -> Vec<Effect> {
        self.options.utc = !self.options.utc;
        let zone = if self.options.utc { "UTC" } else { &self.options.zone_name };
        self.show_toast(format!("Times in {zone}"), false);
        self.sessions.expire_headings();
        self.requests.message = None;
        vec![Effect::ShowUtc(self.options.utc), Effect::SetTimer(self.now_ms)]
    }

    fn toggle_secrets(&mut self) {
        let (secrets, words) = match self.secrets {
            SecretDisplay::Hidden => (SecretDisplay::Shown, "Secrets shown"),
            SecretDisplay::Shown => (SecretDisplay::Hidden, "Secrets hidden"),
        };
        self.secrets = secrets;
        self.show_toast(words.into(), false);
    }
}
