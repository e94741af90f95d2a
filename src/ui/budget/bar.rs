//! One bar of stacked fills, with threshold marks through it and labels in its segments. A cell shows up to two parts
//! where the theme's colours allow eighths; without colours each cell shows the letter of its part.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use crate::context::budget::{Budget, BudgetPart};
use crate::format::format_short_estimate;
use crate::session::budget_marks::{Threshold, ThresholdMark};
use crate::text;
use crate::ui::session_columns;
use crate::ui::theme::{BackgroundRole, Role, Theme};
use crate::ui::widgets::put;

#[derive(Clone, Copy)]
pub(super) struct Bar<'a> {
    pub(super) theme: &'a Theme,
    pub(super) budget: Budget,
    /// Tokens that the whole bar represents.
    pub(super) full: u64,
    pub(super) area: Rect,
    /// Mixes the fills into the page, because the plan's bar is below this one.
    pub(super) mixed: bool,
    pub(super) marks: &'a [ThresholdMark],
    /// Total before the plan, in the plan's bar.
    pub(super) freed_from: Option<u64>,
    /// Another row shows the marks, so a label may cover one here.
    pub(super) other_row_has_marks: bool,
    /// Only the total is known, not its parts.
    pub(super) has_no_parts: bool,
}

/// A segment in eighths of a cell from the left end of the bar.
type Segment = (BudgetPart, Range<u32>);

