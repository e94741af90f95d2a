//! Draws the colours of a program's output on the page of a theme, so that they stay readable.

use ratatui::style::{Color, Modifier, Style};

use super::colour::Rgb;
use super::{ColourResolver, Role, Theme};
use crate::text::sgr::{SgrColour, SgrStyle};

/// Contrast with the page below which text counts as hidden.
const MIN_CONTRAST: f64 = 1.8;

impl Theme {
    /// Returns the style of output; without colours, its attributes only.
    pub fn sgr(&self, output: SgrStyle) -> Style {
        let attributes = [
            (output.is_bold, Modifier::BOLD),
            (output.is_dim, Modifier::DIM),
            (output.is_italic, Modifier::ITALIC),
            (output.is_underlined, Modifier::UNDERLINED),
            (output.is_reversed, Modifier::REVERSED),
            (output.is_struck, Modifier::CROSSED_OUT),
        ];
        let set = attributes.iter().filter(|(is_set, _)| *is_set).map(|(_, modifier)| *modifier);
        let style = Style::new().add_modifier(set.collect());
        if self.depth == ColourDepth::None {
            return style;
        }
        match (output.foreground.filter(|ink| Some(*ink) != output.background), output.background) {
            (None, None) => style,
            (Some(ink), None) => style.patch(self.ink_on_page(ink)),
            (ink, Some(paper)) => {
                let Some(background) = self.output_colour(paper) else { return style };
                let ink = ink.and_then(|ink| self.output_colour(ink)).unwrap_or_else(|| ink_on(paper));
                style.bg(background).fg(ink)
            }
        }
    }

    /// Text in black or white, or in the colour of the page, would hide.
    fn ink_on_page(&self, ink: SgrColour) -> Style {
        let page = self.file.background.page.rgb;
        let known = match ink {
            SgrColour::Indexed(0 | 8) => return self.style(Role::Muted),
            SgrColour::Indexed(7) => return self.style(Role::Text),
            SgrColour::Indexed(15) => return self.style(Role::Bright),
            SgrColour::Indexed(index) if index < 16 => None,
            SgrColour::Indexed(index) => Some(Rgb::from_index(index)),
            SgrColour::Rgb(red, green, blue) => Some(Rgb(red, green, blue)),
        };
        if known.is_some_and(|ink| ink.contrast(page) < MIN_CONTRAST) {
            return self.style(Role::Muted);
        }
        self.output_colour(ink).map_or_else(Style::new, |ink| Style::new().fg(ink))
    }

    /// Returns the colour at this depth, if it has one.
    fn output_colour(&self, colour: SgrColour) -> Option<Color> {
        let painter = ColourResolver { depth: self.depth, page: self.file.background.page.rgb };
        match colour {
            SgrColour::Indexed(index) if index < 16 => Some(Color::Indexed(index)),
            SgrColour::Indexed(index) => self.has_own_colours().then_some(Color::Indexed(index)),
            SgrColour::Rgb(red, green, blue) => painter.colour(Rgb(red, green, blue), None),
        }
    }
}

/// Returns black or white for text on a background.
fn ink_on(paper: SgrColour) -> Color {
    let is_dark = match paper {
        SgrColour::Indexed(index) if index < 16 => matches!(index, 0 | 1 | 4 | 5 | 8),
        SgrColour::Indexed(index) => is_dark(Rgb::from_index(index)),
        SgrColour::Rgb(red, green, blue) => is_dark(Rgb(red, green, blue)),
    };
    Color::Indexed(if is_dark { 15 } else { 0 })
}

fn is_dark(paper: Rgb) -> bool {
    paper.contrast(Rgb(255, 255, 255)) > paper.contrast(Rgb(0, 0, 0))
}

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

    fn theme(depth: ColourDepth) -> Theme {
        Theme::load("dark", depth).unwrap()
    }

    fn coloured(foreground: Option<SgrColour>, background: Option<SgrColour>) -> SgrStyle {
        SgrStyle { foreground, background, is_bold: true, ..SgrStyle::default() }
    }

    #[test]
    fn output_has_its_colours_as_far_as_the_terminal_has_them() {
        let orange = coloured(Some(SgrColour::Rgb(255, 135, 0)), None);
        let ink = |depth| theme(depth).sgr(orange).fg;
        assert_eq!(ink(ColourDepth::True), Some(Color::Rgb(255, 135, 0)));
        assert_eq!(ink(ColourDepth::TwoFiftySix), Some(Color::Indexed(208)));
        assert_eq!([ColourDepth::Sixteen, ColourDepth::None].map(ink), [None, None]);
        let red = coloured(Some(SgrColour::Indexed(1)), None);
        assert_eq!(theme(ColourDepth::Sixteen).sgr(red).fg, Some(Color::Indexed(1)));
        let plain = theme(ColourDepth::None).sgr(red);
        assert_eq!(plain, Style::new().add_modifier(Modifier::BOLD));
    }

    #[test]
    fn output_cannot_hide() {
        let theme = theme(ColourDepth::True);
        let (page, _) = theme.page_colours();
        let muted = theme.style(Role::Muted).fg;
        for ink in [SgrColour::Indexed(0), SgrColour::Rgb(page.0, page.1, page.2), SgrColour::Indexed(16)] {
            assert_eq!(theme.sgr(coloured(Some(ink), None)).fg, muted, "{ink:?}");
        }
        let white = SgrColour::Indexed(15);
        assert_eq!(theme.sgr(coloured(Some(white), Some(white))).fg, Some(Color::Indexed(0)));
    }
}

#[cfg(test)]
mod depth_tests {
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
