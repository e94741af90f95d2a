//! The colour depth of the terminal.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColourDepth {
    /// No colours: bold, dim, underline and signs carry all meaning.
    None,
    /// The terminal's own sixteen colours.
    Sixteen,
    /// The 6x6x6 cube and the greys.
    TwoFiftySix,
    /// 24-bit colour.
    True,
}

impl ColourDepth {
    /// Detects the depth from the values of `NO_COLOR`, `COLORTERM` and `TERM`.
    pub fn detect(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Self {
        let term = term.unwrap_or_default();
        if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" {
            return Self::None;
        }
        let direct = ["truecolor", "24bit"].contains(&colorterm.unwrap_or_default())
            || term.ends_with("-direct")
            || ["xterm-kitty", "alacritty", "wezterm", "foot", "xterm-ghostty"].contains(&term);
        match term {
            _ if direct => Self::True,
            _ if term.contains("256color") => Self::TwoFiftySix,
            "linux" | "ansi" | "cygwin" | "vt100" | "vt220" | "screen" => Self::Sixteen,
            _ if term.is_empty() => Self::Sixteen,
            _ => Self::TwoFiftySix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_goes_before_everything_but_only_when_it_says_something() {
        let both = |no_color| ColourDepth::detect(Some(no_color), Some("truecolor"), Some("xterm"));
        assert_eq!(both("1"), ColourDepth::None);
        assert_eq!(both(""), ColourDepth::True);
    }

    #[test]
    fn the_terminal_says_how_many_colours_it_has() {
        let of = |term| ColourDepth::detect(None, None, Some(term));
        assert_eq!(of("xterm-256color"), ColourDepth::TwoFiftySix);
        assert_eq!(of("xterm-kitty"), ColourDepth::True);
        assert_eq!(of("linux"), ColourDepth::Sixteen);
        assert_eq!(of("dumb"), ColourDepth::None);
        assert_eq!(ColourDepth::detect(None, None, None), ColourDepth::Sixteen);
    }
}
