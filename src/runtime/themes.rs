//! The theme in force: chosen by the person, or by the terminal, and loaded when it changes.

use crate::app::state::Options;
use crate::gateway::env::Environment;
use crate::runtime::RunOptions;
use crate::runtime::background::{Background, detect};
use crate::ui::theme::{ColourDepth, Theme};

/// Themes for one terminal.
#[derive(Debug)]
pub(super) struct Themes {
    depth: ColourDepth,
    ascii: bool,
    now: (usize, Theme),
    /// The index of the theme to begin with.
    pub(super) first: usize,
}

impl Themes {
    /// Loads every theme once, so that a name that does not exist is told before the screen is taken.
    pub(super) fn new(options: &RunOptions) -> anyhow::Result<Self> {
        let env = &options.environment;
        let depth = ColourDepth::detect(env.get("NO_COLOR"), env.get("COLORTERM"), env.get("TERM"));
        let mut loaded = Vec::new();
        for name in &options.app.themes {
            loaded.push(Theme::load(name, depth)?.with_ascii(options.ascii));
        }
        let first = options.app.theme.min(loaded.len().saturating_sub(1));
        anyhow::ensure!(!loaded.is_empty(), "no theme is named; `dark`, `light` and `mono` are built in");
        Ok(Self { depth, ascii: options.ascii, now: (first, loaded.swap_remove(first)), first })
    }

    /// Chooses by terminal and environment, where the person did not. Answers whether the terminal still
    /// owes an answer.
    pub(super) fn choose(&mut self, options: &RunOptions) -> bool {
        if !options.auto_theme {
            return false;
        }
        let (name, unanswered) = fitting(&options.environment, self.depth);
        if let Some(at) = options.app.themes.iter().position(|theme| theme == name) {
            self.first = at;
        }
        unanswered
    }

    /// The theme the state asks for.
    pub(super) fn get(&mut self, options: &Options) -> &Theme {
        if self.now.0 != options.theme
            && let Some(name) = options.themes.get(options.theme)
            && let Ok(theme) = Theme::load(name, self.depth)
        {
            self.now = (options.theme, theme.with_ascii(self.ascii));
        }
        &self.now.1
    }
}

/// The built-in theme that fits, and whether the terminal still owes an answer.
fn fitting(env: &Environment, depth: ColourDepth) -> (&'static str, bool) {
    if depth == ColourDepth::None {
        return ("mono", false);
    }
    let found = detect(env);
    let name = match found.background {
        Some(Background::Light) => "light",
        Some(Background::Dark) | None => "dark",
    };
    (name, found.unanswered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(vars: &[(&str, &str)]) -> RunOptions {
        let environment = Environment::new(vars.iter().copied(), None, "/".into());
        RunOptions { environment, ..RunOptions::default() }
    }

    fn chosen(vars: &[(&str, &str)]) -> usize {
        let options = options(vars);
        let mut themes = Themes::new(&options).unwrap();
        assert!(!themes.choose(&options));
        themes.first
    }

    #[test]
    fn the_environment_chooses_the_theme_unless_a_person_did() {
        assert_eq!(chosen(&[("TERM", "xterm-256color"), ("COLORFGBG", "0;15")]), 1);
        assert_eq!(chosen(&[("TERM", "xterm-256color"), ("COLORFGBG", "15;0")]), 0);
        assert_eq!(chosen(&[("NO_COLOR", "1"), ("TERM", "xterm")]), 2);
        let mut own = options(&[("NO_COLOR", "1")]);
        own.auto_theme = false;
        own.app.theme = 1;
        let mut themes = Themes::new(&own).unwrap();
        themes.choose(&own);
        assert_eq!(themes.first, 1);
    }

    #[test]
    fn the_theme_follows_the_state_and_an_unknown_name_is_told_before_the_screen_is_taken() {
        let mut own = options(&[("TERM", "xterm-256color")]);
        let mut themes = Themes::new(&own).unwrap();
        own.app.theme = 1;
        assert_eq!(themes.get(&own.app).name(), "light");
        own.app.theme = 99;
        assert_eq!(themes.get(&own.app).name(), "light");
        own.app.themes = vec!["nope".into()];
        assert!(Themes::new(&own).unwrap_err().to_string().contains("nope"));
    }
}
