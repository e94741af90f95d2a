//! The inputs of every block of the explain screen, and the parts that the blocks share.

use ratatui::buffer::Buffer;
use ratatui::text::Span;

use crate::app::App;
use crate::app::screens::explain::ExplainScreen;
use crate::app::screens::explain::page::{ENTRY_COLUMNS, PlacedBlock, PlacedRow, WIDE, content_columns};
use crate::ids::EntryIx;
use crate::report::explain::Explanation;
use crate::session::LoadedSession;
use crate::text;
use crate::ui::glyphs;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::put;

pub(super) struct View<'a> {
    pub(super) app: &'a App,
    pub(super) theme: &'a Theme,
    pub(super) screen: &'a ExplainScreen,
    pub(super) explanation: &'a Explanation,
    pub(super) session: &'a LoadedSession,
}

impl View<'_> {
    /// Whether rows show the id of the entry that they open.
    pub(super) fn is_wide(&self) -> bool {
        self.app.size.0 >= WIDE
    }

    /// Draws the id of the entry that a row opens, at its end.
    pub(super) fn entry(&self, row: &PlacedRow, buf: &mut Buffer) {
        let Some(entry) = self.screen.entry(row.row) else { return };
        let end = content_columns(row.area).1;
        let (words, from) = if self.is_wide() {
            (format!("{} {}", glyphs::ARROW, self.name(entry)), end.saturating_sub(ENTRY_COLUMNS))
        } else {
            (glyphs::ARROW.to_owned(), end.saturating_sub(1))
        };
        put(buf, (from, row.area.y), end, &words, self.theme.style(Role::Focus));
    }

    /// Returns as much of an entry's id as its column holds.
    pub(super) fn name(&self, entry: EntryIx) -> String {
        self.session.index.display_id(entry).chars().take(usize::from(ENTRY_COLUMNS) - 2).collect()
    }

    /// Draws the headline of a block that opens in place.
    pub(super) fn fold_line(&self, placed: &PlacedBlock, is_open: bool, buf: &mut Buffer) {
        let Some(row) = placed.rows.first() else { return };
        let (x, end) = content_columns(row.area);
        let sign = if is_open { glyphs::OPEN } else { glyphs::FOLDED };
        put(buf, (x, row.area.y), end, sign, self.theme.style(Role::Muted));
        self.lines(row, x + 2, Role::Text, buf);
    }

    /// Draws the wrapped lines of a row.
    pub(super) fn lines(&self, row: &PlacedRow, x: u16, role: Role, buf: &mut Buffer) {
        let end = content_columns(row.area).1;
        for (y, line) in (row.area.y..).zip(&row.lines) {
            put(buf, (x, y), end, line, self.theme.style(role));
        }
    }

    pub(super) fn muted<'s>(&self, words: impl Into<String>) -> Span<'s> {
        Span::styled(words.into(), self.theme.style(Role::Muted))
    }

    /// Draws column headings on a title line, each aligned to the end of its column; one without room is omitted.
    pub(super) fn headings(&self, y: u16, after: u16, heads: &[(&str, u16)], buf: &mut Buffer) {
        for (head, end) in heads {
            let width = text::width(head) as u16;
            if end.saturating_sub(width + 1) >= after {
                let words = format!(" {head} ");
                put(buf, (end - width - 1, y), end + 1, &words, self.theme.style(Role::Muted));
            }
        }
    }
}
