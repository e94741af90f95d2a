//! Maps keys to actions. The defaults are an embedded TOML file, `assets/keymap.toml`; the user's file overrides single
//! keys.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Deserialize;

use crate::app::action::{ACTIONS, Action};

const DEFAULTS: &str = include_str!("../../assets/keymap.toml");

/// The part of the program that receives a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyContext {
    /// Everywhere but in a dialog.
    Global,
    /// On the main screen, whichever pane has the focus.
    Main,
    Sessions,
    Transcript,
    /// The message pane, and the full-screen message.
    Message,
    Tuning,
    Dialog,
    /// Problems and other lists over the screen.
    List,
    Help,
    Timeline,
    Compare,
}

impl KeyContext {
    /// Returns the tables whose keys work here, this one first.
    fn tables(self) -> &'static [Self] {
        match self {
            Self::Global => &[Self::Global],
            Self::Main => &[Self::Main, Self::Global],
            Self::Sessions => &[Self::Sessions, Self::Main, Self::Global],
            Self::Transcript => &[Self::Transcript, Self::Main, Self::Global],
            Self::Message => &[Self::Message, Self::Main, Self::Global],
            Self::Tuning => &[Self::Tuning, Self::Main, Self::Global],
            Self::Dialog => &[Self::Dialog],
            Self::List => &[Self::List, Self::Global],
            Self::Help => &[Self::Help, Self::Global],
            Self::Timeline => &[Self::Timeline, Self::Global],
            Self::Compare => &[Self::Compare, Self::Global],
        }
    }

    /// Whether this is a pane of the main screen.
    pub fn is_pane(self) -> bool {
        self.tables().contains(&Self::Main)
    }
}

/// A key with its modifiers.
pub type KeyChord = (KeyCode, KeyModifiers);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keymap {
    bindings: BTreeMap<KeyContext, Vec<(KeyChord, Action)>>,
}

/// An invalid keymap file.
#[derive(Debug, thiserror::Error)]
pub enum KeymapError {
    /// Not TOML, or not of the expected form.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// An unknown key.
    #[error("[{context}] {}", key_slip(key))]
    Key {
        /// The TOML table.
        context: String,
        key: String,
    },
    /// An unknown action.
    #[error("[{context}] {key:?} = {action:?}: unknown action.{} \"\" unbinds the key.", alike(action))]
    Action {
        /// The TOML table.
        context: String,
        key: String,
        action: String,
    },
}

impl Keymap {
    /// Returns the default keymap.
    ///
    /// # Panics
    /// Never: a test parses the embedded file.
    #[expect(clippy::expect_used, reason = "the file is part of the program, and a test reads it")]
    pub fn standard() -> Self {
        let mut keymap = Self::default();
        keymap.merge(DEFAULTS).expect("the embedded keymap is valid");
        keymap
    }

    /// Returns the default keymap with the overrides in `text`; `""` unbinds a key.
    ///
    /// # Errors
    /// The name of an unknown table, key or action.
    pub fn with_overrides(text: &str) -> Result<Self, KeymapError> {
        let mut keymap = Self::standard();
        keymap.merge(text)?;
        Ok(keymap)
    }

    fn merge(&mut self, text: &str) -> Result<(), KeymapError> {
        let tables: BTreeMap<KeyContext, BTreeMap<String, String>> = toml::from_str(text)?;
        for (context, keys) in tables {
            let name = format!("{context:?}").to_lowercase();
            for (text, action) in keys {
                let key = parse_key(&text)
                    .ok_or_else(|| KeymapError::Key { context: name.clone(), key: text.clone() })?;
                self.bind(context, key, &action).ok_or_else(|| KeymapError::Action {
                    context: name.clone(),
                    key: text,
                    action,
                })?;
            }
        }
        Ok(())
    }

    fn bind(&mut self, context: KeyContext, key: KeyChord, action: &str) -> Option<()> {
        let keys = self.bindings.entry(context).or_default();
        keys.retain(|(bound, _)| *bound != key);
        if !action.is_empty() {
            keys.push((key, Action::from_name(action)?));
        }
        Some(())
    }

    /// Gives a key of a context another action. Returns the action that the key had there.
    pub(super) fn replace(&mut self, context: KeyContext, key: KeyChord, action: Action) -> Option<Action> {
        let replaced = self.action_of(context, key);
        let keys = self.bindings.entry(context).or_default();
        keys.retain(|(bound, _)| *bound != key);
        keys.push((key, action));
        replaced
    }

