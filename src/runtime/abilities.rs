//! The abilities of the terminal, each with the reason. Only variables and settings decide; the terminal is not queried.

use std::io::IsTerminal as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::background::{Background, reported_background};
use super::emulators::{Claim, Emulator, Guess, identify};
use crate::config::Config;
use crate::gateway::env::Environment;
use crate::ui::session_columns::ascii_reason;
use crate::ui::theme::ColourDepth;

/// The variables that say something about a terminal, without any that hold addresses or sockets.
pub const TERMINAL_VARIABLES: [&str; 12] = [
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "COLORFGBG",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "LC_ALL",
    "LC_CTYPE",
    "LANG",
    "CLAWSCOPE_THEME",
    "CLAWSCOPE_MOUSE",
    "CLAWSCOPE_ASCII",
];

/// One ability: its value, such as `24-bit` or `likely`, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ability {
    pub name: &'static str,
    /// A guess is `likely`, `unlikely` or `unknown`.
    pub value: String,
    pub reason: String,
}

impl Ability {
    fn new(name: &'static str, value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name, value: value.into(), reason: reason.into() }
    }
}

/// The standard streams of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Whether each stream is a terminal.
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    /// Columns and rows; `None` without a terminal.
    pub size: Option<(u16, u16)>,
}

impl Streams {
    pub fn of_process() -> Self {
        let (stdin, stdout, stderr) = (
            std::io::stdin().is_terminal(),
            std::io::stdout().is_terminal(),
            std::io::stderr().is_terminal(),
        );
        // Where there is no terminal, crossterm would start other programs to find one.
        let size = if stdin || stdout || stderr { crossterm::terminal::size().ok() } else { None };
        Self { stdin, stdout, stderr, size }
    }
}

/// Returns the terminal that the environment names, and the variable that does.
pub fn terminal_name(env: &Environment) -> Option<(&'static str, String)> {
    identify(env).map(|(emulator, sign)| (emulator.name, sign))
}

/// Whether the process runs on another machine than the terminal.
pub fn is_remote(env: &Environment) -> bool {
    env.first(&["SSH_CONNECTION", "SSH_TTY", "SSH_CLIENT"]).is_some()
}

/// Returns every ability in a fixed order.
pub fn terminal_abilities(env: &Environment, config: &Config) -> Vec<Ability> {
    let found = identify(env);
    let guess = |name, claim: fn(&Emulator) -> Claim| guessed(name, found.as_ref(), claim);
    let mouse = if config.mouse {
        guess("mouse", |terminal| terminal.mouse)
    } else {
        Ability::new("mouse", "off", "your settings turn it off")
    };
    let (depth, why) =
        ColourDepth::detect_with_reason(env.get("NO_COLOR"), env.get("COLORTERM"), env.get("TERM"));
    vec![
        Ability::new("colours", depth.name(), why),
        background(env, config, depth),
        characters(env, config),
        ambiguous_width(env),
        guess("copy (OSC 52)", |terminal| terminal.copy),
        guess("notify (OSC 9)", |terminal| terminal.notify),
        guess("kitty keys", |terminal| terminal.kitty_keys),
        mouse,
    ]
}

