//! A theme as its file says it.

use serde::Deserialize;

use super::colour::Rgb;

/// The themes that are part of the program.
const BUILT_IN: [(&str, &str); 3] = [
    ("dark", include_str!("../../../assets/themes/dark.toml")),
    ("light", include_str!("../../../assets/themes/light.toml")),
    ("mono", include_str!("../../../assets/themes/mono.toml")),
];

/// A theme that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThemeError {
    /// Not TOML, or of another form.
    #[error("theme {name}: {source}")]
    Toml {
        /// Its name.
        name: String,
        /// Where and what.
        source: Box<toml::de::Error>,
    },
    /// No theme has this name.
    #[error("no theme is called {name:?}; there are dark, light and mono")]
    Unknown {
        /// The name.
        name: String,
    },
}

/// Everything a theme file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ThemeFile {
    /// The theme whose meanings are taken where this one is silent.
    #[serde(default, rename = "like")]
    _like: Option<String>,
    /// Whether colours are drawn at all.
    #[serde(default = "yes")]
    pub(super) colour: bool,
    pub(super) ground: Grounds,
    pub(super) role: Roles,
    pub(super) fate: Fates,
    pub(super) part: Parts,
    pub(super) heat: Heats,
    pub(super) ink: Inks,
}

fn yes() -> bool {
    true
}

/// One meaning.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paint {
    pub(super) rgb: Rgb,
    /// Of sixteen; none is the terminal's own.
    pub(super) ansi: Option<u8>,
    /// Bold where there are sixteen.
    #[serde(default)]
    pub(super) bold: bool,
}

/// A part of the budget bar: its fill, and the letters on it where there are sixteen.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fill {
    pub(super) rgb: Rgb,
    pub(super) ansi: u8,
    pub(super) ink: u8,
}

/// Letters on a fill: whichever contrasts more.
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
    /// What things stand on.
    Grounds: Paint { page, surface, selected, unfocused, hot, track, added, removed, hatch }
);
table!(
    /// What text and lines mean.
    Roles: Paint {
        text, bright, muted, ghost, faint, focus, plan, plan_bar, warn, danger, tool, you, assistant, string, number,
        keyword,
    }
);
table!(
    /// What becomes of a message.
    Fates: Paint { kept, protected, soft_trimmed, cleared, truncated, summarised, dropped }
);
table!(
    /// What fills the window.
    Parts: Fill { system, tools, files, summary, you, assistant, thinking, results }
);

table!(
    /// How much of a measure a cell of a map has, and that it does not fit.
    Heats: Fill { lowest, low, lower_middle, upper_middle, high, highest, over }
);

/// A built-in theme.
pub(super) fn built_in(name: &str) -> Result<ThemeFile, ThemeError> {
    let text = built_in_text(name)?;
    parse(name, text)
}

/// A theme from its text, over the one it is like.
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

/// Two levels: tables of meanings, and meanings.
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
