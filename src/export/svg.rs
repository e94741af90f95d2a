//! Draws a screen as an SVG picture.
//!
//! Cells are 10 by 21 pixels, and everything except letters, arcs and dots is on whole pixels, so that there are no
//! seams. Each letter has its own position, which rules out ligatures and drift over a long line.

use std::fmt::Write as _;

use super::glyphs;
use super::shapes::{CELL_HEIGHT, CELL_WIDTH, Origin, PixelRect, Rgb, Shapes, hex};
use super::tiles::{self, FontStyle, ScreenImage, Tile};

/// Empty pixels around the cells.
const MARGIN: i32 = 8;
/// Letters advance by 0.6 of this in the font used: ten pixels, the width of a cell.
const FONT_SIZE: &str = "16.667";
/// The size fits the first font; the others provide the characters that it lacks.
const FONT_FAMILY: &str = "'JetBrains Mono', 'DejaVu Sans Mono', 'Noto Sans CJK SC', monospace";

/// Without it, browsers join the blanks of a run, and the letters after them move to the left; other programs read the
/// attribute `xml:space`.
const KEEP_BLANKS: &str = "text{white-space:pre}\n";

// Pixel rows of a cell, from its top.
const BASELINE: i32 = 16;
const UNDERLINE: i32 = 18;
const CROSSED_OUT: i32 = 11;

/// Draws a screen as an SVG document of `10 * columns + 16` by `21 * rows + 16` pixels.
///
/// The same screen always gives the same text. Controls and marks that reorder text are drawn as `U+FFFD`.
///
/// ```
/// use clawscope::export::{ScreenImage, svg};
/// use ratatui::buffer::Buffer;
///
/// let buffer = Buffer::with_lines(["a < b"]);
/// let picture = ScreenImage { buffer: &buffer, background: (19, 22, 27), foreground: (195, 202, 213) };
/// assert!(svg(&picture).contains("a &lt; b"));
/// ```
pub fn svg(picture: &ScreenImage<'_>) -> String {
    let area = picture.buffer.area;
    let mut layers = Layers::default();
    (area.top()..area.bottom()).for_each(|y| layers.row(picture, y));
    let width = CELL_WIDTH * i32::from(area.width) + 2 * MARGIN;
    let height = CELL_HEIGHT * i32::from(area.height) + 2 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>\n{KEEP_BLANKS}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
        hex(picture.background),
        layers.content()
    )
}

/// The layers in drawing order: fills, then shapes, then letters. Underlines and strike-throughs are shapes.
#[derive(Debug, Default)]
struct Layers {
    fills: Shapes,
    shapes: Shapes,
    text: String,
}

impl Layers {
    fn row(&mut self, picture: &ScreenImage<'_>, y: u16) {
        let top = MARGIN + CELL_HEIGHT * i32::from(y - picture.buffer.area.top());
        let mut run = None;
        for tile in &tiles::row_tiles(picture, y) {
            let at = Origin { x: MARGIN + CELL_WIDTH * tile.column, y: top };
            self.rectangles(picture, tile, at);
            let drawn = tile.character().is_some_and(|c| self.shape(c, at, tile));
            if !drawn {
                add_tile(&mut run, tile, at, &mut self.text);
            }
        }
        flush_run(&mut run, &mut self.text);
    }

    fn rectangles(&mut self, picture: &ScreenImage<'_>, tile: &Tile<'_>, Origin { x, y }: Origin) {
        let width = CELL_WIDTH * tile.width;
        if tile.background != picture.background {
            self.fills.block(tile.background, PixelRect { x, y, width, height: CELL_HEIGHT });
        }
        if let Some(ink) = tile.underline {
            self.shapes.block(ink, PixelRect { x, y: y + UNDERLINE, width, height: 1 });
        }
        if tile.crossed_out {
            self.shapes.block(tile.foreground, PixelRect { x, y: y + CROSSED_OUT, width, height: 1 });
        }
    }

    fn shape(&mut self, c: char, at: Origin, tile: &Tile<'_>) -> bool {
        glyphs::draw(c, at, tile.foreground, tile.background, &mut self.shapes)
    }

