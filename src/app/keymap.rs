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
    /// Anywhere on the main screen.
    Global,
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
    /// Whether the keys of the main screen do nothing here.
    pub fn is_alone(self) -> bool {
        matches!(self, Self::Dialog | Self::List | Self::Help | Self::Timeline | Self::Compare)
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

    /// Returns the action of a key: the context's own, otherwise the global one. Dialogs, lists, the timeline and the
    /// comparison have no global keys.
    pub fn action_for(&self, context: KeyContext, event: KeyEvent) -> Option<Action> {
        self.action_of(context, normalize(event.code, event.modifiers))
    }

    fn action_of(&self, context: KeyContext, key: KeyChord) -> Option<Action> {
        let find = |context| {
            let keys = self.bindings.get(&context)?;
            keys.iter().find(|(bound, _)| *bound == key).map(|(_, action)| *action)
        };
        find(context).or_else(|| if context.is_alone() { None } else { find(KeyContext::Global) })
    }

    /// Returns the actions with a key of the context's own.
    pub fn own_actions(&self, context: KeyContext) -> Vec<Action> {
        self.bindings.get(&context).into_iter().flatten().map(|(_, action)| *action).collect()
    }

    /// Returns the keys of an action as the footer writes them, the context's own before global ones.
    pub fn keys_for(&self, context: KeyContext, action: Action) -> Vec<String> {
        let bound = |context| self.bindings.get(&context).map(Vec::as_slice).unwrap_or_default();
        let own = bound(context);
        let is_alone = context == KeyContext::Global || context.is_alone();
        let global = if is_alone { &[][..] } else { bound(KeyContext::Global) };
        let shadowed = |key: &KeyChord| own.iter().any(|(own, _)| own == key);
        let global = global.iter().filter(|(key, _)| !shadowed(key));
        let mut keys: Vec<&KeyChord> =
            own.iter().chain(global).filter(|(_, does)| *does == action).map(|(key, _)| key).collect();
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
    use crate::app::action::ACTIONS;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn a_pane_key_overrides_the_global_one() {
        let keymap = Keymap::standard();
        let c = press(KeyCode::Char('c'), KeyModifiers::NONE);
        assert_eq!(keymap.action_for(KeyContext::Transcript, c), Some(Action::Commit));
        assert_eq!(keymap.action_for(KeyContext::Tuning, c), Some(Action::ToConfig));
    }

    #[test]
    fn a_dialog_ignores_global_keys() {
        let keymap = Keymap::standard();
        let slash = press(KeyCode::Char('/'), KeyModifiers::NONE);
        assert_eq!(keymap.action_for(KeyContext::Dialog, slash), None);
    }

    #[test]
    fn every_action_can_be_reached_by_a_key() {
        let keymap = Keymap::standard();
        let bound: Vec<Action> = keymap.bindings.values().flatten().map(|(_, action)| *action).collect();
        let lost: Vec<&str> = ACTIONS.iter().filter(|row| !bound.contains(&row.0)).map(|row| row.1).collect();
        assert_eq!(lost, Vec::<&str>::new());
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
