//! Routes keys: to the input line, to the palette, otherwise through the keymap to an action.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::key_words::other_places;
use crate::app::keymap::{KeyContext, Keymap};
use crate::app::layout::Pane;
use crate::app::line_editor::LineEdit;
use crate::app::screens::palette::PaletteCommand;
use crate::app::state::{App, InputPurpose, LineInput, Overlay};
use crate::units::Tokens;

/// The most actions that the palette remembers.
const MAX_RECENT_ACTIONS: usize = 5;

impl App {
    pub(super) fn on_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        if !self.options.motion {
            self.flash = crate::app::state::Flash::default();
        }
        let takes_letters =
            self.input.is_some() || matches!(self.overlay(), Some(Overlay::Palette(_) | Overlay::Letters(_)));
        if takes_letters && key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return vec![Effect::Quit];
        }
        if self.input.is_some() {
            return self.on_input_key(key);
        }
        if matches!(self.overlay(), Some(Overlay::Palette(_))) {
            return self.on_palette_key(key);
        }
        if matches!(self.overlay(), Some(Overlay::Welcome)) {
            return self.on_welcome_key(key);
        }
        if matches!(self.overlay(), Some(Overlay::Letters(_))) {
            return self.on_letter_key(key);
        }
        if let Some(help) = self.help_mut().filter(|help| help.is_typing) {
            if let Some(by) = vertical_movement(key.code) {
                return self.move_cursor(by);
            }
            help.on_search_key(key);
            self.move_in_help(0);
            return Vec::new();
        }
        if self.take_count_key(key) {
            return Vec::new();
        }
        let count = self.count.take();
        match (self.options.keymap.action_for(self.key_context(), key), count) {
            (Some(action), Some(count)) => self.dispatch_times(action, count),
            (Some(action), None) => self.dispatch(action),
            (None, _) => {
                self.note_unbound(key);
                Vec::new()
            }
        }
    }

    /// Says where a key works that does nothing here. A question names its keys itself.
    fn note_unbound(&mut self, key: KeyEvent) {
        let places = other_places(&self.options.keymap, &Keymap::name_of(key));
        if let Some(words) = places.filter(|_| self.key_context() != KeyContext::Dialog) {
            self.show_note(words);
        }
    }

    pub fn key_context(&self) -> KeyContext {
        match (self.overlay(), self.focus) {
            (Some(screen), _) => screen.key_context(),
            (None, Pane::Sessions) => KeyContext::Sessions,
            (None, Pane::Transcript) => KeyContext::Transcript,
            (None, Pane::Message) => KeyContext::Message,
            (None, Pane::Tuning) => KeyContext::Tuning,
        }
    }

    pub(super) fn on_paste(&mut self, text: &str) -> Vec<Effect> {
        match (&mut self.input, self.views.top_mut()) {
            (Some(prompt), _) => prompt.line.insert(text),
            (None, Some(Overlay::Palette(palette))) => palette.line.insert(text),
            (None, Some(Overlay::Help(help))) if help.is_typing => help.search.insert(text),
            (None, Some(_)) => return Vec::new(),
            // A pasted key or id on the main screen jumps to its session or entry.
            (None, None) => return self.go_to_id(text.trim()),
        }
        self.on_input_changed()
    }

    /// Opens the session with this key or id, or moves to the entry with this id.
    fn go_to_id(&mut self, text: &str) -> Vec<Effect> {
        let item = self.sessions.items.iter().find(|item| item.key.0 == text || item.id == text);
        if let Some(key) = item.map(|item| item.key.clone()) {
            let height = self.pane_height(Pane::Sessions);
            self.sessions.select(&key, height);
            return self.open_session(key);
        }
        let found = self.transcript.as_ref();
        let found = found.and_then(|pane| pane.session.tree.find_by_text(&pane.session.index, text));
        match found {
            Some(entry) => self.reveal_found(entry),
            None if text.is_empty() => {}
            None => self.show_note("no session or entry matches".into()),
        }
        Vec::new()
    }

    fn on_input_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let Some(prompt) = &mut self.input else { return Vec::new() };
        match key.code {
            KeyCode::Enter => self.submit_input(),
            KeyCode::Esc => self.escape_input(),
            KeyCode::Down => self.move_while_typing(1),
            KeyCode::Up => self.move_while_typing(-1),
            KeyCode::Char('f') if control && prompt.purpose == InputPurpose::StoreSearch => {
                prompt.line.clear();
                self.on_input_changed()
            }
            _ if prompt.line.handle(key) == LineEdit::Changed => self.on_input_changed(),
            _ => Vec::new(),
        }
    }

    /// Applies a filter, and searches every session, while the words are typed.
    fn on_input_changed(&mut self) -> Vec<Effect> {
        let Some(prompt) = &mut self.input else { return Vec::new() };
        prompt.error = None;
        match prompt.purpose {
            InputPurpose::Filter => {
                let text = prompt.line.text().to_owned();
                self.filter_sessions(&text);
                let problem = self.sessions.problem.as_ref().map(ToString::to_string);
                if let Some(prompt) = &mut self.input {
                    prompt.error = problem;
                }
                Vec::new()
            }
            InputPurpose::StoreSearch => self.search_while_typing(),
            _ => Vec::new(),
        }
    }

    fn move_while_typing(&mut self, by: isize) -> Vec<Effect> {
        if self.input.as_ref().is_some_and(|prompt| prompt.purpose == InputPurpose::StoreSearch) {
            self.move_on_screen(by);
        }
        if self.input.as_ref().is_some_and(|prompt| prompt.purpose == InputPurpose::Filter) {
            let height = self.pane_height(Pane::Sessions);
            self.sessions.move_by(by, height);
        }
        Vec::new()
    }

    fn submit_input(&mut self) -> Vec<Effect> {
        let Some(prompt) = self.input.take() else { return Vec::new() };
        match prompt.purpose {
            InputPurpose::Filter => self.submit_session_filter(),
            InputPurpose::Search => self.start_search(prompt.line.into_text()),
            InputPurpose::Find => {
                if self.find_in_message(prompt.line.text()) == 0 && !prompt.line.text().is_empty() {
                    self.show_note(format!("no match for “{}”", prompt.line.text()));
                }
                Vec::new()
            }
            InputPurpose::StoreSearch => self.start_store_search(prompt.line.text()),
            InputPurpose::Setting => self.submit_setting(prompt),
            InputPurpose::Axes | InputPurpose::Headroom => {
                let taken = match prompt.purpose {
                    InputPurpose::Axes => self.set_typed_axes(prompt.line.text()),
                    _ => self.set_headroom(prompt.line.text()),
                };
                if let Err(complaint) = taken {
                    self.input = Some(LineInput { error: Some(complaint.to_string()), ..prompt });
                }
                Vec::new()
            }
        }
    }

    fn submit_setting(&mut self, prompt: LineInput) -> Vec<Effect> {
        let window = self.displayed_session().map_or(Tokens::ZERO, |session| session.window.tokens);
        match self.tuning.set_text(prompt.line.text(), window) {
            Ok(()) => {
                self.tuning.enable_focused_policy();
                self.replan(true);
            }
            Err(expected) => {
                self.input = Some(LineInput { error: Some(format!("expected {expected}")), ..prompt });
            }
        }
        Vec::new()
    }

    /// Leaves the line; a filter is cleared, a search over every session keeps its hits.
    fn escape_input(&mut self) -> Vec<Effect> {
        match self.input.take().map(|prompt| prompt.purpose) {
            Some(InputPurpose::StoreSearch) => self.escape_store_search(),
            Some(InputPurpose::Filter) => self.filter_sessions(""),
            _ => {}
        }
        Vec::new()
    }

    fn on_palette_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Palette(palette)) = self.views.top_mut() else { return Vec::new() };
        match key.code {
            KeyCode::Esc => drop(self.views.pop()),
            KeyCode::Enter => {
                let (chosen, row) = (palette.chosen(), palette.row_number());
                // A text that matches nothing stays, below it what was expected.
                if chosen.is_some() || row.is_some() {
                    self.views.pop();
                }
                return match (row, chosen) {
                    (Some(row), _) => self.dispatch_times(Action::Bottom, row),
                    (None, Some(command)) => self.run_from_palette(command),
                    (None, None) => Vec::new(),
                };
            }
            _ => palette.on_key(key),
        }
        Vec::new()
    }

    /// Runs a command; an action is remembered for the next palette.
    fn run_from_palette(&mut self, command: PaletteCommand) -> Vec<Effect> {
        let PaletteCommand::Action(action) = command else { return self.run_preset_command(command) };
        if matches!(action, Action::Custom(_)) {
            return self.dispatch(action);
        }
        self.history.recent_actions.retain(|known| *known != action);
        self.history.recent_actions.insert(0, action);
        self.history.recent_actions.truncate(MAX_RECENT_ACTIONS);
        self.dispatch(action)
    }
}

/// Rows that an arrow key moves while a line is typed.
fn vertical_movement(code: KeyCode) -> Option<isize> {
    match code {
        KeyCode::Down => Some(1),
        KeyCode::Up => Some(-1),
        _ => None,
    }
}