impl Bar<'_> {
    /// Draws the bar; returns the parts whose label includes the value.
    pub(super) fn draw(&self, buf: &mut Buffer) -> Vec<BudgetPart> {
        let segments = self.segments();
        for cell in 0..self.area.width {
            self.cell(cell, &segments, buf);
        }
        let marks: Vec<u16> = self.marks.iter().filter_map(|mark| self.mark(mark, &segments, buf)).collect();
        let old: Vec<u16> =
            self.marks.iter().filter_map(|mark| self.old_mark(mark, &segments, buf)).collect();
        self.freed_label(&segments, &[&marks[..], &old[..]].concat(), buf);
        let labelled = segments.iter().filter(|_| !self.has_no_parts);
        labelled.filter(|segment| self.label(segment, &marks, buf)).map(|segment| segment.0).collect()
    }

    fn eighths(&self, tokens: u64) -> u32 {
        let share = tokens as f64 / self.full as f64;
        (share.min(1.0) * f64::from(self.area.width) * 8.0).round() as u32
    }

    fn segments(&self) -> Vec<Segment> {
        let mut total = 0;
        let mut from = 0;
        let parts = BudgetPart::ALL.iter().map(|part| {
            total += self.budget.tokens(*part);
            let to = self.eighths(total);
            (*part, std::mem::replace(&mut from, to)..to)
        });
        parts.filter(|(_, range)| !range.is_empty()).collect()
    }

    fn freed(&self, segments: &[Segment]) -> Range<u32> {
        let from = segments.last().map_or(0, |segment| segment.1.end);
        from..self.freed_from.map_or(from, |before| self.eighths(before).max(from))
    }

    fn content_at(&self, eighth: u32, segments: &[Segment]) -> CellContent {
        let part = segments.iter().find(|(_, range)| range.contains(&eighth)).map(|(part, _)| *part);
        match part {
            Some(_) if self.has_no_parts => CellContent::AnyPart,
            Some(part) => CellContent::Part(part),
            None if self.freed(segments).contains(&eighth) => CellContent::Freed,
            None => CellContent::Free,
        }
    }

    fn background(&self, place: CellContent) -> Color {
        let theme = self.theme;
        match place {
            CellContent::Part(part) => theme.part_colours(part, self.mixed).0,
            CellContent::AnyPart => theme.style(Role::Muted).fg.unwrap_or(Color::Reset),
            CellContent::Freed => theme.background(BackgroundRole::Page).bg.unwrap_or(Color::Reset),
            CellContent::Free => theme.background(BackgroundRole::Track).bg.unwrap_or(Color::Reset),
        }
    }

    fn cell(&self, cell: u16, segments: &[Segment], buf: &mut Buffer) {
        let start = u32::from(cell) * 8;
        let (left, right) = (self.content_at(start, segments), self.content_at(start + 7, segments));
        let position = (self.area.x + cell, self.area.y);
        if !self.theme.draws_eighths() {
            self.coarse_cell(position, self.content_at(start + 4, segments), buf);
        } else if left == right {
            let (sign, ink) = match left {
                CellContent::Freed => (session_columns::FREED, self.theme.style(Role::Ghost)),
                _ => (" ", Style::new()),
            };
            put(buf, position, self.area.right(), sign, ink.bg(self.background(left)));
        } else {
            let filled =
                (start..start + 8).take_while(|eighth| self.content_at(*eighth, segments) == left).count();
            let sign = session_columns::EIGHTHS_ACROSS[filled.clamp(1, 7) - 1];
            let style = Style::new().fg(self.background(left)).bg(self.background(right));
            put(buf, position, self.area.right(), sign, style);
        }
    }

    /// Draws a cell without eighths: one part per cell, and its letter if there are no colours.
    fn coarse_cell(&self, position: (u16, u16), place: CellContent, buf: &mut Buffer) {
        let quiet = self.theme.style(Role::Faint);
        let text_features = self.theme.uses_letters();
        let (sign, style) = match place {
            CellContent::Part(part) if text_features => (part.letter().to_string(), Style::new()),
            CellContent::Part(part) => {
                let (background, ink) = self.theme.part_colours(part, self.mixed);
                (" ".to_owned(), Style::new().bg(background).fg(ink))
            }
            CellContent::AnyPart if text_features => ("#".to_owned(), Style::new()),
            CellContent::AnyPart => (" ".to_owned(), Style::new().bg(self.background(CellContent::AnyPart))),
            CellContent::Freed if text_features => (session_columns::FREED_SHADE.to_owned(), quiet),
            CellContent::Freed => (session_columns::FREED.to_owned(), quiet),
            CellContent::Free => (session_columns::FREE.to_owned(), quiet),
        };
        put(buf, position, self.area.right(), &sign, style);
    }

    /// Draws a threshold through the bar; returns its cell. A threshold at the end of the bar needs no mark.
    fn mark(&self, mark: &ThresholdMark, segments: &[Segment], buf: &mut Buffer) -> Option<u16> {
        if mark.tokens >= self.full || mark.tokens == 0 {
            return None;
        }
        let at = self.cell_of(mark.tokens)?;
        let style = match (mark.threshold, self.content_at(u32::from(at) * 8 + 4, segments)) {
            _ if mark.configured_tokens.is_some() => self.theme.style(Role::Plan),
            (Threshold::Window, _) => self.theme.style(Role::Danger),
            (_, CellContent::Part(part)) => Style::new().fg(self.theme.part_colours(part, self.mixed).1),
            (Threshold::Compact, _) => self.theme.style(Role::Warn),
            _ => self.theme.style(Role::Ghost),
        };
        // The flush mark has no label on the scale, so it is fainter.
        let sign = if mark.threshold == Threshold::Flush {
            session_columns::OLD_MARK
        } else {
            session_columns::LINE
        };
        self.stroke(at, sign, style, segments, buf);
        Some(at)
    }

    /// Draws the configured position of a moved threshold, in the plan's bar only.
    fn old_mark(&self, mark: &ThresholdMark, segments: &[Segment], buf: &mut Buffer) -> Option<u16> {
        let was = self.cell_of(mark.configured_tokens.filter(|_| self.freed_from.is_some())?)?;
        self.stroke(was, session_columns::OLD_MARK, self.theme.style(Role::Muted), segments, buf);
        Some(was)
    }

    fn cell_of(&self, tokens: u64) -> Option<u16> {
        Some((self.eighths(tokens) / 8) as u16).filter(|cell| *cell < self.area.width)
    }

    fn stroke(&self, cell: u16, sign: &str, style: Style, segments: &[Segment], buf: &mut Buffer) {
        let background = self.background(self.content_at(u32::from(cell) * 8 + 4, segments));
        let style = if self.theme.uses_letters() { style } else { style.bg(background) };
        put(buf, (self.area.x + cell, self.area.y), self.area.right(), sign, style);
    }

    fn freed_label(&self, segments: &[Segment], marks: &[u16], buf: &mut Buffer) {
        let freed = self.freed(segments);
        let tokens = self.freed_from.map_or(0, |before| before.saturating_sub(self.budget.total()));
        if tokens == 0 {
            return;
        }
        let cells = whole_cells(&freed);
        let style = self.theme.bold(Role::Plan);
        let style =
            if self.theme.uses_letters() { style } else { style.bg(self.background(CellContent::Freed)) };
        for words in [
            format!(" frees {} ", format_short_estimate(tokens)),
            format!(" {} ", format_short_estimate(tokens)),
        ] {
            let stretch = widest_free(&cells, marks);
            if self.centred(&words, &stretch, style, buf) || self.centred(&words, &cells, style, buf) {
                return;
            }
        }
    }

    /// Labels a segment; returns whether the label includes the value.
    fn label(&self, (part, range): &Segment, marks: &[u16], buf: &mut Buffer) -> bool {
        let cells = whole_cells(range);
        let free = widest_free(&cells, marks);
        let style = if self.theme.uses_letters() {
            Style::new()
        } else {
            let (background, ink) = self.theme.part_colours(*part, self.mixed);
            Style::new().fg(ink).bg(background)
        };
        let value = format!(" {} {} ", part.name(), format_short_estimate(self.budget.tokens(*part)));
        let name = format!(" {} ", part.name());
        if self.centred(&value, &free, style, buf)
            || (self.other_row_has_marks && self.centred(&value, &cells, style, buf))
        {
            return true;
        }
        let letter = part.letter().to_string();
        let named = self.theme.uses_letters()
            || self.centred(&name, &free, style, buf)
            || self.centred(&letter, &free, style, buf);
        if !named {
            self.centred(&letter, &cells, style, buf);
        }
        false
    }

    fn centred(&self, words: &str, cells: &Range<u16>, style: Style, buf: &mut Buffer) -> bool {
        let width = text::width(words) as u16;
        let room = cells.end.saturating_sub(cells.start);
        if width > room || room == 0 {
            return false;
        }
        let x = self.area.x + cells.start + (room - width) / 2;
        put(buf, (x, self.area.y), self.area.right(), words, style);
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellContent {
    Part(BudgetPart),
    /// A part of a bar that has only a total.
    AnyPart,
    Freed,
    Free,
}

/// Returns the cells that are completely inside a segment.
fn whole_cells(range: &Range<u32>) -> Range<u16> {
    let start = range.start.div_ceil(8) as u16;
    start..((range.end / 8) as u16).max(start)
}

/// Returns the widest run of cells without a mark.
fn widest_free(cells: &Range<u16>, marks: &[u16]) -> Range<u16> {
    let mut inside: Vec<u16> = marks.iter().copied().filter(|mark| cells.contains(mark)).collect();
    inside.sort_unstable();
    let starts = std::iter::once(cells.start).chain(inside.iter().map(|mark| mark + 1));
    let ends = inside.iter().copied().chain(std::iter::once(cells.end));
    starts.zip(ends).map(|(start, end)| start..end).max_by_key(Range::len).unwrap_or_else(|| cells.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_in_the_widest_stretch_between_marks() {
        assert_eq!(widest_free(&(4..20), &[6, 15]), 7..15);
        assert_eq!(widest_free(&(4..20), &[25]), 4..20);
        assert_eq!(widest_free(&(4..4), &[]), 4..4);
    }

    #[test]
    fn cells_that_a_boundary_runs_through_belong_to_no_label() {
        assert_eq!(whole_cells(&(3..33)), 1..4);
        assert_eq!(whole_cells(&(3..6)), 1..1);
    }
}