    /// Returns the action of a key: the context's own, otherwise that of the main screen, otherwise the global one.
    pub fn action_for(&self, context: KeyContext, event: KeyEvent) -> Option<Action> {
        self.action_of(context, normalize(event.code, event.modifiers))
    }

    fn action_of(&self, context: KeyContext, key: KeyChord) -> Option<Action> {
        context.tables().iter().find_map(|table| {
            let keys = self.bindings.get(table)?;
            keys.iter().find(|(bound, _)| *bound == key).map(|(_, action)| *action)
        })
    }

    /// Returns the name of a pressed key.
    pub(super) fn name_of(event: KeyEvent) -> String {
        key_text(&normalize(event.code, event.modifiers))
    }

    /// Returns the actions with a key of the context's own.
    pub fn own_actions(&self, context: KeyContext) -> Vec<Action> {
        self.bindings.get(&context).into_iter().flatten().map(|(_, action)| *action).collect()
    }

    /// Returns the keys of an action as the footer writes them, the context's own before others.
    pub fn keys_for(&self, context: KeyContext, action: Action) -> Vec<String> {
        let bound = context.tables().iter().filter_map(|table| self.bindings.get(table)).flatten();
        let mut keys: Vec<&KeyChord> = bound
            .filter(|(key, does)| *does == action && self.action_of(context, *key) == Some(action))
            .map(|(key, _)| key)
            .collect();
        keys.sort_by_key(|key| display_rank(key));
        keys.into_iter().map(key_text).collect()
    }
}

/// Suggests actions with similar names.
fn alike(slip: &str) -> String {
    let names: Vec<&str> = ACTIONS.iter().map(|row| row.1).collect();
    let near = similar::get_close_matches(slip, &names, 3, 0.6);
    if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) }
}

/// Ranks the keys of an action for display: esc, plain characters, enter and tab, other named keys, modified
/// characters.
fn display_rank(key: &KeyChord) -> u8 {
    match key {
        (KeyCode::Esc, _) => 0,
        (KeyCode::Char(_), modifiers) if modifiers.is_empty() => 1,
        (KeyCode::Char(_), _) => 4,
        (KeyCode::Enter | KeyCode::Tab, _) => 2,
        _ => 3,
    }
}

/// Normalises a key: shift becomes part of a character, and shift-tab becomes backtab.
fn normalize(code: KeyCode, modifiers: KeyModifiers) -> KeyChord {
    let kept = modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
    match code {
        KeyCode::Char(small) if kept.contains(KeyModifiers::SHIFT) => {
            (KeyCode::Char(small.to_ascii_uppercase()), kept - KeyModifiers::SHIFT)
        }
        KeyCode::BackTab => (code, kept - KeyModifiers::SHIFT),
        KeyCode::Tab if kept.contains(KeyModifiers::SHIFT) => (KeyCode::BackTab, kept - KeyModifiers::SHIFT),
        _ => (code, kept),
    }
}

