//! Draws screens that follow each other as one animated SVG picture, which a page shows without a script.
//!
//! Most rows stay as they are from one screen to the next, so each different row is drawn once, with the frames in which
//! it is visible. A viewer that does not animate shows the first frame.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::screen_image::ScreenImage;
use super::svg::{document, row_content};
use crate::units::Millis;

/// A screen and how long it stays.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub picture: ScreenImage<'a>,
    /// More than 0.
    pub duration_ms: Millis,
}

/// Draws frames of one size as an SVG document that shows them in a loop. No frames give an empty document.
pub fn animated_svg(frames: &[Frame<'_>]) -> String {
    let Some(first) = frames.first() else { return String::new() };
    let mut style = String::new();
    let mut content = String::new();
    let mut classes: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    for y in first.picture.buffer.area.top()..first.picture.buffer.area.bottom() {
        let mut rows: Vec<(String, Vec<bool>)> = Vec::new();
        for (at, frame) in frames.iter().enumerate() {
            let row = row_content(&frame.picture, y);
            let known = rows.iter().position(|(known, _)| *known == row).unwrap_or_else(|| {
                rows.push((row, vec![false; frames.len()]));
                rows.len() - 1
            });
            rows[known].1[at] = true;
        }
        for (row, visible) in rows {
            if visible.iter().all(|is_visible| *is_visible) {
                content.push_str(&row);
                continue;
            }
            let next = classes.len();
            let class = *classes.entry(visible.clone()).or_insert_with(|| {
                push_rule(&mut style, next, &visible, frames);
                next
            });
            let _ = writeln!(content, "<g class=\"f{class}\">\n{row}</g>");
        }
    }
    document(&first.picture, &style, &content)
}

/// Writes the rule of a class: visible in some frames of the loop, hidden in the others.
fn push_rule(style: &mut String, class: usize, visible: &[bool], frames: &[Frame<'_>]) {
    let word = |is_visible| if is_visible { "visible" } else { "hidden" };
    let total: Millis = frames.iter().map(|frame| frame.duration_ms).sum();
    let _ = write!(
        style,
        ".f{class}{{visibility:{};animation:k{class} {}ms step-end infinite}}\n@keyframes k{class}{{",
        word(visible[0]),
        total.get()
    );
    let mut start = Millis::ZERO;
    for (at, frame) in frames.iter().enumerate() {
        if at == 0 || visible[at] != visible[at - 1] {
            let _ = write!(style, "{:.3}%{{visibility:{}}}", start / total * 100.0, word(visible[at]));
        }
        start += frame.duration_ms;
    }
    style.push_str("}\n");
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;

    use super::*;

    fn draw(screens: &[&[&str]]) -> String {
        let buffers: Vec<Buffer> =
            screens.iter().map(|lines| Buffer::with_lines(lines.iter().copied())).collect();
        let of = |buffer| ScreenImage { buffer, background: (0, 0, 0), foreground: (255, 255, 255) };
        let frames: Vec<Frame> =
            buffers.iter().map(|buffer| Frame { picture: of(buffer), duration_ms: Millis(500.0) }).collect();
        animated_svg(&frames)
    }

    #[test]
    fn an_unchanged_row_is_drawn_once_and_always_visible() {
        let svg = draw(&[&["same", "one"], &["same", "two"], &["same", "one"], &["same", "six"]]);
        assert_eq!(svg.matches(">same<").count(), 1, "{svg}");
        assert_eq!(svg.matches(">one<").count(), 1, "{svg}");
        assert_eq!(svg.matches("<g class=").count(), 3, "{svg}");
        let rule = ".f0{visibility:visible;animation:k0 2000ms step-end infinite}\n@keyframes k0{0.000%{visibility:visible}\
                    25.000%{visibility:hidden}50.000%{visibility:visible}75.000%{visibility:hidden}}";
        assert!(svg.contains(rule), "{svg}");
        assert!(svg.contains(".f1{visibility:hidden;"), "{svg}");
    }

    #[test]
    fn rows_that_are_visible_together_share_a_rule() {
        let svg = draw(&[&["a", "b"], &["c", "d"]]);
        assert_eq!(svg.matches("@keyframes").count(), 2, "{svg}");
        assert_eq!(svg.matches("<g class=\"f0\">").count(), 2, "{svg}");
    }

    #[test]
    fn one_frame_is_a_still_picture_and_no_frame_is_empty() {
        let svg = draw(&[&["a"]]);
        assert!(!svg.contains("animation") && svg.contains(">a</text>"), "{svg}");
        assert_eq!(animated_svg(&[]), "");
    }
}
