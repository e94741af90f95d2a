//! Meanings to styles. Widgets request the style of a meaning; only this module knows its colour, and its replacement
//! on terminals with few or no colours.

#[cfg(test)]
mod checks;
mod colour;
mod file;
mod sgr;

use colour::Rgb;
use file::{Fill, Paint, ThemeFile};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::app::legend::Tone;
use crate::context::budget::BudgetPart;
use crate::policy::Fate;

pub use file::ThemeError;
pub use sgr::ColourDepth;

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
