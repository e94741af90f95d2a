//! The columns of the sessions pane: in a wide pane all that fit, in a narrow one the column that it is sorted by.

use ratatui::buffer::Buffer;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::format::{
    format_amount, format_duration, format_number, format_short, format_short_tokens, format_short_usd,
};
use crate::session::order::SortColumn;
use crate::session::{Mark, SessionItem};
use crate::ui::theme::{Role, Theme};
use crate::units::{Millis, Moment};

/// Cells that a title keeps in a wide pane.
const MIN_TITLE_WIDTH: u16 = 30;
/// Blanks before a column.
const GAP: u16 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Age,
    Model,
    Tokens,
    Full,
    Cost,
    Compactions,
    Overflows,
}

impl Column {
    /// Every column, from left to right.
    const ALL: [Self; 7] =
        [Self::Age, Self::Model, Self::Tokens, Self::Full, Self::Cost, Self::Compactions, Self::Overflows];
    /// Every column, the last to give up first.
    const BY_IMPORTANCE: [Self; 7] =
        [Self::Full, Self::Age, Self::Cost, Self::Tokens, Self::Model, Self::Compactions, Self::Overflows];

    pub(super) fn width(self) -> u16 {
        match self {
            Self::Age => 8,
            Self::Model => 18,
            Self::Tokens => 14,
            Self::Cost => 9,
            Self::Full | Self::Compactions | Self::Overflows => 6,
        }
    }

    /// Returns the columns that fit next to the titles, that of the order first.
    pub(super) fn fitting(width: u16, sorted: SortColumn) -> Vec<Self> {
        let mut room = width.saturating_sub(MIN_TITLE_WIDTH);
        let mut chosen = Vec::new();
        let mut wanted = Self::BY_IMPORTANCE;
        wanted.sort_by_key(|column| !column.is_sorted_by(sorted));
        for column in wanted {
            let wanted = column.width() + GAP;
            if wanted > room {
                break;
            }
            room -= wanted;
            chosen.push(column);
        }
        Self::ALL.into_iter().filter(|column| chosen.contains(column)).collect()
    }

    /// Returns the left and right end of each column, of which the last ends at `end`.
    pub(super) fn spans(columns: &[Self], end: u16) -> Vec<(Self, u16, u16)> {
        let mut right = end;
        let mut spans: Vec<(Self, u16, u16)> = Vec::new();
        for column in columns.iter().rev() {
            let left = right.saturating_sub(column.width());
            spans.push((*column, left, right));
            right = left.saturating_sub(GAP);
        }
        spans.reverse();
        spans
    }

    fn sort_column(self) -> Option<SortColumn> {
        Some(match self {
            Self::Age => SortColumn::Age,
            Self::Full => SortColumn::Fullness,
            Self::Cost => SortColumn::Cost,
            Self::Compactions => SortColumn::Compactions,
            Self::Overflows => SortColumn::Overflows,
            Self::Model | Self::Tokens => return None,
        })
    }

    pub(super) fn is_sorted_by(self, column: SortColumn) -> bool {
        self.sort_column() == Some(column)
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tokens => "tokens",
            column => column.sort_column().map_or("", SortColumn::title),
        }
    }

    /// Returns the cell of a session; a sign for an unknown value.
    pub(super) fn text(self, item: &SessionItem, now_ms: Moment) -> String {
        let text = match self {
            Self::Age => item.updated_ms.map(|ms| format_duration((now_ms - ms).max(Millis::ZERO))),
            Self::Model => Some(item.model.clone()).filter(|model| !model.is_empty()),
            Self::Tokens => item.tokens.map(|count| {
                let tokens = format_short_tokens(count.tokens, !count.is_estimate());
                format!("{tokens} / {}", format_short(item.window))
            }),
            // The store's own number is of the last answer, so it says nothing of a prompt that did not fit.
            Self::Full => item.usage.and(item.tokens).and_then(|count| {
                Some(format!("{}{}", if count.is_estimate() { "~" } else { "" }, item.window_share()?))
            }),
            Self::Cost => item
                .usage
                .and_then(|usage| Some((usage.cost.total()?, usage.cost.is_estimated())))
                .map(|(usd, is_estimated)| format_amount(usd, is_estimated)),
            Self::Compactions => item.compactions.map(format_number),
            Self::Overflows => item.overflows.map(format_number),
        };
        text.unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// Whether texts start at the left end.
    pub(super) fn is_left(self) -> bool {
        self == Self::Model
    }
}

