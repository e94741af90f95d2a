//! The signs on the screen, and their ASCII replacements for terminals without Unicode.

use ratatui::buffer::Buffer;

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