const NAMED_KEYS: [(&str, KeyCode); 15] = [
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

const MODIFIERS: [(&str, KeyModifiers); 3] =
    [("ctrl-", KeyModifiers::CONTROL), ("alt-", KeyModifiers::ALT), ("shift-", KeyModifiers::SHIFT)];

/// Describes a key that no terminal has, with the name that is nearest.
pub(super) fn key_slip(key: &str) -> String {
    let names: Vec<&str> = NAMED_KEYS.iter().map(|(name, _)| *name).collect();
    let near = similar::get_close_matches(key, &names, 1, 0.6);
    let near = near.first().map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
    format!("{key:?}: unknown key.{near} Use a character, or a name such as enter, esc or ctrl-d.")
}

pub(super) fn parse_key(text: &str) -> Option<KeyChord> {
    let (mut modifiers, mut rest) = (KeyModifiers::NONE, text);
    while let Some((name, modifier)) =
        MODIFIERS.iter().find(|(name, _)| rest.starts_with(name) && rest.len() > name.len())
    {
        modifiers |= *modifier;
        rest = &rest[name.len()..];
    }
    let named = NAMED_KEYS.iter().find(|(name, _)| *name == rest).map(|(_, code)| *code);
    let function = || {
        let number = rest.strip_prefix('f')?.parse().ok().filter(|number| (1..=12).contains(number))?;
        Some(KeyCode::F(number))
    };
    let mut characters = rest.chars();
    let single = characters.next().filter(|_| characters.next().is_none()).map(KeyCode::Char);
    Some(normalize(named.or(single).or_else(function)?, modifiers))
}

fn key_text((code, modifiers): &KeyChord) -> String {
    let mut text: String = MODIFIERS
        .iter()
        .filter(|(_, modifier)| modifiers.contains(*modifier))
        .map(|(name, _)| *name)
        .collect();
    match (NAMED_KEYS.iter().find(|(_, named)| named == code), code) {
        (Some((name, _)), _) => text.push_str(name),
        (None, KeyCode::Char(character)) => text.push(*character),
        (None, KeyCode::F(number)) => text = format!("{text}f{number}"),
        _ => {}
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn a_dialog_ignores_global_keys() {
        let keymap = Keymap::standard();
        let slash = press(KeyCode::Char('/'), KeyModifiers::NONE);
        assert_eq!(keymap.action_for(KeyContext::Dialog, slash), None);
    }

    /// Keys with another use in a question, which names them: yes, no, and what the question is about.
    const ANSWERS: [&str; 5] = ["yes", "no", "repair", "copy-patch", "reload"];

    #[test]
    fn a_key_has_one_meaning_in_the_whole_program() {
        let keymap = Keymap::standard();
        let mut meanings: BTreeMap<String, std::collections::BTreeSet<&str>> = BTreeMap::new();
        for (key, action) in keymap.bindings.values().flatten() {
            if !ANSWERS.contains(&action.name()) {
                meanings.entry(key_text(key)).or_default().insert(action.name());
            }
        }
        meanings.retain(|_, actions| actions.len() > 1);
        assert_eq!(meanings, BTreeMap::new());
    }

    #[test]
    fn at_most_18_keys_work_everywhere_besides_those_that_move() {
        let keymap = Keymap::standard();
        let tables = [KeyContext::Global, KeyContext::Main];
        let bound = tables.iter().flat_map(|table| keymap.own_actions(*table));
        let moves = |action: &Action| {
            use crate::app::action::ActionGroup;
            action.is_movement() || action.definition().2 == ActionGroup::Move || action.is_focus()
        };
        // Every terminal program has ctrl-c.
        let counts = |action: &Action| *action != Action::Quit && !moves(action);
        let keys: std::collections::BTreeSet<&str> = bound.filter(counts).map(Action::name).collect();
        assert!(keys.len() <= 18, "{}: {keys:?}", keys.len());
    }

    #[test]
    fn a_keymap_file_changes_single_keys_and_its_errors_name_unknown_ones() {
        let keymap =
            Keymap::with_overrides("[global]\n\"q\" = \"\"\n\"ctrl-q\" = \"quit\"\n").expect("valid");
        let q = press(KeyCode::Char('q'), KeyModifiers::NONE);
        assert_eq!(keymap.action_for(KeyContext::Global, q), None);
        assert_eq!(
            keymap.action_for(KeyContext::Global, press(q.code, KeyModifiers::CONTROL)),
            Some(Action::Quit)
        );
        for (text, words) in [
            (
                "[global]\n\"x\" = \"tagle-prune\"\n",
                &["[global]", "\"x\"", "tagle-prune", "mean toggle-prune"][..],
            ),
            ("[tuning]\n\"hyper-x\" = \"quit\"\n", &["[tuning]", "\"hyper-x\"", "unknown key"]),
            ("[tuning]\n\"f13\" = \"quit\"\n", &["[tuning]", "\"f13\"", "unknown key"]),
            ("[tunning]\n\"x\" = \"quit\"\n", &["line 1", "tunning", "`tuning`"]),
            ("[global]\nx = 1\n", &["line 2", "string"]),
        ] {
            let error = Keymap::with_overrides(text).expect_err("a slip").to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
        }
    }

    #[test]
    fn shifted_characters_need_no_modifier() {
        let keymap = Keymap::standard();
        let g = press(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(keymap.action_for(KeyContext::Global, g), Some(Action::Bottom));
        let own = Keymap::with_overrides("[global]\n\"shift-x\" = \"quit\"\n").expect("valid");
        assert!(own.keys_for(KeyContext::Global, Action::Quit).contains(&"X".to_owned()));
    }
}