/// Returns the only value of a narrow pane: that of the sorted column, the fullness by age.
pub(super) fn narrow_text(item: &SessionItem, column: SortColumn, now_ms: Moment) -> String {
    match column {
        SortColumn::Age | SortColumn::Fullness => Column::Full.text(item, now_ms),
        SortColumn::Cost => item
            .usage
            .and_then(|usage| Some(format_short_usd(usage.cost.total()?, usage.cost.is_estimated())))
            .unwrap_or_else(|| UNKNOWN.to_owned()),
        SortColumn::Compactions => Column::Compactions.text(item, now_ms),
        SortColumn::Overflows => Column::Overflows.text(item, now_ms),
    }
}

/// Returns the style of a column's cell. `level` is that of the fullness.
pub(super) fn cell_style(column: Column, item: &SessionItem, level: Style, theme: &Theme) -> Style {
    match column {
        Column::Full => level,
        Column::Overflows if item.has(Mark::Overflow) => theme.bold(Role::Danger),
        _ => theme.style(Role::Muted),
    }
}

/// Returns the title of a column, with an arrow if the list is sorted by it.
pub(super) fn heading<'a>(column: Column, arrow: Option<&str>, theme: &Theme) -> Span<'a> {
    match arrow {
        Some(arrow) => Span::styled(format!("{} {arrow}", column.title()), theme.style(Role::Bright)),
        None => Span::styled(column.title(), theme.style(Role::Muted)),
    }
}

