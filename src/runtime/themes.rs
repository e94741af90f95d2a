//! The active theme: chosen by the person or by the terminal, and loaded when it changes.

use crate::app::state::Options;
use crate::gateway::env::Environment;
use crate::runtime::RunOptions;
use crate::runtime::background::{Background, detect};
use crate::ui::theme::{ColourDepth, Theme};

#[derive(Debug)]
pub(super) struct Themes {
    depth: ColourDepth,
    ascii: bool,
    /// The active theme by index, fitted to the terminal's colours.
    loaded: Option<(usize, Theme)>,
    /// The fallback without colours, for a theme that fails to load.
    colourless: Theme,
    /// Index of the first theme.
    pub(super) initial: usize,
}

impl Themes {
    /// Loads every theme once, so that an unknown name is reported before the terminal is taken. Fitting a theme to
    /// the terminal's colours takes longer and is left to [`Self::current`].
    pub(super) fn new(options: &RunOptions) -> anyhow::Result<Self> {
        let depth = colour_depth(&options.environment);
        let names = &options.app.themes;
        let first = options.app.theme.min(names.len().saturating_sub(1));
        let plain = names.iter().map(|name| Theme::load(name, ColourDepth::None));
        let mut plain = plain.collect::<Result<Vec<Theme>, _>>()?;
        anyhow::ensure!(
            !plain.is_empty(),
            "the theme has no name; built-in themes are `dark`, `light` and \
             `mono`"
        );
        Ok(Self {
            depth,
            ascii: options.ascii,
            loaded: None,
            colourless: plain.swap_remove(first),
            initial: first,
        })
    }

    /// Chooses a theme by terminal and environment unless the person did. Returns whether the terminal may still
    /// answer.
    pub(super) fn detect_initial(&mut self, options: &RunOptions) -> bool {
        if !options.auto_theme {
            return false;
        }
        let (name, unanswered) = detect_theme(&options.environment, self.depth);
        if let Some(at) = options.app.themes.iter().position(|theme| theme == name) {
            self.initial = at;
        }
        unanswered
    }

    /// Returns the theme that the state selects.
    pub(super) fn current(&mut self, options: &Options) -> &Theme {
        if self.loaded.as_ref().is_none_or(|(at, _)| *at != options.theme)
            && let Some(name) = options.themes.get(options.theme)
            && let Ok(theme) = Theme::load(name, self.depth)
        {
            self.loaded = Some((options.theme, theme.with_ascii(self.ascii)));
        }
        self.loaded.as_ref().map_or(&self.colourless, |(_, theme)| theme)
    }
}

fn colour_depth(env: &Environment) -> ColourDepth {
    ColourDepth::detect(env.get("NO_COLOR"), env.get("COLORTERM"), env.get("TERM"))
}

/// Returns the built-in theme that fits, and whether the terminal may still answer.
fn detect_theme(env: &Environment, depth: ColourDepth) -> (&'static str, bool) {
    if depth == ColourDepth::None {
        return ("mono", false);
    }
    let found = detect(env);
    let name = match found.background {
        Some(Background::Light) => "light",
        Some(Background::Dark) | None => "dark",
    };
    (name, found.awaits_response)
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
        assert!(!themes.detect_initial(&options));
        themes.initial
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
        themes.detect_initial(&own);
        assert_eq!(themes.initial, 1);
    }

    #[test]
    fn the_theme_follows_the_state_and_an_unknown_name_is_reported_before_the_screen_is_taken() {
        let mut own = options(&[("TERM", "xterm-256color")]);
        let mut themes = Themes::new(&own).unwrap();
        own.app.theme = 1;
        assert_eq!(themes.current(&own.app).name(), "light");
        own.app.theme = 99;
        assert_eq!(themes.current(&own.app).name(), "light");
        own.app.themes = vec!["nope".into()];
        assert!(Themes::new(&own).unwrap_err().to_string().contains("nope"));
    }
}