fn guessed(
    name: &'static str,
    found: Option<&(&'static Emulator, String)>,
    claim: fn(&Emulator) -> Claim,
) -> Ability {
    let Some((terminal, sign)) = found else {
        return Ability::new(name, Guess::Unknown.as_str(), "no variable names the terminal");
    };
    let (guess, condition) = claim(terminal);
    let condition = if condition.is_empty() { String::new() } else { format!(": {condition}") };
    Ability::new(name, guess.as_str(), format!("{} ({sign}){condition}", terminal.name))
}

fn background(env: &Environment, config: &Config, depth: ColourDepth) -> Ability {
    let name = "theme";
    if let Some(theme) = &config.theme {
        return Ability::new(name, &theme.name, &theme.origin);
    }
    let reported =
        |theme| Ability::new(name, theme, format!("COLORFGBG={}", env.get("COLORFGBG").unwrap_or_default()));
    match reported_background(env) {
        _ if depth == ColourDepth::None => Ability::new(name, "mono", "no colours"),
        Some(Background::Dark) => reported("dark"),
        Some(Background::Light) => reported("light"),
        None => Ability::new(name, "dark or light", "the screen asks the terminal for its background"),
    }
}

fn characters(env: &Environment, config: &Config) -> Ability {
    let name = "characters";
    let locale = env.first(&["LC_ALL", "LC_CTYPE", "LANG"]);
    let reason = ascii_reason(locale, env.get("TERM"));
    match (config.ascii, reason) {
        (Some(true), _) => Ability::new(name, "ASCII", "your settings"),
        (Some(false), _) => Ability::new(name, "Unicode", "your settings"),
        (None, Some(reason)) => Ability::new(name, "ASCII", reason),
        (None, None) => {
            let words = locale.map_or("no locale is set".to_owned(), |locale| format!("the locale {locale}"));
            Ability::new(name, "Unicode", words)
        }
    }
}

/// Describes the width of characters that Unicode calls ambiguous, such as `→`. clawscope counts one column.
fn ambiguous_width(env: &Environment) -> Ability {
    let (major, minor, _) = unicode_width::UNICODE_VERSION;
    let unicode = format!("widths of Unicode {major}.{minor}");
    let locale = env.first(&["LC_ALL", "LC_CTYPE", "LANG"]).unwrap_or_default();
    let is_wide = ["zh", "ja", "ko"].iter().any(|language| locale.starts_with(language));
    let reason = if is_wide {
        format!("{unicode}; in the locale {locale} a terminal may draw 2 columns: use --ascii if lines break")
    } else {
        unicode
    };
    Ability::new("ambiguous width", "1 column", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NamedChoice;

    fn env(vars: &[(&str, &str)]) -> Environment {
        Environment::new(vars.iter().copied(), None, "/".into())
    }

    fn find<'a>(abilities: &'a [Ability], name: &str) -> (&'a str, &'a str) {
        let found = abilities.iter().find(|ability| ability.name == name).unwrap();
        (&found.value, &found.reason)
    }

    #[test]
    fn every_ability_has_a_reason_in_every_environment() {
        let environments: [&[(&str, &str)]; 5] = [
            &[],
            &[("TERM", "dumb")],
            &[("TERM", "xterm-kitty"), ("LANG", "en_US.UTF-8")],
            &[("TERM", "linux"), ("LANG", "C")],
            &[("TMUX", "x"), ("NO_COLOR", "1"), ("LC_ALL", "ja_JP.UTF-8")],
        ];
        for vars in environments {
            for ability in terminal_abilities(&env(vars), &Config::default()) {
                assert!(!ability.value.is_empty() && !ability.reason.is_empty(), "{vars:?}: {ability:?}");
            }
        }
    }

    #[test]
    fn the_condition_of_a_guess_is_part_of_its_reason() {
        let abilities = terminal_abilities(&env(&[("TMUX", "/tmp/secret,1,0")]), &Config::default());
        let (value, reason) = find(&abilities, "copy (OSC 52)");
        assert_eq!((value, reason), ("unknown", "tmux (TMUX is set): only with `set -g set-clipboard on`"));
        assert_eq!(find(&abilities, "mouse").0, "likely");
        let abilities = terminal_abilities(&env(&[("TERM", "xterm-256color")]), &Config::default());
        assert_eq!(find(&abilities, "mouse"), ("unknown", "no variable names the terminal"));
    }

    #[test]
    fn settings_override_detected_abilities() {
        let vars = env(&[("TERM", "linux"), ("COLORFGBG", "0;15")]);
        let detected = terminal_abilities(&vars, &Config::default());
        assert_eq!(find(&detected, "characters"), ("ASCII", "TERM=linux"));
        assert_eq!(find(&detected, "theme"), ("light", "COLORFGBG=0;15"));
        let theme = NamedChoice { name: "mono".to_owned(), origin: "CLAWSCOPE_THEME".to_owned() };
        let config = Config { theme: Some(theme), ascii: Some(false), mouse: false, ..Config::default() };
        let chosen = terminal_abilities(&vars, &config);
        assert_eq!(find(&chosen, "characters").0, "Unicode");
        assert_eq!(find(&chosen, "theme"), ("mono", "CLAWSCOPE_THEME"));
        assert_eq!(find(&chosen, "mouse").0, "off");
    }

    #[test]
    fn wide_locales_cause_a_warning() {
        let of = |locale| terminal_abilities(&env(&[("LANG", locale)]), &Config::default());
        assert!(find(&of("ja_JP.UTF-8"), "ambiguous width").1.contains("--ascii"));
        assert!(!find(&of("de_DE.UTF-8"), "ambiguous width").1.contains("--ascii"));
    }
}
