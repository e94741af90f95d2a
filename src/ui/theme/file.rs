//! Theme files: TOML with one table per group of meanings. A theme may build on another one: with `like = "dark"` it
//! lists only its differences.

use serde::Deserialize;

use super::colour::Rgb;

const BUILT_IN: [(&str, &str); 3] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("mono", include_str!("../../../assets/themes/mono.toml")),
];

/// An error in a theme file or its name.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// The text is not TOML, or a member is missing or unknown.
    #[error("theme {name}: {source}")]
    Toml {
        name: String,
        /// Position and cause.
        source: Box<toml::de::Error>,
    },
    #[error("unknown theme {name:?}; the themes are dark, light and mono")]
    Unknown { name: String },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ThemeFile {
    /// The theme that provides missing meanings.
    #[serde(default, rename = "like")]
    _like: Option<String>,
    #[serde(default = "yes")]
    pub(super) colour: bool,
    pub(super) background: BackgroundPaints,
    pub(super) role: Roles,
    pub(super) fate: Fates,
    pub(super) part: Parts,
    pub(super) heat: Heats,
    pub(super) ink: Inks,
}

fn yes() -> bool {
    true
}

/// The colour of one meaning.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paint {
    pub(super) rgb: Rgb,
    /// One of the sixteen; `None` is the terminal's default colour.
    pub(super) ansi: Option<u8>,
    /// Bold on terminals with sixteen colours.
    #[serde(default)]
    pub(super) bold: bool,
}

/// A part of the budget bar: its fill, and the colour of its text on terminals with sixteen colours.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fill {
    pub(super) rgb: Rgb,
    pub(super) ansi: u8,
    pub(super) ink: u8,
}

/// Text colours on fills; the one with more contrast is used.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Inks {
    pub(super) dark: Rgb,
    pub(super) light: Rgb,
}

macro_rules! table {
    ($(#[$doc:meta])* $name:ident: $of:ty { $($field:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        pub(super) struct $name { $(pub(super) $field: $of),+ }
    };
}

table!(
    /// Backgrounds.
    BackgroundPaints: Paint { page, surface, selected, unfocused, hot, track, added, removed, hatch }
);
table!(
    /// Text and lines.
    Roles: Paint {
        text, bright, muted, ghost, faint, focus, plan, plan_bar, warn, danger, tool, you, assistant, string, number,
        keyword,
    }
);
table!(
    /// Fates of messages.
    Fates: Paint { kept, protected, soft_trimmed, cleared, truncated, summarised, dropped }
);
table!(
    /// Parts of the budget bar.
    Parts: Fill { system, tools, files, summary, you, assistant, thinking, results }
);

table!(
    /// Levels of a map's cell, and the colour of cells that do not fit.
    Heats: Fill { lowest, low, lower_middle, upper_middle, high, highest, over }
);

pub(super) fn built_in(name: &str) -> Result<ThemeFile, ThemeError> {
    let text = built_in_text(name)?;
    parse(name, text)
}

/// Parses a theme, on top of the one that it names with `like`.
pub(super) fn parse(name: &str, text: &str) -> Result<ThemeFile, ThemeError> {
    let fail = |source| ThemeError::Toml { name: name.to_owned(), source: Box::new(source) };
    let own: toml::Table = toml::from_str(text).map_err(fail)?;
    let mut whole = toml::Table::new();
    if let Some(base) = own.get("like").and_then(toml::Value::as_str) {
        whole = toml::from_str(built_in_text(base)?).map_err(fail)?;
    }
    merge_tables(&mut whole, own);
    toml::Value::Table(whole).try_into().map_err(fail)
}

fn built_in_text(name: &str) -> Result<&'static str, ThemeError> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| ThemeError::Unknown { name: name.to_owned() })
}

/// Merges two levels: the tables, and the meanings in them.
fn merge_tables(whole: &mut toml::Table, own: toml::Table) {
    for (key, value) in own {
        match (whole.get_mut(&key), value) {
            (Some(toml::Value::Table(known)), toml::Value::Table(news)) => known.extend(news),
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
}
