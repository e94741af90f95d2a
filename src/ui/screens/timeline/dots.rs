//! Curves in braille: each cell has two columns and four rows of dots.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::ui::widgets::put;

/// Bits of a cell's dots, by column from the top.
const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

pub(super) struct Dots {
    area: Rect,
    cells: Vec<u8>,
}

impl Dots {
    pub(super) fn new(area: Rect) -> Self {
        Self { area, cells: vec![0; usize::from(area.width) * usize::from(area.height)] }
    }

    fn rows(&self) -> usize {
        usize::from(self.area.height) * 4
    }

    fn set(&mut self, column: usize, row: usize) {
        let at = row / 4 * usize::from(self.area.width) + column / 2;
        if let Some(cell) = self.cells.get_mut(at).filter(|_| row < usize::from(self.area.height) * 4) {
            *cell |= BITS[column % 2][row % 4];
        }
    }

    /// Draws a step line through heights of 0 to 1, one per column of dots. It is `thick` dots high, and its vertical
    /// parts are `wide` columns wide.
    pub(super) fn step_line(&mut self, heights: &[f64], thick: usize, wide: usize) {
        let last = self.rows().saturating_sub(1);
        let row = |height: f64| ((1.0 - height.clamp(0.0, 1.0)) * last as f64).round() as usize;
        let mut before = None;
        for (column, height) in heights.iter().enumerate() {
            let here = row(*height);
            let from = before.unwrap_or(here);
            for row in here.min(from)..=here.max(from) {
                (column..(column + wide).min(heights.len())).for_each(|column| self.set(column, row));
            }
            for under in 1..thick {
                self.set(column, (here + under).min(last));
            }
            before = Some(here);
        }
    }

    /// Writes the dots over the cells, each column in its style.
    pub(super) fn draw(&self, style: impl Fn(usize) -> Style, buf: &mut Buffer) {
        let width = usize::from(self.area.width);
        for (at, bits) in self.cells.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let place = (self.area.x + (at % width) as u16, self.area.y + (at / width) as u16);
            let sign = char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' ');
            put(buf, place, self.area.right(), sign.encode_utf8(&mut [0; 4]), style(at % width));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(heights: &[f64], thick: usize) -> Vec<String> {
        let area = Rect::new(0, 0, 4, 2);
        let mut buf = Buffer::empty(area);
        let mut dots = Dots::new(area);
        dots.step_line(heights, thick, 1);
        dots.draw(|_| Style::new(), &mut buf);
        (0..2).map(|y| (0..4).map(|x| buf[(x, y)].symbol()).collect()).collect()
    }

    #[test]
    fn a_step_is_joined_by_a_vertical_line_and_heights_are_clamped() {
        assert_eq!(drawn(&[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0], 1), ["  ⡏⠉", "⣀⣀⡇ "]);
        assert_eq!(drawn(&[1.0; 8], 2), ["⠛⠛⠛⠛", "    "]);
        assert_eq!(drawn(&[-1.0; 8], 2), ["    ", "⣀⣀⣀⣀"]);
    }
}
