//! Keys: to the line being typed, to what is over the screen, else through the keymap to an action.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::app::action::{ACTIONS, Action, ActionRow};
use crate::app::effect::Effect;
use crate::app::keymap::Context;
use crate::app::layout::Pane;
use crate::app::state::{App, Overlay, Prompt, Purpose};

impl App {
    pub(super) fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        if !self.options.motion {
            self.flash = crate::app::state::Flash::default();
        }
        if self.prompt.is_some() {
            return self.prompt_key(key);
        }
        if matches!(self.overlay, Some(Overlay::Palette { .. })) {
            return self.palette_key(key);
        }
        match self.options.keymap.action(self.key_context(), key) {
            Some(action) => self.act(action),
            None => Vec::new(),
        }
    }

    /// Where keys go now.
    pub fn key_context(&self) -> Context {
        match (&self.overlay, self.focus) {
            (Some(Overlay::Write(_)), _) => Context::Dialog,
            (Some(Overlay::Timeline), _) => Context::Timeline,
            (Some(Overlay::Compare), _) => Context::Compare,
            (Some(_), _) => Context::List,
            (None, Pane::Sessions) => Context::Sessions,
            (None, Pane::Transcript) => Context::Transcript,
            (None, Pane::Message) => Context::Message,
            (None, Pane::Tuning) => Context::Tuning,
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        let line: String = text.chars().filter(|character| !character.is_control()).collect();
        match (&mut self.prompt, &mut self.overlay) {
            (Some(prompt), _) => prompt.insert(&line),
            (None, Some(Overlay::Palette { text, .. })) => text.push_str(&line),
            (None, Some(_)) => return Vec::new(),
            // A pasted key or id on the main screen jumps to its session or entry.
            (None, None) => return self.jump(line.trim()),
        }
        self.prompt_changed();
        Vec::new()
    }

    /// Goes to the session or entry of this key or id.
    fn jump(&mut self, text: &str) -> Vec<Effect> {
        let item = self.sessions.items.iter().find(|item| item.key.0 == text || item.id == text);
        if let Some(key) = item.map(|item| item.key.clone()) {
            let height = self.height(Pane::Sessions);
            self.sessions.select(&key, height);
            return self.open(key);
        }
        let height = self.height(Pane::Transcript);
        let found = self.transcript.as_mut().and_then(|pane| {
            let entry = pane.inspection.tree.find_text(&pane.inspection.index, text)?;
            pane.reveal(entry, height);
            Some(())
        });
        if found.is_none() && !text.is_empty() {
            self.toast("no session or entry of that name".into(), false);
        }
        Vec::new()
    }

    fn prompt_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let Some(prompt) = &mut self.prompt else { return Vec::new() };
        match key.code {
            KeyCode::Char('c') if control => return vec![Effect::Quit],
            KeyCode::Enter => return self.submit(),
            KeyCode::Esc => return self.leave_prompt(),
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
            KeyCode::Down => return self.move_under_prompt(1),
            KeyCode::Up => return self.move_under_prompt(-1),
            _ => return Vec::new(),
        }
        self.prompt_changed();
        Vec::new()
    }

    /// A filter applies as it is typed.
    fn prompt_changed(&mut self) {
        let height = self.height(Pane::Sessions);
        let Some(prompt) = &mut self.prompt else { return };
        prompt.complaint = None;
        if prompt.purpose == Purpose::Filter {
            self.sessions.filter.clone_from(&prompt.text);
            self.sessions.refilter(height);
        }
    }

    fn move_under_prompt(&mut self, by: isize) -> Vec<Effect> {
        if self.prompt.as_ref().is_some_and(|prompt| prompt.purpose == Purpose::Filter) {
            let height = self.height(Pane::Sessions);
            self.sessions.step(by, height);
        }
        Vec::new()
    }

    fn submit(&mut self) -> Vec<Effect> {
        let Some(prompt) = self.prompt.take() else { return Vec::new() };
        match prompt.purpose {
            Purpose::Filter => self.act(Action::Open),
            Purpose::Search => self.search(prompt.text),
            Purpose::Find => {
                if self.find_in_message(&prompt.text) == 0 && !prompt.text.is_empty() {
                    self.toast(format!("nothing holds {:?}", prompt.text), true);
                }
                Vec::new()
            }
            Purpose::Setting => self.submit_setting(prompt),
            Purpose::Axes | Purpose::Headroom => {
                let taken = match prompt.purpose {
                    Purpose::Axes => self.vary_typed(&prompt.text),
                    _ => self.leave_free(&prompt.text),
                };
                if let Err(complaint) = taken {
                    self.prompt = Some(Prompt { complaint: Some(complaint), ..prompt });
                }
                Vec::new()
            }
        }
    }

    fn submit_setting(&mut self, prompt: Prompt) -> Vec<Effect> {
        match self.tuning.set_text(&prompt.text) {
            Ok(()) => {
                self.tuning.show_step();
                self.replan(true);
            }
            Err(expected) => {
                self.prompt = Some(Prompt { complaint: Some(format!("expected {expected}")), ..prompt });
            }
        }
        Vec::new()
    }

    /// The first esc clears the line, the second leaves it.
    fn leave_prompt(&mut self) -> Vec<Effect> {
        let Some(prompt) = &mut self.prompt else { return Vec::new() };
        let clears = matches!(prompt.purpose, Purpose::Filter) && !prompt.text.is_empty();
        if clears {
            prompt.clear();
            self.prompt_changed();
        } else {
            self.prompt = None;
        }
        Vec::new()
    }

    fn palette_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Palette { text, at }) = &mut self.overlay else { return Vec::new() };
        match key.code {
            KeyCode::Esc => self.overlay = None,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return vec![Effect::Quit],
            KeyCode::Enter => {
                let chosen = palette_rows(text).get(*at).map(|row| row.0);
                self.overlay = None;
                return chosen.map(|action| self.act(action)).unwrap_or_default();
            }
            KeyCode::Down | KeyCode::Tab => *at = (*at + 1).min(palette_rows(text).len().saturating_sub(1)),
            KeyCode::Up | KeyCode::BackTab => *at = at.saturating_sub(1),
            KeyCode::Backspace => {
                text.pop();
                *at = 0;
            }
            KeyCode::Char(character) => {
                text.push(character);
                *at = 0;
            }
            _ => {}
        }
        Vec::new()
    }
}

