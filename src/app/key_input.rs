//! Routes keys: to the input line, to the palette, otherwise through the keymap to an action.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::keymap::KeyContext;
use crate::app::layout::Pane;
use crate::app::state::{App, InputPurpose, LineInput, Overlay};

impl App {
    pub(super) fn on_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        if !self.options.motion {
            self.flash = crate::app::state::Flash::default();
        }
        if self.input.is_some() {
            return self.on_input_key(key);
        }
        if matches!(self.overlay(), Some(Overlay::Palette(_))) {
            return self.on_palette_key(key);
        }
        match self.options.keymap.action_for(self.key_context(), key) {
            Some(action) => self.dispatch(action),
            None => Vec::new(),
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
        let line: String = text.chars().filter(|character| !character.is_control()).collect();
        match (&mut self.input, self.views.top_mut()) {
            (Some(prompt), _) => prompt.insert(&line),
            (None, Some(Overlay::Palette(palette))) => palette.text.push_str(&line),
            (None, Some(_)) => return Vec::new(),
            // A pasted key or id on the main screen jumps to its session or entry.
            (None, None) => return self.go_to_id(line.trim()),
        }
        self.on_input_changed();
        Vec::new()
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
            None => self.show_toast("no session or entry matches".into(), false),
        }
        Vec::new()
    }

    fn on_input_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let Some(prompt) = &mut self.input else { return Vec::new() };
        match key.code {
            KeyCode::Char('c') if control => return vec![Effect::Quit],
            KeyCode::Enter => return self.submit_input(),
            KeyCode::Esc => return self.escape_input(),
            KeyCode::Char('u') if control => prompt.clear(),
            KeyCode::Char('w') if control => prompt.erase_word(),
            KeyCode::Char('a') if control => prompt.cursor = 0,
            KeyCode::Char('e') if control => prompt.cursor = prompt.text.chars().count(),
            KeyCode::Char(character) if !control => prompt.insert(character.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => prompt.erase(),
            KeyCode::Delete => prompt.erase_next(),
            KeyCode::Left => prompt.cursor = prompt.cursor.saturating_sub(1),
            KeyCode::Right => prompt.cursor = (prompt.cursor + 1).min(prompt.text.chars().count()),
            KeyCode::Home => prompt.cursor = 0,
            KeyCode::End => prompt.cursor = prompt.text.chars().count(),
            KeyCode::Down => return self.move_while_typing(1),
            KeyCode::Up => return self.move_while_typing(-1),
            _ => return Vec::new(),
        }
        self.on_input_changed();
        Vec::new()
    }

    /// Applies a filter while it is typed.
    fn on_input_changed(&mut self) {
        let height = self.pane_height(Pane::Sessions);
        let Some(prompt) = &mut self.input else { return };
        prompt.error = None;
        if prompt.purpose == InputPurpose::Filter {
            self.sessions.filter.clone_from(&prompt.text);
            self.sessions.refilter(height);
        }
    }

    fn move_while_typing(&mut self, by: isize) -> Vec<Effect> {
        if self.input.as_ref().is_some_and(|prompt| prompt.purpose == InputPurpose::Filter) {
            let height = self.pane_height(Pane::Sessions);
            self.sessions.move_by(by, height);
        }
        Vec::new()
    }

    fn submit_input(&mut self) -> Vec<Effect> {
        let Some(prompt) = self.input.take() else { return Vec::new() };
        match prompt.purpose {
            InputPurpose::Filter => self.dispatch(Action::Open),
            InputPurpose::Search => self.start_search(prompt.text),
            InputPurpose::Find => {
                if self.find_in_message(&prompt.text) == 0 && !prompt.text.is_empty() {
                    self.show_toast(format!("no match for {:?}", prompt.text), true);
                }
                Vec::new()
            }
            InputPurpose::Setting => self.submit_setting(prompt),
            InputPurpose::Axes | InputPurpose::Headroom => {
                let taken = match prompt.purpose {
                    InputPurpose::Axes => self.set_typed_axes(&prompt.text),
                    _ => self.set_headroom(&prompt.text),
                };
                if let Err(complaint) = taken {
                    self.input = Some(LineInput { error: Some(complaint), ..prompt });
                }
                Vec::new()
            }
        }
    }

    fn submit_setting(&mut self, prompt: LineInput) -> Vec<Effect> {
        match self.tuning.set_text(&prompt.text) {
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

    /// The first esc clears a filter, the second leaves it.
    fn escape_input(&mut self) -> Vec<Effect> {
        let Some(prompt) = &mut self.input else { return Vec::new() };
        let clears = matches!(prompt.purpose, InputPurpose::Filter) && !prompt.text.is_empty();
        if clears {
            prompt.clear();
            self.on_input_changed();
        } else {
            self.input = None;
        }
        Vec::new()
    }

    fn on_palette_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Palette(palette)) = self.views.top_mut() else { return Vec::new() };
        match key.code {
            KeyCode::Esc => drop(self.views.pop()),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return vec![Effect::Quit],
            KeyCode::Enter => {
                let chosen = palette.chosen();
                self.views.pop();
                return chosen.map(|action| self.dispatch(action)).unwrap_or_default();
            }
            KeyCode::Down | KeyCode::Tab => palette.move_by(1),
            KeyCode::Up | KeyCode::BackTab => palette.move_by(-1),
            KeyCode::Backspace => palette.erase(),
            KeyCode::Char(character) => palette.insert(character),
            _ => {}
        }
        Vec::new()
    }
}

impl LineInput {
    /// Creates a line with the cursor at its end.
    pub fn new(purpose: InputPurpose, text: String) -> Self {
        Self { cursor: text.chars().count(), purpose, text, error: None }
    }

    fn byte_offset(&self, character: usize) -> usize {
        self.text.char_indices().nth(character).map_or(self.text.len(), |(at, _)| at)
    }

    fn insert(&mut self, text: &str) {
        let at = self.byte_offset(self.cursor);
        self.text.insert_str(at, text);
        self.cursor += text.chars().count();
    }

    fn erase(&mut self) {
        if self.cursor > 0 {
            self.cursor -= 1;
            self.erase_next();
        }
    }

    fn erase_next(&mut self) {
        let at = self.byte_offset(self.cursor);
        if at < self.text.len() {
            self.text.remove(at);
        }
    }

    fn erase_word(&mut self) {
        while self.cursor > 0 && self.char_before().is_some_and(char::is_whitespace) {
            self.erase();
        }
        while self.cursor > 0 && !self.char_before().is_some_and(char::is_whitespace) {
            self.erase();
        }
    }

    fn char_before(&self) -> Option<char> {
        self.text.chars().nth(self.cursor.checked_sub(1)?)
    }

    fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }
}
