//! Meanings to styles. Widgets request the style of a meaning; only this module knows its colour, and its replacement
//! on terminals with few or no colours.

#[cfg(test)]
mod checks;
mod colour;
mod file;

use colour::Rgb;
use file::{Fill, Paint, ThemeFile};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::app::legend::Tone;
use crate::context::budget::BudgetPart;
use crate::policy::Fate;
use crate::text::sgr::{SgrColour, SgrStyle};

pub use file::ThemeError;

/// The meaning of text and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Text,
    /// Selected, typed by the user, or the largest.
    Bright,
    /// Labels, units, hints, text that leaves the prompt.
    Muted,
    /// Tails, rails, line numbers.
    Ghost,
    /// Hairlines and arrows; never words.
    Faint,
    /// The focused pane, the cursor.
    Focus,
    /// Values that exist only under changed settings.
    Plan,
    /// [`Role::Plan`] as a bar.
    PlanBar,
    /// Above a threshold, or costly.
    Warn,
    /// Above the window, or refused.
    Danger,
    /// The name of a tool, and its row's bar.
    Tool,
    User,
    Assistant,
    /// A string in code.
    String,
    /// A number in code.
    Number,
    /// A keyword in code.
    Keyword,
}

/// The meaning of a background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackgroundRole {
    Page,
    /// Header, status line, dialog.
    Surface,
    /// The selected row of the focused pane.
    Selected,
    /// The selected row of another pane.
    Unfocused,
    /// A value that just changed.
    Hot,
    /// The empty part of the budget bar.
    Track,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// Lines that one side of a diff lacks.
    Hatch,
}

/// A theme resolved for one colour depth.
#[derive(Debug, Clone)]
pub struct Theme {
    name: String,
    depth: ColourDepth,
    ascii: bool,
    file: ThemeFile,
    /// Fills and text colours of the parts: whole, and mixed into the page.
    fills: [[(Color, Color); 8]; 2],
    /// The same of a map's cells: from the lowest level to the highest, then of cells that do not fit.
    heats: [(Color, Color); HEAT_LEVELS + 1],
    roles: [Style; 16],
    backgrounds: [Style; 9],
    fates: [Style; 7],
}

/// Levels of a map.
pub const HEAT_LEVELS: usize = 6;
/// Share of the page in the fills of the current bar while a plan's bar is below it.
const MIXED_SHARE: f64 = 0.45;
/// Share of the page in everything behind a dialog.
const BACKDROP_SHARE: f64 = 0.58;

impl Theme {
    /// Loads a built-in theme.
    pub fn load(name: &str, depth: ColourDepth) -> Result<Self, ThemeError> {
        Ok(Self::resolve(name, file::built_in(name)?, depth))
    }

    /// Loads a theme from the text of its file.
    #[cfg(test)]
    pub(crate) fn parse(name: &str, text: &str, depth: ColourDepth) -> Result<Self, ThemeError> {
        Ok(Self::resolve(name, file::parse(name, text)?, depth))
    }

    /// Restricts signs to ASCII.
    #[must_use]
    pub fn with_ascii(self, ascii: bool) -> Self {
        Self { ascii, ..self }
    }

    fn resolve(name: &str, file: ThemeFile, depth: ColourDepth) -> Self {
        let depth = if file.colour { depth } else { ColourDepth::None };
        let painter = ColourResolver { depth, page: file.background.page.rgb };
        let (roles, backgrounds) = (&file.role, &file.background);
        let fates = &file.fate;
        Self {
            name: name.to_owned(),
            depth,
            ascii: false,
            heats: heats(&file).map(|fill| painter.fill(fill, 0.0, &file)),
            fills: [0.0, MIXED_SHARE].map(|share| parts(&file).map(|fill| painter.fill(fill, share, &file))),
            roles: [
                roles.text,
                roles.bright,
                roles.muted,
                roles.ghost,
                roles.faint,
                roles.focus,
                roles.plan,
                roles.plan_bar,
                roles.warn,
                roles.danger,
                roles.tool,
                roles.you,
                roles.assistant,
                roles.string,
                roles.number,
                roles.keyword,
            ]
            .map(|paint| painter.ink(paint)),
            backgrounds: [
                backgrounds.page,
                backgrounds.surface,
                backgrounds.selected,
                backgrounds.unfocused,
                backgrounds.hot,
                backgrounds.track,
                backgrounds.added,
                backgrounds.removed,
                backgrounds.hatch,
            ]
            .map(|paint| painter.background(paint)),
            fates: [
                fates.kept,
                fates.protected,
                fates.soft_trimmed,
                fates.cleared,
                fates.truncated,
                fates.summarised,
                fates.dropped,
            ]
            .map(|paint| painter.ink(paint)),
            file,
        }
        .without_colour()
    }