    fn content(&self) -> String {
        let mut out = String::new();
        self.fills.write(&mut out);
        self.shapes.write(&mut out);
        let _ = writeln!(
            out,
            "<g font-family=\"{FONT_FAMILY}\" font-size=\"{FONT_SIZE}\" text-anchor=\"middle\" \
             xml:space=\"preserve\">\n{}</g>",
            self.text
        );
        out
    }
}

/// Letters of one row and style, for one element.
#[derive(Debug)]
struct TextRun {
    foreground: Rgb,
    font: FontStyle,
    baseline: i32,
    text: String,
    /// Centre of each letter.
    x_positions: Vec<i32>,
    /// Centres of blanks that are written only if another letter follows.
    blank_positions: Vec<i32>,
}

/// Adds a tile to the current run, or starts a new one.
fn add_tile(run: &mut Option<TextRun>, tile: &Tile<'_>, at: Origin, out: &mut String) {
    let middle = at.x + CELL_WIDTH * tile.width / 2;
    if tile.is_blank() {
        if let Some(run) = run {
            run.blank_positions.push(middle);
        }
        return;
    }
    // Programs disagree on the number of positions for combined and astral characters, so these get their own element.
    let simple = tile.character().is_some_and(|c| c.len_utf16() == 1);
    let continues =
        simple && run.as_ref().is_some_and(|run| run.foreground == tile.foreground && run.font == tile.font);
    if !continues {
        flush_run(run, out);
    }
    let (ink, face, baseline) = (tile.foreground, tile.font, at.y + BASELINE);
    let open = run.get_or_insert_with(|| TextRun {
        foreground: ink,
        font: face,
        baseline,
        text: String::new(),
        x_positions: vec![],
        blank_positions: vec![],
    });
    open.push(&tile.symbol, middle);
    if !simple {
        flush_run(run, out);
    }
}

/// Writes the open run, if any.
fn flush_run(run: &mut Option<TextRun>, out: &mut String) {
    if let Some(run) = run.take() {
        run.write(out);
    }
}

impl TextRun {
    fn push(&mut self, symbol: &str, middle: i32) {
        for blank in self.blank_positions.drain(..) {
            self.text.push(' ');
            self.x_positions.push(blank);
        }
        escape(symbol, &mut self.text);
        self.x_positions.push(middle);
    }

    fn write(&self, out: &mut String) {
        let places: Vec<String> = self.x_positions.iter().map(ToString::to_string).collect();
        let bold = if self.font.bold { " font-weight=\"700\"" } else { "" };
        let italic = if self.font.italic { " font-style=\"italic\"" } else { "" };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" fill=\"{}\"{bold}{italic}>{}</text>",
            places.join(" "),
            self.baseline,
            hex(self.foreground),
            self.text
        );
    }
}

