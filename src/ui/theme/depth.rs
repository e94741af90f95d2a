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
        Self::detect_with_reason(no_color, colorterm, term).0
    }

    /// Detects the depth, and names the variable that decided.
    pub fn detect_with_reason(
        no_color: Option<&str>,
        colorterm: Option<&str>,
        term: Option<&str>,
    ) -> (Self, String) {
        let (colorterm, term) = (colorterm.unwrap_or_default(), term.unwrap_or_default());
        let by_term = |depth| (depth, format!("TERM={term}"));
        if no_color.is_some_and(|value| !value.is_empty()) {
            return (Self::None, "NO_COLOR is set".to_owned());
        }
        match term {
            "dumb" => by_term(Self::None),
            _ if ["truecolor", "24bit"].contains(&colorterm) => {
                (Self::True, format!("COLORTERM={colorterm}"))
            }
            _ if term.ends_with("-direct") => by_term(Self::True),
            "xterm-kitty" | "alacritty" | "wezterm" | "foot" | "xterm-ghostty" => by_term(Self::True),
            _ if term.contains("256color") => by_term(Self::TwoFiftySix),
            "linux" | "ansi" | "cygwin" | "vt100" | "vt220" | "screen" => by_term(Self::Sixteen),
            "" => (Self::Sixteen, "TERM is not set".to_owned()),
            _ => by_term(Self::TwoFiftySix),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sixteen => "16",
            Self::TwoFiftySix => "256",
            Self::True => "24-bit",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_non_empty_no_color_overrides_everything() {
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
        for (values, reason) in [
            ([Some("1"), Some("24bit"), Some("dumb")], "NO_COLOR is set"),
            ([None, Some("24bit"), Some("dumb")], "TERM=dumb"),
            ([None, Some("24bit"), Some("screen")], "COLORTERM=24bit"),
            ([None, Some("yes"), Some("screen")], "TERM=screen"),
            ([None, None, None], "TERM is not set"),
        ] {
            let [no_color, colorterm, term] = values;
            assert_eq!(ColourDepth::detect_with_reason(no_color, colorterm, term).1, reason);
        }
    }
}