/// On, live, a user turn.
pub const ON: &str = "●";
/// Off, paused, the configured position on a slider.
pub const OFF: &str = "○";
/// An overflow or a failed call.
pub const ALERT: &str = "⚠";
pub const FOLDED: &str = "▸";
pub const OPEN: &str = "▾";
/// A rail with an arm.
pub const TICK: &str = "├";
/// A rail, a hairline, a mark through the bar.
pub const LINE: &str = "│";
/// The end of a rail.
pub const END: &str = "└";
/// The start of a branch, a dashed line across a chart.
pub const DASHES: &str = "┄";
/// The former position of a mark.
pub const OLD_MARK: &str = "┊";
/// Text that is cut off here.
pub const CUT: &str = "…";
pub const CURSOR: &str = "▌";
/// The protected zone.
pub const ZONE: &str = "▏";
pub const ARROW: &str = "→";
pub const HEAVY: &str = "━";
/// Half a cell of [`HEAVY`].
pub const HALF: &str = "╸";
/// A hairline.
pub const LIGHT: &str = "─";
/// Tokens that a plan frees.
pub const FREED: &str = "╱";
/// [`FREED`] without colour.
pub const FREED_SHADE: &str = "░";
/// The thumb of a scrollbar.
pub const THUMB: &str = "┃";
pub const PASSED: &str = "✓";
pub const REFUSED: &str = "✗";
/// A guard that could not act.
pub const BLOCKED: &str = "■";
/// Needed again.
pub const AGAIN: &str = "↺";
/// An unknown value.
pub const UNKNOWN: &str = "—";
/// Free tokens, without colour.
pub const FREE: &str = "·";
/// The point under the cursor.
pub const SELECTED_POINT: &str = "◉";
/// Below the column of the cursor.
pub const POINTER: &str = "▲";
/// One to seven eighths of a cell, from the left.
pub const EIGHTHS_ACROSS: [&str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// One to eight eighths of a cell, from below.
pub const EIGHTHS_UP: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Whether the terminal needs ASCII. `locale` is the first value set of `LC_ALL`, `LC_CTYPE` and `LANG`; `term` is
/// `TERM`.
pub fn needs_ascii(locale: Option<&str>, term: Option<&str>) -> bool {
    ascii_reason(locale, term).is_some()
}

/// Returns why the terminal needs ASCII, if it does.
pub fn ascii_reason(locale: Option<&str>, term: Option<&str>) -> Option<String> {
    if let Some(term @ ("linux" | "dumb")) = term {
        return Some(format!("TERM={term}"));
    }
    let locale = locale.filter(|locale| !locale.is_empty())?;
    let lower = locale.to_ascii_lowercase();
    let is_utf8 = lower.contains("utf-8") || lower.contains("utf8");
    (!is_utf8).then(|| format!("the locale {locale} is not UTF-8"))
}

/// Each replacement is one character, so that no cell moves.
const ASCII: &[(&str, &str)] = &[
    ("●○◉■", "*oO#"),
    ("⚠◆⇥Σ✗✂✓", "!=>S-xv"),
    ("▸▾", "+v"),
    ("├┬┴┷┤│┃┊▏└┄", "|--=||||:`."),
    ("▌→←↑↓↔▲", ">><^v-^"),
    ("━╸─—–−╱", "==-----"),
    ("╭╮╰╯", "++++"),
    ("⋯…·×", "...x"),
    ("▁▂▃▄▅▆▇█░", "..:::||#/"),
    ("⟨⟩◌“”›↺", "<>o\"\">@"),
];

/// Replaces every sign with ASCII. An arrow after a blank becomes `->`.
pub fn to_ascii(buf: &mut Buffer) {
    for at in 0..buf.content.len() {
        let symbol = buf.content[at].symbol();
        if symbol.is_ascii() {
            continue;
        }
        let arrow = symbol == ARROW;
        if let Some(ascii) = ascii_of(symbol) {
            buf.content[at].set_char(ascii);
            if arrow && at > 0 && buf.content[at - 1].symbol() == " " {
                let style = buf.content[at].style();
                buf.content[at - 1].set_char('-').set_style(style);
            }
        }
    }
}

/// Replaces braille dots with a character of similar density; a full column of dots becomes `|`.
fn ascii_dots(dots: u32) -> char {
    const COLUMNS: [u32; 2] = [0x47, 0xb8];
    match dots.count_ones() {
        6.. => '#',
        _ if COLUMNS.iter().any(|column| dots & column == *column) => '|',
        3.. => ':',
        _ => '.',
    }
}

fn ascii_of(symbol: &str) -> Option<char> {
    if let Some(dots) = symbol.chars().next().filter(|c| ('\u{2800}'..='\u{28ff}').contains(c)) {
        return Some(ascii_dots(dots as u32 - 0x2800));
    }
    if let Some(picture) = symbol.chars().next().filter(|c| ('\u{2400}'..='\u{2421}').contains(c)) {
        return Some(if picture == '\u{2421}' { '?' } else { '^' });
    }
    ASCII.iter().find_map(|(from, to)| {
        let at = from.chars().position(|character| symbol.chars().eq([character]))?;
        to.chars().nth(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_columns_are_dropped_first_for_the_title() {
        let fitting = |width| Column::fitting(width, SortColumn::Age);
        assert_eq!(fitting(30), []);
        assert_eq!(fitting(60), [Column::Age, Column::Full, Column::Cost]);
        assert_eq!(fitting(140), Column::ALL);
        assert_eq!(Column::fitting(40, SortColumn::Overflows), [Column::Overflows]);
        let spans = Column::spans(&[Column::Age, Column::Full], 50);
        assert_eq!(spans, [(Column::Age, 34, 42), (Column::Full, 44, 50)]);
    }
}

#[cfg(test)]
mod glyphs_tests {
    use super::*;
    use crate::policy::Fate;
    use ratatui::layout::Rect;

    #[test]
    fn every_sign_has_its_ascii() {
        for (from, to) in ASCII {
            assert_eq!(from.chars().count(), to.chars().count(), "{from}");
        }
        let fates = Fate::ALL.map(Fate::sign);
        let signs = [
            ON, OFF, ALERT, FOLDED, OPEN, TICK, LINE, END, DASHES, OLD_MARK, CURSOR, ZONE, ARROW, HEAVY, HALF,
        ];
        let more = [
            SELECTED_POINT,
            POINTER,
            "⣿",
            "⠁",
            LIGHT,
            FREED,
            FREED_SHADE,
            THUMB,
            PASSED,
            REFUSED,
            BLOCKED,
            UNKNOWN,
            FREE,
            AGAIN,
        ];
        for sign in fates.into_iter().chain(signs).chain(more).chain(EIGHTHS_UP) {
            assert!(sign.is_ascii() || ascii_of(sign).is_some(), "{sign}");
        }
    }

    #[test]
    fn fates_have_different_signs_in_both_sets() {
        for ascii in [false, true] {
            let mut signs: Vec<String> = Fate::ALL
                .map(Fate::sign)
                .into_iter()
                .map(|sign| match ascii_of(sign).filter(|_| ascii) {
                    Some(character) => character.to_string(),
                    None => sign.to_owned(),
                })
                .collect();
            signs.sort();
            signs.dedup();
            assert_eq!(signs.len(), Fate::ALL.len());
        }
    }

    #[test]
    fn arrows_become_two_characters_if_they_fit() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 5, 1));
        buf.set_string(0, 0, "a → b", ratatui::style::Style::new());
        to_ascii(&mut buf);
        assert_eq!(buf.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>(), "a-> b");
    }

    #[test]
    fn the_locale_decides() {
        assert!(!needs_ascii(Some("de_DE.UTF-8"), Some("xterm")));
        assert!(needs_ascii(Some("C"), Some("xterm")));
        assert!(needs_ascii(Some("en_US.utf8"), Some("linux")));
        assert!(!needs_ascii(None, None));
    }
}
