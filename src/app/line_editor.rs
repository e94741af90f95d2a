//! One line of text that is edited as in a shell. The cursor is between characters as a person sees them, so that
//! an accent or a flag moves and is deleted as a whole.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::text::{grapheme_after, grapheme_before};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineEditor {
    text: String,
    /// In bytes.
    cursor: usize,
}

/// The effect of a key on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEdit {
    /// The key does not edit lines.
    Ignored,
    Moved,
    Changed,
}

impl LineEditor {
    /// Creates a line with the cursor at its end.
    pub fn new(text: String) -> Self {
        Self { cursor: text.len(), text }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn into_text(self) -> String {
        self.text
    }

    /// The text before and after the cursor.
    pub fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Inserts text at the cursor; control characters are left out.
    pub fn insert(&mut self, text: &str) {
        let line: String = text.chars().filter(|character| !character.is_control()).collect();
        self.text.insert_str(self.cursor, &line);
        self.cursor += line.len();
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.cursor = 0;
    }

    /// Edits the line with a key of readline.
    pub fn handle(&mut self, key: KeyEvent) -> LineEdit {
        let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(character) if is_plain => self.insert(character.encode_utf8(&mut [0; 4])),
            KeyCode::Char('u') if control => self.remove(0, self.cursor),
            KeyCode::Char('k') if control => self.remove(self.cursor, self.text.len()),
            KeyCode::Char('w') if control => self.remove(self.blank_word_start(), self.cursor),
            KeyCode::Char('h') if control => self.remove(self.before(), self.cursor),
            KeyCode::Char('d') if control => self.remove(self.cursor, self.after()),
            KeyCode::Char('d') if alt => self.remove(self.cursor, self.word_end()),
            KeyCode::Backspace if alt || control => self.remove(self.word_start(), self.cursor),
            KeyCode::Backspace => self.remove(self.before(), self.cursor),
            KeyCode::Delete => self.remove(self.cursor, self.after()),
            _ => return self.handle_movement(key.code, control, alt),
        }
        LineEdit::Changed
    }

    fn handle_movement(&mut self, code: KeyCode, control: bool, alt: bool) -> LineEdit {
        self.cursor = match code {
            KeyCode::Char('a') if control => 0,
            KeyCode::Char('e') if control => self.text.len(),
            KeyCode::Char('b') if control => self.before(),
            KeyCode::Char('f') if control => self.after(),
            KeyCode::Char('b') if alt => self.word_start(),
            KeyCode::Char('f') if alt => self.word_end(),
            KeyCode::Left if control || alt => self.word_start(),
            KeyCode::Right if control || alt => self.word_end(),
            KeyCode::Left => self.before(),
            KeyCode::Right => self.after(),
            KeyCode::Home => 0,
            KeyCode::End => self.text.len(),
            _ => return LineEdit::Ignored,
        };
        LineEdit::Moved
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        grapheme_before(&self.text, self.cursor)
    }

    fn after(&self) -> usize {
        grapheme_after(&self.text, self.cursor)
    }

    /// The start of the word of letters and digits before the cursor.
    fn word_start(&self) -> usize {
        let head = self.text[..self.cursor].trim_end_matches(|c: char| !c.is_alphanumeric());
        head.trim_end_matches(char::is_alphanumeric).len()
    }

    /// The end of the word of letters and digits after the cursor.
    fn word_end(&self) -> usize {
        let tail = self.text[self.cursor..].trim_start_matches(|c: char| !c.is_alphanumeric());
        self.text.len() - tail.trim_start_matches(char::is_alphanumeric).len()
    }

    /// The start of the word between blanks before the cursor.
    fn blank_word_start(&self) -> usize {
        let head = self.text[..self.cursor].trim_end();
        head.trim_end_matches(|c: char| !c.is_whitespace()).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edits a text whose cursor is `|`; keys are `c-x` with control, `m-x` with alt, and single characters.
    #[track_caller]
    fn edits(text: &str, keys: &str, expected: &str) {
        let (before, after) = text.split_once('|').expect("a cursor");
        let mut line = LineEditor { text: format!("{before}{after}"), cursor: before.len() };
        for key in keys.split(' ') {
            let (modifiers, name) = match key.split_at(key.len().min(2)) {
                ("c-", name) => (KeyModifiers::CONTROL, name),
                ("m-", name) => (KeyModifiers::ALT, name),
                _ => (KeyModifiers::NONE, key),
            };
            let code = match name {
                "left" => KeyCode::Left,
                "right" => KeyCode::Right,
                "home" => KeyCode::Home,
                "end" => KeyCode::End,
                "back" => KeyCode::Backspace,
                "delete" => KeyCode::Delete,
                _ => KeyCode::Char(name.chars().next().expect("a key")),
            };
            line.handle(KeyEvent::new(code, modifiers));
        }
        let (before, after) = line.split();
        assert_eq!(format!("{before}|{after}"), expected, "{text} {keys}");
    }

    #[test]
    fn shell_keys_edit_the_line() {
        edits("one two|three", "c-u", "|three");
        edits("one two|three", "c-k", "one two|");
        edits("one a.b-c  |", "c-w", "one |");
        edits("one a.b-c|", "m-back", "one a.b-|");
        edits("one two|", "c-a m-f m-d x", "onex|");
        edits("one two|", "m-b m-b right c-d", "o|e two");
        edits("a|b", "home x end y left back delete", "xa|");
        edits("a|b", "c-b c-b c-f c-e z", "abz|");
        edits("|", "back delete c-w c-k m-b m-f left right", "|");
    }

    #[test]
    fn editing_keys_treat_a_combined_character_as_one() {
        edits("e\u{301}|x", "back", "|x");
        edits("|👩‍👩‍👧x", "right", "👩‍👩‍👧|x");
        edits("漢字|", "left delete", "漢|");
        edits("naïve|", "m-b", "|naïve");
    }

    #[test]
    fn a_paste_keeps_its_line() {
        let mut line = LineEditor::new("ab".into());
        line.insert("c\nd\u{1b}");
        assert_eq!(line.into_text(), "abcd");
    }
}