/// The actions whose name or words hold every typed word.
pub fn palette_rows(text: &str) -> Vec<&'static ActionRow> {
    let words: Vec<String> = text.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let holds = |row: &&ActionRow| {
        let line = format!("{} {}", row.1, row.3).to_lowercase();
        words.iter().all(|word| line.contains(word.as_str()))
    };
    ACTIONS.iter().filter(holds).collect()
}

impl Prompt {
    /// A line with this text, the cursor at its end.
    pub fn new(purpose: Purpose, text: String) -> Self {
        Self { cursor: text.chars().count(), purpose, text, complaint: None }
    }

    fn byte(&self, character: usize) -> usize {
        self.text.char_indices().nth(character).map_or(self.text.len(), |(at, _)| at)
    }

    fn insert(&mut self, text: &str) {
        let at = self.byte(self.cursor);
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
        let at = self.byte(self.cursor);
        if at < self.text.len() {
            self.text.remove(at);
        }
    }

    fn erase_word(&mut self) {
        while self.cursor > 0 && self.before().is_some_and(char::is_whitespace) {
            self.erase();
        }
        while self.cursor > 0 && !self.before().is_some_and(char::is_whitespace) {
            self.erase();
        }
    }

    fn before(&self) -> Option<char> {
        self.text.chars().nth(self.cursor.checked_sub(1)?)
    }

    fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }
}
