//! The walk of the README: from an overflow to the settings that prevent it, key by key, as an animated picture.

use clawscope::export::{Frame, ScreenImage, animated_svg};
use clawscope::units::Millis;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use crate::Screen;
use crate::screens::{screen, start};

/// File of the walk, in the folder of the pictures.
pub(crate) const FILE: &str = "walk.svg";

/// The keys, the purpose of each, and how long the screen stays after it.
const STEPS: &[(&str, &str, Millis)] = &[
    ("", "A session whose last call was refused: the context overflowed", Millis(2_500.0)),
    ("e", "e   why did it overflow, and what would have fixed it?", Millis(5_500.0)),
    ("j", "j   the next change that every call fits with", Millis(1_500.0)),
    ("k", "k   back to the best one", Millis(1_000.0)),
    ("y", "y   copy the change for openclaw.json", Millis(3_000.0)),
    ("enter", "enter   the refused call under that setting", Millis(5_500.0)),
];

pub(crate) fn walk() -> String {
    let mut driver = start(130, 36);
    let screens: Vec<(Screen, Millis)> = STEPS
        .iter()
        .map(|(keys, caption, duration_ms)| {
            driver.press(keys);
            (captioned(screen("walk", "dark", &driver), caption), *duration_ms)
        })
        .collect();
    let frames: Vec<Frame> = screens
        .iter()
        .map(|(screen, duration_ms)| Frame {
            picture: ScreenImage {
                buffer: &screen.buffer,
                background: screen.background,
                foreground: screen.foreground,
            },
            duration_ms: *duration_ms,
        })
        .collect();
    animated_svg(&frames)
}

/// Adds a row with the key that was pressed below a screen.
fn captioned(mut screen: Screen, caption: &str) -> Screen {
    let Rect { width, height, .. } = screen.buffer.area;
    let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width, height: height + 2 });
    for y in 0..height {
        for x in 0..width {
            buffer[(x, y)] = screen.buffer[(x, y)].clone();
        }
    }
    buffer.set_string(2, height + 1, caption, Style::new().fg(Color::Rgb(242, 201, 76)).bold());
    screen.buffer = buffer;
    screen
}
