//! A thin bar in half cells with a hairline as its tail. Rows of thin bars stay apart, where full blocks would merge.

use ratatui::buffer::Buffer;
use ratatui::style::Style;

use super::put;
use crate::ui::glyphs;

#[derive(Debug, Clone, Copy)]
pub struct ThinBar {
    /// End of the bar, 0 to 1.
    pub share: f64,
    /// End of the tail, 0 to 1: the value before the plan.
    pub tail: f64,
    pub style: Style,
    pub tail_style: Style,
}

impl ThinBar {
    /// Draws the bar; a share above 0 shows at least half a cell.
    pub fn draw(&self, buf: &mut Buffer, (x, y): (u16, u16), width: u16) {
        let halves = |share: f64| (share.clamp(0.0, 1.0) * f64::from(width) * 2.0).round() as u16;
        let bar = if self.share > 0.0 { halves(self.share).max(1) } else { 0 };
        let tail = halves(self.tail).div_ceil(2);
        for cell in 0..width {
            let (sign, style) = match bar.saturating_sub(cell * 2) {
                2.. => (glyphs::HEAVY, self.style),
                1 => (glyphs::HALF, self.style),
                0 if cell < tail => (glyphs::LIGHT, self.tail_style),
                0 => break,
            };
            put(buf, (x + cell, y), x + width, sign, style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;

    #[test]
    fn thin_bars_count_in_half_cells_and_keep_a_tail() {
        let drawn = |share, tail| {
            let mut buf = Buffer::empty(Rect::new(0, 0, 6, 1));
            let style = Style::new();
            ThinBar { share, tail, style, tail_style: style }.draw(&mut buf, (0, 0), 6);
            buf.content.iter().map(ratatui::buffer::Cell::symbol).collect::<String>()
        };
        assert_eq!(drawn(0.4, 1.0), "━━╸───");
        assert_eq!(drawn(0.001, 0.0), "╸     ");
        assert_eq!(drawn(0.0, 0.5), "───   ");
        assert_eq!(drawn(2.0, 9.0), "━━━━━━");
    }
}