    /// Replaces colours that the depth lacks: with dim, bold and underlined text without colours, with reversed and
    /// underlined text with sixteen.
    fn without_colour(mut self) -> Self {
        let quiet = [Role::Muted, Role::Ghost, Role::Faint];
        if self.depth == ColourDepth::None {
            for role in quiet {
                self.roles[role as usize] = Style::new().add_modifier(Modifier::DIM);
            }
            self.fates[Fate::Kept as usize] = Style::new().add_modifier(Modifier::DIM);
            self.backgrounds[BackgroundRole::Selected as usize] = Style::new().add_modifier(Modifier::BOLD);
        }
        if self.depth == ColourDepth::Sixteen {
            self.backgrounds[BackgroundRole::Selected as usize] =
                Style::new().add_modifier(Modifier::REVERSED);
        }
        if matches!(self.depth, ColourDepth::None | ColourDepth::Sixteen) {
            self.backgrounds[BackgroundRole::Hot as usize] = Style::new().add_modifier(Modifier::UNDERLINED);
        }
        self
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_ascii(&self) -> bool {
        self.ascii
    }

    /// Whether the budget bar shows letters, for lack of colours.
    pub fn uses_letters(&self) -> bool {
        self.depth == ColourDepth::None
    }

    /// Whether one cell can show two parts: this needs Unicode, and fills with known colours instead of the terminal's.
    pub fn draws_eighths(&self) -> bool {
        self.has_own_colours() && !self.ascii
    }

    fn has_own_colours(&self) -> bool {
        matches!(self.depth, ColourDepth::TwoFiftySix | ColourDepth::True)
    }

    /// Returns background and text colour of the page, for pictures.
    pub fn page_colours(&self) -> ((u8, u8, u8), (u8, u8, u8)) {
        let (page, text) = (self.file.background.page.rgb, self.file.role.text.rgb);
        ((page.0, page.1, page.2), (text.0, text.1, text.2))
    }

    /// Returns the style of a meaning; it keeps the background.
    pub fn style(&self, role: Role) -> Style {
        self.roles[role as usize]
    }

    pub fn bold(&self, role: Role) -> Style {
        self.style(role).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of a background; it keeps the text colour.
    pub fn background(&self, background: BackgroundRole) -> Style {
        self.backgrounds[background as usize]
    }

    /// Returns the style of every cell at first: text on the page.
    pub fn base(&self) -> Style {
        self.style(Role::Text).patch(self.background(BackgroundRole::Page))
    }

    /// Returns the background of a selected row.
    pub fn selection(&self, focused: bool) -> Style {
        self.background(if focused { BackgroundRole::Selected } else { BackgroundRole::Unfocused })
    }

    pub fn fate(&self, fate: Fate) -> Style {
        self.fates[fate as usize]
    }

    /// Returns fill and text colour of a part of the budget bar; `mixed` is the variant above a plan's bar.
    pub fn part_colours(&self, part: BudgetPart, mixed: bool) -> (Color, Color) {
        self.fills[usize::from(mixed)][part as usize]
    }

    /// Returns fill and text colour of a map's cell; `None` is a cell that does not fit. A depth without colours
    /// returns the terminal's own.
    pub fn heat_colours(&self, level: Option<usize>) -> (Color, Color) {
        self.heats[level.map_or(HEAT_LEVELS, |level| level.min(HEAT_LEVELS - 1))]
    }

    /// Gives selected rows the terminal's default colours at sixteen colours: they are reversed, and coloured text
    /// would turn into coloured patches.
    pub fn even_selection(&self, buf: &mut Buffer) {
        if self.depth != ColourDepth::Sixteen {
            return;
        }
        for cell in buf.content.iter_mut().filter(|cell| cell.modifier.contains(Modifier::REVERSED)) {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
    }

    /// Dims an area behind a dialog.
    pub fn backdrop(&self, area: Rect, buf: &mut Buffer) {
        let painter = ColourResolver { depth: self.depth, page: self.file.background.page.rgb };
        let mut known: Vec<(Color, Color)> = Vec::new();
        let mut mixed = |colour: Color| {
            if let Some((_, mixed)) = known.iter().find(|(from, _)| *from == colour) {
                return *mixed;
            }
            let mixed = painter.mixed(colour, BACKDROP_SHARE);
            known.push((colour, mixed));
            mixed
        };
        for position in area.intersection(buf.area).positions() {
            let cell = &mut buf[position];
            if self.has_own_colours() {
                cell.fg = mixed(cell.fg);
                cell.bg = mixed(cell.bg);
            } else {
                cell.modifier = cell.modifier.difference(Modifier::BOLD) | Modifier::DIM;
            }
        }
    }
}

fn parts(file: &ThemeFile) -> [Fill; 8] {
    let part = &file.part;
    [part.system, part.tools, part.files, part.summary, part.you, part.assistant, part.thinking, part.results]
}

fn heats(file: &ThemeFile) -> [Fill; HEAT_LEVELS + 1] {
    let heat = &file.heat;
    [heat.lowest, heat.low, heat.lower_middle, heat.upper_middle, heat.high, heat.highest, heat.over]
}

struct ColourResolver {
    depth: ColourDepth,
    page: Rgb,
}

impl ColourResolver {
    fn colour(&self, rgb: Rgb, ansi: Option<u8>) -> Option<Color> {
        match self.depth {
            ColourDepth::None => None,
            ColourDepth::Sixteen => ansi.map(Color::Indexed),
            ColourDepth::TwoFiftySix => Some(Color::Indexed(rgb.nearest_index())),
            ColourDepth::True => Some(Color::Rgb(rgb.0, rgb.1, rgb.2)),
        }
    }

    fn ink(&self, paint: Paint) -> Style {
        let colour = match self.depth {
            ColourDepth::TwoFiftySix => Some(Color::Indexed(paint.rgb.nearest_readable_index(self.page))),
            // Reset to the terminal's own colour, so that an earlier one does not show.
            ColourDepth::Sixteen => Some(paint.ansi.map_or(Color::Reset, Color::Indexed)),
            _ => self.colour(paint.rgb, paint.ansi),
        };
        let style = colour.map_or_else(Style::new, |colour| Style::new().fg(colour));
        let bold = paint.bold && self.depth == ColourDepth::Sixteen;
        if bold { style.add_modifier(Modifier::BOLD) } else { style }
    }

    fn background(&self, paint: Paint) -> Style {
        self.colour(paint.rgb, paint.ansi).map_or_else(Style::new, |colour| Style::new().bg(colour))
    }

    fn fill(&self, fill: Fill, share: f64, file: &ThemeFile) -> (Color, Color) {
        let background = fill.rgb.mix(self.page, share);
        let inks = [file.ink.dark, file.ink.light];
        let ink =
            if inks[0].contrast(background) >= inks[1].contrast(background) { inks[0] } else { inks[1] };
        let colour = |rgb, ansi| self.colour(rgb, Some(ansi)).unwrap_or(Color::Reset);
        (colour(background, fill.ansi), colour(ink, fill.ink))
    }

    fn mixed(&self, colour: Color, share: f64) -> Color {
        let rgb = match colour {
            Color::Rgb(red, green, blue) => Rgb(red, green, blue),
            Color::Indexed(index) if index >= 16 => Rgb::from_index(index),
            _ => return colour,
        };
        self.colour(rgb.mix(self.page, share), None).unwrap_or(colour)
    }
}

/// Returns the role of a plain tone; fates and parts have separate styles.
pub(super) fn tone_role(tone: Tone) -> Role {
    match tone {
        Tone::Key | Tone::Text | Tone::Fate(_) | Tone::Part(_) => Role::Text,
        Tone::Muted => Role::Muted,
        Tone::Focus => Role::Focus,
        Tone::Plan => Role::Plan,
        Tone::Warn => Role::Warn,
        Tone::Danger => Role::Danger,
        Tone::User => Role::User,
    }
}

pub(super) fn tone_style(theme: &Theme, tone: Tone) -> Style {
    match tone {
        Tone::Key => theme.bold(Role::Text),
        Tone::Fate(fate) => theme.fate(fate),
        Tone::Part(_) if theme.uses_letters() => theme.style(Role::Text),
        Tone::Part(part) => {
            let (fill, text) = theme.part_colours(part, false);
            Style::new().fg(text).bg(fill)
        }
        tone => theme.style(tone_role(tone)),
    }
}

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
