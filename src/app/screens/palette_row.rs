//! A row of the palette, and its effect.

use std::borrow::Cow;

use crate::app::action::Action;

/// Runs when a row of the palette is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaletteCommand {
    Action(Action),
    SavePreset(String),
    LoadPreset(String),
    DeletePreset(String),
    /// Uses the rules of a release.
    UseRuleset(String),
    /// Goes on typing this text.
    Type(String),
}

/// An action or a command that matches the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaletteRow {
    pub command: PaletteCommand,
    pub name: Cow<'static, str>,
    pub description: Cow<'static, str>,
    /// The reason that it ranks before others; empty without one.
    pub note: &'static str,
    /// Matched characters of the name.
    pub name_hits: Vec<usize>,
    /// Matched characters of the description.
    pub description_hits: Vec<usize>,
}

impl PaletteRow {
    /// Builds the row of a command that takes a word.
    pub(super) fn of_command(name: String, description: String, command: PaletteCommand) -> Self {
        Self {
            command,
            name: name.into(),
            description: description.into(),
            note: "",
            name_hits: Vec::new(),
            description_hits: Vec::new(),
        }
    }
}