fn escape(symbol: &str, out: &mut String) {
    for c in symbol.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Style};

    use super::*;

    const DARK: Rgb = (0x13, 0x16, 0x1b);
    const PALE: Rgb = (0xc3, 0xca, 0xd5);

    fn draw(width: u16, fill: impl Fn(&mut Buffer)) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 2));
        fill(&mut buffer);
        svg(&ScreenImage { buffer: &buffer, background: DARK, foreground: PALE })
    }

    fn texts(svg: &str) -> Vec<&str> {
        svg.lines().filter(|line| line.starts_with("<text")).collect()
    }

    #[test]
    fn the_picture_is_as_large_as_its_cells_and_the_margin() {
        assert!(draw(130, |_| ()).contains("width=\"1316\" height=\"58\" viewBox=\"0 0 1316 58\""));
    }

    #[test]
    fn equal_backgrounds_merge_into_one_run_and_the_page_background_is_drawn_once() {
        let blue = Style::new().bg(Color::Rgb(0, 0, 255));
        let svg = draw(6, |b| {
            b.set_string(1, 0, "abc", blue);
            b.set_string(4, 0, "d", Style::new().bg(Color::Rgb(255, 0, 0)));
        });
        assert!(svg.contains("<path fill=\"#0000ff\" d=\"M18 8h30v21h-30z\"/>"), "{svg}");
        assert!(svg.contains("<path fill=\"#ff0000\" d=\"M48 8h10v21h-10z\"/>"), "{svg}");
        assert_eq!(svg.matches("#13161b").count(), 1, "{svg}");
    }

    #[test]
    fn each_letter_has_a_separate_position() {
        let svg = draw(6, |b| b.set_string(0, 1, "a -> b", Style::new()));
        assert_eq!(texts(&svg), ["<text x=\"13 23 33 43 53 63\" y=\"45\" fill=\"#c3cad5\">a -&gt; b</text>"]);
    }

    #[test]
    fn a_wide_character_is_in_the_middle_of_two_cells_and_the_second_is_skipped() {
        let svg = draw(4, |b| {
            b.set_string(0, 0, "a书b", Style::new());
            b[(2, 0)].set_symbol("?");
        });
        assert_eq!(texts(&svg), ["<text x=\"13 28 43\" y=\"24\" fill=\"#c3cad5\">a书b</text>"]);
    }

    #[test]
    fn reversed_swaps_ink_and_paper() {
        let svg = draw(2, |b| b.set_string(0, 0, "x", Style::new().reversed()));
        assert!(svg.contains("<path fill=\"#c3cad5\" d=\"M8 8h10v21h-10z\"/>"), "{svg}");
        assert!(texts(&svg)[0].contains("fill=\"#13161b\""), "{svg}");
    }

    #[test]
    fn bold_and_colour_part_the_text_but_blanks_do_not() {
        let svg = draw(9, |b| {
            b.set_string(0, 0, "a", Style::new());
            b.set_string(1, 0, " ", Style::new().red());
            b.set_string(2, 0, "b ", Style::new());
            b.set_string(4, 0, "c", Style::new().bold());
            b.set_string(5, 0, "d", Style::new().bold().italic());
        });
        let texts = texts(&svg);
        assert_eq!(texts.len(), 3, "{svg}");
        assert!(texts[0].ends_with(">a b</text>"));
        assert!(texts[1].ends_with(" font-weight=\"700\">c</text>"));
        assert!(texts[2].ends_with(" font-weight=\"700\" font-style=\"italic\">d</text>"));
    }

    #[test]
    fn underlines_are_rectangles_in_the_underline_colour() {
        let style = Style::new().underlined().underline_color(Color::Rgb(255, 0, 0));
        let svg = draw(3, |b| b.set_string(0, 0, "a b", style));
        assert!(svg.contains("<path fill=\"#ff0000\" d=\"M8 26h30v1h-30z\"/>"), "{svg}");
        assert!(!svg.contains("text-decoration"));
    }

    #[test]
    fn xml_markup_is_escaped() {
        let svg = draw(9, |b| b.set_string(0, 0, "<a&\"b\"'>", Style::new()));
        assert!(svg.contains(">&lt;a&amp;&quot;b&quot;&#39;&gt;</text>"), "{svg}");
    }

    #[test]
    fn control_characters_never_reach_the_document() {
        let svg = draw(3, |b| {
            b[(0, 0)].set_symbol("\u{1b}]8;;x\u{7}");
            b[(1, 0)].set_symbol("\u{0}");
            b[(2, 0)].set_symbol("\u{85}");
        });
        assert!(!svg.chars().any(|c| c.is_control() && c != '\n'), "{svg:?}");
        assert!(svg.contains("\u{fffd}\u{fffd}\u{fffd}"), "{svg}");
    }

    #[test]
    fn combined_and_astral_characters_are_separate_texts() {
        let svg = draw(6, |b| b.set_string(0, 0, "ae\u{301}b🦀", Style::new()));
        let texts = texts(&svg);
        assert_eq!(texts.len(), 4, "{svg}");
        assert!(texts[1].starts_with("<text x=\"23\""), "{svg}");
        assert!(texts[3].starts_with("<text x=\"48\""), "{svg}");
    }

    #[test]
    fn shapes_are_not_drawn_as_text() {
        let svg = draw(6, |b| b.set_string(0, 0, "┌─█⣿╱", Style::new()));
        assert!(texts(&svg).is_empty(), "{svg}");
    }

    #[test]
    fn an_empty_screen_is_still_a_picture() {
        let buffer = Buffer::empty(Rect::ZERO);
        let svg = svg(&ScreenImage { buffer: &buffer, background: DARK, foreground: PALE });
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
