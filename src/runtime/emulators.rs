//! Terminals by the variables that they set, and the abilities of each. Nothing queries the terminal.

use crate::gateway::env::Environment;

/// A guess about an ability, only from variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    Likely,
    Unlikely,
    Unknown,
}

impl Guess {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Likely => "likely",
            Self::Unlikely => "unlikely",
            Self::Unknown => "unknown",
        }
    }
}

/// A guess and its condition, which may be empty.
pub(super) type Claim = (Guess, &'static str);

const YES: Claim = (Guess::Likely, "");
const NO: Claim = (Guess::Unlikely, "");
const OPEN: Claim = (Guess::Unknown, "");

const fn maybe(condition: &'static str) -> Claim {
    (Guess::Unknown, condition)
}

const fn no(reason: &'static str) -> Claim {
    (Guess::Unlikely, reason)
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Emulator {
    pub(super) name: &'static str,
    /// Programs may set the clipboard (OSC 52).
    pub(super) copy: Claim,
    /// Programs may show a desktop notification (OSC 9).
    pub(super) notify: Claim,
    /// The keyboard protocol of kitty.
    pub(super) kitty_keys: Claim,
    pub(super) mouse: Claim,
}

impl Emulator {
    const fn new(name: &'static str, copy: Claim, notify: Claim, kitty_keys: Claim, mouse: Claim) -> Self {
        Self { name, copy, notify, kitty_keys, mouse }
    }
}

const TMUX: Emulator = Emulator::new(
    "tmux",
    maybe("only with `set -g set-clipboard on`"),
    no("tmux does not pass notifications on"),
    no("tmux has extended keys of its own"),
    YES,
);
const SCREEN: Emulator = Emulator::new("screen", NO, NO, NO, maybe("before 5.0 only up to column 223"));
const ZELLIJ: Emulator = Emulator::new("zellij", OPEN, OPEN, maybe("since 0.41"), YES);
const CONSOLE: Emulator = Emulator::new("the Linux console", NO, NO, NO, NO);
const DUMB: Emulator = Emulator::new("a terminal without control codes", NO, NO, NO, NO);
const KITTY: Emulator = Emulator::new("kitty", YES, YES, YES, YES);
const ALACRITTY: Emulator = Emulator::new("Alacritty", YES, NO, YES, YES);
const FOOT: Emulator = Emulator::new("foot", YES, YES, YES, YES);
const GHOSTTY: Emulator = Emulator::new("Ghostty", YES, YES, YES, YES);
const WEZTERM: Emulator =
    Emulator::new("WezTerm", YES, YES, maybe("only with `enable_kitty_keyboard = true`"), YES);
const RXVT: Emulator = Emulator::new("rxvt", NO, no("rxvt reads OSC 777 instead"), NO, YES);
const ST: Emulator = Emulator::new("st", YES, NO, NO, YES);
const ITERM: Emulator = Emulator::new(
    "iTerm2",
    maybe("only if its settings allow programs to use the clipboard"),
    YES,
    maybe("only if the profile allows programs to change how keys are reported"),
    YES,
);
const APPLE: Emulator = Emulator::new("Apple Terminal", NO, NO, NO, YES);
const CODE: Emulator = Emulator::new("VS Code", maybe("only newer versions"), OPEN, OPEN, YES);
const MINTTY: Emulator = Emulator::new("mintty", no("only with `AllowSetSelection=yes`"), OPEN, OPEN, YES);
const WARP: Emulator = Emulator::new("Warp", OPEN, YES, OPEN, YES);
const WINDOWS: Emulator = Emulator::new(
    "Windows Terminal",
    YES,
    no("it reads OSC 9 as progress and folders only"),
    maybe("only newer versions"),
    YES,
);
const JETBRAINS: Emulator = Emulator::new("the terminal of JetBrains", OPEN, OPEN, OPEN, YES);
const VTE: Emulator = Emulator::new(
    "a VTE terminal, such as GNOME Terminal",
    no("VTE ignores OSC 52"),
    no("VTE reads OSC 777 instead"),
    NO,
    YES,
);
const KONSOLE: Emulator = Emulator::new("Konsole", maybe("only newer versions"), OPEN, OPEN, YES);
const XTERM: Emulator = Emulator::new("xterm", no("only with `allowWindowOps: true`"), NO, NO, YES);

/// The values of a variable that are a sign.
#[derive(Debug, Clone, Copy)]
enum Match {
    Is(&'static str),
    Starts(&'static str),
    Any,
}

use Match::{Any, Is, Starts};

/// The signs, the surest first: a multiplexer is between the program and the terminal; `TERM` and `TERM_PROGRAM`
/// belong to the terminal itself; other variables also reach terminals that were started from that terminal.
const SIGNS: [(&str, Match, &Emulator); 34] = [
    ("TERM", Is("dumb"), &DUMB),
    ("TMUX", Any, &TMUX),
    ("TERM", Starts("tmux"), &TMUX),
    ("ZELLIJ", Any, &ZELLIJ),
    ("STY", Any, &SCREEN),
    ("TERM", Starts("screen"), &SCREEN),
    ("TERM", Is("linux"), &CONSOLE),
    ("TERM", Is("xterm-kitty"), &KITTY),
    ("TERM", Is("xterm-ghostty"), &GHOSTTY),
    ("TERM", Starts("alacritty"), &ALACRITTY),
    ("TERM", Starts("foot"), &FOOT),
    ("TERM", Is("wezterm"), &WEZTERM),
    ("TERM", Starts("rxvt"), &RXVT),
    ("TERM", Starts("st-"), &ST),
    ("TERM_PROGRAM", Is("iTerm.app"), &ITERM),
    ("TERM_PROGRAM", Is("Apple_Terminal"), &APPLE),
    ("TERM_PROGRAM", Is("WezTerm"), &WEZTERM),
    ("TERM_PROGRAM", Is("ghostty"), &GHOSTTY),
    ("TERM_PROGRAM", Is("kitty"), &KITTY),
    ("TERM_PROGRAM", Is("alacritty"), &ALACRITTY),
    ("TERM_PROGRAM", Is("vscode"), &CODE),
    ("TERM_PROGRAM", Is("mintty"), &MINTTY),
    ("TERM_PROGRAM", Is("WarpTerminal"), &WARP),
    ("TERM_PROGRAM", Is("tmux"), &TMUX),
    ("LC_TERMINAL", Is("iTerm2"), &ITERM),
    ("TERMINAL_EMULATOR", Starts("JetBrains"), &JETBRAINS),
    ("WT_SESSION", Any, &WINDOWS),
    ("KONSOLE_VERSION", Any, &KONSOLE),
    ("VTE_VERSION", Any, &VTE),
    ("KITTY_WINDOW_ID", Any, &KITTY),
    ("WEZTERM_PANE", Any, &WEZTERM),
    ("GHOSTTY_RESOURCES_DIR", Any, &GHOSTTY),
    ("ALACRITTY_WINDOW_ID", Any, &ALACRITTY),
    ("XTERM_VERSION", Any, &XTERM),
];

/// Returns the terminal that the environment names, and the variable that does.
pub(super) fn identify(env: &Environment) -> Option<(&'static Emulator, String)> {
    SIGNS.iter().find_map(|(variable, expected, emulator)| {
        let value = env.get(variable)?;
        match expected {
            Is(whole) => (value == *whole).then(|| (*emulator, format!("{variable}={value}"))),
            Starts(start) => value.starts_with(start).then(|| (*emulator, format!("{variable}={value}"))),
            // A socket or a session: nothing that a report should hold.
            Any => Some((*emulator, format!("{variable} is set"))),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(vars: &[(&str, &str)]) -> Option<(&'static str, String)> {
        let env = Environment::new(vars.iter().copied(), None, "/".into());
        identify(&env).map(|(emulator, sign)| (emulator.name, sign))
    }

    #[test]
    fn a_multiplexer_hides_the_terminal_around_it() {
        let inside = [("TERM", "screen-256color"), ("TMUX", "/tmp/tmux,1,0"), ("KITTY_WINDOW_ID", "1")];
        assert_eq!(name(&inside), Some(("tmux", "TMUX is set".to_owned())));
        assert_eq!(name(&inside[..1]).unwrap().0, "screen");
        assert_eq!(name(&inside[2..]).unwrap().0, "kitty");
    }

    #[test]
    fn a_terminal_is_not_the_one_that_started_it() {
        let started_by_kitty =
            [("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode"), ("KITTY_WINDOW_ID", "1")];
        assert_eq!(name(&started_by_kitty), Some(("VS Code", "TERM_PROGRAM=vscode".to_owned())));
    }

    #[test]
    fn a_common_term_names_no_emulator() {
        assert_eq!(name(&[("TERM", "xterm-256color")]), None);
        assert_eq!(name(&[("TERM", ""), ("TMUX", " ")]), None);
    }
}
